/* Requests become specifications: doc/reference/paddleflow-api.md, "Fields of a job" and "Frameworks and roles". */
#include "jobspec/job-request.h"

#include <string.h>

#include "base/err.h"

static Catalog *seeded(void)
{
        g_autoptr(GPtrArray) objects = catalog_seed(CLUSTER_LOCAL, 0);

        return catalog_load(objects);
}

static void begin(JobRequest *request, const Catalog *catalog, const char *framework)
{
        job_request_init(request);
        request->queue = catalog_queue(catalog, QUEUE_SEEDED);
        request->framework = paddleflow_framework_find(framework);
}

static JobMember *add(JobRequest *request, PaddleFlowRole role, int replicas, const char *command)
{
        JobMember *member = job_request_add(request);

        member->role = role;
        member->replicas = replicas;
        member->command = command;
        member->each = (Resources){ .cpu_milli = 1000, .memory = (gint64)2 << 30 };
        return member;
}

/* "paddle-ps: pserver=1 trainer=2" of a specification. */
static char *shape_of(const Spec *spec)
{
        g_autoptr(GString) out = g_string_new(spec->framework->name);

        g_string_append_c(out, ':');
        for (int r = 0; r < spec->n_roles; r++)
                g_string_append_printf(out, " %s=%d", spec->roles[r].name, spec->roles[r].replicas);
        return g_string_free(g_steal_pointer(&out), FALSE);
}

static Spec *finish(JobRequest *request, GError **error)
{
        g_autoptr(json_t) spec = NULL;

        if (!job_request_check_counts(request, error))
                return NULL;
        spec = job_request_format(request, error);
        if (spec)
                job_request_put_place(request, "job-1", spec);
        return spec ? spec_parse(spec, error) : NULL;
}

static void test_frameworks(void)
{
        static const struct {
                const char *framework;
                int counts[PADDLEFLOW_ROLES]; /* pserver, master, worker, driver, executor */
                const char *mode, *shape, *says;
        } cases[] = {
                { "standalone", { 0, 0, 1 }, "", "plain: worker=1", NULL },
                { "paddle", { 1, 0, 2 }, "PS", "paddle-ps: pserver=1 trainer=2", NULL },
                { "paddle", { 0, 0, 4 }, "Collective", "paddle-collective: trainer=4", NULL },
                { "tensorflow", { 2, 1, 3 }, "PS", "tensorflow: pserver=2 master=1 worker=3", NULL },
                { "tensorflow", { 0, 0, 2 }, "Collective", "tensorflow: worker=2", NULL },
                { "pytorch", { 0, 1, 2 }, "PS", "pytorch: master=1 worker=2", NULL },
                { "mpi", { 0, 1, 3 }, "", "mpi: master=1 worker=3", NULL },
                { "spark", { 0, 0, 0, 1, 2 }, "", "spark: driver=1 executor=2", NULL },
                { "paddle",
                  { 0, 0, 1 },
                  "",
                  NULL,
                  "paddle in Collective mode needs at least 2 worker, not 1" },
                { "paddle", { 1 }, "", NULL, "paddle in PS mode needs at least 1 worker, not 0" },
                { "paddle", { 0, 1, 1 }, "PS", NULL, "a job of 'paddle' cannot have the role 'master'" },
                { "mpi", { 0, 0, 3 }, "", NULL, "mpi needs at least 1 master, not 0" },
                { "ray", { 0, 1, 1 }, "", NULL, "jobs of 'ray' cannot run here" },
                { "standalone", { 0, 0, 2 }, "", NULL, "standalone has exactly 1 worker, not 2" },
        };
        g_autoptr(Catalog) catalog = seeded();

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(JobRequest) request;
                g_autoptr(GError) error = NULL;
                g_autoptr(Spec) spec = NULL;
                g_autofree char *shape = NULL;

                begin(&request, catalog, cases[i].framework);
                for (int role = 0; role < PADDLEFLOW_ROLES; role++)
                        if (cases[i].counts[role])
                                add(&request, (PaddleFlowRole)role, cases[i].counts[role], "true");
                spec = finish(&request, &error);
                shape = spec ? shape_of(spec) : NULL;
                g_assert_cmpstr(shape, ==, cases[i].shape);
                g_assert_cmpstr(request.mode, ==, cases[i].mode);
                g_assert_true(spec || strstr(error->message, cases[i].says));
                g_assert_true(!spec || g_str_equal(spec->queue, QUEUE_SEEDED));
        }
}

