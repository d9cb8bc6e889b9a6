/* Entering a member's namespaces and cgroups (see enter.h). First everything is read from the process, then
 * the steps that need our rights are done, then the rights are dropped.
 *
 * The member is not trusted: the user for the command comes with the request, never from the process, which
 * may be a set-uid program by now. One open directory of /proc represents it throughout. A pidfd, opened
 * before, shows at the end that its number still belonged to the same process when the directory was
 * opened. */
#include "agent/enter.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/die-with.h"
#include "agent/group.h"
#include "agent/listener.h"
#include "agent/sandbox.h"
#include "terminal/terminal.h"

enum {
        EXIT_GONE = 125,
        EXIT_NOT_RUN = 126,
        EXIT_NOT_FOUND = 127,
        GROUPS_MAX = 65536, /* the kernel's NGROUPS_MAX */
        IDS = 4,            /* real, effective, saved, of file access */
        HANGUP_S = 5,       /* from HUP to KILL */
        SPACES = 5,
        SEARCH_S = 30, /* for the owner of a port */
};

/* In the order in which they are entered: the PID namespace first, while the others are still the
 * machine's. */
static const struct {
        const char *file, *ours;
        int type;
} spaces[SPACES] = {
        { "ns/pid", "/proc/self/ns/pid", CLONE_NEWPID },
        { "ns/ipc", "/proc/self/ns/ipc", CLONE_NEWIPC },
        { "ns/net", "/proc/self/ns/net", CLONE_NEWNET },
        { "ns/user", "/proc/self/ns/user", CLONE_NEWUSER }, /* of a member with mounts, without root */
        { "ns/mnt", "/proc/self/ns/mnt", CLONE_NEWNS },
};

/* The words of the request, after the program's name. */
typedef enum {
        ARG_PARENT = 1,
        ARG_PID,
        ARG_JOB,
        ARG_UID,
        ARG_GID,
        ARG_GROUPS,
        ARG_PRIVILEGES,
        ARG_STREAMS,
        ARG_WORDS
} Arg;

typedef struct {
        pid_t parent;    /* the process that started us */
        int pidfd, proc; /* the process, and its directory in /proc */
        uid_t uid;
        gid_t gid;
        gid_t groups[GROUPS_MAX];
        size_t n_groups;
        bool is_ours;       /* the member has our user and groups */
        bool confined;      /* set-uid programs give the command no rights */
        bool sandboxed;     /* the command has no capabilities, and fewer system calls */
        int dir;            /* the member's working directory */
        int spaces[SPACES]; /* its namespaces; -1: the same as ours */
        Listener listener;  /* of "relay PORT" */
} Target;

static int fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(int status, const char *format, ...)
{
        va_list args;

        (void)fputs("paddle: ", stderr);
        va_start(args, format);
        (void)vfprintf(stderr, format, args);
        va_end(args);
        (void)fputc('\n', stderr);
        return status;
}

/* ---- the request ---- */

static bool read_number(const char *text, unsigned long max, unsigned long *ret)
{
        char *end;

        errno = 0;
        *ret = strtoul(text, &end, 10);
        return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *ret <= max;
}

/* Reads "10,20", "" for none, or "=" for our groups. */
static bool read_groups(char *text, Target *target)
{
        char *save = NULL;
        unsigned long group;

        target->is_ours = strcmp(text, "=") == 0;
        if (target->is_ours)
                return true;
        for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
                if (target->n_groups == GROUPS_MAX || !read_number(word, UINT_MAX - 1UL, &group))
                        return false;
                target->groups[target->n_groups++] = (gid_t)group;
        }
        return true;
}

static bool read_whom(char **argv, Target *target)
{
        unsigned long parent, uid, gid;

        if (!read_number(argv[ARG_PARENT], INT_MAX, &parent) ||
            !read_number(argv[ARG_UID], UINT_MAX - 1UL, &uid) ||
            !read_number(argv[ARG_GID], UINT_MAX - 1UL, &gid) || !read_groups(argv[ARG_GROUPS], target))
                return false;
        target->parent = (pid_t)parent;
        target->uid = (uid_t)uid;
        target->gid = (gid_t)gid;
        target->confined = strcmp(argv[ARG_PRIVILEGES], "free") != 0;
        target->sandboxed = strcmp(argv[ARG_PRIVILEGES], "sandboxed") == 0;
        return true;
}

