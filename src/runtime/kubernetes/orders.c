/* Orders of the engine, carried out on the runtime's thread; and the pods that are kept of ended attempts. */
#include "runtime/kubernetes/internal.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "runtime/kubernetes/object/names.h"
#include "runtime/kubernetes/pod/pod-secrets.h"
#include "runtime/kubernetes/pod/volcano-objects.h"

enum {
        KEPT_MAX_MS = 60000, /* longest time between two looks at kept pods: the clock may be set */
};

/* ---- starts that wait ---- */

/* A start waits until what is left of a member's earlier pod is deleted. The order waits at that member
 * (Task.again). The start of a set waits at one of its members, but it is the start of all, so k8s->later finds
 * it by each of them. */
static void end_wait(Order *order)
{
        for (char **name = order->at ? order->tasks : NULL; name && *name; name++)
                if (g_hash_table_lookup(order->k8s->later, *name) == order)
                        g_hash_table_remove(order->k8s->later, *name);
        order->at = NULL;
}

Order *orders_take_start(Task *task)
{
        Order *start = g_steal_pointer(&task->again);

        if (start)
                end_wait(start);
        return start;
}

void orders_start_later(Task *task, Order *order)
{
        Order *start = g_memdup2(order, sizeof *order);

        *order = (Order){ .k8s = order->k8s };
        order_free(orders_take_start(task));
        start->at = task;
        task->again = start;
        for (char **name = start->tasks; *name; name++)
                g_hash_table_replace(start->k8s->later, *name, start);
}

void orders_cancel_start(Task *task)
{
        Kubernetes *k8s = task->k8s;
        Observation *end = observation_new(OBSERVED_EXITED, task->task, NULL);

        g_ptr_array_add(k8s->cancelled, orders_take_start(task));
        end->signal = SIGTERM;
        k8s->observe(end, k8s->observe_arg);
}

/* True if it was started otherwise: it has a pod, or its pod is being created. */
static bool is_started(const Task *task)
{
        return member_is_expected(&task->status) &&
               (task_pod(task) || task->making || sets_has(task->k8s->sets, task->task));
}

/* A member of a set was stopped before the set was created, so that the others do not start, either. */
static void tell_not_started(const Order *start, const Names *stopped)
{
        for (char **name = start->tasks; *name; name++) {
                Task *task = names_has(stopped, *name) ? NULL : task_get(start->k8s, *name);

                if (task && !is_started(task))
                        task_never_starts(task, observation_new(OBSERVED_START_FAILED, *name,
                                                                "it was not started: another member that "
                                                                "starts together with it was stopped first"));
        }
}

/* Gives up the starts that wait for a task which was stopped, and those that were cancelled by that. */
static void give_up_starts(Kubernetes *k8s, char **tasks)
{
        Names stopped;

        names_init(&stopped);
        for (char **name = tasks; *name; name++) {
                const Order *start = g_hash_table_lookup(k8s->later, *name);

                if (start)
                        g_ptr_array_add(k8s->cancelled, orders_take_start(start->at));
                names_add(&stopped, *name);
        }
        for (guint i = 0; i < k8s->cancelled->len; i++)
                tell_not_started(k8s->cancelled->pdata[i], &stopped);
        g_ptr_array_set_size(k8s->cancelled, 0);
        names_clear(&stopped);
}

/* ---- orders of the engine ---- */

void order_free(gpointer data)
{
        Order *order = data;

        if (!order)
                return;
        end_wait(order);
        g_free(order->name);
        g_free(order->namespace);
        g_free(order->job_id);
        runtime_ask_free(order->ask);
        g_strfreev(order->tasks);
        g_free(order->objects);
        json_decref(order->group);
        json_decref(order->queues);
        g_free(order->image);
        g_free(order->package);
        g_free(order->package_name);
        g_free(order->user);
        g_free(order->requirements);
        g_free(order->setup);
        g_free(order->text);
        g_free(order);
}

char **order_tasks(const char *const *first, gsize step, int n)
{
        char **tasks = g_new0(char *, n + 1);

        for (int i = 0; i < n; i++)
                tasks[i] = g_strdup(*(const char *const *)((const char *)first + (gsize)i * step));
        return tasks;
}

void order_run(Order *order /* taken */)
{
        order->run(order);
        order_free(order);
}

static gboolean on_order(gpointer data)
{
        Order *order = data;

        order->run(order);
        return G_SOURCE_REMOVE;
}

void order_give(Kubernetes *k8s, const Order *order)
{
        GSource *source = g_idle_source_new();
        Order *own = g_memdup2(order, sizeof *order);

        own->k8s = k8s;
        g_source_set_priority(source, G_PRIORITY_DEFAULT);
        g_source_set_callback(source, on_order, own, order_free);
        g_source_attach(source, k8s->context);
        g_source_unref(source);
}

