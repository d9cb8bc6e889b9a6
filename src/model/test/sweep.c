/* Sweeps: the jobs that they create, and errors. */
#include "model/array.h"
#include "model/sweep.h"

#include <string.h>

static Spec *parse(const char *members, GError **error)
{
        g_autofree char *text = g_strdup_printf("{'command':'true',%s}", members);
        g_autoptr(json_t) object = json_loads(g_strdelimit(text, "'", '"'), 0, NULL);

        return spec_parse(object, error);
}

static void test_values(void)
{
        static const char *const wanted[] = { "lr=0.1 depth=2",  "lr=0.1 depth=3",  "lr=0.1 depth=x y",
                                              "lr=0.01 depth=2", "lr=0.01 depth=3", "lr=0.01 depth=x y" };
        g_autoptr(GError) error = NULL;
        g_autoptr(Spec) spec =
                parse("'sweep':{'lr':[0.1,'0.01'],'depth':[2,3,'x y']},'labels':{'team':'b'}", &error);
        g_autoptr(json_t) again = NULL;
        g_autoptr(Spec) same = NULL;
        g_auto(GStrv) labels = NULL;
        g_autofree char *text = NULL;

        g_assert_no_error(error);
        g_assert_cmpstr(spec->array, ==, "0-5");
        for (int i = 0; i < 6; i++) {
                g_auto(GStrv) values = sweep_values(spec, i);
                g_autofree char *joined = g_strjoinv(" ", values);

                g_assert_cmpstr(joined, ==, wanted[i]);
        }
        labels = sweep_labels(spec, 3);
        text = g_strjoinv(" ", labels);
        g_assert_cmpstr(text, ==, "depth=2 lr=0.01 team=b");
        again = spec_format(spec);
        same = spec_parse(again, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(same->sweep[1], ==, "depth=2\n3\nx y");
}

static void test_array(void)
{
        g_autoptr(Spec) limited = parse("'sweep':{'a':[1,2,3]},'array':'0-2%2'", NULL);
        g_autoptr(Spec) one = parse("'sweep':{'a':[1]}", NULL);
        g_autoptr(Spec) none = parse("'array':'0-2'", NULL);

        g_assert_cmpstr(limited->array, ==, "0-2%2");
        g_assert_cmpstr(one->array, ==, "0");
        g_assert_null(sweep_values(none, 1));
}

/* Each job of the sweep searches the text for its values, on the engine's thread. */
static void test_too_large(void)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(GString) text = g_string_new("'sweep':{'lr':[");
        g_autofree char *value = g_strnfill(246, '7');
        g_autoptr(Spec) spec = NULL;

        for (int i = 0; i < 600; i++)
                g_string_append_printf(text, "%s'%d.%s'", i ? "," : "", i, value);
        g_string_append(text, "]}");
        spec = parse(text->str, &error);
        g_assert_null(spec);
        g_assert_true(g_str_has_prefix(error->message, "sweep: its values have more than 128 KiB"));
}

static void test_refused(void)
{
        static const char *const cases[][2] = {
                { "'sweep':[]", "sweep must be an object" },
                { "'sweep':{}", "sweep must be an object" },
                { "'sweep':{'a b':[1]}", "'a b' is not a variable's name" },
                { "'sweep':{'a':1}", "sweep.a must be a list" },
                { "'sweep':{'a':[1,2,'1']}", "sweep.a: the value '1' is given twice" },
                { "'sweep':{'HOME':[1]}", "the variable 'HOME' has a meaning of its own" },
                { "'sweep':{'a':[1]},'env':{'a':'2'}", "sweep.a: env sets the variable 'a', too" },
                { "'sweep':{'a':[1]},'roles':[{'name':'worker','env':{'a':'2'}}]", "roles[0].env sets" },
                { "'sweep':{'a':[]}", "sweep.a must be a list" },
                { "'sweep':{'a':[{}]}", "sweep.a: a value must be a string or a number" },
                { "'sweep':{'a':['']}", "sweep.a: a value is empty" },
                { "'sweep':{'a':['x\\ny']}", "sweep.a: a value has no line breaks" },
                { "'sweep':{'a':[1,2,3]},'array':'0-3'",
                  "array: '0-3' does not fit the sweep, which makes 3 jobs" },
                { "'sweep':{'a':[1,2,3]},'array':'1-3'", "does not fit the sweep" },
        };
        g_autoptr(GString) many = g_string_new("'sweep':{'a':[0");

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;

                g_assert_null(parse(cases[i][0], &error));
                g_test_message("%s", error->message);
                g_assert_nonnull(strstr(error->message, cases[i][1]));
        }
        for (int i = 1; i < 101; i++)
                g_string_append_printf(many, ",%d", i);
        g_string_append(many, "],'b':[0");
        for (int i = 1; i < 100; i++)
                g_string_append_printf(many, ",%d", i);
        g_string_append(many, "]}");
        g_assert_null(parse(many->str, NULL));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/sweep/values", test_values);
        g_test_add_func("/sweep/array", test_array);
        g_test_add_func("/sweep/too-large", test_too_large);
        g_test_add_func("/sweep/refused", test_refused);
        return g_test_run();
}
