/* etcd over its JSON gateway (see etcd.h): POST /v3/kv/range and /v3/kv/put with keys and values in base 64.
 */
#include "operator/etcd.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/thread-pool.h"
#include "kube/kind.h"
#include "net/client.h"

/* FAILED_MS: who waits for an endpoint that does not answer holds up all who come after. */
enum { CALL_MS = 3000, FAILED_MS = 10000, VALUE_MAX = 64 << 10 };

typedef struct {
        HttpClient *client;
        gint64 failed_until_us; /* not asked before that */
} Endpoint;

struct Etcd {
        GMainContext *context;
        ThreadPool *pool;     /* one thread, which alone uses the endpoints */
        GPtrArray *endpoints; /* Endpoint * */
        gint refs;            /* those of calls under way, and the owner's */
        gint stopped, freed;
};

typedef struct {
        Etcd *etcd;
        char *key, *value; /* value: to put, or NULL; then what was got */
        GError *error;
        EtcdDone done;
        void *arg;
} Call;

static void endpoint_free(void *data)
{
        Endpoint *endpoint = data;

        http_client_free(endpoint->client);
        g_free(endpoint);
}

static void etcd_unref(Etcd *etcd)
{
        if (!g_atomic_int_dec_and_test(&etcd->refs))
                return;
        g_ptr_array_unref(etcd->endpoints);
        g_main_context_unref(etcd->context);
        g_free(etcd);
}

static void call_free(void *data)
{
        Call *call = data;

        etcd_unref(call->etcd);
        g_free(call->key);
        g_free(call->value);
        g_clear_error(&call->error);
        g_free(call);
}

/* ---- on the thread ---- */

static json_t *body_of(const Call *call)
{
        g_autofree char *key = g_base64_encode((const guchar *)call->key, strlen(call->key));
        g_autofree char *value =
                call->value ? g_base64_encode((const guchar *)call->value, strlen(call->value)) : NULL;

        return value ? json_pack("{s:s, s:s}", "key", key, "value", value) : json_pack("{s:s}", "key", key);
}

static bool ask(Call *call, HttpClient *client, json_t **ret, GError **error)
{
        g_autoptr(json_t) body = body_of(call);
        g_autofree char *text = json_format(body);
        g_auto(HttpReply) reply = { 0 };
        HttpCall http = { .method = "POST",
                          .path = call->value ? "/v3/kv/put" : "/v3/kv/range",
                          .body = text,
                          .body_len = strlen(text),
                          .timeout_ms = CALL_MS,
                          .body_max = VALUE_MAX };

        if (!http_call(client, &http, &reply, error))
                return err_prefix(error, "etcd at '%s': ", http_client_url(client));
        if (reply.status != 200)
                return err_set(error, ERR_UNAVAILABLE, "etcd at '%s' answered %d to %s",
                               http_client_url(client), reply.status, http.path);
        *ret = json_parse_loose(reply.body->str, reply.body->len, error);
        return *ret || err_prefix(error, "etcd at '%s': ", http_client_url(client));
}

static void take_value(Call *call, const json_t *reply)
{
        const char *text = kube_get_text(reply, "kvs[0].value");
        gsize len = 0;
        g_autofree guchar *value = NULL;

        if (call->value)
                return; /* put */
        if (json_array_size(json_object_get(reply, "kvs")) == 0)
                return;
        value = g_base64_decode(text ? text : "", &len); /* an empty value is left out */
        call->value = g_strndup((const char *)value, len);
}

static gboolean deliver(void *data)
{
        Call *call = data;

        if (!g_atomic_int_get(&call->etcd->freed))
                call->done(call->value, call->error, call->arg);
        return G_SOURCE_REMOVE;
}

