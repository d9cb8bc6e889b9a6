/* The link to the agent, against an agent that this test plays itself: broken connections, refusals, garbage,
 * forgets. */
#include "runtime/local/link.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/local/message.h"
#include "runtime/test/observed.h"

enum { WAIT_MS = 60000 };

typedef struct {
        char *dir;
        int listener, fd; /* the agent's side */
        GString *in;
        AgentLink *link;
        Observed *seen;
} Fixture;

static void listen_as_agent(Fixture *f)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        g_snprintf(address.sun_path, sizeof address.sun_path, "%s/agent.sock", f->dir);
        f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        g_assert_cmpint(bind(f->listener, (struct sockaddr *)&address, sizeof address), ==, 0);
        g_assert_cmpint(listen(f->listener, 4), ==, 0);
}

static void open_link(Fixture *f, const char *program)
{
        LinkConfig config = {
                .program = program, .state_dir = f->dir, .epoch = 5, .deliver = observed_push, .arg = f->seen
        };

        f->link = agent_link_new(&config);
        g_assert_true(agent_link_open(f->link, NULL));
}

static void setup(Fixture *f, gconstpointer data)
{
        f->dir = g_dir_make_tmp("test-link-XXXXXX", NULL);
        f->fd = f->listener = -1;
        f->in = g_string_new(NULL);
        f->seen = observed_new();
}

static void teardown(Fixture *f, gconstpointer data)
{
        agent_link_free(f->link);
        fd_close_p(&f->fd);
        fd_close_p(&f->listener);
        g_string_free(f->in, TRUE);
        observed_free(f->seen);
        g_assert_true(file_remove_tree(f->dir, NULL));
        g_free(f->dir);
}

static void accept_link(Fixture *f)
{
        struct pollfd ready = { .fd = f->listener, .events = POLLIN };

        g_assert_cmpint(poll(&ready, 1, WAIT_MS), ==, 1);
        fd_close_p(&f->fd);
        f->fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
        g_assert_cmpint(f->fd, >=, 0);
        g_string_truncate(f->in, 0);
}

static void hang_up(Fixture *f)
{
        fd_close_p(&f->fd);
        f->fd = -1;
}

static void say(Fixture *f, const char *text)
{
        GError *error = NULL;

        g_assert_true(file_write_all(f->fd, text, strlen(text), &error));
}

static char *hear(Fixture *f)
{
        for (;;) {
                char *newline = strchr(f->in->str, '\n');
                struct pollfd ready = { .fd = f->fd, .events = POLLIN };
                char chunk[4096]; /* one line of this test is shorter */
                ssize_t got;

                if (newline) {
                        char *line = g_strndup(f->in->str, (gsize)(newline - f->in->str));

                        g_string_erase(f->in, 0, newline - f->in->str + 1);
                        return line;
                }
                g_assert_cmpint(poll(&ready, 1, WAIT_MS), ==, 1);
                got = read(f->fd, chunk, sizeof chunk);
                g_assert_cmpint(got, >, 0);
                g_string_append_len(f->in, chunk, got);
        }
}

static void expect_line(Fixture *f, const char *want)
{
        g_autofree char *line = hear(f);

        g_assert_cmpstr(line, ==, want);
}

static Observation *next(Fixture *f)
{
        Observation *observation = observed_pop(f->seen, WAIT_MS);

        g_assert_nonnull(observation);
        return observation;
}

static void expect(Fixture *f, ObservationKind kind, const char *task, const char *text)
{
        Observation *observation = next(f);

        g_test_message("%d %s %s", observation->kind, observation->task,
                       observation->text ? observation->text : "");
        g_assert_cmpint(observation->kind, ==, kind);
        g_assert_cmpstr(observation->task, ==, task);
        if (text)
                g_assert_nonnull(strstr(observation->text, text));
        observation_free(observation);
}

#define HELLO "{\"op\":\"hello\",\"epoch\":5}"
#define HELLO_ANSWER "{\"op\":\"hello\",\"epoch\":5,\"pid\":1,\"boot_id\":\"b\",\"limits\":[]}\n"
#define SYNCED "{\"op\":\"synced\"}\n"

