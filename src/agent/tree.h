/* Processes by kinship, for machines without a writable cgroup. No GLib. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Signals every descendant of `root` (not itself) but those of the process group `except` (-1: none). One
 * pass over `proc`, the /proc of the caller's PID namespace (-1: does nothing): what forks meanwhile is found
 * by the next. Complete when `root` is a subreaper. */
void tree_signal(int proc, pid_t root, int signal, pid_t except);

/* Signals every process of the session `session`. */
void tree_signal_session(pid_t session, int signal);

/* The processes of a session, at most `max`; returns how many. */
size_t tree_session(pid_t session, int *ret, size_t max);
