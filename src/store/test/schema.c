/* The database file itself: migrations, whose it is, who has it open. */
#include <sys/stat.h>

#include "base/err.h"
#include "model/user.h"
#include "store/sqlite/schema.h"
#include "store/test/help.h"

static Conn open_file(const char *dir)
{
        g_autofree char *path = g_build_filename(dir, "paddle.db", NULL);
        g_autoptr(GError) error = NULL;
        Conn conn = { 0 };

        (void)conn_open(&conn, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &error);
        g_assert_no_error(error);
        return conn;
}

static void run_sql(const char *dir, const char *sql)
{
        g_autoptr(GError) error = NULL;
        Conn conn = open_file(dir);

        (void)conn_exec(&conn, sql, &error);
        g_assert_no_error(error);
        conn_close(&conn);
}

static gint64 get_int(Conn *conn, const char *sql)
{
        g_autoptr(GError) error = NULL;
        gint64 value = -1;

        (void)conn_get_int(conn, sql, &value, &error);
        g_assert_no_error(error);
        return value;
}

static const char *const steps[] = {
        "CREATE TABLE a (x); INSERT INTO a VALUES (1)",
        "CREATE TABLE b (x); INSERT INTO b SELECT x + 1 FROM a",
        "CREATE TABLE c (x); INSERT INTO c VALUES (3); INSERT INTO nowhere VALUES (1)",
};

/* Each step is whole or did not happen; the next start goes on behind the last whole one. */
static void test_migrate(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(GError) error = NULL;
        Conn conn = open_file(dir);

        g_assert_true(schema_migrate(&conn, steps, 1, &error));
        g_assert_cmpint(get_int(&conn, "PRAGMA user_version"), ==, 1);
        g_assert_true(schema_migrate(&conn, steps, 2, &error));
        g_assert_true(schema_migrate(&conn, steps, 2, &error)); /* nothing to do */
        g_assert_cmpint(get_int(&conn, "SELECT x FROM b"), ==, 2);
        g_assert_false(schema_migrate(&conn, steps, 3, &error));
        g_assert_nonnull(strstr(error->message, "migration 3: "));
        g_assert_nonnull(strstr(error->message, "nowhere"));
        g_assert_cmpint(get_int(&conn, "PRAGMA user_version"), ==, 2);
        g_assert_cmpint(get_int(&conn, "SELECT count(*) FROM sqlite_schema WHERE name = 'c'"), ==, 0);
        g_assert_true(sqlite3_get_autocommit(conn.db));
        conn_close(&conn);
}

