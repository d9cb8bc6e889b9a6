/* The Kubernetes runtime (see kubernetes.h).
 *
 *   engine's thread ── Order ──▶ the runtime's thread: client, caches, one Task for each member
 *                   ◀─ Observation ──
 *
 * A Task is what was said of a member since the runtime was last synced, and what is under way for it. It is
 * there as long as its pod is, or an order for it. What is told follows from the pod alone, so that telling
 * again after a restart is looking at all pods again.
 *
 * An end is told when the pod's log is complete. A pod that ended by itself stays until its job's time to
 * live is over (kept.h); others go when their end is forgotten. */
#include "runtime/kubernetes/kubernetes.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "model/job.h"
#include "podspec/objects.h"
#include "runtime/environment/environment.h"
#include "runtime/kubernetes/aside.h"
#include "runtime/kubernetes/asker.h"
#include "runtime/kubernetes/credential.h"
#include "runtime/kubernetes/deletions.h"
#include "runtime/kubernetes/follow.h"
#include "runtime/kubernetes/image.h"
#include "runtime/kubernetes/images.h"
#include "runtime/kubernetes/form.h"
#include "runtime/kubernetes/gate.h"
#include "runtime/kubernetes/kept.h"
#include "runtime/kubernetes/make.h"
#include "runtime/kubernetes/member.h"
#include "runtime/kubernetes/neighbours.h"
#include "runtime/kubernetes/overdue.h"
#include "runtime/kubernetes/package.h"
#include "runtime/kubernetes/refusals.h"
#include "runtime/kubernetes/scope.h"
#include "runtime/kubernetes/sets.h"
#include "runtime/kubernetes/setting.h"
#include "runtime/kubernetes/template.h"
#include "runtime/kubernetes/volcano.h"
#include "runtime/kubernetes/volume.h"
#include "runtime/kubernetes/signals.h"
#include "runtime/kubernetes/terminal.h"
#include "runtime/kubernetes/usage.h"
#include "runtime/local/workdir.h"

enum {
        RETRY_MS = 1000,     /* of a request that did not get through */
        NODES_MS = 300,      /* changes of nodes are told together */
        STUCK_MS = 10000,    /* pods are looked at so often, if they may not wait without end */
        KEPT_MAX_MS = 60000, /* what is kept is looked at so often, since clocks are set */
        DOUBT_MS = 5000,     /* how often it is asked whether the credential is good again */
};

typedef struct Kubernetes Kubernetes;
typedef struct Order Order;

typedef struct {
        Kubernetes *k8s;
        char *task;
        char *pod;       /* its name; of one that a Job makes: known when it is there */
        char *namespace; /* NULL: not known, it has no pod */
        Making *making;  /* of a pod that stands for itself */
        Order *again;    /* it is to start as soon as its pod of before has gone; or NULL */
        Follow *follow;
        Observation *end;           /* waits for the log */
        char *given_up;             /* why its pod was deleted by force; or NULL */
        char *waits;                /* told */
        bool started, ready, ended; /* told */
        bool preempted, stuck;      /* told */
        bool stopping, killed, forgotten;
        bool kept;      /* forgotten, and its pod stays for a while */
        bool dropping;  /* what would make its pod again is being taken away */
        bool dropped;   /* it is */
        gint64 grace_s; /* when it is stopped */
} Task;

struct Kubernetes {
        Runtime runtime;
        char *name, *state_dir, *server, *dc;
        char **namespaces;  /* the first is for jobs that ask for none; NULL-terminated */
        bool any_namespace; /* there is no such list */
        Setting *setting;
        FormWish forms; /* parts of the setting */
        VolumeMap volumes;
        TemplateCluster template;
        char *pull_secret; /* of images that are built; or NULL */
        gint64 log_limit, pending_ms;
        KubeConfig *config;
        ObserveFunc observe;
        void *observe_arg;

        GThread *thread;
        GMainContext *context;
        GMainLoop *loop;

        /* From here on the runtime's thread alone. */
        KubeClient *client;
        Images *images; /* NULL: there is no registry */
        Scope *pods;
        KubeCache *nodes;
        KubeCache *others; /* pods of others; what they hold is seen if we may see it */
        bool blind;        /* we may not, or not now */
        Neighbours *neighbours;
        Asker *asker;
        Volcano *volcano; /* NULL: the cluster's own scheduler places pods */
        Signals *signals;
        ExecRoom *terminals;
        FollowRoom *logs;
        Usages *usages;     /* its reading is for any thread */
        GHashTable *tasks;  /* task -> Task */
        GHashTable *places; /* name of an attempt's service -> its namespace */
        Sets *sets;
        Kept *kept; /* pods that ended */
        GSource *kept_timer, *stuck_timer;
        Refusals *refusals; /* of pods of sets */
        Deletions *deletions;
        Overdue *overdue;
        MakingRoom *makings;
        GHashTable *gates; /* set of the namespaces that have the gate */
        char *selector, *others_selector;
        const char *trouble[3]; /* of pods, nodes, the credential: its name while it has some, or NULL */
        bool asked;             /* which priority classes there are */
        bool connected;
        GSource *nodes_timer, *doubt_timer;

