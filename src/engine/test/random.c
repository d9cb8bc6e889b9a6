/* A random life: people submit, cancel, hold and requeue, jobs wait for each other, evict and shrink each
 * other, members start, become ready, end and get lost, the disk fills up, the runtime goes and comes back,
 * the server restarts, in any order. After each step some things must hold, and in the end everything must
 * have come to its end exactly once.
 *
 * The test keeps the runtime's world: which tasks it knows, and which calls it has not carried out yet (they
 * get lost when the connection or the server does). The observations of one step are one batch for the
 * engine, as the threads would otherwise divide them differently in each run. */
#include <string.h>

#include "base/err.h"
#include "base/test/sanitized.h"
#include "base/test/seed.h"
#include "engine/state.h"
#include "engine/task.h"
#include "engine/test/help.h"
#include "store/test/faulty.h"

enum {
        STEPS = 3000,
        OPEN_MAX = 12,
        BUILDER_MILLI = 1000,
        TURNS = 2, /* barriers until the engine waits: after a batch it may take some turns by itself */
};

typedef struct {
        char *name;
        bool ended;
        int exit_code, signal;
        bool lost;
} Task;

typedef struct {
        House *house;
        GRand *rand;
        GPtrArray *ids;        /* of acknowledged jobs */
        GPtrArray *tasks;      /* Task: what the runtime knows, in the order of their starts */
        GHashTable *confirmed; /* names of tasks whose start is durable */
        GQueue calls;          /* not carried out yet */
        bool connected, full;
        bool builds;          /* environments are built, which counts in the queue */
        GHashTable *building; /* requirements of which a build is counted */
        bool leaving; /* members leave a job that runs on: what the first ones held is free with the last */
        int n_ids, submitted, n_start, n_restart, n_full, n_lost, n_unconnected;
} World;

static int draw(World *world, int least, int end)
{
        return g_rand_int_range(world->rand, least, end);
}

static bool chance(World *world, int percent)
{
        return draw(world, 0, 100) < percent;
}

/* The engine's tables are in the order of the ids: random ones would make each run another. */
static void new_id(char ret[ID_LEN + 1], void *arg)
{
        World *world = arg;

        (void)g_snprintf(ret, ID_LEN + 1, "%0*d", ID_LEN, ++world->n_ids); /* as long as that */
}

/* ---- the runtime's side ---- */

static void task_free(gpointer task)
{
        g_free(((Task *)task)->name);
        g_free(task);
}

static Task *task_named(World *world, const char *name)
{
        for (guint i = 0; i < world->tasks->len; i++) {
                Task *task = g_ptr_array_index(world->tasks, i);

                if (strcmp(task->name, name) == 0)
                        return task;
        }
        return NULL;
}

static void report(World *world, const Task *task)
{
        if (!task->ended)
                script_say_kind(world->house->script, OBSERVED_STARTED, task->name);
        else if (task->lost)
                script_say_kind(world->house->script, OBSERVED_LOST, task->name);
        else
                script_say_exit(world->house->script, task->name, task->exit_code, task->signal, false);
}

static void report_all(World *world)
{
        house_hold(world->house);
        for (guint i = 0; i < world->tasks->len; i++)
                report(world, g_ptr_array_index(world->tasks, i));
        world->connected = true;
        script_say_kind(world->house->script, OBSERVED_SYNCED, NULL);
        house_let_go(world->house);
}

static void end_task(World *world, Task *task, int exit_code, int signal, bool lost)
{
        task->ended = true;
        task->exit_code = exit_code;
        task->signal = signal;
        task->lost = lost;
        if (world->connected)
                report(world, task);
}

static void carry_out_start(World *world, const char *name)
{
        Task *task = task_named(world, name);

        if (g_hash_table_contains(world->confirmed, name))
                g_error("%s is started again, though it was confirmed", name);
        world->n_start++;
        if (!task) {
                task = g_new0(Task, 1);
                task->name = g_strdup(name);
                g_ptr_array_add(world->tasks, task);
        }
        report(world, task);
}

static void carry_out_stop(World *world, const char *name)
{
        Task *task = task_named(world, name);

        if (!task)
                script_say_kind(world->house->script, OBSERVED_LOST, name);
        else if (!task->ended)
                end_task(world, task, chance(world, 50) ? 0 : -1, 0, false);
}

