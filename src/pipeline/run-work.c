/* The work of a run.
 *
 * What fans out is work: an item of a queue that remembers in the child or DAG how far it came, so that it can stop after
 * any step. When no work is left, a free slot is given to the first step that waits for one; then the first ready child
 * gives its next node, or begins to wait. */
#include "pipeline/run-internal.h"

enum { ASKED_MAX = 64 }; /* loops and conditions without an answer */

/* ---- the list of ready children, the work, and what waits for a slot ---- */

void run_insert_ready(Run *run, guint32 index, guint32 after)
{
        RunChild *child = touch_child(run, index);
        guint32 next = after == (guint32)RUN_NONE ? run->totals.ready_first : child_at(run, after)->next;

        child->ready = true;
        child->prev = after;
        child->next = next;
        *(after == (guint32)RUN_NONE ? &run->totals.ready_first : &touch_child(run, after)->next) = index;
        *(next == (guint32)RUN_NONE ? &run->totals.ready_last : &touch_child(run, next)->prev) = index;
}

void run_remove_ready(Run *run, guint32 index)
{
        RunChild *child = touch_child(run, index);

        if (!child->ready)
                return;
        *(child->prev == (guint32)RUN_NONE ? &run->totals.ready_first
                                           : &touch_child(run, child->prev)->next) = child->next;
        *(child->next == (guint32)RUN_NONE ? &run->totals.ready_last : &touch_child(run, child->next)->prev) =
                child->prev;
        child->ready = false;
}

void run_add_work(Run *run, WorkKind kind, guint32 index)
{
        const Work work = { .kind = kind, .index = index };

        g_array_set_size(run->work, run->totals.work.end++);
        g_array_append_val(run->work, work);
}

void run_add_waiting(Run *run, guint32 index, bool node)
{
        const Waiting waiting = { .index = index, .node = node };

        g_array_set_size(run->waiting, run->totals.waiting.end++);
        g_array_append_val(run->waiting, waiting);
}

/* ---- work: one step each; true: the item is done ---- */

static bool work_enter(Run *run, guint32 index)
{
        RunDag *dag = touch_dag(run, index);
        guint32 child = dag->children + dag->entered;

        if (dag->entered == 0)
                run->totals.front = (guint32)RUN_NONE;
        run_prepare_child(run, index, child);
        if (child_at(run, child)->waiting == 0) {
                run_insert_ready(run, child, run->totals.front);
                run->totals.front = child;
        }
        return ++dag->entered == dag->n_children;
}

guint32 run_next_dependant(Run *run, guint32 index)
{
        RunChild *child = touch_child(run, index);
        const Component *component = &run->definition->components[run_child_component(run, index)];
        guint32 link = component->dependants + child->at;

        if (link >= (component + 1)->dependants)
                return (guint32)RUN_NONE;
        child->at++;
        return run_child_of(run, child->dag, run->definition->links[link]);
}

static bool work_release(Run *run, guint32 index)
{
        guint32 dependant = run_next_dependant(run, index);

        if (dependant == (guint32)RUN_NONE || dag_at(run, child_at(run, index)->dag)->stopping)
                return true;
        if (--touch_child(run, dependant)->waiting == 0)
                run_insert_ready(run, dependant, run->totals.ready_last);
        return false;
}

/* The nodes that are not made never will be. */
static void drop_unmade(Run *run, guint32 index, NodeState rest)
{
        RunChild *child = touch_child(run, index);
        RunDag *dag = touch_dag(run, child->dag);

        if (child->first == (guint32)RUN_NONE)
                child->count = 1;
        else if (child->unmade == 0)
                return;
        run_remove_ready(run, index);
        child->rest = rest;
        child->open -= child->unmade;
        child->unmade = 0;
        child->bad = true;
        *(rest == NODE_CANCELLED ? &dag->cancelled : &dag->terminated) = true;
        if (child->open == 0)
                run_end_child(run, index);
}

static bool work_cancel(Run *run, guint32 index)
{
        guint32 dependant = run_next_dependant(run, index);

        if (dependant == (guint32)RUN_NONE || dag_at(run, child_at(run, index)->dag)->stopping)
                return true;
        if (!child_at(run, dependant)->done) {
                drop_unmade(run, dependant, NODE_CANCELLED);
                run_add_work(run, WORK_CANCEL, dependant);
        }
        return false;
}

static void stop_node(Run *run, guint32 index)
{
        RunNode *node = node_at(run, index);

        if (node->state == NODE_LOOKING) {
                run_end_node(run, index, NODE_TERMINATED);
        } else if (node->state == NODE_STARTING || node->state == NODE_RUNNING) {
                touch_node(run, index)->state = NODE_STOPPING;
                if (node->inner != (guint32)RUN_NONE)
                        run_stop_dag(run, node->inner);
                else
                        run->action(run->arg, ACTION_STOP, index);
        }
}

static bool work_stop(Run *run, guint32 index)
{
        RunDag *dag = touch_dag(run, index);
        guint32 child_index = dag->children + dag->stopped;
        RunChild *child = touch_child(run, child_index);
        bool paused = child_is_paused(run, child);
        bool made = (child->ready || child->started || paused) && dag->node != RUN_POST;

        if (paused)
                run_drop_pause(run, child_index);
        if (!child->done && child->stopped < child->seen) {
                stop_node(run, child->first + child->stopped++);
                return false;
        }
        if (!child->done && child->first != (guint32)RUN_NONE)
                drop_unmade(run, child_index, NODE_TERMINATED);
        else if (!child->done && made)
                run_make_placeholder(run, child_index, NODE_TERMINATED);
        else if (!child->done)
                drop_unmade(run, child_index, NODE_CANCELLED);
        return ++dag->stopped == dag->n_children;
}

