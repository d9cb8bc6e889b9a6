/* The engine: the only writer. One thread takes all that waits (commands, observations, timers), applies it
 * to drafts of the live jobs, asks sched/ what follows, commits everything in one transaction, publishes the
 * new views, and only then answers callers and hands actions to the runtime. Nothing is acknowledged before
 * it is durable; nothing is started before the intent is.
 *
 * Readers (any thread) see published views: committed, immutable, counted. They never wait for a commit. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "engine/ttl.h"
#include "model/catalog.h"
#include "model/job.h"
#include "runtime/runtime.h"
#include "sched/scheduler.h"
#include "store/store.h"

typedef struct Engine Engine;

typedef struct {
        Store *store;
        Runtime *runtime; /* of this machine: of all clusters of type Local */
        /* Makes the runtime of another cluster; NULL without an error: nobody takes such clusters. It is
         * opened, closed and freed by the engine. Or NULL. */
        Runtime *(*driver)(const Cluster *cluster, void *arg, GError **error);
        void *driver_arg;
        /* As of CatalogFacts; or NULL: not known. */
        bool (*elsewhere)(const Cluster *was, const Cluster *now, char **ret_was, char **ret_now);
        const char *dc;          /* datacenter name, for the variables of members */
        const char *boot_id;     /* of the machine now */
        gint64 keep_events;      /* how many are kept; 0: 1,000,000 */
        gint64 keep_finished_ms; /* finished jobs are dropped after this time; 0: never */
        Ttl ttl;                 /* of what they leave in their clusters */
        int max_open_jobs;       /* 0: 1,000,000; above it submits fail with ERR_QUOTA */
        int max_open_per_user;   /* jobs; 0: a quarter of max_open_jobs; administrators are free of it */
        int submit_rate; /* jobs one user may submit in a minute, on average; 0: no limit; ERR_QUOTA */
        /* May jobs of this user write to the disk? False with ERR_QUOTA: submits fail. Short, no I/O. Or
         * NULL. */
        bool (*may_write)(const char *user, void *arg, GError **error);
        void *may_write_arg;
        SealKey *secrets;      /* of the secrets of users; borrowed, or NULL: jobs cannot have secrets */
        bool open_queues;      /* grants are not asked for at submission (the older behaviour) */
        const char *node_name; /* of the machine, for placements and lists */
        const char *const *node_labels; /* "K=V" of the machine; or NULL */
        const char *journal_dir; /* for the scheduler's journal (journal/journal.h); NULL: none is kept */
        SchedulerConfig scheduler;
        gint64 (*now)(void *arg); /* NULL: the clock; a test owns it */
        void *now_arg;
        void (*new_id)(char ret[ID_LEN + 1], void *arg); /* NULL: id_new; a test owns it */
        void *new_id_arg;
        void (*fatal)(const GError *error,
                      void *arg); /* a commit whose outcome is unknown: the program must exit */
        void *fatal_arg;
} EngineConfig;

/* Loads the open jobs, starts the thread, opens the runtime. NULL on failure. Borrows store and runtime. */
Engine *engine_new(const EngineConfig *config, GError **error);
/* Stops the thread after the batch in hand; commands still waiting are answered with ERR_UNAVAILABLE. Members
 * run on. */
void engine_free(Engine *engine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Engine, engine_free)

/* A command's outcome, called once from the engine's thread after the commit; must not block. On success
 * `error` is NULL and `job` the view after the change (borrowed; NULL for commands without one). `repeated`:
 * an idempotency key matched, nothing new was made. */
typedef void (*EngineDone)(Job *job, bool repeated, const GError *error, void *arg);

/* One or many specifications from `user` in one transaction: all of them, or none. `specs` are referenced; an
 * entry whose spec has an array makes one job per index, which share the spec. Entries may name each other in
 * `after` by job name ("ok:train"): the engine puts the ids; a cycle is ERR_INVALID naming it. `done` gets
 * the first job of the first entry (of an array: its first). ERR_EXISTS when an open job of that user has a
 * name (the message names its id and state); ERR_CONFLICT when the idempotency key was used for another
 * specification, or the queue is closed; ERR_DENIED without a grant; ERR_NOT_FOUND for a queue or dependency
 * that is none; ERR_INVALID when a job could never fit its cluster or its queue's max; ERR_QUOTA over a limit
 * per user or a rate. An error names the entry when there are several. */
typedef struct {
        const char *user;
        bool admin;
        Spec *const *specs;
        int n_specs;
        const char *idempotency_key; /* or NULL */
        const char *id;              /* of the only job, chosen by an older client; or NULL */
        const char *refusal;         /* why no cluster can run it: it is taken and fails at once; or NULL */
        bool only_check; /* a dry run: answered as the submission would be, but nothing is made, and the rate
                            is not used up; `done` gets a job that is nowhere, whose env_state is what the
                            first one's would be: none, ready, or waiting */
} EngineSubmission;
void engine_submit(Engine *engine, const EngineSubmission *submission, EngineDone done, void *arg);

