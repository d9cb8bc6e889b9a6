/* The differences of two packages of the store, by their manifests (see package.h). Only files are compared: manifests list
 * no directories that matter to a job without their files. */
#include <string.h>

#include "base/err.h"
#include "package/internal.h"

typedef struct {
        json_t *list;
        guint max, total;
} Changes;

static void add(Changes *changes, const Entry *entry, const char *change)
{
        if (entry->kind == ENTRY_DIR)
                return;
        if (changes->total++ < changes->max)
                json_array_append_new(changes->list,
                                      json_pack("{s:s, s:s}", "path", entry->path, "change", change));
}

static bool is_same(const Entry *a, const Entry *b)
{
        return a->kind == b->kind && a->executable == b->executable && strcmp(a->hash, b->hash) == 0 &&
               g_strcmp0(a->target, b->target) == 0;
}

/* Both are in order of their paths. */
static void compare(const GPtrArray *was, const GPtrArray *now, Changes *changes)
{
        guint i = 0, k = 0;

        while (i < was->len || k < now->len) {
                const Entry *left = i < was->len ? was->pdata[i] : NULL,
                            *right = k < now->len ? now->pdata[k] : NULL;
                int sign = !left ? 1 : !right ? -1 : strcmp(left->path, right->path);

                if (sign < 0)
                        add(changes, left, "gone");
                else if (sign > 0)
                        add(changes, right, "new");
                else if (!is_same(left, right))
                        add(changes, right, "differs");
                i += sign <= 0;
                k += sign >= 0;
        }
}

/* What others have sent is not told apart from what is nowhere. */
static Manifest *recall(PackageStore *store, const char *user, const char *hash, GError **error)
{
        bool has = user ? package_store_has(store, user, hash) : packages_have_tree(store, hash);

        if (has)
                return manifest_recall(store, hash, error);
        err_set(error, ERR_NOT_FOUND,
                "there is no package '%s'%s%s\nA package is removed some time after it was last used.", hash,
                user ? " of " : "", user ? user : "");
        return NULL;
}

json_t *package_store_compare(PackageStore *store, const char *user, const char *was, const char *now,
                              guint max, guint *ret_total, GError **error)
{
        g_autoptr(Manifest) left = recall(store, user, was, error);
        g_autoptr(Manifest) right = left ? recall(store, user, now, error) : NULL;
        Changes changes = { .max = max };

        if (!right)
                return NULL;
        changes.list = json_array();
        compare(left->entries, right->entries, &changes);
        *ret_total = changes.total;
        return changes.list;
}
