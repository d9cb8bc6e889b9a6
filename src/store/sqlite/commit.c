/* The writer's side (see store.h): a batch is one transaction; what was committed is loaded at a start. How the kinds
 * of records are written and read is in record.c.
 *
 * A failed commit is clean when three things hold: SQLite gave a reason after which nothing of the batch is
 * in the log (a full disk while writing, a broken constraint), it has no open transaction any more, and the
 * batch's first job and event cannot be read back. Everything else leaves the log in doubt: after a failed
 * sync the kernel may count pages as written that never were, so a second sync proves nothing. */
#include <errno.h>

#include "base/err.h"
#include "store/sqlite/writer.h"

/* How many records of each kind and operation a batch has. */
typedef struct {
        guint n[RECORD_KINDS][RECORD_OPS];
} Tally;

static Tally count_records(const StoreBatch *batch)
{
        Tally tally = { 0 };

        for (guint i = 0; i < batch->n; i++)
                tally.n[batch->records[i].kind][batch->records[i].op]++;
        return tally;
}

static bool is_of(const StoreRecord *record, const RecordRow *row)
{
        return record->kind == row->kind && record->op == row->op;
}

static bool write_one(Conn *conn, const RecordRow *row, const void *data, GError **error)
{
        int stmt = record_sql_stmt(row);

        if (row->write)
                return row->write(conn, data, error);
        row->bind(conn, stmt, data);
        return conn_run(conn, stmt, error);
}

static bool write_row(Conn *conn, const StoreBatch *batch, const RecordRow *row, GError **error)
{
        if (row->first && !conn_run(conn, row->first, error))
                return false;
        for (guint i = 0; i < batch->n; i++)
                if (is_of(&batch->records[i], row) && !write_one(conn, row, batch->records[i].data, error))
                        return false;
        return true;
}

static bool write_batch(Conn *conn, const StoreBatch *batch, const Tally *tally, GError **error)
{
        if (!conn_run(conn, BEGIN, error))
                return false;
        for (const RecordRow *row = record_rows; row < record_rows + record_n_rows; row++)
                if (tally->n[row->kind][row->op] && !write_row(conn, batch, row, error))
                        return false;
        return conn_run(conn, COMMIT, error);
}

/* True if `stmt` ran and found no row with this number. */
static bool is_absent(Conn *conn, int stmt, gint64 number)
{
        Step step;

        conn_bind_int(conn, stmt, 1, number);
        step = conn_step(conn, stmt, NULL);
        conn_reset(conn, stmt);
        return step == STEP_DONE;
}

static const void *find_first(const StoreBatch *batch, RecordKind kind)
{
        for (guint i = 0; i < batch->n; i++)
                if (batch->records[i].kind == kind)
                        return batch->records[i].data;
        return NULL;
}

static bool is_undone(Conn *conn, const StoreBatch *batch)
{
        const Job *job = find_first(batch, RECORD_NEW_JOB);
        const Event *event = find_first(batch, RECORD_EVENT);

        return sqlite3_get_autocommit(conn->db) && (!job || is_absent(conn, JOB_EXISTS, job->seq)) &&
               (!event || is_absent(conn, EVENT_EXISTS, event->revision));
}

/* Failures that SQLite reports before the batch's last frame is in the log. 0: not SQLite's, so before its
 * COMMIT. */
static bool is_harmless(int code, int sys)
{
        switch (code & 0xff) {
        case 0:
        case SQLITE_FULL:
        case SQLITE_CONSTRAINT:
        case SQLITE_TOOBIG:
        case SQLITE_BUSY: return true;
        case SQLITE_IOERR: return code == SQLITE_IOERR_WRITE && sys == EDQUOT;
        default: return false;
        }
}

