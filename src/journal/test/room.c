/* What happens in a made-up room (see room.h): arrivals, ends, changes of nodes and queues, steps of the
 * clock. */
#include "journal/test/room.h"

#include <stdio.h>
#include <string.h>

#include "sched/dump.h"

enum {
        SECOND = 1000,
        CORE = 1000,
        EVENTS_MAX = 5, /* between two passes */
};
static const gint64 GIB = 1024 * 1024 * 1024;

/* Each is there for what it reaches: see the counts that random.c asks for. */
const RoomKind room_kinds[] = {
        { .name = "mixed",
          .nodes = 10,
          .queues = 8,
          .jobs = 30,
          .cores = 16,
          .gpus = 8,
          .gang = 6,
          .elastic = true,
          .minima = true,
          .tree = true,
          .maxima = true,
          .labels = true,
          .topology = true,
          .arrays = true,
          .user_limits = true,
          .held = true,
          .limits = true,
          .changes = true,
          .priorities = 3,
          .preemption = 7,
          .cooldown_s = 10 },
        { .name = "elastic",
          .nodes = 4,
          .queues = 3,
          .jobs = 12,
          .cores = 8,
          .gpus = 8,
          .gang = 8,
          .elastic = true,
          .minima = true,
          .changes = true,
          .priorities = 2,
          .preemption = 5,
          .cooldown_s = 2 },
        { .name = "lending",
          .more_turns = 2,
          .nodes = 3,
          .queues = 3,
          .jobs = 5,
          .cores = 6,
          .gang = 10,
          .elastic = true,
          .plain = true,
          .minima = true,
          .even = true,
          .priorities = 1,
          .cooldown_s = 1 },
        { .name = "reclaim",
          .more_turns = 1,
          .nodes = 5,
          .queues = 4,
          .jobs = 24,
          .cores = 8,
          .gang = 2,
          .plain = true,
          .minima = true,
          .even = true,
          .priorities = 1,
          .cooldown_s = 1 },
        { .name = "tree",
          .nodes = 5,
          .queues = 8,
          .jobs = 24,
          .cores = 8,
          .gpus = 4,
          .gang = 2,
          .elastic = true,
          .minima = true,
          .maxima = true,
          .tree = true,
          .priorities = 1,
          .preemption = 3,
          .cooldown_s = 2 },
        { .name = "preempt",
          .nodes = 4,
          .queues = 2,
          .jobs = 16,
          .cores = 8,
          .gpus = 4,
          .gang = 3,
          .priorities = 5,
          .preemption = 10,
          .cooldown_s = 2 },
        { .name = "gangs",
          .nodes = 6,
          .queues = 3,
          .jobs = 16,
          .cores = 6,
          .gpus = 4,
          .gang = 10,
          .topology = true,
          .limits = true,
          .priorities = 2,
          .preemption = 0,
          .cooldown_s = 10 },
        { .name = "backfill",
          .nodes = 4,
          .queues = 1,
          .jobs = 24,
          .cores = 8,
          .gpus = 2,
          .gang = 6,
          .limits = true,
          .fixed = true,
          .priorities = 1,
          .preemption = 0,
          .cooldown_s = 10 },
        { .name = "unit",
          .nodes = 4,
          .queues = 6,
          .jobs = 40,
          .cores = 6,
          .gpus = 0,
          .gang = 1,
          .minima = true,
          .unit = true,
          .priorities = 2,
          .preemption = 5,
          .cooldown_s = 5 },
};
const int n_room_kinds = G_N_ELEMENTS(room_kinds);

const RoomKind *room_kind(guint64 seed)
{
        int turns = 0, turn;

        for (int i = 0; i < n_room_kinds; i++)
                turns += 1 + room_kinds[i].more_turns;
        turn = (int)(seed % (guint64)turns);
        for (int i = 0;; i++) {
                turn -= 1 + room_kinds[i].more_turns;
                if (turn < 0)
                        return &room_kinds[i];
        }
}

static const char *const node_labels[][4] = {
        { "zone=a", "rack=1", "disk=ssd", NULL }, { "zone=b", "rack=3", NULL }, { "zone=a", "rack=2", NULL },
        { "zone=b", "rack=4", "disk=ssd", NULL }, { "zone=a", "rack=1", NULL },
};
static const char *const ssd[] = { "disk=ssd", NULL };

