/* The log of a container as a kubelet sends it with `timestamps=true` (Kubernetes API, PodLogOptions), cut
 * back to what the container wrote and a file does not have yet. Pure: bytes and places in, bytes and places
 * out.
 *
 * A log always comes from its beginning, but that moves: the kubelet rotates a log that has grown
 * (containerLogMaxSize) and sends the newest part only. What is there already is found again by the times of
 * lines. A line whose beginning was rotated away is told by the time of its rest: the rest comes once more.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Two lines of the log: when each was written (nanoseconds since 1970) and where it begins in the file
 * (bytes). All 0: none is known. */
typedef struct {
        gint64 first_ns, first_at; /* with it the log began when it was last asked for */
        gint64 last_ns, last_at;   /* the latest: those before it are older */
} LogPlace;

typedef enum { LOG_BEGINS, LOG_FLOWS, LOG_SEARCHES, LOG_PLAIN } LogState;

/* Zeros are a good one; what follows `place` is its own. */
typedef struct {
        LogPlace place;
        LogState state;
        gint64 start, size; /* bytes of the file: before this log, and in all */
        gint64 at;          /* where in the file the next byte of the stream stands */
        gint64 found_ns;    /* LOG_SEARCHES: the first line, */
        gint64 passed;      /* and bytes since */
        bool inside;        /* of a line */
        bool foreign;       /* the line has no time: the kubelet says it */
        bool plain;         /* the file has text that no log began with */
        bool counted;       /* no line was known: as many bytes as the file has are passed over */
        char held[40];      /* of a time that has not come whole; RFC 3339 has 35 at most */
        gsize held_len;
        char said[160]; /* words of the kubelet's own, as text */
} TimedLog;

/* Stands in the file where output may be missing. */
extern const char timed_log_gap[];

/* The log is sent anew. The file has `size` bytes, of which the first `start` are not this log's. */
void timed_log_begin(TimedLog *log, gint64 start, gint64 size);

/* A piece of the stream; what is to be appended to the file is added to `out`. `place` speaks of the file as
 * it is then: who cannot append puts the former one back, and begins anew. */
void timed_log_read(TimedLog *log, const char *data, gsize len, GString *out);

/* The stream has ended, and was shorter than what was passed over by count: that was another part of the log.
 */
bool timed_log_is_short(const TimedLog *log);
