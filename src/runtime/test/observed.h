/* A queue of observations between the link's thread and a test. */
#pragma once

#include <pthread.h>

#include "runtime/runtime.h"

typedef struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        GQueue queue;
} Observed;

static inline Observed *observed_new(void)
{
        Observed *observed = g_new0(Observed, 1);

        pthread_mutex_init(&observed->lock, NULL);
        pthread_cond_init(&observed->changed, NULL);
        return observed;
}

static inline void observed_push(Observation *observation, void *arg)
{
        Observed *observed = arg;

        pthread_mutex_lock(&observed->lock);
        g_queue_push_tail(&observed->queue, observation);
        pthread_cond_signal(&observed->changed);
        pthread_mutex_unlock(&observed->lock);
}

/* The next one; NULL when none comes in time. */
static inline Observation *observed_pop(Observed *observed, int timeout_ms)
{
        gint64 until = g_get_real_time() + (gint64)timeout_ms * 1000;
        struct timespec deadline = { until / 1000000, until % 1000000 * 1000 };
        Observation *observation;

        pthread_mutex_lock(&observed->lock);
        while (!(observation = g_queue_pop_head(&observed->queue)) && timeout_ms > 0)
                if (pthread_cond_timedwait(&observed->changed, &observed->lock, &deadline) != 0)
                        break;
        pthread_mutex_unlock(&observed->lock);
        return observation;
}

static inline void observed_free(Observed *observed)
{
        for (Observation *left; (left = observed_pop(observed, 0));)
                observation_free(left);
        pthread_cond_destroy(&observed->changed);
        pthread_mutex_destroy(&observed->lock);
        g_free(observed);
}
