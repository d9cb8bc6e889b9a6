/* A job: its specification and its state. A Job is an immutable, counted view. The engine makes a new one for
 * each change (job_draft) and publishes it after the commit. Readers hold references. Times are ms since
 * 1970, 0: not yet.
 *
 *   queued ─▶ starting ─▶ running ─▶ succeeded | failed
 *     ▲           │           │
 *     └─ retry ───┴─────┬─────┘        (a failed attempt that may be repeated; waits until not_before)
 *   any open state ─▶ stopping ─▶ cancelled | failed | queued | suspended | preempted     TERM, grace, KILL
 *   starting | running ─▶ preempting ─▶ queued | preempted     a warning, grace, KILL: frees capacity
 *   queued ◀─▶ suspended                                       hold and release
 *
 * The table of states is in doc/internals/design.md, "A job"; `submitted` and `admitted` are passed within
 * one transaction. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/id.h"
#include "base/json.h"
#include "model/preparation.h"
#include "model/resources.h"
#include "model/spec.h"

typedef enum {
        JOB_SUBMITTED,
        JOB_QUEUED,
        JOB_SUSPENDED,
        JOB_ADMITTED,
        JOB_STARTING,
        JOB_RUNNING,
        JOB_PREEMPTING,
        JOB_STOPPING,
        JOB_SUCCEEDED,
        JOB_FAILED,
        JOB_CANCELLED,
        JOB_PREEMPTED,
        JOB_STATES,
} JobState;

const char *job_state_name(JobState state);
bool job_state_parse(const char *name, JobState *ret); /* false: unknown name */
bool job_state_is_final(JobState state);
bool job_state_can(JobState from, JobState to); /* whether the table allows the change */

typedef enum {
        MEMBER_WAITING,  /* of a later phase, or its start is not yet recorded */
        MEMBER_INTENDED, /* the intent to start it is durable; the start is not confirmed */
        MEMBER_RUNNING,  /* the agent reported its start */
        MEMBER_READY,    /* it listens on its port or declared that it is ready */
        MEMBER_STOPPING, /* TERM was requested */
        MEMBER_EXITED,   /* exit_code and signal are valid */
        MEMBER_LOST,     /* its keeper is gone and left no record (machine restart) */
        MEMBER_SURPLUS,  /* of an elastic job that currently has fewer members: not placed, or told to leave
                            and gone */
        MEMBER_STATES,
} MemberState;

const char *member_state_name(MemberState state);
bool member_state_parse(const char *name, MemberState *ret);

typedef struct {
        guint8 state;     /* MemberState */
        guint8 role;      /* index into spec->roles */
        guint8 signal;    /* the signal that ended it, or 0 */
        bool oom;         /* killed by its memory limit (the cgroup's own counter) */
        gint16 exit_code; /* -1: not known yet, or ended by a signal */
        guint16 port;     /* leased, or 0 */
        int index;        /* within the role */
        int pid;          /* 0: unknown */
        gint64 started, finished;
        gint64 peak_memory;  /* bytes */
        gint64 cpu_us;       /* user + system */
        char *gpus;          /* "0,1" or NULL */
        char *node;          /* node of its cluster on which the scheduler placed and counts it; NULL: this
                               machine */
        char *reported_node; /* node of its cluster on which it is, as its runtime reported; NULL: on none yet,
                               or this machine */
        char *error;         /* why it could not be started; or NULL */
} Member;

