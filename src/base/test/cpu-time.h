/* The CPU time of this thread, for tests that hold what a thing may cost: what other programs of the machine take does not count. */
#pragma once

#include <glib.h>
#include <time.h>

static inline gint64 thread_cpu_us(void)
{
        struct timespec used;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        return used.tv_sec * G_USEC_PER_SEC + used.tv_nsec / 1000;
}
