/* Mounts of a job in its pods (see mounts.h).
 *
 *   file system           volume                                     sub-path
 *   home                  the cluster's volume of homes              SUB
 *   a directory           hostPath of an allowed prefix              the rest of the directory, SUB
 *   a claim               persistentVolumeClaim, if it is allowed    SUB
 *
 * A hostPath is always an administrator's prefix, never the file system's own directory: the kubelet follows links in
 * a hostPath with root's rights, and users may be able to create links below the prefix. */
#include "runtime/kubernetes/pod/mounts.h"

#include <string.h>

#include "podspec/objects.h"
#include "runtime/kubernetes/pod/gate.h"

/* The rest of a path at or below a directory; NULL: it is elsewhere. */
static const char *below(const char *path, const char *directory)
{
        gsize len = strlen(directory);
        const char *rest;

        while (len > 1 && directory[len - 1] == '/')
                len--;
        if (strncmp(path, directory, len) != 0)
                return NULL;
        rest = path + len;
        return *rest == '/' ? rest + strspn(rest, "/") : *rest ? NULL : rest;
}

/* The allowed directory that contains the file system's, and the rest. The caller's; NULL: none is allowed. */
static char *prefix_of(const VolumeMap *map, const char *user, const char *root, const char **ret_rest)
{
        for (char **allowed = map->setting->mounts.host_paths; allowed && *allowed; allowed++) {
                g_autofree char *prefix = setting_for_user(*allowed, user);

                *ret_rest = below(root, prefix);
                if (*ret_rest)
                        return g_steal_pointer(&prefix);
        }
        return NULL;
}

/* ---- what cannot be ---- */

static char *problem_of_claim(const VolumeMap *map, const char *namespace, const TaskMount *mount)
{
        const char *const *allowed = (const char *const *)map->setting->mounts.claims;

        if (!allowed || !g_strv_contains(allowed, mount->claim))
                return g_strdup_printf(
                        "the cluster does not let jobs mount the claim '%s' of file system '%s'\n"
                        "Ask an administrator for `mounts.claims` in the cluster's setting.",
                        mount->claim, mount->fs);
        if (namespace && mount->namespace && strcmp(namespace, mount->namespace) != 0)
                return g_strdup_printf(
                        "the claim '%s' of file system '%s' is in namespace '%s', and the job's pods "
                        "are in '%s'",
                        mount->claim, mount->fs, mount->namespace, namespace);
        return NULL;
}

static char *problem_of(const VolumeMap *map, const char *user, const char *namespace, const TaskMount *mount)
{
        g_autofree char *prefix = NULL;
        const char *rest;

        if (*mount->path != '/')
                return g_strdup_printf("the path '%s' is relative; on Kubernetes it has to be absolute\n"
                                       "Name one such as '/%s'.",
                                       mount->path, mount->path);
        if (mount->claim)
                return problem_of_claim(map, namespace, mount);
        if (!mount->root)
                return volume_has_home(map)
                               ? NULL
                               : g_strdup_printf(
                                         "the cluster's pods do not see the file system '%s'\n"
                                         "Ask an administrator for `volumes` in the cluster's setting.",
                                         mount->fs);
        prefix = prefix_of(map, user, mount->root, &rest);
        return prefix ? NULL
                      : g_strdup_printf(
                                "the cluster does not let jobs mount the directory of file system '%s'\n"
                                "Ask an administrator for `mounts.host_paths` in the cluster's setting.",
                                mount->fs);
}

char *pod_mounts_problem(const VolumeMap *map, const char *user, const char *namespace,
                         const TaskMount *mounts, int n)
{
        for (int i = 0; i < n; i++) {
                char *problem = problem_of(map, user, namespace, &mounts[i]);

                if (problem)
                        return problem;
        }
        return NULL;
}

/* ---- volumes ---- */

static json_t *volume_of(const VolumeMap *map, const char *user, const TaskMount *mount,
                         const char **ret_rest)
{
        g_autofree char *prefix = NULL;

        *ret_rest = "";
        if (mount->claim)
                return json_pack("{s:{s:s, s:b}}", "persistentVolumeClaim", "claimName", mount->claim,
                                 "readOnly", mount->read_only);
        prefix = prefix_of(map, user, mount->root, ret_rest);
        return json_pack("{s:{s:s, s:s}}", "hostPath", "path", prefix, "type", "Directory");
}

/* A volume of its own, named by the mount's number, and its mount. */
static json_t *put_volume(const VolumeMap *map, const char *user, const TaskMount *mount, int i,
                          json_t *pod_spec)
{
        g_autofree char *name = g_strdup_printf("paddle-mount-%d", i), *sub = NULL;
        const char *rest;
        json_t *volume = volume_of(map, user, mount, &rest), *made;

        json_object_set_new(volume, "name", json_string(name));
        json_array_append_new(podspec_list(pod_spec, "volumes"), volume);
        sub = *rest && *mount->sub ? g_build_filename(rest, mount->sub, NULL)
                                   : g_strdup(*rest ? rest : mount->sub);
        made = json_pack("{s:s, s:s, s:b}", "name", name, "mountPath", mount->path, "readOnly",
                         mount->read_only);
        if (*sub)
                json_object_set_new(made, "subPath", json_string(sub));
        return made;
}

static json_t *mount_of_home(const VolumeMap *map, const char *user, const TaskMount *mount)
{
        json_t *made = volume_home_mount(map, user, mount->path, mount->sub);

        if (mount->read_only)
                json_object_set_new(made, "readOnly", json_true());
        return made;
}

static void never_gain_rights(json_t *container)
{
        json_t *context = json_object_get(container, "securityContext");

        if (!json_is_object(context)) {
                context = json_object();
                json_object_set_new(container, "securityContext", context);
        }
        json_object_set_new(context, "allowPrivilegeEscalation", json_false());
}

void pod_mounts_put(const VolumeMap *map, const char *user, const TaskMount *mounts, int n, json_t *pod_spec)
{
        json_t *container = n > 0 ? gate_main_of(pod_spec) : NULL;

        for (int i = 0; i < n; i++)
                json_array_append_new(podspec_list(container, "volumeMounts"),
                                      mounts[i].root || mounts[i].claim
                                              ? put_volume(map, user, &mounts[i], i, pod_spec)
                                              : mount_of_home(map, user, &mounts[i]));
        if (n > 0)
                never_gain_rights(container);
}
