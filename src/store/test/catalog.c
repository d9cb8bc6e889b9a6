/* Objects and usage; and the lists of many users' jobs: queues, labels, arrays, times, what ran. */
#include <string.h>

#include "base/err.h"
#include "model/queue.h"
#include "model/user.h"
#include "store/cache.h"
#include "store/test/help.h"

/* ---- objects ---- */

static Object *make_queue(gint64 seq, const char *name, int weight)
{
        Queue *queue = (Queue *)object_new(KIND_QUEUE, name);

        queue->object.seq = seq;
        queue->object.version = seq + 100;
        queue->object.created = 5;
        g_free(queue->cluster); /* the default one */
        queue->cluster = g_strdup("c");
        queue->weight = weight;
        return &queue->object;
}

static char *objects_of(Store *store, gint64 *ret_last)
{
        g_autoptr(GString) text = g_string_new(NULL);
        g_autoptr(GError) error = NULL;
        g_auto(StoreState) state = { 0 };

        (void)store_load(store, &state, &error);
        g_assert_no_error(error);
        for (guint i = 0; i < state.loaded[RECORD_OBJECT]->len; i++) {
                const Object *object = g_ptr_array_index(state.loaded[RECORD_OBJECT], i);

                g_string_append_printf(text, "%s %s %d", kind_name(object->kind), object->name,
                                       (int)object->seq);
                if (object->kind == KIND_QUEUE)
                        g_string_append_printf(text, "*%d", ((const Queue *)object)->weight);
                g_string_append(text, "; ");
        }
        *ret_last = state.last_object_seq;
        return g_strdup(text->str);
}

static void assert_objects(Store *store, const char *want, gint64 want_last)
{
        gint64 last;
        g_autofree char *got = objects_of(store, &last);

        g_assert_cmpstr(got, ==, want);
        g_assert_cmpint(last, ==, want_last);
}

static void test_objects(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) first = batch_new(), second = batch_new(), third = batch_new(), clash = batch_new();
        Object *user = object_new(KIND_USER, "q");
        g_autoptr(GError) error = NULL;

        user->seq = 3;
        batch_put(first, RECORD_OBJECT, make_queue(1, "q", 1));
        batch_put(first, RECORD_OBJECT, make_queue(2, "r", 1));
        batch_put(first, RECORD_OBJECT, user); /* names are those of a kind */
        commit(store, first);
        assert_objects(store, "queue q 1*1; queue r 2*1; user q 3; ", 3);
        batch_put(second, RECORD_OBJECT, make_queue(2, "r", 7));
        commit(store, second);
        assert_objects(store, "queue q 1*1; queue r 2*7; user q 3; ", 3);
        batch_put(clash, RECORD_OBJECT, make_queue(9, "q", 1));
        error = commit_fails(store, clash, STORE_FAILED_CLEAN);
        g_assert_true(err_is(error, ERR_EXISTS));
        /* A name is free in the batch that drops it, its number never again. */
        batch_drop(third, RECORD_OBJECT, make_queue(1, "q", 1));
        batch_drop(third, RECORD_OBJECT, object_ref(user));
        batch_put(third, RECORD_OBJECT, make_queue(4, "q", 2));
        commit(store, third);
        assert_objects(store, "queue r 2*7; queue q 4*2; ", 4);
        g_autoptr(Batch) last = batch_new();
        batch_drop(last, RECORD_OBJECT, make_queue(4, "q", 2));
        commit(store, last);
        g_clear_pointer(&store, store_close);
        store = open_store(dir);
        assert_objects(store, "queue r 2*7; ", 4);
}

static void add_usage(Batch *batch, const char *queue, const char *user, gint64 amount, gint64 at)
{
        Usage *usage = g_new0(Usage, 1);

        *usage = (Usage){ g_strdup(queue), g_strdup(user), amount, at };
        batch_put(batch, RECORD_USAGE, usage);
}