/* ---- the member's environment ---- */

static char **split_environment(char *text, size_t len)
{
        size_t n = 0;
        char **list;

        for (size_t i = 0; i < len; i++)
                n += text[i] == '\0';
        list = calloc(n + 2, sizeof *list);
        n = 0;
        for (char *at = text; list && at < text + len; at += strlen(at) + 1)
                list[n++] = at;
        return list;
}

static bool names_job(char *const *env, const char *job)
{
        static const char name[] = "PADDLE_JOB_ID=";

        for (; env && *env; env++)
                if (strncmp(*env, name, sizeof name - 1) == 0 && strcmp(*env + sizeof name - 1, job) == 0)
                        return true;
        return false;
}

/* True if all four numbers after `name` ("\nUid:\t") equal `expected`. */
static bool has_only(const char *status, const char *name, unsigned long expected)
{
        const char *at = strstr(status, name);
        char *end;

        at = at ? at + strlen(name) : "";
        for (int i = 0; i < IDS; i++, at = end)
                if (strtoul(at, &end, 10) != expected || end == at)
                        return false;
        return true;
}

/* True if the process has the member's user: not a set-uid program, nor another user's process. */
static bool is_as_expected(const Target *target)
{
        size_t len;
        char *status = group_read(target->proc, "status", &len);
        bool is = status && has_only(status, "\nUid:\t", target->uid) &&
                  has_only(status, "\nGid:\t", target->gid);

        free(status);
        return is;
}

static bool open_process(Target *target, const char *pid)
{
        char path[64];
        unsigned long number;

        if (!read_number(pid, INT_MAX, &number))
                return false;
        (void)snprintf(path, sizeof path, "/proc/%lu", number);
        target->pidfd = pidfd_open((pid_t)number, 0);
        target->proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        /* it is alive, so its number was not reused between these two calls */
        return target->pidfd >= 0 && target->proc >= 0 && pidfd_send_signal(target->pidfd, 0, NULL, 0) == 0;
}

/* A member with mounts never gains rights, whatever its user may do elsewhere. */
static bool is_confined(int proc)
{
        size_t len;
        char *status = group_read(proc, "status", &len);
        bool is = !status || strstr(status, "\nNoNewPrivs:\t1") != NULL;

        free(status);
        return is;
}

/* ---- its cgroups ---- */

static bool join(const char *file)
{
        int fd = open(file, O_WRONLY | O_CLOEXEC);
        bool joined = fd >= 0 && write(fd, "0", 1) == 1;

        if (fd >= 0)
                close(fd);
        return joined;
}

/* Joins the member's cgroups, so that the member's limits apply to the command. Skips hierarchies in which
 * the member is in our own group. Refuses a command that no group would limit. Returns 0, or the exit
 * status. */
static int join_groups(int proc)
{
        Groups groups;
        char file[GROUP_FILE_SIZE];
        int status = 0;

        groups_open(&groups, proc);
        while (!status && groups_next(&groups))
                if (!groups_file(&groups, file) || !join(file))
                        status =
                                fail(EXIT_GONE, "the member's group '%s' cannot be entered: %m", groups.path);
        groups_close(&groups);
        return status;
}

/* ---- entering ---- */

/* The member's namespace, or -1 if it is the same as ours. */
static int open_space(int proc, int i)
{
        int fd = openat(proc, spaces[i].file, O_RDONLY | O_CLOEXEC);
        struct stat theirs, ours;

        if (spaces[i].type == CLONE_NEWUSER && geteuid() == 0) { /* its owner could trace us there */
                if (fd >= 0)
                        close(fd);
                return -1;
        }
        if (fd >= 0 && fstat(fd, &theirs) == 0 && stat(spaces[i].ours, &ours) == 0 &&
            theirs.st_ino != ours.st_ino)
                return fd;
        if (fd >= 0)
                close(fd);
        return -1;
}

static void raise_oom_score(void)
{
        int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

        if (fd < 0)
                return;
        (void)!write(fd, "500", 3); /* as members have */
        close(fd);
}

