/* The catalog over HTTP: users, clusters, queues, flavours, grants, pools and file systems share five routes each. A
 * route's kind says which of them it is about; what differs is a table. */
#include "api/v1/internal.h"

#include <string.h>

#include "api/auth/password.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"

enum { LIST_MAX = 1000, BODY_MAX = 512 * 1024, NAME_BYTES_MAX = 400, PASSWORD_TEXT_MAX = 4096 };

/* ---- what is shown besides an object's members ---- */

static char *connection_trouble(Api *api, const Cluster *cluster)
{
        g_autofree char *why = NULL;

        if (engine_cluster(api->engine, cluster, NULL, &why))
                return NULL;
        return why ? g_strdup_printf("it has no connection: %s", why) : g_strdup("it is being connected");
}

char *api_cluster_trouble(Api *api, const Cluster *cluster)
{
        if (cluster->offline)
                return g_strdup("it is offline");
        if (cluster->type != CLUSTER_LOCAL)
                return connection_trouble(api, cluster);
        if (strcmp(cluster->object.name, CLUSTER_DEFAULT) != 0)
                return g_strdup("a server has one local cluster, '" CLUSTER_DEFAULT "'");
        return engine_is_ready(api->engine) ? NULL : g_strdup("its agent is not connected");
}

static void add_queue(Api *api, const Catalog *catalog, const Object *object, json_t *shown)
{
        const Queue *queue = (const Queue *)object;
        const Cluster *cluster = catalog_cluster(catalog, queue->cluster);
        gint64 open = engine_queue_open(api->engine, object->name);
        g_autofree char *trouble = cluster ? api_cluster_trouble(api, cluster) : NULL;
        bool usable = cluster && !trouble;
        json_t *figures = api_queue_figures(api, queue);

        json_object_set_new(shown, "state", json_string(queue_state_name(queue_state(queue, open, usable))));
        json_object_set_new(shown, "open_jobs", json_integer(open));
        json_object_set_new(shown, "figures", figures ? figures : json_null());
}

static json_t *node_names(Api *api, const Cluster *cluster)
{
        g_autoptr(GPtrArray) nodes = engine_nodes(api->engine, cluster);
        json_t *names = json_array();

        for (guint i = 0; nodes && i < nodes->len; i++)
                json_array_append_new(names, json_string(((const RuntimeNode *)nodes->pdata[i])->name));
        return names;
}

static void add_cluster(Api *api, const Catalog *catalog, const Object *object, json_t *shown)
{
        const Cluster *cluster = (const Cluster *)object;
        g_autofree char *trouble = api_cluster_trouble(api, cluster);
        bool local = cluster->type == CLUSTER_LOCAL && strcmp(object->name, CLUSTER_DEFAULT) == 0;

        json_object_set_new(shown, "connected", json_boolean(!trouble));
        json_object_set_new(shown, "trouble", trouble ? json_string(trouble) : json_null());
        json_object_set_new(shown, "nodes",
                            local                            ? json_pack("[s]", api_node_name(api, 0))
                            : cluster->type == CLUSTER_LOCAL ? json_array()
                                                             : node_names(api, cluster));
}

/* ---- whose they are ---- */

typedef struct {
        bool owner, granted;
} Standing;

static Standing of_user(Api *api, const Catalog *catalog, const HttpCaller *caller, const Object *object)
{
        return (Standing){ .owner = strcmp(object->name, caller->user) == 0 };
}

static Standing of_queue(Api *api, const Catalog *catalog, const HttpCaller *caller, const Object *object)
{
        return (Standing){ .granted =
                                   auth_is_granted(api->auth, catalog, caller->user, (const Queue *)object) };
}

static Standing of_flavour(Api *api, const Catalog *catalog, const HttpCaller *caller, const Object *object)
{
        return (Standing){ .owner = g_strcmp0(((const Flavour *)object)->creator, caller->user) == 0 };
}

