/* Deletes objects: each deletion is retried with growing delay until the API server accepts it or the object
 * is gone. A Secret that the account may not delete is left to its owner's deletion. Same thread as the
 * client, and freed before it. */
#pragma once

#include "kube/client.h"
#include "kube/kind.h"

typedef struct Deletions Deletions;

typedef struct {
        KubeClient *client;
        GMainContext *context;
        const char *cluster;
        void (*failed)(const GError *error, void *arg); /* called for each failure; the deletion is still
                                                           retried */
        /* The pod that may exist does not, or is being deleted. */
        void (*undone)(const char *task, void *arg);
        void *arg;
} DeletionsConfig;

Deletions *deletions_new(const DeletionsConfig *config);
void deletions_free(Deletions *deletions); /* NULL is a no-op; remaining deletions are abandoned */

/* `uid`: only this object; NULL: any object of the name. `grace_s` -1: the object's own. Replaces an earlier
 * request for the same name, but a shorter grace for the same object stays. */
void deletions_want(Deletions *deletions, const KubeKind *kind, const char *namespace, const char *name,
                    const char *uid, gint64 grace_s);
/* Deletes the pod of the task, whose creation may have succeeded or not: `undone` is called once. */
void deletions_undo(Deletions *deletions, const char *namespace, const char *pod, const char *task,
                    gint64 grace_s);
