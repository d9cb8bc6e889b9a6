/* What must survive: jobs, events, the catalog's objects, tokens, usage. Typed batches and queries; no
 * decision. One writer (the engine) commits batches; readers use connections of their own and see committed
 * data only. The functions call the operations of an implementation (StoreOps, at the end): sqlite/, later postgres/.
 * doc/internals/store.md has the tables and what is durable when. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/access.h"
#include "model/cache-record.h"
#include "model/job.h"
#include "model/object.h"
#include "model/pipeline-record.h"
#include "model/run-record.h"
#include "model/schedule-record.h"
#include "store/event.h"
#include "store/record.h"

typedef struct Store Store;
typedef struct StoreOps StoreOps;

/* How a token was created. A change of the password deletes the tokens of log-ins, and those created with
 * such tokens. */
typedef enum {
        TOKEN_OWN,
        TOKEN_LOGIN,
        TOKEN_OF_LOGIN,
} TokenLogin;

typedef struct {
        char *id; /* shown in lists */
        char *user;
        char *hash; /* hex of BLAKE2b-256 of the token; the token itself is never stored */
        char *note;
        char *parent; /* the hash of the token that creates this one, which must still exist when the engine
                         applies the command; not stored; or NULL */
        TokenLogin login;
        Scope scope; /* SCOPE_READ..SCOPE_ADMIN */
        char *queue; /* SCOPE_SUBMIT: jobs of this queue only; or NULL */
        char *maker; /* id of the token with which it was created; this token is deleted together with that
                        one; or NULL */
        char *authority; /* of the certificate with which it, or its maker, was created (net/tls.h); or
                            NULL */
        gint64 created, expires; /* expires 0: never */
} Token;
void token_free(Token *token);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Token, token_free)

/* A user's recent usage of a queue, as the scheduler counts it (scheduler.h). */
typedef struct {
        char *queue, *user;
        gint64 usage, at;
} Usage;
void usage_free(Usage *usage);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Usage, usage_free)

/* One transaction. What it points to is borrowed for the call. */
typedef struct {
        const StoreRecord *records; /* in any order, but records of one kind are written in their order */
        guint n;
} StoreBatch;

/* How a failed commit ended. Nothing of the batch is durable in both cases. */
typedef enum {
        STORE_FAILED_CLEAN, /* rolled back (disk full, constraint): continue */
        STORE_FAILED_FATAL, /* the sync failed, or it is unknown what is on disk: exit and reload, never
                               retry */
} StoreFailure;

typedef struct {
        gint64 last_seq, last_revision, events_horizon;
        gint64 last_object_seq, last_run_seq, last_pipeline_seq, last_schedule_seq;
        char boot_id[37]; /* of the last run; initially "" */
        /* Owned; NULL for a kind of which nothing is loaded. RECORD_OBJECT: all objects, in order of seq.
         * RECORD_JOB: the open jobs, in order of seq. RECORD_USAGE: all of it. RECORD_RUN: the runs that have not
         * ended, with their texts, in order of seq; RECORD_RUN_NODE: their nodes, in order of run and node;
         * RECORD_RUN_CHILD: their children, in order of run and first node. RECORD_PIPELINE: all stored pipelines, in
         * order of seq; RECORD_PIPELINE_VERSION: their versions, without texts, in order of pipeline and version.
         * RECORD_SCHEDULE: all schedules, in order of seq. */
        GPtrArray *loaded[RECORD_KINDS];
} StoreState;
void store_state_clear(StoreState *state);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(StoreState, store_state_clear)

/* Opens or creates `dir`/paddle.db (store_sqlite) and runs the numbered migrations, each in one transaction. ERR_CONFLICT: a
 * newer version wrote it (the message names both numbers), or another server has it open. NULL on failure. */
Store *store_open(const char *dir, GError **error);
void store_close(Store *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Store, store_close)

