/* Schedules: what goes in comes out again, across a close and an open; their runs are found; numbers are not used again. */
#include "base/err.h"
#include "store/test/help.h"

static ScheduleRecord *make_schedule(gint64 seq, const char *user, const char *name)
{
        ScheduleRecord *schedule = g_new0(ScheduleRecord, 1);

        *schedule = (ScheduleRecord){ .seq = seq,
                                      .revision = 10 + seq,
                                      .user = g_strdup(user),
                                      .name = g_strdup(name),
                                      .note = seq == 1 ? g_strdup("of Monday") : NULL,
                                      .run_user = seq == 1 ? g_strdup("bob") : NULL,
                                      .pipeline = 7,
                                      .version = (int)seq,
                                      .fs = seq == 1 ? g_strdup("data") : NULL,
                                      .crontab = g_strdup("0 3 * * mon"),
                                      .start_at = seq == 1 ? 100 : 0,
                                      .end_at = seq == 1 ? 200 : 0,
                                      .concurrency = 3,
                                      .expire_s = 60,
                                      .policy = SCHEDULE_SKIP,
                                      .state = SCHEDULE_RUNNING,
                                      .catchup = seq == 1,
                                      .created = 1000 + seq,
                                      .updated = 2000 + seq,
                                      .next_at = 5000 + seq };
        return schedule;
}

static RunRecord *make_run(gint64 seq, gint64 schedule)
{
        RunRecord *run = g_new0(RunRecord, 1);

        *run = (RunRecord){ .seq = seq,
                            .user = g_strdup("ann"),
                            .name = g_strdup("nightly"),
                            .text = g_strdup(""),
                            .request = g_strdup("{}"),
                            .state = NODE_SKIPPED,
                            .attempt = 1,
                            .created = 4000,
                            .schedule = schedule,
                            .scheduled = schedule ? 3000 + seq : 0 };
        id_new(run->id);
        return run;
}

static void assert_same(const ScheduleRecord *got, const ScheduleRecord *want)
{
        g_assert_cmpint(got->seq, ==, want->seq);
        g_assert_cmpint(got->revision, ==, want->revision);
        g_assert_cmpstr(got->user, ==, want->user);
        g_assert_cmpstr(got->name, ==, want->name);
        g_assert_cmpstr(got->note, ==, want->note);
        g_assert_cmpstr(got->run_user, ==, want->run_user);
        g_assert_cmpint(got->pipeline, ==, want->pipeline);
        g_assert_cmpint(got->version, ==, want->version);
        g_assert_cmpstr(got->pipeline_name, ==, want->pipeline_name);
        g_assert_cmpstr(got->fs, ==, want->fs);
        g_assert_cmpstr(got->crontab, ==, want->crontab);
        g_assert_cmpint(got->start_at, ==, want->start_at);
        g_assert_cmpint(got->end_at, ==, want->end_at);
        g_assert_cmpint(got->concurrency, ==, want->concurrency);
        g_assert_cmpint(got->expire_s, ==, want->expire_s);
        g_assert_cmpint(got->policy, ==, want->policy);
        g_assert_cmpint(got->state, ==, want->state);
        g_assert_cmpint(got->catchup, ==, want->catchup);
        g_assert_cmpstr(got->message, ==, want->message);
        g_assert_cmpint(got->created, ==, want->created);
        g_assert_cmpint(got->updated, ==, want->updated);
        g_assert_cmpint(got->next_at, ==, want->next_at);
}

