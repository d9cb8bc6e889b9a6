/* A value over time of which only the drawing is wanted: memory does not grow with the time or with how often
 * it changes. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { SERIES_CELLS = 512 };

typedef struct {
        gint64 start, end, cell_ms; /* of all; of each cell, 0: nothing was added */
        int cells;                  /* in use */
        double area[SERIES_CELLS];  /* value × ms */
} Series;

/* From `from` to `to` (ms, in order of time, without gaps) the value was `value`. */
void series_add(Series *series, gint64 from, gint64 to, double value);

/* Appends `rows` lines of at most `columns` columns: the mean of each column as a bar from the bottom, 1
 * being the top, with the scale at the left ("100 % |"); and below it the axis with the time at its end. */
void series_draw(GString *out, const Series *series, gint64 end, int columns, int rows, bool utf8);
