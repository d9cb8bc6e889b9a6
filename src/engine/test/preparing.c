/* The preparations of a job (preparing.c): a runtime whose jobs need an environment and an image before they start. */
#include <string.h>

#include "base/err.h"
#include "engine/test/help.h"

#define NEEDS "{'name':'a','command':['t'],'requirements':'six','retries':1,'backoff':'1s'}"
#define NEEDS2 "{'name':'c','command':['t'],'requirements':'numpy'}"
#define NEEDS_ARRAY(name) "{'name':'" name "','command':['t'],'requirements':'six','array':'0-49'}"
#define PLAIN "{'name':'b','command':['t']}"

static House *open_house(bool environment, bool image)
{
        House *house = house_new_cold();

        script_makes(house->script, environment, image);
        script_prepared(house->script, false);
        house_open(house);
        house_sync(house);
        return house;
}

static void say(House *house, ObservationKind kind, PreparationKind preparation, const char *id,
                const char *why)
{
        Observation said = { .kind = kind, .preparation = preparation, .text = (char *)why };

        g_strlcpy(said.task, id, sizeof said.task);
        script_say(house->script, &said);
        house_barrier(house);
}

static void say_prepared(House *house, PreparationKind preparation, const char *id)
{
        say(house, OBSERVED_PREPARED, preparation, id, NULL);
}

static void assert_asked(House *house, const char *word, const char *id, int n)
{
        g_autofree char *line = g_strdup_printf("%s %s", word, id);

        house_barrier(house);
        g_assert_cmpint(script_count(house->script, line), ==, n);
}

static void assert_events(House *house, const char *id, const char *want)
{
        g_autofree char *events = house_events(house, id);

        g_assert_cmpstr(events, ==, want);
}

/* The states of environment and image; NONE: the job does not have it. */
static void assert_list(House *house, const char *id, PreparationState environment, PreparationState image)
{
        const PreparationState want[PREPARE_KINDS] = {
                [PREPARE_ENVIRONMENT] = environment, [PREPARE_IMAGE] = image
        };
        g_autoptr(Job) job = NULL;

        house_barrier(house);
        job = house_job(house, id);
        for (int kind = 0; kind < PREPARE_KINDS; kind++) {
                const Preparation *one = job_preparation(job, kind);

                g_assert_cmpint(one ? one->state : PREPARATION_NONE, ==, want[kind]);
        }
}

/* It starts when both are ready, in either order. */
static void test_two(void)
{
        for (int first = 0; first < PREPARE_KINDS; first++) {
                House *house = open_house(true, true);
                g_autofree char *id = house_submit_ok(house, NEEDS);

                assert_list(house, id, PREPARATION_RUNNING, PREPARATION_RUNNING);
                assert_asked(house, "prepare", id, 1);
                assert_asked(house, "image", id, 1);
                say_prepared(house, (PreparationKind)first, id);
                assert_state(house, id, JOB_QUEUED);
                say_prepared(house, (PreparationKind)!first, id);
                assert_state(house, id, JOB_STARTING);
                assert_asked(house, "start", id, 1);
                assert_asked(house, "prepare", id, 1);
                assert_asked(house, "image", id, 1);
                assert_events(house, id,
                              "job.queued job.environment job.environment job.environment job.environment "
                              "job.starting");
                house_free(house);
        }
}

/* One fails while the other is still being made: the job fails at once, and the other is abandoned. */
static void test_one_fails(void)
{
        House *house = open_house(true, true);
        g_autofree char *id = house_submit_ok(house, NEEDS);
        g_autoptr(Job) job = NULL;

        say(house, OBSERVED_PREPARE_FAILED, PREPARE_IMAGE, id, "no space");
        job = house_wait(house, id, JOB_FAILED);
        g_assert_cmpstr(
                job->reason, ==,
                "its environment could not be made: no space; see `paddle logs a --member environment`");
        assert_asked(house, "abandon", id, 1);
        say_prepared(house, PREPARE_ENVIRONMENT, id); /* too late */
        assert_state(house, id, JOB_FAILED);
        assert_asked(house, "start", id, 0);
        assert_events(house, id, "job.queued job.environment job.environment job.environment job.failed");
        house_free(house);
}

