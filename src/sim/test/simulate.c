/* The simulator: traces small enough to be worked out by hand, and input that is not right. */
#include "sim/simulate.h"

#include <math.h>
#include <string.h>

#include "base/err.h"

static Room *room_of(const char *text)
{
        g_autoptr(GError) error = NULL;
        Room *room = room_parse(text, strlen(text), "room", &error);

        g_assert_no_error(error);
        return room;
}

static void run(const char *room_text, const char *trace_text, Simulation *ret)
{
        g_autoptr(Room) room = room_of(room_text);
        g_autoptr(GError) error = NULL;
        g_autoptr(Trace) trace = trace_parse(trace_text, strlen(trace_text), "trace", room, &error);

        g_assert_no_error(error);
        (void)simulate(room, trace, NULL, ret, &error);
        g_assert_no_error(error);
        for (int i = 0; i < ret->n_queues; i++)
                ret->queues[i].name = NULL; /* it goes with the room */
}

static void about(double seen, double expected)
{
        if (!(fabs(seen - expected) < 1e-9))
                g_error("%.9f is not %.9f", seen, expected);
}

static const char four_cores[] = "nodes: [{name: n, resources: {cpu: 4}}]\n";

/* Four jobs of 4 cores and 10 s that arrive at once: waits of 0, 10, 20, 30 s; the room is always full. */
static void test_row(void)
{
        Simulation sim;

        run(four_cores, "{\"run\": \"10s\", \"count\": 4, \"resources\": {\"cpu\": 4}}\n", &sim);
        g_assert_cmpint(sim.wait.jobs, ==, 4);
        g_assert_cmpint(sim.wait.ended, ==, 4);
        g_assert_cmpint(sim.wait.mean, ==, 15000);
        g_assert_cmpint(sim.wait.p50, ==, 10000);
        g_assert_cmpint(sim.wait.p95, ==, 30000);
        g_assert_cmpint(sim.wait.max, ==, 30000);
        g_assert_cmpint(sim.end - sim.start, ==, 40000);
        g_assert_cmpint(sim.unstarted, ==, 0);
        g_assert_cmpint(sim.decisions[DECIDE_START], ==, 4);
        about(sim.utilisation[RESOURCE_CPU], 1);
        about(sim.useful[RESOURCE_CPU], 1);
        about(sim.bound[RESOURCE_CPU], 1);
        about(sim.utilisation[RESOURCE_MEMORY], -1);
        g_assert_cmpint(sim.n_queues, ==, 1);
        about(sim.queues[0].service, 40);
        simulation_clear(&sim);
}

/* Half of the room for 10 s, a pause of 10 s, all of it for 10 s. */
static void test_pause(void)
{
        Simulation sim;

        run(four_cores,
            "# comments and empty lines are passed over\n\n"
            "{\"at\": 5, \"run\": 10, \"resources\": {\"cpu\": 2}}\n"
            "{\"at\": 25, \"run\": 10, \"resources\": {\"cpu\": 1}, \"replicas\": 4}\n",
            &sim);
        g_assert_cmpint(sim.start, ==, 5000);
        g_assert_cmpint(sim.end, ==, 35000);
        about(sim.utilisation[RESOURCE_CPU], 0.5);
        about(sim.bound[RESOURCE_CPU], 0.5);
        g_assert_cmpint(sim.wait.max, ==, 0);
        simulation_clear(&sim);
}

/* A limit ends a job before its time. */
static void test_limit(void)
{
        Simulation sim;

        run(four_cores, "{\"run\": \"1h\", \"limit\": \"5s\", \"resources\": {\"cpu\": 4}}\n", &sim);
        g_assert_cmpint(sim.end, ==, 5000);
        simulation_clear(&sim);
}

/* 4 tasks × 10 s with 2 cores: 20 s; when the other job has gone after 10 s: 10 s with 2, then 5 s with 4. */
static void test_elastic(void)
{
        Simulation sim;

        run(four_cores,
            "{\"run\": \"10s\", \"resources\": {\"cpu\": 2}, \"user\": \"a\"}\n"
            "{\"run\": \"10s\", \"resources\": {\"cpu\": 1}, \"replicas\": 4, \"min\": 2}\n",
            &sim);
        g_assert_cmpint(sim.end, ==, 15000);
        g_assert_cmpint(sim.decisions[DECIDE_GROW], ==, 1);
        about(sim.utilisation[RESOURCE_CPU], 1);
        simulation_clear(&sim);
}

