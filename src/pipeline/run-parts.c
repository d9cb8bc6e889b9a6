/* The parts of a run (see run-parts.h). */
#include "pipeline/run-parts.h"

#include <string.h>

#include "base/text-cut.h"
#include "pipeline/run.h"

enum { MESSAGE_MAX = 300 }; /* characters */

typedef struct {
        guint32 node, part;
} Dag;

struct RunParts {
        const Definition *definition;
        GArray *parts;      /* RunPart */
        GArray *dags;       /* Dag, in order of node */
        GHashTable *places; /* (parent, component) -> part */
        gint64 begin;       /* of the run, ms */
        bool partial;
};

static void part_clear(gpointer data)
{
        g_free(((RunPart *)data)->message);
        g_free(((RunPart *)data)->wait);
}

static guint32 add_part(RunParts *parts, guint32 parent, guint32 component)
{
        RunPart new = { .parent = parent, .component = component };
        gint64 key = run_child_key(parent, component);

        if (parent != (guint32)RUN_PART_NONE) {
                new.loops =
                        parent != RUN_PART_POST &&
                        parts->definition->components[component_target(parts->definition, component)].loops;
                g_hash_table_insert(parts->places, g_memdup2(&key, sizeof key),
                                    GUINT_TO_POINTER(parts->parts->len));
        }
        g_array_append_val(parts->parts, new);
        return parts->parts->len - 1;
}

RunParts *run_parts_new(const Definition *definition, gint64 begin)
{
        RunParts *parts = g_new0(RunParts, 1);
        const Dag outermost[] = { { RUN_ROOT, RUN_PART_ROOT }, { RUN_POST, RUN_PART_POST } };

        parts->definition = definition;
        parts->begin = begin;
        parts->parts = g_array_new(FALSE, FALSE, sizeof(RunPart));
        g_array_set_clear_func(parts->parts, part_clear);
        parts->dags = g_array_new(FALSE, FALSE, sizeof(Dag));
        parts->places = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
        add_part(parts, (guint32)RUN_PART_NONE, DEFINITION_ROOT);
        add_part(parts, (guint32)RUN_PART_NONE, DEFINITION_POST);
        g_array_append_vals(parts->dags, outermost, G_N_ELEMENTS(outermost));
        return parts;
}

void run_parts_free(RunParts *parts)
{
        if (!parts)
                return;
        g_array_unref(parts->parts);
        g_array_unref(parts->dags);
        g_hash_table_unref(parts->places);
        g_free(parts);
}

static int compare_dags(const void *a, const void *b)
{
        guint32 left = ((const Dag *)a)->node, right = ((const Dag *)b)->node;

        return left < right ? -1 : left > right;
}

static guint32 part_of_dag(const RunParts *parts, guint32 node)
{
        const Dag wanted = { .node = node };
        guint at;

        return g_array_binary_search(parts->dags, &wanted, compare_dags, &at)
                       ? g_array_index(parts->dags, Dag, at).part
                       : (guint32)RUN_PART_NONE;
}

guint32 run_parts_find(const RunParts *parts, guint32 parent, guint32 component)
{
        gint64 key = run_child_key(parent, component);
        gpointer found;

        return g_hash_table_lookup_extended(parts->places, &key, NULL, &found) ? GPOINTER_TO_UINT(found)
                                                                               : (guint32)RUN_PART_NONE;
}

guint32 run_parts_of(const RunParts *parts, guint32 dag, guint32 component)
{
        guint32 parent = part_of_dag(parts, dag);

        return parent == (guint32)RUN_PART_NONE ? parent : run_parts_find(parts, parent, component);
}

/* NULL: there are too many, or its DAG was left out. */
static RunPart *take_part(RunParts *parts, guint32 dag, guint32 component)
{
        guint32 parent = part_of_dag(parts, dag), part;

        if (component >= parts->definition->n_components) /* a row of another version of the language */
                return NULL;
        part = parent == (guint32)RUN_PART_NONE ? parent : run_parts_find(parts, parent, component);
        if (parent != (guint32)RUN_PART_NONE && part == (guint32)RUN_PART_NONE &&
            parts->parts->len < RUN_PARTS_MAX)
                part = add_part(parts, parent, component);
        parts->partial |= part == (guint32)RUN_PART_NONE;
        return part == (guint32)RUN_PART_NONE ? NULL : &g_array_index(parts->parts, RunPart, part);
}

static bool has_failed(const RunNodeRecord *node)
{
        return node->state == NODE_FAILED || node->state == NODE_TERMINATED;
}

static void take_message(RunPart *part, const RunNodeRecord *node, bool first_failure)
{
        if (!node->message || (part->message && !first_failure))
                return;
        g_free(part->message);
        part->message =
                g_utf8_validate(node->message, -1, NULL) ? text_cut(node->message, MESSAGE_MAX, "") : NULL;
}

