/* Queues (see queue.h): checks of their fields. */
#include "model/queue.h"

#include "model/object-row.h"
#include "model/spec.h"

enum { TEXT_MAX = 255, LOCATION_MAX = 4096 };

static const char *const states[] = {
        [QUEUE_CREATING] = "creating",       [QUEUE_OPEN] = "open",
        [QUEUE_CLOSING] = "closing",         [QUEUE_CLOSED] = "closed",
        [QUEUE_UNAVAILABLE] = "unavailable",
};
static const char *const preemptions[] = { "never", "lower-priority", NULL };
static const char *const orders[] = { "priority", "fifo", "fair", NULL };
const char *const quota_type_words[] = { "elasticQuota", "volcanoCapabilityQuota", NULL };

G_STATIC_ASSERT(G_N_ELEMENTS(states) == QUEUE_STATES);
G_STATIC_ASSERT(G_N_ELEMENTS(preemptions) == QUEUE_PREEMPTIONS + 1);
G_STATIC_ASSERT(G_N_ELEMENTS(orders) == QUEUE_ORDERS + 1);
G_STATIC_ASSERT(G_N_ELEMENTS(quota_type_words) == QUOTA_TYPES + 1);

const char *queue_state_name(QueueState state)
{
        return states[state];
}

bool queue_label_is_of_nodes(const char *label)
{
        return !g_str_has_prefix(label, "paddleflow.baidu.com/");
}

const char *queue_preemption_name(QueuePreemption preemption)
{
        return preemptions[preemption];
}

const char *queue_order_name(QueueOrder order)
{
        return orders[order];
}

const char *quota_type_name(QuotaType type)
{
        return quota_type_words[type];
}

bool quota_type_parse(const char *name, QuotaType *ret)
{
        int type = word_find(quota_type_words, name);

        if (type >= 0)
                *ret = (QuotaType)type;
        return type >= 0;
}

QueueState queue_state(const Queue *queue, gint64 open_jobs, bool cluster_usable)
{
        if (!cluster_usable)
                return QUEUE_UNAVAILABLE;
        if (!queue->closed)
                return QUEUE_OPEN;
        return open_jobs > 0 ? QUEUE_CLOSING : QUEUE_CLOSED;
}

#define AT(field) offsetof(Queue, field)

static const ObjectField fields[] = {
        { "cluster", FIELD_TEXT, AT(cluster), FIELD_ONCE, .max = TEXT_MAX, .text = "default-cluster" },
        { "parent", FIELD_TEXT, AT(parent), .max = TEXT_MAX },
        { "namespace", FIELD_TEXT, AT(namespace), .max = SPEC_NAME_MAX, .check = name_check },
        { "quota_type", FIELD_WORD, AT(quota_type), FIELD_ONCE, .words = quota_type_words },
        { "max", FIELD_LIMITS, AT(max) },
        { "min", FIELD_LIMITS, AT(min) },
        { "reserved", FIELD_LIMITS, AT(reserved) },
        { "defaults", FIELD_LIMITS, AT(defaults) },
        { "only_listed", FIELD_BOOL, AT(only_listed) },
        { "weight", FIELD_INT, AT(weight), .first = 1, .min = 1, .max = 65535 },
        { "priority", FIELD_INT, AT(priority), .min = -1000, .max = 1000 },
        { "reclaimable", FIELD_NOT, AT(keep) },
        { "backfill", FIELD_NOT, AT(traverse) },
        { "preemption", FIELD_WORD, AT(preemption), .words = preemptions },
        { "ordering", FIELD_WORD, AT(order), .words = orders },
        { "closed", FIELD_BOOL, AT(closed) },
        { "everyone", FIELD_BOOL, AT(everyone) },
        { "max_running_per_user", FIELD_INT, AT(max_running_per_user), .max = G_MAXINT32 },
        { "max_open_per_user", FIELD_INT, AT(max_open_per_user), .max = G_MAXINT32 },
        { "location", FIELD_LABELS, AT(location), .max = LOCATION_MAX },
        { "policies", FIELD_LIST, AT(policies), .max = TEXT_MAX },
        { NULL },
};

const ObjectRow queue_row = { "queue", "queue-", sizeof(Queue), fields, name_check };
