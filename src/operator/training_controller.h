/* The controller of TrainingJobs: waits until the cluster serves them, sees, decides by training_reconcile(),
 * acts. On the client's thread. It looks from its beginning on, and acts from training_lead to training_stop.
 */
#pragma once

#include <glib.h>

#include "kube/client.h"
#include "operator/figures.h"

typedef struct TrainingController TrainingController;

/* `namespace`: NULL: all. Its open requests end with the client: free it, then the client, and run no loop in
 * between. */
TrainingController *training_controller_new(KubeClient *client, const char *namespace);
void training_controller_free(TrainingController *controller);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TrainingController, training_controller_free)

void training_lead(TrainingController *controller);
/* Begins no further pass; `done` is called once those under way have ended. */
void training_stop(TrainingController *controller, void (*done)(void *arg), void *arg);
/* False while the cluster serves no TrainingJobs. */
bool training_figures(const TrainingController *controller, Figures *ret);
