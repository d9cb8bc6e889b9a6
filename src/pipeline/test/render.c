/* What a run would do: doc/reference/pipelines.md, "Templates" and "Artifacts". The expected values are those of the
 * conformance cases. */
#include "pipeline/render.h"

#include <string.h>

#include "pipeline/condition.h"
#include "pipeline/test/parse.h"

typedef struct {
        Definition *definition;
        RenderContext context;
        RenderDag root;
} Run;

static void run_init(Run *run, const char *body)
{
        *run = (Run){ .definition = parse_valid(body, NULL), .root = { .component = DEFINITION_ROOT } };
        run->context =
                (RenderContext){ .definition = run->definition, .run_id = "run-000007", .user = "root" };
}

static Rendered render_component(const Run *run, const RenderDag *dag, guint32 component, guint32 seq,
                                 const json_t *item, const json_t *contents)
{
        Rendered rendered = { 0 };
        g_autoptr(GError) error = NULL;

        (void)render_instance(&run->context, dag, component, seq, item, contents, &rendered, &error);
        g_assert_no_error(error);
        return rendered;
}

static Rendered render(const Run *run, const RenderDag *dag, const char *path, guint32 seq,
                       const json_t *item, const json_t *contents)
{
        return render_component(run, dag, component_named(run->definition, path), seq, item, contents);
}

static const char *text_in(const json_t *object, const char *name)
{
        return json_string_value(json_object_get(object, name));
}

/* A chain of steps, each with a parameter of the one before, and DAGs whose steps have one of the DAG: with a memo each
 * instance has the values that it has without, and the memo stays small. */
static void test_memo(void)
{
        enum { STEPS = 3000 };
        g_autoptr(GString) text = g_string_new("entry_points: {s0: {command: 'c {{p}}', parameters: {p: 7}}");
        g_auto(RenderMemo) memo = { 0 };
        guint32 first;
        Run run;

        for (int i = 1; i < STEPS; i++)
                g_string_append_printf(
                        text, ", s%d: {command: 'c {{p}}', deps: s%d, parameters: {p: '%s{{s%d.p}}'}}", i,
                        i - 1, i % 1000 ? "" : "x", i - 1);
        g_string_append(
                text,
                ", d: {loop_argument: [1, 2, 3],"
                " entry_points: {e: {command: 'c {{r}}', parameters: {r: '{{PF_PARENT.PF_LOOP_ARGUMENT}}'}}}}}");
        run_init(&run, text->str);
        run.root.id = 1;
        run.context.memo = &memo;
        first = component_named(run.definition, "s0");
        for (guint32 i = 0; i < STEPS; i++) {
                g_auto(Rendered) rendered = render_component(&run, &run.root, first + i, 0, NULL, NULL);

                g_assert_cmpstr(rendered.command, ==, i < 1000 ? "c 7" : i < 2000 ? "c x7" : "c xx7");
        }
        g_assert_nonnull(memo.values);
        g_assert_cmpuint(g_hash_table_size(memo.values), <=, 1024);
        for (guint32 i = 1; i < 4; i++) {
                g_autoptr(json_t) item = json_integer(i);
                RenderDag dag = { &run.root, component_named(run.definition, "d"), i, item, i + 1 };
                g_auto(Rendered) rendered = render(&run, &dag, "d.e", 0, NULL, NULL);
                g_autofree char *want = g_strdup_printf("c %u", i);

                g_assert_cmpstr(rendered.command, ==, want);
        }
        definition_free(run.definition);
}

/* C048, C049, and which variables hide which. */
static void test_texts(void)
{
        g_auto(Rendered) rendered = { 0 };
        Run run;

        run_init(
                &run,
                "entry_points: {a: {command: 'echo {{p1}}_{{p6}} {{{PF_STEP_NAME}}} {{a.b.c}}', parameters: {p1: 1, p6: "
                "1234567890.67, p2: [1, 2, 3, 4], PF_USER_NAME: mine}, env: {e: 'e3_{{PF_RUN_ID}}_{{p2}}', "
                "PF_RUN_ID: mine, u: '{{PF_USER_NAME}}', l: '<{{PF_LOOP_ARGUMENT}}>'}}}");
        rendered = render(&run, &run.root, "a", 0, NULL, NULL);
        g_assert_cmpstr(rendered.command, ==, "echo 1_1234567890.67 {a} {{a.b.c}}");
        g_assert_cmpstr(text_in(rendered.env, "e"), ==, "e3_run-000007_[1 2 3 4]");
        g_assert_cmpstr(text_in(rendered.env, "PF_RUN_ID"), ==, "run-000007");
        g_assert_cmpstr(text_in(rendered.env, "PF_STEP_NAME"), ==, "a");
        g_assert_cmpstr(text_in(rendered.env, "PF_LOOP_ARGUMENT"), ==, "");
        g_assert_cmpstr(text_in(rendered.env, "u"), ==, "root");
        g_assert_cmpstr(text_in(rendered.env, "l"), ==, "<>");
        definition_free(run.definition);
}

