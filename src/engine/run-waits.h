/* For readers: steps of live runs that wait for the job of another run, and why nothing is stored. Any thread, except where
 * it says so. */
#pragma once

#include "engine/engine.h"

enum { RUN_WAITS_MAX = 100 }; /* of one run that are shown */

/* A step that takes the result of a job from the cache when that has succeeded. It has no row in the store. */
typedef struct {
        guint32 dag, component, number; /* as in RunNodeRecord */
        gint64 job;                     /* seq */
} RunWait;

/* RunWait of a live run, at most RUN_WAITS_MAX; a new reference. NULL: there are none. */
GArray *engine_run_waits(Engine *engine, const char *id);
/* Why the last changes could not be stored; the engine tries again each second, and no job or run goes on until then. NULL:
 * they were stored. The caller's. */
char *engine_trouble(Engine *engine);

/* ---- the engine's part, on its thread ---- */

GHashTable *run_waits_new(void);
/* Takes `waits`; NULL or empty: there are none. */
void run_waits_publish(Engine *engine, const char *id, GArray *waits);
