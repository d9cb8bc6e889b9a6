/* A specification as JSON (see spec.h): canonical, with every default; and the conversion of a submission of
 * PaddlePaddle Cloud. */
#include <string.h>

#include "base/err.h"
#include "model/framework.h"
#include "model/spec-draft.h"

static json_t *text_or_null(const char *text)
{
        return text ? json_string(text) : json_null();
}

static json_t *list_or_null(char *const *list)
{
        json_t *array = list ? json_array() : json_null();

        for (; list && *list; list++)
                json_array_append_new(array, json_string(*list));
        return array;
}

static json_t *env_object(char *const *env)
{
        json_t *object = json_object();

        for (; env && *env; env++) {
                const char *equals = strchr(*env, '=');
                g_autofree char *name = g_strndup(*env, (gsize)(equals - *env));

                json_object_set_new(object, name, json_string(equals + 1));
        }
        return object;
}

static json_t *duration(gint64 ms)
{
        g_autofree char *text = ms % 1000 == 0 ? g_strdup_printf("%" G_GINT64_FORMAT "s", ms / 1000)
                                               : g_strdup_printf("%" G_GINT64_FORMAT "ms", ms);

        return json_string(text);
}

static json_t *role_format(const Role *role)
{
        json_t *object = json_object();
        g_autofree char *cpu = role->each.cpu_milli < 0 ? NULL : cpu_format(role->each.cpu_milli);
        g_autofree char *memory = role->each.memory > 0 ? memory_format(role->each.memory) : NULL;
        Resources others = role->each;

        others.cpu_milli = others.memory = others.gpus = 0;
        json_object_set_new(object, "name", json_string(role->name));
        json_object_set_new(object, "replicas", json_integer(role->replicas));
        json_object_set_new(object, "cpu", text_or_null(cpu));
        json_object_set_new(object, "memory", text_or_null(memory));
        json_object_set_new(object, "gpus", json_integer(role->each.gpus));
        json_object_set_new(object, "env", env_object(role->env));
        json_object_set_new(object, "command", list_or_null(role->command));
        if (role->min != role->replicas)
                json_object_set_new(object, "min", json_integer(role->min));
        if (!resources_is_zero(&others))
                json_object_set_new(object, "resources", resources_format(&others));
        if (role->flavour)
                json_object_set_new(object, "flavour", json_string(role->flavour));
        return object;
}

static void terminal_format(const Spec *spec, json_t *object)
{
        json_object_set_new(object, "tty", json_true());
        if (spec->detach)
                json_object_set_new(object, "detach", json_true());
        json_object_set_new(object, "hangup_after", duration(spec->hangup_ms));
}

json_t *spec_format(const Spec *spec)
{
        json_t *object = json_object(), *roles = json_array();

        for (int i = 0; i < spec->n_roles; i++)
                json_array_append_new(roles, role_format(&spec->roles[i]));
        json_object_set_new(object, "name", text_or_null(spec->name));
        json_object_set_new(object, "framework", json_string(spec->framework->name));
        json_object_set_new(object, "command", list_or_null(spec->command));
        json_object_set_new(object, "roles", roles);
        json_object_set_new(object, "env", env_object(spec->env));
        json_object_set_new(object, "image", text_or_null(spec->image));
        json_object_set_new(object, "package", text_or_null(spec->package));
        json_object_set_new(object, "package_name", text_or_null(spec->package_name));
        json_object_set_new(object, "requirements", text_or_null(spec->requirements));
        json_object_set_new(object, "input", text_or_null(spec->input));
        json_object_set_new(object, "output", text_or_null(spec->output));
        json_object_set_new(object, "retries", json_integer(spec->retries));
        json_object_set_new(object, "backoff", duration(spec->backoff_ms));
        json_object_set_new(object, "time_limit",
                            spec->time_limit_ms ? duration(spec->time_limit_ms) : json_null());
        json_object_set_new(object, "grace", duration(spec->grace_ms));
        json_object_set_new(object, "on_lost", json_string(spec->restart_lost ? "retry" : "fail"));
        json_object_set_new(object, "use_gpu", json_boolean(spec->use_gpu));
        json_object_set_new(object, "ready", json_string(spec->ready_declared ? "declared" : "listen"));
        if (spec->start_timeout_ms != SPEC_START_TIMEOUT_MS)
                json_object_set_new(object, "start_timeout", duration(spec->start_timeout_ms));
        if (spec->setup)
                json_object_set_new(object, "setup", json_string(spec->setup));
        if (spec->setup_files)
                json_object_set_new(object, "setup_files", json_string(spec->setup_files));
        if (spec->network_none)
                json_object_set_new(object, "network", json_string("none"));
        if (spec->tty)
                terminal_format(spec, object);
        secrets_format(spec, object);
        schedule_format(spec, object);
        return object;
}

