/* Runs beside a naive model: random definitions, and random events.
 *
 * The model has an object for each instance and looks at all of them after each event. It has the same rules as run.c:
 * eager, without counts, without a queue of work, without undo. After each event both must have asked for the same
 * actions in the same order, and all states must agree.
 *
 * What a condition says, how long a loop is and how a job ends follows from a hash of the instance's path, so that it
 * is the same after a restart. Between events a run is undone and does the same again, or is made again from its nodes.
 * A run that has ended is retried, also from a random component on. Breakpoints come and go, and what is paused goes on by
 * steps or as a whole. */
#include "pipeline/run.h"

#include <string.h>

#include "base/test/seed.h"
#include "pipeline/run-retry.h"

enum { CHILDREN_MAX = 6, DEPTH_MAX = 3, ITEMS_MAX = 4, EVENTS_MAX = 4000, RETRIES_MAX = 3 };

/* ---- a random definition ---- */

typedef struct Part Part;
struct Part {
        char *name;
        Part *body;             /* of a reference: the library component; otherwise itself */
        bool dag, looks, loops; /* of the body */
        bool disabled;
        guint deps; /* bits: earlier siblings */
        GPtrArray *children;
};

typedef struct {
        GRand *rand;
        guint n;
        bool continues, post;
        int parallelism;
        GPtrArray *all;
        GPtrArray *library; /* Part */
        Part *root, *posts;
        GString *disabled;
} Plan;

static Part *part_new(Plan *plan, const char *prefix)
{
        Part *part = g_new0(Part, 1);

        part->name = g_strdup_printf("%s%u", prefix, plan->n++);
        part->body = part;
        part->children = g_ptr_array_new();
        g_ptr_array_add(plan->all, part);
        return part;
}

static void part_free(void *data)
{
        Part *part = data;

        g_free(part->name);
        g_ptr_array_unref(part->children);
        g_free(part);
}

static bool chance(Plan *plan, int percent)
{
        return g_rand_int_range(plan->rand, 0, 100) < percent;
}

static void fill_part(Plan *plan, Part *part, int depth);

static void add_children(Plan *plan, Part *part, int depth)
{
        int n = g_rand_int_range(plan->rand, 1, CHILDREN_MAX + 1);

        for (int i = 0; i < n; i++) {
                Part *child = part_new(plan, "c");

                for (int j = 0; j < i; j++)
                        child->deps |= chance(plan, 30) ? 1u << j : 0;
                if (plan->library->len > 0 && chance(plan, 20))
                        child->body =
                                plan->library
                                        ->pdata[g_rand_int_range(plan->rand, 0, (gint32)plan->library->len)];
                else
                        fill_part(plan, child, depth);
                g_ptr_array_add(part->children, child);
        }
}

static void fill_part(Plan *plan, Part *part, int depth)
{
        part->looks = chance(plan, 25);
        part->loops = chance(plan, 25);
        part->dag = depth > 0 && chance(plan, 35);
        if (part->dag)
                add_children(plan, part, depth - 1);
}

static void disable_some(Plan *plan, const Part *dag, const char *path)
{
        for (guint i = 0; i < dag->children->len; i++) {
                Part *child = dag->children->pdata[i];
                g_autofree char *own = g_strconcat(path, *path ? "." : "", child->name, NULL);

                if (chance(plan, 8)) {
                        child->disabled = true;
                        g_string_append_printf(plan->disabled, "%s%s", plan->disabled->len ? "," : "", own);
                }
                if (child->body == child)
                        disable_some(plan, child, own);
        }
}

static void plan_init(Plan *plan, guint32 seed)
{
        *plan = (Plan){ .rand = g_rand_new_with_seed(seed), .disabled = g_string_new(NULL) };
        plan->all = g_ptr_array_new_with_free_func(part_free);
        plan->library = g_ptr_array_new();
        plan->continues = chance(plan, 50);
        plan->post = chance(plan, 40);
        plan->parallelism = g_rand_int_range(plan->rand, 1, 6);
        for (int i = g_rand_int_range(plan->rand, 0, 3); i > 0; i--) {
                Part *part = part_new(plan, "l");

                fill_part(plan, part, 1);
                g_ptr_array_add(plan->library, part);
        }
        plan->root = part_new(plan, "root");
        plan->root->dag = true;
        add_children(plan, plan->root, DEPTH_MAX);
        disable_some(plan, plan->root, "");
        plan->posts = part_new(plan, "posts");
        plan->posts->dag = true;
        if (plan->post)
                g_ptr_array_add(plan->posts->children, part_new(plan, "p"));
}

static void plan_clear(Plan *plan)
{
        g_rand_free(plan->rand);
        g_string_free(plan->disabled, TRUE);
        g_ptr_array_unref(plan->library);
        g_ptr_array_unref(plan->all);
}

static void write_parts(GString *out, const GPtrArray *parts);

static void write_part(GString *out, const Part *part, const GPtrArray *siblings)
{
        g_string_append_printf(out, "\"%s\": {\"deps\": \"", part->name);
        for (guint j = 0; part->deps >> j; j++)
                if (part->deps & 1u << j)
                        g_string_append_printf(out, "%s,", ((Part *)siblings->pdata[j])->name);
        g_string_append_c(out, '"');
        if (part->body != part) {
                g_string_append_printf(out, ", \"reference\": {\"component\": \"%s\"}}", part->body->name);
                return;
        }
        if (part->looks)
                g_string_append(out, ", \"condition\": \"1 > 0\"");
        if (part->loops)
                g_string_append(out, ", \"loop_argument\": [1, 2]");
        if (part->dag) {
                g_string_append(out, ", \"entry_points\": ");
                write_parts(out, part->children);
        } else {
                g_string_append(out, ", \"command\": \"true\"");
        }
        g_string_append_c(out, '}');
}

static void write_parts(GString *out, const GPtrArray *parts)
{
        g_string_append_c(out, '{');
        for (guint i = 0; i < parts->len; i++) {
                g_string_append(out, i ? ", " : "");
                write_part(out, parts->pdata[i], parts);
        }
        g_string_append_c(out, '}');
}

