/* The Kubernetes runtime (see kubernetes.h).
 *
 *   engine's thread ── Order ──▶ the runtime's thread: client, caches, one Task for each member
 *                   ◀─ Observation ──
 *
 * A Task is what was said of a member since the runtime was last synced, and what is under way for it. It is
 * there as long as its pod is, or an order for it. What is told follows from the pod alone, so that telling
 * again after a restart is looking at all pods again.
 *
 * An end is told when the pod's log is complete: forgetting it deletes the pod, and the log with it. */
#include "runtime/kubernetes/kubernetes.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "runtime/kubernetes/follow.h"
#include "runtime/kubernetes/member.h"
#include "runtime/local/workdir.h"

enum {
        RETRY_MS = 1000,  /* of a request that did not get through */
        NODES_MS = 300,   /* changes of nodes are told together */
        IMAGE_MAX = 1024, /* bytes of a reference */
};

typedef struct Kubernetes Kubernetes;

typedef struct {
        Kubernetes *k8s;
        char *task;
        char *pod;       /* its name */
        json_t *wanted;  /* the pod that is being created; NULL: none */
        json_t *service; /* made before it */
        KubeCall *call;  /* of the creation */
        GSource *retry;
        Follow *follow;
        Observation *end;           /* waits for the log */
        char *waits;                /* told */
        bool started, ready, ended; /* told */
        bool stopping, killed, forgotten;
} Task;

struct Kubernetes {
        Runtime runtime;
        char *name, *state_dir, *server, *namespace;
        char *image; /* of jobs that name none; or NULL */
        gint64 log_limit;
        KubeConfig *config;
        MemberHome home;
        ObserveFunc observe;
        void *observe_arg;

        GThread *thread;
        GMainContext *context;
        GMainLoop *loop;

        /* From here on the runtime's thread alone. */
        KubeClient *client;
        KubeCache *pods, *nodes;
        GHashTable *tasks; /* task -> Task */
        char *selector;
        const char *trouble[2]; /* of pods, nodes: "pods" or "nodes" while it has some, or NULL */
        bool connected;
        GSource *nodes_timer;

        GMutex lock;
        GPtrArray *inventory; /* RuntimeNode */
};

/* ---- telling ---- */

static Observation *observation_new(ObservationKind kind, const char *task, const char *text)
{
        Observation *observation = g_new0(Observation, 1);

        observation->kind = kind;
        observation->exit_code = -1;
        observation->time = clock_now_ms();
        observation->text = g_strdup(text);
        g_strlcpy(observation->task, task ? task : "", sizeof observation->task);
        return observation;
}

static void tell(Kubernetes *k8s, ObservationKind kind, const char *task, const char *text)
{
        k8s->observe(observation_new(kind, task, text), k8s->observe_arg);
}

/* ---- tasks ---- */

static void drop_source(GSource **source)
{
        if (!*source)
                return;
        g_source_destroy(*source);
        g_clear_pointer(source, g_source_unref);
}

static void set_timer(Kubernetes *k8s, GSource **at, guint ms, GSourceFunc func, void *arg)
{
        drop_source(at);
        *at = g_timeout_source_new(ms);
        g_source_set_callback(*at, func, arg, NULL);
        g_source_attach(*at, k8s->context);
}

static void drop_creation(Task *task)
{
        if (task->call)
                kube_call_cancel(g_steal_pointer(&task->call));
        drop_source(&task->retry);
        g_clear_pointer(&task->wanted, json_decref);
        g_clear_pointer(&task->service, json_decref);
}

static void task_free(gpointer data)
{
        Task *task = data;

        drop_creation(task);
        follow_free(task->follow);
        observation_free(task->end);
        g_free(task->waits);
        g_free(task->pod);
        g_free(task->task);
        g_free(task);
}

static Task *task_get(Kubernetes *k8s, const char *name)
{
        Task *task = g_hash_table_lookup(k8s->tasks, name);

        if (task)
                return task;
        task = g_new0(Task, 1);
        task->k8s = k8s;
        task->task = g_strdup(name);
        task->pod = member_pod_name(name);
        g_hash_table_insert(k8s->tasks, task->task, task);
        return task;
}

static const json_t *pod_of(const Task *task)
{
        return kube_cache_get(task->k8s->pods, task->k8s->namespace, task->pod);
}

