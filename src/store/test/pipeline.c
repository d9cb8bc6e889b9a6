/* Stored pipelines: what goes in comes out again, across a close and an open; a text lies once for each content, and
 * goes with the last version and run that has it. */
#include "base/err.h"
#include "store/sqlite/schema.h"
#include "store/test/help.h"

static const char TEXT[] = "name: träin\nentry_points:\n  a: {command: \"true\"}\n";

static PipelineRecord *make_pipeline(gint64 seq, const char *user, const char *name, int made)
{
        PipelineRecord *pipeline = g_new0(PipelineRecord, 1);

        *pipeline = (PipelineRecord){ .seq = seq,
                                      .revision = 10 + seq,
                                      .user = g_strdup(user),
                                      .name = g_strdup(name),
                                      .note = seq == 1 ? g_strdup("of Monday") : NULL,
                                      .made = made,
                                      .created = 1000 + seq,
                                      .updated = 2000 + seq };
        return pipeline;
}

static PipelineVersion *make_version(gint64 pipeline, int number, const char *text)
{
        PipelineVersion *version = g_new0(PipelineVersion, 1);

        *version = (PipelineVersion){ .pipeline = pipeline,
                                      .version = number,
                                      .size = (gint64)strlen(text),
                                      .user = g_strdup("ann"),
                                      .fs = number == 2 ? g_strdup("data") : NULL,
                                      .path = number == 2 ? g_strdup("run.yaml") : NULL,
                                      .text = g_strdup(text),
                                      .files = number == 2 ? g_strdup("{\"package\": \"ab\"}") : NULL,
                                      .packages = number == 2 ? g_strdup("ab cd") : NULL,
                                      .created = 3000 + number };
        pipeline_hash(text, version->hash);
        return version;
}

/* A run of version `number` of pipeline 1. */
static RunRecord *make_run(gint64 seq, int number, const char *text)
{
        char hash[PIPELINE_HASH_LEN + 1];
        RunRecord *run = g_new0(RunRecord, 1);

        pipeline_hash(text, hash);
        *run = (RunRecord){ .seq = seq,
                            .user = g_strdup("ann"),
                            .name = g_strdup("träin"),
                            .text = g_strdup(text),
                            .request = g_strdup("{}"),
                            .state = NODE_RUNNING,
                            .created = 4000,
                            .source = g_strdup_printf("ppl-000001-%d", number),
                            .fs = g_strdup("data"),
                            .note = g_strdup("nightly"),
                            .hash = g_strdup(hash),
                            .pipeline = 1,
                            .version = number };
        id_new(run->id);
        return run;
}

static gint64 count(const char *dir, const char *sql)
{
        g_autofree char *path = g_build_filename(dir, "paddle.db", NULL);
        g_autoptr(GError) error = NULL;
        Conn conn = { 0 };
        gint64 ret = -1;

        (void)(conn_open(&conn, path, SQLITE_OPEN_READWRITE, &error) &&
               conn_get_int(&conn, sql, &ret, &error));
        g_assert_no_error(error);
        conn_close(&conn);
        return ret;
}

static gint64 count_texts(const char *dir)
{
        return count(dir, "SELECT count(*) FROM pipeline_text");
}

static void assert_same_version(const PipelineVersion *got, const PipelineVersion *want, bool text)
{
        g_assert_nonnull(got);
        g_assert_cmpint(got->pipeline, ==, want->pipeline);
        g_assert_cmpint(got->version, ==, want->version);
        g_assert_cmpint(got->size, ==, want->size);
        g_assert_cmpint(got->created, ==, want->created);
        g_assert_cmpstr(got->hash, ==, want->hash);
        g_assert_cmpstr(got->user, ==, want->user);
        g_assert_cmpstr(got->fs, ==, want->fs);
        g_assert_cmpstr(got->path, ==, want->path);
        g_assert_cmpstr(got->files, ==, want->files);
        g_assert_cmpstr(got->packages, ==, want->packages);
        g_assert_cmpstr(got->text, ==, text ? want->text : NULL);
}

