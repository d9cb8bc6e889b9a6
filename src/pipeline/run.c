/* The state machine of a run (see run.h).
 *
 * Events change the state of nodes at once, and the DAGs above them (run-nodes.c). What fans out is work (run-work.c). */
#include "pipeline/run-internal.h"

Run *run_new(const Definition *definition, guint32 nodes_max)
{
        Run *run = g_new0(Run, 1);

        run->definition = definition;
        run->nodes_max = run->nodes_limit = run->children_limit = nodes_max;
        undo_array_init(&run->nodes, sizeof(RunNode), offsetof(RunNode, touched));
        undo_array_init(&run->children, sizeof(RunChild), offsetof(RunChild, touched));
        undo_array_init(&run->dags, sizeof(RunDag), offsetof(RunDag, touched));
        undo_array_init(&run->pauses, sizeof(RunPause), offsetof(RunPause, touched));
        run->work = g_array_new(FALSE, FALSE, sizeof(Work));
        run->waiting = g_array_new(FALSE, FALSE, sizeof(Waiting));
        run->totals.ready_first = run->totals.ready_last = run->totals.front = (guint32)RUN_NONE;
        run->totals.paused_first = run->totals.paused_last = (guint32)RUN_NONE;
        run->kept = run->totals;
        return run;
}

static guint32 at_most(const Run *run, guint32 now, guint32 more)
{
        return MIN(run->nodes_max, now + MIN(more, run->nodes_max));
}

void run_limit(Run *run, guint32 more)
{
        run->nodes_limit = at_most(run, run->totals.nodes, more);
        run->children_limit = at_most(run, run->totals.children, more);
}

void run_free(Run *run)
{
        if (!run)
                return;
        undo_array_clear(&run->nodes);
        undo_array_clear(&run->children);
        undo_array_clear(&run->dags);
        undo_array_clear(&run->pauses);
        run_breaks_unref(run->breaks);
        g_array_unref(run->work);
        g_array_unref(run->waiting);
        g_free(run);
}

/* ---- the definition ---- */

const Component *run_body(const Run *run, guint32 component)
{
        return &run->definition->components[component_target(run->definition, component)];
}

/* The components in a DAG: its own, or those of the library component that it refers to. */
static guint32 first_component(const Run *run, guint32 component)
{
        return run_body(run, component)->children;
}

guint32 run_n_components(const Run *run, guint32 component)
{
        const Component *body = run_body(run, component);

        return (body + 1)->children - body->children;
}

/* The loop of post_process is not expanded. */
bool run_child_loops(const Run *run, guint32 index)
{
        return run_body(run, run_child_component(run, index))->loops &&
               dag_at(run, child_at(run, index)->dag)->node != RUN_POST;
}

bool run_is_disabled(const Run *run, guint32 dag, guint32 component)
{
        guint32 chain[DEFINITION_DEPTH_MAX + 1];
        gsize n = 0;

        chain[DEFINITION_DEPTH_MAX - n++] = component;
        for (guint32 node = dag_at(run, dag)->node;
             node != RUN_ROOT && node != RUN_POST && n < G_N_ELEMENTS(chain);
             node = dag_at(run, node_at(run, node)->dag)->node)
                chain[DEFINITION_DEPTH_MAX - n++] = node_at(run, node)->component;
        return definition_is_disabled(run->definition, chain + G_N_ELEMENTS(chain) - n, n);
}

guint32 run_child_of(const Run *run, guint32 dag, guint32 component)
{
        const RunDag *at = dag_at(run, dag);

        return at->children + component - first_component(run, node_at(run, at->node)->component);
}

guint32 run_child_component(const Run *run, guint32 child)
{
        const RunDag *dag = dag_at(run, child_at(run, child)->dag);

        return first_component(run, node_at(run, dag->node)->component) + child - dag->children;
}

guint32 run_node_child(const Run *run, guint32 node)
{
        const RunNode *at = node_at(run, node);

        return run_child_of(run, at->dag, at->component);
}

/* ---- events ---- */

void run_reserve_first(Run *run)
{
        run->totals.nodes = 2;
        run->totals.state = NODE_RUNNING;
        undo_array_reserve(&run->nodes, run->totals.nodes);
        *touch_node(run, RUN_ROOT) = (RunNode){ .component = DEFINITION_ROOT,
                                                .dag = (guint32)RUN_NONE,
                                                .inner = (guint32)RUN_NONE,
                                                .touched = true };
        *touch_node(run, RUN_POST) = (RunNode){ .component = DEFINITION_POST,
                                                .dag = (guint32)RUN_NONE,
                                                .inner = (guint32)RUN_NONE,
                                                .touched = true };
}

void run_begin(Run *run)
{
        run_reserve_first(run);
        run_enter_dag(run, RUN_ROOT);
}

bool run_expanded(Run *run, guint32 index, guint32 count, bool failed)
{
        RunChild *child = touch_child(run, index);
        bool fits = count <= run->nodes_limit - MIN(run->nodes_limit, run->totals.nodes);

        if (!child->asked)
                return true;
        child->asked = false;
        run->totals.asked--;
        if (child->done) /* it was stopped meanwhile */
                return true;
        run->totals.full |= !fits;
        if (failed || !fits) {
                run_make_placeholder(run, index, NODE_FAILED);
        } else if (count == 0) {
                run_make_placeholder(run, index, NODE_SKIPPED);
        } else {
                run_reserve_nodes(run, index, count);
                run_insert_ready(run, index, (guint32)RUN_NONE);
        }
        return fits;
}

