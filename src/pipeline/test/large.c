/* Large and malicious definitions: time and memory stay in proportion to the text. The bars are wide, since sanitizers
 * are slow. Each of these texts took minutes, or gigabytes. */
#include "pipeline/definition.h"

#include <string.h>

#include "base/test/cpu-time.h"
#include "pipeline/fingerprint.h"
#include "pipeline/render.h"
#include "pipeline/test/parse.h"

enum { WIDE_S = 30 };

/* The definition, with its time in the log; NULL with `class` if it has an error. */
static Definition *parse_timed(const char *body, const DefinitionRequest *request, const char *class)
{
        g_auto(Problems) problems = { 0 };
        gint64 began = thread_cpu_us();
        Definition *definition;
        const Problem *first;

        problems_init(&problems);
        definition = parse_with(body, request, &problems);
        first = problems_first(&problems);
        g_test_message("%zu bytes of text: %d ms, %zu bytes compiled, %u errors%s%s", strlen(body),
                       (int)((thread_cpu_us() - began) / 1000), definition ? definition->size : 0, problems.n,
                       first ? ": " : "", first ? first->text : "");
        g_assert_cmpint(thread_cpu_us() - began, <, WIDE_S * G_USEC_PER_SEC);
        g_assert_cmpstr(first ? problem_class_name(first->class) : NULL, ==, class);
        return definition;
}

static const DefinitionRequest none, json_body = { .json_body = true };

/* `env` of a run as JSON is kept once, however many steps there are. */
static void test_shared_environment(void)
{
        g_autoptr(GString) text =
                g_string_new("!{\"name\": \"n\", \"dockerEnv\": \"i\", \"queue\": \"q\", \"env\": {");
        g_autoptr(Definition) definition = NULL;
        g_auto(Rendered) rendered = { 0 };
        RenderContext context = { .run_id = "r", .user = "u" };
        RenderDag root = { .component = DEFINITION_ROOT };

        for (int i = 0; i < 10000; i++)
                g_string_append_printf(text, "%s\"V%d\": \"{{p}}-%d\"", i ? "," : "", i, i);
        g_string_append(text,
                        "}, \"entryPoints\": {\"own\": {\"env\": {\"V1\": \"mine\"}, \"queue\": \"mine\", "
                        "\"parameters\": {\"p\": 7}}");
        for (int i = 0; i < 20000; i++)
                g_string_append_printf(text, ",\"s%d\": {\"parameters\": {\"p\": %d}}", i, i);
        g_string_append(text, "}}");
        definition = parse_timed(text->str, &json_body, NULL);
        g_assert_cmpuint(definition->size, <, 4 * text->len);
        context.definition = definition;
        g_assert_true(render_instance(&context, &root, component_named(definition, "own"), 0, NULL, NULL,
                                      &rendered, NULL));
        g_assert_cmpstr(json_string_value(json_object_get(rendered.env, "V1")), ==, "mine");
        g_assert_cmpstr(json_string_value(json_object_get(rendered.env, "V2")), ==, "7-2");
        g_assert_cmpstr(json_string_value(json_object_get(rendered.env, "PF_JOB_QUEUE_NAME")), ==, "mine");
}

