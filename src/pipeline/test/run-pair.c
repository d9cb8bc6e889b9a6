#include "pipeline/test/run-pair.h"

#include <string.h>

static char *node_path(const Run *run, const Definition *definition, guint32 dag, guint32 component,
                       guint32 number)
{
        guint32 node = run_dag(run, dag)->node;
        g_autofree char *above = NULL;

        if (node == RUN_ROOT || node == RUN_POST)
                above = g_strdup(node == RUN_ROOT ? "run" : "post");
        else
                above = node_path(run, definition, run_node(run, node)->dag, run_node(run, node)->component,
                                  run_node(run, node)->number);
        return model_path(above, component_name(definition, component), number);
}

char *pair_node_path(const Pair *pair, guint32 node)
{
        const RunNode *at = run_node(pair->run, node);

        return node_path(pair->run, pair->definition, at->dag, at->component, at->number);
}

char *pair_child_path(const Pair *pair, guint32 child)
{
        return node_path(pair->run, pair->definition, run_child(pair->run, child)->dag,
                         run_child_component(pair->run, child), 0);
}

void pair_on_action(void *arg, RunActionKind kind, guint32 index)
{
        static const char *const words[] = { "expand", "look", "start", "stop", "pause", "end" };
        Pair *pair = arg;
        g_autofree char *path = kind == ACTION_EXPAND || kind == ACTION_PAUSE ? pair_child_path(pair, index)
                                : kind == ACTION_END                          ? g_strdup("")
                                                                              : pair_node_path(pair, index);

        g_ptr_array_add(pair->actions, g_strconcat(words[kind], " ", path, NULL));
}

static bool is_paused(const Run *run, guint32 child)
{
        const RunPause *pause = run_pause_of(run, child);

        return pause && pause->listed;
}

static void dump_dag(GString *out, const Pair *pair, guint32 dag)
{
        const RunDag *at = run_dag(pair->run, dag);

        for (guint32 i = 0; i < at->n_children; i++) {
                const RunChild *child = run_child(pair->run, at->children + i);

                for (guint32 number = 0; number < MAX(child->count, 1); number++) {
                        const RunNode *node = child->first == (guint32)RUN_NONE
                                                      ? NULL
                                                      : run_node(pair->run, child->first + number);

                        g_string_append_printf(out, "%s-%u=%d%s",
                                               component_name(pair->definition,
                                                              run_child_component(pair->run,
                                                                                  at->children + i)),
                                               number, run_state_of(pair->run, at->children + i, number),
                                               is_paused(pair->run, at->children + i) ? "!" : "");
                        if (node && node->state != NODE_NONE && node->inner != (guint32)RUN_NONE) {
                                g_string_append_c(out, '{');
                                dump_dag(out, pair, node->inner);
                                g_string_append_c(out, '}');
                        }
                        g_string_append_c(out, ' ');
                }
        }
}

char *pair_dump(const Pair *pair)
{
        GString *out = g_string_new(NULL);
        const RunNode *post = run_node(pair->run, RUN_POST);

        g_string_append_printf(out, "%d slots %u paused %u%s: ", run_state(pair->run),
                               run_slots_used(pair->run), run_paused(pair->run),
                               run_is_stepping(pair->run) ? " steps" : "");
        dump_dag(out, pair, run_node(pair->run, RUN_ROOT)->inner);
        g_string_append(out, "| ");
        if (post->inner != (guint32)RUN_NONE)
                dump_dag(out, pair, post->inner);
        return g_string_free(out, FALSE);
}

