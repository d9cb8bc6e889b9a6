/* Builders of the Kubernetes objects of a job's members. Pure: JSON trees in, JSON trees out. Results are the
 * caller's, arguments are borrowed. A tree that is changed in place was built here, or is a copy of a
 * template that was checked (podspec_template_problem). */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"
#include "kube/kind.h"

/* The owner of a built object: its controller, whose foreground deletion waits for the object. */
typedef struct {
        const KubeKind *kind;
        const char *name, *uid;
} PodspecOwner;

/* apiVersion, kind and metadata. `namespace` is NULL for kinds without one; `owner` may be NULL. */
json_t *podspec_object(const KubeKind *kind, const char *namespace, const char *name,
                       const PodspecOwner *owner);
void podspec_label(json_t *object, const char *name, const char *value);
void podspec_annotate(json_t *object, const char *name, const char *value);
/* The object is controlled by the one with this uid. */
bool podspec_is_owned(const json_t *object, const char *uid);

/* Escapes a command's word or a variable's value, so that Kubernetes does not expand "$(NAME)". The
 * caller's. */
char *podspec_literal(const char *text);

/* The list of this name in `object`, borrowed; created if missing or null. */
json_t *podspec_list(json_t *object, const char *name);
/* True if an item of the list has this name; a NULL list has none. */
bool podspec_has_named(const json_t *list, const char *name);

/* Fields of a container. Entries are appended: of equal names the later one, ours, is used. */
void podspec_env(json_t *container, const char *name, const char *value);
void podspec_env_field(json_t *container, const char *name, const char *field_path);
void podspec_env_from_config_map(json_t *container, const char *config_map);
void podspec_port(json_t *container, int port); /* unless it is declared already */

/* A headless Service for one pod, which publishes addresses that are not ready: TCP ports "p-0", "p-1", ...
 * from `port` on; `selector`: the pod's label of this name has this value. */
json_t *podspec_service(const char *namespace, const char *name, const PodspecOwner *owner,
                        const char *selector, const char *value, int port, int n_ports);

/* Volcano's PodGroup. `min_resources` is always written; queue and priority class only if they are set. */
typedef struct {
        gint64 min_member;
        const json_t *min_resources;
        const char *queue, *priority_class;
} PodspecGang;
json_t *podspec_pod_group(const char *namespace, const char *name, const PodspecOwner *owner,
                          const PodspecGang *gang);

/* The reason why a PodTemplateSpec cannot become a pod ("spec.containers is empty"), NULL if it can; the
 * caller's. Checks the parts that these builders use; the API server checks the rest. */
char *podspec_template_problem(const json_t *template);

/* The sum of a job's pods. Quantities add exactly, in the canonical form of Kubernetes: 2 × 200m + 2 × 300m
 * is "1", 2 × 512Mi is "1Gi"; 1.1Gi, which is not a whole number of bytes, is "1181116006400m". */
typedef struct PodspecSum PodspecSum;
PodspecSum *podspec_sum_new(void);
void podspec_sum_free(PodspecSum *sum);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PodspecSum, podspec_sum_free)
/* Adds `pods` times the requests of a pod spec's containers; a missing request is the limit. ERR_INVALID for
 * an invalid quantity, or one that is too large. */
bool podspec_sum_add(PodspecSum *sum, const json_t *pod_spec, gint64 pods, GError **error);
json_t *podspec_sum_format(const PodspecSum *sum); /* {"cpu": "1"} */
