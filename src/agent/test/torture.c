/* Kills agent, spawner and keepers with SIGKILL at random while tasks run. Checks that every task ends
 * exactly once and with the right outcome, that none is lost whose keeper was not killed, that none runs
 * twice, and that nothing is left behind. PADDLE_SOAK=1 runs the long form. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/test/client.h"
#include "base/json.h"
#include "base/test/seed.h"

enum {
        IN_FLIGHT = 12,
        TASKS = 160,
        TASKS_SOAK = 4000,
        LINGER_MS = 400,
        QUIET_MS = 90 * 1000,
        LOST_TIME_MS = 120 * 1000
};

typedef enum { EXIT_CODE, NO_PROGRAM, LEAVES_CHILD, DETACHES, STOPPED, SHAPES } Shape;
typedef enum { WAITING, ASKED, STARTED, ENDED, FORGOTTEN } Stage;

typedef struct {
        char name[48];
        Shape shape;
        Stage stage;
        double seconds; /* that it runs */
        int code, pid;
        bool keeper_killed;
        char *outcome; /* as first reported */
} Job;

typedef struct {
        Client *client;
        GRand *random; /* all jobs are drawn before the kills, so that timing changes no draw */
        Job *jobs;
        int n, asked;
        int kills[3];
        gint64 next_kill, last_news;
} Torture;

static char *argv_of(const Torture *torture, const Job *job)
{
        const char *dir = torture->client->dir;

        switch (job->shape) {
        case NO_PROGRAM: return g_strdup("[\"/nonexistent/program\"]");
        case LEAVES_CHILD:
                return g_strdup_printf(
                        "[\"sh\",\"-c\",\"echo x >> %s/ran/%s; sleep 900 & sleep %.3f; exit %d\"]", dir,
                        job->name, job->seconds, job->code);
        case DETACHES:
                return g_strdup_printf("[\"sh\",\"-c\",\"echo x >> %s/ran/%s; setsid setsid sleep 901 & "
                                       "sleep %.3f; exit %d\"]",
                                       dir, job->name, job->seconds, job->code);
        case STOPPED:
                return g_strdup_printf("[\"sh\",\"-c\",\"echo x >> %s/ran/%s; exec sleep 902\"]", dir,
                                       job->name);
        default:
                return g_strdup_printf("[\"sh\",\"-c\",\"echo x >> %s/ran/%s; sleep %.3f; exit %d\"]", dir,
                                       job->name, job->seconds, job->code);
        }
}

static void ask(Torture *torture, Job *job)
{
        g_autofree char *argv = argv_of(torture, job);

        if (job->stage == WAITING)
                job->stage = ASKED;
        (void)client_start(torture->client, job->name, argv,
                           "\"memory\":500000000"); /* requested again after the next hello */
}

/* ── reports of the agent ──────────────────────────────────────────────── */

static char *outcome_of(const json_t *report, const char *op)
{
        return g_strdup_printf("%s %d %d", op, (int)json_integer_value(json_object_get(report, "exit_code")),
                               (int)json_integer_value(json_object_get(report, "signal")));
}

static bool is_right(const Job *job, const char *outcome)
{
        g_autofree char *wanted = NULL;

        if (job->keeper_killed && strcmp(outcome, "lost 0 0") == 0)
                return true;
        if (job->shape == NO_PROGRAM)
                return strcmp(outcome, "failed 0 0") == 0;
        if (job->shape == STOPPED)
                return strcmp(outcome, "exited -1 15") == 0;
        wanted = g_strdup_printf("exited %d 0", job->code);
        return strcmp(outcome, wanted) == 0;
}

static void on_end(Torture *torture, Job *job, const json_t *report, const char *op)
{
        g_autofree char *outcome = outcome_of(report, op);

        if (!is_right(job, outcome)) {
                g_test_message("%s (shape %d, code %d, keeper killed: %d): %s, %s", job->name, job->shape,
                               job->code, job->keeper_killed, outcome,
                               json_string_value(json_object_get(report, "text")));
                g_test_fail();
        }
        if (job->outcome)
                g_assert_cmpstr(outcome, ==, job->outcome); /* a repeated report is the same */
        else
                job->outcome = g_steal_pointer(&outcome);
        job->stage = MAX(job->stage, ENDED);
        (void)client_sendf(torture->client, "{\"op\":\"forget\",\"task\":\"%s\"}", job->name);
}

static Job *find(Torture *torture, const json_t *report)
{
        const char *name = json_string_value(json_object_get(report, "task"));
        int number = name ? (int)g_ascii_strtoll(name + 1, NULL, 10) : -1;

        g_assert_cmpint(number, >=, 0);
        g_assert_cmpint(number, <, torture->n);
        return &torture->jobs[number];
}

static void stop_if_due(Torture *torture, Job *job)
{
        if (job->shape == STOPPED && job->stage == STARTED)
                (void)client_sendf(torture->client, "{\"op\":\"stop\",\"task\":\"%s\",\"grace_ms\":10000}",
                                   job->name);
}

