/* Nodes of runs for clients (see run-tree.h). */
#include "api/v1/run-tree.h"

#include <string.h>

#include "api/v1/run-given.h"
#include "base/clock.h"
#include "pipeline/run.h"

enum {
        ROWS_MAX = 20000,   /* of a tree */
        ITEMS_MAX = 5000,   /* of a tree */
        INSTANCES_MAX = 20, /* of a loop that are shown, if it has more: a long one */
        PAUSES_MAX = 100,   /* that are named */
        GIVEN_MAX = 10,     /* paused components whose parameters are shown */
        PAGE = 1000,
        NAMED_MAX = 3,           /* dependencies that are named */
        DEPENDENCIES_MAX = 1000, /* of one component that are looked at */
};

/* ---- one node ---- */

static bool is_loop(const Definition *definition, guint32 dag, guint32 component)
{
        return dag != RUN_POST && definition->components[component_target(definition, component)].loops;
}

static bool is_dag(const Definition *definition, guint32 component)
{
        return definition->components[component_target(definition, component)].dag;
}

/* Rows from a run of another version of the language. */
static bool is_known(const Definition *definition, guint32 component)
{
        return component < definition->n_components;
}

static json_t *text_or_null(const char *text)
{
        return text ? json_string(text) : json_null();
}

/* Why it was skipped; NULL: it was not, or nothing is known. */
static const char *skip_reason(const Definition *definition, const RunNodeRecord *node)
{
        const Component *component = &definition->components[node->component],
                        *body = &definition->components[component_target(definition, node->component)];

        if (node->state != NODE_SKIPPED)
                return NULL;
        return component->disabled          ? "disabled"
               : body->looks && body->loops ? "its condition is false, or its loop has no items"
               : body->looks                ? "its condition is false"
               : body->loops                ? "its loop has no items"
                                            : NULL;
}

static void put_state(json_t *object, const Definition *definition, const RunNodeRecord *node)
{
        const char *message = node->message ? node->message : skip_reason(definition, node);

        json_object_set_new(object, "state", json_string(node_state_name((NodeState)node->state)));
        json_object_set_new(object, "job", text_or_null(node->job_id));
        json_object_set_new(object, "run", text_or_null(node->made_id));
        json_object_set_new(object, "cached", json_boolean(node->reuse));
        json_object_set_new(object, "started_at", json_time(node->started));
        json_object_set_new(object, "finished_at", json_time(node->finished));
        json_object_set_new(object, "message", text_or_null(message));
}

/* ---- pages ---- */

const RunNodeRecord *run_find_node(Store *store, GHashTable *dags, gint64 run, guint32 node, GError **error)
{
        const RunNodeQuery query = { .run = run, .after = (gint64)node - 1, .limit = 1 };
        RunNodeRecord *found = g_hash_table_lookup(dags, GUINT_TO_POINTER(node));
        g_autoptr(GPtrArray) nodes = NULL;
        gint64 next;

        if (found)
                return found;
        nodes = store_run_nodes(store, &query, &next, error);
        if (!nodes || nodes->len == 0 || ((RunNodeRecord *)nodes->pdata[0])->node != node)
                return NULL;
        found = nodes->pdata[0];
        g_ptr_array_set_free_func(nodes, NULL);
        g_hash_table_insert(dags, GUINT_TO_POINTER(node), found);
        return found;
}

static void prepend_name(GString *path, const Definition *definition, const RunNodeRecord *node, bool numbers)
{
        g_autofree char *number = numbers && is_loop(definition, node->dag, node->component)
                                          ? g_strdup_printf("-%u", node->number)
                                          : g_strdup("");

        g_string_prepend(path, path->len > 0 ? "." : "");
        g_string_prepend(path, number);
        g_string_prepend(path, component_name(definition, node->component));
}

char *run_node_path(Store *store, const RunText *text, GHashTable *dags, const RunNodeRecord *node,
                    bool numbers, GError **error)
{
        const Definition *definition = text->definition;
        g_autoptr(GString) path = g_string_new(NULL);

        if (!is_known(definition, node->component))
                return NULL;
        prepend_name(path, definition, node, numbers);
        for (guint32 dag = node->dag; dag > RUN_POST;) {
                const RunNodeRecord *at = run_find_node(store, dags, node->run, dag, error);

                if (!at || !is_known(definition, at->component) || at->dag >= dag)
                        return NULL;
                prepend_name(path, definition, at, numbers);
                dag = at->dag;
        }
        return g_string_free(g_steal_pointer(&path), FALSE);
}

