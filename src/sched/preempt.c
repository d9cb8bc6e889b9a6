/* Preemption inside a queue: capacity is freed for its first blocked job, by jobs of the queue. First surplus tasks of
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

/* ---- what is known to fail ---- */

/* The lowest priority that runs in the queue and may be preempted. */
static int lowest_running(QueueNode *queue)
{
        if (memo_fresh(&queue->preempt.lowest_memo, MEMO_UNTIL_DROPPED))
                return queue->preempt.lowest;
        queue->preempt.lowest = G_MAXINT;
        memo_keep(&queue->preempt.lowest_memo, MEMO_UNTIL_DROPPED);
        for (guint i = 0; i < queue->running->len; i++) {
                const Job *job = queue->running->pdata[i];

                if (job->shape->preemptable)
                        queue->preempt.lowest = MIN(queue->preempt.lowest, job->shape->priority);
        }
        return queue->preempt.lowest;
}

/* Whole jobs may be taken, too. */
static bool may_evict(const Scheduler *s, QueueNode *queue, const Shape *nominee)
{
        int lowest = lowest_running(queue);

        return queue->preemption == PREEMPT_LOWER_PRIORITY &&
               (lowest < nominee->priority ||
                (mutant_is(s, MUTANT_PREEMPT_EQUAL) && lowest == nominee->priority));
}

static bool has_lower(const Scheduler *s, QueueNode *queue, const Shape *nominee)
{
        return (queue->n_flexible > 0 && lowest_running(queue) <= nominee->priority) ||
               may_evict(s, queue, nominee);
}

/* No capacity was found for the first job before, and since then no job of the queue started, ended or became a
 * possible victim.
 * Where a queue's max was in the way, what those queues use is what it was; else on no node on which the
 * queue has tasks more will be free, and on the others there are no more places. */
static bool will_fail_again(Scheduler *s, QueueNode *queue, const Shape *nominee)
{
        Gang *gang = shape_gang(nominee);
        guint64 changes;

        if (!memo_fresh(&queue->preempt.failed.memo, (guint64)shape_first(nominee)->key) ||
            s->now >= queue->preempt.failed.until || queue->preempt.failed.config != s->config_version ||
            queue->preempt.failed.lacking != lacking_later(s, nominee))
                return false;
        if (queue->preempt.failed.by_max)
                return queue->preempt.failed.charges == queue_charges(queue);
        changes = sim_changes(s, gang);
        if (changes != queue->preempt.failed.changes &&
            sim_slots_outside(s, gang, queue) > queue->preempt.failed.slots)
                return false;
        queue->preempt.failed.changes = changes;
        return true;
}

static bool is_over_max(const Scheduler *s, const Shape *nominee)
{
        const Gang *gang = shape_gang(nominee);
        int kind;

        return queue_over_max(s, shape_queue(nominee), &gang->need_total, gang->mask, LATER, &kind) != NULL;
}

/* Whether it was a matter of nodes alone; of more than one sum it is not known what would change it. */
static bool is_simple(const Scheduler *s, const Shape *nominee)
{
        const Gang *gang = shape_gang(nominee);
        int kind, roles = 0;

        for (int role = 0; role < gang->n_roles; role++)
                roles += gang->need[role] > 0;
        return roles == 1 && !gang->topology_required && !is_over_max(s, nominee) &&
               !queue_kept_from(s, shape_queue(nominee), &gang->need_total, gang->mask, LATER, &kind);
}

/* by_max: whoever goes, a queue's max would be in the way. */
static void note_failed(Scheduler *s, QueueNode *queue, const Shape *nominee, bool by_max)
{
        const Past *past = shape_first(nominee)->past;

        memo_drop(&queue->preempt.failed.memo);
        if (!(by_max || is_simple(s, nominee)) || (past && past->evictor > 0))
                return;
        memo_keep(&queue->preempt.failed.memo, (guint64)shape_first(nominee)->key);
        queue->preempt.failed.config = s->config_version;
        queue->preempt.failed.lacking = lacking_later(s, nominee);
        queue->preempt.failed.by_max = by_max;
        queue->preempt.failed.charges = queue_charges(queue);
        if (!by_max) {
                queue->preempt.failed.slots = sim_slots_outside(s, shape_gang(nominee), queue);
                queue->preempt.failed.changes = sim_changes(s, shape_gang(nominee));
        }
        queue->preempt.failed.until = G_MAXINT64;
        for (guint i = 0; i < queue->running->len; i++) {
                const Job *job = queue->running->pdata[i];

                if (job->run->start_pass == s->pass)
                        memo_drop(&queue->preempt.failed.memo); /* fair game from the next pass on */
                if (job_is_safe(s, job))
                        queue->preempt.failed.until = MIN(queue->preempt.failed.until, job->past->safe_until);
        }
}

/* ---- the phase ---- */

/* False: *ret_by_max says whether it is a queue's max that is in the way, whoever goes. */
static bool find_capacity(Pass *pass, QueueNode *queue, Shape *nominee, bool *ret_by_max)
{
        Scheduler *s = pass->s;
        guint32 lacking = lacking_later(s, nominee);
        g_autoptr(GArray) with_surplus = victims_with_surplus(s, queue);
        Marks marks;
        bool found = false;

        marks_init(&marks);
        if (!mutant_is(s, MUTANT_EVICT_BEFORE_SHRINK))
                found = take_surplus(s, &marks, with_surplus, nominee, lacking);
        if (!found && may_evict(s, queue, nominee))
                found = take_jobs(s, &marks, victims_of(s, queue), nominee, lacking);
        *ret_by_max = !found && is_over_max(s, nominee);
        if (found)
                found = marks_carry_out(s, pass, &marks, nominee, RULE_PREEMPT);
        else
                marks_undo(s, &marks);
        marks_clear(&marks);
        return found;
}

static bool free_capacity(Pass *pass, QueueNode *queue, Shape *nominee)
{
        Scheduler *s = pass->s;
        bool by_max;

        if (!has_lower(s, queue, nominee) || will_fail_again(s, queue, nominee))
                return false;
        if (nominee_fits(s, nominee))
                return false; /* when those have gone that are going already */
        if (find_capacity(pass, queue, nominee, &by_max))
                return true;
        note_failed(s, queue, nominee, by_max);
        return false;
}

/* Only if a job is blocked, and another might be shrunk or evicted for it. */
static bool next_blocked(Scheduler *s, QueueNode *queue, guint32 *ret_kinds)
{
        const Shape *top;

        if (!queue->backfill.head_shape ||
            (queue->n_flexible == 0 && (queue->preemption == PREEMPT_NEVER || queue->running->len == 0)))
                return false;
        top = queue_top(s, queue);
        if (top)
                *ret_kinds = shape_gang(top)->mask;
        return top != NULL;
}

void phase_preempt(Pass *pass, Cluster *cluster)
{
        Scheduler *s = pass->s;
        QueueNode *queue;

        active_fill(s, cluster, next_blocked);
        while ((queue = active_best(cluster)))
                if (free_capacity(pass, queue, queue_top(s, queue)))
                        active_moved(s, queue, next_blocked);
                else
                        active_remove(s, queue);
}