/* True for `synced`. */
static bool on_line(Torture *torture, const json_t *report)
{
        const char *op = json_string_value(json_object_get(report, "op"));

        torture->last_news = g_get_monotonic_time();
        if (strcmp(op, "synced") == 0)
                return true;
        if (strcmp(op, "started") == 0) {
                Job *job = find(torture, report);
                int pid = (int)json_integer_value(json_object_get(report, "pid"));

                g_assert_null(job->outcome); /* nothing starts after its end */
                if (job->pid)
                        g_assert_cmpint(job->pid, ==, pid);
                job->pid = pid;
                job->stage = STARTED;
                stop_if_due(torture, job);
        } else if (strcmp(op, "exited") == 0 || strcmp(op, "failed") == 0 || strcmp(op, "lost") == 0) {
                on_end(torture, find(torture, report), report, op);
        } else if (strcmp(op, "error") == 0) {
                g_test_message("error: %s", json_string_value(json_object_get(report, "text")));
                g_test_fail();
        }
        return false;
}

/* ── kills ─────────────────────────────────────────────────────────────── */

static int parent_of(int pid)
{
        g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid), *text = NULL;
        const char *end;

        if (pid <= 1 || !g_file_get_contents(path, &text, NULL, NULL) || !(end = strrchr(text, ')')))
                return 0;
        return (int)g_ascii_strtoll(end + 4, NULL, 10);
}

static bool is_named(int pid, const char *comm)
{
        g_autofree char *path = g_strdup_printf("/proc/%d/comm", pid), *text = NULL;

        return pid > 1 && g_file_get_contents(path, &text, NULL, NULL) && strcmp(g_strchomp(text), comm) == 0;
}

static void kill_keeper(Torture *torture)
{
        int first = g_rand_int_range(torture->random, 0, torture->n);

        for (int i = 0; i < torture->n; i++) {
                Job *job = &torture->jobs[(first + i) % torture->n];
                int keeper = job->stage == STARTED ? parent_of(job->pid) : 0;

                if (!is_named(keeper, "paddle-keeper"))
                        continue;
                job->keeper_killed = true;
                (void)kill(keeper, SIGKILL); /* may be gone already */
                return;
        }
}

/* A new keeper has the spawner's name, and once that is killed the same parent, but has executed no
 * program. */
static bool is_spawner(int pid, int agent)
{
        enum { FORKED_NO_EXEC = 0x40 }; /* PF_FORKNOEXEC of linux/sched.h */
        g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid), *text = NULL;
        const char *end;
        int parent;
        unsigned flags;

        return g_file_get_contents(path, &text, NULL, NULL) && strstr(text, "(paddle-spawner)") &&
               (end = strrchr(text, ')')) &&
               sscanf(end, ") %*c %d %*d %*d %*d %*d %u", &parent, &flags) == 2 && parent == agent &&
               !(flags & FORKED_NO_EXEC);
}

static void kill_spawner(Torture *torture)
{
        g_autoptr(GArray) pids = client_processes("paddle-spawner");

        for (guint i = 0; i < pids->len; i++)
                if (is_spawner(g_array_index(pids, int, i), torture->client->agent))
                        (void)kill(g_array_index(pids, int, i), SIGKILL); /* may be gone already */
}

static void kill_agent(Torture *torture)
{
        if (torture->client->agent > 0)
                (void)kill(torture->client->agent, SIGKILL); /* may be gone already */
}

static void kill_something(Torture *torture)
{
        static void (*const victims[])(Torture * torture) = { kill_agent, kill_keeper, kill_spawner };
        gint64 now = g_get_monotonic_time();
        int which;

        if (now < torture->next_kill)
                return;
        which = g_rand_int_range(torture->random, 0, G_N_ELEMENTS(victims));
        torture->next_kill = now + g_rand_int_range(torture->random, 20000, 200000);
        torture->kills[which]++;
        victims[which](torture);
        if (which == 2 && g_rand_boolean(torture->random))
                kill_agent(torture);
}

/* ── the run ───────────────────────────────────────────────────────────── */

/* Sends hello, reads all reports, and requests missing tasks again, as a server does. */
static void reconnect(Torture *torture)
{
        bool synced = false;

        client_connect(torture->client);
        for (int i = 0; i < torture->asked; i++)
                if (torture->jobs[i].stage == ENDED)
                        torture->jobs[i].stage = FORGOTTEN; /* unless it is reported again */
        while (!synced && torture->client->fd >= 0) {
                g_autoptr(json_t) report = client_receive(torture->client, QUIET_MS);

                g_assert_true(report || torture->client->fd < 0);
                synced = report && on_line(torture, report);
        }
        for (int i = 0; synced && i < torture->asked; i++)
                if (torture->jobs[i].stage == ASKED)
                        ask(torture, &torture->jobs[i]);
}

