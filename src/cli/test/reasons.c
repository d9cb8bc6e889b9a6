/* Why a job waits, as text and bars, for the reasons of doc/guide/rest.md. */
#include "cli/reasons.h"

#include <string.h>

#include "cli/table.h"

#define NOW 1772359200000 /* 2026-03-01T10:00:00Z */

static json_t *parsed(const char *text)
{
        json_t *value = json_parse(text, strlen(text), NULL);

        g_assert_nonnull(value);
        return value;
}

static void test_reasons(void)
{
        g_autoptr(json_t) reasons =
                parsed("[{\"cause\":\"lent\",\"message\":\"8 GPUs are asked for, 2 are "
                       "free\",\"resource\":\"nvidia.com/gpu\","
                       "\"asked\":\"8\",\"free\":\"2\",\"lent\":\"4\",\"lent_to\":\"nightly\"},"
                       "{\"cause\":\"array_limit\",\"message\":\"50 jobs of its array run\",\"limit\":50},"
                       "{\"cause\":\"held\"}]");
        Terminal terminal = { .width = 80 };
        g_autofree char *text = reasons_text(reasons, 0, &terminal);

        g_assert_cmpstr(text, ==,
                        "1. 8 GPUs are asked for, 2 are free\n"
                        "   nvidia.com/gpu  asked         8  ##############################\n"
                        "                   free          2  ........\n"
                        "                   lent          4  ---------------  to queue 'nightly'\n"
                        "2. 50 jobs of its array run\n"
                        "3. held\n");
}

static void test_start(void)
{
        static const struct {
                const char *time, *text;
        } rows[] = {
                { "null", "not known" },
                { "7", "not known" },
                { "\"2026-03-01T09:00:00.000Z\"", "any moment" },
                { "\"2026-03-01T12:10:05.000Z\"", "at 12:10:05 UTC, in 2h 10m" },
                { "\"2026-03-03T08:00:00.000Z\"", "at 2026-03-03 08:00:00 UTC, in 46h 00m" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(json_t) time = json_loads(rows[i].time, JSON_DECODE_ANY, NULL);
                g_autofree char *text = start_text(time, NOW);

                g_assert_cmpstr(text, ==, rows[i].text);
        }
}

static void test_explain(void)
{
        g_autoptr(json_t) job =
                parsed("{\"name\":\"digits\",\"id\":\"x1\",\"queue\":\"vision\",\"reason\":\"\"}");
        g_autoptr(json_t) waits =
                parsed("{\"state\":\"queued\",\"cause\":\"behind\",\"position\":2,\"expected_start\":\"2026-"
                       "03-01T10:01:00.000Z\","
                       "\"reasons\":[{\"cause\":\"behind\",\"message\":\"2 jobs come first\"}]}");
        g_autoptr(json_t) runs = parsed("{\"state\":\"running\",\"cause\":\"none\",\"reasons\":[]}");
        Terminal terminal = { .width = 80 };
        g_autofree char *text = explain_text(job, waits, NOW, &terminal),
                        *none = explain_text(job, runs, NOW, &terminal);

        g_assert_cmpstr(text, ==,
                        "digits (x1) waits in queue 'vision', behind 2 jobs\n"
                        "expected start: at 10:01:00 UTC, in 1m 00s\n\n1. 2 jobs come first\n");
        g_assert_cmpstr(none, ==,
                        "digits (x1) is running in queue 'vision'; it is not waiting for anything\n");
}

static void test_dry_run(void)
{
        static const struct {
                const char *reply, *text;
        } rows[] = {
                { "{\"admitted\":true,\"state\":\"would "
                  "start\",\"queue\":\"q\",\"start\":null,\"placement\":[{\"role\":"
                  "\"trainer\",\"index\":0,\"node\":\"n1\",\"gpus\":[0,1]},{\"role\":\"trainer\",\"index\":1,"
                  "\"node\":\"n2\","
                  "\"gpus\":[]}],\"evicts\":[{\"job\":\"x\",\"name\":\"a\",\"user\":\"bob\",\"shrinks\":true}"
                  "],\"reasons\":[]}",
                  "It would start at once in queue 'q'\n  trainer-0 on n1 (GPU 0, 1)\n  trainer-1 on n2\n"
                  "It would preempt or shrink:\n  a (x) of bob gets fewer processes\n" },
                { "{\"admitted\":true,\"state\":\"would "
                  "wait\",\"queue\":\"q\",\"start\":\"2026-03-01T10:00:30.000Z\","
                  "\"placement\":[],\"evicts\":[],\"reasons\":[{\"cause\":\"behind\",\"message\":\"one job "
                  "comes first\"}]}",
                  "It would wait in queue 'q'; expected start: at 10:00:30 UTC, in 30.0 s\n\n1. one job "
                  "comes "
                  "first\n" },
                { "{\"admitted\":false,\"state\":\"refused\",\"queue\":\"q\",\"reasons\":[],\"error\":{"
                  "\"code\":\"conflict\","
                  "\"message\":\"queue 'q' is closed\",\"hint\":\"Open it.\"}}",
                  "It would be refused: queue 'q' is closed\nOpen it.\n" },
        };
        Terminal terminal = { .width = 80 };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(json_t) reply = parsed(rows[i].reply);
                g_autofree char *text = dry_run_text(reply, NOW, &terminal);

                g_assert_cmpstr(text, ==, rows[i].text);
        }
}

int main(int argc, char **argv)
{
        g_setenv("TZ", "UTC", TRUE);
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/reasons/reasons", test_reasons);
        g_test_add_func("/cli/reasons/start", test_start);
        g_test_add_func("/cli/reasons/explain", test_explain);
        g_test_add_func("/cli/reasons/dry-run", test_dry_run);
        return g_test_run();
}
