/* The usage of running members, from the kubelets of their nodes ("stats/summary", through the API server).
 * Only nodes with running members are asked, each from time to time and few at once. Same thread as the
 * client, and freed before it, except for functions marked as any thread. */
#pragma once

#include "base/json.h"
#include "kube/client.h"
#include "runtime/runtime.h"

typedef struct Usages Usages;

/* `cluster`: for messages; outlives it. */
Usages *usages_new(KubeClient *client, GMainContext *context, const char *cluster);
void usages_stop(Usages *usages); /* stops asking; known values stay */
void usages_free(Usages *usages); /* NULL is a no-op */

/* Adds a running task. Names of pods are unique in the cluster, as those of tasks are. */
void usages_add(Usages *usages, const char *task, const char *namespace, const char *pod, const char *node);
void usages_drop(Usages *usages, const char *task);
/* The last known value; false: unknown. Any thread. */
bool usages_get(Usages *usages, const char *task, TaskUsage *ret);

/* Reads a pod of a summary: its sums, without a peak. False: it has no usage. */
bool usage_of(const json_t *stats, TaskUsage *ret);
