/* The shares of queues: what one may use (its max and those above it), what it is owed (its min), and who is
 * served first. doc/guide/scheduling.md 3.
 *
 * Siblings are compared by: priority; below their min before those above; the smaller dominant share (of the
 * min while below it, of the cluster's room by weight for what is above it); what was used of late by weight;
 * id. Fractions are compared by cross-multiplication. Each parent and each cluster has a heap of the children
 * that take part in a phase; the best leaf is found by going down along the best. A start changes the shares
 * on the path that was just served and no others, so only that path has to sink.
 *
 * An entry of a heap holds the quotient of the fraction, rounded down. Of two different quotients the smaller
 * one has the smaller fraction; only equal ones are compared exactly. */
#include "sched/state.h"

enum { QUOTIENT_BITS = 40 };
#define ABOVE_MIN ((guint64)1 << 63)

bool queue_is_startable(const QueueNode *queue)
{
        for (; queue; queue = queue->parent)
                if (queue->state != QUEUE_OPEN && queue->state != QUEUE_CLOSING)
                        return false;
        return true;
}

void queue_stale(QueueNode *queue)
{
        for (; queue; queue = queue->parent)
                memo_drop(&queue->share.memo);
}

void queue_charge(QueueNode *queue, const Resources *r, guint32 mask, int sign)
{
        for (; queue; queue = queue->parent) {
                amounts_add_kinds(&queue->alloc, r, mask, sign);
                memo_drop(&queue->share.memo);
                queue->charges++;
        }
}

guint64 queue_charges(const QueueNode *queue)
{
        guint64 charges = 0;

        for (; queue; queue = queue->parent)
                if (queue->max_mask | queue->min_mask)
                        charges += queue->charges;
        return charges;
}

/* ---- limits ---- */

QueueNode *queue_over_max(const Scheduler *s, QueueNode *queue, const Resources *want, guint32 mask,
                          When when, int *ret_kind)
{
        if (mutant_is(s, MUTANT_QUEUE_OVER_MAX))
                return NULL;
        for (; queue; queue = queue->parent)
                FOR_KINDS(kind, mask & queue->max_mask) {
                        gint64 used = queue->alloc.amount[kind];
                        gint64 promised = queue->planned.amount[kind] - queue->releasing.amount[kind];

                        used += when == LATER ? promised : MAX(0, promised);
                        if (used > queue->max.amount[kind] - want->amount[kind]) {
                                *ret_kind = (int)kind;
                                return queue;
                        }
                }
        return NULL;
}

static bool is_above(const QueueNode *queue, const QueueNode *below)
{
        for (; below; below = below->parent)
                if (below == queue)
                        return true;
        return false;
}

static bool is_counted_above(const QueueNode *queue, const QueueNode *path)
{
        for (queue = queue->parent; queue && !is_above(queue, path); queue = queue->parent)
                if (queue->keeps)
                        return true;
        return false;
}

QueueNode *queue_kept_from(const Scheduler *s, const QueueNode *queue, const Resources *want, guint32 mask,
                           When when, int *ret_kind)
{
        const Cluster *cluster = cluster_find(s, queue->cluster);
        QueueNode *first = NULL;
        Resources kept = { 0 };

        for (guint i = 0; i < cluster->keepers->len; i++) {
                QueueNode *other = cluster->keepers->pdata[i];

                if (is_above(other, queue) || is_counted_above(other, queue))
                        continue;
                FOR_KINDS(kind, mask)
                        kept.amount[kind] += MAX(0, other->reserved.amount[kind] - other->alloc.amount[kind]);
                first = first ? first : other;
        }
        if (!first)
                return NULL;
        FOR_KINDS(kind, mask) {
                gint64 room = cluster->free.amount[kind];

                if (when == LATER)
                        room += cluster->releasing.amount[kind] - cluster->planned.amount[kind];
                if (kept.amount[kind] > 0 && want->amount[kind] > room - kept.amount[kind]) {
                        *ret_kind = (int)kind;
                        return first;
                }
        }
        return NULL;
}

bool queue_is_within_min(const QueueNode *queue, const QueueNode *apart, const Resources *want, guint32 mask)
{
        for (; queue && queue != apart; queue = queue->parent) {
                guint32 named = mask & queue->min_mask;
                bool within = named != 0;

                FOR_KINDS(kind, named) {
                        gint64 used = queue->alloc.amount[kind] - queue->releasing.amount[kind] +
                                      queue->planned.amount[kind];

                        within = within && used + want->amount[kind] <= queue->min.amount[kind];
                }
                if (within)
                        return true;
        }
        return false;
}

QueueNode *queue_common(QueueNode *a, QueueNode *b)
{
        for (; a; a = a->parent)
                if (is_above(a, b))
                        return a;
        return NULL;
}

