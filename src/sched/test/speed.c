/* Measures, for a person to run (no test): passes over a large room, and the memory of what waits.
 *
 *     build/.../test-sched-speed [NODES [JOBS]]        (10,000 nodes, 100,000 jobs, 200 queues)
 *
 * Times are of the processor. Three states: the room half full of mixed shapes, and everything else waiting;
 * the same after that, one arrival or end at a time; and the room full, when nothing can start. */
#include <malloc.h>
#include <stdlib.h>

#include "base/number.h"
#include "sched/scheduler.h"

enum { QUEUES = 200, USERS = 4, ROUNDS = 7, EVENTS = 4000, MINUTE = 60 * 1000 };
static const gint64 GIB = 1024 * 1024 * 1024;

typedef struct {
        int replicas, cpu, memory, gpus; /* cores, GiB */
} Mix;

/* What a room of deep learning is asked for. */
static const Mix mixes[] = {
        { 1, 1, 2, 0 },    { 1, 2, 4, 0 },  { 1, 4, 16, 0 },   { 1, 8, 32, 0 },
        { 1, 4, 16, 1 },   { 1, 8, 64, 2 }, { 1, 16, 128, 4 }, { 1, 32, 256, 8 },
        { 2, 32, 256, 8 }, { 4, 8, 64, 2 }, { 8, 2, 8, 0 },    { 4, 4, 16, 1 },
};

typedef struct {
        Scheduler *scheduler;
        gint64 now, next_key;
        GRand *rand;
        Decisions decisions;
        GArray *running; /* gint64 */
} Bench;

/* Of this thread: other work of the machine does not count. */
static gint64 cpu_us(void)
{
        struct timespec time;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return (gint64)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static gint64 *times_of(GArray *times)
{
        return (gint64 *)(void *)times->data;
}

static int compare(gconstpointer a, gconstpointer b)
{
        gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

        return (x > y) - (x < y);
}

static void say(const char *what, GArray *times)
{
        g_array_sort(times, compare);
        g_print("%-58s min %8.3f  median %8.3f  p99 %8.3f  max %8.3f ms\n", what,
                (double)times_of(times)[0] / 1000, (double)times_of(times)[times->len / 2] / 1000,
                (double)times_of(times)[times->len * 99 / 100] / 1000,
                (double)times_of(times)[times->len - 1] / 1000);
}

static void put_room(Bench *bench, int nodes)
{
        for (int i = 0; i < nodes; i++) {
                g_autofree char *rack = g_strdup_printf("rack=r%d", i / 40);
                const char *labels[] = { rack, NULL };
                bool gpus = i % 2 == 0;
                SchedNode node = { .id = i, .name = "n", .usable = true, .labels = labels };

                node.total = (Resources){ .cpu_milli = gpus ? 64000 : 32000,
                                          .memory = (gpus ? 512 : 128) * GIB,
                                          .gpus = gpus ? 8 : 0 };
                g_assert_true(scheduler_put_node(bench->scheduler, &node));
        }
}

static void put_queues(Bench *bench, int nodes)
{
        for (int i = 0; i < QUEUES; i++) {
                SchedQueue queue = { .id = i,
                                     .parent = -1,
                                     .name = "q",
                                     .state = QUEUE_OPEN,
                                     .weight = 1 + i % 3,
                                     .reclaimable = true,
                                     .preemption = i % 2 ? PREEMPT_LOWER_PRIORITY : PREEMPT_NEVER,
                                     .backfill = true };

                for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                        queue.max.amount[kind] = RESOURCE_UNLIMITED;
                queue.min.cpu_milli = (gint64)nodes * 48000 / QUEUES / 2;
                queue.min.memory = nodes * 320 * GIB / QUEUES / 2;
                queue.min.gpus = nodes * 4 / QUEUES / 2;
                g_assert_true(scheduler_put_queue(bench->scheduler, &queue));
        }
}

static void put_job(Bench *bench)
{
        const Mix *mix = &mixes[g_rand_int_range(bench->rand, 0, G_N_ELEMENTS(mixes))];
        SchedRole role = {
                .each = { .cpu_milli = mix->cpu * 1000, .memory = mix->memory * GIB, .gpus = mix->gpus },
                .replicas = mix->replicas,
                .min = mix->replicas
        };
        SchedJob job = { .key = ++bench->next_key,
                         .queue = g_rand_int_range(bench->rand, 0, QUEUES),
                         .user = g_rand_int_range(bench->rand, 0, USERS),
                         .priority = g_rand_int_range(bench->rand, 0, 3) * 10,
                         .submitted = bench->now,
                         .time_limit_ms = g_rand_int_range(bench->rand, 0, 3) * 120 * MINUTE,
                         .grace_ms = 30 * 1000,
                         .preemptable = true,
                         .topology = -1,
                         .n_roles = 1,
                         .roles = &role };

        g_assert_true(scheduler_put_job(bench->scheduler, &job));
}

static gint64 pass(Bench *bench)
{
        gint64 started = cpu_us();

        scheduler_pass(bench->scheduler, bench->now, &bench->decisions);
        started = cpu_us() - started;
        for (guint i = 0; i < bench->decisions.decisions->len; i++) {
                const Decision *decision = &g_array_index(bench->decisions.decisions, Decision, i);

                if (decision->kind == DECIDE_START)
                        g_array_append_val(bench->running, decision->key);
        }
        return started;
}

/* Without waiting jobs: the room half full. */
static void fill_half(Bench *bench, int nodes)
{
        int before = (int)bench->running->len;

        for (int i = 0; i < nodes; i++)
                put_job(bench);
        (void)pass(bench);
        g_print("half full: %u jobs run\n", bench->running->len - (guint)before);
}

static void end_one(Bench *bench)
{
        guint at = (guint)g_rand_int_range(bench->rand, 0, (gint32)bench->running->len);

        scheduler_drop_job(bench->scheduler, g_array_index(bench->running, gint64, at));
        (void)g_array_remove_index_fast(bench->running, at);
}

/* One arrival or end, and the pass that decides what follows. */
static void measure_events(Bench *bench, const char *what)
{
        g_autoptr(GArray) arrivals = g_array_new(FALSE, FALSE, sizeof(gint64));
        g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(gint64));
        g_autofree char *of_arrivals = g_strdup_printf("%s, one arrival", what);
        g_autofree char *of_ends = g_strdup_printf("%s, one end", what);

        for (int i = 0; i < EVENTS; i++) {
                bool arrival = i % 2 == 0;
                gint64 took = cpu_us();

                bench->now += 10;
                if (arrival)
                        put_job(bench);
                else
                        end_one(bench);
                (void)pass(bench);
                took = cpu_us() - took;
                g_array_append_val(arrival ? arrivals : ends, took);
        }
        say(of_arrivals, arrivals);
        say(of_ends, ends);
}

