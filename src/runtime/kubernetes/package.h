/* Small packages in pods that run an image as it is, for clusters without a registry: a tar in a ConfigMap of
 * the attempt, unpacked by the gate (src/gate) before the entry point. The paths are those of image.h. */
#pragma once

#include "base/json.h"
#include "runtime/kubernetes/member.h"

enum { PACKAGE_TAR_MAX = 700 * 1024 }; /* bytes; a ConfigMap holds 1 MiB */

/* Makes the tar of a package that the server has, once. May take long. ERR_TOO_LARGE above PACKAGE_TAR_MAX.
 */
bool package_pack(const char *state_dir, const char *hash, GError **error);
bool package_is_packed(const char *state_dir, const char *hash);

/* The ConfigMap of an attempt; NULL with why its tar cannot be read. */
json_t *package_map(const char *state_dir, const MemberHome *home, const RuntimeAttempt *attempt,
                    GError **error);
/* That of the gate, the same for all. */
json_t *package_gate(const MemberHome *home);

#define PACKAGE_CONTAINER "package"
#define LACKING_CONTAINER "requirements"

/* The pod of a job with a package gets it. Pure. */
void package_put(json_t *pod_spec, const RuntimeAttempt *attempt);
/* Before its program the pod looks whether its image has the requirements; it fails with what is lacking.
 * Pure.
 */
void package_require(json_t *pod_spec, const char *requirements);
