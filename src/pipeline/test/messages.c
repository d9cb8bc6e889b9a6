/* What a person reads: for common mistakes, the place and the sentence; one error for one mistake; options and requests by
 * their names; warnings; the tree. */
#include "pipeline/definition.h"

#include <string.h>

#include "pipeline/show.h"
#include "pipeline/test/parse.h"

/* "LINE:COLUMN PATH: SENTENCE (CLASS) | HINT" for each problem. */
static void add_lines(GString *out, const GPtrArray *problems)
{
        for (guint i = 0; i < problems->len; i++) {
                const Problem *problem = problems->pdata[i];
                g_autofree char *sentence = problem_sentence(problem);
                const char *hint = problem_hint(problem);

                g_string_append_printf(out, "%s%u:%u %s%s%s (%s)%s%s", out->len ? "\n" : "", problem->line,
                                       problem->column, problem->path, *problem->path ? ": " : "", sentence,
                                       problem_class_name(problem->class), hint ? " | " : "",
                                       hint ? hint : "");
        }
}

static char *said(const char *body, const DefinitionRequest *request)
{
        g_auto(Problems) problems = { 0 };
        g_autoptr(Definition) definition = NULL;
        GString *out = g_string_new(NULL);

        problems_init(&problems);
        definition = parse_with(body, request, &problems);
        g_assert_cmpint(definition != NULL, ==, problems.n == 0);
        problems_sort(&problems);
        add_lines(out, problems.list);
        add_lines(out, problems.warnings);
        return g_string_free(out, FALSE);
}

typedef struct {
        const char *body, *says;
} Case;

static void check_all(const Case *cases, size_t n, const DefinitionRequest *request)
{
        for (size_t i = 0; i < n; i++) {
                g_autofree char *text = said(cases[i].body, request);

                if (strcmp(text, cases[i].says) == 0)
                        continue;
                g_test_message("%s\nsays   %s\nwanted %s", cases[i].body, text, cases[i].says);
                g_test_fail();
        }
}

#define STEP(keys) "entry_points:\n  a:\n" keys

