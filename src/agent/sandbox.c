/* Namespaces and their contents (see sandbox.h). */
#include "agent/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "agent/wire.h"
#include "base/project-id.h"

enum {
        PATH_SIZE = 4096,
        READ_ONLY = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
        ALONE_MS_MAX = 100,  /* within which the last processes must have ended */
        MARKS_MAX = 1024,    /* bytes of names, and of a value, of extended attributes; with more, the sandbox
                                is not reused */
        FIRST_PROCESS = 256, /* offset in /proc, after its files */
        SETTLED_S = 1,       /* times of files are as coarse as a tick of the kernel, 10 ms at most */
};

static const char *const words[SANDBOX_PARTS] = { "pids", "ipc", "files", "network", "calls", "rights" };

const char *sandbox_word(int i)
{
        return words[i];
}

/* ---- mounts ---- */

static bool is_below(const char *path, const char *dir)
{
        size_t len = strlen(dir);

        return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* All users may pass through it, whatever the umask is. */
static bool make_passable(const char *path)
{
        return mkdir(path, 0755) == 0 ? chmod(path, 0755) == 0 : errno == EEXIST;
}

/* mkdir -p; modifies `path` and restores it. Only for a new file system. */
static bool make_way(char *path, size_t from)
{
        for (char *slash = path + from; (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                if (*path && !make_passable(path))
                        return false;
                *slash = '/';
        }
        return make_passable(path);
}

static bool mount_tmpfs(const char *point)
{
        return mount("tmpfs", point, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") == 0;
}

typedef struct {
        const char *path;
        int fd;
        bool read_only;
} Kept;

/* Mounts a directory, opened before, at its old path again. */
static bool show_again(const Kept *kept, const char *point)
{
        char source[64], target[PATH_SIZE];
        size_t len = strlen(kept->path);

        if (len >= sizeof target) {
                errno = ENAMETOOLONG;
                return false;
        }
        memcpy(target, kept->path, len + 1);
        (void)snprintf(source, sizeof source, "/proc/self/fd/%d", kept->fd);
        return make_way(target, strlen(point) + 1) &&
               mount(source, target, NULL, MS_BIND | MS_REC, NULL) == 0 &&
               (!kept->read_only || mount(NULL, target, NULL, READ_ONLY, NULL) == 0);
}

/* Opens the kept directories below `point`; returns their number, -1 if `point` itself is kept. */
static int open_kept(const SandboxPlace *place, const char *point, Kept ret[SANDBOX_KEEP_MAX])
{
        const char *at = place->keep;
        int n = 0;

        for (uint32_t i = 0; i < place->n_keep; i++, at += strlen(at) + 1) {
                if (strcmp(at, point) == 0)
                        return -1;
                if (!is_below(at, point) || n == SANDBOX_KEEP_MAX)
                        continue;
                ret[n] = (Kept){ at, open(at, O_PATH | O_DIRECTORY | O_CLOEXEC), i < place->n_read_only };
                n += ret[n].fd >= 0; /* a missing directory is skipped */
        }
        return n;
}

/* Replaces `point` by a directory of the attempt, or by a tmpfs if something below it must stay visible: a
 * new tmpfs contains no symbolic link of another user. `dir` NULL: always a tmpfs. */
static bool replace(const SandboxPlace *place, const char *point, const char *dir)
{
        Kept kept[SANDBOX_KEEP_MAX];
        int n = open_kept(place, point, kept);
        bool ok = true;

        if (n < 0)
                return true;
        if (n == 0 && dir)
                return mount(dir, point, NULL, MS_BIND, NULL) == 0;
        ok = mount_tmpfs(point);
        for (int i = 0; i < n; i++) {
                ok = ok && show_again(&kept[i], point);
                close(kept[i].fd);
        }
        return ok;
}

/* Charges what is written to it like the member's other files. The server's survey labels files that exist
 * already. */
static void follow_project(const char *path, const char *like)
{
        int dir = open(like, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (dir >= 0 && fd >= 0)
                (void)project_id_follow(fd, dir);
        if (dir >= 0)
                close(dir);
        if (fd >= 0)
                close(fd);
}

static bool make_tmp(const SandboxPlace *place, char path[PATH_SIZE])
{
        if (snprintf(path, PATH_SIZE, "%s/tmp", place->dir) >= PATH_SIZE) {
                errno = ENAMETOOLONG;
                return false;
        }
        if (mkdir(path, 0700) < 0)
                return errno == EEXIST; /* of an earlier member */
        if (place->like)
                follow_project(path, place->like);
        return chown(path, place->uid, place->gid) == 0;
}

static bool replace_files(const SandboxPlace *place)
{
        char tmp[PATH_SIZE];

        return make_tmp(place, tmp) && replace(place, "/tmp", tmp) &&
               (replace(place, "/var/tmp", tmp) || errno == ENOENT);
}

/* Message queues appear where the machine shows its own. */
static bool replace_shared_memory(const SandboxPlace *place)
{
        if (!replace(place, "/dev/shm", NULL) && errno != ENOENT)
                return false;
        if (access("/dev/mqueue", F_OK) == 0)
                (void)mount("mqueue", "/dev/mqueue", "mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
        return true;
}

/* Hides the holder and the keeper: the keeper's directory would show the machine's mounts and, to a member
 * without a network, the machine's sockets (/proc/PID/net). */
static bool mount_proc(void)
{
        return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2") == 0;
}

static bool raise_loopback(void)
{
        struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        bool ok = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;

        if (fd >= 0)
                close(fd);
        return ok;
}

bool sandbox_own_mounts(void)
{
        /* Later mounts and unmounts of the machine take effect here as well. */
        return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0;
}

static bool write_file(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

        if (fd >= 0)
                close(fd);
        return ok;
}

bool sandbox_unshare_as_user(int flags)
{
        char uids[64], gids[64];

        (void)snprintf(uids, sizeof uids, "%u %u 1\n", geteuid(), geteuid());
        (void)snprintf(gids, sizeof gids, "%u %u 1\n", getegid(), getegid());
        return unshare(CLONE_NEWUSER | flags) == 0 && write_file("/proc/self/setgroups", "deny") &&
               write_file("/proc/self/uid_map", uids) && write_file("/proc/self/gid_map", gids);
}

static int flags_of(uint32_t parts)
{
        return (parts & SANDBOX_MOUNTS ? CLONE_NEWNS : 0) | (parts & SANDBOX_IPC ? CLONE_NEWIPC : 0) |
               (parts & SANDBOX_NETWORK ? CLONE_NEWNET : 0);
}

bool sandbox_make(const SandboxPlace *place, uint32_t parts, const char **ret_what)
{
        int flags = flags_of(parts);

        *ret_what = "its namespaces";
        if (flags && unshare(flags) < 0)
                return false;
        if (flags & CLONE_NEWNS && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
                return false;
        *ret_what = "its loopback";
        if (parts & SANDBOX_NETWORK && !raise_loopback())
                return false;
        *ret_what = "its /tmp";
        if (parts & SANDBOX_FILES && !replace_files(place))
                return false;
        *ret_what = "its /dev/shm";
        if (parts & SANDBOX_IPC && !replace_shared_memory(place))
                return false;
        *ret_what = "its /proc";
        return !(parts & SANDBOX_PIDS) || mount_proc();
}

bool sandbox_join(int pidfd, uint32_t parts)
{
        int flags = flags_of(parts);

        return flags == 0 || setns(pidfd, flags) == 0;
}

/* ---- processes ---- */

/* Our own PID namespace, and whether the next child would be in another one. The spawner of sandboxed members
 * does not switch back after each child. */
static int home = -1;
static bool away;

static bool choose_pids(int pidfd)
{
        if (pidfd < 0 && !away)
                return true;
        if (home < 0)
                home = pidfd_open(getpid(), 0);
        if (home < 0 || setns(pidfd >= 0 ? pidfd : home, CLONE_NEWPID) < 0) /* our own is always allowed */
                return false;
        away = pidfd >= 0;
        return true;
}

pid_t sandbox_fork(int pidfd, bool fresh, int *ret_pidfd)
{
        int unused = -1;
        struct clone_args args = {
                .flags = CLONE_PIDFD | (pidfd < 0 && fresh ? CLONE_NEWPID : 0),
                .pidfd = (uint64_t)(uintptr_t)(ret_pidfd ? ret_pidfd : &unused),
                .exit_signal = SIGCHLD,
        };
        pid_t pid;

        if (!choose_pids(pidfd))
                return -1;
        pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
        if (pid == 0) { /* its children are in its own namespace */
                if (home >= 0)
                        close(home);
                home = -1;
                away = false;
        }
        if (unused >= 0)
                close(unused);
        return pid;
}

pid_t sandbox_host_pid(int pidfd)
{
        char path[64], text[512];
        int fd;
        ssize_t got;
        const char *line;

        (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", pidfd);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -1;
        got = read(fd, text, sizeof text - 1);
        close(fd);
        text[got > 0 ? got : 0] = '\0';
        line = strstr(text, "\nPid:\t");
        return line ? (pid_t)strtol(line + 6, NULL, 10) : -1;
}

/* ---- the holder ---- */

static struct flock mark(short type)
{
        return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };
}

int sandbox_hold(const char *dir)
{
        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), err;

        if (fd < 0)
                return -1;
        while (flock(fd, LOCK_SH) < 0) /* for a moment, while a holder ends */
                if (errno != EINTR) {
                        err = errno;
                        close(fd);
                        errno = err;
                        return -1;
                }
        return fd;
}

enum { GATE = 0, DIR_FD = 1 }; /* a holder's descriptors; higher ones are of watched directories */

/* Close the other descriptors first: closing one of the directory later would release the record lock. */
static void become_holder(const SandboxPlace *place, uint32_t parts, int maker)
{
        struct flock lock = mark(F_RDLCK);
        const char *what = "the lock of its directory";
        int err;

        (void)dup2(maker, GATE);
        (void)close_range(GATE + 1, ~0u, 0);
        (void)setsid();
        (void)prctl(PR_SET_NAME, "paddle-holder");
        err = open(place->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) == DIR_FD &&
                              sandbox_make(place, parts, &what) && fcntl(DIR_FD, F_SETLK, &lock) == 0
                      ? 0
                      : errno;
        (void)!write(GATE, &err, sizeof err); /* to the spawner, which waits or was killed */
        if (err) {
                (void)!write(GATE, what, strlen(what));
                _exit(1);
        }
}

static _Noreturn void hold(const SandboxPlace *place, uint32_t parts, int maker)
{
        become_holder(place, parts, maker);
        close(GATE);
        while (flock(DIR_FD, LOCK_EX) < 0 && errno == EINTR)
                ;
        _exit(0); /* and everything left in its namespace */
}

/* ---- one member after another ---- */

/* Changes by a member to a directory that can be detected, except times. */
typedef struct {
        int names; /* number of entries; -1: unreadable */
        mode_t mode;
        uid_t uid;
        gid_t gid;
        uint64_t marks; /* hash of extended attributes (also access lists), flags and project */
        bool readable;  /* whether marks could be read */
} Look;

/* A directory that every member must find as the first one did. Any change updates its ctime. An unchanged
 * ctime therefore needs no second look, unless it is so recent that a later change may have got the same. */
typedef struct {
        int fd; /* -1: none */
        Look fresh;
        struct timespec changed; /* ctime at the last check */
        bool settled;            /* the ctime was old enough then */
} Watched;

enum { TMP, VAR_TMP, SHARED_MEMORY, QUEUES, WATCHED };

static bool is_any(const char *name)
{
        return true;
}

static bool is_process(const char *name)
{
        return *name >= '0' && *name <= '9';
}

/* The number of counted names in an open directory from this position on; -1: unreadable. */
static int count_names(int fd, off_t from, bool (*counts)(const char *name))
{
        char buffer[4096];
        ssize_t got;
        int n = 0;

        if (lseek(fd, from, SEEK_SET) < 0)
                return -1;
        while ((got = getdents64(fd, buffer, sizeof buffer)) > 0)
                for (ssize_t i = 0; i < got;) {
                        const struct dirent64 *entry = (struct dirent64 *)(buffer + i);

                        n += counts(entry->d_name);
                        i += entry->d_reclen;
                }
        return got < 0 ? -1 : n;
}

static uint64_t add_to_hash(uint64_t hash, const void *data, size_t len)
{
        for (const unsigned char *at = data; len > 0; len--)
                hash = (hash ^ *at++) * 1099511628211u; /* FNV-1a */
        return hash;
}

static bool hash_marks(int fd, uint64_t *ret)
{
        char names[MARKS_MAX], value[MARKS_MAX];
        struct fsxattr flags;
        ssize_t len = flistxattr(fd, names, sizeof names), got;

        *ret = 14695981039346656037u;
        if (len < 0)
                return errno == ENOTSUP;
        for (const char *name = names; name < names + len; name += strlen(name) + 1) {
                got = fgetxattr(fd, name, value, sizeof value);
                if (got < 0)
                        return false;
                *ret = add_to_hash(add_to_hash(*ret, name, strlen(name) + 1), value, (size_t)got);
        }
        if (ioctl(fd, FS_IOC_FSGETXATTR, &flags) < 0)
                return errno == ENOTTY || errno == EOPNOTSUPP;
        *ret = add_to_hash(*ret, &flags.fsx_xflags, sizeof flags.fsx_xflags);
        *ret = add_to_hash(*ret, &flags.fsx_projid, sizeof flags.fsx_projid);
        return true;
}

/* False with errno: not even its ctime is available. */
static bool look_at(Watched *watched, Look *ret)
{
        struct timespec now;
        struct stat status;

        (void)clock_gettime(CLOCK_REALTIME, &now);
        if (fstat(watched->fd, &status) < 0)
                return false;
        *ret = (Look){
                count_names(watched->fd, 0, is_any), status.st_mode, status.st_uid, status.st_gid, 0, false
        };
        ret->readable = hash_marks(watched->fd, &ret->marks);
        watched->changed = status.st_ctim;
        watched->settled = now.tv_sec - status.st_ctim.tv_sec > SETTLED_S;
        return true;
}

static bool is_unchanged(const Watched *watched)
{
        struct stat status;

        return watched->settled && fstat(watched->fd, &status) == 0 &&
               status.st_ctim.tv_sec == watched->changed.tv_sec &&
               status.st_ctim.tv_nsec == watched->changed.tv_nsec;
}

static bool is_fresh(Watched *watched)
{
        const Look *fresh = &watched->fresh;
        Look now;

        if (watched->fd < 0 || is_unchanged(watched))
                return true;
        return look_at(watched, &now) && now.names >= 0 && now.names == fresh->names && now.readable &&
               fresh->readable && now.marks == fresh->marks && now.mode == fresh->mode &&
               now.uid == fresh->uid && now.gid == fresh->gid;
}

/* Opens the message queues of this IPC namespace, wherever the machine mounts its own. */
static int open_queues(void)
{
        int context = (int)syscall(SYS_fsopen, "mqueue", FSOPEN_CLOEXEC), top = -1, queues = -1;

        if (context >= 0 && syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
                top = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
        if (top >= 0) {
                queues = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                close(top);
        }
        if (context >= 0)
                close(context);
        return queues;
}

static int open_watched(int i)
{
        static const char *const paths[] = { "/tmp", "/var/tmp", "/dev/shm" };

        return i == QUEUES ? open_queues() : open(paths[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* False: changes by a member could not be detected. */
static bool watch(Watched watched[WATCHED], uint32_t parts)
{
        for (int i = 0; i < WATCHED; i++) {
                bool wanted = parts & (i == TMP || i == VAR_TMP ? SANDBOX_FILES : SANDBOX_IPC);

                watched[i].fd = wanted ? open_watched(i) : -1;
                if (wanted && watched[i].fd < 0 && (i == QUEUES || errno != ENOENT))
                        return false;
                if (watched[i].fd >= 0 && !look_at(&watched[i], &watched[i].fresh))
                        return false;
        }
        return true;
}

static bool has_system_v(void)
{
        struct shm_info shared = { 0 };
        struct seminfo semaphores = { 0 };
        struct msginfo messages = { 0 };

        (void)shmctl(0, SHM_INFO, (struct shmid_ds *)&shared);
        (void)semctl(0, 0, SEM_INFO, &semaphores);
        (void)msgctl(0, MSG_INFO, (struct msqid_ds *)&messages);
        return shared.used_ids || semaphores.semusz || messages.msgpool;
}

/* True once only this process is left: the keeper is about to end, and the others with it unless it was
 * killed. kill(-1, 0) would tell as well, but looks at all processes of the machine. We are the first entry
 * of the list; from a wrong offset none would be counted. */
static bool is_alone(int proc)
{
        for (int ms = 0; ms < ALONE_MS_MAX; ms++) {
                struct timespec pause = { 0, ms == 0 ? 50000 : 1000000 };

                if (count_names(proc, FIRST_PROCESS, is_process) == 1)
                        return true;
                (void)nanosleep(&pause, NULL);
        }
        return false;
}

static bool is_as_new(uint32_t parts, int proc, Watched watched[WATCHED])
{
        if (parts & SANDBOX_NETWORK || (parts & SANDBOX_PIDS && !is_alone(proc)))
                return false;
        for (int i = 0; i < WATCHED; i++)
                if (!is_fresh(&watched[i]))
                        return false;
        return !(parts & SANDBOX_IPC && has_system_v());
}

/* rm accepts any tree, and follows no link. The next agent removes what it leaves. */
static _Noreturn void remove_place(const char *dir)
{
        (void)execle("/bin/rm", "rm", "-rf", "--one-file-system", "--", dir, NULL, (char *const[]){ NULL });
        _exit(1);
}

/* Sends the end of a pipe to the spawner, and waits until its last copy is closed. False: the spawner is
 * gone. */
static bool serve_one(void)
{
        int ends[2];
        char byte;
        bool sent;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return false;
        sent = wire_send(GATE, "", 1, ends[1], 0);
        close(ends[1]);
        while (sent && read(ends[0], &byte, 1) < 0 && errno == EINTR)
                ;
        close(ends[0]);
        return sent;
}

static _Noreturn void serve(const SandboxPlace *place, uint32_t parts, int maker)
{
        Watched watched[WATCHED];
        bool watches;
        int proc;

        become_holder(place, parts, maker);
        watches = watch(watched, parts);
        proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        while (serve_one() && watches && is_as_new(parts, proc, watched))
                ;
        remove_place(place->dir);
}

static pid_t find_holder(int dir_fd)
{
        struct flock lock = mark(F_WRLCK);

        return fcntl(dir_fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
}

static bool read_word(int gate, const char **ret_what)
{
        static char what[64];
        int err = EIO;
        ssize_t got = read(gate, &err, sizeof err);

        if (got == (ssize_t)sizeof err && err == 0)
                return true;
        got = read(gate, what, sizeof what - 1);
        what[got > 0 ? got : 0] = '\0';
        *ret_what = got > 0 ? what : "the process that holds its namespaces";
        errno = err;
        return false;
}

/* Waits until the holder has set up its namespaces. */
static int fork_holder(void (*run)(const SandboxPlace *, uint32_t, int), const SandboxPlace *place,
                       uint32_t parts, int *ret_gate, const char **ret_what)
{
        int gate[2], pidfd = -1, err;
        pid_t pid;

        *ret_what = "the process that holds its namespaces";
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, gate) < 0)
                return -1;
        pid = sandbox_fork(-1, parts & SANDBOX_PIDS, &pidfd);
        if (pid == 0)
                run(place, parts, gate[1]);
        err = errno;
        close(gate[1]);
        if (pid > 0 && read_word(gate[0], ret_what)) {
                *ret_gate = gate[0];
                return pidfd;
        }
        err = pid > 0 ? errno : err;
        close(gate[0]);
        if (pidfd >= 0)
                close(pidfd);
        errno = err;
        return -1;
}

int sandbox_holder(int dir_fd, const SandboxPlace *place, uint32_t parts, const char **ret_what)
{
        pid_t pid = find_holder(dir_fd);
        int pidfd = pid > 0 ? pidfd_open(pid, 0) : -1, gate;

        if (pidfd >= 0 && find_holder(dir_fd) == pid)
                return pidfd;
        if (pidfd >= 0)
                close(pidfd);
        pidfd = fork_holder(hold, place, parts, &gate, ret_what);
        if (pidfd >= 0)
                close(gate);
        return pidfd;
}

int sandbox_serve(const SandboxPlace *place, uint32_t parts, int *ret_socket, const char **ret_what)
{
        return fork_holder(serve, place, parts, ret_socket, ret_what);
}

/* ---- rights ---- */

/* The capabilities, beyond the bounding set, of a program that is run as root. */
static bool set_inheritable(uint64_t caps)
{
        struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct data[2] = { 0 };
        uint32_t low = (uint32_t)caps, high = (uint32_t)(caps >> 32);

        if (syscall(SYS_capget, &head, data) < 0)
                return false;
        if (data[0].inheritable == low && data[1].inheritable == high)
                return true;
        data[0].inheritable = low;
        data[1].inheritable = high;
        return syscall(SYS_capset, &head, data) == 0;
}

/* Reading is cheap; dropping one copies all credentials. */
static bool empty_bounding_set(void)
{
        int has;

        for (int cap = 0; (has = prctl(PR_CAPBSET_READ, cap, 0, 0, 0)) >= 0; cap++)
                if (has && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
                        return false;
        return true; /* up to the first that the kernel does not know */
}

bool sandbox_drop_rights(void)
{
        (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* since Linux 4.3 */
        return empty_bounding_set() && set_inheritable(0);
}

void sandbox_be_ready(void)
{
        enum { REMOVES = 1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH | 1 << CAP_FOWNER };

        if (set_inheritable(REMOVES)) /* the holder deletes a user's files by running rm */
                (void)empty_bounding_set();
        (void)sandbox_filter_early();
}

/* ---- what this machine has ---- */

static bool try_pids(void)
{
        int self = pidfd_open(getpid(), 0), status = 0;
        bool joins = self >= 0 && setns(self, CLONE_NEWPID) == 0; /* by pidfd: since Linux 5.8 */
        pid_t pid = joins ? sandbox_fork(-1, true, NULL) : -1;

        if (pid == 0)
                _exit(sandbox_own_mounts() && mount_proc() ? 0 : 1);
        return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool try_ipc(void)
{
        return unshare(CLONE_NEWIPC) == 0 && sandbox_own_mounts() &&
               (mount_tmpfs("/dev/shm") || errno == ENOENT);
}

static bool try_files(void)
{
        return sandbox_own_mounts() && mount_tmpfs("/tmp");
}

static bool try_network(void)
{
        return unshare(CLONE_NEWNET) == 0 && raise_loopback();
}

static bool try_calls(void)
{
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && sandbox_filter_calls() &&
               unshare(CLONE_NEWUTS) < 0 && errno == EPERM;
}

static bool try_rights(void)
{
        return prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) == 0;
}

int sandbox_probe_main(void)
{
        static bool (*const tries[SANDBOX_PARTS])(void) = { try_pids,    try_ipc,   try_files,
                                                            try_network, try_calls, try_rights };

        for (int i = 0; i < SANDBOX_PARTS; i++) {
                int status = 1;
                pid_t pid = fork();

                if (pid == 0)
                        _exit(tries[i]() ? 0 : 1);
                if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
                        (void)printf("%s\n", words[i]);
        }
        return fflush(stdout) == 0 ? 0 : 1;
}
