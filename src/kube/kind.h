/* The kinds of objects that we use, and the paths of the REST API. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

typedef struct {
        const char *group;   /* "" for the core group */
        const char *version; /* "v1" */
        const char *kind;    /* "Pod" */
        const char *plural;  /* "pods" */
        bool cluster_scoped;
} KubeKind;

/* The kinds that the code names. Others are built from users' input (kube_kind_find of client.h asks the
 * server). */
extern const KubeKind kube_pods, kube_services, kube_config_maps, kube_events, kube_leases, kube_nodes,
        kube_namespaces, kube_secrets, kube_stateful_sets, kube_replica_sets, kube_jobs,
        kube_priority_classes, kube_pod_groups, kube_volcano_queues, kube_paddle_jobs, kube_training_jobs,
        kube_tf_jobs, kube_pytorch_jobs, kube_mpi_jobs, kube_spark_applications, kube_network_policies;

/* "batch/v1" or "v1": the apiVersion of an object of this kind; the caller's. */
char *kube_api_version(const KubeKind *kind);

/* "/api/v1/namespaces/N/pods/NAME/status"; every part is percent-encoded. `namespace` NULL: all namespaces
 * (or cluster-scoped); name and subresource may be NULL. The caller's. */
char *kube_path(const KubeKind *kind, const char *namespace, const char *name, const char *subresource);

/* Metadata of an object, "" if absent; borrowed. */
const char *kube_name(const json_t *object);
const char *kube_namespace(const json_t *object);
const char *kube_uid(const json_t *object);
const char *kube_resource_version(const json_t *object);
const char *kube_label(const json_t *object, const char *name);      /* NULL when absent */
const char *kube_annotation(const json_t *object, const char *name); /* NULL when absent */
bool kube_is_deleting(const json_t *object);                         /* has a deletionTimestamp */
/* The ownerReference with controller: true, or NULL; borrowed. */
const json_t *kube_controller(const json_t *object);
/* Follows a path: kube_get(pod, "status.phase"); an index in brackets: "spec.containers[0].name". NULL if a
 * part is absent. */
json_t *kube_get(const json_t *object, const char *path);
const char *kube_get_text(const json_t *object, const char *path); /* NULL: absent or not a string */
gint64 kube_get_int(const json_t *object, const char *path, gint64 otherwise);
/* RFC 3339 -> ms since 1970; 0: malformed. */
gint64 kube_time(const char *text);
char *kube_time_format(gint64 ms, bool micro); /* the caller's */
