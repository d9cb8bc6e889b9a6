/* A live stream: an HTTP stream that is woken by publications of the engine and by changes in directories.
 * Ties together the lives of an HttpStream and of a Waiter, either of which may end first. */
#pragma once

#include "api/v1/internal.h"

typedef struct LiveStream LiveStream;

/* `pull` and `close` as in HttpStream, for server-sent events. */
LiveStream *live_stream_new(Api *api, StreamState (*pull)(GString *out, void *arg), void (*close)(void *arg),
                            void *arg);
/* Hands the stream to the server; it must not be touched after this but from `pull`. */
void live_stream_start(LiveStream *live, HttpRequest *request);
/* Also wakes when something changes in `dir`. Before the start, or from `pull`. */
void live_stream_watch(LiveStream *live, const char *dir);
/* Takes back all of the above. From `pull`. */
void live_stream_unwatch(LiveStream *live);
/* Also wakes at `time` (monotonic ms), or somewhat earlier. From `pull`. */
void live_stream_wake_at(LiveStream *live, gint64 time);
