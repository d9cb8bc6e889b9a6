/* Stored pipelines in the engine: versions, names, limits, runs of them; after a restart and a full disk. */
#include <string.h>

#include "base/err.h"
#include "engine/test/help.h"
#include "store/test/faulty.h"

#define TEXT "name: p\nentry_points:\n  a: {command: c, parameters: {n: 1}}\n"
#define SECOND "name: p\nentry_points:\n  a: {command: d}\n"

typedef struct {
        gint64 seq;
        int version, made;
        char *note;
        GError *error;
} Answer;

static void note_answer(const PipelineRecord *pipeline, const PipelineVersion *version, const GError *error,
                        void *arg)
{
        Answer *answer = arg;

        answer->error = error ? g_error_copy(error) : NULL;
        answer->seq = pipeline ? pipeline->seq : 0;
        answer->made = pipeline ? pipeline->made : 0;
        answer->note = pipeline ? g_strdup(pipeline->note) : NULL;
        answer->version = version ? version->version : 0;
}

/* The answer; its error goes to the caller. */
static Answer finish(House *house, Answer *answer, GError **error)
{
        house_barrier(house);
        if (answer->error)
                g_propagate_error(error, g_steal_pointer(&answer->error));
        return *answer;
}

static Answer put(House *house, gint64 seq, const char *text, const char *note, GError **error)
{
        const EnginePipeline pipeline = { .user = "ann", .by = "ann", .text = text, .note = note };
        Answer answer = { 0 };

        if (seq)
                engine_update_pipeline(house->engine, seq, &pipeline, note_answer, &answer);
        else
                engine_create_pipeline(house->engine, &pipeline, note_answer, &answer);
        return finish(house, &answer, error);
}

static gint64 create(House *house, const char *text)
{
        g_autoptr(GError) error = NULL;
        Answer answer = put(house, 0, text, NULL, &error);

        g_assert_no_error(error);
        g_assert_cmpint(answer.version, ==, 1);
        return answer.seq;
}

static bool drop(House *house, gint64 seq, int version, GError **error)
{
        g_autoptr(GError) failed = NULL;
        Answer answer = { 0 };

        engine_delete_pipeline(house->engine, seq, version, "ann", note_answer, &answer);
        (void)finish(house, &answer, &failed);
        g_free(answer.note);
        if (!failed)
                return true;
        g_propagate_error(error, g_steal_pointer(&failed));
        return false;
}

/* ---- runs ---- */

typedef struct {
        RunRecord *run;
        GError *error;
} RunAnswer;

static void note_run(const RunRecord *run, bool repeated, const GError *error, void *arg)
{
        RunAnswer *answer = arg;

        answer->error = error ? g_error_copy(error) : NULL;
        if (!run)
                return;
        answer->run = g_new0(RunRecord, 1);
        answer->run->seq = run->seq;
        g_strlcpy(answer->run->id, run->id, sizeof run->id);
        answer->run->source = g_strdup(run->source);
}

static RunRecord *start(House *house, const PipelineVersion *version, GError **error)
{
        RunAnswer answer = { 0 };

        engine_create_run(house->engine,
                          &(EngineRun){ .user = "ann", .text = version->text, .version = version }, note_run,
                          &answer);
        house_barrier(house);
        if (answer.error)
                g_propagate_error(error, answer.error);
        return answer.run;
}

/* ---- tests ---- */