static void take_times(RunPart *part, const RunNodeRecord *node)
{
        bool first = part->started == 0;

        part->started = first ? node->started : MIN(part->started, node->started);
        if (node->finished)
                part->busy_ms += MAX(node->finished - node->started, 0);
        if (first || (part->finished && node->finished))
                part->finished = node->finished ? MAX(part->finished, node->finished) : 0;
        else
                part->finished = 0;
}

/* The cache gave it in this run. A result that a retry kept has a start from before this run began. */
static bool is_cached(const RunParts *parts, const RunNodeRecord *node)
{
        return node->reuse && node->started >= parts->begin;
}

void run_parts_add(RunParts *parts, const RunNodeRecord *node)
{
        RunPart *part = take_part(parts, node->dag, node->component);
        bool first_failure =
                part && has_failed(node) && part->counts[NODE_FAILED] + part->counts[NODE_TERMINATED] == 0;

        if (!part || node->state >= NODE_STATES)
                return;
        if (node->inner) {
                const Dag dag = { node->node, (guint32)(part - &g_array_index(parts->parts, RunPart, 0)) };

                g_array_append_val(parts->dags, dag);
        }
        take_message(part, node, first_failure);
        if (part->made == 0 || first_failure)
                part->job = node->job;
        part->counts[node->state]++;
        part->made++;
        if (node->made_by && !is_cached(parts, node)) {
                part->kept++;
                return;
        }
        part->cached += node->made_by != 0;
        take_times(part, node);
}

void run_parts_add_child(RunParts *parts, const RunChildRecord *child)
{
        RunPart *part = child->count || child->rest ? take_part(parts, child->dag, child->component) : NULL;

        if (!part)
                return;
        part->listed += child->count;
        part->absent += child->count == 0;
        if (child->rest)
                part->rest = child->rest;
}

void run_parts_add_pause(RunParts *parts, const RunChildRecord *child)
{
        RunPart *part = take_part(parts, child->dag, child->component);

        if (part)
                part->pause = child->pause;
}

void run_parts_finish(RunParts *parts)
{
        for (guint i = 0; i < parts->parts->len; i++) {
                RunPart *part = &g_array_index(parts->parts, RunPart, i);

                part->items = MAX(part->listed, part->made) + part->absent;
                part->counts[part->rest] += (guint32)MIN(part->items - part->made, G_MAXUINT32 / 2);
        }
}

void run_parts_add_wait(RunParts *parts, guint32 dag, guint32 component, bool queued, const char *why)
{
        RunPart *part = take_part(parts, dag, component);

        if (!part)
                return;
        part->queued += queued;
        if (!part->wait)
                part->wait = text_cut(why, MESSAGE_MAX, "");
}

/* One that runs before one that waits, a failure before a success. */
NodeState run_part_state(const RunPart *part, NodeState around)
{
        static const NodeState order[] = { NODE_STOPPING,   NODE_RUNNING,   NODE_NONE,     NODE_FAILED,
                                           NODE_TERMINATED, NODE_CANCELLED, NODE_SUCCEEDED };

        if (part->items == 0)
                return run_part_absent(around);
        for (gsize i = 0; i < G_N_ELEMENTS(order); i++)
                if (part->counts[order[i]] > 0)
                        return order[i] == NODE_NONE ? NODE_RUNNING : order[i];
        return NODE_SKIPPED;
}

bool run_part_is_paused(const RunPart *part)
{
        return part->pause == RUN_PAUSE_BEFORE && part->counts[NODE_RUNNING] == 0 &&
               part->counts[NODE_STOPPING] == 0;
}

NodeState run_part_absent(NodeState around)
{
        return around == NODE_SKIPPED ? NODE_SKIPPED : node_is_final(around) ? NODE_CANCELLED : NODE_NONE;
}

guint32 run_parts_count(const RunParts *parts)
{
        return parts->parts->len;
}

const RunPart *run_part(const RunParts *parts, guint32 part)
{
        return &g_array_index(parts->parts, RunPart, part);
}

bool run_parts_are_partial(const RunParts *parts)
{
        return parts->partial;
}

char *run_part_path(const RunParts *parts, guint32 part)
{
        g_autoptr(GString) path = g_string_new(NULL);

        for (guint32 at = part; at > RUN_PART_POST; at = run_part(parts, at)->parent) {
                g_string_prepend(path, path->len > 0 ? "." : "");
                g_string_prepend(path, component_name(parts->definition, run_part(parts, at)->component));
        }
        return g_string_free(g_steal_pointer(&path), FALSE);
}
