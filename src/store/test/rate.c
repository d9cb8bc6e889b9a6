/* How fast the store is (built, not run as a test):  test-store-rate [DIR]
 * Small commits of new jobs with their events, a load of open jobs beside many finished ones, reads by id. */
#include "base/clock.h"
#include "base/err.h"
#include "store/test/help.h"

enum { JOBS = 8, EVENTS = 32, COMMITS = 2500, FINISHED = 100000, OPEN = 10000, READS = 100000 };

static gint64 sequence, revision;
static GPtrArray *ids;

static void add_job(Batch *batch, JobState state, int events)
{
        g_autofree char *name = NULL;
        Job *job;

        sequence++;
        name = g_strdup_printf("job-%d", (int)sequence);
        job = make_job(sequence, "ann", name, state);
        g_ptr_array_add(ids, g_strdup(job->id));
        batch_put(batch, RECORD_NEW_JOB, job);
        for (int i = 0; i < events; i++)
                batch_put(batch, RECORD_EVENT, make_event(++revision, job, "job.queued"));
}

static int compare_times(const void *a, const void *b)
{
        const gint64 *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

static void rate_commits(Store *store)
{
        g_autofree gint64 *us = g_new0(gint64, COMMITS);
        gint64 spent = 0;
        StoreMetrics metrics;

        for (int n = 0; n < COMMITS; n++) {
                g_autoptr(Batch) batch = batch_new();
                gint64 start;

                for (int i = 0; i < JOBS; i++)
                        add_job(batch, JOB_SUCCEEDED, EVENTS / JOBS);
                start = g_get_monotonic_time();
                commit(store, batch);
                store_checkpoint(store);
                us[n] = g_get_monotonic_time() - start;
                spent += us[n];
        }
        qsort(us, COMMITS, sizeof *us, compare_times);
        store_metrics(store, &metrics);
        g_print("commits of %d jobs and %d events: %.0f jobs/s; a commit p50 %.2f ms, p99 %.2f ms, longest "
                "%.1f ms;"
                " checkpoint at most %d ms\n",
                JOBS, EVENTS, 1e6 * JOBS * COMMITS / (double)spent, (double)us[COMMITS / 2] / 1000,
                (double)us[COMMITS * 99 / 100] / 1000, (double)us[COMMITS - 1] / 1000,
                (int)metrics.checkpoint_ms_max);
}

static void fill(Store *store, int n, JobState state)
{
        while (n > 0) {
                g_autoptr(Batch) batch = batch_new();

                for (int i = 0; i < 500 && n > 0; i++, n--)
                        add_job(batch, state, 1);
                commit(store, batch);
                store_checkpoint(store);
        }
}

static void rate_load(const char *dir)
{
        gint64 start = g_get_monotonic_time(), opened;
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(GError) error = NULL;
        g_auto(StoreState) state = { 0 };

        opened = g_get_monotonic_time();
        (void)store_load(store, &state, &error);
        g_assert_no_error(error);
        g_print("open %.1f ms, load of %u open jobs beside %d finished ones %.1f ms\n",
                (double)(opened - start) / 1000, state.loaded[RECORD_JOB]->len,
                (int)(state.last_seq - state.loaded[RECORD_JOB]->len),
                (double)(g_get_monotonic_time() - opened) / 1000);
}

static void rate_reads(Store *store)
{
        gint64 start = g_get_monotonic_time();

        for (int n = 0; n < READS; n++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(Job) job = store_job_by_id(store, ids->pdata[(guint)n * 7919 % ids->len], &error);

                g_assert_no_error(error);
        }
        g_print("jobs by id, one thread: %.0f/s\n", 1e6 * READS / (double)(g_get_monotonic_time() - start));
}

static void rate_pages(Store *store)
{
        static const struct {
                const char *name;
                JobQuery query;
        } cases[] = {
                { "newest 100", { .limit = 100 } },
                { "newest 100 of a user", { .limit = 100, .user = "ann" } },
                { "100 of the open ones", { .limit = 100, .states = 1u << JOB_QUEUED } },
                { "failed ones (there are none)", { .limit = 100, .states = 1u << JOB_FAILED } },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                gint64 start = g_get_monotonic_time(), next;
                g_autoptr(GError) error = NULL;
                g_autoptr(GPtrArray) jobs = store_jobs(store, &cases[i].query, &next, &error);

                g_assert_no_error(error);
                g_print("page, %s: %.2f ms\n", cases[i].name,
                        (double)(g_get_monotonic_time() - start) / 1000);
        }
}

int main(int argc, char **argv)
{
        g_autoptr(Scratch) dir = argc > 1 ? NULL : scratch_new();
        const char *at = argc > 1 ? argv[1] : dir;
        Store *store = open_store(at);

        ids = g_ptr_array_new_with_free_func(g_free);
        rate_commits(store);
        fill(store, FINISHED - JOBS * COMMITS, JOB_SUCCEEDED);
        fill(store, OPEN, JOB_QUEUED);
        store_close(store);
        rate_load(at);
        store = open_store(at);
        rate_reads(store);
        rate_pages(store);
        store_close(store);
        g_ptr_array_unref(ids);
        return 0;
}