static void node_free(gpointer node)
{
        run_node_record_free(node);
}

GHashTable *run_paths_new(void)
{
        return g_hash_table_new_full(NULL, NULL, NULL, node_free);
}

json_t *run_nodes_format(Store *store, const RunText *text, const GPtrArray *nodes, GError **error)
{
        const Definition *definition = text->definition;
        g_autoptr(GHashTable) dags = run_paths_new();
        g_autoptr(json_t) list = json_array();
        g_autoptr(GError) failed = NULL;

        for (guint i = 0; i < nodes->len && !failed; i++) {
                const RunNodeRecord *node = nodes->pdata[i];
                g_autofree char *path = run_node_path(store, text, dags, node, true, &failed);
                json_t *object;

                if (!path)
                        continue; /* it was deleted while it was read */
                object =
                        json_pack("{s:I, s:o, s:s, s:s, s:s, s:o}", "node", (json_int_t)node->node, "parent",
                                  node->dag > RUN_POST ? json_integer(node->dag) : json_null(), "path", path,
                                  "name", component_name(definition, node->component), "type",
                                  is_dag(definition, node->component) ? "dag" : "step", "number",
                                  is_loop(definition, node->dag, node->component) ? json_integer(node->number)
                                                                                  : json_null());
                put_state(object, definition, node);
                json_array_append_new(list, object);
        }
        if (!failed)
                return g_steal_pointer(&list);
        g_propagate_error(error, g_steal_pointer(&failed));
        return NULL;
}

/* ---- pauses ---- */

static const char *const pause_words[] = { [RUN_PAUSE_BEFORE] = "before", [RUN_PAUSE_AFTER] = "after" };

/* "dag-1.train", "train-3"; NULL: it was deleted meanwhile. */
static char *pause_path(Store *store, const RunText *text, GHashTable *dags, const RunChildRecord *child,
                        GError **error)
{
        const RunNodeRecord node = { .run = child->run,
                                     .dag = child->dag,
                                     .component = child->component,
                                     .number = child->pause_at ? child->pause_at - 1 : 0 };
        char *path = run_node_path(store, text, dags, &node, true, error);

        if (path && !child->pause_at && is_loop(text->definition, child->dag, child->component))
                *strrchr(path, '-') = '\0'; /* the loop as a whole */
        return path;
}

static json_t *format_pauses(Store *store, const RunText *text, const GPtrArray *children, GError **error)
{
        g_autoptr(GHashTable) dags = run_paths_new();
        json_t *list = json_array();

        for (guint i = 0; text && i < children->len; i++) {
                const RunChildRecord *child = children->pdata[i];
                g_autofree char *path = pause_path(store, text, dags, child, error);

                if (path)
                        json_array_append_new(list, json_pack("{s:s, s:s}", "step", path, "at",
                                                              pause_words[child->pause]));
        }
        return list;
}

GPtrArray *run_pauses_read(Store *store, const RunRecord *run, json_t **ret_control, GError **error)
{
        g_autoptr(GPtrArray) children = NULL;
        g_autofree char *control = NULL;
        json_t *object;
        gint64 epoch;

        if (!store_run_pauses(store, run->seq, PAUSES_MAX, &control, &children, error))
                return NULL;
        object = control ? json_parse_own(control, strlen(control), NULL) : NULL;
        *ret_control = object ? object : json_object();
        epoch = json_integer_value(json_object_get(*ret_control, "epoch"));
        for (guint i = children->len; i-- > 0;) {
                const RunChildRecord *child = children->pdata[i];

                if (child->pause_epoch < epoch || child->pause > RUN_PAUSE_AFTER)
                        g_ptr_array_remove_index(children, i);
        }
        return g_steal_pointer(&children);
}

