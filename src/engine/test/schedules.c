/* Schedules in the engine: ticks, policies, the clock, restarts, disks that are full, what they protect. No runtime is connected:
 * jobs stay in their queue, and a run that is stopped ends at once. */
#include <string.h>

#include "base/err.h"
#include "engine/test/help.h"
#include "model/filesystem.h"
#include "store/test/faulty.h"

#define QUICK "name: quick\nentry_points:\n  a: {command: c, condition: '1 > 2'}\n"
#define SLOW "name: slow\nentry_points:\n  a: {command: c}\n"

enum { PATIENCE_S = 60, MINUTE_MS = 60 * 1000 };

/* ---- what the tests do ---- */

static House *open_house(void)
{
        House *house = house_new_cold();

        house->clock_ms = G_GINT64_CONSTANT(1772359230000); /* 2026-03-01 10:00:30 */
        house_open(house);
        return house;
}

typedef struct {
        gint64 seq;
        GError *error;
        int come; /* atomic */
} Answer;

static void note_pipeline(const PipelineRecord *pipeline, const PipelineVersion *version, const GError *error,
                          void *arg)
{
        Answer *answer = arg;

        answer->seq = pipeline ? pipeline->seq : 0;
        answer->error = error ? g_error_copy(error) : NULL;
        __atomic_store_n(&answer->come, 1, __ATOMIC_SEQ_CST);
}

static void note_schedule(const ScheduleRecord *schedule, const GError *error, void *arg)
{
        Answer *answer = arg;

        answer->seq = schedule ? schedule->seq : 0;
        answer->error = error ? g_error_copy(error) : NULL;
        __atomic_store_n(&answer->come, 1, __ATOMIC_SEQ_CST);
}

static gint64 store_pipeline_text(House *house, const char *user, const char *text)
{
        Answer answer = { 0 };

        engine_create_pipeline(house->engine, &(EnginePipeline){ .user = user, .by = user, .text = text },
                               note_pipeline, &answer);
        house_barrier(house);
        g_assert_no_error(answer.error);
        return answer.seq;
}

/* A worker compiles the text of a new schedule. */
static bool finish(House *house, Answer *answer, GError **error)
{
        do
                house_barrier(house);
        while (!__atomic_load_n(&answer->come, __ATOMIC_SEQ_CST));
        if (answer->error)
                g_propagate_error(error, g_steal_pointer(&answer->error));
        return answer->seq != 0;
}

static gint64 create(House *house, const ScheduleRecord *record, GError **error)
{
        const EngineSchedule schedule = { record, false };
        Answer answer = { 0 };

        engine_create_schedule(house->engine, &schedule, note_schedule, &answer);
        (void)finish(house, &answer, error);
        return answer.seq;
}

/* A schedule of ann's. */
static ScheduleRecord wish(gint64 pipeline, const char *crontab)
{
        return (ScheduleRecord){ .user = (char *)"ann",
                                 .name = (char *)"nightly",
                                 .pipeline = pipeline,
                                 .version = 1,
                                 .crontab = (char *)crontab,
                                 .catchup = true };
}

static gint64 create_ok(House *house, ScheduleRecord record)
{
        g_autoptr(GError) error = NULL;
        gint64 seq = create(house, &record, &error);

        g_assert_no_error(error);
        return seq;
}

static bool stop(House *house, gint64 seq, GError **error)
{
        Answer answer = { 0 };

        engine_stop_schedule(house->engine, seq, "ann", note_schedule, &answer);
        return finish(house, &answer, error);
}

static bool drop(House *house, gint64 seq, GError **error)
{
        Answer answer = { 0 };

        engine_delete_schedule(house->engine, seq, "ann", note_schedule, &answer);
        return finish(house, &answer, error);
}

static bool drop_pipeline(House *house, gint64 seq, int version, GError **error)
{
        Answer answer = { 0 };

        engine_delete_pipeline(house->engine, seq, version, "ann", note_pipeline, &answer);
        return finish(house, &answer, error);
}

/* Oldest first. */
static GPtrArray *runs_of(House *house, gint64 schedule)
{
        const RunQuery query = { .schedule = schedule, .oldest_first = true, .limit = 1000 };
        g_autoptr(GError) error = NULL;
        gint64 next;
        GPtrArray *runs = store_runs(house->store, &query, &next, &error);

        g_assert_no_error(error);
        return runs;
}

/* "-120:skipped -60:running": the ticks relative to `zero` in s, and the states of their runs. */
static char *states_of(House *house, gint64 schedule, gint64 zero)
{
        g_autoptr(GPtrArray) runs = runs_of(house, schedule);
        GString *text = g_string_new(NULL);

        for (guint i = 0; i < runs->len; i++) {
                const RunRecord *run = runs->pdata[i];

                g_string_append_printf(text, "%s%d:%s", i ? " " : "", (int)((run->scheduled - zero) / 1000),
                                       node_state_name(run_record_state(run)));
        }
        return g_string_free(text, FALSE);
}

