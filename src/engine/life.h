/* The life cycle of a job: what one change means for the whole. Pure: a draft and the time in, the changed
 * draft and notes of what happened out. Effects follow from the difference between the published view and the
 * draft (actions.h); nothing here causes any.
 *
 *   queued ─▶ starting ─▶ running ─▶ succeeded        all members that have to end did so with status 0
 *    │  ▲        ├───────────┴────▶ stopping ─▶ failed | cancelled | queued | suspended
 *    │  │        └───────────┬────▶ preempting ─▶ queued | preempted     a warning, its grace, KILL
 *    │  └─ release ─ suspended ◀─ hold
 *    └▶ cancelled | failed (its environment, a dependency that can no longer hold)
 *
 * While a job is `stopping` or `preempting`, stop_to says where it goes once all its members have ended.
 *
 * An elastic job may have fewer members than it asked for: those that have no place are `surplus`. A member
 * that has to go while the others run on is `stopping` and then surplus; how it ends does not count. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/job.h"

/* An event to be: kind as doc/guide/rest.md lists them, data a JSON object. */
typedef struct {
        const char *kind;
        char *data;
} LifeNote;

typedef struct {
        Job *job;      /* the draft */
        gint64 now;    /* ms */
        GArray *notes; /* LifeNote, in order of happening */
        bool gates;    /* the runtime holds members back until those of earlier phases listen */
        bool orders;   /* the runtime starts them in their order by itself */
        bool ends;     /* the change is a member's end: set by life_member_ended */
} Life;

/* What stop_to says besides final states and `suspended`: both lead back into the queue. */
enum {
        LIFE_RETRY = JOB_QUEUED,     /* after a failed or lost attempt: waits for its back-off */
        LIFE_REQUEUE = JOB_ADMITTED, /* as if it had not been admitted: at once, and free of charge */
};

enum {
        LIFE_LOST_MAX = 10,               /* attempts that may be lost before a job fails */
        LIFE_BACKOFF_MAX_MS = 300 * 1000, /* before a further attempt */
        LIFE_ROOM_MAX_MS = 600 * 1000, /* of grace, for one that goes for another: what is lent comes back */
};

/* How a member ended. */
typedef enum {
        END_EXITED, /* exit_code or signal hold */
        END_LOST,   /* nobody knows; the machine restarted, or its keeper was killed */
        END_START_FAILED,
} EndKind;

typedef struct {
        EndKind kind;
        int exit_code; /* -1 when ended by a signal */
        int signal;
        bool oom;
        bool hung_up; /* its terminal went and did not come back */
        gint64 time;
        gint64 peak_memory, cpu_us;
        const char *text;      /* why, or NULL */
        const char *note;      /* EXITED: Observation.note */
        const char *last_line; /* EXITED: Observation.last_line, without secrets */
        bool permanent;        /* could not be started, and never will be */
        bool rebooted;         /* reported as left over from before a restart of the machine */
} MemberEnd;

void life_submitted(Life *life, EnvState env);
void life_building(Life *life); /* its environment, which waited for that */
void life_environment(Life *life, EnvState env, const char *why);

/* The job's members are made, those with a place waiting, the others surplus: moves to starting and intends
 * the first phase; all phases, where the runtime keeps their order. */
void life_admitted(Life *life);

/* It has to make room for another one, named in a sentence ("job 'x' (ID)") and by its id. */
void life_evicted(Life *life, const char *for_text, const char *for_id);
/* The members for which `stays` is false have to go. */
void life_shrunk(Life *life, const bool *stays, const char *for_text, const char *for_id);
/* The surplus members for which `comes` is true have a place again. */
void life_grown(Life *life, const bool *comes);

void life_member_started(Life *life, int index, int pid, gint64 time);
/* Its cluster has given it a node, by name. */
void life_member_placed(Life *life, int index, const char *node);
/* It was asked for and does not run yet: why. */
void life_member_waits(Life *life, int index, const char *why);
void life_member_ready(Life *life, int index, gint64 time);
/* What the member reported (model/results.h); before its end. */
void life_member_reported(Life *life, int index, const char *text);
void life_member_ended(Life *life, int index, const MemberEnd *end);

/* What people ask for. False with ERR_CONFLICT when the job is in a final state, or on its way to one. What
 * is so already is true. */
/* `force`, and asked of a job that is stopping for good already: what is left of it is killed at once. */
bool life_cancel(Life *life, bool force, const char *by, GError **error);
bool life_hold(Life *life, const char *by, GError **error);
bool life_release(Life *life, GError **error);
bool life_requeue(Life *life, const char *by, GError **error);
bool life_saved(Life *life, GError **error);

/* It waits in vain, for the reason given (taken). */
void life_given_up(Life *life, char *reason);
/* No cluster can run it, for the reason given (taken). */
void life_refused(Life *life, char *reason);
/* One of the jobs that it waits for has ended as it should: `after` loses that entry. */
void life_after(Life *life, const char *entry);
/* Priority, queue, labels or annotations were changed in the draft. */
void life_changed(Life *life, const char *by);

/* What its clock says at life->now: the warning before its time limit, the limit, the end of an eviction's
 * grace, a start that made no progress for its start timeout; of one that waits: its terminal was closed. */
void life_clock(Life *life);

/* When the clock matters next to this job, ms; 0: never. That of waiting jobs is the scheduler's. */
gint64 life_due(const Job *job);
/* When a job that waits for its first start is hung up, because it has had no terminal since `alone`, ms;
 * 0: never. Once it has started, its terminal's host sees to it (terminal/terminal.h). */
gint64 life_hangup_due(const Job *job, gint64 alone);

/* Does not run any more, or not at present. */
bool member_is_ended(const Member *member);
/* Told to go while the others run on. */
bool member_is_leaving(const Job *job, const Member *member);
/* All that has to end by itself did, and well; what is left is being stopped. */
bool life_is_done(const Job *job);
/* Holds nothing (any more): not admitted, or all its members have ended. */
bool life_is_at_rest(const Job *job);
/* When the present waiting, or the attempt that it led to, began. */
gint64 life_queued_since(const Job *job);
/* The grace of members that make room for another job: the specification's, but at most LIFE_ROOM_MAX_MS. */
gint64 life_room_grace_ms(const Spec *spec);
