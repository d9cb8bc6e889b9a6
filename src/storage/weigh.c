/* Weighs trees (see weigh.h). Users can create trees of any depth. The outer KEPT directories of the path
 * stay open; below them the way up is "..", which must lead to the directory that the walk came from. If a
 * directory was moved meanwhile, the walk continues in the innermost parent that is still open. */
#include "storage/weigh.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum {
        SEEN_MAX = 1000000, /* remembered inodes with several names; beyond this number every name counts */
        ASK_EVERY = 256,    /* entries */
        KEPT = 128,         /* levels */
};

typedef struct {
        int dir; /* O_PATH; -1: closed while the walk is below it */
        ino_t inode;
        GPtrArray *below; /* names of subdirectories still to enter */
} Level;

typedef struct {
        const WeighHow *how;
        Weight *weight;
        dev_t device;
        GHashTable *seen; /* gint64: inodes with several names */
        GArray *levels;   /* Level, the innermost is last */
        guint entries;
        bool stopped;
} Walk;

static void level_clear(gpointer data)
{
        Level *level = data;

        fd_close_p(&level->dir);
        g_ptr_array_unref(level->below);
}

/* False for an inode that was counted under another name. */
static bool is_first(Walk *walk, const struct stat *st)
{
        gint64 inode = (gint64)st->st_ino;

        if (S_ISDIR(st->st_mode) || st->st_nlink < 2 || walk->how->shared)
                return true;
        if (g_hash_table_contains(walk->seen, &inode))
                return false;
        if (g_hash_table_size(walk->seen) < SEEN_MAX)
                g_hash_table_add(walk->seen, g_memdup2(&inode, sizeof inode));
        return true;
}

static void count(Walk *walk, const struct stat *st)
{
        Weight *weight = walk->weight;
        gint64 bytes = (gint64)st->st_blocks * 512;

        if (!is_first(walk, st))
                return;
        if (walk->how->shared && !S_ISDIR(st->st_mode) && st->st_nlink > 2)
                bytes /= (gint64)st->st_nlink - 1;
        weight->bytes += bytes;
        weight->files++;
        weight->used = MAX(weight->used, file_mtime_ms(st));
        if (walk->how->func)
                walk->how->func(st, walk->how->arg);
}

/* Counts the entries of the directory and collects its subdirectories. Takes ownership of `path`, an O_PATH
 * descriptor. */
static void enter(Walk *walk, int path, const struct stat *st)
{
        int list = openat(path, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *dir = list < 0 ? NULL : fdopendir(list);
        Level level = { path, st->st_ino, g_ptr_array_new_with_free_func(g_free) };

        if (!dir)
                fd_close_p(&list);
        for (struct dirent *entry; dir && !walk->stopped && (entry = readdir(dir));) {
                struct stat about;

                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                if (++walk->entries % ASK_EVERY == 0 && walk->how->stopped)
                        walk->stopped = walk->how->stopped(walk->how->stopped_arg);
                if (fstatat(dirfd(dir), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) < 0 ||
                    about.st_dev != walk->device)
                        continue;
                count(walk, &about);
                if (walk->how->visit)
                        walk->how->visit(dirfd(dir), entry->d_name, &about, walk->how->visit_arg);
                if (S_ISDIR(about.st_mode))
                        g_ptr_array_add(level.below, g_strdup(entry->d_name));
        }
        if (dir)
                closedir(dir);
        g_array_append_val(walk->levels, level);
}

static Level *innermost(Walk *walk)
{
        return walk->levels->len ? &g_array_index(walk->levels, Level, walk->levels->len - 1) : NULL;
}

/* Back to the parent directory. */
static void leave(Walk *walk)
{
        fd_auto int dir = fd_steal(&innermost(walk)->dir);
        fd_auto int above = -1;
        Level *level;
        struct stat st;

        g_array_set_size(walk->levels, walk->levels->len - 1);
        level = innermost(walk);
        if (!level || level->dir >= 0)
                return;
        above = openat(dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (above >= 0 && fstat(above, &st) == 0 && st.st_ino == level->inode)
                level->dir = fd_steal(&above);
        while ((level = innermost(walk)) && level->dir < 0)
                g_array_set_size(walk->levels, walk->levels->len - 1);
}

/* Enters the next subdirectory, or goes up. */
static void step(Walk *walk)
{
        Level *level = innermost(walk);
        g_autofree char *name = NULL;
        fd_auto int next = -1;
        struct stat st;

        if (level->below->len == 0) {
                leave(walk);
                return;
        }
        name = g_ptr_array_steal_index_fast(level->below, level->below->len - 1);
        next = openat(level->dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0 || fstat(next, &st) < 0 || st.st_dev != walk->device)
                return;
        if (walk->levels->len > KEPT) {
                close(level->dir);
                level->dir = -1;
        }
        enter(walk, fd_steal(&next), &st);
}

GHashTable *weigh_seen_new(void)
{
        return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
}

bool tree_weigh(int parent, const char *name, const WeighHow *how, Weight *weight)
{
        Walk walk = { .how = how, .weight = weight };
        struct stat st;
        int dir;

        if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return true;
        walk.device = st.st_dev;
        walk.seen = how->seen ? g_hash_table_ref(how->seen) : weigh_seen_new();
        count(&walk, &st);
        if (how->visit)
                how->visit(parent, name, &st, how->visit_arg);
        dir = S_ISDIR(st.st_mode) ? openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        walk.levels = g_array_new(FALSE, FALSE, sizeof(Level));
        g_array_set_clear_func(walk.levels, level_clear);
        if (dir >= 0)
                enter(&walk, dir, &st);
        while (walk.levels->len > 0 && !walk.stopped)
                step(&walk);
        g_array_unref(walk.levels);
        g_hash_table_unref(walk.seen);
        return !walk.stopped;
}
