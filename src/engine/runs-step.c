/* The jobs of steps: submitted, put off while a limit refuses them, stopped; and the artifacts that are recorded with them
 * (see runs.h). */
#include <string.h>

#include "base/err.h"
#include "engine/runs.h"
#include "engine/runs-cache.h"
#include "pipeline/step-job.h"

enum { RETRY_MS = 1000 }; /* after a limit refused a job */

/* For a step that names none. */
static const char *queue_of(const RunPlan *plan)
{
        if (plan->queue)
                return plan->queue;
        return plan->other_queue ? plan->other_queue : QUEUE_DEFAULT;
}

/* What its job takes in the store. */
static gint64 job_bytes(const Rendered *rendered)
{
        gint64 bytes = RUN_JOB_BYTES + (gint64)strlen(rendered->command);
        const char *name;
        json_t *value;

        json_object_foreach(rendered->env, name, value)
                bytes += (gint64)(strlen(name) + json_string_length(value));
        return bytes;
}

static Live *submit(const RunActor *actor, guint32 node, Rendered *rendered, GError **error)
{
        LiveRun *live = actor->live;
        const Definition *definition = live->plan->definition;
        const Catalog *catalog = actor->engine->batch.catalog;
        guint32 component = run_node(live->machine, node)->component;
        const StepRun run = { .definition = definition,
                              .catalog = catalog,
                              .queue = queue_of(live->plan),
                              .package = live->plan->package,
                              .package_name = live->plan->package_name,
                              .requirements = live->plan->requirements,
                              .image_optional = true };
        g_autofree char *name = step_job_name(live->record->id, component_name(definition, component), node);
        g_autoptr(Spec) spec = NULL;

        runs_charge(actor, RUN_JOB_STEPS);
        if (runs_render_charged(actor, node, rendered, error))
                spec = step_job(&run, component, name, rendered, error);
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

        if (!g_hash_table_contains(live->put_off_links, GUINT_TO_POINTER(node))) {
                g_queue_push_tail(&live->put_off, GUINT_TO_POINTER(node));
                g_hash_table_insert(live->put_off_links, GUINT_TO_POINTER(node), live->put_off.tail);
                live->put_off_new++;
        }
        retry_at(actor, actor->engine->batch.now + RETRY_MS);
}

/* Paths of a long loop are cut behind one of them. */
static char *short_path(const char *paths)
{
        gsize len = strlen(paths);

        if (len <= RUN_PATH_MAX)
                return g_strdup(paths);
        for (len = RUN_PATH_MAX; len > 0 && paths[len] != ',';)
                len--;
        return g_strndup(paths, len);
}

static void record_artifacts(Engine *engine, LiveRun *live, guint32 node, bool output, json_t *paths)
{
        const Definition *definition = live->plan->definition;
        const char *name;
        json_t *path;

        json_object_foreach(paths, name, path) {
                ArtifactRecord *row = g_new0(ArtifactRecord, 1);

                *row = (ArtifactRecord){ .run = live->record->seq,
                                         .node = node,
                                         .output = output,
                                         .name = g_strdup(name),
                                         .user = g_strdup(live->record->user),
                                         .fs = g_strdup(
                                                 definition_text(definition, definition->main_fs.name)),
                                         .path = short_path(json_string_value(path)),
                                         .created = engine->batch.now };
                g_ptr_array_add(engine->batch.artifacts, row);
        }
}

static bool has_outputs(const LiveRun *live, guint32 node)
{
        const Definition *definition = live->plan->definition;
        guint32 target = component_target(definition, run_node(live->machine, node)->component);

        for (guint32 k = definition->components[target].variables;
             k < definition->components[target + 1].variables; k++)
                if (definition->variables[k].role == ROLE_OUTPUT)
                        return true;
        return false;
}

bool runs_record_outputs(Engine *engine, LiveRun *live, guint32 node)
{
        g_auto(Rendered) rendered = { 0 };

        if (!has_outputs(live, node))
                return false;
        if (runs_render(live, node, NULL, &rendered, NULL))
                record_artifacts(engine, live, node, true, rendered.outputs);
        return true;
}

