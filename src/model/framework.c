/* The table of frameworks (see framework.h) and the variables that all rows share. The framework-*.c files
 * add those of each row.
 *
 * Invariants: the environment of a member depends only on its placement. Each name occurs once, at the
 * position of its first mention, with its last value. */
#include "model/framework.h"

#include <string.h>

#include "base/err.h"
#include "base/keyed-hash.h"
#include "model/framework-rows.h"

static const Framework *const rows[] = { &framework_paddle_ps, &framework_paddle_collective,
                                         &framework_plain,     &framework_tensorflow,
                                         &framework_pytorch,   &framework_mpi,
                                         &framework_spark,     NULL };

/* Other names of roles: PaddleFlow says worker for the original trainer, and each framework has its own word
 * for the first member. */
static const struct {
        const char *alias, *name;
} aliases[] = {
        { "worker", "trainer" }, { "trainer", "worker" },  { "ps", "pserver" },
        { "chief", "master" },   { "launcher", "master" },
};

const Framework *framework_find(const char *name)
{
        for (const Framework *const *row = rows; *row; row++)
                if (strcmp((*row)->name, name) == 0)
                        return *row;
        return NULL;
}

const Framework *const *framework_all(void)
{
        return rows;
}

char *framework_names(void)
{
        g_autoptr(GString) names = g_string_new(NULL);

        for (const Framework *const *row = rows; *row; row++)
                g_string_append_printf(names, "%s%s", names->len ? ", " : "", (*row)->name);
        return g_string_free(g_steal_pointer(&names), FALSE);
}

static const FrameworkRole *find_role(const Framework *framework, const char *name)
{
        for (int i = 0; i < FRAMEWORK_ROLES_MAX && framework->roles[i].name; i++)
                if (strcmp(framework->roles[i].name, name) == 0)
                        return &framework->roles[i];
        return NULL;
}

const FrameworkRole *framework_role(const Framework *framework, const char *role)
{
        const FrameworkRole *found = find_role(framework, role);

        for (size_t i = 0; !found && i < G_N_ELEMENTS(aliases); i++)
                if (strcmp(aliases[i].alias, role) == 0)
                        found = find_role(framework, aliases[i].name);
        return found;
}

RoleEnd framework_role_end(const Spec *spec, int r)
{
        const FrameworkRole *row = framework_role(spec->framework, spec->roles[r].name);

        return spec->framework->role_end ? spec->framework->role_end(spec, row) : row->end;
}

bool framework_phases_listen(const Spec *spec)
{
        int last = 0;

        for (int r = 0; r < spec->n_roles; r++)
                last = MAX(last, framework_role(spec->framework, spec->roles[r].name)->phase);
        for (int r = 0; r < spec->n_roles; r++) {
                const FrameworkRole *row = framework_role(spec->framework, spec->roles[r].name);

                if (row->phase < last && (!row->listens || spec->ready_declared))
                        return false;
        }
        return true;
}

static void append_words(GPtrArray *list, const char *const *words)
{
        for (; words && *words; words++)
                g_ptr_array_add(list, (char *)*words);
}

char *const *spec_user_argv(const Spec *spec, int r)
{
        const FrameworkRole *row = framework_role(spec->framework, spec->roles[r].name);

        if (row->program_only)
                return NULL;
        return spec->roles[r].command ? spec->roles[r].command : spec->command;
}

char **framework_argv(const Spec *spec, int r)
{
        const FrameworkRole *row = framework_role(spec->framework, spec->roles[r].name);
        char *const *said = spec_user_argv(spec, r);
        const char *const *command = said ? (const char *const *)said : row->program;
        g_autoptr(GPtrArray) words = g_ptr_array_new();

        if (!command)
                return NULL;
        append_words(words, row->prefix);
        append_words(words, command);
        g_ptr_array_add(words, NULL);
        return (char **)g_ptr_array_free(g_steal_pointer(&words), FALSE);
}

/* ---- shared by the rows ---- */

