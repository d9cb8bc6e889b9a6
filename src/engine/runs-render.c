/* What an instance of a component is given in a live run: the DAGs around it with their items, its parameters, paths and
 * texts (see runs.h). */
#include <string.h>

#include "base/err.h"
#include "engine/runs.h"
#include "engine/runs-cache.h"

/* ---- where an instance stands ---- */

/* An instance of a DAG, and those around it, with their items. */
typedef struct {
        RenderDag dags[DEFINITION_DEPTH_MAX + 2];
        json_t *items[DEFINITION_DEPTH_MAX + 2];
        guint n;
} Chain;

/* The instance of a DAG in the run, or RUN_NONE: it was never made. */
static guint32 dag_of(const LiveRun *live, const RenderDag *dag)
{
        const RunChild *child;
        guint32 outer;

        if (!dag->parent)
                return run_node(live->machine, dag->component == DEFINITION_POST ? RUN_POST : RUN_ROOT)
                        ->inner;
        outer = dag_of(live, dag->parent);
        if (outer == (guint32)RUN_NONE)
                return outer;
        child = run_child(live->machine, run_child_of(live->machine, outer, dag->component));
        if (child->first == (guint32)RUN_NONE || dag->seq >= child->count)
                return (guint32)RUN_NONE;
        return run_node(live->machine, child->first + dag->seq)->inner;
}

/* How many instances of a component have outputs. Only a loop without items has none: what has a condition or is disabled
 * gives no artifacts to others. */
static guint32 instances_of(const RenderContext *context, const RenderDag *dag, guint32 component)
{
        const LiveRun *live = context->arg;
        guint32 outer = dag_of(live, dag), child;

        if (outer == (guint32)RUN_NONE)
                return 1;
        child = run_child_of(live->machine, outer, component);
        if (!run_child_is_loop(live->machine, child))
                return 1;
        return run_state_of(live->machine, child, 0) == NODE_SKIPPED ? 0
                                                                     : run_child(live->machine, child)->count;
}

/* Where an output lies whose result a retry kept, or the cache gave. */
static char *kept_output(const RenderContext *context, const RenderDag *dag, guint32 component, guint32 seq,
                         const char *name)
{
        const LiveRun *live = context->arg;
        guint32 outer = live->makers || live->taken ? dag_of(live, dag) : (guint32)RUN_NONE;
        const RunChild *child =
                outer == (guint32)RUN_NONE
                        ? NULL
                        : run_child(live->machine, run_child_of(live->machine, outer, component));
        RenderContext maker = *context;
        char *taken;

        if (!child || child->first == (guint32)RUN_NONE || seq >= child->count)
                return NULL;
        taken = runs_cache_output_path(live, child->first + seq, name);
        if (taken)
                return taken;
        maker.run_id = runs_maker(live, child->first + seq);
        return maker.run_id ? render_output_path(&maker, dag, component, seq, name) : NULL;
}

