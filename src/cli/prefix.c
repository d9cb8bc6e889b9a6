/* Log lines with the member's name in front (see prefix.h). The state is at most one open line and, on a
 * terminal, an incomplete colour sequence: nothing else is held back. */
#include "cli/prefix.h"

#include <string.h>

#include "base/text-cut.h"
#include "cli/table.h"
#include "cli/tame.h"

struct LogPrefixer {
        int width;
        bool colour, raw;
        char *stamp;         /* or NULL */
        char *open;          /* the member whose line is incomplete; NULL: at the start of a line */
        GHashTable *colours; /* member -> colour number, in order of appearance */
        GHashTable *tames;   /* member -> Tame; NULL: texts are not filtered */
};

/* Readable on dark and light backgrounds: six colours, then their bright variants. */
static const int palette[] = { 36, 33, 32, 35, 34, 31, 96, 93, 92, 95, 94, 91 };

LogPrefixer *log_prefixer_new(int width, bool colour)
{
        LogPrefixer *prefixer = g_new0(LogPrefixer, 1);

        prefixer->width = width;
        prefixer->colour = colour;
        prefixer->colours = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        return prefixer;
}

static void tame_free(gpointer tame)
{
        tame_clear(tame);
        g_free(tame);
}

void log_prefixer_tame(LogPrefixer *prefixer)
{
        prefixer->tames = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, tame_free);
}

void log_prefixer_raw(LogPrefixer *prefixer)
{
        prefixer->raw = true;
}

void log_prefixer_stamp(LogPrefixer *prefixer, const char *stamp)
{
        g_free(prefixer->stamp);
        prefixer->stamp = g_strdup(stamp);
}

bool log_prefixer_is_open(const LogPrefixer *prefixer)
{
        return prefixer->open != NULL;
}

void log_prefixer_free(LogPrefixer *prefixer)
{
        if (!prefixer)
                return;
        g_clear_pointer(&prefixer->tames, g_hash_table_unref);
        g_free(prefixer->stamp);
        g_free(prefixer->open);
        g_hash_table_unref(prefixer->colours);
        g_free(prefixer);
}

static int colour_of(LogPrefixer *prefixer, const char *member)
{
        gpointer number;

        if (!g_hash_table_lookup_extended(prefixer->colours, member, NULL, &number)) {
                number = GUINT_TO_POINTER(g_hash_table_size(prefixer->colours) % G_N_ELEMENTS(palette));
                g_hash_table_insert(prefixer->colours, g_strdup(member), number);
        }
        return palette[GPOINTER_TO_UINT(number)];
}

int log_prefixer_begin(LogPrefixer *prefixer, const char *member, int max, bool redrawn, GString *out)
{
        g_autofree char *cut = text_columns(member) > max ? text_cut_columns(member, max, false) : NULL;
        const char *name = cut ? cut : member;
        int columns = MAX(text_columns(name), MIN(prefixer->width, max));
        int blanks = columns - text_columns(name);
        char bar = redrawn ? '~' : '|';

        if (!*member)
                return 0;
        if (prefixer->colour)
                g_string_append_printf(out, "\033[%dm%s%*s %c\033[0m ", colour_of(prefixer, member), name,
                                       blanks, "", bar);
        else
                g_string_append_printf(out, "%s%*s %c ", name, blanks, "", bar);
        return columns + 3;
}

static bool is_redrawn(const LogPrefixer *prefixer, const char *text)
{
        return !prefixer->raw && text[0] == '\r' && text[1] != '\n';
}

/* Returns the start of the line's text, after a mark that was shown. */
static const char *begin_line(LogPrefixer *prefixer, const char *member, const char *text, GString *out)
{
        bool redrawn = is_redrawn(prefixer, text);
        bool bare = !*member && !prefixer->stamp;

        if (prefixer->stamp)
                g_string_append_printf(out, "%s ", prefixer->stamp);
        (void)log_prefixer_begin(prefixer, member, G_MAXINT, redrawn, out);
        if (!*member && prefixer->stamp)
                g_string_append(out, redrawn ? "~ " : "| ");
        return text + (redrawn && !bare);
}

static Tame *tame_of(LogPrefixer *prefixer, const char *member)
{
        Tame *tame = g_hash_table_lookup(prefixer->tames, member);

        if (!tame)
                g_hash_table_insert(prefixer->tames, g_strdup(member), tame = g_new0(Tame, 1));
        return tame;
}

void log_prefixer_break(LogPrefixer *prefixer, GString *out)
{
        if (prefixer->open && prefixer->tames)
                tame_end(tame_of(prefixer, prefixer->open), out);
        if (prefixer->open)
                g_string_append_c(out, '\n');
        g_clear_pointer(&prefixer->open, g_free);
}

/* A line, or a part of one. */
static void append_text(LogPrefixer *prefixer, const char *member, const char *text, gsize len, GString *out)
{
        if (!prefixer->tames) {
                g_string_append_len(out, text, (gssize)len);
                return;
        }
        tame_add(tame_of(prefixer, member), text, len, out);
        if (text[len] == '\n')
                tame_end(tame_of(prefixer, member), out);
}

void log_prefixer_add(LogPrefixer *prefixer, const char *member, const char *text, GString *out)
{
        if (*text && g_strcmp0(prefixer->open, member) != 0)
                log_prefixer_break(prefixer, out);
        while (*text) {
                gsize len;

                if (prefixer->open && is_redrawn(prefixer, text))
                        log_prefixer_break(prefixer, out); /* other output came after its start */
                if (!prefixer->open)
                        text = begin_line(prefixer, member, text, out);
                len = strcspn(text, "\n");
                append_text(prefixer, member, text, len, out);
                text += len;
                if (*text == '\n') {
                        g_string_append_c(out, '\n');
                        g_clear_pointer(&prefixer->open, g_free);
                        text++;
                } else if (!prefixer->open) {
                        prefixer->open = g_strdup(member);
                }
        }
}
