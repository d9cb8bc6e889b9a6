/* Sums of resources, the limits of what a Scheduler is told, and sets of kinds of resources as bit masks; private
 * to sched/. Sums over waiting jobs may wrap around, and back; all other amounts are limited at input. */
#pragma once

#include "model/resources.h"

enum {
        SCHED_ID_MAX = 1 << 20,
        SCHED_DEPTH_MAX = 16,     /* levels of the tree of queues */
        SCHED_TASKS_MAX = 100000, /* of one job */
        SCHED_ROLES_MAX = 1000,   /* of one job */
        SCHED_WEIGHT_MAX = 65535,
        SCHED_LEVELS_MAX = 8, /* of the topology */
};
#define SCHED_TIME_MAX ((gint64)1 << 60) /* ms */
#define SCHED_SPAN_MAX ((gint64)1 << 42) /* ms: over a century */
/* Limit for the amounts of a cluster, a job, a queue's min: products of two of them and a weight fit 128 bits. */
#define SCHED_AMOUNT_MAX (((gint64)1 << 56) - 1)

typedef unsigned __int128 Wide;

static inline void amounts_add(Resources *sum, const Resources *r)
{
        for (int i = 0; i < RESOURCE_KINDS_MAX; i++)
                sum->amount[i] = (gint64)((guint64)sum->amount[i] + (guint64)r->amount[i]);
}

static inline void amounts_subtract(Resources *sum, const Resources *r)
{
        for (int i = 0; i < RESOURCE_KINDS_MAX; i++)
                sum->amount[i] = (gint64)((guint64)sum->amount[i] - (guint64)r->amount[i]);
}

static inline void amounts_add_times(Resources *sum, const Resources *r, gint64 n)
{
        for (int i = 0; i < RESOURCE_KINDS_MAX; i++)
                sum->amount[i] = (gint64)((guint64)sum->amount[i] + (guint64)r->amount[i] * (guint64)n);
}

static inline guint32 amounts_mask(const Resources *r)
{
        guint32 mask = 0;

        for (int i = 0; i < RESOURCE_KINDS_MAX; i++)
                mask |= (guint32)(r->amount[i] > 0) << i;
        return mask;
}

/* For each kind of a mask. */
#define FOR_KINDS(kind, mask)                                                                                \
        for (guint32 kind##_left = (mask), kind;                                                             \
             kind##_left && (kind = (guint32)__builtin_ctz(kind##_left), true);                              \
             kind##_left &= kind##_left - 1)

/* Adds, or with sign -1 subtracts, those kinds of r; the others of r are 0. */
static inline void amounts_add_kinds(Resources *sum, const Resources *r, guint32 mask, int sign)
{
        FOR_KINDS(kind, mask)
                sum->amount[kind] = (gint64)((guint64)sum->amount[kind] + (guint64)(sign * r->amount[kind]));
}
