/* Open files without a name (see open-files.h). The kernel marks the link of a descriptor if its file was
 * deleted. Only such files are inspected, so that no other file system can block the walk. */
#include "storage/open-files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { FDS_MAX = 65536, ASK_EVERY = 256, LINK_MAX_LEN = 4096, GROUPS_MAX_LEN = 8192 };

typedef struct {
        const OpenFilesLook *look;
        GHashTable *seen; /* gint64: inodes */
        guint entries;
        bool stopped;
} Walk;

static bool is_stopped(Walk *walk)
{
        const OpenFilesLook *look = walk->look;

        if (++walk->entries % ASK_EVERY == 0 && look->stopped && look->stopped(look->stopped_arg))
                walk->stopped = true;
        return walk->stopped;
}

static bool is_deleted(int dir, const char *name)
{
        static const char mark[] = " (deleted)";
        char target[LINK_MAX_LEN];
        ssize_t len = readlinkat(dir, name, target, sizeof target);
        size_t tail = sizeof mark - 1;

        return len == sizeof target || /* truncated: inspect the file */
               (len > (ssize_t)tail && memcmp(target + len - tail, mark, tail) == 0);
}

static void look_at_fd(Walk *walk, int dir, const char *name)
{
        struct stat st;
        gint64 inode;

        if (!is_deleted(dir, name) || fstatat(dir, name, &st, 0) < 0 || !S_ISREG(st.st_mode) ||
            st.st_nlink > 0 || st.st_dev != walk->look->device)
                return;
        inode = (gint64)st.st_ino;
        if (g_hash_table_add(walk->seen, g_memdup2(&inode, sizeof inode)))
                walk->look->func(&st, walk->look->arg);
}

/* A thread may have its own descriptors (unshare(CLONE_FILES)). */
static void look_at_thread(Walk *walk, int tasks, const char *tid)
{
        g_autofree char *name = g_strconcat(tid, "/fd", NULL);
        int fd = openat(tasks, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);

        if (!dir) {
                fd_close_p(&fd);
                return;
        }
        for (struct dirent *entry; n < FDS_MAX && !is_stopped(walk) && (entry = readdir(dir)); n++)
                if (entry->d_name[0] != '.')
                        look_at_fd(walk, dirfd(dir), entry->d_name);
        closedir(dir);
}

/* Each line of the file ends with the path of a cgroup. */
static bool is_in_group(Walk *walk, int proc, const char *pid)
{
        g_autofree char *name = g_strconcat(pid, "/cgroup", NULL);
        fd_auto int fd = -1;
        char text[GROUPS_MAX_LEN];
        ssize_t len;

        if (!walk->look->group)
                return true;
        fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
        len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        if (len < 0)
                return false;
        text[len] = '\0';
        return strstr(text, walk->look->group);
}

static void look_at_process(Walk *walk, int proc, const char *pid)
{
        g_autofree char *name = g_strconcat(pid, "/task", NULL);
        struct stat st;
        int fd;
        DIR *dir;

        if (fstatat(proc, pid, &st, 0) < 0 || st.st_uid == walk->look->except ||
            !is_in_group(walk, proc, pid))
                return;
        fd = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir) {
                fd_close_p(&fd);
                return;
        }
        for (struct dirent *entry; !is_stopped(walk) && (entry = readdir(dir));)
                if (entry->d_name[0] != '.')
                        look_at_thread(walk, dirfd(dir), entry->d_name);
        closedir(dir);
}

bool open_files_unlinked(const OpenFilesLook *look)
{
        Walk walk = { .look = look };
        DIR *proc = opendir("/proc");

        if (!proc)
                return true;
        walk.seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
        for (struct dirent *entry; !is_stopped(&walk) && (entry = readdir(proc));)
                if (g_ascii_isdigit(entry->d_name[0]))
                        look_at_process(&walk, dirfd(proc), entry->d_name);
        closedir(proc);
        g_hash_table_unref(walk.seen);
        return !walk.stopped;
}
