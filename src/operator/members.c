/* Pods, Services, ConfigMap and PodGroup of a PaddleJob (see members.h). */
#include "operator/members.h"

#include <string.h>

#include "base/number.h"
#include "kube/kind.h"
#include "operator/status.h"
#include "podspec/objects.h"

enum {
        RANDOM_PORT = JOB_PORT, /* first ports outside of Service and Host mode: 36000..55999 */
        RANDOM_PORTS = 20000,
};

static PodspecOwner owner_of(const PaddleJob *job)
{
        return (PodspecOwner){ &kube_paddle_jobs, job->name, job->uid };
}

/* ---- pods ---- */

static void copy_metadata(json_t *pod, const json_t *template)
{
        static const char *const members[] = { "labels", "annotations", "finalizers" };
        json_t *metadata = json_object_get(pod, "metadata");

        for (gsize i = 0; i < G_N_ELEMENTS(members); i++) {
                const json_t *value = json_object_get(json_object_get(template, "metadata"), members[i]);

                if (value && !json_is_null(value))
                        json_object_set_new(metadata, members[i], json_deep_copy(value));
        }
}

static const char *training_role(const PaddleJob *job, JobRole role)
{
        static const char *const names[ROLES] = { "PSERVER", "TRAINER", "HETER" };

        return role == ROLE_HETER && job->heter_trainer ? "HETER_TRAINER" : names[role];
}

static void add_elastic_env(json_t *container, const PaddleJob *job, const OperatorRules *rules)
{
        const JobRoleSpec *worker = &job->role[ROLE_WORKER];
        bool range = !rules->compat && worker->min >= 0 && worker->max >= worker->min;
        g_autofree char *id = g_strconcat(job->namespace, "-", job->name, NULL);
        g_autofree char *np =
                range ? g_strdup_printf("%" G_GINT64_FORMAT ":%" G_GINT64_FORMAT, worker->min, worker->max)
                      : g_strdup_printf("%" G_GINT64_FORMAT, worker->replicas);

        podspec_env(container, "PADDLE_ELASTIC_JOB_ID", id);
        podspec_env(container, "PADDLE_ELASTIC_NP", np);
        podspec_env(container, "PADDLE_ELASTIC_TIMEOUT", "60");
        if (rules->etcd_server && *rules->etcd_server)
                podspec_env(container, "PADDLE_ELASTIC_SERVER", rules->etcd_server);
}

/* Paddle's own protocol of two stages: workers feed heter pods. */
static void add_heter_env(json_t *container, const PaddleJob *job, JobRole role)
{
        g_autofree char *trainers =
                g_strdup_printf("[%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT "]",
                                job->role[ROLE_WORKER].replicas, job->role[ROLE_HETER].replicas);
        g_autoptr(PodspecSum) sum = podspec_sum_new();
        g_autoptr(json_t) asked = NULL;

        if (!job->heter_trainer || role == ROLE_PS || !job->role[ROLE_HETER].present)
                return;
        podspec_env(container, "STAGE_ID", role == ROLE_WORKER ? "1" : "2");
        podspec_env(container, "STAGE_NUM", "2");
        podspec_env(container, "PADDLE_STAGE_TRAINERS_NUM", trainers);
        if (podspec_sum_add(sum, job->role[role].pod_spec, 1, NULL))
                asked = podspec_sum_format(sum);
        podspec_env(container, "HETER_DEVICE_TYPE", json_object_get(asked, "nvidia.com/gpu") ? "gpu" : "cpu");
}

static void add_env(json_t *container, const PaddleJob *job, const OperatorRules *rules, JobRole role,
                    gint64 index, const char *name)
{
        g_autofree char *id = g_strdup_printf("%" G_GINT64_FORMAT, index);

        if (job->intranet == INTRANET_SERVICE)
                podspec_env(container, "POD_IP", name);
        else
                podspec_env_field(container, "POD_IP", "status.podIP");
        podspec_env(container, "PADDLE_TRAINER_ID", id);
        podspec_env(container, "TRAINING_ROLE", training_role(job, role));
        podspec_env(container, "PADDLE_TRAINING_ROLE", training_role(job, role));
        add_heter_env(container, job, role);
        if (job->elastic)
                add_elastic_env(container, job, rules);
        else
                podspec_env_from_config_map(container, job->name);
        if (job->intranet == INTRANET_SERVICE)
                podspec_port(container, JOB_PORT);
}

