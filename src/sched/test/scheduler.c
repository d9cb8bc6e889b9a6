/* The scheduler from outside: what it refuses to be told, what it says about itself (figures, reasons, usage,
 * forecasts), and that a clone or a dump is the same scheduler. The rules of deciding are golden.c's, what
 * must always hold random.c's. */
#include <string.h>

#include "base/test/seed.h"
#include "sched/dump.h"
#include "sched/scheduler.h"

enum { NOW = 1000000, MINUTE = 60 * 1000, GPUS = 8 };
static const gint64 GIB = 1024 * 1024 * 1024;

typedef struct {
        Scheduler *scheduler;
        Decisions decisions;
} Fixture;

static void set_up(Fixture *f, gconstpointer data)
{
        f->scheduler = scheduler_new(&(SchedulerConfig){ .topology = "zone,rack" });
        decisions_init(&f->decisions);
}

static void tear_down(Fixture *f, gconstpointer data)
{
        scheduler_free(f->scheduler);
        decisions_clear(&f->decisions);
}

static SchedNode node_of(int id, int cores, int gpus)
{
        return (SchedNode){ .id = id,
                            .name = "n",
                            .usable = true,
                            .total = { .cpu_milli = cores * 1000, .memory = cores * GIB, .gpus = gpus } };
}

static SchedQueue queue_of(int id)
{
        SchedQueue queue = { .id = id,
                             .parent = -1,
                             .name = "q",
                             .state = QUEUE_OPEN,
                             .weight = 1,
                             .reclaimable = true,
                             .backfill = true };

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                queue.max.amount[kind] = RESOURCE_UNLIMITED;
        return queue;
}

/* `role` has to outlive it. */
static SchedJob job_of(gint64 key, int queue, SchedRole *role)
{
        return (SchedJob){ .key = key,
                           .queue = queue,
                           .submitted = key,
                           .preemptable = true,
                           .topology = -1,
                           .n_roles = 1,
                           .roles = role };
}

static SchedRole role_of(int cores, int gpus, int replicas)
{
        return (SchedRole){ .each = { .cpu_milli = cores * 1000, .gpus = gpus },
                            .replicas = replicas,
                            .min = replicas };
}

static void put_node(Fixture *f, int id, int cores, int gpus)
{
        SchedNode node = node_of(id, cores, gpus);

        g_assert_true(scheduler_put_node(f->scheduler, &node));
}

static void put_queue(Fixture *f, int id)
{
        SchedQueue queue = queue_of(id);

        g_assert_true(scheduler_put_queue(f->scheduler, &queue));
}

static void put_job(Fixture *f, gint64 key, int queue, int cores, int gpus, gint64 limit)
{
        SchedRole role = role_of(cores, gpus, 1);
        SchedJob job = job_of(key, queue, &role);

        job.time_limit_ms = limit;
        g_assert_true(scheduler_put_job(f->scheduler, &job));
}

static guint pass(Fixture *f, gint64 now)
{
        scheduler_pass(f->scheduler, now, &f->decisions);
        return f->decisions.decisions->len;
}

static const Decision *decision(const Fixture *f, guint at)
{
        return &g_array_index(f->decisions.decisions, Decision, at);
}

static const SchedTask *tasks_of(const Fixture *f, guint at)
{
        return &g_array_index(f->decisions.tasks, SchedTask, decision(f, at)->first_task);
}

/* ---- several clusters ---- */

/* Nodes of another cluster come while the classes of the first keep lists of nodes. */
static void test_other_nodes(Fixture *f, gconstpointer data)
{
        put_node(f, 0, 4, 0);
        put_queue(f, 0);
        put_job(f, 1, 0, 1, 0, 0);
        g_assert_cmpuint(pass(f, NOW), ==, 1);
        for (int id = 1; id <= 100; id++) {
                SchedNode other = node_of(id, 64, 0);

                other.cluster = 1;
                g_assert_true(scheduler_put_node(f->scheduler, &other));
        }
        for (gint64 key = 2; key <= 6; key++)
                put_job(f, key, 0, 1, 0, 0);
        g_assert_cmpuint(pass(f, NOW + 1), ==, 3);
        for (guint i = 0; i < 3; i++)
                g_assert_cmpint(tasks_of(f, i)->node, ==, 0);
}

