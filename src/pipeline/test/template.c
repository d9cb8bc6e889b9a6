/* The scanner of templates: doc/reference/pipelines.md, "Templates". */
#include "pipeline/template.h"

#include <string.h>

static void test_find(void)
{
        static const struct {
                const char *text, *found, *part1, *name;
        } cases[] = {
                { "x {{ p }} y", "{{ p }}", NULL, "p" },
                { "{{a-b.c_d}}", "{{a-b.c_d}}", "a-b", "c_d" },
                { "{{ .x }}", "{{ .x }}", NULL, "x" },
                { "{{a-b}}", "{{a-b}}", NULL, "a-b" },
                { "{{{PF_STEP_NAME}}}", "{{PF_STEP_NAME}}", NULL, "PF_STEP_NAME" },
                { "{{\n\tp\t}}", "{{\n\tp\t}}", NULL, "p" },
                { "{{a.b.c}} {{}} {{$x}} {{a b}} {{a.b-c}} {{a.}} {{ ü }} {p}} {{p}", NULL, NULL, NULL },
                { "{{ {{p}} }}", "{{p}}", NULL, "p" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                Template found = { 0 };

                g_test_message("%s", cases[i].text);
                g_assert_cmpint(template_find(cases[i].text, &found), ==, cases[i].found != NULL);
                if (!cases[i].found)
                        continue;
                g_assert_cmpmem(found.at, found.len, cases[i].found, strlen(cases[i].found));
                g_assert_cmpmem(found.name, found.name_len, cases[i].name, strlen(cases[i].name));
                g_assert_cmpint(found.part1 != NULL, ==, cases[i].part1 != NULL);
                if (found.part1)
                        g_assert_cmpmem(found.part1, found.part1_len, cases[i].part1, strlen(cases[i].part1));
        }
}

static void test_whole(void)
{
        Template found;

        g_assert_true(template_is_whole("{{  a.b  }}", &found));
        g_assert_false(template_is_whole(" {{a.b}}", &found));
        g_assert_false(template_is_whole("{{a.b}}x", &found));
        g_assert_false(template_is_whole("{{a.b", &found));
        g_assert_false(template_is_whole("{{a}}{{b}}", &found));
        g_assert_false(template_is_whole("", &found));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/template/find", test_find);
        g_test_add_func("/template/whole", test_whole);
        return g_test_run();
}
