/* The writer's side (see store.h): a batch is one transaction; what was committed is loaded at a start.
 *
 * A failed commit is clean when three things hold: SQLite gave a reason after which nothing of the batch is
 * in the log (a full disk while writing, a broken constraint), it has no open transaction any more, and the
 * batch's first job and event cannot be read back. Everything else leaves the log in doubt: after a failed
 * sync the kernel may count pages as written that never were, so a second sync proves nothing. */
#include <errno.h>

#include "base/err.h"
#include "store/sqlite/sqlite.h"

enum { EVENTS_PER_DROP = 2000 }; /* deleted in one batch: a few milliseconds */

enum {
        BEGIN,
        COMMIT,
        ROLLBACK,
        JOB_INSERT,
        JOB_CHANGE,
        JOB_FINISH,
        SPEC_INSERT,
        EVENT_INSERT,
        USER_PUT,
        TOKEN_INSERT,
        TOKEN_DROP,
        KEEP_COUNTERS,
        JOB_DROP,
        SPEC_DROP,
        JOB_EVENTS_DROP,
        HORIZON_SET,
        EVENTS_DROP,
        BOOT_ID_SET,
        JOB_EXISTS,
        EVENT_EXISTS,
        LOAD_STATE,
        LOAD_JOBS,
        N_SQL,
};

const char *const writer_sql[] = {
        [BEGIN] = "BEGIN IMMEDIATE",
        [COMMIT] = "COMMIT",
        [ROLLBACK] = "ROLLBACK",
        [JOB_INSERT] = "INSERT INTO job (seq, id, user, name, state, open, idempotency, body)"
                       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        [JOB_CHANGE] = "UPDATE job SET state = ?2, body = ?3 WHERE seq = ?1",
        [JOB_FINISH] = "UPDATE job SET state = ?2, body = ?3, open = 0 WHERE seq = ?1",
        [SPEC_INSERT] = "INSERT INTO job_spec (seq, spec) VALUES (?1, ?2)",
        [EVENT_INSERT] = "INSERT INTO event (revision, time, job_seq, job_id, user, kind, data)"
                         " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        [USER_PUT] = "INSERT INTO user (name, admin, created) VALUES (?1, ?2, ?3)"
                     " ON CONFLICT (name) DO UPDATE SET admin = excluded.admin, created = excluded.created",
        [TOKEN_INSERT] =
                "INSERT INTO token (id, user, hash, note, created, expires) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        [TOKEN_DROP] = "DELETE FROM token WHERE id = ?1",
        /* The newest row may be among the dropped ones; its number is never given again. */
        [KEEP_COUNTERS] =
                "UPDATE state SET"
                " last_seq = max(last_seq, coalesce((SELECT max(seq) FROM job), 0)),"
                " last_revision = max(last_revision, coalesce((SELECT max(revision) FROM event), 0))",
        [JOB_DROP] = "DELETE FROM job WHERE seq = ?1",
        [SPEC_DROP] = "DELETE FROM job_spec WHERE seq = ?1",
        [JOB_EVENTS_DROP] = "DELETE FROM event WHERE job_seq > 0 AND job_seq = ?1",
        [HORIZON_SET] = "UPDATE state SET events_horizon = max(events_horizon, ?1)",
        [EVENTS_DROP] = "DELETE FROM event WHERE revision IN (SELECT revision FROM event"
                        " WHERE revision <= (SELECT events_horizon FROM state) ORDER BY revision LIMIT ?1)",
        [BOOT_ID_SET] = "UPDATE state SET boot_id = ?1",
        [JOB_EXISTS] = "SELECT 1 FROM job WHERE seq = ?1",
        [EVENT_EXISTS] = "SELECT 1 FROM event WHERE revision = ?1",
        [LOAD_STATE] = "SELECT max(last_seq, coalesce((SELECT max(seq) FROM job), 0)),"
                       " max(last_revision, events_horizon, coalesce((SELECT max(revision) FROM event), 0)),"
                       " events_horizon, boot_id FROM state",
        [LOAD_JOBS] = "SELECT " JOB_COLUMNS " FROM job INDEXED BY job_open" JOB_WITH_SPEC
                      "WHERE open = 1 ORDER BY job.seq",
};
G_STATIC_ASSERT(G_N_ELEMENTS(writer_sql) == N_SQL);
const int writer_n_sql = N_SQL;

