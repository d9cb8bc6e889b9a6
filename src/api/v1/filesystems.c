/* File systems by name over HTTP (doc/guide/rest.md). The routes are those of the catalog; here is what is special: the
 * built-in file system `home`, which is not stored, and what a URL says. */
#include "api/v1/internal.h"

#include <string.h>

#include "base/err.h"

enum { BODY_MAX = 128 * 1024 };

static void add_address(const Filesystem *filesystem, json_t *shown)
{
        g_auto(FilesystemAddress) address = { 0 };
        bool known = filesystem->url &&
                     filesystem_address_parse(filesystem->url, filesystem->properties, &address, NULL);

        json_object_set_new(shown, "type",
                            known ? json_string(filesystem_type_name(address.type)) : json_null());
        json_object_set_new(shown, "server", json_string(known ? address.server : ""));
        json_object_set_new(shown, "path", json_string(known ? address.path : ""));
}

void api_add_filesystem(Api *api, const Catalog *catalog, const Object *object, json_t *shown)
{
        const Filesystem *filesystem = (const Filesystem *)object;

        json_object_set_new(shown, "name", json_string(filesystem_name(filesystem)));
        add_address(filesystem, shown);
        json_object_set_new(shown, "built_in", json_false());
}

json_t *api_format_home(Api *api, const char *user)
{
        g_autoptr(Object) home = &filesystem_new(user, FILESYSTEM_HOME)->object;
        g_autofree char *path = g_strdup_printf("/pfs/%s/home/%s", api->dc, user);
        json_t *shown = object_format(home);

        api_add_filesystem(api, NULL, home, shown);
        json_object_set_new(shown, "type", json_string(filesystem_type_name(FILESYSTEM_HOMES)));
        json_object_set_new(shown, "path", json_string(path));
        json_object_set_new(shown, "built_in", json_true());
        return shown;
}

bool api_check_filesystem(Api *api, const char *user, const char *name, GError **error)
{
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        g_autofree char *shown = name ? err_shown(name) : NULL;

        return !name || strcmp(name, FILESYSTEM_HOME) == 0 || catalog_filesystem(catalog, user, name) ||
               err_set(error, ERR_NOT_FOUND,
                       "user '%s' has no file system '%.80s'\n`paddle fs list` shows those that there are.",
                       user, shown);
}

static bool is_home(const HttpRequest *request)
{
        return strcmp(http_request_param(request, "name"), FILESYSTEM_HOME) == 0;
}

static void show_filesystem(HttpRequest *request, void *arg)
{
        const char *user = is_home(request) ? api_whose(arg, request) : NULL;
        g_autoptr(json_t) reply = user ? api_format_home(arg, user) : NULL;

        if (reply)
                http_reply_json(request, 200, reply);
        else if (!is_home(request))
                api_show_object(request, arg);
}

/* True if the request is about another file system than `home`, which cannot be changed; else it was answered. */
static bool may_change(HttpRequest *request, Api *api, const char *what)
{
        g_autoptr(GError) error = NULL;

        if (!is_home(request))
                return true;
        if (!api_whose(api, request))
                return false;
        err_set(&error, ERR_CONFLICT, "file system '" FILESYSTEM_HOME "' is built in and cannot be %s", what);
        http_fail(request, error);
        return false;
}

static void change_filesystem(HttpRequest *request, void *arg)
{
        if (may_change(request, arg, "changed"))
                api_change_object(request, arg);
}

static void drop_filesystem(HttpRequest *request, void *arg)
{
        if (may_change(request, arg, "deleted"))
                api_drop_object(request, arg);
}

/* ---- its directory ---- */

typedef struct {
        Api *api;
        Object *object;
        char *by, *path;
        EngineDone done;
        void *arg;
} Put;

static void put_free(Put *put)
{
        object_unref(put->object);
        g_free(put->by);
        g_free(put->path);
        g_free(put);
}

