/* Entering a member's surroundings (see enter.h). What is read of the process comes first, what needs our
 * rights next, and then they are given up. */
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
#include <sys/stat.h>
#include <unistd.h>

enum {
        EXIT_GONE = 125,
        EXIT_NOT_RUN = 126,
        EXIT_NOT_FOUND = 127,
        TEXT_MAX = 4 << 20, /* of a file in /proc */
        GROUPS_MAX = 65536, /* the kernel's NGROUPS_MAX */
};

typedef struct {
        const char *pid;
        uid_t uid;
        gid_t gid;
        gid_t groups[GROUPS_MAX];
        size_t n_groups;
        int dir, mounts; /* its working directory and mount namespace */
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

static int open_of(const char *pid, const char *file, int flags)
{
        char path[PATH_MAX];

        (void)snprintf(path, sizeof path, "/proc/%s/%s", pid, file);
        return open(path, flags | O_CLOEXEC);
}

/* All of a file of the process with a NUL behind; NULL with errno. */
static char *read_of(const char *pid, const char *file, size_t *ret_len)
{
        int fd = open_of(pid, file, O_RDONLY);
        char *text = fd >= 0 ? malloc(TEXT_MAX + 1) : NULL;
        ssize_t got = 0;

        *ret_len = 0;
        while (text && *ret_len < TEXT_MAX && (got = read(fd, text + *ret_len, TEXT_MAX - *ret_len)) > 0)
                *ret_len += (size_t)got;
        if (fd >= 0)
                close(fd);
        if (text)
                text[*ret_len] = '\0';
        return text;
}

/* ---- what the member has ---- */

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

static const char *line_of(const char *status, const char *name)
{
        const char *found = strstr(status, name);

        return found ? found + strlen(name) : "";
}

static bool read_user(Target *target)
{
        size_t len;
        char *status = read_of(target->pid, "status", &len), *end;

        if (!status || !strstr(status, "\nUid:\t") || !strstr(status, "\nGid:\t"))
                return false;
        target->uid = (uid_t)strtoul(line_of(status, "\nUid:\t"), NULL, 10);
        target->gid = (gid_t)strtoul(line_of(status, "\nGid:\t"), NULL, 10);
        for (const char *at = line_of(status, "\nGroups:\t"); target->n_groups < GROUPS_MAX; at = end) {
                unsigned long group = strtoul(at, &end, 10);

                if (end == at || memchr(at, '\n', (size_t)(end - at)))
                        break;
                target->groups[target->n_groups++] = (gid_t)group;
        }
        free(status);
        return true;
}

/* ---- its cgroups ---- */

static bool lists(const char *options, const char *controllers, size_t len)
{
        for (const char *at = options; (at = strstr(at, controllers)); at++)
                if (strncmp(at, controllers, len) == 0 && (at == options || at[-1] == ',') &&
                    (at[len] == ',' || at[len] == '\0' || at[len] == '\n'))
                        return true;
        return false;
}

/* Writes us into the group `path` of the hierarchy that is mounted with these controllers ("": version 2). */
static bool join(const char *mounts, const char *controllers, const char *path)
{
        char *copy = strdup(mounts), *save = NULL;
        bool joined = false;

        for (char *line = strtok_r(copy, "\n", &save); line && !joined; line = strtok_r(NULL, "\n", &save)) {
                char root[PATH_MAX], point[PATH_MAX], type[64], options[1024], file[3 * PATH_MAX];
                const char *rest = strstr(line, " - "), *below = path;
                int fd;

                if (!rest || sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) != 2 ||
                    sscanf(rest, " - %63s %*s %1023s", type, options) != 2 ||
                    strcmp(type, *controllers ? "cgroup" : "cgroup2") != 0 ||
                    (*controllers && !lists(options, controllers, strlen(controllers))))
                        continue;
                if (strcmp(root, "/") != 0 && strncmp(path, root, strlen(root)) == 0)
                        below = path + strlen(root);
                (void)snprintf(file, sizeof file, "%s%s/cgroup.procs", point, below);
                fd = open(file, O_WRONLY | O_CLOEXEC);
                joined = fd >= 0 && write(fd, "0", 1) == 1;
                if (fd >= 0)
                        close(fd);
        }
        free(copy);
        return joined;
}