/* A parameter that the shared variables need is missing: one error for each, not one for each step. */
static void test_shared_environment_errors(void)
{
        static const struct {
                const char *env, *steps, *class, *says;
        } cases[] = {
                { "\"V\": \"{{p}}\"", "\"a\": {\"parameters\": {\"p\": 1}}, \"b\": {}, \"c\": {}", "PE-10",
                  "every step takes this variable, but the step 'b' has no parameter 'p'" },
                { "\"V\": \"{{p}}\"", "\"a\": {\"env\": {\"V\": \"x\"}}", NULL, NULL },
                { "\"V\": \"{{a.p}}\"", "\"a\": {}, \"b\": {}", "PE-14", "'{{a.p}}' is not possible in env" },
                { "\"V\": true", "\"a\": {}, \"b\": {}", "PE-02", "must be text or a number" },
                { "\"a-b\": \"x\"", "\"a\": {}, \"b\": {}", "PE-06", "'a-b' is not a name" },
                { "\"V\": \"{{PF_STEP_NAME}}\"", "\"a\": {}", NULL, NULL },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdup_printf(
                        "!{\"name\": \"n\", \"dockerEnv\": \"i\", \"env\": {%s}, \"entryPoints\": {%s}}",
                        cases[i].env, cases[i].steps);
                g_auto(Problems) problems = { 0 };
                g_autoptr(Definition) definition = NULL;
                const Problem *first;

                problems_init(&problems);
                definition = parse_with(text, &json_body, &problems);
                first = problems_first(&problems);
                g_assert_cmpuint(problems.n, ==, cases[i].class ? 1 : 0);
                g_assert_cmpstr(first ? problem_class_name(first->class) : NULL, ==, cases[i].class);
                g_assert_true(!first || g_str_has_prefix(first->text, cases[i].says));
        }
}

static void test_many_parameters(void)
{
        g_autoptr(GString) text = g_string_new("entry_points:\n  a:\n    parameters:\n");
        g_autoptr(Definition) definition = NULL;
        g_autoptr(json_t) parameters = NULL;
        RenderContext context = { .run_id = "r", .user = "u" };
        RenderDag root = { .component = DEFINITION_ROOT };
        gint64 began;

        for (int i = 0; i < 10000; i++)
                g_string_append_printf(text, "      p%d: %d\n", i, i);
        g_string_append(text, "    command: echo ");
        for (int i = 0; i < 10000; i++)
                g_string_append_printf(text, "{{p%d}} ", i);
        definition = parse_timed(text->str, &none, NULL);
        context.definition = definition;
        began = thread_cpu_us();
        parameters = render_parameters(&context, &root, component_named(definition, "a"), NULL);
        g_test_message("10,000 parameters in %d ms", (int)((thread_cpu_us() - began) / 1000));
        g_assert_cmpuint(json_object_size(parameters), ==, 10000);
}

/* Each of 1,000 keys of a request reaches 5,000 steps. */
static void test_requested(void)
{
        g_autoptr(GString) text = g_string_new("entry_points:\n"), list = g_string_new("[0");
        g_autoptr(json_t) parameters = json_object();
        DefinitionRequest request = { .parameters = parameters };
        g_autoptr(Definition) definition = NULL;

        for (int i = 0; i < 5000; i++)
                g_string_append_printf(text, "  s%d: {parameters: {p: 1, q%d: 2}}\n", i, i);
        for (int i = 0; i < 1000; i++) {
                g_autofree char *key = g_strdup_printf("q%d", i);

                json_object_set_new(parameters, key, json_integer(i));
                g_string_append(list, ", 1");
        }
        json_object_set_new(parameters, "p", json_loads(g_string_append(list, "]")->str, 0, NULL));
        definition = parse_timed(text->str, &request, NULL);
        g_assert_cmpuint(definition->size, <, 4 * text->len);
}

/* Hints are not looked for when the error is not kept. */
static void test_many_errors(void)
{
        g_autoptr(GString) text = g_string_new("entry_points:\n");
        g_autoptr(Definition) definition = NULL;

        for (int i = 0; i < 10000; i++)
                g_string_append_printf(text, "  step-%d: {deps: stp-%d}\n", i, i);
        definition = parse_timed(text->str, &none, "PE-08");
        g_assert_null(definition);
        g_string_assign(text, "entry_points:\n  a:\n");
        for (int i = 0; i < 20000; i++)
                g_string_append_printf(text, "    comnd%d: 1\n", i);
        definition = parse_timed(text->str, &none, "PE-03");
}

