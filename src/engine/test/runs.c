/* Runs of pipelines in the engine: what happens to the jobs of their steps, and what must follow. Each scenario is played
 * three times: as it is, with a start of the engine behind each step that changes something, and with a full disk at each
 * end of a job. All scenarios of one way share an engine, since opening a store takes the most time here.
 *
 * The steps, word by word:
 *      PATH ok · PATH fail · PATH cancel    the job of a running step ends: with 0, with 3; a user cancels it
 *      stop · force                         a user's stop of the run
 *      put STEP NAME TEXT                   an output of a step without a loop at the top has this content
 *      retry · retry PATH · retry NAME=N    a retry of the run that has ended: from PATH, with a parameter; it is the run
 *                                           of all that follows
 *      PATH is STATE · run is STATE         what readers see; "none": there is no row
 *      jobs N                               so many jobs were made in all, by this scenario */
#include "engine/test/play.h"

#include <string.h>

#include "base/err.h"
#include "engine/runs.h"
#include "store/test/faulty.h"

#define FAILURE                                                                                              \
        "post_process:\n  step6: {command: c}\n"                                                             \
        "entry_points:\n"                                                                                    \
        "  step1: {command: c}\n  step2: {command: c, deps: step1}\n  step3: {command: c, deps: step2}\n"    \
        "  step4: {command: c}\n  step5: {command: c, deps: 'step1,step4'}\n"

typedef struct {
        const char *name, *text, *steps;
} Scenario;

