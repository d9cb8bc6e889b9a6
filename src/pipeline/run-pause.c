/* Where a run pauses, and how it goes on (see run.h, run-break.h).
 *
 *      ready child, its turn ──▶ run_pause_before ──▶ paused ──┬─▶ run_step: to the front of the ready ones
 *      all its nodes final   ──▶ run_pause_after  ──▶ paused ──┼─▶ run_continue: to their end; or what depends on it
 *                                                              └─▶ its DAG is stopped: run_drop_pause
 *
 * A child has a RunPause from its first pause on. `passed` says which places it has left behind, so that it does not pause
 * there again, also after a restart. What was paused when all go on is told by its epoch. */
#include "pipeline/run-internal.h"

/* ---- the list ---- */

static RunPause *touch_pause(Run *run, guint32 index)
{
        return undo_array_touch(&run->pauses, child_at(run, index)->pause - 1);
}

static void make_pause(Run *run, guint32 index)
{
        if (child_at(run, index)->pause)
                return;
        undo_array_reserve(&run->pauses, run->totals.pauses + 1);
        touch_child(run, index)->pause = ++run->totals.pauses;
        *touch_pause(run, index) = (RunPause){ .child = index, .touched = true };
}

/* At the end of the list. The links are numbers of children. */
static void list_pause(Run *run, guint32 index)
{
        RunPause *pause = touch_pause(run, index);

        pause->listed = true;
        pause->next = (guint32)RUN_NONE;
        pause->prev = run->totals.paused_last;
        *(pause->prev == (guint32)RUN_NONE ? &run->totals.paused_first
                                           : &touch_pause(run, pause->prev)->next) = index;
        run->totals.paused_last = index;
        run->totals.paused++;
}

static void unlist_pause(Run *run, guint32 index)
{
        RunPause *pause = touch_pause(run, index);

        *(pause->prev == (guint32)RUN_NONE ? &run->totals.paused_first
                                           : &touch_pause(run, pause->prev)->next) = pause->next;
        *(pause->next == (guint32)RUN_NONE ? &run->totals.paused_last
                                           : &touch_pause(run, pause->next)->prev) = pause->prev;
        pause->listed = false;
        pause->kind = RUN_PAUSE_NONE;
        run->totals.paused--;
}

static void begin_pause(Run *run, guint32 index, RunPauseKind kind, guint32 at)
{
        RunPause *pause;

        run_remove_ready(run, index);
        make_pause(run, index);
        pause = touch_pause(run, index);
        pause->kind = kind;
        pause->at = at;
        pause->epoch = run->totals.epoch;
        list_pause(run, index);
}

/* ---- places ---- */

/* The place before which the child stands (RunPause.at); RUN_NONE: it needs none. */
static guint32 place_of(const Run *run, guint32 index)
{
        const RunChild *child = child_at(run, index);

        if (child->first == (guint32)RUN_NONE)
                return child->asked ? (guint32)RUN_NONE : 0;
        if (child->unmade == 0 || !run_child_loops(run, index) || child->made == child->count ||
            node_at(run, child->first + child->made)->state != NODE_NONE)
                return (guint32)RUN_NONE;
        return child->made + 1;
}

static bool part_is(const StepPart *part, const RunNode *node)
{
        return part->component == node->component &&
               (part->number == (guint32)STEP_ANY || part->number == node->number);
}

/* `number`: of an item, or STEP_ANY. */
static bool is_at(const Run *run, const Break *at, guint32 dag, guint32 component, guint32 number)
{
        const StepPart *part = break_last(at);
        guint32 node = dag_at(run, dag)->node;

        if (part->component != component || part->number != number)
                return false;
        while (part-- > at->path->parts) {
                if (node <= RUN_POST || !part_is(part, node_at(run, node)))
                        return false;
                node = dag_at(run, node_at(run, node)->dag)->node;
        }
        return node == (at->path->post ? RUN_POST : RUN_ROOT);
}

static bool has_break(const Run *run, guint32 index, guint32 number, bool after)
{
        guint32 component = run_child_component(run, index);
        const GPtrArray *list;

        if (!run->breaks || !run_breaks_has(run->breaks, component))
                return false;
        list = run_breaks_list(run->breaks);
        for (guint i = 0; i < list->len; i++) {
                const Break *at = list->pdata[i];

                if (at->after == after && is_at(run, at, child_at(run, index)->dag, component, number))
                        return true;
        }
        return false;
}

static bool never_runs(const Run *run, guint32 index)
{
        return run_is_disabled(run, child_at(run, index)->dag, run_child_component(run, index));
}

/* ---- pauses ---- */

/* It pauses at no place below this one. One that had not come to its pause again after a restart, when all went on, has
 * passed it. */
static guint32 passed_of(const Run *run, const RunChild *child)
{
        const RunPause *pause = child->pause ? pause_at(run, child->pause - 1) : NULL;

        if (!pause)
                return 0;
        return pause->kind == RUN_PAUSE_BEFORE && pause->epoch < run->totals.epoch
                       ? MAX(pause->passed, pause->at + 1)
                       : pause->passed;
}

