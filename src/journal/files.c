/* The journal's two files (see journal.h): the only file of the journal that touches the disk. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "journal/journal.h"
#include "sched/line.h"

enum { BUFFER = 64 * 1024 };

typedef struct {
        char *older, *newer; /* paths */
        int fd;
} Files;

static bool files_begin(void *arg, GError **error)
{
        Files *files = arg;

        if (files->fd >= 0)
                close(files->fd);
        files->fd = -1;
        if (rename(files->newer, files->older) < 0 && errno != ENOENT)
                return err_set_errno(error, errno, "cannot rename '%s' to '%s'", files->newer, files->older);
        files->fd = open(files->newer, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (files->fd < 0)
                return err_set_errno(error, errno, "cannot make '%s'", files->newer);
        return true;
}

static bool files_write(void *arg, const char *text, gsize len, GError **error)
{
        Files *files = arg;

        if (!file_write_all(files->fd, text, len, error))
                return err_prefix(error, "'%s': ", files->newer);
        return true;
}

static void files_free(void *arg)
{
        Files *files = arg;

        if (files->fd >= 0)
                close(files->fd);
        g_free(files->older);
        g_free(files->newer);
        g_free(files);
}

bool journal_files(const char *dir, JournalSink *ret, GError **error)
{
        Files *files;

        if (!file_mkdirs(dir, 0700, error))
                return false;
        files = g_new0(Files, 1);
        files->older = g_build_filename(dir, "journal.0", NULL);
        files->newer = g_build_filename(dir, "journal.1", NULL);
        files->fd = -1;
        *ret = (JournalSink){ .begin = files_begin, .write = files_write, .free = files_free, .arg = files };
        return true;
}

static int open_one(const char *dir, const char *name)
{
        g_autofree char *path = g_build_filename(dir, name, NULL);

        return open(path, O_RDONLY | O_CLOEXEC);
}

static bool same_file(int one, int other)
{
        struct stat a, b;

        return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool read_all(int fd, const char *dir, GString *out, GError **error)
{
        char buffer[BUFFER];
        ssize_t n;

        while ((n = read(fd, buffer, sizeof(buffer))) != 0) {
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return err_set_errno(error, errno, "cannot read the journal in '%s'", dir);
                if (out->len + (gsize)n > JOURNAL_READ_MAX)
                        return err_set(error, ERR_TOO_LARGE, "the journal in '%s' has more than %d MiB", dir,
                                       JOURNAL_READ_MAX >> 20);
                g_string_append_len(out, buffer, n);
        }
        return true;
}

/* The generation before may have been cut by a crash: in a line, which goes, or in its dump, and then all of
 * it does. */
static void trim(GString *text)
{
        const char *dump = strstr(text->str, "\ndump "), *at;
        gint64 len = 0;
        char *end;

        end = memrchr(text->str, '\n', text->len);
        g_string_truncate(text, end ? (gsize)(end + 1 - text->str) : 0);
        at = dump ? memchr(dump + 1, '\n', text->len - (gsize)(dump + 1 - text->str)) : NULL;
        if (at) {
                Line line = { .at = dump + strlen("\ndump "), .end = at };

                if (line_int(&line, 0, JOURNAL_READ_MAX, &len) && at + 1 + len < text->str + text->len)
                        return;
        }
        g_string_truncate(text, 0);
}

bool journal_read(const char *dir, char **ret, gsize *ret_len, GError **error)
{
        g_autoptr(GString) text = g_string_new(NULL);
        fd_auto int newer = open_one(dir, "journal.1");
        fd_auto int older =
                open_one(dir, "journal.0"); /* after it: the same file when one began in between */

        if (older < 0 && newer < 0)
                return err_set(error, ERR_NOT_FOUND, "there is no journal in '%s'", dir);
        if (older >= 0 && !same_file(older, newer)) {
                if (!read_all(older, dir, text, error))
                        return false;
                trim(text);
        }
        if (newer >= 0 && !read_all(newer, dir, text, error))
                return false;
        *ret_len = text->len;
        *ret = g_string_free(g_steal_pointer(&text), FALSE);
        return true;
}
