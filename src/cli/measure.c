/* The size of a directory (see measure.h): names and sizes only, with the packer's rules
 * (package/ignore.h). */
#include "cli/measure.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "base/keyed-hash.h"
#include "base/number.h"
#include "cli/table.h"
#include "package/ignore.h"

enum {
        RULES_MAX = 1024 * 1024, /* bytes of an ignore file, the packer's limit */
        DEPTH_MAX = 256,         /* each level needs a descriptor; the packer's paths are shorter */
};

typedef struct {
        IgnoreRules *rules;
        Measure *measure;
        guint64 max_files;
} Walk;

void measure_clear(Measure *measure)
{
        for (int i = 0; i < MEASURE_LARGEST; i++)
                g_free(measure->largest[i].path);
        g_clear_pointer(&measure->paths, g_hash_table_unref);
        g_clear_pointer(&measure->left_out, g_ptr_array_unref);
        g_free(measure->secret);
        *measure = (Measure){ 0 };
}

static void keep_largest(Measure *measure, const char *path, guint64 bytes)
{
        int at = MEASURE_LARGEST;

        while (at > 0 && (!measure->largest[at - 1].path || measure->largest[at - 1].bytes < bytes))
                at--;
        if (at == MEASURE_LARGEST)
                return;
        g_free(measure->largest[MEASURE_LARGEST - 1].path);
        for (int i = MEASURE_LARGEST - 1; i > at; i--)
                measure->largest[i] = measure->largest[i - 1];
        measure->largest[at].path = g_strdup(path);
        measure->largest[at].bytes = bytes;
}

static void read_rules(Walk *walk, int dir, const char *base)
{
        static const char *const names[] = { ".gitignore", ".paddleignore" };

        for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
                fd_auto int fd = openat(dir, names[i], O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
                g_autofree char *path = NULL;
                g_autofree char *text = NULL;

                if (fd < 0)
                        continue;
                path = g_strdup_printf("/proc/self/fd/%d", fd);
                if (file_read(path, RULES_MAX, &text, NULL, NULL)) /* the packer reports the error */
                        ignore_add(walk->rules, base, text);
        }
}

static void walk_dir(Walk *walk, int fd, const char *base, int depth);

static void keep_path(Walk *walk, const char *path, Found found)
{
        g_hash_table_insert(walk->measure->paths, g_strdup(path), GINT_TO_POINTER(found));
}

static void take_file(Walk *walk, int dir, const char *name, const char *path)
{
        struct stat info = { 0 };

        if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
                walk->measure->bytes += (guint64)info.st_size;
                keep_largest(walk->measure, path, (guint64)info.st_size);
        }
        keep_path(walk, path, info.st_mode & S_IXUSR ? FOUND_PROGRAM : FOUND_FILE);
}

static void leave_out(Walk *walk, int dir, const char *name, const char *path, bool is_dir)
{
        Measure *measure = walk->measure;
        struct stat info = { 0 };

        if (measure->n_left_out++ < MEASURE_LEFT_OUT)
                g_ptr_array_add(measure->left_out, g_strconcat(path, is_dir ? "/" : "", NULL));
        if (!measure->secret && ignore_is_secret(walk->rules, dir, name, path, is_dir))
                measure->secret = g_strdup(path);
        if (is_dir || !ignore_is_foreign(walk->rules, dir, name, path))
                return;
        (void)fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW); /* 0 bytes if it is gone by now */
        measure->foreign_files++;
        measure->foreign_bytes += (guint64)info.st_size;
}

static void take(Walk *walk, int dir, const char *name, unsigned char type, const char *base, int depth)
{
        g_autofree char *path = *base ? g_strconcat(base, "/", name, NULL) : g_strdup(name);

        if (ignore_leaves_out(walk->rules, dir, name, path, type == DT_DIR)) {
                leave_out(walk, dir, name, path, type == DT_DIR);
                return;
        }
        if (type == DT_DIR) {
                int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

                keep_path(walk, path, FOUND_DIRECTORY);
                if (fd >= 0)
                        walk_dir(walk, fd, path, depth + 1);
                return;
        }
        if (type == DT_REG)
                take_file(walk, dir, name, path);
        else
                keep_path(walk, path, FOUND_LINK);
        if (++walk->measure->files > walk->max_files)
                walk->measure->cut = true;
}

static unsigned char type_of(int dir, const struct dirent *entry)
{
        struct stat info;

        if (entry->d_type != DT_UNKNOWN)
                return entry->d_type;
        return fstatat(dir, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0 ? DT_UNKNOWN
                                                                           : IFTODT(info.st_mode);
}

/* Takes ownership of `fd`. */
static void walk_dir(Walk *walk, int fd, const char *base, int depth)
{
        DIR *stream = depth < DEPTH_MAX ? fdopendir(fd) : NULL;
        guint rules = ignore_count(walk->rules);

        if (!stream) {
                close(fd);
                return;
        }
        read_rules(walk, fd, base);
        for (struct dirent *entry; !walk->measure->cut && (entry = readdir(stream));)
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        take(walk, fd, entry->d_name, type_of(fd, entry), base, depth);
        ignore_truncate(walk->rules, rules);
        closedir(stream);
}

bool measure_directory(const char *dir, IgnoreRules *rules, guint64 max_files, Measure *ret, GError **error)
{
        Walk walk = { .rules = rules, .measure = ret, .max_files = max_files };
        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        *ret = (Measure){ .paths = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL),
                          .left_out = g_ptr_array_new_with_free_func(g_free) };
        if (fd < 0)
                return err_set_errno(error, errno, "cannot open directory '%s'", dir);
        walk_dir(&walk, fd, "", 0);
        return true;
}

char *measure_format(const Measure *measure)
{
        g_autofree char *size = bytes_format(measure->bytes);
        g_autoptr(GString) out = g_string_new(NULL);

        g_string_append_printf(out, "%s%s in %" G_GUINT64_FORMAT " file%s", measure->cut ? "more than " : "",
                               size, measure->cut ? measure->files - 1 : measure->files,
                               measure->files == 1 ? "" : "s");
        for (int i = 0; i < MEASURE_LARGEST && measure->largest[i].path; i++) {
                g_autofree char *one = bytes_format(measure->largest[i].bytes);
                g_autofree char *path = text_visible(measure->largest[i].path);

                g_string_append_printf(out, "\n  %10s  %s", one, path);
        }
        return g_string_free(g_steal_pointer(&out), FALSE);
}