/* It ends when the name of every peer of this role has an address, and fails when one has none for 1000 s.
 * The shell counts: Linux lets an argument have 128 KiB, and a list of all names stood in every pod. */
static char *coord_script(const PaddleJob *job, JobRole role)
{
        /* An image has one of the three. Newer busyboxes' nslookup fails when any domain of the search list,
         * or any type of address, has no answer; the others ask as programs do. */
        return g_strdup_printf("i=0; while [ $i -lt %" G_GINT64_FORMAT " ]; do name=\"%s-%s-$i\"; n=1; "
                               "until nslookup \"$name\" || getent hosts \"$name\" || "
                               "ping -c 1 -W 1 \"$name\"; do echo \"$name: attempt $n of 1000\"; "
                               "[ $n -ge 1000 ] && exit 1; n=$((n + 1)); sleep 1; done; "
                               "i=$((i + 1)); done; sleep 2",
                               job->role[role].replicas, job->name, job_role_name(role));
}

static void add_coord(json_t *spec, const PaddleJob *job, const OperatorRules *rules, JobRole role)
{
        json_t *list = json_object_get(spec, "initContainers"), *container, *resources = json_object();
        g_autofree char *script = NULL;

        if (!rules->init_image || !*rules->init_image) {
                json_decref(resources);
                return;
        }
        script = coord_script(job, role);
        if (!json_is_array(list)) {
                list = json_array();
                json_object_set_new(spec, "initContainers", list);
        }
        if (rules->init_requests)
                json_object_set_new(resources, "requests", json_deep_copy(rules->init_requests));
        if (rules->init_limits)
                json_object_set_new(resources, "limits", json_deep_copy(rules->init_limits));
        container = json_pack("{s:s, s:s, s:s, s:[s,s,s], s:o}", "name", COORD_CONTAINER, "image",
                              rules->init_image, "imagePullPolicy", "IfNotPresent", "command", "sh", "-c",
                              script, "resources", resources);
        json_array_append_new(list, container);
}

static const char *said(const json_t *spec, const char *name)
{
        const char *value = json_string_value(json_object_get(spec, name));

        return value && *value ? value : NULL;
}

static void set_text(json_t *object, const char *name, const char *value)
{
        json_object_set_new(object, name, json_string(value));
}

static void set_policies(json_t *spec, const PaddleJob *job, JobRole role)
{
        bool again = job->elastic || (role == ROLE_WORKER && job->intranet == INTRANET_SERVICE);

        if (job->elastic || !said(spec, "restartPolicy"))
                set_text(spec, "restartPolicy", again ? "OnFailure" : "Never");
        if (job->intranet != INTRANET_HOST)
                return;
        json_object_set_new(spec, "hostNetwork", json_true());
        if (!said(spec, "dnsPolicy")) /* the node's resolver knows no pod */
                set_text(spec, "dnsPolicy", "ClusterFirstWithHostNet");
}

static void add_gang(json_t *pod, json_t *spec, const PaddleJob *job, JobRole role)
{
        set_text(spec, "schedulerName", "volcano");
        podspec_annotate(pod, "scheduling.k8s.io/group-name", job->name);
        podspec_annotate(pod, "volcano.sh/task-spec", job_role_name(role));
        podspec_annotate(pod, "volcano.sh/job-name", job->name);
        podspec_annotate(pod, "volcano.sh/job-version", "0");
        podspec_annotate(pod, "volcano.sh/queue-name", job->queue ? job->queue : "");
}

json_t *paddlejob_pod(const PaddleJob *job, const OperatorRules *rules, JobRole role, gint64 index)
{
        PodspecOwner owner = owner_of(job);
        g_autofree char *name = job_pod_name(job, role, index);
        json_t *pod = podspec_object(&kube_pods, job->namespace, name, &owner);
        json_t *spec = json_deep_copy(job->role[role].pod_spec);

        json_object_set_new(pod, "spec", spec);
        copy_metadata(pod, job->role[role].template);
        podspec_label(pod, JOB_RESOURCE_NAME, name);
        podspec_label(pod, JOB_RESOURCE_TYPE, job_role_name(role));
        podspec_annotate(pod, JOB_RESOURCE_ROLE, job_role_name(role));
        set_text(spec, "hostname", name);
        set_text(spec, "subdomain", name);
        set_policies(spec, job, role);
        add_env(json_array_get(json_object_get(spec, "containers"), 0), job, rules, role, index, name);
        add_coord(spec, job, rules, role);
        if (rules->volcano && job_is_for_volcano(job))
                add_gang(pod, spec, job, role);
        return pod;
}

