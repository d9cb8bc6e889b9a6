/* A runtime turns an admitted job into running members and reports on them. No call blocks: an action is
 * queued, and its outcome comes back as an observation. Starting is idempotent by task name. After a crash
 * the engine requests everything that it intends again, and compares it with what the runtime reports. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"
#include "model/job.h"
#include "model/mount.h"
#include "model/resources.h"
#include "runtime/exec.h"

/* Identifies a member permanently: "<job id>.<attempt>.<role>.<index>"; [a-z0-9.-], at most TASK_NAME_MAX. An
 * environment that is being built is a task, too: "env.<hash>". */
enum { TASK_NAME_MAX = 160 };

/* A secret of the job's user for a member, as a variable or a file. */
typedef struct {
        const char *variable; /* or NULL */
        const char *file;     /* its name in the directory $PADDLE_SECRETS_DIR; or NULL */
        const char *value;    /* followed by a NUL byte; the value of a variable has no other NUL */
        gsize len;
} TaskSecret;

/* A directory of a file system for a member (model/mount.h). */
typedef struct {
        const char *fs;                /* its name */
        const char *root;              /* its directory on the machine; NULL: the home of the job's user */
        const char *claim, *namespace; /* by which pods reach it; or NULL */
        const char *sub, *path;
        bool read_only;
} TaskMount;

/* Everything that is needed to start a member. All borrowed for the call. The engine fills task, argv, env,
 * limits, grace, ready_* and the fields after new_privileges. The runtime completes env (directories, PATH,
 * PYTHONPATH), dir, log, binds, processes, user and new_privileges. */
typedef struct {
        const char *task;
        char *const *argv;         /* argv[0] is looked up in the PATH of `env` */
        char *const *env;          /* complete */
        const TaskSecret *secrets; /* of the attempt. Variables override those of `env`. Values are never
                                      shown, logged or written to a disk of the server */
        int n_secrets;
        const TaskMount *mounts; /* of the attempt; opened with the rights of the job's user */
        int n_mounts;
        const char *dir;          /* working directory; must exist */
        const char *log;          /* file that is appended to; it and its directory are created if missing */
        const char *log_banner;   /* a line written to the log before the start, or NULL */
        Resources limits;         /* 0: no limit; cpu_milli as a hard limit */
        const char *gpus;         /* only on this machine: the GPUs that the member was given, "0,2"; or
                                    NULL */
        gint64 cpu_weight_milli;  /* relative share if there is no hard limit */
        gint64 max_processes;     /* 0: no limit */
        gint64 user;              /* only on this machine: number of the user whose members share the limit
                                    `user_processes` */
        gint64 user_processes;    /* of all members of `user`; 0: no limit */
        gint64 log_limit;         /* bytes; 0: none */
        gint64 grace_ms;          /* used when its keeper has to end the member */
        int ready_port;           /* > 0: READY is observed when a process of the member listens on it */
        int ready_port_other;     /* > 0: or on this one */
        const char *progress;     /* file to which the member appends its reports (agent/report.h); or NULL */
        const char *ready_file;   /* not NULL: READY is observed when this file exists */
        const char *const *binds; /* pairs source, target, ..., NULL: directories to show under other names,
                                     where a mount namespace is available */
        const char *const *proxy; /* only on this machine: no network except a proxy (agent/proxied.h); or
                                     NULL */
        bool tty;                 /* argv has a terminal, held by a host (terminal/terminal.h), ... */
        gint64 hangup_ms;         /* ... and gets a hang-up after this time without a connected terminal; 0:
                                     never */
        bool new_privileges; /* only on this machine: set-uid programs give the member the rights of their
                                owners */
        const char *const *wait_for; /* ops->gates: addresses, "HOST:PORT" or "HOST:PORT,PORT" (either port),
                                        that must listen before argv runs; or NULL */
} TaskStart;

typedef struct {
        gint64 cpu_us, memory, memory_peak; /* memory: bytes now; memory_peak: the most since its start */
        gint64 processes;
} TaskUsage;

