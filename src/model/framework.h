/* Frameworks as rows of a table: which roles a job has, in which order they start, which variables each
 * member gets, and when the job counts as done. Adding a framework is adding a row (and, if its variables are
 * new, one function). Variables: cloud.md 2.6, operator.md 2.5-2.6, scheduling.md 8.1 and 15.3. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/spec.h"

typedef struct Placement Placement;

typedef enum {
        ENDS_WITH_ALL, /* the role's members all have to exit 0 for the job to succeed */
        ENDS_WITH_JOB, /* stopped when the ENDS_WITH_ALL roles are done; an exit before that is a failure of
                          the job */
} RoleEnd;

typedef struct {
        const char *name;
        RoleEnd end;
        int phase;     /* roles of phase n+1 start when all members of phase n are ready */
        bool listens;  /* ready when it listens on its port (its first member also on the framework's extra
                        * port: Paddle's  server 0 serves the start barrier there and opens its own port only
                        * after it); otherwise as soon as it runs */
        bool has_port; /* gets a port lease of its own (the endpoint) */
        const char *training_role; /* TRAINING_ROLE, or NULL */
} FrameworkRole;

enum { FRAMEWORK_ROLES_MAX = 4 };

typedef struct Framework {
        const char *name;                         /* "paddle-ps" */
        const char *help;                         /* one sentence */
        FrameworkRole roles[FRAMEWORK_ROLES_MAX]; /* ends with a NULL name */
        int extra_ports; /* leases of the job besides the members', e.g. 1 for the gloo rendezvous */
        bool (*check)(const Spec *spec, GError **error); /* replica rules, e.g. "trainers >= 1" */
        void (*member_env)(const Placement *placement, int role, int index,
                           GPtrArray *env); /* appends "K=V" */
} Framework;

/* Where the members of an attempt stand: known at admission, kept with the job. */
struct Placement {
        const Spec *spec;
        const char *job_id, *job_name, *user, *dc, *queue;
        int attempt;              /* from 1 */
        int restart;              /* > 0 for a member that is started again inside the attempt */
        const char *host;         /* "127.0.0.1" */
        int *const *ports;        /* ports[role][index], 0 where the role has none */
        const int *extra_ports;   /* the framework's extra_ports */
        char *const *const *gpus; /* gpus[role][index]: "0,1", or NULL */
};

const Framework *framework_find(const char *name); /* NULL: unknown */
const Framework *const *framework_all(void);       /* NULL-terminated, for messages and documentation */
char *framework_names(void);                       /* "paddle-ps, paddle-collective, plain" */
const FrameworkRole *framework_role(const Framework *framework,
                                    const char *role); /* NULL: it has no such role */

/* The whole environment a member gets from the platform, later entries winning: the job's identity
 * (PADDLE_JOB_NAME, PADDLE_JOB_ID, PADDLE_CLOUD_*, PF_*), the framework's own, then the user's (spec->env,
 * role->env). Directories (PADDLE_INPUT, PADDLE_OUTPUT, TRAINER_PACKAGE, PYTHONPATH, PATH) are the runtime's
 * to add. NULL-terminated, the caller's g_strfreev. */
char **framework_environment(const Placement *placement, int role, int index);