static Definition *plan_compile(const Plan *plan)
{
        g_autoptr(GString) text = g_string_new("{\"name\": \"p\", \"docker_env\": \"image\"");
        g_auto(Problems) problems = { 0 };
        Definition *ret;

        problems_init(&problems);
        g_string_append_printf(text, ", \"parallelism\": %d, \"failure_options\": {\"strategy\": \"%s\"}",
                               plan->parallelism, plan->continues ? "continue" : "fail_fast");
        g_string_append_printf(text, ", \"disabled\": \"%s\", \"entry_points\": ", plan->disabled->str);
        write_parts(text, plan->root->children);
        g_string_append(text, ", \"components\": ");
        write_parts(text, plan->library);
        if (plan->post) {
                g_string_append(text, ", \"post_process\": ");
                write_parts(text, plan->posts->children);
        }
        g_string_append_c(text, '}');
        ret = definition_parse(text->str, text->len, &(DefinitionRequest){ 0 }, &problems);
        if (!ret)
                g_error("%s\n%s", problem_format(problems_first(&problems)), text->str);
        return ret;
}

/* ---- the model ---- */

typedef struct Thing Thing;
typedef struct {
        Part *part;
        Thing *dag;
        bool queued, started, asked, failed;
        bool again;     /* a retry makes it again */
        NodeState rest; /* of things that were never made */
        guint count;    /* 0: not known */
        RunPauseKind pause;
        bool ended;       /* it was looked at once whether it pauses after its end */
        guint at, passed; /* as in RunPause */
        GPtrArray *things;
} Group;

/* An instance. */
struct Thing {
        Group *group;
        guint number;
        NodeState state;
        char *path;
        bool job, slot;
        bool holds;                                   /* its condition */
        bool stopping, broken, terminated, cancelled; /* of a DAG */
        bool changed;                                 /* of a DAG: a retry makes something in it again */
        GPtrArray *groups;                            /* of a DAG that was entered */
};

/* All that is left of a group, or one thing. */
typedef struct {
        Group *group;
        Thing *thing; /* or NULL */
} Waiter;

typedef struct {
        const Plan *plan;
        Thing *root, *post; /* post: NULL until it begins */
        GQueue queue;       /* Group */
        GQueue waiting;     /* Waiter: for slots */
        GQueue paused;      /* Group */
        GPtrArray *breaks;  /* texts: "before c1.c2-3" */
        bool stepping;
        guint slots, asks;
        bool stopping, forced, ended;
        NodeState state;
        guint salt;
        GPtrArray *actions; /* texts, since the last event */
        GPtrArray *open;    /* texts: actions that have no answer yet */
} Model;

static void thing_free(void *data)
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

static guint hash_of(guint salt, const char *path, const char *what)
{
        return (g_str_hash(path) * 31 + g_str_hash(what) * 17 + salt * 2654435761u) >> 7;
}

static char *path_of(const char *dag, const char *name, guint number)
{
        return number ? g_strdup_printf("%s/%s-%u", dag, name, number) : g_strdup_printf("%s/%s", dag, name);
}

/* Also if it pauses after its end. */
static bool group_ended(const Group *group)
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

static bool all_ok(const Group *group)
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
        return group_done(group) && all_ok(group);
}

/* The number of the next thing to make; group->count: none. */
static guint next_number(const Group *group)
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

static bool deps_ok(const Group *group)
{
        for (guint j = 0; group->part->deps >> j; j++)
                if (group->part->deps & 1u << j && !group_ok(group->dag->groups->pdata[j]))
                        return false;
        return true;
}

static void say(Model *model, const char *what, const char *path)
{
        g_ptr_array_add(model->actions, g_strconcat(what, " ", path, NULL));
        if (strcmp(what, "stop") != 0 && strcmp(what, "end") != 0)
                g_ptr_array_add(model->open, g_strconcat(what, " ", path, NULL));
}

/* ---- pauses ---- */

/* True if the last words name this thing, whose number counts only if one is given. */
static bool words_name(char *const *words, guint n, const Group *group, gint64 number)
{
        const Thing *dag = group->dag;
        g_auto(GStrv) parts = n > 0 ? g_strsplit(words[n - 1], "-", 2) : NULL;

        if (n == 0 || strcmp(parts[0], group->part->name) != 0)
                return false;
        if (parts[1] && g_ascii_strtoll(parts[1], NULL, 10) != number)
                return false;
        if (!dag->group)
                return n == 1;
        return words_name(words, n - 1, dag->group, dag->number);
}

static bool has_break(const Model *model, const Group *group, const char *when, gint64 number)
{
        for (guint i = 0; i < model->breaks->len; i++) {
                g_auto(GStrv) both = g_strsplit(model->breaks->pdata[i], " ", 2);
                g_auto(GStrv) words = g_strsplit(both[1], ".", -1);
                guint n = g_strv_length(words);

                if (strcmp(both[0], when) == 0 && (strchr(words[n - 1], '-') != NULL) == (number >= 0) &&
                    words_name(words, n, group, number))
                        return true;
        }
        return false;
}

static char *group_path(const Group *group)
{
        return path_of(group->dag->path, group->part->name, 0);
}

static void pause_group(Model *model, Group *group, RunPauseKind kind, guint at)
{
        g_autofree char *path = group_path(group);

        g_queue_remove(&model->queue, group);
        group->pause = kind;
        group->at = at;
        g_queue_push_tail(&model->paused, group);
        g_ptr_array_add(model->actions, g_strconcat("pause ", path, NULL));
}

static bool loops_here(const Model *model, const Group *group)
{
        return group->part->body->loops && group->dag != model->post;
}

/* -1: it is between no two things. */
static gint64 place_of(const Model *model, const Group *group)
{
        if (!group->started)
                return 0;
        if (!loops_here(model, group) && !group->part->body->dag && !group->part->body->looks &&
            (group->things->len == 0 || ((Thing *)group->things->pdata[0])->state == NODE_NONE))
                return 0; /* it waits for a slot */
        return loops_here(model, group) && group->count > 0 && next_number(group) < group->count
                       ? (gint64)next_number(group) + 1
                       : -1;
}

/* True: it has paused. */
static bool pause_before(Model *model, Group *group)
{
        gint64 place = place_of(model, group);
        bool here = (group->pause == RUN_PAUSE_BEFORE && group->at == place) || model->stepping ||
                    has_break(model, group, "before", place - 1);

        if (model->stopping || place < 0 || group->passed > place || (place == 0 && group->part->disabled) ||
            !here)
                return false;
        pause_group(model, group, RUN_PAUSE_BEFORE, (guint)place);
        return true;
}

