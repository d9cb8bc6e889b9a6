/* Published views (see views.h).
 *
 * Both indices are sets of Job: the key is the job itself, so that an entry costs one pointer and a hash.
 * by_id owns a reference, by_name borrows. Queued jobs are kept as a sorted array of their numbers, which
 * gives a rank by bisection; the first in line leaves by moving `queued_from`, as that is what happens all
 * the time. */
#include "engine/views.h"

#include <string.h>

typedef struct {
        EngineWake wake;
        void *arg;
} Watcher;

struct Views {
        GRWLock lock;
        GHashTable *by_id, *by_name;
        GArray *queued; /* gint64 seq, ascending from queued_from */
        guint queued_from;
        ViewState state;
        pthread_mutex_t watch_lock;
        GArray *watchers;
};

/* ---- keys ---- */

static guint id_hash(gconstpointer job)
{
        return g_str_hash(((const Job *)job)->id);
}

static gboolean id_equal(gconstpointer a, gconstpointer b)
{
        return strcmp(((const Job *)a)->id, ((const Job *)b)->id) == 0;
}

static guint name_hash(gconstpointer job)
{
        return g_str_hash(((const Job *)job)->name) * 31 + g_str_hash(((const Job *)job)->user);
}

static gboolean name_equal(gconstpointer a, gconstpointer b)
{
        const Job *x = a, *y = b;

        return strcmp(x->name, y->name) == 0 && strcmp(x->user, y->user) == 0;
}

/* ---- queued jobs ---- */

/* Where `seq` stands, or would. */
static guint queued_find(const Views *views, gint64 seq)
{
        guint low = views->queued_from, high = views->queued->len;

        while (low < high) {
                guint middle = low + (high - low) / 2;

                if (g_array_index(views->queued, gint64, middle) < seq)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static void queued_add(Views *views, gint64 seq)
{
        guint at = queued_find(views, seq);

        if (at == views->queued_from && at > 0)
                g_array_index(views->queued, gint64, --views->queued_from) = seq;
        else
                g_array_insert_val(views->queued, at, seq);
}

static void queued_remove(Views *views, gint64 seq)
{
        guint at = queued_find(views, seq);

        if (at != views->queued_from) {
                g_array_remove_index(views->queued, at);
                return;
        }
        views->queued_from++;
        if (views->queued_from > 64 && views->queued_from > views->queued->len / 2) {
                g_array_remove_range(views->queued, 0, views->queued_from);
                views->queued_from = 0;
        }
}

/* ---- publishing ---- */

static void count_queued(Views *views, const Job *was, const Job *now)
{
        bool before = was && was->state == JOB_QUEUED, after = now->state == JOB_QUEUED;

        if (before && !after)
                queued_remove(views, was->seq);
        else if (after && !before)
                queued_add(views, now->seq);
}

static void swap(Views *views, const ViewChange *change)
{
        count_queued(views, change->was, change->now);
        if (!job_state_is_final(change->now->state)) {
                g_hash_table_add(views->by_name, change->now);
                g_hash_table_add(views->by_id, change->now);
        } else if (change->was) {
                g_hash_table_remove(views->by_name, change->was); /* nobody has the name before this commit */
                g_hash_table_remove(views->by_id, change->was);
        }
}

void views_publish(Views *views, const ViewChange *changes, guint n, const ViewState *state,
                   GPtrArray *ret_dropped)
{
        g_rw_lock_writer_lock(&views->lock);
        for (guint i = 0; i < n; i++)
                swap(views, &changes[i]);
        views->state = *state;
        g_rw_lock_writer_unlock(&views->lock);
        for (guint i = 0; i < n; i++)
                if (changes[i].was)
                        g_ptr_array_add(ret_dropped, changes[i].was);
}

/* ---- reading ---- */

static Job *find(Views *views, GHashTable *table, const Job *key)
{
        Job *job;

        g_rw_lock_reader_lock(&views->lock);
        job = g_hash_table_lookup(table, key);
        if (job)
                job_ref(job);
        g_rw_lock_reader_unlock(&views->lock);
        return job;
}

Job *views_job(Views *views, const char *id)
{
        Job key = { 0 };

        g_strlcpy(key.id, id, sizeof key.id);
        return strlen(id) == ID_LEN ? find(views, views->by_id, &key) : NULL;
}

Job *views_job_by_name(Views *views, const char *user, const char *name)
{
        const Job key = { .user = (char *)user, .name = (char *)name };

        return find(views, views->by_name, &key);
}

void views_state(Views *views, ViewState *ret)
{
        g_rw_lock_reader_lock(&views->lock);
        *ret = views->state;
        g_rw_lock_reader_unlock(&views->lock);
}

int views_ahead(Views *views, gint64 seq)
{
        guint ahead;

        g_rw_lock_reader_lock(&views->lock);
        ahead = queued_find(views, seq) - views->queued_from;
        g_rw_lock_reader_unlock(&views->lock);
        return (int)ahead;
}

/* ---- watchers ---- */

void views_watch(Views *views, EngineWake wake, void *arg)
{
        Watcher watcher = { wake, arg };

        pthread_mutex_lock(&views->watch_lock);
        g_array_append_val(views->watchers, watcher);
        pthread_mutex_unlock(&views->watch_lock);
}

void views_unwatch(Views *views, EngineWake wake, void *arg)
{
        pthread_mutex_lock(&views->watch_lock);
        for (guint i = 0; i < views->watchers->len; i++) {
                const Watcher *watcher = &g_array_index(views->watchers, Watcher, i);

                if (watcher->wake == wake && watcher->arg == arg) {
                        g_array_remove_index(views->watchers, i);
                        break;
                }
        }
        pthread_mutex_unlock(&views->watch_lock);
}

void views_wake(Views *views, gint64 revision)
{
        pthread_mutex_lock(&views->watch_lock);
        for (guint i = 0; i < views->watchers->len; i++) {
                const Watcher *watcher = &g_array_index(views->watchers, Watcher, i);

                watcher->wake(revision, watcher->arg);
        }
        pthread_mutex_unlock(&views->watch_lock);
}

/* ---- life ---- */

Views *views_new(void)
{
        Views *views = g_new0(Views, 1);

        g_rw_lock_init(&views->lock);
        pthread_mutex_init(&views->watch_lock, NULL);
        views->by_id = g_hash_table_new(id_hash, id_equal);
        views->by_name = g_hash_table_new(name_hash, name_equal);
        views->queued = g_array_new(FALSE, FALSE, sizeof(gint64));
        views->watchers = g_array_new(FALSE, FALSE, sizeof(Watcher));
        return views;
}

void views_free(Views *views)
{
        GHashTableIter iter;
        gpointer job;

        if (!views)
                return;
        g_hash_table_unref(views->by_name);
        g_hash_table_iter_init(&iter, views->by_id);
        while (g_hash_table_iter_next(&iter, &job, NULL))
                job_unref(job);
        g_hash_table_unref(views->by_id);
        g_array_unref(views->queued);
        g_array_unref(views->watchers);
        pthread_mutex_destroy(&views->watch_lock);
        g_rw_lock_clear(&views->lock);
        g_free(views);
}
