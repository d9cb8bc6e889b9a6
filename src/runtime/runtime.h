/* A runtime turns an admitted job into running members and tells what became of them. No call blocks: an
 * action is handed over and its outcome comes back as an observation. Starting is idempotent by task name, so
 * that after a crash the engine asks again for everything it intends and compares it with what the runtime
 * reports. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"
#include "model/job.h"
#include "model/resources.h"
#include "runtime/exec.h"

/* Names a member for ever: "<job id>.<attempt>.<role>.<index>"; [a-z0-9.-], at most TASK_NAME_MAX. An
 * environment that is being built is a task, too: "env.<hash>". */
enum { TASK_NAME_MAX = 160 };

/* A secret of the job's user for a member: a variable or a file. */
typedef struct {
        const char *variable; /* or NULL */
        const char *file;     /* its name in the directory $PADDLE_SECRETS_DIR; or NULL */
        const char *value;    /* followed by a NUL byte; a variable's has no other */
        gsize len;
} TaskSecret;

/* Everything a member needs to be started. All borrowed for the call. The engine fills task, argv, env,
 * limits, grace, ready_* and what follows new_privileges; the runtime completes env (directories, PATH,
 * PYTHONPATH), dir, log, binds, processes, user and new_privileges. */
typedef struct {
        const char *task;
        char *const *argv;         /* argv[0] is looked up in the PATH of `env` */
        char *const *env;          /* complete */
        const TaskSecret *secrets; /* of the attempt. Variables override those of `env`. Values are never
                                      shown, logged or written to a disk of the server */
        int n_secrets;
        const char *dir;         /* working directory; must exist */
        const char *log;         /* file, made if missing, appended to; its directory is made */
        const char *log_banner;  /* a line written to the log before the start, or NULL */
        Resources limits;        /* 0: no limit; cpu_milli as a hard limit */
        const char *gpus;        /* of this machine: those that it was given, "0,2"; or NULL */
        gint64 cpu_weight_milli; /* relative share when there is no hard limit */
        gint64 max_processes;    /* 0: no limit */
        gint64 user;             /* of this machine: number of the user whose members are bounded together */
        gint64 user_processes;   /* of them all; 0: no limit */
        gint64 log_limit;        /* bytes; 0: none */
        gint64 grace_ms;         /* used when the member has to be ended for a reason of its keeper's own */
        int ready_port;          /* > 0: READY is observed when a process of the member listens on it */
        int ready_port_other;    /* > 0: or on this one */
        const char *progress; /* file that the member appends what it reports to (agent/report.h); or NULL */
        const char *ready_file;   /* not NULL: READY is observed when this file exists */
        const char *const *binds; /* pairs source, target, ..., NULL: directories to be seen under other
                                     names, where a mount namespace can be had */
        const char *const *proxy; /* of this machine: no network but a proxy (agent/proxied.h); or NULL */
        bool tty;                 /* argv has a terminal, held by a host (terminal/terminal.h), */
        gint64 hangup_ms;         /* ... and is hung up when none has been connected for so long; 0: never */
        bool new_privileges; /* of this machine: set-uid programs give the member the rights of their owners
                              */
        const char *const *wait_for; /* ops->gates: addresses, "HOST:PORT" or "HOST:PORT,PORT" (any of both),
                                        that listen before argv runs; or NULL */
} TaskStart;

typedef struct {
        gint64 cpu_us, memory, memory_peak; /* since its start; bytes now, at most */
        gint64 processes;
} TaskUsage;

typedef struct {
        int percent;                 /* of the time in which it was at work, of late; -1: it does not tell */
        gint64 memory, memory_total; /* bytes, of all that use it */
} GpuUsage;

typedef enum {
        OBSERVED_STARTED, /* pid, time */
        OBSERVED_READY,
        OBSERVED_EXITED,       /* exit, usage; repeated until forget() */
        OBSERVED_LOST,         /* its keeper is gone and left no record; repeated until forget() */
        OBSERVED_START_FAILED, /* text says why, permanent whether it ever could; repeated until forget() */
        OBSERVED_SYNCED, /* all tasks the runtime knows were reported since it (re)connected: what is missing
                            never ran */
        OBSERVED_PREPARED,       /* task = the job's id: its environment is ready */
        OBSERVED_PREPARE_FAILED, /* task = the job's id; text says why */
        OBSERVED_WAITS,  /* it is not running yet; text says why (no node has room, an image is pulled) */
        OBSERVED_PLACED, /* the cluster has given it a node; text names it */
        OBSERVED_TAKEN,  /* the cluster makes it go for others, or somebody wants it to; text says who and why
                          */
        OBSERVED_STUCK,  /* it has waited for as long as the runtime was told that anything may; text says why
                          */
        OBSERVED_NODES,  /* the cluster's nodes have changed: ask again */
        OBSERVED_DISCONNECTED, /* actions are refused until the next OBSERVED_SYNCED */
} ObservationKind;

