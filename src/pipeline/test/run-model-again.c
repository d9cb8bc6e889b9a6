/* A naive run after a restart, and one that is retried. */
#include "pipeline/test/run-model.h"

#include <string.h>

void model_forget_asked(Model *model, Thing *dag)
{
        for (guint i = 0; dag && i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];

                if (group->asked || (group->started && group->count == 0))
                        group->asked = group->started = false;
                for (guint j = 0; j < group->things->len; j++) {
                        Thing *thing = group->things->pdata[j];

                        if (thing->groups) {
                                model_forget_asked(model, thing);
                        } else if (thing->state == NODE_LOOKING || thing->state == NODE_STARTING) {
                                model->slots -= thing->slot;
                                thing->slot = thing->holds = thing->parked = thing->wants = false;
                                thing->state = NODE_NONE;
                                group->started = group_loops(model, group);
                        } else if (thing->state == NODE_STOPPING && !thing->job) {
                                thing_end(model, thing, NODE_TERMINATED);
                        }
                }
        }
}

void model_queue_again(Model *model, Thing *dag)
{
        for (guint i = 0; i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];

                if (group->rest != NODE_NONE || group_ended(group) || node_is_final(dag->state) ||
                    g_queue_find(&model->paused, group) || dag->stopping || !group_deps_ok(group) ||
                    (group->count > 0 && group_next(group) >= group->count))
                        continue;
                group->queued = true;
                g_queue_push_tail(&model->queue, group);
        }
}

static bool group_changed(const Group *group)
{
        bool changed = group->again;

        for (guint i = 0; i < group->things->len; i++)
                changed |= ((Thing *)group->things->pdata[i])->changed;
        return changed;
}

static bool mark_dag(Thing *dag, char *const *from);

static bool mark_group(Group *group, char *const *from)
{
        bool here = from && *from && strcmp(*from, group->part->name) == 0;

        group->again = here && !from[1];
        for (guint i = 0; i < group->things->len; i++) {
                Thing *thing = group->things->pdata[i];

                thing->changed = thing->groups && mark_dag(thing, here ? from + 1 : NULL);
        }
        return group_changed(group);
}

/* Siblings that a component depends on come before it. */
static bool mark_dag(Thing *dag, char *const *from)
{
        bool any = false;

        for (guint i = 0; i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];

                any |= mark_group(group, from);
                for (guint j = 0; group->part->deps >> j; j++)
                        if (group->part->deps & 1u << j && group_changed(dag->groups->pdata[j]))
                                group->again = any = true;
        }
        return any;
}

static void retry_dag(Thing *dag);

/* True if something of it is kept. */
static bool retry_thing(Thing *thing)
{
        if ((thing->state == NODE_SUCCEEDED || thing->state == NODE_SKIPPED) && !thing->changed)
                return true;
        if (thing->groups) {
                retry_dag(thing);
                return true;
        }
        thing->state = NODE_NONE;
        thing->job = thing->holds = thing->parked = false;
        return false;
}

static void retry_dag(Thing *dag)
{
        dag->state = NODE_RUNNING;
        dag->stopping = dag->broken = dag->terminated = dag->cancelled = false;
        for (guint i = 0; i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];
                bool kept = false;

                for (guint j = 0; j < group->things->len && !group->again; j++)
                        kept |= retry_thing(group->things->pdata[j]);
                group->rest = NODE_NONE;
                group->queued = group->asked = group->failed = group->again = false;
                group->pause = RUN_PAUSE_NONE;
                group->passed = 0;
                group->started = kept;
                if (!kept) {
                        group->count = 0;
                        g_ptr_array_set_size(group->things, 0);
                }
                group->ended = group_ended(group);
        }
}

void model_retry(Model *model, const char *from)
{
        g_auto(GStrv) names = from ? g_strsplit(from, ".", -1) : NULL;

        (void)mark_dag(model->root, names);
        retry_dag(model->root);
        thing_free(model->post);
        model->post = NULL;
        model->stopping = model->forced = model->ended = false;
        model->slots = 0;
        model->stepping = false;
        g_queue_clear(&model->paused);
        g_ptr_array_set_size(model->breaks, 0);
        model->salt += 1000003;
        g_ptr_array_set_size(model->open, 0);
}
