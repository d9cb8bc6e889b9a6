/* Reservations and who has to respect them; private to sched/. See backfill.c. */
#pragma once

#include "sched/pass.h"

/* What has to stay free on a node for a head to fit at its time. */
typedef struct {
        Node *node;
        Resources amount;
} Hold;

struct Reservation {
        guint64 version; /* another one when it keeps others from something else */
        gint64 key;      /* the head */
        const Ask *ask;  /* what it asks for */
        guint32 openings_version;
        gint64 time;     /* when it fits, perhaps in the past; G_MAXINT64: not known */
        gint64 of_room;  /* the same, by the room alone; 0: now */
        guint64 charges; /* of its queue, and */
        guint32 config;  /* the queues' configuration that it is of */
        guint32 lacking; /* kinds that it lacks now */
        Resources need;
        Lane *queue;
        GArray *holds; /* Hold; none when the time is not known */
};

/* Of this pass. It is worked out when it is asked for first: by the guard as soon as it guards, by others
 * before anything is backfilled, so that what is remembered from earlier passes makes no difference. */
const Reservation *reservation_get(Scheduler *s, Lane *queue);
/* The head is a gang of one kind of task that may stand anywhere: nothing is searched for. */
bool reservation_is_simple(const Lane *queue);
/* It is plain, without working it out, that the time at which the head fits is known. */
bool reservation_is_timed(Scheduler *s, const Lane *queue);
/* The kinds that nobody behind the queue's head may take, because it is not known when the head will fit. */
guint32 reservation_denies(Scheduler *s, Lane *queue);
/* It is not worth trying: it would delay a head that it has to respect. */
bool is_known_to_delay(Scheduler *s, const Shape *shape, DecisionRule rule);
/* For some limit this is known of the group. */
bool is_known_to_delay_at_all(Scheduler *s, const Group *group, DecisionRule rule);
/* The group respects the guard, which is known to leave no room to those of it that take as long as
 * *ret_span.
 */
bool is_kept_by_guard(Scheduler *s, const Group *group, gint64 *ret_span);
/* No nodes have room for `shape`, or those only that the guard keeps. Noted for all who ask for the same. */
bool finds_no_room(Scheduler *s, const Shape *shape);
/* The gang of `shape` is planned. True: it delays no head that it has to respect, perhaps after it was
 * planned anew. False: nothing is planned any more. */
bool guards_let(Pass *pass, Shape *shape, DecisionRule rule);

/* ---- settle.c ---- */
/* Behind its head nothing has started, and nothing is left to be tried in this pass. */
void lane_settle(Scheduler *s, Lane *queue);
/* That was so once, and all that it was due to is as it was. */
bool lane_is_settled(Scheduler *s, Lane *queue);