        GMutex lock;
        const char *classes[G_N_ELEMENTS(template_classes)]; /* those that the cluster has */
        GPtrArray *inventory;                                /* RuntimeNode */
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

static void order_free(gpointer data);

static void task_free(gpointer data)
{
        Task *task = data;

        if (task->again)
                order_free(task->again);
        making_free(task->making);
        follow_free(task->follow);
        observation_free(task->end);
        g_free(task->waits);
        g_free(task->namespace);
        g_free(task->given_up);
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
        return task->namespace ? scope_get(task->k8s->pods, task->namespace, task->pod) : NULL;
}

static void place(Task *task, const char *namespace, const char *job_id, int attempt)
{
        if (g_strcmp0(task->namespace, namespace) == 0)
                return;
        g_free(task->namespace);
        task->namespace = g_strdup(namespace);
        g_hash_table_insert(task->k8s->places, member_service_name(job_id, attempt), g_strdup(namespace));
}

/* Its pod is on the way. */
static bool is_wanted(const Task *task)
{
        return task->making || sets_has(task->k8s->sets, task->task);
}

static void run_order(Order *order);

/* Nothing of it is left, in the cluster or under way. */
static void settle(Task *task)
{
        if (pod_of(task) || is_wanted(task) || task->dropping || task->end ||
            (!task->ended && !task->forgotten))
                return;
        if (task->again)
                run_order(g_steal_pointer(&task->again));
        else
                g_hash_table_remove(task->k8s->tasks, task->task);
}

/* Told once; it is repeated until it is forgotten, by the next look at all pods. */
static void tell_end(Task *task, Observation *end)
{
        task->ended = true;
        usages_drop(task->k8s->usages, task->task);
        task->k8s->observe(end, task->k8s->observe_arg);
        settle(task);
}

/* ---- deleting ---- */

static void delete_pod(const Task *task, gint64 grace_s)
{
        deletions_want(task->k8s->deletions, &kube_pods, task->namespace, task->pod, kube_uid(pod_of(task)),
                       grace_s);
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
        FollowConfig config = { .namespace = task->namespace,
                                .pod = task->pod,
                                .container = look->container,
                                .uid = kube_uid(pod_of(task)),
                                .path = path,
                                .limit = k8s->log_limit,
                                .previous = look->again,
                                .done = on_log_done,
                                .arg = task };

        if (!task->follow && !task->end && !task->ended)
                task->follow = follow_new(k8s->logs, &config);
}

/* ---- pods ---- */

static Observation *end_of(const Task *task, const MemberLook *look)
{
        Observation *end = observation_new(look->end, task->task, look->text);
        TaskUsage usage;

        if (usages_get(task->k8s->usages, task->task, &usage)) {
                end->peak_memory = usage.memory_peak;
                end->cpu_us = usage.cpu_us;
        }

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

/* What Volcano says of its gang, while that is what it waits for. */
static char *group_why(const Task *task, const MemberLook *look)
{
        g_autofree char *group = member_service_name(look->job_id, look->attempt);
        const Volcano *volcano = task->k8s->volcano;

        return volcano ? volcano_why(volcano, task->namespace, group) : NULL;
}

/* One that we stop before it began is not lost. */
static void tell_or_keep(Task *task, const MemberLook *look)
{
        Observation *end = end_of(task, look);

        if (task->stopping && look->end == OBSERVED_LOST && !look->started) {
                end->kind = OBSERVED_EXITED;
                end->signal = task->killed ? SIGKILL : SIGTERM;
        }
        if (task->follow) {
                task->end = end;
                follow_last(task->follow);
        } else {
                tell_end(task, end);
        }
}

/* A second life in one attempt: what makes its pods has made one anew while nobody looked. What the first one
 * knew is gone, and the others of the job do not know. */
static bool is_made_anew(const Task *task, const MemberLook *look)
{
        g_autofree char *path = log_path(task->k8s, look->job_id, look->attempt, look->role, look->index);

        return look->started && !task->started && !task->stopping && form_kind_of(pod_of(task)) &&
               follow_is_of_another(path, kube_uid(pod_of(task)));
}

static void tell_made_anew(Task *task)
{
        g_autofree char *text = g_strdup_printf(
                "pod '%s' was deleted and made anew while the server was away: what ran in it is gone",
                task->pod);

        tell_end(task, observation_new(OBSERVED_LOST, task->task, text));
}

/* What the pod says and the engine was not told yet. */
static void look_at(Task *task, const MemberLook *look)
{
        if (task->ended || task->kept)
                return;
        if (task->end) { /* waits for its log; until then it is known, and not lost */
                if (look->started && !task->started)
                        tell_at(task, OBSERVED_STARTED, look->started_at);
                task->started = task->started || look->started;
                return;
        }
        if (is_made_anew(task, look)) {
                tell_made_anew(task);
                return;
        }
        if (look->preempted && !task->preempted) {
                task->preempted = true;
                tell(task->k8s, OBSERVED_TAKEN, task->task, look->preempted);
        }
        if (look->started && !task->started) {
                task->started = true;
                tell_at(task, OBSERVED_STARTED, look->started_at);
        } else if (!look->started && !look->ended) {
                g_autofree char *why = group_why(task, look);

                tell_waits(task, why ? why : look->text);
        }
        if (look->started) {
                follow_log(task, look);
                if (!look->ended)
                        usages_add(task->k8s->usages, task->task, task->namespace, task->pod, look->node);
        }
        if (look->ready && !task->ready) {
                task->ready = true;
                tell_at(task, OBSERVED_READY, 0);
        }
        if (look->ended && (!look->passing || task->stopping))
                tell_or_keep(task, look);
}

static void stop_pod(Task *task);

/* The names of pods that a Job makes are its own. */
static void take_pod(Task *task, const json_t *pod)
{
        if (strcmp(task->pod, kube_name(pod)) == 0 || pod_of(task))
                return;
        g_free(task->pod);
        task->pod = g_strdup(kube_name(pod));
}

/* Why a pod on it will not end by itself; the caller's, NULL: its node is well. */
static char *node_trouble(const Kubernetes *k8s, const char *name)
{
        const json_t *node = kube_cache_get(k8s->nodes, NULL, name);
        g_autofree char *unready = node ? neighbours_unready(node) : g_strdup("gone");

        return unready ? g_strdup_printf("node '%s' is %s", name, unready) : NULL;
}

/* Its end was asked for, and nobody is there to carry it out. If the node only cannot be reached, the member
 * may run on there: it is of an attempt that is over, under names that are not used again. */
static void give_up_stuck(Task *task, const MemberLook *look)
{
        Kubernetes *k8s = task->k8s;

        if (!look->deleting || !look->node || task->given_up || task->dropping)
                return;
        task->given_up = node_trouble(k8s, look->node);
        if (!task->given_up)
                return;
        log_warning("a pod's node does not answer: it is given up", "cluster", k8s->name, "pod", task->pod,
                    "node", look->node, NULL);
        delete_pod(task, 0);
}

/* Somebody took it away. With it the attempt ends; until then nobody shall run under its name once more. */
static void keep_from_coming_back(Task *task, const json_t *pod, const MemberLook *look)
{
        const KubeKind *kind = form_kind_of(pod);

        if (!look->deleting || task->stopping || task->dropping || task->dropped || !kind ||
            form_takes_pods(kind))
                return;
        task->dropping = true;
        sets_drop(task->k8s->sets, task->task, task->namespace, kind);
}

static void pod_there(Kubernetes *k8s, const json_t *pod)
{
        g_auto(MemberLook) look = { 0 };
        Task *task;

        if (!member_look(pod, &look))
                return;
        task = task_get(k8s, look.task);
        place(task, kube_namespace(pod), look.job_id, look.attempt);
        take_pod(task, pod);
        if (task->making) { /* it stands; the reply may come later, or never */
                g_clear_pointer(&task->making, making_free);
                if (task->stopping)
                        stop_pod(task);
        }
        keep_from_coming_back(task, pod, &look);
        give_up_stuck(task, &look);
        look_at(task, &look);
}

/* What is known of a pod's going, from the most telling to the least. */
static char *why_gone(const Task *task, const MemberLook *look)
{
        g_autofree char *trouble = look->node ? node_trouble(task->k8s, look->node) : NULL;

        if (task->given_up)
                return g_strdup(task->given_up);
        if (trouble)
                return g_steal_pointer(&trouble);
        if (look->taken)
                return g_strdup(look->taken);
        return g_strdup_printf("pod '%s' was deleted", task->pod);
}

/* Its last words count; without any it was stopped by us, or somebody took it away. */
static void pod_gone(Kubernetes *k8s, const json_t *pod)
{
        g_auto(MemberLook) look = { 0 };
        Task *task = member_look(pod, &look) ? g_hash_table_lookup(k8s->tasks, look.task) : NULL;

        if (!task || strcmp(task->pod, kube_name(pod)) != 0)
                return;
        g_clear_pointer(&task->follow, follow_free);
        if (look.passing && !task->stopping)
                return;
        if (task->end) {
                tell_end(task, g_steal_pointer(&task->end));
                return;
        }
        if (task->kept) {
                settle(task);
                return;
        }
        if (!look.ended) {
                look.ended = true;
                look.end = task->stopping ? OBSERVED_EXITED : OBSERVED_LOST;
                look.signal = task->stopping ? (task->killed ? SIGKILL : SIGTERM) : 0;
                g_free(look.text);
                look.text = task->stopping ? NULL : why_gone(task, &look);
        }
        if (task->ended)
                settle(task);
        else
                tell_end(task, end_of(task, &look));
}

static void on_pod(const json_t *old, const json_t *new, void *arg)
{
        Kubernetes *k8s = arg;

        if (!k8s->connected)
                return; /* all of them are looked at when both caches are there */
        if (new)
                pod_there(k8s, new);
        else
                pod_gone(k8s, old);
}

/* ---- pods that wait too long ---- */

static void look_if_stuck(const json_t *pod, void *arg)
{
        Kubernetes *k8s = arg;
        gint64 since = member_stuck_since(pod);
        g_auto(MemberLook) look = { 0 };
        g_autofree char *text = NULL;
        Task *task;

        if (!since || clock_now_ms() - since < k8s->pending_ms || !member_look(pod, &look))
                return;
        task = g_hash_table_lookup(k8s->tasks, look.task);
        if (!task || task->stuck || task->stopping)
                return;
        task->stuck = true;
        text = g_strdup_printf("a pod of it was pending for longer than %" G_GINT64_FORMAT "s: %s",
                               k8s->pending_ms / 1000, look.text ? look.text : "nobody says why");
        tell(k8s, OBSERVED_STUCK, task->task, text);
}

static gboolean on_stuck_timer(gpointer arg)
{
        Kubernetes *k8s = arg;

        if (k8s->connected)
                scope_each(k8s->pods, look_if_stuck, k8s);
        return G_SOURCE_CONTINUE;
}

/* ---- nodes ---- */

typedef struct {
        const Neighbours *neighbours;
        GPtrArray *list;
} NodeList;

static void add_node(const json_t *node, void *arg)
{
        const NodeList *nodes = arg;

        g_ptr_array_add(nodes->list, neighbours_node(nodes->neighbours, node));
}

static void node_free_p(gpointer node)
{
        runtime_node_free(node);
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
        NodeList nodes = { k8s->neighbours, list };
        bool same;

        kube_cache_each(k8s->nodes, add_node, &nodes);
        g_ptr_array_sort(list, by_name);
        g_mutex_lock(&k8s->lock);
        was = k8s->inventory;
        same = was->len == list->len;
        for (guint i = 0; same && i < list->len; i++)
                same = runtime_node_equal(was->pdata[i], list->pdata[i]);
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

static void nodes_changed(Kubernetes *k8s)
{
        if (k8s->connected && !k8s->nodes_timer)
                set_timer(k8s, &k8s->nodes_timer, NODES_MS, on_nodes_timer, k8s);
}

static bool is_well(const json_t *node)
{
        g_autofree char *unready = node ? neighbours_unready(node) : g_strdup("gone");

        return !unready;
}

static void give_up_on_node(const json_t *pod, void *arg)
{
        Kubernetes *k8s = arg;
        g_auto(MemberLook) look = { 0 };
        Task *task = kube_is_deleting(pod) && member_look(pod, &look)
                             ? g_hash_table_lookup(k8s->tasks, look.task)
                             : NULL;

        if (task)
                give_up_stuck(task, &look);
}

static void on_node(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        Kubernetes *k8s = arg;

        nodes_changed(k8s);
        if (k8s->connected && old && is_well(old) && !is_well(new))
                scope_each(k8s->pods, give_up_on_node, k8s);
}

static void on_other(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        Kubernetes *k8s = arg;

        neighbours_change(k8s->neighbours, old, new);
        nodes_changed(k8s);
}

/* ---- the connection ---- */

static void forget_told(gpointer key, gpointer value, gpointer arg)
{
        Task *task = value;

        task->started = task->ready = task->ended = task->preempted = task->stuck = false;
        g_clear_pointer(&task->waits, g_free);
}

static void look_at_one(const json_t *pod, void *arg)
{
        pod_there(arg, pod);
}

static void connect_if_synced(Kubernetes *k8s);

/* Who may not see them has none. */
static void on_classes(const KubeReply *reply, void *arg)
{
        Kubernetes *k8s = arg;
        const json_t *items = json_object_get(reply->object, "items"), *item;
        gsize n = 0;
        size_t i;

        g_mutex_lock(&k8s->lock);
        json_array_foreach(items, i, item) for (const char *const *at = template_classes;
                                                *at && n + 1 < G_N_ELEMENTS(k8s->classes);
                                                at++) if (strcmp(kube_name(item), *at) == 0)
                k8s->classes[n++] = *at;
        k8s->classes[n] = NULL;
        g_mutex_unlock(&k8s->lock);
        k8s->asked = true;
        connect_if_synced(k8s);
}

static void ask_for_classes(Kubernetes *k8s)
{
        KubeRequest request = { .verb = KUBE_LIST, .kind = &kube_priority_classes };

        kube_send(k8s->client, &request, on_classes, k8s);
}

/* A pod that went while nobody looked. */
static gboolean is_over(gpointer key, gpointer value, gpointer arg)
{
        Task *task = value;

        return !is_wanted(task) && !task->dropping && !pod_of(task);
}

static bool is_troubled(const Kubernetes *k8s)
{
        return k8s->trouble[0] || k8s->trouble[1] || k8s->trouble[2];
}

static void connect_if_synced(Kubernetes *k8s)
{
        if (k8s->connected || !k8s->asked || is_troubled(k8s) || !scope_is_synced(k8s->pods) ||
            !kube_cache_is_synced(k8s->nodes) || (!k8s->blind && !kube_cache_is_synced(k8s->others)))
                return;
        k8s->connected = true;
        g_hash_table_remove_all(k8s->gates); /* who knows what became of them */
        (void)take_nodes(k8s);
        g_hash_table_foreach_remove(k8s->tasks, is_over, NULL);
        g_hash_table_foreach(k8s->tasks, forget_told, NULL);
        scope_each(k8s->pods, look_at_one, k8s);
        tell(k8s, OBSERVED_SYNCED, NULL, NULL);
        ask_for_classes(k8s);
        log_info("cluster connected", "cluster", k8s->name, "server", k8s->config->server, NULL);
}

static void on_pods_synced(void *arg)
{
        connect_if_synced(arg);
}

static void on_cache_synced(KubeCache *cache, void *arg)
{
        connect_if_synced(arg);
}

/* What others hold is worth knowing, and jobs run without it, too: their pods find out. */
static void on_others_trouble(KubeCache *cache, const GError *error, gint64 retry_ms, void *arg)
{
        Kubernetes *k8s = arg;

        if (error && !k8s->blind && err_is(error, ERR_DENIED))
                log_warning("what others use of a cluster cannot be seen: its nodes count as free", "cluster",
                            k8s->name, "reason", error->message, NULL);
        k8s->blind = error != NULL;
        connect_if_synced(k8s);
}

static void take_trouble(Kubernetes *k8s, const char **trouble, const char *what, const GError *error)
{
        bool told = is_troubled(k8s);

        *trouble = error ? what : NULL;
        if (!error) {
                connect_if_synced(k8s);
                return;
        }
        if (k8s->connected || !told)
                tell(k8s, OBSERVED_DISCONNECTED, NULL, error->message);
        k8s->connected = false;
}

static void on_pods_trouble(const GError *error, void *arg)
{
        take_trouble(arg, &((Kubernetes *)arg)->trouble[0], "pods", error);
}

static void on_nodes_trouble(KubeCache *cache, const GError *error, gint64 retry_ms, void *arg)
{
        take_trouble(arg, &((Kubernetes *)arg)->trouble[1], "nodes", error);
}

/* ---- the credential ---- */

#define CREDENTIAL_ENDED                                                                                     \
        "the API server does not take the credential any more (%s); give the cluster a new one: "            \
        "`paddle cluster set %s --kubeconfig FILE`"

static gboolean ask_whether_good(gpointer arg);

static void on_whether_good(const KubeReply *reply, void *arg)
{
        Kubernetes *k8s = arg;

        if (err_is(reply->error, ERR_UNAUTHENTICATED))
                set_timer(k8s, &k8s->doubt_timer, DOUBT_MS, ask_whether_good, k8s);
        else
                take_trouble(k8s, &k8s->trouble[2], "credential", NULL);
}

static gboolean ask_whether_good(gpointer arg)
{
        Kubernetes *k8s = arg;
        KubeRequest request = { .verb = KUBE_LIST, .kind = &kube_nodes, .limit = 1 };

        drop_source(&k8s->doubt_timer);
        kube_send(k8s->client, &request, on_whether_good, k8s);
        return G_SOURCE_REMOVE;
}

/* Watches that are open go on when a credential ends; whoever asks for something new is refused. */
static void doubt_credential(Kubernetes *k8s, const GError *error)
{
        g_autoptr(GError) said = NULL;

        if (!err_is(error, ERR_UNAUTHENTICATED) || k8s->trouble[2])
                return;
        err_set(&said, ERR_UNAUTHENTICATED, CREDENTIAL_ENDED, error->message, k8s->name);
        take_trouble(k8s, &k8s->trouble[2], "credential", said);
        (void)ask_whether_good(k8s);
}

/* A pod cannot be made for now. */
static void tell_why_not(Task *task, const GError *error)
{
        g_autofree char *text = err_is(error, ERR_UNAUTHENTICATED)
                                        ? g_strdup_printf(CREDENTIAL_ENDED, error->message, task->k8s->name)
                                        : g_strdup(error->message);

        tell_waits(task, text);
        doubt_credential(task->k8s, error);
}

static void on_deletion_failed(const GError *error, void *arg)
{
        doubt_credential(arg, error);
}

/* ---- starting ---- */

static bool is_lasting(const GError *error)
{
        return err_is(error, ERR_INVALID) || err_is(error, ERR_DENIED) || err_is(error, ERR_NOT_FOUND);
}

static void refuse(Task *task, const GError *error)
{
        Observation *end = observation_new(OBSERVED_START_FAILED, task->task, error->message);

        end->permanent = is_lasting(error);
        tell_end(task, end);
}

/* The pod that is there tells all else by the cache. */
static void on_pod_made(const GError *error, void *arg)
{
        Task *task = arg;

        if (!error)
                return;
        g_clear_pointer(&task->making, making_free);
        refuse(task, error);
}

static void on_pod_waits(const GError *error, void *arg)
{
        tell_why_not(arg, error);
}

static void on_set_waits(const char *name, const GError *error, void *arg)
{
        Task *task = g_hash_table_lookup(((Kubernetes *)arg)->tasks, name);

        if (task && !task->ended && !pod_of(task))
                tell_why_not(task, error);
}

static void on_set_failed(const char *name, const GError *error, void *arg)
{
        Task *task = g_hash_table_lookup(((Kubernetes *)arg)->tasks, name);

        if (task && !task->ended && !pod_of(task))
                refuse(task, error);
}

static bool lacks_pod(const char *name, void *arg)
{
        const Kubernetes *k8s = arg;
        const Task *task = g_hash_table_lookup(k8s->tasks, name);

        return task && !task->ended && !task->stopping && !task->end && !pod_of(task);
}

static void on_overdue(const char *name, const char *why, void *arg)
{
        if (lacks_pod(name, arg))
                tell_waits(g_hash_table_lookup(((Kubernetes *)arg)->tasks, name), why);
}

static void on_never(const char *name, const char *why, bool lost, void *arg)
{
        Observation *end;

        if (!lacks_pod(name, arg))
                return;
        end = observation_new(lost ? OBSERVED_LOST : OBSERVED_START_FAILED, name, why);
        end->permanent = !lost;
        tell_end(g_hash_table_lookup(((Kubernetes *)arg)->tasks, name), end);
}

static void on_set_made(const Form *form, const char *namespace, const GPtrArray *tasks, void *arg)
{
        overdue_watch(((Kubernetes *)arg)->overdue, form, namespace, tasks);
}

/* What stands where its pod should be, of the set that makes it. */
static bool is_of_set(const Task *task, const KubeKind *kind, const char *namespace, const char *name)
{
        g_autofree char *own = task->namespace ? form_object_name(kind, task->task) : NULL;

        return own && strcmp(own, name) == 0 && strcmp(task->namespace, namespace) == 0;
}

/* The pod of a set does not come, and why. */
static void tell_refused(Task *task, const char *words)
{
        g_autoptr(GError) error = NULL;

        if (task->ended || task->stopping || task->forgotten || task->dropping || pod_of(task))
                return;
        if (!refusal_lasts(words)) {
                tell_waits(task, words);
                return;
        }
        err_set(&error, ERR_DENIED, "%s", words);
        refuse(task, error);
}

static void on_refusal(const KubeKind *kind, const char *namespace, const char *name, void *arg)
{
        Kubernetes *k8s = arg;
        g_autoptr(GList) tasks = g_hash_table_get_values(k8s->tasks);

        for (GList *at = k8s->connected ? tasks : NULL; at; at = at->next)
                if (is_of_set(at->data, kind, namespace, name))
                        tell_refused(at->data, refusals_why(k8s->refusals, kind, namespace, name));
}

static void make_pod(Task *task, json_t *pod, json_t *before /* both taken */)
{
        Kubernetes *k8s = task->k8s;
        MakingConfig config = { .client = k8s->client,
                                .context = k8s->context,
                                .room = k8s->makings,
                                .gates = k8s->gates,
                                .done = on_pod_made,
                                .waits = on_pod_waits,
                                .arg = task };

        json_array_append_new(before, pod);
        task->making = making_new(&config, before);
}

/* ---- stopping ---- */

static bool is_pod_over(const json_t *pod)
{
        const char *phase = kube_get_text(pod, "status.phase");

        return g_strcmp0(phase, "Succeeded") == 0 || g_strcmp0(phase, "Failed") == 0;
}

/* One that is over goes at once. Else at least a second: without one the end would not be waited for, and
 * what still runs would be torn from the kubelet's hands. */
static gint64 grace_of(const Task *task)
{
        return is_pod_over(pod_of(task)) ? 0 : MAX(task->grace_s, 1);
}

/* Its pod goes, and nothing makes it again. What is being created is deleted as soon as it is there. */
static void stop_pod(Task *task)
{
        if (pod_of(task)) {
                delete_pod(task, grace_of(task));
        } else if (task->stopping && !is_wanted(task) && !task->ended) {
                Observation *end = observation_new(OBSERVED_EXITED, task->task, NULL);

                end->signal = task->killed ? SIGKILL : SIGTERM;
                tell_end(task, end);
        } else {
                settle(task);
        }
}

static void on_dropped(const char *name, void *arg)
{
        Kubernetes *k8s = arg;
        Task *task = g_hash_table_lookup(k8s->tasks, name);

        if (!task)
                return;
        task->dropping = false;
        task->dropped = true;
        if (task->stopping || task->forgotten || !pod_of(task))
                stop_pod(task);
        else if (k8s->connected)
                pod_there(k8s, pod_of(task));
}

/* ---- where its role stands, of which nothing is seen ---- */

typedef struct {
        Kubernetes *k8s;
        char *task;
        int pending; /* replies */
} Search;

static void drop_and_stop(Task *task);

static void end_search(Search *search)
{
        Task *task = g_hash_table_lookup(search->k8s->tasks, search->task);

        if (task) {
                task->dropping = false;
                if (task->namespace)
                        drop_and_stop(task);
                else
                        stop_pod(task); /* there is nothing of it */
        }
        g_free(search->task);
        g_free(search);
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

/* By its attempt's service, which is made first and goes last. */
static void search_for(Task *task)
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
        task->dropping = true;
        do {
                request.namespace = *at;
                search->pending++;
                kube_send(k8s->client, &request, on_searched, search);
        } while (*at && *++at);
}

/* What makes its pod goes before the pod. Of a pod that is not there nobody knows what would make it. */
static void drop_and_stop(Task *task)
{
        const json_t *pod = pod_of(task);

        if (task->dropping)
                return;
        if (task->making && making_is_refused(task->making))
                g_clear_pointer(&task->making, making_free);
        if ((pod && !form_kind_of(pod)) || task->making) {
                stop_pod(task);
        } else if (!task->namespace) {
                search_for(task);
        } else {
                task->dropping = true;
                sets_drop(task->k8s->sets, task->task, task->namespace, pod ? form_kind_of(pod) : NULL);
        }
}

/* ---- orders of the engine ---- */

struct Order {
        void (*run)(Order *order);
        Kubernetes *k8s;
        char *name; /* of the task or the job */
        char *namespace, *job_id;
        char *pod,
                *before; /* as text: there may be thousands of them, which as trees take ten times as much */
        json_t *group, *queues; /* of Volcano */
        RuntimeAsk *ask;
        gint64 grace_ms;
        int number;     /* attempt, signal */
        gint64 expires; /* of what is kept */
        char *image, *package, *package_name, *requirements;
        char *text; /* of a mark */
        const Form *form;
        int together, members;
};

static void order_free(gpointer data)
{
        Order *order = data;

        g_free(order->name);
        g_free(order->namespace);
        g_free(order->job_id);
        runtime_ask_free(order->ask);
        g_free(order->pod);
        g_free(order->before);
        json_decref(order->group);
        json_decref(order->queues);
        g_free(order->image);
        g_free(order->package);
        g_free(order->package_name);
        g_free(order->requirements);
        g_free(order->text);
        g_free(order);
}

static void run_order(Order *order /* taken */)
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

static void give(Kubernetes *k8s, const Order *order)
{
        GSource *source = g_idle_source_new();
        Order *own = g_memdup2(order, sizeof *order);

        own->k8s = k8s;
        g_source_set_priority(source, G_PRIORITY_DEFAULT);
        g_source_set_callback(source, on_order, own, order_free);
        g_source_attach(source, k8s->context);
        g_source_unref(source);
}

/* The object that `other` is of makes the pod of the task, too. */
static bool is_made_with(const char *task, const Task *other)
{
        const json_t *pod = pod_of(other);
        const KubeKind *kind = pod ? form_kind_of(pod) : NULL;
        g_autofree char *name = kind ? form_object_name(kind, task) : NULL;
        g_autofree char *own = kind ? form_object_name(kind, other->task) : NULL;
        g_auto(GStrv) parts = g_strsplit(task, ".", 4);

        return kind && strcmp(own, name) == 0 &&
               (form_kind_is_whole(kind) || g_ascii_strtoll(parts[3], NULL, 10) < form_members(pod));
}

static bool is_in_set(Kubernetes *k8s, const Order *order)
{
        GHashTableIter iter;
        gpointer task;

        g_hash_table_iter_init(&iter, k8s->tasks);
        while (g_hash_table_iter_next(&iter, NULL, &task))
                if (is_made_with(order->name, task))
                        return true;
        return false;
}

/* All of its role at once, or of its job: as one object. It may be there, with its pods refused. */
static void start_in_set(Task *task, Order *order)
{
        Kubernetes *k8s = order->k8s;
        const KubeKind *kind = form_kind(order->form);
        g_autofree char *name = form_object_name(kind, task->task);
        const char *why = refusals_why(k8s->refusals, kind, task->namespace, name);

        if (why && !pod_of(task))
                tell_waits(task, why);

        sets_add(k8s->sets, &(SetsMember){ .form = order->form,
                                           .task = task->task,
                                           .together = order->together,
                                           .before = making_tree(order->before),
                                           .pod = making_tree(order->pod),
                                           .stands = pod_of(task) != NULL });
}

static void make_group(Kubernetes *k8s, Order *order)
{
        if (k8s->volcano && order->group)
                volcano_make_group(k8s->volcano, g_steal_pointer(&order->group));
}

/* A member that had to leave comes back under its name. */
static bool waits_for_its_end(const Task *task)
{
        return pod_of(task) && (task->forgotten || task->stopping);
}

static void start_again(Task *task, Order *order)
{
        if (task->again)
                order_free(task->again);
        task->again = g_memdup2(order, sizeof *order);
        *order = (Order){ .k8s = order->k8s };
        task->kept = false;
        drop_and_stop(task);
}

static void run_start(Order *order)
{
        Kubernetes *k8s = order->k8s;
        Task *task = task_get(k8s, order->name);
        g_autoptr(GError) error = NULL;

        if (waits_for_its_end(task)) {
                start_again(task, order);
                return;
        }
        if (!is_wanted(task) && !pod_of(task))
                task->started = task->ready = task->ended = task->stopping = task->forgotten = task->kept =
                        task->preempted = task->stuck = task->dropped = false;
        place(task, order->namespace, order->job_id, order->number);
        if (!scope_covers(k8s->pods, task->namespace)) {
                err_set(&error, ERR_DENIED,
                        "namespace '%s': the account of cluster '%s' may not list pods in all namespaces\n"
                        "Let it, or name the namespace in the cluster's list of namespaces.",
                        task->namespace, k8s->name);
                refuse(task, error);
        } else if (order->form && order->together == order->members) {
                make_group(k8s, order);
                start_in_set(task, order);
        } else if (!is_wanted(task) && !pod_of(task) && !is_in_set(order->k8s, order)) {
                make_group(k8s, order);
                make_pod(task, making_tree(order->pod), making_tree(order->before));
        }
}

/* It never was; what is told of the stay before is older. */
static void give_up_again(Task *task)
{
        Observation *end = observation_new(OBSERVED_EXITED, task->task, NULL);

        order_free(g_steal_pointer(&task->again));
        end->signal = SIGTERM;
        task->k8s->observe(end, task->k8s->observe_arg);
}

static bool is_passing(const json_t *pod)
{
        return form_is_passing(form_kind_of(pod), kube_label(pod, "paddle-role"));
}

static void run_stop(Order *order)
{
        Task *task = task_get(order->k8s, order->name);

        if (task->again)
                give_up_again(task);
        else if (is_pod_over(pod_of(task)) &&
                 !is_passing(pod_of(task))) /* it ended by itself, which is told */
                return;
        task->killed |= order->grace_ms == 0;
        task->stopping = true;
        task->grace_s = (order->grace_ms + 999) / 1000;
        drop_and_stop(task);
}

/* What makes this pod makes those of all other roles: one member's end must not take it away. */
static bool is_of_whole(const json_t *pod)
{
        const KubeKind *kind = form_kind_of(pod);

        return kind && form_kind_is_whole(kind);
}

/* One that we stopped is on its way out, and may come back under its name. */
static bool may_stay(const Task *task, const json_t *pod)
{
        return pod && (is_pod_over(pod) || is_of_whole(pod)) && !task->stopping && !task->given_up &&
               !kube_is_deleting(pod);
}

static void keep(Task *task, const json_t *pod)
{
        g_auto(MemberLook) look = { 0 };
        g_autofree char *service =
                member_look(pod, &look) ? member_service_name(look.job_id, look.attempt) : NULL;

        task->kept = true;
        kept_add(task->k8s->kept, service, task->namespace, task->task);
}

static void run_forget(Order *order)
{
        Task *task = task_get(order->k8s, order->name);
        const json_t *pod = pod_of(task);

        task->forgotten = true;
        if (may_stay(task, pod))
                keep(task, pod);
        else if (pod && form_kind_of(pod))
                drop_and_stop(task);
        else
                stop_pod(task);
}

static void drop_group(Kubernetes *k8s, const char *namespace, const char *name)
{
        if (k8s->volcano)
                volcano_drop_group(k8s->volcano, namespace, name);
}

/* `name`: of its service, and of its group. */
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
                        drop_and_stop(task);
        }
        delete_attempt(k8s, attempt->namespace, attempt->service);
        g_hash_table_remove(k8s->places, attempt->service);
}

static gboolean on_kept_timer(gpointer arg);

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
                set_timer(k8s, &k8s->kept_timer, (guint)CLAMP(next - now, 1, KEPT_MAX_MS), on_kept_timer,
                          k8s);
        else
                drop_source(&k8s->kept_timer);
}