/* The writer's functions: one thread. */
bool store_load(Store *store, StoreState *ret, GError **error); /* *ret is the caller's to clear */
/* ERR_NO_SPACE: the disk is full. ERR_EXISTS: the name of an open job, an id or a key is already used. After
 * STORE_FAILED_FATAL every further commit fails in the same way. */
bool store_commit(Store *store, const StoreBatch *batch, StoreFailure *ret_failure, GError **error);
/* Runs a checkpoint if the log is larger than 32 MB. Call it between batches. */
void store_checkpoint(Store *store);

/* The readers' functions: any thread. Results are the caller's. */
Job *store_job_by_id(Store *store, const char *id, GError **error); /* ERR_NOT_FOUND */
Job *store_job_by_seq(Store *store, gint64 seq, GError **error);    /* ERR_NOT_FOUND */
Job *store_job_by_name(Store *store, const char *user, const char *name,
                       GError **error); /* the newest; ERR_NOT_FOUND */
Job *store_job_by_key(Store *store, const char *user, const char *idempotency_key,
                      GError **error); /* ERR_NOT_FOUND */

typedef struct {
        const char *user;          /* NULL: of all users */
        const char *name;          /* exact, or NULL */
        const char *queue;         /* or NULL */
        const char *const *labels; /* "K=V": jobs that carry all of them; or NULL */
        gint64 array_seq;          /* > 0: the jobs of that array */
        gint64 updated_since;      /* ms: changed at this time or later; 0: all */
        gint64 started_since;      /* ms: first running at this time or later; 0: all */
        guint32 states;            /* bit set of 1u << JobState; 0: all */
        gint64 before_seq;         /* jobs with a smaller seq; 0: start with the newest */
        int limit;                 /* 1..1000 */
} JobQuery;
/* Newest first. *ret_next is the `before_seq` of the next page; 0: this is the last one. A page may be
 * shorter than `limit`, even empty, without being the last: if its jobs are very large, or if no index covers
 * the query and enough jobs were scanned (so that no page takes long). */
GPtrArray *store_jobs(Store *store, const JobQuery *query, gint64 *ret_next, GError **error);

/* The number of jobs that the query finds, at most `max` (1..1000). It is too small in the cases in which
 * store_jobs returns a short page. `query->limit` is ignored. False with *error. */
bool store_jobs_count(Store *store, const JobQuery *query, int max, int *ret, GError **error);

/* The numbers of a whole array. */
typedef struct {
        int counts[JOB_STATES];
        gint64 first[JOB_STATES]; /* the seq of the first element in that state; 0: none */
        gint64 updated;           /* time of the last change of an element, ms */
        int size;                 /* existing elements */
} ArrayCount;
bool store_array_count(Store *store, gint64 array_seq, ArrayCount *ret, GError **error);
/* The array_seq of the user's newest array of that name; ERR_NOT_FOUND. */
bool store_array_by_name(Store *store, const char *user, const char *name, gint64 *ret, GError **error);
/* Its elements in one of these states (as in JobQuery), in ascending order. */
GPtrArray *store_array_jobs(Store *store, gint64 array_seq, guint32 states, int limit, GError **error);

/* Runs; those that are dropped are not found. `text`: with definition and request. */
RunRecord *store_run_by_id(Store *store, const char *id, bool text, GError **error); /* ERR_NOT_FOUND */
RunRecord *store_run_by_seq(Store *store, gint64 seq, bool text, GError **error);    /* ERR_NOT_FOUND */
RunRecord *store_run_by_key(Store *store, const char *user, const char *idempotency_key,
                            GError **error); /* ERR_NOT_FOUND */

enum {
        RUN_QUERY_PAUSED = NODE_STATES
}; /* running, not stopping, and at least one component of it is paused */

