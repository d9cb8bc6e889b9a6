/* Listening sockets: creating them. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/* A socket on "127.0.0.1:8999", "[::1]:0" or "localhost:0"; -1 with an error. */
int listen_tcp(const char *listen, int *ret_port, GError **error);
/* A Unix socket, created with mode 0660 (0600 when not root). The stale file of a killed server is
 * deleted. */
int listen_unix(const char *path, ino_t *ret_inode, GError **error);
