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
        guint32 lacking; /* kinds that it lacks now */
        Resources need;
        Lane *queue;
        GArray *holds; /* Hold; none when the time is not known */
};

/* The kinds that nobody behind the queue's head may take, because it is not known when the head will fit. */
guint32 reservation_denies(Scheduler *s, Lane *queue);
/* It is not worth trying: it would delay a head that it has to respect. */
bool is_known_to_delay(Scheduler *s, const Shape *shape, DecisionRule rule);
/* For some limit this is known of the group. */
bool is_known_to_delay_at_all(Scheduler *s, const Group *group, DecisionRule rule);
/* The gang of `shape` is planned. True: it delays no head that it has to respect, perhaps after it was
 * planned anew. False: nothing is planned any more. */
bool guards_let(Pass *pass, Shape *shape, DecisionRule rule);
