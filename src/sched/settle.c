/* Queues behind whose blocked head nothing could start. While nothing has changed for such a queue, it costs a
 * pass one comparison instead of a look at everything that waits.
 *
 * A group of jobs did not start because of the queue's maxima or its own reservation: these change with the use
 * of its queues (queue_charges) and with the head's future slots. Or it did not start because of the nodes or the
 * guard: then the group is watched. A closed gang stays closed until it is opened; another one waits until
 * capacity becomes free where it fits. Time passing never enables a start: a job that would have ended too late
 * still would. */
#include "sched/backfill.h"

/* A group, and why it did not start. */
typedef struct {
        Group *group;
        const Gang *gang; /* the group's, which most looks end at */
        guint64 stir;     /* when it was not closed */
        bool closed;
} Watch;

void settled_clear(QueueSettled *settled)
{
        g_clear_pointer(&settled->watches, g_array_unref);
}

static const QueueNode *guard_now(const Scheduler *s, const QueueNode *queue)
{
        return cluster_find(s, queue->cluster)->guarding;
}

static guint64 guarded_now(Scheduler *s, const QueueNode *queue)
{
        QueueNode *guard = cluster_find(s, queue->cluster)->guarding;

        return guard ? reservation_get(s, guard)->version : 0;
}

/* ---- noting it ---- */

static bool somebody_could(const Group *group)
{
        for (guint i = 0; i < group->shapes->len; i++)
                if (group->shapes->pdata[i] != group->queue->backfill.head_shape &&
                    shape_limited(group->shapes->pdata[i]) == CAUSE_NONE)
                        return true;
        return false;
}

static Watch watch_of(Group *group)
{
        return (Watch){ group, group->gang, gang_stir(group->gang), group->gang->closed };
}

static void watch(QueueSettled *settled, Group *group)
{
        Watch entry = watch_of(group);

        settled->by_guard = settled->by_guard || !entry.closed;
        settled->by_reservation = settled->by_reservation || !entry.closed;
        g_array_append_val(settled->watches, entry);
}

static void settle_group(Scheduler *s, QueueNode *queue, Group *group)
{
        const Gang *gang = group->gang;
        const Guarded *was = &group->guarded[1];
        int kind;

        if (group_hopeless(s, group) != CAUSE_NONE ||
            queue_over_max(s, queue, &gang->need_total, gang->mask, NOW, &kind))
                return;
        if (gang->closed) {
                watch(&queue->settled, group);
        } else if ((memo_fresh(&queue->backfill.denied_memo, s->pass) &&
                    (gang->mask & queue->backfill.denied)) ||
                   (memo_fresh(&was->memo, s->pass) && was->alone && !memo_is_kept(&group->kept))) {
                queue->settled.by_reservation = true;
        } else if (somebody_could(group)) {
                watch(&queue->settled, group);
        }
}

void queue_settle(Scheduler *s, QueueNode *queue)
{
        QueueSettled *settled = &queue->settled;
        const Cluster *cluster = cluster_find(s, queue->cluster);

        memo_drop(&settled->head);
        if (cluster->keepers->len > 0)
                return; /* what is reserved for others depends on all queues */
        settled->by_reservation = settled->by_guard = false;
        if (!settled->watches)
                settled->watches = g_array_new(FALSE, FALSE, sizeof(Watch));
        g_array_set_size(settled->watches, 0);
        for (guint i = 0; i < queue->groups->len; i++)
                settle_group(s, queue, queue->groups->pdata[i]);
        if (settled->by_reservation && !reservation_is_simple(queue))
                return;
        memo_keep(&settled->head, (guint64)queue->backfill.head);
        memo_keep(&settled->listings, queue->listings);
        memo_keep(&settled->charges, queue_charges(queue));
        memo_keep(&settled->judged, queue_judged_key(s, queue));
        settled->guard = guard_now(s, queue);
        memo_keep(&settled->guarded, settled->by_guard ? guarded_now(s, queue) : 0);
        memo_keep(&settled->reserved, settled->by_reservation ? reservation_get(s, queue)->version : 0);
}

/* ---- trusting it ---- */

static bool is_unchanged(const Scheduler *s, const QueueNode *queue)
{
        const QueueSettled *settled = &queue->settled;
        const Cluster *cluster = cluster_find(s, queue->cluster);

        return memo_fresh(&settled->head, (guint64)queue->backfill.head) &&
               memo_fresh(&settled->listings, queue->listings) &&
               memo_fresh(&settled->judged, queue_judged_key(s, queue)) &&
               memo_fresh(&settled->charges, queue_charges(queue)) && cluster->keepers->len == 0;
}

static bool is_due_to_the_same_guard(Scheduler *s, const QueueNode *queue)
{
        const QueueSettled *settled = &queue->settled;

        return !settled->by_guard || (settled->guard == guard_now(s, queue) &&
                                      memo_fresh(&settled->guarded, guarded_now(s, queue)));
}

/* What it was due to is as it was; `guard`: that of the guard. */
static bool is_as_it_was(const Watch *entry, bool guard)
{
        if (entry->closed)
                return entry->gang->closed;
        return guard && !entry->gang->closed && entry->stir == gang_stir(entry->gang);
}

/* False: on one that is worked out too seldom to be relied on. */
static bool depend_on_reservation(Scheduler *s, QueueNode *queue)
{
        QueueSettled *settled = &queue->settled;

        if (!settled->by_reservation && reservation_is_simple(queue)) {
                settled->by_reservation = true;
                memo_keep(&settled->reserved, reservation_get(s, queue)->version);
        }
        return settled->by_reservation;
}

/* Few changes enable a start: one look for each gang answers for all queues. */
static bool is_still_watched(Scheduler *s, QueueNode *queue)
{
        QueueSettled *settled = &queue->settled;
        bool guard = is_due_to_the_same_guard(s, queue);
        guint n_open = 0;

        for (guint i = 0; i < settled->watches->len; i++) {
                Watch *entry = &g_array_index(settled->watches, Watch, i);

                if (!is_as_it_was(entry, guard)) {
                        if (!group_still_waits(s, entry->group))
                                return false;
                        *entry = watch_of(entry->group);
                }
                n_open += !entry->closed;
        }
        if (n_open > 0 && !depend_on_reservation(s, queue))
                return false;
        settled->by_guard = n_open > 0;
        settled->guard = guard_now(s, queue);
        memo_keep(&settled->guarded, settled->by_guard ? guarded_now(s, queue) : 0);
        return true;
}

bool queue_is_settled(Scheduler *s, QueueNode *queue)
{
        const QueueSettled *settled = &queue->settled;

        return is_unchanged(s, queue) &&
               (!settled->by_reservation ||
                memo_fresh(&settled->reserved, reservation_get(s, queue)->version)) &&
               is_still_watched(s, queue);
}
