/* The gate as a process: sockets, files and signals are real. */
#include <arpa/inet.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a program of a test ---- */

typedef struct {
        GPid pid;
        int said; /* what it says on stderr */
} Gate;

static Gate spawn(const char *const *words, const char *const *variables)
{
        g_autoptr(GPtrArray) argv = g_ptr_array_new();
        g_auto(GStrv) env = g_get_environ();
        g_autoptr(GError) error = NULL;
        Gate gate = { 0 };

        g_ptr_array_add(argv, (char *)g_getenv("PADDLE_GATE"));
        for (; *words; words++)
                g_ptr_array_add(argv, (char *)*words);
        g_ptr_array_add(argv, NULL);
        for (; variables && *variables; variables += 2)
                env = g_environ_setenv(env, variables[0], variables[1], TRUE);
        g_spawn_async_with_pipes(NULL, (char **)argv->pdata, env, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
                                 &gate.pid, NULL, NULL, &gate.said, &error);
        g_assert_no_error(error);
        return gate;
}

/* The status as of waitpid, and all that it said. */
static int finish(Gate *gate, char **ret_said)
{
        g_autoptr(GString) said = g_string_new(NULL);
        char part[256];
        int status;

        for (ssize_t got; (got = read(gate->said, part, sizeof part)) > 0;)
                g_string_append_len(said, part, got);
        close(gate->said);
        g_assert_cmpint(waitpid(gate->pid, &status, 0), ==, gate->pid);
        if (ret_said)
                *ret_said = g_string_free(g_steal_pointer(&said), FALSE);
        return status;
}

/* Its first line, the caller's: it is at work. */
static char *first_line(Gate *gate)
{
        g_autoptr(GString) line = g_string_new(NULL);
        char byte = 0;

        while (byte != '\n') {
                g_assert_cmpint((int)read(gate->said, &byte, 1), ==, 1);
                g_string_append_c(line, byte);
        }
        return g_string_free(g_steal_pointer(&line), FALSE);
}

static void read_line(Gate *gate)
{
        g_free(first_line(gate));
}

/* Until it has a handler of the signal, by proc(5). */
static void wait_for_handler(const Gate *gate, int signo)
{
        g_autofree char *path = g_strdup_printf("/proc/%d/status", gate->pid);
        guint64 caught = 0;

        while (!(caught >> (signo - 1) & 1)) {
                g_autofree char *text = NULL;
                const char *line;

                g_usleep(1000);
                g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
                line = strstr(text, "\nSigCgt:");
                caught = line ? g_ascii_strtoull(line + 8, NULL, 16) : 0;
        }
}

/* A port that is nobody else's; who sets SO_REUSEADDR, too, may listen there. */
static int bound(int *ret_port)
{
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t size = sizeof at;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

        g_assert_cmpint(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), ==, 0);
        g_assert_cmpint(bind(fd, (struct sockaddr *)&at, sizeof at), ==, 0);
        g_assert_cmpint(getsockname(fd, (struct sockaddr *)&at, &size), ==, 0);
        *ret_port = ntohs(at.sin_port);
        return fd;
}

/* ---- wait ---- */

static void test_wait(void)
{
        int port[3], fd[3];
        g_autofree char *one = NULL, *either = NULL, *said = NULL;
        int status;
        Gate gate;

        for (int i = 0; i < 3; i++)
                fd[i] = bound(&port[i]);
        one = g_strdup_printf("localhost:%d", port[0]);
        either = g_strdup_printf("localhost:%d,%d", port[1], port[2]);
        gate = spawn((const char *const[]){ "wait", one, either, NULL }, NULL);
        read_line(&gate); /* "waits until 2 listen: ..." */
        g_assert_cmpint(listen(fd[0], 8), ==, 0);
        g_assert_cmpint(waitpid(gate.pid, &status, WNOHANG), ==, 0);
        g_assert_cmpint(listen(fd[2], 8), ==, 0); /* the other of two */
        g_assert_cmpint(finish(&gate, &said), ==, 0);
        for (int i = 0; i < 3; i++)
                close(fd[i]);
}

