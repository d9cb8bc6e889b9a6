/* Runs of pipelines in the engine: what happens to the jobs of their steps, and what must follow. Each scenario is played
 * three times: as it is, with a start of the engine between any two steps of it, and with a full disk at each end of a job.
 *
 * The steps, word by word:
 *      PATH ok · PATH fail · PATH cancel    the job of a running step ends: with 0, with 3; a user cancels it
 *      stop · force                         a user's stop of the run
 *      retry · retry PATH · retry NAME=N    a retry of the run that has ended: from PATH, with a parameter; it is the run
 *                                           of all that follows
 *      PATH is STATE · run is STATE         what readers see; "none": there is no row
 *      jobs N                               so many jobs were made in all */
#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "engine/test/help.h"
#include "pipeline/definition.h"
#include "store/test/faulty.h"

enum { PATIENCE_S = 120 }; /* for what a thread does some time later */

#define FAILURE                                                                                              \
        "post_process:\n  step6: {command: c}\n"                                                             \
        "entry_points:\n"                                                                                    \
        "  step1: {command: c}\n  step2: {command: c, deps: step1}\n  step3: {command: c, deps: step2}\n"    \
        "  step4: {command: c}\n  step5: {command: c, deps: 'step1,step4'}\n"
#define TWO "entry_points:\n  a: {command: c}\n  b: {command: c, deps: a}\n"
#define CONTINUE "failure_options: {strategy: continue}\n"
#define POST "post_process:\n  p: {command: c}\n"

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
        { "C108 forced stop", POST TWO, "force, a fail, p is none, run is terminated, jobs 1" },
        { "C109 killed", TWO, "a cancel, a fail, a is terminated, run is failed, jobs 1" },
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

/* ---- a run ---- */

typedef struct {
        House *house;
        Definition *definition;
        char *id;
        gint64 seq;
} Play;

typedef struct {
        bool done, repeated;
        RunRecord *run;
        GError *error;
} RunAnswer;

static void note_answer(const RunRecord *run, bool repeated, const GError *error, void *arg)
{
        RunAnswer *answer = arg;

        answer->repeated = repeated;
        answer->error = error ? g_error_copy(error) : NULL;
        if (run) {
                answer->run = g_new0(RunRecord, 1);
                answer->run->seq = run->seq;
                answer->run->state = run->state;
                g_strlcpy(answer->run->id, run->id, sizeof answer->run->id);
        }
        g_atomic_int_set((int *)(void *)&answer->done, true);
}

/* Most texts here leave out the name. */
static char *with_name(const char *text)
{
        return g_str_has_prefix(text, "name:") ? g_strdup(text) : g_strconcat("name: p\n", text, NULL);
}

static int atoi_of(const char *text)
{
        gint64 n = 0;

        g_assert_true(number_parse("value", text, 0, 1000, &n, NULL));
        return (int)n;
}

static char *create(House *house, const char *text, const char *request, const char *key, gint64 *ret_seq,
                    GError **error)
{
        g_autofree char *quoted = request ? g_strdelimit(g_strdup(request), "'", '"') : NULL;
        g_autoptr(json_t) object = quoted ? json_parse(quoted, strlen(quoted), error) : NULL;
        g_autofree char *whole = with_name(text);
        RunAnswer *answer = g_new0(RunAnswer, 1);
        char *id;

        engine_create_run(house->engine,
                          &(EngineRun){
                                  .user = "ann", .text = whole, .request = object, .idempotency_key = key },
                          note_answer, answer);
        house_barrier(house);
        if (answer->error)
                g_propagate_error(error, answer->error);
        id = answer->run ? g_strdup(answer->run->id) : NULL;
        if (answer->run && ret_seq)
                *ret_seq = answer->run->seq;
        run_record_free(answer->run);
        g_free(answer);
        return id;
}

