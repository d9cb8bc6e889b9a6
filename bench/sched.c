/* Figures of the scheduler alone, a JSON object a line:
 *
 *     bench-sched pass|open|full|memory|journal MIX [ROUNDS [EVENTS]]
 *     bench-sched simulate ROOM TRACE
 *
 * A mix is what a room has and is asked for: `deep-learning`, half of the machines with 8 GPUs and jobs of up
 * to two of these; or `harder`, small jobs of which hardly two are alike, time limits, elastic jobs, fair
 * queues, preemption everywhere.
 *
 * pass: 10,000 nodes half full, 100,000 jobs wait in 200 queues: the first pass; then single arrivals and
 * completions, each with its pass. In the harder mix a queue may take a little more than it has.
 *
 * open: the same without maxima of the queues: one pass fills the room.
 *
 * full: the same with a full room: a pass in which nothing can be placed, the first that the scheduler makes;
 * the next one; and single events there.
 *
 * memory: of a job that waits.
 *
 * simulate: a trace, by the clock of the simulator.
 *
 * journal: what recording adds to a put, and what a dump costs.
 *
 * Two builds whose digests are equal decided the same.
 *
 * Times are of the processor, not of the wall, but for the simulator's, which is of the wall. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "journal/journal.h"
#include "sched/dump.h"
#include "sim/simulate.h"

enum {
        NODES = 10000,
        QUEUES = 200,
        JOBS = 100000,
        TASKS = 8,      /* of a job, at most */
        EVENTS = 10000, /* or as many as take so long: */
        EVENTS_MS = 20000,
        AGAIN = 10, /* times that unchanged jobs are put */
};
static const gint64 NOW = 1700000000000;
static const gint64 HOUR_MS = 3600 * 1000;
static const gint64 GIB = 1024 * 1024 * 1024;

typedef struct Mix Mix;

typedef struct {
        const Mix *mix;
        Scheduler *scheduler;
        guint64 random;
        gint64 next_key;
        int waiting;
        Resources total;
        Resources held[QUEUES];
        GArray *running; /* gint64: keys */
        Decisions decisions;
} World;

/* What a room has and is asked for. */
struct Mix {
        const char *name;
        void (*draw_node)(int id, SchedNode *ret);
        void (*draw_queue)(const World *world, int id, SchedQueue *ret);
        void (*draw_job)(World *world, SchedJob *ret, SchedRole *ret_role);
        void (*fill)(World *world, bool full); /* what runs already; nothing waits but in a full room */
        gint64 more_milli; /* of the processors, what a queue of a limited room may take beside what it holds;
                              0: without limit */
};

static guint draw(World *world, guint n)
{
        guint64 x = world->random += 0x9e3779b97f4a7c15;

        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
        x = (x ^ x >> 27) * 0x94d049bb133111eb;
        return (guint)((x ^ x >> 31) % n);
}

/* ---- any mix ---- */

static void put_nodes(World *world)
{
        for (int i = 0; i < NODES; i++) {
                g_autofree char *rack = g_strdup_printf("rack=r%d", i / 40);
                const char *labels[] = { rack, NULL };
                SchedNode node = { .id = i, .name = "node", .usable = true, .labels = labels };

                world->mix->draw_node(i, &node);
                (void)resources_add(&world->total, &node.total, 1);
                g_assert_true(scheduler_put_node(world->scheduler, &node));
        }
}

static void put_queues(World *world, bool limited)
{
        for (int i = 0; i < QUEUES; i++) {
                SchedQueue queue = { .id = i,
                                     .parent = -1,
                                     .name = "queue",
                                     .state = QUEUE_OPEN,
                                     .weight = 1 + i % 3,
                                     .reclaimable = true,
                                     .backfill = true };

                for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                        queue.max.amount[kind] = RESOURCE_UNLIMITED;
                world->mix->draw_queue(world, i, &queue);
                if (limited && world->mix->more_milli > 0)
                        queue.max.cpu_milli = world->held[i].cpu_milli + world->mix->more_milli;
                g_assert_true(scheduler_put_queue(world->scheduler, &queue));
        }
}

