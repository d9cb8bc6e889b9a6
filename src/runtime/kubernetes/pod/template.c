/* Pods filled in (see template.h).
 *
 *   member_pod ─┐
 *   template ───┴─▶ one pod: the template's lists first, then ours where nothing of that name is there
 *                      ─▶ labels, annotations, class, scheduler
 *
 * Some things stay ours whatever the template says: the names by which members find each other and are found
 * again, and the restart policy, since the engine repeats attempts and not the kubelet. */
#include "runtime/kubernetes/pod/template.h"

#include <string.h>

#include "model/extension.h"
#include "model/framework.h"
#include "model/job.h"
#include "model/queue.h"
#include "model/resources.h"
#include "podspec/objects.h"
#include "runtime/kubernetes/pod/member.h"

enum { LABEL_MAX = 63 };

const char *const template_classes[6] = { "very-low", "low", "normal", "high", "very-high", NULL };

/* ---- labels ---- */

static bool is_word(const char *text, gsize len)
{
        if (!len || len > LABEL_MAX || !g_ascii_isalnum(text[0]) || !g_ascii_isalnum(text[len - 1]))
                return false;
        for (gsize i = 0; i < len; i++)
                if (!g_ascii_isalnum(text[i]) && !strchr("-_.", text[i]))
                        return false;
        return true;
}

static bool is_prefix(const char *text, gsize len)
{
        for (gsize i = 0; i < len; i++)
                if (!g_ascii_islower(text[i]) && !g_ascii_isdigit(text[i]) && !strchr("-.", text[i]))
                        return false;
        return len > 0 && g_ascii_isalnum(text[0]) && g_ascii_isalnum(text[len - 1]);
}

static bool is_key(const char *key)
{
        const char *slash = strchr(key, '/');
        const char *name = slash ? slash + 1 : key;

        return (!slash || is_prefix(key, (gsize)(slash - key))) && is_word(name, strlen(name));
}

static bool has_prefix_of(const char *key, const char *const *prefixes)
{
        for (; *prefixes; prefixes++)
                if (g_str_has_prefix(key, *prefixes))
                        return true;
        return false;
}

/* Labels by which Jobs, StatefulSets and third-party operators number and find their pods. A Job whose
 * template has one is refused; other pods would count as members. */
static bool is_of_makers(const char *key)
{
        static const char *const names[] = { "job-name", "controller-uid", "controller-revision-hash", NULL };
        static const char *const prefixes[] = { "batch.kubernetes.io/",
                                                "apps.kubernetes.io/",
                                                "statefulset.kubernetes.io/",
                                                "training.kubeflow.org/",
                                                "sparkoperator.k8s.io/",
                                                "spark-",
                                                NULL };

        return g_strv_contains(names, key) || has_prefix_of(key, prefixes);
}

/* Labels by which pods are found. Users cannot set them. */
static bool is_ours(const char *key)
{
        static const char *const prefixes[] = { "paddle-", "paddleflow-", NULL };

        return strcmp(key, "owner") == 0 || has_prefix_of(key, prefixes) || is_of_makers(key);
}

/* Leaves out labels for which the API server would refuse the whole pod. */
static void put_user_labels(json_t *pod, char *const *labels)
{
        for (; labels && *labels; labels++) {
                const char *equals = strchr(*labels, '=');
                g_autofree char *key =
                        g_strndup(*labels, equals ? (gsize)(equals - *labels) : strlen(*labels));
                const char *value = equals ? equals + 1 : "";

                if (is_key(key) && !is_ours(key) && (!*value || is_word(value, strlen(value))) &&
                    !kube_label(pod, key))
                        podspec_label(pod, key, value);
        }
}

/* Annotations by which schedulers mark a preempted pod; and the older way to drop the AppArmor profile, for
 * which a template has a field in securityContext. */
static bool is_left_out(const char *key)
{
        return strcmp(key, MEMBER_STATUS_ANNOTATION) == 0 || strcmp(key, MEMBER_MESSAGE_ANNOTATION) == 0 ||
               g_str_has_prefix(key, "container.apparmor.security.beta.kubernetes.io/");
}

