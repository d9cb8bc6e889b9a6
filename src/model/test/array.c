/* The syntax of arrays, and the state of a whole array. */
#include "model/array.h"

#include <string.h>

static void test_steps(void)
{
        static const struct {
                const char *text, *indices, *normal; /* normal NULL: the text itself */
        } cases[] = {
                { "0-9:2", "0 2 4 6 8", "0-8:2" },
                { "0-8:2%3", "0 2 4 6 8", NULL },
                { "1,3", "1 3", NULL },
                { "1,3,5", "1 3 5", "1-5:2" },
                { "1,3,5-7", "1 3 5 6 7", "1-5:2,6-7" },
                { "0-10:100", "0", "0" },
                { "5-25:10,5-6", "5 6 15 25", "5-6,15,25" },
                { "0-1000000:1000000", "0 1000000", "0,1000000" },
        };
        static const char *const wrong[] = { "0:2", "0-9:", "0-9:0", "0:1-9", "0-9:2:2", ":2", "0-20000:2" };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GArray) indices = NULL;
                g_autoptr(GString) text = g_string_new(NULL);
                g_autofree char *normal = NULL;
                int max;

                g_assert_true(spec_array(cases[i].text, &indices, &max, NULL));
                for (guint k = 0; k < indices->len; k++)
                        g_string_append_printf(text, "%s%d", k ? " " : "", g_array_index(indices, int, k));
                g_assert_cmpstr(text->str, ==, cases[i].indices);
                normal = spec_array_format(indices, max);
                g_assert_cmpstr(normal, ==, cases[i].normal ? cases[i].normal : cases[i].text);
        }
        for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
                GArray *indices = NULL;
                int max;

                g_test_message("%s", wrong[i]);
                g_assert_false(spec_array(wrong[i], &indices, &max, NULL));
        }
}

static void test_elements(void)
{
        static const struct {
                const char *text, *array;
                int index;
        } right[] = { { "sw[3]", "sw", 3 }, { "a-b-1[0]", "a-b-1", 0 }, { "x[1000000]", "x", 1000000 } };
        static const char *const wrong[] = { "sw",     "sw[]",   "sw[3",   "sw3]",           "[3]",
                                             "sw[-1]", "sw[a]",  "sw[3]x", "sw[3][4]",       "sw[1000001]",
                                             "sw[ 3]", "sw[+3]", "sw[3] ", "sw[99999999999]" };

        for (gsize i = 0; i < G_N_ELEMENTS(right); i++) {
                g_autofree char *array = NULL;
                int index = -1;

                g_assert_true(element_parse(right[i].text, &array, &index));
                g_assert_cmpstr(array, ==, right[i].array);
                g_assert_cmpint(index, ==, right[i].index);
        }
        for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
                g_autofree char *array = NULL;
                int index = -1;

                g_test_message("%s", wrong[i]);
                g_assert_false(element_parse(wrong[i], &array, &index));
                g_assert_null(array);
        }
}

static void test_names(void)
{
        g_autoptr(json_t) object = json_pack("{s:s, s:s}", "command", "true", "array", "2-6:2");
        g_autoptr(Spec) spec = spec_parse(object, NULL);
        g_autoptr(Job) job = job_new("ann", "sw-12-4", spec, 0);
        g_autofree char *none = array_name(job), *plain = element_name(job), *array = NULL, *element = NULL;
        char id[ARRAY_ID_LEN + 1];

        g_assert_null(none);
        g_assert_cmpstr(plain, ==, "sw-12-4");
        job->array_index = 4;
        array = array_name(job);
        element = element_name(job);
        g_assert_cmpstr(array, ==, "sw-12");
        g_assert_cmpstr(element, ==, "sw-12[4]");
        g_assert_cmpint(array_place(spec, 4), ==, 1);
        g_assert_cmpint(array_place(spec, 3), ==, -1);
        g_assert_cmpint(array_size(spec), ==, 3);
        array_id_make("0123456789abcdef", id);
        g_assert_cmpstr(id, ==, "a0123456789abcdef");
        g_assert_cmpstr(array_id_first(id), ==, "0123456789abcdef");
        g_assert_null(array_id_first("0123456789abcdef"));
        g_assert_null(array_id_first("a0123456789abcde"));
        g_assert_null(array_id_first("b0123456789abcdef"));
        g_assert_null(array_id_first("sw"));
}

static void test_states(void)
{
        static const struct {
                int counts[JOB_STATES];
                JobState state;
        } cases[] = {
                { { [JOB_SUCCEEDED] = 3 }, JOB_SUCCEEDED },
                { { [JOB_SUCCEEDED] = 3, [JOB_FAILED] = 1 }, JOB_FAILED },
                { { [JOB_SUCCEEDED] = 3, [JOB_CANCELLED] = 1 }, JOB_CANCELLED },
                { { [JOB_FAILED] = 3, [JOB_QUEUED] = 1 }, JOB_QUEUED },
                { { [JOB_RUNNING] = 1, [JOB_QUEUED] = 9, [JOB_FAILED] = 1 }, JOB_RUNNING },
                { { [JOB_SUSPENDED] = 2, [JOB_QUEUED] = 1 }, JOB_QUEUED },
                { { [JOB_SUSPENDED] = 2, [JOB_SUCCEEDED] = 1 }, JOB_SUSPENDED },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(array_state(cases[i].counts), ==, cases[i].state);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/array/steps", test_steps);
        g_test_add_func("/array/elements", test_elements);
        g_test_add_func("/array/names", test_names);
        g_test_add_func("/array/states", test_states);
        return g_test_run();
}
