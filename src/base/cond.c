/* Condition variables (see cond.h). */
#include "base/cond.h"

#include <errno.h>
#include <time.h>

void cond_init(pthread_cond_t *cond)
{
        pthread_condattr_t attributes;

        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(cond, &attributes);
        pthread_condattr_destroy(&attributes);
}

bool cond_wait_until_us(pthread_cond_t *cond, pthread_mutex_t *mutex, gint64 until_us)
{
        const gint64 us = MAX(until_us, 0);
        const struct timespec until = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

        return pthread_cond_timedwait(cond, mutex, &until) != ETIMEDOUT;
}

bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, gint64 until_ms)
{
        return cond_wait_until_us(cond, mutex, CLAMP(until_ms, 0, G_MAXINT64 / 1000) * 1000);
}
