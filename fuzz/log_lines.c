/* Lines of a job's log, from its bytes to a terminal (api/v1/log-text.h, cli/live-lines.h). */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "api/v1/log-text.h"
#include "cli/live-lines.h"
#include "cli/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A line that is marked stays as it is, and no line is lost. */
static void check_settled(const char *text, gsize len)
{
        g_autoptr(GString) once = g_string_new(NULL), twice = g_string_new(NULL);
        gsize lines = 0, kept = 0;

        log_text_settle(text, len, once);
        log_text_settle(once->str, once->len, twice);
        assert(g_string_equal(once, twice));
        for (gsize i = 0; i < len; i++)
                lines += text[i] == '\n';
        for (gsize i = 0; i < once->len; i++)
                kept += once->str[i] == '\n';
        assert(kept == lines && once->len <= len);
}

/* What tame.c lets through, without the colours. */
static void check_columns(const char *line, int max)
{
        g_autoptr(GString) plain = g_string_new(NULL);

        for (const char *at = line; *at; at++)
                if (*at == 0x1b) {
                        at += strcspn(at, "m");
                        assert(*at);
                } else {
                        assert((unsigned char)*at >= ' ' && *at != 0x7f);
                        g_string_append_c(plain, *at);
                }
        assert(text_columns(plain->str) <= max);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *text = (const char *)data + 1;
        gsize len = size - 1, line_len, gone;
        g_autoptr(GString) all = g_string_new(NULL), rest = g_string_new(NULL);
        g_autofree char *valid = NULL, *bar = NULL, *line = NULL;
        int max;

        if (size < 1)
                return 0;
        max = data[0];
        check_settled(text, len);
        line_len = memchr(text, '\n', len) ? (gsize)((const char *)memchr(text, '\n', len) - text) : len;
        gone = log_text_stale(text, line_len);
        log_text_partial(text, line_len, all);
        log_text_partial(text + gone, line_len - gone, rest);
        assert(g_string_equal(all, rest) && all->len <= LOG_PARTIAL_MAX + 1);
        valid = g_utf8_make_valid(all->str, (gssize)all->len);
        bar = live_line_fit(valid + (*valid == '\r'), max, true);
        line = live_line_fit(valid, max, false);
        check_columns(bar, max);
        check_columns(line, max);
        return 0;
}
