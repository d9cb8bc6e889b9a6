/* The member's side of its start: from the fork in the keeper to execvp. No GLib. */
#pragma once

#include <sys/types.h>

#include "agent/keeper.h"

/* The first byte of what a member that fails says: whether the same start could go well another time. */
typedef enum { MEMBER_NOT_NOW = 'n', MEMBER_NEVER = 'N' } MemberVerdict;

/* Waits on `gate` for the keeper's word, then becomes the member. What fails is written to `gate` as a
 * MemberVerdict and a sentence; the end of file there means that the member runs. Dies with the keeper at any
 * time. */
_Noreturn void member_run(const Spawn *spawn, int gate, int log_fd, pid_t keeper);
