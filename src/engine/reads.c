/* Reads on behalf of commands (see reads.h). */
#include "engine/reads.h"

#include <string.h>

#include "engine/state.h"

/* ---- what has changed ---- */

typedef enum { JOB_ENDED, JOB_DELETED, TOKEN_CREATED, TOKEN_DROPPED, LOGGED_OUT } ChangeKind;

typedef struct {
        gint64 at; /* the publication */
        ChangeKind kind;
        Job *job;   /* JOB_ENDED: a reference */
        gint64 seq; /* JOB_ENDED, JOB_DELETED */
        char *id;   /* TOKEN_CREATED, TOKEN_DROPPED: of the token */
        char *user; /* TOKEN_CREATED, LOGGED_OUT */
} StoreChange;

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
}

void reads_clear(Reads *reads)
{
        g_queue_clear_full(&reads->changes, store_change_free);
        pthread_mutex_destroy(&reads->lock);
}

static void add(Reads *reads, const StoreChange *change)
{
        StoreChange *copy = g_memdup2(change, sizeof *change);

        copy->at = reads->published;
        g_queue_push_tail(&reads->changes, copy);
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
                store_change_free(g_queue_pop_head(&reads->changes));
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

typedef bool (*Match)(const StoreChange *change, const StoreChange *like);

static bool same_seq(const StoreChange *change, const StoreChange *like)
{
        return change->seq == like->seq;
}

static bool same_job_id(const StoreChange *change, const StoreChange *like)
{
        return strcmp(change->job->id, like->id) == 0;
}

/* `id` is the idempotency key. */
static bool same_key(const StoreChange *change, const StoreChange *like)
{
        return g_strcmp0(change->job->idempotency_key, like->id) == 0 &&
               strcmp(change->job->user, like->user) == 0;
}

/* `seq` is the array's number. */
static bool failed_in_array(const StoreChange *change, const StoreChange *like)
{
        return change->job->array_seq == like->seq && change->job->state != JOB_SUCCEEDED;
}

static bool same_id(const StoreChange *change, const StoreChange *like)
{
        return strcmp(change->id, like->id) == 0;
}

static bool same_user(const StoreChange *change, const StoreChange *like)
{
        return strcmp(change->user, like->user) == 0;
}

/* The latest change since the read that is of the kind of `like` and matches it. */
static const StoreChange *find(const Read *read, Match match, const StoreChange *like)
{
        for (const GList *link = read->engine ? read->engine->reads.changes.tail : NULL; link;
             link = link->prev) {
                const StoreChange *change = link->data;

                if (change->at <= read->since)
                        return NULL;
                if (change->kind == like->kind && match(change, like))
                        return change;
        }
        return NULL;
}

static const Job *find_ended(const Read *read, Match match, const StoreChange *like)
{
        const StoreChange *ended = find(read, match, like);

        return ended && !find(read, same_seq, &(StoreChange){ .kind = JOB_DELETED, .seq = ended->seq })
                       ? ended->job
                       : NULL;
}

const Job *read_ended(const Read *read, const char *id)
{
        return find_ended(read, same_job_id, &(StoreChange){ .kind = JOB_ENDED, .id = (char *)id });
}

const Job *read_ended_by_seq(const Read *read, gint64 seq)
{
        return find_ended(read, same_seq, &(StoreChange){ .kind = JOB_ENDED, .seq = seq });
}

const Job *read_ended_by_key(const Read *read, const char *user, const char *key)
{
        return find_ended(read, same_key,
                          &(StoreChange){ .kind = JOB_ENDED, .id = (char *)key, .user = (char *)user });
}

const Job *read_update(const Read *read, const Job *job)
{
        const StoreChange *ended;

        if (!job || find(read, same_seq, &(StoreChange){ .kind = JOB_DELETED, .seq = job->seq }))
                return NULL;
        ended = find(read, same_seq, &(StoreChange){ .kind = JOB_ENDED, .seq = job->seq });
        return ended ? ended->job : job;
}

JobState read_array_state(const Read *read, gint64 array_seq)
{
        const StoreChange *failed =
                find(read, failed_in_array, &(StoreChange){ .kind = JOB_ENDED, .seq = array_seq });

        return failed ? (JobState)failed->job->state : JOB_SUCCEEDED;
}

bool read_token_dropped(const Read *read, const char *id)
{
        return find(read, same_id, &(StoreChange){ .kind = TOKEN_DROPPED, .id = (char *)id });
}

bool read_logged_out(const Read *read, const char *user)
{
        return find(read, same_user, &(StoreChange){ .kind = LOGGED_OUT, .user = (char *)user });
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