/* ---- what is refused ---- */

static void test_nodes(Fixture *f, gconstpointer data)
{
        SchedNode node = node_of(0, 4, 0), many = node_of(1, 4, 65), negative = node_of(1, 4, 0);

        negative.total.memory = -1;
        g_assert_true(scheduler_put_node(f->scheduler, &node));
        g_assert_false(scheduler_put_node(f->scheduler, &many));
        g_assert_false(scheduler_put_node(f->scheduler, &negative));
        node.id = -1;
        g_assert_false(scheduler_put_node(f->scheduler, &node));
        put_queue(f, 0);
        put_job(f, 1, 0, 1, 0, 0);
        g_assert_cmpuint(pass(f, NOW), ==, 1);
        g_assert_false(scheduler_drop_node(f->scheduler, 0));
        scheduler_drop_job(f->scheduler, 1);
        g_assert_true(scheduler_drop_node(f->scheduler, 0));
        g_assert_false(scheduler_drop_node(f->scheduler, 0));
}

static void test_queues(Fixture *f, gconstpointer data)
{
        SchedQueue parent = queue_of(0), child = queue_of(1), loop;

        child.parent = 0;
        g_assert_false(scheduler_put_queue(f->scheduler, &child)); /* no such parent */
        g_assert_true(scheduler_put_queue(f->scheduler, &parent));
        g_assert_true(scheduler_put_queue(f->scheduler, &child));
        loop = parent;
        loop.parent = 1;
        g_assert_false(scheduler_put_queue(f->scheduler, &loop));
        loop.parent = 0;
        g_assert_false(scheduler_put_queue(f->scheduler, &loop));
        g_assert_false(scheduler_drop_queue(f->scheduler, 0)); /* has a child */
        child.cluster = 1;
        g_assert_false(scheduler_put_queue(f->scheduler, &child));
        put_job(f, 1, 1, 1, 0, 0);
        g_assert_false(scheduler_drop_queue(f->scheduler, 1));
        scheduler_drop_job(f->scheduler, 1);
        g_assert_true(scheduler_drop_queue(f->scheduler, 1));
        g_assert_true(scheduler_drop_queue(f->scheduler, 0));
}

static void break_key(SchedJob *job, SchedRole *role)
{
        job->key = 0;
}
static void break_queue(SchedJob *job, SchedRole *role)
{
        job->queue = 7;
}
static void break_priority(SchedJob *job, SchedRole *role)
{
        job->priority = SCHED_PRIORITY_MAX + 1;
}
static void break_min(SchedJob *job, SchedRole *role)
{
        role->min = 2;
}
static void break_amount(SchedJob *job, SchedRole *role)
{
        role->each.cpu_milli = -1;
}
static void break_sum(SchedJob *job, SchedRole *role)
{
        role->each.memory = G_MAXINT64 / 2;
        role->replicas = 4;
}
static void break_limit(SchedJob *job, SchedRole *role)
{
        job->time_limit_ms = -1;
}
static void break_tasks(SchedJob *job, SchedRole *role)
{
        static const SchedTask nowhere[] = { { .node = 5 } };

        job->state = SCHED_RUNNING;
        job->tasks = nowhere;
}
static void break_devices(SchedJob *job, SchedRole *role)
{
        static const SchedTask taken[] = { { .node = 0, .devices = 1 } };

        job->state = SCHED_RUNNING;
        job->tasks = taken;
}

static void test_jobs(Fixture *f, gconstpointer data)
{
        static void (*const breaks[])(SchedJob *, SchedRole *) = {
                break_key, break_queue, break_priority, break_min,     break_amount,
                break_sum, break_limit, break_tasks,    break_devices,
        };

        put_node(f, 0, 4, 2);
        put_queue(f, 0);
        put_job(f, 1, 0, 1, 1, 0);
        g_assert_cmpuint(pass(f, NOW), ==, 1);
        for (size_t i = 0; i < G_N_ELEMENTS(breaks); i++) {
                SchedRole role = role_of(1, 1, 1);
                SchedJob job = job_of(9, 0, &role);
                guint64 before = scheduler_hash(f->scheduler);

                breaks[i](&job, &role);
                g_test_message("%zu", i);
                g_assert_false(scheduler_put_job(f->scheduler, &job));
                g_assert_cmpuint(scheduler_hash(f->scheduler), ==, before);
        }
}

