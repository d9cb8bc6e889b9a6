/* The link to the agent: a thread that keeps a connection, starts the agent if none listens, sends hello with
 * the epoch, and delivers reports in order. After a disconnection it reconnects by itself.
 *
 *   down ─▶ greeting (hello sent) ─▶ syncing (reports) ─▶ synced ─▶ down (OBSERVED_DISCONNECTED) ...
 *
 * Lines that are sent while the link is not synced are dropped, except forgets, which wait. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "runtime/runtime.h"

typedef struct AgentLink AgentLink;

/* Called on the link's thread; takes ownership of the observation. OBSERVED_SYNCED comes after the link has
 * begun to accept lines. OBSERVED_DISCONNECTED has the reason as text, and is repeated only when the reason
 * changes. */
typedef void (*LinkDeliver)(Observation *observation, void *arg);

typedef struct {
        const char *program; /* paddle-agent */
        const char *state_dir;
        gint64 epoch;
        const char *egress; /* JSON: allowed connections of members, for message_hello; or NULL */
        bool gpus;          /* members may open only their own GPUs: warns if the agent cannot enforce it */
        guint sandbox;      /* SandboxParts for members: warns about those that the agent lacks */
        LinkDeliver deliver;
        void *arg;
} LinkConfig;

AgentLink *agent_link_new(const LinkConfig *config);
void agent_link_free(AgentLink *link);

/* Starts the thread. */
bool agent_link_open(AgentLink *link, GError **error);
/* Ends the thread; nothing is delivered afterwards. The agent continues. Waiting lines are sent if that does
 * not block. */
void agent_link_close(AgentLink *link);

/* Any thread. Lines end with a newline. False: not synced, nothing was accepted. */
bool agent_link_send(AgentLink *link, const GString *lines);
/* Any thread. False with ERR_CONFLICT: the connected agent runs every task as itself. */
bool agent_link_check_users(AgentLink *link, GError **error);
/* Any thread. False with ERR_UNAVAILABLE: the limits on connections cannot be enforced. */
bool agent_link_check_egress(AgentLink *link, GError **error);
/* Any thread. The SandboxParts of the connected agent; all parts without a connection: lines are refused
 * then, and requested again. */
guint agent_link_sandbox(AgentLink *link);
/* Any thread. True if the connected agent can deny devices to members; also without a connection. */
bool agent_link_denies_devices(AgentLink *link);
void agent_link_forget(AgentLink *link, const char *task);
/* Any thread: delivers an observation of the runtime itself. */
void agent_link_post(AgentLink *link, Observation *observation);
