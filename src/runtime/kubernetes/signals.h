/* Signals into pods: a command in the container, since a pod takes none from outside but the one that ends
 * it. Same thread as the client, and freed before it. */
#pragma once

#include "kube/client.h"

typedef struct Signals Signals;

/* `cluster`: for messages; outlives it. */
Signals *signals_new(KubeClient *client, const char *cluster);
void signals_free(Signals *signals); /* those under way are given up; NULL is a no-op */
/* To all processes of the container. Nothing follows; what goes wrong is logged. */
void signals_send(Signals *signals, const char *namespace, const char *pod, const char *container, int signo);