/* Each mistake gives one error: the place is that of the wrong word. */
static void test_places(void)
{
        static const Case cases[] = {
                { "entry_points:\n\ta: {}\n", "4:1 a tab is not allowed here (PE-01) | Indent with spaces." },
                { "entry_points: {a: {command: 'x}}\n",
                  "3:29 the quote that begins here has no end (PE-01)" },
                { STEP("    command: python: x\n"),
                  "5:20 a ':' is not possible here (PE-01) | Put a value that contains ': ' in quotes, or check the "
                  "indentation of this line and the one before it." },
                { STEP("    command: a\n    env\n  b: {}\n"),
                  "6:5 a key without ':' (PE-01) | Write 'key: value', with a blank behind the ':'." },
                { STEP("    command: {{p}}\n"),
                  "5:15 a key must be text, not a map (PE-01) | Put a value with braces in quotes: \"{{...}}\"." },
                { STEP("    command: @x\n"),
                  "5:14 a value cannot begin with '@' (PE-01) | Put it in quotes." },
                { STEP("    command: a\n    command: b\n"), "6:5 the key 'command' is given twice (PE-01)" },
                { "!{\"name\": \"a\"\n \"docker_env\": \"i\"}", "2:2 expected ',' or '}' (PE-01)" },
                { "!{\"name\": \"a\",\n}", "2:1 expected a key in double quotes (PE-01)" },
                { "!{\"name\": 'a'}", "1:10 expected a value (PE-01)" },
                { "!- a\n", "1:1 a definition must be a map, not a list (PE-02)" },
                { STEP("    deps: [b]\n"),
                  "5:11 entry_points.a.deps: must be text: names separated by commas, not a list (PE-02)" },
                { STEP("    command: 5\n"),
                  "5:14 entry_points.a.command: must be text, not a number (PE-02)" },
                { "entry_points:\n  a:\n", "4:5 entry_points.a: must be a map, not nothing (PE-02)" },
                { STEP("    env: {A: true}\n"),
                  "5:14 entry_points.a.env.A: must be text or a number (PE-02)" },
                { STEP("    retries: 2.5\n"), "5:14 entry_points.a.retries: must be a whole number (PE-02)" },
                { STEP("    time_limit: soon\n"),
                  "5:17 entry_points.a.time_limit: must be seconds, or a duration such as 90s, 15m, 2h or 1d, of at most "
                  "3650 days (PE-02)" },
                { STEP("    parameters: {p: {type: int, default: x}}\n"),
                  "5:42 entry_points.a.parameters.p: must be a whole number, not 'x' (PE-16)" },
                { STEP("    parameters: {p: {type: integer, default: 1}}\n"),
                  "5:28 entry_points.a.parameters.p: the type must be string, int, float, path or list (PE-16)" },
                { STEP("    parameters: {p: {type: path, default: 'a b'}}\n"),
                  "5:43 entry_points.a.parameters.p: must be a path of letters, digits, '.', '/', '_' and '-', not 'a b' "
                  "(PE-16)" },
                { STEP("    parameters: {p: true}\n"),
                  "5:21 entry_points.a.parameters.p: must be a number, text or list, not true or false (PE-15) | Quote it "
                  "if it is text." },
                { STEP("    parameters: {p: [1, {}]}\n"),
                  "5:25 entry_points.a.parameters.p: an item of a list must be a number, text without templates or a "
                  "list, not a map (PE-17)" },
                { STEP("    loop_argument: [1, '{{x}}']\n"),
                  "5:24 entry_points.a.loop_argument: an item must be a number, text without templates or a list of "
                  "these, not a template (PE-18)" },
                { STEP("    parameters: {p: '{{x}}'}\n"),
                  "5:21 entry_points.a.parameters.p: '{{x}}' names nothing that parameters may use (PE-10)" },
                { STEP("    env: {A: '{{b.p}}'}\n"),
                  "5:14 entry_points.a.env.A: '{{b.p}}' is not possible in env (PE-14) | Give this component a parameter "
                  "with the value, and use that." },
                { STEP("    condition: '1 >'\n"),
                  "5:16 entry_points.a.condition: the condition ends where a value should be (PE-19)" },
                { STEP("    parameters: {p: 3}\n    condition: '{{p}} = 3'\n"),
                  "6:16 entry_points.a.condition: '=' is not an operator (PE-19) | Write '=='." },
                { STEP("    parameters: {p: 3}\n    condition: '{{p}} > 3 and {{p}} < 5'\n"),
                  "6:16 entry_points.a.condition: 'and' is not an operator (PE-19) | Write '&&'." },
                { STEP("    parameters: {p: 3}\n    condition: 'not ({{p}} > 3)'\n"),
                  "6:16 entry_points.a.condition: 'not' is not an operator (PE-19) | Write '!'." },
                { STEP("    parameters: {p: 3}\n    condition: '{{p}} {{p}}'\n"),
                  "6:16 entry_points.a.condition: an operator is missing between two values (PE-19)" },
                { STEP("    parameters: {p: 3}\n    condition: '{{p}}>-3'\n"),
                  "6:16 entry_points.a.condition: '>-' is not an operator (PE-19) | Separate operators with blanks." },
                { STEP("    artifacts: {output: [o]}\n"),
                  "5:26 entry_points.a.artifacts.output.o: an output artifact needs a main file system (PE-20) | Write "
                  "fs_options: {main_fs: {name: home}}, or give fsName in the request." },
                { STEP("    artifacts: {input: {i: x}}\n"),
                  "5:28 entry_points.a.artifacts.input.i: must be exactly one template of the form "
                  "{{component.artifact}} (PE-21)" },
                { STEP("    docker_env: x.tar\n"),
                  "5:17 entry_points.a.docker_env: an image cannot end in '.tar' (PE-31)" },
                { STEP("    extra_fs: [{name: f, sub_path: /x}]\n"),
                  "5:36 entry_points.a.extra_fs[0]: sub_path is relative to the file system: it does not begin with '/' "
                  "(PE-29)" },
                { "entry_points: {a: {}}\nfailure_options: {strategy: fast}\n",
                  "4:29 failure_options.strategy: must be 'fail_fast' or 'continue', not 'fast' (PE-30)" },
                { "entry_points: {abc: {}}\ndisabled: ab\n",
                  "4:11 disabled: there is no component 'ab' (PE-26) | Did you mean 'abc'?" },
        };
        static const DefinitionRequest none;

        check_all(cases, G_N_ELEMENTS(cases), &none);
}

