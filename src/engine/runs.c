/* The live runs: the set of them, and their part of a batch (see runs.h). */
#include "engine/runs.h"

#include <malloc.h>
#include <string.h>

#include "base/keyed-hash.h"
#include "engine/run-files.h"
#include "engine/run-waits.h"
#include "engine/runs-cache.h"

/* ---- the set ---- */

static void plan_unref_p(gpointer plan)
{
        run_plan_unref(plan);
}

static void items_unref_p(gpointer items)
{
        items_unref(items);
}

enum { LARGE_NODES = 5000 };

/* The large parts of a run. With a million items their memory takes long to free. */
typedef struct {
        RunPlan *plan;
        Run *machine;
        GHashTable *lists;
} Remains;

static bool is_large(const Remains *remains)
{
        return remains->machine && run_nodes(remains->machine) >= LARGE_NODES;
}

/* What the run's jobs and rows took goes back to the system, too: otherwise a large run is felt for ever. */
static void free_remains(bool stopped, void *arg)
{
        g_autofree Remains *remains = arg;
        const bool large = is_large(remains);

        g_clear_pointer(&remains->lists, g_hash_table_unref);
        run_free(remains->machine);
        g_clear_pointer(&remains->plan, run_plan_unref);
        if (large && !stopped)
                (void)malloc_trim(0);
}

/* On a worker. */
static void drop_remains(Engine *engine, LiveRun *live)
{
        Remains *remains = g_new(Remains, 1);

        *remains = (Remains){ g_steal_pointer(&live->plan), g_steal_pointer(&live->machine),
                              g_steal_pointer(&live->lists) };
        if (!thread_pool_push(engine->run_workers, live->record->user, free_remains, remains, NULL))
                free_remains(true, remains);
}

static void live_run_free(gpointer data)
{
        LiveRun *live = data;

        run_free(live->machine);
        runs_kept_free(live->kept);
        run_record_free(live->record);
        run_record_free(live->was);
        g_clear_pointer(&live->plan, run_plan_unref);
        g_clear_pointer(&live->lists, g_hash_table_unref);
        render_memo_clear(&live->memo);
        g_clear_pointer(&live->messages, g_hash_table_unref);
        g_queue_clear(&live->put_off);
        g_clear_pointer(&live->put_off_links, g_hash_table_unref);
        g_clear_pointer(&live->asks, g_array_unref);
        g_clear_pointer(&live->prepared, g_array_unref);
        g_clear_pointer(&live->preparing, g_hash_table_unref);
        g_clear_pointer(&live->makers, g_hash_table_unref);
        runs_cache_leave(live);
        run_breaks_unref(live->breaks);
        json_decref(live->missed);
        json_decref(live->lost);
        json_decref(live->edits);
        g_clear_pointer(&live->paused, g_array_unref);
        g_free(live->broken);
        g_free(live);
}

static void owner_free(gpointer data)
{
        RunOwner *owner = data;

        g_free(owner->user);
        g_free(owner);
}

void runs_init(Engine *engine)
{
        engine->runs = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, live_run_free);
        engine->runs_by_id = g_hash_table_new(g_str_hash, g_str_equal); /* ids are made here */
        pthread_mutex_init(&engine->run_plans_lock, NULL);
        engine->run_plans = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, plan_unref_p);
        engine->run_waits = run_waits_new();
        engine->run_owners = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, owner_free);
        engine->deleted_runs = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
        g_queue_init(&engine->due_runs);
        engine->run_workers = thread_pool_new(
                &(ThreadPoolConfig){ .name = "conditions", .threads = 2, .share = 1, .background = true });
        engine->files = run_files_new(engine);
        runs_cache_init(engine);
}

void runs_stop(Engine *engine)
{
        thread_pool_stop(engine->run_workers);
        thread_pool_stop(engine->cache_readers);
        run_files_stop(engine->files);
}

