/* paddle up: starts the embedded server. */
#include <string.h>

#include "base/err.h"
#include "cli/discover.h"
#include "cli/embedded.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        char *listen, *tls_cert, *tls_key;
        bool plain_http, stay;
} Up;

static const Option options[] = {
        { "listen", 'l', OPTION_STRING, offsetof(Up, listen), "ADDR:PORT",
          "also listen on TCP, with tokens: 127.0.0.1:8999" },
        { "tls-cert", 0, OPTION_STRING, offsetof(Up, tls_cert), "FILE",
          "certificate (PEM) to speak TLS there, which --listen beyond this machine needs" },
        { "tls-key", 0, OPTION_STRING, offsetof(Up, tls_key), "FILE", "private key (PEM) of --tls-cert" },
        { "plain-http", 0, OPTION_BOOL, offsetof(Up, plain_http), NULL,
          "listen beyond this machine without TLS" },
        { "stay", 0, OPTION_BOOL, offsetof(Up, stay), NULL,
          "run until `paddle down`; without it, the server ends after an hour without jobs, schedules and commands" },
        COMMON_OPTIONS,
        { 0 },
};

/* A server for several users does not end by itself. */
static bool read_idle(const Up *up, char **ret, GError **error)
{
        if (!up->stay && !up->listen)
                return embedded_idle(ret, error);
        *ret = g_strdup("0");
        return true;
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Up *up = target;
        g_autofree char *url = embedded_url(), *idle = NULL;
        bool started = false;

        if (cli->common->server)
                return err_set(error, ERR_USAGE,
                               "--server='%s' names a server, and 'up' starts the embedded one",
                               cli->common->server);
        if (!read_idle(up, &idle, error))
                return false;
        const EmbeddedListen listen = { up->listen, up->tls_cert, up->tls_key, up->plain_http, idle };
        if (!embedded_ensure(&listen, &started, error))
                return false;
        if (!started && (up->listen || up->stay))
                return err_set(error, ERR_CONFLICT,
                               "the embedded server is up already (process %d); --%s was not applied\n"
                               "`paddle down` stops it; jobs keep running.",
                               (int)embedded_pid(), up->listen ? "listen" : "stay");
        puts(url);
        cli_say(cli,
                started ? "the embedded server is up (process %d)"
                        : "the embedded server was up already (process %d)",
                (int)embedded_pid());
        if (up->listen)
                cli_say(cli, "it takes requests on %s://%s with a token: `paddle token create`",
                        up->tls_cert ? "https" : "http", up->listen);
        return true;
}

const Verb verb_up = {
        .name = "up",
        .args = "",
        .summary = "Start the embedded server of this user",
        .about =
                "Other verbs start it automatically if no server is named. It keeps its state in "
                "$HOME/.paddle (or PADDLE_HOME) and ends by itself after an hour without open jobs, "
                "running schedules and commands; the next command starts it again. With --stay or --listen it runs until `paddle "
                "down`. `embeddedIdle: 8h` in the configuration is another time, 0 never.",
        .options = options,
        .size = sizeof(Up),
        .run = run,
};
