/* Compiled definitions: what a text becomes, its size, its bounds, and where errors are. */
#include "pipeline/definition.h"

#include <string.h>

#include "base/test/cpu-time.h"
#include "pipeline/test/parse.h"
#include "pipeline/value.h"

static void test_settings(void)
{
        static const struct {
                const char *body;
                int parallelism;
        } cases[] = { { "parallelism: -3\n", 10 }, { "parallelism: 0\n", 10 },  { "parallelism: 100\n", 20 },
                      { "parallelism: 7\n", 7 },   { "parallelism: 5.0\n", 5 }, { "", 10 } }; /* C016 */

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *body = g_strconcat(cases[i].body, "entry_points: {a: {}}", NULL);
                g_autoptr(Definition) definition = parse_valid(body, NULL);

                g_assert_cmpint(definition->parallelism, ==, cases[i].parallelism);
                g_assert_false(definition->continues); /* C021, R-6 */
                g_assert_cmpstr(definition_text(definition, definition->name), ==, "demo");
        }
}

/* Only a definition that has artifacts and names no file system gets the default. */
static void test_default_fs(void)
{
        static const struct {
                const char *body, *fs; /* fs "": none */
        } cases[] = {
                { "entry_points: {a: {}}", "" },
                { "entry_points: {a: {artifacts: {output: [o]}}}", "home" },
                { "fs_options: {extra_fs: [{name: x}]}\nentry_points: {a: {artifacts: {output: [o]}}}",
                  "home" },
                { "fs_options: {main_fs: {sub_path: x}}\nentry_points: {a: {artifacts: {output: [o]}}}",
                  "home" },
                { "fs_options: {main_fs: {name: data}}\nentry_points: {a: {artifacts: {output: [o]}}}",
                  "data" },
                { "post_process: {p: {artifacts: {output: [o]}}}\nentry_points: {a: {}}", "home" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Definition) definition =
                        parse_valid(cases[i].body, &(DefinitionRequest){ .fs_default = "home" });

                g_assert_cmpstr(definition_text(definition, definition->main_fs.name), ==, cases[i].fs);
                g_assert_cmpint(definition->has_main_fs, ==, *cases[i].fs != '\0');
        }
}

static char *variable_text(const Definition *definition, const char *path, ValueRole role, const char *name)
{
        guint32 component = component_named(definition, path);

        for (guint32 k = definition->components[component].variables;
             k < definition->components[component + 1].variables; k++) {
                const Value *value = &definition->variables[k];
                GString *out;

                if (value->role != role || strcmp(definition_text(definition, value->name), name) != 0)
                        continue;
                out = g_string_new(NULL);
                value_write(out, definition, value);
                return g_string_free(out, FALSE);
        }
        return NULL;
}

static void assert_variable(const Definition *definition, const char *path, ValueRole role, const char *name,
                            const char *wanted)
{
        g_autofree char *text = variable_text(definition, path, role, name);

        g_assert_cmpstr(text, ==, wanted);
}

static void test_values(void)
{
        g_autoptr(Definition) definition = parse_valid(
                "entry_points: {a: {env: {i: 1, f: 1.5, s: s, g: 0.000000001, h: 100000000000000000000.0}, "
                "parameters: {i: 5.0, f: 1234567890.67, t: 'x y', l: [1, a, 2.5, [3]], d: {type: int, default: 0}, e: "
                "0.0000001, b: 1e21}}}",
                NULL);

        assert_variable(definition, "a", ROLE_ENV, "i", "1"); /* C022 */
        assert_variable(definition, "a", ROLE_ENV, "f", "1.5");
        assert_variable(definition, "a", ROLE_ENV, "s", "s");
        assert_variable(definition, "a", ROLE_ENV, "g", "0");
        assert_variable(definition, "a", ROLE_ENV, "h", "100000000000000000000");
        assert_variable(definition, "a", ROLE_PARAMETER, "i", "5");
        assert_variable(definition, "a", ROLE_PARAMETER, "f", "1234567890.67");
        assert_variable(definition, "a", ROLE_PARAMETER, "t", "x y");
        assert_variable(definition, "a", ROLE_PARAMETER, "l", "[1 a 2.5 [3]]");
        assert_variable(definition, "a", ROLE_PARAMETER, "d", "0");
        assert_variable(definition, "a", ROLE_PARAMETER, "e", "0.0000001");
        assert_variable(definition, "a", ROLE_PARAMETER, "b", "1000000000000000000000");
}

