/* What running members use, from the kubelets of their nodes ("stats/summary", by way of the API server).
 * Only nodes with members that run are asked, each once in a while and few at a time. Same thread as the
 * client, and freed before it; what is said to be for any thread is. */
#pragma once

#include "base/json.h"
#include "kube/client.h"
#include "runtime/runtime.h"

typedef struct Usages Usages;

/* `cluster`: for messages; outlives it. */
Usages *usages_new(KubeClient *client, GMainContext *context, const char *cluster);
void usages_stop(Usages *usages); /* asks no more; what is known stays */
void usages_free(Usages *usages); /* NULL is a no-op */

/* Names of pods are unique in the cluster here, as those of tasks are. */
void usages_add(Usages *usages, const char *task, const char *namespace, const char *pod, const char *node);
void usages_drop(Usages *usages, const char *task);
/* As last seen; false: not known. Any thread. */
bool usages_get(Usages *usages, const char *task, TaskUsage *ret);

/* One of the pods of a summary: its sums, without a peak. False: it says nothing of use. */
bool usage_of(const json_t *stats, TaskUsage *ret);
