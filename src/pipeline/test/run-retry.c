/* What a retry keeps (doc/reference/pipelines.md, "Retry"): tables. test/run.c has random runs beside a naive model.
 *
 * A run is played: jobs of the steps in `fails` fail, all others succeed; each loop has two items. */
#include "pipeline/run-retry.h"

#include <string.h>

#include "base/err.h"
#include "pipeline/run.h"

typedef struct {
        const char *name, *text, *fails;
        const char *from, *parameters; /* JSON with ' for "; or NULL */
        const char *kept; /* the rows of the new run in their order; + behind a DAG that goes on */
        const char *gone; /* instances whose output is gone; or NULL */
} Case;

#define HEAD "name: p\ndocker_env: i\nfailure_options: {strategy: continue}\n"
#define CHAIN                                                                                                \
        HEAD "entry_points:\n  a: {command: c}\n  b: {command: c, deps: a}\n  c: {command: c, deps: b}\n"    \
             "  d: {command: c}\npost_process:\n  p: {command: c}\n"
#define NESTED                                                                                                 \
        HEAD "entry_points:\n  d:\n    entry_points:\n      x: {command: c}\n      y: {command: c, deps: x}\n" \
             "      z: {command: c}\n  e: {command: c, deps: d}\n  f: {command: c}\n"
#define LOOP HEAD "entry_points:\n  a: {command: c, loop_argument: [1, 2]}\n  b: {command: c, deps: a}\n"
#define LOOPED_DAG                                                                                           \
        HEAD "entry_points:\n  d:\n    loop_argument: [1, 2]\n    entry_points:\n      x: {command: c}\n"    \
             "      y: {command: c, deps: x}\n  e: {command: c, deps: d}\n"
#define FORK HEAD "entry_points:\n  a: {command: c}\n  b: {command: c, deps: a}\n  c: {command: c, deps: a}\n"
#define AFTER HEAD "entry_points:\n  a: {command: c}\n  b: {command: c, deps: a, loop_argument: [1, 2]}\n"
#define INSIDE                                                                                                 \
        HEAD "entry_points:\n  a: {command: c}\n  d:\n    deps: a\n    entry_points:\n      x: {command: c}\n" \
             "      y: {command: c, deps: x}\n"
#define PARAMETERS                                                                                           \
        HEAD "entry_points:\n  a: {command: c, parameters: {n: 1, m: 5}}\n"                                  \
             "  b: {command: c, deps: a, parameters: {k: '{{a.n}}'}}\n"                                      \
             "  c: {command: c, parameters: {k: 7}}\n"                                                       \
             "  d:\n    parameters: {n: 1, q: 2}\n    entry_points:\n"                                       \
             "      x: {command: c, parameters: {n2: '{{PF_PARENT.n}}'}}\n"                                  \
             "      y: {command: c, parameters: {q2: '{{PF_PARENT.q}}'}}\n"                                  \
             "      z: {command: c}\n"
#define LIBRARY                                                                                                            \
        HEAD "entry_points:\n  r: {reference: {component: lib}, parameters: {n: 3}}\n  s: {reference: {component: lib}}\n" \
             "components:\n  lib:\n    parameters: {n: 1}\n    entry_points:\n"                                            \
             "      x: {command: c, parameters: {m: '{{PF_PARENT.n}}'}}\n      y: {command: c}\n"

