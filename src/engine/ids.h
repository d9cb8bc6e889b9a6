/* Small numbers for names, as the scheduler uses them: dense from 0; returned numbers are reused. Any
 * thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Ids Ids;

Ids *ids_new(void);
void ids_free(Ids *ids); /* NULL is a no-op */

int ids_get(Ids *ids, const char *name);        /* assigns a number to a new name */
int ids_find(const Ids *ids, const char *name); /* -1: none */
const char *ids_name(const Ids *ids, int id);   /* interned; NULL: not in use */
void ids_give_back(Ids *ids, const char *name);
int ids_bound(const Ids *ids); /* larger than every number in use */