static Scheduler *copy(const Scheduler *scheduler, const char *what)
{
        gint64 started = cpu_us();
        Scheduler *clone = scheduler_clone(scheduler);

        g_print("%s: %.1f ms\n", what, (double)(cpu_us() - started) / 1000);
        return clone;
}

/* The same pass several times, each on a clone of the same state. */
static void measure_full(Bench *bench)
{
        g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gint64));
        Scheduler *state = bench->scheduler;
        guint running = bench->running->len, starts = 0;

        for (int round = 0; round < ROUNDS; round++) {
                bench->scheduler = copy(state, "clone");
                g_array_set_size(bench->running, running);
                gint64 took = pass(bench);
                g_array_append_val(times, took);
                starts = bench->running->len - running;
                if (round < ROUNDS - 1)
                        scheduler_free(bench->scheduler);
        }
        scheduler_free(state);
        g_print("full pass: %u starts of %u decisions, %" G_GINT64_FORMAT " considered, %" G_GINT64_FORMAT
                " gangs discarded\n",
                starts, bench->decisions.decisions->len, bench->decisions.considered,
                bench->decisions.gang_discards);
        say("full pass, room half full", times);
}

/* Every memory of what is known not to fit is lost with each round: a clone that has had a node put anew. */
static void measure_nothing(Bench *bench)
{
        g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gint64));
        guint decisions = 0;

        for (int round = 0; round < ROUNDS; round++) {
                SchedNode node = { .id = 0, .name = "n", .usable = true };

                node.total = (Resources){ .cpu_milli = 64000, .memory = 512 * GIB, .gpus = 8 };
                g_assert_true(scheduler_put_node(bench->scheduler, &node));
                bench->now += 10;
                gint64 took = pass(bench);
                g_array_append_val(times, took);
                decisions += round > 0 ? bench->decisions.decisions->len : 0;
        }
        g_print("%u decisions\n", decisions);
        say("full pass, room full", times);
}

static void measure_memory(int jobs)
{
        Bench bench = { .scheduler = scheduler_new(&(SchedulerConfig){ 0 }),
                        .rand = g_rand_new_with_seed(3) };
        size_t before;

        put_queues(&bench, 1000);
        before = mallinfo2().uordblks;
        for (int i = 0; i < jobs; i++)
                put_job(&bench);
        g_print("a waiting job: %zu bytes\n", (mallinfo2().uordblks - before) / (size_t)jobs);
        scheduler_free(bench.scheduler);
        g_rand_free(bench.rand);
}

int main(int argc, char **argv)
{
        gint64 nodes = 10000, jobs = 100000, started;
        Bench bench = { .scheduler = scheduler_new(&(SchedulerConfig){ .topology = "rack" }),
                        .now = 1000000,
                        .rand = g_rand_new_with_seed(1),
                        .running = g_array_new(FALSE, FALSE, sizeof(gint64)) };

        if ((argc > 1 && !number_parse("NODES", argv[1], 1, 100000, &nodes, NULL)) ||
            (argc > 2 && !number_parse("JOBS", argv[2], 1, 10000000, &jobs, NULL))) {
                g_printerr("usage: test-sched-speed [NODES [JOBS]]\n");
                return 2;
        }
        decisions_init(&bench.decisions);
        measure_memory((int)jobs);
        put_room(&bench, (int)nodes);
        put_queues(&bench, (int)nodes);
        fill_half(&bench, (int)nodes * 6 / 10);
        started = cpu_us();
        for (gint64 i = 0; i < jobs; i++)
                put_job(&bench);
        g_print("putting %" G_GINT64_FORMAT " jobs: %.1f ms\n", jobs, (double)(cpu_us() - started) / 1000);
        measure_full(&bench);
        measure_events(&bench, "then");
        measure_nothing(&bench);
        measure_events(&bench, "room full");
        scheduler_free(bench.scheduler);
        decisions_clear(&bench.decisions);
        g_array_unref(bench.running);
        g_rand_free(bench.rand);
        return 0;
}