/* C050 to C052: one template keeps the type; several become text. */
static void test_types(void)
{
        g_autoptr(json_t) item = json_integer(11);
        g_auto(Rendered) rendered = { 0 };
        RenderDag dag;
        Run run;

        run_init(
                &run,
                "entry_points: {step1: {parameters: {s1p1: 10}}, d: {deps: step1, loop_argument: [11, 12], parameters: "
                "{dp1: 0, dp2: 1, dp3: '{{step1.s1p1}}', dp4: [1, [2]]}, entry_points: {k: {parameters: {c: "
                "'{{PF_PARENT.dp1}}_{{PF_PARENT.dp2}}', i: '{{PF_PARENT.PF_LOOP_ARGUMENT}}', t: "
                "'{{PF_LOOP_ARGUMENT}}', p: '{{PF_PARENT.dp3}}', l: '{{PF_PARENT.dp4}}', n: "
                "'{{PF_STEP_NAME}}'}}}}}");
        dag = (RenderDag){ &run.root, component_named(run.definition, "d"), 0, item };
        rendered = render(&run, &dag, "d.k", 0, NULL, NULL);
        g_assert_cmpstr(text_in(rendered.parameters, "c"), ==, "0_1");
        g_assert_cmpint(json_integer_value(json_object_get(rendered.parameters, "i")), ==, 11);
        g_assert_true(json_is_integer(json_object_get(rendered.parameters, "i")));
        g_assert_cmpstr(text_in(rendered.parameters, "t"), ==, "11"); /* of the DAG, as text */
        g_assert_cmpstr(text_in(rendered.parameters, "n"), ==, "k");
        g_assert_cmpint(json_integer_value(json_object_get(rendered.parameters, "p")), ==, 10);
        g_assert_cmpuint(json_array_size(json_object_get(rendered.parameters, "l")), ==, 2);
        definition_free(run.definition);
}

/* C057, C064, C065, C066. */
static void test_paths(void)
{
        g_autofree char *component =
                g_compute_checksum_for_string(G_CHECKSUM_MD5, "a.entrypoint.data-preprocess", -1);
        g_auto(Rendered) use = { 0 }, dag = { 0 };
        g_autofree char *runtime = NULL;
        Run run;

        g_assert_cmpstr(component, ==, "2578f927d74c8ef09add007179d6d227");
        run_init(
                &run,
                "fs_options: {main_fs: {name: xd, sub_path: testcase/, mount_path: /mnt}}\n"
                "entry_points: {lp: {loop_argument: [a, b], artifacts: {output: [o]}}, use: {deps: lp, artifacts: {input: "
                "{data: '{{lp.o}}'}, output: [out]}, command: '{{data}} {{out}}'}, d: {artifacts: {output: {x: "
                "'{{in.y}}'}}, entry_points: {in: {loop_argument: [1, 2], artifacts: {output: [y]}}}}}");
        runtime = render_runtime_name(&run.context, &run.root, component_named(run.definition, "lp"), 1);
        g_assert_cmpstr(runtime, ==, "demo.entry_points.lp-1");
        use = render(&run, &run.root, "use", 0, NULL, NULL);
        g_assert_cmpstr(text_in(use.inputs, "data"), ==,
                        "testcase/.pipeline/run-000007/demo/lp-0-79888b82899826b721ba213caf990e5f/o,"
                        "testcase/.pipeline/run-000007/demo/lp-1-8e858410f9edc4d1171d796e80276ac3/o");
        g_assert_true(g_str_has_prefix(use.command, "/mnt/.pipeline/run-000007/demo/lp-0-"));
        g_assert_nonnull(strstr(use.command, ",/mnt/.pipeline/run-000007/demo/lp-1-"));
        g_assert_true(g_str_has_prefix(text_in(use.env, "PF_OUTPUT_ARTIFACT_OUT"),
                                       "/mnt/.pipeline/run-000007/demo/use-0-"));
        g_assert_nonnull(text_in(use.env, "PF_INPUT_ARTIFACT_DATA"));
        dag = render(&run, &run.root, "d", 0, NULL, NULL);
        g_assert_nonnull(strstr(text_in(dag.outputs, "x"), ",")); /* both iterations of the child */
        definition_free(run.definition);
}

