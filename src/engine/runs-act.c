/* What a run asks for: the lists of its loops, conditions, jobs of its steps, and their ends (see runs.h).
 *
 * Lists and conditions follow from the definition. A condition with a regular expression may take some ms, so a worker
 * evaluates it after the commit, and its answer comes back as a command. */
#include "engine/runs.h"

#include <string.h>

#include "base/err.h"
#include "pipeline/condition.h"
#include "pipeline/render.h"
#include "pipeline/step-job.h"

enum {
        RETRY_MS = 1000,          /* after a limit refused a job */
        CONDITION_NOW_MAX = 4096, /* bytes of a condition that is evaluated at once */
        REASON_MAX = 1000,
};

/* ---- where an instance stands ---- */

/* An instance of a DAG, and those around it. */
typedef struct {
        RenderDag dags[DEFINITION_DEPTH_MAX + 2];
        guint n;
} Chain;

static RenderContext context_of(const LiveRun *live)
{
        return (RenderContext){ .definition = live->plan->definition,
                                .run_id = live->record->id,
                                .user = live->record->user,
                                .lists = live->plan->lists };
}

static const json_t *item_of(LiveRun *live, guint32 node);

/* The one of the instance, or NULL: it is nested too deep. */
static const RenderDag *chain_add(Chain *chain, LiveRun *live, guint32 dag)
{
        guint32 node = run_dag(live->machine, dag)->node;
        const RunNode *at = run_node(live->machine, node);
        RenderDag *ret;

        if (node == RUN_ROOT || node == RUN_POST) {
                ret = &chain->dags[chain->n++];
                *ret = (RenderDag){ .component = node == RUN_ROOT ? DEFINITION_ROOT : DEFINITION_POST };
                return ret;
        }
        {
                const RenderDag *parent = chain_add(chain, live, at->dag);

                if (!parent || chain->n == G_N_ELEMENTS(chain->dags))
                        return NULL;
                ret = &chain->dags[chain->n++];
                *ret = (RenderDag){ parent, at->component, at->number, item_of(live, node) };
        }
        return ret;
}

/* ---- loops ---- */

/* A new reference. */
static json_t *read_list(LiveRun *live, guint32 child, GError **error)
{
        const RenderContext context = context_of(live);
        guint32 component = run_child_component(live->machine, child);
        Chain chain = { .n = 0 };
        const RenderDag *dag = chain_add(&chain, live, run_child(live->machine, child)->dag);
        g_autoptr(json_t) parameters = dag ? render_parameters(&context, dag, component, error) : NULL;
        const char *input = NULL;

        return parameters ? render_loop(&context, component, parameters, &input, error) : NULL;
}

/* Borrowed; NULL with an error. A list is kept as long as the loop runs. */
static const json_t *list_of(LiveRun *live, guint32 child, GError **error)
{
        json_t *list = g_hash_table_lookup(live->lists, GUINT_TO_POINTER(child));

        if (list)
                return list;
        list = read_list(live, child, error);
        if (list)
                g_hash_table_insert(live->lists, GUINT_TO_POINTER(child), list);
        return list;
}

/* The item of the loop whose node this is, or NULL. */
static const json_t *item_of(LiveRun *live, guint32 node)
{
        guint32 child = run_node_child(live->machine, node);

        if (!run_child_is_loop(live->machine, child))
                return NULL;
        return json_array_get(list_of(live, child, NULL), run_node(live->machine, node)->number);
}

/* How many nodes the live runs of the user have. */
static gint64 nodes_of_user(Engine *engine, const char *user)
{
        GHashTableIter iter;
        gpointer value;
        gint64 n = 0;

        g_hash_table_iter_init(&iter, engine->runs);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const LiveRun *live = value;

                if (live->machine && strcmp(live->record->user, user) == 0)
                        n += run_nodes(live->machine);
        }
        return n;
}

