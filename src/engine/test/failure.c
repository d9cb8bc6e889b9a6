/* Commits that fail, on a disk that fails on demand: callers hear of it, nobody sees what is not durable, and
 * when there is room again everything goes on where it was. */
#include <string.h>

#include "base/err.h"
#include "engine/test/help.h"
#include "store/test/faulty.h"

#define ONE(name) "{'name':'" name "','command':['true'],'roles':[{'name':'worker','replicas':1,'cpu':'1'}]}"
#define WHOLE(name)                                                                                          \
        "{'name':'" name "','command':['true'],'roles':[{'name':'worker','replicas':4,'cpu':'1'}]}"
#define PS                                                                                                   \
        "{'name':'d','command':['t'],'roles':[{'name':'pserver','replicas':1,'cpu':'1'},{'name':'trainer','" \
        "replicas':1,'cpu':'1'}]}"

static House *house_on_faulty_disk(void)
{
        faulty_install();
        return house_new();
}

static void house_free_faulty(House *house)
{
        faulty_set(FAULT_NONE, NULL, 0, false);
        house_free(house);
        faulty_remove();
}

static void fill_disk(void)
{
        faulty_set(FAULT_FULL, "-wal", 1, false);
}

static void make_room(void)
{
        faulty_set(FAULT_NONE, NULL, 0, false);
}

static void assert_no_space(bool ok, GError **error)
{
        g_assert_false(ok);
        g_assert_error(*error, ERR_DOMAIN, ERR_NO_SPACE);
        g_clear_error(error);
}

static void test_submit(void)
{
        House *house = house_on_faulty_disk();
        g_autofree char *before = house_submit_ok(house, ONE("a")), *after = NULL;
        gint64 revision = engine_revision(house->engine);
        EngineMetrics was, now;
        GError *error = NULL;

        engine_metrics(house->engine, &was);
        fill_disk();
        for (int i = 0; i < 3; i++)
                assert_no_space(house_submit(house, "ann", ONE("b"), "k", &error) != NULL, &error);
        assert_no_space(house_submit(house, "ann", PS, NULL, &error) != NULL, &error);
        assert_no_space(house_put_token(house, "t", &error), &error);
        house_barrier(house);
        g_assert_null(engine_job_by_name(house->engine, "ann", "b"));
        g_assert_cmpint(engine_revision(house->engine), ==, revision);
        engine_metrics(house->engine, &now);
        g_assert_cmpint(now.open_jobs, ==, was.open_jobs);
        g_assert_cmpint(now.submitted, ==, was.submitted);
        g_assert_cmpint(now.free.cpu_milli, ==, was.free.cpu_milli);
        g_assert_cmpint(script_count(house->script, "start"), ==, 1); /* a's */
        g_assert_cmpint(script_leased(house->script), ==, 0);

        make_room();
        after = house_submit(house, "ann", ONE("b"), "k", &error);
        g_assert_no_error(error);
        house_barrier(house);
        assert_state(house, after, JOB_STARTING);
        assert_state(house, before, JOB_STARTING);
        g_assert_cmpint(engine_revision(house->engine), ==, revision + 2);
        g_assert_cmpint(script_count(house->script, "start"), ==, 2);
        house_free_faulty(house);
}