/* Nothing of it is left, in the cluster or under way. */
static void settle(Task *task)
{
        if (!pod_of(task) && !task->wanted && !task->end && (task->ended || task->forgotten))
                g_hash_table_remove(task->k8s->tasks, task->task);
}

/* Told once; it is repeated until it is forgotten, by the next look at all pods. */
static void tell_end(Task *task, Observation *end)
{
        task->ended = true;
        task->k8s->observe(end, task->k8s->observe_arg);
        settle(task);
}

/* ---- deleting ---- */

static void on_deleted(const KubeReply *reply, void *arg)
{
        if (reply->error && !err_is(reply->error, ERR_NOT_FOUND))
                log_warning("an object of a job cannot be deleted", "cluster", arg, "reason",
                            reply->error->message, NULL);
}

static void delete_object(Kubernetes *k8s, const KubeKind *kind, const char *name, gint64 grace_s)
{
        KubeRequest request = { .verb = KUBE_DELETE,
                                .kind = kind,
                                .namespace = k8s->namespace,
                                .name = name,
                                .has_grace = grace_s >= 0,
                                .grace_seconds = grace_s };

        kube_send(k8s->client, &request, on_deleted, k8s->name);
}

/* ---- logs ---- */

static void on_log_done(void *arg)
{
        Task *task = arg;

        g_clear_pointer(&task->follow, follow_free);
        if (task->end)
                tell_end(task, g_steal_pointer(&task->end));
}

static char *log_path(const Kubernetes *k8s, const char *job_id, int attempt, const char *role, int index)
{
        g_autofree char *dir = workdir_attempt(k8s->state_dir, job_id, attempt);

        return g_strdup_printf("%s/log/%s-%d", dir, role, index);
}

static void follow_log(Task *task, const MemberLook *look)
{
        Kubernetes *k8s = task->k8s;
        g_autofree char *path = log_path(k8s, look->job_id, look->attempt, look->role, look->index);
        FollowConfig config = { .context = k8s->context,
                                .namespace = k8s->namespace,
                                .pod = task->pod,
                                .container = MEMBER_CONTAINER,
                                .path = path,
                                .limit = k8s->log_limit,
                                .done = on_log_done,
                                .arg = task };

        if (!task->follow && !task->end && !task->ended)
                task->follow = follow_new(k8s->client, &config);
}

/* ---- pods ---- */

static Observation *end_of(const Task *task, const MemberLook *look)
{
        Observation *end = observation_new(look->end, task->task, look->text);

        end->exit_code = look->exit_code;
        end->signal = look->signal;
        end->oom = look->oom;
        end->permanent = look->permanent;
        if (look->ended_at)
                end->time = look->ended_at;
        return end;
}

static void tell_at(Task *task, ObservationKind kind, gint64 time)
{
        Observation *observation = observation_new(kind, task->task, NULL);

        if (time)
                observation->time = time;
        task->k8s->observe(observation, task->k8s->observe_arg);
}

static void tell_waits(Task *task, const char *text)
{
        if (task->waits && g_strcmp0(task->waits, text ? text : "") == 0)
                return;
        g_free(task->waits);
        task->waits = g_strdup(text ? text : "");
        tell(task->k8s, OBSERVED_WAITS, task->task, text);
}

/* What the pod says and the engine was not told yet. */
static void look_at(Task *task, const MemberLook *look)
{
        if (task->ended || task->end)
                return;
        if (look->started && !task->started) {
                task->started = true;
                tell_at(task, OBSERVED_STARTED, look->started_at);
        } else if (!look->started && !look->ended) {
                tell_waits(task, look->text);
        }
        if (look->started)
                follow_log(task, look);
        if (look->ready && !task->ready) {
                task->ready = true;
                tell_at(task, OBSERVED_READY, 0);
        }
        if (!look->ended)
                return;
        if (task->follow) {
                task->end = end_of(task, look);
                follow_last(task->follow);
        } else {
                tell_end(task, end_of(task, look));
        }
}

static void pod_there(Kubernetes *k8s, const json_t *pod)
{
        g_auto(MemberLook) look = { 0 };
        Task *task;

        if (!member_look(pod, &look))
                return;
        task = task_get(k8s, look.task);
        if (task->wanted) { /* it stands; the reply may come later, or never */
                drop_creation(task);
                if (task->stopping)
                        delete_object(k8s, &kube_pods, task->pod, 1);
        }
        look_at(task, &look);
}