/* ---- order ---- */

/* Takes num/den when it is more. */
static void raise_share(QueueNode *queue, gint64 num, gint64 den)
{
        if ((Wide)(guint64)num * (guint64)queue->share.den > (Wide)(guint64)queue->share.num * (guint64)den) {
                queue->share.num = num;
                queue->share.den = den;
        }
}

/* A leaf above its min counts with all it holds beyond it; a queue of queues only with what it is asked for
 * next, so that one child's use of one kind does not keep another child from a kind that is hardly used. */
static void work_out_fraction(const Scheduler *s, QueueNode *queue)
{
        const Cluster *cluster = cluster_find(s, queue->cluster);
        guint32 named = queue->min_mask & queue->share.next;

        queue->share.num = 0;
        queue->share.den = 1;
        FOR_KINDS(kind, named)
                raise_share(queue, queue->alloc.amount[kind], queue->min.amount[kind]);
        queue->share.below = named != 0 && queue->share.num < queue->share.den;
        if (queue->share.below)
                return;
        queue->share.num = 0;
        queue->share.den = 1;
        FOR_KINDS(kind, queue->n_children > 0 ? queue->share.next : (1u << RESOURCE_KINDS_MAX) - 1) {
                gint64 more = queue->alloc.amount[kind] - queue->min.amount[kind];

                if (more > 0 && cluster->total.amount[kind] > 0)
                        raise_share(queue, more, cluster->total.amount[kind]);
        }
}

/* Those below their min come first. Above it the share counts by weight. */
static guint64 quotient_of(const QueueNode *queue)
{
        Wide num = (Wide)(guint64)queue->share.num << QUOTIENT_BITS, den = (Wide)(guint64)queue->share.den;

        if (queue->share.below)
                return (guint64)(num / den); /* below 2^QUOTIENT_BITS */
        return ABOVE_MIN | (guint64)MIN(num / (den * (guint64)queue->weight), (Wide)(ABOVE_MIN - 1));
}

static void update_share(const Scheduler *s, QueueNode *queue)
{
        if (memo_fresh(&queue->share.memo, MEMO_UNTIL_DROPPED))
                return;
        memo_keep(&queue->share.memo, MEMO_UNTIL_DROPPED);
        work_out_fraction(s, queue);
        queue->share.quotient = quotient_of(queue);
}

/* a / b against c / d, each by its weight. */
static int compare_fractions(const QueueNode *a, gint64 a_num, gint64 a_den, const QueueNode *b, gint64 b_num,
                             gint64 b_den, bool weigh)
{
        Wide left = (Wide)(guint64)a_num * (guint64)b_den, right = (Wide)(guint64)b_num * (guint64)a_den;

        if (weigh) {
                left *= (guint64)b->weight;
                right *= (guint64)a->weight;
        }
        return (left > right) - (left < right);
}

/* Asked for again and again while queues are put in order. */
static gint64 used_of_late(const Scheduler *s, QueueNode *queue)
{
        const Usage *is = &queue->usage, *was = &queue->share.usage;

        if (!memo_fresh(&queue->share.recent_memo, (guint64)s->now) || was->value != is->value ||
            was->at != is->at || was->rate != is->rate) {
                queue->share.usage = *is;
                memo_keep(&queue->share.recent_memo, (guint64)s->now);
                queue->share.recent = usage_at(s, is, s->now);
        }
        return queue->share.recent;
}

/* Two of the same priority whose quotients are equal, so that both are below their min, or none is. */
static int compare_exactly(const Scheduler *s, QueueNode *a, QueueNode *b)
{
        int order = compare_fractions(a, a->share.num, a->share.den, b, b->share.num, b->share.den,
                                      !a->share.below);

        if (order == 0)
                order = compare_fractions(a, used_of_late(s, a), 1, b, used_of_late(s, b), 1, true);
        return order != 0 ? order : (a->id > b->id) - (a->id < b->id);
}

/* ---- heaps ---- */

int queue_depth(const QueueNode *queue)
{
        int n = 0;

        for (; queue->parent; queue = queue->parent)
                n++;
        return n;
}

static Sibling *entries_of(GArray *heap)
{
        return (Sibling *)(void *)heap->data;
}

static Sibling sibling_of(const Scheduler *s, QueueNode *queue)
{
        update_share(s, queue);
        return (Sibling){ queue, queue->share.quotient, queue->priority };
}

static bool comes_first(const Scheduler *s, const Sibling *a, const Sibling *b)
{
        if (a->priority != b->priority)
                return a->priority > b->priority;
        if (a->quotient != b->quotient)
                return a->quotient < b->quotient;
        return compare_exactly(s, a->queue, b->queue) < 0;
}