/* What follows from a mistake is not reported. */
static void test_one_error(void)
{
        static const Case cases[] = {
                { "entry_points: {train: {parameters: {p: 1}}, b: {deps: trian, parameters: {p: '{{train.p}}'}}}",
                  "3:55 entry_points.b.deps: there is no component 'trian' beside this one (PE-08) | Did you mean 'train'?" },
                { "entry_points: {a: {parameters: {p: 1}}, b: {deps: [a], parameters: {p: '{{a.p}}'}}}",
                  "3:51 entry_points.b.deps: must be text: names separated by commas, not a list (PE-02)" },
                { "entry_points: {a: {paramters: {p: 1}, command: '{{p}}'}, b: {deps: a, parameters: {q: '{{a.p}}'}}}",
                  "3:20 entry_points.a: there is no key 'paramters' here (PE-03) | Did you mean 'parameters'?" },
                { "!name: n\ndocker_evn: i\nentry_points: {a: {}, b: {}}\n",
                  "2:1 there is no key 'docker_evn' here (PE-03) | Did you mean 'docker_env'?" },
                { "!name: n\ndocker_env: [i]\nentry_points: {a: {}, b: {}}\n",
                  "2:13 docker_env: must be text, not a list (PE-02)" },
                { "fs_options: {main_fs: xd}\nentry_points: {a: {artifacts: {output: [o]}}}",
                  "3:23 fs_options.main_fs: must be a map, not text (PE-02)" },
                { "entry_points: {a: {artifacts: {outputs: [o]}, command: '{{o}}'}}",
                  "3:32 entry_points.a.artifacts: there is no key 'outputs' here (PE-03) | Did you mean 'output'?" },
                { "component: {c: {}}\nentry_points: {a: {reference: {component: c}}}",
                  "3:1 there is no key 'component' here (PE-03) | Did you mean 'components'?" },
                { "entry_point: {a: {}}\n",
                  "3:1 there is no key 'entry_point' here (PE-03) | Did you mean 'entry_points'?" },
                { "!name: n\ncomponents: {score: {docker_env: i, parameters: {p: 1}}}\n"
                  "entry_points: {a: {reference: score}, b: {docker_env: i, deps: a, parameters: {q: '{{a.p}}'}}}",
                  "3:31 entry_points.a.reference: must be a map: {component: NAME}, not text (PE-02)" },
                { "components: {score: {parameters: {p: 1}}}\n"
                  "entry_points: {a: {reference: {componet: score}}, b: {deps: a, parameters: {q: '{{a.p}}'}}}",
                  "4:32 entry_points.a.reference: there is no key 'componet' here (PE-03) | Did you mean 'component'?" },
                { "components: {score: {parameters: {p: 1}}}\n"
                  "entry_points: {a: {reference: {component: scor}}, b: {deps: a, parameters: {q: '{{a.p}}'}}}",
                  "4:43 entry_points.a.reference.component: there is no component 'scor' under 'components' (PE-22) | Did "
                  "you mean 'score'?" },
                { "entry_points: {a: x, b: {deps: a, parameters: {p: '{{a.p}}'}}}",
                  "3:19 entry_points.a: must be a map, not text (PE-02)" },
                { "!name: [n]\ndocker_env: i\nentry_points: {a: {}}\n",
                  "1:7 name: must be text, not a list (PE-02)" },
                { "!name: n\ndocker_env: x.tar\nentry_points: {a: {}, b: {}}\n",
                  "2:13 docker_env: an image cannot end in '.tar' (PE-31)" },
        };
        static const DefinitionRequest none;

        check_all(cases, G_N_ELEMENTS(cases), &none);
}

