/* The longest chain of a run beside a naive search, on random runs; and its rules, by hand. */
#include "pipeline/run-chain.h"

#include "base/test/seed.h"
#include "pipeline/run.h"
#include "pipeline/test/parse.h"

/* ---- random runs ---- */

typedef struct {
        guint32 dags[8], components[8]; /* from the entry points down to itself */
        guint n;
        const RunNodeRecord *row;
} Leaf;

typedef struct {
        const Definition *definition;
        GRand *rand;
        GPtrArray *rows; /* RunNodeRecord, in order of index */
        GArray *leaves;  /* Leaf */
        guint32 nodes;
        gint64 ticks; /* so that no two times are equal */
} Play;

static gint64 after(Play *play, gint64 time)
{
        return (time / 10000 + g_rand_int_range(play->rand, 1, 20)) * 10000 + ++play->ticks;
}

static void write_dag(GRand *rand, GString *text, int depth, int indent)
{
        int n = g_rand_int_range(rand, 1, 5);

        for (int i = 0; i < n; i++) {
                bool dag = depth < 3 && g_rand_int_range(rand, 0, 4) == 0;

                g_string_append_printf(text, "%*sc%d:\n", indent, "", i);
                if (i > 0 && g_rand_boolean(rand))
                        g_string_append_printf(text, "%*sdeps: c%d%s\n", indent + 2, "",
                                               g_rand_int_range(rand, 0, i), i > 1 ? ",c0" : "");
                if (g_rand_int_range(rand, 0, 3) == 0)
                        g_string_append_printf(text, "%*sloop_argument: [1, 2, 3]\n", indent + 2, "");
                g_string_append_printf(text, "%*s%s\n", indent + 2, "", dag ? "entry_points:" : "command: x");
                if (dag)
                        write_dag(rand, text, depth + 1, indent + 4);
        }
}

static gint64 play_dag(Play *play, guint32 node, guint32 body, gint64 begin, const Leaf *around);

static RunNodeRecord *put_row(Play *play, guint32 node, guint32 dag, guint32 component, guint32 number)
{
        RunNodeRecord *row = g_new0(RunNodeRecord, 1);

        *row = (RunNodeRecord){
                .node = node, .dag = dag, .component = component, .number = number, .state = NODE_SUCCEEDED
        };
        if (play->rows->len <= node)
                g_ptr_array_set_size(play->rows, (gint)node + 1);
        play->rows->pdata[node] = row;
        return row;
}

static gint64 play_instance(Play *play, guint32 node, guint32 dag, guint32 component, guint32 number,
                            gint64 ready, const Leaf *around)
{
        RunNodeRecord *row = put_row(play, node, dag, component, number);
        Leaf leaf = *around;

        leaf.dags[leaf.n] = dag;
        leaf.components[leaf.n++] = component;
        leaf.row = row;
        row->started = after(play, ready);
        row->inner = play->definition->components[component].dag;
        row->finished =
                row->inner ? play_dag(play, node, component, row->started, &leaf) : after(play, row->started);
        if (!row->inner)
                g_array_append_val(play->leaves, leaf);
        return row->finished;
}

/* Dependencies are earlier in the text, so one pass is enough. */
static gint64 play_dag(Play *play, guint32 node, guint32 body, gint64 begin, const Leaf *around)
{
        const Component *components = play->definition->components, *at = &components[body];
        g_autofree gint64 *ends = g_new0(gint64, at[1].children - at->children + 1);
        gint64 end = begin;

        for (guint32 i = at->children; i < at[1].children; i++) {
                guint32 count = components[i].loops ? 3 : 1, first = play->nodes;
                gint64 ready = begin;

                play->nodes += count;
                for (guint32 k = components[i].dependencies; k < components[i + 1].dependencies; k++)
                        ready = MAX(ready, ends[play->definition->links[k] - at->children]);
                for (guint32 k = 0; k < count; k++) {
                        gint64 last = play_instance(play, first + k, node, i, k, ready, around);

                        ends[i - at->children] = MAX(ends[i - at->children], last);
                }
                end = MAX(end, ends[i - at->children]);
        }
        return end;
}

/* ---- the naive search ---- */

static bool depends(const Definition *definition, guint32 component, guint32 on)
{
        const Component *at = &definition->components[component];

        for (guint32 k = at->dependencies; k < at[1].dependencies; k++)
                if (definition->links[k] == on)
                        return true;
        return false;
}

/* One of the components around `leaf`, or itself, depends on one around `other`, in the same instance of a DAG. */
static bool waits_for(const Definition *definition, const Leaf *leaf, const Leaf *other)
{
        if (leaf->dags[0] == RUN_POST)
                return other->dags[0] == RUN_ROOT;
        for (guint i = 0; i < leaf->n; i++)
                for (guint k = 0; k < other->n; k++)
                        if (leaf->dags[i] == other->dags[k] &&
                            depends(definition, leaf->components[i], other->components[k]))
                                return true;
        return false;
}

