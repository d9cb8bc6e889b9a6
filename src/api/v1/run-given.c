/* Parameters and inputs of a paused component (see run-given.h). */
#include "api/v1/run-given.h"

#include <string.h>

#include "api/v1/run-tree.h"
#include "base/json.h"
#include "base/text-cut.h"
#include "pipeline/render.h"
#include "pipeline/run.h"

enum {
        VALUES_MAX = 100,
        TEXT_MAX = 1000,    /* bytes of a value */
        INSTANCES_MAX = 20, /* of a loop, whose outputs are named */
};

static gpointer look_up(GHashTable *table, guint32 dag, guint32 component)
{
        gint64 key = run_child_key(dag, component);

        return g_hash_table_lookup(table, &key);
}

/* ---- where things are ---- */

/* NULL: it was never made. */
static const RunNodeRecord *node_at(const RunGiven *given, guint32 dag, guint32 component, guint32 number)
{
        const RunChildRecord *child = look_up(given->children, dag, component);
        const GPtrArray *nodes = look_up(given->nodes, dag, component);

        if (child && child->count > 0)
                return number < child->count ? run_find_node(given->store, given->known, given->run->seq,
                                                             child->first + number, NULL)
                                             : NULL;
        return nodes && number < nodes->len ? nodes->pdata[number] : NULL;
}

/* The node of an instance of a DAG. False: it was never made. */
static bool node_of(const RunGiven *given, const RenderDag *dag, guint32 *ret)
{
        const RunNodeRecord *node;
        guint32 outer;

        *ret = dag->component == DEFINITION_POST ? RUN_POST : RUN_ROOT;
        if (!dag->parent)
                return true;
        node = node_of(given, dag->parent, &outer) ? node_at(given, outer, dag->component, dag->seq) : NULL;
        if (node)
                *ret = node->node;
        return node != NULL;
}

/* A loop without items is one node, which was skipped. */
static guint32 instances_of(const RenderContext *context, const RenderDag *dag, guint32 component)
{
        const RunGiven *given = context->arg;
        guint32 target = component_target(given->definition, component), node;
        const RunChildRecord *child;
        const RunNodeRecord *first;

        if (!given->definition->components[target].loops || !node_of(given, dag, &node))
                return 1;
        child = look_up(given->children, node, component);
        if (child && child->count > 1)
                return MIN(child->count, INSTANCES_MAX);
        first = node_at(given, node, component, 0);
        return first && first->state == NODE_SKIPPED ? 0 : 1;
}

/* "…,..." if the loop has more instances than are named. */
static char *with_rest(const RunGiven *given, guint32 dag, guint32 component, guint32 seq, char *path)
{
        const RunChildRecord *child = look_up(given->children, dag, component);
        char *ret;

        if (!child || child->count <= INSTANCES_MAX || seq + 1 < INSTANCES_MAX)
                return path;
        ret = g_strconcat(path, ",...", NULL);
        g_free(path);
        return ret;
}

/* A result that a retry kept, or the cache gave, is where the run that made it has put it. */
static char *output_of(const RenderContext *context, const RenderDag *dag, guint32 component, guint32 seq,
                       const char *name)
{
        const RunGiven *given = context->arg;
        guint32 outer = 0;
        const RunNodeRecord *node =
                node_of(given, dag, &outer) ? node_at(given, outer, component, seq) : NULL;
        g_autoptr(json_t) reuse =
                node && node->reuse ? json_parse(node->reuse, strlen(node->reuse), NULL) : NULL;
        const char *taken = json_string_value(json_object_get(json_object_get(reuse, "outputs"), name));
        RenderContext maker = *context;
        char *path;

        if (node && node->made_id)
                maker.run_id = node->made_id;
        path = taken ? g_strdup(taken) : render_output_path(&maker, dag, component, seq, name);
        return with_rest(given, outer, component, seq, path);
}

/* ---- the DAGs around ---- */

