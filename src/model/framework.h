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
        ENDS_WITH_ALL, /* the job succeeds when all members of the role have exited with 0 */
        ENDS_WITH_JOB, /* stopped when the ENDS_WITH_ALL roles are done; an earlier exit fails the job */
        ENDS_EARLY_OR_WITH_JOB, /* stopped likewise, but may exit with 0 before that */
} RoleEnd;

typedef struct {
        const char *name;
        RoleEnd end;
        int phase;     /* roles of phase n+1 start when all members of phase n are ready */
        bool listens;  /* ready when it listens on its port; else as soon as it runs. Its first member must
                          also listen on the framework's extra port: Paddle's server 0 serves the start
                          barrier there and opens its own port only after it */
        bool has_port; /* has its own port lease (the endpoint) */
        const char *training_role;  /* TRAINING_ROLE, or NULL */
        bool implied;               /* a job with other roles but not this one gets one member of it */
        const char *const *prefix;  /* words put in front of the command, or NULL: a script that prepares the
                                       working directory and then execs "$@" */
        const char *const *program; /* the command if neither the role nor the job has one; or NULL */
        bool program_only; /* always run `program`, whatever command role and job have (an executor, a rank's
                              host) */
} FrameworkRole;

enum {
        FRAMEWORK_ROLES_MAX = 5, /* the last one stays empty: it ends the list */
        /* Bytes of one "NAME=VALUE": the limit of execve(2). */
        VARIABLE_MAX = 128 * 1024 - 1,
};

typedef struct Framework {
        const char *name;                         /* "paddle-ps" */
        const char *help;                         /* one sentence */
        FrameworkRole roles[FRAMEWORK_ROLES_MAX]; /* ends with a NULL name */
        const char *main_role; /* the role of a job without a list of roles (one member), which --trainers
                                  counts */
        const char *paddleflow_name; /* PF_JOB_FRAMEWORK: the name in PaddleFlow */
        RoleEnd (*role_end)(const Spec *spec,
                            const FrameworkRole *role); /* how a role ends, where it depends on the job; NULL:
                                                           role->end */
        bool tells_all;  /* each member gets the addresses of all members of each role, one variable a role */
        bool fixed;      /* its members agree on their number at the start (a rendezvous, a host file): no
                            member of an elastic job joins or leaves while an attempt runs */
        bool single;     /* each member is a separate object, even if one object could be a role */
        bool secret;     /* if its members are on machines of their own they share a secret of the attempt,
                            PADDLE_GATE_SECRET, and have the gate (src/gate) as PADDLE_GATE */
        int extra_ports; /* number of ports leased for the job besides those of members, e.g. 1 for the gloo
                            rendezvous */
        bool (*check)(const Spec *spec, GError **error); /* checks the numbers of replicas, e.g. "trainers >=
                                                            1" */
        void (*member_env)(const Placement *placement, int role, int index,
                           GPtrArray *env); /* appends "K=V" */
} Framework;

/* The addresses, ports and devices of an attempt's members: known at admission, kept with the job. */
struct Placement {
        const Spec *spec;
        const char *job_id, *job_name, *user, *dc;
        const char *queue;         /* NULL: "default" */
        const char *namespace;     /* NULL: the user's name is used */
        int attempt;               /* from 1 */
        int restart;               /* > 0 for a member that is started again within the attempt */
        bool elastic;              /* members may join and leave during the attempt */
        const int *replicas;       /* replicas[role]: members that are present, at most as many as `spec` asks
                                      for; NULL: all of them */
        char *const *const *hosts; /* hosts[role][index]: the address at which others reach the member; NULL:
                                      all members are on this machine */
        int *const *ports;         /* ports[role][index]; 0 if the role has none */
        const int *extra_ports;    /* the framework's extra_ports */
        char *const *const *gpus;  /* gpus[role][index]: "0,1", or NULL */
};

