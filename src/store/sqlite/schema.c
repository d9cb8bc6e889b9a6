/* The tables (see schema.h; doc/internals/store.md explains them). */
#include "store/sqlite/schema.h"

#include "base/err.h"
#include "model/access.h"
#include "model/job.h"
#include "model/object.h"
#include "model/run-record.h"
#include "model/schedule-record.h"
#include "store/event.h"

enum { APPLICATION_ID = 0x70646c31 }; /* "pdl1" */

/* These numbers are in databases: one that changes needs a migration that translates them. */
G_STATIC_ASSERT(JOB_SUBMITTED == 0 && JOB_QUEUED == 1 && JOB_SUSPENDED == 2 && JOB_ADMITTED == 3);
G_STATIC_ASSERT(JOB_STARTING == 4 && JOB_RUNNING == 5 && JOB_PREEMPTING == 6 && JOB_STOPPING == 7);
G_STATIC_ASSERT(KIND_USER == 0 && KIND_CLUSTER == 1 && KIND_QUEUE == 2 && KIND_FLAVOUR == 3);
G_STATIC_ASSERT(KIND_GRANT == 4 && KIND_POOL == 5 && KIND_SECRET == 6 && KIND_FILESYSTEM == 7);
G_STATIC_ASSERT(SUBJECT_NONE == 0 && SUBJECT_JOB == 1 && SUBJECT_RUN == 2 && SUBJECT_PIPELINE == 3);
G_STATIC_ASSERT(SUBJECT_SCHEDULE == 4);
G_STATIC_ASSERT(SCHEDULE_RUNNING == 0 && SCHEDULE_SUCCESS == 1 && SCHEDULE_TERMINATED == 2 &&
                SCHEDULE_FAILED == 3);
G_STATIC_ASSERT(SCHEDULE_SUSPEND == 0 && SCHEDULE_REPLACE == 1 && SCHEDULE_SKIP == 2);
G_STATIC_ASSERT(NODE_NONE == 0 && NODE_LOOKING == 1 && NODE_STARTING == 2 && NODE_RUNNING == 3);
G_STATIC_ASSERT(NODE_STOPPING == 4 && NODE_SUCCEEDED == 5 && NODE_FAILED == 6 && NODE_TERMINATED == 7);
G_STATIC_ASSERT(NODE_CANCELLED == 8 && NODE_SKIPPED == 9);
G_STATIC_ASSERT(SCOPE_READ == 1 && SCOPE_SUBMIT == 2 && SCOPE_ADMIN == 3);
G_STATIC_ASSERT(JOB_SUCCEEDED == 8 && JOB_FAILED == 9 && JOB_CANCELLED == 10 && JOB_PREEMPTED == 11);

