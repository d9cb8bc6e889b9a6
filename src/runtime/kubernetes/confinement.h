/* What programs in pods are kept from unless somebody says otherwise: no capability, no more rights by
 * set-uid programs, the system calls of the container runtime's own list. Pure: JSON trees in place. */
#pragma once

#include "base/json.h"

typedef struct {
        bool lifted; /* the cluster's setting lets this user's programs have what the container runtime gives
                      */
        bool non_root; /* it lets no container run as root */
        bool files; /* the pod has a user's home, whose files may be of another number than the image's root
                     */
} Confinement;

/* Of all containers of a pod's spec. What is said there already (by a template) stays, but for `non_root`;
 * privileged containers, which an administrator's template alone has, and pods of Windows stay as they are.
 */
void confine_pod(json_t *pod_spec, const Confinement *confinement);

/* Of the container that builds images. `capabilities`: those that it keeps, the list ending in NULL. */
void confine_container(json_t *container, const char *const *capabilities);
