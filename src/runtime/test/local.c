/* The local driver against the real agent: members, work directories, storage, environments; the agent killed
 * at any time. */
#include "runtime/local/local.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "runtime/test/attempt.h"
#include "runtime/test/observed.h"
#include "runtime/test/wheel.h"

enum { WAIT_MS = 150000 }; /* pip on a machine that others keep busy */

typedef struct {
        char *state;
        Runtime *runtime;
        Observed *seen;
        GPtrArray *aside; /* observations that others than the one waited for */
        char id[ID_LEN + 1];
        TestAttempt test; /* the first of its job */
} Fixture;

static char *agent_program;

static void open_runtime(Fixture *f, gint64 epoch)
{
        LocalConfig config = {
                .state_dir = f->state, .agent_program = agent_program, .dc = "dc1", .uv = "", .epoch = epoch
        };
        g_autoptr(GError) error = NULL;

        f->runtime = local_runtime_new(&config, &error);
        g_assert_no_error(error);
        g_assert_true(f->runtime->ops->open(f->runtime, observed_push, f->seen, &error));
        g_assert_no_error(error);
}

/* The next observation of the kind (of the task, unless NULL); others are put aside and looked through first.
 */
static Observation *await(Fixture *f, ObservationKind kind, const char *task)
{
        for (guint i = 0;; i++) {
                Observation *observation;

                if (i == f->aside->len) {
                        observation = observed_pop(f->seen, WAIT_MS);
                        if (!observation)
                                g_error("nothing of kind %d about '%s' came", kind, task ? task : "");
                        g_test_message("kind %d '%s' exit %d %s", observation->kind, observation->task,
                                       observation->exit_code, observation->text ? observation->text : "");
                        g_ptr_array_add(f->aside, observation);
                }
                observation = f->aside->pdata[i];
                if (observation->kind == kind && (!task || strcmp(observation->task, task) == 0))
                        return g_ptr_array_steal_index(f->aside, i);
        }
}

static void expect(Fixture *f, ObservationKind kind, const char *task)
{
        observation_free(await(f, kind, task));
}

static void setup(Fixture *f, gconstpointer data)
{
        f->state = g_dir_make_tmp("test-local-XXXXXX", NULL);
        f->seen = observed_new();
        f->aside = g_ptr_array_new_with_free_func((GDestroyNotify)observation_free);
        id_new(f->id);
        test_attempt_init(&f->test, f->id, 1);
        open_runtime(f, 1);
        expect(f, OBSERVED_SYNCED, NULL);
}

static bool is_agent_of(Fixture *f, pid_t pid)
{
        g_autofree char *path = g_strdup_printf("/proc/%d/cmdline", (int)pid), *words = NULL;
        gsize len = 0;

        return g_file_get_contents(path, &words, &len, NULL) &&
               memmem(words, len, f->state, strlen(f->state));
}

/* The pid that holds the agent's lock file; 0: nobody does. Files of other file systems may have its number.
 */
static pid_t agent_pid(Fixture *f)
{
        g_autofree char *lock = g_build_filename(f->state, "agent", "lock", NULL);
        fd_auto int fd = open(lock, O_RDWR | O_CLOEXEC);
        struct stat st;
        g_autofree char *locks = NULL, *needle = NULL;

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(fstat(fd, &st), ==, 0);
        g_assert_true(g_file_get_contents("/proc/locks", &locks, NULL, NULL));
        needle = g_strdup_printf(":%lu ", (unsigned long)st.st_ino);
        g_auto(GStrv) lines = g_strsplit(locks, "\n", -1);
        for (char **line = lines; *line; line++) {
                if (!strstr(*line, needle))
                        continue;
                g_auto(GStrv) fields = g_regex_split_simple(" +", *line, 0, 0);
                pid_t pid = (pid_t)g_ascii_strtoll(fields[4], NULL, 10);
                if (is_agent_of(f, pid))
                        return pid;
        }
        return 0;
}

/* One that was killed before has a successor, which may take a while; and /proc/locks may leave out a line
 * while others change. */
