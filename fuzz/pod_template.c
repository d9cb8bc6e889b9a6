/* Fuzz target: the extension template of a user, and the setting of the cluster where its pods would be,
 * behind a NUL.
 *
 * A template is refused with ERR_DENIED or ERR_INVALID, or asks for nothing of the node, for no node and for
 * no taint that the setting does not name. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "model/baseline.h"
#include "model/extension.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_said(const json_t *spec, const char *name)
{
        const json_t *value = json_object_get(spec, name);

        return value && !json_is_null(value) && !json_is_false(value) &&
               !(json_is_integer(value) && json_integer_value(value) == 0) &&
               !(json_is_string(value) && !*json_string_value(value)) &&
               !(json_is_array(value) && json_array_size(value) == 0);
}

static bool check_pod(const char *where, const json_t *pod, const void *arg, GError **error)
{
        static const char *const never[] = { "hostNetwork", "hostPID",   "hostIPC",  "nodeName",
                                             "overhead",    "resources", "priority", "ephemeralContainers" };
        const json_t *spec = json_object_get(pod, "spec"), *volume;
        const bool *allows = arg;
        size_t i;

        for (gsize n = 0; n < G_N_ELEMENTS(never); n++)
                g_assert_false(is_said(spec, never[n]));
        g_assert_true(*allows || !is_said(spec, "tolerations"));
        g_assert_cmpuint(json_array_size(json_object_get(spec, "containers")), <=, 1);
        json_array_foreach(json_object_get(spec, "volumes"), i, volume) {
                g_assert_false(is_said(volume, "hostPath"));
                g_assert_true(*allows || !is_said(volume, "nfs"));
        }
        return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
        size_t len = end ? (size_t)(end - data) : size;
        g_autoptr(json_t) template = json_parse((const char *)data, len, NULL);
        g_autofree char *setting = end ? g_strndup((const char *)end + 1, size - len - 1) : NULL;
        bool allows = setting && *setting;
        g_autoptr(GError) error = NULL;

        if (!template)
                return 0;
        if (baseline_check(template, &(BaselinePlace){ .setting = setting, .pods = true }, &error))
                g_assert_true(extension_each_pod(template, check_pod, &allows, NULL));
        else
                g_assert_true(err_is(error, ERR_DENIED) || err_is(error, ERR_INVALID));
        return 0;
}