void run_looked(Run *run, guint32 index, bool holds, bool failed)
{
        RunNode *node = touch_node(run, index);

        if (node->state != NODE_LOOKING || node->holds)
                return;
        if (failed || !holds) {
                run_end_node(run, index, failed ? NODE_FAILED : NODE_SKIPPED);
                return;
        }
        if (dag_at(run, node->dag)->stopping) {
                run_end_node(run, index, NODE_TERMINATED);
                return;
        }
        node->holds = true;
        run->totals.asked--;
        if (run_body(run, node->component)->dag)
                run_enter_dag(run, index);
        else
                run_add_waiting(run, index, true);
}

void run_started(Run *run, guint32 index, gint64 job)
{
        RunNode *node = touch_node(run, index);

        node->job = job;
        if (node->state == NODE_STARTING)
                node->state = NODE_RUNNING;
}

void run_ended(Run *run, guint32 index, NodeState state)
{
        if (!node_is_final(node_at(run, index)->state))
                run_end_node(run, index, state);
}

void run_park(Run *run, guint32 index)
{
        RunNode *node = touch_node(run, index);

        run->totals.slots -= node->slot;
        node->slot = false;
}

void run_want(Run *run, guint32 index)
{
        RunNode *node = touch_node(run, index);

        if (node->state != NODE_STARTING || node->slot || node->wants)
                return;
        node->wants = true;
        run_add_waiting(run, index, true);
}

void run_stop(Run *run, bool force)
{
        const RunNode *post = node_at(run, RUN_POST);

        if (run->totals.state != NODE_RUNNING)
                return;
        run->totals.stopping = true;
        run->totals.forced |= force;
        if (!node_is_final(node_at(run, RUN_ROOT)->state))
                run_stop_dag(run, node_at(run, RUN_ROOT)->inner);
        else if (force && !node_is_final(post->state))
                run_stop_dag(run, post->inner);
        else
                run_drop_pauses(run); /* of post_process, which goes on */
}

/* ---- what changed since run_keep ---- */

/* Cuts off what is before the span, when that is half of it: a long queue is not moved each time. */
static void keep_span(GArray *array, Span *span)
{
        g_array_set_size(array, span->end);
        if (span->at == 0 || span->at < span->end / 2)
                return;
        g_array_remove_range(array, 0, span->at);
        span->end -= span->at;
        span->at = 0;
}

void run_keep(Run *run)
{
        undo_array_keep(&run->nodes);
        undo_array_keep(&run->children);
        undo_array_keep(&run->dags);
        undo_array_keep(&run->pauses);
        keep_span(run->work, &run->totals.work);
        keep_span(run->waiting, &run->totals.waiting);
        run->kept = run->totals;
}

void run_undo(Run *run)
{
        undo_array_undo(&run->nodes);
        undo_array_undo(&run->children);
        undo_array_undo(&run->dags);
        undo_array_undo(&run->pauses);
        run->totals = run->kept;
}

void run_changed(const Run *run, void (*changed)(void *arg, guint32 node), void *arg)
{
        for (guint i = 0; i < run->nodes.kept->len; i++)
                changed(arg, g_array_index(run->nodes.kept, guint32, i));
}

void run_failed_leaves(const Run *run, void (*failed)(void *arg, guint32 node), void *arg)
{
        for (guint i = 0; i < run->nodes.kept->len; i++) {
                guint32 index = g_array_index(run->nodes.kept, guint32, i);
                const RunNode *now = node_at(run, index), *was = undo_array_was(&run->nodes, i);

                if (index > RUN_POST && now->culprit && !was->culprit && now->inner == (guint32)RUN_NONE)
                        failed(arg, index);
        }
}

bool run_child_is_loop(const Run *run, guint32 child)
{
        return child_at(run, child)->first != (guint32)RUN_NONE && run_child_loops(run, child);
}

void run_changed_children(const Run *run, void (*changed)(void *arg, guint32 child), void *arg)
{
        for (guint i = 0; i < run->children.kept->len; i++) {
                guint32 index = g_array_index(run->children.kept, guint32, i);
                const RunChild *now = child_at(run, index), *was = undo_array_was(&run->children, i);

                if ((was->first != now->first && run_child_is_loop(run, index)) || was->rest != now->rest)
                        changed(arg, index);
        }
        for (guint i = 0; i < run->pauses.kept->len; i++)
                changed(arg, pause_at(run, g_array_index(run->pauses.kept, guint32, i))->child);
}

/* ---- state ---- */

NodeState run_state(const Run *run)
{
        return run->totals.state;
}

bool run_is_stopping(const Run *run)
{
        return run->totals.stopping;
}

bool run_is_full(const Run *run)
{
        return run->totals.full;
}

guint32 run_nodes(const Run *run)
{
        return run->totals.nodes;
}

guint32 run_children(const Run *run)
{
        return run->totals.children;
}

guint32 run_dags(const Run *run)
{
        return run->totals.dags;
}

guint32 run_slots_used(const Run *run)
{
        return run->totals.slots;
}

const RunNode *run_node(const Run *run, guint32 node)
{
        return node_at(run, node);
}

const RunChild *run_child(const Run *run, guint32 child)
{
        return child_at(run, child);
}

const RunDag *run_dag(const Run *run, guint32 dag)
{
        return dag_at(run, dag);
}

NodeState run_state_of(const Run *run, guint32 index, guint32 number)
{
        const RunChild *child = child_at(run, index);
        NodeState state =
                child->first == (guint32)RUN_NONE ? NODE_NONE : node_at(run, child->first + number)->state;

        return state == NODE_NONE ? (NodeState)child->rest : state;
}

gsize run_size(const Run *run)
{
        return sizeof *run + undo_array_size(&run->nodes) + undo_array_size(&run->children) +
               undo_array_size(&run->dags) + undo_array_size(&run->pauses) + run->work->len * sizeof(Work) +
               run->waiting->len * sizeof(Waiting);
}
