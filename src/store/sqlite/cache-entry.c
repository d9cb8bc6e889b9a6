/* The cache of steps: how its entries are written (see writer.h), and what readers ask of them (see store.h). */
#include "base/err.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/writer.h"

/* ---- writing ---- */

void bind_cache_entry(Conn *conn, int stmt, const void *data)
{
        const CacheEntry *entry = data;

        conn_bind_text(conn, stmt, 1, entry->key);
        conn_bind_text(conn, stmt, 2, entry->first);
        conn_bind_text(conn, stmt, 3, entry->second);
        conn_bind_int(conn, stmt, 4, entry->run);
        conn_bind_int(conn, stmt, 5, entry->node);
        conn_bind_int(conn, stmt, 6, entry->job);
        conn_bind_text(conn, stmt, 7, entry->user);
        conn_bind_text(conn, stmt, 8, entry->fs);
        conn_bind_text(conn, stmt, 9, entry->source);
        conn_bind_text(conn, stmt, 10, entry->step);
        conn_bind_int(conn, stmt, 11, entry->expiry_s);
        conn_bind_int(conn, stmt, 12, entry->created);
        conn_bind_text(conn, stmt, 13, entry->body);
}

void bind_seq(Conn *conn, int stmt, const void *seq)
{
        conn_bind_int(conn, stmt, 1, *(const gint64 *)seq);
}

/* ---- rows ---- */

/* The columns of CACHE_COLUMNS. */
static CacheEntry *entry_of_row(Conn *conn, int stmt)
{
        CacheEntry *entry = g_new0(CacheEntry, 1);

        *entry = (CacheEntry){ .seq = conn_int(conn, stmt, 0),
                               .key = conn_text(conn, stmt, 1),
                               .first = conn_text(conn, stmt, 2),
                               .second = conn_text(conn, stmt, 3),
                               .run = conn_int(conn, stmt, 4),
                               .node = (guint32)conn_int(conn, stmt, 5),
                               .job = conn_int(conn, stmt, 6),
                               .user = conn_text(conn, stmt, 7),
                               .fs = conn_text(conn, stmt, 8),
                               .source = conn_text(conn, stmt, 9),
                               .step = conn_text(conn, stmt, 10),
                               .expiry_s = conn_int(conn, stmt, 11),
                               .created = conn_int(conn, stmt, 12),
                               .body = conn_text(conn, stmt, 13),
                               .run_id = conn_text(conn, stmt, 14),
                               .job_id = conn_text(conn, stmt, 15),
                               .job_state = (guint8)CLAMP(conn_int(conn, stmt, 16), 0, JOB_STATES - 1) };
        return entry;
}

static void free_entry(gpointer entry)
{
        cache_entry_free(entry);
}

/* All rows of a statement that is bound. Gives the connection back. */
static GPtrArray *read_all(SqliteStore *store, Conn *conn, int stmt, GError **error)
{
        g_autoptr(GPtrArray) entries = g_ptr_array_new_with_free_func(free_entry);
        Step step;

        while ((step = conn_step(conn, stmt, error)) == STEP_ROW)
                g_ptr_array_add(entries, entry_of_row(conn, stmt));
        pool_give(&store->pool, conn);
        return step == STEP_DONE ? g_steal_pointer(&entries) : NULL;
}

/* The first row. NULL without an error: none. */
static CacheEntry *read_one(SqliteStore *store, Conn *conn, int stmt, GError **error)
{
        Step step = conn_step(conn, stmt, error);
        CacheEntry *entry = step == STEP_ROW ? entry_of_row(conn, stmt) : NULL;

        pool_give(&store->pool, conn);
        return entry;
}

/* ---- queries ---- */

GPtrArray *sqlite_cache_lookup(Store *base, const CacheLookup *lookup, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);

        if (!conn)
                return NULL;
        conn_bind_text(conn, CACHE_LOOKUP, 1, lookup->key);
        conn_bind_text(conn, CACHE_LOOKUP, 2, lookup->second);
        conn_bind_int(conn, CACHE_LOOKUP, 3, lookup->before);
        conn_bind_int(conn, CACHE_LOOKUP, 4, lookup->not_run);
        conn_bind_int(conn, CACHE_LOOKUP, 5, lookup->limit);
        return read_all(store, conn, CACHE_LOOKUP, error);
}

static bool read_last(Conn *conn, gint64 *ret, GError **error)
{
        if (conn_step(conn, CACHE_LAST_SEQ, error) != STEP_ROW)
                return false;
        *ret = conn_int(conn, CACHE_LAST_SEQ, 0);
        conn_reset(conn, CACHE_LAST_SEQ);
        return true;
}

GPtrArray *sqlite_cache_entries(Store *base, const CacheQuery *query, gint64 *ret_next, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        int stmt = query->run ? CACHE_LIST_OF_RUN : CACHE_LIST;
        GPtrArray *entries;
        gint64 last, to;

        if (!conn)
                return NULL;
        if (!read_last(conn, &last, error)) {
                pool_give(&store->pool, conn);
                return NULL;
        }
        to = query->run ? last : MIN(last, query->after + READ_WINDOW);
        conn_bind_int(conn, stmt, 1, query->after);
        conn_bind_int(conn, stmt, 2, to);
        conn_bind_text(conn, stmt, 3, query->user);
        conn_bind_text(conn, stmt, 4, query->fs);
        conn_bind_int(conn, stmt, 5, query->limit);
        if (query->run)
                conn_bind_int(conn, stmt, 6, query->run);
        entries = read_all(store, conn, stmt, error);
        if (entries && entries->len == (guint)query->limit)
                to = ((const CacheEntry *)entries->pdata[entries->len - 1])->seq;
        *ret_next = to < last ? to : 0;
        return entries;
}

