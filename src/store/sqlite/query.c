/* The readers' side (see store.h). Each read transaction ends with the statement that opened it, at the
 * latest when the connection goes back. A query whose filter no index serves goes through the table in
 * windows, one short transaction each. */
#include "base/err.h"
#include "store/sqlite/sqlite.h"

enum {
        WINDOW = 20000,               /* rows looked at in one transaction: about 10 ms */
        PAGE_BYTES = 16 * 1024 * 1024 /* a page of jobs ends early above this */
};

enum {
        JOB_BY_ID,
        JOB_BY_NAME,
        JOB_BY_KEY,
        JOBS_ALL,
        JOBS_OF_USER,
        JOBS_NAMED,
        JOBS_OPEN,
        LAST_SEQ,
        EVENTS_BOUNDS,
        EVENTS_SINCE,
        EVENTS_OF_JOB,
        USER_BY_NAME,
        USERS,
        TOKEN_BY_HASH,
        TOKENS,
        N_SQL,
};

#define ONE_JOB "SELECT " JOB_COLUMNS " FROM job" JOB_WITH_SPEC
/* ?1 before, ?2 from, ?3 set of states, ?4 user, ?5 name, ?6 limit */
#define JOBS(index, which)                                                                                   \
        "SELECT " JOB_COLUMNS " FROM job " index JOB_WITH_SPEC "WHERE " which                                \
        " AND job.seq < ?1 AND job.seq >= ?2 AND (?3 >> state) & 1 ORDER BY job.seq DESC LIMIT ?6"
/* ?1 after, ?2 to, ?3 user, ?4 job, ?5 limit */
#define EVENTS(which)                                                                                        \
        "SELECT revision, time, job_seq, job_id, user, kind, data,"                                          \
        " (SELECT name FROM job WHERE seq = job_seq) FROM event WHERE " which                                \
        " AND revision > ?1 AND revision <= ?2 AND (?3 IS NULL OR user = ?3) ORDER BY revision LIMIT ?5"

const char *const reader_sql[] = {
        [JOB_BY_ID] = ONE_JOB "WHERE id = ?1",
        [JOB_BY_NAME] = "SELECT " JOB_COLUMNS " FROM job INDEXED BY job_name" JOB_WITH_SPEC
                        "WHERE user = ?1 AND name = ?2 ORDER BY job.seq DESC LIMIT 1",
        [JOB_BY_KEY] = ONE_JOB "WHERE user = ?1 AND idempotency = ?2",
        [JOBS_ALL] = JOBS("NOT INDEXED", "(?4 IS NULL OR user = ?4) AND (?5 IS NULL OR name = ?5)"),
        [JOBS_OF_USER] = JOBS("INDEXED BY job_user", "user = ?4 AND (?5 IS NULL OR name = ?5)"),
        [JOBS_NAMED] = JOBS("INDEXED BY job_name", "user = ?4 AND name = ?5"),
        [JOBS_OPEN] = JOBS("INDEXED BY job_open",
                           "open = 1 AND (?4 IS NULL OR user = ?4) AND (?5 IS NULL OR name = ?5)"),
        [LAST_SEQ] = "SELECT coalesce(max(seq), 0) FROM job",
        [EVENTS_BOUNDS] = "SELECT events_horizon, coalesce((SELECT max(revision) FROM event), 0) FROM state",
        [EVENTS_SINCE] = EVENTS("?4 = 0"),
        [EVENTS_OF_JOB] = EVENTS("job_seq > 0 AND job_seq = ?4"),
        [USER_BY_NAME] = "SELECT name, admin, created FROM user WHERE name = ?1",
        [USERS] = "SELECT name, admin, created FROM user ORDER BY name",
        [TOKEN_BY_HASH] = "SELECT id, user, hash, note, created, expires FROM token WHERE hash = ?1",
        [TOKENS] = "SELECT id, user, hash, note, created, expires FROM token WHERE user = coalesce(?1, user) "
                   "ORDER BY "
                   "created, id",
};
G_STATIC_ASSERT(G_N_ELEMENTS(reader_sql) == N_SQL);
const int reader_n_sql = N_SQL;

