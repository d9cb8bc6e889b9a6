/* The Spark row (doc/reference/scheduling.md, "Variables of members"): a stand-alone cluster per job, with
 * the driver in client mode.
 *
 *     executor-0: Spark's master (the job's extra port) and a worker      executor-1, ...: a worker each
 *     driver-0:   spark-submit, or a Python program with pyspark
 *
 * Each worker offers its member's cores and memory for one executor, which it starts when the driver
 * registers. The settings are in .spark/spark-defaults.conf in the working directory. They include a secret
 * of the job, so that other users of the machine cannot use its ports. spark-submit and spark-class come
 * from PATH (the package pyspark in requirements.txt contains them).
 *
 * If members have their own machines, each writes these settings for itself. */
#include "base/err.h"
#include "model/framework-rows.h"

#define MIB ((gint64)1 << 20)

enum {
        DAEMON_MIB = 256,   /* heap of Spark's master and of a worker */
        RESERVED_MIB = 768, /* of a member's memory: for both, and for what a JVM uses beside its heap */
        EXECUTOR_MIB = 460, /* Spark's minimum: 1.5 times its reserve of 300 MiB, rounded up */
        DRIVER_BESIDE_MIB = 384,
        DRIVER_MIB = 512,
};

/* In the working directory. If members have their own machines, each has its own directory and uses its own
 * address, and the secret belongs to the attempt. */
#define PLACE                                                                                                \
        "dir=$PF_WORK_DIR/.spark\n"                                                                          \
        "[ -z \"$PADDLE_GATE\" ] || dir=${TMPDIR:-/tmp}/.spark\n"                                            \
        "url=spark://$SPARK_MASTER_HOST:$SPARK_MASTER_PORT\n"                                                \
        "export SPARK_CONF_DIR=\"$dir\" SPARK_LOCAL_IP=\"${PADDLE_GATE_HOST:-$SPARK_LOCAL_IP}\"\n"           \
        "settings() (\n"                                                                                     \
        "        umask 077\n"                                                                                \
        "        mkdir -p \"$dir\" && cat >\"$dir/log4j2.properties\" <<END || exit 1\n"                     \
        "rootLogger.level = warn\n"                                                                          \
        "rootLogger.appenderRef.console.ref = console\n"                                                     \
        "appender.console.type = Console\n"                                                                  \
        "appender.console.name = console\n"                                                                  \
        "appender.console.target = SYSTEM_ERR\n"                                                             \
        "appender.console.layout.type = PatternLayout\n"                                                     \
        "appender.console.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex\n"                        \
        "END\n"                                                                                              \
        "        cat >\"$dir/new\" <<END && mv \"$dir/new\" \"$dir/spark-defaults.conf\" || exit 1\n"        \
        "spark.master $url\n"                                                                                \
        "spark.authenticate true\n"                                                                          \
        "spark.authenticate.secret $1\n"                                                                     \
        "spark.driver.host $SPARK_LOCAL_IP\n"                                                                \
        "spark.driver.bindAddress $SPARK_LOCAL_IP\n"                                                         \
        "spark.ui.port 0\n"                                                                                  \
        "spark.ui.killEnabled false\n"                                                                       \
        "spark.master.rest.enabled false\n"                                                                  \
        "spark.executor.cores $PADDLE_SPARK_EXECUTOR_CORES\n"                                                \
        "spark.executor.memory $PADDLE_SPARK_EXECUTOR_MEMORY\n"                                              \
        "spark.cores.max $PADDLE_SPARK_CORES\n"                                                              \
        "spark.scheduler.minRegisteredResourcesRatio 1.0\n"                                                  \
        "END\n"                                                                                              \
        ")\n"                                                                                                \
        "[ -z \"$PADDLE_GATE_SECRET\" ] || settings \"$PADDLE_GATE_SECRET\" || exit 1\n"

static const char executor_script[] = PLACE
        "umask 077\n"
        "export SPARK_WORKER_DIR=\"$dir/$PADDLE_SPARK_HOST\"\n"
        "mkdir -p \"$SPARK_WORKER_DIR\" || exit 1\n"
        "if [ \"$PADDLE_SPARK_HOST\" = executor-0 ]; then\n"
        "        [ -n \"$PADDLE_GATE_SECRET\" ] ||\n"
        "                settings \"$(od -An -N32 -tx1 /dev/urandom | tr -d ' \\n')\" || exit 1\n"
        "        SPARK_MASTER_HOST=$SPARK_LOCAL_IP spark-class org.apache.spark.deploy.master.Master &\n"
        "fi\n"
        "until [ -e \"$dir/spark-defaults.conf\" ]; do sleep 0.05; done\n"
        "exec spark-class org.apache.spark.deploy.worker.Worker --host \"$SPARK_LOCAL_IP\" \"$url\"\n";

static const char driver_script[] = PLACE "exec \"$@\"\n";

/* Splits arguments at blanks; the shell does not expand them. */
static const char submit_script[] =
        "set -f\n"
        "exec spark-submit ${PF_JOB_SPARK_MAIN_CLASS:+--class \"$PF_JOB_SPARK_MAIN_CLASS\"} "
        "\"$PF_JOB_SPARK_MAIN_FILE\" $PF_JOB_SPARK_ARGUMENTS\n";