guint room_random(Room *room, guint n)
{
        guint64 x = room->random += 0x9e3779b97f4a7c15;

        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
        x = (x ^ x >> 27) * 0x94d049bb133111eb;
        return (guint)((x ^ x >> 31) % n);
}

static bool chance(Room *room, guint of_100)
{
        return room_random(room, 100) < of_100;
}

/* ---- nodes ---- */

static bool put_node(Room *room, int id)
{
        return journal_put_node(room->journal, &room->nodes[id].node) ||
               room_wrong(room, "node %d is refused", id);
}

static bool add_node(Room *room, int id)
{
        const RoomKind *kind = room->kind;
        SchedNode *node = &room->nodes[id].node;

        room->nodes[id].there = true;
        *node = (SchedNode){ .id = id, .name = "node", .usable = true };
        node->total.cpu_milli = (kind->cores / 2 + (int)room_random(room, (guint)kind->cores / 2 + 1)) * CORE;
        node->total.memory = (4 + room_random(room, 13)) * GIB;
        node->total.gpus = kind->gpus && chance(room, 70) ? kind->gpus - (int)room_random(room, 2) : 0;
        if (kind->labels || kind->topology)
                node->labels = node_labels[room_random(room, G_N_ELEMENTS(node_labels))];
        return put_node(room, id);
}

static bool change_node(Room *room)
{
        int id = (int)room_random(room, (guint)room->kind->nodes);
        SchedNode *node = &room->nodes[id].node;

        if (!room->nodes[id].there)
                return add_node(room, id);
        switch (room_random(room, 4)) {
        case 0: node->usable = !node->usable; break;
        case 1: node->usable = true; break;
        case 2: node->total.cpu_milli = (1 + room_random(room, (guint)room->kind->cores)) * CORE; break;
        default: node->total.gpus = room_random(room, (guint)room->kind->gpus + 1); break;
        }
        return put_node(room, id);
}

/* ---- queues ---- */

static bool is_leaf(const Room *room, int id)
{
        for (int i = 0; i < ROOM_QUEUES; i++)
                if (room->queues[i].there && room->queues[i].queue.parent == id)
                        return false;
        return true;
}

static void cluster_room(const Room *room, Resources *ret)
{
        *ret = (Resources){ 0 };
        for (int i = 0; i < ROOM_NODES; i++)
                for (int k = 0; k < ROOM_KINDS && room->nodes[i].there; k++)
                        ret->amount[k] +=
                                room->nodes[i].node.usable ? room->nodes[i].node.total.amount[k] : 0;
}

/* Units in which quotas are drawn, so that they fit what jobs ask for now and then. */
static gint64 unit_of(int kind)
{
        static const gint64 units[ROOM_KINDS] = { CORE, 1024 * 1024 * 1024, 1 };

        return units[kind];
}

/* A min between what the children have and what is left of the parent's; reserved <= min <= max <= parent's.
 */
static void draw_quota(Room *room, SchedQueue *queue, int kind)
{
        const SchedQueue *parent = queue->parent < 0 ? NULL : &room->queues[queue->parent].queue;
        gint64 least = 0, most, top = 0, unit = unit_of(kind);
        Resources all;

        cluster_room(room, &all);
        most = parent ? parent->min.amount[kind] : all.amount[kind];
        for (int i = 0; i < ROOM_QUEUES; i++) {
                const SchedQueue *other = &room->queues[i].queue;

                if (!room->queues[i].there || other->id == queue->id)
                        continue;
                if (other->parent == queue->parent)
                        most -= other->min.amount[kind];
                if (other->parent == queue->id) {
                        least += other->min.amount[kind];
                        if (other->max.amount[kind] != RESOURCE_UNLIMITED)
                                top = MAX(top, other->max.amount[kind]);
                }
        }
        queue->min.amount[kind] = least;
        if (room->kind->even)
                queue->min.amount[kind] = all.amount[kind] / room->n_queues / unit * unit;
        else if (room->kind->minima && most > least)
                queue->min.amount[kind] +=
                        (gint64)room_random(room, (guint)((most - least) / unit) + 1) * unit;
        queue->reserved.amount[kind] =
                chance(room, 10) && room->kind->changes ? queue->min.amount[kind] / 2 : 0;
        queue->max.amount[kind] = parent ? parent->max.amount[kind] : RESOURCE_UNLIMITED;
        if (room->kind->maxima && chance(room, 40)) {
                gint64 limit = MAX(MAX(queue->min.amount[kind], top), unit) + room_random(room, 8) * unit;

                queue->max.amount[kind] = MIN(queue->max.amount[kind], limit);
        }
}

