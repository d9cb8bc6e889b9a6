/* Times and contents of trees of files (see tree-sum.h). */
#include "fs/tree-sum.h"

#include <stdarg.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/err.h"

#define TIMES_HINT "; `fingerprint: time` compares their times instead"

typedef struct {
        const TreeSum *sum;
        GChecksum *digest; /* NULL: times */
        gint64 newest;     /* ns */
        gint64 until;      /* monotonic ms */
        gint64 left;       /* bytes of the file that is read, as its size says */
        char *why;         /* it is not known; or NULL */
} Walk;

/* ---- what is not known ---- */

/* Returns false. */
static bool G_GNUC_PRINTF(2, 3) set_unknown(Walk *walk, const char *format, ...)
{
        g_autofree char *text = NULL;
        va_list args;

        va_start(args, format);
        text = g_strdup_vprintf(format, args);
        va_end(args);
        if (!walk->why)
                walk->why = g_utf8_make_valid(text, -1);
        return false;
}

static bool set_unknown_path(Walk *walk, const char *path, const char *what)
{
        g_autofree char *shown = err_shown(path);

        return set_unknown(walk, "'%.300s' %s", shown, what);
}

static bool set_changed(Walk *walk, const char *path)
{
        return set_unknown_path(walk, path, "changed while it was read");
}

/* What was seen a moment ago is gone. */
static bool note_lost(Walk *walk, const char *path, GError **error)
{
        if (!error || !err_is(*error, ERR_NOT_FOUND))
                return false;
        g_clear_error(error);
        return set_changed(walk, path);
}

static bool is_in_time(Walk *walk)
{
        return clock_monotonic_ms() <= walk->until ||
               set_unknown(walk, "reading them took more than %d minutes%s", TREE_MS_MAX / 60000,
                           walk->digest ? TIMES_HINT : "");
}

static bool go_on(Walk *walk, GError **error)
{
        if (!cancel_check())
                return err_set(error, ERR_UNAVAILABLE, "the request has been cancelled");
        return is_in_time(walk);
}

/* ---- files ---- */

static void add(Walk *walk, const char *text)
{
        if (walk->digest)
                g_checksum_update(walk->digest, (const guchar *)text, (gssize)strlen(text) + 1);
}

static bool take(void *arg, const void *data, gsize len)
{
        Walk *walk = arg;

        walk->left -= (gint64)len;
        if (walk->left < 0) /* it grows, perhaps for ever */
                return false;
        g_checksum_update(walk->digest, data, (gssize)len);
        return is_in_time(walk);
}

