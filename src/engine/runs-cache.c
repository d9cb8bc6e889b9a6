/* Steps that ask the cache, and what they take from it (see runs-cache.h). */
#include "engine/runs-cache.h"

#include <string.h>

#include "base/err.h"
#include "pipeline/fingerprint.h"

/* A node that waits for a job of another run. */
typedef struct {
        gint64 run;
        guint32 node;
} CacheWait;

static void unref_array(gpointer array)
{
        g_array_unref(array);
}

static void unref_ask(gpointer ask)
{
        cache_ask_unref(ask);
}

static void clear_look(gpointer data)
{
        CacheLook *look = data;

        cache_ask_unref(look->ask);
        g_free(look->refused);
}

void runs_cache_init(Engine *engine)
{
        engine->cache_looks = g_array_new(FALSE, FALSE, sizeof(CacheLook));
        g_array_set_clear_func(engine->cache_looks, clear_look);
        engine->cache_waits = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, unref_array);
        engine->cache_ended = g_array_new(FALSE, FALSE, sizeof(gint64));
}

void runs_cache_clear(Engine *engine)
{
        g_hash_table_unref(engine->cache_waits);
        g_array_unref(engine->cache_ended);
        g_array_unref(engine->cache_looks);
}

static void free_node(gpointer data)
{
        CacheNode *node = data;

        cache_entry_free(node->entry);
        g_free(node);
}

static void free_taken(gpointer data)
{
        CacheTaken *taken = data;

        g_free(taken->reuse);
        json_decref(taken->outputs);
        g_free(taken);
}

void runs_cache_enter(LiveRun *live)
{
        live->cache = g_hash_table_new_full(NULL, NULL, NULL, free_node);
        live->cache_asks = g_ptr_array_new_with_free_func(unref_ask);
}

void runs_cache_leave(LiveRun *live)
{
        g_clear_pointer(&live->cache, g_hash_table_unref);
        g_clear_pointer(&live->cache_asks, g_ptr_array_unref);
        g_clear_pointer(&live->taken, g_hash_table_unref);
}

static CacheNode *find_node(const LiveRun *live, guint32 node)
{
        return g_hash_table_lookup(live->cache, GUINT_TO_POINTER(node));
}

/* It has no job, and was not stopped. */
static bool is_starting(const LiveRun *live, guint32 node)
{
        const RunNode *at = node < run_nodes(live->machine) ? run_node(live->machine, node) : NULL;

        return at && at->state == NODE_STARTING && at->job == 0;
}

/* ---- asking ---- */

static bool has_cache(const LiveRun *live, guint32 node)
{
        const Definition *definition = live->plan->definition;
        const RunNode *at = run_node(live->machine, node);
        bool global;

        return live->plan->caches && run_dag(live->machine, at->dag)->node != RUN_POST &&
               component_cache(definition, component_target(definition, at->component), &global).enable ==
                       CACHE_ON;
}

bool runs_cache_asks(const RunActor *actor, guint32 node)
{
        const CacheNode *asked = find_node(actor->live, node);

        if ((asked && asked->phase == CACHE_MISSED) || !has_cache(actor->live, node))
                return false;
        if (!asked || asked->phase == CACHE_WAITS)
                g_ptr_array_add(actor->live->cache_asks, cache_ask_new(actor, node));
        return true;
}

static void begin(Engine *engine, LiveRun *live, CacheAsk *ask)
{
        CacheNode *asked = find_node(live, ask->node);

        if (!is_starting(live, ask->node) || (asked && asked->phase != CACHE_WAITS))
                return;
        if (!asked) {
                asked = g_new0(CacheNode, 1);
                g_hash_table_insert(live->cache, GUINT_TO_POINTER(ask->node), asked);
        }
        asked->phase = CACHE_ASKED;
        asked->ask = ++engine->cache_asked;
        cache_ask_begin(ask, asked->ask, asked->waited);
}

void runs_cache_ask(Engine *engine, LiveRun *live)
{
        for (guint i = 0; i < live->cache_asks->len; i++)
                begin(engine, live, live->cache_asks->pdata[i]);
        g_ptr_array_set_size(live->cache_asks, 0);
}

/* ---- nothing was found ---- */

static void set_body(CacheAsk *ask)
{
        g_autoptr(json_t) shown = fingerprint_short(ask->parts);
        g_autoptr(json_t) body = json_pack("{s:O, s:O}", "parts", shown, "outputs", ask->outputs);

        if (ask->miss)
                json_object_set_new(body, "miss", json_string(ask->miss));
        if (ask->near)
                json_object_set_new(body, "near", json_integer(ask->near));
        g_free(ask->wish->body);
        ask->wish->body = json_format(body);
}

