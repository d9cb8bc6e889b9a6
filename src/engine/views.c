/* Published views (see views.h).
 *
 * Both indices are sets of Job: the key is the job itself, so that an entry costs one pointer and a hash.
 * by_id owns a reference, the others borrow. The jobs of each queue that may start are a sequence in the
 * order in which they would, which gives a position in logarithmic time; those that wait for a time come in
 * when it has passed. */
#include "engine/views.h"

#include <string.h>

#include "base/keyed-hash.h"
#include "engine/life.h"

typedef struct {
        EngineWake wake;
        void *arg;
} Watcher;

typedef struct {
        gint64 open;
        GSequence *waiting; /* Job, borrowed */
        GSequence *later;   /* the same, those with a time before which they do not start */
        GHashTable *users;  /* interned name -> how many of the user's jobs hold something */
} QueueView;

typedef struct {
        int open, holding; /* numbers of its jobs that are open, and that hold resources */
        gint64 revision;   /* of the last change of any of them */
} ArrayView;

struct Views {
        GRWLock lock;
        GHashTable *by_id, *by_name, *by_seq;
        GHashTable *queues;   /* interned name -> QueueView; for ever, like the name */
        GHashTable *arrays;   /* array_seq -> ArrayView, of those of which a job is open */
        GHashTable *packages; /* hash of a package -> the number of open jobs that use it */
        ViewState state;
        Catalog *catalog;
        SchedulerFigures *figures;
        char *trouble; /* why the last batch was not stored; or NULL */
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
        return keyed_hash(((const Job *)job)->name) * 31 + keyed_hash(((const Job *)job)->user);
}

static gboolean name_equal(gconstpointer a, gconstpointer b)
{
        const Job *x = a, *y = b;

        return strcmp(x->name, y->name) == 0 && strcmp(x->user, y->user) == 0;
}

static guint seq_hash(gconstpointer job)
{
        return g_int64_hash(&((const Job *)job)->seq);
}

static gboolean seq_equal(gconstpointer a, gconstpointer b)
{
        return ((const Job *)a)->seq == ((const Job *)b)->seq;
}

/* ---- queues ---- */

/* Higher priority first, then the older one. */
static int by_turn(gconstpointer a, gconstpointer b, gpointer unused)
{
        const Job *x = a, *y = b;

        if (x->priority != y->priority)
                return x->priority > y->priority ? -1 : 1;
        return (x->seq > y->seq) - (x->seq < y->seq);
}

/* The sooner first. */
static int by_time(gconstpointer a, gconstpointer b, gpointer unused)
{
        const Job *x = a, *y = b;

        if (x->not_before != y->not_before)
                return x->not_before < y->not_before ? -1 : 1;
        return (x->seq > y->seq) - (x->seq < y->seq);
}

static void queue_view_free(gpointer data)
{
        QueueView *queue = data;

        g_sequence_free(queue->waiting);
        g_sequence_free(queue->later);
        g_hash_table_unref(queue->users);
        g_free(queue);
}

static QueueView *queue_of(Views *views, const char *name)
{
        QueueView *queue = g_hash_table_lookup(views->queues, name);

        if (!queue) {
                queue = g_new0(QueueView, 1);
                queue->waiting = g_sequence_new(NULL);
                queue->later = g_sequence_new(NULL);
                queue->users = g_hash_table_new(g_direct_hash, g_direct_equal);
                g_hash_table_insert(views->queues, (gpointer)name, queue);
        }
        return queue;
}

static void count(GHashTable *table, gpointer key, int change)
{
        int n = GPOINTER_TO_INT(g_hash_table_lookup(table, key)) + change;

        if (n > 0)
                g_hash_table_insert(table, key, GINT_TO_POINTER(n));
        else
                g_hash_table_remove(table, key);
}

/* It may start, now or at its time: as the scheduler is told (feed.c). */
static bool waits(const Job *job)
{
        PreparationState prepared = job ? job_preparation_state(job) : PREPARATION_NONE;

        return job && job->state == JOB_QUEUED && prepared != PREPARATION_RUNNING &&
               prepared != PREPARATION_FAILED && !job->after;
}

static bool is_open(const Job *job)
{
        return job && !job_state_is_final(job->state);
}

static bool holds(const Job *job)
{
        return job && !life_is_at_rest(job);
}

static void count_holding(Views *views, const Job *job, int change)
{
        count(queue_of(views, job->queue)->users, (gpointer)g_intern_string(job->user), change);
}

static void note_array(Views *views, const Job *was, const Job *now)
{
        gpointer key = GSIZE_TO_POINTER((gsize)now->array_seq);
        ArrayView *array = g_hash_table_lookup(views->arrays, key);

        if (!array) {
                array = g_new0(ArrayView, 1);
                g_hash_table_insert(views->arrays, key, array);
        }
        array->open += is_open(now) - is_open(was);
        array->holding += holds(now) - holds(was);
        array->revision = MAX(array->revision, now->revision);
        if (array->open == 0)
                g_hash_table_remove(views->arrays, key);
}