typedef struct {
        ObservationKind kind;
        char task[TASK_NAME_MAX + 1];
        int pid;
        int exit_code; /* -1 when ended by a signal */
        int signal;
        bool oom;
        bool hung_up;       /* EXITED: its terminal went and did not come back */
        bool permanent;     /* the same start would fail again: no such program, not allowed, ... */
        gint64 time;        /* ms since 1970, of what was observed */
        gint64 peak_memory; /* bytes, 0: not known */
        gint64 cpu_us;
        char *text;   /* or NULL */
        char *report; /* EXITED: lines NAME=VALUE of what it reported (model/results.h); or NULL */
        char *note;   /* EXITED with a failure: a likely reason, as a clause ("disk quota: ..."); or NULL */
        char *last_line; /* EXITED with a failure: the last line of its log (last-line.h); or NULL */
} Observation;
void observation_free(Observation *observation);
/* `report`, which may be NULL, becomes the observation's, without what the host of its terminal said
 * (terminal/terminal.h): that becomes `hung_up`. Its exit status is there already. */
void observation_take_report(Observation *observation, char *report);
/* Lines NAME=VALUE lose what the host of a terminal said; whether it said that it hung up. NULL: false. */
bool report_take_hang_up(char *report);
/* A program that ended with another status than 0, or by a signal. */
bool observation_is_failure(const Observation *observation);

/* Called from the runtime's own thread; takes the observation. Must not block. */
typedef void (*ObserveFunc)(Observation *observation, void *arg);

/* A machine of the cluster that members may stand on. */
typedef struct {
        char *name;
        Resources allocatable;
        Resources others; /* of it, what is held by what is not ours */
        Resources system; /* of that, what never goes: the cluster's own */
        char **labels;    /* "K=V", sorted; or NULL */
        bool ready;
        bool usable; /* ready, and open for new members */
        char *why;   /* why it is not usable; or NULL */
} RuntimeNode;
void runtime_node_free(RuntimeNode *node);
RuntimeNode *runtime_node_copy(const RuntimeNode *node);
bool runtime_node_equal(const RuntimeNode *a, const RuntimeNode *b);

/* A question to what drives a cluster, beside the jobs there: about one object, a page of a list, or what a
 * container has written until now. It belongs to whom it was given; it is answered once, and freed by that.
 */
typedef enum { ASK_GET, ASK_LIST, ASK_CREATE, ASK_REPLACE, ASK_DELETE, ASK_LOG } RuntimeAskVerb;
typedef struct {
        RuntimeAskVerb verb;
        char *api_version, *kind;              /* "v1", "Pod" */
        char *namespace, *name;                /* NULL: of all; none */
        json_t *body;                          /* CREATE, REPLACE */
        int limit;                             /* LIST: objects a page, 0: all at once */
        char *resume;                          /* LIST: `metadata.continue` of the page before; or NULL */
        char *label_selector, *field_selector; /* LIST: only these; or NULL */
        char *container;                       /* LOG: of the pod `name` */
        gint64 tail_lines;                     /* LOG: from the end so many lines; 0: from the beginning */
        gsize max_bytes; /* LOG: > 0; so many at most, the first ones or the last ones */
        /* What the cluster says, borrowed, or why it says nothing. LOG: a string of whatever bytes, each line
         * after its time. Any thread; must not block. */
        void (*answer)(json_t *object, const GError *error, void *arg);
        void *arg;
} RuntimeAsk;
void runtime_ask_answer(RuntimeAsk *ask, json_t *object, const GError *error);
void runtime_ask_free(RuntimeAsk *ask); /* one that nobody answers: ERR_UNAVAILABLE; NULL is a no-op */

