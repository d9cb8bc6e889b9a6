/* The directories of jobs (see workdir.h). */
#include "runtime/local/workdir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "fs/package.h"

char *workdir_job(const char *state_dir, const char *job_id)
{
        return g_strdup_printf("%s/jobs/%.2s/%s", state_dir, job_id, job_id);
}

char *workdir_attempt(const char *state_dir, const char *job_id, int attempt)
{
        return g_strdup_printf("%s/jobs/%.2s/%s/%d", state_dir, job_id, job_id, attempt);
}

/* mkdir -p from the far end, since most often only that is missing. */
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

bool workdir_make_empty(const char *attempt_dir, Spares *spares, GError **error)
{
        g_autofree char *dir = g_strdup(attempt_dir);
        g_autofree char *work = g_strconcat(attempt_dir, "/work", NULL);

        if (access(work, F_OK) == 0)
                return true;
        /* attempt, id, xx; jobs/ itself was made at the start */
        if (!make_dir(dir, 3) || (!spares_take(spares, work) && !make_dir(work, 0)))
                return err_set_errno(error, errno, "cannot make the work directory '%s'", work);
        return true;
}

bool workdir_exists(const char *attempt_dir)
{
        g_autofree char *work = g_strconcat(attempt_dir, "/work", NULL);

        return access(work, F_OK) == 0;
}

/* `path` stands before the copy begins, so that workdir_remove_empty() sees a copy that was broken off. */
static bool link_name(const char *attempt_dir, const char *name, GError **error)
{
        g_autofree char *dir = g_strconcat(attempt_dir, "/path", NULL);
        g_autofree char *link = g_build_filename(dir, name, NULL);

        if (!file_mkdirs(dir, 0755, error))
                return false;
        if (!name || !*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
                return true; /* no name of a module */
        if (symlink("../work", link) < 0 && errno != EEXIST)
                return err_set_errno(error, errno, "cannot link '%s'", link);
        return true;
}

bool workdir_make_copy(const char *attempt_dir, const char *package, const char *name, GError **error)
{
        g_autofree char *work = g_strconcat(attempt_dir, "/work", NULL);
        g_autofree char *copy = g_strconcat(attempt_dir, "/work.new", NULL);

        if (!link_name(attempt_dir, name, error) || !file_remove_tree(copy, error) ||
            !package_copy(package, copy, error))
                return false;
        if (rename(copy, work) < 0)
                return err_set_errno(error, errno, "cannot rename '%s' to '%s'", copy, work);
        return true;
}

bool workdir_remove_empty(const char *attempt_dir, Spares *spares)
{
        g_autofree char *work = g_strconcat(attempt_dir, "/work", NULL);
        g_autofree char *path = g_strconcat(attempt_dir, "/path", NULL);

        return (spares_give(spares, work) || rmdir(work) == 0 || errno == ENOENT) && access(path, F_OK) < 0;
}

bool workdir_remove(const char *attempt_dir, GError **error)
{
        static const char *const parts[] = { "/path", "/work.new", "/work" };

        for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
                g_autofree char *path = g_strconcat(attempt_dir, parts[i], NULL);

                if (!file_remove_tree(path, error))
                        return false;
        }
        return true;
}

bool workdir_link_environment(const char *state_dir, const char *job_id, const char *key, GError **error)
{
        g_autofree char *job = workdir_job(state_dir, job_id);
        g_autofree char *link = g_strconcat(job, "/environment", NULL);
        g_autofree char *target = g_strdup_printf("../../../envs/%s", key);

        if (symlink(target, link) == 0)
                return true;
        if (errno == ENOENT && make_dir(job, 2) && symlink(target, link) == 0)
                return true;
        if (errno == EEXIST) { /* prepared again, perhaps under other settings */
                g_autofree char *fresh = g_strconcat(link, ".new", NULL);

                (void)unlink(fresh); /* of a server that died here; a failure shows in symlink() */
                if (symlink(target, fresh) == 0 && rename(fresh, link) == 0)
                        return true;
        }
        return err_set_errno(error, errno, "cannot link '%s'", link);
}

char *workdir_environment(const char *state_dir, const char *job_id)
{
        g_autofree char *job = workdir_job(state_dir, job_id);
        g_autofree char *link = g_strconcat(job, "/environment", NULL);
        char target[256]; /* "../../../envs/" and a key */
        ssize_t len = readlink(link, target, sizeof target - 1);
        const char *slash;

        if (len < 0)
                return NULL;
        target[len] = '\0';
        slash = strrchr(target, '/');
        return slash ? g_strdup(slash + 1) : NULL;
}
