/* The state of the engine thread, shared by the files of engine/ only. Other threads use only the inbox, the
 * views and the tables of ids.
 *
 *   inbox ─▶ apply (submit.c, act.c, objects.c, observe.c) ─▶ drafts ─▶ depend.c ─▶ feed.c ─▶ scheduler ─▶
 *   admit.c ─▶ batch.c: commit ─▶ views ─▶ replies ─▶ actions.c ─▶ runtime          life.c decides */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/thread-pool.h"
#include "engine/engine.h"
#include "engine/ids.h"
#include "engine/inbox.h"
#include "engine/life.h"
#include "engine/reads.h"
#include "engine/slots.h"
#include "engine/user-rate.h"
#include "engine/views.h"
#include "journal/journal.h"
#include "model/run-record.h"
#include "storage/hash.h"

/* Jobs that wait for one build, see building.c. */
typedef struct BuildGroup BuildGroup;

/* A live job. The first change in a batch clones its view into a draft; both exist until the commit. */
typedef struct Live {
        Job *job; /* current version: the draft while dirty (owned), else the published view (borrowed from
                     the views) */
        Job *was; /* the published view while dirty; NULL: the job is new */
        bool dirty;
        bool leased;          /* ports were leased in this batch */
        bool unfed;           /* in engine->unfed: the scheduler may need an update */
        bool fed;             /* the scheduler knows it */
        bool in_array;        /* counted among the open jobs of its array */
        bool portless;        /* no ports could be leased: held back until engine->ports_at */
        guint64 told;         /* digest of what was passed to the scheduler; 0: pass it in any case */
        BuildGroup *group;    /* the group whose counted build it waits for; or NULL */
        GSequenceIter *place; /* in its group */
        bool builds;          /* counted in the group as being built */
        const char *queue;    /* the queue whose open jobs include it; interned, NULL: none */
        int terminals;        /* number that wait for its start; not durable, like the next */
        gint64 alone;         /* since when there is none, ms; or since the engine knows the job */
        gint64 due;           /* when life_clock is due, ms; 0: never */
        GSequenceIter *timer; /* in engine->timers, or NULL */
} Live;

/* A task that belongs to no known job, and its runtime. */
typedef struct {
        RuntimeSlot *slot;
        char *task;
} Stray;

/* What the runtime said whether jobs of one specification in one queue are prepared. It may have to hash texts for that,
 * and the jobs of an array come one after another. */
typedef struct {
        gint64 spec_seq; /* 0: nothing is known */
        const char *queue;
        bool asked[PREPARE_KINDS], prepared[PREPARE_KINDS];
} PreparedMemo;

