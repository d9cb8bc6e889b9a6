/* How commits fail: a disk that is really full, and disks that fail a write or a sync when told to. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "store/test/faulty.h"
#include "store/test/help.h"

/* A batch of one new job with its event, both numbered `seq`. */
static Batch *job_batch(gint64 seq)
{
        Batch *batch = batch_new();
        g_autofree char *name = g_strdup_printf("job-%d", (int)seq);
        Job *job = make_job(seq, "ann", name, JOB_QUEUED);

        batch_put(batch, RECORD_NEW_JOB, job);
        batch_put(batch, RECORD_EVENT, make_event(seq, job, "job.queued"));
        return batch;
}

/* Exactly the jobs and events 1..n are there. */
static void assert_holds(Store *store, gint64 n)
{
        g_autoptr(GError) error = NULL;
        g_auto(StoreState) state = { 0 };

        g_assert_true(store_load(store, &state, &error));
        g_assert_no_error(error);
        g_assert_cmpint(state.last_seq, ==, n);
        g_assert_cmpint(state.last_revision, ==, n);
        g_assert_cmpuint(state.loaded[RECORD_JOB]->len, ==, n);
        g_autoptr(GPtrArray) events =
                store_events(store, &(EventQuery){ .limit = 100000 }, &error); /* a reader sees the same */
        g_assert_no_error(error);
        g_assert_cmpuint(events->len, ==, n);
}

/* Whoever is not root becomes root of a namespace of its own. */
static void own_mounts(void)
{
        if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
                g_error("no mount namespace of its own: %s", g_strerror(errno));
        if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                g_error("cannot make the mounts private: %s", g_strerror(errno));
}

static void mount_small(const char *dir)
{
        if (mount("none", dir, "tmpfs", 0, "size=2m") < 0)
                g_error("cannot mount a small file system: %s", g_strerror(errno));
}

/* Writes until nothing fits any more. */
static void fill(const char *dir, const char *name)
{
        g_autofree char *path = g_build_filename(dir, name, NULL);
        char page[4096] = { 0 };
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        g_assert_cmpint(fd, >=, 0);
        while (write(fd, page, sizeof page) > 0) {
        }
        g_assert_cmpint(errno, ==, ENOSPC);
        close(fd);
}

static void remove_file(const char *dir, const char *name)
{
        g_autofree char *path = g_build_filename(dir, name, NULL);

        g_assert_cmpint(unlink(path), ==, 0);
}

/* The disk fills up in the middle of the work; room is made; nothing acknowledged is lost and nothing refused
 * is there. */
static void test_full_disk(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = NULL;
        gint64 done = 0;

        mount_small(dir);
        store = open_store(dir);
        commit_job(store, ++done);
        for (int round = 0; round < 2; round++) {
                fill(dir, "ballast");
                for (int attempt = 0; attempt < 20;
                     attempt++) { /* the first ones may fit into the log's last page */
                        g_autoptr(Batch) batch = job_batch(done + 1);
                        const StoreBatch view = batch_view(batch);
                        g_autoptr(GError) error = NULL;
                        StoreFailure failure;

                        if (store_commit(store, &view, &failure, &error)) {
                                done++;
                                continue;
                        }
                        g_assert_cmpint(failure, ==, STORE_FAILED_CLEAN);
                        g_assert_true(err_is(error, ERR_NO_SPACE));
                        g_assert_nonnull(strstr(error->message, "is full"));
                        assert_holds(store, done);
                }
                g_assert_cmpint(done, <, 10 + 10 * round);
                remove_file(dir, "ballast");
                for (int n = 0; n < 5; n++)
                        commit_job(store, ++done);
                assert_holds(store, done);
        }
        g_clear_pointer(&store, store_close);
        store = open_store(dir);
        assert_holds(store, done);
        g_clear_pointer(&store, store_close);
        g_assert_cmpint(umount(dir), ==, 0);
}

/* One whose event makes the database grow when the log is copied. */
static void commit_large_job(Store *store, gint64 seq)
{
        g_autoptr(Batch) batch = job_batch(seq);
        Event *event = batch_last(batch);

        g_free(event->data);
        event->data = g_strnfill(100 * 1024, ' ');
        commit(store, batch);
}

