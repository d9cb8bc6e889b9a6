/* Packages without images (see package.h). */
#include "runtime/kubernetes/image/package.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "package/tar.h"
#include "podspec/objects.h"
#include "runtime/kubernetes/image/image.h"
#include "runtime/kubernetes/pod/gate.h"

enum { EXECUTABLE = 0555, KIB = 1024 };

#define FOLDER "/.paddle" /* where no image has anything */
#define ROOT_OF_WORK "/paddle"

extern const char lacking_script[]; /* lacking.py */

/* ---- the tar ---- */

static char *tar_path(const char *state_dir, const char *hash)
{
        return g_strdup_printf("%s/envs/package-%s/package.tar", state_dir, hash);
}

bool package_is_packed(const char *state_dir, const char *hash)
{
        g_autofree char *path = tar_path(state_dir, hash);
        struct stat st;

        return stat(path, &st) == 0 && st.st_size <= PACKAGE_TAR_MAX;
}

static bool check_size(const char *path, GError **error)
{
        struct stat st;

        if (stat(path, &st) < 0)
                return err_set_errno(error, errno, "cannot look at '%s'", path);
        return st.st_size <= PACKAGE_TAR_MAX || err_set(error, ERR_TOO_LARGE,
                                                        "the package has %" G_GINT64_FORMAT
                                                        " KiB, and %d KiB are the most where the cluster's "
                                                        "setting names no registry",
                                                        (gint64)st.st_size / KIB, PACKAGE_TAR_MAX / KIB);
}

bool package_pack(const char *state_dir, const char *hash, GError **error)
{
        g_autofree char *path = tar_path(state_dir, hash), *dir = g_path_get_dirname(path);
        g_autofree char *word = g_uuid_string_random(), *fresh = g_strconcat(path, ".", word, NULL);
        g_autofree char *tree = g_build_filename(state_dir, "packages", hash, NULL);
        bool packed = file_mkdirs(dir, 0755, error) && tar_write(fresh, tree, "work", NULL, false, error) &&
                      check_size(fresh, error);

        if (packed && rename(fresh, path) < 0)
                packed = err_set_errno(error, errno, "cannot rename '%s'", fresh);
        if (!packed)
                (void)unlink(fresh); /* it may not be there */
        return packed;
}

/* ---- the ConfigMaps ---- */

static char *map_name(const RuntimeAttempt *attempt)
{
        g_autofree char *service = member_service_name(attempt->job->id, attempt->job->attempt);

        return g_strconcat(service, "-package", NULL);
}

static json_t *map_of(const MemberHome *home, const char *name, const char *key, const void *data, gsize len)
{
        g_autofree char *text = g_base64_encode(data, len);
        json_t *map = podspec_object(&kube_config_maps, home->namespace, name, NULL);

        podspec_label(map, "owner", "paddleflow");
        json_object_set_new(map, "immutable", json_true());
        json_object_set_new(map, "binaryData", json_pack("{s:s}", key, text));
        return map;
}

json_t *package_map(const char *state_dir, const MemberHome *home, const RuntimeAttempt *attempt,
                    GError **error)
{
        g_autofree char *path = tar_path(state_dir, attempt->job->spec->package), *name = map_name(attempt),
                        *data = NULL;
        json_t *map;
        gsize len;

        if (!file_read(path, PACKAGE_TAR_MAX, &data, &len, error))
                return NULL;
        map = map_of(home, name, "package.tar", data, len);
        podspec_label(map, "paddle-server", home->server);
        podspec_label(map, "paddle-job-id", attempt->job->id);
        return map;
}

json_t *package_gate(const MemberHome *home)
{
        return gate_config_map(home->namespace);
}

/* ---- the pod ---- */

static void add_volumes(json_t *pod_spec, const RuntimeAttempt *attempt)
{
        g_autofree char *map = map_name(attempt), *gate = gate_config_map_name();
        json_t *volumes = podspec_list(pod_spec, "volumes");

        if (!podspec_has_named(volumes, "paddle-gate"))
                json_array_append_new(volumes,
                                      json_pack("{s:s, s:{s:s, s:i}}", "name", "paddle-gate", "configMap",
                                                "name", gate, "defaultMode", EXECUTABLE));
        json_array_append_new(volumes, json_pack("{s:s, s:{s:s}}", "name", "paddle-package", "configMap",
                                                 "name", map));
        json_array_append_new(volumes, json_pack("{s:s, s:{}}", "name", "paddle-work", "emptyDir"));
}

static json_t *mount(const char *volume, const char *path)
{
        return json_pack("{s:s, s:s}", "name", volume, "mountPath", path);
}

static json_t *unpacker(const json_t *container, const RuntimeAttempt *attempt)
{
        g_autofree char *name =
                attempt->job->spec->package_name ? podspec_literal(attempt->job->spec->package_name) : NULL;
        json_t *made = gate_beside(container, MEMBER_PACKAGE_CONTAINER);
        json_t *command = json_pack("[s, s, s, s]", FOLDER "/bin/paddle-gate", "unpack",
                                    FOLDER "/package/package.tar", ROOT_OF_WORK);

        if (name)
                json_array_append_new(command, json_string(name));
        json_object_set_new(made, "command", command);
        json_object_set_new(made, "volumeMounts",
                            json_pack("[o, o, o]", mount("paddle-gate", FOLDER "/bin"),
                                      mount("paddle-package", FOLDER "/package"),
                                      mount("paddle-work", ROOT_OF_WORK)));
        return made;
}

void package_put(json_t *pod_spec, const RuntimeAttempt *attempt)
{
        json_t *container = json_array_get(json_object_get(pod_spec, "containers"), 0);

        add_volumes(pod_spec, attempt);
        json_array_append_new(podspec_list(pod_spec, "initContainers"), unpacker(container, attempt));
        json_array_append_new(podspec_list(container, "volumeMounts"), mount("paddle-work", ROOT_OF_WORK));
        image_put(pod_spec, MEMBER_CONTAINER, NULL, true, NULL);
}

/* Its termination message is the end of its log. */
void package_require(json_t *pod_spec, const char *requirements)
{
        g_autofree char *script = podspec_literal(lacking_script), *text = podspec_literal(requirements);
        json_t *made = gate_beside(gate_main_of(pod_spec), MEMBER_REQUIREMENTS_CONTAINER);

        json_object_set_new(made, "command", json_pack("[s, s, s, s]", "python3", "-c", script, text));
        json_object_set_new(made, "terminationMessagePolicy", json_string("FallbackToLogsOnError"));
        json_array_append_new(podspec_list(pod_spec, "initContainers"), made);
}