const char *const schema_migrations[] = {
        /* `open` stands beside `state` so that a change between two open states touches no index. `body`
         * comes last: a scan over the other columns never reads the pages a long one spills into. */
        "CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), last_seq INTEGER NOT NULL,"
        "  last_revision INTEGER NOT NULL, events_horizon INTEGER NOT NULL, boot_id TEXT NOT NULL) STRICT;"
        "INSERT INTO state VALUES (1, 0, 0, 0, '');"
        "CREATE TABLE job (seq INTEGER PRIMARY KEY, id TEXT NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL,"
        "  state INTEGER NOT NULL, open INTEGER NOT NULL, idempotency TEXT, body TEXT NOT NULL) STRICT;"
        "CREATE UNIQUE INDEX job_id ON job (id);"
        "CREATE UNIQUE INDEX job_idempotency ON job (user, idempotency) WHERE idempotency IS NOT NULL;"
        "CREATE UNIQUE INDEX job_open_name ON job (user, name) WHERE open = 1;"
        "CREATE INDEX job_open ON job (open) WHERE open = 1;"
        "CREATE INDEX job_name ON job (user, name);"
        "CREATE INDEX job_user ON job (user);"
        "CREATE TABLE job_spec (seq INTEGER PRIMARY KEY, spec TEXT NOT NULL) STRICT;"
        "CREATE TABLE event (revision INTEGER PRIMARY KEY, time INTEGER NOT NULL, job_seq INTEGER NOT NULL,"
        "  job_id TEXT NOT NULL, user TEXT, kind TEXT NOT NULL, data TEXT NOT NULL) STRICT;"
        "CREATE INDEX event_job ON event (job_seq) WHERE job_seq > 0;"
        "CREATE TABLE user (name TEXT PRIMARY KEY, admin INTEGER NOT NULL, created INTEGER NOT NULL)"
        "  STRICT, WITHOUT ROWID;"
        "CREATE TABLE token (id TEXT PRIMARY KEY, user TEXT NOT NULL, hash TEXT NOT NULL, note TEXT,"
        "  created INTEGER NOT NULL, expires INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
        "CREATE UNIQUE INDEX token_hash ON token (hash);"
        "CREATE INDEX token_user ON token (user);",
        /* Many users. Jobs get the columns that lists ask for, before `body`. `phase` is 1 while a job is
         * open and its final state after it: it changes once, so that three indices over it cost little and
         * still find the last jobs of any user, queue and set of states without looking at others. `started`
         * is the first time that it ran, `spec` the row of job_spec. Users become objects; administrators
         * that were made before stay what they are. */
        "CREATE TABLE job_2 (seq INTEGER PRIMARY KEY, id TEXT NOT NULL, user TEXT NOT NULL, name TEXT NOT "
        "NULL,"
        "  queue TEXT NOT NULL, state INTEGER NOT NULL, phase INTEGER NOT NULL, updated INTEGER NOT NULL,"
        "  started INTEGER NOT NULL, spec INTEGER NOT NULL, array INTEGER NOT NULL, idempotency TEXT,"
        "  body TEXT NOT NULL) STRICT;"
        "INSERT INTO job_2 SELECT seq, id, user, name, 'default', state, iif(open = 1, 1, state),"
        "  max(coalesce(body ->> '$.submitted', 0), coalesce(body ->> '$.admitted', 0),"
        "      coalesce(body ->> '$.running', 0), coalesce(body ->> '$.finished', 0)),"
        "  coalesce(body ->> '$.running', 0), seq, 0, idempotency, body FROM job ORDER BY seq;"
        "DROP TABLE job;"
        "ALTER TABLE job_2 RENAME TO job;"
        "CREATE UNIQUE INDEX job_id ON job (id);"
        "CREATE UNIQUE INDEX job_idempotency ON job (user, idempotency) WHERE idempotency IS NOT NULL;"
        "CREATE UNIQUE INDEX job_open_name ON job (user, name) WHERE phase = 1;"
        "CREATE INDEX job_name ON job (user, name);"
        "CREATE INDEX job_phase ON job (phase);"
        "CREATE INDEX job_user ON job (user, phase);"
        "CREATE INDEX job_queue ON job (queue, phase);"
        "CREATE INDEX job_active ON job (phase) WHERE state BETWEEN 3 AND 7;"
        "CREATE INDEX job_ended ON job (queue, updated) WHERE phase > 1;"
        "CREATE INDEX job_array ON job (array) WHERE array > 0;"
        "CREATE INDEX job_shares ON job (spec) WHERE spec <> seq;"
        "CREATE TABLE job_label (label TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (label, seq))"
        "  STRICT, WITHOUT ROWID;"
        "CREATE INDEX job_label_seq ON job_label (seq);"
        "CREATE TABLE object (seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, name TEXT NOT NULL,"
        "  body TEXT NOT NULL) STRICT;"
        "CREATE UNIQUE INDEX object_name ON object (kind, name);"
        "INSERT INTO object (kind, name, body) SELECT 0, name, json_object('id', 'user-' ||"
        "  lower(hex(randomblob(4))), 'revision', 1, 'created', created, 'updated', created,"
        "  'admin', json(iif(admin, 'true', 'false'))) FROM user ORDER BY created, name;"
        "DROP TABLE user;"
        "ALTER TABLE state ADD COLUMN last_object_seq INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE token ADD COLUMN login INTEGER NOT NULL DEFAULT 0;"
        "CREATE TABLE usage (queue TEXT NOT NULL, user TEXT NOT NULL, usage INTEGER NOT NULL,"
        "  at INTEGER NOT NULL, PRIMARY KEY (queue, user)) STRICT, WITHOUT ROWID;",
        /* Tokens reach as far as their scope (3: their user's whole right, as those made before do), and may
         * be of one queue. `maker` is the token that one was made with. */
        "ALTER TABLE token ADD COLUMN scope INTEGER NOT NULL DEFAULT 3;"
        "ALTER TABLE token ADD COLUMN queue TEXT;"
        "ALTER TABLE token ADD COLUMN maker TEXT;"
        "CREATE INDEX token_maker ON token (maker) WHERE maker IS NOT NULL;",
        /* Of the certificate that a token was made with: whose key vouched for it. Of those that were made
         * before it is not known; they end when their certificates do. */
        "ALTER TABLE token ADD COLUMN authority TEXT;",
        /* Arrays are found by their name: that of an element without its index. And what waits for a whole
         * array says so: before, the id of its first element stood for it. */
        "CREATE INDEX job_array_name ON job (user, rtrim(name, '0123456789'), array) WHERE array > 0;"
        "UPDATE job SET body = json_set(body, '$.after', (SELECT json_group_array(iif(EXISTS (SELECT 1"
        "  FROM job AS first WHERE first.id = substr(value, instr(value, ':') + 1) AND first.seq ="
        "  first.array), replace(value, ':', ':a'), value)) FROM json_each(body, '$.after')))"
        "  WHERE phase = 1 AND json_type(body, '$.after') = 'array';",
        /* Events are about subjects of several kinds. Those of before are about jobs, but for the few of the
         * catalog's objects: a default instead of an update leaves a million rows as they are. The index is over the
         * number alone: few subjects share one, and each insert into an index over both takes 1,000 instructions
         * more. */
        "DROP INDEX event_job;"
        "ALTER TABLE event RENAME COLUMN job_seq TO subject_seq;"
        "ALTER TABLE event RENAME COLUMN job_id TO subject_id;"
        "ALTER TABLE event ADD COLUMN subject_kind INTEGER NOT NULL DEFAULT 1;"
        "UPDATE event SET subject_kind = 0 WHERE subject_seq = 0;"
        "CREATE INDEX event_subject ON event (subject_seq) WHERE subject_seq > 0;",
        /* One index over names instead of two, so that a new job changes one page less: generated names are random, so
         * each is on a page of its own. An open job has the largest number there. So a user's open jobs have different
         * names, and the newest job of a name is the last one: the name of an open job is not used again. */
        "DROP INDEX job_open_name;"
        "DROP INDEX job_name;"
        "CREATE UNIQUE INDEX job_name ON job (user, name, iif(phase = 1, 9223372036854775807, seq));",
        /* Runs of pipelines. A run's text is apart, so that a change does not write it again, and a list does not read
         * it. What is deleted is first marked as dropped: its nodes and jobs go in small batches. */
        "CREATE TABLE run (seq INTEGER PRIMARY KEY, id TEXT NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL,"
        "  state INTEGER NOT NULL, created INTEGER NOT NULL, finished INTEGER NOT NULL, revision INTEGER NOT NULL,"
        "  admin INTEGER NOT NULL, stopping INTEGER NOT NULL, forced INTEGER NOT NULL, dropped INTEGER NOT NULL,"
        "  idempotency TEXT, message TEXT) STRICT;"
        "CREATE UNIQUE INDEX run_id ON run (id);"
        "CREATE UNIQUE INDEX run_idempotency ON run (user, idempotency) WHERE idempotency IS NOT NULL;"
        "CREATE INDEX run_user ON run (user);"
        "CREATE INDEX run_open ON run (state) WHERE state < 5;"
        "CREATE INDEX run_ended ON run (finished) WHERE state >= 5 AND dropped = 0;"
        "CREATE INDEX run_dropped ON run (dropped) WHERE dropped = 1;"
        "CREATE TABLE run_text (seq INTEGER PRIMARY KEY, text TEXT NOT NULL, request TEXT NOT NULL) STRICT;"
        "CREATE TABLE run_node (run INTEGER NOT NULL, node INTEGER NOT NULL, dag INTEGER NOT NULL,"
        "  component INTEGER NOT NULL, number INTEGER NOT NULL, state INTEGER NOT NULL, flags INTEGER NOT NULL,"
        "  job INTEGER NOT NULL, started INTEGER NOT NULL, finished INTEGER NOT NULL, message TEXT,"
        "  PRIMARY KEY (run, node)) STRICT, WITHOUT ROWID;"
        "CREATE TABLE run_child (run INTEGER NOT NULL, dag INTEGER NOT NULL, component INTEGER NOT NULL,"
        "  first INTEGER NOT NULL, count INTEGER NOT NULL, rest INTEGER NOT NULL,"
        "  PRIMARY KEY (run, dag, component)) STRICT, WITHOUT ROWID;"
        "ALTER TABLE state ADD COLUMN last_run_seq INTEGER NOT NULL DEFAULT 0;",
        /* Artifacts of runs. The primary key serves one run, the index the paths of a file system. A loop over an
         * artifact keeps its items: after a restart the file may be another one. */
        "CREATE TABLE run_artifact (run INTEGER NOT NULL, node INTEGER NOT NULL, output INTEGER NOT NULL,"
        "  name TEXT NOT NULL, user TEXT NOT NULL, fs TEXT NOT NULL, path TEXT NOT NULL, created INTEGER NOT NULL,"
        "  PRIMARY KEY (run, node, output, name)) STRICT, WITHOUT ROWID;"
        "CREATE INDEX run_artifact_path ON run_artifact (user, fs, path);"
        "ALTER TABLE run_child ADD COLUMN list TEXT;",
        /* Retries of runs. A node that a retry kept names the run whose job made its result; that run is not deleted
         * while others use it, which the index finds. Only kept nodes are in it. */
        "ALTER TABLE run ADD COLUMN retry_of INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE run ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1;"
        "ALTER TABLE run_node ADD COLUMN made_by INTEGER NOT NULL DEFAULT 0;"
        "CREATE INDEX run_node_maker ON run_node (made_by) WHERE made_by > 0;",
        /* Stored pipelines. A definition lies once for each content, by its hash: versions refer to it, and the runs that
         * were made of them, whose own text is empty. It goes with the last of these. The name of a pipeline is free in
         * the batch that deletes it, so no index holds names apart: the engine does. */
        "CREATE TABLE pipeline (seq INTEGER PRIMARY KEY, user TEXT NOT NULL, name TEXT NOT NULL, note TEXT,"
        "  made INTEGER NOT NULL, revision INTEGER NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL) STRICT;"
        "CREATE INDEX pipeline_name ON pipeline (user, name);"
        "CREATE TABLE pipeline_version (pipeline INTEGER NOT NULL, version INTEGER NOT NULL, hash TEXT NOT NULL,"
        "  size INTEGER NOT NULL, user TEXT NOT NULL, fs TEXT, path TEXT, created INTEGER NOT NULL,"
        "  PRIMARY KEY (pipeline, version)) STRICT, WITHOUT ROWID;"
        "CREATE INDEX pipeline_version_hash ON pipeline_version (hash);"
        "CREATE TABLE pipeline_text (hash TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL) STRICT;"
        "ALTER TABLE run_text ADD COLUMN hash TEXT;"
        "CREATE INDEX run_text_hash ON run_text (hash) WHERE hash IS NOT NULL;"
        "ALTER TABLE run ADD COLUMN pipeline INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE run ADD COLUMN version INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE run ADD COLUMN source TEXT;"
        "ALTER TABLE run ADD COLUMN fs TEXT;"
        "ALTER TABLE run ADD COLUMN note TEXT;"
        "ALTER TABLE state ADD COLUMN last_pipeline_seq INTEGER NOT NULL DEFAULT 0;",
        /* The size of runs, which the index adds up for a user. That of earlier ones is estimated. */
        "ALTER TABLE run ADD COLUMN size INTEGER NOT NULL DEFAULT 0;"
        "UPDATE run SET size = 1024 + coalesce((SELECT length(text) + length(request) FROM run_text"
        "  WHERE run_text.seq = run.seq), 0)"
        "  + 2048 * (SELECT count(*) FROM run_node WHERE run_node.run = run.seq);"
        "CREATE INDEX run_size ON run (user, size) WHERE dropped = 0;",
        /* Schedules. `next_at` is stored with the runs of the ticks before it, so that each tick has its run once. As with
         * pipelines, the engine holds names apart. */
        "CREATE TABLE schedule (seq INTEGER PRIMARY KEY, user TEXT NOT NULL, name TEXT NOT NULL, note TEXT,"
        "  run_user TEXT, pipeline INTEGER NOT NULL, version INTEGER NOT NULL, fs TEXT, crontab TEXT NOT NULL,"
        "  start_at INTEGER NOT NULL, end_at INTEGER NOT NULL, concurrency INTEGER NOT NULL, policy INTEGER NOT NULL,"
        "  expire INTEGER NOT NULL, catchup INTEGER NOT NULL, state INTEGER NOT NULL, message TEXT,"
        "  revision INTEGER NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL, next_at INTEGER NOT NULL) STRICT;"
        "CREATE INDEX schedule_name ON schedule (user, name);"
        "ALTER TABLE run ADD COLUMN schedule INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE run ADD COLUMN scheduled INTEGER NOT NULL DEFAULT 0;"
        "CREATE INDEX run_schedule ON run (schedule) WHERE schedule > 0;"
        "ALTER TABLE state ADD COLUMN last_schedule_seq INTEGER NOT NULL DEFAULT 0;",
        /* The cache of steps. `key` and `second` are what a lookup asks for; `step` finds what an entry is compared with
         * when it had no hit. A node that took a result from the cache says in `reuse` what it took. */
        "CREATE TABLE run_cache (seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, first TEXT NOT NULL,"
        "  second TEXT NOT NULL, run INTEGER NOT NULL, node INTEGER NOT NULL, job INTEGER NOT NULL, user TEXT NOT NULL,"
        "  fs TEXT NOT NULL, source TEXT NOT NULL, step TEXT NOT NULL, expiry INTEGER NOT NULL,"
        "  created INTEGER NOT NULL, body TEXT NOT NULL) STRICT;"
        "CREATE INDEX run_cache_key ON run_cache (key, second, seq);"
        "CREATE INDEX run_cache_node ON run_cache (run, node);"
        "CREATE INDEX run_cache_step ON run_cache (user, step, seq);"
        "CREATE INDEX run_cache_end ON run_cache (created + 1000 * expiry) WHERE expiry >= 0;"
        "ALTER TABLE run_node ADD COLUMN reuse TEXT;",
        /* Pauses of runs. What a user set while the run goes on (breakpoints, parameters) is a JSON object of at most 64
         * KiB; where its components pause lies with what else is known of them. */
        "ALTER TABLE run ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE run ADD COLUMN control TEXT;"
        "ALTER TABLE run_child ADD COLUMN pause INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE run_child ADD COLUMN pause_at INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE run_child ADD COLUMN pause_epoch INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE run_child ADD COLUMN passed INTEGER NOT NULL DEFAULT 0;"
        "CREATE INDEX run_child_paused ON run_child (run) WHERE pause > 0;",
        /* Who took the result of a job is found without reading all nodes that another run made. Triggers count the
         * entries of the cache that a user has, so that nothing has to count them. */
        "DROP INDEX run_node_maker;"
        "CREATE INDEX run_node_maker ON run_node (made_by, job, run) WHERE made_by > 0;"
        "CREATE INDEX run_cache_user ON run_cache (user);"
        "CREATE TABLE run_cache_count (user TEXT NOT NULL PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
        "INSERT INTO run_cache_count SELECT user, count(*) FROM run_cache GROUP BY user;"
        "CREATE TRIGGER run_cache_added AFTER INSERT ON run_cache BEGIN"
        "  INSERT INTO run_cache_count VALUES (new.user, 1) ON CONFLICT (user) DO UPDATE SET n = n + 1; END;"
        "CREATE TRIGGER run_cache_removed AFTER DELETE ON run_cache BEGIN"
        "  UPDATE run_cache_count SET n = n - 1 WHERE user = old.user;"
        "  DELETE FROM run_cache_count WHERE user = old.user AND n = 0; END;",
        /* The queue of steps that name none, which depends on the interface that created the schedule. NULL: `default`, of
         * /v1. Earlier rows stay so: their runs have always gone there, their user may have no right to `default-queue`, and
         * the row does not say which interface it is of. */
        "ALTER TABLE schedule ADD COLUMN queue TEXT;",
        /* The file systems that a running schedule needs. */
        "ALTER TABLE schedule ADD COLUMN mounts TEXT;",
        /* The directory in which the commands of a stored version begin, as JSON, and all that its runs use, as hashes. */
        "ALTER TABLE pipeline_version ADD COLUMN files TEXT;"
        "ALTER TABLE pipeline_version ADD COLUMN packages TEXT;",
        /* Who follows a run finds by `taken` which results from the cache are new: their jobs are old. */
        "ALTER TABLE run_node ADD COLUMN taken INTEGER NOT NULL DEFAULT 0;"
        "CREATE INDEX run_node_taken ON run_node (run, taken) WHERE taken > 0;",
};
const int schema_n_migrations = G_N_ELEMENTS(schema_migrations);

