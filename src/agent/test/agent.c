/* Runs the real agent over its socket: the outcome of each kind of member, refused requests, and what
 * survives which death. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/test/client.h"
#include "base/file.h"
#include "base/json.h"
#include "base/test/seed.h"

static Client *connected(void)
{
        Client *client = client_new("agent");

        client_connect(client);
        json_decref(client_expect(client, "synced", NULL));
        return client;
}

static char *log_of(const Client *client, const char *task)
{
        g_autofree char *path = g_build_filename(client->dir, "logs", task, NULL);
        char *text = NULL;

        return g_file_get_contents(path, &text, NULL, NULL) ? text : g_strdup("");
}

/* "exited 7 0": how the row's member ended. */
static char *outcome(const json_t *report)
{
        const char *op = json_string_value(json_object_get(report, "op"));

        if (strcmp(op, "exited") != 0)
                return g_strdup_printf("%s%s: %s", op,
                                       json_is_true(json_object_get(report, "permanent")) ? " for good" : "",
                                       json_string_value(json_object_get(report, "text")));
        return g_strdup_printf("exited %d %d%s",
                               (int)json_integer_value(json_object_get(report, "exit_code")),
                               (int)json_integer_value(json_object_get(report, "signal")),
                               json_is_true(json_object_get(report, "oom")) ? " oom" : "");
}

static json_t *expect_end(Client *client, const char *task)
{
        for (;;) {
                json_t *report = client_receive(client, EXPECT_MS);
                const char *op = report ? json_string_value(json_object_get(report, "op")) : "nothing";

                if (!report)
                        g_error("'%s' did not end", task);
                if (strcmp(op, "exited") == 0 || strcmp(op, "failed") == 0 || strcmp(op, "lost") == 0)
                        return report;
                json_decref(report);
        }
}

static const struct {
        const char *argv, *more, *outcome, *log;
} rows[] = {
        { "[\"true\"]", "", "exited 0 0", NULL },
        { "[\"sh\",\"-c\",\"exit 7\"]", "", "exited 7 0", NULL },
        { "[\"sh\",\"-c\",\"kill -SEGV $$\"]", "", "exited -1 11", NULL },
        { "[\"echo\",\"hello\"]", "\"banner\":\"== first\"", "exited 0 0", "== first\nhello\n" },
        { "[\"sh\",\"-c\",\"echo out; echo err >&2; cat\"]", "", "exited 0 0", "out\nerr\n" },
        { "[\"sh\",\"-c\",\"sleep 900 & exit 3\"]", "", "exited 3 0", NULL },
        { "[\"sh\",\"-c\",\"setsid setsid sleep 900 & exit 4\"]", "", "exited 4 0", NULL },
        { "[\"nonesuch\"]", "", "failed for good: cannot run 'nonesuch': no such program in the job's PATH",
          "paddle: cannot run 'nonesuch': no such program in the job's PATH\n" },
        { "[\"/etc/passwd\"]", "", "failed for good: cannot run '/etc/passwd': Permission denied", NULL },
        { "[\"python3\",\"-c\",\"x=bytearray(300<<20); import time; time.sleep(9)\"]", "\"memory\":67108864",
          "exited -1 9 oom", NULL },
        { "[\"python3\",\"-c\",\"x=bytearray(30<<20)\"]", "\"memory\":67108864", "exited 0 0", NULL },
        { "[\"sh\",\"-c\",\"sleep 0 | sleep 0 | sleep 0 | sleep 0 | sleep 0; true\"]", "\"processes\":2",
          "exited 2 0", NULL },
        { "[\"true\"]", "\"cpu_milli\":500,\"cpu_weight_milli\":2000", "exited 0 0", NULL },
        { "[\"true\"]", "\"memory\":-5", "failed for good: memory: ", NULL },
        { "[\"sh\",\"-c\",\"ls /proc/self/fd | wc -l\"]", "", "exited 0 0",
          "4\n" }, /* and the directory's own */
        { "[\"sh\",\"-c\",\"cat /proc/self/oom_score_adj; grep -c SigBlk:.0000000000000000 "
          "/proc/self/status\"]",
          "", "exited 0 0", "500\n1\n" },
};

