/* Checks of a submission beyond the specification's own rules: paths become absolute and must belong to the
 * caller, the package must exist, and a flavour's name is replaced by its values. */
#include "api/v1/internal.h"

#include <string.h>

#include "base/err.h"
#include "model/baseline.h"
#include "storage/hash.h"

enum { KEY_MAX = 128, NAME_MAX_BYTES = 255 };

/* An input must be there; an output is made at the start, so that a job that is refused leaves nothing. */
static bool check_place(const char *name, const char *path, const char *real, bool write, GError **error)
{
        if (!write && !g_file_test(real, G_FILE_TEST_EXISTS))
                return err_set(error, ERR_NOT_FOUND,
                               "%s: '%s' does not exist\nPut it there with `paddle upload`.", name, path);
        if (write && g_file_test(real, G_FILE_TEST_IS_REGULAR))
                return err_set(error, ERR_CONFLICT, "%s: '%s' is a file, not a directory", name, path);
        return true;
}

/* Replaces a path member by its /pfs form and checks that the caller may use it. */
static bool take_path(Api *api, const HttpCaller *caller, json_t *object, const char *name, bool write,
                      GError **error)
{
        const char *text = NULL;
        StorageAccess access = { caller->user, caller->admin, write };
        g_autofree char *path = NULL, *real = NULL;

        if (!json_get_string(object, "", name, PACKAGE_PATH_MAX, &text, error))
                return false;
        if (!text)
                return true;
        path = pfs_path_normal(text, api->dc, caller->user, error);
        if (!path)
                return err_prefix(error, "%s: ", name);
        real = storage_resolve(api->storage, path, &access, false, error);
        if (!real)
                return err_prefix(error, "%s: ", name);
        if (!check_place(name, path, real, write, error))
                return false;
        json_object_set_new(object, name, json_string(path));
        return true;
}

static bool is_given(const json_t *object, const char *name)
{
        return json_object_get(object, name) && !json_is_null(json_object_get(object, name));
}

bool api_take_package(Api *api, const HttpCaller *caller, json_t *object, GError **error)
{
        const char *hash = NULL;
        g_autofree char *requirements = NULL;
        g_autoptr(GError) unreadable = NULL;

        if (!json_get_string(object, "", "package", HASH_LEN, &hash, error))
                return false;
        if (!hash)
                return true;
        if (strlen(hash) != HASH_LEN || strspn(hash, "0123456789abcdef") != HASH_LEN)
                return err_set(error, ERR_INVALID,
                               "package: '%s' is not a content hash of %d hexadecimal digits", hash,
                               HASH_LEN);
        if (!package_store_use(api->packages, caller->user, hash))
                return err_set(error, ERR_NOT_FOUND,
                               "package: '%s' is not on this server\nSend it to /v1/packages first.", hash);
        if (is_given(object, "requirements"))
                return true;
        requirements = package_store_requirements(api->packages, hash, &unreadable);
        if (unreadable) {
                g_propagate_error(error, g_steal_pointer(&unreadable));
                return false;
        }
        if (requirements)
                json_object_set_new(object, "requirements", json_string(requirements));
        return true;
}

/* The server lists the files that a setup names: a client's list is replaced. */
static bool take_setup(Api *api, json_t *object, GError **error)
{
        const char *setup = NULL, *package = json_string_value(json_object_get(object, "package"));
        g_autoptr(GError) failure = NULL;
        g_autofree char *files = NULL;

        json_object_del(object, "setup_files");
        if (!json_get_string(object, "", "setup", SPEC_SETUP_MAX, &setup, error))
                return false;
        if (!setup || !package)
                return true;
        files = package_store_setup(api->packages, package, setup, &failure);
        if (files)
                json_object_set_new(object, "setup_files", json_string(files));
        if (failure)
                g_propagate_error(error, g_steal_pointer(&failure));
        return files || !failure;
}

/* ---- flavours ---- */

static bool says_kind(const json_t *role, const char *kind)
{
        static const struct {
                const char *member, *kind;
        } members[] = { { "cpu", "cpu" }, { "memory", "memory" }, { "gpus", "nvidia.com/gpu" } };

        for (gsize i = 0; i < G_N_ELEMENTS(members); i++)
                if (strcmp(members[i].kind, kind) == 0 && is_given(role, members[i].member))
                        return true;
        return is_given(json_object_get(role, "resources"), kind);
}

