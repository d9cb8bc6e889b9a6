/* The engine: the only writer. One thread takes all waiting commands (of clients and runtimes), and
 * applies them to drafts of the live jobs. It asks sched/ for decisions, commits everything in one
 * transaction and publishes the new views. Only then it answers callers and passes actions to the runtime.
 * Nothing is acknowledged before it is durable. Nothing is started before the intent is durable.
 *
 * Readers (any thread) see published views: committed, immutable, counted. They never wait for a commit. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json-out.h"
#include "engine/ttl.h"
#include "fs/unix-rights.h"
#include "model/catalog.h"
#include "model/job.h"
#include "model/pipeline-record.h"
#include "model/schedule-record.h"
#include "model/run-record.h"
#include "runtime/runtime.h"
#include "sched/scheduler.h"
#include "store/store.h"

typedef struct Engine Engine;

/* The rights with which the server uses files of a user (fs/unix-rights.h): *ret is the caller's; NULL: the server's own.
 * `seq`: of the user in the catalog. `home`: the user's home is created if it is missing. May block. Any thread. */
typedef bool (*FileRights)(const char *user, gint64 seq, bool home, UnixRights **ret, void *arg,
                           GError **error);

typedef struct {
        Store *store;
        Runtime *runtime; /* of this machine: for all clusters of type Local */
        /* Creates the runtime of another cluster; NULL without an error: no driver supports such clusters.
         * The engine opens, closes and frees it. Or NULL. */
        Runtime *(*driver)(const Cluster *cluster, void *arg, GError **error);
        void *driver_arg;
        /* As in CatalogFacts; or NULL: unknown. */
        bool (*elsewhere)(const Cluster *was, const Cluster *now, char **ret_was, char **ret_now);
        const char *dc;          /* datacenter name, for the variables of members */
        const char *boot_id;     /* of the machine's current boot */
        gint64 keep_events;      /* number of events kept; 0: 1,000,000 */
        gint64 keep_finished_ms; /* finished jobs are deleted after this time; 0: never */
        Ttl ttl;                 /* for the objects that jobs leave in their clusters */
        int max_open_jobs;       /* 0: 1,000,000; above it submits fail with ERR_QUOTA */
        int max_open_per_user;   /* jobs; 0: a quarter of max_open_jobs; administrators have no such limit */
        gint64 max_run_bytes; /* that the runs of one user take in the store; 0: no limit; not for administrators */
        int max_parallelism; /* of a run of a pipeline; 0: DEFINITION_PARALLELISM_MAX */
        int submit_rate;     /* jobs one user may submit in a minute, on average; 0: no limit; ERR_QUOTA */
        int schedule_rate; /* ticks of one user's schedules with a run, skipped ones included, in a minute; 0: no limit;
                                not for administrators */
        /* Checks whether jobs of this user may write to the disk. False with ERR_QUOTA: submits fail. Short,
         * no I/O. Or NULL. */
        bool (*may_write)(const char *user, void *arg, GError **error);
        void *may_write_arg;
        /* Marks a package as just used. False: this user has not sent it, or it was removed. Reads a directory: it is not called
         * on the engine's thread. NULL: a definition may name any package. */
        bool (*use_package)(const char *user, const char *hash, void *arg);
        void *use_package_arg;
        FileRights file_rights; /* for files of runs; or NULL: the server's own rights */
        void *file_rights_arg;
        const char *
                homes; /* the directory of users' homes in the storage; NULL: the file system `home` is unknown */
        SealKey *secrets;      /* for the secrets of users; borrowed, or NULL: jobs cannot have secrets */
        bool open_queues;      /* submissions need no grants (the older behaviour) */
        const char *node_name; /* of the machine, for placements and lists */
        const char *const *node_labels; /* "K=V" of the machine; or NULL */
        const char *journal_dir; /* for the scheduler's journal (journal/journal.h); NULL: no journal */
        SchedulerConfig scheduler;
        gint64 (*now)(void *arg); /* NULL: the clock; tests set it */
        void *now_arg;
        void (*new_id)(char ret[ID_LEN + 1], void *arg); /* NULL: random ones; tests set it */
        void *new_id_arg;
        void (*fatal)(const GError *error,
                      void *arg); /* called when the outcome of a commit is unknown: the program must exit */
        void *fatal_arg;
} EngineConfig;

