/* Tables for people: columns aligned by what a terminal shows (wide characters count two), control bytes made
 * visible. Rows may come in pages: widths only grow, so what was printed stays in line as long as the first
 * page was typical. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct Table Table;

/* `heads` is NULL-terminated; a head that begins with '>' makes a column that is aligned to the right. */
Table *table_new(const char *const *heads);
void table_free(Table *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Table, table_free)

/* One cell a column, copied; NULL reads as "-". */
void table_row(Table *table, const char *const *cells);

/* Prints the rows added since the last call, at first the heads. `indent` blanks stand before each line. */
void table_print(Table *table, int indent, FILE *to);

/* Columns a terminal gives this text. */
int text_columns(const char *text);
/* The text with control bytes and broken UTF-8 shown as '?', so that names cannot drive the terminal; the
 * caller's. */
char *text_visible(const char *text);
/* At most `max` columns, cut with "..." or the one character for it; the caller's. */
char *text_cut(const char *text, int max, bool utf8);