/* Its last words count; without any it was stopped by us, or somebody took it away. */
static void pod_gone(Kubernetes *k8s, const json_t *pod)
{
        g_auto(MemberLook) look = { 0 };
        Task *task = member_look(pod, &look) ? g_hash_table_lookup(k8s->tasks, look.task) : NULL;

        if (!task)
                return;
        g_clear_pointer(&task->follow, follow_free);
        if (task->end) {
                tell_end(task, g_steal_pointer(&task->end));
                return;
        }
        if (!look.ended) {
                look.ended = true;
                look.end = task->stopping ? OBSERVED_EXITED : OBSERVED_LOST;
                look.signal = task->stopping ? (task->killed ? SIGKILL : SIGTERM) : 0;
                g_free(look.text);
                look.text = task->stopping ? NULL : g_strdup_printf("pod '%s' was deleted", task->pod);
        }
        if (task->ended)
                settle(task);
        else
                tell_end(task, end_of(task, &look));
}

static void on_pod(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        Kubernetes *k8s = arg;

        if (!k8s->connected)
                return; /* all of them are looked at when both caches are there */
        if (new)
                pod_there(k8s, new);
        else
                pod_gone(k8s, old);
}

/* ---- nodes ---- */

static void add_node(const json_t *node, void *arg)
{
        g_ptr_array_add(arg, node_look(node));
}

static void node_free_p(gpointer node)
{
        runtime_node_free(node);
}

static bool same_node(const RuntimeNode *a, const RuntimeNode *b)
{
        return strcmp(a->name, b->name) == 0 && a->usable == b->usable &&
               resources_equal(&a->allocatable, &b->allocatable) &&
               g_strv_equal((const char *const *)a->labels, (const char *const *)b->labels);
}

static int by_name(gconstpointer a, gconstpointer b)
{
        const RuntimeNode *const *x = a, *const *y = b;

        return strcmp((*x)->name, (*y)->name);
}

/* True when they are others than before. */
static bool take_nodes(Kubernetes *k8s)
{
        GPtrArray *list = g_ptr_array_new_with_free_func(node_free_p), *was;
        bool same;

        kube_cache_each(k8s->nodes, add_node, list);
        g_ptr_array_sort(list, by_name);
        g_mutex_lock(&k8s->lock);
        was = k8s->inventory;
        same = was->len == list->len;
        for (guint i = 0; same && i < list->len; i++)
                same = same_node(was->pdata[i], list->pdata[i]);
        k8s->inventory = list;
        g_mutex_unlock(&k8s->lock);
        g_ptr_array_unref(was);
        return !same;
}

static gboolean on_nodes_timer(gpointer arg)
{
        Kubernetes *k8s = arg;

        drop_source(&k8s->nodes_timer);
        if (k8s->connected && take_nodes(k8s))
                tell(k8s, OBSERVED_NODES, NULL, NULL);
        return G_SOURCE_REMOVE;
}

static void on_node(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        Kubernetes *k8s = arg;

        if (k8s->connected && !k8s->nodes_timer)
                set_timer(k8s, &k8s->nodes_timer, NODES_MS, on_nodes_timer, k8s);
}

/* ---- the connection ---- */

static void forget_told(gpointer key, gpointer value, gpointer arg)
{
        Task *task = value;

        task->started = task->ready = task->ended = false;
        g_clear_pointer(&task->waits, g_free);
}

static void look_at_one(const json_t *pod, void *arg)
{
        pod_there(arg, pod);
}

/* A pod that went while nobody looked. */
static gboolean is_over(gpointer key, gpointer value, gpointer arg)
{
        Task *task = value;

        return !task->wanted && !pod_of(task);
}

static void connect_if_synced(Kubernetes *k8s)
{
        if (k8s->connected || k8s->trouble[0] || k8s->trouble[1] || !kube_cache_is_synced(k8s->pods) ||
            !kube_cache_is_synced(k8s->nodes))
                return;
        k8s->connected = true;
        (void)take_nodes(k8s);
        g_hash_table_foreach_remove(k8s->tasks, is_over, NULL);
        g_hash_table_foreach(k8s->tasks, forget_told, NULL);
        kube_cache_each(k8s->pods, look_at_one, k8s);
        tell(k8s, OBSERVED_SYNCED, NULL, NULL);
        log_info("cluster connected", "cluster", k8s->name, "server", k8s->config->server, NULL);
}