static gboolean on_kept_timer(gpointer arg)
{
        delete_due(arg);
        return G_SOURCE_REMOVE;
}

/* Where the attempt was is not known any more: its service is looked for. */
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

static void run_clean(Order *order)
{
        Kubernetes *k8s = order->k8s;
        g_autofree char *service = member_service_name(order->name, order->number);
        const char *namespace = g_hash_table_lookup(k8s->places, service);

        if (kept_set(k8s->kept, service, order->expires)) {
                if (namespace) /* nobody is left of it who holds anything */
                        drop_group(k8s, namespace, service);
                delete_due(k8s);
                return;
        }
        if (namespace)
                delete_attempt(k8s, namespace, service);
        else
                find_service(k8s, service);
        g_hash_table_remove(k8s->places, service);
}

static void op_inventory(Runtime *runtime, Resources *ret_total);

/* The kubeconfig's namespace is for jobs that ask for none. */
static MemberHome home_of(const Kubernetes *k8s, const RuntimeJob *job)
{
        return (MemberHome){ job->namespace ? job->namespace : k8s->namespaces[0], k8s->server };
}

static void run_no_image(Order *order)
{
        Task *task = task_get(order->k8s, order->name);
        Observation *end = observation_new(OBSERVED_START_FAILED, task->task,
                                           "what was prepared for the job is not there any more\n"
                                           "Submit the job again to have it made anew.");

        end->permanent = true;
        tell_end(task, end);
}

