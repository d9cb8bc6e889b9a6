/* Mounts of a job in its pods: directories of named file systems, as sub-paths of volumes that the cluster's setting
 * allows. The kubelet opens a sub-path below its volume and follows no link out of it. Pure: JSON trees in place. */
#pragma once

#include "runtime/kubernetes/pod/volume.h"

/* Why pods of the user cannot have these mounts: a sentence, a newline and what to do; the caller's. NULL: they can.
 * `namespace` is that of the pods; NULL: not known yet. */
char *pod_mounts_problem(const VolumeMap *map, const char *user, const char *namespace,
                         const TaskMount *mounts, int n);

/* Adds volumes to the pod, and mounts to its main container, which can then never gain rights. Only mounts without a
 * problem. */
void pod_mounts_put(const VolumeMap *map, const char *user, const TaskMount *mounts, int n, json_t *pod_spec);