/* One that has ended since the last look. */
static bool pause_after(Model *model, Thing *dag)
{
        for (guint i = 0; i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];

                for (guint j = 0; j < group->things->len; j++) {
                        Thing *thing = group->things->pdata[j];

                        if (thing->groups && pause_after(model, thing))
                                return true;
                }
                if (group->ended || !group_ended(group))
                        continue;
                group->ended = true;
                if (all_ok(group) && !model->stopping && !dag->stopping && !group->part->disabled &&
                    has_break(model, group, "after", -1))
                        pause_group(model, group, RUN_PAUSE_AFTER, 0);
                return true;
        }
        return false;
}

static void group_goes_on(Model *model, Group *group, bool first)
{
        bool before = group->pause == RUN_PAUSE_BEFORE;

        g_queue_remove(&model->paused, group);
        group->pause = RUN_PAUSE_NONE;
        group->passed = before ? group->at + 1 : G_MAXUINT;
        if (before && first)
                g_queue_push_head(&model->queue, group);
        else if (before)
                g_queue_push_tail(&model->queue, group);
}

/* What was paused before a restart and has not come to its place again. */
static void forget_pauses(Model *model, Thing *dag)
{
        for (guint i = 0; dag && dag->groups && i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];

                if (group->pause && !g_queue_find(&model->paused, group)) {
                        group->passed = group->at + 1;
                        group->pause = RUN_PAUSE_NONE;
                }
                for (guint j = 0; j < group->things->len; j++)
                        forget_pauses(model, group->things->pdata[j]);
        }
}

static bool settle(Model *model);

static void some_go_on(Model *model, RunPauseKind kind, bool first)
{
        g_autoptr(GQueue) groups = g_queue_copy(&model->paused);

        for (GList *link = groups->head; link; link = link->next) {
                Group *group = link->data;

                if (group->pause != kind)
                        continue;
                group_goes_on(model, group, first);
                while (settle(model))
                        ;
        }
}

/* What depends on those that had paused after their end comes behind the others, in the order of the pauses. */
static void all_go_on(Model *model, bool first)
{
        forget_pauses(model, model->root);
        forget_pauses(model, model->post);
        some_go_on(model, RUN_PAUSE_BEFORE, first);
        some_go_on(model, RUN_PAUSE_AFTER, first);
}

/* ---- ends ---- */

static void stop_thing(Model *model, Thing *dag);

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
        stop_thing(model, dag);
}

static void end_thing(Model *model, Thing *thing, NodeState state)
{
        if (thing->state == NODE_LOOKING && !thing->holds)
                model->asks--;
        model->slots -= thing->slot;
        thing->slot = false;
        thing->state = state;
        if (state == NODE_FAILED || (state == NODE_TERMINATED && !thing->group->dag->stopping))
                break_dag(model, thing->group);
        else if (state == NODE_TERMINATED)
                thing->group->dag->terminated = true;
}

static void stop_group(Model *model, Group *group)
{
        Thing *dag = group->dag;

        if (g_queue_remove(&model->paused, group))
                group->pause = RUN_PAUSE_NONE;
        if (group_done(group))
                return;
        if (group->rest == NODE_NONE && (group->count == 0 || next_number(group) < group->count)) {
                group->rest = (group->queued || group->started) && dag != model->post ? NODE_TERMINATED
                                                                                      : NODE_CANCELLED;
                *(group->rest == NODE_TERMINATED ? &dag->terminated : &dag->cancelled) = true;
        }
        g_queue_remove(&model->queue, group);
        for (guint i = 0; i < group->things->len; i++) {
                Thing *thing = group->things->pdata[i];

                if (thing->state == NODE_LOOKING) {
                        end_thing(model, thing, NODE_TERMINATED);
                } else if (thing->state == NODE_STARTING || thing->state == NODE_RUNNING) {
                        thing->state = NODE_STOPPING;
                        if (thing->groups)
                                stop_thing(model, thing);
                        else
                                say(model, "stop", thing->path);
                }
        }
}

static void stop_thing(Model *model, Thing *dag)
{
        if (dag->stopping)
                return;
        dag->stopping = true;
        for (guint i = 0; i < dag->groups->len; i++)
                stop_group(model, dag->groups->pdata[i]);
}

/* Its children that may start come first in the queue. */
static void enter_thing(Model *model, Thing *thing, const Part *body)
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
        guint number = next_number(group);
        Thing *thing;

        if (number < group->things->len)
                return group->things->pdata[number];
        thing = g_new0(Thing, 1);
        thing->group = group;
        thing->number = group->things->len;
        thing->path = path_of(group->dag->path, group->part->name, thing->number);
        g_ptr_array_add(group->things, thing);
        return thing;
}

static void placeholder(Model *model, Group *group, NodeState state)
{
        g_queue_remove(&model->queue, group);
        group->count = 1;
        end_thing(model, make_thing(group), state);
}

static void wait_for_slot(Model *model, Group *group, Thing *thing)
{
        const Waiter waiter = { group, thing };

        g_queue_push_tail(&model->waiting, g_memdup2(&waiter, sizeof waiter));
}

static void start_thing(Model *model, Thing *thing)
{
        thing->slot = true;
        model->slots++;
        thing->state = NODE_STARTING;
        say(model, "start", thing->path);
}

