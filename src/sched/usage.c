/* What users and queues used of late: the integral of their dominant share of the cluster over time, in
 * which everything counts half after half_life_ms. Integers only, and what is read is never written back: a
 * reader does not change what is decided. */
#include "sched/state.h"

enum { FIXED = 30, STEPS = 64 };

/* 2^(-i/64) × 2^30. */
static const guint32 powers[STEPS + 1] = {
#include "sched/usage-table.h"
};

/* 2^(-dt / half life) × 2^30. */
static guint64 decay(const Scheduler *s, gint64 dt)
{
        gint64 halvings = dt / s->half_life_ms, rest = dt % s->half_life_ms;
        guint64 at, step, part, value;

        if (halvings >= 63)
                return 0;
        /* position among the steps, with 20 bits of fraction */
        at = (guint64)(((Wide)(guint64)rest * STEPS << 20) / (guint64)s->half_life_ms);
        step = at >> 20;
        part = at & ((1u << 20) - 1);
        value = powers[step] - (((guint64)(powers[step] - powers[step + 1]) * part) >> 20);
        return value >> halvings;
}

gint64 usage_at(const Scheduler *s, const Usage *usage, gint64 now)
{
        guint64 kept;
        Wide grown, old;

        if (now <= usage->at)
                return usage->value;
        kept = decay(s, now - usage->at);
        old = ((Wide)(guint64)usage->value * kept) >> FIXED;
        /* rate × (half life / ln 2) × (1 - kept); 1 / ln 2 = 1549082005 / 2^30 */
        grown = ((Wide)(guint64)usage->rate * (guint64)s->half_life_ms * 1549082005u) >> FIXED;
        grown = (grown * (((guint64)1 << FIXED) - kept)) >> FIXED;
        return (gint64)MIN(old + grown, (Wide)G_MAXINT64 / 4);
}

void usage_set_rate(const Scheduler *s, Usage *usage, gint64 rate, gint64 now)
{
        usage->value = usage_at(s, usage, now);
        usage->at = MAX(now, usage->at);
        usage->rate = rate;
}

/* The dominant share of the cluster, in millionths. */
static gint64 share_of(const Cluster *cluster, const Resources *alloc)
{
        gint64 share = 0;

        for (int i = 0; i < RESOURCE_KINDS_MAX; i++)
                if (alloc->amount[i] > 0 && cluster->total.amount[i] > 0)
                        share = MAX(share, (gint64)((Wide)(guint64)alloc->amount[i] * 1000000 /
                                                    (guint64)cluster->total.amount[i]));
        return MIN(share, 1000000);
}

void account_changed(Scheduler *s, Account *account)
{
        Lane *queue = lane_find(s, account->queue);
        gint64 rate = share_of(cluster_get(s, queue->cluster), &account->alloc),
               more = rate - account->usage.rate;

        if (more == 0)
                return;
        usage_set_rate(s, &account->usage, rate, s->now);
        for (; queue; queue = queue->parent)
                usage_set_rate(s, &queue->usage, queue->usage.rate + more, s->now);
}