/* Why runs ended, for who reads a test that failed. */
static void tell_reasons(House *house, gint64 schedule)
{
        g_autoptr(GPtrArray) runs = runs_of(house, schedule);

        for (guint i = 0; i < MIN(runs->len, 3); i++) {
                const RunRecord *run = runs->pdata[i];

                g_printerr("run %s is %s: %s\n", run->id, node_state_name(run_record_state(run)),
                           run->message ? run->message : "no reason");
        }
}

/* A worker compiles the text; so it takes a while. */
static void wait_states(House *house, gint64 schedule, gint64 zero, const char *want)
{
        gint64 deadline = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;

        for (;;) {
                g_autofree char *is = states_of(house, schedule, zero);

                if (strcmp(is, want) == 0)
                        break;
                if (g_get_monotonic_time() > deadline) {
                        tell_reasons(house, schedule);
                        g_error("the runs are '%s', not '%s'", is, want);
                }
                house_barrier(house);
        }
}

static ScheduleRecord *read_one(House *house, gint64 seq)
{
        g_autoptr(GError) error = NULL;
        ScheduleRecord *record;

        house_barrier(house);
        record = store_schedule(house->store, seq, &error);
        g_assert_no_error(error);
        return record;
}

static void wait_state(House *house, gint64 seq, ScheduleState state)
{
        gint64 deadline = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;

        for (;;) {
                g_autoptr(ScheduleRecord) record = read_one(house, seq);

                if (record->state == state)
                        return;
                g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        }
}

static void note_run(const RunRecord *run, bool repeated, const GError *error, void *arg)
{
}

/* Ends the oldest run that has not ended. */
static void end_oldest(House *house, gint64 schedule)
{
        g_autoptr(GPtrArray) runs = runs_of(house, schedule);

        for (guint i = 0; i < runs->len; i++) {
                const RunRecord *run = runs->pdata[i];

                if (run->state == NODE_RUNNING) {
                        engine_stop_run(house->engine, run->id, true, "ann", note_run, NULL);
                        house_barrier(house);
                        return;
                }
        }
        tell_reasons(house, schedule);
        g_error("no run of the schedule runs");
}

/* ---- tests ---- */

/* C129: the first tick after now, or after the start. */
static void test_first(void)
{
        House *house = open_house();
        gint64 pipeline = store_pipeline_text(house, "ann", QUICK), zero = house->clock_ms;
        ScheduleRecord now = wish(pipeline, "TZ=UTC * */3 * * *"), later = now;
        gint64 first = create_ok(house, now), second;
        g_autoptr(ScheduleRecord) record = read_one(house, first), other = NULL;

        g_assert_cmpint(record->next_at, ==, zero + 2 * 60 * MINUTE_MS - 30 * 1000); /* 12:00 */
        later.name = (char *)"later";
        later.start_at = zero + 24 * 60 * MINUTE_MS; /* tomorrow, 10:00:30 */
        second = create_ok(house, later);
        other = read_one(house, second);
        g_assert_cmpint(other->next_at, ==, zero + 26 * 60 * MINUTE_MS - 30 * 1000);
        house_free(house);
}

/* C125 to C127, C136, R-36. */
static void test_refused(void)
{
        House *house = open_house();
        gint64 pipeline = store_pipeline_text(house, "ann", QUICK), now = house->clock_ms;
        char name[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxy", note[258];
        ScheduleRecord cases[15];
        int codes[G_N_ELEMENTS(cases)];
        g_autoptr(GError) error = NULL;

        memset(note, 'x', 257);
        note[257] = '\0';
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                cases[i] = wish(pipeline, "* * * * *");
                codes[i] = ERR_INVALID;
        }
        cases[0].name = (char *)"-asdf";
        cases[1].name = name; /* 51 characters */
        cases[2].note = note;
        cases[3].concurrency = -1;
        cases[4].expire_s = -1;
        cases[5].start_at = now;
        cases[6].end_at = now;
        cases[7].start_at = now + 2000;
        cases[7].end_at = now + 1000;
        cases[8].crontab = (char *)"* * * sdf asd";
        cases[9].crontab = (char *)"0 0 31 2 *"; /* */
        cases[10].crontab = (char *)", * * * *";
        cases[11].name = (char *)"a";
        cases[12].version = 2;
        codes[12] = ERR_NOT_FOUND;
        cases[13].pipeline = pipeline + 1;
        codes[13] = ERR_NOT_FOUND;
        (void)create_ok(house, wish(pipeline, "* * * * *"));
        codes[14] = ERR_EXISTS;
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_assert_cmpint(create(house, &cases[i], &error), ==, 0);
                g_test_message("%zu: %s", i, error->message);
                g_assert_true(err_is(error, codes[i]));
                g_clear_error(&error);
        }
        cases[14].user = (char *)"bob"; /* another user's name */
        (void)create_ok(house, cases[14]);
        house_free(house);
}

