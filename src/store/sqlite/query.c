/* The readers' side (see store.h). Each read transaction ends with the statement that opened it, at the
 * latest when the connection goes back. A user's events, which no index serves, are
 * read in windows, one short transaction each. Lists of jobs are in list.c. */
#include "base/err.h"
#include "store/sqlite/reader.h"

#define ONE_JOB "SELECT " JOB_COLUMNS " FROM job" JOB_WITH_SPEC

/* ?1 before, ?2 from, ?3 phase, ?4 limit, ?5 user, ?6 name, ?7 queue, ?8 set of states, ?9 array, ?10 changed
 * since, ?11 started since, ?12 first label, ?13 all labels (JSON). What is not asked for is NULL: then
 * the row itself is not read, only the index. */
#define FILTER                                                                                               \
        " AND (?5 IS NULL OR user = ?5) AND (?6 IS NULL OR name = ?6) AND (?7 IS NULL OR queue = ?7)"        \
        " AND (?8 IS NULL OR (?8 >> state) & 1) AND (?9 IS NULL OR array = ?9)"                              \
        " AND (?10 IS NULL OR updated >= ?10) AND (?11 IS NULL OR started >= ?11)"                           \
        " AND (?13 IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(?13) AS more WHERE NOT EXISTS"             \
        "  (SELECT 1 FROM job_label AS has WHERE has.label = more.value AND has.seq = job.seq)))"
#define SEQS(from, which)                                                                                    \
        "SELECT job.seq FROM " from " WHERE " which " AND job.seq < ?1 AND job.seq >= ?2" FILTER             \
        " ORDER BY job.seq DESC LIMIT ?4"
/* The last column of the index job_name (schema.c). SQLite uses the index for exactly this expression. */
#define NAMED_PLACE "iif(phase = 1, 9223372036854775807, seq)"
#define SUBJECT_NAME(constant, number, table)                                                                \
        " WHEN " #number " THEN (SELECT name FROM " table " WHERE seq = subject_seq)"
/* ?1 after, ?2 to, ?3 owner, ?4 limit, ?5 kind of subject, ?6 its seq, ?7 the seq behind the last */
#define EVENTS(from, which)                                                                                  \
        "SELECT revision, time, subject_kind, subject_seq, subject_id, user, kind, data,"                    \
        " CASE subject_kind" SUBJECT_KINDS(                                                                  \
                SUBJECT_NAME) " END FROM " from " WHERE revision > ?1"                                       \
                              " AND revision <= ?2 AND (?3 IS NULL OR user = ?3)" which                      \
                              " ORDER BY revision LIMIT ?4"

/* ?1 before, ?2 from, ?3 set of states (of run_record_state), ?4 name, ?5 limit, ?6 pipeline, ?7 user */
#define RUN_FILTER                                                                                                              \
        "((?3 >> iif(state = 3 AND stopping, 4, state)) & 1 OR ((?3 >> 10) & 1 AND state = 3 AND NOT stopping AND paused > 0))" \
        " AND (?4 IS NULL OR name = ?4)"                                                                                        \
        " AND (?6 = 0 OR pipeline = ?6)"
_Static_assert(NODE_RUNNING == 3 && NODE_STOPPING == 4 && RUN_QUERY_PAUSED == 10,
               "states of runs in queries");
#define RUN_PAGE(from, which)                                                                                \
        "SELECT " RUN_COLUMNS " FROM " from " WHERE seq < ?1 AND seq >= ?2 AND dropped = 0"                  \
        " AND " RUN_FILTER which " ORDER BY seq DESC LIMIT ?5"

/* Nodes in a state from NODE_RUNNING on; others are not stored. */
#define IN_STATE(state) "count(*) FILTER (WHERE state = " #state ")"
#define IN_STATES                                                                                            \
        IN_STATE(3)                                                                                          \
        ", " IN_STATE(4) ", " IN_STATE(5) ", " IN_STATE(6) ", " IN_STATE(7) ", " IN_STATE(8) ", " IN_STATE(9)
_Static_assert(NODE_RUNNING == 3 && NODE_STATES == 10, "states of nodes in queries");
/* ?1 after, ?2 to; the others are the same */
#define RUN_PAGE_UP(from, which)                                                                             \
        "SELECT " RUN_COLUMNS " FROM " from " WHERE seq > ?1 AND seq <= ?2 AND dropped = 0"                  \
        " AND " RUN_FILTER which " ORDER BY seq LIMIT ?5"

