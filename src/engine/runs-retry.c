/* Retries of runs (engine.h, engine_retry_run).
 *
 * The caller's thread reads the earlier run, decides what is kept, and builds the machine of the new run. The file workers
 * look whether the output files of what is kept are there; if some are not, a thread decides again (runs-lost.c). The engine
 * stores what is kept in small parts, while the new run is marked as dropped, so that nobody sees it. When all of it is
 * stored the run is shown, begins, and the caller is answered:
 *
 *   apply ─▶ new run, dropped ─▶ rows, rows, ... ─▶ apply again ─▶ shown, with its first jobs ─▶ answer
 *                                    └── a crash or a full disk: the sweep of dropped runs deletes it */
#include "engine/runs.h"
#include "engine/runs-cache.h"

#include <string.h>

#include "base/err.h"

enum { PAGE = 20000 };

typedef struct {
        RunCommand run;
        RunRecord *record; /* of the new run, with text and request; stored by the batch */
        RunPlan *plan;
        Run *machine;
        RunKept kept;
        GHashTable *makers;
        RunTaken *taken;
        GHashTable *lists; /* of loops that go on, as in LiveRun */
        gsize read;        /* as in LiveRun */
        gint64 earlier;    /* seq */
        json_t *edits;     /* parameters that were changed in the earlier run, and hold on; or NULL */
        RunRecord *before; /* the earlier run */
        RunPlan *was;      /* ... its plan */
        json_t *request;
        Engine *engine;
        KeptFiles *files; /* or NULL: there are none */
        json_t *lost;     /* as in LiveRun; or NULL */
        GError *failure;  /* of the file workers */
        bool created;
} RetryRun;

/* ---- the engine's side ---- */

void runs_kept_free(RunKept *kept)
{
        if (!kept)
                return;
        run_kept_clear(kept);
        g_free(kept);
}

const LiveRun *runs_keeper_of(Engine *engine, gint64 seq)
{
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, engine->runs);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const LiveRun *live = value;

                if (live->record->retry_of == seq || run_taken_uses(live->taken, seq))
                        return live;
        }
        return NULL;
}

static guint n_rows(const RunKept *kept)
{
        return kept->nodes->len + kept->children->len;
}

/* True: it has outputs, which are listed as artifacts of the new run, too. */
static bool take_node(Engine *engine, LiveRun *live, const RunNodeRecord *row)
{
        RunNodeRecord *copy = g_memdup2(row, sizeof *row);

        copy->run = live->record->seq;
        copy->message = g_strdup(row->message);
        copy->reuse = g_strdup(row->reuse);
        copy->job_id = copy->made_id = NULL;
        if (!node_is_final((NodeState)row->state)) /* a DAG that goes on */
                copy->started = engine->batch.now;
        g_ptr_array_add(engine->batch.run_nodes, copy);
        return row->job && row->state == NODE_SUCCEEDED && runs_record_outputs(engine, live, row->node);
}

static void take_child(Engine *engine, gint64 run, const RunChildRecord *row)
{
        RunChildRecord *copy = g_memdup2(row, sizeof *row);

        copy->run = run;
        copy->list = g_strdup(row->list);
        g_ptr_array_add(engine->batch.run_children, copy);
}

bool runs_take_kept(Engine *engine, LiveRun *live, guint *budget)
{
        const RunKept *kept = live->kept;
        gsize spent = 0; /* in rows; the outputs of a node are rendered: a step, and more for long texts */

        for (; live->kept_at < n_rows(kept) && spent < (gsize)*budget * RUN_ROWS_PER_STEP;
             live->kept_at++, spent++) {
                guint at = live->kept_at;

                if (at >= kept->nodes->len)
                        take_child(engine, live->record->seq, kept->children->pdata[at - kept->nodes->len]);
                else if (take_node(engine, live, kept->nodes->pdata[at]))
                        spent += RUN_ROWS_PER_STEP * (1 + runs_rendered_steps(live));
        }
        *budget -= (guint)MIN(*budget, (spent + RUN_ROWS_PER_STEP - 1) / RUN_ROWS_PER_STEP);
        return live->kept_at < n_rows(kept);
}

/* ---- the command ---- */

bool runs_was_deleted(Engine *engine, gint64 seq)
{
        for (guint i = 0; i < engine->batch.changed_runs->len; i++) {
                const RunRecord *run = engine->batch.changed_runs->pdata[i];

                if (run->seq == seq && run->dropped)
                        return true;
        }
        return g_hash_table_contains(engine->deleted_runs, &seq);
}

