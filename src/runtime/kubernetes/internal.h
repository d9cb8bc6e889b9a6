/* What the files of the runtime share (kubernetes.c says how it works); private to this folder.
 *
 * member-state.c decides what happens to a member; it is pure. task.c gathers the facts for that, and carries
 * out the actions. pods.c, life.c, orders.c and connection.c bring the events: what pods say, replies of the
 * API server, orders of the engine, the caches. prepare.c has what a job brings along. All on the runtime's
 * thread, unless a function says otherwise. */
#pragma once

#include "kube/cache.h"
#include "base/timer.h"
#include "kube/client.h"
#include "runtime/environment/bounds.h"
#include "runtime/kubernetes/cluster/asker.h"
#include "runtime/kubernetes/cluster/neighbours.h"
#include "runtime/kubernetes/cluster/overdue.h"
#include "runtime/kubernetes/cluster/refusals.h"
#include "runtime/kubernetes/cluster/scope.h"
#include "runtime/kubernetes/cluster/pod-usage.h"
#include "runtime/kubernetes/cluster/volcano.h"
#include "runtime/kubernetes/image/images.h"
#include "runtime/kubernetes/image/packing.h"
#include "runtime/kubernetes/log/follow.h"
#include "runtime/kubernetes/member-state.h"
#include "runtime/kubernetes/object/deletions.h"
#include "runtime/kubernetes/object/kept.h"
#include "runtime/kubernetes/object/make.h"
#include "runtime/kubernetes/object/sets.h"
#include "runtime/kubernetes/object/sweep.h"
#include "runtime/kubernetes/pod/form.h"
#include "runtime/kubernetes/pod/member.h"
#include "runtime/kubernetes/pod/setting.h"
#include "runtime/kubernetes/pod/template.h"
#include "runtime/kubernetes/pod/volume.h"
#include "runtime/kubernetes/signals.h"
#include "runtime/kubernetes/pod-terminal.h"
#include "runtime/runtime.h"

typedef struct Kubernetes Kubernetes;
typedef struct Order Order;

/* A member. */
typedef struct {
        Kubernetes *k8s;
        char *task;
        char *pod;           /* its name; of a pod that a Job creates: known when it was seen */
        char *duplicate;     /* the name of a second pod that its Job created; or NULL */
        char *namespace;     /* NULL: not known, it has no pod */
        MemberStatus status; /* task_step moves it */
        Making *making;      /* of a pod that this server creates itself; until it is seen */
        const Form *form;    /* of the object that creates its pod; NULL: the server creates it */
        KubeCall *question;  /* whether its pod exists; or NULL */
        Order *again;        /* a start that waits until the earlier pod has gone; or NULL */
        Follow *follow;
        Observation *end; /* while it is draining */
        char *given_up;   /* why the deletion of its pod was forced; or NULL */
        char *waits;      /* told */
        gint64 grace_s;   /* when it is stopped */
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
        BuildBounds bounds; /* of builders of images */
        KubeConfig *config;
        ObserveFunc observe;
        void *observe_arg;

        GThread *thread;
        GMainContext *context;
        GMainLoop *loop;

        /* From here on the runtime's thread alone. */
        KubeClient *client;
        Images *images; /* NULL: there is no registry */
        Packings *packings;
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
        Usages *usages;    /* its reading is for any thread */
        GHashTable *tasks; /* task -> Task */
        GHashTable *later; /* task -> Order: the start that it waits for, alone or with others (orders.c) */
        GPtrArray *cancelled; /* Order: starts that the stop order which is being run has cancelled */
        GHashTable *places;   /* name of an attempt's service -> its namespace */
        GHashTable *searches; /* set of the searches for a service that have not ended (life.c) */
        Sets *sets;
        Kept *kept; /* pods that ended */
        Timer *kept_timer, *stuck_timer;
        Refusals *refusals; /* of pods of sets */
        Deletions *deletions;
        Sweep *sweep;
        Overdue *overdue;
        MakingRoom *makings;
        GHashTable *gates; /* set of the namespaces that have the gate */
        char *selector, *others_selector;
        const char *trouble[3]; /* of pods, nodes, the credential: its name while it has some, or NULL */
        bool asked;             /* which priority classes there are */
        bool connected;
        Timer *nodes_timer, *doubt_timer;

        GMutex lock;
        const char *classes[G_N_ELEMENTS(template_classes)]; /* those that the cluster has */
        GPtrArray *inventory;                                /* RuntimeNode */
        Resources builder;                                   /* what a build of an image may take */
        GHashTable *recipes;                                 /* set of what images were made of; bounded */
};

