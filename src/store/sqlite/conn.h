/* One SQLite connection with its statements, prepared once and named by their index in a table of SQL. One
 * thread at a time. A statement that returned a row holds a read transaction until it is reset. */
#pragma once

#include <glib.h>
#include <sqlite3.h>
#include <stdbool.h>

typedef struct {
        sqlite3 *db;
        sqlite3_stmt **stmts;
        int n_stmts;
        int failed;       /* SQLite's extended code of the last failure, or 0; the caller clears it */
        int failed_errno; /* the errno behind it, or 0 */
} Conn;

/* Opens `path` with SQLITE_OPEN_* flags; the connection waits up to 5 s for a lock. */
bool conn_open(Conn *conn, const char *path, int flags, GError **error);
bool conn_prepare(Conn *conn, const char *const *sql, int n_sql, GError **error); /* NULL: no statement */
void conn_close(Conn *conn); /* safe on a closed or zeroed one */

/* Runs SQL that returns no rows; it may contain several statements. */
bool conn_exec(Conn *conn, const char *sql, GError **error);
/* The first column of the first row: "PRAGMA user_version". */
bool conn_get_int(Conn *conn, const char *sql, gint64 *ret, GError **error);

/* Parameters count from 1. Text is borrowed until the statement is reset; NULL is SQL's NULL. */
void conn_bind_int(Conn *conn, int stmt, int at, gint64 value);
void conn_bind_text(Conn *conn, int stmt, int at, const char *text);

typedef enum { STEP_ERROR, STEP_ROW, STEP_DONE } Step;

/* One step. After STEP_DONE and STEP_ERROR the statement has been reset. */
Step conn_step(Conn *conn, int stmt, GError **error);
/* Runs a statement that returns no rows. */
bool conn_run(Conn *conn, int stmt, GError **error);
void conn_reset(Conn *conn, int stmt);
/* Resets every statement, so that no read transaction stays open. */
void conn_reset_all(Conn *conn);

/* Columns of the row, from 0. Text is a copy; NULL for SQL's NULL. */
gint64 conn_int(Conn *conn, int stmt, int column);
char *conn_text(Conn *conn, int stmt, int column);
