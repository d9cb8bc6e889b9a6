/* The state machine of a run (see run.h).
 *
 * Events change the state of nodes at once, and the DAGs above them. What fans out is work: an item of a queue that
 * remembers in the child or DAG how far it came, so that it can stop after any step. When no work is left, a free slot is
 * given to the first step that waits for one; then the first ready child gives its next node, or begins to wait. */
#include "pipeline/run-internal.h"

enum { ASKED_MAX = 64 }; /* loops and conditions without an answer */

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

/* A reference has the body of its target. */
const Component *run_body(const Run *run, guint32 component)
{
        return &run->definition->components[component_target(run->definition, component)];
}

/* The components in a DAG: its own, or those of the library component that it refers to. */
static guint32 first_component(const Run *run, guint32 component)
{
        return run_body(run, component)->children;
}

static guint32 n_components(const Run *run, guint32 component)
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

/* ---- the list of ready children, the work, and what waits for a slot ---- */

/* Behind the child `after`; RUN_NONE: at the front. */
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

static void add_waiting(Run *run, guint32 index, bool node)
{
        const Waiting waiting = { .index = index, .node = node };

        g_array_set_size(run->waiting, run->totals.waiting.end++);
        g_array_append_val(run->waiting, waiting);
}

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

/* ---- ends ---- */

static void enter_dag(Run *run, guint32 node);

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

static void end_child(Run *run, guint32 index)
{
        if (!run_pause_after(run, index))
                run_finish_child(run, index);
}

/* A failure stops all up to the entry points, or only cancels what depends on the child. */
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
                enter_dag(run, RUN_POST);
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
                        end_child(run, child);
        }
}

/* ---- making nodes ---- */

static void reserve_nodes(Run *run, guint32 index, guint32 count)
{
        RunChild *child = touch_child(run, index);

        child->first = run->totals.nodes;
        child->count = child->open = child->unmade = count;
        run->totals.nodes += count;
        undo_array_reserve(&run->nodes, run->totals.nodes);
}

/* The next one of the child. */
static guint32 make_node(Run *run, guint32 index)
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

/* One node stands for a component that has none to run. */
static void make_placeholder(Run *run, guint32 index, NodeState state)
{
        run_remove_ready(run, index);
        reserve_nodes(run, index, 1);
        run_end_node(run, make_node(run, index), state);
}

/* The instance of the DAG of a node; its children are zero. */
RunDag *run_make_dag(Run *run, guint32 index)
{
        RunNode *node = touch_node(run, index);
        RunDag *ret;

        node->inner = run->totals.dags++;
        undo_array_reserve(&run->dags, run->totals.dags);
        ret = touch_dag(run, node->inner);
        ret->node = index;
        ret->children = run->totals.children;
        ret->n_children = ret->open = n_components(run, node->component);
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

        return node <= RUN_POST || n_components(run, node_at(run, node)->component) <= left;
}

static void enter_dag(Run *run, guint32 node)
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

/* The next child that depends on this one, or RUN_NONE. */
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
                end_child(run, index);
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
                make_placeholder(run, child_index, NODE_TERMINATED);
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

/* ---- serving ready children ---- */

static bool needs_slot(const Run *run, guint32 child)
{
        const Component *body = run_body(run, run_child_component(run, child));

        return !body->dag && !body->looks;
}

static void wait_for_slot(Run *run, guint32 child)
{
        run_remove_ready(run, child);
        add_waiting(run, child, false);
}

/* The first time. */
static void start_child(Run *run, guint32 index)
{
        RunChild *child = touch_child(run, index);

        child->started = true;
        if (run_is_disabled(run, child->dag, run_child_component(run, index))) {
                make_placeholder(run, index, NODE_SKIPPED);
        } else if (run_child_loops(run, index)) {
                run_remove_ready(run, index);
                child->asked = true;
                run->totals.asked++;
                run->action(run->arg, ACTION_EXPAND, index);
        } else if (needs_slot(run, index)) {
                wait_for_slot(run, index);
        } else {
                reserve_nodes(run, index, 1);
        }
}

/* Its next node, which needs no slot: a DAG, or a step with a condition. */
static void serve_node(Run *run, guint32 child)
{
        guint32 index = make_node(run, child);
        RunNode *node = touch_node(run, index);

        if (child_at(run, child)->made == child_at(run, child)->count)
                run_remove_ready(run, child);
        if (!run_body(run, node->component)->looks) {
                enter_dag(run, index);
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
                reserve_nodes(run, index, 1);
        if (child->unmade > 0 && !skip_made(run, child))
                start_node(run, make_node(run, index));
        return child_at(run, index)->unmade == 0;
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
        if (node_at(run, first.index)->state == NODE_LOOKING || node_at(run, first.index)->wants)
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
        enter_dag(run, RUN_ROOT);
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
                make_placeholder(run, index, NODE_FAILED);
        } else if (count == 0) {
                make_placeholder(run, index, NODE_SKIPPED);
        } else {
                reserve_nodes(run, index, count);
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
                enter_dag(run, index);
        else
                add_waiting(run, index, true);
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
        add_waiting(run, index, true);
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
