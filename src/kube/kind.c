/* Kinds, their paths, and what every object has (see kind.h). */
#include "kube/kind.h"

#include <string.h>

#include "net/client.h"

enum { INDEX_DIGITS_MAX = 9, STEP_MAX = 128 };

const KubeKind kube_pods = { "", "v1", "Pod", "pods", false };
const KubeKind kube_services = { "", "v1", "Service", "services", false };
const KubeKind kube_config_maps = { "", "v1", "ConfigMap", "configmaps", false };
const KubeKind kube_events = { "", "v1", "Event", "events", false };
const KubeKind kube_leases = { "coordination.k8s.io", "v1", "Lease", "leases", false };
const KubeKind kube_nodes = { "", "v1", "Node", "nodes", true };
const KubeKind kube_namespaces = { "", "v1", "Namespace", "namespaces", true };
const KubeKind kube_secrets = { "", "v1", "Secret", "secrets", false };
const KubeKind kube_stateful_sets = { "apps", "v1", "StatefulSet", "statefulsets", false };
const KubeKind kube_replica_sets = { "apps", "v1", "ReplicaSet", "replicasets", false };
const KubeKind kube_network_policies = { "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies",
                                         false };
const KubeKind kube_jobs = { "batch", "v1", "Job", "jobs", false };
const KubeKind kube_priority_classes = { "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses",
                                         true };
const KubeKind kube_pod_groups = { "scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups", false };
const KubeKind kube_volcano_queues = { "scheduling.volcano.sh", "v1beta1", "Queue", "queues", true };
const KubeKind kube_paddle_jobs = { "batch.paddlepaddle.org", "v1", "PaddleJob", "paddlejobs", false };
const KubeKind kube_training_jobs = { "paddlepaddle.org", "v1", "TrainingJob", "trainingjobs", false };
const KubeKind kube_tf_jobs = { "kubeflow.org", "v1", "TFJob", "tfjobs", false };
const KubeKind kube_pytorch_jobs = { "kubeflow.org", "v1", "PyTorchJob", "pytorchjobs", false };
const KubeKind kube_mpi_jobs = { "kubeflow.org", "v1", "MPIJob", "mpijobs", false };
const KubeKind kube_spark_applications = { "sparkoperator.k8s.io", "v1beta2", "SparkApplication",
                                           "sparkapplications", false };

/* ---- Paths ---- */

char *kube_api_version(const KubeKind *kind)
{
        return *kind->group ? g_strconcat(kind->group, "/", kind->version, NULL) : g_strdup(kind->version);
}

static void append_part(GString *path, const char *part)
{
        g_autofree char *escaped = url_escape(part);

        g_string_append_c(path, '/');
        g_string_append(path, escaped);
}

char *kube_path(const KubeKind *kind, const char *namespace, const char *name, const char *subresource)
{
        GString *path = g_string_new(*kind->group ? "/apis" : "/api");

        if (*kind->group)
                append_part(path, kind->group);
        append_part(path, kind->version);
        if (namespace && *namespace && !kind->cluster_scoped) {
                g_string_append(path, "/namespaces");
                append_part(path, namespace);
        }
        append_part(path, kind->plural);
        if (name && *name)
                append_part(path, name);
        if (name && *name && subresource && *subresource)
                append_part(path, subresource);
        return g_string_free(path, FALSE);
}

/* ---- Objects ---- */

static const char *metadata_text(const json_t *object, const char *name)
{
        const char *text = json_string_value(json_object_get(json_object_get(object, "metadata"), name));

        return text ? text : "";
}

const char *kube_name(const json_t *object)
{
        return metadata_text(object, "name");
}

const char *kube_namespace(const json_t *object)
{
        return metadata_text(object, "namespace");
}

const char *kube_uid(const json_t *object)
{
        return metadata_text(object, "uid");
}

const char *kube_resource_version(const json_t *object)
{
        return metadata_text(object, "resourceVersion");
}

static const char *metadata_member(const json_t *object, const char *map, const char *name)
{
        const json_t *members = json_object_get(json_object_get(object, "metadata"), map);

        return json_string_value(json_object_get(members, name));
}

const char *kube_label(const json_t *object, const char *name)
{
        return metadata_member(object, "labels", name);
}