static void draw_policies(Room *room, SchedQueue *queue)
{
        const RoomKind *kind = room->kind;

        queue->state = QUEUE_OPEN;
        queue->weight = 1 + (int)room_random(room, 3);
        queue->priority = kind->changes && chance(room, 10) ? 1 : 0;
        queue->reclaimable = kind->unit || chance(room, 85);
        queue->preemption =
                (int)room_random(room, 10) < kind->preemption ? PREEMPT_LOWER_PRIORITY : PREEMPT_NEVER;
        queue->order = kind->fixed ? QUEUE_ORDER_FIFO : (QueueOrder)room_random(room, QUEUE_ORDERS);
        queue->backfill = kind->fixed || chance(room, 75);
        queue->max_running_per_user =
                kind->user_limits && chance(room, 20) ? 1 + (int)room_random(room, 3) : 0;
        queue->labels = kind->labels && chance(room, 10) ? ssd : NULL;
}

static bool put_queue(Room *room, int id)
{
        return journal_put_queue(room->journal, &room->queues[id].queue) ||
               room_wrong(room, "queue %d is refused", id);
}

static bool add_queue(Room *room, int id)
{
        RoomQueue *queue = &room->queues[id];

        queue->there = true;
        (void)snprintf(queue->name, sizeof(queue->name), "q%d", id);
        queue->queue = (SchedQueue){ .id = id, .parent = -1, .name = queue->name };
        if (room->kind->tree && id >= 2 && chance(room, 60))
                queue->queue.parent = (int)room_random(room, 2);
        draw_policies(room, &queue->queue);
        for (int kind = 0; kind < ROOM_KINDS; kind++)
                draw_quota(room, &queue->queue, kind);
        return put_queue(room, id);
}

static bool change_queue(Room *room)
{
        int id = (int)room_random(room, ROOM_QUEUES);
        SchedQueue *queue = &room->queues[id].queue;

        if (!room->queues[id].there)
                return true;
        switch (room_random(room, 4)) {
        case 0:
                queue->state =
                        chance(room, 60) ? QUEUE_OPEN : (QueueState)(QUEUE_OPEN + room_random(room, 4));
                break;
        case 1: draw_policies(room, queue); break;
        default: draw_quota(room, queue, (int)room_random(room, ROOM_KINDS)); break;
        }
        return put_queue(room, id);
}

/* ---- jobs ---- */

static bool put_job(Room *room, RoomJob *job)
{
        job->job.roles = job->roles;
        job->job.tasks = job->job.state == SCHED_PENDING ? NULL : job->tasks;
        return journal_put_job(room->journal, &job->job) ||
               room_wrong(room, "job %" G_GINT64_FORMAT " is refused", job->job.key);
}

static void drop_job(Room *room, RoomJob *job)
{
        journal_drop_job(room->journal, job->job.key);
        job->there = false;
}

static void draw_role(Room *room, SchedRole *role, int most)
{
        const RoomKind *kind = room->kind;

        *role = (SchedRole){ .replicas = 1, .min = 1 };
        role->each.cpu_milli = CORE;
        if (kind->unit)
                return;
        if (!kind->plain)
                role->each.cpu_milli *= 1 + room_random(room, 4);
        role->each.memory = chance(room, 50) && !kind->plain ? (1 + room_random(room, 4)) * GIB : 0;
        role->each.gpus = kind->gpus && chance(room, 60) ? 1 + room_random(room, 2) : 0;
        role->replicas = 1 + (int)room_random(room, (guint)most);
        role->min = role->replicas;
        if (kind->elastic && chance(room, 75))
                role->min =
                        (int)room_random(room, (guint)role->replicas / 2 + 1) + (chance(room, 90) ? 1 : 0);
        role->min = MIN(role->min, role->replicas);
}