static void carry_out_forget(World *world, const char *name)
{
        Task *task = task_named(world, name);

        if (task)
                (void)g_ptr_array_remove(world->tasks, task); /* it is there */
}

static void carry_out(World *world, const char *call)
{
        g_auto(GStrv) words = g_strsplit(call, " ", 3);

        if (strcmp(words[0], "start") == 0)
                carry_out_start(world, words[1]);
        else if (strcmp(words[0], "stop") == 0)
                carry_out_stop(world, words[1]);
        else if (strcmp(words[0], "forget") == 0)
                carry_out_forget(world, words[1]);
        else if (strcmp(words[0], "prepare") == 0)
                script_say_kind(world->house->script,
                                chance(world, 90) ? OBSERVED_PREPARED : OBSERVED_PREPARE_FAILED, words[1]);
}

static void take_calls(World *world)
{
        g_autoptr(GPtrArray) lines = script_take(world->house->script);

        for (guint i = 0; i < lines->len; i++)
                if (world->connected)
                        g_queue_push_tail(&world->calls, g_strdup(g_ptr_array_index(lines, i)));
}

static void lose_calls(World *world)
{
        take_calls(world);
        g_queue_clear_full(&world->calls, g_free);
}

/* ---- what must hold ---- */

static void assert_forgettable(World *world, const char *name)
{
        TaskName parts;
        g_autoptr(Job) job = NULL;
        int index;

        g_assert_true(task_parse(name, &parts));
        job = store_job_by_id(world->house->store, parts.job_id, NULL);
        index = job ? task_member(job, &parts) : -1;
        if (index >= 0 && !member_is_ended(&job->members[index]) &&
            !job->members[index].finished) /* it left, and is to come back */
                g_error("%s is forgotten, but its end is not stored", name);
}

static void check_calls(World *world)
{
        for (GList *link = world->calls.head; link; link = link->next)
                if (g_str_has_prefix(link->data, "forget "))
                        assert_forgettable(world, (const char *)link->data + strlen("forget "));
}

static void check_job(World *world, const char *id, Resources *ret_used)
{
        g_autoptr(Job) view = engine_job(world->house->engine, id);
        g_autoptr(Job) stored = store_job_by_id(world->house->store, id, NULL);

        g_assert_nonnull(stored);
        if (!view) {
                g_assert_true(job_state_is_final(stored->state));
                return;
        }
        if (job_environment(view) == PREPARATION_RUNNING && view->spec->requirements)
                g_hash_table_add(world->building, g_strdup(view->spec->requirements));
        if (stored->revision > view->revision)
                return; /* it changes at this moment: look() looks again */
        g_assert_cmpint(view->revision, ==, stored->revision);
        g_assert_cmpint(view->state, ==, stored->state);
        g_assert_cmpint(view->attempt, ==, stored->attempt);
        for (int i = 0; i < view->n_members; i++) {
                g_assert_cmpint(view->members[i].state, ==, stored->members[i].state);
                if (view->members[i].state == MEMBER_SURPLUS) {
                        g_autofree char *task = task_format(view, &view->members[i]);

                        g_hash_table_remove(world->confirmed, task); /* it may come back under its name */
                } else if (view->members[i].started || member_is_ended(&view->members[i]))
                        g_hash_table_add(world->confirmed, task_format(view, &view->members[i]));
        }
        for (int i = 0; !life_is_at_rest(view) && i < view->n_members; i++) {
                Resources want;

                world->leaving |= member_is_leaving(view, &view->members[i]);
                if (view->members[i].state == MEMBER_SURPLUS)
                        continue;
                spec_member_wants(view->spec, view->members[i].role, job_share(view), &want);
                g_assert_true(resources_add(ret_used, &want, 1));
        }
}

/* Jobs and books of one moment: a time that comes (a back-off that is over) starts a job in between. */
static void look(World *world, Resources *ret_used, EngineMetrics *ret)
{
        Engine *engine = world->house->engine;
        gint64 revision;

        do {
                for (int turn = 0; turn < TURNS; turn++)
                        house_barrier(world->house);
                revision = engine_revision(engine);
                world->leaving = false;
                *ret_used = (Resources){ 0 };
                g_hash_table_remove_all(world->building);
                for (guint i = 0; i < world->ids->len; i++)
                        check_job(world, g_ptr_array_index(world->ids, i), ret_used);
                engine_metrics(engine, ret);
        } while (revision != engine_revision(engine));
        if (world->builds) /* one for all jobs of its requirements: they are ann's, and in one queue */
                ret_used->cpu_milli += g_hash_table_size(world->building) * BUILDER_MILLI;
}