/* ---- GPUs ---- */

static void test_devices(Fixture *f, gconstpointer data)
{
        static const struct {
                int gpus;
                guint64 devices;
        } starts[] = { { 1, 0x01 }, { 2, 0x06 }, { 1, 0x08 }, { 4, 0xf0 } };

        put_node(f, 0, 64, GPUS);
        put_queue(f, 0);
        for (guint i = 0; i < G_N_ELEMENTS(starts); i++) {
                put_job(f, i + 1, 0, 1, starts[i].gpus, 0);
                g_assert_cmpuint(pass(f, NOW), ==, 1);
                g_assert_cmphex(tasks_of(f, 0)->devices, ==, starts[i].devices);
        }
        put_job(f, 9, 0, 1, 1, 0);
        g_assert_cmpuint(pass(f, NOW), ==, 0);
        scheduler_drop_job(f->scheduler, 1);
        scheduler_drop_job(f->scheduler, 3);
        scheduler_drop_job(f->scheduler, 9);
        put_job(f, 10, 0, 1, 2, 0); /* 0 and 3 are free: not next to one another */
        g_assert_cmpuint(pass(f, NOW), ==, 1);
        g_assert_cmphex(tasks_of(f, 0)->devices, ==, 0x09);
}

/* ---- topology ---- */

static void put_in(Fixture *f, int id, int cores, const char *zone, const char *rack)
{
        const char *labels[] = { zone, rack, NULL };
        SchedNode node = node_of(id, cores, 0);

        node.labels = labels;
        g_assert_true(scheduler_put_node(f->scheduler, &node));
}

/* The tightest value that holds the gang, and of those the fullest. */
static void test_topology(Fixture *f, gconstpointer data)
{
        SchedRole role = role_of(4, 0, 2);
        SchedJob job = job_of(1, 0, &role);

        put_queue(f, 0);
        put_in(f, 0, 4, "zone=a", "rack=1");
        put_in(f, 1, 16, "zone=a", "rack=2");
        put_in(f, 2, 4, "zone=b", "rack=3");
        put_in(f, 3, 4, "zone=b", "rack=3");
        job.topology = 0;
        g_assert_true(scheduler_put_job(f->scheduler, &job));
        g_assert_cmpuint(pass(f, NOW), ==, 1);
        g_assert_cmpint(tasks_of(f, 0)[0].node, ==, 2);
        g_assert_cmpint(tasks_of(f, 0)[1].node, ==, 3);
        job.key = 2;
        role = role_of(4, 0, 5);
        job.topology_required = true; /* zone a holds it together, no rack does */
        g_assert_true(scheduler_put_job(f->scheduler, &job));
        g_assert_cmpuint(pass(f, NOW), ==, 1);
        for (int i = 0; i < 5; i++)
                g_assert_cmpint(tasks_of(f, 0)[i].node, <=, 1);
}

/* ---- usage ---- */

static void take_usage(int queue, int user, gint64 usage, gint64 at, void *arg)
{
        *(gint64 *)arg += usage;
}

static gint64 usage_of(Fixture *f)
{
        gint64 sum = 0;

        scheduler_foreach_usage(f->scheduler, take_usage, &sum);
        return sum;
}

/* Half a cluster for a minute is 500,000 millionths × 60,000 ms; a half life later half of that is left. */
static void test_usage(Fixture *f, gconstpointer data)
{
        enum { HALF_LIFE = 7 * 24 * 60 * MINUTE };
        gint64 used = (gint64)500000 * MINUTE;

        put_node(f, 0, 4, 0);
        put_queue(f, 0);
        put_job(f, 1, 0, 2, 0, 0);
        g_assert_cmpuint(pass(f, NOW), ==, 1);
        g_assert_cmpint(usage_of(f), ==, 0);
        pass(f, NOW + MINUTE);
        g_assert_cmpint(ABS(usage_of(f) - used), <, used / 1000);
        scheduler_drop_job(f->scheduler, 1);
        pass(f, NOW + MINUTE + HALF_LIFE);
        g_assert_cmpint(ABS(usage_of(f) - used / 2), <, used / 1000);
        scheduler_put_usage(f->scheduler, 0, 3, 1000, NOW + MINUTE + HALF_LIFE);
        g_assert_cmpint(ABS(usage_of(f) - used / 2 - 1000), <, used / 1000);
}

