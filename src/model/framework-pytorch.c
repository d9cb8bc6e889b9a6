/* The PyTorch row: the variables of torch.distributed's env:// rendezvous (scheduling.md 8.1, 15.3). Ranks go
 * over all members, the master's first; rank 0 serves the rendezvous at its own leased port. */
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

static void member_env(const Placement *placement, int role, int index, GPtrArray *env)
{
        const Spec *spec = placement->spec;
        int first = spec_role_index(spec, masters(spec) > 0 ? "master" : "worker");
        int world = masters(spec) + spec_replicas(spec, "worker");
        int rank = (role == first ? 0 : masters(spec)) + index;
        bool sees_own_gpus_only = spec->roles[role].each.gpus > 0;

        env_put(env, "MASTER_ADDR", "%s", placement_host(placement, first, 0));
        env_put(env, "MASTER_PORT", "%d", placement_port(placement, first, 0));
        env_put(env, "WORLD_SIZE", "%d", world);
        env_put(env, "RANK", "%d", rank);
        /* programs take it for the index of their device among those they see */
        env_put(env, "LOCAL_RANK", "%d", sees_own_gpus_only ? 0 : rank);
}

const Framework framework_pytorch = {
        .name = "pytorch",
        .help = "PyTorch: torch.distributed's env:// variables",
        .roles = { { "master", ENDS_WITH_ALL, 0, false, true, NULL },
                   { "worker", ENDS_WITH_ALL, 0, false, true, NULL } },
        .main_role = "worker",
        .flow_name = "pytorch",
        .single = true,
        .check = check,
        .member_env = member_env,
};
