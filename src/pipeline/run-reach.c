/* Whether a run can still pause at a breakpoint (see run-reach.h, run-pause.c).
 *
 * A path is followed from the top. A part without a number stands for all items of a loop, so a path may mean many instances:
 * one that the run may still come to decides, and the search for it is bounded. */
#include "pipeline/run-reach.h"

#include "pipeline/run-internal.h"

enum {
        LOOKS_MAX = 256,   /* instances that are looked at */
        BESIDE_MAX = 1000, /* components of a DAG that are looked at */
};

typedef struct {
        const Run *run;
        const Break *at;
        guint looks; /* so many are left */
} Search;

static RunReach reach_new(const Run *run, ReachKind kind, guint32 index)
{
        return (RunReach){ .kind = (guint8)kind,
                           .component = index == (guint32)RUN_NONE ? 0 : run_child_component(run, index),
                           .child = index };
}

static bool is_off(const Run *run, guint32 index)
{
        return run_is_disabled(run, child_at(run, index)->dag, run_child_component(run, index));
}

/* It was cancelled, or its DAG is being stopped. */
static bool is_stopped(const Run *run, const RunChild *child)
{
        return child->rest != NODE_NONE || dag_at(run, child->dag)->stopping;
}

/* A loop without items, or whose list is wrong, has one node that stands for it. */
static ReachKind state_of_short(const Run *run, const RunChild *child)
{
        NodeState state = child->count == 1 ? node_at(run, child->first)->state : NODE_NONE;

        return state == NODE_SKIPPED ? REACH_SKIPPED : state == NODE_FAILED ? REACH_STOPPED : REACH_SHORT;
}

static RunReach too_short(const Run *run, guint32 index)
{
        RunReach ret = reach_new(run, state_of_short(run, child_at(run, index)), index);

        ret.count = child_at(run, index)->count;
        return ret;
}

/* ---- the last part ---- */

static bool pauses_now(const Run *run, const RunChild *child, RunPauseKind kind, guint32 place)
{
        return child_is_paused(run, child) && pause_at(run, child->pause - 1)->kind == kind &&
               pause_at(run, child->pause - 1)->at == place;
}

static ReachKind reach_after(const Run *run, const RunChild *child)
{
        if (pauses_now(run, child, RUN_PAUSE_AFTER, 0))
                return REACH_OPEN;
        if (child->bad || is_stopped(run, child))
                return REACH_STOPPED;
        return child->done ? REACH_ENDED : REACH_OPEN;
}

/* `place`: see RunPause.at. */
static ReachKind reach_place(const Run *run, const RunChild *child, guint32 place)
{
        guint32 passed = child->pause ? pause_at(run, child->pause - 1)->passed : 0;
        bool made = child->first != (guint32)RUN_NONE;
        NodeState state = made && place > 0 ? node_at(run, child->first + place - 1)->state : NODE_NONE;

        if (pauses_now(run, child, RUN_PAUSE_BEFORE, place))
                return REACH_OPEN;
        if (state == NODE_SKIPPED && child->count == 1 && passed <= place)
                return REACH_SKIPPED;
        if (node_is_final(state) || child->done)
                return made ? REACH_ENDED : REACH_STOPPED;
        if (state != NODE_NONE || passed > place || (place == 0 && (made || child->asked)))
                return REACH_BEGUN;
        return is_stopped(run, child) ? REACH_STOPPED : REACH_OPEN;
}

static RunReach reach_last(const Search *search, guint32 index)
{
        const RunChild *child = child_at(search->run, index);
        guint32 number = break_last(search->at)->number;

        if (is_off(search->run, index))
                return reach_new(search->run, REACH_DISABLED, index);
        if (search->at->after)
                return reach_new(search->run, reach_after(search->run, child), index);
        if (number == (guint32)STEP_ANY)
                return reach_new(search->run, reach_place(search->run, child, 0), index);
        if (child->first != (guint32)RUN_NONE && number >= child->count)
                return too_short(search->run, index);
        return reach_new(search->run, reach_place(search->run, child, number + 1), index);
}

/* ---- the DAGs above it ---- */

static RunReach reach_in(Search *search, guint32 dag, gsize part);

/* Of item `number` of a DAG on the path. */
static RunReach reach_item(Search *search, guint32 index, guint32 number, gsize part)
{
        const Run *run = search->run;
        NodeState state = run_state_of(run, index, number);
        guint32 inner = node_at(run, child_at(run, index)->first + number)->inner;

        if (state == NODE_NONE || search->looks == 0)
                return reach_new(run, REACH_OPEN, index);
        search->looks--;
        if (state == NODE_SKIPPED)
                return reach_new(run, REACH_SKIPPED, index);
        if (state != NODE_LOOKING && inner != (guint32)RUN_NONE)
                return reach_in(search, inner, part + 1);
        if (!node_is_final(state))
                return reach_new(run, REACH_OPEN, index);
        return reach_new(run, state == NODE_SUCCEEDED ? REACH_ENDED : REACH_STOPPED, index);
}

static RunReach reach_items(Search *search, guint32 index, gsize part)
{
        RunReach best = reach_item(search, index, 0, part);

        for (guint32 i = 1; i < child_at(search->run, index)->count && best.kind < REACH_OPEN; i++) {
                RunReach one = reach_item(search, index, i, part);

                if (one.kind > best.kind)
                        best = one;
        }
        return best;
}

static RunReach reach_in(Search *search, guint32 dag, gsize part)
{
        const StepPart *at = &search->at->path->parts[part];
        guint32 index = run_child_of(search->run, dag, at->component);
        const RunChild *child = child_at(search->run, index);

        if (part + 1 == search->at->path->n)
                return reach_last(search, index);
        if (is_off(search->run, index))
                return reach_new(search->run, REACH_DISABLED, index);
        if (child->first == (guint32)RUN_NONE)
                return reach_new(search->run,
                                 child->done || is_stopped(search->run, child) ? REACH_STOPPED : REACH_OPEN,
                                 index);
        if (at->number == (guint32)STEP_ANY)
                return reach_items(search, index, part);
        return at->number < child->count ? reach_item(search, index, at->number, part)
                                         : too_short(search->run, index);
}

RunReach run_reach(const Run *run, const Break *at)
{
        Search search = { run, at, LOOKS_MAX };
        guint32 dag = node_at(run, at->path->post ? RUN_POST : RUN_ROOT)->inner;

        return dag == (guint32)RUN_NONE ? reach_new(run, REACH_OPEN, (guint32)RUN_NONE)
                                        : reach_in(&search, dag, 0);
}

/* ---- where else ---- */

guint run_reach_beside(const Run *run, guint32 child, bool after, guint max, guint32 *ret)
{
        const RunDag *dag = dag_at(run, child_at(run, child)->dag);
        guint n = 0;

        for (guint32 i = 0; i < MIN(dag->n_children, BESIDE_MAX) && n < max; i++) {
                guint32 index = dag->children + i;
                const RunChild *other = child_at(run, index);

                if (!is_off(run, index) &&
                    (after ? reach_after(run, other) : reach_place(run, other, 0)) == REACH_OPEN)
                        ret[n++] = run_child_component(run, index);
        }
        return n;
}
