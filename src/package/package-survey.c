/* Survey of the store of packages: owners, sizes and unused things (storage/survey.h). A package counts in
 * full to each of its owners; a content counts once to each owner, in however many packages it is. A tree
 * itself has only directories and copies of executable files. */
#include "package/package-survey.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/keyed-hash.h"
#include "package/package-owner.h"
#include "storage/hash.h"
#include "storage/weigh.h"

typedef struct {
        PackageStore *store;
        Survey *survey;
        GHashTable *packages; /* hash -> Package: those with an owner */
        GHashTable *wanted;   /* contents that a user has sent, or that an owned package contains; a set */
        GHashTable *offered;  /* manifests of offers; a set */
} Look;

typedef struct {
        gint64 used; /* the last use by any of its owners */
        char *user;  /* its only owner; NULL: several */
} Package;

static void package_free(gpointer data)
{
        Package *package = data;

        g_free(package->user);
        g_free(package);
}

static bool is_stopped(const Survey *survey)
{
        return survey->config->stopped && survey->config->stopped(survey->config->arg);
}

/* The largest size on disk of a file with this many bytes. */
static gint64 on_disk(guint64 size)
{
        return (gint64)((size + 4095) / 4096 * 4096);
}

/* ---- owners ---- */

static void add_owner(Look *look, const char *user, const char *hash, gint64 used)
{
        Package *package = g_hash_table_lookup(look->packages, hash);

        if (!package) {
                package = g_new0(Package, 1);
                package->user = g_strdup(user);
                g_hash_table_insert(look->packages, g_strdup(hash), package);
        } else {
                g_clear_pointer(&package->user, g_free);
        }
        package->used = MAX(package->used, used);
}

/* Adds the package's own size, and that of contents not in `seen`. */
static void add_package(Look *look, const char *hash, GHashTable *seen, Weight *weight)
{
        g_autoptr(Manifest) manifest = manifest_recall(look->store, hash, NULL);
        ManifestCost cost;

        if (!manifest)
                return;
        cost = manifest_cost(manifest);
        weight->bytes += cost.tree_bytes;
        weight->files += cost.tree_files;
        for (guint i = 0; i < manifest->entries->len; i++) {
                const Entry *entry = manifest->entries->pdata[i];

                if (entry->kind != ENTRY_FILE || !g_hash_table_add(seen, g_strdup(entry->hash)))
                        continue;
                g_hash_table_add(look->wanted, g_strdup(entry->hash));
                weight->bytes += on_disk(entry->size);
                weight->files++;
        }
}

static void add_sent(Look *look, const char *user, GHashTable *seen)
{
        g_autoptr(GArray) marks = owner_marks(look->store, user, OWNED_SENT);

        for (guint i = 0; i < marks->len; i++) {
                const char *hash = g_array_index(marks, OwnerMark, i).hash;
                g_autofree char *blob = blob_name(hash);
                struct stat st;

                g_hash_table_add(look->wanted, g_strdup(hash));
                if (g_hash_table_add(seen, g_strdup(hash)) &&
                    fstatat(look->store->root, blob, &st, AT_SYMLINK_NOFOLLOW) == 0)
                        survey_count(look->survey, user, DISK_UPLOADS, (gint64)st.st_blocks * 512, 1);
        }
}

static void add_offered(Look *look, const char *user)
{
        g_autoptr(GArray) marks = owner_marks(look->store, user, OWNED_OFFERED);

        for (guint i = 0; i < marks->len; i++) {
                const char *hash = g_array_index(marks, OwnerMark, i).hash;
                g_autofree char *text = g_build_filename("manifests", hash, NULL);
                struct stat st;

                g_hash_table_add(look->offered, g_strdup(hash));
                if (fstatat(look->store->root, text, &st, AT_SYMLINK_NOFOLLOW) == 0)
                        survey_count(look->survey, user, DISK_UPLOADS, (gint64)st.st_blocks * 512, 1);
        }
}

static bool look_at_owner(Look *look, const char *user)
{
        g_autoptr(GHashTable) seen = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        g_autoptr(GArray) marks = owner_marks(look->store, user, OWNED_PACKAGE);
        Weight weight = { 0 };

        for (guint i = 0; i < marks->len; i++) {
                const OwnerMark *mark = &g_array_index(marks, OwnerMark, i);

                if (is_stopped(look->survey))
                        return false;
                add_owner(look, user, mark->hash, mark->time);
                add_package(look, mark->hash, seen, &weight);
        }
        survey_count(look->survey, user, DISK_PACKAGES, weight.bytes, weight.files);
        add_sent(look, user, seen);
        add_offered(look, user);
        return true;
}