/* job_ref takes only jobs of job_new and job_draft: their reference count is before them. */
typedef struct Job {
        gint64 seq;      /* the store's key; grows with submission */
        gint64 revision; /* revision of the event that made this view */
        char id[ID_LEN + 1];
        guint8 state;          /* JobState */
        guint8 stop_to;        /* JobState in which `stopping` ends */
        guint8 n_preparations; /* of `preparations` */
        int attempt;           /* 0 before the first admission, then counts from 1 */
        int failures;          /* number of failed attempts (retries used) */
        int losses; /* number of attempts that were lost to a restart of the machine and repeated */
        char *name, *user;
        char *idempotency_key; /* or NULL */
        guint64 request; /* digest of the specifications that were submitted with that key. Not stored: 0 for a
                                  job that was loaded */
        char *reason;    /* a sentence: why the job waits, failed or was stopped; or NULL */
        Spec *spec;
        const char *queue;            /* interned (g_intern_string) */
        int priority;                 /* the current one; initially the specification's */
        char **labels, **annotations; /* current ones if changed after the submission, possibly to an empty
                                         list; NULL: the specification's */
        gint64 spec_seq;   /* seq of the job whose row stores the specification: its own, or that of the first
                              job of its array or batch */
        gint64 array_seq;  /* seq of the first job of its array; 0: not in an array */
        gint64 run_seq;    /* number of the run (run-record.h) of which it is a step; 0: none */
        int run_node;      /* ... and its node there */
        int array_index;   /* -1: not in an array */
        int array_max;     /* how many jobs of the array may run at once; 0: all */
        char **after;      /* the entries of spec->after that are still awaited, by id; NULL: none */
        char **results;    /* what its members reported (results.h); NULL: none */
        gint64 saved;      /* ms: the job reported that work up to this time survives an eviction; 0: never */
        int evictions;     /* how often it was evicted or shrunk for other jobs */
        char *evicted_for; /* id of the job for which it is being or was evicted; or NULL */
        bool warned;       /* the warning signal before the time limit was sent in this attempt */
        bool settled;      /* elastic, and no further member joins in this attempt */
        gint64 kill_at;    /* ms: preempting, stopping: members that still run are killed at this time; 0: the
                              stop uses the grace of the specification */
        gint64 progressed; /* ms: starting: when the start last made progress (see life.h) */
        gint64 updated;    /* ms: time of the last change; a column of the store */
        gint64 submitted, admitted, running, finished,
                not_before;                        /* admitted, running: times of the last attempt */
        gint64 queued_ms, starting_ms, running_ms; /* sums over earlier attempts */
        int extra_port;                            /* port leased for the framework (gloo), or 0 */
        int cpu_share;       /* thousandths of a core that its attempt gave each member that declares no CPU;
                                -1: unknown */
        gint64 memory_share; /* bytes that its attempt gave each member that declares no memory; 0: memory is
                                not counted; -1: unknown */
        Preparation *preparations; /* n_preparations of them, each kind at most once; NULL: none */
        int n_members;             /* 0 before admission */
        Member *members;           /* n_members of them, in role order, then by index */
} Job;

Job *job_new(const char *user, const char *name, Spec *spec,
             gint64 now); /* adds a reference to spec; makes an id */
/* The same with an id that there is, or "". */
Job *job_new_as(const char *id, const char *user, const char *name, Spec *spec, gint64 now);
Job *job_ref(Job *job);
void job_unref(Job *job);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Job, job_unref)
Job *job_draft(const Job *job);    /* a deep copy (spec shared) with one reference */
void job_drop_members(Job *draft); /* drops the members of an attempt that has ended */

/* NULL: it has no preparation of this kind. */
Preparation *job_preparation(const Job *job, PreparationKind kind);
/* Adds a preparation of a kind that it does not have yet. Earlier pointers into the list are invalid then. */
Preparation *job_add_preparation(Job *draft, PreparationKind kind, PreparationState state);
void job_drop_preparations(Job *draft);
void job_copy_preparations(Job *draft, const Job *from); /* replaces its own */
/* Its preparations as a whole (preparation.h). */
PreparationState job_preparation_state(const Job *job);
bool job_is_prepared(const Job *job);
/* The state that clients see as `environment`. */
PreparationState job_environment(const Job *job);

SpecShare job_share(const Job *job); /* the share of its attempt */
/* The number of members that the role has at present; `role` -1: all roles. Surplus members of an elastic job
 * are not counted. */
int job_count_present(const Job *job, int role);

/* Where the time of a job went, in ms, over all attempts. The environment is built while the job is queued. */
typedef struct {
        gint64 queued_ms, environment_ms, starting_ms, running_ms;
} JobStages;
JobStages job_stages(const Job *job, gint64 now);

/* Moves a draft to a state and sets the time that belongs to it. ERR_CONFLICT: the table does not allow it.
 * This is the only writer of job->state. */
bool job_move(Job *draft, JobState to, gint64 now, GError **error);

/* job_pack writes everything but seq, id, user, name, state and spec as one JSON text for the store.
 * job_unpack reads it into a job that was made from the columns. */
char *job_pack(const Job *job);
bool job_unpack(Job *job, const char *text, GError **error);

/* The representation of GET /v1/jobs/ID (doc/guide/rest.md). `waiting` is the reason computed for a pending job, or
 * NULL: job->reason. */
json_t *job_format(const Job *job, const char *waiting);
/* Its two parts, as members of an open object. `moving`: those whose text depends on the time and on other jobs;
 * `array` and `results` are trees, which are freed, or NULL: none. `fixed`: those that are the same for as long as this
 * Job exists, since a published Job does not change. */
void job_put_moving(JsonOut *out, const Job *job, const char *waiting, json_t *array, json_t *results);
void job_put_fixed(JsonOut *out, const Job *job);
char *const *job_labels(const Job *job); /* the current ones; may be NULL */
char *const *job_annotations(const Job *job);
json_t *member_format(const Job *job, const Member *member);