/* The content of one transaction, and its effects. */
typedef struct {
        gint64 now;
        GQueue commands;    /* applied ones, to be answered or kept */
        GQueue put_back;    /* these have to wait for the outcome of this batch */
        GPtrArray *dirty;   /* Live, in order of their first touch */
        GPtrArray *ended;   /* Live whose drafts ended, for the jobs that wait for them */
        GPtrArray *events;  /* Event */
        GPtrArray *objects; /* Object, references: to put; those that `catalog` no longer holds are ignored */
        GPtrArray *dropped_objects;                  /* Object, references */
        GPtrArray *tokens, *dropped_jobs;            /* borrowed from the commands; jobs: gint64, owned */
        GPtrArray *dropped_tokens;                   /* char, owned */
        GPtrArray *logged_out;                       /* char, owned */
        GPtrArray *usage;                            /* Usage */
        GPtrArray *runs;                             /* LiveRun: those that have changed */
        GPtrArray *new_runs, *run_puts;              /* RunRecord, borrowed from commands and runs */
        GPtrArray *run_nodes, *run_children;         /* RunNodeRecord, RunChildRecord */
        GPtrArray *dropped_nodes, *dropped_children; /* RunNodeRecord; gint64 */
        GPtrArray *artifacts, *dropped_artifacts;    /* ArtifactRecord */
        GPtrArray *cache_entries, *dropped_cache;    /* CacheEntry; gint64, owned */
        GPtrArray *changed_runs;                     /* RunRecord, owned: of runs that have ended */
        GPtrArray *dropped_runs;                     /* gint64, owned */
        GPtrArray *pipelines;                        /* see pipelines.c: entries that were replaced */
        GPtrArray *pipeline_puts;                    /* PipelineRecord, owned */
        GPtrArray *new_versions;                     /* PipelineVersion, borrowed from the commands */
        GPtrArray *dropped_versions;                 /* PipelineVersion, owned */
        GPtrArray *dropped_pipelines;                /* gint64, owned */
        GPtrArray *schedules;                        /* LiveSchedule: those that have changed */
        GPtrArray *schedule_puts;                    /* ScheduleRecord, borrowed from these */
        GPtrArray *dropped_schedules;                /* gint64, owned */
        GPtrArray *scheduled_runs; /* RunRecord, owned: those of new_runs that no command holds */
        guint64 number;            /* of the batch, from 1 */
        guint run_answers;         /* of workers to runs, that it has taken */
        guint run_steps;           /* of all runs, left in it */
        gsize run_texts;           /* bytes of the definitions of its new runs */
        GArray *records;           /* StoreRecord: what is committed, made of the lists above */
        Catalog *catalog;          /* the future catalog; a reference */
        PreparedMemo prepared;     /* see preparing.c */
        GPtrArray *strays;         /* Stray: tasks of no known job that have ended */
        GPtrArray *unwanted;       /* Stray: tasks of no known job that run */
        gint64 revision;           /* of its last event */
        gint64 horizon;            /* events up to here may be deleted; 0: none */
} Batch;

/* The hash of what decides the result of a preparation. */
typedef struct {
        Spec *spec; /* a reference; or NULL */
        PreparationKind kind;
        char hash[HASH_LEN + 1];
} BuildRecipe;

struct Engine {
        Store *store;
        char *dc, *node_name, *journal_dir;
        char **node_labels;
        char **topology; /* label keys */
        char boot_id[37];
        EngineConfig config;
        Inbox inbox;
        Views *views;
        Reads reads;
        Ids *queue_ids, *user_ids; /* the scheduler's numbers; any thread */
        ThreadPool *pool;          /* reads the store for the engine's thread */
        pthread_t thread;
        bool running; /* the thread */
        GMutex clusters_lock;
        GHashTable *clusters;        /* name -> ClusterView: what readers may see of clusters; "": this
                                        machine */
        Ids *cluster_ids, *node_ids; /* the scheduler's numbers, see slots.c */

        /* The fields below belong to the engine's thread alone. */
        GHashTable *by_id;        /* set of Live: every live job, including new ones of this batch */
        GHashTable *by_seq;       /* the same set */
        GHashTable *by_name;      /* set of Live: (user, name) */
        GHashTable *by_key;       /* set of Live: (user, idempotency key); jobs without a key are not in it */
        GHashTable *books;        /* queue (interned) -> Book: open jobs in it by user */
        GHashTable *mounted;      /* "<user>/<file system>" -> open jobs that mount it */
        GHashTable *arrays;       /* array_seq -> Array, see live.c: arrays with a live element */
        GHashTable *waiters;      /* id of a job or array -> Waiters, see depend.c */
        GHashTable *build_groups; /* key -> BuildGroup, see building.c */
        BuildRecipe recipe;       /* the last one, since the jobs of an array come one after another */
        UserRates submit_rates;   /* jobs and runs, see submit-limits.c */
        GSequence *timers;        /* Live by due */

