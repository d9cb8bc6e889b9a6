/* Members as pods (see member.h). Fields: Kubernetes API reference, core/v1 Pod, Node, Service. */
#include "runtime/kubernetes/pod/member.h"

#include <signal.h>
#include <string.h>

#include "base/number.h"
#include "model/framework.h"
#include "podspec/objects.h"
#include "runtime/kubernetes/pod/form.h"
#include "runtime/kubernetes/pod/gate.h"
#include "runtime/kubernetes/pod/tolerations.h"
#include "runtime/kubernetes/pod/unscheduled.h"

enum { PROBE_MS_PER_S = 1000 };

/* ---- names ---- */

char *member_selector(const MemberHome *home)
{
        return g_strdup_printf("owner=paddleflow,paddle-server=%s", home->server);
}

char *member_pod_name(const char *task)
{
        return g_strdelimit(g_strdup(task), ".", '-');
}

char *member_role(const char *task)
{
        g_auto(GStrv) parts = g_strsplit(task, ".", 4);

        return g_strdup(parts[2]);
}

/* A service's name begins with a letter; ids need not. */
char *member_service_name(const char *job_id, int attempt)
{
        return g_strdup_printf("j-%s-%d", job_id, attempt);
}

char *member_address(const MemberHome *home, const char *job_id, int attempt, const char *role, int index)
{
        g_autofree char *service = member_service_name(job_id, attempt);

        return g_strdup_printf("%s-%d-%s-%d.%s.%s.svc", job_id, attempt, role, index, service,
                               home->namespace);
}

/* ---- a member as a pod ---- */

void member_put_labels(json_t *object, const MemberHome *home, const char *job_id, int attempt)
{
        g_autofree char *number = g_strdup_printf("%d", attempt);

        podspec_label(object, "owner", "paddleflow");
        podspec_label(object, "paddle-server", home->server);
        podspec_label(object, "paddle-job-id", job_id);
        podspec_label(object, "paddleflow-job-id", job_id);
        podspec_label(object, "paddle-attempt", number);
}

json_t *member_service(const MemberHome *home, const char *job_id, int attempt)
{
        g_autofree char *name = member_service_name(job_id, attempt);
        g_autofree char *number = g_strdup_printf("%d", attempt);
        json_t *service = podspec_object(&kube_services, home->namespace, name, NULL);

        member_put_labels(service, home, job_id, attempt);
        json_object_set_new(service, "spec",
                            json_pack("{s:s, s:b, s:{s:s, s:s, s:s}}", "clusterIP", "None",
                                      "publishNotReadyAddresses", 1, "selector", "paddle-server",
                                      home->server, "paddle-job-id", job_id, "paddle-attempt", number));
        return service;
}

json_t *member_secret(const MemberHome *home, const char *job_id, int attempt)
{
        g_autofree char *name = member_service_name(job_id, attempt);
        json_t *secret = gate_secret(home->namespace, name);

        member_put_labels(secret, home, job_id, attempt);
        return secret;
}

static json_t *literal(const char *text)
{
        g_autofree char *escaped = podspec_literal(text);

        return json_string(escaped);
}

static json_t *literals(char *const *words)
{
        json_t *list = json_array();

        for (; *words; words++)
                json_array_append_new(list, literal(*words));
        return list;
}

/* The file by which a member says that it is ready lies in the pod, wherever a member of this machine would
 * have it. */
static json_t *environment(const TaskStart *task)
{
        json_t *list = json_array();

        for (char *const *at = task->env; *at; at++) {
                const char *equals = strchr(*at, '=');
                g_autofree char *name = equals ? g_strndup(*at, (gsize)(equals - *at)) : NULL;
                bool ready = name && task->ready_file && strcmp(name, "PADDLE_READY_FILE") == 0;

                if (name)
                        json_array_append_new(list,
                                              json_pack("{s:s, s:o}", "name", name, "value",
                                                        literal(ready ? MEMBER_READY_FILE : equals + 1)));
        }
        return list;
}

static void put_amount(json_t *object, const char *name, int kind, gint64 amount)
{
        if (amount > 0) {
                g_autofree char *text = kind == RESOURCE_CPU ? cpu_format(amount)
                                                             : g_strdup_printf("%" G_GINT64_FORMAT, amount);

                json_object_set_new(object, name, json_string(text));
        }
}