/* Nothing is looked at behind a limit. */
static void test_limit_is_the_only_error(void)
{
        g_autoptr(GString) text = g_string_new("entry_points:\n");
        g_auto(Problems) problems = { 0 };

        for (int i = 0; i <= 100000; i++)
                g_string_append_printf(text, "  s%d: {deps: s%d}\n", i, i + 1);
        problems_init(&problems);
        g_assert_null(parse_with(text->str, &none, &problems));
        g_assert_cmpuint(problems.n, ==, 1);
        g_assert_cmpstr(problem_class_name(problems_first(&problems)->class), ==, "PE-35");
}

/* A text with many templates that is used many times. */
static void test_aliases(void)
{
        g_autoptr(GString) text =
                g_string_new("entry_points:\n  a:\n    parameters: {p: 1}\n    command: &c '");
        g_autoptr(Definition) definition = NULL;

        for (int i = 0; i < 100000; i++)
                g_string_append(text, "{{p}}");
        g_string_append(text, "'\n");
        for (int i = 0; i < 200; i++)
                g_string_append_printf(text, "  s%d: {parameters: {p: 1}, command: *c}\n", i);
        definition = parse_timed(text->str, &none, "PE-01");
        g_assert_null(definition);
}

static void test_chain_of_references(void)
{
        for (int n = 99; n <= 100; n++) {
                g_autoptr(GString) text = g_string_new("components:\n  c0: {command: x}\n");
                g_autoptr(Definition) definition = NULL;

                for (int i = 1; i <= n; i++)
                        g_string_append_printf(text, "  c%d: {reference: {component: c%d}}\n", i, i - 1);
                g_string_append_printf(text, "entry_points: {r: {reference: {component: c%d}}}\n", n);
                definition = parse_timed(text->str, &none, n == 99 ? NULL : "PE-35");
                if (definition)
                        g_assert_cmpuint(component_target(definition, component_named(definition, "r")), ==,
                                         component_named(definition, "c0"));
        }
}

/* Thousands of disabled components, through references, each used by the same step. */
static void test_disabled(void)
{
        g_autoptr(GString) text = g_string_new("components:\n  c:\n    entry_points:\n"),
                           uses = g_string_new(NULL);
        g_autoptr(GString) deps = g_string_new(NULL);
        g_autoptr(Definition) definition = NULL;
        guint32 chain[2];

        for (int i = 0; i < 1000; i++) {
                g_string_append_printf(text, "      k%d: {parameters: {p: 1}}\n", i);
                g_string_append_printf(deps, "k%d,", i);
                g_string_append_printf(uses, "p%d: '{{k%d.p}}', ", i, i);
        }
        g_string_append_printf(text, "      all: {deps: '%s', parameters: {%s}}\nentry_points:\n", deps->str,
                               uses->str);
        for (int i = 0; i < 9; i++)
                g_string_append_printf(text, "  r%d: {reference: {component: c}}\n", i);
        g_string_append(text, "disabled: '");
        for (int r = 0; r < 9; r++) {
                g_string_append_printf(text, "r%d.all,", r);
                for (int i = 0; i < 1000; i++)
                        g_string_append_printf(text, "r%d.k%d,", r, i);
        }
        g_string_append(text, "'\n");
        definition = parse_timed(text->str, &none, NULL);
        chain[0] = component_named(definition, "r8");
        chain[1] = component_named(definition, "c.k999");
        g_assert_true(definition_is_disabled(definition, chain, 2));
        chain[1] = component_named(definition, "c");
        g_assert_false(definition_is_disabled(definition, chain, 2));
}

