/* What must survive: jobs, events, the catalog's objects, tokens, usage. Typed batches and queries; no
 * decision. One writer (the engine) commits batches; readers use connections of their own and see committed
 * data only. Implementations: sqlite/, later postgres/. doc/internals/store.md has the tables and what is durable when.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/access.h"
#include "model/job.h"
#include "model/object.h"

typedef struct Store Store;

typedef struct {
        gint64 revision;         /* grows by one; the engine counts */
        gint64 time;             /* ms */
        gint64 job_seq;          /* 0: not about a job */
        char job_id[ID_LEN + 1]; /* "" when not about a job */
        char *name;              /* of the job; filled by queries, not kept with the event */
        char *user;              /* whose job; who may see it */
        char *kind;              /* "job.queued", "member.exited", ... (doc/guide/rest.md, "An event") */
        char *data;              /* JSON object */
} Event;
void event_free(Event *event);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Event, event_free)

/* How a token came to be: what a log-in gave, and what was made with that, goes when the password changes. */
typedef enum {
        TOKEN_OWN,
        TOKEN_LOGIN,
        TOKEN_OF_LOGIN,
} TokenLogin;

typedef struct {
        char *id; /* shown in lists */
        char *user;
        char *hash; /* hex of BLAKE2b-256 of the token; the token itself is never kept */
        char *note;
        char *parent; /* the hash of the one it is made with, which must still be there when it is taken; not
                         kept; or NULL */
        TokenLogin login;
        Scope scope; /* SCOPE_READ..SCOPE_ADMIN */
        char *queue; /* SCOPE_SUBMIT: jobs of this queue only; or NULL */
        char *maker; /* id of the token that it was made with, when that goes this one goes, too; or NULL */
        char *authority; /* of the certificate that it was made with, or its maker (net/tls.h); or NULL */
        gint64 created, expires; /* expires 0: never */
} Token;
void token_free(Token *token);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Token, token_free)

/* What a user has used of a queue of late, as the scheduler counts it (scheduler.h). */
typedef struct {
        char *queue, *user;
        gint64 usage, at;
} Usage;
void usage_free(Usage *usage);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Usage, usage_free)

/* One transaction. Every list may be NULL or empty; pointers are borrowed for the call. */
typedef struct {
        GPtrArray *new_jobs; /* Job *: seq is set by the engine; the spec of those whose spec_seq is their own
                                seq is written, once; the others refer to it */
        GPtrArray *changed_jobs; /* Job *, none of them in new_jobs; written first, so that one that ends
                                    frees its name */
        GPtrArray *events;       /* Event * */
        GPtrArray *objects;      /* Object *: inserted or replaced by (kind, seq); written before the jobs */
        GPtrArray *dropped_objects; /* Object *: by (kind, seq) */
        GPtrArray *usage;           /* Usage *: inserted or replaced */
        GPtrArray *tokens;          /* Token *: inserted */
        GPtrArray *dropped_tokens;  /* char *: ids */
        GPtrArray *logged_out;      /* char *: users whose log-in tokens go, before `tokens` are inserted */
        GPtrArray *dropped_jobs;    /* gint64 * : seqs of finished jobs to forget, with their events */
        gint64 events_horizon; /* > 0: remember it, and delete events up to this revision, at most 2,000 in
                                * one batch; they can be read no longer from this commit on, and a later batch
                                * with it deletes the rest */
        const char *boot_id;   /* not NULL: remember it */
} StoreBatch;

/* How a failed commit ended: nothing of the batch is durable in both cases. */
typedef enum {
        STORE_FAILED_CLEAN, /* rolled back (disk full, constraint): go on */
        STORE_FAILED_FATAL, /* the sync failed, or it is not known what is on disk: exit and reload, never
                               retry */
} StoreFailure;

typedef struct {
        gint64 last_seq, last_revision, events_horizon;
        gint64 last_object_seq;
        char boot_id[37];   /* of the last run, "" at first */
        GPtrArray *objects; /* Object *, owned: all of them, in order of seq */
        GPtrArray *usage;   /* Usage *, owned */
} StoreState;
void store_state_clear(StoreState *state);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(StoreState, store_state_clear)

/* Opens or makes `dir`/paddle.db, runs the numbered migrations in one transaction each. ERR_CONFLICT when it
 * was written by a newer version (the message names both numbers), or is open in another server. NULL on
 * failure. */
Store *store_open(const char *dir, GError **error);
void store_close(Store *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Store, store_close)

