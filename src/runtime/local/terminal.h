/* Commands beside members on this machine: a thread, started with the first command, holds their pipes and
 * terminals. The command itself is "paddle-spawner enter" (doc/internals/agent.md), which enters the member's
 * namespaces and cgroups. */
#pragma once

#include "runtime/exec.h"
#include "runtime/local/identity.h"

typedef struct Terminals Terminals;

/* `agent`: the agent's program; the spawner is in the same directory. */
Terminals *terminals_new(const char *agent);
void terminals_free(Terminals *terminals); /* ends all commands; NULL is a no-op */

typedef struct {
        int pid;          /* a process of the member */
        const char *task; /* the member's */
        const char *job;
        const Identity *identity; /* of the member and the command; NULL: the server */
        bool confined;            /* set-uid programs give the command no rights */
        bool sandboxed;           /* it has no capabilities and fewer system calls, like its member */
} TerminalTarget;

enum { TERMINALS_MEMBER_MAX = 250 };

/* Any thread. The target is borrowed for the call. A task may have TERMINALS_MEMBER_MAX commands at a time; a
 * cancelled one counts until its process has ended. More end with ERR_UNAVAILABLE. */
RuntimeExec *terminals_exec(Terminals *terminals, const TerminalTarget *about, const ExecStart *start);
