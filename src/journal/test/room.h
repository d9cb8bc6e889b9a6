/* A machine room made up at random, and what must hold of a scheduler in it after every step.
 *
 * The room keeps its own account of nodes, queues, jobs and placements, from what it told the scheduler and
 * from the decisions it got, in code that is as plain as possible: sums are computed each time. check.c
 * compares. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "journal/journal.h"
#include "sched/mutant.h"
#include "sched/scheduler.h"

enum {
        ROOM_NODES = 10,
        ROOM_QUEUES = 8,
        ROOM_JOBS = 40,
        ROOM_TASKS = 12, /* of one job */
        ROOM_ROLES = 2,
        ROOM_KINDS = RESOURCE_STORAGE, /* cpu, memory, GPUs */
        ROOM_USERS = 3,
};

typedef struct {
        bool there;
        SchedNode node;
} RoomNode;

typedef struct {
        bool there;
        SchedQueue queue;
        char name[16];
} RoomQueue;

typedef struct {
        bool there;
        SchedJob job; /* roles and tasks point into this struct */
        SchedRole roles[ROOM_ROLES];
        SchedTask tasks[ROOM_TASKS];
        SchedTask holding[ROOM_TASKS]; /* `tasks`, and the surplus of a shrink that still holds */
        int n;
        bool trimmed;      /* such surplus there is */
        bool victim;       /* was evicted, and has not started again */
        gint64 safe_from;  /* its cooldown counts from here; 0: none */
        gint64 trimmed_at; /* when the surplus of its last shrink was gone: the cooldown may count from there
                            */
        gint64 promise;    /* as head: its reservation; 0: none */
} RoomJob;

/* What a room is like. */
typedef struct {
        const char *name;
        int more_turns; /* how often it comes more than once in room_kind() */
        int nodes, queues, jobs;
        int cores, gpus; /* of a node: at most */
        int gang;        /* tasks of a job: at most */
        bool elastic;    /* roles with a minimum below their size */
        bool minima;     /* queues have one */
        bool even;       /* ... all the same, and arrivals come in turns */
        bool tree;       /* queues have parents */
        bool maxima;     /* queues have one */
        bool labels, topology, arrays, user_limits, held;
        bool limits;    /* jobs have time limits, and end by them */
        bool changes;   /* of nodes and queues */
        bool plain;     /* every task is of 1 CPU */
        bool unit;      /* every job is one task of 1 CPU */
        bool fixed;     /* one priority, first come first served: what is promised to a head is kept */
        int priorities; /* how many there are */
        int cooldown_s;
        int preemption; /* of 10 queues, how many preempt */
} RoomKind;

extern const RoomKind room_kinds[];
extern const int n_room_kinds;
const RoomKind *room_kind(guint64 seed); /* all of them in turn */

typedef struct {
        gint64 steps, passes, decisions;
        gint64 kinds[DECIDE_KINDS], rules[RULES], gang_discards;
} RoomCounts;

typedef struct {
        const RoomKind *kind;
        guint64 random;
        gint64 now, next_key, step;
        int n_queues, busy; /* busy: where most arrivals go */
        SchedulerConfig config;
        Scheduler *scheduler;
        Journal *journal; /* everything goes through it */
        bool recorded;    /* a sink is there: the scheduler cannot be exchanged */
        Mutant mutant;
        RoomNode nodes[ROOM_NODES];
        RoomQueue queues[ROOM_QUEUES];
        RoomJob jobs[ROOM_JOBS];
        Decisions decisions, other;
        RoomCounts *counts;
        char wrong[512];
} Room;

/* `sink` may be NULL; else the room's life is recorded there. */
Room *room_new(const RoomKind *kind, guint64 seed, Mutant mutant, const JournalSink *sink,
               RoomCounts *counts);
void room_free(Room *room);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Room, room_free)

/* Something happens at random, and a pass follows. NULL, or what is wrong with it; borrowed. */
const char *room_step(Room *room);

guint room_random(Room *room, guint n); /* 0..n-1 */

/* ---- check.c ---- */

/* Goes through the decisions of a pass in order, carries each out in the room's own account, and then
 * compares the account with the scheduler's. False with room->wrong. */
bool room_check(Room *room);
/* With nothing coming in any more: quiet is reached, and nobody is left below the guaranteed share. For rooms
 * of unit jobs. */
bool room_check_settled(Room *room);
bool room_wrong(Room *room, const char *format, ...) G_GNUC_PRINTF(2, 3); /* false */

void room_queue_used(const Room *room, int queue, Resources *ret); /* with its children */
void room_node_used(const Room *room, int node, Resources *ret, guint64 *ret_devices);
