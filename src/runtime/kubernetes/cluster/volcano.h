/* Queues and gangs of Volcano (doc/reference/scheduling.md, "Volcano's queues" to "Handing a job to
 * Volcano"), where a cluster's setting says that it places our pods: a Queue for each queue of the cluster, a
 * PodGroup for each attempt of a job, and why it waits. Our engine has admitted the job before; Volcano sees
 * that its gang starts whole, and keeps what others use of the same queue. */
#pragma once

#include "kube/client.h"

typedef struct Volcano Volcano;

typedef struct {
        KubeClient *client;
        GMainContext *context;
        const char *selector;          /* selects our objects */
        const char *const *namespaces; /* as in scope.h */
        const char *cluster;           /* its name, for messages */
        /* The reason of a group has changed. */
        void (*changed)(const char *namespace, const char *name, void *arg);
        void *arg;
} VolcanoConfig;

Volcano *volcano_new(const VolcanoConfig *config); /* borrows the texts */
void volcano_free(Volcano *volcano);               /* NULL is a no-op */

/* Sets all Queue objects that must exist; others of ours are deleted. Takes `queues` (an array). */
void volcano_take_queues(Volcano *volcano, json_t *queues);
/* Creates the group, with retries. If it exists and waits, its priority class is updated. Takes it. It
 * may be repeated. */
void volcano_want_group(Volcano *volcano, json_t *group);
/* Deletes the group, with retries, after requests for it that are in progress. */
void volcano_drop_group(Volcano *volcano, const char *namespace, const char *name);
bool volcano_is_served(const Volcano *volcano); /* the cluster has these kinds of objects */
/* Why the pods of a group wait; the caller's, or NULL. */
char *volcano_why(const Volcano *volcano, const char *namespace, const char *name);
