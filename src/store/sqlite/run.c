/* Runs of pipelines: how their records are written (see writer.h), and what readers ask of them (see store.h). */
#include "base/err.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/writer.h"

enum { FLAG_CULPRIT = 1, FLAG_INNER = 2 }; /* of the column `flags` of run_node */
enum { CHILDREN_PER_DROP = 1000 };

/* ---- writing ---- */

bool write_new_run(Conn *conn, const void *data, GError **error)
{
        const RunRecord *run = data;

        conn_bind_int(conn, RUN_INSERT, 1, run->seq);
        conn_bind_text(conn, RUN_INSERT, 2, run->id);
        conn_bind_text(conn, RUN_INSERT, 3, run->user);
        conn_bind_text(conn, RUN_INSERT, 4, run->name);
        conn_bind_int(conn, RUN_INSERT, 5, run->state);
        conn_bind_int(conn, RUN_INSERT, 6, run->created);
        conn_bind_int(conn, RUN_INSERT, 7, run->admin);
        conn_bind_int(conn, RUN_INSERT, 8, run->dropped);
        conn_bind_text(conn, RUN_INSERT, 9, run->key);
        conn_bind_int(conn, RUN_INSERT, 10, run->retry_of);
        conn_bind_int(conn, RUN_INSERT, 11, run->attempt);
        conn_bind_int(conn, RUN_INSERT, 12, run->pipeline);
        conn_bind_int(conn, RUN_INSERT, 13, run->version);
        conn_bind_text(conn, RUN_INSERT, 14, run->source);
        conn_bind_text(conn, RUN_INSERT, 15, run->fs);
        conn_bind_text(conn, RUN_INSERT, 16, run->note);
        conn_bind_int(conn, RUN_INSERT, 17, run->size);
        conn_bind_int(conn, RUN_INSERT, 18, run->schedule);
        conn_bind_int(conn, RUN_INSERT, 19, run->scheduled);
        conn_bind_int(conn, RUN_TEXT_INSERT, 1, run->seq);
        conn_bind_text(conn, RUN_TEXT_INSERT, 2, run->hash ? "" : run->text);
        conn_bind_text(conn, RUN_TEXT_INSERT, 3, run->request);
        conn_bind_text(conn, RUN_TEXT_INSERT, 4, run->hash);
        if (!conn_run(conn, RUN_INSERT, error))
                return err_prefix(error, "run '%s' of %s: ", run->id, run->user);
        return conn_run(conn, RUN_TEXT_INSERT, error);
}

void bind_run(Conn *conn, int stmt, const void *data)
{
        const RunRecord *run = data;

        conn_bind_int(conn, stmt, 1, run->seq);
        conn_bind_int(conn, stmt, 2, run->state);
        conn_bind_int(conn, stmt, 3, run->finished);
        conn_bind_int(conn, stmt, 4, run->revision);
        conn_bind_int(conn, stmt, 5, run->stopping);
        conn_bind_int(conn, stmt, 6, run->forced);
        conn_bind_int(conn, stmt, 7, run->dropped);
        conn_bind_text(conn, stmt, 8, run->message);
        conn_bind_text(conn, stmt, 9, run->key);
        conn_bind_int(conn, stmt, 10, run->size);
        conn_bind_int(conn, stmt, 11, run->paused);
        conn_bind_text(conn, stmt, 12, run->control);
}

void bind_run_node(Conn *conn, int stmt, const void *data)
{
        const RunNodeRecord *node = data;

        conn_bind_int(conn, stmt, 1, node->run);
        conn_bind_int(conn, stmt, 2, node->node);
        conn_bind_int(conn, stmt, 3, node->dag);
        conn_bind_int(conn, stmt, 4, node->component);
        conn_bind_int(conn, stmt, 5, node->number);
        conn_bind_int(conn, stmt, 6, node->state);
        conn_bind_int(conn, stmt, 7, (node->culprit ? FLAG_CULPRIT : 0) | (node->inner ? FLAG_INNER : 0));
        conn_bind_int(conn, stmt, 8, node->job);
        conn_bind_int(conn, stmt, 9, node->started);
        conn_bind_int(conn, stmt, 10, node->finished);
        conn_bind_text(conn, stmt, 11, node->message);
        conn_bind_int(conn, stmt, 12, node->made_by);
        conn_bind_text(conn, stmt, 13, node->reuse);
        conn_bind_int(conn, stmt, 14, node->taken);
}