/* What may be done to a job by id. In a final state: ERR_CONFLICT naming it. What is so already succeeds. */
typedef enum {
        ACT_CANCEL,  /* with the job's grace; of one that stops for good already: kills it */
        ACT_KILL,    /* cancels without a grace */
        ACT_HOLD,    /* suspended: a running job is stopped first */
        ACT_RELEASE, /* back into its queue */
        ACT_REQUEUE, /* a running job is stopped and goes back into its queue; costs no retry */
        ACT_SAVED,   /* the job says that its work up to now survives an eviction */
        ACT_DELETE,  /* forgets a finished job, with its events; ERR_CONFLICT while it is open */
        ACTIONS,
} JobAction;
/* `admin`: `by` has an administrator's right here. Release and requeue by somebody else lower a priority that
 * is above what `by` is granted now. */
void engine_act(Engine *engine, const char *job_id, JobAction action, const char *by, bool admin,
                EngineDone done, void *arg);
/* The same to each open element of an array (its array_seq and id), in one transaction; to none of them:
 * ERR_CONFLICT. `done` gets no job. */
void engine_act_array(Engine *engine, gint64 array_seq, const char *id, JobAction action, const char *by,
                      bool admin, EngineDone done, void *arg);

/* A terminal waits for the job's start, or does so no more: for each true comes one false. A job that asks
 * for a terminal and waits for its first start without one for its hangup_ms, from its submission or the
 * server's start on, is cancelled. Any thread; no answer. */
void engine_terminal(Engine *engine, const char *job_id, bool there);

/* Changes of an open job. Priority and queue: only while queued or suspended (ERR_CONFLICT); the new queue is
 * checked as at submission. Labels and annotations replace what is there (NULL: unchanged). */
typedef struct {
        const char *queue;   /* NULL: unchanged */
        const int *priority; /* NULL: unchanged */
        char *const *labels, *const *annotations;
        const char *by;
        bool admin;
} JobChange;
void engine_change_job(Engine *engine, const char *job_id, const JobChange *change, EngineDone done,
                       void *arg);
/* The same of an array: queue and priority of its elements that wait, labels of all that are open. */
void engine_change_array(Engine *engine, gint64 array_seq, const char *id, const JobChange *change,
                         EngineDone done, void *arg);

/* ---- the catalog ---- */

/* Puts a new object (seq 0), or the changed copy of one: its version must be the current one's, else
 * ERR_CONFLICT ("changed meanwhile"). Checked by catalog_check_put with live facts. `by`: for the event.
 * `ret_...` of done: job is NULL; look the object up in engine_catalog afterwards. */
void engine_put(Engine *engine, const Object *object, const char *by, EngineDone done, void *arg);
/* `version`: the one that is to go, 0: whichever it is. */
void engine_drop(Engine *engine, ObjectKind kind, const char *name, gint64 version, const char *by,
                 EngineDone done, void *arg);
/* The committed one; a reference. Any thread. */
Catalog *engine_catalog(Engine *engine);
/* How many jobs of a queue are open, as published. */
gint64 engine_queue_open(Engine *engine, const char *queue);
/* The figures of the last published pass (a reference), and the ids they use. */
SchedulerFigures *engine_figures(Engine *engine);
int engine_queue_id(Engine *engine, const char *queue); /* -1: unknown */
/* How the cluster's runtime stands (NULL: this machine's): connected, and else why not (the caller's, or
 * NULL); what its usable nodes have. Any may be NULL. */
bool engine_cluster(Engine *engine, const Cluster *cluster, Resources *ret_total, char **ret_why);
/* What a running member uses now; false: not known. Any thread, short. */
bool engine_usage(Engine *engine, const Job *job, const Member *member, TaskUsage *ret);
/* What a member has reported until now (model/results.h): lines NAME=VALUE, the caller's; NULL: nothing. Any
 * thread, short. */
char *engine_report(Engine *engine, const Job *job, const Member *member);
/* What one of the GPUs of its machine does now (Member.gpus); false: not known. Any thread, some ms. */
bool engine_gpu_usage(Engine *engine, const Job *job, int gpu, GpuUsage *ret);
/* Runs a command beside a running member (runtime/exec.h): the caller's reference. NULL with
 * ERR_UNAVAILABLE: its runtime does not know of it yet, or no more. Any thread. */
RuntimeExec *engine_exec(Engine *engine, const Job *job, const Member *member, const ExecStart *start,
                         GError **error);
/* Its nodes as its runtime last told: RuntimeNode, a reference; NULL: nothing was told, or it is this
 * machine.
 */
