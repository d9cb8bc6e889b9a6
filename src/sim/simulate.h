/* The simulator: a trace of jobs played through a Scheduler on a machine room that is only described, with a
 * clock that jumps from event to event (`paddle sim TRACE --room ROOM`). Pure: text in, figures out; equal
 * input gives equal figures.
 *
 * A room is YAML or JSON:
 *
 *      nodes:
 *        - {name: gpu, count: 4, resources: {cpu: 64, memory: 256Gi, nvidia.com/gpu: 8}, labels: {rack: a}}
 *      queues:                       # without any: one queue `default` with no limits
 *        - {name: team, min: {cpu: 128}, max: {cpu: 256}, reserved: {}, parent: org, weight: 1, priority: 0,
 *           reclaimable: true, preemption: lower-priority, order: priority, backfill: true,
 *           max-running-per-user: 0, labels: {rack: a}, cluster: name}
 *      topology: [zone, rack]        # label keys from the widest to the tightest
 *      half-life: 7d                 # of usage;  cooldown: 60s;  nominated: 60s
 *
 * A node group may say `cluster`, too; nodes and queues that say none are of the cluster "default".
 *
 * A trace is a line of JSON for each job, or for `count` equal ones that arrive one every `every`:
 *
 *      {"at": "0s", "run": "2m", "queue": "team", "user": "ann", "resources": {"cpu": 2}, "replicas": 4}
 *
 *      at        when it arrives, after the start of the trace: a duration        default 0
 *      run       how long it runs with all its tasks, undisturbed; required. The work of an elastic job that runs
 *                with fewer takes longer in proportion
 *      limit     time limit it declares; it is ended then                         default none
 *      count, every                                                               1, 0
 *      queue     default the room's only queue;  user  default "-"
 *      priority  -1000..1000, default 0;   preemptable  default true
 *      resources, replicas (1), min (= replicas)      of its tasks; or
 *      roles     [{"resources": ..., "replicas": ..., "min": ...}]
 *      grace     between the warning and the end when evicted, default 0
 *      save      it saves its work every so often, and when it is warned (grace > 0); default never
 *      array-max how many of the `count` run at a time, default no limit
 *      topology  a label key within one value of which all tasks should stand; topology-required: false
 *      labels    {"K": "V"} that nodes must carry
 *
 * Lines that are empty or start with '#' are passed over. A line that starts with ';' or a digit makes it a
 * trace in the Standard Workload Format (18 columns of numbers): the processors are a gang of tasks of 1 CPU
 * and the requested memory, the requested time is the limit; queue N is the room's queue "qN" or "N", or its
 * only queue; user N is "uN". Jobs without a run time or processors are left out and counted. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"
#include "sched/scheduler.h"

enum {
        ROOM_NODES_MAX = 100000,
        ROOM_QUEUES_MAX = 10000,
        TRACE_JOBS_MAX = 5000000,
        TRACE_TASKS_MAX = 100000, /* of one job */
};

typedef struct Room Room;

/* `name` is the file's, for messages. ERR_INVALID naming field, value and rule. */
Room *room_parse(const char *text, gsize len, const char *name, GError **error);
void room_free(Room *room); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Room, room_free)

typedef struct Trace Trace;

/* A trace for the queues of `room`, which it borrows. ERR_INVALID with the line's number. */
Trace *trace_parse(const char *text, gsize len, const char *name, const Room *room, GError **error);
void trace_free(Trace *trace); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Trace, trace_free)
gint64 trace_jobs(const Trace *trace);
gint64 trace_left_out(const Trace *trace); /* jobs of an SWF trace that have no run time or no processors */

/* Waiting: from arrival to the first start, ms, of the jobs that started. */
typedef struct {
        gint64 jobs, started, ended;
        gint64 mean, p50, p95, max;
} SimulatedWait;

typedef struct {
        const char *name; /* borrowed from the room */
        SimulatedWait wait;
        gint64 evictions; /* of its jobs */
        double service;   /* dominant share of the room × seconds that its jobs held */
        double entitled;  /* share of the room: its min, and by weight of what no queue's min names */
        double contended_s, contended; /* how long it had jobs waiting while another queue had, too; service
                                          in that time by entitled × time: 1 is its due */
} SimulatedQueue;

typedef struct {
        SimulatedWait wait;
        gint64 start, end; /* ms: first arrival, last end (or when nothing could move any more) */
        gint64 unstarted;  /* jobs that never started: too large for the room, or behind one that is */
        /* By kind of resource, parts of 1: what jobs held, over what usable nodes had, from `start` to `end`;
         * `useful` leaves out work that evictions lost. `bound` is what no scheduler could exceed: all the
         * work until the earliest end that arrivals and capacity allow. -1: the room has none of it. */
        double utilisation[RESOURCE_KINDS_MAX], useful[RESOURCE_KINDS_MAX], bound[RESOURCE_KINDS_MAX];
        /* Jain's index (1: all alike, 1/n: one has all) of `contended` over queues, and of the service while
         * two users had jobs waiting, by that time, over users. -1: never two at a time. */
        double fairness_queues, fairness_users;
        gint64 passes, decisions[DECIDE_KINDS], rules[RULES]; /* counts */
        double wall_s; /* what the simulation took of real time: the caller's to set */
        int n_queues;
        SimulatedQueue *queues; /* in the order of the room; those without jobs are left out */
} Simulation;

typedef struct {
        gint64 max_passes; /* 0: no limit; beyond it the simulation ends as if nothing could move */
        /* From `from` to `to` (ms, from < to) jobs held `held` of the room's `total`: in order of time. May
         * be NULL. */
        void (*held)(gint64 from, gint64 to, const Resources *held, const Resources *total, void *arg);
        void *arg;
} SimulateOptions;

/* False with ERR_FAILED when the scheduler breaks a promise (a job of which it was never told...). */
bool simulate(const Room *room, const Trace *trace, const SimulateOptions *options, Simulation *ret,
              GError **error);
void simulation_clear(Simulation *simulation);

/* {"wait_ms": {...}, "utilisation": {"cpu": 0.93}, ..., "queues": [...]} for `-o json`. */
json_t *simulation_format(const Simulation *simulation);
