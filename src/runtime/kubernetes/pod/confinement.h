/* Restrictions of programs in pods, unless a setting lifts them: no capabilities, no additional rights by
 * set-uid programs, only the system calls of the container runtime's own list. Pure: JSON trees in place. */
#pragma once

#include "base/json.h"

typedef struct {
        bool lifted;   /* the cluster's setting gives this user's programs the container runtime's defaults */
        bool non_root; /* the setting allows no container to run as root */
        bool files; /* the pod has a user's home, whose files may have another owner number than the image's
                       root */
} Confinement;

/* Restricts all containers of a pod's spec. Values that a template has set stay, except for `non_root`.
 * Privileged containers, which only an administrator's template has, and pods of Windows stay unchanged. */
void confine_pod(json_t *pod_spec, const Confinement *confinement);

/* Restricts the container that builds images. `capabilities`: those that it keeps; NULL ends the list. */
void confine_container(json_t *container, const char *const *capabilities);