typedef struct {
        int percent;                 /* recent utilization, in percent of the time; -1: not reported */
        gint64 memory, memory_total; /* bytes, of all processes that use it */
} GpuUsage;

typedef enum {
        OBSERVED_STARTED, /* pid, time */
        OBSERVED_READY,
        OBSERVED_EXITED, /* exit and usage; repeated until forget() */
        OBSERVED_LOST, /* its keeper is gone and left no record, or a full disk prevented the start (no_space);
                          repeated until forget() */
        OBSERVED_START_FAILED, /* text: why; permanent: whether the same start would fail again; repeated
                                  until forget() */
        OBSERVED_SYNCED, /* all tasks that the runtime knows were reported since it (re)connected: a task that
                            is missing never ran */
        OBSERVED_PREPARED,       /* task = the job's id: its preparation of the kind `preparation` is ready */
        OBSERVED_PREPARE_FAILED, /* task = the job's id; `preparation`; text: why */
        OBSERVED_WAITS,  /* it is not running yet; text: why (no node has the capacity, an image is pulled) */
        OBSERVED_PLACED, /* the cluster assigned it to a node; text: the name */
        OBSERVED_TAKEN,  /* the cluster preempts it, or a third party requests its end; text: who and why */
        OBSERVED_STUCK,  /* it has waited for the longest time that the runtime's settings allow; text: why */
        OBSERVED_NODES,  /* the cluster's nodes have changed: read them again */
        OBSERVED_DISCONNECTED, /* actions are refused until the next OBSERVED_SYNCED */
} ObservationKind;

typedef struct {
        ObservationKind kind;
        PreparationKind preparation; /* PREPARED, PREPARE_FAILED */
        char task[TASK_NAME_MAX + 1];
        int pid;
        int exit_code; /* -1: ended by a signal */
        int signal;
        bool oom;
        bool hung_up;       /* EXITED: its terminal was closed and none was connected in time */
        bool permanent;     /* the same start would fail again: no such program, not permitted, ... */
        bool no_space;      /* LOST: it did not run, since a disk was full */
        gint64 time;        /* ms since 1970, when it happened */
        gint64 peak_memory; /* bytes; 0: unknown */
        gint64 cpu_us;
        char *text;   /* or NULL */
        char *report; /* EXITED: lines NAME=VALUE that it reported (model/results.h); or NULL */
        char *note;   /* EXITED with a failure: a likely reason, as a clause ("disk quota: ..."); or NULL */
        char *last_line; /* EXITED with a failure: the last line of its log (last-line.h); or NULL */
} Observation;
void observation_free(Observation *observation);
/* Moves `report`, which may be NULL, into the observation. The entries of its terminal's host
 * (terminal/terminal.h) are removed and become `hung_up`. Call it after the exit status is set. */
void observation_take_report(Observation *observation, char *report);
/* Removes the entries of a terminal's host from the lines NAME=VALUE. True if the host hung up. NULL:
 * false. */
bool report_take_hang_up(char *report);
/* True if a program ended with a status other than 0, or by a signal. */
bool observation_is_failure(const Observation *observation);

/* Called from the runtime's own thread; takes ownership of the observation. Must not block. */
typedef void (*ObserveFunc)(Observation *observation, void *arg);

/* A machine of the cluster on which members can run. */
typedef struct {
        char *name;
        Resources allocatable;
        Resources others; /* the part of it that is used by pods that are not ours */
        Resources system; /* the part of `others` that never becomes free: the cluster's own pods */
        char **labels;    /* "K=V", sorted; or NULL */
        bool ready;
        bool usable; /* ready, and accepts new members */
        char *why;   /* why it is not usable; or NULL */
} RuntimeNode;
void runtime_node_free(RuntimeNode *node);
RuntimeNode *runtime_node_copy(const RuntimeNode *node);
bool runtime_node_equal(const RuntimeNode *a, const RuntimeNode *b);

/* A request to a cluster's runtime, apart from its jobs: for one object, a page of a list, or the current log
 * of a container. The runtime that gets it owns it, answers it once, and then frees it. */
