/* Runs as the language describes them (doc/reference/pipelines.md, by the numbers of its cases): each case is a definition, what
 * happens to its steps, and the states that must follow. test/run.c has random ones. */
#include "pipeline/run.h"

#include <string.h>

/* A case: `events` are words: PATH is the step's name, or name-number in a loop.
 *      NAME:ok NAME:fail NAME:kill     the job of a running step ends
 *      NAME:yes NAME:no NAME:wrong     its condition; NAME:3 the number of items of its loop, NAME:no-list
 *      stop, force                     a user's stop
 * Then PATH=STATE must hold, and run=STATE. */
typedef struct {
        const char *name, *text, *events;
} Case;

static const char *const states[] = {
        [NODE_NONE] = "none",       [NODE_LOOKING] = "looking",       [NODE_STARTING] = "starting",
        [NODE_RUNNING] = "running", [NODE_STOPPING] = "stopping",     [NODE_SUCCEEDED] = "succeeded",
        [NODE_FAILED] = "failed",   [NODE_TERMINATED] = "terminated", [NODE_CANCELLED] = "cancelled",
        [NODE_SKIPPED] = "skipped",
};

#define FAILURE                                                                                              \
        "docker_env: i\n"                                                                                    \
        "post_process:\n  step6: {command: c}\n"                                                             \
        "entry_points:\n"                                                                                    \
        "  step1: {command: c}\n  step2: {command: c, deps: step1}\n  step3: {command: c, deps: step2}\n"    \
        "  step4: {command: c}\n  step5: {command: c, deps: 'step1,step4'}\n"
#define TWO "docker_env: i\nentry_points:\n  a: {command: c}\n  b: {command: c, deps: a}\n"
#define LOOP                                                                                                 \
        "docker_env: i\nentry_points:\n  a: {command: c, loop_argument: [1, 2]}\n  b: {command: c, deps: a}\n"
#define NESTED                                                                                                    \
        "docker_env: i\nentry_points:\n"                                                                          \
        "  d:\n    entry_points:\n      x: {command: c}\n      y: {command: c, deps: x}\n      z: {command: c}\n" \
        "  e: {command: c, deps: d}\n  f: {command: c}\n"
#define CONTINUE "failure_options: {strategy: continue}\n"
#define DAG_EXAMPLE                                                                                          \
        "      split: {command: c}\n      two: {command: c, deps: split}\n"                                  \
        "      collector: {command: c, deps: two}\n"
#define DAG_EVENTS                                                                                             \
        "randint=running process=none randint:ok process=running split=running two=none split:ok two=running " \
        "collector=none two:ok sum=none collector:ok process=succeeded sum=running sum:ok run=succeeded"
/* Five components come after a, one of them through `other` alone as well. */
#define DOWNSTREAM                                                                                           \
        CONTINUE "docker_env: i\nentry_points:\n"                                                            \
                 "  a: {command: c}\n  other: {command: c}\n"                                                \
                 "  b: {command: c, deps: a}\n  c: {command: c, deps: a}\n  d: {command: c, deps: b}\n"      \
                 "  e: {command: c, deps: 'c,other'}\n  f: {command: c, deps: 'd,e'}\n"                      \
                 "  leaf: {command: c, deps: other}\n"
#define POST "post_process:\n  p: {command: c}\n"