/* C041, and which request value counts: R-18, the one with a path. */
static void test_request(void)
{
        static const char body[] =
                "entry_points: {main: {parameters: {model: x, n: {type: int, default: 3}, l: {type: list, default: [1]}}}, "
                "d: {parameters: {model: y}, entry_points: {k: {parameters: {model: z}}}}}\n"
                "post_process: {end: {parameters: {model: p}}}\ncomponents: {c: {parameters: {model: lib}}}";
        g_autoptr(json_t) parameters =
                json_pack("{s:s, s:s, s:s, s:s, s:s}", "d.k.model", "deep", "model", "all", "main.model",
                          "correct", "n", "17", "l", "[1, \"a\"]");
        DefinitionRequest request = { .parameters = parameters, .name = "other" };
        g_autoptr(Definition) definition = parse_valid(body, &request);

        assert_variable(definition, "main", ROLE_PARAMETER, "model", "correct");
        assert_variable(definition, "d", ROLE_PARAMETER, "model", "all");
        assert_variable(definition, "d.k", ROLE_PARAMETER, "model", "deep");
        assert_variable(definition, "end", ROLE_PARAMETER, "model", "all");
        assert_variable(definition, "c", ROLE_PARAMETER, "model", "lib");
        assert_variable(definition, "main", ROLE_PARAMETER, "n", "17");
        assert_variable(definition, "main", ROLE_PARAMETER, "l", "[1 a]");
        g_assert_cmpstr(definition_text(definition, definition->name), ==, "other");
}

/* C071, C122: a step's own settings, then those of the definition. */
static void test_merged(void)
{
        g_autoptr(Definition) definition = parse_valid(
                "fs_options: {main_fs: {name: m}, extra_fs: [{name: g}]}\n"
                "cache: {enable: true, max_expired_time: '400', fs_scope: [{name: m, path: /A}]}\n"
                "entry_points: {a: {extra_fs: [{name: s, read_only: on}]}, b: {docker_env: own, cache: {enable: false, "
                "max_expired_time: 5}}}\npost_process: {p: {}}",
                NULL);
        guint32 a = component_named(definition, "a"), b = component_named(definition, "b");
        const Extra *extra = component_extra(definition, a);
        bool global;
        CacheOptions cache = component_cache(definition, a, &global);

        g_assert_cmpuint(extra->n_mounts, ==, 1);
        g_assert_cmpstr(definition_text(definition, definition->mounts[extra->mounts].name), ==, "s");
        g_assert_true(definition->mounts[extra->mounts].read_only);
        g_assert_cmpuint(definition->n_extra_mounts, ==, 1);
        g_assert_cmpstr(definition_text(definition, definition->mounts[definition->extra_mounts].name), ==,
                        "g");
        g_assert_cmpint(cache.enable, ==, CACHE_ON);
        g_assert_cmpint(cache.expiry_s, ==, 400);
        g_assert_true(global);
        cache = component_cache(definition, b, &global);
        g_assert_cmpint(cache.enable, ==, CACHE_OFF);
        g_assert_cmpint(cache.expiry_s, ==, 5);
        cache = component_cache(definition, component_named(definition, "p"), &global);
        g_assert_cmpint(cache.enable, ==, CACHE_UNSET);
        g_assert_cmpint(cache.expiry_s, ==, -1);
        g_assert_false(global);
        g_assert_cmpstr(definition_text(definition, definition->components[a].image), ==, "img");
        g_assert_cmpstr(definition_text(definition, definition->components[b].image), ==, "own");
}

/* C123: an empty expiry is none, also where both are empty. */
static void test_empty_expiry(void)
{
        g_autoptr(Definition) definition = parse_valid(
                "cache: {max_expired_time: ''}\nentry_points: {a: {cache: {max_expired_time: ''}}}\n", NULL);
        bool global;

        g_assert_cmpint(component_cache(definition, component_named(definition, "a"), &global).expiry_s, ==,
                        -1);
}

