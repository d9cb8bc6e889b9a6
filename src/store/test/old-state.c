/* State directories of earlier versions: state-5.sql and state-6.sql, the program's arguments, each become a paddle.db,
 * and everything that was submitted is read from it. The values are those that were given to the commands (see the heads
 * of the two files), and the numbers and ids that these printed. */
#include "base/err.h"
#include "model/flavour.h"
#include "model/queue.h"
#include "model/user.h"
#include "store/sqlite/conn.h"
#include "store/test/help.h"

/* What the two differ in: version 6 ran on the database of version 5. */
typedef struct {
        const char *path; /* of the SQL */
        guint n_jobs;     /* of old_jobs */
        gint64 revision;  /* the last one */
        gint64 usage, lab_usage, usage_at;
        const char *boot_id;
} OldState;

static OldState versions[] = {
        { .n_jobs = 9,
          .revision = 47,
          .usage = 1068987710,
          .lab_usage = 55999418,
          .usage_at = 1795709438464,
          .boot_id = "df1e4361-222c-4e1a-8dbb-ddd2a116bd5c" },
        { .n_jobs = 10,
          .revision = 53,
          .usage = 1059411196,
          .lab_usage = 54371460,
          .usage_at = 1795735180111,
          .boot_id = "df1e4361-222c-4e1a-8dbb-ddd2a116bd5c" },
};

static void write_database(const char *dir, const char *sql_path)
{
        g_autofree char *path = g_build_filename(dir, "paddle.db", NULL);
        g_autofree char *sql = NULL;
        g_autoptr(GError) error = NULL;
        Conn conn = { 0 };

        g_assert_true(g_file_get_contents(sql_path, &sql, NULL, &error));
        g_assert_true(conn_open(&conn, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &error));
        (void)conn_exec(&conn, sql, &error);
        g_assert_no_error(error);
        conn_close(&conn);
}

typedef struct {
        gint64 seq;
        const char *id, *name, *queue, *command, *reason, *events;
        JobState state;
        gint64 submitted, running, finished, not_before, array;
        int priority, attempt, exit_code, retries;
        const char *label, *key, *after;
        bool no_package;
} OldJob;

#define RAN "job.queued job.starting member.started job.running member.exited job.succeeded"
#define BEGIN_2099 4070908800000

static const OldJob old_jobs[] = {
        { 1, "xj6xeejz7ste3k7w", "digits", "default", "sh -c sleep 2; echo trained", NULL, RAN, JOB_SUCCEEDED,
          1795709427368, 1795709427388, 1795709429430, .priority = 100, .attempt = 1,
          .label = "team=vision" },
        { 2, "fyzgbjc9ak1z1jfz", "broken", "default", "sh -c exit 3",
          "worker-0 exited with status 3; see `paddle logs broken --member worker-0`",
          "job.queued job.starting member.started job.running member.exited job.failed", JOB_FAILED,
          1795709429460, 1795709429472, 1795709429500, .attempt = 1, .exit_code = 3 },
        { 3, "j4a1mck0n7yp9jj8", "sweep-0", "lab", "sh -c echo $PADDLE_ARRAY_INDEX", NULL, RAN, JOB_SUCCEEDED,
          1795709429551, 1795709429564, 1795709429600, .attempt = 1, .array = 3 },
        { 4, "42743e5mzb64g1q1", "sweep-1", "lab", "sh -c echo $PADDLE_ARRAY_INDEX", NULL, RAN, JOB_SUCCEEDED,
          1795709429551, 1795709429557, 1795709429573, .attempt = 1, .array = 3 },
        { 5, "hrhry4c7psdrrw2r", "sweep-2", "lab", "sh -c echo $PADDLE_ARRAY_INDEX", NULL, RAN, JOB_SUCCEEDED,
          1795709429551, 1795709429592, 1795709429608, .attempt = 1, .array = 3 },
        { 6, "4yxv1zf0kssynfgw", "later", "lab", "python train.py", "held by root",
          "job.queued job.suspended", JOB_SUSPENDED, 1795709429675, .not_before = BEGIN_2099, .key = "once" },
        { 7, "rbab1mvj13zghyg2", "spare", "default", "true", NULL, RAN, JOB_SUCCEEDED, 1795709429724,
          1795709429729, 1795709429753, .attempt = 1, .retries = 2 },
        { 8, "f8ffdyyb2bk4794t", "after", "default", "true", NULL, "job.queued", JOB_QUEUED, 1795709429852,
          .after = "ok:4yxv1zf0kssynfgw" },
        { 9, "q9fxry8588rpwa5a", "gone", "default", "true", "cancelled by root", "job.queued job.cancelled",
          JOB_CANCELLED, 1795709438444, .finished = 1795709438464, .not_before = BEGIN_2099 },
        { 10, "198csjh031xctp2f", "digits", "default", "true", NULL, RAN, JOB_SUCCEEDED, 1795735180068,
          1795735180096, 1795735180101, .attempt = 1, .no_package = true }, /* of version 6 */
};