/* A loop over the item of the loop around it: each instance of the DAG has its own number of paths. */
static void test_nested_loops(void)
{
        g_auto(Rendered) use = { 0 };
        g_auto(GStrv) paths = NULL;
        Run run;

        run_init(&run,
                 "fs_options: {main_fs: {name: xd}}\n"
                 "entry_points: {d: {loop_argument: [[1, 2], [3]], artifacts: {output: {x: '{{in.y}}'}}, "
                 "entry_points: {in: {parameters: {l: '{{PF_PARENT.PF_LOOP_ARGUMENT}}'}, loop_argument: "
                 "'{{l}}', artifacts: {output: [y]}}}}, use: {deps: d, artifacts: {input: {i: '{{d.x}}'}}}}");
        use = render(&run, &run.root, "use", 0, NULL, NULL);
        paths = g_strsplit(text_in(use.inputs, "i"), ",", -1);
        g_assert_cmpuint(g_strv_length(paths), ==, 3);
        g_assert_nonnull(strstr(paths[1], "/in-1-"));
        g_assert_nonnull(strstr(paths[2], "/in-0-"));
        definition_free(run.definition);
}

/* The MD5 of an instance in a loop, as it is in the contract; the default mount path. */
static void test_default_mount(void)
{
        g_autofree char *path = NULL, *inside = NULL, *empty = NULL;
        Run run;

        run_init(&run, "entry_points: {a: {}}");
        definition_free(run.definition);
        run.definition =
                parse_valid("!name: e1\ndocker_env: i\nfs_options: {main_fs: {name: xd}}\nentry_points: {lp: "
                            "{loop_argument: [a, b], artifacts: {output: [o]}}}",
                            NULL);
        run.context.definition = run.definition;
        path = render_output_path(&run.context, &run.root, component_named(run.definition, "lp"), 1, "o");
        g_assert_cmpstr(path, ==, ".pipeline/run-000007/e1/lp-1-34430ff26490bfde63d328a99084b1c8/o");
        inside = render_container_paths(&run.context, path);
        g_assert_cmpstr(inside, ==,
                        "/home/paddleflow/storage/mnt/fs-root-xd/.pipeline/run-000007/e1/"
                        "lp-1-34430ff26490bfde63d328a99084b1c8/o");
        empty = render_container_paths(&run.context, "");
        g_assert_cmpstr(empty, ==, "");
        definition_free(run.definition);
}

/* C074, C075. */
static void test_loops(void)
{
        static const struct {
                const char *keys, *list; /* NULL: RE-02 */
        } cases[] = {
                { "parameters: {p: [1, [2], x]}, loop_argument: '{{p}}'", "[1,[2],\"x\"]" },
                { "parameters: {p: '[1, 2, \"D3\", 4]'}, loop_argument: '{{p}}'", "[1,2,\"D3\",4]" },
                { "loop_argument: '[1, 2.5]'", "[1,2.5]" },
                { "loop_argument: []", "[]" },
                { "parameters: {p: 5}, loop_argument: '{{p}}'", NULL },
                { "parameters: {p: x}, loop_argument: '{{p}}'", NULL },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *body = g_strdup_printf("entry_points: {a: {%s}}", cases[i].keys),
                                *text = NULL;
                g_autoptr(json_t) parameters = NULL, list = NULL;
                g_autoptr(GError) error = NULL;
                const char *input = NULL;
                guint32 a;
                Run run;

                run_init(&run, body);
                a = component_named(run.definition, "a");
                parameters = render_parameters(&run.context, &run.root, a, NULL);
                list = render_loop(&run.context, a, parameters, &input, &error);
                text = list ? json_format(list) : NULL;
                g_assert_cmpstr(text, ==, cases[i].list);
                g_assert_true(list || g_str_has_prefix(error->message, "RE-02"));
                definition_free(run.definition);
        }
}

