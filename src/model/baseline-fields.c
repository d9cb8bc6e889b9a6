/* The tables of baseline-fields.h, with the fields of Kubernetes' API (core/v1, PodTemplateSpec). A field
 * that Kubernetes adds later is refused until it gets a row here. FIELD_NEVER rows exist only for their
 * better error message. */
#include "model/baseline-fields.h"

#include <string.h>

#include "model/resources.h"

/* ---- permitted values ---- */

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
static const char *const modest_classes[] = { "", "very-low", "low", "normal", NULL };
static const char *const never[] = { "Never", NULL };
static const char *const none[] = { "None", NULL };

bool fence_lists(const Fence *fence, const char *list, const char *text)
{
        const json_t *item;
        size_t i;

        json_array_foreach(json_object_get(fence->allow, list), i, item) {
                if (g_strcmp0(json_string_value(item), text) == 0)
                        return true;
        }
        return false;
}

static bool begins_as_listed(const Fence *fence, const char *key)
{
        const json_t *item;
        size_t i;

        json_array_foreach(json_object_get(fence->allow, "metadata"), i, item) {
                if (json_is_string(item) && *json_string_value(item) &&
                    g_str_has_prefix(key, json_string_value(item)))
                        return true;
        }
        return false;
}

bool fence_has_key(const Fence *fence, const char *key)
{
        return !strchr(key, '/') || g_str_has_prefix(key, "paddleflow/") ||
               g_str_has_prefix(key, "app.kubernetes.io/") || begins_as_listed(fence, key);
}

static bool is_key(const Fence *fence, const json_t *key)
{
        return fence_has_key(fence, json_string_value(key));
}

/* The job's flavour decides these amounts (template.c), so the template's have no effect. */
static bool is_resource(const Fence *fence, const json_t *key)
{
        const char *name = json_string_value(key);

        return resource_find(name) >= 0 || g_str_has_prefix(name, "nvidia.com/") ||
               g_str_has_prefix(name, "hugepages-") || strcmp(name, "ephemeral-storage") == 0;
}

/* A toleration without a key tolerates all taints, also those of the control plane. */
static bool is_toleration(const Fence *fence, const json_t *item)
{
        const char *key = json_string_value(json_object_get(item, "key"));

        return key && *key && fence_lists(fence, "tolerations", key);
}

static bool is_scheduler(const Fence *fence, const json_t *value)
{
        return g_strcmp0(json_string_value(value), fence->volcano ? "volcano" : "default-scheduler") == 0;
}

/* `false` is always permitted: it requests no token. */
static bool is_place_of_administrators(const Fence *fence, const json_t *value)
{
        return !fence->chosen || json_is_false(value);
}

/* A group or an SELinux level applies to a whole volume, not only to the part that a pod sees. */
static bool has_no_claim_of_homes(const Fence *fence, const json_t *value)
{
        const char *name;
        json_t *volume;

        json_object_foreach((json_t *)fence->volumes, name, volume) {
                if (json_object_get(volume, "claim"))
                        return false;
        }
        return true;
}

/* ---- rows ---- */

#define ELSEWHERE "an object in a namespace that the job chose"
#define OTHER_HOST "a probe or hook on another host"
#define COPY "a copy of another volume"

#define PLAIN(field)                                                                                         \
        {                                                                                                    \
                .name = field, .shape = FIELD_PLAIN                                                          \
        }
#define WORDS(field, texts, about)                                                                           \
        {                                                                                                    \
                .name = field, .shape = FIELD_PLAIN, .words = texts, .what = about                           \
        }
#define PLAINS(field)                                                                                        \
        {                                                                                                    \
                .name = field, .shape = FIELD_PLAINS                                                         \
        }
#define MAP(field)                                                                                           \
        {                                                                                                    \
                .name = field, .shape = FIELD_MAP                                                            \
        }
#define OBJECT(field, table)                                                                                 \
        {                                                                                                    \
                .name = field, .shape = FIELD_OBJECT, .fields = table                                        \
        }
