/* Figures for readers: of queues, by what the scheduler keeps up to date anyway. O(queues). */
#include "sched/pass.h"

SchedulerFigures *scheduler_figures_ref(SchedulerFigures *figures)
{
        g_atomic_ref_count_inc(&figures->refs);
        return figures;
}

void scheduler_figures_unref(SchedulerFigures *figures)
{
        if (figures && g_atomic_ref_count_dec(&figures->refs))
                g_free(figures);
}

/* The largest number stands in for sums that may have wrapped around. */
static gint64 sum_or_most(gint64 a, gint64 b)
{
        gint64 sum;

        return b < 0 || __builtin_add_overflow(a, b, &sum) ? G_MAXINT64 : sum;
}

static gint64 share_ppm(const Scheduler *s, const QueueNode *queue)
{
        const Cluster *cluster = cluster_find(s, queue->cluster);
        gint64 share = 0;

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++) {
                gint64 of = queue->min_mask ? queue->min.amount[kind] : cluster->total.amount[kind];
                Wide part = (Wide)(guint64)MAX(0, queue->alloc.amount[kind]) * 1000000;

                if (of > 0)
                        share = MAX(share, (gint64)MIN(part / (guint64)of, (Wide)G_MAXINT64));
        }
        return share;
}

/* Of its min and in nobody's use of its own; what is reserved cannot be lent. */
static gint64 unused(const QueueNode *queue, int kind)
{
        return MAX(0, queue->min.amount[kind] - MAX(queue->alloc.amount[kind], queue->reserved.amount[kind]));
}

/* The part of what leaves do not use that is not free either, divided among them in proportion. */
static void fill_lent(const Scheduler *s, const Cluster *cluster, SchedulerFigures *figures)
{
        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++) {
                gint64 sum = 0, lent;

                for (guint i = 0; i < s->queues->len; i++) {
                        const QueueNode *queue = s->queues->pdata[i];

                        if (queue && queue->cluster == cluster->id && queue->n_children == 0)
                                sum = sum_or_most(sum, unused(queue, kind));
                }
                lent = MAX(0, sum - MAX(0, cluster->free.amount[kind]));
                for (guint i = 0; sum > 0 && i < s->queues->len; i++) {
                        const QueueNode *queue = s->queues->pdata[i];

                        if (!queue || queue->cluster != cluster->id || queue->n_children > 0)
                                continue;
                        gint64 part =
                                (gint64)((Wide)(guint64)unused(queue, kind) * (guint64)lent / (guint64)sum);

                        for (; queue; queue = queue->parent)
                                figures->queues[queue->id].lent.amount[kind] += part;
                }
        }
}

static void fill_queue(const Scheduler *s, const QueueNode *queue, QueueFigures *ret)
{
        ret->id = queue->id;
        ret->used = queue->alloc;
        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++) {
                ret->demand.amount[kind] =
                        sum_or_most(queue->alloc.amount[kind], queue->pending.amount[kind]);
                ret->borrowed.amount[kind] = MAX(0, queue->alloc.amount[kind] - queue->min.amount[kind]);
        }
        ret->pending = queue->n_pending;
        ret->running = queue->n_running;
        memcpy(ret->heads, queue->first.heads, sizeof ret->heads);
        ret->head_start = queue->backfill.head_start;
        ret->share_ppm = share_ppm(s, queue);
}

SchedulerFigures *scheduler_figures(const Scheduler *s, gint64 now)
{
        SchedulerFigures *ret = g_malloc0(sizeof *ret + sizeof ret->queues[0] * s->queues->len);

        g_atomic_ref_count_init(&ret->refs);
        ret->now = now;
        ret->n_queues = (int)s->queues->len;
        for (guint i = 0; i < s->queues->len; i++)
                if (s->queues->pdata[i])
                        fill_queue(s, s->queues->pdata[i], &ret->queues[i]);
                else
                        ret->queues[i].id = -1;
        for (guint i = 0; i < s->clusters->len; i++) {
                const Cluster *cluster = s->clusters->pdata[i];

                amounts_add(&ret->total, &cluster->total);
                amounts_add(&ret->free, &cluster->free);
                fill_lent(s, cluster, ret);
        }
        return ret;
}

