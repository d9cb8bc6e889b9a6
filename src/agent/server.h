/* The agent's socket: lines of JSON from the server and back (doc/internals/agent.md). Reading survives anything;
 * writing never blocks and is bounded: a server that does not read is disconnected and hears everything again
 * when it is back. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "agent/keep.h"

typedef struct Server Server;

/* Listens on `socket_path` (a stale socket is replaced). `epoch_path` stores the newest epoch. `changed` is
 * called when a server connects or disconnects. */
Server *server_new(const char *socket_path, const char *epoch_path, void (*changed)(void *arg), void *arg,
                   GError **error);
void server_free(Server *server); /* removes the socket */

/* Sets the keep that receives commands; connections wait until then. */
void server_set_keep(Server *server, Keep *keep);

/* Sends lines to the server, if one is connected. */
void server_report(Server *server, const char *lines);
/* Call it when the keep may have become settled. */
void server_settle(Server *server);

bool server_is_connected(const Server *server);