/* Loads the open jobs, starts the thread, opens the runtime. NULL on failure. Borrows store and runtime. */
Engine *engine_new(const EngineConfig *config, GError **error);
/* Stops the thread after the current batch. Waiting commands are answered with ERR_UNAVAILABLE. Members
 * continue to run. */
void engine_free(Engine *engine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Engine, engine_free)

/* A command's outcome, called once from the engine's thread after the commit; must not block. On success
 * `error` is NULL and `job` the view after the change (borrowed; NULL for commands without one). `repeated`:
 * an idempotency key matched, and nothing new was created. */
typedef void (*EngineDone)(Job *job, bool repeated, const GError *error, void *arg);

/* One or many specifications from `user` in one transaction: all of them, or none. `specs` are referenced; an
 * entry whose spec has an array creates one job per index, which share the spec. Entries may name each other
 * in `after` by job name ("ok:train"): the engine replaces the names by ids; a cycle is ERR_INVALID naming
 * it. `done` gets the first job of the first entry (of an array: its first). ERR_EXISTS if an open job of
 * that user has a name (the message names its id and state). ERR_CONFLICT if the idempotency key was used for
 * another specification, or the queue is closed. ERR_DENIED without a grant. ERR_NOT_FOUND for an unknown
 * queue or dependency. ERR_INVALID if a job could never fit its cluster or its queue's max. ERR_QUOTA over a
 * limit per user or a rate. An error names the entry when there are several. */
typedef struct {
        const char *user;
        bool admin;
        Spec *const *specs;
        int n_specs;
        const char *idempotency_key; /* or NULL */
        const char *id;              /* of the only job, chosen by a client of the older API; or NULL */
        const char *refusal;         /* why no cluster can run it: the request is accepted and the job fails
                                        immediately; or NULL */
        bool only_check; /* a dry run: answered as the submission would be, but nothing is created, and the
                            rate limit is not charged. `done` gets a job that is not stored; it has the
                            preparations that its specification asks for, each ready or waiting */
} EngineSubmission;
void engine_submit(Engine *engine, const EngineSubmission *submission, EngineDone done, void *arg);

/* Actions on a job by id. ERR_CONFLICT names a job in a final state. An action whose result already holds
 * succeeds. */
typedef enum {
        ACT_CANCEL,  /* with the job's grace; kills a job that is already stopping to end */
        ACT_KILL,    /* cancels without grace */
        ACT_HOLD,    /* suspends; a running job is stopped first */
        ACT_RELEASE, /* returns it to its queue */
        ACT_REQUEUE, /* stops a running job and returns it to its queue; costs no retry */
        ACT_SAVED,   /* the job reports that its work so far survives an eviction */
        ACT_DELETE,  /* deletes a finished job and its events; ERR_CONFLICT while it is open */
        ACTIONS,
} JobAction;
/* `admin`: `by` acts with an administrator's rights. Without them, release and requeue lower a priority that
 * is above what is granted to `by` now. */
void engine_act(Engine *engine, const char *job_id, JobAction action, const char *by, bool admin,
                EngineDone done, void *arg);
/* The same for each open element of an array (its array_seq and id), in one transaction. ERR_CONFLICT if none
 * can be changed. `done` gets no job. */
void engine_act_array(Engine *engine, gint64 array_seq, const char *id, JobAction action, const char *by,
                      bool admin, EngineDone done, void *arg);

/* A terminal starts to wait for the job's start (true), or stops waiting (false); each true is followed by
 * one false. The engine cancels a job that requests a terminal and waits for its first start if it has no
 * terminal for its hangup_ms, counted from its submission or the server's start. Any thread; no answer. */
void engine_terminal(Engine *engine, const char *job_id, bool there);

/* Changes of an open job. Priority and queue can change only while it is queued or suspended (ERR_CONFLICT).
 * The new queue is checked as at submission. Labels and annotations replace the current ones (NULL:
 * unchanged). */
typedef struct {
        const char *queue;   /* NULL: unchanged */
        const int *priority; /* NULL: unchanged */
        char *const *labels, *const *annotations;
        const char *by;
        bool admin;
} JobChange;
void engine_change_job(Engine *engine, const char *job_id, const JobChange *change, EngineDone done,
                       void *arg);
/* The same for an array: queue and priority of its waiting elements, labels of all open ones. */
void engine_change_array(Engine *engine, gint64 array_seq, const char *id, const JobChange *wanted,
                         EngineDone done, void *arg);

