/* What a PaddleJob's members are on a cluster: pods, the Service of each, the ConfigMap with their addresses,
 * the PodGroup of a gang. Pure; trees are the caller's. The formats are the older operator's
 * (doc/guide/operator.md). */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "operator/paddlejob.h"

/* How this operator was told to work. Strings are borrowed. */
typedef struct {
        bool compat;            /* --compat=v0.3.5: the older ways of ConfigMap, ports and Services */
        bool volcano;           /* --scheduling=volcano */
        const char *init_image; /* NULL or "": no init container */
        const json_t *init_requests, *init_limits; /* of the init container; NULL: none */
        const char *etcd_server;                   /* endpoints for elastic jobs; NULL or "": none */
} OperatorRules;

json_t *paddlejob_pod(const PaddleJob *job, const OperatorRules *rules, JobRole role, gint64 index);
json_t *paddlejob_service(const PaddleJob *job, JobRole role, gint64 index);
/* ERR_INVALID when a template's requests are no quantities. */
json_t *member_pod_group(const PaddleJob *job, GError **error);

/* The port in a job's ConfigMap; 0: there is none. Pods that were started with it keep it, so all keep it. */
gint64 member_port(const json_t *map);
/* The first of a job's ports on its hosts (Host mode): what its pods were started by, its ConfigMap or NULL,
 * else what its annotation says; 0: none yet. */
gint64 member_host_port(const PaddleJob *job, const json_t *map);

/* The ConfigMap's data. `ips`: of each role's pods in order of their indices; `old`: the present ConfigMap or
 * NULL, whose port stays. */
json_t *member_addresses(const PaddleJob *job, const OperatorRules *rules, GPtrArray *const ips[ROLES],
                         const json_t *old);
json_t *member_config_map(const PaddleJob *job, json_t *data); /* takes data */
/* A merge patch that makes `old` say `data`, or NULL; members that are not ours stay. */
json_t *member_addresses_patch(const json_t *old, const json_t *data);