static Standing of_grant(Api *api, const Catalog *catalog, const HttpCaller *caller, const Object *object)
{
        return (Standing){ .owner = g_strcmp0(((const Grant *)object)->user, caller->user) == 0 };
}

static Standing of_filesystem(Api *api, const Catalog *catalog, const HttpCaller *caller,
                              const Object *object)
{
        return (Standing){ .owner = g_strcmp0(((const Filesystem *)object)->user, caller->user) == 0 };
}

/* ---- the table of kinds ---- */

static void made_flavour(Object *object, const char *by)
{
        ((Flavour *)object)->creator = g_strdup(by);
}

static void made_pool(Object *object, const char *by)
{
        ((Pool *)object)->creator = g_strdup(by);
}

static void made_filesystem(Object *object, const char *user)
{
        Filesystem *filesystem = (Filesystem *)object;

        g_free(object->id);
        object->id = filesystem_id(user, filesystem_name(filesystem));
        filesystem->user = g_strdup(user);
}

typedef struct {
        AccessKind access;
        ObjectKind kind;
        bool list_own; /* who is no administrator finds only what they could see one by one */
        Standing (*standing)(Api *api, const Catalog *catalog, const HttpCaller *caller,
                             const Object *object);
        void (*add)(Api *api, const Catalog *catalog, const Object *object, json_t *shown);
        void (*made)(Object *object, const char *by);
        /* For objects that belong to a user, whose names are unique only among those of the user: the name in the
         * catalog. Their routes are about the caller's, or those of ?user=. */
        char *(*key)(const char *user, const char *name);
        json_t *(*first)(Api *api, const char *user); /* a built-in one, the first of a list; or NULL */
} Row;

static const Row rows[] = {
        { ACCESS_USER, KIND_USER, false, of_user, NULL, NULL },
        { ACCESS_CLUSTER, KIND_CLUSTER, false, NULL, add_cluster, NULL },
        { ACCESS_QUEUE, KIND_QUEUE, true, of_queue, add_queue, NULL },
        { ACCESS_FLAVOUR, KIND_FLAVOUR, false, of_flavour, NULL, made_flavour },
        { ACCESS_GRANT, KIND_GRANT, true, of_grant, NULL, NULL },
        { ACCESS_POOL, KIND_POOL, false, NULL, NULL, made_pool },
        { ACCESS_FILESYSTEM, KIND_FILESYSTEM, true, of_filesystem, api_add_filesystem, made_filesystem,
          filesystem_key, api_format_home },
};

static const Row *row_of(const HttpRequest *request)
{
        guint8 kind = http_request_route(request)->kind;

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                if (rows[i].access == kind)
                        return &rows[i];
        g_assert_not_reached();
}

static bool may(Api *api, const Catalog *catalog, const Row *row, const HttpCaller *caller, AccessVerb verb,
                const Object *object)
{
        Standing standing = { 0 };

        if (row->standing)
                standing = row->standing(api, catalog, caller, object);
        return auth_may(caller, row->access, verb, standing.owner, standing.granted);
}

static json_t *format_object(Api *api, const Catalog *catalog, const Row *row, const Object *object)
{
        json_t *shown = object_format(object);

        if (row->add)
                row->add(api, catalog, object, shown);
        return shown;
}

/* The name in the catalog of the object that the caller calls `name`. NULL: the request has been answered. */
static char *key_of(Api *api, HttpRequest *request, const Row *row, const char *name)
{
        const char *user = row->key ? api_whose(api, request) : NULL;

        if (row->key)
                return user ? row->key(user, name) : NULL;
        return g_strdup(name);
}

