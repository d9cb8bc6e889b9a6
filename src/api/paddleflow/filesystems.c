/* File systems (doc/reference/paddleflow-api.md, "File systems"). Those of a user are the user's; root may name another
 * one. The built-in `home` of /v1 is none of this face. */
#include <string.h>

#include "api/paddleflow/internal.h"

#define LIST "fsList"

/* ---- whose ---- */

static bool take_user(const Call *call, const char *named, const char **ret, GError **error)
{
        if (*named && strcmp(named, call->user) != 0 && !call->root)
                return paddleflow_set(error, CODE_AuthIllegalUser, "'%s' may not act for '%.60s'", call->user,
                                      named);
        *ret = *named ? named : call->user;
        return true;
}

/* The one of the path, or a code; its user is in the query. */
static const Filesystem *find(const Call *call, GError **error)
{
        const char *name = call_param(call, "fsName"), *user = NULL;
        const Filesystem *found;

        if (!take_user(call, call_query(call, "username"), &user, error))
                return NULL;
        found = catalog_filesystem(call->catalog, user, name);
        if (!found)
                paddleflow_set(error, CODE_RecordNotFound, "user '%.60s' has no file system '%.80s'", user,
                               name);
        return found;
}

/* ---- create and replace ---- */

typedef struct {
        const char *user, *name, *url;
        char **properties;
        FilesystemAddress address;
} Wish;

static void wish_clear(Wish *wish)
{
        g_strfreev(wish->properties);
        filesystem_address_clear(&wish->address);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Wish, wish_clear)

/* The engine makes the same checks; this one chooses the codes. */
static bool translate(bool ok, GError *why, Code code, GError **error)
{
        if (!ok)
                paddleflow_set(error, err_is(why, ERR_EXISTS) ? CODE_DuplicatedName : code, "%s",
                               why->message);
        g_clear_error(&why);
        return ok;
}

static bool check_wish(const Call *call, Wish *wish, GError **error)
{
        GError *why = NULL;
        bool ok = filesystem_name_check(wish->user, wish->name, &why);

        if (!translate(ok, why, CODE_FileSystemNameFormatError, error))
                return false;
        why = NULL;
        ok = filesystem_address_parse(wish->url, wish->properties, &wish->address, &why);
        if (!translate(ok, why, CODE_InvalidFileSystemParamsURL, error))
                return false;
        why = NULL;
        ok = filesystem_properties_check(wish->address.type, wish->properties, &why);
        return translate(ok, why, CODE_InvalidFileSystemParamsProperties, error);
}

static bool check_type(const Wish *wish, GError **error)
{
        GError *why = NULL;
        bool ok = filesystem_type_check(wish->address.type, &why);

        return translate(ok, why, CODE_ConnectivityFailed, error);
}

static bool read_wish(const Call *call, const json_t *body, Wish *ret, GError **error)
{
        if (!take_user(call, go_text(body, "username"), &ret->user, error))
                return false;
        if (!catalog_user(call->catalog, ret->user))
                return paddleflow_set(error, CODE_UserNotExist, "there is no user '%.60s'", ret->user);
        ret->name = go_text(body, "name");
        ret->url = go_text(body, "url");
        ret->properties = map_to_labels(json_object_get(body, "properties"));
        return check_wish(call, ret, error);
}

/* A secret in the form in which it was shown stays what it was. The caller's. */
static json_t *keep_secrets(const Filesystem *was, const json_t *properties)
{
        json_t *ret = json_copy((json_t *)properties);
        const char *key;
        json_t *value;

        json_object_foreach((json_t *)properties, key, value) {
                const char *secret =
                        filesystem_property_is_secret(key) ? filesystem_property(was->properties, key) : NULL;

                if (secret && g_strcmp0(json_string_value(value), OBJECT_HIDDEN) == 0)
                        json_object_set_new(ret, key, json_string(secret));
        }
        return ret;
}

/* Properties are replaced; a flag that is not said stays. */
static bool apply(const PaddleFlow *flow, const Catalog *catalog, Object *draft, const json_t *body,
                  GError **error)
{
        const json_t *properties = json_object_get(body, "properties"), *apart;
        g_autoptr(json_t) cleared = json_pack("{s:s, s:n}", "url", go_text(body, "url"), "properties");
        g_autoptr(json_t) set = json_object();
        GError *why = NULL;
        bool ok;

        apart = json_object_get(body, "independentMountProcess");
        if (apart)
                ((Filesystem *)draft)->independent_mount = json_is_true(apart);
        if (properties)
                json_object_set_new(set, "properties", keep_secrets((const Filesystem *)draft, properties));
        ok = object_patch(draft, cleared, &why) && object_patch(draft, set, &why);
        return translate(ok, why, CODE_InvalidFileSystemParamsProperties, error);
}