static void test_round_trip(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        Store *store = open_store(dir);
        g_autoptr(Batch) both = batch_new(), change = batch_new();
        g_autoptr(ScheduleRecord) first = make_schedule(1, "ann", "nightly"),
                                  second = make_schedule(2, "bob", "weekly");
        g_autoptr(ScheduleRecord) read = NULL, by_name = NULL;
        g_autoptr(GError) error = NULL;
        g_auto(StoreState) state = { 0 };

        batch_put(both, RECORD_SCHEDULE, schedule_record_copy(first));
        batch_put(both, RECORD_SCHEDULE, schedule_record_copy(second));
        commit(store, both);
        second->state = SCHEDULE_TERMINATED;
        second->message = g_strdup("stopped by bob");
        second->revision = second->updated = second->next_at = 9000;
        batch_put(change, RECORD_SCHEDULE, schedule_record_copy(second));
        commit(store, change);
        store_close(store);
        store = open_store(dir);
        g_assert_true(store_load(store, &state, &error));
        g_assert_no_error(error);
        g_assert_cmpint(state.last_schedule_seq, ==, 2);
        g_assert_cmpuint(state.loaded[RECORD_SCHEDULE]->len, ==, 2);
        assert_same(state.loaded[RECORD_SCHEDULE]->pdata[0], first);
        assert_same(state.loaded[RECORD_SCHEDULE]->pdata[1], second);
        read = store_schedule(store, 1, &error);
        assert_same(read, first);
        by_name = store_schedule_by_name(store, "bob", "weekly", &error);
        assert_same(by_name, second);
        g_assert_null(store_schedule_by_name(store, "ann", "weekly", &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        store_close(store);
}

/* It is of the queries, as long as the pipeline exists; a load has none. */
static void test_names_of_pipelines(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        Store *store = open_store(dir);
        g_autoptr(Batch) batch = batch_new(), gone = batch_new();
        const ScheduleQuery all = { .limit = 10 };
        PipelineRecord *pipeline = g_new0(PipelineRecord, 1);
        g_autoptr(ScheduleRecord) by_seq = NULL, by_name = NULL, without = NULL;
        g_autoptr(GPtrArray) page = NULL;
        gint64 next;

        *pipeline =
                (PipelineRecord){ .seq = 7, .user = g_strdup("ann"), .name = g_strdup("digits"), .made = 1 };
        batch_put(batch, RECORD_PIPELINE, pipeline);
        batch_put(batch, RECORD_SCHEDULE, make_schedule(1, "ann", "nightly"));
        commit(store, batch);
        by_seq = store_schedule(store, 1, NULL);
        g_assert_cmpstr(by_seq->pipeline_name, ==, "digits");
        by_name = store_schedule_by_name(store, "ann", "nightly", NULL);
        g_assert_cmpstr(by_name->pipeline_name, ==, "digits");
        page = store_schedules(store, &all, &next, NULL);
        g_assert_cmpstr(((ScheduleRecord *)page->pdata[0])->pipeline_name, ==, "digits");
        batch_drop(gone, RECORD_PIPELINE, copy_int(7));
        commit(store, gone);
        without = store_schedule(store, 1, NULL);
        g_assert_null(without->pipeline_name);
        store_close(store);
}

static guint count(Store *store, ScheduleQuery query)
{
        g_autoptr(GError) error = NULL;
        gint64 next;
        g_autoptr(GPtrArray) found = store_schedules(store, &query, &next, &error);

        g_assert_no_error(error);
        return found->len;
}

static void test_lists(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        Store *store = open_store(dir);
        g_autoptr(Batch) batch = batch_new(), gone = batch_new();
        g_autoptr(GPtrArray) page = NULL;
        const ScheduleQuery one = { .limit = 1 };
        g_auto(StoreState) state = { 0 };
        gint64 next;

        batch_put(batch, RECORD_SCHEDULE, make_schedule(1, "ann", "nightly"));
        batch_put(batch, RECORD_SCHEDULE, make_schedule(2, "bob", "weekly"));
        commit(store, batch);
        g_assert_cmpuint(count(store, (ScheduleQuery){ .limit = 10 }), ==, 2);
        g_assert_cmpuint(count(store, (ScheduleQuery){ .user = "ann", .limit = 10 }), ==, 1);
        g_assert_cmpuint(count(store, (ScheduleQuery){ .name = "weekly", .limit = 10 }), ==, 1);
        g_assert_cmpuint(count(store, (ScheduleQuery){ .pipeline = 7, .version = 2, .limit = 10 }), ==, 1);
        g_assert_cmpuint(count(store, (ScheduleQuery){ .states = 1u << SCHEDULE_SUCCESS, .limit = 10 }), ==,
                         0);
        page = store_schedules(store, &one, &next, NULL);
        g_assert_cmpuint(page->len, ==, 1);
        g_assert_cmpint(next, ==, 1);
        batch_drop(gone, RECORD_SCHEDULE, copy_int(2));
        commit(store, gone);
        g_assert_cmpuint(count(store, (ScheduleQuery){ .limit = 10 }), ==, 1);
        g_assert_true(store_load(store, &state, NULL));
        g_assert_cmpint(state.last_schedule_seq, ==, 2); /* the number is not used again */
        store_close(store);
}

/* In both directions, whoever owns them. */
static void test_runs(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        Store *store = open_store(dir);
        g_autoptr(Batch) batch = batch_new();

        for (gint64 seq = 1; seq <= 6; seq++)
                batch_put(batch, RECORD_NEW_RUN, make_run(seq, seq % 2 ? 5 : seq == 2 ? 4 : 0));
        commit(store, batch);
        for (int up = 0; up < 2; up++) {
                const RunQuery query = { .schedule = 5, .user = "bob", .oldest_first = up != 0, .limit = 10 };
                gint64 next;
                g_autoptr(GPtrArray) runs = store_runs(store, &query, &next, NULL);
                const RunRecord *run;

                g_assert_cmpuint(runs->len, ==, 3);
                g_assert_cmpint(next, ==, 0);
                run = runs->pdata[up ? 0 : 2];
                g_assert_cmpint(run->seq, ==, 1);
                g_assert_cmpint(run->schedule, ==, 5);
                g_assert_cmpint(run->scheduled, ==, 3001);
        }
        store_close(store);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/store/schedule/names of pipelines", test_names_of_pipelines);
        g_test_add_func("/store/schedule/round trip", test_round_trip);
        g_test_add_func("/store/schedule/lists", test_lists);
        g_test_add_func("/store/schedule/runs", test_runs);
        return g_test_run();
}
