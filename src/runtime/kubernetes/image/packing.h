/* Packs packages for clusters without a registry (package.h), on threads beside the loop: each once, however
 * many jobs wait for it, and PACKINGS_MAX at a time. */
#pragma once

#include <glib.h>

enum { PACKINGS_MAX = 2 };

typedef struct Packings Packings;

/* `done` is called for each job; `problem`: why it cannot have its package, or NULL. */
typedef struct {
        GMainContext *context;
        const char *state_dir; /* copied */
        void (*done)(const char *job_id, const char *problem, void *arg);
        void *arg;
} PackingConfig;

Packings *packings_new(const PackingConfig *config);
void packings_free(Packings *packings); /* `done` is not called any more */

/* Starts to pack, or waits with the other jobs if it is being packed. */
void packings_want(Packings *packings, const char *hash, const char *job_id);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Packings, packings_free)
