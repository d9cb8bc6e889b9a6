/* A specification as JSON (see spec.h): canonical, with every default; and the conversion of a submission of
 * PaddlePaddle Cloud. */
#include <string.h>

#include "base/err.h"
#include "base/json-out.h"
#include "model/framework.h"
#include "model/mount.h"
#include "model/spec-draft.h"

static json_t *list_tree(char *const *list)
{
        json_t *array = json_array();

        for (; *list; list++)
                json_array_append_new(array, json_string(*list));
        return array;
}

static void put_list(JsonOut *out, const char *name, char *const *list)
{
        json_out_value(out, name, list ? list_tree(list) : json_null());
}

/* NULL: no variables. */
static json_t *env_tree(char *const *env)
{
        json_t *object = env && *env ? json_object() : NULL;

        for (; env && *env; env++) {
                const char *equals = strchr(*env, '=');
                g_autofree char *name = g_strndup(*env, (gsize)(equals - *env));

                json_object_set_new(object, name, json_string(equals + 1));
        }
        return object;
}

static void put_duration(JsonOut *out, const char *name, gint64 ms)
{
        char text[32];

        g_snprintf(text, sizeof text, "%" G_GINT64_FORMAT "%s", ms % 1000 == 0 ? ms / 1000 : ms,
                   ms % 1000 == 0 ? "s" : "ms");
        json_out_text(out, name, text);
}

static void write_role(JsonOut *out, const Role *role)
{
        g_autofree char *cpu = role->each.cpu_milli < 0 ? NULL : cpu_format(role->each.cpu_milli);
        g_autofree char *memory = role->each.memory > 0 ? memory_format(role->each.memory) : NULL;
        Resources others = role->each;

        others.cpu_milli = others.memory = others.gpus = 0;
        json_open(out, '{');
        json_put_text(out, "name", role->name);
        json_put_int(out, "replicas", role->replicas);
        json_put_text(out, "cpu", cpu);
        json_put_text(out, "memory", memory);
        json_put_int(out, "gpus", role->each.gpus);
        json_put_value(out, "env", env_tree(role->env));
        put_list(out, JSON_NAME("command"), role->command);
        if (role->min != role->replicas)
                json_put_int(out, "min", role->min);
        if (!resources_is_zero(&others))
                json_put_value(out, "resources", resources_format(&others));
        if (role->flavour)
                json_put_text(out, "flavour", role->flavour);
        json_close(out, '}');
}

static void write_terminal(JsonOut *out, const Spec *spec)
{
        json_put_bool(out, "tty", true);
        if (spec->detach)
                json_put_bool(out, "detach", true);
        put_duration(out, JSON_NAME("hangup_after"), spec->hangup_ms);
}

/* Members that are left out where they have their default. */
static void write_seldom(JsonOut *out, const Spec *spec)
{
        json_t *rest = json_object();

        if (spec->start_timeout_ms != SPEC_START_TIMEOUT_MS)
                put_duration(out, JSON_NAME("start_timeout"), spec->start_timeout_ms);
        if (spec->setup)
                json_put_text(out, "setup", spec->setup);
        if (spec->setup_files)
                json_put_text(out, "setup_files", spec->setup_files);
        if (spec->network_none)
                json_put_text(out, "network", "none");
        if (spec->tty)
                write_terminal(out, spec);
        secrets_format(spec, rest);
        if (spec->mounts)
                json_object_set_new(rest, "mounts", mounts_format(spec->mounts));
        schedule_format(spec, rest);
        json_put_members(out, rest);
}

void spec_write(JsonOut *out, const Spec *spec)
{
        json_open(out, '{');
        json_put_text(out, "name", spec->name);
        json_put_text(out, "framework", spec->framework->name);
        put_list(out, JSON_NAME("command"), spec->command);
        json_open_member(out, "roles", '[');
        for (int i = 0; i < spec->n_roles; i++)
                write_role(out, &spec->roles[i]);
        json_close(out, ']');
        json_put_value(out, "env", env_tree(spec->env));
        json_put_text(out, "image", spec->image);
        json_put_text(out, "package", spec->package);
        json_put_text(out, "package_name", spec->package_name);
        json_put_text(out, "requirements", spec->requirements);
        json_put_text(out, "input", spec->input);
        json_put_text(out, "output", spec->output);
        json_put_int(out, "retries", spec->retries);
        put_duration(out, JSON_NAME("backoff"), spec->backoff_ms);
        if (spec->time_limit_ms)
                put_duration(out, JSON_NAME("time_limit"), spec->time_limit_ms);
        else
                json_put_null(out, "time_limit");
        put_duration(out, JSON_NAME("grace"), spec->grace_ms);
        json_put_text(out, "on_lost", spec->restart_lost ? "retry" : "fail");
        json_put_bool(out, "use_gpu", spec->use_gpu);
        json_put_text(out, "ready", spec->ready_declared ? "declared" : "listen");
        write_seldom(out, spec);
        json_close(out, '}');
}