/* The row that `stmt` finds for one or two texts. *ret_row NULL: there is none. */
static bool find_job(Store *store, int stmt, const char *first, const char *second, JobRow **ret_row,
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

Job *store_job_by_id(Store *store, const char *id, GError **error)
{
        g_autoptr(JobRow) row = NULL;

        if (!find_job(store, JOB_BY_ID, id, NULL, &row, error))
                return NULL;
        if (!row)
                err_set(error, ERR_NOT_FOUND, "there is no job '%s'", id);
        return row ? job_row_make(row, error) : NULL;
}

Job *store_job_by_name(Store *store, const char *user, const char *name, GError **error)
{
        g_autoptr(JobRow) row = NULL;

        if (!find_job(store, JOB_BY_NAME, user, name, &row, error))
                return NULL;
        if (!row)
                err_set(error, ERR_NOT_FOUND, "user '%s' has no job named '%s'", user, name);
        return row ? job_row_make(row, error) : NULL;
}

Job *store_job_by_key(Store *store, const char *user, const char *idempotency_key, GError **error)
{
        g_autoptr(JobRow) row = NULL;

        if (!find_job(store, JOB_BY_KEY, user, idempotency_key, &row, error))
                return NULL;
        if (!row)
                err_set(error, ERR_NOT_FOUND, "user '%s' has no job with the idempotency key '%s'", user,
                        idempotency_key);
        return row ? job_row_make(row, error) : NULL;
}

/* A list of jobs on its way: where it goes on, and what it has. */
typedef struct {
        const JobQuery *query;
        guint32 states;
        int stmt;
        gint64 window;   /* of seqs looked at in one transaction */
        gint64 before;   /* the next window ends here */
        GPtrArray *rows; /* JobRow *, at most limit + 1 */
        gsize bytes;
} Listing;

static bool is_full(const Listing *listing)
{
        return listing->rows->len > (guint)listing->query->limit ||
               (listing->bytes > PAGE_BYTES && listing->rows->len > 1);
}

static void plan(Listing *listing, const JobQuery *query)
{
        guint32 every = (1u << JOB_STATES) - 1, final = 0;

        for (int state = 0; state < JOB_STATES; state++)
                if (job_state_is_final(state))
                        final |= 1u << state;
        listing->query = query;
        listing->states = query->states ? query->states : every;
        listing->window = G_MAXINT64;
        if (query->user && query->name) {
                listing->stmt = JOBS_NAMED;
        } else if (!(listing->states & final)) {
                listing->stmt = JOBS_OPEN;
        } else {
                listing->stmt = query->user ? JOBS_OF_USER : JOBS_ALL;
                listing->window = WINDOW;
        }
}

static bool read_window(Listing *listing, Conn *conn, gint64 from, GError **error)
{
        int stmt = listing->stmt;
        Step step = STEP_DONE;

        conn_bind_int(conn, stmt, 1, listing->before);
        conn_bind_int(conn, stmt, 2, from);
        conn_bind_int(conn, stmt, 3, listing->states);
        conn_bind_text(conn, stmt, 4, listing->query->user);
        conn_bind_text(conn, stmt, 5, listing->query->name);
        conn_bind_int(conn, stmt, 6, listing->query->limit + 1 - (int)listing->rows->len);
        while (!is_full(listing) && (step = conn_step(conn, stmt, error)) == STEP_ROW) {
                JobRow *row = job_row_read(conn, stmt);

                g_ptr_array_add(listing->rows, row);
                listing->bytes += job_row_size(row);
        }
        listing->before = from;
        return step != STEP_ERROR;
}

/* Where the newest window ends: just above the newest job. */
static bool start_listing(Listing *listing, Conn *conn, GError **error)
{
        if (conn_step(conn, LAST_SEQ, error) != STEP_ROW)
                return false;
        listing->before = conn_int(conn, LAST_SEQ, 0) + 1;
        if (listing->query->before_seq > 0)
                listing->before = MIN(listing->before, listing->query->before_seq);
        return true;
}

static bool list_rows(Store *store, Listing *listing, GError **error)
{
        listing->before = -1;
        while (listing->before != 0 && !is_full(listing)) {
                Conn *conn = pool_take(&store->pool, error);
                bool ok;

                if (!conn)
                        return false;
                ok = listing->before > 0 || start_listing(listing, conn, error);
                ok = ok && read_window(listing, conn, MAX(0, listing->before - listing->window), error);
                pool_give(&store->pool, conn);
                if (!ok)
                        return false;
        }
        return true;
}

GPtrArray *store_jobs(Store *store, const JobQuery *query, gint64 *ret_next, GError **error)
{
        g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)job_row_free);
        g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func((GDestroyNotify)job_unref);
        Listing listing = { .rows = rows };
        bool more;

        plan(&listing, query);
        if (!list_rows(store, &listing, error))
                return NULL;
        more = is_full(&listing); /* the last row only says that there is more */
        for (guint i = 0; i < rows->len - more; i++) {
                Job *job = job_row_make(g_ptr_array_index(rows, i), error);

                if (!job)
                        return NULL;
                g_ptr_array_add(jobs, job);
        }
        *ret_next = more ? ((const JobRow *)g_ptr_array_index(rows, rows->len - 2))->seq : 0;
        return g_steal_pointer(&jobs);
}

