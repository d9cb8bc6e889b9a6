/* Whether a run can still pause at a breakpoint, and where else it can. Pure. */
#pragma once

#include "pipeline/run.h"

/* Of the instances of a component the greatest counts. */
typedef enum {
        REACH_DISABLED, /* a component of the path is disabled, */
        REACH_STOPPED,  /* ... has failed, or was stopped or cancelled, */
        REACH_SKIPPED,  /* ... or was skipped: its condition is false, or its loop has no items */
        REACH_SHORT,    /* a loop has fewer items */
        REACH_ENDED,
        REACH_BEGUN,
        REACH_OPEN, /* it may come there, or is paused there; also if there are too many instances to look at */
} ReachKind;

typedef struct {
        guint8 kind;       /* ReachKind */
        guint32 component; /* because of which it cannot */
        guint32 count;     /* REACH_SHORT: the items of its loop */
        guint32 child;     /* of this component; RUN_NONE: unknown */
} RunReach;

/* Looks at 256 instances at most. */
RunReach run_reach(const Run *run, const Break *at);

/* The components beside `child` before (after) which the run can still pause, in the order of the definition: at most `max`
 * of the first thousand. Returns how many there are in `ret`. */
guint run_reach_beside(const Run *run, guint32 child, bool after, guint max, guint32 *ret);
