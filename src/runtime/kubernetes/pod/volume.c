/* Volumes of pods (see volume.h): PaddlePaddle Cloud's way of job to objects, "Volumes".
 *
 * The directory of the output is mounted once more by its sub-path: the kubelet makes it then, and no program
 * has to run for that. */
#include "runtime/kubernetes/pod/volume.h"

#include <string.h>

#include "podspec/objects.h"

/* The location of a path of the job. */
typedef struct {
        const SettingVolume *volume; /* NULL: nowhere */
        bool public;
        const char *below; /* in it, "" for itself; borrowed from the path */
} Place;

static const SettingVolume *homes(const VolumeMap *map)
{
        return setting_volume(map->setting, map->setting->datacenter ? map->setting->datacenter : map->dc);
}

static char *mount_path(const VolumeMap *map, const char *user)
{
        return user ? g_strdup_printf("/pfs/%s/home/%s", map->dc, user)
                    : g_strdup_printf("/pfs/%s/" SETTING_PUBLIC, map->dc);
}

/* The rest of a path below a directory; NULL: it does not lie there. */
static const char *below(const char *path, const char *directory)
{
        const char *rest = g_str_has_prefix(path, directory) ? path + strlen(directory) : NULL;

        return rest && *rest == '/' ? rest + 1 : rest && !*rest ? rest : NULL;
}

/* False: neither in the user's home nor in public. */
static bool find_place(const VolumeMap *map, const char *user, const char *path, Place *ret)
{
        g_autofree char *home = mount_path(map, user), *public = mount_path(map, NULL);
        const char *in_home = below(path, home), *in_public = below(path, public);

        *ret = (Place){ .volume = in_public ? setting_volume(map->setting, SETTING_PUBLIC) : homes(map),
                        .public = in_public != NULL,
                        .below = in_public ? in_public : in_home };
        return ret->below != NULL;
}

/* ---- what cannot be ---- */

static char *problem_of_path(const VolumeMap *map, const char *user, const char *what, const char *path)
{
        bool writes = strcmp(what, "output") == 0;
        Place place;

        if (!path)
                return NULL;
        if (!find_place(map, user, path, &place))
                return g_strdup_printf(
                        "%s: '%s' is neither in /pfs/%s/home/%s nor in /pfs/%s/public, which are "
                        "what the job's pods see",
                        what, path, map->dc, user, map->dc);
        if (!place.volume)
                return g_strdup_printf(
                        "%s: the cluster's pods do not see '%s'\nThe entry '%s' of `volumes` in the "
                        "cluster's setting says where it lies.",
                        what, path,
                        place.public               ? SETTING_PUBLIC
                        : map->setting->datacenter ? map->setting->datacenter
                                                   : map->dc);
        if (writes && place.volume->read_only)
                return g_strdup_printf(
                        "output: '%s' cannot be written from the cluster's pods\nName a directory "
                        "of your home, such as /pfs/%s/home/%s/out.",
                        path, map->dc, user);
        return NULL;
}

bool volume_has_home(const VolumeMap *map)
{
        return homes(map) != NULL;
}

char *volume_problem(const VolumeMap *map, const RuntimeAttempt *attempt)
{
        char *problem = problem_of_path(map, attempt->job->user, "input", attempt->job->spec->input);

        return problem ? problem
                       : problem_of_path(map, attempt->job->user, "output", attempt->job->spec->output);
}

/* ---- volumes ---- */

/* The entry's name, as far as a volume may be called so. */
static char *volume_name(const SettingVolume *volume)
{
        char *name = g_ascii_strdown(volume->name, -1);

        return g_strdelimit(name, "_.", '-');
}

static json_t *strings(char *const *list)
{
        json_t *array = json_array();

        for (; list && *list; list++)
                json_array_append_new(array, json_string(*list));
        return array;
}

static json_t *host_path(const char *path)
{
        return json_pack("{s:{s:s, s:s}}", "hostPath", "path", path, "type", "DirectoryOrCreate");
}

static json_t *ceph(const SettingVolume *volume, const char *path)
{
        return json_pack("{s:{s:o, s:s, s:s, s:{s:s}, s:b}}", "cephfs", "monitors", strings(volume->monitors),
                         "path", path, "user", volume->ceph_user, "secretRef", "name", volume->ceph_secret,
                         "readOnly", volume->read_only);
}