static void count_package(Views *views, const char *package, int change)
{
        int n;

        if (!package || change == 0)
                return;
        n = GPOINTER_TO_INT(g_hash_table_lookup(views->packages, package)) + change;
        if (n > 0)
                g_hash_table_insert(views->packages, g_strdup(package), GINT_TO_POINTER(n));
        else
                g_hash_table_remove(views->packages, package);
}

static void note_package(Views *views, const Job *was, const Job *now)
{
        count_package(views, now->spec->package, is_open(now) - is_open(was));
}

void views_hold_packages(Views *views, const GPtrArray *hashes, bool hold)
{
        g_rw_lock_writer_lock(&views->lock);
        for (guint i = 0; i < hashes->len; i++)
                count_package(views, hashes->pdata[i], hold ? 1 : -1);
        g_rw_lock_writer_unlock(&views->lock);
}

static void add_waiting(Views *views, Job *job)
{
        QueueView *queue = queue_of(views, job->queue);

        if (job->not_before)
                g_sequence_insert_sorted(queue->later, job, by_time, NULL);
        else
                g_sequence_insert_sorted(queue->waiting, job, by_turn, NULL);
}

static void remove_waiting(Views *views, Job *job)
{
        QueueView *queue = queue_of(views, job->queue);
        GSequenceIter *at = g_sequence_lookup(queue->waiting, job, by_turn, NULL);

        g_sequence_remove(at ? at : g_sequence_lookup(queue->later, job, by_time, NULL));
}

/* The same place in the same queue: the new view stands where the old one stood. */
static void replace_waiting(Views *views, Job *was, Job *now)
{
        if (was->queue == now->queue && was->priority == now->priority && !was->not_before &&
            !now->not_before) {
                QueueView *queue = queue_of(views, was->queue);

                g_sequence_set(g_sequence_lookup(queue->waiting, was, by_turn, NULL), now);
                return;
        }
        remove_waiting(views, was);
        add_waiting(views, now);
}

static void take_due(QueueView *queue, gint64 now)
{
        while (g_sequence_get_length(queue->later) > 0) {
                GSequenceIter *first = g_sequence_get_begin_iter(queue->later);
                Job *job = g_sequence_get(first);

                if (job->not_before > now)
                        return;
                g_sequence_remove(first);
                g_sequence_insert_sorted(queue->waiting, job, by_turn, NULL);
        }
}

static void note_queue(Views *views, Job *was, Job *now)
{
        if (is_open(was))
                queue_of(views, was->queue)->open--;
        if (is_open(now))
                queue_of(views, now->queue)->open++;
        if (waits(was) && waits(now))
                replace_waiting(views, was, now);
        else if (waits(was))
                remove_waiting(views, was);
        else if (waits(now))
                add_waiting(views, now);
        if (holds(was) == holds(now))
                return;
        count_holding(views, now, holds(now) ? 1 : -1);
}

/* ---- publishing ---- */

static void swap(Views *views, const ViewChange *change)
{
        note_queue(views, change->was, change->now);
        note_package(views, change->was, change->now);
        if (change->now->array_seq)
                note_array(views, change->was, change->now);
        if (!job_state_is_final(change->now->state)) {
                g_hash_table_add(views->by_seq, change->now);
                g_hash_table_add(views->by_name, change->now);
                g_hash_table_add(views->by_id, change->now);
        } else if (change->was) {
                g_hash_table_remove(views->by_name, change->was); /* the name was free before this commit */
                g_hash_table_remove(views->by_seq, change->was);
                g_hash_table_remove(views->by_id, change->was);
        }
}

