/* What a retry keeps (see run-retry.h).
 *
 * Each instance of a DAG in the earlier run has a mark for each component in it. The marks are made downwards: the
 * component of `from`, and those with other parameters. Then they spread, the innermost DAGs first: to all that depends
 * on a marked component, and to the DAG around, on which others may depend. What runs also needs the files of what it
 * depends on: if they are gone, that is marked, too, and downwards what wrote them. At last each row is kept or not,
 * downwards. */
#include "pipeline/run-retry.h"

#include <string.h>

#include "base/err.h"
#include "pipeline/run.h"

enum {
        MARK_AGAIN = 1,   /* made again, with all that is in it */
        MARK_CHANGED = 2, /* something in it is made again */
        MARK_RUNS = 4,    /* something of it has not succeeded */
        MARK_GONE = 8,    /* an output of it, or of a step in it, is gone */
        MARK_LOST = 16,   /* ... and something that runs depends on it: what wrote it is made again */
};

/* FATE_LOST: again, because an output of it is gone. */
typedef enum { FATE_AGAIN, FATE_LOST, FATE_GOES_ON, FATE_KEPT } Fate;

/* An instance of a DAG. */
typedef struct {
        guint32 node, component;
        guint32 outer;   /* index of the one around */
        guint32 matched; /* so many parts of `from` lead here; G_MAXUINT32: it is elsewhere */
        Fate fate;
        bool changed;
        guint8 *marks;  /* for each component in it */
        guint32 *kept;  /* ... how many of its instances have succeeded or were skipped */
        guint32 *count; /* ... how many it has as a loop whose list is known; 0: it is none */
} Dag;

typedef struct {
        const RunRetry *retry;
        const Definition *now;
        bool *changed;       /* for each component: it has other parameters */
        GArray *dags;        /* Dag; the entry points first, each behind the one around it */
        GHashTable *by_node; /* node -> index + 1 in `dags` */
        Fate *fates;         /* for each row */
} Plan;

/* ---- where it begins ---- */

bool run_retry_from(const Definition *definition, const char *text, StepPath *ret, GError **error)
{
        if (!step_path_parse(definition, text, ret, error))
                return err_prefix(error, "from: ");
        if (ret->post)
                return err_set(error, ERR_INVALID,
                               "from: '%.200s' is the post_process step, which always runs again", text);
        for (gsize i = 0; i < ret->n; i++)
                if (ret->parts[i].number != (guint32)STEP_ANY)
                        return err_set(
                                error, ERR_INVALID,
                                "from: '%.200s' names one item of the loop '%s'\n"
                                "A loop is run again as a whole: name '%s'. Without --from a retry runs "
                                "only the items that are missing.",
                                text, component_name(definition, ret->parts[i].component),
                                component_name(definition, ret->parts[i].component));
        return true;
}

/* ---- parameters with other values ---- */

static bool same_value(const Definition *a, const Value *left, const Definition *b, const Value *right)
{
        if (left->kind != right->kind)
                return false;
        switch ((ValueKind)left->kind) {
        case VALUE_NONE: return true;
        case VALUE_INT: return left->whole == right->whole;
        case VALUE_FLOAT: return left->real == right->real;
        case VALUE_TEXT:
                return strcmp(definition_text(a, left->text.text), definition_text(b, right->text.text)) == 0;
        case VALUE_LIST: break;
        }
        if (left->list.count != right->list.count)
                return false;
        for (guint32 i = 0; i < left->list.count; i++)
                if (!same_value(a, &a->items[left->list.first + i], b, &b->items[right->list.first + i]))
                        return false;
        return true;
}