/* A wrong key: the key that is meant, where it belongs, or which keys there are. */
static void test_keys(void)
{
        static const Case cases[] = {
                { STEP("    depends_on: b\n"),
                  "5:5 entry_points.a: there is no key 'depends_on' here (PE-03) | Did you mean 'deps'?" },
                { STEP("    image: i\n"),
                  "5:5 entry_points.a: there is no key 'image' here (PE-03) | Did you mean 'docker_env'?" },
                { STEP("    withItems: [1]\n"),
                  "5:5 entry_points.a: there is no key 'withItems' here (PE-03) | Did you mean 'loop_argument'?" },
                { STEP("    steps: {b: {}}\n"),
                  "5:5 entry_points.a: there is no key 'steps' here (PE-03) | Did you mean 'entry_points'?" },
                { STEP("    retry: 3\n"),
                  "5:5 entry_points.a: there is no key 'retry' here (PE-03) | Did you mean 'retries'?" },
                { STEP("    resources: {cpu: 1}\n"),
                  "5:5 entry_points.a: there is no key 'resources' here (PE-03) | Set PF_JOB_FLAVOUR in the step's env." },
                { STEP("    queue: q\n"),
                  "5:5 entry_points.a: there is no key 'queue' here (PE-03) | Set PF_JOB_QUEUE_NAME in the step's env." },
                { STEP("    parallelism: 3\n"),
                  "5:5 entry_points.a: there is no key 'parallelism' here (PE-03) | 'parallelism' is a key of the top level." },
                { STEP("    output: [o]\n"),
                  "5:5 entry_points.a: there is no key 'output' here (PE-03) | 'output' is a key of artifacts." },
                { "entry_points: {a: {}}\ncommand: c\n",
                  "4:1 there is no key 'command' here (PE-03) | 'command' is a key of a step." },
                { "entry_points: {a: {}}\nfailure_options: {zzzz: 1}\n",
                  "4:19 failure_options: there is no key 'zzzz' here (PE-03) | Possible keys: strategy." },
                { "entry_points: {a: {artifacts: {zzzz: 1}}}\n",
                  "3:32 entry_points.a.artifacts: there is no key 'zzzz' here (PE-03) | Possible keys: input, output." },
                { "entry_points: {a: {}}\nzzzz: 1\n",
                  "4:1 there is no key 'zzzz' here (PE-03) | Possible keys: name, docker_env, entry_points, components, cache, "
                  "parallelism, disabled, failure_options, post_process, fs_options." },
        };
        static const DefinitionRequest none;

        check_all(cases, G_N_ELEMENTS(cases), &none);
}

