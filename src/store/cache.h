/* Ended jobs never change, so the most recently ended or requested ones are kept in memory. Looking one up
 * then needs neither the database nor parsing. Bounded; any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/job.h"

enum { CACHE_JOBS = 8192, CACHE_BYTES = 24 * 1024 * 1024 }; /* approximate limits */

typedef struct {
        pthread_mutex_t lock;
        GHashTable *by_id, *by_seq; /* of GList, the links of `recent` */
        GQueue recent;              /* Job, the most recently used first */
        gsize bytes;                /* of all of them, approximately */
        guint64 generation;         /* counts drops */
} JobCache;

void cache_init(JobCache *cache);
void cache_clear(JobCache *cache);

Job *cache_get(JobCache *cache, const char *id); /* a reference, or NULL */
/* Adds an ended job. `generation`: the value of cache_generation before the job was read from the database.
 * If jobs were dropped since, it is not added, because it may be one of them. */
guint64 cache_generation(JobCache *cache);
void cache_put(JobCache *cache, Job *job, guint64 generation);
void cache_drop(JobCache *cache, gint64 seq);
void cache_empty(JobCache *cache); /* drops all */
