/* The files of users in pods: /pfs/<dc>/home/<user> and, read-only, /pfs/<dc>/public, from the locations in
 * the cluster's setting. Pure: JSON trees in place. */
#pragma once

#include "base/json.h"
#include "runtime/kubernetes/pod/setting.h"
#include "runtime/runtime.h"

/* `dc`: the server's datacenter, as in paths. */
typedef struct {
        const Setting *setting;
        const char *dc;
} VolumeMap;

/* Why the job's input and output cannot be reached from its pods; the caller's. NULL: they can. */
char *volume_problem(const VolumeMap *map, const RuntimeAttempt *attempt);

/* True if pods have their user's home. */
bool volume_has_home(const VolumeMap *map);

/* A mount of the user's home at a path: `sub` in it, or "". The caller's. Only with volume_has_home. */
json_t *volume_home_mount(const VolumeMap *map, const char *user, const char *at, const char *sub);

/* Mounts the volumes of the job's user, creates the directory of its output, and sets in `container` of a
 * pod's spec (NULL: in all) the paths of both: PADDLE_INPUT, INPUT, PADDLE_OUTPUT, OUTPUT. */
void volume_put(const VolumeMap *map, const RuntimeAttempt *attempt, json_t *pod_spec, const char *container);