static void put_waiting(World *world, int jobs)
{
        for (int i = 0; i < jobs; i++) {
                SchedRole role;
                SchedJob job;

                world->mix->draw_job(world, &job, &role);
                g_assert_true(scheduler_put_job(world->scheduler, &job));
        }
        world->waiting += jobs;
}

static void note_starts(World *world)
{
        const GArray *decisions = world->decisions.decisions;

        for (guint i = 0; i < decisions->len; i++) {
                const Decision *decision = &g_array_index(decisions, Decision, i);

                if (decision->kind != DECIDE_START)
                        continue;
                g_array_append_val(world->running, decision->key);
                world->waiting--;
        }
}

static void drop_evicted(World *world)
{
        const GArray *decisions = world->decisions.decisions;

        for (guint i = 0; i < decisions->len; i++)
                if (g_array_index(decisions, Decision, i).kind == DECIDE_EVICT)
                        scheduler_drop_job(world->scheduler, g_array_index(decisions, Decision, i).key);
}

/* ---- deep learning ---- */

static void draw_machine(int id, SchedNode *ret)
{
        bool gpus = id % 2 == 0;

        ret->total.cpu_milli = gpus ? 64000 : 32000;
        ret->total.memory = (gpus ? 512 : 128) * GIB;
        ret->total.gpus = gpus ? 8 : 0;
}

/* A min of half the queue's part of the room. */
static void draw_team(const World *world, int id, SchedQueue *ret)
{
        ret->preemption = id % 2 ? PREEMPT_LOWER_PRIORITY : PREEMPT_NEVER;
        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                ret->min.amount[kind] = world->total.amount[kind] / QUEUES / 2;
}

static void draw_training(World *world, SchedJob *ret, SchedRole *ret_role)
{
        static const struct {
                int replicas, cores, gib, gpus;
        } shapes[] = {
                { 1, 1, 2, 0 },    { 1, 2, 4, 0 },  { 1, 4, 16, 0 },   { 1, 8, 32, 0 },
                { 1, 4, 16, 1 },   { 1, 8, 64, 2 }, { 1, 16, 128, 4 }, { 1, 32, 256, 8 },
                { 2, 32, 256, 8 }, { 4, 8, 64, 2 }, { 8, 2, 8, 0 },    { 4, 4, 16, 1 },
        };
        guint shape = draw(world, G_N_ELEMENTS(shapes));

        *ret_role = (SchedRole){ .replicas = shapes[shape].replicas, .min = shapes[shape].replicas };
        ret_role->each.cpu_milli = shapes[shape].cores * 1000;
        ret_role->each.memory = shapes[shape].gib * GIB;
        ret_role->each.gpus = shapes[shape].gpus;
        *ret = (SchedJob){ .key = world->next_key++,
                           .queue = (int)draw(world, QUEUES),
                           .user = (int)draw(world, 4),
                           .priority = (int)draw(world, 3) * 10,
                           .submitted = NOW - 1000,
                           .time_limit_ms = draw(world, 3) * 2 * HOUR_MS,
                           .grace_ms = 30 * 1000,
                           .preemptable = true,
                           .topology = -1,
                           .n_roles = 1,
                           .roles = ret_role };
}

/* By passes of its own. Full: until nothing more is decided, however much waits. */
static void fill_by_passes(World *world, bool full)
{
        put_waiting(world, NODES * 6 / 10);
        do {
                scheduler_pass(world->scheduler, NOW - 1, &world->decisions);
                note_starts(world);
                if (!full)
                        return;
                drop_evicted(world);
                put_waiting(world, JOBS - world->waiting);
        } while (world->decisions.decisions->len > 0);
}

/* ---- a harder mix ---- */