void env_put(GPtrArray *env, const char *name, const char *format, ...)
{
        g_autofree char *value = NULL;
        va_list args;

        va_start(args, format);
        value = g_strdup_vprintf(format, args);
        va_end(args);
        g_ptr_array_add(env, g_strconcat(name, "=", value, NULL));
}

int spec_role_index(const Spec *spec, const char *name)
{
        for (int i = 0; i < spec->n_roles; i++)
                if (strcmp(spec->roles[i].name, name) == 0)
                        return i;
        return -1;
}

int spec_replicas(const Spec *spec, const char *name)
{
        int role = spec_role_index(spec, name);

        return role < 0 ? 0 : spec->roles[role].replicas;
}

bool check_replicas(const Spec *spec, const char *role, int least, int most, GError **error)
{
        int replicas = spec_replicas(spec, role);

        if (replicas < least)
                return err_set(error, ERR_INVALID, "roles: %s needs at least %d %s", spec->framework->name,
                               least, role);
        if (replicas > most)
                return err_set(error, ERR_INVALID, "roles: %s takes at most %d %s, not %d",
                               spec->framework->name, most, role, replicas);
        return true;
}

int placement_replicas(const Placement *placement, int role)
{
        if (role < 0)
                return 0;
        return placement->replicas ? placement->replicas[role] : placement->spec->roles[role].replicas;
}

int placement_replicas_of(const Placement *placement, const char *name)
{
        return placement_replicas(placement, spec_role_index(placement->spec, name));
}

char *role_endpoints(const Placement *placement, const char *name)
{
        g_autoptr(GString) list = g_string_new(NULL);
        int role = spec_role_index(placement->spec, name);

        for (int i = 0; i < placement_replicas(placement, role); i++)
                g_string_append_printf(list, "%s%s:%d", i ? "," : "", placement_host(placement, role, i),
                                       placement_port(placement, role, i));
        return g_string_free(g_steal_pointer(&list), FALSE);
}

const char *placement_host(const Placement *placement, int role, int index)
{
        return placement->hosts ? placement->hosts[role][index] : THIS_MACHINE;
}

bool placement_is_here(const Placement *placement, int role)
{
        return strcmp(placement_host(placement, role, 0), THIS_MACHINE) == 0;
}

int placement_port(const Placement *placement, int role, int index)
{
        return placement->ports && placement->ports[role] ? placement->ports[role][index] : 0;
}

int role_cores(const Role *role)
{
        return (int)CLAMP(role->each.cpu_milli / 1000, 1, 1000000);
}

static const char *find_env(char *const *env, const char *name)
{
        size_t len = strlen(name);

        for (; env && *env; env++)
                if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
                        return *env + len + 1;
        return NULL;
}

const char *spec_user_env(const Spec *spec, int role, const char *name)
{
        const char *value = find_env(spec->roles[role].env, name);

        return value ? value : find_env(spec->env, name);
}

void rank_env(const Placement *placement, int role, int index, GPtrArray *env)
{
        int port = placement_port(placement, role, 0);
        int world = placement_replicas(placement, role);

        if (world < 2)
                return;
        if (port) {
                env_put(env, "MASTER_ADDR", "%s", placement_host(placement, role, 0));
                env_put(env, "MASTER_PORT", "%d", port);
        }
        env_put(env, "WORLD_SIZE", "%d", world);
        env_put(env, "RANK", "%d", index);
        env_put(env, "LOCAL_RANK", "%d",
                placement_is_here(placement, role) ? index : 0); /* one machine: local is global */
}

/* ---- the row without a framework ---- */

static bool check_plain(const Spec *spec, GError **error)
{
        return check_replicas(spec, "worker", 1, SPEC_REPLICAS_MAX, error);
}

static void plain_env(const Placement *placement, int role, int index, GPtrArray *env)
{
        paddle_common_env(placement, role, index, env);
        rank_env(placement, role, index, env);
}

