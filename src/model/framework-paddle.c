/* The PaddlePaddle rows: parameter servers, and collective training.
 *
 * A member gets its own identity and the addresses of the others as today's variables
 * (doc/reference/paddle-operator.md, "Environment of a pod" and "The ConfigMap of a job") and as the
 * PADDLE_INIT_ variables of 2017 (doc/reference/paddle-cloud.md, "Variables of a job"). On one machine all
 * members have the same host, so each has its own port, and PADDLE_INIT_PSERVERS lists host:port; on a
 * cluster it lists addresses. */
#include <string.h>

#include "base/err.h"
#include "model/framework-rows.h"

enum { PORTS_APART = 20 }; /* ports of a member that has its own address */

static bool check_ps(const Spec *spec, GError **error)
{
        return check_replicas(spec, "pserver", 1, SPEC_REPLICAS_MAX, error) &&
               check_replicas(spec, "trainer", 1, SPEC_REPLICAS_MAX, error);
}

static bool check_collective(const Spec *spec, GError **error)
{
        return check_replicas(spec, "trainer", 1, SPEC_REPLICAS_MAX, error);
}

static char *hosts(const Placement *placement, const char *name)
{
        g_autoptr(GString) list = g_string_new(NULL);

        int role = spec_role_index(placement->spec, name);

        for (int i = 0; i < placement_replicas_of(placement, name); i++)
                g_string_append_printf(list, "%s%s", i ? "," : "", placement_host(placement, role, i));
        return g_string_free(g_steal_pointer(&list), FALSE);
}

/* The command as typed: for a shell command its text. */
static char *entry(const Spec *spec, int role)
{
        g_autofree char **words = framework_argv(spec, role);
        char **argv = words;
        g_autoptr(GString) line = g_string_new(NULL);

        if (g_strv_length(argv) == 3 && strcmp(argv[0], "sh") == 0 && strcmp(argv[1], "-c") == 0)
                return g_strdup(argv[2]);
        for (; *argv; argv++) {
                g_autofree char *quoted = g_shell_quote(*argv);
                bool plain = **argv && !strpbrk(*argv, " \t\r\n'\"\\$`&|;<>()*?[]{}#~!");

                g_string_append_printf(line, "%s%s", line->len ? " " : "", plain ? *argv : quoted);
        }
        return g_string_free(g_steal_pointer(&line), FALSE);
}

/* The names of 2017 (doc/reference/paddle-cloud.md, "Variables of a job"). Port and server list are added if
 * there are ports. */
static void old_env(const Placement *placement, int role, int index, int trainers, GPtrArray *env)
{
        const Spec *spec = placement->spec;
        const Role *self = &spec->roles[role];
        const char *passes = spec_user_env(spec, role, "NUM_PASS");
        g_autofree char *command = entry(spec, role);

        env_put(env, "TRAINERS", "%d", trainers);
        env_put(env, "PSERVERS", "%d", placement_replicas_of(placement, "pserver"));
        env_put(env, "ENTRY", "%s", command);
        env_put(env, "TOPOLOGY", "%s", "");
        env_put(env, "PADDLE_INIT_TRAINER_COUNT", "%d",
                self->each.gpus > 0 ? (int)self->each.gpus : role_cores(self));
        env_put(env, "PADDLE_INIT_NUM_GRADIENT_SERVERS", "%d", trainers);
        env_put(env, "PADDLE_INIT_NUM_PASSES", "%s", passes ? passes : "1");
        env_put(env, "PADDLE_INIT_USE_GPU", "%d", self->each.gpus > 0);
        env_put(env, "PADDLE_INIT_TRAINER_ID", "%d", index);
}

void paddle_common_env(const Placement *placement, int role, int index, GPtrArray *env)
{
        const Spec *spec = placement->spec;
        const FrameworkRole *row = framework_role(spec->framework, spec->roles[role].name);
        int trainers =
                placement_replicas_of(placement, "trainer") + placement_replicas_of(placement, "worker");

        env_put(env, "POD_IP", "%s", placement_host(placement, role, index));
        env_put(env, "PADDLE_TRAINER_ID", "%d", index);
        env_put(env, "PADDLE_TRAINERS_NUM", "%d", trainers);
        if (row && row->training_role) {
                env_put(env, "TRAINING_ROLE", "%s", row->training_role);
                env_put(env, "PADDLE_TRAINING_ROLE", "%s", row->training_role);
        }
        if (spec->roles[role].each.gpus == 0)
                env_put(env, "PADDLE_DISTRI_BACKEND", "gloo");
        old_env(placement, role, index, trainers, env);
}

