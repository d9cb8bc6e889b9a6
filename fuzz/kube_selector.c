/* A label selector from outside: refused, or written so that it is read as the same. */
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "kube/selector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autofree char *text = g_strndup((const char *)data, size);
        g_autoptr(json_t) object = json_parse((const char *)data, size, NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(KubeSelector) selector =
                object ? kube_selector_from_object(object, &error) : kube_selector_parse(text, &error);

        g_assert_true(!selector != !error);
        if (!selector)
                return 0;
        (void)kube_selector_matches(selector, object);
        g_autofree char *written = kube_selector_format(selector);
        if (!written)
                return 0;
        g_autoptr(KubeSelector) again = kube_selector_parse(written, &error);
        g_autofree char *twice = again ? kube_selector_format(again) : NULL;
        g_assert_no_error(error);
        g_assert_cmpstr(twice, ==, written);
        return 0;
}