json_t *run_pauses_format(Store *store, const RunText *text, const RunRecord *run, json_t **ret_control,
                          GError **error)
{
        g_autoptr(GPtrArray) children = run_pauses_read(store, run, ret_control, error);
        g_autoptr(GError) failed = NULL;
        json_t *list;

        if (!children)
                return NULL;
        list = format_pauses(store, text, children, &failed);
        if (failed)
                g_clear_pointer(&list, json_decref);
        if (failed)
                g_propagate_error(error, g_steal_pointer(&failed));
        return list;
}

/* ---- the tree ---- */

/* Of a long loop: nodes in each state, then those whose result is an earlier one. */
enum { COUNT_KEPT = NODE_STATES, COUNT_CACHED, COUNTS };

typedef struct {
        const Definition *definition;
        const RunRecord *run;
        gint64 epoch;
        Store *store;
        const json_t *edits;  /* changed parameters */
        GHashTable *waits;    /* (dag, component) -> char: why it waits for another run; or NULL */
        GHashTable *known;    /* nodes that were read one by one */
        int given;            /* paused components whose parameters are shown */
        GHashTable *nodes;    /* (dag, component) -> GPtrArray of RunNodeRecord, borrowed */
        GHashTable *children; /* (dag, component) -> RunChildRecord, borrowed */
        GHashTable *counts;   /* (dag, component) of a long loop -> gint64[COUNTS] */
        GPtrArray *rows;      /* RunNodeRecord, those that are shown, and some more */
        int items;
        bool partial;
} Tree;

static gint64 *key_new(guint32 dag, guint32 component)
{
        gint64 key = run_child_key(dag, component);

        return g_memdup2(&key, sizeof key);
}

static gpointer look_up(GHashTable *table, guint32 dag, guint32 component)
{
        gint64 key = run_child_key(dag, component);

        return g_hash_table_lookup(table, &key);
}

static void list_unref(gpointer list)
{
        g_ptr_array_unref(list);
}

static void enter_node(Tree *tree, RunNodeRecord *node)
{
        GPtrArray *list = look_up(tree->nodes, node->dag, node->component);

        if (!list) {
                list = g_ptr_array_new();
                g_hash_table_insert(tree->nodes, key_new(node->dag, node->component), list);
        }
        g_ptr_array_add(list, node);
}

/* NULL: it is not paused. */
static const char *pause_of(const Tree *tree, guint32 dag, guint32 component)
{
        const RunChildRecord *child = look_up(tree->children, dag, component);

        return child && child->pause && child->pause <= RUN_PAUSE_AFTER && child->pause_epoch >= tree->epoch
                       ? pause_words[child->pause]
                       : NULL;
}

/* It has not begun. */
static bool is_paused_before(const Tree *tree, guint32 dag, guint32 component)
{
        const char *word = pause_of(tree, dag, component);

        return word && strcmp(word, "before") == 0;
}

/* A component that has not begun is shown with what it is given: its parameters may be changed. */
static void put_given(Tree *tree, json_t *object, guint32 dag, guint32 component)
{
        const RunChildRecord *child = look_up(tree->children, dag, component);
        const RunGiven given = { tree->store, tree->definition, tree->run,  tree->edits,
                                 tree->nodes, tree->children,   tree->known };

        if (child->pause != RUN_PAUSE_BEFORE || child->pause_at > 0 || tree->given == GIVEN_MAX)
                return;
        tree->given++;
        run_given_put(&given, dag, component, object);
}

static void put_pause(Tree *tree, json_t *object, guint32 dag, guint32 component)
{
        const char *word = pause_of(tree, dag, component);

        if (!word)
                return;
        json_object_set_new(object, "paused", json_string(word));
        put_given(tree, object, dag, component);
}

static json_t *format_children(Tree *tree, guint32 dag, guint32 component, NodeState state);

static json_t *format_instance(Tree *tree, const RunNodeRecord *node, bool numbered)
{
        json_t *object = json_pack("{s:s, s:s}", "name", component_name(tree->definition, node->component),
                                   "type", is_dag(tree->definition, node->component) ? "dag" : "step");

        tree->items++;
        if (numbered)
                json_object_set_new(object, "number", json_integer(node->number));
        put_state(object, tree->definition, node);
        if (node->inner)
                json_object_set_new(object, "children",
                                    format_children(tree, node->node, node->component,
                                                    (NodeState)node->state));
        return object;
}

/* ---- what waits ---- */

