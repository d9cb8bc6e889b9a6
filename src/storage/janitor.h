/* Looks now and then at all that the state directory holds (survey.h), tells the ledger who holds how much,
 * and removes what nothing needs (gc.h), now and then: on a thread of its own that leaves the processor to
 * others. It rests for twenty times as long as a survey took, a minute at least; somebody who was refused, or
 * asks, has it begin sooner. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "storage/storage.h"
#include "storage/survey.h"

typedef struct {
        SurveyConfig survey; /* its `stopped` is the janitor's own */
        Storage *storage;
        Ledger *ledger;
        const char *ledger_file; /* where its numbers are from one start to the next */
        GcPolicy policy;
        gint64 collect_ms; /* things are removed so often; 0: only when somebody asks */
        /* Removes an environment by its key, or a user's downloads, unless it was used after `since`. */
        bool (*drop_environment)(const char *key, gint64 since, bool *ret_gone, void *arg, GError **error);
        /* A survey is in the ledger. Or NULL. */
        void (*surveyed)(void *arg);
} JanitorConfig;

typedef struct Janitor Janitor;
Janitor *janitor_new(const JanitorConfig *config); /* borrows what it points to; starts its thread */
void janitor_stop(Janitor *janitor);               /* who waits is answered; NULL is a no-op */
void janitor_free(Janitor *janitor);               /* after it; NULL is a no-op */

/* Waits for a survey that began after the call. False with ERR_UNAVAILABLE when the server stops, and when
 * nobody waits any more (base/cancel.h). */
bool janitor_survey(Janitor *janitor, GError **error);

typedef struct {
        GcKind kind;
        char *name, *user, *why; /* user: or NULL */
        gint64 bytes, files, used;
        bool gone;
} JanitorRemoval;
void janitor_removal_free(JanitorRemoval *removal);
/* What goes by the policy, after a fresh survey: JanitorRemoval *, and is removed unless `dry`. NULL as
 * above. May take long. */
GPtrArray *janitor_collect(Janitor *janitor, bool dry, GError **error);
