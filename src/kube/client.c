/* A client of one API server (see client.h).
 *
 *     kube_send -> waiting --(credential, token bucket, room)--> running --> done
 *                     ^                                             |
 *                     +------------------ delayed <-----------------+  429, 5xx, broken: reads
 *
 * `pump` is the only one that starts transfers, from a source of its own: so nothing of the caller's is ever
 * called from within kube_send, and the library is never entered from one of its callbacks. What the library
 * reads is stored in the call, and handed on when the library has returned (multi.h).
 *
 * What waits stands in one of three queues: caches' lists and watches (ahead), which need no room; requests
 * in the background (behind), which take an eighth of the room at most; all else.
 *
 * What always holds: a call is in exactly one of the five queues, or ended; callbacks may cancel any call
 * and free the client, so after each one `freed` is looked at first. */
#include "kube/client.h"

#include <string.h>

#include "base/backoff.h"
#include "base/err.h"
#include "base/json.h"
#include "base/timer.h"
#include "kube/internal.h"
#include "kube/request.h"
#include "kube/status.h"

enum {
        REFUSAL_MAX = 1 << 20, /* bytes of a stream's error body */
        BACK_OFF_MS = 100,
        BACK_OFF_MAX_MS = 10000,
        RETRY_AFTER_MAX_S = 3600,
        STREAMS_MAX = 90, /* transfers over one connection */
        BEHIND_SHARE = 8,
};

static const KubeClientOptions defaults = {
        .agent = "paddle/" PADDLE_VERSION,
        .rate = 500,
        .burst = 1000,
        .max_in_flight = 64,
        .timeout_ms = 30000,
        .retries = 5,
        .body_max = (gsize)256 << 20,
};

/* Writes and reads share a connection; lists and watches of caches have another one. Over a connection with
 * a thousand writes a busy server sends events late, and ends the watch that falls behind. */
typedef enum { LANE_COMMON, LANE_CACHES, LANES } Lane;
typedef enum { CALL_AHEAD, CALL_WAITING, CALL_BEHIND, CALL_DELAYED, CALL_RUNNING, CALL_STATES } CallState;

struct KubeCall {
        KubeClient *client;
        GList link; /* in the queue of its state */
        CallState state;
        bool is_stream, is_background, is_cancelled;
        Lane lane;
        bool is_ready;    /* in client->ready */
        bool is_attached; /* the library has its handle */
        int held;         /* number of its callbacks that are running */
        KubeHttp http;
        gint64 timeout_ms; /* of a stream: of silence */
        KubeDone done;     /* `end` of a stream */
        KubeData data;
        void *arg;
        int attempts;
        bool renewed; /* credentials, after a 401 */
        gint64 due_us;
        /* of the running transfer */
        CURL *handle;
        KubeMulti *multi;
        struct curl_slist *headers;
        GString *in; /* the body so far; of a stream the part that was not passed on yet */
        bool overflow;
        guint generation;
        Timer *idle;
        gint64 heard_us;
        char text[CURL_ERROR_SIZE];
};

struct KubeClient {
        int refs;
        bool freed;
        KubeReach reach;
        KubeClientOptions options;
        GMainContext *context;
        GPtrArray *multis[LANES]; /* for new transfers, each with connections of its own */
        GPtrArray *old_multis;    /* that still have transfers, over connections that are not trusted */
        KubeDiscovery *discovery;
        Timer *pump;
        GQueue queues[CALL_STATES];
        GQueue ready; /* GList of its own, of KubeCall */
        double tokens;
        gint64 filled_us;
        guint in_flight, behind_in_flight; /* in_flight includes the background requests */
        KubeClientFigures figures;
};

static void on_pump(void *arg);

static void pump_soon(KubeClient *client)
{
        if (!client->freed)
                timer_set_at(&client->pump, client->context, 0, on_pump, client);
}

/* ---- Life of a call ---- */