/* The object of {name} that the caller may `verb`; NULL has been answered. Borrowed from the catalog. */
static const Object *find_object(Api *api, HttpRequest *request, const Catalog *catalog, const Row *row)
{
        const char *name = http_request_param(request, "name");
        const HttpCaller *caller = http_request_caller(request);
        AccessVerb verb = http_request_route(request)->verb;
        g_autofree char *key = key_of(api, request, row, name);
        const Object *object = key ? catalog_find(catalog, row->kind, key) : NULL;
        g_autoptr(GError) error = NULL;

        if (!key)
                return NULL;
        if (object && may(api, catalog, row, caller, verb, object))
                return object;
        if (object)
                err_set(&error, ERR_DENIED, "'%s' may not %s the %s '%s'%s", caller->user,
                        access_verb_name(verb), kind_name(row->kind), name,
                        row->kind == KIND_QUEUE ? "\nAn administrator grants it: `paddle grant create`."
                                                : "");
        else
                err_set(&error, ERR_NOT_FOUND, "there is no %s '%.200s'\nSee `paddle %s list`.",
                        kind_name(row->kind), name,
                        row->kind == KIND_FILESYSTEM ? "fs" : kind_name(row->kind));
        http_fail(request, error);
        return NULL;
}

/* ---- list, show ---- */

enum {
        SEQ_FIRST = 1
}; /* of Row.first: no object of such a kind has this seq, which is that of the first user */

/* May the caller find the object in a list? `user`: only what belongs to this user; NULL: the kind has no owners. */
static bool is_listed(Api *api, const Catalog *catalog, const Row *row, const HttpCaller *caller,
                      const char *user, const Object *object)
{
        if (user)
                return g_str_has_prefix(object->name, user) && object->name[strlen(user)] == '/';
        return !row->list_own || may(api, catalog, row, caller, VERB_SHOW, object);
}

/* The items of a page; *ret_next is the seq to go on after, 0 at the end. */
static json_t *list_page(Api *api, HttpRequest *request, const char *user, gint64 after, gint64 limit,
                         gint64 *ret_next)
{
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const Row *row = row_of(request);
        const HttpCaller *caller = http_request_caller(request);
        const GPtrArray *all = catalog_list(catalog, row->kind);
        json_t *items = json_array();
        gint64 last = SEQ_FIRST;

        *ret_next = 0;
        if (row->first && after < SEQ_FIRST)
                json_array_append_new(items, row->first(api, user));
        for (guint i = 0; i < all->len; i++) {
                const Object *object = all->pdata[i];

                if (object->seq <= after || !is_listed(api, catalog, row, caller, user, object))
                        continue;
                if ((gint64)json_array_size(items) == limit) {
                        *ret_next = last;
                        break;
                }
                json_array_append_new(items, format_object(api, catalog, row, object));
                last = object->seq;
        }
        return items;
}

void api_list_objects(HttpRequest *request, void *arg)
{
        const char *user = row_of(request)->key ? api_whose(arg, request) : NULL;
        gint64 after, limit, next = 0;
        json_t *items;
        g_autoptr(json_t) reply = NULL;

        if (row_of(request)->key && !user)
                return;
        if (!http_request_query_int(request, "after", 1, G_MAXINT64, 0, &after) ||
            !http_request_query_int(request, "limit", 1, LIST_MAX, 100, &limit))
                return;
        items = list_page(arg, request, user, after, limit, &next);
        reply = json_pack("{s:o, s:o}", "items", items, "next",
                          next ? json_sprintf("%" G_GINT64_FORMAT, next) : json_null());
        http_reply_json(request, 200, reply);
}

static void add_tag(HttpRequest *request, const Object *object)
{
        g_autofree char *tag = g_strdup_printf("\"%" G_GINT64_FORMAT "\"", object->version);

        http_reply_header(request, "ETag", tag);
}

void api_show_object(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const Row *row = row_of(request);
        const Object *object = find_object(api, request, catalog, row);
        g_autoptr(json_t) reply = NULL;

        if (!object)
                return;
        add_tag(request, object);
        reply = format_object(api, catalog, row, object);
        http_reply_json(request, 200, reply);
}

/* ---- warnings ---- */

