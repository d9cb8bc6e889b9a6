/* libcurl's multi interface on a GMainContext (see multi.h): one GSource that has every socket of the library
 * and its one timer.
 *
 * What always holds: the library is entered by dispatch, kube_multi_add and kube_multi_remove only, never
 * from one of its own callbacks, which it would not bear. */
#include "kube/multi.h"

typedef struct {
        GSource base;
        KubeMulti *multi;
} MultiSource;

struct KubeMulti {
        const CurlApi *api;
        KubeMultiEvents events;
        CURLM *curl;
        GSource *source;
        GHashTable *sockets; /* fd -> tag of the source */
        guint size;
        int refs;
        bool freed;
};

typedef struct {
        curl_socket_t fd;
        void *tag;
        int events;
} Ready;

static void multi_unref(KubeMulti *multi)
{
        if (--multi->refs)
                return;
        multi->api->multi_cleanup(multi->curl);
        g_source_destroy(multi->source);
        g_source_unref(multi->source);
        g_hash_table_unref(multi->sockets);
        g_free(multi);
}

/* ---- The library's callbacks ---- */

static int on_socket(CURL *handle, curl_socket_t fd, int what, void *arg, void *unused)
{
        KubeMulti *multi = arg;
        void *key = GINT_TO_POINTER(fd), *tag = g_hash_table_lookup(multi->sockets, key);
        GIOCondition condition = 0;

        if (what == CURL_POLL_REMOVE) {
                if (tag) {
                        g_source_remove_unix_fd(multi->source, tag);
                        g_hash_table_remove(multi->sockets, key);
                }
                return 0;
        }
        if (what & CURL_POLL_IN)
                condition |= G_IO_IN | G_IO_HUP | G_IO_ERR;
        if (what & CURL_POLL_OUT)
                condition |= G_IO_OUT | G_IO_ERR;
        if (tag)
                g_source_modify_unix_fd(multi->source, tag, condition);
        else
                g_hash_table_insert(multi->sockets, key, g_source_add_unix_fd(multi->source, fd, condition));
        return 0;
}

static int on_timer(CURLM *curl, long ms, void *arg)
{
        KubeMulti *multi = arg;

        g_source_set_ready_time(multi->source, ms < 0 ? -1 : g_get_monotonic_time() + (gint64)ms * 1000);
        return 0;
}

/* ---- The loop ---- */

static GArray *ready_sockets(const KubeMulti *multi)
{
        GArray *ready = g_array_new(FALSE, FALSE, sizeof(Ready));
        GHashTableIter iter;
        void *key, *tag;

        g_hash_table_iter_init(&iter, multi->sockets);
        while (g_hash_table_iter_next(&iter, &key, &tag)) {
                GIOCondition condition = g_source_query_unix_fd(multi->source, tag);
                Ready one = { GPOINTER_TO_INT(key), tag, 0 };

                if (condition & (G_IO_IN | G_IO_HUP))
                        one.events |= CURL_CSELECT_IN;
                if (condition & G_IO_OUT)
                        one.events |= CURL_CSELECT_OUT;
                if (condition & (G_IO_ERR | G_IO_NVAL))
                        one.events |= CURL_CSELECT_ERR;
                if (one.events)
                        g_array_append_val(ready, one);
        }
        return ready;
}

static void run_library(KubeMulti *multi)
{
        g_autoptr(GArray) ready = ready_sockets(multi);
        gint64 due = g_source_get_ready_time(multi->source);
        int running;

        for (guint i = 0; i < ready->len; i++) {
                const Ready *one = &g_array_index(ready, Ready, i);

                if (g_hash_table_lookup(multi->sockets, GINT_TO_POINTER(one->fd)) == one->tag)
                        multi->api->multi_socket_action(multi->curl, one->fd, one->events, &running);
        }
        if (due >= 0 && due <= g_get_monotonic_time()) {
                g_source_set_ready_time(multi->source, -1); /* the library sets it again */
                multi->api->multi_socket_action(multi->curl, CURL_SOCKET_TIMEOUT, 0, &running);
        }
}

static gboolean dispatch(GSource *source, GSourceFunc func, void *arg)
{
        KubeMulti *multi = ((MultiSource *)source)->multi;
        const CURLMsg *message;
        int left;

        multi->refs++;
        run_library(multi);
        while (!multi->freed && (message = multi->api->multi_info_read(multi->curl, &left))) {
                CURL *handle = message->easy_handle;
                CURLcode result = message->data.result;

                if (message->msg != CURLMSG_DONE)
                        continue;
                if (!multi->events.keep)
                        kube_multi_remove(multi, handle);
                multi->events.done(handle, result, multi->events.arg);
        }
        if (!multi->freed)
                multi->events.turn(multi->events.arg);
        multi_unref(multi);
        return G_SOURCE_CONTINUE;
}

static GSourceFuncs source_funcs = { .dispatch = dispatch };

KubeMulti *kube_multi_new(const CurlApi *api, GMainContext *context, const KubeMultiEvents *events)
{
        KubeMulti *multi = g_new0(KubeMulti, 1);

        multi->api = api;
        multi->events = *events;
        multi->refs = 1;
        multi->sockets = g_hash_table_new(NULL, NULL);
        multi->curl = api->multi_init();
        g_assert(multi->curl); /* out of memory */
        multi->source = g_source_new(&source_funcs, sizeof(MultiSource));
        ((MultiSource *)multi->source)->multi = multi;
        g_source_set_static_name(multi->source, "kube transfers");
        g_source_attach(multi->source, context);
        api->multi_setopt(multi->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
        api->multi_setopt(multi->curl, CURLMOPT_SOCKETDATA, multi);
        api->multi_setopt(multi->curl, CURLMOPT_TIMERFUNCTION, on_timer);
        api->multi_setopt(multi->curl, CURLMOPT_TIMERDATA, multi);
        api->multi_setopt(multi->curl, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
        return multi;
}

void kube_multi_free(KubeMulti *multi)
{
        if (!multi || multi->freed)
                return;
        multi->freed = true;
        multi_unref(multi);
}

void kube_multi_add(KubeMulti *multi, CURL *handle)
{
        CURLMcode code = multi->api->multi_add_handle(multi->curl, handle);

        g_assert(code == CURLM_OK); /* out of memory, or from within the library */
        multi->size++;
}

void kube_multi_remove(KubeMulti *multi, CURL *handle)
{
        multi->api->multi_remove_handle(multi->curl, handle);
        multi->size--;
}

guint kube_multi_size(const KubeMulti *multi)
{
        return multi->size;
}