/* Whether the user may use the directory is seen when it is used. */
static void note_directory(const GError *error, void *arg)
{
        Put *put = arg;
        g_autoptr(GError) refused = NULL;

        if (err_is(error, ERR_NOT_FOUND))
                err_set(&refused, ERR_CONFLICT,
                        "url: there is no directory '%.300s' on the server's machine\n"
                        "Create it there, or name one that exists.",
                        put->path);
        else if (err_is(error, ERR_UNAVAILABLE)) /* it does not answer, or the server ends */
                refused = g_error_copy(error);
        if (refused)
                put->done(NULL, false, refused, put->arg);
        else
                engine_put(put->api->engine, put->object, put->by, put->done, put->arg);
        put_free(put);
}

/* Nodes of a Kubernetes cluster may have directories that this machine has not. */
static bool has_only_this_machine(Api *api)
{
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const GPtrArray *clusters = catalog_list(catalog, KIND_CLUSTER);

        for (guint i = 0; i < clusters->len; i++)
                if (((const Cluster *)clusters->pdata[i])->type != CLUSTER_LOCAL)
                        return false;
        return true;
}

void api_put_filesystem(Api *api, const Object *was, Object *object, const char *by, EngineDone done,
                        void *arg)
{
        const Filesystem *filesystem = (const Filesystem *)object;
        g_auto(FilesystemAddress) address = { 0 };
        bool looks = (!was || g_strcmp0(((const Filesystem *)was)->url, filesystem->url) != 0) &&
                     filesystem_name_check(filesystem->user, filesystem_name(filesystem), NULL) &&
                     filesystem_check(filesystem, NULL) &&
                     filesystem_address_parse(filesystem->url, filesystem->properties, &address, NULL) &&
                     address.type == FILESYSTEM_LOCAL && has_only_this_machine(api);
        Put *put;

        if (!looks) {
                engine_put(api->engine, object, by, done, arg);
                return;
        }
        put = g_new0(Put, 1);
        *put = (Put){ .api = api,
                      .object = object_ref(object),
                      .by = g_strdup(by),
                      .path = g_strdup(address.path),
                      .done = done,
                      .arg = arg };
        engine_find_directory(api->engine, filesystem->user, filesystem_name(filesystem), put->path,
                              note_directory, put);
}

/* ---- routes ---- */

#define WHOSE "Of this user (administrators). By default the caller's."

static const HttpParameter user_query[] = { { "user", HTTP_STRING, WHOSE }, { 0 } };

static const HttpParameter list_query[] = {
        { "user", HTTP_STRING, WHOSE },
        { "limit", HTTP_INTEGER, "At most this many, 1 to 1000." },
        { "after", HTTP_STRING, "Marker of the page before." },
        { 0 },
};

const HttpRoute filesystem_routes[] = {
        { "GET", "/v1/filesystems", ACCESS_FILESYSTEM, VERB_LIST, api_list_objects,
          "List a user's file systems: `home`, then the others in order of creation.", .query = list_query,
          .reply = "FilesystemList" },
        { "POST", "/v1/filesystems", ACCESS_FILESYSTEM, VERB_CREATE, api_create_object,
          "Create a file system.", .query = user_query, .body_max = BODY_MAX, .request = "NewFilesystem",
          .reply = "Filesystem", .reply_status = 201 },
        { "GET", "/v1/filesystems/{name}", ACCESS_FILESYSTEM, VERB_SHOW, show_filesystem,
          "Show a file system.", .query = user_query, .reply = "Filesystem" },
        { "PATCH", "/v1/filesystems/{name}", ACCESS_FILESYSTEM, VERB_UPDATE, change_filesystem,
          "Change members of a file system. Null restores a default. Properties are merged by name.",
          .query = user_query, .body_max = BODY_MAX, .request = "FilesystemChange", .reply = "Filesystem" },
        { "DELETE", "/v1/filesystems/{name}", ACCESS_FILESYSTEM, VERB_DELETE, drop_filesystem,
          "Delete a file system. Its files stay. Refused while something uses it.", .query = user_query,
          .reply_status = 204 },
        { 0 },
};
