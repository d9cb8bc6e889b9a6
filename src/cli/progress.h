/* A bar with rate and remaining time on the terminal's last line; nothing if stderr is not a terminal. */
#pragma once

#include "cli/cli.h"

typedef struct {
        const Cli *cli;
        const char *what;    /* "sending" */
        guint64 done, total; /* bytes; total 0: unknown */
        guint64 first;       /* bytes done before the start, which do not count for the rate */
        gint64 begin, drawn; /* monotonic ms */
        bool open;
} Progress;

void progress_begin(Progress *progress, const Cli *cli, const char *what, guint64 done, guint64 total);
void progress_set(Progress *progress, guint64 done);
void progress_end(Progress *progress); /* removes the line; may be called twice */

/* The text of the line; pure; the caller's. */
char *progress_format(const char *what, guint64 done, guint64 total, double rate, int width, bool utf8);