/* Writer's side: one thread. */
bool store_load(Store *store, StoreState *ret, GPtrArray *ret_open_jobs /* Job * in seq order */,
                GError **error);
/* ERR_NO_SPACE: the disk is full. ERR_EXISTS: a name of an open job, an id, a key is taken. After
 * STORE_FAILED_FATAL every further commit fails the same way. */
bool store_commit(Store *store, const StoreBatch *batch, StoreFailure *ret_failure, GError **error);
/* Runs a checkpoint when the log is above 32 MB; call between batches. */
void store_checkpoint(Store *store);

/* Readers' side: any thread. What is found is the caller's. */
Job *store_job_by_id(Store *store, const char *id, GError **error); /* ERR_NOT_FOUND */
Job *store_job_by_seq(Store *store, gint64 seq, GError **error);    /* ERR_NOT_FOUND */
Job *store_job_by_name(Store *store, const char *user, const char *name,
                       GError **error); /* the newest; ERR_NOT_FOUND */
Job *store_job_by_key(Store *store, const char *user, const char *idempotency_key,
                      GError **error); /* ERR_NOT_FOUND */

typedef struct {
        const char *user;          /* NULL: everyone's */
        const char *name;          /* exact, or NULL */
        const char *queue;         /* or NULL */
        const char *const *labels; /* "K=V": jobs that carry all of them; or NULL */
        gint64 array_seq;          /* > 0: the jobs of that array */
        gint64 updated_since;      /* ms: changed at or after; 0: all */
        gint64 started_since;      /* ms: running for the first time at or after; 0: all */
        guint32 states;            /* bit set of 1u << JobState; 0: all */
        gint64 before_seq;         /* jobs with a smaller seq; 0: from the newest */
        int limit;                 /* 1..1000 */
} JobQuery;
/* Newest first; a page ends with the seq to go on `before`, 0 at the end. It may be shorter than `limit`,
 * even empty, and yet not the last: when its jobs are very large, or when no index serves all that is asked
 * for and enough jobs were looked at (so that no page takes long). */
GPtrArray *store_jobs(Store *store, const JobQuery *query, gint64 *ret_next, GError **error);

/* How many jobs the query finds, at most `max` (1..1000); fewer than there are, when a page of store_jobs
 * would be shorter, too. `query->limit` is not used. False with *error. */
bool store_jobs_count(Store *store, const JobQuery *query, int max, int *ret, GError **error);

/* A whole array, counted. */
typedef struct {
        int counts[JOB_STATES];
        gint64 first[JOB_STATES]; /* the seq of the first element in that state; 0: none is */
        gint64 updated;           /* when one was last changed, ms */
        int size;                 /* elements that are there */
} ArrayCount;
bool store_array_count(Store *store, gint64 array_seq, ArrayCount *ret, GError **error);
/* The array_seq of the user's newest array of that name; ERR_NOT_FOUND. */
bool store_array_by_name(Store *store, const char *user, const char *name, gint64 *ret, GError **error);
/* Its elements in one of these states (as JobQuery has them), the first of them first. */
GPtrArray *store_array_jobs(Store *store, gint64 array_seq, guint32 states, int limit, GError **error);

/* Events with revision > since, oldest first, at most `limit`, of one job (job_seq > 0) or of the `n` jobs
 * from that number on, and visible to `user` (NULL: all). ERR_GONE when since lies below the horizon; but
 * since 0 of jobs means what is kept of them. */
GPtrArray *store_events(Store *store, gint64 since, gint64 job_seq, const char *user, int limit,
                        GError **error);
GPtrArray *store_events_of(Store *store, gint64 since, gint64 first_seq, int n, int limit, GError **error);
gint64 store_events_horizon(Store *store); /* the committed one; any thread */

Token *store_token_by_hash(Store *store, const char *hash, GError **error); /* ERR_NOT_FOUND */
GPtrArray *store_tokens(Store *store, const char *user, GError **error);    /* user NULL: of all */

/* Calls `func` for each job of `queue` that ran at some time in [from, to) (ms), in order of seq, until it
 * returns false; for the statistics. Reads in pages: no long transaction. */
bool store_jobs_that_ran(Store *store, const char *queue, gint64 from, gint64 to,
                         bool (*func)(const Job *job, void *arg), void *arg, GError **error);

typedef struct {
        gint64 commits, committed_jobs /* new and changed */, committed_events;
        gint64 wal_bytes;         /* of the log that the next commit is added to */
        gint64 checkpoint_ms_max; /* the longest that store_checkpoint took */
} StoreMetrics;
void store_metrics(Store *store, StoreMetrics *ret);