static void draw_placing(Room *room, SchedJob *job)
{
        const RoomKind *kind = room->kind;

        job->topology = -1;
        if (kind->topology && chance(room, 30)) {
                job->topology = (int)room_random(room, 2);
                job->topology_required = chance(room, 60);
        }
        if (kind->labels && chance(room, 10))
                job->labels = ssd;
        if (kind->arrays && chance(room, 20)) {
                job->array = 1 + (int)room_random(room, 2);
                job->array_max = job->array; /* at most one, at most two */
        }
        if (kind->limits && (kind->fixed || chance(room, 60)))
                job->time_limit_ms = (1 + room_random(room, 20)) * SECOND;
        if (kind->held) {
                job->held = chance(room, 5);
                job->not_before = chance(room, 10) ? room->now + room_random(room, 10) * SECOND : 0;
        }
}

/* Any job that is in one of `states` (bits); NULL when there is none near the place where it begins to look.
 */
static RoomJob *any_job(Room *room, guint states)
{
        int start = (int)room_random(room, (guint)room->kind->jobs);

        for (int i = 0; i < room->kind->jobs; i++) {
                RoomJob *job = &room->jobs[(start + i) % room->kind->jobs];

                if (job->there && states & 1u << job->job.state)
                        return job;
        }
        return NULL;
}

/* Where arrivals go: for a while mostly to one queue, which borrows, then to another, which wants it back. */
static int draw_leaf(Room *room)
{
        int id = room->busy;

        if (room->kind->even && chance(room, 50))
                return id;
        if (chance(room, 30))
                room->busy = (int)room_random(room, (guint)room->n_queues);
        do
                id = (int)room_random(room, ROOM_QUEUES);
        while (!room->queues[id].there || !is_leaf(room, id));
        return id;
}

static bool submit(Room *room)
{
        const RoomKind *kind = room->kind;
        RoomJob *job = NULL;

        for (int i = 0; i < kind->jobs && !job; i++)
                job = room->jobs[i].there ? NULL : &room->jobs[i];
        if (!job && !room->kind->even &&
            (job = any_job(room, 1u << SCHED_PENDING))) /* make place: some wait for ever */
                drop_job(room, job);
        if (!job)
                return true;
        *job = (RoomJob){ .there = true };
        job->job = (SchedJob){ .key = room->next_key++,
                               .queue = draw_leaf(room),
                               .user = (int)room_random(room, ROOM_USERS),
                               .priority = (int)room_random(room, (guint)kind->priorities) * 10,
                               .submitted = room->now,
                               .grace_ms = room_random(room, 3) * SECOND,
                               .preemptable = kind->unit || chance(room, 90) };
        draw_placing(room, &job->job);
        job->job.n_roles = !kind->unit && chance(room, 25) ? 2 : 1;
        for (int i = 0; i < job->job.n_roles; i++) {
                draw_role(room, &job->roles[i], MAX(kind->gang / job->job.n_roles, 1));
                job->n += job->roles[i].replicas;
        }
        return put_job(room, job);
}

static bool end_job(Room *room)
{
        RoomJob *job = any_job(room, 1u << SCHED_RUNNING);

        if (job)
                drop_job(room, job);
        return true;
}

static bool back_in_queue(Room *room, RoomJob *job)
{
        job->job.state = SCHED_PENDING;
        job->job.started = job->job.saved = 0;
        job->trimmed = false;
        return put_job(room, job);
}

/* Who was asked to stop has. */
static bool finish_ending(Room *room)
{
        RoomJob *job = any_job(room, 1u << SCHED_ENDING);

        if (!job)
                return true;
        if (chance(room, 80))
                return back_in_queue(room, job);
        drop_job(room, job);
        return true;
}

/* The surplus of a shrink is gone. */
static bool finish_trim(Room *room)
{
        for (int i = 0; i < room->kind->jobs; i++) {
                RoomJob *job = &room->jobs[i];

                if (!job->there || !job->trimmed || job->job.state != SCHED_RUNNING || chance(room, 30))
                        continue;
                memcpy(job->holding, job->tasks, sizeof(job->tasks));
                job->trimmed = false;
                job->trimmed_at = room->now;
                if (!put_job(room, job))
                        return false;
        }
        return true;
}

static bool cancel(Room *room)
{
        RoomJob *job = any_job(room, 1u << SCHED_PENDING | 1u << SCHED_RUNNING);

        if (!job)
                return true;
        if (job->job.state == SCHED_PENDING || room->kind->fixed) {
                drop_job(room, job);
                return true;
        }
        if (job->trimmed) /* a job that is put again holds no surplus any more */
                return true;
        job->job.state = SCHED_ENDING;
        return put_job(room, job);
}

