/* The steps by which a process becomes a member (see member.h): session, name space, directories, limits,
 * signals, environment, program. Rights are dropped after everything that needs them, and before the first
 * access to anything that a user may have created: the working directory. This runs between fork and exec of
 * a single-threaded process without a heap of its own, so the C library may be used freely. */
#include "agent/member.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/die-with.h"
#include "agent/mounts.h"
#include "agent/proxied.h"
#include "agent/record.h"

enum { FIRST_REAL_TIME = 32 }; /* shells and nohup ignore none of the signals from here on */

static const char oom_score[] = "500";  /* killed before the machine's daemons */
static const char bind_root[] = "/pfs"; /* mount points are created only below it */

/* True if a retry would fail in the same way. */
static bool is_lasting(int err)
{
        static const int lasting[] = { ENOENT, ENOTDIR, EISDIR, EACCES,  EPERM,       ENOEXEC,
                                       E2BIG,  ELOOP,   EINVAL, ELIBBAD, ENAMETOOLONG };

        for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++)
                if (lasting[i] == err)
                        return true;
        return false;
}

/* Tells the keeper why the member does not start, and exits. `%m` in the format describes `err`. */
static _Noreturn void fail(int gate, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));

static _Noreturn void fail(int gate, int err, const char *format, ...)
{
        char text[RECORD_TEXT_MAX + 1]; /* follows the verdict */
        va_list args;

        text[0] = is_lasting(err) ? MEMBER_NEVER : MEMBER_NOT_NOW;
        va_start(args, format);
        errno = err;
        (void)vsnprintf(text + 1, sizeof text - 1, format, args);
        va_end(args);
        (void)!write(gate, text, strlen(text)); /* if the keeper is gone, the write fails */
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

/* All users may pass through it whatever the umask is; only the owner may list it. */
static bool make_passable(const char *path)
{
        if (mkdir(path, 0711) < 0)
                return errno == EEXIST;
        return chmod(path, 0711) == 0;
}

/* Opens directories that an agent created for members with its own rights. */
static void open_way(const char *target)
{
        char path[PATH_MAX];
        size_t len = strlen(target);
        struct stat status;

        if (len >= sizeof path)
                return;
        memcpy(path, target, len + 1);
        for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                if (stat(path, &status) == 0 && status.st_uid == geteuid() &&
                    (status.st_mode & 07777) == 0700)
                        (void)chmod(path, 0711); /* else the member reports the path that it cannot reach */
                *slash = '/';
        }
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
                if (!make_passable(path))
                        return false;
                *slash = '/';
        }
        return make_passable(path);
}

static void bind_directories(const Spawn *spawn, int log_fd)
{
        const char *at = spawn->binds;

        if (spawn->head->n_binds == 0)
                return;
        if (!sandbox_own_mounts()) {
                note(log_fd,
                     "paddle: /pfs is not available in this job (no mount namespace: %s); PADDLE_INPUT and "
                     "PADDLE_OUTPUT name its directories\n",
                     strerrordesc_np(errno));
                return;
        }
        for (uint32_t i = 0; i + 1 < spawn->head->n_binds; i += 2) {
                const char *source = at, *target = source + strlen(source) + 1;

                at = target + strlen(target) + 1;
                if (!make_mount_point(target) || mount(source, target, NULL, MS_BIND | MS_REC, NULL) < 0)
                        note(log_fd, "paddle: '%s' is not visible as '%s': %s\n", source, target,
                             strerrordesc_np(errno));
                if (spawn->head->as_user && strncmp(target, bind_root, sizeof bind_root - 1) == 0)
                        open_way(target);
        }
}

/* Returns the port of its proxy; 0: the member uses the machine's network. */
static int leave_network(const Spawn *spawn, int gate, int log_fd)
{
        char why[RECORD_TEXT_MAX / 2];
        int port = 0;

        if (spawn->head->n_proxy == 0 || proxied_enter(spawn, &port, why, sizeof why))
                return port;
        if (proxied_is_required(spawn))
                fail(gate, EPERM, "cannot be separated from the machine's network: %s", why);
        note(log_fd, "paddle: this member can connect to everything that this machine can: %s\n", why);
        return 0;
}

/* Without a memory controller: limits the memory of each process. RLIMIT_AS would also count memory that is
 * only reserved. */
static void limit_data(const Spawn *spawn)
{
        rlim_t bytes = (rlim_t)spawn->head->limits.memory;
        struct rlimit limit = { bytes, bytes };

        if (bytes > 0 && !*spawn->strings[WIRE_SLOT_DIRS + SLOT_MEMORY])
                (void)setrlimit(RLIMIT_DATA, &limit); /* an earlier, lower limit remains */
}

static void raise_oom_score(void)
{
        int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

        if (fd < 0)
                return;
        (void)!write(fd, oom_score,
                     sizeof oom_score - 1); /* on failure the kernel is less likely to choose the member */
        close(fd);
}

