/* What a run asks for: the lists of its loops, conditions, the jobs of its steps (runs-step.c), and its end (see runs.h).
 * Contents of artifacts, and the directories of outputs, are asked of the file workers after the commit (run-files.h).
 *
 * Other lists and conditions follow from the definition. A condition with a regular expression and a list in a long text,
 * also that of an artifact, may take long, so a worker evaluates or reads them after the commit, and its answer comes back
 * as a command. */
#include "base/text-cut.h"
#include "engine/runs.h"

#include <string.h>

#include "base/err.h"
#include "engine/run-files.h"
#include "engine/runs-cache.h"
#include "pipeline/condition.h"

enum {
        CONDITION_SHOWN = 80,     /* bytes of a condition in a message */
        CONDITION_NOW_MAX = 4096, /* bytes of a condition that is evaluated at once */
        LIST_NOW_MAX = 16 * 1024, /* bytes of a list in JSON that is read at once */
        REASON_MAX = 1000,        /* bytes of a message of a node */
};

/* ---- what it costs ---- */

void runs_charge(const RunActor *actor, gsize steps)
{
        guint left = actor->budget ? *actor->budget : 0;

        if (actor->budget)
                *actor->budget = left > steps ? left - (guint)steps : MIN(left, 1);
}

gsize runs_rendered_steps(LiveRun *live)
{
        gsize steps = live->memo.work / RUN_STEP_BYTES;

        live->memo.work = 0;
        return steps;
}

void runs_charge_rendered(const RunActor *actor)
{
        runs_charge(actor, RUN_RENDER_STEPS + runs_rendered_steps(actor->live));
}

void run_ask_clear(gpointer data)
{
        RunAsk *ask = data;

        json_decref(ask->paths);
        json_decref(ask->list);
        g_clear_error(&ask->failure);
        g_free(ask->condition);
}

/* Takes what `ask` has. */
static void add_ask(LiveRun *live, RunAsk ask)
{
        g_array_append_val(live->asks, ask);
}

/* ---- loops ---- */

static void explain_full(const LiveRun *live, gsize count, GError **error)
{
        if (count + run_nodes(live->machine) > RUN_NODES_MAX)
                err_set(error, ERR_QUOTA, "its loop would bring the run above %d nodes", RUN_NODES_MAX);
        else if ((gint64)count > RUN_NODES_OF_USER - live->owner->nodes)
                err_set(error, ERR_QUOTA,
                        "the runs of '%s' that have not ended would have more than %d nodes",
                        live->record->user, RUN_NODES_OF_USER);
        else
                err_set(error, ERR_QUOTA,
                        "the runs of all users that have not ended would have more than %d nodes",
                        RUN_NODES_ALL);
}

/* The caller's. */
static char *say_no_list(const LiveRun *live, guint32 child, const GError *error)
{
        const char *input =
                runs_is_read_loop(live, child)
                        ? render_loop_input(live->plan->definition, run_child_component(live->machine, child))
                        : NULL;

        return input ? g_strdup_printf("%s (read from the artifact '%s')", error->message, input)
                     : g_strdup(error->message);
}

/* `items` NULL: there are none, because of *error. */
static void answer_expand(LiveRun *live, guint32 child, const Items *items, GError **error)
{
        guint32 count = items ? items_count(items) : 0, first;

        if (!run_expanded(live->machine, child, count, !items))
                explain_full(live, count, error);
        runs_look_at_breaks(live, run_child_component(live->machine, child));
        first = run_child(live->machine, child)->first;
        if (first == (guint32)RUN_NONE)
                return;
        if (*error)
                runs_say(live, first, say_no_list(live, child, *error));
        else if (items && count == 0)
                runs_say(live, first, g_strdup("its loop has no items"));
}

/* The lists of artifacts are stored with the run. */
static bool check_read(const LiveRun *live, gsize more, GError **error)
{
        return live->read + more <= RUN_READ_MAX ||
               err_set(error, ERR_QUOTA,
                       "RE-06: the lists that a run reads from artifacts may have %d MiB together",
                       RUN_READ_MAX >> 20);
}

/* The list is known: `items`, or why there is none. */
static void take_list(LiveRun *live, guint32 child, const Items *items, GError **error)
{
        gsize stored = items && runs_is_read_loop(live, child) ? strlen(items_text(items)) : 0;

        if (check_read(live, stored, error)) {
                live->read += stored;
                live->record->size += (gint64)stored;
        } else {
                items = NULL;
        }
        if (items && !run_child(live->machine, child)->done) /* it was not stopped meanwhile */
                runs_keep_items(live, child, items);
        answer_expand(live, child, items, error);
}

