/* Planted faults: a scheduler that breaks one of its rules on purpose, so that the tests of invariants can
 * show that they notice it. They exist only in the library's variant for tests (SCHED_MUTANTS). */
#pragma once

#include "sched/scheduler.h"

typedef enum {
        MUTANT_NONE,
        MUTANT_PREEMPT_EQUAL,        /* evicts jobs of equal priority */
        MUTANT_RECLAIM_BELOW_MIN,    /* takes a victim's queue below its min */
        MUTANT_EVICT_BEFORE_SHRINK,  /* evicts whole jobs where surplus tasks would suffice */
        MUTANT_BACKFILL_DELAYS_HEAD, /* ignores reservations */
        MUTANT_GANG_PARTIAL,         /* leaves a partly placed gang that does not fit */
        MUTANT_DEVICE_TWICE,         /* assigns GPUs that are in use */
        MUTANT_QUEUE_OVER_MAX,       /* ignores queues' max */
        MUTANTS,
} Mutant;

#ifdef SCHED_MUTANTS
void scheduler_plant(Scheduler *scheduler, Mutant mutant);
#define mutant_is(scheduler, which) ((scheduler)->mutant == (which))
#else
#define mutant_is(scheduler, which) ((void)(scheduler), false)
#endif
