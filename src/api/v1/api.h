/* The `/v1` API (doc/guide/rest.md): translation between HTTP and the engine, the storage, the packages and the
 * logs. No decisions. Handlers run on the HTTP workers; what changes state goes through the engine and is
 * answered after its commit. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "api/auth/auth.h"
#include "api/auth/sso.h"
#include "engine/engine.h"
#include "net/server.h"
#include "package/package.h"
#include "storage/janitor.h"
#include "storage/storage.h"
#include "store/audit.h"

typedef struct Api Api;

typedef struct {
        Engine *engine;
        Store *store;
        Runtime *runtime;
        Storage *storage;
        PackageStore *packages;
        Ledger *ledger;
        Projects *projects; /* or NULL */
        Janitor *janitor;
        Auth *auth;
        Sso *sso; /* NULL: there is no single sign-on */
        Audit *audit;
        SealKey *secrets; /* of the secrets of users */
        const char *dc, *state_dir;
        const char *journal_dir; /* of the scheduler; NULL: none is kept */
        const char *node_name;   /* of this machine */
        const char *const *node_labels;
} ApiConfig;

Api *api_new(const ApiConfig *config); /* borrows what it points to; copies the strings */
/* Answers the requests that wait for news; before the HTTP server is freed. */
void api_stop(Api *api);
/* After the HTTP server is gone. */
void api_free(Api *api);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Api, api_free)

/* All routes, for http_server_new; and /metrics alone, for a port of its own. */
const HttpRoute *const *api_routes(void);
const HttpRoute *const *api_metrics_routes(void);

/* For /metrics; may be set once the server exists. */
void api_set_server(Api *api, HttpServer *server);
