/* The `/v1` API (doc/rest.md): translation between HTTP and the engine, the storage, the packages and the
 * logs. No decisions. Handlers run on the HTTP workers; what changes state goes through the engine and is
 * answered after its commit. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "engine/engine.h"
#include "fs/package.h"
#include "fs/storage.h"
#include "net/server.h"

typedef struct Api Api;

typedef struct {
        Engine *engine;
        Store *store;
        Runtime *runtime;
        Storage *storage;
        PackageStore *packages;
        const char *dc, *state_dir;
        uid_t owner; /* of the server: an administrator on the Unix socket, as is root */
} ApiConfig;

Api *api_new(const ApiConfig *config); /* borrows what it points to; copies the strings */
/* Answers the requests that wait for news; before the HTTP server is freed. */
void api_stop(Api *api);
/* After the HTTP server is gone. */
void api_free(Api *api);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Api, api_free)

/* All routes, for http_server_new. */
const HttpRoute *const *api_routes(void);

/* HttpServerConfig.authenticate: a token, or the peer of the Unix socket. `arg` is the Api. */
bool api_authenticate(const char *authorization, uid_t uid, const char *address, char **ret_user,
                      bool *ret_admin, void *arg, GError **error);

/* For /metrics; may be set once the server exists. */
void api_set_server(Api *api, HttpServer *server);