static json_t *source(const SettingVolume *volume, const char *user)
{
        const char *text = volume->host_path ? volume->host_path
                           : volume->claim   ? volume->claim
                                             : volume->ceph_path;
        g_autofree char *name = setting_for_user(text, user);

        if (volume->host_path)
                return host_path(name);
        if (volume->claim)
                return json_pack("{s:{s:s, s:b}}", "persistentVolumeClaim", "claimName", name, "readOnly",
                                 volume->read_only);
        return ceph(volume, name);
}

/* ---- mounts ---- */

/* `sub`: in the volume's own sub-path, or NULL. */
static json_t *mount(const SettingVolume *volume, const char *user, const char *at, const char *sub)
{
        g_autofree char *name = volume_name(volume);
        g_autofree char *own = volume->sub_path ? setting_for_user(volume->sub_path, user) : NULL;
        g_autofree char *whole = own && sub ? g_build_filename(own, sub, NULL) : g_strdup(own ? own : sub);
        json_t *made =
                json_pack("{s:s, s:s, s:b}", "name", name, "mountPath", at, "readOnly", volume->read_only);

        if (whole)
                json_object_set_new(made, "subPath", json_string(whole));
        return made;
}

json_t *volume_home_mount(const VolumeMap *map, const char *user, const char *at, const char *sub)
{
        return mount(homes(map), user, at, *sub ? sub : NULL);
}

static bool is_wanted(const json_t *container, const char *name)
{
        return !name || g_strcmp0(json_string_value(json_object_get(container, "name")), name) == 0;
}

static void append_to_containers(json_t *pod_spec, const char *name, const char *list, json_t *item)
{
        json_t *containers = json_object_get(pod_spec, "containers"), *container;
        gsize i;

        json_array_foreach(containers, i, container) {
                if (is_wanted(container, name))
                        json_array_append(podspec_list(container, list), item);
        }
        json_decref(item);
}

static void put_volume(const VolumeMap *map, const SettingVolume *volume, const char *user,
                       const char *at_user, json_t *pod_spec, const char *container)
{
        g_autofree char *name = NULL, *at = NULL;
        json_t *made;

        if (!volume)
                return;
        name = volume_name(volume);
        at = mount_path(map, at_user);
        made = source(volume, user);
        json_object_set_new(made, "name", json_string(name));
        json_array_append_new(podspec_list(pod_spec, "volumes"), made);
        append_to_containers(pod_spec, container, "volumeMounts", mount(volume, user, at, NULL));
}

static void put_output(const VolumeMap *map, const RuntimeAttempt *attempt, json_t *pod_spec,
                       const char *container)
{
        Place place;

        if (attempt->job->spec->output &&
            find_place(map, attempt->job->user, attempt->job->spec->output, &place) && place.volume &&
            *place.below)
                append_to_containers(pod_spec, container, "volumeMounts",
                                     mount(place.volume, attempt->job->user, attempt->job->spec->output,
                                           place.below));
}

/* ---- variables ---- */

static void put_variables(const RuntimeAttempt *attempt, json_t *pod_spec, const char *container)
{
        const struct {
                const char *name, *value;
        } variables[] = {
                { "PADDLE_INPUT", attempt->job->spec->input },
                { "INPUT", attempt->job->spec->input },
                { "PADDLE_OUTPUT", attempt->job->spec->output },
                { "OUTPUT", attempt->job->spec->output },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(variables); i++) {
                g_autofree char *value = variables[i].value ? podspec_literal(variables[i].value) : NULL;

                if (value)
                        append_to_containers(pod_spec, container, "env",
                                             json_pack("{s:s, s:s}", "name", variables[i].name, "value",
                                                       value));
        }
}

void volume_put(const VolumeMap *map, const RuntimeAttempt *attempt, json_t *pod_spec, const char *container)
{
        put_volume(map, homes(map), attempt->job->user, attempt->job->user, pod_spec, container);
        put_volume(map, setting_volume(map->setting, SETTING_PUBLIC), attempt->job->user, NULL, pod_spec,
                   container);
        put_output(map, attempt, pod_spec, container);
        put_variables(attempt, pod_spec, container);
}