static void assert_same_pipeline(const PipelineRecord *got, const PipelineRecord *want)
{
        g_assert_nonnull(got);
        g_assert_cmpint(got->seq, ==, want->seq);
        g_assert_cmpint(got->revision, ==, want->revision);
        g_assert_cmpint(got->made, ==, want->made);
        g_assert_cmpint(got->created, ==, want->created);
        g_assert_cmpint(got->updated, ==, want->updated);
        g_assert_cmpstr(got->user, ==, want->user);
        g_assert_cmpstr(got->name, ==, want->name);
        g_assert_cmpstr(got->note, ==, want->note);
}

static void assert_stored(Store *store, const PipelineRecord *pipeline, PipelineVersion *const versions[2])
{
        g_autoptr(GError) error = NULL;
        g_autoptr(PipelineRecord) by_seq = store_pipeline(store, 1, &error);
        g_autoptr(PipelineRecord) by_name = store_pipeline_by_name(store, "ann", "träin", &error);
        g_autoptr(PipelineVersion) first = store_pipeline_version(store, 1, 1, true, &error);
        g_autoptr(PipelineVersion) newest = store_pipeline_version(store, 1, 0, false, &error);
        g_auto(StoreState) state = { 0 };

        g_assert_no_error(error);
        assert_same_pipeline(by_seq, pipeline);
        assert_same_pipeline(by_name, pipeline);
        assert_same_version(first, versions[0], true);
        assert_same_version(newest, versions[1], false);
        g_assert_true(store_load(store, &state, &error));
        g_assert_cmpint(state.last_pipeline_seq, ==, 1);
        g_assert_cmpuint(state.loaded[RECORD_PIPELINE]->len, ==, 1);
        assert_same_pipeline(state.loaded[RECORD_PIPELINE]->pdata[0], pipeline);
        g_assert_cmpuint(state.loaded[RECORD_PIPELINE_VERSION]->len, ==, 2);
        for (int i = 0; i < 2; i++)
                assert_same_version(state.loaded[RECORD_PIPELINE_VERSION]->pdata[i], versions[i], false);
}

static void test_round_trip(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new();
        PipelineRecord *pipeline = make_pipeline(1, "ann", "träin", 2);
        PipelineVersion *versions[] = { make_version(1, 1, TEXT), make_version(1, 2, TEXT) };

        batch_put(batch, RECORD_PIPELINE_VERSION, versions[0]); /* in any order */
        batch_put(batch, RECORD_PIPELINE_VERSION, versions[1]);
        batch_put(batch, RECORD_PIPELINE, pipeline);
        commit(store, batch);
        g_assert_cmpint(count_texts(dir), ==, 1); /* of both */
        for (int round = 0; round < 2; round++) { /* again after a close and an open */
                assert_stored(store, pipeline, versions);
                g_clear_pointer(&store, store_close);
                store = open_store(dir);
        }
}

static void test_change(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new(), later = batch_new();
        g_autoptr(GError) error = NULL;
        PipelineRecord *changed = make_pipeline(1, "ann", "p", 5);

        batch_put(batch, RECORD_PIPELINE, make_pipeline(1, "ann", "p", 1));
        commit(store, batch);
        g_free(changed->note);
        changed->note = NULL;
        changed->updated = 9000;
        changed->revision = 99;
        batch_put(later, RECORD_PIPELINE, changed);
        commit(store, later);
        g_autoptr(PipelineRecord) got = store_pipeline(store, 1, &error);
        g_assert_no_error(error);
        assert_same_pipeline(got, changed);
}