/* A node that gave its slot back waits for one again. */
static void miss(const RunActor *actor, CacheAsk *ask, CacheNode *asked)
{
        LiveRun *live = actor->live;

        set_body(ask);
        asked->phase = CACHE_MISSED;
        if (live->taken)
                g_hash_table_remove(live->taken, GUINT_TO_POINTER(ask->node));
        cache_entry_free(asked->entry);
        asked->entry = cache_entry_copy(ask->wish);
        if (run_node(live->machine, ask->node)->slot)
                runs_start_missed(actor, ask->node);
        else
                run_want(live->machine, ask->node);
}

void runs_cache_write(Engine *engine, const LiveRun *live, guint32 node, gint64 job)
{
        const CacheNode *asked = find_node(live, node);
        CacheEntry *entry;

        if (!asked || !asked->entry)
                return;
        entry = cache_entry_copy(asked->entry);
        entry->job = job;
        entry->created = engine->batch.now;
        g_ptr_array_add(engine->batch.cache_entries, entry);
        retain_cache_soon(engine);
}

/* ---- an entry was found ---- */

/* The job ends after this batch, or in it. */
static void wait_for(const RunActor *actor, const CacheAsk *ask, CacheNode *asked)
{
        Engine *engine = actor->engine;
        const CacheWait wait = { ask->run, ask->node };
        gint64 job = ask->found->job;
        GArray *waits = g_hash_table_lookup(engine->cache_waits, &job);

        asked->phase = CACHE_WAITS;
        asked->job = job;
        asked->waited = ask->found->seq;
        if (!waits) {
                waits = g_array_new(FALSE, FALSE, sizeof(CacheWait));
                g_hash_table_insert(engine->cache_waits, g_memdup2(&job, sizeof job), waits);
        }
        g_array_append_val(waits, wait);
        run_park(actor->live->machine, ask->node);
}

static void note_ended(Engine *engine, gint64 job, const CacheWait *wait)
{
        LiveRun *live = runs_find(engine, wait->run);
        const CacheNode *asked;

        if (!live || !live->machine || !is_starting(live, wait->node))
                return;
        asked = find_node(live, wait->node);
        if (!asked || asked->phase != CACHE_WAITS || asked->job != job)
                return;
        runs_touch(engine, live);
        run_want(live->machine, wait->node);
        runs_make_due(engine, live);
}

void runs_cache_job_ended(Engine *engine, gint64 job)
{
        const GArray *waits = g_hash_table_lookup(engine->cache_waits, &job);

        for (guint i = 0; waits && i < waits->len; i++)
                note_ended(engine, job, &g_array_index(waits, CacheWait, i));
        if (waits)
                g_array_append_val(engine->cache_ended, job);
}

static void look_further(const CacheLook *look)
{
        if (look->refused)
                cache_ask_next(look->ask, look->refused);
        else
                cache_ask_again(look->ask);
}

void runs_cache_go_on(Engine *engine)
{
        for (guint i = 0; i < engine->cache_looks->len; i++)
                look_further(&g_array_index(engine->cache_looks, CacheLook, i));
        g_array_set_size(engine->cache_looks, 0);
        for (guint i = 0; i < engine->cache_ended->len; i++)
                g_hash_table_remove(engine->cache_waits, &g_array_index(engine->cache_ended, gint64, i));
        g_array_set_size(engine->cache_ended, 0);
}

static CacheTaken *taken_new(const CacheEntry *found)
{
        CacheTaken *taken = g_new0(CacheTaken, 1);
        g_autoptr(json_t) body = json_parse(found->body, strlen(found->body), NULL);
        g_autoptr(json_t) reuse = json_pack("{s:s, s:s, s:s, s:I}", "run", found->run_id, "step", found->step,
                                            "job", found->job_id, "entry", (json_int_t)found->seq);

        taken->run = found->run;
        taken->job = found->job;
        taken->outputs = json_incref(json_object_get(body, "outputs"));
        json_object_set(reuse, "outputs", taken->outputs);
        taken->reuse = json_format(reuse);
        return taken;
}

/* The node ends as that job did. */
static void take(const RunActor *actor, const CacheAsk *ask)
{
        LiveRun *live = actor->live;
        const CacheEntry *found = ask->found;
        bool ok = found->job_state == JOB_SUCCEEDED;

        if (!live->taken)
                live->taken = g_hash_table_new_full(NULL, NULL, NULL, free_taken);
        g_hash_table_replace(live->taken, GUINT_TO_POINTER(ask->node), taken_new(found));
        runs_say(live, ask->node,
                 g_strdup_printf("reused from run %s, step '%s'%s", found->run_id, found->step,
                                 ok ? "" : ", which failed"));
        run_started(live->machine, ask->node, found->job);
        if (ok)
                runs_record_outputs(actor->engine, live, ask->node);
        run_ended(live->machine, ask->node, ok ? NODE_SUCCEEDED : NODE_FAILED);
}

