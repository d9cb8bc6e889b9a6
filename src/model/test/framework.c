/* Frameworks: the rows, and what a member of each is told. */
#include "model/framework.h"

#include <string.h>

#include "base/err.h"

static int ps_ports[] = { 6000, 6001 }, trainer_ports[] = { 7000, 7001, 7002 };
static int extra[] = { 8000 };

static Spec *spec(const char *text)
{
        g_autofree char *quoted = g_strdelimit(g_strdup(text), "`", '"');
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) object = json_parse(quoted, strlen(quoted), &error);
        Spec *made = spec_parse(object, &error);

        g_assert_no_error(error);
        return made;
}

static Placement placement(const Spec *s, int *const *ports)
{
        return (Placement){ .spec = s,
                            .job_id = "4k2m",
                            .job_name = "digits",
                            .user = "ann",
                            .dc = "local",
                            .attempt = 1,
                            .host = "127.0.0.1",
                            .ports = ports,
                            .extra_ports = extra };
}

static void assert_env(char **env, const char *const *want)
{
        for (; *want; want++) {
                const char *equals = strchr(*want, '=');
                g_autofree char *name = g_strndup(*want, (gsize)(equals - *want));
                const char *value = g_environ_getenv(env, name);

                if (strcmp(equals, "=(none)") == 0)
                        value = value ? value : "(none)";
                g_test_message("%s", *want);
                g_assert_cmpstr(value, ==, equals + 1);
        }
}

static void assert_no_repeats(char **env)
{
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

        for (; *env; env++)
                g_assert_true(g_hash_table_add(seen, g_strndup(*env, strcspn(*env, "="))));
}

#define PS                                                                                                   \
        "{`command`:[`python`,`train "                                                                       \
        "it.py`],`env`:{`NUM_PASS`:`5`},`roles`:[{`name`:`pserver`,`replicas`:2},"                           \
        "{`name`:`trainer`,`replicas`:3,`cpu`:`2500m`}]}"

static void test_ps_trainer(void)
{
        g_autoptr(Spec) s = spec(PS);
        int *const ports[] = { ps_ports, trainer_ports };
        Placement p = placement(s, ports);
        g_auto(GStrv) env = framework_environment(&p, 1, 2), again = framework_environment(&p, 1, 2);
        static const char *const want[] = {
                "PADDLE_PSERVERS_IP_PORT_LIST=127.0.0.1:6000,127.0.0.1:6001",
                "PADDLE_TRAINER_ENDPOINTS=127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002",
                "PADDLE_CURRENT_ENDPOINT=127.0.0.1:7002",
                "PADDLE_TRAINERS_NUM=3",
                "PADDLE_TRAINERS=127.0.0.1,127.0.0.1,127.0.0.1",
                "PADDLE_TRAINER_ID=2",
                "PADDLE_PORT=7002",
                "POD_IP=127.0.0.1",
                "TRAINING_ROLE=TRAINER",
                "PADDLE_TRAINING_ROLE=TRAINER",
                "PADDLE_WITH_GLOO=1",
                "PADDLE_GLOO_RENDEZVOUS=3",
                "PADDLE_GLOO_HTTP_ENDPOINT=127.0.0.1:8000",
                "PADDLE_DISTRI_BACKEND=gloo",
                "TRAINER_PORTS_NUM=1",
                "TRAINERS=3",
                "PSERVERS=2",
                "ENTRY=python 'train it.py'",
                "TOPOLOGY=",
                "PADDLE_INIT_PORT=7002",
                "PADDLE_INIT_TRAINER_COUNT=2",
                "PADDLE_INIT_PORTS_NUM=1",
                "PADDLE_INIT_PORTS_NUM_FOR_SPARSE=1",
                "PADDLE_INIT_NUM_GRADIENT_SERVERS=3",
                "PADDLE_INIT_NUM_PASSES=5",
                "PADDLE_INIT_USE_GPU=0",
                "PADDLE_INIT_PSERVERS=127.0.0.1:6000,127.0.0.1:6001",
                "PADDLE_INIT_TRAINER_ID=2",
                "PADDLE_CLOUD_CURRENT_DATACENTER=local",
                "PADDLE_CLOUD_USERNAME=ann",
                "NAMESPACE=ann",
                "PADDLE_JOB_NAME=digits",
                "PADDLE_JOB_ID=4k2m",
                "PF_JOB_TYPE=distributed",
                "PF_JOB_MODE=PS",
                "PF_JOB_FRAMEWORK=paddle",
                "PF_JOB_QUEUE_NAME=default",
                "PF_JOB_NAMESPACE=ann",
                "PF_USER_NAME=ann",
                "OMP_NUM_THREADS=2",
                "RUNNING_ON_CLOUD=YES",
                "PYTHONUNBUFFERED=1",
                "NUM_PASS=5",
                "TEST_MODE=(none)",
                "CUDA_VISIBLE_DEVICES=(none)",
                "MASTER_ADDR=(none)",
                NULL
        };

        assert_env(env, want);
        assert_no_repeats(env);
        g_assert_true(g_strv_equal((const char *const *)env, (const char *const *)again));
}

