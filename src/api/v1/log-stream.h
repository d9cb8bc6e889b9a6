/* The log of all members as one resumable stream of server-sent events (doc/guide/rest.md, "The log stream"). */
#pragma once

#include "api/v1/internal.h"

typedef struct {
        char **members;     /* only these; NULL: all; taken */
        const char *cursor; /* where an earlier stream ended; NULL: none */
        int attempt;        /* this one alone; 0: the newest and those that follow */
        gint64 tail;        /* lines of each member to begin with; -1: all */
        gint64 since;       /* ms: lines from then on; 0: all */
        bool follow;        /* until the job, or the one attempt, has ended */
        bool partial;       /* also what a line that has no end yet shows */
        bool raw;           /* redrawn lines with all their states */
        bool times;         /* each event says when its lines were written */
        bool terminal;      /* it stands for a terminal that waits for the job's start */
} LogStreamOptions;

void log_stream_start(Api *api, HttpRequest *request, const Job *job, const LogStreamOptions *options);