void bind_run_node_key(Conn *conn, int stmt, const void *data)
{
        const RunNodeRecord *node = data;

        conn_bind_int(conn, stmt, 1, node->run);
        conn_bind_int(conn, stmt, 2, node->node);
}

void bind_run_child(Conn *conn, int stmt, const void *data)
{
        const RunChildRecord *child = data;

        conn_bind_int(conn, stmt, 1, child->run);
        conn_bind_int(conn, stmt, 2, child->dag);
        conn_bind_int(conn, stmt, 3, child->component);
        conn_bind_int(conn, stmt, 4, child->first);
        conn_bind_int(conn, stmt, 5, child->count);
        conn_bind_int(conn, stmt, 6, child->rest);
        conn_bind_text(conn, stmt, 7, child->list);
        conn_bind_int(conn, stmt, 8, child->pause);
        conn_bind_int(conn, stmt, 9, child->pause_at);
        conn_bind_int(conn, stmt, 10, child->pause_epoch);
        conn_bind_int(conn, stmt, 11, child->passed);
}

void bind_artifact(Conn *conn, int stmt, const void *data)
{
        const ArtifactRecord *artifact = data;

        conn_bind_int(conn, stmt, 1, artifact->run);
        conn_bind_int(conn, stmt, 2, artifact->node);
        conn_bind_int(conn, stmt, 3, artifact->output);
        conn_bind_text(conn, stmt, 4, artifact->name);
        conn_bind_text(conn, stmt, 5, artifact->user);
        conn_bind_text(conn, stmt, 6, artifact->fs);
        conn_bind_text(conn, stmt, 7, artifact->path);
        conn_bind_int(conn, stmt, 8, artifact->created);
}

void bind_artifact_drop(Conn *conn, int stmt, const void *data)
{
        const ArtifactRecord *artifact = data;

        conn_bind_int(conn, stmt, 1, artifact->run);
        conn_bind_int(conn, stmt, 2, artifact->node);
        conn_bind_text(conn, stmt, 3, artifact->name);
}

void bind_run_children(Conn *conn, int stmt, const void *seq)
{
        conn_bind_int(conn, stmt, 1, *(const gint64 *)seq);
        conn_bind_int(conn, stmt, 2, CHILDREN_PER_DROP);
}

/* The hash of its text, if that came from a stored pipeline; the caller's. */
static bool read_hash(Conn *conn, gint64 seq, char **ret, GError **error)
{
        Step step;

        conn_bind_int(conn, RUN_HASH, 1, seq);
        step = conn_step(conn, RUN_HASH, error);
        if (step == STEP_ROW) {
                *ret = conn_text(conn, RUN_HASH, 0);
                conn_reset(conn, RUN_HASH);
        }
        return step != STEP_ERROR;
}

bool drop_run(Conn *conn, const void *data, GError **error)
{
        static const int stmts[] = { RUN_DROP, RUN_TEXT_DROP };
        const gint64 *seq = data;
        g_autofree char *hash = NULL;

        if (!read_hash(conn, *seq, &hash, error))
                return false;
        for (gsize i = 0; i < G_N_ELEMENTS(stmts); i++) {
                conn_bind_int(conn, stmts[i], 1, *seq);
                if (!conn_run(conn, stmts[i], error))
                        return false;
        }
        return drop_stored_text(conn, hash, error) && drop_events(conn, SUBJECT_RUN, *seq, error);
}

/* ---- rows ---- */

static NodeState read_state(Conn *conn, int stmt, int column)
{
        return (NodeState)CLAMP(conn_int(conn, stmt, column), NODE_NONE, NODE_STATES - 1);
}

