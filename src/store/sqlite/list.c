/* Pages of jobs (see store.h). A page is made in two steps: first the numbers of its jobs, from the indices
 * alone where these say all that is asked for; then the rows.
 *
 * Each index is over a key and the `phase` (1: open, else the final state), so a set of states becomes one
 * source for each of its phases, and their newest numbers are merged. A filter beyond that is looked up row
 * by row, in windows of numbers: after one window a page ends, full or not, and says where the next goes on.
 * So no page takes longer than that, however few of a million jobs are meant. */
#include "base/err.h"
#include "store/sqlite/reader.h"

enum {
        PAGE_BYTES = 16 * 1024 * 1024, /* a page ends early above this */
        PHASE_OPEN = 1,
        SOURCES_MAX = 8,
        RAN_ROWS = 500, /* read at once for the statistics */
};

typedef struct {
        int stmt, phase;
} Source;

/* A page on its way. */
typedef struct {
        const JobQuery *query;
        Source sources[SOURCES_MAX];
        int n_sources;
        bool exact;        /* the sources alone say it */
        guint32 states;    /* 0: the sources say it */
        const char *label; /* the rarest */
        char *more_labels; /* JSON: all of them, where the sources do not say it; or NULL */
        gint64 before, from;
        GArray *seqs; /* gint64, newest first */
} Listing;