/* ---- runs of pipelines ---- */

/* Called once: by the engine's thread after the commit, or by the caller's before the function returns. Must not block.
 * `run` is borrowed, without text; NULL with an error. */
typedef void (*EngineRunDone)(const RunRecord *run, bool repeated, const GError *error, void *arg);

typedef struct {
        const char *user;
        bool admin;
        const char *text; /* the definition, YAML or JSON */
        /* What the request changes: {"name", "image", "disabled", "failure_strategy", "parameters", "fs_id", "fs_name",
         * "fs_default", "json_body", "queue", "queue_default", "package", "package_name", "requirements", "break_before", "break_after"}, each
         * optional (DefinitionRequest); or NULL. `queue` is for steps that name none; the user must have access to it. Without it
         * `queue_default` is, which is only looked at when such a step starts. The last two are
         * lists of steps at which the run pauses. */
        const json_t *request;
        const char *idempotency_key; /* or NULL */
        /* The version of a stored pipeline from which `text` was read; it must still exist when the run begins. Or NULL. */
        const PipelineVersion *version;
        const char *source; /* without a version: what the text is (run-record.h); or NULL */
        const char *note;   /* or NULL */
} EngineRun;
/* Creates a run and begins it. ERR_INVALID: the definition has errors, the first of which is given; ERR_QUOTA: the user,
 * or the server, has too many runs that have not ended; ERR_CONFLICT: the key was used for another run,
 * the request contradicts the definition, or sub_path of the main file system is a file; ERR_NOT_FOUND: there is no such
 * file system; ERR_GONE: the version was just deleted. Compiles the text on the caller's thread: up to a second for 16
 * MiB. */
void engine_create_run(Engine *engine, const EngineRun *run, EngineRunDone done, void *arg);
/* Stops what runs; `force`: also post_process. ERR_NOT_FOUND, ERR_CONFLICT: it has ended. */
void engine_stop_run(Engine *engine, const char *id, bool force, const char *by, EngineRunDone done,
                     void *arg);
/* Lets a run go on that is paused (doc/reference/pipelines.md, "Breakpoints"). `step`: only from there; NULL: `single` from
 * where it paused first, otherwise from everywhere. `single`: it pauses again at what starts next; so does one that is not
 * paused. ERR_NOT_FOUND; ERR_CONFLICT: it has ended, is being stopped, or is not paused (there); ERR_INVALID: there is no such
 * step. */
void engine_continue_run(Engine *engine, const char *id, const char *step, bool single, const char *by,
                         EngineRunDone done, void *arg);
/* Sets or removes breakpoints before and after steps: lists of paths, or NULL. ERR_QUOTA: too many; else as above. */
void engine_break_run(Engine *engine, const char *id, const json_t *before, const json_t *after, bool remove,
                      const char *by, EngineRunDone done, void *arg);
/* Changes parameters of a step before which the run is paused: an object. Errors as above; ERR_CONFLICT also: it has
 * begun. */
void engine_set_run(Engine *engine, const char *id, const char *step, const json_t *parameters,
                    const char *by, EngineRunDone done, void *arg);
typedef struct {
        const char *id;   /* of a run that has ended */
        const char *from; /* a component, "dag.step", made again with all that depends on it; or NULL */
        const json_t *parameters; /* other values, an object: what depends on them is made again; or NULL */
        const json_t *before, *after; /* lists of steps at which the new run pauses; or NULL */
        const char *idempotency_key;  /* or NULL */
} EngineRetry;
/* A new run of the same definition and owner that keeps what has succeeded (pipeline/run-retry.h). The answer is the new
 * run; it comes when all that is kept has been copied. ERR_NOT_FOUND; ERR_CONFLICT: the run has not ended, or succeeded and
 * there is nothing to change; ERR_INVALID: `from` or a parameter is wrong; ERR_QUOTA as above. Reads all nodes of the run
 * on the caller's thread: up to some seconds for 1,000,000. */
void engine_retry_run(Engine *engine, const EngineRetry *wish, EngineRunDone done, void *arg);
/* Deletes a run that has ended, with its jobs. ERR_NOT_FOUND, ERR_CONFLICT: it has not ended, or, without `force`, another
 * run keeps results of it. Without its jobs and files such a run shows less, and steps of it that have not begun may fail. */
