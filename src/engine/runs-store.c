/* The rows that a batch stores of its live runs, and the message of a run with failed steps (see runs.h). */
#include <string.h>

#include "engine/runs.h"
#include "engine/runs-cache.h"

enum { SIZE_STEP = 64 * 1024 }; /* the size of a run is stored when it has passed a multiple of it */

typedef struct {
        Engine *engine;
        LiveRun *live;
} Storing;

static bool is_dag(const LiveRun *live, const RunNode *node)
{
        const Definition *definition = live->plan->definition;

        return definition->components[component_target(definition, node->component)].dag;
}

/* Why a node ended; the caller's, or NULL. A DAG that does not start has no job or worker to say it. */
static char *message_of(const LiveRun *live, guint32 index)
{
        const char *message = g_hash_table_lookup(live->messages, GUINT_TO_POINTER(index));
        const RunNode *node = run_node(live->machine, index);

        if (message || !run_is_full(live->machine) || !is_dag(live, node) || node->state != NODE_FAILED ||
            node->inner != (guint32)RUN_NONE)
                return g_strdup(message);
        return g_strdup_printf("the run would have more than %d nodes, or all runs of '%s' more than %d",
                               RUN_NODES_MAX, live->record->user, RUN_NODES_OF_USER);
}

/* NODE_LOOKING, and NODE_STARTING without a job, are made again after a restart. */
static void store_node(void *arg, guint32 index)
{
        const Storing *storing = arg;
        const Run *machine = storing->live->machine;
        const RunNode *node = run_node(machine, index);
        gint64 now = storing->engine->batch.now;
        RunNodeRecord *row;

        if (index <= RUN_POST || node->state == NODE_NONE || node->state == NODE_LOOKING ||
            node->state == NODE_STARTING)
                return;
        row = g_new0(RunNodeRecord, 1);
        *row = (RunNodeRecord){ .run = storing->live->record->seq,
                                .node = index,
                                .dag = run_dag(machine, node->dag)->node,
                                .component = node->component,
                                .number = node->number,
                                .state = node->state,
                                .culprit = node->culprit,
                                .inner = node->inner != (guint32)RUN_NONE,
                                .job = node->job,
                                .started = now,
                                .finished = node_is_final(node->state) ? now : 0,
                                .message = message_of(storing->live, index) };
        runs_cache_complete_row(storing->live, row);
        g_ptr_array_add(storing->engine->batch.run_nodes, row);
}

/* The list of a loop that was read from an artifact: after a restart the file may be another one. */
static char *list_text(const LiveRun *live, guint32 child)
{
        const Items *items = g_hash_table_lookup(live->lists, GUINT_TO_POINTER(child));

        if (!items || items_count(items) != run_child(live->machine, child)->count)
                return NULL; /* one node stands for an empty list, or for one that does not fit */
        return runs_is_read_loop(live, child) ? g_strdup(items_text(items)) : NULL;
}

static void store_child(void *arg, guint32 index)
{
        const Storing *storing = arg;
        const Run *machine = storing->live->machine;
        const RunChild *child = run_child(machine, index);
        const RunPause *pause = run_pause_of(machine, index);
        bool loop = run_child_is_loop(machine, index);
        RunChildRecord *row = g_new0(RunChildRecord, 1);

        *row = (RunChildRecord){ .run = storing->live->record->seq,
                                 .dag = run_dag(machine, child->dag)->node,
                                 .component = run_child_component(machine, index),
                                 .first = loop ? child->first : 0,
                                 .count = loop ? child->count : 0,
                                 .rest = child->rest,
                                 .list = loop ? list_text(storing->live, index) : NULL };
        if (pause) {
                row->pause = pause->kind;
                row->pause_at = pause->at;
                row->pause_epoch = pause->epoch;
                row->passed = pause->passed;
        }
        g_ptr_array_add(storing->engine->batch.run_children, row);
}

/* ---- why a run failed ---- */

static void add_reason(LiveRun *live, guint32 index)
{
        char *before = live->record->message;
        g_autofree char *path = runs_node_path(live, index), *message = message_of(live, index);

        live->record->message =
                g_strdup_printf("%s%sstep '%s' %s%s%s", before ? before : "", before ? "; " : "", path,
                                run_node(live->machine, index)->state == NODE_FAILED ? "failed"
                                                                                     : "was stopped",
                                message ? ": " : "", message ? message : "");
        g_free(before);
}

static void note_failure(void *arg, guint32 index)
{
        LiveRun *live = arg;

        if (live->failed++ < RUN_REASONS_MAX && !live->record->stopping)
                add_reason(live, index);
}

/* Behind the reasons that are named; the caller's. */
static char *rest_of_reasons(guint32 failed)
{
        return failed > RUN_REASONS_MAX ? g_strdup_printf("; and %u more", failed - RUN_REASONS_MAX)
                                        : g_strdup("");
}

/* Failed steps are the reason of the run, unless a user stopped it. */
static void say_failures(LiveRun *live)
{
        g_autofree char *before = rest_of_reasons(live->failed), *after = NULL;
        char *message;

        run_failed_leaves(live->machine, note_failure, live);
        after = rest_of_reasons(live->failed);
        message = live->record->message;
        if (strcmp(before, after) == 0 || live->record->stopping || !message ||
            !g_str_has_suffix(message, before))
                return;
        message[strlen(message) - strlen(before)] = '\0';
        live->record->message = g_strconcat(message, after, NULL);
        g_free(message);
}

static bool is_changed(const LiveRun *live)
{
        const RunRecord *now = live->record, *was = live->was;

        return !was || now->state != was->state || now->stopping != was->stopping ||
               now->forced != was->forced || now->revision != was->revision || now->dropped != was->dropped ||
               now->size / SIZE_STEP != was->size / SIZE_STEP || now->paused != was->paused ||
               g_strcmp0(now->message, was->message) != 0 || g_strcmp0(now->control, was->control) != 0;
}

void runs_store(Engine *engine)
{
        for (guint i = 0; i < engine->batch.runs->len; i++) {
                LiveRun *live = g_ptr_array_index(engine->batch.runs, i);
                Storing storing = { engine, live };

                if (live->machine) {
                        say_failures(live);
                        run_changed(live->machine, store_node, &storing);
                        run_changed_children(live->machine, store_child, &storing);
                }
                if (is_changed(live))
                        g_ptr_array_add(engine->batch.run_puts, live->record);
        }
}
