/* Opening and closing (see store.h). Before the first batch: one lock per directory, the newest tables, and
 * an empty write-ahead log. The log is emptied because a sync that failed in the run before may have left
 * frames that can be read but are not on the disk; copied into the database and synced there, they are. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/wal-buffer.h"
#include "store/sqlite/writer.h"

enum { DYING_MS = 500, DYING_STEP_US = 5000 };

/* Who holds the lock, as text for a message. */
static char *lock_owner(const char *path)
{
        g_autofree char *text = NULL;
        gint64 pid;

        if (!file_read(path, 32, &text, NULL, NULL) ||
            !number_parse("pid", g_strchomp(text), 1, G_MAXINT, &pid, NULL))
                return g_strdup("");
        return g_strdup_printf(" (process %" G_GINT64_FORMAT ")", pid);
}

/* A server that was just killed closes its sockets before its files: who starts the next one at once need not
 * see that. */
static bool lock_soon(int fd)
{
        gint64 until = clock_monotonic_ms() + DYING_MS;

        while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK || clock_monotonic_ms() >= until)
                        return false;
                g_usleep(DYING_STEP_US);
        }
        return true;
}

static bool take_lock(SqliteStore *store, const char *dir, GError **error)
{
        g_autofree char *path = g_build_filename(dir, "paddle.db.lock", NULL);
        g_autofree char *pid = g_strdup_printf("%d\n", (int)getpid());
        g_autofree char *owner = NULL;

        store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (store->lock_fd < 0)
                return err_set_errno(error, errno, "cannot open '%s'", path);
        if (lock_soon(store->lock_fd)) {
                /* Only for the message below; a full disk must not keep a server from starting. */
                if (ftruncate(store->lock_fd, 0) < 0 || pwrite(store->lock_fd, pid, strlen(pid), 0) < 0)
                        log_debug("the lock does not say whose it is", "path", path, NULL);
                return true;
        }
        if (errno != EWOULDBLOCK)
                return err_set_errno(error, errno, "cannot lock '%s'", path);
        owner = lock_owner(path);
        return err_set(error, ERR_CONFLICT,
                       "'%s' is open in another server%s\nStop that one, or give another state directory.",
                       store->path, owner);
}

/* The log and its index take their mode from the database, which holds the hashes of tokens. */
static bool make_file(const char *path, GError **error)
{
        fd_auto int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        if (fd < 0)
                return err_set_errno(error, errno, "cannot open database '%s'", path);
        return true;
}

static bool sync_dir(const char *dir, GError **error)
{
        fd_auto int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0 || fsync(fd) < 0)
                return err_set_errno(error, errno, "cannot sync directory '%s'", dir);
        return true;
}

static int note_commit(void *arg, sqlite3 *db, const char *name, int frames)
{
        SqliteStore *store = arg;

        wal_grew(&store->wal, frames);
        return SQLITE_OK;
}

static bool use_wal(SqliteStore *store, GError **error)
{
        sqlite3_stmt *stmt = NULL;
        bool ok;

        if (!conn_exec(&store->writer,
                       "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -4096",
                       error))
                return false;
        ok = sqlite3_prepare_v2(store->writer.db, "PRAGMA journal_mode = WAL", -1, &stmt, NULL) ==
                     SQLITE_OK &&
             sqlite3_step(stmt) == SQLITE_ROW &&
             g_strcmp0((const char *)sqlite3_column_text(stmt, 0), "wal") == 0;
        if (!ok)
                err_set(error, ERR_FAILED, "database '%s' cannot have a write-ahead log: %s", store->path,
                        sqlite3_errmsg(store->writer.db));
        (void)sqlite3_finalize(stmt); /* repeats the error of the step */
        return ok;
}

static bool empty_log(SqliteStore *store, GError **error)
{
        g_autoptr(GError) failure = NULL;

        if (conn_exec(&store->writer, "PRAGMA main.wal_checkpoint(TRUNCATE)", &failure))
                return true;
        if (err_is(failure, ERR_NO_SPACE)) {
                /* What is there can be read; commits will say that they cannot. */
                g_autofree char *reason = err_text(failure);

                log_warning("the database's log could not be emptied", "reason", reason, NULL);
                return true;
        }
        g_propagate_error(error, g_steal_pointer(&failure));
        return false;
}

static bool open_writer(SqliteStore *store, const char *dir, GError **error)
{
        return make_file(store->path, error) &&
               conn_open(&store->writer, store->path, SQLITE_OPEN_READWRITE, error) &&
               schema_migrate(&store->writer, schema_migrations, schema_n_migrations, error) &&
               use_wal(store, error) && sync_dir(dir, error) && empty_log(store, error) &&
               writer_prepare(&store->writer, error);
}

