/* The cache of steps: what goes in comes out again, look-ups, pages, and what is deleted with what. */
#include "base/err.h"
#include "store/test/help.h"

static RunRecord *make_run(gint64 seq, const char *user)
{
        RunRecord *run = g_new0(RunRecord, 1);

        *run = (RunRecord){ .seq = seq,
                            .user = g_strdup(user),
                            .name = g_strdup("train"),
                            .text = g_strdup("entry_points: {a: {command: x}}"),
                            .request = g_strdup("{}"),
                            .state = NODE_RUNNING,
                            .created = 1000 };
        id_new(run->id);
        return run;
}

/* Created at 1000 times its run's number. */
static CacheEntry *make_entry(gint64 run, guint32 node, const char *user, const char *key, const char *second,
                              gint64 expiry_s)
{
        CacheEntry *entry = g_new0(CacheEntry, 1);

        *entry = (CacheEntry){ .key = g_strdup(key),
                               .first = g_strdup("f"),
                               .second = g_strdup(second),
                               .run = run,
                               .node = node,
                               .job = run,
                               .user = g_strdup(user),
                               .fs = g_strdup("data"),
                               .source = g_strdup("md5"),
                               .step = g_strdup("a"),
                               .expiry_s = expiry_s,
                               .created = 1000 * run,
                               .body = g_strdup("{}") };
        return entry;
}

static Store *open_with_runs(const char *dir)
{
        g_autoptr(Batch) batch = batch_new();
        Store *store = open_store(dir);

        for (gint64 seq = 1; seq <= 3; seq++) {
                batch_put(batch, RECORD_NEW_RUN, make_run(seq, seq == 3 ? "bob" : "ann"));
                batch_put(batch, RECORD_NEW_JOB, make_job(seq, seq == 3 ? "bob" : "ann", "a", JOB_SUCCEEDED));
        }
        batch_put(batch, RECORD_CACHE_ENTRY, make_entry(1, 2, "ann", "k", "s", -1));
        batch_put(batch, RECORD_CACHE_ENTRY, make_entry(2, 2, "ann", "k", "s", 300));
        batch_put(batch, RECORD_CACHE_ENTRY, make_entry(2, 3, "ann", "k", "other", 5));
        batch_put(batch, RECORD_CACHE_ENTRY, make_entry(3, 2, "bob", "k2", "s", -1));
        commit(store, batch);
        return store;
}

static guint look(Store *store, const char *key, const char *second, gint64 before, gint64 not_run,
                  gint64 *ret_first)
{
        const CacheLookup lookup = { key, second, before, not_run, 10 };
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) found = store_cache_lookup(store, &lookup, &error);

        g_assert_no_error(error);
        *ret_first = found->len > 0 ? ((const CacheEntry *)found->pdata[0])->run : 0;
        return found->len;
}

static void test_lookup(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_with_runs(dir);
        g_autoptr(GError) error = NULL;
        g_autoptr(CacheEntry) entry = store_cache_entry(store, 2, &error);
        gint64 run;

        g_assert_no_error(error);
        g_assert_cmpstr(entry->key, ==, "k");
        g_assert_cmpint(entry->expiry_s, ==, 300);
        g_assert_cmpint(entry->created, ==, 2000);
        g_assert_cmpint(entry->job_state, ==, JOB_SUCCEEDED);
        g_assert_nonnull(entry->job_id);
        g_assert_cmpuint(look(store, "k", "s", G_MAXINT64, 9, &run), ==, 2);
        g_assert_cmpint(run, ==, 2); /* the newest first */
        g_assert_cmpuint(look(store, "k", "s", 2, 9, &run), ==, 1);
        g_assert_cmpuint(look(store, "k", "s", G_MAXINT64, 2, &run), ==, 1);
        g_assert_cmpint(run, ==, 1);
        g_assert_cmpuint(look(store, "k", "none", G_MAXINT64, 9, &run), ==, 0);
        g_assert_cmpuint(look(store, "none", "s", G_MAXINT64, 9, &run), ==, 0);
}

static void test_pages(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_with_runs(dir);
        g_autoptr(GError) error = NULL;
        CacheQuery query = { .user = "ann", .limit = 2 };
        gint64 next = 0;
        g_autoptr(GPtrArray) first = store_cache_entries(store, &query, &next, &error);

        g_assert_cmpuint(first->len, ==, 2);
        query.after = next;
        g_autoptr(GPtrArray) second = store_cache_entries(store, &query, &next, &error);
        g_assert_cmpuint(second->len, ==, 1);
        g_assert_cmpint(next, ==, 0);
        query = (CacheQuery){ .run = 3, .limit = 9 };
        g_autoptr(GPtrArray) of_run = store_cache_entries(store, &query, &next, &error);
        g_assert_cmpuint(of_run->len, ==, 1);
        query = (CacheQuery){ .fs = "none", .limit = 9 };
        g_autoptr(GPtrArray) none = store_cache_entries(store, &query, &next, &error);
        g_assert_cmpuint(none->len, ==, 0);
        g_autoptr(CacheEntry) of_node = store_cache_of_node(store, 2, 3, &error);
        g_assert_cmpint(of_node->seq, ==, 3);
        g_autoptr(CacheEntry) of_step = store_cache_of_step(store, of_node, "train", &error);
        g_assert_cmpint(of_step->seq, ==, 2);
        g_assert_null(store_cache_of_step(store, of_node, "other", &error));
        g_assert_null(store_cache_of_node(store, 1, 3, &error));
        g_assert_no_error(error);
}

