/* paddle version: of this client and of its server (doc/reference/paddle-cloud.md, "Cases that a client
 * passes"). */
#include <string.h>

#include "base/err.h"
#include "cli/discover.h"
#include "cli/embedded.h"
#include "cli/listing.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        bool client;
} Version;

static const Option options[] = {
        { "client", 0, OPTION_BOOL, offsetof(Version, client), NULL, "ask no server" },
        COMMON_OPTIONS,
        { 0 },
};

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Version *version = target;
        g_autoptr(Discovery) found = NULL;
        g_autoptr(json_t) reply = NULL;

        puts("client: " PADDLE_VERSION);
        if (version->client)
                return true;
        fflush(stdout); /* shown even if the server does not answer */
        found = discover(cli->common->server, cli->common->token, DISCOVER_ONLY, error);
        if (!found)
                return false;
        if (strcmp(found->source, "embedded") == 0 && embedded_pid() == 0) {
                puts("server: none is running");
                return true;
        }
        if (!cli_client(cli, error) ||
            !http_call_json(cli->client, "GET", "/v1/version", NULL, &reply, error))
                return false;
        printf("server: %s (%s)\n", text_of(reply, "version"), http_client_url(cli->client));
        return true;
}

const Verb verb_version = {
        .name = "version",
        .args = "",
        .summary = "Print the versions of client and server",
        .about = "An embedded server that is not running is not started for this.",
        .options = options,
        .size = sizeof(Version),
        .run = run,
};