/* The columns of RUN_COLUMNS. */
static RunRecord *run_of_row(Conn *conn, int stmt)
{
        g_autofree char *id = conn_text(conn, stmt, RUN_AT_ID);
        RunRecord *run = g_new0(RunRecord, 1);

        *run = (RunRecord){ .seq = conn_int(conn, stmt, RUN_AT_SEQ),
                            .user = conn_text(conn, stmt, RUN_AT_USER),
                            .name = conn_text(conn, stmt, RUN_AT_NAME),
                            .state = (guint8)read_state(conn, stmt, RUN_AT_STATE),
                            .created = conn_int(conn, stmt, RUN_AT_CREATED),
                            .finished = conn_int(conn, stmt, RUN_AT_FINISHED),
                            .revision = conn_int(conn, stmt, RUN_AT_REVISION),
                            .admin = conn_int(conn, stmt, RUN_AT_ADMIN) != 0,
                            .stopping = conn_int(conn, stmt, RUN_AT_STOPPING) != 0,
                            .forced = conn_int(conn, stmt, RUN_AT_FORCED) != 0,
                            .dropped = conn_int(conn, stmt, RUN_AT_DROPPED) != 0,
                            .key = conn_text(conn, stmt, RUN_AT_KEY),
                            .message = conn_text(conn, stmt, RUN_AT_MESSAGE),
                            .retry_of = conn_int(conn, stmt, RUN_AT_RETRY_OF),
                            .attempt = (guint32)conn_int(conn, stmt, RUN_AT_ATTEMPT),
                            .retry_id = conn_text(conn, stmt, RUN_AT_RETRY_ID),
                            .pipeline = conn_int(conn, stmt, RUN_AT_PIPELINE),
                            .version = (int)conn_int(conn, stmt, RUN_AT_VERSION),
                            .source = conn_text(conn, stmt, RUN_AT_SOURCE),
                            .fs = conn_text(conn, stmt, RUN_AT_FS),
                            .note = conn_text(conn, stmt, RUN_AT_NOTE),
                            .size = conn_int(conn, stmt, RUN_AT_SIZE),
                            .schedule = conn_int(conn, stmt, RUN_AT_SCHEDULE),
                            .scheduled = conn_int(conn, stmt, RUN_AT_SCHEDULED),
                            .paused = (guint32)conn_int(conn, stmt, RUN_AT_PAUSED) };
        g_strlcpy(run->id, id, sizeof run->id);
        return run;
}

/* RUN_TEXT_COLUMNS, of which the first is column `first`. */
static void take_text(Conn *conn, int stmt, int first, RunRecord *run)
{
        run->text = conn_text(conn, stmt, first);
        run->request = conn_text(conn, stmt, first + 1);
        run->hash = conn_text(conn, stmt, first + 2);
        run->control = conn_text(conn, stmt, first + 3);
}

static RunNodeRecord *node_of_row(Conn *conn, int stmt)
{
        RunNodeRecord *node = g_new0(RunNodeRecord, 1);
        gint64 flags = conn_int(conn, stmt, 6);

        *node = (RunNodeRecord){ .run = conn_int(conn, stmt, 0),
                                 .node = (guint32)conn_int(conn, stmt, 1),
                                 .dag = (guint32)conn_int(conn, stmt, 2),
                                 .component = (guint32)conn_int(conn, stmt, 3),
                                 .number = (guint32)conn_int(conn, stmt, 4),
                                 .state = (guint8)read_state(conn, stmt, 5),
                                 .culprit = (flags & FLAG_CULPRIT) != 0,
                                 .inner = (flags & FLAG_INNER) != 0,
                                 .job = conn_int(conn, stmt, 7),
                                 .started = conn_int(conn, stmt, 8),
                                 .finished = conn_int(conn, stmt, 9),
                                 .message = conn_text(conn, stmt, 10),
                                 .made_by = conn_int(conn, stmt, 11),
                                 .made_id = conn_text(conn, stmt, 12),
                                 .reuse = conn_text(conn, stmt, 13),
                                 .taken = conn_int(conn, stmt, 14) };
        return node;
}