static bool serve_waiter(Model *model)
{
        const Waiter *waiter = g_queue_peek_head(&model->waiting);
        Group *group;
        bool more;

        if (!waiter || model->slots >= (guint)model->plan->parallelism)
                return false;
        group = waiter->group;
        more = !waiter->thing && group->rest == NODE_NONE && next_number(group) < group->count;
        if (more && pause_before(model, group))
                more = false;
        else if (more)
                start_thing(model, make_thing(group));
        else if (waiter->thing && waiter->thing->state == NODE_LOOKING)
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
        if (pause_before(model, group))
                return true;
        body = group->part->body;
        if (!group->started) {
                group->started = true;
                if (group->part->disabled) {
                        placeholder(model, group, NODE_SKIPPED);
                } else if (body->loops) {
                        g_autofree char *path = path_of(group->dag->path, group->part->name, 0);

                        group->asked = true;
                        model->asks++;
                        g_queue_pop_head(&model->queue);
                        say(model, "expand", path);
                } else {
                        group->count = 1;
                }
                return true;
        }
        if (!body->dag && !body->looks) {
                wait_for_slot(model, g_queue_pop_head(&model->queue), NULL);
                return true;
        }
        thing = make_thing(group);
        thing->state = NODE_LOOKING;
        if (next_number(group) == group->count)
                g_queue_pop_head(&model->queue);
        if (!body->looks) {
                enter_thing(model, thing, body);
        } else {
                model->asks++;
                say(model, "look", thing->path);
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
                end_thing(model, dag, state);
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
                if (!node_is_final(dag->state) && !dag->stopping && group_waits(group) && deps_ok(group)) {
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
        enter_thing(model, model->post, model->plan->posts);
        if (model->forced)
                stop_thing(model, model->post);
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
        say(model, "end", "");
        return true;
}

/* What follows in the entry points, but for new things. */
static bool settle(Model *model)
{
        return pause_after(model, model->root) || (model->post && pause_after(model, model->post)) ||
               end_dags(model, model->root) || release_groups(model, model->root);
}

static bool follow(Model *model)
{
        if (model->ended)
                return false;
        if (settle(model))
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

static Thing *find_thing(Thing *dag, const char *path)
{
        for (guint i = 0; dag->groups && i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];

                for (guint j = 0; j < group->things->len; j++) {
                        Thing *thing = group->things->pdata[j], *found;

                        if (strcmp(thing->path, path) == 0)
                                return thing;
                        found = find_thing(thing, path);
                        if (found)
                                return found;
                }
        }
        return NULL;
}

static Group *find_group(Thing *dag, const char *path)
{
        for (guint i = 0; dag->groups && i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];
                g_autofree char *own = path_of(dag->path, group->part->name, 0);

                if (strcmp(own, path) == 0)
                        return group;
                for (guint j = 0; j < group->things->len; j++) {
                        Group *found = find_group(group->things->pdata[j], path);

                        if (found)
                                return found;
                }
        }
        return NULL;
}

/* ---- both ---- */

typedef struct {
        Plan plan;
        Definition *definition;
        Run *run;
        Model model;
        GPtrArray *actions; /* of the run, as those of the model */
        GHashTable *nodes;  /* index -> StoredNode: what the changes that were reported add up to */
        GHashTable *loops;  /* first node -> StoredLoop */
        GHashTable *pauses; /* (dag, component) -> StoredPause */
        RunBreaks *breaks;  /* those of the model; or NULL */
        guint rests;        /* children whose nodes never will be made, as reported */
        guint paused;       /* times that something was paused when it was told to go on */
        bool breaking;      /* it has breakpoints */
        guint seed;
} Pair;

typedef struct {
        RunNode node;
        guint32 dag_node;
        bool inner;
} StoredNode;

typedef struct {
        guint32 dag_node, component, count;
} StoredLoop;

typedef struct {
        guint32 dag_node, component;
        RunPause pause;
} StoredPause;

static char *node_path(const Run *run, const Definition *definition, guint32 dag, guint32 component,
                       guint32 number)
{
        guint32 node = run_dag(run, dag)->node;
        g_autofree char *above = NULL;

        if (node == RUN_ROOT || node == RUN_POST)
                above = g_strdup(node == RUN_ROOT ? "run" : "post");
        else
                above = node_path(run, definition, run_node(run, node)->dag, run_node(run, node)->component,
                                  run_node(run, node)->number);
        return path_of(above, component_name(definition, component), number);
}

static char *path_of_node(const Pair *pair, guint32 node)
{
        const RunNode *at = run_node(pair->run, node);

        return node_path(pair->run, pair->definition, at->dag, at->component, at->number);
}

static char *path_of_child(const Pair *pair, guint32 child)
{
        return node_path(pair->run, pair->definition, run_child(pair->run, child)->dag,
                         run_child_component(pair->run, child), 0);
}

static void on_action(void *arg, RunActionKind kind, guint32 index)
{
        static const char *const words[] = { "expand", "look", "start", "stop", "pause", "end" };
        Pair *pair = arg;
        g_autofree char *path = kind == ACTION_EXPAND || kind == ACTION_PAUSE ? path_of_child(pair, index)
                                : kind == ACTION_END                          ? g_strdup("")
                                                                              : path_of_node(pair, index);

        g_ptr_array_add(pair->actions, g_strconcat(words[kind], " ", path, NULL));
}

static bool is_paused(const Run *run, guint32 child)
{
        const RunPause *pause = run_pause_of(run, child);

        return pause && pause->listed;
}

static void dump_dag(GString *out, const Pair *pair, guint32 dag)
{
        const RunDag *at = run_dag(pair->run, dag);

        for (guint32 i = 0; i < at->n_children; i++) {
                const RunChild *child = run_child(pair->run, at->children + i);

                for (guint32 number = 0; number < MAX(child->count, 1); number++) {
                        const RunNode *node = child->first == (guint32)RUN_NONE
                                                      ? NULL
                                                      : run_node(pair->run, child->first + number);

                        g_string_append_printf(out, "%s-%u=%d%s",
                                               component_name(pair->definition,
                                                              run_child_component(pair->run,
                                                                                  at->children + i)),
                                               number, run_state_of(pair->run, at->children + i, number),
                                               is_paused(pair->run, at->children + i) ? "!" : "");
                        if (node && node->state != NODE_NONE && node->inner != (guint32)RUN_NONE) {
                                g_string_append_c(out, '{');
                                dump_dag(out, pair, node->inner);
                                g_string_append_c(out, '}');
                        }
                        g_string_append_c(out, ' ');
                }
        }
}

static char *dump_run(const Pair *pair)
{
        GString *out = g_string_new(NULL);
        const RunNode *post = run_node(pair->run, RUN_POST);

        g_string_append_printf(out, "%d slots %u paused %u%s: ", run_state(pair->run),
                               run_slots_used(pair->run), run_paused(pair->run),
                               run_is_stepping(pair->run) ? " steps" : "");
        dump_dag(out, pair, run_node(pair->run, RUN_ROOT)->inner);
        g_string_append(out, "| ");
        if (post->inner != (guint32)RUN_NONE)
                dump_dag(out, pair, post->inner);
        return g_string_free(out, FALSE);
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

static char *dump_model(const Model *model)
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

static gint compare_texts(gconstpointer a, gconstpointer b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_unordered(const char *action)
{
        return g_str_has_prefix(action, "stop ") || g_str_has_prefix(action, "pause ");
}

/* The order of stops and pauses does not matter: they move behind the others. */
static char *actions_text(GPtrArray *actions)
{
        GString *out = g_string_new(NULL);

        for (guint i = 0; i < actions->len; i++)
                if (!is_unordered(actions->pdata[i]))
                        g_string_append_printf(out, "%s, ", (char *)actions->pdata[i]);
        g_ptr_array_sort(actions, compare_texts);
        for (guint i = 0; i < actions->len; i++)
                if (is_unordered(actions->pdata[i]))
                        g_string_append_printf(out, "%s, ", (char *)actions->pdata[i]);
        return g_string_free(out, FALSE);
}

static void compare(Pair *pair, const char *after)
{
        g_autofree char *run = actions_text(pair->actions), *model = actions_text(pair->model.actions);
        g_autofree char *run_dump = dump_run(pair), *model_dump = dump_model(&pair->model);

        if (strcmp(run, model) != 0 || strcmp(run_dump, model_dump) != 0)
                g_error("seed %u, after '%s'\nactions %s\nmodel   %s\nrun     %s\nmodel   %s", pair->seed,
                        after, run, model, run_dump, model_dump);
        g_ptr_array_set_size(pair->actions, 0);
        g_ptr_array_set_size(pair->model.actions, 0);
}

static guint32 find_node(const Pair *pair, const char *path)
{
        for (guint32 i = RUN_POST + 1; i < run_nodes(pair->run); i++) {
                if (run_node(pair->run, i)->state == NODE_NONE)
                        continue;
                g_autofree char *own = path_of_node(pair, i);

                if (strcmp(own, path) == 0)
                        return i;
        }
        g_error("seed %u: no node %s", pair->seed, path);
}

static guint32 find_child(const Pair *pair, const char *path)
{
        for (guint32 d = 0; d < run_dags(pair->run); d++)
                for (guint32 i = 0; i < run_dag(pair->run, d)->n_children; i++) {
                        guint32 child = run_dag(pair->run, d)->children + i;
                        g_autofree char *own = path_of_child(pair, child);

                        if (strcmp(own, path) == 0)
                                return child;
                }
        g_error("seed %u: no child %s", pair->seed, path);
}

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
                node = *answer->path ? find_child(pair, answer->path) : (guint32)RUN_NONE;
                (*answer->what == 's' ? run_step : run_continue)(run, node);
                return;
        }
        if (strcmp(answer->what, "expand") == 0) {
                (void)run_expanded(run, find_child(pair, answer->path), answer->hash / 100 % ITEMS_MAX,
                                   percent < 4);
                return;
        }
        node = find_node(pair, answer->path);
        if (strcmp(answer->what, "look") == 0)
                run_looked(run, node, percent < 75, percent >= 95);
        else if (strcmp(answer->what, "start") == 0 && percent >= 5 &&
                 run_node(run, node)->state == NODE_STARTING)
                run_started(run, node, node + 1);
        else
                run_ended(run, node, end_of_job(answer, run_node(run, node)->state == NODE_STOPPING));
}

static void answer_expand(Model *model, const Answer *answer)
{
        Group *group = find_group(model->root, answer->path);

        if (!group && model->post)
                group = find_group(model->post, answer->path);
        group->asked = false;
        model->asks--;
        if (group->rest != NODE_NONE)
                return;
        if (answer->hash % 100 < 4) {
                placeholder(model, group, NODE_FAILED);
        } else if (answer->hash / 100 % ITEMS_MAX == 0) {
                placeholder(model, group, NODE_SKIPPED);
        } else {
                group->count = answer->hash / 100 % ITEMS_MAX;
                g_queue_push_head(&model->queue, group);
        }
}

static void answer_pause(Model *model, const Answer *answer)
{
        bool step = *answer->what == 's';
        Group *group = *answer->path ? find_group(model->root, answer->path) : NULL;

        if (*answer->path && !group)
                group = find_group(model->post, answer->path);
        model->stepping = step;
        if (group)
                group_goes_on(model, group, step);
        else if (!step)
                all_go_on(model, false);
}

static void answer_look(Model *model, Thing *thing, guint percent)
{
        if (thing->state != NODE_LOOKING)
                return;
        if (percent >= 75) {
                end_thing(model, thing, percent >= 95 ? NODE_FAILED : NODE_SKIPPED);
                return;
        }
        model->asks--;
        thing->holds = true;
        if (thing->group->part->body->dag)
                enter_thing(model, thing, thing->group->part->body);
        else
                wait_for_slot(model, thing->group, thing);
}

static void answer_model(Model *model, const Answer *answer)
{
        guint percent = answer->hash % 100;
        Thing *thing;

        if (strcmp(answer->what, "cancel") == 0) {
                model->stopping = true;
                model->forced |= answer->force;
                if (!node_is_final(model->root->state))
                        stop_thing(model, model->root);
                else if (answer->force && model->post)
                        stop_thing(model, model->post);
                else
                        all_go_on(model, true);
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
        thing = find_thing(model->root, answer->path);
        if (!thing)
                thing = find_thing(model->post, answer->path);
        if (strcmp(answer->what, "look") == 0) {
                answer_look(model, thing, percent);
        } else if (strcmp(answer->what, "start") == 0 && percent >= 5 && thing->state == NODE_STARTING) {
                thing->state = NODE_RUNNING;
                thing->job = true;
                g_ptr_array_add(model->open, g_strconcat("job ", answer->path, NULL));
        } else if (!node_is_final(thing->state)) {
                end_thing(model, thing, end_of_job(answer, thing->state == NODE_STOPPING));
        }
}

/* ---- events ---- */

static void work(Pair *pair)
{
        guint budget;

        do
                budget = (guint)g_rand_int_range(pair->plan.rand, 1, 20);
        while (run_work(pair->run, &budget, on_action, pair));
}

static void store_node(void *arg, guint32 index)
{
        Pair *pair = arg;
        const RunNode *node = run_node(pair->run, index);
        StoredNode row = { .node = *node };

        if (index <= RUN_POST || node->state == NODE_NONE || node->state == NODE_LOOKING ||
            node->state == NODE_STARTING)
                return;
        row.dag_node = run_dag(pair->run, node->dag)->node;
        row.inner = node->inner != (guint32)RUN_NONE;
        g_hash_table_replace(pair->nodes, GUINT_TO_POINTER(index), g_memdup2(&row, sizeof row));
}

static void store_child(void *arg, guint32 index)
{
        Pair *pair = arg;
        const RunChild *child = run_child(pair->run, index);
        StoredLoop loop = { run_dag(pair->run, child->dag)->node, run_child_component(pair->run, index),
                            child->count };

        const RunPause *pause = run_pause_of(pair->run, index);

        g_assert_true(run_child_is_loop(pair->run, index) || child->rest != NODE_NONE || pause);
        if (pause) {
                const StoredPause row = { loop.dag_node, loop.component, *pause };
                gint64 key = run_child_key(row.dag_node, row.component);

                g_hash_table_replace(pair->pauses, g_memdup2(&key, sizeof key), g_memdup2(&row, sizeof row));
        }
        if (run_child_is_loop(pair->run, index))
                g_hash_table_replace(pair->loops, GUINT_TO_POINTER(child->first),
                                     g_memdup2(&loop, sizeof loop));
        pair->rests += child->rest != NODE_NONE;
}

/* What a commit would write. */
static void store(Pair *pair)
{
        run_changed(pair->run, store_node, pair);
        run_changed_children(pair->run, store_child, pair);
        run_keep(pair->run);
}

/* The answer is given, some of the work is done, and all of it is undone. */
static void try_and_undo(Pair *pair, const Answer *answer)
{
        g_autofree char *before = dump_run(pair), *after = NULL;
        guint budget = (guint)g_rand_int_range(pair->plan.rand, 0, 40);

        store(pair);
        answer_run(pair, answer);
        (void)run_work(pair->run, &budget, on_action, pair);
        run_undo(pair->run);
        g_ptr_array_set_size(pair->actions, 0);
        after = dump_run(pair);
        g_assert_cmpstr(before, ==, after);
}

/* A new run from what was stored: nodes after the nodes of their DAGs, loops before their nodes. */
static Run *restored(const Pair *pair)
{
        Run *to = run_new(pair->definition, 100 * 1000);
        GHashTableIter iter;
        gpointer value;

        for (guint32 i = RUN_POST + 1; i < run_nodes(pair->run); i++) {
                const StoredLoop *loop = g_hash_table_lookup(pair->loops, GUINT_TO_POINTER(i));
                const StoredNode *row = g_hash_table_lookup(pair->nodes, GUINT_TO_POINTER(i));

                if (loop)
                        run_restore_loop(to, loop->dag_node, loop->component, i, loop->count);
                if (row)
                        run_restore_node(to, i, row->dag_node, &row->node, row->inner);
        }
        run_set_breaks(to, pair->breaks);
        run_restore_steps(to, run_is_stepping(pair->run), run_epoch(pair->run));
        g_hash_table_iter_init(&iter, pair->pauses);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const StoredPause *row = value;

                run_restore_pause(to, row->dag_node, row->component, &row->pause);
        }
        run_restored(to, run_is_stopping(pair->run), pair->model.forced);
        run_keep(to);
        return to;
}

/* What has no answer is asked again; a job that was not made when its stop came never will be. */
static void forget_asked(Model *model, Thing *dag)
{
        for (guint i = 0; dag && i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];

                if (group->asked || (group->started && group->count == 0))
                        group->asked = group->started = false;
                for (guint j = 0; j < group->things->len; j++) {
                        Thing *thing = group->things->pdata[j];

                        if (thing->groups) {
                                forget_asked(model, thing);
                        } else if (thing->state == NODE_LOOKING || thing->state == NODE_STARTING) {
                                model->slots -= thing->slot;
                                thing->slot = thing->holds = false;
                                thing->state = NODE_NONE;
                                group->started = loops_here(model, group);
                        } else if (thing->state == NODE_STOPPING && !thing->job) {
                                end_thing(model, thing, NODE_TERMINATED);
                        }
                }
        }
}

