/* Commands beside members on this machine: a thread of its own, started with the first command, that holds
 * their pipes and terminals. The command itself is "paddle-spawner enter" (doc/agent.md), which goes where
 * the member is. */
#pragma once

#include "runtime/exec.h"

typedef struct Terminals Terminals;

/* `agent`: the agent's program, whose directory holds the spawner. */
Terminals *terminals_new(const char *agent);
void terminals_free(Terminals *terminals); /* ends all of them; NULL is a no-op */
/* Any thread. `pid`: a process of the member; `job`: its id. */
RuntimeExec *terminals_exec(Terminals *terminals, int pid, const char *job, const ExecStart *start);
