/* Jobs behind the blocked head of a queue start where they cannot delay its reservation, nor that of the guard: the
 * first head of the cluster that waits for capacity. doc/guide/scheduling.md 4. */
#include "sched/backfill.h"

/* ---- respecting it ---- */

static void hold_back(const GArray *holds, bool hold)
{
        for (guint i = 0; i < holds->len; i++) {
                const Hold *at = &g_array_index(holds, Hold, i);

                at->node->hold = hold ? &at->amount : NULL;
        }
}

/* What is planned leaves free what is held. */
static bool plan_spares(const GArray *holds)
{
        for (guint i = 0; i < holds->len; i++) {
                const Hold *at = &g_array_index(holds, Hold, i);

                for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                        if (at->node->free.amount[kind] < at->amount.amount[kind])
                                return false;
        }
        return true;
}

/* Something is planned on a node on which something is held. */
static bool touches(const Scheduler *s, const Plan *plan, const GArray *holds)
{
        for (guint i = 0; i < plan->placed->len; i++) {
                const Node *node = node_find(s, g_array_index(plan->placed, Placement, i).node);

                for (guint j = 0; j < holds->len; j++)
                        if (g_array_index(holds, Hold, j).node == node)
                                return true;
        }
        return false;
}

static bool ends_before(const Scheduler *s, const Shape *shape, const Reservation *r)
{
        return shape->time_limit > 0 && r->time != G_MAXINT64 && s->now + shape->time_limit <= r->time;
}

/* Whether the shape may pass the head, as far as it is not a matter of nodes. */
static bool may_pass(const Scheduler *s, const Shape *shape, const Reservation *r)
{
        if (ends_before(s, shape, r))
                return true;
        if (r->time == G_MAXINT64)
                return (shape_gang(shape)->mask & r->lacking) == 0;
        return reservation_leaves_max(s, r, shape);
}

static void add_holds(GArray *holds, const Reservation *r)
{
        for (guint i = 0; i < r->holds->len; i++) {
                const Hold *hold = &g_array_index(r->holds, Hold, i);

                holds_add(holds, hold->node, &hold->amount);
        }
}

/* What is planned leaves free what the reservations hold, perhaps after it was planned again. Either may be NULL.
 * Most plans are on other nodes. */
static bool plan_beside(Pass *pass, Gang *gang, const Reservation *own, const Reservation *guard)
{
        GArray *holds = pass->holds;
        Cause cause;
        bool fits;

        if (!(own && touches(pass->s, &pass->plan, own->holds)) &&
            !(guard && touches(pass->s, &pass->plan, guard->holds)))
                return true;
        g_array_set_size(holds, 0);
        if (own)
                add_holds(holds, own);
        if (guard)
                add_holds(holds, guard);
        if (plan_spares(holds))
                return true;
        plan_undo(pass->s, &pass->plan, gang);
        hold_back(holds, true);
        fits = plan_gang(pass->s, &pass->plan, gang, &cause);
        hold_back(holds, false);
        return fits;
}

/* The queue whose head guards its reservation against this group, which would go beyond its queue's min. */
static QueueNode *guard_of(const Scheduler *s, const Group *group)
{
        QueueNode *queue = group->queue, *guard = cluster_find(s, queue->cluster)->guarding;
        const Gang *gang = group->gang;

        if (!guard || guard == queue ||
            queue_is_within_min(queue, queue_common(queue, guard), &gang->need_total, gang->mask))
                return NULL;
        return guard;
}

static guint64 guard_version(Scheduler *s, const Shape *shape)
{
        QueueNode *guard = guard_of(s, shape->group);

        return guard ? reservation_get(s, guard)->version : 0;
}

/* What was noted in an earlier pass still holds: neither have the reservations changed, nor has capacity become
 * free where it would fit. */
static bool lasts(Scheduler *s, const Shape *shape, DecisionRule rule)
{
        const Guarded *was = &shape->group->guarded[rule == RULE_BACKFILL];

        return was->charges == queue_charges(shape_queue(shape)) &&
               (was->alone ||
                (was->stir == gang_stir(shape_gang(shape)) && was->guard == guard_version(s, shape))) &&
               was->own == (rule == RULE_BACKFILL ? reservation_get(s, shape_queue(shape))->version : 0);
}

/* Something is noted, and still holds. That is looked up once a pass. */
static bool still_delays(Scheduler *s, const Shape *shape, DecisionRule rule)
{
        Guarded *was = &shape->group->guarded[rule == RULE_BACKFILL];

        if (!memo_is_kept(&was->memo) || memo_fresh(&was->memo, s->pass))
                return memo_is_kept(&was->memo);
        if (lasts(s, shape, rule))
                memo_keep(&was->memo, s->pass);
        else
                memo_drop(&was->memo);
        return memo_is_kept(&was->memo);
}

/* A job of the group that does not take longer delayed a head. */
bool is_known_to_delay(Scheduler *s, const Shape *shape, DecisionRule rule)
{
        const Guarded *was = &shape->group->guarded[rule == RULE_BACKFILL];

        return memo_is_kept(&was->memo) && shape_span(shape) >= was->span && still_delays(s, shape, rule);
}