static void queue_again(Model *model, Thing *dag)
{
        for (guint i = 0; i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];

                if (group->rest != NODE_NONE || group_ended(group) || node_is_final(dag->state) ||
                    g_queue_find(&model->paused, group) || dag->stopping || !deps_ok(group) ||
                    (group->count > 0 && next_number(group) >= group->count))
                        continue;
                group->queued = true;
                g_queue_push_tail(&model->queue, group);
        }
}

/* Its pause must be one of the model's. */
static void list_pause(Pair *pair, guint32 child)
{
        Model *model = &pair->model;
        g_autofree char *path = path_of_child(pair, child);
        Group *group = find_group(model->root, path);

        if (!group)
                group = find_group(model->post, path);
        g_assert_cmpint(group->pause, ==, run_pause_of(pair->run, child)->kind);
        g_assert_true(group->pause == RUN_PAUSE_AFTER || place_of(model, group) == group->at);
        g_queue_push_tail(&model->paused, group);
}

/* In the order of the run. */
static void queue_all(Pair *pair)
{
        Model *model = &pair->model;

        model->asks = 0;
        g_queue_clear(&model->queue);
        g_queue_clear_full(&model->waiting, g_free);
        g_queue_clear(&model->paused);
        for (guint32 child = run_paused_first(pair->run); child != (guint32)RUN_NONE;
             child = run_pause_of(pair->run, child)->next)
                list_pause(pair, child);
        for (guint32 d = 0; d < run_dags(pair->run); d++) {
                guint32 node = run_dag(pair->run, d)->node;
                g_autofree char *path = node > RUN_POST ? path_of_node(pair, node) : NULL;
                Thing *thing = node == RUN_ROOT ? model->root : node == RUN_POST ? model->post : NULL;

                if (path)
                        thing = find_thing(model->root, path);
                if (thing) /* else post_process, which the model begins below */
                        queue_again(model, thing);
        }
        if (model->post && run_node(pair->run, RUN_POST)->inner == (guint32)RUN_NONE)
                queue_again(model, model->post); /* it begins again */
}

