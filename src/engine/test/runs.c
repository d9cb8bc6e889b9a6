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
#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "engine/runs.h"
#include "engine/test/help.h"
#include "pipeline/definition.h"
#include "store/test/faulty.h"

enum { PATIENCE_S = 60 }; /* for what a thread does some time later */

#define FAILURE                                                                                              \
        "post_process:\n  step6: {command: c}\n"                                                             \
        "entry_points:\n"                                                                                    \
        "  step1: {command: c}\n  step2: {command: c, deps: step1}\n  step3: {command: c, deps: step2}\n"    \
        "  step4: {command: c}\n  step5: {command: c, deps: 'step1,step4'}\n"
#define TWO "entry_points:\n  a: {command: c}\n  b: {command: c, deps: a}\n"
#define CONTINUE "failure_options: {strategy: continue}\n"
#define POST "post_process:\n  p: {command: c}\n"

/* A step that writes a file, and one that reads it. */
#define HOME "fs_options: {main_fs: {name: home}}\n"
#define WRITES "entry_points:\n  a: {command: c, artifacts: {output: [x]}}\n"
#define READS "  b:\n    command: c\n    deps: a\n    artifacts: {input: {i: '{{a.x}}'}}\n"

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

/* ---- a run ---- */

typedef struct {
        House *house;
        Definition *definition;
        char *id;
        gint64 seq;
        guint earlier; /* jobs that other runs had made before */
} Play;

