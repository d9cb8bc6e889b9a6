/* The life of a request, from its line to its end: the head, the body, the handler on the worker or on a
 * thread of the pool, the wait for an answer. */
#include "net/connection.h"

#include <unistd.h>

#include "base/cancel.h"
#include "net/websocket-loop.h"

enum {
        LATENCY_BASE_US = 64,
};

static void resume_request(HttpRequest *request)
{
        conn_resume(request->connection);
}

static bool is_stopping(const HttpRequest *request)
{
        return request->server->stopping;
}

static bool record(const HttpRequest *request, int status, void (*done)(void *arg), void *done_arg)
{
        const HttpServerConfig *config = &request->server->config;

        return config->record && config->record(request, status, done, done_arg, config->arg);
}

static const RequestOps request_ops = { resume_request,        lookup_header, follower_admit_stream,
                                        follower_admit_socket, is_stopping,   record };

/* ---- Answering ---- */

/* Sends the answer when there is one, else suspends until there is: both under the request's mutex, so none
 * is missed. */
static enum MHD_Result send_or_wait(HttpRequest *request, Conn *conn)
{
        bool stopping = false;

        pthread_mutex_lock(&request->mutex);
        bool answered = request->answered;
        if (!answered && !(stopping = conn->server->stopping)) {
                request->suspended = true;
                conn_suspend(request->connection);
        }
        pthread_mutex_unlock(&request->mutex);
        if (stopping) {
                GError *error = NULL;

                set_stopping(&error);
                fail_with(request, error);
        }
        return answered || stopping ? send_reply(request, conn) : MHD_YES;
}

static void call_handler(HttpRequest *request)
{
        HttpServer *server = request->server;

        request->entry->route->handler(request, request->face ? request->face->face.arg : server->arg);
}

/* True if the client no longer waits for the answer (CancelFunc). A client that closes half of its connection
 * counts as gone. */
static bool is_over(void *arg)
{
        HttpRequest *request = arg;
        bool over;

        pthread_mutex_lock(&request->mutex);
        over = request->answered || request->server->stopping ||
               (request->suspended && conn_is_left(request->connection));
        pthread_mutex_unlock(&request->mutex);
        return over;
}

/* On the pool. Takes the reference. */
static void run_on_pool(bool stopped, void *arg)
{
        HttpRequest *request = arg;

        if (stopped) {
                GError *error = NULL;

                set_stopping(&error);
                fail_with(request, error);
        } else if (!is_over(request)) {
                cancel_begin(is_over, request);
                call_handler(request);
                cancel_end();
        }
        http_request_unref(request);
}

/* Takes the reference. */
static void push_handler(HttpRequest *request)
{
        const char *user = request->caller.user;
        GError *error = NULL;

        if (thread_pool_push(request->server->pool, user ? user : "", run_on_pool, request, &error))
                return;
        fail_with(request, error);
        http_request_unref(request);
}

bool http_request_to_pool(HttpRequest *request)
{
        if (request->on_pool)
                return false;
        request->on_pool = true;
        push_handler(http_request_ref(request));
        return true;
}

static enum MHD_Result run_handler(HttpRequest *request, Conn *conn)
{
        int body = PHASE_BODY;

        if (!atomic_compare_exchange_strong(&conn->phase, &body, PHASE_BUSY))
                return MHD_NO;
        if (request->stage == STAGE_DISCARD)
                return send_reply(request, conn);
        request->stage = STAGE_WAIT;
        if (request->body_fd >= 0) {
                close(request->body_fd);
                request->body_fd = -1;
        }
        http_request_ref(request);
        if (request->entry->route->on_pool) {
                request->on_pool = true;
                push_handler(request);
        } else {
                call_handler(request);
                http_request_unref(request);
        }
        return send_or_wait(request, conn);
}

enum MHD_Result request_continued(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *len,
                                  void **context)
{
        HttpRequest *request = *context;
        Conn *conn = conn_of(connection);

        switch (request->stage) {
        case STAGE_HEADER:
                request->http_1_1 = g_str_equal(version, MHD_HTTP_VERSION_1_1);
                request->is_head = g_str_equal(method, MHD_HTTP_METHOD_HEAD);
                return head_take(request, conn, method);
        case STAGE_BODY:
        case STAGE_DISCARD: return *len ? body_take(request, conn, data, len) : run_handler(request, conn);
        case STAGE_WAIT: return send_or_wait(request, conn);
        case STAGE_SENT: break;
        }
        return MHD_YES;
}

/* ---- Begin and end ---- */

void *request_begun(void *cls, const char *target, struct MHD_Connection *connection)
{
        HttpServer *server = cls;
        Conn *conn = conn_of(connection);
        HttpRequest *request = request_new(server, &request_ops, target);

        request->connection = connection;
        server->active++;
        conn->since_ms = request->started_us / 1000;
        int idle = PHASE_IDLE;
        (void)atomic_compare_exchange_strong(&conn->phase, &idle, PHASE_HEADER); /* else it is cut already */
        pthread_mutex_lock(&conn->mutex);
        conn->request = request;
        pthread_mutex_unlock(&conn->mutex);
        return request;
}

static void count_latency(HttpServer *server, gint64 us)
{
        int bucket = 0;

        while (bucket < 15 && us > ((gint64)LATENCY_BASE_US << bucket))
                bucket++;
        server->latency_count++;
        server->latency_us += us;
        server->latency[bucket]++;
}

static void count_request(HttpServer *server, const HttpRequest *request, gint64 now_us)
{
        int status = request->reply.status;

        server->requests++;
        if (status >= 500)
                server->errors_5xx++;
        else if (status >= 400)
                server->errors_4xx++;
        if (request->reply.kind != REPLY_STREAM && request->reply.kind != REPLY_UPGRADE)
                count_latency(server, now_us - request->started_us);
}

static void request_detach(HttpRequest *request)
{
        HttpServer *server = request->server;

        pthread_mutex_lock(&request->mutex);
        request->connection = NULL;
        request->answered = true; /* the client has gone */
        HttpStreamHandle *unread = g_steal_pointer(&request->reply.stream);
        WebSocket *unopened = g_steal_pointer(&request->reply.socket);
        pthread_mutex_unlock(&request->mutex);
        if (unread)
                follower_release_stream(server, unread);
        if (unopened)
                websocket_abandon(unopened);
        body_release(request);
        if (request->body_file)
                (void)unlink(request->body_file); /* it may have been renamed away */
}

void request_completed(void *cls, struct MHD_Connection *connection, void **context,
                       enum MHD_RequestTerminationCode code)
{
        HttpServer *server = cls;
        HttpRequest *request = *context;
        Conn *conn = conn_of(connection);
        gint64 now_us = g_get_monotonic_time();

        if (!request)
                return;
        *context = NULL;
        pthread_mutex_lock(&conn->mutex);
        conn->request = NULL;
        conn_forget_file(conn);
        pthread_mutex_unlock(&conn->mutex);
        if (request->stage != STAGE_HEADER)
                count_request(server, request, now_us);
        request_detach(request);
        request_unref_memory(request);
        conn->used = true;
        conn->since_ms = now_us / 1000;
        if (conn->phase != PHASE_CUT)
                conn->phase = PHASE_IDLE;
        if (--server->active == 0 && server->stopping) {
                pthread_mutex_lock(&server->mutex);
                pthread_cond_broadcast(&server->changed);
                pthread_mutex_unlock(&server->mutex);
        }
}
