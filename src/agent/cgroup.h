/* The cgroups of this machine as the agent uses them: which controllers can be had, one by one and in either
 * version, and a pool of numbered slots in them: <mount>/paddle/<id>/slot-N per controller. Where processes
 * are counted, slots of a user lie in a group of the user's: <mount>/paddle/<id>/user-U/slot-N. Not
 * thread-safe. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "agent/slot.h"

typedef struct CgroupPool CgroupPool;

/* `mounts` and `own` are "/proc/self/mountinfo" and "/proc/self/cgroup", or stand for them in tests. `id`
 * names this agent's groups. Never fails: what cannot be had is absent. Slots left by an earlier agent are
 * kept until cgroup_pool_sweep_rest. */
CgroupPool *cgroup_pool_new(const char *mounts, const char *own, const char *id);

/* Removes the free slots, and the agent's groups when no slot is left. NULL is a no-op. */
void cgroup_pool_free(CgroupPool *pool);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CgroupPool, cgroup_pool_free)

/* True when there is at least one controller. */
bool cgroup_pool_is_usable(const CgroupPool *pool);
bool cgroup_pool_has(const CgroupPool *pool, SlotController controller);

/* True when devices can be denied to members. */
bool cgroup_pool_denies_devices(const CgroupPool *pool);

/* All agents' members together: so many processes; a no-op where they are not counted. */
void cgroup_pool_bound(CgroupPool *pool, gint64 processes);

/* For whom a slot is taken. */
typedef struct {
        gint64 user;         /* its number; 0: nobody's */
        gint64 processes;    /* of all members of the user together; 0: no limit */
        gint64 weight_milli; /* of the member, as in SlotLimits */
} SlotOwner;

/* An empty slot's number into *ret (-1 when the machine has no controller for us). */
bool cgroup_pool_take(CgroupPool *pool, const SlotOwner *owner, int *ret, GError **error);
/* A slot that an adopted task uses. */
void cgroup_pool_mark(CgroupPool *pool, int number);
/* Gives back a slot that is empty and reset. True: there are too many, and one has to be swept. -1 is a
 * no-op, here and below. */
bool cgroup_pool_give(CgroupPool *pool, int number);
/* Gives back a slot in any state: what runs in it is killed and it is removed by the next sweeps. */
void cgroup_pool_discard(CgroupPool *pool, int number);
/* After all tasks are adopted: discards every slot found at the beginning that nobody has marked. */
void cgroup_pool_discard_rest(CgroupPool *pool);

/* One pass over the discarded slots; true when none is left. */
bool cgroup_pool_sweep(CgroupPool *pool);
bool cgroup_pool_is_discarded(const CgroupPool *pool, int number);

/* The directories of a slot. The strings are the pool's, valid until the next call. */
void cgroup_pool_slot(CgroupPool *pool, int number, Slot *ret);