/* True if the text uses such a parameter: of its own component, or of the DAG around. */
static bool uses_changed(const Definition *definition, const bool *variables, guint32 component,
                         const Text *text)
{
        const Piece *piece = text->pieces ? &definition->pieces[text->pieces] : NULL;

        for (; piece; piece = piece->last ? NULL : piece + 1) {
                guint32 owner = piece->kind == PIECE_PARAMETER ? component
                                : piece->kind == PIECE_PARENT_PARAMETER
                                        ? definition->components[component].parent
                                        : 0;
                guint32 found = owner ? component_find(definition, owner, ROLE_PARAMETER, piece->name)
                                      : (guint32)DEFINITION_NONE;

                if (found != (guint32)DEFINITION_NONE && variables[found])
                        return true;
        }
        return false;
}

/* A parameter of a component beside it needs no look: who uses it depends on that component. */
static bool mark_variables(const Plan *plan, guint32 component, bool *variables)
{
        const Definition *was = plan->retry->was, *now = plan->now;
        bool any = false;

        for (guint32 i = now->components[component].variables; i < now->components[component + 1].variables;
             i++) {
                const Value *value = &now->variables[i];

                variables[i] =
                        !same_value(was, &was->variables[i], now, value) ||
                        (value->kind == VALUE_TEXT && uses_changed(now, variables, component, &value->text));
                any |= variables[i];
        }
        return any;
}

/* Of a DAG with other parameters only what uses them is made again, unless its loop or condition does. */
static bool is_changed(const Plan *plan, guint32 component, const bool *variables)
{
        const Definition *now = plan->now;
        const Extra *extra = component_extra(now, component);

        if (!now->components[component].dag || extra->reference)
                return true;
        return uses_changed(now, variables, component, &extra->condition) ||
               (extra->loop.kind == VALUE_TEXT && uses_changed(now, variables, component, &extra->loop.text));
}

/* A DAG comes before its components. */
static void find_changed(Plan *plan)
{
        const Definition *now = plan->now;
        g_autofree bool *variables = g_new0(bool, now->components[now->n_components].variables + 1);

        plan->changed = g_new0(bool, now->n_components);
        for (guint32 i = DEFINITION_FIRST; i < now->n_components; i++)
                if (mark_variables(plan, i, variables))
                        plan->changed[i] = is_changed(plan, i, variables);
}

/* Also through references. */
static bool has_changed(const Plan *plan, guint32 component)
{
        for (guint32 at = component; at; at = component_extra(plan->now, at)->reference)
                if (plan->changed[at])
                        return true;
        return false;
}

/* ---- marks ---- */

static const Component *body_of(const Plan *plan, guint32 component)
{
        return &plan->now->components[component_target(plan->now, component)];
}

static Dag *dag_at(const Plan *plan, guint32 index)
{
        return &g_array_index(plan->dags, Dag, index);
}

/* G_MAXUINT32: it is in post_process, or its row is missing. */
static guint32 dag_of(const Plan *plan, guint32 node)
{
        return GPOINTER_TO_UINT(g_hash_table_lookup(plan->by_node, GUINT_TO_POINTER(node))) - 1;
}

static guint8 *mark_of(const Plan *plan, const Dag *dag, guint32 component)
{
        return &dag->marks[component - body_of(plan, dag->component)->children];
}

static bool is_component_of(const Plan *plan, const Dag *dag, guint32 component)
{
        const Component *body = body_of(plan, dag->component);

        return component >= body->children && component < body[1].children;
}

static void add_dag(Plan *plan, guint32 node, guint32 component, guint32 outer)
{
        const StepPath *from = plan->retry->from;
        const Component *body = body_of(plan, component);
        const Dag *around = plan->dags->len > 0 ? dag_at(plan, outer) : NULL;
        Dag dag = { .node = node, .component = component, .outer = outer, .matched = G_MAXUINT32 };

        if (!around)
                dag.matched = 0;
        else if (from && around->matched < from->n && from->parts[around->matched].component == component)
                dag.matched = around->matched + 1;
        dag.marks = g_new0(guint8, body[1].children - body->children + 1);
        dag.kept = g_new0(guint32, body[1].children - body->children + 1);
        dag.count = g_new0(guint32, body[1].children - body->children + 1);
        for (guint32 i = body->children; i < body[1].children; i++)
                if (has_changed(plan, i) ||
                    (from && dag.matched + 1 == from->n && from->parts[dag.matched].component == i))
                        dag.marks[i - body->children] = MARK_AGAIN | MARK_CHANGED;
        g_array_append_val(plan->dags, dag);
        g_hash_table_insert(plan->by_node, GUINT_TO_POINTER(node), GUINT_TO_POINTER(plan->dags->len));
}