typedef struct {
        const KubeKind *kind;
        int index;
} Place;

static bool has_place(const json_t *pod, const void *arg)
{
        const Place *place = arg;

        return form_kind_of(pod) == place->kind &&
               (form_kind_is_whole(place->kind) || place->index < form_members(pod));
}

/* True if the owner of other members' pods creates the pod of this one, too. */
static bool is_in_set(const Kubernetes *k8s, const char *task)
{
        g_auto(GStrv) parts = g_strsplit(task, ".", 4);
        Place place = { .index = (int)g_ascii_strtoll(parts[3], NULL, 10) };

        for (const KubeKind *const *kind = form_kinds; *kind; kind++) {
                g_autofree char *name = form_object_name(*kind, task);

                place.kind = *kind;
                if (scope_any(k8s->pods, PODS_BY_OBJECT, name, has_place, &place))
                        return true;
        }
        return false;
}

static void make_group(Kubernetes *k8s, Order *order)
{
        if (k8s->volcano && order->group)
                volcano_want_group(k8s->volcano, g_steal_pointer(&order->group));
}

/* Stores its namespace and form. False: the account cannot list pods there, which is told; the task may be
 * freed. */
static bool take_place(Task *task, const Order *order)
{
        g_autoptr(GError) error = NULL;

        task_place(task, order->namespace, order->job_id, order->number);
        task->form = order->form;
        if (scope_covers(task->k8s->pods, task->namespace))
                return true;
        err_set(&error, ERR_DENIED,
                "namespace '%s': the account of cluster '%s' may not list pods in all namespaces\n"
                "Let it, or name the namespace in the cluster's list of namespaces.",
                task->namespace, task->k8s->name);
        task_refuse(task, error);
        return false;
}

void order_start_pod(Order *order)
{
        Kubernetes *k8s = order->k8s;
        Task *task = task_get(k8s, order->tasks[0]);

        if (!task_start(task, order) || !take_place(task, order))
                return;
        if (is_in_set(k8s, task->task)) {
                /* the pod was not created yet, or was deleted while no server ran */
                task_look_for_unseen(task);
        } else {
                make_group(k8s, order);
                task_make_pod(task, making_tree(order->objects));
        }
}

/* A member that has to wait for the end of its earlier pod; NULL: none. The whole set waits for it. */
static Task *leaving_member(const Order *order)
{
        for (char **name = order->tasks; *name; name++) {
                Task *task = task_get(order->k8s, *name);

                if (task_starts_later(task))
                        return task;
        }
        return NULL;
}

/* The object may exist already, and its pods may be refused. */
static void tell_refusal(Task *task)
{
        const KubeKind *kind = form_kind(task->form);
        g_autofree char *name = form_object_name(kind, task->task);
        const char *why = refusals_why(task->k8s->refusals, kind, task->namespace, name);

        if (why && !task_pod(task))
                task_tell_waits(task, why);
}

void order_start_set(Order *order)
{
        Kubernetes *k8s = order->k8s;
        Task *leaving = leaving_member(order);
        bool refused = false, lacks_pods = false;

        if (leaving) {
                (void)task_start(leaving, order); /* which takes the order */
                return;
        }
        for (char **name = order->tasks; *name; name++) {
                Task *task = task_get(k8s, *name);

                if (!task_start(task, order))
                        continue;
                lacks_pods = true;
                if (take_place(task, order))
                        tell_refusal(task);
                else
                        refused = true;
        }
        if (refused)
                return;
        make_group(k8s, order);
        if (lacks_pods)
                sets_make(k8s->sets, &(SetsStart){ .form = order->form,
                                                   .tasks = (const char *const *)order->tasks,
                                                   .namespace = order->namespace,
                                                   .objects = making_tree(order->objects) });
}

static void run_stop(Order *order)
{
        for (char **name = order->tasks; *name; name++) {
                Task *task = task_get(order->k8s, *name);

                task->grace_s = (order->grace_ms + 999) / 1000;
                (void)task_step(task, order->grace_ms == 0 ? ON_KILL : ON_STOP, NULL, NULL);
        }
        give_up_starts(order->k8s, order->tasks);
}

void orders_keep(Task *task)
{
        g_auto(MemberLook) look = { 0 };
        g_autofree char *service =
                member_look(task_pod(task), &look) ? member_service_name(look.job_id, look.attempt) : NULL;

        kept_add(task->k8s->kept, service, task->namespace, task->task);
}

static void run_forget(Order *order)
{
        (void)task_step(task_get(order->k8s, order->name), ON_FORGET, NULL, NULL);
}

static void drop_group(Kubernetes *k8s, const char *namespace, const char *name)
{
        if (k8s->volcano)
                volcano_drop_group(k8s->volcano, namespace, name);
}

