/* A job: its specification and where it stands. A Job is an immutable, counted view: the engine makes a new
 * one for each change (job_draft), publishes it after the commit, and readers hold references. Times are ms
 * since 1970, 0: not yet.
 *
 *   queued ─▶ starting ─▶ running ─▶ succeeded | failed
 *     ▲           │           │
 *     └─ retry ───┴─────┬─────┘        (a failed attempt that may be repeated; waits until not_before)
 *   any open state ─▶ stopping ─▶ cancelled | failed | queued | suspended | preempted     TERM, grace, KILL
 *   starting | running ─▶ preempting ─▶ queued | preempted     a warning, grace, KILL: room for others
 *   queued ◀─▶ suspended                                       hold and release
 *
 * The table of states is in doc/internals/design.md, "A job"; `submitted` and `admitted` are passed within
 * one transaction. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/id.h"
#include "base/json.h"
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
bool job_state_parse(const char *name, JobState *ret); /* false: no such word */
bool job_state_is_final(JobState state);
bool job_state_can(JobState from, JobState to); /* the table */

typedef enum {
        MEMBER_WAITING,  /* of a later phase, or not yet intended */
        MEMBER_INTENDED, /* the intent to start is durable; not confirmed */
        MEMBER_RUNNING,  /* the agent reported its start */
        MEMBER_READY,    /* listens or declared itself up */
        MEMBER_STOPPING, /* TERM was asked for */
        MEMBER_EXITED,   /* exit_code / signal hold */
        MEMBER_LOST,     /* its keeper is gone without a record (machine restart) */
        MEMBER_SURPLUS,  /* of an elastic job that has fewer at present: not placed, or told to go and gone */
        MEMBER_STATES,
} MemberState;

const char *member_state_name(MemberState state);
bool member_state_parse(const char *name, MemberState *ret);

typedef struct {
        guint8 state;     /* MemberState */
        guint8 role;      /* index into spec->roles */
        guint8 signal;    /* that ended it, or 0 */
        bool oom;         /* killed by its memory limit (the cgroup's own counter) */
        gint16 exit_code; /* -1 until known or when ended by a signal */
        guint16 port;     /* leased, or 0 */
        int index;        /* inside the role */
        int pid;          /* 0: not known */
        gint64 started, finished;
        gint64 peak_memory; /* bytes */
        gint64 cpu_us;      /* user + system */
        char *gpus;         /* "0,1" or NULL */
        char *node;         /* of its cluster: where our pass placed it, which the books count; NULL: this
                               machine */
        char *stands_on;    /* of its cluster: the node where it is, as its runtime told; NULL: on none yet,
                               or this machine */
        char *error;        /* why it could not be started, or NULL */
} Member;

/* WAITING: its build waits until the job's queue has what that takes. Numbers are stored. */
typedef enum { ENV_NONE, ENV_BUILDING, ENV_READY, ENV_FAILED, ENV_WAITING } EnvState;

typedef struct Job {
        gatomicrefcount refs;
        gint64 seq;      /* the store's key; grows with submission */
        gint64 revision; /* of the event that made this view */
        char id[ID_LEN + 1];
        guint8 state;     /* JobState */
        guint8 env_state; /* EnvState */
        guint8 stop_to;   /* JobState that `stopping` ends in */
        int attempt;      /* 0 before the first admission, then from 1 */
        int failures;     /* attempts that failed (retries used) */
        int losses;       /* attempts that were lost to a machine's restart and repeated */
        char *name, *user;
        char *idempotency_key; /* or NULL */
        char *reason;          /* a sentence: why it waits, failed or was stopped; or NULL */
        Spec *spec;
        const char *queue;            /* interned (g_intern_string) */
        int priority;                 /* of now; at first the specification's */
        char **labels, **annotations; /* of now when changed after the submission, maybe to none (an empty
                                         list); NULL: the specification's */
        gint64 spec_seq;   /* seq of the job with whose row the specification is stored; its own, or that of
                              the first of its array or batch */
        gint64 array_seq;  /* seq of the first job of its array; 0: none */
        int array_index;   /* -1: none */
        int array_max;     /* of the array at once; 0: all */
        char **after;      /* what of spec->after is still awaited, by id; NULL: nothing */
        char **results;    /* what its members reported (results.h); NULL: nothing */
        gint64 saved;      /* ms: work up to here survives an eviction (the job said so); 0: never */
        int evictions;     /* how often it was made to go or shrink for others */
        char *evicted_for; /* id of the job it is going or went for; or NULL */
        bool warned;       /* the signal before the time limit was sent in this attempt */
        bool settled;      /* elastic, and no member joins in this attempt any more */
        gint64 kill_at;    /* ms: preempting, stopping: who is there still is killed then; 0: the stop has its
                              own grace */
        gint64 progressed; /* ms: starting: when the start last made progress, see life.h */
        gint64 updated;    /* ms: of its last change; a column of the store */
        gint64 submitted, env_begun, env_ready, admitted, running, finished,
                not_before;                        /* admitted, running: of the last attempt */
        gint64 queued_ms, starting_ms, running_ms; /* of earlier attempts, summed */
        int extra_port;                            /* the framework's own lease (gloo), or 0 */
        int cpu_share;       /* thousandths of a core: what its attempt gave each member that declares no CPU;
                                -1: not known */
        gint64 memory_share; /* bytes: what its attempt gave each member that declares no memory; 0: it is
                                not counted; -1: not known */
        int n_members;       /* 0 before admission */
        Member *members;     /* in role order, then index; n_members */
} Job;

Job *job_new(const char *user, const char *name, Spec *spec,
             gint64 now); /* takes a reference of spec; new id */
Job *job_ref(Job *job);
void job_unref(Job *job);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Job, job_unref)
Job *job_draft(const Job *job);    /* a deep copy (spec shared) with one reference */
void job_drop_members(Job *draft); /* those of an attempt that is over */

SpecShare job_share(const Job *job); /* of its attempt */
/* How many members the role (-1: all roles) has at present: those of an elastic job that are not surplus. */
int job_count_present(const Job *job, int role);

/* The only writer of job->state: moves a draft, sets the time that belongs to the state, or ERR_CONFLICT. */
bool job_move(Job *draft, JobState to, gint64 now, GError **error);

/* Everything but seq, id, user, name, state, spec as one JSON text for the store, and back into a job made
 * from the columns. */
char *job_pack(const Job *job);
bool job_unpack(Job *job, const char *text, GError **error);

/* The representation of GET /v1/jobs/ID (doc/guide/rest.md). `waiting` is the reason computed for a pending job, or
 * NULL: job->reason. */
json_t *job_format(const Job *job, const char *waiting);
char *const *job_labels(const Job *job); /* as they are now; may be NULL */
char *const *job_annotations(const Job *job);
json_t *member_format(const Job *job, const Member *member);
