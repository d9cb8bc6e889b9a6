/* Sends signals into pods, by a command in the container: the API can only send the signal that ends a pod.
 * Same thread as the client, and freed before it. */
#pragma once

#include "kube/client.h"

typedef struct Signals Signals;

/* `cluster`: for messages; outlives it. */
Signals *signals_new(KubeClient *client, const char *cluster);
void signals_free(Signals *signals); /* cancels those in progress; NULL is a no-op */
/* To all processes of the container. Nothing follows; failures are logged. */
void signals_send(Signals *signals, const char *namespace, const char *pod, const char *container, int signo);