static bool change_job(Room *room)
{
        RoomJob *job = any_job(room, 1u << SCHED_PENDING);

        if (!job)
                return true;
        if (room->kind->held && chance(room, 30))
                job->job.held = !job->job.held;
        else
                job->job.priority = (int)room_random(room, (guint)room->kind->priorities) * 10;
        return put_job(room, job);
}

static bool save_work(Room *room)
{
        RoomJob *job = any_job(room, 1u << SCHED_RUNNING);

        if (!job || job->trimmed)
                return true;
        job->job.saved = room->now;
        return put_job(room, job);
}

/* An elastic job loses a task, and stays. */
static bool lose_task(Room *room)
{
        RoomJob *job = any_job(room, 1u << SCHED_RUNNING);
        int placed = 0, last = -1;

        if (!job || job->trimmed || job->job.n_roles != 1)
                return true;
        for (int i = 0; i < job->n; i++) {
                placed += job->tasks[i].node >= 0;
                last = job->tasks[i].node >= 0 ? i : last;
        }
        if (placed <= job->roles[0].min || last < 0)
                return true;
        job->tasks[last] = job->holding[last] = (SchedTask){ .node = -1 };
        return put_job(room, job);
}

/* Time passes, but never over the end of a job by its limit. */
static bool pass_time(Room *room)
{
        gint64 then = room->now + room_random(room, chance(room, 10) ? 60 * SECOND : 4 * SECOND);

        for (int i = 0; i < ROOM_JOBS; i++) {
                const RoomJob *job = &room->jobs[i];

                if (job->there && job->job.state == SCHED_RUNNING && job->job.time_limit_ms > 0)
                        then = MIN(then, job->job.started + job->job.time_limit_ms);
        }
        room->now = MAX(room->now, then);
        return true;
}

static bool end_overdue(Room *room)
{
        for (int i = 0; i < ROOM_JOBS; i++) {
                RoomJob *job = &room->jobs[i];

                if (job->there && job->job.state == SCHED_RUNNING && job->job.time_limit_ms > 0 &&
                    job->job.started + job->job.time_limit_ms <= room->now)
                        drop_job(room, job);
        }
        return true;
}

/* ---- a step ---- */

static const struct {
        bool (*happen)(Room *room);
        int weight;
        bool changes;  /* only in rooms that change */
        bool disturbs; /* not in a room whose promises are kept */
} events[] = {
        { submit, 34, false, false },        { end_job, 16, false, false },
        { finish_ending, 14, false, false }, { finish_trim, 8, false, false },
        { cancel, 3, false, false },         { change_job, 4, false, true },
        { save_work, 3, false, false },      { lose_task, 1, false, true },
        { pass_time, 14, false, false },     { change_node, 2, true, true },
        { change_queue, 3, true, true },
};

static bool happen(Room *room)
{
        int drawn = 0;
        guint i = 0;

        for (guint j = 0; j < G_N_ELEMENTS(events); j++)
                drawn += events[j].weight;
        for (drawn = (int)room_random(room, (guint)drawn); drawn >= events[i].weight; i++)
                drawn -= events[i].weight;
        if ((events[i].changes && !room->kind->changes) || (events[i].disturbs && room->kind->fixed))
                return true;
        return events[i].happen(room);
}

static Journal *journal_for(Scheduler *scheduler)
{
        return journal_new(scheduler, NULL, NULL);
}

static void plant(Scheduler *scheduler, Mutant mutant)
{
#ifdef SCHED_MUTANTS
        scheduler_plant(scheduler, mutant);
#else
        g_assert(mutant == MUTANT_NONE);
#endif
}

static bool same_decisions(const Decisions *a, const Decisions *b)
{
        if (a->decisions->len != b->decisions->len || a->tasks->len != b->tasks->len)
                return false;
        for (guint i = 0; i < a->decisions->len; i++) {
                const Decision *x = &g_array_index(a->decisions, Decision, i);
                const Decision *y = &g_array_index(b->decisions, Decision, i);

                if (x->kind != y->kind || x->rule != y->rule || x->key != y->key ||
                    x->for_key != y->for_key || x->n_tasks != y->n_tasks || x->first_task != y->first_task)
                        return false;
        }
        for (guint i = 0; i < a->tasks->len; i++) {
                const SchedTask *x = &g_array_index(a->tasks, SchedTask, i);
                const SchedTask *y = &g_array_index(b->tasks, SchedTask, i);

                if (x->node != y->node || x->devices != y->devices)
                        return false;
        }
        return true;
}

