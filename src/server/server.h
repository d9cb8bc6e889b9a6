/* The parts of a running server, and the files server*.c that open them. Internal to main.c and these. */
#pragma once

#include <limits.h>

#include "api/auth/directory.h"
#include "api/auth/recorder.h"
#include "api/auth/sso.h"
#include "api/paddleflow/flow.h"
#include "api/v1/api.h"
#include "engine/disk.h"
#include "engine/engine.h"
#include "server/drivers.h"
#include "server/idle.h"
#include "server/options.h"

#define SERVER_SOCKET "paddled.sock" /* in the state directory */
#define SERVER_SOCKET_ASIDE "paddled.sock.ending"

typedef struct Server {
        ServerOptions options;
        GMainLoop *loop;
        char boot_id[37];
        Store *store;
        Identities *identities; /* NULL: members run as the server */
        Runtime *runtime;
        DriversConfig drivers; /* for the runtimes of other clusters */
        char *id;              /* names this server's objects in a cluster */
        Disk *disk;
        Storage *storage;
        PackageStore *packages;
        Engine *engine;
        Audit *audit;
        Recorder *recorder;
        Directory *directory; /* of LDAP; or NULL */
        Auth *auth;
        Sso *sso; /* or NULL */
        char *oidc_secret;
        Api *api;
        PaddleFlow *flow;           /* the older interface */
        Tls *tls;                   /* of the TCP ports; or NULL */
        HttpServer *http, *metrics; /* `metrics`: on a separate port, or NULL */
        char *journal;              /* directory of the scheduler's journal */
        char node_name[HOST_NAME_MAX + 1];
        char **node_labels;     /* or NULL */
        char **published;       /* AuthConfig.published; or NULL */
        char **trusted_proxies; /* HttpServerConfig.trusted_proxies; or NULL */
        char *factor_key;       /* file with the key of second factors */
        SealKey *secrets;       /* key of users' secrets */
        SecondFactorFor factor_for;
        char *first_password; /* file with root's password, until that is changed */
        Idle idle;
        int start_lock; /* held while the server ends by itself */
} Server;

/* Opens all parts, from the store upwards. False: some may be open; server_close frees them. */
bool server_open(Server *server, GError **error);
/* Newest first; also frees a server that is only partly opened. */
void server_close(Server *server);

/* A path in the state directory; the caller's. */
char *server_path(const Server *server, const char *name);

/* server-runtime.c: the runtime of this machine. Needs identities and the disk. */
bool server_open_runtime(Server *server, GError **error);

/* server-login.c: who may log in. The first two read options, before anything is opened. */
bool server_read_lists(Server *server, GError **error);
bool server_read_sso(Server *server, GError **error);
bool server_open_auth(Server *server, GError **error);
bool server_open_sso(Server *server, GError **error);

/* server-http.c: the sockets, last of all. */
bool server_open_http(Server *server, GError **error);
