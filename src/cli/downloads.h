/* Files that `paddle download` has written on this machine, by path, size and modification time, in
 * PADDLE_HOME/downloads. Packages exclude them while they are unchanged, so that a model that a job wrote is
 * not sent back with the next job. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "package/ignore.h"

/* Records files that were just written. Errors are ignored: an unrecorded file would be sent, which does no
 * harm. `paths` are char *. */
void downloads_note(const GPtrArray *paths);

/* Adds the recorded files in the directory `dir` to its rules, as foreign files. */
void downloads_leave_out(IgnoreRules *rules, const char *dir);
