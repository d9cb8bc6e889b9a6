/* Runs of pipelines in the engine. Internal to runs*.c and retain-runs.c.
 *
 * A live run is one that has not ended: the state machine (pipeline/run.h), the compiled definition and the record. It
 * changes in the batch that changes its jobs, and is committed with them:
 *
 *   a job ends ─▶ depend.c ─▶ runs_job_ended ─▶ run_ended ─┐
 *   commands: create, retry, stop ─────────────────────────┼─▶ due ─▶ runs_work: run_work ─▶ runs-act.c: actions
 *   a worker's answer ─▶ run_looked, ... ──────────────────┘            │                     start: submit_step
 *                                                                       ▼                     stop: life_cancel
 *   commit ◀─ runs_store: rows of what has changed ◀── at most 256 steps of a run, 1,024 of all; a job counts as 16
 *     ├── done:   runs_settle: run_keep; questions go to the workers; runs that have ended leave
 *     └── failed: runs_restore: run_undo; new runs leave */
#pragma once

#include "engine/run-plan.h"
#include "engine/runs-taken.h"
#include "engine/state.h"
#include "model/run-record.h"
#include "pipeline/items.h"
#include "pipeline/render.h"
#include "pipeline/run-retry.h"
#include "pipeline/run.h"

enum {
        RUN_STEPS = 256,        /* of one run in a batch */
        RUN_STEPS_ALL = 1024,   /* of all runs in a batch */
        RUN_JOB_STEPS = 16,     /* for which a job that is submitted or cancelled counts */
        RUN_RENDER_STEPS = 4,   /* for which an instance counts that is rendered */
        RUN_STEP_BYTES = 2048,  /* of texts that are rendered, for which they count as a step */
        RUN_PARTS_PER_STEP = 4, /* parts of a fingerprint, for one step */
        RUN_ANSWERS = 256, /* of workers to all runs in a batch: each renders an instance, or reads a list */
        RUN_ROWS_PER_STEP = 4,     /* rows that a retry copies, for one of these steps */
        RUNS_MAX = 2000,           /* that have not ended */
        RUNS_OF_USER_MAX = 100,    /* ... of one user; administrators have no such limit */
        RUN_NODES_MAX = 1000000,   /* of one run */
        RUN_TEXTS_BATCH = 1 << 20, /* of the definitions of new runs in a batch, unless it is one alone */
        RUN_TEXTS_MAX = 64 << 20,  /* bytes of the definitions of one user's live runs */
        RUN_MEMORY_MAX =
                256 << 20,        /* bytes that these take in memory: a short text may stand for long lists */
        RUN_MEMORY_ALL = 1 << 30, /* ... of all users */
        RUN_NODES_OF_USER = 2000000, /* of the live runs of one user */
        RUN_NODES_ALL = 10000000,    /* ... of all users: about 100 bytes each in memory */
        RUN_BYTES = 1024,            /* about what a run takes in the store, beside its texts and lists */
        RUN_NODE_BYTES = 128,        /* ... a node */
        RUN_JOB_BYTES = 2048,        /* ... the job of a step, beside its texts */
        RUN_READ_MAX = 64 << 20,     /* bytes of all lists that a run reads from artifacts: they are stored */
        RUN_LIST_MAX = (1 << 20) - 1, /* bytes of an artifact that is the list of a loop */
        RUN_WORD_MAX = 1023,          /* bytes of an artifact in a condition */
        RUN_REASONS_MAX = 5,          /* failed steps that the message of a run names */
        RUN_PATH_MAX = 4096,          /* bytes of a path in a record of an artifact */
        RUN_CONTROL_MAX = 64 * 1024,  /* bytes of the breakpoints and changed parameters of a run */
        RUN_PAUSES_NAMED = 10,        /* paused steps that an event names */
};

/* A compiled definition, counted: a command and its run share it. */
struct RunPlan {
        gatomicrefcount refs;
        Definition *definition;
        GHashTable *lists; /* of render_lists */
        gsize text;        /* bytes of its text */
        gsize memory;      /* about how many bytes it takes, with the lists */
        GPtrArray *
                filesystems; /* char, borrowed from the definition: all that it names, each once; the main one first */
        GPtrArray *packages; /* char, borrowed: that of the request, and those that steps name, each once */
        bool artifacts;      /* a step has outputs */
        bool caches;         /* the cache is on for a step */
        char *queue;         /* that the request names, for steps that name none; or NULL */
        char *other_queue;   /* ... if the request names none; or NULL: QUEUE_DEFAULT */
        char *package, *package_name,
                *requirements; /* of the directory that was sent with the run; or NULL */
};
/* Compiles a text with a request (engine.h, EngineRun). NULL with ERR_INVALID, or with ERR_CONFLICT if the request
 * contradicts the definition. Any thread. */
