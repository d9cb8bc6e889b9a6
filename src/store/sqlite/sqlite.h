/* Shared by the files of this folder: the store itself, and the conversion of rows to jobs. */
#pragma once

#include "store/array-names.h"
#include "store/cache.h"
#include "store/sqlite/pool.h"
#include "store/sqlite/wal.h"
#include "store/store.h"

typedef struct {
        Store base;
        char *path;  /* of the database */
        int lock_fd; /* held while the store is open */
        Conn writer;
        Pool pool;
        Wal wal;
        JobCache cache;
        ArrayNames arrays;
        bool in_doubt; /* the outcome of a commit is unknown: no further one is tried */
        _Atomic gint64 commits, committed_jobs, committed_events, horizon;
} SqliteStore;

static inline SqliteStore *sqlite_store(Store *base)
{
        return (SqliteStore *)base;
}

/* The columns that every query for jobs returns, in this order, from `job` and its `job_spec`. */
#define JOB_COLUMNS                                                                                          \
        "job.seq, id, user, name, queue, state, updated, job.spec, array, idempotency, body, job_spec.spec"
#define JOB_WITH_SPEC " CROSS JOIN job_spec ON job_spec.seq = job.spec "

/* The same of runs, from `run`. */
#define RUN_COLUMNS                                                                                            \
        "run.seq, run.id, run.user, run.name, run.state, run.created, run.finished, run.revision, run.admin, " \
        "run.stopping, run.forced, run.dropped, run.idempotency, run.message, run.retry_of, run.attempt, "     \
        "iif(run.retry_of, (SELECT earlier.id FROM run AS earlier WHERE earlier.seq = run.retry_of), NULL), "  \
        "run.pipeline, run.version, run.source, run.fs, run.note, run.size, "                                  \
        "run.schedule, run.scheduled, run.paused"
enum { /* their places in a row; RUN_TEXT_COLUMNS may follow */
       RUN_AT_SEQ,
       RUN_AT_ID,
       RUN_AT_USER,
       RUN_AT_NAME,
       RUN_AT_STATE,
       RUN_AT_CREATED,
       RUN_AT_FINISHED,
       RUN_AT_REVISION,
       RUN_AT_ADMIN,
       RUN_AT_STOPPING,
       RUN_AT_FORCED,
       RUN_AT_DROPPED,
       RUN_AT_KEY,
       RUN_AT_MESSAGE,
       RUN_AT_RETRY_OF,
       RUN_AT_ATTEMPT,
       RUN_AT_RETRY_ID,
       RUN_AT_PIPELINE,
       RUN_AT_VERSION,
       RUN_AT_SOURCE,
       RUN_AT_FS,
       RUN_AT_NOTE,
       RUN_AT_SIZE,
       RUN_AT_SCHEDULE,
       RUN_AT_SCHEDULED,
       RUN_AT_PAUSED,
       RUN_AT_TEXT,
};
#define RUN_NODE_COLUMNS                                                                                     \
        "run_node.run, run_node.node, run_node.dag, run_node.component, run_node.number, run_node.state, "   \
        "run_node.flags, run_node.job, run_node.started, run_node.finished, run_node.message, "              \
        "run_node.made_by, iif(run_node.made_by, (SELECT maker.id FROM run AS maker"                         \
        " WHERE maker.seq = run_node.made_by), NULL), run_node.reuse, run_node.taken"
#define RUN_CHILD_COLUMNS                                                                                    \
        "run_child.run, run_child.dag, run_child.component, first, count, rest, list, pause, pause_at, pause_epoch, passed"
#define ARTIFACT_COLUMNS                                                                                     \
        "run_artifact.run, run_artifact.node, run_artifact.output, run_artifact.name, run_artifact.user, "   \
        "run_artifact.fs, run_artifact.path, run_artifact.created"
/* Its text, which lies with the stored pipelines if it came from one, its request, the hash of such a text, and its
 * control. */
#define RUN_TEXT_COLUMNS                                                                                     \
        "coalesce(pipeline_text.text, run_text.text), request, run_text.hash, "                              \
        "(SELECT control FROM run AS controlled WHERE controlled.seq = run_text.seq)"
#define RUN_WITH_STORED " LEFT JOIN pipeline_text ON pipeline_text.hash = run_text.hash"

#define CACHE_COLUMNS                                                                                        \
        "run_cache.seq, run_cache.key, run_cache.first, run_cache.second, run_cache.run, run_cache.node, "   \
        "run_cache.job, run.user, run_cache.fs, run_cache.source, run_cache.step, run_cache.expiry, "        \
        "run_cache.created, run_cache.body, run.id, job.id, job.state"
#define PIPELINE_COLUMNS "seq, user, name, note, made, revision, created, updated"
#define PIPELINE_VERSION_COLUMNS                                                                             \
        "pipeline, version, pipeline_version.hash, size, user, fs, path, created, files, packages"
#define SCHEDULE_COLUMNS                                                                                     \
        "seq, user, name, note, run_user, pipeline, version, fs, crontab, start_at, end_at, concurrency, "   \
        "policy, expire, catchup, state, message, revision, created, updated, next_at, queue, mounts"

/* A row as it was read. Converting it to a job takes longer than reading, so it is done after the read
 * transaction. */
typedef struct {
        gint64 seq, updated, spec_seq, array_seq;
        int state;
        char *id, *user, *name, *queue, *idempotency, *body, *spec;
} JobRow;