typedef struct Runtime Runtime;
/* An attempt of a job, as the runtime is told of it. Borrowed for the call. */
typedef struct {
        const Job *job;  /* with its specification; once it is placed, with its members, their nodes, ports
                                 and GPUs. job->attempt: 0 while it only waits */
        gint64 user_seq; /* number of its user in the catalog, never given twice; 0: not known */
        const char *namespace; /* asked for, or its queue's; or NULL */
        Resources builder;     /* of a prepare: what its build may take, as it is counted; 0: nothing was */
        char *const *location; /* of its queue (model/queue.h); or NULL */
        const char
                *topology; /* "K=V" of the nodes that our pass chose for all members, where the job asks for
                                  one value of K; of a start only; or NULL */
} RuntimeAttempt;

typedef struct {
        const char *name;
        bool uses_images; /* members run in their job's image; otherwise it is only recorded */
        const char
                *progress_file; /* where members report (PADDLE_PROGRESS_FILE); NULL: start says so itself */
        bool gates; /* a member's program waits by itself until wait_for listens: so that all phases are
                       started at once */

        /* Connects; observations begin to flow, the first complete report ends with OBSERVED_SYNCED. */
        bool (*open)(Runtime *runtime, ObserveFunc observe, void *arg, GError **error);
        /* Leaves everything running and closes. */
        void (*close)(Runtime *runtime);

        /* Members of such a job are started in their order by the cluster itself, which is told of all of
         * them at once. Any thread; NULL: of none. */
        bool (*orders)(Runtime *runtime, const RuntimeAttempt *attempt);

        /* Why no job may have a setup command there: a sentence, and after a newline what to do; the
         * caller's. NULL: it may. Any thread; NULL: setups are run by prepare. */
        char *(*setup_problem)(Runtime *runtime);

        /* What the cluster has in all. */
        void (*inventory)(Runtime *runtime, Resources *ret_total);
        /* Its nodes as of the last OBSERVED_SYNCED or OBSERVED_NODES: a list of RuntimeNode, each name once;
         * the caller's. NULL: it is one node, the machine that the server runs on. */
        GPtrArray *(*nodes)(Runtime *runtime);
        /* Where the others reach a member of the job's attempt: a host name or an address; the caller's. */
        char *(*address)(Runtime *runtime, const RuntimeAttempt *attempt, const char *role, int index);
        /* What a running member uses at this moment (its cgroup's own counters); false: not known. Any
         * thread, short. */
        bool (*usage)(Runtime *runtime, const char *task, TaskUsage *ret);
        /* What its GPU of that number does now; false: not known. Any thread, some ms. NULL: it is not
         * measured. */
        bool (*gpu_usage)(Runtime *runtime, int gpu, GpuUsage *ret);

        /* What a member has reported until now, as lines NAME=VALUE; the caller's, NULL: nothing. Any thread,
         * short. Or NULL: not known before its end. */
        char *(*report)(Runtime *runtime, const char *job_id, int attempt, const char *role, int index);

        /* Makes what the job needs before it can start (the Python environment); PREPARED or PREPARE_FAILED
         * follows. Asking again is harmless. A job that needs nothing is answered at once. */
        void (*prepare)(Runtime *runtime, const RuntimeAttempt *attempt);
        /* True when prepare would find nothing to do (so that submit, admission and start fit one
         * transaction). */
        bool (*is_prepared)(Runtime *runtime, const RuntimeAttempt *attempt);
        /* What runs for it on nodes of the cluster until it is prepared: prepare is asked for when the job's
         * queue has that to give, and it is counted there until the answer. False: nothing that counts. Does
         * not block. NULL: false, of every job. */
        bool (*prepare_wants)(Runtime *runtime, const RuntimeAttempt *attempt, Resources *ret_wants);
        /* True when all of it was made before, as far as is known: prepare is asked for at once, and counted
         * meanwhile. As prepare_wants. NULL: not known. */
        bool (*was_prepared)(Runtime *runtime, const RuntimeAttempt *attempt);
        /* What prepare was asked for is not waited for any more: the job is over, held, or elsewhere. Or
         * NULL: it goes on. */
        void (*abandon)(Runtime *runtime, const char *job_id);

        /* Leases ports that nobody else has where the members stand: `n` for as many members, then `extra`
         * for the job itself; given back by name of the job. False with ERR_UNAVAILABLE. Not blocking I/O. */
        bool (*lease_ports)(Runtime *runtime, const char *job_id, int n, int extra, int *ret_ports,
                            GError **error);
        /* Marks ports as leased again, after a restart of the server. */
        void (*keep_ports)(Runtime *runtime, const char *job_id, int n, const int *ports);
        void (*release_ports)(Runtime *runtime, const char *job_id);

        /* Starts members of the attempt: the `n` that start now, sorted by role and index. Usually
         * these are all that the job has; fewer when an elastic role grows or a member comes back. The
         * runtime makes the work directory of the attempt if needed and completes the environment
         * (directories, PATH, PYTHONPATH). STARTED or START_FAILED follows for each. */
        void (*start)(Runtime *runtime, const RuntimeAttempt *attempt, const TaskStart *members, int n);
        /* Ends the `n` tasks, all of one attempt: TERM and after grace_ms KILL to the whole process group of
         * each. EXITED follows for each. grace_ms 0: KILL at once. */
        void (*stop)(Runtime *runtime, const char *const *tasks, int n, gint64 grace_ms);
        /* Sends a signal to the whole group: a warning. Nothing follows. */
        void (*signal)(Runtime *runtime, const char *task, int signo);
        /* The member has to go for another job; `why` is a sentence for those who look at it there. Nothing
         * follows. Or NULL: nobody looks. */
        void (*mark_preempting)(Runtime *runtime, const char *task, const char *why);
        /* A job whose members wait there may get another priority; `reprioritize` says which it has now, and
         * nothing follows. Any thread, the engine's thread; both NULL: members keep the one of their start.
         */
        bool (*takes_priority)(Runtime *runtime, const RuntimeAttempt *attempt);
        void (*reprioritize)(Runtime *runtime, const RuntimeAttempt *attempt);
        /* Runs a command beside a running member, as its user, in its directory, with its environment
         * (runtime/exec.h). Any thread, while the runtime is open; the caller's reference. NULL: it cannot.
         */
        RuntimeExec *(*exec)(Runtime *runtime, const char *task, const ExecStart *start);
        /* The observation of the task's end is durable: its record may go. */
        void (*forget)(Runtime *runtime, const char *task);
        /* An attempt is over and all its tasks are forgotten: its work directory may go, and what a cluster
         * still has of it at `expires` (ms since 1970; 0: now; G_MAXINT64: never). Said again it holds anew.
         */
        void (*clean)(Runtime *runtime, const char *job_id, int attempt, gint64 expires);

        /* Path of a member's log file; the caller's. The environment's build log: role "environment", index
         * 0. */
        char *(*log_path)(Runtime *runtime, const char *job_id, int attempt, const char *role, int index);
        /* The queues whose jobs come here (const Queue *, borrowed), when it is opened and whenever there may
         * be others. NULL: it has no use for them. */
        void (*queues)(Runtime *runtime, const GPtrArray *queues);
        /* Takes a question. NULL: the cluster has nothing to be asked. */
        void (*ask)(Runtime *runtime, RuntimeAsk *ask);
        /* The end of one that a driver has made (server/drivers.h), after close. NULL: its maker ends it. */
        void (*free)(Runtime *runtime);
} RuntimeOps;

