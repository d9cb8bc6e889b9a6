/* Mounts of a job (see mounts.h). */
#include "engine/mounts.h"

#include <string.h>

#include "base/err.h"
#include "engine/slots.h"
#include "engine/state.h"

/* The directory of a file system of `user`, and what else a runtime needs. The home has no root here: each runtime
 * knows where homes are. */
static bool find_place(const Catalog *catalog, const char *user, const char *name, FilesystemPlace *place,
                       TaskMount *ret, GError **error)
{
        if (strcmp(name, FILESYSTEM_HOME) == 0)
                return true;
        if (!catalog_filesystem_place(catalog, "", user, name, place, error))
                return false;
        ret->root = place->root;
        ret->claim = place->claim;
        ret->namespace = place->namespace;
        ret->read_only |= place->read_only;
        return true;
}

bool mounts_find(const Catalog *catalog, const Spec *spec, const char *user, JobMounts *ret, GError **error)
{
        guint n = spec->mounts ? g_strv_length(spec->mounts) : 0;

        *ret = (JobMounts){ 0 };
        if (n == 0)
                return true;
        ret->list = g_new0(TaskMount, n);
        ret->parts = g_new0(Mount, n);
        ret->places = g_new0(FilesystemPlace, n);
        for (; ret->n < (int)n; ret->n++) {
                Mount *mount = &ret->parts[ret->n];
                TaskMount *found = &ret->list[ret->n];

                mount_split(spec->mounts[ret->n], mount);
                *found = (TaskMount){
                        .fs = mount->fs, .sub = mount->sub, .path = mount->path, .read_only = mount->read_only
                };
                if (!find_place(catalog, user, mount->fs, &ret->places[ret->n], found, error)) {
                        mount_clear(mount);
                        return err_prefix(error, "mounts[%d].fs: ", ret->n);
                }
        }
        return true;
}

void mounts_clear(JobMounts *mounts)
{
        for (int i = 0; i < mounts->n; i++) {
                mount_clear(&mounts->parts[i]);
                filesystem_place_clear(&mounts->places[i]);
        }
        g_free(mounts->parts);
        g_free(mounts->places);
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

/* ---- who uses a file system ---- */

/* A job may mount a file system at several paths. */
static bool is_first_of_its_fs(char *const *mounts, char *const *mount)
{
        size_t len = strcspn(*mount, ":") + 1;

        for (; mounts < mount; mounts++)
                if (strncmp(*mounts, *mount, len) == 0)
                        return false;
        return true;
}

void mounts_count(Engine *engine, const Job *job, int change)
{
        for (char **mount = job->spec->mounts; mount && *mount; mount++) {
                char *key;
                int n;

                if (!is_first_of_its_fs(job->spec->mounts, mount))
                        continue;
                key = g_strdup_printf("%s/%.*s", job->user, (int)strcspn(*mount, ":"), *mount);
                n = GPOINTER_TO_INT(g_hash_table_lookup(engine->mounted, key)) + change;
                if (n > 0) {
                        g_hash_table_replace(engine->mounted, key, GINT_TO_POINTER(n));
                } else {
                        g_hash_table_remove(engine->mounted, key);
                        g_free(key);
                }
        }
}

char *mounts_use(const Engine *engine, const char *user, const char *fs)
{
        g_autofree char *key = g_strdup_printf("%s/%s", user, fs);
        int n = GPOINTER_TO_INT(g_hash_table_lookup(engine->mounted, key));

        return n > 0 ? g_strdup_printf("mounted by %d open job%s", n, n == 1 ? "" : "s") : NULL;
}
