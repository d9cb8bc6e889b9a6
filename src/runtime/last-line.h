/* The last line that a member wrote: it stands in the reason of its failure, since it often says the cause
 * ("KeyError: 'learning_rate'"). */
#pragma once

#include <glib.h>

enum { LAST_LINE_MAX = 200 /* characters */ };

/* The last line of `text` with a letter or digit in it, on one line, without colours and other control
 * characters, valid UTF-8, of at most LAST_LINE_MAX characters. Of a line that was redrawn (`\r`), its last
 * state. NULL: there is none. Pure; the caller's. */
char *last_line_of(const char *text, gsize len);

/* The same of the end of a task's log below the state directory. NULL when it has none, or cannot be read.
 * `task`: ID.ATTEMPT.ROLE.INDEX. */
char *last_line_of_task(const char *state_dir, const char *task);