RunPlan *run_plan_new(const Engine *engine, const char *text, const json_t *request, GError **error);
/* Refuses a plan with ERR_NOT_FOUND if a step names a package that `user` has not sent. The route has checked the package of
 * the request. Not on the engine's thread. */
bool run_plan_use_packages(const Engine *engine, const RunPlan *plan, const char *user, GError **error);
RunPlan *run_plan_ref(RunPlan *plan);
void run_plan_unref(RunPlan *plan);
/* Shows readers the plan of the live run `id`; NULL: it has none any more. */
void run_plan_publish(Engine *engine, const char *id, RunPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunPlan, run_plan_unref)

/* A question to a worker. The batch makes what the worker needs, and is charged for it; the question is sent after the
 * commit. */
typedef struct {
        RunActionKind what; /* ACTION_EXPAND, ACTION_LOOK or ACTION_START */
        guint32 index;
        json_t *paths;   /* the file workers (run-files.h) are asked: path by name */
        GError *failure; /* ... or there are no paths */
        json_t *list;    /* a text that is the list of a loop; or NULL */
        char *condition; /* or NULL */
} RunAsk;
void run_ask_clear(gpointer data); /* a RunAsk */

/* What the live runs of one user are together. */
typedef struct {
        char *user;
        guint runs;
        gint64 nodes; /* as counted in each run last */
        gsize texts;  /* bytes of their definitions */
        gsize memory; /* ... in memory */
} RunOwner;

typedef struct LiveRun {
        RunRecord *record; /* of the open batch; without text and request */
        RunRecord *was;    /* as it was committed while dirty; NULL: the run is new */
        RunPlan *plan;
        RunOwner *owner;
        guint32 counted; /* in owner->nodes */
        guint32 failed; /* leaves, of run_failed_leaves: the message names the first ones, and counts the others */
        guint32 failed_was; /* ... as it was committed */
        Run *machine;       /* NULL: it cannot go on (`broken`) */
        char *broken;       /* why; or NULL */
        GHashTable *lists;  /* child -> Items: of loops, as far as they are needed */
        RenderMemo memo;
        GHashTable *messages; /* node -> char: why nodes ended in this batch */
        /* Nodes whose job was refused by a limit, in the order in which they are tried again; some may have gone on since.
         * There may be as many as the definition's parallelism. */
        GQueue put_off;
        GHashTable *put_off_links; /* node -> GList: its place in `put_off` */
        guint put_off_new;         /* so many at the end of `put_off` came there in this batch */
        GArray *asks;              /* RunAsk: what workers are asked after the commit */
        /* A set of nodes: a worker removes what is at the paths of their outputs. It is asked once, so that it does not
         * remove what their job writes. */
        GHashTable *preparing;
        GArray *prepared; /* guint32: nodes whose outputs are prepared: their jobs are submitted in runs_work */
        guint prepared_at; /* so many of these were tried in this batch */
        gsize read;        /* bytes of the lists that were read from artifacts */
        gsize read_was;    /* ... as it was committed */
        gint64 retry_at;   /* ms: when those in `put_off` are tried again; 0: there are none */
        GHashTable *cache; /* node -> CacheNode: of steps that search the cache, see runs-cache.h */
        GPtrArray *cache_searches_due; /* CacheSearch: they begin after the commit */
        GHashTable *
                cache_waits; /* seq of a job -> CacheWait: nodes that wait for its end, see runs-cache-wait.c */
        GPtrArray *cache_waits_dirty; /* of these: changed in this batch */
        GQueue cache_ended;           /* ... those whose job has ended */
        bool shows_waits;             /* readers see nodes that wait (run-waits.h) */
        RunTaken *taken;              /* results from the cache; NULL: none */
        RunBreaks *breaks;            /* what record->control says; or NULL */
        json_t *missed;               /* breakpoints at which it does not pause, see runs-missed.c; or NULL */
        bool breaks_looked;           /* nothing has changed for them since they were looked at */
        json_t *lost;   /* of a retry: steps that run again since a file is gone, see runs-lost.c; or NULL */
        json_t *edits;  /* parameters that were changed, as in RenderContext; or NULL */
        GArray *paused; /* guint32: children that have paused in this batch, for the event */
        GHashTable *makers; /* node -> GRefString: the run whose result a retry kept, by its id; NULL: none */
        RunKept *kept; /* of a retry: what is copied into the store while nobody sees the run; else NULL */
        guint kept_at; /* rows of it that were copied: first those of `nodes`, then `children` */
        bool dirty;    /* in batch.runs */
        bool due;      /* in engine->due_runs: it has work, or may have */
        guint64 batch; /* the batch of `steps` */
        guint steps;   /* left in it */
} LiveRun;

