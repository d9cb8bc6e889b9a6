/* What the store hands out and takes in, and the calls into the implementation (see store.h). */
#include "store/store.h"

#include "store/guard.h"

void event_free(Event *event)
{
        if (!event)
                return;
        g_free(event->name);
        g_free(event->subject.owner);
        g_free(event->kind);
        g_free(event->data);
        g_free(event);
}

void store_state_clear(StoreState *state)
{
        for (int kind = 0; kind < RECORD_KINDS; kind++)
                g_clear_pointer(&state->loaded[kind], g_ptr_array_unref);
}

void usage_free(Usage *usage)
{
        if (!usage)
                return;
        g_free(usage->queue);
        g_free(usage->user);
        g_free(usage);
}

void token_free(Token *token)
{
        if (!token)
                return;
        g_free(token->id);
        g_free(token->user);
        g_free(token->hash);
        g_free(token->note);
        g_free(token->parent);
        g_free(token->queue);
        g_free(token->maker);
        g_free(token->authority);
        g_free(token);
}

/* ---- the operations ---- */

Store *store_open_as(const StoreOps *ops, const char *dir, GError **error)
{
        Store *store = ops->open(dir, error);

        if (store)
                store->ops = ops;
        return store;
}

Store *store_open(const char *dir, GError **error)
{
        return store_open_as(&store_sqlite, dir, error);
}

void store_close(Store *store)
{
        if (store)
                store->ops->close(store);
}

bool store_load(Store *store, StoreState *ret, GError **error)
{
        return store->ops->load(store, ret, error);
}

bool store_commit(Store *store, const StoreBatch *batch, StoreFailure *ret_failure, GError **error)
{
        return store->ops->commit(store, batch, ret_failure, error);
}

void store_checkpoint(Store *store)
{
        store->ops->checkpoint(store);
}

void store_metrics(Store *store, StoreMetrics *ret)
{
        store->ops->metrics(store, ret);
}

Job *store_job_by_id(Store *store, const char *id, GError **error)
{
        store_check_read();
        return store->ops->job_by_id(store, id, error);
}

Job *store_job_by_seq(Store *store, gint64 seq, GError **error)
{
        store_check_read();
        return store->ops->job_by_seq(store, seq, error);
}

Job *store_job_by_name(Store *store, const char *user, const char *name, GError **error)
{
        store_check_read();
        return store->ops->job_by_name(store, user, name, error);
}

Job *store_job_by_key(Store *store, const char *user, const char *idempotency_key, GError **error)
{
        store_check_read();
        return store->ops->job_by_key(store, user, idempotency_key, error);
}

GPtrArray *store_jobs(Store *store, const JobQuery *query, gint64 *ret_next, GError **error)
{
        store_check_read();
        return store->ops->jobs(store, query, ret_next, error);
}

bool store_jobs_count(Store *store, const JobQuery *query, int max, int *ret, GError **error)
{
        store_check_read();
        return store->ops->jobs_count(store, query, max, ret, error);
}

bool store_jobs_that_ran(Store *store, const char *queue, gint64 from, gint64 to,
                         bool (*func)(const Job *job, void *arg), void *arg, GError **error)
{
        store_check_read();
        return store->ops->jobs_that_ran(store, queue, from, to, func, arg, error);
}

bool store_array_count(Store *store, gint64 array_seq, ArrayCount *ret, GError **error)
{
        store_check_read();
        return store->ops->array_count(store, array_seq, ret, error);
}

bool store_array_by_name(Store *store, const char *user, const char *name, gint64 *ret, GError **error)
{
        store_check_read();
        return store->ops->array_by_name(store, user, name, ret, error);
}

GPtrArray *store_array_jobs(Store *store, gint64 array_seq, guint32 states, int limit, GError **error)
{
        store_check_read();
        return store->ops->array_jobs(store, array_seq, states, limit, error);
}

RunRecord *store_run_by_id(Store *store, const char *id, bool text, GError **error)
{
        store_check_read();
        return store->ops->run_by_id(store, id, text, error);
}

RunRecord *store_run_by_seq(Store *store, gint64 seq, bool text, GError **error)
{
        store_check_read();
        return store->ops->run_by_seq(store, seq, text, error);
}

RunRecord *store_run_by_key(Store *store, const char *user, const char *idempotency_key, GError **error)
{
        store_check_read();
        return store->ops->run_by_key(store, user, idempotency_key, error);
}

GPtrArray *store_runs(Store *store, const RunQuery *query, gint64 *ret_next, GError **error)
{
        store_check_read();
        return store->ops->runs(store, query, ret_next, error);
}

GPtrArray *store_run_nodes(Store *store, const RunNodeQuery *query, gint64 *ret_next, GError **error)
{
        store_check_read();
        return store->ops->run_nodes(store, query, ret_next, error);
}

bool store_run_pauses(Store *store, gint64 run, int limit, char **ret_control, GPtrArray **ret,
                      GError **error)
{
        return store->ops->run_pauses(store, run, limit, ret_control, ret, error);
}

GPtrArray *store_run_children(Store *store, gint64 run, int limit, GError **error)
{
        store_check_read();
        return store->ops->run_children(store, run, limit, error);
}

