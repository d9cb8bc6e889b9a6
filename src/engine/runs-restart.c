/* How the live runs go on after a restart: from the rows that were stored (see runs.h). A retry begins the same way. */
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "engine/runs.h"
#include "engine/runs-cache.h"

/* The next row of the run, or NULL. Rows of nodes and of children begin with the number of their run. */
static gconstpointer next_row(RunRows *rows, gint64 run)
{
        for (; rows->at < rows->list->len; rows->at++) {
                const gint64 *row = rows->list->pdata[rows->at];

                if (*row >= run)
                        return *row == run ? row : NULL;
        }
        return NULL;
}
G_STATIC_ASSERT(offsetof(RunNodeRecord, run) == 0 && offsetof(RunChildRecord, run) == 0);

typedef struct {
        Run *machine;
        const Definition *definition;
        GHashTable *dags;  /* node -> component */
        GHashTable *lists; /* child -> Items, of loops over artifacts */
        gsize *read;       /* bytes of these */
        guint32 *failed;   /* leaves that failed */
} Restoring;

/* True if `component` lies in the DAG that node `dag` stands for: rows of another version of the language may not. */
static bool is_component_of(const Restoring *restoring, guint32 dag, guint32 component)
{
        const Definition *definition = restoring->definition;
        guint32 holder =
                dag == RUN_ROOT ? (guint32)DEFINITION_ROOT
                : dag == RUN_POST
                        ? (guint32)DEFINITION_POST
                        : GPOINTER_TO_UINT(g_hash_table_lookup(restoring->dags, GUINT_TO_POINTER(dag)));

        if (dag > RUN_POST && holder == 0)
                return false;
        holder = component_target(definition, holder);
        return component >= definition->components[holder].children &&
               component < definition->components[holder + 1].children;
}

static bool restore_list(const Restoring *restoring, const RunChildRecord *row)
{
        guint32 dag = run_node(restoring->machine, row->dag)->inner;
        guint32 child = run_child_of(restoring->machine, dag, row->component);
        g_autoptr(json_t) text = json_string(row->list);
        g_autoptr(Items) items = text ? items_new(text, RUN_NODES_MAX, NULL) : NULL;

        if (!row->list)
                return true;
        if (!items || items_count(items) != row->count)
                return false;
        *restoring->read += strlen(row->list);
        g_hash_table_insert(restoring->lists, GUINT_TO_POINTER(child), g_steal_pointer(&items));
        return true;
}

static bool restore_loop(const Restoring *restoring, const RunChildRecord *row)
{
        if (row->count == 0)
                return true;
        if (!is_component_of(restoring, row->dag, row->component) || row->first <= RUN_POST ||
            row->count > RUN_NODES_MAX || row->first > RUN_NODES_MAX)
                return false;
        run_restore_loop(restoring->machine, row->dag, row->component, row->first, row->count);
        return restore_list(restoring, row);
}

static bool restore_node(const Restoring *restoring, const RunNodeRecord *row)
{
        const RunNode node = { .component = row->component,
                               .number = row->number,
                               .job = row->job,
                               .state = row->state,
                               .culprit = row->culprit };

        if (!is_component_of(restoring, row->dag, row->component) || row->node > 2 * RUN_NODES_MAX)
                return false;
        *restoring->failed += row->culprit && !row->inner;
        if (row->inner)
                g_hash_table_insert(restoring->dags, GUINT_TO_POINTER(row->node),
                                    GUINT_TO_POINTER(row->component));
        run_restore_node(restoring->machine, row->node, row->dag, &node, row->inner);
        return true;
}

/* Where components pause. All DAGs are there. */
static bool restore_pause(const Restoring *restoring, const RunChildRecord *row)
{
        const RunPause pause = {
                .kind = row->pause, .at = row->pause_at, .epoch = row->pause_epoch, .passed = row->passed
        };

        if (!row->pause && !row->passed)
                return true;
        if (!is_component_of(restoring, row->dag, row->component) || row->pause > RUN_PAUSE_AFTER)
                return false;
        run_restore_pause(restoring->machine, row->dag, row->component, &pause);
        return true;
}