/* One node of five has 8 GPUs. */
static void draw_node(int id, SchedNode *ret)
{
        ret->total.cpu_milli = 64000;
        ret->total.memory = 256 * GIB;
        ret->total.gpus = id % 5 == 0 ? 8 : 0;
}

static void draw_queue(const World *world, int id, SchedQueue *ret)
{
        ret->preemption = PREEMPT_LOWER_PRIORITY;
        ret->order = id % 4 == 3 ? QUEUE_ORDER_FAIR : QUEUE_ORDER_PRIORITY;
        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                ret->min.amount[kind] = world->total.amount[kind] / QUEUES / 4;
}

/* 1 to 8 cores, one in five with a GPU, one in three a gang, one in eight elastic; half of them declare a
 * limit. */
static void draw_job(World *world, SchedJob *ret, SchedRole *ret_role)
{
        *ret_role = (SchedRole){ .replicas = 1, .min = 1 };
        ret_role->each.cpu_milli = 1000 << draw(world, 4);
        ret_role->each.memory = (1 + draw(world, 4)) * 2 * GIB;
        ret_role->each.gpus = draw(world, 5) == 0 ? 1 + draw(world, 2) : 0;
        if (draw(world, 3) == 0)
                ret_role->replicas = ret_role->min = 2 + (int)draw(world, TASKS - 1);
        if (draw(world, 8) == 0)
                ret_role->min = (ret_role->replicas + 1) / 2;
        *ret = (SchedJob){ .key = world->next_key++,
                           .queue = (int)draw(world, QUEUES),
                           .user = (int)draw(world, 20),
                           .submitted = NOW - 1000 - draw(world, 100000),
                           .time_limit_ms = draw(world, 2) ? (1 + draw(world, 24)) * HOUR_MS : 0,
                           .preemptable = true,
                           .topology = -1,
                           .n_roles = 1,
                           .roles = ret_role };
}

static void put_running(World *world, SchedJob *job, const SchedTask *task)
{
        job->queue = (int)(job->key % QUEUES);
        job->state = SCHED_RUNNING;
        job->started = NOW - HOUR_MS;
        job->time_limit_ms = (2 + draw(world, 24)) * HOUR_MS;
        job->submitted = job->started;
        job->tasks = task;
        (void)resources_add(&world->held[job->queue], &job->roles->each, 1);
        g_array_append_val(world->running, job->key);
        g_assert_true(scheduler_put_job(world->scheduler, job));
}

/* Every node gets jobs of one task until its cores are used, or half of them; likewise its GPUs. They end at
 * known times. */
static void fill_nodes(World *world, bool full)
{
        for (int at = 0; at < NODES; at++) {
                SchedNode node = { 0 };
                gint64 left, cards, gpus;

                draw_node(at, &node);
                left = node.total.cpu_milli / (full ? 1 : 2);
                cards = gpus = node.total.gpus / (full ? 1 : 2);
                while (left > 0) {
                        SchedRole role;
                        SchedJob job;
                        SchedTask task = { .node = at };

                        draw_job(world, &job, &role);
                        role.replicas = role.min = 1;
                        role.each.cpu_milli = MIN(role.each.cpu_milli, left);
                        role.each.memory = 2 * GIB;
                        role.each.gpus = left <= 8000 ? cards : MIN(role.each.gpus, cards);
                        for (gint64 i = 0; i < role.each.gpus; i++)
                                task.devices |= (guint64)1 << (gpus - cards + i);
                        cards -= role.each.gpus;
                        left -= role.each.cpu_milli;
                        put_running(world, &job, &task);
                }
        }
        if (full)
                put_waiting(world, JOBS);
}

static const Mix mixes[] = {
        { "deep-learning", draw_machine, draw_team, draw_training, fill_by_passes, 0 },
        { "harder", draw_node, draw_queue, draw_job, fill_nodes, 195000 },
};

/* ---- the room ---- */

typedef enum { ROOM_PASS, ROOM_OPEN, ROOM_FULL } RoomState;