static bool act(House *house, const char *id, const char *what, GError **error)
{
        RunAnswer *answer = g_new0(RunAnswer, 1);
        bool ok;

        if (strcmp(what, "delete") == 0)
                engine_delete_run(house->engine, id, false, "ann", note_answer, answer);
        else if (strcmp(what, "delete --force") == 0)
                engine_delete_run(house->engine, id, true, "ann", note_answer, answer);
        else
                engine_stop_run(house->engine, id, strcmp(what, "force") == 0, "ann", note_answer, answer);
        house_barrier(house);
        ok = !answer->error;
        if (answer->error)
                g_propagate_error(error, answer->error);
        run_record_free(answer->run);
        g_free(answer);
        return ok;
}

/* "from" is a path, or "NAME=N"; or NULL. The new run's id; the caller's. */
static char *retry(House *house, const char *id, const char *from, const char *key, gint64 *ret_seq,
                   GError **error)
{
        const char *is = from ? strchr(from, '=') : NULL;
        g_autofree char *name = is ? g_strndup(from, (gsize)(is - from)) : NULL;
        g_autoptr(json_t) parameters = is ? json_pack("{s:i}", name, atoi_of(is + 1)) : NULL;
        const EngineRetry wish = {
                .id = id, .from = is ? NULL : from, .parameters = parameters, .idempotency_key = key
        };
        RunAnswer *answer = g_new0(RunAnswer, 1);
        char *ret;

        engine_retry_run(house->engine, &wish, note_answer, answer);
        house_barrier(house);
        for (int i = 0; i < 2000 && !g_atomic_int_get((int *)(void *)&answer->done); i++)
                house_barrier(house); /* it takes some batches */
        if (answer->error)
                g_propagate_error(error, answer->error);
        ret = answer->run ? g_strdup(answer->run->id) : NULL;
        if (answer->run && ret_seq)
                *ret_seq = answer->run->seq;
        run_record_free(answer->run);
        g_free(answer);
        return ret;
}

static Definition *compile(const char *text)
{
        g_auto(Problems) problems = { 0 };
        g_autofree char *whole = with_name(text);
        Definition *ret;

        problems_init(&problems);
        ret = definition_parse(whole, strlen(whole), &(DefinitionRequest){ .image_optional = true },
                               &problems);
        if (!ret)
                g_error("%s", problem_format(problems_first(&problems)));
        return ret;
}

static GPtrArray *nodes_of(const Play *play)
{
        g_autoptr(GError) error = NULL;
        gint64 next;
        GPtrArray *ret = store_run_nodes(play->house->store,
                                         &(RunNodeQuery){ .run = play->seq, .limit = 1000 }, &next, &error);

        g_assert_no_error(error);
        return ret;
}

static bool is_in_loop(const Play *play, guint32 component)
{
        return play->definition->components[component_target(play->definition, component)].loops;
}

static char *path_of(const Play *play, const GPtrArray *nodes, const RunNodeRecord *node)
{
        g_autofree char *above = NULL;
        g_autofree char *name =
                is_in_loop(play, node->component)
                        ? g_strdup_printf("%s-%u", component_name(play->definition, node->component),
                                          node->number)
                        : g_strdup(component_name(play->definition, node->component));

        for (guint i = 0; i < nodes->len && node->dag > 1; i++) {
                const RunNodeRecord *dag = nodes->pdata[i];

                if (dag->node == node->dag)
                        above = path_of(play, nodes, dag);
        }
        return above ? g_strconcat(above, ".", name, NULL) : g_steal_pointer(&name);
}

/* Borrowed from `nodes`; a loop without items has the name without a number, too. */
static const RunNodeRecord *find_node(const Play *play, const GPtrArray *nodes, const char *path)
{
        for (guint i = 0; i < nodes->len; i++) {
                g_autofree char *own = path_of(play, nodes, nodes->pdata[i]);
                g_autofree char *first = g_strconcat(path, "-0", NULL);

                if (strcmp(own, path) == 0 || strcmp(own, first) == 0)
                        return nodes->pdata[i];
        }
        return NULL;
}

static const char *state_of(const Play *play, const char *path)
{
        g_autoptr(GPtrArray) nodes = NULL;
        const RunNodeRecord *node;

        if (strcmp(path, "run") == 0) {
                g_autoptr(RunRecord) run = store_run_by_id(play->house->store, play->id, false, NULL);

                return run ? node_state_name((NodeState)run->state) : "none";
        }
        nodes = nodes_of(play);
        node = find_node(play, nodes, path);
        return node ? node_state_name((NodeState)node->state) : "none";
}

