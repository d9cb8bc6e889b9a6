/* The agent's connection to its spawner: starts the program, sends requests without blocking, passes replies
 * on, and reports when the spawner has ended, so that it can be restarted. Runs on the default main
 * context. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "agent/wire.h"

typedef struct SpawnLink SpawnLink;

typedef struct {
        void (*reply)(const WireReply *reply, int pidfd, void *arg); /* takes `pidfd`; -1: there was none */
        void (*down)(void *arg); /* all requests without a reply are undecided; call spawn_link_up */
} SpawnLinkOps;

/* `program` is copied; the descriptors are borrowed for the link's life. Not started yet. */
SpawnLink *spawn_link_new(const char *program, int lock_fd, int tasks_fd, const SpawnLinkOps *ops, void *arg);
/* The spawner ends with its socket; keepers continue. */
void spawn_link_free(SpawnLink *link);

bool spawn_link_up(SpawnLink *link, GError **error);

/* Sends a packed request, or queues it. Takes a reference. */
void spawn_link_send(SpawnLink *link, GBytes *message);
