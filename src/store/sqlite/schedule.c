/* Schedules: how their records are written (see writer.h), and what readers ask of them (see store.h). */
#include "base/err.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/writer.h"

/* ---- writing ---- */

/* In the order of SCHEDULE_COLUMNS. */
void bind_schedule(Conn *conn, int stmt, const void *data)
{
        const ScheduleRecord *schedule = data;

        conn_bind_int(conn, stmt, 1, schedule->seq);
        conn_bind_text(conn, stmt, 2, schedule->user);
        conn_bind_text(conn, stmt, 3, schedule->name);
        conn_bind_text(conn, stmt, 4, schedule->note);
        conn_bind_text(conn, stmt, 5, schedule->run_user);
        conn_bind_int(conn, stmt, 6, schedule->pipeline);
        conn_bind_int(conn, stmt, 7, schedule->version);
        conn_bind_text(conn, stmt, 8, schedule->fs);
        conn_bind_text(conn, stmt, 9, schedule->crontab);
        conn_bind_int(conn, stmt, 10, schedule->start_at);
        conn_bind_int(conn, stmt, 11, schedule->end_at);
        conn_bind_int(conn, stmt, 12, schedule->concurrency);
        conn_bind_int(conn, stmt, 13, schedule->policy);
        conn_bind_int(conn, stmt, 14, schedule->expire_s);
        conn_bind_int(conn, stmt, 15, schedule->catchup);
        conn_bind_int(conn, stmt, 16, schedule->state);
        conn_bind_text(conn, stmt, 17, schedule->message);
        conn_bind_int(conn, stmt, 18, schedule->revision);
        conn_bind_int(conn, stmt, 19, schedule->created);
        conn_bind_int(conn, stmt, 20, schedule->updated);
        conn_bind_int(conn, stmt, 21, schedule->next_at);
        conn_bind_text(conn, stmt, 22, schedule->queue);
        conn_bind_text(conn, stmt, 23, schedule->mounts);
}

bool drop_schedule(Conn *conn, const void *data, GError **error)
{
        const gint64 *seq = data;

        conn_bind_int(conn, SCHEDULE_DROP, 1, *seq);
        return conn_run(conn, SCHEDULE_DROP, error) && drop_events(conn, SUBJECT_SCHEDULE, *seq, error);
}

/* ---- rows ---- */

static ScheduleRecord *schedule_of_row(Conn *conn, int stmt)
{
        ScheduleRecord *schedule = g_new0(ScheduleRecord, 1);

        *schedule = (ScheduleRecord){
                .seq = conn_int(conn, stmt, 0),
                .user = conn_text(conn, stmt, 1),
                .name = conn_text(conn, stmt, 2),
                .note = conn_text(conn, stmt, 3),
                .run_user = conn_text(conn, stmt, 4),
                .pipeline = conn_int(conn, stmt, 5),
                .version = (int)conn_int(conn, stmt, 6),
                .fs = conn_text(conn, stmt, 7),
                .crontab = conn_text(conn, stmt, 8),
                .start_at = conn_int(conn, stmt, 9),
                .end_at = conn_int(conn, stmt, 10),
                .concurrency = conn_int(conn, stmt, 11),
                .policy = (guint8)CLAMP(conn_int(conn, stmt, 12), 0, SCHEDULE_POLICIES - 1),
                .expire_s = conn_int(conn, stmt, 13),
                .catchup = conn_int(conn, stmt, 14) != 0,
                .state = (guint8)CLAMP(conn_int(conn, stmt, 15), 0, SCHEDULE_STATES - 1),
                .message = conn_text(conn, stmt, 16),
                .revision = conn_int(conn, stmt, 17),
                .created = conn_int(conn, stmt, 18),
                .updated = conn_int(conn, stmt, 19),
                .next_at = conn_int(conn, stmt, 20),
                .queue = conn_text(conn, stmt, 21),
                .mounts = conn_text(conn, stmt, 22),
        };
        return schedule;
}