LiveRun *runs_find(Engine *engine, gint64 seq);
LiveRun *runs_find_id(Engine *engine, const char *id);
/* NULL: the user has no live run. */
const RunOwner *runs_owner(Engine *engine, const char *user);
/* So many nodes and children of DAGs may be added to the run, by the limit of its user. */
guint32 runs_more(const Engine *engine, const LiveRun *live);
/* Counts what was added to it. */
void runs_count_nodes(Engine *engine, LiveRun *live);
/* The same, which is new in the store, too. */
void runs_grow(Engine *engine, LiveRun *live);
/* Adds a run that is stored, with a new machine for its plan, or none without a plan. Takes the record. */
LiveRun *runs_enter(Engine *engine, RunRecord *record, RunPlan *plan);
/* Adds a run; dirty. Takes the record. */
LiveRun *runs_add(Engine *engine, RunRecord *record, RunPlan *plan);
/* The run is going to change. */
void runs_touch(Engine *engine, LiveRun *live);
/* False: the batch has taken as many answers of workers as it may; this one waits for the next. Counts it. */
bool runs_take_answer(Engine *engine);
/* It has work. */
void runs_make_due(Engine *engine, LiveRun *live);
/* Stops the run; `by`: for its message. A second stop may add its force. */
void runs_stop_one(Engine *engine, LiveRun *live, bool force, const char *by);
/* An event of the run, which becomes its revision. Takes `data`. */
void runs_note(Engine *engine, LiveRun *live, const char *kind, json_t *data);
/* Why a node ends, for its row, and for the run if it fails. Takes `text`. */
void runs_say(LiveRun *live, guint32 node, char *text);
/* "train.step-3", as people name the node; the caller's. */
char *runs_node_path(const LiveRun *live, guint32 node);
/* The id of the run whose job made the result of this node, and under which its files are; NULL: this run. */
const char *runs_maker(const LiveRun *live, guint32 node);

/* ---- rows of nodes, when a run begins with some ---- */

/* RunNodeRecord or RunChildRecord, those of one run side by side. `at`: the next one. */
typedef struct {
        const GPtrArray *list;
        guint at;
} RunRows;
/* Gives the new machine of `live` the rows of `run`, and `lists` those of loops over artifacts; call run_restored next.
 * Nodes are in order of index, children in order of their first node. False: the rows do not fit the definition. */
bool runs_restore_rows(LiveRun *live, gint64 run, RunRows *nodes, RunRows *children);
/* `lists` of a run, empty. */
GHashTable *runs_new_lists(void);
/* Drops the lists of loops that have ended, and reads those of the loops among the entry points that go on: a long text
 * holds up nobody later. */
void runs_keep_lists(LiveRun *live);
/* Which nodes another run made (LiveRun), of rows [from, list->len) of `run`; NULL: none. */
GHashTable *runs_makers(const GPtrArray *nodes, guint from, gint64 run);

/* ---- runs-command.c: what the commands that make a run share ---- */

/* Passes the record to the caller after the commit. */
typedef struct {
        Command command;
        EngineRunDone run_done;
        RunRecord *answer; /* owned */
} RunCommand;
void run_command_answer(Engine *engine, Command *command, const GError *error);
/* The answer is the record as this batch has it so far. */
void run_command_set(RunCommand *wanted, const RunRecord *record);
RunRecord *run_record_copy(const RunRecord *record); /* without text and request */
/* Long texts make a commit long, for which all others wait: each comes into a batch of its own. False: not in this one. */
bool run_command_fits(const Engine *engine, const RunPlan *plan);
/* Refuses a new run: the disk, a key that is in use, file systems, limits. */
bool run_command_check(Engine *engine, const RunRecord *record, const RunPlan *plan, GError **error);
/* Refuses a definition that names a file system which the user does not have, or cannot use. */
bool run_command_check_filesystems(Engine *engine, const char *user, const RunPlan *plan, GError **error);
/* Refuses a run of a user whose runs take too much in the store. Reads it: not on the engine's thread. */
bool run_command_check_bytes(Engine *engine, const RunRecord *record, GError **error);
/* Its parts: what is wrong with the run, and what may be right later. The last one needs no definition: it looks at the number of
 * runs. */
