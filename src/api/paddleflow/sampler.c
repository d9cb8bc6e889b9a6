/* What the members of running jobs use, sampled (doc/reference/paddleflow-api.md, "Statistics"): one thread
 * asks the runtime every quarter of a minute. A series that is full is thinned to every second sample and
 * goes on half as dense, so that it spans the whole life of its process; series stay a while after their end.
 * All of it is bounded, and gone when the server restarts. */
#include <pthread.h>
#include <string.h>

#include "api/paddleflow/internal.h"
#include "base/clock.h"
#include "base/cond.h"

enum {
        PERIOD_MS = 15000,
        POINTS_MAX = 512, /* of a series */
        SERIES_MAX = 4096,
        PAGE = 500,
        KEEP_S = 3600, /* after the last sample */
};

typedef struct {
        GArray *samples; /* Sample */
        int stride;      /* every so many rounds one is kept */
        int round;
} Series;

struct Sampler {
        PaddleFlow *flow;
        GThread *thread;
        pthread_mutex_t mutex; /* guards what follows */
        pthread_cond_t changed;
        GHashTable *series; /* task -> Series */
        bool stopped;
};

static void series_free(void *arg)
{
        Series *series = arg;

        g_array_unref(series->samples);
        g_free(series);
}

/* ---- one round ---- */

static void thin(Series *series)
{
        GArray *samples = series->samples;

        for (guint i = 0; 2 * i < samples->len; i++)
                g_array_index(samples, Sample, i) = g_array_index(samples, Sample, 2 * i);
        g_array_set_size(samples, (samples->len + 1) / 2);
        series->stride *= 2;
}

static void add(Sampler *sampler, const char *task, const Sample *sample)
{
        Series *series;

        pthread_mutex_lock(&sampler->mutex);
        series = g_hash_table_lookup(sampler->series, task);
        if (!series && g_hash_table_size(sampler->series) < SERIES_MAX) {
                series = g_new0(Series, 1);
                *series = (Series){ g_array_new(FALSE, FALSE, sizeof(Sample)), 1, 0 };
                g_hash_table_insert(sampler->series, g_strdup(task), series);
        }
        if (series && series->round++ % series->stride == 0) {
                g_array_append_val(series->samples, *sample);
                if (series->samples->len == POINTS_MAX)
                        thin(series);
        }
        pthread_mutex_unlock(&sampler->mutex);
}

static void sample_job(Sampler *sampler, const Job *job, gint64 now)
{
        for (int i = 0; i < job->n_members; i++) {
                const Member *member = &job->members[i];
                g_autofree char *task = g_strdup_printf("%s.%d.%s.%d", job->id, job->attempt,
                                                        job->spec->roles[member->role].name, member->index);
                TaskUsage usage;

                if ((member->state == MEMBER_RUNNING || member->state == MEMBER_READY) &&
                    engine_usage(sampler->flow->engine, job, member, &usage))
                        add(sampler, task, &(Sample){ now / 1000, usage.cpu_us, usage.memory });
        }
}

static gboolean is_old(void *key, void *value, void *arg)
{
        const GArray *samples = ((Series *)value)->samples;

        return g_array_index(samples, Sample, samples->len - 1).at < *(gint64 *)arg;
}

static void forget_old(Sampler *sampler, gint64 now)
{
        gint64 least = now / 1000 - KEEP_S;

        pthread_mutex_lock(&sampler->mutex);
        g_hash_table_foreach_remove(sampler->series, is_old, &least);
        pthread_mutex_unlock(&sampler->mutex);
}

/* Running jobs are few beside those that wait, and an index of the store finds them. */
static void sample_all(Sampler *sampler)
{
        JobQuery query = { .states = 1u << JOB_STARTING | 1u << JOB_RUNNING, .limit = PAGE };
        gint64 now = clock_now_ms();
        int jobs = 0;

        forget_old(sampler, now);
        do {
                g_autoptr(GPtrArray) page = store_jobs(sampler->flow->store, &query, &query.before_seq, NULL);

                if (!page)
                        return;
                for (guint i = 0; i < page->len; i++)
                        sample_job(sampler, page->pdata[i], now);
                jobs += (int)page->len;
        } while (query.before_seq && jobs < SERIES_MAX);
}

/* False when it is to stop. */
static bool wait_a_period(Sampler *sampler)
{
        gint64 until_ms = clock_monotonic_ms() + PERIOD_MS;

        pthread_mutex_lock(&sampler->mutex);
        while (!sampler->stopped && cond_wait_until(&sampler->changed, &sampler->mutex, until_ms))
                ;
        bool stopped = sampler->stopped;
        pthread_mutex_unlock(&sampler->mutex);
        return !stopped;
}

static void *work(void *arg)
{
        while (wait_a_period(arg))
                sample_all(arg);
        return NULL;
}

/* ---- life ---- */

Sampler *sampler_new(PaddleFlow *flow)
{
        Sampler *sampler = g_new0(Sampler, 1);

        sampler->flow = flow;
        sampler->series = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, series_free);
        pthread_mutex_init(&sampler->mutex, NULL);
        cond_init(&sampler->changed);
        sampler->thread = g_thread_new("usage", work, sampler);
        return sampler;
}

void sampler_stop(Sampler *sampler)
{
        pthread_mutex_lock(&sampler->mutex);
        sampler->stopped = true;
        pthread_cond_signal(&sampler->changed);
        pthread_mutex_unlock(&sampler->mutex);
        if (sampler->thread)
                g_thread_join(g_steal_pointer(&sampler->thread));
}

void sampler_free(Sampler *sampler)
{
        if (!sampler)
                return;
        sampler_stop(sampler);
        g_hash_table_unref(sampler->series);
        pthread_cond_destroy(&sampler->changed);
        pthread_mutex_destroy(&sampler->mutex);
        g_free(sampler);
}

GArray *sampler_find(Sampler *sampler, const char *task)
{
        const Series *series;
        GArray *copy = NULL;

        pthread_mutex_lock(&sampler->mutex);
        series = g_hash_table_lookup(sampler->series, task);
        if (series)
                copy = g_array_copy(series->samples);
        pthread_mutex_unlock(&sampler->mutex);
        return copy;
}
