/* The sandboxes of single members, which serve one member of a user after another: to make namespaces and to
 * take them apart costs a quarter of a short task, most of it waiting for all processors (RCU). Only one that
 * is as new is used again, and never for another user. The spawner's; no GLib. */
#pragma once

#include "agent/sandbox.h"

enum { SANDBOX_POOL_FD = 256 }; /* the pool's descriptors begin here, so that a keeper can close them */

/* A sandbox with `parts` for a member of place->uid; `place->dir` is the directory of all. *ret_lock is to be
 * held for as long as something of the member lives, and the caller's; *ret_holder is a copy of its pidfd,
 * the caller's, too. False with errno and *ret_what. */
bool sandbox_pool_take(const SandboxPlace *place, uint32_t parts, int *ret_lock, int *ret_holder,
                       const char **ret_what);
