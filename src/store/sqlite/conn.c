/* One SQLite connection (see conn.h). */
#include "store/sqlite/conn.h"

#include <errno.h>
#include <pthread.h>

#include "base/err.h"

/* ENOSPC and EDQUOT mean the same to whoever has to make room. SQLite knows the first as SQLITE_FULL in a
 * write and wraps it into an I/O error elsewhere. */
static bool is_full(int code, int sys)
{
        if (code == SQLITE_FULL)
                return true;
        return (code == SQLITE_IOERR || code == SQLITE_CANTOPEN) && (sys == ENOSPC || sys == EDQUOT);
}

/* SQLite keeps the errno of a failed statement, but not of a failed COMMIT: there it is still the thread's,
 * which the callers of SQLite below clear first. */
static bool fail(Conn *conn, GError **error)
{
        int sys = errno;
        const char *path = sqlite3_db_filename(conn->db, "main");
        int code = sqlite3_errcode(conn->db) & 0xff;

        conn->failed = sqlite3_extended_errcode(conn->db);
        conn->failed_errno = sqlite3_system_errno(conn->db) ? sqlite3_system_errno(conn->db) : sys;
        if (is_full(code, conn->failed_errno))
                return err_set(error, ERR_NO_SPACE,
                               "the disk that holds '%s' is full\nFree some space on it.", path);
        if (code == SQLITE_NOTADB)
                return err_set(error, ERR_CONFLICT,
                               "'%s' is not a database\nMove it away, or give another state directory.",
                               path);
        return err_set(error, conn->failed == SQLITE_CONSTRAINT_UNIQUE ? ERR_EXISTS : ERR_FAILED,
                       "database '%s': %s (SQLite %d)", path, sqlite3_errmsg(conn->db), conn->failed);
}

/* SQLite's counts of its memory, which nothing here reads, cost a lock for each allocation. They can be switched off
 * before SQLite is used for the first time in a process; later the call fails, and they stay. */
static void forgo_statistics(void)
{
        (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

bool conn_open(Conn *conn, const char *path, int flags, GError **error)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        (void)pthread_once(&once, forgo_statistics);
        if (sqlite3_open_v2(path, &conn->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
                err_set(error, ERR_FAILED, "cannot open database '%s': %s", path, sqlite3_errmsg(conn->db));
                conn_close(conn);
                return false;
        }
        (void)sqlite3_extended_result_codes(conn->db, 1); /* cannot fail on an open connection */
        (void)sqlite3_busy_timeout(conn->db, 5000);
        return true;
}

bool conn_prepare(Conn *conn, const char *const *sql, int n_sql, GError **error)
{
        conn->stmts = g_new0(sqlite3_stmt *, n_sql);
        conn->n_stmts = n_sql;
        for (int i = 0; i < n_sql; i++)
                if (sql[i] && sqlite3_prepare_v3(conn->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                                                 &conn->stmts[i], NULL))
                        return fail(conn, error);
        return true;
}

void conn_close(Conn *conn)
{
        if (!conn)
                return;
        for (int i = 0; i < conn->n_stmts; i++)
                (void)sqlite3_finalize(
                        conn->stmts[i]); /* repeats the error of its last step, reported then */
        g_free(conn->stmts);
        (void)sqlite3_close(conn->db); /* cannot be busy: no statement is left */
        *conn = (Conn){ 0 };
}

bool conn_exec(Conn *conn, const char *sql, GError **error)
{
        errno = 0;
        if (sqlite3_exec(conn->db, sql, NULL, NULL, NULL) != SQLITE_OK)
                return fail(conn, error);
        return true;
}

bool conn_get_int(Conn *conn, const char *sql, gint64 *ret, GError **error)
{
        sqlite3_stmt *stmt;
        bool ok;

        if (sqlite3_prepare_v2(conn->db, sql, -1, &stmt, NULL) != SQLITE_OK)
                return fail(conn, error);
        ok = sqlite3_step(stmt) == SQLITE_ROW;
        if (ok)
                *ret = sqlite3_column_int64(stmt, 0);
        else
                (void)fail(conn, error);
        (void)sqlite3_finalize(stmt); /* repeats the error of the step */
        return ok;
}

/* A bind fails only for a wrong index (ours) or a text above SQLite's limit of 1 GB: the parameter is NULL
 * then, and every column that takes a text of such a size is NOT NULL. */
void conn_bind_int(Conn *conn, int stmt, int at, gint64 value)
{
        (void)sqlite3_bind_int64(conn->stmts[stmt], at, value);
}

void conn_bind_text(Conn *conn, int stmt, int at, const char *text)
{
        (void)sqlite3_bind_text(conn->stmts[stmt], at, text, -1, SQLITE_STATIC);
}

Step conn_step(Conn *conn, int stmt, GError **error)
{
        errno = 0;
        switch (sqlite3_step(conn->stmts[stmt])) {
        case SQLITE_ROW: return STEP_ROW;
        case SQLITE_DONE: conn_reset(conn, stmt); return STEP_DONE;
        default:
                (void)fail(conn, error); /* before the reset, which may replace the connection's message */
                conn_reset(conn, stmt);
                return STEP_ERROR;
        }
}

bool conn_run(Conn *conn, int stmt, GError **error)
{
        Step step = conn_step(conn, stmt, error);

        g_assert(step != STEP_ROW);
        return step == STEP_DONE;
}

void conn_reset(Conn *conn, int stmt)
{
        (void)sqlite3_reset(conn->stmts[stmt]); /* repeats the error of the step */
        (void)sqlite3_clear_bindings(conn->stmts[stmt]);
}

void conn_reset_all(Conn *conn)
{
        for (int i = 0; i < conn->n_stmts; i++)
                if (sqlite3_stmt_busy(conn->stmts[i]))
                        conn_reset(conn, i);
}

gint64 conn_int(Conn *conn, int stmt, int column)
{
        return sqlite3_column_int64(conn->stmts[stmt], column);
}

char *conn_text(Conn *conn, int stmt, int column)
{
        return g_strdup((const char *)sqlite3_column_text(conn->stmts[stmt], column));
}