#define LIST(field, table)                                                                                   \
        {                                                                                                    \
                .name = field, .shape = FIELD_LIST, .fields = table                                          \
        }
#define NEVER(field, about)                                                                                  \
        {                                                                                                    \
                .name = field, .shape = FIELD_NEVER, .what = about                                           \
        }
#define END                                                                                                  \
        {                                                                                                    \
                NULL                                                                                         \
        }

static const Field expression[] = { PLAIN("key"), PLAIN("operator"), PLAINS("values"), END };
static const Field selector[] = { MAP("matchLabels"), LIST("matchExpressions", expression), END };

/* ---- rights of processes ---- */

static const Field se_linux[] = {
        WORDS("type", selinux_types, "this SELinux type"),
        WORDS("user", nothing, "an SELinux user"),
        WORDS("role", nothing, "an SELinux role"),
        { "level", FIELD_PLAIN, .may = has_no_claim_of_homes,
          .what = "an SELinux level for the volume of homes" },
        END,
};
static const Field seccomp[] = {
        WORDS("type", profiles, "a process without seccomp profile"),
        PLAIN("localhostProfile"),
        END,
};
static const Field app_armor[] = {
        WORDS("type", profiles, "a process without AppArmor profile"),
        PLAIN("localhostProfile"),
        END,
};
static const Field windows[] = {
        NEVER("hostProcess", "a process of the node"),
        PLAIN("runAsUserName"),
        END,
};
static const Field capability[] = {
        { "add", FIELD_PLAINS, .words = capabilities, .what = "this capability" },
        PLAINS("drop"),
        END,
};

#define PROCESS                                                                                              \
        PLAIN("runAsUser"), PLAIN("runAsGroup"), PLAIN("runAsNonRoot"), OBJECT("seLinuxOptions", se_linux),  \
                OBJECT("seccompProfile", seccomp), OBJECT("appArmorProfile", app_armor),                     \
                OBJECT("windowsOptions", windows)

static const Field sysctl[] = {
        WORDS("name", sysctls, "this setting of the node's kernel"),
        PLAIN("value"),
        END,
};
static const Field pod_security[] = {
        PROCESS,
        PLAINS("supplementalGroups"),
        PLAIN("supplementalGroupsPolicy"),
        { "fsGroup", FIELD_PLAIN, .may = has_no_claim_of_homes, .what = "a group for the volume of homes" },
        PLAIN("fsGroupChangePolicy"),
        PLAIN("seLinuxChangePolicy"),
        LIST("sysctls", sysctl),
        END,
};
static const Field container_security[] = {
        PROCESS,
        NEVER("privileged", "a privileged container"),
        PLAIN("allowPrivilegeEscalation"),
        PLAIN("readOnlyRootFilesystem"),
        OBJECT("capabilities", capability),
        WORDS("procMount", proc_mounts, "an unmasked /proc"),
        END,
};

/* ---- probes and hooks ---- */

static const Field exec[] = { PLAINS("command"), END };
static const Field header[] = { PLAIN("name"), PLAIN("value"), END };
static const Field http[] = {
        PLAIN("path"),   PLAIN("port"), LIST("httpHeaders", header), WORDS("host", nothing, OTHER_HOST),
        PLAIN("scheme"), END,
};
static const Field tcp[] = { PLAIN("port"), WORDS("host", nothing, OTHER_HOST), END };
static const Field grpc[] = { PLAIN("port"), PLAIN("service"), END };
static const Field probe[] = {
        OBJECT("exec", exec),
        OBJECT("httpGet", http),
        OBJECT("tcpSocket", tcp),
        OBJECT("grpc", grpc),
        PLAIN("initialDelaySeconds"),
        PLAIN("timeoutSeconds"),
        PLAIN("periodSeconds"),
        PLAIN("successThreshold"),
        PLAIN("failureThreshold"),
        PLAIN("terminationGracePeriodSeconds"),
        END,
};
static const Field sleep_hook[] = { PLAIN("seconds"), END };
static const Field hook[] = {
        OBJECT("exec", exec),
        OBJECT("httpGet", http),
        OBJECT("tcpSocket", tcp),
        OBJECT("sleep", sleep_hook),
        END,
};
static const Field lifecycle[] = {
        OBJECT("postStart", hook),
        OBJECT("preStop", hook),
        PLAIN("stopSignal"),
        END,
};

