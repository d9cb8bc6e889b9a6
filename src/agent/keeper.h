/* A keeper manages one member: it starts it, passes signals on, waits until all its processes are gone, and
 * writes the outcome to the task's state file. No GLib, no heap: a keeper is forked from the spawner and
 * costs a few dirty pages. */
#pragma once

#include "agent/sandbox.h"
#include "agent/wire.h"

/* A request as the spawner received it; all borrowed from `memory`. */
typedef struct {
        const WireSpawn *head;
        const char *strings[WIRE_STRINGS];
        const char *argv, *env, *binds, *proxy, *keep,
                *mounts;    /* the first of head->n_argv, ... consecutive strings */
        void *memory, *big; /* mappings that the keeper unmaps once the member runs; `big` may be NULL */
        size_t memory_size, big_size;
        int memfd;            /* of `big`, or -1 */
        int place_fd, holder; /* for a sandbox: the lock that keeps it, and its holder's pidfd; else -1 */
} Spawn;

/* The keeper's whole life. `state_fd` holds the task's lock; `report_fd` is the spawner's socket. */
_Noreturn void keeper_run(Spawn *spawn, int state_fd, int report_fd, const char *boot_id);
