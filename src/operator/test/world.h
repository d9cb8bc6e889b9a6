/* A cluster small enough to think about: one PaddleJob and its objects in a tree, an API server that refuses
 * what the real one refuses, pods that do as they are told. Drives reconcile() and asserts, at every action,
 * that it may be done.
 */
#pragma once

#include "operator/reconcile.h"

typedef struct {
        json_t *state; /* {"job", "pods": {name: pod}, "services": {}, "map", "group", "np"} */
        OperatorRules rules;
        gint64 host_port;
        gint64 now_ms;
        bool steady; /* versions and uids do not count up, so that equal worlds look equal */
        guint counter;
        guint writes, warnings; /* so far; events are no writes */
        char *warning;          /* the last one */
        PlanEnd end;            /* of the last pass */
        gint64 again_ms;        /* the same */
        GString *log;           /* "create Pod j-ps-0; ..." since the last world_settle */
} World;

World *world_new(const char *spec); /* of job "j" in namespace "n" */
World *world_copy(const World *world);
void world_free(World *world);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(World, world_free)

guint world_pass(World *world);  /* writes done */
void world_settle(World *world); /* until nothing is left to do */

/* States of a pod: pending coord running unready succeeded failed unknown. All but pending have the
 * address 10.0.R.I. */
void world_set_pod(World *world, const char *name, const char *state);
void world_delete_pod(World *world, const char *name); /* it is gone at once */

/* A story: commands separated by ';'.
 *   go                      settle
 *   pod NAME STATE          NAME without the job's: worker-0
 *   all STATE
 *   gone NAME | going NAME  deleted; being deleted
 *   spec JSON               merge patch of the job
 *   foreign KIND NAME       an object of somebody else: Pod, Service, ConfigMap, PodGroup
 *   group PHASE             of the PodGroup
 *   np VALUE                the key in etcd
 *   rules WORD              volcano, compat, bare (no init container), etcd
 *   port N                  reserved host port
 *   later                   a minute passes
 *   PATH=VALUE              must hold after that. PATH begins with job, pod:NAME, service:NAME, map, group,
 * or is one of pods, services (names), writes (since the last go), warnings, warning, end, np, log. VALUE is
 * text or JSON; '-' when absent; ~TEXT: contains TEXT.
 */
void world_tell(World *world, const char *story);
