/* Who asks, where trusted proxies stand between. */
#pragma once

#include <glib.h>

/* The address that a request comes from, in its usual form: of the peer, or, while that is one of `trusted`
 * (a NULL-terminated list, or NULL), the one before it in X-Forwarded-For (`header`, or NULL). What is no
 * address ends the way: then it is the last trusted one. The caller's. */
char *forwarded_for(const char *peer, const char *header, const char *const *trusted);