/* What is too large for the room never starts and holds up nobody. */
static void test_unstarted(void)
{
        Simulation sim;

        run(four_cores,
            "{\"run\": 1, \"resources\": {\"cpu\": 5}}\n{\"run\": 1, \"resources\": {\"cpu\": 4}}\n", &sim);
        g_assert_cmpint(sim.unstarted, ==, 1);
        g_assert_cmpint(sim.wait.started, ==, 1);
        g_assert_cmpint(sim.end, ==, 1000);
        simulation_clear(&sim);
}

static const char two_queues[] = "nodes: [{name: n, resources: {cpu: 4}}]\n"
                                 "queues: [{name: a, min: {cpu: 2}}, {name: b, min: {cpu: 2}}]\n";

/* a borrows b's half; b comes after 30 s and takes it back: what a's younger job did is lost, 30 s of 2
 * cores; it runs again for 60 s when b, whose job takes 20 s, is done. */
static void test_reclaim(void)
{
        Simulation sim;

        run(two_queues,
            "{\"run\": 60, \"queue\": \"a\", \"resources\": {\"cpu\": 2}, \"count\": 2}\n"
            "{\"at\": 30, \"run\": 20, \"queue\": \"b\", \"resources\": {\"cpu\": 2}}\n",
            &sim);
        g_assert_cmpint(sim.rules[RULE_RECLAIM], ==, 1);
        g_assert_cmpint(sim.decisions[DECIDE_EVICT], ==, 1);
        g_assert_cmpint(sim.n_queues, ==, 2);
        g_assert_cmpint(sim.queues[0].evictions, ==, 1);
        g_assert_cmpint(sim.queues[1].wait.max, ==, 0);
        g_assert_cmpint(sim.end, ==, 110000);
        about(sim.utilisation[RESOURCE_CPU], (30. * 4 + 20 * 4 + 10 * 4 + 50 * 2) / (110 * 4));
        about(sim.useful[RESOURCE_CPU], (60. * 2 + 60 * 2 + 20 * 2) / (110 * 4));
        about(sim.queues[0].entitled, 0.5);
        simulation_clear(&sim);
}

/* The same with a grace of 5 s and saves: only the grace is lost, and b waits for it. */
static void test_save(void)
{
        Simulation sim;

        run(two_queues,
            "{\"run\": 60, \"queue\": \"a\", \"resources\": {\"cpu\": 2}, \"count\": 2, \"grace\": 5, "
            "\"save\": \"1h\"}\n"
            "{\"at\": 30, \"run\": 20, \"queue\": \"b\", \"resources\": {\"cpu\": 2}}\n",
            &sim);
        g_assert_cmpint(sim.queues[1].wait.max, ==, 5000);
        g_assert_cmpint(sim.end, ==, 55000 + 30000);
        about(sim.useful[RESOURCE_CPU], (60. * 2 + 60 * 2 + 20 * 2) / (85 * 4));
        simulation_clear(&sim);
}

/* Two users who want everything get the same. */
static void test_fairness(void)
{
        Simulation sim;

        run("nodes: [{name: n, resources: {cpu: 4}}]\nqueues: [{name: q, order: fair}]\nhalf-life: 1h\n",
            "{\"run\": 10, \"user\": \"a\", \"count\": 100, \"resources\": {\"cpu\": 1}}\n"
            "{\"run\": 10, \"user\": \"b\", \"count\": 100, \"resources\": {\"cpu\": 1}}\n",
            &sim);
        g_assert_cmpfloat(sim.fairness_users, >, 0.99);
        about(sim.fairness_queues, -1);
        simulation_clear(&sim);
}

/* Three columns of the Standard Workload Format: submit, run, processors; the second job has no run time. */
static void test_swf(void)
{
        Simulation sim;
        static const char trace_text[] = "; Version: 2.2\n"
                                         "; MaxProcs: 4\n"
                                         "1 0 -1 10 4 -1 -1 4 20 -1 1 7 1 1 3 1 -1 -1\n"
                                         "2 0 -1 -1 4 -1 -1 4 20 -1 0 7 1 1 3 1 -1 -1\n"
                                         "  3 5 -1 10 2 -1 -1 -1 -1 -1 1 8 1 1 4 1 -1 -1\n";
        g_autoptr(Room) room = room_of("nodes: [{name: n, count: 4, resources: {cpu: 1}}]\n"
                                       "queues: [{name: q3}, {name: \"4\"}]\n");
        g_autoptr(GError) error = NULL;
        g_autoptr(Trace) trace = trace_parse(trace_text, strlen(trace_text), "trace", room, &error);

        g_assert_no_error(error);
        g_assert_cmpint(trace_jobs(trace), ==, 2);
        g_assert_cmpint(trace_left_out(trace), ==, 1);
        g_assert_true(simulate(room, trace, NULL, &sim, &error));
        g_assert_cmpint(sim.n_queues, ==, 2);
        g_assert_cmpint(sim.queues[1].wait.max, ==, 5000);
        g_assert_cmpint(sim.end, ==, 20000);
        simulation_clear(&sim);
}