typedef struct {
        RenderDag dags[DEFINITION_DEPTH_MAX + 2];
        json_t *items[DEFINITION_DEPTH_MAX + 2];
        guint n;
} Chain;

static void chain_clear(Chain *chain)
{
        for (guint i = 0; i < chain->n; i++)
                json_decref(chain->items[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Chain, chain_clear)

/* Of the loop of this node: a new reference, or NULL. The list of a file was stored. */
static json_t *item_of(const RenderContext *context, const RenderDag *parent, const RunNodeRecord *node)
{
        const RunGiven *given = context->arg;
        const RunChildRecord *child = look_up(given->children, node->dag, node->component);
        guint32 target = component_target(given->definition, node->component);
        g_autoptr(json_t) parameters = NULL, list = NULL;
        const char *input = NULL;

        if (!given->definition->components[target].loops)
                return NULL;
        if (child && child->list) {
                list = json_parse(child->list, strlen(child->list), NULL);
        } else {
                parameters = render_parameters(context, parent, node->component, NULL);
                list = parameters ? render_loop(context, node->component, parameters, &input, NULL) : NULL;
        }
        return json_incref(json_array_get(list, node->number));
}

/* NULL: a row is missing, or it is nested too deep. */
static const RenderDag *chain_add(Chain *chain, const RenderContext *context, guint32 node)
{
        const RunGiven *given = context->arg;
        bool top = node == RUN_ROOT || node == RUN_POST;
        const RunNodeRecord *at =
                top ? NULL : run_find_node(given->store, given->known, given->run->seq, node, NULL);
        const RenderDag *parent = at && at->dag < node && at->component < given->definition->n_components
                                          ? chain_add(chain, context, at->dag)
                                          : NULL;
        RenderDag *dag = &chain->dags[chain->n];

        if ((!top && !parent) || chain->n == G_N_ELEMENTS(chain->dags))
                return NULL;
        chain->items[chain->n] = top ? NULL : item_of(context, parent, at);
        *dag = top ? (RenderDag){ .component = node == RUN_ROOT ? DEFINITION_ROOT : DEFINITION_POST }
                   : (RenderDag){ parent, at->component, at->number, chain->items[chain->n], 0 };
        chain->n++;
        return dag;
}

/* ---- as clients see it ---- */

/* A short value as it is, a long one as the begin of its text; a new reference. */
static json_t *short_value(const json_t *value)
{
        g_autofree char *text = render_text(value), *cut = NULL;

        if (strlen(text) <= TEXT_MAX)
                return json_incref((json_t *)value);
        cut = text_cut_bytes(text, TEXT_MAX);
        return json_string(cut);
}

static json_t *short_values(const json_t *values)
{
        json_t *ret = json_object(), *value;
        const char *name;

        json_object_foreach((json_t *)values, name, value)
                if (json_object_size(ret) < VALUES_MAX)
                        json_object_set_new(ret, name, short_value(value));
        return ret;
}

void run_given_put(const RunGiven *given, guint32 dag, guint32 component, json_t *object)
{
        const RenderContext context = { .definition = given->definition,
                                        .run_id = given->run->id,
                                        .user = given->run->user,
                                        .instances = instances_of,
                                        .output = output_of,
                                        .arg = (void *)given,
                                        .edits = given->edits };
        g_auto(Chain) chain = { .n = 0 };
        g_autoptr(GError) error = NULL;
        const RenderDag *around = chain_add(&chain, &context, dag);
        g_autoptr(json_t) parameters = around ? render_parameters(&context, around, component, &error) : NULL;
        g_autoptr(json_t) inputs = parameters ? render_inputs(&context, around, component, &error) : NULL;

        if (error)
                json_object_set_new(object, "message", json_string(error->message));
        if (parameters)
                json_object_set_new(object, "parameters", short_values(parameters));
        if (inputs)
                json_object_set_new(object, "inputs", short_values(inputs));
}