static void on_synced(KubeCache *cache, void *arg)
{
        connect_if_synced(arg);
}

static void on_trouble(KubeCache *cache, const GError *error, gint64 retry_ms, void *arg)
{
        Kubernetes *k8s = arg;
        int which = cache == k8s->nodes;
        bool told = k8s->trouble[0] || k8s->trouble[1];

        k8s->trouble[which] = error ? (which ? "nodes" : "pods") : NULL;
        if (!error) {
                connect_if_synced(k8s);
                return;
        }
        if (k8s->connected || !told)
                tell(k8s, OBSERVED_DISCONNECTED, NULL, error->message);
        k8s->connected = false;
}

/* ---- starting ---- */

static void send_pod(Task *task);

static gboolean on_retry(gpointer arg)
{
        Task *task = arg;

        drop_source(&task->retry);
        send_pod(task);
        return G_SOURCE_REMOVE;
}

/* What another try may do better, and need not be told. */
static bool is_passing(const GError *error)
{
        return err_is(error, ERR_UNAVAILABLE) || err_is(error, ERR_TIMEOUT) || err_is(error, ERR_UNREACHABLE);
}

static bool is_lasting(const GError *error)
{
        return err_is(error, ERR_INVALID) || err_is(error, ERR_DENIED) || err_is(error, ERR_NOT_FOUND);
}

static void refuse(Task *task, const GError *error)
{
        Observation *end = observation_new(OBSERVED_START_FAILED, task->task, error->message);

        end->permanent = is_lasting(error);
        drop_creation(task);
        tell_end(task, end);
}

/* True when the object is there. */
static bool is_made(Task *task, const KubeReply *reply)
{
        task->call = NULL;
        if (!reply->error || err_is(reply->error, ERR_EXISTS))
                return true;
        if (is_passing(reply->error))
                set_timer(task->k8s, &task->retry, RETRY_MS, on_retry, task);
        else
                refuse(task, reply->error);
        return false;
}

/* The pod that is there tells all else by the cache. */
static void on_pod_made(const KubeReply *reply, void *arg)
{
        (void)is_made(arg, reply);
}

static void on_service_made(const KubeReply *reply, void *arg)
{
        Task *task = arg;

        if (!is_made(task, reply))
                return;
        g_clear_pointer(&task->service, json_decref);
        send_pod(task);
}

static void send_pod(Task *task)
{
        Kubernetes *k8s = task->k8s;
        bool service = task->service != NULL;
        KubeRequest request = { .verb = KUBE_CREATE,
                                .kind = service ? &kube_services : &kube_pods,
                                .namespace = k8s->namespace,
                                .body = service ? task->service : task->wanted };

        task->call = kube_send(k8s->client, &request, service ? on_service_made : on_pod_made, task);
}

/* ---- orders of the engine ---- */

typedef struct Order Order;
struct Order {
        void (*run)(Order *order);
        Kubernetes *k8s;
        char *name; /* of the task or the job */
        json_t *pod, *service;
        gint64 grace_ms;
        int number; /* attempt, signal */
};

static void order_free(gpointer data)
{
        Order *order = data;

        g_free(order->name);
        json_decref(order->pod);
        json_decref(order->service);
        g_free(order);
}

static gboolean run_order(gpointer data)
{
        Order *order = data;

        order->run(order);
        return G_SOURCE_REMOVE;
}

static void give(Kubernetes *k8s, const Order *order)
{
        GSource *source = g_idle_source_new();
        Order *own = g_memdup2(order, sizeof *order);

        own->k8s = k8s;
        g_source_set_priority(source, G_PRIORITY_DEFAULT);
        g_source_set_callback(source, run_order, own, order_free);
        g_source_attach(source, k8s->context);
        g_source_unref(source);
}

static void run_start(Order *order)
{
        Task *task = task_get(order->k8s, order->name);

        if (task->wanted || pod_of(task))
                return; /* it was asked for before */
        task->started = task->ready = task->ended = task->stopping = task->forgotten = false;
        task->wanted = g_steal_pointer(&order->pod);
        task->service = g_steal_pointer(&order->service);
        send_pod(task);
}

