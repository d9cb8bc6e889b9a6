/* Where a thread must not wait for the store. The engine's thread forbids itself to read while it applies a batch, and
 * while it answers the commands of the batch after the commit. Between these, and while it acts, it may read. In
 * sanitized builds, and so in all tests, a reader's function (store.h) that is called then aborts the program and
 * says by whom. In other builds nothing is checked. */
#pragma once

/* From now on this thread must not read; `by` (not copied) names what it does. NULL: it may read again. */
void store_forbid_reads(const char *by);
/* Call it where a reader's function begins. */
void store_check_read(void);