static void test_wait_says_what_for(void)
{
        int port, fd = bound(&port);
        g_autofree char *address = g_strdup_printf("localhost:%d", port);
        g_autofree char *wanted =
                g_strdup_printf("waits until 2 listen: %s no-such-host.invalid:7\n", address);
        Gate gate = spawn((const char *const[]){ "wait", address, "no-such-host.invalid:7", NULL }, NULL);
        g_autofree char *said = first_line(&gate);
        int status;

        g_assert_nonnull(strstr(said, wanted));
        kill(gate.pid, SIGTERM);
        status = finish(&gate, NULL);
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, 128 + SIGTERM);
        close(fd);
}

static void test_refusals(void)
{
        static const struct {
                const char *words[6], *says;
        } cases[] = {
                { { NULL }, "which of wait, run, unpack, serve, call, terminal, relay?" },
                { { "open" }, "which of wait, run, unpack, serve, call, terminal, relay?" },
                { { "wait" }, "which addresses?" },
                { { "wait", "host" }, "'host' is not HOST:PORT" },
                { { "wait", "host:" }, "'host:' is not HOST:PORT" },
                { { "wait", ":7" }, "':7' is not HOST:PORT" },
                { { "wait", "host:0" }, "'host:0' is not HOST:PORT" },
                { { "wait", "host:65536" }, "'host:65536' is not HOST:PORT" },
                { { "wait", "host:7," }, "'host:7,' is not HOST:PORT" },
                { { "wait", "host:,7" }, "'host:,7' is not HOST:PORT" },
                { { "wait", "host:7x" }, "'host:7x' is not HOST:PORT" },
                { { "serve" }, "PADDLE_GATE_SECRET holds no secret" },
                { { "serve", "x" }, "serve [PORT]" },
                { { "serve", "7", "8" }, "serve [PORT]" },
                { { "serve", "7" }, "PADDLE_GATE_SECRET holds no secret" },
                { { "call" }, "call HOST[:PORT] WORD..." },
                { { "call", "host:7" }, "call HOST[:PORT] WORD..." },
                { { "call", "", "true" }, "call HOST[:PORT] WORD..." },
                { { "call", "host:x", "true" }, "call HOST[:PORT] WORD..." },
                { { "call", "host", "true" }, "PADDLE_GATE_SECRET holds no secret" },
                { { "call", "host:7", "true" }, "PADDLE_GATE_SECRET holds no secret" },
                { { "run", "/x" }, "run [--once MARK] FILES -- PROGRAM" },
                { { "run", "/x", "true" }, "run [--once MARK] FILES -- PROGRAM" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                Gate gate = spawn(cases[i].words, NULL);
                g_autofree char *said = NULL;
                int status = finish(&gate, &said);

                g_assert_true(WIFEXITED(status));
                g_assert_cmpint(WEXITSTATUS(status), ==, 2);
                if (!strstr(said, cases[i].says))
                        g_error("%s does not say '%s'", said, cases[i].says);
        }
}

/* ---- run ---- */

typedef struct {
        char *dir, *files, *mark, *out;
} Place;

static void place_init(Place *place)
{
        place->dir = g_dir_make_tmp("gate-XXXXXX", NULL);
        place->files = g_build_filename(place->dir, "trainer", NULL);
        place->mark = g_build_filename(place->dir, "mark", NULL);
        place->out = g_build_filename(place->dir, "out", NULL);
}

static void place_clear(Place *place)
{
        g_autofree char *one = g_strdup_printf("%s-1", place->files);

        g_unlink(one);
        g_unlink(place->mark);
        g_unlink(place->out);
        g_assert_cmpint(g_rmdir(place->dir), ==, 0);
        g_free(place->dir);
        g_free(place->files);
        g_free(place->mark);
        g_free(place->out);
}

static void put_variables(const Place *place, const char *text)
{
        g_autofree char *one = g_strdup_printf("%s-1", place->files);

        g_assert_true(g_file_set_contents(one, text, -1, NULL));
}

static void test_run(void)
{
        static const char *const members[] = { "1", "j-1-trainer-1", NULL };
        static const char *const script = "printf '%s|%s|%s|%s|%s' \"$A\" \"$B\" \"$C\" "
                                          "\"$PADDLE_GATE_MEMBER\" \"$1\" > \"$OUT\"; exit 7";

        for (const char *const *member = members; *member; member++) {
                g_autofree char *read = NULL;
                Place place;
                Gate gate;
                int status;

                place_init(&place);
                put_variables(&place, "A=two\\nlines \\\\ and = more\nB=\nnot a variable\nC=over");
                gate = spawn((const char *const[]){ "run", place.files, "--", "sh", "-c", script, "sh",
                                                    "an argument", NULL },
                             (const char *const[]){ "PADDLE_GATE_MEMBER", *member, "C", "under", "OUT",
                                                    place.out, NULL });
                status = finish(&gate, NULL);
                g_assert_true(WIFEXITED(status));
                g_assert_cmpint(WEXITSTATUS(status), ==, 7);
                g_assert_true(g_file_get_contents(place.out, &read, NULL, NULL));
                g_assert_cmpstr(read, ==, "two\nlines \\ and = more||over||an argument");
                place_clear(&place);
        }
}

static void test_run_fails(void)
{
        static const struct {
                const char *member, *program, *says;
                int status;
        } cases[] = {
                { "1", "/no/such/program", "cannot run '/no/such/program': No such file", 127 },
                { "1", "/dev/null", "cannot run '/dev/null': Permission denied", 126 },
                { "2", "true", "trainer-2': No such file", 126 },
                { "x", "true", "PADDLE_GATE_MEMBER 'x' has no number", 126 },
                { "", "true", "PADDLE_GATE_MEMBER '' has no number", 126 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *said = NULL;
                Place place;
                Gate gate;
                int status;

                place_init(&place);
                put_variables(&place, "A=1\n");
                gate = spawn((const char *const[]){ "run", place.files, "--", cases[i].program, NULL },
                             (const char *const[]){ "PADDLE_GATE_MEMBER", cases[i].member, NULL });
                status = finish(&gate, &said);
                g_assert_true(WIFEXITED(status));
                g_assert_cmpint(WEXITSTATUS(status), ==, cases[i].status);
                if (!strstr(said, cases[i].says))
                        g_error("%s does not say '%s'", said, cases[i].says);
                place_clear(&place);
        }
}

/* A container that is started again: the program is not. */
static void test_once(void)
{
        static const char *const script = "echo once >> \"$OUT\"; exit 3";
        g_autofree char *read = NULL;
        int status;
        Place place;
        Gate gate;

        place_init(&place);
        put_variables(&place, "");
        for (int i = 0; i < 2; i++) {
                gate = spawn((const char *const[]){ "run", "--once", place.mark, place.files, "--", "sh",
                                                    "-c", script, NULL },
                             (const char *const[]){ "PADDLE_GATE_MEMBER", "1", "OUT", place.out, NULL });
                if (i == 1) {
                        wait_for_handler(&gate, SIGTERM);
                        g_assert_cmpint(waitpid(gate.pid, &status, WNOHANG), ==, 0); /* it holds still */
                        kill(gate.pid, SIGTERM);
                }
                status = finish(&gate, NULL);
                g_assert_true(WIFEXITED(status));
                g_assert_cmpint(WEXITSTATUS(status), ==, i == 0 ? 3 : 128 + SIGTERM);
        }
        g_assert_true(g_file_get_contents(place.out, &read, NULL, NULL));
        g_assert_cmpstr(read, ==, "once\n");
        place_clear(&place);
}

/* ---- unpack ---- */

static void shell(const char *script, const char *place)
{
        const char *argv[] = { "sh", "-ec", script, "sh", place, NULL };
        int status;

        g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
                                   &status, NULL));
        g_assert_cmpint(status, ==, 0);
}