/* ?1 pipeline, ?2 version; 0: the newest */
#define ONE_VERSION(columns, from)                                                                           \
        "SELECT " columns " FROM pipeline_version" from                                                      \
        " WHERE pipeline = ?1 AND (?2 = 0 OR version = ?2) ORDER BY version DESC LIMIT 1"

/* A column behind SCHEDULE_COLUMNS: NULL if the pipeline was deleted. */
#define PIPELINE_NAME ", (SELECT name FROM pipeline WHERE seq = schedule.pipeline)"

/* A run that is not dropped and keeps results of the run `seq`. */
#define KEEPER_OF(columns, seq)                                                                              \
        "SELECT " columns " FROM run_node AS kept INDEXED BY run_node_maker CROSS JOIN run"                  \
        " ON run.seq = kept.run WHERE kept.made_by > 0 AND kept.made_by = " seq " AND run.dropped = 0"
#define HAS_KEEPER(seq)                                                                                      \
        "EXISTS (SELECT 1 FROM run_node AS kept INDEXED BY run_node_maker CROSS JOIN run AS keeper"          \
        " ON keeper.seq = kept.run WHERE kept.made_by > 0 AND kept.made_by = " seq                           \
        " AND keeper.dropped = 0)"

#define CACHE_WITH_RUN " CROSS JOIN run ON run.seq = run_cache.run LEFT JOIN job ON job.seq = run_cache.job"

#define TOKEN_COLUMNS "id, user, hash, note, created, expires, login, scope, queue, maker, authority"