static const Case cases[] = {
        { "C001 chain",
          "docker_env: i\nentry_points:\n  c: {command: c, deps: b}\n  b: {command: c, deps: a}\n  a: {command: c}\n",
          "a=running b=none c=none a:ok b=running c=none b:ok c=running c:ok run=succeeded" },
        { "C068 DAG",
          "docker_env: i\nentry_points:\n  randint: {command: c}\n"
          "  process:\n    deps: randint\n    entry_points:\n" DAG_EXAMPLE
          "  sum: {command: c, deps: process}\n",
          DAG_EVENTS },
        { "C086 DAG by reference",
          "docker_env: i\ncomponents:\n  lib:\n    entry_points:\n" DAG_EXAMPLE
          "entry_points:\n  randint: {command: c}\n"
          "  process: {deps: randint, reference: {component: lib}}\n  sum: {command: c, deps: process}\n",
          DAG_EVENTS },
        { "C079 conditions",
          "docker_env: i\nentry_points:\n  step1: {command: c, condition: '10 > 0'}\n"
          "  step2: {command: c, condition: '10 < 0'}\n",
          "step1:yes step1=running step2:no step2=skipped step1:ok step1=succeeded run=succeeded" },
        { "C098 ready",
          "docker_env: i\nentry_points:\n  a: {command: c}\n  b: {command: c}\n"
          "  c: {command: c, deps: a}\n  d: {command: c, deps: a}\n  e: {command: c, deps: 'a,b'}\n",
          "a=running b=running c=none e=none a:ok c=running d=running e=none b:fail c=stopping e=cancelled" },
        { "C099 loop", LOOP, "a:2 a:ok b=none a-1:ok b=running b:ok run=succeeded" },
        { "C100 all succeeded", TWO, "a:ok b:ok run=succeeded" },
        { "C100 stopped", TWO, "stop a=stopping a:kill a=terminated b=cancelled run=terminated" },
        { "C100 failed wins", TWO, "stop a:fail a=failed b=cancelled run=failed" },
        { "C101 continue", CONTINUE FAILURE,
          "step4:fail step5=cancelled step1=running step1:ok step2:ok step3:ok step6=running step6:ok "
          "step3=succeeded step4=failed step5=cancelled run=failed" },
        { "C102 fail_fast", FAILURE,
          "step4:fail step1=stopping step1:kill step1=terminated step2=cancelled step3=cancelled step5=cancelled "
          "step6:ok run=failed" },
        { "C103 all that comes after", DOWNSTREAM,
          "a:fail b=cancelled c=cancelled d=cancelled e=cancelled f=cancelled other=running leaf=none other:ok leaf:ok "
          "run=failed" },
        { "C103 nothing comes after", DOWNSTREAM,
          "other:ok leaf:fail a=running b=none f=none a:ok b:ok c:ok d:ok e:ok f:ok f=succeeded run=failed" },
        { "C105 condition",
          "docker_env: i\nparallelism: 1\nentry_points:\n  a: {command: c, condition: '1 > 2'}\n"
          "  b: {command: c, deps: a}\n",
          "a:no a=skipped b=running b:ok run=succeeded" },
        { "C092, C105 disabled", "disabled: a\n" TWO, "a=skipped b=running b:ok run=succeeded" },
        { "C106 waiting",
          "parallelism: 1\ndocker_env: i\nentry_points:\n  a: {command: c}\n  b: {command: c}\n",
          "a=running b=none stop b=terminated a:kill run=terminated" },
        { "C107 stop with post_process", POST TWO, "stop a:kill p=running p:ok a=terminated run=terminated" },
        { "C108 forced stop", POST TWO, "force a:kill p=cancelled run=terminated" },
        { "forced stop of post_process", POST TWO,
          "a:ok b:ok p=running force p=stopping p:kill run=terminated" },
        { "stop while post_process runs", POST TWO, "a:ok b:ok stop p=running p:ok run=succeeded" },
        { "post_process fails", POST TWO, "a:ok b:ok p:fail run=failed" },
        { "C109, R-19 killed", TWO, "a:kill a=terminated b=cancelled run=failed" },
        { "C078 empty loop", LOOP, "a:0 a=skipped b=running b:ok run=succeeded" },
        { "R-23 empty loop of a step with a condition",
          "docker_env: i\nentry_points:\n  a: {command: c, loop_argument: [1], condition: '1 > 2'}\n"
          "  b: {command: c, deps: a}\n",
          "a:0 a=skipped b=running b:ok run=succeeded" },
        { "R-23 empty loop of a DAG",
          "docker_env: i\nentry_points:\n  d:\n    loop_argument: [1]\n    entry_points:\n"
          "      x: {command: c}\n  e: {command: c, deps: d}\n",
          "d:0 d=skipped e=running e:ok run=succeeded" },
        { "R-21 disabled, with a loop and a condition",
          "docker_env: i\ndisabled: a\nentry_points:\n"
          "  a: {command: c, loop_argument: [1, 2], condition: \"'x' > 1\"}\n  b: {command: c, deps: a}\n",
          "a=skipped b=running b:ok run=succeeded" },
        { "R-20 order of the definition",
          "docker_env: i\nparallelism: 1\nentry_points:\n  z: {command: c}\n  y: {command: c}\n"
          "  b: {command: c, deps: z}\n  a: {command: c}\n",
          "z=running y=none a=none z:ok y=running a=none b=none y:ok a=running b=none a:ok b=running b:ok "
          "run=succeeded" },
        { "R-20 order of a loop",
          "docker_env: i\nparallelism: 1\nentry_points:\n  l: {command: c, loop_argument: [1]}\n",
          "l:3 l=running l-1=none l-2=none l:ok l-1=running l-2=none l-1:ok l-2=running l-2:ok run=succeeded" },
        { "R-22 a DAG needs no slot",
          "docker_env: i\nparallelism: 1\ndisabled: d.x\nentry_points:\n  a: {command: c}\n"
          "  d:\n    entry_points:\n      x: {command: c}\n",
          "a=running x=skipped d=succeeded a:ok run=succeeded" },
        { "R-22 a disabled step needs no slot",
          "docker_env: i\nparallelism: 1\ndisabled: b\nentry_points:\n  a: {command: c}\n  b: {command: c}\n",
          "a=running b=skipped a:ok run=succeeded" },
        { "R-22 a condition needs no slot",
          "docker_env: i\nparallelism: 1\nentry_points:\n  a: {command: c}\n"
          "  b: {command: c, condition: '1 > 2'}\n  d:\n    condition: 1 > 2\n    entry_points:\n"
          "      x: {command: c}\n",
          "a=running b=looking d=looking b:no d:no b=skipped d=skipped a=running a:ok run=succeeded" },
        { "R-22 a step whose condition holds waits for a slot",
          "docker_env: i\nparallelism: 1\nentry_points:\n  a: {command: c}\n"
          "  b: {command: c, condition: '2 > 1'}\n  c: {command: c}\n",
          "a=running b:yes b=looking c=none a:ok c=running b=looking c:ok b=running b:ok run=succeeded" },
        { "R-22 a step that waits with its condition is stopped",
          "docker_env: i\nparallelism: 1\nentry_points:\n  a: {command: c}\n"
          "  b: {command: c, condition: '2 > 1'}\n",
          "b:yes stop b=terminated a:kill run=terminated" },
        { "R-22 a loop needs no slot",
          "docker_env: i\nparallelism: 1\nentry_points:\n  a: {command: c}\n"
          "  l: {command: c, loop_argument: [1]}\n  m: {command: c, deps: l, loop_argument: [1]}\n",
          "a=running l:0 l=skipped m:0 m=skipped a:ok run=succeeded" },
        { "R-20, R-22 slots in order",
          "docker_env: i\nparallelism: 1\nentry_points:\n  a: {command: c}\n"
          "  d:\n    entry_points:\n      x: {command: c}\n      y: {command: c, deps: x}\n  b: {command: c}\n",
          "a=running d=running x=none b=none a:ok x=running b=none x:ok b=running y=none b:ok y=running y:ok "
          "run=succeeded" },
        { "C075 no list", LOOP, "a:no-list a=failed b=cancelled run=failed" },
        { "condition wrong", "docker_env: i\nentry_points:\n  a: {command: c, condition: '1 > 2'}\n",
          "a:wrong a=failed run=failed" },
        { "all skipped", "docker_env: i\nentry_points:\n  a: {command: c, condition: '1 > 2'}\n",
          "a:no run=succeeded" },
        { "C084 DAG skipped",
          "docker_env: i\nentry_points:\n  d:\n    condition: 1 > 2\n    entry_points:\n"
          "      x: {command: c}\n",
          "d:no d=skipped run=succeeded" },
        { "nested, fail_fast", NESTED,
          "x:fail d=stopping z=stopping f=stopping y=cancelled e=cancelled z:kill d=failed f:kill run=failed" },
        { "nested, continue", CONTINUE NESTED,
          "x:fail y=cancelled z=running e=none d=running z:ok d=failed e=cancelled f=running f:ok run=failed" },
        { "other iterations go on", CONTINUE LOOP, "a:2 a:fail a-1=running b=cancelled a-1:ok run=failed" },
        { "other iterations are stopped", LOOP, "a:2 a:fail a-1=stopping a-1:kill b=cancelled run=failed" },
};