/* An error of the request has no line, and the name that the person wrote. */
static void test_request(void)
{
        static const char body[] =
                "entry_points: {train: {parameters: {epochs: {type: int, default: 3}}}, d: {entry_points: "
                "{k: {parameters: {epochs: 1}}}}}";
        static const struct {
                const char *key, *value, *option,
                        *request; /* what is said on the command line, and of a request */
        } cases[] = {
                { "epochs", "abc", "0:0 -p epochs: must be a whole number, not 'abc' (PE-16)",
                  "0:0 parameters.epochs: must be a whole number, not 'abc' (PE-16)" },
                { "train.epochs", "{{zz}}",
                  "0:0 -p train.epochs: must be a whole number, not '{{zz}}' (PE-16)",
                  "0:0 parameters.train.epochs: must be a whole number, not '{{zz}}' (PE-16)" },
                { "d.k.epochs", "{{zz}}",
                  "0:0 -p d.k.epochs: '{{zz}}' names nothing that parameters may use (PE-10)",
                  "0:0 parameters.d.k.epochs: '{{zz}}' names nothing that parameters may use (PE-10)" },
                { "epoch", "1",
                  "0:0 -p epoch: no component has a parameter of this name (PE-32) | Did you mean 'epochs'?",
                  "0:0 parameters.epoch: no component has a parameter of this name (PE-32) | Did you mean 'epochs'?" },
                { "trian.epochs", "1",
                  "0:0 -p trian.epochs: there is no component 'trian' in the pipeline (PE-32) | Did you mean 'train'?",
                  "0:0 parameters.trian.epochs: there is no component 'trian' in the pipeline (PE-32) | Did you mean "
                  "'train'?" },
                { "train.epoch", "1",
                  "0:0 -p train.epoch: the component 'train' has no parameter 'epoch' (PE-32) | Did you mean 'epochs'?",
                  "0:0 parameters.train.epoch: the component 'train' has no parameter 'epoch' (PE-32) | Did you mean "
                  "'epochs'?" },
        };

        for (size_t i = 0; i < 2 * G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) parameters = json_pack("{s:s}", cases[i / 2].key, cases[i / 2].value);
                DefinitionRequest request = { .parameters = parameters, .command_line = i % 2 == 0 };
                g_autofree char *text = said(body, &request);

                g_assert_cmpstr(text, ==, i % 2 ? cases[i / 2].request : cases[i / 2].option);
        }
}

static void test_options(void)
{
        static const Case cases[] = {
                { "!name: n\nentry_points: {a: {}}\n",
                  "2:16 entry_points.a.docker_env: the step has no image (PE-02) | Set docker_env here or for the whole "
                  "pipeline, or give --image." },
                { STEP("    artifacts: {output: [o]}\n"),
                  "5:26 entry_points.a.artifacts.output.o: an output artifact needs a main file system (PE-20) | Write "
                  "fs_options: {main_fs: {name: home}}, or give --fs." },
        };
        static const Case given[] = {
                { "fs_options: {main_fs: {name: x}}\nentry_points: {a: {}}",
                  "0:0 --name: '1' is not a name of a pipeline (PE-04) | Use at most 128 letters, digits, '_' and '-'; "
                  "begin with a letter or '_'.\n"
                  "0:0 --fs: names the file system 'y', but main_fs of the definition is 'x' (InvalidArguments)\n"
                  "0:0 --disabled: there is no component 'b' (PE-26)\n"
                  "0:0 --image: an image cannot end in '.tar' (PE-31)" },
        };
        static const DefinitionRequest none = { .command_line = true }, all = {
                .command_line = true, .name = "1", .fs_name = "y", .disabled = "b", .docker_env = "a.tar"
        };
        g_autofree char *text = said(given[0].body, &all);
        g_auto(GStrv) lines = g_strsplit(given[0].says, "\n", -1);

        check_all(cases, G_N_ELEMENTS(cases), &none);
        for (int i = 0; lines[i]; i++)
                g_assert_nonnull(strstr(text, lines[i]));
        g_assert_cmpuint(strlen(text), ==, strlen(given[0].says));
}