/* Long names, links, programs, empty directories; and once more over what is there. */
static void test_unpack(void)
{
        g_autofree char *dir = g_dir_make_tmp("gate-XXXXXX", NULL), *out = g_build_filename(dir, "out", NULL);
        g_autofree char *tar = g_build_filename(dir, "package.tar", NULL);

        shell("cd $1; mkdir -p out work/empty work/sub; echo a >work/a; : >work/none; printf '#!/bin/sh\n' "
              ">work/run.sh; "
              "chmod 755 work/run.sh; ln -s ../a work/sub/link; long=$(printf %0150d 7); mkdir work/$long; "
              "head -c 1500 /dev/zero >work/$long/$long; ln -s $long/$long work/far; tar --format=gnu -cf "
              "package.tar work",
              dir);
        for (int i = 0; i < 2; i++) {
                Gate gate = spawn((const char *const[]){ "unpack", tar, out, "digits", NULL }, NULL);

                g_assert_cmpint(finish(&gate, NULL), ==, 0);
                shell("cd $1; diff -r --no-dereference work out/work; test -x out/work/run.sh; test ! -x "
                      "out/work/a; "
                      "test -d out/work/empty; test \"$(stat -c %a out/work/a)\" = 666; cmp work/a "
                      "out/path/digits/a",
                      dir);
        }
        shell("rm -r $1", dir);
}

