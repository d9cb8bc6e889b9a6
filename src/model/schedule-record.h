/* A schedule as the store keeps it: it creates runs of one version of a stored pipeline. Times are ms since 1970, 0: none. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum {
        SCHEDULE_NAME_MAX = 50,  /* bytes, at least 2 */
        SCHEDULE_NOTE_MAX = 256, /* bytes */
};

/* The numbers are in databases. */
typedef enum {
        SCHEDULE_RUNNING,
        SCHEDULE_SUCCESS,    /* all its ticks are over */
        SCHEDULE_TERMINATED, /* a user stopped it */
        SCHEDULE_FAILED,     /* its pipeline is gone */
        SCHEDULE_STATES,
} ScheduleState;
const char *schedule_state_name(ScheduleState state);
bool schedule_state_parse(const char *name, ScheduleState *ret); /* false: unknown name */

/* What happens to a tick when the runs are at their limit. The numbers are in databases. */
typedef enum {
        SCHEDULE_SUSPEND, /* it waits for the end of a run */
        SCHEDULE_REPLACE, /* it runs, and the oldest runs are stopped */
        SCHEDULE_SKIP,    /* it is recorded as skipped */
        SCHEDULE_POLICIES,
} SchedulePolicy;
const char *schedule_policy_name(SchedulePolicy policy);
/* "" is SCHEDULE_SUSPEND. ERR_INVALID names the policies. */
bool schedule_policy_parse(const char *name, SchedulePolicy *ret, GError **error);

typedef struct {
        gint64 seq;      /* the store's key; grows with creation, never used again */
        gint64 revision; /* of its last event */
        char *user, *name;
        char *note;          /* what it is for, in the words of its owner; or NULL */
        char *run_user;      /* whose file systems its runs use, and whose runs they are; NULL: `user` */
        gint64 pipeline;     /* seq */
        int version;         /* of it */
        char *pipeline_name; /* of it; NULL: it was deleted; set by queries, not stored */
        char *fs;            /* the main file system of this version; or NULL */
        char *mounts;        /* all file systems that this version names, separated by commas; or NULL */
        char *queue;         /* of steps that name none; NULL: the server's default */
        char *crontab;
        gint64 start_at, end_at;
        gint64 concurrency;   /* runs at a time; 0: any number */
        gint64 expire_s;      /* a tick that is later is skipped; 0: never */
        guint8 policy, state; /* SchedulePolicy, ScheduleState */
        bool catchup;         /* ticks that were missed are made up for */
        char *message;        /* why it ended, or why its runs wait; or NULL */
        gint64 created, updated;
        gint64 next_at; /* the first tick that is not decided yet */
} ScheduleRecord;
void schedule_record_free(ScheduleRecord *record); /* NULL is a no-op */
ScheduleRecord *schedule_record_copy(const ScheduleRecord *record);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ScheduleRecord, schedule_record_free)

/* "\nA schedule's name has no '-', as in PaddleFlow: 'nightly_train'.", the hint for a name that is valid but for its '-';
 * "" for others. The caller's. */
char *schedule_name_advice(const char *name);
/* 2 to 50 letters, digits and '_', not beginning with a digit. */
bool schedule_name_is_valid(const char *name);
