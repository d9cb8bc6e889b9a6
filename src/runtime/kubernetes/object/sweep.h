/* Deletes services and Volcano's groups of unknown attempts. Such an object exists if it was created after
 * its attempt was deleted, because its creation was in progress when the server ended; or if the server ended
 * before it was deleted. It searches every 15 s. An object that is unknown twice in a row is deleted, because
 * an attempt that begins becomes known before its service is created. Same thread as the client, and freed
 * before it. */
#pragma once

#include "kube/client.h"

typedef struct Sweep Sweep;

typedef struct {
        KubeClient *client;
        GMainContext *context;
        const char *selector;          /* selects our objects */
        const char *const *namespaces; /* where to search, ... */
        bool (*is_wide)(void *arg);    /* ... unless it can search everywhere */
        bool (*has_groups)(void *arg); /* the cluster has Volcano */
        /* `name`: of the service and the group, which is the same. */
        bool (*is_known)(const char *name, void *arg);
        void (*drop)(const char *namespace, const char *name, void *arg);
        void *arg;
} SweepConfig;

Sweep *sweep_new(const SweepConfig *config);
void sweep_free(Sweep *sweep); /* NULL is a no-op */