bool run_pause_before(Run *run, guint32 index)
{
        const RunChild *child = child_at(run, index);
        const RunPause *pause = child->pause ? pause_at(run, child->pause - 1) : NULL;
        guint32 place;
        bool was;

        if (run->totals.stopping || (!run->breaks && !run->totals.stepping && !pause))
                return false;
        place = place_of(run, index);
        if (place == (guint32)RUN_NONE || passed_of(run, child) > place ||
            (place == 0 && never_runs(run, index)))
                return false;
        was = pause && pause->kind == RUN_PAUSE_BEFORE && pause->at == place;
        if (!was && !run->totals.stepping &&
            !has_break(run, index, place == 0 ? (guint32)STEP_ANY : place - 1, false))
                return false;
        begin_pause(run, index, RUN_PAUSE_BEFORE, place);
        run->action(run->arg, ACTION_PAUSE, index);
        return true;
}

bool run_pause_after(Run *run, guint32 index)
{
        const RunChild *child = child_at(run, index);

        if (child->bad || run->totals.stopping || dag_at(run, child->dag)->stopping ||
            !has_break(run, index, (guint32)STEP_ANY, true) || never_runs(run, index))
                return false;
        begin_pause(run, index, RUN_PAUSE_AFTER, 0);
        run_add_work(run, WORK_PAUSED, index);
        return true;
}

bool run_work_paused(Run *run, guint32 index)
{
        if (child_is_paused(run, child_at(run, index)))
                run->action(run->arg, ACTION_PAUSE, index);
        return true;
}

/* ---- how they end ---- */

/* `after`: the ready child behind which it comes, if it was paused before it was made. */
static void go_on(Run *run, guint32 index, guint32 after)
{
        RunPause *pause = touch_pause(run, index);
        bool ended = pause->kind == RUN_PAUSE_AFTER;

        pause->passed = ended ? (guint32)RUN_PASSED : pause->at + 1;
        unlist_pause(run, index);
        if (ended)
                run_finish_child(run, index);
        else
                run_insert_ready(run, index, after);
}

void run_drop_pause(Run *run, guint32 index)
{
        bool ended = touch_pause(run, index)->kind == RUN_PAUSE_AFTER;

        unlist_pause(run, index);
        if (ended)
                run_finish_child(run, index);
}

void run_drop_pauses(Run *run)
{
        while (run->totals.paused > 0)
                go_on(run, run->totals.paused_first, (guint32)RUN_NONE);
}

bool run_work_go(Run *run, guint32 index)
{
        guint32 first = run->totals.paused_first;

        if (first == (guint32)RUN_NONE ||
            pause_at(run, child_at(run, first)->pause - 1)->epoch >= run->totals.epoch)
                return true;
        go_on(run, first, run->totals.ready_last);
        return false;
}

void run_set_breaks(Run *run, RunBreaks *breaks)
{
        RunBreaks *old = run->breaks;

        run->breaks = breaks ? run_breaks_ref(breaks) : NULL;
        run_breaks_unref(old);
}

void run_step(Run *run, guint32 index)
{
        run->totals.stepping = true;
        if (index != (guint32)RUN_NONE)
                go_on(run, index, (guint32)RUN_NONE);
}

void run_continue(Run *run, guint32 index)
{
        run->totals.stepping = false;
        if (index != (guint32)RUN_NONE) {
                go_on(run, index, run->totals.ready_last);
                return;
        }
        run->totals.epoch++;
        run_add_work(run, WORK_GO, 0);
}

/* ---- after a restart ---- */

void run_restore_steps(Run *run, bool stepping, guint32 epoch)
{
        run->totals.stepping = stepping;
        run->totals.epoch = epoch;
}

void run_restore_pause(Run *run, guint32 dag_node, guint32 component, const RunPause *was)
{
        guint32 index = run_child_of(run, run_restored_dag(run, dag_node), component);
        RunPause *pause;

        make_pause(run, index);
        pause = touch_pause(run, index);
        pause->kind = was->kind;
        pause->at = was->at;
        pause->epoch = was->epoch;
        pause->passed = was->passed;
        if (!was->kind || was->epoch >= run->totals.epoch)
                return;
        pause->passed = was->kind == RUN_PAUSE_AFTER ? (guint32)RUN_PASSED : was->at + 1;
        pause->kind = RUN_PAUSE_NONE;
}

static void restore_pause(Run *run, guint32 index)
{
        const RunChild *child = child_at(run, index);
        const RunPause *pause = child->pause ? pause_at(run, child->pause - 1) : NULL;

        if (!pause || !pause->kind || child->done)
                return;
        if (pause->kind == RUN_PAUSE_AFTER || place_of(run, index) == pause->at)
                list_pause(run, index);
}

void run_restore_pauses(Run *run)
{
        for (guint32 d = 0; d < run->totals.dags; d++)
                for (guint32 i = 0; i < dag_at(run, d)->n_children; i++)
                        restore_pause(run, dag_at(run, d)->children + i);
}

/* ---- state ---- */

guint32 run_paused(const Run *run)
{
        return run->totals.paused;
}

guint32 run_paused_first(const Run *run)
{
        return run->totals.paused_first;
}

bool run_is_stepping(const Run *run)
{
        return run->totals.stepping;
}

guint32 run_epoch(const Run *run)
{
        return run->totals.epoch;
}

const RunPause *run_pause_of(const Run *run, guint32 child)
{
        guint32 pause = child_at(run, child)->pause;

        return pause ? pause_at(run, pause - 1) : NULL;
}
