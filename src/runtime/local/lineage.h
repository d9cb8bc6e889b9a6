/* Is a process, or who holds a connection to us, a job's? What a member starts keeps its cgroup, or stands
 * below its keeper or, for a command of `paddle exec`, below the server; it cannot leave both. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* True also for one that has ended: then nobody can say. */
bool lineage_is_member(pid_t pid);

/* True when a member holds the other end of a connection: of TCP from `address` and `port`, or (port 0) of a
 * Unix socket that `pid` connected. From the loopback somebody on this machine has to be found who is none.
 * True in any doubt: several connections have that end and a member holds one, or somebody else holds it than
 * who made it.
 * Reads all of /proc: milliseconds. */
bool lineage_has_connection(const char *address, int port, pid_t pid);