static void warn_queue(Api *api, const Catalog *catalog, const Queue *queue, json_t *warnings)
{
        const char *name = queue->object.name;
        const Cluster *cluster = catalog_cluster(catalog, queue->cluster);
        g_autofree char *trouble = cluster ? api_cluster_trouble(api, cluster) : NULL;
        QueueFigures figures = { .id = -1 };
        gint64 open = engine_queue_open(api->engine, name);

        (void)api_find_figures(api, name, &figures); /* else nothing runs in it */
        for (int kind = 0; kind < resource_kinds(); kind++) {
                g_autofree char *now = quantity_named(kind, figures.used.amount[kind]);
                g_autofree char *most = quantity_text(kind, queue->max.amount.amount[kind]);

                if (queue->max.said & 1u << kind &&
                    figures.used.amount[kind] > queue->max.amount.amount[kind])
                        json_array_append_new(warnings,
                                              json_sprintf("queue '%s' uses %s, more than its max of %s now: "
                                                           "running jobs go on, and nothing new starts "
                                                           "until it uses less",
                                                           name, now, most));
        }
        if (queue->closed && open > 0)
                json_array_append_new(warnings, json_sprintf("queue '%s' is closed; its %" G_GINT64_FORMAT
                                                             " current jobs will finish",
                                                             name, open));
        if (trouble)
                json_array_append_new(warnings,
                                      json_sprintf("jobs in queue '%s' wait for its cluster '%s': %s", name,
                                                   queue->cluster, trouble));
}

static json_t *warnings_of(Api *api, const Catalog *catalog, const Object *object)
{
        json_t *warnings = json_array();

        if (object->kind == KIND_QUEUE)
                warn_queue(api, catalog, (const Queue *)object, warnings);
        if (object->kind == KIND_CLUSTER) {
                g_autofree char *trouble = api_cluster_trouble(api, (const Cluster *)object);

                if (trouble)
                        json_array_append_new(warnings, json_sprintf("jobs for cluster '%s' wait: %s",
                                                                     object->name, trouble));
        }
        return warnings;
}

/* ---- changes ---- */

typedef struct {
        Api *api;
        HttpRequest *request;
        const Row *row;
        char *name;
        int status;
        gint64 match;     /* the version that If-Match names; 0: none */
        Catalog *catalog; /* after the commit */
        Object *object;   /* in it; NULL: dropped */
} Change;

static Change *change_new(Api *api, HttpRequest *request, const char *name, int status)
{
        Change *change = g_new0(Change, 1);

        change->api = api;
        change->request = http_request_ref(request);
        change->row = row_of(request);
        change->name = g_strdup(name);
        change->status = status;
        return change;
}

static void change_free(void *arg)
{
        Change *change = arg;

        g_free(change->name);
        if (change->object)
                object_unref(change->object);
        catalog_unref(change->catalog);
        g_free(change);
}

static char *change_write(void *arg, gsize *ret_len)
{
        const Change *change = arg;
        g_autoptr(json_t) shown = format_object(change->api, change->catalog, change->row, change->object);
        g_autoptr(json_t) warnings = warnings_of(change->api, change->catalog, change->object);
        char *text;

        if (json_array_size(warnings) > 0)
                json_object_set(shown, "warnings", warnings);
        text = json_format(shown);
        *ret_len = strlen(text);
        return text;
}

/* A condition of the request that does not hold is told from other conflicts. */
static void fail_change(const Change *change, const GError *error)
{
        g_autoptr(Catalog) catalog = engine_catalog(change->api->engine);
        const Object *object = catalog_find(catalog, change->row->kind, change->name);
        g_autoptr(GError) stale = NULL;

        if (change->match && err_is(error, ERR_CONFLICT) && object && object->version != change->match)
                err_set(&stale, ERR_STALE, "%s", error->message);
        http_fail(change->request, stale ? stale : error);
}

