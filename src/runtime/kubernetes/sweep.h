/* Services and Volcano's groups of attempts that nobody knows: one may be made after its attempt was taken
 * away, when its creation was under way as the server ended; or the server ended before it was deleted.
 * Looked for every 15 s; what is unknown twice in a row goes, since an attempt that begins becomes known
 * before its service is made. Same thread as the client, and freed before it. */
#pragma once

#include "kube/client.h"

typedef struct Sweep Sweep;

typedef struct {
        KubeClient *client;
        GMainContext *context;
        const char *selector;          /* of ours */
        const char *const *namespaces; /* where to look, */
        bool (*is_wide)(void *arg);    /* unless it is everywhere */
        bool (*has_groups)(void *arg); /* Volcano is there */
        /* `name`: of both, which have the same one. */
        bool (*is_known)(const char *name, void *arg);
        void (*drop)(const char *namespace, const char *name, void *arg);
        void *arg;
} SweepConfig;

Sweep *sweep_new(const SweepConfig *config);
void sweep_free(Sweep *sweep); /* NULL is a no-op */
