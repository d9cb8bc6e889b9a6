/* Runs of pipelines: what goes in comes out again, across a close and an open; pages, ends, and how they are deleted. */
#include <sqlite3.h>
#include <string.h>

#include "base/err.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/writer.h"
#include "store/test/help.h"

static RunRecord *make_run(gint64 seq, const char *user, const char *key)
{
        RunRecord *run = g_new0(RunRecord, 1);

        run->seq = seq;
        id_new(run->id);
        run->user = g_strdup(user);
        run->name = g_strdup_printf("run-%" G_GINT64_FORMAT, seq);
        run->key = g_strdup(key);
        run->text = g_strdup("name: träin\n");
        run->request = g_strdup("{\"parameters\":{\"a\":1}}");
        run->state = NODE_RUNNING;
        run->created = 1000 + seq;
        run->admin = seq % 2 == 1;
        return run;
}

/* As it is written when it changes. */
static RunRecord *change_run(const RunRecord *run, NodeState state, gint64 finished)
{
        RunRecord *ret = g_new0(RunRecord, 1);

        ret->seq = run->seq;
        ret->state = (guint8)state;
        ret->finished = finished;
        ret->revision = 40 + run->seq;
        ret->stopping = true;
        ret->message = g_strdup("step 'a' failed");
        return ret;
}

static RunNodeRecord *make_node(gint64 run, guint32 index, NodeState state)
{
        RunNodeRecord *node = g_new0(RunNodeRecord, 1);

        *node = (RunNodeRecord){ .run = run,
                                 .node = index,
                                 .dag = index > 5 ? 2 : 0,
                                 .component = 3 + index,
                                 .number = index % 4,
                                 .state = (guint8)state,
                                 .culprit = state == NODE_FAILED,
                                 .inner = index == 2,
                                 .job = index == 3 ? 1 : 0,
                                 .started = 100 + index,
                                 .finished = node_is_final(state) ? 200 + index : 0,
                                 .message = state == NODE_FAILED ? g_strdup("exit 3") : NULL };
        return node;
}

static RunChildRecord *make_child(gint64 run, guint32 dag, guint32 component, guint32 first, guint32 count)
{
        RunChildRecord *child = g_new0(RunChildRecord, 1);

        *child = (RunChildRecord){
                .run = run, .dag = dag, .component = component, .first = first, .count = count
        };
        return child;
}

static void assert_same_run(const RunRecord *got, const RunRecord *want, bool text)
{
        g_assert_nonnull(got);
        g_assert_cmpint(got->seq, ==, want->seq);
        g_assert_cmpstr(got->id, ==, want->id);
        g_assert_cmpstr(got->user, ==, want->user);
        g_assert_cmpstr(got->name, ==, want->name);
        g_assert_cmpstr(got->key, ==, want->key);
        g_assert_cmpint(got->state, ==, want->state);
        g_assert_cmpint(got->created, ==, want->created);
        g_assert_cmpint(got->admin, ==, want->admin);
        g_assert_cmpstr(got->text, ==, text ? want->text : NULL);
        g_assert_cmpstr(got->request, ==, text ? want->request : NULL);
}

static void assert_same_node(const RunNodeRecord *got, const RunNodeRecord *want)
{
        g_assert_cmpint(got->run, ==, want->run);
        g_assert_cmpuint(got->node, ==, want->node);
        g_assert_cmpuint(got->dag, ==, want->dag);
        g_assert_cmpuint(got->component, ==, want->component);
        g_assert_cmpuint(got->number, ==, want->number);
        g_assert_cmpuint(got->state, ==, want->state);
        g_assert_cmpint(got->culprit, ==, want->culprit);
        g_assert_cmpint(got->inner, ==, want->inner);
        g_assert_cmpint(got->job, ==, want->job);
        g_assert_cmpint(got->started, ==, want->started);
        g_assert_cmpint(got->finished, ==, want->finished);
        g_assert_cmpstr(got->message, ==, want->message);
}