static void test_usage(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) first = batch_new(), second = batch_new();
        g_auto(StoreState) state = { 0 };
        g_autoptr(GError) error = NULL;
        const Usage *usage;

        add_usage(first, "q", "ann", 10, 1);
        add_usage(first, "q", "bob", G_MAXINT64, 1);
        commit(store, first);
        add_usage(second, "q", "ann", 20, 2);
        commit(store, second);
        (void)store_load(store, &state, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(state.loaded[RECORD_USAGE]->len, ==, 2);
        usage = g_ptr_array_index(state.loaded[RECORD_USAGE], 0);
        g_assert_cmpstr(usage->user, ==, "ann");
        g_assert_cmpint(usage->usage, ==, 20);
        g_assert_cmpint(usage->at, ==, 2);
        usage = g_ptr_array_index(state.loaded[RECORD_USAGE], 1);
        g_assert_cmpint(usage->usage, ==, G_MAXINT64);
}

/* ---- lists ---- */

typedef struct {
        const char *user, *queue, *labels;
        JobState state;
        gint64 array, started, updated;
} Row;

static const Row rows[] = {
        { "ann", "q", "a=1,b=2", JOB_SUCCEEDED, 0, 100, 200 }, /* 1 */
        { "ann", "q", "a=1", JOB_FAILED, 0, 150, 250 },
        { "bob", "q", "a=1,b=2", JOB_RUNNING, 0, 160, 160 },
        { "bob", "r", "a=2", JOB_QUEUED, 4, 0, 170 },
        { "bob", "r", "a=2", JOB_STARTING, 4, 0, 175 }, /* 5 */
        { "bob", "r", NULL, JOB_CANCELLED, 4, 0, 180 },
        { "ann", "r", "b=2", JOB_SUSPENDED, 0, 90, 190 },
        { "cid", "q", "b=2", JOB_PREEMPTED, 0, 300, 400 },
        { "cid", "q", NULL, JOB_STOPPING, 0, 310, 410 },
        { "cid", "q", NULL, JOB_SUCCEEDED, 0, 400, 500 }, /* 10 */
};

static void commit_rows(Store *store)
{
        g_autoptr(Batch) batch = batch_new();

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *name = g_strdup_printf("n%d", (int)i);
                Job *job = make_job((gint64)i + 1, rows[i].user, name, rows[i].state);

                job->queue = g_intern_string(rows[i].queue);
                job->labels = rows[i].labels ? g_strsplit(rows[i].labels, ",", -1) : NULL;
                job->array_seq = rows[i].array;
                job->running = rows[i].started;
                job->updated = rows[i].updated;
                batch_put(batch, RECORD_NEW_JOB, job);
        }
        commit(store, batch);
}

static char *list(Store *store, const JobQuery *query, gint64 *ret_next)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) jobs = store_jobs(store, query, ret_next, &error);
        g_autoptr(GString) seqs = g_string_new(NULL);

        g_assert_no_error(error);
        for (guint n = 0; n < jobs->len; n++)
                g_string_append_printf(seqs, "%d ", (int)((Job *)jobs->pdata[n])->seq);
        return g_strdup(seqs->str);
}