static void assert_text(char **words, const char *want)
{
        g_autofree char *text = words ? g_strjoinv(" ", words) : NULL;

        g_assert_cmpstr(text, ==, want);
}

static void assert_job(const Job *job, const OldJob *want)
{
        g_assert_cmpint(job->seq, ==, want->seq);
        g_assert_cmpstr(job->id, ==, want->id);
        g_assert_cmpstr(job->name, ==, want->name);
        g_assert_cmpstr(job->user, ==, "root");
        g_assert_cmpstr(job->queue, ==, want->queue);
        g_assert_cmpstr(job->reason, ==, want->reason);
        g_assert_cmpint(job->state, ==, want->state);
        g_assert_cmpint(job->submitted, ==, want->submitted);
        g_assert_cmpint(job->running, ==, want->running);
        g_assert_cmpint(job->finished, ==, want->finished);
        g_assert_cmpint(job->not_before, ==, want->not_before);
        g_assert_cmpint(job->array_seq, ==, want->array);
        g_assert_cmpint(job->array_index, ==, want->array ? want->seq - want->array : -1);
        g_assert_cmpint(job->priority, ==, want->priority);
        g_assert_cmpint(job->attempt, ==, want->attempt);
        assert_text(job->spec->command, want->command);
        assert_text(job->after, want->after);
        g_assert_cmpint(job->spec->retries, ==, want->retries);
        g_assert_cmpstr(job->spec->package, ==,
                        want->no_package
                                ? NULL
                                : "5acf717f9ca404a7758bff9cc70b5d4ea14e1c0e2a057a9fd180139ede5e5703");
        if (want->label)
                assert_text((char **)job_labels(job), want->label);
        if (want->key)
                g_assert_cmpstr(job->idempotency_key, ==, want->key);
        if (want->attempt > 0) {
                g_assert_cmpint(job->n_members, ==, 1);
                g_assert_cmpint(job->members[0].exit_code, ==, want->exit_code);
        }
}

static void assert_job_events(Store *store, const OldJob *want)
{
        const EventQuery query = { .subject = SUBJECT_JOB, .seq = want->seq, .limit = 100 };
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) events = store_events(store, &query, &error);
        g_autoptr(GPtrArray) kinds = g_ptr_array_new();
        g_autofree char *text = NULL;

        g_assert_no_error(error);
        for (guint i = 0; i < events->len; i++) {
                const Event *event = events->pdata[i];

                g_assert_cmpint(event->subject.kind, ==, SUBJECT_JOB);
                g_assert_cmpint(event->subject.seq, ==, want->seq);
                g_assert_cmpstr(event->subject.id, ==, want->id);
                g_assert_cmpstr(event->subject.owner, ==, "root");
                g_assert_cmpstr(event->name, ==, want->name);
                g_ptr_array_add(kinds, event->kind);
        }
        g_ptr_array_add(kinds, NULL);
        text = g_strjoinv(" ", (char **)kinds->pdata);
        g_assert_cmpstr(text, ==, want->events);
}

static void assert_jobs(Store *store, const OldState *old)
{
        for (gsize i = 0; i < old->n_jobs; i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(Job) by_id = store_job_by_id(store, old_jobs[i].id, &error);
                g_autoptr(Job) by_seq = store_job_by_seq(store, old_jobs[i].seq, &error);

                g_assert_no_error(error);
                assert_job(by_id, &old_jobs[i]);
                assert_job(by_seq, &old_jobs[i]);
                assert_job_events(store, &old_jobs[i]);
        }
}

/* The newest of its name, and all of that name. */
static void assert_named(Store *store, const OldState *old)
{
        const gint64 newest = old->n_jobs == 10 ? 10 : 1;
        g_autoptr(GError) error = NULL;
        g_autoptr(Job) job = store_job_by_name(store, "root", "digits", &error);
        gint64 next;
        g_autoptr(GPtrArray) all =
                store_jobs(store, &(JobQuery){ .limit = 100, .user = "root", .name = "digits" }, &next,
                           &error);

        g_assert_no_error(error);
        g_assert_cmpint(job->seq, ==, newest);
        g_assert_cmpint(((Job *)all->pdata[0])->seq, ==, newest);
        g_assert_cmpuint(all->len, ==, newest == 10 ? 2 : 1);
        g_clear_pointer(&job, job_unref);
        job = store_job_by_name(store, "root", "later", &error); /* open */
        g_assert_no_error(error);
        g_assert_cmpint(job->seq, ==, 6);
}

