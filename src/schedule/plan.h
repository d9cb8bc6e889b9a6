/* What a schedule does now (doc/reference/pipelines.md, "Schedules"): which of its due ticks become runs, which are recorded as
 * skipped, and which of its runs are stopped. Pure: no clock, no I/O. Times are ms since 1970. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/schedule-record.h"
#include "schedule/cron.h"

enum {
        PLAN_EXPIRED_MAX = 1000, /* of a series of expired ticks, so many at most get a record: the newest */
};

typedef struct {
        const Cron *cron;
        gint64 next_at;     /* the first tick that is not decided yet */
        gint64 end_at;      /* no ticks after it; 0: no end */
        gint64 expire_ms;   /* a tick that is late by more is skipped; 0: never */
        gint64 concurrency; /* runs at a time; 0: any number */
        SchedulePolicy policy;
        bool catchup;
        gint64 started; /* without catchup, ticks before it are dropped: the start of the server */
} ScheduleRule;

typedef enum {
        TICK_RUN,
        TICK_EXPIRED,  /* skipped: it is too late */
        TICK_REPLACED, /* skipped: a later tick takes its place */
        TICK_SKIPPED,  /* skipped: too many runs */
} TickFate;

typedef struct {
        gint64 at;
        TickFate fate;
} PlannedTick;

typedef struct {
        GArray *ticks;  /* PlannedTick, in order of time */
        guint runs;     /* of these, TICK_RUN */
        gint64 next_at; /* the first tick that is not decided; 0: there are no more */
        guint looked;   /* later ticks that were counted: what the plan cost besides its ticks */
        guint stop;     /* so many of the oldest active runs are stopped */
        bool waits;     /* next_at is due, and waits for the end of a run */
        bool more;      /* next_at is due, and `max` ticks were decided */
        bool dropped;   /* ticks before the first one expired, and are too many for a record each */
} SchedulePlan;

/* The clock was set back: the crontab has ticks between `now` and `next_at`, which were decided before. `from`: no ticks before it
 * count. */
bool schedule_is_ahead(const ScheduleRule *rule, gint64 from, gint64 now);
/* Decides at most `max` ticks; the rest is decided with the next plan, to the same effect. `active`: runs of the schedule that
 * have not ended. */
void schedule_plan(const ScheduleRule *rule, guint active, gint64 now, guint max, SchedulePlan *ret);
/* The first tick only, at little cost: no later one is looked at. So it is TICK_RUN also where schedule_plan says TICK_REPLACED. */
void schedule_plan_first(const ScheduleRule *rule, guint active, gint64 now, SchedulePlan *ret);
void schedule_plan_clear(SchedulePlan *plan);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SchedulePlan, schedule_plan_clear)