void engine_delete_run(Engine *engine, const char *id, bool force, const char *by, EngineRunDone done,
                       void *arg);

/* ---- the cache of steps ---- */

/* Called once, as EngineRunDone. */
typedef void (*EngineCacheDone)(const GError *error, void *arg);
/* Deletes an entry by its seq; steps that took its result keep it. One that does not exist is no error. */
void engine_delete_cache_entry(Engine *engine, gint64 seq, EngineCacheDone done, void *arg);

/* ---- stored pipelines ---- */

typedef struct {
        const char *user;  /* whose pipeline it is */
        const char *by;    /* who stores this version */
        bool admin;        /* the limit of a user's pipelines does not count */
        const char *text;  /* the definition, YAML or JSON */
        const char *note;  /* what it is for; NULL: none, or that of before; at most 256 bytes */
        const char *fs;    /* the main file system of its runs, if the text names none; or NULL */
        const char *path;  /* of the file on `fs` from which the text was read; or NULL */
        const char *files; /* as in PipelineVersion; the package exists; or NULL */
        /* A file system for a text with artifacts that names none, as its runs will have one; not stored; or NULL. */
        const char *fs_default;
} EnginePipeline;
/* Called once, as EngineRunDone. All is borrowed; NULL with an error. After a deletion there is no version. */
typedef void (*EnginePipelineDone)(const PipelineRecord *pipeline, const PipelineVersion *version,
                                   const GError *error, void *arg);
/* Stores a definition under the name that it has. ERR_INVALID: as for a run; ERR_EXISTS: the user has a pipeline of this
 * name; ERR_QUOTA: too many of them, or too long. Compiles the text on the caller's thread. */
void engine_create_pipeline(Engine *engine, const EnginePipeline *pipeline, EnginePipelineDone done,
                            void *arg);
/* Stores a new version. ERR_NOT_FOUND; ERR_CONFLICT: its name is not that of the pipeline. */
void engine_update_pipeline(Engine *engine, gint64 seq, const EnginePipeline *pipeline,
                            EnginePipelineDone done, void *arg);
/* Deletes a version, or for 0 the pipeline with all versions; runs that were made of it stay, and can be shown.
 * ERR_NOT_FOUND; ERR_CONFLICT: it is the only version. */
void engine_delete_pipeline(Engine *engine, gint64 seq, int version, const char *by, EnginePipelineDone done,
                            void *arg);

/* ---- schedules ---- */

/* As a record: `user`, `name`, `note`, `run_user`, `pipeline`, `version`, `fs`, `queue`, `crontab`, `start_at`, `end_at`,
 * `concurrency`, `expire_s`, `policy` and `catchup` are what is wanted; the rest does not count. */
typedef struct {
        const ScheduleRecord *record;
        bool admin; /* the limit of a user's schedules does not count */
} EngineSchedule;
/* Called once, as EngineRunDone. Borrowed; NULL with an error. */
typedef void (*EngineScheduleDone)(const ScheduleRecord *schedule, const GError *error, void *arg);
/* ERR_INVALID: the name, a number, a time or the crontab is wrong, or the crontab is never due; ERR_NOT_FOUND: the version was
 * deleted; ERR_EXISTS: the user has a schedule of this name; ERR_QUOTA. */
void engine_create_schedule(Engine *engine, const EngineSchedule *schedule, EngineScheduleDone done,
                            void *arg);
/* No more ticks; runs go on. ERR_NOT_FOUND, ERR_CONFLICT: it is over. */
void engine_stop_schedule(Engine *engine, gint64 seq, const char *by, EngineScheduleDone done, void *arg);
/* Its runs stay. ERR_NOT_FOUND, ERR_CONFLICT: it runs. */
void engine_delete_schedule(Engine *engine, gint64 seq, const char *by, EngineScheduleDone done, void *arg);

/* Removes the file or directory that a step of a run has written at this path of its main file system, and its records.
 * ERR_NOT_FOUND, ERR_CONFLICT: the run has not ended; or why the file cannot be removed. */
void engine_delete_artifact(Engine *engine, const char *run_id, const char *path, EngineRunDone done,
                            void *arg);

