/* Server-sent events: what is written is what is read, however the bytes are cut. */
#include "net/sse.h"

#include <string.h>

#include "base/err.h"
#include "net/server.h"

static bool note(const char *id, const char *event, const char *data, void *arg)
{
        g_string_append_printf(arg, "[%s|%s|%s]", id ? id : "-", event ? event : "-", data);
        return strcmp(data, "stop") != 0;
}

static const struct {
        const char *text, *events;
} cases[] = {
        { "data: a\n\n", "[-|-|a]" },
        { "data:a\n\ndata:  b\n\n", "[-|-|a][-|-| b]" },
        { "id: 7\nevent: log\ndata: x\n\ndata: y\n\n", "[7|log|x][7|-|y]" },
        { "data: a\r\ndata: b\r\n\r\n", "[-|-|a\nb]" },
        { "data: a\rdata: b\r\r", "[-|-|a\nb]" },
        { ": beat\n\n: beat\n\ndata: z\n\n", "[-|-|z]" },
        { "event: only\n\ndata: z\n\n", "[-|-|z]" },
        { "data\n\n", "[-|-|]" },
        { "\xef\xbb\xbf"
          "data: bom\n\n",
          "[-|-|bom]" },
        { "unknown: 1\nretry: 5\ndata: z\n\n", "[-|-|z]" },
        { "data: unfinished\n", "" },
        { "data: stop\n\ndata: never\n\n", "[-|-|stop]" },
};

static void test_parse(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                for (gsize step = 1; step <= strlen(cases[i].text); step++) {
                        g_autoptr(GString) out = g_string_new(NULL);
                        g_autoptr(SseParser) parser = sse_parser_new(note, out);
                        g_autoptr(GError) error = NULL;

                        for (gsize at = 0; at < strlen(cases[i].text); at += step)
                                (void)sse_parser_feed(parser, cases[i].text + at,
                                                      MIN(step, strlen(cases[i].text) - at), &error);
                        g_assert_no_error(error);
                        g_assert_cmpstr(out->str, ==, cases[i].events);
                        g_assert_cmpint(sse_parser_is_stopped(parser), ==,
                                        strstr(cases[i].text, "stop") != NULL);
                }
}

static void test_append(void)
{
        g_autoptr(GString) text = g_string_new(NULL), out = g_string_new(NULL);
        g_autoptr(SseParser) parser = sse_parser_new(note, out);

        sse_append(text, "1", "log", "a\nb\r\nc\n");
        sse_append(text, NULL, NULL, "");
        sse_append(text, "2\nevent: forged", NULL, "d");
        g_assert_cmpstr(
                text->str, ==,
                "id: 1\nevent: log\ndata: a\ndata: b\ndata: c\ndata: \n\ndata: \n\nid: 2\ndata: d\n\n");
        g_assert_true(sse_parser_feed(parser, text->str, text->len, NULL));
        g_assert_cmpstr(out->str, ==, "[1|log|a\nb\nc\n][1|-|][2|-|d]");
}

static void test_bound(void)
{
        g_autoptr(GString) out = g_string_new(NULL);
        g_autoptr(SseParser) parser = sse_parser_new(note, out);
        g_autoptr(GError) error = NULL;
        g_autofree char *much = g_strnfill(1 << 20, 'x');
        int fed = 0;

        while (sse_parser_feed(parser, much, 1 << 20, &error))
                g_assert_cmpint(++fed, <=, SSE_EVENT_MAX >> 20);
        g_assert_true(err_is(error, ERR_TOO_LARGE));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/net/sse/parse", test_parse);
        g_test_add_func("/net/sse/append", test_append);
        g_test_add_func("/net/sse/bound", test_bound);
        return g_test_run();
}
