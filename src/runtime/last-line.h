/* The last line that a member wrote. It is part of the reason of a failure, because it often names the cause
 * ("KeyError: 'learning_rate'"). */
#pragma once

#include <glib.h>

enum { LAST_LINE_MAX = 200 /* characters */ };

/* The last line of `text` that contains a letter or digit, as one line, without colours and other control
 * characters, valid UTF-8, of at most LAST_LINE_MAX characters. If the line was redrawn (`\r`), its last
 * state. NULL: there is none. Pure; the caller's. */
char *last_line_of(const char *text, gsize len);

/* The same for the end of a task's log below the state directory. NULL: the task has no log, or it cannot be
 * read. `task`: ID.ATTEMPT.ROLE.INDEX. */
char *last_line_of_task(const char *state_dir, const char *task);