static void test_unpack_refuses(void)
{
        static const struct {
                const char *script, *says;
        } cases[] = {
                { ":", "No such file" },
                { "mkdir work; tar -cf package.tar work; truncate -s 700 package.tar", "cut off" },
                { "echo x >x; tar -P --transform 's,x,../x,' -cf package.tar x", "'../x' leads out of it" },
                { "echo x >x; tar -P --transform 's,x,/x,' -cf package.tar x", "'/x' leads out of it" },
                { "echo x >x; tar -P --transform 's,x,a/../../x,' -cf package.tar x", "leads out of it" },
                { "mkfifo x; tar -cf package.tar x", "is of no known kind" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *dir = g_dir_make_tmp("gate-XXXXXX", NULL), *said = NULL;
                g_autofree char *tar = g_build_filename(dir, "package.tar", NULL);
                g_autofree char *script = g_strdup_printf("cd $1; mkdir out; %s", cases[i].script);
                g_autofree char *out = g_build_filename(dir, "out", NULL);
                Gate gate;

                shell(script, dir);
                gate = spawn((const char *const[]){ "unpack", tar, out, NULL }, NULL);
                g_assert_cmpint(WEXITSTATUS(finish(&gate, &said)), ==, 126);
                g_assert_nonnull(strstr(said, cases[i].says));
                shell("rm -r $1", dir);
        }
}

/* ---- serve, call ---- */

typedef struct {
        Gate gate;
        int kept; /* has the port */
        char *address, *port, *dir;
} Server;

static const char *const secret[] = { "PADDLE_GATE_SECRET", "s3cr3t", NULL };

static void server_init(Server *server)
{
        int port;

        server->kept = bound(&port);
        server->dir = g_dir_make_tmp("gate-XXXXXX", NULL);
        server->port = g_strdup_printf("%d", port);
        server->address = g_strdup_printf("localhost:%d", port);
        server->gate = spawn((const char *const[]){ "serve", server->port, NULL }, secret);
        read_line(&server->gate); /* "serves on port ..." */
}

static void server_clear(Server *server)
{
        int status;

        kill(server->gate.pid, SIGTERM);
        status = finish(&server->gate, NULL);
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, 128 + SIGTERM);
        shell("rm -r $1", server->dir);
        close(server->kept);
        g_free(server->address);
        g_free(server->port);
        g_free(server->dir);
}

static Gate call(const Server *server, const char *const *known, const char *command)
{
        return spawn((const char *const[]){ "call", server->address, "cd", server->dir, "&&", command, NULL },
                     known);
}

