/* The longest chain (see run-chain.h). It is walked from the end: in a DAG from the child that ended last to the dependency
 * of it that ended last, and so on; where a child is a DAG, its inside is walked first. */
#include "pipeline/run-chain.h"

#include "pipeline/run.h"

typedef struct {
        gint64 key; /* run_child_key of dag and component */
        guint32 node, number;
        gint64 started, finished; /* finished G_MAXINT64: it runs */
        gint64 job;
        guint8 state;
        bool inner, kept, cached;
} Last;

struct RunChain {
        const Definition *definition;
        gint64 begin;
        GArray *lasts; /* Last; sorted by key when rows end */
        bool full;
};

typedef struct {
        RunChain *chain;
        gint64 begin, end;
        GArray *steps; /* the last one first */
        guint work;
} Walk;

RunChain *run_chain_new(const Definition *definition, gint64 begin)
{
        RunChain *chain = g_new0(RunChain, 1);

        chain->definition = definition;
        chain->begin = begin;
        chain->lasts = g_array_new(FALSE, FALSE, sizeof(Last));
        return chain;
}

void run_chain_free(RunChain *chain)
{
        if (!chain)
                return;
        g_array_unref(chain->lasts);
        g_free(chain);
}

/* The order of those that end at one time: what ran longer decided more; then the first in the definition. */
static bool ends_later(const Last *a, const Last *b)
{
        if (a->finished != b->finished)
                return a->finished > b->finished;
        return a->started != b->started ? a->started < b->started : a->node < b->node;
}

/* The nodes of a child lie side by side, so its items meet the entry of the one before. A retry also keeps what the cache gave
 * to the earlier run: that is older than this run. */
void run_chain_add(RunChain *chain, const RunNodeRecord *node)
{
        bool cached = node->reuse && node->started >= chain->begin;
        const Last new = { .key = run_child_key(node->dag, node->component),
                           .node = node->node,
                           .number = node->number,
                           .started = node->started,
                           .finished = node->finished ? node->finished : G_MAXINT64,
                           .job = node->job,
                           .state = node->state,
                           .inner = node->inner,
                           .kept = node->made_by != 0 && !cached,
                           .cached = cached };
        Last *last = chain->lasts->len ? &g_array_index(chain->lasts, Last, chain->lasts->len - 1) : NULL;

        if (node->component >= chain->definition->n_components)
                return;
        if (last && last->key == new.key) {
                if (last->kept > new.kept || (last->kept == new.kept &&ends_later(&new, last)))
                        *last = new;
                return;
        }
        if (chain->lasts->len == RUN_CHAIN_CHILDREN_MAX)
                chain->full = true;
        else
                g_array_append_val(chain->lasts, new);
}

static int compare_keys(const void *a, const void *b)
{
        gint64 left = ((const Last *)a)->key, right = ((const Last *)b)->key;

        return left < right ? -1 : left > right;
}

/* A child has several ranges of nodes only if its DAG went on in a retry. */
static void sort_lasts(RunChain *chain)
{
        GArray *lasts = chain->lasts;
        guint n = 0;

        g_array_sort(lasts, compare_keys);
        for (guint i = 0; i < lasts->len; i++) {
                const Last *new = &g_array_index(lasts, Last, i);
                Last *last = n ? &g_array_index(lasts, Last, n - 1) : NULL;

                if (!last || last->key != new->key)
                        g_array_index(lasts, Last, n++) = *new;
                else if (last->kept > new->kept || (last->kept == new->kept &&ends_later(new, last)))
                        *last = *new;
        }
        g_array_set_size(lasts, n);
}

/* NULL: it never began. */
static const Last *find(Walk *walk, guint32 dag, guint32 component)
{
        const Last wanted = { .key = run_child_key(dag, component) };
        guint at;

        walk->work++;
        return g_array_binary_search(walk->chain->lasts, &wanted, compare_keys, &at)
                       ? &g_array_index(walk->chain->lasts, Last, at)
                       : NULL;
}

/* What a retry kept was there from the beginning. */
static const Last *later(const Last *a, const Last *b)
{
        if (!a || !b)
                return a ? a : b;
        if (a->kept != b->kept)
                return a->kept ? b : a;
        return ends_later(b, a) ? b : a;
}

static bool is_too_much(const Walk *walk)
{
        return walk->work > RUN_CHAIN_WORK_MAX;
}

static const Last *last_child(Walk *walk, guint32 dag, const Component *body)
{
        const Last *last = NULL;

        for (guint32 i = body->children; i < body[1].children && !is_too_much(walk); i++)
                last = later(last, find(walk, dag, i));
        return last;
}

static const Last *last_dependency(Walk *walk, guint32 dag, guint32 component)
{
        const Definition *definition = walk->chain->definition;
        const Component *at = &definition->components[component];
        const Last *last = NULL;

        for (guint32 k = at->dependencies; k < at[1].dependencies && !is_too_much(walk); k++)
                last = later(last, find(walk, dag, definition->links[k]));
        return last;
}

static void put_step(Walk *walk, guint32 dag, guint32 component, const Last *last)
{
        const RunChainStep step = { .node = last->node,
                                    .dag = dag,
                                    .component = component,
                                    .number = last->number,
                                    .state = last->state,
                                    .cached = last->cached,
                                    .job = last->job,
                                    .started = CLAMP(last->started, walk->begin, walk->end),
                                    .finished = CLAMP(last->finished, walk->begin, walk->end) };

        g_array_append_val(walk->steps, step);
}

/* `body` is what the DAG contains. The depth is bounded by DEFINITION_DEPTH_MAX. */
static void walk_dag(Walk *walk, guint32 dag, guint32 body)
{
        const Definition *definition = walk->chain->definition;
        const Last *at = last_child(walk, dag, &definition->components[body]);

        while (at && !at->kept && !is_too_much(walk)) {
                guint32 component = (guint32)at->key;

                if (at->inner)
                        walk_dag(walk, at->node, component_target(definition, component));
                else
                        put_step(walk, dag, component, at);
                at = last_dependency(walk, dag, component);
        }
}

/* From the first to the last, each with the end of the one before. Times of the clock may go back. */
static GArray *in_order(Walk *walk)
{
        GArray *steps = g_array_new(FALSE, FALSE, sizeof(RunChainStep));
        gint64 ready = walk->begin;

        for (guint i = walk->steps->len; i-- > 0;) {
                RunChainStep step = g_array_index(walk->steps, RunChainStep, i);

                step.ready = ready;
                step.started = MAX(step.started, ready);
                step.finished = MAX(step.finished, step.started);
                ready = step.finished;
                g_array_append_val(steps, step);
        }
        return steps;
}

GArray *run_chain_find(RunChain *chain, gint64 end)
{
        g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(RunChainStep));
        Walk walk = { .chain = chain, .begin = chain->begin, .end = MAX(chain->begin, end), .steps = found };

        if (chain->full)
                return NULL;
        sort_lasts(chain);
        walk_dag(&walk, RUN_POST, DEFINITION_POST);
        walk_dag(&walk, RUN_ROOT, DEFINITION_ROOT);
        return is_too_much(&walk) ? NULL : in_order(&walk);
}