static int become(const Target *target)
{
        for (int i = 0; i < SPACES; i++)
                if (target->spaces[i] >= 0 && spaces[i].type != CLONE_NEWPID &&
                    setns(target->spaces[i], spaces[i].type) < 0)
                        return fail(EXIT_NOT_RUN, "the member's surroundings cannot be entered (%s): %m",
                                    spaces[i].file);
        raise_oom_score();
        if (target->sandboxed && !sandbox_drop_rights())
                return fail(EXIT_NOT_RUN, "the command cannot drop its capabilities: %m");
        if (!target->is_ours && (setgroups(target->n_groups, target->groups) < 0 ||
                                 setresgid(target->gid, target->gid, target->gid) < 0 ||
                                 setresuid(target->uid, target->uid, target->uid) < 0))
                return fail(EXIT_NOT_RUN, "cannot become user %u: %m", target->uid);
        if (target->confined && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return fail(EXIT_NOT_RUN, "the command cannot be kept from gaining rights: %m");
        if (fchdir(target->dir) < 0)
                return fail(EXIT_NOT_RUN, "cannot enter the member's directory: %m");
        return 0;
}

static void reset_signals(void)
{
        struct sigaction action = { .sa_handler = SIG_DFL };
        sigset_t none;

        for (int signal = 1; signal < 32; signal++)
                (void)sigaction(signal, &action, NULL); /* KILL and STOP cannot be set */
        sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The environment for the command; NULL: the process is not a member of that job. Everything is read from the
 * process before it is checked. */
static char **take_surroundings(Target *target, const char *pid, const char *job)
{
        size_t len;
        char *text, **env;

        if (!open_process(target, pid))
                return NULL;
        text = group_read(target->proc, "environ", &len);
        env = text ? split_environment(text, len) : NULL;
        target->confined = target->confined || is_confined(target->proc);
        target->dir = openat(target->proc, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
        for (int i = 0; i < SPACES; i++)
                target->spaces[i] = open_space(target->proc, i);
        return names_job(env, job) && target->dir >= 0 ? env : NULL;
}

/* No program is executed, so close-on-exec does not apply: close all of our descriptors here. */
static int relay(const Target *target, const char *what)
{
        (void)close_range(3, ~0u, 0);
        if (strcmp(what, "terminal") == 0)
                return terminal_relay();
        return listener_relay(&target->listener);
}

static int run(const Target *target, char **argv, char **env)
{
        int err;

        (void)umask(022);
        reset_signals();
        if (target->sandboxed && !sandbox_filter_calls())
                return fail(EXIT_NOT_RUN, "the command cannot limit its system calls: %m");
        environ = env;
        if (strcmp(argv[ARG_STREAMS], "relay") == 0)
                return relay(target, argv[ARG_WORDS]);
        if (strcmp(argv[ARG_STREAMS], "tty") == 0)
                (void)setenv("TERM", "xterm", 0);
        execvp(argv[ARG_WORDS], argv + ARG_WORDS);
        err = errno;
        return fail(err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN, "cannot run '%s': %s", argv[ARG_WORDS],
                    strerrordesc_np(err));
}

/* Executes the command; returns the exit status only if that fails. */
static int go(const Target *target, char **argv, char **env)
{
        int status = join_groups(target->proc);

        if (status)
                return status;
        (void)setsid();
        if (strcmp(argv[ARG_STREAMS], "tty") == 0 && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0)
                return fail(EXIT_NOT_RUN, "the terminal cannot be had: %m");
        status = become(target);
        return status ? status : run(target, argv, env);
}

static void signal_command(pid_t command, int signal)
{
        if (kill(-command, signal) < 0)
                (void)kill(command, signal); /* it has no session yet */
}

static time_t seconds(void)
{
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec;
}

/* Waits for the command, which has its own session, and forwards the server's signals to it. Kills a command
 * that ignores HUP, so that none survives its client. */
static int stand_by(pid_t command, const sigset_t *signals)
{
        const struct timespec look = { .tv_sec = 1 };
        time_t kill_at = 0; /* 0: not hung up */
        int status = 0, signal;

        for (;;) {
                if (waitpid(command, &status, WNOHANG) == command)
                        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
                signal = kill_at ? sigtimedwait(signals, NULL, &look) : sigwaitinfo(signals, NULL);
                if (signal > 0 && signal != SIGCHLD)
                        signal_command(command, signal);
                if (signal == SIGHUP && !kill_at)
                        kill_at = seconds() + HANGUP_S;
                else if (kill_at && seconds() >= kill_at)
                        signal_command(command, SIGKILL);
        }
}

/* A process that enters a PID namespace is not in it; only its children are. The child alone has the streams,
 * so that their end is seen. The parent keeps the rights that the command lacks, so that no process of the
 * member can stop it. If the server dies, the client is gone as well. */
static int go_beside(const Target *target, char **argv, char **env)
{
        pid_t command;
        sigset_t signals, before;

        sigemptyset(&signals);
        sigaddset(&signals, SIGCHLD);
        sigaddset(&signals, SIGHUP);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGTERM);
        (void)sigprocmask(SIG_BLOCK, &signals, &before);
        (void)setsid();
        die_with(target->parent, SIGHUP);
        if (target->spaces[0] >= 0 && setns(target->spaces[0], CLONE_NEWPID) < 0)
                return fail(EXIT_GONE, "the member's processes cannot be joined: %m");
        command = fork();
        if (command < 0)
                return fail(EXIT_NOT_RUN, "cannot fork: %m");
        if (command == 0) {
                (void)sigprocmask(SIG_SETMASK, &before, NULL);
                return go(target, argv, env);
        }
        (void)close_range(0, ~0u, 0);
        return stand_by(command, &signals);
}

/* Runs in a child, and exits with its result. */
static void search(int proc, uint16_t port, int out, pid_t parent)
{
        Listener listener;
        int status;

        die_with(parent, SIGKILL);
        (void)signal(SIGALRM, SIG_DFL);
        (void)alarm(SEARCH_S);
        raise_oom_score();
        status = join_groups(proc);
        if (!status && !listener_find(proc, port, &listener))
                status = fail(LISTENER_NONE, "nothing listens on port %u there", port);
        if (!status && write(out, &listener, sizeof listener) != sizeof listener)
                status = EXIT_NOT_RUN;
        _exit(status);
}

/* A member decides how many sockets and descriptors are searched. So a child does it, with our rights and our
 * view of all processes, but in the member's cgroups: the member pays for the time. */
static int search_as_member(int proc, uint16_t port, Listener *ret)
{
        int ends[2], status = 0;
        pid_t self = getpid();
        bool found;
        pid_t child;

        if (pipe2(ends, O_CLOEXEC) < 0 || (child = fork()) < 0)
                return fail(EXIT_NOT_RUN, "cannot look for port %u: %m", port);
        if (child == 0)
                search(proc, port, ends[1], self);
        (void)close(ends[1]);
        found = read(ends[0], ret, sizeof *ret) == sizeof *ret;
        (void)close(ends[0]);
        (void)waitpid(child, &status, 0);
        if (found)
                return 0;
        if (WIFEXITED(status) && WEXITSTATUS(status))
                return WEXITSTATUS(status);
        return fail(EXIT_NOT_RUN, "port %u was not found within %d s: the member has too many open files",
                    port, SEARCH_S);
}

/* "relay PORT": finds the member's socket. */
static int find_listener(Target *target, char **argv)
{
        unsigned long port;

        if (strcmp(argv[ARG_STREAMS], "relay") != 0 || strcmp(argv[ARG_WORDS], "terminal") == 0)
                return 0;
        if (!read_number(argv[ARG_WORDS], UINT16_MAX, &port) || port == 0)
                return fail(2, "'%s' is no port", argv[ARG_WORDS]);
        return search_as_member(target->proc, (uint16_t)port, &target->listener);
}

int enter_main(int argc, char **argv)
{
        static Target target; /* too large for a stack */
        char **env;
        int status;

        if (argc <= ARG_WORDS || !read_whom(argv, &target))
                return fail(2, "usage: paddle-spawner enter PARENT PID JOB UID GID GROUP,... "
                               "sandboxed|confined|free tty|pipe|relay "
                               "WORD...");
        env = take_surroundings(&target, argv[ARG_PID], argv[ARG_JOB]);
        if (!env)
                return fail(EXIT_GONE, "the member does not run any more");
        if (!is_as_expected(&target))
                return fail(
                        EXIT_NOT_RUN,
                        "the member's program runs with other rights than its user's (a set-uid program); "
                        "wait until it has them no more");
        status = find_listener(&target, argv);
        if (status)
                return status;
        return go_beside(&target, argv, env);
}
