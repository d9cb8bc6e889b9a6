/* Frameworks: the rows, and the environment of their members. */
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

/* A restarted trainer must not wait at the start barrier; the first must not initialize the parameters
 * again. */
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

/* The variables of an elastic job tell of the members that are present, not of all that it asks for. */
static void test_elastic_present(void)
{
        static const struct {
                const char *text;
                int replicas[2];
                int role;
                const char *const want[8];
        } cases[] = {
                { "{`command`:`x`,`roles`:[{`name`:`pserver`,`replicas`:2},"
                  "{`name`:`trainer`,`replicas`:3,`min`:1}]}",
                  { 2, 2 },
                  1,
                  { "PADDLE_TRAINERS_NUM=2", "TRAINERS=2", "PSERVERS=2",
                    "PADDLE_TRAINER_ENDPOINTS=127.0.0.1:7000,127.0.0.1:7001",
                    "PADDLE_TRAINERS=127.0.0.1,127.0.0.1", "PF_JOB_TYPE=distributed", NULL } },
                { "{`command`:`x`,`framework`:`paddle-collective`,`roles`:[{`name`:`trainer`,`replicas`:3,`min`:1}]}",
                  { 2 },
                  0,
                  { "PADDLE_TRAINERS_NUM=2", "WORLD_SIZE=2", "RANK=0", NULL } },
                { "{`command`:`x`,`framework`:`plain`,`roles`:[{`name`:`worker`,`replicas`:3,`min`:1}]}",
                  { 1 },
                  0,
                  { "PADDLE_TRAINERS_NUM=1", "PF_JOB_TYPE=single", "WORLD_SIZE=(none)", NULL } },
                { "{`command`:`x`,`framework`:`pytorch`,`roles`:[{`name`:`master`,`replicas`:1},"
                  "{`name`:`worker`,`replicas`:3,`min`:1}]}",
                  { 1, 2 },
                  1,
                  { "WORLD_SIZE=3", "RANK=1", "PET_NNODES=3", NULL } },
                { "{`command`:`x`,`framework`:`tensorflow`,`roles`:[{`name`:`worker`,`replicas`:3,`min`:1}]}",
                  { 2 },
                  0,
                  { "TF_CONFIG={\"cluster\":{\"worker\":[\"127.0.0.1:6000\",\"127.0.0.1:6001\"]},"
                    "\"task\":{\"type\":\"worker\",\"index\":0}}",
                    NULL } },
                { "{`command`:`x`,`framework`:`mpi`,`roles`:[{`name`:`master`,`replicas`:1},"
                  "{`name`:`worker`,`replicas`:3,`min`:1}]}",
                  { 1, 2 },
                  1,
                  { "PADDLE_MPI_WORKERS=2", "OMPI_MCA_plm_rsh_num_concurrent=2", NULL } },
                { "{`command`:`x`,`framework`:`spark`,`roles`:[{`name`:`driver`,`replicas`:1},"
                  "{`name`:`executor`,`replicas`:3,`min`:1,`cpu`:2}]}",
                  { 1, 2 },
                  1,
                  { "PADDLE_SPARK_CORES=4", "PADDLE_SPARK_EXECUTOR_CORES=2", NULL } },
        };
        static int ports_of_3[] = { 6000, 6001, 6002 };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Spec) s = spec(cases[i].text);
                int *const ports[] = { ports_of_3, i == 0 ? trainer_ports : ports_of_3 };
                Placement p = placement(s, ports);

                p.elastic = true;
                p.replicas = cases[i].replicas;
                g_auto(GStrv) env = framework_environment(&p, cases[i].role, 0);
                assert_env(env, cases[i].want);
        }
}