/* A later attempt uses what was prepared for the first. */
static void test_retry(void)
{
        House *house = open_house(true, true);
        g_autofree char *id = house_submit_ok(house, NEEDS), *task = task_of(id, 1, "worker", 0);

        say_prepared(house, PREPARE_ENVIRONMENT, id);
        say_prepared(house, PREPARE_IMAGE, id);
        script_say_kind(house->script, OBSERVED_STARTED, task);
        script_say_exit(house->script, task, 1, 0, false);
        house_barrier(house);
        assert_state(house, id, JOB_QUEUED);
        assert_list(house, id, PREPARATION_READY, PREPARATION_READY);
        house_pass(house, 1000);
        assert_state(house, id, JOB_STARTING);
        assert_asked(house, "prepare", id, 1);
        assert_asked(house, "image", id, 1);
        house_free(house);
}

static void test_cancelled(void)
{
        House *house = open_house(true, true);
        g_autofree char *id = house_submit_ok(house, NEEDS);
        g_autoptr(GError) error = NULL;

        say_prepared(house, PREPARE_IMAGE, id);
        g_assert_true(house_cancel(house, id, &error));
        assert_asked(house, "abandon", id, 1);
        assert_asked(house, "abandon-image", id, 0); /* it was ready */
        say_prepared(house, PREPARE_ENVIRONMENT, id);
        assert_events(house, id, "job.queued job.environment job.environment job.environment job.cancelled");
        house_free(house);
}

/* Its cluster is away when the job ends: it is told all the same, since the job is forgotten when it is back. */
static void test_cancelled_while_away(void)
{
        House *house = open_house(true, true);
        g_autofree char *id = house_submit_ok(house, NEEDS), *held = house_submit_ok(house, NEEDS2);
        g_autoptr(GError) error = NULL;

        script_say_kind(house->script, OBSERVED_DISCONNECTED, NULL);
        house_barrier(house);
        g_assert_true(house_cancel(house, id, &error));
        g_assert_true(house_act(house, held, ACT_HOLD, &error));
        assert_asked(house, "abandon", id, 1);
        assert_asked(house, "abandon-image", id, 1);
        assert_asked(house, "abandon", held, 1);
        house_sync(house);
        assert_asked(house, "prepare", id, 1);
        assert_asked(house, "prepare", held, 1);
        house_free(house);
}

/* A held job waits for what it does not have yet; released, it asks for that alone. */
static void test_held(void)
{
        House *house = open_house(true, true);
        g_autofree char *id = house_submit_ok(house, NEEDS);
        g_autoptr(GError) error = NULL;

        say_prepared(house, PREPARE_IMAGE, id);
        g_assert_true(house_act(house, id, ACT_HOLD, &error));
        assert_list(house, id, PREPARATION_WAITING, PREPARATION_READY);
        assert_asked(house, "abandon", id, 1);
        say_prepared(house, PREPARE_ENVIRONMENT, id); /* it was on its way */
        assert_list(house, id, PREPARATION_WAITING, PREPARATION_READY);
        g_assert_true(house_act(house, id, ACT_RELEASE, &error));
        assert_list(house, id, PREPARATION_RUNNING, PREPARATION_READY);
        assert_asked(house, "prepare", id, 2);
        assert_asked(house, "image", id, 1);
        g_assert_true(house_act(house, id, ACT_HOLD, &error));
        script_prepared(house->script, true); /* by another job */
        g_assert_true(house_act(house, id, ACT_RELEASE, &error));
        house_barrier(house);
        assert_state(house, id, JOB_STARTING);
        house_free(house);
}

static void act_on_array(House *house, gint64 array, const char *id, JobAction action)
{
        g_autofree char *name = g_strconcat("a", id, NULL);

        engine_act_array(house->engine, array, name, action, "ann", false, NULL, NULL);
        house_barrier(house);
}

/* The runtime is asked once for all jobs of an array when it is submitted or released: its answer takes a
 * hash of what they need. Another array is asked for again. */
static void test_array(void)
{
        House *house = open_house(true, true);
        g_autofree char *id = house_submit_ok(house, NEEDS_ARRAY("d")), *other = NULL;
        g_autoptr(Job) first = house_job(house, id);
        int asked;

        g_assert_cmpint(script_asked_prepared(house->script), ==, PREPARE_KINDS);
        act_on_array(house, first->seq, id, ACT_HOLD);
        assert_list(house, id, PREPARATION_WAITING, PREPARATION_WAITING);
        asked = script_asked_prepared(house->script);
        act_on_array(house, first->seq, id, ACT_RELEASE);
        assert_list(house, id, PREPARATION_RUNNING, PREPARATION_RUNNING);
        assert_asked(house, "prepare", "", 2 * 50);
        g_assert_cmpint(script_asked_prepared(house->script), ==, asked + PREPARE_KINDS);

        act_on_array(house, first->seq, id, ACT_HOLD);
        script_prepared(house->script, true);
        act_on_array(house, first->seq, id, ACT_RELEASE);
        assert_list(house, id, PREPARATION_READY, PREPARATION_READY);
        script_prepared(house->script, false);
        other = house_submit_ok(house, NEEDS_ARRAY("e"));
        assert_list(house, other, PREPARATION_RUNNING, PREPARATION_RUNNING);
        house_free(house);
}

