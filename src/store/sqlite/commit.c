/* The writer's side (see store.h): a batch is one transaction; what was committed is loaded at a start.
 *
 * A failed commit is clean when three things hold: SQLite gave a reason after which nothing of the batch is
 * in the log (a full disk while writing, a broken constraint), it has no open transaction any more, and the
 * batch's first job and event cannot be read back. Everything else leaves the log in doubt: after a failed
 * sync the kernel may count pages as written that never were, so a second sync proves nothing. */
#include <errno.h>

#include "base/err.h"
#include "model/queue.h"
#include "store/sqlite/sqlite.h"

enum { EVENTS_PER_DROP = 2000 }; /* deleted in one batch: a few milliseconds */

/* Two statements of each kind of subject: its subjects of a deleted user are renamed, and then their events. */
#define DISOWN_ID(constant, number, table) DISOWN_##constant, DISOWN_EVENTS_##constant,
#define DISOWN_SQL(constant, number, table)                                                                  \
        [DISOWN_##constant] = "UPDATE " table " SET user = ?2 WHERE user = ?1",                              \
        [DISOWN_EVENTS_##constant] = "UPDATE event SET user = ?2 WHERE subject_kind = " #number              \
                                     " AND subject_seq IN (SELECT seq FROM " table " WHERE user = ?2)",

enum {
        BEGIN,
        COMMIT,
        ROLLBACK,
        JOB_INSERT,
        JOB_CHANGE,
        JOB_MOVE,
        JOB_FINISH,
        SPEC_INSERT,
        LABEL_INSERT,
        LABELS_DROP,
        EVENT_INSERT,
        OBJECT_PUT,
        OBJECT_DROP,
        USAGE_PUT,
        TOKEN_INSERT,
        TOKEN_DROP,
        LOG_OUT,
        KEEP_COUNTERS,
        KEEP_OBJECT_SEQ,
        JOB_SPEC,
        JOB_DROP,
        SPEC_DROP,
        EVENTS_OF_DROP,
        HORIZON_SET,
        EVENTS_DROP,
        BOOT_ID_SET,
        JOB_EXISTS,
        EVENT_EXISTS,
        LOAD_STATE,
        LOAD_JOBS,
        LOAD_OBJECTS,
        LOAD_USAGE,
        SUBJECT_KINDS(DISOWN_ID) /* two of each kind */
        N_SQL,
};

const char *const writer_sql[] = {
        [BEGIN] = "BEGIN IMMEDIATE",
        [COMMIT] = "COMMIT",
        [ROLLBACK] = "ROLLBACK",
        [JOB_INSERT] =
                "INSERT INTO job (seq, id, user, name, queue, state, phase, updated, started, spec,"
                " array, idempotency, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        /* The queue is compared, not set: no index has to be touched while the job stays open in it. */
        [JOB_CHANGE] =
                "UPDATE job SET state = ?3, updated = ?4, started = iif(started, started, ?5), body = ?6"
                " WHERE seq = ?1 AND queue = ?2",
        [JOB_MOVE] = "UPDATE job SET queue = ?2, state = ?3, updated = ?4,"
                     " started = iif(started, started, ?5), body = ?6 WHERE seq = ?1",
        [JOB_FINISH] = "UPDATE job SET queue = ?2, state = ?3, phase = ?3, updated = ?4,"
                       " started = iif(started, started, ?5), body = ?6 WHERE seq = ?1",
        [SPEC_INSERT] = "INSERT INTO job_spec (seq, spec) VALUES (?1, ?2)",
        [LABEL_INSERT] = "INSERT OR IGNORE INTO job_label (label, seq) VALUES (?2, ?1)",
        [LABELS_DROP] = "DELETE FROM job_label WHERE seq = ?1",
        [EVENT_INSERT] =
                "INSERT INTO event (revision, time, subject_kind, subject_seq, subject_id, user, kind, data)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        [OBJECT_PUT] = "INSERT INTO object (seq, kind, name, body) VALUES (?1, ?2, ?3, ?4)"
                       " ON CONFLICT (seq) DO UPDATE SET body = excluded.body",
        [OBJECT_DROP] = "DELETE FROM object WHERE seq = ?1 AND kind = ?2",
        [USAGE_PUT] = "INSERT INTO usage (queue, user, usage, at) VALUES (?1, ?2, ?3, ?4)"
                      " ON CONFLICT (queue, user) DO UPDATE SET usage = excluded.usage, at = excluded.at",
        [TOKEN_INSERT] =
                "INSERT INTO token (id, user, hash, note, created, expires, login, scope, queue, maker,"
                " authority) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        /* With those that were made with it, and so on. */
        [TOKEN_DROP] = "WITH RECURSIVE gone (id) AS (VALUES (?1) UNION"
                       " SELECT token.id FROM gone CROSS JOIN token ON token.maker = gone.id)"
                       " DELETE FROM token WHERE id IN gone",
        [LOG_OUT] = "DELETE FROM token WHERE user = ?1 AND login <> 0",
        /* The newest row may be among the dropped ones; its number is never given again. */
        [KEEP_COUNTERS] =
                "UPDATE state SET"
                " last_seq = max(last_seq, coalesce((SELECT max(seq) FROM job), 0)),"
                " last_revision = max(last_revision, coalesce((SELECT max(revision) FROM event), 0))",
        [KEEP_OBJECT_SEQ] = "UPDATE state SET last_object_seq ="
                            " max(last_object_seq, coalesce((SELECT max(seq) FROM object), 0))",
        [JOB_SPEC] = "SELECT spec FROM job WHERE seq = ?1",
        [JOB_DROP] = "DELETE FROM job WHERE seq = ?1",
        [SPEC_DROP] =
                "DELETE FROM job_spec WHERE seq = ?1 AND NOT EXISTS (SELECT 1 FROM job WHERE seq = ?1)"
                " AND NOT EXISTS (SELECT 1 FROM job INDEXED BY job_shares WHERE spec = ?1 AND spec <> seq)",
        [EVENTS_OF_DROP] = "DELETE FROM event WHERE subject_kind = ?1 AND subject_seq = ?2",
        [HORIZON_SET] = "UPDATE state SET events_horizon = max(events_horizon, ?1)",
        [EVENTS_DROP] = "DELETE FROM event WHERE revision IN (SELECT revision FROM event"
                        " WHERE revision <= (SELECT events_horizon FROM state) ORDER BY revision LIMIT ?1)",
        [BOOT_ID_SET] = "UPDATE state SET boot_id = ?1",
        [JOB_EXISTS] = "SELECT 1 FROM job WHERE seq = ?1",
        [EVENT_EXISTS] = "SELECT 1 FROM event WHERE revision = ?1",
        [LOAD_STATE] = "SELECT max(last_seq, coalesce((SELECT max(seq) FROM job), 0)),"
                       " max(last_revision, events_horizon, coalesce((SELECT max(revision) FROM event), 0)),"
                       " events_horizon, boot_id,"
                       " max(last_object_seq, coalesce((SELECT max(seq) FROM object), 0)) FROM state",
        [LOAD_JOBS] = "SELECT " JOB_COLUMNS " FROM job INDEXED BY job_phase" JOB_WITH_SPEC
                      "WHERE phase = 1 ORDER BY job.seq",
        [LOAD_OBJECTS] = "SELECT seq, kind, name, body FROM object ORDER BY seq",
        [LOAD_USAGE] = "SELECT queue, user, usage, at FROM usage ORDER BY queue, user",
        SUBJECT_KINDS(DISOWN_SQL)
};
G_STATIC_ASSERT(G_N_ELEMENTS(writer_sql) == N_SQL);
const int writer_n_sql = N_SQL;

#define DISOWN_SUBJECTS(constant, number, table) DISOWN_##constant,
#define DISOWN_EVENTS(constant, number, table) DISOWN_EVENTS_##constant,
static const int disown_subjects[] = { SUBJECT_KINDS(DISOWN_SUBJECTS) };
static const int disown_events[] = { SUBJECT_KINDS(DISOWN_EVENTS) };

enum { PHASE_OPEN = 1 }; /* of the column `phase`; a job that ended has its state there */

static bool insert_labels(Conn *conn, const Job *job, GError **error)
{
        char *const *labels = job_labels(job);

        for (; labels && *labels; labels++) {
                conn_bind_int(conn, LABEL_INSERT, 1, job->seq);
                conn_bind_text(conn, LABEL_INSERT, 2, *labels);
                if (!conn_run(conn, LABEL_INSERT, error))
                        return false;
        }
        return true;
}

static bool says_nothing(const json_t *value)
{
        return json_is_null(value) || (json_is_object(value) && json_object_size(value) == 0);
}

/* Members that are null or an empty object say what their absence says: without them the text is half as
 * long, and so is the time to read it. Other defaults are kept: they may change. */
static void shorten(json_t *object)
{
        const char *name;
        json_t *value;
        void *next;

        json_object_foreach_safe(object, next, name, value) {
                if (says_nothing(value))
                        json_object_del(object, name);
        }
}

static void shorten_spec(json_t *spec)
{
        json_t *role;
        size_t i;

        shorten(spec);
        json_array_foreach(json_object_get(spec, "roles"), i, role) {
                shorten(role);
        }
}

/* Once for all jobs that share it. */
static bool insert_spec(Conn *conn, const Job *job, GError **error)
{
        g_autoptr(json_t) object = NULL;
        g_autofree char *spec = NULL;

        if (job->spec_seq && job->spec_seq != job->seq)
                return true;
        object = spec_format(job->spec);
        shorten_spec(object);
        spec = json_format(object);
        conn_bind_int(conn, SPEC_INSERT, 1, job->seq);
        conn_bind_text(conn, SPEC_INSERT, 2, spec);
        return conn_run(conn, SPEC_INSERT, error);
}

static bool insert_job(Conn *conn, const Job *job, GError **error)
{
        g_autofree char *body = job_pack(job);

        conn_bind_int(conn, JOB_INSERT, 1, job->seq);
        conn_bind_text(conn, JOB_INSERT, 2, job->id);
        conn_bind_text(conn, JOB_INSERT, 3, job->user);
        conn_bind_text(conn, JOB_INSERT, 4, job->name);
        conn_bind_text(conn, JOB_INSERT, 5, job->queue ? job->queue : QUEUE_DEFAULT);
        conn_bind_int(conn, JOB_INSERT, 6, job->state);
        conn_bind_int(conn, JOB_INSERT, 7, job_state_is_final(job->state) ? job->state : PHASE_OPEN);
        conn_bind_int(conn, JOB_INSERT, 8, job->updated);
        conn_bind_int(conn, JOB_INSERT, 9, job->running);
        conn_bind_int(conn, JOB_INSERT, 10, job->spec_seq ? job->spec_seq : job->seq);
        conn_bind_int(conn, JOB_INSERT, 11, job->array_seq);
        conn_bind_text(conn, JOB_INSERT, 12, job->idempotency_key);
        conn_bind_text(conn, JOB_INSERT, 13, body);
        if (!conn_run(conn, JOB_INSERT, error))
                return err_prefix(error, "job '%s' (%s of %s): ", job->id, job->name, job->user);
        return insert_spec(conn, job, error) && insert_labels(conn, job, error);
}

static bool update_job(Conn *conn, int stmt, const Job *job, const char *body, GError **error)
{
        conn_bind_int(conn, stmt, 1, job->seq);
        conn_bind_text(conn, stmt, 2, job->queue ? job->queue : QUEUE_DEFAULT);
        conn_bind_int(conn, stmt, 3, job->state);
        conn_bind_int(conn, stmt, 4, job->updated);
        conn_bind_int(conn, stmt, 5, job->running);
        conn_bind_text(conn, stmt, 6, body);
        return conn_run(conn, stmt, error);
}

/* Labels of its own were set after the submission; seldom. */
static bool change_labels(Conn *conn, const Job *job, GError **error)
{
        if (!job->labels)
                return true;
        conn_bind_int(conn, LABELS_DROP, 1, job->seq);
        return conn_run(conn, LABELS_DROP, error) && insert_labels(conn, job, error);
}

static bool change_job(Conn *conn, const Job *job, GError **error)
{
        int stmt = job_state_is_final(job->state) ? JOB_FINISH : JOB_CHANGE;
        g_autofree char *body = job_pack(job);

        if (!update_job(conn, stmt, job, body, error))
                return false;
        if (stmt == JOB_CHANGE && sqlite3_changes(conn->db) == 0 &&
            !update_job(conn, JOB_MOVE, job, body, error))
                return false;
        if (sqlite3_changes(conn->db) != 1)
                return err_set(error, ERR_NOT_FOUND, "job '%s' is not in the database, so it cannot change",
                               job->id);
        return change_labels(conn, job, error);
}

static bool insert_event(Conn *conn, const Event *event, GError **error)
{
        conn_bind_int(conn, EVENT_INSERT, 1, event->revision);
        conn_bind_int(conn, EVENT_INSERT, 2, event->time);
        conn_bind_int(conn, EVENT_INSERT, 3, event->subject.kind);
        conn_bind_int(conn, EVENT_INSERT, 4, event->subject.seq);
        conn_bind_text(conn, EVENT_INSERT, 5, event->subject.id);
        conn_bind_text(conn, EVENT_INSERT, 6, event->subject.owner);
        conn_bind_text(conn, EVENT_INSERT, 7, event->kind);
        conn_bind_text(conn, EVENT_INSERT, 8, event->data);
        return conn_run(conn, EVENT_INSERT, error);
}

static bool put_object(Conn *conn, const Object *object, GError **error)
{
        g_autofree char *body = object_pack(object);

        conn_bind_int(conn, OBJECT_PUT, 1, object->seq);
        conn_bind_int(conn, OBJECT_PUT, 2, object->kind);
        conn_bind_text(conn, OBJECT_PUT, 3, object->name);
        conn_bind_text(conn, OBJECT_PUT, 4, body);
        return conn_run(conn, OBJECT_PUT, error) ||
               err_prefix(error, "%s '%s': ", kind_name(object->kind), object->name);
}

static bool drop_object(Conn *conn, const Object *object, GError **error)
{
        conn_bind_int(conn, OBJECT_DROP, 1, object->seq);
        conn_bind_int(conn, OBJECT_DROP, 2, object->kind);
        return conn_run(conn, OBJECT_DROP, error);
}

static bool put_usage(Conn *conn, const Usage *usage, GError **error)
{
        conn_bind_text(conn, USAGE_PUT, 1, usage->queue);
        conn_bind_text(conn, USAGE_PUT, 2, usage->user);
        conn_bind_int(conn, USAGE_PUT, 3, usage->usage);
        conn_bind_int(conn, USAGE_PUT, 4, usage->at);
        return conn_run(conn, USAGE_PUT, error);
}

static bool insert_token(Conn *conn, const Token *token, GError **error)
{
        conn_bind_text(conn, TOKEN_INSERT, 1, token->id);
        conn_bind_text(conn, TOKEN_INSERT, 2, token->user);
        conn_bind_text(conn, TOKEN_INSERT, 3, token->hash);
        conn_bind_text(conn, TOKEN_INSERT, 4, token->note);
        conn_bind_int(conn, TOKEN_INSERT, 5, token->created);
        conn_bind_int(conn, TOKEN_INSERT, 6, token->expires);
        conn_bind_int(conn, TOKEN_INSERT, 7, token->login);
        conn_bind_int(conn, TOKEN_INSERT, 8, token->scope ? token->scope : SCOPE_ADMIN);
        conn_bind_text(conn, TOKEN_INSERT, 9, token->queue);
        conn_bind_text(conn, TOKEN_INSERT, 10, token->maker);
        conn_bind_text(conn, TOKEN_INSERT, 11, token->authority);
        return conn_run(conn, TOKEN_INSERT, error);
}

static bool drop_token(Conn *conn, const char *id, GError **error)
{
        conn_bind_text(conn, TOKEN_DROP, 1, id);
        return conn_run(conn, TOKEN_DROP, error);
}

static bool log_out(Conn *conn, const char *user, GError **error)
{
        conn_bind_text(conn, LOG_OUT, 1, user);
        return conn_run(conn, LOG_OUT, error);
}

static guint length(const GPtrArray *list)
{
        return list ? list->len : 0;
}

/* Rename a deleted user's subjects, so that a later user of that name does not inherit them. No user can have the
 * name "NAME#SEQ". */
static bool disown_one(Conn *conn, const Object *user, const int *stmts, int n, GError **error)
{
        g_autofree char *former = g_strdup_printf("%s#%" G_GINT64_FORMAT, user->name, user->seq);

        for (int i = 0; i < n; i++) {
                conn_bind_text(conn, stmts[i], 1, user->name);
                conn_bind_text(conn, stmts[i], 2, former);
                if (!conn_run(conn, stmts[i], error))
                        return false;
        }
        return true;
}

static bool disown(Conn *conn, const StoreBatch *batch, const int *stmts, int n, GError **error)
{
        for (guint i = 0; i < length(batch->dropped_objects); i++) {
                const Object *object = g_ptr_array_index(batch->dropped_objects, i);

                if (object->kind == KIND_USER && !disown_one(conn, object, stmts, n, error))
                        return false;
        }
        return true;
}

static bool drop_by(Conn *conn, int stmt, gint64 seq, GError **error)
{
        conn_bind_int(conn, stmt, 1, seq);
        return conn_run(conn, stmt, error);
}

static bool drop_events(Conn *conn, SubjectKind kind, gint64 seq, GError **error)
{
        conn_bind_int(conn, EVENTS_OF_DROP, 1, kind);
        conn_bind_int(conn, EVENTS_OF_DROP, 2, seq);
        return conn_run(conn, EVENTS_OF_DROP, error);
}

/* The specification goes with the last job that shares it. */
static bool drop_job(Conn *conn, const gint64 *seq, GError **error)
{
        gint64 spec = 0;
        Step step;

        conn_bind_int(conn, JOB_SPEC, 1, *seq);
        step = conn_step(conn, JOB_SPEC, error);
        if (step == STEP_ROW) {
                spec = conn_int(conn, JOB_SPEC, 0);
                conn_reset(conn, JOB_SPEC);
        }
        return step != STEP_ERROR && drop_by(conn, JOB_DROP, *seq, error) &&
               drop_by(conn, SPEC_DROP, spec, error) && drop_by(conn, LABELS_DROP, *seq, error) &&
               drop_events(conn, SUBJECT_JOB, *seq, error);
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

static bool write_objects(Conn *conn, const StoreBatch *batch, GError **error)
{
        if (length(batch->dropped_objects) && !conn_run(conn, KEEP_OBJECT_SEQ, error))
                return false;
        WRITE_EACH(batch->dropped_objects, Object, drop_object)
        WRITE_EACH(batch->objects, Object, put_object)
        WRITE_EACH(batch->usage, Usage, put_usage)
        return true;
}

static bool write_tokens(Conn *conn, const StoreBatch *batch, GError **error)
{
        WRITE_EACH(batch->logged_out, char, log_out)
        WRITE_EACH(batch->tokens, Token, insert_token)
        WRITE_EACH(batch->dropped_tokens, char, drop_token)
        return true;
}

static bool drop_old(Conn *conn, const StoreBatch *batch, GError **error)
{
        if (length(batch->dropped_jobs) && !conn_run(conn, KEEP_COUNTERS, error))
                return false;
        WRITE_EACH(batch->dropped_jobs, gint64, drop_job)
        return batch->events_horizon <= 0 || move_horizon(conn, batch->events_horizon, error);
}

/* Changes come before new jobs: one that ends here frees its name for one that begins here. So do dropped
 * objects before others. */
static bool write_batch(Conn *conn, const StoreBatch *batch, GError **error)
{
        if (!conn_run(conn, BEGIN, error) || !write_objects(conn, batch, error))
                return false;
        WRITE_EACH(batch->changed_jobs, Job, change_job)
        if (!disown(conn, batch, disown_subjects, G_N_ELEMENTS(disown_subjects), error))
                return false;
        WRITE_EACH(batch->new_jobs, Job, insert_job)
        WRITE_EACH(batch->events, Event, insert_event)
        if (!disown(conn, batch, disown_events, G_N_ELEMENTS(disown_events), error) ||
            !write_tokens(conn, batch, error) || !drop_old(conn, batch, error))
                return false;
        if (batch->boot_id && !set_boot_id(conn, batch->boot_id, error))
                return false;
        return conn_run(conn, COMMIT, error);
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

/* What has ended is asked for soon, and never changes. */
static void note_ends(Store *store, const StoreBatch *batch)
{
        if (length(batch->dropped_jobs))
                cache_drop(&store->cache, batch->dropped_jobs);
        for (guint i = 0; i < length(batch->changed_jobs); i++) {
                Job *job = g_ptr_array_index(batch->changed_jobs, i);

                if (job_state_is_final(job->state))
                        cache_put(&store->cache, job, cache_generation(&store->cache));
        }
        for (guint i = 0; i < length(batch->dropped_objects); i++)
                if (((const Object *)g_ptr_array_index(batch->dropped_objects, i))->kind == KIND_USER)
                        cache_empty(&store->cache);
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
        note_ends(store, batch);
        store->commits++;
        store->committed_jobs += length(batch->new_jobs) + length(batch->changed_jobs);
        store->committed_events += length(batch->events);
        store->horizon = MAX(store->horizon, batch->events_horizon);
        return true;
}

void store_state_clear(StoreState *state)
{
        g_clear_pointer(&state->objects, g_ptr_array_unref);
        g_clear_pointer(&state->usage, g_ptr_array_unref);
}

static bool load_state(Conn *conn, StoreState *ret, GError **error)
{
        g_autofree char *boot_id = NULL;

        if (conn_step(conn, LOAD_STATE, error) != STEP_ROW)
                return false;
        boot_id = conn_text(conn, LOAD_STATE, 3);
        ret->last_seq = conn_int(conn, LOAD_STATE, 0);
        ret->last_revision = conn_int(conn, LOAD_STATE, 1);
        ret->events_horizon = conn_int(conn, LOAD_STATE, 2);
        ret->last_object_seq = conn_int(conn, LOAD_STATE, 4);
        g_strlcpy(ret->boot_id, boot_id, sizeof ret->boot_id);
        conn_reset(conn, LOAD_STATE);
        return true;
}

static Object *read_object(Conn *conn, GError **error)
{
        g_autofree char *name = conn_text(conn, LOAD_OBJECTS, 2);
        g_autofree char *body = conn_text(conn, LOAD_OBJECTS, 3);
        gint64 kind = conn_int(conn, LOAD_OBJECTS, 1);
        Object *object;

        if (kind < 0 || kind >= KINDS) {
                err_set(error, ERR_INVALID, "object '%s' in the database: no kind %" G_GINT64_FORMAT, name,
                        kind);
                return NULL;
        }
        object = object_unpack((ObjectKind)kind, conn_int(conn, LOAD_OBJECTS, 0), name, body, error);
        if (!object)
                err_prefix(error, "%s '%s' in the database: ", kind_name((ObjectKind)kind), name);
        return object;
}

static bool load_objects(Conn *conn, GPtrArray *ret, GError **error)
{
        Step step;

        while ((step = conn_step(conn, LOAD_OBJECTS, error)) == STEP_ROW) {
                Object *object = read_object(conn, error);

                if (!object) {
                        conn_reset(conn, LOAD_OBJECTS);
                        return false;
                }
                g_ptr_array_add(ret, object);
        }
        return step == STEP_DONE;
}

static bool load_usage(Conn *conn, GPtrArray *ret, GError **error)
{
        Step step;

        while ((step = conn_step(conn, LOAD_USAGE, error)) == STEP_ROW) {
                Usage *usage = g_new(Usage, 1);

                *usage = (Usage){ .queue = conn_text(conn, LOAD_USAGE, 0),
                                  .user = conn_text(conn, LOAD_USAGE, 1),
                                  .usage = conn_int(conn, LOAD_USAGE, 2),
                                  .at = conn_int(conn, LOAD_USAGE, 3) };
                g_ptr_array_add(ret, usage);
        }
        return step == STEP_DONE;
}

static bool load_jobs(Conn *conn, GPtrArray *ret, GError **error)
{
        g_autoptr(GHashTable) specs = job_specs_new();
        Step step;

        while ((step = conn_step(conn, LOAD_JOBS, error)) == STEP_ROW) {
                g_autoptr(JobRow) row = job_row_read(conn, LOAD_JOBS);
                Job *job = job_row_make(row, specs, error);

                if (!job) {
                        conn_reset(conn, LOAD_JOBS);
                        return false;
                }
                g_ptr_array_add(ret, job);
        }
        return step == STEP_DONE;
}

bool store_load(Store *store, StoreState *ret, GPtrArray *ret_open_jobs, GError **error)
{
        g_auto(StoreState) state = { .objects = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref),
                                     .usage = g_ptr_array_new_with_free_func((GDestroyNotify)usage_free) };
        Conn *conn = &store->writer;

        if (!load_state(conn, &state, error) || !load_objects(conn, state.objects, error) ||
            !load_usage(conn, state.usage, error) || !load_jobs(conn, ret_open_jobs, error))
                return false;
        *ret = state;
        state.objects = state.usage = NULL;
        return true;
}
