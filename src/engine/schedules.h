/* Schedules in the engine. Internal to schedules*.c.
 *
 *   wake ─▶ schedules_work: schedule_plan ─┬─ runs to create, no text yet ─▶ a worker reads and compiles it ─▶ wake
 *                                          └─▶ records of runs and the next tick, in one transaction ─▶ commit
 *
 * The next tick is stored with the runs of those before it, and only grows. So each tick has one run, also if the server is
 * killed or the clock is set back. A schedule whose next tick is far because the clock was set back says so in its message.
 *
 * Each tick that gets a record takes one from the owner's rate (EngineConfig.schedule_rate), skipped ones, too. Above it, ticks
 * wait. */
#pragma once

#include "engine/runs.h"
#include "model/schedule-record.h"
#include "schedule/cron.h"

enum {
        SCHEDULES_MAX = 20000,        /* on the server */
        SCHEDULES_OF_USER_MAX = 1000, /* administrators have no such limit */
        SCHEDULE_TICKS = 128,         /* of all schedules in a batch */
        SCHEDULE_TICKS_ONE = 32,      /* ... of one, before others have their turn */
        SCHEDULE_LOOKS = 32,          /* later ticks that are counted cost as much as one that is decided */
        SCHEDULE_HOLD_MS = 2000,      /* after which a tick is tried again that a limit of runs held back */
        SCHEDULE_FULL_MS = 60 * 1000, /* ... if its owner's runs take too much in the store */
        SCHEDULE_BACK_MS = 60 * 1000, /* a clock that is set back by more is a reason for a message */
};

typedef struct LiveSchedule {
        ScheduleRecord *record; /* of the open batch */
        ScheduleRecord *was;    /* as it was committed while dirty; NULL: it is new */
        bool dirty;             /* in batch.schedules */
        bool dropped;           /* it is deleted by the open batch */
        Cron *cron;             /* NULL: it does not run, or its zone is gone */
        GArray *active;         /* gint64: its runs that have not ended, oldest first */
        gint64 wake;            /* ms: when it is looked at; valid with `timer` */
        GSequenceIter *timer;   /* NULL: it waits for a run or for its text, or has ended */
        bool waits;             /* a tick is due, and waits for the end of a run */
        bool asked;             /* a worker looks at its owner's runs, and reads its text */
        bool checked;           /* it has, for the ticks of the next batch */
        bool clock_back;        /* the clock was set back since it was looked at */
        char *full;             /* the owner's runs take too much in the store; or NULL */
        RunPlan *plan;          /* the compiled text, for the runs of the next batch; or NULL */
        char *trouble;          /* why there is none; or NULL */
} LiveSchedule;

/* ---- schedules.c: the set ---- */

/* NULL: there is none. */
LiveSchedule *schedules_find(Engine *engine, gint64 seq);
LiveSchedule *schedules_find_name(Engine *engine, const char *user, const char *name);
guint schedules_count_of(Engine *engine, const char *user);
/* Adds one that is new; dirty. Takes both. */
LiveSchedule *schedules_add(Engine *engine, ScheduleRecord *record, Cron *cron);
/* Whose file systems its runs use. */
const char *schedules_run_user(const ScheduleRecord *record);
/* It is going to change. */
void schedules_touch(Engine *engine, LiveSchedule *live);
/* Ends it; `event`: "schedule.stopped". Takes `message`. */
void schedules_end(Engine *engine, LiveSchedule *live, ScheduleState state, const char *event, char *message);
void schedules_drop(Engine *engine, LiveSchedule *live, const char *by);
/* An event of the schedule, which becomes its revision. Takes `data`. */
void schedules_note(Engine *engine, LiveSchedule *live, const char *kind, json_t *data);
/* Those that are not deleted: borrowed, in a list that is the caller's. */
GPtrArray *schedules_all(Engine *engine);
/* Not deleted, and its state is `running`. */
bool schedules_is_running(const LiveSchedule *live);
/* Its message to people. Takes `message`; NULL: none. */
void schedules_set_message(LiveSchedule *live, char *message);
/* Looks at it at this time, ms. */
void schedules_wake_at(Engine *engine, LiveSchedule *live, gint64 at);
/* ... at the time of its next tick; at once if the clock was set back. */
void schedules_wake_next(Engine *engine, LiveSchedule *live);
void schedules_stop_timer(LiveSchedule *live);

/* ---- schedules-tick.c: ticks that are due ---- */

/* What its runs change of the definition; the caller's. Any thread. */
json_t *schedules_request(const ScheduleRecord *record);
/* The record of a run for this tick, ms; not in the batch yet. The caller's. */
RunRecord *schedules_new_run(Engine *engine, const ScheduleRecord *schedule, gint64 tick);

/* ---- schedules-text.c: the text of its pipeline ---- */

/* Asks a worker whether its owner's runs fit into the store and, with `compile`, for the compiled text. It is looked at again after
 * the answer. */
void schedules_ask_text(Engine *engine, LiveSchedule *live, bool compile);
/* The answer serves the ticks of one batch: a text may be large. */
void schedules_forget_text(LiveSchedule *live);
