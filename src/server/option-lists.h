/* Options of paddled whose value is a list of hosts, directories, users or keys: each item is judged before
 * anything is opened, so that a mistake is told at the start and not when it would have mattered. The same of
 * programs. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "server/options.h"

enum { KEEP_DIRS_MAX = 15 }; /* of --sandbox-keep; the agent takes two more (agent/sandbox.h) */

/* ERR_USAGE with the option, the item, why it is refused and what would have been right. */
bool option_lists_check(const ServerOptions *options, GError **error);
