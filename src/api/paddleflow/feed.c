/* GET /wsjob: jobs as they change, over WebSockets (doc/reference/paddleflow-api.md, "The feed of jobs"). One
 * thread serves all of them: it is woken by the engine after a commit, reads what happened since from the
 * events, and sends each job that changed once to those who may see it. Without sockets it sleeps. */
#include <pthread.h>
#include <string.h>

#include "api/paddleflow/internal.h"
#include "net/websocket.h"

enum { EVENTS = 1000, BEHIND_MAX = 100000 };

typedef struct {
        Feed *feed;
        WebSocket *socket; /* NULL until it is open */
        char *user;
        bool root;
        bool closed; /* before it was open: whoever opens it frees it */
} Listener;

struct Feed {
        PaddleFlow *flow;
        GThread *thread;
        pthread_mutex_t mutex; /* guards what follows */
        pthread_cond_t changed;
        GPtrArray *listeners; /* Listener */
        gint64 published;     /* the newest revision that the engine told of */
        gint64 sent;          /* up to here all was sent */
        bool stopped;
};

/* ---- what happened ---- */

static void wake(gint64 revision, void *arg)
{
        Feed *feed = arg;

        pthread_mutex_lock(&feed->mutex);
        feed->published = revision;
        if (feed->listeners->len > 0)
                pthread_cond_signal(&feed->changed);
        pthread_mutex_unlock(&feed->mutex);
}

/* The sockets that a job of `user` goes to; references. */
static GPtrArray *sockets_for(Feed *feed, const char *user)
{
        GPtrArray *sockets = g_ptr_array_new_with_free_func((GDestroyNotify)websocket_unref);

        pthread_mutex_lock(&feed->mutex);
        for (guint i = 0; i < feed->listeners->len; i++) {
                const Listener *listener = feed->listeners->pdata[i];

                if (listener->socket && (listener->root || strcmp(listener->user, user) == 0))
                        g_ptr_array_add(sockets, websocket_ref(listener->socket));
        }
        pthread_mutex_unlock(&feed->mutex);
        return sockets;
}

static void send_job(Feed *feed, const Catalog *catalog, const Event *event)
{
        g_autoptr(GPtrArray) sockets = sockets_for(feed, event->subject.owner);
        g_autoptr(Job) job = NULL;
        g_autoptr(json_t) shown = NULL;
        g_autofree char *text = NULL;

        if (sockets->len == 0)
                return;
        job = engine_job(feed->flow->engine, event->subject.id);
        if (!job)
                job = store_job_by_id(feed->flow->store, event->subject.id, NULL);
        if (!job)
                return; /* forgotten meanwhile */
        shown = job_show(feed->flow, catalog, job, true);
        text = json_format(shown);
        for (guint i = 0; i < sockets->len; i++)
                (void)websocket_send_text(sockets->pdata[i], text, strlen(text));
}

/* Of a job that changed several times its present state is sent once. Returns up to where that was. */
static gint64 send_since(Feed *feed, gint64 since)
{
        g_autoptr(GPtrArray) events =
                store_events(feed->flow->store, &(EventQuery){ .since = since, .limit = EVENTS }, NULL);
        g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
        g_autoptr(Catalog) catalog = engine_catalog(feed->flow->engine);

        if (!events)
                return G_MAXINT64; /* they are kept no longer: the next ones are */
        for (guint i = 0; i < events->len; i++) {
                const Event *event = events->pdata[i];

                if (event->subject.kind == SUBJECT_JOB && g_hash_table_add(seen, (char *)event->subject.id))
                        send_job(feed, catalog, event);
        }
        return events->len < EVENTS ? G_MAXINT64 : ((const Event *)events->pdata[events->len - 1])->revision;
}