/* After the commit: until then this answer may be needed again. `refused`: why the entry is not taken; NULL: it is read
 * again, since its job has ended meanwhile. */
static void look_later(Engine *engine, CacheAsk *ask, const char *refused)
{
        const CacheLook look = { cache_ask_ref(ask), g_strdup(refused) };

        g_array_append_val(engine->cache_looks, look);
}

static void use_found(const RunActor *actor, CacheAsk *ask, CacheNode *asked)
{
        const CacheEntry *found = ask->found;
        const Live *job = live_by_seq(actor->engine, found->job);
        bool open = !job_state_is_final((JobState)found->job_state);

        if (runs_was_deleted(actor->engine, found->run))
                look_later(actor->engine, ask, "is of a run that was just deleted");
        else if (!open)
                take(actor, ask);
        else if (job && !job_state_is_final((JobState)job->job->state))
                wait_for(actor, ask, asked);
        else
                look_later(actor->engine, ask, NULL);
}

void runs_cache_answered(Engine *engine, CacheAsk *ask)
{
        LiveRun *live = runs_find(engine, ask->run);
        const RunActor actor = { .engine = engine, .live = live };
        CacheNode *asked = live && live->machine ? find_node(live, ask->node) : NULL;

        if (!asked || asked->ask != ask->number || !is_starting(live, ask->node))
                return;
        runs_touch(engine, live);
        run_limit(live->machine, runs_more(engine, live));
        if (ask->failure) {
                runs_say(live, ask->node, g_strdup(ask->failure->message));
                run_ended(live->machine, ask->node, NODE_FAILED);
        } else if (ask->found) {
                use_found(&actor, ask, asked);
        } else {
                miss(&actor, ask, asked);
        }
        runs_count_nodes(engine, live);
        runs_make_due(engine, live);
}

/* ---- after a commit ---- */

static gboolean has_begun(gpointer node, gpointer asked, gpointer arg)
{
        return !is_starting(arg, GPOINTER_TO_UINT(node));
}

void runs_cache_settle(LiveRun *live)
{
        if (g_hash_table_size(live->cache) > 0)
                g_hash_table_foreach_remove(live->cache, has_begun, live);
}

/* ---- what was taken ---- */

static const CacheTaken *find_taken(const LiveRun *live, guint32 node)
{
        return live->taken ? g_hash_table_lookup(live->taken, GUINT_TO_POINTER(node)) : NULL;
}

char *runs_cache_output(const LiveRun *live, guint32 node, const char *name)
{
        const CacheTaken *taken = find_taken(live, node);

        /* after a commit that failed, its job may be another one */
        return taken && run_node(live->machine, node)->job == taken->job
                       ? g_strdup(json_string_value(json_object_get(taken->outputs, name)))
                       : NULL;
}

void runs_cache_mark(const LiveRun *live, RunNodeRecord *row)
{
        const CacheTaken *taken = find_taken(live, row->node);

        if (!taken || row->job != taken->job)
                return;
        row->made_by = taken->run;
        row->reuse = g_strdup(taken->reuse);
}

bool runs_cache_uses(const LiveRun *live, gint64 seq)
{
        GHashTableIter iter;
        gpointer value;

        if (!live->taken)
                return false;
        g_hash_table_iter_init(&iter, live->taken);
        while (g_hash_table_iter_next(&iter, NULL, &value))
                if (((const CacheTaken *)value)->run == seq)
                        return true;
        return false;
}

GHashTable *runs_cache_restore(const GPtrArray *nodes, guint from, gint64 run)
{
        GHashTable *all = NULL;

        for (guint i = from; i < nodes->len; i++) {
                const RunNodeRecord *row = nodes->pdata[i];
                g_autoptr(json_t) reuse = NULL;
                CacheTaken *taken;

                if (row->run > run)
                        break;
                if (row->run < run || !row->reuse)
                        continue;
                reuse = json_parse(row->reuse, strlen(row->reuse), NULL);
                taken = g_new0(CacheTaken, 1);
                taken->run = row->made_by;
                taken->job = row->job;
                taken->reuse = g_strdup(row->reuse);
                taken->outputs = json_incref(json_object_get(reuse, "outputs"));
                if (!all)
                        all = g_hash_table_new_full(NULL, NULL, NULL, free_taken);
                g_hash_table_insert(all, GUINT_TO_POINTER(row->node), taken);
        }
        return all;
}