const char *const reader_sql[] = {
        [JOB_BY_ID] = ONE_JOB "WHERE id = ?1",
        [JOB_BY_NAME] = "SELECT " JOB_COLUMNS " FROM job INDEXED BY job_name" JOB_WITH_SPEC
                        "WHERE user = ?1 AND name = ?2 ORDER BY iif(phase = 1, 9223372036854775807, job.seq)"
                        " DESC LIMIT 1",
        [JOB_BY_KEY] = ONE_JOB "WHERE user = ?1 AND idempotency = ?2",
        [JOB_BY_SEQ] = ONE_JOB "WHERE job.seq = ?1",
        [SEQS_ALL] = SEQS("job NOT INDEXED", "1"),
        [SEQS_OF_PHASE] = SEQS("job INDEXED BY job_phase", "phase = ?3"),
        [SEQS_ACTIVE] = SEQS("job INDEXED BY job_active", "phase = 1 AND state BETWEEN 3 AND 7"),
        [SEQS_OF_USER] = SEQS("job INDEXED BY job_user", "user = ?5 AND phase = ?3"),
        [SEQS_OF_QUEUE] = SEQS("job INDEXED BY job_queue", "queue = ?7 AND phase = ?3"),
        [SEQS_NAMED_OPEN] = SEQS("job INDEXED BY job_name",
                                 "user = ?5 AND name = ?6 AND " NAMED_PLACE " = 9223372036854775807"),
        [SEQS_NAMED_ENDED] = "SELECT seq FROM job INDEXED BY job_name WHERE user = ?5 AND name = ?6"
                             " AND " NAMED_PLACE " < ?1 AND " NAMED_PLACE " >= ?2" FILTER
                             " ORDER BY " NAMED_PLACE " DESC LIMIT ?4",
        [SEQS_OF_ARRAY] = SEQS("job INDEXED BY job_array", "array > 0 AND array = ?9"),
        [SEQS_LABELLED] = "SELECT job.seq FROM job_label CROSS JOIN job ON job.seq = job_label.seq"
                          " WHERE job_label.label = ?12 AND job_label.seq < ?1 AND job_label.seq >= ?2" FILTER
                          " ORDER BY job_label.seq DESC LIMIT ?4",
        [ARRAY_COUNT] = "SELECT state, count(*), min(seq), max(updated) FROM job INDEXED BY job_array"
                        " WHERE array > 0 AND array = ?1 GROUP BY state",
        [ARRAY_BY_NAME] = "SELECT max(array) FROM job INDEXED BY job_array_name WHERE array > 0 AND user = ?1"
                          " AND rtrim(name, '0123456789') = ?2 || '-'",
        [ARRAY_JOBS] = "SELECT " JOB_COLUMNS " FROM job INDEXED BY job_array" JOB_WITH_SPEC
                       "WHERE array > 0 AND array = ?1 AND (?2 >> state) & 1 ORDER BY job.seq LIMIT ?3",
        [LABEL_COUNT] = "SELECT count(*) FROM (SELECT 1 FROM job_label WHERE label = ?1 LIMIT 1000)",
        [LAST_SEQ] = "SELECT coalesce(max(seq), 0) FROM job",
        /* ?1 queue, ?2 from, ?3 to, ?4 seq, ?5 to seq, ?6 limit */
        [RAN_FIRST] = "SELECT min(seq) FROM job INDEXED BY job_ended WHERE queue = ?1 AND phase > 1 AND "
                      "updated > ?2",
        [RAN_OPEN_FIRST] = "SELECT min(seq) FROM job INDEXED BY job_queue WHERE queue = ?1 AND phase = 1",
        [RAN_PAGE] = "SELECT " JOB_COLUMNS " FROM job NOT INDEXED" JOB_WITH_SPEC
                     "WHERE job.seq >= ?4 AND job.seq < ?5 AND queue = ?1 AND started > 0 AND started < ?3"
                     " AND (phase = 1 OR updated > ?2) ORDER BY job.seq LIMIT ?6",
        [EVENTS_BOUNDS] = "SELECT events_horizon, coalesce((SELECT max(revision) FROM event), 0) FROM state",
        [EVENTS_SINCE] = EVENTS("event", ""),
        [EVENTS_OF_ONE] = EVENTS("event INDEXED BY event_subject", " AND subject_seq > 0 AND subject_seq = ?6"
                                                                   " AND subject_kind = ?5"),
        /* A follower asks for the newest few: those are found by their revisions. */
        [EVENTS_OF_SEVERAL] = EVENTS("event NOT INDEXED", " AND subject_kind = ?5 AND subject_seq >= ?6"
                                                          " AND subject_seq < ?7"),
        [RUN_BY_ID] = "SELECT " RUN_COLUMNS " FROM run WHERE id = ?1 AND dropped = 0",
        [RUN_BY_SEQ] = "SELECT " RUN_COLUMNS " FROM run WHERE seq = ?1 AND dropped = 0",
        [RUN_BY_KEY] = "SELECT " RUN_COLUMNS " FROM run WHERE user = ?1 AND idempotency = ?2 AND dropped = 0",
        [RUN_TEXT] = "SELECT " RUN_TEXT_COLUMNS " FROM run_text" RUN_WITH_STORED " WHERE run_text.seq = ?1",
        [RUNS] = RUN_PAGE("run NOT INDEXED", ""),
        [RUNS_OF_USER] = RUN_PAGE("run INDEXED BY run_user", " AND user = ?7"),
        [RUNS_UP] = RUN_PAGE_UP("run NOT INDEXED", ""),
        [RUNS_UP_OF_USER] = RUN_PAGE_UP("run INDEXED BY run_user", " AND user = ?7"),
        [RUNS_OF_SCHEDULE] = RUN_PAGE("run INDEXED BY run_schedule", " AND schedule > 0 AND schedule = ?7"),
        [RUNS_UP_OF_SCHEDULE] =
                RUN_PAGE_UP("run INDEXED BY run_schedule", " AND schedule > 0 AND schedule = ?7"),
        [RUN_LAST_SEQ] = "SELECT coalesce(max(seq), 0) FROM run",
        [RUN_MOMENT] = "SELECT (SELECT coalesce(max(seq), 0) FROM job), (SELECT coalesce(max(taken), 0)"
                       " FROM run_node INDEXED BY run_node_taken WHERE run = ?1 AND taken > 0)",
        [RUN_NODES] =
                "SELECT " RUN_NODE_COLUMNS ", job.id FROM run_node LEFT JOIN job ON job.seq = run_node.job"
                " WHERE run = ?1 AND node > ?2 AND node <= ?3 AND (?4 >> run_node.state) & 1"
                " AND (NOT ?6 OR iif(run_node.taken, run_node.taken > ?9 AND run_node.taken <= ?10,"
                " run_node.job > ?7 AND run_node.job <= ?8)) ORDER BY node LIMIT ?5",
        [RUN_LAST_NODE] = "SELECT coalesce(max(node), 0) FROM run_node WHERE run = ?1",
        [RUN_CHILDREN] =
                "SELECT " RUN_CHILD_COLUMNS " FROM run_child WHERE run = ?1 ORDER BY dag, component LIMIT ?2",
        [RUN_CONTROL] = "SELECT control FROM run WHERE seq = ?1",
        [RUN_PAUSES] = "SELECT " RUN_CHILD_COLUMNS " FROM run_child INDEXED BY run_child_paused"
                       " WHERE run = ?1 AND pause > 0 ORDER BY dag, component LIMIT ?2",
        [RUN_COUNT_LOOPS] =
                "SELECT loop.dag, loop.component, run_node.state, count(*), sum(made_by IS NOT NULL AND made_by > 0 AND reuse IS NULL), sum(reuse IS NOT NULL) FROM run_child AS loop CROSS JOIN run_node"
                " ON run_node.run = loop.run AND node >= loop.first AND node < loop.first + loop.count"
                " WHERE loop.run = ?1 AND loop.count > ?2"
                " GROUP BY loop.dag, loop.component, run_node.state LIMIT ?3",
        /* One pass; GROUP BY sorts all nodes, seven times as long. */
        [RUN_COUNT_NODES] = "SELECT " IN_STATES " FROM run_node WHERE run = ?1",
        /* Of a loop, those of its nodes that have a row count as such. */
        [RUN_COUNT_RESTS] =
                "SELECT rest, sum(max(count - (SELECT count(*) FROM run_node WHERE run_node.run = ?1"
                " AND node >= first AND node < first + run_child.count), iif(first = 0, 1, 0)))"
                " FROM run_child WHERE run = ?1 AND rest > 0 GROUP BY rest",
        [RUN_DROPPED] = "SELECT " RUN_COLUMNS " FROM run INDEXED BY run_dropped WHERE dropped = 1 LIMIT 1",
        [RUN_EXPIRED] =
                "SELECT " RUN_COLUMNS " FROM run INDEXED BY run_ended WHERE state >= 5 AND dropped = 0"
                " AND finished <= ?1 AND NOT " HAS_KEEPER("run.seq") " ORDER BY finished LIMIT 1",
        [ARTIFACTS_OF_RUN] =
                "SELECT " ARTIFACT_COLUMNS ", run.id, job.id FROM run_artifact"
                " CROSS JOIN run ON run.seq = run_artifact.run"
                " LEFT JOIN run_node ON run_node.run = run_artifact.run AND run_node.node = run_artifact.node"
                " LEFT JOIN job ON job.seq = run_node.job"
                " WHERE run_artifact.run = ?6 AND run.dropped = 0"
                " AND (run_artifact.node, run_artifact.output, run_artifact.name) > (?3, ?4, ?5)"
                " AND run_artifact.path >= ?2 AND run_artifact.path < ?2 || char(1114111)"
                " ORDER BY run_artifact.node, run_artifact.output, run_artifact.name LIMIT ?1",
        /* A run of a deleted user was renamed: it is not among those of a later user of that name. */
        [ARTIFACTS_AT] =
                "SELECT " ARTIFACT_COLUMNS ", run.id, job.id FROM run_artifact INDEXED BY run_artifact_path"
                " CROSS JOIN run ON run.seq = run_artifact.run"
                " LEFT JOIN run_node ON run_node.run = run_artifact.run AND run_node.node = run_artifact.node"
                " LEFT JOIN job ON job.seq = run_node.job"
                " WHERE run_artifact.user = ?8 AND run_artifact.fs = ?9 AND run.user = ?8 AND run.dropped = 0"
                " AND run_artifact.path >= ?2 AND run_artifact.path < ?2 || char(1114111)"
                " AND (run_artifact.path, run_artifact.run, run_artifact.node, run_artifact.output,"
                " run_artifact.name) > (?7, ?6, ?3, ?4, ?5)"
                " ORDER BY run_artifact.path, run_artifact.run, run_artifact.node, run_artifact.output,"
                " run_artifact.name LIMIT ?1",
        [RUN_BYTES] =
                "SELECT coalesce(sum(size), 0) FROM run INDEXED BY run_size WHERE user = ?1 AND dropped = 0",
        [RUN_USER_OF] = KEEPER_OF(RUN_COLUMNS, "?1") " LIMIT 1",
        /* A run of a deleted user was renamed: its entries are not those of a later user of that name. */
        [CACHE_LOOKUP] =
                "SELECT " CACHE_COLUMNS " FROM run_cache INDEXED BY run_cache_key" CACHE_WITH_RUN
                " WHERE key = ?1 AND second = ?2 AND run_cache.seq < ?3 AND run_cache.run <> ?4"
                " AND run.user = run_cache.user AND run.dropped = 0 ORDER BY run_cache.seq DESC LIMIT ?5",
        [CACHE_LIST] = "SELECT " CACHE_COLUMNS " FROM run_cache NOT INDEXED" CACHE_WITH_RUN
                       " WHERE run_cache.seq > ?1 AND run_cache.seq <= ?2 AND run.dropped = 0"
                       " AND (?3 IS NULL OR run.user = ?3) AND (?4 IS NULL OR run_cache.fs = ?4)"
                       " ORDER BY run_cache.seq LIMIT ?5",
        [CACHE_LIST_OF_RUN] =
                "SELECT " CACHE_COLUMNS " FROM run_cache INDEXED BY run_cache_node" CACHE_WITH_RUN
                " WHERE run_cache.run = ?6 AND run_cache.seq > ?1 AND run_cache.seq <= ?2"
                " AND run.dropped = 0 AND (?3 IS NULL OR run.user = ?3)"
                " AND (?4 IS NULL OR run_cache.fs = ?4) ORDER BY run_cache.seq LIMIT ?5",
        [CACHE_LAST_SEQ] = "SELECT coalesce(max(seq), 0) FROM run_cache",
        [CACHE_BY_SEQ] = "SELECT " CACHE_COLUMNS " FROM run_cache" CACHE_WITH_RUN
                         " WHERE run_cache.seq = ?1 AND run.dropped = 0",
        [CACHE_OF_NODE] =
                "SELECT " CACHE_COLUMNS " FROM run_cache INDEXED BY run_cache_node" CACHE_WITH_RUN
                " WHERE run_cache.run = ?1 AND run_cache.node = ?2 ORDER BY run_cache.seq DESC LIMIT 1",
        [CACHE_OF_STEP] =
                "SELECT " CACHE_COLUMNS " FROM run_cache INDEXED BY run_cache_step" CACHE_WITH_RUN
                " WHERE run_cache.user = ?1 AND step = ?2 AND run_cache.seq < ?3 AND run.name = ?4"
                " AND run_cache.second <> ''"
                " AND run.user = run_cache.user AND run.dropped = 0 ORDER BY run_cache.seq DESC LIMIT 1",
        [CACHE_TAKER] = "SELECT run FROM run_node INDEXED BY run_node_maker"
                        " WHERE made_by > 0 AND made_by = ?1 AND job = ?2 AND run >= ?3 ORDER BY run LIMIT 1",
        [RUN_CHAIN] =
                "WITH RECURSIVE chain (run, earlier) AS (SELECT seq, retry_of FROM run WHERE seq = ?1"
                " UNION ALL SELECT seq, retry_of FROM chain CROSS JOIN run ON run.seq = chain.earlier LIMIT ?2)"
                " SELECT run FROM chain",
        [CACHE_USERS] =
                "SELECT DISTINCT run.seq FROM run_node AS kept INDEXED BY run_node_maker CROSS JOIN run"
                " ON run.seq = kept.run WHERE kept.made_by > 0 AND kept.made_by = ?1"
                " AND kept.reuse IS NOT NULL AND run.dropped = 0 ORDER BY run.seq LIMIT ?2",
        [CACHE_EXPIRED] = "SELECT seq FROM run_cache INDEXED BY run_cache_end"
                          " WHERE expiry >= 0 AND created + 1000 * expiry <= ?1 LIMIT ?2",
        [CACHE_OWNERS] = "SELECT user, n FROM run_cache_count WHERE n > ?1 LIMIT 1",
        [CACHE_TOO_MANY] =
                "SELECT seq FROM run_cache INDEXED BY run_cache_user WHERE user = ?1 ORDER BY seq LIMIT ?2",
        [PIPELINE_BY_SEQ] = "SELECT " PIPELINE_COLUMNS " FROM pipeline WHERE seq = ?1",
        [PIPELINE_BY_NAME] = "SELECT " PIPELINE_COLUMNS
                             " FROM pipeline INDEXED BY pipeline_name WHERE user = ?1 AND name = ?2",
        /* The engine bounds their number, so that a scan of all takes some milliseconds. */
        [PIPELINES] = "SELECT " PIPELINE_COLUMNS " FROM pipeline WHERE seq > ?1 AND (?2 IS NULL OR user = ?2)"
                      " AND (?3 IS NULL OR name = ?3) ORDER BY seq LIMIT ?4",
        [VERSION_BARE] = ONE_VERSION(PIPELINE_VERSION_COLUMNS, ""),
        [VERSION_WITH_TEXT] =
                ONE_VERSION(PIPELINE_VERSION_COLUMNS ", text",
                            " CROSS JOIN pipeline_text ON pipeline_text.hash = pipeline_version.hash"),
        [VERSIONS] = "SELECT " PIPELINE_VERSION_COLUMNS
                     " FROM pipeline_version WHERE pipeline = ?1 AND version > ?2 ORDER BY version LIMIT ?3",
        [SCHEDULE_BY_SEQ] = "SELECT " SCHEDULE_COLUMNS PIPELINE_NAME " FROM schedule WHERE seq = ?1",
        [SCHEDULE_BY_NAME] = "SELECT " SCHEDULE_COLUMNS PIPELINE_NAME
                             " FROM schedule INDEXED BY schedule_name WHERE user = ?1 AND name = ?2",
        /* The engine bounds their number, as that of pipelines. */
        [SCHEDULES] =
                "SELECT " SCHEDULE_COLUMNS PIPELINE_NAME
                " FROM schedule WHERE seq > ?1 AND (?2 IS NULL OR user = ?2)"
                " AND (?3 IS NULL OR name = ?3) AND (?4 = 0 OR pipeline = ?4) AND (?5 = 0 OR version = ?5)"
                " AND (?6 >> state) & 1 ORDER BY seq LIMIT ?7",
        [TOKEN_BY_HASH] = "SELECT " TOKEN_COLUMNS " FROM token WHERE hash = ?1",
        [TOKENS] = "SELECT " TOKEN_COLUMNS " FROM token WHERE user = coalesce(?1, user) ORDER BY created, id",
};
G_STATIC_ASSERT(G_N_ELEMENTS(reader_sql) == READER_N_SQL);
const int reader_n_sql = READER_N_SQL;