const Framework framework_plain = {
        .name = "plain",
        .help = "Any program, in one or several processes",
        .roles = { { "worker", ENDS_WITH_ALL, 0, false, false, "TRAINER" } },
        .main_role = "worker",
        .paddleflow_name = "standalone",
        .check = check_plain,
        .member_env = plain_env,
};

/* ---- the whole environment ---- */

static bool is_distributed(const Placement *placement)
{
        int members = 0;

        for (int r = 0; r < placement->spec->n_roles; r++)
                members += placement_replicas(placement, r);
        return members > 1;
}

/* doc/reference/paddle-cloud.md, "Variables of a job", and doc/reference/scheduling.md, "Variables of
 * members". One machine has no namespaces; the user's name is used instead. */
static void identity_env(const Placement *placement, int role, GPtrArray *env)
{
        const Spec *spec = placement->spec;
        const char *mode = framework_mode(spec);
        const char *queue = placement->queue ? placement->queue : "default";
        const char *space = placement->namespace ? placement->namespace : placement->user;

        env_put(env, "PADDLE_JOB_NAME", "%s", placement->job_name);
        env_put(env, "PADDLE_JOB_ID", "%s", placement->job_id);
        env_put(env, "PADDLE_CLOUD_CURRENT_DATACENTER", "%s", placement->dc);
        env_put(env, "PADDLE_CLOUD_USERNAME", "%s", placement->user);
        env_put(env, "NAMESPACE", "%s", space);
        env_put(env, "PF_JOB_TYPE", "%s", is_distributed(placement) ? "distributed" : "single");
        if (mode)
                env_put(env, "PF_JOB_MODE", "%s", mode);
        env_put(env, "PF_JOB_FRAMEWORK", "%s", spec->framework->paddleflow_name);
        env_put(env, "PF_JOB_QUEUE_NAME", "%s", queue);
        env_put(env, "PF_JOB_NAMESPACE", "%s", space);
        env_put(env, "PF_USER_NAME", "%s", placement->user);
        env_put(env, "RUNNING_ON_CLOUD", "YES");
        env_put(env, "PYTHONUNBUFFERED", "1");
        env_put(env, "OMP_NUM_THREADS", "%d", role_cores(&spec->roles[role]));
}

static void gpu_env(const Placement *placement, int role, int index, GPtrArray *env)
{
        const char *gpus = placement->gpus && placement->gpus[role] ? placement->gpus[role][index] : NULL;

        if (gpus)
                env_put(env, "CUDA_VISIBLE_DEVICES", "%s", gpus);
}

static void append_list(GPtrArray *env, char *const *list)
{
        for (; list && *list; list++)
                g_ptr_array_add(env, g_strdup(*list));
}

/* Removes duplicate names: keeps the last value at the first position. */
static char **without_repeats(GPtrArray *env)
{
        g_autoptr(GHashTable) places = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        GPtrArray *list = g_ptr_array_new();

        for (guint i = 0; i < env->len; i++) {
                char *pair = env->pdata[i], *name = g_strndup(pair, strcspn(pair, "="));
                guint place = GPOINTER_TO_UINT(g_hash_table_lookup(places, name));

                if (place) {
                        g_free(list->pdata[place - 1]);
                        list->pdata[place - 1] = pair;
                        g_free(name);
                } else {
                        g_ptr_array_add(list, pair);
                        g_hash_table_insert(places, name, GUINT_TO_POINTER(list->len));
                }
        }
        g_ptr_array_set_size(env, 0);
        g_ptr_array_add(list, NULL);
        return (char **)g_ptr_array_free(list, FALSE);
}

char **framework_environment(const Placement *placement, int role, int index)
{
        g_autoptr(GPtrArray) env = g_ptr_array_new();

        identity_env(placement, role, env);
        placement->spec->framework->member_env(placement, role, index, env);
        gpu_env(placement, role, index, env);
        append_list(env, placement->spec->env);
        append_list(env, placement->spec->roles[role].env);
        return without_repeats(env);
}
