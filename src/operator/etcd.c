/* etcd over its JSON gateway (see etcd.h): POST /v3/kv/range and /v3/kv/put with keys and values in base 64.
 */
#include "operator/etcd.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "kube/kind.h"
#include "net/client.h"

enum { CALL_MS = 3000, VALUE_MAX = 64 << 10 };

struct Etcd {
        GMainContext *context;
        GThreadPool *pool; /* one thread, which alone uses the clients */
        GPtrArray *clients;
        gint refs; /* those of calls under way, and the owner's */
        gint freed;
};

typedef struct {
        Etcd *etcd;
        char *key, *value; /* value: to put, or NULL; then what was got */
        GError *error;
        EtcdDone done;
        void *arg;
} Call;

static void etcd_unref(Etcd *etcd)
{
        if (!g_atomic_int_dec_and_test(&etcd->refs))
                return;
        g_ptr_array_unref(etcd->clients);
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

static void work(void *data, void *arg)
{
        Call *call = data;
        Etcd *etcd = call->etcd;
        GSource *source = g_idle_source_new();

        for (guint i = 0; i < etcd->clients->len && !g_atomic_int_get(&etcd->freed); i++) {
                g_autoptr(json_t) reply = NULL;

                g_clear_error(&call->error);
                if (!ask(call, etcd->clients->pdata[i], &reply, &call->error))
                        continue;
                take_value(call, reply);
                break;
        }
        g_source_set_priority(source, G_PRIORITY_DEFAULT);
        g_source_set_callback(source, deliver, call, call_free);
        g_source_attach(source, etcd->context);
        g_source_unref(source);
}

/* ---- on the loop ---- */

Etcd *etcd_new(const char *endpoints, GError **error)
{
        g_auto(GStrv) urls = g_strsplit(endpoints, ",", -1);
        Etcd *etcd = g_new0(Etcd, 1);

        etcd->refs = 1;
        etcd->context = g_main_context_ref_thread_default();
        etcd->clients = g_ptr_array_new_with_free_func((GDestroyNotify)http_client_free);
        for (char **url = urls; *url; url++) {
                const char *scheme = strstr(g_strstrip(*url), "://") ? "" : "http://";
                g_autofree char *full = g_strconcat(scheme, *url, NULL);
                HttpClient *client = http_client_new(full, NULL, error);

                if (!client) {
                        err_prefix(error, "--etcd-server: ");
                        etcd_unref(etcd);
                        return NULL;
                }
                g_ptr_array_add(etcd->clients, client);
        }
        etcd->pool = g_thread_pool_new_full(work, NULL, call_free, 1, FALSE, NULL);
        return etcd;
}

void etcd_free(Etcd *etcd)
{
        if (!etcd)
                return;
        g_atomic_int_set(&etcd->freed, 1);
        g_thread_pool_free(etcd->pool, FALSE, TRUE); /* at most the call under way is waited for */
        etcd_unref(etcd);
}

static void start(Etcd *etcd, const char *key, const char *value, EtcdDone done, void *arg)
{
        Call *call = g_new0(Call, 1);

        g_atomic_int_inc(&etcd->refs);
        *call = (Call){
                .etcd = etcd, .key = g_strdup(key), .value = g_strdup(value), .done = done, .arg = arg
        };
        g_thread_pool_push(etcd->pool, call, NULL);
}

void etcd_get(Etcd *etcd, const char *key, EtcdDone done, void *arg)
{
        start(etcd, key, NULL, done, arg);
}

void etcd_put(Etcd *etcd, const char *key, const char *value, EtcdDone done, void *arg)
{
        start(etcd, key, value, done, arg);
}