/* All options at once: nothing gets stuck, equal input gives equal figures. */
static void test_all(void)
{
        static const char room_text[] =
                "nodes:\n"
                "- {name: a, count: 3, resources: {cpu: 8, memory: 32Gi, nvidia.com/gpu: 4}, labels: {zone: "
                "x, disk: ssd}}\n"
                "- {name: b, count: 2, resources: {cpu: 16}, labels: {zone: y}}\n"
                "queues:\n"
                "- {name: org, min: {cpu: 40, nvidia.com/gpu: 12}}\n"
                "- {name: t1, parent: org, min: {cpu: 20}, max: {cpu: 40}, weight: 2, order: fair}\n"
                "- {name: t2, parent: org, min: {cpu: 20, nvidia.com/gpu: 8}, reserved: {nvidia.com/gpu: "
                "2},\n"
                "   max-running-per-user: 20, preemption: lower-priority}\n"
                "topology: [zone]\ncooldown: 5s\nnominated: 5s\nhalf-life: 1h\n";
        static const char trace_text[] =
                "{\"run\": 30, \"queue\": \"t1\", \"count\": 50, \"every\": \"2s\", \"resources\": {\"cpu\": "
                "2}, \"replicas\": 4, \"min\": 1, \"grace\": 2, \"save\": 10}\n"
                "{\"run\": 20, \"queue\": \"t2\", \"count\": 50, \"every\": 3, \"resources\": {\"cpu\": 1, "
                "\"nvidia.com/gpu\": 1}, \"replicas\": 4, \"topology\": \"zone\", \"topology-required\": "
                "true}\n"
                "{\"run\": 10, \"queue\": \"t2\", \"priority\": 10, \"count\": 40, \"every\": 4, "
                "\"array-max\": 2, \"labels\": {\"disk\": \"ssd\"}, \"roles\": [{\"resources\": {\"cpu\": "
                "4}}, {\"resources\": {\"cpu\": 1}, \"replicas\": 2, \"min\": 0}], \"limit\": 12}\n";
        g_autofree char *first = NULL;

        for (int time = 0; time < 2; time++) {
                Simulation sim;
                g_autoptr(json_t) json = NULL;
                g_autofree char *text = NULL;

                run(room_text, trace_text, &sim);
                g_assert_cmpint(sim.wait.ended, ==, 140);
                g_assert_cmpint(sim.unstarted, ==, 0);
                g_assert_cmpint(sim.decisions[DECIDE_GROW], >, 0);
                g_assert_cmpfloat(sim.utilisation[RESOURCE_CPU], >, 0.3);
                for (int i = 0; i < sim.n_queues; i++)
                        sim.queues[i].name = "q";
                json = simulation_format(&sim);
                g_assert_nonnull(json);
                text = json_format(json);
                if (time == 0)
                        first = g_steal_pointer(&text);
                else
                        g_assert_cmpstr(text, ==, first);
                simulation_clear(&sim);
        }
}

static void test_bad_rooms(void)
{
        static const struct {
                const char *text, *says;
        } cases[] = {
                { "[]", "a room is an object" },
                { "{}", "nodes: a room needs" },
                { "nodes: [{resources: {cpu: 1}}]", "nodes[0].name" },
                { "nodes: [{name: n, count: 0}]", "nodes[0].count" },
                { "nodes: [{name: n, count: 1000000}]", "nodes[0].count" },
                { "nodes: [{name: n, cores: 4}]", "cores" },
                { "nodes: [{name: n, resources: {cpu: -1}}]", "nodes[0].resources" },
                { "nodes: [{name: n, resources: {gpu: 65}}]", "at most 64 GPUs" },
                { "nodes: [{name: n, count: 3, resources: {memory: 4Ei}}]", "nodes[0].resources" },
                { "nodes: [{name: n, labels: {a: 1}}]", "labels.a" },
                { "nodes: [{name: n, resources: {cpu: 4}}]\nqueues: [{name: a}, {name: a}]",
                  "two queues 'a'" },
                { "nodes: [{name: n, resources: {cpu: 4}}]\nqueues: [{name: a, parent: b}]", "no queue 'b'" },
                { "nodes: [{name: n, resources: {cpu: 4}}]\nqueues: [{name: a, min: {cpu: 2}, max: {cpu: "
                  "1}}]",
                  "its max" },
                { "nodes: [{name: n, resources: {cpu: 4}}]\nqueues: [{name: a, reserved: {cpu: 2}}]",
                  "its min" },
                { "nodes: [{name: n, resources: {cpu: 4}}]\nqueues: [{name: a, min: {cpu: 3}}, {name: b, "
                  "min: {cpu: 2}}]",
                  "what the nodes have" },
                { "nodes: [{name: n, resources: {cpu: 4}}]\nqueues: [{name: a, order: best}]",
                  "'best' is not one of" },
                { "nodes: [{name: n, resources: {cpu: 4}}]\nqueues: [{name: a, weight: 0}]", "weight" },
                { "nodes: [{name: n}]\ntopology: [1]", "topology[0]" },
                { "nodes: [{name: n}]\ncooldown: soon", "cooldown" },
                { "nodes: 5", "nodes" },
                { "nodes: [5]", "nodes[0]" },
        };

        for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;

                g_test_message("%s", cases[i].text);
                g_assert_null(room_parse(cases[i].text, strlen(cases[i].text), "room.yaml", &error));
                g_assert_error(error, ERR_DOMAIN, ERR_INVALID);
                if (!strstr(error->message, cases[i].says) || !strstr(error->message, "room.yaml"))
                        g_error("%s", error->message);
        }
}