        GHashTable *runs;       /* seq -> LiveRun: the runs that have not ended, see runs.h */
        GHashTable *runs_by_id; /* the same, by id */
        pthread_mutex_t run_plans_lock;
        GHashTable *run_plans;  /* id -> RunPlan of the runs that readers see, under the lock */
        GHashTable *run_waits;  /* id -> GArray of RunWait, under the same lock */
        GHashTable *run_owners; /* user -> RunOwner, of users with live runs */
        gint64 run_nodes;       /* of these together, see RunOwner */
        gsize run_memory;
        GQueue due_runs;       /* LiveRun with `due` */
        gint64 run_seq;        /* of the newest one */
        gint64 runs_at;        /* ms: when a run with jobs that were refused by a limit is due; 0: none */
        gint64 retain_runs_at; /* ms: not before this time does the sweep look for runs to delete */
        bool sweeps_runs;      /* what is to be deleted is being read */
        bool sweep_again;      /* a run was deleted meanwhile */
        ThreadPool *run_workers;
        struct RunFiles *files;    /* the file workers of runs, see run-files.h */
        GHashTable *deleted_runs;  /* gint64: seqs of the runs that were deleted since the start */
        GHashTable *pipelines;     /* seq -> StoredPipeline, see pipelines.h */
        gint64 pipeline_seq;       /* of the newest one */
        GHashTable *schedules;     /* seq -> LiveSchedule, see schedules.h */
        GHashTable *schedules_of;  /* user -> GPtrArray of LiveSchedule: those of this user */
        GSequence *schedule_times; /* LiveSchedule by `wake` */
        gint64 schedule_seq;       /* of the newest one */
        UserRates tick_rates;      /* ticks that get a record */
        gint64 started;      /* ms: when the engine was opened; earlier if the clock was set back since */
        gint64 schedules_at; /* ms: when schedules were looked at last */
        GHashTable *
                cache_waits; /* gint64, seq of a job -> set of gint64: runs with nodes that wait for its end, runs-cache-wait.c */
        GArray *cache_ended;         /* gint64: such jobs that ended in the open batch */
        GArray *cache_resumes;       /* CacheResume: searches that go on after the commit */
        gint64 retain_cache_at;      /* ms: not before this time does the sweep look for entries to delete */
        ThreadPool *cache_readers;   /* read the store for searches */
        gint64 cache_rest_ms;        /* after a try to read it that failed; tests shorten it */
        guint64 cache_search_number; /* number of the last search */
        bool sweeps_cache;           /* what is to be deleted is being read */

        GPtrArray *slots;   /* RuntimeSlot; the first is this machine's */
        GPtrArray *sources; /* Source, of all connections */
        Scheduler *scheduler;
        Journal *journal; /* used in front of it: calls pass through the journal */
        Decisions decisions;
        Catalog *catalog; /* the committed one */
        GPtrArray *unfed; /* Live for which the scheduler may need an update */
        gint64 pass_time; /* the time of the batch for the scheduler: never goes back */
        gint64 fed_at;    /* ... that it was told */
        bool pass_due;    /* the scheduler got new facts since its last pass */
        bool figures_due; /* ... since the last figures */
        GArray *portless; /* gint64: numbers of the jobs whose `portless` is set */
        gint64 ports_at;  /* monotonic ms: next attempt to lease ports for jobs without; 0: there are none */
        gint64 usage_at,
                flush_at; /* monotonic ms: when usage is stored, and when the journal is flushed; 0: nothing
                             to do */

        bool opened;     /* this machine's runtime was synced once */
        bool rebooted;   /* the machine restarted since the last run, and the tasks left over are not reported
                            yet */
        bool boot_due;   /* this boot's id is not stored yet */
        bool dead;       /* a commit ended in an unknown state */
        GQueue held;     /* observations of a batch whose commit failed, in order */
        gint64 retry_at; /* monotonic ms; held observations and the clock wait until then; 0: none held */

        bool failing; /* the last commit failed */
        guint singly; /* number of commands that are applied one by one because their batch violated a
                         constraint */

