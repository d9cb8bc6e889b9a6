/* Which requests the audit log holds, and how they ended, by their route, who asked and the answer
 * (doc/guide/audit.md). Pure. */
#pragma once

#include <stdbool.h>

#include "net/server.h"

typedef enum {
        RECORD_NOT,
        RECORD_CHANGE,  /* each, and its answer waits until it is on the disk */
        RECORD_WORK,    /* of jobs, files and packages: each, and its answer waits until it is written */
        RECORD_LOOK,    /* of an administrator at what is another's: repeats are counted */
        RECORD_REFUSED, /* bounded (flood.h) */
} Recording;

/* `user` who asks and `owner` whose it is, or NULL; `denied`: said so by the handler; `trial`:
 * recording_is_trial. */
Recording recording_decide(const HttpRoute *route, const char *user, const char *owner, int status,
                           bool denied, bool trial);
/* The request asks only what would become of it, by a parameter that this route has. `query` gives a
 * parameter's text or NULL. */
bool recording_is_trial(const HttpRoute *route, const char *(*query)(const char *name, const void *arg),
                        const void *arg);
bool recording_changes(const HttpRoute *route); /* by its verb */
/* "ok", "denied" (who may not), "refused" (what cannot be), "failed" (the server). */
const char *recording_outcome(const HttpRoute *route, int status, bool denied);