static gint compare_texts(gconstpointer a, gconstpointer b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_unordered(const char *action)
{
        return g_str_has_prefix(action, "stop ") || g_str_has_prefix(action, "pause ");
}

/* The order of stops and pauses does not matter: they move behind the others. */
static char *actions_text(GPtrArray *actions)
{
        GString *out = g_string_new(NULL);

        for (guint i = 0; i < actions->len; i++)
                if (!is_unordered(actions->pdata[i]))
                        g_string_append_printf(out, "%s, ", (char *)actions->pdata[i]);
        g_ptr_array_sort(actions, compare_texts);
        for (guint i = 0; i < actions->len; i++)
                if (is_unordered(actions->pdata[i]))
                        g_string_append_printf(out, "%s, ", (char *)actions->pdata[i]);
        return g_string_free(out, FALSE);
}

void pair_compare(Pair *pair, const char *after)
{
        g_autofree char *run = actions_text(pair->actions), *model = actions_text(pair->model.actions);
        g_autofree char *run_states = pair_dump(pair), *model_states = model_dump(&pair->model);

        if (strcmp(run, model) != 0 || strcmp(run_states, model_states) != 0)
                g_error("seed %u, after '%s'\nactions %s\nmodel   %s\nrun     %s\nmodel   %s", pair->seed,
                        after, run, model, run_states, model_states);
        g_ptr_array_set_size(pair->actions, 0);
        g_ptr_array_set_size(pair->model.actions, 0);
}

guint32 pair_node(const Pair *pair, const char *path)
{
        for (guint32 i = RUN_POST + 1; i < run_nodes(pair->run); i++) {
                if (run_node(pair->run, i)->state == NODE_NONE)
                        continue;
                g_autofree char *own = pair_node_path(pair, i);

                if (strcmp(own, path) == 0)
                        return i;
        }
        g_error("seed %u: no node %s", pair->seed, path);
}

guint32 pair_child(const Pair *pair, const char *path)
{
        for (guint32 d = 0; d < run_dags(pair->run); d++)
                for (guint32 i = 0; i < run_dag(pair->run, d)->n_children; i++) {
                        guint32 child = run_dag(pair->run, d)->children + i;
                        g_autofree char *own = pair_child_path(pair, child);

                        if (strcmp(own, path) == 0)
                                return child;
                }
        g_error("seed %u: no child %s", pair->seed, path);
}

void pair_work(Pair *pair)
{
        guint budget;

        do
                budget = (guint)g_rand_int_range(pair->plan.rand, 1, 20);
        while (run_work(pair->run, &budget, pair_on_action, pair));
}

static void store_node(void *arg, guint32 index)
{
        Pair *pair = arg;
        const RunNode *node = run_node(pair->run, index);
        StoredNode row = { .node = *node };

        if (index <= RUN_POST || node->state == NODE_NONE || node->state == NODE_LOOKING ||
            node->state == NODE_STARTING)
                return;
        row.dag_node = run_dag(pair->run, node->dag)->node;
        row.inner = node->inner != (guint32)RUN_NONE;
        g_hash_table_replace(pair->nodes, GUINT_TO_POINTER(index), g_memdup2(&row, sizeof row));
}

static void store_child(void *arg, guint32 index)
{
        Pair *pair = arg;
        const RunChild *child = run_child(pair->run, index);
        StoredLoop loop = { run_dag(pair->run, child->dag)->node, run_child_component(pair->run, index),
                            child->count };

        const RunPause *pause = run_pause_of(pair->run, index);

        g_assert_true(run_child_is_loop(pair->run, index) || child->rest != NODE_NONE || pause);
        if (pause) {
                const StoredPause row = { loop.dag_node, loop.component, *pause };
                gint64 key = run_child_key(row.dag_node, row.component);

                g_hash_table_replace(pair->pauses, g_memdup2(&key, sizeof key), g_memdup2(&row, sizeof row));
        }
        if (run_child_is_loop(pair->run, index))
                g_hash_table_replace(pair->loops, GUINT_TO_POINTER(child->first),
                                     g_memdup2(&loop, sizeof loop));
        pair->rests += child->rest != NODE_NONE;
}

void pair_store(Pair *pair)
{
        run_changed(pair->run, store_node, pair);
        run_changed_children(pair->run, store_child, pair);
        run_keep(pair->run);
}

void pair_init(Pair *pair, guint seed)
{
        pair->seed = seed;
        pair->rests = 0;
        plan_init(&pair->plan, seed);
        pair->definition = plan_compile(&pair->plan);
        pair->run = run_new(pair->definition, 100 * 1000);
        pair->breaks = NULL;
        pair->paused = pair->parked = 0;
        pair->breaking = seed % 2;
        pair->pauses = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
        pair->actions = g_ptr_array_new_with_free_func(g_free);
        pair->nodes = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        pair->loops = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        pair->model = (Model){ .plan = &pair->plan, .salt = seed };
        pair->model.actions = g_ptr_array_new_with_free_func(g_free);
        pair->model.open = g_ptr_array_new_with_free_func(g_free);
        pair->model.root = g_new0(Thing, 1);
        pair->model.root->path = g_strdup("run");
        pair->model.breaks = g_ptr_array_new_with_free_func(g_free);
        g_queue_init(&pair->model.queue);
        g_queue_init(&pair->model.waiting);
        g_queue_init(&pair->model.paused);
}

void pair_clear(Pair *pair)
{
        thing_free(pair->model.root);
        if (pair->model.post)
                thing_free(pair->model.post);
        g_queue_clear(&pair->model.queue);
        g_queue_clear_full(&pair->model.waiting, g_free);
        g_queue_clear(&pair->model.paused);
        g_ptr_array_unref(pair->model.breaks);
        run_breaks_unref(pair->breaks);
        g_hash_table_unref(pair->pauses);
        g_ptr_array_unref(pair->model.actions);
        g_ptr_array_unref(pair->model.open);
        g_ptr_array_unref(pair->actions);
        g_hash_table_unref(pair->nodes);
        g_hash_table_unref(pair->loops);
        run_free(pair->run);
        definition_free(pair->definition);
        plan_clear(&pair->plan);
}

bool pair_has_rests(const Pair *pair)
{
        for (guint32 d = 0; d < run_dags(pair->run); d++)
                for (guint32 i = 0; i < run_dag(pair->run, d)->n_children; i++)
                        if (run_child(pair->run, run_dag(pair->run, d)->children + i)->rest != NODE_NONE)
                                return true;
        return false;
}