/* A limit of open jobs passes: the step waits. */
static void submit_or_wait(const RunActor *actor, guint32 node)
{
        g_autoptr(GError) error = NULL;
        g_auto(Rendered) rendered = { 0 };
        const Live *job = submit(actor, node, &rendered, &error);

        if (job) {
                run_started(actor->live->machine, node, job->job->seq);
                actor->live->record->size += job_bytes(&rendered);
                runs_cache_store_entry(actor->engine, actor->live, node, job->job->seq);
                record_artifacts(actor->engine, actor->live, node, false, rendered.inputs);
        } else if (err_is(error, ERR_QUOTA)) {
                put_off(actor, node);
        } else {
                runs_say(actor->live, node, runs_reason("RE-05: ", error)); /* the submission was refused */
                run_ended(actor->live->machine, node, NODE_FAILED);
        }
}

/* The cache is asked first. Then the directories of its outputs are made. */
void runs_start_step(const RunActor *actor, guint32 node)
{
        if (runs_cache_queue_search(actor, node))
                return;
        if (has_outputs(actor->live, node))
                runs_queue_question(actor, ACTION_START, node);
        else
                submit_or_wait(actor, node);
}

void runs_start_missed(const RunActor *actor, guint32 node)
{
        if (has_outputs(actor->live, node))
                runs_queue_question(actor, ACTION_START, node);
        else
                g_array_append_val(actor->live->prepared, node);
}

/* It may have been stopped, or started, since it came into a list. */
static bool is_starting(const LiveRun *live, guint32 node)
{
        const RunNode *at = run_node(live->machine, node);

        return at->state == NODE_STARTING && at->job == 0;
}

static void start_again(const RunActor *actor, guint32 node)
{
        if (is_starting(actor->live, node))
                submit_or_wait(actor, node);
}

/* What is left uses up the run's part of the batch, so that it comes first in the next one. */
void runs_start_prepared(const RunActor *actor)
{
        LiveRun *live = actor->live;
        guint *budget = actor->budget;

        for (; *budget > 0 && live->prepared_at < live->prepared->len; live->prepared_at++) {
                if (*budget <= RUN_JOB_STEPS) {
                        *budget = 0;
                        return;
                }
                start_again(actor, g_array_index(live->prepared, guint32, live->prepared_at));
        }
}

/* Each that is tried goes to the end of the list. If all that the budget allowed could start, the rest need not wait for
 * another second. */
void runs_start_again(const RunActor *actor)
{
        LiveRun *live = actor->live;
        guint left = live->put_off.length;

        live->retry_at = 0;
        for (; left > 0 && *actor->budget > RUN_JOB_STEPS; left--) {
                GList *first = g_queue_pop_head_link(&live->put_off);

                g_queue_push_tail_link(&live->put_off, first);
                live->put_off_new++;
                start_again(actor, GPOINTER_TO_UINT(first->data));
        }
        if (left > 0 && live->retry_at == 0)
                retry_at(actor, actor->engine->batch.now + 1);
}

void runs_forget_started(LiveRun *live)
{
        GList *link = live->put_off.tail;

        for (guint left = MIN(live->put_off_new, live->put_off.length); left > 0; left--) {
                GList *before = link->prev;

                if (!is_starting(live, GPOINTER_TO_UINT(link->data))) {
                        g_hash_table_remove(live->put_off_links, link->data);
                        g_queue_delete_link(&live->put_off, link);
                }
                link = before;
        }
        live->put_off_new = 0;
        if (live->put_off.length == 0)
                live->retry_at = 0;
}

void runs_stop_step(const RunActor *actor, guint32 node)
{
        LiveRun *live = actor->live;
        gint64 seq = run_node(live->machine, node)->job;
        Live *job = seq ? live_by_seq(actor->engine, seq) : NULL;
        Life life;

        if (!job) {
                run_ended(live->machine, node, NODE_TERMINATED);
                return;
        }
        runs_charge(actor, RUN_JOB_STEPS);
        life = batch_life(actor->engine, job);
        (void)life_cancel(&life, false, live->record->stopping ? live->record->user : "its run", NULL);
        batch_end_life(actor->engine, job, &life);
}