static void world_init(World *world, const Mix *mix)
{
        *world = (World){ .mix = mix,
                          .scheduler = scheduler_new(&(SchedulerConfig){ .topology = "rack" }),
                          .random = 42,
                          .next_key = 1,
                          .running = g_array_new(false, false, sizeof(gint64)) };
        decisions_init(&world->decisions);
}

static void world_clear(World *world)
{
        scheduler_free(world->scheduler);
        g_array_unref(world->running);
        decisions_clear(&world->decisions);
}

/* The running jobs have to be known before the queues' maxima are. */
static void make_room(World *world, const Mix *mix, RoomState state)
{
        world_init(world, mix);
        put_nodes(world);
        put_queues(world, false);
        mix->fill(world, state == ROOM_FULL);
        put_queues(world, state == ROOM_PASS);
        if (state != ROOM_FULL)
                put_waiting(world, JOBS);
}

/* Of this thread, in ns: other work of the machine does not count. */
static gint64 cpu_time(void)
{
        struct timespec time;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return (gint64)time.tv_sec * 1000000000 + time.tv_nsec;
}

static double ms_since(gint64 start)
{
        return (double)(cpu_time() - start) / 1e6;
}

static void count_starts(const Decisions *decisions, int *ret_jobs, int *ret_tasks)
{
        *ret_jobs = *ret_tasks = 0;
        for (guint i = 0; i < decisions->decisions->len; i++) {
                const Decision *decision = &g_array_index(decisions->decisions, Decision, i);

                *ret_jobs += decision->kind == DECIDE_START;
                for (int task = 0; task < decision->n_tasks; task++)
                        *ret_tasks +=
                                g_array_index(decisions->tasks, SchedTask, decision->first_task + (guint)task)
                                        .node >= 0;
        }
}

