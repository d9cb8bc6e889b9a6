/* Sandboxes that serve one unshared member of a user after another. Creating and deleting namespaces takes a
 * quarter of a short task's time, mostly waiting for all processors (RCU). A sandbox is reused only if it is
 * clean, and never for another user. Part of the spawner; no GLib. */
#pragma once

#include "agent/sandbox.h"

enum { SANDBOX_POOL_FD = 256 }; /* the first descriptor of the pool, so that a keeper can close them all */

/* A sandbox with `parts` for a member of place->uid; `place->dir` contains all sandboxes. *ret_lock and
 * *ret_holder (a copy of the holder's pidfd) are the caller's; keep *ret_lock open while a process of the
 * member lives. False with errno and *ret_what. */
bool sandbox_pool_take(const SandboxPlace *place, uint32_t parts, int *ret_lock, int *ret_holder,
                       const char **ret_what);
