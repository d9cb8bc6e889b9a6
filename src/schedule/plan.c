/* The evaluation of a schedule (see plan.h). */
#include "schedule/plan.h"

enum { LOOK_MAX = 4096 }; /* ticks: more runs than the server takes at a time */

typedef struct {
        const ScheduleRule *rule;
        guint active;
        gint64 until; /* the last moment at which a tick counts: now, or the end */
        gint64 now;
        SchedulePlan *plan;
} Planning;

void schedule_plan_clear(SchedulePlan *plan)
{
        g_clear_pointer(&plan->ticks, g_array_unref);
}

/* 0: there is none. */
static gint64 tick_after(const Planning *planning, gint64 tick)
{
        gint64 next;

        return cron_next(planning->rule->cron, tick, &next) ? next : 0;
}

static bool is_due(const Planning *planning, gint64 tick)
{
        return tick && tick <= planning->until;
}

/* The server was down for long: the oldest of the expired ticks are dropped. Bounded by time, as counting would look at each. */
static gint64 drop_expired(const Planning *planning, gint64 tick)
{
        const ScheduleRule *rule = planning->rule;
        gint64 expired = MIN(planning->now - rule->expire_ms, planning->until), from, first;

        from = expired - PLAN_EXPIRED_MAX * cron_step(rule->cron);
        if (!rule->expire_ms || !tick || tick >= from)
                return tick;
        if (!cron_from(rule->cron, tick, from, &first))
                return 0;
        planning->plan->dropped = true;
        return first;
}

/* without catchup, ticks of before the start are dropped, and of several due ticks the newest counts. */
static gint64 first_tick(const Planning *planning)
{
        const ScheduleRule *rule = planning->rule;
        gint64 tick = rule->next_at;

        if (rule->catchup || !tick)
                return drop_expired(planning, tick);
        if (!cron_from(rule->cron, tick, rule->started, &tick))
                return 0;
        return is_due(planning, tick) ? cron_last(rule->cron, tick, planning->until) : tick;
}

static void add(const Planning *planning, gint64 at, TickFate fate)
{
        const PlannedTick tick = { at, fate };

        g_array_append_val(planning->plan->ticks, tick);
        planning->plan->runs += fate == TICK_RUN;
}

static bool is_free(const Planning *planning)
{
        gint64 limit = planning->rule->concurrency;

        return limit == 0 || (gint64)planning->active + planning->plan->runs < limit;
}

static void decide_all(const Planning *planning, guint max)
{
        const ScheduleRule *rule = planning->rule;
        SchedulePlan *plan = planning->plan;

        while (is_due(planning, plan->next_at) && plan->ticks->len < max) {
                gint64 tick = plan->next_at;

                if (rule->expire_ms && tick + rule->expire_ms < planning->now)
                        add(planning, tick, TICK_EXPIRED);
                else if (is_free(planning) || rule->policy == SCHEDULE_REPLACE)
                        add(planning, tick, TICK_RUN);
                else if (rule->policy == SCHEDULE_SKIP)
                        add(planning, tick, TICK_SKIPPED);
                else
                        break;
                plan->next_at = tick_after(planning, tick);
        }
        plan->more = is_due(planning, plan->next_at) && plan->ticks->len == max;
        plan->waits = is_due(planning, plan->next_at) && !plan->more;
}

/* Due ticks that this plan does not decide, as far as they matter. */
static gint64 count_later(const Planning *planning)
{
        gint64 tick = planning->plan->next_at, n = 0;

        for (; is_due(planning, tick) && n < MIN(planning->rule->concurrency, LOOK_MAX); n++)
                tick = tick_after(planning, tick);
        planning->plan->looked = (guint)n;
        return n;
}

/* Of the ticks that would run, the last `keep` do. */
static void replace_first(const Planning *planning, gint64 keep)
{
        SchedulePlan *plan = planning->plan;

        for (guint i = 0; i < plan->ticks->len && plan->runs > keep; i++) {
                PlannedTick *tick = &g_array_index(plan->ticks, PlannedTick, i);

                if (tick->fate != TICK_RUN)
                        continue;
                tick->fate = TICK_REPLACED;
                plan->runs--;
        }
}

/* The newest ticks win: over earlier ones, and over runs. */
static void replace(const Planning *planning)
{
        gint64 limit = planning->rule->concurrency, later, due, over;

        if (planning->plan->runs == 0)
                return;
        later = count_later(planning);
        due = planning->plan->runs + later;
        over = planning->active + due - limit;
        if (over <= 0)
                return;
        if (due >= limit) {
                replace_first(planning, MAX(limit - later, 0));
                planning->plan->stop = planning->active;
        } else {
                planning->plan->stop = (guint)over;
        }
}

bool schedule_is_ahead(const ScheduleRule *rule, gint64 from, gint64 now)
{
        gint64 first;

        return rule->next_at > now && cron_next(rule->cron, MAX(now, from), &first) && first < rule->next_at;
}

static void plan_ticks(const ScheduleRule *rule, guint active, gint64 now, guint max, bool looks,
                       SchedulePlan *ret)
{
        const Planning planning = { .rule = rule,
                                    .active = active,
                                    .until = rule->end_at ? MIN(now, rule->end_at) : now,
                                    .now = now,
                                    .plan = ret };

        *ret = (SchedulePlan){ .ticks = g_array_new(FALSE, FALSE, sizeof(PlannedTick)) };
        ret->next_at = first_tick(&planning);
        decide_all(&planning, max);
        if (looks && rule->policy == SCHEDULE_REPLACE && rule->concurrency > 0)
                replace(&planning);
        if (rule->end_at && ret->next_at > rule->end_at)
                ret->next_at = 0;
}

void schedule_plan(const ScheduleRule *rule, guint active, gint64 now, guint max, SchedulePlan *ret)
{
        plan_ticks(rule, active, now, max, true, ret);
}

void schedule_plan_first(const ScheduleRule *rule, guint active, gint64 now, SchedulePlan *ret)
{
        plan_ticks(rule, active, now, 1, false, ret);
}