/* What a worker answers comes some time later. */
static void assert_is(const Play *play, const char *path, const char *want)
{
        gint64 patience = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;

        while (strcmp(state_of(play, path), want) != 0 && g_get_monotonic_time() < patience) {
                house_barrier(play->house);
                g_usleep(5000);
        }
        if (strcmp(state_of(play, path), want) != 0)
                g_error("%s is %s, and should be %s", path, state_of(play, path), want);
}

static char *job_of(const Play *play, const char *path)
{
        g_autoptr(GPtrArray) nodes = nodes_of(play);
        const RunNodeRecord *node = find_node(play, nodes, path);

        if (!node || !node->job_id)
                g_error("%s has no job", path);
        return g_strdup(node->job_id);
}

static void end_job(const Play *play, const char *path, int status)
{
        g_autofree char *job = job_of(play, path), *task = task_of(job, 1, "worker", 0);

        script_say_kind(play->house->script, OBSERVED_STARTED, task);
        script_say_exit(play->house->script, task, status, 0, false);
        house_barrier(play->house);
}

/* Of the step that began last. */
static void end_last_job(const Play *play, int status)
{
        g_autoptr(GError) error = NULL;
        const RunNodeQuery query = { .run = play->seq, .job_upto = G_MAXINT64, .limit = 1000 };
        gint64 next;
        g_autoptr(GPtrArray) jobs = store_run_nodes(play->house->store, &query, &next, &error);
        const RunNodeRecord *node = NULL;
        g_autofree char *task = NULL;

        g_assert_no_error(error);
        g_assert_cmpuint(jobs->len, >, 0);
        for (guint i = 0; i < jobs->len; i++) {
                const RunNodeRecord *other = jobs->pdata[i];

                if (!node || other->job > node->job)
                        node = other;
        }
        task = task_of(node->job_id, 1, "worker", 0);
        script_say_kind(play->house->script, OBSERVED_STARTED, task);
        script_say_exit(play->house->script, task, status, 0, false);
        house_barrier(play->house);
}

static void say_running(const Play *play)
{
        g_autoptr(GPtrArray) nodes = nodes_of(play);

        for (guint i = 0; i < nodes->len; i++) {
                const RunNodeRecord *node = nodes->pdata[i];
                g_autofree char *task = node->job_id ? task_of(node->job_id, 1, "worker", 0) : NULL;

                if (task && !node_is_final((NodeState)node->state))
                        script_say_kind(play->house->script, OBSERVED_STARTED, task);
        }
}

/* ---- scenarios ---- */

typedef enum { AS_IT_IS, WITH_STARTS, WITH_FULL_DISKS, WAYS } Way;

static void restart(const Play *play)
{
        house_close(play->house);
        house_open(play->house);
        say_running(play);
        house_sync(play->house);
}

/* An end that cannot be committed changes nothing, until there is space. */
static void end_on_full_disk(const Play *play, const char *path, int status)
{
        g_autofree char *before = g_strdup(state_of(play, path));
        g_autoptr(GError) error = NULL;
        static int token;
        g_autofree char *name = g_strdup_printf("token-%d", token++);

        faulty_set(FAULT_FULL, "-wal", 1, false);
        end_job(play, path, status);
        g_assert_cmpstr(state_of(play, path), ==, before);
        faulty_set(FAULT_NONE, NULL, 0, false);
        g_assert_true(house_put_token(play->house, name,
                                      &error)); /* the first success lets the rest go on at once */
        house_barrier(play->house);
}

static void play_end(const Play *play, const char *path, int status, Way way)
{
        if (way == WITH_FULL_DISKS)
                end_on_full_disk(play, path, status);
        else
                end_job(play, path, status);
}

static void assert_jobs(const Play *play, const char *want)
{
        g_autoptr(GError) error = NULL;
        gint64 next;
        g_autoptr(GPtrArray) jobs =
                store_jobs(play->house->store, &(JobQuery){ .limit = 1000 }, &next, &error);
        g_autofree char *n = g_strdup_printf("%u", jobs->len);

        g_assert_cmpstr(n, ==, want);
}