/* C082: a condition with the content of an artifact. */
static void test_conditions(void)
{
        g_autoptr(json_t) contents = json_pack("{s:s}", "in1", "[10,12,13,14]");
        g_auto(Rendered) known = { 0 }, unknown = { 0 };
        g_autoptr(GError) error = NULL;
        bool value;
        Run run;

        run_init(
                &run,
                "fs_options: {main_fs: {name: xd}}\nentry_points: {a: {artifacts: {output: [o]}}, b: {deps: a, parameters: "
                "{p1: 1}, artifacts: {input: {in1: '{{a.o}}'}}, condition: 'b{{in1}}_{{p1}} == 10'}}");
        known = render(&run, &run.root, "b", 0, NULL, contents);
        g_assert_true(known.condition_known);
        g_assert_cmpstr(known.condition, ==, "b[10,12,13,14]_1 == 10");
        g_assert_false(condition_eval(known.condition, &value, &error));
        unknown = render(&run, &run.root, "b", 0, NULL, NULL);
        g_assert_false(unknown.condition_known);
        definition_free(run.definition);
}

/* C085, R-24. */
static void test_references(void)
{
        g_auto(Rendered) rendered = { 0 };
        g_autoptr(GError) error = NULL;
        Run run;

        run_init(
                &run,
                "components: {cp3: {command: '{{p1}} {{p3}} {{p4}} {{PF_STEP_NAME}}', parameters: {p1: 3, p3: 3, p4: 5}}, "
                "cp2: {reference: {component: cp3}, parameters: {p1: 2, p3: 5}}, cp1: {reference: {component: "
                "cp2}, parameters: {p1: 1}}, t: {parameters: {n: {type: int, default: 1}}}, "
                "u: {parameters: {d: {type: path, default: x}}}}\n"
                "entry_points: {ref1: {reference: {component: cp1}, parameters: {p1: 10}}, bad: {reference: {component: "
                "t}, parameters: {n: '{{PF_RUN_ID}}'}}, from: {parameters: {d: 'a b'}}, "
                "path: {deps: from, reference: {component: u}, parameters: {d: '{{from.d}}'}}}");
        rendered = render(&run, &run.root, "ref1", 0, NULL, NULL);
        g_assert_cmpstr(rendered.command, ==, "10 5 5 ref1");
        g_assert_null(
                render_parameters(&run.context, &run.root, component_named(run.definition, "bad"), &error));
        g_assert_cmpstr(error->message, ==, "RE-03: the parameter 'n' of 'bad' must be a whole number");
        g_clear_error(&error);
        g_assert_null(
                render_parameters(&run.context, &run.root, component_named(run.definition, "path"), &error));
        g_assert_true(g_str_has_prefix(error->message, "RE-03: the parameter 'd' of 'path' must be a path"));
        definition_free(run.definition);
}

/* Each text is below its limit; all of a component together are not. */
static void test_all_parameters_are_bounded(void)
{
        g_autofree char *megabyte = g_strnfill(1000 * 1000, 'x');
        g_autoptr(GString) body = g_string_new("entry_points: {s: {command: c, parameters: {a: ");
        g_auto(Rendered) rendered = { 0 };
        g_autoptr(GError) error = NULL;
        Run run;

        g_string_append_printf(body, "%s}}, t: {command: c, deps: s, parameters: {", megabyte);
        for (int i = 0; i < 20; i++)
                g_string_append_printf(body, "p%d: 'y{{s.a}}', ", i);
        g_string_append(body, "z: 1}}}");
        run_init(&run, body->str);
        g_assert_false(render_instance(&run.context, &run.root, component_named(run.definition, "t"), 0, NULL,
                                       NULL, &rendered, &error));
        g_assert_nonnull(strstr(error->message, "RE-03"));
        definition_free(run.definition);
}

