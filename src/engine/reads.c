/* Reads on behalf of commands (see reads.h). */
#include "engine/reads.h"

#include <string.h>

#include "base/keyed-hash.h"
#include "engine/state.h"

/* ---- what has changed ---- */

typedef enum { JOB_ENDED, JOB_DELETED, TOKEN_CREATED, TOKEN_DROPPED, LOGGED_OUT } ChangeKind;

/* By what a change is found. A command may look for thousands of jobs, and there may be as many changes. */
typedef enum {
        ENDED_BY_SEQ,
        ENDED_BY_ID,
        ENDED_BY_KEY,    /* the idempotency key, and the user */
        FAILED_IN_ARRAY, /* the array's number */
        DELETED_BY_SEQ,
        TOKEN_BY_ID,
        LOGGED_OUT_USER,
} LookKind;

typedef struct {
        LookKind kind;
        gint64 seq;
        const char *text, *user; /* or NULL */
} Look;

enum { LOOKS = 4 };

typedef struct {
        gint64 at; /* the publication */
        ChangeKind kind;
        Job *job;          /* JOB_ENDED: a reference */
        gint64 seq;        /* JOB_ENDED, JOB_DELETED */
        char *id;          /* TOKEN_CREATED, TOKEN_DROPPED: of the token */
        char *user;        /* TOKEN_CREATED, LOGGED_OUT */
        Look looks[LOOKS]; /* keys of the index */
        int n_looks;
} StoreChange;

static guint look_hash(gconstpointer data)
{
        const Look *look = data;
        guint64 mixed = ((guint64)look->seq ^ ((guint64)look->kind << 56)) * 0x9e3779b97f4a7c15ULL;

        return (look->text ? keyed_hash(look->text) : 0) ^ (guint)(mixed >> 32);
}

static gboolean look_equal(gconstpointer a, gconstpointer b)
{
        const Look *x = a, *y = b;

        return x->kind == y->kind && x->seq == y->seq && g_strcmp0(x->text, y->text) == 0 &&
               g_strcmp0(x->user, y->user) == 0;
}

static void store_change_free(gpointer data)
{
        StoreChange *change = data;

        g_clear_pointer(&change->job, job_unref);
        g_free(change->id);
        g_free(change->user);
        g_free(change);
}

void reads_init(Reads *reads)
{
        pthread_mutex_init(&reads->lock, NULL);
        g_queue_init(&reads->waiting);
        g_queue_init(&reads->changes);
        reads->index = g_hash_table_new(look_hash, look_equal);
}

void reads_clear(Reads *reads)
{
        g_hash_table_unref(reads->index);
        g_queue_clear_full(&reads->changes, store_change_free);
        pthread_mutex_destroy(&reads->lock);
}

static void add_look(StoreChange *change, Look look)
{
        change->looks[change->n_looks++] = look;
}

static void add_looks(StoreChange *change)
{
        const Job *job = change->job;

        switch (change->kind) {
        case JOB_ENDED:
                add_look(change, (Look){ .kind = ENDED_BY_SEQ, .seq = job->seq });
                add_look(change, (Look){ .kind = ENDED_BY_ID, .text = job->id });
                if (job->idempotency_key)
                        add_look(change, (Look){ .kind = ENDED_BY_KEY,
                                                 .text = job->idempotency_key,
                                                 .user = job->user });
                if (job->array_seq && job->state != JOB_SUCCEEDED)
                        add_look(change, (Look){ .kind = FAILED_IN_ARRAY, .seq = job->array_seq });
                break;
        case JOB_DELETED: add_look(change, (Look){ .kind = DELETED_BY_SEQ, .seq = change->seq }); break;
        case TOKEN_DROPPED: add_look(change, (Look){ .kind = TOKEN_BY_ID, .text = change->id }); break;
        case LOGGED_OUT: add_look(change, (Look){ .kind = LOGGED_OUT_USER, .text = change->user }); break;
        case TOKEN_CREATED: break; /* read_new_tokens looks at all */
        }
}

static void add(Reads *reads, const StoreChange *change)
{
        StoreChange *copy = g_memdup2(change, sizeof *change);

        copy->at = reads->published;
        add_looks(copy);
        for (int i = 0; i < copy->n_looks; i++)
                g_hash_table_replace(reads->index, &copy->looks[i], copy);
        g_queue_push_tail(&reads->changes, copy);
}

static void forget_oldest(Reads *reads)
{
        StoreChange *change = g_queue_pop_head(&reads->changes);

        for (int i = 0; i < change->n_looks; i++)
                if (g_hash_table_lookup(reads->index, &change->looks[i]) == change)
                        g_hash_table_remove(reads->index, &change->looks[i]);
        store_change_free(change);
}