json_t *paddlejob_service(const PaddleJob *job, JobRole role, gint64 index)
{
        PodspecOwner owner = owner_of(job);
        g_autofree char *name = job_pod_name(job, role, index);

        return podspec_service(job->namespace, name, &owner, JOB_RESOURCE_NAME, name, JOB_PORT, JOB_PORTS);
}

/* ---- the gang ---- */

/* An elastic worker needs only its least number to begin. */
static gint64 gang_members(const PaddleJob *job)
{
        gint64 sum = 0;

        if (job->min_available >= 0)
                return job->min_available;
        for (JobRole role = ROLE_PS; role < ROLES; role++) {
                const JobRoleSpec *spec = &job->role[role];
                bool least = job->elastic && role == ROLE_WORKER && spec->min >= 0;

                if (spec->present)
                        sum += least ? MIN(spec->min, spec->replicas) : spec->replicas;
        }
        return sum;
}

json_t *member_pod_group(const PaddleJob *job, GError **error)
{
        PodspecOwner owner = owner_of(job);
        g_autoptr(PodspecSum) sum = podspec_sum_new();
        g_autoptr(json_t) resources = NULL;

        for (JobRole role = ROLE_PS; role < ROLES && !job->min_resources; role++)
                if (job->role[role].present &&
                    !podspec_sum_add(sum, job->role[role].pod_spec, job->role[role].replicas, error))
                        return NULL;
        resources = job->min_resources ? json_deep_copy(job->min_resources) : podspec_sum_format(sum);
        return podspec_pod_group(job->namespace, job->name, &owner,
                                 &(PodspecGang){ .min_member = gang_members(job),
                                                 .min_resources = resources,
                                                 .queue = job->queue,
                                                 .priority_class = job->priority_class });
}

/* ---- addresses ---- */

/* The same job has the same port whenever it is asked for; different ones spread over the range. FNV-1a. */
static gint64 port_of_uid(const char *uid)
{
        guint32 hash = 2166136261U;

        for (; *uid; uid++)
                hash = (hash ^ (guint8)*uid) * 16777619U;
        return RANDOM_PORT + hash % RANDOM_PORTS;
}

gint64 member_port(const json_t *map)
{
        const char *text = kube_get_text(map, "data.PADDLE_PORT");
        gint64 port;

        return text && number_parse("PADDLE_PORT", text, 1, G_MAXUINT16, &port, NULL) ? port : 0;
}

gint64 member_host_port(const PaddleJob *job, const json_t *map)
{
        gint64 started = map && podspec_is_owned(map, job->uid) ? member_port(map) : 0;

        return started ? started : job->host_port;
}

static gint64 first_port(const PaddleJob *job, const OperatorRules *rules, const json_t *old)
{
        gint64 port = member_port(old);

        if (port)
                return port;
        if (job->intranet == INTRANET_SERVICE && !rules->compat)
                return JOB_PORT;
        if (job->intranet == INTRANET_HOST && job->host_port)
                return job->host_port;
        return port_of_uid(job->uid);
}

/* An IPv6 address stands in brackets. */
static char *host_text(const char *ip)
{
        return strchr(ip, ':') ? g_strdup_printf("[%s]", ip) : g_strdup(ip);
}

static char *host_of(const PaddleJob *job, JobRole role, guint index, const GPtrArray *ips)
{
        return job->intranet == INTRANET_SERVICE ? job_pod_name(job, role, index)
                                                 : host_text(ips->pdata[index]);
}

/* The hosts of a role, each with a port when `port` is above 0. */
static void set_list(json_t *data, const char *key, const PaddleJob *job, JobRole role, const GPtrArray *ips,
                     gint64 port)
{
        g_autoptr(GString) list = g_string_new(NULL);

        for (guint i = 0; i < ips->len; i++) {
                g_autofree char *host = host_of(job, role, i, ips);

                g_string_append_printf(list, "%s%s", i ? "," : "", host);
                if (port > 0)
                        g_string_append_printf(list, ":%" G_GINT64_FORMAT, port);
        }
        set_text(data, key, list->str);
}