/* With the name of its pipeline, which is the column behind those of the row. */
static ScheduleRecord *schedule_with_name(Conn *conn, int stmt)
{
        ScheduleRecord *schedule = schedule_of_row(conn, stmt);

        schedule->pipeline_name = conn_text(conn, stmt, 23);
        return schedule;
}

void *read_schedule(Conn *conn, int stmt, Loading *loading, GError **error)
{
        return schedule_of_row(conn, stmt);
}

static void schedule_free_p(gpointer schedule)
{
        schedule_record_free(schedule);
}

/* ---- one ---- */

/* What `stmt` finds. NULL without an error: nothing. Gives the connection back. */
static ScheduleRecord *read_one(SqliteStore *store, Conn *conn, int stmt, GError **error)
{
        ScheduleRecord *schedule =
                conn_step(conn, stmt, error) == STEP_ROW ? schedule_with_name(conn, stmt) : NULL;

        pool_give(&store->pool, conn);
        return schedule;
}

ScheduleRecord *sqlite_schedule(Store *base, gint64 seq, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        g_autoptr(GError) failed = NULL;
        ScheduleRecord *schedule;

        if (!conn)
                return NULL;
        conn_bind_int(conn, SCHEDULE_BY_SEQ, 1, seq);
        schedule = read_one(store, conn, SCHEDULE_BY_SEQ, &failed);
        if (failed)
                g_propagate_error(error, g_steal_pointer(&failed));
        else if (!schedule)
                err_set(error, ERR_NOT_FOUND, "there is no schedule with the number %" G_GINT64_FORMAT, seq);
        return schedule;
}

ScheduleRecord *sqlite_schedule_by_name(Store *base, const char *user, const char *name, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        Conn *conn = pool_take(&store->pool, error);
        g_autoptr(GError) failed = NULL;
        ScheduleRecord *schedule;

        if (!conn)
                return NULL;
        conn_bind_text(conn, SCHEDULE_BY_NAME, 1, user);
        conn_bind_text(conn, SCHEDULE_BY_NAME, 2, name);
        schedule = read_one(store, conn, SCHEDULE_BY_NAME, &failed);
        if (failed)
                g_propagate_error(error, g_steal_pointer(&failed));
        else if (!schedule)
                err_set(error, ERR_NOT_FOUND, "user '%s' has no schedule '%.130s'", user, name);
        return schedule;
}

/* ---- pages ---- */

GPtrArray *sqlite_schedules(Store *base, const ScheduleQuery *query, gint64 *ret_next, GError **error)
{
        SqliteStore *store = sqlite_store(base);
        g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(schedule_free_p);
        Conn *conn = pool_take(&store->pool, error);
        Step step;

        if (!conn)
                return NULL;
        conn_bind_int(conn, SCHEDULES, 1, query->after_seq);
        conn_bind_text(conn, SCHEDULES, 2, query->user);
        conn_bind_text(conn, SCHEDULES, 3, query->name);
        conn_bind_int(conn, SCHEDULES, 4, query->pipeline);
        conn_bind_int(conn, SCHEDULES, 5, query->version);
        conn_bind_int(conn, SCHEDULES, 6, query->states ? query->states : G_MAXUINT32);
        conn_bind_int(conn, SCHEDULES, 7, (gint64)query->limit + 1);
        while ((step = conn_step(conn, SCHEDULES, error)) == STEP_ROW)
                g_ptr_array_add(found, schedule_with_name(conn, SCHEDULES));
        pool_give(&store->pool, conn);
        *ret_next = 0;
        if (found->len > (guint)query->limit) {
                g_ptr_array_set_size(found, query->limit);
                *ret_next = ((const ScheduleRecord *)found->pdata[found->len - 1])->seq;
        }
        return step == STEP_DONE ? g_steal_pointer(&found) : NULL;
}