typedef struct {
        int done; /* atomic */
        bool repeated;
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
        g_atomic_int_set(&answer->done, 1);
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

/* All that there are: behind the numbers of a long loop the next ones come on a later page. */
static GPtrArray *nodes_of(const Play *play)
{
        RunNodeQuery query = { .run = play->seq, .limit = 1000 };
        GPtrArray *ret = g_ptr_array_new_with_free_func((GDestroyNotify)run_node_record_free);

        do {
                g_autoptr(GError) error = NULL;
                GPtrArray *page = store_run_nodes(play->house->store, &query, &query.after, &error);

                g_assert_no_error(error);
                g_ptr_array_extend_and_steal(ret, page);
        } while (query.after);
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

/* One of them fails, some time later. */
static bool is_first_to_fail(const Play *play, const char *path, const char *other)
{
        gint64 patience = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;

        while (g_get_monotonic_time() < patience) {
                if (strcmp(state_of(play, path), "failed") == 0)
                        return true;
                if (strcmp(state_of(play, other), "failed") == 0)
                        return false;
                house_barrier(play->house);
                g_usleep(5000);
        }
        g_error("neither '%s' nor '%s' has failed", path, other);
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

typedef enum { AS_IT_IS, WITH_STARTS, WITH_FULL_DISKS } Way;

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

/* Below the user's home, as doc/reference/pipelines.md says. The caller's. */
static char *artifact_path(const Play *play, const char *step, const char *name)
{
        g_autofree char *runtime = g_strdup_printf("p.entry_points.%s", step);
        g_autofree char *md5 = g_compute_checksum_for_string(G_CHECKSUM_MD5, runtime, -1);

        return g_strdup_printf("%s/ann/.pipeline/%s/p/%s-0-%s/%s", play->house->config.homes, play->id, step,
                               md5, name);
}

/* The directory is there when the job of the step is. */
static void put_content(const Play *play, const char *step, const char *name, const char *text, gsize len)
{
        g_autofree char *path = artifact_path(play, step, name);
        g_autoptr(GError) error = NULL;

        g_file_set_contents(path, text, (gssize)len, &error);
        g_assert_no_error(error);
}

static void put(const Play *play, char *const *words)
{
        if (strcmp(state_of(play, words[1]), "succeeded") != 0)
                assert_is(play, words[1], "running");
        put_content(play, words[1], words[2], words[3], strlen(words[3]));
}

static guint count_jobs(House *house)
{
        g_autoptr(GError) error = NULL;
        gint64 next;
        g_autoptr(GPtrArray) jobs = store_jobs(house->store, &(JobQuery){ .limit = 1000 }, &next, &error);

        g_assert_no_error(error);
        g_assert_cmpint(next, ==, 0); /* these are all */
        return jobs->len;
}

static void assert_jobs(const Play *play, const char *want)
{
        g_autofree char *n = g_strdup_printf("%u", count_jobs(play->house) - play->earlier);

        g_assert_cmpstr(n, ==, want);
}

static void play_retry(Play *play, const char *from, GError **error)
{
        g_autofree char *earlier = play->id;

        play->id = retry(play->house, earlier, from, NULL, &play->seq, error);
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
                play_retry(play, words[1], &error);
        } else if (!words[1]) {
                (void)act(play->house, play->id, words[0], &error);
        } else if (strcmp(words[0], "put") == 0) {
                put(play, words);
                changes = false;
        } else if (strcmp(words[0], "jobs") == 0) {
                assert_jobs(play, words[1]);
                changes = false;
        } else if (strcmp(words[1], "is") == 0) {
                assert_is(play, words[0], words[2]);
                changes = false;
        } else if (strcmp(words[1], "cancel") == 0) {
                job = job_of(play, words[0]);
                (void)house_cancel(play->house, job, &error);
        } else {
                assert_is(play, words[0], strcmp(words[1], "ok") == 0 ? "running" : state_of(play, words[0]));
                play_end(play, words[0], strcmp(words[1], "ok") == 0 ? 0 : 3, way);
        }
        g_assert_no_error(error);
        return changes;
}

/* Users have homes, in which the server has its own rights. */
static House *house_with_homes(void)
{
        House *house = house_new_cold();
        g_autofree char *ann = NULL;

        house->config.homes = g_build_filename(house->dir, "homes", NULL);
        ann = g_build_filename(house->config.homes, "ann", NULL);
        g_assert_cmpint(g_mkdir_with_parents(ann, 0755), ==, 0);
        house_open(house);
        house_sync(house);
        return house;
}

static void free_homes(House *house)
{
        char *homes = (char *)house->config.homes;

        house_free(house);
        g_free(homes);
}

static void play_scenario(House *house, const Scenario *scenario, Way way)
{
        g_auto(GStrv) steps = g_strsplit(scenario->steps, ", ", -1);
        g_autoptr(GError) error = NULL;
        Play play = { .house = house, .definition = compile(scenario->text), .earlier = count_jobs(house) };
        bool changed = true;

        g_test_message("%s", scenario->name);
        play.id = create(house, scenario->text, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        for (char **step = steps; *step; step++) {
                if (way == WITH_STARTS && changed)
                        restart(&play);
                changed = play_step(&play, *step, way);
        }
        definition_free(play.definition);
        g_free(play.id);
}

static void test_scenarios(gconstpointer way)
{
        House *house;

        faulty_install();
        house = house_with_homes();
        for (gsize i = 0; i < G_N_ELEMENTS(scenarios); i++)
                play_scenario(house, &scenarios[i], (Way)GPOINTER_TO_INT(way));
        free_homes(house);
        faulty_remove();
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

/* ---- files ---- */

static Play play_new(House *house, const char *text)
{
        g_autoptr(GError) error = NULL;
        Play play = { .house = house, .definition = compile(text) };

        play.id = create(house, text, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        return play;
}

static void play_clear(Play *play)
{
        definition_free(play->definition);
        g_free(play->id);
}

static void assert_message(const Play *play, const char *path, const char *want)
{
        g_autoptr(GPtrArray) nodes = NULL;
        const RunNodeRecord *node;

        assert_is(play, path, "failed");
        nodes = nodes_of(play);
        node = find_node(play, nodes, path);
        if (!node->message || !strstr(node->message, want))
                g_error("'%s' has no '%s'", node->message, want);
}

/* C083: at the limit it is refused, below it is read; a directory is refused. */
static void test_limits(void)
{
        static const struct {
                const char *use;
                gsize limit;
        } cases[] = {
                { "    condition: \"'{{i}}' != ''\"\n", 1024 },
                { "    loop_argument: '{{i}}'\n", 1024 * 1024 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                for (int below = 0; below < 2; below++) {
                        g_autofree char *text = g_strconcat(HOME WRITES READS, cases[i].use, NULL);
                        House *house = house_with_homes();
                        Play play = play_new(house, text);
                        g_autofree char *content = g_strnfill(cases[i].limit, ' ');

                        memcpy(content, "[1]", 3);
                        assert_is(&play, "a", "running");
                        put_content(&play, "a", "x", content, cases[i].limit - (gsize)below);
                        end_job(&play, "a", 0);
                        if (below)
                                assert_is(&play, "b", "running");
                        else
                                assert_message(&play, "b", "RE-06: artifact 'i': file system 'home'");
                        play_clear(&play);
                        free_homes(house);
                }
}

/* A list that brings the run above its limit is not stored, so that the run goes on after a restart. Two loops ask for their
 * lists at once: that whose list is read last fails. */
static void test_list_that_does_not_fit(void)
{
        enum { ITEMS = RUN_NODES_MAX / 2 + 1 };
        House *house = house_with_homes();
        Play play = play_new(house, HOME CONTINUE
                             "parallelism: 2\n" WRITES READS "    loop_argument: '{{i}}'\n"
                             "  c:\n    command: c\n    deps: a\n    artifacts: {input: {i: '{{a.x}}'}}\n"
                             "    loop_argument: '{{i}}'\n");
        g_autofree char *list = g_strnfill(2 * ITEMS + 1, '1');
        bool first;

        for (int i = 0; i <= ITEMS; i++)
                list[2 * i] = i == 0 ? '[' : i < ITEMS ? ',' : ']';
        assert_is(&play, "a", "running");
        put_content(&play, "a", "x", list, strlen(list));
        end_job(&play, "a", 0);
        first = is_first_to_fail(&play, "c", "b");
        assert_message(&play, first ? "c" : "b", "its loop would bring the run above 1000000 nodes");
        assert_is(&play, first ? "b-1" : "c-1", "running");
        restart(&play);
        end_job(&play, first ? "b-0" : "c-0", 0);
        assert_is(&play, first ? "b-2" : "c-2", "running");
        play_clear(&play);
        free_homes(house);
}

static void test_directory(void)
{
        House *house = house_with_homes();
        Play play = play_new(house, HOME WRITES READS "    loop_argument: '{{i}}'\n");
        g_autofree char *path = artifact_path(&play, "a", "x");

        assert_is(&play, "a", "running");
        g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
        end_job(&play, "a", 0);
        assert_message(&play, "b", "is not a file");
        play_clear(&play);
        free_homes(house);
}

/* C073, C057: a step gets the paths of all items, and its job has them in variables. */
static void test_paths(void)
{
        House *house = house_with_homes();
        Play play = play_new(
                house, HOME WRITES
                "  b:\n    command: c\n    deps: a\n    artifacts: {input: {i: '{{a.x}}'}, output: [y]}\n"
                "    loop_argument: '{{i}}'\n"
                "  c:\n    command: 'cat {{all}}'\n    deps: b\n    artifacts: {input: {all: '{{b.y}}'}}\n");
        g_autofree char *command = NULL, *want = NULL;
        g_autofree char *first = g_compute_checksum_for_string(G_CHECKSUM_MD5, "p.entry_points.b", -1);
        g_autofree char *second = g_compute_checksum_for_string(G_CHECKSUM_MD5, "p.entry_points.b-1", -1);
        const char *mount = "/home/paddleflow/storage/mnt/fs-ann-home";

        assert_is(&play, "a", "running");
        put_content(&play, "a", "x", "[5,6]", 5);
        end_job(&play, "a", 0);
        assert_is(&play, "b-1", "running");
        restart(&play); /* how long the loop is lives on */
        end_job(&play, "b-0", 0);
        end_job(&play, "b-1", 0);
        assert_is(&play, "c", "running");
        command = command_of(&play, "c");
        want = g_strdup_printf("cat %s/.pipeline/%s/p/b-0-%s/y,%s/.pipeline/%s/p/b-1-%s/y", mount, play.id,
                               first, mount, play.id, second);
        g_assert_nonnull(strstr(command, want));
        play_clear(&play);
        free_homes(house);
}

static void test_artifacts(void)
{
        House *house = house_with_homes();
        Play play = play_new(house, HOME WRITES READS);
        g_autoptr(GError) error = NULL;
        g_autofree char *path = artifact_path(&play, "a", "x");
        const ArtifactRecord *output, *input;

        assert_is(&play, "a", "running");
        end_job(&play, "a", 0);
        assert_is(&play, "b", "running");
        g_autoptr(GPtrArray) of_run =
                store_artifacts(house->store, &(ArtifactQuery){ .run = play.seq, .limit = 10 }, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(of_run->len, ==, 2);
        output = of_run->pdata[0];
        input = of_run->pdata[1];
        g_assert_true(output->output && !input->output);
        g_assert_cmpstr(output->name, ==, "x");
        g_assert_cmpstr(input->name, ==, "i");
        g_assert_true(g_str_has_suffix(path, output->path));
        g_assert_cmpstr(output->path, ==, input->path);
        g_assert_cmpstr(output->run_id, ==, play.id);
        g_autoptr(GPtrArray) at = store_artifacts(
                house->store,
                &(ArtifactQuery){
                        .user = "ann", .fs = "home", .path = output->path, .after = output, .limit = 10 },
                &error);
        g_assert_no_error(error);
        g_assert_cmpuint(at->len, ==, 1); /* behind the output there is the input */
        g_autoptr(GPtrArray) other =
                store_artifacts(house->store, &(ArtifactQuery){ .user = "ben", .fs = "home", .limit = 10 },
                                &error);
        g_assert_cmpuint(other->len, ==, 0);
        play_clear(&play);
        free_homes(house);
}

/* What a step wrote there before is gone when its job begins. */
static void test_prepared(void)
{
        House *house = house_with_homes();
        Play play = play_new(house, HOME "entry_points:\n  b: {command: c}\n"
                                         "  a: {command: c, deps: b, artifacts: {output: [x]}}\n");
        g_autofree char *path = artifact_path(&play, "a", "x"), *dir = g_path_get_dirname(path);

        g_assert_cmpint(g_mkdir_with_parents(dir, 0755), ==, 0);
        put_content(&play, "a", "x", "old", 3);
        assert_is(&play, "b", "running");
        end_job(&play, "b", 0);
        assert_is(&play, "a", "running");
        g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
        g_assert_true(g_file_test(dir, G_FILE_TEST_IS_DIR));
        play_clear(&play);
        free_homes(house);
}

/* ---- a file system that does not answer ---- */

typedef struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        bool hangs;
        int waiting;
} Gate;

static bool wait_at_gate(const char *user, gint64 seq, bool home, UnixRights **ret, void *arg, GError **error)
{
        Gate *gate = arg;

        pthread_mutex_lock(&gate->lock);
        gate->waiting++;
        pthread_cond_broadcast(&gate->changed);
        while (gate->hangs)
                pthread_cond_wait(&gate->changed, &gate->lock);
        pthread_mutex_unlock(&gate->lock);
        return true;
}

static void test_hung(void)
{
        House *house = house_new_cold();
        g_autofree char *homes = g_build_filename(house->dir, "homes", "ann", NULL);
        Gate gate = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, .hangs = true };
        Play hung, other;

        g_assert_cmpint(g_mkdir_with_parents(homes, 0755), ==, 0);
        house->config.homes = g_path_get_dirname(homes);
        house->config.file_rights = wait_at_gate;
        house->config.file_rights_arg = &gate;
        house_open(house);
        house_sync(house);
        hung = play_new(house, HOME WRITES);
        pthread_mutex_lock(&gate.lock);
        while (gate.waiting == 0)
                pthread_cond_wait(&gate.changed, &gate.lock);
        pthread_mutex_unlock(&gate.lock);
        other = play_new(house, TWO); /* uses no file system */
        assert_is(&other, "a", "running");
        house_pass(house, 2000);
        g_assert_cmpstr(state_of(&hung, "a"), ==, "none");
        house_pass(house, 31000);
        assert_message(&hung, "a", "RE-05: file system 'home' has not answered for 30 s");
        assert_is(&hung, "run", "failed");
        pthread_mutex_lock(&gate.lock);
        gate.hangs = false;
        pthread_cond_broadcast(&gate.changed);
        pthread_mutex_unlock(&gate.lock);
        end_job(&other, "a", 0);
        assert_is(&other, "b", "running"); /* the late answer changed nothing */
        g_assert_cmpstr(state_of(&hung, "a"), ==, "failed");
        play_clear(&hung);
        play_clear(&other);
        free_homes(house);
}

/* A stop does not wait for the file system. */
static void test_stopped_while_hung(void)
{
        House *house = house_with_homes();
        Gate gate = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, .hangs = true };
        g_autoptr(GError) error = NULL;
        Play play;

        house_close(house);
        house->config.file_rights = wait_at_gate;
        house->config.file_rights_arg = &gate;
        house_open(house);
        house_sync(house);
        play = play_new(house, HOME WRITES);
        g_assert_true(act(house, play.id, "stop", &error));
        assert_is(&play, "run", "terminated");
        pthread_mutex_lock(&gate.lock);
        gate.hangs = false;
        pthread_cond_broadcast(&gate.changed);
        pthread_mutex_unlock(&gate.lock);
        play_clear(&play);
        free_homes(house);
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
        assert_error(create(house, "fs_options: {main_fs: {name: data}}\n" TWO, NULL, NULL, NULL, &error) !=
                             NULL,
                     &error, ERR_NOT_FOUND, "data");
        assert_error(create(house, "fs_options: {extra_fs: [{name: sets}]}\n" TWO, NULL, NULL, NULL,
                            &error) != NULL,
                     &error, ERR_NOT_FOUND, "sets");
        assert_error(create(house, "entry_points: {a: {command: c, extra_fs: [{name: own}]}}", NULL, NULL,
                            NULL, &error) != NULL,
                     &error, ERR_NOT_FOUND, "own");
        assert_error(create(house, WRITES, NULL, NULL, NULL, &error) != NULL, &error, ERR_INVALID,
                     "main file system");
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
        g_autofree char *later = create(house, TWO, "{'fs_default':'home'}", "k", NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(first, ==, later); /* the caller has asked for the same */
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

/* ---- loops ---- */

/* A list in a text that is too long for the engine's thread; `last` is its last item. */
static char *with_long_list(const char *last)
{
        GString *text =
                g_string_new("parallelism: 2\nentry_points:\n  a:\n    command: \"c {{PF_LOOP_ARGUMENT}}\"\n"
                             "    loop_argument: \"{{l}}\"\n    parameters:\n      l: '[");

        for (int i = 0; i < 4000; i++)
                g_string_append_printf(text, "\"item-%d\", ", i);
        g_string_append_printf(text, "%s]'\n", last);
        return g_string_free(text, FALSE);
}

static void test_long_list(void)
{
        g_autofree char *text = with_long_list("{\"x\": 1}"), *a0 = NULL, *a1 = NULL, *a2 = NULL;
        g_autoptr(GError) error = NULL;
        Play play = { .house = house_new(), .definition = compile(text) };

        play.id = create(play.house, text, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        assert_is(&play, "a-1", "running");
        a0 = command_of(&play, "a-0");
        a1 = command_of(&play, "a-1");
        g_assert_cmpstr(a0, ==, "c item-0");
        g_assert_cmpstr(a1, ==, "c item-1");
        restart(&play); /* the list is read again */
        end_job(&play, "a-0", 0);
        assert_is(&play, "a-2", "running");
        a2 = command_of(&play, "a-2");
        g_assert_cmpstr(a2, ==, "c item-2");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

static void test_long_text_that_is_no_list(void)
{
        g_autofree char *text = with_long_list("nothing");
        g_autoptr(GError) error = NULL;
        Play play = { .house = house_new(), .definition = compile(text) };
        g_autoptr(RunRecord) run = NULL;

        play.id = create(play.house, text, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        assert_is(&play, "run", "failed");
        run = store_run_by_id(play.house->store, play.id, false, &error);
        g_assert_nonnull(strstr(run->message, "RE-02"));
        assert_jobs(&play, "0");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* ---- conditions ---- */

/* Only a regular expression needs a worker, whose answer comes in a later batch; a text with such a sign does not. */
static void test_conditions(void)
{
        static const char text[] =
                "entry_points:\n  a: {command: c, condition: \"'a~b' == 'a~b' && '=~' != '!~'\"}\n";
        g_autoptr(GError) error = NULL;
        Play play = { .house = house_new(), .definition = compile(text) };

        play.id = create(play.house, text, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(state_of(&play, "a"), ==, "running");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
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
                assert_is(&play, paths[i], "running");
                play_end(&play, paths[i], 3, i % 2 ? WITH_FULL_DISKS : AS_IT_IS);
                assert_is(&play, paths[i], "failed");
                if (i == 1)
                        assert_reasons(&play, "d-0.x-0 d-0.x-1", "");
                if (i % 3 == 0)
                        restart(&play);
        }
        assert_is(&play, "run", "failed");
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
        assert_is(&play, "run", "failed");
        g_autoptr(GPtrArray) nodes = nodes_of(&play);
        want = g_strdup_printf("worker-0 exited with status 3; see `paddle run logs %s d-0.x`", play.id);
        g_assert_cmpstr(find_node(&play, nodes, "d-0.x")->message, ==, want);
        play_clear(&play);
        house_free(play.house);
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

/* A run counts as one submission. */
static void test_rate(void)
{
        House *house = house_new_cold();
        GError *error = NULL;

        house->config.submit_rate = 2;
        house_open(house);
        house_sync(house);
        for (int i = 0; i < 2; i++) {
                g_autofree char *id = create(house, TWO, NULL, NULL, NULL, &error);

                g_assert_no_error(error);
        }
        assert_error(create(house, TWO, NULL, NULL, NULL, &error) != NULL, &error, ERR_QUOTA,
                     "may submit 2 jobs in a minute");
        house_free(house);
}

/* A definition with a list of `n` times a list of 1,000 values: a short text. */
static char *with_lists(int n, const char *value)
{
        GString *text = g_string_new("entry_points:\n  a:\n    command: c\n    parameters:\n      p: &p [");

        for (int i = 0; i < 1000; i++)
                g_string_append_printf(text, "%s%s", i ? "," : "", value);
        g_string_append(text, "]\n      q: [");
        for (int i = 0; i < n; i++)
                g_string_append(text, i ? ",*p" : "*p");
        g_string_append(text, "]\n");
        return g_string_free(text, FALSE);
}

/* What the definitions of a user's runs take in memory is bounded, beside their texts. */
static void test_memory_of_definitions(void)
{
        g_autofree char *large = with_lists(1000, "1"), *largest = with_lists(1900, "[]");
        House *house = house_new();
        GError *error = NULL;
        int runs = 0;

        assert_error(create(house, largest, NULL, NULL, NULL, &error) != NULL, &error, ERR_TOO_LARGE,
                     "with its lists");
        while (!error) {
                g_autofree char *id = create(house, large, NULL, NULL, NULL, &error);

                runs += id != NULL;
        }
        g_assert_true(runs >= 2 && runs < 20);
        assert_error(false, &error, ERR_QUOTA, "more than 256 MiB together");
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

/* The start of such a step cannot be committed: it is tried again when there is space. */
static void test_put_off_on_full_disk(void)
{
        static const char text[] = "entry_points:\n  a: {command: c}\n  b: {command: c}\n";
        g_autoptr(GError) error = NULL;
        Play play = { .definition = compile(text) };

        faulty_install();
        play.house = house_new_cold();
        play.house->config.max_open_per_user = 1;
        play.house->config.max_open_jobs = 1;
        house_open(play.house);
        house_sync(play.house);
        play.id = create(play.house, text, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        assert_is(&play, "a", "running");
        end_job(&play, "a", 0);
        faulty_set(FAULT_FULL, "-wal", 1, false);
        house_pass(play.house, 1000);
        assert_is(&play, "b", "none");
        faulty_set(FAULT_NONE, NULL, 0, false);
        house_pass(play.house, 5000);
        assert_is(&play, "b", "running");
        end_job(&play, "b", 0);
        assert_is(&play, "run", "succeeded");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
        faulty_remove();
}

static bool metrics_have_jobs(House *house, gint64 jobs, EngineMetrics *ret)
{
        engine_metrics(house->engine, ret);
        return ret->submitted >= jobs;
}

/* Readers share the definition of a live run. */
static void test_plan_for_readers(void)
{
        g_autoptr(GError) error = NULL;
        Play play = { .house = house_new(), .definition = compile(TWO) };
        RunPlan *plan;

        play.id = create(play.house, TWO, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        restart(&play);
        plan = engine_run_plan(play.house->engine, play.id);
        g_assert_nonnull(plan);
        g_assert_null(engine_run_plan(play.house->engine, "0000000000000000"));
        end_job(&play, "a", 3);
        assert_is(&play, "run", "failed");
        house_barrier(play.house);
        g_assert_null(engine_run_plan(play.house->engine, play.id));
        g_assert_cmpuint(engine_plan_definition(plan)->n_components, ==, play.definition->n_components);
        engine_plan_unref(plan); /* the run has gone, what a reader holds has not */
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

/* The jobs that one batch may submit are few, however many runs are due in it. */
static void test_jobs_of_a_batch(void)
{
        g_autoptr(GString) text = g_string_new("name: p\nparallelism: 20\nentry_points:\n");
        House *house = house_new();
        RunAnswer answers[40] = { 0 };
        EngineMetrics metrics;
        gint64 patience = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;

        for (int i = 0; i < 20; i++)
                g_string_append_printf(text, "  s%d: {command: c}\n", i);
        house_hold(house);
        for (gsize i = 0; i < G_N_ELEMENTS(answers); i++)
                engine_create_run(house->engine, &(EngineRun){ .user = "ann", .text = text->str },
                                  note_answer, &answers[i]);
        house_let_go(house);
        while (!metrics_have_jobs(house, G_N_ELEMENTS(answers) * 20, &metrics) &&
               g_get_monotonic_time() < patience) {
                house_barrier(house);
                g_usleep(1000);
        }
        g_assert_cmpint(metrics.submitted, ==, G_N_ELEMENTS(answers) * 20);
        g_assert_cmpint(metrics.batch_jobs_max, <=,
                        RUN_STEPS_ALL / RUN_JOB_STEPS + 4); /* and those that the scheduler starts */
        for (gsize i = 0; i < G_N_ELEMENTS(answers); i++) {
                g_assert_no_error(answers[i].error);
                run_record_free(answers[i].run);
        }
        house_free(house);
}

/* Two long definitions that come together are not written in one commit. */
static void test_long_texts(void)
{
        g_autofree char *space = g_strnfill(600 * 1024, '#');
        g_autofree char *text =
                g_strdup_printf("name: p\n%s\nentry_points: {a: {command: c, condition: '1 > 2'}}\n", space);
        House *house = house_new();
        EngineMetrics before, after;
        RunAnswer answers[2] = { 0 };

        engine_metrics(house->engine, &before);
        house_hold(house);
        for (gsize i = 0; i < G_N_ELEMENTS(answers); i++)
                engine_create_run(house->engine, &(EngineRun){ .user = "ann", .text = text }, note_answer,
                                  &answers[i]);
        house_let_go(house);
        for (gsize i = 0; i < G_N_ELEMENTS(answers); i++) {
                while (!g_atomic_int_get(&answers[i].done))
                        house_barrier(house);
                g_assert_no_error(answers[i].error);
                run_record_free(answers[i].run);
        }
        engine_metrics(house->engine, &after);
        g_assert_cmpint(after.batches - before.batches, >=, 2);
        house_free(house);
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
        g_test_add_data_func("/engine/runs/scenarios", GINT_TO_POINTER(AS_IT_IS), test_scenarios);
        g_test_add_data_func("/engine/runs/scenarios-with-starts", GINT_TO_POINTER(WITH_STARTS),
                             test_scenarios);
        g_test_add_data_func("/engine/runs/scenarios-with-full-disks", GINT_TO_POINTER(WITH_FULL_DISKS),
                             test_scenarios);
        g_test_add_func("/engine/runs/reasons", test_reasons);
        g_test_add_func("/engine/runs/hint", test_hint);
        g_test_add_func("/engine/runs/parameters", test_parameters);
        g_test_add_func("/engine/runs/content-limits", test_limits);
        g_test_add_func("/engine/runs/list-that-does-not-fit", test_list_that_does_not_fit);
        g_test_add_func("/engine/runs/directory", test_directory);
        g_test_add_func("/engine/runs/paths", test_paths);
        g_test_add_func("/engine/runs/artifacts", test_artifacts);
        g_test_add_func("/engine/runs/prepared", test_prepared);
        g_test_add_func("/engine/runs/hung", test_hung);
        g_test_add_func("/engine/runs/stopped-while-hung", test_stopped_while_hung);
        g_test_add_func("/engine/runs/refused", test_refused);
        g_test_add_func("/engine/runs/key", test_key);
        g_test_add_func("/engine/runs/full-disk", test_full_disk);
        g_test_add_func("/engine/runs/long-list", test_long_list);
        g_test_add_func("/engine/runs/long-text-that-is-no-list", test_long_text_that_is_no_list);
        g_test_add_func("/engine/runs/conditions", test_conditions);
        g_test_add_func("/engine/runs/deleted-user", test_deleted_user);
        g_test_add_func("/engine/runs/open-runs", test_open_runs);
        g_test_add_func("/engine/runs/rate", test_rate);
        g_test_add_func("/engine/runs/memory", test_memory_of_definitions);
        g_test_add_func("/engine/runs/put-off", test_put_off);
        g_test_add_func("/engine/runs/put-off/full-disk", test_put_off_on_full_disk);
        g_test_add_func("/engine/runs/wide", test_wide);
        g_test_add_func("/engine/runs/jobs-of-a-batch", test_jobs_of_a_batch);
        g_test_add_func("/engine/runs/plan-for-readers", test_plan_for_readers);
        g_test_add_func("/engine/runs/long-texts", test_long_texts);
        g_test_add_func("/engine/runs/delete", test_delete);
        g_test_add_func("/engine/runs/retained", test_retained);
        return g_test_run();
}
