/* Jobs of steps: doc/reference/pipelines.md, "Jobs of steps". */
#include "pipeline/step-job.h"

#include <string.h>

#include "base/err.h"
#include "model/framework.h"
#include "pipeline/test/parse.h"

static Catalog *seeded(void)
{
        g_autoptr(GPtrArray) objects = catalog_seed(CLUSTER_LOCAL, 0);

        return catalog_load(objects);
}

/* The job of the step `s` of a text. */
static Spec *job_of(const StepRun *about, const char *body, const json_t *item, GError **error)
{
        static const DefinitionRequest request = { .image_optional = true };
        g_autoptr(Definition) definition = parse_valid(body, &request);
        g_autoptr(Catalog) catalog = seeded();
        StepRun run = about ? *about : (StepRun){ .queue = "default" };
        const RenderContext context = { .definition = definition, .run_id = "run-000007", .user = "ann" };
        const RenderDag top = { .component = DEFINITION_ROOT };
        g_auto(Rendered) rendered = { 0 };
        guint32 step = component_named(definition, "s");

        run.definition = definition;
        run.catalog = catalog;
        g_assert_true(render_instance(&context, &top, step, 0, item, NULL, &rendered, NULL));
        return step_job(&run, step, "run-000007-s-3", &rendered, error);
}

/* "plain: worker=1 flavour2 4000m [echo hi]" of a specification; commands without their "sh -c". */
static char *shape_of(const Spec *spec)
{
        g_autoptr(GString) out = g_string_new(spec->framework->name);

        g_string_append_c(out, ':');
        for (int r = 0; r < spec->n_roles; r++) {
                const Role *role = &spec->roles[r];

                g_string_append_printf(out, " %s=%d", role->name, role->replicas);
                if (role->flavour)
                        g_string_append_printf(out, " %s", role->flavour);
                g_string_append_printf(out, " %dm", (int)role->each.cpu_milli);
                if (role->command)
                        g_string_append_printf(out, " [%s]", role->command[2]);
        }
        return g_string_free(g_steal_pointer(&out), FALSE);
}

