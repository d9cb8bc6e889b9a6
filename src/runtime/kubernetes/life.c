/* The API server's replies about pods of members: pods are created one by one or by an owner, refused,
 * searched for. */
#include "runtime/kubernetes/internal.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "runtime/kubernetes/pod/gate.h"

/* ---- starting ---- */

static bool is_lasting(const GError *error)
{
        return err_is(error, ERR_INVALID) || err_is(error, ERR_DENIED) || err_is(error, ERR_NOT_FOUND);
}

void task_refuse(Task *task, const GError *error)
{
        Observation *end = observation_new(OBSERVED_START_FAILED, task->task, error->message);

        end->permanent = is_lasting(error);
        (void)task_step(task, ON_FAILED, NULL, end);
}

/* If the record is of an earlier pod of that name, it goes on. */
void task_never_starts(Task *task, Observation *end)
{
        if (task->status.stage >= STAGE_ENDED)
                task->k8s->observe(end, task->k8s->observe_arg);
        else
                (void)task_step(task, ON_FAILED, NULL, end);
}

/* A pod that was created tells the rest by the cache. */
static void on_pod_made(const GError *error, void *arg)
{
        if (error)
                task_refuse(arg, error);
}

static void on_pod_waits(const GError *error, void *arg)
{
        if (task_step(arg, ON_PUT_OFF, NULL, NULL) & DO_TELL_WAITS)
                task_tell_why_not(arg, error);
}

static void on_set_waits(const char *name, const GError *error, void *arg)
{
        Task *task = g_hash_table_lookup(((Kubernetes *)arg)->tasks, name);

        if (task && task_lacks_pod(task))
                task_tell_why_not(task, error);
}

static void on_set_failed(const char *name, const GError *error, void *arg)
{
        Task *task = g_hash_table_lookup(((Kubernetes *)arg)->tasks, name);

        if (task && !task_pod(task))
                task_refuse(task, error);
}

static bool lacks_pod(const char *name, void *arg)
{
        const Kubernetes *k8s = arg;
        const Task *task = g_hash_table_lookup(k8s->tasks, name);

        return task && task_lacks_pod(task);
}

static void on_overdue(const char *name, const char *why, void *arg)
{
        if (lacks_pod(name, arg))
                task_tell_waits(g_hash_table_lookup(((Kubernetes *)arg)->tasks, name), why);
}

static void on_never(const char *name, const char *why, bool lost, void *arg)
{
        Observation *end;

        if (!lacks_pod(name, arg))
                return;
        end = observation_new(lost ? OBSERVED_LOST : OBSERVED_START_FAILED, name, why);
        end->permanent = !lost;
        (void)task_step(g_hash_table_lookup(((Kubernetes *)arg)->tasks, name), ON_FAILED, NULL, end);
}

/* Pods of an object that existed before may have ended for good while no server ran. */
static void on_set_made(const Form *form, const char *namespace, const GPtrArray *tasks, bool stood,
                        void *arg)
{
        Kubernetes *k8s = arg;

        if (stood || form_operator(form))
                overdue_watch(k8s->overdue, form, namespace, tasks);
        for (guint i = 0; i < tasks->len; i++) {
                Task *task = g_hash_table_lookup(k8s->tasks, tasks->pdata[i]);

                if (task && task->status.stage > STAGE_DRAINING)
                        (void)task_step(task, ON_OWNER_CREATED, NULL, NULL);
        }
}

/* True if this is the object that creates the member's pod. */
static bool is_of_set(const Task *task, const KubeKind *kind, const char *namespace, const char *name)
{
        g_autofree char *own = task->namespace ? form_object_name(kind, task->task) : NULL;

        return own && strcmp(own, name) == 0 && strcmp(task->namespace, namespace) == 0;
}

/* The owner cannot create the member's pod; `words` say why. */
static void tell_refused(Task *task, const char *words)
{
        g_autoptr(GError) error = NULL;

        if (!task_lacks_pod(task) || task->status.removal == REMOVAL_OWNER)
                return;
        if (!refusal_lasts(words)) {
                task_tell_waits(task, words);
                return;
        }
        err_set(&error, ERR_DENIED, "%s", words);
        task_refuse(task, error);
}

