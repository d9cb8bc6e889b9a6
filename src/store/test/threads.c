/* Readers beside the writer: whole batches only, complete pages, and a log that stays short however they
 * overlap. */
#include <sys/stat.h>

#include "base/err.h"
#include "store/test/help.h"

enum { WHOLE = 4 }; /* jobs and events of each batch: seqs and revisions 4n+1 .. 4n+4 */

typedef struct {
        Store *store;
        _Atomic bool stop;
        _Atomic gint64 committed; /* the last seq whose commit has returned */
        _Atomic gint64 reads;
} Shared;

static void commit_whole(Store *store, gint64 first)
{
        g_autoptr(Batch) batch = batch_new();

        for (gint64 seq = first; seq < first + WHOLE; seq++) {
                g_autofree char *name = g_strdup_printf("job-%d", (int)seq);
                Job *job = make_job(seq, seq % 2 ? "ann" : "bob", name, JOB_SUCCEEDED);

                batch_put(batch, RECORD_NEW_JOB, job);
                batch_put(batch, RECORD_EVENT, make_event(seq, job, "job.queued"));
        }
        commit(store, batch);
}

static void check_jobs(Shared *shared)
{
        gint64 before = shared->committed, next;
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) jobs =
                store_jobs(shared->store, &(JobQuery){ .limit = 3 * WHOLE }, &next, &error);

        g_assert_no_error(error);
        g_assert_cmpuint(jobs->len % WHOLE, ==, 0);
        if (before > 0)
                g_assert_cmpint(((Job *)jobs->pdata[0])->seq, >=, before);
        for (guint i = 0; i < jobs->len; i++)
                g_assert_cmpint(((Job *)jobs->pdata[i])->seq, ==, ((Job *)jobs->pdata[0])->seq - i);
        if (jobs->len > 0)
                g_assert_cmpint(((Job *)jobs->pdata[0])->seq % WHOLE, ==, 0);
}

static void check_events(Shared *shared)
{
        gint64 since = shared->committed;
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) events =
                store_events(shared->store, &(EventQuery){ .since = since, .limit = 1000 }, &error);

        g_assert_no_error(error);
        g_assert_cmpuint(events->len % WHOLE, ==, 0);
        for (guint i = 0; i < events->len; i++)
                g_assert_cmpint(((Event *)events->pdata[i])->revision, ==, since + 1 + i);
}

static void *read_on(void *arg)
{
        Shared *shared = arg;

        while (!shared->stop) {
                check_jobs(shared);
                check_events(shared);
                shared->reads++;
        }
        return NULL;
}

static void start(pthread_t *threads, int n, void *(*run)(void *), Shared *shared)
{
        for (int i = 0; i < n; i++)
                g_assert_cmpint(pthread_create(&threads[i], NULL, run, shared), ==, 0);
}

static void stop(pthread_t *threads, int n, Shared *shared)
{
        shared->stop = true;
        for (int i = 0; i < n; i++)
                pthread_join(threads[i], NULL);
}

/* More readers than connections, so that they also wait for each other. */
static void test_whole_batches(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        Shared shared = { .store = store };
        pthread_t readers[6];

        start(readers, G_N_ELEMENTS(readers), read_on, &shared);
        for (gint64 first = 1; first < 400 * WHOLE || shared.reads < 100; first += WHOLE) {
                commit_whole(store, first);
                shared.committed = first + WHOLE - 1;
                store_checkpoint(store);
        }
        stop(readers, G_N_ELEMENTS(readers), &shared);
}

/* Long reads, one after the other: with several such readers some transaction is open at nearly every moment.
 */
static void *list_on(void *arg)
{
        Shared *shared = arg;

        while (!shared->stop) {
                g_autoptr(GError) error = NULL;
                g_autoptr(GPtrArray) events =
                        store_events(shared->store, &(EventQuery){ .limit = 4000 }, &error);

                g_assert_no_error(error);
                shared->reads++;
        }
        return NULL;
}

static gint64 file_size(const char *dir, const char *name)
{
        g_autofree char *path = g_build_filename(dir, name, NULL);
        struct stat info;

        return stat(path, &info) == 0 ? info.st_size : 0;
}

/* The commits write some 100 MB of log under readers that never leave it alone. */
static void test_log_is_bounded(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        Shared shared = { .store = store };
        pthread_t readers[2];
        gint64 longest = 0;
        StoreMetrics metrics;

        start(readers, G_N_ELEMENTS(readers), list_on, &shared);
        for (int n = 0; n < 1500; n++) {
                commit_whole(store, 1 + n * WHOLE);
                store_checkpoint(store);
                longest = MAX(longest, file_size(dir, "paddle.db-wal"));
        }
        stop(readers, G_N_ELEMENTS(readers), &shared);
        store_metrics(store, &metrics);
        g_test_message("log at most %d KiB, checkpoint at most %d ms, %d reads", (int)(longest / 1024),
                       (int)metrics.checkpoint_ms_max, (int)shared.reads);
        g_assert_cmpint(longest, <, 64 * 1024 * 1024);
        g_assert_cmpint(metrics.wal_bytes, <=, longest);
        g_assert_cmpint(shared.reads, >, 10);
}

static void *insert_on(void *arg)
{
        Shared *shared = arg;

        for (gint64 first = 2501; !shared->stop; first += WHOLE) {
                commit_whole(shared->store, first);
                shared->committed = first;
        }
        return NULL;
}

static void page_through(Shared *shared, const char *user, int step)
{
        gint64 next = 0, expect = user ? 2499 : 2500;
        g_autoptr(GError) error = NULL;

        do {
                JobQuery query = { .user = user, .before_seq = next, .limit = 100 };
                gint64 before = shared->committed;
                g_autoptr(GPtrArray) jobs = store_jobs(shared->store, &query, &next, &error);

                g_assert_no_error(error);
                for (guint i = 0; i < jobs->len; i++) {
                        gint64 seq = ((Job *)jobs->pdata[i])->seq;

                        if (seq > 2500) /* came in before the first pages */
                                continue;
                        g_assert_cmpint(seq, ==, expect);
                        expect -= step;
                }
                while (shared->committed == before) /* the next page sees a table that has grown */
                        g_usleep(100);
        } while (next);
        g_assert_cmpint(expect, ==, user ? -1 : 0);
}

static void test_pages(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        Shared shared = { .store = store };
        pthread_t writer;

        for (gint64 first = 1; first <= 2500; first += WHOLE)
                commit_whole(store, first);
        start(&writer, 1, insert_on, &shared);
        page_through(&shared, NULL, 1);
        page_through(&shared, "ann", 2);
        stop(&writer, 1, &shared);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/threads/whole-batches", test_whole_batches);
        g_test_add_func("/threads/log-is-bounded", test_log_is_bounded);
        g_test_add_func("/threads/pages", test_pages);
        return g_test_run();
}