static void note_state(Job *job, bool repeated, const GError *error, void *arg)
{
        PreparationState *state = arg;

        g_assert_no_error(error);
        *state = job_preparation_state(job);
}

/* A dry run is answered by what the runtime says now, not by what it said of the job before. */
static void test_dry_run(void)
{
        House *house = open_house(true, false);
        g_autoptr(json_t) object = json_pack("{s:[s], s:s}", "command", "t", "requirements", "six");
        g_autoptr(Spec) spec = spec_parse(object, NULL);
        const EngineSubmission dry_run = { .user = "ann", .specs = &spec, .n_specs = 1, .only_check = true };
        PreparationState state = PREPARATION_NONE;
        g_autofree char *before = NULL;

        script_prepared(house->script, true);
        before = house_submit_ok(house, PLAIN);
        house_barrier(house);
        script_prepared(house->script, false);
        engine_submit(house->engine, &dry_run, note_state, &state);
        house_barrier(house);
        g_assert_cmpint(state, !=, PREPARATION_READY);
        g_assert_cmpint(state, !=, PREPARATION_NONE);
        house_free(house);
}

/* The next server asks for what is not ready, and knows what is. The store does not tell an image from an environment:
 * the runtime of the job's cluster does. */
static void check_restart(bool makes_environments)
{
        House *house = open_house(makes_environments, true);
        PreparationState environment = makes_environments ? PREPARATION_READY : PREPARATION_NONE;
        g_autofree char *id = house_submit_ok(house, NEEDS);

        if (makes_environments)
                say_prepared(house, PREPARE_ENVIRONMENT, id);
        assert_list(house, id, environment, PREPARATION_RUNNING);
        house_close(house);
        house_open(house);
        house_sync(house);
        assert_list(house, id, environment, PREPARATION_RUNNING);
        assert_asked(house, "prepare", id, 0);
        assert_asked(house, "image", id, 1);
        say_prepared(house, PREPARE_IMAGE, id);
        assert_state(house, id, JOB_STARTING);
        house_free(house);
}

static void test_restart(void)
{
        check_restart(true);
}

static void test_restart_image(void)
{
        check_restart(false);
}

/* Jobs of a runtime that makes no preparation have none. */
static void test_none(void)
{
        House *house = open_house(false, false);
        g_autofree char *id = house_submit_ok(house, NEEDS);

        assert_state(house, id, JOB_STARTING);
        assert_list(house, id, PREPARATION_NONE, PREPARATION_NONE);
        assert_events(house, id, "job.queued job.starting");
        house_free(house);
}

/* What is ready before is listed if the specification asks for it. */
static void test_ready_before(void)
{
        House *house = open_house(true, true);
        g_autofree char *plain = NULL, *needs = NULL;

        script_prepared(house->script, true);
        plain = house_submit_ok(house, PLAIN);
        needs = house_submit_ok(house, NEEDS);
        assert_list(house, plain, PREPARATION_NONE, PREPARATION_NONE);
        assert_list(house, needs, PREPARATION_READY, PREPARATION_READY);
        assert_events(house, needs, "job.queued job.starting");
        house_free(house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/preparing/two", test_two);
        g_test_add_func("/preparing/one-fails", test_one_fails);
        g_test_add_func("/preparing/retry", test_retry);
        g_test_add_func("/preparing/cancelled", test_cancelled);
        g_test_add_func("/preparing/cancelled-while-away", test_cancelled_while_away);
        g_test_add_func("/preparing/held", test_held);
        g_test_add_func("/preparing/array", test_array);
        g_test_add_func("/preparing/dry-run", test_dry_run);
        g_test_add_func("/preparing/restart", test_restart);
        g_test_add_func("/preparing/restart-image", test_restart_image);
        g_test_add_func("/preparing/none", test_none);
        g_test_add_func("/preparing/ready-before", test_ready_before);
        return g_test_run();
}
