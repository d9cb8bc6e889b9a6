/* The local runtime: members are processes of this machine, kept by `paddle-agent` (protocol: doc/internals/agent.md).
 */
#pragma once

#include "runtime/environment/bounds.h"
#include "runtime/local/identity.h"
#include "runtime/runtime.h"
#include "storage/ledger.h"
#include "storage/project.h"

/* Whether members that run as users have a sandbox (doc/guide/security.md): as far as this machine has its parts,
 * all of it or no start, none. */
typedef enum { SANDBOX_AUTO, SANDBOX_ON, SANDBOX_OFF } SandboxPolicy;

typedef struct {
        const char *state_dir;
        const char *agent_program;   /* path of paddle-agent */
        const char *dc;              /* datacenter name of the storage */
        const char *uv;              /* program, or NULL: looked up in PATH, else pip */
        const char *python;          /* interpreter for environments, or NULL: python3 of PATH */
        Resources inventory;         /* 0 in a field: what the machine has */
        gint64 log_limit;            /* bytes per log file; 0: none */
        gint64 max_processes;        /* per member; 0: none */
        gint64 max_user_processes;   /* of all members of a user together; 0: a quarter of the machine's */
        Projects *projects;          /* borrowed; ids of the directories of jobs and environments; or NULL */
        Ledger *ledger;              /* borrowed; who may hold how much; or NULL */
        Identities *identities;      /* borrowed; whom members run as. NULL: as the server, all of them */
        BuildBounds builds;          /* of builders of environments */
        char *const *new_privileges; /* users whose members may gain rights by set-uid programs; or NULL */
        SandboxPolicy sandbox;
        const char
                *egress; /* JSON: what members that run as users may connect to (local/egress.h); or NULL */
        char *const *no_sandbox;   /* users whose members have none; or NULL */
        char *const *sandbox_keep; /* directories that all members see as the machine has them; or NULL */
        gint64 epoch;              /* grows with each start of the server; the agent refuses older ones */
} LocalConfig;

Runtime *local_runtime_new(const LocalConfig *config, GError **error);
void local_runtime_free(Runtime *runtime);