static const Case cases[] = {
        { "C111 what succeeded is kept", CHAIN, "b", NULL, NULL, "a d" },
        { "post_process runs again", CHAIN, "p", NULL, NULL, "a d b c" },
        { "from a step", CHAIN, "", "b", NULL, "a d" },
        { "from the first step", CHAIN, "", "a", NULL, "d" },
        { "from a step, and another failed", CHAIN, "d", "c", NULL, "a b" },
        { "C111 a DAG goes on", NESTED, "y", NULL, NULL, "d+ d.x d.z f" },
        { "C111 a DAG with nothing kept goes on", NESTED, "x,z", NULL, NULL, "d+ f" },
        { "from inside of a DAG", NESTED, "", "d.y", NULL, "d+ d.x d.z f" },
        { "from a DAG", NESTED, "", "d", NULL, "f" },
        { "C111, R-32 a loop goes on", LOOP, "a-1", NULL, NULL, "a-0" },
        { "a loop with no item that succeeded", LOOP, "a-0,a-1", NULL, NULL, "" },
        { "from a loop", LOOP, "", "a", NULL, "" },
        { "behind a loop", LOOP, "", "b", NULL, "a-0 a-1" },
        { "C111 a loop of a DAG goes on", LOOPED_DAG, "d-1.y", NULL, NULL, "d-0 d-1+ d-0.x d-1.x d-0.y" },
        { "from inside of a loop of a DAG", LOOPED_DAG, "", "d.y", NULL, "d-0+ d-1+ d-0.x d-1.x" },
        { "the same parameters", PARAMETERS, "", NULL, "{'a.n': 1, 'c.k': 7}", "a c d d.x d.y d.z b" },
        { "a parameter of a step", PARAMETERS, "", NULL, "{'c.k': 8}", "a d d.x d.y d.z b" },
        { "what depends on it", PARAMETERS, "", NULL, "{'a.n': 2}", "c d d.x d.y d.z" },
        { "a parameter that nothing else uses", PARAMETERS, "", NULL, "{'a.m': 6}", "c d d.x d.y d.z" },
        { "a parameter of a DAG", PARAMETERS, "", NULL, "{'d.n': 2}", "a c d+ d.y d.z b" },
        { "a parameter of several", PARAMETERS, "", NULL, "{'n': 9}", "c d+ d.y d.z" },
        { "a parameter of a reference", LIBRARY, "", NULL, "{'r.n': 4}", "s s.x s.y" },
        { "files that nobody needs are gone", CHAIN, "c", NULL, NULL, "a d b", "a,d" },
        { "files that a step needs are gone", CHAIN, "c", NULL, NULL, "a d", "b" },
        { "what wrote them needs files that are gone", CHAIN, "c", NULL, NULL, "d", "a,b" },
        { "files that a later step needs are gone", CHAIN, "", "b", NULL, "d", "a" },
        { "no step failed, only post_process", CHAIN, "p", NULL, NULL, "a d b c", "a,b,c,d" },
        { "files of a step beside one that is kept", FORK, "c", NULL, NULL, "", "a" },
        { "files of an item are gone", LOOP, "b", NULL, NULL, "a-0", "a-1" },
        { "an item needs files that are gone", AFTER, "b-1", NULL, NULL, "", "a" },
        { "a step in a DAG needs files from outside", INSIDE, "y", NULL, NULL, "", "a" },
        { "files of a DAG are gone", NESTED, "e", NULL, NULL, "d+ d.x d.z f", "d.y" },
        { "files in a DAG that are needed again in it", NESTED, "e", NULL, NULL, "d+ d.z f", "d.x,d.y" },
        { "files in a DAG that only the DAG uses", NESTED, "f", NULL, NULL, "d d.x d.z d.y e", "d.x" },
        { "files of an item of a DAG are gone", LOOPED_DAG, "e", NULL, NULL, "d-0 d-1+ d-0.x d-1.x d-0.y",
          "d-1.y" },
        { "from inside of a reference", LIBRARY, "", "s.x", NULL, "r r.x r.y s+ s.y" },
};

static Definition *parse(const char *text, const char *parameters)
{
        g_autofree char *quoted = parameters ? g_strdelimit(g_strdup(parameters), "'", '"') : NULL;
        g_autoptr(json_t) json = quoted ? json_parse(quoted, strlen(quoted), NULL) : NULL;
        g_auto(Problems) problems = { 0 };
        Definition *definition;

        problems_init(&problems);
        definition =
                definition_parse(text, strlen(text), &(DefinitionRequest){ .parameters = json }, &problems);
        if (!definition)
                g_error("%s", problem_format(problems_first(&problems)));
        return definition;
}

/* ---- the earlier run ---- */

typedef struct {
        const Case *at;
        Definition *definition;
        Run *run;
} Play;

static char *path_of(const Play *play, guint32 node)
{
        g_autoptr(GString) path = g_string_new(NULL);

        while (node > RUN_POST) {
                const RunNode *at = run_node(play->run, node);
                bool loops = run_child_is_loop(play->run, run_node_child(play->run, node));
                g_autofree char *number = loops ? g_strdup_printf("-%u", at->number) : g_strdup("");

                g_string_prepend(path, path->len ? "." : "");
                g_string_prepend(path, number);
                g_string_prepend(path, component_name(play->definition, at->component));
                node = run_dag(play->run, at->dag)->node;
        }
        return g_string_free(g_steal_pointer(&path), FALSE);
}