CacheEntry *sqlite_cache_entry(Store *base, gint64 seq, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        g_autoptr(GError) failed = NULL;
        CacheEntry *entry;

        if (!conn)
                return NULL;
        conn_bind_int(conn, CACHE_BY_SEQ, 1, seq);
        entry = read_one(store, conn, CACHE_BY_SEQ, &failed);
        if (failed)
                g_propagate_error(error, g_steal_pointer(&failed));
        else if (!entry)
                err_set(error, ERR_NOT_FOUND, "there is no cache entry with the number %" G_GINT64_FORMAT,
                        seq);
        return entry;
}

CacheEntry *sqlite_cache_of_node(Store *base, gint64 run, guint32 node, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);

        if (!conn)
                return NULL;
        conn_bind_int(conn, CACHE_OF_NODE, 1, run);
        conn_bind_int(conn, CACHE_OF_NODE, 2, node);
        return read_one(store, conn, CACHE_OF_NODE, error);
}

CacheEntry *sqlite_cache_of_step(Store *base, const CacheEntry *entry, const char *name, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);

        if (!conn)
                return NULL;
        conn_bind_text(conn, CACHE_OF_STEP, 1, entry->user);
        conn_bind_text(conn, CACHE_OF_STEP, 2, entry->step);
        conn_bind_int(conn, CACHE_OF_STEP, 3, entry->seq);
        conn_bind_text(conn, CACHE_OF_STEP, 4, name);
        return read_one(store, conn, CACHE_OF_STEP, error);
}

bool sqlite_cache_taker(Store *base, gint64 maker, gint64 job, gint64 from, gint64 *ret, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        Step step;

        if (!conn)
                return false;
        conn_bind_int(conn, CACHE_TAKER, 1, maker);
        conn_bind_int(conn, CACHE_TAKER, 2, job);
        conn_bind_int(conn, CACHE_TAKER, 3, from);
        step = conn_step(conn, CACHE_TAKER, error);
        *ret = step == STEP_ROW ? conn_int(conn, CACHE_TAKER, 0) : 0;
        pool_give(&store->pool, conn);
        return step != STEP_ERROR;
}

/* ---- numbers ---- */

static bool add_seqs(Conn *conn, int stmt, GArray *seqs, GError **error)
{
        Step step;

        while ((step = conn_step(conn, stmt, error)) == STEP_ROW) {
                gint64 seq = conn_int(conn, stmt, 0);

                g_array_append_val(seqs, seq);
        }
        return step == STEP_DONE;
}

/* At most `limit` numbers that follow from that of a run. */
static GArray *seqs_of_run(Store *base, int stmt, gint64 run, int limit, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(GArray) seqs = g_array_new(FALSE, FALSE, sizeof(gint64));
        Conn *conn = pool_take(&store->pool, error);
        bool ok;

        if (!conn)
                return NULL;
        conn_bind_int(conn, stmt, 1, run);
        conn_bind_int(conn, stmt, 2, limit);
        ok = add_seqs(conn, stmt, seqs, error);
        pool_give(&store->pool, conn);
        return ok ? g_steal_pointer(&seqs) : NULL;
}

GArray *sqlite_cache_users(Store *base, gint64 run, int limit, GError **error)
{
        return seqs_of_run(base, CACHE_USERS, run, limit, error);
}

GArray *sqlite_run_chain(Store *base, gint64 run, int limit, GError **error)
{
        return seqs_of_run(base, RUN_CHAIN, run, limit, error);
}

/* Of the first user with too many. */
static bool add_too_many(Conn *conn, gint64 max, int limit, GArray *seqs, GError **error)
{
        g_autofree char *user = NULL;
        Step step;

        conn_bind_int(conn, CACHE_OWNERS, 1, max);
        step = conn_step(conn, CACHE_OWNERS, error);
        if (step != STEP_ROW)
                return step == STEP_DONE;
        user = conn_text(conn, CACHE_OWNERS, 0);
        limit = (int)CLAMP(conn_int(conn, CACHE_OWNERS, 1) - max, 1, limit);
        conn_reset(conn, CACHE_OWNERS);
        conn_bind_text(conn, CACHE_TOO_MANY, 1, user);
        conn_bind_int(conn, CACHE_TOO_MANY, 2, limit);
        return add_seqs(conn, CACHE_TOO_MANY, seqs, error);
}

GArray *sqlite_cache_expired(Store *base, gint64 now, gint64 of_user_max, int limit, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(GArray) seqs = g_array_new(FALSE, FALSE, sizeof(gint64));
        Conn *conn = pool_take(&store->pool, error);
        bool ok;

        if (!conn)
                return NULL;
        conn_bind_int(conn, CACHE_EXPIRED, 1, now);
        conn_bind_int(conn, CACHE_EXPIRED, 2, limit);
        ok = add_seqs(conn, CACHE_EXPIRED, seqs, error) &&
             (seqs->len > 0 || add_too_many(conn, of_user_max, limit, seqs, error));
        pool_give(&store->pool, conn);
        return ok ? g_steal_pointer(&seqs) : NULL;
}