static bool check_retry(Engine *engine, const RetryRun *retry, GError **error)
{
        if (runs_was_deleted(engine, retry->earlier))
                return err_set(error, ERR_NOT_FOUND, "run '%s' was just deleted", retry->record->retry_id);
        return run_command_check(engine, retry->record, retry->plan, error);
}

static void create(Engine *engine, RetryRun *retry)
{
        RunRecord *record = retry->record;
        LiveRun *live;

        record->seq = ++engine->run_seq;
        record->created = engine->batch.now;
        record->dropped = true;
        g_ptr_array_add(engine->batch.new_runs, record);
        live = runs_add(engine, run_record_copy(record), retry->plan);
        run_free(live->machine);
        live->machine = g_steal_pointer(&retry->machine);
        runs_read_control(live); /* its breakpoints */
        live->makers = g_steal_pointer(&retry->makers);
        live->taken = g_steal_pointer(&retry->taken);
        g_hash_table_unref(live->lists);
        live->lists = g_steal_pointer(&retry->lists);
        live->read = retry->read;
        live->kept = g_memdup2(&retry->kept, sizeof retry->kept);
        retry->kept = (RunKept){ .nodes = NULL };
        retry->created = true;
        runs_make_due(engine, live);
}

/* All that is kept is stored. */
static void show(Engine *engine, RetryRun *retry, LiveRun *live)
{
        runs_touch(engine, live);
        live->record->dropped = false;
        runs_note(engine, live, "run.created",
                  json_pack("{s:s, s:s, s:i, s:I, s:I}", "name", live->record->name, "retry_of",
                            live->record->retry_id, "attempt", (int)live->record->attempt, "kept",
                            (json_int_t)live->kept->kept, "lost", (json_int_t)live->kept->lost->len));
        g_clear_pointer(&live->kept, runs_kept_free);
        runs_make_due(engine, live);
        run_command_set(&retry->run, live->record);
}

/* Applied again in each batch until all is stored. */
static bool apply_retry(Engine *engine, Command *command)
{
        RetryRun *retry = (RetryRun *)command;
        LiveRun *live = retry->created ? runs_find(engine, retry->record->seq) : NULL;

        if (retry->failure) {
                command->error = g_error_copy(retry->failure);
                return true;
        }
        if (!retry->created) {
                if (!run_command_fits(engine, retry->plan))
                        return false;
                if (!check_retry(engine, retry, &command->error))
                        return true;
                create(engine, retry);
                return false;
        }
        if (!live) {
                err_set(&command->error, ERR_UNAVAILABLE,
                        "the server could not store what the retry of run '%s' keeps\nTry again.",
                        retry->record->retry_id);
                return true;
        }
        if (live->kept_at < n_rows(live->kept))
                return false;
        show(engine, retry, live);
        return true;
}

static void free_retry(Command *command)
{
        RetryRun *retry = (RetryRun *)command;

        run_record_free(retry->run.answer);
        run_record_free(retry->record);
        run_kept_clear(&retry->kept);
        run_free(retry->machine);
        g_clear_pointer(&retry->makers, g_hash_table_unref);
        g_clear_pointer(&retry->taken, run_taken_free);
        g_clear_pointer(&retry->lists, g_hash_table_unref);
        g_clear_pointer(&retry->plan, run_plan_unref);
        json_decref(retry->edits);
        run_record_free(retry->before);
        g_clear_pointer(&retry->was, run_plan_unref);
        json_decref(retry->request);
        kept_files_free(retry->files);
        json_decref(retry->lost);
        g_clear_error(&retry->failure);
}

static const CommandOps retry_ops = { .name = "retry run",
                                      .size = sizeof(RetryRun),
                                      .apply = apply_retry,
                                      .answer = run_command_answer,
                                      .free = free_retry };

/* ---- the caller's side ---- */

static void free_node(gpointer node)
{
        run_node_record_free(node);
}

