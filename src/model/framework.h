/* Frameworks as rows of a table: which roles a job has, in which order they start, which variables each
 * member gets, and when the job counts as done. Adding a framework is adding a row (and, if its variables are
 * new, one function). Variables: doc/reference/paddle-cloud.md, "Variables of a job";
 * doc/reference/paddle-operator.md, "Environment of a pod" and "The ConfigMap of a job";
 * doc/reference/scheduling.md, "Variables of members" and "How members find each other". */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/spec.h"

typedef struct Placement Placement;

typedef enum {
        ENDS_WITH_ALL, /* the role's members all have to exit 0 for the job to succeed */
        ENDS_WITH_JOB, /* stopped when the ENDS_WITH_ALL roles are done; an exit before that is a failure of
                          the job */
        ENDS_EARLY_OR_WITH_JOB, /* stopped likewise, but may have exited with 0 before */
} RoleEnd;

typedef struct {
        const char *name;
        RoleEnd end;
        int phase;     /* roles of phase n+1 start when all members of phase n are ready */
        bool listens;  /* ready when it listens on its port (its first member also on the framework's extra
                        * port: Paddle's  server 0 serves the start barrier there and opens its own port only
                        * after it); otherwise as soon as it runs */
        bool has_port; /* gets a port lease of its own (the endpoint) */
        const char *training_role;  /* TRAINING_ROLE, or NULL */
        bool implied;               /* a job that has other roles, but not this one, gets one member of it */
        const char *const *prefix;  /* words put in front of the command, or NULL: a script that prepares the
                                     * ground in the working directory and then execs "$@" */
        const char *const *program; /* the command when neither role nor job give one, or NULL */
        bool program_only; /* `program` runs whatever role and job say (an executor, a rank's host) */
} FrameworkRole;

enum {
        FRAMEWORK_ROLES_MAX = 5, /* the last stays empty: it ends the list */
        /* Bytes of "NAME=VALUE": no program is given more in one (execve(2)). */
        VARIABLE_MAX = 128 * 1024 - 1,
};

typedef struct Framework {
        const char *name;                         /* "paddle-ps" */
        const char *help;                         /* one sentence */
        FrameworkRole roles[FRAMEWORK_ROLES_MAX]; /* ends with a NULL name */
        const char *main_role; /* what a job without a list of roles has one of, and what --trainers counts */
        const char *flow_name; /* PF_JOB_FRAMEWORK: what PaddleFlow calls it */
        RoleEnd (*role_end)(const Spec *spec,
                            const FrameworkRole *role); /* where it depends on the job; NULL: role->end */
        bool tells_all;  /* each member is told where all members of each role stand, a role in a variable */
        bool fixed;      /* its members agree on their number at the start (a rendezvous, a host file): of an
                          * elastic      job none joins or leaves while an attempt runs */
        bool single;     /* its members stand for themselves, also where a role could be one object */
        bool secret;     /* its members know a secret of the attempt's, where they stand on machines of their
                          * own: PADDLE_GATE_SECRET, and the gate (src/gate) as PADDLE_GATE */
        int extra_ports; /* leases of the job besides the members', e.g. 1 for the gloo rendezvous */
        bool (*check)(const Spec *spec, GError **error); /* replica rules, e.g. "trainers >= 1" */
        void (*member_env)(const Placement *placement, int role, int index,
                           GPtrArray *env); /* appends "K=V" */
} Framework;

/* Where the members of an attempt stand: known at admission, kept with the job. */
struct Placement {
        const Spec *spec;
        const char *job_id, *job_name, *user, *dc;
        const char *queue;     /* NULL: "default" */
        const char *namespace; /* NULL: the user's name stands for one */
        int attempt;           /* from 1 */
        int restart;           /* > 0 for a member that is started again inside the attempt */
        bool elastic;          /* members may join and leave during the attempt; `spec` counts those of now */
        char *const *const *hosts; /* hosts[role][index]: where others reach the member; NULL: all members
                                    * stand on this machine */
        int *const *ports;         /* ports[role][index], 0 where the role has none */
        const int *extra_ports;    /* the framework's extra_ports */
        char *const *const *gpus;  /* gpus[role][index]: "0,1", or NULL */
};