static RunChildRecord *child_of_row(Conn *conn, int stmt)
{
        RunChildRecord *child = g_new0(RunChildRecord, 1);

        *child = (RunChildRecord){ .run = conn_int(conn, stmt, 0),
                                   .dag = (guint32)conn_int(conn, stmt, 1),
                                   .component = (guint32)conn_int(conn, stmt, 2),
                                   .first = (guint32)conn_int(conn, stmt, 3),
                                   .count = (guint32)conn_int(conn, stmt, 4),
                                   .rest = (guint8)read_state(conn, stmt, 5),
                                   .list = conn_text(conn, stmt, 6),
                                   .pause = (guint8)conn_int(conn, stmt, 7),
                                   .pause_at = (guint32)conn_int(conn, stmt, 8),
                                   .pause_epoch = (guint32)conn_int(conn, stmt, 9),
                                   .passed = (guint32)conn_int(conn, stmt, 10) };
        return child;
}

void *read_run(Conn *conn, int stmt, Loading *loading, GError **error)
{
        RunRecord *run = run_of_row(conn, stmt);

        take_text(conn, stmt, RUN_AT_TEXT, run);
        return run;
}

void *read_run_node(Conn *conn, int stmt, Loading *loading, GError **error)
{
        return node_of_row(conn, stmt);
}

void *read_run_child(Conn *conn, int stmt, Loading *loading, GError **error)
{
        return child_of_row(conn, stmt);
}

static void run_free_p(gpointer run)
{
        run_record_free(run);
}

static void child_free_p(gpointer child)
{
        run_child_record_free(child);
}

static void artifact_free_p(gpointer artifact)
{
        artifact_record_free(artifact);
}

static void node_free_p(gpointer node)
{
        run_node_record_free(node);
}

/* ---- one run ---- */

static bool read_text(Conn *conn, RunRecord *run, GError **error)
{
        Step step;

        conn_bind_int(conn, RUN_TEXT, 1, run->seq);
        step = conn_step(conn, RUN_TEXT, error);
        if (step == STEP_ROW)
                take_text(conn, RUN_TEXT, 0, run);
        return step != STEP_ERROR;
}

bool sqlite_run_text(Store *base, RunRecord *run, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        bool ok = conn && read_text(conn, run, error);

        if (conn)
                pool_give(&store->pool, conn);
        return ok;
}

/* The run that `stmt` finds. NULL without an error: none. */
static RunRecord *read_one(SqliteStore *store, Conn *conn, int stmt, bool text, GError **error)
{
        g_autoptr(RunRecord) run = NULL;
        Step step = conn_step(conn, stmt, error);

        if (step == STEP_ROW)
                run = run_of_row(conn, stmt);
        if (run && text && !read_text(conn, run, error))
                g_clear_pointer(&run, run_record_free);
        pool_give(&store->pool, conn);
        return g_steal_pointer(&run);
}

RunRecord *sqlite_run_by_id(Store *base, const char *id, bool text, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        g_autoptr(GError) failed = NULL;
        RunRecord *run;

        if (!conn)
                return NULL;
        conn_bind_text(conn, RUN_BY_ID, 1, id);
        run = read_one(store, conn, RUN_BY_ID, text, &failed);
        if (failed)
                g_propagate_error(error, g_steal_pointer(&failed));
        else if (!run)
                err_set(error, ERR_NOT_FOUND, "there is no run '%s'", id);
        return run;
}

RunRecord *sqlite_run_by_seq(Store *base, gint64 seq, bool text, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        g_autoptr(GError) failed = NULL;
        RunRecord *run;

        if (!conn)
                return NULL;
        conn_bind_int(conn, RUN_BY_SEQ, 1, seq);
        run = read_one(store, conn, RUN_BY_SEQ, text, &failed);
        if (failed)
                g_propagate_error(error, g_steal_pointer(&failed));
        else if (!run)
                err_set(error, ERR_NOT_FOUND, "there is no run with the number %" G_GINT64_FORMAT, seq);
        return run;
}