/* `text`: UTF-8, borrowed; NULL with an error. */
typedef void (*EngineTextDone)(const char *text, const GError *error, void *arg);
/* Reads a text of at most `max` bytes at a path of a user's file system, with the rights of the user's Unix user; by the
 * file workers, whose deadline it has. `done` is called once, by the engine's thread or at its end, and must not block.
 * ERR_NOT_FOUND: the file or file system; ERR_DENIED; ERR_INVALID: it is no text, or the path leaves the file system;
 * ERR_TOO_LARGE; ERR_CONFLICT: no driver for its kind; ERR_UNAVAILABLE: no answer in time, or the server ends. */
void engine_read_file(Engine *engine, const char *user, const char *fs, const char *path, gsize max,
                      EngineTextDone done, void *arg);
typedef void (*EngineDirectoryDone)(const GError *error, void *arg);
/* Looks whether the user's Unix user finds the directory of a file system `name` that is to be made; by the file workers, as
 * above. ERR_NOT_FOUND: this machine has no such directory; others: it is not known. */
void engine_find_directory(Engine *engine, const char *user, const char *name, const char *path,
                           EngineDirectoryDone done, void *arg);

/* ---- the catalog ---- */

/* Puts a new object (seq 0), or the changed copy of one. The version of a copy must be the current one, else
 * ERR_CONFLICT ("changed meanwhile"). Checked by catalog_check_put with live facts. `by`: for the event.
 * `job` of `done` is NULL; look the object up in engine_catalog afterwards. */
void engine_put(Engine *engine, const Object *object, const char *by, EngineDone done, void *arg);
/* `version`: the version to delete; 0: any. */
void engine_drop(Engine *engine, ObjectKind kind, const char *name, gint64 version, const char *by,
                 EngineDone done, void *arg);
/* The committed catalog; a reference. Any thread. */
Catalog *engine_catalog(Engine *engine);
/* The number of open jobs of a queue, as published. */
gint64 engine_queue_open(Engine *engine, const char *queue);
/* The figures of the last published pass (a reference), and the ids that they use. */
SchedulerFigures *engine_figures(Engine *engine);
int engine_queue_id(Engine *engine, const char *queue); /* -1: unknown */
/* True if the runtime of the cluster (NULL: this machine's) is connected. *ret_total: the resources of its
 * usable nodes. *ret_why: why it is not connected (the caller's, or NULL). Either may be NULL. */
bool engine_cluster(Engine *engine, const Cluster *cluster, Resources *ret_total, char **ret_why);
/* The current usage of a running member; false: unknown. Any thread, short. */
bool engine_usage(Engine *engine, const Job *job, const Member *member, TaskUsage *ret);
/* The reports of a member so far (model/results.h): lines NAME=VALUE; the caller's; NULL: none. Any thread,
 * short. */
char *engine_report(Engine *engine, const Job *job, const Member *member);
/* The current usage of one of the GPUs of its machine (Member.gpus); false: unknown. Any thread, some ms. */
bool engine_gpu_usage(Engine *engine, const Job *job, int gpu, GpuUsage *ret);
/* Runs a command beside a running member (runtime/exec.h): the caller's reference. NULL with ERR_UNAVAILABLE:
 * its runtime does not know the member yet, or no longer. Any thread. */
RuntimeExec *engine_exec(Engine *engine, const Job *job, const Member *member, const ExecStart *start,
                         GError **error);
/* The cluster's nodes as its runtime last reported them: RuntimeNode, a reference. NULL: none were reported,
 * or it is this machine. */
GPtrArray *engine_nodes(Engine *engine, const Cluster *cluster);
int engine_node_id(Engine *engine, const Cluster *cluster, const char *node); /* -1: unknown */
/* Passes a request to the cluster's runtime, which answers it. Takes `ask`. */
void engine_ask(Engine *engine, const char *cluster, RuntimeAsk *ask);
const char *engine_node_name(Engine *engine, int id); /* interned; NULL: this machine */

/* ---- questions ---- */

/* A copy of the live scheduler, made on the engine's thread and passed to `done` there. `done` passes it on
 * to the thread that asked, together with the ownership. NULL when the server is stopping. Keys are the jobs'
 * seq. Takes some ms with 100,000 jobs: not for lists. */
typedef void (*EngineCloned)(Scheduler *clone, gint64 now, void *arg);
void engine_clone_scheduler(Engine *engine, EngineCloned done, void *arg);
/* Calls `done` when all decisions so far are in the journal's files. */
void engine_flush_journal(Engine *engine, EngineDone done, void *arg);
/* The form in which the engine shows a job that does not exist yet, or a changed queue, to the scheduler: for
 * dry runs and what-ifs on a clone. `seq`: any unused key. Fill borrows from spec and catalog. */
