/* What a run asks for: the lists of its loops, conditions, jobs of its steps, and their ends (see runs.h).
 *
 * Lists and conditions follow from the definition. A condition with a regular expression and a list in a long text may
 * take long, so a worker evaluates or reads them after the commit, and its answer comes back as a command. */
#include "engine/runs.h"

#include <string.h>

#include "base/err.h"
#include "pipeline/condition.h"
#include "pipeline/render.h"
#include "pipeline/step-job.h"

enum {
        RETRY_MS = 1000,          /* after a limit refused a job */
        CONDITION_NOW_MAX = 4096, /* bytes of a condition that is evaluated at once */
        LIST_NOW_MAX = 16 * 1024, /* bytes of a list in JSON that is read at once */
        REASON_MAX = 1000,
};

/* ---- where an instance stands ---- */

/* An instance of a DAG, and those around it, with their items. */
typedef struct {
        RenderDag dags[DEFINITION_DEPTH_MAX + 2];
        json_t *items[DEFINITION_DEPTH_MAX + 2];
        guint n;
} Chain;

static void chain_clear(Chain *chain)
{
        for (guint i = 0; i < chain->n; i++)
                json_decref(chain->items[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Chain, chain_clear)

static RenderContext context_of(LiveRun *live)
{
        return (RenderContext){ .definition = live->plan->definition,
                                .run_id = live->record->id,
                                .user = live->record->user,
                                .lists = live->plan->lists,
                                .memo = &live->memo };
}

static json_t *item_of(LiveRun *live, guint32 node);

/* The one of the instance, or NULL: it is nested too deep. */
static const RenderDag *chain_add(Chain *chain, LiveRun *live, guint32 dag)
{
        guint32 node = run_dag(live->machine, dag)->node;
        const RunNode *at = run_node(live->machine, node);
        bool top = node == RUN_ROOT || node == RUN_POST;
        const RenderDag *parent = top ? NULL : chain_add(chain, live, at->dag);
        guint n = chain->n;

        if ((!top && !parent) || n == G_N_ELEMENTS(chain->dags))
                return NULL;
        chain->items[n] = top ? NULL : item_of(live, node);
        if (top)
                chain->dags[n] =
                        (RenderDag){ .component = node == RUN_ROOT ? DEFINITION_ROOT : DEFINITION_POST,
                                     .id = dag + 1 };
        else
                chain->dags[n] = (RenderDag){ parent, at->component, at->number, chain->items[n], dag + 1 };
        chain->n++;
        return &chain->dags[n];
}

/* ---- what it costs ---- */

/* run_work counts the step itself. */
static void charge(const RunActor *actor, gsize steps)
{
        guint left = actor->budget ? *actor->budget : 0;

        if (actor->budget)
                *actor->budget = left > steps ? left - (guint)steps : MIN(left, 1);
}

/* ---- loops ---- */

/* An array, or a text; a new reference. */
static json_t *loop_value(LiveRun *live, guint32 child, GError **error)
{
        const RenderContext context = context_of(live);
        guint32 component = run_child_component(live->machine, child);
        g_auto(Chain) chain = { .n = 0 };
        const RenderDag *dag = chain_add(&chain, live, run_child(live->machine, child)->dag);
        g_autoptr(json_t) parameters = dag ? render_parameters(&context, dag, component, error) : NULL;
        const char *input = NULL;

        return parameters ? render_loop_value(&context, component, parameters, &input) : NULL;
}

static void keep_items(LiveRun *live, guint32 child, const Items *items)
{
        g_hash_table_replace(live->lists, GUINT_TO_POINTER(child), items_ref((Items *)items));
}

/* Borrowed; NULL with an error. Items are kept as long as the loop runs. */
static const Items *items_of(LiveRun *live, guint32 child, GError **error)
{
        const Items *known = g_hash_table_lookup(live->lists, GUINT_TO_POINTER(child));
        g_autoptr(json_t) value = known ? NULL : loop_value(live, child, error);
        g_autoptr(Items) items = value ? items_new(value, RUN_NODES_MAX, error) : NULL;

        if (items)
                keep_items(live, child, items);
        return known ? known : items ? g_hash_table_lookup(live->lists, GUINT_TO_POINTER(child)) : NULL;
}

void runs_read_list(LiveRun *live, guint32 child)
{
        (void)items_of(live, child, NULL); /* its nodes will say why it is none */
}

/* Of the loop whose node this is: a new reference, or NULL. */
static json_t *item_of(LiveRun *live, guint32 node)
{
        guint32 child = run_node_child(live->machine, node);
        const Items *items = run_child_is_loop(live->machine, child) ? items_of(live, child, NULL) : NULL;

        return items ? items_get(items, run_node(live->machine, node)->number) : NULL;
}

static void explain_full(const LiveRun *live, gsize count, GError **error)
{
        if (count + run_nodes(live->machine) > RUN_NODES_MAX)
                err_set(error, ERR_QUOTA, "its loop would bring the run above %d nodes", RUN_NODES_MAX);
        else
                err_set(error, ERR_QUOTA,
                        "the runs of '%s' that have not ended would have more than %d nodes",
                        live->record->user, RUN_NODES_OF_USER);
}

/* `items` NULL: there are none, because of *error. */
static void answer_expand(LiveRun *live, guint32 child, const Items *items, GError **error)
{
        guint32 count = items ? items_count(items) : 0, first;

        if (!run_expanded(live->machine, child, count, !items))
                explain_full(live, count, error);
        first = run_child(live->machine, child)->first;
        if (first == (guint32)RUN_NONE)
                return;
        if (*error)
                runs_say(live, first, g_strdup((*error)->message));
        else if (items && count == 0)
                runs_say(live, first, g_strdup("its loop has no items"));
}

/* A long text is read by a worker, after the commit. */
static void expand(const RunActor *actor, guint32 child)
{
        LiveRun *live = actor->live;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) value = loop_value(live, child, &error);
        g_autoptr(Items) items = NULL;

        charge(actor, RUN_RENDER_STEPS + json_string_length(value) / RUN_STEP_BYTES);
        if (json_string_length(value) > LIST_NOW_MAX) {
                g_array_append_val(live->reads, child);
                return;
        }
        items = value ? items_new(value, RUN_NODES_MAX, &error) : NULL;
        if (items)
                keep_items(live, child, items);
        answer_expand(live, child, items, &error);
}

/* A worker's answer: a command that is kept over a failed commit. */
typedef struct {
        Command command;
        Engine *engine;
        gint64 run;
        guint32 child;
        json_t *value;
        Items *items; /* shares `value`, which jansson counts atomically */
        GError *error;
} ReadList;

static bool apply_read(Engine *engine, Command *command)
{
        ReadList *read = (ReadList *)command;
        g_autoptr(GError) error = read->error ? g_error_copy(read->error) : NULL;
        LiveRun *live = runs_find(engine, read->run);

        if (!live || !live->machine || read->child >= run_children(live->machine) ||
            !run_child(live->machine, read->child)->asked)
                return true;
        runs_touch(engine, live);
        if (read->items && !run_child(live->machine, read->child)->done) /* it was not stopped meanwhile */
                keep_items(live, read->child, read->items);
        run_limit(live->machine, runs_more(live));
        answer_expand(live, read->child, read->items, &error);
        runs_count_nodes(live);
        runs_make_due(engine, live);
        return true;
}

static void free_read(Command *command)
{
        ReadList *read = (ReadList *)command;

        json_decref(read->value);
        g_clear_pointer(&read->items, items_unref);
        g_clear_error(&read->error);
}

static const CommandOps read_ops = { .name = "list of a run",
                                     .size = sizeof(ReadList),
                                     .is_observation = true,
                                     .apply = apply_read,
                                     .free = free_read };

static void read_list(bool stopped, void *arg)
{
        ReadList *read = arg;

        if (stopped) { /* the next start asks again */
                command_free(&read->command);
                return;
        }
        read->items = items_new(read->value, RUN_NODES_MAX, &read->error);
        inbox_put(&read->engine->inbox, &read->command);
}

void runs_read_text(Engine *engine, const LiveRun *live, guint32 child, json_t *text)
{
        ReadList *read = command_new(&read_ops, NULL, NULL);

        read->engine = engine;
        read->run = live->record->seq;
        read->child = child;
        read->value = text;
        if (!thread_pool_push(engine->run_workers, live->record->user, read_list, read, NULL))
                command_free(&read->command); /* the server stops */
}

static void ask_list(Engine *engine, LiveRun *live, guint32 child)
{
        json_t *text = run_child(live->machine, child)->asked ? loop_value(live, child, NULL) : NULL;

        if (text)
                runs_read_text(engine, live, child, text);
}

/* ---- conditions ---- */

static bool render(LiveRun *live, guint32 node, Rendered *ret, GError **error)
{
        const RenderContext context = context_of(live);
        const RunNode *at = run_node(live->machine, node);
        g_auto(Chain) chain = { .n = 0 };
        const RenderDag *dag = chain_add(&chain, live, at->dag);
        g_autoptr(json_t) item = item_of(live, node);

        if (!dag)
                return err_set(error, ERR_INVALID, "it is nested too deep");
        return render_instance(&context, dag, at->component, at->number, item, NULL, ret, error);
}

/* A failure may have cost as much as the longest text, so that it uses up the run's part of the batch. */
static bool render_node(const RunActor *actor, guint32 node, Rendered *ret, GError **error)
{
        bool ok = render(actor->live, node, ret, error);

        charge(actor, ok ? RUN_RENDER_STEPS + rendered_size(ret) / RUN_STEP_BYTES : RUN_STEPS);
        return ok;
}

static void answer_look(LiveRun *live, guint32 node, bool holds, const GError *error)
{
        if (error)
                runs_say(live, node, g_strdup_printf("RE-01: %.*s", REASON_MAX, error->message));
        else if (!holds)
                runs_say(live, node, g_strdup("its condition is false"));
        run_looked(live->machine, node, holds, error != NULL);
}

static void look(const RunActor *actor, guint32 node)
{
        g_autoptr(GError) error = NULL;
        g_auto(Rendered) rendered = { 0 };
        bool holds = false;

        if (!render_node(actor, node, &rendered, &error)) {
                runs_say(actor->live, node, g_strdup(error->message));
                run_looked(actor->live->machine, node, false, true);
                return;
        }
        if (strlen(rendered.condition) > CONDITION_NOW_MAX || condition_searches(rendered.condition)) {
                g_array_append_val(actor->live->looks, node); /* after the commit */
                return;
        }
        (void)condition_eval(rendered.condition, &holds, &error);
        answer_look(actor->live, node, holds, error);
}

/* A worker's answer: a command that is kept over a failed commit. */
typedef struct {
        Command command;
        Engine *engine;
        gint64 run;
        guint32 node;
        char *condition;
        bool holds;
        GError *error;
} Looked;

static bool apply_looked(Engine *engine, Command *command)
{
        const Looked *looked = (const Looked *)command;
        LiveRun *live = runs_find(engine, looked->run);

        if (!live || !live->machine || looked->node >= run_nodes(live->machine) ||
            run_node(live->machine, looked->node)->state != NODE_LOOKING)
                return true; /* it was stopped meanwhile */
        runs_touch(engine, live);
        answer_look(live, looked->node, looked->holds, looked->error);
        runs_make_due(engine, live);
        return true;
}

static void free_looked(Command *command)
{
        Looked *looked = (Looked *)command;

        g_free(looked->condition);
        g_clear_error(&looked->error);
}

static const CommandOps looked_ops = { .name = "condition of a run",
                                       .size = sizeof(Looked),
                                       .is_observation = true,
                                       .apply = apply_looked,
                                       .free = free_looked };

static void evaluate(bool stopped, void *arg)
{
        Looked *looked = arg;

        if (stopped) { /* the next start asks again */
                command_free(&looked->command);
                return;
        }
        (void)condition_eval(looked->condition, &looked->holds, &looked->error);
        inbox_put(&looked->engine->inbox, &looked->command);
}

static void ask(Engine *engine, LiveRun *live, guint32 node)
{
        g_autoptr(GError) error = NULL;
        g_auto(Rendered) rendered = { 0 };
        Looked *looked;

        if (run_node(live->machine, node)->state != NODE_LOOKING || !render(live, node, &rendered, &error))
                return;
        looked = command_new(&looked_ops, NULL, NULL);
        looked->engine = engine;
        looked->run = live->record->seq;
        looked->node = node;
        looked->condition = g_steal_pointer(&rendered.condition);
        if (!thread_pool_push(engine->run_workers, live->record->user, evaluate, looked, NULL))
                command_free(&looked->command); /* the server stops */
}

void runs_ask(Engine *engine, LiveRun *live)
{
        for (guint i = 0; i < live->looks->len; i++)
                ask(engine, live, g_array_index(live->looks, guint32, i));
        g_array_set_size(live->looks, 0);
        for (guint i = 0; i < live->reads->len; i++)
                ask_list(engine, live, g_array_index(live->reads, guint32, i));
        g_array_set_size(live->reads, 0);
}

/* ---- jobs ---- */

static Live *submit(const RunActor *actor, guint32 node, GError **error)
{
        LiveRun *live = actor->live;
        const Definition *definition = live->plan->definition;
        const Catalog *catalog = actor->engine->batch.catalog;
        guint32 component = run_node(live->machine, node)->component;
        const StepRun run = {
                .definition = definition, .catalog = catalog, .queue = QUEUE_DEFAULT, .image_optional = true
        };
        g_autofree char *name = step_job_name(live->record->id, component_name(definition, component), node);
        g_auto(Rendered) rendered = { 0 };
        g_autoptr(Spec) spec = NULL;

        charge(actor, RUN_JOB_STEPS);
        if (render_node(actor, node, &rendered, error))
                spec = step_job(&run, component, name, &rendered, error);
        return spec ? submit_step(actor->engine, live->record, node, spec, error) : NULL;
}

static void retry_at(const RunActor *actor, gint64 at)
{
        Engine *engine = actor->engine;

        actor->live->retry_at = at;
        engine->runs_at = engine->runs_at ? MIN(engine->runs_at, at) : at;
}

static void put_off(const RunActor *actor, guint32 node)
{
        LiveRun *live = actor->live;
        bool there = false;

        for (guint i = 0; i < live->put_off->len; i++)
                there |= g_array_index(live->put_off, guint32, i) == node;
        if (!there)
                g_array_append_val(live->put_off, node);
        retry_at(actor, actor->engine->batch.now + RETRY_MS);
}

/* A limit of open jobs passes: the step waits. */
static void start(const RunActor *actor, guint32 node)
{
        g_autoptr(GError) error = NULL;
        const Live *job = submit(actor, node, &error);

        if (job) {
                run_started(actor->live->machine, node, job->job->seq);
        } else if (err_is(error, ERR_QUOTA)) {
                put_off(actor, node);
        } else {
                g_autofree char *line = err_line(error->message);
                const char *class =
                        g_str_has_prefix(line, "RE-") ? "" : "RE-05: "; /* the submission was refused */

                runs_say(actor->live, node, g_strdup_printf("%s%.*s", class, REASON_MAX, line));
                run_ended(actor->live->machine, node, NODE_FAILED);
        }
}

/* Each that is tried goes to the end of the list. If all that the budget allowed could start, the rest need not wait for
 * another second. */
void runs_start_again(const RunActor *actor)
{
        LiveRun *live = actor->live;
        guint left = live->put_off->len;

        live->retry_at = 0;
        for (; left > 0 && *actor->budget > RUN_JOB_STEPS; left--) {
                guint32 node = g_array_index(live->put_off, guint32, 0);
                const RunNode *at = run_node(live->machine, node);

                g_array_remove_index(live->put_off, 0);
                g_array_append_val(live->put_off, node);
                if (at->state == NODE_STARTING && at->job == 0)
                        start(actor, node);
        }
        if (left > 0 && live->retry_at == 0)
                retry_at(actor, actor->engine->batch.now + 1);
}

static void stop(const RunActor *actor, guint32 node)
{
        LiveRun *live = actor->live;
        gint64 seq = run_node(live->machine, node)->job;
        Live *job = seq ? live_by_seq(actor->engine, seq) : NULL;
        Life life;

        if (!job) {
                run_ended(live->machine, node, NODE_TERMINATED);
                return;
        }
        charge(actor, RUN_JOB_STEPS);
        life = batch_life(actor->engine, job);
        (void)life_cancel(&life, false, live->record->stopping ? live->record->user : "its run", NULL);
        batch_end_life(actor->engine, job, &life);
}

static void end(const RunActor *actor)
{
        RunRecord *record = actor->live->record;
        g_autofree char *kind = NULL;

        record->state = (guint8)run_state(actor->live->machine);
        record->finished = actor->engine->batch.now;
        kind = g_strconcat("run.", node_state_name((NodeState)record->state), NULL);
        runs_note(actor->engine, actor->live, kind, json_object());
}

void runs_act(void *arg, RunActionKind kind, guint32 index)
{
        const RunActor *actor = arg;

        switch (kind) {
        case ACTION_EXPAND: expand(actor, index); break;
        case ACTION_LOOK: look(actor, index); break;
        case ACTION_START: start(actor, index); break;
        case ACTION_STOP: stop(actor, index); break;
        case ACTION_END: end(actor); break;
        }
}