static bool ask_endpoint(Call *call, Endpoint *endpoint, GError **error)
{
        g_autoptr(json_t) reply = NULL;

        if (g_get_monotonic_time() < endpoint->failed_until_us)
                return err_set(error, ERR_UNAVAILABLE,
                               "etcd at '%s' failed a moment ago; it is asked again in some seconds",
                               http_client_url(endpoint->client));
        if (!ask(call, endpoint->client, &reply, error)) {
                endpoint->failed_until_us = g_get_monotonic_time() + FAILED_MS * G_GINT64_CONSTANT(1000);
                return false;
        }
        take_value(call, reply);
        return true;
}

/* Writes of a pass are finished even if the operator stops. */
static bool is_dropped(const Call *call)
{
        return g_atomic_int_get(&call->etcd->freed) ||
               (g_atomic_int_get(&call->etcd->stopped) && !call->value);
}

/* The first endpoint that answers. */
static bool ask_any(Call *call, GError **error)
{
        GPtrArray *endpoints = call->etcd->endpoints;

        for (guint i = 0; i < endpoints->len && !is_dropped(call); i++) {
                g_clear_error(error);
                if (ask_endpoint(call, endpoints->pdata[i], error))
                        return true;
        }
        if (!*error)
                err_set(error, ERR_UNAVAILABLE, "etcd is not asked any more: the operator stops");
        return false;
}

static void work(bool stopped, void *arg)
{
        Call *call = arg;
        GSource *source = g_idle_source_new();

        (void)ask_any(call, &call->error); /* the error is delivered */
        g_source_set_priority(source, G_PRIORITY_DEFAULT);
        g_source_set_callback(source, deliver, call, call_free);
        g_source_attach(source, call->etcd->context);
        g_source_unref(source);
}

/* ---- on the loop ---- */

Etcd *etcd_new(const char *endpoints, GError **error)
{
        g_auto(GStrv) urls = g_strsplit(endpoints, ",", -1);
        Etcd *etcd = g_new0(Etcd, 1);

        etcd->refs = 1;
        etcd->context = g_main_context_ref_thread_default();
        etcd->endpoints = g_ptr_array_new_with_free_func(endpoint_free);
        for (char **url = urls; *url; url++) {
                const char *scheme = strstr(g_strstrip(*url), "://") ? "" : "http://";
                g_autofree char *full = g_strconcat(scheme, *url, NULL);
                HttpClient *client = http_client_new(full, NULL, error);
                Endpoint *endpoint;

                if (!client) {
                        err_prefix(error, "--etcd-server: ");
                        etcd_unref(etcd);
                        return NULL;
                }
                endpoint = g_new0(Endpoint, 1);
                endpoint->client = client;
                g_ptr_array_add(etcd->endpoints, endpoint);
        }
        etcd->pool = thread_pool_new(&(ThreadPoolConfig){ .name = "etcd", .threads = 1 });
        return etcd;
}

void etcd_stop(Etcd *etcd)
{
        if (etcd)
                g_atomic_int_set(&etcd->stopped, 1);
}

void etcd_free(Etcd *etcd)
{
        if (!etcd)
                return;
        g_atomic_int_set(&etcd->freed, 1);
        thread_pool_free(etcd->pool); /* at most the call under way is waited for */
        etcd_unref(etcd);
}

static void start(Etcd *etcd, const char *key, const char *value, EtcdDone done, void *arg)
{
        Call *call = g_new0(Call, 1);

        g_atomic_int_inc(&etcd->refs);
        *call = (Call){
                .etcd = etcd, .key = g_strdup(key), .value = g_strdup(value), .done = done, .arg = arg
        };
        (void)thread_pool_push(etcd->pool, NULL, work, call, NULL); /* any number may wait */
}

void etcd_get(Etcd *etcd, const char *key, EtcdDone done, void *arg)
{
        start(etcd, key, NULL, done, arg);
}

void etcd_put(Etcd *etcd, const char *key, const char *value, EtcdDone done, void *arg)
{
        start(etcd, key, value, done, arg);
}
