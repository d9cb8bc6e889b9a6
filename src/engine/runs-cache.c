/* Steps that search the cache, and what they take from it (see runs-cache.h). */
#include "engine/runs-cache.h"

#include <string.h>

#include "base/err.h"
#include "pipeline/fingerprint.h"

static void unref_search(gpointer search)
{
        cache_search_unref(search);
}

static void clear_resume(gpointer data)
{
        CacheResume *resume = data;

        cache_search_unref(resume->search);
        g_free(resume->refused);
}

void runs_cache_init(Engine *engine)
{
        engine->cache_resumes = g_array_new(FALSE, FALSE, sizeof(CacheResume));
        g_array_set_clear_func(engine->cache_resumes, clear_resume);
        runs_cache_init_waits(engine);
        engine->cache_rest_ms = CACHE_READ_REST_MS;
        engine->cache_readers = thread_pool_new(&(ThreadPoolConfig){
                .name = "cache", .threads = CACHE_READERS, .share = CACHE_READERS_OF_USER });
}

void runs_cache_clear(Engine *engine)
{
        thread_pool_free(engine->cache_readers);
        runs_cache_clear_waits(engine);
        g_array_unref(engine->cache_resumes);
}

static void free_node(gpointer data)
{
        CacheNode *step = data;

        files_group_cancel(step->group);
        files_group_unref(step->group);
        cache_entry_free(step->entry);
        g_free(step->unknown);
        g_free(step);
}

void runs_cache_enter(LiveRun *live)
{
        live->cache = g_hash_table_new_full(NULL, NULL, NULL, free_node);
        live->cache_searches_due = g_ptr_array_new_with_free_func(unref_search);
        runs_cache_enter_waits(live);
}