/* On the engine's thread: finds what was committed, and lets a worker write it. */
static void change_done(Job *job, bool repeated, const GError *error, void *arg)
{
        Change *change = arg;
        HttpRequest *request = change->request;
        const Object *object = NULL;

        if (!error) {
                change->catalog = engine_catalog(change->api->engine);
                object = catalog_find(change->catalog, change->row->kind, change->name);
        }
        if (error || change->status == 204 || !object) {
                if (error)
                        fail_change(change, error);
                else
                        http_reply(request, 204, NULL, NULL, 0);
                change_free(change);
        } else {
                change->object = object_ref(object);
                add_tag(request, object);
                http_reply_written(request, change->status, "application/json", change_write, change,
                                   change_free);
        }
        http_request_unref(request);
}

/* ---- create ---- */

/* A grant is named by what it says. */
static char *grant_name(const json_t *body, GError **error)
{
        const char *user = NULL, *type = "queue", *resource = NULL;
        GrantType parsed;

        if (!json_get_string(body, "", "user", NAME_BYTES_MAX, &user, error) ||
            !json_get_string(body, "", "type", NAME_BYTES_MAX, &type, error) ||
            !json_get_string(body, "", "resource", NAME_BYTES_MAX, &resource, error))
                return NULL;
        if (user && resource && grant_type_parse(type, &parsed))
                return grant_key(user, parsed, resource);
        if (user && resource)
                err_set(error, ERR_INVALID, "type: '%.40s' is not queue, fs or user", type);
        else
                err_set(error, ERR_INVALID, "%s is missing", user ? "resource" : "user");
        return NULL;
}

static char *new_name(ObjectKind kind, const json_t *body, GError **error)
{
        const char *name = NULL;

        if (kind == KIND_GRANT)
                return grant_name(body, error);
        if (!json_get_string(body, "", "name", NAME_BYTES_MAX, &name, error))
                return NULL;
        if (!name)
                err_set(error, ERR_INVALID, "name is missing: a %s needs one", kind_name(kind));
        return g_strdup(name);
}

/* A user's password comes with it, and is no member of what is kept. */
static bool take_password(ObjectKind kind, json_t *body, char **ret, GError **error)
{
        const char *password = NULL;

        if (kind != KIND_USER)
                return true;
        if (!json_get_string(body, "", "password", PASSWORD_TEXT_MAX, &password, error) ||
            (password && !password_check("password", password, error)))
                return false;
        *ret = g_strdup(password);
        json_object_del(body, "password");
        return true;
}

static bool check_directory(const Api *api, const json_t *body, const Object *object, GError **error)
{
        return object->kind != KIND_USER || !json_is_true(json_object_get(body, "ldap")) ||
               auth_has_directory(api->auth) ||
               err_set(error, ERR_CONFLICT,
                       "ldap: this server has no directory (LDAP)\nStart it with --ldap-url.");
}

/* A subject that the body names is one of the issuer that the server believes now. */
static bool stamp_issuer(const Api *api, const json_t *body, const Object *was, Object *object,
                         GError **error)
{
        const User *before = (const User *)was;
        User *user = (User *)object;
        bool same;

        if (object->kind != KIND_USER || !json_object_get(body, "oidc_subject"))
                return true;
        same = g_strcmp0(before ? before->oidc_subject : NULL, user->oidc_subject) == 0;
        if (same && (!user->oidc_subject || !api->sso))
                return true;
        if (user->oidc_subject && !api->sso)
                return err_set(
                        error, ERR_CONFLICT,
                        "oidc_subject: this server has no single sign-on\nStart it with --oidc-issuer.");
        g_free(user->oidc_issuer);
        user->oidc_issuer = user->oidc_subject ? g_strdup(sso_issuer(api->sso)) : NULL;
        return true;
}