static int status_of(Gate *gate, char **ret_said)
{
        int status = finish(gate, ret_said);

        g_assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static int called(const Server *server, const char *command)
{
        Gate gate = call(server, secret, command);

        return status_of(&gate, NULL);
}

static char *written(const Server *server, const char *name)
{
        g_autofree char *path = g_build_filename(server->dir, name, NULL);
        char *text = NULL;

        (void)g_file_get_contents(path, &text, NULL, NULL);
        return text;
}

/* Words are joined as ssh joins them, and the other side's shell reads them. */
static void test_call(void)
{
        static const struct {
                const char *command;
                int status;
        } cases[] = {
                { "true", 0 },
                { "exit 7", 7 },
                { "kill -9 $$", 128 + 9 },
                { "no-such-program", 127 },
        };
        g_autofree char *text = NULL;
        Server server;

        server_init(&server);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(called(&server, cases[i].command), ==, cases[i].status);
        g_assert_cmpint(called(&server, "printf '%s|' 'a b' $((3 * 4)) ${PADDLE_GATE_SECRET:-none} >out"), ==,
                        0);
        text = written(&server, "out");
        g_assert_cmpstr(text, ==, "a b|12|none|"); /* what it runs does not get the secret */
        server_clear(&server);
}

/* The first command waits for what the second one does. */
static void test_calls_beside_each_other(void)
{
        Server server;
        Gate first;

        server_init(&server);
        first = call(&server, secret, "mkfifo pipe && read -r word <pipe && exit $word");
        g_assert_cmpint(called(&server, "until [ -p pipe ]; do sleep 0.05; done; echo 5 >pipe"), ==, 0);
        g_assert_cmpint(status_of(&first, NULL), ==, 5);
        server_clear(&server);
}

static void test_who_does_not_know_the_secret(void)
{
        static const char *const others[][3] = { { "PADDLE_GATE_SECRET", "s3cr3", NULL },
                                                 { "PADDLE_GATE_SECRET", "s3cr3t1", NULL },
                                                 { "PADDLE_GATE_SECRET", "x", NULL } };
        g_autofree char *text = NULL;
        Server server;

        server_init(&server);
        for (gsize i = 0; i < G_N_ELEMENTS(others); i++) {
                g_autofree char *said = NULL;
                Gate gate = call(&server, others[i], "echo >out");

                g_assert_cmpint(status_of(&gate, &said), ==, 255);
                g_assert_nonnull(strstr(said, "does not know us"));
        }
        g_assert_cmpint(called(&server, "true"), ==, 0);
        text = written(&server, "out");
        g_assert_null(text);
        server_clear(&server);
}

/* It comes before the one that serves it, which needs an address first. */
static void test_call_waits(void)
{
        g_autofree char *address = NULL, *number = NULL;
        int port, kept = bound(&port);
        Gate caller, server;

        number = g_strdup_printf("%d", port);
        address = g_strdup_printf("localhost:%d", port);
        caller = spawn((const char *const[]){ "call", address, "exit", "3", NULL }, secret);
        server = spawn((const char *const[]){ "serve", number, NULL }, secret);
        g_assert_cmpint(status_of(&caller, NULL), ==, 3);
        kill(server.pid, SIGTERM);
        g_assert_cmpint(status_of(&server, NULL), ==, 128 + SIGTERM);
        close(kept);
}

static int connected(const Server *server)
{
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        at.sin_port = htons((guint16)g_ascii_strtoull(server->port, NULL, 10));
        g_assert_cmpint(connect(fd, (struct sockaddr *)&at, sizeof at), ==, 0);
        return fd;
}

static guint children_of(GPid pid)
{
        g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", pid, pid), *text = NULL;
        g_auto(GStrv) numbers = NULL;
        g_autoptr(GError) error = NULL;

        (void)g_file_get_contents(path, &text, NULL, &error);
        g_assert_no_error(error);
        numbers = g_strsplit(g_strchomp(text), " ", -1);
        return g_strv_length(numbers);
}

/* They cost no process, and of more than it has places for those that came first are let go, also when a
 * child was made meanwhile. */
static void test_silent_callers(void)
{
        enum { SILENT = 500 };
        int silent[SILENT];
        Server server;
        Gate known;
        char byte;

        server_init(&server);
        silent[0] = connected(&server);
        known = call(&server, secret, "mkfifo pipe && read -r word <pipe && exit $word");
        g_assert_cmpint(called(&server, "until [ -p pipe ]; do sleep 0.05; done"), ==, 0);
        for (int i = 1; i < SILENT; i++)
                silent[i] = connected(&server);
        g_assert_cmpint(called(&server, "true"), ==, 0);
        g_assert_cmpint(children_of(server.gate.pid), <=,
                        2); /* the call that waits, and the one that has ended */
        g_assert_cmpint((int)read(silent[0], &byte, 1), ==, 0);
        g_assert_cmpint(called(&server, "echo 5 >pipe"), ==, 0);
        g_assert_cmpint(status_of(&known, NULL), ==, 5);
        for (int i = 0; i < SILENT; i++)
                close(silent[i]);
        server_clear(&server);
}

/* Whatever pieces its words come in; what it did not say whole, or wrong, is not run. */
static void test_words_in_pieces(void)
{
        static const struct {
                const char *pieces[4];
                bool runs;
        } cases[] = {
                { { "s3", "cr3t\n6", "\nex", "it 3" }, true },
                { { "s3cr3t\n4\nexit" }, true },
                { { "s3cr3\n", "4\nexit" }, false },
                { { "s3cr3t\nx\nexit" }, false },
                { { "s3cr3t\n999999\n" }, false },
                { { "\n4\nexit" }, false },
        };
        Server server;

        server_init(&server);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                int fd = connected(&server);
                char byte;

                for (gsize j = 0; j < G_N_ELEMENTS(cases[i].pieces) && cases[i].pieces[j]; j++) {
                        (void)send(fd, cases[i].pieces[j], strlen(cases[i].pieces[j]), MSG_NOSIGNAL);
                        g_usleep(20000); /* so that most come by themselves; either way it is the same */
                }
                g_assert_true((read(fd, &byte, 1) == 1) == cases[i].runs);
                close(fd);
        }
        server_clear(&server);
}

