/* The life cycle of a job: what one change means for the whole. Pure: a draft and the time in, the changed
 * draft and notes of what happened out. Effects follow from the difference between the published view and the
 * draft (actions.h); nothing here causes any.
 *
 *   queued ─▶ starting ─▶ running ─▶ succeeded        all members that have to end did so with status 0
 *     │           └───────────┴────▶ stopping ─▶ failed | cancelled | queued (repeated)
 *     └▶ cancelled | failed (its environment)
 *
 * While a job is `stopping`, stop_to says where it goes once all its members have ended. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/job.h"

/* An event to be: kind as doc/rest.md lists them, data a JSON object. */
typedef struct {
        const char *kind;
        char *data;
} LifeNote;

typedef struct {
        Job *job;      /* the draft */
        gint64 now;    /* ms */
        GArray *notes; /* LifeNote, in order of happening */
} Life;

enum {
        LIFE_LOST_MAX = 10,               /* attempts that may be lost before a job fails */
        LIFE_BACKOFF_MAX_MS = 300 * 1000, /* before a further attempt */
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
        gint64 time;
        gint64 peak_memory, cpu_us;
        const char *text; /* why, or NULL */
        bool permanent;   /* could not be started, and never will be */
        bool rebooted;    /* reported as left over from before a restart of the machine */
} MemberEnd;

void life_submitted(Life *life, EnvState env);
void life_environment(Life *life, EnvState env, const char *why);

/* The job's members are made, none is intended yet: moves to starting and intends the first phase. */
void life_admitted(Life *life);

void life_member_started(Life *life, int index, int pid, gint64 time);
void life_member_ready(Life *life, int index, gint64 time);
void life_member_ended(Life *life, int index, const MemberEnd *end);

/* False with ERR_CONFLICT when the job is in a final state. */
bool life_cancel(Life *life, const char *by, GError **error);

/* Its time limit is reached. */
void life_expired(Life *life);

/* When the clock matters next to this job, ms; 0: never. */
gint64 life_due(const Job *job);

bool member_is_ended(const Member *member);
/* Holds nothing (any more): not admitted, or all its members have ended. */
bool life_is_at_rest(const Job *job);
/* When the present waiting, or the attempt that it led to, began. */
gint64 life_queued_since(const Job *job);
