/* Freeing capacity for a job, first in a simulation; private to sched/. See victim.c. */
#pragma once

#include "sched/pass.h"

/* ---- sim.c ---- */
Sim *sim_get(Scheduler *s, Gang *gang);                     /* up to date; borrowed */
bool sim_fits(Scheduler *s, Gang *gang);                    /* the gang, after all releases */
bool sim_place(Scheduler *s, Gang *gang, SchedTask *tasks); /* the places, by replica */
guint64 sim_changes(Scheduler *s, Gang *gang);              /* changes when places were added or removed */
/* Places for its tasks on nodes where the queue has no tasks of its own. */
gint64 sim_slots_outside(Scheduler *s, Gang *gang, const QueueNode *queue);

/* ---- victim.c ---- */

/* A running job that may be evicted, as far as its own properties allow. */
typedef struct {
        Job *job;
        gint64 lost;
} Victim;

const GArray *victims_of(Scheduler *s, QueueNode *queue); /* Victim; the order in which they are chosen */
GArray *victims_with_surplus(Scheduler *s,
                             const QueueNode *queue); /* the same, only jobs that may have surplus
                                                                  tasks */
bool victim_may_go(const Scheduler *s, const Job *job, const Job *nominee);
bool victim_helps(const Job *job, guint32 lacking);

typedef struct {
        Job *job;
        int task; /* -1: all of them */
} Mark;

typedef struct {
        GArray *marks; /* Mark, in the order in which they were chosen */
} Marks;

void marks_init(Marks *marks);
void marks_clear(Marks *marks);
void marks_add_job(Scheduler *s, Marks *marks, Job *job);
void marks_add_task(Scheduler *s, Marks *marks, Job *job, int task);
void marks_forget(Scheduler *s, Marks *marks, Job *job); /* removes the marks of its tasks */
void marks_undo(Scheduler *s, Marks *marks);
/* The last task beyond the job's minimum that uses one of the kinds and is not marked; -1: none. */
int surplus_task(const Marks *marks, const Job *job, guint32 lacking);

guint32 lacking_later(const Scheduler *s, const Shape *nominee); /* kinds; all that it requests if capacity is
                                                                    fragmented */
bool nominee_fits(Scheduler *s, const Shape *nominee);           /* on the nodes and in its queues, after all
                                                                    releases */
/* Unmarks victims that are not needed, decides the fate of the others and nominates the first job of the
 * shape. False, with no marks left: the capacity does not suffice after all. */
bool marks_carry_out(Scheduler *s, Pass *pass, Marks *marks, Shape *nominee, DecisionRule rule);