static const Leaf *last_before(const Play *play, const Leaf *leaf)
{
        const Leaf *last = NULL;

        for (guint i = 0; i < play->leaves->len; i++) {
                const Leaf *other = &g_array_index(play->leaves, Leaf, i);

                if ((!leaf || waits_for(play->definition, leaf, other)) &&
                    (!last || other->row->finished > last->row->finished))
                        last = other;
        }
        return last;
}

static void compare_chain(const Play *play, const GArray *steps, gint64 begin)
{
        const Leaf *leaf = last_before(play, NULL);

        for (guint i = steps->len; i-- > 0; leaf = last_before(play, leaf)) {
                const RunChainStep *step = &g_array_index(steps, RunChainStep, i);

                g_assert_nonnull(leaf);
                g_assert_cmpuint(step->node, ==, leaf->row->node);
                g_assert_cmpuint(step->dag, ==, leaf->row->dag);
                g_assert_cmpuint(step->component, ==, leaf->row->component);
                g_assert_cmpint(step->started, ==, leaf->row->started);
                g_assert_cmpint(step->finished, ==, leaf->row->finished);
                g_assert_cmpint(step->ready, ==,
                                i > 0 ? g_array_index(steps, RunChainStep, i - 1).finished : begin);
        }
        g_assert_null(leaf);
}

static void play_random(GRand *rand)
{
        g_autoptr(GString) text = g_string_new("entry_points:\n");
        g_autoptr(Definition) definition = NULL;
        g_autoptr(RunChain) chain = NULL;
        g_autoptr(GArray) steps = NULL;
        const Leaf outermost = { 0 };
        Play play = { .rand = rand, .nodes = RUN_POST + 1 };
        gint64 end;

        write_dag(rand, text, 0, 2);
        g_string_append(text, "post_process:\n  p: {command: x}\n");
        definition = parse_valid(text->str, NULL);
        play.definition = definition;
        play.rows = g_ptr_array_new_with_free_func(g_free);
        play.leaves = g_array_new(FALSE, FALSE, sizeof(Leaf));
        end = play_dag(&play, RUN_ROOT, DEFINITION_ROOT, 1000, &outermost);
        end = play_dag(&play, RUN_POST, DEFINITION_POST, end, &outermost);
        chain = run_chain_new(definition, 1000);
        for (guint i = RUN_POST + 1; i < play.rows->len; i++)
                run_chain_add(chain, play.rows->pdata[i]);
        steps = run_chain_find(chain, end);
        compare_chain(&play, steps, 1000);
        g_array_unref(play.leaves);
        g_ptr_array_unref(play.rows);
}

static void test_random(void)
{
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed_of_test());

        for (int i = 0; i < (is_soak() ? 30 * 1000 : 300); i++)
                play_random(rand);
}

/* ---- by hand ---- */

typedef struct {
        const char *name, *text;
        RunNodeRecord rows[8]; /* without indices: they are 2, 3, ... */
        const char
                *chain; /* "node ready+wait+run": times in ms behind the begin at 1000; the present is 9000 */
} Case;

#define ROW(...)                                                                                             \
        {                                                                                                    \
                .state = NODE_SUCCEEDED, __VA_ARGS__                                                         \
        }
#define RUNNING(...)                                                                                         \
        {                                                                                                    \
                .state = NODE_RUNNING, __VA_ARGS__                                                           \
        }
#define PAIR "entry_points:\n  a: {command: x}\n  b: {command: x, deps: a}\n"