/* Members of an elastic job join and leave, so none waits for a group that is fixed at the start. */
static void test_elastic_ps(void)
{
        g_autoptr(Spec) s = spec(PS);
        int *const ports[] = { ps_ports, trainer_ports };
        Placement p = placement(s, ports);

        p.elastic = true;
        for (int role = 0; role < 2; role++) {
                g_auto(GStrv) env = framework_environment(&p, role, 0);

                assert_env(env, (const char *const[]){ "PADDLE_WITH_GLOO=0", "TEST_MODE=(none)", NULL });
        }
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

/* ---- rows of other frameworks ---- */

static int one_port[] = { 5000 }, two_ports[] = { 9000, 9001 }, no_ports[] = { 0, 0, 0, 0 };

/* Each case is one member: its environment must hold all of `want`. Roles lease the ports given, in order. */
typedef struct {
        const char *framework, *roles;
        int *ports[3];
        int role, index;
        const char *want[10];
} MemberCase;

static void check_members(const MemberCase *cases, gsize n)
{
        for (gsize i = 0; i < n; i++) {
                const MemberCase *c = &cases[i];
                g_autofree char *text = g_strdup_printf("{`command`:`x`,`framework`:`%s`,`roles`:[%s]}",
                                                        c->framework, c->roles);
                g_autoptr(Spec) s = spec(text);
                Placement p = placement(s, c->ports);
                g_auto(GStrv) env = framework_environment(&p, c->role, c->index);

                g_test_message("%s [%s], member %d-%d", c->framework, c->roles, c->role, c->index);
                assert_env(env, c->want);
                assert_no_repeats(env);
        }
}

#define ROLE(name, n) "{`name`:`" name "`,`replicas`:" #n "}"
#define CLUSTER_PS                                                                                           \
        "{\"chief\":[\"127.0.0.1:5000\"],\"ps\":[\"127.0.0.1:6000\",\"127.0.0.1:6001\"],"                    \
        "\"worker\":[\"127.0.0.1:7000\",\"127.0.0.1:7001\",\"127.0.0.1:7002\"]}"

/* TF_CONFIG as TensorFlow reads it: {"cluster": {type: [host:port]}, "task": {"type", "index"}}. */
static void test_tensorflow(void)
{
        static const struct {
                const char *roles;
                int *ports[3];
                int role, index;
                const char *config, *mode;
        } cases[] = {
                { ROLE("worker", 2),
                  { two_ports },
                  0,
                  1,
                  "{\"cluster\":{\"worker\":[\"127.0.0.1:9000\",\"127.0.0.1:9001\"]},"
                  "\"task\":{\"index\":1,\"type\":\"worker\"}}",
                  "Collective" },
                { ROLE("ps", 2) "," ROLE("chief", 1) "," ROLE("worker", 3),
                  { ps_ports, one_port, trainer_ports },
                  1,
                  0,
                  "{\"cluster\":" CLUSTER_PS ",\"task\":{\"index\":0,\"type\":\"chief\"}}",
                  "PS" },
                { ROLE("pserver", 2) "," ROLE("master", 1) "," ROLE("worker", 3),
                  { ps_ports, one_port, trainer_ports },
                  0,
                  1,
                  "{\"cluster\":" CLUSTER_PS ",\"task\":{\"index\":1,\"type\":\"ps\"}}",
                  "PS" },
                { ROLE("worker", 2) "," ROLE("evaluator", 1),
                  { two_ports, no_ports },
                  1,
                  0,
                  "{\"cluster\":{\"worker\":[\"127.0.0.1:9000\",\"127.0.0.1:9001\"]},"
                  "\"task\":{\"index\":0,\"type\":\"evaluator\"}}",
                  "Collective" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text =
                        g_strdup_printf("{`command`:`x`,`framework`:`tensorflow`,`roles`:[%s]}",
                                        cases[i].roles);
                g_autoptr(Spec) s = spec(text);
                Placement p = placement(s, cases[i].ports);
                g_auto(GStrv) env = framework_environment(&p, cases[i].role, cases[i].index);
                const char *config = g_environ_getenv(env, "TF_CONFIG");
                g_autoptr(json_t) got = json_parse(config, strlen(config), NULL);
                g_autoptr(json_t) want = json_parse(cases[i].config, strlen(cases[i].config), NULL);

                g_test_message("%s: %s", cases[i].roles, config);
                g_assert_true(want && json_equal(got, want));
                g_assert_cmpstr(g_environ_getenv(env, "PF_JOB_MODE"), ==, cases[i].mode);
                g_assert_cmpstr(g_environ_getenv(env, "PF_JOB_FRAMEWORK"), ==, "tensorflow");
        }
}

static void test_pytorch(void)
{
        static const MemberCase cases[] = {
                { "pytorch",
                  ROLE("master", 1) "," ROLE("worker", 2),
                  { one_port, two_ports },
                  0,
                  0,
                  { "MASTER_ADDR=127.0.0.1", "MASTER_PORT=5000", "WORLD_SIZE=3", "RANK=0", "LOCAL_RANK=0",
                    "PF_JOB_MODE=PS", "PF_JOB_FRAMEWORK=pytorch", "PF_JOB_TYPE=distributed" } },
                { "pytorch",
                  ROLE("master", 1) "," ROLE("worker", 2),
                  { one_port, two_ports },
                  1,
                  1,
                  { "MASTER_PORT=5000", "WORLD_SIZE=3", "RANK=2", "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=3",
                    "GROUP_RANK=0", "GROUP_WORLD_SIZE=1", "PET_NNODES=3", "PET_NODE_RANK=2" } },
                { "pytorch",
                  ROLE("worker", 2),
                  { two_ports },
                  0,
                  1,
                  { "MASTER_PORT=9000", "WORLD_SIZE=2", "RANK=1", "PF_JOB_MODE=Collective" } },
                { "pytorch",
                  "{`name`:`worker`,`replicas`:2,`gpus`:4}",
                  { two_ports },
                  0,
                  1,
                  { "RANK=1", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1", "GROUP_RANK=1", "GROUP_WORLD_SIZE=2",
                    "PET_NPROC_PER_NODE=4", "PET_MASTER_ADDR=127.0.0.1",
                    "PET_MASTER_PORT=9000" } }, /* its GPUs */
        };

        check_members(cases, G_N_ELEMENTS(cases));
}

static void test_mpi(void)
{
        static const MemberCase cases[] = {
                { "mpi",
                  ROLE("worker", 4) "," ROLE("master", 1),
                  { no_ports, no_ports },
                  0,
                  3,
                  { "PADDLE_MPI_HOST=worker-3", "PADDLE_MPI_WORKERS=4", "PF_JOB_MODE=(none)",
                    "PF_JOB_FRAMEWORK=mpi" } },
                { "mpi",
                  ROLE("worker", 4) "," ROLE("master", 1),
                  { no_ports, no_ports },
                  1,
                  0,
                  { "PADDLE_MPI_HOST=(none)", "PADDLE_MPI_WORKERS=4", "OMPI_ALLOW_RUN_AS_ROOT=1",
                    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_oob_tcp_if_include=lo",
                    "OMPI_MCA_btl_tcp_if_include=lo" } },
        };

        check_members(cases, G_N_ELEMENTS(cases));
}

/* On separate machines hosts have names, and messages may use any network. */
static void test_apart(void)
{
        static char *const masters[] = { (char *)"m0.j.ns.svc" };
        static char *const workers[] = { (char *)"w0.j.ns.svc", (char *)"w1.j.ns.svc" };
        static char *const *const hosts[] = { workers, masters };
        g_autoptr(Spec) mpi =
                spec("{`command`:[`mpirun`,`x`],`framework`:`mpi`,`roles`:[" ROLE("worker", 2) "]}");
        g_autoptr(Spec) spark =
                spec("{`command`:[`x`],`framework`:`spark`,`roles`:[" ROLE("executor", 2) "]}");
        g_autoptr(Spec) plain = spec("{`command`:[`x`],`framework`:`plain`,`roles`:[" ROLE("worker", 2) "]}");
        g_autoptr(Spec) torch =
                spec("{`command`:[`x`],`framework`:`pytorch`,`roles`:[" ROLE("worker", 2) "]}");
        g_autoptr(Spec) collective = spec("{`command`:[`x`],`roles`:[" ROLE("trainer", 2) "]}");
        Placement p = placement(mpi, NULL);
        int *const ports[] = { ps_ports, trainer_ports };
        g_autoptr(Spec) ps =
                spec("{`command`:[`x`],`roles`:[" ROLE("pserver", 2) "," ROLE("trainer", 1) "]}");
        g_auto(GStrv) master = NULL, driver = NULL, trainer = NULL, server = NULL, worker = NULL, rank = NULL;

        p.hosts = hosts;
        master = framework_environment(&p, 1, 0);
        assert_env(master, (const char *const[]){ "PADDLE_MPI_HOSTS=w0.j.ns.svc w1.j.ns.svc",
                                                  "OMPI_MCA_orte_keep_fqdn_hostnames=1",
                                                  "OMPI_MCA_oob_tcp_if_include=(none)",
                                                  "OMPI_MCA_btl_tcp_if_include=(none)", NULL });
        p.spec = spark;
        driver = framework_environment(&p, 1, 0);
        assert_env(driver,
                   (const char *const[]){ "SPARK_LOCAL_IP=m0.j.ns.svc", "SPARK_MASTER_HOST=w0.j.ns.svc",
                                          "PADDLE_SPARK_CORES=2", "PADDLE_SPARK_EXECUTOR_CORES=1",
                                          "PADDLE_SPARK_EXECUTOR_MEMORY=1024m", NULL });
        p.ports = ports;
        p.spec = collective;
        trainer = framework_environment(&p, 0, 1);
        assert_env(trainer,
                   (const char *const[]){ "TRAINER_PORTS_NUM=20", "PADDLE_TRAINERS=w0.j.ns.svc,w1.j.ns.svc",
                                          "LOCAL_RANK=0", NULL });
        p.spec = ps;
        server = framework_environment(&p, 1, 0);
        assert_env(server, (const char *const[]){
                                   "PADDLE_INIT_PSERVERS=w0.j.ns.svc,w1.j.ns.svc", "PADDLE_INIT_PORT=7000",
                                   "PADDLE_PSERVERS_IP_PORT_LIST=w0.j.ns.svc:6000,w1.j.ns.svc:6001", NULL });
        p.spec = torch;
        rank = framework_environment(&p, 0, 1);
        assert_env(rank,
                   (const char *const[]){ "MASTER_ADDR=w0.j.ns.svc", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1",
                                          "GROUP_RANK=1", "PET_NPROC_PER_NODE=1", NULL });
        p.ports = NULL;
        p.spec = plain;
        worker = framework_environment(&p, 0, 1);
        assert_env(worker, (const char *const[]){ "RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=0", NULL });
}

static void test_spark(void)
{
        static const MemberCase cases[] = {
                { "spark",
                  ROLE("driver", 1) "," ROLE("executor", 2),
                  { no_ports, two_ports },
                  0,
                  0,
                  { "SPARK_MASTER_HOST=127.0.0.1", "SPARK_MASTER_PORT=8000", "SPARK_LOCAL_IP=127.0.0.1",
                    "SPARK_WORKER_PORT=(none)", "SPARK_DRIVER_MEMORY=(none)", "PF_JOB_FRAMEWORK=spark" } },
                { "spark",
                  ROLE("driver", 1) "," ROLE("executor", 2),
                  { no_ports, two_ports },
                  1,
                  1,
                  { "PADDLE_SPARK_HOST=executor-1", "SPARK_WORKER_PORT=9001", "SPARK_MASTER_PORT=8000",
                    "SPARK_WORKER_CORES=1", "SPARK_WORKER_MEMORY=1024m", "PF_JOB_MODE=(none)" } },
                { "spark",
                  "{`name`:`driver`,`memory`:`2Gi`},{`name`:`executor`,`replicas`:2,`cpu`:3,`memory`:`4Gi`}",
                  { no_ports, two_ports },
                  1,
                  0,
                  { "SPARK_WORKER_CORES=3", "PADDLE_SPARK_CORES=6", "SPARK_WORKER_MEMORY=3328m",
                    "PADDLE_SPARK_EXECUTOR_MEMORY=3328m" } }, /* 768 MiB for the JVMs beside it */
                { "spark",
                  "{`name`:`driver`,`memory`:`2Gi`},{`name`:`executor`,`replicas`:2}",
                  { no_ports, two_ports },
                  0,
                  0,
                  { "SPARK_DRIVER_MEMORY=1664m" } },
        };

        check_members(cases, G_N_ELEMENTS(cases));
}

/* The rules of the rows: errors, and roles that a list may omit. */
static void test_rules(void)
{
        static const struct {
                const char *spec, *says; /* NULL: accepted */
        } cases[] = {
                { "`framework`:`tensorflow`,`roles`:[" ROLE("pserver", 1) "]",
                  "tensorflow needs at least 1 worker" },
                { "`framework`:`tensorflow`,`roles`:[" ROLE("chief", 2) "," ROLE("worker", 1) "]",
                  "tensorflow takes at most 1 master, not 2" },
                { "`framework`:`tensorflow`,`roles`:[" ROLE("chief", 1) "," ROLE("ps", 1) "]", NULL },
                { "`framework`:`pytorch`,`roles`:[" ROLE("master", 1) "]", NULL },
                { "`framework`:`pytorch`,`roles`:[" ROLE("pserver", 1) "]",
                  "'pserver' is not a role of pytorch" },
                { "`framework`:`mpi`,`roles`:[" ROLE("worker", 0) "]", "mpi needs at least 1 worker" },
                { "`framework`:`mpi`,`roles`:[" ROLE("launcher", 2) "," ROLE("worker", 1) "]",
                  "mpi takes at most 1 master, not 2" },
                { "`framework`:`spark`,`roles`:[" ROLE("driver", 1) "]", "spark needs at least 1 executor" },
                { "`framework`:`spark`,`roles`:[{`name`:`executor`,`memory`:`512Mi`}]",
                  "memory of 512Mi is too little for Spark's executor, which needs 1228Mi" },
                { "`framework`:`spark`,`roles`:[{`name`:`executor`,`memory`:`1228Mi`}]", NULL },
                { "`framework`:`spark`", NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdup_printf("{`command`:`x`,%s}", cases[i].spec);
                g_autoptr(GError) error = NULL;
                g_autoptr(Spec) s = NULL;
                g_autoptr(json_t) object = NULL;

                g_strdelimit(text, "`", '"');
                object = json_parse(text, strlen(text), NULL);
                s = spec_parse(object, &error);
                g_test_message("%s: %s", text, error ? error->message : "accepted");
                g_assert_true(cases[i].says ? error && strstr(error->message, cases[i].says) : s != NULL);
        }
}

static void assert_argv(const Spec *s, const char *role, const char *const *want_end, bool prefixed)
{
        int r = 0;
        g_autofree char **argv = NULL;
        guint n, m = g_strv_length((char **)want_end);

        while (strcmp(s->roles[r].name, role) != 0)
                g_assert_cmpint(++r, <, s->n_roles);
        argv = framework_argv(s, r);
        n = g_strv_length(argv);
        g_assert_cmpint(n, >=, m);
        g_assert_true(prefixed ? n > m : n == m);
        for (guint i = 0; i < m; i++)
                g_assert_cmpstr(argv[n - m + i], ==, want_end[i]);
}

static void test_argv(void)
{
        g_autoptr(Spec) mpi =
                spec("{`command`:[`mpirun`,`x`],`framework`:`mpi`,`roles`:[" ROLE("worker", 2) "]}");
        g_autoptr(Spec) own = spec("{`command`:[`a`],`roles`:[{`name`:`worker`,`command`:[`b`,`c`]}]}");
        g_autoptr(Spec) file = spec("{`framework`:`spark`,`env`:{`PF_JOB_SPARK_MAIN_FILE`:`x.py`}}");
        g_autofree char **worker = framework_argv(mpi, 0), **driver = framework_argv(file, 1);

        g_assert_cmpint(mpi->n_roles, ==, 2); /* the launcher may be omitted */
        g_assert_cmpstr(mpi->roles[1].name, ==, "master");
        g_assert_cmpint(mpi->roles[1].replicas, ==, 1);
        assert_argv(mpi, "master", (const char *const[]){ "mpirun", "x", NULL }, true);
        g_assert_cmpstr(worker[0], ==, "sh"); /* it waits for mpirun, whatever the job's command */
        g_assert_null(strstr(worker[2], "mpirun"));
        assert_argv(own, "worker", (const char *const[]){ "b", "c", NULL }, false);
        g_assert_cmpstr(file->roles[1].name, ==, "driver");
        g_assert_nonnull(strstr(driver[g_strv_length(driver) - 1], "spark-submit"));
}

static void test_ends(void)
{
        static const struct {
                const char *framework, *roles;
                RoleEnd ends[3];
        } cases[] = {
                { "tensorflow", ROLE("worker", 2), { ENDS_WITH_ALL } },
                { "tensorflow", ROLE("chief", 1) "," ROLE("worker", 2), { ENDS_WITH_ALL, ENDS_WITH_ALL } },
                { "tensorflow", ROLE("ps", 1) "," ROLE("worker", 2), { ENDS_WITH_JOB, ENDS_WITH_ALL } },
                { "tensorflow",
                  ROLE("ps", 1) "," ROLE("worker", 2) "," ROLE("chief", 1),
                  { ENDS_WITH_JOB, ENDS_EARLY_OR_WITH_JOB, ENDS_WITH_ALL } },
                { "mpi", ROLE("worker", 2) "," ROLE("master", 1), { ENDS_WITH_JOB, ENDS_WITH_ALL } },
                { "spark", ROLE("executor", 2) "," ROLE("driver", 1), { ENDS_WITH_JOB, ENDS_WITH_ALL } },
                { "paddle-ps", ROLE("pserver", 1) "," ROLE("trainer", 2), { ENDS_WITH_JOB, ENDS_WITH_ALL } },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdup_printf("{`command`:`x`,`framework`:`%s`,`roles`:[%s]}",
                                                        cases[i].framework, cases[i].roles);
                g_autoptr(Spec) s = spec(text);

                for (int r = 0; r < s->n_roles; r++)
                        g_assert_cmpint(framework_role_end(s, r), ==, cases[i].ends[r]);
        }
}

/* ---- the names of PaddleFlow: every row of doc/reference/paddleflow-api.md, "Frameworks and roles" ---- */

static void test_flow_roles(void)
{
        static const struct {
                const char *frameworks, *roles;
        } table[] = {
                { "paddle tensorflow pytorch mxnet aitj", " pserver master worker pworker " },
                { "spark", " driver executor " },
                { "ray mpi", " master worker pworker " },
                { "standalone", " worker pworker " },
        };
        static const char *const words[] = { "pserver",  "master", "worker", "pworker", "driver",
                                             "executor", "Worker", "",       "trainer" };

        for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
                g_auto(GStrv) names = g_strsplit(table[i].frameworks, " ", -1);

                for (char **name = names; *name; name++) {
                        const PaddleFlowFramework *flow = paddleflow_framework_find(*name);

                        g_assert_cmpstr(paddleflow_framework_name(flow), ==, *name);
                        for (gsize k = 0; k < G_N_ELEMENTS(words); k++) {
                                g_autofree char *word = g_strdup_printf(" %s ", words[k]);
                                g_autoptr(GError) error = NULL;
                                PaddleFlowRole role = PADDLEFLOW_ROLES;
                                bool known = *words[k] && strstr(table[i].roles, word);
                                const char *plain = strcmp(words[k], "pworker") == 0 ? "worker" : words[k];

                                g_test_message("%s %s", *name, words[k]);
                                g_assert_true(paddleflow_role_parse(flow, words[k], &role, &error) == known);
                                g_assert_true(known ? role < PADDLEFLOW_ROLES : error != NULL);
                                if (known)
                                        g_assert_cmpstr(paddleflow_role_name(role), ==, plain);
                        }
                }
        }
        g_assert_null(paddleflow_framework_find("plain"));
        g_assert_null(paddleflow_framework_find(""));
}

typedef struct {
        const char *frameworks;
        int counts[PADDLEFLOW_ROLES]; /* pserver, master, worker, driver, executor */
        const char *mode;             /* NULL: refused with the message ... */
        const char *says;
} PaddleFlowCase;

static const PaddleFlowCase paddleflow_cases[] = {
        { "paddle tensorflow pytorch mxnet aitj", { 1, 0, 1 }, "PS", NULL },
        { "paddle tensorflow pytorch mxnet aitj", { 0, 1, 1 }, "PS", NULL },
        { "paddle tensorflow pytorch mxnet aitj", { 2, 1, 5 }, "PS", NULL },
        { "paddle tensorflow pytorch mxnet aitj",
          { 1, 0, 0 },
          NULL,
          "in PS mode needs at least 1 worker, not 0" },
        { "paddle tensorflow pytorch mxnet aitj",
          { 0, 1, 0 },
          NULL,
          "in PS mode needs at least 1 worker, not 0" },
        { "paddle tensorflow pytorch mxnet aitj", { 0, 0, 2 }, "Collective", NULL },
        { "paddle tensorflow pytorch mxnet aitj",
          { 0, 0, 1 },
          NULL,
          "in Collective mode needs at least 2 worker, not 1" },
        { "paddle tensorflow pytorch mxnet aitj", { 0, 0, 0 }, NULL, "needs at least 2 worker" },
        { "spark", { 0, 0, 0, 1, 0 }, "", NULL },
        { "spark", { 0, 0, 0, 1, 2 }, "", NULL },
        { "spark", { 0, 0, 0, 0, 2 }, NULL, "spark needs at least 1 driver, not 0" },
        { "ray mpi", { 0, 1, 1 }, "", NULL },
        { "ray mpi", { 0, 0, 2 }, NULL, "needs at least 1 master" },
        { "ray mpi", { 0, 1, 0 }, NULL, "needs at least 1 worker" },
        { "standalone", { 0, 0, 1 }, "", NULL },
        { "standalone", { 0, 0, 2 }, NULL, "standalone has exactly 1 worker, not 2" },
        { "standalone", { 0 }, NULL, "standalone has exactly 1 worker, not 0" },
};

static void test_flow_counts(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(paddleflow_cases); i++) {
                const PaddleFlowCase *c = &paddleflow_cases[i];
                g_auto(GStrv) names = g_strsplit(c->frameworks, " ", -1);

                for (char **name = names; *name; name++) {
                        g_autoptr(GError) error = NULL;
                        const char *mode = NULL;
                        bool ok = paddleflow_counts_check(paddleflow_framework_find(*name), c->counts, &mode,
                                                          &error);

                        g_test_message("case %zu, %s: %s", i, *name, ok ? mode : error->message);
                        g_assert_cmpstr(mode, ==, c->mode);
                        g_assert_true(ok ? !c->says : strstr(error->message, c->says) != NULL);
                }
        }
}

/* The row that runs it, or the reason why none does. */
static void test_flow_rows(void)
{
        static const struct {
                const char *framework;
                int counts[PADDLEFLOW_ROLES];
                const char *row, *says;
        } cases[] = {
                { "paddle", { 1, 0, 1 }, "paddle-ps", NULL },
                { "paddle", { 0, 0, 2 }, "paddle-collective", NULL },
                { "paddle", { 0, 1, 1 }, NULL, "a job of 'paddle' cannot have the role 'master' here" },
                { "tensorflow", { 1, 1, 1 }, "tensorflow", NULL },
                { "tensorflow", { 0, 0, 2 }, "tensorflow", NULL },
                { "pytorch", { 0, 1, 2 }, "pytorch", NULL },
                { "pytorch", { 1, 0, 2 }, NULL, "cannot have the role 'pserver'" },
                { "spark", { 0, 0, 0, 1, 2 }, "spark", NULL },
                { "mpi", { 0, 1, 4 }, "mpi", NULL },
                { "standalone", { 0, 0, 1 }, "plain", NULL },
                { "ray", { 0, 1, 1 }, NULL, "jobs of 'ray' cannot run here" },
                { "mxnet", { 0, 0, 2 }, NULL, "jobs of 'mxnet' cannot run here" },
                { "aitj", { 1, 0, 2 }, NULL, "jobs of 'aitj' cannot run here" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                const Framework *row = paddleflow_framework_row(paddleflow_framework_find(cases[i].framework),
                                                                cases[i].counts, &error);

                g_assert_cmpstr(row ? row->name : NULL, ==, cases[i].row);
                g_assert_true(row ? !error : strstr(error->message, cases[i].says) != NULL);
        }
}

static void test_namespace(void)
{
        g_autoptr(Spec) s = spec("{`command`:`x`}");
        Placement p = placement(s, NULL);
        g_auto(GStrv) env = NULL;

        p.namespace = "team";
        env = framework_environment(&p, 0, 0);
        assert_env(env, (const char *const[]){ "NAMESPACE=team", "PF_JOB_NAMESPACE=team", "PF_USER_NAME=ann",
                                               NULL });
}

/* The user's variables override the platform's, the role's override the job's. */
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
                g_assert_true(framework_find((*row)->name) == *row && (*row)->check && (*row)->member_env &&
                              framework_role(*row, (*row)->main_role) &&
                              paddleflow_framework_find((*row)->paddleflow_name));
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
        g_test_add_func("/framework/elastic_present", test_elastic_present);
        g_test_add_func("/framework/elastic_ps", test_elastic_ps);
        g_test_add_func("/framework/collective", test_collective);
        g_test_add_func("/framework/plain", test_plain);
        g_test_add_func("/framework/tensorflow", test_tensorflow);
        g_test_add_func("/framework/pytorch", test_pytorch);
        g_test_add_func("/framework/mpi", test_mpi);
        g_test_add_func("/framework/apart", test_apart);
        g_test_add_func("/framework/spark", test_spark);
        g_test_add_func("/framework/rules", test_rules);
        g_test_add_func("/framework/argv", test_argv);
        g_test_add_func("/framework/ends", test_ends);
        g_test_add_func("/framework/flow-roles", test_flow_roles);
        g_test_add_func("/framework/flow-counts", test_flow_counts);
        g_test_add_func("/framework/flow-rows", test_flow_rows);
        g_test_add_func("/framework/namespace", test_namespace);
        g_test_add_func("/framework/user-wins", test_user_wins);
        g_test_add_func("/framework/rows", test_rows);
        return g_test_run();
}