typedef struct {
        const Case *test;
        Definition *definition;
        Run *run;
} Stage;

static void on_action(void *arg, RunActionKind kind, guint32 index)
{
        const Stage *stage = arg;

        if (kind == ACTION_START)
                run_started(stage->run, index, index);
}

static void work(Stage *stage)
{
        guint budget = 1000;

        g_assert_false(run_work(stage->run, &budget, on_action, stage));
        run_keep(stage->run);
}

/* "a-1" is number 1 of a. */
static guint32 find_child(const Stage *stage, const char *path, guint32 *ret_number)
{
        g_auto(GStrv) words = g_strsplit(path, "-", 2);

        *ret_number = words[1] ? (guint32)g_ascii_strtoull(words[1], NULL, 10) : 0;
        for (guint32 d = 0; d < run_dags(stage->run); d++)
                for (guint32 i = 0; i < run_dag(stage->run, d)->n_children; i++) {
                        guint32 ret = run_dag(stage->run, d)->children + i;

                        if (strcmp(component_name(stage->definition, run_child_component(stage->run, ret)),
                                   words[0]) == 0)
                                return ret;
                }
        g_error("%s: there is no %s", stage->test->name, path);
}

static void expect(const Stage *stage, const char *path, const char *state)
{
        guint32 number, child;
        NodeState found = run_state(stage->run);

        if (strcmp(path, "run") != 0) {
                child = find_child(stage, path, &number);
                found = run_state_of(stage->run, child, number);
        }
        if (strcmp(states[found], state) != 0)
                g_error("%s: %s is %s, not %s", stage->test->name, path, states[found], state);
}

