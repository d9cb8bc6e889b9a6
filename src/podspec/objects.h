/* Builders of the Kubernetes objects that a job's members become. Pure: JSON trees in, JSON trees out. What
 * is returned is the caller's; what is passed is borrowed. A tree that is changed in place is one of ours, or
 * a copy of a template whose parts have been checked (podspec_template_problem). */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"
#include "kube/kind.h"

/* Who owns what is built: its controller, which blocks the owner's deletion in the foreground. */
typedef struct {
        const KubeKind *kind;
        const char *name, *uid;
} PodspecOwner;

/* apiVersion, kind and metadata. `namespace`: NULL of kinds that have none; `owner`: or NULL. */
json_t *podspec_object(const KubeKind *kind, const char *namespace, const char *name,
                       const PodspecOwner *owner);
void podspec_label(json_t *object, const char *name, const char *value);
void podspec_annotate(json_t *object, const char *name, const char *value);
/* The object is controlled by the one with this uid. */
bool podspec_is_owned(const json_t *object, const char *uid);

/* A word of a command or a value of a variable, as it is: "$(NAME)" means something there. The caller's. */
char *podspec_literal(const char *text);

/* The list of this name in `object`, borrowed; made where it is missing or null. */
json_t *podspec_list(json_t *object, const char *name);
/* One of the list's items has this name; NULL has none. */
bool podspec_has_named(const json_t *list, const char *name);

/* Members of a container. Entries are appended: on equal names the later one, ours, holds at run time. */
void podspec_env(json_t *container, const char *name, const char *value);
void podspec_env_field(json_t *container, const char *name, const char *field_path);
void podspec_env_from_config_map(json_t *container, const char *config_map);
void podspec_port(json_t *container, int port); /* unless it is declared already */

/* A headless Service for one pod, which publishes addresses that are not ready: TCP ports "p-0", "p-1", ...
 * from `port` on; `selector`: the pod's label of this name has this value. */
json_t *podspec_service(const char *namespace, const char *name, const PodspecOwner *owner,
                        const char *selector, const char *value, int port, int n_ports);

/* Volcano's PodGroup. `min_resources` is always written; queue and priority class when they say something. */
typedef struct {
        gint64 min_member;
        const json_t *min_resources;
        const char *queue, *priority_class;
} PodspecGang;
json_t *podspec_pod_group(const char *namespace, const char *name, const PodspecOwner *owner,
                          const PodspecGang *gang);

/* Why no pod can be made of a PodTemplateSpec ("spec.containers is empty"), NULL when one can; the caller's.
 * Looks at the parts that these builders touch; the rest is the API server's to judge. */
char *podspec_template_problem(const json_t *template);

/* What a job's pods ask for in all. Quantities add exactly, in the canonical form of Kubernetes: 2 × 200m + 2
 * × 300m is "1", 2 × 512Mi is "1Gi"; 1.1Gi, which is not a whole number of bytes, is "1181116006400m". */
typedef struct PodspecSum PodspecSum;
PodspecSum *podspec_sum_new(void);
void podspec_sum_free(PodspecSum *sum);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PodspecSum, podspec_sum_free)
/* `pods` times what the containers of a pod spec request, or what they are limited to where one requests
 * nothing. ERR_INVALID for what is no quantity, or too large. */
bool podspec_sum_add(PodspecSum *sum, const json_t *pod_spec, gint64 pods, GError **error);
json_t *podspec_sum_format(const PodspecSum *sum); /* {"cpu": "1"} */