/* R-30, and who took what. */
static void test_deleted_run(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_with_runs(dir);
        g_autoptr(Batch) taken = batch_new(), hidden = batch_new(), gone = batch_new();
        RunNodeRecord *node = g_new0(RunNodeRecord, 1), *key = g_new0(RunNodeRecord, 1);
        RunRecord *dropped = make_run(1, "ann");
        g_autoptr(GError) error = NULL;
        gint64 run;

        *node = (RunNodeRecord){ .run = 2,
                                 .node = 5,
                                 .component = 3,
                                 .state = NODE_FAILED,
                                 .job = 1,
                                 .made_by = 1,
                                 .reuse = g_strdup("{}") };
        batch_put(taken, RECORD_RUN_NODE, node);
        commit(store, taken);
        g_autoptr(GArray) users = store_cache_users(store, 1, 10, &error);
        g_assert_cmpuint(users->len, ==, 1);
        g_assert_cmpint(g_array_index(users, gint64, 0), ==, 2);
        g_assert_true(store_cache_taker(store, 1, 1, 0, &run, &error) && run == 2);
        g_assert_true(store_cache_taker(store, 1, 1, 2, &run, &error) && run == 2);
        g_assert_true(store_cache_taker(store, 1, 1, 3, &run, &error) && run == 0);
        g_assert_true(store_cache_taker(store, 1, 9, 0, &run, &error) && run == 0);
        g_autoptr(RunRecord) user = store_run_user_of(store, 1, &error);
        g_assert_cmpint(user->seq, ==, 2);

        dropped->dropped = true;
        batch_put(hidden, RECORD_RUN, dropped);
        commit(store, hidden);
        g_assert_cmpuint(look(store, "k", "s", G_MAXINT64, 9, &run), ==, 1);
        g_assert_cmpint(run, ==, 2);
        g_assert_null(store_cache_entry(store, 1, NULL));
        *key = (RunNodeRecord){ .run = 1, .node = 2 };
        batch_drop(gone, RECORD_RUN_NODE, key);
        batch_drop(gone, RECORD_CACHE_ENTRY, copy_int(4));
        commit(store, gone);
        g_assert_null(store_cache_of_node(store, 1, 2, NULL));
        g_assert_null(store_cache_entry(store, 4, &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
}

/* A run, the one that it retries, and so on. */
static void test_chain(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new();
        g_autoptr(GError) error = NULL;

        for (gint64 seq = 1; seq <= 6; seq++) {
                RunRecord *run = make_run(seq, "ann");

                run->retry_of = seq > 2 ? seq - 2 : 0; /* 5, 3, 1 and 6, 4, 2 */
                batch_put(batch, RECORD_NEW_RUN, run);
        }
        commit(store, batch);
        g_autoptr(GArray) chain = store_run_chain(store, 5, 10, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(chain->len, ==, 3);
        for (guint i = 0; i < chain->len; i++)
                g_assert_cmpint(g_array_index(chain, gint64, i), ==, 5 - 2 * i);
        g_autoptr(GArray) part = store_run_chain(store, 6, 2, &error);
        g_assert_cmpuint(part->len, ==, 2);
        g_autoptr(GArray) none = store_run_chain(store, 9, 2, &error);
        g_assert_cmpuint(none->len, ==, 0);
}

/* Those that have expired, else the oldest of a user with too many. */
static void test_expired(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_with_runs(dir);
        g_autoptr(GError) error = NULL;
        g_autoptr(GArray) none = store_cache_expired(store, 6999, 3, 10, &error);
        g_autoptr(GArray) one = store_cache_expired(store, 7000, 1, 10, &error);
        g_autoptr(GArray) many = store_cache_expired(store, 6999, 1, 10, &error);

        g_assert_no_error(error);
        g_assert_cmpuint(none->len, ==, 0);
        g_assert_cmpuint(one->len, ==, 1);
        g_assert_cmpint(g_array_index(one, gint64, 0), ==, 3);
        g_assert_cmpuint(many->len, ==, 2);
        g_assert_cmpint(g_array_index(many, gint64, 0), ==, 1);
        g_assert_cmpint(g_array_index(many, gint64, 1), ==, 2);

        g_autoptr(Batch) gone = batch_new();
        batch_drop(gone, RECORD_CACHE_ENTRY, copy_int(1));
        batch_drop(gone, RECORD_CACHE_ENTRY, copy_int(2));
        commit(store, gone);
        g_autoptr(GArray) fewer = store_cache_expired(store, 6999, 1, 10, &error);
        g_assert_cmpuint(fewer->len, ==, 0); /* ann has one, and bob */
        g_autoptr(GArray) any = store_cache_expired(store, 6999, 0, 10, &error);
        g_assert_cmpuint(any->len, ==, 1);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/store/cache-entry/lookup", test_lookup);
        g_test_add_func("/store/cache-entry/pages", test_pages);
        g_test_add_func("/store/cache-entry/deleted-run", test_deleted_run);
        g_test_add_func("/store/cache-entry/chain", test_chain);
        g_test_add_func("/store/cache-entry/expired", test_expired);
        return g_test_run();
}
