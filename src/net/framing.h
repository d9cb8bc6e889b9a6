/* The end of a request. RFC 9112, 6.3 leaves cases in which a proxy and a server may differ, so that one
 * reads as a body what the other reads as the next request. Such requests are refused, and their connections
 * closed (11.2). Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
        guint lengths, codings, hosts; /* number of fields of that name */
        bool chunked;                  /* the only and last coding is `chunked` */
        const char *wrong;             /* a property that no request may have, as the middle of a sentence; or
                                          NULL */
} Framing;

/* Adds one field. Name and value need not be NUL-terminated. */
void framing_add(Framing *framing, const char *name, gsize name_len, const char *value, gsize value_len);
/* ERR_INVALID if the end of the request is ambiguous, or if the request has a property that none may have. */
bool framing_check(const Framing *framing, bool http_1_1, GError **error);
