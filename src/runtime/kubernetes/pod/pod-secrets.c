/* Secrets in pods (see pod-secrets.h).
 *
 *   Secret j-<job>-<attempt>-secrets
 *     variable.WANDB_API_KEY  ◀── env of the container, by secretKeyRef
 *     file.gcs.json           ◀── volume paddle-secrets, at /run/paddle/secrets
 *
 * A file belongs to root. Its mode is the strictest that lets the container's user read it; the user of an
 * image is not known here. Only this container mounts the volume, and on the node only root can reach it.
 */
#include "runtime/kubernetes/pod/pod-secrets.h"

#include <string.h>

#include "podspec/objects.h"
#include "runtime/kubernetes/pod/gate.h"

enum { OF_ROOT = 0400, OF_GROUP = 0440, OF_ALL = 0444 };

static const char volume_name[] = "paddle-secrets";

char *pod_secrets_name(const char *service)
{
        return g_strconcat(service, "-secrets", NULL);
}

static char *name_of(const RuntimeAttempt *attempt)
{
        g_autofree char *service = member_service_name(attempt->job->id, attempt->job->attempt);

        return pod_secrets_name(service);
}

/* A variable and a file may have the same name. The caller's. */
static char *key_of(const TaskSecret *secret)
{
        return secret->file ? g_strconcat("file.", secret->file, NULL)
                            : g_strconcat("variable.", secret->variable, NULL);
}

json_t *pod_secrets_object(const MemberHome *home, const RuntimeAttempt *attempt, const TaskSecret *secrets,
                           int n)
{
        g_autofree char *name = name_of(attempt);
        json_t *made = podspec_object(&kube_secrets, home->namespace, name, NULL), *data = json_object();

        member_put_labels(made, home, attempt->job->id, attempt->job->attempt);
        for (int i = 0; i < n; i++) {
                g_autofree char *key = key_of(&secrets[i]);
                g_autofree char *text = g_base64_encode((const guchar *)secrets[i].value, secrets[i].len);

                json_object_set_new(data, key, json_string(text));
        }
        json_object_set_new(made, "type", json_string("Opaque"));
        json_object_set_new(made, "immutable", json_true());
        json_object_set_new(made, "data", data);
        return made;
}

/* ---- instead of a template's ---- */

static void remove_named(json_t *list, const char *name)
{
        for (gsize i = json_array_size(list); i-- > 0;)
                if (g_strcmp0(kube_get_text(json_array_get(list, i), "name"), name) == 0)
                        json_array_remove(list, i);
}

/* "//run/paddle/secrets/" is the directory, too. */
static bool is_here(const json_t *mount)
{
        const char *path = kube_get_text(mount, "mountPath");
        g_autofree char *clean = path ? g_canonicalize_filename(path + strspn(path, "/"), "/") : NULL;

        return g_strcmp0(clean, POD_SECRETS_DIR) == 0;
}

static void remove_mounts(json_t *list)
{
        for (gsize i = json_array_size(list); i-- > 0;)
                if (is_here(json_array_get(list, i)))
                        json_array_remove(list, i);
}

static void put_named(json_t *list, json_t *item /* taken */)
{
        remove_named(list, kube_get_text(item, "name"));
        json_array_append_new(list, item);
}

/* ---- files ---- */

/* -1: the image's user. */
static gint64 user_of(const json_t *pod_spec, const json_t *container)
{
        gint64 of_pod = kube_get_int(pod_spec, "securityContext.runAsUser", -1);

        return kube_get_int(container, "securityContext.runAsUser", of_pod);
}

/* The kubelet gives files to the group that `fsGroup` names. */
static int mode_of(const json_t *pod_spec, const json_t *container)
{
        if (kube_get(pod_spec, "securityContext.fsGroup"))
                return OF_GROUP;
        return user_of(pod_spec, container) == 0 ? OF_ROOT : OF_ALL;
}

static json_t *items_of(const TaskSecret *secrets, int n)
{
        json_t *items = json_array();

        for (int i = 0; i < n; i++) {
                g_autofree char *key = key_of(&secrets[i]);

                if (secrets[i].file)
                        json_array_append_new(items,
                                              json_pack("{s:s, s:s}", "key", key, "path", secrets[i].file));
        }
        return items;
}

static void put_files(json_t *pod_spec, json_t *container, const char *name, json_t *items /* taken */)
{
        json_t *mounts = podspec_list(container, "volumeMounts");

        put_named(podspec_list(pod_spec, "volumes"),
                  json_pack("{s:s, s:{s:s, s:i, s:o}}", "name", volume_name, "secret", "secretName", name,
                            "defaultMode", mode_of(pod_spec, container), "items", items));
        remove_mounts(mounts);
        json_array_append_new(mounts, json_pack("{s:s, s:s, s:b}", "name", volume_name, "mountPath",
                                                POD_SECRETS_DIR, "readOnly", 1));
        put_named(podspec_list(container, "env"),
                  json_pack("{s:s, s:s}", "name", "PADDLE_SECRETS_DIR", "value", POD_SECRETS_DIR));
}

/* ---- all ---- */

static void put_variable(json_t *container, const char *name, const TaskSecret *secret)
{
        g_autofree char *key = key_of(secret);

        put_named(podspec_list(container, "env"),
                  json_pack("{s:s, s:{s:{s:s, s:s}}}", "name", secret->variable, "valueFrom", "secretKeyRef",
                            "name", name, "key", key));
}

void pod_secrets_put(json_t *pod, const RuntimeAttempt *attempt, const TaskSecret *secrets, int n)
{
        json_t *spec = json_object_get(pod, "spec"), *container = gate_main_of(spec);
        g_autofree char *name = name_of(attempt);
        json_t *items = items_of(secrets, n);

        if (json_array_size(items) > 0)
                put_files(spec, container, name, items);
        else
                json_decref(items);
        for (int i = 0; i < n; i++)
                if (secrets[i].variable)
                        put_variable(container, name, &secrets[i]);
        if (n > 0)
                podspec_label(pod, POD_SECRETS_LABEL, "1");
}