static void count_states(const Tree *tree, const GPtrArray *nodes, guint32 dag, guint32 component,
                         gint64 ret[NODE_STATES]);

/* All its instances have succeeded or were skipped, and it does not pause. */
static bool is_done(const Tree *tree, guint32 dag, guint32 component)
{
        const RunChildRecord *child = look_up(tree->children, dag, component);
        const GPtrArray *nodes = look_up(tree->nodes, dag, component);
        gint64 counts[NODE_STATES] = { 0 };

        if (nodes || look_up(tree->counts, dag, component))
                count_states(tree, nodes, dag, component, counts);
        return counts[NODE_SUCCEEDED] + counts[NODE_SKIPPED] >= MAX(child ? child->count : 1, 1) &&
               !pause_of(tree, dag, component);
}

/* "'a', 'b' and others": dependencies that have not succeeded yet; NULL: all have. The caller's. */
static char *open_dependencies(const Tree *tree, guint32 dag, guint32 component)
{
        const Component *at = &tree->definition->components[component];
        g_autoptr(GString) names = g_string_new(NULL);
        guint32 end = MIN(at[1].dependencies, at->dependencies + DEPENDENCIES_MAX);
        int n = 0;

        for (guint32 k = at->dependencies; k < end && n <= NAMED_MAX; k++) {
                guint32 other = tree->definition->links[k];

                if (is_done(tree, dag, other))
                        continue;
                if (n++ < NAMED_MAX)
                        g_string_append_printf(names, "%s'%s'", n > 1 ? ", " : "",
                                               component_name(tree->definition, other));
                else
                        g_string_append(names, " and others");
        }
        return names->len > 0 ? g_string_free(g_steal_pointer(&names), FALSE) : NULL;
}

/* Why a component has not begun: "waits for a, b". The caller's. */
static char *wait_of(const Tree *tree, guint32 dag, guint32 component)
{
        const char *why = tree->waits ? look_up(tree->waits, dag, component) : NULL;
        g_autofree char *names = why ? NULL : open_dependencies(tree, dag, component);

        if (why)
                return g_strdup(why);
        if (dag == RUN_POST)
                return g_strdup("waits for the end of the entry points");
        return names ? g_strdup_printf("waits for %s", names)
                     : g_strdup_printf("waits for a slot: parallelism is %d", tree->definition->parallelism);
}

/* Of a component that has no instance. */
static json_t *format_waiting(Tree *tree, guint32 dag, guint32 component, NodeState dag_state)
{
        const RunChildRecord *child = look_up(tree->children, dag, component);
        NodeState state = child && child->rest       ? (NodeState)child->rest
                          : node_is_final(dag_state) ? NODE_CANCELLED
                                                     : NODE_NONE;
        bool paused = is_paused_before(tree, dag, component);
        g_autofree char *message = state == NODE_NONE && !paused ? wait_of(tree, dag, component) : NULL;

        tree->items++;
        return json_pack("{s:s, s:s, s:s, s:s?}", "name", component_name(tree->definition, component), "type",
                         is_loop(tree->definition, dag, component) ? "loop"
                         : is_dag(tree->definition, component)     ? "dag"
                                                                   : "step",
                         "state", paused ? "paused" : node_state_name(state), "message", message);
}

/* A loop that is paused at an item, of which nothing runs. */
static bool loop_is_paused(const Tree *tree, guint32 dag, guint32 component, const gint64 counts[NODE_STATES])
{
        return is_paused_before(tree, dag, component) && counts[NODE_RUNNING] == 0 &&
               counts[NODE_STOPPING] == 0;
}

/* What the instances of a loop are together. */
static NodeState loop_state(const gint64 counts[NODE_STATES], NodeState rest)
{
        static const NodeState order[] = { NODE_STOPPING,   NODE_RUNNING,   NODE_NONE,     NODE_FAILED,
                                           NODE_TERMINATED, NODE_CANCELLED, NODE_SUCCEEDED };

        for (gsize i = 0; i < G_N_ELEMENTS(order); i++)
                if (counts[order[i]] > 0)
                        return order[i] == NODE_NONE ? (rest ? rest : NODE_RUNNING) : order[i];
        return NODE_SKIPPED;
}

