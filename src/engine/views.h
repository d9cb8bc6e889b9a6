/* The published views, which readers of any thread see. The engine swaps them after each commit in one short
 * write-locked section; the lock is never held over SQL, a sync or rendering. A reader takes a reference and
 * releases the lock. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "engine/engine.h"

typedef struct Views Views;

Views *views_new(void);
void views_free(Views *views); /* NULL is a no-op */

/* One job's change. `was` NULL: the job is new. `now` in a final state: the job leaves the views and can be
 * found in the store from then on. */
typedef struct {
        Job *was, *now;
} ViewChange;

enum { VIEW_PORTLESS_MAX = 8 };

/* Published state other than the jobs. */
typedef struct {
        gint64 revision;
        bool ready;     /* loaded, runtime connected and synced */
        bool connected; /* the runtime */
        EngineMetrics metrics;
        gint64 portless[VIEW_PORTLESS_MAX]; /* seq of jobs that lack only ports; 0 ends the list */
} ViewState;

/* `figures` NULL: the previous ones stay valid. Takes the reference of each `now` that is not final. Moves
 * the reference of each `was` to `ret_dropped`, so that freeing happens outside the lock. */
void views_publish(Views *views, const ViewChange *changes, guint n, const ViewState *state, Catalog *catalog,
                   SchedulerFigures *figures, GPtrArray *ret_dropped);

Job *views_job(Views *views, const char *id);                             /* a reference, or NULL */
Job *views_job_by_name(Views *views, const char *user, const char *name); /* the same */
void views_state(Views *views, ViewState *ret);
/* Why the last batch was not stored; NULL: it was. The caller's. */
char *views_trouble(Views *views);
void views_set_trouble(Views *views, const char *text);

Job *views_job_by_seq(Views *views, gint64 seq); /* the same */
Catalog *views_catalog(Views *views);            /* a reference */
SchedulerFigures *views_figures(Views *views);   /* the same */

/* The number of jobs before it in its queue that may start: of higher priority, or of the same and older.
 * Jobs that wait for a time, another job or an environment do not count, as in the scheduler. */
int views_ahead(Views *views, const Job *job, gint64 now);
/* The number of open jobs of a queue. */
gint64 views_open_in(Views *views, const char *name);
/* The number of a user's jobs that hold resources in a queue (`name`), and of an array's jobs that do. */
int views_user_runs(Views *views, const char *name, const char *user);
int views_array_runs(Views *views, gint64 array_seq);
/* False if none of its jobs is open. The outputs are the number of open jobs and the revision of the last
 * change of any of them; either may be NULL. */
bool views_array_open(Views *views, gint64 array_seq, int *ret_open, gint64 *ret_revision);

/* The hashes (char *) of the packages that open jobs and runs use, as a set; the caller's. */
GHashTable *views_packages(Views *views);
/* A run that has not ended uses these packages, each once, or ends. */
void views_hold_packages(Views *views, const GPtrArray *hashes, bool hold);

/* Watchers are called under their own lock. After views_unwatch returned none is called. A watcher must not
 * call views_unwatch itself. */
void views_watch(Views *views, EngineWake wake, void *arg);
void views_unwatch(Views *views, EngineWake wake, void *arg);
void views_wake(Views *views, gint64 revision);