static void restart(Pair *pair)
{
        Model *model = &pair->model;
        Run *old = pair->run;

        pair->run = restored(pair);
        run_free(old);
        forget_asked(model, model->root);
        forget_asked(model, model->post);
        queue_all(pair);
        for (guint i = 0; i < model->open->len;) {
                if (g_str_has_prefix(model->open->pdata[i], "job "))
                        i++;
                else
                        g_ptr_array_remove_index(model->open, i);
        }
        work(pair);
        while (follow(model))
                ;
        compare(pair, "restart");
        store(pair);
}

/* ---- a retry ---- */

/* "c3.c5", a random component; the caller's. */
static char *random_path(Pair *pair)
{
        const Part *at = pair->plan.root;
        g_autoptr(GString) path = g_string_new(NULL);

        do {
                at = at->body->children
                             ->pdata[g_rand_int_range(pair->plan.rand, 0, (gint32)at->body->children->len)];
                g_string_append_printf(path, "%s%s", path->len ? "." : "", at->name);
        } while (at->body->children->len > 0 && chance(&pair->plan, 50));
        return g_string_free(g_steal_pointer(&path), FALSE);
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
        thing->job = thing->holds = false;
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

static void retry_model(Model *model, const char *from)
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

static void free_row(gpointer row)
{
        run_node_record_free(row);
}

/* The rows of the earlier run, as a server has them. */
static void read_rows(const Pair *pair, GPtrArray *nodes, GPtrArray *children)
{
        for (guint32 i = RUN_POST + 1; i < run_nodes(pair->run); i++) {
                const StoredLoop *loop = g_hash_table_lookup(pair->loops, GUINT_TO_POINTER(i));
                const StoredNode *row = g_hash_table_lookup(pair->nodes, GUINT_TO_POINTER(i));

                if (loop) {
                        RunChildRecord child = { .dag = loop->dag_node,
                                                 .component = loop->component,
                                                 .first = i,
                                                 .count = loop->count };

                        g_ptr_array_add(children, g_memdup2(&child, sizeof child));
                }
                if (row) {
                        RunNodeRecord *node = g_new0(RunNodeRecord, 1);

                        *node = (RunNodeRecord){ .node = i,
                                                 .dag = row->dag_node,
                                                 .component = row->node.component,
                                                 .number = row->node.number,
                                                 .state = row->node.state,
                                                 .culprit = row->node.culprit,
                                                 .inner = row->inner,
                                                 .job = row->node.job };
                        g_ptr_array_add(nodes, node);
                }
        }
}

/* What a server stores when it begins the new run. */
static void write_rows(Pair *pair, const RunKept *kept)
{
        g_hash_table_remove_all(pair->nodes);
        g_hash_table_remove_all(pair->loops);
        g_hash_table_remove_all(pair->pauses);
        g_clear_pointer(&pair->breaks, run_breaks_unref);
        pair->rests = 0;
        for (guint i = 0; i < kept->children->len; i++) {
                const RunChildRecord *child = kept->children->pdata[i];
                StoredLoop loop = { child->dag, child->component, child->count };

                g_hash_table_replace(pair->loops, GUINT_TO_POINTER(child->first),
                                     g_memdup2(&loop, sizeof loop));
        }
        for (guint i = 0; i < kept->nodes->len; i++) {
                const RunNodeRecord *node = kept->nodes->pdata[i];
                StoredNode row = { .node = { .component = node->component,
                                             .number = node->number,
                                             .state = node->state,
                                             .culprit = node->culprit,
                                             .job = node->job },
                                   .dag_node = node->dag,
                                   .inner = node->inner };

                g_assert_true(node->state == NODE_RUNNING ? node->made_by == 0 : node->made_by == 7);
                g_hash_table_replace(pair->nodes, GUINT_TO_POINTER(node->node), g_memdup2(&row, sizeof row));
        }
}

static void restore_rows(Pair *pair, const RunKept *kept)
{
        Run *to = run_new(pair->definition, 100 * 1000);
        guint loops = 0;

        for (guint i = 0; i <= kept->nodes->len; i++) {
                const RunNodeRecord *node = i < kept->nodes->len ? kept->nodes->pdata[i] : NULL;

                for (; loops < kept->children->len; loops++) {
                        const RunChildRecord *child = kept->children->pdata[loops];

                        if (node && child->first > node->node)
                                break;
                        run_restore_loop(to, child->dag, child->component, child->first, child->count);
                }
                if (node)
                        run_restore_node(to, node->node, node->dag,
                                         &(RunNode){ .component = node->component,
                                                     .number = node->number,
                                                     .state = node->state,
                                                     .job = node->job },
                                         node->inner);
        }
        run_restored(to, false, false);
        run_keep(to);
        run_free(pair->run);
        pair->run = to;
}

static void retry(Pair *pair)
{
        g_autofree char *from = chance(&pair->plan, 50) ? random_path(pair) : NULL;
        g_autoptr(GPtrArray) nodes = g_ptr_array_new_with_free_func(free_row),
                             children = g_ptr_array_new_with_free_func(g_free);
        RunPath path = { .n = 0 };
        g_auto(RunKept) kept = { 0 };
        g_autoptr(GError) error = NULL;
        const RunRetry wish = { .was = pair->definition,
                                .now = pair->definition,
                                .run = 7,
                                .nodes = nodes,
                                .children = children,
                                .from = from ? &path : NULL };

        read_rows(pair, nodes, children);
        if (from)
                g_assert_true(run_path_parse(pair->definition, from, &path, &error));
        g_assert_true(run_retry(&wish, &kept, &error));
        write_rows(pair, &kept);
        restore_rows(pair, &kept);
        retry_model(&pair->model, from);
        queue_all(pair);
        work(pair);
        while (follow(&pair->model))
                ;
        compare(pair, from ? from : "retry");
        store(pair);
}

/* ---- breakpoints ---- */

/* "before c1.c2-3" */
static char *random_break(Pair *pair)
{
        Plan *plan = &pair->plan;
        const Part *at = plan->root;
        bool after = chance(plan, 30), more = true;
        g_autoptr(GString) text = g_string_new(after ? "after " : "before ");

        if (plan->post && chance(plan, 10)) {
                g_string_append(text, ((Part *)plan->posts->children->pdata[0])->name);
                return g_string_free(g_steal_pointer(&text), FALSE);
        }
        for (bool first = true; more; first = false) {
                at = at->body->children
                             ->pdata[g_rand_int_range(plan->rand, 0, (gint32)at->body->children->len)];
                more = at->body->children->len > 0 && chance(plan, 60);
                g_string_append_printf(text, "%s%s", first ? "" : ".", at->name);
                if (at->body->loops && (more || !after) && chance(plan, 50))
                        g_string_append_printf(text, "-%d", g_rand_int_range(plan->rand, 0, ITEMS_MAX));
        }
        return g_string_free(g_steal_pointer(&text), FALSE);
}

static void break_unref_p(gpointer at)
{
        break_unref(at);
}

static void set_breaks(Pair *pair)
{
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(break_unref_p);

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
        bool step = chance(&pair->plan, 60), one = model->paused.length > 0 && chance(&pair->plan, 70);
        const Group *group =
                one ? g_queue_peek_nth(&model->paused, (guint)g_rand_int_range(pair->plan.rand, 0,
                                                                               (gint32)model->paused.length))
                    : NULL;

        pair->paused += model->paused.length > 0;
        *ret_path = group ? group_path(group) : g_strdup("");
        return (Answer){ .what = step ? "step" : "continue", .path = *ret_path };
}

static bool one_event(Pair *pair)
{
        Model *model = &pair->model;
        g_autofree char *open = NULL, *path = NULL;
        g_auto(GStrv) words = NULL;
        Answer answer = { .what = "cancel", .path = "" };

        if (model->ended)
                return false;
        if (pair->breaking && chance(&pair->plan, 3))
                set_breaks(pair);
        if (chance(&pair->plan, 1)) {
                answer.force = chance(&pair->plan, 50);
        } else if (pair->breaking && chance(&pair->plan, model->paused.length > 0 ? 25 : 4)) {
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
                                   .hash = hash_of(model->salt, words[1], words[0]) };
        }
        if (chance(&pair->plan, 20))
                try_and_undo(pair, &answer);
        answer_run(pair, &answer);
        answer_model(model, &answer);
        work(pair);
        while (follow(model))
                ;
        compare(pair, open ? open : "stop");
        store(pair);
        if (!model->ended && chance(&pair->plan, 3))
                restart(pair);
        return true;
}

