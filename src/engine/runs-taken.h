/* Results that a run has taken from the cache: of which nodes, and from which runs. Internal to runs*.c. */
#pragma once

#include <jansson.h>

#include "model/cache-record.h"
#include "model/run-record.h"

/* Of a node with a result from the cache. */
typedef struct {
        gint64 run, job; /* seqs: whose job it is */
        gint64 number;   /* as in RunNodeRecord, `taken`; 0: none yet */
        char *reuse;     /* as in RunNodeRecord */
        json_t *outputs; /* name -> path */
} CacheTaken;

typedef struct RunTaken RunTaken;
RunTaken *run_taken_new(void);
void run_taken_free(RunTaken *taken); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunTaken, run_taken_free)

/* The node takes the result of this entry, and gives back what it had. Borrowed. */
const CacheTaken *run_taken_put(RunTaken *taken, guint32 node, const CacheEntry *found);
void run_taken_remove(RunTaken *taken, guint32 node); /* `taken` may be NULL */
/* The number of a node that has a result. A node without a number gets the next one. Call it
 * when the node is stored. */
gint64 run_taken_number(RunTaken *taken, guint32 node);
/* NULL: none. `taken` may be NULL. */
const CacheTaken *run_taken_find(const RunTaken *taken, guint32 node);
/* True if a result is of the run `seq`. Takes the same time for any number of results. `taken` may be NULL. */
bool run_taken_uses(const RunTaken *taken, gint64 seq);

/* As it was stored: of the rows [from, list->len) of `run`. NULL: none. */
RunTaken *run_taken_restore(const GPtrArray *nodes, guint from, gint64 run);