/* The row that `stmt` finds for one or two texts. *ret_row NULL: there is none. */
static bool find_job(SqliteStore *store, int stmt, const char *first, const char *second, JobRow **ret_row,
                     GError **error)
{
        Conn *conn = pool_take(&store->pool, error);
        Step step;

        if (!conn)
                return false;
        conn_bind_text(conn, stmt, 1, first);
        if (second)
                conn_bind_text(conn, stmt, 2, second);
        step = conn_step(conn, stmt, error);
        *ret_row = step == STEP_ROW ? job_row_read(conn, stmt) : NULL;
        pool_give(&store->pool, conn);
        return step != STEP_ERROR;
}

/* A job that has ended is kept for whoever asks next. */
static Job *make_job(SqliteStore *store, const JobRow *row, guint64 generation, GError **error)
{
        Job *job = job_row_make(row, NULL, error);

        if (job && job_state_is_final(job->state))
                cache_put(&store->cache, job, generation);
        return job;
}

Job *sqlite_job_by_id(Store *base, const char *id, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(JobRow) row = NULL;
        guint64 generation;
        Job *job;

        job = cache_get(&store->cache, id);
        if (job)
                return job;
        generation = cache_generation(&store->cache);
        if (!find_job(store, JOB_BY_ID, id, NULL, &row, error))
                return NULL;
        if (!row)
                err_set(error, ERR_NOT_FOUND, "there is no job '%s'", id);
        return row ? make_job(store, row, generation, error) : NULL;
}

