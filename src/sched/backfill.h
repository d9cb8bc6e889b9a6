/* Reservations and who has to respect them; private to sched/. See backfill.c. */
#pragma once

#include "sched/pass.h"

/* What has to stay free on a node for a head to fit at its time. */
typedef struct {
        Node *node;
        Resources amount;
} Hold;

struct Reservation {
        gint64 key;      /* the head */
        gint64 time;     /* when it fits; G_MAXINT64: not known */
        guint32 lacking; /* kinds that it lacks now */
        Resources need;
        Lane *queue;
        GArray *holds; /* Hold; none when the time is not known */
};

/* The kinds that nobody behind the queue's head may take, because it is not known when the head will fit. */
guint32 reservation_denies(Scheduler *s, Lane *queue);
/* In this pass a job of the group that does not take longer would have delayed a head. */
bool is_known_to_delay(const Scheduler *s, const Shape *shape);
/* The gang of `shape` is planned. True: it delays no head that it has to respect, perhaps after it was
 * planned anew. False: nothing is planned any more. */
bool guards_let(Pass *pass, Shape *shape, DecisionRule rule);