/* A step with many dependencies, and a chain as long. */
static void test_wide_and_deep(void)
{
        g_autoptr(GString) wide = g_string_new("entry_points:\n"),
                           deep = g_string_new("entry_points:\n  s0: {parameters: {p: 1}}\n");
        g_autoptr(GString) deps = g_string_new(NULL);
        g_autoptr(Definition) one = NULL, two = NULL;

        for (int i = 1; i < 20000; i++) {
                g_string_append_printf(wide, "  s%d: {}\n", i);
                g_string_append_printf(deps, "s%d,", i);
                g_string_append_printf(deep, "  s%d: {deps: s%d, parameters: {p: '{{s%d.p}}'}}\n", i, i - 1,
                                       i - 1);
        }
        g_string_append_printf(wide, "  last: {deps: '%s'}\n", deps->str);
        one = parse_timed(wide->str, &none, NULL);
        two = parse_timed(deep->str, &none, NULL);
        g_assert_cmpuint(one->n_components, ==, DEFINITION_FIRST + 20000);
        g_assert_cmpuint(two->n_components, ==, DEFINITION_FIRST + 20000);
}

/* "{NAME0: VALUE, NAME1: VALUE, ...}" */
static void add_map(GString *text, const char *name, const char *value, int n)
{
        for (int i = 0; i < n; i++)
                g_string_append_printf(text, "%s%s%d: %s", i ? ", " : "{", name, i, value);
        g_string_append(text, "}");
}

/* A step with thousands of artifacts: its fingerprint leaves out the variable of each, and its condition reads them all. */
static void test_many_artifacts(void)
{
        enum { N = 15000 };
        g_autoptr(GString) text = g_string_new("fs_options: {main_fs: {name: f, mount_path: /f}}\n"
                                               "entry_points:\n  a: {artifacts: {output: [o]}}\n"
                                               "  b:\n    deps: a\n    artifacts: {input: ");
        g_autoptr(Definition) definition = NULL;
        g_autoptr(GPtrArray) names = NULL;
        g_autoptr(json_t) parts = NULL;
        g_auto(Rendered) rendered = { 0 };
        RenderContext context = { .run_id = "r", .user = "u" };
        const RenderDag root = { .component = DEFINITION_ROOT };
        FingerprintStep step = { .user = "u", .rendered = &rendered };
        gint64 began;

        add_map(text, "an_input_with_a_long_name_", "'{{a.o}}'", N);
        g_string_append(text, ", output: ");
        add_map(text, "an_output_with_a_long_name_", "", N);
        g_string_append(text, "}\n    condition: \"'");
        for (int i = 0; i < N; i++)
                g_string_append_printf(text, "{{an_input_with_a_long_name_%d}}", i);
        g_string_append(text, "' != ''\"\n");
        context.definition = step.definition = definition = parse_timed(text->str, &none, NULL);
        step.component = component_named(definition, "b");
        g_assert_true(render_instance(&context, &root, step.component, 0, NULL, NULL, &rendered, NULL));
        began = thread_cpu_us();
        parts = fingerprint_parts(&step);
        names = render_condition_inputs(definition, step.component);
        g_test_message("%d artifacts in %d ms", 2 * N, (int)((thread_cpu_us() - began) / 1000));
        g_assert_cmpint(thread_cpu_us() - began, <, WIDE_S * G_USEC_PER_SEC);
        g_assert_cmpuint(json_object_size(parts), ==, 2 * N + 3); /* image, command, main_fs */
        g_assert_cmpuint(names->len, ==, N);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/large/shared-environment", test_shared_environment);
        g_test_add_func("/large/shared-environment-errors", test_shared_environment_errors);
        g_test_add_func("/large/many-parameters", test_many_parameters);
        g_test_add_func("/large/requested", test_requested);
        g_test_add_func("/large/many-errors", test_many_errors);
        g_test_add_func("/large/limit-is-the-only-error", test_limit_is_the_only_error);
        g_test_add_func("/large/aliases", test_aliases);
        g_test_add_func("/large/chain-of-references", test_chain_of_references);
        g_test_add_func("/large/disabled", test_disabled);
        g_test_add_func("/large/wide-and-deep", test_wide_and_deep);
        g_test_add_func("/large/many-artifacts", test_many_artifacts);
        return g_test_run();
}