/* Fills in what the role does not say itself. */
static void fill_role(json_t *role, const Flavour *flavour)
{
        g_autoptr(json_t) resources = json_object();

        if (flavour->cpu && !says_kind(role, "cpu"))
                json_object_set_new(role, "cpu", json_string(flavour->cpu));
        if (flavour->memory && !says_kind(role, "memory"))
                json_object_set_new(role, "memory", json_string(flavour->memory));
        for (char **pair = flavour->scalars; pair && *pair; pair++) {
                g_autofree char *kind = g_strndup(*pair, strcspn(*pair, "="));

                if ((*pair)[strlen(kind)] && !says_kind(role, kind))
                        json_object_set_new(resources, kind, json_string(*pair + strlen(kind) + 1));
        }
        if (json_object_size(resources) == 0)
                return;
        if (json_is_object(json_object_get(role, "resources")))
                json_object_update(resources, json_object_get(role, "resources"));
        json_object_set(role, "resources", resources);
}

static bool take_flavour(const Catalog *catalog, const char *cluster, const char *where, json_t *role,
                         GError **error)
{
        const char *name = NULL;
        const Flavour *flavour;

        if (!json_is_object(role)) /* spec_parse says what it should be */
                return true;
        if (!json_get_string(role, where, "flavour", NAME_MAX_BYTES, &name, error))
                return false;
        if (!name || !*name)
                return true;
        flavour = catalog_flavour(catalog, name);
        if (!flavour)
                return err_set(error, ERR_NOT_FOUND,
                               "%sflavour: there is no flavour '%s'\nSee `paddle flavour list`.", where,
                               name);
        if (flavour->cluster && cluster && strcmp(flavour->cluster, cluster) != 0)
                return err_set(error, ERR_INVALID,
                               "%sflavour: '%s' is of cluster '%s', and the queue's is '%s'", where, name,
                               flavour->cluster, cluster);
        fill_role(role, flavour);
        return true;
}

static const Queue *queue_of(const Catalog *catalog, const json_t *object)
{
        const char *name = json_string_value(json_object_get(object, "queue"));

        return catalog_queue(catalog, name ? name : QUEUE_DEFAULT);
}

static bool take_flavours(Api *api, json_t *object, GError **error)
{
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const Queue *queue = queue_of(catalog, object);
        json_t *roles = json_object_get(object, "roles");
        json_t *role;
        size_t i;

        json_array_foreach(roles, i, role) {
                g_autofree char *where = NULL;

                if (!json_object_get(role, "flavour"))
                        continue;
                where = g_strdup_printf("roles[%zu].", i);
                if (!take_flavour(catalog, queue ? queue->cluster : NULL, where, role, error))
                        return false;
        }
        return true;
}

/* An administrator may ask for anything. */
static bool check_origin(Api *api, const HttpCaller *caller, const json_t *object, GError **error)
{
        g_autoptr(Catalog) catalog = NULL;
        BaselinePlace place;

        if (caller->admin)
                return true;
        catalog = engine_catalog(api->engine);
        place = baseline_place(catalog, queue_of(catalog, object),
                               json_string_value(json_object_get(object, "namespace")));
        return baseline_check_origin(json_object_get(object, "origin"), &place, error);
}

/* ---- all of it ---- */

static bool key_is_valid(const char *key)
{
        if (*key == '\0' || strlen(key) > KEY_MAX)
                return false;
        for (; *key; key++)
                if (*key < 0x20 || *key > 0x7e)
                        return false;
        return true;
}

bool api_take_key(HttpRequest *request, const char **ret, GError **error)
{
        const char *key = http_request_header(request, "Idempotency-Key");

        if (key && !key_is_valid(key))
                return err_set(error, ERR_INVALID,
                               "Idempotency-Key: '%.40s' is not 1 to %d printable characters", key, KEY_MAX);
        *ret = key;
        return true;
}

/* A token of one queue submits there, and need not say so. */
static bool take_queue(const HttpCaller *caller, json_t *object, GError **error)
{
        const json_t *queue = json_object_get(object, "queue");

        if (!caller->queue || (queue && !json_is_null(queue) && !json_is_string(queue)))
                return true; /* spec_parse says what it should be */
        if (!json_is_string(queue))
                json_object_set_new(object, "queue", json_string(caller->queue));
        return auth_check_queue(caller, json_string_value(json_object_get(object, "queue")), error);
}

bool api_spec_takes_long(const Api *api, const json_t *object)
{
        const char *hash = json_string_value(json_object_get(object, "package"));

        /* a setup needs the package's manifest */
        return hash &&
               (json_object_get(object, "setup") || !package_store_knows_requirements(api->packages, hash));
}

Spec *api_take_spec(Api *api, HttpRequest *request, json_t *object, GError **error)
{
        const HttpCaller *caller = http_request_caller(request);

        if (!take_queue(caller, object, error) || !take_path(api, caller, object, "input", false, error) ||
            !take_path(api, caller, object, "output", true, error) ||
            !api_take_package(api, caller, object, error) || !take_setup(api, object, error) ||
            !take_flavours(api, object, error) || !check_origin(api, caller, object, error))
                return NULL;
        return spec_parse(object, error);
}