static json_t *show_made(PaddleFlow *flow, const Catalog *catalog, const Object *object)
{
        return json_pack("{s:s, s:s}", "fsName", filesystem_name((const Filesystem *)object), "fsID",
                         object->id);
}

static const CodeMap codes[] = { { ERR_EXISTS, CODE_DuplicatedName },
                                 { ERR_NOT_FOUND, CODE_RecordNotFound },
                                 { ERR_INVALID, CODE_InvalidFileSystemParamsProperties },
                                 CODE_MAP_END };
static const EditRow made = { KIND_FILESYSTEM, NULL, show_made, codes, CODE_RecordNotFound, .status = 201 };
static const EditRow replaced = {
        KIND_FILESYSTEM, apply, show_made, codes, CODE_RecordNotFound, .status = 201
};
static const EditRow dropped = { KIND_FILESYSTEM, NULL, NULL, codes, CODE_RecordNotFound };

static Object *draft_of(const Call *call, const Wish *wish, const json_t *body, GError **error)
{
        g_autoptr(Object) draft = &filesystem_new(wish->user, wish->name)->object;

        if (catalog_find(call->catalog, KIND_FILESYSTEM, draft->name)) {
                paddleflow_set(error, CODE_DuplicatedName, "user '%s' has a file system '%s' already",
                               wish->user, wish->name);
                return NULL;
        }
        if (!check_type(wish, error) || !apply(call->flow, call->catalog, draft, body, error))
                return NULL;
        return g_steal_pointer(&draft);
}

static void create_fs(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_auto(Wish) wish = { 0 };
        g_autoptr(json_t) body = NULL;
        Object *draft = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        body = call_body(&call, fs_body, &error);
        if (body && read_wish(&call, body, &wish, &error))
                draft = draft_of(&call, &wish, body, &error);
        if (draft)
                edit_put(&call, &made, draft, NULL);
        else
                call_fail(&call, error);
}

static bool check_change(const Call *call, const Wish *wish, GError **error)
{
        return (catalog_filesystem(call->catalog, wish->user, wish->name) ||
                paddleflow_set(error, CODE_RecordNotFound, "user '%s' has no file system '%s'", wish->user,
                               wish->name)) &&
               check_type(wish, error);
}

static void replace_fs(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_auto(Wish) wish = { 0 };
        g_autoptr(json_t) body = NULL;
        g_autofree char *key = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        body = call_body(&call, fs_body, &error);
        if (body && read_wish(&call, body, &wish, &error) && check_change(&call, &wish, &error)) {
                key = filesystem_key(wish.user, wish.name);
                edit_change(&call, &replaced, key, json_incref(body));
        } else {
                call_fail(&call, error);
        }
}

static void drop_fs(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        const Filesystem *filesystem;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        filesystem = find(&call, &error);
        if (filesystem)
                edit_drop(&call, &dropped, filesystem->object.name);
        else
                call_fail(&call, error);
}

/* ---- show, list ---- */

/* Without secrets; a new object. */
static json_t *show_properties(const Filesystem *filesystem)
{
        g_autoptr(json_t) shown = object_format(&filesystem->object);

        return json_incref(json_object_get(shown, "properties"));
}

static json_t *show_fs(const Filesystem *filesystem)
{
        g_auto(FilesystemAddress) address = { 0 };
        bool known = filesystem->url &&
                     filesystem_address_parse(filesystem->url, filesystem->properties, &address, NULL);

        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:b}", "id", filesystem->object.id, "name",
                         filesystem_name(filesystem), "serverAddress", known ? address.server : "", "type",
                         known ? filesystem_type_name(address.type) : "", "subPath",
                         known ? address.path : "", "username", filesystem->user, "properties",
                         show_properties(filesystem), "independentMountProcess",
                         filesystem->independent_mount);
}

static void show_one(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        const Filesystem *filesystem;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        filesystem = find(&call, &error);
        if (filesystem)
                call_reply(&call, show_fs(filesystem));
        else
                call_fail(&call, error);
}

