/* The fence around templates (see baseline.h): one table of places, and what may stand there. What may not is
 * refused whatever its type, so that no reader further on can take it in another way. */
#include "model/baseline.h"

#include <string.h>

#include "base/err.h"
#include "model/extension.h"

/* ---- what may stand at a place ---- */

static const char *const nothing[] = { "", NULL };

static const char *const capabilities[] = {
        "AUDIT_WRITE",      "CHOWN",   "DAC_OVERRIDE", "FOWNER",  "FSETID", "KILL",       "MKNOD",
        "NET_BIND_SERVICE", "SETFCAP", "SETGID",       "SETPCAP", "SETUID", "SYS_CHROOT", NULL,
};
static const char *const sysctls[] = {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_syncookies",
        NULL,
};
static const char *const selinux_types[] = {
        "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t", NULL
};
static const char *const profiles[] = { "RuntimeDefault", "Localhost", NULL };
static const char *const proc_mounts[] = { "Default", NULL };
static const char *const accounts[] = { "", "default", NULL };

static bool is_text_of(const json_t *value, const char *const *texts)
{
        return json_is_string(value) && g_strv_contains(texts, json_string_value(value));
}

/* null, false and 0 say nothing. */
static bool is_unsaid(const json_t *value)
{
        return !value || json_is_null(value) || json_is_false(value) ||
               (json_is_integer(value) && json_integer_value(value) == 0);
}

static bool is_class_of_users(const json_t *value)
{
        return json_is_string(value) && !g_str_has_prefix(json_string_value(value), "system-");
}

typedef struct {
        const char *path;                 /* "*": each of a list */
        const char *const *texts;         /* that may stand there; NULL: none */
        const char *what;                 /* it would be, as a sentence's subject */
        bool (*may)(const json_t *value); /* instead of `texts`; or NULL */
} Rule;

/* Of a pod and of each of its containers. */
static const Rule process_rules[] = {
        { "securityContext.windowsOptions.hostProcess", NULL, "a process of the node" },
        { "securityContext.seLinuxOptions.type", selinux_types, "this SELinux type" },
        { "securityContext.seLinuxOptions.user", nothing, "an SELinux user" },
        { "securityContext.seLinuxOptions.role", nothing, "an SELinux role" },
        { "securityContext.seccompProfile.type", profiles, "a process without seccomp profile" },
        { "securityContext.appArmorProfile.type", profiles, "a process without AppArmor profile" },
        { NULL },
};
static const Rule pod_rules[] = {
        { "hostNetwork", NULL, "the node's network" },
        { "hostPID", NULL, "the node's processes" },
        { "hostIPC", NULL, "the node's shared memory" },
        { "volumes.*.hostPath", NULL, "a directory of the node" },
        { "volumes.*.ephemeral.volumeClaimTemplate.spec.volumeName", nothing, "a volume by its name" },
        { "volumes.*.ephemeral.volumeClaimTemplate.spec.dataSource", NULL, "a copy of another volume" },
        { "volumes.*.ephemeral.volumeClaimTemplate.spec.dataSourceRef", NULL, "a copy of another volume" },
        { "securityContext.sysctls.*.name", sysctls, "this setting of the node's kernel" },
        { "nodeName", nothing, "a node by its name" },
        { "serviceAccountName", accounts, "a service account" },
        { "serviceAccount", accounts, "a service account" },
        { "priorityClassName", NULL, "a priority of the system", is_class_of_users },
        { "ephemeralContainers", NULL, "a container in a pod that runs" },
        { "initContainers.*.restartPolicy", NULL, "a container beside the member's, which nobody counts," },
        { "resources", NULL, "an amount for the whole pod, which nobody counts," },
        { "resourceClaims", NULL, "a device by a claim, which nobody counts," },
        { NULL },
};
static const Rule container_rules[] = {
        { "ports.*.hostPort", NULL, "a port of the node" },
        { "securityContext.privileged", NULL, "a privileged container" },
        { "securityContext.capabilities.add.*", capabilities, "this capability" },
        { "securityContext.procMount", proc_mounts, "an unmasked /proc" },
        { "livenessProbe.httpGet.host", nothing, "another host that the node calls" },
        { "livenessProbe.tcpSocket.host", nothing, "another host that the node calls" },
        { "readinessProbe.httpGet.host", nothing, "another host that the node calls" },
        { "readinessProbe.tcpSocket.host", nothing, "another host that the node calls" },
        { "startupProbe.httpGet.host", nothing, "another host that the node calls" },
        { "startupProbe.tcpSocket.host", nothing, "another host that the node calls" },
        { "lifecycle.postStart.httpGet.host", nothing, "another host that the node calls" },
        { "lifecycle.postStart.tcpSocket.host", nothing, "another host that the node calls" },
        { "lifecycle.preStop.httpGet.host", nothing, "another host that the node calls" },
        { "lifecycle.preStop.tcpSocket.host", nothing, "another host that the node calls" },
        { NULL },
};

/* Of a pod in a namespace that neither its queue nor its cluster names. */
#define ELSEWHERE "what lies in a namespace of the job's own choice"

