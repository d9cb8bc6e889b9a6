/* A definition as a tree of text. Pure. */
#pragma once

#include "pipeline/definition.h"

/* One line for each component, in the order of the text: its name, what it waits for, its loop, condition
 * and reference. The library and post_process follow. `utf8`: lines are drawn with box characters. The
 * caller's. */
char *definition_show(const Definition *definition, bool utf8);

/* "3 steps, 1 DAG"; the caller's. */
char *definition_count(const Definition *definition);