static void check(World *world)
{
        Resources used;
        EngineMetrics metrics;

        look(world, &used, &metrics);
        g_assert_cmpint(metrics.free.cpu_milli, >=, 0);
        g_assert_cmpint(metrics.free.gpus, >=, 0);
        g_assert_cmpint(metrics.total.cpu_milli - metrics.free.cpu_milli, >=, used.cpu_milli);
        g_assert_cmpint(metrics.total.gpus - metrics.free.gpus, >=, used.gpus);
        if (!world->leaving) {
                g_assert_cmpint(metrics.total.cpu_milli - metrics.free.cpu_milli, ==, used.cpu_milli);
                g_assert_cmpint(metrics.total.gpus - metrics.free.gpus, ==, used.gpus);
        }
        take_calls(world);
        check_calls(world);
}

/* ---- what may happen ---- */

static char *random_spec(World *world)
{
        static const char *const roles[] = {
                "{'name':'worker','replicas':1,'cpu':'1'}",
                "{'name':'worker','replicas':3,'cpu':'1','gpus':1}",
                "{'name':'worker','replicas':2,'cpu':'2'}",
                "{'name':'worker','replicas':4,'min':1,'cpu':'1'}",
                "{'name':'worker','replicas':3,'min':2,'cpu':'1','gpus':1}",
                "{'name':'pserver','replicas':2,'cpu':'500m'},{'name':'trainer','replicas':2,'cpu':'500m'}",
                "{'name':'pserver','replicas':1,'cpu':'1'},{'name':'trainer','replicas':1,'cpu':'1','gpus':"
                "2}",
        };

        static const char *const kinds[] = { "ok", "any", "fail" };
        g_autofree char *after =
                chance(world, 15)
                        ? g_strdup_printf(",'after':['%s:j%d']", kinds[draw(world, 0, 3)], draw(world, 0, 10))
                        : g_strdup("");
        const char *requirements = !world->builds      ? ""
                                   : chance(world, 40) ? ",'requirements':'a'"
                                   : chance(world, 40) ? ",'requirements':'b'"
                                                       : "";

        return g_strdup_printf("{'name':'j%d','command':['t']%s,'retries':%d,'backoff':'%ds','on_lost':'%s',"
                               "'priority':%d%s%s%s%s%s,'roles':[%s]}",
                               draw(world, 0, 10), requirements, draw(world, 0, 3), draw(world, 0, 3),
                               chance(world, 70) ? "retry" : "fail", draw(world, 0, 3) * 100,
                               chance(world, 20) ? ",'time_limit':'20s'" : "",
                               chance(world, 30) ? ",'signal':'USR1@2s','grace':'3s'" : "",
                               chance(world, 20) ? ",'on_preempt':'end'" : "",
                               chance(world, 10) ? ",'array':'0-2%2'" : "", after,
                               roles[draw(world, 0, G_N_ELEMENTS(roles))]);
}

/* Those of an array besides its first. */
static void note_array(World *world, const char *id)
{
        g_autoptr(Job) first = engine_find(world->house->engine, NULL, id, NULL);

        for (int i = 1; first && first->array_seq && i < 3; i++) {
                g_autofree char *name =
                        g_strdup_printf("%.*s-%d", (int)strlen(first->name) - 2, first->name, i);
                g_autoptr(Job) job = engine_find(world->house->engine, "ann", name, NULL);

                if (job)
                        g_ptr_array_add(world->ids, g_strdup(job->id));
        }
}

static void do_submit(World *world)
{
        g_autofree char *spec = random_spec(world), *id = NULL;
        g_autofree char *key = chance(world, 30) ? g_strdup_printf("k%d", draw(world, 0, 1000)) : NULL;
        g_autoptr(GError) error = NULL;
        EngineMetrics metrics;

        engine_metrics(world->house->engine, &metrics);
        if (metrics.open_jobs >= OPEN_MAX)
                return;
        script_prepared(world->house->script, chance(world, 80));
        id = house_submit(world->house, "ann", spec, key, &error);
        if (id && !house_repeated()) {
                note_array(world, id);
                g_ptr_array_add(world->ids, g_steal_pointer(&id));
                world->submitted++;
        } else if (error) {
                g_assert_true(err_is(error, ERR_EXISTS) || err_is(error, ERR_CONFLICT) ||
                              err_is(error, ERR_NO_SPACE) || err_is(error, ERR_NOT_FOUND) ||
                              err_is(error, ERR_INVALID)); /* the last: it would wait for itself */
                g_assert_true(world->full || !err_is(error, ERR_NO_SPACE));
        }
}