/* Of the engine, to be run on the thread; its texts are its own. */
struct Order {
        void (*run)(Order *order);
        Kubernetes *k8s;
        char *name;   /* of the task or the job */
        char **tasks; /* of a start or a stop; or NULL */
        char *namespace, *job_id;
        char *objects; /* to be made in this order, as text: as trees, thousands take ten times as much */
        json_t *group, *queues; /* of Volcano */
        RuntimeAsk *ask;
        gint64 grace_ms;
        int number;     /* attempt, signal */
        gint64 expires; /* of what is kept */
        char *user, *image, *package, *package_name, *requirements, *setup;
        Resources builder;
        char *text; /* of a mark; why a task never starts */
        const Form *form;
        Task *at; /* a start that waits: the member whose earlier pod has to go (its `again` is this order) */
};

/* ---- kubernetes.c ---- */
/* The thread's part of the runtime: on the thread, which has k8s->context as its default. */
void kubernetes_open_parts(Kubernetes *k8s);
void kubernetes_close_parts(Kubernetes *k8s);

/* ---- task.c ---- */
/* Any thread. `text` is copied, or NULL. */
Observation *observation_new(ObservationKind kind, const char *task, const char *text);
void k8s_tell(Kubernetes *k8s, ObservationKind kind, const char *task, const char *text);
GHashTable *tasks_new(void);                       /* task -> Task, which it owns */
Task *task_get(Kubernetes *k8s, const char *name); /* created if there is none */
const json_t *task_pod(const Task *task);          /* NULL: the cache has none */
/* Where its attempt is. */
void task_place(Task *task, const char *namespace, const char *job_id, int attempt);
/* Something other than ON_START happens to the member: it moves, and the actions are carried out. `look`: of
 * the pod that has changed or gone; or NULL. `end`: of ON_FAILED; taken; or NULL. Returns DO_TELL_WAITS if the
 * caller, which has no look, has to do that; else 0, and the task may have been freed. */
guint task_step(Task *task, MemberEvent event, MemberLook *look, Observation *end);
/* The engine starts the member. True: the caller has to create its pod now. False: it has a pod, or its pod is
 * being created, or the start has to wait, and then what `order` holds is taken. The task may have been freed
 * then. */
bool task_start(Task *task, Order *order);
bool task_starts_later(const Task *task); /* a start has to wait until what is left of it is deleted */
bool task_lacks_pod(const Task *task);    /* it is expected to have a pod, and has none */
/* Tells why it is not running yet, if the reason is new; NULL: nothing holds it up. */
void task_tell_waits(Task *task, const char *text);

/* ---- pods.c ---- */
/* Any thread; the caller's. */
char *k8s_log_path(const Kubernetes *k8s, const char *job_id, int attempt, const char *role, int index);
void pods_look_at(Kubernetes *k8s, const json_t *pod);
/* Tells what the pod says of its member. */
void pods_tell_started(Task *task, const MemberLook *look);
void pods_tell_waits(Task *task, const MemberLook *look);
void pods_follow(Task *task, const MemberLook *look);
/* True if its log has lines of another pod. */
bool pods_is_replaced(const Task *task, const MemberLook *look);
/* Why a node will not end its pods; the caller's; NULL: it will, or `name` is NULL. */
char *pods_node_trouble(const Kubernetes *k8s, const char *name);
/* The end of a member for DO_END_OWN, DO_END_STOPPED or DO_END_LOST, one of `todo`; the caller's. `look`:
 * NULL if its pod was never seen. */
Observation *pods_end(const Task *task, guint todo, const MemberFacts *facts, MemberLook *look);
void pods_on_change(const json_t *old, const json_t *new, void *arg);
void pods_watch_stuck(Kubernetes *k8s);

