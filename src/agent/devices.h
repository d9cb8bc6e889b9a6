/* Devices that the processes of a cgroup cannot open, create or rename over. In version 2 this is a kernel
 * program (BPF) at the group, which exists as long as the group. (Version 1 has files for it: slot.c.) No
 * GLib: keepers are linked with this. Functions that can fail return false with errno. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { DEVICE_MINORS = 64 };

/* Character devices of one major number: NVIDIA's /dev/nvidiaN are (195, N). */
typedef struct {
        uint64_t minors; /* bit N: (major, N); 0: none */
        uint32_t major, reserved;
} DeviceSet;

/* True if this kernel accepts such programs from us. */
bool devices_can_deny(void);

/* Replaces what was denied to the group `dir` before. An empty set denies nothing. */
bool devices_deny(const char *dir, const DeviceSet *set);
