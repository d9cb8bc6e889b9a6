/* The nodes of a cluster, and all pods on them, as amounts that can be added. Pure: JSON trees in and out.
 * Amounts are objects of whole numbers by name: "cpu" in thousandths, the others in base units. */
#pragma once

#include "base/json.h"

/* {"name", "ip", "ready", "schedulable", "labels", "capacity", "allocatable", "used": {}, "pods": []}; the
 * caller's. A node is schedulable when it is ready and not cordoned off. */
json_t *census_node(const json_t *node);

/* Adds the pod to its node in `nodes` (an object, name -> census_node), with its requests: {"name", "labels",
 * "status", "asks"}. Ignores a pod that has ended, or has no node yet. */
void census_add_pod(json_t *nodes, const json_t *pod);

/* A pod's requests: the sum of its containers, or the largest init container, plus its overhead. */
json_t *census_pod_asks(const json_t *pod);

/* The states of pods in the older interface. */
typedef enum { CENSUS_CREATING, CENSUS_RUNNING, CENSUS_TERMINATING, CENSUS_DELETED } CensusStatus;

/* sum += n × amounts, name by name. */
void census_add(json_t *sum, const json_t *amounts, gint64 n);