/* Each tick has one run, whose record says where it comes from. */
static void test_ticks(void)
{
        House *house = open_house();
        gint64 pipeline = store_pipeline_text(house, "ann", QUICK), zero = house->clock_ms;
        ScheduleRecord wanted = wish(pipeline, "@every 1s");
        g_autoptr(GPtrArray) runs = NULL;
        g_autoptr(ScheduleRecord) record = NULL;
        const RunRecord *run;
        gint64 seq;

        wanted.note = (char *)"each second";
        seq = create_ok(house, wanted);
        house_pass(house, 1000);
        wait_states(house, seq, zero, "1:succeeded");
        house_pass(house, 999);
        wait_states(house, seq, zero, "1:succeeded");
        house_pass(house, 1);
        wait_states(house, seq, zero, "1:succeeded 2:succeeded");
        runs = runs_of(house, seq);
        run = runs->pdata[0];
        g_assert_cmpstr(run->name, ==, "nightly");
        g_assert_cmpstr(run->user, ==, "ann");
        g_assert_cmpstr(run->note, ==, "each second");
        g_assert_cmpstr(run->source, ==, "ppl-000001-1");
        g_assert_cmpint(run->schedule, ==, seq);
        record = read_one(house, seq);
        g_assert_cmpint(record->next_at, ==, zero + 3000);
        house_free(house);
}

/* The clock is set back a day, and forth again: nothing is repeated, nothing is left out. */
static void test_clock(void)
{
        House *house = open_house();
        gint64 pipeline = store_pipeline_text(house, "ann", QUICK), zero = house->clock_ms;
        gint64 seq = create_ok(house, wish(pipeline, "@every 10m"));

        house_pass(house, 10 * MINUTE_MS);
        wait_states(house, seq, zero, "600:succeeded");
        house_pass(house, -24 * 60 * MINUTE_MS);
        house_pass(house, 23 * 60 * MINUTE_MS);
        wait_states(house, seq, zero, "600:succeeded");
        house_pass(house, 90 * MINUTE_MS);
        wait_states(house, seq, zero, "600:succeeded 1200:succeeded 1800:succeeded 2400:succeeded");
        house_free(house);
}

static void wait_message(House *house, gint64 seq, const char *want)
{
        gint64 deadline = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;

        for (;;) {
                g_autoptr(ScheduleRecord) record = read_one(house, seq);

                if (want ? record->message && strstr(record->message, want) : !record->message)
                        return;
                if (g_get_monotonic_time() > deadline)
                        g_error("the message is '%s', not '%s'", record->message, want);
        }
}

/* A schedule whose next tick is far, because the clock was set back, says so until it ticks; also if the clock was set back while
 * the server was down. */
static void test_clock_says_so(void)
{
        House *house = open_house();
        gint64 pipeline = store_pipeline_text(house, "ann", QUICK), zero = house->clock_ms;
        ScheduleRecord wanted = wish(pipeline, "TZ=Europe/Berlin */10 * * * *"), yearly = wanted;
        gint64 seq = create_ok(house, wanted), other;

        yearly.name = (char *)"yearly";
        yearly.crontab = (char *)"0 0 1 1 *"; /* no tick is left out */
        other = create_ok(house, yearly);
        house_pass(house, 10 * MINUTE_MS);
        wait_states(house, seq, zero, "570:succeeded");
        house_pass(house, -MINUTE_MS / 2);
        wait_message(house, seq, NULL); /* too little to be worth a message */
        house_pass(house, -24 * 60 * MINUTE_MS);
        wait_message(house, seq, "the next run is at 2026-03-01 11:20:00 +0100");
        wait_message(house, other, NULL);
        house_pass(house, 24 * 60 * MINUTE_MS);
        wait_message(house, seq, "set back");
        house_pass(house, 10 * MINUTE_MS);
        wait_states(house, seq, zero, "570:succeeded 1170:succeeded");
        wait_message(house, seq, NULL);
        house_close(house);
        house->clock_ms -= 60 * MINUTE_MS;
        house_open(house);
        wait_message(house, seq, "the next run is at 2026-03-01 11:30:00 +0100");
        house_free(house);
}

/* The message survives a commit that failed. */
static void test_clock_full_disk(void)
{
        House *house;
        gint64 seq;

        faulty_install();
        house = open_house();
        seq = create_ok(house, wish(store_pipeline_text(house, "ann", QUICK), "* * * * *"));
        faulty_set(FAULT_FULL, "-wal", 1, false);
        house_pass(house, -24 * 60 * MINUTE_MS);
        while (faulty_count() == 0)
                house_pass(house, 1);
        faulty_set(FAULT_NONE, NULL, 0, false);
        wait_message(house, seq, "set back");
        house_free(house);
        faulty_remove();
}

