/* The picture of `paddle top` fits the terminal, and contains what matters. */
#include "base/text-cut.h"
#include "cli/top.h"

#include <string.h>

#include "cli/table.h"

#define NOW 1772359200000 /* 2026-03-01T10:00:00Z */

static json_t *jobs(int n, const char *state)
{
        json_t *list = json_array();

        for (int i = 0; i < n; i++)
                json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name",
                                                      "a-job-with-quite-a-long-name", "user", "ann", "queue",
                                                      "vision", "state", state, "submitted_at",
                                                      "2026-03-01T09:57:00.000Z", "reason",
                                                      "8 GPUs are asked for in queue 'vision' and 2 are "
                                                      "free, \xe5\xad\x97\xe5\xad\x97\xe5\xad\x97"));
        return list;
}

static json_t *figures(int queues)
{
        json_t *list = json_array();

        for (int i = 0; i < queues; i++) {
                g_autofree char *name = g_strdup_printf("queue-%d", i);

                json_array_append_new(list, json_pack("{s:s, s:i, s:i, s:{s:s}, s:{s:s}, s:{s:s}}", "name",
                                                      name, "running", 1, "pending", 2, "used", "cpu", "12",
                                                      "min", "cpu", "8", "max", "cpu", "16"));
        }
        return json_pack("{s:{s:s, s:s}, s:{s:s}, s:o}", "total", "cpu", "64", "memory", "64Gi", "free",
                         "cpu", "20", "queues", list);
}

static void check_size(const char *text, int width, int height)
{
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

        g_assert_cmpint((int)g_strv_length(lines) - 1, <=, height);
        for (char **line = lines; *line; line++)
                g_assert_cmpint(text_columns(*line), <, width);
}

static void test_sizes(void)
{
        static const int widths[] = { 40, 80, 140, 250 }, heights[] = { 8, 24, 60 };

        for (gsize w = 0; w < G_N_ELEMENTS(widths); w++)
                for (gsize h = 0; h < G_N_ELEMENTS(heights); h++) {
                        g_autoptr(json_t) room = figures(30), running = jobs(40, "running"),
                                          waiting = jobs(40, "queued");
                        TopPicture picture = { .figures = room,
                                               .running = running,
                                               .waiting = waiting,
                                               .title = "here",
                                               .now = NOW };
                        Terminal terminal = { .width = widths[w], .utf8 = w % 2 };
                        g_autofree char *text = top_draw(&picture, &terminal, heights[h]);

                        g_test_message("%dx%d\n%s", widths[w], heights[h], text);
                        check_size(text, widths[w], heights[h]);
                }
}

/* If few jobs wait, running jobs get their lines, and the other way round. */
static void test_shares(void)
{
        static const struct {
                int running, waiting, shown_running, shown_waiting;
        } rows[] = { { 40, 2, 8, 2 }, { 2, 40, 2, 8 }, { 40, 40, 5, 5 }, { 1, 1, 1, 1 } };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(json_t) room = figures(1), running = jobs(rows[i].running, "running"),
                                  waiting = jobs(rows[i].waiting, "queued");
                TopPicture picture = {
                        .figures = room, .running = running, .waiting = waiting, .title = "here", .now = NOW
                };
                Terminal terminal = { .width = 120 };
                g_autofree char *text = top_draw(&picture, &terminal, 19);
                g_auto(GStrv) on = g_strsplit(text, " running ", -1), off = g_strsplit(text, " queued ", -1);

                g_assert_cmpint((int)g_strv_length(on) - 1, ==, rows[i].shown_running);
                g_assert_cmpint((int)g_strv_length(off) - 1, ==, rows[i].shown_waiting);
        }
}

static void test_words(void)
{
        g_autoptr(json_t) room = figures(2), waiting = jobs(1, "queued");
        g_autoptr(json_t) nodes =
                json_pack("[{s:b, s:{s:i, s:i, s:f, s:I}}, {s:b}]", "usable", 1, "usage", "members", 3,
                          "measured", 2, "cores", 1.5, "memory", (json_int_t)3 << 30, "usable", 0);
        TopPicture picture = { .figures = room,
                               .waiting = waiting,
                               .nodes = nodes,
                               .title = "here",
                               .trouble = "gone",
                               .now = NOW };
        Terminal terminal = { .width = 120 };
        g_autofree char *text = top_draw(&picture, &terminal, 0);

        g_assert_nonnull(strstr(
                text,
                "  here\ngone\n1 of 2 nodes  cpu 44/64 asked, 1.5 used  memory 64Gi/64Gi asked, 3Gi used\n"));
        g_assert_nonnull(strstr(text, "\nborrowed: above min, may be taken back. default-queue: "));
        g_assert_nonnull(strstr(text, "queue-0               1     2  [##########|++++.....] 12/16"));
        g_assert_nonnull(
                strstr(text,
                       "a-job-with-quite-a-lo... ann          vision             queued       3m  8 GPUs"));
}

int main(int argc, char **argv)
{
        g_setenv("TZ", "UTC", TRUE);
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/top/sizes", test_sizes);
        g_test_add_func("/cli/top/shares", test_shares);
        g_test_add_func("/cli/top/words", test_words);
        return g_test_run();
}