typedef struct {
        const char *user; /* NULL: of all users */
        const char *name; /* exact, or NULL */
        gint64 pipeline;  /* seq of the stored pipeline that they were made of; 0: of any, or of none */
        gint64 schedule; /* seq of the schedule that created them, whoever owns them (`user` does not count); 0: of any, or of none */
        guint32 states;    /* bit set of 1u << NodeState, of run_record_state, or RUN_QUERY_PAUSED; 0: all */
        gint64 before_seq; /* runs with a smaller seq; 0: start with the newest */
        bool oldest_first; /* `before_seq` does not count, but: */
        gint64 after_seq;  /* runs with a larger seq; 0: all */
        int limit;         /* 1..1000 */
} RunQuery;
/* Newest first, or oldest first. *ret_next: the `before_seq` or `after_seq` of the next page; 0: this is the last one. A
 * page may be shorter than `limit` without being the last. */
GPtrArray *store_runs(Store *store, const RunQuery *query, gint64 *ret_next, GError **error);

/* A moment of a run: which of its nodes have a job. Those with a job of their own have it since the job was made; those that took
 * the result of an earlier job have it since then. {0, 0}: no node has one. */
typedef struct {
        gint64 job;   /* seq of the last job of all that were made */
        gint64 taken; /* as in RunNodeRecord: the last one of the run */
} RunMoment;
typedef struct {
        gint64 run;     /* seq */
        gint64 after;   /* nodes with a larger index; 0: all */
        guint32 states; /* bit set of 1u << NodeState; 0: all */
        bool new_jobs; /* only nodes that got their job after `from`, and not after `upto`; else these two do not count */
        RunMoment from, upto;
        int limit; /* 1..20000 */
} RunNodeQuery;
/* RunNodeRecord, in order of index. *ret_next is the `after` of the next page; 0: this is the last one. A page may be
 * shorter than `limit` without being the last. */
GPtrArray *store_run_nodes(Store *store, const RunNodeQuery *query, gint64 *ret_next, GError **error);
/* As it is now: all nodes that have a job are stored. */
bool store_run_moment(Store *store, gint64 run, RunMoment *ret, GError **error);
/* RunChildRecord, at most `limit`, in order of dag and component. */
GPtrArray *store_run_children(Store *store, gint64 run, int limit, GError **error);
/* RunChildRecord of those that are paused, as above; the caller's. *ret_control: as in RunRecord; the caller's. A pause
 * that began before the epoch of the control has ended already. */
bool store_run_pauses(Store *store, gint64 run, int limit, char **ret_control, GPtrArray **ret,
                      GError **error);
/* How many nodes of a loop are in a state; only of nodes that have a row. */
typedef struct {
        guint32 dag, component; /* as in RunChildRecord */
        guint8 state;           /* NodeState */
        gint64 n;
        gint64 kept, cached; /* of them: results that a retry kept, and that the cache gave */
} RunLoopCount;
/* RunLoopCount (GArray) of all loops with more than `longer` items, at most `limit` of them; the caller's. */
GArray *store_run_loop_counts(Store *store, gint64 run, guint32 longer, int limit, GError **error);
/* The number of its nodes in each state, and of those that never will be made. */
bool store_run_counts(Store *store, gint64 run, gint64 ret[NODE_STATES], GError **error);
/* A run that is dropped, else the one that ended first, at `before` (ms) or earlier, and of which no other run keeps a
 * result; without text. NULL without an error: there is none. */
RunRecord *store_run_expired(Store *store, gint64 before, GError **error);
/* A run that keeps results of the run `seq` (RunNodeRecord, made_by); without text. NULL without an error: none does. */
RunRecord *store_run_user_of(Store *store, gint64 seq, GError **error);
/* gint64, seqs: the run, the one that it retries, the one that this one retries, and so on; newest first, at most `limit`.
 * The chain ends at a run that was deleted. */
GArray *store_run_chain(Store *store, gint64 run, int limit, GError **error);
/* What the runs of a user take together (RunRecord, size), without those that are dropped. */
bool store_run_bytes(Store *store, const char *user, gint64 *ret, GError **error);