static const Rule elsewhere_rules[] = {
        { "automountServiceAccountToken", NULL, ELSEWHERE },
        { "volumes.*.projected.sources.*.serviceAccountToken", NULL, ELSEWHERE },
        { NULL },
};

/* ---- rules ---- */

static bool refuse(const char *where, const char *what, GError **error)
{
        return err_set(error, ERR_DENIED,
                       "extensionTemplate: %s: %s is an administrator's to ask for\n"
                       "Leave it out, or let an administrator submit the job.",
                       where, what);
}

static bool is_allowed(const Rule *rule, const json_t *value)
{
        if (is_unsaid(value))
                return true;
        return rule->may ? rule->may(value) : rule->texts && is_text_of(value, rule->texts);
}

static bool check_steps(const Rule *rule, char **steps, const char *where, const json_t *value,
                        GError **error);

static bool check_list(const Rule *rule, char **steps, const char *where, const json_t *list, GError **error)
{
        const json_t *item;
        size_t i;

        json_array_foreach(list, i, item)
        {
                g_autofree char *at = g_strdup_printf("%s[%" G_GSIZE_FORMAT "]", where, i);

                if (!check_steps(rule, steps, at, item, error))
                        return false;
        }
        return json_is_array(list) || is_unsaid(list) || refuse(where, rule->what, error);
}

static bool check_steps(const Rule *rule, char **steps, const char *where, const json_t *value,
                        GError **error)
{
        g_autofree char *at = NULL;

        if (!*steps)
                return is_allowed(rule, value) || refuse(where, rule->what, error);
        if (strcmp(*steps, "*") == 0)
                return check_list(rule, steps + 1, where, value, error);
        at = g_strdup_printf("%s.%s", where, *steps);
        return check_steps(rule, steps + 1, at, json_object_get(value, *steps), error);
}

static bool check_rules(const Rule *rules, const char *where, const json_t *object, GError **error)
{
        for (; rules->path; rules++) {
                g_auto(GStrv) steps = g_strsplit(rules->path, ".", -1);

                if (!check_steps(rules, steps, where, object, error))
                        return false;
        }
        return true;
}

/* ---- volumes, and what lies in the namespace ---- */

static bool has_volume(const json_t *spec, const char *name)
{
        const json_t *volume;
        size_t i;

        json_array_foreach(json_object_get(spec, "volumes"), i, volume)
        {
                if (g_strcmp0(json_string_value(json_object_get(volume, "name")), name) == 0)
                        return true;
        }
        return false;
}

/* Ours are mounted by us: whole, a volume of homes would be everybody's. */
static bool check_mounts(const json_t *spec, const char *where, const json_t *container, GError **error)
{
        const json_t *mount;
        size_t i;

        json_array_foreach(json_object_get(container, "volumeMounts"), i, mount)
        {
                const char *name = json_string_value(json_object_get(mount, "name"));
                g_autofree char *at = g_strdup_printf("%s.volumeMounts[%" G_GSIZE_FORMAT "].name", where, i);

                if (name && !has_volume(spec, name))
                        return refuse(at, "a volume that the template does not bring", error);
        }
        return true;
}

/* "homes-%s" of a setting is "homes-*". */
static bool is_named_by(const json_t *text, const char *name)
{
        g_auto(GStrv) parts = json_is_string(text) ? g_strsplit(json_string_value(text), "%s", -1) : NULL;
        g_autofree char *pattern = parts ? g_strjoinv("*", parts) : NULL;

        return pattern && g_pattern_match_simple(pattern, name);
}

/* What is not for the template: what the setting's `volumes` name, and in a namespace of its choice all. */
typedef struct {
        const json_t *volumes;
        bool all;
} Others;

/* `kind`: "claim", "secret". */
static bool is_of_homes(const Others *others, const char *kind, const char *name)
{
        const char *entry;
        json_t *volume;

        json_object_foreach((json_t *)others->volumes, entry, volume)
        {
                if (is_named_by(json_object_get(volume, kind), name))
                        return true;
        }
        return false;
}

/* Names of image.h and gate.h: what pulls images, and the word that an attempt's members know. */
static bool is_secret_of_ours(const Others *others, const char *name)
{
        return g_str_has_prefix(name, "paddle-") || g_str_has_prefix(name, "j-") ||
               is_of_homes(others, "secret", name);
}

/* An attempt's (form.h, package.h): the variables of its members, its package. */
static bool is_map_of_ours(const Others *others, const char *name)
{
        return g_str_has_prefix(name, "j-");
}

static bool is_claim_of_homes(const Others *others, const char *name)
{
        return is_of_homes(others, "claim", name);
}

typedef struct {
        const char *word; /* in the name of a member: "secretName", "imagePullSecrets", "configMapKeyRef" */
        bool (*is_ours)(const Others *others, const char *name);
        const char *what;
} Source;

static const Source sources[] = {
        { "secret", is_secret_of_ours, "a secret of the platform" },
        { "configmap", is_map_of_ours, "a ConfigMap of the platform" },
        { "claimname", is_claim_of_homes, "the claim of users' homes" },
};