/* Valid, but it cannot work, or does not what its author expects. */
static void test_warnings(void)
{
        static const Case cases[] = {
                { STEP("    parameters: {n: 5}\n"),
                  "4:3 entry_points.a.command: the step has no command: it fails (RE-05) (warning)" },
                { STEP("    command: ' '\n"),
                  "5:14 entry_points.a.command: the step has no command: it fails (RE-05) (warning)" },
                { STEP("    env: {PF_JOB_TYPE: distributed}\n"), "" },
                { "components: {c: {command: x}}\nentry_points: {a: {reference: {component: c}}}\n", "" },
                { STEP("    parameters: {n: 5}\n    loop_argument: '{{n}}'\n    command: c\n"),
                  "6:20 entry_points.a.loop_argument: the parameter 'n' is '5', which is not a list: this component fails "
                  "(RE-02) (warning)" }, /* C075 */
                { "entry_points: {s: {parameters: {n: x y}, command: c}, a: {deps: s, parameters: {m: '{{s.n}}'}, loop_argument: '{{m}}', command: c}}",
                  "3:111 entry_points.a.loop_argument: the parameter 'm' is 'x y', which is not a list: this component "
                  "fails (RE-02) (warning)" },
                { STEP("    parameters: {n: '[1, 2]'}\n    loop_argument: '{{n}}'\n    command: c\n"), "" },
                { STEP("    loop_argument: []\n    command: c\n"),
                  "5:20 entry_points.a.loop_argument: the list is empty, so this component is always skipped (warning)" },
                { STEP("    condition: abc\n    command: c\n"),
                  "5:16 entry_points.a.condition: with the values of its parameters it is \"abc\", which cannot be "
                  "evaluated: the condition is neither true nor false (RE-01) (warning)" },
                { STEP("    parameters: {p: x y}\n    condition: \"{{p}} == x\"\n    command: c\n"),
                  "6:16 entry_points.a.condition: with the values of its parameters it is \"x y == x\", which cannot be "
                  "evaluated: an operator is missing between two values (RE-01) (warning)" },
                { STEP("    parameters: {p: rock and roll}\n    condition: \"{{p}} == x\"\n    command: c\n"),
                  "6:16 entry_points.a.condition: with the values of its parameters it is \"rock and roll == x\", which "
                  "cannot be evaluated: an operator is missing between two values (RE-01) (warning)" },
                { STEP("    parameters: {p: 3}\n    condition: \"{{p}} > 2\"\n    command: c\n"), "" },
                { STEP("    command: echo {{a.b.c}}\n"),
                  "5:14 entry_points.a.command: '{{a.b.c}}' stays as it is: a template is {{name}} or {{component.name}} "
                  "(warning)" },
                { STEP("    command: |\n      echo '{{}}' '{{\"a\": 1}}' {{{PF_RUN_ID}}}\n"), "" },
                { STEP("    docker_env: '{{image}}'\n    command: c\n"),
                  "5:17 entry_points.a.docker_env: 'docker_env' has no templates: the text stays as it is (warning)" },
                { STEP("    command: echo {{PF_LOOP_ARGUMENT}}\n"),
                  "5:14 entry_points.a.command: '{{PF_LOOP_ARGUMENT}}' is always empty: this component has no "
                  "loop_argument (warning)" },
                { STEP("    loop_argument: [1]\n    parameters: {p: '{{PF_LOOP_ARGUMENT}}'}\n    command: c\n"),
                  "6:21 entry_points.a.parameters.p: '{{PF_LOOP_ARGUMENT}}' is always empty: here it is the item of the "
                  "DAG around, which has no loop_argument (warning)" },
                { STEP("    env: {PF_RUN_ID: x}\n    command: c\n"),
                  "5:11 entry_points.a.env.PF_RUN_ID: the run replaces this variable by its own value (warning)" },
                { "entry_points: {a: {command: c}}\nparallelism: 100\n",
                  "4:14 parallelism: a run has at most 20 steps at one time, unless the administrator allows more "
                  "(warning)" },
                { "components: {c: {parameters: {p: 1}, loop_argument: '{{p}}', command: c}}\n"
                  "entry_points: {a: {reference: {component: c}, parameters: {p: [1]}}}",
                  "" }, /* a reference gives the list */
        };
        static const DefinitionRequest warn = { .warn = true };

        check_all(cases, G_N_ELEMENTS(cases), &warn);
}

