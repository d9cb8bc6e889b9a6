/* Requests to a cluster's API server (RuntimeAsk of runtime.h). Same thread as the client, and freed just
 * before it. Freeing the client answers open requests. */
#pragma once

#include "kube/client.h"
#include "runtime/runtime.h"

typedef struct Asker Asker;

Asker *asker_new(KubeClient *client);
void asker_free(Asker *asker);                 /* NULL is a no-op */
void asker_ask(Asker *asker, RuntimeAsk *ask); /* takes it */