/* A database of the first version: jobs, users and tokens are what they were. */
static void test_first_version(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(GError) error = NULL;
        g_auto(StoreState) state = { 0 };
        g_autoptr(Store) store = NULL;
        g_autoptr(Job) ended = NULL;
        g_autoptr(Token) token = NULL;
        Conn conn = open_file(dir);
        gint64 next;

        g_assert_true(schema_migrate(&conn, schema_migrations, 1, &error));
        conn_close(&conn);
        run_sql(dir, "INSERT INTO job VALUES (1, '00000000000000aa', 'ann', 'a', 8, 0, 'k',"
                     "  '{\"revision\":3,\"submitted\":10,\"running\":20,\"finished\":30,\"attempt\":1}'),"
                     " (2, '00000000000000bb', 'bob', 'b', 1, 1, NULL, '{\"revision\":4,\"submitted\":40}');"
                     "INSERT INTO job_spec VALUES (1, '{\"command\":[\"true\"]}'), (2, "
                     "'{\"command\":[\"true\"]}');"
                     "INSERT INTO event VALUES (4, 40, 2, '00000000000000bb', 'bob', 'job.queued', '{}');"
                     "INSERT INTO user VALUES ('bob', 0, 200), ('root', 1, 100);"
                     "INSERT INTO token VALUES ('t', 'root', 'hash', NULL, 1, 0);");
        store = open_store(dir);
        g_assert_true(store_load(store, &state, &error));
        g_assert_no_error(error);
        g_assert_cmpint(state.last_seq, ==, 2);
        g_assert_cmpint(state.last_revision, ==, 4);
        g_assert_cmpuint(state.loaded[RECORD_JOB]->len, ==, 1);
        g_assert_cmpstr(((Job *)state.loaded[RECORD_JOB]->pdata[0])->queue, ==, "default");
        g_assert_cmpint(((Job *)state.loaded[RECORD_JOB]->pdata[0])->updated, ==, 40);
        g_assert_cmpuint(state.loaded[RECORD_OBJECT]->len, ==, 2);
        const User *root = state.loaded[RECORD_OBJECT]->pdata[0],
                   *bob = state.loaded[RECORD_OBJECT]->pdata[1];
        g_assert_cmpstr(root->object.name, ==, "root");
        g_assert_cmpint(root->object.kind, ==, KIND_USER);
        g_assert_cmpint(root->object.created, ==, 100);
        g_assert_true(root->admin && !bob->admin);
        g_assert_null(root->password);
        g_assert_true(g_str_has_prefix(root->object.id, "user-"));
        g_assert_cmpint(state.last_object_seq, ==, 2);
        ended = store_job_by_key(store, "ann", "k", &error);
        g_assert_no_error(error);
        g_assert_cmpint(ended->state, ==, JOB_SUCCEEDED);
        g_assert_cmpint(ended->updated, ==, 30);
        g_assert_cmpint(ended->spec_seq, ==, 1);
        token = store_token_by_hash(store, "hash", &error);
        g_assert_false(token->login);
        g_assert_cmpint(token->scope, ==, SCOPE_ADMIN);
        g_assert_null(token->queue);
        g_autoptr(GPtrArray) ran =
                store_jobs(store,
                           &(JobQuery){ .limit = 5, .queue = "default", .states = 1u << JOB_SUCCEEDED },
                           &next, &error);
        g_assert_cmpuint(ran->len, ==, 1);
}

/* What waited for a whole array by its first job's id waits for it by its own; other dependencies stay. */
static void test_awaited_arrays(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(GError) error = NULL;
        g_auto(StoreState) state = { 0 };
        g_autoptr(Store) store = NULL;
        g_autofree char *after = NULL;
        Conn conn = open_file(dir);
        gint64 array;

        g_assert_true(schema_migrate(&conn, schema_migrations, 4, &error));
        conn_close(&conn);
        run_sql(dir,
                "INSERT INTO job_spec VALUES (1, '{\"command\":[\"true\"],\"array\":\"0-1\"}'),"
                " (3, '{\"command\":[\"true\"]}');"
                "INSERT INTO job VALUES (1, '00000000000000aa', 'ann', 's-w-0', 'default', 1, 1, 1, 0, 1, 1,"
                "  NULL, '{\"array_index\":0}'),"
                " (2, '00000000000000bb', 'ann', 's-w-1', 'default', 1, 1, 1, 0, 1, 1, NULL,"
                "  '{\"array_index\":1}'),"
                " (3, '00000000000000cc', 'ann', 'all', 'default', 1, 1, 1, 0, 3, 0, NULL,"
                "  '{\"after\":[\"ok:00000000000000aa\",\"any:00000000000000bb\"]}');");
        store = open_store(dir);
        g_assert_true(store_load(store, &state, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(state.loaded[RECORD_JOB]->len, ==, 3);
        after = g_strjoinv(" ", ((Job *)state.loaded[RECORD_JOB]->pdata[2])->after);
        g_assert_cmpstr(after, ==, "ok:a00000000000000aa any:00000000000000bb");
        g_assert_null(((Job *)state.loaded[RECORD_JOB]->pdata[0])->after);
        g_assert_true(store_array_by_name(store, "ann", "s-w", &array, &error));
        g_assert_cmpint(array, ==, 1);
        g_assert_false(store_array_by_name(store, "ann", "s", &array, NULL));
        g_assert_false(store_array_by_name(store, "bob", "s-w", &array, NULL));
}

static char *list_events(Store *store, EventQuery query)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) events = NULL;
        g_autoptr(GString) text = g_string_new(NULL);

        query.limit = 100;
        events = store_events(store, &query, &error);
        g_assert_no_error(error);
        for (guint i = 0; i < events->len; i++) {
                const Event *event = events->pdata[i];

                g_string_append_printf(text, "%d %s: %d/%d '%s' '%s' of %s; ", (int)event->revision,
                                       event->kind, event->subject.kind, (int)event->subject.seq,
                                       event->subject.id, event->name ? event->name : "-",
                                       event->subject.owner ? event->subject.owner : "-");
        }
        return g_strdup(text->str);
}

