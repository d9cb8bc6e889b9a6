/* Mounts of a member (see mounts.h).
 *
 *   mounts_open     root of the file system ── openat2, beneath it ──▶ directory ── open_tree ──▶ detached mount
 *   mounts_attach   a place of the member ◀── move_mount ── detached mount
 *
 * What always holds:
 * - A directory is opened with the user's rights, and mounted from its descriptor. A link or a rename in the
 *   meantime therefore leads nowhere that the user could not open alone.
 * - The mounted tree has all mounts below it. Otherwise files would appear that the machine covers with them.
 *   It is private, so no later mount of the machine appears in it; a read-only one stays read-only.
 * - A mount point is an empty directory or a new one, so nothing is hidden. New ones are not created in the
 *   machine's file systems: a small tmpfs with the entries of the directory, its frame, covers that directory
 *   for this member only. In the working directory, which is the job's own, they are created as they are. */
#include "agent/mounts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
        FRAME_ENTRIES_MAX = 1000, /* of a directory in which a mount point can be created */
        RENAMES_MAX = 100,        /* attempts to open a path while others rename its directories */
        LINE_SIZE = 8192,         /* of mountinfo: two paths and options */
};

/* ---- faults ---- */

static bool refuse(MountFault *fault, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));

static bool refuse(MountFault *fault, int err, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        (void)vsnprintf(fault->text, sizeof fault->text, format, args);
        va_end(args);
        fault->err = err;
        return false;
}

static bool refuse_errno(MountFault *fault, const char *path, const char *what)
{
        int err = errno;

        return refuse(fault, err, "cannot mount at '%s': %s: %s", path, what, strerrordesc_np(err));
}

/* ---- rights ---- */

/* For access to files only: the right to mount remains. Root's rights to files go and return with it. */
static void act_as_user(const WireSpawn *head)
{
        if (!head->as_user)
                return;
        (void)setfsgid((gid_t)head->gid);
        (void)setfsuid((uid_t)head->uid);
}

static void act_as_agent(const WireSpawn *head)
{
        if (!head->as_user)
                return;
        (void)setfsuid(geteuid());
        (void)setfsgid(getegid());
}

/* Both calls report no error. */
static bool acts_as_user(const WireSpawn *head)
{
        return !head->as_user ||
               ((uid_t)setfsuid((uid_t)-1) == head->uid && (gid_t)setfsgid((gid_t)-1) == head->gid);
}

/* ---- the directories ---- */

/* One mount of the request. */
typedef struct {
        const char *fs, *root, *sub, *path;
        bool read_only;
} Wanted;

/* Reads the next mount at *at, and moves *at behind it. */
static Wanted next_wanted(const char **at)
{
        const char *words[WIRE_MOUNT_WORDS];

        for (int i = 0; i < WIRE_MOUNT_WORDS; i++) {
                words[i] = *at;
                *at += strlen(*at) + 1;
        }
        return (Wanted){ words[0], words[1], words[2], words[3], strcmp(words[4], "ro") == 0 };
}

static int open_resolved(int dir, const char *path, uint64_t resolve)
{
        struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = resolve };
        int fd = -1;

        for (int i = 0; i < RENAMES_MAX; i++) {
                fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
                if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
                        break;
        }
        return fd;
}

