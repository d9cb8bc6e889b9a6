/* Processes by parentage, for machines without a writable cgroup. No GLib. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Signals every descendant of `root` (not itself) except those of the process group `except` (-1: none). One
 * pass over `proc`, the /proc of the caller's PID namespace (-1: does nothing); processes forked meanwhile
 * are found by the next pass. Complete if `root` is a subreaper. */
void tree_signal(int proc, pid_t root, int signal, pid_t except);

/* Signals every process of the session `session`. */
void tree_signal_session(pid_t session, int signal);

/* Lists the processes of a session, at most `max`; returns their number. */
size_t tree_session(pid_t session, int *ret, size_t max);