Job *sqlite_job_by_seq(Store *base, gint64 seq, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        g_autoptr(JobRow) row = NULL;
        Step step;

        if (!conn)
                return NULL;
        conn_bind_int(conn, JOB_BY_SEQ, 1, seq);
        step = conn_step(conn, JOB_BY_SEQ, error);
        row = step == STEP_ROW ? job_row_read(conn, JOB_BY_SEQ) : NULL;
        pool_give(&store->pool, conn);
        if (step == STEP_DONE)
                err_set(error, ERR_NOT_FOUND, "there is no job with the number %" G_GINT64_FORMAT, seq);
        return row ? job_row_make(row, NULL, error) : NULL;
}

Job *sqlite_job_by_name(Store *base, const char *user, const char *name, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(JobRow) row = NULL;

        if (!find_job(store, JOB_BY_NAME, user, name, &row, error))
                return NULL;
        if (!row)
                err_set(error, ERR_NOT_FOUND, "user '%s' has no job named '%s'", user, name);
        return row ? job_row_make(row, NULL, error) : NULL;
}

Job *sqlite_job_by_key(Store *base, const char *user, const char *idempotency_key, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(JobRow) row = NULL;

        if (!find_job(store, JOB_BY_KEY, user, idempotency_key, &row, error))
                return NULL;
        if (!row)
                err_set(error, ERR_NOT_FOUND, "user '%s' has no job with the idempotency key '%s'", user,
                        idempotency_key);
        return row ? job_row_make(row, NULL, error) : NULL;
}