static bool fails(const Play *play, guint32 node)
{
        g_autofree char *path = path_of(play, node);
        g_auto(GStrv) names = g_strsplit(play->at->fails, ",", -1);
        const char *dot = strrchr(path, '.');

        return g_strv_contains((const char *const *)names, path) ||
               (dot && g_strv_contains((const char *const *)names, dot + 1));
}

static void act(void *arg, RunActionKind kind, guint32 index)
{
        Play *play = arg;

        switch (kind) {
        case ACTION_EXPAND: (void)run_expanded(play->run, index, 2, false); break;
        case ACTION_LOOK: run_looked(play->run, index, true, false); break;
        case ACTION_START:
                run_started(play->run, index, index + 100);
                run_ended(play->run, index, fails(play, index) ? NODE_FAILED : NODE_SUCCEEDED);
                break;
        case ACTION_STOP:
        case ACTION_PAUSE:
        case ACTION_END: break;
        }
}

static void add_node(const Play *play, GPtrArray *nodes, guint32 index)
{
        const RunNode *node = run_node(play->run, index);
        RunNodeRecord *row;

        if (node->state == NODE_NONE)
                return;
        row = g_new0(RunNodeRecord, 1);
        *row = (RunNodeRecord){ .node = index,
                                .dag = run_dag(play->run, node->dag)->node,
                                .component = node->component,
                                .number = node->number,
                                .state = node->state,
                                .inner = node->inner != (guint32)RUN_NONE,
                                .job = node->job };
        g_ptr_array_add(nodes, row);
}

/* The nodes of `gone`. */
static GHashTable *lost_of(const Play *play)
{
        g_auto(GStrv) names = g_strsplit(play->at->gone ? play->at->gone : "", ",", -1);
        GHashTable *lost = g_hash_table_new(NULL, NULL);

        for (guint32 i = RUN_POST + 1; i < run_nodes(play->run); i++) {
                g_autofree char *path = path_of(play, i);

                if (g_strv_contains((const char *const *)names, path))
                        g_hash_table_add(lost, GUINT_TO_POINTER(i));
        }
        g_assert_cmpuint(g_hash_table_size(lost), ==, play->at->gone ? g_strv_length(names) : 0);
        return lost;
}

static void add_children(const Play *play, GPtrArray *children)
{
        for (guint32 d = 0; d < run_dags(play->run); d++)
                for (guint32 i = 0; i < run_dag(play->run, d)->n_children; i++) {
                        guint32 index = run_dag(play->run, d)->children + i;
                        const RunChild *child = run_child(play->run, index);
                        RunChildRecord row = { .dag = run_dag(play->run, d)->node,
                                               .component = run_child_component(play->run, index),
                                               .first = child->first,
                                               .count = child->count };

                        if (run_child_is_loop(play->run, index))
                                g_ptr_array_add(children, g_memdup2(&row, sizeof row));
                }
}

/* ---- the retry ---- */

/* The rows as paths, from the earlier run's point of view: components and numbers stay. */
static char *kept_text(const Play *play, const RunKept *kept)
{
        g_autoptr(GHashTable) paths = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        g_autoptr(GString) text = g_string_new(NULL);

        for (guint i = 0; i < kept->nodes->len; i++) {
                const RunNodeRecord *node = kept->nodes->pdata[i];
                const char *above = g_hash_table_lookup(paths, GUINT_TO_POINTER(node->dag));
                guint32 target = component_target(play->definition, node->component);
                g_autofree char *number = play->definition->components[target].loops
                                                  ? g_strdup_printf("-%u", node->number)
                                                  : g_strdup("");
                char *path = g_strdup_printf("%s%s%s%s", above ? above : "", above ? "." : "",
                                             component_name(play->definition, node->component), number);

                g_assert_true(node->dag == 0 || above); /* a DAG comes before its nodes */
                g_string_append_printf(text, "%s%s%s", text->len ? " " : "", path,
                                       node->state == NODE_RUNNING ? "+" : "");
                g_hash_table_insert(paths, GUINT_TO_POINTER(node->node), path);
        }
        return g_string_free(g_steal_pointer(&text), FALSE);
}