static void *serve(void *arg)
{
        Feed *feed = arg;

        pthread_mutex_lock(&feed->mutex);
        while (!feed->stopped) {
                gint64 since = feed->sent, to = feed->published;

                if (feed->listeners->len == 0 || to - since > BEHIND_MAX)
                        feed->sent = since = to;
                if (since >= to) {
                        pthread_cond_wait(&feed->changed, &feed->mutex);
                        continue;
                }
                pthread_mutex_unlock(&feed->mutex);
                gint64 up_to = send_since(feed, since);
                pthread_mutex_lock(&feed->mutex);
                feed->sent = MIN(up_to, to);
        }
        pthread_mutex_unlock(&feed->mutex);
        return NULL;
}

/* ---- listeners ---- */

static void on_text(void *arg, const char *text, gsize len)
{
        Listener *listener = arg;
        Feed *feed = listener->feed;

        pthread_mutex_lock(&feed->mutex);
        g_autoptr(WebSocket) socket = listener->socket ? websocket_ref(listener->socket) : NULL;
        pthread_mutex_unlock(&feed->mutex);
        if (socket)
                (void)websocket_send_text(socket, text, len);
}

static void listener_free(Listener *listener)
{
        websocket_unref(listener->socket);
        g_free(listener->user);
        g_free(listener);
}

static void on_closed(void *arg)
{
        Listener *listener = arg;
        Feed *feed = listener->feed;

        pthread_mutex_lock(&feed->mutex);
        g_ptr_array_remove_fast(feed->listeners, listener);
        listener->closed = true;
        bool open = listener->socket != NULL;
        pthread_mutex_unlock(&feed->mutex);
        if (open)
                listener_free(listener);
}

/* The socket is known before the handshake is answered, so nothing is missed after it. */
static void open_listener(Listener *listener, WebSocket *socket)
{
        pthread_mutex_lock(&listener->feed->mutex);
        listener->socket = socket;
        bool closed = listener->closed;
        pthread_mutex_unlock(&listener->feed->mutex);
        if (closed)
                listener_free(listener);
}

static void listen_to_jobs(HttpRequest *request, void *arg)
{
        static const WebSocketOps ops = { on_text, on_closed, NULL };
        g_auto(Call) call;
        Listener *listener;
        Feed *feed;

        if (!call_begin(&call, request, arg))
                return;
        feed = call.flow->feed;
        listener = g_new0(Listener, 1);
        *listener = (Listener){ .feed = feed, .user = g_strdup(call.user), .root = call.root };
        pthread_mutex_lock(&feed->mutex);
        if (feed->listeners->len == 0) /* the thread slept */
                feed->sent = feed->published;
        g_ptr_array_add(feed->listeners, listener);
        pthread_cond_signal(&feed->changed);
        pthread_mutex_unlock(&feed->mutex);
        open_listener(listener, http_upgrade_websocket(request, &ops, listener));
}

/* ---- life ---- */

Feed *feed_new(PaddleFlow *flow)
{
        Feed *feed = g_new0(Feed, 1);

        feed->flow = flow;
        feed->listeners = g_ptr_array_new();
        pthread_mutex_init(&feed->mutex, NULL);
        pthread_cond_init(&feed->changed, NULL);
        feed->published = feed->sent = engine_revision(flow->engine);
        feed->thread = g_thread_new("wsjob", serve, feed);
        engine_watch(flow->engine, wake, feed);
        return feed;
}

void feed_stop(Feed *feed)
{
        engine_unwatch(feed->flow->engine, wake, feed);
        pthread_mutex_lock(&feed->mutex);
        feed->stopped = true;
        pthread_cond_signal(&feed->changed);
        pthread_mutex_unlock(&feed->mutex);
        if (feed->thread)
                g_thread_join(g_steal_pointer(&feed->thread));
}

void feed_free(Feed *feed)
{
        if (!feed)
                return;
        feed_stop(feed);
        g_ptr_array_unref(feed->listeners);
        pthread_cond_destroy(&feed->changed);
        pthread_mutex_destroy(&feed->mutex);
        g_free(feed);
}

const HttpRoute feed_rows[] = {
        { "GET", PADDLEFLOW_BASE "/wsjob", ACCESS_JOB, VERB_LIST, listen_to_jobs,
          "Hear of jobs as they change, over a WebSocket.", .reply = "Job", .reply_status = 101 },
        { 0 },
};
