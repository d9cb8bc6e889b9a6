/* Background threads: they run at low priority, so that threads with short work run first.
 *
 * A background thread must not hold a lock that other threads wait for while it computes. */
#pragma once

/* Turns the calling thread into a background thread for the rest of its life: SCHED_BATCH, nice 10, long
 * slices (sched(7)). A setting that the kernel lacks is skipped; only the latency of others depends on it. */
void background_begin(void);
