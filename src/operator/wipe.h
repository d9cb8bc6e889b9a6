/* Removes the operator's finalizer from all jobs, so that they can be deleted after the operator is
 * uninstalled. On the client's thread; the passes of controllers have ended before. */
#pragma once

#include "kube/client.h"

typedef struct Wipe Wipe;

/* `namespace`: NULL: all. `done` is called once no job has the finalizer, never from within; what fails is
 * tried again until then. */
Wipe *wipe_new(KubeClient *client, const char *namespace, void (*done)(void *arg), void *arg);
void wipe_free(Wipe *wipe);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Wipe, wipe_free)
