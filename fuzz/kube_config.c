/* A kubeconfig from outside, as it is uploaded: nothing of this machine may be read or run for it. With the
 * first bit set it is one of this machine's own, whose files are in a folder that is not there. */
#include <stddef.h>
#include <stdint.h>

#include "kube/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size < 1 || size > 1 << 16)
                return 0;
        g_autoptr(GError) error = NULL;
        bool own = data[0] & 1;
        g_autoptr(KubeConfig) config = kube_config_parse((const char *)data + 1, size - 1,
                                                         own ? "/nonexistent" : NULL, NULL, &error);

        g_assert_true(!config != !error);
        if (!config)
                return 0;
        g_autoptr(KubeConfig) copy = kube_config_copy(config);
        g_assert_cmpstr(copy->server, ==, config->server);
        g_assert_nonnull(config->context);
        g_assert_nonnull(config->namespace);
        g_assert_true(own || (!config->exec && !config->token_file));
        g_assert_true(!config->certificate == !config->key);
        return 0;
}
