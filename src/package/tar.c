/* Writes tar archives (see tar.h) with libarchive, in GNU format, which permits long names in any encoding.
 * Entries are in byte order; of the mode only the executable bit is kept. */
#include "package/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

enum { BLOCK = 64 * 1024, MODE_FILE = 0644, MODE_PROGRAM = 0755 };

typedef struct archive Archive;
static void archive_end(Archive *archive)
{
        archive_write_free(archive);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Archive, archive_end)

typedef struct archive_entry ArchiveEntry;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ArchiveEntry, archive_entry_free)

static bool check(Archive *archive, int status, const char *name, GError **error)
{
        return status == ARCHIVE_OK ||
               err_set(error, ERR_FAILED, "cannot put '%s' into an archive: %s", name,
                       archive_error_string(archive) ? archive_error_string(archive) : "unknown reason");
}

static ArchiveEntry *entry_of(const char *name, mode_t type, mode_t mode, gint64 size)
{
        ArchiveEntry *entry = archive_entry_new();

        archive_entry_set_pathname(entry, name);
        archive_entry_set_filetype(entry, type);
        archive_entry_set_perm(entry, mode);
        archive_entry_set_size(entry, size);
        archive_entry_set_mtime(entry, 0, 0);
        return entry;
}

static bool put_bytes(Archive *archive, const char *name, const void *data, gsize len, GError **error)
{
        return archive_write_data(archive, data, len) == (la_ssize_t)len ||
               check(archive, ARCHIVE_FATAL, name, error);
}

static bool put_content(Archive *archive, const char *name, int fd, gint64 size, GError **error)
{
        g_autofree char *block = g_malloc(BLOCK);

        while (size > 0) {
                ssize_t got = read(fd, block, (size_t)MIN(size, BLOCK));

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return err_set_errno(error, errno, "cannot read '%s'", name);
                if (got == 0)
                        return err_set(error, ERR_FAILED, "'%s' became shorter while it was read", name);
                if (!put_bytes(archive, name, block, (gsize)got, error))
                        return false;
                size -= got;
        }
        return true;
}

static bool put_file(Archive *archive, const char *path, const char *name, const struct stat *st,
                     GError **error)
{
        mode_t mode = st->st_mode & S_IXUSR ? MODE_PROGRAM : MODE_FILE;
        g_autoptr(ArchiveEntry) entry = entry_of(name, AE_IFREG, mode, st->st_size);
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        bool done;

        if (fd < 0)
                return err_set_errno(error, errno, "cannot open '%s'", path);
        done = check(archive, archive_write_header(archive, entry), name, error) &&
               put_content(archive, name, fd, st->st_size, error);
        close(fd);
        return done;
}

static bool put_link(Archive *archive, const char *path, const char *name, GError **error)
{
        g_autoptr(ArchiveEntry) entry = entry_of(name, AE_IFLNK, MODE_PROGRAM, 0);
        g_autofree char *target = g_file_read_link(path, error);

        if (!target)
                return false;
        archive_entry_set_symlink(entry, target);
        return check(archive, archive_write_header(archive, entry), name, error);
}

static int by_name(gconstpointer a, gconstpointer b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static GPtrArray *names_in(const char *path, GError **error)
{
        GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
        GDir *dir = g_dir_open(path, 0, error);

        if (!dir) {
                g_ptr_array_unref(names);
                return NULL;
        }
        for (const char *name; (name = g_dir_read_name(dir));)
                g_ptr_array_add(names, g_strdup(name));
        g_dir_close(dir);
        g_ptr_array_sort(names, by_name);
        return names;
}

static bool put_any(Archive *archive, const char *path, const char *name, GError **error);

static bool put_directory(Archive *archive, const char *path, const char *name, GError **error)
{
        g_autoptr(ArchiveEntry) entry = entry_of(name, AE_IFDIR, MODE_PROGRAM, 0);
        g_autoptr(GPtrArray) names = names_in(path, error);

        if (!names || !check(archive, archive_write_header(archive, entry), name, error))
                return false;
        for (guint i = 0; i < names->len; i++) {
                g_autofree char *inner = g_build_filename(path, names->pdata[i], NULL);
                g_autofree char *inner_name = g_build_filename(name, names->pdata[i], NULL);

                if (!put_any(archive, inner, inner_name, error))
                        return false;
        }
        return true;
}

static bool put_any(Archive *archive, const char *path, const char *name, GError **error)
{
        struct stat st;

        if (lstat(path, &st) < 0)
                return err_set_errno(error, errno, "cannot look at '%s'", path);
        if (S_ISDIR(st.st_mode))
                return put_directory(archive, path, name, error);
        if (S_ISLNK(st.st_mode))
                return put_link(archive, path, name, error);
        return put_file(archive, path, name, &st, error);
}

static bool put_text(Archive *archive, const TarText *text, GError **error)
{
        gsize len = strlen(text->text);
        g_autoptr(ArchiveEntry) entry = entry_of(text->name, AE_IFREG, MODE_FILE, (gint64)len);

        return check(archive, archive_write_header(archive, entry), text->name, error) &&
               put_bytes(archive, text->name, text->text, len, error);
}

static bool put_all(Archive *archive, const char *tree, const char *below, const TarText *texts,
                    GError **error)
{
        if (tree && !put_any(archive, tree, below, error))
                return false;
        for (; texts && texts->name; texts++)
                if (!put_text(archive, texts, error))
                        return false;
        return true;
}

bool tar_write(const char *path, const char *tree, const char *below, const TarText *texts, bool gzip,
               GError **error)
{
        g_autoptr(Archive) archive = archive_write_new();
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        bool done;

        if (fd < 0)
                return err_set_errno(error, errno, "cannot make '%s'", path);
        archive_write_set_format_gnutar(archive);
        if (gzip) {
                archive_write_add_filter_gzip(archive);
                (void)archive_write_set_options(archive, "gzip:!timestamp"); /* reproducible output */
        }
        done = check(archive, archive_write_open_fd(archive, fd), path, error) &&
               put_all(archive, tree, below, texts, error) &&
               check(archive, archive_write_close(archive), path, error);
        close(fd);
        return done;
}