static void put_user_annotations(json_t *pod, char *const *annotations)
{
        for (; annotations && *annotations; annotations++) {
                const char *equals = strchr(*annotations, '=');
                g_autofree char *key = g_strndup(*annotations, equals ? (gsize)(equals - *annotations)
                                                                      : strlen(*annotations));

                if (is_key(key) && !is_left_out(key) && !kube_annotation(pod, key))
                        podspec_annotate(pod, key, equals ? equals + 1 : "");
        }
}

static void put_queue(json_t *pod, const char *queue)
{
        podspec_label(pod, "volcano.sh/queue-name", queue);
        podspec_annotate(pod, "volcano.sh/queue-name", queue);
        podspec_annotate(pod, "scheduling.volcano.sh/queue-name", queue);
}

/* ---- nodes ---- */

static void select_node(json_t *spec, const char *label)
{
        const char *equals = strchr(label, '=');
        g_autofree char *key = equals ? g_strndup(label, (gsize)(equals - label)) : NULL;
        json_t *selector = json_object_get(spec, "nodeSelector");

        if (!key)
                return;
        if (!selector)
                json_object_set_new(spec, "nodeSelector", selector = json_object());
        json_object_set_new(selector, key, json_string(equals + 1)); /* of a user's wrong type: nothing */
}

/* The affinity of a template is kept. */
static void prefer_node(json_t *spec, const char *label)
{
        g_auto(GStrv) parts = g_strsplit(label, "=", 2);

        if (!json_object_get(spec, "affinity"))
                json_object_set_new(spec, "affinity",
                                    json_pack("{s:{s:[{s:i, s:{s:[{s:s, s:s, s:[s]}]}}]}}", "nodeAffinity",
                                              "preferredDuringSchedulingIgnoredDuringExecution", "weight",
                                              100, "preference", "matchExpressions", "key", parts[0],
                                              "operator", "In", "values", parts[1]));
}

/* Our scheduler has planned with these labels; the cluster places the pods. */
static void select_nodes(json_t *spec, const RuntimeAttempt *attempt)
{
        for (char *const *at = attempt->location; at && *at; at++)
                if (queue_label_is_of_nodes(*at))
                        select_node(spec, *at);
        for (char *const *at = attempt->job->spec->node_labels; at && *at; at++)
                select_node(spec, *at);
        if (attempt->topology && attempt->job->spec->topology_required)
                select_node(spec, attempt->topology);
        else if (attempt->topology)
                prefer_node(spec, attempt->topology);
}

/* ---- the job as PaddleFlow's clients asked for it ---- */

static json_t *asked_of(const RuntimeAttempt *attempt)
{
        const char *text = attempt->job ? attempt->job->spec->origin : NULL;
        g_autoptr(json_t) origin = text ? json_parse_own(text, strlen(text), NULL) : NULL;
        json_t *asked = json_object_get(origin, "paddleflow");

        return asked ? json_incref(asked) : NULL;
}

static const char *id_of(const RuntimeAttempt *attempt, const json_t *asked)
{
        const char *id = json_string_value(json_object_get(asked, "id"));

        return id && is_word(id, strlen(id)) ? id : attempt->job->id;
}

/* The template of the role's pods: a member's own, else its part of the job's, else of the administrator's.
 */
static const json_t *template_of(const json_t *asked, const char *role)
{
        const json_t *members = json_object_get(asked, "members"), *member, *own;
        size_t i;

        json_array_foreach(members, i, member) {
                const char *name = json_string_value(json_object_get(member, "role"));

                own = json_object_get(member, "extensionTemplate");
                if (own && name &&
                    (strcmp(name, role) == 0 ||
                     (strcmp(name, "worker") == 0 && strcmp(role, "trainer") == 0)))
                        return extension_pod(own, role);
        }
        own = json_object_get(asked, "extensionTemplate");
        return extension_pod(own ? own : json_object_get(asked, "defaultTemplate"), role);
}

/* ---- merging ---- */

static char *key_by_name(const json_t *item)
{
        return g_strdup(json_string_value(json_object_get(item, "name")));
}

