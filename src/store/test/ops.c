/* A store is a table of operations: the functions of store.h reach another implementation than SQLite's. */
#include "base/err.h"
#include "base/test/sanitized.h"
#include "store/guard.h"
#include "store/test/help.h"

/* A store that forwards to SQLite's, counts the calls, and refuses commits while it is `full`. */
typedef struct {
        Store base;
        Store *real;
        bool full;
        int commits, reads;
} Forward;

static int n_open; /* of these stores */

static Forward *forward_of(Store *store)
{
        return (Forward *)store;
}

static Store *forward_open(const char *dir, GError **error)
{
        Store *real = store_open(dir, error);
        Forward *store;

        if (!real)
                return NULL;
        store = g_new0(Forward, 1);
        store->real = real;
        n_open++;
        return &store->base;
}

static void forward_close(Store *store)
{
        store_close(forward_of(store)->real);
        g_free(store);
        n_open--;
}

static bool forward_load(Store *store, StoreState *ret, GError **error)
{
        return store_load(forward_of(store)->real, ret, error);
}

static bool forward_commit(Store *store, const StoreBatch *batch, StoreFailure *ret_failure, GError **error)
{
        forward_of(store)->commits++;
        if (!forward_of(store)->full)
                return store_commit(forward_of(store)->real, batch, ret_failure, error);
        *ret_failure = STORE_FAILED_CLEAN;
        return err_set(error, ERR_NO_SPACE, "the shelf is full");
}

static Job *forward_job_by_id(Store *store, const char *id, GError **error)
{
        forward_of(store)->reads++;
        return store_job_by_id(forward_of(store)->real, id, error);
}

/* An answer from memory: SQLite's functions are not reached. */
static Job *forward_job_by_name(Store *store, const char *user, const char *name, GError **error)
{
        err_set(error, ERR_NOT_FOUND, "there is no job '%s' of '%s'", name, user);
        return NULL;
}

static GPtrArray *forward_events(Store *store, const EventQuery *query, GError **error)
{
        forward_of(store)->reads++;
        return store_events(forward_of(store)->real, query, error);
}

static const StoreOps forward = {
        .name = "forward",
        .open = forward_open,
        .close = forward_close,
        .load = forward_load,
        .commit = forward_commit,
        .job_by_id = forward_job_by_id,
        .job_by_name = forward_job_by_name,
        .events = forward_events,
};

/* Through the same functions, and with the same batches, as SQLite's. */
static void test_second_row(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(GError) error = NULL, full = NULL;
        g_autoptr(Store) store = store_open_as(&forward, dir, &error);
        g_autoptr(Batch) refused = batch_new(), batch = batch_new();
        Job *job = make_job(1, "ann", "digits", JOB_QUEUED);

        g_assert_no_error(error);
        g_assert_cmpstr(store->ops->name, ==, "forward");
        g_assert_cmpint(n_open, ==, 1);
        forward_of(store)->full = true;
        batch_put(refused, RECORD_NEW_JOB, job_ref(job));
        full = commit_fails(store, refused, STORE_FAILED_CLEAN);
        g_assert_true(err_is(full, ERR_NO_SPACE));
        g_assert_cmpint(last_seq(store), ==, 0);

        forward_of(store)->full = false;
        batch_put(batch, RECORD_NEW_JOB, job);
        batch_put(batch, RECORD_EVENT, make_event(1, job, "job.queued"));
        commit(store, batch);
        g_autoptr(Job) found = store_job_by_id(store, job->id, &error);
        g_assert_no_error(error);
        assert_same_job(found, job);
        g_autoptr(GPtrArray) events = store_events(store, &(EventQuery){ .limit = 10 }, &error);
        g_assert_cmpuint(events->len, ==, 1);
        g_assert_cmpint(forward_of(store)->commits, ==, 2);
        g_assert_cmpint(forward_of(store)->reads, ==, 2);
        g_clear_pointer(&store, store_close);
        g_assert_cmpint(n_open, ==, 0);

        store = open_store(dir); /* what it forwarded is in SQLite's database */
        g_assert_cmpstr(store->ops->name, ==, "sqlite");
        g_assert_cmpint(last_seq(store), ==, 1);
}

static void test_open_fails(void)
{
        g_autoptr(GError) error = NULL;

        g_assert_null(store_open_as(&forward, "/nonexistent/state", &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_assert_cmpint(n_open, ==, 0);
        store_close(NULL);
}

/* Where a thread must not read, it must not read from any implementation. */
static void test_forbidden_read(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = NULL;
        g_autoptr(Job) job = NULL;

        if (!g_test_subprocess()) {
                g_test_trap_subprocess(NULL, 0, 0);
                g_test_trap_assert_failed();
                g_test_trap_assert_stderr("*the store is read by 'a test'*");
                return;
        }
        store = store_open_as(&forward, dir, NULL);
        g_assert_null(store_job_by_name(store, "ann", "digits", NULL));
        store_forbid_reads("a test");
        job = store_job_by_name(store, "ann", "digits", NULL);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/ops/second-row", test_second_row);
        if (IS_SANITIZED)
                g_test_add_func("/ops/forbidden-read", test_forbidden_read);
        g_test_add_func("/ops/open-fails", test_open_fails);
        return g_test_run();
}
