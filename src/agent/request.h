/* A `start` line of the server: read from JSON, checked, and packed for the spawner. Pure. */
#pragma once

#include "agent/wire.h"
#include "base/json.h"

enum { TASK_NAME_SIZE = 161 }; /* with its NUL; the rule is in doc/agent.md */

/* All borrowed from the JSON object. Lists may be NULL. */
typedef struct {
        const char *task, *dir, *log, *banner, *ready_file;
        json_t *argv, *env, *binds;
        json_t *groups;      /* numbers; of `uid` */
        gint64 uid, gid;     /* -1: the agent's own */
        bool new_privileges; /* set-uid programs give the member the rights of their owners */
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
GByteArray *start_request_pack(const StartRequest *request, guint64 id, const char *spare, int slot_number,
                               const Slot *slot);
