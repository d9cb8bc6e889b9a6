/* Live jobs and their indices (see state.h). Everything here follows from the jobs: after a failed commit the
 * old views are put back and settled again, and the indices stand as before. */
#include "engine/state.h"

#include <string.h>

#include "base/keyed-hash.h"
#include "engine/mounts.h"
#include "model/array.h"

enum {
        PUT_OFF_MS = 1000,
        FAILED = 1u << JOB_FAILED | 1u << JOB_CANCELLED | 1u << JOB_PREEMPTED, /* as in JobQuery */
};

/* ---- keys ---- */

static guint id_hash(gconstpointer live)
{
        return g_str_hash(((const Live *)live)->job->id); /* made here */
}

static gboolean id_equal(gconstpointer a, gconstpointer b)
{
        return strcmp(((const Live *)a)->job->id, ((const Live *)b)->job->id) == 0;
}

static guint name_hash(gconstpointer live)
{
        const Job *job = ((const Live *)live)->job;

        return keyed_hash(job->name) * 31 + keyed_hash(job->user);
}

static gboolean name_equal(gconstpointer a, gconstpointer b)
{
        const Job *x = ((const Live *)a)->job, *y = ((const Live *)b)->job;

        return strcmp(x->name, y->name) == 0 && strcmp(x->user, y->user) == 0;
}

static guint key_hash(gconstpointer live)
{
        const Job *job = ((const Live *)live)->job;

        return keyed_hash(job->idempotency_key) * 31 + keyed_hash(job->user);
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
        const Job *x = ((const Live *)a)->job, *y = ((const Live *)b)->job;

        return strcmp(x->idempotency_key, y->idempotency_key) == 0 && strcmp(x->user, y->user) == 0;
}

static guint seq_hash(gconstpointer live)
{
        return g_int64_hash(&((const Live *)live)->job->seq);
}

static gboolean seq_equal(gconstpointer a, gconstpointer b)
{
        return ((const Live *)a)->job->seq == ((const Live *)b)->job->seq;
}

static int by_due(gconstpointer a, gconstpointer b, gpointer unused)
{
        const Live *x = a, *y = b;

        if (x->due != y->due)
                return (x->due > y->due) - (x->due < y->due);
        return (x->job->seq > y->job->seq) - (x->job->seq < y->job->seq);
}

/* ---- the books ----
 * How many open jobs a queue has, in all and for each user. Names are interned. */

typedef struct {
        gint64 open;
        GHashTable *users; /* name -> count */
} Book;

static void book_free(gpointer data)
{
        Book *book = data;

        g_hash_table_unref(book->users);
        g_free(book);
}

static Book *book_of(Engine *engine, const char *queue)
{
        Book *book = g_hash_table_lookup(engine->books, queue);

        if (!book) {
                book = g_new0(Book, 1);
                book->users = g_hash_table_new(g_direct_hash, g_direct_equal);
                g_hash_table_insert(engine->books, (gpointer)queue, book);
        }
        return book;
}

static void book_count(Engine *engine, const char *queue, const char *user, int change)
{
        Book *book = book_of(engine, queue);
        const char *name = g_intern_string(user);
        int n = GPOINTER_TO_INT(g_hash_table_lookup(book->users, name)) + change;

        book->open += change;
        if (n > 0)
                g_hash_table_insert(book->users, (gpointer)name, GINT_TO_POINTER(n));
        else
                g_hash_table_remove(book->users, name);
        if (book->open == 0)
                g_hash_table_remove(engine->books, queue);
}

static void enter_book(Engine *engine, Live *live, const char *queue)
{
        if (live->queue == queue)
                return;
        if (live->queue)
                book_count(engine, live->queue, live->job->user, -1);
        if (live->job->spec->mounts && !live->queue != !queue)
                mounts_count(engine, live->job, queue ? 1 : -1);
        live->queue = queue;
        if (queue)
                book_count(engine, queue, live->job->user, 1);
}

gint64 live_open_of(Engine *engine, const char *user)
{
        const char *name = g_intern_string(user);
        GHashTableIter iter;
        gpointer book;
        gint64 n = 0;

        g_hash_table_iter_init(&iter, engine->books);
        while (g_hash_table_iter_next(&iter, NULL, &book))
                n += GPOINTER_TO_INT(g_hash_table_lookup(((Book *)book)->users, name));
        return n;
}

/* ---- arrays ---- */

typedef struct {
        int open, live;            /* numbers of elements */
        char id[ARRAY_ID_LEN + 1]; /* "": unknown */
        bool loaded;               /* by live_load_arrays */
        JobState failed; /* of an element that ended without success before this batch; or JOB_SUCCEEDED */
} Array;