static void on_gate_made(const KubeReply *reply, void *arg)
{
        if (reply->error && !err_is(reply->error, ERR_EXISTS))
                log_warning("a third party deleted the gate's ConfigMap, and it cannot be created again",
                            "cluster", arg, "reason", reply->error->message, NULL);
}

/* A third party deleted the ConfigMap. The kubelet asks for it again and again. */
static void make_gate_again(Kubernetes *k8s, const char *namespace)
{
        g_autoptr(json_t) gate = gate_config_map(namespace);

        kube_send(k8s->client,
                  &(KubeRequest){ .verb = KUBE_CREATE,
                                  .kind = &kube_config_maps,
                                  .namespace = namespace,
                                  .body = gate },
                  on_gate_made, k8s->name);
}

/* The pod has a node, but its containers cannot be created; `words` say why. */
static void tell_held(Task *task, const char *words)
{
        g_autofree char *gate = gate_config_map_name();

        if (task->status.stage > STAGE_PENDING)
                return;
        task_tell_waits(task, words);
        if (refusal_misses(words, gate))
                make_gate_again(task->k8s, task->namespace);
}

static bool is_pod(const Task *task, const char *namespace, const char *name)
{
        return task_pod(task) && strcmp(task->pod, name) == 0 && strcmp(task->namespace, namespace) == 0;
}

static void on_refusal(const KubeKind *kind, const char *namespace, const char *name, void *arg)
{
        Kubernetes *k8s = arg;
        const char *words = refusals_why(k8s->refusals, kind, namespace, name);
        g_autoptr(GList) tasks = g_hash_table_get_values(k8s->tasks);

        for (GList *at = k8s->connected ? tasks : NULL; at; at = at->next) {
                if (kind == &kube_pods && is_pod(at->data, namespace, name))
                        tell_held(at->data, words);
                else if (kind != &kube_pods && is_of_set(at->data, kind, namespace, name))
                        tell_refused(at->data, words);
        }
}

void task_make_pod(Task *task, json_t *objects /* taken */)
{
        Kubernetes *k8s = task->k8s;
        MakingConfig config = { .client = k8s->client,
                                .context = k8s->context,
                                .room = k8s->makings,
                                .gates = k8s->gates,
                                .done = on_pod_made,
                                .waits = on_pod_waits,
                                .arg = task };

        task->making = making_new(&config, objects);
}

/* ---- stopping ---- */

static bool pod_is_over(const json_t *pod)
{
        const char *phase = kube_get_text(pod, "status.phase");

        return g_strcmp0(phase, "Succeeded") == 0 || g_strcmp0(phase, "Failed") == 0;
}

/* The kubelet reports the end of the containers first, and the end of the pod about a second later. */
bool pod_has_ended(const json_t *pod)
{
        const KubeKind *kind = pod ? form_kind_of(pod) : NULL;
        const json_t *list = kube_get(pod, "status.containerStatuses"), *one;
        gsize i;

        if (pod_is_over(pod))
                return true;
        json_array_foreach(list, i, one) {
                if (!kube_get(one, "state.terminated"))
                        return false;
        }
        return json_array_size(list) > 0 && !(kind && form_kind_restarts(kind));
}

void task_dropped(const char *name, void *arg)
{
        Kubernetes *k8s = arg;
        Task *task = g_hash_table_lookup(k8s->tasks, name);
        const json_t *pod = task ? task_pod(task) : NULL;

        if (!task)
                return;
        (void)task_step(task, ON_OWNER_GONE, NULL, NULL);
        if (pod && k8s->connected) /* its node may be dead */
                pods_look_at(k8s, pod);
}

/* ---- the namespace of a member without a pod ---- */

typedef struct {
        Kubernetes *k8s;
        char *task;
        int pending; /* number of replies that are expected. If the client ends, none comes */
} Search;