static void find_dags(Plan *plan)
{
        add_dag(plan, RUN_ROOT, DEFINITION_ROOT, 0);
        for (guint i = 0; i < plan->retry->nodes->len; i++) {
                const RunNodeRecord *row = plan->retry->nodes->pdata[i];
                guint32 outer = dag_of(plan, row->dag);

                if (row->inner && outer != G_MAXUINT32 &&
                    is_component_of(plan, dag_at(plan, outer), row->component))
                        add_dag(plan, row->node, row->component, outer);
        }
}

/* ---- files that are gone ---- */

static bool has_ended_well(const RunNodeRecord *row)
{
        return row->state == NODE_SUCCEEDED || row->state == NODE_SKIPPED;
}

static bool is_gone(const Plan *plan, const RunNodeRecord *row)
{
        return plan->retry->lost && g_hash_table_contains(plan->retry->lost, GUINT_TO_POINTER(row->node));
}

/* Also the DAGs around. */
static void mark_gone(const Plan *plan, guint32 dag, guint32 component)
{
        for (;;) {
                const Dag *at = dag_at(plan, dag);

                *mark_of(plan, at, component) |= MARK_GONE;
                if (dag == 0)
                        return;
                component = at->component;
                dag = at->outer;
        }
}

static void count_rows(const Plan *plan)
{
        for (guint i = 0; i < plan->retry->nodes->len; i++) {
                const RunNodeRecord *row = plan->retry->nodes->pdata[i];
                guint32 outer = dag_of(plan, row->dag);
                Dag *around = outer == G_MAXUINT32 ? NULL : dag_at(plan, outer);

                if (!around || !is_component_of(plan, around, row->component))
                        continue;
                around->kept[row->component - body_of(plan, around->component)->children] +=
                        has_ended_well(row);
                if (is_gone(plan, row))
                        mark_gone(plan, outer, row->component);
        }
        for (guint i = 0; i < plan->retry->children->len; i++) {
                const RunChildRecord *child = plan->retry->children->pdata[i];
                guint32 outer = dag_of(plan, child->dag);
                Dag *around = outer == G_MAXUINT32 ? NULL : dag_at(plan, outer);

                if (around && is_component_of(plan, around, child->component))
                        around->count[child->component - body_of(plan, around->component)->children] =
                                child->count;
        }
}

/* Which components run, and of which files are gone. */
static void find_gone(const Plan *plan)
{
        if (!plan->retry->lost || g_hash_table_size(plan->retry->lost) == 0)
                return;
        count_rows(plan);
        for (guint i = 0; i < plan->dags->len; i++) {
                Dag *dag = dag_at(plan, i);
                const Component *body = body_of(plan, dag->component);

                for (guint32 k = 0; k < body[1].children - body->children; k++)
                        if (dag->kept[k] < MAX(dag->count[k], 1))
                                dag->marks[k] |= MARK_RUNS;
        }
}

/* The component runs: what it depends on must have its files. */
static void need(const Plan *plan, const Dag *dag, guint32 component, GArray *todo)
{
        const Component *at = &plan->now->components[component];

        for (guint32 link = at->dependencies; link < at[1].dependencies; link++) {
                guint32 dependency = plan->now->links[link];
                guint8 *mark = mark_of(plan, dag, dependency);

                if (!(*mark & MARK_GONE) || *mark & (MARK_AGAIN | MARK_LOST))
                        continue;
                *mark |= MARK_LOST | MARK_CHANGED;
                g_array_append_val(todo, dependency);
        }
}

/* ---- what a mark reaches ---- */