/* The tree as it is drawn for a pipe, and for a narrow terminal. */
static void test_show(void)
{
        g_autoptr(Definition) definition = parse_valid(
                "components: {score: {}}\n"
                "entry_points: {fetch: {}, train: {deps: fetch, loop_argument: [1, 2], entry_points: {fit: {}, "
                "test: {deps: fit}}}, a-very-long-name-of-a-step: {deps: 'fetch, train', condition: 1 > 0}, s: {reference: "
                "{component: score}}}\ndisabled: s\npost_process: {tidy: {}}",
                NULL);
        g_autofree char *wide = definition_show(definition, true, 0),
                        *narrow = definition_show(definition, false, 40);

        g_assert_cmpstr(wide, ==,
                        "demo\n"
                        "├─ fetch\n"
                        "├─ train                       after fetch; loop over 2 items\n"
                        "│  ├─ fit\n"
                        "│  └─ test                     after fit\n"
                        "├─ a-very-long-name-of-a-step  after fetch, train; if 1 > 0\n"
                        "└─ s                           uses score; disabled\n"
                        "post_process\n"
                        "└─ tidy\n"
                        "components\n"
                        "└─ score\n");
        g_assert_cmpstr(narrow, ==,
                        "demo\n"
                        "|- fetch\n"
                        "|- train    after fetch; loop over 2\n"
                        "|  |        items\n"
                        "|  |- fit\n"
                        "|  `- test  after fit\n"
                        "|- a-very-long-name-of-a-step\n"
                        "|           after fetch, train; if 1 > 0\n"
                        "`- s        uses score; disabled\n"
                        "post_process\n"
                        "`- tidy\n"
                        "components\n"
                        "`- score\n");
}

/* Names that Python has made up are shown as where their values come from, also through DAGs; others as they are. */
static void test_generated_names(void)
{
        g_autoptr(Definition) definition = parse_valid(
                "fs_options: {main_fs: {name: home}}\n"
                "entry_points: {a: {parameters: {n: 1, list: [1]}, artifacts: {output: [o]}},\n"
                " b: {deps: a, parameters: {condition_param_0a1: '{{a.n}}', loop_param_zz: '{{a.list}}', loop_param_: '{{a.list}}'},\n"
                "  condition: '{{condition_param_0a1}} > 3 && é', loop_argument: '{{loop_param_zz}}'},\n"
                " c: {deps: a, parameters: {n: '{{a.n}}', condition_param_A: '{{a.n}}'},\n"
                "  condition: '{{n}} > {{condition_param_A}}'},\n"
                " d: {deps: a, artifacts: {input: {dsl_art_1: '{{a.o}}'}}, parameters: {dsl_param_2: '{{a.n}}'}, entry_points: {\n"
                "  e: {artifacts: {input: {condition_art_1: '{{PF_PARENT.dsl_art_1}}'}},\n"
                "   parameters: {condition_param_2: '{{PF_PARENT.dsl_param_2}}', condition_param_3: 'x {{PF_PARENT.dsl_param_2}}'},\n"
                "   condition: '{{condition_art_1}} > {{ condition_param_2 }} || {{condition_param_3}} == x'}}}}",
                NULL);
        g_autofree char *shown = definition_show(definition, true, 0);

        g_assert_cmpstr(shown, ==,
                        "demo\n"
                        "├─ a\n"
                        "├─ b     after a; loop over {{a.list}}; if {{a.n}} > 3 && é\n"
                        "├─ c     after a; if {{n}} > {{condition_param_A}}\n"
                        "└─ d     after a\n"
                        "   └─ e  if {{a.o}} > {{a.n}} || {{condition_param_3}} == x\n");
}

/* A wide character takes two columns of a terminal. */
static void test_show_wide(void)
{
        g_autoptr(Definition) definition = parse_valid(
                "entry_points: {a: {}, b: {deps: a, condition: '中文字符中文字符 == 中文字符中文字符'}}",
                NULL);
        g_autofree char *shown = definition_show(definition, true, 40),
                        *narrow = definition_show(definition, true,
                                                  33); /* the last one of a word would be half outside */

        g_assert_cmpstr(shown, ==,
                        "demo\n"
                        "├─ a\n"
                        "└─ b  after a; if 中文字符中文字符 ==\n"
                        "      中文字符中文字符\n");
        g_assert_cmpstr(narrow, ==,
                        "demo\n"
                        "├─ a\n"
                        "└─ b  after a; if\n"
                        "      中文字符中文字符 ==\n"
                        "      中文字符中文字符\n");
}