static void do_cancel(World *world)
{
        g_autoptr(GError) error = NULL;

        if (world->ids->len > 0)
                (void)house_cancel(world->house,
                                   g_ptr_array_index(world->ids, draw(world, 0, (int)world->ids->len)),
                                   &error);
}

static void do_act(World *world)
{
        static const JobAction actions[] = { ACT_HOLD,    ACT_RELEASE, ACT_RELEASE,
                                             ACT_REQUEUE, ACT_SAVED,   ACT_KILL };
        g_autoptr(GError) error = NULL;

        if (world->ids->len > 0)
                (void)house_act(world->house,
                                g_ptr_array_index(world->ids, draw(world, 0, (int)world->ids->len)),
                                actions[draw(world, 0, G_N_ELEMENTS(actions))], &error);
}

static void do_calls(World *world)
{
        house_hold(world->house);
        for (int n = draw(world, 1, 5); n > 0 && world->connected && world->calls.length > 0; n--) {
                g_autofree char *call = g_queue_pop_head(&world->calls);

                carry_out(world, call);
        }
        house_let_go(world->house);
}

static void do_task(World *world)
{
        Task *task;

        if (world->tasks->len == 0)
                return;
        task = g_ptr_array_index(world->tasks, draw(world, 0, (int)world->tasks->len));
        if (task->ended) { /* told again, until it is forgotten */
                if (world->connected)
                        report(world, task);
        } else if (world->connected && chance(world, 50)) {
                script_say_kind(world->house->script, OBSERVED_READY, task->name);
        } else if (chance(world, 70)) {
                end_task(world, task, 0, 0, false);
        } else if (chance(world, 50)) {
                end_task(world, task, 1, 0, false);
        } else {
                world->n_lost++;
                end_task(world, task, -1, 0, true);
        }
}

static void do_pass(World *world)
{
        house_pass(world->house, draw(world, 1, 3000));
}

static void make_room(World *world)
{
        faulty_set(FAULT_NONE, NULL, 0, false);
        if (world->full) {
                g_autofree char *token = g_strdup_printf("t%d", world->n_full);

                g_assert_true(
                        house_put_token(world->house, token, NULL)); /* what was kept is tried at once */
        }
        world->full = false;
}

static void do_disk(World *world)
{
        if (world->full) {
                make_room(world);
        } else if (chance(world, 20)) {
                world->full = true;
                world->n_full++;
                faulty_set(FAULT_FULL, "-wal", draw(world, 1, 4), false);
        }
}

static void do_connection(World *world)
{
        if (!world->connected) {
                report_all(world);
        } else if (chance(world, 15)) {
                house_barrier(world->house);
                lose_calls(world);
                world->connected = false;
                world->n_unconnected++;
                script_say_kind(world->house->script, OBSERVED_DISCONNECTED, NULL);
        }
}

static void do_restart(World *world)
{
        if (!chance(world, 20))
                return;
        make_room(world);
        lose_calls(world);
        house_close(world->house);
        house_open(world->house);
        world->connected = false;
        world->n_restart++;
        report_all(world);
}

static const struct {
        int weight;
        void (*run)(World *world);
} steps[] = {
        { 25, do_submit }, { 3, do_cancel }, { 25, do_calls },     { 35, do_task },   { 8, do_act },
        { 8, do_pass },    { 4, do_disk },   { 3, do_connection }, { 2, do_restart },
};

static void random_step(World *world)
{
        int total = 0, at;

        for (gsize i = 0; i < G_N_ELEMENTS(steps); i++)
                total += steps[i].weight;
        at = draw(world, 0, total);
        for (gsize i = 0; i < G_N_ELEMENTS(steps); at -= steps[i++].weight) {
                if (at >= steps[i].weight)
                        continue;
                steps[i].run(world);
                return;
        }
}

