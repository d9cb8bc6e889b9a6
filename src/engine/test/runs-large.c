/* Runs that are large: long lists and texts, wide DAGs, and what one batch does of them. Conditions that need a worker. */
#include "engine/test/play.h"

#include <string.h>

#include "base/err.h"
#include "engine/runs.h"
#include "store/test/faulty.h"

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
        Play play = { .house = house_new(), .definition = play_compile(text) };

        play.id = play_create(play.house, text, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        play_assert(&play, "a-1", "running");
        a0 = play_command(&play, "a-0");
        a1 = play_command(&play, "a-1");
        g_assert_cmpstr(a0, ==, "c item-0");
        g_assert_cmpstr(a1, ==, "c item-1");
        play_restart(&play); /* the list is read again */
        play_end_job(&play, "a-0", 0);
        play_assert(&play, "a-2", "running");
        a2 = play_command(&play, "a-2");
        g_assert_cmpstr(a2, ==, "c item-2");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

static void test_long_text_that_is_no_list(void)
{
        g_autofree char *text = with_long_list("nothing");
        g_autoptr(GError) error = NULL;
        Play play = { .house = house_new(), .definition = play_compile(text) };
        g_autoptr(RunRecord) run = NULL;

        play.id = play_create(play.house, text, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        play_assert(&play, "run", "failed");
        run = store_run_by_id(play.house->store, play.id, false, &error);
        g_assert_nonnull(strstr(run->message, "RE-02"));
        play_assert_jobs(&play, "0");
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

/* Only a regular expression needs a worker, whose answer comes in a later batch; a text with such a sign does not. */
static void test_conditions(void)
{
        static const char text[] =
                "entry_points:\n  a: {command: c, condition: \"'a~b' == 'a~b' && '=~' != '!~'\"}\n";
        g_autoptr(GError) error = NULL;
        Play play = { .house = house_new(), .definition = play_compile(text) };

        play.id = play_create(play.house, text, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(play_state(&play, "a"), ==, "running");
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
        play.definition = play_compile(text->str);
        play.id = play_create(play.house, text->str, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        play_assert(&play, "z", "running");
        play_end_job(&play, "z", 3); /* all others are cancelled, in many batches */
        play_assert(&play, "run", "failed");
        g_assert_true(store_run_counts(play.house->store, play.seq, counts, &error));
        g_assert_cmpint(counts[NODE_CANCELLED], ==, 3000);
        g_assert_cmpint(counts[NODE_FAILED], ==, 1);
        definition_free(play.definition);
        g_free(play.id);
        house_free(play.house);
}

static bool metrics_have_jobs(House *house, gint64 jobs, EngineMetrics *ret)
{
        engine_metrics(house->engine, ret);
        return ret->submitted >= jobs;
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
                                  play_note_answer, &answers[i]);
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
                engine_create_run(house->engine, &(EngineRun){ .user = "ann", .text = text },
                                  play_note_answer, &answers[i]);
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

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/engine/runs/long-list", test_long_list);
        g_test_add_func("/engine/runs/long-text-that-is-no-list", test_long_text_that_is_no_list);
        g_test_add_func("/engine/runs/conditions", test_conditions);
        g_test_add_func("/engine/runs/wide", test_wide);
        g_test_add_func("/engine/runs/jobs-of-a-batch", test_jobs_of_a_batch);
        g_test_add_func("/engine/runs/long-texts", test_long_texts);
        return g_test_run();
}
