/* A part of a multipart body (see multipart.h). */
#include "api/v1/multipart.h"

#include <string.h>

#include "base/err.h"

enum { PART_HEAD_MAX = 64 * 1024, BOUNDARY_MAX = 70 /* RFC 2046 */ };

char *multipart_boundary(const char *type)
{
        const char *at;
        g_autofree char *value = NULL;

        if (!type || g_ascii_strncasecmp(type, "multipart/form-data", 19) != 0 ||
            !(at = strstr(type, "boundary=")))
                return NULL;
        at += strlen("boundary=");
        value = *at == '"' ? g_strndup(at + 1, strcspn(at + 1, "\"")) : g_strndup(at, strcspn(at, "; "));
        return *value && strlen(value) <= BOUNDARY_MAX ? g_strconcat("--", value, NULL) : NULL;
}

bool multipart_find(const char *body, gsize len, const char *boundary, const char **ret, gsize *ret_len,
                    GError **error)
{
        gsize mark = strlen(boundary);
        const char *end = body + len, *at = memmem(body, len, boundary, mark);

        while (at && (at += mark) + 2 < end && memcmp(at, "--", 2) != 0) {
                const char *head = at + 2;
                gsize window = MIN((gsize)(end - head), PART_HEAD_MAX);
                const char *blank = memmem(head, window, "\r\n\r\n", 4);
                const char *next = blank ? memmem(blank + 4, (gsize)(end - blank - 4), boundary, mark) : NULL;

                if (!blank || !next || next - 2 < blank + 4)
                        break;
                if (memmem(head, (gsize)(blank - head), "name=\"package\"", 14)) {
                        *ret = blank + 4;
                        *ret_len = (gsize)(next - 2 - *ret);
                        return true;
                }
                at = next;
        }
        return err_set(
                error, ERR_INVALID,
                "the multipart body has no whole part named 'package'\nSend the archive as field 'package'.");
}
