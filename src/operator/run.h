/* One pass's actions under way: sent side by side, but for those on the job itself, which keep their order.
 * Ends in one call of `done`. Private to the controller. */
#pragma once

#include <glib.h>

#include "kube/client.h"
#include "kube/event.h"
#include "kube/queue.h"
#include "operator/etcd.h"
#include "operator/expect.h"
#include "operator/reconcile.h"

typedef struct Run Run;

typedef struct {
        KubeClient *client;
        KubeRecorder *recorder;
        Etcd *etcd;           /* or NULL */
        const KubeKind *kind; /* of the job */
        const char *label;    /* by which the caches know what the job owns */
        const json_t *job;    /* a copy is kept */
        Plan *plan;           /* taken */
        /* `expected`: Expected *, taken by the callee. */
        void (*done)(Run *run, WorkResult result, GPtrArray *expected, void *arg);
        void *arg;
} RunConfig;

/* The result of a plan, for the queue, if all its actions succeed. */
WorkResult plan_result(const Plan *plan);
/* `done` is never called from within. NULL when there is nothing to send. */
Run *run_start(const RunConfig *config);
/* In `done`: what the server says of a creation that it refuses for good, NULL: none; borrowed. */
const char *run_refusal(const Run *run);
void run_free(Run *run); /* before `done`: requests that were sent may still take effect, without a report */
