/* Times and contents of trees of files (see tree-sum.h). */
#include "fs/tree-sum.h"

#include <string.h>

#include "base/err.h"

enum { ENTRIES_MAX = 1000 * 1000, DEPTH_MAX = 200 };

typedef struct {
        const TreeSum *sum;
        GChecksum *digest; /* NULL: times */
        gint64 newest;     /* ns */
        bool given_up;
} Walk;

static bool go_on(Walk *walk)
{
        walk->given_up |= walk->sum->go_on && !walk->sum->go_on(walk->sum->arg);
        return !walk->given_up;
}

static void add(Walk *walk, const char *text)
{
        if (walk->digest)
                g_checksum_update(walk->digest, (const guchar *)text, (gssize)strlen(text) + 1);
}

static bool take(void *arg, const void *data, gsize len)
{
        Walk *walk = arg;

        g_checksum_update(walk->digest, data, (gssize)len);
        return go_on(walk);
}

/* The size keeps the end of one file apart from the begin of the next. */
static bool add_file(Walk *walk, const char *path, const VfsStat *stat, GError **error)
{
        g_autofree char *head = g_strdup_printf("f%" G_GINT64_FORMAT, stat->size);

        add(walk, head);
        return !walk->digest || vfs_scan(walk->sum->vfs, path, take, walk, error);
}

static bool add_dir(Walk *walk, const char *path, guint depth, GError **error);

static bool add_found(Walk *walk, const char *path, const VfsStat *stat, guint depth, GError **error)
{
        walk->newest = MAX(walk->newest, stat->mtime_ns);
        if (!go_on(walk))
                return err_set(error, ERR_UNAVAILABLE, "it was given up");
        return stat->is_dir ? add_dir(walk, path, depth + 1, error) : add_file(walk, path, stat, error);
}

/* A link counts with the content of the file that it leads to, if that is one of this file system. */
static bool add_link(Walk *walk, const char *path, const VfsStat *link, guint depth, GError **error)
{
        VfsStat stat;

        walk->newest = MAX(walk->newest, link->mtime_ns);
        add(walk, "l");
        if (!vfs_stat(walk->sum->vfs, path, &stat, NULL) || stat.is_dir)
                return true;
        return add_found(walk, path, &stat, depth, error);
}

static bool add_entry(Walk *walk, const char *path, guint depth, GError **error)
{
        VfsStat stat;

        if (!vfs_look(walk->sum->vfs, path, &stat, error))
                return false;
        return (stat.is_link ? add_link : add_found)(walk, path, &stat, depth, error);
}

static bool add_dir(Walk *walk, const char *path, guint depth, GError **error)
{
        g_auto(GStrv) names = NULL;

        if (depth > DEPTH_MAX)
                return err_set(error, ERR_TOO_LARGE, "'%.300s' has more than %d levels of directories", path,
                               DEPTH_MAX);
        names = vfs_list(walk->sum->vfs, path, ENTRIES_MAX, error);
        if (!names)
                return false;
        add(walk, "d");
        for (char **name = names; *name; name++) {
                g_autofree char *inner = *path ? g_strconcat(path, "/", *name, NULL) : g_strdup(*name);

                add(walk, *name);
                if (!add_entry(walk, inner, depth, error))
                        return false;
        }
        add(walk, "");
        return true;
}

char *tree_sum(const TreeSum *sum, const char *paths, GError **error)
{
        g_autoptr(GChecksum) digest = sum->content ? g_checksum_new(G_CHECKSUM_SHA256) : NULL;
        Walk walk = { .sum = sum, .digest = digest };
        g_auto(GStrv) parts = g_strsplit(paths, ",", -1);
        bool any = false;

        for (char **path = parts; *path; path++) {
                VfsStat stat;

                if (!**path)
                        continue;
                any = true;
                if (!vfs_stat(sum->vfs, *path, &stat, error) || !add_found(&walk, *path, &stat, 0, error))
                        return NULL;
        }
        if (!any)
                return g_strdup("");
        return digest ? g_strdup(g_checksum_get_string(digest))
                      : g_strdup_printf("%" G_GINT64_FORMAT, walk.newest);
}