/* The addresses of all members (doc/reference/paddle-operator.md, "The ConfigMap of a job"). On one machine a
 * member has one port; with its own address it has as many as the operator's. */
static void endpoint_env(const Placement *placement, int role, int index, GPtrArray *env)
{
        g_autofree char *trainers = role_endpoints(placement, "trainer"),
                        *trainer_hosts = hosts(placement, "trainer");
        int port = placement_port(placement, role, index);

        env_put(env, "PADDLE_PORT", "%d", port);
        env_put(env, "PADDLE_CURRENT_ENDPOINT", "%s:%d", placement_host(placement, role, index), port);
        env_put(env, "PADDLE_TRAINER_ENDPOINTS", "%s", trainers);
        env_put(env, "PADDLE_TRAINERS", "%s", trainer_hosts);
        env_put(env, "TRAINER_PORTS_NUM", "%d", placement_is_here(placement, role) ? 1 : PORTS_APART);
        env_put(env, "PADDLE_INIT_PORT", "%d", port);
        env_put(env, "PADDLE_INIT_PORTS_NUM", "1");
        env_put(env, "PADDLE_INIT_PORTS_NUM_FOR_SPARSE", "1");
}

/* The start barrier, served over HTTP by server 0 (doc/reference/paddle-operator.md, "Gloo" and "What
 * PaddlePaddle reads"). A trainer that restarts within an attempt must not wait at the barrier, which the
 * others have passed; as trainer 0 it must not initialize the parameters again either. Gloo's group are the
 * trainers present at the start: in an elastic job, one that joins later would wait for a past barrier, and
 * the next barrier would wait for one that left. So elastic jobs have no group; their trainers share only the
 * servers. */
static void gloo_env(const Placement *placement, const char *role, int index, GPtrArray *env)
{
        bool again = placement->restart > 0 && strcmp(role, "trainer") == 0;

        env_put(env, "PADDLE_WITH_GLOO", "%d", !again && !placement->elastic);
        env_put(env, "PADDLE_GLOO_RENDEZVOUS", "3");
        env_put(env, "PADDLE_GLOO_HTTP_ENDPOINT", "%s:%d",
                placement_host(placement, spec_role_index(placement->spec, "pserver"), 0),
                placement->extra_ports ? placement->extra_ports[0] : 0);
        if (again && index == 0)
                env_put(env, "TEST_MODE", "1");
}

static void ps_env(const Placement *placement, int role, int index, GPtrArray *env)
{
        g_autofree char *servers = role_endpoints(placement, "pserver");
        g_autofree char *server_hosts = hosts(placement, "pserver");
        bool here = placement_is_here(placement, role);

        paddle_common_env(placement, role, index, env);
        endpoint_env(placement, role, index, env);
        env_put(env, "PADDLE_PSERVERS_IP_PORT_LIST", "%s", servers);
        env_put(env, "PADDLE_INIT_PSERVERS", "%s", here ? servers : server_hosts);
        gloo_env(placement, placement->spec->roles[role].name, index, env);
}

static void collective_env(const Placement *placement, int role, int index, GPtrArray *env)
{
        paddle_common_env(placement, role, index, env);
        endpoint_env(placement, role, index, env);
        rank_env(placement, role, index, env);
}

const Framework framework_paddle_ps = {
        .name = "paddle-ps",
        .help = "PaddlePaddle with parameter servers",
        .roles = { { "pserver", ENDS_WITH_JOB, 0, true, true, "PSERVER" },
                   { "trainer", ENDS_WITH_ALL, 1, false, true, "TRAINER" } },
        .main_role = "trainer",
        .paddleflow_name = "paddle",
        .tells_all = true,
        .extra_ports = 1,
        .check = check_ps,
        .member_env = ps_env,
};

const Framework framework_paddle_collective = {
        .name = "paddle-collective",
        .help = "PaddlePaddle, all trainers equal (init_parallel_env)",
        .roles = { { "trainer", ENDS_WITH_ALL, 0, false, true, "TRAINER" } },
        .main_role = "trainer",
        .paddleflow_name = "paddle",
        .tells_all = true,
        .fixed = true,
        .check = check_collective,
        .member_env = collective_env,
};