static void assert_lists(Store *store, const OldState *old)
{
        const char *labels[] = { "team=vision", NULL };
        g_autoptr(GError) error = NULL;
        ArrayCount count;
        gint64 array, next;
        g_autoptr(GPtrArray) all = store_jobs(store, &(JobQuery){ .limit = 100 }, &next, &error);
        g_autoptr(GPtrArray) labelled =
                store_jobs(store, &(JobQuery){ .limit = 100, .labels = labels }, &next, &error);
        g_autoptr(Job) by_key = store_job_by_key(store, "root", "once", &error);

        g_assert_no_error(error);
        g_assert_cmpuint(all->len, ==, old->n_jobs);
        g_assert_cmpuint(labelled->len, ==, 1);
        g_assert_cmpint(((Job *)labelled->pdata[0])->seq, ==, 1);
        g_assert_cmpint(by_key->seq, ==, 6);
        g_assert_true(store_array_by_name(store, "root", "sweep", &array, &error));
        g_assert_cmpint(array, ==, 3);
        g_assert_true(store_array_count(store, 3, &count, &error));
        g_assert_cmpint(count.size, ==, 3);
        g_assert_cmpint(count.counts[JOB_SUCCEEDED], ==, 3);
}

/* From revision 2 on, of which five are about objects: in order, with what was changed and by whom. */
static void assert_object_events(Store *store, const OldState *old)
{
        static const struct {
                gint64 revision, time;
                const char *kind, *data;
        } want[] = {
                { 2, 1795709416600, "queue.put", "{\"name\":\"lab\",\"by\":\"root\"}" },
                { 3, 1795709427024, "user.put", "{\"name\":\"ann\",\"by\":\"root\"}" },
                { 4, 1795709427117, "flavour.put", "{\"name\":\"small\",\"by\":\"root\"}" },
                { 44, 1795709438350, "user.put", "{\"name\":\"ann\",\"by\":\"root\"}" },
                { 45, 1795709438415, "grant.put", "{\"name\":\"ann/queue/lab\",\"by\":\"root\"}" },
        };
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) events = store_events(store, &(EventQuery){ .limit = 100 }, &error);
        gsize n = 0;

        g_assert_no_error(error);
        g_assert_cmpint(events->len, ==, old->revision - 1);
        for (guint i = 0; i < events->len; i++) {
                const Event *event = events->pdata[i];

                g_assert_cmpint(event->revision, ==, i + 2);
                if (event->subject.kind != SUBJECT_NONE)
                        continue;
                g_assert_cmpuint(n, <, G_N_ELEMENTS(want));
                g_assert_cmpint(event->revision, ==, want[n].revision);
                g_assert_cmpint(event->time, ==, want[n].time);
                g_assert_cmpstr(event->kind, ==, want[n].kind);
                g_assert_cmpstr(event->data, ==, want[n].data);
                g_assert_cmpstr(event->subject.id, ==, "");
                g_assert_null(event->subject.owner);
                g_assert_null(event->name);
                n++;
        }
        g_assert_cmpuint(n, ==, G_N_ELEMENTS(want));
}

static void assert_tokens(Store *store)
{
        /* BLAKE2b-256 of the two tokens that were printed. */
        static const char laptop[] = "18a32015316c168438d1ea75e7aac14805c8b2370e57e73f2189cfa0a7334337";
        static const char ci[] = "d4f587129a2496196cc45a0eefb4d32b0cfd77f0ed7db16568bb9d1ac69d6550";
        const gint64 days_30 = G_GINT64_CONSTANT(30) * 24 * 3600 * 1000;
        g_autoptr(GError) error = NULL;
        g_autoptr(Token) first = store_token_by_hash(store, laptop, &error);
        g_autoptr(Token) second = store_token_by_hash(store, ci, &error);
        g_autoptr(GPtrArray) tokens = store_tokens(store, NULL, &error);

        g_assert_no_error(error);
        g_assert_cmpuint(tokens->len, ==, 2);
        g_assert_cmpstr(first->id, ==, "76a0xbv9tsf7ac7t");
        g_assert_cmpstr(first->user, ==, "ann");
        g_assert_cmpstr(first->note, ==, "laptop");
        g_assert_cmpint(first->scope, ==, SCOPE_READ);
        g_assert_cmpint(first->login, ==, TOKEN_OWN);
        g_assert_cmpint(first->expires, ==, first->created + days_30);
        g_assert_null(first->queue);
        g_assert_cmpstr(second->id, ==, "ns85kvbecwweanbe");
        g_assert_cmpstr(second->note, ==, "ci");
        g_assert_cmpint(second->scope, ==, SCOPE_SUBMIT);
        g_assert_cmpstr(second->queue, ==, "lab");
        g_assert_cmpint(second->expires, ==, 0);
}