static void kill_agent(Fixture *f)
{
        for (int tries = 0; tries < 6000; tries++) {
                pid_t pid = agent_pid(f);

                if (pid > 1 && kill(pid, SIGKILL) == 0)
                        return;
                g_usleep(10000);
        }
        g_error("there was no agent to kill for a minute");
}

static void close_runtime(Fixture *f)
{
        f->runtime->ops->close(f->runtime);
        g_clear_pointer(&f->runtime, local_runtime_free);
        for (Observation *left; (left = observed_pop(f->seen, 0));)
                observation_free(left);
        g_ptr_array_set_size(f->aside, 0);
}

static void teardown(Fixture *f, gconstpointer data)
{
        pid_t pid;

        if (f->runtime)
                close_runtime(f);
        pid = agent_pid(f);
        if (pid > 1)
                (void)kill(pid, SIGTERM);
        for (int i = 0; i < 6000 && agent_pid(f) > 1; i++)
                g_usleep(10000); /* its directory must not go before it */
        g_assert_cmpint(agent_pid(f), <=, 1);
        observed_free(f->seen);
        g_ptr_array_unref(f->aside);
        g_assert_true(file_remove_tree(f->state, NULL));
        g_free(f->state);
}

static char *read_path(const char *path)
{
        char *text = NULL;

        g_file_get_contents(path, &text, NULL, NULL);
        return text ? text : g_strdup("");
}

static char *read_log(Fixture *f, const TestAttempt *test, const char *role, int index)
{
        g_autofree char *path =
                f->runtime->ops->log_path(f->runtime, test->job.id, test->job.attempt, role, index);

        return read_path(path);
}

static char *task_of(const TestAttempt *test, const char *role, int index)
{
        return g_strdup_printf("%s.%d.%s.%d", test->job.id, test->job.attempt, role, index);
}

static char *start_full(Fixture *f, const TestAttempt *test, const char *role, int index, const char *script,
                        TaskStart extra)
{
        const char *const argv[] = { "/bin/sh", "-c", script, NULL };
        const char *const env[] = { "GREETING=hello", NULL };
        char *task = task_of(test, role, index);

        extra.task = task;
        extra.argv = (char *const *)argv;
        if (!extra.env)
                extra.env = (char *const *)env;
        extra.grace_ms = 2000;
        f->runtime->ops->start(f->runtime, &test->attempt, &extra, 1);
        return task;
}

static char *start(Fixture *f, const TestAttempt *test, const char *role, int index, const char *script)
{
        return start_full(f, test, role, index, script, (TaskStart){ 0 });
}

static void expect_exit(Fixture *f, const char *task, int code)
{
        Observation *exited = await(f, OBSERVED_EXITED, task);

        g_assert_cmpint(exited->exit_code, ==, code);
        observation_free(exited);
        f->runtime->ops->forget(f->runtime, task);
}

static void test_plain(Fixture *f, gconstpointer data)
{
        g_autofree char *task = start(f, &f->test, "worker", 0, "echo $GREETING $USER; pwd; exit 3");
        g_autofree char *want =
                g_strdup_printf("hello ada\n%s/jobs/%.2s/%s/1/work\n", f->state, f->id, f->id);
        g_autofree char *work = g_strdup_printf("%s/jobs/%.2s/%s/1/work", f->state, f->id, f->id),
                        *log = NULL;
        Observation *started = await(f, OBSERVED_STARTED, task);

        g_assert_cmpint(started->pid, >, 1);
        observation_free(started);
        expect_exit(f, task, 3);
        log = read_log(f, &f->test, "worker", 0);
        g_assert_cmpstr(log, ==, want);
        g_assert_true(g_file_test(work, G_FILE_TEST_IS_DIR));
        f->runtime->ops->clean(f->runtime, f->id, 1, 0);
        g_assert_false(g_file_test(work, G_FILE_TEST_EXISTS)); /* an empty one goes at once */
        g_free(log);
        log = read_log(f, &f->test, "worker", 0);
        g_assert_cmpstr(log, ==, want); /* logs stay */
}