JobRow *job_row_read(Conn *conn, int stmt);
void job_row_free(JobRow *row);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(JobRow, job_row_free)
gsize job_row_size(const JobRow *row); /* bytes of text, approximately */
/* `specs`: a cache with which shared specifications are parsed once for all rows; or NULL. */
Job *job_row_make(const JobRow *row, GHashTable *specs, GError **error);
GHashTable *job_specs_new(void);

/* The readers' statements; reader.h names them. */
extern const char *const reader_sql[];
extern const int reader_n_sql;

/* The operations of the table (store.h, StoreOps). */
bool sqlite_commit(Store *base, const StoreBatch *batch, StoreFailure *ret_failure, GError **error);
bool sqlite_load(Store *base, StoreState *ret, GError **error);
bool sqlite_jobs_count(Store *base, const JobQuery *query, int max, int *ret, GError **error);
GPtrArray *sqlite_jobs(Store *base, const JobQuery *query, gint64 *ret_next, GError **error);
bool sqlite_jobs_that_ran(Store *base, const char *queue, gint64 from, gint64 to,
                          bool (*func)(const Job *job, void *arg), void *arg, GError **error);
Store *sqlite_open(const char *dir, GError **error);
void sqlite_close(Store *base);
void sqlite_checkpoint(Store *base);
void sqlite_metrics(Store *base, StoreMetrics *ret);
Job *sqlite_job_by_id(Store *base, const char *id, GError **error);
Job *sqlite_job_by_seq(Store *base, gint64 seq, GError **error);
Job *sqlite_job_by_name(Store *base, const char *user, const char *name, GError **error);
Job *sqlite_job_by_key(Store *base, const char *user, const char *idempotency_key, GError **error);
bool sqlite_array_count(Store *base, gint64 array_seq, ArrayCount *ret, GError **error);
bool sqlite_array_by_name(Store *base, const char *user, const char *name, gint64 *ret, GError **error);
GPtrArray *sqlite_array_jobs(Store *base, gint64 array_seq, guint32 states, int limit, GError **error);
RunRecord *sqlite_run_by_id(Store *base, const char *id, bool text, GError **error);
RunRecord *sqlite_run_by_seq(Store *base, gint64 seq, bool text, GError **error);
RunRecord *sqlite_run_by_key(Store *base, const char *user, const char *key, GError **error);
GPtrArray *sqlite_runs(Store *base, const RunQuery *query, gint64 *ret_next, GError **error);
GPtrArray *sqlite_run_nodes(Store *base, const RunNodeQuery *query, gint64 *ret_next, GError **error);
bool sqlite_run_moment(Store *base, gint64 run, RunMoment *ret, GError **error);
GPtrArray *sqlite_run_children(Store *base, gint64 run, int limit, GError **error);
GArray *sqlite_run_loop_counts(Store *base, gint64 run, guint32 longer, int limit, GError **error);
bool sqlite_run_counts(Store *base, gint64 run, gint64 ret[NODE_STATES], GError **error);
bool sqlite_run_pauses(Store *base, gint64 run, int limit, char **ret_control, GPtrArray **ret,
                       GError **error);
bool sqlite_run_text(Store *base, RunRecord *run, GError **error);
GPtrArray *sqlite_artifacts(Store *base, const ArtifactQuery *query, GError **error);
RunRecord *sqlite_run_expired(Store *base, gint64 before, GError **error);
GPtrArray *sqlite_cache_lookup(Store *base, const CacheLookup *lookup, GError **error);
GPtrArray *sqlite_cache_entries(Store *base, const CacheQuery *query, gint64 *ret_next, GError **error);
CacheEntry *sqlite_cache_entry(Store *base, gint64 seq, GError **error);
CacheEntry *sqlite_cache_of_node(Store *base, gint64 run, guint32 node, GError **error);
CacheEntry *sqlite_cache_of_step(Store *base, const CacheEntry *entry, const char *name, GError **error);
bool sqlite_cache_taker(Store *base, gint64 maker, gint64 job, gint64 from, gint64 *ret, GError **error);
GArray *sqlite_run_chain(Store *base, gint64 run, int limit, GError **error);
GArray *sqlite_cache_users(Store *base, gint64 run, int limit, GError **error);
GArray *sqlite_cache_expired(Store *base, gint64 now, gint64 of_user_max, int limit, GError **error);
RunRecord *sqlite_run_user_of(Store *base, gint64 seq, GError **error);
bool sqlite_run_bytes(Store *base, const char *user, gint64 *ret, GError **error);
PipelineRecord *sqlite_pipeline(Store *base, gint64 seq, GError **error);
PipelineRecord *sqlite_pipeline_by_name(Store *base, const char *user, const char *name, GError **error);
GPtrArray *sqlite_pipelines(Store *base, const PipelineQuery *query, gint64 *ret_next, GError **error);
PipelineVersion *sqlite_pipeline_version(Store *base, gint64 pipeline, int version, bool text,
                                         GError **error);
GPtrArray *sqlite_pipeline_versions(Store *base, gint64 pipeline, int after, int limit, int *ret_next,
                                    GError **error);
ScheduleRecord *sqlite_schedule(Store *base, gint64 seq, GError **error);
ScheduleRecord *sqlite_schedule_by_name(Store *base, const char *user, const char *name, GError **error);
GPtrArray *sqlite_schedules(Store *base, const ScheduleQuery *query, gint64 *ret_next, GError **error);
GPtrArray *sqlite_events(Store *base, const EventQuery *query, GError **error);
gint64 sqlite_events_horizon(Store *base);
Token *sqlite_token_by_hash(Store *base, const char *hash, GError **error);
GPtrArray *sqlite_tokens(Store *base, const char *user, GError **error);
