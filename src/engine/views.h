/* The published views: what readers of any thread see. Swapped by the engine after each commit in one short
 * write-locked section; never held over SQL, a sync or rendering. A reader takes a reference and leaves. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "engine/engine.h"

typedef struct Views Views;

Views *views_new(void);
void views_free(Views *views); /* NULL is a no-op */

/* One job's change. `was` NULL: the job is new; `now` in a final state: it leaves, and is found in the store
 * from now on. */
typedef struct {
        Job *was, *now;
} ViewChange;

/* What is published besides the jobs. */
typedef struct {
        gint64 revision;
        bool ready;     /* loaded, runtime connected and synced */
        bool connected; /* the runtime */
        EngineMetrics metrics;
        gint64 portless_seq; /* of the first in line when all it lacks is ports; else 0 */
} ViewState;

/* Takes over the reference of each `now` that is not final, and gives the one of each `was` to `ret_dropped`,
 * so that freeing happens outside the lock. */
void views_publish(Views *views, const ViewChange *changes, guint n, const ViewState *state,
                   GPtrArray *ret_dropped);

Job *views_job(Views *views, const char *id);                             /* a reference, or NULL */
Job *views_job_by_name(Views *views, const char *user, const char *name); /* the same */
void views_state(Views *views, ViewState *ret);

/* How many queued jobs were submitted before `seq`. */
int views_ahead(Views *views, gint64 seq);

/* Watchers are called under their own lock, so that none is called after views_unwatch has returned; a
 * watcher must not call views_unwatch itself. */
void views_watch(Views *views, EngineWake wake, void *arg);
void views_unwatch(Views *views, EngineWake wake, void *arg);
void views_wake(Views *views, gint64 revision);