/* The service by which the others find it, and the secret to pull its image with. */
static json_t *before_pod(const Kubernetes *k8s, const MemberHome *home, const RuntimeJob *job,
                          json_t *package)
{
        json_t *list = json_pack("[o]", member_service(home, job->id, job->attempt));

        if (package) {
                json_array_append_new(list, package_gate(home));
                json_array_append_new(list, package);
        } else if (images_is_needed(job) && k8s->pull_secret) {
                json_array_append_new(list, image_pull_secret(&k8s->setting->registry, home->namespace));
        }
        return list;
}

/* Without a registry there is no image of its own: the package goes into the pods by itself, and what is
 * required has to be in the image that it names. */
static bool goes_by_itself(const Kubernetes *k8s)
{
        return !k8s->setting->registry.address;
}

static bool equip_by_itself(const Kubernetes *k8s, const MemberHome *home, const RuntimeJob *job,
                            json_t *spec, json_t **ret_package)
{
        if (environment_is_needed(job->requirements))
                package_require(spec, job->requirements);
        if (!job->package)
                return true;
        *ret_package = package_map(k8s->state_dir, home, job, NULL);
        if (*ret_package)
                package_put(spec, job);
        return *ret_package != NULL;
}

/* How the job's package and requirements come to its pod: by the image that was built for it, or in a
 * ConfigMap, which is returned then. False: they are not there any more. */
