/* A `start` request of the server: parsed from JSON, checked, and packed for the spawner. Pure. */
#pragma once

#include "agent/sandbox.h"
#include "agent/wire.h"
#include "base/json.h"

enum { TASK_NAME_SIZE = 161 }; /* with its NUL; the syntax is in doc/internals/agent.md */

/* All borrowed from the JSON object. Lists may be NULL. */
typedef struct {
        const char *task, *dir, *log, *banner, *ready_file;
        const char *progress; /* the file for its reports (report.h); or NULL */
        json_t *argv, *env, *binds;
        json_t *proxy;       /* its only network: the proxy's program and variables (proxied.h); or NULL */
        json_t *groups;      /* group numbers of `uid` */
        gint64 uid, gid;     /* -1: those of the agent */
        bool new_privileges; /* set-uid programs may give the member the rights of their owners */
        guint32 sandbox;     /* requested SandboxPart bits */
        bool tty;            /* its program has a terminal */
        gint64 hangup_ms;    /* the program is hung up after this time without a watcher; 0: never */
        bool egress;         /* it may only connect to addresses that the server allows */
        bool shared;         /* the members of the task's attempt share a sandbox */
        const char *place;   /* the attempt's directory, of a shared sandbox */
        json_t *mounts;      /* WIRE_MOUNT_WORDS strings each (mounts.h) */
        json_t *keep;        /* directories that stay visible in a sandbox */
        gint64 read_only;    /* the first of them are read-only */
        gint64 ready_port, ready_port_other, log_bytes, grace_ms;
        gint64 user;           /* the user whose members share a process limit; 0: none */
        gint64 user_processes; /* the limit of all of them; 0: no limit */
        SlotLimits limits;
} StartRequest;

bool task_name_is_valid(const char *name);

/* False with ERR_INVALID that names the wrong field. `ret->task` is set whenever it is valid, also on
 * failure. */
bool start_request_parse(const json_t *object, StartRequest *ret, GError **error);

/* The message for the spawner: a WireSpawn and its strings. Each may be NULL: `spare`, a state file to reuse;
 * `sandboxes`, the directory of unshared sandboxes; `egress`, the cgroup of members with an egress limit. */
GByteArray *start_request_pack(const StartRequest *request, guint64 id, const char *spare, int slot_number,
                               const Slot *slot, const char *sandboxes, const char *egress);
