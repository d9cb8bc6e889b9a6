/* A definition as a tree of text. Pure. */
#pragma once

#include "pipeline/definition.h"

/* A line for each component, in the order of the text: its name, what it waits for, its loop, condition and
 * reference. post_process and the library follow. `utf8`: lines are drawn with box characters. `width`: columns of
 * the terminal, beyond which notes go on in the next line; 0: no limit. A long name may still be wider. The
 * caller's. */
char *definition_show(const Definition *definition, bool utf8, int width);

/* "3 steps, 1 DAG"; the caller's. */
char *definition_count(const Definition *definition);