static void test_ps_server(void)
{
        g_autoptr(Spec) s = spec(PS);
        int *const ports[] = { ps_ports, trainer_ports };
        Placement p = placement(s, ports);
        g_auto(GStrv) env = framework_environment(&p, 0, 1);
        static const char *const want[] = { "TRAINING_ROLE=PSERVER",
                                            "PADDLE_TRAINING_ROLE=PSERVER",
                                            "PADDLE_PORT=6001",
                                            "PADDLE_TRAINER_ID=1",
                                            "PADDLE_TRAINERS_NUM=3",
                                            "OMP_NUM_THREADS=1",
                                            "PADDLE_CURRENT_ENDPOINT=127.0.0.1:6001",
                                            "PADDLE_WITH_GLOO=1",
                                            NULL };

        assert_env(env, want);
}

/* A trainer that is started again must not wait at the start barrier; the first must not set the parameters
 * anew. */
static void test_restarted(void)
{
        g_autoptr(Spec) s = spec(PS);
        int *const ports[] = { ps_ports, trainer_ports };
        Placement p = placement(s, ports);
        g_auto(GStrv) first = NULL, second = NULL, server = NULL;

        p.restart = 1;
        first = framework_environment(&p, 1, 0);
        second = framework_environment(&p, 1, 1);
        server = framework_environment(&p, 0, 0);
        assert_env(first, (const char *const[]){ "PADDLE_WITH_GLOO=0", "TEST_MODE=1", NULL });
        assert_env(second, (const char *const[]){ "PADDLE_WITH_GLOO=0", "TEST_MODE=(none)", NULL });
        assert_env(server, (const char *const[]){ "PADDLE_WITH_GLOO=1", "TEST_MODE=(none)", NULL });
}

static void test_collective(void)
{
        g_autoptr(Spec) s =
                spec("{`command`:`python x.py | tee y`,`roles`:[{`name`:`trainer`,`replicas`:2,`gpus`:2}]}");
        int *const ports[] = { trainer_ports };
        char *const devices[] = { (char *)"0,1", (char *)"2,3" };
        char *const *const gpus[] = { devices };
        Placement p = placement(s, ports);
        g_auto(GStrv) env = NULL;
        static const char *const want[] = { "PADDLE_TRAINER_ENDPOINTS=127.0.0.1:7000,127.0.0.1:7001",
                                            "PADDLE_CURRENT_ENDPOINT=127.0.0.1:7001",
                                            "CUDA_VISIBLE_DEVICES=2,3",
                                            "PADDLE_DISTRI_BACKEND=(none)",
                                            "PADDLE_INIT_USE_GPU=1",
                                            "PADDLE_INIT_TRAINER_COUNT=2",
                                            "PADDLE_INIT_NUM_PASSES=1",
                                            "MASTER_ADDR=127.0.0.1",
                                            "MASTER_PORT=7000",
                                            "WORLD_SIZE=2",
                                            "RANK=1",
                                            "LOCAL_RANK=1",
                                            "PF_JOB_MODE=Collective",
                                            "ENTRY=python x.py | tee y",
                                            "PADDLE_PSERVERS_IP_PORT_LIST=(none)",
                                            "PADDLE_WITH_GLOO=(none)",
                                            "PF_JOB_QUEUE_NAME=night",
                                            NULL };

        p.gpus = gpus;
        p.queue = "night";
        env = framework_environment(&p, 0, 1);
        assert_env(env, want);
        assert_no_repeats(env);
}