static json_t *format_counts(const gint64 counts[NODE_STATES])
{
        json_t *object = json_object();

        for (int state = 0; state < NODE_STATES; state++)
                if (counts[state] > 0)
                        json_object_set_new(object, node_state_name((NodeState)state),
                                            json_integer(counts[state]));
        return object;
}

static bool is_dull(const RunNodeRecord *node)
{
        return node->state == NODE_SUCCEEDED || node->state == NODE_SKIPPED || node->state == NODE_CANCELLED;
}

/* A loop without items, or one that is disabled, has one node, which is skipped: it stands for the whole. So does the only item
 * of a loop if its condition is false. */
static bool is_empty_loop(const RunChildRecord *child, const GPtrArray *nodes)
{
        return (!child || child->count <= 1) && nodes->len == 1 &&
               ((const RunNodeRecord *)nodes->pdata[0])->state == NODE_SKIPPED;
}

/* All instances of a short loop; of a long one, some of those that run or did not succeed. */
static json_t *format_instances(Tree *tree, const GPtrArray *nodes, gint64 count)
{
        json_t *list = json_array();

        for (guint i = 0; i < nodes->len && tree->items < ITEMS_MAX; i++)
                if (count <= INSTANCES_MAX ||
                    (!is_dull(nodes->pdata[i]) && json_array_size(list) < INSTANCES_MAX))
                        json_array_append_new(list, format_instance(tree, nodes->pdata[i], true));
        return list;
}

/* Of a long loop they were counted by the store, since few of its rows were read. */
static void count_states(const Tree *tree, const GPtrArray *nodes, guint32 dag, guint32 component,
                         gint64 ret[NODE_STATES])
{
        const gint64 *counted = look_up(tree->counts, dag, component);

        if (counted)
                memcpy(ret, counted, NODE_STATES * sizeof *ret);
        for (guint i = 0; !counted && nodes && i < nodes->len; i++)
                ret[((RunNodeRecord *)nodes->pdata[i])->state]++;
}

/* How many results of its items are earlier ones. */
static void put_reused(const Tree *tree, json_t *object, const GPtrArray *nodes, guint32 dag,
                       guint32 component)
{
        const gint64 *counted = look_up(tree->counts, dag, component);
        gint64 kept = counted ? counted[COUNT_KEPT] : 0, cached = counted ? counted[COUNT_CACHED] : 0;

        for (guint i = 0; !counted && i < nodes->len; i++) {
                const RunNodeRecord *node = nodes->pdata[i];

                kept += node->made_id && !node->reuse;
                cached += node->reuse != NULL;
        }
        json_object_set_new(object, "kept", json_integer(kept));
        json_object_set_new(object, "from_cache", json_integer(cached));
}

static json_t *format_loop(Tree *tree, const GPtrArray *nodes, guint32 dag, guint32 component)
{
        const RunChildRecord *child = look_up(tree->children, dag, component);
        gint64 counts[NODE_STATES] = { 0 }, count = MAX(child ? child->count : 1, nodes->len), begun = 0;
        NodeState rest = child ? (NodeState)child->rest : NODE_NONE;
        json_t *object;

        if (is_empty_loop(child, nodes)) {
                object = format_instance(tree, nodes->pdata[0], false);
                json_object_set_new(object, "type", json_string("loop"));
                return object;
        }
        tree->items++;
        count_states(tree, nodes, dag, component, counts);
        for (int state = 0; state < NODE_STATES; state++)
                begun += counts[state];
        counts[rest] += MAX(count - begun, 0);
        object = json_pack("{s:s, s:s, s:s, s:s?, s:I, s:o, s:o}", "name",
                           component_name(tree->definition, component), "type", "loop", "state",
                           loop_is_paused(tree, dag, component, counts)
                                   ? "paused"
                                   : node_state_name(loop_state(counts, rest)),
                           "message", tree->waits ? look_up(tree->waits, dag, component) : NULL, "count",
                           (json_int_t)count, "states", format_counts(counts), "children",
                           format_instances(tree, nodes, count));
        put_reused(tree, object, nodes, dag, component);
        return object;
}