/* As do its variables, its command and the paths of its artifacts: each is short enough. */
static void test_texts_of_a_step_are_bounded(void)
{
        static const struct {
                const char *each, *last; /* keys of the step; `each` has a number */
                int n;
                bool ok;
        } cases[] = {
                { "e%d: '{{a}}'", "env: {%s}", 4, true },
                { "e%d: '{{a}}'", "env: {%s}", 5, false },
                { "e%d: '{{short}}{{short}}'", "env: {%s}", 20, true },
                { "i%d: '{{l.out}}'", "artifacts: {input: {%s}}", 1, true },
                { "i%d: '{{l.out}}'", "artifacts: {input: {%s}}", 8, false },
        };
        g_autofree char *long_text = g_strnfill(900 * 1000, 'x'), *items = g_strnfill(16000, '1');

        for (int i = 1; i < 16000; i += 2)
                items[i] = ',';
        items[15999] = '1';
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GString) list = g_string_new(NULL), body = g_string_new(NULL);
                g_autofree char *keys = NULL;
                g_auto(Rendered) rendered = { 0 };
                g_autoptr(GError) error = NULL;
                bool ok;
                Run run;

                for (int k = 0; k < cases[i].n; k++) {
                        g_string_append(list, k ? ", " : "");
                        g_string_append_printf(list, cases[i].each, k);
                }
                keys = g_strdup_printf(cases[i].last, list->str);
                g_string_printf(
                        body,
                        "fs_options: {main_fs: {name: xd}}\n"
                        "entry_points:\n"
                        "  s: {command: c, parameters: {a: %s, short: y}}\n"
                        "  l: {command: c, loop_argument: [%s], artifacts: {output: [out]}}\n"
                        "  t: {command: c, deps: 's, l', parameters: {b: 1, a: '{{s.a}}', short: '{{s.short}}'}, %s}\n",
                        long_text, items, keys);
                run_init(&run, body->str);
                ok = render_instance(&run.context, &run.root, component_named(run.definition, "t"), 0, NULL,
                                     NULL, &rendered, &error);
                g_test_message("case %zu: %s", i, error ? error->message : "");
                g_assert_cmpint(ok, ==, cases[i].ok);
                g_assert_true(ok || strstr(error->message, "RE-03: "));
                definition_free(run.definition);
        }
}

/* Also templates of short values cost time. */
static void test_many_templates(void)
{
        static const struct {
                const char *begin, *template;
        } cases[] = {
                { "env: {", "{{p}}" },
                { "parameters: {", "{{d.p}}" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GString) text = g_string_new(NULL), body = g_string_new(NULL);
                g_auto(Rendered) rendered = { 0 };
                g_autoptr(GError) error = NULL;
                Run run;

                for (int k = 0; k < 1000; k++)
                        g_string_append(text, cases[i].template);
                g_string_append(
                        body,
                        "entry_points: {d: {command: c, parameters: {p: 1}}, t: {command: c, deps: d, ");
                g_string_append_printf(body, "%s%s", i == 0 ? "parameters: {p: 1}, " : "", cases[i].begin);
                for (int k = 0; k < 300; k++)
                        g_string_append_printf(body, "v%d: '%s', ", k, text->str);
                g_string_append(body, "}}}");
                run_init(&run, body->str);
                g_assert_false(render_instance(&run.context, &run.root, component_named(run.definition, "t"),
                                               0, NULL, NULL, &rendered, &error));
                g_assert_nonnull(strstr(error->message, "RE-03: "));
                definition_free(run.definition);
        }
}

/* One text that refers to all parameters of many components: each is looked for once, not again for each one that is
 * resolved. */
static void test_a_text_of_many_parameters(void)
{
        g_autoptr(GString) body = g_string_new("entry_points: {"), all = g_string_new(NULL),
                           deps = g_string_new(NULL);
        g_auto(Rendered) rendered = { 0 };
        g_autoptr(GError) error = NULL;
        Run run;

        for (int i = 0; i < 3; i++) {
                g_string_append_printf(body, "s%d: {command: c, parameters: {", i);
                g_string_append_printf(deps, "%ss%d", i ? ", " : "", i);
                for (int k = 0; k < 10000; k++) {
                        g_string_append_printf(body, "p%d: 1, ", k);
                        g_string_append_printf(all, "{{s%d.p%d}}", i, k);
                }
                g_string_append(body, "}}, ");
        }
        g_string_append_printf(body, "t: {command: '{{q}}', deps: '%s', parameters: {q: '%s'}}}", deps->str,
                               all->str);
        run_init(&run, body->str);
        rendered = render(&run, &run.root, "t", 0, NULL, NULL);
        g_assert_cmpint(strspn(rendered.command, "1"), ==, 30000);
        definition_free(run.definition);
}

/* A chain of values as long as the text needs no deep recursion; a value that doubles each time is bounded. */
static void test_long_chains(void)
{
        g_autoptr(GString) chain = g_string_new("entry_points:\n  s0: {parameters: {p: 7}}\n");
        g_autoptr(GString) bomb = g_string_new("entry_points:\n  s0: {parameters: {p: xxxx}}\n");
        g_autoptr(json_t) parameters = NULL;
        g_autoptr(GError) error = NULL;
        Run run;

        for (int i = 1; i < 3000; i++)
                g_string_append_printf(chain, "  s%d: {deps: s%d, parameters: {p: '{{s%d.p}}'}}\n", i, i - 1,
                                       i - 1);
        run_init(&run, chain->str);
        parameters =
                render_parameters(&run.context, &run.root, component_named(run.definition, "s2999"), &error);
        g_assert_no_error(error);
        g_assert_cmpint(json_integer_value(json_object_get(parameters, "p")), ==, 7);
        definition_free(run.definition);
        for (int i = 1; i < 60; i++)
                g_string_append_printf(bomb, "  s%d: {deps: s%d, parameters: {p: '{{s%d.p}}{{s%d.p}}'}}\n", i,
                                       i - 1, i - 1, i - 1);
        run_init(&run, bomb->str);
        g_assert_null(
                render_parameters(&run.context, &run.root, component_named(run.definition, "s59"), &error));
        g_assert_nonnull(strstr(error->message, "RE-03"));
        definition_free(run.definition);
}

