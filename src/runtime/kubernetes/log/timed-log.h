/* Reduces the log of a container, as a kubelet sends it with `timestamps=true` (Kubernetes API,
 * PodLogOptions), to the container's output that a file does not have yet. Pure: bytes and places in, bytes
 * and places out.
 *
 * A log is always sent from its beginning, but the beginning moves: the kubelet rotates a log that has grown
 * (containerLogMaxSize) and sends only the newest part. Known output is recognized by the times of lines. If
 * the beginning of a line was rotated away, the time of its rest is used, and the rest is written again. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Two lines of the log: the time of each (nanoseconds since 1970) and its offset in the file (bytes). All 0:
 * none is known. */
typedef struct {
        gint64 first_ns, first_at; /* the first line of the log when it was last requested */
        gint64 last_ns, last_at;   /* the latest line: those before it are older */
} LogPlace;

typedef enum { LOG_BEGINS, LOG_FLOWS, LOG_SEARCHES, LOG_PLAIN } LogState;

/* Valid if zeroed; the fields after `place` are private. */
typedef struct {
        LogPlace place;
        LogState state;
        gint64 start, size; /* bytes of the file: before this log, and in total */
        gint64 at;          /* offset in the file of the next byte of the stream */
        gint64 found_ns;    /* LOG_SEARCHES: time of the first line, ... */
        gint64 passed;      /* ... and bytes since */
        bool inside;        /* in the middle of a line */
        bool foreign;       /* the line has no time: it is the kubelet's */
        bool plain;         /* the file has text that precedes any log */
        bool counted;       /* no line was known: skip as many bytes as the file has */
        char held[40];      /* an incomplete time; RFC 3339 has at most 35 characters */
        gsize held_len;
        char said[160]; /* the kubelet's own words, as text */
} TimedLog;

/* Written to the file where output may be missing. */
extern const char timed_log_gap[];

/* The log is sent again. The file has `size` bytes, of which the first `start` are not this log's. */
void timed_log_begin(TimedLog *log, gint64 start, gint64 size);

/* Reads a piece of the stream, and appends to `out` what must be appended to the file. `place` describes the
 * file after that. If appending fails, restore the former place and begin again. */
void timed_log_read(TimedLog *log, const char *data, gsize len, GString *out);

/* True if the stream has ended, and was shorter than what was skipped by count: it was another part of the
 * log. */
bool timed_log_is_short(const TimedLog *log);
