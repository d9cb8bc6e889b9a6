/* What goes into the audit log (doc/guide/audit.md): which requests, and what of them. Never a body, a query, a
 * header or a secret: who, from where, what, on what, and how it ended. */
#pragma once

#include "api/auth/auth.h"
#include "api/auth/recording.h"
#include "store/audit.h"

typedef struct Recorder Recorder;

/* Borrows the log; NULL: nothing is recorded. */
Recorder *recorder_new(Audit *audit);
void recorder_free(Recorder *recorder); /* call it before the log is closed; NULL is a no-op */

/* HttpServerConfig.record. */
bool recorder_record(Recorder *recorder, const HttpRequest *request, int status, void (*done)(void *arg),
                     void *done_arg);
/* Refuses changes while the log cannot be written, except for changes that free disk space, and for the
 * administrator on the machine. ERR_UNAVAILABLE. */
bool recorder_admits(Recorder *recorder, const HttpRoute *route, const HttpCaller *caller, GError **error);