/* C124: the scopes of a step are followed by those of the definition. */
static void test_cache_example(void)
{
        static const struct {
                const char *step;
                int enable;
                gint64 expiry_s;
                guint scopes;
        } rows[] = {
                { "preprocess", CACHE_ON, 300, 2 },
                { "train", CACHE_ON, 600, 1 },
                { "validate", CACHE_OFF, 600, 1 },
        };
        g_autoptr(Definition) definition = parse_valid(
                "fs_options: {main_fs: {name: xd}, extra_fs: [{name: ppl}]}\n"
                "cache: {enable: true, max_expired_time: 600, fs_scope: [{name: ppl, path: cache_example}]}\n"
                "entry_points:\n"
                "  preprocess: {command: p, cache: {enable: true, max_expired_time: 300, fs_scope: [{name: xd, path: "
                "'data/a, data/b'}]}}\n"
                "  train: {command: t, deps: preprocess}\n"
                "  validate: {command: v, deps: train, cache: {enable: false}}\n",
                NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                bool global;
                const CacheOptions cache =
                        component_cache(definition, component_named(definition, rows[i].step), &global);

                g_assert_cmpint(cache.enable, ==, rows[i].enable);
                g_assert_cmpint(cache.expiry_s, ==, rows[i].expiry_s);
                g_assert_cmpuint(cache.n_scopes + (global ? definition->cache.n_scopes : 0), ==,
                                 rows[i].scopes);
        }
}

/* C085: the nearest override counts. */
static void test_chain(void)
{
        static const struct {
                const char *name;
                gint64 value;
        } wanted[] = { { "p1", 10 }, { "p3", 5 }, { "p4", 5 } };
        g_autoptr(Definition) definition = parse_valid(
                "components: {cp3: {parameters: {p1: 3, p3: 3, p4: 5}}, cp2: {reference: {component: cp3}, parameters: {p1: "
                "2, p3: 5}}, cp1: {reference: {component: cp2}, parameters: {p1: 1}}}\n"
                "entry_points: {ref1: {reference: {component: cp1}, parameters: {p1: 10}}}",
                NULL);
        guint32 ref = component_named(definition, "ref1"), target = component_target(definition, ref), owner;

        g_assert_cmpuint(target, ==, component_named(definition, "cp3"));
        for (guint32 k = definition->components[target].variables;
             k < definition->components[target + 1].variables; k++) {
                const char *name = definition_text(definition, definition->variables[k].name);
                const Value *value =
                        component_parameter(definition, ref, definition->variables[k].name, &owner);

                for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++)
                        if (strcmp(wanted[i].name, name) == 0)
                                g_assert_cmpint(value->whole, ==, wanted[i].value);
        }
}

/* C007: blanks and empty names do not count. */
static void test_one_dependency(void)
{
        g_autoptr(Definition) definition = parse_valid("entry_points: {a: {deps: ' b , ,'}, b: {}}", NULL);
        const Component *a = &definition->components[component_named(definition, "a")];

        g_assert_cmpuint(a[1].dependencies - a->dependencies, ==, 1);
        g_assert_cmpuint(definition->links[a->dependencies], ==, component_named(definition, "b"));
}

static void test_graph(void)
{
        g_autoptr(Definition) definition = parse_valid(
                "entry_points: {c: {deps: 'a,b,a'}, d: {deps: c, entry_points: {k: {}, l: {deps: k}}}, a: {}, b: "
                "{deps: a}}\ncomponents: {x: {entry_points: {y: {}}}}\n"
                "disabled: d.k",
                NULL);
        const Component *root = &definition->components[DEFINITION_ROOT];
        guint32 a = component_named(definition, "a"), c = component_named(definition, "c");
        guint32 d = component_named(definition, "d"), chain[] = { d, component_named(definition, "d.k") };

        g_assert_cmpuint(root[1].children - root->children, ==, 4);
        g_assert_cmpuint(definition->components[c + 1].dependencies - definition->components[c].dependencies,
                         ==, 2);
        g_assert_cmpuint(definition->components[a + 1].dependants - definition->components[a].dependants, ==,
                         2);
        g_assert_cmpuint(definition->links[definition->components[c].dependants], ==, d);
        g_assert_true(definition_is_disabled(definition, chain, 2));
        g_assert_false(definition_is_disabled(definition, chain, 1));
}

/* A component in the library is disabled only where the path goes through the reference. */
static void test_disabled_through_reference(void)
{
        g_autoptr(Definition) definition = parse_valid(
                "components: {c: {entry_points: {k: {}}}}\nentry_points: {r: {reference: {component: c}}, s: {reference: "
                "{component: c}}}\ndisabled: r.k",
                NULL);
        guint32 k = component_named(definition, "c.k");
        guint32 in_r[] = { component_named(definition, "r"), k },
                in_s[] = { component_named(definition, "s"), k };

        g_assert_true(definition_is_disabled(definition, in_r, 2));
        g_assert_false(definition_is_disabled(definition, in_s, 2));
}