static void test_round_trip(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new();
        g_autoptr(GError) error = NULL;
        RunRecord *run = make_run(1, "ann", "key 1");
        const RunNodeRecord *nodes[3];

        commit_job(store, 1);
        batch_put(batch, RECORD_RUN_NODE, make_node(1, 2, NODE_RUNNING)); /* in any order */
        nodes[0] = batch_last(batch);
        batch_put(batch, RECORD_RUN_NODE, make_node(1, 3, NODE_FAILED));
        nodes[1] = batch_last(batch);
        batch_put(batch, RECORD_RUN_NODE, make_node(1, 9, NODE_RUNNING));
        nodes[2] = batch_last(batch);
        batch_put(batch, RECORD_RUN_CHILD, make_child(1, 0, 5, 3, 2));
        batch_put(batch, RECORD_NEW_RUN, run);
        commit(store, batch);
        for (int round = 0; round < 2; round++) { /* again after a close and an open */
                g_autoptr(RunRecord) by_id = store_run_by_id(store, run->id, true, &error);
                g_autoptr(RunRecord) short_one = store_run_by_id(store, run->id, false, &error);
                g_autoptr(RunRecord) by_key = store_run_by_key(store, "ann", "key 1", &error);
                g_auto(StoreState) state = { 0 };
                const RunChildRecord *child;

                g_assert_no_error(error);
                assert_same_run(by_id, run, true);
                assert_same_run(short_one, run, false);
                assert_same_run(by_key, run, true);
                g_assert_true(store_load(store, &state, &error));
                g_assert_cmpint(state.last_run_seq, ==, 1);
                g_assert_cmpuint(state.loaded[RECORD_RUN]->len, ==, 1);
                assert_same_run(state.loaded[RECORD_RUN]->pdata[0], run, true);
                g_assert_cmpuint(state.loaded[RECORD_RUN_NODE]->len, ==, 3);
                for (int i = 0; i < 3; i++)
                        assert_same_node(state.loaded[RECORD_RUN_NODE]->pdata[i], nodes[i]);
                g_assert_cmpuint(state.loaded[RECORD_RUN_CHILD]->len, ==, 1);
                child = state.loaded[RECORD_RUN_CHILD]->pdata[0];
                g_assert_true(child->run == 1 && child->dag == 0 && child->component == 5);
                g_assert_true(child->first == 3 && child->count == 2 && child->rest == NODE_NONE);
                g_clear_pointer(&store, store_close);
                store = open_store(dir);
        }
}