static void test_rows(void)
{
        g_autoptr(Client) client = connected();

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *task = g_strdup_printf("row.%d", (int)i), *is = NULL, *log = NULL;
                g_autoptr(json_t) report = NULL;

                if (!client->has_groups &&
                    (strstr(rows[i].more, "memory\":6") || strstr(rows[i].more, "processes")))
                        continue; /* without cgroups the first is an rlimit with another outcome, the second
                                     is not enforced */
                g_assert_true(client_start(client, task, rows[i].argv, rows[i].more));
                report = expect_end(client, task);
                is = outcome(report);
                log = log_of(client, task);
                if (!g_str_has_prefix(is, rows[i].outcome) ||
                    (rows[i].log && strcmp(log, rows[i].log) != 0)) {
                        g_test_message("%s: '%s', log '%s'", rows[i].argv, is, log);
                        g_test_fail();
                }
        }
}

static void test_bad_directory(void)
{
        g_autoptr(Client) client = connected();
        g_autoptr(json_t) report = NULL;

        g_assert_true(client_sendf(client,
                                   "{\"op\":\"start\",\"task\":\"a\",\"argv\":[\"true\"],\"dir\":\"/"
                                   "nonexistent\",\"log\":\"%s/l\"}",
                                   client->dir));
        report = client_expect(client, "failed", "a");
        g_assert_cmpstr(json_string_value(json_object_get(report, "text")), ==,
                        "cannot enter the directory '/nonexistent': No such file or directory");
        g_assert_true(json_is_true(json_object_get(report, "permanent")));
}

/* A failure of the platform, not of the request, is not reported as permanent. */
static void test_bad_log(void)
{
        g_autoptr(Client) client = connected();
        g_autoptr(json_t) report = NULL;

        g_assert_true(client_sendf(client, "{\"op\":\"start\",\"task\":\"a\",\"argv\":[\"true\"],\"dir\":\"/"
                                           "\",\"log\":\"/dev/null/l\"}"));
        report = client_expect(client, "failed", "a");
        g_assert_true(json_is_false(json_object_get(report, "permanent")));
}

/* Meaningless lines are answered; the connection continues. */
static void test_broken_lines(void)
{
        static const char *const lines[] = {
                "garbage",
                "{",
                "[]",
                "null",
                "{\"op\":1}",
                "{\"op\":\"x\"}",
                "{\"op\":\"start\"}",
                "{\"op\":\"stop\"}",
                "{\"op\":\"stop\",\"task\":\"/\"}",
                "{\"op\":\"hello\"}",
                "{\"op\":\"hello\",\"epoch\":-1}",
                "\x01\xff",
                "{\"op\":\"stop\",\"task\":\"a\",\"grace_ms\":\"x\"}",
                "{\"op\":\"\\u0000\"}",
                "{\"op\":\"ping\",\"op\":\"ping\"}",
        };
        g_autoptr(Client) client = connected();
        g_autofree char *huge = g_strnfill(3 << 20, 'x');
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed_of_test());

        for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
                g_assert_true(client_sendf(client, "%s", lines[i]));
                json_decref(client_expect(client, "error", NULL));
        }
        g_assert_true(client_sendf(client, "%s", huge));
        json_decref(client_expect(client, "error", NULL));
        for (int i = 0; i < 300; i++) { /* random bytes, each line ended */
                g_autoptr(GString) line = g_string_new("x");

                for (int n = g_rand_int_range(rand, 0, 200); n > 0; n--)
                        g_string_append_c(line, (char)g_rand_int_range(rand, 11, 256));
                g_assert_true(client_sendf(client, "%s", line->str));
                json_decref(client_expect(client, "error", NULL));
        }
        g_assert_true(client_sendf(client, "{\"op\":\"ping\"}"));
        json_decref(client_expect(client, "pong", NULL));
}