static bool check_nodes(const RunActor *actor, gint64 count, GError **error)
{
        const RunRecord *record = actor->live->record;

        if (count < 1000 || nodes_of_user(actor->engine, record->user) + count <= RUN_NODES_OF_USER)
                return true;
        return err_set(error, ERR_QUOTA, "the runs of '%s' that have not ended would have more than %d nodes",
                       record->user, RUN_NODES_OF_USER);
}

static void expand(const RunActor *actor, guint32 child)
{
        LiveRun *live = actor->live;
        g_autoptr(GError) error = NULL;
        const json_t *list = list_of(live, child, &error);
        gsize count = list ? json_array_size(list) : 0;
        bool ok = list && check_nodes(actor, (gint64)count, &error);

        if (!run_expanded(live->machine, child, (guint32)MIN(count, G_MAXUINT32), !ok))
                err_set(&error, ERR_QUOTA, "its loop would bring the run above %d nodes", RUN_NODES_MAX);
        if (run_child(live->machine, child)->first == (guint32)RUN_NONE)
                return;
        if (error)
                runs_say(live, run_child(live->machine, child)->first, g_strdup(error->message));
        else if (count == 0)
                runs_say(live, run_child(live->machine, child)->first, g_strdup("its loop has no items"));
}

/* ---- conditions ---- */

static bool render_node(LiveRun *live, guint32 node, Rendered *ret, GError **error)
{
        const RenderContext context = context_of(live);
        const RunNode *at = run_node(live->machine, node);
        Chain chain = { .n = 0 };
        const RenderDag *dag = chain_add(&chain, live, at->dag);

        if (!dag)
                return err_set(error, ERR_INVALID, "it is nested too deep");
        return render_instance(&context, dag, at->component, at->number, item_of(live, node), NULL, ret,
                               error);
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

        if (!render_node(actor->live, node, &rendered, &error)) {
                runs_say(actor->live, node, g_strdup(error->message));
                run_looked(actor->live->machine, node, false, true);
                return;
        }
        if (strchr(rendered.condition, '~') || strlen(rendered.condition) > CONDITION_NOW_MAX) {
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

        if (run_node(live->machine, node)->state != NODE_LOOKING ||
            !render_node(live, node, &rendered, &error))
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
}

/* ---- jobs ---- */

static Live *submit(const RunActor *actor, guint32 node, GError **error)
{
        LiveRun *live = actor->live;
        const Definition *definition = live->plan->definition;
        const Catalog *catalog = actor->engine->batch.catalog;
        guint32 component = run_node(live->machine, node)->component;
        const StepRun run = { .definition = definition,
                              .catalog = catalog,
                              .queue = QUEUE_DEFAULT,
                              .package = live->plan->package,
                              .package_name = live->plan->package_name,
                              .requirements = live->plan->requirements,
                              .image_optional = true };
        g_autofree char *name = step_job_name(live->record->id, component_name(definition, component), node);
        g_auto(Rendered) rendered = { 0 };
        g_autoptr(Spec) spec = NULL;

        if (render_node(live, node, &rendered, error))
                spec = step_job(&run, component, name, &rendered, error);
        return spec ? submit_step(actor->engine, live->record, node, spec, error) : NULL;
}

static void put_off(const RunActor *actor, guint32 node)
{
        LiveRun *live = actor->live;
        gint64 at = actor->engine->batch.now + RETRY_MS;
        bool there = false;

        for (guint i = 0; i < live->put_off->len; i++)
                there |= g_array_index(live->put_off, guint32, i) == node;
        if (!there)
                g_array_append_val(live->put_off, node);
        live->retry_at = at;
        if (!actor->engine->runs_at)
                actor->engine->runs_at = at;
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

void runs_start_again(Engine *engine, LiveRun *live)
{
        const RunActor actor = { engine, live };

        live->retry_at = 0;
        for (guint i = 0; i < live->put_off->len; i++) {
                guint32 node = g_array_index(live->put_off, guint32, i);
                const RunNode *at = run_node(live->machine, node);

                if (at->state == NODE_STARTING && at->job == 0)
                        start(&actor, node);
        }
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
