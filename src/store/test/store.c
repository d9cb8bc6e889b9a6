/* What goes in comes out again: jobs, events, tokens, across a close and an open. */
#include "base/err.h"
#include "store/test/help.h"

static void test_empty(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(GError) error = NULL;
        g_auto(StoreState) state = { 0 };
        gint64 next = 9;

        g_assert_true(store_load(store, &state, &error));
        g_assert_no_error(error);
        g_assert_cmpint(state.last_seq, ==, 0);
        g_assert_cmpint(state.last_revision, ==, 0);
        g_assert_cmpint(state.events_horizon, ==, 0);
        g_assert_cmpstr(state.boot_id, ==, "");
        g_assert_cmpuint(state.loaded[RECORD_JOB]->len, ==, 0);
        g_autoptr(GPtrArray) jobs = store_jobs(store, &(JobQuery){ .limit = 10 }, &next, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(jobs->len, ==, 0);
        g_assert_cmpint(next, ==, 0);
        g_autoptr(GPtrArray) events = store_events(store, &(EventQuery){ .limit = 10 }, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(events->len, ==, 0);
}

static void test_job_found(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new();
        g_autoptr(GError) error = NULL;
        Job *job = make_job(1, "ann", "digits", JOB_QUEUED);

        job->idempotency_key = g_strdup("key 1");
        batch_put(batch, RECORD_NEW_JOB, job);
        batch_put(batch, RECORD_BOOT, g_strdup("11111111-2222-3333-4444-555555555555"));
        commit(store, batch);
        for (int round = 0; round < 2; round++) { /* again after a close and an open */
                g_autoptr(Job) by_id = store_job_by_id(store, job->id, &error);
                g_autoptr(Job) by_name = store_job_by_name(store, "ann", "digits", &error);
                g_autoptr(Job) by_key = store_job_by_key(store, "ann", "key 1", &error);
                g_auto(StoreState) state = { 0 };

                g_assert_no_error(error);
                assert_same_job(by_id, job);
                assert_same_job(by_name, job);
                assert_same_job(by_key, job);
                g_assert_true(store_load(store, &state, &error));
                g_assert_cmpuint(state.loaded[RECORD_JOB]->len, ==, 1);
                assert_same_job(g_ptr_array_index(state.loaded[RECORD_JOB], 0), job);
                g_assert_cmpint(state.last_seq, ==, 1);
                g_assert_cmpstr(state.boot_id, ==, "11111111-2222-3333-4444-555555555555");
                g_clear_pointer(&store, store_close);
                store = open_store(dir);
        }
}

static void test_not_found(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        GError *error = NULL;

        commit_job(store, 1);
        g_assert_null(store_job_by_id(store, "0000000000000000", &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_assert_cmpstr(error->message, ==, "there is no job '0000000000000000'");
        g_clear_error(&error);
        g_assert_null(store_job_by_name(store, "bob", "job-1", &error)); /* it is ann's */
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_assert_cmpstr(error->message, ==, "user 'bob' has no job named 'job-1'");
        g_clear_error(&error);
        g_assert_null(store_job_by_key(store, "ann", "k", &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_clear_error(&error);
        g_assert_null(store_job_by_seq(store, 7, &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_clear_error(&error);
        g_assert_null(store_token_by_hash(store, "00", &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_clear_error(&error);
}

/* A name is taken among a user's open jobs only, and an end and a new beginning fit into one batch. */
static void test_names(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) first = batch_new(), again = batch_new(), swap = batch_new();
        g_autoptr(GError) error = NULL, taken = NULL;
        Job *old = make_job(1, "ann", "digits", JOB_RUNNING);
        Job *ended = job_ref(old), *fresh = make_job(3, "ann", "digits", JOB_QUEUED);

        batch_put(first, RECORD_NEW_JOB, old);
        batch_put(first, RECORD_NEW_JOB, make_job(2, "bob", "digits", JOB_QUEUED));
        commit(store, first);

        batch_put(again, RECORD_NEW_JOB, make_job(3, "ann", "digits", JOB_QUEUED));
        taken = commit_fails(store, again, STORE_FAILED_CLEAN);
        g_assert_true(err_is(taken, ERR_EXISTS));
        g_assert_cmpint(last_seq(store), ==, 2);

        ended->state = JOB_SUCCEEDED;
        ended->revision = 40;
        batch_put(swap, RECORD_JOB, ended);
        batch_put(swap, RECORD_NEW_JOB, fresh);
        commit(store, swap);
        g_autoptr(Job) newest = store_job_by_name(store, "ann", "digits", &error);
        assert_same_job(newest, fresh);
        g_autoptr(Job) before = store_job_by_id(store, ended->id, &error);
        assert_same_job(before, ended);
}

static void test_keys(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        static const struct {
                const char *user, *key;
                bool ok;
        } cases[] = {
                { "ann", "k", true },  { "bob", "k", true },
                { "ann", "k", false }, /* even when the first is done */
                { "ann", NULL, true }, { "ann", NULL, true },
                { "ann", "K", true },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Batch) batch = batch_new();
                g_autofree char *name = g_strdup_printf("n%d", (int)i);
                Job *job = make_job((gint64)i + 1, cases[i].user, name, JOB_SUCCEEDED);
                g_autoptr(GError) error = NULL;

                job->idempotency_key = g_strdup(cases[i].key);
                batch_put(batch, RECORD_NEW_JOB, job);
                if (cases[i].ok)
                        commit(store, batch);
                else
                        error = commit_fails(store, batch, STORE_FAILED_CLEAN);
                g_assert_true(cases[i].ok || err_is(error, ERR_EXISTS));
        }
}

/* A batch that fails in its last item leaves nothing of the first ones, and the store goes on. */
static void test_all_or_nothing(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new();
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) events = NULL;
        Job *job = make_job(2, "ann", "new", JOB_QUEUED);

        commit_job(store, 1);
        batch_put(batch, RECORD_NEW_JOB, job);
        batch_put(batch, RECORD_EVENT, make_event(2, job, "job.queued"));
        batch_put(batch, RECORD_EVENT, make_event(1, job, "job.queued")); /* there already */
        g_clear_error(&error);
        error = commit_fails(store, batch, STORE_FAILED_CLEAN);
        g_clear_error(&error);
        g_assert_cmpint(last_seq(store), ==, 1);
        events = store_events(store, &(EventQuery){ .since = 1, .limit = 10 }, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(events->len, ==, 0);

        g_autoptr(Batch) unknown = batch_new();
        batch_put(unknown, RECORD_JOB, make_job(77, "ann", "ghost", JOB_RUNNING));
        error = commit_fails(store, unknown, STORE_FAILED_CLEAN);
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        commit_job(store, 2);
        g_assert_cmpint(last_seq(store), ==, 2);
}

static void commit_mixed_jobs(Store *store)
{
        static const struct {
                const char *user, *name;
                JobState state;
        } rows[] = {
                { "ann", "a", JOB_FAILED },    { "bob", "b", JOB_RUNNING },    { "ann", "a", JOB_SUCCEEDED },
                { "ann", "c", JOB_QUEUED },    { "bob", "b2", JOB_SUCCEEDED }, { "ann", "a", JOB_RUNNING },
                { "cid", "a", JOB_CANCELLED },
        };
        g_autoptr(Batch) batch = batch_new();

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                batch_put(batch, RECORD_NEW_JOB,
                          make_job((gint64)i + 1, rows[i].user, rows[i].name, rows[i].state));
        commit(store, batch);
}

static void test_lists(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        enum { RUNNING = 1u << JOB_RUNNING, QUEUED = 1u << JOB_QUEUED, GOOD = 1u << JOB_SUCCEEDED };
        static const struct {
                JobQuery query;
                const char *seqs;
                gint64 next;
        } cases[] = {
                { { .limit = 10 }, "7 6 5 4 3 2 1 ", 0 },
                { { .limit = 7 }, "7 6 5 4 3 2 1 ", 0 },
                { { .limit = 6 }, "7 6 5 4 3 2 ", 2 },
                { { .limit = 2, .before_seq = 4 }, "3 2 ", 2 },
                { { .limit = 2, .before_seq = 1 }, "", 0 },
                { { .limit = 2, .before_seq = 3000 }, "7 6 ", 6 },
                { { .limit = 10, .user = "ann" }, "6 4 3 1 ", 0 },
                { { .limit = 3, .user = "ann" }, "6 4 3 ", 3 },
                { { .limit = 10, .name = "a" }, "7 6 3 1 ", 0 },
                { { .limit = 10, .user = "ann", .name = "a" }, "6 3 1 ", 0 },
                { { .limit = 1, .user = "ann", .name = "a", .before_seq = 6 }, "3 ", 3 },
                { { .limit = 10, .states = RUNNING }, "6 2 ", 0 },
                { { .limit = 10, .states = RUNNING, .user = "bob" }, "2 ", 0 },
                { { .limit = 10, .states = RUNNING | QUEUED, .user = "ann" }, "6 4 ", 0 },
                { { .limit = 10, .states = RUNNING, .name = "a" }, "6 ", 0 },
                { { .limit = 10, .states = GOOD }, "5 3 ", 0 },
                { { .limit = 10, .states = GOOD | QUEUED, .user = "ann" }, "4 3 ", 0 },
                { { .limit = 10, .states = GOOD, .user = "ann", .name = "a" }, "3 ", 0 },
                { { .limit = 10, .user = "nobody" }, "", 0 },
        };

        commit_mixed_jobs(store);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                gint64 next = -1;
                g_autoptr(GPtrArray) jobs = store_jobs(store, &cases[i].query, &next, &error);
                g_autoptr(GString) seqs = g_string_new(NULL);

                g_assert_no_error(error);
                for (guint n = 0; n < jobs->len; n++)
                        g_string_append_printf(seqs, "%d ", (int)((Job *)jobs->pdata[n])->seq);
                g_assert_cmpstr(seqs->str, ==, cases[i].seqs);
                g_assert_cmpint(next, ==, cases[i].next);
        }
}

/* Only open jobs are loaded, in order, as they were left. */
static void test_load(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(GError) error = NULL;
        g_auto(StoreState) state = { 0 };

        commit_mixed_jobs(store);
        g_assert_true(store_load(store, &state, &error));
        g_assert_no_error(error);
        g_assert_cmpint(state.last_seq, ==, 7);
        g_assert_cmpuint(state.loaded[RECORD_JOB]->len, ==, 3);
        g_assert_cmpint(((Job *)state.loaded[RECORD_JOB]->pdata[0])->seq, ==, 2);
        g_assert_cmpint(((Job *)state.loaded[RECORD_JOB]->pdata[1])->seq, ==, 4);
        g_assert_cmpint(((Job *)state.loaded[RECORD_JOB]->pdata[2])->seq, ==, 6);
}

static void assert_events(Store *store, gint64 since, gint64 job, const char *user, int limit,
                          const char *want)
{
        const EventQuery query = { .since = since,
                                   .subject = job ? SUBJECT_JOB : SUBJECT_NONE,
                                   .seq = job,
                                   .owner = user,
                                   .limit = limit };
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) events = store_events(store, &query, &error);
        g_autoptr(GString) got = g_string_new(NULL);

        g_assert_no_error(error);
        for (guint i = 0; i < events->len; i++)
                g_string_append_printf(got, "%d ", (int)((Event *)events->pdata[i])->revision);
        g_assert_cmpstr(got->str, ==, want);
}

/* Revisions 1 to 5 of a job of ann, 6 of the machine, 7 to 9 of a job of bob, 10 of ann's again. */
static void commit_events(Store *store, Job **ret_ann, Job **ret_bob)
{
        g_autoptr(Batch) batch = batch_new();
        Job *ann = make_job(1, "ann", "a", JOB_SUCCEEDED), *bob = make_job(2, "bob", "b", JOB_RUNNING);

        batch_put(batch, RECORD_NEW_JOB, ann);
        batch_put(batch, RECORD_NEW_JOB, bob);
        for (int revision = 1; revision <= 10; revision++) {
                const Job *job = revision == 6 ? NULL : revision >= 7 && revision <= 9 ? bob : ann;

                batch_put(batch, RECORD_EVENT,
                          make_event(revision, job, job ? "job.queued" : "server.started"));
        }
        commit(store, batch);
        *ret_ann = job_ref(ann);
        *ret_bob = job_ref(bob);
}

static void test_events(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Job) ann = NULL, bob = NULL;
        g_autoptr(GError) error = NULL;

        commit_events(store, &ann, &bob);
        assert_events(store, 0, 0, NULL, 100, "1 2 3 4 5 6 7 8 9 10 ");
        assert_events(store, 0, 0, NULL, 3, "1 2 3 ");
        assert_events(store, 8, 0, NULL, 100, "9 10 ");
        assert_events(store, 10, 0, NULL, 100, "");
        assert_events(store, 4000, 0, NULL, 100, "");
        assert_events(store, 0, 1, NULL, 100, "1 2 3 4 5 10 ");
        assert_events(store, 4, 1, NULL, 100, "5 10 ");
        assert_events(store, 0, 2, "ann", 100, "");
        assert_events(store, 0, 2, "bob", 2, "7 8 ");
        assert_events(store, 0, 0, "bob", 100, "7 8 9 ");
        assert_events(store, 5, 0, "ann", 100, "10 ");
        g_autoptr(GPtrArray) events = store_events(store, &(EventQuery){ .since = 9, .limit = 1 }, &error);
        const Event *event = events->pdata[0];
        g_assert_cmpint(event->subject.kind, ==, SUBJECT_JOB);
        g_assert_cmpint(event->subject.seq, ==, 1);
        g_assert_cmpstr(event->subject.id, ==, ann->id);
        g_assert_cmpstr(event->subject.owner, ==, "ann");
        g_assert_cmpstr(event->name, ==, "a");
        g_assert_cmpstr(event->kind, ==, "job.queued");
        g_assert_cmpstr(event->data, ==, "{\"state\":\"queued\"}");
        g_assert_cmpint(event->time, ==, 5010);
}

static void test_horizon(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Job) ann = NULL, bob = NULL;

        commit_events(store, &ann, &bob);
        for (int round = 0; round < 2; round++) { /* the second after a close and an open, and a step back */
                g_autoptr(Batch) batch = batch_new();
                g_autoptr(GError) error = NULL;

                batch_put(batch, RECORD_HORIZON, copy_int(round ? 2 : 4));
                commit(store, batch);
                g_assert_cmpint(store_events_horizon(store), ==, 4);
                g_assert_null(store_events(store, &(EventQuery){ .since = 3, .limit = 100 }, &error));
                g_assert_true(err_is(error, ERR_GONE));
                g_clear_error(&error);
                g_assert_null(store_events(
                        store,
                        &(EventQuery){
                                .since = 3, .subject = SUBJECT_JOB, .seq = 1, .owner = "ann", .limit = 100 },
                        &error));
                g_assert_true(err_is(error, ERR_GONE));
                assert_events(store, 4, 0, NULL, 100, "5 6 7 8 9 10 ");
                assert_events(store, 0, 1, NULL, 100, "5 10 ");
                g_clear_pointer(&store, store_close);
                store = open_store(dir);
        }
}

/* More events than one batch deletes: all are out of sight at once, and gone after some batches. */
static void test_horizon_in_steps(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new(), drop = batch_new();
        g_autoptr(GError) error = NULL;
        g_autoptr(Job) job = make_job(1, "ann", "a", JOB_SUCCEEDED);
        g_auto(StoreState) state = { 0 };

        for (int revision = 1; revision <= 4500; revision++)
                batch_put(batch, RECORD_EVENT, make_event(revision, job, "member.ready"));
        commit(store, batch);
        batch_put(drop, RECORD_HORIZON, copy_int(4500));
        for (int step = 0; step < 3; step++) {
                commit(store, drop);
                assert_events(store, 0, 1, NULL, 100, "");
                assert_events(store, 4500, 0, NULL, 100, "");
        }
        g_assert_true(store_load(store, &state, &error));
        g_assert_cmpint(state.last_revision, ==, 4500);
        g_assert_cmpint(state.events_horizon, ==, 4500);
}

/* A user's few events among many of others: found across the windows that one transaction looks at. */
static void test_events_far_apart(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new();
        g_autoptr(Job) ann = make_job(1, "ann", "a", JOB_SUCCEEDED),
                       bob = make_job(2, "bob", "b", JOB_SUCCEEDED);

        for (int revision = 1; revision <= 45000; revision++)
                if (revision % 100 == 0 || revision < 3)
                        batch_put(batch, RECORD_EVENT, make_event(revision, revision < 3 ? ann : bob, "x"));
        batch_put(batch, RECORD_EVENT, make_event(45001, ann, "x"));
        commit(store, batch);
        assert_events(store, 0, 0, "ann", 100, "1 2 45001 ");
        assert_events(store, 2, 0, "ann", 1, "45001 ");
        assert_events(store, 44900, 0, "bob", 5, "45000 ");
}

/* Numbers are never given twice, even when the newest job and event are gone. */
static void test_drop(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Job) ann = NULL, bob = NULL;
        g_autoptr(Batch) batch = batch_new();
        g_autoptr(GError) error = NULL;
        g_auto(StoreState) state = { 0 };
        gint64 seqs[] = { 1, 2 };

        commit_events(store, &ann, &bob);
        for (int i = 0; i < 2; i++)
                batch_drop(batch, RECORD_JOB, copy_int(seqs[i]));
        commit(store, batch);
        g_assert_null(store_job_by_id(store, ann->id, &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_clear_error(&error);
        assert_events(store, 0, 0, NULL, 100, "6 ");
        g_clear_pointer(&store, store_close);
        store = open_store(dir);
        g_assert_true(store_load(store, &state, &error));
        g_assert_cmpuint(state.loaded[RECORD_JOB]->len, ==, 0);
        g_assert_cmpint(state.last_seq, ==, 2);
        g_assert_cmpint(state.last_revision, ==, 10);
}

static void add_token(Batch *batch, const char *id, const char *user, const char *note, gint64 created)
{
        Token *token = g_new0(Token, 1);

        *token = (Token){ .id = g_strdup(id),
                          .user = g_strdup(user),
                          .hash = g_strconcat("hash-", id, NULL),
                          .note = g_strdup(note),
                          .login = g_strcmp0(note, "login") == 0        ? TOKEN_LOGIN
                                   : g_strcmp0(note, "of a login") == 0 ? TOKEN_OF_LOGIN
                                                                        : TOKEN_OWN,
                          .created = created,
                          .expires = 900 };
        batch_put(batch, RECORD_TOKEN, token);
}

static void test_tokens(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new(), drop = batch_new();
        g_autoptr(GError) error = NULL;

        add_token(batch, "t2", "ann", NULL, 20);
        add_token(batch, "t1", "ann", "laptop", 10);
        add_token(batch, "t3", "bob", NULL, 30);
        commit(store, batch);
        g_autoptr(Token) token = store_token_by_hash(store, "hash-t1", &error);
        g_assert_no_error(error);
        g_assert_cmpstr(token->id, ==, "t1");
        g_assert_cmpstr(token->user, ==, "ann");
        g_assert_cmpstr(token->note, ==, "laptop");
        g_assert_cmpint(token->created, ==, 10);
        g_assert_cmpint(token->expires, ==, 900);
        g_autoptr(GPtrArray) tokens = store_tokens(store, "ann", &error);
        g_assert_cmpuint(tokens->len, ==, 2);
        g_assert_cmpstr(((Token *)tokens->pdata[1])->id, ==, "t2");
        g_assert_null(((Token *)tokens->pdata[1])->note);
        batch_drop(drop, RECORD_TOKEN, g_strdup("t1"));
        commit(store, drop);
        g_assert_null(store_token_by_hash(store, "hash-t1", &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
}

static void add_made(Batch *batch, const char *id, const char *maker, Scope scope, const char *queue)
{
        Token *token;

        add_token(batch, id, "ann", NULL, 10);
        token = batch_last(batch);
        token->maker = g_strdup(maker);
        token->authority = g_strconcat("key of ", id, NULL);
        token->scope = scope;
        token->queue = g_strdup(queue);
}

/* What was made with a token goes with it, also in the batch that brings it; nothing else does. */
static void test_made_tokens(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new(), drop = batch_new();
        g_autoptr(GError) error = NULL;

        add_made(batch, "a", NULL, SCOPE_SUBMIT, "vision");
        add_made(batch, "a1", "a", SCOPE_SUBMIT, "vision");
        add_made(batch, "b", NULL, SCOPE_READ, NULL);
        add_made(batch, "b1", "b", SCOPE_READ, NULL);
        commit(store, batch);
        g_autoptr(Token) made = store_token_by_hash(store, "hash-a1", &error);
        g_assert_no_error(error);
        g_assert_cmpint(made->scope, ==, SCOPE_SUBMIT);
        g_assert_cmpstr(made->queue, ==, "vision");
        g_assert_cmpstr(made->maker, ==, "a");
        g_assert_cmpstr(made->authority, ==, "key of a1");
        add_made(drop, "a2", "a1", SCOPE_READ, NULL);
        batch_drop(drop, RECORD_TOKEN, g_strdup("a"));
        commit(store, drop);
        g_autoptr(GPtrArray) left = store_tokens(store, "ann", &error);
        g_assert_cmpuint(left->len, ==, 2);
        g_assert_cmpstr(((Token *)left->pdata[0])->id, ==, "b");
        g_assert_cmpstr(((Token *)left->pdata[1])->id, ==, "b1");
}

static void test_logged_out(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new(), out = batch_new();
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) tokens = NULL;
        g_autoptr(Token) first = NULL;

        add_token(batch, "t1", "ann", "login", 10);
        add_token(batch, "t2", "ann", "laptop", 20);
        add_token(batch, "t3", "bob", "login", 30);
        add_token(batch, "t5", "ann", "of a login", 30);
        commit(store, batch);
        first = store_token_by_hash(store, "hash-t1", &error);
        g_assert_cmpint(first->login, ==, TOKEN_LOGIN);
        batch_drop(out, RECORD_LOGIN, g_strdup("ann"));
        add_token(out, "t4", "ann", "login", 40); /* of the same batch: stays */
        commit(store, out);
        tokens = store_tokens(store, NULL, &error);
        g_assert_cmpuint(tokens->len, ==, 3);
        g_assert_cmpstr(((Token *)tokens->pdata[0])->id, ==, "t2");
        g_assert_cmpstr(((Token *)tokens->pdata[1])->id, ==, "t3");
        g_assert_cmpstr(((Token *)tokens->pdata[2])->id, ==, "t4");
}

static void test_metrics(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        StoreMetrics metrics;

        commit_job(store, 1);
        commit_job(store, 2);
        store_metrics(store, &metrics);
        g_assert_cmpint(metrics.commits, ==, 2);
        g_assert_cmpint(metrics.committed_jobs, ==, 2);
        g_assert_cmpint(metrics.committed_events, ==, 2);
        g_assert_cmpint(metrics.wal_bytes, >, 0);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/store/empty", test_empty);
        g_test_add_func("/store/job-found", test_job_found);
        g_test_add_func("/store/not-found", test_not_found);
        g_test_add_func("/store/names", test_names);
        g_test_add_func("/store/keys", test_keys);
        g_test_add_func("/store/all-or-nothing", test_all_or_nothing);
        g_test_add_func("/store/lists", test_lists);
        g_test_add_func("/store/load", test_load);
        g_test_add_func("/store/events", test_events);
        g_test_add_func("/store/horizon", test_horizon);
        g_test_add_func("/store/horizon-in-steps", test_horizon_in_steps);
        g_test_add_func("/store/events-far-apart", test_events_far_apart);
        g_test_add_func("/store/drop", test_drop);
        g_test_add_func("/store/logged-out", test_logged_out);
        g_test_add_func("/store/tokens", test_tokens);
        g_test_add_func("/store/made-tokens", test_made_tokens);
        g_test_add_func("/store/metrics", test_metrics);
        return g_test_run();
}