const Framework *framework_find(const char *name); /* NULL: unknown */
const Framework *const *framework_all(void);       /* NULL-terminated, for messages and documentation */
char *framework_names(void);                       /* "paddle-ps, paddle-collective, plain" */
const FrameworkRole *framework_role(const Framework *framework,
                                    const char *role); /* NULL: it has no such role */

/* The index of the role called `name` in the specification; -1: there is none. */
int spec_role_index(const Spec *spec, const char *name);

/* When a member of the role `r` of the specification ends. */
RoleEnd framework_role_end(const Spec *spec, int r);

/* Who waits for an earlier phase sees by its ports alone that it is ready. */
bool framework_phases_listen(const Spec *spec);

/* The value that the person gave a variable for the role `r`, or NULL. */
const char *spec_user_env(const Spec *spec, int r, const char *name);

/* The command that the person gave the role `r`, without what its row adds; NULL: none, or it is not asked.
 */
char *const *spec_user_argv(const Spec *spec, int r);

/* The command of a member of the role `r`, with all that its row adds: an own list of borrowed words,
 * NULL-terminated, the caller's g_free. NULL: nobody says what to run. */
char **framework_argv(const Spec *spec, int r);

/* The whole environment a member gets from the platform, later entries winning: the job's identity
 * (PADDLE_JOB_NAME, PADDLE_JOB_ID, PADDLE_CLOUD_*, PF_*), the framework's own, then the user's (spec->env,
 * role->env). Directories (PADDLE_INPUT, PADDLE_OUTPUT, TRAINER_PACKAGE, PYTHONPATH, PATH) are the runtime's
 * to add. NULL-terminated, the caller's g_strfreev. */
char **framework_environment(const Placement *placement, int role, int index);

/* ---- the names of PaddleFlow ----
 * Its clients name a framework and members of roles (doc/reference/paddleflow-api.md, "Frameworks and
 * roles"). Validation takes all frameworks of that table; a cluster then runs those that it has a row for. */

typedef enum {
        FLOW_PSERVER,
        FLOW_MASTER,
        FLOW_WORKER, /* also said "pworker" */
        FLOW_DRIVER,
        FLOW_EXECUTOR,
        FLOW_ROLES,
} FlowRole;

typedef struct FlowFramework FlowFramework;

const FlowFramework *flow_framework_find(const char *name); /* NULL: unknown. In lower case */
char *flow_framework_names(void);                           /* "paddle, tensorflow, ..."; the caller's */
const char *flow_framework_name(const FlowFramework *framework);

/* "PS" or "Collective", or NULL where there is no such thing (plain, mpi, spark). */
const char *framework_mode(const Spec *spec);

/* Validation. Which role the word means; ERR_INVALID when this framework has no such role. */
bool flow_role_parse(const FlowFramework *framework, const char *word, FlowRole *ret, GError **error);
const char *flow_role_name(FlowRole role); /* "pserver", "master", "worker", "driver", "executor" */

/* Validation, all members being counted: the rule of the framework. *ret_mode is then PF_JOB_MODE, "PS" or
 * "Collective" ("" for the frameworks that have none). ERR_INVALID names rule and counts. */
bool flow_counts_check(const FlowFramework *framework, const int counts[FLOW_ROLES], const char **ret_mode,
                       GError **error);

/* The row that runs such a job. NULL with ERR_INVALID and the reason when there is
 * none, or the row has no such role. Asked after flow_counts_check(). */
const Framework *flow_framework_row(const FlowFramework *framework, const int counts[FLOW_ROLES],
                                    GError **error);
