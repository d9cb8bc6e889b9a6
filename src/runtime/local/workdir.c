/* The directories of jobs (see workdir.h). */
#include "runtime/local/workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "package/overlay.h"
#include "package/package.h"
#include "runtime/environment/environment.h"

/* mkdir -p from the end, since usually only the last part is missing. */
static bool make_dir(char *path, int levels)
{
        char *slash;
        bool ok;

        if (mkdir(path, 0755) == 0 || errno == EEXIST)
                return true;
        if (errno != ENOENT || levels == 0)
                return false;
        slash = strrchr(path, '/');
        *slash = '\0';
        ok = make_dir(path, levels - 1);
        *slash = '/';
        return ok && (mkdir(path, 0755) == 0 || errno == EEXIST);
}

/* Opens the attempt's directory and its two parents, through which only the server could pass so far. */
static bool open_way(const char *attempt_dir, GError **error)
{
        g_autofree char *dir = g_strdup(attempt_dir);

        for (int level = 0; level < 3; level++) {
                if (chmod(dir, 0711) < 0)
                        return err_set_errno(error, errno, "cannot change the mode of '%s'", dir);
                *strrchr(dir, '/') = '\0';
        }
        return true;
}

/* Creates the directory `name` of the attempt, which has its owner before it has its name. What a dead server
 * left unfinished is deleted first: the owner may be in it already. */
static bool make_given(const char *attempt_dir, const char *name, const Owner *owner, GError **error)
{
        g_autofree char *dir = g_build_filename(attempt_dir, name, NULL);
        g_autofree char *fresh = g_strconcat(dir, ".new", NULL);

        if (access(dir, F_OK) == 0)
                return true;
        if (!file_remove_tree(fresh, error))
                return false;
        if (mkdir(fresh, 0700) < 0)
                return err_set_errno(error, errno, "cannot make directory '%s'", fresh);
        if (!tree_give(AT_FDCWD, fresh, owner, error))
                return false;
        if (rename(fresh, dir) < 0)
                return err_set_errno(error, errno, "cannot rename '%s' to '%s'", fresh, dir);
        return true;
}

bool workdir_make_attempt(const char *attempt_dir, GError **error)
{
        g_autofree char *dir = g_strdup(attempt_dir);

        return make_dir(dir, 3) || err_set_errno(error, errno, "cannot make directory '%s'", attempt_dir);
}

static bool make_for(const char *attempt_dir, const char *name, const Owner *owner, GError **error)
{
        return workdir_make_attempt(attempt_dir, error) && open_way(attempt_dir, error) &&
               make_given(attempt_dir, name, owner, error);
}

bool workdir_make_ready(const char *attempt_dir, const Owner *owner, GError **error)
{
        return make_for(attempt_dir, "ready", owner, error);
}

bool workdir_make_empty(const char *attempt_dir, Spares *spares, const Owner *owner, GError **error)
{
        g_autofree char *dir = g_strdup(attempt_dir);
        g_autofree char *work = g_strconcat(attempt_dir, "/work", NULL);

        if (access(work, F_OK) == 0)
                return true;
        if (owner)
                return make_for(attempt_dir, "work", owner, error);
        /* attempt, id, xx; jobs/ was created at the start */
        if (!make_dir(dir, 3) || (!spares_take(spares, work) && !make_dir(work, 0)))
                return err_set_errno(error, errno, "cannot make the work directory '%s'", work);
        return true;
}

bool workdir_exists(const char *attempt_dir)
{
        g_autofree char *work = g_strconcat(attempt_dir, "/work", NULL);

        return access(work, F_OK) == 0;
}

