/* Builds of environments in the books of queues (building.c): a machine of 4 cores, builds of one. */
#include <string.h>

#include "engine/state.h"
#include "engine/test/help.h"

#define JOB(name, cpu, more)                                                                                 \
        "{'name':'" name "','command':['t']" more ",'roles':[{'name':'worker','replicas':1,'cpu':'" cpu "'}" \
        "]}"
#define NEEDS ",'requirements':'six'"

static House *open_house(void)
{
        House *house = house_new();

        script_builder(house->script, &(Resources){ .cpu_milli = 1000 });
        return house;
}

static char *submit(House *house, const char *spec)
{
        char *id;

        script_prepared(house->script, false);
        id = house_submit_ok(house, spec);
        script_prepared(house->script, true);
        return id;
}

static void assert_environment(House *house, const char *id, PreparationState want)
{
        g_autoptr(Job) job = house_job(house, id);

        house_barrier(house);
        g_assert_cmpint(job_environment(job), ==, want);
        g_assert_cmpint(job->state, ==, JOB_QUEUED);
}

static void assert_free(House *house, gint64 cpu_milli)
{
        EngineMetrics metrics;

        house_barrier(house);
        engine_metrics(house->engine, &metrics);
        g_assert_cmpint(metrics.free.cpu_milli, ==, cpu_milli);
}

static void assert_asked(House *house, const char *word, const char *id, int n)
{
        g_autofree char *line = g_strdup_printf("%s %s", word, id);

        house_barrier(house);
        g_assert_cmpint(script_count(house->script, line), ==, n);
}

static void say_prepared(House *house, const char *id)
{
        script_say_kind(house->script, OBSERVED_PREPARED, id);
        house_barrier(house);
}

static void say_killed(House *house, const char *id)
{
        g_autofree char *task = task_of(id, 1, "worker", 0);

        script_say_exit(house->script, task, -1, 15, false);
        house_barrier(house);
}

/* It begins when there is place, holds it meanwhile, and gives it to its job. */
static void test_waits(void)
{
        House *house = open_house();
        g_autofree char *full = house_submit_ok(house, JOB("full", "4", "")), *events = NULL;
        g_autofree char *id = submit(house, JOB("a", "3", NEEDS));
        g_autoptr(GError) error = NULL;

        assert_environment(house, id, PREPARATION_WAITING);
        assert_asked(house, "prepare", id, 0);
        g_assert_true(house_cancel(house, full, &error));
        say_killed(house, full);
        assert_asked(house, "prepare", id, 1);
        assert_environment(house, id, PREPARATION_RUNNING);
        assert_free(house, 3000);
        say_prepared(house, id);
        assert_state(house, id, JOB_STARTING);
        assert_free(house, 1000);
        events = house_events(house, id);
        g_assert_true(g_str_has_prefix(events, "job.queued job.environment job.environment "));
        house_free(house);
}

/* The jobs that wait for one build are counted as one, whichever of them leaves. */
static void test_shared(void)
{
        House *house = open_house();
        g_autofree char *a = submit(house, JOB("a", "1", NEEDS)), *b = submit(house, JOB("b", "1", NEEDS)),
                        *c = submit(house, JOB("c", "1", NEEDS)),
                        *other = submit(house, JOB("other", "1", ",'requirements':'numpy'"));
        const char *const together[] = { a, b, c };
        g_autoptr(GError) error = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(together); i++) {
                assert_environment(house, together[i], PREPARATION_RUNNING);
                assert_asked(house, "prepare", together[i], 1);
        }
        assert_free(house, 2000); /* two builds */
        g_assert_true(house_cancel(house, a, &error));
        assert_asked(house, "abandon", a, 1);
        assert_free(house, 2000);
        g_assert_true(house_cancel(house, other, &error));
        assert_free(house, 3000);
        say_prepared(house, c);
        assert_state(house, c, JOB_STARTING);
        assert_environment(house, b, PREPARATION_RUNNING);
        assert_free(house, 2000);
        say_prepared(house, b);
        assert_state(house, b, JOB_STARTING);
        assert_asked(house, "abandon", b, 0);
        house_free(house);
}