static void chain_clear(Chain *chain)
{
        for (guint i = 0; i < chain->n; i++)
                json_decref(chain->items[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Chain, chain_clear)

static RenderContext context_of(LiveRun *live)
{
        return (RenderContext){ .definition = live->plan->definition,
                                .run_id = live->record->id,
                                .user = live->record->user,
                                .instances = instances_of,
                                .output = kept_output,
                                .arg = live,
                                .edits = live->edits,
                                .lists = live->plan->lists,
                                .memo = &live->memo };
}

static json_t *item_of(LiveRun *live, guint32 node);

/* The one of the instance, or NULL: it is nested too deep. */
static const RenderDag *chain_add(Chain *chain, LiveRun *live, guint32 dag)
{
        guint32 node = run_dag(live->machine, dag)->node;
        const RunNode *at = run_node(live->machine, node);
        bool top = node == RUN_ROOT || node == RUN_POST;
        const RenderDag *parent = top ? NULL : chain_add(chain, live, at->dag);
        guint n = chain->n;

        if ((!top && !parent) || n == G_N_ELEMENTS(chain->dags))
                return NULL;
        chain->items[n] = top ? NULL : item_of(live, node);
        if (top)
                chain->dags[n] =
                        (RenderDag){ .component = node == RUN_ROOT ? DEFINITION_ROOT : DEFINITION_POST,
                                     .id = dag + 1 };
        else
                chain->dags[n] = (RenderDag){ parent, at->component, at->number, chain->items[n], dag + 1 };
        chain->n++;
        return &chain->dags[n];
}

/* ---- loops ---- */

bool runs_is_read_loop(const LiveRun *live, guint32 child)
{
        return render_loop_input(live->plan->definition, run_child_component(live->machine, child)) != NULL;
}

json_t *runs_loop_value(LiveRun *live, guint32 child, GError **error)
{
        const RenderContext context = context_of(live);
        guint32 component = run_child_component(live->machine, child);
        g_auto(Chain) chain = { .n = 0 };
        const RenderDag *dag = chain_add(&chain, live, run_child(live->machine, child)->dag);
        g_autoptr(json_t) parameters = dag ? render_parameters(&context, dag, component, error) : NULL;
        const char *input = NULL;

        return parameters ? render_loop_value(&context, component, parameters, &input) : NULL;
}

json_t *runs_loop_inputs(LiveRun *live, guint32 child, GError **error)
{
        const RenderContext context = context_of(live);
        g_auto(Chain) chain = { .n = 0 };
        const RenderDag *dag = chain_add(&chain, live, run_child(live->machine, child)->dag);

        return dag ? render_inputs(&context, dag, run_child_component(live->machine, child), error) : NULL;
}

void runs_keep_items(LiveRun *live, guint32 child, const Items *items)
{
        g_hash_table_replace(live->lists, GUINT_TO_POINTER(child), items_ref((Items *)items));
}

/* Borrowed; NULL with an error. Items are kept as long as the loop runs. */
static const Items *items_of(LiveRun *live, guint32 child, GError **error)
{
        const Items *known = g_hash_table_lookup(live->lists, GUINT_TO_POINTER(child));
        g_autoptr(json_t) value = known ? NULL : runs_loop_value(live, child, error);
        g_autoptr(Items) items = value ? items_new(value, RUN_NODES_MAX, error) : NULL;

        if (items)
                runs_keep_items(live, child, items);
        return known ? known : items ? g_hash_table_lookup(live->lists, GUINT_TO_POINTER(child)) : NULL;
}

void runs_read_list(LiveRun *live, guint32 child)
{
        (void)items_of(live, child, NULL); /* its nodes will say why it is none */
}

/* Of the loop whose node this is: a new reference, or NULL. */
static json_t *item_of(LiveRun *live, guint32 node)
{
        guint32 child = run_node_child(live->machine, node);
        const Items *items = run_child_is_loop(live->machine, child) ? items_of(live, child, NULL) : NULL;

        return items ? items_get(items, run_node(live->machine, node)->number) : NULL;
}

/* ---- nodes ---- */

static bool render_in(LiveRun *live, const RenderContext *context, guint32 node, const json_t *contents,
                      Rendered *ret, GError **error)
{
        const RunNode *at = run_node(live->machine, node);
        g_auto(Chain) chain = { .n = 0 };
        const RenderDag *dag = chain_add(&chain, live, at->dag);
        g_autoptr(json_t) item = item_of(live, node);

        if (!dag)
                return err_set(error, ERR_INVALID, "it is nested too deep");
        return render_instance(context, dag, at->component, at->number, item, contents, ret, error);
}

bool runs_render(LiveRun *live, guint32 node, const json_t *contents, Rendered *ret, GError **error)
{
        const RenderContext context = context_of(live);

        return render_in(live, &context, node, contents, ret, error);
}

bool runs_render_key(LiveRun *live, guint32 node, bool content, Rendered *ret, GError **error)
{
        RenderContext context = context_of(live);

        context.keep_outputs = true;
        context.keep_inputs = content;
        return render_in(live, &context, node, NULL, ret, error);
}

char *runs_kept_output(LiveRun *live, guint32 node, const char *name)
{
        const RenderContext context = context_of(live);
        const RunNode *at = run_node(live->machine, node);
        g_auto(Chain) chain = { .n = 0 };
        const RenderDag *dag = chain_add(&chain, live, at->dag);

        return dag ? kept_output(&context, dag, at->component, at->number, name) : NULL;
}
