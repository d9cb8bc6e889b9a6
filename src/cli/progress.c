/* Progress (see progress.h). Drawn at most ten times a second, and not at all in the first moments, so that
 * fast operations do not flicker. */
#include "cli/progress.h"

#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/text-cut.h"
#include "cli/table.h"

enum { DRAW_MS = 100, QUIET_MS = 300, BAR_MAX = 30, BAR_MIN = 5 };

static void append_bar(GString *out, int columns, guint64 done, guint64 total, bool utf8)
{
        int full = (int)((double)MIN(done, total) / (double)total * columns);

        g_string_append_c(out, '[');
        for (int i = 0; i < columns; i++)
                g_string_append(out, i < full ? (utf8 ? "█" : "#") : (utf8 ? "░" : "."));
        g_string_append_c(out, ']');
}

char *progress_format(const char *what, guint64 done, guint64 total, double rate, int width, bool utf8)
{
        g_autofree char *have = bytes_format(done);
        g_autofree char *all = bytes_format(total);
        g_autofree char *speed = rate >= 1 ? bytes_format((guint64)rate) : NULL;
        g_autofree char *left = speed && total > done
                                        ? duration_format((gint64)((double)(total - done) / rate * 1000))
                                        : NULL;
        g_autofree char *tail = g_strdup_printf("%s%s%s%s%s%s", have, total ? " of " : "", total ? all : "",
                                                speed ? "  " : "", speed ? speed : "", speed ? "/s" : "");
        g_autoptr(GString) out = g_string_new(what);
        int room =
                width - 1 - text_columns(what) - text_columns(tail) - 4 - (left ? text_columns(left) + 7 : 0);

        g_string_append_c(out, ' ');
        if (total > 0 && room >= BAR_MIN) {
                append_bar(out, MIN(room, BAR_MAX), done, total, utf8);
                g_string_append_c(out, ' ');
        }
        g_string_append(out, tail);
        if (left)
                g_string_append_printf(out, "  %s left", left);
        return text_cut_columns(out->str, width - 1, utf8);
}

void progress_begin(Progress *progress, const Cli *cli, const char *what, guint64 done, guint64 total)
{
        *progress = (Progress){ .cli = cli,
                                .what = what,
                                .done = done,
                                .first = done,
                                .total = total,
                                .begin = clock_monotonic_ms() };
}

void progress_set(Progress *progress, guint64 done)
{
        const Terminal *terminal = &progress->cli->terminal;
        gint64 now = clock_monotonic_ms(), ran = now - progress->begin;
        g_autofree char *line = NULL;
        double rate;

        progress->done = done;
        if (!terminal->err_is_terminal || ran < QUIET_MS || now - progress->drawn < DRAW_MS)
                return;
        rate = (double)(done - MIN(progress->first, done)) * 1000 / (double)ran;
        line = progress_format(progress->what, done, progress->total, rate, terminal->width, terminal->utf8);
        fprintf(stderr, "\r%s\033[K", line);
        progress->drawn = now;
        progress->open = true;
}

void progress_end(Progress *progress)
{
        if (progress->open)
                fputs("\r\033[K", stderr);
        progress->open = false;
}
