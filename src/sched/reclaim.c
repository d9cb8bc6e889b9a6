/* Reclaim: a queue that is within its min with the job it wants to start gets back what others borrowed.
 * doc/guide/scheduling.md 3. Victims are surplus tasks first, also of queues that are not reclaimable, then whole
 * jobs; from the queue that borrowed most, and never so much that it, or a queue above it that is not above
 * the reclaimer, falls below what it is owed. */
#include "sched/victim.h"

enum { EXCHANGES_MAX = 256 }; /* jobs that are given back in exchange for others, of one claim */

typedef struct {
        Scheduler *s;
        Cluster *cluster;
        Shape *nominee;
        Job *job;
        guint32 lacking;
        Marks marks;
        int exchanges; /* so far */
} Claim;

/* ---- who owes ---- */

static gint64 borrowed(const QueueNode *queue, guint32 kind)
{
        return queue->alloc.amount[kind] - queue->releasing.amount[kind] - queue->min.amount[kind];
}

/* The largest part of the cluster that it borrowed, of the kinds that are lacking. */
static void borrowed_share(const Claim *claim, const QueueNode *queue, gint64 *num, gint64 *den)
{
        *num = 0;
        *den = 1;
        FOR_KINDS(kind, claim->lacking) {
                gint64 more = borrowed(queue, kind), total = claim->cluster->total.amount[kind];

                if (more > 0 && total > 0 &&
                    (Wide)(guint64)more * (guint64)*den > (Wide)(guint64)*num * (guint64)total) {
                        *num = more;
                        *den = total;
                }
        }
}

/* The reclaimer is owed on a level that the other has no part in. */
static bool is_owed_by(const Claim *claim, QueueNode *other)
{
        QueueNode *own = shape_queue(claim->nominee);
        const Gang *gang = shape_gang(claim->nominee);

        return other != own &&
               queue_is_within_min(own, queue_common(own, other), &gang->need_total, claim->lacking);
}

/* What `queue` keeps in any case. */
static gint64 floor_of(const QueueNode *queue, int kind)
{
        gint64 demand = (gint64)((guint64)queue->alloc.amount[kind] + (guint64)queue->pending.amount[kind]);

        return demand < queue->alloc.amount[kind] ? queue->min.amount[kind]
                                                  : MIN(queue->min.amount[kind], demand);
}

static bool may_give(const Claim *claim, const QueueNode *queue, const Resources *amount)
{
        const QueueNode *common = queue_common(shape_queue(claim->nominee), (QueueNode *)queue);

        if (mutant_is(claim->s, MUTANT_RECLAIM_BELOW_MIN))
                return true;
        for (; queue && queue != common; queue = queue->parent)
                FOR_KINDS(kind, amounts_mask(amount))
                        if (queue->alloc.amount[kind] - queue->releasing.amount[kind] - amount->amount[kind] <
                            floor_of(queue, (int)kind))
                                return false;
        return true;
}

/* ---- taking ---- */

/* Takes one surplus task of the queue, or nothing. */
static bool take_surplus(Claim *claim, QueueNode *queue)
{
        const GArray *victims = victims_of(claim->s, queue);

        for (guint i = queue->n_flexible > 0 ? queue->victim.next : victims->len; i < victims->len; i++) {
                Job *job = g_array_index(victims, Victim, i).job;
                const Gang *gang = job_gang(job);
                int task = -1;

                if (victim_may_go(claim->s, job, claim->job))
                        task = surplus_task(&claim->marks, job, claim->lacking);
                if (task >= 0 && may_give(claim, queue, &gang->roles[gang_role_of(gang, task)].each)) {
                        marks_add_task(claim->s, &claim->marks, job, task);
                        return true;
                }
                queue->victim.next = i + 1;
        }
        return false;
}

static Resources still_held(const Job *job)
{
        const Gang *gang = job_gang(job);
        Resources sum = { 0 };

        for (int role = 0, task = 0; role < gang->n_roles; role++)
                for (int i = 0; i < gang->roles[role].replicas; i++, task++)
                        if (job->run->tasks[task].node >= 0)
                                amounts_add(&sum, &gang->roles[role].each);
        return sum;
}

/* Takes one job of the queue, or nothing. What was marked of its surplus is part of it. */
static bool take_job(Claim *claim, QueueNode *queue)
{
        const GArray *victims = victims_of(claim->s, queue);

        for (guint i = queue->reclaimable ? queue->victim.next : victims->len; i < victims->len; i++) {
                Job *job = g_array_index(victims, Victim, i).job;
                Resources held = still_held(job);

                queue->victim.next = i + 1;
                if (job->run->marked || !victim_may_go(claim->s, job, claim->job) ||
                    !victim_helps(job, claim->lacking))
                        continue;
                marks_forget(claim->s, &claim->marks, job);
                if (may_give(claim, queue, &held)) {
                        marks_add_job(claim->s, &claim->marks, job);
                        return true;
                }
        }
        return false;
}

/* What `job` holds is more of what is lacking than `given`. */
static bool gains(const Claim *claim, const Resources *held, const Resources *given)
{
        bool more = false;

        FOR_KINDS(kind, claim->lacking) {
                if (held->amount[kind] < given->amount[kind])
                        return false;
                more = more || held->amount[kind] > given->amount[kind];
        }
        return more;
}

static void set_marked(Claim *claim, Job *job, bool marked)
{
        job_releasing(claim->s, job, marked ? 1 : -1);
        job->run->marked = marked;
}

/* Gives the queue marked jobs back, the last first, until it may give `job` instead. False, with all as it
 * was: that is no gain. */