static json_t *resources(const TaskStart *task)
{
        json_t *requests = json_object(), *limits = json_object();

        put_amount(requests, "cpu", RESOURCE_CPU, task->cpu_weight_milli);
        put_amount(limits, "cpu", RESOURCE_CPU, task->limits.cpu_milli);
        put_amount(requests, "memory", RESOURCE_MEMORY, task->limits.memory);
        put_amount(limits, "memory", RESOURCE_MEMORY, task->limits.memory);
        for (int kind = RESOURCE_GPU; kind < resource_kinds(); kind++)
                if (strchr(resource_name(kind), '/')) /* a device; "storage" is no container's */
                        put_amount(limits, resource_name(kind), kind, task->limits.amount[kind]);
        return json_pack("{s:o, s:o}", "requests", requests, "limits", limits);
}

char *member_too_long(char *const *env)
{
        for (; *env; env++)
                if (strlen(*env) > VARIABLE_MAX)
                        return g_strdup_printf("the variable '%.*s' has %" G_GSIZE_FORMAT
                                               " bytes; a program can get at most %d\n"
                                               "If it lists all members, request fewer members.",
                                               (int)strcspn(*env, "="), *env, strlen(*env), VARIABLE_MAX);
        return NULL;
}

/* The member is shown as ready when its own port listens. Members that wait for it try both of its ports
 * (gate.h). */
static json_t *probe(const TaskStart *task)
{
        int port = task->ready_port;
        json_t *made = NULL;

        if (task->ready_file)
                made = json_pack("{s:{s:[s, s, s]}}", "exec", "command", "test", "-e", MEMBER_READY_FILE);
        else if (port > 0)
                made = json_pack("{s:{s:i}}", "tcpSocket", "port", port);
        if (made) {
                json_object_set_new(made, "periodSeconds", json_integer(1));
                json_object_set_new(made, "failureThreshold", json_integer(3));
        }
        return made;
}

static json_t *container(const MemberHome *home, const RuntimeAttempt *attempt, const TaskStart *task)
{
        const char *own = attempt->job->spec->image, *image = own ? own : home->image;
        json_t *made = json_pack("{s:s, s:s, s:o, s:o, s:o}", "name", MEMBER_CONTAINER, "image",
                                 image ? image : "", "command", literals(task->argv), "env",
                                 environment(task), "resources", resources(task));
        json_t *ready = probe(task);

        if (ready)
                json_object_set_new(made, "readinessProbe", ready);
        return made;
}

json_t *member_pod(const MemberHome *home, const RuntimeAttempt *attempt, const TaskStart *task)
{
        g_autofree char *name = member_pod_name(task->task);
        g_autofree char *service = member_service_name(attempt->job->id, attempt->job->attempt);
        g_auto(GStrv) parts = g_strsplit(task->task, ".", 4);
        json_t *pod = podspec_object(&kube_pods, home->namespace, name, NULL);
        json_t *tolerations = tolerations_of(&task->limits);
        gint64 grace_s = (task->grace_ms + PROBE_MS_PER_S - 1) / PROBE_MS_PER_S;

        member_put_labels(pod, home, attempt->job->id, attempt->job->attempt);
        podspec_label(pod, "paddle-role", parts[2]);
        podspec_label(pod, "paddle-index", parts[3]);
        json_object_set_new(pod, "spec",
                            json_pack("{s:s, s:s, s:s, s:b, s:b, s:I, s:[o]}", "restartPolicy", "Never",
                                      "hostname", name, "subdomain", service, "automountServiceAccountToken",
                                      0, "enableServiceLinks", 0, "terminationGracePeriodSeconds",
                                      (json_int_t)grace_s, "containers", container(home, attempt, task)));
        if (tolerations)
                json_object_set_new(kube_get(pod, "spec"), "tolerations", tolerations);
        return pod;
}

/* ---- a pod as a member ---- */

static bool take_number(const json_t *pod, const char *label, int *ret)
{
        const char *text = kube_label(pod, label);
        gint64 number;

        if (!text || !number_parse(label, text, 0, G_MAXINT, &number, NULL))
                return false;
        *ret = (int)number;
        return true;
}

