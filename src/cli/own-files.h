/* Where this client, and the servers that it starts, keep their own files: PADDLE_HOME and its default, the client
 * configuration (PADDLE_CONFIG), and that of the older client. They hold tokens, passwords and databases, so no package
 * contains them, whatever directory is sent. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "package/ignore.h"

/* Adds those in the directory `dir` to its rules, as secret files. ERR_USAGE: `dir` itself is one of them. */
bool own_files_leave_out(IgnoreRules *rules, const char *dir, GError **error);