/* ---- connection.c ---- */
enum { PODS_BY_OBJECT, PODS_BY_ATTEMPT }; /* indexes of the pods */
void connection_open(Kubernetes *k8s);
void node_free(gpointer node); /* a RuntimeNode */
/* Its pod cannot be made for now. */
void task_tell_why_not(Task *task, const GError *error);

/* ---- life.c ---- */
void life_open(Kubernetes *k8s);
void life_search_free(void *data);                 /* a Search; after the client */
void task_refuse(Task *task, const GError *error); /* it cannot start */
/* An order to start it came to nothing. `end` is taken. It may free the task. */
void task_never_starts(Task *task, Observation *end);
/* Creates its pod: `objects` in order, taken. */
void task_make_pod(Task *task, json_t *objects);
/* True if all containers have ended, and nothing restarts them. */
bool pod_has_ended(const json_t *pod);
/* Searches for the namespace of its attempt; ON_SEARCHED follows. */
void life_search_for(Task *task);
/* Its pod may have gone before the cache knew of it: asks. */
void task_look_for_unseen(Task *task);
/* Nothing recreates its pod. `arg`: the Kubernetes. */
void task_dropped(const char *name, void *arg);

/* ---- orders.c ---- */
void order_free(gpointer data); /* NULL is a no-op */
/* Copies the names of `n` tasks, of which the first is at `first` and each other one `step` bytes after the one
 * before; the caller's. */
char **order_tasks(const char *const *first, gsize step, int n);
/* Any thread; what the order holds is taken. */
void order_give(Kubernetes *k8s, const Order *order);
void order_run(Order *order);      /* and frees it */
void orders_open(Kubernetes *k8s); /* after the connection */
void order_start_pod(Order *order);
void order_start_set(Order *order); /* all of its role, or of its job */
/* Keeps its pod until its attempt expires. */
void orders_keep(Task *task);
/* The start waits until what is left of this member is deleted. What `order` holds is taken. */
void orders_start_later(Task *task, Order *order);
/* The start that waits at this member, which waits no more; the caller's; or NULL. */
Order *orders_take_start(Task *task);
/* Cancels the start that waits at this member, and tells the engine. If others were to start with it, they are
 * told by the stop order that caused this. */
void orders_cancel_start(Task *task);
/* As of RuntimeOps; the engine's thread. */
void k8s_stop(Runtime *runtime, const char *const *tasks, int n, gint64 grace_ms);
void k8s_forget(Runtime *runtime, const char *task);
void k8s_clean(Runtime *runtime, const char *job_id, int attempt, gint64 expires);
void k8s_signal(Runtime *runtime, const char *task, int signo);
void k8s_mark_preempting(Runtime *runtime, const char *task, const char *why);
RuntimeExec *k8s_exec(Runtime *runtime, const char *task, const ExecStart *start);
bool k8s_usage(Runtime *runtime, const char *task, TaskUsage *ret);
void k8s_queues(Runtime *runtime, const GPtrArray *queues);
void k8s_ask(Runtime *runtime, RuntimeAsk *ask);

/* ---- prepare.c ---- */
/* Where the job's pods live; any thread. */
MemberHome k8s_home(const Kubernetes *k8s, const RuntimeAttempt *attempt);
/* As of RuntimeOps; the engine's thread. */
bool k8s_orders(Runtime *runtime, const RuntimeAttempt *attempt);
void k8s_start(Runtime *runtime, const RuntimeAttempt *attempt, const TaskStart *members, int n);
bool k8s_takes_priority(Runtime *runtime, const RuntimeAttempt *attempt);
void k8s_reprioritize(Runtime *runtime, const RuntimeAttempt *attempt);
extern const RuntimePreparation k8s_image_preparation;
char *k8s_setup_problem(Runtime *runtime);
char *k8s_mount_problem(Runtime *runtime, const char *user, const TaskMount *mounts, int n);
/* `problem` NULL: the job's image is ready; any thread. */
void k8s_tell_prepared(Kubernetes *k8s, const char *job_id, const char *problem);
void k8s_note_recipe(Kubernetes *k8s, const ImageWish *of); /* its image is there; any thread */
