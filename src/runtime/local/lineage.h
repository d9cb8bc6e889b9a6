/* Tells whether a process, or the other end of a connection, belongs to a job. Processes of a member stay in
 * its cgroup, or are descendants of its keeper or, for a command of `paddle exec`, of the server; they cannot
 * leave both. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Also true for a process that has ended, since it is unknown. */
bool lineage_is_member(pid_t pid);

/* True if a member holds the other end of a connection: of TCP from `address` and `port`, or (port 0) of a
 * Unix socket that `pid` has connected. A loopback connection is a member's unless another holder is found.
 * Also true in doubt: if a member holds one of several connections with that end, or if the holder is not its
 * creator. Reads all of /proc, which takes milliseconds. */
bool lineage_has_connection(const char *address, int port, pid_t pid);