static void free_node(gpointer node)
{
        run_node_record_free(node);
}

static void play_case(const Case *at)
{
        g_autoptr(Definition) was = parse(at->text, NULL), now = parse(at->text, at->parameters);
        Play play = { at, was, run_new(was, 1000) };
        g_autoptr(GPtrArray) nodes = g_ptr_array_new_with_free_func(free_node),
                             children = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GHashTable) lost = NULL;
        g_auto(RunKept) kept = { 0 };
        g_autoptr(GError) error = NULL;
        g_autofree char *text = NULL;
        guint budget = 10000;
        StepPath from;

        run_begin(play.run);
        g_assert_false(run_work(play.run, &budget, act, &play));
        g_assert_cmpint(run_state(play.run), ==, *at->fails ? NODE_FAILED : NODE_SUCCEEDED);
        for (guint32 i = RUN_POST + 1; i < run_nodes(play.run); i++)
                add_node(&play, nodes, i);
        add_children(&play, children);
        lost = lost_of(&play);
        if (at->from)
                g_assert_true(run_retry_from(now, at->from, &from, &error));
        g_assert_true(run_retry(&(RunRetry){ .was = was,
                                             .now = now,
                                             .run = 5,
                                             .nodes = nodes,
                                             .children = children,
                                             .from = at->from ? &from : NULL,
                                             .lost = lost },
                                &kept, &error));
        g_assert_cmpuint(kept.earlier->len, ==, kept.nodes->len);
        text = kept_text(&play, &kept);
        if (strcmp(text, at->kept) != 0)
                g_error("%s: kept '%s', not '%s'", at->name, text, at->kept);
        run_free(play.run);
}

static void test_kept(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                play_case(&cases[i]);
}

/* A kept node belongs to the run that made it, through any number of retries. */
static void test_made_by(void)
{
        g_autoptr(Definition) definition = parse(CHAIN, NULL);
        RunNodeRecord old = { .node = 2, .component = 3, .state = NODE_SUCCEEDED, .job = 9, .made_by = 4 },
                      own = { .node = 3, .component = 6, .state = NODE_SUCCEEDED, .job = 10, .message = "m" };
        g_autoptr(GPtrArray) nodes = g_ptr_array_new(), children = g_ptr_array_new();
        g_auto(RunKept) kept = { 0 };
        g_autoptr(GError) error = NULL;
        const RunNodeRecord *first, *second;

        g_ptr_array_add(nodes, &old);
        g_ptr_array_add(nodes, &own);
        g_assert_true(run_retry(&(RunRetry){ .was = definition,
                                             .now = definition,
                                             .run = 5,
                                             .nodes = nodes,
                                             .children = children },
                                &kept, &error));
        g_assert_cmpuint(kept.nodes->len, ==, 2);
        first = kept.nodes->pdata[0];
        second = kept.nodes->pdata[1];
        g_assert_true(first->made_by == 4 && first->job == 9 && first->state == NODE_SUCCEEDED);
        g_assert_true(second->made_by == 5 && second->job == 10 && strcmp(second->message, "m") == 0);
        g_assert_cmpuint(kept.kept, ==, 2);
}

static void test_from(void)
{
        static const struct {
                const char *text, *path, *says; /* NULL: it is right */
        } paths[] = {
                { NESTED, "d", NULL },
                { LIBRARY, "r.x", NULL },
                { NESTED, "e.x", "from: step 'e.x': 'e' is a step, and has no components" },
                { CHAIN, "p", "from: 'p' is the post_process step, which always runs again" },
                { LOOP, "a-1",
                  "from: 'a-1' names one item of the loop 'a'\n"
                  "A loop is run again as a whole: name 'a'. Without --from a retry runs only the items that are missing." },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
                g_autoptr(Definition) definition = parse(paths[i].text, NULL);
                g_autoptr(GError) error = NULL;
                StepPath path;

                g_assert_true(run_retry_from(definition, paths[i].path, &path, &error) == !paths[i].says);
                g_assert_cmpstr(error ? error->message : NULL, ==, paths[i].says);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/pipeline/run-retry/kept", test_kept);
        g_test_add_func("/pipeline/run-retry/made-by", test_made_by);
        g_test_add_func("/pipeline/run-retry/from", test_from);
        return g_test_run();
}
