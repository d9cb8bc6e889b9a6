/* Lines of a log as they are shown. */
#include "api/v1/log-text.h"

#include <string.h>

static const struct {
        const char *text, *settled;
} settled[] = {
        { "", "" },
        { "plain\n", "plain\n" },
        { "a\nb\nno end", "a\nb\nno end" },
        { "dos\r\nlines\r\n", "dos\r\nlines\r\n" },
        { "1%\r2%\r3%\n", "\r3%\n" },
        { "\r1%\r2%\n", "\r2%\n" },
        { "\r2%\n", "\r2%\n" },
        { "1%\r2%\r\n", "\r2%\r\n" },
        { "1%\r2%\r", "\r2%\r" },
        { "bar\r   \rtext\nnext\n", "\rtext\nnext\n" },
        { "a\n1%\r2%\nb\r", "a\n\r2%\nb\r" },
        { "\r\r\r\n", "\r\r\r\n" },
};

static void test_settle(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(settled); i++) {
                g_autoptr(GString) once = g_string_new(NULL), twice = g_string_new(NULL);

                log_text_settle(settled[i].text, strlen(settled[i].text), once);
                g_assert_cmpstr(once->str, ==, settled[i].settled);
                log_text_settle(once->str, once->len, twice);
                g_assert_cmpstr(twice->str, ==, once->str);
        }
}

static const struct {
        const char *text;
        gsize stale;
} stale[] = {
        { "", 0 },         { "prompt? ", 0 }, { "1%\r2%", 2 },     { "\r2%", 0 },      { "1%\r2%\r", 2 },
        { "1%\r\r\r", 0 }, { "\r\r\r", 2 },   { "1%\r2%\r3%", 5 }, { "1%\r   \r", 2 },
};

/* What is passed over never changes what is shown. */
static void test_stale(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(stale); i++) {
                const char *text = stale[i].text;
                gsize len = strlen(text), gone = log_text_stale(text, len);
                g_autoptr(GString) all = g_string_new(NULL), rest = g_string_new(NULL);

                g_assert_cmpuint(gone, ==, stale[i].stale);
                log_text_partial(text, len, all);
                log_text_partial(text + gone, len - gone, rest);
                g_assert_cmpstr(rest->str, ==, all->str);
        }
}

static const struct {
        const char *text, *shown;
} partial[] = {
        { "", "" },
        { "name? ", "name? " },
        { "1%\r2%", "\r2%" },
        { "1%\r2%\r", "\r2%" },
        { "1%\r", "1%" },
        { "\xe4\xb8\x96", "\xe4\xb8\x96" },
        { "a\xe4\xb8", "a" },
        { "\xe4\xb8", "" },
        { "1%\r\xe2\x96", "\r" },
        { "a\xff", "a\xff" },
};

static void test_partial(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(partial); i++) {
                g_autoptr(GString) out = g_string_new(NULL);

                log_text_partial(partial[i].text, strlen(partial[i].text), out);
                g_assert_cmpstr(out->str, ==, partial[i].shown);
        }
}

/* Of a bar the start, of other lines the end; whole characters (of 3 bytes, so that a bound falls into one).
 */
static void test_long(void)
{
        g_autoptr(GString) line = g_string_new(NULL), plain = g_string_new(NULL), bar = g_string_new(NULL);

        for (int i = 0; i < 1000; i++)
                g_string_append(line, "\xe4\xb8\x96");
        g_string_append(line, "end");
        log_text_partial(line->str, line->len, plain);
        g_assert_cmpuint(plain->len, <=, LOG_PARTIAL_MAX);
        g_assert_cmpuint(plain->len, >, LOG_PARTIAL_MAX - 3);
        g_assert_true(g_utf8_validate(plain->str, (gssize)plain->len, NULL));
        g_assert_true(g_str_has_suffix(plain->str, "end"));
        g_string_prepend(line, "0%\rstart");
        log_text_partial(line->str, line->len, bar);
        g_assert_cmpuint(bar->len, <=, LOG_PARTIAL_MAX + 1);
        g_assert_cmpuint(bar->len, >, LOG_PARTIAL_MAX - 3);
        g_assert_true(g_utf8_validate(bar->str, (gssize)bar->len, NULL));
        g_assert_true(g_str_has_prefix(bar->str, "\rstart"));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/api/log-text/settle", test_settle);
        g_test_add_func("/api/log-text/stale", test_stale);
        g_test_add_func("/api/log-text/partial", test_partial);
        g_test_add_func("/api/log-text/long", test_long);
        return g_test_run();
}