/* `name`: the name of its service and of its group. */
static void delete_attempt(Kubernetes *k8s, const char *namespace, const char *name)
{
        deletions_want(k8s->deletions, &kube_services, namespace, name, NULL, -1);
        drop_group(k8s, namespace, name);
}

/* ---- what is kept of attempts that are over ---- */

static void delete_kept(Kubernetes *k8s, const KeptAttempt *attempt)
{
        for (guint i = 0; i < attempt->tasks->len; i++) {
                Task *task = g_hash_table_lookup(k8s->tasks, attempt->tasks->pdata[i]);

                if (task)
                        (void)task_step(task, ON_EXPIRY, NULL, NULL);
        }
        delete_attempt(k8s, attempt->namespace, attempt->service);
        g_hash_table_remove(k8s->places, attempt->service);
}

static void on_kept_timer(void *arg);

static void delete_due(Kubernetes *k8s)
{
        gint64 now = clock_now_ms(), next;
        KeptAttempt *attempt;

        while ((attempt = kept_take(k8s->kept, now))) {
                delete_kept(k8s, attempt);
                kept_attempt_free(attempt);
        }
        next = kept_next(k8s->kept);
        if (next)
                timer_set(&k8s->kept_timer, k8s->context, CLAMP(next - now, 1, KEPT_MAX_MS), on_kept_timer,
                          k8s);
        else
                timer_clear(&k8s->kept_timer);
}

static void on_kept_timer(void *arg)
{
        delete_due(arg);
}

static bool is_known(const char *service, void *arg)
{
        const Kubernetes *k8s = arg;

        return !k8s->connected || g_hash_table_contains(k8s->places, service);
}

static bool is_wide(void *arg)
{
        return scope_is_wide(((Kubernetes *)arg)->pods);
}

static bool has_groups(void *arg)
{
        const Volcano *volcano = ((Kubernetes *)arg)->volcano;

        return volcano && volcano_is_served(volcano);
}

static void drop_unknown(const char *namespace, const char *service, void *arg)
{
        delete_attempt(arg, namespace, service);
}

void orders_open(Kubernetes *k8s)
{
        k8s->sweep = sweep_new(&(SweepConfig){ .client = k8s->client,
                                               .context = k8s->context,
                                               .selector = k8s->selector,
                                               .namespaces = (const char *const *)k8s->namespaces,
                                               .is_wide = is_wide,
                                               .has_groups = has_groups,
                                               .is_known = is_known,
                                               .drop = drop_unknown,
                                               .arg = k8s });
}

/* The namespace of the attempt is not known any more: its service is searched for. */
static void on_services(const KubeReply *reply, void *arg)
{
        Kubernetes *k8s = arg;
        const json_t *service;
        size_t i;

        if (reply->error)
                log_warning("the service of an attempt cannot be looked for", "cluster", k8s->name, "reason",
                            reply->error->message, NULL);
        json_array_foreach(json_object_get(reply->object, "items"), i, service)
                delete_attempt(k8s, kube_namespace(service), kube_name(service));
}

static void find_service(Kubernetes *k8s, const char *name)
{
        g_autofree char *field = g_strdup_printf("metadata.name=%s", name);
        KubeRequest request = { .verb = KUBE_LIST,
                                .kind = &kube_services,
                                .label_selector = k8s->selector,
                                .field_selector = field };

        if (scope_is_wide(k8s->pods)) {
                kube_send(k8s->client, &request, on_services, k8s);
                return;
        }
        for (char **at = k8s->namespaces; *at; at++) {
                request.namespace = *at;
                kube_send(k8s->client, &request, on_services, k8s);
        }
}

static bool has_secrets(const json_t *pod, const void *arg)
{
        return kube_label(pod, POD_SECRETS_LABEL) != NULL;
}

/* Kept pods have ended, so none of them needs the Secret. */
static void drop_secrets(Kubernetes *k8s, const char *namespace, const char *service)
{
        g_autofree char *name = pod_secrets_name(service);

        if (scope_any(k8s->pods, PODS_BY_ATTEMPT, service, has_secrets, NULL))
                deletions_want(k8s->deletions, &kube_secrets, namespace, name, NULL, -1);
}

static void run_clean(Order *order)
{
        Kubernetes *k8s = order->k8s;
        g_autofree char *service = member_service_name(order->name, order->number);
        const char *namespace = g_hash_table_lookup(k8s->places, service);

        if (kept_set(k8s->kept, service, order->expires)) {
                if (namespace) { /* no pod of it holds resources */
                        drop_group(k8s, namespace, service);
                        drop_secrets(k8s, namespace, service);
                }
                delete_due(k8s);
                return;
        }
        if (namespace)
                delete_attempt(k8s, namespace, service);
        else
                find_service(k8s, service);
        g_hash_table_remove(k8s->places, service);
}

