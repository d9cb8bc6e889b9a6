/* WebSockets: the handshake (RFC 6455, section 4.2), and one thread with an epoll set for all sockets.
 *
 * A socket has a state, which says what it may hear and send (websocket-state.c), and a stage, its way to the
 * thread:
 *
 *      HANDSHAKE ──attach──▶ ATTACHED ──begin──▶ SERVED
 *          └─────────────────────┴──────────────────┴───▶ the end, in every stage (state OVER)
 *
 * A sender appends frames to the socket's buffer under its mutex and puts the socket on the loop's list of
 * sockets with something new. Only the thread uses descriptors. A socket's mutex is taken before the loop's. The
 * thread calls no callback with a mutex held. */
#include "net/websocket-loop.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "net/request.h"
#include "net/websocket-accept.h"
#include "net/websocket-frame.h"
#include "net/websocket-state.h"

enum {
        CLOSE_MS = 15000,     /* for the client to read what it was sent, and to send its close */
        STOP_MS = 2000,       /* the same while the server stops */
        SILENCE_FACTOR = 3,   /* heartbeats without a byte from the client */
        READ_SIZE = 16 << 10, /* a turn of one socket */
        EVENTS_MAX = 64,
        QUIET_BUFFER_MAX = 4096, /* what an empty buffer may keep */
        KEY_LEN = 24,            /* base64 of 16 bytes */
        KEY_BYTES = 16,
};

typedef enum {
        STAGE_HANDSHAKE, /* the handshake is not answered */
        STAGE_ATTACHED,  /* the thread is told of it */
        STAGE_SERVED,    /* the thread has it in its set */
} Stage;

struct WebSocketLoop {
        WebSocketLimits limits;
        int epoll, wake; /* `wake` is an eventfd in the set, with a NULL pointer */
        GThread *thread;
        _Atomic gsize out_total; /* bytes in the buffers of all sockets */

        pthread_mutex_t mutex; /* guards what follows */
        GQueue fresh;          /* WebSocket, a reference each: something new for the thread */
        bool quiescing, stop, ended;

        GPtrArray *sockets; /* only the thread: the attached ones, a reference each */
};

struct WebSocket {
        gint refs;
        WebSocketOps ops;
        void *arg;
        char *user, *credential;
        WebSocketLoop *loop; /* from here to `in`: set before the thread knows the socket */
        WebSocketDone done;
        void *done_arg;
        int fd;
        void *connection;
        GString *in; /* read before the thread took over */

        pthread_mutex_t mutex; /* guards what follows */
        GString *out;
        gsize sent;           /* of out */
        WebSocketState state; /* websocket_step moves it */
        Stage stage;
        bool listed;        /* in loop->fresh */
        gint64 close_by_ms; /* when the connection ends at the latest; 0: our close is not in `out` yet */

        /* Only the thread. */
        guint index;      /* in loop->sockets */
        bool wants_write; /* the set tells when the descriptor takes more */
        FrameDecoder *decoder;
        gint64 heard_ms, pinged_ms;
};

/* ---- the socket ---- */

WebSocket *websocket_ref(WebSocket *socket)
{
        g_atomic_int_inc(&socket->refs);
        return socket;
}

void websocket_unref(WebSocket *socket)
{
        if (!socket || !g_atomic_int_dec_and_test(&socket->refs))
                return;
        pthread_mutex_destroy(&socket->mutex);
        frame_decoder_free(socket->decoder);
        g_string_free(socket->out, TRUE);
        if (socket->in)
                g_string_free(socket->in, TRUE);
        g_free(socket->user);
        g_free(socket->credential);
        g_free(socket);
}

static WebSocket *websocket_new(const WebSocketOps *ops, void *arg, const HttpRequest *request)
{
        const char *user = ops->user ? ops->user : request->caller.user;
        WebSocket *socket = g_new0(WebSocket, 1);

        socket->refs = 1;
        socket->ops = *ops;
        socket->arg = arg;
        socket->user = g_strdup(user ? user : "");
        socket->credential = g_strdup(request->credential);
        socket->fd = -1;
        socket->out = g_string_new(NULL);
        pthread_mutex_init(&socket->mutex, NULL);
        return socket;
}

const char *websocket_user(const WebSocket *socket)
{
        return socket->user;
}

const char *websocket_credential(const WebSocket *socket)
{
        return socket->credential;
}

void websocket_adopt(WebSocket *socket, WebSocketLoop *loop, WebSocketDone done, void *arg)
{
        socket->loop = loop;
        socket->done = done;
        socket->done_arg = arg;
}

