/* Private to kube/: functions of a client for exec and discovery. */
#pragma once

#include "kube/client.h"
#include "kube/multi.h"
#include "kube/reach.h"

typedef struct KubeDiscovery KubeDiscovery;
KubeDiscovery *kube_discovery_new(KubeClient *client);
void kube_discovery_free(KubeDiscovery *discovery);
KubeDiscovery *kube_client_discovery(KubeClient *client);

/* Moves a waiting call before all others, and gives it a connection that carries no writes, so that reads of
 * the current state do not wait behind a thousand writes. */
void kube_call_hurry(KubeCall *call);

GMainContext *kube_client_context(const KubeClient *client); /* NULL: the default one */
const KubeReach *kube_client_reach(const KubeClient *client);
