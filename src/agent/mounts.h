/* The mounts of a member: directories of named file systems at places of its own (drawing and rules:
 * doc/internals/agent.md, "Mounts of a job"). Two steps of its start, in its own process: the directories are
 * opened while it still sees the machine's mounts, and appear after it has entered its sandbox. Files are
 * looked at with the user's rights throughout. No GLib, no heap. */
#pragma once

#include "agent/keeper.h"

enum { MOUNT_FAULT_MAX = 700 };

/* Why a mount cannot be made; `err` is an errno. */
typedef struct {
        int err;
        char text[MOUNT_FAULT_MAX];
} MountFault;

/* The opened directories, in the order of the request. */
typedef struct {
        int trees[WIRE_MOUNTS_MAX];
} MemberMounts;

/* Opens the directories of spawn->mounts. Without root, it first moves the process to a user and a mount
 * namespace of its own. Call it with the user's groups set, before sandbox_join(). */
bool mounts_open(const Spawn *spawn, MemberMounts *ret, MountFault *fault);

/* Moves the process to a mount namespace of its own and attaches them. Paths of the machine stay as they are,
 * except that a directory in which a mount point was created is read-only. */
bool mounts_attach(const Spawn *spawn, const MemberMounts *mounts, MountFault *fault);
