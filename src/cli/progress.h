/* A bar with rate and time left on the terminal's last line; nothing at all where stderr is no terminal. */
#pragma once

#include "cli/cli.h"

typedef struct {
        const Cli *cli;
        const char *what;    /* "sending" */
        guint64 done, total; /* bytes; total 0: not known */
        guint64 first;       /* done already at the beginning, which the rate leaves out */
        gint64 begin, drawn; /* monotonic ms */
        bool open;
} Progress;

void progress_begin(Progress *progress, const Cli *cli, const char *what, guint64 done, guint64 total);
void progress_set(Progress *progress, guint64 done);
void progress_end(Progress *progress); /* takes the line away; harmless twice */

/* The line itself; pure; the caller's. */
char *progress_format(const char *what, guint64 done, guint64 total, double rate, int width, bool utf8);