/* The numbers are those of doc/reference/pipelines.md. */
static const Scenario scenarios[] = {
        { "C098 ready",
          "entry_points:\n  a: {command: c}\n  b: {command: c, deps: a}\n  c: {command: c, deps: a}\n",
          "a is running, b is none, c is none, a ok, a is succeeded, b is running, c is running, b ok, c ok, "
          "run is succeeded, jobs 3" },
        { "C099 loop",
          "entry_points:\n  a: {command: c, loop_argument: [x, y, z]}\n  b: {command: c, deps: a}\nparallelism: 2\n",
          "a-0 is running, a-1 is running, a-2 is none, a-1 ok, a-2 is running, a-0 ok, b is none, a-2 ok, "
          "b is running, b ok, run is succeeded, jobs 4" },
        { "C100 stopped", TWO,
          "a is running, stop, a is stopping, a fail, a is terminated, b is none, run is terminated, "
          "jobs 1" },
        { "C101 continue", CONTINUE FAILURE,
          "step4 fail, step1 is running, step1 ok, step2 ok, step3 ok, step6 is running, step6 ok, step4 is failed, "
          "step5 is none, run is failed, jobs 5" },
        { "C102 fail_fast", FAILURE,
          "step4 fail, step1 is stopping, step1 fail, step1 is terminated, step2 is none, step6 is running, step6 ok, "
          "run is failed, jobs 3" },
        { "C105 condition",
          "entry_points:\n  a: {command: c, condition: '1 > 2'}\n  b: {command: c, deps: a}\n",
          "a is skipped, b is running, b ok, run is succeeded, jobs 1" },
        { "C105 disabled", "disabled: a\n" TWO,
          "a is skipped, b is running, b ok, run is succeeded, jobs 1" },
        { "C106 waiting", "parallelism: 1\nentry_points:\n  a: {command: c}\n  b: {command: c}\n",
          "a is running, b is none, stop, b is terminated, a fail, run is terminated, jobs 1" },
        { "C107 stop with post_process", POST TWO,
          "stop, a fail, p is running, p ok, a is terminated, run is terminated, jobs 2" },
        { "R-22 what needs no slot does not wait",
          "parallelism: 1\ndisabled: d.x\nentry_points:\n  a: {command: c}\n  d:\n    entry_points:\n"
          "      x: {command: c}\n  b: {command: c, condition: '1 > 2'}\n  e: {command: c, loop_argument: []}\n",
          "a is running, d.x is skipped, d is succeeded, b is skipped, e is skipped, a ok, run is succeeded, jobs 1" },
        { "R-35 a stop goes on, and post_process begins", POST TWO,
          "stop, a is stopping, a fail, p is running, p ok, run is terminated, jobs 2" },
        { "C108 forced stop", POST TWO, "force, a fail, p is none, run is terminated, jobs 1" },
        { "C109, R-19 killed", TWO, "a cancel, a fail, a is terminated, run is failed, jobs 1" },
        { "C110 post_process after the steps", POST TWO,
          "a ok, b ok, p is running, p ok, a is succeeded, run is succeeded, jobs 3" },
        { "regular expression",
          "entry_points:\n  a: {command: c, condition: \"'abc' =~ 'a.c'\"}\n  b: {command: c, condition: \"'abc' =~ 'x'\"}\n",
          "b is skipped, a is running, a ok, run is succeeded, jobs 1" },
        { "condition of a DAG",
          "entry_points:\n  d:\n    condition: \"'abc' !~ 'a'\"\n    entry_points:\n      x: {command: c}\n",
          "d is skipped, run is succeeded, jobs 0" },
        { "nested loops",
          "entry_points:\n  d:\n    loop_argument: [1, 2]\n    entry_points:\n"
          "      x: {command: c, loop_argument: [3, 4]}\n      y: {command: c, deps: x}\n  e: {command: c, deps: d}\n",
          "d-0 is running, d-0.x-0 ok, d-0.y is none, d-0.x-1 ok, d-0.y ok, d-0 is succeeded, d-1.x-1 ok, d-1.x-0 ok, "
          "e is none, d-1.y ok, d-1 is succeeded, e ok, run is succeeded, jobs 7" },
        { "nested, fail_fast",
          "entry_points:\n  d:\n    entry_points:\n      x: {command: c}\n      y: {command: c, deps: x}\n"
          "      z: {command: c}\n  f: {command: c}\n",
          "d.x fail, d.z is stopping, f is stopping, d.y is none, d.z fail, d is failed, f fail, run is failed, jobs 3" },
        { "empty loop", "entry_points:\n  a: {command: c, loop_argument: []}\n  b: {command: c, deps: a}\n",
          "a is skipped, b ok, run is succeeded, jobs 1" },
        { "C073 loop over an artifact", HOME "parallelism: 1\n" WRITES READS "    loop_argument: '{{i}}'\n",
          "put a x [1,2], a ok, b-0 is running, put a x [7], b-0 ok, b-1 ok, b is succeeded, run is succeeded, jobs 3" },
        { "C082 condition on an artifact", HOME WRITES READS "    condition: '{{i}} > 2'\n",
          "put a x 3, a ok, b ok, run is succeeded, jobs 2" },
        { "C082 condition that is false", HOME WRITES READS "    condition: '{{i}} > 2'\n",
          "put a x 2, a ok, b is skipped, run is succeeded, jobs 1" },
        { "C082 regular expression", HOME WRITES READS "    condition: \"'{{i}}' =~ '^y+$'\"\n",
          "put a x yyy, a ok, b ok, run is succeeded, jobs 2" },
        { "RE-06 no file", HOME WRITES READS "    loop_argument: '{{i}}'\n",
          "a ok, b is failed, run is failed, jobs 1" },
        { "RE-02 no list", HOME WRITES READS "    loop_argument: '{{i}}'\n",
          "put a x {}, a ok, b is failed, run is failed, jobs 1" },
        { "R-23 empty list in an artifact", HOME WRITES READS "    loop_argument: '{{i}}'\n",
          "put a x [], a ok, b is skipped, run is succeeded, jobs 1" },
        { "a loop of DAGs over an artifact",
          HOME WRITES
          "  d:\n    deps: a\n    artifacts: {input: {i: '{{a.x}}'}}\n    loop_argument: '{{i}}'\n"
          "    entry_points:\n      p: {command: c}\n      q: {command: c, deps: p}\n",
          "put a x [1,2], a ok, d-0.p ok, put a x [], d-1.p ok, d-1.q ok, d-0.q ok, run is succeeded, jobs 5" },
        { "C111 retry", TWO,
          "a ok, b fail, run is failed, retry, a is succeeded, b is running, jobs 3, b ok, run is succeeded, jobs 3" },
        { "retry of a stopped run", POST TWO,
          "a ok, force, b fail, run is terminated, retry, a is succeeded, b ok, p ok, run is succeeded, jobs 4" },
        { "C110 retry of post_process alone", POST TWO,
          "a ok, b ok, p fail, run is failed, retry, p is running, p ok, run is succeeded, jobs 4" },
        { "C111, R-32 retry of a loop",
          CONTINUE "entry_points:\n  a: {command: c, loop_argument: [x, y, z]}\n  b: {command: c, deps: a}\n",
          "a-0 ok, a-1 fail, a-2 ok, run is failed, retry, a-0 is succeeded, a-1 is running, a-2 is succeeded, "
          "b is none, a-1 ok, b ok, run is succeeded, jobs 5" },
        { "C111 retry of nested loops",
          CONTINUE "entry_points:\n  d:\n    loop_argument: [1, 2]\n    entry_points:\n"
                   "      x: {command: c, loop_argument: [3, 4]}\n      y: {command: c, deps: x}\n",
          "d-0.x-0 ok, d-0.x-1 ok, d-0.y ok, d-1.x-0 ok, d-1.x-1 fail, run is failed, retry, d-0 is succeeded, "
          "d-1 is running, d-1.x-0 is succeeded, d-1.x-1 ok, d-1.y ok, d-1 is succeeded, run is succeeded, jobs 7" },
        { "retry from a step", TWO,
          "a ok, b ok, run is succeeded, retry b, a is succeeded, b ok, run is succeeded, retry a, a ok, b ok, "
          "run is succeeded, jobs 5" },
        { "retry with a parameter",
          "entry_points:\n  a: {command: c}\n  b: {command: c, parameters: {n: 1}}\n  c: {command: c, deps: b}\n",
          "a ok, b ok, c ok, run is succeeded, retry b.n=2, a is succeeded, c is none, b ok, c ok, run is succeeded, "
          "jobs 5" },
        { "retry of a retry", CONTINUE FAILURE,
          "step1 ok, step2 fail, step4 ok, step5 ok, step6 ok, run is failed, retry, step2 fail, step6 ok, "
          "run is failed, retry, step1 is succeeded, step2 ok, step3 ok, step6 ok, run is succeeded, jobs 10" },
        { "no queue",
          "entry_points:\n  a: {command: c, env: {PF_JOB_QUEUE_NAME: nowhere}}\n  b: {command: c, deps: a}\n",
          "a is failed, b is none, run is failed, jobs 0" },
};