void runs_clear(Engine *engine)
{
        thread_pool_free(engine->run_workers);
        run_files_free(engine->files);
        runs_cache_clear(engine);
        g_queue_clear(&engine->due_runs);
        g_hash_table_unref(engine->deleted_runs);
        g_hash_table_unref(engine->runs_by_id);
        g_hash_table_unref(engine->runs);
        g_hash_table_unref(engine->run_owners);
        g_hash_table_unref(engine->run_plans);
        g_hash_table_unref(engine->run_waits);
        pthread_mutex_destroy(&engine->run_plans_lock);
}

LiveRun *runs_find(Engine *engine, gint64 seq)
{
        return g_hash_table_lookup(engine->runs, &seq);
}

LiveRun *runs_find_id(Engine *engine, const char *id)
{
        return g_hash_table_lookup(engine->runs_by_id, id);
}

const RunOwner *runs_owner(Engine *engine, const char *user)
{
        return g_hash_table_lookup(engine->run_owners, user);
}

char *runs_use(const Engine *engine, const char *user, const char *fs)
{
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, engine->runs);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const LiveRun *live = value;

                if (live->plan && strcmp(live->record->user, user) == 0 &&
                    g_ptr_array_find_with_equal_func(live->plan->filesystems, fs, g_str_equal, NULL))
                        return g_strdup_printf("used by run %s, which has not ended", live->record->id);
        }
        return NULL;
}

guint32 runs_more(const Engine *engine, const LiveRun *live)
{
        return (guint32)MAX(MIN(RUN_NODES_OF_USER - live->owner->nodes, RUN_NODES_ALL - engine->run_nodes),
                            0);
}

/* A run is as large as its nodes, or as the children of its DAGs, which most nodes have. */
void runs_count_nodes(Engine *engine, LiveRun *live)
{
        const Run *machine = live->machine;
        guint32 now = machine ? MAX(run_nodes(machine), run_children(machine)) : 0;

        live->owner->nodes += (gint64)now - live->counted;
        engine->run_nodes += (gint64)now - live->counted;
        live->counted = now;
}

void runs_grow(Engine *engine, LiveRun *live)
{
        const guint32 before = live->counted;

        runs_count_nodes(engine, live);
        live->record->size += ((gint64)live->counted - before) * RUN_NODE_BYTES;
}

static RunOwner *join_owner(Engine *engine, const LiveRun *live)
{
        const char *user = live->record->user;
        RunOwner *owner = g_hash_table_lookup(engine->run_owners, user);

        if (!owner) {
                owner = g_new0(RunOwner, 1);
                owner->user = g_strdup(user);
                g_hash_table_insert(engine->run_owners, owner->user, owner);
        }
        owner->runs++;
        owner->texts += live->plan ? live->plan->text : 0;
        owner->memory += live->plan ? live->plan->memory : 0;
        engine->run_memory += live->plan ? live->plan->memory : 0;
        return owner;
}

static void leave_owner(Engine *engine, const LiveRun *live)
{
        RunOwner *owner = live->owner;

        owner->nodes -= live->counted;
        engine->run_nodes -= live->counted;
        engine->run_memory -= live->plan ? live->plan->memory : 0;
        owner->texts -= live->plan ? live->plan->text : 0;
        owner->memory -= live->plan ? live->plan->memory : 0;
        if (--owner->runs == 0)
                g_hash_table_remove(engine->run_owners, owner->user);
}

GHashTable *runs_new_lists(void)
{
        return g_hash_table_new_full(NULL, NULL, NULL, items_unref_p);
}