/* The step took its outputs from another run: those that use them see the other path. */
static char *from_another_run(const RenderContext *context, const RenderDag *dag, guint32 component,
                              guint32 seq, const char *name)
{
        (void)dag;
        if (strcmp(component_name(context->definition, component), "lp") != 0 || seq != 1)
                return NULL;
        return g_strdup_printf(".pipeline/run-000003/%s", name);
}

static void test_other_outputs(void)
{
        g_auto(Rendered) use = { 0 };
        const char *inputs;
        Run run;

        run_init(
                &run,
                "fs_options: {main_fs: {name: xd}}\nentry_points: {lp: {loop_argument: [1, 2], artifacts: {output: "
                "[o]}}, use: {deps: lp, artifacts: {input: {i: '{{lp.o}}'}}}}");
        run.context.output = from_another_run;
        use = render(&run, &run.root, "use", 0, NULL, NULL);
        inputs = text_in(use.inputs, "i");
        g_assert_true(g_str_has_prefix(inputs, ".pipeline/run-000007/demo/lp-0-"));
        g_assert_true(g_str_has_suffix(inputs, ",.pipeline/run-000003/o"));
        definition_free(run.definition);
}

/* The path of an output of a step that is named by its place in the pipeline. */
static char *usual_path(const char *place, const char *step, int number, const char *name)
{
        g_autofree char *runtime = g_strconcat("demo.entry_points.", place, NULL);
        g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_MD5, runtime, -1);

        return g_strdup_printf(".pipeline/run-000007/demo/%s-%d-%s/%s", step, number, sum, name);
}

/* C057: what a step writes is read by two others, by its path in their commands and variables. */
static void test_three_steps(void)
{
        static const char mount[] = "/home/paddleflow/storage/mnt/fs-root-xd/";
        g_autofree char *train_data = usual_path("preprocess", "preprocess", 0, "train_data"),
                        *validate_data = usual_path("preprocess", "preprocess", 0, "validate_data"),
                        *model = usual_path("train", "train", 0, "model"), *train_path = NULL,
                        *command = NULL;
        g_auto(Rendered) train = { 0 }, validate = { 0 };
        Run run;

        run_init(
                &run,
                "fs_options: {main_fs: {name: xd}}\n"
                "entry_points: {preprocess: {artifacts: {output: [train_data, validate_data]}}, train: {deps: preprocess, "
                "artifacts: {input: {train_data: '{{preprocess.train_data}}'}, output: [model]}}, validate: {deps: "
                "'preprocess,train', command: 'run {{data}} {{model}}', artifacts: {input: {data: "
                "'{{preprocess.validate_data}}', model: '{{train.model}}'}}}}");
        train = render(&run, &run.root, "train", 0, NULL, NULL);
        train_path = g_strconcat(mount, train_data, NULL);
        g_assert_cmpstr(text_in(train.env, "PF_INPUT_ARTIFACT_TRAIN_DATA"), ==, train_path);
        validate = render(&run, &run.root, "validate", 0, NULL, NULL);
        command = g_strconcat("run ", mount, validate_data, " ", mount, model, NULL);
        g_assert_cmpstr(validate.command, ==, command);
        definition_free(run.definition);
}