/* Without catchup, after the clock was set back: ticks of before the start, as the clock was then, are no missed ones. */
static void test_clock_without_catchup(void)
{
        House *house = open_house();
        gint64 zero = house->clock_ms, seq;
        ScheduleRecord wanted = wish(store_pipeline_text(house, "ann", QUICK), "@every 10m");

        wanted.catchup = false;
        house_pass(house, -24 * 60 * MINUTE_MS);
        zero -= 24 * 60 * MINUTE_MS;
        seq = create_ok(house, wanted);
        house_pass(house, 10 * MINUTE_MS);
        wait_states(house, seq, zero, "600:succeeded");
        house_pass(house, 10 * MINUTE_MS);
        wait_states(house, seq, zero, "600:succeeded 1200:succeeded");
        house_free(house);
}

/* Each minute, while a run takes longer: the three policies. */
static void test_policies(void)
{
        static const struct {
                SchedulePolicy policy;
                const char *before, *after; /* the end of a run */
        } cases[] = {
                { SCHEDULE_SUSPEND, "30:running 90:running", "30:terminated 90:running 150:running" },
                { SCHEDULE_SKIP, "30:running 90:running 150:skipped 210:skipped",
                  "30:terminated 90:running 150:skipped 210:skipped" },
                { SCHEDULE_REPLACE, "30:terminated 90:terminated 150:running 210:running",
                  "30:terminated 90:terminated 150:terminated 210:running" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                House *house = open_house();
                gint64 zero = house->clock_ms, seq;
                ScheduleRecord wanted = wish(store_pipeline_text(house, "ann", SLOW), "* * * * *");

                wanted.concurrency = 2;
                wanted.policy = (guint8)cases[i].policy;
                seq = create_ok(house, wanted);
                for (int n = 0; n < 4; n++) {
                        house_pass(house, MINUTE_MS);
                        if (n == 0)
                                wait_states(house, seq, zero, "30:running");
                        if (n == 1)
                                wait_states(house, seq, zero, "30:running 90:running");
                        if (n == 2 && cases[i].policy == SCHEDULE_REPLACE)
                                wait_states(house, seq, zero, "30:terminated 90:running 150:running");
                }
                wait_states(house, seq, zero, cases[i].before);
                end_oldest(house, seq);
                wait_states(house, seq, zero, cases[i].after);
                house_free(house);
        }
}

static void disable_ann(House *house, bool disabled)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *patch = g_strdup_printf("{'disabled':%s}", disabled ? "true" : "false");

        g_assert_true(house_patch(house, KIND_USER, "ann", patch, &error));
        g_assert_no_error(error);
}

static gint64 create_replacing(House *house)
{
        ScheduleRecord wanted = wish(store_pipeline_text(house, "ann", SLOW), "* * * * *");

        wanted.concurrency = 1;
        wanted.policy = SCHEDULE_REPLACE;
        return create_ok(house, wanted);
}

/* A run that has to wait replaces no other one. */
static void test_replace_held(void)
{
        House *house = open_house();
        gint64 zero = house->clock_ms, seq;

        disable_ann(house, false);
        seq = create_replacing(house);
        house_pass(house, MINUTE_MS);
        wait_states(house, seq, zero, "30:running");
        disable_ann(house, true);
        house_pass(house, MINUTE_MS);
        wait_message(house, seq, "user 'ann' is disabled");
        wait_states(house, seq, zero, "30:running");
        disable_ann(house, false);
        house_pass(house, 5000);
        wait_states(house, seq, zero, "30:terminated 90:running");
        house_free(house);
}

static bool is_full; /* atomic */

static bool may_write(const char *user, void *arg, GError **error)
{
        return !__atomic_load_n(&is_full, __ATOMIC_SEQ_CST) || err_set(error, ERR_QUOTA, "the disk is full");
}

/* Nor does one that cannot begin. */
static void test_replace_refused(void)
{
        House *house = house_new_cold();
        gint64 zero, seq;

        house->clock_ms = G_GINT64_CONSTANT(1772359230000);
        house->config.may_write = may_write;
        house_open(house);
        zero = house->clock_ms;
        seq = create_replacing(house);
        house_pass(house, MINUTE_MS);
        wait_states(house, seq, zero, "30:running");
        __atomic_store_n(&is_full, true, __ATOMIC_SEQ_CST);
        house_pass(house, MINUTE_MS);
        wait_states(house, seq, zero, "30:running 90:failed");
        __atomic_store_n(&is_full, false, __ATOMIC_SEQ_CST);
        house_pass(house, MINUTE_MS);
        wait_states(house, seq, zero, "30:terminated 90:failed 150:running");
        house_free(house);
}