static int open_jobs(const Torture *torture)
{
        int n = 0;

        for (int i = 0; i < torture->asked; i++)
                n += torture->jobs[i].stage < ENDED;
        return n;
}

static void run(Torture *torture)
{
        torture->last_news = g_get_monotonic_time();
        while (torture->asked < torture->n || open_jobs(torture) > 0) {
                g_autoptr(json_t) report = NULL;

                if (torture->client->fd < 0)
                        reconnect(torture);
                while (torture->asked < torture->n && open_jobs(torture) < IN_FLIGHT)
                        ask(torture, &torture->jobs[torture->asked++]);
                report = client_receive(torture->client, 10);
                if (report)
                        (void)on_line(torture, report);
                kill_something(torture);
                if (g_get_monotonic_time() - torture->last_news > LOST_TIME_MS * G_GINT64_CONSTANT(1000))
                        g_error("no word for %d ms; %d jobs are open", LOST_TIME_MS, open_jobs(torture));
        }
}

/* The last ends may not be forgotten yet. */
static void forget_all(Torture *torture)
{
        bool any = true;

        while (any) {
                bool synced = false;

                any = false;
                client_connect(torture->client);
                while (!synced && torture->client->fd >= 0) {
                        g_autoptr(json_t) report = client_receive(torture->client, QUIET_MS);

                        g_assert_true(report || torture->client->fd < 0);
                        synced = report && on_line(torture, report);
                        any |= report && !synced && json_object_get(report, "task");
                }
                any |= !synced;
                client_disconnect(torture->client);
        }
}

static void check_runs(const Torture *torture)
{
        for (int i = 0; i < torture->n; i++) {
                const Job *job = &torture->jobs[i];
                g_autofree char *path = g_build_filename(torture->client->dir, "ran", job->name, NULL),
                                *text = NULL;
                gsize len = 0;

                (void)g_file_get_contents(path, &text, &len, NULL); /* absent: it never ran */
                g_assert_nonnull(job->outcome);
                g_assert_cmpint((int)len, <=, 2); /* "x\n" */
                if (g_str_has_prefix(job->outcome, "exited") && job->shape != STOPPED)
                        g_assert_cmpint((int)len, ==, 2);
        }
}

/* The agent ends by itself; nothing of the run may be left then. */
static void check_nothing_left(Torture *torture)
{
        g_autofree char *cgroups = NULL, *tasks = g_build_filename(torture->client->dir, "agent/tasks", NULL);
        g_autoptr(GDir) dir = NULL;
        guint left = 1;

        if (torture->client->agent > 0)
                g_assert_cmpint(waitpid(torture->client->agent, NULL, 0), ==, torture->client->agent);
        torture->client->agent = 0;
        for (int i = 0; i < 6000 && left > 0; i++) {
                g_autoptr(GArray) pids = client_processes(torture->client->dir);

                left = pids->len;
                if (left > 0)
                        g_usleep(10000);
        }
        g_assert_cmpint((int)left, ==, 0);
        g_assert_cmpint(waitpid(-1, NULL, WNOHANG), ==, -1); /* we have no child, so no zombie either */
        cgroups = client_cgroups(torture->client);
        g_assert_cmpstr(cgroups, ==, "");
        dir = g_dir_open(tasks, 0, NULL);
        g_assert_null(g_dir_read_name(dir));
}

static void test_torture(void)
{
        g_autoptr(Client) client = client_new("torture");
        Torture torture = { .client = client, .random = g_rand_new_with_seed(seed_of_test()) };
        g_autofree char *ran = g_build_filename(client->dir, "ran", NULL);

        client->linger_ms = LINGER_MS;
        g_assert_cmpint(g_mkdir_with_parents(ran, 0755), ==, 0);
        client_connect(client);
        json_decref(client_expect(client, "synced", NULL));
        torture.n = is_soak() ? TASKS_SOAK : TASKS;
        torture.jobs = g_new0(Job, torture.n);
        for (int i = 0; i < torture.n; i++) {
                (void)g_snprintf(torture.jobs[i].name, sizeof torture.jobs[i].name, "t%d.1.worker.0", i);
                torture.jobs[i].shape = g_rand_int_range(torture.random, 0, SHAPES);
                if (torture.jobs[i].shape == DETACHES && !client->has_groups)
                        torture.jobs[i].shape =
                                LEAVES_CHILD; /* outside its session only its cgroup finds it */
                torture.jobs[i].seconds = g_rand_double_range(torture.random, 0.0, 0.15);
                torture.jobs[i].code = g_rand_int_range(torture.random, 0, 100);
        }
        run(&torture);
        forget_all(&torture);
        check_runs(&torture);
        check_nothing_left(&torture);
        g_test_message("kills: %d agents, %d keepers, %d spawners", torture.kills[0], torture.kills[1],
                       torture.kills[2]);
        for (int i = 0; i < torture.n; i++)
                g_free(torture.jobs[i].outcome);
        g_free(torture.jobs);
        g_rand_free(torture.random);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/agent/torture", test_torture);
        return g_test_run();
}
