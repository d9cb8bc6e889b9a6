/* Where the server is reached over TCP, and whether what is said there can be overheard. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "net/tls.h"
#include "server/options.h"

/* What beyond this machine is listened on without TLS was asked for by name (--plain-http). ERR_USAGE. */
bool listeners_check(const ServerOptions *options, GError **error);

/* What --tls-cert and its like name; *ret is NULL when nothing was named. Reads it again on SIGHUP and when
 * the files change, in the default main context, until the process ends or `*ret` is given to
 * listeners_close. */
bool listeners_open_tls(const ServerOptions *options, Tls **ret, GError **error);
void listeners_close(Tls *tls); /* NULL is a no-op */