/* The end of one and the begin of the other are one commit. */
static void test_replace_full_disk(void)
{
        House *house;
        gint64 zero, seq;

        faulty_install();
        house = open_house();
        zero = house->clock_ms;
        seq = create_replacing(house);
        house_pass(house, MINUTE_MS);
        wait_states(house, seq, zero, "30:running");
        faulty_set(FAULT_FULL, "-wal", 1, false);
        house_pass(house, MINUTE_MS);
        while (faulty_count() == 0)
                house_pass(house, 1);
        wait_states(house, seq, zero, "30:running");
        faulty_set(FAULT_NONE, NULL, 0, false);
        wait_states(house, seq, zero, "30:terminated 90:running");
        house_free(house);
        faulty_remove();
}

/* C131: the end. */
static void test_end(void)
{
        House *house = open_house();
        gint64 zero = house->clock_ms, seq;
        ScheduleRecord wanted = wish(store_pipeline_text(house, "ann", QUICK), "* * * * *");
        g_autoptr(GError) error = NULL;

        wanted.end_at = zero + 100 * 1000;
        seq = create_ok(house, wanted);
        g_assert_false(drop(house, seq, &error)); /* it runs */
        g_assert_true(err_is(error, ERR_CONFLICT));
        g_clear_error(&error);
        house_pass(house, 10 * MINUTE_MS);
        wait_state(house, seq, SCHEDULE_SUCCESS);
        wait_states(house, seq, zero, "30:succeeded 90:succeeded");
        g_assert_false(stop(house, seq, &error));
        g_assert_true(err_is(error, ERR_CONFLICT));
        g_clear_error(&error);
        g_assert_true(drop(house, seq, &error));
        wait_states(house, seq, zero, "30:succeeded 90:succeeded"); /* its runs stay */
        g_assert_false(drop(house, seq, &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        house_free(house);
}

/* The server was down for five minutes; ticks that are late by more than two are skipped. R-37 without catchup. */
static void test_down(void)
{
        House *house = open_house();
        gint64 zero = house->clock_ms, first, second, pipeline = store_pipeline_text(house, "ann", QUICK);
        ScheduleRecord wanted = wish(pipeline, "* * * * *"), fresh = wanted;

        wanted.expire_s = 120;
        first = create_ok(house, wanted);
        fresh.name = (char *)"fresh";
        fresh.catchup = false;
        second = create_ok(house, fresh);
        house_pass(house, MINUTE_MS);
        wait_states(house, first, zero, "30:succeeded");
        wait_states(house, second, zero, "30:succeeded");
        house_close(house);
        house->clock_ms += 4 * MINUTE_MS;
        house_open(house);
        wait_states(house, first, zero, "30:succeeded 90:skipped 150:skipped 210:succeeded 270:succeeded");
        house_pass(house, MINUTE_MS);
        wait_states(house, second, zero, "30:succeeded 330:succeeded");
        house_pass(house, 5 * MINUTE_MS);
        wait_states(house, second, zero, "30:succeeded 330:succeeded 630:succeeded");
        house_free(house);
}

/* A restart between ticks, with runs that have not ended: they still count. */
static void test_restart(void)
{
        House *house = open_house();
        gint64 zero = house->clock_ms, seq;
        ScheduleRecord wanted = wish(store_pipeline_text(house, "ann", SLOW), "* * * * *");

        wanted.concurrency = 1;
        seq = create_ok(house, wanted);
        for (int i = 0; i < 3; i++) {
                house_pass(house, MINUTE_MS);
                wait_states(house, seq, zero, "30:running");
                house_close(house);
                house_open(house);
                house_barrier(house);
        }
        end_oldest(house, seq);
        wait_states(house, seq, zero, "30:terminated 90:running");
        house_free(house);
}

/* A full disk at a tick: no run, no next tick; later both. */
static void test_full_disk(void)
{
        House *house;
        gint64 zero, seq;

        faulty_install();
        house = open_house();
        zero = house->clock_ms;
        seq = create_ok(house, wish(store_pipeline_text(house, "ann", QUICK), "* * * * *"));
        faulty_set(FAULT_FULL, "-wal", 1, false);
        house_pass(house, MINUTE_MS);
        while (faulty_count() == 0)
                house_pass(house, 1);
        wait_states(house, seq, zero, "");
        faulty_set(FAULT_NONE, NULL, 0, false);
        wait_states(house, seq, zero, "30:succeeded");
        house_pass(house, MINUTE_MS);
        wait_states(house, seq, zero, "30:succeeded 90:succeeded");
        house_free(house);
        faulty_remove();
}

static void refuse_for_space(bool done, GError **error)
{
        g_assert_false(done);
        g_assert_true(err_is(*error, ERR_NO_SPACE));
        g_clear_error(error);
}

/* A commit that fails leaves the schedules as they were: those that it creates, stops and deletes. */
static void test_commands_full_disk(void)
{
        House *house;
        gint64 pipeline, running, stopped;
        ScheduleRecord wanted, other;
        g_autoptr(GError) error = NULL;
        g_autoptr(ScheduleRecord) record = NULL;

        faulty_install();
        house = open_house();
        pipeline = store_pipeline_text(house, "ann", QUICK);
        wanted = other = wish(pipeline, "0 0 1 1 *");
        other.name = (char *)"other";
        running = create_ok(house, wanted);
        stopped = create_ok(house, other);
        g_assert_true(stop(house, stopped, &error));
        other.name = (char *)"third";
        faulty_set(FAULT_FULL, "-wal", 1, false);
        refuse_for_space(create(house, &other, &error) != 0, &error);
        refuse_for_space(stop(house, running, &error), &error);
        refuse_for_space(drop(house, stopped, &error), &error);
        faulty_set(FAULT_NONE, NULL, 0, false);
        record = read_one(house, running);
        g_assert_cmpint(record->state, ==, SCHEDULE_RUNNING);
        (void)create_ok(house, other); /* the name was not taken */
        g_assert_cmpint(create(house, &wanted, &error), ==, 0);
        g_assert_true(err_is(error, ERR_EXISTS));
        g_clear_error(&error);
        g_assert_true(drop(house, stopped, &error));
        g_assert_true(stop(house, running, &error));
        g_assert_true(drop(house, running, &error));
        (void)create_ok(house, wanted);
        house_free(house);
        faulty_remove();
}

/* A long backlog goes in small parts, beside which others have their turn. */
static void test_backlog(void)
{
        House *house = open_house();
        gint64 zero = house->clock_ms, pipeline = store_pipeline_text(house, "ann", QUICK), first, second;
        ScheduleRecord wanted = wish(pipeline, "@every 1s"), other = wish(pipeline, "@every 400s");
        g_autoptr(GPtrArray) runs = NULL;

        wanted.expire_s = 100;
        wanted.concurrency = 1;
        wanted.policy = SCHEDULE_SKIP;
        other.name = (char *)"other";
        first = create_ok(house, wanted);
        second = create_ok(house, other);
        house_pass(house, 400 * 1000);
        wait_states(house, second, zero, "400:succeeded");
        do {
                g_clear_pointer(&runs, g_ptr_array_unref);
                house_barrier(house);
                runs = runs_of(house, first);
        } while (runs->len < 400);
        for (guint i = 0; i < 400; i++)
                g_assert_cmpint(((const RunRecord *)runs->pdata[i])->scheduled, ==, zero + (i + 1) * 1000);
        house_free(house);
}

/* What a running schedule uses stays. */
static void test_protection(void)
{
        House *house = open_house();
        gint64 pipeline = store_pipeline_text(house, "ann", QUICK), seq;
        g_autoptr(GError) error = NULL;
        Answer answer = { 0 };

        engine_update_pipeline(house->engine, pipeline,
                               &(EnginePipeline){ .user = "ann", .by = "ann", .text = QUICK }, note_pipeline,
                               &answer);
        g_assert_true(finish(house, &answer, &error));
        seq = create_ok(house, wish(pipeline, "* * * * *"));
        for (int version = 0; version < 2; version++) {
                g_assert_false(drop_pipeline(house, pipeline, version, &error));
                g_assert_true(err_is(error, ERR_CONFLICT));
                g_assert_nonnull(strstr(error->message, "schedule 'nightly'"));
                g_clear_error(&error);
        }
        g_assert_true(drop_pipeline(house, pipeline, 2, &error)); /* it does not use this one */
        g_assert_true(stop(house, seq, &error));
        g_assert_true(drop_pipeline(house, pipeline, 0, &error));
        house_free(house);
}

#define MOUNTING                                                                                             \
        "name: p\nfs_options: {main_fs: {name: main}, extra_fs: [{name: extra}]}\n"                          \
        "entry_points:\n  a: {command: c, condition: '1 > 2', artifacts: {output: [o]}}\n"

/* A schedule needs its file systems, and keeps them while it runs. If one cannot be used any more, the runs fail and say why, and
 * the schedule goes on. */
static void test_lost_file_system(void)
{
        static const char *const names[] = { "main", "extra" };
        House *house = open_house();
        gint64 zero = house->clock_ms, seq, pipeline;
        ScheduleRecord wanted;
        g_autoptr(GPtrArray) runs = NULL;
        g_autoptr(GError) error = NULL;

        disable_ann(house, false);
        pipeline = store_pipeline_text(house, "ann", MOUNTING);
        wanted = wish(pipeline, "* * * * *");
        for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autoptr(Object) filesystem = (Object *)filesystem_new("ann", names[i]);

                g_assert_cmpint(create(house, &wanted, &error), ==, 0);
                g_assert_true(err_is(error, ERR_INVALID));
                g_assert_nonnull(strstr(error->message, names[i]));
                g_clear_error(&error);
                ((Filesystem *)filesystem)->url = g_strdup("local://srv/data");
                (void)house_put(house, filesystem, &error);
                g_assert_no_error(error);
        }
        seq = create_ok(house, wanted);
        house_close(house);
        house_open(house);
        for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *key = filesystem_key("ann", names[i]);

                g_assert_false(house_drop(house, KIND_FILESYSTEM, key, &error));
                g_assert_nonnull(strstr(error->message, "used by schedule 'nightly'"));
                g_clear_error(&error);
        }
        g_assert_true(house_patch(house, KIND_FILESYSTEM, "ann/main", "{'read_only':true}", &error));
        house_pass(house, MINUTE_MS);
        wait_states(house, seq, zero, "30:failed");
        runs = runs_of(house, seq);
        g_assert_nonnull(strstr(((const RunRecord *)runs->pdata[0])->message, "read-only"));
        g_assert_true(house_patch(house, KIND_FILESYSTEM, "ann/main", "{'read_only':false}", &error));
        house_pass(house, MINUTE_MS);
        wait_states(house, seq, zero, "30:failed 90:succeeded");
        g_assert_true(stop(house, seq, &error));
        g_assert_true(house_drop(house, KIND_FILESYSTEM, "ann/extra", &error));
        house_free(house);
}

