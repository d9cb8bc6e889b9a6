/* Starts, ends and stops of a naive run: after each change everything is looked at, until nothing follows any more. */
#include "pipeline/test/run-model.h"

#include <string.h>

void thing_free(void *data)
{
        Thing *thing = data;

        g_free(thing->path);
        if (thing->groups)
                g_ptr_array_unref(thing->groups);
        g_free(thing);
}

static void group_free(void *data)
{
        Group *group = data;

        g_ptr_array_unref(group->things);
        g_free(group);
}

guint model_hash(guint salt, const char *path, const char *what)
{
        return (g_str_hash(path) * 31 + g_str_hash(what) * 17 + salt * 2654435761u) >> 7;
}

char *model_path(const char *dag, const char *name, guint number)
{
        return number ? g_strdup_printf("%s/%s-%u", dag, name, number) : g_strdup_printf("%s/%s", dag, name);
}

bool group_ended(const Group *group)
{
        if (group->rest == NODE_NONE && (group->count == 0 || group->things->len < group->count))
                return false;
        for (guint i = 0; i < group->things->len; i++) {
                NodeState state = ((Thing *)group->things->pdata[i])->state;

                if (!node_is_final(state) && (state != NODE_NONE || group->rest == NODE_NONE))
                        return false;
        }
        return true;
}

static bool group_done(const Group *group)
{
        return group->pause != RUN_PAUSE_AFTER && group_ended(group);
}

bool group_all_ok(const Group *group)
{
        if (group->rest != NODE_NONE || !group_ended(group))
                return false;
        for (guint i = 0; i < group->things->len; i++) {
                NodeState state = ((Thing *)group->things->pdata[i])->state;

                if (state != NODE_SUCCEEDED && state != NODE_SKIPPED)
                        return false;
        }
        return true;
}

static bool group_ok(const Group *group)
{
        return group_done(group) && group_all_ok(group);
}

guint group_next(const Group *group)
{
        for (guint i = 0; i < group->things->len; i++)
                if (((Thing *)group->things->pdata[i])->state == NODE_NONE)
                        return i;
        return group->things->len;
}

static bool group_waits(const Group *group)
{
        return !group->queued && !group->started && group->rest == NODE_NONE;
}

bool group_deps_ok(const Group *group)
{
        for (guint j = 0; group->part->deps >> j; j++)
                if (group->part->deps & 1u << j && !group_ok(group->dag->groups->pdata[j]))
                        return false;
        return true;
}

void model_say(Model *model, const char *what, const char *path)
{
        g_ptr_array_add(model->actions, g_strconcat(what, " ", path, NULL));
        if (strcmp(what, "stop") != 0 && strcmp(what, "end") != 0)
                g_ptr_array_add(model->open, g_strconcat(what, " ", path, NULL));
}

char *group_path(const Group *group)
{
        return model_path(group->dag->path, group->part->name, 0);
}

bool group_loops(const Model *model, const Group *group)
{
        return group->part->body->loops && group->dag != model->post;
}

/* ---- ends ---- */

static void cancel_after(Thing *dag, guint index)
{
        for (guint i = index + 1; i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];

                if (group->part->deps & 1u << index && group_waits(group)) {
                        group->rest = NODE_CANCELLED;
                        dag->cancelled = true;
                        cancel_after(dag, i);
                }
        }
}

static void break_dag(Model *model, Group *group)
{
        Thing *dag = group->dag;
        guint index = 0;

        dag->broken = true;
        if (group->failed)
                return;
        group->failed = true;
        if (model->plan->continues) {
                (void)g_ptr_array_find(dag->groups, group, &index);
                if (!dag->stopping)
                        cancel_after(dag, index);
                return;
        }
        while (dag->group) {
                dag->broken = true;
                dag = dag->group->dag;
        }
        dag->broken = true;
        thing_stop(model, dag);
}

void thing_end(Model *model, Thing *thing, NodeState state)
{
        if (thing->state == NODE_LOOKING && !thing->holds)
                model->asks--;
        model->slots -= thing->slot;
        thing->slot = thing->wants = false;
        thing->state = state;
        if (state == NODE_FAILED || (state == NODE_TERMINATED && !thing->group->dag->stopping))
                break_dag(model, thing->group);
        else if (state == NODE_TERMINATED)
                thing->group->dag->terminated = true;
}

/* One that waits for a slot has no other answer left. */
static void stop_step(Model *model, Thing *thing)
{
        model_say(model, "stop", thing->path);
        if (thing->wants)
                g_ptr_array_add(model->open, g_strconcat("parked ", thing->path, NULL));
}

