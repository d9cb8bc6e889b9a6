/* Secrets of users over HTTP: set, list, delete. No route shows a value. */
#include "api/v1/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"

enum { BODY_MAX = 512 * 1024 /* 64 KiB may be written as six characters a byte */ };

static json_t *format_secret(const Secret *secret)
{
        g_autofree char *created = clock_format(secret->object.created),
                        *updated = clock_format(secret->object.updated);

        return json_pack("{s:s, s:s, s:i, s:b, s:s, s:s}", "name", secret_name(secret), "user", secret->user,
                         "bytes", secret->bytes, "binary", secret->binary, "created", created, "updated",
                         updated);
}

static int compare_names(gconstpointer a, gconstpointer b)
{
        return strcmp((*(Secret *const *)a)->object.name, (*(Secret *const *)b)->object.name);
}

static void list_secrets(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const char *user = api_whose(api, request);
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const GPtrArray *all = catalog_list(catalog, KIND_SECRET);
        g_autoptr(GPtrArray) own = g_ptr_array_new();
        json_t *items;
        g_autoptr(json_t) reply = NULL;

        if (!user)
                return;
        for (guint i = 0; i < all->len; i++)
                if (g_strcmp0(((const Secret *)all->pdata[i])->user, user) == 0)
                        g_ptr_array_add(own, all->pdata[i]);
        g_ptr_array_sort(own, compare_names);
        items = json_array();
        for (guint i = 0; i < own->len; i++)
                json_array_append_new(items, format_secret(own->pdata[i]));
        reply = json_pack("{s:o}", "items", items);
        http_reply_json(request, 200, reply);
}

/* ---- setting one ---- */

/* g_base64_decode skips other characters, and goes on after a '='. */
static bool is_base64(const char *text)
{
        size_t letters = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"),
               padding = strspn(text + letters, "=");

        return text[letters + padding] == '\0' && padding <= 2 && (letters + padding) % 4 == 0;
}

/* {"value": text} or {"base64": bytes}. The caller's (seal_wipe). */
static char *take_value(const json_t *body, gsize *ret_len, GError **error)
{
        static const char *const known[] = { "value", "base64", NULL };
        const json_t *text = json_object_get(body, "value"), *coded = json_object_get(body, "base64");
        const char *letters = json_string_value(coded);
        char *value;

        if (!json_only(body, "", known, error))
                return NULL;
        if (!text == !coded || !json_is_string(text ? text : coded)) {
                err_set(error, ERR_INVALID, "the body must have one of 'value' (text) and 'base64'");
                return NULL;
        }
        if (text) {
                *ret_len = json_string_length(text);
                value = g_malloc(*ret_len + 1);
                memcpy(value, json_string_value(text), *ret_len + 1);
                return value;
        }
        if (!is_base64(letters)) {
                err_set(error, ERR_INVALID, "base64: the value is not in base 64");
                return NULL;
        }
        return (char *)g_base64_decode(letters, ret_len);
}

/* The secret with this value, to be put into the catalog: the existing one or a new one. */
static Object *sealed(Api *api, const char *user, const char *name, const char *value, gsize len,
                      GError **error)
{
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const Secret *was = catalog_secret(catalog, user, name);
        bool first = catalog_count(catalog, KIND_SECRET) == 0;
        g_autofree char *key = secret_key(user, name);
        Object *object;

        if (len == 0 || len > SECRET_VALUE_MAX) {
                err_set(error, len ? ERR_TOO_LARGE : ERR_INVALID,
                        len ? "secret '%s': the value has %" G_GSIZE_FORMAT " bytes, and the limit is %d"
                            : "secret '%s': the value is empty",
                        name, len, SECRET_VALUE_MAX);
                return NULL;
        }
        if (!api->secrets || !seal_key_open(api->secrets, first, error))
                return NULL;
        object = was ? object_copy(&was->object) : object_new(KIND_SECRET, key);
        if (!was)
                ((Secret *)object)->user = g_strdup(user);
        secret_set((Secret *)object, api->secrets, value, len);
        return object;
}

typedef struct {
        Api *api;
        HttpRequest *request;
        char *user, *name;
        bool drops;
} Change;

static void change_done(Job *job, bool repeated, const GError *error, void *arg)
{
        g_autofree Change *change = arg;
        HttpRequest *request = change->request;
        g_autoptr(Catalog) catalog = engine_catalog(change->api->engine);
        const Secret *secret = catalog_secret(catalog, change->user, change->name);
        g_autoptr(json_t) reply = secret ? format_secret(secret) : NULL;
        g_autoptr(GError) gone = NULL;

        if (error) {
                http_fail(request, error);
        } else if (change->drops) {
                http_reply(request, 204, NULL, NULL, 0);
        } else if (reply) {
                http_reply_json(request, 200, reply);
        } else {
                err_set(&gone, ERR_CONFLICT, "secret '%s' was deleted by another request", change->name);
                http_fail(request, gone);
        }
        http_request_unref(request);
        g_free(change->user);
        g_free(change->name);
}

static Change *change_new(Api *api, HttpRequest *request, const char *user, const char *name, bool drops)
{
        Change *change = g_new(Change, 1);

        *change = (Change){ api, http_request_ref(request), g_strdup(user), g_strdup(name), drops };
        return change;
}

static void set_secret(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const char *user = http_request_caller(request)->user, *name = http_request_param(request, "name");
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = http_request_json(request, &error);
        gsize len = 0;
        char *value = NULL;
        g_autoptr(Object) object = NULL;

        if (body && secret_name_check("name", name, &error) && (value = take_value(body, &len, &error)))
                object = sealed(api, user, name, value, len, &error);
        seal_wipe(value, len);
        if (object)
                engine_put(api->engine, object, user, change_done,
                           change_new(api, request, user, name, false));
        else
                http_fail(request, error);
}

static void drop_secret(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const char *user = api_whose(api, request), *name = http_request_param(request, "name");
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const Secret *secret = user ? catalog_secret(catalog, user, name) : NULL;
        g_autoptr(GError) error = NULL;

        if (!user)
                return;
        if (secret) {
                engine_drop(api->engine, KIND_SECRET, secret->object.name, 0,
                            http_request_caller(request)->user, change_done,
                            change_new(api, request, user, name, true));
                return;
        }
        err_set(&error, ERR_NOT_FOUND, "user '%s' has no secret '%.80s'\nSee `paddle secret list`.", user,
                name);
        http_fail(request, error);
}

static const HttpParameter user_query[] = {
        { "user", HTTP_STRING, "Of this user (administrators). By default the caller's." },
        { 0 },
};

const HttpRoute secret_routes[] = {
        { "GET", "/v1/secrets", ACCESS_SECRET, VERB_LIST, list_secrets,
          "List a user's secrets, without their values.", .query = user_query, .reply = "SecretList" },
        { "PUT", "/v1/secrets/{name}", ACCESS_SECRET, VERB_UPDATE, set_secret,
          "Create a secret of the caller, or change its value. Attempts that start later get it.",
          .body_max = BODY_MAX, .request = "NewSecret", .reply = "Secret" },
        { "DELETE", "/v1/secrets/{name}", ACCESS_SECRET, VERB_DELETE, drop_secret, "Delete a secret.",
          .query = user_query, .reply_status = 204 },
        { 0 },
};