        gint64 seq, object_seq, revision, horizon;
        char id_start[ID_LEN + 1]; /* see engine_new_id */
        int id_start_left;         /* number of ids that it is still good for */
        bool sweeps;               /* a page of finished jobs is being read, see retain.c */
        gint64 retain_array;       /* the array that the sweep met last */
        gint64 retain_seq,
                retain_at; /* the sweep over finished jobs continues below this number; not before this
                              time */
        Batch batch;
        EngineMetrics metrics; /* of committed data */
};

/* ---- live.c: live jobs and their indices ---- */

void live_init(Engine *engine);
void live_clear(Engine *engine);
Live *live_add(Engine *engine, Job *job); /* clean; indexed by id, number, name and key */
void live_remove(Engine *engine,
                 Live *live); /* removes it from all indices and the scheduler, and frees it; not its job */
Live *live_find(Engine *engine, const char *id);
Live *live_by_seq(Engine *engine, gint64 seq);
Live *live_by_name(Engine *engine, const char *user, const char *name);
Live *live_by_key(Engine *engine, const char *user, const char *key);
/* Updates the indices for the job's state: the books of its queue and the timers. Marks that the scheduler
 * may need an update. Call it after every change of the job. */
void live_settle(Engine *engine, Live *live);
/* True if its clock is due but cannot be used yet because its cluster is disconnected: the cluster may know
 * that the start made progress. Sets the timer to a second later. */
bool live_put_off(Engine *engine, Live *live);
/* Numbers of open jobs: of a user, of an array, of a queue (`user` NULL: of all users). */
gint64 live_open_of(Engine *engine, const char *user); /* in all queues */
int live_array_open(Engine *engine, gint64 array_seq);
/* The id of an array (model/array.h) with a live element, borrowed. NULL: there is none, or the first element was
 * deleted. */
const char *live_array_id(Engine *engine, gint64 array_seq);
/* The state of an element without success, of those that have ended before this batch; JOB_SUCCEEDED: none, or no
 * element is live. */
JobState live_array_state(Engine *engine, gint64 array_seq);
/* Reads what must be known of ended elements of arrays with live ones. Call it after the load. */
bool live_load_arrays(Engine *engine, GError **error);
gint64 live_open_in(Engine *engine, const char *queue, const char *user);

/* ---- feed.c: input of the scheduler ---- */

/* The parts of a specification in the scheduler's form; holds the data to which SchedJob points. */
struct SchedJobFill {
        SchedRole roles[SPEC_ROLES_MAX];
        Spec *spec;
};
void feed_spec(const Spec *spec, SpecShare share, char *const *topology, SchedJobFill *fill, SchedJob *ret);
/* The total request of its members: the least with which it may start, or the full one. False on overflow. */
bool feed_wants(const Spec *spec, SpecShare share, bool least, Resources *ret);
void feed_limit(Resources *total); /* to the most that the scheduler can count on one node */
void feed_queue(Engine *engine, const Catalog *catalog, const Queue *queue);
void feed_queues(Engine *engine, const Catalog *catalog); /* all of them; queues not in the catalog are
                                                             removed */
/* Updates the scheduler for all jobs in engine->unfed. */
void feed_jobs(Engine *engine);
/* Notes that the scheduler already knows the draft, because it made that decision. */
void feed_known(Engine *engine, Live *live);
/* Updates all waiting jobs without an attempt whose default share or build resources have changed. */
void feed_shares(Engine *engine);
/* Updates the scheduler at once, even if nothing seems to have changed. */
void feed_again(Engine *engine, Live *live);
void feed_drop(Engine *engine, Live *live);
/* True if the scheduler learns the outcome of this batch for the job only after the commit: settle it again
 * then. */
bool feed_later(const Live *live);
void feed_usage(Engine *engine, const GPtrArray *usage /* Usage */);
void feed_take_usage(Engine *engine, GPtrArray *ret);
/* Any thread. */
bool queue_fill(const Engine *engine, const Catalog *catalog, const Queue *queue, SchedQueue *ret);

