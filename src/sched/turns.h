/* The order in which groups are tried: heaps of the groups of a queue, by priority and age of each group's
 * first job that may start. Not for QUEUE_ORDER_FAIR, whose order changes all the time.
 *
 * A recorded turn is never later than the group's real turn. When jobs leave, the real turn becomes later;
 * this is corrected when the group reaches the top. */
#pragma once

#include "sched/state.h"

typedef struct {
        gint64 submitted, key;
        Group *group;
        Gang *gang; /* of the group: saves a look-up */
        int priority;
} Turn;

/* ---- groups that wait in a queue ---- */
void turns_come_earlier(QueueNode *queue, const Shape *shape);
void turns_leave(QueueNode *queue, const Group *group);
/* Rebuilding: forget, add in any order, order. */
void turns_forget(QueueNode *queue);
void turns_add(QueueNode *queue, const Shape *shape);
void turns_order(QueueNode *queue);
/* Corrects the first group, whose first shape is `shape`. True: its recorded turn was right. Else it has
 * moved to its place, or was removed if `shape` is NULL. */
bool turns_settle(QueueNode *queue, const Shape *shape);

/* ---- groups behind a head; none joins during a pass ---- */
void turns_copy(QueueNode *queue);
bool turns_settle_behind(QueueNode *queue, const Shape *shape);
void turns_drop_closed(QueueNode *queue); /* groups whose gangs are closed */