static bool insert_job(Conn *conn, const Job *job, GError **error)
{
        g_autoptr(json_t) object = spec_format(job->spec);
        g_autofree char *spec = json_format(object);
        g_autofree char *body = job_pack(job);

        conn_bind_int(conn, JOB_INSERT, 1, job->seq);
        conn_bind_text(conn, JOB_INSERT, 2, job->id);
        conn_bind_text(conn, JOB_INSERT, 3, job->user);
        conn_bind_text(conn, JOB_INSERT, 4, job->name);
        conn_bind_int(conn, JOB_INSERT, 5, job->state);
        conn_bind_int(conn, JOB_INSERT, 6, !job_state_is_final(job->state));
        conn_bind_text(conn, JOB_INSERT, 7, job->idempotency_key);
        conn_bind_text(conn, JOB_INSERT, 8, body);
        if (!conn_run(conn, JOB_INSERT, error))
                return err_prefix(error, "job '%s' (%s of %s): ", job->id, job->name, job->user);
        conn_bind_int(conn, SPEC_INSERT, 1, job->seq);
        conn_bind_text(conn, SPEC_INSERT, 2, spec);
        return conn_run(conn, SPEC_INSERT, error);
}

static bool change_job(Conn *conn, const Job *job, GError **error)
{
        int stmt = job_state_is_final(job->state) ? JOB_FINISH : JOB_CHANGE;
        g_autofree char *body = job_pack(job);

        conn_bind_int(conn, stmt, 1, job->seq);
        conn_bind_int(conn, stmt, 2, job->state);
        conn_bind_text(conn, stmt, 3, body);
        if (!conn_run(conn, stmt, error))
                return false;
        if (sqlite3_changes(conn->db) != 1)
                return err_set(error, ERR_NOT_FOUND, "job '%s' is not in the database, so it cannot change",
                               job->id);
        return true;
}

static bool insert_event(Conn *conn, const Event *event, GError **error)
{
        conn_bind_int(conn, EVENT_INSERT, 1, event->revision);
        conn_bind_int(conn, EVENT_INSERT, 2, event->time);
        conn_bind_int(conn, EVENT_INSERT, 3, event->job_seq);
        conn_bind_text(conn, EVENT_INSERT, 4, event->job_id);
        conn_bind_text(conn, EVENT_INSERT, 5, event->user);
        conn_bind_text(conn, EVENT_INSERT, 6, event->kind);
        conn_bind_text(conn, EVENT_INSERT, 7, event->data);
        return conn_run(conn, EVENT_INSERT, error);
}

static bool put_user(Conn *conn, const User *user, GError **error)
{
        conn_bind_text(conn, USER_PUT, 1, user->name);
        conn_bind_int(conn, USER_PUT, 2, user->admin);
        conn_bind_int(conn, USER_PUT, 3, user->created);
        return conn_run(conn, USER_PUT, error);
}

static bool insert_token(Conn *conn, const Token *token, GError **error)
{
        conn_bind_text(conn, TOKEN_INSERT, 1, token->id);
        conn_bind_text(conn, TOKEN_INSERT, 2, token->user);
        conn_bind_text(conn, TOKEN_INSERT, 3, token->hash);
        conn_bind_text(conn, TOKEN_INSERT, 4, token->note);
        conn_bind_int(conn, TOKEN_INSERT, 5, token->created);
        conn_bind_int(conn, TOKEN_INSERT, 6, token->expires);
        return conn_run(conn, TOKEN_INSERT, error);
}

static bool drop_token(Conn *conn, const char *id, GError **error)
{
        conn_bind_text(conn, TOKEN_DROP, 1, id);
        return conn_run(conn, TOKEN_DROP, error);
}

static bool drop_job(Conn *conn, const gint64 *seq, GError **error)
{
        static const int stmts[] = { JOB_DROP, SPEC_DROP, JOB_EVENTS_DROP };

        for (gsize i = 0; i < G_N_ELEMENTS(stmts); i++) {
                conn_bind_int(conn, stmts[i], 1, *seq);
                if (!conn_run(conn, stmts[i], error))
                        return false;
        }
        return true;
}

static bool move_horizon(Conn *conn, gint64 horizon, GError **error)
{
        conn_bind_int(conn, HORIZON_SET, 1, horizon);
        conn_bind_int(conn, EVENTS_DROP, 1, EVENTS_PER_DROP);
        return conn_run(conn, KEEP_COUNTERS, error) && conn_run(conn, HORIZON_SET, error) &&
               conn_run(conn, EVENTS_DROP, error);
}

static bool set_boot_id(Conn *conn, const char *boot_id, GError **error)
{
        conn_bind_text(conn, BOOT_ID_SET, 1, boot_id);
        return conn_run(conn, BOOT_ID_SET, error);
}

#define WRITE_EACH(list, type, write)                                                                        \
        for (guint i = 0; (list) && i < (list)->len; i++)                                                    \
                if (!write(conn, (const type *)g_ptr_array_index(list, i), error))                           \
                        return false;