void api_create_object(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const Row *row = row_of(request);
        const char *by = http_request_caller(request)->user;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = http_request_json(request, &error);
        g_autofree char *said = body ? new_name(row->kind, body, &error) : NULL, *password = NULL;
        g_autofree char *name = said ? key_of(api, request, row, said) : NULL;
        g_autoptr(Object) object = name ? object_new(row->kind, name) : NULL;

        if (said && !name)
                return;
        if (row->key && body)
                json_object_del(body, "name"); /* the catalog's is another */
        if (!object || !take_password(row->kind, body, &password, &error) ||
            !object_patch(object, body, &error) || !check_directory(api, body, object, &error) ||
            !stamp_issuer(api, body, NULL, object, &error)) {
                http_fail(request, error);
                return;
        }
        if (row->made)
                row->made(object, row->key ? api_whose(api, request) : by);
        http_request_set_subject(request, name);
        if (row->kind == KIND_USER)
                auth_put_user(api->auth, (const User *)object, password, by, change_done,
                              change_new(api, request, name, 201));
        else if (row->kind == KIND_FILESYSTEM)
                api_put_filesystem(api, NULL, object, by, change_done, change_new(api, request, name, 201));
        else
                engine_put(api->engine, object, by, change_done, change_new(api, request, name, 201));
}

/* ---- change, drop ---- */

/* The version that the client thinks it changes. */
static bool take_match(HttpRequest *request, gint64 *ret, GError **error)
{
        const char *match = http_request_header(request, "If-Match");
        gsize len = match ? strlen(match) : 0;
        g_autofree char *digits = NULL;

        if (!match || strcmp(match, "*") == 0)
                return true;
        if (len > 2 && match[0] == '"' && match[len - 1] == '"')
                digits = g_strndup(match + 1, len - 2);
        return (digits && number_parse("If-Match", digits, 1, G_MAXINT64, ret, NULL)) ||
               err_set(error, ERR_INVALID, "If-Match: '%.40s' is not a version in quotes, as ETag gives it",
                       match);
}

/* "ann: disabled=true, disk": what is changed, and of switches to what; other values may be secrets. */
static void note_fields(HttpRequest *request, const char *name, json_t *body)
{
        g_autoptr(GString) subject = g_string_new(name);
        const char *key, *before = ": ";
        json_t *value;

        json_object_foreach(body, key, value) {
                g_string_append_printf(subject, "%s%s%s", before, key,
                                       json_is_true(value)    ? "=true"
                                       : json_is_false(value) ? "=false"
                                                              : "");
                before = ", ";
        }
        http_request_set_subject(request, subject->str);
}

/* A change may repeat the name by which the route knows the object. */
static void take_own_name(HttpRequest *request, json_t *body)
{
        const char *name = json_string_value(json_object_get(body, "name"));

        if (row_of(request)->key && g_strcmp0(name, http_request_param(request, "name")) == 0)
                json_object_del(body, "name");
}

static Object *patched(const Api *api, HttpRequest *request, const Object *was, gint64 match, GError **error)
{
        g_autoptr(json_t) body = http_request_json(request, error);
        g_autoptr(Object) object = object_copy(was);

        take_own_name(request, body);
        if (!body || !object_patch(object, body, error) || !check_directory(api, body, object, error) ||
            !stamp_issuer(api, body, was, object, error))
                return NULL;
        if (match)
                object->version = match;
        note_fields(request, was->name, body);
        return g_steal_pointer(&object);
}

static Change *change_matching(Api *api, HttpRequest *request, const char *name, int status, gint64 match)
{
        Change *change = change_new(api, request, name, status);

        change->match = match;
        return change;
}

