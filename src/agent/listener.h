/* The ports on which a member listens, and a connection to one. Members often share the machine's network, so
 * a port alone is not enough: the listening socket must be open in one of the member's own processes. A part
 * of paddle-spawner. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

enum {
        LISTENER_NONE = 124,    /* exit status: no process of the member listens on the port */
        LISTENER_REFUSED = 123, /* it refused the connection */
        LISTENER_BROKEN = 122,  /* the connection broke */
};

typedef struct {
        struct sockaddr_storage address; /* where to connect to */
        socklen_t size;
} Listener;

/* `proc`: the directory in /proc of a process of the member. As root, or as the member's user. False: no
 * process of the member's cgroup (without cgroups: of its session and of those below it) listens on `port`.
 */
bool listener_find(int proc, uint16_t port, Listener *ret);

/* In the member's network: connects, and copies standard input and output. The exit status, 0 when both sides
 * have sent everything. */
int listener_relay(const Listener *listener);