/* Changes come before new jobs: one that ends here frees its name for one that begins here. */
static bool write_batch(Conn *conn, const StoreBatch *batch, GError **error)
{
        if (!conn_run(conn, BEGIN, error))
                return false;
        WRITE_EACH(batch->changed_jobs, Job, change_job)
        WRITE_EACH(batch->new_jobs, Job, insert_job)
        WRITE_EACH(batch->events, Event, insert_event)
        WRITE_EACH(batch->users, User, put_user)
        WRITE_EACH(batch->tokens, Token, insert_token)
        WRITE_EACH(batch->dropped_tokens, char, drop_token)
        if (batch->dropped_jobs && batch->dropped_jobs->len > 0 && !conn_run(conn, KEEP_COUNTERS, error))
                return false;
        WRITE_EACH(batch->dropped_jobs, gint64, drop_job)
        if (batch->events_horizon > 0 && !move_horizon(conn, batch->events_horizon, error))
                return false;
        if (batch->boot_id && !set_boot_id(conn, batch->boot_id, error))
                return false;
        return conn_run(conn, COMMIT, error);
}

static guint length(const GPtrArray *list)
{
        return list ? list->len : 0;
}

/* True if `stmt` ran and found no row with this number. */
static bool is_absent(Conn *conn, int stmt, gint64 number)
{
        Step step;

        conn_bind_int(conn, stmt, 1, number);
        step = conn_step(conn, stmt, NULL);
        conn_reset(conn, stmt);
        return step == STEP_DONE;
}

static bool is_undone(Conn *conn, const StoreBatch *batch)
{
        if (!sqlite3_get_autocommit(conn->db))
                return false;
        if (length(batch->new_jobs) &&
            !is_absent(conn, JOB_EXISTS, ((const Job *)g_ptr_array_index(batch->new_jobs, 0))->seq))
                return false;
        return length(batch->events) == 0 ||
               is_absent(conn, EVENT_EXISTS, ((const Event *)g_ptr_array_index(batch->events, 0))->revision);
}

/* Failures that SQLite reports before the batch's last frame is in the log. 0: not SQLite's, so before its
 * COMMIT. */
static bool is_harmless(int code, int sys)
{
        switch (code & 0xff) {
        case 0:
        case SQLITE_FULL:
        case SQLITE_CONSTRAINT:
        case SQLITE_TOOBIG:
        case SQLITE_BUSY: return true;
        case SQLITE_IOERR: return code == SQLITE_IOERR_WRITE && sys == EDQUOT;
        default: return false;
        }
}

static StoreFailure undo(Store *store, const StoreBatch *batch)
{
        Conn *conn = &store->writer;
        bool harmless = is_harmless(conn->failed, conn->failed_errno);
        bool rolled_back = sqlite3_get_autocommit(conn->db) || conn_run(conn, ROLLBACK, NULL);

        if (harmless && rolled_back && is_undone(conn, batch))
                return STORE_FAILED_CLEAN;
        store->in_doubt = true;
        return STORE_FAILED_FATAL;
}

static bool check_usable(Store *store, GError **error)
{
        if (wal_is_broken(&store->wal))
                store->in_doubt = true;
        if (store->in_doubt)
                return err_set(
                        error, ERR_FAILED,
                        "database '%s': an earlier write failed and it is not known what is on the disk\n"
                        "Restart the server; if it happens again, check the disk.",
                        store->path);
        return true;
}

bool store_commit(Store *store, const StoreBatch *batch, StoreFailure *ret_failure, GError **error)
{
        Conn *conn = &store->writer;

        if (!check_usable(store, error)) {
                *ret_failure = STORE_FAILED_FATAL;
                return false;
        }
        conn->failed = conn->failed_errno = 0;
        if (!write_batch(conn, batch, error)) {
                *ret_failure = undo(store, batch);
                return false;
        }
        store->commits++;
        store->committed_jobs += length(batch->new_jobs) + length(batch->changed_jobs);
        store->committed_events += length(batch->events);
        store->horizon = MAX(store->horizon, batch->events_horizon);
        return true;
}

static bool load_state(Conn *conn, StoreState *ret, GError **error)
{
        g_autofree char *boot_id = NULL;

        if (conn_step(conn, LOAD_STATE, error) != STEP_ROW)
                return false;
        boot_id = conn_text(conn, LOAD_STATE, 3);
        *ret = (StoreState){ .last_seq = conn_int(conn, LOAD_STATE, 0),
                             .last_revision = conn_int(conn, LOAD_STATE, 1),
                             .events_horizon = conn_int(conn, LOAD_STATE, 2) };
        g_strlcpy(ret->boot_id, boot_id, sizeof ret->boot_id);
        conn_reset(conn, LOAD_STATE);
        return true;
}

bool store_load(Store *store, StoreState *ret, GPtrArray *ret_open_jobs, GError **error)
{
        Conn *conn = &store->writer;
        StoreState state;
        Step step;

        if (!load_state(conn, &state, error))
                return false;
        while ((step = conn_step(conn, LOAD_JOBS, error)) == STEP_ROW) {
                g_autoptr(JobRow) row = job_row_read(conn, LOAD_JOBS);
                Job *job = job_row_make(row, error);

                if (!job) {
                        conn_reset(conn, LOAD_JOBS);
                        return false;
                }
                g_ptr_array_add(ret_open_jobs, job);
        }
        if (step == STEP_ERROR)
                return false;
        *ret = state;
        return true;
}
