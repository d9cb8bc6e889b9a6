/* Why steps of a run do not go on (see run-waits.h). */
#include "api/v1/run-waits.h"

#include <string.h>

#include "api/v1/internal.h"
#include "engine/run-waits.h"
#include "pipeline/run.h"

enum {
        ROWS_MAX = 1000, /* that are looked at: DAGs run, too */
        WAITS_MAX = 100,
};

/* ---- for another run ---- */

/* "step 'train' of run 6rpyr77cvstaad5v"; NULL: it was deleted meanwhile. The caller's. */
static char *name_step(Api *api, const Job *job)
{
        g_autoptr(RunRecord) run =
                job->run_seq ? store_run_by_seq(api->store, job->run_seq, false, NULL) : NULL;
        g_autoptr(RunText) text = run ? run_texts_get(api->run_texts, api->store, run, NULL) : NULL;
        g_autoptr(GHashTable) dags = run_paths_new();
        const RunNodeRecord *node =
                text ? run_find_node(api->store, dags, run->seq, (guint32)job->run_node, NULL) : NULL;
        g_autofree char *path = node ? run_node_path(api->store, text, dags, node, true, NULL) : NULL;

        return path ? g_strdup_printf("step '%s' of run %s", path, run->id) : NULL;
}

/* The caller's. */
static char *explain_cache(Api *api, const RunWait *wait)
{
        g_autoptr(Job) job = api_job_by_seq(api, wait->job);
        g_autofree char *step = job ? name_step(api, job) : NULL;

        return g_strdup_printf("waits for %s, whose result it may take",
                               step ? step : "a job of another run");
}

GHashTable *run_waits_by_component(Api *api, const RunRecord *run)
{
        g_autoptr(GArray) waits = engine_run_waits(api->engine, run->id);
        GHashTable *messages;

        if (!waits)
                return NULL;
        messages = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
        for (guint i = 0; i < waits->len; i++) {
                const RunWait *wait = &g_array_index(waits, RunWait, i);
                gint64 key = run_child_key(wait->dag, wait->component);

                if (!g_hash_table_contains(messages, &key))
                        g_hash_table_insert(messages, g_memdup2(&key, sizeof key), explain_cache(api, wait));
        }
        return messages;
}

static bool put_cache_waits(Api *api, const RunText *text, const RunRecord *run, GHashTable *dags,
                            json_t *list, GError **error)
{
        g_autoptr(GArray) waits = engine_run_waits(api->engine, run->id);
        GError *failed = NULL;

        for (guint i = 0; waits && i < waits->len && !failed; i++) {
                const RunWait *wait = &g_array_index(waits, RunWait, i);
                const RunNodeRecord node = { .run = run->seq,
                                             .dag = wait->dag,
                                             .component = wait->component,
                                             .number = wait->number };
                g_autofree char *path = run_node_path(api->store, text, dags, &node, true, &failed);
                g_autofree char *why = path ? explain_cache(api, wait) : NULL;

                if (path && json_array_size(list) < WAITS_MAX)
                        json_array_append_new(list, json_pack("{s:s, s:s, s:n, s:s}", "step", path, "state",
                                                              "pending", "job", "message", why));
        }
        if (failed)
                g_propagate_error(error, failed);
        return !failed;
}

/* ---- for its own job ---- */

static bool is_queued(const Job *job)
{
        return job->state == JOB_SUBMITTED || job->state == JOB_QUEUED || job->state == JOB_SUSPENDED;
}

/* Why the job of a node waits in its queue; NULL: it does not. The caller's. */
static char *explain_queued(Api *api, const RunNodeRecord *node)
{
        g_autoptr(Job) job = node->job_id ? engine_job(api->engine, node->job_id) : NULL;

        return job && is_queued(job) ? engine_explain(api->engine, job) : NULL;
}

/* The nodes that run, RunNodeRecord; NULL with an error of the store. */
static GPtrArray *running_nodes(Api *api, const RunRecord *run, GError **error)
{
        RunNodeQuery query = { .run = run->seq, .states = 1u << NODE_RUNNING, .limit = ROWS_MAX };
        gint64 next;

        return store_run_nodes(api->store, &query, &next, error);
}

static bool put_queued(Api *api, const RunText *text, const RunRecord *run, GHashTable *dags, json_t *list,
                       GError **error)
{
        g_autoptr(GPtrArray) nodes = running_nodes(api, run, error);
        GError *failed = NULL;

        for (guint i = 0; nodes && i < nodes->len && !failed && json_array_size(list) < WAITS_MAX; i++) {
                const RunNodeRecord *node = nodes->pdata[i];
                g_autofree char *why = explain_queued(api, node);
                g_autofree char *path =
                        why ? run_node_path(api->store, text, dags, node, true, &failed) : NULL;

                if (path)
                        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "step", path, "state",
                                                              "queued", "job", node->job_id, "message", why));
        }
        if (failed)
                g_propagate_error(error, failed);
        return nodes && !failed;
}

bool run_waits_add_parts(Api *api, const RunRecord *run, RunParts *parts, GError **error)
{
        g_autoptr(GPtrArray) nodes = running_nodes(api, run, error);
        g_autoptr(GArray) waits = engine_run_waits(api->engine, run->id);

        for (guint i = 0; nodes && i < nodes->len; i++) {
                const RunNodeRecord *node = nodes->pdata[i];
                g_autofree char *why = explain_queued(api, node);

                if (why)
                        run_parts_add_wait(parts, node->dag, node->component, true, why);
        }
        for (guint i = 0; waits && i < waits->len; i++) {
                const RunWait *wait = &g_array_index(waits, RunWait, i);
                g_autofree char *why = explain_cache(api, wait);

                run_parts_add_wait(parts, wait->dag, wait->component, false, why);
        }
        return nodes != NULL;
}

json_t *run_waits_format(Api *api, const RunText *text, const RunRecord *run, GError **error)
{
        g_autoptr(GHashTable) dags = run_paths_new();
        g_autoptr(json_t) list = json_array();

        if (!put_queued(api, text, run, dags, list, error) ||
            !put_cache_waits(api, text, run, dags, list, error))
                return NULL;
        return g_steal_pointer(&list);
}

/* At most `parallelism` steps of a run have a job that waits. */
static void put_wait(Api *api, json_t *item)
{
        const char *id = json_string_value(json_object_get(item, "job"));
        const char *state = json_string_value(json_object_get(item, "state"));
        g_autoptr(Job) job =
                id && strcmp(state, node_state_name(NODE_RUNNING)) == 0 ? engine_job(api->engine, id) : NULL;
        g_autofree char *why = job ? engine_explain(api->engine, job) : NULL;

        if (job)
                json_object_set_new(item, "job_state", json_string(job_state_name(job->state)));
        if (why)
                json_object_set_new(item, "message", json_string(why));
}

void run_waits_put(Api *api, json_t *items)
{
        json_t *item;
        size_t i;

        json_array_foreach(items, i, item) {
                put_wait(api, item);
                run_waits_put(api, json_object_get(item, "children"));
        }
}