typedef struct {
        const char *user; /* NULL: everybody's */
        const char *name; /* "": all */
        gint64 max;
        gint64 before_seq, created; /* where the page begins: at most these */
} FsPage;

/* The marker of a page before; a time, as older servers gave it; any other text begins at the newest. */
static void take_marker(const Call *call, FsPage *page)
{
        const char *marker = call_query(call, "marker");
        gint64 created;

        page->before_seq = page->created = G_MAXINT64;
        if (!marker_parse(call->flow, LIST, marker, &page->before_seq) && time_take(marker, &created))
                page->created = created + 999;
}

static bool take_page(const Call *call, FsPage *ret, GError **error)
{
        const char *named = call_query(call, "username");

        *ret = (FsPage){ .name = call_query(call, "fsName") };
        if (!take_user(call, named, &ret->user, error) ||
            !call_query_int(call, "maxKeys", 1, PADDLEFLOW_KEYS_MAX, PADDLEFLOW_KEYS, &ret->max, error))
                return false;
        if (call->root && (!*named || strcmp(named, SEEDED_USER) == 0))
                ret->user = NULL;
        take_marker(call, ret);
        return true;
}

static bool is_on(const FsPage *page, const Filesystem *filesystem)
{
        return filesystem->object.seq < page->before_seq && filesystem->object.created <= page->created &&
               (!page->user || strcmp(filesystem->user, page->user) == 0) &&
               (!*page->name || strcmp(filesystem_name(filesystem), page->name) == 0);
}

/* Newest first. *ret_last: the seq of the last one, if there are more; else 0. */
static json_t *list_items(const Call *call, const FsPage *page, gint64 *ret_last)
{
        const GPtrArray *all = catalog_list(call->catalog, KIND_FILESYSTEM);
        json_t *items = json_array();
        gint64 last = 0;

        *ret_last = 0;
        for (guint i = all->len; i > 0; i--) {
                const Filesystem *filesystem = all->pdata[i - 1];

                if (!is_on(page, filesystem))
                        continue;
                if ((gint64)json_array_size(items) == page->max) {
                        *ret_last = last;
                        break;
                }
                json_array_append_new(items, show_fs(filesystem));
                last = filesystem->object.seq;
        }
        return items;
}

static void list_fs(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        GError *error = NULL;
        gint64 last;
        json_t *items;
        FsPage page;

        if (!call_begin(&call, request, arg))
                return;
        if (!take_page(&call, &page, &error)) {
                call_fail(&call, error);
                return;
        }
        items = list_items(&call, &page, &last);
        g_autofree char *next = last ? marker_format(call.flow, LIST, last) : NULL;

        call_reply(&call, json_pack("{s:s, s:b, s:s, s:o}", "marker", call_query(&call, "marker"),
                                    "truncated", last != 0, "nextMarker", next ? next : "", LIST, items));
}

/* ---- what no file system has yet: temporary keys, a cache, links ---- */

static void refuse_for(HttpRequest *request, void *arg, Code code, const char *why)
{
        g_auto(Call) call;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        if (find(&call, &error))
                paddleflow_set(&error, code, "%s", why);
        call_fail(&call, error);
}

static void show_keys(HttpRequest *request, void *arg)
{
        refuse_for(request, arg, CODE_InternalError, "only file systems of kind bos have temporary keys");
}

static void show_cache(HttpRequest *request, void *arg)
{
        refuse_for(request, arg, CODE_RecordNotFound, "the file system has no cache");
}

static void drop_link(HttpRequest *request, void *arg)
{
        refuse_for(request, arg, CODE_LinkModelError, "the file system has no links");
}

/* A body that names a file system: refused with the code if that is there. */
static void refuse_body(HttpRequest *request, void *arg, const GoField *fields, Code code, const char *why)
{
        g_auto(Call) call;
        g_autoptr(json_t) body = NULL;
        GError *error = NULL;
        const char *user = NULL, *name;

        if (!call_begin(&call, request, arg))
                return;
        body = call_body(&call, fields, &error);
        name = go_text(body, "fsName");
        if (body && take_user(&call, go_text(body, "username"), &user, &error)) {
                if (catalog_filesystem(call.catalog, user, name))
                        paddleflow_set(&error, code, "%s", why);
                else
                        paddleflow_set(&error, CODE_RecordNotFound, "there is no file system '%.80s'", name);
        }
        call_fail(&call, error);
}