/* Too many runs of a user: ticks wait, and say why. */
static void test_limit(void)
{
        House *house = open_house();
        gint64 zero = house->clock_ms, seq;
        ScheduleRecord wanted = wish(store_pipeline_text(house, "ann", SLOW), "@every 1s");
        g_autoptr(GPtrArray) runs = NULL;
        g_autoptr(ScheduleRecord) record = NULL, after = NULL;

        seq = create_ok(house, wanted);
        house_pass(house, 101 * 1000);
        do {
                g_clear_pointer(&record, schedule_record_free);
                record = read_one(house, seq);
        } while (!record->message);
        g_assert_nonnull(strstr(record->message, "100 runs"));
        g_assert_cmpint(record->next_at, ==, zero + 101 * 1000);
        end_oldest(house, seq);
        house_pass(house, 5000);
        do {
                g_clear_pointer(&runs, g_ptr_array_unref);
                house_barrier(house);
                runs = runs_of(house, seq);
        } while (runs->len < 101);
        g_assert_cmpint(((const RunRecord *)runs->pdata[100])->scheduled, ==, zero + 101 * 1000);
        house_free(house);
}

/* Each tick takes one from its owner's rate, a skipped one, too. Above it ticks wait. */
static void test_rate(void)
{
        House *house = house_new_cold();
        gint64 zero, seq, of_root;
        ScheduleRecord wanted, other;

        house->config.schedule_rate = 3;
        house_open(house);
        zero = house->clock_ms;
        wanted = wish(store_pipeline_text(house, "ann", SLOW), "@every 1s");
        wanted.concurrency = 1;
        wanted.policy = SCHEDULE_SKIP;
        seq = create_ok(house, wanted);
        other = wanted;
        other.user = (char *)"root"; /* administrators have no such limit */
        other.pipeline = store_pipeline_text(house, "root", SLOW);
        of_root = create_ok(house, other);
        house_pass(house, 6 * 1000);
        wait_states(house, of_root, zero, "1:running 2:skipped 3:skipped 4:skipped 5:skipped 6:skipped");
        wait_message(house, seq, "3 runs a minute");
        wait_states(house, seq, zero, "1:running 2:skipped 3:skipped");
        house_pass(house, 20 * 1000); /* for one of them */
        wait_states(house, seq, zero, "1:running 2:skipped 3:skipped 4:skipped");
        wait_message(house, seq, "3 runs a minute");
        house_free(house);
}

