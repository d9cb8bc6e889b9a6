/* Texts that are cut to a length (see text-cut.h). */
#include "base/text-cut.h"

#include <string.h>

char *text_cut(const char *text, gsize max, const char *mark)
{
        gsize before = max - MIN(max, (gsize)g_utf8_strlen(mark, -1));
        const char *at = text, *end = text;

        for (gsize n = 0; n < max && *at; n++) {
                at = g_utf8_next_char(at);
                if (n < before)
                        end = at;
        }
        return *at ? g_strdup_printf("%.*s%s", (int)(end - text), text, mark) : g_strdup(text);
}

char *text_cut_bytes(const char *text, gsize max)
{
        bool whole = strlen(text) <= max;
        g_autofree char *begin = g_strndup(text, whole ? max : text_whole_characters(text, max));

        g_strdelimit(begin, "\r\n", ' ');
        return whole ? g_steal_pointer(&begin) : g_strconcat(begin, "...", NULL);
}

static const char *ellipsis(bool utf8)
{
        return utf8 ? "…" : "...";
}

char *text_cut_columns(const char *text, int max, bool utf8)
{
        const char *mark = ellipsis(utf8), *at = text;
        int left = max - text_columns(mark);

        if (text_columns(text) <= max)
                return g_strdup(text);
        if (left <= 0)
                return g_strdup("");
        while (*at && (left -= unichar_columns(g_utf8_get_char(at))) >= 0)
                at = g_utf8_next_char(at);
        return g_strdup_printf("%.*s%s", (int)(at - text), text, mark);
}

/* The longest suffix of the text with at most `max` columns. */
static const char *last_columns(const char *text, int max)
{
        for (int left = text_columns(text); left > max; text = g_utf8_next_char(text))
                left -= unichar_columns(g_utf8_get_char(text));
        return text;
}

char *text_cut_middle(const char *text, int max, bool utf8)
{
        int mark = text_columns(ellipsis(utf8)), left = max - mark;
        g_autofree char *first = text_cut_columns(text, left - left / 2 + mark, utf8);

        if (text_columns(text) <= max || left < 2)
                return text_cut_columns(text, max, utf8);
        return g_strconcat(first, last_columns(text, max - text_columns(first)), NULL);
}

int unichar_columns(gunichar c)
{
        return g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
}

int text_columns(const char *text)
{
        int columns = 0;

        for (; *text; text = g_utf8_next_char(text))
                columns += unichar_columns(g_utf8_get_char(text));
        return columns;
}

char *text_first_line(const char *text)
{
        return g_strndup(text, strcspn(text, "\n"));
}

gsize text_whole_characters(const char *text, gsize len)
{
        const char *last = g_utf8_find_prev_char(text, text + len);
        bool cut = last && g_utf8_get_char_validated(last, text + len - last) == (gunichar)-2;

        return cut ? (gsize)(last - text) : len;
}