/* Every driver's struct begins with this. */
struct Runtime {
        const RuntimeOps *ops;
};

/* Operations that a driver may leave NULL are called by these: they do what is said there for NULL, also when
 * `runtime` itself is NULL (a cluster that is not open). */
bool runtime_orders(Runtime *runtime, const RuntimeAttempt *attempt);
char *runtime_setup_problem(Runtime *runtime);
GPtrArray *runtime_nodes(Runtime *runtime);
bool runtime_usage(Runtime *runtime, const char *task, TaskUsage *ret);
bool runtime_gpu_usage(Runtime *runtime, int gpu, GpuUsage *ret);
char *runtime_report(Runtime *runtime, const char *job_id, int attempt, const char *role, int index);
bool runtime_prepare_wants(Runtime *runtime, const RuntimeAttempt *attempt, Resources *ret_wants);
bool runtime_was_prepared(Runtime *runtime, const RuntimeAttempt *attempt);
void runtime_abandon(Runtime *runtime, const char *job_id);
void runtime_mark_preempting(Runtime *runtime, const char *task, const char *why);
bool runtime_takes_priority(Runtime *runtime, const RuntimeAttempt *attempt);
void runtime_reprioritize(Runtime *runtime, const RuntimeAttempt *attempt);
RuntimeExec *runtime_exec(Runtime *runtime, const char *task, const ExecStart *start);
void runtime_queues(Runtime *runtime, const GPtrArray *queues);
bool runtime_ask(Runtime *runtime, RuntimeAsk *ask); /* false: `ask` stays the caller's */
void runtime_free(Runtime *runtime);
