/* Passes over the jobs of one kind: which job is looked at when, and what is remembered of it in between. A
 * controller sees (caches) and decides (a Plan); here its decisions are carried out, one pass of a job at a
 * time. A job is not looked at while its actions are under way, nor until the caches show what they did: two
 * looks at the same view would make everything twice. One that was touched meanwhile is looked at again then.
 *
 *     passes_see ─▶ queue ─▶ begin ─▶ [passes_go_on] ─▶ passes_act: actions ─▶ end
 *         ▲                                                                    │
 *         └────── the caches show what was done (or 5 s have passed) ◀─────────┘
 *
 * On the client's thread. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "kube/client.h"
#include "kube/queue.h"
#include "operator/etcd.h"
#include "operator/expect.h"
#include "operator/figures.h"
#include "operator/reconcile.h"

typedef struct Passes Passes;
/* A job between and during its passes. */
typedef struct JobState JobState;

typedef struct {
        KubeClient *client;
        const char *component; /* who events are from */
        const KubeKind *kind;  /* of the jobs */
        const char *label;     /* by which the caches know what jobs own */
        Etcd *etcd;            /* for ACTION_SCALE; or NULL */
        bool keeps_refusal;    /* remember permanent refusals of the server, and look at the job again */
        ExpectFind find;       /* of the jobs and all that they own, as the caches have it */
        void (*each)(void (*one)(const json_t *job, void *one_arg), void *one_arg, void *arg);
        /* Looks at a job: returns what passes_act does, or WORK_LATER and calls passes_go_on some time. */
        WorkResult (*begin)(JobState *state, const json_t *job, void *arg);
        void *arg;
} PassesConfig;

Passes *passes_new(const PassesConfig *config);
void passes_free(Passes *passes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Passes, passes_free)

/* All jobs are looked at, once both have been called. */
void passes_lead(Passes *passes);
void passes_synced(Passes *passes); /* the caches have seen everything once */
/* Begins no further pass; `done` is called once those under way have ended. */
void passes_stop(Passes *passes, void (*done)(void *arg), void *arg);

/* A cache reports a change of a job, or of an object of the job `key` ("namespace/name"): `old` or `new` is
 * NULL where there is none. A back-off ends when its cause may be gone: the job's spec has changed, or an
 * object was created or deleted. Any other change keeps it. */
void passes_see_job(Passes *passes, const json_t *old, const json_t *new);
void passes_see_owned(Passes *passes, const char *key, const json_t *old, const json_t *new);
/* The job `old` is there no more; `new`: one of its name, or NULL. After a watch that broke off one may stand
 * at once where the other stood. */
bool passes_is_gone(const json_t *old, const json_t *new);

/* For `begin`. */
WorkResult passes_act(JobState *state, const json_t *job, Plan *plan); /* the plan is taken */
/* The pass that `begin` left to later. `job`: as it is now; NULL: it has gone, or there is to be no pass any
 * more. `failed`: the job comes again after a back-off, whatever comes of the plan. */
const json_t *passes_job(const JobState *state);
void passes_go_on(JobState *state, const json_t *job, Plan *plan, bool failed);
const char *passes_key(const JobState *state);
const char *passes_refusal(const JobState *state); /* NULL: none */
void *passes_arg(const JobState *state);           /* the config's */

void passes_figures(const Passes *passes, Figures *ret);
