/* Extension templates (scheduling.md 9): the object of Kubernetes that a client of PaddleFlow gives with a
 * job, as the base of what is made of it. Which kinds they may be is the framework's; where the pods of a
 * role stand in them is the kind's. Pure; templates are JSON trees, and what is returned of them is borrowed.
 */
#pragma once

#include <stdbool.h>

#include "base/json.h"

/* Says which kind the job is to be, instead of its framework's: "PaddleJob.kubeflow.org/v1". */
#define EXTENSION_KIND_ANNOTATION "paddleflow/job-kind-group-version"

/* `framework`: as PaddleFlow names it, "" of a workflow; `named`: the annotation's value, or NULL.
 * ERR_INVALID says which kind it would have to be, or what of its pods
 * cannot be used. */
bool extension_check(const char *framework, const char *named, const json_t *template, GError **error);
/* Only that what our own is put together with has its type; ERR_INVALID names the place. Part of the above.
 */
bool extension_check_pods(const json_t *template, GError **error);

/* Calls `check` with each of the template's pods, and where it stands in it ("spec.worker.template", "pod" of
 * a pod by itself), until one is refused. */
typedef bool (*ExtensionPodFunc)(const char *where, const json_t *pod, const void *arg, GError **error);
bool extension_each_pod(const json_t *template, ExtensionPodFunc check, const void *arg, GError **error);

/* The template of the pods of members of the role (by our name or PaddleFlow's): {"metadata"?, "spec"?};
 * NULL: it says nothing of them. */
const json_t *extension_pod(const json_t *template, const char *role);
/* The container of such a template that is the member's: the one named "main", else the first; NULL: none. */
json_t *extension_container(const json_t *pod);
/* What the container asks for, as a job's flavour has it: {"cpu"?, "mem"?, "scalarResources"?}; a new
 * reference, NULL: nothing. `container`: or NULL. */
json_t *extension_flavour(const json_t *container);
/* The roles of the template as members of a job: [{"role", "replicas"}], by PaddleFlow's names; a new
 * reference, maybe empty. */
json_t *extension_members(const json_t *template);
