/* The last line that a member wrote. It is part of the reason of a failure, because it often names the cause
 * ("KeyError: 'learning_rate'"). */
#pragma once

#include <glib.h>

enum {
        LAST_LINE_MAX = 200,  /* characters */
        LAST_LINE_BEHIND = 20 /* lines that are looked behind */
};

/* The last line of `text` that contains a letter or digit, as one line, without colours and other control
 * characters, valid UTF-8, of at most LAST_LINE_MAX characters. If the line was redrawn (`\r`), its last
 * state. An error with an advice (advice.h) counts as the last line if only other lines than errors come after it, at
 * most LAST_LINE_BEHIND: those of a shell or launcher. NULL: there is none. Pure; the caller's. */
char *last_line_of(const char *text, gsize len);

/* The same for the end of a task's log below the state directory. NULL: the task has no log, or it cannot be
 * read. `task`: ID.ATTEMPT.ROLE.INDEX. */
char *last_line_of_task(const char *state_dir, const char *task);
