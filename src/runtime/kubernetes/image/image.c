/* Images of jobs (see image.h). References: distribution's "reference" grammar as container tools read it.
 * The Job: batch/v1; its script is build.sh. */
#include "runtime/kubernetes/image/image.h"

#include <string.h>

#include "base/err.h"
#include "kube/kind.h"
#include "package/package.h"
#include "podspec/objects.h"
#include "runtime/kubernetes/pod/confinement.h"
#include "runtime/kubernetes/pod/policy.h"

enum {
        KEY_HEX = 32,
        SECRET_HEX = 16,
        DEADLINE_S = 2 * 3600, /* of a build, where no limit is set */
        REQUEST_MILLI = 100,   /* its requests; the limits are often not used */
        REQUEST_BYTES = 256 * 1024 * 1024,
        KEEP_S = 600, /* an ended Job, for people to look at */
};

#define KEY_PREFIX "image-"
#define KEY_FORMAT "1" /* raised when the same recipe gives another image */
#define REPOSITORY "paddle-jobs"
#define STAGE "/build"

extern const char image_script[];

/* ---- references ---- */

void image_name_clear(ImageName *name)
{
        g_clear_pointer(&name->host, g_free);
        g_clear_pointer(&name->path, g_free);
        g_clear_pointer(&name->tag, g_free);
        g_clear_pointer(&name->digest, g_free);
}

/* The first part of a name is a host when it could not be a directory. */
static bool is_host(const char *part, gsize len)
{
        g_autofree char *text = g_strndup(part, len);

        return strpbrk(text, ".:") || strcmp(text, "localhost") == 0;
}

/* Cuts `rest` at the last `mark` behind the last slash; NULL: there is none. */
static char *cut(char *rest, char mark)
{
        char *slash = strrchr(rest, '/'), *at = strchr(slash ? slash : rest, mark);

        if (!at)
                return NULL;
        *at = '\0';
        return g_strdup(at + 1);
}

bool image_name_parse(const char *text, ImageName *ret, GError **error)
{
        const char *slash = strchr(text, '/');
        bool hosted = slash && is_host(text, (gsize)(slash - text));
        g_autofree char *rest = g_strdup(hosted ? slash + 1 : text);
        g_auto(ImageName)
                name = { .host = hosted ? g_strndup(text, (gsize)(slash - text)) : g_strdup("docker.io") };

        name.digest = cut(rest, '@');
        name.tag = cut(rest, ':');
        if (!*rest || (name.tag && !*name.tag) || (name.digest && !g_str_has_prefix(name.digest, "sha256:")))
                return err_set(error, ERR_INVALID, "'%s' is not an image reference", text);
        if (!name.tag && !name.digest)
                name.tag = g_strdup("latest");
        name.path = strcmp(name.host, "docker.io") == 0 && !strchr(rest, '/')
                            ? g_strconcat("library/", rest, NULL)
                            : g_steal_pointer(&rest);
        *ret = name;
        memset(&name, 0, sizeof name);
        return true;
}

char *image_name_by_digest(const ImageName *name, const char *digest)
{
        return g_strdup_printf("%s/%s@%s", name->host, name->path, digest);
}

/* ---- what an image is called ---- */

char *image_key(const ImageRecipe *recipe)
{
        bool runs_pip = recipe->requirements || recipe->setup;
        const char *const parts[] = { KEY_FORMAT,           recipe->base,
                                      recipe->package,      recipe->package_name,
                                      recipe->requirements, runs_pip ? recipe->pip : NULL };
        g_autoptr(GString) text = g_string_new(NULL);
        char hash[HASH_LEN + 1];

        for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
                g_string_append_printf(text, "%d %" G_GSIZE_FORMAT " %s\n", parts[i] != NULL,
                                       parts[i] ? strlen(parts[i]) : 0, parts[i] ? parts[i] : "");
        if (recipe->setup)
                g_string_append_printf(text, "setup %" G_GSIZE_FORMAT " %s\n", strlen(recipe->setup),
                                       recipe->setup);
        hash_bytes(text->str, text->len, hash);
        return g_strdup_printf(KEY_PREFIX "%.*s", KEY_HEX, hash);
}

char *image_reference(const SettingRegistry *registry, const char *key)
{
        return g_strdup_printf("%s/" REPOSITORY ":%s", registry->address, key);
}

/* ---- credentials ---- */

char *image_credentials(const SettingRegistry *registry)
{
        g_autofree char *host = g_strndup(registry->address, strcspn(registry->address, "/"));
        g_autofree char *pair =
                registry->username ? g_strconcat(registry->username, ":", registry->password, NULL) : NULL;
        g_autofree char *auth = pair ? g_base64_encode((const guchar *)pair, strlen(pair)) : NULL;
        g_autoptr(json_t) object =
                auth ? json_pack("{s:{s:{s:s}}}", "auths", host, "auth", auth) : json_pack("{s:{}}", "auths");

        return json_format(object);
}