/* To all that depends on the component in this DAG. */
static void spread(const Plan *plan, const Dag *dag, guint32 component, GArray *todo)
{
        const Component *at = &plan->now->components[component];

        for (guint32 link = at->dependants; link < at[1].dependants; link++) {
                guint32 dependant = plan->now->links[link];
                guint8 *mark = mark_of(plan, dag, dependant);

                if (*mark & MARK_AGAIN)
                        continue;
                *mark |= MARK_AGAIN | MARK_CHANGED;
                g_array_append_val(todo, dependant);
        }
}

static void close_dag(const Plan *plan, Dag *dag)
{
        const Component *body = body_of(plan, dag->component);
        g_autoptr(GArray) todo = g_array_new(FALSE, FALSE, sizeof(guint32));

        for (guint32 i = body->children; i < body[1].children; i++)
                if (*mark_of(plan, dag, i) & (MARK_CHANGED | MARK_RUNS))
                        g_array_append_val(todo, i);
        for (guint n = 0; n < todo->len; n++) {
                guint32 component = g_array_index(todo, guint32, n);
                bool changed = *mark_of(plan, dag, component) & MARK_CHANGED;

                dag->changed |= changed;
                if (changed)
                        spread(plan, dag, component, todo);
                need(plan, dag, component, todo);
        }
}

static void close_dags(Plan *plan)
{
        for (guint i = plan->dags->len; i-- > 0;) {
                Dag *dag = dag_at(plan, i);

                close_dag(plan, dag);
                if (dag->changed && i > 0)
                        *mark_of(plan, dag_at(plan, dag->outer), dag->component) |= MARK_CHANGED;
        }
}

/* In a DAG whose files are needed around it, the steps whose files are gone, with what depends on them. */
static void lose_inside(Plan *plan)
{
        for (guint n = 1; n < plan->dags->len; n++) {
                Dag *dag = dag_at(plan, n);
                const Component *body = body_of(plan, dag->component);
                bool any = false;

                if (!(*mark_of(plan, dag_at(plan, dag->outer), dag->component) & MARK_LOST))
                        continue;
                for (guint32 i = body->children; i < body[1].children; i++) {
                        guint8 *mark = mark_of(plan, dag, i);

                        if (*mark & MARK_GONE)
                                *mark |= MARK_LOST | MARK_CHANGED;
                        any |= *mark & MARK_GONE;
                }
                if (any)
                        close_dag(plan, dag);
        }
}

/* ---- what becomes of each row ---- */

static Fate fate_of(const Plan *plan, const RunNodeRecord *row, const Dag *around, const Dag *inner)
{
        if (around->fate != FATE_GOES_ON)
                return around->fate;
        if (*mark_of(plan, around, row->component) & MARK_AGAIN)
                return FATE_AGAIN;
        if (*mark_of(plan, around, row->component) & MARK_LOST && is_gone(plan, row))
                return FATE_LOST;
        if (has_ended_well(row))
                return inner && inner->changed ? FATE_GOES_ON : FATE_KEPT;
        return inner ? FATE_GOES_ON : FATE_AGAIN;
}

static void decide(Plan *plan)
{
        const GPtrArray *nodes = plan->retry->nodes;

        plan->fates = g_new0(Fate, nodes->len + 1);
        dag_at(plan, 0)->fate = FATE_GOES_ON;
        for (guint i = 0; i < nodes->len; i++) {
                const RunNodeRecord *row = nodes->pdata[i];
                guint32 outer = dag_of(plan, row->dag),
                        own = row->inner ? dag_of(plan, row->node) : G_MAXUINT32;
                Dag *inner = own == G_MAXUINT32 ? NULL : dag_at(plan, own);

                if (outer == G_MAXUINT32 || !is_component_of(plan, dag_at(plan, outer), row->component))
                        continue; /* FATE_AGAIN */
                plan->fates[i] = fate_of(plan, row, dag_at(plan, outer), inner);
                if (inner)
                        inner->fate = plan->fates[i];
        }
}

/* ---- the rows of the new run ---- */