static void test_epochs(void)
{
        g_autoptr(Client) client = connected();
        g_autoptr(json_t) refused = NULL;
        gint64 newest;

        client->epoch += 10;
        client_connect(client);
        json_decref(client_expect(client, "synced", NULL));
        newest = client->epoch;
        g_assert_cmpint(kill(client->agent, SIGKILL), ==, 0); /* the epoch is durable */
        g_assert_cmpint(waitpid(client->agent, NULL, 0), ==, client->agent);
        client->agent = 0;
        client->epoch = newest - 2;
        client_connect(client);
        refused = client_expect(client, "refused", NULL);
        g_assert_cmpint((int)json_integer_value(json_object_get(refused, "epoch")), ==, (int)newest);
        g_assert_null(client_receive(client, EXPECT_MS));
        g_assert_cmpint(client->fd, ==, -1);
        client->epoch = newest - 1; /* the same epoch is accepted: its connection broke */
        client_connect(client);
        json_decref(client_expect(client, "synced", NULL));
        g_assert_true(client_sendf(client, "{\"op\":\"stop\",\"task\":\"nobody\",\"grace_ms\":0}"));
        json_decref(client_expect(client, "lost", "nobody"));
}

static void kill_agent(Client *client)
{
        g_assert_cmpint(kill(client->agent, SIGKILL), ==, 0);
        g_assert_cmpint(waitpid(client->agent, NULL, 0), ==, client->agent);
        client->agent = 0;
        client_disconnect(client);
}

/* The keeper enforces the grace: it ends although the agent is dead. */
static void test_stop_survives_agent(void)
{
        g_autoptr(Client) client = connected();
        g_autoptr(json_t) report = NULL;
        g_autofree char *is = NULL;

        g_assert_true(client_start(
                client, "stubborn",
                "[\"sh\",\"-c\",\"trap 'echo term' TERM; touch ready; while :; do sleep 0.01; done\"]",
                "\"ready_file\":\"/\""));
        json_decref(client_expect(client, "ready", "stubborn"));
        for (int i = 0;; i++) {
                g_autofree char *ready = g_build_filename(client->dir, "ready", NULL);

                if (g_file_test(ready, G_FILE_TEST_EXISTS))
                        break;
                g_assert_cmpint(i, <, EXPECT_MS);
                g_usleep(1000);
        }
        g_assert_true(client_sendf(client, "{\"op\":\"stop\",\"task\":\"stubborn\",\"grace_ms\":300}"));
        g_assert_true(client_sendf(client, "{\"op\":\"ping\"}"));
        json_decref(client_expect(client, "pong", NULL));
        kill_agent(client);
        client_connect(client);
        report = expect_end(client, "stubborn");
        is = outcome(report);
        g_assert_cmpstr(is, ==, "exited -1 9");
}

/* The next agent reports known tasks again, with the same words, and does not start them again. */
static void test_told_again(void)
{
        g_autoptr(Client) client = connected();
        g_autofree char *first = NULL, *second = NULL, *log = NULL;
        g_autoptr(json_t) before = NULL, after = NULL;

        g_assert_true(client_start(client, "once", "[\"echo\",\"x\"]", ""));
        before = client_expect(client, "exited", "once");
        first = json_format(before);
        kill_agent(client);
        client_connect(client);
        after = client_expect(client, "exited", "once");
        second = json_format(after);
        g_assert_cmpstr(first, ==, second);
        g_assert_true(client_start(client, "once", "[\"echo\",\"x\"]", ""));
        json_decref(client_expect(client, "exited", "once"));
        log = log_of(client, "once");
        g_assert_cmpstr(log, ==, "x\n");
}

/* The end was reported already. A second report could be mistaken for the end of the next task of that
 * name. */
