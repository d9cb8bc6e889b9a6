/* Texts of jobs (see rendered.h). */
#include "api/v1/rendered.h"

#include <pthread.h>

enum { JOBS_MAX = 1024, BYTES_MAX = 4 << 20 };

typedef struct {
        Job *job;
        GBytes *text;
        GList order; /* its link in `oldest_first` */
} Kept;

struct Rendered {
        pthread_mutex_t lock;
        GHashTable *by_id;   /* id of the job -> Kept, owned */
        GQueue oldest_first; /* Kept */
        gsize bytes;
};

static void kept_free(void *data)
{
        Kept *kept = data;

        job_unref(kept->job);
        g_bytes_unref(kept->text);
        g_free(kept);
}

Rendered *rendered_new(void)
{
        Rendered *rendered = g_new0(Rendered, 1);

        pthread_mutex_init(&rendered->lock, NULL);
        rendered->by_id = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, kept_free);
        return rendered;
}

void rendered_free(Rendered *rendered)
{
        if (!rendered)
                return;
        g_hash_table_unref(rendered->by_id);
        pthread_mutex_destroy(&rendered->lock);
        g_free(rendered);
}

GBytes *rendered_find(Rendered *rendered, const Job *job)
{
        GBytes *text = NULL;
        const Kept *kept;

        pthread_mutex_lock(&rendered->lock);
        kept = g_hash_table_lookup(rendered->by_id, job->id);
        if (kept && kept->job == job)
                text = g_bytes_ref(kept->text);
        pthread_mutex_unlock(&rendered->lock);
        return text;
}

static void drop(Rendered *rendered, Kept *kept)
{
        g_queue_unlink(&rendered->oldest_first, &kept->order);
        rendered->bytes -= g_bytes_get_size(kept->text);
        g_hash_table_remove(rendered->by_id, kept->job->id);
}

static bool is_over(const Rendered *rendered)
{
        return rendered->bytes > BYTES_MAX || rendered->oldest_first.length > JOBS_MAX;
}

void rendered_keep(Rendered *rendered, const Job *job, GBytes *text)
{
        Kept *kept = g_new0(Kept, 1), *before;

        *kept = (Kept){ job_ref((Job *)job), g_bytes_ref(text), { .data = kept } };
        pthread_mutex_lock(&rendered->lock);
        before = g_hash_table_lookup(rendered->by_id, job->id);
        if (before)
                drop(rendered, before);
        g_hash_table_insert(rendered->by_id, kept->job->id, kept);
        g_queue_push_tail_link(&rendered->oldest_first, &kept->order);
        rendered->bytes += g_bytes_get_size(text);
        while (is_over(rendered))
                drop(rendered, rendered->oldest_first.head->data);
        pthread_mutex_unlock(&rendered->lock);
}