/* ---- containers; baseline.c checks the names of secrets, ConfigMaps and claims ---- */

static const Field key_of[] = { PLAIN("name"), PLAIN("key"), PLAIN("optional"), END };
static const Field field_of[] = { PLAIN("apiVersion"), PLAIN("fieldPath"), END };
static const Field amount_of[] = { PLAIN("containerName"), PLAIN("resource"), PLAIN("divisor"), END };
static const Field value_from[] = {
        OBJECT("fieldRef", field_of),
        OBJECT("resourceFieldRef", amount_of),
        OBJECT("configMapKeyRef", key_of),
        OBJECT("secretKeyRef", key_of),
        END,
};
static const Field variable[] = { PLAIN("name"), PLAIN("value"), OBJECT("valueFrom", value_from), END };
static const Field all_of[] = { PLAIN("name"), PLAIN("optional"), END };
static const Field variables_from[] = {
        PLAIN("prefix"),
        OBJECT("configMapRef", all_of),
        OBJECT("secretRef", all_of),
        END,
};
static const Field port[] = {
        PLAIN("name"),
        PLAIN("containerPort"),
        PLAIN("protocol"),
        NEVER("hostPort", "a port of the node"),
        WORDS("hostIP", nothing, "an address of the node"),
        END,
};
static const Field mount[] = {
        PLAIN("name"),
        PLAIN("mountPath"),
        PLAIN("subPath"),
        PLAIN("subPathExpr"),
        PLAIN("readOnly"),
        PLAIN("recursiveReadOnly"),
        WORDS("mountPropagation", none, "mount propagation"),
        END,
};

#define AMOUNTS(field)                                                                                       \
        {                                                                                                    \
                .name = field, .shape = FIELD_MAP, .list = "resources", .may = is_resource,                  \
                .what = "a resource that no quota counts"                                                    \
        }

static const Field amounts[] = {
        AMOUNTS("requests"),
        AMOUNTS("limits"),
        NEVER("claims", "a device by a claim, which no quota counts"),
        END,
};

#define CONTAINER                                                                                            \
        PLAIN("name"), PLAIN("image"), PLAIN("imagePullPolicy"), PLAINS("command"), PLAINS("args"),          \
                PLAIN("workingDir"), LIST("env", variable), LIST("envFrom", variables_from),                 \
                LIST("ports", port), LIST("volumeMounts", mount), OBJECT("resources", amounts),              \
                OBJECT("livenessProbe", probe), OBJECT("readinessProbe", probe),                             \
                OBJECT("startupProbe", probe), OBJECT("lifecycle", lifecycle), PLAIN("stdin"),               \
                PLAIN("stdinOnce"), PLAIN("tty"), PLAIN("terminationMessagePath"),                           \
                PLAIN("terminationMessagePolicy"), OBJECT("securityContext", container_security)

static const Field container[] = { CONTAINER, END };
static const Field first_container[] = {
        CONTAINER,
        NEVER("restartPolicy", "a container beside the member's, which no quota counts"),
        END,
};

/* ---- volumes ---- */