/* The cache of steps. Entries of dropped runs are not found. */
typedef struct {
        const char *key, *second; /* as in CacheEntry */
        gint64 before;            /* entries with a smaller seq */
        gint64 not_run;           /* seq: not those of this run */
        int limit;
} CacheLookup;
/* CacheEntry, newest first. */
GPtrArray *store_cache_lookup(Store *store, const CacheLookup *lookup, GError **error);
typedef struct {
        const char *user, *fs; /* exact, or NULL: of all */
        gint64 run;            /* seq; 0: of all runs */
        gint64 after;          /* entries with a larger seq */
        int limit;             /* 1..1000 */
} CacheQuery;
/* CacheEntry, oldest first. *ret_next: the `after` of the next page; 0: this is the last one. A page may be shorter than
 * `limit` without being the last. */
GPtrArray *store_cache_entries(Store *store, const CacheQuery *query, gint64 *ret_next, GError **error);
CacheEntry *store_cache_entry(Store *store, gint64 seq, GError **error); /* ERR_NOT_FOUND */
/* The newest one of a node; and the newest one older than `entry`, of a step of its user and path in a run of this name. NULL
 * without an error: none. */
CacheEntry *store_cache_of_node(Store *store, gint64 run, guint32 node, GError **error);
CacheEntry *store_cache_of_step(Store *store, const CacheEntry *entry, const char *name, GError **error);
/* The first run with the seq `from` or a larger one that has the result of this job of run `maker`: it took it from the
 * cache, or is a retry that kept it. *ret 0: there is none. */
bool store_cache_taker(Store *store, gint64 maker, gint64 job, gint64 from, gint64 *ret, GError **error);
/* gint64, seqs of at most `limit` runs that took results of the run from the cache. */
GArray *store_cache_users(Store *store, gint64 run, int limit, GError **error);
/* gint64, seqs of at most `limit` entries that expired at `now` (ms), else the oldest of a user with more than
 * `of_user_max` of them. */
GArray *store_cache_expired(Store *store, gint64 now, gint64 of_user_max, int limit, GError **error);

/* Stored pipelines. */
PipelineRecord *store_pipeline(Store *store, gint64 seq, GError **error); /* ERR_NOT_FOUND */
PipelineRecord *store_pipeline_by_name(Store *store, const char *user, const char *name,
                                       GError **error); /* ERR_NOT_FOUND */

typedef struct {
        const char *user; /* NULL: of all users */
        const char *name; /* exact, or NULL */
        gint64 after_seq; /* pipelines with a larger seq; 0: all */
        int limit;        /* 1..1000 */
} PipelineQuery;
/* PipelineRecord, oldest first. *ret_next: the `after_seq` of the next page; 0: this is the last one. */
GPtrArray *store_pipelines(Store *store, const PipelineQuery *query, gint64 *ret_next, GError **error);
/* `version` 0: the newest that exists. `text`: with its definition. ERR_NOT_FOUND */
PipelineVersion *store_pipeline_version(Store *store, gint64 pipeline, int version, bool text,
                                        GError **error);
/* PipelineVersion without texts, at most `limit` with a number above `after`, in ascending order. *ret_next: the `after`
 * of the next page; 0: this is the last one. */
GPtrArray *store_pipeline_versions(Store *store, gint64 pipeline, int after, int limit, int *ret_next,
                                   GError **error);

/* Schedules. */
ScheduleRecord *store_schedule(Store *store, gint64 seq, GError **error); /* ERR_NOT_FOUND */
ScheduleRecord *store_schedule_by_name(Store *store, const char *user, const char *name,
                                       GError **error); /* ERR_NOT_FOUND */
typedef struct {
        const char *user; /* NULL: of all users */
        const char *name; /* exact, or NULL */
        gint64 pipeline;  /* seq; 0: of any */
        int version;      /* 0: of any */
        guint32 states;   /* bit set of 1u << ScheduleState; 0: all */
        gint64 after_seq; /* schedules with a larger seq; 0: all */
        int limit;        /* 1..1000 */
} ScheduleQuery;
/* ScheduleRecord, oldest first. *ret_next: the `after_seq` of the next page; 0: this is the last one. */
GPtrArray *store_schedules(Store *store, const ScheduleQuery *query, gint64 *ret_next, GError **error);

