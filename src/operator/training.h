/* A TrainingJob (paddlepaddle.org/v1) as its controller reads it. Plain data that borrows from the object.
 * Members that are absent, 0 or of a wrong type have their default, as users of the older controller know it.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

enum {
        TRAINING_INSTANCES_MAX = 10000, /* of one role */
        TRAINING_PORTS_MAX = 1000,
};

/* In the order in which they are made. */
typedef enum { TRAINING_MASTER, TRAINING_PSERVER, TRAINING_TRAINER, TRAINING_ROLES } TrainingRole;

typedef enum {
        TRAINING_NEW,
        TRAINING_CREATING,
        TRAINING_RUNNING,
        TRAINING_SUCCEEDED,
        TRAINING_FAILED,
        TRAINING_PHASES,
} TrainingPhase;

typedef struct {
        gint64 min, max;         /* instances; without a max, it is the min */
        const json_t *resources; /* or NULL */
} TrainingRoleSpec;

typedef struct {
        const json_t *object;
        const char *name, *namespace, *uid;
        bool deleting;
        const char *image, *pull_policy; /* of all containers; NULL: each role's own */
        const char *entrypoint, *workspace, *etcd_endpoint;
        bool host_network, fault_tolerant;
        gint64 port, ports, ports_sparse, passes;
        const json_t *volumes, *mounts, *pull_secrets; /* lists, or NULL */
        TrainingRoleSpec role[TRAINING_ROLES];         /* the master's min is 0 or 1 */
        TrainingPhase phase;                           /* recorded in the status */
} TrainingJob;

/* Never fails. `ret` borrows from `object`. */
void training_job_read(const json_t *object, TrainingJob *ret);

/* Why this job cannot be, as a sentence for its owner; NULL when it can. The caller's. */
char *training_job_problem(const TrainingJob *job);

bool training_is_elastic(const TrainingJob *job); /* its trainers have a least and a greatest number */
gint64 training_gpus(const TrainingJob *job);     /* of one trainer, by its limits */
gint64 training_threads(const TrainingJob *job);  /* of one trainer: its GPUs, else its whole CPUs */

const char *training_role_name(TrainingRole role); /* "pserver" */
const char *training_phase_name(TrainingPhase phase);
static inline bool training_phase_is_final(TrainingPhase phase)
{
        return phase == TRAINING_SUCCEEDED || phase == TRAINING_FAILED;
}