static void test_lists(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        enum {
                RUNNING = 1u << JOB_RUNNING,
                QUEUED = 1u << JOB_QUEUED,
                HELD = 1u << JOB_SUSPENDED,
                STOPPING = 1u << JOB_STOPPING,
                STARTING = 1u << JOB_STARTING,
                GOOD = 1u << JOB_SUCCEEDED,
                BAD = 1u << JOB_FAILED,
                GONE = 1u << JOB_PREEMPTED,
        };
        static const char *const a1[] = { "a=1", NULL }, *const a1b2[] = { "b=2", "a=1", NULL },
                                 *const none[] = { "a=9", NULL }, *const twice[] = { "a=1", "a=2", NULL };
        static const struct {
                JobQuery query;
                const char *seqs;
                gint64 next;
        } cases[] = {
                { { .limit = 10, .queue = "r" }, "7 6 5 4 ", 0 },
                { { .limit = 2, .queue = "r" }, "7 6 ", 6 },
                { { .limit = 2, .queue = "r", .before_seq = 6 }, "5 4 ", 0 },
                { { .limit = 10, .queue = "q", .states = GOOD | BAD | RUNNING }, "10 3 2 1 ", 0 },
                { { .limit = 2, .queue = "q", .states = GOOD | BAD | RUNNING }, "10 3 ", 3 },
                { { .limit = 2, .queue = "q", .states = GOOD | BAD | RUNNING, .before_seq = 3 }, "2 1 ", 0 },
                { { .limit = 10, .queue = "q", .user = "cid" }, "10 9 8 ", 0 },
                { { .limit = 10, .queue = "q", .user = "cid", .states = GONE | STOPPING }, "9 8 ", 0 },
                { { .limit = 10, .states = RUNNING | STARTING | STOPPING }, "9 5 3 ", 0 },
                { { .limit = 10, .states = HELD }, "7 ", 0 },
                { { .limit = 10, .states = HELD | QUEUED, .user = "ann" }, "7 ", 0 },
                { { .limit = 10, .states = GONE }, "8 ", 0 },
                { { .limit = 10, .array_seq = 4 }, "6 5 4 ", 0 },
                { { .limit = 2, .array_seq = 4 }, "6 5 ", 5 },
                { { .limit = 10, .array_seq = 4, .states = QUEUED }, "4 ", 0 },
                { { .limit = 10, .array_seq = 5 }, "", 0 },
                { { .limit = 10, .labels = a1 }, "3 2 1 ", 0 },
                { { .limit = 2, .labels = a1 }, "3 2 ", 2 },
                { { .limit = 10, .labels = a1b2 }, "3 1 ", 0 },
                { { .limit = 10, .labels = a1b2, .user = "ann" }, "1 ", 0 },
                { { .limit = 10, .labels = a1, .states = BAD }, "2 ", 0 },
                { { .limit = 10, .labels = a1, .array_seq = 4 }, "", 0 },
                { { .limit = 10, .labels = a1, .user = "ann", .name = "n1" }, "2 ", 0 },
                { { .limit = 10, .labels = none }, "", 0 },
                { { .limit = 10, .labels = twice }, "", 0 },
                { { .limit = 10, .updated_since = 250 }, "10 9 8 2 ", 0 },
                { { .limit = 10, .updated_since = 250, .user = "cid", .states = GOOD }, "10 ", 0 },
                { { .limit = 10, .started_since = 160 }, "10 9 8 3 ", 0 },
                { { .limit = 10, .started_since = 160, .queue = "q", .states = RUNNING }, "3 ", 0 },
        };

        commit_rows(store);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                gint64 next = -1;
                g_autofree char *seqs = list(store, &cases[i].query, &next);

                g_assert_cmpstr(seqs, ==, cases[i].seqs);
                g_assert_cmpint(next, ==, cases[i].next);
        }
}

/* What a job is found by follows its changes. */
static void test_changes(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        static const char *const old[] = { "a=2", NULL }, *const fresh[] = { "c=3", NULL };
        g_autoptr(Batch) batch = batch_new(), end = batch_new();
        g_autoptr(Job) found = NULL;
        gint64 next;
        Job *job = make_job(4, "bob", "n3", JOB_RUNNING), *ended;

        commit_rows(store);
        job->queue = g_intern_string("q");
        job->labels = g_strsplit("c=3", ",", -1);
        job->array_seq = 4;
        job->running = 1000;
        job->updated = 1000;
        batch_put(batch, RECORD_JOB, job);
        commit(store, batch);
        g_autofree char *in_r = list(store, &(JobQuery){ .limit = 10, .queue = "r" }, &next);
        g_autofree char *in_q = list(store, &(JobQuery){ .limit = 3, .queue = "q", .before_seq = 8 }, &next);
        g_autofree char *by_old = list(store, &(JobQuery){ .limit = 10, .labels = old }, &next);
        g_autofree char *by_new = list(store, &(JobQuery){ .limit = 10, .labels = fresh }, &next);
        g_assert_cmpstr(in_r, ==, "7 6 5 ");
        g_assert_cmpstr(in_q, ==, "4 3 2 ");
        g_assert_cmpstr(by_old, ==, "5 ");
        g_assert_cmpstr(by_new, ==, "4 ");

        ended = job_draft(job);
        ended->state = JOB_FAILED;
        ended->running = 2000; /* a second attempt: the first start stays */
        ended->updated = 3000;
        batch_put(end, RECORD_JOB, ended);
        commit(store, end);
        g_autofree char *since = list(store, &(JobQuery){ .limit = 10, .started_since = 1500 }, &next);
        g_autofree char *bad =
                list(store, &(JobQuery){ .limit = 10, .queue = "q", .states = 1u << JOB_FAILED }, &next);
        g_assert_cmpstr(since, ==, "");
        g_assert_cmpstr(bad, ==, "4 2 ");
        found = store_job_by_seq(store, 4, NULL);
        g_assert_cmpint(found->updated, ==, 3000);
        g_assert_cmpstr(found->queue, ==, "q");
}

