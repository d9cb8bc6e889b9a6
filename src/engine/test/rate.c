/* Measures, for a person to run (no test): durable submits a second over 8 threads against the real store,
 * onto a machine that is full, and the memory that a queued job costs.
 *
 *     build/.../test-engine-rate [SECONDS [JOBS]]        (3 seconds; 20,000 jobs for the memory) */
#include <malloc.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "engine/test/help.h"

enum { THREADS = 8 };

typedef struct {
        House *house;
        gint64 until_ms;
        gint64 done;  /* atomic */
        GArray *took; /* microseconds of each, under the lock */
        pthread_mutex_t lock;
} Rate;

/* As `paddle submit -- python train.py` makes it. */
static const char spec_json[] = "{'command':['python','train.py','--epochs','10'],'env':{'NUM_PASS':'5'},"
                                "'roles':[{'name':'worker','replicas':1,'cpu':'1','memory':'1Gi'}]}";

static void *submit(void *arg)
{
        Rate *rate = arg;
        g_autoptr(GArray) took = g_array_new(FALSE, FALSE, sizeof(gint64));

        while (clock_monotonic_ms() < rate->until_ms) {
                gint64 started = g_get_monotonic_time(), us;
                g_autofree char *id = house_submit_ok(rate->house, spec_json);

                us = g_get_monotonic_time() - started;
                g_array_append_val(took, us);
                __atomic_add_fetch(&rate->done, 1, __ATOMIC_RELAXED);
        }
        pthread_mutex_lock(&rate->lock);
        g_array_append_vals(rate->took, took->data, took->len);
        pthread_mutex_unlock(&rate->lock);
        return NULL;
}

static int compare(gconstpointer a, gconstpointer b)
{
        gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

        return (x > y) - (x < y);
}

static void measure_rate(gint64 seconds)
{
        Rate rate = { .house = house_new(),
                      .until_ms = clock_monotonic_ms() + seconds * 1000,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .took = g_array_new(FALSE, FALSE, sizeof(gint64)) };
        pthread_t threads[THREADS];
        EngineMetrics metrics;

        for (int i = 0; i < THREADS; i++)
                if (pthread_create(&threads[i], NULL, submit, &rate))
                        g_error("cannot start a thread");
        for (int i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        engine_metrics(rate.house->engine, &metrics);
        g_array_sort(rate.took, compare);
        g_print("%.0f durable submits/s, p50 %.2f ms, p99 %.2f ms, %.1f a batch, slowest commit %.1f ms\n",
                (double)rate.done / (double)seconds,
                (double)g_array_index(rate.took, gint64, rate.took->len / 2) / 1000,
                (double)g_array_index(rate.took, gint64, rate.took->len / 100 * 99) / 1000,
                (double)rate.done / (double)metrics.batches, (double)metrics.commit_us_max / 1000);
        g_array_unref(rate.took);
        house_free(rate.house);
}

static void answered(Job *job, bool repeated, const GError *error, void *arg)
{
        if (error)
                g_error("%s", error->message);
}

static void measure_memory(gint64 jobs)
{
        House *house = house_new();
        g_autofree char *quoted = g_strdelimit(g_strdup(spec_json), "'", '"');
        g_autoptr(json_t) object = json_parse(quoted, strlen(quoted), NULL);
        struct mallinfo2 before, after;

        house_barrier(house);
        malloc_trim(0);
        before = mallinfo2();
        for (gint64 i = 0; i < jobs; i++) {
                g_autoptr(Spec) spec = spec_parse(object, NULL);

                engine_submit(house->engine,
                              &(EngineSubmission){ .user = "ann", .specs = &(Spec *){ spec }, .n_specs = 1 },
                              answered, NULL);
                if (i % 256 == 0)
                        house_barrier(house);
        }
        house_barrier(house);
        malloc_trim(0);
        after = mallinfo2();
        g_print("%.0f bytes a queued job\n",
                (double)(gint64)(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd) /
                        (double)jobs);
        house_free(house);
}

int main(int argc, char **argv)
{
        gint64 seconds = 3, jobs = 20000;

        if (argc > 1 && !number_parse("SECONDS", argv[1], 1, 60, &seconds, NULL))
                return 2;
        if (argc > 2 && !number_parse("JOBS", argv[2], 1, 1000000, &jobs, NULL))
                return 2;
        measure_rate(seconds);
        measure_memory(jobs);
        return 0;
}
