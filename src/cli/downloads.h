/* Files that `paddle download` has brought to this machine, by path, size and time of their last change, in
 * PADDLE_HOME/downloads. A package leaves them out as long as nobody changes them: the model that a job wrote
 * does not travel back with the next job. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "package/ignore.h"

/* Notes files that were just written. One that cannot be noted would be sent, which does no harm, so there
 * are no errors. `paths` are char *. */
void downloads_note(const GPtrArray *paths);

/* Adds those in the directory `dir` to its rules, as foreign files. */
void downloads_leave_out(IgnoreRules *rules, const char *dir);