static void test_versions(void)
{
        House *house = house_new();
        g_autoptr(GError) error = NULL;
        gint64 seq = create(house, TEXT);
        Answer second = put(house, seq, SECOND, "of Monday", &error), third;

        g_assert_no_error(error);
        g_assert_cmpint(second.seq, ==, seq);
        g_assert_cmpint(second.version, ==, 2);
        g_assert_cmpstr(second.note, ==, "of Monday");
        g_assert_true(drop(house, seq, 2, &error));
        house_close(house); /* the number of a deleted version is not used again */
        house_open(house);
        house_sync(house);
        third = put(house, seq, TEXT, NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpint(third.version, ==, 3);
        g_assert_cmpstr(third.note, ==, "of Monday");
        g_assert_true(drop(house, seq, 1, &error));
        g_assert_false(drop(house, seq, 1, &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_clear_error(&error);
        g_assert_false(drop(house, seq, 3, &error)); /* the only one */
        g_assert_true(err_is(error, ERR_CONFLICT));
        g_clear_error(&error);
        g_assert_true(drop(house, seq, 0, &error));
        g_assert_false(drop(house, seq, 0, &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_free(second.note);
        g_free(third.note);
        house_free(house);
}

static bool is_held(House *house, const char *package)
{
        g_autoptr(GHashTable) open = engine_open_packages(house->engine);

        return g_hash_table_contains(open, package);
}

static Answer put_files(House *house, gint64 seq, const char *files)
{
        const EnginePipeline pipeline = { .user = "ann", .by = "ann", .text = TEXT, .files = files };
        g_autoptr(GError) error = NULL;
        Answer answer = { 0 };

        if (seq)
                engine_update_pipeline(house->engine, seq, &pipeline, note_answer, &answer);
        else
                engine_create_pipeline(house->engine, &pipeline, note_answer, &answer);
        answer = finish(house, &answer, &error);
        g_assert_no_error(error);
        return answer;
}

/* The package of a version is in use until the version is deleted, also after a restart. */
static void test_packages(void)
{
        House *house = house_new();
        g_autoptr(GError) error = NULL;
        gint64 seq = put_files(house, 0, "{\"package\": \"one\"}").seq;

        (void)put_files(house, seq, "{\"package\": \"two\", \"package_name\": \"n\"}");
        (void)put_files(house, seq, NULL);
        (void)put_files(house, seq, "{\"package\": \"two\"}");
        for (int i = 0; i < 2; i++) {
                g_assert_true(is_held(house, "one"));
                g_assert_true(is_held(house, "two"));
                house_close(house);
                house_open(house);
                house_sync(house);
        }
        g_assert_true(drop(house, seq, 1, &error));
        g_assert_false(is_held(house, "one"));
        g_assert_true(drop(house, seq, 2, &error));
        g_assert_true(is_held(house, "two")); /* of version 4 */
        g_assert_true(drop(house, seq, 0, &error));
        g_assert_false(is_held(house, "two"));
        g_assert_no_error(error);
        house_free(house);
}

/* Versions that come and go in one batch, or in two. */
static void test_packages_at_once(void)
{
        House *house = house_new();
        gint64 seq = put_files(house, 0, "{\"package\": \"one\"}").seq;
        const EnginePipeline two = {
                .user = "ann", .by = "ann", .text = TEXT, .files = "{\"package\": \"two\"}"
        };
        const EnginePipeline three = {
                .user = "ann", .by = "ann", .text = TEXT, .files = "{\"package\": \"three\"}"
        };
        Answer answers[4] = { 0 };

        engine_update_pipeline(house->engine, seq, &two, note_answer, &answers[0]);
        engine_update_pipeline(house->engine, seq, &three, note_answer, &answers[1]);
        engine_delete_pipeline(house->engine, seq, 2, "ann", note_answer, &answers[2]);
        engine_delete_pipeline(house->engine, seq, 1, "ann", note_answer, &answers[3]);
        house_barrier(house);
        for (gsize i = 0; i < G_N_ELEMENTS(answers); i++)
                g_assert_no_error(answers[i].error);
        g_assert_false(is_held(house, "one"));
        g_assert_false(is_held(house, "two"));
        g_assert_true(is_held(house, "three"));
        house_free(house);
}

static void test_names(void)
{
        House *house = house_new();
        g_autoptr(GError) error = NULL;
        gint64 seq = create(house, TEXT);

        (void)put(house, 0, SECOND, NULL, &error);
        g_assert_true(err_is(error, ERR_EXISTS));
        g_clear_error(&error);
        (void)put(house, seq, "name: q\nentry_points:\n  a: {command: c}\n", NULL, &error);
        g_assert_true(err_is(error, ERR_CONFLICT));
        g_clear_error(&error);
        (void)put(house, seq, "name: p\n", NULL, &error); /* it cannot run */
        g_assert_true(err_is(error, ERR_INVALID));
        g_clear_error(&error);
        g_assert_true(drop(house, seq, 0, &error));
        g_assert_cmpint(create(house, TEXT), ==, seq + 1); /* its name is free, its number is not */
        house_free(house);
}

static void test_note_too_long(void)
{
        House *house = house_new();
        g_autofree char *note = g_strnfill(257, 'x'), *fits = g_strnfill(256, 'x');
        g_autoptr(GError) error = NULL;
        Answer answer = put(house, 0, TEXT, note, &error);

        g_assert_true(err_is(error, ERR_INVALID));
        g_clear_error(&error);
        answer = put(house, 0, TEXT, fits, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(answer.note, ==, fits);
        g_free(answer.note);
        house_free(house);
}

/* A run of a version goes on, and can be shown, when the pipeline is gone; and none begins of what is gone. */
static void test_run(void)
{
        House *house = house_new();
        g_autoptr(GError) error = NULL;
        gint64 seq = create(house, TEXT);
        g_autoptr(PipelineVersion) version = store_pipeline_version(house->store, seq, 0, true, &error);
        g_autoptr(RunRecord) run = start(house, version, &error);

        g_assert_no_error(error);
        g_assert_cmpstr(run->source, ==, "ppl-000001-1");
        g_assert_true(drop(house, seq, 0, &error));
        g_autoptr(RunRecord) later = start(house, version, &error);
        g_assert_null(later);
        g_assert_true(err_is(error, ERR_GONE));
        g_clear_error(&error);
        house_close(house);
        house_open(house);
        house_sync(house);
        g_autoptr(RunRecord) got = store_run_by_seq(house->store, run->seq, true, &error);
        g_assert_no_error(error);
        g_assert_cmpint(got->state, ==, NODE_RUNNING);
        g_assert_cmpstr(got->text, ==, TEXT);
        g_assert_cmpint(got->version, ==, 1);
        house_free(house);
}

static RunRecord *await_run(House *house, RunAnswer *answer, GError **error)
{
        for (int i = 0; i < 2000 && !answer->run && !answer->error; i++)
                house_barrier(house);
        if (answer->error)
                g_propagate_error(error, answer->error);
        return answer->run;
}

/* Its step fails. */
static void fail_run(House *house, gint64 seq)
{
        const RunNodeQuery query = {
                .run = seq, .new_jobs = true, .upto = { G_MAXINT64, G_MAXINT64 }, .limit = 1
        };
        g_autoptr(GError) error = NULL;
        gint64 next;
        g_autoptr(GPtrArray) nodes = store_run_nodes(house->store, &query, &next, &error);
        g_autofree char *task = NULL;

        g_assert_no_error(error);
        g_assert_cmpuint(nodes->len, ==, 1);
        task = task_of(((const RunNodeRecord *)nodes->pdata[0])->job_id, 1, "worker", 0);
        script_say_kind(house->script, OBSERVED_STARTED, task);
        script_say_exit(house->script, task, 1, 0, false);
        for (int i = 0; i < 3; i++)
                house_barrier(house);
        g_autoptr(RunRecord) run = store_run_by_seq(house->store, seq, false, &error);
        g_assert_cmpint(run->state, ==, NODE_FAILED);
}

/* A retry is of the same version, and its text stays when the pipeline and the first run are gone. */
static void test_retry(void)
{
        House *house = house_new();
        g_autoptr(GError) error = NULL;
        gint64 seq = create(house, TEXT);
        g_autoptr(PipelineVersion) version = store_pipeline_version(house->store, seq, 0, true, &error);
        g_autoptr(RunRecord) first = start(house, version, &error);
        RunAnswer again = { 0 }, deleted = { 0 };

        g_assert_no_error(error);
        fail_run(house, first->seq);
        g_assert_true(drop(house, seq, 0, &error));
        engine_retry_run(house->engine, &(EngineRetry){ .id = first->id }, note_run, &again);
        g_autoptr(RunRecord) second = await_run(house, &again, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(second->source, ==, "ppl-000001-1");
        engine_delete_run(house->engine, first->id, true, "ann", note_run, &deleted);
        run_record_free(await_run(house, &deleted, &error));
        g_assert_no_error(error);
        house_close(house);
        house_open(house);
        house_sync(house);
        g_autoptr(RunRecord) got = store_run_by_seq(house->store, second->seq, true, &error);
        g_assert_no_error(error);
        g_assert_cmpint(got->state, ==, NODE_RUNNING);
        g_assert_cmpstr(got->text, ==, TEXT);
        g_assert_cmpstr(got->hash, ==, version->hash);
        g_assert_cmpint(got->pipeline, ==, seq);
        g_assert_cmpint(got->version, ==, 1);
        g_assert_cmpint(got->attempt, ==, 2);
        house_free(house);
}

/* A commit that fails leaves the set as it was. */
static void test_full_disk(void)
{
        g_autoptr(GError) error = NULL;
        House *house;
        gint64 seq;

        faulty_install();
        house = house_new();
        seq = create(house, TEXT);
        faulty_set(FAULT_FULL, "-wal", 1, false);
        (void)put(house, 0, "name: q\nentry_points:\n  a: {command: c}\n", NULL, &error);
        g_assert_true(err_is(error, ERR_NO_SPACE));
        g_clear_error(&error);
        (void)put(house, seq, SECOND, "new", &error);
        g_assert_true(err_is(error, ERR_NO_SPACE));
        g_clear_error(&error);
        g_assert_false(drop(house, seq, 0, &error));
        g_assert_true(err_is(error, ERR_NO_SPACE));
        g_clear_error(&error);
        faulty_set(FAULT_NONE, NULL, 0, false);
        Answer second = put(house, seq, SECOND, NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpint(second.version, ==, 2);
        g_assert_cmpint(second.made, ==, 2);
        g_assert_null(second.note);
        (void)create(house, "name: q\nentry_points:\n  a: {command: c}\n"); /* the name was not taken */
        house_free(house);
        faulty_remove();
}

static void test_deleted_user(void)
{
        House *house = house_new();
        g_autoptr(GError) error = NULL;
        gint64 seq, next;

        g_assert_true(house_patch(house, KIND_USER, "ann", "{}", &error));
        seq = create(house, TEXT);
        g_assert_true(house_drop(house, KIND_USER, "ann", &error));
        g_assert_no_error(error);
        g_assert_null(store_pipeline(house->store, seq, &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_clear_error(&error);
        g_autoptr(GPtrArray) all =
                store_pipelines(house->store, &(PipelineQuery){ .limit = 10 }, &next, &error);
        g_assert_cmpuint(all->len, ==, 0);
        house_free(house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/engine/pipelines/versions", test_versions);
        g_test_add_func("/engine/pipelines/packages", test_packages);
        g_test_add_func("/engine/pipelines/packages-at-once", test_packages_at_once);
        g_test_add_func("/engine/pipelines/names", test_names);
        g_test_add_func("/engine/pipelines/note-too-long", test_note_too_long);
        g_test_add_func("/engine/pipelines/run", test_run);
        g_test_add_func("/engine/pipelines/retry", test_retry);
        g_test_add_func("/engine/pipelines/full-disk", test_full_disk);
        g_test_add_func("/engine/pipelines/deleted-user", test_deleted_user);
        return g_test_run();
}