/* ---- scenarios ---- */

static void put(const Play *play, char *const *words)
{
        if (strcmp(play_state(play, words[1]), "succeeded") != 0)
                play_assert(play, words[1], "running");
        play_put(play, words[1], words[2], words[3], strlen(words[3]));
}

static void retry_it(Play *play, const char *from, GError **error)
{
        g_autofree char *earlier = play->id;

        play->id = play_retry(play->house, earlier, from, NULL, &play->seq, error);
}

/* True: the step changes something that the engine keeps. */
static bool play_step(Play *play, const char *step, Way way)
{
        g_auto(GStrv) words = g_strsplit(step, " ", -1);
        g_autofree char *job = NULL;
        g_autoptr(GError) error = NULL;
        bool changes = true;

        g_test_message("%s", step);
        if (strcmp(words[0], "retry") == 0) {
                retry_it(play, words[1], &error);
        } else if (!words[1]) {
                (void)play_act(play->house, play->id, words[0], &error);
        } else if (strcmp(words[0], "put") == 0) {
                put(play, words);
                changes = false;
        } else if (strcmp(words[0], "jobs") == 0) {
                play_assert_jobs(play, words[1]);
                changes = false;
        } else if (strcmp(words[1], "is") == 0) {
                play_assert(play, words[0], words[2]);
                changes = false;
        } else if (strcmp(words[1], "cancel") == 0) {
                job = play_job(play, words[0]);
                (void)house_cancel(play->house, job, &error);
        } else {
                play_assert(play, words[0],
                            strcmp(words[1], "ok") == 0 ? "running" : play_state(play, words[0]));
                play_end(play, words[0], strcmp(words[1], "ok") == 0 ? 0 : 3, way);
        }
        g_assert_no_error(error);
        return changes;
}

