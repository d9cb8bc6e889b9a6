/* An entry of the cache of steps: the job of a step, by what decides its result (doc/reference/pipelines.md, "Cache").
 * Immutable. Times are ms since 1970. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { CACHE_NEVER_EXPIRES = -1 }; /* CacheEntry.expiry_s */

typedef struct {
        gint64 seq; /* the store's key, set by the store; grows with creation, never used again. "cch-000001" */
        char *key; /* digest of the first fingerprint, the user, the file system and the source: what a lookup asks for */
        char *first,
                *second; /* the two fingerprints. `second` "": that of the files is not known, and nothing finds the entry */
        gint64 run;      /* seq of the run whose step it is */
        guint32 node;    /* ... and its node */
        gint64 job;      /* seq of its job */
        char *user, *fs; /* owner, and name of the main file system; "": none */
        char *source;    /* of the run */
        char *step;      /* "prepare.split" */
        gint64 expiry_s; /* after `created`; CACHE_NEVER_EXPIRES */
        gint64 created;
        char *body; /* a JSON object: {"parts": {name: digest}, "outputs": {name: path}, "miss": why no earlier entry was
                       taken, "near": seq of the entry that `miss` is about} */
        /* Set by queries, not stored. */
        char *run_id, *job_id; /* job_id NULL: the job was deleted */
        guint8 job_state;      /* JobState */
} CacheEntry;
void cache_entry_free(CacheEntry *entry);
CacheEntry *cache_entry_copy(const CacheEntry *entry);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CacheEntry, cache_entry_free)

/* False: it has expired at `now`. */
bool cache_entry_is_alive(const CacheEntry *entry, gint64 now);
