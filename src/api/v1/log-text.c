/* Lines of a log as they are shown (see log-text.h). */
#include "api/v1/log-text.h"

#include <stdbool.h>
#include <string.h>

#include "base/text-cut.h"

static gsize without_returns(const char *line, gsize len)
{
        while (len > 0 && line[len - 1] == '\r')
                len--;
        return len;
}

/* The CR in front of the last state; NULL: the line was not redrawn. */
static const char *last_return(const char *line, gsize len)
{
        return memrchr(line, '\r', without_returns(line, len));
}

void log_text_settle(const char *text, gsize len, GString *out)
{
        const char *end = text + len;

        while (text < end) {
                const char *newline = memchr(text, '\n', (gsize)(end - text));
                const char *stop = newline ? newline : end, *next = newline ? newline + 1 : end;
                const char *state = last_return(text, (gsize)(stop - text));

                text = state ? state : text;
                g_string_append_len(out, text, (gssize)(next - text));
                text = next;
        }
}

gsize log_text_stale(const char *text, gsize len)
{
        const char *state = last_return(text, len);

        if (state)
                return (gsize)(state - text);
        return len > 0 && without_returns(text, len) == 0 ? len - 1 : 0;
}

static bool is_inside_character(char c)
{
        return ((guchar)c & 0xc0) == 0x80;
}

void log_text_partial(const char *text, gsize len, GString *out)
{
        const char *state = last_return(text, len);
        gsize most = LOG_PARTIAL_MAX;

        if (state) {
                len -= (gsize)(state + 1 - text);
                text = state + 1;
                g_string_append_c(out, '\r');
        }
        len = without_returns(text, len);
        if (state) {
                len = MIN(len, most);
        } else if (len > most) {
                for (text += len - most, len = most; len > 0 && is_inside_character(*text); len--)
                        text++;
        }
        g_string_append_len(out, text, (gssize)text_whole_characters(text, len));
}