/* "//a//b/" is "/a/b". */
static char *key_by_path(const json_t *item)
{
        const char *path = json_string_value(json_object_get(item, "mountPath"));

        return path ? g_canonicalize_filename(path + strspn(path, "/"), "/") : NULL;
}

static char *key_by_port(const json_t *item)
{
        const json_t *port = json_object_get(item, "containerPort");

        return port ? g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(port)) : NULL;
}

static char *no_key(const json_t *item)
{
        return NULL;
}

static bool has_key(const json_t *list, const char *key, char *(*key_of)(const json_t *item))
{
        const json_t *item;
        size_t i;

        json_array_foreach(list, i, item) {
                g_autofree char *other = key_of(item);

                if (key && g_strcmp0(other, key) == 0)
                        return true;
        }
        return false;
}

/* The template's, then ours that it does not have. A new list. */
static json_t *join(const json_t *template, const json_t *ours, char *(*key_of)(const json_t *item))
{
        json_t *list = json_is_array(template) ? json_deep_copy(template) : json_array(), *item;
        size_t i;

        json_array_foreach(ours, i, item) {
                g_autofree char *key = key_of(item);

                if (!has_key(template, key, key_of))
                        json_array_append(list, item);
        }
        return list;
}

typedef struct {
        const char *name;
        char *(*key_of)(const json_t *item); /* NULL: it is no list, and ours stays where we have it */
} MergeRow;

/* All others are the template's. */
static const MergeRow container_rows[] = {
        { "name", NULL },           { "image", NULL },
        { "command", NULL },        { "args", NULL },
        { "readinessProbe", NULL }, { "env", key_by_name },
        { "envFrom", no_key },      { "volumeMounts", key_by_path },
        { "ports", key_by_port },   { NULL },
};
static const MergeRow pod_rows[] = {
        { "restartPolicy", NULL },
        { "hostname", NULL },
        { "subdomain", NULL },
        { "containers", NULL },
        { "volumes", key_by_name },
        { "initContainers", key_by_name },
        { "tolerations", no_key },
        { "imagePullSecrets", key_by_name },
        { NULL },
};

static const MergeRow *row_of(const MergeRow *rows, const char *name)
{
        for (; rows->name; rows++)
                if (strcmp(rows->name, name) == 0)
                        return rows;
        return NULL;
}

static void merge_object(json_t *ours, const json_t *template, const MergeRow *rows)
{
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)template, name, value) {
                const MergeRow *row = row_of(rows, name);
                const json_t *own = json_object_get(ours, name);

                if (row && row->key_of)
                        json_object_set_new(ours, name, join(value, own, row->key_of));
                else if (!row || !own)
                        json_object_set_new(ours, name, json_deep_copy(value));
        }
}

/* True for resources that queues and quotas count, and for GPUs under a name that is not configured. */
static bool is_counted(const char *resource)
{
        return resource_find(resource) >= 0 || g_str_has_prefix(resource, "nvidia.com/");
}

/* The job sets the resources that are counted; a template may add others. A new object. */
static json_t *join_amounts(const json_t *template, const json_t *ours)
{
        json_t *joined = json_object(), *value;
        const char *name;

        json_object_foreach((json_t *)template, name, value) {
                if (!is_counted(name))
                        json_object_set(joined, name, value);
        }
        if (ours)
                json_object_update(joined, (json_t *)ours);
        return joined;
}

/* `ours`: the member's. Of the template's other fields, such as claims, all stay. */
static void set_resources(json_t *container, const json_t *ours)
{
        static const char *const parts[] = { "requests", "limits" };
        const json_t *said = json_object_get(container, "resources");
        json_t *made = json_is_object(said) ? json_copy((json_t *)said) : json_object();

        for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
                json_object_set_new(made, parts[i],
                                    join_amounts(json_object_get(said, parts[i]),
                                                 json_object_get(ours, parts[i])));
        json_object_set_new(container, "resources", made);
}

static void merge_container(json_t *container, const json_t *template)
{
        g_autoptr(json_t) ours = json_incref(json_object_get(container, "resources"));

        merge_object(container, template, container_rows);
        set_resources(container, ours);
}

