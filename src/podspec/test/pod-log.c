/* Logs of pods by name: containers, selectors and event lines. */
#include "podspec/pod-log.h"

#include <string.h>

#include "base/err.h"
#include "base/test/quoted.h"

static void test_containers(void)
{
        static const struct {
                const char *pod, *names;
        } cases[] = {
                { "{}", "" },
                { "{'spec': {'containers': 7}}", "" },
                { "{'spec': {'containers': [7, {}, {'name': 'a'}, {'name': 'b'}]}}", "a,b" },
                { "{'spec': {'containers': [{'name': 'a'}], 'initContainers': [{'name': 'first'}]}}",
                  "first,a" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) pod = json_of(cases[i].pod);
                g_auto(GStrv) names = pod_log_containers(pod);
                g_autofree char *joined = g_strjoinv(",", names);

                g_assert_cmpstr(joined, ==, cases[i].names);
        }
}

static void test_selectors(void)
{
        static const struct {
                const char *deployment, *selector; /* NULL: refused */
        } cases[] = {
                { "{'spec': {'selector': {'matchLabels': {'app': 'x'}}}}", "app=x" },
                { "{'metadata': {'name': 'd'}, 'spec': {}}", NULL },
                { "{'spec': {'selector': {'matchLabels': {'app': 7}}}}", NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) deployment = json_of(cases[i].deployment);
                g_autoptr(GError) error = NULL;
                g_autofree char *selector = pod_log_selector(deployment, &error);

                g_assert_cmpstr(selector, ==, cases[i].selector);
                g_assert_true(selector || error->code == ERR_INVALID);
        }
}

static void test_event_times(void)
{
        static const struct {
                const char *event, *when;
        } cases[] = {
                { "{}", "" },
                { "{'lastTimestamp': null, 'eventTime': '2026-01-02T03:04:05.000006Z'}",
                  "2026-01-02T03:04:05.000006Z" },
                { "{'lastTimestamp': '2026-01-02T03:04:05Z', 'eventTime': null}", "2026-01-02T03:04:05Z" },
                { "{'eventTime': 'a', 'series': {'count': 2, 'lastObservedTime': 'b'}}", "b" },
                { "{'metadata': {'creationTimestamp': 'c'}}", "c" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) event = json_of(cases[i].event);

                g_assert_cmpstr(pod_log_event_time(event), ==, cases[i].when);
        }
}

static void test_event_lines(void)
{
        g_autofree char *line = pod_log_event_line("Warning", "BackOff", "then", "one\ttwo\r\nthree");
        g_autofree char *nothing = pod_log_event_line(NULL, NULL, "", NULL);

        g_assert_cmpstr(line, ==,
                        "type: Warning\treason: BackOff\teventsTime: then\tmessage: one two  three");
        g_assert_cmpstr(nothing, ==, "type: \treason: \teventsTime: \tmessage: ");
}

static void test_farewells(void)
{
        static const struct {
                const char *text;
                bool is;
        } cases[] = {
                { "rpc error: code = NotFound desc = an error occurred when try to find container \"ba3e\": "
                  "not found",
                  true },
                { "rpc error: code = NotFound desc = an error occurred when try to find container \"ba3e\": "
                  "not found\n",
                  false },
                { "said: rpc error: code = NotFound desc = container: not found", false },
                { "rpc error: code = NotFound desc = : not", false },
                { "", false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_true(pod_log_is_farewell(cases[i].text, strlen(cases[i].text)) == cases[i].is);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/podspec/pod-log/containers", test_containers);
        g_test_add_func("/podspec/pod-log/selectors", test_selectors);
        g_test_add_func("/podspec/pod-log/event-times", test_event_times);
        g_test_add_func("/podspec/pod-log/event-lines", test_event_lines);
        g_test_add_func("/podspec/pod-log/farewells", test_farewells);
        return g_test_run();
}