static void test_places(void)
{
        static const struct {
                const char *body, *says;
        } cases[] = {
                { "entry_points:\n  main:\n    parameters:\n      p: '{{q}}'\n",
                  "line 6, column 10: entry_points.main.parameters.p: '{{q}}' names nothing that parameters may use "
                  "(PE-10)" },
                { "entry_points:\n  main: {comand: x}\n",
                  "line 4, column 10: entry_points.main: there is no key 'comand' here (PE-03)" },
                { "entry_points:\n  d:\n    entry_points: {k: {deps: zz}}\n",
                  "line 5, column 30: entry_points.d.k.deps: there is no component 'zz' beside this one (PE-08)" },
                { "entry_points: {a: {}}\nparallelism: x\n",
                  "line 4, column 14: parallelism: must be a whole number, not text (PE-02)" },
                { "!{\"name\": \"a\",\n \"entry_points\": 5}",
                  "line 2, column 18: entry_points: must be a map of components, not a number (PE-02)" },
                { "entry_points: {a: {deps: c}, b: {deps: a}, c: {deps: b}}",
                  "line 3, column 26: entry_points.a.deps: the dependencies form a circle: 'a' needs 'c', 'c' needs 'b', "
                  "'b' needs 'a' (PE-09)" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                static const DefinitionRequest none;
                g_auto(Problems) problems = { 0 };
                g_autoptr(Definition) definition = NULL;
                g_autofree char *text = NULL;

                problems_init(&problems);
                definition = parse_with(cases[i].body, &none, &problems);
                g_assert_null(definition);
                text = problem_format(problems_first(&problems));
                g_assert_cmpstr(text, ==, cases[i].says);
        }
}

static void test_nearest(void)
{
        static const struct {
                const char *body, *hint;
        } cases[] = {
                { "entry_points: {main: {comand: x}}", "Did you mean 'command'?" },
                { "entry_points: {prepare: {}, b: {deps: prepar}}", "Did you mean 'prepare'?" },
                { "entry_points: {a: {parameters: {epochs: 1}, command: '{{epoch}}'}}",
                  "Did you mean 'epochs'?" },
                { "entry_points: {a: {parameters: {p: '{{PF_RUN_IDS}}'}}}", "Did you mean 'PF_RUN_ID'?" },
                { "entry_points: {a: {parameters: {q: 1}}, b: {parameters: {p: '{{a.q}}'}}}",
                  "Add 'a' to deps." },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                static const DefinitionRequest none;
                g_auto(Problems) problems = { 0 };

                problems_init(&problems);
                g_assert_null(parse_with(cases[i].body, &none, &problems));
                g_assert_cmpstr(problem_hint(problems_first(&problems)), ==, cases[i].hint);
        }
}

/* ---- bounds ---- */

/* The class of the first error; NULL if the text is valid. */
static const char *class_of(const char *body)
{
        static const DefinitionRequest none;
        g_auto(Problems) problems = { 0 };
        g_autoptr(Definition) definition = NULL;
        const Problem *first;

        problems_init(&problems);
        definition = parse_with(body, &none, &problems);
        first = problems_first(&problems);
        if (first)
                g_test_message("%s: %s", first->path, first->text);
        return first ? problem_class_name(first->class) : NULL;
}

static char *nested(int dags)
{
        GString *text = g_string_new("entry_points: {s: ");

        for (int i = 0; i < dags; i++)
                g_string_append(text, "{entry_points: {s: ");
        g_string_append(text, "{}");
        for (int i = 0; i < dags; i++)
                g_string_append(text, "}}");
        g_string_append(text, "}");
        return g_string_free(text, FALSE);
}

static void test_depth(void)
{
        g_autofree char *fits = nested(100), *more = nested(101);

        g_assert_cmpstr(class_of(fits), ==, NULL);
        g_assert_cmpstr(class_of(more), ==, "PE-35");
}

static void test_components(void)
{
        for (int n = 100000; n <= 100001; n++) {
                g_autoptr(GString) text = g_string_new("entry_points:\n");

                for (int i = 0; i < n; i++)
                        g_string_append_printf(text, "  s%d: {}\n", i);
                g_assert_cmpstr(class_of(text->str), ==, n == 100000 ? NULL : "PE-35");
        }
}

/* Seven levels of ten references each would be ten million steps; a hundred DAGs in one another through
 * references. */
static void test_reference_bomb(void)
{
        g_autoptr(GString) text = g_string_new("components:\n  c0: {}\n"),
                           deep = g_string_new("components:\n  c0: {}\n");

        for (int level = 1; level <= 7; level++) {
                g_string_append_printf(text, "  c%d: {entry_points: {", level);
                for (int i = 0; i < 10; i++)
                        g_string_append_printf(text, "%ss%d: {reference: {component: c%d}}", i ? ", " : "", i,
                                               level - 1);
                g_string_append(text, "}}\n");
        }
        g_string_append(text, "entry_points: {a: {reference: {component: c7}}}");
        g_assert_cmpstr(class_of(text->str), ==, "PE-35");
        for (int level = 1; level <= 101; level++)
                g_string_append_printf(deep, "  c%d: {entry_points: {s: {reference: {component: c%d}}}}\n",
                                       level, level - 1);
        g_string_append(deep, "entry_points: {a: {reference: {component: c101}}}");
        g_assert_cmpstr(class_of(deep->str), ==, "PE-35");
}

/* Neither search has a recursion as deep as the text. */
static void test_long_chains(void)
{
        g_autoptr(GString) text = g_string_new("entry_points:\n");

        for (int i = 0; i < 20000; i++)
                g_string_append_printf(text, "  s%d: {deps: s%d}\n", i, (i + 1) % 20000);
        g_assert_cmpstr(class_of(text->str), ==, "PE-09");
}

static void test_many_errors(void)
{
        static const DefinitionRequest none;
        g_autoptr(GString) text = g_string_new("entry_points:\n");
        g_auto(Problems) problems = { 0 };

        for (int i = 0; i < 5000; i++)
                g_string_append_printf(text, "  s%d: {foo: 1}\n", i);
        problems_init(&problems);
        g_assert_null(parse_with(text->str, &none, &problems));
        g_assert_cmpuint(problems.list->len, ==, PROBLEMS_MAX);
        g_assert_cmpuint(problems.n, >=, PROBLEMS_MAX);
}

/* An ordinary definition of 10,000 steps: its compiled form is at most three times as large, and takes at
 * most a second (five under a sanitizer). */
static void test_size_and_time(void)
{
        g_autoptr(GString) text = g_string_new("entry_points:\n");
        g_autoptr(Definition) definition = NULL;
        gint64 began;

        for (int i = 0; i < 10000; i++)
                g_string_append_printf(
                        text,
                        "  step-%05d:\n    command: python train.py --rate {{rate}} --seed {{seed}}\n    deps: "
                        "%s%05d\n    parameters: {rate: 0.%d, seed: %d}\n    env: {MODE: fast%d}\n",
                        i, i ? "step-" : "", i ? i - 1 : 0, i + 1, i, i % 7);
        g_string_replace(text, "deps: 00000\n", "deps: ''\n", 1);
        began = thread_cpu_us();
        definition = parse_valid(text->str, NULL);
        g_assert_cmpint(thread_cpu_us() - began, <, 20 * G_USEC_PER_SEC); /* wide: sanitizers are slow */
        g_test_message("%d bytes of text, %d compiled, %d ms", (int)text->len, (int)definition->size,
                       (int)((thread_cpu_us() - began) / 1000));
        g_assert_cmpuint(definition->size, <=, 3 * text->len);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/definition/settings", test_settings);
        g_test_add_func("/definition/default-fs", test_default_fs);
        g_test_add_func("/definition/values", test_values);
        g_test_add_func("/definition/request", test_request);
        g_test_add_func("/definition/merged", test_merged);
        g_test_add_func("/definition/chain", test_chain);
        g_test_add_func("/definition/empty-expiry", test_empty_expiry);
        g_test_add_func("/definition/cache-example", test_cache_example);
        g_test_add_func("/definition/one-dependency", test_one_dependency);
        g_test_add_func("/definition/graph", test_graph);
        g_test_add_func("/definition/disabled-through-reference", test_disabled_through_reference);
        g_test_add_func("/definition/places", test_places);
        g_test_add_func("/definition/nearest", test_nearest);
        g_test_add_func("/definition/depth", test_depth);
        g_test_add_func("/definition/components", test_components);
        g_test_add_func("/definition/reference-bomb", test_reference_bomb);
        g_test_add_func("/definition/long-chains", test_long_chains);
        g_test_add_func("/definition/many-errors", test_many_errors);
        g_test_add_func("/definition/size-and-time", test_size_and_time);
        return g_test_run();
}
