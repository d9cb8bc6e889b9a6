/* Runs beside a naive model: random definitions, and random events.
 *
 * The model has an object for each instance and looks at all of them after each event (run-model.h). After each event both
 * must have asked for the same actions in the same order, and all states must agree (run-pair.h).
 *
 * What a condition says, how long a loop is and how a job ends follows from a hash of the instance's path, so that it
 * is the same after a restart. Between events a run is undone and does the same again, or is made again from its nodes.
 * A run that has ended is retried, also from a random component on. Breakpoints come and go, and what is paused goes on by
 * steps or as a whole. Some steps that start give their slot back, and end without a job or want a slot again. */
#include <string.h>

#include "base/test/seed.h"
#include "pipeline/test/run-pair.h"

enum { ITEMS_MAX = 4, EVENTS_MAX = 4000, RETRIES_MAX = 3 };
enum {
        PARKS = 20,
        WANTS = 50
}; /* percent: of steps that start; of those that were parked, which want a slot again */

/* An answer to an action, or a stop. */
typedef struct {
        const char *what, *path;
        guint hash;
        bool force;
} Answer;

static NodeState end_of_job(const Answer *answer, bool stopping)
{
        guint percent = answer->hash % 100;

        if (stopping)
                return percent < 80 ? NODE_TERMINATED : percent < 90 ? NODE_SUCCEEDED : NODE_FAILED;
        return percent < 85 ? NODE_SUCCEEDED : percent < 95 ? NODE_FAILED : NODE_TERMINATED;
}

static bool is_starting(const Run *run, guint32 node)
{
        return run_node(run, node)->state == NODE_STARTING;
}

static void answer_run(const Pair *pair, const Answer *answer)
{
        Run *run = pair->run;
        guint percent = answer->hash % 100;
        guint32 node;

        if (strcmp(answer->what, "cancel") == 0) {
                run_stop(run, answer->force);
                return;
        }
        if (strcmp(answer->what, "step") == 0 || strcmp(answer->what, "continue") == 0) {
                node = *answer->path ? pair_child(pair, answer->path) : (guint32)RUN_NONE;
                (*answer->what == 's' ? run_step : run_continue)(run, node);
                return;
        }
        if (strcmp(answer->what, "expand") == 0) {
                (void)run_expanded(run, pair_child(pair, answer->path), answer->hash / 100 % ITEMS_MAX,
                                   percent < 4);
                return;
        }
        node = pair_node(pair, answer->path);
        if (strcmp(answer->what, "look") == 0)
                run_looked(run, node, percent < 75, percent >= 95);
        else if (strcmp(answer->what, "park") == 0)
                run_park(run, node);
        else if (strcmp(answer->what, "parked") == 0 && percent < WANTS && is_starting(run, node))
                run_want(run, node);
        else if (strcmp(answer->what, "start") == 0 && percent >= 5 && is_starting(run, node))
                run_started(run, node, node + 1);
        else
                run_ended(run, node, end_of_job(answer, run_node(run, node)->state == NODE_STOPPING));
}

static void answer_expand(Model *model, const Answer *answer)
{
        Group *group = group_find(model->root, answer->path);

        if (!group && model->post)
                group = group_find(model->post, answer->path);
        group->asked = false;
        model->asks--;
        if (group->rest != NODE_NONE)
                return;
        if (answer->hash % 100 < 4) {
                group_placeholder(model, group, NODE_FAILED);
        } else if (answer->hash / 100 % ITEMS_MAX == 0) {
                group_placeholder(model, group, NODE_SKIPPED);
        } else {
                group->count = answer->hash / 100 % ITEMS_MAX;
                g_queue_push_head(&model->queue, group);
        }
}

static void answer_pause(Model *model, const Answer *answer)
{
        bool step = *answer->what == 's';
        Group *group = *answer->path ? group_find(model->root, answer->path) : NULL;

        if (*answer->path && !group)
                group = group_find(model->post, answer->path);
        model->stepping = step;
        if (group)
                group_goes_on(model, group, step);
        else if (!step)
                model_continue(model, false);
}

static void answer_look(Model *model, Thing *thing, guint percent)
{
        if (thing->state != NODE_LOOKING)
                return;
        if (percent >= 75) {
                thing_end(model, thing, percent >= 95 ? NODE_FAILED : NODE_SKIPPED);
                return;
        }
        model->asks--;
        thing->holds = true;
        if (thing->group->part->body->dag)
                thing_enter(model, thing, thing->group->part->body);
        else
                model_wait_for_slot(model, thing->group, thing);
}

/* It waits for something else, without a slot. */
static void answer_park(Model *model, Thing *thing)
{
        thing->parked = true;
        model->slots -= thing->slot;
        thing->slot = false;
        g_ptr_array_add(model->open, g_strconcat("parked ", thing->path, NULL));
}

