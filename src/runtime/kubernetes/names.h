/* Names in the order in which they came, each once. One is found without a look at the others: a job may have
 * 10,000 members. Plain data. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
        GPtrArray *list;   /* char, its own; who may lose them while going through it holds a reference */
        GHashTable *among; /* the same */
} Names;

void names_init(Names *names);
void names_clear(Names *names);

bool names_has(const Names *names, const char *name);
void names_add(Names *names, const char *name); /* copied; one that is there is passed over */
void names_keep(Names *names, bool (*is_kept)(const char *name, void *arg), void *arg);