GPtrArray *engine_nodes(Engine *engine, const Cluster *cluster);
int engine_node_id(Engine *engine, const Cluster *cluster, const char *node); /* -1: unknown */
/* Hands a question over to the cluster's runtime, which answers it. Takes `ask`. */
void engine_ask(Engine *engine, const char *cluster, RuntimeAsk *ask);
const char *engine_node_name(Engine *engine, int id);  /* interned; NULL: this machine */
const char *engine_queue_name(Engine *engine, int id); /* interned; NULL: unknown */

/* ---- questions ---- */

/* A copy of the live scheduler, made on the engine's thread and handed to `done` there, which passes it on to
 * the thread that asked (ownership with it). NULL when the server is stopping. Keys are the jobs' seq. Takes
 * some ms with 100,000 jobs: not for lists. */
typedef void (*EngineCloned)(Scheduler *clone, gint64 now, void *arg);
void engine_clone_scheduler(Engine *engine, EngineCloned done, void *arg);
/* What was decided up to now is in the journal's files when `done` is called. */
void engine_flush_journal(Engine *engine, EngineDone done, void *arg);
/* How the engine shows a job that does not exist yet, or a queue that is changed, to the scheduler: for dry
 * runs and what-ifs on a clone. `seq`: any key that is free. Fill borrows from spec and catalog. */
typedef struct SchedJobFill SchedJobFill; /* holds what the SchedJob points to */
SchedJobFill *engine_fill_job(Engine *engine, const char *user, const Spec *spec, gint64 seq, gint64 now,
                              SchedJob *ret, GError **error);
void engine_fill_free(SchedJobFill *fill);
bool engine_fill_queue(Engine *engine, const Queue *queue, SchedQueue *ret); /* borrows from queue */

/* ERR_NOT_FOUND for a user who does not exist, ERR_UNAUTHENTICATED when the token's parent is gone. */
void engine_put_token(Engine *engine, const Token *token, EngineDone done, void *arg);
void engine_drop_token(Engine *engine, const char *id, EngineDone done, void *arg);

/* Published views of live jobs; a reference, or NULL when it is not live (look in the store then). */
Job *engine_job(Engine *engine, const char *id);
Job *engine_job_by_name(Engine *engine, const char *user, const char *name); /* the open one */
/* Live or stored, by id or by name of `user` (the newest); ERR_NOT_FOUND. */
Job *engine_find(Engine *engine, const char *user, const char *id_or_name, GError **error);
/* What a person's word means (model/array.h): one job, or a whole array. A name means whichever is newest. Of
 * an array *ret_array is its number (JobQuery.array_seq) and the job one of its elements; else 0. */
Job *engine_look_up(Engine *engine, const char *user, const char *word, gint64 *ret_array, GError **error);
/* Whether an element of it is open, and the revision of the last change of any of them, as published. */
bool engine_array_open(Engine *engine, gint64 array_seq, gint64 *ret_revision);
/* Sets the ERR_NOT_FOUND of engine_find and returns false: for callers that may not learn that the job
 * exists. */
bool engine_no_job(const char *user, const char *name, GError **error);
/* Why a live job waits, in one sentence with numbers; NULL when it does not. The caller's. */
char *engine_explain(Engine *engine, const Job *job);
/* All reasons, ordered, from its view and the published figures (no wait, any thread): an array of objects
 * {"cause": "resources", "message": sentence, "resource"?, "asked"?, "free"?, "limit"?, "used"?, "lent"?,
 * "lent_to"?, "queue"?, "position"?, "job"?, "expected_start"?} as doc/guide/rest.md has it; [] when it does not
 * wait. */
json_t *engine_reasons(Engine *engine, const Job *job);
/* While it waits for its environment to be built: that, and what the build takes. NULL: it does not. */
json_t *engine_build_reason(Engine *engine, const Job *job);
/* The same from a clone's Reason, names filled in: for explain and dry run. `user`: who may read it, to whom
 * jobs of others are "another job"; NULL: all are named. The new object is the caller's. */
json_t *engine_reason_format(Engine *engine, const Reason *reason, gint64 now, const char *user);

/* The revision of the last published event; and a wait for a newer one: `wake` is called (engine's thread,
 * must not block) after each publication until unwatched. */
gint64 engine_revision(Engine *engine);
typedef void (*EngineWake)(gint64 revision, void *arg);
void engine_watch(Engine *engine, EngineWake wake, void *arg);
void engine_unwatch(Engine *engine, EngineWake wake, void *arg);

bool engine_is_ready(Engine *engine); /* loaded, runtime connected and synced */

typedef struct {
        gint64 open_jobs, queued_jobs, running_jobs, running_members;
        gint64 submitted, succeeded, failed, cancelled, evictions, shrinks, passes, pass_us_last, pass_us_max,
                batches, batch_jobs_max, commit_us_last, commit_us_max, observations;
        Resources total, free;
} EngineMetrics;
void engine_metrics(Engine *engine, EngineMetrics *ret);