static void greet(Fixture *f)
{
        accept_link(f);
        expect_line(f, HELLO);
        say(f, HELLO_ANSWER);
}

static void synced(Fixture *f)
{
        greet(f);
        say(f, SYNCED);
        expect(f, OBSERVED_SYNCED, "", NULL);
}

static bool send_text(Fixture *f, const char *text)
{
        g_autoptr(GString) line = g_string_new(text);

        return agent_link_send(f->link, line);
}

static void test_greeting(Fixture *f, gconstpointer data)
{
        listen_as_agent(f);
        open_link(f, "/bin/false");
        greet(f);
        g_assert_false(send_text(f, "early\n"));
        say(f, "{\"op\":\"started\",\"task\":\"a\",\"pid\":3,\"time\":1}\n{\"op\":\"future\"}\n");
        expect(f, OBSERVED_STARTED, "a", NULL);
        g_assert_false(send_text(f, "early\n")); /* what is missing is not known yet */
        say(f, SYNCED);
        expect(f, OBSERVED_SYNCED, "", NULL);
        g_assert_true(send_text(f, "late\n"));
        agent_link_forget(f->link, "a");
        expect_line(f, "late");
        expect_line(f, "{\"op\":\"forget\",\"task\":\"a\"}");
}

static void test_broken(Fixture *f, gconstpointer data)
{
        listen_as_agent(f);
        open_link(f, "/bin/false");
        synced(f);
        say(f, "{\"op\":\"exited\",\"task\":\"a\",\"exit_co");
        hang_up(f);
        expect(f, OBSERVED_DISCONNECTED, "", "closed the connection");
        greet(f);
        say(f, "{\"op\":\"exited\",\"task\":\"a\",\"exit_code\":3}\n");
        expect(f, OBSERVED_EXITED, "a", NULL);
        say(f, SYNCED);
        expect(f, OBSERVED_SYNCED, "", NULL);
}

/* Forgets are kept while there is no connection; until `synced` their tasks' reports are old news. */
static void test_forgets(Fixture *f, gconstpointer data)
{
        listen_as_agent(f);
        open_link(f, "/bin/false");
        synced(f);
        hang_up(f);
        expect(f, OBSERVED_DISCONNECTED, "", NULL);
        agent_link_forget(f->link, "a");
        accept_link(
                f); /* the attempt may have been made before the forget: then it comes with the next one */
        hang_up(f);
        greet(f);
        expect_line(f, "{\"op\":\"forget\",\"task\":\"a\"}");
        say(f, "{\"op\":\"lost\",\"task\":\"a\",\"time\":1}\n{\"op\":\"lost\",\"task\":\"b\",\"time\":1}\n");
        for (Observation *observation;;) { /* the short attempt may have been told */
                observation = next(f);
                g_assert_cmpstr(observation->task, !=, "a");
                if (observation->kind == OBSERVED_LOST) {
                        observation_free(observation);
                        break;
                }
                observation_free(observation);
        }
        agent_link_forget(f->link, "b"); /* while the reports come: kept until they have */
        say(f, SYNCED);
        expect(f, OBSERVED_SYNCED, "", NULL);
        expect_line(f, "{\"op\":\"forget\",\"task\":\"b\"}");
        say(f, "{\"op\":\"lost\",\"task\":\"a\",\"time\":1}\n");
        expect(f, OBSERVED_LOST, "a", NULL);
}

static void test_refused(Fixture *f, gconstpointer data)
{
        listen_as_agent(f);
        open_link(f, "/bin/false");
        accept_link(f);
        expect_line(f, HELLO);
        say(f, "{\"op\":\"refused\",\"epoch\":9}\n");
        hang_up(f);
        expect(f, OBSERVED_DISCONNECTED, "", "epoch 9, this one has 5");
        g_assert_false(send_text(f, "x\n"));
}

