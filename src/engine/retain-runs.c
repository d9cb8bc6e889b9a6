/* Deletes runs: those that a user has deleted, and those that ended long ago. The jobs of a run go with it. Both go in
 * small batches, when nobody waits, so that a run of 100,000 nodes holds up nobody. As for jobs (retain.c), a thread of
 * the pool reads what is to go, and a command deletes it.
 *
 * Its artifacts are removed when the run itself goes. Nothing waits for that: a file system may not answer.
 *
 *   ended ──▶ dropped: no longer shown ──▶ 100 nodes with their jobs a batch ──▶ its children ──▶ the run itself */
#include "engine/runs.h"

enum { PAGE = 100, CHILDREN_PAGE = 1000, REST_MS = 60 * 1000, COPY_MS = 1000 };

typedef struct {
        Command command;
        Engine *engine;
        gint64 before;        /* ms: runs that ended later are kept */
        RunRecord *run;       /* to delete; NULL: there is none */
        char *fs, *directory; /* of its artifacts, if it is the last page; or NULL */
        GPtrArray *nodes;     /* RunNodeRecord: some of those of a dropped run; NULL: not read */
        bool children;        /* it has no nodes, but children */
        bool last;            /* it has neither, or no more than go now */
} RunSweep;

/* ---- on a thread of the pool ---- */

static void read_children(RunSweep *sweep, Store *store)
{
        g_autoptr(GPtrArray) children = store_run_children(store, sweep->run->seq, CHILDREN_PAGE, NULL);

        sweep->children = children && children->len > 0;
        sweep->last = children && children->len < CHILDREN_PAGE;
        if (sweep->last)
                (void)runs_find_directory(sweep->engine, sweep->run, &sweep->fs, &sweep->directory);
}

static void read_sweep(bool stopped, void *arg)
{
        RunSweep *sweep = arg;
        Store *store = sweep->engine->store;
        gint64 next;

        if (!stopped)
                sweep->run = store_run_expired(store, sweep->before, NULL);
        if (sweep->run && sweep->run->dropped) {
                const RunNodeQuery query = { .run = sweep->run->seq, .limit = PAGE };

                sweep->nodes = store_run_nodes(store, &query, &next, NULL);
                if (sweep->nodes && sweep->nodes->len == 0)
                        read_children(sweep, store);
        }
        inbox_put(&sweep->engine->inbox, &sweep->command);
}

/* ---- the command ---- */

/* Of a run that could not go on after an update of the server; its jobs were cancelled. */
static bool has_live_job(Engine *engine, const GPtrArray *nodes)
{
        for (guint i = 0; i < nodes->len; i++) {
                const RunNodeRecord *node = nodes->pdata[i];

                if (!node->made_by && live_by_seq(engine, node->job))
                        return true;
        }
        return false;
}

static ArtifactRecord *artifacts_of(const RunNodeRecord *node)
{
        ArtifactRecord *key = g_new0(ArtifactRecord, 1);

        key->run = node->run;
        key->node = node->node;
        return key;
}

/* The job of a node that was kept belongs to the run that made it. */
static void drop_nodes(Engine *engine, const GPtrArray *nodes)
{
        for (guint i = 0; i < nodes->len; i++) {
                const RunNodeRecord *node = nodes->pdata[i];
                RunNodeRecord *key = g_new0(RunNodeRecord, 1);

                key->run = node->run;
                key->node = node->node;
                g_ptr_array_add(engine->batch.dropped_nodes, key);
                g_ptr_array_add(engine->batch.dropped_artifacts, artifacts_of(node));
                if (node->job_id && !node->made_by)
                        g_ptr_array_add(engine->batch.dropped_jobs, g_memdup2(&node->job, sizeof node->job));
        }
}

static void drop_some(Engine *engine, const RunSweep *sweep)
{
        const gint64 seq = sweep->run->seq;

        if (runs_find(engine, seq)) { /* a retry that is still being stored */
                engine->retain_runs_at = engine->batch.now + COPY_MS;
                return;
        }
        if (!sweep->nodes || has_live_job(engine, sweep->nodes))
                engine->retain_runs_at = engine->batch.now + REST_MS;
        else
                drop_nodes(engine, sweep->nodes);
        if (sweep->children)
                g_ptr_array_add(engine->batch.dropped_children, g_memdup2(&seq, sizeof seq));
        if (!sweep->last)
                return;
        g_ptr_array_add(engine->batch.dropped_runs, g_memdup2(&seq, sizeof seq));
        if (sweep->directory)
                runs_remove_directory(engine, sweep->run, sweep->fs, sweep->directory);
}

/* One that ended long ago. A retry of it may have begun since it was read. */
static void drop_old(Engine *engine, RunRecord *run)
{
        if (runs_keeper_of(engine, run->seq)) {
                engine->retain_runs_at = engine->batch.now + COPY_MS;
                run_record_free(run);
                return;
        }
        run->dropped = true;
        run->revision = batch_note_run(engine, run, "run.deleted", json_object());
        g_ptr_array_add(engine->batch.changed_runs, run);
}

static bool apply_sweep(Engine *engine, Command *command)
{
        RunSweep *sweep = (RunSweep *)command;
        gint64 now = engine->batch.now, keep = engine->config.keep_finished_ms;

        engine->sweeps_runs = false;
        if (!sweep->run && engine->sweep_again)
                engine->retain_runs_at = 0;
        else if (!sweep->run)
                engine->retain_runs_at = now + (keep > 0 ? CLAMP(keep / 10, 1, REST_MS) : G_MAXINT32);
        else if (sweep->run->dropped)
                drop_some(engine, sweep);
        else
                drop_old(engine, g_steal_pointer(&sweep->run));
        engine->sweep_again = false;
        return true;
}

static void free_sweep(Command *command)
{
        RunSweep *sweep = (RunSweep *)command;

        run_record_free(sweep->run);
        g_free(sweep->fs);
        g_free(sweep->directory);
        g_clear_pointer(&sweep->nodes, g_ptr_array_unref);
}

static const CommandOps sweep_ops = {
        .name = "sweep of runs", .size = sizeof(RunSweep), .apply = apply_sweep, .free = free_sweep
};

void retain_runs(Engine *engine)
{
        gint64 keep = engine->config.keep_finished_ms;
        RunSweep *sweep;

        if (engine->sweeps_runs || engine->batch.now < engine->retain_runs_at)
                return;
        sweep = command_new(&sweep_ops, NULL, NULL);
        sweep->engine = engine;
        sweep->before = keep > 0 ? engine->batch.now - keep : 0;
        engine->sweeps_runs = thread_pool_push(engine->pool, NULL, read_sweep, sweep, NULL);
        if (!engine->sweeps_runs)
                command_free(&sweep->command);
}