void api_change_object(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const Row *row = row_of(request);
        const Object *was = find_object(api, request, catalog, row);
        g_autoptr(GError) error = NULL;
        g_autoptr(Object) object = NULL;
        bool what_if = false;
        gint64 match = 0;

        if (!was)
                return;
        if (!take_match(request, &match, &error) ||
            (row->kind == KIND_QUEUE && !api_query_flag(request, "what_if", &what_if, &error)) ||
            !(object = patched(api, request, was, match, &error)))
                http_fail(request, error);
        else if (what_if)
                api_what_if(api, request, (const Queue *)was, (Queue *)g_steal_pointer(&object));
        else if (row->kind == KIND_FILESYSTEM)
                api_put_filesystem(api, was, object, http_request_caller(request)->user, change_done,
                                   change_matching(api, request, was->name, 200, match));
        else
                engine_put(api->engine, object, http_request_caller(request)->user, change_done,
                           change_matching(api, request, was->name, 200, match));
}

void api_drop_object(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const Row *row = row_of(request);
        const Object *object = find_object(api, request, catalog, row);
        g_autoptr(GError) error = NULL;
        gint64 match = 0;

        if (!object)
                return;
        if (take_match(request, &match, &error))
                engine_drop(api->engine, row->kind, object->name, match, http_request_caller(request)->user,
                            change_done, change_matching(api, request, object->name, 204, match));
        else
                http_fail(request, error);
}

/* ---- routes ---- */

static const HttpParameter list_objects_query[] = {
        { "limit", HTTP_INTEGER, "At most this many, 1 to 1000." },
        { "after", HTTP_STRING, "Marker of the page before." },
        { 0 },
};

static const HttpParameter what_if_query[] = {
        { "what_if", HTTP_BOOLEAN, "Change nothing and list the jobs whose fate would differ." },
        { 0 },
};

