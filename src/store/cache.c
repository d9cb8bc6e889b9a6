/* Ended jobs (see cache.h): two indices over one list in order of use. */
#include "store/cache.h"

#include <pthread.h>
#include <string.h>

static guint link_id_hash(gconstpointer link)
{
        return g_str_hash(((const Job *)((const GList *)link)->data)->id);
}

static gboolean link_id_equal(gconstpointer a, gconstpointer b)
{
        return g_str_equal(((const Job *)((const GList *)a)->data)->id,
                           ((const Job *)((const GList *)b)->data)->id);
}

static guint link_seq_hash(gconstpointer link)
{
        return g_int64_hash(&((const Job *)((const GList *)link)->data)->seq);
}

static gboolean link_seq_equal(gconstpointer a, gconstpointer b)
{
        return ((const Job *)((const GList *)a)->data)->seq == ((const Job *)((const GList *)b)->data)->seq;
}

static gsize strv_size(char *const *list)
{
        gsize size = 0;

        for (; list && *list; list++)
                size += strlen(*list) + 32;
        return size;
}

/* What may be large of it. */
static gsize job_size(const Job *job)
{
        const Spec *spec = job->spec;
        gsize size = 2048 + (gsize)job->n_members * sizeof(Member);

        size += strv_size(spec->command) + strv_size(spec->env) + strv_size(spec->annotations);
        size += spec->requirements ? strlen(spec->requirements) : 0;
        size += spec->setup ? strlen(spec->setup) : 0;
        size += spec->origin ? strlen(spec->origin) : 0;
        for (int r = 0; r < spec->n_roles; r++)
                size += strv_size(spec->roles[r].command) + strv_size(spec->roles[r].env);
        return size;
}

void cache_init(JobCache *cache)
{
        *cache = (JobCache){ .by_id = g_hash_table_new(link_id_hash, link_id_equal),
                             .by_seq = g_hash_table_new(link_seq_hash, link_seq_equal),
                             .recent = G_QUEUE_INIT };
        pthread_mutex_init(&cache->lock, NULL);
}

static void unref_job(gpointer job)
{
        job_unref(job);
}

void cache_clear(JobCache *cache)
{
        g_hash_table_unref(cache->by_id);
        g_hash_table_unref(cache->by_seq);
        g_queue_clear_full(&cache->recent, unref_job);
        pthread_mutex_destroy(&cache->lock);
}

static GList *find(GHashTable *table, Job *like)
{
        const GList key = { .data = like };

        return g_hash_table_lookup(table, &key);
}

Job *cache_get(JobCache *cache, const char *id)
{
        Job like = { 0 }, *job = NULL;
        GList *link;

        g_strlcpy(like.id, id, sizeof like.id);
        pthread_mutex_lock(&cache->lock);
        link = find(cache->by_id, &like);
        if (link) {
                job = job_ref(link->data);
                g_queue_unlink(&cache->recent, link);
                g_queue_push_head_link(&cache->recent, link);
        }
        pthread_mutex_unlock(&cache->lock);
        return job;
}

guint64 cache_generation(JobCache *cache)
{
        guint64 generation;

        pthread_mutex_lock(&cache->lock);
        generation = cache->generation;
        pthread_mutex_unlock(&cache->lock);
        return generation;
}

/* Out of the indices first: they look at the job. */
static void forget(JobCache *cache, GList *link)
{
        Job *job = link->data;

        g_hash_table_remove(cache->by_id, link);
        g_hash_table_remove(cache->by_seq, link);
        g_queue_delete_link(&cache->recent, link);
        cache->bytes -= job_size(job);
        job_unref(job);
}

void cache_put(JobCache *cache, Job *job, guint64 generation)
{
        pthread_mutex_lock(&cache->lock);
        if (generation == cache->generation && !find(cache->by_id, job)) {
                g_queue_push_head(&cache->recent, job_ref(job));
                g_hash_table_add(cache->by_id, cache->recent.head);
                g_hash_table_add(cache->by_seq, cache->recent.head);
                cache->bytes += job_size(job);
                while (cache->recent.length > CACHE_JOBS ||
                       (cache->bytes > CACHE_BYTES && cache->recent.length > 1))
                        forget(cache, cache->recent.tail);
        }
        pthread_mutex_unlock(&cache->lock);
}

void cache_drop(JobCache *cache, gint64 seq)
{
        Job like = { .seq = seq };
        GList *link;

        pthread_mutex_lock(&cache->lock);
        cache->generation++;
        link = find(cache->by_seq, &like);
        if (link)
                forget(cache, link);
        pthread_mutex_unlock(&cache->lock);
}

void cache_empty(JobCache *cache)
{
        pthread_mutex_lock(&cache->lock);
        cache->generation++;
        while (cache->recent.tail)
                forget(cache, cache->recent.tail);
        pthread_mutex_unlock(&cache->lock);
}