/* ---- figures, reasons, forecasts ---- */

static void test_figures(Fixture *f, gconstpointer data)
{
        SchedQueue owed = queue_of(1);
        SchedulerFigures *figures;

        owed.min.cpu_milli = 3000;
        put_node(f, 0, 4, 0);
        put_queue(f, 0);
        g_assert_true(scheduler_put_queue(f->scheduler, &owed));
        put_job(f, 1, 0, 3, 0, 0);
        put_job(f, 2, 0, 2, 0, 0);
        put_job(f, 3, 0, 2, 0, 0);
        g_assert_cmpuint(pass(f, NOW), ==, 1);
        figures = scheduler_figures(f->scheduler, NOW);
        g_assert_cmpint(figures->n_queues, ==, 2);
        g_assert_cmpint(figures->free.cpu_milli, ==, 1000);
        g_assert_cmpint(figures->queues[0].used.cpu_milli, ==, 3000);
        g_assert_cmpint(figures->queues[0].demand.cpu_milli, ==, 7000);
        g_assert_cmpint(figures->queues[0].borrowed.cpu_milli, ==, 3000);
        g_assert_cmpint(figures->queues[1].lent.cpu_milli, ==, 2000); /* the third is free */
        g_assert_cmpint(figures->queues[0].pending, ==, 2);
        g_assert_cmpint(figures->queues[0].running, ==, 1);
        g_assert_cmpint(figures->queues[0].heads[0], ==, 2);
        g_assert_cmpint(figures->queues[0].heads[1], ==, 3);
        g_assert_cmpint(figures->queues[0].heads[2], ==, 0);
        scheduler_figures_unref(scheduler_figures_ref(figures));
        scheduler_figures_unref(figures);
}

static void test_reasons(Fixture *f, gconstpointer data)
{
        Reason reasons[REASONS_MAX];

        put_node(f, 0, 4, 0);
        put_queue(f, 0);
        put_job(f, 1, 0, 3, 0, 10 * MINUTE);
        put_job(f, 2, 0, 2, 0, 0);
        put_job(f, 3, 0, 2, 0, 0);
        put_job(f, 4, 0, 5, 0, 0);
        g_assert_cmpuint(pass(f, NOW), ==, 1);
        g_assert_cmpint(scheduler_cause(f->scheduler, 1), ==, CAUSE_NONE);
        g_assert_cmpint(scheduler_explain(f->scheduler, 1, NOW, reasons), ==, 0);
        g_assert_cmpint(scheduler_explain(f->scheduler, 2, NOW, reasons), ==, 1);
        g_assert_cmpint(reasons[0].cause, ==, CAUSE_RESOURCES);
        g_assert_cmpint(reasons[0].kind, ==, RESOURCE_CPU);
        g_assert_cmpint(reasons[0].asked, ==, 2000);
        g_assert_cmpint(reasons[0].free, ==, 1000);
        g_assert_cmpint(reasons[0].total, ==, 4000);
        g_assert_cmpint(reasons[0].key, ==, 1);
        g_assert_cmpint(reasons[0].time, ==, NOW + 10 * MINUTE);
        g_assert_cmpint(scheduler_explain(f->scheduler, 3, NOW, reasons), ==, 2);
        g_assert_cmpint(reasons[0].cause, ==, CAUSE_BEHIND);
        g_assert_cmpint(reasons[0].position, ==, 1);
        g_assert_cmpint(reasons[0].key, ==, 2);
        g_assert_cmpint(scheduler_explain(f->scheduler, 4, NOW, reasons), >=, 1);
        g_assert_cmpint(reasons[0].cause, ==, CAUSE_TOO_LARGE);
        g_assert_cmpint(reasons[0].limit, ==, 4000);
        for (int cause = 0; cause < CAUSES; cause++)
                g_assert_nonnull(cause_name((Cause)cause));
}