typedef struct SchedJobFill SchedJobFill; /* holds the data to which the SchedJob points */
SchedJobFill *engine_fill_job(Engine *engine, const char *user, const Spec *spec, gint64 seq, gint64 now,
                              SchedJob *ret, GError **error);
void engine_fill_free(SchedJobFill *fill);
bool engine_fill_queue(Engine *engine, const Queue *queue, SchedQueue *ret); /* borrows from queue */

/* ERR_NOT_FOUND for an unknown user, ERR_UNAUTHENTICATED if the token's parent is gone. */
void engine_put_token(Engine *engine, const Token *token, EngineDone done, void *arg);
void engine_drop_token(Engine *engine, const char *id, EngineDone done, void *arg);

/* Published views of live jobs; a reference, or NULL if it is not live (look in the store then). */
Job *engine_job(Engine *engine, const char *id);
Job *engine_job_by_name(Engine *engine, const char *user, const char *name); /* the open job of that name */
/* Live or stored, by id or by name of `user` (the newest); ERR_NOT_FOUND. */
Job *engine_find(Engine *engine, const char *user, const char *id_or_name, GError **error);
/* The job or array that a user's word names (model/array.h). A name means the newest of them. For an array
 * *ret_array is its number (JobQuery.array_seq), and the result is one of its jobs; else 0. */
Job *engine_look_up(Engine *engine, const char *user, const char *word, gint64 *ret_array, GError **error);
/* True if an element of the array is open. *ret_revision: of the last change of any of them, as published. */
bool engine_array_open(Engine *engine, gint64 array_seq, gint64 *ret_revision);
/* The hashes (char *) of the packages that open jobs and runs use, as a set; the caller's. Any thread. */
GHashTable *engine_open_packages(Engine *engine);
/* Sets the ERR_NOT_FOUND of engine_find and returns false: for callers that are not allowed to know that the
 * job exists. */
bool engine_no_job(const char *user, const char *name, GError **error);
/* Why a live job waits, in one sentence with numbers; NULL if it does not wait. The caller's. */
char *engine_explain(Engine *engine, const Job *job);
/* All reasons, ordered, from its view and the published figures (no wait, any thread): an array of objects
 * {"cause": "resources", "message": sentence, "resource"?, "asked"?, "free"?, "limit"?, "used"?, "lent"?,
 * "lent_to"?, "queue"?, "position"?, "job"?, "expected_start"?} as doc/guide/rest.md has it; [] when it does not
 * wait. */
json_t *engine_reasons(Engine *engine, const Job *job);
/* Writes the same as the member "reasons" of an open object. Returns the message of the first; NULL: there is none. */
char *engine_write_reasons(Engine *engine, const Job *job, JsonOut *out);
/* While it waits for the build of its environment: that reason, and the resources of the build. NULL: it does
 * not. */
json_t *engine_build_reason(Engine *engine, const Job *job);
/* The same from a clone's Reason, with names filled in: for explain and dry run. `user`: the reader, for whom
 * jobs of others are "another job"; NULL: all are named. The new object is the caller's. */
json_t *engine_reason_format(Engine *engine, const Reason *reason, gint64 now, const char *user);

/* The revision of the last published event. engine_watch: `wake` is called after each publication (engine's
 * thread, must not block) until engine_unwatch. */
gint64 engine_revision(Engine *engine);
typedef void (*EngineWake)(gint64 revision, void *arg);
void engine_watch(Engine *engine, EngineWake wake, void *arg);
void engine_unwatch(Engine *engine, EngineWake wake, void *arg);

bool engine_is_ready(Engine *engine); /* loaded, runtime connected and synced */

typedef struct {
        gint64 open_jobs, queued_jobs, running_jobs, running_members;
        gint64 running_schedules; /* those that have a next tick */
        gint64 submitted, succeeded, failed, cancelled, evictions, shrinks, passes, pass_us_last, pass_us_max,
                batches, batch_jobs_max, commit_us_last, commit_us_max, observations;
        Resources total, free;
} EngineMetrics;
void engine_metrics(Engine *engine, EngineMetrics *ret);
