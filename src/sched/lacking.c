/* What lacks: whether a gang could fit one day, and which kinds of resources it lacks now.
 * Worked out when it is asked for, and remembered until free resources change. */
#include "sched/state.h"

/* ---- for ever ---- */

static Cause role_hopeless(Scheduler *s, const Gang *gang, int role)
{
        Class *class = gang->classes[role];
        gint64 slots = 0;

        class_sync(s, class);
        for (guint i = 0; i < s->nodes->len && slots < gang->need[role]; i++) {
                const Node *node = s->nodes->pdata[i];

                if (class->index.eligible[i])
                        slots += free_slots(&node->total, class, gang->need[role]);
        }
        if (slots == 0)
                return CAUSE_NO_NODE_FITS;
        return slots < gang->need[role] ? CAUSE_TOO_LARGE : CAUSE_NONE;
}

static Cause judge(Scheduler *s, const Gang *gang, const Cluster *cluster)
{
        if (cluster->n_usable == 0)
                return CAUSE_NO_NODES;
        FOR_KINDS(kind, gang->mask)
                if (gang->need_total.amount[kind] > cluster->total.amount[kind])
                        return CAUSE_TOO_LARGE;
        for (int role = 0; role < gang->n_roles; role++) {
                Cause cause = gang->need[role] > 0 ? role_hopeless(s, gang, role) : CAUSE_NONE;

                if (cause != CAUSE_NONE)
                        return cause;
        }
        return CAUSE_NONE;
}

Cause gang_hopeless(Scheduler *s, Gang *gang)
{
        const Cluster *cluster = cluster_get(s, gang->cluster);

        if (!memo_fresh(&gang->judged, cluster->version)) {
                gang->hopeless = judge(s, gang, cluster);
                memo_keep(&gang->judged, cluster->version);
        }
        return gang->hopeless;
}

bool queue_never(const QueueNode *queue, const Gang *gang, int *ret_kind, int *ret_queue)
{
        for (; queue; queue = queue->parent)
                FOR_KINDS(kind, gang->mask & queue->max_mask)
                        if (gang->need_total.amount[kind] > queue->max.amount[kind]) {
                                *ret_kind = (int)kind;
                                *ret_queue = queue->id;
                                return true;
                        }
        return false;
}

Cause group_hopeless(Scheduler *s, Group *group)
{
        Cause cause = gang_hopeless(s, group->gang);
        int kind, queue;

        if (memo_fresh(&group->judged, s->config_version))
                return group->hopeless != CAUSE_NONE ? group->hopeless : cause;
        memo_keep(&group->judged, s->config_version);
        group->hopeless = CAUSE_NONE;
        if (queue_never(group->queue, group->gang, &kind, &queue))
                group->hopeless = CAUSE_TOO_LARGE;
        return group->hopeless != CAUSE_NONE ? group->hopeless : cause;
}

/* ---- now ---- */

/* The kinds of which all nodes together, each by itself, have no place for so many tasks. */
static guint32 short_of_places(Scheduler *s, const Gang *gang, int role)
{
        Class *class = gang->classes[role];
        gint64 slots[RESOURCE_KINDS_MAX] = { 0 };
        guint32 lacking = 0;

        class_sync(s, class);
        for (guint i = 0; i < s->nodes->len; i++) {
                Resources available;

                if (!class->index.eligible[i])
                        continue;
                available = node_available(s->nodes->pdata[i]);
                FOR_KINDS(kind, class->mask)
                        slots[kind] += MAX(0, available.amount[kind]) / class->each.amount[kind];
        }
        FOR_KINDS(kind, class->mask)
                lacking |= (guint32)(slots[kind] < gang->need[role]) << kind;
        return lacking;
}

static guint32 short_in_all(const Scheduler *s, const Gang *gang)
{
        const Cluster *cluster = cluster_find(s, gang->cluster);
        guint32 lacking = 0;

        FOR_KINDS(kind, gang->mask) {
                gint64 kept = cluster->planned.amount[kind] - cluster->releasing.amount[kind];

                if (gang->need_total.amount[kind] > cluster->free.amount[kind] - MAX(0, kept))
                        lacking |= 1u << kind;
        }
        return lacking;
}

guint32 gang_lacking(Scheduler *s, Gang *gang)
{
        guint32 lacking = short_in_all(s, gang);

        if (lacking)
                return lacking;
        if (memo_fresh(&gang->lacking_memo, s->versions))
                return gang->lacking;
        for (int role = 0; role < gang->n_roles; role++)
                if (gang->need[role] > 0)
                        lacking |= short_of_places(s, gang, role);
        gang->lacking = lacking ? lacking : gang->mask;
        memo_keep(&gang->lacking_memo, s->versions);
        return gang->lacking;
}
