/* paddle-agent: reads its options, takes the lock of its state directory, and wires the keep to the socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cgroup.h"
#include "agent/keep.h"
#include "agent/proxy.h"
#include "agent/server.h"
#include "base/cgroup-id.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/option.h"
#include "base/timer.h"

enum { LOCK_WAIT_MS = 10 * 1000, LOCK_POLL_US = 10 * 1000 };

typedef struct {
        char *state, *log_level, *spawner;
        gint64 linger_ms;
        bool help, man, version;
        int lock_fd;
        Timer *linger;
        int status;
        GMainLoop *loop;
        Keep *keep;
        Server *server;
} Agent;

static const Option options[] = {
        { "state", 's', OPTION_STRING, offsetof(Agent, state), "DIR", "the server's state directory" },
        { "linger-ms", 0, OPTION_INT, offsetof(Agent, linger_ms), "MS",
          "how long to stay without a task and without a server", .fallback = "30000", .max = INT_MAX },
        { "log-level", 0, OPTION_STRING, offsetof(Agent, log_level), "LEVEL", "error, warning, info or debug",
          .fallback = "info" },
        { "spawner", 0, OPTION_STRING, offsetof(Agent, spawner), "PATH",
          "the program paddle-spawner, if it is not beside this one" },
        { "help", 'h', OPTION_BOOL, offsetof(Agent, help), NULL, "show this text" },
        { "man", 0, OPTION_BOOL, offsetof(Agent, man), NULL, "print the manual page" },
        { "version", 0, OPTION_BOOL, offsetof(Agent, version), NULL, "show the version" },
        { 0 },
};

static void on_linger(void *arg)
{
        const Agent *agent = arg;

        log_info("there is no task and no server; ending", NULL);
        g_main_loop_quit(agent->loop);
}

/* The agent became idle or busy. */
static void on_change(void *arg)
{
        Agent *agent = arg;
        bool idle;

        if (!agent->keep || !agent->server)
                return;
        server_settle(agent->server);
        idle = keep_count(agent->keep) == 0 && !server_is_connected(agent->server);
        if (!idle)
                timer_clear(&agent->linger);
        else if (!agent->linger)
                timer_set(&agent->linger, NULL, agent->linger_ms, on_linger, agent);
}

static void on_report(const char *lines, void *arg)
{
        Agent *agent = arg;

        if (agent->server)
                server_report(agent->server, lines);
}

/* Exits: the next agent finds everything on disk. */
static void on_broken(const GError *error, void *arg)
{
        Agent *agent = arg;

        log_error("a spawner cannot be started; ending", "error", error->message, NULL);
        agent->status = 1;
        g_main_loop_quit(agent->loop);
}

/* If a spawner or keeper is killed, its children become ours. Their results are known by other means, so only
 * reap them; not every init does so in time. */
static void reap(void)
{
        while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
}

static gboolean on_signal(gint fd, GIOCondition condition, gpointer arg)
{
        Agent *agent = arg;
        struct signalfd_siginfo info;

        if (read(fd, &info, sizeof info) != (ssize_t)sizeof info)
                return G_SOURCE_CONTINUE;
        reap();
        if (info.ssi_signo == SIGCHLD)
                return G_SOURCE_CONTINUE;
        log_info("stopping; members and keepers keep running", "signal", strsignal((int)info.ssi_signo),
                 NULL);
        g_main_loop_quit(agent->loop);
        return G_SOURCE_CONTINUE;
}

/* The spawner of the previous agent may hold the lock for a moment longer, until it sees the end of its
 * socket. */
static bool take_lock(Agent *agent, const char *path, GError **error)
{
        gint64 until = clock_monotonic_ms() + LOCK_WAIT_MS;

        agent->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (agent->lock_fd < 0)
                return err_set_errno(error, errno, "cannot open '%s'", path);
        while (flock(agent->lock_fd, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK && errno != EINTR)
                        return err_set_errno(error, errno, "cannot lock '%s'", path);
                if (clock_monotonic_ms() > until)
                        return err_set(error, ERR_CONFLICT, "another agent holds '%s'", path);
                g_usleep(LOCK_POLL_US);
        }
        return true;
}

static char *spawner_path(const Agent *agent)
{
        g_autofree char *self = NULL, *dir = NULL;

        if (agent->spawner)
                return g_strdup(agent->spawner);
        self = g_file_read_link("/proc/self/exe", NULL);
        dir = g_path_get_dirname(self ? self : "/usr/bin/paddle-agent");
        return g_build_filename(dir, "paddle-spawner", NULL);
}