/* Ours, a StatefulSet's, a Job's, those of Kubeflow's and Spark's; and from where they count. */
static const struct {
        const char *label;
        int first;
} numbers[] = {
        { "paddle-index", 0 },
        { "apps.kubernetes.io/pod-index", 0 },
        { "batch.kubernetes.io/job-completion-index", 0 },
        { "training.kubeflow.org/replica-index", 0 },
        { "spark-exec-id", 1 },
};

/* Older servers have no label for a StatefulSet's, and PaddleJobs none at all: the names of their pods end in
 * it. */
static bool take_last_word(const json_t *pod, int *ret)
{
        const char *name = strrchr(kube_name(pod), '-');
        const char *owner = kube_get_text(kube_controller(pod), "kind");
        static const char *const numbering[] = { "StatefulSet", "PaddleJob", NULL };
        gint64 number;

        if (!owner || !g_strv_contains(numbering, owner) || !name ||
            !number_parse("index", name + 1, 0, G_MAXINT, &number, NULL))
                return false;
        *ret = (int)number;
        return true;
}

/* Spark recreates executors with higher numbers; these are no members. */
static bool is_among(const json_t *pod, int index)
{
        int members;

        return index >= 0 && (!take_number(pod, MEMBER_COUNT_LABEL, &members) || index < members);
}

static bool take_index(const json_t *pod, int *ret)
{
        int first = 0;

        if (take_number(pod, numbers[0].label, ret))
                return true;
        (void)take_number(pod, MEMBER_FIRST_LABEL, &first);
        for (gsize i = 1; i < G_N_ELEMENTS(numbers); i++) {
                if (!take_number(pod, numbers[i].label, ret))
                        continue;
                *ret -= numbers[i].first;
                if (!is_among(pod, *ret))
                        return false;
                *ret += first;
                return true;
        }
        return take_last_word(pod, ret);
}

static bool take_name(const json_t *pod, MemberLook *ret)
{
        const char *id = kube_label(pod, "paddle-job-id"), *role = kube_label(pod, "paddle-role");

        if (!id || !role || strlen(id) >= sizeof ret->job_id || strlen(role) >= sizeof ret->role ||
            !take_number(pod, "paddle-attempt", &ret->attempt) || !take_index(pod, &ret->index))
                return false;
        g_strlcpy(ret->job_id, id, sizeof ret->job_id);
        g_strlcpy(ret->role, role, sizeof ret->role);
        return g_snprintf(ret->task, sizeof ret->task, "%s.%d.%s.%d", id, ret->attempt, role, ret->index) <
               (int)sizeof ret->task;
}

static const json_t *status_of(const json_t *pod, const char *list_name, const char *name)
{
        const json_t *list = kube_get(pod, list_name), *status;
        gsize i;

        json_array_foreach(list, i, status)
                if (g_strcmp0(kube_get_text(status, "name"), name) == 0)
                        return status;
        return NULL;
}

static const json_t *condition(const json_t *object, const char *type)
{
        const json_t *list = kube_get(object, "status.conditions"), *one;
        gsize i;

        json_array_foreach(list, i, one)
                if (g_strcmp0(kube_get_text(one, "type"), type) == 0)
                        return one;
        return NULL;
}

/* "ImagePullBackOff: Back-off pulling image ..."; the caller's, or NULL. */
static char *say(const json_t *state)
{
        const char *reason = kube_get_text(state, "reason"), *message = kube_get_text(state, "message");

        if (reason && message && *message)
                return g_strdup_printf("%s: %s", reason, message);
        return g_strdup(reason ? reason : message);
}

/* The reason with the name of its object; the caller's. */
static char *say_of(const char *what, const json_t *state)
{
        g_autofree char *said = say(state);

        return g_strdup_printf("%s: %s", what, said ? said : "no reason was given");
}

static void end_with(MemberLook *look, ObservationKind kind, char *text)
{
        look->ended = true;
        look->end = kind;
        g_free(look->text);
        look->text = text;
}

/* Why a container waits, if it waits in vain. A pull that failed once may succeed the next time; after that
 * the reason becomes ImagePullBackOff. */