/* ---- arrays ---- */

static void take_count(Conn *conn, ArrayCount *ret)
{
        gint64 state = conn_int(conn, ARRAY_COUNT, 0);

        if (state < 0 || state >= JOB_STATES)
                return; /* a database that somebody changed */
        ret->counts[state] = (int)conn_int(conn, ARRAY_COUNT, 1);
        ret->first[state] = conn_int(conn, ARRAY_COUNT, 2);
        ret->updated = MAX(ret->updated, conn_int(conn, ARRAY_COUNT, 3));
        ret->size += ret->counts[state];
}

bool sqlite_array_count(Store *base, gint64 array_seq, ArrayCount *ret, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        Step step;

        *ret = (ArrayCount){ .size = 0 };
        if (!conn)
                return false;
        conn_bind_int(conn, ARRAY_COUNT, 1, array_seq);
        while ((step = conn_step(conn, ARRAY_COUNT, error)) == STEP_ROW)
                take_count(conn, ret);
        pool_give(&store->pool, conn);
        return step == STEP_DONE;
}

/* 0: there is none. */
static bool read_array_by_name(SqliteStore *store, const char *user, const char *name, gint64 *ret,
                               GError **error)
{
        Conn *conn = pool_take(&store->pool, error);
        Step step;

        if (!conn)
                return false;
        conn_bind_text(conn, ARRAY_BY_NAME, 1, user);
        conn_bind_text(conn, ARRAY_BY_NAME, 2, name);
        step = conn_step(conn, ARRAY_BY_NAME, error);
        *ret = step == STEP_ROW ? conn_int(conn, ARRAY_BY_NAME, 0) : 0;
        pool_give(&store->pool, conn);
        return step != STEP_ERROR;
}

