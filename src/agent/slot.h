/* A slot is a place for one member's processes in the cgroups of this machine: one directory per controller
 * (v1), or one for all (v2). Slots are pooled, because resetting one costs an eighth of creating and removing
 * it. A slot in the pool is always empty, and its counters are reset. It keeps the limits of its last member, and
 * a start writes only those that differ: members of one array, or of one user, mostly have the same limits. Plain
 * file operations on paths; no GLib: keepers are linked with this. Functions that can fail return false with
 * errno. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/devices.h"

typedef enum {
        SLOT_MEMORY,
        SLOT_CPU,
        SLOT_CPUACCT,
        SLOT_PIDS,
        SLOT_DEVICES, /* only in v1, and created only for members that are denied devices */
        SLOT_CONTROLLERS
} SlotController;

typedef struct {
        int64_t cpu_milli;        /* hard limit; 0: none */
        int64_t cpu_weight_milli; /* relative share; 0: as much as one core */
        int64_t memory;           /* bytes; 0: no limit */
        int64_t processes;        /* 0: no limit */
        DeviceSet denied;         /* devices that it cannot open */
} SlotLimits;

typedef struct {
        const char *dir[SLOT_CONTROLLERS]; /* NULL: not available. Controllers that share a hierarchy share
                                              the path */
        uint32_t v2;                       /* bit per controller */
        uint64_t cpu_base;                 /* v2: usage at slot_begin, because it cannot be reset */
        int peak_fd;                       /* v2: memory.peak as reset for this descriptor; -1 */
        bool no_forks;                     /* slot_kill has set pids.max to 0 */
        bool unsure;                       /* slot_begin could not write all limits */
        SlotLimits held;                   /* the limits that it has, `denied` apart; a new slot has none */
} Slot;

/* The value for the file of relative shares: v1's cpu.shares, v2's cpu.weight. */
int64_t slot_weight(int64_t weight_milli, bool v2);

/* True if a slot that has the limits `a` needs no write for `b`. */
bool slot_limits_equal(const SlotLimits *a, const SlotLimits *b);

/* Writes the limits of a member into an empty slot, where they differ from slot->held. *ret_file names the file that
 * could not be written. */
bool slot_begin(Slot *slot, const SlotLimits *limits, const char **ret_file);
bool slot_attach(const Slot *slot, const SlotLimits *limits, int pid);

/* The usage of the slot's members; fields that the machine does not count stay unchanged. */
typedef struct {
        int64_t peak_memory, cpu_us;
        bool oom; /* from the kernel's counter for this group */
} SlotUsage;
void slot_usage(const Slot *slot, SlotUsage *ret);

/* Resets the counters and devices of an empty slot, which keeps its other limits; false if it must be removed
 * instead. */
bool slot_reset(Slot *slot, const SlotLimits *limits, const SlotUsage *usage);

/* Signals every process in the slot except those of the process group `except`. */
void slot_signal(const Slot *slot, int signal, int except);

/* Forbids forks and kills every process; call again until slot_remove succeeds. */
void slot_kill(Slot *slot);

/* True if processes in the slot can be found without knowing their parents. */
bool slot_finds_processes(const Slot *slot);

bool slot_make(const Slot *slot);
/* Removes the directories; false while processes are in it. */
bool slot_remove(const Slot *slot);