/* The log has some space of its own; what fits into it is stored. Returns the error of the first commit that is refused;
 * *seq is the last job that was stored. */
static GError *commit_until_refused(Store *store, gint64 *seq)
{
        for (int attempt = 0; attempt < 20; attempt++, ++*seq) {
                g_autoptr(Batch) batch = job_batch(*seq + 1);
                const StoreBatch view = batch_view(batch);
                StoreFailure failure;
                GError *error = NULL;

                if (store_commit(store, &view, &failure, &error))
                        continue;
                g_assert_cmpint(failure, ==, STORE_FAILED_CLEAN);
                return error;
        }
        g_error("a full disk took 20 commits");
}

/* A server that died leaves its log; the next one starts on the full disk, reads all, and says why it cannot
 * write. */
static void test_start_on_full_disk(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = NULL;
        g_autoptr(GError) error = NULL;
        gint64 last = 12;
        pid_t child;
        int status;

        mount_small(dir);
        child = fork();
        if (child == 0) {
                store = open_store(dir);
                for (gint64 seq = 1; seq <= 11; seq++)
                        commit_job(store, seq);
                commit_large_job(store, 12);
                _exit(0);
        }
        g_assert_cmpint(waitpid(child, &status, 0), ==, child);
        g_assert_cmpint(status, ==, 0);
        fill(dir, "ballast");
        store = open_store(dir);
        assert_holds(store, 12);
        error = commit_until_refused(store, &last);
        g_assert_true(err_is(error, ERR_NO_SPACE));
        assert_holds(store, last);
        remove_file(dir, "ballast");
        commit_job(store, ++last);
        g_clear_pointer(&store, store_close);
        store = open_store(dir);
        assert_holds(store, last);
        g_clear_pointer(&store, store_close);
        g_assert_cmpint(umount(dir), ==, 0);
}

/* What a fault does to the commit it meets, and how much may be there after the next start. */
typedef struct {
        const char *name;
        Fault fault;
        int n; /* the n-th operation on the log */
        bool lossy;
        StoreFailure failure;
        ErrCode code;
        gint64 least, most; /* jobs after a new start; 3 were acknowledged */
} FaultCase;

static const FaultCase fault_cases[] = {
        { "sync, kept", FAULT_SYNC, 1, false, STORE_FAILED_FATAL, ERR_FAILED, 3, 4 },
        { "sync, lost", FAULT_SYNC, 1, true, STORE_FAILED_FATAL, ERR_FAILED, 3, 3 },
        { "first write", FAULT_WRITE, 1, false, STORE_FAILED_FATAL, ERR_FAILED, 3, 3 },
        { "fourth write", FAULT_WRITE, 4, false, STORE_FAILED_FATAL, ERR_FAILED, 3, 3 },
        { "first write, full", FAULT_FULL, 1, false, STORE_FAILED_CLEAN, ERR_NO_SPACE, 3, 3 },
        { "second write, full", FAULT_FULL, 2, false, STORE_FAILED_CLEAN, ERR_NO_SPACE, 3, 3 },
        { "fourth write, full", FAULT_FULL, 4, false, STORE_FAILED_CLEAN, ERR_NO_SPACE, 3, 3 },
        { "third write, quota", FAULT_QUOTA, 3, false, STORE_FAILED_CLEAN, ERR_NO_SPACE, 3, 3 },
};

static void check_after_clean(Store *store)
{
        assert_holds(store, 3);
        faulty_set(FAULT_NONE, "", 0, false);
        commit_job(store, 4);
        assert_holds(store, 4);
}

static void check_after_fatal(Store *store)
{
        g_autoptr(Batch) batch = job_batch(5);
        g_autoptr(GError) error = NULL;

        faulty_set(FAULT_NONE, "", 0, false); /* the disk works again: still no commit is tried */
        error = commit_fails(store, batch, STORE_FAILED_FATAL);
        g_assert_nonnull(strstr(error->message, "it is not known what is on the disk"));
}

static void assert_log_is_empty(const char *dir)
{
        g_autofree char *path = g_build_filename(dir, "paddle.db-wal", NULL);
        struct stat info;

        g_assert_true(stat(path, &info) < 0 || info.st_size == 0);
}