static void test_a_stop_too_late(void)
{
        g_autoptr(Client) client = connected();
        g_autoptr(json_t) next = NULL;

        g_assert_true(client_start(client, "brief", "[\"true\"]", ""));
        json_decref(client_expect(client, "exited", "brief"));
        g_assert_true(client_sendf(client, "{\"op\":\"stop\",\"task\":\"brief\",\"grace_ms\":0}"));
        g_assert_true(client_sendf(client, "{\"op\":\"ping\"}"));
        next = client_receive(client, EXPECT_MS);
        g_assert_cmpstr(json_string_value(json_object_get(next, "op")), ==, "pong");
}

/* A free port, below those that the kernel assigns. The choice is unseeded, so that two concurrent runs use
 * different ports. */
static int free_port(void)
{
        for (;;) {
                int port = g_random_int_range(10000, 20000), fd = socket(AF_INET, SOCK_STREAM, 0);
                struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((guint16)port) };
                bool ok = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;

                close(fd);
                if (ok)
                        return port;
        }
}

static void test_ready(void)
{
        g_autoptr(Client) client = connected();
        g_autofree char *file = g_strdup_printf("\"ready_file\":\"%s/up\"", client->dir);
        int number = free_port();
        g_autofree char *listen = g_strdup_printf(
                "[\"python3\",\"-c\",\"import socket,time\\ns=socket.socket()\\ns.setsockopt(1,2,1)\\n"
                "s.bind(('127.0.0.1',%d))\\ns.listen()\\ntime.sleep(900)\"]",
                number);
        g_autofree char *port = g_strdup_printf("\"ready_port\":%d", number);

        g_assert_true(client_start(client, "file", "[\"sh\",\"-c\",\"touch up; exec sleep 900\"]", file));
        json_decref(client_expect(client, "ready", "file"));
        g_assert_true(client_start(client, "port", listen, port));
        json_decref(client_expect(client, "ready", "port"));
        g_assert_true(client_start(client, "other", "[\"sleep\",\"0.3\"]", port)); /* of another task */
        for (;;) {
                g_autoptr(json_t) report = client_receive(client, EXPECT_MS);

                g_assert_nonnull(report);
                g_assert_cmpstr(json_string_value(json_object_get(report, "op")), !=, "ready");
                if (strcmp(json_string_value(json_object_get(report, "op")), "exited") == 0)
                        break;
        }
}

/* The beginning and the end are kept, with a line between them that says so. */
static void test_log_cap(void)
{
        g_autoptr(Client) client = connected();
        g_autofree char *log = NULL;

        g_assert_true(client_start(client, "loud",
                                   "[\"sh\",\"-c\",\"echo HEAD; yes | head -c 3000000; echo END\"]",
                                   "\"log_bytes\":100000"));
        json_decref(client_expect(client, "exited", "loud"));
        log = log_of(client, "loud");
        g_assert_true(g_str_has_prefix(log, "HEAD\n"));
        g_assert_true(g_str_has_suffix(log, "END\n"));
        g_assert_nonnull(strstr(log + 99000, "paddle: this log has reached its limit of 100000 bytes"));
        g_assert_cmpuint(strlen(log), <, 200000);
}

static void test_big_environment(void)
{
        g_autoptr(Client) client = connected();
        g_autoptr(GString) line = g_string_new(NULL);
        g_autofree char *log = NULL;

        g_string_printf(line,
                        "{\"op\":\"start\",\"task\":\"big\",\"argv\":[\"sh\",\"-c\",\"env | grep -c "
                        "^V\"],\"dir\":\"/\","
                        "\"log\":\"%s/logs/big\",\"env\":[\"PATH=/usr/bin:/bin\"",
                        client->dir);
        for (int i = 0; i < 18; i++) {
                g_autofree char *value = g_strnfill(100000, 'v');

                g_string_append_printf(line, ",\"V%d=%s\"", i, value);
        }
        g_string_append(line, "]}\n");
        g_assert_true(client_send(client, line->str));
        json_decref(client_expect(client, "exited", "big"));
        log = log_of(client, "big");
        g_assert_cmpstr(log, ==, "18\n");
}