static void add_jobs(Engine *engine, const GArray *changes)
{
        const GPtrArray *deleted = engine->batch.dropped_jobs;

        for (guint i = 0; i < changes->len; i++) {
                Job *job = g_array_index(changes, ViewChange, i).now;

                if (job_state_is_final(job->state))
                        add(&engine->reads,
                            &(StoreChange){ .kind = JOB_ENDED, .job = job_ref(job), .seq = job->seq });
        }
        for (guint i = 0; i < deleted->len; i++)
                add(&engine->reads,
                    &(StoreChange){ .kind = JOB_DELETED, .seq = *(const gint64 *)deleted->pdata[i] });
}

static void add_tokens(Engine *engine)
{
        const Batch *batch = &engine->batch;

        for (guint i = 0; i < batch->logged_out->len; i++)
                add(&engine->reads,
                    &(StoreChange){ .kind = LOGGED_OUT, .user = g_strdup(batch->logged_out->pdata[i]) });
        for (guint i = 0; i < batch->tokens->len; i++) {
                const Token *token = batch->tokens->pdata[i];

                add(&engine->reads, &(StoreChange){ .kind = TOKEN_CREATED,
                                                    .id = g_strdup(token->id),
                                                    .user = g_strdup(token->user) });
        }
        for (guint i = 0; i < batch->dropped_tokens->len; i++)
                add(&engine->reads,
                    &(StoreChange){ .kind = TOKEN_DROPPED, .id = g_strdup(batch->dropped_tokens->pdata[i]) });
}

/* Begins the next publication. False if no command waits that has read. *ret_since: the earliest read. */
static bool next(Reads *reads, gint64 *ret_since)
{
        const Read *first;

        pthread_mutex_lock(&reads->lock);
        reads->published++;
        first = g_queue_peek_head(&reads->waiting);
        *ret_since = first ? first->since : reads->published;
        pthread_mutex_unlock(&reads->lock);
        return first != NULL;
}

void reads_publish(Engine *engine, const GArray *changes)
{
        Reads *reads = &engine->reads;
        const StoreChange *oldest;
        gint64 since;

        if (next(reads, &since)) {
                add_jobs(engine, changes);
                add_tokens(engine);
        }
        while ((oldest = g_queue_peek_head(&reads->changes)) && oldest->at <= since)
                forget_oldest(reads);
}

/* ---- reads ---- */

void read_begin(Engine *engine, Read *read)
{
        Reads *reads = &engine->reads;

        read->engine = engine;
        read->link.data = read;
        pthread_mutex_lock(&reads->lock);
        read->since = reads->published;
        g_queue_push_tail_link(&reads->waiting, &read->link);
        pthread_mutex_unlock(&reads->lock);
}

void read_end(Read *read)
{
        Reads *reads;

        if (!read->engine)
                return;
        reads = &read->engine->reads;
        pthread_mutex_lock(&reads->lock);
        g_queue_unlink(&reads->waiting, &read->link);
        pthread_mutex_unlock(&reads->lock);
        read->engine = NULL;
}

/* ---- looking for changes ---- */

/* The latest change since the read that is found by `look`. */
static const StoreChange *find(const Read *read, Look look)
{
        const StoreChange *change =
                read->engine ? g_hash_table_lookup(read->engine->reads.index, &look) : NULL;

        return change && change->at > read->since ? change : NULL;
}

static const Job *find_ended(const Read *read, Look look)
{
        const StoreChange *ended = find(read, look);

        return ended && !find(read, (Look){ .kind = DELETED_BY_SEQ, .seq = ended->seq }) ? ended->job : NULL;
}

const Job *read_ended(const Read *read, const char *id)
{
        return find_ended(read, (Look){ .kind = ENDED_BY_ID, .text = id });
}

const Job *read_ended_by_key(const Read *read, const char *user, const char *key)
{
        return find_ended(read, (Look){ .kind = ENDED_BY_KEY, .text = key, .user = user });
}

const Job *read_update(const Read *read, const Job *job)
{
        const StoreChange *ended;

        if (!job || find(read, (Look){ .kind = DELETED_BY_SEQ, .seq = job->seq }))
                return NULL;
        ended = find(read, (Look){ .kind = ENDED_BY_SEQ, .seq = job->seq });
        return ended ? ended->job : job;
}

JobState read_array_state(const Read *read, gint64 array_seq)
{
        const StoreChange *failed = find(read, (Look){ .kind = FAILED_IN_ARRAY, .seq = array_seq });

        return failed ? (JobState)failed->job->state : JOB_SUCCEEDED;
}

bool read_token_dropped(const Read *read, const char *id)
{
        return find(read, (Look){ .kind = TOKEN_BY_ID, .text = id });
}

bool read_logged_out(const Read *read, const char *user)
{
        return find(read, (Look){ .kind = LOGGED_OUT_USER, .text = user });
}

void read_new_tokens(const Read *read, const char *user, GPtrArray *ids)
{
        for (const GList *link = read->engine->reads.changes.tail; link; link = link->prev) {
                const StoreChange *change = link->data;

                if (change->at <= read->since)
                        return;
                if (change->kind == TOKEN_CREATED && strcmp(change->user, user) == 0)
                        g_ptr_array_add(ids, g_strdup(change->id));
        }
}
