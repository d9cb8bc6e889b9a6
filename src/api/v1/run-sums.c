/* Routes about a run as a whole: its components with their sums, its longest chain of steps, its picture, its definition. One
 * pass over the rows serves each of the first three. Memory grows with the components of a run, not with its nodes. */
#include "api/v1/run-waits.h"
#include "api/v1/runs.h"

#include <errno.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/err.h"
#include "pipeline/picture.h"
#include "pipeline/run-chain.h"
#include "pipeline/run-parts.h"
#include "pipeline/run.h"

enum {
        PAGE = 5000,
        CHILDREN_MAX = 20000,
        STEPS_MAX = 1000, /* of a chain that are shown, and whose jobs are looked at */
};

/* Either of both may be NULL. */
static bool read_nodes(Api *api, const RunRecord *run, RunParts *parts, RunChain *chain, GError **error)
{
        RunNodeQuery query = { .run = run->seq, .limit = PAGE };
        gint64 next;

        do {
                g_autoptr(GPtrArray) page = store_run_nodes(api->store, &query, &next, error);

                if (!page)
                        return false;
                if (!cancel_check())
                        return err_set_errno(error, ECANCELED, "cannot read the nodes of run '%s'", run->id);
                for (guint i = 0; i < page->len; i++) {
                        if (parts)
                                run_parts_add(parts, page->pdata[i]);
                        if (chain)
                                run_chain_add(chain, page->pdata[i]);
                }
                query.after = next;
        } while (next > 0);
        return true;
}

static bool read_pauses(Api *api, const RunRecord *run, RunParts *parts, GError **error)
{
        g_autoptr(json_t) control = NULL;
        g_autoptr(GPtrArray) children =
                run->paused ? run_pauses_read(api->store, run, &control, error) : NULL;

        for (guint i = 0; children && i < children->len; i++)
                run_parts_add_pause(parts, children->pdata[i]);
        return children || !run->paused;
}

/* `chain` may be NULL. *ret_partial: it is too large to be known whole. */
static RunParts *read_parts(Api *api, const RunText *text, const RunRecord *run, RunChain *chain,
                            bool *ret_partial, GError **error)
{
        g_autoptr(RunParts) parts = run_parts_new(text->definition, run->created);
        g_autoptr(GPtrArray) children = NULL;

        if (!read_nodes(api, run, parts, chain, error))
                return NULL;
        children = store_run_children(api->store, run->seq, CHILDREN_MAX, error);
        if (!children)
                return NULL;
        for (guint i = 0; i < children->len; i++)
                run_parts_add_child(parts, children->pdata[i]);
        if (!read_pauses(api, run, parts, error))
                return NULL;
        run_parts_finish(parts);
        *ret_partial = children->len == CHILDREN_MAX || run_parts_are_partial(parts);
        return g_steal_pointer(&parts);
}

/* ---- its components ---- */

/* The state of a part in that of its DAG, through all DAGs around it. */
static NodeState state_of(const RunParts *parts, guint32 part, NodeState run)
{
        const RunPart *at = run_part(parts, part);

        return part <= RUN_PART_POST ? run : run_part_state(at, state_of(parts, at->parent, run));
}

static json_t *format_counts(const RunPart *part)
{
        json_t *object = json_object();

        for (int state = 0; state < NODE_STATES; state++)
                if (part->counts[state] > 0)
                        json_object_set_new(object, node_state_name((NodeState)state),
                                            json_integer(part->counts[state]));
        return object;
}

static json_t *format_part(Api *api, const RunText *text, const RunParts *parts, guint32 i, NodeState run)
{
        const RunPart *part = run_part(parts, i);
        g_autofree char *path = run_part_path(parts, i), *job = part->job ? api_job_id(api, part->job) : NULL;
        guint32 target = component_target(text->definition, part->component);

        return json_pack("{s:s, s:s, s:s, s:b, s:I, s:o, s:I, s:I, s:o, s:o, s:I, s:s?, s:s?, s:b}", "path",
                         path, "type", text->definition->components[target].dag ? "dag" : "step", "state",
                         node_state_name(state_of(parts, i, run)), "loop", (int)part->loops, "count",
                         (json_int_t)part->items, "states", format_counts(part), "kept",
                         (json_int_t)part->kept, "cached", (json_int_t)part->cached, "started_at",
                         part->started ? json_time(part->started) : json_null(), "finished_at",
                         part->finished ? json_time(part->finished) : json_null(), "busy_ms",
                         (json_int_t)part->busy_ms, "job", job && *job ? job : NULL, "message", part->message,
                         "post_process", (int)(part->parent == RUN_PART_POST));
}