/* The text itself, the "name" of an object, or one of a list of these. */
static bool names_any(const json_t *value, const Source *source, const Others *others)
{
        const json_t *named = json_is_object(value) ? json_object_get(value, "name") : value, *item;
        size_t i;

        json_array_foreach(value, i, item)
        {
                if (names_any(item, source, others))
                        return true;
        }
        return json_is_string(named) && (others->all || source->is_ours(others, json_string_value(named)));
}

/* What the member `key` of an object names that is not for the template; NULL: nothing. */
static const char *others_named_by(const Others *others, const char *key, const json_t *value)
{
        g_autofree char *lower = g_ascii_strdown(key, -1);

        for (gsize i = 0; i < G_N_ELEMENTS(sources); i++)
                if (strstr(lower, sources[i].word) && names_any(value, &sources[i], others))
                        return others->all ? ELSEWHERE : sources[i].what;
        return NULL;
}

static bool check_sources(const Others *others, const char *where, const json_t *value, GError **error)
{
        const char *key;
        json_t *item;
        size_t i;

        json_object_foreach((json_t *)value, key, item)
        {
                g_autofree char *at = g_strdup_printf("%s.%s", where, key);
                const char *what = others_named_by(others, key, item);

                if (what)
                        return refuse(at, what, error);
                if (!check_sources(others, at, item, error))
                        return false;
        }
        json_array_foreach(value, i, item)
        {
                g_autofree char *at = g_strdup_printf("%s[%" G_GSIZE_FORMAT "]", where, i);

                if (!check_sources(others, at, item, error))
                        return false;
        }
        return true;
}

/* ---- pods ---- */

/* Quotas count what the member asks for. */
static bool check_alone(const char *where, const json_t *spec, GError **error)
{
        g_autofree char *second = g_strconcat(where, ".containers[1]", NULL);

        return json_array_size(json_object_get(spec, "containers")) < 2 ||
               refuse(second, "a container beside the member's, which nobody counts,", error);
}

static bool check_containers(const char *where, const json_t *spec, const char *list, GError **error)
{
        const json_t *container;
        size_t i;

        json_array_foreach(json_object_get(spec, list), i, container)
        {
                g_autofree char *at = g_strdup_printf("%s.%s[%" G_GSIZE_FORMAT "]", where, list, i);

                if (!check_rules(process_rules, at, container, error) ||
                    !check_rules(container_rules, at, container, error) ||
                    !check_mounts(spec, at, container, error))
                        return false;
        }
        return true;
}

static bool check_pod(const char *where, const json_t *pod, const void *arg, GError **error)
{
        const json_t *spec = json_object_get(pod, "spec");
        const Others *others = arg;
        g_autofree char *at = g_strconcat(where, ".spec", NULL);

        return check_rules(process_rules, at, spec, error) && check_rules(pod_rules, at, spec, error) &&
               (!others->all || check_rules(elsewhere_rules, at, spec, error)) &&
               check_alone(at, spec, error) && check_containers(at, spec, "containers", error) &&
               check_containers(at, spec, "initContainers", error) && check_sources(others, at, spec, error);
}

static bool check(const json_t *template, const Others *others, GError **error)
{
        return extension_check_pods(template, error) &&
               extension_each_pod(template, check_pod, others, error);
}

/* A setting that is no object says nothing. */
static json_t *parse(const char *setting)
{
        return setting ? json_parse(setting, strlen(setting), NULL) : NULL;
}

bool baseline_check(const json_t *template, const BaselinePlace *place, GError **error)
{
        g_autoptr(json_t) parsed = parse(place->setting);

        return check(template, &(Others){ json_object_get(parsed, "volumes"), place->chosen }, error);
}

bool baseline_check_origin(const json_t *origin, const BaselinePlace *place, GError **error)
{
        const json_t *asked = json_object_get(origin, "paddleflow"), *member;
        g_autoptr(json_t) parsed = parse(place->setting);
        const Others others = { json_object_get(parsed, "volumes"), place->chosen };
        size_t i;

        json_array_foreach(json_object_get(asked, "members"), i, member)
        {
                if (!check(json_object_get(member, "extensionTemplate"), &others, error))
                        return false;
        }
        return check(json_object_get(asked, "extensionTemplate"), &others, error) &&
               check(json_object_get(asked, "defaultTemplate"), &others, error);
}

/* The one that its queue names, or the cluster's list, is an administrator's choice; so is the kubeconfig's.
 */
static bool is_chosen(const Cluster *cluster, const Queue *queue, const char *namespace)
{
        const char *const *listed = cluster ? (const char *const *)cluster->namespaces : NULL;

        return namespace && !(queue && g_strcmp0(queue->namespace, namespace) == 0) &&
               !(listed && g_strv_contains(listed, namespace));
}

BaselinePlace baseline_place(const Catalog *catalog, const Queue *queue, const char *namespace)
{
        const Cluster *cluster = queue && queue->cluster ? catalog_cluster(catalog, queue->cluster) : NULL;

        return (BaselinePlace){ .setting = cluster ? cluster->setting : NULL,
                                .chosen = is_chosen(cluster, queue, namespace) };
}
