/* Mounts of a job (see mounts.h). */
#include "engine/mounts.h"

#include <string.h>

#include "base/err.h"
#include "engine/slots.h"
#include "engine/state.h"

#define HOME "home" /* the file system that every user has: the home in the storage */

/* The file system of this name for `user`: its directory (NULL: the user's home), and whether it is only read. */
static bool find_filesystem(const Catalog *catalog, const char *user, const char *name, TaskMount *ret,
                            GError **error)
{
        if (strcmp(name, HOME) == 0)
                return true;
        return err_set(error, ERR_NOT_FOUND, "user '%s' has no file system '%s'\nEvery user has '%s'.", user,
                       name, HOME);
}

bool mounts_find(const Catalog *catalog, const Spec *spec, const char *user, JobMounts *ret, GError **error)
{
        guint n = spec->mounts ? g_strv_length(spec->mounts) : 0;

        *ret = (JobMounts){ 0 };
        if (n == 0)
                return true;
        ret->list = g_new0(TaskMount, n);
        ret->parts = g_new0(Mount, n);
        for (; ret->n < (int)n; ret->n++) {
                Mount *mount = &ret->parts[ret->n];
                TaskMount *found = &ret->list[ret->n];

                mount_split(spec->mounts[ret->n], mount);
                *found = (TaskMount){
                        .fs = mount->fs, .sub = mount->sub, .path = mount->path, .read_only = mount->read_only
                };
                if (!find_filesystem(catalog, user, mount->fs, found, error)) {
                        mount_clear(mount);
                        return err_prefix(error, "mounts[%d].fs: ", ret->n);
                }
        }
        return true;
}

void mounts_clear(JobMounts *mounts)
{
        for (int i = 0; i < mounts->n; i++)
                mount_clear(&mounts->parts[i]);
        g_free(mounts->parts);
        g_free(mounts->list);
        *mounts = (JobMounts){ 0 };
}

static bool check_cluster(Runtime *runtime, const char *user, const JobMounts *mounts, GError **error)
{
        g_autofree char *problem = runtime_mount_problem(runtime, user, mounts->list, mounts->n);

        return !problem || err_set(error, ERR_CONFLICT, "mounts: %s", problem);
}

bool mounts_check(Engine *engine, const Queue *queue, const Spec *spec, const char *user, GError **error)
{
        const Catalog *catalog = engine_catalog_now(engine);
        const RuntimeSlot *slot;
        JobMounts mounts;
        bool good;

        if (!spec->mounts)
                return true;
        slot = slot_of_cluster(engine, queue->cluster ? catalog_cluster(catalog, queue->cluster) : NULL);
        good = mounts_find(catalog, spec, user, &mounts, error) &&
               check_cluster(slot ? slot->runtime : NULL, user, &mounts, error);
        mounts_clear(&mounts);
        return good;
}
