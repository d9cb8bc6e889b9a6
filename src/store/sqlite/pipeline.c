/* Stored pipelines: how their records are written (see writer.h), and what readers ask of them (see store.h). */
#include "base/err.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/writer.h"

/* ---- writing ---- */

void bind_pipeline(Conn *conn, int stmt, const void *data)
{
        const PipelineRecord *pipeline = data;

        conn_bind_int(conn, stmt, 1, pipeline->seq);
        conn_bind_text(conn, stmt, 2, pipeline->user);
        conn_bind_text(conn, stmt, 3, pipeline->name);
        conn_bind_text(conn, stmt, 4, pipeline->note);
        conn_bind_int(conn, stmt, 5, pipeline->made);
        conn_bind_int(conn, stmt, 6, pipeline->revision);
        conn_bind_int(conn, stmt, 7, pipeline->created);
        conn_bind_int(conn, stmt, 8, pipeline->updated);
}

bool write_version(Conn *conn, const void *data, GError **error)
{
        const PipelineVersion *version = data;

        conn_bind_text(conn, STORED_TEXT_INSERT, 1, version->hash);
        conn_bind_text(conn, STORED_TEXT_INSERT, 2, version->text);
        conn_bind_int(conn, VERSION_INSERT, 1, version->pipeline);
        conn_bind_int(conn, VERSION_INSERT, 2, version->version);
        conn_bind_text(conn, VERSION_INSERT, 3, version->hash);
        conn_bind_int(conn, VERSION_INSERT, 4, version->size);
        conn_bind_text(conn, VERSION_INSERT, 5, version->user);
        conn_bind_text(conn, VERSION_INSERT, 6, version->fs);
        conn_bind_text(conn, VERSION_INSERT, 7, version->path);
        conn_bind_int(conn, VERSION_INSERT, 8, version->created);
        conn_bind_text(conn, VERSION_INSERT, 9, version->files);
        conn_bind_text(conn, VERSION_INSERT, 10, version->packages);
        return conn_run(conn, STORED_TEXT_INSERT, error) && conn_run(conn, VERSION_INSERT, error);
}

bool drop_stored_text(Conn *conn, const char *hash, GError **error)
{
        if (!hash)
                return true;
        conn_bind_text(conn, STORED_TEXT_DROP, 1, hash);
        return conn_run(conn, STORED_TEXT_DROP, error);
}

bool drop_version(Conn *conn, const void *data, GError **error)
{
        const PipelineVersion *version = data;
        g_autofree char *hash = NULL;
        Step step;

        conn_bind_int(conn, VERSION_HASH, 1, version->pipeline);
        conn_bind_int(conn, VERSION_HASH, 2, version->version);
        step = conn_step(conn, VERSION_HASH, error);
        if (step == STEP_ROW) {
                hash = conn_text(conn, VERSION_HASH, 0);
                conn_reset(conn, VERSION_HASH);
        }
        if (step == STEP_ERROR)
                return false;
        conn_bind_int(conn, VERSION_DROP, 1, version->pipeline);
        conn_bind_int(conn, VERSION_DROP, 2, version->version);
        return conn_run(conn, VERSION_DROP, error) && drop_stored_text(conn, hash, error);
}

bool drop_pipeline(Conn *conn, const void *data, GError **error)
{
        const gint64 *seq = data;

        conn_bind_int(conn, PIPELINE_DROP, 1, *seq);
        return conn_run(conn, PIPELINE_DROP, error) && drop_events(conn, SUBJECT_PIPELINE, *seq, error);
}

/* ---- rows ---- */

/* The columns of PIPELINE_COLUMNS. */
static PipelineRecord *pipeline_of_row(Conn *conn, int stmt)
{
        PipelineRecord *pipeline = g_new0(PipelineRecord, 1);

        *pipeline = (PipelineRecord){ .seq = conn_int(conn, stmt, 0),
                                      .user = conn_text(conn, stmt, 1),
                                      .name = conn_text(conn, stmt, 2),
                                      .note = conn_text(conn, stmt, 3),
                                      .made = (int)conn_int(conn, stmt, 4),
                                      .revision = conn_int(conn, stmt, 5),
                                      .created = conn_int(conn, stmt, 6),
                                      .updated = conn_int(conn, stmt, 7) };
        return pipeline;
}

/* The columns of PIPELINE_VERSION_COLUMNS. */
static PipelineVersion *version_of_row(Conn *conn, int stmt)
{
        g_autofree char *hash = conn_text(conn, stmt, 2);
        PipelineVersion *version = g_new0(PipelineVersion, 1);

        *version = (PipelineVersion){ .pipeline = conn_int(conn, stmt, 0),
                                      .version = (int)conn_int(conn, stmt, 1),
                                      .size = conn_int(conn, stmt, 3),
                                      .user = conn_text(conn, stmt, 4),
                                      .fs = conn_text(conn, stmt, 5),
                                      .path = conn_text(conn, stmt, 6),
                                      .created = conn_int(conn, stmt, 7),
                                      .files = conn_text(conn, stmt, 8),
                                      .packages = conn_text(conn, stmt, 9) };
        g_strlcpy(version->hash, hash, sizeof version->hash);
        return version;
}

void *read_pipeline(Conn *conn, int stmt, Loading *loading, GError **error)
{
        return pipeline_of_row(conn, stmt);
}

void *read_version(Conn *conn, int stmt, Loading *loading, GError **error)
{
        return version_of_row(conn, stmt);
}