static void test_bad_traces(void)
{
        static const struct {
                const char *text, *says;
        } cases[] = {
                { "{\"run\": 1, \"queue\": \"a\"}\n[1]", "line 2" },
                { "{", "line 1" },
                { "{\"at\": 1}", "run is missing" },
                { "{\"run\": \"-1\"}", "run" },
                { "{\"run\": -1}", "run" },
                { "{\"run\": 1e300}", "run" },
                { "{\"run\": 1, \"queue\": \"c\"}", "'c'" },
                { "{\"run\": 1}", "queue is missing" },
                { "{\"run\": 1, \"queue\": \"a\", \"speed\": 1}", "speed" },
                { "{\"run\": 1, \"queue\": \"a\", \"priority\": 1001}", "priority" },
                { "{\"run\": 1, \"queue\": \"a\", \"replicas\": 0}", "replicas" },
                { "{\"run\": 1, \"queue\": \"a\", \"replicas\": 2, \"min\": 3}", "min" },
                { "{\"run\": 1, \"queue\": \"a\", \"roles\": [1]}", "roles[0]" },
                { "{\"run\": 1, \"queue\": \"a\", \"roles\": [{\"count\": 1}]}", "count" },
                { "{\"run\": 1, \"queue\": \"a\", \"roles\": [], \"replicas\": 1}", "roles" },
                { "{\"run\": 1, \"queue\": \"a\", \"resources\": {\"unheard/of\": 1}}", "unheard/of" },
                { "{\"run\": 1, \"queue\": \"a\", \"resources\": {\"memory\": \"4Ei\"}, \"replicas\": 4}",
                  "too much" },
                { "{\"run\": 1, \"queue\": \"a\", \"topology\": \"rack\"}", "rack" },
                { "{\"run\": 1, \"queue\": \"a\", \"count\": 5000000, \"every\": \"100d\"}", "every" },
                { "1 2 3", "3 of the 18" },
                { "1 0 -1 10 4 -1 -1 4 20 -1 1 7 1 1 9 1 -1 -1", "'9'" },
                { "1 0 -1 10 4 x -1 4 20 -1 1 7 1 1 1 1 -1 -1", "'x'" },
                { "1 0 -1 10 4 -1 -1 4 20 -1 1 7 1 1 1 1 -1 -1 5", "'5'" },
                { "1 0 -1 10 999999 -1 -1 -1 20 -1 1 7 1 1 1 1 -1 -1", "processors" },
        };
        g_autoptr(Room) room = room_of(two_queues);

        for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;

                g_test_message("%s", cases[i].text);
                g_assert_null(trace_parse(cases[i].text, strlen(cases[i].text), "jobs.trace", room, &error));
                if (!error || !strstr(error->message, cases[i].says) ||
                    !strstr(error->message, "jobs.trace, line"))
                        g_error("%s", error ? error->message : "no error");
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/simulate/row", test_row);
        g_test_add_func("/simulate/pause", test_pause);
        g_test_add_func("/simulate/limit", test_limit);
        g_test_add_func("/simulate/elastic", test_elastic);
        g_test_add_func("/simulate/unstarted", test_unstarted);
        g_test_add_func("/simulate/reclaim", test_reclaim);
        g_test_add_func("/simulate/save", test_save);
        g_test_add_func("/simulate/fairness", test_fairness);
        g_test_add_func("/simulate/swf", test_swf);
        g_test_add_func("/simulate/all", test_all);
        g_test_add_func("/simulate/bad-rooms", test_bad_rooms);
        g_test_add_func("/simulate/bad-traces", test_bad_traces);
        return g_test_run();
}