static void play_retry(Play *play, const char *from, GError **error)
{
        g_autofree char *earlier = play->id;

        play->id = retry(play->house, earlier, from, NULL, &play->seq, error);
}

static void play_step(Play *play, const char *step, Way way)
{
        g_auto(GStrv) words = g_strsplit(step, " ", -1);
        g_autofree char *job = NULL;
        g_autoptr(GError) error = NULL;

        g_test_message("%s", step);
        if (strcmp(words[0], "retry") == 0) {
                play_retry(play, words[1], &error);
        } else if (!words[1]) {
                (void)act(play->house, play->id, words[0], &error);
        } else if (strcmp(words[0], "jobs") == 0) {
                assert_jobs(play, words[1]);
        } else if (strcmp(words[1], "is") == 0) {
                assert_is(play, words[0], words[2]);
        } else if (strcmp(words[1], "cancel") == 0) {
                job = job_of(play, words[0]);
                (void)house_cancel(play->house, job, &error);
        } else {
                assert_is(play, words[0], strcmp(words[1], "ok") == 0 ? "running" : state_of(play, words[0]));
                play_end(play, words[0], strcmp(words[1], "ok") == 0 ? 0 : 3, way);
        }
        g_assert_no_error(error);
}

static void play_scenario(const Scenario *scenario, Way way)
{
        g_auto(GStrv) steps = g_strsplit(scenario->steps, ", ", -1);
        g_autoptr(GError) error = NULL;
        Play play = { 0 };

        g_test_message("%s, way %d", scenario->name, way);
        faulty_install();
        play.house = house_new();
        play.definition = compile(scenario->text);
        play.id = create(play.house, scenario->text, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        for (char **step = steps; *step; step++) {
                if (way == WITH_STARTS)
                        restart(&play);
                play_step(&play, *step, way);
        }
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
        faulty_remove();
}

static void test_scenarios(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(scenarios); i++)
                for (int way = 0; way < WAYS; way++)
                        play_scenario(&scenarios[i], (Way)way);
}

/* ---- parameters ---- */

#define PARAMETERS                                                                                                        \
        "name: p\nentry_points:\n"                                                                                        \
        "  a:\n    parameters: {n: 3}\n    env: {WHO: \"{{PF_USER_NAME}}\"}\n    command: \"echo {{n}} {{PF_RUN_ID}}\"\n" \
        "  b:\n    deps: a\n    parameters: {m: \"{{a.n}}\"}\n    loop_argument: [x, y]\n"                                \
        "    command: \"echo {{m}} {{PF_LOOP_ARGUMENT}}\"\n"

static char *command_of(const Play *play, const char *path)
{
        g_autofree char *id = job_of(play, path);
        g_autoptr(Job) job = house_job(play->house, id);
        char **command = job->spec->roles[0].command;

        g_assert_cmpstr(command[0], ==, "sh");
        g_assert_cmpstr(command[1], ==, "-c");
        return g_strdup(command[2]);
}