static void create_cache(HttpRequest *request, void *arg)
{
        refuse_body(request, arg, fs_cache_body, CODE_ActionNotAllowed,
                    "this server has no cache for file systems yet");
}

static void create_link(HttpRequest *request, void *arg)
{
        refuse_body(request, arg, link_body, CODE_InvalidFileSystemFsName,
                    "a file system of this server's machine has no links");
}

static void list_links(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        if (find(&call, &error) && *call_query(&call, "fsPath"))
                paddleflow_set(&error, CODE_LinkNotExist, "there is no link '%.200s'",
                               call_query(&call, "fsPath"));
        if (error)
                call_fail(&call, error);
        else
                call_reply(&call, json_pack("{s:s, s:b, s:s, s:[]}", "marker", call_query(&call, "marker"),
                                            "truncated", false, "nextMarker", "", "linkList"));
}

/* ---- routes ---- */

#define WHOSE "Whose it is; root may name another user."

static const HttpParameter user_query[] = { { "username", HTTP_STRING, WHOSE }, { 0 } };
static const HttpParameter link_query[] = {
        { "username", HTTP_STRING, WHOSE },
        { "fsPath", HTTP_STRING, "Only the link at this path." },
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};
static const HttpParameter list_query[] = {
        { "username", HTTP_STRING, "Only of this user; of root and without it, everybody's for root." },
        { "fsName", HTTP_STRING, "Only those of this name." },
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};

const HttpRoute fs_rows[] = {
        { "POST", PADDLEFLOW_BASE "/fs", ACCESS_FILESYSTEM, VERB_CREATE, create_fs, "Create a file system.",
          .request = "FileSystem", .reply = "FileSystemMade", .reply_status = 201 },
        { "PUT", PADDLEFLOW_BASE "/fs", ACCESS_FILESYSTEM, VERB_UPDATE, replace_fs, "Replace a file system.",
          .request = "FileSystem", .reply = "FileSystemMade", .reply_status = 201 },
        { "GET", PADDLEFLOW_BASE "/fs", ACCESS_FILESYSTEM, VERB_LIST, list_fs,
          "List file systems, newest first.", .query = list_query, .reply = "FileSystemList" },
        { "GET", PADDLEFLOW_BASE "/fs/{fsName}", ACCESS_FILESYSTEM, VERB_SHOW, show_one,
          "Show a file system.", .query = user_query, .reply = "FileSystemShown" },
        { "DELETE", PADDLEFLOW_BASE "/fs/{fsName}", ACCESS_FILESYSTEM, VERB_DELETE, drop_fs,
          "Delete a file system. Its files stay.", .query = user_query },
        { "GET", PADDLEFLOW_BASE "/fsSts/{fsName}", ACCESS_FILESYSTEM, VERB_SHOW, show_keys,
          "Temporary keys of a file system: none has such.", .query = user_query },
        { "POST", PADDLEFLOW_BASE "/fsCache", ACCESS_FILESYSTEM, VERB_UPDATE, create_cache,
          "Give a file system a cache: refused, there is none yet.", .request = "FileSystemCache",
          .reply_status = 201 },
        { "GET", PADDLEFLOW_BASE "/fsCache/{fsName}", ACCESS_FILESYSTEM, VERB_SHOW, show_cache,
          "The cache of a file system: none has one.", .query = user_query },
        { "DELETE", PADDLEFLOW_BASE "/fsCache/{fsName}", ACCESS_FILESYSTEM, VERB_UPDATE, show_cache,
          "Take away the cache of a file system: none has one.", .query = user_query },
        { "POST", PADDLEFLOW_BASE "/link", ACCESS_FILESYSTEM, VERB_UPDATE, create_link,
          "Link a place into a file system: refused, no file system can have links yet.", .request = "Link",
          .reply_status = 201 },
        { "GET", PADDLEFLOW_BASE "/link/{fsName}", ACCESS_FILESYSTEM, VERB_SHOW, list_links,
          "Links of a file system: none has any.", .query = link_query, .reply = "LinkList" },
        { "DELETE", PADDLEFLOW_BASE "/link/{fsName}", ACCESS_FILESYSTEM, VERB_UPDATE, drop_link,
          "Delete a link of a file system: none has any.", .query = link_query },
        { 0 },
};
