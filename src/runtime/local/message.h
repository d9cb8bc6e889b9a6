/* The lines between server and agent (doc/internals/agent.md): one JSON object each. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "runtime/local/identity.h"
#include "runtime/runtime.h"

enum { MESSAGE_MAX = 2 * 1024 * 1024 };

/* Parts of a member's sandbox, with the agent's names (doc/internals/agent.md). */
typedef enum {
        PART_PIDS = 1 << 0,
        PART_IPC = 1 << 1,
        PART_FILES = 1 << 2,
        PART_NETWORK = 1 << 3,
        PART_CALLS = 1 << 4,
        PART_RIGHTS = 1 << 5,
} SandboxParts;

typedef struct {
        guint parts;             /* SandboxParts */
        bool egress;             /* it may only connect to addresses listed in hello */
        guint32 denied_major;    /* of the devices that it cannot open */
        guint64 denied_minors;   /* a bit each */
        bool shared;             /* the members of the task's attempt share it */
        const char *place;       /* the attempt's directory; may be NULL unless `shared` */
        const char *const *keep; /* directories that stay visible; or NULL */
        int keep_read_only;      /* the first of them are read-only */
} Sandbox;

/* "pids, ipc"; the caller's. */
char *sandbox_words(guint wanted);

/* `egress`: the agent's JSON list of allowed connections; NULL: all. */
void message_hello(GString *out, gint64 epoch, const char *egress);
/* `identity` NULL: it runs as the agent. `sandbox` NULL: none. */
void message_start(GString *out, const TaskStart *task, const Identity *identity, const Sandbox *sandbox);
void message_stop(GString *out, const char *task, gint64 grace_ms);
void message_signal(GString *out, const char *task, int signo);
void message_forget(GString *out, const char *task);

typedef enum {
        MESSAGE_HELLO,
        MESSAGE_REFUSED,     /* epoch: of the server that the agent serves */
        MESSAGE_OBSERVATION, /* observation is set */
        MESSAGE_OTHER,       /* a message of a newer agent, or "pong": skip it */
} MessageKind;

typedef struct {
        MessageKind kind;
        gint64 epoch;
        bool users;               /* of a hello: this agent can run tasks as other users */
        guint sandbox;            /* of a hello: available SandboxParts */
        bool devices;             /* of a hello: it can deny devices */
        char *egress;             /* of a hello: "", or why the limit cannot be enforced; NULL: unknown. The
                                     caller's */
        Observation *observation; /* the caller's */
} Message;

/* One line without its newline. ERR_INVALID names the problem. */
bool message_parse(const char *line, gsize len, Message *ret, GError **error);