static void test_parameters(void)
{
        g_autoptr(GError) error = NULL;
        Play play = { .house = house_new(), .definition = compile(PARAMETERS) };
        g_autofree char *a = NULL, *b0 = NULL, *b1 = NULL, *want = NULL, *job_id = NULL;
        g_autoptr(Job) job = NULL;

        play.id = create(play.house, PARAMETERS, "{'parameters':{'a.n':7},'name':'other'}", NULL, &play.seq,
                         &error);
        g_assert_no_error(error);
        a = command_of(&play, "a");
        want = g_strdup_printf("echo 7 %s", play.id);
        g_assert_cmpstr(a, ==, want);
        job_id = job_of(&play, "a");
        job = house_job(play.house, job_id);
        g_assert_true(g_strv_contains((const char *const *)job->spec->env, "WHO=ann"));
        g_assert_cmpint(job->run_seq, ==, play.seq);
        end_job(&play, "a", 0);
        restart(&play); /* what was given lives on */
        b0 = command_of(&play, "b-0");
        b1 = command_of(&play, "b-1");
        g_assert_cmpstr(b0, ==, "echo 7 x");
        g_assert_cmpstr(b1, ==, "echo 7 y");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* ---- the commands ---- */

static void assert_error(bool ok, GError **error, int code, const char *text)
{
        g_assert_false(ok);
        g_assert_error(*error, ERR_DOMAIN, code);
        if (!strstr((*error)->message, text))
                g_error("'%s' has no '%s'", (*error)->message, text);
        g_clear_error(error);
}

static void test_refused(void)
{
        House *house = house_new();
        GError *error = NULL;

        assert_error(create(house, "entry_points: {a: {command: c, deps: nobody}}", NULL, NULL, NULL,
                            &error) != NULL,
                     &error, ERR_INVALID, "entry_points.a");
        assert_error(create(house, TWO, "{'parameters':{'a.nothing':1}}", NULL, NULL, &error) != NULL, &error,
                     ERR_INVALID, "nothing");
        assert_error(create(house, "fs_options: {main_fs: {name: home}}\n" TWO, NULL, NULL, NULL, &error) !=
                             NULL,
                     &error, ERR_INVALID, "file systems");
        assert_error(act(house, "0000000000000000", "stop", &error), &error, ERR_NOT_FOUND, "no run");
        assert_error(act(house, "0000000000000000", "delete", &error), &error, ERR_NOT_FOUND, "no run");
        house_free(house);
}

static void test_key(void)
{
        House *house = house_new();
        g_autoptr(GError) error = NULL;
        GError *refused = NULL;
        g_autofree char *first = create(house, TWO, NULL, "k", NULL, &error);
        g_autofree char *again = create(house, TWO, NULL, "k", NULL, &error);

        g_assert_no_error(error);
        g_assert_cmpstr(first, ==, again);
        assert_error(create(house, TWO, "{'name':'x'}", "k", NULL, &refused) != NULL, &refused, ERR_CONFLICT,
                     "key");
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
        assert_error(create(house, TWO, NULL, NULL, NULL, &refused) != NULL, &refused, ERR_NO_SPACE, "");
        faulty_set(FAULT_NONE, NULL, 0, false);
        g_autoptr(GPtrArray) none = store_runs(house->store, &(RunQuery){ .limit = 10 }, &next, &error);
        g_assert_cmpuint(none->len, ==, 0);
        id = create(house, TWO, NULL, NULL, NULL, &error);
        g_assert_no_error(error);
        g_autoptr(GPtrArray) jobs = store_jobs(house->store, &(JobQuery){ .limit = 10 }, &next, &error);
        g_assert_cmpuint(jobs->len, ==, 1);
        house_free(house);
        faulty_remove();
}

/* ---- retries ---- */

static void test_retry_refused(void)
{
        GError *error = NULL;
        Play play = { .house = house_new(), .definition = compile(TWO) };

        play.id = create(play.house, TWO, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        assert_error(retry(play.house, play.id, NULL, NULL, NULL, &error) != NULL, &error, ERR_CONFLICT,
                     "has not ended");
        end_job(&play, "a", 0);
        end_job(&play, "b", 0);
        assert_is(&play, "run", "succeeded");
        assert_error(retry(play.house, play.id, NULL, NULL, NULL, &error) != NULL, &error, ERR_CONFLICT,
                     "there is nothing to retry");
        assert_error(retry(play.house, play.id, "c", NULL, NULL, &error) != NULL, &error, ERR_INVALID,
                     "there is no component 'c'");
        assert_error(retry(play.house, play.id, "a.n=1", NULL, NULL, &error) != NULL, &error, ERR_INVALID,
                     "n");
        assert_error(retry(play.house, "0000000000000000", NULL, NULL, NULL, &error) != NULL, &error,
                     ERR_NOT_FOUND, "no run");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* The record says of which run it is a retry, and the nodes, who made them. */
static void test_retry_record(void)
{
        g_autoptr(GError) error = NULL;
        GError *refused = NULL;
        Play play = { .house = house_new(), .definition = compile(TWO) };
        g_autofree char *first = NULL, *again = NULL;
        gint64 first_seq;

        first = create(play.house, TWO, NULL, NULL, &first_seq, &error);
        play.id = first;
        play.seq = first_seq;
        end_job(&play, "a", 0);
        end_job(&play, "b", 3);
        assert_is(&play, "run", "failed");
        play.id = retry(play.house, first, NULL, "k", &play.seq, &error);
        g_assert_no_error(error);
        restart(&play); /* it is read back */
        g_autoptr(RunRecord) run = store_run_by_id(play.house->store, play.id, false, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(run->attempt, ==, 2);
        g_assert_cmpstr(run->retry_id, ==, first);
        g_autoptr(GPtrArray) nodes = nodes_of(&play);
        g_assert_cmpstr(find_node(&play, nodes, "a")->made_id, ==, first);
        g_assert_null(find_node(&play, nodes, "b")->made_id);
        again = retry(play.house, first, NULL, "k", NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(again, ==, play.id);
        assert_error(retry(play.house, first, "a", "k", NULL, &refused) != NULL, &refused, ERR_CONFLICT,
                     "key");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* The sweep of deleted runs leaves so many jobs. */
static void await_jobs(const Play *play, guint want)
{
        g_autofree char *text = g_strdup_printf("%u", want);

        for (int i = 0; i < 2000; i++) {
                g_autoptr(GError) error = NULL;
                gint64 next;
                g_autoptr(GPtrArray) jobs =
                        store_jobs(play->house->store, &(JobQuery){ .limit = 10 }, &next, &error);

                if (jobs->len == want)
                        break;
                house_pass(play->house, 1000);
        }
        assert_jobs(play, text);
}

/* a run is not deleted while another one keeps results of it; its jobs go with it, not with the retry. */
static void test_retry_protects(void)
{
        g_autoptr(GError) error = NULL;
        GError *refused = NULL;
        Play play = { .house = house_new(), .definition = compile(TWO) };
        g_autofree char *first = NULL;

        first = create(play.house, TWO, NULL, NULL, &play.seq, &error);
        play.id = first;
        end_job(&play, "a", 0);
        end_job(&play, "b", 3);
        assert_is(&play, "run", "failed");
        play.id = retry(play.house, first, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        assert_error(act(play.house, first, "delete", &refused), &refused, ERR_CONFLICT,
                     "keeps results of it");
        end_job(&play, "b", 0);
        assert_is(&play, "run", "succeeded");
        assert_error(act(play.house, first, "delete", &refused), &refused, ERR_CONFLICT,
                     "keeps results of it");
        g_assert_true(act(play.house, play.id, "delete", &error));
        await_jobs(&play, 2); /* of the first run; that of the retry is gone */
        g_assert_true(act(play.house, first, "delete", &error));
        await_jobs(&play, 0);
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* What is kept of a large run is stored in several batches, before the new run is seen. */
static void test_retry_large(void)
{
        enum { ITEMS = 3000 };
        g_autoptr(GString) text =
                g_string_new("entry_points:\n  b: {command: c, deps: a}\n"
                             "  a: {command: c, condition: '{{PF_LOOP_ARGUMENT}} < 0', loop_argument: [");
        g_autoptr(GError) error = NULL;
        Play play = { .house = house_new() };
        g_autofree char *first = NULL;
        gint64 counts[NODE_STATES];

        for (int i = 0; i < ITEMS; i++)
                g_string_append_printf(text, "%s%d", i ? ", " : "", i);
        g_string_append(text, "]}\n");
        play.definition = compile(text->str);
        first = create(play.house, text->str, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        play.id = first;
        for (int i = 0; i < 2000 && strcmp(state_of(&play, "run"), "failed") != 0; i++) {
                g_assert_true(store_run_counts(play.house->store, play.seq, counts, &error));
                if (counts[NODE_RUNNING] > 0)
                        end_last_job(&play, 3);
                house_barrier(play.house);
        }
        g_assert_cmpstr(state_of(&play, "run"), ==, "failed");
        play.id = retry(play.house, first, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        g_assert_true(store_run_counts(play.house->store, play.seq, counts, &error));
        g_assert_cmpint(counts[NODE_SKIPPED], ==, ITEMS);
        g_assert_cmpint(counts[NODE_RUNNING], ==, 1);
        restart(&play);
        end_last_job(&play, 0);
        assert_is(&play, "run", "succeeded");
        g_assert_true(store_run_counts(play.house->store, play.seq, counts, &error));
        g_assert_cmpint(counts[NODE_SKIPPED], ==, ITEMS);
        g_assert_cmpint(counts[NODE_SUCCEEDED], ==, 1);
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* Nothing of a retry is seen that could not be stored whole, and it can be tried again. */
static void test_retry_full_disk(void)
{
        g_autoptr(GError) error = NULL;
        GError *refused = NULL;
        Play play = { .definition = compile(TWO) };
        g_autofree char *first = NULL;
        gint64 next;

        faulty_install();
        play.house = house_new();
        first = create(play.house, TWO, NULL, NULL, &play.seq, &error);
        play.id = first;
        end_job(&play, "a", 0);
        end_job(&play, "b", 3);
        assert_is(&play, "run", "failed");
        faulty_set(FAULT_FULL, "-wal", 1, false);
        g_assert_null(retry(play.house, first, NULL, NULL, NULL, &refused));
        g_assert_nonnull(refused);
        g_clear_error(&refused);
        faulty_set(FAULT_NONE, NULL, 0, false);
        g_autoptr(GPtrArray) runs = store_runs(play.house->store, &(RunQuery){ .limit = 10 }, &next, &error);
        g_assert_cmpuint(runs->len, ==, 1);
        play.id = retry(play.house, first, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        end_job(&play, "b", 0);
        assert_is(&play, "run", "succeeded");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
        faulty_remove();
}

/* ---- users ---- */

/* A user with open jobs cannot be deleted. One whose steps wait for the limit of open jobs can, and submits no more. */
static void test_deleted_user(void)
{
        g_autoptr(GError) error = NULL;
        Play play = { .house = house_new_cold(), .definition = compile(POST TWO) };
        g_autofree char *other = NULL, *task = NULL;

        play.house->config.max_open_per_user = 1;
        play.house->config.max_open_jobs = 1;
        house_open(play.house);
        house_sync(play.house);
        other = house_submit(play.house, "bob", "{'name':'b','command':['true']}", NULL, &error);
        g_assert_no_error(error);
        g_assert_true(house_patch(play.house, KIND_USER, "ann", "{}", &error));
        play.id = create(play.house, POST TWO, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        assert_is(&play, "a", "none");
        (void)house_drop(play.house, KIND_USER, "ann", &error);
        g_assert_no_error(error);
        assert_is(&play, "run", "terminated");
        task = task_of(other, 1, "worker", 0);
        script_say_kind(play.house->script, OBSERVED_STARTED, task);
        script_say_exit(play.house->script, task, 0, 0, false);
        house_pass(play.house, 1000);
        assert_jobs(&play, "1");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* ---- limits ---- */

static void test_open_runs(void)
{
        House *house = house_new();
        GError *error = NULL;

        for (int i = 0; i < 100; i++) {
                g_autofree char *id = create(house, TWO, NULL, NULL, NULL, &error);

                g_assert_no_error(error);
                g_assert_nonnull(id);
        }
        assert_error(create(house, TWO, NULL, NULL, NULL, &error) != NULL, &error, ERR_QUOTA, "100 runs");
        house_free(house);
}

/* A step that a limit of open jobs refuses waits until there is place. */
static void test_put_off(void)
{
        static const char text[] = "entry_points:\n  a: {command: c}\n  b: {command: c}\n";
        g_autoptr(GError) error = NULL;
        Play play = { .house = house_new_cold(), .definition = compile(text) };

        play.house->config.max_open_per_user = 1;
        play.house->config.max_open_jobs = 1;
        house_open(play.house);
        house_sync(play.house);
        play.id = create(play.house, text, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        assert_is(&play, "a", "running");
        assert_is(&play, "b", "none");
        house_pass(play.house, 1000);
        assert_is(&play, "b", "none");
        end_job(&play, "a", 0);
        house_pass(play.house, 1000);
        assert_is(&play, "b", "running");
        end_job(&play, "b", 0);
        assert_is(&play, "run", "succeeded");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* A batch does a part of a wide run, and others are served between. */
static void test_wide(void)
{
        g_autoptr(GString) text = g_string_new("parallelism: 20\nentry_points:\n  z: {command: c}\n");
        g_autoptr(GError) error = NULL;
        Play play = { .house = house_new() };
        gint64 counts[NODE_STATES];

        for (int i = 0; i < 3000; i++)
                g_string_append_printf(text, "  s%d: {command: c, deps: z}\n", i);
        play.definition = compile(text->str);
        play.id = create(play.house, text->str, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        assert_is(&play, "z", "running");
        end_job(&play, "z", 3); /* all others are cancelled, in many batches */
        assert_is(&play, "run", "failed");
        g_assert_true(store_run_counts(play.house->store, play.seq, counts, &error));
        g_assert_cmpint(counts[NODE_CANCELLED], ==, 3000);
        g_assert_cmpint(counts[NODE_FAILED], ==, 1);
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* ---- the end ---- */

/* The run goes with its jobs: neither alone. */
static void test_delete(void)
{
        GError *error = NULL;
        Play play = { .house = house_new(), .definition = compile(TWO) };
        g_autofree char *job = NULL;
        gint64 next;
        g_autoptr(GPtrArray) jobs = NULL;

        play.id = create(play.house, TWO, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        assert_error(act(play.house, play.id, "delete", &error), &error, ERR_CONFLICT, "not ended");
        job = job_of(&play, "a");
        end_job(&play, "a", 3);
        assert_is(&play, "run", "failed");
        assert_error(house_act(play.house, job, ACT_DELETE, &error), &error, ERR_CONFLICT, "step of a run");
        assert_error(act(play.house, play.id, "stop", &error), &error, ERR_CONFLICT, "already ended: failed");
        g_assert_true(act(play.house, play.id, "delete", &error));
        assert_is(&play, "run", "none");
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
        Play play = { .house = house_new_cold(), .definition = compile(TWO) };

        play.house->config.keep_finished_ms = 10000;
        house_open(play.house);
        house_sync(play.house);
        play.id = create(play.house, TWO, NULL, NULL, &play.seq, &error);
        end_job(&play, "a", 0);
        assert_is(&play, "b", "running");
        for (int i = 0; i < 20; i++)
                house_pass(play.house, 5000);
        assert_jobs(&play, "2");
        end_job(&play, "b", 0);
        assert_is(&play, "run", "succeeded");
        for (int i = 0; i < 2000 && strcmp(state_of(&play, "run"), "none") != 0; i++)
                house_pass(play.house, 5000);
        assert_is(&play, "run", "none");
        for (int i = 0; i < 2000; i++) {
                gint64 next;
                g_autoptr(GPtrArray) jobs =
                        store_jobs(play.house->store, &(JobQuery){ .limit = 10 }, &next, &error);

                if (jobs->len == 0)
                        break;
                house_pass(play.house, 5000);
        }
        assert_jobs(&play, "0");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/engine/runs/retry-refused", test_retry_refused);
        g_test_add_func("/engine/runs/retry-record", test_retry_record);
        g_test_add_func("/engine/runs/retry-protects", test_retry_protects);
        g_test_add_func("/engine/runs/retry-large", test_retry_large);
        g_test_add_func("/engine/runs/retry-full-disk", test_retry_full_disk);
        g_test_add_func("/engine/runs/scenarios", test_scenarios);
        g_test_add_func("/engine/runs/parameters", test_parameters);
        g_test_add_func("/engine/runs/refused", test_refused);
        g_test_add_func("/engine/runs/key", test_key);
        g_test_add_func("/engine/runs/full-disk", test_full_disk);
        g_test_add_func("/engine/runs/deleted-user", test_deleted_user);
        g_test_add_func("/engine/runs/open-runs", test_open_runs);
        g_test_add_func("/engine/runs/put-off", test_put_off);
        g_test_add_func("/engine/runs/wide", test_wide);
        g_test_add_func("/engine/runs/delete", test_delete);
        g_test_add_func("/engine/runs/retained", test_retained);
        return g_test_run();
}
