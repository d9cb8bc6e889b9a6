/* Leader election on a Lease (coordination.k8s.io/v1), compatible with client-go's. The holder renews it
 * every `retry_ms`. Others take it when it was not renewed for `duration_ms` by their own clock (clock skew
 * does not matter). A holder that cannot renew for `renew_deadline_ms` has lost it, and tries to acquire it
 * again. Same thread as the client, and freed before it; `lost` may free it. */
#pragma once

#include "kube/client.h"

typedef struct KubeLease KubeLease;
typedef struct {
        const char *namespace, *name, *identity;
        gint64 duration_ms, renew_deadline_ms, retry_ms; /* 0: 15 s, 10 s, 2 s */
        void (*gained)(void *arg);
        void (*lost)(void *arg); /* the holder must stop writing at once */
        void *arg;
} KubeLeaseConfig;

KubeLease *kube_lease_new(KubeClient *client, const KubeLeaseConfig *config);
/* Releases a held lease (best effort, so that the next holder need not wait), frees it, then calls `done` (or
 * NULL). `lost` is not called. */
void kube_lease_release(KubeLease *lease, void (*done)(void *arg), void *arg);
void kube_lease_free(KubeLease *lease);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KubeLease, kube_lease_free)
bool kube_lease_is_held(const KubeLease *lease);