/* What it runs is told to end, too, and may tidy up. */
static void test_serve_ends(void)
{
        g_autofree char *text = NULL, *said = NULL;
        Server server;
        Gate caller;

        server_init(&server);
        caller = call(
                &server, secret,
                "trap 'echo saved >part; mv part out; exit 0' TERM; echo >began; while :; do sleep 0.05; done");
        g_assert_cmpint(called(&server, "until [ -e began ]; do sleep 0.05; done"), ==, 0);
        kill(server.gate.pid, SIGTERM);
        g_assert_cmpint(status_of(&caller, &said), ==, 255); /* nobody is left to say how it ended */
        g_assert_cmpint(status_of(&server.gate, NULL), ==, 128 + SIGTERM);
        for (int i = 0; i < 2400 && !text;
             i++) { /* by itself: here the gate is not the first of all processes */
                g_usleep(50000);
                text = written(&server, "out");
        }
        g_assert_cmpstr(text, ==, "saved\n");
        shell("rm -r $1", server.dir);
        close(server.kept);
        g_free(server.address);
        g_free(server.port);
        g_free(server.dir);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/gate/wait", test_wait);
        g_test_add_func("/gate/wait-says-what-for", test_wait_says_what_for);
        g_test_add_func("/gate/refusals", test_refusals);
        g_test_add_func("/gate/run", test_run);
        g_test_add_func("/gate/run-fails", test_run_fails);
        g_test_add_func("/gate/once", test_once);
        g_test_add_func("/gate/call", test_call);
        g_test_add_func("/gate/call-beside-others", test_calls_beside_each_other);
        g_test_add_func("/gate/call-without-the-secret", test_who_does_not_know_the_secret);
        g_test_add_func("/gate/call-waits", test_call_waits);
        g_test_add_func("/gate/silent-callers", test_silent_callers);
        g_test_add_func("/gate/words-in-pieces", test_words_in_pieces);
        g_test_add_func("/gate/serve-ends", test_serve_ends);
        g_test_add_func("/gate/unpack", test_unpack);
        g_test_add_func("/gate/unpack-refuses", test_unpack_refuses);
        return g_test_run();
}