typedef enum { ASK_GET, ASK_LIST, ASK_CREATE, ASK_REPLACE, ASK_DELETE, ASK_LOG } RuntimeAskVerb;
typedef struct {
        RuntimeAskVerb verb;
        char *api_version, *kind;              /* "v1", "Pod" */
        char *namespace, *name;                /* namespace NULL: all of them; name NULL: none */
        json_t *body;                          /* CREATE, REPLACE */
        int limit;                             /* LIST: objects per page; 0: all at once */
        char *resume;                          /* LIST: `metadata.continue` of the previous page; or NULL */
        char *label_selector, *field_selector; /* LIST: only matching objects; or NULL */
        char *container;                       /* LOG: a container of the pod `name` */
        gint64 tail_lines;                     /* LOG: number of lines from the end; 0: from the beginning */
        gsize max_bytes; /* LOG: > 0; limit, applied to the first bytes or the last ones */
        /* The cluster's answer, borrowed, or why there is none. LOG: a string of arbitrary bytes; each line
         * follows its time. Any thread; must not block. */
        void (*answer)(json_t *object, const GError *error, void *arg);
        void *arg;
} RuntimeAsk;
void runtime_ask_answer(RuntimeAsk *ask, json_t *object, const GError *error);
void runtime_ask_free(RuntimeAsk *ask); /* an unanswered one is answered with ERR_UNAVAILABLE; NULL is a
                                           no-op */

typedef struct Runtime Runtime;
/* An attempt of a job, as passed to the runtime. Borrowed for the call. */
typedef struct {
        const Job *job;  /* with its specification; after placement also with its members, their nodes, ports
                            and GPUs. job->attempt: 0 while it only waits */
        gint64 user_seq; /* number of its user in the catalog, never reused; 0: unknown */
        const char *namespace; /* the requested one, or its queue's; or NULL */
        Resources builder;     /* prepare only: the resources counted for it, which it may use; 0: none
                                  were counted */
        char *const *location; /* of its queue (model/queue.h); or NULL */
        const char
                *topology; /* start only: "K=V" of the nodes that the scheduler chose for all members, if the
                              job requests a single value of K; or NULL */
} RuntimeAttempt;

/* How a driver makes one kind of preparation (model/preparation.h). */
typedef struct {
        /* Makes it for the job. PREPARED or PREPARE_FAILED of its kind follows. It may be repeated. A job for which
         * there is nothing to do is answered at once. */
        void (*prepare)(Runtime *runtime, const RuntimeAttempt *attempt);
        /* True if prepare would have nothing to do, so that submit, admission and start can be one
         * transaction. */
        bool (*is_prepared)(Runtime *runtime, const RuntimeAttempt *attempt);
        /* True if preparing uses resources on nodes of the cluster. *ret_wants is counted in the job's queue
         * until the answer, and prepare is called when the queue has that capacity. False: nothing is
         * counted. Any thread, does not block. NULL: false for every job. */
        bool (*wants)(Runtime *runtime, const RuntimeAttempt *attempt, Resources *ret_wants);
        /* True if everything was prepared before, as far as is known: prepare is called at once, and its
         * resources are counted meanwhile. As `wants`. NULL: unknown. */
        bool (*was_prepared)(Runtime *runtime, const RuntimeAttempt *attempt);
        /* The result of prepare is not needed any more: the job has ended, is held, or has moved to another
         * cluster. It is also called while the runtime is disconnected, and then once only: preparing ends when the
         * runtime is connected again. NULL: preparing continues. */
        void (*abandon)(Runtime *runtime, const char *job_id);
} RuntimePreparation;