static int signal_fd(void)
{
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGCHLD);
        (void)sigprocmask(SIG_BLOCK, &set, NULL);
        return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool open_keep(Agent *agent, const char *dir, GError **error)
{
        g_autofree char *tasks = g_build_filename(dir, "tasks", NULL), *spawner = spawner_path(agent);
        g_autofree char *id = NULL, *sandboxes = g_build_filename(dir, "sandboxes", NULL);

        if (!file_mkdirs(tasks, 0700, error) || !file_mkdirs(sandboxes, 0700, error))
                return false;
        id = cgroup_id_of(dir);
        agent->keep = keep_new(&(KeepConfig){ .tasks_dir = tasks,
                                              .sandboxes_dir = sandboxes,
                                              .spawner_program = spawner,
                                              .cgroup_id = id,
                                              .lock_fd = agent->lock_fd,
                                              .report = on_report,
                                              .changed = on_change,
                                              .broken = on_broken,
                                              .arg = agent },
                               error);
        return agent->keep;
}

static bool run(Agent *agent, GError **error)
{
        g_autofree char *dir = g_build_filename(agent->state, "agent", NULL);
        g_autofree char *lock = g_build_filename(dir, "lock", NULL),
                        *epoch = g_build_filename(dir, "epoch", NULL);
        g_autofree char *socket = g_build_filename(agent->state, "agent.sock", NULL);
        fd_auto int signals = -1;
        guint signal_source;

        if (!file_mkdirs(dir, 0700, error) || !take_lock(agent, lock, error))
                return false;
        signals = signal_fd();
        if (signals < 0)
                return err_set_errno(error, errno, "cannot wait for signals");
        agent->loop = g_main_loop_new(NULL, FALSE);
        signal_source = g_unix_fd_add(signals, G_IO_IN, on_signal, agent);
        if (!open_keep(agent, dir, error))
                return false;
        agent->server = server_new(socket, epoch, on_change, agent, error);
        if (!agent->server)
                return false;
        server_set_keep(agent->server, agent->keep);
        on_change(agent);
        log_info("the agent runs", "state", agent->state, NULL);
        g_main_loop_run(agent->loop);
        g_source_remove(signal_source);
        return true;
}

static void agent_clear(Agent *agent)
{
        timer_clear(&agent->linger);
        server_free(agent->server);
        keep_free(agent->keep);
        if (agent->loop)
                g_main_loop_unref(agent->loop);
        if (agent->lock_fd >= 0)
                close(agent->lock_fd);
        options_clear(options, agent);
}

/* 0: continue; otherwise the exit status plus 1. */
static bool asks(const Agent *agent)
{
        return agent->help || agent->man || agent->version;
}

static void answer(const Agent *agent)
{
        g_autofree char *help = options_help(options, 100);
        g_autofree char *man = options_man(options);

        if (agent->version)
                printf("paddle-agent %s\n", PADDLE_VERSION);
        else if (agent->man)
                printf(".TH PADDLE-AGENT 8 \"\" \"paddle %s\" \"System administration\"\n"
                       ".SH NAME\npaddle-agent \\- keeps the processes of this machine for one server\n"
                       ".SH SYNOPSIS\n.B paddle-agent\n--state DIR [options]\n"
                       ".SH DESCRIPTION\nStarted by paddled. Starts members of jobs, watches them and tells "
                       "their ends, across restarts "
                       "of the server and of itself.\n.SH OPTIONS\n%s.SH SEE ALSO\n.BR paddled (8)\n",
                       PADDLE_VERSION, man);
        else
                printf("Usage: paddle-agent --state DIR\nKeeps the processes of this machine for one "
                       "server.\n\n%s",
                       help);
}

static bool read_options(Agent *agent, int argc, char **argv, GError **error)
{
        g_auto(GStrv) rest = NULL;
        LogLevel level = LOG_INFO;

        options_set_defaults(options, agent);
        if (!options_parse(options, agent, argc - 1, argv + 1, false, &rest, error))
                return false;
        if (asks(agent))
                return true;
        if (rest && rest[0])
                return err_set(error, ERR_USAGE, "'%s' is not an option", rest[0]);
        if (!agent->state)
                return err_set(error, ERR_USAGE, "--state DIR is missing");
        if (!log_level_parse(agent->log_level, &level, error))
                return false;
        log_open(level, false);
        return true;
}

int main(int argc, char **argv)
{
        Agent agent = { .lock_fd = -1 };
        g_autoptr(GError) error = NULL;
        bool ok;

        if (argc > 1 && strcmp(argv[1], "proxy") == 0)
                return proxy_main();
        json_init();
        umask(077); /* only we may read logs and records */
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGHUP, SIG_IGN);
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* see reap() */
        (void)setsid();                         /* fails for a session leader, which needs no new session */
        ok = read_options(&agent, argc, argv, &error);
        if (ok && asks(&agent)) {
                answer(&agent);
        } else if (ok) {
                ok = run(&agent, &error);
        }
        if (!ok) {
                log_error("paddle-agent cannot continue", "error", error->message, NULL);
                agent.status = err_row(error)->exit;
        }
        agent_clear(&agent);
        return agent.status;
}