RunRecord *sqlite_run_by_key(Store *base, const char *user, const char *key, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        g_autoptr(GError) failed = NULL;
        RunRecord *run;

        if (!conn)
                return NULL;
        conn_bind_text(conn, RUN_BY_KEY, 1, user);
        conn_bind_text(conn, RUN_BY_KEY, 2, key);
        run = read_one(store, conn, RUN_BY_KEY, true, &failed);
        if (failed)
                g_propagate_error(error, g_steal_pointer(&failed));
        else if (!run)
                err_set(error, ERR_NOT_FOUND, "user '%s' has no run with the idempotency key '%s'", user,
                        key);
        return run;
}

RunRecord *sqlite_run_expired(Store *base, gint64 before, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        Step step;
        int stmt = RUN_DROPPED;
        RunRecord *run;

        if (!conn)
                return NULL;
        step = conn_step(conn, RUN_DROPPED, error);
        if (step == STEP_DONE) {
                stmt = RUN_EXPIRED;
                conn_bind_int(conn, RUN_EXPIRED, 1, before);
                step = conn_step(conn, RUN_EXPIRED, error);
        }
        run = step == STEP_ROW ? run_of_row(conn, stmt) : NULL;
        pool_give(&store->pool, conn);
        return run;
}

RunRecord *sqlite_run_user_of(Store *base, gint64 seq, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);

        if (!conn)
                return NULL;
        conn_bind_int(conn, RUN_USER_OF, 1, seq);
        return read_one(store, conn, RUN_USER_OF, false, error);
}

bool sqlite_run_bytes(Store *base, const char *user, gint64 *ret, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        bool ok;

        if (!conn)
                return false;
        conn_bind_text(conn, RUN_BYTES, 1, user);
        ok = conn_step(conn, RUN_BYTES, error) == STEP_ROW;
        if (ok)
                *ret = conn_int(conn, RUN_BYTES, 0);
        pool_give(&store->pool, conn);
        return ok;
}

/* ---- pages ---- */

/* Behind the newest run, or what the query says. */
static bool read_start(Conn *conn, gint64 before, gint64 *ret, GError **error)
{
        if (conn_step(conn, RUN_LAST_SEQ, error) != STEP_ROW)
                return false;
        *ret = conn_int(conn, RUN_LAST_SEQ, 0) + 1;
        conn_reset(conn, RUN_LAST_SEQ);
        if (before > 0)
                *ret = MIN(*ret, before);
        return true;
}

static void bind_filter(Conn *conn, int stmt, const RunQuery *query)
{
        conn_bind_int(conn, stmt, 3, query->states ? query->states : G_MAXUINT32);
        conn_bind_text(conn, stmt, 4, query->name);
        conn_bind_int(conn, stmt, 5, query->limit);
        conn_bind_int(conn, stmt, 6, query->pipeline);
        if (query->schedule)
                conn_bind_int(conn, stmt, 7, query->schedule);
        else if (query->user)
                conn_bind_text(conn, stmt, 7, query->user);
}

static bool add_runs(Conn *conn, int stmt, GPtrArray *runs, GError **error)
{
        Step step;

        while ((step = conn_step(conn, stmt, error)) == STEP_ROW)
                g_ptr_array_add(runs, run_of_row(conn, stmt));
        return step == STEP_DONE;
}

static gint64 last_of(const GPtrArray *runs)
{
        return ((const RunRecord *)runs->pdata[runs->len - 1])->seq;
}

static bool read_runs_up(Conn *conn, const RunQuery *query, GPtrArray *runs, gint64 *ret_next, GError **error)
{
        int stmt = query->schedule ? RUNS_UP_OF_SCHEDULE : query->user ? RUNS_UP_OF_USER : RUNS_UP;
        gint64 behind, to;

        if (!read_start(conn, 0, &behind, error))
                return false;
        to = MIN(behind - 1, query->after_seq + READ_WINDOW);
        conn_bind_int(conn, stmt, 1, query->after_seq);
        conn_bind_int(conn, stmt, 2, to);
        bind_filter(conn, stmt, query);
        if (!add_runs(conn, stmt, runs, error))
                return false;
        if (runs->len == (guint)query->limit)
                to = last_of(runs);
        *ret_next = to < behind - 1 ? to : 0;
        return true;
}

