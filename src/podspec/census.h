/* Who lives in a cluster: its nodes and the pods on them, of everybody, as amounts that can be added up.
 * Pure: JSON trees in and out. Amounts are objects of whole numbers by name: "cpu" in thousandths, the others
 * in base units. */
#pragma once

#include "base/json.h"

/* {"name", "ip", "ready", "schedulable", "labels", "capacity", "allocatable", "used": {}, "pods": []}; the
 * caller's. A node is schedulable when it is ready and not cordoned off. */
json_t *census_node(const json_t *node);

/* Puts the pod on its node among `nodes` (an object, name -> census_node), with what it asks for: {"name",
 * "labels", "status", "asks"}. One that has ended, or has no node yet, is not there. */
void census_add_pod(json_t *nodes, const json_t *pod);

/* What a pod asks for: the containers together, or the greediest of those that come before them; and its
 * overhead. */
json_t *census_pod_asks(const json_t *pod);

/* What the states of pods are called in the older interface. */
typedef enum { CENSUS_CREATING, CENSUS_RUNNING, CENSUS_TERMINATING, CENSUS_DELETED } CensusStatus;

/* sum += n × amounts, name by name. */
void census_add(json_t *sum, const json_t *amounts, gint64 n);
