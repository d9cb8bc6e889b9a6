/* Becoming a member (see member.h): session, name space, directories, limits, signals, environment, program.
 * Between fork and exec of a single-threaded process without a heap of its own, so the C library may be used
 * freely. */
#include "agent/member.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/record.h"

enum { FIRST_REAL_TIME = 32 }; /* of those on, none is ignored by habit (nohup, shells) */

static const char oom_score[] = "500";  /* before any daemon of the machine, after what asked to be first */
static const char bind_root[] = "/pfs"; /* the only tree in which mount points are made */

/* What will be so the next time, too. */
static bool is_lasting(int err)
{
        static const int lasting[] = { ENOENT, ENOTDIR, EISDIR, EACCES,  EPERM,       ENOEXEC,
                                       E2BIG,  ELOOP,   EINVAL, ELIBBAD, ENAMETOOLONG };

        for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++)
                if (lasting[i] == err)
                        return true;
        return false;
}

/* Tells the keeper why there will be no member, and ends. `%m` in the format says what `err` means. */
static _Noreturn void fail(int gate, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));

static _Noreturn void fail(int gate, int err, const char *format, ...)
{
        char text[RECORD_TEXT_MAX + 1]; /* behind the verdict */
        va_list args;

        text[0] = is_lasting(err) ? MEMBER_NEVER : MEMBER_NOT_NOW;
        va_start(args, format);
        errno = err;
        (void)vsnprintf(text + 1, sizeof text - 1, format, args);
        va_end(args);
        (void)!write(gate, text, strlen(text)); /* a keeper that is gone reads nothing */
        _exit(127);
}

static void note(int log_fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(int log_fd, const char *format, ...)
{
        char text[RECORD_TEXT_MAX];
        va_list args;
        int len;

        va_start(args, format);
        len = vsnprintf(text, sizeof text, format, args);
        va_end(args);
        if (len >= (int)sizeof text)
                len = sizeof text - 1;
        if (len > 0)
                (void)!write(log_fd, text, (size_t)len); /* the log is best effort */
}

static void die_with(pid_t keeper)
{
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != keeper) /* it died before the line above */
                _exit(127);
}

static void wait_for_word(int gate)
{
        char word;
        ssize_t got;

        do
                got = read(gate, &word, 1);
        while (got < 0 && errno == EINTR);
        if (got != 1)
                _exit(127);
}

/* mkdir -p below bind_root. */
static bool make_mount_point(const char *target)
{
        char path[PATH_MAX];
        size_t len = strlen(target), root = sizeof bind_root - 1;

        if (access(target, F_OK) == 0)
                return true;
        if (strncmp(target, bind_root, root) != 0 || (target[root] && target[root] != '/') ||
            len >= sizeof path || strstr(target, "/../")) {
                errno = ENOENT;
                return false;
        }
        memcpy(path, target, len + 1);
        for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                if (mkdir(path, 0755) < 0 && errno != EEXIST)
                        return false;
                *slash = '/';
        }
        return mkdir(path, 0755) == 0 || errno == EEXIST;
}

static void bind_directories(const Spawn *spawn, int log_fd)
{
        const char *at = spawn->binds;

        if (spawn->head->n_binds == 0)
                return;
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
                note(log_fd,
                     "paddle: no mount namespace can be had (%s); the directories have only their own "
                     "names\n",
                     strerrordesc_np(errno));
                return;
        }
        for (uint32_t i = 0; i + 1 < spawn->head->n_binds; i += 2) {
                const char *source = at, *target = source + strlen(source) + 1;

                at = target + strlen(target) + 1;
                if (!make_mount_point(target) || mount(source, target, NULL, MS_BIND | MS_REC, NULL) < 0)
                        note(log_fd, "paddle: '%s' is not to be seen as '%s': %s\n", source, target,
                             strerrordesc_np(errno));
        }
}

/* Without a memory controller: what a process may allocate, each for itself. RLIMIT_AS would count what is
 * only reserved. */
static void limit_data(const Spawn *spawn)
{
        rlim_t bytes = (rlim_t)spawn->head->limits.memory;
        struct rlimit limit = { bytes, bytes };

        if (bytes > 0 && !*spawn->strings[WIRE_SLOT_DIRS + SLOT_MEMORY])
                (void)setrlimit(RLIMIT_DATA, &limit); /* lowering one's own limit; an older lower one holds */
}

static void raise_oom_score(void)
{
        int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

        if (fd < 0)
                return;
        (void)!write(fd, oom_score,
                     sizeof oom_score - 1); /* a lower score only makes a worse choice likelier */
        close(fd);
}

static void reset_signals(void)
{
        struct sigaction action = { .sa_handler = SIG_DFL };
        sigset_t none;

        for (int signal = 1; signal < FIRST_REAL_TIME; signal++)
                (void)sigaction(signal, &action, NULL); /* KILL and STOP refuse */
        sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The NULL-terminated pointers to `n` strings that follow each other. */
static char **pointers(const char *strings, uint32_t n, int gate)
{
        char **list = mmap(NULL, (n + 1) * sizeof *list, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                           -1, 0);

        if (list == MAP_FAILED)
                fail(gate, errno, "no memory for %u words: %m", n);
        for (uint32_t i = 0; i < n; i++) {
                list[i] = (char *)strings;
                strings += strlen(strings) + 1;
        }
        list[n] = NULL;
        return list;
}

static _Noreturn void execute(const Spawn *spawn, int gate)
{
        char **argv = pointers(spawn->argv, spawn->head->n_argv, gate);
        int err;

        environ = pointers(spawn->env, spawn->head->n_env, gate);
        execvp(argv[0], argv);
        err = errno;
        if (err == ENOENT && strchr(argv[0], '/') && access(argv[0], F_OK) == 0)
                fail(gate, err, "cannot run '%s': the interpreter that its first line names does not exist",
                     argv[0]);
        if (err == ENOENT && !strchr(argv[0], '/'))
                fail(gate, err, "cannot run '%s': no such program in the job's PATH", argv[0]);
        if (err == E2BIG)
                fail(gate, err, "cannot run '%s' with %u arguments and %u variables: %m", argv[0],
                     spawn->head->n_argv, spawn->head->n_env);
        fail(gate, err, "cannot run '%s': %m", argv[0]);
}

void member_run(const Spawn *spawn, int gate, int log_fd, pid_t keeper)
{
        const char *dir = spawn->strings[WIRE_DIR];

        die_with(keeper);
        (void)setsid(); /* a fresh child leads no group, so it cannot fail */
        wait_for_word(gate);
        if (dup2(log_fd, STDOUT_FILENO) < 0 ||
            dup2(log_fd, STDERR_FILENO) < 0) /* stdin is /dev/null already */
                fail(gate, errno, "cannot write to the log '%s': %m", spawn->strings[WIRE_LOG]);
        bind_directories(spawn, log_fd);
        if (chdir(dir) < 0)
                fail(gate, errno, "cannot enter the directory '%s': %m", dir);
        limit_data(spawn);
        raise_oom_score();
        reset_signals();
        execute(spawn, gate);
}