/* A step with these variables, and its job; or a part of the sentence of RE-05. */
static void test_forms(void)
{
        static const struct {
                const char *env, *command, *shape, *says;
        } cases[] = {
                /* one process */
                { "", "run", "plain: worker=1 1000m [run]", NULL },
                { "PF_JOB_TYPE: single", "run", "plain: worker=1 1000m [run]", NULL },
                { "PF_JOB_TYPE: vcjob", "run", "plain: worker=1 1000m [run]", NULL },
                { "PF_JOB_TYPE: vcjob, PF_JOB_MODE: Pod", "run", "plain: worker=1 1000m [run]", NULL },
                { "PF_JOB_FLAVOUR: flavour2", "run", "plain: worker=1 flavour2 4000m [run]", NULL },
                { "PF_JOB_FLAVOUR: flavour1, PF_JOB_WORKER_FLAVOUR: flavour2, PF_JOB_WORKER_COMMAND: other",
                  "run", "plain: worker=1 flavour1 1000m [run]", NULL },
                { "PF_JOB_LIMIT_FLAVOUR: NONE, PF_JOB_FLAVOUR: flavour2", "run",
                  "plain: worker=1 flavour2 4000m [run]", NULL },
                { "PF_JOB_LIMIT_FLAVOUR: flavour1, PF_JOB_FLAVOUR: flavour2", "run", NULL,
                  "more cpu than the limit of flavour 'flavour1'" },
                { "PF_JOB_FLAVOUR: none", "run", NULL, "there is no flavour 'none'" },
                { "PF_JOB_TYPE: other", "run", NULL,
                  "PF_JOB_TYPE: 'other' is neither single nor distributed" },
                { "", "", NULL, "the step has no command" },
                { "", "  ", NULL, "the step has no command" },
                /* PaddlePaddle */
                { "PF_JOB_TYPE: distributed, PF_JOB_FRAMEWORK: paddle, PF_JOB_MODE: PS", "run",
                  "paddle-ps: pserver=1 1000m [run] trainer=1 1000m [run]", NULL },
                { "PF_JOB_TYPE: vcjob, PF_JOB_MODE: PS, PF_JOB_PSERVER_REPLICAS: 2, PF_JOB_WORKER_REPLICAS: '3', "
                  "PF_JOB_PSERVER_COMMAND: serve, PF_JOB_WORKER_COMMAND: train, PF_JOB_PSERVER_FLAVOUR: flavour1, "
                  "PF_JOB_WORKER_FLAVOUR: flavour2",
                  "", "paddle-ps: pserver=2 flavour1 1000m [serve] trainer=3 flavour2 4000m [train]", NULL },
                { "PF_JOB_TYPE: distributed, PF_JOB_FRAMEWORK: Paddle, PF_JOB_WORKER_REPLICAS: 2, "
                  "PF_JOB_FLAVOUR: flavour2",
                  "run", "paddle-collective: trainer=2 flavour2 4000m [run]", NULL },
                { "PF_JOB_TYPE: vcjob, PF_JOB_MODE: Collective, PF_JOB_WORKER_REPLICAS: 2", "run",
                  "paddle-collective: trainer=2 1000m [run]", NULL },
                { "PF_JOB_TYPE: distributed, PF_JOB_MODE: Collective", "run", NULL,
                  "paddle in Collective mode needs at least 2 worker, not 1" },
                { "PF_JOB_TYPE: distributed, PF_JOB_MODE: Collective, PF_JOB_PSERVER_REPLICAS: 1", "run",
                  NULL, "PF_JOB_MODE: 'Collective', but its members make it a job of the mode PS" },
                { "PF_JOB_TYPE: distributed, PF_JOB_MODE: PS, PF_JOB_WORKER_REPLICAS: 0", "run", NULL,
                  "PF_JOB_WORKER_REPLICAS: '0' is not a whole number from 1 to 10000" },
                { "PF_JOB_TYPE: distributed, PF_JOB_MODE: PS, PF_JOB_WORKER_REPLICAS: many", "run", NULL,
                  "PF_JOB_WORKER_REPLICAS: 'many' is not a whole number" },
                { "PF_JOB_TYPE: distributed, PF_JOB_MODE: PS, PF_JOB_WORKER_COMMAND: train", "", NULL,
                  "no command of the role 'pserver' says what to run" },
                /* others */
                { "PF_JOB_TYPE: distributed, PF_JOB_FRAMEWORK: tensorflow, PF_JOB_MODE: PS, "
                  "PF_JOB_MASTER_REPLICAS: 1",
                  "run", "tensorflow: pserver=1 1000m [run] master=1 1000m [run] worker=1 1000m [run]",
                  NULL },
                { "PF_JOB_TYPE: distributed, PF_JOB_FRAMEWORK: pytorch, PF_JOB_MODE: PS, PF_JOB_WORKER_REPLICAS: 3",
                  "run", "pytorch: master=1 1000m [run] worker=3 1000m [run]", NULL },
                { "PF_JOB_TYPE: distributed, PF_JOB_FRAMEWORK: mpi, PF_JOB_WORKER_REPLICAS: 4", "mpirun a",
                  "mpi: master=1 1000m [mpirun a] worker=4 1000m [mpirun a]", NULL },
                { "PF_JOB_TYPE: distributed, PF_JOB_FRAMEWORK: spark, PF_JOB_SPARK_MAIN_FILE: a.py, "
                  "PF_JOB_EXECUTOR_REPLICAS: 2, PF_JOB_EXECUTOR_FLAVOUR: flavour2",
                  "", "spark: driver=1 1000m executor=2 flavour2 4000m", NULL },
                { "PF_JOB_TYPE: distributed, PF_JOB_FRAMEWORK: spark, PF_JOB_EXECUTOR_FLAVOUR: flavour2", "",
                  NULL, "command is missing" },
                { "PF_JOB_TYPE: distributed, PF_JOB_FRAMEWORK: spark, PF_JOB_PSERVER_REPLICAS: 1", "run",
                  NULL, "'pserver' is not a role of spark" },
                { "PF_JOB_TYPE: distributed, PF_JOB_FRAMEWORK: mpi, PF_JOB_MODE: PS", "run", NULL,
                  "PF_JOB_MODE: 'PS', but jobs of mpi have no mode" },
                { "PF_JOB_TYPE: distributed, PF_JOB_FRAMEWORK: ray", "", NULL,
                  "jobs of 'ray' cannot run here" },
                { "PF_JOB_TYPE: distributed, PF_JOB_FRAMEWORK: mxnet", "run", NULL,
                  "jobs of 'mxnet' cannot run here" },
                { "PF_JOB_TYPE: distributed, PF_JOB_FRAMEWORK: standalone", "run", NULL,
                  "'standalone' is not a framework of distributed jobs" },
                { "PF_JOB_TYPE: distributed", "run", NULL,
                  "PF_JOB_FRAMEWORK is missing. A distributed job has one of paddle, tensorflow, pytorch, spark, mpi." },
                /* all together */
                { "PF_JOB_QUEUE_NAME: default-queue, PF_JOB_TYPE: distributed, PF_JOB_MODE: PS, PF_JOB_WORKER_REPLICAS: 20",
                  "run", NULL, "21 of cpu are more than the 20 of queue 'default-queue'" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *body = g_strdup_printf("entry_points: {s: {command: '%s', env: {%s}}}",
                                                        cases[i].command, cases[i].env);
                g_autoptr(GError) error = NULL;
                g_autoptr(Spec) spec = job_of(NULL, body, NULL, &error);
                g_autofree char *shape = spec ? shape_of(spec) : NULL;

                g_test_message("%s: %s", body, spec ? shape : error->message);
                g_assert_cmpstr(shape, ==, cases[i].shape);
                if (spec)
                        continue;
                g_assert_true(err_is(error, ERR_INVALID) && g_str_has_prefix(error->message, "RE-05: "));
                g_assert_null(strchr(error->message, '\n'));
                g_assert_nonnull(strstr(error->message, cases[i].says));
        }
}

static void assert_env(const Spec *spec, const char *const *pairs)
{
        for (; *pairs; pairs++) {
                g_test_message("%s", *pairs);
                g_assert_true(g_strv_contains((const char *const *)spec->env, *pairs));
        }
}

/* System variables, paths of artifacts and the step's own, in which the parameter is data. */
static void test_variables(void)
{
        static const char body[] =
                "fs_options: {main_fs: {name: home, mount_path: /mnt}}\n"
                "entry_points:\n"
                "  s:\n"
                "    loop_argument: [a b]\n"
                "    parameters: {p: \"x'; $(touch /tmp/no) \\\"q\\\"\"}\n"
                "    artifacts: {output: [model]}\n"
                "    env: {OWN: '{{p}}', PF_MOUNT_PATH: none, PF_RUN_ID: mine, PF_JOB_PRIORITY: high, PF_JOB_QUEUE_NAME: default}\n"
                "    command: echo \"$OWN\"\n";
        g_autoptr(json_t) item = json_string("a b");
        g_autoptr(GError) error = NULL;
        g_autoptr(Spec) spec = job_of(NULL, body, item, &error);

        g_assert_no_error(error);
        assert_env(spec, (const char *const[]){ "OWN=x'; $(touch /tmp/no) \"q\"", "PF_RUN_ID=run-000007",
                                                "PF_STEP_NAME=s", "PF_USER_NAME=ann", "PF_LOOP_ARGUMENT=a b",
                                                "PF_JOB_PRIORITY=high",
                                                "PF_OUTPUT_ARTIFACT_MODEL=/mnt/.pipeline/run-000007/demo/"
                                                "s-0-5051abe904a2609a712ec9bb6cfc2aab/model",
                                                NULL });
        g_assert_cmpstr(spec->roles[0].command[2], ==, "echo \"$OWN\"");
        g_assert_cmpstr(spec->name, ==, "run-000007-s-3");
        g_assert_cmpstr(spec->queue, ==, "default");
        g_assert_cmpstr(spec->image, ==, "img");
        g_assert_cmpint(spec->priority, ==, 100);
        g_assert_cmpint(spec->retries, ==, 0);
}

/* Keys of our own, and what the run brings. */
static void test_own_keys(void)
{
        g_autofree char *sent = g_strnfill(64, 'a'), *own = g_strnfill(64, 'b');
        const StepRun run = {
                .queue = "default", .package = sent, .package_name = "digits", .requirements = "numpy\n"
        };
        const struct {
                const char *keys, *package, *package_name, *requirements;
                int retries;
                gint64 time_limit_ms;
        } cases[] = {
                { "", sent, "digits", "numpy\n", 0, 0 },
                { "retries: 2, time_limit: 1.5", sent, "digits", "numpy\n", 2, 1500 },
                { "time_limit: 2h, env: {PF_JOB_RESTART_POLICY: OnFailure}", sent, "digits", "numpy\n", 1000,
                  2 * 3600 * 1000 },
                { "retries: 1, env: {PF_JOB_RESTART_POLICY: Always}", sent, "digits", "numpy\n", 1, 0 },
                { "requirements: [scipy, pandas]", sent, "digits", "scipy\npandas\n", 0, 0 },
                { "package: PACKAGE", own, NULL, NULL, 0, 0 },
                { "package: PACKAGE, requirements: scipy", own, NULL, "scipy", 0, 0 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text =
                        g_strdup_printf("entry_points: {s: {command: run, %s}}", cases[i].keys);
                g_auto(GStrv) parts = g_strsplit(text, "PACKAGE", 2);
                g_autofree char *body = g_strjoinv(own, parts);
                g_autoptr(GError) error = NULL;
                g_autoptr(Spec) spec = job_of(&run, body, NULL, &error);

                g_assert_no_error(error);
                g_assert_cmpstr(spec->package, ==, cases[i].package);
                g_assert_cmpstr(spec->package_name, ==, cases[i].package_name);
                g_assert_cmpstr(spec->requirements, ==, cases[i].requirements);
                g_assert_cmpint(spec->retries, ==, cases[i].retries);
                g_assert_cmpint(spec->time_limit_ms, ==, cases[i].time_limit_ms);
                g_assert_cmpstr(spec->queue, ==, "default");
        }
}

/* C071 and C072: the main file system, then those of the step, then those of the pipeline; where a command begins. */
static void test_mounts(void)
{
        static const char hash[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
        static const StepRun bare = { .queue = "default" }, sent = { .queue = "default", .package = hash };
        static const struct {
                const StepRun *run;
                const char *top, *step, *mounts, *work_dir; /* NULL: where the job begins */
        } cases[] = {
                { &bare, "", "", NULL, NULL },
                { &bare, "fs_options: {main_fs: {name: home}}", "",
                  "home::/home/paddleflow/storage/mnt/fs-ann-home:rw",
                  "/home/paddleflow/storage/mnt/fs-ann-home" },
                { &bare, "fs_options: {main_fs: {name: home, sub_path: a/b, mount_path: /mnt}}", "",
                  "home:a/b:/mnt:rw", "/mnt" },
                { &bare,
                  "fs_options: {main_fs: {name: home, mount_path: /m}, extra_fs: [{name: c, mount_path: /c, read_only: true}]}",
                  "extra_fs: [{name: b, sub_path: s, mount_path: /b}]", "home::/m:rw b:s:/b:rw c::/c:ro",
                  "/m" },
                { &bare, "", "extra_fs: [{name: b, mount_path: /b}]", "b::/b:rw", "/b" },
                { &bare, "fs_options: {extra_fs: [{name: b, mount_path: /b}]}",
                  "extra_fs: [{name: b, mount_path: /b}]", "b::/b:rw", "/b" },
                { &bare, "fs_options: {main_fs: {name: home, mount_path: /mnt}}",
                  "env: {PF_MOUNT_PATH: NONE}", "home::/mnt:rw", NULL },
                { &sent, "fs_options: {main_fs: {name: home, mount_path: /mnt}}", "", "home::/mnt:rw", NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *body =
                        g_strdup_printf("!name: demo\n%s\nentry_points: {s: {command: bash -c run, %s}}",
                                        cases[i].top, cases[i].step);
                StepRun run = *cases[i].run;
                g_autofree char *mounts = NULL, *line = NULL;
                g_autoptr(GError) error = NULL;
                g_autoptr(Spec) spec = NULL;

                g_test_message("%s", body);
                run.image_optional = true;
                spec = job_of(&run, body, NULL, &error);
                g_assert_no_error(error);
                mounts = spec->mounts ? g_strjoinv(" ", spec->mounts) : NULL;
                line = cases[i].work_dir
                               ? g_strdup_printf(
                                         "export PF_WORK_DIR='%s'\ncd \"$PF_WORK_DIR\" || exit 1\nrun",
                                         cases[i].work_dir)
                               : g_strdup("run");
                g_assert_cmpstr(mounts, ==, cases[i].mounts);
                g_assert_cmpstr(spec->roles[0].command[2], ==, line);
        }
}

static void test_refusals(void)
{
        const struct {
                const char *text, *says;
        } cases[] = {
                { "docker_env: img\nentry_points: {s: {command: run, env: {PF_JOB_QUEUE_NAME: none}}}",
                  "queue 'none' does not exist" },
                { "docker_env: img\nentry_points: {s: {command: run, env: {PF_JOB_PRIORITY: VERY_HIGH}}}",
                  "priority 'VERY_HIGH' is not one of LOW, NORMAL, HIGH" },
                { "entry_points: {s: {command: run}}", "the step has no image" },
                { "docker_env: img\nfs_options: {extra_fs: [{name: b, mount_path: /}]}\nentry_points: {s: {command: run}}",
                  "'/' cannot be mounted on" },
                { "docker_env: img\nfs_options: {extra_fs: [{name: b, mount_path: ..}]}\nentry_points: {s: {command: run}}",
                  "contains '..'" },
                { "docker_env: img\nentry_points: {s: {command: run, package: nohash}}",
                  "package: 'nohash' is not a content hash" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                static const StepRun run;
                g_autofree char *body = g_strconcat("!name: demo\n", cases[i].text, NULL);
                g_autoptr(GError) error = NULL;

                g_assert_null(job_of(&run, body, NULL, &error));
                g_assert_true(g_str_has_prefix(error->message, "RE-05: "));
                g_assert_nonnull(strstr(error->message, cases[i].says));
        }
}

static void test_commands(void)
{
        static const struct {
                const char *text, *command;
        } cases[] = {
                { "echo a", "echo a" },
                { "bash -c echo a", "echo a" },
                { "sh -c  echo a; echo b", "echo a; echo b" },
                { " sh -c echo a", "echo a" },
                { "bash -c sh -c echo", "sh -c echo" },
                { "bash -c 'echo a'", "bash -c 'echo a'" },
                { "sh -c \"echo a\" b", "sh -c \"echo a\" b" },
                { "sh -cx echo", "sh -cx echo" },
                { "sh -c", "sh -c" },
                { "bash script.sh", "bash script.sh" },
                { "", "" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *command = step_command(cases[i].text);

                g_assert_cmpstr(command, ==, cases[i].command);
        }
}

static void test_names(void)
{
        g_autofree char *name = step_job_name("run-000007", "Train-A", 12),
                        *longest = step_job_name("run-01234567890123456789", "a23456789-123456789-123456789-",
                                                 999999);

        g_assert_cmpstr(name, ==, "run-000007-train-a-12");
        g_assert_true(name_is_valid(longest));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/step-job/forms", test_forms);
        g_test_add_func("/step-job/variables", test_variables);
        g_test_add_func("/step-job/own-keys", test_own_keys);
        g_test_add_func("/step-job/mounts", test_mounts);
        g_test_add_func("/step-job/refusals", test_refusals);
        g_test_add_func("/step-job/commands", test_commands);
        g_test_add_func("/step-job/names", test_names);
        return g_test_run();
}
