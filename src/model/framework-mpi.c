/* The MPI row (doc/reference/scheduling.md, "How members find each other": a host file), for Open MPI.
 *
 *     master-0: mpirun -n 4 ./train        worker-0 ... worker-3: wait to be called
 *        │ "remote shell" of mpirun:             ▲
 *        └── .mpi/agent worker-2 orted ... ──────┘ through the pipe .mpi/worker-2
 *
 * The master's command calls mpirun, which reaches each host of its host file by a remote shell. Here the
 * hosts are the workers, and the shell is a script that passes the command to the worker of that name. So
 * ranks run in their worker's cgroup, with its limits and its GPUs, and for mpirun it looks like a cluster.
 * Pipes and scripts are in the working directory, which only the members of the attempt can enter.
 *
 * If members have their own machines, they share no directory: there the gate is the remote shell, with the
 * hosts' names (src/gate/shell.c).
 *
 * A worker is one rank, which may use all its cores (OMP_NUM_THREADS). */
#include "model/framework-rows.h"

/* The pipe is also held open for writing, so that a call is not lost while another is read. Each call has its
 * own directory for Open MPI's files: the daemon of the previous call may still be deleting its own. */
static const char worker_script[] =
        "[ -z \"$PADDLE_GATE\" ] || exec \"$PADDLE_GATE\" serve\n"
        "dir=$PF_WORK_DIR/.mpi me=$PADDLE_MPI_HOST\n"
        "(umask 077 && mkdir -p \"$dir\" && mkfifo \"$dir/$me.new\") && exec 3<>\"$dir/$me.new\" &&\n"
        "        mv \"$dir/$me.new\" \"$dir/$me\" || exit 1\n"
        "run() {\n"
        "        tmp=$dir/$me.$1\n"
        "        (umask 077 && mkdir \"$tmp\") &&\n"
        "                OMPI_MCA_orte_tmpdir_base=$tmp PMIX_SYSTEM_TMPDIR=$tmp sh \"$dir/$1\" 3>&-\n"
        "        echo $? 1<>\"$dir/$1.end\"\n"
        "        rm -rf \"$tmp\" \"$dir/$1\" \"$dir/$1.end\"\n"
        "}\n"
        "while read -r call <&3; do run \"$call\" & done\n";

static const char master_script[] =
        "dir=$PF_WORK_DIR/.mpi\n"
        "[ -z \"$PADDLE_GATE\" ] || dir=${TMPDIR:-/tmp}/.mpi\n"
        "(umask 077 && mkdir -p \"$dir\") || exit 1\n"
        "if [ -n \"$PADDLE_GATE\" ]; then\n"
        "for host in $PADDLE_MPI_HOSTS; do echo \"$host slots=1\"; done >\"$dir/hostfile\"\n"
        "agent=\"$PADDLE_GATE call\"\n" /* Open MPI looks for it in the workers, too */
        "else\n"
        "i=0\n"
        "while [ $i -lt \"$PADDLE_MPI_WORKERS\" ]; do echo \"worker-$i slots=1\"; i=$((i + 1)); done "
        ">\"$dir/hostfile\"\n"
        "cat >\"$dir/agent\" <<'END'\n"
        "#!/bin/sh\n"
        "# mpirun's remote shell: HOST COMMAND...  Runs the command in the worker of that name.\n"
        "host=$1 dir=$PF_WORK_DIR/.mpi call=call.$$\n"
        "shift\n"
        "until [ -p \"$dir/$host\" ]; do sleep 0.05; done\n"
        "printf '%s\\n' \"$*\" >\"$dir/$call\" && mkfifo \"$dir/$call.end\" && exec 3<>\"$dir/$call.end\" "
        "&&\n"
        "        echo $call >\"$dir/$host\" && read -r status <&3 || exit 1\n"
        "exit $status\n"
        "END\n"
        "agent=$dir/agent\n"
        "chmod +x \"$agent\"\n"
        "fi\n"
        "export OMPI_MCA_orte_default_hostfile=\"$dir/hostfile\" OMPI_MCA_plm_rsh_agent=\"$agent\"\n"
        "exec \"$@\"\n";

static const char *const worker_program[] = { "sh", "-c", worker_script, "paddle-mpi-worker", NULL };
static const char *const master_prefix[] = { "sh", "-c", master_script, "paddle-mpi-master", NULL };

static bool check(const Spec *spec, GError **error)
{
        return check_replicas(spec, "master", 1, 1, error) &&
               check_replicas(spec, "worker", 1, SPEC_REPLICAS_MAX, error);
}

/* Ranks are not bound to cores: two hosts may share one. The cgroup is the limit, so running mpirun as root
 * is safe. */
static const char *const settings[][2] = {
        { "OMPI_ALLOW_RUN_AS_ROOT", "1" },
        { "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1" },
        { "OMPI_MCA_plm_rsh_no_tree_spawn", "1" },
        { "OMPI_MCA_orte_leave_session_attached", "1" }, /* else a daemon that dies early is not noticed */
        { "OMPI_MCA_pml", "ob1" },
        { "OMPI_MCA_btl", "self,tcp" },
        { "OMPI_MCA_hwloc_base_binding_policy", "none" },
        { "OMPI_MCA_mpi_yield_when_idle", "1" }, /* members may have to share cores */
};

/* Hosts that are the same machine: messages use loopback. Other hosts keep their full names. */
static void network_env(const Placement *placement, int worker, GPtrArray *env)
{
        g_autoptr(GString) hosts = g_string_new(NULL);

        if (placement_is_here(placement, worker)) {
                env_put(env, "OMPI_MCA_oob_tcp_if_include", "lo");
                env_put(env, "OMPI_MCA_btl_tcp_if_include", "lo");
                return;
        }
        for (int i = 0; i < placement_replicas(placement, worker); i++)
                g_string_append_printf(hosts, "%s%s", i ? " " : "", placement_host(placement, worker, i));
        env_put(env, "PADDLE_MPI_HOSTS", "%s", hosts->str);
        env_put(env, "OMPI_MCA_orte_keep_fqdn_hostnames", "1");
}

static void member_env(const Placement *placement, int role, int index, GPtrArray *env)
{
        int worker = spec_role_index(placement->spec, "worker"),
            workers = placement_replicas(placement, worker);

        if (role == worker)
                env_put(env, "PADDLE_MPI_HOST", "worker-%d", index);
        env_put(env, "PADDLE_MPI_WORKERS", "%d", workers);
        env_put(env, "OMPI_MCA_plm_rsh_num_concurrent", "%d", workers);
        for (gsize i = 0; i < G_N_ELEMENTS(settings); i++)
                env_put(env, settings[i][0], "%s", settings[i][1]);
        network_env(placement, worker, env);
}

const Framework framework_mpi = {
        .name = "mpi",
        .help = "Open MPI: the master calls mpirun, each worker hosts a rank",
        .roles = { { .name = "master",
                     .end = ENDS_WITH_ALL,
                     .phase = 1,
                     .implied = true,
                     .prefix = master_prefix },
                   { .name = "worker",
                     .end = ENDS_WITH_JOB,
                     .program = worker_program,
                     .program_only = true } },
        .main_role = "worker",
        .paddleflow_name = "mpi",
        .tells_all = true,
        .single = true,
        .fixed = true,
        .secret = true,
        .check = check,
        .member_env = member_env,
};