static const struct {
        const char *reason;
        bool permanent;
} vain[] = {
        { "ImagePullBackOff", false },     { "ErrImageNeverPull", true },
        { "InvalidImageName", true },      { "CreateContainerConfigError", true },
        { "CreateContainerError", false }, { "RunContainerError", false },
};

bool member_waits_in_vain(const char *reason, bool *ret_permanent)
{
        for (gsize i = 0; i < G_N_ELEMENTS(vain); i++) {
                if (strcmp(vain[i].reason, reason) != 0)
                        continue;
                if (ret_permanent)
                        *ret_permanent = vain[i].permanent;
                return true;
        }
        return false;
}

/* 'configmap "j-ID-1" not found' for a pod "j-ID-1-...": an operator makes the ConfigMap of its job after the pods, since it
 * holds their addresses. */
static bool awaits_operator(const json_t *pod, const char *message)
{
        static const char begin[] = "configmap \"";
        const char *name = kube_name(pod), *wanted, *end;

        if (!g_str_has_prefix(message, begin))
                return false;
        wanted = message + strlen(begin);
        end = strchr(wanted, '"');
        return end && strcmp(end, "\" not found") == 0 && strncmp(name, wanted, (gsize)(end - wanted)) == 0 &&
               name[end - wanted] == '-';
}

/* The kubelet tries again, and finds the object then. Or it has not read an existing Secret or ConfigMap yet ("failed to sync
 * secret cache: timed out waiting for the condition"). */
static bool is_late(const json_t *pod, const json_t *waiting)
{
        const char *message = kube_get_text(waiting, "message");

        return message && (awaits_operator(pod, message) ||
                           (g_str_has_prefix(message, "failed to sync ") && strstr(message, " cache: ")));
}

static void look_waiting(const json_t *pod, const json_t *waiting, MemberLook *look)
{
        const char *reason = kube_get_text(waiting, "reason");

        g_free(look->text);
        look->text = say(waiting);
        if (reason && !is_late(pod, waiting) && member_waits_in_vain(reason, &look->permanent))
                end_with(look, OBSERVED_START_FAILED, g_steal_pointer(&look->text));
}

/* By the kubelet's words, or the gate's (src/gate). */
static bool could_not_start(const json_t *state)
{
        const char *reason = kube_get_text(state, "reason"), *message = kube_get_text(state, "message");

        return g_strcmp0(reason, "StartError") == 0 || g_strcmp0(reason, "ContainerCannotRun") == 0 ||
               (message && g_str_has_prefix(message, "paddle-gate: "));
}

/* The node or the kubelet was restarted: the exit status is not known. */
static bool is_unknown(const json_t *state)
{
        return g_strcmp0(kube_get_text(state, "reason"), "ContainerStatusUnknown") == 0;
}

static void look_terminated(const json_t *state, MemberLook *look)
{
        look->started_at = kube_time(kube_get_text(state, "startedAt"));
        look->ended_at = kube_time(kube_get_text(state, "finishedAt"));
        if (could_not_start(state)) {
                look->permanent = true;
                end_with(look, OBSERVED_START_FAILED, say(state));
                return;
        }
        look->started = true;
        if (is_unknown(state)) {
                end_with(look, OBSERVED_LOST, say(state));
                return;
        }
        look->exit_code = (int)kube_get_int(state, "exitCode", -1);
        look->report = kube_get_text(state, "message");
        look->signal = (int)kube_get_int(state, "signal", 0);
        look->oom = g_strcmp0(kube_get_text(state, "reason"), "OOMKilled") == 0;
        if (look->oom)
                look->signal = SIGKILL;
        if (look->signal)
                look->exit_code = -1;
        end_with(look, OBSERVED_EXITED, NULL);
}

static bool is_taken(const json_t *pod)
{
        return g_strcmp0(kube_get_text(condition(pod, "DisruptionTarget"), "status"), "True") == 0;
}

/* The cluster took it away: the node ran out of something, was drained, or is gone. */
static bool was_taken(const json_t *pod)
{
        static const char *const reasons[] = { "Evicted",
                                               "NodeLost",
                                               "NodeShutdown",
                                               "Terminated",
                                               "Shutdown",
                                               "Preempting",
                                               "NodeAffinity",
                                               "UnexpectedAdmissionError",
                                               "OutOfcpu",
                                               "OutOfmemory",
                                               NULL };
        const char *reason = kube_get_text(pod, "status.reason");

        return (reason && g_strv_contains(reasons, reason)) || is_taken(pod);
}