/* What was read for a loop stays when the row changes. */
static void test_list(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(GError) error = NULL;

        for (int change = 0; change < 2; change++) {
                g_autoptr(Batch) batch = batch_new();
                RunChildRecord *child = make_child(1, 0, 5, 3, 2);

                child->list = change == 0 ? g_strdup("[\"ä\",[1]]") : NULL;
                child->rest = change == 0 ? NODE_NONE : NODE_CANCELLED;
                if (change == 0)
                        batch_put(batch, RECORD_NEW_RUN, make_run(1, "ann", NULL));
                batch_put(batch, RECORD_RUN_CHILD, child);
                commit(store, batch);
        }
        g_autoptr(GPtrArray) children = store_run_children(store, 1, 10, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(children->len, ==, 1);
        g_assert_cmpstr(((const RunChildRecord *)children->pdata[0])->list, ==, "[\"ä\",[1]]");
        g_assert_cmpint(((const RunChildRecord *)children->pdata[0])->rest, ==, NODE_CANCELLED);
}

/* ---- artifacts ---- */

static ArtifactRecord *make_artifact(gint64 run, guint32 node, bool output, const char *name,
                                     const char *path)
{
        ArtifactRecord *artifact = g_new0(ArtifactRecord, 1);

        *artifact = (ArtifactRecord){ .run = run,
                                      .node = node,
                                      .output = output,
                                      .name = g_strdup(name),
                                      .user = g_strdup("ann"),
                                      .fs = g_strdup("home"),
                                      .path = g_strdup(path),
                                      .created = 5000 + node };
        return artifact;
}

/* "node:name node:name" of each page of two. */
static char *walk(Store *store, ArtifactQuery query)
{
        g_autoptr(GPtrArray) page = NULL;
        GString *out = g_string_new(NULL);

        query.limit = 2;
        do {
                g_autoptr(GError) error = NULL;
                GPtrArray *next = store_artifacts(store, &query, &error);

                g_assert_no_error(error);
                g_clear_pointer(&page, g_ptr_array_unref);
                page = next;
                for (guint i = 0; i < page->len; i++) {
                        query.after = page->pdata[i];
                        g_string_append_printf(out, "%s%" G_GINT64_FORMAT ".%u:%s", out->len ? " " : "",
                                               query.after->run, query.after->node, query.after->name);
                }
        } while (page->len == 2);
        return g_string_free(out, FALSE);
}

static void assert_walk(Store *store, ArtifactQuery query, const char *want)
{
        g_autofree char *got = walk(store, query);

        g_assert_cmpstr(got, ==, want);
}

static void put_artifacts(Store *store)
{
        g_autoptr(Batch) batch = batch_new();

        batch_put(batch, RECORD_NEW_RUN, make_run(1, "ann", NULL));
        batch_put(batch, RECORD_NEW_RUN, make_run(2, "ann", NULL));
        batch_put(batch, RECORD_NEW_RUN, make_run(3, "ben", NULL)); /* as if ann's run was renamed */
        batch_put(batch, RECORD_ARTIFACT, make_artifact(1, 2, true, "x", "r1/a/x"));
        batch_put(batch, RECORD_ARTIFACT, make_artifact(1, 2, true, "y", "r1/a/y"));
        batch_put(batch, RECORD_ARTIFACT, make_artifact(1, 3, false, "i", "r1/a/x"));
        batch_put(batch, RECORD_ARTIFACT, make_artifact(2, 2, false, "i", "r1/a/x"));
        batch_put(batch, RECORD_ARTIFACT, make_artifact(2, 2, true, "x", "r2/a/x"));
        batch_put(batch, RECORD_ARTIFACT, make_artifact(3, 2, true, "x", "r1/a/x"));
        commit(store, batch);
}

static void test_artifacts(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);

        put_artifacts(store);
        assert_walk(store, (ArtifactQuery){ .run = 1 }, "1.2:x 1.2:y 1.3:i");
        assert_walk(store, (ArtifactQuery){ .run = 1, .path = "r1/a/x" }, "1.2:x 1.3:i");
        assert_walk(store, (ArtifactQuery){ .user = "ann", .fs = "home" }, "1.2:x 1.3:i 2.2:i 1.2:y 2.2:x");
        assert_walk(store, (ArtifactQuery){ .user = "ann", .fs = "home", .path = "r1/" },
                    "1.2:x 1.3:i 2.2:i 1.2:y");
        assert_walk(store, (ArtifactQuery){ .user = "ann", .fs = "data" }, "");
        assert_walk(store, (ArtifactQuery){ .user = "ben", .fs = "home" }, "");
}

static void test_drop_artifacts(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new();
        ArtifactRecord *all = make_artifact(1, 2, true, NULL, NULL);

        put_artifacts(store);
        batch_drop(batch, RECORD_ARTIFACT, all);
        batch_drop(batch, RECORD_ARTIFACT, make_artifact(2, 2, true, "x", NULL));
        commit(store, batch);
        assert_walk(store, (ArtifactQuery){ .run = 1 }, "1.3:i");
        assert_walk(store, (ArtifactQuery){ .run = 2 }, "2.2:i");
}

