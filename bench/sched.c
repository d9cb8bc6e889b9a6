/* Figures of the scheduler alone, a JSON object a line: bench-sched pass|open|full|journal [ROUNDS [EVENTS]],
 * or bench-sched simulate ROOM TRACE.
 *
 * pass: 10,000 nodes half full, 100,000 jobs wait in 200 queues, each of which may take a little more than it
 * has: the first pass; then single arrivals and completions, each with its pass.
 *
 * open: the same without maxima of the queues: one pass fills the room.
 *
 * full: the same with a full room: a pass in which nothing can be placed, the first that the scheduler makes;
 * and the next one.
 *
 * simulate: a trace, by the clock of the simulator.
 *
 * journal: what recording adds to a put, and what a dump costs.
 *
 * Two builds whose digests are equal decided the same.
 *
 * Times are of the processor, not of the wall, but for the simulator's, which is of the wall. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "sched/dump.h"
#include "sched/journal.h"
#include "sched/simulate.h"

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
static const gint64 GIB = 1024 * 1024 * 1024;

typedef struct {
        guint64 random;
        gint64 next_key;
        Resources total;
        Resources held[QUEUES];
} World;

static guint draw(World *world, guint n)
{
        guint64 x = world->random += 0x9e3779b97f4a7c15;

        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
        x = (x ^ x >> 27) * 0x94d049bb133111eb;
        return (guint)((x ^ x >> 31) % n);
}

/* One node of five has 8 GPUs. */
static SchedNode make_node(int id)
{
        SchedNode node = { .id = id, .name = "node", .usable = true };

        node.total.cpu_milli = 64000;
        node.total.memory = 256 * GIB;
        node.total.gpus = id % 5 == 0 ? 8 : 0;
        return node;
}

static void put_nodes(World *world, Scheduler *scheduler)
{
        for (int i = 0; i < NODES; i++) {
                SchedNode node = make_node(i);

                (void)resources_add(&world->total, &node.total, 1);
                g_assert_true(scheduler_put_node(scheduler, &node));
        }
}

/* A min of half the queue's part of the room; a max, when `limited`, of what it holds and a little more. */
static void put_queues(World *world, Scheduler *scheduler, bool limited)
{
        for (int i = 0; i < QUEUES; i++) {
                SchedQueue queue = { .id = i,
                                     .parent = -1,
                                     .name = "queue",
                                     .state = QUEUE_OPEN,
                                     .weight = 1 + i % 3,
                                     .reclaimable = true,
                                     .preemption = PREEMPT_LOWER_PRIORITY,
                                     .order = i % 4 == 3 ? QUEUE_ORDER_FAIR : QUEUE_ORDER_PRIORITY,
                                     .backfill = true };

                for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++) {
                        queue.min.amount[kind] = world->total.amount[kind] / QUEUES / 4;
                        queue.max.amount[kind] = RESOURCE_UNLIMITED;
                }
                if (limited)
                        queue.max.cpu_milli = world->held[i].cpu_milli + 195000;
                g_assert_true(scheduler_put_queue(scheduler, &queue));
        }
}

/* Mixed shapes: 1 to 8 cores, one in five with a GPU, one in three a gang, one in eight elastic; half of them
 * declare a limit. */
static void draw_job(World *world, SchedJob *job, SchedRole *role)
{
        *role = (SchedRole){ .replicas = 1, .min = 1 };
        role->each.cpu_milli = 1000 << draw(world, 4);
        role->each.memory = (1 + draw(world, 4)) * 2 * GIB;
        role->each.gpus = draw(world, 5) == 0 ? 1 + draw(world, 2) : 0;
        if (draw(world, 3) == 0)
                role->replicas = role->min = 2 + (int)draw(world, TASKS - 1);
        if (draw(world, 8) == 0)
                role->min = (role->replicas + 1) / 2;
        *job = (SchedJob){ .key = world->next_key++,
                           .queue = (int)draw(world, QUEUES),
                           .user = (int)draw(world, 20),
                           .submitted = NOW - 1000 - draw(world, 100000),
                           .time_limit_ms = draw(world, 2) ? (1 + draw(world, 24)) * 3600 * 1000LL : 0,
                           .preemptable = true,
                           .topology = -1,
                           .n_roles = 1,
                           .roles = role };
}

static void put_waiting(World *world, Scheduler *scheduler)
{
        for (int i = 0; i < JOBS; i++) {
                SchedRole role;
                SchedJob job;

                draw_job(world, &job, &role);
                g_assert_true(scheduler_put_job(scheduler, &job));
        }
}

