/* Fuzz target: YAML, as of a job file and of the client's configuration.
 *
 * Any bytes are either refused with a code that says whose fault it is, or become a JSON value that can be
 * written as YAML and read back as the same value. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) value = yaml_parse((const char *)data, size, "fuzz", &error), back = NULL;
        g_autofree char *text = NULL;

        if (!value) {
                g_assert_true(err_is(error, ERR_INVALID) || err_is(error, ERR_TOO_LARGE));
                return 0;
        }
        text = yaml_format(value);
        if (strlen(text) > 1024 * 1024) /* quotes and indents made it larger than what is read */
                return 0;
        back = yaml_parse(text, strlen(text), "back", &error);
        g_assert_no_error(error);
        g_assert_true(json_equal(value, back));
        return 0;
}
