/* The actions for a TrainingJob: a pure function of the job and its observed objects, in the terms of
 * reconcile.h. With equal input the answer is equal, and once everything is as it should be there is no
 * action. */
#pragma once

#include "operator/reconcile.h"
#include "operator/training.h"

/* Borrowed. */
typedef struct {
        const json_t *job;
        const json_t
                *member[TRAINING_ROLES]; /* ReplicaSet or Job of that name, whoever owns it; NULL: none */
        const GPtrArray *pods;           /* those with the job's labels, of any owner */
        const char *refusal; /* the API server's, of a member that it will never take; NULL: none */
} TrainingObserved;

/* The plan's `phase` is not set. */
Plan *training_reconcile(const TrainingObserved *observed);