static void list_steps(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(RunRecord) run = api_run(api, request);
        g_autoptr(GError) error = NULL;
        g_autoptr(RunText) text = run ? run_texts_get(api->run_texts, api->store, run, &error) : NULL;
        bool partial = false;
        g_autoptr(RunParts) parts = text ? read_parts(api, text, run, NULL, &partial, &error) : NULL;
        g_autoptr(json_t) reply = NULL;
        json_t *items;

        if (!parts) {
                if (run)
                        http_fail(request, error);
                return;
        }
        items = json_array();
        for (guint32 i = RUN_PART_POST + 1; i < run_parts_count(parts); i++)
                json_array_append_new(items, format_part(api, text, parts, i, run_record_state(run)));
        reply = json_pack("{s:o, s:b}", "items", items, "partial", (int)partial);
        http_reply_json(request, 200, reply);
}

/* ---- its longest chain ---- */

/* Where the time of steps went, in ms. */
typedef struct {
        gint64 slot, queue, prepare, run, cache;
} Spent;

/* Without its job, a step counts as running. The job of a cached step is that of another run. */
static Spent spent_of(Api *api, const RunChainStep *step, gint64 now, char **ret_job)
{
        Spent spent = { .slot = step->started - step->ready, .run = step->finished - step->started };
        g_autoptr(Job) job = step->job ? api_job_by_seq(api, step->job) : NULL;
        JobStages stages;

        if (step->cached)
                spent = (Spent){ .cache = step->finished - step->ready };
        *ret_job = job ? g_strdup(job->id) : NULL;
        if (!job || step->cached)
                return spent;
        stages = job_stages(job, now);
        spent.queue = MIN(MAX(stages.queued_ms - stages.environment_ms, 0), spent.run);
        spent.prepare = MIN(stages.environment_ms + stages.starting_ms, spent.run - spent.queue);
        spent.run -= spent.queue + spent.prepare;
        return spent;
}

static void put_spent(json_t *object, const Spent *spent)
{
        json_object_set_new(object, "slot_ms", json_integer(spent->slot));
        json_object_set_new(object, "queue_ms", json_integer(spent->queue));
        json_object_set_new(object, "prepare_ms", json_integer(spent->prepare));
        json_object_set_new(object, "run_ms", json_integer(spent->run));
        json_object_set_new(object, "cache_ms", json_integer(spent->cache));
}

/* NULL: it was deleted meanwhile, or an error of the store. */
static json_t *format_step(Api *api, const RunText *text, const RunRecord *run, GHashTable *dags,
                           const RunChainStep *step, Spent *sum, GError **error)
{
        const RunNodeRecord node = { .run = run->seq,
                                     .node = step->node,
                                     .dag = step->dag,
                                     .component = step->component,
                                     .number = step->number };
        g_autofree char *path = run_node_path(api->store, text, dags, &node, true, error), *job = NULL;
        Spent spent = spent_of(api, step, clock_now_ms(), &job);
        json_t *object;

        sum->slot += spent.slot;
        sum->queue += spent.queue;
        sum->prepare += spent.prepare;
        sum->run += spent.run;
        sum->cache += spent.cache;
        if (!path)
                return NULL;
        object = json_pack("{s:s, s:s, s:b, s:s?, s:o, s:o}", "path", path, "state",
                           node_state_name((NodeState)step->state), "cached", (int)step->cached, "job", job,
                           "started_at", json_time(step->started), "finished_at",
                           node_is_final((NodeState)step->state) ? json_time(step->finished) : json_null());
        put_spent(object, &spent);
        return object;
}

static int compare_times(const void *a, const void *b)
{
        gint64 left = *(const gint64 *)a, right = *(const gint64 *)b;

        return left > right ? -1 : left < right;
}

/* Steps that took less are left out, so that at most STEPS_MAX remain, or a few more that took the same. */
static gint64 least_shown(const GArray *steps)
{
        g_autofree gint64 *times = g_new(gint64, steps->len + 1);

        for (guint i = 0; i < steps->len; i++) {
                const RunChainStep *step = &g_array_index(steps, RunChainStep, i);

                times[i] = step->finished - step->ready;
        }
        qsort(times, steps->len, sizeof *times, compare_times);
        return steps->len > STEPS_MAX ? times[STEPS_MAX] + 1 : 0;
}

static json_t *format_chain(Api *api, const RunText *text, const RunRecord *run, const GArray *steps,
                            gint64 total, GError **error)
{
        g_autoptr(GHashTable) dags = run_paths_new();
        g_autoptr(GError) failed = NULL;
        gint64 least = least_shown(steps), left_out = 0, left_ms = 0;
        json_t *items = json_array(), *reply;
        Spent sum = { 0 };

        for (guint i = 0; i < steps->len && !failed; i++) {
                const RunChainStep *step = &g_array_index(steps, RunChainStep, i);
                json_t *item = NULL;

                if (step->state == NODE_SKIPPED && step->finished - step->ready < 1000)
                        continue; /* it took no time */
                if (step->finished - step->ready >= least)
                        item = format_step(api, text, run, dags, step, &sum, &failed);
                if (item) {
                        json_array_append_new(items, item);
                        continue;
                }
                left_out++;
                left_ms += step->finished - step->ready;
        }
        reply = json_pack("{s:I, s:o, s:I, s:I}", "total_ms", (json_int_t)total, "items", items, "left_out",
                          (json_int_t)left_out, "left_out_ms", (json_int_t)left_ms);
        put_spent(reply, &sum);
        if (!failed)
                return reply;
        json_decref(reply);
        g_propagate_error(error, g_steal_pointer(&failed));
        return NULL;
}

