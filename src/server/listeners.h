/* The server's TCP ports, and whether traffic on them is encrypted. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "net/tls.h"
#include "server/options.h"

/* ERR_USAGE if an address beyond this machine would be used without TLS and without --plain-http. */
bool listeners_check(const ServerOptions *options, GError **error);

/* Opens the files of --tls-cert and the related options; *ret is NULL without any. Reads them again on SIGHUP
 * and when they change, in the default main context, until listeners_close(*ret) or the end of the
 * process. */
bool listeners_open_tls(const ServerOptions *options, Tls **ret, GError **error);
void listeners_close(Tls *tls); /* NULL is a no-op */