const char *kube_annotation(const json_t *object, const char *name)
{
        return metadata_member(object, "annotations", name);
}

bool kube_is_deleting(const json_t *object)
{
        return *metadata_text(object, "deletionTimestamp") != '\0';
}

const json_t *kube_controller(const json_t *object)
{
        const json_t *owners = json_object_get(json_object_get(object, "metadata"), "ownerReferences"),
                     *owner;
        size_t i;

        json_array_foreach(owners, i, owner) {
                if (json_is_true(json_object_get(owner, "controller")))
                        return owner;
        }
        return NULL;
}

/* ---- Walking ---- */

/* "name" or "name[12]" or "[12]": one step down, NULL when it is not there. */
static json_t *walk_step(json_t *at, const char *step, gsize len)
{
        char name[STEP_MAX];
        const char *bracket = memchr(step, '[', len);
        gsize name_len = bracket ? (gsize)(bracket - step) : len;

        if (!len || name_len >= sizeof name)
                return NULL;
        if (name_len) {
                memcpy(name, step, name_len);
                name[name_len] = '\0';
                at = json_object_get(at, name);
        }
        for (const char *c = bracket; at && c && c < step + len && *c == '[';) {
                size_t index = 0;
                const char *digit = ++c;

                for (; g_ascii_isdigit(*c) && c - digit < INDEX_DIGITS_MAX; c++)
                        index = index * 10 + (size_t)(*c - '0');
                if (c == digit || *c++ != ']')
                        return NULL;
                at = json_array_get(at, index);
        }
        return at;
}

json_t *kube_get(const json_t *object, const char *path)
{
        json_t *at = (json_t *)object;

        while (at) {
                gsize len = strcspn(path, ".");

                at = walk_step(at, path, len);
                if (!path[len])
                        break;
                path += len + 1;
        }
        return at;
}

const char *kube_get_text(const json_t *object, const char *path)
{
        return json_string_value(kube_get(object, path));
}

gint64 kube_get_int(const json_t *object, const char *path, gint64 otherwise)
{
        const json_t *value = kube_get(object, path);

        return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

/* ---- Times ---- */

/* RFC 3339 as Go reads it: "2006-01-02T15:04:05[.9](Z|+07:00)". GLib's parser takes more than that. */
static bool is_rfc3339(const char *text)
{
        static const char shape[] = "0000-00-00T00:00:00", offset[] = "+00:00";
        gsize at;

        for (at = 0; shape[at]; at++)
                if (shape[at] == '0' ? !g_ascii_isdigit(text[at]) : text[at] != shape[at])
                        return false;
        if (text[at] == '.') {
                gsize digits = strspn(text + at + 1, "0123456789");

                if (!digits || digits > 9)
                        return false;
                at += 1 + digits;
        }
        if (text[at] == 'Z')
                return text[at + 1] == '\0';
        if (text[at] != '+' && text[at] != '-')
                return false;
        for (gsize i = 1; offset[i]; i++)
                if (offset[i] == '0' ? !g_ascii_isdigit(text[at + i]) : text[at + i] != offset[i])
                        return false;
        return text[at + strlen(offset)] == '\0';
}

gint64 kube_time(const char *text)
{
        if (!text || !is_rfc3339(text))
                return 0;
        GDateTime *time = g_date_time_new_from_iso8601(text, NULL);
        if (!time)
                return 0;
        gint64 ms = g_date_time_to_unix(time) * 1000 + g_date_time_get_microsecond(time) / 1000;
        g_date_time_unref(time);
        return ms;
}

char *kube_time_format(gint64 ms, bool micro)
{
        gint64 seconds = ms / 1000 - (ms % 1000 < 0);
        GDateTime *time = g_date_time_new_from_unix_utc(seconds);
        g_autofree char *text = time ? g_date_time_format(time, "%Y-%m-%dT%H:%M:%S") : NULL;

        if (time)
                g_date_time_unref(time);
        if (!micro)
                return g_strconcat(text ? text : "1970-01-01T00:00:00", "Z", NULL);
        return g_strdup_printf("%s.%03d000Z", text ? text : "1970-01-01T00:00:00",
                               (int)(ms - seconds * 1000));
}
