/* File systems of requests (see job-files.h). A job sees those of its own user. */
#include "api/paddleflow/job-files.h"

#include <string.h>

#include "jobspec/job-mounts.h"

/* By its name, or its id. */
static const Filesystem *find(const Call *call, const json_t *said)
{
        const char *id = go_text(said, "id"), *name = go_text(said, "name");
        const Filesystem *found = *name ? catalog_filesystem(call->catalog, call->user, name)
                                        : catalog_filesystem_by_id(call->catalog, id);

        if (!found || strcmp(found->user, call->user) != 0)
                return NULL;
        return !*id || strcmp(found->object.id, id) == 0 ? found : NULL;
}

static bool is_said(const json_t *said)
{
        return *go_text(said, "name") || *go_text(said, "id") || *go_text(said, "mountPath");
}

/* A new reference; NULL with an error. */
static json_t *complete(const Call *call, const json_t *said, GError **error)
{
        const char *path = go_text(said, "mountPath");
        const Filesystem *found = find(call, said);
        g_autofree char *usual = NULL;

        if (strcmp(path, "/") == 0 || strcmp(path, ".") == 0 || strcmp(path, "..") == 0) {
                paddleflow_set(error, CODE_InvalidArguments, "fs: mountPath '%s' cannot be mounted on", path);
                return NULL;
        }
        if (!found) {
                paddleflow_set(error, CODE_FileSystemNotExist, "fs: '%s' has no file system '%.120s'",
                               call->user,
                               *go_text(said, "name") ? go_text(said, "name") : go_text(said, "id"));
                return NULL;
        }
        usual = job_mount_path(call->user, filesystem_name(found));
        return json_pack("{s:s, s:s, s:s, s:s, s:b}", "id", found->object.id, "name", filesystem_name(found),
                         "mountPath", *path ? path : usual, "subPath", go_text(said, "subPath"), "readOnly",
                         json_is_true(json_object_get(said, "readOnly")));
}

static bool take_extra(const Call *call, const json_t *list, JobFiles *ret, GError **error)
{
        const json_t *item;
        size_t i;

        json_array_foreach(list, i, item) {
                json_t *made;

                if (!is_said(item))
                        continue;
                made = complete(call, item, error);
                if (!made)
                        return false;
                ret->extra = ret->extra ? ret->extra : json_array();
                json_array_append_new(ret->extra, made);
        }
        return true;
}

bool job_files_take(const Call *call, const json_t *member, JobFiles *ret, GError **error)
{
        const json_t *said = json_object_get(member, "fs");

        *ret = (JobFiles){ 0 };
        if (!take_extra(call, json_object_get(member, "extraFS"), ret, error))
                return false;
        if (!is_said(said))
                return true;
        ret->fs = complete(call, said, error);
        return ret->fs != NULL;
}

void job_files_clear(JobFiles *files)
{
        g_clear_pointer(&files->fs, json_decref);
        g_clear_pointer(&files->extra, json_decref);
}

static void add(GArray *mounts, const json_t *fs)
{
        const JobMount mount = { go_text(fs, "name"), go_text(fs, "subPath"), go_text(fs, "mountPath"),
                                 json_is_true(json_object_get(fs, "readOnly")) };

        g_array_append_val(mounts, mount);
}

void job_files_add(const JobFiles *files, GArray *mounts)
{
        const json_t *item;
        size_t i;

        if (files->fs)
                add(mounts, files->fs);
        json_array_foreach(files->extra, i, item)
                add(mounts, item);
}

const char *job_files_work_dir(const JobFiles *files)
{
        const json_t *first = files->fs ? files->fs : json_array_get(files->extra, 0);

        return first ? go_text(first, "mountPath") : NULL;
}