static bool equip(const Kubernetes *k8s, const MemberHome *home, const RuntimeJob *job, json_t *spec,
                  json_t **ret_package)
{
        g_autofree char *image = NULL;

        *ret_package = NULL;
        if (!images_is_needed(job))
                return true;
        if (goes_by_itself(k8s))
                return equip_by_itself(k8s, home, job, spec, ret_package);
        image = images_of_job(k8s->state_dir, job->id);
        if (image)
                image_put(spec, MEMBER_CONTAINER, image, job->package != NULL, k8s->pull_secret);
        return image != NULL;
}

/* What clients of PaddleFlow and Volcano find at a pod. The attempt's group; NULL: there is none. */
static json_t *fill_pod(Kubernetes *k8s, const MemberHome *home, const RuntimeJob *job, const char *role,
                        json_t *pod)
{
        const char *classes[G_N_ELEMENTS(template_classes)], *class;
        TemplateCluster cluster = k8s->template;
        Resources total;

        g_mutex_lock(&k8s->lock);
        memcpy(classes, k8s->classes, sizeof classes);
        g_mutex_unlock(&k8s->lock);
        cluster.classes = classes;
        template_fill(&cluster, job, role, pod);
        if (!cluster.scheduler)
                return NULL;
        class = template_class(job->about->priority);
        op_inventory(&k8s->runtime, &total);
        volcano_join(pod, job, role);
        return volcano_group(home, job, &total, g_strv_contains(classes, class) ? class : NULL);
}

