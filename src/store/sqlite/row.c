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
        row->queue = conn_text(conn, stmt, 4);
        row->state = (int)conn_int(conn, stmt, 5);
        row->updated = conn_int(conn, stmt, 6);
        row->spec_seq = conn_int(conn, stmt, 7);
        row->array_seq = conn_int(conn, stmt, 8);
        row->idempotency = conn_text(conn, stmt, 9);
        row->body = conn_text(conn, stmt, 10);
        row->spec = conn_text(conn, stmt, 11);
        return row;
}

void job_row_free(JobRow *row)
{
        if (!row)
                return;
        g_free(row->id);
        g_free(row->user);
        g_free(row->name);
        g_free(row->queue);
        g_free(row->idempotency);
        g_free(row->body);
        g_free(row->spec);
        g_free(row);
}

gsize job_row_size(const JobRow *row)
{
        return sizeof *row + strlen(row->body) + strlen(row->spec);
}

static Spec *parse_spec(const char *text, GError **error)
{
        g_autoptr(json_t) object = json_parse_own(text, strlen(text), error);

        return object ? spec_unpack(object, error) : NULL;
}

GHashTable *job_specs_new(void)
{
        return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, (GDestroyNotify)spec_unref);
}

/* A new reference. */
static Spec *make_spec(const JobRow *row, GHashTable *specs, GError **error)
{
        bool shared = specs && (row->array_seq || row->spec_seq != row->seq);
        Spec *spec = shared ? g_hash_table_lookup(specs, &row->spec_seq) : NULL;

        if (spec)
                return spec_ref(spec);
        spec = parse_spec(row->spec, error);
        if (spec && shared)
                g_hash_table_insert(specs, g_memdup2(&row->spec_seq, sizeof row->spec_seq), spec_ref(spec));
        return spec;
}

Job *job_row_make(const JobRow *row, GHashTable *specs, GError **error)
{
        g_autoptr(Spec) spec = make_spec(row, specs, error);
        g_autoptr(Job) job = spec ? job_new_as(row->id, row->user, row->name, spec, 0) : NULL;

        if (!job || !job_unpack(job, row->body, error)) {
                err_prefix(error, "job '%s' in the database: ", row->id);
                return NULL;
        }
        job->seq = row->seq;
        job->state = (guint8)row->state;
        job->queue = g_intern_string(row->queue);
        job->updated = row->updated;
        job->spec_seq = row->spec_seq;
        job->array_seq = row->array_seq;
        g_free(job->idempotency_key);
        job->idempotency_key = g_strdup(row->idempotency);
        return g_steal_pointer(&job);
}
