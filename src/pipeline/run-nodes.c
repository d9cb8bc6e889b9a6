/* The nodes of a run: how they are made, and what follows from the end of one. */
#include "pipeline/run-internal.h"

/* ---- ends ---- */

void run_stop_dag(Run *run, guint32 index)
{
        RunDag *dag = touch_dag(run, index);

        if (dag->stopping)
                return;
        dag->stopping = true;
        run_add_work(run, WORK_STOP, index);
}

NodeState run_end_of_dag(const RunDag *dag)
{
        if (dag->failed)
                return NODE_FAILED;
        return dag->terminated || dag->cancelled ? NODE_TERMINATED : NODE_SUCCEEDED;
}

void run_finish_child(Run *run, guint32 index)
{
        RunChild *child = touch_child(run, index);
        RunDag *dag = touch_dag(run, child->dag);

        child->done = true;
        if (!child->bad) {
                child->at = 0;
                run_add_work(run, WORK_RELEASE, index);
        }
        if (--dag->open == 0)
                run_end_node(run, dag->node, run_end_of_dag(dag));
}

void run_end_child(Run *run, guint32 index)
{
        if (!run_pause_after(run, index))
                run_finish_child(run, index);
}

void run_fail_child(Run *run, guint32 index)
{
        RunChild *child = touch_child(run, index);
        guint32 dag_index = child->dag;

        if (child->failed)
                return;
        child->failed = true;
        if (run->definition->continues) {
                child->at = 0;
                run_add_work(run, WORK_CANCEL, index);
                return;
        }
        for (guint32 node = dag_at(run, dag_index)->node; node != RUN_ROOT && node != RUN_POST;
             node = dag_at(run, dag_index)->node)
                dag_index = node_at(run, node)->dag;
        run_stop_dag(run, dag_index);
}

static void count_end(Run *run, RunNode *node, guint32 index, NodeState state)
{
        RunDag *dag = touch_dag(run, node->dag);
        RunChild *child = touch_child(run, index);

        child->open--;
        if (state == NODE_SUCCEEDED || state == NODE_SKIPPED)
                return;
        child->bad = true;
        if (state == NODE_TERMINATED && dag->stopping) {
                dag->terminated = true;
        } else {
                node->culprit = dag->failed = true;
                run_fail_child(run, index);
        }
}

static void end_run(Run *run)
{
        NodeState root = node_at(run, RUN_ROOT)->state, post = node_at(run, RUN_POST)->state;

        if (root == NODE_FAILED || post == NODE_FAILED)
                run->totals.state = NODE_FAILED;
        else if (root == NODE_TERMINATED || post == NODE_TERMINATED)
                run->totals.state = run->totals.stopping ? NODE_TERMINATED : NODE_FAILED;
        else
                run->totals.state = NODE_SUCCEEDED;
        run_add_work(run, WORK_END, 0);
}

/* Without a post_process step its DAG is empty, and ends at once. After a restart it may have begun. */
static void begin_post(Run *run)
{
        const RunNode *post = node_at(run, RUN_POST);

        if (post->inner == (guint32)RUN_NONE)
                run_enter_dag(run, RUN_POST);
        else if (dag_at(run, post->inner)->open == 0)
                run_end_node(run, RUN_POST, run_end_of_dag(dag_at(run, post->inner)));
        if (run->totals.forced && !node_is_final(post->state))
                run_stop_dag(run, post->inner);
}

void run_end_node(Run *run, guint32 index, NodeState state)
{
        RunNode *node = touch_node(run, index);
        guint32 child;

        if (node->state == NODE_LOOKING && !node->holds)
                run->totals.asked--;
        run->totals.slots -= node->slot;
        node->slot = node->wants = false;
        node->state = state;
        if (index == RUN_ROOT) {
                begin_post(run);
        } else if (index == RUN_POST) {
                end_run(run);
        } else {
                child = run_node_child(run, index);
                count_end(run, node, child, state);
                if (child_at(run, child)->open == 0)
                        run_end_child(run, child);
        }
}

/* ---- making nodes ---- */

void run_reserve_nodes(Run *run, guint32 index, guint32 count)
{
        RunChild *child = touch_child(run, index);

        child->first = run->totals.nodes;
        child->count = child->open = child->unmade = count;
        run->totals.nodes += count;
        undo_array_reserve(&run->nodes, run->totals.nodes);
}

guint32 run_make_node(Run *run, guint32 index)
{
        RunChild *child = touch_child(run, index);
        guint32 number = child->made++, ret = child->first + number;
        RunNode *node = touch_node(run, ret);

        child->seen = MAX(child->seen, child->made);
        child->unmade--;
        node->component = run_child_component(run, index);
        node->dag = child->dag;
        node->number = number;
        node->inner = (guint32)RUN_NONE;
        return ret;
}

void run_make_placeholder(Run *run, guint32 index, NodeState state)
{
        run_remove_ready(run, index);
        run_reserve_nodes(run, index, 1);
        run_end_node(run, run_make_node(run, index), state);
}

RunDag *run_make_dag(Run *run, guint32 index)
{
        RunNode *node = touch_node(run, index);
        RunDag *ret;

        node->inner = run->totals.dags++;
        undo_array_reserve(&run->dags, run->totals.dags);
        ret = touch_dag(run, node->inner);
        ret->node = index;
        ret->children = run->totals.children;
        ret->n_children = ret->open = run_n_components(run, node->component);
        run->totals.children += ret->n_children;
        undo_array_reserve(&run->children, run->totals.children);
        return ret;
}

void run_prepare_child(Run *run, guint32 dag_index, guint32 index)
{
        RunChild *child = touch_child(run, index);
        const Component *component;

        child->dag = dag_index;
        child->first = child->next = child->prev = (guint32)RUN_NONE;
        component = &run->definition->components[run_child_component(run, index)];
        child->waiting = (component + 1)->dependencies - component->dependencies;
}

/* The entry points and post_process always fit. */
static bool dag_fits(const Run *run, guint32 node)
{
        guint32 left = run->children_limit - MIN(run->children_limit, run->totals.children);

        return node <= RUN_POST || run_n_components(run, node_at(run, node)->component) <= left;
}

void run_enter_dag(Run *run, guint32 node)
{
        bool empty;

        if (!dag_fits(run, node)) {
                run->totals.full = true;
                run_end_node(run, node, NODE_FAILED);
                return;
        }
        empty = run_make_dag(run, node)->n_children == 0;
        touch_node(run, node)->state = NODE_RUNNING;
        if (empty)
                run_end_node(run, node, NODE_SUCCEEDED);
        else
                run_add_work(run, WORK_ENTER, node_at(run, node)->inner);
}