static void assert_listed(Store *store, EventQuery query, const char *want)
{
        g_autofree char *got = list_events(store, query);

        g_assert_cmpstr(got, ==, want);
}

/* Events of before the migration are about jobs or about no subject. An event about a subject of another kind is
 * not one of the job with the same number. */
static void test_subjects(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(GError) error = NULL;
        g_autoptr(Store) store = NULL;
        Conn conn = open_file(dir);

        g_assert_true(schema_migrate(&conn, schema_migrations, 5, &error));
        conn_close(&conn);
        run_sql(dir, "INSERT INTO job_spec VALUES (7, '{\"command\":[\"true\"]}');"
                     "INSERT INTO job VALUES (7, '00000000000000aa', 'ann', 'a', 'default', 1, 1, 1, 0, 7, 0,"
                     "  NULL, '{}');"
                     "INSERT INTO event VALUES (1, 10, 0, '', NULL, 'queue.put', '{}'),"
                     " (2, 10, 7, '00000000000000aa', 'ann', 'job.queued', '{}');");
        store_close(open_store(dir));
        run_sql(dir,
                "INSERT INTO event (revision, time, subject_kind, subject_seq, subject_id, user, kind, data)"
                " VALUES (3, 10, 99, 7, 'other', 'bob', 'other.put', '{}')");
        store = open_store(dir);
        assert_listed(store, (EventQuery){ 0 },
                      "1 queue.put: 0/0 '' '-' of -; 2 job.queued: 1/7 '00000000000000aa' 'a' of ann; "
                      "3 other.put: 99/7 'other' '-' of bob; ");
        assert_listed(store, (EventQuery){ .owner = "bob" }, "3 other.put: 99/7 'other' '-' of bob; ");
        assert_listed(store, (EventQuery){ .subject = SUBJECT_JOB, .seq = 7 },
                      "2 job.queued: 1/7 '00000000000000aa' 'a' of ann; ");
        assert_listed(store, (EventQuery){ .subject = SUBJECT_JOB, .seq = 6, .n = 2 },
                      "2 job.queued: 1/7 '00000000000000aa' 'a' of ann; ");
        assert_listed(store, (EventQuery){ .subject = SUBJECT_JOB, .seq = 5, .n = 2 }, "");
        assert_listed(store, (EventQuery){ .subject = (SubjectKind)99, .seq = 7 },
                      "3 other.put: 99/7 'other' '-' of bob; ");
}

static void test_empty_file(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *path = g_build_filename(dir, "paddle.db", NULL);
        g_autoptr(Store) store = NULL;

        g_assert_true(g_file_set_contents(path, "", 0, NULL));
        store = open_store(dir);
        commit_job(store, 1);
        g_assert_cmpint(last_seq(store), ==, 1);
}

static void test_settings(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        Conn conn = open_file(dir);
        struct stat info;

        commit_job(store, 1);
        g_assert_cmpint(get_int(&conn, "PRAGMA user_version"), ==, schema_n_migrations);
        g_assert_cmpint(get_int(&conn, "SELECT 'wal' = (SELECT journal_mode FROM pragma_journal_mode)"), ==,
                        1);
        conn_close(&conn);
        static const char *const files[] = { "paddle.db", "paddle.db-wal", "paddle.db-shm",
                                             "paddle.db.lock" };
        for (gsize i = 0; i < G_N_ELEMENTS(files); i++) { /* it holds the hashes of tokens */
                g_autofree char *path = g_build_filename(dir, files[i], NULL);

                g_assert_cmpint(stat(path, &info), ==, 0);
                g_assert_cmpint(info.st_mode & 0777, ==, 0600);
        }
}