/* Of many dependencies the first are named. */
static void test_show_many(void)
{
        g_autoptr(GString) text = g_string_new("entry_points: {");
        g_autoptr(Definition) definition = NULL;
        g_autofree char *tree = NULL;

        for (int i = 0; i < 20; i++)
                g_string_append_printf(text, "s%d: {}, ", i);
        g_string_append(text, "last: {deps: '");
        for (int i = 0; i < 20; i++)
                g_string_append_printf(text, "s%d,", i);
        g_string_append(text, "'}}");
        definition = parse_valid(text->str, NULL);
        tree = definition_show(definition, true, 0);
        g_assert_true(g_str_has_suffix(tree, "└─ last  after s0, s1, s2, s3, s4, s5 and 14 more\n"));
}

/* Texts with a limit: what has just as many bytes is taken, one byte more is refused at its place. */
static void test_long_texts(void)
{
        static const struct {
                const char *before, *after; /* of the text, in one definition */
                guint max;
                const char *says;
        } cases[] = {
                { STEP("    extra_fs: [{name: f, mount_path: /"), "}]\n", 1023,
                  "5:38 entry_points.a.extra_fs[0].mount_path: is longer than 1024 bytes (PE-02)" },
                { STEP("    extra_fs: [{name: f, sub_path: "), "}]\n", 1024,
                  "5:36 entry_points.a.extra_fs[0].sub_path: is longer than 1024 bytes (PE-02)" },
                { STEP("    extra_fs: [{name: "), "}]\n", 63,
                  "5:23 entry_points.a.extra_fs[0].name: is longer than 63 bytes (PE-28)" },
                { "entry_points: {a: {}}\nfs_options:\n  extra_fs:\n  - {name: f, sub_path: ", "}\n", 1024,
                  "6:25 fs_options.extra_fs[0].sub_path: is longer than 1024 bytes (PE-02)" },
                { "entry_points: {a: {}}\nfs_options:\n  main_fs: {name: ", "}\n", 63,
                  "5:19 fs_options.main_fs.name: is longer than 63 bytes (PE-28)" },
                { "entry_points: {a: {}}\nfs_options:\n  main_fs: {name: f, mount_path: /", "}\n", 1023,
                  "5:34 fs_options.main_fs.mount_path: is longer than 1024 bytes (PE-02)" },
                { "entry_points: {a: {}}\nfs_options:\n  main_fs: {name: f, sub_path: ", "}\n", 1024,
                  "5:32 fs_options.main_fs.sub_path: is longer than 1024 bytes (PE-02)" },
                { STEP("    command: "), "\n", 1024 * 1024,
                  "5:14 entry_points.a.command: is longer than 1048576 bytes (PE-02)" },
                { STEP("    condition: "), " == b\n", 1024 * 1024 - 5,
                  "5:16 entry_points.a.condition: is longer than 1048576 bytes (PE-02)" },
                { STEP("    env: {V: "), "}\n", 1024 * 1024,
                  "5:14 entry_points.a.env.V: is longer than 1048576 bytes (PE-02)" },
        };
        static const DefinitionRequest none;

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *fits = g_strnfill(cases[i].max, 'b');
                g_autofree char *good = g_strconcat(cases[i].before, fits, cases[i].after, NULL);
                g_autofree char *bad = g_strconcat(cases[i].before, fits, "b", cases[i].after, NULL);
                g_autofree char *nothing = said(good, &none), *sentence = said(bad, &none);

                g_assert_cmpstr(nothing, ==, "");
                g_assert_cmpstr(sentence, ==, cases[i].says);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/messages/places", test_places);
        g_test_add_func("/messages/one-error", test_one_error);
        g_test_add_func("/messages/keys", test_keys);
        g_test_add_func("/messages/request", test_request);
        g_test_add_func("/messages/options", test_options);
        g_test_add_func("/messages/warnings", test_warnings);
        g_test_add_func("/messages/show", test_show);
        g_test_add_func("/messages/generated-names", test_generated_names);
        g_test_add_func("/messages/show-many", test_show_many);
        g_test_add_func("/messages/show-wide", test_show_wide);
        g_test_add_func("/messages/long-texts", test_long_texts);
        return g_test_run();
}