static bool start(SqliteStore *store, GError **error)
{
        gint64 horizon;

        if (!conn_get_int(&store->writer, "SELECT events_horizon FROM state", &horizon, error))
                return false;
        store->horizon = horizon;
        (void)sqlite3_wal_hook(store->writer.db, note_commit, store); /* answers the hook before: none */
        return wal_buffer_install(&store->writer, error) && wal_start(&store->wal, store->path, error);
}

Store *sqlite_open(const char *dir, GError **error)
{
        SqliteStore *store = g_new0(SqliteStore, 1);

        store->path = g_build_filename(dir, "paddle.db", NULL);
        store->lock_fd = -1;
        pool_init(&store->pool, store->path, reader_sql, reader_n_sql);
        wal_init(&store->wal, &store->pool);
        cache_init(&store->cache);
        array_names_init(&store->arrays);
        if (take_lock(store, dir, error) && open_writer(store, dir, error) && start(store, error))
                return &store->base;
        sqlite_close(&store->base);
        return NULL;
}

void sqlite_close(Store *base)
{
        SqliteStore *store = sqlite_store(base);
        int saved = errno;

        if (!store)
                return;
        wal_clear(&store->wal);
        pool_clear(&store->pool);
        cache_clear(&store->cache);
        array_names_clear(&store->arrays);
        if (store->in_doubt) /* the last connection would copy the log, and call durable what may not be */
                (void)sqlite3_db_config(store->writer.db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        conn_close(&store->writer); /* copies and removes the log */
        if (store->lock_fd >= 0)
                close(store->lock_fd); /* last: the directory is free from here on */
        g_free(store->path);
        g_free(store);
        errno = saved;
}

void sqlite_checkpoint(Store *base)
{
        SqliteStore *store = sqlite_store(base);

        wal_finish(&store->wal, &store->writer);
}

void sqlite_metrics(Store *base, StoreMetrics *ret)
{
        SqliteStore *store = sqlite_store(base);

        *ret = (StoreMetrics){ .commits = store->commits,
                               .committed_jobs = store->committed_jobs,
                               .committed_events = store->committed_events,
                               .wal_bytes = wal_bytes(&store->wal),
                               .checkpoint_ms_max = wal_longest_ms(&store->wal) };
}

const StoreOps store_sqlite = {
        .name = "sqlite",
        .open = sqlite_open,
        .close = sqlite_close,
        .load = sqlite_load,
        .commit = sqlite_commit,
        .checkpoint = sqlite_checkpoint,
        .metrics = sqlite_metrics,
        .job_by_id = sqlite_job_by_id,
        .job_by_seq = sqlite_job_by_seq,
        .job_by_name = sqlite_job_by_name,
        .job_by_key = sqlite_job_by_key,
        .jobs = sqlite_jobs,
        .jobs_count = sqlite_jobs_count,
        .jobs_that_ran = sqlite_jobs_that_ran,
        .array_count = sqlite_array_count,
        .array_by_name = sqlite_array_by_name,
        .array_jobs = sqlite_array_jobs,
        .run_by_id = sqlite_run_by_id,
        .run_by_seq = sqlite_run_by_seq,
        .run_by_key = sqlite_run_by_key,
        .runs = sqlite_runs,
        .run_nodes = sqlite_run_nodes,
        .run_moment = sqlite_run_moment,
        .run_children = sqlite_run_children,
        .run_pauses = sqlite_run_pauses,
        .run_loop_counts = sqlite_run_loop_counts,
        .run_counts = sqlite_run_counts,
        .run_expired = sqlite_run_expired,
        .run_text = sqlite_run_text,
        .artifacts = sqlite_artifacts,
        .pipeline = sqlite_pipeline,
        .pipeline_by_name = sqlite_pipeline_by_name,
        .pipelines = sqlite_pipelines,
        .pipeline_version = sqlite_pipeline_version,
        .pipeline_versions = sqlite_pipeline_versions,
        .schedule = sqlite_schedule,
        .schedule_by_name = sqlite_schedule_by_name,
        .schedules = sqlite_schedules,
        .run_user_of = sqlite_run_user_of,
        .run_bytes = sqlite_run_bytes,
        .cache_lookup = sqlite_cache_lookup,
        .cache_entries = sqlite_cache_entries,
        .cache_entry = sqlite_cache_entry,
        .cache_of_node = sqlite_cache_of_node,
        .cache_of_step = sqlite_cache_of_step,
        .cache_taker = sqlite_cache_taker,
        .run_chain = sqlite_run_chain,
        .cache_users = sqlite_cache_users,
        .cache_expired = sqlite_cache_expired,
        .events = sqlite_events,
        .events_horizon = sqlite_events_horizon,
        .token_by_hash = sqlite_token_by_hash,
        .tokens = sqlite_tokens,
};
