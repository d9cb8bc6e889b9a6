/* What users and queues used of late: the integral of their dominant share of the cluster over time, in
 * which everything counts half after half_life_ms. Integers only, and what is read is never written back: a
 * reader does not change what is decided. */
#include "sched/state.h"

enum { FIXED = 60, STEPS = 64 };
#define ONE ((guint64)1 << FIXED)
#define STEP_LN2 12486629536330718uLL /* ln 2 / 64 × 2^60 */
#define PER_LN2 1549082005u           /* 1 / ln 2 × 2^30 */

/* 2^(-i/64) × 2^60. */
static const guint64 powers[STEPS] = {
#include "sched/usage-table.h"
};

static guint64 times(guint64 a, guint64 b)
{
        return (guint64)((Wide)a * b >> FIXED);
}

/* 2^(-dt / half life) × 2^60: a power of the table, and e^-x for what is left of a step. */
static guint64 decay(const Scheduler *s, gint64 dt)
{
        gint64 halvings = dt / s->half_life_ms, rest = dt % s->half_life_ms;
        Wide at = ((Wide)(guint64)(rest * STEPS) << 40) / (guint64)s->half_life_ms;
        guint64 step = (guint64)(at >> 40), part = (guint64)at & (((guint64)1 << 40) - 1), x, e;

        if (halvings >= FIXED)
                return 0;
        x = (guint64)((Wide)part * STEP_LN2 >> 40);
        e = ONE - x + times(x, x) / 2 - times(times(x, x), x) / 6 + times(times(x, x), times(x, x)) / 24;
        return times(powers[step], e) >> halvings;
}

static bool is_constant(const Usage *usage, gint64 now)
{
        return now <= usage->at || (usage->value == 0 && usage->rate == 0);
}

/* `kept`: what is left of the value. */
static gint64 decayed(const Scheduler *s, const Usage *usage, guint64 kept)
{
        Wide old, ms;

        old = times((guint64)usage->value, kept);
        /* the time that counts, (half life / ln 2) × (1 - kept), in 2^-40 ms */
        ms = ((Wide)(guint64)s->half_life_ms * (ONE - kept) >> 20) * PER_LN2 >> 30;
        return (gint64)MIN(old + ((Wide)(guint64)usage->rate * ms >> 40), (Wide)G_MAXINT64 / 4);
}

gint64 usage_at(const Scheduler *s, const Usage *usage, gint64 now)
{
        return is_constant(usage, now) ? usage->value : decayed(s, usage, decay(s, now - usage->at));
}

gint64 usage_now(Scheduler *s, const Usage *usage)
{
        gint64 dt = s->now - usage->at;

        if (is_constant(usage, s->now))
                return usage->value;
        if (!memo_fresh(&s->decay_memo, (guint64)dt)) {
                s->decay = decay(s, dt);
                memo_keep(&s->decay_memo, (guint64)dt);
        }
        return decayed(s, usage, s->decay);
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
        QueueNode *queue = queue_find(s, account->queue);
        gint64 rate = share_of(cluster_get(s, queue->cluster), &account->alloc),
               more = rate - account->usage.rate;

        if (more == 0)
                return;
        usage_set_rate(s, &account->usage, rate, s->now);
        for (; queue; queue = queue->parent)
                usage_set_rate(s, &queue->usage, queue->usage.rate + more, s->now);
}