/* What published figures tell of a job of queue 0, as somebody would ask who has no scheduler. */
static int explain_from_figures(Fixture *f, gint64 key, int ahead, int running, Reason ret[REASONS_MAX])
{
        g_autoptr(SchedulerFigures) figures = scheduler_figures(f->scheduler, NOW);
        SchedQueue queue = queue_of(0);
        WaitingQueue above = { 0, queue.min, queue.max };
        Waiting waiting = { .figures = figures,
                            .key = key,
                            .most = figures->total,
                            .total = figures->total,
                            .free = figures->free,
                            .queues = &above,
                            .n_queues = 1,
                            .user_running = running,
                            .user_max = 2,
                            .ahead = ahead };
        SchedJob job;

        above.max.cpu_milli = 6000;
        g_assert_true(scheduler_job(f->scheduler, key, &job));
        waiting.want = job.roles[0].each;
        return scheduler_explain_figures(&waiting, ret);
}

/* Figures and the scheduler state the same, but for the job that ends first, which only the scheduler knows. */
static void assert_same_reasons(Fixture *f, gint64 key, int ahead, int running, int n, const Cause causes[])
{
        Reason exact[REASONS_MAX], told[REASONS_MAX];

        g_assert_cmpint(scheduler_explain(f->scheduler, key, NOW, exact), ==, n);
        g_assert_cmpint(explain_from_figures(f, key, ahead, running, told), ==, n);
        for (int i = 0; i < n; i++) {
                int at = 0;

                while (at < n - 1 && exact[at].cause != told[i].cause)
                        at++; /* the main cause comes first there */
                g_assert_cmpint(told[i].cause, ==, causes[i]);
                g_assert_cmpint(told[i].cause, ==, exact[at].cause);
                g_assert_cmpint(told[i].kind, ==, exact[at].kind);
                g_assert_cmpint(told[i].asked, ==, exact[at].asked);
                g_assert_cmpint(told[i].free, ==, exact[at].free);
                g_assert_cmpint(told[i].total, ==, exact[at].total);
                g_assert_cmpint(told[i].used, ==, exact[at].used);
                g_assert_cmpint(told[i].limit, ==, exact[at].limit);
                g_assert_cmpint(told[i].position, ==, exact[at].position);
        }
}

static void test_reasons_from_figures(Fixture *f, gconstpointer data)
{
        static const Cause never[] = { CAUSE_TOO_LARGE }, lacks[] = { CAUSE_RESOURCES },
                           behind[] = { CAUSE_RESOURCES, CAUSE_BEHIND },
                           limits[] = { CAUSE_USER_LIMIT, CAUSE_QUEUE_MAX, CAUSE_BEHIND };
        SchedQueue queue = queue_of(0);

        put_node(f, 0, 8, 1);
        queue.max.cpu_milli = 6000;
        queue.max_running_per_user = 2;
        g_assert_true(scheduler_put_queue(f->scheduler, &queue));
        put_job(f, 1, 0, 3, 1, 10 * MINUTE);
        put_job(f, 2, 0, 1, 1, 0);
        put_job(f, 3, 0, 1, 1, 0);
        put_job(f, 4, 0, 7, 0, 0);
        g_assert_cmpuint(pass(f, NOW), ==, 1);
        assert_same_reasons(f, 2, 0, 1, 1, lacks);
        assert_same_reasons(f, 3, 1, 1, 2, behind);
        assert_same_reasons(f, 4, 2, 1, 1, never);
        put_job(f, 5, 0, 2, 0, 10 * MINUTE);
        put_job(f, 6, 0, 2, 0, 0);
        g_assert_cmpuint(pass(f, NOW), ==, 1);
        assert_same_reasons(f, 6, 3, 2, 3, limits);
}