typedef struct {
        guint made, refused;
} Tally;

static void note_tally(const ScheduleRecord *schedule, const GError *error, void *arg)
{
        Tally *tally = arg;

        g_assert_true(schedule || err_is(error, ERR_QUOTA));
        __atomic_add_fetch(&tally->made, schedule != NULL, __ATOMIC_SEQ_CST);
        __atomic_add_fetch(&tally->refused, schedule == NULL, __ATOMIC_SEQ_CST);
}

/* One user cannot take all the schedules that the server may have. */
static void test_many(void)
{
        House *house = open_house();
        ScheduleRecord wanted = wish(store_pipeline_text(house, "ann", QUICK), "0 0 1 1 *");
        const EngineSchedule schedule = { &wanted, false };
        Tally tally = { 0 };

        for (int i = 0; i < 1005; i++) {
                g_autofree char *name = g_strdup_printf("s_%d", i);

                wanted.name = name;
                engine_create_schedule(house->engine, &schedule, note_tally, &tally);
                while (__atomic_load_n(&tally.made, __ATOMIC_SEQ_CST) +
                               __atomic_load_n(&tally.refused, __ATOMIC_SEQ_CST) <=
                       (guint)i)
                        house_barrier(house);
        }
        g_assert_cmpuint(tally.made, ==, 1000);
        g_assert_cmpuint(tally.refused, ==, 5);
        wanted.name = (char *)"other";
        wanted.user = (char *)"bob";
        (void)create_ok(house, wanted);
        house_free(house);
}