/* All nodes of the run. */
static GPtrArray *read_nodes(Store *store, gint64 run, GError **error)
{
        g_autoptr(GPtrArray) nodes = g_ptr_array_new_with_free_func(free_node);
        RunNodeQuery query = { .run = run, .limit = PAGE };

        do {
                g_autoptr(GPtrArray) page = store_run_nodes(store, &query, &query.after, error);

                if (!page)
                        return NULL;
                g_ptr_array_set_free_func(page, NULL);
                for (guint i = 0; i < page->len; i++) {
                        g_clear_pointer(&((RunNodeRecord *)page->pdata[i])->job_id, g_free);
                        g_ptr_array_add(nodes, page->pdata[i]);
                }
        } while (query.after > 0);
        return g_steal_pointer(&nodes);
}

static bool nothing_to_retry(const RunRecord *earlier, GError **error)
{
        return err_set(error, ERR_CONFLICT,
                       "run '%s' has succeeded: there is nothing to retry\n"
                       "--from STEP runs it again from a step on, -p NAME=VALUE with another parameter.",
                       earlier->id);
}

static bool check_earlier(const RunRecord *earlier, const EngineRetry *wish, GError **error)
{
        NodeState state = (NodeState)earlier->state;

        if (!node_is_final(state))
                return err_set(error, ERR_CONFLICT,
                               "run '%s' has not ended: only a run that has ended can be retried\n"
                               "`paddle run wait %s` waits for its end, `paddle run stop %s` stops it.",
                               earlier->id, earlier->id, earlier->id);
        if (state == NODE_SKIPPED)
                return err_set(error, ERR_CONFLICT,
                               "run '%s' was skipped by its schedule, so there is nothing to retry\n"
                               "Run the pipeline: `paddle run create PIPELINE`.",
                               earlier->id);
        return state != NODE_SUCCEEDED || wish->from || json_object_size(wish->parameters) > 0 ||
               nothing_to_retry(earlier, error);
}

/* That of the earlier run, with the changes. */
static json_t *merge_request(const json_t *earlier, const EngineRetry *wish)
{
        json_t *request = json_copy((json_t *)earlier);
        json_t *parameters = json_copy(json_object_get(earlier, "parameters"));

        if (!parameters)
                parameters = json_object();
        if (wish->parameters)
                json_object_update(parameters, (json_t *)wish->parameters);
        json_object_set_new(request, "parameters", parameters);
        json_object_set_new(request, "retry_of", json_string(wish->id));
        json_object_del(request, "from");
        json_object_del(request, "break_before");
        json_object_del(request, "break_after");
        if (json_array_size(wish->before) > 0)
                json_object_set(request, "break_before", (json_t *)wish->before);
        if (json_array_size(wish->after) > 0)
                json_object_set(request, "break_after", (json_t *)wish->after);
        if (wish->from)
                json_object_set_new(request, "from", json_string(wish->from));
        return request;
}

static RunRecord *new_record(Engine *engine, const RunRecord *earlier, const json_t *request, const char *key)
{
        RunRecord *record = g_new0(RunRecord, 1);

        engine_new_id(engine, record->id);
        record->user = g_strdup(earlier->user);
        record->key = g_strdup(key);
        record->name = g_strdup(earlier->name);
        record->text = g_strdup(earlier->text);
        record->request = json_format(request);
        record->admin = earlier->admin;
        record->retry_of = earlier->seq;
        record->retry_id = g_strdup(earlier->id);
        record->attempt = earlier->attempt + 1;
        record->state = NODE_RUNNING;
        record->source = g_strdup(earlier->source);
        record->fs = g_strdup(earlier->fs);
        record->note = g_strdup(earlier->note);
        record->hash = g_strdup(earlier->hash); /* the text is kept as long as the earlier run is there */
        record->pipeline = earlier->pipeline;
        record->version = earlier->version;
        record->size = RUN_BYTES + (gint64)(strlen(record->text) + strlen(record->request));
        return record;
}

/* All results of a run that has succeeded are kept: the parameters have the values that they had. */
static bool is_same_again(const RunRecord *earlier, const GPtrArray *nodes, const RunKept *kept)
{
        guint rows = 0;

        for (guint i = 0; i < nodes->len; i++)
                rows += ((const RunNodeRecord *)nodes->pdata[i])->dag != RUN_POST;
        return earlier->state == NODE_SUCCEEDED && kept->nodes->len == rows;
}

