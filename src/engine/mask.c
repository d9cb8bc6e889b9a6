/* Masking (see mask.h). A value is found by any MASK_RUN bytes of it, so that a part of it is found, too: the
 * end of a line that was cut, or one line of a key.
 *
 *     line    HTTPError: token=correct-horse-batt…
 *     runs    each 8 bytes of it, sorted; a value's 8 bytes are looked up one by one
 *
 * A user chooses both, so no step may take long: n bytes of values cost n look-ups in a line of at most 200
 * characters. */
#include "engine/mask.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SIEVE = 4096 };

static const char cut[] = "…", hidden_text[] = "***";

typedef struct {
        guint64 key;
        gsize at;    /* in the line */
        bool hidden; /* of several with this key the first: all are */
} Run;

struct Mask {
        char *line;
        gsize len;
        bool *hidden; /* for each byte */
        Run *runs;    /* by key */
        gsize n_runs;
        bool sieve[SIEVE]; /* false: no run has a key of this hash */
};

static guint64 key_at(const char *text)
{
        guint64 key;

        memcpy(&key, text, MASK_RUN);
        return key;
}

static gsize sieve_of(guint64 key)
{
        return (gsize)((key * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15)) >> 52);
}

static int by_key(const void *a, const void *b)
{
        guint64 left = ((const Run *)a)->key, right = ((const Run *)b)->key;

        return (left > right) - (left < right);
}

Mask *mask_new(const char *line)
{
        Mask *mask = g_new0(Mask, 1);

        G_STATIC_ASSERT(SIEVE == 1 << (64 - 52));
        mask->line = g_strdup(line);
        mask->len = strlen(line);
        mask->hidden = g_new0(bool, mask->len + 1);
        mask->n_runs = mask->len >= MASK_RUN ? mask->len - MASK_RUN + 1 : 0;
        mask->runs = g_new(Run, mask->n_runs + 1);
        for (gsize i = 0; i < mask->n_runs; i++) {
                mask->runs[i] = (Run){ key_at(line + i), i, false };
                mask->sieve[sieve_of(mask->runs[i].key)] = true;
        }
        qsort(mask->runs, mask->n_runs, sizeof *mask->runs, by_key);
        return mask;
}

static void hide(Mask *mask, gsize at, gsize len)
{
        memset(mask->hidden + at, true, len);
}

/* ---- what the line has of a text ---- */

static void hide_key(Mask *mask, guint64 key)
{
        const Run *end = mask->runs + mask->n_runs;
        gsize low = 0, high = mask->n_runs;
        Run *first;

        while (low < high) {
                gsize middle = low + (high - low) / 2;

                if (mask->runs[middle].key < key)
                        low = middle + 1;
                else
                        high = middle;
        }
        first = mask->runs + low;
        if (first == end || first->key != key || first->hidden)
                return;
        for (Run *run = first; run < end && run->key == key; run++)
                hide(mask, run->at, MASK_RUN);
        first->hidden = true;
}

static void hide_runs(Mask *mask, const char *text, gsize len)
{
        for (gsize i = 0; i + MASK_RUN <= len; i++) {
                guint64 key = key_at(text + i);

                if (mask->sieve[sieve_of(key)])
                        hide_key(mask, key);
        }
}

static void hide_whole(Mask *mask, const char *text, gsize len)
{
        const char *at = mask->line, *end = mask->line + mask->len;

        while ((at = memmem(at, (gsize)(end - at), text, len))) {
                hide(mask, (gsize)(at - mask->line), len);
                at += len;
        }
}

/* A line that was cut may end within a text, with too little of it for a run. */
static void hide_beginning(Mask *mask, const char *text, gsize len)
{
        gsize end = mask->len - (sizeof cut - 1), n = MIN(MIN(len, MASK_RUN) - 1, end);

        while (n > 0 && memcmp(mask->line + end - n, text, n) != 0)
                n--;
        hide(mask, end - n, n);
}

static void hide_text(Mask *mask, const char *text, gsize len)
{
        if (len < MASK_MIN)
                return;
        if (len < MASK_RUN)
                hide_whole(mask, text, len);
        else
                hide_runs(mask, text, len);
        if (g_str_has_suffix(mask->line, cut))
                hide_beginning(mask, text, len);
}