LiveRun *runs_enter(Engine *engine, RunRecord *record, RunPlan *plan)
{
        LiveRun *live = g_new0(LiveRun, 1);

        live->record = record;
        live->plan = plan ? run_plan_ref(plan) : NULL;
        live->machine = plan ? run_new(plan->definition, RUN_NODES_MAX) : NULL;
        live->lists = runs_new_lists();
        live->messages = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        g_queue_init(&live->put_off);
        live->put_off_links = g_hash_table_new(NULL, NULL);
        live->asks = g_array_new(FALSE, TRUE, sizeof(RunAsk));
        g_array_set_clear_func(live->asks, run_ask_clear);
        live->prepared = g_array_new(FALSE, FALSE, sizeof(guint32));
        live->preparing = g_hash_table_new(NULL, NULL);
        runs_cache_enter(live);
        live->paused = g_array_new(FALSE, FALSE, sizeof(guint32));
        live->owner = join_owner(engine, live);
        if (plan)
                runs_read_control(live);
        if (plan)
                run_plan_publish(engine, record->id, plan);
        g_hash_table_insert(engine->runs, &record->seq, live);
        g_hash_table_insert(engine->runs_by_id, record->id, live);
        if (plan)
                views_hold_packages(engine->views, plan->packages, true);
        schedules_run_entered(engine, record);
        return live;
}

static void leave(Engine *engine, LiveRun *live)
{
        if (live->plan)
                views_hold_packages(engine->views, live->plan->packages, false);
        if (live->due)
                g_queue_remove(&engine->due_runs, live);
        leave_owner(engine, live);
        schedules_run_left(engine, live->record);
        run_plan_publish(engine, live->record->id, NULL);
        run_waits_publish(engine, live->record->id, NULL);
        drop_remains(engine, live);
        g_hash_table_remove(engine->runs_by_id, live->record->id);
        g_hash_table_remove(engine->runs, &live->record->seq);
}

LiveRun *runs_add(Engine *engine, RunRecord *record, RunPlan *plan)
{
        LiveRun *live = runs_enter(engine, record, plan);

        live->dirty = true;
        g_ptr_array_add(engine->batch.runs, live);
        engine->batch.run_texts += plan->text;
        return live;
}

bool runs_take_answer(Engine *engine)
{
        if (engine->batch.run_answers >= RUN_ANSWERS)
                return false;
        engine->batch.run_answers++;
        return true;
}

void runs_make_due(Engine *engine, LiveRun *live)
{
        if (live->due)
                return;
        live->due = true;
        g_queue_push_tail(&engine->due_runs, live);
}

static RunRecord *copy_state(const RunRecord *record)
{
        RunRecord *copy = g_memdup2(record, sizeof *record);

        copy->user = copy->name = copy->key = copy->text = copy->request = copy->retry_id = NULL;
        copy->source = copy->fs = copy->note = copy->hash = NULL;
        copy->control = g_strdup(record->control);
        copy->message = g_strdup(record->message);
        return copy;
}

void runs_touch(Engine *engine, LiveRun *live)
{
        if (live->dirty)
                return;
        live->dirty = true;
        live->was = copy_state(live->record);
        live->read_was = live->read;
        live->failed_was = live->failed;
        g_ptr_array_add(engine->batch.runs, live);
}

/* ---- in a batch ---- */

void runs_note(Engine *engine, LiveRun *live, const char *kind, json_t *data)
{
        live->record->revision = batch_note_run(engine, live->record, kind, data);
}

void runs_say(LiveRun *live, guint32 node, char *text)
{
        g_hash_table_replace(live->messages, GUINT_TO_POINTER(node), text);
}

char *runs_node_path(const LiveRun *live, guint32 node)
{
        const Definition *definition = live->plan->definition;
        GString *path = g_string_new(NULL);

        while (node > RUN_POST) {
                const RunNode *at = run_node(live->machine, node);
                bool loops = run_child_is_loop(live->machine, run_node_child(live->machine, node));
                g_autofree char *number = loops ? g_strdup_printf("-%u", at->number) : g_strdup("");

                if (path->len > 0)
                        g_string_prepend_c(path, '.');
                g_string_prepend(path, number);
                g_string_prepend(path, component_name(definition, at->component));
                node = run_dag(live->machine, at->dag)->node;
        }
        return g_string_free(path, FALSE);
}

