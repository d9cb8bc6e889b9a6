/* Which device is which GPU of this machine, and which of them a member is not to open. */
#pragma once

#include <glib.h>

enum { GPU_DEVICES_MAX = 64 };

/* /dev/nvidiaN by N; the scheduler's GPU i is the one at i. */
typedef struct {
        guint n;
        guint32 major;
        guint8 minors[GPU_DEVICES_MAX]; /* all below 64 */
} GpuDevices;

/* `root` is "/" but in tests. Never fails: what is no device is left out. */
void gpus_find(const char *root, GpuDevices *ret);

/* The minor numbers of all but the GPUs in `given` ("0,2"; NULL: none is given), a bit each. Pure. */
guint64 gpus_denied(const GpuDevices *devices, const char *given);

/* How CUDA numbers the GPUs of `given` for a program that can open no others: "0,1"; the caller's. Pure. */
char *gpus_renumbered(const char *given);
