/* Jobs that have ended never change: the last ones that ended or were asked for are kept as they are, so that
 * looking one up costs neither the database nor the parsing. Bounded; any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/job.h"

enum { CACHE_JOBS = 8192, CACHE_BYTES = 24 * 1024 * 1024 }; /* what it holds at most, about */

typedef struct {
        pthread_mutex_t lock;
        GHashTable *by_id, *by_seq; /* of GList, the links of `recent` */
        GQueue recent;              /* Job, the last used one first */
        gsize bytes;                /* of all of them, about */
        guint64 generation;         /* counts drops */
} JobCache;

void cache_init(JobCache *cache);
void cache_clear(JobCache *cache);

Job *cache_get(JobCache *cache, const char *id); /* a reference, or NULL */
/* Adds a job that has ended. Who read it from the database says how the drops stood before: it may be one of
 * them since, and stays out then. */
guint64 cache_generation(JobCache *cache);
void cache_put(JobCache *cache, Job *job, guint64 generation);
void cache_drop(JobCache *cache, const GPtrArray *seqs /* gint64 * */);
void cache_empty(JobCache *cache); /* drops all */