static Thing *any_thing(Model *model, const char *path)
{
        Thing *thing = thing_find(model->root, path);

        return thing ? thing : thing_find(model->post, path);
}

static void answer_model(Model *model, const Answer *answer)
{
        guint percent = answer->hash % 100;
        Thing *thing;

        if (strcmp(answer->what, "cancel") == 0) {
                model->stopping = true;
                model->forced |= answer->force;
                if (!node_is_final(model->root->state))
                        thing_stop(model, model->root);
                else if (answer->force && model->post)
                        thing_stop(model, model->post);
                else
                        model_continue(model, true);
                return;
        }
        if (strcmp(answer->what, "step") == 0 || strcmp(answer->what, "continue") == 0) {
                answer_pause(model, answer);
                return;
        }
        if (strcmp(answer->what, "expand") == 0) {
                answer_expand(model, answer);
                return;
        }
        thing = any_thing(model, answer->path);
        if (strcmp(answer->what, "look") == 0) {
                answer_look(model, thing, percent);
        } else if (strcmp(answer->what, "park") == 0) {
                answer_park(model, thing);
        } else if (strcmp(answer->what, "parked") == 0 && percent < WANTS && thing->state == NODE_STARTING) {
                thing->wants = true;
                model_wait_for_slot(model, thing->group, thing);
        } else if (strcmp(answer->what, "start") == 0 && percent >= 5 && thing->state == NODE_STARTING) {
                thing->state = NODE_RUNNING;
                thing->job = true;
                g_ptr_array_add(model->open, g_strconcat("job ", answer->path, NULL));
        } else if (!node_is_final(thing->state)) {
                thing_end(model, thing, end_of_job(answer, thing->state == NODE_STOPPING));
        }
}

/* ---- breakpoints ---- */

/* "before c1.c2-3" */
static char *random_break(Pair *pair)
{
        Plan *plan = &pair->plan;
        const Part *at = plan->root;
        bool after = plan_chance(plan, 30), more = true;
        g_autoptr(GString) text = g_string_new(after ? "after " : "before ");

        if (plan->post && plan_chance(plan, 10)) {
                g_string_append(text, ((Part *)plan->posts->children->pdata[0])->name);
                return g_string_free(g_steal_pointer(&text), FALSE);
        }
        for (bool first = true; more; first = false) {
                at = at->body->children
                             ->pdata[g_rand_int_range(plan->rand, 0, (gint32)at->body->children->len)];
                more = at->body->children->len > 0 && plan_chance(plan, 60);
                g_string_append_printf(text, "%s%s", first ? "" : ".", at->name);
                if (at->body->loops && (more || !after) && plan_chance(plan, 50))
                        g_string_append_printf(text, "-%d", g_rand_int_range(plan->rand, 0, ITEMS_MAX));
        }
        return g_string_free(g_steal_pointer(&text), FALSE);
}

static void set_breaks(Pair *pair)
{
        g_autoptr(GPtrArray) list = break_list_new();

        g_ptr_array_set_size(pair->model.breaks, 0);
        for (int n = g_rand_int_range(pair->plan.rand, 0, 7); n > 0; n--) {
                char *text = random_break(pair);
                g_autoptr(GError) error = NULL;
                Break *at = break_parse(pair->definition, strchr(text, ' ') + 1, *text == 'a', &error);

                g_assert_no_error(error);
                g_ptr_array_add(list, at);
                g_ptr_array_add(pair->model.breaks, text);
        }
        run_breaks_unref(pair->breaks);
        pair->breaks = run_breaks_new(list);
        run_set_breaks(pair->run, pair->breaks);
}

/* A step or more: of one that is paused, or of all; its path, "" for all, is the caller's. */
static Answer random_pause(Pair *pair, char **ret_path)
{
        Model *model = &pair->model;
        bool step = plan_chance(&pair->plan, 60),
             one = model->paused.length > 0 && plan_chance(&pair->plan, 70);
        const Group *group =
                one ? g_queue_peek_nth(&model->paused, (guint)g_rand_int_range(pair->plan.rand, 0,
                                                                               (gint32)model->paused.length))
                    : NULL;

        pair->paused += model->paused.length > 0;
        *ret_path = group ? group_path(group) : g_strdup("");
        return (Answer){ .what = step ? "step" : "continue", .path = *ret_path };
}

/* ---- events ---- */