static int compare_doubles(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

/* Another one when anything else is decided. */
static guint64 digest_decisions(guint64 digest, const Decisions *decisions)
{
        for (guint i = 0; i < decisions->decisions->len; i++) {
                const Decision *decision = &g_array_index(decisions->decisions, Decision, i);

                digest = digest * 31 + (guint64)decision->key;
                digest = digest * 31 + (guint64)decision->for_key;
                digest = digest * 31 + decision->kind * RULES + decision->rule;
        }
        for (guint i = 0; i < decisions->tasks->len; i++) {
                const SchedTask *task = &g_array_index(decisions->tasks, SchedTask, i);

                digest = (digest * 31 + (guint64)task->node) * 31 + task->devices;
        }
        return digest;
}

/* The next event of the room, put or drop, and the pass that decides what follows. Returns ms. */
static double single_event(World *world, bool arrival, gint64 now)
{
        SchedRole role;
        SchedJob job;
        gint64 start, key = 0;

        world->mix->draw_job(world, &job, &role);
        job.submitted = now;
        if (!arrival) {
                guint which = draw(world, world->running->len);

                key = g_array_index(world->running, gint64, which);
                (void)g_array_remove_index_fast(world->running, which);
        }
        start = cpu_time();
        if (arrival)
                g_assert_true(scheduler_put_job(world->scheduler, &job));
        else
                scheduler_drop_job(world->scheduler, key);
        scheduler_pass(world->scheduler, now, &world->decisions);
        return ms_since(start);
}

/* Arrivals and completions in turn. */
static void single_events(World *world, const char *name, int events)
{
        g_autofree double *times = g_new(double, events);
        gint64 now = NOW + 1, started = 0;
        guint64 digest = 0;
        double sum = 0;
        int n = 0;

        while (n < events && sum < EVENTS_MS) {
                int jobs, tasks;

                times[n] = single_event(world, n % 2 == 0, ++now);
                sum += times[n++];
                digest = digest_decisions(digest, &world->decisions);
                count_starts(&world->decisions, &jobs, &tasks);
                started += jobs;
                note_starts(world);
        }
        qsort(times, (size_t)n, sizeof(double), compare_doubles);
        printf("{\"bench\": \"%s-event\", \"mix\": \"%s\", \"p50_ms\": %.4f, \"p99_ms\": %.4f, "
               "\"max_ms\": %.4f, \"events\": %d, \"started\": %" G_GINT64_FORMAT
               ", \"digest\": \"%016" G_GINT64_MODIFIER "x\"}\n",
               name, world->mix->name, times[n / 2], times[n * 99 / 100], times[n - 1], n, started, digest);
}

static void one_pass(World *world, const char *name, const char *which, gint64 now)
{
        gint64 start = cpu_time();
        int jobs, tasks;
        double ms;

        scheduler_pass(world->scheduler, now, &world->decisions);
        ms = ms_since(start);
        count_starts(&world->decisions, &jobs, &tasks);
        note_starts(world);
        printf("{\"bench\": \"%s%s\", \"mix\": \"%s\", \"ms\": %.3f, \"started\": %d, \"tasks\": %d, "
               "\"decisions\": %u, \"digest\": \"%016" G_GINT64_MODIFIER "x\"}\n",
               name, which, world->mix->name, ms, jobs, tasks, world->decisions.decisions->len,
               digest_decisions(0, &world->decisions));
}

/* First passes on clones of one room, and single events after each. */
static void bench_passes(const Mix *mix, const char *name, RoomState state, int rounds, int events)
{
        World world;
        Scheduler *room;
        guint running;

        make_room(&world, mix, state);
        room = world.scheduler;
        running = world.running->len;
        for (int round = 0; round < rounds; round++) {
                g_autoptr(Scheduler) scheduler = scheduler_clone(room);

                world.scheduler = scheduler;
                g_array_set_size(world.running, running);
                one_pass(&world, name, "", NOW);
                if (state == ROOM_FULL)
                        one_pass(&world, name, "-again", NOW + 1);
                if (events > 0 && state != ROOM_OPEN)
                        single_events(&world, name, events);
        }
        world.scheduler = room;
        world_clear(&world);
}

static void bench_memory(const Mix *mix)
{
        World world;
        size_t before;

        world_init(&world, mix);
        put_nodes(&world);
        put_queues(&world, false);
        before = mallinfo2().uordblks;
        put_waiting(&world, JOBS);
        printf("{\"bench\": \"memory\", \"mix\": \"%s\", \"bytes_per_job\": %zu}\n", mix->name,
               (mallinfo2().uordblks - before) / JOBS);
        world_clear(&world);
}

/* ---- the simulator ---- */

static int bench_simulate(const char *room_path, const char *trace_path)
{
        g_autofree char *room_text = NULL, *trace_text = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(Room) room = NULL;
        g_autoptr(Trace) trace = NULL;
        Simulation simulation;
        gint64 start;
        gsize len;

        if (file_read(room_path, 1 << 20, &room_text, &len, &error))
                room = room_parse(room_text, len, room_path, &error);
        if (room && file_read(trace_path, 1 << 24, &trace_text, &len, &error))
                trace = trace_parse(trace_text, len, trace_path, room, &error);
        start = g_get_monotonic_time();
        if (trace && simulate(room, trace, NULL, &simulation, &error)) {
                g_autoptr(json_t) json = NULL;
                g_autofree char *text = NULL;

                simulation.wall_s = (double)(g_get_monotonic_time() - start) / 1e6;
                json = simulation_format(&simulation);
                json_object_set_new(json, "bench", json_string("simulate"));
                text = json_format(json);
                printf("%s\n", text);
                simulation_clear(&simulation);
                return 0;
        }
        fprintf(stderr, "bench-sched: %s\n", error->message);
        return 1;
}

/* ---- the journal ---- */

static bool drop_begin(void *arg, GError **error)
{
        return true;
}

static bool drop_write(void *arg, const char *text, gsize len, GError **error)
{
        gsize *bytes = arg;

        *bytes += len;
        return true;
}

/* ns for each put: of new jobs, and of the same ones again, which changes nothing and so costs next to
 * nothing but the record. */
static void put_all(World *world, Journal *journal, double *ret_first, double *ret_again)
{
        g_autofree SchedJob *jobs = g_new(SchedJob, JOBS);
        g_autofree SchedRole *roles = g_new(SchedRole, JOBS);

        for (int i = 0; i < JOBS; i++)
                world->mix->draw_job(world, &jobs[i], &roles[i]);
        for (int time = 0; time <= AGAIN; time++) {
                gint64 start = cpu_time();

                for (int i = 0; i < JOBS; i++)
                        g_assert_true(journal_put_job(journal, &jobs[i]));
                *(time ? ret_again : ret_first) += ms_since(start) * 1e6 / JOBS / (time ? AGAIN : 1);
        }
}

static void bench_journal(const Mix *mix, int rounds)
{
        for (int round = 0; round < rounds; round++) {
                double first[2] = { 0 }, again[2] = { 0 }, dump_ms = 0;
                gsize bytes = 0, dumped = 0;

                for (int with = 0; with < 2; with++) {
                        JournalSink sink = { .begin = drop_begin, .write = drop_write, .arg = &bytes };
                        JournalLimits limits = { .max_bytes = G_MAXSIZE };
                        g_autoptr(GString) dump = g_string_new(NULL);
                        World world;
                        Journal *journal;
                        gint64 start;

                        world_init(&world, mix);
                        journal = journal_new(world.scheduler, with ? &sink : NULL, &limits);
                        put_nodes(&world);
                        put_queues(&world, false);
                        put_all(&world, journal, &first[with], &again[with]);
                        start = cpu_time();
                        (void)scheduler_dump(world.scheduler, dump);
                        dump_ms = ms_since(start);
                        dumped = dump->len;
                        journal_free(journal);
                        world_clear(&world);
                }
                printf("{\"bench\": \"journal\", \"put_ns\": %.1f, \"added_ns\": %.1f, \"bytes_per_job\": "
                       "%.1f, "
                       "\"dump_ms\": %.2f, \"dump_bytes\": %zu}\n",
                       first[0], again[1] - again[0], (double)bytes / JOBS / (1 + AGAIN), dump_ms, dumped);
        }
}

static const Mix *mix_find(const char *name)
{
        for (size_t i = 0; i < G_N_ELEMENTS(mixes); i++)
                if (strcmp(mixes[i].name, name) == 0)
                        return &mixes[i];
        return NULL;
}

static int usage(void)
{
        fputs("usage: bench-sched pass|open|full|memory|journal MIX [ROUNDS [EVENTS]], simulate ROOM TRACE\n"
              "mixes: deep-learning, harder\n",
              stderr);
        return 2;
}

int main(int argc, char **argv)
{
        const char *what = argc > 2 ? argv[1] : "";
        const Mix *mix = argc > 2 ? mix_find(argv[2]) : NULL;
        int rounds = argc > 3 ? (int)g_ascii_strtoll(argv[3], NULL, 10) : 1;
        int events = argc > 4 ? (int)g_ascii_strtoll(argv[4], NULL, 10) : EVENTS;

        setvbuf(stdout, NULL, _IOLBF, 0);
        json_init();
        if (strcmp(what, "simulate") == 0 && argc == 4)
                return bench_simulate(argv[2], argv[3]);
        if (!mix)
                return usage();
        if (strcmp(what, "pass") == 0)
                bench_passes(mix, "pass", ROOM_PASS, rounds, events);
        else if (strcmp(what, "open") == 0)
                bench_passes(mix, "open", ROOM_OPEN, rounds, 0);
        else if (strcmp(what, "full") == 0)
                bench_passes(mix, "full", ROOM_FULL, rounds, events);
        else if (strcmp(what, "memory") == 0)
                bench_memory(mix);
        else if (strcmp(what, "journal") == 0)
                bench_journal(mix, rounds);
        else
                return usage();
        return 0;
}