static void run_fault(const FaultCase *fault)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = job_batch(4);
        g_autoptr(GError) error = NULL;
        gint64 last, clean = fault->failure == STORE_FAILED_CLEAN;

        for (gint64 seq = 1; seq <= 3; seq++)
                commit_job(store, seq);
        faulty_set(fault->fault, "-wal", fault->n, fault->lossy);
        error = commit_fails(store, batch, fault->failure);
        g_assert_cmpint(faulty_count(), >, 0);
        g_assert_true(err_is(error, fault->code));
        (clean ? check_after_clean : check_after_fatal)(store);
        g_clear_pointer(&store, store_close);
        store = open_store(dir);
        assert_log_is_empty(dir); /* frames that may not be on the disk are not built upon */
        last = last_seq(store);
        g_assert_cmpint(last, >=, fault->least + clean);
        g_assert_cmpint(last, <=, fault->most + clean);
        assert_holds(store, last); /* whole or not at all */
        commit_job(store, last + 1);
}

static void test_faults(void)
{
        faulty_install();
        for (gsize i = 0; i < G_N_ELEMENTS(fault_cases); i++) {
                g_test_message("%s", fault_cases[i].name);
                run_fault(&fault_cases[i]);
        }
        faulty_remove();
}

enum {
        COPY_BYTES = 17 * 1024 * 1024, /* of the log: it is copied after 16 MB */
        PATIENCE_S = 120,
};

static void commit_until_copied(Store *store, gint64 *seq)
{
        StoreMetrics metrics;

        do { /* until the background copy has had its 16 MB and the disk its chance to fail */
                commit_job(store, ++*seq);
                store_metrics(store, &metrics);
        } while (metrics.wal_bytes < COPY_BYTES);
}

/* The database cannot be synced when the log is copied into it: no commit builds upon that. */
static void test_failed_copy(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = NULL;
        g_autoptr(GError) error = NULL;
        StoreFailure failure = STORE_FAILED_CLEAN;
        gint64 seq = 0, patience = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;

        faulty_install();
        store = open_store(dir);
        faulty_set(FAULT_SYNC, "paddle.db", 1, false);
        /* The commits go on until the copy's failure is known; the thread that copies may be slow to begin. */
        for (bool ok = true; ok && g_get_monotonic_time() < patience;) {
                g_autoptr(Batch) batch = job_batch(seq + 1);
                const StoreBatch view = batch_view(batch);
                StoreMetrics metrics;

                ok = store_commit(store, &view, &failure, &error);
                seq += ok;
                store_metrics(store, &metrics);
                if (ok && metrics.wal_bytes >= COPY_BYTES)
                        g_usleep(1000);
        }
        g_assert_cmpint(failure, ==, STORE_FAILED_FATAL);
        g_assert_cmpint(faulty_count(), >, 0);
        faulty_set(FAULT_NONE, "", 0, false);
        g_clear_pointer(&store, store_close);
        store = open_store(dir);
        assert_holds(store, seq);
        g_clear_pointer(&store, store_close);
        faulty_remove();
}

/* No room to copy the log: it stays, commits go on, and nothing is lost. */
static void test_no_room_for_copy(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = NULL;
        gint64 seq = 0;

        faulty_install();
        store = open_store(dir);
        faulty_set(FAULT_FULL, "paddle.db", 1, false);
        commit_until_copied(store, &seq);
        while (faulty_count() == 0)
                commit_job(store, ++seq);
        faulty_set(FAULT_NONE, "", 0, false);
        commit_job(store, ++seq);
        g_clear_pointer(&store, store_close);
        store = open_store(dir);
        assert_holds(store, seq);
        g_clear_pointer(&store, store_close);
        faulty_remove();
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        own_mounts();
        g_test_add_func("/failure/full-disk", test_full_disk);
        g_test_add_func("/failure/start-on-full-disk", test_start_on_full_disk);
        g_test_add_func("/failure/faults", test_faults);
        g_test_add_func("/failure/failed-copy", test_failed_copy);
        g_test_add_func("/failure/no-room-for-copy", test_no_room_for_copy);
        return g_test_run();
}