/* What is being created is deleted as soon as it is there. */
static void run_stop(Order *order)
{
        Task *task = task_get(order->k8s, order->name);

        task->killed |= order->grace_ms == 0;
        task->stopping = true;
        if (pod_of(task)) { /* at once is one second: at none its end would not be waited for */
                delete_object(order->k8s, &kube_pods, task->pod, MAX((order->grace_ms + 999) / 1000, 1));
        } else if (!task->call && !task->ended) {
                drop_creation(task);
                tell_end(task, observation_new(OBSERVED_LOST, task->task, NULL));
        }
}

static void run_forget(Order *order)
{
        Task *task = task_get(order->k8s, order->name);

        task->forgotten = true;
        if (pod_of(task))
                delete_object(order->k8s, &kube_pods, task->pod, 0);
        settle(task);
}

static void run_clean(Order *order)
{
        g_autofree char *service = member_service_name(order->name, order->number);

        delete_object(order->k8s, &kube_services, service, -1);
}

static void op_start(Runtime *runtime, const RuntimeJob *job, const TaskStart *task)
{
        Kubernetes *k8s = (Kubernetes *)runtime;

        RuntimeJob about = *job;

        if (!about.image)
                about.image = k8s->image;
        give(k8s, &(Order){ .run = run_start,
                            .name = g_strdup(task->task),
                            .pod = member_pod(&k8s->home, &about, task),
                            .service = member_service(&k8s->home, job->id, job->attempt) });
}

static void op_stop(Runtime *runtime, const char *task, gint64 grace_ms)
{
        give((Kubernetes *)runtime,
             &(Order){ .run = run_stop, .name = g_strdup(task), .grace_ms = grace_ms });
}

static void op_forget(Runtime *runtime, const char *task)
{
        give((Kubernetes *)runtime, &(Order){ .run = run_forget, .name = g_strdup(task) });
}

static void op_clean(Runtime *runtime, const char *job_id, int attempt)
{
        give((Kubernetes *)runtime,
             &(Order){ .run = run_clean, .name = g_strdup(job_id), .number = attempt });
}

/* A pod takes no signals from outside but the one that ends it. */
static void op_signal(Runtime *runtime, const char *task, int signo)
{
        log_warning("a member in a pod gets no warning signal", "task", task, NULL);
}

/* ---- what a job needs ---- */

/* Why it cannot run here; the caller's, NULL: it can. */
static char *problem_of(const Kubernetes *k8s, const RuntimeJob *job)
{
        const struct {
                const char *value, *what;
        } missing[] = {
                { job->package, "a package" },
                { job->requirements, "requirements" },
                { job->input, "--input" },
                { job->output, "--output" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(missing); i++)
                if (missing[i].value)
                        return g_strdup_printf("%s cannot be brought to cluster '%s' yet: put what the job "
                                               "needs into its image",
                                               missing[i].what, k8s->name);
        if (!job->image && !k8s->image)
                return g_strdup_printf("cluster '%s' runs members in images, and the job names none\n"
                                       "Name one with --base-image, or one for all in the cluster's setting.",
                                       k8s->name);
        if (job->namespace && strcmp(job->namespace, k8s->namespace) != 0)
                return g_strdup_printf("namespace '%s': jobs of cluster '%s' run in '%s', the one of its "
                                       "kubeconfig",
                                       job->namespace, k8s->name, k8s->namespace);
        return NULL;
}

static bool op_is_prepared(Runtime *runtime, const RuntimeJob *job)
{
        g_autofree char *problem = problem_of((Kubernetes *)runtime, job);

        return !problem;
}

static void op_prepare(Runtime *runtime, const RuntimeJob *job)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        g_autofree char *problem = problem_of(k8s, job);

        tell(k8s, problem ? OBSERVED_PREPARE_FAILED : OBSERVED_PREPARED, job->id, problem);
}

/* ---- the other doors ---- */

/* Each pod has an address of its own. */
static bool op_lease_ports(Runtime *runtime, const char *job_id, int n, int extra, int *ret_ports,
                           GError **error)
{
        for (int i = 0; i < n; i++)
                ret_ports[i] = MEMBER_PORT;
        for (int i = 0; i < extra; i++)
                ret_ports[n + i] = MEMBER_EXTRA_PORT + i;
        return true;
}

