/* The tables, as numbered migrations. The number of the last one is kept in the database (user_version),
 * beside a mark that says whose database it is (application_id). */
#pragma once

#include "store/sqlite/conn.h"

/* SQL that takes a database from number i to i + 1 is at [i]. What was released is never edited: a change is
 * a new one. */
extern const char *const schema_migrations[];
extern const int schema_n_migrations;

/* Brings the database to the newest number, each migration in a transaction of its own. ERR_CONFLICT, with
 * nothing touched, when its number is higher than `n` or it belongs to another program. */
bool schema_migrate(Conn *conn, const char *const *migrations, int n, GError **error);
