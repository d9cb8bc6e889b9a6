/* The scanner of template.h. */
#include "pipeline/template.h"

#include <string.h>

static gsize skip_blanks(const char *at)
{
        return strspn(at, " \t\r\n\f");
}

static gsize skip_word(const char *at, bool dash)
{
        gsize len = 0;

        while (g_ascii_isalnum(at[len]) || at[len] == '_' || (dash && at[len] == '-'))
                len++;
        return len;
}

/* After "{{" and blanks. {{ .x }} has one part, so it has no component. */
static bool read_name(const char *at, Template *ret)
{
        gsize first = skip_word(at, true);

        ret->name = at;
        ret->name_len = first;
        if (at[first] != '.')
                return first > 0;
        ret->name = at + first + 1;
        ret->name_len = skip_word(ret->name, false);
        ret->part1 = first ? at : NULL;
        ret->part1_len = first;
        return ret->name_len > 0;
}

static bool read_template(const char *at, Template *ret)
{
        const char *end;

        *ret = (Template){ .at = at };
        if (!read_name(at + 2 + skip_blanks(at + 2), ret))
                return false;
        end = ret->name + ret->name_len;
        end += skip_blanks(end);
        if (end[0] != '}' || end[1] != '}')
                return false;
        ret->len = (gsize)(end + 2 - at);
        return true;
}

bool template_find(const char *from, Template *ret)
{
        for (const char *at = from; (at = strstr(at, "{{")); at++)
                if (read_template(at, ret))
                        return true;
        return false;
}

bool template_is_whole(const char *text, Template *ret)
{
        return text[0] == '{' && text[1] == '{' && read_template(text, ret) && !text[ret->len];
}
