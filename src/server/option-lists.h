/* Options of paddled whose value is a list of hosts, directories, users or keys. Every item is checked before
 * anything is opened, so that an error appears at the start. Programs are checked as well. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "server/options.h"

enum { KEEP_DIRS_MAX = 15 }; /* of --sandbox-keep; the agent adds two (agent/sandbox.h) */

/* ERR_USAGE with the option, the item, the reason, and what would be right. */
bool option_lists_check(const ServerOptions *options, GError **error);
