/* Retries of runs, beside the scenarios of runs.c. */
#include "engine/test/play.h"

#include <string.h>

#include "base/err.h"
#include "engine/runs.h"
#include "store/test/faulty.h"

static void test_retry_refused(void)
{
        GError *error = NULL;
        Play play = { .house = house_new(), .definition = play_compile(TWO) };

        play.id = play_create(play.house, TWO, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        assert_error(play_retry(play.house, play.id, NULL, NULL, NULL, &error) != NULL, &error, ERR_CONFLICT,
                     "has not ended");
        play_end_job(&play, "a", 0);
        play_end_job(&play, "b", 0);
        play_assert(&play, "run", "succeeded");
        assert_error(play_retry(play.house, play.id, NULL, NULL, NULL, &error) != NULL, &error, ERR_CONFLICT,
                     "there is nothing to retry");
        assert_error(play_retry(play.house, play.id, "c", NULL, NULL, &error) != NULL, &error, ERR_INVALID,
                     "there is no component 'c'");
        assert_error(play_retry(play.house, play.id, "a.n=1", NULL, NULL, &error) != NULL, &error,
                     ERR_INVALID, "n");
        assert_error(play_retry(play.house, "0000000000000000", NULL, NULL, NULL, &error) != NULL, &error,
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
        Play play = { .house = house_new(), .definition = play_compile(TWO) };
        g_autofree char *first = NULL, *again = NULL;
        gint64 first_seq;

        first = play_create(play.house, TWO, NULL, NULL, &first_seq, &error);
        play.id = first;
        play.seq = first_seq;
        play_end_job(&play, "a", 0);
        play_end_job(&play, "b", 3);
        play_assert(&play, "run", "failed");
        play.id = play_retry(play.house, first, NULL, "k", &play.seq, &error);
        g_assert_no_error(error);
        play_restart(&play); /* it is read back */
        g_autoptr(RunRecord) run = store_run_by_id(play.house->store, play.id, false, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(run->attempt, ==, 2);
        g_assert_cmpstr(run->retry_id, ==, first);
        g_autoptr(GPtrArray) nodes = play_nodes(&play);
        g_assert_cmpstr(play_find(&play, nodes, "a")->made_id, ==, first);
        g_assert_null(play_find(&play, nodes, "b")->made_id);
        again = play_retry(play.house, first, NULL, "k", NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(again, ==, play.id);
        assert_error(play_retry(play.house, first, "a", "k", NULL, &refused) != NULL, &refused, ERR_CONFLICT,
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
        play_assert_jobs(play, text);
}

/* a run is not deleted while another one keeps results of it; its jobs go with it, not with the retry. */
static void test_retry_protects(void)
{
        g_autoptr(GError) error = NULL;
        GError *refused = NULL;
        Play play = { .house = house_new(), .definition = play_compile(TWO) };
        g_autofree char *first = NULL;

        first = play_create(play.house, TWO, NULL, NULL, &play.seq, &error);
        play.id = first;
        play_end_job(&play, "a", 0);
        play_end_job(&play, "b", 3);
        play_assert(&play, "run", "failed");
        play.id = play_retry(play.house, first, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        assert_error(play_act(play.house, first, "delete", &refused), &refused, ERR_CONFLICT,
                     "keeps results of it");
        play_end_job(&play, "b", 0);
        play_assert(&play, "run", "succeeded");
        assert_error(play_act(play.house, first, "delete", &refused), &refused, ERR_CONFLICT,
                     "keeps results of it");
        g_assert_true(play_act(play.house, play.id, "delete", &error));
        await_jobs(&play, 2); /* of the first run; that of the retry is gone */
        g_assert_true(play_act(play.house, first, "delete", &error));
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
        play.definition = play_compile(text->str);
        first = play_create(play.house, text->str, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        play.id = first;
        for (gint64 end = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;
             strcmp(play_state(&play, "run"), "failed") != 0 && g_get_monotonic_time() < end;) {
                g_assert_true(store_run_counts(play.house->store, play.seq, counts, &error));
                if (counts[NODE_RUNNING] > 0)
                        play_end_last(&play, 3);
                house_barrier(play.house);
        }
        g_assert_cmpstr(play_state(&play, "run"), ==, "failed");
        play.id = play_retry(play.house, first, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        g_assert_true(store_run_counts(play.house->store, play.seq, counts, &error));
        g_assert_cmpint(counts[NODE_SKIPPED], ==, ITEMS);
        g_assert_cmpint(counts[NODE_RUNNING], ==, 1);
        play_restart(&play);
        play_end_last(&play, 0);
        play_assert(&play, "run", "succeeded");
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
        Play play = { .definition = play_compile(TWO) };
        g_autofree char *first = NULL;
        gint64 next;

        faulty_install();
        play.house = house_new();
        first = play_create(play.house, TWO, NULL, NULL, &play.seq, &error);
        play.id = first;
        play_end_job(&play, "a", 0);
        play_end_job(&play, "b", 3);
        play_assert(&play, "run", "failed");
        faulty_set(FAULT_FULL, "-wal", 1, false);
        g_assert_null(play_retry(play.house, first, NULL, NULL, NULL, &refused));
        g_assert_nonnull(refused);
        g_clear_error(&refused);
        faulty_set(FAULT_NONE, NULL, 0, false);
        g_autoptr(GPtrArray) runs = store_runs(play.house->store, &(RunQuery){ .limit = 10 }, &next, &error);
        g_assert_cmpuint(runs->len, ==, 1);
        play.id = play_retry(play.house, first, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        play_end_job(&play, "b", 0);
        play_assert(&play, "run", "succeeded");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
        faulty_remove();
}

typedef struct {
        House *house;
        guint seen, most; /* rows that hidden retries have copied so far, and in one batch */
        int ends, done;   /* atomic */
} Watch;

/* On the engine's thread, after each commit. */
static void note_kept(Job *job, bool repeated, const GError *error, void *arg)
{
        Watch *watch = arg;
        GHashTableIter iter;
        gpointer live;
        guint kept = 0;

        g_hash_table_iter_init(&iter, watch->house->engine->runs);
        while (g_hash_table_iter_next(&iter, NULL, &live))
                kept += ((const LiveRun *)live)->kept_at;
        watch->most = MAX(watch->most, kept - MIN(kept, watch->seen));
        watch->seen = kept;
        if (g_atomic_int_get(&watch->ends))
                g_atomic_int_set(&watch->done, 1);
        else
                engine_flush_journal(watch->house->engine, note_kept, watch);
}

enum { KEPT_STEPS = 24, KEPT_BYTES = 64 * 1024 }; /* of a command, which may have 128 KiB */

static void await(House *house, int *done)
{
        gint64 end = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;

        while (!g_atomic_int_get(done) && g_get_monotonic_time() < end)
                house_barrier(house);
}

/* How much of a retry, which keeps steps with outputs and this command, one batch copies at most. */
static guint count_kept(const char *command)
{
        g_autoptr(GString) text = g_string_new(HOME "parallelism: 4\nentry_points:\n");
        House *house = play_house();
        Watch watch = { .house = house };
        RunAnswer answer = { 0 };
        g_autoptr(GError) error = NULL;
        Play play;

        /* The jobs of all of them run: workers make their directories, so that any of them may come first. */
        g_assert_true(house_patch(house, KIND_FLAVOUR, "small", "{'cpu':'100m','memory':'1Mi'}", &error));
        for (int i = 0; i < KEPT_STEPS; i++)
                g_string_append_printf(
                        text,
                        "  s%d: {command: '%s', artifacts: {output: [o]}, env: {PF_JOB_FLAVOUR: small}}\n", i,
                        command);
        g_string_append(text, "  z: {command: c}\n"); /* it needs no files, which none of these jobs writes */
        play = play_new(house, text->str);
        for (int i = 0; i < KEPT_STEPS; i++) {
                g_autofree char *path = g_strdup_printf("s%d", i);

                play_assert(&play, path, "running");
                play_end_job(&play, path, 0);
        }
        play_assert(&play, "z", "running");
        play_end_job(&play, "z", 3);
        play_assert(&play, "run", "failed");
        engine_flush_journal(house->engine, note_kept, &watch);
        engine_retry_run(house->engine, &(EngineRetry){ .id = play.id }, play_note_answer, &answer);
        await(house, &answer.done);
        g_atomic_int_set(&watch.ends, 1);
        await(house, &watch.done);
        g_assert_true(g_atomic_int_get(&answer.done) && g_atomic_int_get(&watch.done));
        g_assert_no_error(answer.error);
        run_record_free(answer.run);
        play_clear(&play);
        play_house_free(house);
        return watch.most;
}

/* Each kept step is charged by the texts that are rendered for the paths of its outputs. */
static void test_retry_cost(void)
{
        g_autofree char *words = g_strnfill(KEPT_BYTES, 'x');

        g_assert_cmpuint(count_kept("c"), >=, KEPT_STEPS);
        g_assert_cmpuint(count_kept(words), <=, RUN_STEPS / (KEPT_BYTES / RUN_STEP_BYTES));
}

/* The file that the item of the loop `a` would have written, on the file system. The caller's. */
static char *item_path(const char *run, guint number)
{
        g_autofree char *runtime =
                number == 0 ? g_strdup("p.entry_points.a") : g_strdup_printf("p.entry_points.a-%u", number);
        g_autofree char *md5 = g_compute_checksum_for_string(G_CHECKSUM_MD5, runtime, -1);

        return g_strdup_printf(".pipeline/%s/p/a-%u-%s/o", run, number, md5);
}

static void write_item(const House *house, const char *run, guint number)
{
        g_autofree char *path = item_path(run, number),
                        *whole = g_build_filename(house->config.homes, "ann", path, NULL);

        g_assert_true(g_file_set_contents(whole, "x", 1, NULL));
}

/* the paths of all items, in their order, of which the earlier run has made the first and the last one. */
static void test_joined(void)
{
        House *house = play_house();
        Play play = play_new(
                house, HOME CONTINUE
                "parallelism: 1\nentry_points:\n"
                "  a: {command: c, loop_argument: [x, y, z], artifacts: {output: [o]}}\n"
                "  b:\n    command: 'cat {{all}}'\n    deps: a\n    artifacts: {input: {all: '{{a.o}}'}}\n");
        g_autofree char *first = g_strdup(play.id), *command = NULL;
        g_autoptr(GString) want = g_string_new("cat ");
        g_autoptr(GError) error = NULL;

        for (guint i = 0; i < 3; i++) {
                g_autofree char *path = g_strdup_printf("a-%u", i);

                play_assert(&play, path, "running");
                if (i != 1)
                        write_item(house, first, i);
                play_end_job(&play, path, i == 1 ? 3 : 0);
        }
        play_assert(&play, "run", "failed");
        g_free(play.id);
        play.id = play_retry(house, first, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        play_assert(&play, "a-1", "running");
        play_end_job(&play, "a-1", 0);
        play_assert(&play, "b", "running");
        for (guint i = 0; i < 3; i++) {
                g_autofree char *path = item_path(i == 1 ? play.id : first, i);

                g_string_append_printf(want, "%s/home/paddleflow/storage/mnt/fs-ann-home/%s", i ? "," : "",
                                       path);
        }
        command = play_command(&play, "b");
        if (!strstr(command, want->str))
                g_error("'%s' has no '%s'", command, want->str);
        play_clear(&play);
        play_house_free(house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/engine/runs/retry-refused", test_retry_refused);
        g_test_add_func("/engine/runs/retry-record", test_retry_record);
        g_test_add_func("/engine/runs/retry-protects", test_retry_protects);
        g_test_add_func("/engine/runs/retry-large", test_retry_large);
        g_test_add_func("/engine/runs/retry-full-disk", test_retry_full_disk);
        g_test_add_func("/engine/runs/retry-cost", test_retry_cost);
        g_test_add_func("/engine/runs/R-41 retry-joined", test_joined);
        return g_test_run();
}
