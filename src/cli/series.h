/* A value over time, for drawing: memory does not grow with time or with the number of changes. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { SERIES_CELLS = 512 };

typedef struct {
        gint64 start, end, cell_ms; /* of the whole; `cell_ms` of each cell, 0: nothing was added */
        int cells;                  /* in use */
        double area[SERIES_CELLS];  /* value × ms */
} Series;

/* The value from `from` to `to` (ms; in order, without gaps). */
void series_add(Series *series, gint64 from, gint64 to, double value);

/* Appends `rows` lines of at most `columns` columns: each column's mean as a bar from the bottom, with 1 at
 * the top and the scale on the left ("100 % |"), and below the axis with the end time. */
void series_draw(GString *out, const Series *series, gint64 end, int columns, int rows, bool utf8);
