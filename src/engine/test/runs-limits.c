/* Limits of runs: of users, their rate, their memory, and limits of jobs that put steps off. */
#include "engine/test/play.h"

#include <string.h>

#include "base/err.h"
#include "engine/runs.h"
#include "store/test/faulty.h"

/* A user with open jobs cannot be deleted. One whose steps wait for the limit of open jobs can, and submits no more. */
static void test_deleted_user(void)
{
        g_autoptr(GError) error = NULL;
        Play play = { .house = house_new_cold(), .definition = play_compile(POST TWO) };
        g_autofree char *other = NULL, *task = NULL;

        play.house->config.max_open_per_user = 1;
        play.house->config.max_open_jobs = 1;
        house_open(play.house);
        house_sync(play.house);
        other = house_submit(play.house, "bob", "{'name':'b','command':['true']}", NULL, &error);
        g_assert_no_error(error);
        g_assert_true(house_patch(play.house, KIND_USER, "ann", "{}", &error));
        play.id = play_create(play.house, POST TWO, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        play_assert(&play, "a", "none");
        (void)house_drop(play.house, KIND_USER, "ann", &error);
        g_assert_no_error(error);
        play_assert(&play, "run", "terminated");
        task = task_of(other, 1, "worker", 0);
        script_say_kind(play.house->script, OBSERVED_STARTED, task);
        script_say_exit(play.house->script, task, 0, 0, false);
        house_pass(play.house, 1000);
        play_assert_jobs(&play, "1");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* A disabled user has no new requests, and what was submitted goes on: as queued jobs start, runs start their steps. */
static void test_disabled_user(void)
{
        House *house = house_new();
        g_autoptr(GError) error = NULL;
        Play play;

        g_assert_true(house_patch(house, KIND_USER, "ann", "{}", &error));
        play = play_new(house, TWO);
        g_assert_true(house_patch(house, KIND_USER, "ann", "{'disabled':true}", &error));
        g_assert_no_error(error);
        play_end_job(&play, "a", 0);
        play_assert(&play, "b", "running");
        play_restart(&play);
        play_end_job(&play, "b", 0);
        play_assert(&play, "run", "succeeded");
        play_clear(&play);
        house_free(house);
}

static void test_open_runs(void)
{
        House *house = house_new();
        GError *error = NULL;

        for (int i = 0; i < 100; i++) {
                g_autofree char *id = play_create(house, TWO, NULL, NULL, NULL, &error);

                g_assert_no_error(error);
                g_assert_nonnull(id);
        }
        assert_error(play_create(house, TWO, NULL, NULL, NULL, &error) != NULL, &error, ERR_QUOTA,
                     "100 runs");
        house_free(house);
}

/* What the runs of a user take in the store, also those that have ended. */
static void test_bytes(void)
{
        g_autofree char *space = g_strnfill(30000, '#');
        g_autofree char *text = g_strdup_printf("name: p\n%s\n" TWO, space);
        Play play = { .house = house_new_cold(), .definition = play_compile(text) };
        g_autofree char *later = NULL;
        GError *error = NULL;

        play.house->config.max_run_bytes = 96 * 1024;
        house_open(play.house);
        house_sync(play.house);
        for (int i = 0; i < 3; i++) {
                g_free(play.id);
                play.id = play_create(play.house, text, NULL, NULL, &play.seq, &error);
                g_assert_no_error(error);
        }
        assert_error(play_create(play.house, text, NULL, NULL, NULL, &error) != NULL, &error, ERR_QUOTA,
                     "`paddle run delete ID`");
        play_end_job(&play, "a", 3);
        play_assert(&play, "run", "failed");
        assert_error(play_create(play.house, text, NULL, NULL, NULL, &error) != NULL, &error, ERR_QUOTA,
                     "the limit is");
        assert_error(play_retry(play.house, play.id, NULL, NULL, NULL, &error) != NULL, &error, ERR_QUOTA,
                     "the limit is");
        g_assert_true(play_act(play.house, play.id, "delete", &error));
        play_restart(&play);
        later = play_create(play.house, text, NULL, NULL, NULL, &error);
        g_assert_no_error(error);
        assert_error(play_create(play.house, text, NULL, NULL, NULL, &error) != NULL, &error, ERR_QUOTA,
                     "the limit is");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* Nodes and jobs count. */
static void test_bytes_of_steps(void)
{
        House *house = house_new();
        Play play = play_new(house, TWO);
        gint64 before, after;
        g_autoptr(GError) error = NULL;

        g_assert_true(store_run_bytes(house->store, "ann", &before, &error));
        play_end_job(&play, "a", 0);
        play_end_job(&play, "b", 0);
        play_assert(&play, "run", "succeeded");
        g_assert_true(store_run_bytes(house->store, "ann", &after, &error));
        g_assert_cmpint(after - before, >=, 2048);
        g_assert_cmpint(after - before, <, 16384);
        play_clear(&play);
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
                g_autofree char *id = play_create(house, TWO, NULL, NULL, NULL, &error);

                g_assert_no_error(error);
        }
        assert_error(play_create(house, TWO, NULL, NULL, NULL, &error) != NULL, &error, ERR_QUOTA,
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

        assert_error(play_create(house, largest, NULL, NULL, NULL, &error) != NULL, &error, ERR_TOO_LARGE,
                     "with its lists");
        while (!error) {
                g_autofree char *id = play_create(house, large, NULL, NULL, NULL, &error);

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
        Play play = { .house = house_new_cold(), .definition = play_compile(text) };

        play.house->config.max_open_per_user = 1;
        play.house->config.max_open_jobs = 1;
        house_open(play.house);
        house_sync(play.house);
        play.id = play_create(play.house, text, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        play_assert(&play, "a", "running");
        play_assert(&play, "b", "none");
        house_pass(play.house, 1000);
        play_assert(&play, "b", "none");
        play_end_job(&play, "a", 0);
        house_pass(play.house, 1000);
        play_assert(&play, "b", "running");
        play_end_job(&play, "b", 0);
        play_assert(&play, "run", "succeeded");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* Thousands of steps wait for the place of one job, which they get in turn; a stop ends those that wait. */
static void test_put_off_many(void)
{
        static const char text[] =
                "parallelism: 5000\nentry_points:\n  a: {command: c, loop_argument: \"{{l}}\", "
                "parameters: {l: '[0";
        enum { N = 3000, ENDED = 5 };
        g_autoptr(GString) loop = g_string_new(text);
        g_autoptr(GError) error = NULL;
        Play play = { .house = house_new_cold() };

        for (int i = 1; i < N; i++)
                g_string_append_printf(loop, ",%d", i);
        g_string_append(loop, "]'}}\n");
        play.definition = play_compile(loop->str);
        play.house->config.max_open_per_user = 1;
        play.house->config.max_open_jobs = 1;
        play.house->config.max_parallelism = 5000;
        house_open(play.house);
        house_sync(play.house);
        play.id = play_create(play.house, loop->str, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        play_assert(&play, "a-0", "running");
        for (int i = 0; i < ENDED; i++) {
                g_autofree char *made = g_strdup_printf("%d", i + 2);

                play_end_last(&play, 0);
                house_pass(play.house, 1000);
                play_assert_jobs(&play, made);
        }
        g_assert_true(play_act(play.house, play.id, "stop", &error));
        play_end_last(&play, 0);
        play_assert(&play, "run", "terminated");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* The start of such a step cannot be committed: it is tried again when there is space. */
static void test_put_off_on_full_disk(void)
{
        static const char text[] = "entry_points:\n  a: {command: c}\n  b: {command: c}\n";
        g_autoptr(GError) error = NULL;
        Play play = { .definition = play_compile(text) };

        faulty_install();
        play.house = house_new_cold();
        play.house->config.max_open_per_user = 1;
        play.house->config.max_open_jobs = 1;
        house_open(play.house);
        house_sync(play.house);
        play.id = play_create(play.house, text, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        play_assert(&play, "a", "running");
        play_end_job(&play, "a", 0);
        faulty_set(FAULT_FULL, "-wal", 1, false);
        house_pass(play.house, 1000);
        play_assert(&play, "b", "none");
        faulty_set(FAULT_NONE, NULL, 0, false);
        house_pass(play.house, 5000);
        play_assert(&play, "b", "running");
        play_end_job(&play, "b", 0);
        play_assert(&play, "run", "succeeded");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
        faulty_remove();
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/engine/runs/deleted-user", test_deleted_user);
        g_test_add_func("/engine/runs/disabled-user", test_disabled_user);
        g_test_add_func("/engine/runs/open-runs", test_open_runs);
        g_test_add_func("/engine/runs/rate", test_rate);
        g_test_add_func("/engine/runs/bytes", test_bytes);
        g_test_add_func("/engine/runs/bytes-of-steps", test_bytes_of_steps);
        g_test_add_func("/engine/runs/memory", test_memory_of_definitions);
        g_test_add_func("/engine/runs/put-off", test_put_off);
        g_test_add_func("/engine/runs/put-off/full-disk", test_put_off_on_full_disk);
        g_test_add_func("/engine/runs/put-off/many", test_put_off_many);
        return g_test_run();
}
