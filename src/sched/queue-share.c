/* The shares of queues: what one may use (its max and those above it), what it is owed (its min), and who is
 * served first. doc/guide/scheduling.md 3.
 *
 * Siblings are compared by: priority; below their min before those above; the smaller dominant share (of the
 * min while below it, of the cluster's total by weight for what is above it); what was used of late by weight;
 * id. Fractions are compared by cross-multiplication. Each parent and each cluster has its children
 * that take part in a phase in order; the best leaf is found by going down along the best. A start changes the
 * shares on the path that was just served and no others: those that were served and go on stand in a heap beside
 * the line of the others. Most queues of most passes only leave the line, which costs no comparison.
 *
 * An entry holds the quotient of the fraction, rounded down. Of two different quotients the smaller
 * one has the smaller fraction; only equal ones are compared exactly. */
#include "sched/state.h"

enum {
        QUOTIENT_BITS = 40,
        MOVES_MAX = 16, /* of one entry, on average: more are sorted otherwise */
};
#define ABOVE_MIN ((guint64)1 << 63)

bool queue_is_startable(const QueueNode *queue)
{
        for (; queue; queue = queue->parent)
                if (queue->state != QUEUE_OPEN && queue->state != QUEUE_CLOSING)
                        return false;
        return true;
}

bool queue_has_max(const QueueNode *queue)
{
        for (; queue; queue = queue->parent)
                if (queue->max_mask)
                        return true;
        return false;
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
                gint64 available = cluster->free.amount[kind];

                if (when == LATER)
                        available += cluster->releasing.amount[kind] - cluster->planned.amount[kind];
                if (kept.amount[kind] > 0 && want->amount[kind] > available - kept.amount[kind]) {
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

/* ---- siblings that take part in a phase ---- */

void siblings_init(Siblings *siblings)
{
        siblings->line = g_array_new(FALSE, FALSE, sizeof(Sibling));
        siblings->served = g_array_new(FALSE, FALSE, sizeof(Sibling));
}

void siblings_clear(Siblings *siblings)
{
        g_array_unref(siblings->line);
        g_array_unref(siblings->served);
}

int queue_depth(const QueueNode *queue)
{
        int n = 0;

        for (; queue->parent; queue = queue->parent)
                n++;
        return n;
}

static Sibling *entries_of(GArray *array)
{
        return (Sibling *)(void *)array->data;
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

static void sift_up(const Scheduler *s, GArray *heap, guint at)
{
        Sibling *entries = entries_of(heap), moved = entries[at];

        for (; at > 0 && comes_first(s, &moved, &entries[(at - 1) / 2]); at = (at - 1) / 2)
                entries[at] = entries[(at - 1) / 2];
        entries[at] = moved;
}

static bool is_empty(const Siblings *siblings)
{
        return siblings->next == siblings->line->len && siblings->served->len == 0;
}

/* Not empty. */
static QueueNode *first_of(const Siblings *siblings)
{
        return siblings->served_first ? entries_of(siblings->served)[0].queue
                                      : entries_of(siblings->line)[siblings->next].queue;
}

static void find_first(const Scheduler *s, Siblings *siblings)
{
        siblings->served_first =
                siblings->served->len > 0 &&
                (siblings->next == siblings->line->len ||
                 comes_first(s, entries_of(siblings->served), &entries_of(siblings->line)[siblings->next]));
}

static void remove_first(const Scheduler *s, Siblings *siblings)
{
        if (!siblings->served_first) {
                siblings->next++;
        } else {
                (void)g_array_remove_index_fast(siblings->served, 0);
                if (siblings->served->len > 0)
                        sift_down(s, siblings->served, 0);
        }
        find_first(s, siblings);
}

/* The share of the first has changed. */
static void first_changed(const Scheduler *s, Siblings *siblings)
{
        Sibling entry = sibling_of(s, first_of(siblings));

        if (siblings->served_first) {
                entries_of(siblings->served)[0] = entry;
                sift_down(s, siblings->served, 0);
        } else {
                siblings->next++;
                g_array_append_val(siblings->served, entry);
                sift_up(s, siblings->served, siblings->served->len - 1);
        }
        find_first(s, siblings);
}

static int compare_siblings(gconstpointer a, gconstpointer b, gpointer s)
{
        return comes_first(s, a, b) ? -1 : 1;
}

/* By insertion: they are entered in the order of the phase before, which is seldom far from the right one. False: it
 * was the right one. */
static bool sort_line(Scheduler *s, GArray *line)
{
        Sibling *entries = entries_of(line);
        guint moves = 0;

        for (guint i = 1; i < line->len; i++) {
                Sibling moved = entries[i];
                guint at = i;

                for (; at > 0 && comes_first(s, &moved, &entries[at - 1]); at--)
                        entries[at] = entries[at - 1];
                entries[at] = moved;
                moves += i - at;
                if (moves <= MOVES_MAX * line->len)
                        continue;
                g_array_sort_with_data(line, compare_siblings, s);
                return true;
        }
        return moves > 0;
}

static Siblings *siblings_at(const Scheduler *s, const QueueNode *queue)
{
        return queue->parent ? &queue->parent->share.children : &cluster_find(s, queue->cluster)->active;
}

static void set_next(QueueNode *queue, guint32 kinds)
{
        if (queue->share.next == kinds)
                return;
        queue->share.next = kinds;
        memo_drop(&queue->share.memo);
}

static bool order(Scheduler *s, Siblings *siblings)
{
        Sibling *entries = entries_of(siblings->line);

        for (guint i = 0; i < siblings->line->len; i++)
                entries[i] = sibling_of(s, entries[i].queue);
        return sort_line(s, siblings->line);
}

/* The children, and what is asked of the parent by the best of them. */
static bool order_children(Scheduler *s, QueueNode *queue)
{
        bool moved = order(s, &queue->share.children);

        if (!queue->share.serves && !is_empty(&queue->share.children))
                set_next(queue, first_of(&queue->share.children)->share.next);
        return moved;
}

static void empty(Siblings *siblings)
{
        g_array_set_size(siblings->line, 0);
        g_array_set_size(siblings->served, 0);
        siblings->next = 0;
        siblings->served_first = false;
}

/* No queue takes part. Adds the queues with children to `parents`. */
static void reset(Scheduler *s, Cluster *cluster, GPtrArray *parents)
{
        empty(&cluster->active);
        for (guint i = 0; i < cluster->order->len; i++) {
                QueueNode *queue = cluster->order->pdata[i];

                queue->share.is_active = queue->share.serves = false;
                if (queue->n_children > 0)
                        g_ptr_array_add(parents, queue);
                if (queue->n_children > 0 || !is_empty(&queue->share.children))
                        empty(&queue->share.children);
        }
}

/* All queues of the cluster, in whatever order they are now. */
static void freshen_order(Scheduler *s, Cluster *cluster)
{
        if (memo_fresh(&cluster->order_memo, s->config_version))
                return;
        memo_keep(&cluster->order_memo, s->config_version);
        g_ptr_array_set_size(cluster->order, 0);
        for (guint i = 0; i < s->queues->len; i++) {
                QueueNode *queue = s->queues->pdata[i];

                if (queue && queue->cluster == cluster->id)
                        g_ptr_array_add(cluster->order, queue);
        }
}

static void enter(const Scheduler *s, const Cluster *cluster)
{
        for (guint i = 0; i < cluster->order->len; i++) {
                Sibling entry = { .queue = cluster->order->pdata[i] };

                if (entry.queue->share.is_active)
                        g_array_append_val(siblings_at(s, entry.queue)->line, entry);
        }
}

/* Those that take part change places among themselves, for the next phase. */
static void keep_order(const Scheduler *s, Cluster *cluster, const GPtrArray *parents)
{
        for (guint i = 0; i < cluster->order->len; i++) {
                const QueueNode *queue = cluster->order->pdata[i];
                Siblings *siblings = siblings_at(s, queue);

                if (queue->share.is_active)
                        cluster->order->pdata[i] = entries_of(siblings->line)[siblings->next++].queue;
        }
        cluster->active.next = 0;
        for (guint i = 0; i < parents->len; i++)
                ((QueueNode *)parents->pdata[i])->share.children.next = 0;
}

void active_fill(Scheduler *s, Cluster *cluster, NextKinds next)
{
        g_autoptr(GPtrArray) parents = g_ptr_array_new();
        guint32 kinds;
        bool moved = false;

        freshen_order(s, cluster);
        reset(s, cluster, parents);
        for (guint i = 0; i < s->queues->len; i++) { /* in this order, whatever was before */
                QueueNode *queue = s->queues->pdata[i];

                if (!queue || queue->cluster != cluster->id || !next(s, queue, &kinds))
                        continue;
                queue->share.serves = true;
                set_next(queue, kinds);
                for (; queue; queue = queue->parent)
                        queue->share.is_active = true;
        }
        enter(s, cluster);
        for (int depth = SCHED_DEPTH_MAX; depth >= 0 && parents->len > 0; depth--)
                for (guint i = 0; i < parents->len; i++)
                        if (queue_depth(parents->pdata[i]) == depth)
                                moved = order_children(s, parents->pdata[i]) || moved;
        if (order(s, &cluster->active) || moved)
                keep_order(s, cluster, parents);
}

QueueNode *active_best(const Cluster *cluster)
{
        QueueNode *queue = is_empty(&cluster->active) ? NULL : first_of(&cluster->active);

        while (queue && !queue->share.serves)
                queue = first_of(&queue->share.children);
        return queue;
}

/* The best of its siblings has changed: it sinks, and so does its parent in turn. */
static void sink(const Scheduler *s, QueueNode *queue)
{
        for (; queue; queue = queue->parent) {
                first_changed(s, siblings_at(s, queue));
                if (queue->parent && !queue->parent->share.serves)
                        set_next(queue->parent, first_of(&queue->parent->share.children)->share.next);
        }
}

void active_remove(Scheduler *s, QueueNode *queue)
{
        queue->share.serves = false;
        while (queue && !queue->share.serves && is_empty(&queue->share.children)) {
                queue->share.is_active = false;
                remove_first(s, siblings_at(s, queue));
                queue = queue->parent;
        }
        if (queue && !is_empty(&queue->share.children) && !queue->share.serves)
                set_next(queue, first_of(&queue->share.children)->share.next);
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