/* Two versions and a run have one text: it goes with the last of them. */
static void test_text_goes_last(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new(), first = batch_new(), rest = batch_new(), end = batch_new();
        g_autoptr(GError) error = NULL;
        g_auto(StoreState) state = { 0 };
        RunRecord *run = make_run(1, 2, TEXT);

        batch_put(batch, RECORD_PIPELINE, make_pipeline(1, "ann", "p", 2));
        batch_put(batch, RECORD_PIPELINE_VERSION, make_version(1, 1, TEXT));
        batch_put(batch, RECORD_PIPELINE_VERSION, make_version(1, 2, TEXT));
        batch_put(batch, RECORD_NEW_RUN, run);
        commit(store, batch);
        batch_drop(first, RECORD_PIPELINE_VERSION, make_version(1, 1, TEXT));
        commit(store, first);
        g_assert_cmpint(count_texts(dir), ==, 1);
        g_assert_null(store_pipeline_version(store, 1, 1, false, &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_clear_error(&error);

        batch_drop(rest, RECORD_PIPELINE_VERSION, make_version(1, 2, TEXT));
        batch_drop(rest, RECORD_PIPELINE, copy_int(1));
        commit(store, rest);
        g_assert_null(store_pipeline(store, 1, &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_clear_error(&error);
        g_assert_cmpint(count_texts(dir), ==, 1); /* the run has it */
        g_assert_cmpint(count(dir, "SELECT length(text) FROM run_text"), ==, 0);
        g_autoptr(RunRecord) got = store_run_by_seq(store, 1, true, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(got->text, ==, TEXT);
        g_assert_cmpstr(got->source, ==, "ppl-000001-2");
        g_assert_cmpstr(got->fs, ==, "data");
        g_assert_cmpstr(got->note, ==, "nightly");
        g_assert_cmpint(got->pipeline, ==, 1);
        g_assert_cmpint(got->version, ==, 2);
        g_assert_true(store_load(store, &state, &error));
        g_assert_cmpstr(((const RunRecord *)state.loaded[RECORD_RUN]->pdata[0])->text, ==, TEXT);
        g_assert_cmpint(state.last_pipeline_seq, ==, 1); /* the number is not used again */

        batch_drop(end, RECORD_RUN, copy_int(1));
        commit(store, end);
        g_assert_cmpint(count_texts(dir), ==, 0);
}

/* A run that begins in the batch that deletes its version keeps the text. */
static void test_begin_and_drop(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new(), both = batch_new();
        g_autoptr(GError) error = NULL;

        batch_put(batch, RECORD_PIPELINE, make_pipeline(1, "ann", "p", 1));
        batch_put(batch, RECORD_PIPELINE_VERSION, make_version(1, 1, TEXT));
        commit(store, batch);
        batch_drop(both, RECORD_PIPELINE_VERSION, make_version(1, 1, TEXT));
        batch_drop(both, RECORD_PIPELINE, copy_int(1));
        batch_put(both, RECORD_NEW_RUN, make_run(1, 1, TEXT));
        commit(store, both);
        g_autoptr(RunRecord) got = store_run_by_seq(store, 1, true, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(got->text, ==, TEXT);
}

/* One that is created and deleted in one batch leaves nothing, and another one may have its name. */
static void test_name_is_free(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new();
        g_autoptr(GError) error = NULL;

        batch_put(batch, RECORD_PIPELINE, make_pipeline(1, "ann", "p", 1));
        batch_put(batch, RECORD_PIPELINE_VERSION, make_version(1, 1, "name: p\n"));
        batch_drop(batch, RECORD_PIPELINE_VERSION, make_version(1, 1, "name: p\n"));
        batch_drop(batch, RECORD_PIPELINE, copy_int(1));
        batch_put(batch, RECORD_PIPELINE, make_pipeline(2, "ann", "p", 1));
        batch_put(batch, RECORD_PIPELINE_VERSION, make_version(2, 1, TEXT));
        commit(store, batch);
        g_autoptr(PipelineRecord) found = store_pipeline_by_name(store, "ann", "p", &error);
        g_assert_no_error(error);
        g_assert_cmpint(found->seq, ==, 2);
        g_assert_cmpint(count_texts(dir), ==, 1);
}

static void test_pages(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new();
        g_autoptr(GError) error = NULL;
        gint64 next = 0, run_next = 0;
        int found = 0, pages = 0, number = 0, versions = 0, runs = 0;

        for (gint64 seq = 1; seq <= 8; seq++) {
                g_autofree char *name = g_strdup_printf("p%" G_GINT64_FORMAT, seq);

                batch_put(batch, RECORD_PIPELINE, make_pipeline(seq, seq % 2 ? "ann" : "bob", name, 5));
                batch_put(batch, RECORD_NEW_RUN, make_run(seq, 1, TEXT));
        }
        for (int i = 1; i <= 5; i++)
                batch_put(batch, RECORD_PIPELINE_VERSION, make_version(3, i, TEXT));
        commit(store, batch);
        do {
                const PipelineQuery query = { .user = "ann", .after_seq = next, .limit = 2 };
                g_autoptr(GPtrArray) page = store_pipelines(store, &query, &next, &error);

                g_assert_no_error(error);
                for (guint i = 0; i < page->len; i++, found++)
                        g_assert_cmpint(((PipelineRecord *)page->pdata[i])->seq, ==, 1 + 2 * found);
                pages++;
        } while (next > 0);
        g_assert_cmpint(found, ==, 4);
        g_assert_cmpint(pages, ==, 2); /* a full page that is the last one says so */
        do {
                g_autoptr(GPtrArray) page = store_pipeline_versions(store, 3, number, 2, &number, &error);

                g_assert_no_error(error);
                for (guint i = 0; i < page->len; i++)
                        g_assert_cmpint(((PipelineVersion *)page->pdata[i])->version, ==, ++versions);
        } while (number > 0);
        g_assert_cmpint(versions, ==, 5);
        do {
                const RunQuery query = { .oldest_first = true, .after_seq = run_next, .limit = 3 };
                g_autoptr(GPtrArray) page = store_runs(store, &query, &run_next, &error);

                g_assert_no_error(error);
                for (guint i = 0; i < page->len; i++)
                        g_assert_cmpint(((RunRecord *)page->pdata[i])->seq, ==, ++runs);
        } while (run_next > 0);
        g_assert_cmpint(runs, ==, 8);
}

/* A database of before: its runs are what they were, and new ones have stored texts. */
static void test_migration(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *path = g_build_filename(dir, "paddle.db", NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(Store) store = NULL;
        g_auto(StoreState) state = { 0 };
        const RunRecord *run;
        Conn conn = { 0 };
        int before = 0;

        while (!strstr(schema_migrations[before], "CREATE TABLE pipeline "))
                before++;
        (void)(conn_open(&conn, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &error) &&
               schema_migrate(&conn, schema_migrations, before, &error) &&
               conn_exec(
                       &conn,
                       "INSERT INTO run (seq, id, user, name, state, created, finished, revision, admin, stopping,"
                       " forced, dropped) VALUES (4, '0123456789abcdef', 'ann', 'old', 3, 5, 0, 7, 1, 1, 0, 0);"
                       "INSERT INTO run_text (seq, text, request) VALUES (4, 'name: old', '{\"name\":\"old\"}')",
                       &error));
        g_assert_no_error(error);
        conn_close(&conn);
        store = open_store(dir);
        g_assert_true(store_load(store, &state, &error));
        g_assert_cmpuint(state.loaded[RECORD_RUN]->len, ==, 1);
        run = state.loaded[RECORD_RUN]->pdata[0];
        g_assert_cmpint(run->seq, ==, 4);
        g_assert_cmpstr(run->text, ==, "name: old");
        g_assert_cmpstr(run->request, ==, "{\"name\":\"old\"}");
        g_assert_cmpint(run->revision, ==, 7);
        g_assert_true(run->admin && run->stopping);
        g_assert_cmpint(run->pipeline, ==, 0);
        g_assert_null(run->source);
        g_assert_cmpint(state.last_pipeline_seq, ==, 0);
        g_assert_cmpuint(state.loaded[RECORD_PIPELINE]->len, ==, 0);
}

static void test_numbered_ids(void)
{
        g_autofree char *first = numbered_id_format("ppl", 1), *large = numbered_id_format("run", 12345678);
        static const char *const wrong[] = { "ppl-1",      "ppl-0000001", "ppl-000000", "ppl-00000x",
                                             "run-000001", "ppl-",        "ppl",        "",
                                             "ppl-+00001", "ppl-000001 ", NULL };
        gint64 seq = 0;

        g_assert_cmpstr(first, ==, "ppl-000001");
        g_assert_cmpstr(large, ==, "run-12345678");
        g_assert_true(numbered_id_parse("ppl", first, &seq) && seq == 1);
        g_assert_true(numbered_id_parse("run", large, &seq) && seq == 12345678);
        for (const char *const *text = wrong; *text; text++)
                g_assert_false(numbered_id_parse("ppl", *text, &seq));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/store/pipeline/round-trip", test_round_trip);
        g_test_add_func("/store/pipeline/change", test_change);
        g_test_add_func("/store/pipeline/text-goes-last", test_text_goes_last);
        g_test_add_func("/store/pipeline/begin-and-drop", test_begin_and_drop);
        g_test_add_func("/store/pipeline/name-is-free", test_name_is_free);
        g_test_add_func("/store/pipeline/pages", test_pages);
        g_test_add_func("/store/pipeline/migration", test_migration);
        g_test_add_func("/store/pipeline/numbered-ids", test_numbered_ids);
        return g_test_run();
}