char *image_pull_secret_name(const SettingRegistry *registry)
{
        g_autofree char *text = registry->username ? image_credentials(registry) : NULL;
        char hash[HASH_LEN + 1];

        if (!text)
                return NULL;
        hash_bytes(text, strlen(text), hash);
        return g_strdup_printf("paddle-registry-%.*s", SECRET_HEX, hash);
}

json_t *image_pull_secret(const SettingRegistry *registry, const char *namespace)
{
        g_autofree char *name = image_pull_secret_name(registry), *text = NULL, *coded = NULL;
        json_t *secret;

        if (!name)
                return NULL;
        text = image_credentials(registry);
        coded = g_base64_encode((const guchar *)text, strlen(text));
        secret = podspec_object(&kube_secrets, namespace, name, NULL);
        podspec_label(secret, "owner", "paddleflow");
        json_object_set_new(secret, "type", json_string("kubernetes.io/dockerconfigjson"));
        json_object_set_new(secret, "data", json_pack("{s:s}", ".dockerconfigjson", coded));
        return secret;
}

static void put_pull_secret(json_t *pod_spec, const char *name)
{
        if (name)
                json_object_set_new(pod_spec, "imagePullSecrets", json_pack("[{s:s}]", "name", name));
}

/* ---- the Job ---- */

/* A list of resources of what is above 0. */
static json_t *amounts(gint64 cpu_milli, gint64 memory)
{
        json_t *list = json_object();
        g_autofree char *cpu = cpu_format(cpu_milli), *bytes = memory_format(memory);

        if (cpu_milli > 0)
                json_object_set_new(list, "cpu", json_string(cpu));
        if (memory > 0)
                json_object_set_new(list, "memory", json_string(bytes));
        return list;
}

static void put_limits(json_t *container, const Resources *limits)
{
        if (limits->cpu_milli <= 0 && limits->memory <= 0)
                return;
        json_object_set_new(container, "resources",
                            json_pack("{s:o, s:o}", "limits", amounts(limits->cpu_milli, limits->memory),
                                      "requests",
                                      amounts(MIN(limits->cpu_milli, REQUEST_MILLI),
                                              MIN(limits->memory, REQUEST_BYTES))));
}

/* To unpack files of all owners, and for pip's chroot and its devices. */
static const char *const capabilities[] = { "CHOWN",   "DAC_OVERRIDE", "FOWNER",     "FSETID",
                                            "KILL",    "MKNOD",        "SETFCAP",    "SETGID",
                                            "SETPCAP", "SETUID",       "SYS_CHROOT", NULL };

static json_t *build_container(const ImageBuild *build)
{
        const SettingRegistry *registry = &build->setting->registry;
        g_autofree char *target = image_reference(registry, build->key);
        json_t *container = json_pack("{s:s, s:s, s:[s, s, s], s:[{s:s, s:s}]}", "name", IMAGE_CONTAINER,
                                      "image", build->setting->builder, "command", "sh", "-c", image_script,
                                      "volumeMounts", "name", "build", "mountPath", STAGE);

        podspec_env(container, "BASE", build->base);
        podspec_env(container, "TARGET", target);
        podspec_env(container, "TLS", registry->insecure ? "false" : "true");
        podspec_env(container, "REGISTRY", registry->address);
        podspec_env(container, "PACKAGE_NAME", build->package_name ? build->package_name : "");
        podspec_env(container, "WORK", IMAGE_WORK);
        podspec_env(container, "BY_NAME", IMAGE_BY_NAME);
        put_limits(container, &build->limits);
        confine_container(container, capabilities);
        return container;
}

static json_t *build_pod(const ImageBuild *build)
{
        json_t *spec = json_pack("{s:s, s:b, s:b, s:i, s:[o], s:[{s:s, s:{}}]}", "restartPolicy", "Never",
                                 "automountServiceAccountToken", 0, "enableServiceLinks", 0,
                                 "terminationGracePeriodSeconds", 1, "containers", build_container(build),
                                 "volumes", "name", "build", "emptyDir");

        put_pull_secret(spec, build->pull_secret);
        return json_pack("{s:{s:{s:s, s:s}}, s:o}", "metadata", "labels", IMAGE_LABEL, build->key,
                         POLICY_BUILDS_LABEL, build->server, "spec", spec);
}

/* A build that the cluster ends (a node is drained, a pod is evicted) is started again. A build that fails
 * by itself would fail again. */
json_t *image_job(const ImageBuild *build)
{
        json_t *job = podspec_object(&kube_jobs, build->namespace, build->key, NULL);
        gint64 limit_s = build->time_limit_ms ? MAX(build->time_limit_ms / 1000, 1) : DEADLINE_S;

        podspec_label(job, IMAGE_LABEL, build->key);
        json_object_set_new(job, "spec",
                            json_pack("{s:i, s:I, s:i, s:{s:[{s:s, s:[{s:s}]}]}, s:o}", "backoffLimit", 0,
                                      "activeDeadlineSeconds", (json_int_t)limit_s, "ttlSecondsAfterFinished",
                                      KEEP_S, "podFailurePolicy", "rules", "action", "Ignore",
                                      "onPodConditions", "type", "DisruptionTarget", "template",
                                      build_pod(build)));
        return job;
}

