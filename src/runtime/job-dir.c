/* The directories of jobs and attempts (see job-dir.h). */
#include "runtime/job-dir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

char *workdir_job(const char *state_dir, const char *job_id)
{
        return g_strdup_printf("%s/jobs/%.2s/%s", state_dir, job_id, job_id);
}

char *workdir_attempt(const char *state_dir, const char *job_id, int attempt)
{
        return g_strdup_printf("%s/jobs/%.2s/%s/%d", state_dir, job_id, job_id, attempt);
}

bool workdir_link_environment(const char *state_dir, const char *job_id, const char *key, GError **error)
{
        g_autofree char *job = workdir_job(state_dir, job_id);
        g_autofree char *link = g_strconcat(job, "/environment", NULL);
        g_autofree char *target = g_strdup_printf("../../../envs/%s", key);

        if (symlink(target, link) == 0)
                return true;
        if (errno == ENOENT && file_mkdirs(job, 0755, NULL) && symlink(target, link) == 0)
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