static void happen(Stage *stage, const char *path, const char *what)
{
        guint32 number, child = find_child(stage, path, &number),
                        node = run_child(stage->run, child)->first + number;

        if (g_ascii_isdigit(*what) || strcmp(what, "no-list") == 0)
                (void)run_expanded(stage->run, child, (guint32)g_ascii_strtoull(what, NULL, 10),
                                   *what == 'n');
        else if (strcmp(what, "yes") == 0 || strcmp(what, "no") == 0 || strcmp(what, "wrong") == 0)
                run_looked(stage->run, node, *what == 'y', *what == 'w');
        else
                run_ended(stage->run, node,
                          *what == 'o'   ? NODE_SUCCEEDED
                          : *what == 'f' ? NODE_FAILED
                                         : NODE_TERMINATED);
        work(stage);
}

static void test_case(gconstpointer data)
{
        Stage stage = { .test = data };
        g_autofree char *text = g_strconcat("name: p\n", stage.test->text, NULL);
        g_auto(GStrv) events = g_strsplit(stage.test->events, " ", -1);
        g_auto(Problems) problems = { 0 };

        problems_init(&problems);
        stage.definition = definition_parse(text, strlen(text), &(DefinitionRequest){ 0 }, &problems);
        if (!stage.definition)
                g_error("%s: %s", stage.test->name, problem_format(problems_first(&problems)));
        stage.run = run_new(stage.definition, DEFINITION_INSTANCES_MAX);
        run_begin(stage.run);
        work(&stage);
        for (char **event = events; *event; event++) {
                g_auto(GStrv) expected = g_strsplit(*event, "=", 2), happens = g_strsplit(*event, ":", 2);

                if (expected[1]) {
                        expect(&stage, expected[0], expected[1]);
                } else if (happens[1]) {
                        happen(&stage, happens[0], happens[1]);
                } else {
                        run_stop(stage.run, strcmp(*event, "force") == 0);
                        work(&stage);
                }
        }
        run_free(stage.run);
        definition_free(stage.definition);
}