char *spec_text(const Spec *spec, bool brief)
{
        JsonOut out = json_out_begin(512);

        out.brief = brief;
        spec_write(&out, spec);
        return json_out_end(&out);
}

json_t *spec_format(const Spec *spec)
{
        g_autofree char *text = spec_text(spec, false);

        return json_parse_own(text, strlen(text), NULL);
}

/* ---- submissions of PaddlePaddle Cloud ---- */

typedef struct {
        gint64 trainers, pservers, gpus; /* gpus -1: not given */
        bool use_gpu;
        const char *entry_point, *package_path, *package;
} CloudJob;

static bool cloud_gpus(const CloudJob *cloud, GError **error)
{
        if (cloud->use_gpu && cloud->gpus < 1)
                return err_set(
                        error, ERR_INVALID,
                        "use_gpu is true, but trainer_gpu_num is %s\nSay how many GPUs each trainer gets.",
                        cloud->gpus < 0 ? "missing" : "0");
        if (!cloud->use_gpu && cloud->gpus > 0)
                return err_set(error, ERR_INVALID,
                               "trainer_gpu_num is %" G_GINT64_FORMAT
                               ", but use_gpu is not true\nSet use_gpu, too.",
                               cloud->gpus);
        return true;
}

static bool cloud_read(const json_t *object, CloudJob *cloud, GError **error)
{
        static const char *const fields[] = { "job_name",     "package_path",    "entry_point", "input",
                                              "output",       "trainers",        "pservers",    "base_image",
                                              "use_gpu",      "trainer_gpu_num", "env",         "package",
                                              "package_name", "job_id",          "queue",       NULL };

        if (!json_is_object(object))
                return err_set(error, ERR_INVALID, "a submission must be a JSON object");
        if (!json_only(object, "", fields, error) ||
            !json_get_string(object, "", "entry_point", SPEC_TEXT_MAX, &cloud->entry_point, error) ||
            !json_get_string(object, "", "package_path", SPEC_PATH_MAX, &cloud->package_path, error) ||
            !json_get_string(object, "", "package", SPEC_TEXT_MAX, &cloud->package, error) ||
            !json_get_int(object, "", "trainers", 1, SPEC_REPLICAS_MAX, &cloud->trainers, error) ||
            !json_get_int(object, "", "pservers", 0, SPEC_REPLICAS_MAX, &cloud->pservers, error) ||
            !json_get_bool(object, "", "use_gpu", &cloud->use_gpu, error) ||
            !json_get_int(object, "", "trainer_gpu_num", 0, 1024, &cloud->gpus, error))
                return false;
        if (!cloud->entry_point)
                return err_set(error, ERR_INVALID,
                               "entry_point is missing\nIt is the command of a trainer, such as "
                               "\"python train.py\".");
        return cloud_gpus(cloud, error);
}

static json_t *cloud_roles(const CloudJob *cloud)
{
        json_t *roles = json_array();

        if (cloud->pservers > 0)
                json_array_append_new(roles, json_pack("{s:s, s:I}", "name", "pserver", "replicas",
                                                       (json_int_t)cloud->pservers));
        json_array_append_new(roles, json_pack("{s:s, s:I, s:I}", "name", "trainer", "replicas",
                                               (json_int_t)cloud->trainers, "gpus",
                                               (json_int_t)MAX(cloud->gpus, 0)));
        return roles;
}

/* The default is the name of the directory, by which programs import the package from PYTHONPATH. */
static void cloud_package_name(const CloudJob *cloud, json_t *spec)
{
        g_autofree char *base = NULL;

        if (!cloud->package || !cloud->package_path || json_object_get(spec, "package_name"))
                return;
        base = g_path_get_basename(cloud->package_path);
        if (strcmp(base, ".") != 0 && strcmp(base, "..") != 0 && strcmp(base, "/") != 0)
                json_object_set_new(spec, "package_name", json_string(base));
}

json_t *spec_from_cloud_job(const json_t *object, GError **error)
{
        static const struct {
                const char *cloud, *spec;
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
        CloudJob cloud = { .trainers = 1, .gpus = -1 };
        json_t *spec;

        if (!cloud_read(object, &cloud, error))
                return NULL;
        spec = json_object();
        for (size_t i = 0; i < G_N_ELEMENTS(same); i++) {
                json_t *value = json_object_get(object, same[i].cloud);

                if (value && !json_is_null(value))
                        json_object_set(spec, same[i].spec, value);
        }
        json_object_set_new(spec, "command", json_string(cloud.entry_point));
        json_object_set_new(spec, "roles", cloud_roles(&cloud));
        if (cloud.use_gpu)
                json_object_set_new(spec, "use_gpu", json_true());
        cloud_package_name(&cloud, spec);
        return spec;
}
