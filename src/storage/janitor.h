/* Surveys the state directory from time to time (survey.h), passes the usage of users to the ledger, and
 * deletes unneeded things (gc.h), on its own low-priority thread. It rests twenty times as long as a survey
 * took, at least a minute. A refused write, or a request, starts a survey sooner. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "storage/storage.h"
#include "storage/survey.h"

typedef struct {
        SurveyConfig survey; /* its `stopped` is set by the janitor */
        Storage *storage;
        Ledger *ledger;
        const char *ledger_file; /* file that keeps the ledger's numbers across restarts */
        GcPolicy policy;
        gint64 collect_ms; /* interval of deletions; 0: only on request */
        /* Removes an environment by its key, or a user's downloads, unless it was used after `since`. */
        bool (*drop_environment)(const char *key, gint64 since, bool *ret_gone, void *arg, GError **error);
        /* Called when a survey is in the ledger. Or NULL. */
        void (*surveyed)(void *arg);
} JanitorConfig;

typedef struct Janitor Janitor;
Janitor *janitor_new(const JanitorConfig *config); /* borrows what it points to; starts its thread */
void janitor_stop(Janitor *janitor);               /* answers waiting callers; NULL is a no-op */
void janitor_free(Janitor *janitor);               /* call it after janitor_stop; NULL is a no-op */

/* Waits for a survey that began after the call. False with ERR_UNAVAILABLE when the server stops, and when
 * the client has gone (base/cancel.h). */
bool janitor_survey(Janitor *janitor, GError **error);

typedef struct {
        GcKind kind;
        char *name, *user, *why; /* user: or NULL */
        gint64 bytes, files, used;
        bool gone;
} JanitorRemoval;
void janitor_removal_free(JanitorRemoval *removal);
/* Deletes by the policy, after a new survey; with `dry` only lists. Returns JanitorRemoval *. NULL as above.
 * May take long. */
GPtrArray *janitor_collect(Janitor *janitor, bool dry, GError **error);