static void pipeline_free_p(gpointer pipeline)
{
        pipeline_record_free(pipeline);
}

static void version_free_p(gpointer version)
{
        pipeline_version_free(version);
}

/* ---- one ---- */

/* What `stmt` finds. NULL without an error: nothing. Gives the connection back. */
static PipelineRecord *read_one(SqliteStore *store, Conn *conn, int stmt, GError **error)
{
        PipelineRecord *pipeline =
                conn_step(conn, stmt, error) == STEP_ROW ? pipeline_of_row(conn, stmt) : NULL;

        pool_give(&store->pool, conn);
        return pipeline;
}

PipelineRecord *sqlite_pipeline(Store *base, gint64 seq, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        g_autoptr(GError) failed = NULL;
        PipelineRecord *pipeline;

        if (!conn)
                return NULL;
        conn_bind_int(conn, PIPELINE_BY_SEQ, 1, seq);
        pipeline = read_one(store, conn, PIPELINE_BY_SEQ, &failed);
        if (failed)
                g_propagate_error(error, g_steal_pointer(&failed));
        else if (!pipeline)
                err_set(error, ERR_NOT_FOUND, "there is no stored pipeline with the number %" G_GINT64_FORMAT,
                        seq);
        return pipeline;
}

PipelineRecord *sqlite_pipeline_by_name(Store *base, const char *user, const char *name, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        g_autoptr(GError) failed = NULL;
        PipelineRecord *pipeline;

        if (!conn)
                return NULL;
        conn_bind_text(conn, PIPELINE_BY_NAME, 1, user);
        conn_bind_text(conn, PIPELINE_BY_NAME, 2, name);
        pipeline = read_one(store, conn, PIPELINE_BY_NAME, &failed);
        if (failed)
                g_propagate_error(error, g_steal_pointer(&failed));
        else if (!pipeline)
                err_set(error, ERR_NOT_FOUND, "user '%s' has no stored pipeline '%.130s'", user, name);
        return pipeline;
}

/* Says what there is instead. */
static void no_version(Store *base, gint64 seq, int version, GError **error)
{
        g_autoptr(PipelineRecord) pipeline = sqlite_pipeline(base, seq, error);
        g_autoptr(PipelineVersion) newest =
                pipeline && version ? sqlite_pipeline_version(base, seq, 0, false, error) : NULL;

        if (newest)
                pipeline_no_version(pipeline->name, version, newest->version, error);
        else if (pipeline && !version)
                err_set(error, ERR_NOT_FOUND, "pipeline '%s' has no version", pipeline->name);
}

PipelineVersion *sqlite_pipeline_version(Store *base, gint64 pipeline, int version, bool text, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        int stmt = text ? VERSION_WITH_TEXT : VERSION_BARE;
        PipelineVersion *ret = NULL;
        Step step;

        if (!conn)
                return NULL;
        conn_bind_int(conn, stmt, 1, pipeline);
        conn_bind_int(conn, stmt, 2, version);
        step = conn_step(conn, stmt, error);
        if (step == STEP_ROW)
                ret = version_of_row(conn, stmt);
        if (ret && text)
                ret->text = conn_text(conn, stmt, 10);
        pool_give(&store->pool, conn);
        if (step == STEP_DONE)
                no_version(base, pipeline, version, error);
        return ret;
}

/* ---- pages ---- */

GPtrArray *sqlite_pipelines(Store *base, const PipelineQuery *query, gint64 *ret_next, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(pipeline_free_p);
        Conn *conn = pool_take(&store->pool, error);
        Step step;

        if (!conn)
                return NULL;
        conn_bind_int(conn, PIPELINES, 1, query->after_seq);
        conn_bind_text(conn, PIPELINES, 2, query->user);
        conn_bind_text(conn, PIPELINES, 3, query->name);
        conn_bind_int(conn, PIPELINES, 4, (gint64)query->limit + 1);
        while ((step = conn_step(conn, PIPELINES, error)) == STEP_ROW)
                g_ptr_array_add(found, pipeline_of_row(conn, PIPELINES));
        pool_give(&store->pool, conn);
        *ret_next = 0;
        if (found->len > (guint)query->limit) {
                g_ptr_array_set_size(found, query->limit);
                *ret_next = ((const PipelineRecord *)found->pdata[found->len - 1])->seq;
        }
        return step == STEP_DONE ? g_steal_pointer(&found) : NULL;
}

GPtrArray *sqlite_pipeline_versions(Store *base, gint64 pipeline, int after, int limit, int *ret_next,
                                    GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(version_free_p);
        Conn *conn = pool_take(&store->pool, error);
        Step step;

        if (!conn)
                return NULL;
        conn_bind_int(conn, VERSIONS, 1, pipeline);
        conn_bind_int(conn, VERSIONS, 2, after);
        conn_bind_int(conn, VERSIONS, 3, (gint64)limit + 1);
        while ((step = conn_step(conn, VERSIONS, error)) == STEP_ROW)
                g_ptr_array_add(found, version_of_row(conn, VERSIONS));
        pool_give(&store->pool, conn);
        *ret_next = 0;
        if (found->len > (guint)limit) {
                g_ptr_array_set_size(found, limit);
                *ret_next = ((const PipelineVersion *)found->pdata[found->len - 1])->version;
        }
        return step == STEP_DONE ? g_steal_pointer(&found) : NULL;
}
