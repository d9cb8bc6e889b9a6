/* Rows of `job` and `job_spec` become jobs. */
#include "base/err.h"
#include "store/sqlite/sqlite.h"

JobRow *job_row_read(Conn *conn, int stmt)
{
        JobRow *row = g_new0(JobRow, 1);

        row->seq = conn_int(conn, stmt, 0);
        row->id = conn_text(conn, stmt, 1);
        row->user = conn_text(conn, stmt, 2);
        row->name = conn_text(conn, stmt, 3);
        row->state = (int)conn_int(conn, stmt, 4);
        row->idempotency = conn_text(conn, stmt, 5);
        row->body = conn_text(conn, stmt, 6);
        row->spec = conn_text(conn, stmt, 7);
        return row;
}

void job_row_free(JobRow *row)
{
        if (!row)
                return;
        g_free(row->id);
        g_free(row->user);
        g_free(row->name);
        g_free(row->idempotency);
        g_free(row->body);
        g_free(row->spec);
        g_free(row);
}

gsize job_row_size(const JobRow *row)
{
        return sizeof *row + strlen(row->body) + strlen(row->spec);
}

static Spec *make_spec(const char *text, GError **error)
{
        g_autoptr(json_t) object = json_parse(text, strlen(text), error);

        return object ? spec_parse(object, error) : NULL;
}

Job *job_row_make(const JobRow *row, GError **error)
{
        g_autoptr(Spec) spec = make_spec(row->spec, error);
        g_autoptr(Job) job = spec ? job_new(row->user, row->name, spec, 0) : NULL;

        if (!job || !job_unpack(job, row->body, error)) {
                err_prefix(error, "job '%s' in the database: ", row->id);
                return NULL;
        }
        job->seq = row->seq;
        job->state = (guint8)row->state;
        g_strlcpy(job->id, row->id, sizeof job->id);
        g_free(job->idempotency_key);
        job->idempotency_key = g_strdup(row->idempotency);
        return g_steal_pointer(&job);
}
