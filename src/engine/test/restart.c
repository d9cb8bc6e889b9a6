/* Starts of the engine: whatever it was doing when it ended, it finds its jobs, compares what should run with
 * what the runtime reports, and goes on. */
#include <string.h>

#include "engine/test/help.h"

#define ONE "{'name':'a','command':['true'],'roles':[{'name':'worker','replicas':1,'cpu':'1','gpus':1}]%s}"
#define NOTE "disk quota: 'ann' holds too much"
#define PS                                                                                                   \
        "{'name':'d','command':['t'],'roles':[{'name':'pserver','replicas':1,'cpu':'1'},{'name':'trainer','" \
        "replicas':1,"                                                                                       \
        "'cpu':'1'}]}"

typedef struct {
        const char *name;
        const char *more; /* of the specification */
        bool unprepared;
        const char *before;  /* what happens before the end, a letter each, see act() */
        const char *reports; /* what the runtime reports before it is synced: s(tarted) e(xited 0) f(ailed: 1)
                                l(ost), or "" */
        bool reboot;
        JobState state;                       /* after it is synced */
        int starts, stops, forgets, prepares; /* asked for after it is synced, of the first attempt */
} Restart;

static const Restart restarts[] = {
        { "queued, environment being built", "", true, "", "", false, JOB_QUEUED, 0, 0, 0, 1 },
        { "intended, never ran", "", false, "", "", false, JOB_STARTING, 1, 0, 0, 0 },
        { "intended, runs", "", false, "", "s", false, JOB_RUNNING, 0, 0, 0, 0 },
        { "intended, has ended", "", false, "", "e", false, JOB_SUCCEEDED, 0, 0, 1, 0 },
        { "running, runs", "", false, "s", "s", false, JOB_RUNNING, 0, 0, 0, 0 },
        { "running, has ended", "", false, "s", "se", false, JOB_SUCCEEDED, 0, 0, 1, 0 },
        { "running, has failed", "", false, "s", "f", false, JOB_FAILED, 0, 0, 1, 0 },
        { "running, not known: lost and repeated", "", false, "s", "", false, JOB_QUEUED, 0, 0, 1, 0 },
        { "running, not known: lost and failed", ",'on_lost':'fail'", false, "s", "", false, JOB_FAILED, 0, 0,
          1, 0 },
        { "running, reported as lost", "", false, "s", "l", false, JOB_QUEUED, 0, 0, 1, 0 },
        { "stopping, runs", "", false, "sc", "s", false, JOB_STOPPING, 0, 1, 0, 0 },
        { "stopping, has ended", "", false, "sc", "f", false, JOB_CANCELLED, 0, 0, 1, 0 },
        { "stopping, not known", "", false, "sc", "", false, JOB_CANCELLED, 0, 0, 1, 0 },
        { "stopping before it was confirmed, not known", "", false, "c", "", false, JOB_CANCELLED, 0, 0, 1,
          0 },
        { "reboot: intended, never ran", "", false, "", "", true, JOB_STARTING, 1, 0, 0, 0 },
        { "reboot: running, lost", "", false, "s", "l", true, JOB_QUEUED, 0, 0, 1, 0 },
        { "reboot: running, had succeeded", "", false, "s", "e", true, JOB_SUCCEEDED, 0, 0, 1, 0 },
        { "reboot: swept away by a signal", "", false, "s", "k", true, JOB_QUEUED, 0, 0, 1, 0 },
        { "no reboot: killed by a signal", "", false, "s", "k", false, JOB_FAILED, 0, 0, 1, 0 },
        { "ended before, told again", "", false, "se", "e", false, JOB_SUCCEEDED, 0, 0, 1, 0 },
        { "cancelled before, runs after all", "", false, "cl", "s", false, JOB_CANCELLED, 0, 1, 0, 0 },
};

/* With a note of the runtime about what the member had to do with. */
static void say_killed(House *house, const char *task)
{
        Observation said = { .kind = OBSERVED_EXITED, .exit_code = -1, .signal = 15, .note = (char *)NOTE };

        g_strlcpy(said.task, task, sizeof said.task);
        script_say(house->script, &said);
}

static void act(House *house, const char *id, const char *task, char letter)
{
        switch (letter) {
        case 's': script_say_kind(house->script, OBSERVED_STARTED, task); break;
        case 'e': script_say_exit(house->script, task, 0, 0, false); break;
        case 'f': script_say_exit(house->script, task, 1, 0, false); break;
        case 'k': say_killed(house, task); break;
        case 'l': script_say_kind(house->script, OBSERVED_LOST, task); break;
        case 'c': g_assert_true(house_cancel(house, id, NULL)); break;
        default: g_assert_not_reached();
        }
        house_barrier(house);
}

