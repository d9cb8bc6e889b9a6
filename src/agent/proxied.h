/* A member without the machine's network: it has a network namespace of its own, in which there is nothing
 * but loopback and a proxy, which connects to the addresses it was told (agent/proxy.h). The member's side,
 * from the fork in the keeper. No GLib. */
#pragma once

#include "agent/keeper.h"

/* `spawn->proxy` is the proxy's program and then its variables; PROXY_REQUIRED among them: no member
 * without it. True: the member is cut off, and *ret_port is the proxy's. False: it is not; `why` says what
 * failed. Before the member gives up its rights; the proxy runs with the rights that the member will have. */
#define PROXY_REQUIRED "REQUIRED=1"
bool proxied_enter(const Spawn *spawn, int *ret_port, char *why, size_t size);
bool proxied_is_required(const Spawn *spawn);
/* Puts the proxy into the variables of this process, in place of any other. */
void proxied_variables(int port);
