/* Which requests the audit log holds, and how they ended, by their route, who asked and the answer
 * (doc/guide/audit.md). Pure. */
#pragma once

#include <stdbool.h>

#include "net/server.h"

typedef enum {
        RECORD_NOT,
        RECORD_CHANGE,  /* each is recorded, and its answer waits until the record is on the disk */
        RECORD_WORK,    /* of jobs, files and packages: each is recorded, and its answer waits until the
                           record is written */
        RECORD_LOOK,    /* an administrator reads another user's object: repeats are counted */
        RECORD_REFUSED, /* limited (flood.h) */
} Recording;

/* `user`: the caller, `owner`: the object's, either may be NULL; `denied`: set by the handler; `trial`:
 * recording_is_trial. */
Recording recording_decide(const HttpRoute *route, const char *user, const char *owner, int status,
                           bool denied, bool trial);
/* True if the request only asks for the effect of a change, with a parameter of this route. `query` gives a
 * parameter's text or NULL. */
bool recording_is_trial(const HttpRoute *route, const char *(*query)(const char *name, const void *arg),
                        const void *arg);
bool recording_changes(const HttpRoute *route); /* by its verb */
/* "ok", "denied" (no permission), "refused" (not possible), "failed" (an error of the server). */
const char *recording_outcome(const HttpRoute *route, int status, bool denied);
