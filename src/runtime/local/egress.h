/* The list of --egress. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Converts "10.0.0.0/8,192.0.2.7:443,[2001:db8::]/32:443" or "none" to the agent's JSON list; the caller's.
 * ERR_USAGE with the wrong item. */
bool egress_parse(const char *text, char **ret, GError **error);
