/* Filters what a job may send to a terminal (see tame.h). ECMA-48 5.4: a control sequence is ESC [,
 * parameters of 0x30 to 0x3f, intermediates of 0x20 to 0x2f, and a final byte. Permitted: SGR ("m") and EL
 * ("K", clear the rest of the line, used by progress bars) with digits, ';' and ':' as parameters; line feed,
 * tab, backspace and carriage return. All other control characters are shown, also those of C1 (U+0080 to
 * U+009F), which some terminals take for ESC and a letter. */
#include "cli/tame.h"

#include <stdbool.h>
#include <string.h>

enum {
        SEQUENCE_MAX = 64,
        /* bytes; colours have less than 40 */ ESCAPE = 0x1b,
        DELETE = 0x7f,
        C1_LEAD = 0xc2
};

typedef enum { SEQUENCE_NONE, SEQUENCE_GOOD, SEQUENCE_OPEN } Sequence;

/* Classifies the sequence at an ESC. */
static Sequence look(const char *text, gsize len, gsize *ret_len)
{
        gsize at = 2;

        if (len < 2)
                return SEQUENCE_OPEN;
        if (text[1] != '[')
                return SEQUENCE_NONE;
        while (at < len && at < SEQUENCE_MAX &&
               (g_ascii_isdigit(text[at]) || text[at] == ';' || text[at] == ':'))
                at++;
        if (at == len && at < SEQUENCE_MAX)
                return SEQUENCE_OPEN;
        *ret_len = at + 1;
        return at < len && (text[at] == 'm' || text[at] == 'K') ? SEQUENCE_GOOD : SEQUENCE_NONE;
}

static bool passes(guchar letter)
{
        return (letter >= ' ' && letter != DELETE) || letter == '\n' || letter == '\t' || letter == '\r' ||
               letter == '\b';
}

static bool is_c1(const char *text, gsize len)
{
        return len >= 2 && (guchar)text[0] == C1_LEAD && (guchar)text[1] >= 0x80 && (guchar)text[1] < 0xa0;
}

/* A control character as `cat -v` shows it. */
static void show(guchar letter, GString *out)
{
        g_string_append_c(out, '^');
        g_string_append_c(out, letter == DELETE ? '?' : (char)(letter + '@'));
}

static void add_whole(Tame *tame, const char *text, gsize len, GString *out)
{
        while (len > 0) {
                gsize step = 1;
                Sequence sequence = *text == ESCAPE ? look(text, len, &step) : SEQUENCE_NONE;

                if (sequence == SEQUENCE_OPEN || (len == 1 && (guchar)*text == C1_LEAD)) {
                        tame->open = g_string_new_len(text, (gssize)len);
                        return;
                }
                if (sequence == SEQUENCE_GOOD) {
                        g_string_append_len(out, text, (gssize)step);
                } else if (is_c1(text, len)) {
                        g_string_append(out, "^[");
                        g_string_append_c(out, (char)((guchar)text[1] - 0x40));
                        step = 2;
                } else {
                        step = 1;
                        if (passes((guchar)*text))
                                g_string_append_c(out, *text);
                        else
                                show((guchar)*text, out);
                }
                text += step;
                len -= step;
        }
}

void tame_add(Tame *tame, const char *text, gsize len, GString *out)
{
        GString *open = g_steal_pointer(&tame->open);

        if (!open) {
                add_whole(tame, text, len, out);
                return;
        }
        g_string_append_len(open, text, (gssize)len);
        add_whole(tame, open->str, open->len, out);
        g_string_free(open, TRUE);
}

void tame_end(Tame *tame, GString *out)
{
        GString *open = g_steal_pointer(&tame->open);

        for (gsize i = 0; open && i < open->len; i++) {
                if (passes((guchar)open->str[i]))
                        g_string_append_c(out, open->str[i]);
                else
                        show((guchar)open->str[i], out);
        }
        if (open)
                g_string_free(open, TRUE);
}

void tame_clear(Tame *tame)
{
        if (tame->open)
                g_string_free(tame->open, TRUE);
        tame->open = NULL;
}
