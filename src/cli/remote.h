/* Files on the server's storage: the requests under fs/upload.h's transfers, and the names people give them.
 */
#pragma once

#include "cli/cli.h"
#include "fs/upload.h"

extern const TransferOps remote_ops; /* `arg` is the Cli, whose client is there */

/* "/pfs/<dc>/home/<user>/..." of a path as people write it; a relative one stands in the caller's home. A
 * slash at the end stays. The caller's; NULL on failure. Asks the server for datacenter and user. */
char *remote_path(Cli *cli, const char *text, GError **error);

/* Draws the bar of a transfer: `arg` is a Progress. */
void remote_report(const TransferProgress *transfer, void *arg);