/* ---- the end ---- */

static void end_all(World *world)
{
        while (world->calls.length > 0)
                do_calls(world);
        house_hold(world->house);
        for (guint i = 0; i < world->tasks->len; i++) {
                Task *task = g_ptr_array_index(world->tasks, i);

                script_say_kind(world->house->script, OBSERVED_READY, task->name);
                if (!task->ended && chance(world, 50))
                        end_task(world, task, 0, 0, false);
        }
        house_let_go(world->house);
        for (guint i = 0; i < world->ids->len; i++) {
                g_autoptr(GError) error = NULL;

                (void)house_act(world->house, g_ptr_array_index(world->ids, i), ACT_RELEASE, &error);
        }
        house_pass(world->house, 60000);
        check(world);
}

static gint64 count_open(World *world)
{
        EngineMetrics metrics;

        engine_metrics(world->house->engine, &metrics);
        return metrics.open_jobs;
}

static void assert_ended_once(World *world, const char *id)
{
        g_autofree char *kinds = house_events(world->house, id);
        g_auto(GStrv) each = g_strsplit(kinds, " ", -1);
        int ends = 0;

        for (char **kind = each; *kind; kind++)
                ends += strcmp(*kind, "job.succeeded") == 0 || strcmp(*kind, "job.failed") == 0 ||
                        strcmp(*kind, "job.cancelled") == 0 || strcmp(*kind, "job.preempted") == 0;
        if (ends != 1)
                g_error("job %s: %s", id, kinds);
}

static void live_through(bool gates, bool builds)
{
        World world = { .connected = true, .builds = builds };
        EngineMetrics metrics;
        int n_steps = IS_SANITIZED && !is_soak() ? STEPS / 3 : STEPS;

        faulty_install();
        world.house = house_new_cold();
        world.house->config.new_id = new_id;
        world.house->config.new_id_arg = &world;
        house_open(world.house);
        house_sync(world.house);
        world.ids = g_ptr_array_new_with_free_func(g_free);
        world.rand = g_rand_new_with_seed(seed_of_test());
        world.tasks = g_ptr_array_new_with_free_func(task_free);
        world.confirmed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        world.building = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        script_gates(world.house->script, gates);
        if (builds)
                script_builder(world.house->script, &(Resources){ .cpu_milli = BUILDER_MILLI });
        script_ports(world.house->script, 9);
        house_queue(world.house, "default", "{'preemption':'lower-priority'}");
        house_let_rise(world.house, "ann", "default");
        for (int i = 0; i < n_steps; i++) {
                random_step(&world);
                check(&world);
        }
        make_room(&world);
        if (!world.connected)
                report_all(&world);
        for (int i = 0; i < 1000 && (count_open(&world) > 0 || world.tasks->len > 0); i++)
                end_all(&world);
        engine_metrics(world.house->engine, &metrics);
        g_assert_cmpint(metrics.open_jobs, ==, 0);
        g_assert_cmpint(metrics.free.cpu_milli, ==, 4000);
        g_assert_cmpint(script_leased(world.house->script), ==, 0);
        g_assert_cmpuint(world.tasks->len, ==, 0);
        for (guint i = 0; i < world.ids->len; i++)
                assert_ended_once(&world, g_ptr_array_index(world.ids, i));
        g_test_message("%d evictions, %d shrinks since the last start", (int)metrics.evictions,
                       (int)metrics.shrinks);
        g_test_message("%d jobs, %d starts, %d restarts, %d full disks, %d losses, %d disconnections",
                       world.submitted, world.n_start, world.n_restart, world.n_full, world.n_lost,
                       world.n_unconnected);
        house_free(world.house);
        g_queue_clear_full(&world.calls, g_free);
        g_ptr_array_unref(world.tasks);
        g_rand_free(world.rand);
        g_hash_table_unref(world.confirmed);
        g_hash_table_unref(world.building);
        g_ptr_array_unref(world.ids);
        faulty_remove();
}

static void test_random(void)
{
        live_through(false, false);
}

static void test_random_gates(void)
{
        live_through(true, false);
}

static void test_random_builds(void)
{
        live_through(false, true);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/random/life", test_random);
        g_test_add_func("/random/life-with-gates", test_random_gates);
        g_test_add_func("/random/life-with-builds", test_random_builds);
        return g_test_run();
}