/* Reports accumulate unread; the agent continues, and the next connection gets all of them. */
static void test_slow_server(void)
{
        enum { TASKS = 60 };
        g_autoptr(Client) client = connected();
        int ended = 0;

        for (int i = 0; i < TASKS; i++) {
                g_autofree char *task = g_strdup_printf("slow.%d", i);

                g_assert_true(client_start(client, task, "[\"true\"]", ""));
        }
        client_disconnect(client); /* without having read a line */
        while (ended < TASKS) {
                g_autoptr(json_t) report = NULL;

                ended = 0;
                client_connect(client);
                do {
                        g_clear_pointer(&report, json_decref);
                        report = client_receive(client, EXPECT_MS);
                        g_assert_nonnull(report);
                        ended += strcmp(json_string_value(json_object_get(report, "op")), "exited") == 0;
                } while (strcmp(json_string_value(json_object_get(report, "op")), "synced") != 0);
        }
}

/* It ends by itself, and removes its socket and its groups. */
static void test_linger(void)
{
        g_autoptr(Client) client = client_new("agent");
        g_autofree char *socket = g_build_filename(client->dir, "agent.sock", NULL), *groups = NULL;

        client->linger_ms = 50;
        client_connect(client);
        json_decref(client_expect(client, "synced", NULL));
        g_assert_true(client_start(client, "a", "[\"true\"]", ""));
        json_decref(client_expect(client, "exited", "a"));
        g_assert_true(client_sendf(client, "{\"op\":\"forget\",\"task\":\"a\"}"));
        client_disconnect(client);
        g_assert_cmpint(waitpid(client->agent, NULL, 0), ==, client->agent);
        client->agent = 0;
        g_assert_false(g_file_test(socket, G_FILE_TEST_EXISTS));
        groups = client_cgroups(client);
        g_assert_cmpstr(groups, ==, "");
}

/* Copies all pidfds of the agent, as its spawner has them for a moment. */
static GArray *copy_pidfds(int agent)
{
        GArray *ret = g_array_new(FALSE, FALSE, sizeof(int));
        g_autofree char *path = g_strdup_printf("/proc/%d/fd", agent);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        fd_auto int process = (int)syscall(SYS_pidfd_open, agent, 0);

        for (const char *name; dir && (name = g_dir_read_name(dir));) {
                g_autofree char *link = g_build_filename(path, name, NULL),
                                *to = g_file_read_link(link, NULL);
                int fd = to && strstr(to, "pidfd")
                                 ? (int)syscall(SYS_pidfd_getfd, process, (int)strtol(name, NULL, 10), 0)
                                 : -1;

                if (fd >= 0)
                        g_array_append_val(ret, fd);
        }
        return ret;
}

/* While another process has a copy, a closed descriptor stays in an epoll set; its event must not reach a
 * later task. */
static void test_keeper_known_elsewhere(void)
{
        g_autoptr(Client) client = connected();
        g_autoptr(GArray) copies = NULL;
        g_autoptr(json_t) first = NULL, second = NULL;

        g_assert_true(client_start(client, "a", "[\"sleep\",\"900\"]", ""));
        json_decref(client_expect(client, "started", "a"));
        copies = copy_pidfds(client->agent);
        g_assert_cmpuint(copies->len, >, 0);
        g_assert_true(client_sendf(client, "{\"op\":\"stop\",\"task\":\"a\",\"grace_ms\":0}"));
        first = expect_end(client, "a");
        g_assert_true(client_sendf(client, "{\"op\":\"forget\",\"task\":\"a\"}"));
        g_assert_true(client_start(client, "b", "[\"sleep\",\"0.2\"]", ""));
        second = expect_end(client, "b");
        g_assert_cmpstr(json_string_value(json_object_get(second, "op")), ==, "exited");
        g_assert_cmpstr(json_string_value(json_object_get(second, "task")), ==, "b");
        for (guint i = 0; i < copies->len; i++)
                close(g_array_index(copies, int, i));
}

