/* What a member listens on, and a connection to it. Members often share the machine's network, so that a port
 * alone says nothing: the listening socket has to be open in a process of the member's own. A part of
 * paddle-spawner. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

enum {
        LISTENER_NONE = 124,    /* exit status: nothing of the member listens on the port */
        LISTENER_REFUSED = 123, /* it does not take the connection */
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
 * have said all. */
int listener_relay(const Listener *listener);
