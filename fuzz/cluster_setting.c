/* What a cluster is told from outside: its setting, references of images, and what a registry asks for. A
 * setting that is shown holds no password and is read as before. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "model/cluster.h"
#include "runtime/kubernetes/image/registry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void setting(const char *text)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(Setting) read = setting_parse(text, &error), again = NULL;
        g_autofree char *shown = cluster_setting_show(text), *kept = cluster_setting_keep(shown, text);

        g_assert_true(!read != !error);
        again = setting_parse(kept, NULL);
        if (read)
                g_assert_cmpstr(again->registry.password, ==, read->registry.password);
        if (read && read->registry.password && strlen(read->registry.password) > strlen(text) / 2)
                g_assert_null(strstr(shown, read->registry.password));
}

static void texts(const char *text)
{
        g_autofree char *origin = NULL, *path = NULL, *whole = NULL;
        g_auto(ImageName) name = { 0 }, again = { 0 };

        if (registry_challenge_parse(text, NULL, "registry.example", &origin, &path, NULL))
                g_assert_true(g_str_has_prefix(origin, "https://") && *path == '/');
        if (!image_name_parse(text, &name, NULL))
                return;
        whole = image_name_by_digest(&name, "sha256:0");
        g_assert_true(image_name_parse(whole, &again, NULL));
        g_assert_cmpstr(again.host, ==, name.host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autofree char *text = g_strndup((const char *)data, size);

        setting(text);
        texts(text);
        return 0;
}
