/* The local runtime from inside: what local.c, start.c and copies.c share. */
#pragma once

#include <pthread.h>

#include "base/thread-pool.h"
#include "runtime/local/builds.h"
#include "runtime/local/gpu-usage.h"
#include "runtime/local/gpus.h"
#include "runtime/local/link.h"
#include "runtime/local/local.h"
#include "runtime/local/message.h"
#include "runtime/local/ports.h"
#include "runtime/local/secret-files.h"
#include "runtime/local/sessions.h"
#include "runtime/local/terminal.h"
#include "runtime/local/turns.h"
#include "runtime/local/workdir.h"
#include "storage/storage.h"

typedef struct LocalRuntime LocalRuntime;
struct LocalRuntime {
        Runtime runtime;
        char *state_dir, *agent_program, *dc, *uv, *python;
        Identities *identities; /* borrowed; NULL: all members run as the server */
        Projects *projects;     /* borrowed; or NULL */
        Ledger *ledger;         /* the same */
        char **new_privileges;  /* users with this right; or NULL */
        SandboxPolicy policy;
        char *egress;        /* allowed connections of users' members; or NULL */
        char **no_sandbox;   /* users without a sandbox; or NULL */
        char **keep;         /* directories that every sandbox shows */
        char *sdk;           /* contains our Python package, for PYTHONPATH; or NULL */
        char *fallback_path; /* contains `python` if this machine's PATH has only python3; or NULL */
        Resources total;
        GpuDevices gpus;
        GpuMeter *gpu_meter;
        Sessions *sessions;
        gint64 log_limit, max_processes, max_user_processes;
        BuildBounds bounds; /* of builders; `allow` is not stored */
        char **inherited;   /* by members that run as the server's user */
        char **inherited_by_others;
        Storage *storage;
        Ports *ports;
        AgentLink *link;
        Builds *builds;
        ThreadPool *workers, *copiers; /* for blocking work: copies, removals, running an interpreter */
        Spares *spares;
        Terminals *terminals;
        SecretFiles *secrets;
        GHashTable *attempts; /* link's thread: attempts reported before the first sync; then NULL */
        ObserveFunc observe;
        void *observe_arg;

        pthread_mutex_t lock;
        bool closing;
        GHashTable *copies; /* name -> Copy, see copies.c */
        Turns *turns;       /* of copies */
        GHashTable *pids;   /* running task -> its process, as reported */
};

static inline const Owner *local_owner(const Identity *identity)
{
        return identity ? &identity->owner : NULL;
}

/* A worker's task; owns its memory. */
typedef struct Work Work;
struct Work {
        LocalRuntime *local;
        void (*run)(LocalRuntime *local, Work *work);
        char *text[2];
        char *user, *setup, *setup_files, *package; /* of a build; or NULL */
        gint64 user_seq;                            /* number of that user in the catalog */
        Resources limits;                           /* of a build */
        Identity *identity;                         /* or NULL */
};

Work *local_work_new(LocalRuntime *local, void (*run)(LocalRuntime *, Work *), const char *first,
                     const char *second, const Identity *identity);
/* A function of a thread pool; `arg` is a Work. */
void local_work_run(bool stopped, void *arg);

/* A missing, forbidden or malformed file makes the error permanent. After a full disk the member is reported as lost. */
void local_post_failure(LocalRuntime *local, const char *task, const GError *failure);
/* "<id>.<attempt>" of "<id>.<attempt>.<role>.<index>"; the caller's. */
char *local_attempt_of(const char *task);

/* ---- start.c ---- */

/* The temporary results of a start, so that one place frees them. */
typedef struct {
        char *attempt_dir, *work, *by_name, *environment, *made, *input, *output, *ready_file, *progress,
                *log, *gpus_seen;
        GPtrArray *binds;
        char *home;        /* the user's, in the storage; with mounts */
        TaskMount *mounts; /* TaskStart.mounts with their roots; or NULL */
        char *secrets;     /* directory of the attempt's files with secrets; or NULL */
        char **keep;       /* Sandbox.keep with that directory; NULL: the common list */
        char **env;
        Identity *identity; /* NULL: the server */
        Sandbox sandbox;
} Plan;

/* Starts a member: everything that its process needs is made or found, and the request sent. */
bool local_start(LocalRuntime *local, const RuntimeAttempt *attempt, const TaskStart *task, GError **error);
/* The identity of a user's members; *ret NULL: the server. */
bool local_find_identity(LocalRuntime *local, const char *user, gint64 seq, Identity **ret, GError **error);
bool local_has_new_privileges(const LocalRuntime *local, const char *user);
/* The sandbox parts for a member of `user`; `is_server`: it runs as the server itself. */
guint local_wanted_parts(const LocalRuntime *local, const char *user, bool is_server);
/* A copy of the list with one more entry, which is the first; the caller's. */
char **local_list_with(char *const *list, const char *one);
EnvironmentRecipe local_recipe(const RuntimeAttempt *attempt);

/* ---- copies.c ---- */

/* The package's tree; the caller's. NULL: none. */
char *local_package(const LocalRuntime *local, const RuntimeAttempt *attempt);
/* Takes ownership of the line: sends it, or lets it wait for the copy of the package. */
void local_start_with_package(LocalRuntime *local, const RuntimeAttempt *attempt, const Plan *plan,
                              const char *task, GString *line);
/* True if the start of `task` was waiting here; it is removed. */
bool local_withdraw(LocalRuntime *local, const char *task);
/* The attempt is over: the copy stops and is deleted. False: none is being made. */
bool local_cancel_copy(LocalRuntime *local, const char *name);
GHashTable *local_copies_new(void);
void local_remove_dir(const char *attempt_dir); /* with a warning if it fails */