static bool read_runs(Conn *conn, const RunQuery *query, GPtrArray *runs, gint64 *ret_next, GError **error)
{
        int stmt = query->schedule ? RUNS_OF_SCHEDULE : query->user ? RUNS_OF_USER : RUNS;
        gint64 before, from;

        if (!read_start(conn, query->before_seq, &before, error))
                return false;
        from = MAX(0, before - READ_WINDOW);
        conn_bind_int(conn, stmt, 1, before);
        conn_bind_int(conn, stmt, 2, from);
        bind_filter(conn, stmt, query);
        if (!add_runs(conn, stmt, runs, error))
                return false;
        *ret_next = runs->len == (guint)query->limit ? last_of(runs) : from;
        return true;
}

GPtrArray *sqlite_runs(Store *base, const RunQuery *query, gint64 *ret_next, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(GPtrArray) runs = g_ptr_array_new_with_free_func(run_free_p);
        Conn *conn = pool_take(&store->pool, error);
        bool ok;

        if (!conn)
                return NULL;
        ok = (query->oldest_first ? read_runs_up : read_runs)(conn, query, runs, ret_next, error);
        pool_give(&store->pool, conn);
        return ok ? g_steal_pointer(&runs) : NULL;
}

static bool read_nodes(Conn *conn, const RunNodeQuery *query, GPtrArray *nodes, gint64 *ret_next,
                       GError **error)
{
        gint64 last, to;
        Step step;

        conn_bind_int(conn, RUN_LAST_NODE, 1, query->run);
        if (conn_step(conn, RUN_LAST_NODE, error) != STEP_ROW)
                return false;
        last = conn_int(conn, RUN_LAST_NODE, 0);
        conn_reset(conn, RUN_LAST_NODE);
        to = MIN(last, query->after + READ_WINDOW);
        conn_bind_int(conn, RUN_NODES, 1, query->run);
        conn_bind_int(conn, RUN_NODES, 2, query->after);
        conn_bind_int(conn, RUN_NODES, 3, to);
        conn_bind_int(conn, RUN_NODES, 4, query->states ? query->states : G_MAXUINT32);
        conn_bind_int(conn, RUN_NODES, 5, query->limit);
        conn_bind_int(conn, RUN_NODES, 6, query->new_jobs);
        conn_bind_int(conn, RUN_NODES, 7, query->from.job);
        conn_bind_int(conn, RUN_NODES, 8, query->upto.job);
        conn_bind_int(conn, RUN_NODES, 9, query->from.taken);
        conn_bind_int(conn, RUN_NODES, 10, query->upto.taken);
        while ((step = conn_step(conn, RUN_NODES, error)) == STEP_ROW) {
                RunNodeRecord *node = node_of_row(conn, RUN_NODES);

                node->job_id = conn_text(conn, RUN_NODES, 15);
                g_ptr_array_add(nodes, node);
        }
        if (nodes->len == (guint)query->limit)
                to = ((RunNodeRecord *)nodes->pdata[nodes->len - 1])->node;
        *ret_next = to < last ? to : 0;
        return step == STEP_DONE;
}

GPtrArray *sqlite_run_nodes(Store *base, const RunNodeQuery *query, gint64 *ret_next, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(GPtrArray) nodes = g_ptr_array_new_with_free_func(node_free_p);
        Conn *conn = pool_take(&store->pool, error);
        bool ok;

        if (!conn)
                return NULL;
        ok = read_nodes(conn, query, nodes, ret_next, error);
        pool_give(&store->pool, conn);
        return ok ? g_steal_pointer(&nodes) : NULL;
}