static void wake(WebSocketLoop *loop)
{
        guint64 one = 1;

        (void)!write(loop->wake, &one, sizeof one); /* fails only when it counts 2^64 already */
}

/* Puts the socket before the thread; with its mutex held. False when there is no thread any more. */
static bool list(WebSocket *socket)
{
        WebSocketLoop *loop = socket->loop;

        if (socket->listed || socket->stage == STAGE_HANDSHAKE)
                return true;
        pthread_mutex_lock(&loop->mutex);
        bool ok = !loop->ended;
        if (ok) {
                g_queue_push_tail(&loop->fresh, websocket_ref(socket));
                socket->listed = true;
                wake(loop);
        }
        pthread_mutex_unlock(&loop->mutex);
        return ok;
}

/* After something was appended at `before`: counts it, and drops a client that reads too little. With the mutex
 * held. */
static void appended(WebSocket *socket, gsize before)
{
        WebSocketLoop *loop = socket->loop;
        gsize more = socket->out->len - before;
        gsize total = atomic_fetch_add(&loop->out_total, more) + more;

        if (socket->out->len - socket->sent > loop->limits.out_max || total > loop->limits.out_total_max)
                (void)websocket_step(&socket->state, WEBSOCKET_ON_FULL);
        (void)list(socket); /* without a thread the socket is over, or about to be */
}

/* Sends the frame if that event lets it. */
static bool send_frame(WebSocket *socket, WebSocketEvent event, FrameOpcode opcode, const char *data,
                       gsize len)
{
        pthread_mutex_lock(&socket->mutex);
        bool ok = socket->loop && websocket_step(&socket->state, event) & WEBSOCKET_DO_SEND;
        if (ok) {
                gsize before = socket->out->len;

                frame_append(socket->out, opcode, data, len);
                appended(socket, before);
                ok = socket->state != WEBSOCKET_DROPPED;
        }
        pthread_mutex_unlock(&socket->mutex);
        return ok;
}

bool websocket_send_text(WebSocket *socket, const char *text, gsize len)
{
        return send_frame(socket, WEBSOCKET_ON_SEND, FRAME_TEXT, text, len);
}

gsize websocket_pending(WebSocket *socket)
{
        pthread_mutex_lock(&socket->mutex);
        gsize len = socket->out->len - socket->sent;
        pthread_mutex_unlock(&socket->mutex);
        return len;
}

/* Sends a close if that event lets it. */
static void send_close(WebSocket *socket, WebSocketEvent event, int status, const char *reason)
{
        pthread_mutex_lock(&socket->mutex);
        if (socket->loop && websocket_step(&socket->state, event) & WEBSOCKET_DO_SEND) {
                gsize before = socket->out->len;

                frame_append_close(socket->out, (CloseStatus)status, reason);
                socket->close_by_ms =
                        clock_monotonic_ms() + (status == CLOSE_GOING_AWAY ? STOP_MS : CLOSE_MS);
                appended(socket, before);
        }
        pthread_mutex_unlock(&socket->mutex);
}

void websocket_close(WebSocket *socket, int status, const char *reason)
{
        send_close(socket, WEBSOCKET_ON_CLOSE, status, reason);
}

/* The end: once, on the thread, or where there is none (any more). */
static void end(WebSocket *socket)
{
        pthread_mutex_lock(&socket->mutex);
        gsize len = socket->out->len;
        (void)websocket_step(&socket->state, WEBSOCKET_ON_END);
        g_string_truncate(socket->out, 0);
        socket->sent = 0;
        pthread_mutex_unlock(&socket->mutex);
        if (socket->loop)
                socket->loop->out_total -= len;
        if (socket->ops.on_closed)
                socket->ops.on_closed(socket->arg);
        if (socket->done)
                socket->done(socket, socket->connection, socket->done_arg);
}

void websocket_attach(WebSocket *socket, int fd, void *connection, const char *extra, gsize len)
{
        int on = 1;

        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* a Unix socket has none */
        socket->fd = fd;
        socket->connection = connection;
        socket->in = g_string_new_len(extra, (gssize)len);
        pthread_mutex_lock(&socket->mutex);
        socket->stage = STAGE_ATTACHED;
        bool ok = list(socket);
        pthread_mutex_unlock(&socket->mutex);
        if (!ok)
                end(socket);
        websocket_unref(socket);
}

void websocket_abandon(WebSocket *socket)
{
        end(socket);
        websocket_unref(socket);
}

/* ---- the thread: one socket ---- */