/* `lost`: as in RunRetry. */
static bool find_kept(Engine *engine, RetryRun *retry, GHashTable *lost, GError **error)
{
        const RunRecord *earlier = retry->before;
        const char *from = json_string_value(json_object_get(retry->request, "from"));
        g_autoptr(GPtrArray) nodes = read_nodes(engine->store, earlier->seq, error);
        g_autoptr(GPtrArray) children =
                nodes ? store_run_children(engine->store, earlier->seq, G_MAXINT, error) : NULL;
        StepPath path;
        const RunRetry wish = { .was = retry->was->definition,
                                .now = retry->plan->definition,
                                .run = earlier->seq,
                                .run_id = earlier->id,
                                .nodes = nodes,
                                .children = children,
                                .from = from ? &path : NULL,
                                .lost = lost };

        if (!children || (from && !run_retry_from(wish.now, from, &path, error)))
                return false;
        run_kept_clear(&retry->kept);
        return run_retry(&wish, &retry->kept, error) &&
               (!is_same_again(earlier, nodes, &retry->kept) || nothing_to_retry(earlier, error));
}

/* A kept node that had taken a result from the cache stores it once more, in the new run. */
static void count_reuse(const RetryRun *retry)
{
        for (guint i = 0; i < retry->kept.nodes->len; i++) {
                const RunNodeRecord *row = retry->kept.nodes->pdata[i];

                retry->record->size += row->reuse ? (gint64)strlen(row->reuse) : 0;
        }
}

/* The run as far as it is built; borrowed. */
static LiveRun live_of(const RetryRun *retry)
{
        return (LiveRun){ .record = retry->record,
                          .plan = retry->plan,
                          .edits = retry->edits,
                          .machine = retry->machine,
                          .lists = retry->lists,
                          .makers = retry->makers,
                          .taken = retry->taken };
}

static void drop_machine(RetryRun *retry)
{
        g_clear_pointer(&retry->machine, run_free);
        g_clear_pointer(&retry->makers, g_hash_table_unref);
        g_clear_pointer(&retry->taken, run_taken_free);
        g_clear_pointer(&retry->lists, g_hash_table_unref);
}

static bool build_machine(RetryRun *retry, GError **error)
{
        RunRows nodes = { retry->kept.nodes, 0 }, children = { retry->kept.children, 0 };
        LiveRun live;

        drop_machine(retry);
        retry->machine = run_new(retry->plan->definition, RUN_NODES_MAX);
        retry->lists = runs_new_lists();
        live = live_of(retry);
        if (!runs_restore_rows(&live, 0, &nodes, &children))
                return err_set(
                        error, ERR_CONFLICT,
                        "run '%s' cannot be retried: this version of the server reads its definition differently\n"
                        "Create a new run.",
                        retry->record->retry_id);
        run_restored(retry->machine, false, false);
        run_keep(retry->machine);
        retry->makers = live.makers = runs_makers(retry->kept.nodes, 0, 0);
        retry->taken = live.taken = run_taken_restore(retry->kept.nodes, 0, 0);
        runs_keep_lists(&live);
        render_memo_clear(&live.memo);
        retry->read = live.read;
        return true;
}

/* The plan of the earlier run. Parameters that were changed while it was paused hold on, but for those of the request. */
static RunPlan *earlier_plan(Engine *engine, RetryRun *retry, const RunRecord *earlier, const json_t *before,
                             const json_t *wish, GError **error)
{
        g_autoptr(RunPlan) was = run_plan_new(engine, earlier->text, before, error);
        g_autoptr(json_t) request = json_deep_copy(before);
        json_t *parameters = json_object_get(request, "parameters");

        retry->edits = runs_edits_of(earlier);
        if (!was || !retry->edits)
                return g_steal_pointer(&was);
        if (!parameters)
                json_object_set_new(request, "parameters", parameters = json_object());
        return runs_drop_edits(retry->edits, was->definition, wish, parameters)
                       ? run_plan_new(engine, earlier->text, request, error)
                       : g_steal_pointer(&was);
}

static void find_files(Engine *engine, RetryRun *retry)
{
        LiveRun live = live_of(retry);

        retry->files = kept_files_new(engine, &live, &retry->kept);
        render_memo_clear(&live.memo);
}

/* All but the files, the breakpoints and the engine's part. */
static bool prepare(Engine *engine, RetryRun *retry, const json_t *before, const EngineRetry *wish,
                    GError **error)
{
        retry->earlier = retry->before->seq;
        retry->was = earlier_plan(engine, retry, retry->before, before, wish->parameters, error);
        retry->plan = retry->was ? run_plan_new(engine, retry->before->text, retry->request, error) : NULL;
        if (!retry->plan || !find_kept(engine, retry, NULL, error) || !build_machine(retry, error))
                return false;
        find_files(engine, retry);
        return true;
}

