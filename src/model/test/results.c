/* Reports of members, reduced and merged. */
#include "model/results.h"

static void expect(char **results, const char *wanted)
{
        g_autoptr(json_t) object = results_format(results);
        g_autofree char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));

        g_assert_cmpstr(text, ==, wanted);
}

static void test_lines(void)
{
        g_auto(GStrv) results = results_merge(NULL,
                                              "loss=2\n loss = 0.5 \nloss=1\nnonsense\n=3\nloss=x\n1a=2\n"
                                              "a b=1\nval/acc=1e-2\nbad=nan\nbad=3\nbad=inf",
                                              0, 1);
        g_auto(GStrv) none = results_merge(NULL, "hello\n", 0, 1);

        expect(results, "{\"bad\":{\"last\":null,\"max\":3.0,\"min\":3.0},"
                        "\"loss\":{\"last\":1.0,\"max\":2.0,\"min\":0.5},"
                        "\"val/acc\":{\"last\":0.01,\"max\":0.01,\"min\":0.01}}");
        g_assert_null(none);
}

/* The first member counts for the job, whichever ends first; a retry continues. */
static void test_members_and_attempts(void)
{
        g_auto(GStrv) second = results_merge(NULL, "loss=9\nextra=1\n", 3, 1);
        g_auto(GStrv) first = results_merge(second, "loss=2\nloss=3\n", 1, 1);
        g_auto(GStrv) late = results_merge(first, "loss=0\n", 2, 1);
        g_auto(GStrv) again = results_merge(late, "loss=2.5\n", 3, 2);
        g_auto(GStrv) lower = results_merge(again, "loss=7\n", 0, 2); /* forgets only member 3 */
        g_auto(GStrv) third = results_merge(lower, "loss=1\n", 2, 3);

        expect(second, "{\"extra\":{\"last\":1.0,\"max\":1.0,\"min\":1.0},"
                       "\"loss\":{\"last\":9.0,\"max\":9.0,\"min\":9.0}}");
        expect(first, "{\"extra\":{\"last\":1.0,\"max\":1.0,\"min\":1.0},"
                      "\"loss\":{\"last\":3.0,\"max\":3.0,\"min\":2.0}}");
        expect(late, "{\"extra\":{\"last\":1.0,\"max\":1.0,\"min\":1.0},"
                     "\"loss\":{\"last\":3.0,\"max\":3.0,\"min\":2.0}}");
        expect(again, "{\"extra\":{\"last\":1.0,\"max\":1.0,\"min\":1.0},"
                      "\"loss\":{\"last\":2.5,\"max\":3.0,\"min\":2.0}}");
        expect(lower, "{\"extra\":{\"last\":1.0,\"max\":1.0,\"min\":1.0},"
                      "\"loss\":{\"last\":7.0,\"max\":7.0,\"min\":2.0}}");
        expect(third, "{\"extra\":{\"last\":1.0,\"max\":1.0,\"min\":1.0},"
                      "\"loss\":{\"last\":1.0,\"max\":7.0,\"min\":1.0}}");
}

static void test_bounds(void)
{
        g_autoptr(GString) many = g_string_new(NULL);
        g_auto(GStrv) results = NULL;

        for (int i = 0; i < 100; i++)
                g_string_append_printf(many, "n%d=%d\n", i, i);
        results = results_merge(NULL, many->str, 0, 1);
        g_assert_cmpuint(g_strv_length(results), ==, RESULTS_NAMES_MAX);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/results/lines", test_lines);
        g_test_add_func("/results/members-and-attempts", test_members_and_attempts);
        g_test_add_func("/results/bounds", test_bounds);
        return g_test_run();
}
