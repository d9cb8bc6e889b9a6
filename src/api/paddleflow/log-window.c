/* Lines from one of the ends of a log (see log-window.h). */
#include "api/paddleflow/log-window.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 64 * 1024 };

/* The first lines from `at` on that fit; the last may lack its end. */
static GString *read_lines(int fd, guint64 at, gint64 lines, gint64 size, bool *ret_more)
{
        GString *text = g_string_new(NULL);
        g_autofree char *piece = g_malloc(PIECE);
        gint64 left = lines;

        *ret_more = false;
        for (;;) {
                ssize_t got = pread(fd, piece, PIECE, (off_t)at);

                if (got <= 0)
                        return text;
                for (ssize_t i = 0; i < got; i++) {
                        if (left == 0 || (gint64)text->len == size) {
                                *ret_more = true;
                                return text;
                        }
                        g_string_append_c(text, piece[i]);
                        left -= piece[i] == '\n';
                }
                at += (guint64)got;
        }
}

/* Where the last `lines` lines begin, no more than `size` bytes from the end. */
static guint64 tail_start(int fd, guint64 end, gint64 lines, gint64 size)
{
        g_autofree char *piece = g_malloc(PIECE);
        guint64 least = end > (guint64)size ? end - (guint64)size : 0, at = end;
        bool last = true;

        while (at > least) {
                guint64 from = at - least > PIECE ? at - PIECE : least;
                ssize_t got = pread(fd, piece, at - from, (off_t)from);

                if (got <= 0)
                        return at;
                for (ssize_t i = got - 1; i >= 0; i--, last = false)
                        if (piece[i] == '\n' && !last && --lines == 0)
                                return from + (guint64)i + 1;
                at = from;
        }
        return least;
}

/* A part of a line at the cut end goes, unless it is all there is. */
static void cut_tail(GString *text, bool *cut)
{
        const char *newline = strrchr(text->str, '\n');

        if (*cut && newline)
                g_string_truncate(text, (gsize)(newline + 1 - text->str));
        if (text->len && text->str[text->len - 1] != '\n')
                g_string_append_c(text, '\n');
}

static void cut_head(GString *text, bool cut)
{
        const char *newline = strchr(text->str, '\n');

        if (cut && newline && newline[1])
                g_string_erase(text, 0, newline + 1 - text->str);
        if (text->len && text->str[text->len - 1] != '\n')
                g_string_append_c(text, '\n');
}

GString *log_window_read(const LogWindow *window, int fd, bool *ret_more)
{
        struct stat status;
        GString *text;

        if (!window->tail) {
                text = read_lines(fd, 0, window->lines, window->size, ret_more);
                cut_tail(text, ret_more);
                return text;
        }
        if (fstat(fd, &status) != 0)
                status.st_size = 0;
        guint64 start = tail_start(fd, (guint64)status.st_size, window->lines, window->size);
        bool beyond;
        text = read_lines(fd, start, LOG_LINES_MAX + 1, window->size, &beyond);
        *ret_more = start > 0;
        cut_head(text, start > 0 && (gint64)text->len == window->size);
        return text;
}