/* A twin of the scheduler: its clone, or what its dump loads as. NULL with room->wrong. */
static Scheduler *twin(Room *room, bool dumped)
{
        g_autoptr(GString) text = NULL;
        g_autoptr(GError) error = NULL;
        Scheduler *other;

        if (dumped) {
                text = g_string_new(NULL);
                (void)scheduler_dump(room->scheduler, text);
                other = scheduler_load(text->str, text->len, &error);
                if (!other) {
                        room_wrong(room, "the dump does not load: %s", error->message);
                        return NULL;
                }
        } else {
                other = scheduler_clone(room->scheduler);
        }
        plant(other, room->mutant);
        if (scheduler_hash(other) == scheduler_hash(room->scheduler))
                return other;
        room_wrong(room, "the %s differs from the scheduler", dumped ? "dump" : "clone");
        scheduler_free(other);
        return NULL;
}

/* Equal input, equal decisions: a twin decides the same, and sometimes takes over. */
static bool pass_beside_twin(Room *room, bool dumped)
{
        g_autoptr(Scheduler) other = twin(room, dumped);

        if (!other)
                return false;
        scheduler_pass(other, room->now, &room->other);
        journal_pass(room->journal, room->now, &room->decisions);
        if (!same_decisions(&room->other, &room->decisions))
                return room_wrong(room, "the %s decides something else", dumped ? "dump" : "clone");
        if (chance(room, 20) && !room->recorded) {
                Scheduler *former = room->scheduler;

                journal_free(room->journal);
                room->scheduler = g_steal_pointer(&other);
                room->journal = journal_for(room->scheduler);
                scheduler_free(former);
        }
        return true;
}

static bool pass(Room *room)
{
        gint64 step = room->step++;

        if (step % 128 == 100 || step % 32 == 20)
                return pass_beside_twin(room, step % 128 == 100);
        journal_pass(room->journal, room->now, &room->decisions);
        return true;
}

static void count(Room *room)
{
        RoomCounts *counts = room->counts;

        counts->steps++;
        counts->gang_discards += room->decisions.gang_discards;
        for (guint i = 0; i < room->decisions.decisions->len; i++) {
                const Decision *decision = &g_array_index(room->decisions.decisions, Decision, i);

                counts->decisions++;
                counts->kinds[decision->kind]++;
                counts->rules[decision->rule]++;
        }
}

const char *room_step(Room *room)
{
        bool ok = true;

        for (int more = 1 + (int)room_random(room, EVENTS_MAX); more > 0 && ok; more--)
                ok = happen(room);
        ok = ok && end_overdue(room) && pass(room);

        if (ok)
                count(room);
        if (ok && room_check(room) &&
            (!room->kind->unit || room->step % 256 != 255 || room_check_settled(room)))
                return NULL;
        return room->wrong;
}

Room *room_new(const RoomKind *kind, guint64 seed, Mutant mutant, const JournalSink *sink, RoomCounts *counts)
{
        Room *room = g_new0(Room, 1);
        int nodes;

        room->kind = kind;
        room->random = seed * 1000003;
        room->now = 1000 * SECOND;
        room->next_key = 1;
        room->mutant = mutant;
        room->counts = counts;
        room->recorded = sink;
        room->config = (SchedulerConfig){ .nominated_ms = 20 * SECOND,
                                          .cooldown_ms = kind->cooldown_s * SECOND,
                                          .half_life_ms = 100 * SECOND,
                                          .topology = "zone,rack" };
        room->scheduler = scheduler_new(&room->config);
        plant(room->scheduler, mutant);
        room->journal = journal_new(room->scheduler, sink, NULL);
        decisions_init(&room->decisions);
        decisions_init(&room->other);
        nodes = 3 + (int)room_random(room, (guint)MAX(kind->nodes - 2, 1));
        for (int i = 0; i < nodes; i++)
                (void)add_node(room, i);
        room->n_queues = kind->queues > 1 ? 2 + (int)room_random(room, (guint)kind->queues - 1) : 1;
        for (int i = 0; i < room->n_queues; i++)
                (void)add_queue(room, i);
        return room;
}

void room_free(Room *room)
{
        if (!room)
                return;
        journal_free(room->journal);
        scheduler_free(room->scheduler);
        decisions_clear(&room->decisions);
        decisions_clear(&room->other);
        g_free(room);
}