static void call_move(KubeCall *call, CallState to)
{
        GQueue *queues = call->client->queues;

        g_queue_unlink(&queues[call->state], &call->link);
        call->state = to;
        g_queue_push_tail_link(&queues[to], &call->link);
}

/* Waits for its first transfer, or for another one. */
static void call_wait(KubeCall *call)
{
        call_move(call, call->lane == LANE_CACHES ? CALL_AHEAD
                        : call->is_background     ? CALL_BEHIND
                                                  : CALL_WAITING);
}

static void drop_idle(KubeCall *call)
{
        timer_clear(&call->idle);
}

static void drop_transfer(KubeCall *call)
{
        KubeClient *client = call->client;

        if (!call->handle)
                return;
        drop_idle(call);
        if (call->is_attached)
                kube_multi_remove(call->multi, call->handle);
        call->is_attached = false;
        if (!kube_multi_size(call->multi))
                g_ptr_array_remove_fast(client->old_multis, call->multi);
        client->reach.api->easy_cleanup(call->handle);
        client->reach.api->slist_free_all(call->headers);
        call->handle = NULL;
        call->headers = NULL;
        call->multi = NULL;
        if (!call->is_stream)
                client->in_flight--;
        if (call->is_background)
                client->behind_in_flight--;
        if (call->is_ready)
                g_queue_remove(&client->ready, call);
        call->is_ready = false;
}

static void call_free(KubeCall *call)
{
        kube_http_clear(&call->http);
        g_string_free(call->in, TRUE);
        g_free(call);
}

/* Removes it from every list, and frees it unless one of its callbacks runs. */
static void call_end(KubeCall *call)
{
        drop_transfer(call);
        g_queue_unlink(&call->client->queues[call->state], &call->link);
        call->is_cancelled = true;
        if (!call->held)
                call_free(call);
}

static void call_release(KubeCall *call)
{
        if (!--call->held && call->is_cancelled)
                call_free(call);
}

void kube_call_cancel(KubeCall *call)
{
        if (!call || call->is_cancelled)
                return;
        pump_soon(call->client);
        call_end(call);
}

void kube_call_hurry(KubeCall *call)
{
        g_assert(call->is_stream && call->state == CALL_WAITING);
        call->lane = LANE_CACHES;
        call_wait(call);
}

static void client_unref(KubeClient *client)
{
        if (--client->refs)
                return;
        kube_reach_clear(&client->reach);
        g_clear_pointer(&client->context, g_main_context_unref);
        g_free(client);
}

/* ---- Setting a transfer up ---- */

static void make_ready(KubeCall *call)
{
        if (call->is_ready)
                return;
        call->is_ready = true;
        g_queue_push_tail(&call->client->ready, call);
}

/* Called by the library, so it only stores the bytes. */
static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
        KubeCall *call = arg;
        size_t len = size * count;
        long status = 0;
        gsize max = call->client->options.body_max;

        call->client->reach.api->easy_getinfo(call->handle, CURLINFO_RESPONSE_CODE, &status);
        if (call->is_stream) {
                call->heard_us = g_get_monotonic_time();
                max = status / 100 == 2 ? G_MAXSSIZE : REFUSAL_MAX;
                if (status / 100 == 2)
                        make_ready(call);
        }
        if (len > max - MIN(max, call->in->len)) {
                call->overflow = true;
                return 0;
        }
        g_string_append_len(call->in, data, (gssize)len);
        return len;
}

/* The head of a stream is complete: calls `data` without bytes. */
static size_t on_header(char *line, size_t size, size_t count, void *arg)
{
        KubeCall *call = arg;
        size_t len = size * count;
        long status = 0;

        call->client->reach.api->easy_getinfo(call->handle, CURLINFO_RESPONSE_CODE, &status);
        if (len <= 2 && status / 100 == 2) {
                call->heard_us = g_get_monotonic_time();
                make_ready(call);
        }
        return len;
}

