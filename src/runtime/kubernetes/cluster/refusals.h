/* Why the pods of StatefulSets and Jobs are not created: a quota, a policy, a webhook. Their controllers
 * report it only in events of reason FailedCreate, and retry with growing delay. Also why the containers of a
 * pod are not created: a volume that cannot be mounted, a missing network. The kubelet reports it only in
 * events of the pod, whose status stays "ContainerCreating". Same thread as the client, and freed before it.
 * If the account may not read events, nothing is reported. */
#pragma once

#include <stdbool.h>

#include "kube/client.h"
#include "kube/kind.h"

typedef struct Refusals Refusals;

typedef struct {
        KubeClient *client;
        GMainContext *context;
        const char *const *namespaces; /* to watch if not all namespaces can be watched (scope.h) */
        const char *cluster;
        /* There is a new reason for the object, or for the pod (kube_pods). It may call refusals_why. */
        void (*told)(const KubeKind *kind, const char *namespace, const char *name, void *arg);
        void *arg;
} RefusalsConfig;

Refusals *refusals_new(const RefusalsConfig *config);
void refusals_free(Refusals *refusals); /* NULL is a no-op */

/* The latest reason, in the API server's words; borrowed until the loop runs again. NULL: none. */
const char *refusals_why(const Refusals *refusals, const KubeKind *kind, const char *namespace,
                         const char *name);

/* ---- pure ---- */

/* The API server's words within a controller's message: part of `message`. */
const char *refusal_words(const char *message);
/* True if the same pod would be refused again until the rule is changed: by a policy, a webhook, or the API's
 * own checks. Other causes (a quota, a webhook that does not answer) may change at any moment. */
bool refusal_lasts(const char *words);
/* True if a kubelet does not find the object of this name that a pod mounts. */
bool refusal_misses(const char *words, const char *name);