void views_publish(Views *views, const ViewChange *changes, guint n, const ViewState *state, Catalog *catalog,
                   SchedulerFigures *figures, GPtrArray *ret_dropped)
{
        Catalog *old_catalog = NULL;
        SchedulerFigures *old_figures = NULL;

        g_rw_lock_writer_lock(&views->lock);
        for (guint i = 0; i < n; i++)
                swap(views, &changes[i]);
        views->state = *state;
        if (catalog != views->catalog) {
                old_catalog = views->catalog;
                views->catalog = catalog_ref(catalog);
        }
        if (figures) {
                old_figures = views->figures;
                views->figures = scheduler_figures_ref(figures);
        }
        g_rw_lock_writer_unlock(&views->lock);
        for (guint i = 0; i < n; i++)
                if (changes[i].was)
                        g_ptr_array_add(ret_dropped, changes[i].was);
        catalog_unref(old_catalog);
        if (old_figures)
                scheduler_figures_unref(old_figures);
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

/* g_sequence_search finds the end of what is equal: this puts the job itself behind what it searches for. */
static int before_job(gconstpointer item, gconstpointer job, gpointer unused)
{
        int order = by_turn(item, job, NULL);

        return order ? order : 1;
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

void views_set_trouble(Views *views, const char *text)
{
        g_rw_lock_writer_lock(&views->lock);
        g_free(views->trouble);
        views->trouble = g_strdup(text);
        g_rw_lock_writer_unlock(&views->lock);
}

char *views_trouble(Views *views)
{
        char *text;

        g_rw_lock_reader_lock(&views->lock);
        text = g_strdup(views->trouble);
        g_rw_lock_reader_unlock(&views->lock);
        return text;
}

Job *views_job_by_seq(Views *views, gint64 seq)
{
        const Job key = { .seq = seq };

        return find(views, views->by_seq, &key);
}

Catalog *views_catalog(Views *views)
{
        Catalog *catalog;

        g_rw_lock_reader_lock(&views->lock);
        catalog = catalog_ref(views->catalog);
        g_rw_lock_reader_unlock(&views->lock);
        return catalog;
}

SchedulerFigures *views_figures(Views *views)
{
        SchedulerFigures *figures;

        g_rw_lock_reader_lock(&views->lock);
        figures = scheduler_figures_ref(views->figures);
        g_rw_lock_reader_unlock(&views->lock);
        return figures;
}

/* A search marks the sequence: readers must not search at the same time. It takes a microsecond. */
int views_ahead(Views *views, const Job *job, gint64 now)
{
        QueueView *queue;
        int ahead = 0;

        g_rw_lock_writer_lock(&views->lock);
        queue = g_hash_table_lookup(views->queues, job->queue);
        if (queue) {
                take_due(queue, now);
                ahead = g_sequence_iter_get_position(
                        g_sequence_search(queue->waiting, (gpointer)job, before_job, NULL));
        }
        g_rw_lock_writer_unlock(&views->lock);
        return ahead;
}

gint64 views_open_in(Views *views, const char *name)
{
        const char *interned = g_intern_string(name);
        QueueView *queue;
        gint64 open;

        g_rw_lock_reader_lock(&views->lock);
        queue = g_hash_table_lookup(views->queues, interned);
        open = queue ? queue->open : 0;
        g_rw_lock_reader_unlock(&views->lock);
        return open;
}

int views_user_runs(Views *views, const char *name, const char *user)
{
        const char *interned = g_intern_string(name), *who = g_intern_string(user);
        QueueView *queue;
        int n;

        g_rw_lock_reader_lock(&views->lock);
        queue = g_hash_table_lookup(views->queues, interned);
        n = queue ? GPOINTER_TO_INT(g_hash_table_lookup(queue->users, who)) : 0;
        g_rw_lock_reader_unlock(&views->lock);
        return n;
}

static ArrayView array_view(Views *views, gint64 array_seq)
{
        const ArrayView *found;
        ArrayView array = { 0 };

        g_rw_lock_reader_lock(&views->lock);
        found = g_hash_table_lookup(views->arrays, GSIZE_TO_POINTER((gsize)array_seq));
        if (found)
                array = *found;
        g_rw_lock_reader_unlock(&views->lock);
        return array;
}

int views_array_runs(Views *views, gint64 array_seq)
{
        return array_view(views, array_seq).holding;
}

bool views_array_open(Views *views, gint64 array_seq, int *ret_open, gint64 *ret_revision)
{
        const ArrayView array = array_view(views, array_seq);

        if (ret_open)
                *ret_open = array.open;
        if (ret_revision)
                *ret_revision = array.revision;
        return array.open > 0;
}

GHashTable *views_packages(Views *views)
{
        GHashTable *hashes = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        GHashTableIter iter;
        gpointer hash;

        g_rw_lock_reader_lock(&views->lock);
        g_hash_table_iter_init(&iter, views->packages);
        while (g_hash_table_iter_next(&iter, &hash, NULL))
                g_hash_table_add(hashes, g_strdup(hash));
        g_rw_lock_reader_unlock(&views->lock);
        return hashes;
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
        views->by_seq = g_hash_table_new(seq_hash, seq_equal);
        views->queues = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, queue_view_free);
        views->arrays = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
        views->packages = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
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
        g_hash_table_unref(views->by_seq);
        g_hash_table_unref(views->queues);
        g_hash_table_unref(views->arrays);
        g_hash_table_unref(views->packages);
        g_free(views->trouble);
        g_hash_table_iter_init(&iter, views->by_id);
        while (g_hash_table_iter_next(&iter, &job, NULL))
                job_unref(job);
        g_hash_table_unref(views->by_id);
        catalog_unref(views->catalog);
        if (views->figures)
                scheduler_figures_unref(views->figures);
        g_array_unref(views->watchers);
        pthread_mutex_destroy(&views->watch_lock);
        g_rw_lock_clear(&views->lock);
        g_free(views);
}
