/* Preemption inside a queue: its first blocked job gets room from jobs of the queue. First surplus tasks of
 * elastic jobs whose priority is not higher: a minimum comes before any surplus, whatever the queue says
 * about preemption. Then, where the queue allows it, whole jobs of strictly lower priority. */
#include "sched/victim.h"

static bool ranks_below(const Scheduler *s, const Job *job, const Shape *nominee)
{
        if (mutant_is(s, MUTANT_PREEMPT_EQUAL))
                return job->shape->priority <= nominee->priority;
        return job->shape->priority < nominee->priority;
}

static bool take_surplus(Scheduler *s, Marks *marks, const GArray *victims, Shape *nominee, guint32 lacking)
{
        const Job *job = shape_first(nominee);

        for (guint i = 0; i < victims->len; i++) {
                Job *victim = g_array_index(victims, Victim, i).job;
                int task;

                if (victim->shape->priority > nominee->priority || !victim_may_go(s, victim, job))
                        continue;
                while ((task = surplus_task(marks, victim, lacking)) >= 0) {
                        marks_add_task(s, marks, victim, task);
                        if (nominee_fits(s, nominee))
                                return true;
                }
        }
        return false;
}

static bool take_jobs(Scheduler *s, Marks *marks, const GArray *victims, Shape *nominee, guint32 lacking)
{
        const Job *job = shape_first(nominee);

        for (guint i = 0; i < victims->len; i++) {
                Job *victim = g_array_index(victims, Victim, i).job;

                if (!ranks_below(s, victim, nominee) || !victim_may_go(s, victim, job) ||
                    !victim_helps(victim, lacking))
                        continue;
                marks_add_job(s, marks, victim);
                if (nominee_fits(s, nominee))
                        return true;
        }
        return false;
}

static bool make_room(Pass *pass, Lane *queue, Shape *nominee)
{
        Scheduler *s = pass->s;
        guint32 lacking = lacking_later(s, nominee);
        const GArray *victims = victims_of(s, queue);
        Marks marks;
        bool found = false;

        if (victims->len == 0)
                return false;
        sim_begin(s, shape_ask(nominee));
        if (nominee_fits(s, nominee))
                return false; /* when those have gone that are going already */
        marks_init(&marks);
        if (!mutant_is(s, MUTANT_EVICT_BEFORE_SHRINK))
                found = take_surplus(s, &marks, victims, nominee, lacking);
        if (!found && queue->preemption == PREEMPT_LOWER_PRIORITY)
                found = take_jobs(s, &marks, victims, nominee, lacking);
        if (found)
                found = marks_carry_out(s, pass, &marks, nominee, RULE_PREEMPT);
        else
                marks_undo(s, &marks);
        marks_clear(&marks);
        return found;
}

/* Only where somebody is blocked, and somebody might make room. */
static bool next_blocked(Scheduler *s, Lane *queue, guint32 *ret_kinds)
{
        const Shape *top;

        if (!queue->head_shape ||
            (queue->n_flexible == 0 && (queue->preemption == PREEMPT_NEVER || queue->running->len == 0)))
                return false;
        top = lane_top(s, queue);
        if (top)
                *ret_kinds = shape_ask(top)->mask;
        return top != NULL;
}

void phase_preempt(Pass *pass, Cluster *cluster)
{
        Scheduler *s = pass->s;
        Lane *queue;

        active_fill(s, cluster, next_blocked);
        while ((queue = active_best(cluster)))
                if (make_room(pass, queue, lane_top(s, queue)))
                        active_moved(s, queue, next_blocked);
                else
                        active_remove(s, queue);
}