/* A filter that no index serves looks at so many jobs and says where it goes on. */
static void test_far_apart(void)
{
        enum { MANY = 45000 };
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(GString) found = g_string_new(NULL);
        gint64 next = 0, seq = 0;
        int pages = 0;

        while (seq < MANY) {
                g_autoptr(Batch) batch = batch_new();

                for (int i = 0; i < 5000; i++) {
                        g_autofree char *name = g_strdup_printf("n%d", (int)++seq);
                        Job *job = make_job(seq, "ann", seq % 20000 == 1 ? "rare" : name, JOB_SUCCEEDED);

                        job->spec_seq = 1;
                        batch_put(batch, RECORD_NEW_JOB, job);
                }
                commit(store, batch);
        }
        do {
                g_autofree char *page =
                        list(store, &(JobQuery){ .limit = 10, .name = "rare", .before_seq = next }, &next);

                g_string_append(found, page);
                pages++;
        } while (next > 0);
        g_assert_cmpstr(found->str, ==, "40001 20001 1 ");
        g_assert_cmpint(pages, ==, 3);
}

/* ---- shared specifications ---- */

static gint64 count_specs(Store *store, gint64 first, gint64 last)
{
        gint64 n = 0;

        for (gint64 seq = first; seq <= last; seq++) {
                g_autoptr(Job) job = store_job_by_seq(store, seq, NULL);

                n += job && job->spec->command && strcmp(job->spec->command[0], "echo") == 0;
        }
        return n;
}

static void drop(Store *store, gint64 seq)
{
        g_autoptr(Batch) batch = batch_new();

        batch_drop(batch, RECORD_JOB, copy_int(seq));
        commit(store, batch);
}

/* The specification stays as long as one of those that share it. */
static void test_shared_spec(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new();
        g_auto(StoreState) state = { 0 };

        for (int i = 1; i <= 3; i++) {
                g_autofree char *name = g_strdup_printf("n-%d", i);
                Job *job = make_job(i, "ann", name, i == 3 ? JOB_QUEUED : JOB_SUCCEEDED);

                job->spec_seq = job->array_seq = 1;
                batch_put(batch, RECORD_NEW_JOB, job);
        }
        batch_put(batch, RECORD_NEW_JOB, make_job(4, "ann", "n-4", JOB_QUEUED));
        commit(store, batch);
        g_assert_cmpint(count_specs(store, 1, 4), ==, 4);
        drop(store, 1);
        g_assert_cmpint(count_specs(store, 1, 4), ==, 3);
        drop(store, 2);
        g_assert_cmpint(count_specs(store, 1, 4), ==, 2);
        g_assert_true(store_load(store, &state, NULL));
        g_assert_cmpuint(state.loaded[RECORD_JOB]->len, ==, 2);
}

/* ---- arrays by name ---- */

/* What the store answers twice is as true after the commits between them. 0: no such array. */
static void assert_array(Store *store, const char *name, gint64 want)
{
        for (int i = 0; i < 2; i++) {
                gint64 seq = 0;
                g_autoptr(GError) error = NULL;
                bool found = store_array_by_name(store, "ann", name, &seq, &error);

                g_assert_cmpint(found ? seq : 0, ==, want);
                g_assert_true(found || err_is(error, ERR_NOT_FOUND));
        }
}

/* An array of one job that has ended. */
static void commit_array(Store *store, gint64 seq)
{
        g_autoptr(Batch) batch = batch_new();
        Job *job = make_job(seq, "ann", "sweep-0", JOB_SUCCEEDED);

        job->spec_seq = job->array_seq = seq;
        job->array_index = 0;
        batch_put(batch, RECORD_NEW_JOB, job);
        commit(store, batch);
}