static const void *object_of(const StoreState *state, ObjectKind kind, const char *name)
{
        const GPtrArray *objects = state->loaded[RECORD_OBJECT];

        for (guint i = 0; i < objects->len; i++) {
                const Object *object = objects->pdata[i];

                if (object->kind == kind && strcmp(object->name, name) == 0)
                        return object;
        }
        g_error("there is no %s '%s'", kind_name(kind), name);
}

static void assert_objects(const StoreState *state)
{
        const Queue *lab = object_of(state, KIND_QUEUE, "lab");
        const User *ann = object_of(state, KIND_USER, "ann"), *root = object_of(state, KIND_USER, "root");
        const Grant *grant = object_of(state, KIND_GRANT, "ann/queue/lab");
        const Flavour *small = object_of(state, KIND_FLAVOUR, "small");

        g_assert_cmpuint(state->loaded[RECORD_OBJECT]->len, ==,
                         11); /* the seven of a new server, and these */
        g_assert_cmpint(lab->weight, ==, 3);
        g_assert_false(lab->everyone);
        g_assert_true(root->admin && !ann->admin);
        g_assert_null(ann->password);
        g_assert_cmpstr(grant->user, ==, "ann");
        g_assert_cmpstr(grant->resource, ==, "lab");
        g_assert_cmpint(grant->max_priority, ==, 100);
        g_assert_cmpstr(small->cpu, ==, "2");
        g_assert_cmpstr(small->memory, ==, "4Gi");
        g_assert_cmpstr(small->creator, ==, "root");
}

static void assert_usage(const StoreState *state, const OldState *old)
{
        const GPtrArray *usage = state->loaded[RECORD_USAGE];
        const Usage *first, *second;

        g_assert_cmpuint(usage->len, ==, 2);
        first = usage->pdata[0];
        second = usage->pdata[1];
        g_assert_cmpstr(first->queue, ==, "default");
        g_assert_cmpstr(first->user, ==, "root");
        g_assert_cmpint(first->usage, ==, old->usage);
        g_assert_cmpint(first->at, ==, old->usage_at);
        g_assert_cmpstr(second->queue, ==, "lab");
        g_assert_cmpint(second->usage, ==, old->lab_usage);
}

static void assert_state(Store *store, const OldState *old)
{
        g_auto(StoreState) state = { 0 };
        g_autoptr(GError) error = NULL;
        const GPtrArray *open;

        g_assert_true(store_load(store, &state, &error));
        g_assert_no_error(error);
        g_assert_cmpint(state.last_seq, ==, old->n_jobs);
        g_assert_cmpint(state.last_revision, ==, old->revision);
        g_assert_cmpint(state.events_horizon, ==, 0);
        g_assert_cmpint(state.last_object_seq, ==, 11);
        g_assert_cmpstr(state.boot_id, ==, old->boot_id);
        open = state.loaded[RECORD_JOB];
        g_assert_cmpuint(open->len, ==, 2);
        assert_job(open->pdata[0], &old_jobs[5]);
        assert_job(open->pdata[1], &old_jobs[7]);
        assert_objects(&state);
        assert_usage(&state, old);
}

static void test_version(gconstpointer data)
{
        const OldState *old = data;
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = NULL;

        write_database(dir, old->path);
        store = open_store(dir);
        for (int round = 0; round < 2; round++) { /* migrated, and opened again */
                assert_state(store, old);
                assert_jobs(store, old);
                assert_named(store, old);
                assert_lists(store, old);
                assert_object_events(store, old);
                assert_tokens(store);
                g_clear_pointer(&store, store_close);
                store = open_store(dir);
        }
        commit_job(store, old->revision + 1); /* the next revision: it can be written */
        g_assert_cmpint(last_seq(store), ==, old->revision + 1);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_assert_cmpint(argc, ==, 3);
        versions[0].path = argv[1];
        versions[1].path = argv[2];
        g_test_add_data_func("/old-state/version-5", &versions[0], test_version);
        g_test_add_data_func("/old-state/version-6", &versions[1], test_version);
        return g_test_run();
}