static void test_plain(void)
{
        g_autoptr(Spec) one = spec("{`command`:`x`}"),
                        three = spec("{`command`:`x`,`roles`:[{`name`:`worker`,`replicas`:3}]}");
        Placement p = placement(one, NULL), q = placement(three, NULL);
        g_auto(GStrv) env = framework_environment(&p, 0, 0), many = framework_environment(&q, 0, 2);

        assert_env(env, (const char *const[]){
                                "PF_JOB_TYPE=single", "PF_JOB_MODE=(none)", "PF_JOB_FRAMEWORK=standalone",
                                "TRAINING_ROLE=TRAINER", "PADDLE_TRAINER_ID=0", "PADDLE_TRAINERS_NUM=1",
                                "PADDLE_PORT=(none)", "WORLD_SIZE=(none)", "MASTER_ADDR=(none)", NULL });
        assert_env(many, (const char *const[]){ "WORLD_SIZE=3", "RANK=2", "LOCAL_RANK=2",
                                                "PADDLE_TRAINERS_NUM=3", "MASTER_PORT=(none)", NULL });
}

/* The person's words win over the platform's, the role's over the job's. */
static void test_user_wins(void)
{
        g_autoptr(Spec) s = spec(
                "{`command`:`x`,`env`:{`OMP_NUM_THREADS`:7,`PADDLE_JOB_ID`:`mine`,`A`:`job`,`NUM_PASS`:1},"
                "`roles`:[{`name`:`worker`,`env`:{`A`:`role`,`NUM_PASS`:9}}]}");
        Placement p = placement(s, NULL);
        g_auto(GStrv) env = framework_environment(&p, 0, 0);

        assert_env(env, (const char *const[]){ "OMP_NUM_THREADS=7", "PADDLE_JOB_ID=mine", "A=role",
                                               "NUM_PASS=9", "PADDLE_INIT_NUM_PASSES=9", NULL });
        assert_no_repeats(env);
}

static void test_rows(void)
{
        g_autofree char *names = framework_names();
        const Framework *ps = framework_find("paddle-ps"), *plain = framework_find("plain");

        g_assert_cmpstr(names, ==, "paddle-ps, paddle-collective, plain, tensorflow, pytorch, mpi, spark");
        g_assert_null(framework_find("mxnet"));
        for (const Framework *const *row = framework_all(); *row; row++)
                g_assert_true(framework_find((*row)->name) == *row && (*row)->check && (*row)->member_env);
        g_assert_cmpint(framework_role(ps, "pserver")->phase, ==, 0);
        g_assert_cmpint(framework_role(ps, "pserver")->end, ==, ENDS_WITH_JOB);
        g_assert_true(framework_role(ps, "pserver")->listens && framework_role(ps, "pserver")->has_port);
        g_assert_cmpint(framework_role(ps, "trainer")->phase, ==, 1);
        g_assert_cmpint(framework_role(ps, "trainer")->end, ==, ENDS_WITH_ALL);
        g_assert_true(framework_role(ps, "worker") == framework_role(ps, "trainer"));
        g_assert_true(framework_role(plain, "trainer") == framework_role(plain, "worker"));
        g_assert_null(framework_role(plain, "pserver"));
        g_assert_false(framework_role(plain, "worker")->has_port);
        g_assert_cmpint(ps->extra_ports, ==, 1);
        g_assert_cmpint(plain->extra_ports, ==, 0);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/framework/ps-trainer", test_ps_trainer);
        g_test_add_func("/framework/ps-server", test_ps_server);
        g_test_add_func("/framework/restarted", test_restarted);
        g_test_add_func("/framework/collective", test_collective);
        g_test_add_func("/framework/plain", test_plain);
        g_test_add_func("/framework/user-wins", test_user_wins);
        g_test_add_func("/framework/rows", test_rows);
        return g_test_run();
}