/* ---- preparing.c: what jobs wait for before they can start ---- */

/* Gives a new job its preparations, in their first states: ready, waiting, or running together with those of other
 * jobs. */
void preparing_begin(Engine *engine, Job *job);
/* The same for a dry run: only what the specification asks for, ready or waiting. */
void preparing_check(Engine *engine, Job *job);
/* The same for a draft that has moved to another cluster. */
void preparing_move(Engine *engine, Job *job);
/* Call it for each loaded job: the store does not tell an image from an environment. */
void preparing_load(Engine *engine, Job *job);
/* The job was released: prepares what is not ready yet. */
void preparing_resume(Engine *engine, Life *life);
/* The runtime's answer for one preparation of a job. */
void preparing_observed(Engine *engine, const RuntimeSlot *slot, const Observation *observed);
/* The slot's runtime is synced: jobs that were submitted before it was open wait for what it makes. */
void preparing_synced(Engine *engine, const RuntimeSlot *slot);
/* As actions_run: asks the runtime of the slot for preparations that run now, and the runtime that was asked before to
 * abandon those that are not needed any more. */
void preparing_request(Engine *engine, const RuntimeSlot *slot, const Job *was, const Job *now);
void preparing_abandon(Engine *engine, const RuntimeSlot *slot, const Job *was, const Job *now);

/* ---- building.c: preparations that are counted in queues ---- */

void building_init(Engine *engine);
void building_clear(Engine *engine);
/* The resources that this preparation of the job is counted with in its queue. False: none. Any thread, with
 * a catalog and a runtime that it may use. */
bool building_wants(const Catalog *catalog, Runtime *runtime, const Job *job, PreparationKind kind,
                    Resources *ret);
/* building_settle: call after every change of the job. building_leave: call before it is removed. */
void building_settle(Engine *engine, Live *live);
void building_leave(Engine *engine, Live *live);
/* True if the job represents its group's build in the scheduler; and if that build is running. */
bool building_leads(const Live *live);
bool building_runs(const Live *live);
/* The first state of a preparation that is not ready: waiting, or running together with those of others. */
PreparationState building_first(Engine *engine, const Job *job, PreparationKind kind);
/* Starts the waiting preparations on this slot that are not counted: those from a server with other limits. */
void building_begin_uncounted(Engine *engine, const RuntimeSlot *slot);
/* The scheduler has started the build. */
void building_begin(Engine *engine, Live *leader, int node);
/* The scheduler's form of a job that leads. `put` borrows `task`, which is filled with where the build is
 * counted. */
void building_fill(Engine *engine, const Live *live, SchedTask *task, SchedJobFill *fill, SchedJob *put);

/* ---- depend.c: jobs that wait for others ---- */

void depend_init(Engine *engine);
void depend_clear(Engine *engine);
/* Records what a live job waits for. Call it after load, and again when a batch is undone. */
void depend_note(Engine *engine, const Job *job);
/* Applies the ends in this batch to the jobs that wait for them. */
void depend_run(Engine *engine);
/* The outcome of an array of which no element is open: succeeded, or the state of an element without success. Known
 * while an element is live; else JOB_SUCCEEDED. */
JobState depend_array_state(Engine *engine, gint64 array);

/* ---- runs.c: runs of pipelines ---- */

