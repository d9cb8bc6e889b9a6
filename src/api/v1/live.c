/* Live streams (see live.h).
 *
 * Holds: two references, one of the HTTP stream (dropped by its close) and one of the waiter (dropped after
 * its removal); `handle` is used only under `lock` and before `closed`. The notifier's lock is never taken
 * under `lock`. */
#include "api/v1/live.h"

struct LiveStream {
        gatomicrefcount refs;
        Api *api;
        StreamState (*pull)(GString *out, void *arg);
        void (*close)(void *arg);
        void *arg;
        GMutex lock;
        HttpStreamHandle *handle;
        Waiter *waiter;
        GPtrArray *dirs; /* char *: to be watched once there is a waiter */
        bool closed;
};

LiveStream *live_stream_new(Api *api, StreamState (*pull)(GString *out, void *arg), void (*close)(void *arg),
                            void *arg)
{
        LiveStream *live = g_new0(LiveStream, 1);

        g_atomic_ref_count_init(&live->refs);
        g_mutex_init(&live->lock);
        live->api = api;
        live->pull = pull;
        live->close = close;
        live->arg = arg;
        live->dirs = g_ptr_array_new_with_free_func(g_free);
        return live;
}

static void live_stream_unref(LiveStream *live)
{
        if (!g_atomic_ref_count_dec(&live->refs))
                return;
        g_ptr_array_unref(live->dirs);
        g_mutex_clear(&live->lock);
        g_free(live);
}

static StreamState on_pull(GString *out, void *arg)
{
        LiveStream *live = arg;

        return live->pull(out, live->arg);
}

static void on_close(void *arg)
{
        LiveStream *live = arg;
        Waiter *waiter;

        g_mutex_lock(&live->lock);
        live->closed = true;
        waiter = g_steal_pointer(&live->waiter);
        g_mutex_unlock(&live->lock);
        if (waiter)
                notifier_remove(live->api->notifier, waiter);
        live->close(live->arg);
        live_stream_unref(live);
}

static bool on_news(bool expired, void *arg)
{
        LiveStream *live = arg;

        g_mutex_lock(&live->lock);
        if (!live->closed && live->handle)
                http_stream_wake(live->handle);
        g_mutex_unlock(&live->lock);
        return true;
}

/* Gives the waiter to the stream; false when the stream has ended meanwhile. */
static bool attach(LiveStream *live, Waiter *waiter)
{
        bool attached;

        g_mutex_lock(&live->lock);
        attached = !live->closed;
        if (attached)
                live->waiter = waiter;
        g_mutex_unlock(&live->lock);
        return attached;
}

/* The directories that were named before there was a waiter. A waiter that is removed meanwhile is passed
 * over. */
static void watch_dirs(LiveStream *live, Waiter *waiter)
{
        g_autoptr(GPtrArray) dirs = NULL;

        g_mutex_lock(&live->lock);
        dirs = g_steal_pointer(&live->dirs);
        live->dirs = g_ptr_array_new_with_free_func(g_free);
        g_mutex_unlock(&live->lock);
        for (guint i = 0; i < dirs->len; i++)
                notifier_watch_dir(live->api->notifier, waiter, dirs->pdata[i]);
}

void live_stream_start(LiveStream *live, HttpRequest *request)
{
        HttpStream stream = { "text/event-stream", on_pull, on_close, ": \n\n", live };
        HttpStreamHandle *handle;
        Waiter *waiter;

        g_atomic_ref_count_inc(&live->refs);
        handle = http_stream(request, &stream);
        if (handle) {
                g_mutex_lock(&live->lock);
                live->handle = handle;
                g_mutex_unlock(&live->lock);
                waiter = notifier_add(live->api->notifier, NULL, 0, on_news, live);
                if (attach(live, waiter)) {
                        watch_dirs(live, waiter);
                        (void)on_news(false, live); /* what changed in them before they were watched */
                } else {
                        notifier_remove(live->api->notifier, waiter);
                }
        }
        live_stream_unref(live);
}

void live_stream_watch(LiveStream *live, const char *dir)
{
        Waiter *waiter;

        g_mutex_lock(&live->lock);
        waiter = live->waiter;
        if (!waiter)
                g_ptr_array_add(live->dirs, g_strdup(dir));
        g_mutex_unlock(&live->lock);
        if (waiter) /* from pull: close, which removes it, cannot run meanwhile */
                notifier_watch_dir(live->api->notifier, waiter, dir);
}

void live_stream_unwatch(LiveStream *live)
{
        Waiter *waiter;

        g_mutex_lock(&live->lock);
        waiter = live->waiter;
        g_ptr_array_set_size(live->dirs, 0);
        g_mutex_unlock(&live->lock);
        if (waiter)
                notifier_unwatch(live->api->notifier, waiter);
}

void live_stream_wake_at(LiveStream *live, gint64 time)
{
        Waiter *waiter;

        g_mutex_lock(&live->lock);
        waiter = live->waiter;
        g_mutex_unlock(&live->lock);
        if (waiter) /* else its coming wakes the stream at once */
                notifier_wake_at(live->api->notifier, waiter, time);
}
