/* The address of a client behind trusted proxies. */
#pragma once

#include <glib.h>

/* The address that a request comes from, in its usual form. It is the peer's. While it is one of `trusted` (a
 * NULL-terminated list, or NULL), it is the one before it in X-Forwarded-For (`header`, or NULL). A text that
 * is not an address ends the search: the result is then the last trusted address. The caller's. */
char *forwarded_for(const char *peer, const char *header, const char *const *trusted);