/* Of an array, too: they wait together and begin together. */
static void test_array(void)
{
        House *house = open_house();
        g_autofree char *full = house_submit_ok(house, JOB("full", "4", ""));
        g_autofree char *first = submit(house, JOB("many", "1", NEEDS ",'array':'0-2%1'"));
        g_autoptr(GError) error = NULL;

        assert_environment(house, first, PREPARATION_WAITING);
        g_assert_cmpint(script_count(house->script, "prepare "), ==, 0);
        g_assert_true(house_cancel(house, full, &error));
        say_killed(house, full);
        script_wait(house->script, "prepare ", 3);
        assert_free(house, 3000);
        house_free(house);
}

/* A queue that could never give it all gives what it has. */
static void test_small_queue(void)
{
        House *house = open_house();
        g_autofree char *id = NULL;

        house_queue(house, "small", "{'max':{'cpu':'500m'},'everyone':true}");
        id = submit(house, JOB("a", "500m", NEEDS ",'queue':'small'"));
        assert_environment(house, id, PREPARATION_RUNNING);
        assert_free(house, 3500);
        house_free(house);
}

/* The limit of its queue falls below what the build waits for. */
static void test_smaller_queue(void)
{
        static const char small[] = "{'name':'a','command':['t'],'requirements':'six','queue':'small',"
                                    "'roles':[{'name':'worker','replicas':1,'cpu':'500m','memory':'64Mi'}]}";
        House *house = open_house();
        g_autofree char *full = house_submit_ok(house, JOB("full", "4", "")), *id = NULL;
        g_autoptr(GError) error = NULL;

        house_queue(house, "small", "{'max':{'cpu':'2'},'everyone':true}");
        id = submit(house, small);
        assert_environment(house, id, PREPARATION_WAITING);
        house_queue(house, "small", "{'max':{'cpu':'500m'}}");
        g_assert_true(house_cancel(house, full, &error));
        say_killed(house, full);
        assert_environment(house, id, PREPARATION_RUNNING);
        assert_free(house, 3500);
        house_free(house);
}

/* The next server counts builds as nothing: one that waits begins. */
static void test_uncounted(void)
{
        House *house = open_house();
        g_autofree char *full = house_submit_ok(house, JOB("full", "4", ""));
        g_autofree char *id = submit(house, JOB("a", "1", NEEDS));

        assert_environment(house, id, PREPARATION_WAITING);
        house_close(house);
        script_builder(house->script, &(Resources){ 0 });
        house_open(house);
        house_sync(house);
        assert_asked(house, "prepare", id, 1);
        assert_environment(house, id, PREPARATION_RUNNING);
        house_free(house);
}

/* A build that had begun is counted by the next server, before anything else starts. */
static void test_restart(void)
{
        House *house = open_house();
        g_autofree char *id = submit(house, JOB("a", "1", NEEDS)), *large = NULL;

        assert_environment(house, id, PREPARATION_RUNNING);
        house_close(house);
        house_open(house);
        house_sync(house);
        assert_asked(house, "prepare", id, 1);
        assert_environment(house, id, PREPARATION_RUNNING);
        large = house_submit_ok(house, JOB("large", "4", ""));
        assert_state(house, large, JOB_QUEUED);
        assert_free(house, 3000);
        house_free(house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/building/waits", test_waits);
        g_test_add_func("/building/shared", test_shared);
        g_test_add_func("/building/array", test_array);
        g_test_add_func("/building/small-queue", test_small_queue);
        g_test_add_func("/building/smaller-queue", test_smaller_queue);
        g_test_add_func("/building/uncounted", test_uncounted);
        g_test_add_func("/building/restart", test_restart);
        return g_test_run();
}