/* The queue that the schedule names is that of steps that name none. */
static void test_queue(void)
{
        static const char *const queues[] = { NULL, "other" };
        House *house = open_house();
        gint64 pipeline = store_pipeline_text(house, "ann", SLOW);

        for (gsize i = 0; i < G_N_ELEMENTS(queues); i++) {
                g_autoptr(GError) error = NULL;
                g_autofree char *name = g_strdup_printf("schedule_%zu", i);
                ScheduleRecord wanted = wish(pipeline, "* * * * *");
                g_autoptr(RunRecord) run = NULL;
                g_autoptr(GPtrArray) runs = NULL;
                g_autoptr(json_t) request = NULL;
                gint64 seq;

                wanted.name = name;
                wanted.queue = (char *)queues[i];
                seq = create_ok(house, wanted);
                house_close(house);
                house_open(house);
                house_pass(house, MINUTE_MS);
                do {
                        g_clear_pointer(&runs, g_ptr_array_unref);
                        house_barrier(house);
                        runs = runs_of(house, seq);
                } while (runs->len == 0);
                run = store_run_by_id(house->store, ((const RunRecord *)runs->pdata[0])->id, true, &error);
                g_assert_no_error(error);
                request = json_loads(run->request, 0, NULL);
                g_assert_cmpstr(json_string_value(json_object_get(request, "queue_default")), ==, queues[i]);
        }
        house_free(house);
}

/* The owner's runs take too much in the store: no more of them, also no skipped ones. */
static void test_full_store(void)
{
        House *house = house_new_cold();
        gint64 zero, seq;
        g_autoptr(ScheduleRecord) record = NULL;

        house->config.max_run_bytes = 1; /* the first run takes more */
        house_open(house);
        zero = house->clock_ms;
        seq = create_ok(house, wish(store_pipeline_text(house, "ann", QUICK), "@every 1s"));
        house_pass(house, 1000);
        wait_states(house, seq, zero, "1:succeeded");
        house_pass(house, 10 * 1000);
        do {
                g_clear_pointer(&record, schedule_record_free);
                record = read_one(house, seq);
        } while (!record->message);
        g_assert_nonnull(strstr(record->message, "of the server's database"));
        g_assert_cmpint(record->next_at, ==, zero + 2000);
        wait_states(house, seq, zero, "1:succeeded");
        house_free(house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/engine/schedules/first", test_first);
        g_test_add_func("/engine/schedules/refused", test_refused);
        g_test_add_func("/engine/schedules/ticks", test_ticks);
        g_test_add_func("/engine/schedules/clock", test_clock);
        g_test_add_func("/engine/schedules/clock-says-so", test_clock_says_so);
        g_test_add_func("/engine/schedules/clock-full-disk", test_clock_full_disk);
        g_test_add_func("/engine/schedules/clock-without-catchup", test_clock_without_catchup);
        g_test_add_func("/engine/schedules/policies", test_policies);
        g_test_add_func("/engine/schedules/replace-held", test_replace_held);
        g_test_add_func("/engine/schedules/replace-refused", test_replace_refused);
        g_test_add_func("/engine/schedules/replace-full-disk", test_replace_full_disk);
        g_test_add_func("/engine/schedules/end", test_end);
        g_test_add_func("/engine/schedules/down", test_down);
        g_test_add_func("/engine/schedules/restart", test_restart);
        g_test_add_func("/engine/schedules/full-disk", test_full_disk);
        g_test_add_func("/engine/schedules/commands-full-disk", test_commands_full_disk);
        g_test_add_func("/engine/schedules/backlog", test_backlog);
        g_test_add_func("/engine/schedules/protection", test_protection);
        g_test_add_func("/engine/schedules/lost-file-system", test_lost_file_system);
        g_test_add_func("/engine/schedules/limit", test_limit);
        g_test_add_func("/engine/schedules/rate", test_rate);
        g_test_add_func("/engine/schedules/many", test_many);
        g_test_add_func("/engine/schedules/queue", test_queue);
        g_test_add_func("/engine/schedules/full-store", test_full_store);
        return g_test_run();
}
