/* The actions for a PaddleJob: a pure function of the job and its observed objects. Actions on the job itself
 * are done in their order; its objects may be created and deleted concurrently. With equal input the answer
 * is equal, and once everything is as it should be there is no action. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"
#include "kube/kind.h"
#include "operator/members.h"

/* The observed objects. Trees are borrowed. The lists hold the objects that the job controls, and those of
 * other owners whose name the job needs (as far as they were seen). */
typedef struct {
        const json_t *job;
        const GPtrArray *pods, *services;
        const json_t *config_map, *pod_group; /* of the job's name, or NULL */
        gint64 host_port;                     /* reserved for this job, should it need one; 0: none */
        const char *np;                       /* in etcd; NULL: no such key, or not asked */
        gint64 now_ms;
} Observed;

typedef enum {
        ACTION_CREATE,     /* body */
        ACTION_DELETE,     /* the object with this uid */
        ACTION_PATCH,      /* body: a merge patch */
        ACTION_JSON_PATCH, /* body: a list of operations */
        ACTION_STATUS,     /* body: a merge patch of the job's status */
        ACTION_SCALE,      /* name: the key in etcd, message: its new value */
        ACTION_WARN,       /* reason, message: of an event about the job */
} ActionVerb;

typedef struct {
        ActionVerb verb;
        const KubeKind *kind;
        char *name, *uid;
        json_t *body;
        const char *reason;
        char *message;
} Action;

/* In order: of several, the last one holds. */
typedef enum {
        PLAN_DONE,  /* what comes next, comes with the next change of something */
        PLAN_PARK,  /* the job itself must change first */
        PLAN_RETRY, /* something stands in the way that may go without a change that we see */
        PLAN_AGAIN, /* there is more to do, once these actions are seen */
} PlanEnd;

typedef struct {
        GPtrArray *actions; /* Action * */
        PlanEnd end;
        gint64 again_ms; /* by then something is due, whatever changes; 0: nothing is */
} Plan;

enum { PLAN_PODS_MAX = 256 }; /* made in one pass */

Plan *reconcile(const OperatorRules *rules, const Observed *observed);
Plan *plan_new(void);
void plan_free(Plan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Plan, plan_free)
/* A new action, the last so far; what it needs besides is set by the caller. */
Action *plan_add(Plan *plan, ActionVerb verb, const KubeKind *kind, const char *name);

/* The job's count of workers is kept in etcd, too, so Observed.np has to be asked for. */
bool job_syncs_np(const PaddleJob *job, const OperatorRules *rules);
char *job_np_key(const PaddleJob *job); /* the caller's */
