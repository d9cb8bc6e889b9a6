/* Heaps of groups; see turns.h. */
#include "sched/turns.h"

static bool comes_first(const Turn *a, const Turn *b)
{
        if (a->priority != b->priority)
                return a->priority > b->priority;
        return a->submitted != b->submitted ? a->submitted < b->submitted : a->key < b->key;
}

static Turn make(Group *group, const Shape *shape)
{
        return (Turn){ .submitted = shape->first_submitted,
                       .key = shape->first_key,
                       .group = group,
                       .gang = group->gang,
                       .priority = group->queue->order == QUEUE_ORDER_PRIORITY ? shape->priority : 0 };
}

static Turn *entries_of(GArray *turns)
{
        return (Turn *)(void *)turns->data;
}

/* `placed`: groups are told where they are. */
static void set(GArray *turns, guint at, Turn turn, bool placed)
{
        entries_of(turns)[at] = turn;
        if (placed)
                turn.group->turn = at + 1;
}

static void sift_up(GArray *turns, guint at, bool placed)
{
        Turn turn = entries_of(turns)[at];

        for (; at > 0 && comes_first(&turn, &entries_of(turns)[(at - 1) / 2]); at = (at - 1) / 2)
                set(turns, at, entries_of(turns)[(at - 1) / 2], placed);
        set(turns, at, turn, placed);
}

static void sift_down(GArray *turns, guint at, bool placed)
{
        Turn turn = entries_of(turns)[at];

        for (guint child; (child = 2 * at + 1) < turns->len; at = child) {
                if (child + 1 < turns->len &&
                    comes_first(&entries_of(turns)[child + 1], &entries_of(turns)[child]))
                        child++;
                if (!comes_first(&entries_of(turns)[child], &turn))
                        break;
                set(turns, at, entries_of(turns)[child], placed);
        }
        set(turns, at, turn, placed);
}

static void order(GArray *turns, bool placed)
{
        for (guint i = turns->len; placed && i > turns->len / 2; i--)
                entries_of(turns)[i - 1].group->turn = i;
        for (guint i = turns->len / 2; i > 0; i--)
                sift_down(turns, i - 1, placed);
}

static void take(GArray *turns, guint at, bool placed)
{
        Turn last = entries_of(turns)[turns->len - 1];

        if (placed)
                entries_of(turns)[at].group->turn = 0;
        g_array_set_size(turns, turns->len - 1);
        if (at == turns->len)
                return;
        set(turns, at, last, placed);
        sift_up(turns, at, placed);
        sift_down(turns, placed ? last.group->turn - 1 : at, placed);
}

static bool settle_first(GArray *turns, const Shape *shape, bool placed)
{
        Turn turn;

        if (!shape) {
                take(turns, 0, placed);
                return false;
        }
        turn = make(shape->group, shape);
        if (!comes_first(&entries_of(turns)[0], &turn))
                return true;
        set(turns, 0, turn, placed);
        sift_down(turns, 0, placed);
        return false;
}

/* ---- of what waits in a queue ---- */

void turns_come_earlier(QueueNode *queue, const Shape *shape)
{
        Turn turn = make(shape->group, shape);
        guint at = turn.group->turn;

        if (at == 0) {
                g_array_append_val(queue->start.turns, turn);
                at = queue->start.turns->len;
        } else if (comes_first(&turn, &entries_of(queue->start.turns)[at - 1])) {
                entries_of(queue->start.turns)[at - 1] = turn;
        }
        sift_up(queue->start.turns, at - 1, true);
}

void turns_leave(QueueNode *queue, const Group *group)
{
        if (group->turn > 0)
                take(queue->start.turns, group->turn - 1, true);
}

void turns_forget(QueueNode *queue)
{
        for (guint i = 0; i < queue->start.turns->len; i++)
                entries_of(queue->start.turns)[i].group->turn = 0;
        g_array_set_size(queue->start.turns, 0);
}

void turns_add(QueueNode *queue, const Shape *shape)
{
        Turn turn = make(shape->group, shape);

        g_array_append_val(queue->start.turns, turn);
}

void turns_order(QueueNode *queue)
{
        order(queue->start.turns, true);
}

bool turns_settle(QueueNode *queue, const Shape *shape)
{
        return settle_first(queue->start.turns, shape, true);
}

/* ---- of those behind a head ---- */

void turns_copy(QueueNode *queue)
{
        g_array_set_size(queue->backfill.behind, 0);
        g_array_append_vals(queue->backfill.behind, queue->start.turns->data, queue->start.turns->len);
}

bool turns_settle_behind(QueueNode *queue, const Shape *shape)
{
        return settle_first(queue->backfill.behind, shape, false);
}

void turns_drop_closed(QueueNode *queue)
{
        Turn *entries = entries_of(queue->backfill.behind);
        guint n = 0;

        for (guint i = 0; i < queue->backfill.behind->len; i++)
                if (!entries[i].gang->closed)
                        entries[n++] = entries[i];
        g_array_set_size(queue->backfill.behind, n);
        order(queue->backfill.behind, false);
}
