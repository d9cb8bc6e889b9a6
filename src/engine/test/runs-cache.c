/* Steps that ask the cache: what a batch does of them. */
#include "engine/test/play.h"

#include <string.h>

#include "engine/runs-cache.h"

/* ---- what a question costs ---- */

typedef struct {
        House *house;
        guint asks;
        int done; /* atomic */
} Asked;

/* On the engine's thread, before the questions of the batch are asked. */
static void note_asks(const RunRecord *run, bool repeated, const GError *error, void *arg)
{
        Asked *asked = arg;

        g_assert_no_error(error);
        asked->asks = runs_find(asked->house->engine, run->seq)->cache_asks->len;
        g_atomic_int_set(&asked->done, 1);
}

/* How many steps of a new run ask the cache in its first batch. */
static guint count_asks(const char *step)
{
        enum { STEPS = 8 };
        g_autoptr(GString) text =
                g_string_new("name: p\nparallelism: 20\ncache: {enable: true}\nentry_points:\n");
        House *house = house_new();
        Asked asked = { .house = house };

        for (int i = 0; i < STEPS; i++)
                g_string_append_printf(text, "  s%d:\n%s", i, step);
        engine_create_run(house->engine, &(EngineRun){ .user = "ann", .text = text->str }, note_asks, &asked);
        for (gint64 end = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;
             !g_atomic_int_get(&asked.done) && g_get_monotonic_time() < end;)
                house_barrier(house);
        g_assert_true(g_atomic_int_get(&asked.done));
        house_free(house);
        return asked.asks;
}

/* A question is charged by the texts and parts of its fingerprint. */
static void test_cost(void)
{
        g_autofree char *words = g_strnfill(RUN_STEPS * RUN_STEP_BYTES, 'x');
        g_autofree char *long_command = g_strdup_printf("    command: '%s'\n", words);
        g_autoptr(GString) parts = g_string_new("    command: c\n    parameters:\n");

        for (int i = 0; i < RUN_STEPS * RUN_PARTS_PER_STEP; i++)
                g_string_append_printf(parts, "      p%d: 1\n", i);
        g_assert_cmpuint(count_asks("    command: c\n"), ==, 8);
        g_assert_cmpuint(count_asks(long_command), <=,
                         2); /* one that uses up the run's part, and the last step of it */
        g_assert_cmpuint(count_asks(parts->str), <=, 2);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/engine/runs/cache/cost", test_cost);
        return g_test_run();
}