static void test_array_names(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new();

        assert_array(store, "sweep", 0);
        commit_array(store, 1);
        assert_array(store, "sweep", 1);
        assert_array(store, "swee", 0);
        commit_array(store, 2);
        assert_array(store, "sweep", 2);
        drop(store, 2);
        assert_array(store, "sweep", 1);
        batch_drop(batch, RECORD_OBJECT,
                   object_new(KIND_USER, "ann")); /* a later user of that name has no jobs */
        commit(store, batch);
        assert_array(store, "sweep", 0);
}

/* ---- kept jobs ---- */

static void test_cache(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new();
        g_autoptr(Job) first = NULL, second = NULL, open = NULL;
        g_autoptr(GError) error = NULL;
        Job *job = make_job(1, "ann", "a", JOB_SUCCEEDED), *queued = make_job(2, "ann", "b", JOB_QUEUED);

        batch_put(batch, RECORD_NEW_JOB, job);
        batch_put(batch, RECORD_NEW_JOB, queued);
        commit(store, batch);
        first = store_job_by_id(store, job->id, &error);
        second = store_job_by_id(store, job->id, &error);
        assert_same_job(first, job);
        g_assert_true(first == second);
        open = store_job_by_id(store, queued->id, &error); /* may change: read each time */
        g_clear_pointer(&second, job_unref);
        second = store_job_by_id(store, queued->id, &error);
        g_assert_true(open != second);
        drop(store, 1);
        g_assert_null(store_job_by_id(store, job->id, &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
}

static void test_cache_bounds(void)
{
        JobCache cache;
        g_autofree char *oldest = NULL, *newest = NULL;
        guint64 before;
        Job *job;

        cache_init(&cache);
        for (int i = 1; i <= CACHE_JOBS + 10; i++) {
                job = make_job(i, "ann", "a", JOB_FAILED);
                if (i == 1)
                        oldest = g_strdup(job->id);
                g_free(newest);
                newest = g_strdup(job->id);
                cache_put(&cache, job, cache_generation(&cache));
                job_unref(job);
        }
        g_assert_cmpuint(cache.recent.length, <=, CACHE_JOBS);
        g_assert_null(cache_get(&cache, oldest));
        job = cache_get(&cache, newest);
        g_assert_nonnull(job);
        /* One that was read before it was dropped stays out. */
        before = cache_generation(&cache);
        cache_drop(&cache, job->seq);
        cache_put(&cache, job, before);
        g_assert_null(cache_get(&cache, newest));
        job_unref(job);
        cache_clear(&cache);
}

/* ---- what ran ---- */

static bool note_seq(const Job *job, void *arg)
{
        g_string_append_printf(arg, "%d ", (int)job->seq);
        return job->seq != 9;
}

static void test_ran(void)
{
        static const struct {
                const char *queue;
                gint64 from, to;
                const char *seqs;
        } cases[] = {
                { "q", 0, 100, "" },         { "q", 0, 101, "1 " },     { "q", 199, 200, "1 2 3 " },
                { "q", 200, 300, "2 3 " },   { "q", 250, 301, "3 8 " }, { "q", 0, 1000, "1 2 3 8 9 " },
                { "q", 5000, 6000, "3 9 " }, { "r", 0, 1000, "7 " },    { "nobody", 0, 1000, "" },
        };
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);

        commit_rows(store);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GString) seqs = g_string_new(NULL);
                g_autoptr(GError) error = NULL;

                g_assert_true(store_jobs_that_ran(store, cases[i].queue, cases[i].from, cases[i].to, note_seq,
                                                  seqs, &error));
                g_assert_cmpstr(seqs->str, ==, cases[i].seqs);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/catalog/objects", test_objects);
        g_test_add_func("/catalog/usage", test_usage);
        g_test_add_func("/catalog/lists", test_lists);
        g_test_add_func("/catalog/changes", test_changes);
        g_test_add_func("/catalog/far-apart", test_far_apart);
        g_test_add_func("/catalog/shared-spec", test_shared_spec);
        g_test_add_func("/catalog/array-names", test_array_names);
        g_test_add_func("/catalog/cache", test_cache);
        g_test_add_func("/catalog/cache-bounds", test_cache_bounds);
        g_test_add_func("/catalog/ran", test_ran);
        return g_test_run();
}