static void set_number(json_t *data, const char *key, gint64 number)
{
        g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, number);

        set_text(data, key, text);
}

/* Gloo meets at the first parameter server. The older operator knew only the port of Service mode. */
static void set_gloo(json_t *data, const PaddleJob *job, const OperatorRules *rules, const GPtrArray *servers,
                     gint64 port)
{
        bool shift = !rules->compat || job->intranet == INTRANET_SERVICE || port == JOB_PORT;
        g_autofree char *host = NULL, *endpoint = NULL;

        if (!job->gloo || !job->role[ROLE_PS].present || servers->len == 0)
                return;
        host = host_of(job, ROLE_PS, 0, servers);
        endpoint = g_strdup_printf("%s:%" G_GINT64_FORMAT, host, port + (shift ? JOB_GLOO_OFFSET : 0));
        set_number(data, "PADDLE_WITH_GLOO", job->gloo);
        set_text(data, "PADDLE_GLOO_RENDEZVOUS", "3");
        set_text(data, "PADDLE_GLOO_HTTP_ENDPOINT", endpoint);
}

json_t *member_addresses(const PaddleJob *job, const OperatorRules *rules, GPtrArray *const ips[ROLES],
                         const json_t *old)
{
        gint64 port = first_port(job, rules, old);
        gint64 listen = job->intranet == INTRANET_SERVICE ? JOB_PORT : port;
        json_t *data = json_object();

        set_number(data, "TRAINER_PORTS_NUM", JOB_PORTS);
        set_number(data, "PADDLE_PORT", port);
        if (job->role[ROLE_PS].present)
                set_list(data, "PADDLE_PSERVERS_IP_PORT_LIST", job, ROLE_PS, ips[ROLE_PS], listen);
        if (job->role[ROLE_WORKER].present) {
                set_list(data, "PADDLE_TRAINER_ENDPOINTS", job, ROLE_WORKER, ips[ROLE_WORKER], listen);
                set_list(data, "PADDLE_TRAINERS", job, ROLE_WORKER, ips[ROLE_WORKER], 0);
                set_number(data, "PADDLE_TRAINERS_NUM", job->role[ROLE_WORKER].replicas);
        }
        if (job->role[ROLE_HETER].present)
                set_list(data,
                         job->heter_trainer ? "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST"
                                            : "PADDLE_HETER_ENDPOINTS",
                         job, ROLE_HETER, ips[ROLE_HETER], listen);
        set_gloo(data, job, rules, ips[ROLE_PS], listen);
        return data;
}

json_t *member_config_map(const PaddleJob *job, json_t *data)
{
        PodspecOwner owner = owner_of(job);
        json_t *map = podspec_object(&kube_config_maps, job->namespace, job->name, &owner);

        podspec_label(map, JOB_RESOURCE_NAME, job->name);
        json_object_set_new(map, "data", data);
        return map;
}

json_t *member_addresses_patch(const json_t *old, const json_t *data)
{
        static const char *const ours[] = {
                "TRAINER_PORTS_NUM",         "PADDLE_PORT",
                "PADDLE_TRAINER_ENDPOINTS",  "PADDLE_TRAINERS",
                "PADDLE_TRAINERS_NUM",       "PADDLE_PSERVERS_IP_PORT_LIST",
                "PADDLE_HETER_ENDPOINTS",    "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST",
                "PADDLE_WITH_GLOO",          "PADDLE_GLOO_RENDEZVOUS",
                "PADDLE_GLOO_HTTP_ENDPOINT",
        };
        const json_t *was = json_object_get(old, "data");
        g_autoptr(json_t) patch = json_object();

        for (gsize i = 0; i < G_N_ELEMENTS(ours); i++) {
                json_t *value = json_object_get(data, ours[i]), *before = json_object_get(was, ours[i]);

                if (value && !(before && json_equal(value, before)))
                        json_object_set(patch, ours[i], value);
                else if (!value && before)
                        json_object_set_new(patch, ours[i], json_null());
        }
        return json_object_size(patch) ? json_pack("{s:O}", "data", patch) : NULL;
}