const char *runs_maker(const LiveRun *live, guint32 node)
{
        return live->makers ? g_hash_table_lookup(live->makers, GUINT_TO_POINTER(node)) : NULL;
}

void runs_stop_one(Engine *engine, LiveRun *live, bool force, const char *by)
{
        RunRecord *record = live->record;

        if (record->stopping && (record->forced || !force))
                return;
        runs_touch(engine, live);
        record->stopping = true;
        record->forced |= force;
        g_free(record->message);
        record->message = g_strdup_printf("stopped by %s", by);
        runs_note(engine, live, "run.stopping", json_pack("{s:s, s:b}", "by", by, "force", force));
        if (live->machine)
                run_stop(live->machine, force);
        runs_make_due(engine, live);
}

void runs_stop_of(Engine *engine, const char *user)
{
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, engine->runs);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                LiveRun *live = value;

                if (strcmp(live->record->user, user) == 0 && live->record->state == NODE_RUNNING)
                        runs_stop_one(engine, live, true, "the deletion of its user");
        }
}

static NodeState node_end(JobState state)
{
        if (state == JOB_SUCCEEDED)
                return NODE_SUCCEEDED;
        return state == JOB_FAILED ? NODE_FAILED : NODE_TERMINATED;
}

/* Why the job of a step ended, where its hint names the log of the step, since people know no name of such a job. The log
 * of its environment is only that of the job. */
static char *reason_of_job(const LiveRun *live, guint32 node, const Job *job)
{
        g_autofree char *of_job = g_strdup_printf("`paddle logs %s --member ", job->name);
        g_autofree char *path = NULL;
        const char *begin = strstr(job->reason, of_job), *member = begin ? begin + strlen(of_job) : NULL;
        const char *end = member ? strchr(member, '`') : NULL;

        if (!end || g_str_has_prefix(member, "environment`"))
                return g_strdup(job->reason);
        path = runs_node_path(live, node);
        return g_strdup_printf("%.*s`paddle run logs %s %s%s", (int)(begin - job->reason), job->reason,
                               live->record->id, path, end);
}

void runs_job_ended(Engine *engine, const Job *job)
{
        LiveRun *live = runs_find(engine, job->run_seq);
        guint32 node = (guint32)job->run_node;

        if (!live || !live->machine || node >= run_nodes(live->machine) ||
            run_node(live->machine, node)->job != job->seq ||
            node_is_final(run_node(live->machine, node)->state))
                return;
        runs_touch(engine, live);
        if (job->state != JOB_SUCCEEDED && job->reason)
                runs_say(live, node, reason_of_job(live, node, job));
        if (job->state == JOB_SUCCEEDED)
                runs_record_outputs(engine, live, node);
        run_ended(live->machine, node, node_end((JobState)job->state));
        runs_make_due(engine, live);
}

/* The steps that the run may still do in this batch. */
static guint *steps_left(Engine *engine, LiveRun *live)
{
        if (live->batch != engine->batch.number) {
                live->batch = engine->batch.number;
                live->steps = RUN_STEPS;
        }
        return &live->steps;
}

static void cancel_jobs(Engine *engine, gint64 run)
{
        g_autoptr(GPtrArray) jobs = g_ptr_array_new();
        GHashTableIter iter;
        gpointer key;

        g_hash_table_iter_init(&iter, engine->by_id);
        while (g_hash_table_iter_next(&iter, &key, NULL))
                if (((const Live *)key)->job->run_seq == run)
                        g_ptr_array_add(jobs, key);
        for (guint i = 0; i < jobs->len; i++) {
                Life life = batch_life(engine, jobs->pdata[i]);

                (void)life_cancel(&life, false, "its run", NULL);
                batch_end_life(engine, jobs->pdata[i], &life);
        }
}