static bool op_orders(Runtime *runtime, const RuntimeJob *job)
{
        const Form *form = form_of_operator(&((Kubernetes *)runtime)->forms, job);

        return form && form_is_whole(form);
}

static void op_start(Runtime *runtime, const RuntimeJob *job, const TaskStart *task)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        const Form *form = form_of(&k8s->forms, job, task);
        MemberHome home = home_of(k8s, job);
        RuntimeJob about = *job;
        g_autofree char *role = member_role(task->task);
        g_auto(GStrv) env = form_env(form, job, role, task);
        TaskStart own = *task;
        json_t *spec, *group, *package;
        g_autoptr(json_t) pod = NULL, before = NULL;

        if (!about.image)
                about.image = k8s->setting->image;
        own.argv = form_argv(form, job, role, task);
        own.env = env;
        pod = member_pod(&home, &about, &own);
        spec = json_object_get(pod, "spec");
        volume_put(&k8s->volumes, job, spec, MEMBER_CONTAINER);
        if (!equip(k8s, &home, job, spec, &package)) {
                give(k8s, &(Order){ .run = run_no_image, .name = g_strdup(task->task) });
                return;
        }
        group = fill_pod(k8s, &home, job, role, pod);
        if (form && form_groups(form))
                json_decref(g_steal_pointer(&group));
        if (!form || !form_is_whole(form))
                gate_wait(pod, task->wait_for);
        before = before_pod(k8s, &home, job, package);
        give(k8s, &(Order){ .run = run_start,
                            .name = g_strdup(task->task),
                            .namespace = g_strdup(home.namespace),
                            .job_id = g_strdup(job->id),
                            .number = job->attempt,
                            .form = form,
                            .together = form && form_is_whole(form) ? task->job_together : task->together,
                            .members = form && form_is_whole(form) ? task->job_members : task->members,
                            .pod = json_format(pod),
                            .group = group,
                            .before = json_format(before) });
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

static void op_clean(Runtime *runtime, const char *job_id, int attempt, gint64 expires)
{
        give((Kubernetes *)runtime,
             &(Order){ .run = run_clean, .name = g_strdup(job_id), .number = attempt, .expires = expires });
}

static void run_signal(Order *order)
{
        const Task *task = g_hash_table_lookup(order->k8s->tasks, order->name);

        if (task && pod_of(task))
                signals_send(order->k8s->signals, task->namespace, task->pod, member_container(pod_of(task)),
                             order->number);
}

static void op_signal(Runtime *runtime, const char *task, int signo)
{
        give((Kubernetes *)runtime, &(Order){ .run = run_signal, .name = g_strdup(task), .number = signo });
}

/* Who may not say it there says it in the job's events all the same. */
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

        if (task && pod_of(task))
                kube_send(order->k8s->client,
                          &(KubeRequest){ .verb = KUBE_PATCH,
                                          .kind = &kube_pods,
                                          .namespace = task->namespace,
                                          .name = task->pod,
                                          .patch = PATCH_MERGE,
                                          .body = patch },
                          on_marked, order->k8s->name);
}

static void op_mark_preempting(Runtime *runtime, const char *task, const char *why)
{
        give((Kubernetes *)runtime,
             &(Order){ .run = run_mark, .name = g_strdup(task), .text = g_strdup(why ? why : "") });
}

/* On the thread. */
static bool find_pod(void *arg, const char *task_name, const char **ret_namespace, const char **ret_pod,
                     const char **ret_container)
{
        const Kubernetes *k8s = arg;
        const Task *task = g_hash_table_lookup(k8s->tasks, task_name);

        if (!task || !pod_of(task))
                return false;
        *ret_namespace = task->namespace;
        *ret_pod = task->pod;
        *ret_container = member_container(pod_of(task));
        return true;
}

static RuntimeExec *op_exec(Runtime *runtime, const char *task, const ExecStart *start)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        const TerminalPod about = {
                .client = k8s->client, .task = (char *)task, .find = find_pod, .arg = k8s
        };

        return exec_new(k8s->terminals, &terminal_pod_ops, start, terminal_pod_copy(&about),
                        terminal_pod_free);
}

static bool op_usage(Runtime *runtime, const char *task, TaskUsage *ret)
{
        return usages_get(((Kubernetes *)runtime)->usages, task, ret);
}

static void run_queues(Order *order)
{
        if (order->k8s->volcano)
                volcano_take_queues(order->k8s->volcano, g_steal_pointer(&order->queues));
}

static void op_queues(Runtime *runtime, const GPtrArray *queues)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        json_t *list = json_array();

        if (k8s->template.scheduler)
                for (guint i = 0; i < queues->len; i++)
                        json_array_append_new(list, volcano_queue(queues->pdata[i], k8s->server));
        give(k8s, &(Order){ .run = run_queues, .queues = list });
}

static void run_ask(Order *order)
{
        asker_ask(order->k8s->asker, g_steal_pointer(&order->ask));
}

static void op_ask(Runtime *runtime, RuntimeAsk *ask)
{
        give((Kubernetes *)runtime, &(Order){ .run = run_ask, .ask = ask });
}

/* ---- what a job needs ---- */

