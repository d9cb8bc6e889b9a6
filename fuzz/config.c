/* The client's configuration file: whatever stands in it, the client gets a checked address or an error with
 * a sentence. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "cli/config.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t len);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
        json_init();
        return 0;
}

static void check(const ClientConfig *config)
{
        gsize len = config->server ? strlen(config->server) : 0;

        assert(config->registry_domain && *config->registry_domain);
        assert(!config->token || *config->token);
        if (!config->server)
                return;
        assert(strstr(config->server, ":/") && !strpbrk(config->server, " \t\r\n"));
        assert(config->server[len - 1] != '/' && config->server[len - 1] != '\\');
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t len)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(ClientConfig) config = client_config_parse((const char *)data, len, "config", &error);

        assert((config == NULL) == (error != NULL));
        if (config)
                check(config);
        else
                assert(err_row(error)->exit == 1 &&
                       g_str_has_prefix(error->message, "configuration 'config': "));
        return 0;
}