/* A row of the new run, and its node in the earlier one. */
typedef struct {
        RunNodeRecord *row;
        guint32 earlier;
} NewRow;

typedef struct {
        const Plan *plan;
        RunKept *kept;
        GArray *rows;        /* NewRow */
        GHashTable *loops;   /* (dag, component) of the earlier run -> RunChildRecord of it */
        GHashTable *firsts;  /* the same -> the first node in the new run, for those that have begun */
        GHashTable *numbers; /* node of a DAG -> its number in the new run */
        guint32 next;
} Renumber;

static gint64 *key_new(guint32 dag, guint32 component)
{
        gint64 key = run_child_key(dag, component);

        return g_memdup2(&key, sizeof key);
}

static void find_loops(Renumber *renumber)
{
        const GPtrArray *children = renumber->plan->retry->children;

        for (guint i = 0; i < children->len; i++) {
                RunChildRecord *child = children->pdata[i];

                if (child->count > 0)
                        g_hash_table_insert(renumber->loops, key_new(child->dag, child->component), child);
        }
}

static guint32 number_of_dag(const Renumber *renumber, guint32 node)
{
        return node == RUN_ROOT
                       ? RUN_ROOT
                       : GPOINTER_TO_UINT(g_hash_table_lookup(renumber->numbers, GUINT_TO_POINTER(node)));
}

/* The nodes of a loop lie side by side, made or not. */
static guint32 begin_loop(Renumber *renumber, const RunChildRecord *loop)
{
        RunChildRecord *row = g_new0(RunChildRecord, 1);

        *row = (RunChildRecord){ .dag = number_of_dag(renumber, loop->dag),
                                 .component = loop->component,
                                 .first = renumber->next,
                                 .count = loop->count,
                                 .list = g_strdup(loop->list) };
        g_ptr_array_add(renumber->kept->children, row);
        g_hash_table_insert(renumber->firsts, key_new(loop->dag, loop->component),
                            GUINT_TO_POINTER(renumber->next));
        renumber->next += loop->count;
        return row->first;
}

static guint32 number_of(Renumber *renumber, const RunNodeRecord *row)
{
        g_autofree gint64 *key = key_new(row->dag, row->component);
        const RunChildRecord *loop = g_hash_table_lookup(renumber->loops, key);
        guint32 first = GPOINTER_TO_UINT(g_hash_table_lookup(renumber->firsts, key));

        if (!loop || row->number >= loop->count)
                return renumber->next++;
        return (first ? first : begin_loop(renumber, loop)) + row->number;
}

static RunNodeRecord *copy_row(const Renumber *renumber, const RunNodeRecord *row, bool kept)
{
        const RunRetry *retry = renumber->plan->retry;
        RunNodeRecord *copy = g_memdup2(row, sizeof *row);

        copy->run = 0;
        copy->dag = number_of_dag(renumber, row->dag);
        copy->job_id = NULL;
        copy->culprit = false;
        copy->taken = 0;
        copy->message = kept ? g_strdup(row->message) : NULL;
        copy->reuse = kept ? g_strdup(row->reuse) : NULL;
        copy->made_by = !kept ? 0 : row->made_by ? row->made_by : retry->run;
        copy->made_id = kept ? g_strdup(row->made_by ? row->made_id : retry->run_id) : NULL;
        if (kept)
                return copy;
        copy->state = NODE_RUNNING;
        copy->job = copy->started = copy->finished = 0;
        return copy;
}

static void take_row(Renumber *renumber, const RunNodeRecord *row, bool kept)
{
        RunNodeRecord *copy = copy_row(renumber, row, kept);

        copy->node = number_of(renumber, row);
        if (row->inner)
                g_hash_table_insert(renumber->numbers, GUINT_TO_POINTER(row->node),
                                    GUINT_TO_POINTER(copy->node));
        renumber->kept->kept += kept && row->job;
        g_array_append_vals(renumber->rows, &(NewRow){ copy, row->node }, 1);
}