/* ---- the forms of a value ---- */

static bool is_blank(char c)
{
        return (c >= 0 && c <= ' ') || c == 0x7f;
}

/* Blanks as the line has them: one for several, and none at its ends. */
static GString *squeeze(const char *value, gsize len)
{
        GString *text = g_string_sized_new(len);

        for (gsize i = 0; i < len; i++)
                if (!is_blank(value[i]))
                        g_string_append_c(text, value[i]);
                else if (text->len && text->str[text->len - 1] != ' ')
                        g_string_append_c(text, ' ');
        if (text->len && text->str[text->len - 1] == ' ')
                g_string_truncate(text, text->len - 1);
        return text;
}

/* Short lines of a value with several: longer ones are found by their runs. Each costs a search of the line,
 * on the engine's thread. */
static void hide_short_lines(Mask *mask, const char *value, gsize len)
{
        const char *end = value + len;
        int n = 0;

        for (const char *at = value; at < end && n < MASK_LINES_MAX;) {
                const char *newline = memchr(at, '\n', (gsize)(end - at)), *next = newline ? newline : end;
                g_autoptr(GString) line = NULL;

                if (next - at < 4L * MASK_RUN)
                        line = squeeze(at, (gsize)(next - at));
                if (line && line->len >= MASK_MIN && line->len < MASK_RUN) {
                        hide_text(mask, line->str, line->len);
                        n++;
                }
                at = next + 1;
        }
}

/* Within a longer text that is encoded, a value may begin at each of three places of a group. Characters at
 * its ends that depend on its neighbours are left out. */
static void hide_base64(Mask *mask, const char *value, gsize len)
{
        for (gsize shift = 0; shift < 3; shift++) {
                g_autofree guchar *plain = g_malloc0(shift + len);
                g_autofree char *text = NULL;
                gsize first = (shift * 8 + 5) / 6, end = (shift + len) * 8 / 6;

                memcpy(plain + shift, value, len);
                text = g_base64_encode(plain, shift + len);
                hide_text(mask, text + first, end - first);
        }
}

static void hide_percent_encoded(Mask *mask, const char *value, gsize len)
{
        g_autofree char *text = g_uri_escape_bytes((const guint8 *)value, len, NULL);

        hide_text(mask, text, strlen(text));
}

void mask_hide(Mask *mask, const char *value, gsize len)
{
        g_autoptr(GString) text = squeeze(value, len);

        while (len > 0 && (value[len - 1] == '\n' || value[len - 1] == '\r'))
                len--; /* most often the file's, which is no part of a token */
        hide_text(mask, text->str, text->len);
        hide_short_lines(mask, value, len);
        if (len >= MASK_MIN && len <= MASK_CODED_MAX) {
                hide_base64(mask, value, len);
                hide_percent_encoded(mask, value, len);
        }
}

/* ---- the result ---- */

/* Of a value with several lines, its line breaks are no part of what is hidden. */
static void show_edges(Mask *mask)
{
        for (gsize i = 0; i < mask->len; i++)
                if (mask->line[i] == ' ' && (i == 0 || !mask->hidden[i - 1]))
                        mask->hidden[i] = false;
        for (gsize i = mask->len; i-- > 0;)
                if (mask->line[i] == ' ' && !mask->hidden[i + 1])
                        mask->hidden[i] = false;
}

static bool is_hidden(const Mask *mask, const char *from, const char *to)
{
        return memchr(mask->hidden + (from - mask->line), true, (gsize)(to - from));
}

char *mask_end(Mask *mask)
{
        GString *text = g_string_new(NULL);
        bool before = false;

        show_edges(mask);
        for (const char *at = mask->line, *next; *at; at = next) {
                bool now;

                next = g_utf8_next_char(at);
                now = is_hidden(mask, at, next);
                if (!now)
                        g_string_append_len(text, at, next - at);
                else if (!before)
                        g_string_append(text, hidden_text);
                before = now;
        }
        g_free(mask->line);
        g_free(mask->hidden);
        g_free(mask->runs);
        g_free(mask);
        return g_string_free(text, FALSE);
}