static int asked(House *house, const char *verb, const char *task)
{
        g_autofree char *line = g_strdup_printf("%s %s", verb, task);

        return script_count(house->script, line);
}

static void assert_resources(House *house, const Job *job)
{
        bool holds = job->state == JOB_STARTING || job->state == JOB_RUNNING || job->state == JOB_STOPPING;
        EngineMetrics metrics;

        engine_metrics(house->engine, &metrics);
        g_assert_cmpint(metrics.free.cpu_milli, ==, holds ? 3000 : 4000);
        g_assert_cmpint(metrics.free.gpus, ==, holds ? 3 : 4);
        g_assert_cmpint(metrics.open_jobs, ==, !job_state_is_final(job->state));
}

static void test_restart(gconstpointer data)
{
        const Restart *row = data;
        g_autofree char *spec = g_strdup_printf(ONE, row->more);
        House *house = house_new();
        g_autofree char *id = NULL, *task = NULL;
        g_autoptr(Job) job = NULL;

        script_prepared(house->script, !row->unprepared);
        id = house_submit_ok(house, spec);
        task = task_of(id, 1, "worker", 0);
        for (const char *at = row->before; *at; at++)
                act(house, id, task, *at);
        house_close(house);
        if (row->reboot)
                house->boot_id = "22222222-2222-2222-2222-222222222222";
        house_open(house);
        g_assert_false(engine_is_ready(house->engine));
        for (const char *at = row->reports; *at; at++)
                act(house, id, task, *at);
        g_assert_cmpint(asked(house, "start", task), ==, 0);
        house_sync(house);
        job = house_job(house, id);
        g_assert_cmpstr(job_state_name(job->state), ==, job_state_name(row->state));
        g_assert_cmpint(asked(house, "start", task), ==, row->starts);
        g_assert_cmpint(asked(house, "stop", task), ==, row->stops);
        g_assert_cmpint(asked(house, "forget", task), ==, row->forgets);
        g_assert_cmpint(script_count(house->script, "prepare"), ==, row->prepares);
        g_assert_cmpint(job->failures, ==, row->state == JOB_FAILED && !*row->more);
        /* The note is of the member's own end, not of one that the machine's restart made. */
        if (strcmp(row->reports, "k") == 0)
                g_assert_cmpint(strstr(job->reason, NOTE) != NULL, ==, !row->reboot);
        assert_resources(house, job);
        house_free(house);
}

static void test_phases(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit_ok(house, PS);
        g_autofree char *server = task_of(id, 1, "pserver", 0), *trainer = task_of(id, 1, "trainer", 0);
        g_autofree char *keep = g_strdup_printf("keep %s 3", id);

        act(house, id, server, 's');
        house_close(house);
        house_open(house);
        g_assert_cmpint(script_count(house->script, keep), ==, 1); /* two members and the rendezvous */
        act(house, id, server, 's');
        script_say_kind(house->script, OBSERVED_READY, server);
        house_barrier(house);
        g_assert_cmpint(asked(house, "start", trainer), ==, 0); /* not before it is synced */
        house_sync(house);
        g_assert_cmpint(asked(house, "start", trainer), ==, 1);
        g_assert_cmpint(asked(house, "start", server), ==, 0);
        house_free(house);
}

static void test_timers_go_on(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit_ok(
                house, "{'name':'a','command':['true'],'retries':1,'backoff':'5s','time_limit':'1m'}");
        g_autofree char *first = task_of(id, 1, "worker", 0), *second = task_of(id, 2, "worker", 0);

        act(house, id, first, 'f');
        house_close(house);
        house_open(house);
        house_sync(house);
        house_pass(house, 4999);
        assert_state(house, id, JOB_QUEUED);
        house_pass(house, 1);
        assert_state(house, id, JOB_STARTING);
        act(house, id, second, 's');
        house_close(house);
        house_open(house);
        act(house, id, second, 's');
        house_sync(house);
        house_pass(house, 59999);
        assert_state(house, id, JOB_RUNNING);
        house_pass(house, 1);
        assert_state(house, id, JOB_STOPPING);
        house_free(house);
}

/* The line is as it was, and numbers go on where they were. */
/* A start has its timeout across restarts of the server. It is judged when the runtime has told what it
 * knows: the servers may have been ready for long. */