bool run_command_check_places(Engine *engine, const RunRecord *record, const RunPlan *plan, GError **error);
bool run_command_check_limits(Engine *engine, const RunRecord *record, const RunPlan *plan, GError **error);
bool run_command_check_counts(Engine *engine, const RunRecord *record, GError **error);
/* Begins a run that was checked. The record with its text is stored by the batch, and stays until it ends. */
LiveRun *run_command_begin(Engine *engine, RunRecord *record, RunPlan *plan);
/* It is made of a version of a stored pipeline, whose text it shares. */
void run_record_set_version(RunRecord *record, gint64 pipeline, int version, const char *hash);
/* True if the key was used before: `done` has its answer. */
bool run_command_repeated(Engine *engine, const RunRecord *record, EngineRunDone done, void *arg);

/* ---- runs-pause.c ---- */

/* `request` may have "break_before" and "break_after", lists of places: sets them in the record of a new run, which has no
 * control yet, with `edits` (or NULL) as its changed parameters. `list`, which is empty, gets them. False with an error: a
 * place is wrong. Any thread. */
bool runs_take_breaks(RunRecord *record, const Definition *definition, const json_t *request,
                      const json_t *edits, GPtrArray *list, GError **error);
/* The changed parameters of a record that was read with its text; a new reference, or NULL. */
json_t *runs_edits_of(const RunRecord *record);
/* A retry wishes for other parameters (an object, or NULL): removes those that hold no more from `edits`. `before`: the
 * parameters of the earlier request, which get the removed ones, so that what used them is seen to change. False: none. */
bool runs_drop_edits(json_t *edits, const Definition *definition, const json_t *wish, json_t *before);
/* Sets `lost`, a list that is not empty, in the record of a new run. */
void runs_put_lost(RunRecord *record, json_t *lost);
/* Makes `breaks`, `missed`, `lost` and `edits` of the record, and gives the machine the breakpoints. What is not understood any more is left
 * out. */
void runs_read_control(LiveRun *live);
/* An event for what has paused in this batch; how many are paused, for the record. */
void runs_note_pauses(Engine *engine, LiveRun *live);
/* Adds to `missed`, a list, in the record, too. */
void runs_add_missed(LiveRun *live, const json_t *missed);
/* Single steps and the epoch, as they were stored. */
void runs_restore_steps(LiveRun *live);

/* ---- runs-missed.c: breakpoints at which a run does not pause ---- */

/* False with ERR_CONFLICT: the run does not pause any more at one of these, Break. `retry_of`: it is a retry of this run, which
 * has not begun; or NULL. */
bool runs_check_breaks(const Run *run, const Definition *definition, const char *retry_of,
                       const GPtrArray *list, GError **error);
/* The loop of a component got its list, or it was skipped. */
void runs_look_at_breaks(LiveRun *live, guint32 component);
/* Records those that the run does not reach any more, with an event. */
void runs_note_missed(Engine *engine, LiveRun *live);
/* What `missed` says of the breakpoints in `list`, or NULL; a new array. */
json_t *runs_missed_of(const json_t *missed, const GPtrArray *list);

/* ---- runs-retry.c ---- */

/* Copies rows of `kept` into the batch; *budget counts steps down. True: there are more. */
bool runs_take_kept(Engine *engine, LiveRun *live, guint *budget);
void runs_kept_free(RunKept *kept); /* NULL is a no-op */
/* A live run, also one that nobody sees yet, that keeps results of the run `seq`, or took some from the cache; or NULL. */
const LiveRun *runs_keeper_of(Engine *engine, gint64 seq);
/* Its deletion is in this batch, or was committed since the start. */
bool runs_was_deleted(Engine *engine, gint64 seq);

/* ---- runs-lost.c: whether the output files that a retry keeps are there ---- */

typedef struct KeptFiles KeptFiles;
/* On the engine's thread; `engine` NULL: the server ends, with an error. An error: they cannot be looked at. */
typedef void (*KeptFilesDone)(Engine *engine, const GError *error, void *arg);
/* The outputs of all nodes that are kept in `live`, 100,000 at most. NULL: no step has outputs. Any thread. */
KeptFiles *kept_files_new(Engine *engine, LiveRun *live, const RunKept *kept);
void kept_files_free(KeptFiles *files); /* NULL is a no-op */
/* `done` is called once, later. False: there are none (`files` may be NULL), and it is not called. */
bool kept_files_look(KeptFiles *files, KeptFilesDone done, void *arg);
/* After it: a set of nodes of the earlier run, for run_retry. NULL: none is gone. */
GHashTable *kept_files_gone(const KeptFiles *files);
/* The files that are gone of the nodes `lost` (RunKept): a list of {"step", "artifact", "path"}, 100 at most. `live`: as it
 * was for kept_files_new. */