/* Why it cannot run here; the caller's, NULL: it can. */
static char *problem_of(const Kubernetes *k8s, const RuntimeJob *job)
{
        const char *const *allowed = (const char *const *)k8s->namespaces;

        if (!job->image && !k8s->setting->image)
                return g_strdup_printf("cluster '%s' runs members in images, and the job names none\n"
                                       "Name one with --base-image, or one for all in the cluster's setting.",
                                       k8s->name);
        if (k8s->template.k3s && job->about && spec_members(job->about->spec) != 1)
                return g_strdup_printf("cluster '%s' is of type K3S, which runs single pods: a job has one "
                                       "member there",
                                       k8s->name);
        if (job->namespace && !k8s->any_namespace && !g_strv_contains(allowed, job->namespace)) {
                g_autofree char *words = g_strjoinv(", ", k8s->namespaces);

                return g_strdup_printf("namespace '%s' is not one of cluster '%s', which has %s",
                                       job->namespace, k8s->name, words);
        }
        return volume_problem(&k8s->volumes, job);
}

static bool op_is_prepared(Runtime *runtime, const RuntimeJob *job)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        g_autofree char *problem = problem_of(k8s, job);
        bool packed =
                goes_by_itself(k8s) && (!job->package || package_is_packed(k8s->state_dir, job->package));

        return !problem && (packed || !images_is_needed(job));
}

typedef struct {
        Kubernetes *k8s; /* not the thread's */
        char *state_dir, *job_id, *package;
        GError *error;
} Packing;

static void pack(void *arg)
{
        Packing *packing = arg;

        (void)package_pack(packing->state_dir, packing->package, &packing->error);
}

static void on_packed(void *arg)
{
        const Packing *packing = arg;

        tell(packing->k8s, packing->error ? OBSERVED_PREPARE_FAILED : OBSERVED_PREPARED, packing->job_id,
             packing->error ? packing->error->message : NULL);
}

static void packing_free(void *arg)
{
        Packing *packing = arg;

        g_free(packing->state_dir);
        g_free(packing->job_id);
        g_free(packing->package);
        g_clear_error(&packing->error);
        g_free(packing);
}

static void run_prepare(Order *order)
{
        Kubernetes *k8s = order->k8s;

        if (!k8s->images) {
                Packing *packing = g_new0(Packing, 1);

                packing->k8s = k8s;
                packing->state_dir = g_strdup(k8s->state_dir);
                packing->job_id = g_steal_pointer(&order->name);
                packing->package = g_steal_pointer(&order->package);
                (void)aside_run(k8s->context, &(AsideWork){ pack, on_packed, packing_free, packing });
                return;
        }
        images_want(order->k8s->images, &(RuntimeJob){ .id = order->name,
                                                       .image = order->image,
                                                       .package = order->package,
                                                       .package_name = order->package_name,
                                                       .requirements = order->requirements });
}

static void op_prepare(Runtime *runtime, const RuntimeJob *job)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        g_autofree char *problem = problem_of(k8s, job);

        if (problem || !images_is_needed(job) || (goes_by_itself(k8s) && !job->package)) {
                tell(k8s, problem ? OBSERVED_PREPARE_FAILED : OBSERVED_PREPARED, job->id, problem);
                return;
        }
        give(k8s, &(Order){ .run = run_prepare,
                            .name = g_strdup(job->id),
                            .image = g_strdup(job->image ? job->image : k8s->setting->image),
                            .package = g_strdup(job->package),
                            .package_name = g_strdup(job->package_name),
                            .requirements = g_strdup(job->requirements) });
}

static void run_abandon(Order *order)
{
        if (order->k8s->images)
                images_abandon(order->k8s->images, order->name);
}

static void op_abandon(Runtime *runtime, const char *job_id)
{
        give((Kubernetes *)runtime, &(Order){ .run = run_abandon, .name = g_strdup(job_id) });
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
        Kubernetes *k8s = (Kubernetes *)runtime;

        if (strcmp(role, "environment") == 0)
                return images_log_path(k8s->state_dir, job_id);
        return log_path(k8s, job_id, attempt, role, index);
}

static char *op_address(Runtime *runtime, const RuntimeJob *job, const char *role, int index)
{
        MemberHome home = home_of((Kubernetes *)runtime, job);

        return member_address(&home, job->id, job->attempt, role, index);
}

static GPtrArray *op_nodes(Runtime *runtime)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        GPtrArray *copy = g_ptr_array_new_with_free_func(node_free_p);

        g_mutex_lock(&k8s->lock);
        for (guint i = 0; i < k8s->inventory->len; i++)
                g_ptr_array_add(copy, runtime_node_copy(k8s->inventory->pdata[i]));
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

static void trim_node(json_t *node)
{
        json_object_del(json_object_get(node, "status"), "images");
        json_object_del(json_object_get(node, "metadata"), "annotations");
}

static void open_others(Kubernetes *k8s)
{
        KubeCacheEvents events = {
                .synced = on_cache_synced, .trouble = on_others_trouble, .changed = on_other, .arg = k8s
        };

        k8s->others_selector = neighbours_selector(k8s->server);
        k8s->others = kube_cache_new(k8s->client,
                                     &(KubeCacheConfig){ .kind = kube_pods,
                                                         .label_selector = k8s->others_selector,
                                                         .field_selector = NEIGHBOURS_FIELDS,
                                                         .trim = neighbours_trim },
                                     &events);
}

static void open_caches(Kubernetes *k8s)
{
        const MemberHome home = { k8s->namespaces[0], k8s->server };
        const ScopeEvents pods = { on_pod, on_pods_synced, on_pods_trouble, k8s };
        const KubeCacheEvents nodes = {
                .changed = on_node, .synced = on_cache_synced, .trouble = on_nodes_trouble, .arg = k8s
        };

        k8s->sets = sets_new(&(SetsConfig){ .client = k8s->client,
                                            .context = k8s->context,
                                            .room = k8s->makings,
                                            .gates = k8s->gates,
                                            .made = on_set_made,
                                            .failed = on_set_failed,
                                            .waits = on_set_waits,
                                            .dropped = on_dropped,
                                            .arg = k8s });
        k8s->overdue = overdue_new(&(OverdueConfig){ .client = k8s->client,
                                                     .context = k8s->context,
                                                     .lacks = lacks_pod,
                                                     .waits = on_overdue,
                                                     .failed = on_never,
                                                     .arg = k8s });
        k8s->selector = member_selector(&home);
        k8s->pods = scope_new(k8s->client,
                              &(ScopeConfig){ .context = k8s->context,
                                              .kind = kube_pods,
                                              .label_selector = k8s->selector,
                                              .trim = member_trim,
                                              .namespaces = (const char *const *)k8s->namespaces },
                              &pods);
        k8s->nodes = kube_cache_new(k8s->client, &(KubeCacheConfig){ .kind = kube_nodes, .trim = trim_node },
                                    &nodes);
        k8s->refusals = refusals_new(&(RefusalsConfig){ .client = k8s->client,
                                                        .context = k8s->context,
                                                        .namespaces = (const char *const *)k8s->namespaces,
                                                        .cluster = k8s->name,
                                                        .told = on_refusal,
                                                        .arg = k8s });
        k8s->deletions = deletions_new(&(DeletionsConfig){ .client = k8s->client,
                                                           .context = k8s->context,
                                                           .cluster = k8s->name,
                                                           .failed = on_deletion_failed,
                                                           .arg = k8s });
        open_others(k8s);
}

static void on_image(const char *job_id, const char *problem, void *arg)
{
        tell(arg, problem ? OBSERVED_PREPARE_FAILED : OBSERVED_PREPARED, job_id, problem);
}

static void open_images(Kubernetes *k8s)
{
        if (k8s->setting->registry.address)
                k8s->images = images_new(&(ImagesConfig){ .client = k8s->client,
                                                          .context = k8s->context,
                                                          .logs = k8s->logs,
                                                          .setting = k8s->setting,
                                                          .cluster = k8s->name,
                                                          .namespace = k8s->namespaces[0],
                                                          .state_dir = k8s->state_dir,
                                                          .log_limit = k8s->log_limit,
                                                          .done = on_image,
                                                          .arg = k8s });
}