bool sqlite_array_by_name(Store *base, const char *user, const char *name, gint64 *ret, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        guint64 generation;

        if (!array_names_get(&store->arrays, user, name, ret, &generation)) {
                if (!read_array_by_name(store, user, name, ret, error))
                        return false;
                array_names_put(&store->arrays, user, name, *ret, generation);
        }
        return *ret > 0 || err_set(error, ERR_NOT_FOUND, "user '%s' has no array named '%s'", user, name);
}

GPtrArray *sqlite_array_jobs(Store *base, gint64 array_seq, guint32 states, int limit, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)job_row_free);
        g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func((GDestroyNotify)job_unref);
        g_autoptr(GHashTable) specs = job_specs_new();
        Conn *conn = pool_take(&store->pool, error);
        Step step;

        if (!conn)
                return NULL;
        conn_bind_int(conn, ARRAY_JOBS, 1, array_seq);
        conn_bind_int(conn, ARRAY_JOBS, 2, states);
        conn_bind_int(conn, ARRAY_JOBS, 3, limit);
        while ((step = conn_step(conn, ARRAY_JOBS, error)) == STEP_ROW)
                g_ptr_array_add(rows, job_row_read(conn, ARRAY_JOBS));
        pool_give(&store->pool, conn);
        for (guint i = 0; step == STEP_DONE && i < rows->len; i++) {
                Job *job = job_row_make(rows->pdata[i], specs, error);

                if (!job)
                        return NULL;
                g_ptr_array_add(jobs, job);
        }
        return step == STEP_DONE ? g_steal_pointer(&jobs) : NULL;
}

/* ---- events ---- */

static Event *read_event(Conn *conn, int stmt)
{
        g_autofree char *id = conn_text(conn, stmt, 4);
        Event *event = g_new0(Event, 1);

        event->revision = conn_int(conn, stmt, 0);
        event->time = conn_int(conn, stmt, 1);
        event->subject.kind = (SubjectKind)conn_int(conn, stmt, 2);
        event->subject.seq = conn_int(conn, stmt, 3);
        g_strlcpy(event->subject.id, id, sizeof event->subject.id);
        event->subject.owner = conn_text(conn, stmt, 5);
        event->kind = conn_text(conn, stmt, 6);
        event->data = conn_text(conn, stmt, 7);
        event->name = conn_text(conn, stmt, 8);
        return event;
}

typedef struct {
        const EventQuery *query;
        gint64 after, last; /* revisions: read up to here; the newest one */
        GPtrArray *events;
} EventScan;

/* The horizon and the events are read in one transaction: the row of the first statement stays open over the
 * second. */
static bool check_horizon(EventScan *scan, Conn *conn, GError **error)
{
        gint64 horizon;

        if (conn_step(conn, EVENTS_BOUNDS, error) != STEP_ROW)
                return false;
        horizon = conn_int(conn, EVENTS_BOUNDS, 0);
        scan->last = conn_int(conn, EVENTS_BOUNDS, 1);
        if (scan->after == 0 && scan->query->subject != SUBJECT_NONE)
                scan->after = horizon;
        if (scan->after >= horizon)
                return true;
        return err_set(error, ERR_GONE,
                       "events since %" G_GINT64_FORMAT
                       " are kept no longer, only those after %" G_GINT64_FORMAT
                       "\nRead the jobs again and go on from the newest revision.",
                       scan->after, horizon);
}