bool sqlite_run_moment(Store *base, gint64 run, RunMoment *ret, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        bool ok;

        *ret = (RunMoment){ 0 };
        if (!conn)
                return false;
        conn_bind_int(conn, RUN_MOMENT, 1, run);
        ok = conn_step(conn, RUN_MOMENT, error) == STEP_ROW;
        if (ok)
                *ret = (RunMoment){ conn_int(conn, RUN_MOMENT, 0), conn_int(conn, RUN_MOMENT, 1) };
        pool_give(&store->pool, conn);
        return ok;
}

GPtrArray *sqlite_run_children(Store *base, gint64 run, int limit, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(GPtrArray) children = g_ptr_array_new_with_free_func(child_free_p);
        Conn *conn = pool_take(&store->pool, error);
        Step step;

        if (!conn)
                return NULL;
        conn_bind_int(conn, RUN_CHILDREN, 1, run);
        conn_bind_int(conn, RUN_CHILDREN, 2, limit);
        while ((step = conn_step(conn, RUN_CHILDREN, error)) == STEP_ROW)
                g_ptr_array_add(children, child_of_row(conn, RUN_CHILDREN));
        pool_give(&store->pool, conn);
        return step == STEP_DONE ? g_steal_pointer(&children) : NULL;
}

static bool read_control(Conn *conn, gint64 run, char **ret, GError **error)
{
        Step step;

        conn_bind_int(conn, RUN_CONTROL, 1, run);
        step = conn_step(conn, RUN_CONTROL, error);
        if (step != STEP_ROW)
                return step == STEP_DONE;
        *ret = conn_text(conn, RUN_CONTROL, 0);
        conn_reset(conn, RUN_CONTROL);
        return true;
}

static GPtrArray *read_pauses(Conn *conn, gint64 run, int limit, GError **error)
{
        g_autoptr(GPtrArray) children = g_ptr_array_new_with_free_func(child_free_p);
        Step step;

        conn_bind_int(conn, RUN_PAUSES, 1, run);
        conn_bind_int(conn, RUN_PAUSES, 2, limit);
        while ((step = conn_step(conn, RUN_PAUSES, error)) == STEP_ROW)
                g_ptr_array_add(children, child_of_row(conn, RUN_PAUSES));
        return step == STEP_DONE ? g_steal_pointer(&children) : NULL;
}

bool sqlite_run_pauses(Store *base, gint64 run, int limit, char **ret_control, GPtrArray **ret,
                       GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        g_autofree char *control = NULL;

        if (!conn)
                return false;
        *ret = read_control(conn, run, &control, error) ? read_pauses(conn, run, limit, error) : NULL;
        pool_give(&store->pool, conn);
        if (*ret)
                *ret_control = g_steal_pointer(&control);
        return *ret != NULL;
}

static ArtifactRecord *artifact_of_row(Conn *conn, int stmt)
{
        ArtifactRecord *artifact = g_new0(ArtifactRecord, 1);

        *artifact = (ArtifactRecord){ .run = conn_int(conn, stmt, 0),
                                      .node = (guint32)conn_int(conn, stmt, 1),
                                      .output = conn_int(conn, stmt, 2) != 0,
                                      .name = conn_text(conn, stmt, 3),
                                      .user = conn_text(conn, stmt, 4),
                                      .fs = conn_text(conn, stmt, 5),
                                      .path = conn_text(conn, stmt, 6),
                                      .created = conn_int(conn, stmt, 7),
                                      .run_id = conn_text(conn, stmt, 8),
                                      .job_id = conn_text(conn, stmt, 9) };
        return artifact;
}

