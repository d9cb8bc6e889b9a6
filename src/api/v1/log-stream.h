/* The log of all members as one resumable stream of server-sent events (doc/guide/rest.md, "The log stream"). */
#pragma once

#include "api/v1/internal.h"

/* Gets the events in place of the client: "log", "state", "end", "error", with their data, which it takes. */
typedef struct {
        void (*event)(void *arg, const char *event, json_t *data, GString *out);
        void *arg;
} LogSink;

typedef struct {
        char **members;      /* only these; NULL: all; taken */
        const char *cursor;  /* where an earlier stream ended; NULL: none */
        int attempt;         /* this one alone; 0: the newest and those that follow */
        gint64 tail;         /* lines of each member to begin with; -1: all */
        gint64 since;        /* ms: lines from then on; 0: all */
        bool follow;         /* until the job, or the one attempt, has ended */
        bool partial;        /* also what a line that has no end yet shows */
        bool raw;            /* redrawn lines with all their states */
        bool times;          /* each event says when its lines were written */
        bool terminal;       /* it stands for a terminal that waits for the job's start */
        const LogSink *sink; /* of log_source_new; must outlive it */
} LogStreamOptions;

void log_stream_start(Api *api, HttpRequest *request, const Job *job, const LogStreamOptions *options);

/* ---- the log of a job as a part of another stream ---- */

/* Nothing is watched: the caller asks again. Between two calls it holds no descriptor. */
typedef struct LogStream LogStream;
LogStream *log_source_new(Api *api, const Job *job, const LogStreamOptions *options);
void log_source_free(LogStream *source);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LogStream, log_source_free)
/* STREAM_END: all was sent, with the event "end" or "error". */
StreamState log_source_pull(LogStream *source, GString *out);
/* Where it is, for `cursor` of a later one; the caller's. */
char *log_source_cursor(const LogStream *source);
