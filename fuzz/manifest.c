/* Manifests from outside. What is accepted must be canonical: its text is the input, byte for byte. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "package/package.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(Manifest) manifest = manifest_parse((const char *)data, size, &error);
        g_autofree char *text = NULL;

        if (!manifest != !!error)
                g_error("a manifest or an error, not both or none");
        if (!manifest)
                return 0;
        text = manifest_format(manifest);
        if (strlen(text) != size || memcmp(text, data, size) != 0)
                g_error("accepted a form that is not canonical");
        return 0;
}