static void listing_clear(Listing *listing)
{
        g_free(listing->more_labels);
        g_clear_pointer(&listing->seqs, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Listing, listing_clear)

/* ---- which sources ---- */

static guint32 bits(bool final)
{
        guint32 set = 0;

        for (int state = 0; state < JOB_STATES; state++)
                if (job_state_is_final(state) == final)
                        set |= 1u << state;
        return set;
}

static void add_source(Listing *listing, int stmt, int phase)
{
        g_assert(listing->n_sources < SOURCES_MAX);
        listing->sources[listing->n_sources++] = (Source){ stmt, phase };
}

/* Open states share a phase: which of them it is stands in the row, but for those that are active. */
static void add_open(Listing *listing, int stmt)
{
        const guint32 active = 1u << JOB_ADMITTED | 1u << JOB_STARTING | 1u << JOB_RUNNING |
                               1u << JOB_PREEMPTING | 1u << JOB_STOPPING;
        guint32 open = listing->states & bits(false);

        if (!open)
                return;
        if (!(open & ~active)) {
                add_source(listing, SEQS_ACTIVE, PHASE_OPEN); /* as many as the machines hold */
        } else {
                listing->exact &= (open & 1u << JOB_QUEUED) != 0;
                add_source(listing, stmt, PHASE_OPEN);
        }
}

static void add_phases(Listing *listing, int stmt)
{
        add_open(listing, stmt);
        for (int state = 0; state < JOB_STATES; state++)
                if (job_state_is_final(state) && listing->states & 1u << state)
                        add_source(listing, stmt, state);
}

static bool every_state(const Listing *listing)
{
        return listing->states == (bits(true) | bits(false));
}

static void plan(Listing *listing, const JobQuery *query)
{
        listing->query = query;
        listing->states = query->states ? query->states : bits(true) | bits(false);
        listing->exact = query->updated_since <= 0 && query->started_since <= 0;
        if (query->array_seq > 0) {
                add_source(listing, SEQS_OF_ARRAY, 0);
        } else if (query->user && query->name) {
                add_source(listing, SEQS_NAMED_OPEN, 0);
                add_source(listing, SEQS_NAMED_ENDED, 0);
        } else if (listing->label) {
                add_source(listing, SEQS_LABELLED, 0);
                listing->exact &= !query->user && !query->queue && !query->name && every_state(listing) &&
                                  !listing->more_labels;
        } else if (query->user) {
                add_phases(listing, SEQS_OF_USER);
                listing->exact &= !query->queue;
        } else if (query->queue) {
                add_phases(listing, SEQS_OF_QUEUE);
                listing->exact &= !query->name;
        } else if (every_state(listing)) {
                add_source(listing, SEQS_ALL, 0);
                listing->exact &= !query->name;
        } else {
                add_phases(listing, SEQS_OF_PHASE);
                listing->exact &= !query->name;
        }
        if (every_state(listing))
                listing->states = 0;
}

static json_t *all_labels(const char *const *labels)
{
        json_t *all = json_array();

        for (; *labels; labels++)
                json_array_append_new(all, json_string(*labels));
        return all;
}

/* The label that the fewest jobs have leads. */
static bool choose_label(Listing *listing, Conn *conn, const JobQuery *query, GError **error)
{
        gint64 fewest = G_MAXINT64;
        int n = 0;

        for (const char *const *at = query->labels; at && *at; at++, n++) {
                gint64 count;

                conn_bind_text(conn, LABEL_COUNT, 1, *at);
                if (conn_step(conn, LABEL_COUNT, error) != STEP_ROW)
                        return false;
                count = conn_int(conn, LABEL_COUNT, 0);
                conn_reset(conn, LABEL_COUNT);
                if (count >= fewest)
                        continue;
                listing->label = *at;
                fewest = count;
        }
        if (n > 1 || (n == 1 && (query->array_seq > 0 || (query->user && query->name)))) {
                g_autoptr(json_t) all = all_labels(query->labels);

                listing->more_labels = json_format(all);
        }
        return true;
}

/* ---- numbers ---- */

static void bind_positive(Conn *conn, int stmt, int at, gint64 value)
{
        if (value > 0)
                conn_bind_int(conn, stmt, at, value);
        else
                conn_bind_text(conn, stmt, at, NULL);
}

static bool read_source(Listing *listing, Conn *conn, const Source *source, GError **error)
{
        const JobQuery *query = listing->query;
        int stmt = source->stmt;
        Step step;

        conn_bind_int(conn, stmt, 1, listing->before);
        conn_bind_int(conn, stmt, 2, listing->from);
        conn_bind_int(conn, stmt, 3, source->phase);
        conn_bind_int(conn, stmt, 4, query->limit + 1);
        conn_bind_text(conn, stmt, 5, query->user);
        conn_bind_text(conn, stmt, 6, query->name);
        conn_bind_text(conn, stmt, 7, query->queue);
        bind_positive(conn, stmt, 8, listing->states);
        bind_positive(conn, stmt, 9, query->array_seq);
        bind_positive(conn, stmt, 10, query->updated_since);
        bind_positive(conn, stmt, 11, query->started_since);
        conn_bind_text(conn, stmt, 12, listing->label);
        conn_bind_text(conn, stmt, 13, listing->more_labels);
        while ((step = conn_step(conn, stmt, error)) == STEP_ROW) {
                gint64 seq = conn_int(conn, stmt, 0);

                g_array_append_val(listing->seqs, seq);
        }
        return step == STEP_DONE;
}

static int newest_first(gconstpointer a, gconstpointer b)
{
        gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

        return (x < y) - (x > y);
}

/* A job that changes while the sources are read, the open ones first, may be in two of them, never in none.
 */
static void merge(GArray *seqs)
{
        guint n = 0;

        g_array_sort(seqs, newest_first);
        for (guint i = 0; i < seqs->len; i++)
                if (n == 0 || g_array_index(seqs, gint64, i) != g_array_index(seqs, gint64, n - 1))
                        g_array_index(seqs, gint64, n++) = g_array_index(seqs, gint64, i);
        g_array_set_size(seqs, n);
}

static bool find_start(Listing *listing, Conn *conn, GError **error)
{
        if (conn_step(conn, LAST_SEQ, error) != STEP_ROW)
                return false;
        listing->before = conn_int(conn, LAST_SEQ, 0) + 1;
        conn_reset(conn, LAST_SEQ);
        if (listing->query->before_seq > 0)
                listing->before = MIN(listing->before, listing->query->before_seq);
        listing->from = listing->exact ? 0 : MAX(0, listing->before - READ_WINDOW);
        return true;
}

static bool find_seqs(Listing *listing, Conn *conn, const JobQuery *query, GError **error)
{
        listing->query = query;
        listing->seqs = g_array_new(FALSE, FALSE, sizeof(gint64));
        if (!choose_label(listing, conn, query, error))
                return false;
        plan(listing, query);
        if (!find_start(listing, conn, error))
                return false;
        for (int i = 0; i < listing->n_sources; i++)
                if (!read_source(listing, conn, &listing->sources[i], error))
                        return false;
        merge(listing->seqs);
        return true;
}

/* ---- rows ---- */

/* Reads the rows of the page; how many of the numbers it has come to is *ret_done. */
static bool read_rows(const Listing *listing, Conn *conn, GPtrArray *rows, guint *ret_done, GError **error)
{
        guint n = MIN(listing->seqs->len, (guint)listing->query->limit), i;
        gsize bytes = 0;

        for (i = 0; i < n && bytes <= PAGE_BYTES; i++) {
                Step step;

                conn_bind_int(conn, JOB_BY_SEQ, 1, g_array_index(listing->seqs, gint64, i));
                step = conn_step(conn, JOB_BY_SEQ, error);
                if (step == STEP_ERROR)
                        return false;
                if (step == STEP_DONE)
                        continue; /* dropped meanwhile */
                g_ptr_array_add(rows, job_row_read(conn, JOB_BY_SEQ));
                conn_reset(conn, JOB_BY_SEQ);
                bytes += job_row_size(g_ptr_array_index(rows, rows->len - 1));
        }
        *ret_done = i;
        return true;
}

static gint64 where_next(const Listing *listing, guint done)
{
        if (done < listing->seqs->len)
                return g_array_index(listing->seqs, gint64, done - 1);
        return listing->from;
}

static GPtrArray *make_jobs(const GPtrArray *rows, GError **error)
{
        g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func((GDestroyNotify)job_unref);
        g_autoptr(GHashTable) specs = job_specs_new();

        for (guint i = 0; i < rows->len; i++) {
                Job *job = job_row_make(g_ptr_array_index(rows, i), specs, error);

                if (!job)
                        return NULL;
                g_ptr_array_add(jobs, job);
        }
        return g_steal_pointer(&jobs);
}

bool sqlite_jobs_count(Store *base, const JobQuery *query, int max, int *ret, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_auto(Listing) listing = { 0 };
        JobQuery counted = *query;
        Conn *conn = pool_take(&store->pool, error);
        bool ok;

        if (!conn)
                return false;
        counted.limit = max - 1;
        ok = find_seqs(&listing, conn, &counted, error);
        pool_give(&store->pool, conn);
        if (ok)
                *ret = MIN((int)listing.seqs->len, max);
        return ok;
}

GPtrArray *sqlite_jobs(Store *base, const JobQuery *query, gint64 *ret_next, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)job_row_free);
        g_auto(Listing) listing = { 0 };
        Conn *conn = pool_take(&store->pool, error);
        GPtrArray *jobs;
        guint done = 0;
        bool ok;

        if (!conn)
                return NULL;
        ok = find_seqs(&listing, conn, query, error) && read_rows(&listing, conn, rows, &done, error);
        pool_give(&store->pool, conn);
        jobs = ok ? make_jobs(rows, error) : NULL;
        if (jobs)
                *ret_next = where_next(&listing, done);
        return jobs;
}