/* Every node gets jobs of one task until `cores` of it are used, and `gpus`. They end at known times. */
static void put_running(World *world, Scheduler *scheduler, gint64 cores, gint64 gpus)
{
        for (int node = 0; node < NODES; node++) {
                gint64 left = cores * 1000, cards = make_node(node).total.gpus ? gpus : 0;

                while (left > 0) {
                        SchedRole role;
                        SchedJob job;
                        SchedTask task = { .node = node };

                        draw_job(world, &job, &role);
                        role.replicas = role.min = 1;
                        role.each.cpu_milli = MIN(role.each.cpu_milli, left);
                        role.each.memory = 2 * GIB;
                        role.each.gpus = left <= 8000 ? cards : MIN(role.each.gpus, cards);
                        for (gint64 i = 0; i < role.each.gpus; i++)
                                task.devices |= (guint64)1 << (gpus - cards + i);
                        cards -= role.each.gpus;
                        left -= role.each.cpu_milli;
                        job.queue = (int)(job.key % QUEUES);
                        job.state = SCHED_RUNNING;
                        job.started = NOW - 3600 * 1000;
                        job.time_limit_ms = (2 + draw(world, 24)) * 3600 * 1000LL;
                        job.submitted = job.started;
                        job.tasks = &task;
                        (void)resources_add(&world->held[job.queue], &role.each, 1);
                        g_assert_true(scheduler_put_job(scheduler, &job));
                }
        }
}

/* The running jobs have to be known before the queues' maxima are. */
static Scheduler *make_room(World *world, gint64 cores, gint64 gpus, bool limited)
{
        Scheduler *scheduler = scheduler_new(&(SchedulerConfig){ 0 });

        *world = (World){ .random = 42, .next_key = 1 };
        put_nodes(world, scheduler);
        put_queues(world, scheduler, false);
        put_running(world, scheduler, cores, gpus);
        put_queues(world, scheduler, limited);
        put_waiting(world, scheduler);
        return scheduler;
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
                digest = digest * 31 + decision->kind * RULES + decision->rule;
        }
        for (guint i = 0; i < decisions->tasks->len; i++)
                digest = digest * 31 + (guint64)g_array_index(decisions->tasks, SchedTask, i).node;
        return digest;
}

/* Arrivals and completions in turn, each with a pass: put or drop, and what follows from it. */
static void single_events(World *world, Scheduler *scheduler, Decisions *decisions, int events)
{
        g_autofree double *times = g_new(double, events);
        g_autoptr(GArray) running = g_array_new(false, false, sizeof(gint64));
        gint64 now = NOW, started = 0;
        guint64 digest = 0;
        double sum = 0;
        int n = 0;

        for (guint i = 0; i < decisions->decisions->len; i++)
                if (g_array_index(decisions->decisions, Decision, i).kind == DECIDE_START)
                        g_array_append_val(running, g_array_index(decisions->decisions, Decision, i).key);
        for (int i = 0; i < events && sum < EVENTS_MS; i++) {
                SchedRole role;
                SchedJob job;
                gint64 start, key = 0;

                draw_job(world, &job, &role);
                job.submitted = ++now;
                if (i % 2) {
                        guint which = draw(world, running->len);

                        key = g_array_index(running, gint64, which);
                        g_array_remove_index_fast(running, which);
                }
                start = cpu_time();
                if (key)
                        scheduler_drop_job(scheduler, key);
                else
                        g_assert_true(scheduler_put_job(scheduler, &job));
                scheduler_pass(scheduler, now, decisions);
                times[n] = ms_since(start);
                sum += times[n++];
                digest = digest_decisions(digest, decisions);
                for (guint j = 0; j < decisions->decisions->len; j++)
                        if (g_array_index(decisions->decisions, Decision, j).kind == DECIDE_START) {
                                g_array_append_val(running,
                                                   g_array_index(decisions->decisions, Decision, j).key);
                                started++;
                        }
        }
        qsort(times, (size_t)n, sizeof(double), compare_doubles);
        printf("{\"bench\": \"event\", \"p50_ms\": %.4f, \"p99_ms\": %.4f, \"max_ms\": %.4f, \"events\": %d, "
               "\"started\": %" G_GINT64_FORMAT ", \"digest\": \"%016" G_GINT64_MODIFIER "x\"}\n",
               times[n / 2], times[n * 99 / 100], times[n - 1], n, started, digest);
}