/* Links may lead elsewhere below the root, but not out of it. */
static int open_below(int root, const char *path)
{
        return open_resolved(root, path, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
}

/* Creates what is missing of a path, with the user's rights. Takes `root`. */
static int make_below(int root, const char *path)
{
        char prefix[PATH_MAX];
        int dir = root, top = fcntl(root, F_DUPFD_CLOEXEC, 0);

        for (const char *at = path; top >= 0 && dir >= 0 && *at; at += strspn(at, "/")) {
                const char *name = at;
                int next;

                at += strcspn(at, "/");
                (void)snprintf(prefix, sizeof prefix, "%.*s", (int)(at - path), path);
                next = open_below(top, prefix);
                if (next < 0 && errno == ENOENT &&
                    (mkdirat(dir, prefix + (name - path), 0755) == 0 || errno == EEXIST))
                        next = open_below(top, prefix);
                close(dir);
                dir = next;
        }
        if (top >= 0)
                close(top);
        return dir;
}

static bool is_at_or_below(const char *path, const char *dir)
{
        size_t len = strlen(dir);

        return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* True for a type that shows the kernel's or other processes' state instead of files. */
static bool is_kernels(const char *type)
{
        static const char *const types[] = { "proc",   "sysfs",    "cgroup", "cgroup2",    "devtmpfs",
                                             "devpts", "debugfs",  "bpf",    "securityfs", "tracefs",
                                             "mqueue", "configfs", "pstore", "fusectl" };

        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
                if (strcmp(types[i], type) == 0)
                        return true;
        return false;
}

/* A line of mountinfo. */
typedef struct {
        uint64_t id;
        char *point, *type;
} MountLine;

/* Ends a word of mountinfo, and replaces its escapes: "\040" is a blank. */
static void end_word(char *word)
{
        char *to = word;

        word[strcspn(word, " \n")] = '\0';
        for (const char *from = word; *from;) {
                bool escaped = from[0] == '\\' && from[1] && from[2] && from[3];

                *to++ = escaped ? (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'))
                                : *from;
                from += escaped ? 4 : 1;
        }
        *to = '\0';
}

/* Modifies the line. */
static bool split_line(char *line, MountLine *ret)
{
        char *dash = strstr(line, " - "), *at = line;

        ret->id = strtoull(line, NULL, 10);
        for (int i = 0; i < 4 && at; i++) /* the fifth field */
                at = strchr(at + (i > 0), ' ');
        if (!dash || !at || at > dash)
                return false;
        ret->type = dash + strlen(" - ");
        end_word(ret->type);
        ret->point = at + 1;
        end_word(ret->point);
        return true;
}

/* True if the directory is in such a mount, or one is below it and so would be in the mounted tree. */
static bool holds_kernel_mounts(uint64_t id, const char *dir)
{
        static char line[LINE_SIZE];
        FILE *file = fopen("/proc/self/mountinfo", "re");
        bool found = !file;
        MountLine mount;

        while (file && !found && fgets(line, sizeof line, file))
                found = split_line(line, &mount) && is_kernels(mount.type) &&
                        (mount.id == id || strcmp(dir, "/") == 0 || is_at_or_below(mount.point, dir));
        if (file)
                (void)fclose(file);
        return found;
}

/* The sandbox hides other processes and devices; a mount must not show them again. */
static bool check_kind(int dir, const Wanted *wanted, MountFault *fault)
{
        static const char *const kernels[] = { "/proc", "/sys", "/dev" };
        char link[64], path[PATH_MAX];
        struct statx about;
        ssize_t len;
        bool bad;

        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        len = readlink(link, path, sizeof path - 1);
        if (len < 0 || statx(dir, "", AT_EMPTY_PATH, STATX_MNT_ID, &about) < 0)
                return refuse_errno(fault, wanted->path, "the place of the directory is unknown");
        path[len] = '\0';
        bad = !(about.stx_mask & STATX_MNT_ID) || holds_kernel_mounts(about.stx_mnt_id, path);
        for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
                bad = bad || is_at_or_below(path, kernels[i]);
        return !bad || refuse(fault, EPERM,
                              "cannot mount at '%s': the directory of file system '%s' contains files of the "
                              "kernel, such as /proc\nA job can have directories with ordinary files only.",
                              wanted->path, wanted->fs);
}

static bool refuse_sub(MountFault *fault, const Wanted *wanted)
{
        int err = errno;

        if (err == EXDEV)
                return refuse(fault, EPERM,
                              "cannot mount at '%s': a link in '%s' leads out of file system '%s'",
                              wanted->path, wanted->sub, wanted->fs);
        return refuse(fault, err, "cannot mount at '%s': '%s' in file system '%s' cannot be opened: %s",
                      wanted->path, wanted->sub, wanted->fs, strerrordesc_np(err));
}

/* The directory as an O_PATH descriptor; -1 with a fault. The user may enter it. */
static int open_source(const Wanted *wanted, MountFault *fault)
{
        int root = open_resolved(AT_FDCWD, wanted->root, RESOLVE_NO_MAGICLINKS), dir, entered;

        if (root < 0) {
                int err = errno;

                (void)refuse(fault, err,
                             "cannot mount at '%s': the directory of file system '%s' cannot be opened: %s\n"
                             "`paddle fs show %s` says which directory it is.",
                             wanted->path, wanted->fs, strerrordesc_np(err), wanted->fs);
                return -1;
        }
        if (!*wanted->sub) {
                dir = root;
        } else if (wanted->read_only) {
                dir = open_below(root, wanted->sub);
                close(root);
        } else {
                dir = make_below(root, wanted->sub);
        }
        entered = dir >= 0 ? openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1; /* may be forbidden */
        if (entered < 0)
                (void)refuse_sub(fault, wanted);
        if (dir >= 0)
                close(dir);
        return entered;
}

/* The detached mount of a directory. */
static int clone_tree(int dir, bool read_only)
{
        struct mount_attr attr = {
                .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (read_only ? MOUNT_ATTR_RDONLY : 0),
                .propagation = MS_PRIVATE,
        };
        int tree = open_tree(dir, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC),
            err;

        if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) == 0)
                return tree;
        err = errno;
        close(tree);
        errno = err;
        return -1;
}

static int open_wanted(const Wanted *wanted, MountFault *fault)
{
        int dir = open_source(wanted, fault), tree = -1;

        if (dir < 0)
                return -1;
        if (check_kind(dir, wanted, fault)) {
                tree = clone_tree(dir, wanted->read_only);
                if (tree < 0)
                        (void)refuse_errno(fault, wanted->path, "this machine's kernel refuses it");
        }
        close(dir);
        return tree;
}

/* ---- places ---- */

/* A tmpfs that covers a directory for this member. */
typedef struct {
        int fd;
        dev_t device;
} Frame;

static Frame frames[WIRE_MOUNTS_MAX];
static int n_frames;

static bool is_framed(int dir)
{
        struct stat status;

        if (fstat(dir, &status) < 0)
                return false;
        for (int i = 0; i < n_frames; i++)
                if (frames[i].device == status.st_dev)
                        return true;
        return false;
}

static int make_tmpfs(void)
{
        int context = fsopen("tmpfs", FSOPEN_CLOEXEC), made = -1, err;

        if (context < 0)
                return -1;
        if (fsconfig(context, FSCONFIG_SET_STRING, "mode", "0755", 0) == 0 &&
            fsconfig(context, FSCONFIG_SET_STRING, "size", "4m", 0) == 0 &&
            fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
                made = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        err = errno;
        close(context);
        errno = err;
        return made;
}

static bool copy_link(int from, const char *name, int to)
{
        char text[PATH_MAX];
        ssize_t len = readlinkat(from, name, text, sizeof text - 1);

        if (len < 0)
                return false;
        text[len] = '\0';
        return symlinkat(text, to, name) == 0;
}

static bool show_tree(int from, const char *name, int to)
{
        int tree = open_tree(from, name,
                             AT_RECURSIVE | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | OPEN_TREE_CLONE |
                                     OPEN_TREE_CLOEXEC);
        bool ok = tree >= 0 && move_mount(tree, "", to, name, MOVE_MOUNT_F_EMPTY_PATH) == 0;

        if (tree >= 0)
                close(tree);
        return ok;
}

static unsigned char type_of(int dir, const struct dirent64 *entry)
{
        struct stat status;

        if (entry->d_type != DT_UNKNOWN)
                return entry->d_type;
        return fstatat(dir, entry->d_name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0
                       ? IFTODT(status.st_mode)
                       : DT_UNKNOWN;
}

/* Shows one entry of a directory in its frame. One that has been removed since is left out. */
static bool show_entry(int from, const struct dirent64 *entry, int to)
{
        unsigned char type = type_of(from, entry);
        const char *name = entry->d_name;
        bool ok;

        if (type == DT_LNK)
                ok = copy_link(from, name, to);
        else if (type == DT_DIR)
                ok = mkdirat(to, name, 0755) == 0 && show_tree(from, name, to);
        else
                ok = mknodat(to, name, S_IFREG | 0444, 0) == 0 && show_tree(from, name, to);
        return ok || errno == ENOENT;
}

static bool is_dots(const char *name)
{
        return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Shows all entries of `from`, whose open listing is `list`. */
static bool show_entries(int from, int list, int to)
{
        static char buffer[32 * 1024];
        ssize_t got;
        int n = 0;

        while ((got = getdents64(list, buffer, sizeof buffer)) > 0)
                for (ssize_t i = 0; i < got;) {
                        const struct dirent64 *entry = (const struct dirent64 *)(buffer + i);

                        i += entry->d_reclen;
                        if (is_dots(entry->d_name))
                                continue;
                        if (++n > FRAME_ENTRIES_MAX) {
                                errno = E2BIG;
                                return false;
                        }
                        if (!show_entry(from, entry, to))
                                return false;
                }
        return got == 0;
}

/* Covers the directory with its frame; `top`: it is this process's root, which becomes the frame. Returns the
 * frame. */
static int frame_directory(int dir, bool top)
{
        int list = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int frame = list >= 0 ? make_tmpfs() : -1;
        struct stat status;
        bool ok = frame >= 0 && fstat(frame, &status) == 0 &&
                  move_mount(frame, "", dir, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0 &&
                  show_entries(dir, list, frame) && (!top || (fchdir(frame) == 0 && chroot(".") == 0));

        if (list >= 0)
                close(list);
        if (!ok)
                return -1; /* the member does not start */
        frames[n_frames++] = (Frame){ frame, status.st_dev };
        return frame;
}

/* Follows a path without links as far as it exists. *ret_rest is what is missing. Takes `at`. */
static int walk(int at, const char *path, const char **ret_rest)
{
        char name[NAME_MAX + 1];

        while (at >= 0 && *path) {
                size_t len = strcspn(path, "/");
                int next;

                if (len > NAME_MAX) {
                        close(at);
                        errno = ENAMETOOLONG;
                        return -1;
                }
                memcpy(name, path, len);
                name[len] = '\0';
                next = open_resolved(at, name, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
                if (next < 0 && errno == ENOENT)
                        break;
                close(at);
                at = next;
                path += len;
                path += strspn(path, "/");
        }
        *ret_rest = path;
        return at;
}

/* mkdir -p of the rest of a path, and opens it. Takes `at`. */
static int make_rest(int at, const char *rest)
{
        char name[NAME_MAX + 1];

        while (at >= 0 && *rest) {
                size_t len = strcspn(rest, "/");
                int next;

                (void)snprintf(name, sizeof name, "%.*s", (int)len, rest);
                next = mkdirat(at, name, 0755) == 0 || errno == EEXIST
                               ? open_resolved(at, name, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
                               : -1;
                close(at);
                at = next;
                rest += len;
                rest += strspn(rest, "/");
        }
        return at;
}

/* 1: empty, 0: not, -1 with errno. */
static int is_empty(int dir)
{
        char buffer[1024];
        int list = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 1;
        ssize_t got = -1;

        while (list >= 0 && ret == 1 && (got = getdents64(list, buffer, sizeof buffer)) > 0)
                for (ssize_t i = 0; i < got;) {
                        const struct dirent64 *entry = (const struct dirent64 *)(buffer + i);

                        ret = is_dots(entry->d_name) ? ret : 0;
                        i += entry->d_reclen;
                }
        if (list >= 0)
                close(list);
        return list < 0 || got < 0 ? -1 : ret;
}

static bool check_empty(int place, const Wanted *wanted, MountFault *fault)
{
        int empty = is_empty(place);

        if (empty < 0)
                return refuse_errno(fault, wanted->path, "it cannot be read");
        return empty || refuse(fault, EINVAL,
                               "cannot mount at '%s': this directory exists and is not empty\n"
                               "A mount hides no files: name a new directory.",
                               wanted->path);
}

static bool may(int dir, int mode)
{
        return faccessat(dir, "", mode, AT_EACCESS | AT_EMPTY_PATH) == 0;
}

/* False with a fault: no frame may cover the directory. New files would fail in the frame of one that the user
 * can write to, and the mounts of a frame tell all names in it. */
static bool check_frame(const WireSpawn *head, int dir, const Wanted *wanted, MountFault *fault)
{
        const char *why = NULL;

        if (is_framed(dir))
                return true;
        if ((head->as_user || geteuid() != 0) && may(dir, W_OK))
                why = "that you can write to";
        else if (!may(dir, R_OK))
                why = "whose files you cannot list";
        return !why || refuse(fault, ENOENT,
                              "cannot mount at '%s': it does not exist, in a directory %s\n"
                              "Create the directory first, or name another place, such as '/data'.",
                              wanted->path, why);
}

/* Creates the rest of an absolute path in a frame over the directory `at`, which is taken. */
static int place_in_frame(const WireSpawn *head, int at, const char *rest, bool top, const Wanted *wanted,
                          MountFault *fault)
{
        int frame, place;

        if (!check_frame(head, at, wanted, fault)) {
                close(at);
                return -1;
        }
        act_as_agent(head);
        frame = is_framed(at) ? at : frame_directory(at, top);
        place = frame < 0 ? -1 : make_rest(fcntl(frame, F_DUPFD_CLOEXEC, 0), rest);
        if (place < 0 && errno == E2BIG)
                (void)refuse(fault, E2BIG,
                             "cannot mount at '%s': the directory in which it would be created has more than "
                             "%d entries\nName another place, such as '/data'.",
                             wanted->path, FRAME_ENTRIES_MAX);
        else if (place < 0)
                (void)refuse_errno(fault, wanted->path, "its directory cannot be created");
        act_as_user(head);
        close(at);
        return place;
}

/* The directory at which a mount appears; -1 with a fault. */
static int find_place(const Spawn *spawn, const Wanted *wanted, MountFault *fault)
{
        bool absolute = wanted->path[0] == '/';
        const char *path = wanted->path + absolute, *rest = path;
        int at = walk(open(absolute ? "/" : spawn->strings[WIRE_DIR], O_PATH | O_DIRECTORY | O_CLOEXEC), path,
                      &rest);

        if (at >= 0 && *rest && absolute)
                return place_in_frame(spawn->head, at, rest, rest == path, wanted, fault);
        if (at >= 0 && *rest)
                at = make_rest(at, rest);
        if (at < 0 && errno == ELOOP)
                (void)refuse(fault, ELOOP, "cannot mount at '%s': the path leads over a link", wanted->path);
        else if (at < 0)
                (void)refuse_errno(fault, wanted->path, "the path cannot be used");
        else if (!check_empty(at, wanted, fault)) {
                close(at);
                at = -1;
        }
        return at;
}

static bool attach(const Spawn *spawn, const Wanted *wanted, int tree, MountFault *fault)
{
        int place = find_place(spawn, wanted, fault);
        bool ok = place >= 0 &&
                  (move_mount(tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0 ||
                   refuse_errno(fault, wanted->path, "this machine's kernel refuses it"));

        if (place >= 0)
                close(place);
        close(tree);
        return ok;
}

/* New files in a frame would be lost with the member. */
static bool seal_frames(MountFault *fault)
{
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

        for (int i = 0; i < n_frames; i++) {
                if (mount_setattr(frames[i].fd, "", AT_EMPTY_PATH, &attr, sizeof attr) < 0)
                        return refuse(fault, errno,
                                      "cannot make the directories around its mounts read-only: %s",
                                      strerrordesc_np(errno));
                close(frames[i].fd);
        }
        return true;
}

/* ---- all ---- */

static bool enter_namespace(MountFault *fault)
{
        if (geteuid() == 0 || sandbox_unshare_as_user(CLONE_NEWNS))
                return true;
        return refuse(fault, EPERM,
                      "this machine cannot give the job its mounts: the server has to run as root, or the "
                      "kernel has to let users create namespaces (%s)",
                      strerrordesc_np(errno));
}

bool mounts_open(const Spawn *spawn, MemberMounts *ret, MountFault *fault)
{
        const char *at = spawn->mounts;
        mode_t mask = umask(022); /* of the agent it may be 077 */
        bool ok = enter_namespace(fault);

        act_as_user(spawn->head);
        if (ok && !acts_as_user(spawn->head))
                ok = refuse(fault, EPERM, "cannot open its mounts with the rights of user %u",
                            spawn->head->uid);
        for (uint32_t i = 0; ok && i < spawn->head->n_mounts; i++) {
                Wanted wanted = next_wanted(&at);

                ret->trees[i] = open_wanted(&wanted, fault);
                ok = ret->trees[i] >= 0;
        }
        act_as_agent(spawn->head);
        (void)umask(mask);
        return ok;
}

bool mounts_attach(const Spawn *spawn, const MemberMounts *mounts, MountFault *fault)
{
        const char *at = spawn->mounts;
        mode_t mask = umask(022);
        bool ok = sandbox_own_mounts() ||
                  refuse(fault, errno, "this machine cannot give the job its mounts: %s",
                         strerrordesc_np(errno));

        act_as_user(spawn->head);
        for (uint32_t i = 0; ok && i < spawn->head->n_mounts; i++) {
                Wanted wanted = next_wanted(&at);

                ok = attach(spawn, &wanted, mounts->trees[i], fault);
        }
        act_as_agent(spawn->head);
        (void)umask(mask);
        return ok && seal_frames(fault);
}