/* What it uses counts as the member's, and ends with it. A hierarchy that the member shares with us (it has
 * no group of its own there) needs nothing. */
static void join_groups(const char *pid)
{
        size_t len;
        char *groups = read_of(pid, "cgroup", &len), *mounts = read_of("self", "mountinfo", &len),
             *save = NULL;

        for (char *line = groups && mounts ? strtok_r(groups, "\n", &save) : NULL; line;
             line = strtok_r(NULL, "\n", &save)) {
                char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;

                if (!second || !strstr(second, "/slot-"))
                        continue;
                *second = '\0';
                if (!join(mounts, first + 1, second + 1))
                        (void)fail(0,
                                   "the command does not count as the member's: no way into its group '%s'",
                                   second + 1);
        }
        free(groups);
        free(mounts);
}

/* ---- going there ---- */

static bool is_other_space(const Target *target)
{
        struct stat theirs, ours;

        return target->mounts >= 0 && fstat(target->mounts, &theirs) == 0 &&
               stat("/proc/self/ns/mnt", &ours) == 0 && theirs.st_ino != ours.st_ino;
}

static void raise_oom_score(void)
{
        int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

        if (fd < 0)
                return;
        (void)!write(fd, "500", 3); /* as a member's own */
        close(fd);
}

static int become(const Target *target)
{
        if (is_other_space(target) && setns(target->mounts, CLONE_NEWNS) < 0)
                return fail(EXIT_NOT_RUN, "the member's directories cannot be reached: %m");
        raise_oom_score();
        if (geteuid() == 0 && (setgroups(target->n_groups, target->groups) < 0 ||
                               setresgid(target->gid, target->gid, target->gid) < 0 ||
                               setresuid(target->uid, target->uid, target->uid) < 0))
                return fail(EXIT_NOT_RUN, "cannot become user %u: %m", target->uid);
        if (fchdir(target->dir) < 0)
                return fail(EXIT_NOT_RUN, "cannot enter the member's directory: %m");
        return 0;
}

static void reset_signals(void)
{
        struct sigaction action = { .sa_handler = SIG_DFL };
        sigset_t none;

        for (int signal = 1; signal < 32; signal++)
                (void)sigaction(signal, &action, NULL); /* KILL and STOP refuse */
        sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

int enter_main(int argc, char **argv)
{
        static Target target; /* too large for a stack */
        size_t len;
        char *text, **env;
        int status;

        if (argc < 5)
                return fail(2, "usage: paddle-spawner enter PID JOB tty|pipe WORD...");
        target.pid = argv[1];
        text = read_of(target.pid, "environ", &len);
        env = text ? split_environment(text, len) : NULL;
        target.dir = open_of(target.pid, "cwd", O_PATH | O_DIRECTORY);
        target.mounts = open_of(target.pid, "ns/mnt", O_RDONLY);
        if (!names_job(env, argv[2]) || !read_user(&target) || target.dir < 0)
                return fail(EXIT_GONE, "the member does not run any more");
        join_groups(target.pid);
        (void)setsid();
        if (strcmp(argv[3], "tty") == 0 && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0)
                return fail(EXIT_NOT_RUN, "the terminal cannot be had: %m");
        status = become(&target);
        if (status)
                return status;
        (void)umask(022);
        reset_signals();
        environ = env;
        if (strcmp(argv[3], "tty") == 0)
                (void)setenv("TERM", "xterm", 0);
        execvp(argv[4], argv + 4);
        status = errno;
        return fail(status == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN, "cannot run '%s': %s", argv[4],
                    strerrordesc_np(status));
}