/* A long text is read by a worker, after the commit. */
static void expand_value(const RunActor *actor, guint32 child)
{
        LiveRun *live = actor->live;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) value = runs_loop_value(live, child, &error);
        g_autoptr(Items) items = NULL;

        runs_charge_rendered(actor);
        if (json_string_length(value) > LIST_NOW_MAX) {
                add_ask(live,
                        (RunAsk){ .what = ACTION_EXPAND, .index = child, .list = g_steal_pointer(&value) });
                return;
        }
        items = value ? items_new(value, RUN_NODES_MAX, &error) : NULL;
        take_list(live, child, items, &error);
}

static void expand(const RunActor *actor, guint32 child)
{
        if (runs_is_read_loop(actor->live, child))
                runs_queue_question(actor, ACTION_EXPAND, child);
        else
                expand_value(actor, child);
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

        if (!runs_take_answer(engine))
                return false;
        if (!live || !live->machine || read->child >= run_children(live->machine) ||
            !run_child(live->machine, read->child)->asked)
                return true;
        runs_touch(engine, live);
        run_limit(live->machine, runs_more(engine, live));
        take_list(live, read->child, read->items, &error);
        runs_grow(engine, live);
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

/* Takes the reference. */
static void read_text(Engine *engine, const LiveRun *live, guint32 child, json_t *text)
{
        ReadList *read = command_new(&read_ops, NULL, NULL);

        read->engine = engine;
        read->run = live->record->seq;
        read->child = child;
        read->value = text;
        if (!thread_pool_push(engine->run_workers, live->record->user, read_list, read, NULL))
                command_free(&read->command); /* the server stops */
}

/* ---- conditions ---- */

bool runs_render_charged(const RunActor *actor, guint32 node, Rendered *ret, GError **error)
{
        bool ok = runs_render(actor->live, node, NULL, ret, error);

        runs_charge_rendered(actor);
        return ok;
}

static void answer_look(LiveRun *live, guint32 node, const char *condition, bool holds, const GError *error)
{
        g_autofree char *shown = error ? text_cut_bytes(condition, CONDITION_SHOWN) : NULL;

        if (error)
                runs_say(live, node,
                         g_strdup_printf("RE-01: the condition '%s': %.*s", shown, REASON_MAX,
                                         error->message));
        else if (!holds)
                runs_say(live, node, g_strdup("its condition is false"));
        run_looked(live->machine, node, holds, error != NULL);
        if (!holds)
                runs_look_at_breaks(live, run_node(live->machine, node)->component);
}

static void fail_node(const RunActor *actor, guint32 node, const GError *error)
{
        runs_say(actor->live, node, g_strdup_printf("%.*s", REASON_MAX, error->message));
        run_ended(actor->live->machine, node, NODE_FAILED);
}

static bool is_slow(const char *condition)
{
        return strlen(condition) > CONDITION_NOW_MAX || condition_searches(condition);
}

static void ask_contents(const RunActor *actor, guint32 node, const Rendered *rendered);

static void look(const RunActor *actor, guint32 node)
{
        g_autoptr(GError) error = NULL;
        g_auto(Rendered) rendered = { 0 };
        bool holds = false;

        if (!runs_render_charged(actor, node, &rendered, &error)) {
                fail_node(actor, node, error);
        } else if (!rendered.condition_known) {
                ask_contents(actor, node, &rendered);
        } else if (is_slow(rendered.condition)) {
                add_ask(actor->live, (RunAsk){ .what = ACTION_LOOK,
                                               .index = node,
                                               .condition = g_steal_pointer(&rendered.condition) });
        } else {
                (void)condition_eval(rendered.condition, &holds, &error);
                answer_look(actor->live, node, rendered.condition, holds, error);
        }
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

        if (!runs_take_answer(engine))
                return false;
        if (!live || !live->machine || looked->node >= run_nodes(live->machine) ||
            run_node(live->machine, looked->node)->state != NODE_LOOKING)
                return true; /* it was stopped meanwhile */
        runs_touch(engine, live);
        answer_look(live, looked->node, looked->condition, looked->holds, looked->error);
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

/* Takes the condition. */
static void evaluate_slowly(Engine *engine, const LiveRun *live, guint32 node, char *condition)
{
        Looked *looked = command_new(&looked_ops, NULL, NULL);

        looked->engine = engine;
        looked->run = live->record->seq;
        looked->node = node;
        looked->condition = condition;
        if (!thread_pool_push(engine->run_workers, live->record->user, evaluate, looked, NULL))
                command_free(&looked->command); /* the server stops */
}

/* ---- questions to the file workers ---- */

/* The path of one file, which a loop or a condition reads. */
static bool add_readable(json_t *paths, const json_t *inputs, const char *name, GError **error)
{
        const char *path = json_string_value(json_object_get(inputs, name));

        if (!path || !*path)
                return err_set(error, ERR_INVALID,
                               "RE-06: the artifact '%s' has no file: its loop had no items", name);
        if (strchr(path, ','))
                return err_set(error, ERR_INVALID,
                               "RE-06: the artifact '%s' is a list of files, so its content cannot be read\n"
                               "Join the files in a step, and use the output of that step.",
                               name);
        json_object_set_new(paths, name, json_string(path));
        return true;
}

static json_t *paths_of_loop(LiveRun *live, guint32 child, GError **error)
{
        const char *input =
                render_loop_input(live->plan->definition, run_child_component(live->machine, child));
        g_autoptr(json_t) inputs = runs_loop_inputs(live, child, error), paths = json_object();

        return inputs && add_readable(paths, inputs, input, error) ? g_steal_pointer(&paths) : NULL;
}

/* The contents that the condition of a node reads. */
static void ask_contents(const RunActor *actor, guint32 node, const Rendered *rendered)
{
        LiveRun *live = actor->live;
        guint32 component = run_node(live->machine, node)->component;
        g_autoptr(GPtrArray) names = render_condition_inputs(live->plan->definition, component);
        g_autoptr(json_t) paths = json_object();
        RunAsk ask = { .what = ACTION_LOOK, .index = node };

        for (guint i = 0; i < names->len; i++)
                if (!add_readable(paths, rendered->inputs, names->pdata[i], &ask.failure))
                        break;
        ask.paths = ask.failure ? NULL : g_steal_pointer(&paths);
        add_ask(live, ask);
}

static json_t *paths_of_outputs(LiveRun *live, guint32 node, GError **error)
{
        g_auto(Rendered) rendered = { 0 };

        return runs_render(live, node, NULL, &rendered, error) ? g_steal_pointer(&rendered.outputs) : NULL;
}

/* It may have been stopped since it asked. */
static bool still_asks(const LiveRun *live, const RunAsk *ask)
{
        const RunNode *node;

        if (ask->what == ACTION_EXPAND)
                return ask->index < run_children(live->machine) &&
                       run_child(live->machine, ask->index)->asked &&
                       !run_child(live->machine, ask->index)->done;
        if (ask->index >= run_nodes(live->machine))
                return false;
        node = run_node(live->machine, ask->index);
        return ask->what == ACTION_LOOK ? node->state == NODE_LOOKING
                                        : node->state == NODE_STARTING && node->job == 0;
}

/* For each kind of question: which paths the workers get (NULL: whoever asks knows them), and which function uses their
 * answer. */
typedef struct {
        FilesKind kind;
        gsize max;
        json_t *(*paths)(LiveRun *live, guint32 index, GError **error);
        void (*use)(const RunActor *actor, guint32 index, const json_t *values, const GError *error);
} AskRow;

static void use_list(const RunActor *actor, guint32 child, const json_t *values, const GError *failure);
static void use_contents(const RunActor *actor, guint32 node, const json_t *values, const GError *failure);
static void use_prepared(const RunActor *actor, guint32 node, const json_t *values, const GError *failure);

static const AskRow ask_rows[] = {
        [ACTION_EXPAND] = { FILES_READ, RUN_LIST_MAX, paths_of_loop, use_list },
        [ACTION_LOOK] = { FILES_READ, RUN_WORD_MAX, NULL, use_contents },
        [ACTION_START] = { FILES_PREPARE, 0, paths_of_outputs, use_prepared },
};

void runs_queue_question(const RunActor *actor, RunActionKind what, guint32 index)
{
        RunAsk ask = { .what = what, .index = index };

        ask.paths = ask_rows[what].paths(actor->live, index, &ask.failure);
        runs_charge_rendered(actor);
        add_ask(actor->live, ask);
}

/* A question that cannot be asked gets its answer in the next batch. */
static void ask_files(Engine *engine, LiveRun *live, RunAsk *ask)
{
        const AskRow *row = &ask_rows[ask->what];
        const Definition *definition = live->plan->definition;
        FilesRequest request = {
                .ticket = { .run = live->record->seq, .what = ask->what, .index = ask->index },
                .kind = row->kind,
                .user = live->record->user,
                .fs = definition_text(definition, definition->main_fs.name),
                .paths = g_steal_pointer(&ask->paths),
                .max = row->max
        };

        if (request.paths)
                run_files_ask(engine->files, &request);
        else
                run_files_refuse(engine->files, &request.ticket, ask->failure);
}

static void give(Engine *engine, LiveRun *live, RunAsk *ask)
{
        if (!still_asks(live, ask))
                return;
        if (ask->condition)
                evaluate_slowly(engine, live, ask->index, g_steal_pointer(&ask->condition));
        else if (ask->list)
                read_text(engine, live, ask->index, g_steal_pointer(&ask->list));
        else if (ask->what != ACTION_START || g_hash_table_add(live->preparing, GUINT_TO_POINTER(ask->index)))
                ask_files(engine, live, ask);
}

void runs_send_questions(Engine *engine, LiveRun *live)
{
        for (guint i = 0; i < live->asks->len; i++)
                give(engine, live, &g_array_index(live->asks, RunAsk, i));
        g_array_set_size(live->asks, 0);
        runs_cache_begin_searches(engine, live);
}

void runs_answered(Engine *engine, const FilesTicket *ticket, const json_t *values, const GError *error)
{
        LiveRun *live = runs_find(engine, ticket->run);
        const RunActor actor = { .engine = engine, .live = live };
        const RunAsk asked = { .what = ticket->what, .index = ticket->index };

        if (live && ticket->what == ACTION_START)
                g_hash_table_remove(live->preparing, GUINT_TO_POINTER(ticket->index));
        if (!live || !live->machine || !still_asks(live, &asked))
                return;
        runs_touch(engine, live);
        run_limit(live->machine, runs_more(engine, live));
        ask_rows[ticket->what].use(&actor, ticket->index, values, error);
        runs_grow(engine, live);
        runs_make_due(engine, live);
}

/* ---- their answers ---- */

char *runs_reason(const char *class, const GError *error)
{
        g_autofree char *line = err_line(error->message);

        if (g_str_has_suffix(line, ".")) /* other reasons follow */
                line[strlen(line) - 1] = '\0';
        return g_strdup_printf("%s%.*s", g_str_has_prefix(line, "RE-") ? "" : class, REASON_MAX, line);
}

/* The text of the only artifact that was read. */
static json_t *only_text(const json_t *values)
{
        return json_object_iter_value(json_object_iter((json_t *)values));
}

/* A worker reads the text, whose answer is a command of its own. If this batch fails, the text is read twice, and the first
 * answer counts. */
static void use_list(const RunActor *actor, guint32 child, const json_t *values, const GError *failure)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *reason = NULL;

        if (!failure) {
                read_text(actor->engine, actor->live, child, json_incref(only_text(values)));
                return;
        }
        reason = runs_reason("RE-06: ", failure);
        err_set(&error, ERR_INVALID, "%s", reason);
        answer_expand(actor->live, child, NULL, &error);
}

static void use_contents(const RunActor *actor, guint32 node, const json_t *values, const GError *failure)
{
        LiveRun *live = actor->live;
        g_autoptr(GError) error = NULL;
        g_auto(Rendered) rendered = { 0 };
        bool holds = false;

        if (failure) {
                runs_say(live, node, runs_reason("RE-06: ", failure));
                run_ended(live->machine, node, NODE_FAILED);
        } else if (!runs_render(live, node, values, &rendered, &error)) {
                fail_node(actor, node, error);
        } else if (is_slow(rendered.condition)) {
                evaluate_slowly(actor->engine, live, node, g_steal_pointer(&rendered.condition));
        } else {
                (void)condition_eval(rendered.condition, &holds, &error);
                answer_look(live, node, rendered.condition, holds, error);
        }
}

/* The job is submitted in runs_work, within the budget: it costs more than an answer. */
static void use_prepared(const RunActor *actor, guint32 node, const json_t *values, const GError *failure)
{
        if (!failure) {
                g_array_append_val(actor->live->prepared, node);
                return;
        }
        runs_say(actor->live, node, runs_reason("RE-05: ", failure));
        run_ended(actor->live->machine, node, NODE_FAILED);
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
        case ACTION_START: runs_start_step(actor, index); break;
        case ACTION_STOP: runs_stop_step(actor, index); break;
        case ACTION_PAUSE: g_array_append_val(actor->live->paused, index); break;
        case ACTION_END: end(actor); break;
        }
}
