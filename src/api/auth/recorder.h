/* What goes into the audit log (doc/audit.md): which requests, and what of them. Never a body, a query, a
 * header or a secret: who, from where, what, on what, and how it ended. */
#pragma once

#include "api/auth/auth.h"
#include "store/audit.h"

typedef struct Recorder Recorder;

/* Borrows the log; NULL: nothing is recorded. */
Recorder *recorder_new(Audit *audit);
void recorder_free(Recorder *recorder); /* before the log is closed; NULL is a no-op */

/* How a request counts. Pure. */
typedef enum {
        RECORD_NOT,
        RECORD_CHANGE,  /* each, and its answer waits until it is on the disk */
        RECORD_WORK,    /* of jobs, files and packages: each, and its answer waits until it is written */
        RECORD_LOOK,    /* of an administrator at what is another's: repeats are counted */
        RECORD_REFUSED, /* bounded (flood.h) */
} Recording;
/* `owner`: whose it is, or NULL; `denied`: said so by the handler. */
Recording recorder_decide(const HttpRoute *route, const char *user, const char *owner, int status,
                          bool denied);

/* HttpServerConfig.record. */
bool recorder_record(Recorder *recorder, const HttpRequest *request, int status, void (*done)(void *arg),
                     void *done_arg);
/* Changes are refused while the log cannot be written, but for what makes room, and for the administrator on
 * the machine. ERR_UNAVAILABLE. */
bool recorder_admits(Recorder *recorder, const HttpRoute *route, const HttpCaller *caller, GError **error);