/* Reads text and request of a run that has neither, also of a dropped one. */
bool store_run_text(Store *store, RunRecord *run, GError **error);

typedef struct {
        gint64 run;            /* seq; 0: of all runs of `user` that have written to or read from `fs` */
        const char *user, *fs; /* without a run */
        const char *path;      /* only paths that begin with it; NULL: all */
        const ArtifactRecord
                *after; /* the last one of the page before: run, node, output, name and path; or NULL */
        int limit;      /* 1..1000 */
} ArtifactQuery;
/* ArtifactRecord, of one run in order of node; else in order of path. Fewer than `limit`: there are no more. */
GPtrArray *store_artifacts(Store *store, const ArtifactQuery *query, GError **error);

typedef struct {
        gint64 since;        /* events with a larger revision */
        SubjectKind subject; /* events of subjects of this kind; SUBJECT_NONE: all events */
        gint64 seq;          /* ... of the subject with this number */
        int n;               /* > 0: of the `n` subjects from `seq` on, for example the jobs of an array */
        const char *owner;   /* events of this user's subjects; NULL: of all */
        int limit;           /* 1.. */
} EventQuery;
/* Oldest first. ERR_GONE if `since` is below the horizon. With a subject, `since` 0 is allowed and means all events
 * that are kept. */
GPtrArray *store_events(Store *store, const EventQuery *query, GError **error);
gint64 store_events_horizon(Store *store); /* the committed one; any thread */

Token *store_token_by_hash(Store *store, const char *hash, GError **error); /* ERR_NOT_FOUND */
GPtrArray *store_tokens(Store *store, const char *user, GError **error);    /* user NULL: of all users */

/* Calls `func` for each job of `queue` that ran at some time in [from, to) (ms), in order of seq, until it
 * returns false. Used for statistics. Reads in pages: no long transaction. */
bool store_jobs_that_ran(Store *store, const char *queue, gint64 from, gint64 to,
                         bool (*func)(const Job *job, void *arg), void *arg, GError **error);

typedef struct {
        gint64 commits, committed_jobs /* new and changed */, committed_events;
        gint64 wal_bytes;         /* size of the log to which the next commit is appended */
        gint64 checkpoint_ms_max; /* the longest run of store_checkpoint */
} StoreMetrics;
void store_metrics(Store *store, StoreMetrics *ret);

/* ---- implementations ---- */

