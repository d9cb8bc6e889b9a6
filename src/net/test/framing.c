/* Requests whose end is in doubt: cases of RFC 9112, 6.1, 6.3, 3.2 and 5.1. */
#include "net/framing.h"

#include <string.h>

#include "base/err.h"

enum { FIELDS_MAX = 4 };

static const struct {
        const char *fields[FIELDS_MAX]; /* "name:value" */
        bool http_1_0;
        const char *says; /* NULL: good */
} cases[] = {
        { { "Host:a" }, false, NULL },
        { { "Host:a", "Content-Length:5" }, false, NULL },
        { { "host:a", "transfer-encoding:Chunked" }, false, NULL },
        { { NULL }, true, NULL },
        { { "Content-Length:5" }, true, NULL },
        { { NULL }, false, "one Host" },
        { { "Host:a", "Host:a" }, false, "one Host" },
        { { "Host:a", "Host:b" }, true, "one Host" },
        { { "Host:a", "Content-Length:5", "Content-Length:5" }, false, "more than one Content-Length" },
        { { "Host:a", "Content-Length:5", "content-length:6" }, false, "more than one Content-Length" },
        { { "Host:a", "Content-Length:5", "Transfer-Encoding:chunked" }, false, "both" },
        { { "Host:a", "Transfer-Encoding:chunked", "Transfer-Encoding:chunked" },
          false,
          "more than one Transfer-Encoding" },
        { { "Host:a", "Transfer-Encoding:gzip, chunked" }, false, "not 'chunked'" },
        { { "Host:a", "Transfer-Encoding:identity" }, false, "not 'chunked'" },
        { { "Host:a", "Transfer-Encoding:xchunked" }, false, "not 'chunked'" },
        { { "Transfer-Encoding:chunked" }, true, "not 'chunked'" },
        { { "Host:a", "Transfer-Encoding :chunked" }, false, "not one word" },
        { { "Host:a", " Content-Length:5" }, false, "not one word" },
        { { "Host:a", "X Y:5" }, false, "not one word" },
        { { "Host:a", ":5" }, false, "not one word" },
        { { "Host:a", "X:a\rb" }, false, "control character" },
};

static void test_cases(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                Framing framing = { 0 };
                g_autoptr(GError) error = NULL;

                for (int n = 0; n < FIELDS_MAX && cases[i].fields[n]; n++) {
                        const char *field = cases[i].fields[n], *colon = strchr(field, ':');

                        framing_add(&framing, field, (gsize)(colon - field), colon + 1, strlen(colon + 1));
                }
                g_test_message("case %" G_GSIZE_FORMAT, i);
                g_assert_cmpint(framing_check(&framing, !cases[i].http_1_0, &error), ==, !cases[i].says);
                if (cases[i].says) {
                        g_assert_true(err_is(error, ERR_INVALID));
                        g_assert_nonnull(strstr(error->message, cases[i].says));
                }
        }
}

static void test_nul(void)
{
        Framing framing = { .hosts = 1 };

        framing_add(&framing, "X", 1, "a\0b", 3);
        g_assert_false(framing_check(&framing, true, NULL));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/framing/cases", test_cases);
        g_test_add_func("/framing/nul", test_nul);
        return g_test_run();
}