const HttpRoute catalog_routes[] = {
        { "GET", "/v1/users", ACCESS_USER, VERB_LIST, api_list_objects, "List users, in order of making.",
          .query = list_objects_query, .reply = "UserList" },
        { "POST", "/v1/users", ACCESS_USER, VERB_CREATE, api_create_object, "Make a user.",
          .body_max = BODY_MAX, .request = "NewUser", .reply = "User", .reply_status = 201 },
        { "GET", "/v1/users/{name}", ACCESS_USER, VERB_SHOW, api_show_object, "Show a user.",
          .reply = "User" },
        { "PATCH", "/v1/users/{name}", ACCESS_USER, VERB_UPDATE, api_change_object,
          "Change members of a user; null brings a default back.", .body_max = BODY_MAX,
          .request = "UserChange", .reply = "User" },
        { "DELETE", "/v1/users/{name}", ACCESS_USER, VERB_DELETE, api_drop_object,
          "Drop a user with what is granted to it.", .reply_status = 204 },
        { "GET", "/v1/clusters", ACCESS_CLUSTER, VERB_LIST, api_list_objects,
          "List clusters, in order of making.", .query = list_objects_query, .reply = "ClusterList" },
        { "POST", "/v1/clusters", ACCESS_CLUSTER, VERB_CREATE, api_create_object, "Make a cluster.",
          .body_max = BODY_MAX, .request = "NewCluster", .reply = "Cluster", .reply_status = 201 },
        { "GET", "/v1/clusters/{name}", ACCESS_CLUSTER, VERB_SHOW, api_show_object, "Show a cluster.",
          .reply = "Cluster" },
        { "PATCH", "/v1/clusters/{name}", ACCESS_CLUSTER, VERB_UPDATE, api_change_object,
          "Change members of a cluster; null brings a default back.", .body_max = BODY_MAX,
          .request = "ClusterChange", .reply = "Cluster" },
        { "DELETE", "/v1/clusters/{name}", ACCESS_CLUSTER, VERB_DELETE, api_drop_object,
          "Drop a cluster with its queues.", .reply_status = 204 },
        { "GET", "/v1/queues", ACCESS_QUEUE, VERB_LIST, api_list_objects,
          "List the queues that the caller may use, in order of making.", .query = list_objects_query,
          .reply = "QueueList" },
        { "POST", "/v1/queues", ACCESS_QUEUE, VERB_CREATE, api_create_object, "Make a queue.",
          .body_max = BODY_MAX, .request = "NewQueue", .reply = "Queue", .reply_status = 201 },
        { "GET", "/v1/queues/{name}", ACCESS_QUEUE, VERB_SHOW, api_show_object, "Show a queue.",
          .reply = "Queue" },
        { "PATCH", "/v1/queues/{name}", ACCESS_QUEUE, VERB_UPDATE, api_change_object,
          "Change members of a queue; null brings a default back.", .query = what_if_query,
          .body_max = BODY_MAX, .request = "QueueChange", .reply = "QueueOrWhatIf" },
        { "DELETE", "/v1/queues/{name}", ACCESS_QUEUE, VERB_DELETE, api_drop_object, "Drop a queue.",
          .reply_status = 204 },
        { "GET", "/v1/flavours", ACCESS_FLAVOUR, VERB_LIST, api_list_objects,
          "List flavours, in order of making.", .query = list_objects_query, .reply = "FlavourList" },
        { "POST", "/v1/flavours", ACCESS_FLAVOUR, VERB_CREATE, api_create_object, "Make a flavour.",
          .body_max = BODY_MAX, .request = "NewFlavour", .reply = "Flavour", .reply_status = 201 },
        { "GET", "/v1/flavours/{name}", ACCESS_FLAVOUR, VERB_SHOW, api_show_object, "Show a flavour.",
          .reply = "Flavour" },
        { "PATCH", "/v1/flavours/{name}", ACCESS_FLAVOUR, VERB_UPDATE, api_change_object,
          "Change members of a flavour; null brings a default back.", .body_max = BODY_MAX,
          .request = "FlavourChange", .reply = "Flavour" },
        { "DELETE", "/v1/flavours/{name}", ACCESS_FLAVOUR, VERB_DELETE, api_drop_object, "Drop a flavour.",
          .reply_status = 204 },
        { "GET", "/v1/grants", ACCESS_GRANT, VERB_LIST, api_list_objects, "List grants, in order of making.",
          .query = list_objects_query, .reply = "GrantList" },
        { "POST", "/v1/grants", ACCESS_GRANT, VERB_CREATE, api_create_object, "Make a grant.",
          .body_max = BODY_MAX, .request = "NewGrant", .reply = "Grant", .reply_status = 201 },
        { "GET", "/v1/grants/{name...}", ACCESS_GRANT, VERB_SHOW, api_show_object, "Show a grant.",
          .reply = "Grant" },
        { "PATCH", "/v1/grants/{name...}", ACCESS_GRANT, VERB_UPDATE, api_change_object,
          "Change members of a grant; null brings a default back.", .body_max = BODY_MAX,
          .request = "GrantChange", .reply = "Grant" },
        { "DELETE", "/v1/grants/{name...}", ACCESS_GRANT, VERB_DELETE, api_drop_object, "Drop a grant.",
          .reply_status = 204 },
        { "GET", "/v1/pools", ACCESS_POOL, VERB_LIST, api_list_objects,
          "List resource pools, in order of making.", .query = list_objects_query, .reply = "PoolList" },
        { "POST", "/v1/pools", ACCESS_POOL, VERB_CREATE, api_create_object, "Make a resource pool.",
          .body_max = BODY_MAX, .request = "NewPool", .reply = "Pool", .reply_status = 201 },
        { "GET", "/v1/pools/{name}", ACCESS_POOL, VERB_SHOW, api_show_object, "Show a resource pool.",
          .reply = "Pool" },
        { "PATCH", "/v1/pools/{name}", ACCESS_POOL, VERB_UPDATE, api_change_object,
          "Change members of a resource pool; null brings a default back.", .body_max = BODY_MAX,
          .request = "PoolChange", .reply = "Pool" },
        { "DELETE", "/v1/pools/{name}", ACCESS_POOL, VERB_DELETE, api_drop_object, "Drop a resource pool.",
          .reply_status = 204 },
        { 0 },
};
