/* How each kind of record is written and read (see writer.h). record_rows, at the end, is the table; its order is the
 * order of writing. The records' statements with a name are those that a function needs beside its row's own. */
#include "base/err.h"
#include "model/queue.h"
#include "store/sqlite/writer.h"

enum { EVENTS_PER_DROP = 2000 }; /* deleted in one batch: a few milliseconds */
enum { PHASE_OPEN = 1 };         /* of the column `phase`; a job that ended has its state there */

#define DISOWN_SQL(constant, number, table)                                                                  \
        [DISOWN_##constant] = "UPDATE " table " SET user = ?2 WHERE user = ?1",                              \
        [DISOWN_EVENTS_##constant] =                                                                         \
                "UPDATE event SET user = ?2 WHERE subject_seq > 0 AND subject_kind = " #number               \
                " AND subject_seq IN (SELECT seq FROM " table " WHERE user = ?2)",

static const char *const named_sql[] = {
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
        [OBJECT_PUT] = "INSERT INTO object (seq, kind, name, body) VALUES (?1, ?2, ?3, ?4)"
                       " ON CONFLICT (seq) DO UPDATE SET body = excluded.body",
        /* The newest row may be among the dropped ones; its number is never given again. */
        [KEEP_COUNTERS] =
                "UPDATE state SET"
                " last_seq = max(last_seq, coalesce((SELECT max(seq) FROM job), 0)),"
                " last_revision = max(last_revision, coalesce((SELECT max(revision) FROM event), 0))",
        [KEEP_OBJECT_SEQ] = "UPDATE state SET last_object_seq ="
                            " max(last_object_seq, coalesce((SELECT max(seq) FROM object), 0))",
        [KEEP_RUN_SEQ] =
                "UPDATE state SET last_run_seq = max(last_run_seq, coalesce((SELECT max(seq) FROM run), 0)),"
                " last_revision = max(last_revision, coalesce((SELECT max(revision) FROM event), 0))",
        [RUN_INSERT] =
                "INSERT INTO run (seq, id, user, name, state, created, finished, revision, admin, stopping,"
                " forced, dropped, idempotency, message, retry_of, attempt, pipeline, version, source, fs, note, size,"
                " schedule, scheduled)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, ?7, 0, 0, ?8, iif(?8, NULL, ?9), NULL, ?10, max(?11, 1),"
                " ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
        [RUN_TEXT_INSERT] = "INSERT INTO run_text (seq, text, request, hash) VALUES (?1, ?2, ?3, ?4)",
        [RUN_DROP] = "DELETE FROM run WHERE seq = ?1",
        [RUN_TEXT_DROP] = "DELETE FROM run_text WHERE seq = ?1",
        [RUN_HASH] = "SELECT hash FROM run_text WHERE seq = ?1",
        [KEEP_PIPELINE_SEQ] =
                "UPDATE state SET last_pipeline_seq ="
                " max(last_pipeline_seq, coalesce((SELECT max(seq) FROM pipeline), 0)),"
                " last_revision = max(last_revision, coalesce((SELECT max(revision) FROM event), 0))",
        [PIPELINE_DROP] = "DELETE FROM pipeline WHERE seq = ?1",
        [VERSION_INSERT] =
                "INSERT INTO pipeline_version (pipeline, version, hash, size, user, fs, path, created, files, packages)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        [VERSION_HASH] = "SELECT hash FROM pipeline_version WHERE pipeline = ?1 AND version = ?2",
        [VERSION_DROP] = "DELETE FROM pipeline_version WHERE pipeline = ?1 AND version = ?2",
        [STORED_TEXT_INSERT] = "INSERT OR IGNORE INTO pipeline_text (hash, text) VALUES (?1, ?2)",
        [STORED_TEXT_DROP] =
                "DELETE FROM pipeline_text WHERE hash = ?1"
                " AND NOT EXISTS (SELECT 1 FROM pipeline_version INDEXED BY pipeline_version_hash"
                " WHERE hash = ?1)"
                " AND NOT EXISTS (SELECT 1 FROM run_text INDEXED BY run_text_hash WHERE hash = ?1)",
        [KEEP_SCHEDULE_SEQ] =
                "UPDATE state SET last_schedule_seq ="
                " max(last_schedule_seq, coalesce((SELECT max(seq) FROM schedule), 0)),"
                " last_revision = max(last_revision, coalesce((SELECT max(revision) FROM event), 0))",
        [SCHEDULE_DROP] = "DELETE FROM schedule WHERE seq = ?1",
        [JOB_SPEC] = "SELECT spec FROM job WHERE seq = ?1",
        [JOB_DROP] = "DELETE FROM job WHERE seq = ?1",
        [SPEC_DROP] =
                "DELETE FROM job_spec WHERE seq = ?1 AND NOT EXISTS (SELECT 1 FROM job WHERE seq = ?1)"
                " AND NOT EXISTS (SELECT 1 FROM job INDEXED BY job_shares WHERE spec = ?1 AND spec <> seq)",
        [EVENTS_OF_DROP] =
                "DELETE FROM event WHERE subject_seq > 0 AND subject_seq = ?2 AND subject_kind = ?1",
        [HORIZON_SET] = "UPDATE state SET events_horizon = max(events_horizon, ?1)",
        [EVENTS_DROP] = "DELETE FROM event WHERE revision IN (SELECT revision FROM event"
                        " WHERE revision <= (SELECT events_horizon FROM state) ORDER BY revision LIMIT ?1)",
        [JOB_EXISTS] = "SELECT 1 FROM job WHERE seq = ?1",
        [EVENT_EXISTS] = "SELECT 1 FROM event WHERE revision = ?1",
        [LOAD_STATE] = "SELECT max(last_seq, coalesce((SELECT max(seq) FROM job), 0)),"
                       " max(last_revision, events_horizon, coalesce((SELECT max(revision) FROM event), 0)),"
                       " events_horizon, boot_id,"
                       " max(last_object_seq, coalesce((SELECT max(seq) FROM object), 0)),"
                       " max(last_run_seq, coalesce((SELECT max(seq) FROM run), 0)),"
                       " max(last_pipeline_seq, coalesce((SELECT max(seq) FROM pipeline), 0)),"
                       " max(last_schedule_seq, coalesce((SELECT max(seq) FROM schedule), 0)) FROM state",
        SUBJECT_KINDS(DISOWN_SQL)
};
G_STATIC_ASSERT(G_N_ELEMENTS(named_sql) == WRITER_N_SQL);

/* ---- jobs ---- */

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

/* Members that are null or an empty object say what their absence says: without them the text is half as
 * long, and so is the time to read it. Other defaults are kept: they may change.
 * Once for all jobs that share it. */
static bool insert_spec(Conn *conn, const Job *job, GError **error)
{
        g_autofree char *spec = NULL;

        if (job->spec_seq && job->spec_seq != job->seq)
                return true;
        spec = spec_text(job->spec, true);
        conn_bind_int(conn, SPEC_INSERT, 1, job->seq);
        conn_bind_text(conn, SPEC_INSERT, 2, spec);
        return conn_run(conn, SPEC_INSERT, error);
}

static bool insert_job(Conn *conn, const void *data, GError **error)
{
        const Job *job = data;
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

static bool change_job(Conn *conn, const void *data, GError **error)
{
        const Job *job = data;
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

static bool drop_by(Conn *conn, int stmt, gint64 seq, GError **error)
{
        conn_bind_int(conn, stmt, 1, seq);
        return conn_run(conn, stmt, error);
}

bool drop_events(Conn *conn, SubjectKind kind, gint64 seq, GError **error)
{
        conn_bind_int(conn, EVENTS_OF_DROP, 1, kind);
        conn_bind_int(conn, EVENTS_OF_DROP, 2, seq);
        return conn_run(conn, EVENTS_OF_DROP, error);
}

/* The specification goes with the last job that shares it. */
static bool drop_job(Conn *conn, const void *data, GError **error)
{
        const gint64 *seq = data;
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

static void *read_job(Conn *conn, int stmt, Loading *loading, GError **error)
{
        g_autoptr(JobRow) row = job_row_read(conn, stmt);

        return job_row_make(row, loading->specs, error);
}

static void free_job(gpointer job)
{
        job_unref(job);
}

/* A job that ended is often asked for soon, and never changes. */
static void cache_ended(SqliteStore *store, const void *data)
{
        const Job *job = data;

        if (job_state_is_final(job->state))
                cache_put(&store->cache, (Job *)job, cache_generation(&store->cache)); /* takes a reference */
}

static void forget_job(SqliteStore *store, const void *seq)
{
        cache_drop(&store->cache, *(const gint64 *)seq);
        array_names_forget(&store->arrays);
}

/* Its name means the new array from now on. */
static void note_array(SqliteStore *store, const void *data)
{
        const Job *job = data;

        if (job->array_seq == job->seq)
                array_names_forget(&store->arrays);
}

/* ---- events ---- */

static void bind_event(Conn *conn, int stmt, const void *data)
{
        const Event *event = data;

        conn_bind_int(conn, stmt, 1, event->revision);
        conn_bind_int(conn, stmt, 2, event->time);
        conn_bind_int(conn, stmt, 3, event->subject.kind);
        conn_bind_int(conn, stmt, 4, event->subject.seq);
        conn_bind_text(conn, stmt, 5, event->subject.id);
        conn_bind_text(conn, stmt, 6, event->subject.owner);
        conn_bind_text(conn, stmt, 7, event->kind);
        conn_bind_text(conn, stmt, 8, event->data);
}

static bool move_horizon(Conn *conn, const void *revision, GError **error)
{
        conn_bind_int(conn, HORIZON_SET, 1, *(const gint64 *)revision);
        conn_bind_int(conn, EVENTS_DROP, 1, EVENTS_PER_DROP);
        return conn_run(conn, HORIZON_SET, error) && conn_run(conn, EVENTS_DROP, error);
}

static void note_horizon(SqliteStore *store, const void *revision)
{
        store->horizon = MAX(store->horizon, *(const gint64 *)revision);
}

/* ---- objects and their owners ---- */

static bool put_object(Conn *conn, const void *data, GError **error)
{
        const Object *object = data;
        g_autofree char *body = object_pack(object);

        conn_bind_int(conn, OBJECT_PUT, 1, object->seq);
        conn_bind_int(conn, OBJECT_PUT, 2, object->kind);
        conn_bind_text(conn, OBJECT_PUT, 3, object->name);
        conn_bind_text(conn, OBJECT_PUT, 4, body);
        return conn_run(conn, OBJECT_PUT, error) ||
               err_prefix(error, "%s '%s': ", kind_name(object->kind), object->name);
}

static void bind_object_key(Conn *conn, int stmt, const void *data)
{
        const Object *object = data;

        conn_bind_int(conn, stmt, 1, object->seq);
        conn_bind_int(conn, stmt, 2, object->kind);
}

static void *read_object(Conn *conn, int stmt, Loading *loading, GError **error)
{
        g_autofree char *name = conn_text(conn, stmt, 2);
        g_autofree char *body = conn_text(conn, stmt, 3);
        gint64 kind = conn_int(conn, stmt, 1);
        Object *object;

        if (kind < 0 || kind >= KINDS) {
                err_set(error, ERR_INVALID, "object '%s' in the database: no kind %" G_GINT64_FORMAT, name,
                        kind);
                return NULL;
        }
        object = object_unpack((ObjectKind)kind, conn_int(conn, stmt, 0), name, body, error);
        if (!object)
                err_prefix(error, "%s '%s' in the database: ", kind_name((ObjectKind)kind), name);
        return object;
}

static void free_object(gpointer object)
{
        object_unref(object);
}

/* Rename a deleted user's subjects, so that a later user of that name does not inherit them. No user can have the
 * name "NAME#SEQ". */
static bool disown(Conn *conn, const Object *object, const int *stmts, int n, GError **error)
{
        g_autofree char *former = NULL;

        if (object->kind != KIND_USER)
                return true;
        former = g_strdup_printf("%s#%" G_GINT64_FORMAT, object->name, object->seq);
        for (int i = 0; i < n; i++) {
                conn_bind_text(conn, stmts[i], 1, object->name);
                conn_bind_text(conn, stmts[i], 2, former);
                if (!conn_run(conn, stmts[i], error))
                        return false;
        }
        return true;
}

#define DISOWN_SUBJECTS(constant, number, table) DISOWN_##constant,
#define DISOWN_EVENTS(constant, number, table) DISOWN_EVENTS_##constant,

static bool disown_subjects(Conn *conn, const void *object, GError **error)
{
        static const int stmts[] = { SUBJECT_KINDS(DISOWN_SUBJECTS) };

        return disown(conn, object, stmts, G_N_ELEMENTS(stmts), error);
}

static bool disown_events(Conn *conn, const void *object, GError **error)
{
        static const int stmts[] = { SUBJECT_KINDS(DISOWN_EVENTS) };

        return disown(conn, object, stmts, G_N_ELEMENTS(stmts), error);
}

static void forget_user(SqliteStore *store, const void *data)
{
        const Object *object = data;

        if (object->kind != KIND_USER)
                return;
        cache_empty(&store->cache);
        array_names_forget(&store->arrays);
}

/* ---- usage ---- */

static void bind_usage(Conn *conn, int stmt, const void *data)
{
        const Usage *usage = data;

        conn_bind_text(conn, stmt, 1, usage->queue);
        conn_bind_text(conn, stmt, 2, usage->user);
        conn_bind_int(conn, stmt, 3, usage->usage);
        conn_bind_int(conn, stmt, 4, usage->at);
}

static void *read_usage(Conn *conn, int stmt, Loading *loading, GError **error)
{
        Usage *usage = g_new(Usage, 1);

        *usage = (Usage){ .queue = conn_text(conn, stmt, 0),
                          .user = conn_text(conn, stmt, 1),
                          .usage = conn_int(conn, stmt, 2),
                          .at = conn_int(conn, stmt, 3) };
        return usage;
}

static void free_usage(gpointer usage)
{
        usage_free(usage);
}

/* ---- tokens ---- */

static void bind_token(Conn *conn, int stmt, const void *data)
{
        const Token *token = data;

        conn_bind_text(conn, stmt, 1, token->id);
        conn_bind_text(conn, stmt, 2, token->user);
        conn_bind_text(conn, stmt, 3, token->hash);
        conn_bind_text(conn, stmt, 4, token->note);
        conn_bind_int(conn, stmt, 5, token->created);
        conn_bind_int(conn, stmt, 6, token->expires);
        conn_bind_int(conn, stmt, 7, token->login);
        conn_bind_int(conn, stmt, 8, token->scope ? token->scope : SCOPE_ADMIN);
        conn_bind_text(conn, stmt, 9, token->queue);
        conn_bind_text(conn, stmt, 10, token->maker);
        conn_bind_text(conn, stmt, 11, token->authority);
}

static void bind_name(Conn *conn, int stmt, const void *name)
{
        conn_bind_text(conn, stmt, 1, name);
}

/* ---- runs ---- */

static void free_run(gpointer run)
{
        run_record_free(run);
}

static void free_run_child(gpointer child)
{
        run_child_record_free(child);
}

static void free_run_node(gpointer node)
{
        run_node_record_free(node);
}

static void free_pipeline(gpointer pipeline)
{
        pipeline_record_free(pipeline);
}

static void free_schedule(gpointer schedule)
{
        schedule_record_free(schedule);
}

static void free_version(gpointer version)
{
        pipeline_version_free(version);
}

/* ---- the table ---- */

/* NODE_RUNNING is the only state of a run before its end. With the equation the index gives the order of `seq`: without
 * it SQLite sorts the texts and nodes of all live runs at each start. */
#define RUN_IS_LIVE "run.state < 5 AND run.state = 3 AND run.dropped = 0"
_Static_assert(NODE_RUNNING == 3 && NODE_SUCCEEDED == 5, "states of runs in queries");

/* In order of writing:
 * - Dropped objects come before others, so that their names are free. Changed jobs come before new ones: a job that
 *   ends frees its name for one that begins.
 * - A deleted user's jobs are renamed before those of a new user of that name are inserted, and the events after
 *   those of this batch.
 * - Runs are inserted before they change, since a run can begin and end in one batch.
 * - Stored pipelines: what is new is inserted before anything is dropped, since a pipeline may be dropped in the batch that
 *   brings it, and so that a run which begins in this batch keeps the text of its version.
 * - Tokens: log-ins end before new ones are inserted. A token may be dropped in the batch that brings it. */
const RecordRow record_rows[] = {
        { RECORD_OBJECT, RECORD_DROP, .first = KEEP_OBJECT_SEQ,
          .sql = "DELETE FROM object WHERE seq = ?1 AND kind = ?2", .bind = bind_object_key },
        { RECORD_OBJECT, RECORD_PUT, .write = put_object,
          .load = "SELECT seq, kind, name, body FROM object ORDER BY seq", .read = read_object,
          .free = free_object },
        { RECORD_USAGE, RECORD_PUT,
          .sql = "INSERT INTO usage (queue, user, usage, at) VALUES (?1, ?2, ?3, ?4)"
                 " ON CONFLICT (queue, user) DO UPDATE SET usage = excluded.usage, at = excluded.at",
          .bind = bind_usage, .load = "SELECT queue, user, usage, at FROM usage ORDER BY queue, user",
          .read = read_usage, .free = free_usage },
        { RECORD_JOB, RECORD_PUT, .write = change_job, .committed = cache_ended,
          .load = "SELECT " JOB_COLUMNS " FROM job INDEXED BY job_phase" JOB_WITH_SPEC
                  "WHERE phase = 1 ORDER BY job.seq",
          .read = read_job, .free = free_job },
        { RECORD_OBJECT, RECORD_DROP, .write = disown_subjects },
        { RECORD_NEW_JOB, RECORD_PUT, .write = insert_job, .committed = note_array },
        { RECORD_EVENT, RECORD_PUT,
          .sql = "INSERT INTO event (revision, time, subject_kind, subject_seq, subject_id, user, kind, data)"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
          .bind = bind_event },
        { RECORD_OBJECT, RECORD_DROP, .write = disown_events, .committed = forget_user },
        { RECORD_LOGIN, RECORD_DROP, .sql = "DELETE FROM token WHERE user = ?1 AND login <> 0",
          .bind = bind_name },
        { RECORD_TOKEN, RECORD_PUT,
          .sql = "INSERT INTO token (id, user, hash, note, created, expires, login, scope, queue, maker,"
                 " authority) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
          .bind = bind_token },
        { RECORD_TOKEN, RECORD_DROP, /* with those that were made with it, and so on */
          .sql = "WITH RECURSIVE gone (id) AS (VALUES (?1) UNION"
                 " SELECT token.id FROM gone CROSS JOIN token ON token.maker = gone.id)"
                 " DELETE FROM token WHERE id IN gone",
          .bind = bind_name },
        { RECORD_JOB, RECORD_DROP, .first = KEEP_COUNTERS, .write = drop_job, .committed = forget_job },
        { RECORD_NEW_RUN, RECORD_PUT, .write = write_new_run },
        { RECORD_RUN, RECORD_PUT,
          .sql = "UPDATE run SET state = ?2, finished = ?3, revision = ?4, stopping = ?5, forced = ?6, dropped = ?7,"
                 " message = ?8, idempotency = iif(?7, NULL, coalesce(?9, idempotency)), size = ?10,"
                 " paused = ?11, control = coalesce(?12, control) WHERE seq = ?1",
          .bind = bind_run,
          .load = "SELECT " RUN_COLUMNS ", " RUN_TEXT_COLUMNS " FROM run INDEXED BY run_open"
                  " CROSS JOIN run_text ON run_text.seq = run.seq" RUN_WITH_STORED " WHERE " RUN_IS_LIVE
                  " ORDER BY run.seq",
          .read = read_run, .free = free_run },
        { RECORD_RUN_NODE, RECORD_PUT,
          .sql = "INSERT INTO run_node (run, node, dag, component, number, state, flags, job, started, finished, message,"
                 " made_by, reuse, taken) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
                 " ON CONFLICT (run, node) DO UPDATE SET state = excluded.state, flags = excluded.flags,"
                 " job = excluded.job, started = iif(started, started, excluded.started),"
                 " finished = excluded.finished, message = coalesce(excluded.message, message)",
          .bind = bind_run_node,
          .load = "SELECT " RUN_NODE_COLUMNS
                  " FROM run INDEXED BY run_open CROSS JOIN run_node ON run_node.run = run.seq"
                  " WHERE " RUN_IS_LIVE " ORDER BY run.seq, node",
          .read = read_run_node, .free = free_run_node },
        { RECORD_RUN_CHILD, RECORD_PUT,
          .sql = "INSERT INTO run_child (run, dag, component, first, count, rest, list, pause, pause_at, pause_epoch,"
                 " passed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
                 " ON CONFLICT (run, dag, component) DO UPDATE SET first = excluded.first, count = excluded.count,"
                 " rest = excluded.rest, list = coalesce(excluded.list, list), pause = excluded.pause,"
                 " pause_at = excluded.pause_at, pause_epoch = excluded.pause_epoch, passed = excluded.passed",
          .bind = bind_run_child,
          .load = "SELECT " RUN_CHILD_COLUMNS " FROM run INDEXED BY run_open"
                  " CROSS JOIN run_child ON run_child.run = run.seq WHERE " RUN_IS_LIVE
                  " ORDER BY run.seq, first",
          .read = read_run_child, .free = free_run_child },
        { RECORD_RUN_NODE, RECORD_DROP, .sql = "DELETE FROM run_node WHERE run = ?1 AND node = ?2",
          .bind = bind_run_node_key },
        { RECORD_RUN_CHILD, RECORD_DROP,
          .sql = "DELETE FROM run_child WHERE (run, dag, component) IN"
                 " (SELECT run, dag, component FROM run_child WHERE run = ?1 LIMIT ?2)",
          .bind = bind_run_children },
        { RECORD_ARTIFACT, RECORD_PUT,
          .sql = "INSERT OR REPLACE INTO run_artifact (run, node, output, name, user, fs, path, created)"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
          .bind = bind_artifact },
        { RECORD_ARTIFACT, RECORD_DROP,
          .sql = "DELETE FROM run_artifact WHERE run = ?1 AND node = ?2 AND name = coalesce(?3, name)",
          .bind = bind_artifact_drop },
        { RECORD_CACHE_ENTRY, RECORD_PUT,
          .sql = "INSERT INTO run_cache (key, first, second, run, node, job, user, fs, source, step, expiry, created, body)"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
          .bind = bind_cache_entry },
        { RECORD_CACHE_ENTRY, RECORD_DROP, .sql = "DELETE FROM run_cache WHERE seq = ?1", .bind = bind_seq },
        { RECORD_RUN_NODE, RECORD_DROP, .sql = "DELETE FROM run_cache WHERE run = ?1 AND node = ?2",
          .bind = bind_run_node_key },
        { RECORD_RUN, RECORD_DROP, .first = KEEP_RUN_SEQ, .write = drop_run },
        { RECORD_PIPELINE, RECORD_PUT,
          .sql = "INSERT INTO pipeline (seq, user, name, note, made, revision, created, updated)"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (seq) DO UPDATE SET note = excluded.note,"
                 " made = excluded.made, revision = excluded.revision, updated = excluded.updated",
          .bind = bind_pipeline, .load = "SELECT " PIPELINE_COLUMNS " FROM pipeline ORDER BY seq",
          .read = read_pipeline, .free = free_pipeline },
        { RECORD_PIPELINE_VERSION, RECORD_PUT, .write = write_version,
          .load = "SELECT " PIPELINE_VERSION_COLUMNS " FROM pipeline_version ORDER BY pipeline, version",
          .read = read_version, .free = free_version },
        { RECORD_PIPELINE_VERSION, RECORD_DROP, .write = drop_version },
        { RECORD_PIPELINE, RECORD_DROP, .first = KEEP_PIPELINE_SEQ, .write = drop_pipeline },
        { RECORD_SCHEDULE, RECORD_PUT,
          .sql = "INSERT INTO schedule (" SCHEDULE_COLUMNS ")"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)"
                 " ON CONFLICT (seq) DO UPDATE SET state = excluded.state, message = excluded.message,"
                 " revision = excluded.revision, updated = excluded.updated, next_at = excluded.next_at",
          .bind = bind_schedule, .load = "SELECT " SCHEDULE_COLUMNS " FROM schedule ORDER BY seq",
          .read = read_schedule, .free = free_schedule },
        { RECORD_SCHEDULE, RECORD_DROP, .first = KEEP_SCHEDULE_SEQ, .write = drop_schedule },
        { RECORD_HORIZON, RECORD_PUT, .first = KEEP_COUNTERS, .write = move_horizon,
          .committed = note_horizon },
        { RECORD_BOOT, RECORD_PUT, .sql = "UPDATE state SET boot_id = ?1", .bind = bind_name },
};
const int record_n_rows = G_N_ELEMENTS(record_rows);

int record_sql_stmt(const RecordRow *row)
{
        return WRITER_N_SQL + 2 * (int)(row - record_rows);
}

int record_load_stmt(const RecordRow *row)
{
        return record_sql_stmt(row) + 1;
}

bool writer_prepare(Conn *conn, GError **error)
{
        const char *sql[WRITER_N_SQL + 2 * G_N_ELEMENTS(record_rows)] = { 0 };

        memcpy(sql, named_sql, sizeof named_sql);
        for (const RecordRow *row = record_rows; row < record_rows + record_n_rows; row++) {
                sql[record_sql_stmt(row)] = row->sql;
                sql[record_load_stmt(row)] = row->load;
        }
        return conn_prepare(conn, sql, G_N_ELEMENTS(sql), error);
}