static StoreFailure undo(SqliteStore *store, const StoreBatch *batch)
{
        Conn *conn = &store->writer;
        bool harmless = is_harmless(conn->failed, conn->failed_errno);
        bool rolled_back = sqlite3_get_autocommit(conn->db) || conn_run(conn, ROLLBACK, NULL);

        if (harmless && rolled_back && is_undone(conn, batch))
                return STORE_FAILED_CLEAN;
        store->in_doubt = true;
        return STORE_FAILED_FATAL;
}

static bool check_usable(SqliteStore *store, GError **error)
{
        if (wal_is_broken(&store->wal))
                store->in_doubt = true;
        if (store->in_doubt)
                return err_set(
                        error, ERR_FAILED,
                        "database '%s': an earlier write failed and it is not known what is on the disk\n"
                        "Restart the server; if it happens again, check the disk.",
                        store->path);
        return true;
}

static void note_committed(SqliteStore *store, const StoreBatch *batch, const Tally *tally)
{
        for (const RecordRow *row = record_rows; row < record_rows + record_n_rows; row++)
                for (guint i = 0; row->committed && tally->n[row->kind][row->op] && i < batch->n; i++)
                        if (is_of(&batch->records[i], row))
                                row->committed(store, batch->records[i].data);
}

bool sqlite_commit(Store *base, const StoreBatch *batch, StoreFailure *ret_failure, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        const Tally tally = count_records(batch);
        Conn *conn = &store->writer;

        if (!check_usable(store, error)) {
                *ret_failure = STORE_FAILED_FATAL;
                return false;
        }
        conn->failed = conn->failed_errno = 0;
        if (!write_batch(conn, batch, &tally, error)) {
                *ret_failure = undo(store, batch);
                return false;
        }
        note_committed(store, batch, &tally);
        store->commits++;
        store->committed_jobs += tally.n[RECORD_NEW_JOB][RECORD_PUT] + tally.n[RECORD_JOB][RECORD_PUT];
        store->committed_events += tally.n[RECORD_EVENT][RECORD_PUT];
        return true;
}

/* ---- loading ---- */

static bool load_state(Conn *conn, StoreState *ret, GError **error)
{
        g_autofree char *boot_id = NULL;

        if (conn_step(conn, LOAD_STATE, error) != STEP_ROW)
                return false;
        boot_id = conn_text(conn, LOAD_STATE, 3);
        ret->last_seq = conn_int(conn, LOAD_STATE, 0);
        ret->last_revision = conn_int(conn, LOAD_STATE, 1);
        ret->events_horizon = conn_int(conn, LOAD_STATE, 2);
        ret->last_object_seq = conn_int(conn, LOAD_STATE, 4);
        ret->last_run_seq = conn_int(conn, LOAD_STATE, 5);
        ret->last_pipeline_seq = conn_int(conn, LOAD_STATE, 6);
        ret->last_schedule_seq = conn_int(conn, LOAD_STATE, 7);
        g_strlcpy(ret->boot_id, boot_id, sizeof ret->boot_id);
        conn_reset(conn, LOAD_STATE);
        return true;
}

static GPtrArray *load_records(Conn *conn, const RecordRow *row, Loading *loading, GError **error)
{
        g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func(row->free);
        int stmt = record_load_stmt(row);
        Step step;

        while ((step = conn_step(conn, stmt, error)) == STEP_ROW) {
                void *record = row->read(conn, stmt, loading, error);

                if (!record) {
                        conn_reset(conn, stmt);
                        return NULL;
                }
                g_ptr_array_add(records, record);
        }
        return step == STEP_DONE ? g_steal_pointer(&records) : NULL;
}

bool sqlite_load(Store *base, StoreState *ret, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(GHashTable) specs = job_specs_new();
        Loading loading = { specs };
        g_auto(StoreState) state = { 0 };

        if (!load_state(&store->writer, &state, error))
                return false;
        for (const RecordRow *row = record_rows; row < record_rows + record_n_rows; row++)
                if (row->load &&
                    !(state.loaded[row->kind] = load_records(&store->writer, row, &loading, error)))
                        return false;
        *ret = state;
        state = (StoreState){ 0 };
        return true;
}
