/* A queue: a share of a cluster that jobs are submitted to. Queues form a tree under their cluster; jobs go
 * to leaves. Immutable once made, counted (see catalog.h). Fields and rules: doc/guide/scheduling.md; the
 * older vocabulary: doc/reference/paddleflow-api.md, "Queues", and doc/reference/scheduling.md, "Elastic
 * quota". */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/object.h"
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

#define QUEUE_DEFAULT "default"      /* built in: everything there is, for whoever names no queue in /v1 */
#define QUEUE_SEEDED "default-queue" /* PaddleFlow's */
#define QUEUE_PARENT_LABEL "paddleflow.baidu.com/elastic-resource-quota-parent"
#define QUEUE_ISOLATION_LABEL "paddleflow.baidu.com/resource-isolation-type"

typedef struct {
        Object object;
        char *cluster;
        char *parent; /* NULL: directly under the cluster */
        char *namespace;
        QuotaType quota_type;
        ResourceLimits max, min, reserved;
        ResourceLimits defaults; /* for members that declare none: cpu, memory. Not said: the one above */
        bool only_listed; /* kinds that max does not name may not be used (PaddleFlow's rule); else they are
                             unlimited */
        int weight;       /* 1..65535; default 1 */
        int priority;     /* -1000..1000; default 0 */
        bool keep;        /* true: not reclaimable */
        bool traverse; /* true: whatever fits starts; false, the default: a blocked head holds a reservation
                          and others pass it only harmlessly */
        QueuePreemption preemption;
        QueueOrder order;
        bool closed;                                 /* takes no new jobs */
        bool everyone;                               /* any user may submit; else a grant is needed */
        int max_running_per_user, max_open_per_user; /* jobs; 0: no limit */
        char **location; /* "K=V" sorted: node labels, and the older interface's own keys; NULL: none */
        char **policies; /* the older schedulingPolicy, as given; NULL: none */
} Queue;

/* A label of a location ("K=V") that nodes must carry: none of the older interface's own. */
bool queue_label_is_of_nodes(const char *label);

/* The word for it now: `open_jobs` in it, and whether its cluster can be used. */
QueueState queue_state(const Queue *queue, gint64 open_jobs, bool cluster_usable);
