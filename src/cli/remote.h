/* Files in the server's storage: the requests for the transfers of storage/upload.h, and the paths that users
 * type. */
#pragma once

#include "cli/cli.h"
#include "storage/upload.h"

extern const TransferOps remote_ops; /* `arg` is the Cli, whose client must exist */

/* "/pfs/<dc>/home/<user>/..." for a path that a user typed; a relative path starts at the caller's home. A
 * trailing slash is kept. The caller's; NULL on failure. Asks the server for datacenter and user. */
char *remote_path(Cli *cli, const char *text, GError **error);

/* The parts of a home's path, for verbs with many paths; gives the same paths as remote_path. */
typedef struct {
        char *dc, *user;
} RemoteNames;
bool remote_names_ask(Cli *cli, RemoteNames *ret, GError **error);
void remote_names_clear(RemoteNames *names);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RemoteNames, remote_names_clear)
char *remote_path_of(const RemoteNames *names, const char *text, GError **error);

/* A request that may be repeated, because contents are named by their hash. It is retried (`retries` 0: the usual number
 * of times), and its header says so. A reply that is not 2xx is an error. */
bool remote_call(Cli *cli, HttpCall *http, HttpReply *reply, GError **error);
/* The same with a body of bytes. */
bool remote_send(Cli *cli, const char *method, const char *path, const void *data, gsize len,
                 HttpReply *reply, GError **error);

/* The answer to a request that may take the server minutes, such as a survey of its disk; NULL on failure. */
json_t *remote_ask(Cli *cli, const char *method, const char *path, GError **error);

/* Requests for one path; `query` begins with '?'. The server may take minutes to answer. */
json_t *remote_get(Cli *cli, const char *remote, const char *query, GError **error);
/* Not retried if the answer is lost: after a success a second one would fail. */
bool remote_post(Cli *cli, const char *remote, json_t *take_body, GError **error);
bool remote_delete(Cli *cli, const char *remote, bool recursive, GError **error);

/* Draws the bar of a transfer: `arg` is a Progress. */
void remote_report(const TransferProgress *transfer, void *arg);

/* Adds a hint how to list the storage to ERR_NOT_FOUND, unless it has one; returns false. */
bool remote_hint(GError **error);