static void test_start_timeout_goes_on(void)
{
        static const struct {
                bool ready;
                JobState state;
        } cases[] = { { false, JOB_STOPPING }, { true, JOB_STARTING } };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                House *house = house_new();
                g_autofree char *id = house_submit_ok(house, PS);
                g_autofree char *task = task_of(id, 1, "pserver", 0);

                script_say_kind(house->script, OBSERVED_STARTED, task);
                house_barrier(house);
                house_pass(house, 500000);
                house_close(house);
                house->clock_ms += 3600000;
                house_open(house);
                house_barrier(house);
                house_pass(house, 1000);
                assert_state(house, id, JOB_STARTING);
                script_say_kind(house->script, OBSERVED_STARTED, task);
                if (cases[i].ready)
                        script_say_kind(house->script, OBSERVED_READY, task);
                house_sync(house);
                house_pass(house, 1000);
                assert_state(house, id, cases[i].state);
                house_free(house);
        }
}

static void say_at(House *house, const char *task, ObservationKind kind, gint64 time, int exit_code)
{
        Observation said = { .kind = kind, .exit_code = exit_code, .pid = 7, .time = time };

        g_strlcpy(said.task, task, sizeof said.task);
        script_say(house->script, &said);
}

/* A job's times are those of its members, which go on while no server runs. */
static void test_times_of_members(void)
{
        House *house = house_new();
        g_autofree char *id = NULL, *task = NULL;
        g_autoptr(Job) starting = NULL, retrying = NULL, ended = NULL;
        gint64 begun, again;

        id = house_submit_ok(house, "{'name':'a','command':['true'],'retries':1,'backoff':'1s'}");
        task = task_of(id, 1, "worker", 0);
        starting = house_job(house, id);
        begun = starting->admitted;
        house_pass(house, 3600 * 1000);
        say_at(house, task, OBSERVED_STARTED, begun + 2000, -1);
        say_at(house, task, OBSERVED_EXITED, begun + 5000, 1);
        house_barrier(house);
        retrying = house_job(house, id);
        g_assert_cmpint(retrying->state, ==, JOB_QUEUED);
        g_assert_cmpint(retrying->starting_ms, ==, 2000);
        g_assert_cmpint(retrying->running_ms, ==, 3000);
        g_assert_cmpint(retrying->not_before, >, begun + 3600 * 1000);
        house_pass(house, 2000);
        g_free(task);
        task = task_of(id, 2, "worker", 0);
        again = begun + 3600 * 1000 + 2000;
        house_pass(house, 60 * 1000);
        say_at(house, task, OBSERVED_STARTED, again + 1, -1);
        say_at(house, task, OBSERVED_EXITED, again + 1001, 0);
        house_barrier(house);
        ended = house_job(house, id);
        g_assert_cmpint(ended->state, ==, JOB_SUCCEEDED);
        g_assert_cmpint(ended->running, ==, again + 1);
        g_assert_cmpint(ended->finished, ==, again + 1001);
        house_free(house);
}

/* The clock of another machine may be wrong: what cannot be is not believed. */
static void test_times_that_cannot_be(void)
{
        static const gint64 offsets[] = { -5000, 3600 * 1000 };

        for (gsize i = 0; i < G_N_ELEMENTS(offsets); i++) {
                House *house = house_new();
                g_autofree char *id = house_submit_ok(house, "{'name':'a','command':['true']}");
                g_autofree char *task = task_of(id, 1, "worker", 0);
                g_autoptr(Job) job = house_job(house, id), ended = NULL;

                house_pass(house, 1000);
                say_at(house, task, OBSERVED_STARTED, job->admitted + offsets[i], -1);
                house_barrier(house);
                house_pass(house, 1000);
                say_at(house, task, OBSERVED_EXITED, job->admitted + offsets[i], 0);
                house_barrier(house);
                ended = house_job(house, id);
                g_assert_cmpint(ended->running, ==, job->admitted + 1000);
                g_assert_cmpint(ended->finished, ==, job->admitted + 2000);
                house_free(house);
        }
}

static void test_line(void)
{
        House *house = house_new();
        g_autoptr(GPtrArray) ids = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(Job) last = NULL;
        gint64 revision;

        for (int i = 0; i < 50; i++) {
                g_autofree char *spec = g_strdup_printf(
                        "{'name':'j%d','command':['t'],'roles':[{'name':'worker','replicas':1,'cpu':'4'}]}",
                        i);

                g_ptr_array_add(ids, house_submit_ok(house, spec));
        }
        revision = engine_revision(house->engine);
        house_close(house);
        house_open(house);
        g_assert_cmpint(engine_revision(house->engine), ==, revision);
        house_sync(house);
        for (guint i = 0; i < ids->len; i++) {
                const char *id = g_ptr_array_index(ids, i);
                g_autofree char *task = task_of(id, 1, "worker", 0);

                assert_state(house, id, JOB_STARTING);
                if (i == 20) {
                        house_close(house);
                        house_open(house);
                        house_sync(house);
                }
                act(house, id, task, 'e');
        }
        g_ptr_array_add(ids, house_submit_ok(house, "{'name':'z','command':['t']}"));
        last = house_job(house, g_ptr_array_index(ids, 50));
        g_assert_cmpint(last->seq, ==, 51);
        house_free(house);
}

