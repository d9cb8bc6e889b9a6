/* Tables for people: columns aligned by what a terminal shows (wide characters count two), control bytes made
 * visible. Rows may come in pages: widths only grow, so what was printed stays in line as long as the first
 * page was typical. On a terminal a table fits its width (table_fit). */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct Table Table;

/* `heads` is NULL-terminated; a head that begins with '>' makes a column that is aligned to the right. */
Table *table_new(const char *const *heads);
void table_free(Table *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Table, table_free)

/* What a column gives up where the table is too wide. Columns that are aligned to the right are never
 * shortened: a number without its end would be another one. */
typedef struct {
        int spare; /* 0: always shown. The column of the highest number is shortened and left out first. */
        int min; /* columns that a shortened cell keeps; 0: TABLE_CELL_MIN; TABLE_WHOLE: it is never shortened
                  */
        bool middle; /* a shortened cell keeps its beginning and its end; such columns are shortened first */
        int wish; /* columns that a cell should have before those of spare TABLE_EXTRA and more are shown */
} TableFit;

enum { TABLE_CELL_MIN = 12, TABLE_WHOLE = G_MAXINT, TABLE_EXTRA = 4 };

/* Lines are at most `width` wide from now on: cells are shortened, then columns are left out. `fits` has one
 * row a column, and is copied. `utf8`: the ellipsis is one character. */
void table_fit(Table *table, int width, bool utf8, const TableFit *fits);

/* Shows the cells of a column in colours: `paint` says for each which escape sequence comes before it, "" for
 * none. */
void table_paint(Table *table, guint column, const char *(*paint)(const char *cell));

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
/* The same, cut in the middle: names differ at their ends. */
char *text_cut_middle(const char *text, int max, bool utf8);