json_t *kept_files_name(const KeptFiles *files, const LiveRun *live, const GArray *lost);

/* ---- run-artifacts.c ---- */

/* The directory of all artifacts of a run that has no text yet: "sub/.pipeline/<id>" and the name of its file system.
 * False: it has none. Reads the store and compiles the text; not on the engine's thread. */
bool runs_find_directory(const Engine *engine, RunRecord *run, char **ret_fs, char **ret_path);
/* Removes it with what it contains. A failure is logged. */
void runs_remove_directory(Engine *engine, const RunRecord *run, const char *fs, const char *path);

/* ---- runs-act.c ---- */

typedef struct {
        Engine *engine;
        LiveRun *live;
        guint *budget; /* steps left; what an action costs beside its own step is taken off, but never all. NULL: the
                          answer to a question (runs_take_answer) */
} RunActor;

/* A RunAction; `arg` is a RunActor. */
void runs_act(void *arg, RunActionKind kind, guint32 index);
/* Takes `steps` off the budget. run_work counts the step itself. */
void runs_charge(const RunActor *actor, gsize steps);
/* Renders a node, without the content of artifacts, and takes what that cost off the budget. */
bool runs_render_charged(const RunActor *actor, guint32 node, Rendered *ret, GError **error);
/* The steps for the bytes that were rendered since this was asked, or they were charged, last. */
gsize runs_rendered_steps(LiveRun *live);
/* Takes off the budget what was rendered since it was charged last. */
void runs_charge_rendered(const RunActor *actor);
/* After the commit the file workers are asked for the list of a loop (ACTION_EXPAND), or to prepare the places of outputs
 * (ACTION_START). What the question renders then is taken off the budget now. */
void runs_queue_question(const RunActor *actor, RunActionKind what, guint32 index);
/* After a commit: gives the workers the questions in `asks`. */
void runs_send_questions(Engine *engine, LiveRun *live);
/* Why a node failed, in one line: "RE-06: ..." with `class` "RE-06: ", unless the error has a class already; the
 * caller's. */
char *runs_reason(const char *class, const GError *error);

/* ---- runs-render.c: what an instance is given ---- */

/* A node; `contents`: the texts of artifacts by name, for its condition; NULL: unknown. */
bool runs_render(LiveRun *live, guint32 node, const json_t *contents, Rendered *ret, GError **error);
/* The same for a fingerprint: the command keeps the templates of outputs, with `content` also those of inputs. */
bool runs_render_key(LiveRun *live, guint32 node, bool content, Rendered *ret, GError **error);
/* Where the output of a node lies whose result a retry kept, or the cache gave; the caller's. NULL: it has none. */
char *runs_kept_output(LiveRun *live, guint32 node, const char *name);
/* The value of a loop: an array, or a text that is one in JSON; a new reference. NULL without an error: its list is the
 * content of an artifact. */
json_t *runs_loop_value(LiveRun *live, guint32 child, GError **error);
/* The paths of the input artifacts of a loop's component, by name; a new object. */
json_t *runs_loop_inputs(LiveRun *live, guint32 child, GError **error);
/* True if its loop is over the content of an artifact: its list cannot be made of the definition. */
bool runs_is_read_loop(const LiveRun *live, guint32 child);
/* Keeps the items of a loop while it runs. */
void runs_keep_items(LiveRun *live, guint32 child, const Items *items);
/* Reads the list of a loop that had begun before a restart. */
void runs_read_list(LiveRun *live, guint32 child);

/* ---- runs-step.c: jobs of steps ---- */

/* ACTION_START: submits the job of a node, or asks for the directories of its outputs first. */
void runs_start_step(const RunActor *actor, guint32 node);
/* The same after the cache had nothing, within the steps of a batch. */
void runs_start_missed(const RunActor *actor, guint32 node);
/* ACTION_STOP: cancels its job. */
void runs_stop_step(const RunActor *actor, guint32 node);
/* Tries again to start the nodes in `put_off`, as many as the budget allows; the others are tried the next time. */
void runs_start_again(const RunActor *actor);
/* After a commit: those that this batch looked at, and that do not wait any more, leave `put_off`. */
void runs_forget_started(LiveRun *live);
/* Submits the jobs of the nodes in `prepared`, as many as the budget allows. */
void runs_start_prepared(const RunActor *actor);
/* Records the outputs of a node, whose job has succeeded. Its inputs were recorded when the job was submitted. False: it has
 * none. */
bool runs_record_outputs(Engine *engine, LiveRun *live, guint32 node);
