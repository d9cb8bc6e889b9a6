/* A directory as a manifest: one walk finds the entries, then the files are hashed, by several threads if
 * there is much data.
 *
 * The walk opens each directory by its path below the root and closes it before it descends, so depth needs
 * no descriptors. Files are opened without following links. A file that changes while it is read is read
 * again, at most three times. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "package/ignore.h"
#include "package/manifest.h"
#include "storage/disk.h"
#include "storage/hash.h"

enum {
        RULES_MAX = 1024 * 1024,    /* bytes of an ignore file */
        THREADS_MAX = 8,            /* more would only wait for the disk */
        THREADS_FROM = 1024 * 1024, /* bytes; less data is hashed faster than a thread starts */
        PIECE = 256 * 1024,
        TRIES = 3,
};

typedef struct {
        int root;
        IgnoreRules *rules;
        Manifest *manifest;
        guint64 bytes;
} Walk;

#define LEAVE_OUT "\nRemove it, or leave it out by a line in .paddleignore."

/* The walk */

static bool entry_error(GError **error, int err, const char *path)
{
        g_autofree char *shown = text_show(path);

        return err_set(error, err_from_errno(err), "cannot read '%s': %s" LEAVE_OUT, shown, g_strerror(err));
}

static bool read_rules(Walk *walk, int dir, const char *base, const char *name, GError **error)
{
        fd_auto int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        g_autofree char *text = NULL, *shown = g_build_filename(base, name, NULL);
        struct stat st;
        gssize len;

        if (fd < 0 && (errno == ENOENT || errno == ELOOP))
                return true;
        if (fd < 0 || fstat(fd, &st) < 0)
                return entry_error(error, errno, shown);
        if (!S_ISREG(st.st_mode))
                return true;
        if (st.st_size > RULES_MAX)
                return err_set(error, ERR_TOO_LARGE, "'%s' is larger than 1 MiB, too much for ignore rules",
                               shown);
        text = g_malloc((gsize)st.st_size + 1);
        len = read_at(fd, text, (gsize)st.st_size, 0);
        if (len < 0)
                return entry_error(error, errno, shown);
        text[len] = '\0';
        ignore_add(walk->rules, base, text);
        return true;
}

typedef struct {
        char *name;
        unsigned char type;
} Name;

static void name_clear(gpointer data)
{
        g_free(((Name *)data)->name);
}

static GArray *read_names(int dir)
{
        g_autoptr(GArray) names = g_array_new(FALSE, FALSE, sizeof(Name));
        int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *stream = fd < 0 ? NULL : fdopendir(fd);

        if (!stream) {
                fd_close_p(&fd);
                return NULL;
        }
        g_array_set_clear_func(names, name_clear);
        for (struct dirent *entry; (entry = readdir(stream));) {
                Name name = { NULL, entry->d_type };

                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                name.name = g_strdup(entry->d_name);
                g_array_append_val(names, name);
        }
        closedir(stream);
        return g_steal_pointer(&names);
}

static bool add_file(Walk *walk, int dir, const char *name, const char *path, GError **error)
{
        struct stat st;
        Entry *entry;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return entry_error(error, errno, path);
        entry = entry_new(ENTRY_FILE, path);
        entry->executable = (st.st_mode & S_IXUSR) != 0;
        entry->size = (guint64)st.st_size;
        walk->bytes += entry->size;
        manifest_add(walk->manifest, entry);
        return true;
}

static bool add_link(Walk *walk, int dir, const char *name, const char *path, GError **error)
{
        char target[PACKAGE_PATH_MAX];
        ssize_t len = readlinkat(dir, name, target, sizeof target - 1);
        Entry *entry;

        if (len < 0)
                return entry_error(error, errno, path);
        target[len] = '\0';
        if (!link_check(path, target, error)) {
                g_autofree char *text = err_text(*error);

                g_clear_error(error);
                return err_set(error, ERR_INVALID, "%s" LEAVE_OUT, text);
        }
        entry = entry_new(ENTRY_LINK, path);
        entry->target = g_strdup(target);
        manifest_add(walk->manifest, entry);
        return true;
}

static bool walk_dir(Walk *walk, const char *path, GError **error);

static bool add_dir(Walk *walk, const char *path, GError **error)
{
        guint before = walk->manifest->entries->len;

        if (!walk_dir(walk, path, error))
                return false;
        if (walk->manifest->entries->len == before)
                manifest_add(walk->manifest, entry_new(ENTRY_DIR, path));
        return true;
}

static const char *type_word(unsigned char type)
{
        switch (type) {
        case DT_SOCK: return "a socket";
        case DT_FIFO: return "a named pipe";
        case DT_CHR:
        case DT_BLK: return "a device";
        default: return "something unknown";
        }
}

