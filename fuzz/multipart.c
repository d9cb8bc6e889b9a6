/* A form that is posted to /v1/packages: the first line of the input is its content type, the rest its body.
 * A part that is found lies inside the body. */
#include <assert.h>
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "api/v1/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *text = (const char *)data, *end = memchr(data, '\n', size), *part = NULL;
        g_autofree char *type = end ? g_strndup(text, (gsize)(end - text)) : NULL;
        g_autofree char *boundary = multipart_is_form(type) ? multipart_boundary(type, NULL) : NULL;
        g_autoptr(GError) error = NULL;
        g_autofree char *body = NULL;
        gsize len, part_len = 0;

        if (!boundary)
                return 0;
        len = size - (gsize)(end + 1 - text);
        body = g_memdup2(end + 1, len); /* of its own, so that a byte too far is seen */
        if (multipart_find(body, len, boundary, &part, &part_len, &error))
                assert(part >= body && part + part_len <= body + len);
        else
                assert(error);
        return 0;
}