/* The first start of a node stays, and its message until there is another one; a run that has ended is not loaded any more. */
static void test_change(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new(), later = batch_new();
        g_autoptr(GError) error = NULL;
        RunRecord *run = make_run(1, "ann", NULL);
        RunNodeRecord *begun = make_node(1, 2, NODE_RUNNING), *node = make_node(1, 2, NODE_SUCCEEDED);
        RunNodeRecord *again = make_node(1, 3, NODE_FAILED);
        RunChildRecord *cancelled = make_child(1, 0, 7, 0, 0), *loop = make_child(1, 0, 8, 3, 4);
        g_auto(StoreState) state = { 0 };
        gint64 counts[NODE_STATES], next;

        commit_job(store, 1);
        batch_put(batch, RECORD_NEW_RUN, run);
        begun->message = g_strdup("not reused");
        batch_put(batch, RECORD_RUN_NODE, begun);
        batch_put(batch, RECORD_RUN_NODE, make_node(1, 3, NODE_FAILED));
        commit(store, batch);
        node->started = 999;
        g_free(again->message);
        again->message = g_strdup("exit 4");
        batch_put(later, RECORD_RUN_NODE, again);
        cancelled->rest = NODE_CANCELLED;
        loop->rest = NODE_TERMINATED;
        batch_put(later, RECORD_RUN_NODE, node);
        batch_put(later, RECORD_RUN_CHILD, cancelled);
        batch_put(later, RECORD_RUN_CHILD, loop);
        batch_put(later, RECORD_RUN, change_run(run, NODE_FAILED, 5000));
        commit(store, later);

        g_autoptr(RunRecord) got = store_run_by_id(store, run->id, false, &error);
        g_assert_cmpint(got->state, ==, NODE_FAILED);
        g_assert_cmpint(got->finished, ==, 5000);
        g_assert_cmpint(got->revision, ==, 41);
        g_assert_true(got->stopping && !got->forced);
        g_assert_cmpstr(got->message, ==, "step 'a' failed");
        g_autoptr(GPtrArray) nodes =
                store_run_nodes(store, &(RunNodeQuery){ .run = 1, .limit = 10 }, &next, &error);
        g_assert_cmpuint(nodes->len, ==, 2);
        g_assert_cmpint(next, ==, 0);
        g_assert_cmpint(((RunNodeRecord *)nodes->pdata[0])->state, ==, NODE_SUCCEEDED);
        g_assert_cmpint(((RunNodeRecord *)nodes->pdata[0])->started, ==, 102);
        g_assert_cmpint(((RunNodeRecord *)nodes->pdata[0])->finished, ==, 202);
        g_assert_cmpstr(((RunNodeRecord *)nodes->pdata[0])->message, ==, "not reused");
        g_assert_cmpstr(((RunNodeRecord *)nodes->pdata[1])->message, ==, "exit 4");
        g_assert_null(((RunNodeRecord *)nodes->pdata[0])->job_id);
        g_assert_nonnull(((RunNodeRecord *)nodes->pdata[1])->job_id); /* of job 1 */
        g_assert_true(store_run_counts(store, 1, counts, &error));
        g_assert_cmpint(counts[NODE_SUCCEEDED], ==, 1);
        g_assert_cmpint(counts[NODE_FAILED], ==, 1);
        g_assert_cmpint(counts[NODE_CANCELLED], ==, 1);
        g_assert_cmpint(counts[NODE_TERMINATED], ==, 3); /* of the loop's four, one has a row */
        g_autoptr(GArray) loops = store_run_loop_counts(store, 1, 3, 10, &error);
        g_assert_cmpuint(loops->len, ==, 1); /* of the loop's four, one failed */
        g_assert_cmpuint(g_array_index(loops, RunLoopCount, 0).component, ==, 8);
        g_assert_cmpint(g_array_index(loops, RunLoopCount, 0).state, ==, NODE_FAILED);
        g_assert_cmpint(g_array_index(loops, RunLoopCount, 0).n, ==, 1);
        g_autoptr(GArray) longer = store_run_loop_counts(store, 1, 4, 10, &error);
        g_assert_cmpuint(longer->len, ==, 0);
        g_assert_true(store_load(store, &state, &error));
        g_assert_cmpuint(state.loaded[RECORD_RUN]->len, ==, 0);
        g_assert_cmpuint(state.loaded[RECORD_RUN_NODE]->len, ==, 0);
        g_assert_cmpuint(state.loaded[RECORD_RUN_CHILD]->len, ==, 0);
}

static void test_pages(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new();
        g_autoptr(GError) error = NULL;
        gint64 next = 0;
        int pages = 0, found = 0;

        for (gint64 seq = 1; seq <= 7; seq++)
                batch_put(batch, RECORD_NEW_RUN, make_run(seq, seq % 2 ? "ann" : "bob", NULL));
        for (guint32 i = 2; i < 30; i++)
                batch_put(batch, RECORD_RUN_NODE, make_node(4, i, i % 3 ? NODE_RUNNING : NODE_FAILED));
        commit(store, batch);
        do {
                const RunQuery query = { .user = "ann", .before_seq = next, .limit = 3 };
                g_autoptr(GPtrArray) runs = store_runs(store, &query, &next, &error);

                g_assert_no_error(error);
                for (guint i = 0; i < runs->len; i++, found++)
                        g_assert_cmpint(((RunRecord *)runs->pdata[i])->seq, ==, 7 - 2 * found);
                pages++;
        } while (next > 0);
        g_assert_cmpint(found, ==, 4);
        g_assert_cmpint(pages, ==, 2);
        next = 0;
        found = 0;
        do {
                const RunNodeQuery query = {
                        .run = 4, .after = next, .states = 1u << NODE_FAILED, .limit = 4
                };
                g_autoptr(GPtrArray) nodes = store_run_nodes(store, &query, &next, &error);

                g_assert_no_error(error);
                for (guint i = 0; i < nodes->len; i++, found++)
                        g_assert_cmpuint(((RunNodeRecord *)nodes->pdata[i])->node, ==, 3 + 3 * (guint)found);
        } while (next > 0);
        g_assert_cmpint(found, ==, 9); /* 3, 6, ..., 27 */
}