static Array *array_of(Engine *engine, gint64 array_seq)
{
        return g_hash_table_lookup(engine->arrays, GSIZE_TO_POINTER((gsize)array_seq));
}

int live_array_open(Engine *engine, gint64 array_seq)
{
        const Array *array = array_of(engine, array_seq);

        return array ? array->open : 0;
}

const char *live_array_id(Engine *engine, gint64 array_seq)
{
        const Array *array = array_of(engine, array_seq);

        return array && array->id[0] ? array->id : NULL;
}

JobState live_array_state(Engine *engine, gint64 array_seq)
{
        const Array *array = array_of(engine, array_seq);

        return array ? array->failed : JOB_SUCCEEDED;
}

static void add_to_array(Engine *engine, const Job *job)
{
        Array *array = array_of(engine, job->array_seq);

        if (!array) {
                array = g_new0(Array, 1);
                array->failed = JOB_SUCCEEDED;
                g_hash_table_insert(engine->arrays, GSIZE_TO_POINTER((gsize)job->array_seq), array);
        }
        array->live++;
        if (job->seq == job->array_seq)
                array_id_make(job->id, array->id);
}

static void remove_from_array(Engine *engine, const Job *job)
{
        Array *array = array_of(engine, job->array_seq);

        if (job_state_is_final(job->state) && job->state != JOB_SUCCEEDED)
                array->failed = (JobState)job->state;
        if (--array->live == 0)
                g_hash_table_remove(engine->arrays, GSIZE_TO_POINTER((gsize)job->array_seq));
}

static void enter_array(Engine *engine, Live *live, bool open)
{
        if (!live->job->array_seq || live->in_array == open)
                return;
        live->in_array = open;
        array_of(engine, live->job->array_seq)->open += open ? 1 : -1;
}

/* Elements that have ended: one of them may be the first, and some may have failed. */
static bool load_array(Engine *engine, gint64 seq, Array *array, GError **error)
{
        const JobQuery query = { .array_seq = seq, .states = FAILED, .limit = 1 };
        g_autoptr(Job) first = array->id[0] ? NULL : store_job_by_seq(engine->store, seq, NULL);
        gint64 next;
        g_autoptr(GPtrArray) failed = store_jobs(engine->store, &query, &next, error);

        if (!failed)
                return false;
        if (first)
                array_id_make(first->id, array->id);
        if (failed->len > 0)
                array->failed = (JobState)((const Job *)failed->pdata[0])->state;
        return true;
}

bool live_load_arrays(Engine *engine, GError **error)
{
        GHashTableIter iter;
        gpointer key;

        g_hash_table_iter_init(&iter, engine->by_id);
        while (g_hash_table_iter_next(&iter, &key, NULL)) {
                const Job *job = ((const Live *)key)->job;
                Array *array = job->array_seq ? array_of(engine, job->array_seq) : NULL;

                if (!array || array->loaded)
                        continue;
                array->loaded = true;
                if (array->live < array_size(job->spec) && !load_array(engine, job->array_seq, array, error))
                        return false;
        }
        return true;
}

gint64 live_open_in(Engine *engine, const char *queue, const char *user)
{
        const Book *book = g_hash_table_lookup(engine->books, g_intern_string(queue));

        if (!book || !user)
                return book ? book->open : 0;
        return GPOINTER_TO_INT(g_hash_table_lookup(book->users, g_intern_string(user)));
}

/* ---- the set ---- */

void live_init(Engine *engine)
{
        engine->by_id = g_hash_table_new(id_hash, id_equal);
        engine->by_seq = g_hash_table_new(seq_hash, seq_equal);
        engine->by_name = g_hash_table_new(name_hash, name_equal);
        engine->by_key = g_hash_table_new(key_hash, key_equal);
        engine->books = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, book_free);
        engine->arrays = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
        engine->mounted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        building_init(engine);
        engine->timers = g_sequence_new(NULL);
        engine->unfed = g_ptr_array_new();
}

void live_clear(Engine *engine)
{
        GHashTableIter iter;
        gpointer live;

        building_clear(engine);
        g_hash_table_unref(engine->by_name);
        g_hash_table_unref(engine->by_key);
        g_hash_table_unref(engine->by_seq);
        g_hash_table_unref(engine->books);
        g_hash_table_unref(engine->arrays);
        g_hash_table_unref(engine->mounted);
        g_sequence_free(engine->timers);
        g_ptr_array_unref(engine->unfed);
        g_hash_table_iter_init(&iter, engine->by_id);
        while (g_hash_table_iter_next(&iter, &live, NULL))
                g_free(live);
        g_hash_table_unref(engine->by_id);
}