bool store_run_counts(Store *store, gint64 run, gint64 ret[NODE_STATES], GError **error)
{
        store_check_read();
        return store->ops->run_counts(store, run, ret, error);
}

bool store_run_text(Store *store, RunRecord *run, GError **error)
{
        store_check_read();
        return store->ops->run_text(store, run, error);
}

GPtrArray *store_artifacts(Store *store, const ArtifactQuery *query, GError **error)
{
        store_check_read();
        return store->ops->artifacts(store, query, error);
}

RunRecord *store_run_expired(Store *store, gint64 before, GError **error)
{
        store_check_read();
        return store->ops->run_expired(store, before, error);
}

bool store_run_moment(Store *store, gint64 run, RunMoment *ret, GError **error)
{
        store_check_read();
        return store->ops->run_moment(store, run, ret, error);
}

GArray *store_run_loop_counts(Store *store, gint64 run, guint32 longer, int limit, GError **error)
{
        store_check_read();
        return store->ops->run_loop_counts(store, run, longer, limit, error);
}

RunRecord *store_run_user_of(Store *store, gint64 seq, GError **error)
{
        store_check_read();
        return store->ops->run_user_of(store, seq, error);
}

bool store_run_bytes(Store *store, const char *user, gint64 *ret, GError **error)
{
        store_check_read();
        return store->ops->run_bytes(store, user, ret, error);
}

GPtrArray *store_cache_lookup(Store *store, const CacheLookup *lookup, GError **error)
{
        store_check_read();
        return store->ops->cache_lookup(store, lookup, error);
}

GPtrArray *store_cache_entries(Store *store, const CacheQuery *query, gint64 *ret_next, GError **error)
{
        store_check_read();
        return store->ops->cache_entries(store, query, ret_next, error);
}

CacheEntry *store_cache_entry(Store *store, gint64 seq, GError **error)
{
        store_check_read();
        return store->ops->cache_entry(store, seq, error);
}

CacheEntry *store_cache_of_node(Store *store, gint64 run, guint32 node, GError **error)
{
        store_check_read();
        return store->ops->cache_of_node(store, run, node, error);
}

CacheEntry *store_cache_of_step(Store *store, const CacheEntry *entry, const char *name, GError **error)
{
        store_check_read();
        return store->ops->cache_of_step(store, entry, name, error);
}

bool store_cache_taker(Store *store, gint64 maker, gint64 job, gint64 from, gint64 *ret, GError **error)
{
        store_check_read();
        return store->ops->cache_taker(store, maker, job, from, ret, error);
}

GArray *store_run_chain(Store *store, gint64 run, int limit, GError **error)
{
        store_check_read();
        return store->ops->run_chain(store, run, limit, error);
}

GArray *store_cache_users(Store *store, gint64 run, int limit, GError **error)
{
        store_check_read();
        return store->ops->cache_users(store, run, limit, error);
}

GArray *store_cache_expired(Store *store, gint64 now, gint64 of_user_max, int limit, GError **error)
{
        store_check_read();
        return store->ops->cache_expired(store, now, of_user_max, limit, error);
}

PipelineRecord *store_pipeline(Store *store, gint64 seq, GError **error)
{
        store_check_read();
        return store->ops->pipeline(store, seq, error);
}

PipelineRecord *store_pipeline_by_name(Store *store, const char *user, const char *name, GError **error)
{
        store_check_read();
        return store->ops->pipeline_by_name(store, user, name, error);
}

GPtrArray *store_pipelines(Store *store, const PipelineQuery *query, gint64 *ret_next, GError **error)
{
        store_check_read();
        return store->ops->pipelines(store, query, ret_next, error);
}

PipelineVersion *store_pipeline_version(Store *store, gint64 pipeline, int version, bool text, GError **error)
{
        store_check_read();
        return store->ops->pipeline_version(store, pipeline, version, text, error);
}

GPtrArray *store_pipeline_versions(Store *store, gint64 pipeline, int after, int limit, int *ret_next,
                                   GError **error)
{
        store_check_read();
        return store->ops->pipeline_versions(store, pipeline, after, limit, ret_next, error);
}

ScheduleRecord *store_schedule(Store *store, gint64 seq, GError **error)
{
        store_check_read();
        return store->ops->schedule(store, seq, error);
}

ScheduleRecord *store_schedule_by_name(Store *store, const char *user, const char *name, GError **error)
{
        store_check_read();
        return store->ops->schedule_by_name(store, user, name, error);
}

GPtrArray *store_schedules(Store *store, const ScheduleQuery *query, gint64 *ret_next, GError **error)
{
        store_check_read();
        return store->ops->schedules(store, query, ret_next, error);
}

GPtrArray *store_events(Store *store, const EventQuery *query, GError **error)
{
        store_check_read();
        return store->ops->events(store, query, error);
}

gint64 store_events_horizon(Store *store)
{
        return store->ops->events_horizon(store);
}

Token *store_token_by_hash(Store *store, const char *hash, GError **error)
{
        store_check_read();
        return store->ops->token_by_hash(store, hash, error);
}

GPtrArray *store_tokens(Store *store, const char *user, GError **error)
{
        store_check_read();
        return store->ops->tokens(store, user, error);
}
