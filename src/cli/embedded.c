/* Starts and stops the embedded server (see embedded.h).
 *
 * The socket tells whether the server runs: a file with a process id may be stale; an accepted connection is
 * not, and its peer credentials name the listening process. */
#include "cli/embedded.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/number.h"
#include "net/client.h"

enum {
        START_MS = 10000,   /* until ready */
        STOP_MS = 30000,    /* from SIGTERM to the end */
        STEP_MIN_US = 2000, /* between checks of a starting server; doubled each time */
        STEP_MAX_US = 50000,
        LOG_TAIL_LINES = 8,
};

char *embedded_home(void)
{
        const char *moved = g_getenv("PADDLE_HOME");
        g_autofree char *home = NULL;

        if (moved && *moved)
                return g_canonicalize_filename(moved, NULL);
        home = file_home();
        return g_build_filename(home ? home : "/", ".paddle", NULL);
}

static char *home_path(const char *name)
{
        g_autofree char *home = embedded_home();

        return g_build_filename(home, name, NULL);
}

char *embedded_url(void)
{
        g_autofree char *socket = home_path("paddled.sock");

        return g_strconcat("unix:", socket, NULL);
}

char *program_find(const char *name)
{
        char self[4096]; /* PATH_MAX */
        ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
        g_autofree char *dir = NULL;
        g_autofree char *beside = NULL;

        if (len > 0) {
                self[len] = '\0';
                dir = g_path_get_dirname(self);
                beside = g_build_filename(dir, name, NULL);
                if (access(beside, X_OK) == 0)
                        return g_steal_pointer(&beside);
        }
        return g_find_program_in_path(name);
}

static bool socket_address(struct sockaddr_un *address, GError **error)
{
        g_autofree char *path = home_path("paddled.sock");

        *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
        if (strlen(path) >= sizeof address->sun_path)
                return err_set(error, ERR_FAILED,
                               "'%s' is longer than the %zu bytes a Unix socket may have\nSet PADDLE_HOME to "
                               "a shorter directory.",
                               path, sizeof address->sun_path - 1);
        g_strlcpy(address->sun_path, path, sizeof address->sun_path);
        return true;
}

pid_t embedded_pid(void)
{
        fd_auto int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_un address;
        struct ucred peer;
        socklen_t len = sizeof peer;

        if (fd < 0 || !socket_address(&address, NULL) ||
            connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
                return 0;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
                return 0;
        return peer.pid;
}

static bool is_ready(HttpClient *client)
{
        g_auto(HttpReply) reply = { 0 };
        HttpCall call = { .method = "GET", .path = "/readyz", .timeout_ms = 2000 };

        return http_call(client, &call, &reply, NULL) && reply.status == 200;
}

static char *log_tail(const char *path, goffset from)
{
        g_autofree char *text = NULL;
        gsize len = 0;
        const char *at;

        if (!file_read(path, 16 << 20, &text, &len, NULL) || (goffset)len <= from)
                return g_strdup("(it wrote nothing)");
        g_strchomp(text);
        at = text + strlen(text);
        for (int lines = 0; at > text + from; at--)
                if (at[-1] == '\n' && ++lines == LOG_TAIL_LINES)
                        break;
        return g_strdup(at);
}

static void add_option(GPtrArray *argv, const char *name, const char *value)
{
        if (!value)
                return;
        g_ptr_array_add(argv, g_strdup(name));
        g_ptr_array_add(argv, g_strdup(value));
}

/* The server runs in another directory. */
static void add_path(GPtrArray *argv, const char *name, const char *path)
{
        g_autofree char *absolute = path ? g_canonicalize_filename(path, NULL) : NULL;

        add_option(argv, name, absolute);
}

static GPtrArray *command_line(const char *program, const char *home, const EmbeddedListen *listen)
{
        GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);

        g_ptr_array_add(argv, g_strdup(program));
        add_option(argv, "--state", home);
        add_option(argv, "--listen", listen && listen->address ? listen->address : "none");
        add_option(argv, "--end-when-idle", listen && listen->idle ? listen->idle : EMBEDDED_IDLE);
        if (listen && listen->address) {
                add_path(argv, "--tls-cert", listen->tls_cert);
                add_path(argv, "--tls-key", listen->tls_key);
        } else {
                g_ptr_array_add(argv, g_strdup("--requirement-urls")); /* its user is its administrator */
        }
        if (listen && listen->plain_http)
                g_ptr_array_add(argv, g_strdup("--plain-http"));
        g_ptr_array_add(argv, NULL);
        return argv;
}

static bool spawn_server(const char *program, const EmbeddedListen *listen, const char *log, pid_t *ret_pid,
                         GError **error)
{
        g_autofree char *home = embedded_home();
        g_autoptr(GPtrArray) argv = command_line(program, home, listen);
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        sigset_t none;
        int failed;

        sigemptyset(&none);
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
        posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
        posix_spawn_file_actions_addchdir_np(&actions, "/");
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
        posix_spawnattr_setsigmask(&attributes, &none);
        failed = posix_spawn(ret_pid, program, &actions, &attributes, (char *const *)argv->pdata, environ);
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
        return failed == 0 || err_set_errno(error, failed, "cannot start '%s'", program);
}

/* So little is free that nothing can be written, also by root, for whom some file systems keep a part. */
static bool is_full(const char *home)
{
        enum { LEAST = 64 * 1024 }; /* bytes that a server needs at least at its start */
        struct statvfs disk;

        return statvfs(home, &disk) == 0 &&
               (disk.f_bavail * disk.f_frsize < LEAST || (disk.f_files > 0 && disk.f_favail == 0));
}

