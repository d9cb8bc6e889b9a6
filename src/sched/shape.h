/* Jobs, and what equal jobs share; private to sched/. */
#pragma once

#include "sched/gang.h"
#include "sched/usage.h"

/* ---- jobs of one queue ---- */

/* Jobs with at least this time limit were found to delay the head of the queue: backfill.c. */
typedef struct {
        Memo memo;  /* key: the last pass in which that was checked */
        bool alone; /* its own queue's head is a sufficient cause, independent of free capacity */
        gint64 span;
        guint64 stir, own, guard, charges;
} Guarded;

/* The jobs of one queue with the same request. */
struct Group {
        guint refs; /* number of shapes */
        QueueNode *queue;
        Gang *gang;
        GPtrArray *shapes; /* those with waiting jobs */
        int index;         /* in queue->groups; -1: not in it */
        guint turn;        /* in queue->start.turns, from 1 on; 0: not in it */
        Shape *top;        /* the shape whose first job is first, of those that may start */
        gint64 shortest;   /* the smallest span of its shapes */
        Memo top_memo;     /* of top and shortest */
        Shape *behind;     /* the same as top for those behind a blocked head */
        Memo behind_memo;  /* key: the pass */
        Memo over_max;     /* a queue's max blocks all its jobs behind the head; key: the pass */
        Memo all_delay;    /* behind this head all its jobs would delay a head; key: the head */
        Memo kept; /* behind this head the guard blocks all its jobs of at least kept_span; key: the head */
        gint64 kept_span;
        bool noted;         /* it is in queue->backfill.noted */
        Cause hopeless;     /* a queue's max always blocks it */
        Memo judged;        /* of hopeless; key: Scheduler.config_version */
        Guarded guarded[2]; /* by the global guard alone; behind a head */
        Cause cause;        /* as of the last attempt, and the queue whose limit it was */
        int cause_queue;
};

/* Jobs that differ only in age. The fields up to failed_pass are read when the first shape of a group is looked for: they
 * stand together. */
struct Shape {
        int priority, array_max;
        gint64 first_submitted, first_key; /* the fields of the first job that are read most */
        gint64 time_limit;
        Array *array; /* or NULL */
        Account *account;
        Group *group;
        guint refs;          /* number of jobs */
        guint32 failed_pass; /* the pass in which it was tried */
        GSequence *jobs;     /* those that wait, by age */
        Job *first;          /* of these */
        int user;
        int index; /* in group->shapes; -1: not in it */
        gint64 grace;
        bool preemptable;
        Cause cause;
};

/* ---- jobs ---- */

typedef enum { PLACE_NOWHERE, PLACE_LISTED, PLACE_TIMER, PLACE_NOMINATED } JobPlace;

/* Data of a job that is placed on nodes. */
typedef struct {
        gint64 started, saved;
        SchedTask *tasks;   /* by replica */
        SchedTask *going;   /* by replica: tasks that were shrunk away and still use resources; or NULL */
        guint index;        /* in queue->running */
        int elastic;        /* index in Scheduler.elastic; -1: not in it */
        guint32 start_pass; /* the pass that started it, and the index of that decision */
        guint start_decision;
        bool marked;  /* to be evicted, in a simulation */
        int n_marked; /* number of its tasks to be shrunk away, in a simulation */
} Run;

/* Data about a job that was evicted or shrunk. */
typedef struct {
        bool victim; /* it has not started again since */
        gint64 safe_until;
        gint64 evictor;
} Past;

struct Job {
        gint64 key, submitted, not_before;
        Shape *shape;
        GSequenceIter *iter; /* in shape->jobs or Scheduler.timers, depending on `place` */
        Run *run;
        Past *past;
        guint8 state, place;
        bool held;
};

Shape *shape_intern(Scheduler *s, const SchedJob *job); /* a new reference */
void shape_unref(Scheduler *s, Shape *shape);
static inline QueueNode *shape_queue(const Shape *shape)
{
        return shape->group->queue;
}
static inline Gang *shape_gang(const Shape *shape)
{
        return shape->group->gang;
}
static inline gint64 shape_span(const Shape *shape) /* how long its jobs take */
{
        return shape->time_limit > 0 ? shape->time_limit : G_MAXINT64;
}
static inline Gang *job_gang(const Job *job)
{
        return job->shape->group->gang;
}
static inline QueueNode *job_queue(const Job *job)
{
        return job->shape->group->queue;
}
Job *job_find(const Scheduler *s, gint64 key);
bool job_view(const Job *job, SchedJob *ret); /* always true */

/* ---- job.c: the place of a job ---- */
int job_compare_age(gconstpointer a, gconstpointer b, gpointer unused);
void job_list(Scheduler *s, Job *job);     /* adds it to the waiting jobs or the timers; to neither if it is
                                              held */
void job_unlist(Scheduler *s, Job *job);   /* removes it from there */
void job_nominate(Scheduler *s, Job *job); /* removes it from there; it still waits */
/* It runs on these nodes since `started`: charges its resources. `tasks` becomes the job's. */
void job_hold(Scheduler *s, Job *job, SchedTask *tasks, gint64 started);
void job_release(Scheduler *s, Job *job); /* the reverse; frees job->run */
/* Pending to running; the nodes were already charged. `tasks` becomes the job's. */
void job_start(Scheduler *s, Job *job, SchedTask *tasks);
void job_place_task(Scheduler *s, Job *job, int task, SchedTask at); /* of a running job; the node was already
                                                                        charged */
void job_releasing(Scheduler *s, Job *job, int sign); /* all its tasks were told to end (1), or not any more
                                                         (-1) */
void job_task_releasing(Scheduler *s, Job *job, int task, int sign);
void job_let_task_go(Scheduler *s, Job *job, int task); /* moves it from tasks to going; it is already
                                                           releasing */
void job_release_going(Scheduler *s, Job *job);
void job_remark_elastic(Scheduler *s, Job *job);
Past *job_past(Scheduler *s, Job *job); /* added if missing */
gint64 task_end(const NodeTask *at);    /* when it will have ended: as job_end, and 0 if it was shrunk away */
gint64 job_end(const Job *job);         /* by its time limit; 0: at any moment, G_MAXINT64: unknown */
bool job_is_safe(const Scheduler *s, const Job *job);
