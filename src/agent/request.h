/* A `start` line of the server: read from JSON, checked, and packed for the spawner. Pure. */
#pragma once

#include "agent/sandbox.h"
#include "agent/wire.h"
#include "base/json.h"

enum { TASK_NAME_SIZE = 161 }; /* with its NUL; the rule is in doc/internals/agent.md */

/* All borrowed from the JSON object. Lists may be NULL. */
typedef struct {
        const char *task, *dir, *log, *banner, *ready_file;
        const char *progress; /* of what it reports (report.h); or NULL */
        json_t *argv, *env, *binds;
        json_t *proxy;   /* no network but a proxy: its program, then its variables (proxied.h); or NULL */
        json_t *groups;  /* numbers; of `uid` */
        gint64 uid, gid; /* -1: the agent's own */
        bool new_privileges; /* set-uid programs give the member the rights of their owners */
        guint32 sandbox;     /* SandboxPart bits that are wanted */
        bool tty;            /* its program has a terminal, */
        gint64 hangup_ms;    /* ... and is hung up when it has had no watcher for so long; 0: never */
        bool egress;         /* it may connect only where the server allows it */
        bool shared;         /* the members of the task's attempt share them */
        const char *place;   /* the attempt's directory, of what is shared */
        json_t *keep;        /* directories that are seen whatever is not shared */
        gint64 read_only;    /* of these, the first: they can only be read */
        gint64 ready_port, ready_port_other, log_bytes, grace_ms;
        gint64 user;           /* number of the user whose members are bounded together; 0: nobody's */
        gint64 user_processes; /* of them all; 0: no limit */
        SlotLimits limits;
} StartRequest;

bool task_name_is_valid(const char *name);

/* False with ERR_INVALID that names the member which breaks a rule. `ret->task` is set whenever there is one
 * to report on. */
bool start_request_parse(const json_t *object, StartRequest *ret, GError **error);

/* The message for the spawner: a WireSpawn and its strings. `spare`: a state file to use again, or NULL. */
/* `sandboxes`: the directory of those that no members share; `egress`: the cgroup for members who have one;
 * each may be NULL. */
GByteArray *start_request_pack(const StartRequest *request, guint64 id, const char *spare, int slot_number,
                               const Slot *slot, const char *sandboxes, const char *egress);
