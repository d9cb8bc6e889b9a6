/* paddle version: of this client and of its server (cloud.md 5 case 1). */
#include "base/err.h"
#include "cli/listing.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        bool client;
} Version;

static const Option options[] = {
        { "client", 0, OPTION_BOOL, offsetof(Version, client), NULL, NULL, "ask no server", 0, 0, NULL },
        COMMON_OPTIONS,
        { 0 },
};

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Version *version = target;
        g_autoptr(json_t) reply = NULL;

        puts("client: " PADDLE_VERSION);
        if (version->client)
                return true;
        fflush(stdout); /* known whatever becomes of the server */
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
        .options = options,
        .size = sizeof(Version),
        .run = run,
};