/* Who reports it, and how: the scheduler of Kubernetes by a condition, Volcano's by another, others by an
 * annotation (doc/reference/scheduling.md, "Labels and annotations" and "Handing a job to Volcano"). For
 * whom; the caller's, or NULL. */
static char *who_preempts(const json_t *pod)
{
        static const struct {
                const char *condition, *status, *reason;
        } rows[] = { { "DisruptionTarget", "True", "PreemptionByScheduler" }, { "Ready", "False", "Evict" } };
        const char *message = kube_annotation(pod, MEMBER_MESSAGE_ANNOTATION);

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                const json_t *found = condition(pod, rows[i].condition);

                if (g_strcmp0(kube_get_text(found, "status"), rows[i].status) == 0 &&
                    g_strcmp0(kube_get_text(found, "reason"), rows[i].reason) == 0)
                        return say(found);
        }
        if (g_strcmp0(kube_annotation(pod, MEMBER_STATUS_ANNOTATION), MEMBER_PREEMPTING) != 0)
                return NULL;
        return g_strdup(message ? message
                                : "its annotation " MEMBER_STATUS_ANNOTATION " is " MEMBER_PREEMPTING);
}

static void look_failed(const json_t *pod, MemberLook *look)
{
        const char *phase = kube_get_text(pod, "status.phase");
        const json_t *target = condition(pod, "DisruptionTarget");

        if (g_strcmp0(phase, "Failed") != 0 && g_strcmp0(phase, "Succeeded") != 0)
                return;
        if (was_taken(pod))
                end_with(look, OBSERVED_LOST, say(target ? target : kube_get(pod, "status")));
        else if (!look->ended)
                end_with(look, OBSERVED_LOST, say(kube_get(pod, "status")));
}

static void look_scheduled(const json_t *pod, MemberLook *look)
{
        const json_t *scheduled = condition(pod, "PodScheduled");

        const char *message = kube_get_text(scheduled, "message");

        if (g_strcmp0(kube_get_text(scheduled, "status"), "False") != 0)
                return;
        look->text = g_strcmp0(kube_get_text(scheduled, "reason"), "Unschedulable") == 0 && message
                             ? unscheduled_say(message, kube_get(pod, "spec"))
                             : say(scheduled);
}

/* The init containers (gate.h, package.h), and how their failures are told. */
static const struct {
        const char *container, *what; /* what NULL: its own words say it */
} before[] = {
        { MEMBER_PACKAGE_CONTAINER, "unpacking its package" },
        { MEMBER_REQUIREMENTS_CONTAINER, NULL },
        { GATE_CONTAINER, "the gate before its program" },
};

/* How a container ended the first time; NULL: it did not, or well. */
static const json_t *failure_of(const json_t *status)
{
        const json_t *now = kube_get(status, "state.terminated"),
                     *earlier = kube_get(status, "lastState.terminated"), *end = now ? now : earlier;

        return kube_get_int(end, "exitCode", 0) != 0 ? end : NULL;
}

static char *failure_format(const char *what, const json_t *failure)
{
        const char *message = kube_get_text(failure, "message");

        if (!what && message && *message && !could_not_start(failure))
                return g_strstrip(g_strdup(message));
        return say_of(what ? what : "looking at the Python packages of its image", failure);
}

/* Init containers are only told if they wait or fail. */
static void look_before(const json_t *pod, MemberLook *look)
{
        for (gsize i = 0; i < G_N_ELEMENTS(before) && !look->ended; i++) {
                const json_t *status = status_of(pod, "status.initContainerStatuses", before[i].container);
                const json_t *failure = failure_of(status);

                if (failure && !kube_is_deleting(pod)) {
                        look->permanent = true;
                        end_with(look, OBSERVED_START_FAILED, failure_format(before[i].what, failure));
                }
        }
}