const Framework *framework_find(const char *name); /* NULL: unknown */
const Framework *const *framework_all(void);       /* NULL-terminated, for messages and documentation */
char *framework_names(void);                       /* "paddle-ps, paddle-collective, plain" */
const FrameworkRole *framework_role(const Framework *framework,
                                    const char *role); /* NULL: the framework has no such role */

/* The index of the role called `name` in the specification; -1: not found. */
int spec_role_index(const Spec *spec, const char *name);

/* How members of the role `r` of the specification end. */
RoleEnd framework_role_end(const Spec *spec, int r);

/* True if all roles of earlier phases listen on ports, so that a waiting member can check by these ports
 * alone that they are ready. */
bool framework_phases_listen(const Spec *spec);

/* The value that the user gave a variable for the role `r`, or NULL. */
const char *spec_user_env(const Spec *spec, int r, const char *name);

/* The command that the user gave the role `r`, without the additions of its row; NULL: none, or the row
 * ignores it. */
char *const *spec_user_argv(const Spec *spec, int r);

/* The command of a member of the role `r`, with all additions of its row: a new list of borrowed words,
 * NULL-terminated; free it with g_free. NULL: there is no command. */
char **framework_argv(const Spec *spec, int r);

/* The whole environment that a member gets from the platform; later entries override earlier ones: the job's
 * identity (PADDLE_JOB_NAME, PADDLE_JOB_ID, PADDLE_CLOUD_*, PF_*), the framework's own, then the user's
 * (spec->env, role->env). The runtime adds directories (PADDLE_INPUT, PADDLE_OUTPUT, TRAINER_PACKAGE,
 * PYTHONPATH, PATH). NULL-terminated, the caller's g_strfreev. */
char **framework_environment(const Placement *placement, int role, int index);

/* ---- the names of PaddleFlow ----
 * Its clients name a framework and members of roles (doc/reference/paddleflow-api.md, "Frameworks and
 * roles"). Validation takes all frameworks of that table; a cluster then runs those that it has a row for. */

typedef enum {
        PADDLEFLOW_PSERVER,
        PADDLEFLOW_MASTER,
        PADDLEFLOW_WORKER, /* also called "pworker" */
        PADDLEFLOW_DRIVER,
        PADDLEFLOW_EXECUTOR,
        PADDLEFLOW_ROLES,
} PaddleFlowRole;

typedef struct PaddleFlowFramework PaddleFlowFramework;

const PaddleFlowFramework *
paddleflow_framework_find(const char *name);  /* NULL: unknown. The name is in lower case */
char *paddleflow_framework_names(void);       /* "paddle, tensorflow, ..."; the caller's */
char *paddleflow_framework_distributed(void); /* of these, those of several members that can run here */
const char *paddleflow_framework_name(const PaddleFlowFramework *framework);

/* "PS" or "Collective"; NULL: the framework has no modes (plain, mpi, spark). */
const char *framework_mode(const Spec *spec);

/* Validation. The role that the word means; ERR_INVALID if this framework has no such role. */
bool paddleflow_role_parse(const PaddleFlowFramework *framework, const char *word, PaddleFlowRole *ret,
                           GError **error);
const char *
paddleflow_role_name(PaddleFlowRole role); /* "pserver", "master", "worker", "driver", "executor" */

/* Validation of the numbers of all members by the framework's rule. *ret_mode becomes PF_JOB_MODE, "PS" or
 * "Collective" ("" for frameworks without modes). ERR_INVALID names rule and counts. */
bool paddleflow_counts_check(const PaddleFlowFramework *framework, const int counts[PADDLEFLOW_ROLES],
                             const char **ret_mode, GError **error);

/* The row that runs such a job. NULL with ERR_INVALID and the reason if there is none, or if the row has no
 * such role. Call it after paddleflow_counts_check(). */
const Framework *paddleflow_framework_row(const PaddleFlowFramework *framework,
                                          const int counts[PADDLEFLOW_ROLES], GError **error);