static struct curl_slist *call_headers(const KubeCall *call)
{
        const CurlApi *api = call->client->reach.api;
        struct curl_slist *list = api->slist_append(NULL, "Accept: application/json, */*");

        list = api->slist_append(list, "Expect:");
        if (call->http.type) {
                g_autofree char *line = g_strconcat("Content-Type: ", call->http.type, NULL);

                list = api->slist_append(list, line);
        }
        return kube_reach_identity(&call->client->reach, list);
}

static void set_request(KubeCall *call)
{
        CURLcode (*set)(CURL *, CURLoption, ...) = call->client->reach.api->easy_setopt;
        bool has_body = call->http.body || strcmp(call->http.method, "POST") == 0 ||
                        strcmp(call->http.method, "PUT") == 0;

        kube_reach_aim(&call->client->reach, call->handle, call->http.path);
        set(call->handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
        set(call->handle, CURLOPT_PIPEWAIT, 1L);
        set(call->handle, CURLOPT_HTTPHEADER, call->headers);
        set(call->handle, CURLOPT_ERRORBUFFER, call->text);
        set(call->handle, CURLOPT_WRITEFUNCTION, on_body);
        set(call->handle, CURLOPT_WRITEDATA, call);
        set(call->handle, CURLOPT_PRIVATE, call);
        if (call->is_stream) {
                set(call->handle, CURLOPT_HEADERFUNCTION, on_header);
                set(call->handle, CURLOPT_HEADERDATA, call);
        } else {
                set(call->handle, CURLOPT_TIMEOUT_MS, (long)call->timeout_ms);
        }
        if (has_body) {
                set(call->handle, CURLOPT_POSTFIELDSIZE_LARGE,
                    (curl_off_t)(call->http.body ? strlen(call->http.body) : 0));
                set(call->handle, CURLOPT_POSTFIELDS, call->http.body ? call->http.body : "");
        }
        set(call->handle, CURLOPT_CUSTOMREQUEST, call->http.method);
}

/* ---- Silence of streams ---- */

static void stream_broke(KubeCall *call);

static void on_idle(void *arg)
{
        KubeCall *call = arg;
        gint64 left_us = call->heard_us + call->timeout_ms * 1000 - g_get_monotonic_time();

        if (left_us > 0)
                timer_set_at(&call->idle, call->client->context, g_get_monotonic_time() + left_us, on_idle,
                             call);
        else
                stream_broke(call);
}

static void watch_silence(KubeCall *call)
{
        call->heard_us = g_get_monotonic_time();
        if (!call->is_stream || call->timeout_ms <= 0)
                return;
        timer_set(&call->idle, call->client->context, call->timeout_ms, on_idle, call);
}

static KubeMulti *multi_new(KubeClient *client);

/* A server takes some 100 streams over one connection. Above that the library would open a connection for
 * each one; in a multi of their own they wait for one that they share. */
static KubeMulti *multi_with_room(KubeClient *client, Lane lane)
{
        GPtrArray *multis = client->multis[lane];

        for (guint i = 0; i < multis->len; i++)
                if (kube_multi_size(multis->pdata[i]) < STREAMS_MAX)
                        return multis->pdata[i];
        g_ptr_array_add(multis, multi_new(client));
        return multis->pdata[multis->len - 1];
}

static void call_start(KubeCall *call)
{
        KubeClient *client = call->client;

        call->handle = client->reach.api->easy_init();
        g_assert(call->handle); /* out of memory */
        call->headers = call_headers(call);
        call->generation = kube_credential_generation(client->reach.credential);
        call->attempts++;
        call->overflow = false;
        *call->text = '\0';
        g_string_truncate(call->in, 0);
        set_request(call);
        call->multi = multi_with_room(client, call->lane);
        call_move(call, CALL_RUNNING);
        if (!call->is_stream)
                client->in_flight++;
        if (call->is_background)
                client->behind_in_flight++;
        kube_multi_add(call->multi, call->handle);
        call->is_attached = true;
        watch_silence(call);
}

/* ---- The end of a transfer ---- */

/* Calls `done`; the call is gone afterwards. */
static void call_finish(KubeCall *call, KubeReply *reply, const GError *error)
{
        KubeDone done = call->done;

        reply->error = error;
        call->held++;
        call_end(call);
        if (done)
                done(reply, call->arg);
        call_release(call);
}

static void fail_call(KubeCall *call, const GError *error)
{
        KubeReply reply = { .reason = "", .retry_after_ms = -1 };

        call_finish(call, &reply, error);
}

/* New transfers get new connections: one of the present ones seems to lead nowhere. */
static void distrust(KubeClient *client, KubeMulti *multi)
{
        guint at;

        for (Lane lane = 0; lane < LANES; lane++)
                if (g_ptr_array_find(client->multis[lane], multi, &at))
                        g_ptr_array_add(client->old_multis,
                                        g_ptr_array_steal_index_fast(client->multis[lane], at));
}

static bool is_repeatable(KubeCall *call, int status, bool broken, bool unsent)
{
        bool read = call->http.verb == KUBE_GET || call->http.verb == KUBE_LIST;

        if (call->is_stream || call->attempts > call->client->options.retries)
                return false;
        if (status == 429)
                return true;
        if (read)
                return broken || status == 502 || status == 503 || status == 504;
        return unsent;
}

static void call_delay(KubeCall *call, gint64 after_ms)
{
        gint64 delay_ms = backoff_delay(BACK_OFF_MS, BACK_OFF_MAX_MS, (guint64)call->attempts - 1);

        call->client->figures.retries++;
        drop_transfer(call);
        call->due_us = g_get_monotonic_time() + MAX(backoff_spread(delay_ms), after_ms) * 1000;
        call_move(call, CALL_DELAYED);
        pump_soon(call->client);
}

/* The reply of a transfer that ended well. `ret_object` owns what reply->object shows. */
static bool read_reply(KubeCall *call, KubeReply *ret, json_t **ret_object, GError **error)
{
        const char *type = NULL, *reason;
        bool is_json;

        call->client->reach.api->easy_getinfo(call->handle, CURLINFO_CONTENT_TYPE, &type);
        is_json = type && g_str_has_prefix(type, "application/json") && call->in->len;
        if (is_json && !(*ret_object = kube_json_parse(call->in->str, call->in->len, error)) &&
            ret->status / 100 == 2)
                return err_prefix(error, "%s %s: ", call->http.method, call->http.path);
        g_clear_error(error);
        if (!*ret_object) {
                ret->text = call->in->str;
                ret->text_len = call->in->len;
        }
        ret->object = *ret_object;
        reason = kube_get_text(*ret_object, "reason");
        if (ret->status / 100 == 2)
                return true;
        if (reason)
                ret->reason = reason;
        g_autofree char *what = g_strconcat(call->http.method, " ", call->http.path, NULL);
        return kube_status_error(ret->status, *ret_object, ret->text, what, error);
}

static gint64 retry_after_ms(KubeCall *call, const json_t *object)
{
        curl_off_t seconds = 0;
        gint64 said_ms = kube_status_retry_after(object);

        call->client->reach.api->easy_getinfo(call->handle, CURLINFO_RETRY_AFTER, &seconds);
        return seconds > 0 ? MIN((gint64)seconds, RETRY_AFTER_MAX_S) * 1000 : said_ms;
}

static void note_reply(KubeClient *client, const KubeCall *call, int status)
{
        client->figures.requests[call->http.verb][CLAMP(status / 100, 0, 5)]++;
}

/* The transfer is complete: handles the reply, also an unsuccessful one. */
static void on_reply(KubeCall *call)
{
        KubeClient *client = call->client;
        KubeReply reply = { .reason = "", .retry_after_ms = -1 };
        g_autoptr(json_t) object = NULL;
        g_autoptr(GError) error = NULL;
        long status = 0;

        client->reach.api->easy_getinfo(call->handle, CURLINFO_RESPONSE_CODE, &status);
        reply.status = (int)status;
        note_reply(client, call, reply.status);
        if (!call->is_stream || reply.status / 100 != 2)
                (void)read_reply(call, &reply, &object, &error);
        if (reply.status / 100 != 2)
                reply.retry_after_ms = retry_after_ms(call, object);
        if (reply.status == 401 && !call->renewed &&
            kube_credential_renew(client->reach.credential, call->generation)) {
                call->renewed = true;
                drop_transfer(call);
                call_wait(call);
                pump_soon(client);
        } else if (is_repeatable(call, reply.status, false, false)) {
                call_delay(call, reply.retry_after_ms);
        } else {
                pump_soon(client);
                call_finish(call, &reply, error);
        }
}

static void on_broken(KubeCall *call, CURLcode result)
{
        KubeClient *client = call->client;
        g_autoptr(GError) error = NULL;
        bool final =
                result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CERTPROBLEM || call->overflow;
        long sent = 0;

        note_reply(client, call, 0);
        client->reach.api->easy_getinfo(call->handle, CURLINFO_REQUEST_SIZE, &sent);
        if (result == CURLE_OPERATION_TIMEDOUT)
                distrust(client, call->multi);
        if (call->overflow)
                err_set(&error, ERR_TOO_LARGE, "%s %s: the reply is larger than %" G_GSIZE_FORMAT " bytes",
                        call->http.method, call->http.path, call->client->options.body_max);
        else
                kube_reach_error(&client->reach, result, call->text, &error);
        if (!final && is_repeatable(call, 0, true, sent == 0)) {
                call_delay(call, 0);
        } else {
                pump_soon(client);
                fail_call(call, error);
        }
}

/* Passes received bytes on. False if the call was ended meanwhile. */
static bool deliver(KubeCall *call)
{
        g_autoptr(GString) in = call->in;

        call->is_ready = false;
        call->in = g_string_new(NULL);
        call->held++;
        bool more = call->data(in->str, in->len, call->arg);
        if (!more && !call->is_cancelled)
                call_end(call);
        bool gone = call->is_cancelled;
        call_release(call);
        return !gone;
}

static void on_done(CURL *handle, CURLcode result, void *arg)
{
        KubeClient *client = arg;
        KubeCall *call = NULL;

        client->refs++;
        client->reach.api->easy_getinfo(handle, CURLINFO_PRIVATE, &call);
        call->is_attached = false;
        if (call->is_ready)
                g_queue_remove(&client->ready, call);
        if (!call->is_ready || deliver(call)) {
                if (result == CURLE_OK)
                        on_reply(call);
                else
                        on_broken(call, result);
        }
        client_unref(client);
}

static void on_turn(void *arg)
{
        KubeClient *client = arg;
        KubeCall *call;

        client->refs++;
        while (!client->freed && (call = g_queue_pop_head(&client->ready)))
                (void)deliver(call);
        client_unref(client);
}

static KubeMulti *multi_new(KubeClient *client)
{
        KubeMultiEvents events = { .done = on_done, .turn = on_turn, .arg = client };

        return kube_multi_new(client->reach.api, client->context, &events);
}

static void stream_broke(KubeCall *call)
{
        KubeClient *client = call->client;
        g_autoptr(GError) error = NULL;

        err_set(&error, ERR_TIMEOUT, "%s %s: no data came for %" G_GINT64_FORMAT " ms", call->http.method,
                call->http.path, call->timeout_ms);
        client->refs++;
        distrust(client, call->multi);
        note_reply(client, call, 0);
        fail_call(call, error);
        client_unref(client);
}

/* ---- The pump ---- */

static void fill_bucket(KubeClient *client, gint64 now_us)
{
        client->tokens += (double)(now_us - client->filled_us) / 1e6 * client->options.rate;
        client->tokens = MIN(client->tokens, (double)client->options.burst);
        client->filled_us = now_us;
}

/* Delayed calls that are due wait for their turn again. Returns the time of the next delayed one; -1:
 * none. */
static gint64 wake_delayed(KubeClient *client, gint64 now_us)
{
        gint64 next_us = -1;

        for (GList *link = client->queues[CALL_DELAYED].head, *after; link; link = after) {
                KubeCall *call = link->data;

                after = link->next;
                if (call->due_us <= now_us)
                        call_wait(call);
                else if (next_us < 0 || call->due_us < next_us)
                        next_us = call->due_us;
        }
        return next_us;
}

static bool has_room(const KubeClient *client)
{
        return client->in_flight < (guint)client->options.max_in_flight;
}

/* The call that starts next; NULL: none may. */
static KubeCall *next_call(const KubeClient *client)
{
        const GList *ahead = client->queues[CALL_AHEAD].head, *first = client->queues[CALL_WAITING].head;
        const GList *behind = client->queues[CALL_BEHIND].head;
        guint share = (guint)client->options.max_in_flight / BEHIND_SHARE;
        KubeCall *next;

        if (ahead)
                return ahead->data;
        if (behind && client->behind_in_flight < (first ? share : MAX(share, 1)))
                first = behind;
        next = first ? first->data : NULL;
        return next && (next->is_stream || has_room(client)) ? next : NULL;
}

static void fail_queue(KubeClient *client, CallState state, const GError *error)
{
        const GQueue *queue = &client->queues[state];
        guint count = queue->length; /* what is added meanwhile waits for the next time */

        for (; count && !client->freed && queue->head; count--)
                fail_call(queue->head->data, error);
}

/* Starts waiting calls. If the token bucket is empty, returns the time of its next token. */
static gint64 start_waiting(KubeClient *client, gint64 now_us)
{
        KubeCall *call;

        while ((call = next_call(client))) {
                if (client->tokens < 1)
                        return now_us + (gint64)((1 - client->tokens) / client->options.rate * 1e6) + 1;
                client->tokens -= 1;
                call_start(call);
        }
        return -1;
}

static void on_pump(void *arg)
{
        KubeClient *client = arg;
        gint64 now_us = g_get_monotonic_time(), next_us, token_us = -1;
        g_autoptr(GError) error = NULL;

        client->refs++;
        fill_bucket(client, now_us);
        next_us = wake_delayed(client, now_us);
        if (next_call(client))
                switch (kube_credential_check(client->reach.credential, &error)) {
                case CREDENTIAL_READY: token_us = start_waiting(client, now_us); break;
                case CREDENTIAL_WAIT: break; /* on_credential */
                case CREDENTIAL_FAILED:
                        for (CallState state = CALL_AHEAD; state <= CALL_BEHIND; state++)
                                fail_queue(client, state, error);
                        break;
                }
        if (token_us >= 0 && (next_us < 0 || token_us < next_us))
                next_us = token_us;
        if (!client->freed && next_us >= 0 && !client->pump) /* if it is set, it follows at once */
                timer_set_at(&client->pump, client->context, next_us, on_pump, client);
        client_unref(client);
}

static void on_credential(void *arg)
{
        pump_soon(arg);
}

/* ---- The client ---- */

static void set_options(KubeClient *client, const KubeClientOptions *options)
{
        KubeClientOptions *set = &client->options;

        *set = *options;
        set->rate = set->rate > 0 ? set->rate : defaults.rate;
        set->burst = set->burst > 0 ? set->burst : defaults.burst;
        set->max_in_flight = set->max_in_flight > 0 ? set->max_in_flight : defaults.max_in_flight;
        set->timeout_ms = set->timeout_ms > 0 ? set->timeout_ms : defaults.timeout_ms;
        set->retries = set->retries ? MAX(set->retries, 0) : defaults.retries;
        set->body_max = set->body_max ? set->body_max : defaults.body_max;
        client->reach.agent = g_strdup(set->agent ? set->agent : defaults.agent);
        set->agent = client->reach.agent;
        client->context = set->context ? g_main_context_ref(set->context) : NULL;
}

KubeClient *kube_client_new(const KubeConfig *config, const KubeClientOptions *options, GError **error)
{
        const CurlApi *api = curl_api_load(error);

        if (!api)
                return NULL;
        KubeClient *client = g_new0(KubeClient, 1);
        client->refs = 1;
        set_options(client, options ? options : &defaults);
        client->reach.api = api;
        client->reach.config = kube_config_copy(config);
        client->reach.credential =
                kube_credential_new(client->reach.config, client->context, on_credential, client);
        kube_reach_init(&client->reach);
        for (Lane lane = 0; lane < LANES; lane++)
                client->multis[lane] = g_ptr_array_new_with_free_func((GDestroyNotify)kube_multi_free);
        client->old_multis = g_ptr_array_new_with_free_func((GDestroyNotify)kube_multi_free);
        client->tokens = client->options.burst;
        client->filled_us = g_get_monotonic_time();
        client->discovery = kube_discovery_new(client);
        return client;
}

void kube_client_free(KubeClient *client)
{
        if (!client || client->freed)
                return;
        kube_discovery_free(client->discovery);
        for (CallState state = 0; state < CALL_STATES; state++)
                for (GList *head; (head = client->queues[state].head);)
                        call_end(head->data);
        client->freed = true;
        for (Lane lane = 0; lane < LANES; lane++)
                g_ptr_array_unref(client->multis[lane]);
        g_ptr_array_unref(client->old_multis);
        timer_clear(&client->pump);
        client_unref(client);
}

GMainContext *kube_client_context(const KubeClient *client)
{
        return client->context;
}

const KubeReach *kube_client_reach(const KubeClient *client)
{
        return &client->reach;
}

KubeDiscovery *kube_client_discovery(KubeClient *client)
{
        return client->discovery;
}

static KubeCall *call_new(KubeClient *client, void *arg)
{
        KubeCall *call = g_new0(KubeCall, 1);

        call->client = client;
        call->arg = arg;
        call->in = g_string_new(NULL);
        call->link.data = call;
        call->state = CALL_WAITING;
        g_queue_push_tail_link(&client->queues[CALL_WAITING], &call->link);
        pump_soon(client);
        return call;
}

KubeCall *kube_send(KubeClient *client, const KubeRequest *request, KubeDone done, void *arg)
{
        KubeCall *call = call_new(client, arg);

        kube_http_init(&call->http, request);
        call->timeout_ms = request->timeout_ms > 0 ? request->timeout_ms : client->options.timeout_ms;
        call->done = done;
        call->is_background = request->background;
        call_wait(call);
        return call;
}

KubeCall *kube_stream(KubeClient *client, const char *path_and_query, gint64 idle_ms, KubeData data,
                      KubeEnd end, void *arg)
{
        KubeCall *call = call_new(client, arg);
        KubeRequest request = { .verb = KUBE_GET, .path = path_and_query };

        kube_http_init(&call->http, &request);
        call->is_stream = true;
        call->timeout_ms = idle_ms;
        call->data = data;
        call->done = end;
        return call;
}

void kube_client_figures(const KubeClient *client, KubeClientFigures *ret)
{
        *ret = client->figures;
        ret->waiting = client->queues[CALL_DELAYED].length;
        for (CallState state = CALL_AHEAD; state <= CALL_BEHIND; state++)
                ret->waiting += client->queues[state].length;
        ret->in_flight = client->in_flight;
        ret->streams = client->queues[CALL_RUNNING].length - client->in_flight;
}