/* More kinds of tasks are tried between two looks at a preemption than have an index of nodes at one time. */
static void test_preemption_beside_many_kinds(Fixture *f, gconstpointer data)
{
        static const char *const big[] = { "size=big", NULL };
        SchedNode node = node_of(0, 10, 0), other = node_of(1, 1000, 0);
        SchedQueue queue = queue_of(0);
        SchedRole role = role_of(5, 0, 1);
        SchedJob job = job_of(3, 0, &role);

        node.labels = big;
        g_assert_true(scheduler_put_node(f->scheduler, &node));
        queue.preemption = PREEMPT_LOWER_PRIORITY;
        g_assert_true(scheduler_put_queue(f->scheduler, &queue));
        put_queue(f, 1);
        put_job(f, 1, 0, 1, 0, 0);
        put_job(f, 2, 1, 9, 0, 0);
        g_assert_cmpuint(pass(f, NOW), ==, 2);
        job.priority = 10;
        job.labels = big;
        g_assert_true(scheduler_put_job(f->scheduler, &job));
        g_assert_true(scheduler_put_node(f->scheduler, &other));
        g_assert_cmpuint(pass(f, NOW + 1), ==, 0);
        for (int kind = 0; kind < 200; kind++) {
                role = role_of(1, 0, 1);
                role.each.memory = 1 + kind;
                job = job_of(10 + kind, 1, &role);
                g_assert_true(scheduler_put_job(f->scheduler, &job));
        }
        g_assert_cmpuint(pass(f, NOW + 2), ==, 200);
        g_assert_cmpuint(pass(f, NOW + 3), ==, 0);
        g_assert_cmpint(scheduler_cause(f->scheduler, 3), ==, CAUSE_FRAGMENTED);
}

static void test_forecast(Fixture *f, gconstpointer data)
{
        g_autoptr(Scheduler) first = NULL, second = NULL, never = NULL;

        put_node(f, 0, 4, 0);
        put_queue(f, 0);
        put_job(f, 1, 0, 3, 0, 10 * MINUTE);
        put_job(f, 2, 0, 4, 0, 5 * MINUTE);
        put_job(f, 3, 0, 4, 0, 0);
        put_job(f, 4, 0, 4, 0, 0);
        g_assert_cmpuint(pass(f, NOW), ==, 1);
        first = scheduler_clone(f->scheduler);
        second = scheduler_clone(f->scheduler);
        never = scheduler_clone(f->scheduler);
        g_assert_cmpint(scheduler_forecast(first, 2, NOW, 100), ==, NOW + 10 * MINUTE);
        g_assert_cmpint(scheduler_forecast(second, 3, NOW, 100), ==, NOW + 15 * MINUTE);
        g_assert_cmpint(scheduler_forecast(never, 4, NOW, 100), ==, 0); /* 3 says no limit */
}

static void test_due(Fixture *f, gconstpointer data)
{
        SchedRole role = role_of(1, 0, 1);
        SchedJob job = job_of(1, 0, &role);

        put_node(f, 0, 4, 0);
        put_queue(f, 0);
        g_assert_cmpint(scheduler_due(f->scheduler), ==, 0);
        job.not_before = NOW + MINUTE;
        g_assert_true(scheduler_put_job(f->scheduler, &job));
        g_assert_cmpuint(pass(f, NOW), ==, 0);
        g_assert_cmpint(scheduler_due(f->scheduler), ==, NOW + MINUTE);
        g_assert_cmpint(scheduler_cause(f->scheduler, 1), ==, CAUSE_NOT_BEFORE);
        g_assert_cmpuint(pass(f, NOW + MINUTE), ==, 1);
        g_assert_cmpint(scheduler_due(f->scheduler), ==, 0);
}

/* ---- clones and dumps ---- */

/* Preemption under way, an elastic job that is being shrunk, jobs that wait for each cause. */
static void make_busy(Fixture *f)
{
        SchedQueue queue = queue_of(0), child = queue_of(1);
        SchedRole role = role_of(1, 1, 1),
                  elastic = { .each = { .cpu_milli = 1000 }, .replicas = 4, .min = 1 };
        SchedJob job = job_of(1, 0, &role);

        queue.preemption = PREEMPT_LOWER_PRIORITY;
        child.parent = 0;
        child.order = QUEUE_ORDER_FAIR;
        g_assert_true(scheduler_put_queue(f->scheduler, &queue));
        g_assert_true(scheduler_put_queue(f->scheduler, &child));
        put_in(f, 0, 4, "zone=a b,c%", "rack=1");
        put_node(f, 1, 2, 1);
        g_assert_true(scheduler_put_job(f->scheduler, &job));
        job = job_of(2, 0, &elastic);
        g_assert_true(scheduler_put_job(f->scheduler, &job));
        g_assert_cmpuint(pass(f, NOW), ==, 2);
        job = job_of(3, 0, &role);
        job.priority = 10;
        g_assert_true(scheduler_put_job(f->scheduler, &job));
        put_job(f, 4, 1, 3, 0, 0);
        put_job(f, 5, 1, 100, 0, 0);
        scheduler_put_usage(f->scheduler, 1, 0, 12345, NOW);
        g_assert_cmpuint(pass(f, NOW + 1000), >=, 1);
}

