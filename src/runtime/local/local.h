/* The local runtime: members are processes of this machine, managed by `paddle-agent` (protocol:
 * doc/internals/agent.md). */
#pragma once

#include "runtime/environment/bounds.h"
#include "runtime/local/identity.h"
#include "runtime/runtime.h"
#include "storage/ledger.h"
#include "storage/project.h"

/* The sandbox of members that run as users (doc/guide/security.md): the available parts; all parts or no
 * start; none. */
typedef enum { SANDBOX_AUTO, SANDBOX_ON, SANDBOX_OFF } SandboxPolicy;

typedef struct {
        const char *state_dir;
        const char *agent_program;   /* path of paddle-agent */
        const char *dc;              /* datacenter name of the storage */
        const char *uv;              /* program, or NULL: looked up in PATH, else pip */
        const char *python;          /* interpreter for environments, or NULL: python3 of PATH */
        Resources inventory;         /* 0 in a field: the machine's own */
        gint64 log_limit;            /* bytes per log file; 0: unlimited */
        gint64 max_processes;        /* per member; 0: unlimited */
        gint64 max_user_processes;   /* of all members of a user; 0: a quarter of the machine's */
        Projects *projects;          /* borrowed; ids of the directories of jobs and environments; or NULL */
        Ledger *ledger;              /* borrowed; disk limits of users; or NULL */
        Identities *identities;      /* borrowed; NULL: all members run as the server */
        BuildBounds builds;          /* of builders of environments */
        char *const *new_privileges; /* users whose members may gain rights by set-uid programs; or NULL */
        SandboxPolicy sandbox;
        const char *egress;        /* JSON: allowed connections of users' members (local/egress.h); or NULL */
        char *const *no_sandbox;   /* users whose members have no sandbox; or NULL */
        char *const *sandbox_keep; /* the machine's directories that every sandbox shows; or NULL */
        gint64 epoch;              /* incremented at each start of the server; the agent refuses older ones */
} LocalConfig;

Runtime *local_runtime_new(const LocalConfig *config, GError **error);
void local_runtime_free(Runtime *runtime);
