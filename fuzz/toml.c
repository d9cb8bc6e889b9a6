/* Fuzz target: TOML, as of a package's pyproject.toml and uv.lock.
 *
 * Any bytes are either refused with a code that says whose fault it is, or become a JSON object. */
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) value = toml_parse((const char *)data, size, "fuzz", &error);

        if (value)
                g_assert_true(json_is_object(value));
        else
                g_assert_true(err_is(error, ERR_INVALID) || err_is(error, ERR_TOO_LARGE));
        return 0;
}
