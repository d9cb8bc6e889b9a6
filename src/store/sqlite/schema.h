/* The tables, as numbered migrations. The database stores the number of the last one (user_version), and a
 * mark of the program that owns it (application_id). */
#pragma once

#include "store/sqlite/conn.h"

/* The SQL at [i] migrates a database from number i to i + 1. A released migration is never edited: a change
 * is a new one. */
extern const char *const schema_migrations[];
extern const int schema_n_migrations;

/* Migrates the database to the newest number, each migration in a transaction of its own. ERR_CONFLICT,
 * without any change: its number is higher than `n`, or it belongs to another program. */
bool schema_migrate(Conn *conn, const char *const *migrations, int n, GError **error);