static void assert_refused(const char *dir, ErrCode code, const char *const *says)
{
        g_autoptr(GError) error = NULL;

        g_assert_null(store_open(dir, &error));
        g_assert_true(err_is(error, code));
        for (; *says; says++)
                if (!strstr(error->message, *says))
                        g_error("'%s' does not say '%s'", error->message, *says);
}

static void test_newer(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *known = g_strdup_printf("up to %d", schema_n_migrations);

        store_close(open_store(dir));
        run_sql(dir, "PRAGMA user_version = 90");
        assert_refused(dir, ERR_CONFLICT,
                       (const char *[]){ "paddle.db'", "version 90", known, "newer program", NULL });
        Conn conn = open_file(dir);
        g_assert_cmpint(get_int(&conn, "PRAGMA user_version"), ==, 90);
        conn_close(&conn);
        g_autofree char *own = g_strdup_printf("PRAGMA user_version = %d", schema_n_migrations);
        run_sql(dir, own); /* and it was left as it is */
        store_close(open_store(dir));
}

static void test_foreign(void)
{
        static const char *const databases[] = {
                "CREATE TABLE songs (title)",
                "PRAGMA application_id = 7; PRAGMA user_version = 1",
                "PRAGMA user_version = 1",
        };

        for (gsize i = 0; i < G_N_ELEMENTS(databases); i++) {
                g_autoptr(Scratch) dir = scratch_new();

                run_sql(dir, databases[i]);
                assert_refused(dir, ERR_CONFLICT, (const char *[]){ "database of another program", NULL });
        }
}

static void test_no_database(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *path = g_build_filename(dir, "paddle.db", NULL);
        g_autofree char *text = NULL, *after = NULL;

        text = g_strnfill(5000, 'x');
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
        assert_refused(dir, ERR_CONFLICT,
                       (const char *[]){ "paddle.db' is not a database", "Move it away", NULL });
        g_assert_true(g_file_get_contents(path, &after, NULL, NULL));
        g_assert_cmpstr(after, ==, text);
}

static void test_no_directory(void)
{
        assert_refused("/nonexistent/state", ERR_NOT_FOUND,
                       (const char *[]){ "/nonexistent/state/paddle.db.lock", "No such file", NULL });
}

static void test_second_server(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autofree char *process = g_strdup_printf("(process %d)", (int)getpid());

        assert_refused(dir, ERR_CONFLICT, (const char *[]){ "open in another server", process, NULL });
        commit_job(store, 1); /* the first is not disturbed */
        g_clear_pointer(&store, store_close);
        store = open_store(dir);
        g_assert_cmpint(last_seq(store), ==, 1);
}

static gpointer close_soon(gpointer store)
{
        g_usleep(
                50000); /* the other open is under way; that it is not yet would hide a bug, never make one */
        store_close(store);
        return NULL;
}

/* One that was killed may be seen to be gone a moment before the system has taken its lock away. */
static void test_dying_server(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        Store *dying = open_store(dir);
        GThread *thread = g_thread_new("dying", close_soon, dying);
        g_autoptr(Store) store = open_store(dir);

        g_thread_join(thread);
        g_assert_cmpint(last_seq(store), ==, 0);
}

/* The first migration that has this text. */
static int find_migration(const char *text)
{
        for (int i = 0; i < schema_n_migrations; i++)
                if (strstr(schema_migrations[i], text))
                        return i;
        g_assert_not_reached();
}

