/* The tables (see schema.h; doc/store.md explains them). */
#include "store/sqlite/schema.h"

#include "base/err.h"
#include "model/job.h"

enum { APPLICATION_ID = 0x70646c31 }; /* "pdl1" */

/* These numbers are in databases: one that changes needs a migration that translates them. */
G_STATIC_ASSERT(JOB_SUBMITTED == 0 && JOB_QUEUED == 1 && JOB_SUSPENDED == 2 && JOB_ADMITTED == 3);
G_STATIC_ASSERT(JOB_STARTING == 4 && JOB_RUNNING == 5 && JOB_PREEMPTING == 6 && JOB_STOPPING == 7);
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
