/* The lines between server and agent (doc/agent.md): one JSON object each. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "runtime/local/identity.h"
#include "runtime/runtime.h"

enum { MESSAGE_MAX = 2 * 1024 * 1024 };

void message_hello(GString *out, gint64 epoch);
/* `identity` NULL: it runs as the agent itself. */
void message_start(GString *out, const TaskStart *task, const Identity *identity);
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
        Observation *observation; /* the caller's */
} Message;

/* One line without its newline. ERR_INVALID names what is wrong with it. */
bool message_parse(const char *line, gsize len, Message *ret, GError **error);
