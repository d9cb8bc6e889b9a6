/* Threads whose work may take its time: they leave the processor to whoever wakes up for a moment.
 *
 * Nothing that others wait for may be computed there while a lock is held. */
#pragma once

/* Makes the calling thread one of those, for ever: SCHED_BATCH with nice 10, in long slices (sched(7)). What
 * the kernel does not have is left out: nothing depends on it but the latency of others. */
void background_begin(void);