static void test_dump(Fixture *f, gconstpointer data)
{
        g_autoptr(GString) text = g_string_new(NULL), again = g_string_new(NULL);
        g_autoptr(Scheduler) loaded = NULL, clone = NULL;
        g_autoptr(GError) error = NULL;

        make_busy(f);
        g_assert_true(scheduler_dump(f->scheduler, text));
        loaded = scheduler_load(text->str, text->len, &error);
        g_assert_no_error(error);
        clone = scheduler_clone(f->scheduler);
        g_assert_cmpuint(scheduler_hash(loaded), ==, scheduler_hash(f->scheduler));
        g_assert_cmpuint(scheduler_hash(clone), ==, scheduler_hash(f->scheduler));
        g_assert_true(scheduler_dump(loaded, again));
        g_assert_cmpstr(text->str, ==, again->str);
        g_string_truncate(again, 0);
        g_assert_true(scheduler_dump(clone, again));
        g_assert_cmpstr(text->str, ==, again->str);
        for (gint64 key = 1; key <= 5; key++)
                g_assert_cmpint(scheduler_cause(clone, key), ==, scheduler_cause(f->scheduler, key));
}

/* No damage of a dump does more than to be refused, or to make another scheduler that works. */
static void test_damaged_dumps(Fixture *f, gconstpointer data)
{
        g_autoptr(GString) text = g_string_new(NULL);
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed_of_test());
        static const char bytes[] = "0123456789 -:,/\n%.x";
        int refused = 0;

        make_busy(f);
        g_assert_true(scheduler_dump(f->scheduler, text));
        for (int i = 0; i < 3000; i++) {
                g_autofree char *copy = g_strndup(text->str, text->len);
                g_autoptr(GError) error = NULL;
                Scheduler *loaded;

                for (int n = g_rand_int_range(rand, 1, 4); n > 0; n--)
                        copy[g_rand_int_range(rand, 0, (gint32)text->len)] =
                                bytes[g_rand_int_range(rand, 0, sizeof bytes - 1)];
                loaded = scheduler_load(copy, text->len, &error);
                if (!loaded) {
                        g_assert_nonnull(strstr(error->message, "line"));
                        refused++;
                        continue;
                }
                scheduler_pass(loaded, NOW + 2000, &f->decisions);
                scheduler_pass(loaded, NOW + 90 * MINUTE, &f->decisions);
                scheduler_free(loaded);
        }
        g_assert_cmpint(refused, >, 300);
}

