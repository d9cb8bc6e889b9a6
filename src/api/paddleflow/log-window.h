/* Some lines from one of the ends of a log (doc/reference/paddleflow-api.md, "Logs"). */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { LOG_LINES_MAX = 1000000 };

typedef struct {
        bool tail;          /* the last lines, instead of the first */
        gint64 lines, size; /* at most; size in bytes */
} LogWindow;

/* Whole lines of a file that fit; part of a line where one alone is too long. The text ends with a newline
 * unless it is empty; the caller's. *ret_more: there is more of the log beyond it. */
GString *log_window_read(const LogWindow *window, int fd, bool *ret_more);
