/* Streams: bytes that come when they come.
 *
 *              read                   WAIT, nothing there
 *      ready ─────────▶ pulling ──────────────────────────▶ suspended
 *        ▲                 │ bytes                              │ wake, heartbeat, end
 *        └─────────────────┴────────────────────────────────────┘
 *
 * The connection reads only when it has room, so a slow client costs one buffer and never a worker. `pull`
 * runs without the mutex, since it takes its owner's locks, under which its owner wakes the stream; a wake
 * meanwhile leaves `woken`, which is looked at under the mutex before the connection is suspended under the
 * same mutex. */
#include "net/request.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"

/* Pulls without bytes before the worker looks after its other connections; and the buffer a quiet stream may
 * keep. */
enum { TURNS_MAX = 16, QUIET_BUFFER_MAX = 4096 };

struct HttpStreamHandle {
        HttpStream owner;
        char *user, *credential, *heartbeat;
        gint64 born_ms;

        /* Only the connection's worker. */
        GString *out;
        gsize taken; /* of out */
        bool ended;  /* pull said so; out may still hold bytes */

        pthread_mutex_t mutex; /* guards what follows */
        void *connection;
        const StreamOps *ops;
        bool suspended, woken, beat, finish, gone;
        gint64 sent_ms;
};

HttpStreamHandle *stream_new(const HttpStream *stream, const char *user, const char *credential)
{
        HttpStreamHandle *handle = g_new0(HttpStreamHandle, 1);

        handle->owner = *stream;
        handle->user = g_strdup(user ? user : "");
        handle->credential = g_strdup(credential);
        handle->heartbeat = g_strdup(stream->heartbeat);
        handle->born_ms = handle->sent_ms = clock_monotonic_ms();
        handle->out = g_string_new(NULL);
        pthread_mutex_init(&handle->mutex, NULL);
        return handle;
}

void stream_free(HttpStreamHandle *stream)
{
        if (!stream)
                return;
        if (stream->owner.close)
                stream->owner.close(stream->owner.arg);
        /* A wake that its owner began before `close` took effect may still be on its way out of the mutex. */
        pthread_mutex_lock(&stream->mutex);
        pthread_mutex_unlock(&stream->mutex);
        pthread_mutex_destroy(&stream->mutex);
        g_string_free(stream->out, TRUE);
        g_free(stream->user);
        g_free(stream->credential);
        g_free(stream->heartbeat);
        g_free(stream);
}

const char *stream_user(const HttpStreamHandle *stream)
{
        return stream->user;
}

const char *stream_credential(const HttpStreamHandle *stream)
{
        return stream->credential;
}

gint64 stream_born_ms(const HttpStreamHandle *stream)
{
        return stream->born_ms;
}

void stream_attach(HttpStreamHandle *stream, void *connection, const StreamOps *ops)
{
        pthread_mutex_lock(&stream->mutex);
        stream->connection = connection;
        stream->ops = ops;
        pthread_mutex_unlock(&stream->mutex);
}

/* With the mutex held. */
static void wake(HttpStreamHandle *stream)
{
        stream->woken = true;
        if (!stream->suspended)
                return;
        stream->suspended = false;
        stream->ops->resume(stream->connection);
}

void http_stream_wake(HttpStreamHandle *handle)
{
        pthread_mutex_lock(&handle->mutex);
        wake(handle);
        pthread_mutex_unlock(&handle->mutex);
}

void stream_finish(HttpStreamHandle *stream)
{
        pthread_mutex_lock(&stream->mutex);
        stream->finish = true;
        wake(stream);
        pthread_mutex_unlock(&stream->mutex);
}

void stream_look_after(HttpStreamHandle *stream, gint64 since_ms)
{
        pthread_mutex_lock(&stream->mutex);
        if (stream->suspended && stream->sent_ms <= since_ms) {
                stream->gone = stream->ops->is_left(stream->connection);
                stream->beat = stream->heartbeat != NULL;
                if (stream->gone || stream->beat)
                        wake(stream);
        }
        pthread_mutex_unlock(&stream->mutex);
}

static gsize take(HttpStreamHandle *stream, char *buf, gsize max)
{
        gsize len = MIN(max, stream->out->len - stream->taken);

        if (len == 0)
                return 0;
        memcpy(buf, stream->out->str + stream->taken, len);
        stream->taken += len;
        if (stream->taken == stream->out->len) {
                stream->taken = 0;
                g_string_truncate(stream->out, 0);
                if (stream->out->allocated_len > QUIET_BUFFER_MAX) {
                        g_string_free(stream->out, TRUE);
                        stream->out = g_string_new(NULL);
                }
        }
        pthread_mutex_lock(&stream->mutex);
        stream->sent_ms = clock_monotonic_ms();
        pthread_mutex_unlock(&stream->mutex);
        return len;
}

/* Before a pull: what the connection has to be told instead, or 0. Wakes from here on are for the coming
 * pull. */
static gssize check(HttpStreamHandle *stream)
{
        pthread_mutex_lock(&stream->mutex);
        gssize end = stream->gone || stream->ended || stream->finish ? STREAM_READ_END : 0;
        stream->woken = false;
        pthread_mutex_unlock(&stream->mutex);
        return end;
}

/* After a pull that found nothing. True when suspended; false when there is a reason to look again. */
static bool rest(HttpStreamHandle *stream)
{
        bool quiet;

        pthread_mutex_lock(&stream->mutex);
        if (stream->beat)
                g_string_append(stream->out, stream->heartbeat);
        quiet = !stream->beat && !stream->woken;
        stream->beat = false;
        if (quiet) {
                stream->suspended = true;
                stream->ops->suspend(stream->connection);
        }
        pthread_mutex_unlock(&stream->mutex);
        return quiet;
}

gssize stream_read(HttpStreamHandle *stream, char *buf, gsize max)
{
        for (int turn = 0; turn < TURNS_MAX; turn++) {
                gssize len = (gssize)take(stream, buf, max);

                if (len == 0)
                        len = check(stream);
                if (len != 0)
                        return len;

                StreamState state = stream->owner.pull(stream->out, stream->owner.arg);
                stream->ended = state == STREAM_END;
                if (state == STREAM_WAIT && stream->out->len == 0 && rest(stream))
                        return 0;
        }
        return 0;
}
