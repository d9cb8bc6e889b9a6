/* The member's side of its start: from the fork in the keeper to execvp. No GLib. */
#pragma once

#include <sys/types.h>

#include "agent/keeper.h"

/* The first byte of a failed member's message: whether a retry can succeed. */
typedef enum { MEMBER_NOT_NOW = 'n', MEMBER_NEVER = 'N' } MemberVerdict;

/* Waits on `gate` for the keeper, then becomes the member. A failure is written to `gate` as a MemberVerdict
 * and a sentence; end of file means that the member runs. It dies with the keeper at any time. */
_Noreturn void member_run(const Spawn *spawn, int gate, int log_fd, pid_t keeper);