void k8s_stop(Runtime *runtime, const char *const *tasks, int n, gint64 grace_ms)
{
        order_give((Kubernetes *)runtime, &(Order){ .run = run_stop,
                                                    .tasks = order_tasks(tasks, sizeof *tasks, n),
                                                    .grace_ms = grace_ms });
}

void k8s_forget(Runtime *runtime, const char *task)
{
        order_give((Kubernetes *)runtime, &(Order){ .run = run_forget, .name = g_strdup(task) });
}

void k8s_clean(Runtime *runtime, const char *job_id, int attempt, gint64 expires)
{
        order_give((Kubernetes *)runtime, &(Order){ .run = run_clean,
                                                    .name = g_strdup(job_id),
                                                    .number = attempt,
                                                    .expires = expires });
}

static void run_signal(Order *order)
{
        const Task *task = g_hash_table_lookup(order->k8s->tasks, order->name);

        if (task && task->follow) /* a stop without a grace time may follow the warning */
                (void)follow_leaving(task->follow);
        if (task && task_pod(task))
                signals_send(order->k8s->signals, task->namespace, task->pod,
                             member_container(task_pod(task)), order->number);
}

void k8s_signal(Runtime *runtime, const char *task, int signo)
{
        order_give((Kubernetes *)runtime,
                   &(Order){ .run = run_signal, .name = g_strdup(task), .number = signo });
}

/* If the account lacks the right, the job's events still have the reason. */
static void on_marked(const KubeReply *reply, void *arg)
{
        if (reply->error && !err_is(reply->error, ERR_NOT_FOUND) && !err_is(reply->error, ERR_DENIED))
                log_warning("a pod cannot be marked as preempting", "cluster", arg, "reason",
                            reply->error->message, NULL);
}

static void run_mark(Order *order)
{
        const Task *task = g_hash_table_lookup(order->k8s->tasks, order->name);
        g_autoptr(json_t) patch =
                json_pack("{s:{s:{s:s, s:s}}}", "metadata", "annotations", MEMBER_STATUS_ANNOTATION,
                          MEMBER_PREEMPTING, MEMBER_MESSAGE_ANNOTATION, order->text);

        if (task && task_pod(task))
                kube_send(order->k8s->client,
                          &(KubeRequest){ .verb = KUBE_PATCH,
                                          .kind = &kube_pods,
                                          .namespace = task->namespace,
                                          .name = task->pod,
                                          .patch = PATCH_MERGE,
                                          .body = patch },
                          on_marked, order->k8s->name);
}

void k8s_mark_preempting(Runtime *runtime, const char *task, const char *why)
{
        order_give((Kubernetes *)runtime,
                   &(Order){ .run = run_mark, .name = g_strdup(task), .text = g_strdup(why ? why : "") });
}

/* On the thread. */
static bool find_pod(void *arg, const char *task_name, const char **ret_namespace, const char **ret_pod,
                     const char **ret_container, bool *ret_on_host)
{
        const Kubernetes *k8s = arg;
        const Task *task = g_hash_table_lookup(k8s->tasks, task_name);

        if (!task || !task_pod(task))
                return false;
        *ret_namespace = task->namespace;
        *ret_pod = task->pod;
        *ret_container = member_container(task_pod(task));
        *ret_on_host = json_is_true(kube_get(task_pod(task), "spec.hostNetwork"));
        return true;
}

RuntimeExec *k8s_exec(Runtime *runtime, const char *task, const ExecStart *start)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        const TerminalPod about = { .client = k8s->client,
                                    .context = k8s->context,
                                    .task = (char *)task,
                                    .find = find_pod,
                                    .arg = k8s };

        return exec_new(k8s->terminals, &terminal_pod_ops, start, terminal_pod_copy(&about),
                        terminal_pod_free);
}

bool k8s_usage(Runtime *runtime, const char *task, TaskUsage *ret)
{
        return usages_get(((Kubernetes *)runtime)->usages, task, ret);
}

static void run_queues(Order *order)
{
        if (order->k8s->volcano)
                volcano_take_queues(order->k8s->volcano, g_steal_pointer(&order->queues));
}

void k8s_queues(Runtime *runtime, const GPtrArray *queues)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        json_t *list = json_array();

        if (k8s->template.scheduler)
                for (guint i = 0; i < queues->len; i++)
                        json_array_append_new(list, volcano_queue(queues->pdata[i], k8s->server));
        order_give(k8s, &(Order){ .run = run_queues, .queues = list });
}

static void run_ask(Order *order)
{
        asker_ask(order->k8s->asker, g_steal_pointer(&order->ask));
}

void k8s_ask(Runtime *runtime, RuntimeAsk *ask)
{
        order_give((Kubernetes *)runtime, &(Order){ .run = run_ask, .ask = ask });
}
