/* Results of steps from the cache. Internal to runs*.c.
 *
 * A step with the cache searches it after the commit in which it begins. The search with its first fingerprint is made
 * before, and charged. Nothing waits for disks: file workers look at files, a thread reads the store, and the answer is a
 * command that is kept over a failed commit:
 *
 *   ACTION_START: first fingerprint ─▶ cache_searches_due ─▶ commit ─▶ files: second one ─▶ store: an entry?
 *                                                                                                │
 *      submitted, with an entry of its own, or RE-04 ◀── answer ◀───────────────────────── none ─┤
 *      ends as that job did, with its outputs ◀──────── answer ◀── files: outputs exist ◀─── one ┤
 *      waits without a slot, and searches again after its end ◀─ answer ◀─────────── one that runs ┘ */
#pragma once

#include "engine/run-files.h"
#include "engine/runs.h"
#include "model/cache-record.h"

enum {
        CACHE_OF_USER_MAX = 100 * 1000, /* entries of one user; the oldest ones go */
        CACHE_PAGE = 16,                /* entries that are looked at together */
        CACHE_LOOKED_MAX = 1000,        /* ... for one step */
        CACHE_CHAIN_MAX = 1000,         /* earlier runs of a retry that are looked at */
        CACHE_ENTRY_BYTES = 1024,       /* about what an entry takes in the store, beside its body */
        CACHE_READERS = 2,              /* threads that look for entries in the store */
        CACHE_READERS_OF_USER = 1,      /* ... of them for one user */
        CACHE_READ_TRIES = 30,          /* while the store cannot be read ... */
        CACHE_READ_REST_MS = 1000,      /* ... with this rest between two of them */
};

typedef enum {
        CACHE_SEARCHES, /* an answer will come */
        CACHE_WAITS,    /* for the end of `job` */
        CACHE_MISSED,   /* its own job is to be submitted, or was */
} CachePhase;

/* A step that is STARTING and has searched the cache. */
typedef struct {
        CachePhase phase;
        guint64 search;    /* the number of its search */
        FilesGroup *group; /* of its search: cancelled when the node does not wait any more */
        gint64 job;        /* seq, CACHE_WAITS */
        gint64 waited; /* seq of the entry for whose job it has waited: it does not expire meanwhile; or 0 */
        CacheEntry *entry; /* CACHE_MISSED: what is stored when its job is submitted */
        char *unknown;     /* CACHE_MISSED: why nothing was looked up; or NULL */
} CacheNode;

void runs_cache_init(Engine *engine);
void runs_cache_clear(Engine *engine);
/* What the cache keeps of a run, from runs_enter until it has ended. */
void runs_cache_enter(LiveRun *live);
void runs_cache_leave(LiveRun *live);
/* True: the step searches the cache after the commit, and starts later. The search is in `cache_searches_due` then, unless an
 * answer will come anyway. */
bool runs_cache_queue_search(const RunActor *actor, guint32 node);
/* After a commit: begins the searches in `cache_searches_due`. */
void runs_cache_begin_searches(Engine *engine, LiveRun *live);
/* The job of the node was submitted: adds its entry to the batch, if it has one, and says why nothing was looked up. */
void runs_cache_store_entry(Engine *engine, LiveRun *live, guint32 node, gint64 job);
/* After a commit, before run_keep: forgets nodes that have started or ended in its batch. */
void runs_cache_settle(Engine *engine, LiveRun *live);
/* After a commit: searches whose answer could not be used in its batch look for the next entry. */
void runs_cache_resume_searches(Engine *engine);
/* True: the node waits for the end of this job. */
bool runs_cache_is_waiting(const LiveRun *live, guint32 node, gint64 job);
/* The path of an output that was taken from the cache; the caller's; NULL: it was not. */
char *runs_cache_output_path(const LiveRun *live, guint32 node, const char *name);
/* Completes the row of a node whose result was taken. */
void runs_cache_complete_row(const LiveRun *live, RunNodeRecord *row);

/* ---- runs-cache-wait.c: nodes that wait for jobs ---- */

void runs_cache_init_waits(Engine *engine);
void runs_cache_clear_waits(Engine *engine);
void runs_cache_enter_waits(LiveRun *live);
void runs_cache_leave_waits(LiveRun *live);
/* Makes the node wait for the end of the job; undone if the commit fails. */
void runs_cache_wait_for(const RunActor *actor, guint32 node, gint64 job);
/* Nodes whose jobs have ended queue for slots, then search again. True: there are more than the budget allows. */
bool runs_cache_wake_waiting(const RunActor *actor);
/* After a commit: what has changed in its batch stays; of a run, whose waiting nodes readers see, and the jobs
 * that have ended. */
void runs_cache_settle_waits(Engine *engine, LiveRun *live);
void runs_cache_settle_ended(Engine *engine);
/* After a failed commit: undoes it. */
void runs_cache_restore_waits(LiveRun *live);

/* retain-cache.c: an entry may have to go. */
void retain_cache_soon(Engine *engine);

/* ---- runs-cache-search.c: the search for an entry ---- */

/* What was found out. Counted: threads and commands hold it. */
typedef struct {
        gatomicrefcount refs;
        Engine *engine;
        guint64 number;
        gint64 run, retry_of; /* seqs */
        guint32 node;
        gint64 now, waited;
        GArray *chain; /* gint64: the runs that this one retries, newest first; NULL: not needed so far */
        guint looked;  /* number of entries that were looked at, at most CACHE_LOOKED_MAX */
        int failed;    /* so often the store could not be read */
        bool content;
        CacheEntry *wish;  /* what is stored if nothing is found; key and fingerprints are set on the way */
        json_t *parts;     /* name -> digest */
        json_t *outputs;   /* name -> path, of the step's own */
        GPtrArray *sums;   /* json_t: what was found out about files: name -> time or digest of content */
        json_t *files;     /* name -> digest: the parts of the second fingerprint, made of these */
        GPtrArray *places; /* CachePlace: files to look at */
        guint at;          /* the next of these */
        FilesGroup *group; /* their limits */
        gint64 before;     /* only entries with a smaller seq */
        CacheEntry *found; /* NULL: nothing */
        char *unknown;     /* why there is no second fingerprint, and nothing was looked up; or NULL */
        char *miss;        /* why the newest entry that matches was not taken; or NULL */
        char *reason;      /* of `found`: why its job failed; or NULL */
        gint64 near;       /* its seq; or 0 */
        GError *failure;   /* RE-03, RE-04 */
} CacheSearch;

/* A search that goes on after the commit of its answer. */
typedef struct {
        CacheSearch *search;
        char *refused; /* why what was found is not taken; NULL: it is read again */
} CacheResume;

CacheSearch *cache_search_ref(CacheSearch *search);
void cache_search_unref(CacheSearch *search);
/* The search of a node that is STARTING, with its first fingerprint. Charged by the size of that and the paths of scopes. */
CacheSearch *cache_search_new(const RunActor *actor, guint32 node);
/* Begins it, after the commit; the answer comes to runs_cache_take_answer with `number`. */
void cache_search_begin(CacheSearch *search, guint64 number, gint64 waited);
/* Looks for another entry: what was found is of no use. `why`: for people. */
void cache_search_next(CacheSearch *search, const char *why);
/* Looks again: the job of what was found has ended meanwhile. */
void cache_search_again(CacheSearch *search);

/* runs-cache.c: on the engine's thread, in a batch; again if it cannot be committed. */
void runs_cache_take_answer(Engine *engine, CacheSearch *search);
