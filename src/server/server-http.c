/* The sockets of a server, and the metrics on a port of their own (see server.h). */
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "server/first-password.h"
#include "server/server.h"

enum {
        USER_BYTES_MAX = 64 << 20, /* of one user's request bodies in memory: the maximum of any route */
        STRANGER_BYTES_MAX = 32 << 20,
        STRANGER_BODY_MS = 10000,
        STRANGER_DISCARD_MAX = 16 << 10, /* the size of a log-in's body */
};
/* Decides how `root` can log in before its password was set: with the password in the file, or with the
 * published password that older clients use. */
static bool settle_root(Server *server, GError **error)
{
        if (!server->published)
                return first_password_make(server->engine, server->first_password, error);
        if (first_password_is_there(server->engine)) {
                bool random = g_file_test(server->first_password, G_FILE_TEST_EXISTS);

                log_warning(
                        random ? "--published-password has no effect: 'root' got a random password at an "
                                 "earlier "
                                 "start without this option; write the one of this file into the clients' "
                                 "configuration, or leave the option out"
                               : "--published-password has no effect: 'root' has a password of its own; "
                                 "write that "
                                 "into the clients' configuration, or leave the option out",
                        "published-password", server->options.published, random ? "file" : NULL,
                        server->first_password, NULL);
                return true;
        }
        log_warning("clients at these addresses can log in as 'root', unless its password was changed "
                    "(paddle user set root --password)",
                    "published-password", server->options.published, NULL);
        return true;
}

static bool open_metrics(Server *server, GError **error)
{
        g_autofree char *temp = server_path(server, "tmp");
        HttpServerConfig config = { .listen = server->options.metrics_listen,
                                    .temp_dir = temp,
                                    .max_connections = 64,
                                    .tls = server->tls };

        if (!config.listen)
                return true;
        server->metrics = http_server_new(&config, api_metrics_routes(), server->api, error);
        return server->metrics || err_prefix(error, "--metrics-listen: ");
}

bool server_open_http(Server *server, GError **error)
{
        g_autofree char *socket = server_path(server, SERVER_SOCKET);
        g_autofree char *temp = server_path(server, "tmp");
        bool tcp = strcmp(server->options.listen, "none") != 0;
        const HttpFace faces[] = { paddleflow_face(server->flow),
                                   paddleflow_face_outside(server->flow),
                                   { NULL } };
        HttpServerConfig config = {
                .faces = faces,
                .listen = tcp ? server->options.listen : NULL,
                .socket_path = socket,
                .temp_dir = temp,
                .workers = (int)server->options.workers,
                .max_connections = (int)server->options.max_connections,
                .max_per_holder =
                        (int)(server->options.max_per_address ? server->options.max_per_address
                                                              : server->options.max_connections / 4),
                .user_bytes_max = USER_BYTES_MAX,
                .stranger_bytes_max = STRANGER_BYTES_MAX,
                .stranger_body_ms = STRANGER_BODY_MS,
                .stranger_discard_max = STRANGER_DISCARD_MAX,
                .access = auth_access,
                .trusted_proxies = (const char *const *)server->trusted_proxies,
                .authenticate = auth_authenticate,
                .permits = auth_admits,
                .record = auth_record,
                .credential = auth_credential,
                .is_valid = auth_is_valid,
                .by_certificate = auth_by_certificate,
                .tls = server->tls,
                .arg = server->auth,
                .hold = disk_hold,
                .release = disk_release,
                .hold_arg = server->disk,
        };

        if (tcp && !settle_root(server, error))
                return false;
        server->http = http_server_new(&config, api_routes(), server->api, error);
        if (!server->http)
                return false;
        api_set_server(server->api, server->http);
        return open_metrics(server, error);
}
