/* The life cycle of a job: how one change affects the whole job. Pure: it takes a draft and the time, and
 * returns the changed draft and notes of what happened. Effects follow from the difference between the
 * published view and the draft (actions.h); no function here causes any.
 *
 *   queued ─▶ starting ─▶ running ─▶ succeeded        all members that have to end did so with status 0
 *    │  ▲        ├───────────┴────▶ stopping ─▶ failed | cancelled | queued | suspended
 *    │  │        └───────────┬────▶ preempting ─▶ queued | preempted     a warning, its grace, KILL
 *    │  └─ release ─ suspended ◀─ hold
 *    └▶ cancelled | failed (a preparation, a dependency that can no longer hold)
 *
 * While a job is `stopping` or `preempting`, stop_to is the state that follows when all its members have
 * ended.
 *
 * An elastic job may have fewer members than it requested: those without a place are `surplus`. A member that
 * has to leave while the others continue is `stopping` and then surplus; its exit status does not count. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/job.h"

/* A future event: kind as doc/guide/rest.md lists them, data a JSON object. */
typedef struct {
        const char *kind;
        char *data;
} LifeNote;

typedef struct {
        Job *job;      /* the draft */
        gint64 now;    /* ms */
        GArray *notes; /* LifeNote, in order of time */
        bool gates;    /* the runtime holds members back until those of earlier phases listen */
        bool orders;   /* the runtime itself starts members in their order */
        bool ends;     /* the change is the end of a member; set by life_member_ended */
} Life;

/* Values of stop_to besides final states and `suspended`. Both return the job to its queue. */
enum {
        LIFE_RETRY = JOB_QUEUED,     /* after a failed or lost attempt: after its back-off */
        LIFE_REQUEUE = JOB_ADMITTED, /* as if it had not been admitted: at once, without using a retry */
};

enum {
        LIFE_LOST_MAX = 10,               /* lost attempts until a job fails */
        LIFE_BACKOFF_MAX_MS = 300 * 1000, /* before a further attempt */
        LIFE_ROOM_MAX_MS = 600 * 1000, /* longest grace of a job that is preempted, so that lent capacity is
                                          returned */
};

/* How a member ended. */
typedef enum {
        END_EXITED, /* exit_code or signal is set */
        END_LOST,   /* the outcome is unknown: the machine restarted, or its keeper was killed */
        END_START_FAILED,
} EndKind;

typedef struct {
        EndKind kind;
        int exit_code; /* -1: ended by a signal */
        int signal;
        bool oom;
        bool hung_up; /* its terminal was closed and none was connected in time */
        gint64 time;
        gint64 peak_memory, cpu_us;
        const char *text;      /* why, or NULL */
        const char *note;      /* EXITED: Observation.note */
        const char *last_line; /* EXITED: Observation.last_line, without secrets */
        bool permanent;        /* the start failed, and would fail again */
        bool no_space;         /* LOST: it did not run, since a disk was full */
        bool rebooted;         /* reported as left over from before a restart of the machine */
} MemberEnd;

/* Its preparations have their first states: ready, waiting or running. */
void life_submitted(Life *life);
/* One of its preparations (model/preparation.h) runs now, is ready, or has failed: `why` is an error's message, or
 * NULL. A failure fails the job, whatever the other preparations do. */
void life_preparing(Life *life, PreparationKind kind);
void life_prepared(Life *life, PreparationKind kind);
void life_unprepared(Life *life, PreparationKind kind, const char *why);

/* All its preparations are ready, and its members have been created: those with a place are waiting, the others surplus. Moves the job to
 * starting and intends the first phase; all phases, if the runtime keeps their order. */
void life_admitted(Life *life);

/* The job is preempted for another one, given as words ("job 'x' (ID)") and as its id. */
void life_evicted(Life *life, const char *for_text, const char *for_id);
/* The members for which `stays` is false have to leave. */
void life_shrunk(Life *life, const bool *stays, const char *for_text, const char *for_id);
/* The surplus members for which `comes` is true have a place again. */
void life_grown(Life *life, const bool *comes);

void life_member_started(Life *life, int index, int pid, gint64 time);
/* Its cluster assigned the member to a node, given by name. */
void life_member_placed(Life *life, int index, const char *node);
/* The start was requested, but the member does not run yet: why. */
void life_member_waits(Life *life, int index, const char *why);
void life_member_ready(Life *life, int index, gint64 time);
/* Stores the results that the member reported (model/results.h). Call it before life_member_ended. */
void life_member_reported(Life *life, int index, const char *text);
void life_member_ended(Life *life, int index, const MemberEnd *end);

/* Actions of users. False with ERR_CONFLICT if the job is in a final state, or on its way to one. True if the
 * result already holds. */
/* `force`, or a job that is already stopping to end: its remaining members are killed at once. */
bool life_cancel(Life *life, bool force, const char *by, GError **error);
bool life_hold(Life *life, const char *by, GError **error);
bool life_release(Life *life, GError **error);
bool life_requeue(Life *life, const char *by, GError **error);
bool life_saved(Life *life, GError **error);

/* Its start is given up, for this reason (taken). */
void life_given_up(Life *life, char *reason);
/* No cluster can run it, for this reason (taken). */
void life_refused(Life *life, char *reason);
/* One of the jobs that it waits for has ended as required: removes that entry from `after`. */
void life_after(Life *life, const char *entry);
/* Priority, queue, labels or annotations were changed in the draft. */
void life_changed(Life *life, const char *by);

/* Handles what is due at life->now: the warning before the time limit, the limit, the end of an eviction's
 * grace, a start without progress for its start timeout; for a waiting job: its terminal was closed. */
void life_clock(Life *life);

/* When life_clock is due next for this job, ms; 0: never. The scheduler handles the times of waiting jobs. */
gint64 life_due(const Job *job);
/* When a job that waits for its first start is hung up because it has had no terminal since `alone`, ms; 0:
 * never. After the start its terminal's host does this (terminal/terminal.h). */
gint64 life_hangup_due(const Job *job, gint64 alone);

/* True if the member does not run any more, or currently not. */
bool member_is_ended(const Member *member);
/* True if it was told to leave while the others continue. */
bool member_is_leaving(const Job *job, const Member *member);
/* True if all members that have to end by themselves did, successfully; the rest is being stopped. */
bool life_is_done(const Job *job);
/* True if it holds no resources: not admitted, or all its members have ended. */
bool life_is_at_rest(const Job *job);
/* When the current waiting began, or the waiting that led to the current attempt. */
gint64 life_queued_since(const Job *job);
/* The grace of members that are preempted: the specification's, but at most LIFE_ROOM_MAX_MS. */
gint64 life_room_grace_ms(const Spec *spec);
