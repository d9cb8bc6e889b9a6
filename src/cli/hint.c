/* Hints in reasons (see hint.h). */
#include "cli/hint.h"

#include <string.h>

#include "base/text-cut.h"
#include "cli/table.h"

enum { WORDS_LEAST = 30 /* columns for the text before a hint */ };

static const char begins[] = "; see `", last_line[] = "; last line: ";

/* The hint and the text after it; NULL: none. */
static const char *find(const char *text, const char **ret_rest)
{
        const char *hint = strstr(text, begins);
        const char *end = hint ? strchr(hint + strlen(begins), '`') : NULL;

        if (end)
                *ret_rest = end + 1;
        return end ? hint : NULL;
}

/* The end of "worker-0" in "worker-0 exited with status 1" before `end`, since the last line of output says
 * more than a status; otherwise `end`. */
static const char *without_status(const char *text, const char *end)
{
        const char *status = g_strstr_len(text, end - text, " exited with status ");
        const char *digits = status ? status + strlen(" exited with status ") : NULL;

        while (digits && g_ascii_isdigit(*digits))
                digits++;
        return digits == end ? status : end;
}

char *hint_drop(const char *reason)
{
        const char *rest, *hint = find(reason, &rest);

        if (!hint)
                return g_strdup(reason);
        if (g_str_has_prefix(rest, last_line))
                return g_strdup_printf("%.*s: %s", (int)(without_status(reason, hint) - reason), reason,
                                       rest + strlen(last_line));
        return g_strdup_printf("%.*s%s", (int)(hint - reason), reason, rest);
}

char *hint_cut(const char *text, int max, bool utf8)
{
        const char *rest, *hint = find(text, &rest);
        int left = hint ? max - text_columns(hint) : 0;
        g_autofree char *whole = NULL, *cut = NULL;

        if (text_columns(text) <= max)
                return g_strdup(text);
        whole = left < WORDS_LEAST ? hint_drop(text) : g_strndup(text, (gsize)(hint - text));
        cut = text_cut_columns(whole, left < WORDS_LEAST ? max : left, utf8);
        return g_strconcat(cut, left < WORDS_LEAST ? "" : hint, NULL);
}