bool is_known_to_delay_at_all(Scheduler *s, const Group *group, DecisionRule rule)
{
        const Shape *any = group->shapes->pdata[0];
        return still_delays(s, any, rule);
}

static void note_delay(Scheduler *s, const Shape *shape, const Reservation *own, const Reservation *guard,
                       bool alone, DecisionRule rule)
{
        Group *group = shape->group;

        if (!group->noted)
                g_ptr_array_add(group->queue->backfill.noted, group);
        group->noted = true;
        group->guarded[rule == RULE_BACKFILL] = (Guarded){ .memo = memo_of(s->pass),
                                                           .span = shape_span(shape),
                                                           .alone = alone,
                                                           .charges = queue_charges(shape_queue(shape)),
                                                           .stir = gang_stir(shape_gang(shape)),
                                                           .own = own ? own->version : 0,
                                                           .guard = guard ? guard->version : 0 };
}

/* ---- what the guard keeps from all queues ---- */

bool is_kept_by_guard(Scheduler *s, const Group *group, gint64 *ret_span)
{
        const Gang *gang = group->gang;
        QueueNode *guard;

        if (!memo_is_kept(&gang->guarded.memo) || gang->guarded.stir != gang_stir(gang))
                return false;
        guard = guard_of(s, group);
        *ret_span = gang->guarded.span;
        return guard && memo_fresh(&gang->guarded.memo, reservation_get(s, guard)->version);
}

/* Of one kind of task: with less held it would fit if it did with more. The guard lets it pass but for what
 * it holds. */
static bool note_kept(Scheduler *s, Plan *plan, const Shape *shape, const Reservation *guard)
{
        Gang *gang = shape_gang(shape);
        Cause cause;
        bool fits;

        if (!gang_is_simple(gang) || ends_before(s, shape, guard))
                return false;
        hold_back(guard->holds, true);
        fits = plan_gang(s, plan, gang, &cause);
        hold_back(guard->holds, false);
        if (fits) {
                plan_undo(s, plan, gang);
                return false;
        }
        memo_keep(&gang->guarded.memo, guard->version);
        gang->guarded.stir = gang_stir(gang);
        gang->guarded.span = shape_span(shape);
        return true;
}

static bool keeps(Scheduler *s, Plan *plan, const Shape *shape)
{
        QueueNode *by = guard_of(s, shape->group);
        const Reservation *guard = by ? reservation_get(s, by) : NULL;

        return guard && guard->time != G_MAXINT64 && note_kept(s, plan, shape, guard);
}

bool finds_no_capacity(Scheduler *s, const Shape *shape)
{
        Gang *gang = shape_gang(shape);
        Plan plan;
        Cause cause;
        bool fits;

        plan_init(&plan);
        fits = plan_gang(s, &plan, gang, &cause);
        if (fits)
                plan_undo(s, &plan, gang);
        else
                gang_close(gang, cause);
        fits = fits && !keeps(s, &plan, shape);
        plan_clear(&plan);
        return !fits;
}

bool guards_let(Pass *pass, Shape *shape, DecisionRule rule)
{
        Scheduler *s = pass->s;
        QueueNode *queue = shape_queue(shape), *by = guard_of(s, shape->group);
        const Reservation *own = rule == RULE_BACKFILL ? reservation_get(s, queue) : NULL;
        const Reservation *guard = by ? reservation_get(s, by) : NULL;
        bool alone, kept;

        if (mutant_is(s, MUTANT_BACKFILL_DELAYS_HEAD) || (!own && !guard))
                return true;
        /* a guard whose time is not known guards in its own queue only */
        alone = own && !may_pass(s, shape, own);
        kept = !alone && guard && guard->time != G_MAXINT64;
        if (!alone && (!kept || may_pass(s, shape, guard)) &&
            plan_beside(pass, shape_gang(shape), own && !ends_before(s, shape, own) ? own : NULL,
                        kept && !ends_before(s, shape, guard) ? guard : NULL))
                return true;
        plan_undo(s, &pass->plan, shape_gang(shape));
        if (kept)
                (void)note_kept(s, &pass->plan, shape, guard);
        note_delay(s, shape, own, guard, alone, rule);
        return false;
}

/* ---- the phase ---- */

static bool next_behind(Scheduler *s, QueueNode *queue, guint32 *ret_kinds)
{
        const Shape *shape;

        if (!queue->backfill.head_shape || !queue->has_backfill || queue_is_settled(s, queue))
                return false;
        shape = queue_behind(s, queue);
        if (shape)
                *ret_kinds = shape_gang(shape)->mask;
        else
                queue_settle(s, queue);
        return shape != NULL;
}

/* While others were served it may have become plain that nothing more starts in the queue. */
void phase_backfill(Pass *pass, Cluster *cluster)
{
        Scheduler *s = pass->s;
        QueueNode *queue;

        active_fill(s, cluster, next_behind);
        while ((queue = active_best(cluster))) {
                Shape *shape = queue_is_settled(s, queue) ? NULL : queue_behind(s, queue);

                if (shape)
                        (void)start_first(pass, shape, RULE_BACKFILL);
                active_moved(s, queue, next_behind);
        }
}