static json_t *format_unpaused(Tree *tree, guint32 dag, guint32 component, NodeState dag_state)
{
        const GPtrArray *nodes = look_up(tree->nodes, dag, component);
        g_autoptr(GPtrArray) none = NULL;

        if (!nodes && look_up(tree->counts, dag, component)) /* a long loop, all of which succeeded */
                nodes = none = g_ptr_array_new();
        if (!nodes)
                return format_waiting(tree, dag, component, dag_state);
        if (is_loop(tree->definition, dag, component))
                return format_loop(tree, nodes, dag, component);
        return format_instance(tree, nodes->pdata[0], false);
}

static json_t *format_component(Tree *tree, guint32 dag, guint32 component, NodeState dag_state)
{
        json_t *object = format_unpaused(tree, dag, component, dag_state);

        put_pause(tree, object, dag, component);
        return object;
}

/* The components in a DAG, or in the library component that it refers to. The nesting is bounded by
 * DEFINITION_DEPTH_MAX. */
static json_t *format_children(Tree *tree, guint32 dag, guint32 component, NodeState state)
{
        const Component *body = &tree->definition->components[component_target(tree->definition, component)];
        json_t *list = json_array();

        for (guint32 i = body->children; i < body[1].children; i++) {
                if (tree->items >= ITEMS_MAX) {
                        tree->partial = true;
                        break;
                }
                json_array_append_new(list, format_component(tree, dag, i, state));
        }
        return list;
}

static json_t *format_all(Tree *tree)
{
        NodeState state = (NodeState)tree->run->state;
        json_t *list = format_children(tree, RUN_ROOT, DEFINITION_ROOT, state);
        g_autoptr(json_t) post = format_children(tree, RUN_POST, DEFINITION_POST, state);
        json_t *item;
        size_t i;

        json_array_foreach(post, i, item)
                json_object_set_new(item, "post_process", json_true());
        json_array_extend(list, post);
        return list;
}

/* ---- the rows of the tree ---- */

/* The loops that have more items than are shown, by their first nodes. */
static GPtrArray *long_loops(const GPtrArray *children)
{
        GPtrArray *loops = g_ptr_array_new();

        for (guint i = 0; i < children->len; i++)
                if (((const RunChildRecord *)children->pdata[i])->count > INSTANCES_MAX)
                        g_ptr_array_add(loops, children->pdata[i]);
        return loops;
}

static gint compare_firsts(gconstpointer a, gconstpointer b)
{
        guint32 left = (*(RunChildRecord *const *)a)->first, right = (*(RunChildRecord *const *)b)->first;

        return left < right ? -1 : left > right;
}

/* The loop that the node lies in, if it is a long one; *at goes along with growing nodes. */
static const RunChildRecord *loop_of(const GPtrArray *loops, guint *at, guint32 node)
{
        const RunChildRecord *loop;

        for (; *at < loops->len; (*at)++) {
                loop = loops->pdata[*at];
                if (node < loop->first)
                        return NULL;
                if (node - loop->first < loop->count)
                        return loop;
        }
        return NULL;
}

/* Takes the rows of a page that are in no long loop. The `after` of the next page, behind a loop that was met. */
static gint64 take_page(Tree *tree, GPtrArray *page, const GPtrArray *loops, guint *at, gint64 next)
{
        g_ptr_array_set_free_func(page, NULL);
        for (guint i = 0; i < page->len; i++) {
                RunNodeRecord *node = page->pdata[i];
                const RunChildRecord *loop = loop_of(loops, at, node->node);

                if (!loop) {
                        g_ptr_array_add(tree->rows, node);
                        continue;
                }
                for (; i < page->len; i++)
                        run_node_record_free(page->pdata[i]);
                return (gint64)loop->first + loop->count - 1;
        }
        return next;
}

/* All rows but those of long loops. */
static bool read_most(Tree *tree, Store *store, const GPtrArray *loops, GError **error)
{
        RunNodeQuery query = { .run = tree->run->seq, .limit = PAGE };
        gint64 next;
        guint at = 0;

        do {
                g_autoptr(GPtrArray) page = store_run_nodes(store, &query, &next, error);

                if (!page)
                        return false;
                query.after = take_page(tree, page, loops, &at, next);
        } while (query.after > 0 && tree->rows->len < ROWS_MAX);
        tree->partial |= query.after > 0;
        return true;
}