/* `path` exists before the copy starts, so that workdir_remove_empty() finds an interrupted copy. */
static bool link_name(const char *attempt_dir, const char *name, GError **error)
{
        g_autofree char *dir = g_strconcat(attempt_dir, "/path", NULL);
        g_autofree char *link = g_build_filename(dir, name, NULL);

        if (!file_mkdirs(dir, 0755, error))
                return false;
        if (!name || !*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
                return true; /* not a valid module name */
        if (symlink("../work", link) < 0 && errno != EEXIST)
                return err_set_errno(error, errno, "cannot link '%s'", link);
        return true;
}

/* Gives the whole `path` away, before others than the server can enter it. */
static bool give_copy(const char *attempt_dir, const char *copy, const Owner *owner, GError **error)
{
        g_autofree char *path = g_strconcat(attempt_dir, "/path", NULL);

        return open_way(attempt_dir, error) && tree_give(AT_FDCWD, path, owner, error) &&
               tree_give(AT_FDCWD, copy, owner, error);
}

/* It was valid when it was stored and belongs to its user, so one of the user's jobs has changed it. */
static bool refuse_made(const WorkdirSource *source, GError *failure, GError **error)
{
        static const int spoiled[] = { ERR_INVALID, ERR_NOT_FOUND, ERR_DENIED, ERR_TOO_LARGE };

        for (gsize i = 0; i < G_N_ELEMENTS(spoiled); i++) {
                if (!err_is(failure, spoiled[i]))
                        continue;
                environment_spoil(source->made);
                err_set(error, spoiled[i],
                        "the result of the setup cannot be used: %s\nIt was changed after the setup. Submit the job again, and the setup runs again.",
                        failure->message);
                g_error_free(failure);
                return false;
        }
        g_propagate_prefixed_error(error, failure, "what the setup made cannot be used: ");
        return false;
}

static bool fill_copy(const WorkdirSource *source, const char *copy, const Owner *owner, GError **error)
{
        const OverlayFor whose = { owner ? owner->uid : (uid_t)-1, source->ledger, source->user };
        GError *failure = NULL;

        if (!(source->package ? package_copy(source->package, copy, error) : file_mkdirs(copy, 0755, error)))
                return err_prefix(error, "cannot copy the package: ");
        return !source->made || overlay_copy(source->made, copy, &whose, &failure) ||
               refuse_made(source, failure, error);
}

bool workdir_make_copy(const char *attempt_dir, const WorkdirSource *source, const Owner *owner,
                       GError **error)
{
        g_autofree char *work = g_strconcat(attempt_dir, "/work", NULL);
        g_autofree char *copy = g_strconcat(attempt_dir, "/work.new", NULL);

        g_autofree char *path = g_strconcat(attempt_dir, "/path", NULL);

        if ((owner && !file_remove_tree(path, error)) || !link_name(attempt_dir, source->name, error) ||
            !file_remove_tree(copy, error) || !fill_copy(source, copy, owner, error) ||
            (owner && !give_copy(attempt_dir, copy, owner, error)))
                return false;
        if (rename(copy, work) < 0)
                return err_set_errno(error, errno, "cannot rename '%s' to '%s'", copy, work);
        return true;
}

bool workdir_remove_empty(const char *attempt_dir, Spares *spares)
{
        g_autofree char *work = g_strconcat(attempt_dir, "/work", NULL);
        g_autofree char *path = g_strconcat(attempt_dir, "/path", NULL);
        g_autofree char *ready = g_strconcat(attempt_dir, "/ready", NULL);
        g_autofree char *tmp = g_strconcat(attempt_dir, "/tmp", NULL); /* created by the agent (sandbox.h) */

        if (spares_give(spares, work))
                return access(path, F_OK) < 0 && access(tmp, F_OK) < 0;
        return (rmdir(work) == 0 || errno == ENOENT) && (rmdir(tmp) == 0 || errno == ENOENT) &&
               access(path, F_OK) < 0 && access(ready, F_OK) < 0;
}

bool workdir_remove(const char *attempt_dir, GError **error)
{
        static const char *const parts[] = { "/path", "/ready.new", "/ready", "/work.new", "/work", "/tmp" };

        for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
                g_autofree char *path = g_strconcat(attempt_dir, parts[i], NULL);

                if (!file_remove_tree(path, error))
                        return false;
        }
        return true;
}
