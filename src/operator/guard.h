/* The operator's hold on its own rights, so that it can still take its finalizer off the jobs when it is
 * uninstalled while they run (doc/internals/kubernetes.md, "Taking the operator away"). The guarded objects are a
 * ClusterRoleBinding, the ClusterRole it names and its service account. On the client's thread. */
#pragma once

#include "kube/client.h"

typedef struct Guard Guard;

typedef struct {
        KubeClient *client;
        const char *binding;        /* the ClusterRoleBinding's name */
        void (*held)(void *arg);    /* once; before that no job may get a finalizer */
        void (*leaving)(void *arg); /* once: the rights are being deleted; perhaps instead of `held` */
        void *arg;
} GuardConfig;

/* Callbacks are never called from within. Failed requests are retried. */
Guard *guard_new(const GuardConfig *config);
void guard_free(Guard *guard);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Guard, guard_free)

/* Has `leaving` been called, or is it about to be? */
bool guard_is_leaving(const Guard *guard);
/* After `leaving`: lets what is being deleted go, and what is not be without us. Afterwards we have no
 * rights. */
void guard_release(Guard *guard, void (*done)(void *arg), void *arg);
