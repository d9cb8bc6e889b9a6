/* The summary of a job. */
#include "cli/summary.h"

#include <string.h>

#define JOB(state, reason)                                                                                   \
        "{\"name\":\"digits\",\"state\":\"" state "\",\"reason\":\"" reason "\","                            \
        "\"submitted_at\":\"2026-03-01T10:00:00.100Z\",\"finished_at\":\"2026-03-01T10:00:24.200Z\","        \
        "\"stages\":{\"queued_ms\":6200,\"environment_ms\":6000,\"starting_ms\":10,\"running_ms\":18000},"   \
        "\"usage\":{\"cpu_ms\":34000,\"peak_memory\":1073741824,\"cpu_efficiency\":0.714,"                   \
        "\"memory_efficiency\":null}}"

static json_t *parsed(const char *text)
{
        json_t *value = json_parse(text, strlen(text), NULL);

        g_assert_nonnull(value);
        return value;
}

static void test_line(void)
{
        static const struct {
                const char *job, *out;
        } cases[] = {
                { JOB("succeeded", ""), "digits succeeded after 24.1 s" },
                { JOB("failed", "trainer-0 ended with exit 1"),
                  "digits failed after 24.1 s: trainer-0 ended with exit 1" },
                { JOB("cancelled", ""), "digits cancelled after 24.1 s" },
                { "{\"name\":\"a\",\"state\":\"running\"}", "a running" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) job = parsed(cases[i].job);
                g_autofree char *line = summary_line(job, false);

                g_assert_cmpstr(line, ==, cases[i].out);
        }
}

static void test_stages(void)
{
        g_autoptr(json_t) job = parsed(JOB("succeeded", ""));
        Terminal terminal = { .width = 80 };
        g_autofree char *plain = summary_stages(job, &terminal, false);

        g_assert_cmpstr(plain, ==,
                        "  queued          200 ms  \n"
                        "  environment      6.0 s  #######\n"
                        "  starting         10 ms  \n"
                        "  running         18.0 s  ######################\n"
                        "  CPU             34.0 s  71 % of the cores asked for\n"
                        "  peak memory    1.0 GiB\n");
}

static void test_ends(void)
{
        static const struct {
                const char *member, *out;
        } cases[] = {
                { "{\"exit_code\":0,\"signal\":null,\"state\":\"exited\"}", "exit 0" },
                { "{\"exit_code\":3,\"signal\":null,\"state\":\"exited\"}", "exit 3" },
                { "{\"exit_code\":null,\"signal\":9,\"oom\":true}", "signal 9 (KILL), out of memory" },
                { "{\"exit_code\":null,\"signal\":15,\"oom\":false}", "signal 15 (TERM)" },
                { "{\"exit_code\":null,\"signal\":null,\"state\":\"running\"}", "running" },
                { "{\"error\":\"no such program 'x'\"}", "not started: no such program 'x'" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) member = parsed(cases[i].member);
                g_autofree char *out = member_end(member);

                g_assert_cmpstr(out, ==, cases[i].out);
        }
}

/* Only clusters have the column of nodes. */
static void test_members(void)
{
        static const struct {
                const char *members, *out;
        } cases[] = {
                { "[{\"name\":\"worker-0\",\"state\":\"running\"}]",
                  "MEMBER    END      TIME  CPU  PEAK MEMORY\n"
                  "worker-0  running     -    -            -\n" },
                { "[{\"name\":\"worker-0\",\"state\":\"running\",\"node\":\"gpu-7\"},"
                  "{\"name\":\"worker-1\",\"state\":\"intended\"}]",
                  "MEMBER    END       TIME  CPU  PEAK MEMORY  NODE\n"
                  "worker-0  running      -    -            -  gpu-7\n"
                  "worker-1  intended     -    -            -  -\n" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) members = parsed(cases[i].members);
                char *out = NULL;
                size_t size;
                FILE *to = open_memstream(&out, &size);

                summary_members(members, 0, to);
                g_assert_cmpint(fclose(to), ==, 0);
                g_assert_cmpstr(out, ==, cases[i].out);
                free(out);
        }
}

static void test_states(void)
{
        static const struct {
                const char *job;
                bool final, good;
        } cases[] = {
                { "{\"state\":\"queued\"}", false, false },   { "{\"state\":\"running\"}", false, false },
                { "{\"state\":\"stopping\"}", false, false }, { "{\"state\":\"succeeded\"}", true, true },
                { "{\"state\":\"failed\"}", true, false },    { "{\"state\":\"cancelled\"}", true, false },
                { "{\"state\":\"strange\"}", false, false },  { "{}", false, false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) job = parsed(cases[i].job);

                g_assert_true(job_is_final(job) == cases[i].final);
                g_assert_true(job_succeeded(job) == cases[i].good);
        }
}

int main(int argc, char **argv)
{
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/summary/line", test_line);
        g_test_add_func("/cli/summary/stages", test_stages);
        g_test_add_func("/cli/summary/ends", test_ends);
        g_test_add_func("/cli/summary/members", test_members);
        g_test_add_func("/cli/summary/states", test_states);
        return g_test_run();
}
