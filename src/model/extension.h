/* Extension templates: the Kubernetes object that a client of PaddleFlow supplies as the base of its job's
 * pods. The framework decides which kinds are allowed. The kind decides where the pods of a role are in it.
 * Pure. Templates are JSON trees, and results that point into them are borrowed. */
#pragma once

#include <stdbool.h>

#include "base/json.h"

/* Annotation that names the kind of the job, instead of its framework's kind: "PaddleJob.kubeflow.org/v1". */
#define EXTENSION_KIND_ANNOTATION "paddleflow/job-kind-group-version"

/* `framework`: PaddleFlow's name, "" for a workflow; `named`: the annotation's value, or NULL. ERR_INVALID
 * names the kind that is expected, or the part of its pods that cannot be used. */
bool extension_check(const char *framework, const char *named, const json_t *template, GError **error);
/* Checks only the types of the fields that we merge with ours; ERR_INVALID names the field. extension_check
 * includes this. */
bool extension_check_pods(const json_t *template, GError **error);

/* Calls `check` with each pod of the template and its path ("spec.worker.template"; "pod" for a single pod),
 * until one is refused. */
typedef bool (*ExtensionPodFunc)(const char *where, const json_t *pod, const void *arg, GError **error);
bool extension_each_pod(const json_t *template, ExtensionPodFunc check, const void *arg, GError **error);

/* The pod template for members of the role (our name or PaddleFlow's): {"metadata"?, "spec"?}; NULL: the
 * template has none. */
const json_t *extension_pod(const json_t *template, const char *role);
/* The member's container in a pod template: the one named "main", else the first; NULL: none. */
json_t *extension_container(const json_t *pod);
/* The resources that the container requests, in the form of a flavour: {"cpu"?, "mem"?, "scalarResources"?};
 * a new reference, NULL: nothing. `container`: or NULL. */
json_t *extension_flavour(const json_t *container);
/* The roles of the template as members of a job: [{"role", "replicas"}], by PaddleFlow's names; a new
 * reference, maybe empty. */
json_t *extension_members(const json_t *template);