static bool work_end(Run *run, guint32 index)
{
        run->action(run->arg, ACTION_END, index);
        return true;
}

static bool (*const works[])(Run *run, guint32 index) = {
        [WORK_ENTER] = work_enter, [WORK_RELEASE] = work_release,   [WORK_CANCEL] = work_cancel,
        [WORK_STOP] = work_stop,   [WORK_PAUSED] = run_work_paused, [WORK_GO] = run_work_go,
        [WORK_END] = work_end,
};

/* ---- serving what waits ---- */

static bool needs_slot(const Run *run, guint32 child)
{
        const Component *body = run_body(run, run_child_component(run, child));

        return !body->dag && !body->looks;
}

static void wait_for_slot(Run *run, guint32 child)
{
        run_remove_ready(run, child);
        run_add_waiting(run, child, false);
}

/* The first time. */
static void start_child(Run *run, guint32 index)
{
        RunChild *child = touch_child(run, index);

        child->started = true;
        if (run_is_disabled(run, child->dag, run_child_component(run, index))) {
                run_make_placeholder(run, index, NODE_SKIPPED);
        } else if (run_child_loops(run, index)) {
                run_remove_ready(run, index);
                child->asked = true;
                run->totals.asked++;
                run->action(run->arg, ACTION_EXPAND, index);
        } else if (needs_slot(run, index)) {
                wait_for_slot(run, index);
        } else {
                run_reserve_nodes(run, index, 1);
        }
}

/* Its next node, which needs no slot: a DAG, or a step with a condition. */
static void serve_node(Run *run, guint32 child)
{
        guint32 index = run_make_node(run, child);
        RunNode *node = touch_node(run, index);

        if (child_at(run, child)->made == child_at(run, child)->count)
                run_remove_ready(run, child);
        if (!run_body(run, node->component)->looks) {
                run_enter_dag(run, index);
                return;
        }
        node->state = NODE_LOOKING;
        run->totals.asked++;
        run->action(run->arg, ACTION_LOOK, index);
}

/* After a restart a node behind those that are made may be there already. */
static bool skip_made(Run *run, RunChild *child)
{
        if (node_at(run, child->first + child->made)->state == NODE_NONE)
                return false;
        child->made++;
        return true;
}

/* False: no child is ready, or too much is asked. */
static bool serve_ready(Run *run)
{
        guint32 index = run->totals.ready_first;
        RunChild *child;

        if (index == (guint32)RUN_NONE || run->totals.asked >= ASKED_MAX)
                return false;
        if (run_pause_before(run, index))
                return true;
        child = touch_child(run, index);
        if (child->first == (guint32)RUN_NONE) {
                start_child(run, index);
        } else if (needs_slot(run, index)) {
                wait_for_slot(run, index);
        } else if (!skip_made(run, child)) {
                serve_node(run, index);
        } else if (child->made == child->count) {
                run_remove_ready(run, index);
        }
        return true;
}

static void start_node(Run *run, guint32 index)
{
        RunNode *node = touch_node(run, index);

        node->slot = true;
        node->wants = false;
        node->state = NODE_STARTING;
        run->totals.slots++;
        run->action(run->arg, ACTION_START, index);
}

/* True: it waits no more. It may have been stopped meanwhile. */
static bool serve_waiting_child(Run *run, guint32 index)
{
        RunChild *child = touch_child(run, index);

        if (child->done || run_pause_before(run, index))
                return true;
        if (child->first == (guint32)RUN_NONE)
                run_reserve_nodes(run, index, 1);
        if (child->unmade > 0 && !skip_made(run, child))
                start_node(run, run_make_node(run, index));
        return child_at(run, index)->unmade == 0;
}

/* It may have been stopped, or ended, meanwhile. */
static bool wants_slot(const RunNode *node)
{
        return node->state == NODE_LOOKING || (node->state == NODE_STARTING && node->wants);
}

/* False: no step waits, or there is no free slot. */
static bool serve_waiting(Run *run)
{
        Span *span = &run->totals.waiting;
        Waiting first;

        if (span->at == span->end || run->totals.slots >= (guint32)run->definition->parallelism)
                return false;
        first = g_array_index(run->waiting, Waiting, span->at);
        if (!first.node) {
                span->at += serve_waiting_child(run, first.index);
                return true;
        }
        span->at++;
        if (wants_slot(node_at(run, first.index)))
                start_node(run, first.index);
        return true;
}

static bool serve(Run *run)
{
        return serve_waiting(run) || serve_ready(run);
}

bool run_work(Run *run, guint *budget, RunAction action, void *arg)
{
        run->action = action;
        run->arg = arg;
        for (; *budget > 0; (*budget)--) {
                if (run->totals.work.at < run->totals.work.end) {
                        const Work work = g_array_index(run->work, Work, run->totals.work.at);

                        if (works[work.kind](run, work.index))
                                run->totals.work.at++;
                } else if (!serve(run)) {
                        return false;
                }
        }
        return true;
}