/* A run that cannot be read any more ends, with its jobs. */
static void end_broken(Engine *engine, LiveRun *live)
{
        cancel_jobs(engine, live->record->seq);
        live->record->state = NODE_FAILED;
        live->record->finished = engine->batch.now;
        g_free(live->record->message);
        live->record->message = g_strdup(live->broken);
        runs_note(engine, live, "run.failed", json_pack("{s:s}", "reason", live->broken));
}

/* True: there is more to do. */
static bool work_on(Engine *engine, LiveRun *live)
{
        guint *left = steps_left(engine, live), budget = MIN(*left, engine->batch.run_steps), before = budget;
        RunActor actor = { engine, live, &budget };
        bool more;

        runs_touch(engine, live);
        if (!live->machine) {
                end_broken(engine, live);
                return false;
        }
        if (live->retry_at && live->retry_at <= engine->batch.now)
                runs_start_again(&actor);
        if (live->record->dropped) { /* a retry that nobody sees yet */
                more = runs_take_kept(engine, live, &budget);
        } else {
                runs_start_prepared(&actor);
                more = runs_cache_wake_waiting(&actor);
                run_limit(live->machine, runs_more(engine, live));
                more |= run_work(live->machine, &budget, runs_act, &actor);
                runs_note_pauses(engine, live);
                runs_note_missed(engine, live);
        }
        runs_grow(engine, live);
        *left -= before - budget;
        engine->batch.run_steps -= before - budget;
        return more || live->prepared_at < live->prepared->len;
}

/* One round over the runs that are due. False: none could do anything. */
static bool work_once(Engine *engine)
{
        GQueue rest = G_QUEUE_INIT;
        LiveRun *live;
        bool any = false;

        while (engine->batch.run_steps > 0 && (live = g_queue_pop_head(&engine->due_runs))) {
                if (*steps_left(engine, live) == 0) {
                        g_queue_push_tail(&rest, live);
                        continue;
                }
                any = true;
                live->due = false;
                if (work_on(engine, live) && !live->due) {
                        live->due = true;
                        g_queue_push_tail(&rest, live);
                }
        }
        while ((live = g_queue_pop_head(&rest)))
                g_queue_push_tail(&engine->due_runs, live);
        return any;
}

static void wake_put_off(Engine *engine)
{
        GHashTableIter iter;
        gpointer value;

        if (!engine->runs_at || engine->runs_at > engine->batch.now)
                return;
        engine->runs_at = 0;
        g_hash_table_iter_init(&iter, engine->runs);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                LiveRun *live = value;

                if (live->retry_at && live->retry_at <= engine->batch.now)
                        runs_make_due(engine, live);
                else if (live->retry_at)
                        engine->runs_at =
                                engine->runs_at ? MIN(engine->runs_at, live->retry_at) : live->retry_at;
        }
}

void runs_work(Engine *engine)
{
        wake_put_off(engine);
        run_files_expire(engine->files, engine->batch.now);
        while (work_once(engine))
                depend_run(engine); /* a stop may end jobs, and a new job may be refused at once */
}

gint64 runs_due(const Engine *engine)
{
        gint64 files = run_files_due(engine->files);

        if (engine->due_runs.length > 0)
                return G_MININT64;
        return engine->runs_at && files ? MIN(engine->runs_at, files) : MAX(engine->runs_at, files);
}

/* ---- after a commit ---- */

static void drop_list(void *arg, guint32 index)
{
        LiveRun *live = arg;
        guint32 child;

        if (index <= RUN_POST || g_hash_table_size(live->lists) == 0)
                return;
        child = run_node_child(live->machine, index);
        if (run_child(live->machine, child)->done)
                g_hash_table_remove(live->lists, GUINT_TO_POINTER(child));
}