static void test_garbage(Fixture *f, gconstpointer data)
{
        static const struct {
                const char *greeting, *then, *says;
        } cases[] = {
                /* no two neighbours with one reason: that is told once */
                { "SSH-2.0-x\n", NULL, "cannot be read" },
                { SYNCED, NULL, "does not answer hello" },
                { HELLO_ANSWER, "{\"op\":\"started\"}\n", "names no task" },
                { "{\"op\":\"hello\",\"epoch\":4}\n", NULL, "does not answer hello with epoch 5" },
                { HELLO_ANSWER, "\n", "cannot be read" },
        };

        listen_as_agent(f);
        open_link(f, "/bin/false");
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                accept_link(f);
                expect_line(f, HELLO);
                say(f, cases[i].greeting);
                if (cases[i].then)
                        say(f, cases[i].then);
                expect(f, OBSERVED_DISCONNECTED, "", cases[i].says);
        }
        synced(f);
}

static void test_endless_line(Fixture *f, gconstpointer data)
{
        g_autofree char *much = g_strnfill(MESSAGE_MAX + 100000, 'x');

        listen_as_agent(f);
        open_link(f, "/bin/false");
        synced(f);
        (void)file_write_all(f->fd, much, strlen(much), NULL); /* the link hangs up before the end */
        expect(f, OBSERVED_DISCONNECTED, "", "line of more than");
}

/* More than the socket holds, to an agent that reads only afterwards; in order. */
static void test_slow_agent(Fixture *f, gconstpointer data)
{
        enum { LINES = 20000 };

        listen_as_agent(f);
        open_link(f, "/bin/false");
        synced(f);
        for (int i = 0; i < LINES; i++) {
                g_autofree char *text = g_strdup_printf("%d and some more text to fill buffers with\n", i);

                g_assert_true(send_text(f, text));
        }
        for (int i = 0; i < LINES; i++) {
                g_autofree char *want = g_strdup_printf("%d and some more text to fill buffers with", i);

                expect_line(f, want);
        }
}

static void test_no_agent(Fixture *f, gconstpointer data)
{
        open_link(f, "/nonexistent/agent");
        expect(f, OBSERVED_DISCONNECTED, "", "cannot start the agent '/nonexistent/agent'");
        agent_link_post(f->link, g_new0(Observation,
                                        1)); /* delivered all the same; the same reason is not told twice */
        expect(f, OBSERVED_STARTED, "", NULL);
        agent_link_close(f->link);
        g_assert_null(observed_pop(f->seen, 0));
}

/* One that ends at once without listening. */
static void test_dead_agent(Fixture *f, gconstpointer data)
{
        open_link(f, "/bin/false");
        expect(f, OBSERVED_DISCONNECTED, "", "the agent does not answer");
        listen_as_agent(f);
        synced(f);
}

static void test_long_path(Fixture *f, gconstpointer data)
{
        g_autofree char *part = g_strnfill(120, 'd');
        char *longer = g_build_filename(f->dir, part, NULL);
        char *dir = f->dir;

        f->dir = longer;
        open_link(f, "/bin/false");
        expect(f, OBSERVED_DISCONNECTED, "", "too long for a socket's name");
        f->dir = dir;
        g_free(longer);
}

int main(int argc, char **argv)
{
        static const struct {
                const char *name;
                void (*run)(Fixture *, gconstpointer);
        } tests[] = {
                { "/link/greeting", test_greeting },     { "/link/broken", test_broken },
                { "/link/forgets", test_forgets },       { "/link/refused", test_refused },
                { "/link/garbage", test_garbage },       { "/link/endless-line", test_endless_line },
                { "/link/slow-agent", test_slow_agent }, { "/link/no-agent", test_no_agent },
                { "/link/dead-agent", test_dead_agent }, { "/link/long-path", test_long_path },
        };

        g_test_init(&argc, &argv, NULL);
        signal(SIGPIPE, SIG_IGN);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].name, Fixture, NULL, setup, tests[i].run, teardown);
        return g_test_run();
}