static void test_bad_dumps(void)
{
        static const struct {
                const char *text, *says;
        } cases[] = {
                { "", "line 1 is missing" },
                { "hello\n", "line 1 is not 'paddle-scheduler 1'" },
                { "paddle-scheduler 1\nclock 5\n", "line 2 comes before 'config'" },
                { "paddle-scheduler 1\nconfig 1 1 1 -\nconfig 1 1 1 -\n", "line 3 is not NOMINATED" },
                { "paddle-scheduler 1\nconfig 0 1 1 -\n", "line 2 is not NOMINATED" },
                { "paddle-scheduler 1\nconfig 1 1 1 -\nfoo\n", "line 3 starts with a word" },
                { "paddle-scheduler 1\nconfig 1 1 1 -\nend 3\n", "line 3 does not say how many" },
                { "paddle-scheduler 1\nconfig 1 1 1 -\nend 2\nend 2\n", "line 4 stands behind the end" },
                { "paddle-scheduler 1\nconfig 1 1 1 -", "line 2 has no newline" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;

                g_assert_null(scheduler_load(cases[i].text, strlen(cases[i].text), &error));
                g_assert_nonnull(error);
                if (!strstr(error->message, cases[i].says))
                        g_error("case %zu: '%s'", i, error->message);
        }
}

/* ---- what is remembered to save work ---- */

static void put_random_job(Fixture *f, GRand *rand, gint64 key)
{
        SchedRole role = role_of(g_rand_int_range(rand, 1, 6), g_rand_int_range(rand, 0, 8) == 0,
                                 g_rand_int_range(rand, 1, 4));
        SchedJob job = job_of(key, g_rand_int_range(rand, 0, 3), &role);

        role.min = g_rand_int_range(rand, 0, 4) == 0 ? 1 : role.replicas;
        job.time_limit_ms = g_rand_int_range(rand, 0, 3) * MINUTE;
        job.priority = g_rand_int_range(rand, 0, 2);
        job.user = g_rand_int_range(rand, 0, 2);
        g_assert_true(scheduler_put_job(f->scheduler, &job));
}

/* Who was told to go goes. */
static void let_go(Fixture *f)
{
        for (guint i = 0; i < f->decisions.decisions->len; i++) {
                SchedJob job;

                if (decision(f, i)->kind != DECIDE_EVICT && decision(f, i)->kind != DECIDE_SHRINK)
                        continue;
                g_assert_true(scheduler_job(f->scheduler, decision(f, i)->key, &job));
                if (decision(f, i)->kind == DECIDE_EVICT) {
                        job.state = SCHED_PENDING;
                        job.tasks = NULL;
                }
                g_assert_true(scheduler_put_job(f->scheduler, &job));
        }
}

/* A twin that has forgotten everything of the kind decides the same. */
static void play_beside_twin(Fixture *f, guint32 seed)
{
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        Decisions other;

        decisions_init(&other);
        for (gint64 step = 0; step < 300; step++) {
                g_autoptr(Scheduler) twin = NULL;
                SchedNode node = node_of(0, 8, 0);

                put_random_job(f, rand, step + 1);
                if (step > 20)
                        scheduler_drop_job(f->scheduler, g_rand_int_range(rand, 1, (gint32)step));
                twin = scheduler_clone(f->scheduler);
                g_assert_true(scheduler_put_node(twin, &node)); /* opens everything */
                scheduler_pass(twin, NOW + step * 1000, &other);
                (void)pass(f, NOW + step * 1000);
                if (scheduler_hash(twin) != scheduler_hash(f->scheduler) ||
                    other.decisions->len != f->decisions.decisions->len)
                        g_error("seed %u step %" G_GINT64_FORMAT ": what is remembered makes a difference",
                                seed, step);
                if (g_rand_int_range(rand, 0, 2))
                        let_go(f);
        }
        decisions_clear(&other);
}

static void test_memory(Fixture *f, gconstpointer data)
{
        guint32 first = seed_of_test();

        for (guint32 seed = first; seed != first + 20; seed++) {
                SchedQueue queue = queue_of(1), owed = queue_of(2);

                for (int i = 0; i < 6; i++)
                        put_node(f, i, 8, i % 2 ? 4 : 0);
                put_queue(f, 0);
                queue.preemption = PREEMPT_LOWER_PRIORITY;
                g_assert_true(scheduler_put_queue(f->scheduler, &queue));
                owed.min.cpu_milli = 12000;
                owed.order = QUEUE_ORDER_FAIR;
                g_assert_true(scheduler_put_queue(f->scheduler, &owed));
                play_beside_twin(f, seed);
                tear_down(f, NULL);
                set_up(f, NULL);
        }
}

int main(int argc, char **argv)
{
        static const struct {
                const char *name;
                void (*test)(Fixture *f, gconstpointer data);
        } rows[] = {
                { "nodes", test_nodes },
                { "queues", test_queues },
                { "jobs", test_jobs },
                { "devices", test_devices },
                { "topology", test_topology },
                { "usage", test_usage },
                { "figures", test_figures },
                { "reasons", test_reasons },
                { "reasons_from_figures", test_reasons_from_figures },
                { "preemption_beside_many_kinds", test_preemption_beside_many_kinds },
                { "forecast", test_forecast },
                { "due", test_due },
                { "dump", test_dump },
                { "damaged-dumps", test_damaged_dumps },
                { "memory", test_memory },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *path = g_strconcat("/scheduler/", rows[i].name, NULL);

                g_test_add(path, Fixture, NULL, set_up, rows[i].test, tear_down);
        }
        g_test_add_func("/scheduler/bad-dumps", test_bad_dumps);
        g_test_add("/scheduler/nodes of another cluster", Fixture, NULL, set_up, test_other_nodes, tear_down);
        return g_test_run();
}