static bool has_ended(const json_t *pod)
{
        const char *phase = kube_get_text(pod, "status.phase");

        return g_strcmp0(phase, "Succeeded") == 0 || g_strcmp0(phase, "Failed") == 0;
}

static gint64 made_at(const json_t *pod)
{
        return kube_time(kube_get_text(pod, "metadata.creationTimestamp"));
}

const json_t *image_pod(const json_t *one, const json_t *other)
{
        if (!one || !other)
                return one ? one : other;
        if (has_ended(one) != has_ended(other))
                return has_ended(one) ? other : one;
        if (made_at(one) != made_at(other))
                return made_at(one) > made_at(other) ? one : other;
        return g_strcmp0(kube_name(one), kube_name(other)) > 0 ? one : other; /* the same one at each look */
}

/* The directory appears whole or not at all; of two deliveries the first counts. */
char **image_delivery(gint64 size)
{
        g_autofree char *script = g_strdup_printf(
                "cd " STAGE " || exit 1; [ ! -d in ] || exit 0; umask 077; mkdir in.$$ && "
                "head -c %" G_GINT64_FORMAT " >in.$$/tar && [ $(wc -c <in.$$/tar) = %" G_GINT64_FORMAT
                " ] && "
                "tar -xf in.$$/tar -C in.$$ && rm in.$$/tar && { mv -T in.$$ in || [ -d in ]; }",
                size, size);
        const char *const argv[] = { "sh", "-c", script, NULL };

        return g_strdupv((char **)argv);
}

/* ---- pip ---- */

static void put_option(GString *text, const char *name, const char *value)
{
        if (value && !strpbrk(value, "\r\n"))
                g_string_append_printf(text, "%s = %s\n", name, value);
}

/* Options of the server's pip that are valid elsewhere, too. A proxy or the file of a certificate is not. */
char *image_pip_config(const SettingPip *pip, GHashTable *server)
{
        static const char *const names[] = { "index-url", "extra-index-url", "trusted-host",
                                             "no-binary", "only-binary",     "prefer-binary",
                                             "pre",       "timeout",         "retries" };
        g_autofree char *trusted = pip->trusted ? g_strjoinv(" ", pip->trusted) : NULL;
        GString *text = g_string_new("[global]\n");

        if (pip->index)
                put_option(text, "index-url", pip->index);
        if (trusted)
                put_option(text, "trusted-host", trusted);
        for (gsize i = 0; !pip->index && i < G_N_ELEMENTS(names); i++)
                if (!trusted || strcmp(names[i], "trusted-host") != 0)
                        put_option(text, names[i], g_hash_table_lookup(server, names[i]));
        return g_string_free(text, FALSE);
}

/* ---- the pods ---- */

static json_t *find_container(json_t *pod_spec, const char *name)
{
        json_t *containers = json_object_get(pod_spec, "containers"), *container;
        gsize i;

        json_array_foreach(containers, i, container) {
                if (g_strcmp0(json_string_value(json_object_get(container, "name")), name) == 0)
                        return container;
        }
        return NULL;
}

/* The last entry of a name holds. */
static const char *variable(const json_t *container, const char *name)
{
        const json_t *entries = json_object_get(container, "env"), *entry;
        const char *value = NULL;
        gsize i;

        json_array_foreach(entries, i, entry) {
                if (g_strcmp0(json_string_value(json_object_get(entry, "name")), name) == 0)
                        value = json_string_value(json_object_get(entry, "value"));
        }
        return value;
}

static void put_work(json_t *container)
{
        const char *modules = variable(container, "PYTHONPATH");
        g_autofree char *path =
                g_strconcat(IMAGE_WORK ":" IMAGE_BY_NAME, modules && *modules ? ":" : NULL, modules, NULL);

        json_object_set_new(container, "workingDir", json_string(IMAGE_WORK));
        podspec_env(container, "TRAINER_PACKAGE", IMAGE_WORK);
        podspec_env(container, "PF_WORK_DIR", IMAGE_WORK);
        podspec_env(container, "PWD", IMAGE_WORK);
        podspec_env(container, "PYTHONPATH", path);
}

void image_put(json_t *pod_spec, const char *container, const char *image, bool has_package,
               const char *pull_secret)
{
        json_t *found = find_container(pod_spec, container);

        if (!found)
                return;
        if (image)
                json_object_set_new(found, "image", json_string(image));
        if (has_package)
                put_work(found);
        put_pull_secret(pod_spec, pull_secret);
}