static void sift_down(const Scheduler *s, GArray *heap, guint at)
{
        Sibling *entries = entries_of(heap), moved = entries[at];

        for (guint child; (child = 2 * at + 1) < heap->len; at = child) {
                if (child + 1 < heap->len && comes_first(s, &entries[child + 1], &entries[child]))
                        child++;
                if (!comes_first(s, &entries[child], &moved))
                        break;
                entries[at] = entries[child];
        }
        entries[at] = moved;
}

static GArray *heap_of(const Scheduler *s, const QueueNode *queue)
{
        return queue->parent ? queue->parent->share.heap : cluster_find(s, queue->cluster)->active;
}

static void heapify(const Scheduler *s, GArray *heap)
{
        for (guint i = 0; i < heap->len; i++)
                entries_of(heap)[i] = sibling_of(s, entries_of(heap)[i].queue);
        for (guint i = heap->len / 2; i > 0; i--)
                sift_down(s, heap, i - 1);
}

/* Its share is another one now. */
static void first_changed(const Scheduler *s, GArray *heap)
{
        entries_of(heap)[0] = sibling_of(s, entries_of(heap)[0].queue);
        sift_down(s, heap, 0);
}

static QueueNode *first_of(GArray *heap)
{
        return entries_of(heap)[0].queue;
}

static void set_next(QueueNode *queue, guint32 kinds)
{
        if (queue->share.next == kinds)
                return;
        queue->share.next = kinds;
        memo_drop(&queue->share.memo);
}

/* The children's heap, and what is asked of the parent by the best of them. */
static void settle(const Scheduler *s, QueueNode *queue)
{
        heapify(s, queue->share.heap);
        if (!queue->share.serves && queue->share.heap->len > 0)
                set_next(queue, first_of(queue->share.heap)->share.next);
}

static void enter_active(const Scheduler *s, QueueNode *queue)
{
        for (; queue && !queue->share.is_active; queue = queue->parent) {
                Sibling entry = { .queue = queue };

                queue->share.is_active = true;
                g_array_append_val(heap_of(s, queue), entry);
        }
}

void active_fill(Scheduler *s, Cluster *cluster, NextKinds next)
{
        g_autoptr(GPtrArray) parents = g_ptr_array_new();
        guint32 kinds;

        g_array_set_size(cluster->active, 0);
        for (guint i = 0; i < s->queues->len; i++) {
                QueueNode *queue = s->queues->pdata[i];

                if (!queue || queue->cluster != cluster->id)
                        continue;
                g_array_set_size(queue->share.heap, 0);
                queue->share.is_active = queue->share.serves = false;
                if (queue->n_children > 0)
                        g_ptr_array_add(parents, queue);
        }
        for (guint i = 0; i < s->queues->len; i++) {
                QueueNode *queue = s->queues->pdata[i];

                if (!queue || queue->cluster != cluster->id || !next(s, queue, &kinds))
                        continue;
                queue->share.serves = true;
                set_next(queue, kinds);
                enter_active(s, queue);
        }
        for (int depth = SCHED_DEPTH_MAX; depth >= 0; depth--)
                for (guint i = 0; i < parents->len; i++)
                        if (queue_depth(parents->pdata[i]) == depth)
                                settle(s, parents->pdata[i]);
        heapify(s, cluster->active);
}

QueueNode *active_best(const Cluster *cluster)
{
        QueueNode *queue = cluster->active->len > 0 ? first_of(cluster->active) : NULL;

        while (queue && !queue->share.serves)
                queue = first_of(queue->share.heap);
        return queue;
}

/* The best of its siblings has changed: it sinks, and so does its parent in turn. */
static void sink(const Scheduler *s, QueueNode *queue)
{
        for (; queue; queue = queue->parent) {
                first_changed(s, heap_of(s, queue));
                if (queue->parent && !queue->parent->share.serves)
                        set_next(queue->parent,
                                 first_of(queue->parent->share.heap)->share.next);
        }
}

void active_remove(Scheduler *s, QueueNode *queue)
{
        queue->share.serves = false;
        while (queue && !queue->share.serves && queue->share.heap->len == 0) {
                GArray *heap = heap_of(s, queue);

                queue->share.is_active = false;
                (void)g_array_remove_index_fast(heap, 0);
                if (heap->len > 0)
                        sift_down(s, heap, 0);
                queue = queue->parent;
        }
        if (queue && queue->share.heap->len > 0 && !queue->share.serves)
                set_next(queue, first_of(queue->share.heap)->share.next);
        sink(s, queue);
}

void active_moved(Scheduler *s, QueueNode *queue, NextKinds next)
{
        guint32 kinds;

        if (!next(s, queue, &kinds)) {
                active_remove(s, queue);
                return;
        }
        set_next(queue, kinds);
        sink(s, queue);
}
