/* A set of names in order of insertion, with fast look-up: a job may have 10,000 members. Plain data. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
        GPtrArray *list;   /* char, owned by the list. Code that may remove names while it iterates holds a
                              reference */
        GHashTable *among; /* the same */
} Names;

void names_init(Names *names);
void names_clear(Names *names);

bool names_has(const Names *names, const char *name);
void names_add(Names *names, const char *name); /* copied; ignored if present */
void names_keep(Names *names, bool (*is_kept)(const char *name, void *arg), void *arg);
