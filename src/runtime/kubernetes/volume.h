/* The files of users in pods: /pfs/<dc>/home/<user> and, read-only, /pfs/<dc>/public, where the cluster's
 * setting says that they lie. Pure: JSON trees in place. */
#pragma once

#include "base/json.h"
#include "runtime/kubernetes/setting.h"
#include "runtime/runtime.h"

/* `dc`: the server's datacenter, as it stands in paths. */
typedef struct {
        const Setting *setting;
        const char *dc;
} VolumeMap;

/* Why the job's input and output cannot be reached from its pods; the caller's. NULL: they can. */
char *volume_problem(const VolumeMap *map, const RuntimeAttempt *attempt);

/* Whether pods see their user's home. */
bool volume_has_home(const VolumeMap *map);

/* Mounts what the setting has of the job's user, makes the directory of its output, and tells `container` of
 * a pod's spec (or all of them: NULL) where both are: PADDLE_INPUT, INPUT, PADDLE_OUTPUT, OUTPUT. */
void volume_put(const VolumeMap *map, const RuntimeAttempt *attempt, json_t *pod_spec, const char *container);