void runs_cache_leave(LiveRun *live)
{
        g_clear_pointer(&live->cache, g_hash_table_unref);
        g_clear_pointer(&live->cache_searches_due, g_ptr_array_unref);
        g_clear_pointer(&live->taken, run_taken_free);
        runs_cache_leave_waits(live);
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

/* ---- searching ---- */

static bool has_cache(const LiveRun *live, guint32 node)
{
        const Definition *definition = live->plan->definition;
        const RunNode *at = run_node(live->machine, node);
        bool global;

        return live->plan->caches && run_dag(live->machine, at->dag)->node != RUN_POST &&
               component_cache(definition, component_target(definition, at->component), &global).enable ==
                       CACHE_ON;
}

bool runs_cache_queue_search(const RunActor *actor, guint32 node)
{
        const CacheNode *step = find_node(actor->live, node);

        if ((step && step->phase == CACHE_MISSED) || !has_cache(actor->live, node))
                return false;
        if (!step || step->phase == CACHE_WAITS)
                g_ptr_array_add(actor->live->cache_searches_due, cache_search_new(actor, node));
        return true;
}

static void begin(Engine *engine, LiveRun *live, CacheSearch *search)
{
        CacheNode *step = find_node(live, search->node);

        if (!is_starting(live, search->node) || (step && step->phase != CACHE_WAITS))
                return;
        if (!step) {
                step = g_new0(CacheNode, 1);
                g_hash_table_insert(live->cache, GUINT_TO_POINTER(search->node), step);
        }
        step->phase = CACHE_SEARCHES;
        step->search = ++engine->cache_search_number;
        files_group_unref(step->group);
        step->group = files_group_ref(search->group);
        cache_search_begin(search, step->search, step->waited);
}

void runs_cache_begin_searches(Engine *engine, LiveRun *live)
{
        for (guint i = 0; i < live->cache_searches_due->len; i++)
                begin(engine, live, live->cache_searches_due->pdata[i]);
        g_ptr_array_set_size(live->cache_searches_due, 0);
}

/* ---- nothing was found ---- */

static void set_body(CacheSearch *search)
{
        g_autoptr(json_t) shown = fingerprint_short(search->parts);
        g_autoptr(json_t) body = json_pack("{s:O, s:O}", "parts", shown, "outputs", search->outputs);

        if (search->unknown || search->miss)
                json_object_set_new(body, "miss",
                                    json_string(search->unknown ? search->unknown : search->miss));
        if (search->near)
                json_object_set_new(body, "near", json_integer(search->near));
        g_free(search->wish->body);
        search->wish->body = json_format(body);
}

/* A node that gave its slot back waits for one again. */
static void miss(const RunActor *actor, CacheSearch *search, CacheNode *step)
{
        LiveRun *live = actor->live;

        set_body(search);
        step->phase = CACHE_MISSED;
        run_taken_remove(live->taken, search->node);
        cache_entry_free(step->entry);
        step->entry = cache_entry_copy(search->wish);
        g_free(step->unknown);
        step->unknown = g_strdup(search->unknown);
        if (run_node(live->machine, search->node)->slot)
                runs_start_missed(actor, search->node);
        else
                run_want(live->machine, search->node);
}

void runs_cache_store_entry(Engine *engine, LiveRun *live, guint32 node, gint64 job)
{
        const CacheNode *step = find_node(live, node);
        CacheEntry *entry;

        if (!step || !step->entry)
                return;
        entry = cache_entry_copy(step->entry);
        entry->job = job;
        entry->created = engine->batch.now;
        g_ptr_array_add(engine->batch.cache_entries, entry);
        if (step->unknown)
                runs_say(live, node, g_strconcat("not reused: ", step->unknown, NULL));
        live->record->size += CACHE_ENTRY_BYTES + (gint64)strlen(entry->body);
        retain_cache_soon(engine);
}

/* ---- an entry was found ---- */

/* The entry is of a job that has not ended yet; it may end in this very batch, whose ends are looked at later. */
static void wait_for(const RunActor *actor, const CacheSearch *search, CacheNode *step)
{
        step->phase = CACHE_WAITS;
        step->job = search->found->job;
        step->waited = search->found->seq;
        runs_cache_wait_for(actor, search->node, step->job);
        run_park(actor->live->machine, search->node);
}

bool runs_cache_is_waiting(const LiveRun *live, guint32 node, gint64 job)
{
        const CacheNode *step = is_starting(live, node) ? find_node(live, node) : NULL;

        return step && step->phase == CACHE_WAITS && step->job == job;
}

static void resume_search(const CacheResume *resume)
{
        if (resume->refused)
                cache_search_next(resume->search, resume->refused);
        else
                cache_search_again(resume->search);
}

void runs_cache_resume_searches(Engine *engine)
{
        for (guint i = 0; i < engine->cache_resumes->len; i++)
                resume_search(&g_array_index(engine->cache_resumes, CacheResume, i));
        g_array_set_size(engine->cache_resumes, 0);
        runs_cache_settle_ended(engine);
}

static char *say_reused(const CacheEntry *found)
{
        return g_strdup_printf("reused from run %s, step '%s'", found->run_id, found->step);
}

static char *say_failed(const LiveRun *live, const CacheSearch *search)
{
        const CacheEntry *found = search->found;
        g_autofree char *id = numbered_id_format("cch", found->seq), *reused = say_reused(found);

        return g_strdup_printf(
                "%s, which failed: %s. To run it again: `paddle run retry %s`, or `paddle cache delete %s` "
                "and a new run",
                reused, search->reason ? search->reason : "its job has no reason any more", live->record->id,
                id);
}

/* The node ends as that job did. */
static void take(const RunActor *actor, const CacheSearch *search)
{
        LiveRun *live = actor->live;
        const CacheEntry *found = search->found;
        bool ok = found->job_state == JOB_SUCCEEDED;
        const CacheTaken *taken;

        if (!live->taken)
                live->taken = run_taken_new();
        taken = run_taken_put(live->taken, search->node, found);
        live->record->size += (gint64)strlen(taken->reuse);
        runs_say(live, search->node, ok ? say_reused(found) : say_failed(live, search));
        run_started(live->machine, search->node, found->job);
        if (ok)
                runs_record_outputs(actor->engine, live, search->node);
        run_ended(live->machine, search->node, ok ? NODE_SUCCEEDED : NODE_FAILED);
}

/* After the commit: until then this answer may be needed again. `refused`: why the entry is not taken; NULL: it is read
 * again, since its job has ended meanwhile. */
static void search_later(Engine *engine, CacheSearch *search, const char *refused)
{
        const CacheResume resume = { cache_search_ref(search), g_strdup(refused) };

        g_array_append_val(engine->cache_resumes, resume);
}

static void use_found(const RunActor *actor, CacheSearch *search, CacheNode *step)
{
        const CacheEntry *found = search->found;
        const Live *job = live_by_seq(actor->engine, found->job);
        bool open = !job_state_is_final((JobState)found->job_state);

        if (runs_was_deleted(actor->engine, found->run))
                search_later(actor->engine, search, "is of a run that was just deleted");
        else if (!open)
                take(actor, search);
        else if (job && !job_state_is_final((JobState)job->job->state))
                wait_for(actor, search, step);
        else
                search_later(actor->engine, search, NULL);
}

void runs_cache_take_answer(Engine *engine, CacheSearch *search)
{
        LiveRun *live = runs_find(engine, search->run);
        const RunActor actor = { .engine = engine, .live = live };
        CacheNode *step = live && live->machine ? find_node(live, search->node) : NULL;

        if (!step || step->search != search->number || !is_starting(live, search->node))
                return;
        runs_touch(engine, live);
        run_limit(live->machine, runs_more(engine, live));
        if (search->failure) {
                runs_say(live, search->node, g_strdup(search->failure->message));
                run_ended(live->machine, search->node, NODE_FAILED);
        } else if (search->found) {
                use_found(&actor, search, step);
        } else {
                miss(&actor, search, step);
        }
        runs_count_nodes(engine, live);
        runs_make_due(engine, live);
}

/* ---- after a commit ---- */

static void forget_begun(void *arg, guint32 node)
{
        const LiveRun *live = arg;

        if (!is_starting(live, node))
                g_hash_table_remove(live->cache, GUINT_TO_POINTER(node));
}

/* The others stay, and are not looked at: as many as the run has nodes may wait. */
void runs_cache_settle(Engine *engine, LiveRun *live)
{
        runs_cache_settle_waits(engine, live);
        if (g_hash_table_size(live->cache) > 0)
                run_changed(live->machine, forget_begun, live);
}

/* ---- what was taken ---- */

char *runs_cache_output_path(const LiveRun *live, guint32 node, const char *name)
{
        const CacheTaken *taken = run_taken_find(live->taken, node);

        /* after a commit that failed, its job may be another one */
        return taken && run_node(live->machine, node)->job == taken->job
                       ? g_strdup(json_string_value(json_object_get(taken->outputs, name)))
                       : NULL;
}

void runs_cache_complete_row(const LiveRun *live, RunNodeRecord *row)
{
        const CacheTaken *taken = run_taken_find(live->taken, row->node);

        if (!taken || row->job != taken->job)
                return;
        row->made_by = taken->run;
        row->reuse = g_strdup(taken->reuse);
        row->taken = run_taken_number(live->taken, row->node);
}
