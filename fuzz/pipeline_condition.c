/* Fuzz target: conditions of pipelines.
 *
 * Any text has an outcome. What can be evaluated has no fault before the run either. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "pipeline/condition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autofree char *text = g_strndup((const char *)data, size), *fault = condition_fault(text);
        g_autoptr(GError) error = NULL;
        bool value = false, ok = condition_eval(text, &value, &error);

        g_assert_cmpint(ok, ==, error == NULL);
        if (ok && *text && !strstr(text, "{{") && !strstr(text, "}}"))
                g_assert_null(fault);
        return 0;
}
