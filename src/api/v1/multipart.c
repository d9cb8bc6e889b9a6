/* A part of a multipart body (see multipart.h). */
#include "api/v1/multipart.h"

#include <string.h>

#include "base/err.h"

enum { PART_HEAD_MAX = 64 * 1024, BOUNDARY_MAX = 70 /* RFC 2046 */ };

bool multipart_is_form(const char *type)
{
        return type && g_ascii_strncasecmp(type, "multipart/form-data", 19) == 0;
}

char *multipart_boundary(const char *type, GError **error)
{
        const char *at = strstr(type, "boundary=");
        g_autofree char *value = NULL;

        at = at ? at + strlen("boundary=") : "";
        value = *at == '"' ? g_strndup(at + 1, strcspn(at + 1, "\"")) : g_strndup(at, strcspn(at, "; "));
        if (*value && strlen(value) <= BOUNDARY_MAX)
                return g_strconcat("--", value, NULL);
        err_set(error, ERR_INVALID, "Content-Type: '%.100s' has no boundary of 1 to %d characters", type,
                BOUNDARY_MAX);
        return NULL;
}

static bool no_part(GError **error)
{
        return err_set(error, ERR_INVALID,
                       "the multipart body has no whole part named 'package'\n"
                       "Send the archive as field 'package'.");
}

/* A boundary counts at the beginning of a line only: in the middle of one it is content. The first may open
 * the body, and a part that is empty ends with the line that ends its head. */
bool multipart_find(const char *body, gsize len, const char *boundary, const char **ret, gsize *ret_len,
                    GError **error)
{
        g_autofree char *mark = g_strconcat("\r\n", boundary, NULL);
        gsize mark_len = strlen(mark);
        const char *end, *at;

        if (len == 0) /* the map of nothing is NULL, which takes no arithmetic */
                return no_part(error);
        end = body + len;
        if (len > mark_len && memcmp(body, boundary, mark_len - 2) == 0)
                at = body + mark_len - 2;
        else if ((at = memmem(body, len, mark, mark_len)))
                at += mark_len;
        while (at && at + 2 < end && memcmp(at, "--", 2) != 0) {
                gsize window = MIN((gsize)(end - at), PART_HEAD_MAX);
                const char *blank = memmem(at, window, "\r\n\r\n", 4);
                const char *next = blank ? memmem(blank + 2, (gsize)(end - blank - 2), mark, mark_len) : NULL;

                if (!next)
                        break;
                if (memmem(at, (gsize)(blank - at), "name=\"package\"", 14)) {
                        *ret = blank + 4;
                        *ret_len = next > *ret ? (gsize)(next - *ret) : 0;
                        return true;
                }
                at = next + mark_len;
        }
        return no_part(error);
}