/* ---- submissions of PaddlePaddle Cloud ---- */

typedef struct {
        gint64 trainers, pservers, gpus; /* gpus -1: not given */
        bool use_gpu;
        const char *entry_point, *package_path, *package;
} Seed;

static bool seed_gpus(const Seed *seed, GError **error)
{
        if (seed->use_gpu && seed->gpus < 1)
                return err_set(
                        error, ERR_INVALID,
                        "use_gpu is true, but trainer_gpu_num is %s\nSay how many GPUs each trainer gets.",
                        seed->gpus < 0 ? "missing" : "0");
        if (!seed->use_gpu && seed->gpus > 0)
                return err_set(error, ERR_INVALID,
                               "trainer_gpu_num is %" G_GINT64_FORMAT
                               ", but use_gpu is not true\nSet use_gpu, too.",
                               seed->gpus);
        return true;
}

static bool seed_read(const json_t *object, Seed *seed, GError **error)
{
        static const char *const fields[] = { "job_name",     "package_path",    "entry_point", "input",
                                              "output",       "trainers",        "pservers",    "base_image",
                                              "use_gpu",      "trainer_gpu_num", "env",         "package",
                                              "package_name", "job_id",          "queue",       NULL };

        if (!json_is_object(object))
                return err_set(error, ERR_INVALID, "a submission must be a JSON object");
        if (!json_only(object, "", fields, error) ||
            !json_get_string(object, "", "entry_point", SPEC_TEXT_MAX, &seed->entry_point, error) ||
            !json_get_string(object, "", "package_path", SPEC_PATH_MAX, &seed->package_path, error) ||
            !json_get_string(object, "", "package", SPEC_TEXT_MAX, &seed->package, error) ||
            !json_get_int(object, "", "trainers", 1, SPEC_REPLICAS_MAX, &seed->trainers, error) ||
            !json_get_int(object, "", "pservers", 0, SPEC_REPLICAS_MAX, &seed->pservers, error) ||
            !json_get_bool(object, "", "use_gpu", &seed->use_gpu, error) ||
            !json_get_int(object, "", "trainer_gpu_num", 0, 1024, &seed->gpus, error))
                return false;
        if (!seed->entry_point)
                return err_set(error, ERR_INVALID,
                               "entry_point is missing\nIt is the command of a trainer, such as "
                               "\"python train.py\".");
        return seed_gpus(seed, error);
}

static json_t *seed_roles(const Seed *seed)
{
        json_t *roles = json_array();

        if (seed->pservers > 0)
                json_array_append_new(roles, json_pack("{s:s, s:I}", "name", "pserver", "replicas",
                                                       (json_int_t)seed->pservers));
        json_array_append_new(roles,
                              json_pack("{s:s, s:I, s:I}", "name", "trainer", "replicas",
                                        (json_int_t)seed->trainers, "gpus", (json_int_t)MAX(seed->gpus, 0)));
        return roles;
}

/* The default is the name of the directory, by which programs import the package from PYTHONPATH. */
static void seed_package_name(const Seed *seed, json_t *spec)
{
        g_autofree char *base = NULL;

        if (!seed->package || !seed->package_path || json_object_get(spec, "package_name"))
                return;
        base = g_path_get_basename(seed->package_path);
        if (strcmp(base, ".") != 0 && strcmp(base, "..") != 0 && strcmp(base, "/") != 0)
                json_object_set_new(spec, "package_name", json_string(base));
}

json_t *spec_from_seed(const json_t *object, GError **error)
{
        static const struct {
                const char *seed, *spec;
        } same[] = {
                { "job_name", "name" },
                { "base_image", "image" },
                { "input", "input" },
                { "output", "output" },
                { "env", "env" },
                { "package", "package" },
                { "package_name", "package_name" },
                { "queue", "queue" },
        };
        Seed seed = { .trainers = 1, .gpus = -1 };
        json_t *spec;

        if (!seed_read(object, &seed, error))
                return NULL;
        spec = json_object();
        for (size_t i = 0; i < G_N_ELEMENTS(same); i++) {
                json_t *value = json_object_get(object, same[i].seed);

                if (value && !json_is_null(value))
                        json_object_set(spec, same[i].spec, value);
        }
        json_object_set_new(spec, "command", json_string(seed.entry_point));
        json_object_set_new(spec, "roles", seed_roles(&seed));
        if (seed.use_gpu)
                json_object_set_new(spec, "use_gpu", json_true());
        seed_package_name(&seed, spec);
        return spec;
}