/* What is said of a group is said of its members. */
static void on_group(const char *namespace, const char *name, void *arg)
{
        Kubernetes *k8s = arg;
        g_autoptr(GPtrArray) pods = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
        GHashTableIter iter;
        gpointer task;

        if (!k8s->connected)
                return;
        g_hash_table_iter_init(&iter, k8s->tasks);
        while (g_hash_table_iter_next(&iter, NULL, &task)) {
                const json_t *pod = pod_of(task);
                g_auto(MemberLook) look = { 0 };
                g_autofree char *group = pod && member_look(pod, &look)
                                                 ? member_service_name(look.job_id, look.attempt)
                                                 : NULL;

                if (group && strcmp(group, name) == 0 && strcmp(kube_namespace(pod), namespace) == 0)
                        g_ptr_array_add(pods, json_incref((json_t *)pod));
        }
        for (guint i = 0; i < pods->len; i++)
                pod_there(k8s, pods->pdata[i]);
}

static void open_volcano(Kubernetes *k8s)
{
        k8s->volcano = volcano_new(&(VolcanoConfig){ .client = k8s->client,
                                                     .context = k8s->context,
                                                     .selector = k8s->selector,
                                                     .namespaces = (const char *const *)k8s->namespaces,
                                                     .cluster = k8s->name,
                                                     .changed = on_group,
                                                     .arg = k8s });
}

static void *run(void *arg)
{
        Kubernetes *k8s = arg;

        g_main_context_push_thread_default(k8s->context);
        k8s->asker = asker_new(k8s->client);
        k8s->signals = signals_new(k8s->client, k8s->name);
        k8s->logs = follow_room_new(k8s->client, k8s->context, (guint)k8s->setting->log_streams);
        open_caches(k8s);
        ask_for_classes(k8s);
        open_images(k8s);
        if (k8s->template.scheduler)
                open_volcano(k8s);
        if (k8s->pending_ms > 0)
                set_timer(k8s, &k8s->stuck_timer, (guint)CLAMP(k8s->pending_ms / 4, 100, STUCK_MS),
                          on_stuck_timer, k8s);
        g_main_loop_run(k8s->loop);
        g_clear_pointer(&k8s->tasks, g_hash_table_unref);
        g_clear_pointer(&k8s->sets, sets_free);
        g_clear_pointer(&k8s->overdue, overdue_free);
        drop_source(&k8s->nodes_timer);
        drop_source(&k8s->kept_timer);
        drop_source(&k8s->doubt_timer);
        drop_source(&k8s->stuck_timer);
        g_clear_pointer(&k8s->images, images_free);
        g_clear_pointer(&k8s->logs, follow_room_free);
        usages_stop(k8s->usages);
        exec_room_close(k8s->terminals);
        g_clear_pointer(&k8s->signals, signals_free);
        g_clear_pointer(&k8s->pods, scope_free);
        g_clear_pointer(&k8s->refusals, refusals_free);
        g_clear_pointer(&k8s->deletions, deletions_free);
        g_clear_pointer(&k8s->nodes, kube_cache_free);
        g_clear_pointer(&k8s->others, kube_cache_free);
        g_clear_pointer(&k8s->asker, asker_free);
        g_clear_pointer(&k8s->volcano, volcano_free);
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
        usages_free(k8s->usages);
        exec_room_free(k8s->terminals);
        kube_client_free(k8s->client);
        g_main_loop_unref(k8s->loop);
        g_main_context_unref(k8s->context);
        g_ptr_array_unref(k8s->inventory);
        g_mutex_clear(&k8s->lock);
        kube_config_free(k8s->config);
        neighbours_free(k8s->neighbours);
        g_free(k8s->selector);
        g_free(k8s->others_selector);
        g_free(k8s->pull_secret);
        setting_free(k8s->setting);
        g_free(k8s->dc);
        g_hash_table_unref(k8s->places);
        g_hash_table_unref(k8s->gates);
        kept_free(k8s->kept);
        making_room_free(k8s->makings);
        g_strfreev(k8s->namespaces);
        g_free(k8s->server);
        g_free(k8s->state_dir);
        g_free(k8s->name);
        g_free(k8s);
}

static const RuntimeOps kubernetes_ops = {
        .name = "kubernetes",
        .uses_images = true,
        .gates = true,
        .orders = op_orders,
        .open = op_open,
        .close = op_close,
        .inventory = op_inventory,
        .nodes = op_nodes,
        .address = op_address,
        .prepare = op_prepare,
        .is_prepared = op_is_prepared,
        .abandon = op_abandon,
        .lease_ports = op_lease_ports,
        .keep_ports = op_keep_ports,
        .release_ports = op_release_ports,
        .start = op_start,
        .stop = op_stop,
        .signal = op_signal,
        .mark_preempting = op_mark_preempting,
        .usage = op_usage,
        .exec = op_exec,
        .forget = op_forget,
        .clean = op_clean,
        .log_path = op_log_path,
        .queues = op_queues,
        .ask = op_ask,
        .free = op_free,
};

/* ---- making one ---- */

static Setting *read_setting(const KubernetesConfig *config, GError **error)
{
        Setting *setting = setting_parse(config->setting, error);

        if (!setting)
                (void)err_prefix(error, "cluster '%s', setting: ", config->name);
        return setting;
}

/* The kubeconfig's is for jobs that ask for none, unless the cluster's list does not have it. */
static char **namespaces_of(const KubernetesConfig *config, const KubeConfig *cluster)
{
        static const char *const none[] = { NULL };
        const char *const *list = config->namespaces && *config->namespaces ? config->namespaces : none;
        const char *first = !*list || g_strv_contains(list, cluster->namespace) ? cluster->namespace : *list;
        GPtrArray *all = g_ptr_array_new();

        g_ptr_array_add(all, g_strdup(first));
        for (; *list; list++)
                if (strcmp(*list, first) != 0)
                        g_ptr_array_add(all, g_strdup(*list));
        g_ptr_array_add(all, NULL);
        return (char **)g_ptr_array_free(all, FALSE);
}

Runtime *kubernetes_runtime_new(const KubernetesConfig *config, GError **error)
{
        g_autoptr(Setting) setting = read_setting(config, error);
        KubeConfig *cluster = setting ? credential_parse(config->name, config->credential, error) : NULL;
        Kubernetes *k8s;

        if (!cluster)
                return NULL;
        k8s = g_new0(Kubernetes, 1);
        k8s->runtime.ops = &kubernetes_ops;
        k8s->config = cluster;
        k8s->name = g_strdup(config->name);
        k8s->state_dir = g_strdup(config->state_dir);
        k8s->server = g_strdup(config->server);
        k8s->dc = g_strdup(config->dc);
        k8s->any_namespace = !config->namespaces || !*config->namespaces;
        k8s->namespaces = namespaces_of(config, cluster);
        k8s->places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        k8s->makings = making_room_new();
        k8s->gates = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        k8s->kept = kept_new();
        k8s->pending_ms = config->pending_ms;
        k8s->log_limit = config->log_limit;
        k8s->setting = g_steal_pointer(&setting);
        k8s->forms = (FormWish){ k8s->setting->form, config->k3s ? NULL : k8s->setting->operators };
        k8s->template.k3s = config->k3s;
        k8s->template.scheduler = k8s->setting->volcano && !config->k3s ? VOLCANO_SCHEDULER : NULL;
        k8s->volumes = (VolumeMap){ k8s->setting, k8s->dc };
        k8s->pull_secret = image_pull_secret_name(&k8s->setting->registry);
        k8s->context = g_main_context_new();
        k8s->loop = g_main_loop_new(k8s->context, FALSE);
        k8s->terminals = exec_room_new(k8s->context);
        k8s->tasks = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, task_free);
        k8s->inventory = g_ptr_array_new_with_free_func(node_free_p);
        k8s->neighbours = neighbours_new();
        g_mutex_init(&k8s->lock);
        k8s->client = kube_client_new(cluster,
                                      &(KubeClientOptions){ .context = k8s->context,
                                                            .agent = "paddled/" PADDLE_VERSION },
                                      error);
        if (k8s->client) {
                k8s->usages = usages_new(k8s->client, k8s->context, k8s->name);
                return &k8s->runtime;
        }
        op_free(&k8s->runtime);
        return NULL;
}
