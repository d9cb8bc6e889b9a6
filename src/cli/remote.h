/* Files on the server's storage: the requests under storage/upload.h's transfers, and the names people give them.
 */
#pragma once

#include "cli/cli.h"
#include "storage/upload.h"

extern const TransferOps remote_ops; /* `arg` is the Cli, whose client is there */

/* "/pfs/<dc>/home/<user>/..." of a path as people write it; a relative one stands in the caller's home. A
 * slash at the end stays. The caller's; NULL on failure. Asks the server for datacenter and user. */
char *remote_path(Cli *cli, const char *text, GError **error);

/* The names that short paths are seen from, for verbs of many paths; the same paths as remote_path. */
typedef struct {
        char *dc, *user;
} RemoteNames;
bool remote_names_ask(Cli *cli, RemoteNames *ret, GError **error);
void remote_names_clear(RemoteNames *names);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RemoteNames, remote_names_clear)
char *remote_path_of(const RemoteNames *names, const char *text, GError **error);

/* Requests for one path; `query` begins with '?'. They may take the server minutes of silence. */
json_t *remote_get(Cli *cli, const char *remote, const char *query, GError **error);
/* Not repeated when the answer is lost: after a success a second one would be an error. */
bool remote_post(Cli *cli, const char *remote, json_t *take_body, GError **error);
bool remote_delete(Cli *cli, const char *remote, bool recursive, GError **error);

/* Draws the bar of a transfer: `arg` is a Progress. */
void remote_report(const TransferProgress *transfer, void *arg);

/* Adds to ERR_NOT_FOUND without a hint how the storage is looked at; false. */
bool remote_hint(GError **error);
