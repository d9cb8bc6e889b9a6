/* Tables for people: columns are aligned by their width on a terminal (wide characters count two); control
 * bytes are made visible. Rows may be printed in pages: widths only grow, so pages are aligned if the first
 * one was typical. On a terminal a table fits its width (table_fit). */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct Table Table;

/* `heads` is NULL-terminated; a head that begins with '>' makes a right-aligned column. */
Table *table_new(const char *const *heads);
void table_free(Table *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Table, table_free)

/* How a column is shortened if the table is too wide. Right-aligned columns are never shortened: a cut number
 * would be another number. */
typedef struct {
        int spare;   /* 0: always shown. Columns with the highest number are shortened and left out first. */
        int min;     /* minimum width of a shortened cell; 0: TABLE_CELL_MIN; TABLE_WHOLE: it is never
                    shortened */
        bool middle; /* a shortened cell keeps its start and its end; such columns are shortened first */
        int wish; /* width that cells should have before columns of spare TABLE_EXTRA and above are shown */
} TableFit;

enum { TABLE_CELL_MIN = 12, TABLE_WHOLE = G_MAXINT, TABLE_EXTRA = 4 };

/* Limits lines to `width` from now on: cells are shortened, then columns are left out. `fits` has one row per
 * column, and is copied. `utf8`: the ellipsis is one character. */
void table_fit(Table *table, int width, bool utf8, const TableFit *fits);

/* Colours the cells of a column: `paint` returns the escape sequence for each, "" for none. */
void table_paint(Table *table, guint column, const char *(*paint)(const char *cell));

/* One cell per column, copied; NULL is shown as "-". */
void table_row(Table *table, const char *const *cells);

/* Prints the rows added since the last call; the first call prints the heads. Each line is indented by
 * `indent` blanks. */
void table_print(Table *table, int indent, FILE *to);

/* The text with control bytes and invalid UTF-8 shown as '?', so that names cannot control the terminal; the
 * caller's. */
char *text_visible(const char *text);