/* ---- the first that wait ---- */

static bool comes_before(Scheduler *s, const Job *a, const Job *b)
{
        int order = shape_rank(s, job_queue(a)->order, a->shape, b->shape);

        return order != 0 ? order < 0 : job_compare_age(a, b, NULL) < 0;
}

/* Keeps `job` if it is among the first, and says so. */
static bool keep_first(Scheduler *s, QueueNode *queue, const Job *job)
{
        int at = SCHED_FIGURE_HEADS;

        for (; at > 0 && (!queue->first.first[at - 1] || comes_before(s, job, queue->first.first[at - 1]));
             at--)
                if (at < SCHED_FIGURE_HEADS)
                        queue->first.first[at] = queue->first.first[at - 1];
        if (at < SCHED_FIGURE_HEADS)
                queue->first.first[at] = job;
        return at < SCHED_FIGURE_HEADS;
}

/* The order of users is another one from pass to pass. */
void queue_has_more(Scheduler *s, QueueNode *queue, const Job *job)
{
        memo_drop(&queue->first.heads_memo);
        if (queue->order == QUEUE_ORDER_FAIR)
                memo_drop(&queue->first.first_memo);
        if (memo_fresh(&queue->first.first_memo, MEMO_UNTIL_DROPPED))
                (void)keep_first(s, queue, job);
}

void queue_has_less(QueueNode *queue, const Job *job)
{
        memo_drop(&queue->first.heads_memo);
        if (queue->order == QUEUE_ORDER_FAIR)
                memo_drop(&queue->first.first_memo);
        for (int i = 0; i < SCHED_FIGURE_HEADS; i++)
                if (queue->first.first[i] == job)
                        memo_drop(&queue->first.first_memo);
}

static const Job *job_behind(const Job *job)
{
        GSequenceIter *iter = g_sequence_iter_next(job->iter);

        return g_sequence_iter_is_end(iter) ? NULL : g_sequence_get(iter);
}

/* All jobs of the shape come after `job`. */
static bool comes_after(Scheduler *s, const Shape *shape, const Job *job)
{
        int order = shape_rank(s, shape_queue(shape)->order, shape, job->shape);

        if (order == 0)
                order = (shape->first_submitted > job->submitted) - (shape->first_submitted < job->submitted);
        return order > 0 || (order == 0 && shape->first_key > job->key);
}

static void keep_first_of(Scheduler *s, QueueNode *queue, const Shape *shape)
{
        const Job *last = queue->first.first[SCHED_FIGURE_HEADS - 1], *job = shape->first;

        if (last && comes_after(s, shape, last))
                return; /* without looking at the job */
        while (job && keep_first(s, queue, job))
                job = job_behind(job);
}

static void find_first(Scheduler *s, QueueNode *queue)
{
        memset(queue->first.first, 0, sizeof queue->first.first);
        for (guint i = 0; i < queue->groups->len; i++) {
                const Group *group = queue->groups->pdata[i];

                for (guint j = 0; j < group->shapes->len; j++)
                        keep_first_of(s, queue, group->shapes->pdata[j]);
        }
        memo_keep(&queue->first.first_memo, MEMO_UNTIL_DROPPED);
}

void queue_find_heads(Scheduler *s, QueueNode *queue)
{
        if (!memo_fresh(&queue->first.first_memo, MEMO_UNTIL_DROPPED))
                find_first(s, queue);
        for (int i = 0; i < SCHED_FIGURE_HEADS; i++)
                queue->first.heads[i] = queue->first.first[i] ? queue->first.first[i]->key : 0;
        memo_keep(&queue->first.heads_memo, MEMO_UNTIL_DROPPED);
}