void runs_init(Engine *engine);
void runs_stop(Engine *engine); /* its workers; before the inbox is closed for good */
void runs_clear(Engine *engine);
/* Restores the runs that have not ended, after their jobs were loaded. */
void runs_load(Engine *engine, const StoreState *state);
/* A step's job has ended in this batch. */
void runs_job_ended(Engine *engine, const Job *job);
/* Works on the runs that are due, up to the limits of a batch. */
void runs_work(Engine *engine);
/* The user is deleted: stops the runs of this name, so that they submit no more jobs. */
void runs_stop_of(Engine *engine, const char *user);
/* When work may be due next, ms; 0: never. G_MININT64: now. */
gint64 runs_due(const Engine *engine);
/* Adds what the batch has changed to what it stores. */
void runs_store(Engine *engine);
/* After the commit, and after one that failed. */
void runs_settle(Engine *engine);
void runs_restore(Engine *engine);
/* "run 3f2a" if a run of the user that has not ended names this file system; the caller's; NULL: none does. */
char *runs_use(const Engine *engine, const char *user, const char *fs);
/* Steps that wait for this job, whose result they take from the cache, are going to search again. */
void runs_cache_note_job_ended(Engine *engine, gint64 job);
void retain_cache(Engine *engine); /* retain-cache.c: as retain_jobs */
void retain_runs(Engine *engine);  /* retain-runs.c: as retain_jobs */

/* ---- pipelines.c: stored pipelines ---- */

void pipelines_init(Engine *engine);
void pipelines_clear(Engine *engine);
void pipelines_load(Engine *engine, const StoreState *state);
/* The user is deleted: deletes the pipelines of this name. */
void pipelines_drop_of(Engine *engine, const char *user);
/* After the commit, and after one that failed. */
void pipelines_settle(Engine *engine);
void pipelines_restore(Engine *engine);

/* ---- schedules*.c: schedules of stored pipelines ---- */

void schedules_init(Engine *engine);
void schedules_clear(Engine *engine);
void schedules_load(Engine *engine, const StoreState *state); /* before the runs */
/* Creates the runs of ticks that are due, up to the limits of a batch. */
void schedules_work(Engine *engine);
/* When work may be due next, ms; 0: never. The clock may jump: look again in a minute. */
gint64 schedules_due(const Engine *engine);
/* A run is live, and is not any more; of runs without a schedule a no-op. */
void schedules_run_entered(Engine *engine, const RunRecord *run);
void schedules_run_left(Engine *engine, const RunRecord *run);
/* The user is deleted: deletes the schedules of this name, and those whose runs would have it. */
void schedules_drop_of(Engine *engine, const char *user);
/* The pipeline is deleted with its user: its schedules have failed. */
void schedules_fail_of(Engine *engine, gint64 pipeline);
/* The name of a running schedule of this pipeline, and of this version unless it is 0; borrowed. NULL: there is none. */
const char *schedules_use(Engine *engine, gint64 pipeline, int version);
/* "used by schedule 'nightly' of 'ann', which is running" if its version names this file system of the user; the caller's, or
 * NULL. */
char *schedules_use_fs(Engine *engine, const char *user, const char *fs);
/* Adds what the batch has changed to what it stores. */
void schedules_store(Engine *engine);
/* After the commit, and after one that failed. */
void schedules_settle(Engine *engine);
/* Before schedules_settle: engine->metrics. */
void schedules_count(Engine *engine);
void schedules_restore(Engine *engine);

/* ---- batch.c ---- */

void batch_init(Batch *batch);
void batch_clear(Batch *batch);
void batch_begin(Engine *engine);
/* The draft of a job, for a decision of life.c. batch_end_life adds its notes to the events and settles the
 * job. */
Life batch_life(Engine *engine, Live *live);
void batch_end_life(Engine *engine, Live *live, Life *life);
/* Adds a new job, dirty. Takes the reference. */
Live *batch_add_job(Engine *engine, Job *job);
/* Commits, publishes, answers and acts; or restores the state before the batch. */
void batch_end(Engine *engine);
/* Publishes `n` changes and the current figures. */
void batch_publish(Engine *engine, const ViewChange *changes, guint n, GPtrArray *ret_dropped);
/* Counts a change of a job; `was` NULL: it is new. */
void batch_count(EngineMetrics *metrics, const Job *was, const Job *now);

