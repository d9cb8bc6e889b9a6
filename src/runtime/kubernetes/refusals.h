/* Why the pods of StatefulSets and Jobs do not come: a quota, a policy, a webhook. Their controllers say it
 * in events of reason FailedCreate and nowhere else, and go on trying, ever more slowly. And why the
 * containers of a pod are not made: a volume that cannot be mounted, a network that is not there; the kubelet
 * says it in events of the pod alone, whose status stays "ContainerCreating". Same thread as the client, and
 * freed before it. An account that may not see events is told nothing. */
#pragma once

#include <stdbool.h>

#include "kube/client.h"
#include "kube/kind.h"

typedef struct Refusals Refusals;

typedef struct {
        KubeClient *client;
        GMainContext *context;
        const char *const *namespaces; /* to look at when not everywhere (scope.h) */
        const char *cluster;
        /* Something is said of the object, or of the pod (kube_pods). It may call refusals_why. */
        void (*told)(const KubeKind *kind, const char *namespace, const char *name, void *arg);
        void *arg;
} RefusalsConfig;

Refusals *refusals_new(const RefusalsConfig *config);
void refusals_free(Refusals *refusals); /* NULL is a no-op */

/* What was said last, in the API server's words; borrowed until the loop runs again. NULL: nothing. */
const char *refusals_why(const Refusals *refusals, const KubeKind *kind, const char *namespace,
                         const char *name);

/* ---- pure ---- */

/* The API server's words in a controller's: part of `message`. */
const char *refusal_words(const char *message);
/* The same pod would be refused again, until somebody changes the rule: a policy, a webhook, or the API's own
 * checks say no. All else (a quota, a webhook that does not answer) may be otherwise in a moment. */
bool refusal_lasts(const char *words);