/* Each operation behaves as the function of its name above. None is NULL. */
struct StoreOps {
        const char *name;
        Store *(*open)(const char *dir, GError **error); /* store_open_as sets `ops` of the result */
        void (*close)(Store *store);
        bool (*load)(Store *store, StoreState *ret, GError **error);
        bool (*commit)(Store *store, const StoreBatch *batch, StoreFailure *ret_failure, GError **error);
        void (*checkpoint)(Store *store);
        void (*metrics)(Store *store, StoreMetrics *ret);
        Job *(*job_by_id)(Store *store, const char *id, GError **error);
        Job *(*job_by_seq)(Store *store, gint64 seq, GError **error);
        Job *(*job_by_name)(Store *store, const char *user, const char *name, GError **error);
        Job *(*job_by_key)(Store *store, const char *user, const char *idempotency_key, GError **error);
        GPtrArray *(*jobs)(Store *store, const JobQuery *query, gint64 *ret_next, GError **error);
        bool (*jobs_count)(Store *store, const JobQuery *query, int max, int *ret, GError **error);
        bool (*jobs_that_ran)(Store *store, const char *queue, gint64 from, gint64 to,
                              bool (*func)(const Job *job, void *arg), void *arg, GError **error);
        bool (*array_count)(Store *store, gint64 array_seq, ArrayCount *ret, GError **error);
        bool (*array_by_name)(Store *store, const char *user, const char *name, gint64 *ret, GError **error);
        GPtrArray *(*array_jobs)(Store *store, gint64 array_seq, guint32 states, int limit, GError **error);
        RunRecord *(*run_by_id)(Store *store, const char *id, bool text, GError **error);
        RunRecord *(*run_by_seq)(Store *store, gint64 seq, bool text, GError **error);
        RunRecord *(*run_by_key)(Store *store, const char *user, const char *idempotency_key, GError **error);
        GPtrArray *(*runs)(Store *store, const RunQuery *query, gint64 *ret_next, GError **error);
        GPtrArray *(*run_nodes)(Store *store, const RunNodeQuery *query, gint64 *ret_next, GError **error);
        bool (*run_moment)(Store *store, gint64 run, RunMoment *ret, GError **error);
        GPtrArray *(*run_children)(Store *store, gint64 run, int limit, GError **error);
        bool (*run_pauses)(Store *store, gint64 run, int limit, char **ret_control, GPtrArray **ret,
                           GError **error);
        GArray *(*run_loop_counts)(Store *store, gint64 run, guint32 longer, int limit, GError **error);
        bool (*run_counts)(Store *store, gint64 run, gint64 ret[NODE_STATES], GError **error);
        RunRecord *(*run_expired)(Store *store, gint64 before, GError **error);
        bool (*run_text)(Store *store, RunRecord *run, GError **error);
        GPtrArray *(*artifacts)(Store *store, const ArtifactQuery *query, GError **error);
        RunRecord *(*run_user_of)(Store *store, gint64 seq, GError **error);
        bool (*run_bytes)(Store *store, const char *user, gint64 *ret, GError **error);
        GPtrArray *(*cache_lookup)(Store *store, const CacheLookup *lookup, GError **error);
        GPtrArray *(*cache_entries)(Store *store, const CacheQuery *query, gint64 *ret_next, GError **error);
        CacheEntry *(*cache_entry)(Store *store, gint64 seq, GError **error);
        CacheEntry *(*cache_of_node)(Store *store, gint64 run, guint32 node, GError **error);
        CacheEntry *(*cache_of_step)(Store *store, const CacheEntry *entry, const char *name, GError **error);
        bool (*cache_taker)(Store *store, gint64 maker, gint64 job, gint64 from, gint64 *ret, GError **error);
        GArray *(*run_chain)(Store *store, gint64 run, int limit, GError **error);
        GArray *(*cache_users)(Store *store, gint64 run, int limit, GError **error);
        GArray *(*cache_expired)(Store *store, gint64 now, gint64 of_user_max, int limit, GError **error);
        PipelineRecord *(*pipeline)(Store *store, gint64 seq, GError **error);
        PipelineRecord *(*pipeline_by_name)(Store *store, const char *user, const char *name, GError **error);
        GPtrArray *(*pipelines)(Store *store, const PipelineQuery *query, gint64 *ret_next, GError **error);
        PipelineVersion *(*pipeline_version)(Store *store, gint64 pipeline, int version, bool text,
                                             GError **error);
        GPtrArray *(*pipeline_versions)(Store *store, gint64 pipeline, int after, int limit, int *ret_next,
                                        GError **error);
        ScheduleRecord *(*schedule)(Store *store, gint64 seq, GError **error);
        ScheduleRecord *(*schedule_by_name)(Store *store, const char *user, const char *name, GError **error);
        GPtrArray *(*schedules)(Store *store, const ScheduleQuery *query, gint64 *ret_next, GError **error);
        GPtrArray *(*events)(Store *store, const EventQuery *query, GError **error);
        gint64 (*events_horizon)(Store *store);
        Token *(*token_by_hash)(Store *store, const char *hash, GError **error);
        GPtrArray *(*tokens)(Store *store, const char *user, GError **error);
};

/* Every implementation's struct begins with this. */
struct Store {
        const StoreOps *ops;
};

extern const StoreOps store_sqlite;

/* store_open is this with store_sqlite. */
Store *store_open_as(const StoreOps *ops, const char *dir, GError **error);