static bool exchange(Claim *claim, QueueNode *queue, Job *job)
{
        GArray *marks = claim->marks.marks;
        Resources held = still_held(job), given = { 0 };
        guint first = marks->len;

        while (first > 0 && !may_give(claim, queue, &held) && claim->exchanges < EXCHANGES_MAX) {
                const Mark *mark = &g_array_index(marks, Mark, --first);

                if (mark->task < 0 && shape_queue(mark->job->shape) == queue) {
                        Resources back = still_held(mark->job);

                        set_marked(claim, mark->job, false);
                        amounts_add(&given, &back);
                        claim->exchanges++;
                }
        }
        if (may_give(claim, queue, &held) && gains(claim, &held, &given)) {
                for (guint i = marks->len; i > first; i--)
                        if (g_array_index(marks, Mark, i - 1).task < 0 &&
                            !g_array_index(marks, Mark, i - 1).job->run->marked)
                                (void)g_array_remove_index(marks, i - 1);
                marks_add_job(claim->s, &claim->marks, job);
                return true;
        }
        for (guint i = first; i < marks->len; i++)
                if (g_array_index(marks, Mark, i).task < 0 && !g_array_index(marks, Mark, i).job->run->marked)
                        set_marked(claim, g_array_index(marks, Mark, i).job, true);
        return false;
}

/* When those that lose least stand in the way of one that suffices: takes that one instead of them, or
 * nothing. What is marked grows with each. */
static bool take_instead(Claim *claim, QueueNode *queue)
{
        const GArray *victims = victims_of(claim->s, queue);

        for (guint i = queue->reclaimable ? 0 : victims->len; i < victims->len; i++) {
                Job *job = g_array_index(victims, Victim, i).job;

                if (claim->exchanges >= EXCHANGES_MAX)
                        return false;
                if (!job->run->marked && victim_may_go(claim->s, job, claim->job) &&
                    victim_helps(job, claim->lacking) && exchange(claim, queue, job))
                        return true;
        }
        return false;
}

/* The queue that borrowed most of those that may still give; NULL: none. */
static QueueNode *most_borrowed(Claim *claim)
{
        QueueNode *most = NULL;
        gint64 most_num = 0, most_den = 1;

        for (guint i = 0; i < claim->s->queues->len; i++) {
                QueueNode *queue = claim->s->queues->pdata[i];
                gint64 num, den;

                if (!queue || queue->cluster != claim->cluster->id || queue->running->len == 0 ||
                    queue->victim.spent)
                        continue;
                borrowed_share(claim, queue, &num, &den);
                if (num == 0 || !is_owed_by(claim, queue)) {
                        queue->victim.spent = true;
                } else if ((Wide)(guint64)num * (guint64)most_den > (Wide)(guint64)most_num * (guint64)den) {
                        most = queue;
                        most_num = num;
                        most_den = den;
                }
        }
        return most;
}

static bool take(Claim *claim, bool (*take_one)(Claim *claim, QueueNode *queue))
{
        QueueNode *queue;

        for (guint i = 0; i < claim->s->queues->len; i++)
                if ((queue = claim->s->queues->pdata[i])) {
                        queue->victim.spent = false;
                        queue->victim.next = 0;
                }
        while ((queue = most_borrowed(claim)))
                if (!take_one(claim, queue))
                        queue->victim.spent = true;
                else if (nominee_fits(claim->s, claim->nominee))
                        return true;
        return false;
}

/* ---- the phase ---- */

/* Others hold what it is owed. */
static bool is_lent(const Claim *claim)
{
        for (guint i = 0; i < claim->s->queues->len; i++) {
                QueueNode *queue = claim->s->queues->pdata[i];
                gint64 num, den;

                if (!queue || queue->cluster != claim->cluster->id || queue->running->len == 0)
                        continue;
                borrowed_share(claim, queue, &num, &den);
                if (num > 0 && is_owed_by(claim, queue))
                        return true;
        }
        return false;
}

static bool reclaim(Pass *pass, Claim *claim)
{
        bool found = false;

        if (!is_lent(claim))
                return false;
        if (nominee_fits(claim->s, claim->nominee))
                return false;
        marks_init(&claim->marks);
        if (!mutant_is(claim->s, MUTANT_EVICT_BEFORE_SHRINK))
                found = take(claim, take_surplus);
        found = found || take(claim, take_job) || take(claim, take_instead);
        if (found)
                found = marks_carry_out(claim->s, pass, &claim->marks, claim->nominee, RULE_RECLAIM);
        else
                marks_undo(claim->s, &claim->marks);
        marks_clear(&claim->marks);
        if (!found)
                claim->nominee->cause = claim->nominee->group->cause = CAUSE_LENT;
        return found;
}

static bool claim_next(Pass *pass, Cluster *cluster, QueueNode *queue)
{
        Claim claim = { .s = pass->s, .cluster = cluster, .nominee = queue_top(pass->s, queue) };
        const Gang *gang = shape_gang(claim.nominee);

        claim.job = shape_first(claim.nominee);
        claim.lacking = lacking_later(claim.s, claim.nominee);
        return queue_is_within_min(queue, NULL, &gang->need_total, claim.lacking) && reclaim(pass, &claim);
}

static bool next_blocked(Scheduler *s, QueueNode *queue, guint32 *ret_kinds)
{
        const Shape *top = queue->backfill.head_shape ? queue_top(s, queue) : NULL;

        if (top)
                *ret_kinds = shape_gang(top)->mask;
        return top != NULL;
}

void phase_reclaim(Pass *pass, Cluster *cluster)
{
        Scheduler *s = pass->s;
        QueueNode *queue;

        active_fill(s, cluster, next_blocked);
        while ((queue = active_best(cluster)))
                if (claim_next(pass, cluster, queue))
                        active_moved(s, queue, next_blocked);
                else
                        active_remove(s, queue);
}