static void stop_group(Model *model, Group *group)
{
        Thing *dag = group->dag;

        if (g_queue_remove(&model->paused, group))
                group->pause = RUN_PAUSE_NONE;
        if (group_done(group))
                return;
        if (group->rest == NODE_NONE && (group->count == 0 || group_next(group) < group->count)) {
                group->rest = (group->queued || group->started) && dag != model->post ? NODE_TERMINATED
                                                                                      : NODE_CANCELLED;
                *(group->rest == NODE_TERMINATED ? &dag->terminated : &dag->cancelled) = true;
        }
        g_queue_remove(&model->queue, group);
        for (guint i = 0; i < group->things->len; i++) {
                Thing *thing = group->things->pdata[i];

                if (thing->state == NODE_LOOKING) {
                        thing_end(model, thing, NODE_TERMINATED);
                } else if (thing->state == NODE_STARTING || thing->state == NODE_RUNNING) {
                        thing->state = NODE_STOPPING;
                        if (thing->groups)
                                thing_stop(model, thing);
                        else
                                stop_step(model, thing);
                }
        }
}

void thing_stop(Model *model, Thing *dag)
{
        if (dag->stopping)
                return;
        dag->stopping = true;
        for (guint i = 0; i < dag->groups->len; i++)
                stop_group(model, dag->groups->pdata[i]);
}

/* ---- starts ---- */

/* Its children that may start come first in the queue. */
void thing_enter(Model *model, Thing *thing, const Part *body)
{
        guint at = 0;

        thing->state = NODE_RUNNING;
        thing->groups = g_ptr_array_new_with_free_func(group_free);
        for (guint i = 0; i < body->children->len; i++) {
                Group *group = g_new0(Group, 1);

                group->part = body->children->pdata[i];
                group->dag = thing;
                group->things = g_ptr_array_new_with_free_func(thing_free);
                g_ptr_array_add(thing->groups, group);
                if (group->part->deps == 0) {
                        group->queued = true;
                        g_queue_push_nth(&model->queue, group, (int)at++);
                }
        }
}

static Thing *make_thing(Group *group)
{
        guint number = group_next(group);
        Thing *thing;

        if (number < group->things->len)
                return group->things->pdata[number];
        thing = g_new0(Thing, 1);
        thing->group = group;
        thing->number = group->things->len;
        thing->path = model_path(group->dag->path, group->part->name, thing->number);
        g_ptr_array_add(group->things, thing);
        return thing;
}

void group_placeholder(Model *model, Group *group, NodeState state)
{
        g_queue_remove(&model->queue, group);
        group->count = 1;
        thing_end(model, make_thing(group), state);
}

void model_wait_for_slot(Model *model, Group *group, Thing *thing)
{
        const Waiter waiter = { group, thing };

        g_queue_push_tail(&model->waiting, g_memdup2(&waiter, sizeof waiter));
}

static void start_thing(Model *model, Thing *thing)
{
        thing->slot = true;
        thing->wants = false;
        model->slots++;
        thing->state = NODE_STARTING;
        model_say(model, "start", thing->path);
}

static bool serve_waiter(Model *model)
{
        const Waiter *waiter = g_queue_peek_head(&model->waiting);
        Group *group;
        bool more;

        if (!waiter || model->slots >= (guint)model->plan->parallelism)
                return false;
        group = waiter->group;
        more = !waiter->thing && group->rest == NODE_NONE && group_next(group) < group->count;
        if (more && group_pauses_before(model, group))
                more = false;
        else if (more)
                start_thing(model, make_thing(group));
        else if (waiter->thing && (waiter->thing->state == NODE_LOOKING ||
                                   (waiter->thing->state == NODE_STARTING && waiter->thing->wants)))
                start_thing(model, waiter->thing);
        if (!more)
                g_free(g_queue_pop_head(&model->waiting));
        return true;
}

static bool serve_group(Model *model)
{
        Group *group = g_queue_peek_head(&model->queue);
        const Part *body;
        Thing *thing;

        if (!group || model->asks >= 64)
                return false;
        if (group_pauses_before(model, group))
                return true;
        body = group->part->body;
        if (!group->started) {
                group->started = true;
                if (group->part->disabled) {
                        group_placeholder(model, group, NODE_SKIPPED);
                } else if (body->loops) {
                        g_autofree char *path = model_path(group->dag->path, group->part->name, 0);

                        group->asked = true;
                        model->asks++;
                        g_queue_pop_head(&model->queue);
                        model_say(model, "expand", path);
                } else {
                        group->count = 1;
                }
                return true;
        }
        if (!body->dag && !body->looks) {
                model_wait_for_slot(model, g_queue_pop_head(&model->queue), NULL);
                return true;
        }
        thing = make_thing(group);
        thing->state = NODE_LOOKING;
        if (group_next(group) == group->count)
                g_queue_pop_head(&model->queue);
        if (!body->looks) {
                thing_enter(model, thing, body);
        } else {
                model->asks++;
                model_say(model, "look", thing->path);
        }
        return true;
}