void life_search_free(void *data)
{
        Search *search = data;

        if (!search)
                return;
        g_free(search->task);
        g_free(search);
}

static void end_search(Search *search)
{
        Task *task = g_hash_table_lookup(search->k8s->tasks, search->task);

        if (task)
                (void)task_step(task, ON_SEARCHED, NULL, NULL);
        g_hash_table_remove(search->k8s->searches, search);
}

static void on_searched(const KubeReply *reply, void *arg)
{
        Search *search = arg;
        Task *task = g_hash_table_lookup(search->k8s->tasks, search->task);
        const json_t *service = kube_get(reply->object, "items[0]");

        if (task && service && !task->namespace)
                task->namespace = g_strdup(kube_namespace(service));
        if (--search->pending == 0)
                end_search(search);
}

/* By its attempt's service, which is created first and deleted last. */
void life_search_for(Task *task)
{
        Kubernetes *k8s = task->k8s;
        g_auto(GStrv) parts = g_strsplit(task->task, ".", 3);
        g_autofree char *field = g_strdup_printf("metadata.name=j-%s-%s", parts[0], parts[1]);
        Search *search = g_new0(Search, 1);
        KubeRequest request = { .verb = KUBE_LIST,
                                .kind = &kube_services,
                                .label_selector = k8s->selector,
                                .field_selector = field };
        char *everywhere[] = { NULL };
        char **at = scope_is_wide(k8s->pods) ? everywhere : k8s->namespaces;

        *search = (Search){ .k8s = k8s, .task = g_strdup(task->task) };
        g_hash_table_add(k8s->searches, search);
        do {
                request.namespace = *at;
                search->pending++;
                kube_send(k8s->client, &request, on_searched, search);
        } while (*at && *++at);
}

/* ---- pods that were never seen ---- */

static void on_asked_for(const KubeReply *reply, void *arg)
{
        Task *task = arg;

        task->question = NULL;
        if (err_is(reply->error, ERR_NOT_FOUND))
                (void)task_step(task, ON_ABSENT, NULL, NULL);
}

static void ask_for_pod(Task *task)
{
        KubeRequest request = {
                .verb = KUBE_GET, .kind = &kube_pods, .namespace = task->namespace, .name = task->pod
        };

        if (!task->question)
                task->question = kube_send(task->k8s->client, &request, on_asked_for, task);
}

static void ask_for_set(const Task *task)
{
        g_autoptr(GPtrArray) tasks = g_ptr_array_new();

        g_ptr_array_add(tasks, task->task);
        overdue_watch(task->k8s->overdue, task->form, task->namespace, tasks);
}

void task_look_for_unseen(Task *task)
{
        if (!member_may_be_unseen(&task->status) || task_pod(task))
                return;
        if (task->making && making_is_done(task->making))
                ask_for_pod(task);
        else if (task->form && task->namespace && !task->making && !sets_has(task->k8s->sets, task->task))
                ask_for_set(task);
}

/* ---- what tells of it ---- */

void life_open(Kubernetes *k8s)
{
        k8s->sets = sets_new(&(SetsConfig){ .client = k8s->client,
                                            .context = k8s->context,
                                            .room = k8s->makings,
                                            .gates = k8s->gates,
                                            .made = on_set_made,
                                            .failed = on_set_failed,
                                            .waits = on_set_waits,
                                            .dropped = task_dropped,
                                            .arg = k8s });
        k8s->overdue = overdue_new(&(OverdueConfig){ .client = k8s->client,
                                                     .context = k8s->context,
                                                     .lacks = lacks_pod,
                                                     .waits = on_overdue,
                                                     .failed = on_never,
                                                     .arg = k8s });
        k8s->refusals = refusals_new(&(RefusalsConfig){ .client = k8s->client,
                                                        .context = k8s->context,
                                                        .namespaces = (const char *const *)k8s->namespaces,
                                                        .cluster = k8s->name,
                                                        .told = on_refusal,
                                                        .arg = k8s });
}