/* What the runtime told is kept and not confirmed, in order, with what comes after. */
static void test_observations(void)
{
        House *house = house_on_faulty_disk();
        g_autofree char *id = house_submit_ok(house, ONE("a")), *other = house_submit_ok(house, WHOLE("b")),
                        *kinds = NULL;
        g_autofree char *task = task_of(id, 1, "worker", 0);
        g_autofree char *token_of = NULL;
        g_autoptr(Job) view = NULL;
        GError *error = NULL;

        fill_disk();
        script_say_kind(house->script, OBSERVED_STARTED, task);
        house_barrier(house);
        script_say_exit(house->script, task, 0, 0, false);
        house_barrier(house);
        view = house_job(house, id);
        g_assert_cmpint(view->state, ==, JOB_STARTING);
        g_assert_cmpint(view->members[0].state, ==, MEMBER_INTENDED);
        assert_no_space(house_cancel(house, id, &error), &error);
        assert_no_space(house_cancel(house, other, &error), &error);
        assert_state(house, id, JOB_STARTING);
        assert_state(house, other, JOB_QUEUED);
        g_assert_cmpint(script_count(house->script, "forget"), ==, 0);
        g_assert_cmpint(script_count(house->script, "stop"), ==, 0);
        g_assert_cmpint(script_count(house->script, "clean"), ==, 0);

        make_room();
        g_assert_true(
                house_put_token(house, "t", &error)); /* the first success lets the rest go on at once */
        g_clear_pointer(&view, job_unref);
        view = house_wait(house, id, JOB_SUCCEEDED);
        kinds = house_events(house, id);
        g_assert_cmpstr(kinds, ==,
                        "job.queued job.starting member.started job.running member.exited job.succeeded");
        house_barrier(house);
        assert_state(house, other, JOB_STARTING);
        g_assert_cmpint(script_count(house->script, "forget"), ==, 1);
        g_assert_cmpint(script_count(house->script, "clean"), ==, 1);
        g_assert_cmpint(script_count(house->script, "start"), ==, 5);
        house_free_faulty(house);
}

/* An admission that was not committed gives back what it took. */
static void test_admission(void)
{
        House *house = house_on_faulty_disk();
        g_autofree char *first = house_submit_ok(house, WHOLE("a")), *task = NULL, *start = NULL;
        g_autofree char *next = house_submit_ok(
                house,
                "{'name':'b','command':['t'],'roles':[{'name':'worker','replicas':1,'cpu':'1','gpus':4}]}");
        g_autoptr(Job) job = NULL;

        fill_disk();
        for (int i = 0; i < 4; i++) {
                g_autofree char *member = task_of(first, 1, "worker", i);

                script_say_exit(house->script, member, 0, 0, false);
        }
        house_barrier(house);
        assert_state(house, first, JOB_STARTING);
        assert_state(house, next, JOB_QUEUED);
        make_room();
        g_assert_true(house_put_token(house, "t", NULL));
        task = task_of(next, 1, "worker", 0);
        start = g_strdup_printf("start %s", task);
        script_wait(house->script, start, 1);
        job = house_job(house, next);
        g_assert_cmpstr(job->members[0].gpus, ==, "0,1,2,3");
        house_free_faulty(house);
}

/* What members get that declare nothing changes for jobs that wait, or not at all. */
static void test_defaults(void)
{
        static const char any[] = "{'name':'%s','command':['true'],'roles':[{'name':'worker'}]}";
        g_autofree char *first = g_strdup_printf(any, "a"), *second = g_strdup_printf(any, "b");
        House *house = house_on_faulty_disk();
        g_autofree char *a = NULL, *b = NULL, *other = NULL;
        GError *error = NULL;

        house_queue(house, "default", "{'defaults':{'cpu':'3'}}");
        a = house_submit_ok(house, first);
        b = house_submit_ok(house, second);
        house_barrier(house);
        assert_state(house, a, JOB_STARTING);
        assert_state(house, b, JOB_QUEUED);

        fill_disk();
        assert_no_space(house_patch(house, KIND_QUEUE, "default", "{'defaults':{'cpu':'1'}}", &error),
                        &error);
        house_barrier(house);
        make_room();
        other = house_submit_ok(house, WHOLE("c")); /* a pass */
        house_barrier(house);
        assert_state(house, b, JOB_QUEUED);

        house_queue(house, "default", "{'defaults':{'cpu':'1'}}");
        house_barrier(house);
        assert_state(house, b, JOB_STARTING);
        house_free_faulty(house);
}

/* The same for a job that the failed batch itself had no reason to look at. */
static void test_defaults_later(void)
{
        House *house = house_on_faulty_disk();
        g_autofree char *three = NULL, *one = NULL, *waits = NULL, *task = NULL;
        g_autoptr(Job) ended = NULL;
        GError *error = NULL;

        house_queue(house, "default", "{'defaults':{'cpu':'3'}}");
        three = house_submit_ok(
                house, "{'name':'b','command':['t'],'roles':[{'name':'worker','replicas':3,'cpu':'1'}]}");
        one = house_submit_ok(house, ONE("a"));
        waits = house_submit_ok(house, "{'name':'c','command':['t'],'roles':[{'name':'worker'}]}");
        house_barrier(house);
        assert_state(house, one, JOB_STARTING);

        fill_disk();
        assert_no_space(house_patch(house, KIND_QUEUE, "default", "{'defaults':{'cpu':'1'}}", &error),
                        &error);
        make_room();
        task = task_of(one, 1, "worker", 0);
        script_say_exit(house->script, task, 0, 0, false);
        ended = house_wait(house, one, JOB_SUCCEEDED);
        house_barrier(house);
        assert_state(house, waits, JOB_QUEUED);
        house_free_faulty(house);
}