static void test_idempotent(Fixture *f, gconstpointer data)
{
        g_autofree char *task = start(f, &f->test, "worker", 0, "echo once");
        g_autofree char *again = start(f, &f->test, "worker", 0, "echo once"), *log = NULL;

        expect_exit(f, task, 0);
        log = read_log(f, &f->test, "worker", 0);
        g_assert_cmpstr(log, ==, "once\n");
}

static void test_start_failed(Fixture *f, gconstpointer data)
{
        const char *const argv[] = { "no-such-program", NULL };
        g_autofree char *task = task_of(&f->test, "worker", 0);
        TaskStart failing = { .task = task, .argv = (char *const *)argv };
        Observation *failed;

        f->runtime->ops->start(f->runtime, &f->test.attempt, &failing, 1);
        failed = await(f, OBSERVED_START_FAILED, task);
        g_assert_nonnull(strstr(failed->text, "no-such-program"));
        g_assert_true(failed->permanent);
        observation_free(failed);
        f->runtime->ops->forget(f->runtime, task);
}

static void test_stop(Fixture *f, gconstpointer data)
{
        g_autofree char *task = start(f, &f->test, "worker", 0, "exec sleep 600");
        Observation *exited;

        expect(f, OBSERVED_STARTED, task);
        f->runtime->ops->stop(f->runtime, &(const char *){ task }, 1, 5000);
        exited = await(f, OBSERVED_EXITED, task);
        g_assert_cmpint(exited->signal, ==, SIGTERM);
        observation_free(exited);
        f->runtime->ops->forget(f->runtime, task);
}

static void test_ready_file(Fixture *f, gconstpointer data)
{
        g_autofree char *task =
                start_full(f, &f->test, "worker", 0, "touch \"$PADDLE_READY_FILE\"; exec sleep 600",
                           (TaskStart){ .ready_file = "ready-0" });

        expect(f, OBSERVED_READY, task);
        f->runtime->ops->stop(f->runtime, &(const char *){ task }, 1, 0);
        expect(f, OBSERVED_EXITED, task);
        f->runtime->ops->forget(f->runtime, task);
}

/* A tree as the package store keeps them. */
static void make_package(Fixture *f, const char *hash)
{
        g_autofree char *dir = g_build_filename(f->state, "packages", hash, "sub", NULL);
        g_autofree char *train = g_build_filename(f->state, "packages", hash, "train.py", NULL);
        g_autofree char *helper = g_build_filename(dir, "helper.py", NULL);

        g_assert_true(file_mkdirs(dir, 0755, NULL));
        g_assert_true(
                g_file_set_contents(train, "from sub import helper\nprint(__name__, helper.X)\n", -1, NULL));
        g_assert_true(g_file_set_contents(helper, "X = 5\n", -1, NULL));
        g_assert_cmpint(chmod(train, 0444), ==, 0);
}

