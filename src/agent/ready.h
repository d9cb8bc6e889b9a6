/* Tells which members listen on their ports. One search serves all that wait. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "agent/slot.h"

typedef struct {
        int port;     /* 0: nothing to search for */
        int session;  /* of the member: decides the network; without `procs` also the processes */
        char *procs;  /* cgroup.procs of its slot, or NULL; the caller's */
        bool listens; /* out: a process of the member listens on the port */
} ReadyPort;

/* The path of a slot's list of processes; the caller's. NULL: none. */
char *ready_procs_path(const Slot *slot);

/* `proc` is "/proc"; tests use another directory. */
void ready_ports_find(const char *proc, ReadyPort *ports, gsize n);