/* Without any command the engine tries again by itself. */
static void test_goes_on_alone(void)
{
        House *house = house_on_faulty_disk();
        g_autofree char *id = house_submit_ok(house, ONE("a"));
        g_autofree char *task = task_of(id, 1, "worker", 0);
        g_autoptr(Job) job = NULL;

        fill_disk();
        script_say_exit(house->script, task, 0, 0, false);
        house_barrier(house);
        assert_state(house, id, JOB_STARTING);
        make_room();
        job = house_wait(house, id, JOB_SUCCEEDED);
        house_free_faulty(house);
}

/* Time that runs out while the disk is full is not forgotten, and keeps no processor busy. */
static void test_timers(void)
{
        House *house = house_on_faulty_disk();
        g_autofree char *id = house_submit_ok(
                house, "{'name':'a','command':['true'],'retries':1,'backoff':'5s','time_limit':'1m'}");
        g_autofree char *first = task_of(id, 1, "worker", 0), *second = task_of(id, 2, "worker", 0);
        g_autofree char *start = g_strdup_printf("start %s", second),
                        *stop = g_strdup_printf("stop %s", second);
        EngineMetrics was, now;

        script_say_exit(house->script, first, 1, 0, false);
        house_barrier(house);
        fill_disk();
        engine_metrics(house->engine, &was);
        house_pass(house, 5000);
        assert_state(house, id, JOB_QUEUED);
        make_room();
        g_assert_true(house_put_token(house, "t", NULL));
        script_wait(house->script, start, 1);
        script_say_kind(house->script, OBSERVED_STARTED, second);
        house_barrier(house);
        fill_disk();
        house_pass(house, 60000);
        assert_state(house, id, JOB_RUNNING);
        g_assert_cmpint(script_count(house->script, stop), ==, 0);
        make_room();
        script_wait(house->script, stop, 1);
        engine_metrics(house->engine, &now);
        g_assert_cmpint(now.batches - was.batches, <, 10);
        g_assert_cmpint(script_count(house->script, start), ==, 1);
        house_free_faulty(house);
}

/* A sync that failed: nothing is known, the program is told to end, and what it then finds is what was
 * acknowledged. */
static void test_fatal(void)
{
        House *house = house_on_faulty_disk();
        g_autofree char *id = house_submit_ok(house, ONE("a"));
        g_autoptr(Job) job = NULL;
        GError *error = NULL;

        faulty_set(FAULT_SYNC, "-wal", 1, true);
        g_assert_null(house_submit(house, "ann", ONE("b"), NULL, &error));
        g_assert_nonnull(error);
        g_clear_error(&error);
        g_assert_cmpint(__atomic_load_n(&house->fatal, __ATOMIC_SEQ_CST), ==, 1);
        g_assert_null(house_submit(house, "ann", ONE("c"), NULL, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_UNAVAILABLE);
        g_clear_error(&error);
        g_assert_cmpint(__atomic_load_n(&house->fatal, __ATOMIC_SEQ_CST), ==, 1);
        g_assert_null(engine_job_by_name(house->engine, "ann", "b"));
        make_room();
        house_close(house);
        house_open(house);
        house_sync(house);
        job = engine_job(house->engine, id);
        g_assert_nonnull(job);
        house_free_faulty(house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/failure/submit", test_submit);
        g_test_add_func("/failure/observations", test_observations);
        g_test_add_func("/failure/admission", test_admission);
        g_test_add_func("/failure/defaults", test_defaults);
        g_test_add_func("/failure/defaults-later", test_defaults_later);
        g_test_add_func("/failure/goes on alone", test_goes_on_alone);
        g_test_add_func("/failure/timers", test_timers);
        g_test_add_func("/failure/fatal", test_fatal);
        return g_test_run();
}