static void wait_gone(const char *path)
{
        for (int i = 0; i < 6000 && g_file_test(path, G_FILE_TEST_EXISTS); i++)
                g_usleep(10000);
        g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

static void test_package(Fixture *f, gconstpointer data)
{
        g_autofree char *work = g_strdup_printf("%s/jobs/%.2s/%s/1/work", f->state, f->id, f->id);
        g_autofree char *original = g_build_filename(f->state, "packages/abc/sub/helper.py", NULL);
        char *tasks[3], *text;

        make_package(f, "abc");
        f->test.spec.package = (char *)"abc";
        f->test.spec.package_name = (char *)"demo";
        tasks[0] = start(f, &f->test, "trainer", 0, "python3 train.py");
        tasks[1] = start(f, &f->test, "trainer", 1, "cd / && python3 -m demo.train");
        tasks[2] = start(f, &f->test, "trainer", 2, "echo X=6 >sub/other.py && ls sub");
        for (int i = 0; i < 3; i++) {
                expect_exit(f, tasks[i], 0);
                g_free(tasks[i]);
        }
        text = read_log(f, &f->test, "trainer", 0);
        g_assert_cmpstr(text, ==, "__main__ 5\n");
        g_free(text);
        text = read_log(f, &f->test, "trainer", 1);
        g_assert_cmpstr(text, ==, "__main__ 5\n");
        g_free(text);
        text = read_path(original);
        g_assert_cmpstr(text, ==, "X = 5\n");
        g_free(text);
        f->runtime->ops->clean(f->runtime, f->id, 1, 0);
        wait_gone(work);
}

static void test_package_missing(Fixture *f, gconstpointer data)
{
        g_autofree char *task = NULL;
        Observation *failed;

        f->test.spec.package = (char *)"nosuch";
        f->test.spec.package_name = (char *)"demo";
        task = start(f, &f->test, "trainer", 0, "true");
        failed = await(f, OBSERVED_START_FAILED, task);
        g_assert_nonnull(strstr(failed->text, "cannot copy the package"));
        g_assert_true(failed->permanent);
        observation_free(failed);
}

/* A copy that a dead server left half made is begun anew. */
static void test_package_resumed(Fixture *f, gconstpointer data)
{
        g_autofree char *half = g_strdup_printf("%s/jobs/%.2s/%s/1/work.new/junk", f->state, f->id, f->id),
                        *task = NULL, *log = NULL;

        make_package(f, "abc");
        g_assert_true(file_mkdirs(half, 0755, NULL));
        f->test.spec.package = (char *)"abc";
        f->test.spec.package_name = (char *)"demo";
        task = start(f, &f->test, "trainer", 0, "ls");
        expect_exit(f, task, 0);
        log = read_log(f, &f->test, "trainer", 0);
        g_assert_cmpstr(log, ==, "sub\ntrain.py\n");
}

static void test_storage(Fixture *f, gconstpointer data)
{
        g_autofree char *input = g_build_filename(f->state, "storage/dc1/home/ada/data", NULL);
        g_autofree char *file = g_build_filename(input, "x", NULL), *task = NULL, *log = NULL, *want = NULL;
        g_autofree char *result = g_build_filename(f->state, "storage/dc1/home/ada/out/model/y", NULL),
                        *text = NULL;

        g_assert_true(file_mkdirs(input, 0755, NULL));
        g_assert_true(g_file_set_contents(file, "data\n", -1, NULL));
        f->test.spec.input = (char *)"/pfs/dc1/home/ada/data";
        f->test.spec.output = (char *)"/pfs/dc1/home/ada/out/model";
        task = start(f, &f->test, "trainer", 0, "cat $PADDLE_INPUT/x; echo made >$OUTPUT/y; echo $INPUT");
        expect_exit(f, task, 0);
        log = read_log(f, &f->test, "trainer", 0);
        want = g_strdup_printf("data\n%s\n", input);
        g_assert_cmpstr(log, ==, want);
        text = read_path(result);
        g_assert_cmpstr(text, ==, "made\n");
}

/* Mounts need privileges; where they are to be had the /pfs names are seen. */
static void test_pfs_names(Fixture *f, gconstpointer data)
{
        g_autofree char *task = NULL, *log = NULL,
                        *result = g_build_filename(f->state, "storage/dc1/home/ada/out/y", NULL),
                        *text = NULL;

        if (geteuid() != 0) {
                g_test_skip("a mount namespace needs root");
                return;
        }
        f->test.spec.output = (char *)"/pfs/dc1/home/ada/out";
        task = start(f, &f->test, "trainer", 0, "echo made >/pfs/dc1/home/ada/out/y; ls /pfs/dc1");
        expect_exit(f, task, 0);
        log = read_log(f, &f->test, "trainer", 0);
        g_assert_cmpstr(log, ==, "home\npublic\n");
        text = read_path(result);
        g_assert_cmpstr(text, ==, "made\n");
}

static void test_storage_refused(Fixture *f, gconstpointer data)
{
        static const struct {
                const char *input, *output;
        } cases[] = {
                { "/pfs/dc1/home/bob/data", NULL },
                { "/pfs/dc1/home/ada/../bob", NULL },
                { NULL, "/pfs/dc1/home/bob/out" },
                { NULL, "/etc" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *task = NULL;
                Observation *failed;

                f->test.spec.input = (char *)cases[i].input;
                f->test.spec.output = (char *)cases[i].output;
                task = start(f, &f->test, "trainer", (int)i, "true");
                failed = await(f, OBSERVED_START_FAILED, task);
                g_assert_nonnull(strstr(failed->text, cases[i].input ? "input: " : "output: "));
                g_assert_true(failed->permanent);
                observation_free(failed);
        }
}

/* Killed under members that run, end meanwhile, and are to be forgotten: all is known again. */
static void test_agent_killed(Fixture *f, gconstpointer data)
{
        g_autofree char *runs = start(f, &f->test, "worker", 0, "exec sleep 600");
        g_autofree char *ends =
                start(f, &f->test, "worker", 1, "while [ ! -e go ]; do sleep 0.01; done; exit 7");
        g_autofree char *over = start(f, &f->test, "worker", 2, "exit 1");
        g_autofree char *go = g_strdup_printf("%s/jobs/%.2s/%s/1/work/go", f->state, f->id, f->id);

        expect(f, OBSERVED_STARTED, runs);
        expect(f, OBSERVED_STARTED, ends);
        expect(f, OBSERVED_EXITED, over);
        kill_agent(f);
        expect(f, OBSERVED_DISCONNECTED, NULL);
        g_assert_true(g_file_set_contents(go, "", -1, NULL));
        f->runtime->ops->forget(f->runtime, over);
        g_ptr_array_set_size(f->aside, 0);
        expect(f, OBSERVED_SYNCED, NULL);
        expect(f, OBSERVED_STARTED, runs);
        expect_exit(f, ends, 7);
        f->runtime->ops->stop(f->runtime, &(const char *){ runs }, 1, 0);
        expect(f, OBSERVED_EXITED, runs);
        f->runtime->ops->forget(f->runtime, runs);
}

enum { KILLS = 6, MEMBERS_A_KILL = 10, MANY = KILLS * MEMBERS_A_KILL };

typedef struct {
        char *task;
        bool seen, ended; /* seen: handed over or reported since the last connection */
} Many;

static void start_missing(Fixture *f, const TestAttempt *test, Many many[MANY], int wanted)
{
        for (int i = 0; i < wanted; i++) {
                if (many[i].seen || many[i].ended)
                        continue;
                g_free(many[i].task);
                many[i].task = start(f, test, "worker", i, "echo ran >>ran; sleep 0.1");
                many[i].seen = true;
        }
}

static int index_of(const Many many[MANY], const char *task)
{
        for (int i = 0; i < MANY; i++)
                if (g_strcmp0(many[i].task, task) == 0)
                        return i;
        return -1;
}

/* As the engine does: of the first members, as many as are `wanted`, what is not reported is asked for again
 * after each `synced`. Returns 1 for an end that is new. */
static int apply(Fixture *f, const TestAttempt *test, Many many[MANY], int wanted,
                 const Observation *observation)
{
        int i = index_of(many, observation->task);

        if (observation->kind == OBSERVED_DISCONNECTED)
                for (int n = 0; n < MANY; n++)
                        many[n].seen = false;
        if (observation->kind == OBSERVED_SYNCED)
                start_missing(f, test, many, wanted);
        if (i < 0)
                return 0;
        many[i].seen = true;
        if (observation->kind != OBSERVED_EXITED)
                return 0;
        g_assert_cmpint(observation->exit_code, ==, 0);
        f->runtime->ops->forget(f->runtime, many[i].task);
        return many[i].ended ? 0 : (many[i].ended = true);
}

/* Every member runs once and its end is told, however often the agent is killed in between. A kill lets the
 * next members start, so that none comes when all is over. */
static void test_agent_killed_often(Fixture *f, gconstpointer data)
{
        Many many[MANY] = { 0 };
        g_autofree char *path = g_strdup_printf("%s/jobs/%.2s/%s/1/work/ran", f->state, f->id, f->id),
                        *ran = NULL;
        int ended = 0, kills = 0;

        start_missing(f, &f->test, many, MEMBERS_A_KILL);
        while (ended < MANY) {
                Observation *observation = observed_pop(f->seen, WAIT_MS);

                if (!observation)
                        g_error("%d of %d ended", ended, MANY);
                ended += apply(f, &f->test, many, MIN(MANY, (kills + 1) * MEMBERS_A_KILL), observation);
                if (kills < KILLS && ended >= kills * MEMBERS_A_KILL) {
                        kill_agent(f);
                        kills++;
                }
                observation_free(observation);
        }
        g_assert_cmpint(kills, ==, KILLS);
        ran = read_path(path);
        g_assert_cmpuint(strlen(ran), ==, MANY * strlen("ran\n"));
        for (int i = 0; i < MANY; i++)
                g_free(many[i].task);
}

static void test_server_restart(Fixture *f, gconstpointer data)
{
        g_autofree char *runs = start(f, &f->test, "worker", 0, "exec sleep 600");
        g_autofree char *over = start(f, &f->test, "worker", 1, "exit 4");

        expect(f, OBSERVED_STARTED, runs);
        expect(f, OBSERVED_EXITED, over);
        close_runtime(f);
        open_runtime(f, 2);
        expect(f, OBSERVED_STARTED, runs);
        expect_exit(f, over, 4); /* it was not forgotten */
        expect(f, OBSERVED_SYNCED, NULL);
        f->runtime->ops->stop(f->runtime, &(const char *){ runs }, 1, 0);
        expect_exit(f, runs, -1);
}

static void prepare_and_expect_failure(Fixture *f, const TestAttempt *test, const char *says)
{
        Observation *failed;

        runtime_prepare(f->runtime, PREPARE_ENVIRONMENT, &test->attempt);
        failed = await(f, OBSERVED_PREPARE_FAILED, test->job.id);
        g_assert_nonnull(strstr(failed->text, says));
        observation_free(failed);
}

static void test_environment(Fixture *f, gconstpointer data)
{
        TestAttempt other;
        g_autofree char *task = NULL, *log = NULL, *build_log = NULL;

        runtime_prepare(f->runtime, PREPARE_ENVIRONMENT, &f->test.attempt); /* needs nothing */
        expect(f, OBSERVED_PREPARED, f->test.job.id);
        g_assert_true(runtime_is_prepared(f->runtime, PREPARE_ENVIRONMENT, &f->test.attempt));

        f->test.spec.requirements = (char *)"tinything\n";
        test_attempt_init(&other, "0000000000000000", 1);
        other.spec.requirements = f->test.spec.requirements;
        g_assert_false(runtime_is_prepared(f->runtime, PREPARE_ENVIRONMENT, &f->test.attempt));
        runtime_prepare(f->runtime, PREPARE_ENVIRONMENT, &f->test.attempt);
        runtime_prepare(f->runtime, PREPARE_ENVIRONMENT, &f->test.attempt);
        runtime_prepare(f->runtime, PREPARE_ENVIRONMENT, &other.attempt);
        expect(f, OBSERVED_PREPARED, f->test.job.id);
        expect(f, OBSERVED_PREPARED, other.job.id);
        g_assert_true(runtime_is_prepared(f->runtime, PREPARE_ENVIRONMENT, &f->test.attempt));
        build_log = read_log(f, &f->test, "environment", 0);
        g_assert_nonnull(strstr(build_log, "The environment is ready."));

        task = start(
                f, &f->test, "worker", 0,
                "python -c 'import sys, os, tinything; print(sys.prefix == os.environ[\"VIRTUAL_ENV\"])'");
        expect_exit(f, task, 0);
        log = read_log(f, &f->test, "worker", 0);
        g_assert_cmpstr(log, ==, "True\n");

        f->test.spec.requirements = (char *)"nosuchthing==1\n";
        prepare_and_expect_failure(f, &f->test, "No matching distribution found for nosuchthing==1");
        prepare_and_expect_failure(f, &f->test,
                                   "No matching distribution found for nosuchthing==1"); /* tried again */
        f->test.spec.requirements = (char *)"-r elsewhere.txt\n";
        prepare_and_expect_failure(f, &f->test, "refers to another file");
}

/* The server goes while a build runs, and the next one takes it up; so with the agent. */
static void test_environment_survives(Fixture *f, gconstpointer data)
{
        f->test.spec.requirements = (char *)"tinything>=1\n";
        runtime_prepare(f->runtime, PREPARE_ENVIRONMENT, &f->test.attempt);
        kill_agent(f);
        expect(f, OBSERVED_SYNCED, NULL);
        close_runtime(f);
        open_runtime(f, 2);
        runtime_prepare(f->runtime, PREPARE_ENVIRONMENT, &f->test.attempt);
        expect(f, OBSERVED_PREPARED, f->test.job.id);
}

static void test_ports(Fixture *f, gconstpointer data)
{
        int ports[3];

        g_assert_true(f->runtime->ops->lease_ports(f->runtime, f->id, 2, 1, ports, NULL));
        g_assert_cmpint(ports[0], !=, ports[1]);
        f->runtime->ops->release_ports(f->runtime, f->id);
        f->runtime->ops->keep_ports(f->runtime, f->id, 3, ports);
}

static void test_no_agent(void)
{
        g_autofree char *state = g_dir_make_tmp("test-local-XXXXXX", NULL);
        LocalConfig config = {
                .state_dir = state, .agent_program = "/nonexistent/agent", .dc = "dc1", .epoch = 1
        };
        g_autoptr(GError) error = NULL;
        Runtime *runtime = local_runtime_new(&config, &error);

        g_assert_no_error(error);
        g_assert_false(runtime->ops->open(runtime, observed_push, NULL, &error));
        g_assert_nonnull(strstr(error->message, "/nonexistent/agent"));
        local_runtime_free(runtime);
        g_assert_true(file_remove_tree(state, NULL));
}

/* The program stands in the build tree, in the room beside this one. */
static char *find_agent(void)
{
        g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
        g_autofree char *dir = g_path_get_dirname(self);

        return g_build_filename(dir, "../agent/paddle-agent", NULL);
}

int main(int argc, char **argv)
{
        static const struct {
                const char *name;
                void (*run)(Fixture *, gconstpointer);
        } tests[] = {
                { "/local/plain", test_plain },
                { "/local/idempotent", test_idempotent },
                { "/local/start-failed", test_start_failed },
                { "/local/stop", test_stop },
                { "/local/ready-file", test_ready_file },
                { "/local/package", test_package },
                { "/local/package-missing", test_package_missing },
                { "/local/package-resumed", test_package_resumed },
                { "/local/storage", test_storage },
                { "/local/pfs-names", test_pfs_names },
                { "/local/storage-refused", test_storage_refused },
                { "/local/agent-killed", test_agent_killed },
                { "/local/agent-killed-often", test_agent_killed_often },
                { "/local/server-restart", test_server_restart },
                { "/local/environment", test_environment },
                { "/local/environment-survives", test_environment_survives },
                { "/local/ports", test_ports },
        };
        g_autofree char *links = NULL;
        int status;

        g_test_init(&argc, &argv, NULL);
        json_init();
        g_setenv("PIP_CONFIG_FILE", "/dev/null", TRUE);
        g_setenv("PIP_NO_INDEX", "1", TRUE);
        links = g_dir_make_tmp("test-local-links-XXXXXX", NULL);
        write_wheel(links);
        g_setenv("PIP_FIND_LINKS", links, TRUE);
        agent_program = find_agent();
        g_test_add_func("/local/no-agent", test_no_agent);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].name, Fixture, NULL, setup, tests[i].run, teardown);
        status = g_test_run();
        g_assert_true(file_remove_tree(links, NULL));
        return status;
}