static void check_filter(Store *store, RunQuery query, gint64 wanted)
{
        g_autoptr(GError) error = NULL;
        gint64 next;

        query.limit = 3;
        for (int up = 0; up < 2; up++) {
                query.oldest_first = up;
                g_autoptr(GPtrArray) runs = store_runs(store, &query, &next, &error);
                g_assert_no_error(error);
                g_assert_cmpuint(runs->len, ==, 1);
                g_assert_cmpint(((RunRecord *)runs->pdata[0])->seq, ==, wanted);
        }
}

/* One that a user stops is not one that runs. */
static void test_filters(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new(), stop = batch_new();
        const NodeState states[] = { NODE_FAILED, NODE_RUNNING, NODE_RUNNING, NODE_TERMINATED };

        for (gint64 seq = 1; seq <= 4; seq++) {
                RunRecord *run = make_run(seq, "ann", NULL), *now = change_run(run, states[seq - 1], 0);

                run->pipeline = seq + 4;
                now->stopping = seq > 2;
                batch_put(batch, RECORD_NEW_RUN, run);
                batch_put(stop, RECORD_RUN, now);
        }
        commit(store, batch);
        commit(store, stop);
        check_filter(store, (RunQuery){ .states = 1u << NODE_FAILED }, 1);
        check_filter(store, (RunQuery){ .states = 1u << NODE_RUNNING }, 2);
        check_filter(store, (RunQuery){ .states = 1u << NODE_STOPPING }, 3);
        check_filter(store, (RunQuery){ .states = 1u << NODE_TERMINATED }, 4);
        check_filter(store, (RunQuery){ .pipeline = 7 }, 3);
        check_filter(store, (RunQuery){ .pipeline = 8, .user = "ann" }, 4);
}