/* A smaller machine than before: what cannot start any more says so and holds nobody up. */
static void test_smaller_machine(void)
{
        House *house = house_new();
        g_autofree char *running = house_submit_ok(
                house, "{'name':'r','command':['t'],'roles':[{'name':'worker','replicas':1,'cpu':'4'}]}");
        g_autofree char *big = house_submit_ok(
                house, "{'name':'b','command':['t'],'roles':[{'name':'worker','replicas':1,'cpu':'4'}]}");
        g_autofree char *small = house_submit_ok(
                house, "{'name':'s','command':['t'],'roles':[{'name':'worker','replicas':1,'cpu':'1'}]}");
        g_autofree char *task = task_of(running, 1, "worker", 0), *why = NULL;
        g_autoptr(Job) waits = NULL;

        house_close(house);
        script_total(house->script, &(Resources){ { 2000, 4ll << 30, 0 } });
        house_open(house);
        house_sync(house);
        act(house, running, task, 'e');
        assert_state(house, running, JOB_SUCCEEDED);
        waits = house_job(house, big);
        g_assert_cmpint(waits->state, ==, JOB_QUEUED);
        why = engine_explain(house->engine, waits);
        g_assert_nonnull(strstr(why, "can never start"));
        assert_state(house, small, JOB_STARTING);
        house_free(house);
}

/* What was reported before the connection broke again counts for nothing. */
static void test_broken_report(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit_ok(house, "{'name':'a','command':['true']}");
        g_autofree char *task = task_of(id, 1, "worker", 0);

        act(house, id, task, 's');
        house_close(house);
        house_open(house);
        act(house, id, task, 's');
        script_say_kind(house->script, OBSERVED_DISCONNECTED, NULL);
        house_sync(house);
        assert_state(house, id, JOB_QUEUED); /* lost, to be repeated */
        house_free(house);
}

#define PACKED                                                                                               \
        "{'name':'%s','command':['true'],'package':'%s','begin':'2099-01-01T00:00:00Z','roles':[{'name':'worker','replicas':1,'cpu':'1'}]}"

static char *submit_packed(House *house, const char *name, const char *package)
{
        g_autofree char *spec = g_strdup_printf(PACKED, name, package);

        return house_submit_ok(house, spec);
}

/* The packages of open jobs are known at once after a start, and until the last of their jobs has ended. */
static void test_open_packages(void)
{
        static const char a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
        static const char b[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
        House *house = house_new();
        g_autofree char *one = submit_packed(house, "one", a), *two = submit_packed(house, "two", a);
        g_autofree char *three = submit_packed(house, "three", b);
        g_autoptr(GHashTable) at_start = NULL, later = NULL, at_end = NULL;

        house_close(house);
        house_open(house);
        at_start = engine_open_packages(house->engine);
        g_assert_cmpuint(g_hash_table_size(at_start), ==, 2);
        house_sync(house);
        g_assert_true(house_cancel(house, one, NULL) && house_cancel(house, three, NULL));
        house_barrier(house);
        later = engine_open_packages(house->engine);
        g_assert_true(g_hash_table_size(later) == 1 && g_hash_table_contains(later, a));
        g_assert_true(house_cancel(house, two, NULL));
        house_barrier(house);
        at_end = engine_open_packages(house->engine);
        g_assert_cmpuint(g_hash_table_size(at_end), ==, 0);
        house_free(house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(restarts); i++) {
                g_autofree char *path = g_strdup_printf("/restart/%s", restarts[i].name);

                g_test_add_data_func(path, &restarts[i], test_restart);
        }
        g_test_add_func("/restart/phases", test_phases);
        g_test_add_func("/restart/open packages", test_open_packages);
        g_test_add_func("/restart/timers go on", test_timers_go_on);
        g_test_add_func("/restart/start timeout goes on", test_start_timeout_goes_on);
        g_test_add_func("/restart/times of members", test_times_of_members);
        g_test_add_func("/restart/times that cannot be", test_times_that_cannot_be);
        g_test_add_func("/restart/line", test_line);
        g_test_add_func("/restart/broken report", test_broken_report);
        g_test_add_func("/restart/smaller machine", test_smaller_machine);
        return g_test_run();
}
