/* Results from the cache that a run has taken (see runs-taken.h). */
#include "engine/runs-taken.h"

#include <string.h>

#include "base/json.h"

static CacheEntry entry_of(gint64 run, gint64 job, const char *run_id)
{
        return (CacheEntry){ .seq = 5,
                             .run = run,
                             .job = job,
                             .run_id = (char *)run_id,
                             .job_id = (char *)"j",
                             .step = (char *)"train",
                             .body = (char *)"{\"outputs\": {\"model\": \"x/model\"}}" };
}

static void take(RunTaken *taken, guint32 node, gint64 run)
{
        const CacheEntry entry = entry_of(run, 70 + run, "r");

        (void)run_taken_put(taken, node, &entry);
}

static void test_uses(void)
{
        g_autoptr(RunTaken) taken = run_taken_new();

        take(taken, 2, 1);
        take(taken, 3, 1);
        take(taken, 4, 9);
        g_assert_true(run_taken_uses(taken, 1) && run_taken_uses(taken, 9) && !run_taken_uses(taken, 2));
        take(taken, 3, 9); /* in place of the other one */
        take(taken, 3, 9);
        run_taken_remove(taken, 4);
        run_taken_remove(taken, 4);
        g_assert_true(run_taken_uses(taken, 1) && run_taken_uses(taken, 9));
        run_taken_remove(taken, 2);
        run_taken_remove(taken, 3);
        g_assert_true(!run_taken_uses(taken, 1) && !run_taken_uses(taken, 9));
        g_assert_false(run_taken_uses(NULL, 1));
        run_taken_remove(NULL, 1);
        g_assert_null(run_taken_find(NULL, 1));
}

static void test_values(void)
{
        g_autoptr(RunTaken) taken = run_taken_new();
        const CacheEntry entry = entry_of(3, 8, "rrr");
        const CacheTaken *one = run_taken_put(taken, 2, &entry);

        g_assert_true(one == run_taken_find(taken, 2));
        g_assert_cmpint(one->run, ==, 3);
        g_assert_cmpint(one->job, ==, 8);
        g_assert_cmpstr(json_string_value(json_object_get(one->outputs, "model")), ==, "x/model");
        g_autoptr(json_t) reuse = json_parse(one->reuse, strlen(one->reuse), NULL);
        g_assert_cmpstr(json_string_value(json_object_get(reuse, "run")), ==, "rrr");
        g_assert_cmpint(json_integer_value(json_object_get(reuse, "entry")), ==, 5);
}

/* In the order of asking, and each once. */
static void test_numbers(void)
{
        g_autoptr(RunTaken) taken = run_taken_new();

        take(taken, 2, 1);
        take(taken, 3, 1);
        g_assert_cmpint(run_taken_number(taken, 3), ==, 1);
        g_assert_cmpint(run_taken_number(taken, 2), ==, 2);
        g_assert_cmpint(run_taken_number(taken, 3), ==, 1);
}

/* Only rows of the run, and of these only results from the cache. */
static void test_restore(void)
{
        RunNodeRecord rows[] = {
                { .run = 1, .node = 2, .made_by = 7, .reuse = (char *)"{}" },
                { .run = 2, .node = 2, .made_by = 8 },
                { .run = 2,
                  .node = 3,
                  .made_by = 9,
                  .job = 4,
                  .taken = 6,
                  .reuse = (char *)"{\"outputs\": {\"o\": \"p\"}}" },
                { .run = 3, .node = 2, .made_by = 10, .reuse = (char *)"{}" },
        };
        g_autoptr(GPtrArray) nodes = g_ptr_array_new();

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                g_ptr_array_add(nodes, &rows[i]);
        g_autoptr(RunTaken) taken = run_taken_restore(nodes, 0, 2);
        g_assert_true(run_taken_uses(taken, 9) && !run_taken_uses(taken, 7) && !run_taken_uses(taken, 8) &&
                      !run_taken_uses(taken, 10));
        g_assert_cmpint(run_taken_find(taken, 3)->job, ==, 4);
        g_assert_null(run_taken_find(taken, 2));
        g_assert_null(run_taken_restore(nodes, 0, 4));
        take(taken, 5, 1);
        g_assert_cmpint(run_taken_number(taken, 5), ==, 7);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/engine/runs-taken/uses", test_uses);
        g_test_add_func("/engine/runs-taken/values", test_values);
        g_test_add_func("/engine/runs-taken/numbers", test_numbers);
        g_test_add_func("/engine/runs-taken/restore", test_restore);
        return g_test_run();
}