/* Templates of users bring init containers of their own: they, too, may wait in vain. */
static void look_at_inits(const json_t *pod, MemberLook *look)
{
        const json_t *list = kube_get(pod, "status.initContainerStatuses"), *status;
        gsize i;

        json_array_foreach(list, i, status) {
                const json_t *waiting = kube_get(status, "state.waiting");
                const char *reason = kube_get_text(waiting, "reason");

                if (waiting && g_strcmp0(reason, "PodInitializing") != 0 && !look->ended)
                        look_waiting(pod, waiting, look);
                if (g_strcmp0(kube_get_text(status, "name"), GATE_CONTAINER) == 0 &&
                    kube_get(status, "state.running")) {
                        g_free(look->text);
                        look->text = g_strdup("waits until the members that it needs listen on their ports");
                }
        }
        look_before(pod, look);
}

const char *member_container(const json_t *pod)
{
        const char *said = kube_label(pod, MEMBER_CONTAINER_LABEL);

        return said ? said : MEMBER_CONTAINER;
}

/* The time stamp is when its grace is over. */
static gint64 deletion_time(const json_t *pod)
{
        gint64 grace_s = kube_get_int(pod, "metadata.deletionGracePeriodSeconds", 0);
        gint64 end = kube_time(kube_get_text(pod, "metadata.deletionTimestamp"));

        return end ? end - CLAMP(grace_s, 0, G_MAXINT32) * 1000 : 0;
}

bool member_look(const json_t *pod, MemberLook *ret)
{
        const json_t *status = status_of(pod, "status.containerStatuses", member_container(pod)),
                     *running = kube_get(status, "state.running"),
                     *waiting = kube_get(status, "state.waiting"),
                     *terminated = kube_get(status, "state.terminated"),
                     *first = kube_get(status, "lastState.terminated");

        *ret = (MemberLook){ .exit_code = -1 };
        if (!take_name(pod, ret))
                return false;
        look_scheduled(pod, ret);
        ret->node = kube_get_text(pod, "spec.nodeName");
        ret->container = member_container(pod);
        ret->passing = form_is_passing(form_kind_of(pod), ret->role);
        ret->deleting = kube_is_deleting(pod);
        ret->deleted_at = deletion_time(pod);
        if (is_taken(pod))
                ret->taken = say(condition(pod, "DisruptionTarget"));
        ret->preempted = who_preempts(pod);
        if (first && kube_get_int(status, "restartCount", 0) > 0) {
                ret->again = true;
                terminated = first;
        }
        if (terminated) {
                look_terminated(terminated, ret);
        } else if (running) {
                ret->started = true;
                ret->started_at = kube_time(kube_get_text(running, "startedAt"));
                ret->ready = json_is_true(json_object_get(status, "ready"));
        } else if (waiting) {
                look_waiting(pod, waiting, ret);
        }
        if (!ret->started)
                look_at_inits(pod, ret);
        look_failed(pod, ret);
        return true;
}

void member_index_by_object(const json_t *pod, GPtrArray *ret_names)
{
        const KubeKind *kind = form_kind_of(pod);
        g_auto(MemberLook) look = { 0 };

        if (kind && take_name(pod, &look))
                g_ptr_array_add(ret_names, form_object_name(kind, look.task));
}

void member_index_by_attempt(const json_t *pod, GPtrArray *ret_names)
{
        g_auto(MemberLook) look = { 0 };

        if (take_name(pod, &look))
                g_ptr_array_add(ret_names, member_service_name(look.job_id, look.attempt));
}

static bool is_being_made(const json_t *pod, const char *list_name)
{
        static const char *const reasons[] = { "ContainerCreating", "PodInitializing", NULL };
        const json_t *list = kube_get(pod, list_name), *status;
        gsize i;

        json_array_foreach(list, i, status) {
                const char *reason = kube_get_text(status, "state.waiting.reason");

                if (kube_get(status, "state.running") || (reason && g_strv_contains(reasons, reason)))
                        return true;
        }
        return false;
}

gint64 member_stuck_since(const json_t *pod)
{
        if (g_strcmp0(kube_get_text(pod, "status.phase"), "Pending") != 0 || kube_is_deleting(pod) ||
            is_being_made(pod, "status.initContainerStatuses") ||
            is_being_made(pod, "status.containerStatuses"))
                return 0;
        return kube_time(kube_get_text(pod, "metadata.creationTimestamp"));
}

