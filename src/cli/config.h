/* The client's configuration file $HOME/.paddle/config (doc/reference/paddle-cloud.md, "The first
 * configuration file" and "The later configuration file"): YAML with
 *
 *     apiVersion: v1
 *     dockerRegistry:
 *       domain: domain.com //default is docker.io
 *       username: ...
 *       password: ...
 *     paddleServer: http://HOST:PORT
 *     token: SECRET
 *     caCert: FILE                 # TLS: the server's authority, if it is not one of the system's
 *     clientCert: FILE             # TLS: the client's certificate, instead of a token
 *     clientKey: FILE
 *     embeddedIdle: 8h             # a server that commands start ends after this time without jobs,
 *                                  # schedules and commands; 0: never; default: an hour
 *
 * or, in the older form, `datacenters` (a list of name, username, password, endpoint, token) with
 * `current-datacenter`. `paddleServer` has priority. Other keys are kept, as they may belong to other
 * programs. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
        char *server;                                /* URL without trailing slashes, or NULL: not set */
        char *token;                                 /* or NULL */
        char *ca, *cert, *key;                       /* of TLS: paths of PEM files, or NULL */
        char *idle;                                  /* a duration, or NULL */
        char *registry_domain;                       /* "docker.io" by default */
        char *registry_username, *registry_password; /* or NULL */
} ClientConfig;

void client_config_free(ClientConfig *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClientConfig, client_config_free)

/* Parses a file's text; `name` is its path, for messages. Every failure is ERR_FAILED (exit status 1;
 * doc/reference/paddle-cloud.md, "Cases that a client passes"). */
ClientConfig *client_config_parse(const char *text, gsize len, const char *name, GError **error);

/* Reads `path`; a missing file is an empty configuration. */
ClientConfig *client_config_read(const char *path, GError **error);

/* Stores server and token in `path`, and makes it readable only for its owner. The other content of the file
 * stays. */
bool client_config_store(const char *path, const char *server, const char *token, GError **error);
