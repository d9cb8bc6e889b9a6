/* The lines between server and agent (doc/internals/agent.md): one JSON object each. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "runtime/local/identity.h"
#include "runtime/runtime.h"

enum { MESSAGE_MAX = 2 * 1024 * 1024 };

/* Parts of a member's sandbox, as the agent names them (doc/internals/agent.md). */
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
        bool egress;             /* it may connect only to what hello has named */
        guint32 denied_major;    /* of devices that it cannot open */
        guint64 denied_minors;   /* a bit each */
        bool shared;             /* by all members of the task's attempt */
        const char *place;       /* the attempt's directory; may be NULL unless `shared` */
        const char *const *keep; /* directories that are seen whatever is not shared; or NULL */
        int keep_read_only;      /* the first of them can only be read */
} Sandbox;

/* "pids, ipc"; the caller's. */
char *sandbox_words(guint wanted);

/* `egress`: a JSON list of what members may connect to, as the agent takes it; NULL: everything. */
void message_hello(GString *out, gint64 epoch, const char *egress);
/* `identity` NULL: it runs as the agent itself. `sandbox` NULL: it has none. */
void message_start(GString *out, const TaskStart *task, const Identity *identity, const Sandbox *sandbox);
void message_stop(GString *out, const char *task, gint64 grace_ms);
void message_signal(GString *out, const char *task, int signo);
void message_forget(GString *out, const char *task);

typedef enum {
        MESSAGE_HELLO,
        MESSAGE_REFUSED,     /* epoch: the one that the agent serves */
        MESSAGE_OBSERVATION, /* observation is set */
        MESSAGE_OTHER,       /* a word of a newer agent, or "pong": to be skipped */
} MessageKind;

typedef struct {
        MessageKind kind;
        gint64 epoch;
        bool users;               /* of a hello: this agent can run tasks as other users */
        guint sandbox;            /* of a hello: SandboxParts that it has */
        bool devices;             /* of a hello: it can deny devices */
        char *egress;             /* of a hello: "", or why what was named does not hold; NULL: not known. The
                                     caller's */
        Observation *observation; /* the caller's */
} Message;

/* One line without its newline. ERR_INVALID names what is wrong with it. */
bool message_parse(const char *line, gsize len, Message *ret, GError **error);