static char *own_program; /* which is also run as a member's proxy that never becomes ready */

/* The pid of the process whose command line is these two words. */
static int find_process(const char *program, const char *word)
{
        for (gint64 until = g_get_monotonic_time() + EXPECT_MS * G_TIME_SPAN_MILLISECOND;
             g_get_monotonic_time() < until; g_usleep(2000)) {
                g_autoptr(GArray) pids = client_processes(program);

                for (guint i = 0; i < pids->len; i++) {
                        g_autofree char *path =
                                g_strdup_printf("/proc/%d/cmdline", g_array_index(pids, int, i));
                        g_autofree char *text = NULL;
                        gsize len;

                        if (g_file_get_contents(path, &text, &len, NULL) && strcmp(text, program) == 0 &&
                            len == strlen(program) + strlen(word) + 2 &&
                            strcmp(text + strlen(program) + 1, word) == 0)
                                return g_array_index(pids, int, i);
                }
        }
        return 0;
}

/* Root-only files of /proc belong to root, also before the program has executed an instruction. */
static void test_proxy_is_shut(void)
{
        g_autoptr(Client) client = connected();
        g_autoptr(json_t) report = NULL;
        g_autofree char *path = NULL, *more = NULL;
        guint uid = geteuid() == 0 ? 4242424 : geteuid();
        struct stat process, status;
        int pid;

        more = g_strdup_printf("\"proxy\":[\"%s\",\"SECRET=word\",\"REQUIRED=1\"]%s", own_program,
                               geteuid() == 0 ? ",\"uid\":4242424,\"gid\":4242424" : "");
        g_assert_true(client_start(client, "a", "[\"true\"]", more));
        pid = find_process(own_program, "proxy");
        g_assert_cmpint(pid, >, 0);
        path = g_strdup_printf("/proc/%d/environ", pid);
        g_assert_cmpint(stat(path, &status), ==, 0);
        *strrchr(path, '/') = '\0';
        g_assert_cmpint(stat(path, &process), ==, 0);
        g_assert_cmpuint(status.st_uid, ==, 0);
        g_assert_cmpuint(process.st_uid, ==, uid);
        g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
        report = expect_end(client, "a");
        g_assert_cmpstr(json_string_value(json_object_get(report, "op")), ==, "failed");
}

int main(int argc, char **argv)
{
        static const struct {
                const char *name;
                void (*test)(void);
        } tests[] = {
                { "/agent/agent/rows", test_rows },
                { "/agent/agent/bad-directory", test_bad_directory },
                { "/agent/agent/bad-log", test_bad_log },
                { "/agent/agent/broken-lines", test_broken_lines },
                { "/agent/agent/epochs", test_epochs },
                { "/agent/agent/stop-survives-agent", test_stop_survives_agent },
                { "/agent/agent/stop-too-late", test_a_stop_too_late },
                { "/agent/agent/told-again", test_told_again },
                { "/agent/agent/ready", test_ready },
                { "/agent/agent/log-cap", test_log_cap },
                { "/agent/agent/big-environment", test_big_environment },
                { "/agent/agent/slow-server", test_slow_server },
                { "/agent/agent/linger", test_linger },
                { "/agent/agent/keeper-known-elsewhere", test_keeper_known_elsewhere },
                { "/agent/agent/proxy-is-shut", test_proxy_is_shut },
        };

        if (argc == 2 && strcmp(argv[1], "proxy") == 0)
                return pause();
        g_test_init(&argc, &argv, NULL);
        json_init();
        own_program = g_file_read_link("/proc/self/exe", NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add_func(tests[i].name, tests[i].test);
        return g_test_run();
}