/* ---- what ran ---- */

/* The oldest job that may be meant; 0: there is none. *ret_end: above the newest. */
static bool find_range(SqliteStore *store, const char *queue, gint64 from, gint64 *ret_first, gint64 *ret_end,
                       GError **error)
{
        static const int firsts[] = { RAN_OPEN_FIRST, RAN_FIRST };
        Conn *conn = pool_take(&store->pool, error);
        bool ok = conn != NULL;

        *ret_first = 0;
        for (gsize i = 0; ok && i < G_N_ELEMENTS(firsts); i++) {
                gint64 seq;

                conn_bind_text(conn, firsts[i], 1, queue);
                if (firsts[i] == RAN_FIRST)
                        conn_bind_int(conn, firsts[i], 2, from);
                ok = conn_step(conn, firsts[i], error) == STEP_ROW;
                seq = ok ? conn_int(conn, firsts[i], 0) : 0;
                if (seq && (!*ret_first || seq < *ret_first))
                        *ret_first = seq;
        }
        ok = ok && conn_step(conn, LAST_SEQ, error) == STEP_ROW;
        *ret_end = ok ? conn_int(conn, LAST_SEQ, 0) + 1 : 0;
        if (conn)
                pool_give(&store->pool, conn);
        return ok;
}

typedef struct {
        const char *queue;
        gint64 from, to; /* ms */
} Span;

static GPtrArray *read_ran(SqliteStore *store, const Span *span, gint64 seq, gint64 end, GError **error)
{
        g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)job_row_free);
        Conn *conn = pool_take(&store->pool, error);
        Step step;

        if (!conn)
                return NULL;
        conn_bind_text(conn, RAN_PAGE, 1, span->queue);
        conn_bind_int(conn, RAN_PAGE, 2, span->from);
        conn_bind_int(conn, RAN_PAGE, 3, span->to);
        conn_bind_int(conn, RAN_PAGE, 4, seq);
        conn_bind_int(conn, RAN_PAGE, 5, end);
        conn_bind_int(conn, RAN_PAGE, 6, RAN_ROWS);
        while ((step = conn_step(conn, RAN_PAGE, error)) == STEP_ROW)
                g_ptr_array_add(rows, job_row_read(conn, RAN_PAGE));
        pool_give(&store->pool, conn);
        return step == STEP_DONE ? make_jobs(rows, error) : NULL;
}

bool sqlite_jobs_that_ran(Store *base, const char *queue, gint64 from, gint64 to,
                          bool (*func)(const Job *job, void *arg), void *arg, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        const Span span = { queue, from, to };
        gint64 seq, end;

        if (!find_range(store, queue, from, &seq, &end, error))
                return false;
        while (seq > 0 && seq < end) {
                gint64 window = MIN(end, seq + READ_WINDOW);
                g_autoptr(GPtrArray) jobs = read_ran(store, &span, seq, window, error);

                if (!jobs)
                        return false;
                for (guint i = 0; i < jobs->len; i++)
                        if (!func(g_ptr_array_index(jobs, i), arg))
                                return true;
                seq = jobs->len == RAN_ROWS ? ((Job *)g_ptr_array_index(jobs, jobs->len - 1))->seq + 1
                                            : window;
        }
        return true;
}