Live *live_add(Engine *engine, Job *job)
{
        Live *live = g_new0(Live, 1);

        live->job = job;
        live->alone = engine_now(engine);
        g_hash_table_add(engine->by_id, live);
        g_hash_table_add(engine->by_seq, live);
        g_hash_table_add(engine->by_name, live);
        if (job->idempotency_key)
                g_hash_table_add(engine->by_key, live);
        if (job->array_seq)
                add_to_array(engine, job);
        return live;
}

static Live *find(GHashTable *table, Job *like)
{
        const Live key = { .job = like };

        return g_hash_table_lookup(table, &key);
}

Live *live_find(Engine *engine, const char *id)
{
        Job like = { 0 };

        g_strlcpy(like.id, id, sizeof like.id);
        return strlen(id) == ID_LEN ? find(engine->by_id, &like) : NULL;
}

Live *live_by_seq(Engine *engine, gint64 seq)
{
        return find(engine->by_seq, &(Job){ .seq = seq });
}

Live *live_by_name(Engine *engine, const char *user, const char *name)
{
        return find(engine->by_name, &(Job){ .user = (char *)user, .name = (char *)name });
}

Live *live_by_key(Engine *engine, const char *user, const char *key)
{
        return find(engine->by_key, &(Job){ .user = (char *)user, .idempotency_key = (char *)key });
}

void live_remove(Engine *engine, Live *live)
{
        enter_book(engine, live, NULL);
        enter_array(engine, live, false);
        if (live->job->array_seq)
                remove_from_array(engine, live->job);
        building_leave(engine, live);
        feed_drop(engine, live);
        if (live->unfed)
                g_ptr_array_remove_fast(engine->unfed, live);
        g_clear_pointer(&live->timer, g_sequence_remove);
        if (g_hash_table_lookup(engine->by_name, live) == live)
                g_hash_table_remove(engine->by_name, live);
        if (live->job->idempotency_key)
                g_hash_table_remove(engine->by_key, live);
        g_hash_table_remove(engine->by_seq, live);
        g_hash_table_remove(engine->by_id, live);
        g_free(live);
}

/* ---- where a job stands ---- */

static void set_timer(Engine *engine, Live *live, gint64 due)
{
        if (live->due == due && (due == 0) == (live->timer == NULL))
                return;
        g_clear_pointer(&live->timer, g_sequence_remove);
        live->due = due;
        if (due)
                live->timer = g_sequence_insert_sorted(engine->timers, live, by_due, NULL);
}

bool live_put_off(Engine *engine, Live *live)
{
        if (live->job->state != JOB_STARTING || slot_of(engine, live->job)->connected)
                return false;
        set_timer(engine, live, engine->batch.now + PUT_OFF_MS);
        return true;
}

static void settle_timer(Engine *engine, Live *live)
{
        gint64 hangup = live->terminals > 0 ? 0 : life_hangup_due(live->job, live->alone);

        set_timer(engine, live, hangup ? hangup : life_due(live->job));
}

void live_settle(Engine *engine, Live *live)
{
        bool open = !job_state_is_final(live->job->state);

        enter_book(engine, live, open ? live->job->queue : NULL);
        enter_array(engine, live, open);
        building_settle(engine, live);
        settle_timer(engine, live);
        if (live->unfed)
                return;
        live->unfed = true;
        g_ptr_array_add(engine->unfed, live);
}

/* ---- the command of a terminal ---- */

typedef struct {
        Command command;
        char *job_id;
        int change; /* of the number of terminals that wait for the job's start */
} Terminal;

static bool apply_terminal(Engine *engine, Command *command)
{
        Terminal *terminal = (Terminal *)command;
        Live *live = live_find(engine, terminal->job_id);
        int change = terminal->change;

        terminal->change = 0; /* its batch may be applied again */
        if (!live || !change)
                return true;
        live->terminals += change;
        live->alone = engine_now(engine);
        settle_timer(engine, live);
        return true;
}

static void free_terminal(Command *command)
{
        g_free(((Terminal *)command)->job_id);
}

static const CommandOps terminal_ops = {
        .name = "terminal", .size = sizeof(Terminal), .apply = apply_terminal, .free = free_terminal
};

void engine_terminal(Engine *engine, const char *job_id, bool there)
{
        Terminal *terminal = command_new(&terminal_ops, NULL, NULL);

        terminal->job_id = g_strdup(job_id);
        terminal->change = there ? 1 : -1;
        inbox_put(&engine->inbox, &terminal->command);
}
