/* Objects that have to go: asked for again, ever more slowly, until the API server has taken it or they are
 * gone. A Secret that the account may not delete is left to its owner. Same thread as the client,
 * and freed before it. */
#pragma once

#include "kube/client.h"
#include "kube/kind.h"

typedef struct Deletions Deletions;

typedef struct {
        KubeClient *client;
        GMainContext *context;
        const char *cluster;
        void (*failed)(const GError *error, void *arg); /* each time; it is asked again all the same */
        /* The pod that was in doubt is not there, or goes. */
        void (*undone)(const char *task, void *arg);
        void *arg;
} DeletionsConfig;

Deletions *deletions_new(const DeletionsConfig *config);
void deletions_free(Deletions *deletions); /* NULL is a no-op; what is left to do is not done */

/* `uid`: only this very object; NULL: whatever has the name. `grace_s` -1: the object's own. What was wanted
 * of the same name before counts no more, but that a shorter time was left to the same object. */
void deletions_want(Deletions *deletions, const KubeKind *kind, const char *namespace, const char *name,
                    const char *uid, gint64 grace_s);
/* The pod of the task, which may have been made or not: `undone` is told once. */
void deletions_undo(Deletions *deletions, const char *namespace, const char *pod, const char *task,
                    gint64 grace_s);