static Event *read_event(Conn *conn, int stmt)
{
        g_autofree char *job_id = conn_text(conn, stmt, 3);
        Event *event = g_new0(Event, 1);

        event->revision = conn_int(conn, stmt, 0);
        event->time = conn_int(conn, stmt, 1);
        event->job_seq = conn_int(conn, stmt, 2);
        g_strlcpy(event->job_id, job_id, sizeof event->job_id);
        event->user = conn_text(conn, stmt, 4);
        event->kind = conn_text(conn, stmt, 5);
        event->data = conn_text(conn, stmt, 6);
        event->name = conn_text(conn, stmt, 7);
        return event;
}

typedef struct {
        gint64 after, last; /* looked at so far; the newest there is */
        gint64 job_seq;
        const char *user;
        int limit;
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
        if (scan->after == 0 && scan->job_seq > 0)
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
        int stmt = scan->job_seq > 0 ? EVENTS_OF_JOB : EVENTS_SINCE;
        gint64 to;
        Step step;

        if (!check_horizon(scan, conn, error))
                return false;
        to = scan->user && !scan->job_seq ? MIN(scan->last, scan->after + WINDOW) : scan->last;
        conn_bind_int(conn, stmt, 1, scan->after);
        conn_bind_int(conn, stmt, 2, to);
        conn_bind_text(conn, stmt, 3, scan->user);
        conn_bind_int(conn, stmt, 4, scan->job_seq);
        conn_bind_int(conn, stmt, 5, scan->limit - (int)scan->events->len);
        while ((step = conn_step(conn, stmt, error)) == STEP_ROW)
                g_ptr_array_add(scan->events, read_event(conn, stmt));
        scan->after = MAX(scan->after, to);
        return step == STEP_DONE;
}

GPtrArray *store_events(Store *store, gint64 since, gint64 job_seq, const char *user, int limit,
                        GError **error)
{
        g_autoptr(GPtrArray) events = g_ptr_array_new_with_free_func((GDestroyNotify)event_free);
        EventScan scan = { since, since + 1, job_seq, user, limit, events };

        while (scan.after < scan.last && events->len < (guint)limit) {
                Conn *conn = pool_take(&store->pool, error);
                bool ok = conn && read_events(&scan, conn, error);

                pool_give(&store->pool, conn);
                if (!ok)
                        return NULL;
        }
        return g_steal_pointer(&events);
}

gint64 store_events_horizon(Store *store)
{
        return store->horizon;
}

static void *read_user(Conn *conn, int stmt)
{
        User *user = g_new0(User, 1);

        user->name = conn_text(conn, stmt, 0);
        user->admin = conn_int(conn, stmt, 1) != 0;
        user->created = conn_int(conn, stmt, 2);
        return user;
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
        return token;
}

/* All rows that `stmt` finds for `text` (NULL: it takes none), each read by `read`. */
static GPtrArray *find_all(Store *store, int stmt, const char *text, void *(*read)(Conn *, int),
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

User *store_user(Store *store, const char *name, GError **error)
{
        g_autoptr(GPtrArray) users =
                find_all(store, USER_BY_NAME, name, read_user, (GDestroyNotify)user_free, error);

        if (users && users->len > 0)
                return g_ptr_array_steal_index(users, 0);
        if (users)
                err_set(error, ERR_NOT_FOUND, "there is no user '%s'", name);
        return NULL;
}

GPtrArray *store_users(Store *store, GError **error)
{
        return find_all(store, USERS, NULL, read_user, (GDestroyNotify)user_free, error);
}

Token *store_token_by_hash(Store *store, const char *hash, GError **error)
{
        g_autoptr(GPtrArray) tokens =
                find_all(store, TOKEN_BY_HASH, hash, read_token, (GDestroyNotify)token_free, error);

        if (tokens && tokens->len > 0)
                return g_ptr_array_steal_index(tokens, 0);
        if (tokens)
                err_set(error, ERR_NOT_FOUND, "the token is not known");
        return NULL;
}

GPtrArray *store_tokens(Store *store, const char *user, GError **error)
{
        return find_all(store, TOKENS, user, read_token, (GDestroyNotify)token_free, error);
}