/* `dir` is the directory `base`, open unless the name is known to be a directory. */
static bool add_name(Walk *walk, int dir, const char *base, const Name *name, GError **error)
{
        g_autofree char *path = *base ? g_strconcat(base, "/", name->name, NULL) : g_strdup(name->name);
        unsigned char type = name->type;
        struct stat st;

        if (type == DT_UNKNOWN) { /* some file systems do not report types */
                if (fstatat(dir, name->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        return entry_error(error, errno, path);
                type = IFTODT(st.st_mode);
        }
        if (ignore_leaves_out(walk->rules, walk->root, path, path, type == DT_DIR))
                return true;
        if (!path_check(path, error))
                return false;
        if (walk->manifest->entries->len > PACKAGE_FILES_MAX)
                return err_set(
                        error, ERR_TOO_LARGE,
                        "more than %d files; a package holds no more\nLeave some out by .paddleignore, "
                        "or put data into storage with `paddle upload`.",
                        PACKAGE_FILES_MAX);
        switch (type) {
        case DT_REG: return add_file(walk, dir, name->name, path, error);
        case DT_LNK: return add_link(walk, dir, name->name, path, error);
        case DT_DIR: return add_dir(walk, path, error);
        default:
                return err_set(error, ERR_INVALID,
                               "'%s' is %s; a package holds files, links and directories" LEAVE_OUT, path,
                               type_word(type));
        }
}

static bool walk_dir(Walk *walk, const char *path, GError **error)
{
        static const char *const files[] = { ".gitignore", ".paddleignore" };
        fd_auto int dir =
                openat(walk->root, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        g_autoptr(GArray) names = dir < 0 ? NULL : read_names(dir);
        guint rules = ignore_count(walk->rules);
        bool ok = true;

        if (!names)
                return entry_error(error, errno, path);
        for (gsize i = 0; i < G_N_ELEMENTS(files) && ok; i++)
                ok = read_rules(walk, dir, path, files[i], error);
        for (guint i = 0; i < names->len && ok; i++)
                if (g_array_index(names, Name, i).type != DT_DIR)
                        ok = add_name(walk, dir, path, &g_array_index(names, Name, i), error);
        fd_close_p(&dir);
        dir = -1;
        for (guint i = 0; i < names->len && ok; i++)
                if (g_array_index(names, Name, i).type == DT_DIR)
                        ok = add_name(walk, dir, path, &g_array_index(names, Name, i), error);
        ignore_truncate(walk->rules, rules);
        return ok;
}

/* The hashing */

typedef struct {
        int root;
        GPtrArray *files; /* Entry *, of kind file */
        gint next;        /* index of the next file; atomic */
        gint done;
        guint64 bytes; /* bytes of hashed files; atomic */
        GMutex lock;
        GError *error; /* the first error; protected by the lock */
        PackProgress progress;
        void *arg;
} Hashing;

static int open_file(int root, const char *path)
{
        int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
        int fd = openat(root, path, flags | O_NOATIME);

        return fd < 0 && errno == EPERM ? openat(root, path, flags)
                                        : fd; /* another user's file: only its owner may use O_NOATIME */
}

static bool same_file(const struct stat *a, const struct stat *b)
{
        return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
               a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
               a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Hashes as many bytes as the first fstat reports. *ret_stable: the file was unchanged afterwards. False with
 * errno. */
static bool hash_once(int fd, Entry *entry, char *buffer, bool *ret_stable)
{
        struct stat before, after;
        HashState state;
        guint64 at = 0;

        if (fstat(fd, &before) < 0)
                return false;
        if (!S_ISREG(before.st_mode)) {
                errno = EINVAL;
                return false;
        }
        hash_init(&state);
        while (at < (guint64)before.st_size) {
                gssize got = read_at(fd, buffer, MIN(PIECE, (guint64)before.st_size - at), at);

                if (got < 0)
                        return false;
                if (got == 0)
                        break;
                hash_update(&state, buffer, (gsize)got);
                at += (guint64)got;
        }
        if (fstat(fd, &after) < 0)
                return false;
        hash_final(&state, entry->hash);
        entry->size = at;
        *ret_stable = at == (guint64)before.st_size && same_file(&before, &after);
        return true;
}

static bool hash_entry(int root, Entry *entry, char *buffer, GError **error)
{
        fd_auto int fd = open_file(root, entry->path);

        if (fd < 0)
                return entry_error(error, errno, entry->path);
        for (int i = 0; i < TRIES; i++) {
                bool stable = false;

                if (!hash_once(fd, entry, buffer, &stable))
                        return entry_error(error, errno, entry->path);
                if (stable)
                        return true;
        }
        return err_set(error, ERR_CONFLICT,
                       "'%s' changes while it is read\nTry again when nothing writes to it, or leave it out "
                       "by a line in .paddleignore.",
                       entry->path);
}

static void hashing_fail(Hashing *hashing, GError *failure)
{
        g_mutex_lock(&hashing->lock);
        if (hashing->error)
                g_error_free(failure);
        else
                hashing->error = failure;
        g_mutex_unlock(&hashing->lock);
        g_atomic_int_set(&hashing->next, (int)hashing->files->len); /* stops the other threads */
}

static void hash_some(Hashing *hashing, bool reports)
{
        g_autofree char *buffer = g_malloc(PIECE);

        for (;;) {
                guint i = (guint)g_atomic_int_add(&hashing->next, 1);
                GError *failure = NULL;
                Entry *entry;

                if (i >= hashing->files->len)
                        return;
                entry = hashing->files->pdata[i];
                if (!hash_entry(hashing->root, entry, buffer, &failure)) {
                        hashing_fail(hashing, failure);
                        return;
                }
                g_atomic_int_inc(&hashing->done);
                __atomic_add_fetch(&hashing->bytes, entry->size, __ATOMIC_RELAXED);
                if (reports && hashing->progress)
                        hashing->progress((guint64)g_atomic_int_get(&hashing->done),
                                          __atomic_load_n(&hashing->bytes, __ATOMIC_RELAXED), hashing->arg);
        }
}

static gpointer hash_thread(gpointer arg)
{
        hash_some(arg, false);
        return NULL;
}

static bool hash_all(Hashing *hashing, guint64 bytes, GError **error)
{
        guint wanted =
                bytes < THREADS_FROM ? 1 : MIN(MIN(g_get_num_processors(), THREADS_MAX), hashing->files->len);
        GThread *threads[THREADS_MAX];
        guint started = 0;

        while (started + 1 < wanted &&
               (threads[started] = g_thread_try_new("hash", hash_thread, hashing, NULL)))
                started++;
        hash_some(hashing, true);
        while (started > 0)
                g_thread_join(threads[--started]);
        if (hashing->error) {
                g_propagate_error(error, hashing->error);
                return false;
        }
        if (hashing->progress && hashing->files->len > 0)
                hashing->progress((guint64)hashing->done, hashing->bytes, hashing->arg);
        return true;
}

static bool hash_files(Walk *walk, PackProgress progress, void *arg, GError **error)
{
        g_autoptr(GPtrArray) files = g_ptr_array_new();
        Hashing hashing = { .root = walk->root, .files = files, .progress = progress, .arg = arg };
        bool ok;

        for (guint i = 0; i < walk->manifest->entries->len; i++)
                if (((Entry *)walk->manifest->entries->pdata[i])->kind == ENTRY_FILE)
                        g_ptr_array_add(files, walk->manifest->entries->pdata[i]);
        g_mutex_init(&hashing.lock);
        ok = hash_all(&hashing, walk->bytes, error);
        g_mutex_clear(&hashing.lock);
        return ok;
}

static bool pack(Walk *walk, PackProgress progress, void *arg, GError **error)
{
        if (!walk_dir(walk, "", error))
                return false;
        if (walk->bytes > PACKAGE_BYTES_MAX) {
                g_autofree char *size = g_format_size_full(walk->bytes, G_FORMAT_SIZE_IEC_UNITS);

                return err_set(
                        error, ERR_TOO_LARGE,
                        "%s; a package holds at most 16 GiB\nLeave some out by .paddleignore, or put data "
                        "into storage with `paddle upload`.",
                        size);
        }
        return hash_files(walk, progress, arg, error) && manifest_seal(walk->manifest, error);
}

Manifest *manifest_of_rules(const char *dir, IgnoreRules *rules, PackProgress progress, void *arg,
                            GError **error)
{
        fd_auto int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_autoptr(Manifest) manifest = manifest_new();
        Walk walk = { .root = root, .rules = rules, .manifest = manifest };

        if (root < 0) {
                err_set_errno(error, errno, "cannot open directory '%s'", dir);
                return NULL;
        }
        if (!pack(&walk, progress, arg, error)) {
                err_prefix(error, "package '%s': ", dir);
                return NULL;
        }
        return g_steal_pointer(&manifest);
}

Manifest *manifest_of_directory(const char *dir, PackProgress progress, void *arg, GError **error)
{
        g_autoptr(IgnoreRules) rules = ignore_new();

        return manifest_of_rules(dir, rules, progress, arg, error);
}
