/* paddled: reads its options, builds the objects from the store upwards, runs until SIGTERM or SIGINT, and
 * frees them in the opposite order. Jobs continue without it. */
#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "server/server.h"

static gboolean on_signal(void *arg)
{
        Server *server = arg;

        g_main_loop_quit(server->loop);
        return G_SOURCE_CONTINUE;
}

/* Before the socket exists: the main loop handles a signal that arrives while the server opens. */
static void listen_to_signals(Server *server)
{
        server->loop = g_main_loop_new(NULL, FALSE);
        g_unix_signal_add(SIGTERM, on_signal, server);
        g_unix_signal_add(SIGINT, on_signal, server);
}

/* ---- ending without work ----
 * In two steps, so that no command meets a server that is ending. First the server takes the lock that
 * commands take before they start a server, and renames the socket. A moment later it ends, unless a client
 * has connected just before. A command that comes meanwhile finds no socket, waits for the lock, and starts
 * another server. */

enum { LAST_LOOK_MS = 200 };

static void watch_idleness(Server *server);

static IdleLook look_around(const Server *server)
{
        EngineMetrics engine;
        HttpMetrics http;

        engine_metrics(server->engine, &engine);
        http_server_metrics(server->http, &http);
        return (IdleLook){ engine.open_jobs, engine.running_schedules, http.connections, http.requests };
}

/* False: a command holds the lock. */
static bool take_start_lock(Server *server)
{
        g_autofree char *path = server_path(server, "paddled.start");
        fd_auto int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
                return false;
        server->start_lock = fd_steal(&fd);
        return true;
}

static void move_socket(const Server *server, const char *from, const char *to)
{
        g_autofree char *here = server_path(server, from), *there = server_path(server, to);

        if (rename(here, there) < 0)
                log_warning("the socket cannot be moved", "error", g_strerror(errno), NULL);
}

static gboolean on_last_look(void *arg)
{
        Server *server = arg;
        IdleLook seen = look_around(server);

        if (idle_look(&server->idle, &seen, clock_monotonic_ms())) {
                log_info(
                        "no jobs, no schedules and no clients: the server stops; the next command starts it again",
                        NULL);
                g_main_loop_quit(server->loop);
                return G_SOURCE_REMOVE;
        }
        move_socket(server, SERVER_SOCKET_ASIDE, SERVER_SOCKET);
        close(server->start_lock);
        watch_idleness(server);
        return G_SOURCE_REMOVE;
}

static gboolean on_idle_timer(void *arg)
{
        Server *server = arg;
        IdleLook seen = look_around(server);

        if (!idle_look(&server->idle, &seen, clock_monotonic_ms()) || !take_start_lock(server))
                return G_SOURCE_CONTINUE;
        move_socket(server, SERVER_SOCKET, SERVER_SOCKET_ASIDE);
        g_timeout_add(LAST_LOOK_MS, on_last_look, server);
        return G_SOURCE_REMOVE;
}

static void watch_idleness(Server *server)
{
        if (server->options.idle_ms > 0)
                g_timeout_add((guint)idle_step_ms(&server->idle), on_idle_timer, server);
}

static void serve(Server *server)
{
        g_autofree char *port = g_strdup_printf("%d", http_server_port(server->http));
        g_autofree char *metrics =
                g_strdup_printf("%d", server->metrics ? http_server_port(server->metrics) : 0);

        log_info("serving", "state", server->options.state, "listen", server->options.listen, "port", port,
                 "metrics_port", metrics, "tls", server->tls ? "yes" : "no", "version", PADDLE_VERSION, NULL);
        idle_init(&server->idle, server->options.idle_ms, clock_monotonic_ms());
        watch_idleness(server);
        g_main_loop_run(server->loop);
        log_info("stopping; jobs keep running", NULL);
}

/* Connections, followers and uploads take a descriptor each, more than the usual soft limit of 1024. */
static void raise_limits(void)
{
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
                log_warning("cannot raise the limit of open files; going on with the present one", "error",
                            g_strerror(errno), NULL);
}

/* Jobs compute all the time, and the server works for a moment when somebody asks: its session runs before theirs
 * (sched(7), "The autogroup feature"). Only root may ask for it; a session that is not the server's own stays as it is. */
static void come_before_jobs(void)
{
        FILE *file = getsid(0) == getpid() ? fopen("/proc/self/autogroup", "we") : NULL;

        if (!file)
                return;
        fputs("-10", file);
        (void)fclose(file);
}

static bool open_log(const ServerOptions *options, GError **error)
{
        bool json = strcmp(options->log_format, "json") == 0;
        LogLevel level;

        if (!log_level_parse(options->log_level, &level, error))
                return err_prefix(error, "--log-level: ");
        if (!json && strcmp(options->log_format, "text") != 0)
                return err_set(error, ERR_USAGE, "--log-format: '%s' is neither text nor json",
                               options->log_format);
        log_open(level, json);
        return true;
}

/* Prints --help, --man or --version; true if one of them was given. */
static bool answer_question(const ServerOptions *options)
{
        g_autofree char *text = options->help      ? server_help()
                                : options->man     ? server_man()
                                : options->version ? g_strdup("paddled " PADDLE_VERSION "\n")
                                                   : NULL;

        if (text)
                fputs(text, stdout);
        return text != NULL;
}

static int fail(const GError *error)
{
        fprintf(stderr, "paddled: %s\n", error->message);
        return err_row(error)->exit;
}

static int run(Server *server, int argc, char **argv)
{
        g_autoptr(GError) error = NULL;
        bool opened;

        if (!server_options_read(&server->options, argc, argv, &error) || !open_log(&server->options, &error))
                return fail(error);
        if (answer_question(&server->options))
                return 0;
        raise_limits();
        come_before_jobs();
        listen_to_signals(server);
        opened = server_open(server, &error);
        if (opened)
                serve(server);
        server_close(server);
        g_main_loop_unref(server->loop);
        return opened ? 0 : fail(error);
}

int main(int argc, char **argv)
{
        Server server = { 0 };
        int status;

        json_init();
        umask(077);
        signal(SIGPIPE, SIG_IGN);
        status = run(&server, argc, argv);
        options_clear(server_options, &server.options);
        return status;
}
