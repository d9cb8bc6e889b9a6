/* Tables as the older client prints them: a frame of '+', '-', '=' and '|' around every cell, numbers to the
 * right, cells of several lines. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* `heads` is NULL-terminated; `cells` are rows of as many texts each, NULL reads as empty. The caller's. */
char *grid_format(const char *const *heads, const GPtrArray *cells);
