/* The controller of PaddleJobs: sees the cluster, decides by reconcile(), acts. On the client's thread. It
 * looks from its beginning on, and acts from controller_lead to controller_stop. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "kube/client.h"
#include "operator/figures.h"
#include "operator/host-ports.h"
#include "operator/members.h"

typedef struct Controller Controller;

typedef struct {
        KubeClient *client;
        const char *namespace; /* NULL: all */
        OperatorRules rules;   /* what it borrows outlives the controller */
        const char *port_range;
} ControllerConfig;

/* ERR_USAGE, ERR_INVALID for a port range or etcd endpoints that are none. */
Controller *controller_new(const ControllerConfig *config, GError **error);
void controller_free(Controller *controller);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Controller, controller_free)

void controller_lead(Controller *controller);
/* Begins no further pass; `done` is called once those under way have ended. */
void controller_stop(Controller *controller, void (*done)(void *arg), void *arg);

void controller_figures(const Controller *controller, Figures *ret);