static void play_scenario(House *house, const Scenario *scenario, Way way)
{
        g_auto(GStrv) steps = g_strsplit(scenario->steps, ", ", -1);
        g_autoptr(GError) error = NULL;
        Play play = { .house = house,
                      .definition = play_compile(scenario->text),
                      .earlier = play_count_jobs(house) };
        bool changed = true;

        g_test_message("%s", scenario->name);
        play.id = play_create(house, scenario->text, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        for (char **step = steps; *step; step++) {
                if (way == WITH_STARTS && changed)
                        play_restart(&play);
                changed = play_step(&play, *step, way);
        }
        definition_free(play.definition);
        g_free(play.id);
}

static void test_scenarios(gconstpointer way)
{
        House *house;

        faulty_install();
        house = play_house();
        for (gsize i = 0; i < G_N_ELEMENTS(scenarios); i++)
                play_scenario(house, &scenarios[i], (Way)GPOINTER_TO_INT(way));
        play_house_free(house);
        faulty_remove();
}

/* ---- parameters ---- */

#define PARAMETERS                                                                                                        \
        "name: p\nentry_points:\n"                                                                                        \
        "  a:\n    parameters: {n: 3}\n    env: {WHO: \"{{PF_USER_NAME}}\"}\n    command: \"echo {{n}} {{PF_RUN_ID}}\"\n" \
        "  b:\n    deps: a\n    parameters: {m: \"{{a.n}}\"}\n    loop_argument: [x, y]\n"                                \
        "    command: \"echo {{m}} {{PF_LOOP_ARGUMENT}}\"\n"

static void test_parameters(void)
{
        g_autoptr(GError) error = NULL;
        Play play = { .house = house_new(), .definition = play_compile(PARAMETERS) };
        g_autofree char *a = NULL, *b0 = NULL, *b1 = NULL, *want = NULL, *job_id = NULL;
        g_autoptr(Job) job = NULL;

        play.id = play_create(play.house, PARAMETERS, "{'parameters':{'a.n':7},'name':'other'}", NULL,
                              &play.seq, &error);
        g_assert_no_error(error);
        a = play_command(&play, "a");
        want = g_strdup_printf("echo 7 %s", play.id);
        g_assert_cmpstr(a, ==, want);
        job_id = play_job(&play, "a");
        job = house_job(play.house, job_id);
        g_assert_true(g_strv_contains((const char *const *)job->spec->env, "WHO=ann"));
        g_assert_cmpint(job->run_seq, ==, play.seq);
        play_end_job(&play, "a", 0);
        play_restart(&play); /* what was given lives on */
        b0 = play_command(&play, "b-0");
        b1 = play_command(&play, "b-1");
        g_assert_cmpstr(b0, ==, "echo 7 x");
        g_assert_cmpstr(b1, ==, "echo 7 y");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* ---- evictions ---- */

static void end_attempt(House *house, const char *job, int attempt, int status)
{
        g_autofree char *task = task_of(job, attempt, "worker", 0);

        script_say_kind(house->script, OBSERVED_STARTED, task);
        script_say_exit(house->script, task, status, 0, false);
        house_barrier(house);
}

/* the job of a step is preempted and goes back into its queue; the step runs on. */
static void test_evicted(void)
{
        static const char text[] =
                "entry_points:\n  a: {command: c, env: {PF_JOB_FLAVOUR: all, PF_JOB_PRIORITY: low}}\n"
                "  b: {command: c, deps: a}\n";
        House *house = house_new();
        g_autofree char *job = NULL, *task = NULL, *high = NULL;
        g_autoptr(GError) error = NULL;
        Play play;

        house_queue(house, "default", "{'preemption':'lower-priority'}");
        house_let_rise(house, "bob", "default");
        g_assert_true(house_patch(house, KIND_FLAVOUR, "all", "{'cpu':'4','memory':'1Gi'}", &error));
        play = play_new(house, text);
        job = play_job(&play, "a");
        task = task_of(job, 1, "worker", 0);
        script_say_kind(house->script, OBSERVED_STARTED, task);
        high = house_submit(
                house, "bob",
                "{'name':'high','command':['t'],'roles':[{'name':'worker','replicas':1,'cpu':'4'}],'priority':'high'}",
                NULL, &error);
        g_assert_no_error(error);
        house_barrier(house);
        assert_state(house, job, JOB_PREEMPTING);
        play_assert(&play, "a", "running");
        end_attempt(house, job, 1, 143);
        assert_state(house, job, JOB_QUEUED);
        play_assert(&play, "a", "running");
        play_assert(&play, "b", "none");
        end_attempt(house, high, 1, 0);
        end_attempt(house, job, 2, 0);
        play_assert(&play, "a", "succeeded");
        play_end_job(&play, "b", 0);
        play_assert(&play, "run", "succeeded");
        play_clear(&play);
        house_free(house);
}

/* ---- the commands ---- */

static void test_refused(void)
{
        House *house = house_new();
        GError *error = NULL;

        assert_error(play_create(house, "entry_points: {a: {command: c, deps: nobody}}", NULL, NULL, NULL,
                                 &error) != NULL,
                     &error, ERR_INVALID, "entry_points.a");
        assert_error(play_create(house, TWO, "{'parameters':{'a.nothing':1}}", NULL, NULL, &error) != NULL,
                     &error, ERR_INVALID, "nothing");
        assert_error(play_create(house, "fs_options: {main_fs: {name: data}}\n" TWO, NULL, NULL, NULL,
                                 &error) != NULL,
                     &error, ERR_NOT_FOUND, "data");
        assert_error(play_create(house, "fs_options: {extra_fs: [{name: sets}]}\n" TWO, NULL, NULL, NULL,
                                 &error) != NULL,
                     &error, ERR_NOT_FOUND, "sets");
        assert_error(play_create(house, "entry_points: {a: {command: c, extra_fs: [{name: own}]}}", NULL,
                                 NULL, NULL, &error) != NULL,
                     &error, ERR_NOT_FOUND, "own");
        assert_error(play_create(house, WRITES, NULL, NULL, NULL, &error) != NULL, &error, ERR_INVALID,
                     "main file system");
        assert_error(play_act(house, "0000000000000000", "stop", &error), &error, ERR_NOT_FOUND, "no run");
        assert_error(play_act(house, "0000000000000000", "delete", &error), &error, ERR_NOT_FOUND, "no run");
        house_free(house);
}

static void test_key(void)
{
        House *house = house_new();
        g_autoptr(GError) error = NULL;
        GError *refused = NULL;
        g_autofree char *first = play_create(house, TWO, NULL, "k", NULL, &error);
        g_autofree char *again = play_create(house, TWO, NULL, "k", NULL, &error);

        g_assert_no_error(error);
        g_assert_cmpstr(first, ==, again);
        g_autofree char *later = play_create(house, TWO, "{'fs_default':'home'}", "k", NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(first, ==, later); /* the caller has asked for the same */
        assert_error(play_create(house, TWO, "{'name':'x'}", "k", NULL, &refused) != NULL, &refused,
                     ERR_CONFLICT, "key");
        house_free(house);
}

static void test_full_disk(void)
{
        GError *refused = NULL;
        g_autoptr(GError) error = NULL;
        g_autofree char *id = NULL;
        House *house;
        gint64 next;

        faulty_install();
        house = house_new();
        faulty_set(FAULT_FULL, "-wal", 1, false);
        assert_error(play_create(house, TWO, NULL, NULL, NULL, &refused) != NULL, &refused, ERR_NO_SPACE, "");
        faulty_set(FAULT_NONE, NULL, 0, false);
        g_autoptr(GPtrArray) none = store_runs(house->store, &(RunQuery){ .limit = 10 }, &next, &error);
        g_assert_cmpuint(none->len, ==, 0);
        id = play_create(house, TWO, NULL, NULL, NULL, &error);
        g_assert_no_error(error);
        g_autoptr(GPtrArray) jobs = store_jobs(house->store, &(JobQuery){ .limit = 10 }, &next, &error);
        g_assert_cmpuint(jobs->len, ==, 1);
        house_free(house);
        faulty_remove();
}

/* ---- why a run failed ---- */

/* The paths that the message of the run names, in order, and its end. */
static void assert_reasons(const Play *play, const char *want, const char *end)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(RunRecord) run = store_run_by_id(play->house->store, play->id, false, &error);
        g_auto(GStrv) parts = NULL;
        g_autoptr(GString) paths = g_string_new(NULL);

        g_assert_no_error(error);
        parts = g_strsplit(run->message, "step '", -1);
        g_assert_cmpstr(parts[0], ==, "");
        for (char **part = parts + 1; *part; part++) {
                const char *quote = strchr(*part, '\'');

                g_assert_true(g_str_has_prefix(quote, "' failed: worker-0 exited with status 3"));
                g_string_append_printf(paths, "%s%.*s", paths->len > 0 ? " " : "", (int)(quote - *part),
                                       *part);
        }
        g_assert_cmpstr(paths->str, ==, want);
        if (!g_str_has_suffix(run->message, end) || (!*end && strstr(run->message, " more")))
                g_error("'%s' does not end with '%s'", run->message, end);
}

/* C104: the deepest steps that failed, and not the DAGs around them; after some, their number. */
static void test_reasons(void)
{
        static const char *paths[] = { "d-0.x-0", "d-0.x-1", "d-0.x-2", "d-0.x-3",
                                       "d-1.x-0", "d-1.x-1", "d-1.x-2", "d-1.x-3" };
        static const char text[] = CONTINUE
                "entry_points:\n  d:\n    loop_argument: [1, 2]\n    entry_points:\n"
                "      x: {command: c, loop_argument: [1, 2, 3, 4]}\n      y: {command: c, deps: x}\n";
        Play play = { 0 };

        faulty_install();
        play = play_new(house_new(), text);
        for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
                play_assert(&play, paths[i], "running");
                play_end(&play, paths[i], 3, i % 2 ? WITH_FULL_DISKS : AS_IT_IS);
                play_assert(&play, paths[i], "failed");
                if (i == 1)
                        assert_reasons(&play, "d-0.x-0 d-0.x-1", "");
                if (i % 3 == 0)
                        play_restart(&play);
        }
        play_assert(&play, "run", "failed");
        assert_reasons(&play, "d-0.x-0 d-0.x-1 d-0.x-2 d-0.x-3 d-1.x-0", "; and 3 more");
        play_clear(&play);
        house_free(play.house);
        faulty_remove();
}

/* The hint of a job that failed is how people see the log of its step. */
static void test_hint(void)
{
        static const char text[] = CONTINUE
                "entry_points:\n  d:\n    loop_argument: [1]\n    entry_points:\n      x: {command: c}\n";
        g_autoptr(GError) error = NULL;
        g_autofree char *want = NULL;
        Play play = play_new(house_new(), text);

        play_end(&play, "d-0.x", 3, AS_IT_IS);
        play_assert(&play, "run", "failed");
        g_autoptr(GPtrArray) nodes = play_nodes(&play);
        want = g_strdup_printf("worker-0 exited with status 3; see `paddle run logs %s d-0.x`", play.id);
        g_assert_cmpstr(play_find(&play, nodes, "d-0.x")->message, ==, want);
        play_clear(&play);
        house_free(play.house);
}

/* ---- readers ---- */

/* Readers share the definition of a live run. */
static void test_plan_for_readers(void)
{
        g_autoptr(GError) error = NULL;
        Play play = { .house = house_new(), .definition = play_compile(TWO) };
        RunPlan *plan;

        play.id = play_create(play.house, TWO, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        play_restart(&play);
        plan = engine_run_plan(play.house->engine, play.id);
        g_assert_nonnull(plan);
        g_assert_null(engine_run_plan(play.house->engine, "0000000000000000"));
        play_end_job(&play, "a", 3);
        play_assert(&play, "run", "failed");
        house_barrier(play.house);
        g_assert_null(engine_run_plan(play.house->engine, play.id));
        g_assert_cmpuint(engine_plan_definition(plan)->n_components, ==, play.definition->n_components);
        engine_plan_unref(plan); /* the run has gone, what a reader holds has not */
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* ---- the end ---- */

/* The run goes with its jobs: neither alone. */
static void test_delete(void)
{
        GError *error = NULL;
        Play play = { .house = house_new(), .definition = play_compile(TWO) };
        g_autofree char *job = NULL;
        gint64 next;
        g_autoptr(GPtrArray) jobs = NULL;

        play.id = play_create(play.house, TWO, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        assert_error(play_act(play.house, play.id, "delete", &error), &error, ERR_CONFLICT, "not ended");
        job = play_job(&play, "a");
        play_end_job(&play, "a", 3);
        play_assert(&play, "run", "failed");
        assert_error(house_act(play.house, job, ACT_DELETE, &error), &error, ERR_CONFLICT, "step of a run");
        assert_error(play_act(play.house, play.id, "stop", &error), &error, ERR_CONFLICT,
                     "already ended: failed");
        g_assert_true(play_act(play.house, play.id, "delete", &error));
        play_assert(&play, "run", "none");
        for (gint64 patience = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;;) {
                g_clear_pointer(&jobs, g_ptr_array_unref);
                jobs = store_jobs(play.house->store, &(JobQuery){ .limit = 10 }, &next, &error);
                if (jobs->len == 0 || g_get_monotonic_time() > patience)
                        break;
                g_usleep(5000);
        }
        g_assert_cmpuint(jobs->len, ==, 0);
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* Its jobs are older than what is kept, and stay until the run has ended as long ago. */
static void test_retained(void)
{
        g_autoptr(GError) error = NULL;
        Play play = { .house = house_new_cold(), .definition = play_compile(TWO) };

        play.house->config.keep_finished_ms = 10000;
        house_open(play.house);
        house_sync(play.house);
        play.id = play_create(play.house, TWO, NULL, NULL, &play.seq, &error);
        play_end_job(&play, "a", 0);
        play_assert(&play, "b", "running");
        for (int i = 0; i < 20; i++)
                house_pass(play.house, 5000);
        play_assert_jobs(&play, "2");
        play_end_job(&play, "b", 0);
        play_assert(&play, "run", "succeeded");
        for (gint64 end = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;
             g_get_monotonic_time() < end &&
             (strcmp(play_state(&play, "run"), "none") != 0 || play_count_jobs(play.house) > 0);)
                house_pass(play.house, 5000);
        play_assert(&play, "run", "none");
        play_assert_jobs(&play, "0");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_data_func("/engine/runs/scenarios", GINT_TO_POINTER(AS_IT_IS), test_scenarios);
        g_test_add_data_func("/engine/runs/scenarios-with-starts", GINT_TO_POINTER(WITH_STARTS),
                             test_scenarios);
        g_test_add_data_func("/engine/runs/scenarios-with-full-disks", GINT_TO_POINTER(WITH_FULL_DISKS),
                             test_scenarios);
        g_test_add_func("/engine/runs/reasons", test_reasons);
        g_test_add_func("/engine/runs/hint", test_hint);
        g_test_add_func("/engine/runs/parameters", test_parameters);
        g_test_add_func("/engine/runs/R-19 evicted", test_evicted);
        g_test_add_func("/engine/runs/refused", test_refused);
        g_test_add_func("/engine/runs/key", test_key);
        g_test_add_func("/engine/runs/full-disk", test_full_disk);
        g_test_add_func("/engine/runs/plan-for-readers", test_plan_for_readers);
        g_test_add_func("/engine/runs/delete", test_delete);
        g_test_add_func("/engine/runs/retained", test_retained);
        return g_test_run();
}