static int bind_artifacts(Conn *conn, const ArtifactQuery *query)
{
        const ArtifactRecord *after = query->after;
        int stmt = query->run ? ARTIFACTS_OF_RUN : ARTIFACTS_AT;

        conn_bind_int(conn, stmt, 1, query->limit);
        conn_bind_text(conn, stmt, 2, query->path ? query->path : "");
        conn_bind_int(conn, stmt, 3, after ? (gint64)after->node : -1);
        conn_bind_int(conn, stmt, 4, after ? after->output : 0);
        conn_bind_text(conn, stmt, 5, after ? after->name : "");
        conn_bind_int(conn, stmt, 6, query->run ? query->run : after ? after->run : 0);
        if (query->run)
                return stmt;
        conn_bind_text(conn, stmt, 7, after ? after->path : "");
        conn_bind_text(conn, stmt, 8, query->user);
        conn_bind_text(conn, stmt, 9, query->fs);
        return stmt;
}

GPtrArray *sqlite_artifacts(Store *base, const ArtifactQuery *query, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(GPtrArray) artifacts = g_ptr_array_new_with_free_func(artifact_free_p);
        Conn *conn = pool_take(&store->pool, error);
        Step step;
        int stmt;

        if (!conn)
                return NULL;
        stmt = bind_artifacts(conn, query);
        while ((step = conn_step(conn, stmt, error)) == STEP_ROW)
                g_ptr_array_add(artifacts, artifact_of_row(conn, stmt));
        pool_give(&store->pool, conn);
        return step == STEP_DONE ? g_steal_pointer(&artifacts) : NULL;
}

GArray *sqlite_run_loop_counts(Store *base, gint64 run, guint32 longer, int limit, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(GArray) counts = g_array_new(FALSE, FALSE, sizeof(RunLoopCount));
        Conn *conn = pool_take(&store->pool, error);
        Step step;

        if (!conn)
                return NULL;
        conn_bind_int(conn, RUN_COUNT_LOOPS, 1, run);
        conn_bind_int(conn, RUN_COUNT_LOOPS, 2, longer);
        conn_bind_int(conn, RUN_COUNT_LOOPS, 3, limit);
        while ((step = conn_step(conn, RUN_COUNT_LOOPS, error)) == STEP_ROW) {
                RunLoopCount count = { .dag = (guint32)conn_int(conn, RUN_COUNT_LOOPS, 0),
                                       .component = (guint32)conn_int(conn, RUN_COUNT_LOOPS, 1),
                                       .state = (guint8)read_state(conn, RUN_COUNT_LOOPS, 2),
                                       .n = conn_int(conn, RUN_COUNT_LOOPS, 3),
                                       .kept = conn_int(conn, RUN_COUNT_LOOPS, 4),
                                       .cached = conn_int(conn, RUN_COUNT_LOOPS, 5) };

                g_array_append_val(counts, count);
        }
        pool_give(&store->pool, conn);
        return step == STEP_DONE ? g_steal_pointer(&counts) : NULL;
}

static bool add_nodes(Conn *conn, gint64 run, gint64 ret[NODE_STATES], GError **error)
{
        conn_bind_int(conn, RUN_COUNT_NODES, 1, run);
        if (conn_step(conn, RUN_COUNT_NODES, error) != STEP_ROW)
                return false;
        for (int state = NODE_RUNNING; state < NODE_STATES; state++)
                ret[state] += conn_int(conn, RUN_COUNT_NODES, state - NODE_RUNNING);
        conn_reset(conn, RUN_COUNT_NODES);
        return true;
}

static bool add_rests(Conn *conn, gint64 run, gint64 ret[NODE_STATES], GError **error)
{
        Step step;

        conn_bind_int(conn, RUN_COUNT_RESTS, 1, run);
        while ((step = conn_step(conn, RUN_COUNT_RESTS, error)) == STEP_ROW)
                ret[read_state(conn, RUN_COUNT_RESTS, 0)] += conn_int(conn, RUN_COUNT_RESTS, 1);
        return step == STEP_DONE;
}

bool sqlite_run_counts(Store *base, gint64 run, gint64 ret[NODE_STATES], GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        bool ok;

        for (int state = 0; state < NODE_STATES; state++)
                ret[state] = 0;
        if (!conn)
                return false;
        ok = add_nodes(conn, run, ret, error) && add_rests(conn, run, ret, error);
        pool_give(&store->pool, conn);
        return ok;
}