static json_t *main_container(json_t *pod)
{
        json_t *list = kube_get(pod, "spec.containers"), *container;
        size_t i;

        json_array_foreach(list, i, container) {
                if (g_strcmp0(kube_get_text(container, "name"), MEMBER_CONTAINER) == 0)
                        return container;
        }
        return NULL;
}

/* Init containers run before the member, with its resources: a pod needs the larger of the two. A sidecar,
 * which only an administrator's template has, has requests of its own. */
static void bound_first_ones(json_t *pod, const json_t *template)
{
        const json_t *theirs = kube_get(template, "spec.initContainers"), *container;
        const json_t *resources = json_object_get(main_container(pod), "resources");
        json_t *list = kube_get(pod, "spec.initContainers");
        size_t i;

        json_array_foreach(theirs, i, container) {
                if (!kube_get_text(container, "restartPolicy"))
                        set_resources(json_array_get(list, i), resources);
        }
}

/* Only an administrator's template has some. */
static void add_others(json_t *pod, const json_t *template, const json_t *taken)
{
        const json_t *list = kube_get(template, "spec.containers");
        json_t *container;
        size_t i;

        json_array_foreach(list, i, container) {
                if (container != taken && json_is_object(container))
                        json_array_append_new(kube_get(pod, "spec.containers"), json_deep_copy(container));
        }
}

static void merge_metadata(json_t *pod, const json_t *template)
{
        const char *name;
        json_t *value;

        json_object_foreach(kube_get(template, "metadata.labels"), name, value)
                if (json_is_string(value) && !is_ours(name))
                        podspec_label(pod, name, json_string_value(value));
        json_object_foreach(kube_get(template, "metadata.annotations"), name, value)
                if (json_is_string(value) && !is_left_out(name))
                        podspec_annotate(pod, name, json_string_value(value));
}

static void merge(json_t *pod, const json_t *template)
{
        const json_t *container = extension_container(template);

        merge_metadata(pod, template);
        merge_object(json_object_get(pod, "spec"), json_object_get(template, "spec"), pod_rows);
        if (container)
                merge_container(main_container(pod), container);
        bound_first_ones(pod, template);
        add_others(pod, template, container);
}

/* ---- all ---- */

const char *template_class(int priority)
{
        g_autofree char *word = g_ascii_strdown(priority_word(priority), -1);

        g_strdelimit(word, "_", '-');
        for (const char *const *at = template_classes; *at; at++)
                if (strcmp(*at, word) == 0)
                        return *at;
        return "normal";
}

static void set_if_absent(json_t *spec, const char *name, const char *value)
{
        if (!json_object_get(spec, name))
                json_object_set_new(spec, name, json_string(value));
}

/* The values of PaddleFlow's own templates, for jobs that set none. */
static void put_defaults(json_t *pod, const json_t *asked)
{
        if (!asked)
                return;
        set_if_absent(main_container(pod), "imagePullPolicy", "IfNotPresent");
        set_if_absent(json_object_get(pod, "spec"), "serviceAccountName", "default");
}

void template_fill(const TemplateCluster *cluster, const RuntimeAttempt *attempt, const char *role,
                   json_t *pod)
{
        g_autoptr(json_t) asked = asked_of(attempt);
        const json_t *template = template_of(asked, role);
        json_t *spec = json_object_get(pod, "spec");

        if (template)
                merge(pod, template);
        else
                put_defaults(pod, asked);
        podspec_label(pod, "paddleflow-job-id", id_of(attempt, asked));
        if (attempt->job) {
                const char *class = template_class(attempt->job->priority);

                podspec_label(pod, "paddleflow-job-framework",
                              attempt->job->spec->framework->paddleflow_name);
                put_queue(pod, attempt->job->queue);
                select_nodes(spec, attempt);
                put_user_labels(pod, job_labels(attempt->job));
                put_user_annotations(pod, job_annotations(attempt->job));
                if (cluster->classes && g_strv_contains(cluster->classes, class))
                        set_if_absent(spec, "priorityClassName", class);
        }
        if (cluster->scheduler)
                set_if_absent(spec, "schedulerName", cluster->scheduler);
        if (cluster->k3s)
                podspec_env_field(main_container(pod), "K3S_NODE_NAME", "spec.nodeName");
}
