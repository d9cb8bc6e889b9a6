/* Making room for a job, in a simulation first; private to sched/. See victim.c. */
#pragma once

#include "sched/pass.h"

/* ---- sim.c ---- */
Sim *sim_get(Scheduler *s, Ask *ask);                     /* up to date; borrowed */
bool sim_fits(Scheduler *s, Ask *ask);                    /* the gang, later */
bool sim_place(Scheduler *s, Ask *ask, SchedTask *tasks); /* where, by replica */
guint64 sim_changes(Scheduler *s, Ask *ask);              /* another number when places came or went */
/* Places for its tasks on nodes where the queue has none of its own. */
gint64 sim_slots_outside(Scheduler *s, Ask *ask, const Lane *queue);

/* ---- victim.c ---- */

/* A running job that may be made to go, as far as it is up to itself. */
typedef struct {
        Job *job;
        gint64 lost;
} Victim;

const GArray *victims_of(Scheduler *s, Lane *queue); /* Victim; those that are taken first come first */
GArray *victims_with_surplus(Scheduler *s, const Lane *queue); /* the same, only those that may have some */
bool victim_may_go(const Scheduler *s, const Job *job, const Job *nominee);
bool victim_helps(const Job *job, guint32 lacking);

typedef struct {
        Job *job;
        int task; /* -1: all of it */
} Mark;

typedef struct {
        GArray *marks; /* Mark, in the order in which they were chosen */
} Marks;

void marks_init(Marks *marks);
void marks_clear(Marks *marks);
void marks_add_job(Scheduler *s, Marks *marks, Job *job);
void marks_add_task(Scheduler *s, Marks *marks, Job *job, int task);
void marks_forget(Scheduler *s, Marks *marks, Job *job); /* its marked tasks */
void marks_undo(Scheduler *s, Marks *marks);
/* The last task beyond the job's minimum that holds one of the kinds and is not marked; -1: none. */
int surplus_task(const Marks *marks, const Job *job, guint32 lacking);

guint32 lacking_later(const Scheduler *s, const Shape *nominee); /* kinds; all it asks for when fragmented */
bool nominee_fits(Scheduler *s, const Shape *nominee);           /* in the room and in its queues, later */
/* Spares whom it can, decides the others' fate and nominates the first job of the shape. False, with nothing
 * marked any more: there is no room for it after all. */
bool marks_carry_out(Scheduler *s, Pass *pass, Marks *marks, Shape *nominee, DecisionRule rule);
