/* Where a request ends: RFC 9112, 6.3 leaves cases in which a proxy and a server may differ, so that what one
 * takes for a body is the next request for the other. Such requests are refused, and their connections closed
 * (11.2). Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
        guint lengths, codings, hosts; /* fields of that name */
        bool chunked;                  /* the last coding is `chunked` alone */
        const char *wrong;             /* what no request may have, a sentence's middle; or NULL */
} Framing;

/* One field; neither name nor value need end in NUL. */
void framing_add(Framing *framing, const char *name, gsize name_len, const char *value, gsize value_len);
/* ERR_INVALID when the request's end is in doubt, or it has what no request may have. */
bool framing_check(const Framing *framing, bool http_1_1, GError **error);