static bool hears(WebSocket *socket)
{
        pthread_mutex_lock(&socket->mutex);
        bool hears = websocket_hears(socket->state);
        pthread_mutex_unlock(&socket->mutex);
        return hears;
}

static void deliver(WebSocket *socket, const char *text, gsize len)
{
        pthread_mutex_lock(&socket->mutex);
        guint todo = websocket_step(&socket->state, WEBSOCKET_ON_TEXT);
        pthread_mutex_unlock(&socket->mutex);
        if (todo & WEBSOCKET_DO_DELIVER)
                socket->ops.on_text(socket->arg, text, len);
}

static bool on_frame(FrameOpcode opcode, const char *data, gsize len, void *arg)
{
        WebSocket *socket = arg;
        int status;

        switch (opcode) {
        case FRAME_TEXT: deliver(socket, data, len); break;
        case FRAME_PING: (void)send_frame(socket, WEBSOCKET_ON_PING, FRAME_PONG, data, len); break;
        case FRAME_CLOSE:
                status = frame_close_status(data, len);
                send_close(socket, WEBSOCKET_ON_BYE, status ? status : CLOSE_NORMAL, NULL);
                break;
        default: break;
        }
        return opcode != FRAME_CLOSE;
}

static void feed(WebSocket *socket, const char *data, gsize len)
{
        int status = hears(socket) ? frame_decoder_feed(socket->decoder, data, len) : 0;

        socket->heard_ms = clock_monotonic_ms();
        if (status)
                send_close(socket, WEBSOCKET_ON_FAULT, status, NULL);
}

/* False when nothing more will come. */
static bool take_input(WebSocket *socket)
{
        char buffer[READ_SIZE];
        ssize_t len = recv(socket->fd, buffer, sizeof buffer, MSG_DONTWAIT);

        if (len > 0)
                feed(socket, buffer, (gsize)len);
        return len > 0 || (len < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Forgets what was sent; with the mutex held. */
static void drop_sent(WebSocket *socket, gsize len)
{
        socket->sent += len;
        if (socket->sent < socket->out->len && socket->sent < socket->out->len / 2)
                return;
        socket->loop->out_total -= socket->sent;
        g_string_erase(socket->out, 0, (gssize)socket->sent);
        socket->sent = 0;
        if (socket->out->len == 0 && socket->out->allocated_len > QUIET_BUFFER_MAX) {
                g_string_free(socket->out, TRUE);
                socket->out = g_string_new(NULL);
        }
}

/* Sends what the client takes. When all is sent and nothing more is to come from either side, our half of the
 * connection is ended. The client's end is waited for: a close with unread bytes would reset the connection and
 * lose our last frames. False if the connection is to be ended. */
static bool flush(WebSocket *socket, bool *ret_waits)
{
        bool ok = true;

        pthread_mutex_lock(&socket->mutex);
        while (socket->out->len > socket->sent) {
                ssize_t len = send(socket->fd, socket->out->str + socket->sent,
                                   socket->out->len - socket->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

                if (len < 0) {
                        ok = errno == EAGAIN || errno == EINTR;
                        break;
                }
                drop_sent(socket, (gsize)len);
        }
        *ret_waits = socket->out->len > socket->sent;
        if (!*ret_waits && websocket_step(&socket->state, WEBSOCKET_ON_SENT) & WEBSOCKET_DO_SHUT)
                (void)shutdown(socket->fd, SHUT_WR);
        ok = ok && socket->state != WEBSOCKET_DROPPED;
        pthread_mutex_unlock(&socket->mutex);
        return ok;
}

static void watch_write(WebSocket *socket, bool wants)
{
        struct epoll_event event = { .events = EPOLLIN | (wants ? EPOLLOUT : 0), .data.ptr = socket };

        if (wants == socket->wants_write)
                return;
        socket->wants_write = wants;
        (void)epoll_ctl(socket->loop->epoll, EPOLL_CTL_MOD, socket->fd, &event); /* of one in the set */
}

/* After anything that may have filled the buffer. False if the connection is to be ended. */
static bool push(WebSocket *socket)
{
        bool waits, ok = flush(socket, &waits);

        if (ok)
                watch_write(socket, waits);
        return ok;
}

/* Off the list and out of the set, while the descriptor is ours. */
static void finish(WebSocket *socket)
{
        WebSocketLoop *loop = socket->loop;
        guint index = socket->index;

        (void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, socket->fd, NULL);
        g_ptr_array_remove_index_fast(loop->sockets, index); /* the last one takes its place */
        if (index < loop->sockets->len)
                ((WebSocket *)loop->sockets->pdata[index])->index = index;
        end(socket);
        websocket_unref(socket);
}

/* False if it has ended at once. */
static bool begin(WebSocket *socket, bool quiescing)
{
        WebSocketLoop *loop = socket->loop;
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = socket };

        socket->decoder = frame_decoder_new(loop->limits.message_max, on_frame, socket);
        socket->heard_ms = socket->pinged_ms = clock_monotonic_ms();
        socket->index = loop->sockets->len;
        g_ptr_array_add(loop->sockets, websocket_ref(socket));
        if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, socket->fd, &event) != 0) {
                finish(socket);
                return false;
        }
        if (quiescing)
                websocket_close(socket, CLOSE_GOING_AWAY, "the server is stopping");
        feed(socket, socket->in->str, socket->in->len);
        return true;
}

