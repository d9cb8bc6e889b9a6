/* The agent's socket: lines of JSON from the server and back (doc/internals/agent.md). Reading survives anything;
 * writing never blocks and is bounded: a server that does not read is disconnected and hears everything again
 * when it is back. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "agent/keep.h"

typedef struct Server Server;

/* Listens on `socket_path` (a stale socket is replaced). `epoch_path` keeps the newest epoch. `changed` is
 * called when a server comes or goes. */
Server *server_new(const char *socket_path, const char *epoch_path, void (*changed)(void *arg), void *arg,
                   GError **error);
void server_free(Server *server); /* removes the socket */

/* The keep that commands go to; before it is set, connections wait. */
void server_set_keep(Server *server, Keep *keep);

/* Lines for the server, if one is connected. */
void server_report(Server *server, const char *lines);
/* To be called when the keep may have become settled. */
void server_settle(Server *server);

bool server_is_connected(const Server *server);