/* First passes on clones of one room; single events on the last of them. */
static void bench_passes(const char *name, gint64 cores, gint64 gpus, bool limited, int rounds, int events)
{
        World world;
        g_autoptr(Scheduler) room = make_room(&world, cores, gpus, limited);
        Decisions decisions;

        decisions_init(&decisions);
        for (int round = 0; round < rounds; round++) {
                g_autoptr(Scheduler) scheduler = scheduler_clone(room);
                gint64 start = cpu_time();
                int jobs, tasks;
                double ms;

                scheduler_pass(scheduler, NOW, &decisions);
                ms = ms_since(start);
                count_starts(&decisions, &jobs, &tasks);
                printf("{\"bench\": \"%s\", \"ms\": %.3f, \"started\": %d, \"tasks\": %d, \"decisions\": "
                       "%u, \"digest\": \"%016" G_GINT64_MODIFIER "x\"}\n",
                       name, ms, jobs, tasks, decisions.decisions->len, digest_decisions(0, &decisions));
                if (strcmp(name, "full") == 0) {
                        start = cpu_time();
                        scheduler_pass(scheduler, NOW + 1, &decisions);
                        printf("{\"bench\": \"full-again\", \"ms\": %.3f, \"decisions\": %u}\n",
                               ms_since(start), decisions.decisions->len);
                }
                if (events > 0)
                        single_events(&world, scheduler, &decisions, events);
        }
        decisions_clear(&decisions);
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
                draw_job(world, &jobs[i], &roles[i]);
        for (int time = 0; time <= AGAIN; time++) {
                gint64 start = cpu_time();

                for (int i = 0; i < JOBS; i++)
                        g_assert_true(journal_put_job(journal, &jobs[i]));
                *(time ? ret_again : ret_first) += ms_since(start) * 1e6 / JOBS / (time ? AGAIN : 1);
        }
}

static void bench_journal(int rounds)
{
        for (int round = 0; round < rounds; round++) {
                double first[2] = { 0 }, again[2] = { 0 }, dump_ms = 0;
                gsize bytes = 0, dumped = 0;

                for (int with = 0; with < 2; with++) {
                        JournalSink sink = { .begin = drop_begin, .write = drop_write, .arg = &bytes };
                        JournalLimits limits = { .max_bytes = G_MAXSIZE };
                        World world = { .random = 42, .next_key = 1 };
                        g_autoptr(Scheduler) scheduler = scheduler_new(&(SchedulerConfig){ 0 });
                        g_autoptr(Journal) journal = journal_new(scheduler, with ? &sink : NULL, &limits);
                        g_autoptr(GString) dump = g_string_new(NULL);
                        gint64 start;

                        put_nodes(&world, scheduler);
                        put_queues(&world, scheduler, false);
                        put_all(&world, journal, &first[with], &again[with]);
                        start = cpu_time();
                        (void)scheduler_dump(scheduler, dump);
                        dump_ms = ms_since(start);
                        dumped = dump->len;
                }
                printf("{\"bench\": \"journal\", \"put_ns\": %.1f, \"added_ns\": %.1f, \"bytes_per_job\": "
                       "%.1f, "
                       "\"dump_ms\": %.2f, \"dump_bytes\": %zu}\n",
                       first[0], again[1] - again[0], (double)bytes / JOBS / (1 + AGAIN), dump_ms, dumped);
        }
}

int main(int argc, char **argv)
{
        const char *what = argc > 1 ? argv[1] : "";
        int rounds = argc > 2 ? (int)g_ascii_strtoll(argv[2], NULL, 10) : 1;
        int events = argc > 3 ? (int)g_ascii_strtoll(argv[3], NULL, 10) : EVENTS;

        setvbuf(stdout, NULL, _IOLBF, 0);
        json_init();
        if (strcmp(what, "pass") == 0)
                bench_passes("pass", 32, 4, true, rounds, events);
        else if (strcmp(what, "open") == 0)
                bench_passes("open", 32, 4, false, rounds, 0);
        else if (strcmp(what, "full") == 0)
                bench_passes("full", 64, 8, false, rounds, 0);
        else if (strcmp(what, "journal") == 0)
                bench_journal(rounds);
        else if (strcmp(what, "simulate") == 0 && argc == 4)
                return bench_simulate(argv[2], argv[3]);
        else
                return fprintf(stderr, "usage: bench-sched pass|open|full|journal [ROUNDS [EVENTS]], "
                                       "simulate ROOM TRACE\n"),
                       2;
        return 0;
}
