/* What must be ready before a job can start, apart from its resources: a list of preparations, each with a state of
 * its own. A plain job has none. The job may start when all of them are ready.
 *
 *                  ┌──────────── its job is held ──────────┐
 *                  ▼                                       │
 *   submitted ─▶ waiting ── the scheduler starts it ──▶ running ──▶ ready | failed
 *       │          (only preparations that are counted     ▲
 *       │           in a queue: engine/building.c)         │
 *       └──────────────────────────────────────────────────┘
 *
 * A failed preparation fails its job. A later attempt of the job uses what is ready.
 *
 * Each kind is a row of the table in preparation.c. A driver makes the kinds that its cluster needs
 * (RuntimeOps.preparations), and the job has those that its cluster makes. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/spec.h"

typedef enum {
        PREPARE_ENVIRONMENT, /* the Python environment with the results of the setup command, on this machine */
        PREPARE_IMAGE, /* what members need in their image: package, requirements, results of the setup command;
                                a new image, or the package in the form in which the cluster passes it to members */
        PREPARE_KINDS,
} PreparationKind;

/* The numbers are stored. */
typedef enum {
        PREPARATION_NONE, /* only of a whole list: it is empty */
        PREPARATION_RUNNING,
        PREPARATION_READY,
        PREPARATION_FAILED,
        PREPARATION_WAITING, /* until the job's queue has capacity for it */
        PREPARATION_STATES,
} PreparationState;

typedef struct {
        guint8 kind;         /* PreparationKind */
        guint8 state;        /* PreparationState, never NONE */
        gint64 begun, ready; /* ms since 1970; 0: not yet */
} Preparation;

typedef struct {
        const char *name; /* as stored */
        bool (*needs)(
                const Spec
                        *spec); /* the specification asks for it: it is listed even if it is ready before the
                                            job is submitted */
        char *(*recipe)(
                const Spec *spec); /* everything that decides the result, as a text; the caller's. Jobs of a
                                              user with the same recipe share it */
        bool is_environment; /* clients see its state as `environment`; of a job's preparations, the first such one is
                                stored in the fields env_* */
        const char *reason;  /* kind of the reason while a job waits for it, doc/guide/rest.md */
        const char *event;   /* kind of the events about its state, doc/guide/rest.md */
        const char *log;     /* the member under which its log is shown; NULL: it has none */
        const char *waiting; /* "its environment is built first" */
        const char *running; /* "its environment is being built" */
        const char *failed;  /* "its environment could not be made" */
} PreparationInfo;

const PreparationInfo *preparation_info(PreparationKind kind);
bool preparation_parse(const char *name, PreparationKind *ret); /* false: unknown name */
const char *preparation_state_name(PreparationState state);

/* The first of the list in this state, or NULL. */
const Preparation *preparations_find(const Preparation *list, int n, PreparationState state);
/* The state of a list as a whole: failed if one has failed, else waiting if one waits, else running if one runs, else
 * ready. NONE: it is empty. */
PreparationState preparations_state(const Preparation *list, int n);
/* True if a job with this list may start. */
bool preparations_are_ready(const Preparation *list, int n);