static void serve(WebSocket *socket, uint32_t events)
{
        if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !take_input(socket))
                finish(socket);
        else if (!push(socket))
                finish(socket);
}

/* A silent client is pinged. One that stays silent, or does not answer our close, is ended. */
static void look_after(WebSocket *socket, gint64 now)
{
        gint64 beat = socket->loop->limits.heartbeat_ms;

        pthread_mutex_lock(&socket->mutex);
        bool late = socket->close_by_ms && now > socket->close_by_ms;
        pthread_mutex_unlock(&socket->mutex);
        if (late || now - socket->heard_ms > SILENCE_FACTOR * beat) {
                finish(socket);
        } else if (now - socket->heard_ms > beat && now - socket->pinged_ms > beat) {
                socket->pinged_ms = now;
                (void)send_frame(socket, WEBSOCKET_ON_SEND, FRAME_PING, NULL, 0);
        }
}

/* ---- the thread: all sockets ---- */

typedef struct {
        GQueue fresh;
        bool quiescing, stop;
} News;

static News take_news(WebSocketLoop *loop)
{
        News news;
        guint64 count;

        (void)!read(loop->wake, &count, sizeof count); /* not blocking: it may be empty */
        pthread_mutex_lock(&loop->mutex);
        news = (News){ loop->fresh, loop->quiescing, loop->stop };
        g_queue_init(&loop->fresh);
        loop->ended = loop->stop;
        pthread_mutex_unlock(&loop->mutex);
        return news;
}

/* True if the thread serves it; a new one is put into the thread's set. */
static bool take_up(WebSocket *socket, bool quiescing)
{
        pthread_mutex_lock(&socket->mutex);
        Stage stage = socket->stage;
        bool over = socket->state == WEBSOCKET_OVER;
        socket->listed = false;
        socket->stage = STAGE_SERVED;
        pthread_mutex_unlock(&socket->mutex);
        if (over || stage == STAGE_SERVED)
                return !over;
        return begin(socket, quiescing);
}

static void serve_fresh(News *news)
{
        WebSocket *socket;

        while ((socket = g_queue_pop_head(&news->fresh))) {
                if (take_up(socket, news->quiescing))
                        serve(socket, 0);
                websocket_unref(socket);
        }
}

static void each_socket(WebSocketLoop *loop, void (*call)(WebSocket *socket, gint64 now))
{
        gint64 now = clock_monotonic_ms();

        for (guint i = loop->sockets->len; i-- > 0;) /* from the end, since one may leave */
                call(loop->sockets->pdata[i], now);
}

static void say_goodbye(WebSocket *socket, gint64 now)
{
        websocket_close(socket, CLOSE_GOING_AWAY, "the server is stopping");
}

static void finish_now(WebSocket *socket, gint64 now)
{
        finish(socket);
}

static gpointer run(gpointer data)
{
        WebSocketLoop *loop = data;
        struct epoll_event events[EVENTS_MAX];
        int step = (int)CLAMP(loop->limits.heartbeat_ms / 4, 10, 500);
        gint64 looked_ms = 0;
        bool said = false;

        for (;;) {
                int n = epoll_wait(loop->epoll, events, EVENTS_MAX, loop->sockets->len ? step : -1);
                News news = take_news(loop);

                /* The events come first: a socket that ends with one is not looked at by a later one, since
                 * each has one event in a turn. */
                for (int i = 0; i < n; i++)
                        if (events[i].data.ptr)
                                serve(events[i].data.ptr, events[i].events);
                serve_fresh(&news);
                if (news.stop)
                        break;
                if (news.quiescing && !said)
                        each_socket(loop, say_goodbye);
                said = news.quiescing;
                if (clock_monotonic_ms() - looked_ms >= step) {
                        each_socket(loop, look_after);
                        looked_ms = clock_monotonic_ms();
                }
        }
        each_socket(loop, finish_now);
        return NULL;
}

