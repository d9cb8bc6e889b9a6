/* The longest chain in a picture (see picture-chain.h). A step is looked up by the part of its DAG. Of each loop the chain has
 * only the item that ended last, so it passes each part once. */
#include "pipeline/picture-chain.h"

#include "pipeline/run-chain.h"

typedef struct {
        guint32 last; /* component */
        GArray *links;
} Around;

struct ChainMarks {
        const RunParts *parts;
        GHashTable *marked;  /* parts */
        GHashTable *arounds; /* part -> Around */
        gint64 time;
};

static void around_free(gpointer data)
{
        Around *around = data;

        g_array_unref(around->links);
        g_free(around);
}

/* The next component of the chain in the part `parent`. */
static void follow(ChainMarks *marks, guint32 parent, guint32 component)
{
        Around *around = g_hash_table_lookup(marks->arounds, GUINT_TO_POINTER(parent));

        if (!around) {
                around = g_new0(Around, 1);
                *around = (Around){ component, g_array_new(FALSE, FALSE, sizeof(ChainLink)) };
                g_hash_table_insert(marks->arounds, GUINT_TO_POINTER(parent), around);
        } else if (around->last != component) {
                const ChainLink link = { around->last, component };

                g_array_append_val(around->links, link);
                around->last = component;
        }
}

/* Marks the part and those around it. */
static void mark(ChainMarks *marks, guint32 part)
{
        while (part != (guint32)RUN_PART_NONE) {
                const RunPart *at = run_part(marks->parts, part);

                g_hash_table_add(marks->marked, GUINT_TO_POINTER(part));
                if (at->parent != (guint32)RUN_PART_NONE)
                        follow(marks, at->parent, at->component);
                part = at->parent;
        }
}

ChainMarks *chain_marks_new(const RunParts *parts, const GArray *steps)
{
        ChainMarks *marks = g_new0(ChainMarks, 1);

        marks->parts = parts;
        marks->marked = g_hash_table_new(NULL, NULL);
        marks->arounds = g_hash_table_new_full(NULL, NULL, NULL, around_free);
        for (guint i = 0; i < steps->len; i++) {
                const RunChainStep *step = &g_array_index(steps, RunChainStep, i);

                mark(marks, run_parts_of(parts, step->dag, step->component));
                marks->time += step->finished - (step->cached ? step->ready : step->started);
        }
        return marks;
}

void chain_marks_free(ChainMarks *marks)
{
        if (!marks)
                return;
        g_hash_table_unref(marks->marked);
        g_hash_table_unref(marks->arounds);
        g_free(marks);
}

bool chain_marks_has(const ChainMarks *marks, guint32 part)
{
        return g_hash_table_contains(marks->marked, GUINT_TO_POINTER(part));
}

const GArray *chain_marks_links(const ChainMarks *marks, guint32 part)
{
        const Around *around = g_hash_table_lookup(marks->arounds, GUINT_TO_POINTER(part));

        return around ? around->links : NULL;
}

gint64 chain_marks_time(const ChainMarks *marks)
{
        return marks->time;
}
