/* Memory that a process needs for a short time only. */
#pragma once

/* Gives memory back to the system: freed memory of the heap, and the pages of code and constants of the program and
 * its libraries. Pages of code come back when they are used again, from the system's cache of files. That costs about
 * a hundred page faults, so call this when a burst of work has ended. Any thread.
 *
 * Breakpoints that a debugger has set are lost. */
void resident_give_back(void);