typedef struct {
        const char *name;
        bool uses_images; /* members run in their job's image; false: the image is only recorded */
        const char
                *progress_file; /* file to which members report (PADDLE_PROGRESS_FILE); NULL: `start` sets the
                                   variable itself */
        bool gates; /* a member's program waits until wait_for listens, so all phases are started at once */

        /* Connects. Observations begin; the first complete report ends with OBSERVED_SYNCED. */
        bool (*open)(Runtime *runtime, ObserveFunc observe, void *arg, GError **error);
        /* Closes, and leaves everything running. */
        void (*close)(Runtime *runtime);

        /* True if the cluster itself starts members of this job in their order and gets all of them at once.
         * Any thread; NULL: always false. */
        bool (*orders)(Runtime *runtime, const RuntimeAttempt *attempt);

        /* Why jobs cannot have a setup command there: a sentence, a newline and what to do; the caller's.
         * NULL: they can. Any thread. The operation is NULL: a preparation runs setup commands. */
        char *(*setup_problem)(Runtime *runtime);

        /* Why jobs of `user` cannot have these mounts there: a sentence, a newline and what to do; the caller's.
         * NULL: they can. The engine's thread. The operation is NULL: only a start shows it. */
        char *(*mount_problem)(Runtime *runtime, const char *user, const TaskMount *mounts, int n);

        /* The total resources of the cluster. */
        void (*inventory)(Runtime *runtime, Resources *ret_total);
        /* Its nodes as of the last OBSERVED_SYNCED or OBSERVED_NODES: a list of RuntimeNode, each name once;
         * the caller's. NULL: it is one node, the machine of the server. */
        GPtrArray *(*nodes)(Runtime *runtime);
        /* The host name or address at which others reach a member of the job's attempt; the caller's. */
        char *(*address)(Runtime *runtime, const RuntimeAttempt *attempt, const char *role, int index);
        /* The current usage of a running member (its cgroup's own counters); false: unknown. Any thread,
         * short. */
        bool (*usage)(Runtime *runtime, const char *task, TaskUsage *ret);
        /* The current usage of the GPU with this number; false: unknown. Any thread, some ms. NULL: not
         * measured. */
        bool (*gpu_usage)(Runtime *runtime, int gpu, GpuUsage *ret);

        /* The reports of a member so far, as lines NAME=VALUE; the caller's. NULL: none. Any thread, short.
         * The operation is NULL: reports are unknown before the member's end. */
        char *(*report)(Runtime *runtime, const char *job_id, int attempt, const char *role, int index);

        /* By kind: how what a job needs before it can start is made there. NULL: no job needs that kind
         * there. */
        const RuntimePreparation *preparations[PREPARE_KINDS];

        /* Leases ports that are unused on the machines of the members: `n` for the members, then `extra` for
         * the job itself. They are returned by the job's id. False with ERR_UNAVAILABLE. No blocking I/O. */
        bool (*lease_ports)(Runtime *runtime, const char *job_id, int n, int extra, int *ret_ports,
                            GError **error);
        /* Marks ports as leased again, after a restart of the server. */
        void (*keep_ports)(Runtime *runtime, const char *job_id, int n, const int *ports);
        void (*release_ports)(Runtime *runtime, const char *job_id);

        /* Starts members of the attempt: the `n` that start now, sorted by role and index. Usually these are
         * all members of the job. They are fewer when an elastic role grows or a member returns. The runtime
         * creates the attempt's work directory if needed and completes the environment (directories, PATH,
         * PYTHONPATH). STARTED or START_FAILED follows for each. */
        void (*start)(Runtime *runtime, const RuntimeAttempt *attempt, const TaskStart *members, int n);
        /* Ends the `n` tasks, all of one attempt: TERM, and KILL after grace_ms, to the whole process group
         * of each. EXITED follows for each. grace_ms 0: KILL at once. */
        void (*stop)(Runtime *runtime, const char *const *tasks, int n, gint64 grace_ms);
        /* Sends a signal to the whole group, as a warning. No observation follows. */
        void (*signal)(Runtime *runtime, const char *task, int signo);
        /* Marks the member as preempted by another job. `why` is a sentence for people who look at it in the
         * cluster. No observation follows. NULL: there is nothing to mark. */
        void (*mark_preempting)(Runtime *runtime, const char *task, const char *why);
        /* takes_priority: true if the priority of a job whose members wait in the cluster can be changed
         * there. reprioritize: its priority is now that of the attempt's job; no observation follows.
         * takes_priority on any thread, reprioritize on the engine's. Both NULL: members keep the priority
         * with which they were started. */
        bool (*takes_priority)(Runtime *runtime, const RuntimeAttempt *attempt);
        void (*reprioritize)(Runtime *runtime, const RuntimeAttempt *attempt);
        /* Runs a command beside a running member, as its user, in its directory, with its environment
         * (runtime/exec.h). Any thread, while the runtime is open; the caller's reference. NULL: not
         * supported. */
        RuntimeExec *(*exec)(Runtime *runtime, const char *task, const ExecStart *start);
        /* The observation of the task's end is durable: its record may be deleted. */
        void (*forget)(Runtime *runtime, const char *task);
        /* An attempt has ended and all its tasks are forgotten. Its work directory may be deleted, and its
         * objects in a cluster at `expires` (ms since 1970; 0: now; G_MAXINT64: never). A later call replaces
         * `expires`. */
        void (*clean)(Runtime *runtime, const char *job_id, int attempt, gint64 expires);

        /* Path of a member's log file; the caller's. The build log of the environment: role "environment",
         * index 0. */
        char *(*log_path)(Runtime *runtime, const char *job_id, int attempt, const char *role, int index);
        /* The queues whose jobs run here (const Queue *, borrowed), at opening and after changes. NULL: not
         * needed. */
        void (*queues)(Runtime *runtime, const GPtrArray *queues);
        /* Takes a request. NULL: the cluster supports none. */
        void (*ask)(Runtime *runtime, RuntimeAsk *ask);
        /* Frees a runtime that a driver created (server/drivers.h), after close. NULL: its creator frees
         * it. */
        void (*free)(Runtime *runtime);
} RuntimeOps;

