/* A cluster small enough to think about, with one TrainingJob "j" in namespace "n": drives
 * training_reconcile() and asserts, at every action, that it may be done. */
#pragma once

#include "operator/training_reconcile.h"

typedef struct {
        json_t *state; /* {"job", "master", "pserver", "trainer", "pods": [pod]} */
        char *refusal;
        bool refuses; /* the server refuses the member that is made next, for good */
        bool ended;   /* the phase that was recorded when the pass began is final */
        bool steady;  /* versions and uids do not count up, so that equal worlds look equal */
        guint counter;
        guint writes; /* in the last training_settle */
        PlanEnd end;
        char *warning;
        GString *log; /* "create ReplicaSet j-master, ..." since the last training_settle */
} TrainingWorld;

TrainingWorld *training_world_new(const char *spec);
TrainingWorld *training_world_copy(const TrainingWorld *world);
void training_world_free(TrainingWorld *world);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TrainingWorld, training_world_free)

void training_settle(TrainingWorld *world); /* until nothing is left to do */
json_t *training_find(const TrainingWorld *world, const char *role);
const char *training_phase(const TrainingWorld *world);
/* status.active, .succeeded and .failed of the Job. */
void training_count(TrainingWorld *world, int active, int succeeded, int failed);
void training_ready(TrainingWorld *world, const char *role, int count);
