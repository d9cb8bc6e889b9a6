/* Paths of components (see step-path.h): tables. */
#include "pipeline/step-path.h"

#include "base/err.h"
#include "pipeline/test/parse.h"

#define NESTED                                                                                                \
        "entry_points:\n  train: {command: c, loop_argument: [1, 2]}\n  train-1: {command: c}\n"              \
        "  outer:\n    loop_argument: [1, 2]\n    entry_points:\n      inner: {command: c}\n"                 \
        "  r: {reference: {component: lib}}\ncomponents:\n  lib:\n    entry_points:\n      x: {command: c}\n" \
        "post_process:\n  last: {command: c}\n"
#define HINT "\nA component inside a DAG is named with it: DAG.STEP. An item of a loop: STEP-3."

/* "outer[1] inner" */
static char *shown(const Definition *definition, const StepPath *path)
{
        GString *text = g_string_new(path->post ? "post " : "");

        for (gsize i = 0; i < path->n; i++) {
                g_string_append_printf(text, "%s%s", i ? " " : "",
                                       component_name(definition, path->parts[i].component));
                if (path->parts[i].number != (guint32)STEP_ANY)
                        g_string_append_printf(text, "[%u]", path->parts[i].number);
        }
        return g_string_free(text, FALSE);
}

static void test_paths(void)
{
        static const struct {
                const char *path, *parts, *says; /* parts: NULL: it is wrong */
        } cases[] = {
                { "train", "train", NULL },
                { "train-0", "train[0]", NULL },
                { "train-1", "train-1", NULL }, /* a component of this name counts first */
                { "train-2147483647", "train[2147483647]", NULL },
                { "outer.inner", "outer inner", NULL },
                { "outer-1.inner", "outer[1] inner", NULL },
                { "r.x", "r x", NULL },
                { "last", "post last", NULL },
                { "trian", NULL,
                  "step 'trian': there is no component 'trian' in entry_points\nDid you mean 'train'?" },
                { "inner", NULL,
                  "step 'inner': there is no component 'inner' in entry_points\nDid you mean 'outer.inner'?" },
                { "outer.iner", NULL,
                  "step 'outer.iner': there is no component 'iner' in 'outer'\nDid you mean 'inner'?" },
                { "innre", NULL,
                  "step 'innre': there is no component 'innre' in entry_points\nDid you mean 'outer.inner'?" },
                { "outer.q", NULL, "step 'outer.q': there is no component 'q' in 'outer'" HINT },
                { "q", NULL, "step 'q': there is no component 'q' in entry_points" HINT },
                { "train.x", NULL, "step 'train.x': 'train' is a step, and has no components" },
                { "r-0.x", NULL,
                  "step 'r-0.x': there is no component 'r-0' in entry_points\nDid you mean 'r'?" },
                { "last-0", NULL, "step 'last-0': there is no component 'last-0' in entry_points" HINT },
                { "a\nb", NULL, "step 'a\\nb': there is no component 'a\\nb' in entry_points" HINT },
                { "", NULL, "the name of a step is missing" },
        };
        g_autoptr(Definition) definition = parse_valid(NESTED, NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autofree char *parts = NULL;
                StepPath path;

                if (step_path_parse(definition, cases[i].path, &path, &error))
                        parts = shown(definition, &path);
                g_assert_cmpstr(parts, ==, cases[i].parts);
                g_assert_cmpstr(error ? error->message : NULL, ==, cases[i].says);
        }
}

static void test_names(void)
{
        g_autoptr(Definition) definition = parse_valid(NESTED, NULL);
        g_autofree char *names = NULL;
        StepPath path;

        g_assert_true(step_path_parse(definition, "outer-1.inner", &path, NULL));
        names = step_path_names(definition, &path);
        g_assert_cmpstr(names, ==, "outer.inner");
}

static void test_too_long(void)
{
        g_autoptr(Definition) definition = parse_valid(NESTED, NULL);
        g_autofree char *text = g_strnfill(STEP_TEXT_MAX + 1, 'a');
        g_autoptr(GError) error = NULL;
        StepPath path;

        g_assert_false(step_path_parse(definition, text, &path, &error));
        g_assert_true(err_is(error, ERR_INVALID));
        g_assert_cmpstr(error->message, ==, "the name of a step has at most 1000 bytes");
}

/* Children of a large DAG are found by a sorted index: each of them, and no other. */
static void test_many(void)
{
        for (guint n = 15; n < 20; n++) {
                g_autoptr(GString) text = g_string_new("entry_points:\n");
                g_autoptr(Definition) definition = NULL;

                for (guint i = 0; i < n; i++)
                        g_string_append_printf(text, "  s%u: {command: c}\n", (i * 7 + 3) % n);
                definition = parse_valid(text->str, NULL);
                for (guint i = 0; i < n + 2; i++) {
                        g_autofree char *name = g_strdup_printf("s%u", i);
                        guint32 child = component_child(definition, DEFINITION_ROOT, name);

                        g_assert_true((child != 0) == (i < n));
                        if (child)
                                g_assert_cmpstr(component_name(definition, child), ==, name);
                }
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/pipeline/step-path/paths", test_paths);
        g_test_add_func("/pipeline/step-path/names", test_names);
        g_test_add_func("/pipeline/step-path/too-long", test_too_long);
        g_test_add_func("/pipeline/step-path/many", test_many);
        return g_test_run();
}