static void pair_init(Pair *pair, guint seed)
{
        pair->seed = seed;
        pair->rests = 0;
        plan_init(&pair->plan, seed);
        pair->definition = plan_compile(&pair->plan);
        pair->run = run_new(pair->definition, 100 * 1000);
        pair->breaks = NULL;
        pair->paused = 0;
        pair->breaking = seed % 2;
        pair->pauses = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
        pair->actions = g_ptr_array_new_with_free_func(g_free);
        pair->nodes = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        pair->loops = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        pair->model = (Model){ .plan = &pair->plan, .salt = seed };
        pair->model.actions = g_ptr_array_new_with_free_func(g_free);
        pair->model.open = g_ptr_array_new_with_free_func(g_free);
        pair->model.root = g_new0(Thing, 1);
        pair->model.root->path = g_strdup("run");
        pair->model.breaks = g_ptr_array_new_with_free_func(g_free);
        g_queue_init(&pair->model.queue);
        g_queue_init(&pair->model.waiting);
        g_queue_init(&pair->model.paused);
}

static void pair_clear(Pair *pair)
{
        thing_free(pair->model.root);
        if (pair->model.post)
                thing_free(pair->model.post);
        g_queue_clear(&pair->model.queue);
        g_queue_clear_full(&pair->model.waiting, g_free);
        g_queue_clear(&pair->model.paused);
        g_ptr_array_unref(pair->model.breaks);
        run_breaks_unref(pair->breaks);
        g_hash_table_unref(pair->pauses);
        g_ptr_array_unref(pair->model.actions);
        g_ptr_array_unref(pair->model.open);
        g_ptr_array_unref(pair->actions);
        g_hash_table_unref(pair->nodes);
        g_hash_table_unref(pair->loops);
        run_free(pair->run);
        definition_free(pair->definition);
        plan_clear(&pair->plan);
}