static const char *const executor_program[] = { "sh", "-c", executor_script, "paddle-spark-executor", NULL };
static const char *const driver_prefix[] = { "sh", "-c", driver_script, "paddle-spark-driver", NULL };
static const char *const driver_program[] = { "sh", "-c", submit_script, NULL };

static gint64 memory_of(const Spec *spec, const char *role)
{
        int r = spec_role_index(spec, role);

        return r < 0 ? 0 : spec->roles[r].each.memory / MIB;
}

static bool check_memory(const Spec *spec, const char *role, int least, const char *why, GError **error)
{
        gint64 memory = memory_of(spec, role);

        if (memory == 0 || memory >= least)
                return true;
        return err_set(error, ERR_INVALID,
                       "roles: memory of %" G_GINT64_FORMAT
                       "Mi is too little for Spark's %s, which needs %dMi: %s",
                       memory, role, least, why);
}

static bool check(const Spec *spec, GError **error)
{
        int driver = spec_role_index(spec, "driver");

        if (!check_replicas(spec, "driver", 1, 1, error) ||
            !check_replicas(spec, "executor", 1, SPEC_REPLICAS_MAX, error) ||
            !check_memory(spec, "driver", DRIVER_BESIDE_MIB + DRIVER_MIB, "a JVM and what it calls", error) ||
            !check_memory(spec, "executor", RESERVED_MIB + EXECUTOR_MIB, "a worker's JVM and an executor's",
                          error))
                return false;
        if (spec->roles[driver].command || spec->command ||
            spec_user_env(spec, driver, "PF_JOB_SPARK_MAIN_FILE"))
                return true;
        return err_set(error, ERR_INVALID,
                       "command is missing\nGive the driver one, or name its program in the variable "
                       "PF_JOB_SPARK_MAIN_FILE.");
}

static void driver_env(const Placement *placement, GPtrArray *env)
{
        gint64 memory = memory_of(placement->spec, "driver");

        if (memory)
                env_put(env, "SPARK_DRIVER_MEMORY", "%" G_GINT64_FORMAT "m", memory - DRIVER_BESIDE_MIB);
}

/* The executors' sizes for the settings. */
static void settings_env(const Placement *placement, GPtrArray *env)
{
        int role = spec_role_index(placement->spec, "executor");
        const Role *executors = &placement->spec->roles[role];
        gint64 memory = memory_of(placement->spec, "executor");

        env_put(env, "PADDLE_SPARK_CORES", "%d", role_cores(executors) * placement_replicas(placement, role));
        env_put(env, "PADDLE_SPARK_EXECUTOR_CORES", "%d", role_cores(executors));
        env_put(env, "PADDLE_SPARK_EXECUTOR_MEMORY", "%" G_GINT64_FORMAT "m",
                memory ? memory - RESERVED_MIB : 1024);
}

static void executor_env(const Placement *placement, int role, int index, GPtrArray *env)
{
        const Role *self = &placement->spec->roles[role];
        gint64 memory = memory_of(placement->spec, "executor");

        env_put(env, "PADDLE_SPARK_HOST", "executor-%d", index);
        env_put(env, "SPARK_WORKER_CORES", "%d", role_cores(self));
        env_put(env, "SPARK_WORKER_MEMORY", "%" G_GINT64_FORMAT "m", memory ? memory - RESERVED_MIB : 1024);
        env_put(env, "SPARK_WORKER_PORT", "%d", placement_port(placement, role, index));
        env_put(env, "SPARK_WORKER_WEBUI_PORT", "0");
        env_put(env, "SPARK_MASTER_WEBUI_PORT", "0");
        env_put(env, "SPARK_DAEMON_MEMORY", "%dm", DAEMON_MIB);
}

static void member_env(const Placement *placement, int role, int index, GPtrArray *env)
{
        env_put(env, "SPARK_LOCAL_IP", "%s", placement_host(placement, role, index));
        env_put(env, "SPARK_MASTER_HOST", "%s",
                placement_host(placement, spec_role_index(placement->spec, "executor"), 0));
        env_put(env, "SPARK_MASTER_PORT", "%d", placement->extra_ports ? placement->extra_ports[0] : 0);
        settings_env(placement, env);
        if (role == spec_role_index(placement->spec, "driver"))
                driver_env(placement, env);
        else
                executor_env(placement, role, index, env);
}

const Framework framework_spark = {
        .name = "spark",
        .help = "Spark: a driver, and executors that form a stand-alone cluster",
        .roles = { { .name = "driver",
                     .end = ENDS_WITH_ALL,
                     .phase = 1,
                     .implied = true,
                     .prefix = driver_prefix,
                     .program = driver_program },
                   { .name = "executor",
                     .end = ENDS_WITH_JOB,
                     .listens = true,
                     .has_port = true,
                     .program = executor_program,
                     .program_only = true } },
        .main_role = "executor",
        .paddleflow_name = "spark",
        .single = true,
        .secret = true,
        .extra_ports = 1,
        .check = check,
        .member_env = member_env,
};
