/* The PyTorch row: the variables of torch.distributed's env:// rendezvous (doc/reference/scheduling.md, "How
 * members find each other"), those that torchrun also sets for its processes, and torchrun's own settings
 * (PET_ and the option in capitals). Ranks cover all members, the master first; rank 0 serves the rendezvous
 * at its leased port. */
#include "base/err.h"
#include "model/framework-rows.h"

static int masters(const Spec *spec)
{
        return spec_replicas(spec, "master");
}

static bool check(const Spec *spec, GError **error)
{
        return check_replicas(spec, "master", 0, 1, error) &&
               check_replicas(spec, "worker", masters(spec) > 0 ? 0 : 1, SPEC_REPLICAS_MAX, error);
}

/* Members share this machine, or each is a machine (torchrun: a group). Programs use the local rank as index
 * of their visible devices: a member that sees only its own GPUs has 0. */
static void local_env(int rank, int world, bool apart, GPtrArray *env)
{
        env_put(env, "LOCAL_RANK", "%d", apart ? 0 : rank);
        env_put(env, "LOCAL_WORLD_SIZE", "%d", apart ? 1 : world);
        env_put(env, "GROUP_RANK", "%d", apart ? rank : 0);
        env_put(env, "GROUP_WORLD_SIZE", "%d", apart ? world : 1);
}

/* For members that run torchrun: each is a node with one process per GPU. */
static void launcher_env(const Placement *placement, int first, int rank, int world, gint64 gpus,
                         GPtrArray *env)
{
        env_put(env, "PET_NNODES", "%d", world);
        env_put(env, "PET_NODE_RANK", "%d", rank);
        env_put(env, "PET_MASTER_ADDR", "%s", placement_host(placement, first, 0));
        env_put(env, "PET_MASTER_PORT", "%d", placement_port(placement, first, 0));
        env_put(env, "PET_NPROC_PER_NODE", "%" G_GINT64_FORMAT, MAX(gpus, 1));
}

static void member_env(const Placement *placement, int role, int index, GPtrArray *env)
{
        const Spec *spec = placement->spec;
        int first = spec_role_index(spec, masters(spec) > 0 ? "master" : "worker");
        int world = masters(spec) + placement_replicas_of(placement, "worker");
        int rank = (role == first ? 0 : masters(spec)) + index;
        gint64 gpus = spec->roles[role].each.gpus;

        env_put(env, "MASTER_ADDR", "%s", placement_host(placement, first, 0));
        env_put(env, "MASTER_PORT", "%d", placement_port(placement, first, 0));
        env_put(env, "WORLD_SIZE", "%d", world);
        env_put(env, "RANK", "%d", rank);
        local_env(rank, world, gpus > 0 || !placement_is_here(placement, role), env);
        launcher_env(placement, first, rank, world, gpus, env);
}

const Framework framework_pytorch = {
        .name = "pytorch",
        .help = "PyTorch: torch.distributed's env:// variables",
        .roles = { { "master", ENDS_WITH_ALL, 0, false, true, NULL },
                   { "worker", ENDS_WITH_ALL, 0, false, true, NULL } },
        .main_role = "worker",
        .paddleflow_name = "pytorch",
        .single = true,
        .fixed = true,
        .check = check,
        .member_env = member_env,
};
