/* The link to the agent: a thread that keeps a connection, starts the agent when nobody listens, says hello
 * with the epoch, and delivers what is reported, in order. It breaks and comes back by itself.
 *
 *   down ─▶ greeting (hello sent) ─▶ syncing (reports) ─▶ synced ─▶ down (OBSERVED_DISCONNECTED) ...
 *
 * What is sent while the link is not synced is dropped, except forgets: they wait. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "runtime/runtime.h"

typedef struct AgentLink AgentLink;

/* Called from the link's thread; takes the observation. OBSERVED_SYNCED comes after the link has begun to
 * take what is sent; OBSERVED_DISCONNECTED has a text that says why, and comes again only when the reason
 * changes. */
typedef void (*LinkDeliver)(Observation *observation, void *arg);

typedef struct {
        const char *program; /* paddle-agent */
        const char *state_dir;
        gint64 epoch;
        const char *egress; /* JSON: what members may connect to, of message_hello; or NULL */
        bool gpus;          /* members are to open their own alone: warned of if the agent cannot */
        guint sandbox;      /* SandboxParts that members are to have: what the agent lacks is warned of */
        LinkDeliver deliver;
        void *arg;
} LinkConfig;

AgentLink *agent_link_new(const LinkConfig *config);
void agent_link_free(AgentLink *link);

/* Starts the thread. */
bool agent_link_open(AgentLink *link, GError **error);
/* Ends the thread; nothing is delivered afterwards. The agent runs on. What waits to be sent is sent if that
 * does not block. */
void agent_link_close(AgentLink *link);

/* Any thread. Lines end with a newline. False: not synced, nothing was taken. */
bool agent_link_send(AgentLink *link, const GString *lines);
/* Any thread. False with ERR_CONFLICT: the agent that is connected would run every task as itself. */
bool agent_link_check_users(AgentLink *link, GError **error);
/* Any thread. False with ERR_UNAVAILABLE: members could connect to what they may not. */
bool agent_link_check_egress(AgentLink *link, GError **error);
/* Any thread. The SandboxParts that the connected agent has; all of them while none is connected: what is
 * sent then is refused, and asked for again. */
guint agent_link_sandbox(AgentLink *link);
/* Any thread. The connected agent can deny devices to members; true while none is connected. */
bool agent_link_denies_devices(AgentLink *link);
void agent_link_forget(AgentLink *link, const char *task);
/* Any thread: delivers an observation of the runtime's own. */
void agent_link_post(AgentLink *link, Observation *observation);