static const Field part[] = { PLAIN("key"), PLAIN("path"), PLAIN("mode"), END };
static const Field config_map[] = {
        PLAIN("name"), LIST("items", part), PLAIN("defaultMode"), PLAIN("optional"), END,
};
static const Field secret[] = {
        PLAIN("secretName"), LIST("items", part), PLAIN("defaultMode"), PLAIN("optional"), END,
};
static const Field empty_dir[] = { PLAIN("medium"), PLAIN("sizeLimit"), END };
static const Field downward_part[] = {
        PLAIN("path"), PLAIN("mode"), OBJECT("fieldRef", field_of), OBJECT("resourceFieldRef", amount_of),
        END,
};
static const Field downward[] = { LIST("items", downward_part), PLAIN("defaultMode"), END };
static const Field claim[] = { PLAIN("claimName"), PLAIN("readOnly"), END };
static const Field token[] = { PLAIN("audience"), PLAIN("expirationSeconds"), PLAIN("path"), END };
static const Field named_part[] = { PLAIN("name"), LIST("items", part), PLAIN("optional"), END };
static const Field source[] = {
        OBJECT("configMap", named_part),
        OBJECT("secret", named_part),
        OBJECT("downwardAPI", downward),
        { "serviceAccountToken", FIELD_OBJECT, token, .may = is_place_of_administrators, .what = ELSEWHERE },
        END,
};
static const Field projected[] = { LIST("sources", source), PLAIN("defaultMode"), END };
static const Field storage[] = { MAP("requests"), MAP("limits"), END };
static const Field claim_spec[] = {
        PLAINS("accessModes"),
        PLAIN("storageClassName"),
        PLAIN("volumeMode"),
        OBJECT("resources", storage),
        WORDS("volumeName", nothing, "a volume by its name"),
        NEVER("selector", "a volume by its labels"),
        NEVER("dataSource", COPY),
        NEVER("dataSourceRef", COPY),
        END,
};

#define LABELS(field)                                                                                        \
        {                                                                                                    \
                .name = field, .shape = FIELD_MAP, .may = is_key,                                            \
                .what = "a label or annotation for the cluster's controllers"                                \
        }

static const Field claim_metadata[] = { LABELS("labels"), END };
static const Field claim_template[] = {
        OBJECT("metadata", claim_metadata),
        OBJECT("spec", claim_spec),
        END,
};
static const Field ephemeral[] = { OBJECT("volumeClaimTemplate", claim_template), END };
static const Field volume[] = {
        PLAIN("name"),
        OBJECT("emptyDir", empty_dir),
        OBJECT("configMap", config_map),
        OBJECT("secret", secret),
        OBJECT("downwardAPI", downward),
        OBJECT("projected", projected),
        OBJECT("persistentVolumeClaim", claim),
        OBJECT("ephemeral", ephemeral),
        NEVER("hostPath", "a directory of the node"),
        { "*", FIELD_ANY, .list = "volumes", .what = "a volume of this kind" },
        END,
};

/* ---- scheduling constraints ---- */

static const Field node_term[] = {
        LIST("matchExpressions", expression),
        LIST("matchFields", expression),
        END,
};
static const Field node_terms[] = { LIST("nodeSelectorTerms", node_term), END };
static const Field preferred_node[] = { PLAIN("weight"), OBJECT("preference", node_term), END };
static const Field near[] = {
        PLAIN("topologyKey"),
        OBJECT("labelSelector", selector),
        PLAINS("matchLabelKeys"),
        PLAINS("mismatchLabelKeys"),
        END,
};
static const Field preferred_near[] = { PLAIN("weight"), OBJECT("podAffinityTerm", near), END };

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static const Field node_affinity[] = { OBJECT(REQUIRED, node_terms), LIST(PREFERRED, preferred_node), END };
static const Field pod_affinity[] = { LIST(REQUIRED, near), LIST(PREFERRED, preferred_near), END };
static const Field pod_anti_affinity[] = {
        NEVER(REQUIRED, "anti-affinity"),
        LIST(PREFERRED, preferred_near),
        END,
};
static const Field affinity[] = {
        OBJECT("nodeAffinity", node_affinity),
        OBJECT("podAffinity", pod_affinity),
        OBJECT("podAntiAffinity", pod_anti_affinity),
        END,
};
static const Field toleration[] = {
        PLAIN("key"), PLAIN("operator"), PLAIN("value"), PLAIN("effect"), PLAIN("tolerationSeconds"), END,
};
static const Field spread[] = {
        PLAIN("maxSkew"),
        PLAIN("minDomains"),
        PLAIN("topologyKey"),
        PLAIN("whenUnsatisfiable"),
        OBJECT("labelSelector", selector),
        PLAINS("matchLabelKeys"),
        PLAIN("nodeAffinityPolicy"),
        PLAIN("nodeTaintsPolicy"),
        END,
};

