/* How fast the agent starts and ends members, compared with a bare posix_spawn-and-wait loop in the same run,
 * and the memory of agent, spawner and an idle keeper. `rate [TASKS] [IN_FLIGHT] [IDLE]`; prints one line of
 * JSON. */
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/test/client.h"
#include "base/json.h"
#include "base/number.h"

static double bare_rate(int tasks, int in_flight)
{
        gint64 began = g_get_monotonic_time();
        char *argv[] = { (char *)"true", NULL };

        for (int started = 0, ended = 0; ended < tasks;) {
                pid_t pid;

                if (started < tasks && started - ended < in_flight) {
                        g_assert_cmpint(posix_spawn(&pid, "/usr/bin/true", NULL, NULL, argv, environ), ==, 0);
                        started++;
                        continue;
                }
                g_assert_cmpint(waitpid(-1, NULL, 0), >, 0);
                ended++;
        }
        return tasks * 1e6 / (double)(g_get_monotonic_time() - began);
}

static void start_one(Client *client, int number)
{
        char task[32];

        (void)g_snprintf(task, sizeof task, "job%d.1.worker.0", number);
        g_assert_true(client_start(client, task, "[\"true\"]", "\"banner\":\"started by rate\""));
}

static double agent_rate(Client *client, int tasks, int in_flight)
{
        gint64 began = g_get_monotonic_time();
        int started = 0;

        for (int ended = 0; ended < tasks;) {
                g_autoptr(json_t) report = NULL;

                while (started < tasks && started - ended < in_flight)
                        start_one(client, started++);
                report = client_expect(client, "exited", NULL);
                g_assert_cmpint(json_integer_value(json_object_get(report, "exit_code")), ==, 0);
                g_assert_true(client_sendf(client, "{\"op\":\"forget\",\"task\":\"%s\"}",
                                           json_string_value(json_object_get(report, "task"))));
                ended++;
        }
        return tasks * 1e6 / (double)(g_get_monotonic_time() - began);
}

/* Private memory in KiB; *ret_pss gets the proportional set. `dirty`: without pages of files. */
static gint64 private_kb(int pid, bool dirty, gint64 *ret_pss)
{
        g_autofree char *path = g_strdup_printf("/proc/%d/smaps_rollup", pid), *text = NULL;
        gint64 sum = 0;

        *ret_pss = 0;
        if (!g_file_get_contents(path, &text, NULL, NULL))
                return 0;
        for (char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (g_str_has_prefix(line, "Private_Dirty:") ||
                    (!dirty && g_str_has_prefix(line, "Private_Clean:")))
                        sum += g_ascii_strtoll(strchr(line, ':') + 1, NULL, 10);
                if (g_str_has_prefix(line, "Pss:"))
                        *ret_pss = g_ascii_strtoll(line + 4, NULL, 10);
        }
        return sum;
}

static int parent_of(int pid)
{
        g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid), *text = NULL;
        const char *end;

        if (!g_file_get_contents(path, &text, NULL, NULL) || !(end = strrchr(text, ')')))
                return 0;
        return (int)g_ascii_strtoll(end + 4, NULL, 10);
}

static int keeper_of(Client *client, int number)
{
        g_autofree char *task = g_strdup_printf("idle%d.1.worker.0", number);
        g_autoptr(json_t) report = NULL;

        g_assert_true(client_start(client, task, "[\"sleep\",\"1000\"]",
                                   "")); /* a known one is only reported again */
        report = client_expect(client, "started", task);
        return parent_of((int)json_integer_value(json_object_get(report, "pid")));
}

static void print_memory(Client *client, int idle)
{
        gint64 alone, with_idle, spawner, keepers = 0, keepers_pss = 0, pss;

        alone = private_kb(client->agent, false, &pss);
        for (int i = 0; i < idle; i++)
                (void)keeper_of(client, i);
        for (int i = 0; i < idle; i++) {
                keepers += private_kb(keeper_of(client, i), true, &pss);
                keepers_pss += pss;
        }
        spawner = private_kb(parent_of(keeper_of(client, 0)), true, &pss);
        with_idle = private_kb(client->agent, false, &pss);
        printf(",\"agent_kb\":%" G_GINT64_FORMAT ",\"agent_kb_with_idle\":%" G_GINT64_FORMAT
               ",\"agent_pss_kb\":%" G_GINT64_FORMAT ",\"spawner_kb\":%" G_GINT64_FORMAT
               ",\"keeper_kb\":%.1f,\"keeper_pss_kb\":%.1f",
               alone, with_idle, pss, spawner, (double)keepers / idle, (double)keepers_pss / idle);
}

static int argument(int argc, char **argv, int at, int fallback)
{
        gint64 value = fallback;

        if (argc > at && !number_parse("argument", argv[at], 1, 1000000, &value, NULL))
                return fallback;
        return (int)value;
}

int main(int argc, char **argv)
{
        g_autoptr(Client) client = client_new("rate");
        int tasks = argument(argc, argv, 1, 2000), in_flight = argument(argc, argv, 2, 8),
            idle = argument(argc, argv, 3, 50);
        double bare, kept;

        json_init();
        client_connect(client);
        json_decref(client_expect(client, "synced", NULL));
        (void)agent_rate(client, in_flight * 4, in_flight); /* the first slots, the first pages */
        kept = agent_rate(client, tasks, in_flight);
        bare = bare_rate(tasks, in_flight);
        printf("{\"tasks\":%d,\"in_flight\":%d,\"tasks_per_s\":%.0f,\"bare_per_s\":%.0f,\"share\":%.2f",
               tasks, in_flight, kept, bare, kept / bare);
        print_memory(client, idle);
        printf("}\n");
        return 0;
}
