/* The TensorFlow row. Every member gets TF_CONFIG: the endpoints of all members of the cluster, and its own
 * index (doc/reference/scheduling.md, "How members find each other"). PaddleFlow's pserver and master are
 * TensorFlow's ps and chief.
 *
 * The roles decide when the job is done. Workers train to the end (MultiWorkerMirroredStrategy). With both
 * parameter servers and a chief, the chief coordinates (ParameterServerStrategy), and workers and servers run
 * until it has ended. */
#include "base/err.h"
#include "base/json.h"
#include "model/framework-rows.h"

static const struct {
        const char *role, *type;
        bool in_cluster;
} types[] = {
        { "pserver", "ps", true },
        { "master", "chief", true },
        { "worker", "worker", true },
        { "evaluator", "evaluator", false }, /* it reads checkpoints only */
};

static bool check(const Spec *spec, GError **error)
{
        return check_replicas(spec, "worker", spec_replicas(spec, "master") > 0 ? 0 : 1, SPEC_REPLICAS_MAX,
                              error) &&
               check_replicas(spec, "master", 0, 1, error) && check_replicas(spec, "evaluator", 0, 1, error);
}

static RoleEnd role_end(const Spec *spec, const FrameworkRole *role)
{
        bool coordinated = spec_replicas(spec, "pserver") > 0 && spec_replicas(spec, "master") > 0;

        return coordinated && g_str_equal(role->name, "worker") ? ENDS_EARLY_OR_WITH_JOB : role->end;
}

static json_t *addresses(const Placement *placement, const char *role)
{
        g_autofree char *text = role_endpoints(placement, role);
        g_auto(GStrv) list = g_strsplit(text, ",", -1);
        json_t *array = json_array();

        for (char **address = list; *address; address++)
                json_array_append_new(array, json_string(*address));
        return array;
}

static void member_env(const Placement *placement, int role, int index, GPtrArray *env)
{
        const char *name = placement->spec->roles[role].name;
        json_t *cluster = json_object(), *task = NULL;
        g_autoptr(json_t) config = NULL;
        g_autofree char *text = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
                if (types[i].in_cluster && placement_replicas_of(placement, types[i].role) > 0)
                        json_object_set_new(cluster, types[i].type, addresses(placement, types[i].role));
                if (g_str_equal(types[i].role, name))
                        task = json_pack("{s:s, s:i}", "type", types[i].type, "index", index);
        }
        config = json_pack("{s:o, s:o}", "cluster", cluster, "task", task);
        text = json_format(config);
        env_put(env, "TF_CONFIG", "%s", text);
}

const Framework framework_tensorflow = {
        .name = "tensorflow",
        .help = "TensorFlow with TF_CONFIG: MultiWorkerMirroredStrategy, or parameter servers",
        .roles = { { "pserver", ENDS_WITH_JOB, 0, false, true, NULL },
                   { "master", ENDS_WITH_ALL, 0, false, true, NULL },
                   { "worker", ENDS_WITH_ALL, 0, false, true, NULL },
                   { "evaluator", ENDS_WITH_ALL, 0, false, false, NULL } },
        .main_role = "worker",
        .paddleflow_name = "tensorflow",
        .tells_all = true,
        .single = true,
        .fixed = true,
        .role_end = role_end,
        .check = check,
        .member_env = member_env,
};
