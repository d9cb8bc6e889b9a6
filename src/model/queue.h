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
        QUEUE_CLOSING, /* closed for new jobs; its current jobs still run */
        QUEUE_CLOSED,
        QUEUE_UNAVAILABLE, /* its cluster is offline or not connected */
        QUEUE_STATES,
} QueueState;
const char *queue_state_name(QueueState state);

/* Which jobs of the queue a starving job of the same queue may evict. */
typedef enum { PREEMPT_NEVER, PREEMPT_LOWER_PRIORITY, QUEUE_PREEMPTIONS } QueuePreemption;
const char *queue_preemption_name(QueuePreemption preemption); /* "never", "lower-priority" */

/* The order in which the jobs of the queue are considered. Age and then the number of the submission break
 * ties. */
typedef enum {
        QUEUE_ORDER_PRIORITY, /* higher priority first; the default */
        QUEUE_ORDER_FIFO,     /* by age only */
        QUEUE_ORDER_FAIR,     /* the user with the least recent usage first, then by priority */
        QUEUE_ORDERS,
} QueueOrder;
const char *queue_order_name(QueueOrder order); /* "priority", "fifo", "fair" */

typedef enum { QUOTA_ELASTIC, QUOTA_CAPABILITY, QUOTA_TYPES } QuotaType;
const char *quota_type_name(QuotaType type); /* "elasticQuota", "volcanoCapabilityQuota" */
bool quota_type_parse(const char *name, QuotaType *ret);

#define QUEUE_DEFAULT "default"      /* built in: the whole cluster; used in /v1 when a job names no queue */
#define QUEUE_SEEDED "default-queue" /* the default queue of PaddleFlow */
#define QUEUE_PARENT_LABEL "paddleflow.baidu.com/elastic-resource-quota-parent"
#define QUEUE_ISOLATION_LABEL "paddleflow.baidu.com/resource-isolation-type"

typedef struct {
        Object object;
        char *cluster;
        char *parent; /* NULL: directly under the cluster */
        char *namespace;
        QuotaType quota_type;
        ResourceLimits max, min, reserved;
        ResourceLimits defaults; /* for members that declare none: cpu, memory. A kind that is not set: the
                                    parent's default */
        bool only_listed; /* resource kinds that max does not name may not be used (PaddleFlow's rule). False:
                             they are unlimited */
        int weight;       /* 1..65535; default 1 */
        int priority;     /* -1000..1000; default 0 */
        bool keep;        /* true: its capacity is not reclaimed by other queues */
        bool traverse;    /* true: every job that fits starts. False, the default: a blocked job at the head
                          holds a reservation, and other jobs pass it only if they do not delay it */
        QueuePreemption preemption;
        QueueOrder order;
        bool closed;                                 /* accepts no new jobs */
        bool everyone;                               /* any user may submit; false: a user needs a grant */
        int max_running_per_user, max_open_per_user; /* jobs; 0: no limit */
        char **location; /* "K=V" sorted: node labels, and keys of the older API; NULL: none */
        char **policies; /* schedulingPolicy of the older API, as given; NULL: none */
} Queue;

/* True if the label of a location ("K=V") is one that nodes must carry. False: it is a key of the older
 * API. */
bool queue_label_is_of_nodes(const char *label);

/* The current state. `open_jobs`: the number of open jobs in the queue. `cluster_usable`: whether its cluster
 * can be used. */
QueueState queue_state(const Queue *queue, gint64 open_jobs, bool cluster_usable);