void member_look_clear(MemberLook *look)
{
        g_clear_pointer(&look->text, g_free);
        g_clear_pointer(&look->taken, g_free);
        g_clear_pointer(&look->preempted, g_free);
}

/* ---- what a cache keeps of a pod ---- */

static json_t *keep(const json_t *from, const char *const *names)
{
        json_t *kept = json_object();

        for (; *names; names++) {
                json_t *value = json_object_get(from, *names);

                if (value)
                        json_object_set(kept, *names, value);
        }
        return kept;
}

static json_t *keep_of_each(const json_t *list, const char *const *names)
{
        json_t *kept = json_array();
        const json_t *one;
        gsize i;

        json_array_foreach(list, i, one)
                json_array_append_new(kept, keep(one, names));
        return kept;
}

static json_t *trim_meta(const json_t *meta)
{
        static const char *const kept[] = { "name",
                                            "namespace",
                                            "uid",
                                            "labels",
                                            "resourceVersion",
                                            "deletionTimestamp",
                                            "deletionGracePeriodSeconds",
                                            "creationTimestamp",
                                            NULL };
        static const char *const annotations[] = { MEMBER_STATUS_ANNOTATION, MEMBER_MESSAGE_ANNOTATION,
                                                   NULL };
        static const char *const owner[] = { "kind", "name", "uid", "controller", NULL };
        json_t *trimmed = keep(meta, kept), *owners = json_object_get(meta, "ownerReferences");

        if (owners)
                json_object_set_new(trimmed, "ownerReferences", keep_of_each(owners, owner));
        if (json_object_get(meta, "annotations"))
                json_object_set_new(trimmed, "annotations",
                                    keep(json_object_get(meta, "annotations"), annotations));
        return trimmed;
}

/* Its node; without one, its requests. */
static json_t *trim_spec(const json_t *spec)
{
        static const char *const requests[] = { "requests", NULL };
        json_t *node = json_object_get(spec, "nodeName"), *trimmed = json_object(), *containers, *one;
        gsize i;

        if (node) {
                json_object_set(trimmed, "nodeName", node);
                return trimmed;
        }
        containers = json_array();
        json_array_foreach(json_object_get(spec, "containers"), i, one) {
                json_t *resources = keep(json_object_get(one, "resources"), requests);

                json_array_append_new(containers, json_pack("{s:o}", "resources", resources));
        }
        json_object_set_new(trimmed, "containers", containers);
        return trimmed;
}

static json_t *trim_containers(const json_t *list)
{
        static const char *const kept[] = { "name", "ready", "restartCount", "state", "lastState", NULL };

        return keep_of_each(list, kept);
}

static json_t *trim_conditions(const json_t *list)
{
        static const char *const kept[] = { "type", "status", "reason", "message", NULL };
        static const char *const looked_at[] = { "PodScheduled", "DisruptionTarget", "Ready", NULL };
        json_t *trimmed = json_array();
        const json_t *one;
        gsize i;

        json_array_foreach(list, i, one) {
                const char *type = kube_get_text(one, "type");

                if (type && g_strv_contains(looked_at, type))
                        json_array_append_new(trimmed, keep(one, kept));
        }
        return trimmed;
}

static json_t *trim_status(const json_t *status)
{
        static const char *const kept[] = { "phase", "reason", "message", NULL };
        json_t *trimmed = keep(status, kept);

        json_object_set_new(trimmed, "conditions", trim_conditions(json_object_get(status, "conditions")));
        json_object_set_new(trimmed, "containerStatuses",
                            trim_containers(json_object_get(status, "containerStatuses")));
        json_object_set_new(trimmed, "initContainerStatuses",
                            trim_containers(json_object_get(status, "initContainerStatuses")));
        return trimmed;
}

void member_trim(json_t *pod)
{
        json_t *meta = trim_meta(json_object_get(pod, "metadata")),
               *spec = trim_spec(json_object_get(pod, "spec")),
               *status = trim_status(json_object_get(pod, "status"));

        json_object_clear(pod);
        json_object_set_new(pod, "metadata", meta);
        json_object_set_new(pod, "spec", spec);
        json_object_set_new(pod, "status", status);
}
