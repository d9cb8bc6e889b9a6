/* Jobs by the store's key, and the ids of those that were asked for lately: the first job of an array is
 * asked for with each of its jobs. An id never changes. */
#include "api/v1/internal.h"

enum { IDS_MAX = 4096 };

struct JobIds {
        GMutex lock;
        GHashTable *by_seq; /* gint64 * -> char * */
};

JobIds *job_ids_new(void)
{
        JobIds *ids = g_new0(JobIds, 1);

        g_mutex_init(&ids->lock);
        ids->by_seq = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
        return ids;
}

void job_ids_free(JobIds *ids)
{
        if (!ids)
                return;
        g_hash_table_unref(ids->by_seq);
        g_mutex_clear(&ids->lock);
        g_free(ids);
}

Job *api_job_by_seq(Api *api, gint64 seq)
{
        JobQuery query = { .before_seq = seq + 1, .limit = 1 };
        gint64 next;
        g_autoptr(GPtrArray) jobs = store_jobs(api->store, &query, &next, NULL); /* else as if forgotten */
        Job *job = jobs && jobs->len ? jobs->pdata[0] : NULL;

        return job && job->seq == seq ? job_ref(job) : NULL;
}

char *api_job_id(Api *api, gint64 seq)
{
        JobIds *ids = api->ids;
        g_autoptr(Job) job = NULL;
        char *id;

        g_mutex_lock(&ids->lock);
        id = g_strdup(g_hash_table_lookup(ids->by_seq, &seq));
        g_mutex_unlock(&ids->lock);
        if (id)
                return id;
        job = api_job_by_seq(api, seq);
        if (!job)
                return g_strdup("");
        g_mutex_lock(&ids->lock);
        if (g_hash_table_size(ids->by_seq) >= IDS_MAX)
                g_hash_table_remove_all(ids->by_seq);
        g_hash_table_insert(ids->by_seq, g_memdup2(&seq, sizeof seq), g_strdup(job->id));
        g_mutex_unlock(&ids->lock);
        return g_strdup(job->id);
}