WebSocketLoop *websocket_loop_new(const WebSocketLimits *limits, GError **error)
{
        WebSocketLoop *loop = g_new0(WebSocketLoop, 1);
        struct epoll_event event = { .events = EPOLLIN };

        loop->limits = *limits;
        loop->sockets = g_ptr_array_new();
        g_queue_init(&loop->fresh);
        pthread_mutex_init(&loop->mutex, NULL);
        loop->epoll = epoll_create1(EPOLL_CLOEXEC);
        loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (loop->epoll < 0 || loop->wake < 0 ||
            epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->wake, &event) != 0) {
                err_set_errno(error, errno, "cannot serve WebSockets");
                websocket_loop_free(loop);
                return NULL;
        }
        loop->thread = g_thread_new("http-sockets", run, loop);
        return loop;
}

static void tell(WebSocketLoop *loop, bool stop)
{
        pthread_mutex_lock(&loop->mutex);
        loop->quiescing = true;
        loop->stop = loop->stop || stop;
        wake(loop);
        pthread_mutex_unlock(&loop->mutex);
}

void websocket_loop_quiesce(WebSocketLoop *loop)
{
        tell(loop, false);
}

void websocket_loop_stop(WebSocketLoop *loop)
{
        tell(loop, true);
        g_thread_join(loop->thread);
}

void websocket_loop_free(WebSocketLoop *loop)
{
        if (!loop)
                return;
        if (loop->epoll >= 0)
                close(loop->epoll);
        if (loop->wake >= 0)
                close(loop->wake);
        g_ptr_array_unref(loop->sockets);
        pthread_mutex_destroy(&loop->mutex);
        g_free(loop);
}

/* ---- the handshake ---- */

/* Is `word` one of a list of tokens that commas part? */
static bool has_token(const char *list_text, const char *word)
{
        g_auto(GStrv) tokens = g_strsplit(list_text ? list_text : "", ",", 16);

        for (guint i = 0; tokens[i]; i++)
                if (g_ascii_strcasecmp(g_strstrip(tokens[i]), word) == 0)
                        return true;
        return false;
}

static bool is_key(const char *key)
{
        g_autofree guchar *bytes = NULL;
        g_autofree char *again = NULL;
        gsize len = 0;

        if (!key || strlen(key) != KEY_LEN)
                return false;
        bytes = g_base64_decode(key, &len);
        again = g_base64_encode(bytes, len); /* the decoder passes over what is no base64 */
        return len == KEY_BYTES && g_str_equal(again, key);
}

static void refuse(HttpRequest *request, int status, const char *says)
{
        http_reply_header(request, "Sec-WebSocket-Version", "13");
        http_reply(request, status, "text/plain; charset=utf-8", says, strlen(says));
}

/* False when the request was answered; else the key, borrowed from it. */
static bool check_handshake(HttpRequest *request, const char **ret_key)
{
        const char *version = http_request_header(request, "Sec-WebSocket-Version");
        const char *key = http_request_header(request, "Sec-WebSocket-Key");

        if (!request->http_1_1 || !has_token(http_request_header(request, "Connection"), "upgrade") ||
            !has_token(http_request_header(request, "Upgrade"), "websocket"))
                refuse(request, 400,
                       "Bad Request: this is a WebSocket; the request asks for no upgrade to it "
                       "(HTTP/1.1 with Connection: Upgrade and Upgrade: websocket)\n");
        else if (!version || !g_str_equal(version, "13"))
                refuse(request, 426,
                       "Upgrade Required: the WebSocket protocol of version 13 is spoken here\n");
        else if (!is_key(key))
                refuse(request, 400,
                       "Bad Request: Sec-WebSocket-Key is missing, or not 16 bytes in base64\n");
        else {
                *ret_key = key;
                return true;
        }
        return false;
}

WebSocket *http_upgrade_websocket(HttpRequest *request, const WebSocketOps *ops, void *arg)
{
        g_autoptr(WebSocket) socket = websocket_new(ops, arg, request);
        const char *key = NULL;

        if (!check_handshake(request, &key)) {
                end(socket);
                return NULL;
        }
        g_autofree char *accept = websocket_accept(key);
        http_reply_header(request, "Upgrade", "websocket");
        http_reply_header(request, "Sec-WebSocket-Accept", accept);
        return request_upgrade(request, socket) ? g_steal_pointer(&socket) : NULL;
}
