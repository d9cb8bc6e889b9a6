/* Results that a run has taken from the cache (see runs-taken.h). */
#include "engine/runs-taken.h"

#include <string.h>

#include "base/json.h"

struct RunTaken {
        GHashTable *nodes; /* node -> CacheTaken */
        GHashTable *runs;  /* seq -> guint: number of these results that the run seq made */
        gint64 last;       /* number that was given */
};

static void free_taken(gpointer data)
{
        CacheTaken *one = data;

        g_free(one->reuse);
        json_decref(one->outputs);
        g_free(one);
}

RunTaken *run_taken_new(void)
{
        RunTaken *taken = g_new0(RunTaken, 1);

        taken->nodes = g_hash_table_new_full(NULL, NULL, NULL, free_taken);
        taken->runs = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
        return taken;
}

void run_taken_free(RunTaken *taken)
{
        if (!taken)
                return;
        g_hash_table_unref(taken->nodes);
        g_hash_table_unref(taken->runs);
        g_free(taken);
}

static void put(RunTaken *taken, guint32 node, CacheTaken *one)
{
        guint *n;

        run_taken_remove(taken, node);
        g_hash_table_insert(taken->nodes, GUINT_TO_POINTER(node), one);
        n = g_hash_table_lookup(taken->runs, &one->run);
        if (!n) {
                n = g_new0(guint, 1);
                g_hash_table_insert(taken->runs, g_memdup2(&one->run, sizeof one->run), n);
        }
        (*n)++;
}

const CacheTaken *run_taken_put(RunTaken *taken, guint32 node, const CacheEntry *found)
{
        CacheTaken *one = g_new0(CacheTaken, 1);
        g_autoptr(json_t) body = json_parse(found->body, strlen(found->body), NULL);
        g_autoptr(json_t) reuse = json_pack("{s:s, s:s, s:s, s:I}", "run", found->run_id, "step", found->step,
                                            "job", found->job_id, "entry", (json_int_t)found->seq);

        one->run = found->run;
        one->job = found->job;
        one->outputs = json_incref(json_object_get(body, "outputs"));
        json_object_set(reuse, "outputs", one->outputs);
        one->reuse = json_format(reuse);
        put(taken, node, one);
        return one;
}

gint64 run_taken_number(RunTaken *taken, guint32 node)
{
        CacheTaken *one = g_hash_table_lookup(taken->nodes, GUINT_TO_POINTER(node));

        if (one->number == 0)
                one->number = ++taken->last;
        return one->number;
}

void run_taken_remove(RunTaken *taken, guint32 node)
{
        const CacheTaken *one = run_taken_find(taken, node);
        guint *n = one ? g_hash_table_lookup(taken->runs, &one->run) : NULL;

        if (!one)
                return;
        if (--*n == 0)
                g_hash_table_remove(taken->runs, &one->run);
        g_hash_table_remove(taken->nodes, GUINT_TO_POINTER(node));
}

const CacheTaken *run_taken_find(const RunTaken *taken, guint32 node)
{
        return taken ? g_hash_table_lookup(taken->nodes, GUINT_TO_POINTER(node)) : NULL;
}

bool run_taken_uses(const RunTaken *taken, gint64 seq)
{
        return taken && g_hash_table_contains(taken->runs, &seq);
}

RunTaken *run_taken_restore(const GPtrArray *nodes, guint from, gint64 run)
{
        RunTaken *taken = NULL;

        for (guint i = from; i < nodes->len; i++) {
                const RunNodeRecord *row = nodes->pdata[i];
                g_autoptr(json_t) reuse = NULL;
                CacheTaken *one;

                if (row->run > run)
                        break;
                if (row->run < run || !row->reuse)
                        continue;
                reuse = json_parse(row->reuse, strlen(row->reuse), NULL);
                one = g_new0(CacheTaken, 1);
                one->run = row->made_by;
                one->job = row->job;
                one->number = row->taken;
                one->reuse = g_strdup(row->reuse);
                one->outputs = json_incref(json_object_get(reuse, "outputs"));
                taken = taken ? taken : run_taken_new();
                put(taken, row->node, one);
                taken->last = MAX(taken->last, row->taken);
        }
        return taken;
}
