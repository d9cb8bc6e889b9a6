/* The record of downloads (see downloads.h): lines "SIZE TIME PATH" are appended. If there are many, those
 * whose file has changed or is gone are dropped. */
#include "cli/downloads.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "cli/embedded.h"

enum {
        RECORD_TIDY = 1024 * 1024,     /* bytes; above it stale lines are dropped, */
        RECORD_MAX = 16 * 1024 * 1024, /* and above this the record starts empty */
};

static char *record_path(void)
{
        g_autofree char *home = embedded_home();

        return g_build_filename(home, "downloads", NULL);
}

/* ---- lines ---- */

typedef struct {
        guint64 size;
        gint64 mtime_ns;
        const char *path; /* in the line */
} Line;

static bool line_parse(const char *text, Line *ret)
{
        char *end = NULL;

        ret->size = g_ascii_strtoull(text, &end, 10);
        if (end == text || *end != ' ')
                return false;
        text = end + 1;
        ret->mtime_ns = g_ascii_strtoll(text, &end, 10);
        ret->path = end + 1;
        return end != text && *end == ' ' && end[1] == '/';
}

static bool is_as_noted(const Line *line)
{
        struct stat st;

        return lstat(line->path, &st) == 0 && S_ISREG(st.st_mode) && (guint64)st.st_size == line->size &&
               file_mtime_ns(&st) == line->mtime_ns;
}

/* The path with links in its directories resolved; the file itself is not followed. */
static char *real_path(const char *path)
{
        g_autofree char *dir = g_path_get_dirname(path), *name = g_path_get_basename(path);
        g_autofree char *real = NULL;
        char *found = realpath(dir, NULL);

        real = g_strdup(found);
        free(found);
        return real ? g_build_filename(real, name, NULL) : NULL;
}

static void append_line(GString *text, const char *path)
{
        g_autofree char *real = real_path(path);
        struct stat st;

        if (real && !strchr(real, '\n') && lstat(real, &st) == 0)
                g_string_append_printf(text, "%" G_GUINT64_FORMAT " %" G_GINT64_FORMAT " %s\n",
                                       (guint64)st.st_size, file_mtime_ns(&st), real);
}

/* ---- the file ---- */

static void tidy(const char *record)
{
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;
        g_autoptr(GString) kept = g_string_new(NULL);

        if (!file_read(record, RECORD_MAX, &text, NULL, NULL)) {
                (void)unlink(record);
                return;
        }
        lines = g_strsplit(text, "\n", -1);
        for (char **at = lines; *at; at++) {
                Line line;

                if (line_parse(*at, &line) && is_as_noted(&line))
                        g_string_append_printf(kept, "%s\n", *at);
        }
        (void)file_replace(record, kept->str, kept->len, 0600, false, NULL);
}

void downloads_note(const GPtrArray *paths)
{
        g_autofree char *record = record_path(), *dir = g_path_get_dirname(record);
        g_autoptr(GString) text = g_string_new(NULL);
        fd_auto int fd = -1;
        struct stat st;

        for (guint i = 0; i < paths->len; i++)
                append_line(text, paths->pdata[i]);
        if (text->len == 0 || !file_mkdirs(dir, 0700, NULL))
                return;
        fd = open(record, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return;
        (void)!write(fd, text->str, text->len); /* a partial line is ignored */
        if (fstat(fd, &st) == 0 && st.st_size > RECORD_TIDY)
                tidy(record);
}

void downloads_leave_out(IgnoreRules *rules, const char *dir)
{
        g_autofree char *record = record_path(), *text = NULL, *root = NULL;
        char *real = realpath(dir, NULL);
        g_auto(GStrv) lines = NULL;
        Line line;

        root = real ? g_strconcat(real, "/", NULL) : NULL;
        free(real);
        if (!root || !file_read(record, RECORD_MAX, &text, NULL, NULL))
                return;
        lines = g_strsplit(text, "\n", -1);
        for (char **at = lines; *at; at++)
                if (line_parse(*at, &line) && g_str_has_prefix(line.path, root))
                        ignore_add_foreign(rules, line.path + strlen(root), line.size, line.mtime_ns);
}