/* First it is dropped, which hides it and frees its key; then its nodes and children go, then the rest. */
static void test_drop(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new(), drop = batch_new(), sweep = batch_new(), again = batch_new();
        g_autoptr(GError) error = NULL;
        RunRecord *run = make_run(1, "ann", "k"), *dropped;
        g_auto(StoreState) state = { 0 };
        gint64 next;

        batch_put(batch, RECORD_NEW_RUN, run);
        batch_put(batch, RECORD_RUN_NODE, make_node(1, 2, NODE_FAILED));
        batch_put(batch, RECORD_RUN_CHILD, make_child(1, 0, 5, 3, 2));
        commit(store, batch);
        g_assert_null(store_run_expired(store, 9000, &error)); /* it runs */
        dropped = change_run(run, NODE_FAILED, 5000);
        dropped->dropped = true;
        batch_put(drop, RECORD_RUN, dropped);
        commit(store, drop);
        g_assert_null(store_run_by_id(store, run->id, false, &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_clear_error(&error);
        g_autoptr(GPtrArray) none = store_runs(store, &(RunQuery){ .limit = 3 }, &next, &error);
        g_assert_cmpuint(none->len, ==, 0);
        g_autoptr(RunRecord) expired = store_run_expired(store, 0, &error);
        g_assert_no_error(error);
        g_assert_cmpint(expired->seq, ==, 1);
        g_assert_true(expired->dropped);

        batch_drop(sweep, RECORD_RUN_NODE, make_node(1, 2, NODE_FAILED));
        batch_drop(sweep, RECORD_RUN_CHILD, copy_int(1));
        batch_drop(sweep, RECORD_RUN, copy_int(1));
        commit(store, sweep);
        g_assert_null(store_run_expired(store, 9000, &error));
        g_assert_no_error(error);
        g_autoptr(GPtrArray) nodes =
                store_run_nodes(store, &(RunNodeQuery){ .run = 1, .limit = 3 }, &next, &error);
        g_assert_cmpuint(nodes->len, ==, 0);
        g_assert_true(store_load(store, &state, &error));
        g_assert_cmpint(state.last_run_seq, ==, 1); /* the number is not used again */
        batch_put(again, RECORD_NEW_RUN, make_run(2, "ann", "k"));
        commit(store, again);
}

static void test_expired(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new();
        g_autoptr(GError) error = NULL;

        for (gint64 seq = 1; seq <= 3; seq++) {
                RunRecord *run = make_run(seq, "ann", NULL);

                batch_put(batch, RECORD_NEW_RUN, run);
                if (seq > 1)
                        batch_put(batch, RECORD_RUN, change_run(run, NODE_SUCCEEDED, 5000 - seq));
        }
        commit(store, batch);
        g_assert_null(store_run_expired(store, 4996, &error));
        g_autoptr(RunRecord) first = store_run_expired(store, 5000, &error);
        g_assert_no_error(error);
        g_assert_cmpint(first->seq, ==, 3);
}

static void assert_sorts_nothing(sqlite3 *db, const char *sql)
{
        g_autofree char *asked = g_strconcat("EXPLAIN QUERY PLAN ", sql, NULL);
        sqlite3_stmt *stmt = NULL;

        g_assert_cmpint(sqlite3_prepare_v2(db, asked, -1, &stmt, NULL), ==, SQLITE_OK);
        while (sqlite3_step(stmt) == SQLITE_ROW) {
                const char *step = (const char *)sqlite3_column_text(stmt, 3);

                if (strstr(step, "TEMP B-TREE FOR ORDER BY") || strstr(step, "TEMP B-TREE FOR GROUP BY") ||
                    g_str_has_prefix(step, "SCAN"))
                        g_error("%s\n%s", step, sql);
        }
        sqlite3_finalize(stmt);
}

/* Texts and nodes of live runs are not sorted at a start, and counts and pages of nodes read only those of their run. */
static void test_plans(void)
{
        static const RecordKind loaded[] = { RECORD_RUN, RECORD_RUN_NODE, RECORD_RUN_CHILD };
        static const int queries[] = { RUN_NODES, RUN_COUNT_NODES, RUN_LAST_NODE };
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autofree char *path = g_build_filename(dir, "paddle.db", NULL);
        sqlite3 *db = NULL;
        guint seen = 0;

        g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
        for (int i = 0; i < record_n_rows; i++)
                for (gsize k = 0; k < G_N_ELEMENTS(loaded); k++)
                        if (record_rows[i].kind == loaded[k] && record_rows[i].load) {
                                assert_sorts_nothing(db, record_rows[i].load);
                                seen++;
                        }
        g_assert_cmpuint(seen, ==, G_N_ELEMENTS(loaded));
        for (gsize i = 0; i < G_N_ELEMENTS(queries); i++)
                assert_sorts_nothing(db, reader_sql[queries[i]]);
        sqlite3_close(db);
}

/* ---- retries ---- */

static RunNodeRecord *make_kept(gint64 run, guint32 index, gint64 maker)
{
        RunNodeRecord *node = make_node(run, index, NODE_SUCCEEDED);

        node->made_by = maker;
        return node;
}

/* The earlier run is found with its id, and is not deleted by age while the later one keeps results of it. */
static void test_retry(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new(), drop = batch_new();
        g_autoptr(GError) error = NULL;
        RunRecord *first = make_run(1, "ann", NULL), *second = make_run(2, "ann", "k"), *dropped;
        gint64 next;

        second->retry_of = 1;
        second->attempt = 2;
        batch_put(batch, RECORD_NEW_RUN, first);
        batch_put(batch, RECORD_NEW_RUN, second);
        batch_put(batch, RECORD_RUN, change_run(first, NODE_FAILED, 4000));
        batch_put(batch, RECORD_RUN, change_run(second, NODE_SUCCEEDED, 5000));
        batch_put(batch, RECORD_RUN_NODE, make_kept(2, 3, 1));
        batch_put(batch, RECORD_RUN_NODE, make_node(2, 4, NODE_SUCCEEDED));
        commit(store, batch);

        g_autoptr(RunRecord) got = store_run_by_id(store, second->id, false, &error);
        g_assert_cmpint(got->retry_of, ==, 1);
        g_assert_cmpstr(got->retry_id, ==, first->id);
        g_assert_cmpuint(got->attempt, ==, 2);
        g_autoptr(RunRecord) plain = store_run_by_id(store, first->id, false, &error);
        g_assert_true(plain->retry_of == 0 && !plain->retry_id && plain->attempt == 1);
        g_autoptr(GPtrArray) nodes =
                store_run_nodes(store, &(RunNodeQuery){ .run = 2, .limit = 10 }, &next, &error);
        g_assert_cmpint(((RunNodeRecord *)nodes->pdata[0])->made_by, ==, 1);
        g_assert_cmpstr(((RunNodeRecord *)nodes->pdata[0])->made_id, ==, first->id);
        g_assert_cmpint(((RunNodeRecord *)nodes->pdata[1])->made_by, ==, 0);
        g_assert_null(((RunNodeRecord *)nodes->pdata[1])->made_id);

        const RunNodeQuery with_job = { .run = 2, .new_jobs = true, .upto = { 1, 0 }, .limit = 10 };
        const RunNodeQuery behind_job = {
                .run = 2, .new_jobs = true, .from = { 1, 0 }, .upto = { 2, 0 }, .limit = 10
        };
        g_autoptr(GPtrArray) jobs = store_run_nodes(store, &with_job, &next, &error);
        g_assert_cmpuint(jobs->len, ==, 1); /* node 3, with job 1; node 4 has none */
        g_assert_cmpuint(((RunNodeRecord *)jobs->pdata[0])->node, ==, 3);
        g_autoptr(GPtrArray) behind = store_run_nodes(store, &behind_job, &next, &error);
        g_assert_cmpuint(behind->len, ==, 0);

        g_autoptr(RunRecord) user = store_run_user_of(store, 1, &error);
        g_assert_cmpint(user->seq, ==, 2);
        g_assert_null(store_run_user_of(store, 2, &error));
        g_autoptr(RunRecord) expired = store_run_expired(store, 9000, &error);
        g_assert_cmpint(expired->seq, ==, 2); /* the first one is older, but in use */
        dropped = change_run(second, NODE_SUCCEEDED, 5000);
        dropped->dropped = true;
        batch_put(drop, RECORD_RUN, dropped);
        batch_drop(drop, RECORD_RUN_NODE, make_node(2, 3, NODE_SUCCEEDED));
        batch_drop(drop, RECORD_RUN_NODE, make_node(2, 4, NODE_SUCCEEDED));
        batch_drop(drop, RECORD_RUN, copy_int(2));
        commit(store, drop);
        g_assert_null(store_run_user_of(store, 1, &error));
        g_autoptr(RunRecord) old = store_run_expired(store, 9000, &error);
        g_assert_cmpint(old->seq, ==, 1);
        g_assert_no_error(error);
}

/* A result from the cache is new when it is taken, not when its job was made. */
static void test_taken(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new();
        RunNodeRecord *late = make_kept(1, 3, 1), *early = make_kept(1, 4, 1), *kept = make_kept(1, 5, 1);
        g_autoptr(GError) error = NULL;
        RunMoment moment;
        gint64 next;

        early->taken = 1;
        late->taken = 2;
        late->job = early->job = kept->job = 1;
        commit_job(store, 1);
        batch_put(batch, RECORD_NEW_RUN, make_run(1, "ann", NULL));
        batch_put(batch, RECORD_RUN_NODE, late);
        batch_put(batch, RECORD_RUN_NODE, early);
        batch_put(batch, RECORD_RUN_NODE, kept);
        commit(store, batch);
        g_assert_true(store_run_moment(store, 1, &moment, &error));
        g_assert_true(moment.job == 1 && moment.taken == 2);
        g_assert_true(store_run_moment(store, 2, &moment, &error));
        g_assert_cmpint(moment.taken, ==, 0);

        static const struct {
                RunMoment from, upto;
                guint node; /* the only one */
        } cases[] = { { { 0, 0 }, { 1, 0 }, 5 }, { { 0, 0 }, { 0, 1 }, 4 }, { { 7, 1 }, { 7, 2 }, 3 } };
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                const RunNodeQuery query = {
                        .run = 1, .new_jobs = true, .from = cases[i].from, .upto = cases[i].upto, .limit = 10
                };
                g_autoptr(GPtrArray) nodes = store_run_nodes(store, &query, &next, &error);

                g_assert_no_error(error);
                g_assert_cmpuint(nodes->len, ==, 1);
                g_assert_cmpuint(((RunNodeRecord *)nodes->pdata[0])->node, ==, cases[i].node);
        }
}

/* A retry is first stored as dropped, while what it keeps is copied: nobody sees it, a start does not load it, and its
 * key is free. Then it is shown. */
static void test_hidden(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(Batch) batch = batch_new(), show = batch_new();
        g_autoptr(GError) error = NULL;
        RunRecord *run = make_run(1, "ann", "k"), *shown;
        g_auto(StoreState) hidden = { 0 }, state = { 0 };

        run->dropped = true;
        batch_put(batch, RECORD_NEW_RUN, run);
        batch_put(batch, RECORD_RUN_NODE, make_kept(1, 3, 9));
        batch_put(batch, RECORD_RUN_CHILD, make_child(1, 0, 5, 3, 2));
        commit(store, batch);
        g_assert_null(store_run_by_id(store, run->id, false, NULL));
        g_assert_null(store_run_by_key(store, "ann", "k", NULL));
        g_assert_null(store_run_user_of(store, 9, &error));
        g_assert_true(store_load(store, &hidden, &error));
        g_assert_cmpuint(hidden.loaded[RECORD_RUN]->len, ==, 0);
        g_assert_cmpuint(hidden.loaded[RECORD_RUN_NODE]->len, ==, 0);
        g_assert_cmpuint(hidden.loaded[RECORD_RUN_CHILD]->len, ==, 0);
        shown = change_run(run, NODE_RUNNING, 0);
        shown->key = g_strdup("k");
        batch_put(show, RECORD_RUN, shown);
        commit(store, show);
        g_autoptr(RunRecord) by_key = store_run_by_key(store, "ann", "k", &error);
        g_assert_no_error(error);
        g_assert_cmpint(by_key->seq, ==, 1);
        g_assert_true(store_load(store, &state, &error));
        g_assert_cmpuint(state.loaded[RECORD_RUN]->len, ==, 1);
        g_assert_cmpuint(state.loaded[RECORD_RUN_NODE]->len, ==, 1);
        g_assert_cmpint(((RunNodeRecord *)state.loaded[RECORD_RUN_NODE]->pdata[0])->made_by, ==, 9);
}

/* A run of the version before retries is a first attempt. */
static void test_migration(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *path = g_build_filename(dir, "paddle.db", NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(Store) store = NULL;
        Conn conn = { 0 };
        int before = 0;
        gint64 next;

        while (!strstr(schema_migrations[before], "ADD COLUMN retry_of"))
                before++;
        g_assert_true(conn_open(&conn, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &error));
        g_assert_true(schema_migrate(&conn, schema_migrations, before, &error));
        (void)conn_exec(
                &conn,
                "INSERT INTO run VALUES (1, 'abcdefgh12345678', 'ann', 'p', 6, 10, 20, 3, 0, 0, 0, 0, NULL, 'm');"
                "INSERT INTO run_text VALUES (1, 't', '{}');"
                "INSERT INTO run_node VALUES (1, 2, 0, 3, 0, 6, 1, 0, 11, 12, 'm')",
                &error);
        g_assert_no_error(error);
        conn_close(&conn);
        store = open_store(dir);
        g_autoptr(RunRecord) run = store_run_by_id(store, "abcdefgh12345678", true, &error);
        g_assert_no_error(error);
        g_assert_true(run->attempt == 1 && run->retry_of == 0 && run->state == NODE_FAILED);
        g_assert_cmpstr(run->text, ==, "t");
        g_autoptr(GPtrArray) nodes =
                store_run_nodes(store, &(RunNodeQuery){ .run = 1, .limit = 10 }, &next, &error);
        g_assert_cmpuint(nodes->len, ==, 1);
        g_assert_cmpint(((RunNodeRecord *)nodes->pdata[0])->made_by, ==, 0);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/store/run/round-trip", test_round_trip);
        g_test_add_func("/store/run/change", test_change);
        g_test_add_func("/store/run/list", test_list);
        g_test_add_func("/store/run/artifacts", test_artifacts);
        g_test_add_func("/store/run/drop-artifacts", test_drop_artifacts);
        g_test_add_func("/store/run/pages", test_pages);
        g_test_add_func("/store/run/filters", test_filters);
        g_test_add_func("/store/run/plans", test_plans);
        g_test_add_func("/store/run/drop", test_drop);
        g_test_add_func("/store/run/expired", test_expired);
        g_test_add_func("/store/run/retry", test_retry);
        g_test_add_func("/store/run/hidden", test_hidden);
        g_test_add_func("/store/run/taken", test_taken);
        g_test_add_func("/store/run/migration", test_migration);
        return g_test_run();
}
