/* The device files of this machine's GPUs, and those that a member must not open. */
#pragma once

#include <glib.h>

enum { GPU_DEVICES_MAX = 64 };

/* /dev/nvidiaN in order of N; GPU i of the scheduler is the i-th. */
typedef struct {
        guint n;
        guint32 major;
        guint8 minors[GPU_DEVICES_MAX]; /* all below 64 */
} GpuDevices;

/* `root` is "/" except in tests. Never fails: other files are skipped. */
void gpus_find(const char *root, GpuDevices *ret);

/* The minor numbers of all GPUs except those in `given` ("0,2"; NULL: none), one bit each. Pure. */
guint64 gpus_denied(const GpuDevices *devices, const char *given);

/* CUDA's numbers of the GPUs in `given` for a program that can open no others: "0,1"; the caller's. Pure. */
char *gpus_renumbered(const char *given);
