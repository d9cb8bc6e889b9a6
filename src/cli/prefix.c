/* Log lines with their member in front (see prefix.h). State is one open line at most: nothing is held back.
 */
#include "cli/prefix.h"

#include <string.h>

struct LogPrefixer {
        int width;
        bool colour;
        char *open;          /* the member whose line is not ended; NULL: at the beginning of a line */
        GHashTable *colours; /* member -> colour number, given in order of appearance */
};

/* Readable on dark and on light: the six hues, then the same ones bright. */
static const int palette[] = { 36, 33, 32, 35, 34, 31, 96, 93, 92, 95, 94, 91 };

LogPrefixer *log_prefixer_new(int width, bool colour)
{
        LogPrefixer *prefixer = g_new0(LogPrefixer, 1);

        prefixer->width = width;
        prefixer->colour = colour;
        prefixer->colours = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        return prefixer;
}

void log_prefixer_free(LogPrefixer *prefixer)
{
        if (!prefixer)
                return;
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

static void append_prefix(LogPrefixer *prefixer, const char *member, GString *out)
{
        if (!*member)
                return;
        if (prefixer->colour)
                g_string_append_printf(out, "\033[%dm%-*s |\033[0m ", colour_of(prefixer, member),
                                       prefixer->width, member);
        else
                g_string_append_printf(out, "%-*s | ", prefixer->width, member);
}

void log_prefixer_break(LogPrefixer *prefixer, GString *out)
{
        if (prefixer->open)
                g_string_append_c(out, '\n');
        g_clear_pointer(&prefixer->open, g_free);
}

void log_prefixer_add(LogPrefixer *prefixer, const char *member, const char *text, GString *out)
{
        if (*text && g_strcmp0(prefixer->open, member) != 0)
                log_prefixer_break(prefixer, out);
        while (*text) {
                gsize len = strcspn(text, "\n");

                if (!prefixer->open)
                        append_prefix(prefixer, member, out);
                g_string_append_len(out, text, (gssize)len);
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
