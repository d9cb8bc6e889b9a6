/* Commands beside members on this machine: a thread of its own, started with the first command, that holds
 * their pipes and terminals. The command itself is "paddle-spawner enter" (doc/internals/agent.md), which goes where
 * the member is. */
#pragma once

#include "runtime/exec.h"
#include "runtime/local/identity.h"

typedef struct Terminals Terminals;

/* `agent`: the agent's program, whose directory holds the spawner. */
Terminals *terminals_new(const char *agent);
void terminals_free(Terminals *terminals); /* ends all of them; NULL is a no-op */

typedef struct {
        int pid;          /* a process of the member */
        const char *task; /* the member's */
        const char *job;
        const Identity *identity; /* whom the member runs as, and the command; NULL: the server */
        bool confined;            /* the command gains no rights by set-uid programs */
        bool sandboxed;           /* nor capabilities, and not all system calls; as its member */
} TerminalTarget;

enum { TERMINALS_MEMBER_MAX = 250 };

/* Any thread. The target is borrowed for the call. A task may have TERMINALS_MEMBER_MAX commands at a time;
 * one whose caller has given it up counts until its process has ended. Further ones end with
 * ERR_UNAVAILABLE. */
RuntimeExec *terminals_exec(Terminals *terminals, const TerminalTarget *about, const ExecStart *start);