static const Case cases[] = {
        { "a wait for a slot is the time from the end of what it waited for",
          PAIR,
          { ROW(.component = 3, .started = 1100, .finished = 2000),
            ROW(.component = 4, .started = 2500, .finished = 3000) },
          "2 0+100+900, 3 1000+500+500" },
        { "what runs ends now",
          PAIR,
          { ROW(.component = 3, .started = 1000, .finished = 2000),
            RUNNING(.component = 4, .started = 2000) },
          "2 0+0+1000, 3 1000+0+7000" },
        { "of two that run the one that began first",
          "entry_points:\n  a: {command: x}\n  b: {command: x}\n",
          { RUNNING(.component = 3, .started = 3000), RUNNING(.component = 4, .started = 2000) },
          "3 0+1000+7000" },
        { "the item of a loop that ended last",
          "entry_points:\n  a: {command: x, loop_argument: [1, 2, 3]}\n",
          { ROW(.component = 3, .started = 1000, .finished = 2000),
            ROW(.component = 3, .number = 1, .started = 1000, .finished = 5000),
            ROW(.component = 3, .number = 2, .started = 1000, .finished = 3000) },
          "3 0+0+4000" },
        { "what a retry kept took no time",
          PAIR,
          { ROW(.component = 3, .started = 100, .finished = 200, .made_by = 7),
            ROW(.component = 4, .started = 1500, .finished = 2000) },
          "3 0+500+500" },
        { "what is kept does not hide what ran",
          "entry_points:\n  a: {command: x, loop_argument: [1, 2]}\n",
          { ROW(.component = 3, .started = 100, .finished = 8000, .made_by = 7),
            ROW(.component = 3, .number = 1, .started = 1500, .finished = 2000) },
          "3 0+500+500" },
        { "what the cache gave took the time of asking it",
          "entry_points:\n  a: {command: x}\n  b: {command: x, deps: a}\n  c: {command: x, deps: b}\n",
          { ROW(.component = 3, .started = 1000, .finished = 2000),
            ROW(.component = 4, .started = 2100, .finished = 2200, .made_by = 7, .reuse = (char *)"{}"),
            ROW(.component = 5, .started = 2300, .finished = 3000) },
          "2 0+0+1000, 3 1000+100+100 cached, 4 1200+100+700" },
        { "what the cache gave to the run that is retried took no time",
          PAIR,
          { ROW(.component = 3, .started = 100, .finished = 200, .made_by = 7, .reuse = (char *)"{}"),
            ROW(.component = 4, .started = 1500, .finished = 2000) },
          "3 0+500+500" },
        { "a clock that was set back",
          PAIR,
          { ROW(.component = 3, .started = 2000, .finished = 4000),
            ROW(.component = 4, .started = 3000, .finished = 3500) },
          "2 0+1000+2000" },
        { "nothing has begun", PAIR, { { 0 } }, "" },
        { "post_process follows the entry points",
          "entry_points:\n  a: {command: x}\npost_process:\n  p: {command: x}\n",
          { ROW(.component = 3, .started = 1000, .finished = 2000),
            ROW(.dag = RUN_POST, .component = 4, .started = 2000, .finished = 2100) },
          "2 0+0+1000, 3 1000+0+100" },
};

static char *format_chain(const GArray *steps)
{
        GString *text = g_string_new(NULL);

        for (guint i = 0; i < steps->len; i++) {
                const RunChainStep *step = &g_array_index(steps, RunChainStep, i);

                g_string_append_printf(text, "%s%u %d+%d+%d%s", text->len ? ", " : "", step->node,
                                       (int)(step->ready - 1000), (int)(step->started - step->ready),
                                       (int)(step->finished - step->started), step->cached ? " cached" : "");
        }
        return g_string_free(text, FALSE);
}

static void test_case(gconstpointer data)
{
        const Case *c = data;
        g_autoptr(Definition) definition = parse_valid(c->text, NULL);
        g_autoptr(RunChain) chain = run_chain_new(definition, 1000);
        g_autoptr(GArray) steps = NULL;
        g_autofree char *text = NULL;

        for (guint i = 0; i < G_N_ELEMENTS(c->rows) && c->rows[i].component; i++) {
                RunNodeRecord row = c->rows[i];

                row.node = RUN_POST + 1 + i;
                run_chain_add(chain, &row);
        }
        steps = run_chain_find(chain, 9000);
        text = format_chain(steps);
        g_assert_cmpstr(text, ==, c->chain);
}

/* A loop is one entry; a loop of DAGs has two for each of its items. */
static void test_large(gconstpointer data)
{
        guint32 items = (guint32)GPOINTER_TO_UINT(data);
        g_autoptr(Definition) definition =
                parse_valid("entry_points:\n  d:\n    loop_argument: [1]\n    entry_points:\n"
                            "      x: {command: x}\n      y: {command: x, deps: x}\n",
                            NULL);
        g_autoptr(RunChain) chain = run_chain_new(definition, 1000);
        guint32 d = component_named(definition, "d"), x = component_named(definition, "d.x");
        g_autoptr(GArray) steps = NULL;

        for (guint32 i = 0; i < items; i++)
                run_chain_add(chain,
                              &(RunNodeRecord)ROW(.node = 2 + i, .component = d, .number = i, .inner = true,
                                                  .started = 1000, .finished = 3000 + i));
        for (guint32 i = 0; i < 2 * items; i++)
                run_chain_add(chain,
                              &(RunNodeRecord)ROW(.node = 2 + items + i, .dag = 2 + i / 2,
                                                  .component = x + i % 2, .started = 1000 + 1000 * (i % 2),
                                                  .finished = i % 2 ? 3000 + i / 2 : 2000));
        steps = run_chain_find(chain, 3000 + items);
        if (2 * items + 1 > RUN_CHAIN_CHILDREN_MAX) {
                g_assert_null(steps);
                return;
        }
        g_assert_cmpuint(steps->len, ==, 2);
        g_assert_cmpuint(g_array_index(steps, RunChainStep, 1).dag, ==, 2 + items - 1);
        g_assert_cmpint(g_array_index(steps, RunChainStep, 1).finished, ==, 3000 + items - 1);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/run-chain/random", test_random);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strdup_printf("/run-chain/%s", cases[i].name);

                g_test_add_data_func(path, &cases[i], test_case);
        }
        g_test_add_data_func("/run-chain/100,000 items", GUINT_TO_POINTER(100 * 1000), test_large);
        g_test_add_data_func("/run-chain/too many items", GUINT_TO_POINTER(130 * 1000), test_large);
        return g_test_run();
}