/* The rows of a page that belong to the loop, up to `most`. */
static guint take_some(Tree *tree, GPtrArray *page, const RunChildRecord *loop, guint most)
{
        guint taken = 0;

        g_ptr_array_set_free_func(page, NULL);
        for (guint i = 0; i < page->len; i++) {
                RunNodeRecord *node = page->pdata[i];

                if (node->node - loop->first < loop->count && taken < most) {
                        g_ptr_array_add(tree->rows, node);
                        taken++;
                } else {
                        run_node_record_free(node);
                }
        }
        return taken;
}

/* Some of those of a long loop that run or did not succeed. */
static bool read_some(Tree *tree, Store *store, const RunChildRecord *loop, GError **error)
{
        RunNodeQuery query = { .run = tree->run->seq,
                               .after = (gint64)loop->first - 1,
                               .states = 1u << NODE_RUNNING | 1u << NODE_STOPPING | 1u << NODE_FAILED |
                                         1u << NODE_TERMINATED,
                               .limit = INSTANCES_MAX };
        gint64 end = (gint64)loop->first + loop->count - 1, next;
        guint taken = 0;

        do {
                g_autoptr(GPtrArray) page = store_run_nodes(store, &query, &next, error);

                if (!page)
                        return false;
                taken += take_some(tree, page, loop, INSTANCES_MAX - taken);
                query.after = next;
        } while (next > 0 && next < end && taken < INSTANCES_MAX);
        return true;
}

static bool read_counts(Tree *tree, Store *store, GError **error)
{
        g_autoptr(GArray) counts =
                store_run_loop_counts(store, tree->run->seq, INSTANCES_MAX, ROWS_MAX, error);

        for (guint i = 0; counts && i < counts->len; i++) {
                const RunLoopCount *count = &g_array_index(counts, RunLoopCount, i);
                gint64 *all = look_up(tree->counts, count->dag, count->component);

                if (!all) {
                        all = g_new0(gint64, COUNTS);
                        g_hash_table_insert(tree->counts, key_new(count->dag, count->component), all);
                }
                all[count->state] = count->n;
                all[COUNT_KEPT] += count->kept;
                all[COUNT_CACHED] += count->cached;
        }
        return counts != NULL;
}

static bool read_rows(Tree *tree, Store *store, const GPtrArray *children, GError **error)
{
        g_autoptr(GPtrArray) loops = long_loops(children);

        g_ptr_array_sort(loops, compare_firsts);
        if (!read_most(tree, store, loops, error) || !read_counts(tree, store, error))
                return false;
        for (guint i = 0; i < loops->len && tree->rows->len < ROWS_MAX + ITEMS_MAX; i++)
                if (!read_some(tree, store, loops->pdata[i], error))
                        return false;
        return true;
}

static void tree_clear(Tree *tree)
{
        g_hash_table_unref(tree->known);
        g_hash_table_unref(tree->nodes);
        g_hash_table_unref(tree->children);
        g_hash_table_unref(tree->counts);
        g_ptr_array_unref(tree->rows);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Tree, tree_clear)

json_t *run_tree_format(Store *store, const RunText *text, const RunRecord *run, gint64 epoch,
                        const json_t *edits, GHashTable *waits, bool *ret_partial, GError **error)
{
        g_autoptr(GPtrArray) children = store_run_children(store, run->seq, ROWS_MAX, error);
        g_auto(Tree) tree = {
                .definition = text->definition,
                .run = run,
                .epoch = epoch,
                .store = store,
                .edits = edits,
                .waits = waits,
                .known = run_paths_new(),
                .nodes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, list_unref),
                .children = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
                .counts = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free),
                .rows = g_ptr_array_new_with_free_func(node_free),
        };
        json_t *list;

        if (!children || !read_rows(&tree, store, children, error))
                return NULL;
        for (guint i = 0; i < tree.rows->len; i++)
                if (is_known(tree.definition, ((RunNodeRecord *)tree.rows->pdata[i])->component))
                        enter_node(&tree, tree.rows->pdata[i]);
        for (guint i = 0; i < children->len; i++) {
                RunChildRecord *child = children->pdata[i];

                g_hash_table_insert(tree.children, key_new(child->dag, child->component), child);
        }
        list = format_all(&tree);
        *ret_partial = tree.partial || children->len == ROWS_MAX;
        return list;
}