/* Adds an event about a subject, of which `id` is what people see; returns its revision. Takes subject.owner and `data`. */
gint64 batch_note_subject(Engine *engine, Subject subject, const char *id, const char *kind, json_t *data);
/* The same about a run. */
gint64 batch_note_run(Engine *engine, const RunRecord *run, const char *kind, json_t *data);
/* Adds an event that is not about a job; returns its revision. */
gint64 batch_note(Engine *engine, const char *kind, const char *user, json_t *data /* taken */);

/* ---- submit.c ---- */

/* Submits the job of a step inside the open batch, with the checks of a submission but the rate. NULL with its error. */
Live *submit_step(Engine *engine, const RunRecord *run, guint32 node, Spec *spec, GError **error);

void submit_init(Engine *engine);
void submit_clear(Engine *engine);
/* Checks that a job with this specification could ever run in the queue. */
bool check_fit(Engine *engine, const Catalog *catalog, const Queue *queue, const Spec *spec, GError **error);
/* Checks that the user may use the namespace that it names, for jobs of this queue. */
bool check_namespace(const Engine *engine, const Queue *queue, const Spec *spec, bool admin, GError **error);
/* Checks that the user may set these labels and annotations on the pods of a job in the queue. Either may be
 * NULL. */
bool check_words(const Engine *engine, const Queue *queue, char *const *labels, char *const *annotations,
                 bool admin, GError **error);
/* Checks that jobs of the user may have this priority in the queue. */
bool check_priority(const Engine *engine, const Queue *queue, const char *user, bool admin, int priority,
                    GError **error);
/* Checks that the user may have `n` more open jobs in the queue. */
bool check_queue_count(Engine *engine, const Queue *queue, const char *user, gint64 n, GError **error);
/* The queue for a submission by the user. */
const Queue *submit_queue(Engine *engine, const char *name, const char *user, bool admin, GError **error);

/* ---- objects.c ---- */

/* The catalog of the open batch, else the committed one. */
const Catalog *engine_catalog_now(const Engine *engine);

/* The catalog at start: the stored objects, and the initial ones of a new server. */
bool objects_load(Engine *engine, GPtrArray *objects, GError **error);

/* ---- observe.c ---- */

/* Takes the observation. `source`: the Source (slots.h) of the runtime that reports it. Any thread. */
void observe(Observation *observation, void *source);

/* ---- admit.c ---- */

/* Runs a pass of the scheduler if there is something to decide, and applies its decisions to drafts. */
void admit_pass(Engine *engine);
/* When the next pass may be needed: 0 now, -1 never; monotonic ms. */
gint64 admit_due(const Engine *engine);

/* ---- actions.c: requests to the runtime ---- */

/* The actions that follow from the change of `was` to `now`; `was` NULL: everything that `now` needs. */
void actions_run(Engine *engine, const Job *was, const Job *now);
RuntimeAttempt attempt_of(const Engine *engine, const Job *job); /* borrows from both */

/* ---- retain.c ---- */

/* Adds old events to the deletions of this batch. `idle`: no command waits. */
void retain_events(Engine *engine, bool idle);
/* Has a page of finished jobs read; a command deletes the old ones of it. Call it when no command waits. */
void retain_jobs(Engine *engine);
bool retain_is_due(const Engine *engine, gint64 now);
gint64 retain_due(const Engine *engine); /* when something may be due next, ms; 0: never */

/* ---- engine.c ---- */

gint64 engine_now(const Engine *engine);
/* EngineConfig.may_write. */
bool engine_may_write(const Engine *engine, const char *user, GError **error);
/* An id for a job. Its start is that of the ids before it, for some hundred of them: rows of an index that are close
 * together share a page of the database, so a commit of several new jobs writes fewer pages. */
void engine_new_id(Engine *engine, char ret[ID_LEN + 1]);
/* Wakes the thread, for example when a test has moved its clock. */
void engine_poke(Engine *engine);
