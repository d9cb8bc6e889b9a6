/* A member without the machine's network: its network namespace has only loopback and a proxy, which connects
 * to the allowed addresses (agent/proxy.h). The member's side, from the fork in the keeper. No GLib. */
#pragma once

#include "agent/keeper.h"

/* `spawn->proxy` is the proxy's program followed by its variables. With PROXY_REQUIRED among them the member
 * must not run without the proxy. True: the member has no other network, and *ret_port is the proxy's. False:
 * it still has one; `why` says what failed. Call it before the member drops its rights; the proxy runs with
 * the rights that the member will have. */
#define PROXY_REQUIRED "REQUIRED=1"
bool proxied_enter(const Spawn *spawn, int *ret_port, char *why, size_t size);
bool proxied_is_required(const Spawn *spawn);
/* Sets the proxy variables of this process, replacing others. */
void proxied_variables(int port);
