/* Texts of jobs (see rendered.h). */
#include "api/v1/rendered.h"

#include <pthread.h>

enum { JOBS_MAX = 1024, BYTES_MAX = 4 << 20, FRESH_MS = 100 };

typedef struct {
        Job *job;
        GBytes *texts[RENDERED_TEXTS]; /* NULL: none */
        gint64 whole_made;             /* monotonic ms */
        GList order;                   /* its link in `oldest_first` */
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

        for (int i = 0; i < RENDERED_TEXTS; i++)
                g_bytes_unref(kept->texts[i]);
        job_unref(kept->job);
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

static bool is_fresh(const Kept *kept, RenderedText which, gint64 now)
{
        return kept->texts[which] && (which == TEXT_FIXED || now - kept->whole_made <= FRESH_MS);
}

GBytes *rendered_find(Rendered *rendered, const Job *job, RenderedText which, gint64 now)
{
        GBytes *text = NULL;
        const Kept *kept;

        pthread_mutex_lock(&rendered->lock);
        kept = g_hash_table_lookup(rendered->by_id, job->id);
        if (kept && kept->job == job && is_fresh(kept, which, now))
                text = g_bytes_ref(kept->texts[which]);
        pthread_mutex_unlock(&rendered->lock);
        return text;
}

static gsize size_of(const GBytes *text)
{
        return text ? g_bytes_get_size((GBytes *)text) : 0;
}

static void drop(Rendered *rendered, Kept *kept)
{
        for (int i = 0; i < RENDERED_TEXTS; i++)
                rendered->bytes -= size_of(kept->texts[i]);
        g_queue_unlink(&rendered->oldest_first, &kept->order);
        g_hash_table_remove(rendered->by_id, kept->job->id);
}

/* The one of this object; what was kept for an older one is dropped. */
static Kept *kept_of(Rendered *rendered, Job *job)
{
        Kept *kept = g_hash_table_lookup(rendered->by_id, job->id);

        if (kept && kept->job == job)
                return kept;
        if (kept)
                drop(rendered, kept);
        kept = g_new0(Kept, 1);
        kept->job = job_ref(job);
        kept->order.data = kept;
        g_hash_table_insert(rendered->by_id, job->id, kept);
        g_queue_push_tail_link(&rendered->oldest_first, &kept->order);
        return kept;
}

static bool is_over(const Rendered *rendered)
{
        return rendered->bytes > BYTES_MAX || rendered->oldest_first.length > JOBS_MAX;
}

void rendered_keep(Rendered *rendered, const Job *job, RenderedText which, GBytes *text, gint64 now)
{
        Kept *kept;

        pthread_mutex_lock(&rendered->lock);
        kept = kept_of(rendered, (Job *)job);
        rendered->bytes += size_of(text) - size_of(kept->texts[which]);
        g_bytes_unref(kept->texts[which]);
        kept->texts[which] = g_bytes_ref(text);
        if (which == TEXT_WHOLE)
                kept->whole_made = now;
        while (is_over(rendered))
                drop(rendered, rendered->oldest_first.head->data);
        pthread_mutex_unlock(&rendered->lock);
}
