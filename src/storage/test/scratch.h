/* Shared by the tests of storage: a scratch directory, small files, and checks of error messages. */
#pragma once

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

static inline char *scratch_new(void)
{
        char *dir = g_dir_make_tmp("storage-test-XXXXXX", NULL);

        g_assert_nonnull(dir);
        return dir;
}

static inline void scratch_free(char *dir)
{
        g_autoptr(GError) error = NULL;

        g_assert_true(file_remove_tree(dir, &error));
        g_free(dir);
}
typedef char Scratch;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Scratch, scratch_free)

/* Writes dir/name with all directories above it. */
static inline void put(const char *dir, const char *name, const char *data, gssize len)
{
        g_autofree char *path = g_build_filename(dir, name, NULL), *above = g_path_get_dirname(path);

        g_assert_cmpint(g_mkdir_with_parents(above, 0755), ==, 0);
        g_assert_true(g_file_set_contents(path, data, len, NULL));
}

static inline char *get(const char *dir, const char *name)
{
        g_autofree char *path = g_build_filename(dir, name, NULL);
        char *text = NULL;

        (void)g_file_get_contents(path, &text, NULL, NULL); /* NULL if it does not exist */
        return text;
}

static inline guint count_names(const char *dir, const char *name)
{
        g_autofree char *path = g_build_filename(dir, name, NULL);
        GDir *stream = g_dir_open(path, 0, NULL);
        guint count = 0;

        while (stream && g_dir_read_name(stream))
                count++;
        if (stream)
                g_dir_close(stream);
        return count;
}

#define assert_refused(call, wanted, text)                                                                   \
        do {                                                                                                 \
                g_autoptr(GError) refused_ = NULL;                                                           \
                GError **error_ = &refused_;                                                                 \
                if (call)                                                                                    \
                        g_error("%s: was not refused", #call);                                               \
                if (!err_is(refused_, wanted) || !strstr(refused_->message, text))                           \
                        g_error("%s: wanted '%s', got '%s'", #call, text,                                    \
                                refused_ ? refused_->message : "no error");                                  \
        } while (0)