static gint compare_rows(gconstpointer a, gconstpointer b)
{
        guint32 left = ((const NewRow *)a)->row->node, right = ((const NewRow *)b)->row->node;

        return left < right ? -1 : left > right;
}

static void free_node(gpointer node)
{
        run_node_record_free(node);
}

static void free_child(gpointer child)
{
        run_child_record_free(child);
}

static void take_fates(Renumber *renumber)
{
        const Plan *plan = renumber->plan;
        const GPtrArray *nodes = plan->retry->nodes;

        for (guint i = 0; i < nodes->len; i++)
                if (plan->fates[i] == FATE_KEPT || plan->fates[i] == FATE_GOES_ON)
                        take_row(renumber, nodes->pdata[i], plan->fates[i] == FATE_KEPT);
                else if (plan->fates[i] == FATE_LOST)
                        g_array_append_val(renumber->kept->lost,
                                           ((const RunNodeRecord *)nodes->pdata[i])->node);
}

/* In the order of the nodes. */
static void sort_rows(Renumber *renumber)
{
        g_array_sort(renumber->rows, compare_rows);
        for (guint i = 0; i < renumber->rows->len; i++) {
                const NewRow *at = &g_array_index(renumber->rows, NewRow, i);

                g_ptr_array_add(renumber->kept->nodes, at->row);
                g_array_append_val(renumber->kept->earlier, at->earlier);
        }
}

static void take_rows(const Plan *plan, RunKept *ret)
{
        Renumber renumber = { .plan = plan, .kept = ret, .next = RUN_POST + 1 };

        ret->nodes = g_ptr_array_new_with_free_func(free_node);
        ret->children = g_ptr_array_new_with_free_func(free_child);
        ret->earlier = g_array_new(FALSE, FALSE, sizeof(guint32));
        ret->lost = g_array_new(FALSE, FALSE, sizeof(guint32));
        ret->kept = 0;
        renumber.loops = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
        renumber.firsts = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
        renumber.numbers = g_hash_table_new(NULL, NULL);
        renumber.rows = g_array_new(FALSE, FALSE, sizeof(NewRow));
        find_loops(&renumber);
        take_fates(&renumber);
        sort_rows(&renumber);
        g_array_unref(renumber.rows);
        g_hash_table_unref(renumber.loops);
        g_hash_table_unref(renumber.firsts);
        g_hash_table_unref(renumber.numbers);
}

void run_kept_clear(RunKept *kept)
{
        g_clear_pointer(&kept->nodes, g_ptr_array_unref);
        g_clear_pointer(&kept->children, g_ptr_array_unref);
        g_clear_pointer(&kept->earlier, g_array_unref);
        g_clear_pointer(&kept->lost, g_array_unref);
}

static bool is_same_text(const Definition *was, const Definition *now)
{
        if (was->n_components != now->n_components)
                return false;
        for (guint32 i = 0; i <= now->n_components; i++)
                if (was->components[i].variables != now->components[i].variables)
                        return false;
        return true;
}

static void clear_dag(gpointer dag)
{
        g_free(((Dag *)dag)->marks);
        g_free(((Dag *)dag)->kept);
        g_free(((Dag *)dag)->count);
}

bool run_retry(const RunRetry *retry, RunKept *ret, GError **error)
{
        Plan plan = { .retry = retry, .now = retry->now };

        if (!is_same_text(retry->was, retry->now))
                return err_set(error, ERR_CONFLICT,
                               "the definition of the run is not understood as it was before");
        plan.dags = g_array_new(FALSE, FALSE, sizeof(Dag));
        g_array_set_clear_func(plan.dags, clear_dag);
        plan.by_node = g_hash_table_new(NULL, NULL);
        find_changed(&plan);
        find_dags(&plan);
        find_gone(&plan);
        close_dags(&plan);
        lose_inside(&plan);
        decide(&plan);
        take_rows(&plan, ret);
        g_array_unref(plan.dags);
        g_hash_table_unref(plan.by_node);
        g_free(plan.changed);
        g_free(plan.fates);
        return true;
}