/* C068, C086: an artifact goes into a DAG and out of it, also if the DAG is a component of the library. */
static void test_through_a_dag(void)
{
#define PROCESS                                                                                                    \
        "artifacts: {input: {nums: %s}, output: {result: '{{collector.collection}}'}}, entry_points: {split: "     \
        "{artifacts: {input: {nums: '{{PF_PARENT.nums}}'}, output: [part]}}, collector: {deps: split, artifacts: " \
        "{input: {part: '{{split.part}}'}, output: [collection]}}}"
#define AROUND                                                                                                    \
        "fs_options: {main_fs: {name: xd}}\n%s\nentry_points: {randint: {artifacts: {output: [nums]}}, process: " \
        "{deps: randint, %s}, sum: {deps: process, artifacts: {input: {nums: '{{process.result}}'}}}}"
        static const char reference[] =
                "reference: {component: lib}, artifacts: {input: {nums: '{{randint.nums}}'}}";
        g_autofree char *inside = g_strdup_printf(PROCESS, "'{{randint.nums}}'"),
                        *library = g_strdup_printf("components: {lib: {" PROCESS "}}", "''"),
                        *numbers = usual_path("randint", "randint", 0, "nums"),
                        *part = usual_path("process.split", "split", 0, "part"),
                        *collection = usual_path("process.collector", "collector", 0, "collection");
        const char *const texts[][4] = { { "", inside, "process.split", "process.collector" },
                                         { library, reference, "lib.split", "lib.collector" } };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autofree char *body = g_strdup_printf(AROUND, texts[i][0], texts[i][1]);
                g_auto(Rendered) split = { 0 }, collector = { 0 }, sum = { 0 };
                RenderDag process;
                Run run;

                run_init(&run, body);
                process = (RenderDag){ &run.root, component_named(run.definition, "process"), 0, NULL };
                split = render(&run, &process, texts[i][2], 0, NULL, NULL);
                g_assert_cmpstr(text_in(split.inputs, "nums"), ==, numbers);
                collector = render(&run, &process, texts[i][3], 0, NULL, NULL);
                g_assert_cmpstr(text_in(collector.inputs, "part"), ==, part);
                g_assert_cmpstr(text_in(collector.outputs, "collection"), ==, collection);
                sum = render(&run, &run.root, "sum", 0, NULL, NULL);
                g_assert_cmpstr(text_in(sum.inputs, "nums"), ==, collection);
                definition_free(run.definition);
        }
#undef PROCESS
#undef AROUND
}

/* items are texts without an exponent, and without a fraction if they are whole. */
static void test_items(void)
{
        static const struct {
                double item;
                const char *text;
        } cases[] = { { 1e6, "1000000" }, { 3.0, "3" }, { 0.0000001, "0.0000001" }, { 2.5, "2.5" } };
        Run run;

        run_init(&run, "entry_points: {a: {command: 'c {{PF_LOOP_ARGUMENT}}', loop_argument: '[1]'}}");
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) item = json_real(cases[i].item);
                g_auto(Rendered) rendered = render(&run, &run.root, "a", 0, item, NULL);
                g_autofree char *command = g_strconcat("c ", cases[i].text, NULL);

                g_assert_cmpstr(text_in(rendered.env, "PF_LOOP_ARGUMENT"), ==, cases[i].text);
                g_assert_cmpstr(rendered.command, ==, command);
        }
        definition_free(run.definition);
}

/* what an empty loop gives is no path, also in the container. */
static void test_empty_loop(void)
{
        g_auto(Rendered) use = { 0 };
        Run run;

        run_init(
                &run,
                "fs_options: {main_fs: {name: xd}}\nentry_points: {lp: {loop_argument: [], artifacts: {output: "
                "[o]}}, use: {deps: lp, command: '<{{i}}>', artifacts: {input: {i: '{{lp.o}}'}}}}");
        use = render(&run, &run.root, "use", 0, NULL, NULL);
        g_assert_cmpstr(text_in(use.inputs, "i"), ==, "");
        g_assert_cmpstr(text_in(use.env, "PF_INPUT_ARTIFACT_I"), ==, "");
        g_assert_cmpstr(use.command, ==, "<>");
        definition_free(run.definition);
}

static guint32 five_of_process(const RenderContext *context, const RenderDag *dag, guint32 component)
{
        (void)dag;
        return strcmp(component_name(context->definition, component), "process") == 0 ? 5 : 1;
}