static bool check_owner(Conn *conn, gint64 version, GError **error)
{
        const char *path = sqlite3_db_filename(conn->db, "main");
        gint64 owner, tables;

        if (!conn_get_int(conn, "PRAGMA application_id", &owner, error) ||
            !conn_get_int(conn, "SELECT EXISTS (SELECT 1 FROM sqlite_schema)", &tables, error))
                return false;
        if (owner == APPLICATION_ID || (owner == 0 && version == 0 && !tables))
                return true;
        return err_set(
                error, ERR_CONFLICT,
                "'%s' is a database of another program\nMove it away, or give another state directory.",
                path);
}

static bool migrate_one(Conn *conn, const char *sql, int to, GError **error)
{
        g_autofree char *numbers =
                g_strdup_printf("PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
                                APPLICATION_ID, to);

        if (conn_exec(conn, "BEGIN IMMEDIATE", error) && conn_exec(conn, sql, error) &&
            conn_exec(conn, numbers, error))
                return true;
        if (!sqlite3_get_autocommit(conn->db))
                (void)conn_exec(conn, "ROLLBACK", NULL); /* the first failure is what is reported */
        return err_prefix(error, "migration %d: ", to);
}

bool schema_migrate(Conn *conn, const char *const *migrations, int n, GError **error)
{
        gint64 version;

        if (!conn_get_int(conn, "PRAGMA user_version", &version, error) || !check_owner(conn, version, error))
                return false;
        if (version > n)
                return err_set(error, ERR_CONFLICT,
                               "'%s' has version %" G_GINT64_FORMAT ", this program knows versions up to %d\n"
                               "Start the newer program, or give another state directory.",
                               sqlite3_db_filename(conn->db, "main"), version, n);
        for (int i = (int)version; i < n; i++)
                if (!migrate_one(conn, migrations[i], i + 1, error))
                        return false;
        return true;
}
