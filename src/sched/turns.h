/* Whose turn it is: heaps of the groups of a queue, by priority and age of the first job of each that may
 * start. Not for QUEUE_ORDER_FAIR, whose order holds for a moment.
 *
 * What is said of a group is never later than its turn: jobs that leave make it come later, which is found
 * out when it has become the first. */
#pragma once

#include "sched/state.h"

typedef struct {
        gint64 submitted, key;
        Group *group;
        Ask *ask; /* of the group: saves looking at it */
        int priority;
} Turn;

/* ---- of what waits in a queue ---- */
void turns_come_earlier(Lane *queue, const Shape *shape);
void turns_leave(Lane *queue, const Group *group);
/* To make it anew: forget, add in any order, order. */
void turns_forget(Lane *queue);
void turns_add(Lane *queue, const Shape *shape);
void turns_order(Lane *queue);
/* The group that was said to be the first comes with `shape`. True: as it was said. Else it has gone where it
 * belongs, or away when `shape` is NULL. */
bool turns_settle(Lane *queue, const Shape *shape);

/* ---- of those behind a head, which nobody joins during a pass ---- */
void turns_copy(Lane *queue);
bool turns_settle_behind(Lane *queue, const Shape *shape);
void turns_drop_closed(Lane *queue); /* groups whose asks are */