/* 97: never more than `parallelism`; a loop that is larger than the run may be fails. */
static void test_limits(void)
{
        static const char text[] = "name: p\ndocker_env: i\nparallelism: 5\nentry_points:\n"
                                   "  a: {command: c, loop_argument: [1]}\n";
        Stage stage = { .test = cases };
        g_auto(Problems) problems = { 0 };
        guint32 child;

        problems_init(&problems);
        stage.definition = definition_parse(text, strlen(text), &(DefinitionRequest){ 0 }, &problems);
        stage.run = run_new(stage.definition, 12);
        run_begin(stage.run);
        work(&stage);
        child = run_dag(stage.run, 0)->children;
        g_assert_true(run_expanded(stage.run, child, 10, false)); /* with the two of the run itself: 12 */
        for (guint32 i = 0; i < 10; i++) {
                work(&stage);
                g_assert_cmpuint(run_slots_used(stage.run), ==, MIN(5, 10 - i));
                run_ended(stage.run, run_child(stage.run, child)->first + i, NODE_SUCCEEDED);
        }
        work(&stage);
        g_assert_cmpuint(run_slots_used(stage.run), ==, 0);
        g_assert_cmpint(run_state(stage.run), ==, NODE_SUCCEEDED);
        run_free(stage.run);

        stage.run = run_new(stage.definition, 12);
        run_begin(stage.run);
        work(&stage);
        g_assert_false(run_expanded(stage.run, run_dag(stage.run, 0)->children, 11, false));
        work(&stage);
        g_assert_cmpint(run_state(stage.run), ==, NODE_FAILED);
        run_free(stage.run);
        definition_free(stage.definition);
}

/* 3 children in each of 5 DAGs: the fourth DAG would bring the children of all above 12. */
static void test_many_dags(void)
{
        static const char text[] = "name: p\ndocker_env: i\nentry_points:\n  d:\n    loop_argument: [1]\n"
                                   "    entry_points:\n      a: {command: c}\n      b: {command: c}\n"
                                   "      c: {command: c}\n";
        Stage stage = { .test = cases };
        g_auto(Problems) problems = { 0 };
        guint32 child;

        problems_init(&problems);
        stage.definition = definition_parse(text, strlen(text), &(DefinitionRequest){ 0 }, &problems);
        stage.run = run_new(stage.definition, 12);
        run_begin(stage.run);
        work(&stage);
        child = run_dag(stage.run, 0)->children;
        g_assert_true(run_expanded(stage.run, child, 5, false));
        work(&stage);
        g_assert_true(run_is_full(stage.run));
        g_assert_cmpint(run_state_of(stage.run, child, 3), ==, NODE_FAILED);
        for (guint32 i = 0; i < run_nodes(stage.run); i++)
                if (run_node(stage.run, i)->state == NODE_STOPPING)
                        run_ended(stage.run, i, NODE_TERMINATED);
        work(&stage);
        g_assert_cmpint(run_state(stage.run), ==, NODE_FAILED);
        run_free(stage.run);
        definition_free(stage.definition);
}

/* The caller lets it add no more than this: a loop, then the children of DAGs. DAGs need no slot. */
static void test_limited(void)
{
        static const char text[] = "name: p\ndocker_env: i\nparallelism: 1\nentry_points:\n  d:\n"
                                   "    loop_argument: [1]\n    entry_points:\n      a: {command: c}\n";
        Stage stage = { .test = cases };
        g_auto(Problems) problems = { 0 };
        guint32 child;

        problems_init(&problems);
        stage.definition = definition_parse(text, strlen(text), &(DefinitionRequest){ 0 }, &problems);
        stage.run = run_new(stage.definition, 100);
        run_begin(stage.run);
        work(&stage);
        child = run_dag(stage.run, 0)->children;
        run_limit(stage.run, 4);
        g_assert_false(run_expanded(stage.run, child, 5, false));
        run_free(stage.run);

        stage.run = run_new(stage.definition, 100);
        run_begin(stage.run);
        work(&stage);
        g_assert_true(run_expanded(stage.run, child, 5, false));
        run_limit(stage.run, 1);
        work(&stage);
        g_assert_cmpint(run_state_of(stage.run, child, 0), ==, NODE_STOPPING); /* its step runs */
        g_assert_true(run_is_full(stage.run));
        g_assert_cmpint(run_state_of(stage.run, child, 1), ==, NODE_FAILED);
        run_free(stage.run);
        definition_free(stage.definition);
}

