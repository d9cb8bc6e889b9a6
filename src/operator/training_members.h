/* The objects that a TrainingJob becomes. Pure: JSON trees in, JSON trees out; what is returned is the
 * caller's. */
#pragma once

#include "kube/kind.h"
#include "operator/training.h"

/* Label of all that is made here, whose value is TRAINING_MANAGER: what is watched. */
#define TRAINING_MANAGED_BY "app.kubernetes.io/managed-by"
#define TRAINING_MANAGER "paddle-operator"

/* Of a job whose ports a port manager gives: how many pods there are to be, once it has. */
#define TRAINING_HOST_NETWORK "port-manager/hostnetwork"
#define TRAINING_REPLICAS "port-manager/rc.replicas"
#define TRAINING_PARALLELISM "port-manager/parallelism"

const KubeKind *training_kind(TrainingRole role);                      /* ReplicaSet or Job */
char *training_member_name(const TrainingJob *job, TrainingRole role); /* the caller's */
const char *training_label(TrainingRole role); /* of its pods; the value is the job's name */

/* The ReplicaSet or Job of a role. */
json_t *training_member(const TrainingJob *job, TrainingRole role);