/* Entries of the cache that an earlier build stored are counted, and so are those that come and go later. */
static void test_cache_counts(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(GError) error = NULL;
        g_autoptr(Store) store = NULL;
        Conn conn = open_file(dir);

        g_assert_true(schema_migrate(&conn, schema_migrations, find_migration("run_cache_count"), &error));
        conn_close(&conn);
        run_sql(dir,
                "INSERT INTO run_cache (key, first, second, run, node, job, user, fs, source, step, expiry,"
                "  created, body) VALUES ('k', 'f', 's', 1, 2, 1, 'ann', '', '', 'a', -1, 0, '{}'),"
                " ('k', 'f', 's', 1, 3, 2, 'ann', '', '', 'b', -1, 0, '{}'),"
                " ('k', 'f', 's', 1, 4, 3, 'bob', '', '', 'b', -1, 0, '{}')");
        store = open_store(dir);
        g_autoptr(GArray) none = store_cache_expired(store, 1, 2, 10, &error);
        g_autoptr(GArray) one = store_cache_expired(store, 1, 1, 10, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(none->len, ==, 0);
        g_assert_cmpuint(one->len, ==, 1);
        g_assert_cmpint(g_array_index(one, gint64, 0), ==, 1);
        g_clear_pointer(&store, store_close);
        run_sql(dir, "DELETE FROM run_cache WHERE user = 'bob'");
        conn = open_file(dir);
        g_assert_cmpint(get_int(&conn, "SELECT n FROM run_cache_count WHERE user = 'ann'"), ==, 2);
        g_assert_cmpint(get_int(&conn, "SELECT count(*) FROM run_cache_count"), ==, 1);
        conn_close(&conn);
}

/* The runs of a schedule that an earlier build stored go on in the queue in which they were: that of /v1. */
static void test_queue_of_schedules(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(GError) error = NULL;
        g_autoptr(Store) store = NULL;
        g_autoptr(ScheduleRecord) schedule = NULL;
        Conn conn = open_file(dir);

        g_assert_true(schema_migrate(&conn, schema_migrations, find_migration("schedule ADD COLUMN queue"),
                                     &error));
        conn_close(&conn);
        run_sql(dir,
                "INSERT INTO schedule (seq, user, name, run_user, pipeline, version, crontab, start_at,"
                "  end_at, concurrency, policy, expire, catchup, state, revision, created, updated,"
                "  next_at) VALUES (1, 'root', 's', 'ann', 1, 1, '@daily', 0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1)");
        store = open_store(dir);
        schedule = store_schedule(store, 1, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(schedule->run_user, ==, "ann");
        g_assert_null(schedule->queue);
}

/* A row that is not what was written names the job, and the load fails as a whole. */
static void test_damaged_row(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(GError) error = NULL;
        g_auto(StoreState) state = { .last_seq = 99 };

        commit_job(store, 1);
        run_sql(dir, "UPDATE job SET body = '{', id = '0123456789abcdef'");
        g_assert_false(store_load(store, &state, &error));
        g_assert_nonnull(strstr(error->message, "job '0123456789abcdef' in the database: "));
        g_assert_cmpint(state.last_seq, ==, 99);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/schema/migrate", test_migrate);
        g_test_add_func("/schema/first-version", test_first_version);
        g_test_add_func("/schema/awaited-arrays", test_awaited_arrays);
        g_test_add_func("/schema/subjects", test_subjects);
        g_test_add_func("/schema/empty-file", test_empty_file);
        g_test_add_func("/schema/settings", test_settings);
        g_test_add_func("/schema/newer", test_newer);
        g_test_add_func("/schema/foreign", test_foreign);
        g_test_add_func("/schema/no-database", test_no_database);
        g_test_add_func("/schema/no-directory", test_no_directory);
        g_test_add_func("/schema/second-server", test_second_server);
        g_test_add_func("/schema/dying-server", test_dying_server);
        g_test_add_func("/schema/cache-counts", test_cache_counts);
        g_test_add_func("/schema/queue-of-schedules", test_queue_of_schedules);
        g_test_add_func("/schema/damaged-row", test_damaged_row);
        return g_test_run();
}