/* C073: the list is in an artifact; the step after the loop has the paths of all items. */
static void test_loop_over_an_artifact(void)
{
        g_auto(Rendered) sum = { 0 };
        g_autoptr(json_t) parameters = NULL, list = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(GString) wanted = g_string_new(NULL);
        const char *input = NULL;
        guint32 process;
        Run run;

        run_init(
                &run,
                "fs_options: {main_fs: {name: xd}}\n"
                "entry_points: {randint: {artifacts: {output: [nums]}}, process: {deps: randint, loop_argument: '{{nums}}', "
                "artifacts: {input: {nums: '{{randint.nums}}'}, output: [out]}}, sum: {deps: process, artifacts: {input: "
                "{all: '{{process.out}}'}}}}");
        process = component_named(run.definition, "process");
        parameters = render_parameters(&run.context, &run.root, process, &error);
        list = render_loop(&run.context, process, parameters, &input, &error);
        g_assert_no_error(error);
        g_assert_null(list);
        g_assert_cmpstr(input, ==, "nums");
        run.context.instances = five_of_process;
        for (int i = 0; i < 5; i++) {
                g_autofree char *place = i ? g_strdup_printf("process-%d", i) : g_strdup("process");
                g_autofree char *path = usual_path(place, "process", i, "out");

                g_string_append_printf(wanted, "%s%s", i ? "," : "", path);
        }
        sum = render(&run, &run.root, "sum", 0, NULL, NULL);
        g_assert_cmpstr(text_in(sum.inputs, "all"), ==, wanted->str);
        definition_free(run.definition);
}

/* C079: which of two steps runs. */
static void test_two_conditions(void)
{
        static const struct {
                const char *step;
                bool holds;
        } cases[] = { { "step1", true }, { "step2", false } };
        Run run;

        run_init(&run, "entry_points: {step1: {parameters: {num: 10}, condition: '{{num}} > 0'}, step2: "
                       "{parameters: {num: 10}, condition: '{{num}} < 0'}}");
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(Rendered) rendered = render(&run, &run.root, cases[i].step, 0, NULL, NULL);
                g_autoptr(GError) error = NULL;
                bool holds = !cases[i].holds;

                g_assert_true(rendered.condition_known);
                g_assert_true(condition_eval(rendered.condition, &holds, &error));
                g_assert_cmpint(holds, ==, cases[i].holds);
        }
        definition_free(run.definition);
}

static guint32 many_instances(const RenderContext *context, const RenderDag *dag, guint32 component)
{
        return component == component_named(context->definition, "a") ? 1000000 : 1;
}

/* Paths that are refused since there are too many of them were made all the same: they count as work. */
static void test_refused_paths_count(void)
{
        g_autoptr(Definition) definition =
                parse_valid("fs_options: {main_fs: {name: f}}\n"
                            "entry_points: {a: {loop_argument: [1], artifacts: {output: [o]}},\n"
                            "  b: {deps: a, artifacts: {input: {i: '{{a.o}}'}}}}",
                            NULL);
        g_auto(RenderMemo) memo = { 0 };
        const RenderContext context = { .definition = definition,
                                        .run_id = "r",
                                        .user = "u",
                                        .instances = many_instances,
                                        .memo = &memo };
        const RenderDag root = { .component = DEFINITION_ROOT };
        g_autoptr(GError) error = NULL;
        g_auto(Rendered) rendered = { 0 };

        g_assert_false(render_instance(&context, &root, component_named(definition, "b"), 0, NULL, NULL,
                                       &rendered, &error));
        g_assert_nonnull(strstr(error->message, "RE-03"));
        g_assert_cmpuint(memo.work, >, RENDER_TEXT_MAX);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/pipeline/render/memo", test_memo);
        g_test_add_func("/render/texts", test_texts);
        g_test_add_func("/render/types", test_types);
        g_test_add_func("/render/paths", test_paths);
        g_test_add_func("/render/nested-loops", test_nested_loops);
        g_test_add_func("/render/default-mount", test_default_mount);
        g_test_add_func("/render/loops", test_loops);
        g_test_add_func("/render/conditions", test_conditions);
        g_test_add_func("/render/references", test_references);
        g_test_add_func("/render/long-chains", test_long_chains);
        g_test_add_func("/render/bounded", test_all_parameters_are_bounded);
        g_test_add_func("/render/texts-of-a-step", test_texts_of_a_step_are_bounded);
        g_test_add_func("/render/many-templates", test_many_templates);
        g_test_add_func("/render/many-parameters", test_a_text_of_many_parameters);
        g_test_add_func("/render/other-outputs", test_other_outputs);
        g_test_add_func("/render/three-steps", test_three_steps);
        g_test_add_func("/render/through-a-dag", test_through_a_dag);
        g_test_add_func("/render/loop-over-an-artifact", test_loop_over_an_artifact);
        g_test_add_func("/render/two-conditions", test_two_conditions);
        g_test_add_func("/render/items", test_items);
        g_test_add_func("/render/empty-loop", test_empty_loop);
        g_test_add_func("/render/refused-paths-count", test_refused_paths_count);
        return g_test_run();
}
