/* Finds the server: --server, then PADDLE_SERVER, then the configuration file, else the embedded server of
 * this user, which is started if it is not running. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "net/client.h"

typedef struct {
        char *url;             /* for http_client_new */
        char *token;           /* or NULL */
        const char *source;    /* "--server", "PADDLE_SERVER", "configuration", "embedded" */
        char *ca, *cert, *key; /* of TLS (HttpClientTls); or NULL */
} Discovery;

void discovery_free(Discovery *discovery);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Discovery, discovery_free)

typedef enum {
        DISCOVER_START, /* start the embedded server if it is needed and not running */
        DISCOVER_ONLY,  /* only report where it would be */
} DiscoverMode;

/* `server` and `token` are the values of --server and --token, or NULL. Errors of the configuration have exit
 * status 1. */
Discovery *discover(const char *server, const char *token, DiscoverMode mode, GError **error);

/* A client of the found server that uses `token` (NULL: no token). */
HttpClient *discovery_client(const Discovery *found, const char *token, GError **error);

/* Path of the configuration file: PADDLE_CONFIG, else `config` in the home of embedded.h. The caller's. */
char *client_config_path(void);
/* `embeddedIdle` of the configuration, for EmbeddedListen.idle; NULL: not set. The caller's. */
bool embedded_idle(char **ret, GError **error);
