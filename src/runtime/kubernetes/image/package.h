/* Small packages in pods that run an image unchanged, for clusters without a registry: a tar in a ConfigMap
 * of the attempt, unpacked by the gate (src/gate) before the entry point. The paths are those of image.h. */
#pragma once

#include "base/json.h"
#include "runtime/kubernetes/pod/member.h"

enum { PACKAGE_TAR_MAX = 700 * 1024 }; /* bytes; a ConfigMap has at most 1 MiB */

/* Creates the tar of a package of the server, once. May take long. ERR_TOO_LARGE above PACKAGE_TAR_MAX. */
bool package_pack(const char *state_dir, const char *hash, GError **error);
bool package_is_packed(const char *state_dir, const char *hash);

/* The ConfigMap of an attempt; NULL with why its tar cannot be read. */
json_t *package_map(const char *state_dir, const MemberHome *home, const RuntimeAttempt *attempt,
                    GError **error);
/* The ConfigMap of the gate, the same for all. */
json_t *package_gate(const MemberHome *home);

/* Adds the package to the pod of a job that has one. Pure. */
void package_put(json_t *pod_spec, const RuntimeAttempt *attempt);
/* Lets the pod check, before its program, that its image has the requirements; it fails with the missing
 * ones. Pure. */
void package_require(json_t *pod_spec, const char *requirements);