/* ---- the pod ---- */

static const Field host_alias[] = { PLAIN("ip"), PLAINS("hostnames"), END };
static const Field dns[] = { PLAINS("nameservers"), PLAINS("searches"), LIST("options", header), END };
static const Field system_of_node[] = { PLAIN("name"), END };
static const Field pull_secret[] = { PLAIN("name"), END };

#define ACCOUNT(field)                                                                                       \
        {                                                                                                    \
                .name = field, .shape = FIELD_PLAIN, .words = accounts, .list = "service_accounts",          \
                .what = "a service account"                                                                  \
        }

static const Field spec[] = {
        LIST("containers", container),
        LIST("initContainers", first_container),
        NEVER("ephemeralContainers", "a container in a pod that runs"),
        LIST("volumes", volume),
        OBJECT("securityContext", pod_security),
        NEVER("hostNetwork", "the node's network"),
        NEVER("hostPID", "the node's processes"),
        NEVER("hostIPC", "the node's shared memory"),
        PLAIN("hostUsers"),
        PLAIN("shareProcessNamespace"),
        WORDS("nodeName", nothing, "a node by its name"),
        MAP("nodeSelector"),
        OBJECT("affinity", affinity),
        { "tolerations", FIELD_LIST, toleration, .may = is_toleration, .list = "tolerations",
          .what = "a toleration of this taint" },
        LIST("topologySpreadConstraints", spread),
        { "schedulerName", FIELD_PLAIN, .words = nothing, .may = is_scheduler, .what = "a scheduler" },
        { "runtimeClassName", FIELD_PLAIN, .words = nothing, .list = "runtime_classes",
          .what = "a runtime class" },
        { "priorityClassName", FIELD_PLAIN, .words = modest_classes, .list = "priority_classes",
          .what = "this priority class" },
        NEVER("priority", "a priority as a number"),
        WORDS("preemptionPolicy", never, "preemption"),
        ACCOUNT("serviceAccountName"),
        ACCOUNT("serviceAccount"),
        { "automountServiceAccountToken", FIELD_PLAIN, .may = is_place_of_administrators, .what = ELSEWHERE },
        LIST("imagePullSecrets", pull_secret),
        NEVER("resources", "an amount for the whole pod, which no quota counts"),
        NEVER("resourceClaims", "a device by a claim, which no quota counts"),
        NEVER("overhead", "an amount beside the member's, which no quota counts"),
        PLAIN("activeDeadlineSeconds"),
        PLAIN("terminationGracePeriodSeconds"),
        PLAIN("restartPolicy"), /* always set by the platform */
        PLAIN("hostname"),
        PLAIN("subdomain"),
        PLAIN("setHostnameAsFQDN"),
        PLAIN("dnsPolicy"),
        OBJECT("dnsConfig", dns),
        LIST("hostAliases", host_alias),
        PLAIN("enableServiceLinks"),
        OBJECT("os", system_of_node),
        END,
};

/* Only labels and annotations are used. */
static const Field metadata[] = {
        PLAIN("name"),
        PLAIN("generateName"),
        PLAIN("namespace"),
        PLAIN("creationTimestamp"),
        LABELS("labels"),
        LABELS("annotations"),
        END,
};

const Field baseline_pod[] = {
        PLAIN("apiVersion"),
        PLAIN("kind"),
        OBJECT("metadata", metadata),
        OBJECT("spec", spec),
        { "status", FIELD_ANY }, /* ignored */
        END,
};