static void settle(Engine *engine, LiveRun *live)
{
        live->dirty = false;
        g_clear_pointer(&live->was, run_record_free);
        g_hash_table_remove_all(live->messages);
        if (live->record->state != NODE_RUNNING) {
                leave(engine, live);
                return;
        }
        run_changed(live->machine, drop_list, live);
        runs_cache_settle(engine, live);
        run_keep(live->machine);
        runs_forget_started(live);
        g_array_remove_range(live->prepared, 0, live->prepared_at);
        live->prepared_at = 0;
        runs_send_questions(engine, live);
}

/* For a retry that read such a run before its deletion. */
static void note_deleted(Engine *engine)
{
        enum { DELETED_MAX = 10000 };

        for (guint i = 0; i < engine->batch.changed_runs->len; i++) {
                const RunRecord *run = engine->batch.changed_runs->pdata[i];

                if (!run->dropped)
                        continue;
                if (g_hash_table_size(engine->deleted_runs) >= DELETED_MAX)
                        g_hash_table_remove_all(engine->deleted_runs);
                g_hash_table_add(engine->deleted_runs, g_memdup2(&run->seq, sizeof run->seq));
        }
}

void runs_settle(Engine *engine)
{
        note_deleted(engine);
        for (guint i = 0; i < engine->batch.runs->len; i++)
                settle(engine, g_ptr_array_index(engine->batch.runs, i));
        g_ptr_array_set_size(engine->batch.runs, 0);
        runs_cache_resume_searches(engine);
}

/* The record keeps its place, to which the tables point. */
static void restore_record(LiveRun *live)
{
        RunRecord *now = live->record, *was = live->was;

        now->state = was->state;
        now->stopping = was->stopping;
        now->forced = was->forced;
        now->revision = was->revision;
        now->finished = was->finished;
        now->size = was->size;
        now->paused = was->paused;
        g_free(now->message);
        now->message = g_steal_pointer(&was->message);
        g_clear_pointer(&live->was, run_record_free);
}

/* The number of such a child may mean another one later. The others keep their lists: those of artifacts cannot be made
 * again. */
static gboolean is_undone(gpointer child, gpointer items, gpointer arg)
{
        const LiveRun *live = arg;

        return !live->machine || GPOINTER_TO_UINT(child) >= run_children(live->machine);
}

/* What a command of this batch had set is forgotten. */
static void restore_control(LiveRun *live)
{
        RunRecord *now = live->record, *was = live->was;

        g_array_set_size(live->paused, 0);
        if (g_strcmp0(now->control, was->control) == 0)
                return;
        g_free(now->control);
        now->control = g_steal_pointer(&was->control);
        if (live->machine)
                runs_read_control(live);
}

static void restore_machine(Engine *engine, LiveRun *live)
{
        if (live->put_off.length > 0)
                live->retry_at = engine->batch.now; /* those that were tried again in this batch */
        live->prepared_at = 0;
        g_hash_table_remove_all(live->messages);
        g_array_set_size(live->asks, 0);
        g_ptr_array_set_size(live->cache_searches_due, 0);
        runs_cache_restore_waits(live);
        live->read = live->read_was;
        live->failed = live->failed_was;
        if (live->machine)
                run_undo(live->machine);
        g_hash_table_foreach_remove(live->lists, is_undone, live);
        render_memo_clear(&live->memo);
        runs_count_nodes(engine, live);
}

void runs_restore(Engine *engine)
{
        for (guint i = 0; i < engine->batch.runs->len; i++) {
                LiveRun *live = g_ptr_array_index(engine->batch.runs, i);

                live->dirty = false;
                if (!live->was || live->was->dropped) {
                        engine->retain_runs_at = 0; /* for what is stored of a retry */
                        leave(engine, live);
                        continue;
                }
                restore_control(live);
                restore_record(live);
                restore_machine(engine, live);
                runs_make_due(engine, live);
        }
        g_ptr_array_set_size(engine->batch.runs, 0);
        g_array_set_size(engine->cache_ended, 0);
        g_array_set_size(engine->cache_resumes, 0);
}