/* "10,20" into a new mapping; the agent has checked the numbers. */
static gid_t *read_groups(const char *text, int gate, size_t *ret_n)
{
        size_t max = strlen(text) / 2 + 1;
        gid_t *list =
                mmap(NULL, max * sizeof *list, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *end;

        if (list == MAP_FAILED)
                fail(gate, errno, "no memory for %zu groups: %m", max);
        *ret_n = 0;
        while (*text && *ret_n < max) {
                list[(*ret_n)++] = (gid_t)strtoul(text, &end, 10);
                text = *end ? end + 1 : end;
        }
        return list;
}

/* Opens the member's mounts while the machine's are visible. The groups are set again with the user. */
static void open_mounts(const Spawn *spawn, int gate, MemberMounts *ret)
{
        MountFault fault;
        size_t n = 0;
        gid_t *groups = spawn->head->as_user ? read_groups(spawn->strings[WIRE_GROUPS], gate, &n) : NULL;

        if (groups && setgroups(n, groups) < 0)
                fail(gate, errno, "cannot open its mounts with the user's groups: %m");
        if (!mounts_open(spawn, ret, &fault))
                fail(gate, fault.err, "%s", fault.text);
}

static void attach_mounts(const Spawn *spawn, int gate, const MemberMounts *mounts, pid_t keeper)
{
        MountFault fault;

        if (!mounts_attach(spawn, mounts, &fault))
                fail(gate, fault.err, "%s", fault.text);
        die_with(keeper, SIGKILL); /* the kernel resets it when rights to files change */
}

/* The request has numbers: user names are never looked up here. */
static void become_user(const Spawn *spawn, int gate, pid_t keeper)
{
        const WireSpawn *head = spawn->head;
        size_t n;
        gid_t *groups = read_groups(spawn->strings[WIRE_GROUPS], gate, &n);

        if (setgroups(n, groups) < 0 || setresgid(head->gid, head->gid, head->gid) < 0 ||
            setresuid(head->uid, head->uid, head->uid) < 0)
                fail(gate, errno, "cannot become user %u with group %u and %zu more: %m", head->uid,
                     head->gid, n);
        umask(022);                /* only files in public directories are readable by all */
        die_with(keeper, SIGKILL); /* the kernel resets it when the user changes */
}

/* Permanent, also for all its children. */
static void confine(int gate)
{
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                fail(gate, errno, "cannot be prevented from gaining rights by set-uid programs: %m");
}

/* The holder has created it. */
static void enter_sandbox(const Spawn *spawn, int gate)
{
        if (!sandbox_join(spawn->holder, spawn->head->sandbox))
                fail(gate, errno, "cannot enter its sandbox: %m");
}

static void enter(const Spawn *spawn, int gate)
{
        const char *dir = spawn->strings[WIRE_DIR];

        if (chdir(dir) == 0)
                return;
        if (errno == EACCES && spawn->head->as_user)
                fail(gate, errno,
                     "cannot enter the directory '%s' as user %u: %m; all users must be able to enter every directory on the way (chmod o+x)",
                     dir, spawn->head->uid);
        fail(gate, errno, "cannot enter the directory '%s': %m", dir);
}

static void reset_signals(void)
{
        struct sigaction action = { .sa_handler = SIG_DFL };
        sigset_t none;

        for (int signal = 1; signal < FIRST_REAL_TIME; signal++)
                (void)sigaction(signal, &action, NULL); /* KILL and STOP cannot be set */
        sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* NULL-terminated pointers to `n` consecutive strings. */
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

/* Executes our own program as the host of the member's terminal. */
static _Noreturn void execute_host(const Spawn *spawn, int gate, int self, char **argv)
{
        static char role[] = "terminal", name[] = "paddle-terminal";
        char hangup[24];
        char **words = mmap(NULL, (spawn->head->n_argv + 4) * sizeof *words, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (words == MAP_FAILED)
                fail(gate, errno, "no memory for %u words: %m", spawn->head->n_argv);
        (void)snprintf(hangup, sizeof hangup, "%lld", (long long)spawn->head->hangup_ms);
        words[0] = name;
        words[1] = role;
        words[2] = hangup;
        memcpy(words + 3, argv, (spawn->head->n_argv + 1) * sizeof *words);
        (void)fexecve(self, words, environ);
        fail(gate, errno, "cannot become the host of its terminal: %m");
}

static _Noreturn void execute(const Spawn *spawn, int gate, int self, int proxy_port)
{
        char **argv = pointers(spawn->argv, spawn->head->n_argv, gate);
        int err;

        environ = pointers(spawn->env, spawn->head->n_env, gate);
        if (proxy_port)
                proxied_variables(proxy_port);
        if (spawn->head->tty)
                execute_host(spawn, gate, self, argv);
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
        /* opened while /proc is the machine's, and not by a path that a user may be unable to reach */
        int self = spawn->head->tty ? open("/proc/self/exe", O_PATH | O_CLOEXEC) : -1;
        MemberMounts mounts;
        int proxy_port;

        die_with(keeper, SIGKILL);
        (void)setsid(); /* a new child leads no group, so this cannot fail */
        wait_for_word(gate);
        if (dup2(log_fd, STDOUT_FILENO) < 0 ||
            dup2(log_fd, STDERR_FILENO) < 0) /* stdin is /dev/null already */
                fail(gate, errno, "cannot write to the log '%s': %m", spawn->strings[WIRE_LOG]);
        if (spawn->head->n_mounts)
                open_mounts(spawn, gate, &mounts);
        enter_sandbox(spawn, gate);
        bind_directories(spawn, log_fd);
        if (spawn->head->n_mounts)
                attach_mounts(spawn, gate, &mounts, keeper);
        proxy_port = leave_network(spawn, gate, log_fd);
        limit_data(spawn);
        raise_oom_score(); /* while the file in /proc is still owned by us */
        if (spawn->head->sandbox & SANDBOX_RIGHTS && !sandbox_drop_rights())
                fail(gate, errno, "cannot drop its capabilities: %m");
        if (spawn->head->as_user)
                become_user(spawn, gate, keeper);
        if (spawn->head->confined)
                confine(gate);
        enter(spawn, gate);
        reset_signals();
        if (spawn->head->sandbox & SANDBOX_CALLS && !sandbox_filter_calls())
                fail(gate, errno, "cannot limit its system calls: %m");
        execute(spawn, gate, self, proxy_port);
}