static void op_keep_ports(Runtime *runtime, const char *job_id, int n, const int *ports)
{
}

static void op_release_ports(Runtime *runtime, const char *job_id)
{
}

static char *op_log_path(Runtime *runtime, const char *job_id, int attempt, const char *role, int index)
{
        return log_path((Kubernetes *)runtime, job_id, attempt, role, index);
}

static char *op_address(Runtime *runtime, const RuntimeJob *job, const char *role, int index)
{
        return member_address(&((Kubernetes *)runtime)->home, job->id, job->attempt, role, index);
}

static GPtrArray *op_nodes(Runtime *runtime)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        GPtrArray *copy = g_ptr_array_new_with_free_func(node_free_p);

        g_mutex_lock(&k8s->lock);
        for (guint i = 0; i < k8s->inventory->len; i++) {
                const RuntimeNode *node = k8s->inventory->pdata[i];
                RuntimeNode *own = g_memdup2(node, sizeof *node);

                own->name = g_strdup(node->name);
                own->labels = g_strdupv(node->labels);
                g_ptr_array_add(copy, own);
        }
        g_mutex_unlock(&k8s->lock);
        return copy;
}

static void op_inventory(Runtime *runtime, Resources *ret_total)
{
        g_autoptr(GPtrArray) nodes = op_nodes(runtime);

        *ret_total = (Resources){ 0 };
        for (guint i = 0; i < nodes->len; i++) {
                const RuntimeNode *node = nodes->pdata[i];

                if (node->usable)
                        (void)resources_add(ret_total, &node->allocatable, 1);
        }
}

/* ---- the thread ---- */

/* The two large parts of a pod that nobody reads here. */
static void trim_pod(json_t *pod)
{
        json_object_del(pod, "spec");
        json_object_del(json_object_get(pod, "metadata"), "annotations");
}

static void trim_node(json_t *node)
{
        json_object_del(json_object_get(node, "status"), "images");
        json_object_del(json_object_get(node, "metadata"), "annotations");
}

static void open_caches(Kubernetes *k8s)
{
        KubeCacheEvents events = { .synced = on_synced, .trouble = on_trouble, .arg = k8s };

        k8s->selector = member_selector(&k8s->home);
        events.changed = on_pod;
        k8s->pods = kube_cache_new(k8s->client,
                                   &(KubeCacheConfig){ .kind = kube_pods,
                                                       .namespace = k8s->namespace,
                                                       .label_selector = k8s->selector,
                                                       .trim = trim_pod },
                                   &events);
        events.changed = on_node;
        k8s->nodes = kube_cache_new(k8s->client, &(KubeCacheConfig){ .kind = kube_nodes, .trim = trim_node },
                                    &events);
}

static void *run(void *arg)
{
        Kubernetes *k8s = arg;

        g_main_context_push_thread_default(k8s->context);
        open_caches(k8s);
        g_main_loop_run(k8s->loop);
        g_clear_pointer(&k8s->tasks, g_hash_table_unref);
        drop_source(&k8s->nodes_timer);
        g_clear_pointer(&k8s->pods, kube_cache_free);
        g_clear_pointer(&k8s->nodes, kube_cache_free);
        g_clear_pointer(&k8s->client, kube_client_free);
        g_main_context_pop_thread_default(k8s->context);
        return NULL;
}

static void *start_thread(Kubernetes *k8s, GError **error)
{
        sigset_t all, before;

        sigfillset(&all); /* signals are the main loop's */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        k8s->thread = g_thread_try_new("kubernetes", run, k8s, error);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return k8s->thread;
}

static bool op_open(Runtime *runtime, ObserveFunc observe, void *arg, GError **error)
{
        Kubernetes *k8s = (Kubernetes *)runtime;

        k8s->observe = observe;
        k8s->observe_arg = arg;
        return start_thread(k8s, error) != NULL;
}

static gboolean quit(gpointer arg)
{
        g_main_loop_quit(((Kubernetes *)arg)->loop);
        return G_SOURCE_REMOVE;
}

static void op_close(Runtime *runtime)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        GSource *source;

        if (!k8s->thread)
                return;
        source = g_idle_source_new(); /* after what was ordered before */
        g_source_set_callback(source, quit, k8s, NULL);
        g_source_attach(source, k8s->context);
        g_source_unref(source);
        g_thread_join(g_steal_pointer(&k8s->thread));
}

