/* A queue: a share of a cluster that jobs are submitted to. Queues form a tree under their cluster; jobs go
 * to leaves. Immutable once made, counted (see catalog.h). Fields and rules: doc/scheduling.md; the older
 * vocabulary: scheduling.md 3. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/resources.h"

typedef enum {
        QUEUE_CREATING, /* only a word of the older API: never seen here */
        QUEUE_OPEN,
        QUEUE_CLOSING, /* closed for new jobs; those it has run to their end */
        QUEUE_CLOSED,
        QUEUE_UNAVAILABLE, /* its cluster is offline or not connected */
        QUEUE_STATES,
} QueueState;
const char *queue_state_name(QueueState state);

/* Whom a starving job of the queue may evict inside the queue. */
typedef enum { PREEMPT_NEVER, PREEMPT_LOWER_PRIORITY, QUEUE_PREEMPTIONS } QueuePreemption;
const char *queue_preemption_name(QueuePreemption preemption); /* "never", "lower-priority" */

/* In which order its jobs are considered; age and then the number of submission decide ties. */
typedef enum {
        QUEUE_ORDER_PRIORITY, /* higher priority first: the default */
        QUEUE_ORDER_FIFO,     /* age alone */
        QUEUE_ORDER_FAIR,     /* who used least of late first, then priority */
        QUEUE_ORDERS,
} QueueOrder;
const char *queue_order_name(QueueOrder order); /* "priority", "fifo", "fair" */

typedef enum { QUOTA_ELASTIC, QUOTA_CAPABILITY, QUOTA_TYPES } QuotaType;
const char *quota_type_name(QuotaType type); /* "elasticQuota", "volcanoCapabilityQuota" */
bool quota_type_parse(const char *name, QuotaType *ret);