static bool has_rests(const Pair *pair)
{
        for (guint32 d = 0; d < run_dags(pair->run); d++)
                for (guint32 i = 0; i < run_dag(pair->run, d)->n_children; i++)
                        if (run_child(pair->run, run_dag(pair->run, d)->children + i)->rest != NODE_NONE)
                                return true;
        return false;
}

static void play(Pair *pair)
{
        for (int i = 0; one_event(pair); i++)
                g_assert_cmpint(i, <, EVENTS_MAX);
}

static NodeState one_run(guint seed, guint *ret_paused)
{
        Pair pair;
        NodeState ret;

        pair_init(&pair, seed);
        if (pair.breaking)
                set_breaks(&pair);
        run_begin(pair.run);
        enter_thing(&pair.model, pair.model.root, pair.plan.root);
        work(&pair);
        while (follow(&pair.model))
                ;
        compare(&pair, "begin");
        store(&pair);
        play(&pair);
        ret = run_state(pair.run);
        if ((pair.rests > 0) != has_rests(&pair))
                g_error("seed %u: %u rests were reported", seed, pair.rests);
        for (int i = 0; i < RETRIES_MAX && chance(&pair.plan, 60); i++) {
                retry(&pair);
                play(&pair);
        }
        *ret_paused += pair.paused;
        pair_clear(&pair);
        return ret;
}

static void test_model(void)
{
        static const guint found[] = { 2778, 4738 }; /* restarts after a stop */
        guint runs = is_soak() ? 100 * 1000 : 400, seen[NODE_STATES] = { 0 }, paused = 0;

        for (guint seed = 1; seed <= runs; seed++)
                seen[one_run(seed, &paused)]++;
        for (gsize i = 0; i < G_N_ELEMENTS(found); i++)
                seen[one_run(found[i], &paused)]++;
        g_test_message("%u succeeded, %u failed, %u terminated; %u pauses", seen[NODE_SUCCEEDED],
                       seen[NODE_FAILED], seen[NODE_TERMINATED], paused);
        g_assert_cmpuint(paused, >, runs);
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