static bool is_same(const VfsStat *a, const VfsStat *b)
{
        return a->device == b->device && a->inode == b->inode && a->size == b->size &&
               a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

/* False: it is not what it was before it was read. */
static bool check_unchanged(Walk *walk, const char *path, const VfsStat *before, GError **error)
{
        VfsStat now;

        if (!vfs_stat(walk->sum->vfs, path, &now, error))
                return note_lost(walk, path, error);
        return is_same(before, &now) || set_changed(walk, path);
}

static bool add_content(Walk *walk, const char *path, const VfsStat *stat, GError **error)
{
        if (!stat->is_file)
                return set_unknown_path(walk, path, "is neither a file nor a directory" TIMES_HINT);
        if (stat->size > walk->sum->budget->bytes)
                return set_unknown(walk, "they have more than %lld GiB" TIMES_HINT, TREE_BYTES_MAX >> 30);
        walk->sum->budget->bytes -= stat->size;
        walk->left = stat->size;
        if (!vfs_scan(walk->sum->vfs, path, take, walk, error))
                return note_lost(walk, path, error);
        if (walk->left != 0)
                (void)set_changed(walk, path);
        return !walk->why && check_unchanged(walk, path, stat, error);
}

/* The size keeps the end of one file apart from the begin of the next. */
static bool add_file(Walk *walk, const char *path, const VfsStat *stat, GError **error)
{
        g_autofree char *head = g_strdup_printf("f%" G_GINT64_FORMAT, stat->size);

        add(walk, head);
        return !walk->digest || add_content(walk, path, stat, error);
}

/* ---- directories ---- */

static bool add_dir(Walk *walk, const char *path, const VfsStat *stat, guint depth, GError **error);

static bool add_found(Walk *walk, const char *path, const VfsStat *stat, guint depth, GError **error)
{
        walk->newest = MAX(walk->newest, stat->mtime_ns);
        if (!go_on(walk, error))
                return false;
        return stat->is_dir ? add_dir(walk, path, stat, depth + 1, error) : add_file(walk, path, stat, error);
}

/* A link that is not followed counts with the path that it names: it may lead elsewhere later. */
static bool add_target(Walk *walk, const char *path, GError **error)
{
        g_autofree char *target = NULL, *head = NULL;

        if (!walk->digest)
                return true;
        target = vfs_read_link(walk->sum->vfs, path, error);
        if (!target)
                return note_lost(walk, path, error);
        head = g_strdup_printf("t%zu", strlen(target));
        add(walk, head);
        add(walk, target);
        return true;
}

/* A link counts with the content of the file that it leads to, if that is one of this file system. */
static bool add_link(Walk *walk, const char *path, const VfsStat *link, guint depth, GError **error)
{
        VfsStat stat;

        walk->newest = MAX(walk->newest, link->mtime_ns);
        add(walk, "l");
        if (!vfs_stat(walk->sum->vfs, path, &stat, NULL) || stat.is_dir)
                return add_target(walk, path, error);
        return add_found(walk, path, &stat, depth, error);
}

static bool add_entry(Walk *walk, const char *path, guint depth, GError **error)
{
        VfsStat stat;

        if (!vfs_look(walk->sum->vfs, path, &stat, error))
                return note_lost(walk, path, error);
        return (stat.is_link ? add_link : add_found)(walk, path, &stat, depth, error);
}

static bool add_names(Walk *walk, const char *path, char *const *names, guint depth, GError **error)
{
        for (char *const *name = names; *name; name++) {
                g_autofree char *inner = *path ? g_strconcat(path, "/", *name, NULL) : g_strdup(*name);

                add(walk, *name);
                if (!add_entry(walk, inner, depth, error))
                        return false;
        }
        return true;
}

static bool set_too_many(Walk *walk)
{
        return set_unknown(walk, "they are more than %d files and directories", TREE_ENTRIES_MAX);
}

static char **list_names(Walk *walk, const char *path, GError **error)
{
        TreeBudget *budget = walk->sum->budget;
        GError *why = NULL;
        char **names = vfs_list(walk->sum->vfs, path, (guint)budget->entries, &why);

        if (names)
                budget->entries -= g_strv_length(names);
        else if (err_is(why, ERR_TOO_LARGE))
                (void)set_too_many(walk);
        else
                (void)note_lost(walk, path, &why);
        if (why && !walk->why)
                g_propagate_error(error, g_steal_pointer(&why));
        g_clear_error(&why);
        return names;
}

static bool add_dir(Walk *walk, const char *path, const VfsStat *stat, guint depth, GError **error)
{
        g_auto(GStrv) names = NULL;
        g_autofree char *deep =
                depth > TREE_DEPTH_MAX
                        ? g_strdup_printf("has more than %d levels of directories", TREE_DEPTH_MAX)
                        : NULL;

        if (deep)
                return set_unknown_path(walk, path, deep);
        names = list_names(walk, path, error);
        if (!names)
                return false;
        add(walk, "d");
        if (!add_names(walk, path, names, depth, error))
                return false;
        add(walk, "");
        return !walk->digest || check_unchanged(walk, path, stat, error);
}

/* ---- all ---- */

static bool add_path(Walk *walk, const char *path, GError **error)
{
        VfsStat stat;

        if (walk->sum->budget->entries-- <= 0)
                return set_too_many(walk);
        return vfs_stat(walk->sum->vfs, path, &stat, error) && add_found(walk, path, &stat, 0, error);
}

static bool add_paths(Walk *walk, char *const *paths, bool *ret_any, GError **error)
{
        for (char *const *path = paths; *path; path++) {
                if (!**path)
                        continue;
                *ret_any = true;
                if (!add_path(walk, *path, error))
                        return false;
        }
        return true;
}

static char *result_of(const Walk *walk, bool any)
{
        if (!any)
                return g_strdup("");
        return walk->digest ? g_strdup(g_checksum_get_string(walk->digest))
                            : g_strdup_printf("%" G_GINT64_FORMAT, walk->newest);
}

char *tree_sum(const TreeSum *sum, const char *paths, char **ret_why, GError **error)
{
        g_autoptr(GChecksum) digest = sum->content ? g_checksum_new(G_CHECKSUM_SHA256) : NULL;
        gint64 begun = clock_monotonic_ms();
        Walk walk = { .sum = sum, .digest = digest, .until = begun + sum->budget->ms };
        g_auto(GStrv) parts = g_strsplit(paths, ",", -1);
        bool any = false, ok = add_paths(&walk, parts, &any, error);

        sum->budget->ms -= clock_monotonic_ms() - begun;
        *ret_why = walk.why;
        return ok ? result_of(&walk, any) : NULL;
}