static bool restore_pauses(const Restoring *restoring, const RunRows *children, guint from)
{
        for (guint i = from; i < children->at; i++)
                if (!restore_pause(restoring, children->list->pdata[i]))
                        return false;
        return true;
}

bool runs_restore_rows(LiveRun *live, gint64 run, RunRows *nodes, RunRows *children)
{
        g_autoptr(GHashTable) dags = g_hash_table_new(NULL, NULL);
        const Restoring restoring = { live->machine, live->plan->definition, dags, live->lists,
                                      &live->read,   &live->failed };
        guint first;

        (void)next_row(children, run);
        first = children->at;
        for (;;) {
                const RunNodeRecord *node = next_row(nodes, run);
                const RunChildRecord *child = next_row(children, run);

                if (!node && !child)
                        return restore_pauses(&restoring, children, first);
                if (child && (!node || child->first <= node->node)) {
                        if (!restore_loop(&restoring, child))
                                return false;
                        children->at++;
                } else {
                        if (!restore_node(&restoring, node))
                                return false;
                        nodes->at++;
                }
        }
}

static gboolean is_of_done_child(gpointer child, gpointer list, gpointer machine)
{
        return run_child(machine, GPOINTER_TO_UINT(child))->done;
}

/* Those among the entry points are read now: a long text holds up nobody before the start. */
void runs_keep_lists(LiveRun *live)
{
        const RunDag *root = run_dag(live->machine, 0);

        g_hash_table_foreach_remove(live->lists, is_of_done_child, live->machine);
        for (guint32 child = root->children; child < root->children + root->n_children; child++)
                if (run_child_is_loop(live->machine, child) && !run_child(live->machine, child)->done)
                        runs_read_list(live, child);
}

static void release_id(gpointer id)
{
        g_ref_string_release(id);
}

GHashTable *runs_makers(const GPtrArray *nodes, guint from, gint64 run)
{
        GHashTable *makers = NULL;

        for (guint i = from; i < nodes->len; i++) {
                const RunNodeRecord *row = nodes->pdata[i];

                if (row->run > run)
                        break;
                if (row->run < run || !row->made_id)
                        continue;
                if (!makers)
                        makers = g_hash_table_new_full(NULL, NULL, NULL, release_id);
                g_hash_table_insert(makers, GUINT_TO_POINTER(row->node),
                                    g_ref_string_new_intern(row->made_id));
        }
        return makers;
}

static LiveRun *load_run(Engine *engine, const RunRecord *stored, RunRows *nodes, RunRows *children)
{
        g_autoptr(json_t) request =
                stored->request ? json_parse(stored->request, strlen(stored->request), NULL) : NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(RunPlan) plan = run_plan_new(engine, stored->text ? stored->text : "", request, &error);
        RunRecord *record = run_record_copy(stored);
        guint first = nodes->at;
        LiveRun *live;

        live = runs_enter(engine, record, plan);
        if (plan)
                runs_restore_steps(live);
        if (plan && runs_restore_rows(live, record->seq, nodes, children)) {
                live->makers = runs_makers(nodes->list, first, record->seq);
                live->taken = run_taken_restore(nodes->list, first, record->seq);
                run_restored(live->machine, record->stopping, record->forced);
                run_keep(live->machine);
                record->paused = run_paused(live->machine);
                runs_count_nodes(engine, live);
                runs_keep_lists(live);
                return live;
        }
        live->broken = g_strdup_printf("the server was updated, and cannot go on with this run%s%s",
                                       error ? ": " : "", error ? error->message : "");
        log_warning("a run cannot go on", "run", record->id, "reason", live->broken, NULL);
        g_clear_pointer(&live->machine, run_free);
        return live;
}

void runs_load(Engine *engine, const StoreState *state)
{
        const GPtrArray *runs = state->loaded[RECORD_RUN];
        RunRows nodes = { state->loaded[RECORD_RUN_NODE], 0 },
                children = { state->loaded[RECORD_RUN_CHILD], 0 };

        for (guint i = 0; runs && i < runs->len; i++)
                runs_make_due(engine, load_run(engine, runs->pdata[i], &nodes, &children));
}