static bool read_events(EventScan *scan, Conn *conn, GError **error)
{
        const EventQuery *query = scan->query;
        bool all = query->subject == SUBJECT_NONE;
        int stmt = all ? EVENTS_SINCE : query->n > 0 ? EVENTS_OF_SEVERAL : EVENTS_OF_ONE;
        gint64 to;
        Step step;

        if (!check_horizon(scan, conn, error))
                return false;
        /* No index is over an owner's or several subjects' events alone. */
        to = (all && query->owner) || query->n > 0 ? MIN(scan->last, scan->after + READ_WINDOW) : scan->last;
        conn_bind_int(conn, stmt, 1, scan->after);
        conn_bind_int(conn, stmt, 2, to);
        conn_bind_text(conn, stmt, 3, query->owner);
        conn_bind_int(conn, stmt, 4, query->limit - (int)scan->events->len);
        if (!all) {
                conn_bind_int(conn, stmt, 5, query->subject);
                conn_bind_int(conn, stmt, 6, query->seq);
        }
        if (query->n > 0)
                conn_bind_int(conn, stmt, 7, query->seq + query->n);
        while ((step = conn_step(conn, stmt, error)) == STEP_ROW)
                g_ptr_array_add(scan->events, read_event(conn, stmt));
        scan->after = MAX(scan->after, to);
        return step == STEP_DONE;
}

GPtrArray *sqlite_events(Store *base, const EventQuery *query, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(GPtrArray) events = g_ptr_array_new_with_free_func((GDestroyNotify)event_free);
        EventScan scan = { query, .after = query->since, .last = query->since + 1, .events = events };

        while (scan.after < scan.last && events->len < (guint)query->limit) {
                Conn *conn = pool_take(&store->pool, error);
                bool ok = conn && read_events(&scan, conn, error);

                pool_give(&store->pool, conn);
                if (!ok)
                        return NULL;
        }
        return g_steal_pointer(&events);
}

gint64 sqlite_events_horizon(Store *base)
{
        SqliteStore *store = sqlite_store(base);

        return store->horizon;
}

static void *read_token(Conn *conn, int stmt)
{
        Token *token = g_new0(Token, 1);

        token->id = conn_text(conn, stmt, 0);
        token->user = conn_text(conn, stmt, 1);
        token->hash = conn_text(conn, stmt, 2);
        token->note = conn_text(conn, stmt, 3);
        token->created = conn_int(conn, stmt, 4);
        token->expires = conn_int(conn, stmt, 5);
        token->login = (TokenLogin)CLAMP(conn_int(conn, stmt, 6), TOKEN_OWN, TOKEN_OF_LOGIN);
        token->scope = (Scope)CLAMP(conn_int(conn, stmt, 7), SCOPE_READ, SCOPE_ADMIN);
        token->queue = conn_text(conn, stmt, 8);
        token->maker = conn_text(conn, stmt, 9);
        token->authority = conn_text(conn, stmt, 10);
        return token;
}

/* All rows that `stmt` finds for `text` (NULL: it takes none), each read by `read`. */
static GPtrArray *find_all(SqliteStore *store, int stmt, const char *text, void *(*read)(Conn *, int),
                           GDestroyNotify free_row, GError **error)
{
        g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(free_row);
        Conn *conn = pool_take(&store->pool, error);
        Step step;

        if (!conn)
                return NULL;
        if (text)
                conn_bind_text(conn, stmt, 1, text);
        while ((step = conn_step(conn, stmt, error)) == STEP_ROW)
                g_ptr_array_add(rows, read(conn, stmt));
        pool_give(&store->pool, conn);
        return step == STEP_DONE ? g_steal_pointer(&rows) : NULL;
}

Token *sqlite_token_by_hash(Store *base, const char *hash, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(GPtrArray) tokens =
                find_all(store, TOKEN_BY_HASH, hash, read_token, (GDestroyNotify)token_free, error);

        if (tokens && tokens->len > 0)
                return g_ptr_array_steal_index(tokens, 0);
        if (tokens)
                err_set(error, ERR_NOT_FOUND, "the token is not known");
        return NULL;
}

GPtrArray *sqlite_tokens(Store *base, const char *user, GError **error)
{
        SqliteStore *store = sqlite_store(base);

        return find_all(store, TOKENS, user, read_token, (GDestroyNotify)token_free, error);
}
