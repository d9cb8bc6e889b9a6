/* The cgroups of this machine as the agent uses them: the available controllers, each in either version, and
 * a pool of numbered slots in them: <mount>/paddle/<id>/slot-N per controller. If processes are counted,
 * slots of a user are in a group of the user's: <mount>/paddle/<id>/user-U/slot-N. Not thread-safe. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "agent/slot.h"

typedef struct CgroupPool CgroupPool;

/* `mounts` and `own` are "/proc/self/mountinfo" and "/proc/self/cgroup", or replacements in tests. `id` names
 * this agent's groups. Never fails: unavailable controllers are absent. Slots of an earlier agent are kept
 * until cgroup_pool_discard_rest. */
CgroupPool *cgroup_pool_new(const char *mounts, const char *own, const char *id);

/* Removes the free slots, and the agent's groups if no slot is left. NULL is a no-op. */
void cgroup_pool_free(CgroupPool *pool);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CgroupPool, cgroup_pool_free)

/* True when there is at least one controller. */
bool cgroup_pool_is_usable(const CgroupPool *pool);
bool cgroup_pool_has(const CgroupPool *pool, SlotController controller);

/* True if members can be denied devices. */
bool cgroup_pool_denies_devices(const CgroupPool *pool);

/* Limits the processes of all agents' members together; a no-op where processes are not counted. */
void cgroup_pool_bound(CgroupPool *pool, gint64 processes);

/* The owner of a slot. */
typedef struct {
        gint64 user;      /* number of the user; 0: none */
        gint64 processes; /* of all members of the user together; 0: no limit */
        SlotLimits limits;
} SlotOwner;

/* Takes an empty slot, if possible one that has the limits already. *ret is its number (-1: the machine has no usable
 * controller), *ret_held its limits. */
bool cgroup_pool_take(CgroupPool *pool, const SlotOwner *owner, int *ret, SlotLimits *ret_held,
                      GError **error);
/* Marks a slot that an adopted task uses. */
void cgroup_pool_mark(CgroupPool *pool, int number);
/* Returns a slot that is empty and reset, with the limits that it has. True: there are too many, and one must be swept.
 * -1 is a no-op, here and below. */
bool cgroup_pool_give(CgroupPool *pool, int number, const SlotLimits *held);
/* Returns a slot in any state: the next sweeps kill its processes and remove it. */
void cgroup_pool_discard(CgroupPool *pool, int number);
/* Call it after all tasks are adopted: discards every initially found slot that was not marked. */
void cgroup_pool_discard_rest(CgroupPool *pool);

/* One pass over the discarded slots; true if none is left. */
bool cgroup_pool_sweep(CgroupPool *pool);
bool cgroup_pool_is_discarded(const CgroupPool *pool, int number);

/* The directories of a slot. The strings are the pool's, valid until the next call. */
void cgroup_pool_slot(CgroupPool *pool, int number, Slot *ret);