/* Runs the command of the role as place `i` of it, and returns what it prints. */
static char *run_as(const Spec *spec, int role, const char *variable)
{
        g_auto(GStrv) env = g_environ_setenv(g_get_environ(), "PADDLE_TRAINER_ID", variable, TRUE);
        g_autoptr(GError) error = NULL;
        char *out = NULL;

        g_spawn_sync(NULL, spec->roles[role].command, env, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, NULL, NULL,
                     &error);
        g_assert_no_error(error);
        return out;
}

/* Each member of a role has its own command and variables, which reach no shell. */
static void test_shared_role(void)
{
        g_autoptr(Catalog) catalog = seeded();
        g_autoptr(json_t) env = json_pack("{s:s}", "WHO", "it's $(id) \"two\""),
                          args = json_pack("[s, s]", "echo", "a'b; $WHO");
        g_auto(JobRequest) request;
        g_autoptr(GError) error = NULL;
        g_autoptr(Spec) spec = NULL;
        g_autofree char *zero = NULL, *one = NULL, *two = NULL;

        begin(&request, catalog, "paddle");
        add(&request, PADDLEFLOW_WORKER, 2, "echo \"first $WHO\"")->env = env;
        add(&request, PADDLEFLOW_WORKER, 1, "")->args = args;
        spec = finish(&request, &error);
        g_assert_no_error(error);
        g_assert_cmpint(spec->roles[0].replicas, ==, 3);
        g_assert_null(spec->roles[0].env);
        zero = run_as(spec, 0, "0");
        one = run_as(spec, 0, "1");
        two = run_as(spec, 0, "2");
        g_assert_cmpstr(zero, ==, "first it's $(id) \"two\"\n");
        g_assert_cmpstr(one, ==, zero);
        g_assert_cmpstr(two, ==, "a'b; $WHO\n");
}

static void test_refusals(void)
{
        g_autoptr(Catalog) catalog = seeded();
        g_auto(JobRequest) none, unequal, many;
        g_autoptr(GError) error = NULL, differ = NULL, sum = NULL;

        begin(&none, catalog, "standalone");
        add(&none, PADDLEFLOW_WORKER, 1, "");
        g_assert_null(finish(&none, &error));
        g_assert_nonnull(strstr(error->message, "no command of the role 'worker' says what to run"));

        begin(&unequal, catalog, "paddle");
        add(&unequal, PADDLEFLOW_WORKER, 1, "true");
        add(&unequal, PADDLEFLOW_WORKER, 1, "true")->each.cpu_milli = 2000;
        g_assert_null(finish(&unequal, &differ));
        g_assert_nonnull(strstr(differ->message, "all members of the role 'worker' have one flavour here"));

        begin(&many, catalog, "paddle"); /* the seeded queue has 20 cores */
        add(&many, PADDLEFLOW_WORKER, 20, "true")->each.memory = 1 << 30;
        g_assert_true(job_request_check_sum(catalog, &many, &sum));
        add(&many, PADDLEFLOW_PSERVER, 1, "true");
        g_assert_false(job_request_check_sum(catalog, &many, &sum));
        g_assert_true(err_is(sum, ERR_QUOTA));
        g_assert_nonnull(strstr(sum->message, "21 of cpu are more than the 20 of queue 'default-queue'"));
}

static void test_priority(void)
{
        static const struct {
                const char *word;
                int priority; /* 7: left as it is */
        } cases[] = { { "", 7 }, { "LOW", -100 }, { "normal", 0 }, { "High", 100 } };
        g_autoptr(GError) error = NULL;
        int priority;

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                priority = 7;
                g_assert_true(job_priority_parse(cases[i].word, &priority, NULL));
                g_assert_cmpint(priority, ==, cases[i].priority);
        }
        g_assert_false(job_priority_parse("VERY_HIGH", &priority, &error));
        g_assert_cmpstr(error->message, ==, "priority 'VERY_HIGH' is not one of LOW, NORMAL, HIGH");
}

static void test_restart_policy(void)
{
        g_assert_cmpint(job_restart_retries(""), ==, 0);
        g_assert_cmpint(job_restart_retries("Never"), ==, 0);
        g_assert_cmpint(job_restart_retries("Always"), ==, 1000);
        g_assert_cmpint(job_restart_retries("OnFailure"), ==, 1000);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/job-request/frameworks", test_frameworks);
        g_test_add_func("/job-request/shared-role", test_shared_role);
        g_test_add_func("/job-request/refusals", test_refusals);
        g_test_add_func("/job-request/priority", test_priority);
        g_test_add_func("/job-request/restart-policy", test_restart_policy);
        return g_test_run();
}