/* Decides again what is kept: steps whose output files are gone (`gone`) run again if a step that runs needs these files. */
static bool decide_again(Engine *engine, RetryRun *retry, GHashTable *gone, GError **error)
{
        LiveRun live = live_of(retry);

        if (!find_kept(engine, retry, gone, error))
                return false;
        if (retry->kept.lost->len == 0)
                return true; /* no step that runs needs the files */
        retry->lost = kept_files_name(retry->files, &live, retry->kept.lost);
        return build_machine(retry, error);
}

/* Passes it to the engine. False with an error. */
static bool finish(Engine *engine, RetryRun *retry, GError **error)
{
        g_autoptr(GPtrArray) breaks = break_list_new();
        g_autoptr(GHashTable) gone = kept_files_gone(retry->files);

        if ((gone && !decide_again(engine, retry, gone, error)) ||
            !runs_take_breaks(retry->record, retry->plan->definition, retry->request, retry->edits, breaks,
                              error) ||
            !runs_check_breaks(retry->machine, retry->plan->definition, retry->before->id, breaks, error))
                return false;
        count_reuse(retry);
        if (retry->lost)
                runs_put_lost(retry->record, retry->lost);
        inbox_put(&engine->inbox, &retry->run.command);
        return true;
}

/* On a thread of the pool. */
static void go_on(bool stopped, void *arg)
{
        RetryRun *retry = arg;
        g_autoptr(GError) error = NULL;

        if (stopped)
                err_set(&error, ERR_UNAVAILABLE, "the server ends");
        if (stopped || !finish(retry->engine, retry, &error))
                command_answer(NULL, &retry->run.command, error);
}

static void fail(Engine *engine, RetryRun *retry, const GError *error)
{
        if (err_is(error, ERR_INVALID)) /* a path, not the request */
                err_set(&retry->failure, ERR_CONFLICT, "%s", error->message);
        else
                retry->failure = g_error_copy(error);
        (void)err_prefix(&retry->failure, "the files that the retry of run '%s' keeps cannot be looked at: ",
                         retry->record->retry_id);
        inbox_put(&engine->inbox, &retry->run.command);
}

static void note_files(Engine *engine, const GError *cause, void *arg)
{
        RetryRun *retry = arg;
        g_autoptr(GError) error = NULL;

        if (!engine)
                command_answer(NULL, &retry->run.command, cause);
        else if (cause)
                fail(engine, retry, cause);
        else if (!thread_pool_push(engine->cache_readers, retry->record->user, go_on, retry, &error))
                command_answer(NULL, &retry->run.command, error);
}

static RetryRun *new_retry(Engine *engine, RunRecord *earlier, json_t *request, const EngineRetry *wish,
                           EngineRunDone done, void *arg)
{
        RetryRun *retry = command_new(&retry_ops, NULL, arg);

        retry->run.run_done = done;
        retry->engine = engine;
        retry->record = new_record(engine, earlier, request, wish->idempotency_key);
        retry->before = earlier;
        retry->request = request;
        return retry;
}

void engine_retry_run(Engine *engine, const EngineRetry *wish, EngineRunDone done, void *arg)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(RunRecord) earlier = store_run_by_id(engine->store, wish->id, true, &error);
        g_autoptr(json_t) before = earlier && earlier->request
                                           ? json_parse(earlier->request, strlen(earlier->request), NULL)
                                           : NULL;
        RetryRun *retry;

        if (!before || !earlier->text || !check_earlier(earlier, wish, &error)) {
                if (!error)
                        err_set(&error, ERR_NOT_FOUND, "there is no run '%s'", wish->id);
                done(NULL, false, error, arg);
                return;
        }
        retry = new_retry(engine, g_steal_pointer(&earlier), merge_request(before, wish), wish, done, arg);
        if (run_command_repeated(engine, retry->record, done, arg)) {
                command_free(&retry->run.command);
        } else if (!run_command_check_bytes(engine, retry->record, &error) ||
                   !prepare(engine, retry, before, wish, &error) ||
                   (!kept_files_look(retry->files, note_files, retry) && !finish(engine, retry, &error))) {
                done(NULL, false, error, arg);
                command_free(&retry->run.command);
        }
}
