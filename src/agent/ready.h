/* Is somebody of a member listening on its port? One look for all that wait. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "agent/slot.h"

typedef struct {
        int port;     /* 0: nothing to look for */
        int session;  /* the member's, whose network is looked at; its processes, without `procs` */
        char *procs;  /* cgroup.procs of its slot, or NULL; the caller's */
        bool listens; /* out: a process of the member owns a socket that listens on the port */
} ReadyPort;

/* The path of a slot's list of processes; the caller's. NULL when there is none. */
char *ready_procs_path(const Slot *slot);

/* `proc` is "/proc", or stands for it in tests. */
void ready_ports_find(const char *proc, ReadyPort *ports, gsize n);
