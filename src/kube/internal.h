/* Private to the room: what exec and discovery need of a client. */
#pragma once

#include "kube/client.h"
#include "kube/multi.h"
#include "kube/reach.h"

typedef struct KubeDiscovery KubeDiscovery;
KubeDiscovery *kube_discovery_new(KubeClient *client);
void kube_discovery_free(KubeDiscovery *discovery);
KubeDiscovery *kube_client_discovery(KubeClient *client);

/* One that waits comes before all others, and has a connection that carries no writes: the truth does not
 * stand behind a thousand of them. */
void kube_call_hurry(KubeCall *call);

GMainContext *kube_client_context(const KubeClient *client); /* NULL: the default one */
const KubeReach *kube_client_reach(const KubeClient *client);