/* Every driver's struct begins with this. */
struct Runtime {
        const RuntimeOps *ops;
};

/* Callers for operations that a driver may leave NULL. They behave as documented there for NULL, also if
 * `runtime` itself is NULL (a cluster that is not open). */
bool runtime_orders(Runtime *runtime, const RuntimeAttempt *attempt);
char *runtime_setup_problem(Runtime *runtime);
char *runtime_mount_problem(Runtime *runtime, const char *user, const TaskMount *mounts, int n);
GPtrArray *runtime_nodes(Runtime *runtime);
bool runtime_usage(Runtime *runtime, const char *task, TaskUsage *ret);
bool runtime_gpu_usage(Runtime *runtime, int gpu, GpuUsage *ret);
char *runtime_report(Runtime *runtime, const char *job_id, int attempt, const char *role, int index);
/* The operations of one preparation. A driver without that kind: every job is prepared, and runtime_prepare does
 * nothing. `runtime` NULL: no job is prepared. */
bool runtime_has_preparation(Runtime *runtime, PreparationKind kind);
void runtime_prepare(Runtime *runtime, PreparationKind kind, const RuntimeAttempt *attempt);
bool runtime_is_prepared(Runtime *runtime, PreparationKind kind, const RuntimeAttempt *attempt);
bool runtime_prepare_wants(Runtime *runtime, PreparationKind kind, const RuntimeAttempt *attempt,
                           Resources *ret_wants);
bool runtime_was_prepared(Runtime *runtime, PreparationKind kind, const RuntimeAttempt *attempt);
void runtime_abandon(Runtime *runtime, PreparationKind kind, const char *job_id);
void runtime_mark_preempting(Runtime *runtime, const char *task, const char *why);
bool runtime_takes_priority(Runtime *runtime, const RuntimeAttempt *attempt);
void runtime_reprioritize(Runtime *runtime, const RuntimeAttempt *attempt);
RuntimeExec *runtime_exec(Runtime *runtime, const char *task, const ExecStart *start);
void runtime_queues(Runtime *runtime, const GPtrArray *queues);
bool runtime_ask(Runtime *runtime, RuntimeAsk *ask); /* false: the caller still owns `ask` */
void runtime_free(Runtime *runtime);