/* Of the run, or the present. */
static gint64 end_of(const RunRecord *run)
{
        return run->finished ? run->finished : clock_now_ms();
}

static json_t *make_chain(Api *api, const RunRecord *run, GError **error)
{
        g_autoptr(RunText) text = run_texts_get(api->run_texts, api->store, run, error);
        g_autoptr(RunChain) chain = text ? run_chain_new(text->definition, run->created) : NULL;
        gint64 end = end_of(run);
        g_autoptr(GArray) steps = NULL;

        if (!text || !read_nodes(api, run, NULL, chain, error))
                return NULL;
        steps = run_chain_find(chain, end);
        if (steps)
                return format_chain(api, text, run, steps, end - run->created, error);
        err_set(error, ERR_INVALID,
                "run '%s' is too large for this: it has more than %d components in all instances of its DAGs",
                run->id, RUN_CHAIN_CHILDREN_MAX);
        return NULL;
}

static void show_chain(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(RunRecord) run = api_run(api, request);
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) reply = run ? make_chain(api, run, &error) : NULL;

        if (reply)
                http_reply_json(request, 200, reply);
        else if (run)
                http_fail(request, error);
}

/* ---- its picture ---- */

/* A run whose longest chain cannot be found is drawn without it. */
static char *draw(Api *api, const RunRecord *run, GError **error)
{
        g_autoptr(RunText) text = run_texts_get(api->run_texts, api->store, run, error);
        g_autoptr(RunChain) chain = text ? run_chain_new(text->definition, run->created) : NULL;
        bool partial = false;
        g_autoptr(RunParts) parts = text ? read_parts(api, text, run, chain, &partial, error) : NULL;
        g_autoptr(GArray) steps = parts ? run_chain_find(chain, end_of(run)) : NULL;
        char *svg = NULL;

        if (!parts || (!node_is_final((NodeState)run->state) && !run_waits_add_parts(api, run, parts, error)))
                return NULL;
        svg = picture_draw(&(Picture){ .definition = text->definition,
                                       .parts = parts,
                                       .run = run,
                                       .chain = steps,
                                       .now = clock_now_ms() });
        if (!svg)
                err_set_errno(error, ECANCELED, "cannot draw run '%s'", run->id);
        return svg;
}

static void show_picture(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(RunRecord) run = api_run(api, request);
        g_autoptr(GError) error = NULL;
        char *svg = run ? draw(api, run, &error) : NULL;

        if (!svg) {
                if (run)
                        http_fail(request, error);
                return;
        }
        http_reply_header(request, "Cache-Control", "no-store");
        http_reply_take(request, 200, "image/svg+xml", svg, strlen(svg));
}

/* ---- its definition ---- */

static void show_definition(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(RunRecord) run = api_run(api, request), whole = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) reply = NULL;

        if (!run)
                return;
        whole = store_run_by_id(api->store, run->id, true, &error);
        if (whole && (!whole->text || !whole->request)) /* its rows are read one after the other */
                err_set(&error, ERR_NOT_FOUND, "run '%s' was just deleted", run->id);
        if (!whole || error) {
                http_fail(request, error);
                return;
        }
        reply = json_pack("{s:s, s:o}", "definition", whole->text, "request",
                          json_parse(whole->request, strlen(whole->request), NULL));
        http_reply_json(request, 200, reply);
}

/* ---- routes ---- */

const HttpRoute run_sum_routes[] = {
        { "GET", "/v1/runs/{run}/steps", ACCESS_RUN, VERB_SHOW, list_steps,
          "List the components of a run that have begun, each once: what its instances are together.",
          .reply = "RunStepList", .on_pool = true },
        { "GET", "/v1/runs/{run}/critical-path", ACCESS_RUN, VERB_SHOW, show_chain,
          "Show the longest chain of steps of a run, and where its time went.", .reply = "RunChain",
          .on_pool = true },
        { "GET", "/v1/runs/{run}/picture", ACCESS_RUN, VERB_SHOW, show_picture,
          "Draw a run with the states of its components as SVG.", .reply_type = "image/svg+xml",
          .on_pool = true },
        { "GET", "/v1/runs/{run}/definition", ACCESS_RUN, VERB_SHOW, show_definition,
          "Show the definition of a run, and what its request changed.", .reply = "RunDefinition",
          .on_pool = true },
        { 0 },
};