static bool look_at_owners(Look *look)
{
        g_autofree char *path = g_build_filename(look->store->dir, "owners", NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *user;

        while (dir && (user = g_dir_read_name(dir)))
                if (!look_at_owner(look, user))
                        return false;
        return true;
}

/* ---- partial uploads, contents, trees ---- */

static void look_at_pieces(Look *look)
{
        g_autofree char *path = g_build_filename(look->store->dir, "upload", NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *user, *hash;

        while (dir && (user = g_dir_read_name(dir))) {
                g_autofree char *below = g_build_filename(path, user, NULL);
                g_autoptr(GDir) pieces =
                        g_str_has_prefix(user, "staging.") ? NULL : g_dir_open(below, 0, NULL);

                while (pieces && (hash = g_dir_read_name(pieces))) {
                        g_autofree char *piece = g_build_filename(below, hash, NULL);
                        g_autofree char *name = g_build_filename("packages/upload", user, hash, NULL);
                        struct stat st;
                        GcThing *thing;

                        if (lstat(piece, &st) < 0)
                                continue;
                        survey_count(look->survey, user, DISK_UPLOADS, (gint64)st.st_blocks * 512, 1);
                        thing = survey_note(look->survey, GC_PIECE, name, user);
                        thing->bytes = (gint64)st.st_blocks * 512;
                        thing->files = 1;
                        thing->used = file_mtime_ms(&st);
                }
        }
}

/* Files in `below` that are named by hashes, and whether they are needed. */
static bool look_at_files(Look *look, const char *below, GcKind kind,
                          bool (*is_needed)(const Look *look, const char *hash, const struct stat *st))
{
        g_autofree char *path = g_build_filename(look->store->dir, below, NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *hash;

        while (dir && (hash = g_dir_read_name(dir))) {
                g_autofree char *file = g_build_filename(path, hash, NULL);
                g_autofree char *name = g_build_filename("packages", below, hash, NULL);
                struct stat st;
                GcThing *thing;

                if (is_stopped(look->survey))
                        return false;
                if (!hash_is_valid(hash) || lstat(file, &st) < 0 || is_needed(look, hash, &st))
                        continue;
                thing = survey_note(look->survey, kind, name, NULL);
                thing->bytes = (gint64)st.st_blocks * 512;
                thing->files = 1;
                thing->used = file_mtime_ms(&st);
        }
        return true;
}

static bool content_is_needed(const Look *look, const char *hash, const struct stat *st)
{
        return st->st_nlink > 1 || g_hash_table_contains(look->wanted, hash);
}

static bool offer_is_needed(const Look *look, const char *hash, const struct stat *st)
{
        return g_hash_table_contains(look->offered, hash) || packages_have_tree(look->store, hash);
}

static bool look_at_contents(Look *look)
{
        for (int i = 0; i < 256; i++) {
                g_autofree char *below = g_strdup_printf("blobs/%02x", (unsigned)i);

                if (!look_at_files(look, below, GC_CONTENT, content_is_needed))
                        return false;
        }
        return look_at_files(look, "manifests", GC_OFFER, offer_is_needed);
}

static bool look_at_tree(Look *look, const char *hash)
{
        const SurveyConfig *config = look->survey->config;
        const WeighHow how = { .shared = true, .stopped = config->stopped, .stopped_arg = config->arg };
        const Package *package = g_hash_table_lookup(look->packages, hash);
        g_autofree char *name = g_build_filename("packages", hash, NULL);
        GcThing *thing = survey_note(look->survey, GC_PACKAGE, name, package ? package->user : NULL);
        Weight weight = { 0 };
        struct stat st;

        if (!tree_weigh(look->store->root, hash, &how, &weight))
                return false;
        thing->bytes = weight.bytes;
        thing->files = weight.files;
        if (package)
                thing->used = package->used;
        else if (fstatat(look->store->root, hash, &st, AT_SYMLINK_NOFOLLOW) == 0)
                thing->used = file_mtime_ms(&st);
        thing->used = MAX(thing->used, config->since);
        if (!look->survey->packages || g_hash_table_contains(look->survey->packages, hash))
                thing->held = "an open job has it";
        return true;
}

static bool look_at_trees(Look *look)
{
        g_autoptr(GDir) dir = g_dir_open(look->store->dir, 0, NULL);
        const char *hash;

        while (dir && (hash = g_dir_read_name(dir)))
                if (hash_is_valid(hash) && !look_at_tree(look, hash))
                        return false;
        return true;
}

static bool look_at_store(void *store, Survey *survey)
{
        Look look = { store, survey, g_hash_table_new_full(keyed_hash, g_str_equal, g_free, package_free),
                      g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL),
                      g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL) };
        bool ok = look_at_owners(&look);

        look_at_pieces(&look);
        ok = ok && look_at_contents(&look) && look_at_trees(&look);
        g_hash_table_unref(look.packages);
        g_hash_table_unref(look.wanted);
        g_hash_table_unref(look.offered);
        return ok;
}

static bool drop(void *store, GcKind kind, const char *name, gint64 since, bool *ret_gone, GError **error)
{
        return package_store_drop(store, kind, name, since, ret_gone, error);
}

static void sweep(void *store)
{
        package_store_sweep(store);
}

Surveyed package_store_surveyed(PackageStore *store)
{
        static const SurveyedOps ops = { .look = look_at_store, .drop = drop, .sweep = sweep };

        return (Surveyed){ &ops, store };
}
