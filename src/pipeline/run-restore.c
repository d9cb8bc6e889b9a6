/* A run after a restart of the server, or a retry (see run.h). */
#include "pipeline/run-internal.h"

static void restore_dag(Run *run, guint32 node)
{
        RunDag *dag = run_make_dag(run, node);

        touch_node(run, node)->state = NODE_RUNNING;
        for (; dag->entered < dag->n_children; dag->entered++)
                run_prepare_child(run, node_at(run, node)->inner, dag->children + dag->entered);
}

guint32 run_restored_dag(Run *run, guint32 node)
{
        if (run->totals.nodes == 0)
                run_reserve_first(run);
        if (node_at(run, node)->inner == (guint32)RUN_NONE)
                restore_dag(run, node);
        return node_at(run, node)->inner;
}

void run_restore_loop(Run *run, guint32 dag_node, guint32 component, guint32 first, guint32 count)
{
        RunChild *child = touch_child(run, run_child_of(run, run_restored_dag(run, dag_node), component));

        child->first = first;
        child->count = count;
        child->started = true;
        run->totals.nodes = MAX(run->totals.nodes, first + count);
        undo_array_reserve(&run->nodes, run->totals.nodes);
}

void run_restore_node(Run *run, guint32 index, guint32 dag_node, const RunNode *was, bool inner)
{
        guint32 dag = run_restored_dag(run, dag_node), child_index = run_child_of(run, dag, was->component);
        RunChild *child = touch_child(run, child_index);
        RunNode *node;

        if (child->first == (guint32)RUN_NONE)
                run_restore_loop(run, dag_node, was->component, index, 1);
        child->seen = MAX(child->seen, was->number + 1);
        node = touch_node(run, index);
        node->component = was->component;
        node->dag = dag;
        node->number = was->number;
        node->inner = (guint32)RUN_NONE;
        node->job = was->job;
        if (inner)
                restore_dag(run, index);
        node->state = was->state == NODE_STOPPING && was->job == 0 && !inner ? NODE_TERMINATED : was->state;
        node->culprit = was->culprit;
        node->slot = !node_is_final(node->state) && !inner;
        run->totals.slots += node->slot;
}

static void count_node(RunDag *dag, RunChild *child, const RunNode *node)
{
        child->unmade += node->state == NODE_NONE;
        child->open += !node_is_final(node->state);
        child->failed |= node->culprit;
        child->bad |=
                node_is_final(node->state) && node->state != NODE_SUCCEEDED && node->state != NODE_SKIPPED;
        dag->failed |= node->culprit;
        dag->terminated |= node->state == NODE_TERMINATED;
}

static bool is_paused_after(const Run *run, const RunChild *child)
{
        return child->pause && pause_at(run, child->pause - 1)->kind == RUN_PAUSE_AFTER;
}

static void count_child(Run *run, guint32 index)
{
        RunChild *child = child_at(run, index);
        RunDag *dag = dag_at(run, child->dag);

        if (child->first == (guint32)RUN_NONE)
                return;
        for (guint32 i = 0; i < child->count; i++)
                count_node(dag, child, node_at(run, child->first + i));
        while (child->made < child->count && node_at(run, child->first + child->made)->state != NODE_NONE)
                child->made++;
        child->done = child->open == 0 && !is_paused_after(run, child);
        dag->open -= child->done;
}

static void release_restored(Run *run, guint32 index)
{
        guint32 dependant;

        if (!child_at(run, index)->done || child_at(run, index)->bad)
                return;
        while ((dependant = run_next_dependant(run, index)) != (guint32)RUN_NONE)
                touch_child(run, dependant)->waiting--;
}

/* Goes on with the children of a DAG: what is ready is served, and a failure has its effects again. */
static void resume_child(Run *run, guint32 index)
{
        RunChild *child = child_at(run, index);

        if (child->done || dag_at(run, child->dag)->stopping || child_is_paused(run, child))
                return;
        if (child->waiting == 0 && (child->first == (guint32)RUN_NONE || child->unmade > 0))
                run_insert_ready(run, index, run->totals.ready_last);
}

static void resume_stop(Run *run, guint32 dags)
{
        for (guint32 d = 0; d < dags; d++)
                if (node_at(run, dag_at(run, d)->node)->state == NODE_STOPPING)
                        run_stop_dag(run, d);
}

/* The last of their nodes was STOPPING without a job. Inner DAGs come after those around them. */
static void end_stopped(Run *run, guint32 dags)
{
        while (dags-- > 0) {
                const RunDag *dag = dag_at(run, dags);

                if (dag->node > RUN_POST && dag->open == 0 && !node_is_final(node_at(run, dag->node)->state))
                        run_end_node(run, dag->node, run_end_of_dag(dag));
        }
}

static void resume_failure(Run *run, guint32 index)
{
        RunChild *child = touch_child(run, index);

        if (!child->failed)
                return;
        child->failed = false;
        run_fail_child(run, index);
}

/* A DAG is final: what has no nodes was cancelled. */
static void cancel_rest(Run *run, guint32 index)
{
        RunChild *child = touch_child(run, index);

        if (child->done)
                return;
        child->rest = child->first == (guint32)RUN_NONE ? NODE_CANCELLED : NODE_TERMINATED;
        child->count = MAX(child->count, 1);
        child->done = true;
}

static void each_child(Run *run, guint32 dags, bool final, void (*visit)(Run *run, guint32 child))
{
        for (guint32 d = 0; d < dags; d++) {
                const RunDag *dag = dag_at(run, d);

                if (node_is_final(node_at(run, dag->node)->state) == final)
                        for (guint32 i = 0; i < dag->n_children; i++)
                                visit(run, dag->children + i);
        }
}

void run_restored(Run *run, bool stopping, bool forced)
{
        guint32 root = run_restored_dag(run, RUN_ROOT), dags = run->totals.dags;

        run->totals.stopping = stopping;
        run->totals.forced = forced;
        each_child(run, dags, false, count_child);
        each_child(run, dags, true, count_child);
        each_child(run, dags, true, cancel_rest);
        each_child(run, dags, false, release_restored);
        each_child(run, dags, false, resume_failure);
        run_restore_pauses(run);
        resume_stop(run, dags);
        if (stopping)
                run_stop_dag(run, root);
        end_stopped(run, dags);
        each_child(run, dags, false, resume_child);
        if (dag_at(run, root)->open == 0 && !node_is_final(node_at(run, RUN_ROOT)->state))
                run_end_node(run, RUN_ROOT, run_end_of_dag(dag_at(run, root)));
}