/* Its log may be on the same disk, so it says nothing of one that is full. */
static bool did_not_come(const char *what, const char *log, goffset from, GError **error)
{
        g_autofree char *tail = log_tail(log, from), *home = embedded_home();

        if (is_full(home))
                return err_set(
                        error, ERR_UNREACHABLE,
                        "%s: the disk that holds '%s' is full\nFree some space on it, or set PADDLE_HOME to a "
                        "directory on another disk.",
                        what, home);
        return err_set(error, ERR_UNREACHABLE, "%s\nThe end of its log, '%s':\n%s", what, log, tail);
}

static bool wait_until_ready(pid_t pid, const char *log, goffset from, GError **error)
{
        gint64 deadline = clock_monotonic_ms() + START_MS;
        Backoff step_us = { .first = STEP_MIN_US, .max = STEP_MAX_US };
        g_autofree char *url = embedded_url();
        g_autoptr(HttpClient) client = http_client_new(url, NULL, error);

        while (client && clock_monotonic_ms() < deadline) {
                int status;

                if (embedded_pid() > 0 && is_ready(client))
                        return true;
                if (waitpid(pid, &status, WNOHANG) == pid)
                        return did_not_come("the embedded server ended at its start", log, from, error);
                usleep((useconds_t)backoff_next(&step_us));
        }
        return client && did_not_come("the embedded server is not ready after 10 s", log, from, error);
}

static bool start_server(const EmbeddedListen *listen, GError **error)
{
        g_autofree char *program = program_find("paddled");
        g_autofree char *log = home_path("paddled.log");
        struct stat before = { 0 };
        pid_t pid;

        if (!program)
                return err_set(error, ERR_UNREACHABLE,
                               "no server is known, and 'paddled' to start one is neither beside this "
                               "program nor in PATH\n"
                               "Name a server with --server URL, PADDLE_SERVER or 'paddleServer:' in the "
                               "configuration.");
        (void)stat(log, &before); /* a missing log has size 0 */
        return spawn_server(program, listen, log, &pid, error) &&
               wait_until_ready(pid, log, before.st_size, error);
}

static bool check_home(GError **error)
{
        const char *moved = g_getenv("PADDLE_HOME");
        g_autofree char *home = file_home();

        return (moved && *moved) || home ||
               err_set(error, ERR_FAILED,
                       "there is no directory for an embedded server: HOME is not set, and user %d has no "
                       "account on "
                       "this machine\n"
                       "Set PADDLE_HOME to a directory for it, or name a server with --server or "
                       "PADDLE_SERVER.",
                       (int)geteuid());
}

bool embedded_ensure(const EmbeddedListen *listen, bool *ret_started, GError **error)
{
        g_autofree char *home = NULL;
        g_autofree char *lock_path = NULL;
        struct sockaddr_un address;
        fd_auto int lock = -1;

        if (ret_started)
                *ret_started = false;
        if (!check_home(error) || !socket_address(&address, error))
                return false;
        if (embedded_pid() > 0)
                return true;
        home = embedded_home();
        lock_path = g_build_filename(home, "paddled.start", NULL);
        if (!file_mkdirs(home, 0711, error))
                return false;
        lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (lock < 0)
                return err_set_errno(error, errno, "cannot open '%s'", lock_path);
        while (flock(lock, LOCK_EX) < 0)
                if (errno != EINTR)
                        return err_set_errno(error, errno, "cannot lock '%s'", lock_path);
        if (embedded_pid() > 0) /* another command was faster; it held the lock until the server was ready */
                return true;
        if (ret_started)
                *ret_started = true;
        return start_server(listen, error);
}

/* True if the process is a paddled of this user (or root asks): its number may have been reused. */
static bool is_ours(pid_t pid)
{
        g_autofree char *proc = g_strdup_printf("/proc/%d", (int)pid);
        g_autofree char *exe = g_build_filename(proc, "exe", NULL);
        g_autofree char *target = g_file_read_link(exe, NULL);
        g_autofree char *name = target ? g_path_get_basename(target) : NULL;
        struct stat info;

        return name && g_str_has_prefix(name, "paddled") && stat(proc, &info) == 0 &&
               (info.st_uid == geteuid() || geteuid() == 0);
}

/* The file names the expected process; the socket names the real one. */
static bool check_pid_file(pid_t pid, GError **error)
{
        g_autofree char *path = home_path("paddled.pid");
        g_autofree char *text = NULL;
        gint64 written = 0;

        if (!file_read(path, 64, &text, NULL, error) ||
            !number_parse(path, g_strchomp(text), 1, G_MAXINT32, &written, error))
                return false;
        if (written != pid || !is_ours(pid))
                return err_set(error, ERR_CONFLICT,
                               "process %d listens on the socket, but '%s' names %d\nNothing was stopped.",
                               (int)pid, path, (int)written);
        return true;
}

bool embedded_stop(pid_t *ret_pid, GError **error)
{
        pid_t pid = embedded_pid();
        fd_auto int process = -1;
        struct pollfd ended;

        *ret_pid = pid;
        if (pid <= 0)
                return true;
        process = (int)syscall(SYS_pidfd_open, pid,
                               0); /* before the checks, so that the checked process is signalled */
        if (process < 0)
                return err_set_errno(error, errno, "cannot open process %d", (int)pid);
        if (!check_pid_file(pid, error))
                return false;
        if (syscall(SYS_pidfd_send_signal, process, SIGTERM, NULL, 0) < 0)
                return err_set_errno(error, errno, "cannot signal process %d", (int)pid);
        ended = (struct pollfd){ .fd = process, .events = POLLIN };
        if (poll(&ended, 1, STOP_MS) <= 0)
                return err_set(error, ERR_TIMEOUT, "the server (process %d) has not ended %d s after SIGTERM",
                               (int)pid, STOP_MS / 1000);
        return true;
}