static void op_free(Runtime *runtime)
{
        Kubernetes *k8s = (Kubernetes *)runtime;

        g_clear_pointer(&k8s->tasks, g_hash_table_unref);
        kube_client_free(k8s->client);
        g_main_loop_unref(k8s->loop);
        g_main_context_unref(k8s->context);
        g_ptr_array_unref(k8s->inventory);
        g_mutex_clear(&k8s->lock);
        kube_config_free(k8s->config);
        g_free(k8s->selector);
        g_free(k8s->image);
        g_free(k8s->namespace);
        g_free(k8s->server);
        g_free(k8s->state_dir);
        g_free(k8s->name);
        g_free(k8s);
}

static const RuntimeOps kubernetes_ops = {
        .name = "kubernetes",
        .uses_images = true,
        .open = op_open,
        .close = op_close,
        .inventory = op_inventory,
        .nodes = op_nodes,
        .address = op_address,
        .prepare = op_prepare,
        .is_prepared = op_is_prepared,
        .lease_ports = op_lease_ports,
        .keep_ports = op_keep_ports,
        .release_ports = op_release_ports,
        .start = op_start,
        .stop = op_stop,
        .signal = op_signal,
        .forget = op_forget,
        .clean = op_clean,
        .log_path = op_log_path,
        .free = op_free,
};

/* ---- making one ---- */

/* A kubeconfig has blanks and colons, base64 has neither. */
static char *decode(const char *credential, gsize *ret_len)
{
        bool coded = strpbrk(credential, " :{") == NULL;

        if (coded)
                return (char *)g_base64_decode(credential, ret_len);
        *ret_len = strlen(credential);
        return g_strdup(credential);
}

static KubeConfig *read_credential(const KubernetesConfig *config, GError **error)
{
        g_autofree char *text = NULL;
        KubeConfig *read;
        gsize len;

        if (!config->credential || !*config->credential) {
                err_set(error, ERR_INVALID, "cluster '%s' has no credential\nGive it a kubeconfig.",
                        config->name);
                return NULL;
        }
        text = decode(config->credential, &len);
        read = kube_config_parse(text, len, NULL, NULL, error);
        if (!read)
                (void)err_prefix(error, "cluster '%s', credential: ", config->name);
        return read;
}

/* Texts that are no object are somebody else's notes. */
static bool read_setting(const KubernetesConfig *config, char **ret_image, GError **error)
{
        const char *text = config->setting ? config->setting : "", *image = NULL;
        g_autoptr(json_t) setting = *text == '{' ? json_parse(text, strlen(text), error) : json_object();

        if (!setting || !json_get_string(setting, "", "image", IMAGE_MAX, &image, error))
                return err_prefix(error, "cluster '%s', setting: ", config->name);
        *ret_image = g_strdup(image);
        return true;
}

Runtime *kubernetes_runtime_new(const KubernetesConfig *config, GError **error)
{
        g_autofree char *image = NULL;
        KubeConfig *cluster = read_setting(config, &image, error) ? read_credential(config, error) : NULL;
        Kubernetes *k8s;

        if (!cluster)
                return NULL;
        k8s = g_new0(Kubernetes, 1);
        k8s->runtime.ops = &kubernetes_ops;
        k8s->config = cluster;
        k8s->name = g_strdup(config->name);
        k8s->state_dir = g_strdup(config->state_dir);
        k8s->server = g_strdup(config->server);
        k8s->namespace = g_strdup(cluster->namespace);
        k8s->home = (MemberHome){ k8s->namespace, k8s->server };
        k8s->log_limit = config->log_limit;
        k8s->image = g_steal_pointer(&image);
        k8s->context = g_main_context_new();
        k8s->loop = g_main_loop_new(k8s->context, FALSE);
        k8s->tasks = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, task_free);
        k8s->inventory = g_ptr_array_new_with_free_func(node_free_p);
        g_mutex_init(&k8s->lock);
        k8s->client = kube_client_new(cluster,
                                      &(KubeClientOptions){ .context = k8s->context,
                                                            .agent = "paddled/" PADDLE_VERSION },
                                      error);
        if (k8s->client)
                return &k8s->runtime;
        op_free(&k8s->runtime);
        return NULL;
}