typedef struct {
        Stage stage;
        GString *actions;
} Recorded;

static void record_action(void *arg, RunActionKind kind, guint32 index)
{
        static const char *const words[] = { "expand", "look", "start", "stop", "pause", "end" };
        Recorded *recorded = arg;

        g_string_append_printf(recorded->actions, "%s%s", recorded->actions->len ? " " : "", words[kind]);
        if (kind == ACTION_START)
                run_started(recorded->stage.run, index, 7);
}

/* A run after a start of the server, of whose steps a and b these states are stored, while it is stopped: `actions` follow. */
static void check_resumed(NodeState a, NodeState b, const char *actions, NodeState end)
{
        static const char text[] = "name: p\n" POST TWO;
        Recorded recorded = { .stage = { .test = cases }, .actions = g_string_new(NULL) };
        g_auto(Problems) problems = { 0 };
        const NodeState states_of[] = { a, b };
        guint budget = 1000;
        Stage *stage = &recorded.stage;

        problems_init(&problems);
        stage->definition = definition_parse(text, strlen(text), &(DefinitionRequest){ 0 }, &problems);
        stage->run = run_new(stage->definition, 100);
        for (guint32 i = 0; i < 2 && states_of[i] != NODE_NONE; i++)
                run_restore_node(
                        stage->run, RUN_POST + 1 + i, RUN_ROOT,
                        &(RunNode){ .component = stage->definition->components[DEFINITION_ROOT].children + i,
                                    .state = (guint8)states_of[i],
                                    .job = i + 1 },
                        false);
        run_restored(stage->run, true, false);
        g_assert_false(run_work(stage->run, &budget, record_action, &recorded));
        g_assert_cmpstr(recorded.actions->str, ==, actions);
        for (guint32 i = RUN_POST + 1; i < run_nodes(stage->run); i++)
                run_ended(stage->run, i,
                          run_node(stage->run, i)->state == NODE_STOPPING ? NODE_TERMINATED : NODE_SUCCEEDED);
        g_assert_false(run_work(stage->run, &budget, record_action, &recorded));
        for (guint32 i = RUN_POST + 1; i < run_nodes(stage->run); i++)
                run_ended(stage->run, i, NODE_SUCCEEDED); /* post_process, where it began only now */
        g_assert_false(run_work(stage->run, &budget, record_action, &recorded));
        g_assert_cmpint(run_state(stage->run), ==, end);
        g_string_free(recorded.actions, TRUE);
        run_free(stage->run);
        definition_free(stage->definition);
}

/* what runs is stopped, and post_process begins when all has ended. */
static void test_resumed(void)
{
        check_resumed(NODE_RUNNING, NODE_NONE, "stop", NODE_TERMINATED);
        check_resumed(NODE_TERMINATED, NODE_NONE, "start", NODE_TERMINATED);
        check_resumed(NODE_SUCCEEDED, NODE_RUNNING, "stop", NODE_TERMINATED);
        check_resumed(NODE_SUCCEEDED, NODE_SUCCEEDED, "start", NODE_SUCCEEDED);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strdup_printf("/pipeline/run-cases/%s", cases[i].name);

                g_test_add_data_func(path, &cases[i], test_case);
        }
        g_test_add_func("/pipeline/run-cases/C097 limits", test_limits);
        g_test_add_func("/pipeline/run-cases/many DAGs", test_many_dags);
        g_test_add_func("/pipeline/run-cases/limited", test_limited);
        g_test_add_func("/pipeline/run-cases/R-35 resumed", test_resumed);
        return g_test_run();
}