/* The answer is given, some of the work is done, and all of it is undone. */
static void try_and_undo(Pair *pair, const Answer *answer)
{
        g_autofree char *before = pair_dump(pair), *after = NULL;
        guint budget = (guint)g_rand_int_range(pair->plan.rand, 0, 40);

        pair_store(pair);
        answer_run(pair, answer);
        (void)run_work(pair->run, &budget, pair_on_action, pair);
        run_undo(pair->run);
        g_ptr_array_set_size(pair->actions, 0);
        after = pair_dump(pair);
        g_assert_cmpstr(before, ==, after);
}

/* A step that starts is parked in place of it, at most once. */
static bool is_parked(Model *model, const Answer *answer)
{
        const Thing *thing = strcmp(answer->what, "start") == 0 ? any_thing(model, answer->path) : NULL;

        return thing && thing->state == NODE_STARTING && !thing->parked && answer->hash / 100 % 100 < PARKS;
}

static bool one_event(Pair *pair)
{
        Model *model = &pair->model;
        g_autofree char *open = NULL, *path = NULL;
        g_auto(GStrv) words = NULL;
        Answer answer = { .what = "cancel", .path = "" };

        if (model->ended)
                return false;
        if (pair->breaking && plan_chance(&pair->plan, 3))
                set_breaks(pair);
        if (plan_chance(&pair->plan, 1)) {
                answer.force = plan_chance(&pair->plan, 50);
        } else if (pair->breaking && plan_chance(&pair->plan, model->paused.length > 0 ? 25 : 4)) {
                answer = random_pause(pair, &path);
        } else if (model->open->len == 0 && model->paused.length > 0) {
                return true;
        } else {
                if (model->open->len == 0)
                        g_error("seed %u: nothing to wait for", pair->seed);
                open = g_ptr_array_steal_index(model->open,
                                               (guint)g_rand_int_range(pair->plan.rand, 0,
                                                                       (gint32)model->open->len));
                words = g_strsplit(open, " ", 2);
                answer = (Answer){ .what = words[0],
                                   .path = words[1],
                                   .hash = model_hash(model->salt, words[1], words[0]) };
                if (is_parked(model, &answer)) {
                        answer.what = "park";
                        pair->parked++;
                }
        }
        if (plan_chance(&pair->plan, 20))
                try_and_undo(pair, &answer);
        answer_run(pair, &answer);
        answer_model(model, &answer);
        pair_work(pair);
        while (model_follow(model))
                ;
        pair_compare(pair, open ? open : "stop");
        pair_store(pair);
        if (!model->ended && plan_chance(&pair->plan, 3))
                pair_restart(pair);
        return true;
}

static void play(Pair *pair)
{
        for (int i = 0; one_event(pair); i++)
                g_assert_cmpint(i, <, EVENTS_MAX);
}

static NodeState one_run(guint seed, guint *ret_paused, guint *ret_parked)
{
        Pair pair;
        NodeState ret;

        pair_init(&pair, seed);
        if (pair.breaking)
                set_breaks(&pair);
        run_begin(pair.run);
        thing_enter(&pair.model, pair.model.root, pair.plan.root);
        pair_work(&pair);
        while (model_follow(&pair.model))
                ;
        pair_compare(&pair, "begin");
        pair_store(&pair);
        play(&pair);
        ret = run_state(pair.run);
        if ((pair.rests > 0) != pair_has_rests(&pair))
                g_error("seed %u: %u rests were reported", seed, pair.rests);
        for (int i = 0; i < RETRIES_MAX && plan_chance(&pair.plan, 60); i++) {
                pair_retry(&pair);
                play(&pair);
        }
        *ret_paused += pair.paused;
        *ret_parked += pair.parked;
        pair_clear(&pair);
        return ret;
}

static void test_model(void)
{
        static const guint found[] = { 2778, 4738 }; /* restarts after a stop */
        guint runs = is_soak() ? 100 * 1000 : 400, seen[NODE_STATES] = { 0 }, paused = 0, parked = 0;

        for (guint seed = 1; seed <= runs; seed++)
                seen[one_run(seed, &paused, &parked)]++;
        for (gsize i = 0; i < G_N_ELEMENTS(found); i++)
                seen[one_run(found[i], &paused, &parked)]++;
        g_test_message("%u succeeded, %u failed, %u terminated; %u pauses, %u parked", seen[NODE_SUCCEEDED],
                       seen[NODE_FAILED], seen[NODE_TERMINATED], paused, parked);
        g_assert_cmpuint(paused, >, runs);
        g_assert_cmpuint(parked, >, runs / 10);
        g_assert_cmpuint(seen[NODE_SUCCEEDED], >, 0);
        g_assert_cmpuint(seen[NODE_FAILED], >, 0);
        g_assert_cmpuint(seen[NODE_TERMINATED], >, 0);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/pipeline/run/model", test_model);
        return g_test_run();
}