static bool serve_model(Model *model)
{
        return serve_waiter(model) || serve_group(model);
}

/* ---- scans ---- */

static bool end_dags(Model *model, Thing *dag)
{
        bool done = true;

        for (guint i = 0; i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];

                for (guint j = 0; j < group->things->len; j++) {
                        Thing *thing = group->things->pdata[j];

                        if (thing->groups && !node_is_final(thing->state) && end_dags(model, thing))
                                return true;
                }
                done &= group_done(group);
        }
        if (!done || node_is_final(dag->state))
                return false;
        NodeState state = dag->broken                         ? NODE_FAILED
                          : dag->terminated || dag->cancelled ? NODE_TERMINATED
                                                              : NODE_SUCCEEDED;
        if (dag->group)
                thing_end(model, dag, state);
        else
                dag->state = state;
        return true;
}

static bool release_groups(Model *model, Thing *dag)
{
        bool ret = false;

        for (guint i = 0; i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];

                for (guint j = 0; j < group->things->len; j++)
                        if (((Thing *)group->things->pdata[j])->groups)
                                ret |= release_groups(model, group->things->pdata[j]);
                if (!node_is_final(dag->state) && !dag->stopping && group_waits(group) &&
                    group_deps_ok(group)) {
                        group->queued = ret = true;
                        g_queue_push_tail(&model->queue, group);
                }
        }
        return ret;
}

static void begin_post_of(Model *model)
{
        model->post = g_new0(Thing, 1);
        model->post->path = g_strdup("post");
        thing_enter(model, model->post, model->plan->posts);
        if (model->forced)
                thing_stop(model, model->post);
}

static bool end_model(Model *model)
{
        NodeState root = model->root->state, post = model->post->state;

        if (root == NODE_FAILED || post == NODE_FAILED)
                model->state = NODE_FAILED;
        else if (root == NODE_TERMINATED || post == NODE_TERMINATED)
                model->state = model->stopping ? NODE_TERMINATED : NODE_FAILED;
        else
                model->state = NODE_SUCCEEDED;
        model->ended = true;
        model_say(model, "end", "");
        return true;
}

bool model_settle(Model *model)
{
        return model_pauses_after(model, model->root) ||
               (model->post && model_pauses_after(model, model->post)) || end_dags(model, model->root) ||
               release_groups(model, model->root);
}

bool model_follow(Model *model)
{
        if (model->ended)
                return false;
        if (model_settle(model))
                return true;
        if (node_is_final(model->root->state) && !model->post) {
                begin_post_of(model);
                return true;
        }
        if (model->post && (end_dags(model, model->post) || release_groups(model, model->post)))
                return true;
        if (model->post && node_is_final(model->post->state))
                return end_model(model);
        return serve_model(model);
}

Thing *thing_find(Thing *dag, const char *path)
{
        for (guint i = 0; dag->groups && i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];

                for (guint j = 0; j < group->things->len; j++) {
                        Thing *thing = group->things->pdata[j], *found;

                        if (strcmp(thing->path, path) == 0)
                                return thing;
                        found = thing_find(thing, path);
                        if (found)
                                return found;
                }
        }
        return NULL;
}

Group *group_find(Thing *dag, const char *path)
{
        for (guint i = 0; dag->groups && i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];
                g_autofree char *own = model_path(dag->path, group->part->name, 0);

                if (strcmp(own, path) == 0)
                        return group;
                for (guint j = 0; j < group->things->len; j++) {
                        Group *found = group_find(group->things->pdata[j], path);

                        if (found)
                                return found;
                }
        }
        return NULL;
}

static void dump_thing(GString *out, const Model *model, const Thing *dag)
{
        for (guint i = 0; i < dag->groups->len; i++) {
                const Group *group = dag->groups->pdata[i];

                for (guint number = 0; number < MAX(group->count, 1); number++) {
                        const Thing *thing =
                                number < group->things->len ? group->things->pdata[number] : NULL;
                        NodeState state = thing && thing->state != NODE_NONE ? thing->state : group->rest;

                        g_string_append_printf(out, "%s-%u=%d%s", group->part->name, number, state,
                                               g_queue_find((GQueue *)&model->paused, group) ? "!" : "");
                        if (thing && thing->groups) {
                                g_string_append_c(out, '{');
                                dump_thing(out, model, thing);
                                g_string_append_c(out, '}');
                        }
                        g_string_append_c(out, ' ');
                }
        }
}

char *model_dump(const Model *model)
{
        GString *out = g_string_new(NULL);

        g_string_append_printf(out, "%d slots %u paused %u%s: ", model->ended ? model->state : NODE_RUNNING,
                               model->slots, model->paused.length, model->stepping ? " steps" : "");
        dump_thing(out, model, model->root);
        g_string_append(out, "| ");
        if (model->post)
                dump_thing(out, model, model->post);
        return g_string_free(out, FALSE);
}
