/* The facts about a member, and the actions on it (see internal.h and member-state.h). */
#include "runtime/kubernetes/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "runtime/last-line.h"

/* ---- telling ---- */

Observation *observation_new(ObservationKind kind, const char *task, const char *text)
{
        Observation *observation = g_new0(Observation, 1);

        observation->kind = kind;
        observation->exit_code = -1;
        observation->time = clock_now_ms();
        observation->text = err_line(text); /* it is shown in tables */
        g_strlcpy(observation->task, task ? task : "", sizeof observation->task);
        return observation;
}

void k8s_tell(Kubernetes *k8s, ObservationKind kind, const char *task, const char *text)
{
        k8s->observe(observation_new(kind, task, text), k8s->observe_arg);
}

/* ---- tasks ---- */

static void task_free(gpointer data)
{
        Task *task = data;

        order_free(task->again);
        kube_call_cancel(task->question);
        making_free(task->making);
        follow_free(task->follow);
        observation_free(task->end);
        g_free(task->waits);
        g_free(task->namespace);
        g_free(task->given_up);
        g_free(task->pod);
        g_free(task->duplicate);
        g_free(task->task);
        g_free(task);
}

GHashTable *tasks_new(void)
{
        return g_hash_table_new_full(g_str_hash, g_str_equal, NULL, task_free);
}

Task *task_get(Kubernetes *k8s, const char *name)
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

const json_t *task_pod(const Task *task)
{
        return task->namespace ? scope_get(task->k8s->pods, task->namespace, task->pod) : NULL;
}

/* NULL: there is none, or it is being deleted. */
static const json_t *duplicate_of(const Task *task)
{
        const json_t *duplicate = task->namespace && task->duplicate
                                          ? scope_get(task->k8s->pods, task->namespace, task->duplicate)
                                          : NULL;

        return duplicate && !kube_is_deleting(duplicate) ? duplicate : NULL;
}

void task_place(Task *task, const char *namespace, const char *job_id, int attempt)
{
        if (g_strcmp0(task->namespace, namespace) == 0)
                return;
        g_free(task->namespace);
        task->namespace = g_strdup(namespace);
        g_hash_table_insert(task->k8s->places, member_service_name(job_id, attempt), g_strdup(namespace));
}

bool task_lacks_pod(const Task *task)
{
        return member_is_expected(&task->status) && !task_pod(task);
}

/* ---- facts ---- */

static MemberOwner owner_of(const json_t *pod)
{
        const KubeKind *kind = pod ? form_kind_of(pod) : NULL;

        if (!pod)
                return OWNER_UNKNOWN;
        if (!kind)
                return OWNER_NONE;
        return form_kind_is_whole(kind) ? OWNER_JOB : OWNER_ROLE;
}

/* The names of two tasks of one attempt begin with "JOB.ATTEMPT.". */
static bool others_are_held(const Task *task)
{
        gsize len = (gsize)(strchr(strchr(task->task, '.') + 1, '.') - task->task) + 1;
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, task->k8s->tasks);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const Task *other = value;

                if (other != task && other->status.removal == REMOVAL_HELD &&
                    strncmp(other->task, task->task, len) == 0)
                        return true;
        }
        return false;
}

static void add_look(const Task *task, const MemberLook *look, MemberFacts *facts)
{
        facts->deleting = look->deleting;
        facts->placed = look->node != NULL;
        facts->started = look->started;
        facts->ready = look->ready;
        facts->ended = look->ended;
        facts->preempted = look->preempted != NULL;
        facts->passing = look->passing;
        facts->replaced = member_is_expected(&task->status) && pods_is_replaced(task, look);
        if (facts->pod && look->deleting && !task->given_up) {
                g_autofree char *trouble = pods_node_trouble(task->k8s, look->node);

                facts->unreachable = trouble != NULL;
        }
}

static void add_pod(const json_t *pod, MemberFacts *facts)
{
        facts->deleting = kube_is_deleting(pod);
        facts->over = pod_has_ended(pod);
        facts->passing = form_is_passing(form_kind_of(pod), kube_label(pod, "paddle-role"));
}

/* Facts that take time are only gathered where they matter. */
static MemberFacts facts_of(const Task *task, MemberEvent event, const MemberLook *look)
{
        const json_t *pod = task_pod(task);
        MemberFacts facts = {
                .pod = pod != NULL,
                .given_up = task->given_up != NULL,
                .owner = owner_of(pod),
                .creating = task->making != NULL,
                .located = task->namespace != NULL,
                .duplicate = duplicate_of(task) != NULL,
                .log = task->follow != NULL,
                .start_pending = task->again != NULL,
        };

        facts.coming = facts.creating || (!pod && sets_has(task->k8s->sets, task->task));
        if (task->making) {
                facts.created = making_is_done(task->making);
                facts.idle = making_is_idle(task->making);
                facts.doubtful = making_is_in_doubt(task->making);
        }
        if (look)
                add_look(task, look, &facts);
        else if (pod)
                add_pod(pod, &facts);
        facts.others_held = facts.owner == OWNER_JOB &&
                            (event != ON_POD || task->status.stage == STAGE_LEAVING) && others_are_held(task);
        return facts;
}

bool task_starts_later(const Task *task)
{
        MemberFacts facts;

        if (!member_is_unwanted(&task->status) && task->status.removal != REMOVAL_OWNER)
                return false; /* the usual case, and quick */
        facts = facts_of(task, ON_START, NULL);
        return member_starts_later(&task->status, &facts);
}

/* ---- actions ---- */

static void tell_end(Task *task, Observation *end /* taken */)
{
        usages_drop(task->k8s->usages, task->task);
        if (observation_is_failure(end) && !end->last_line)
                end->last_line = last_line_of_task(task->k8s->state_dir, task->task);
        task->k8s->observe(end, task->k8s->observe_arg);
}

static void tell_or_hold(Task *task, Observation *end /* taken */)
{
        if (task->status.stage != STAGE_DRAINING) {
                tell_end(task, end);
                return;
        }
        task->end = end;
        follow_last(task->follow);
}

void task_tell_waits(Task *task, const char *text)
{
        if (task->waits && g_strcmp0(task->waits, text ? text : "") == 0)
                return;
        g_free(task->waits);
        task->waits = g_strdup(text ? text : "");
        k8s_tell(task->k8s, OBSERVED_WAITS, task->task, text);
}

static void tell_look(Task *task, guint todo, const MemberLook *look)
{
        if (todo & DO_TELL_PLACED)
                k8s_tell(task->k8s, OBSERVED_PLACED, task->task, look->node);
        if (todo & DO_TELL_PREEMPTED)
                k8s_tell(task->k8s, OBSERVED_TAKEN, task->task, look->preempted);
        if (todo & DO_TELL_STARTED)
                pods_tell_started(task, look);
        if (todo & DO_TELL_WAITS)
                pods_tell_waits(task, look);
        if (todo & DO_FOLLOW)
                pods_follow(task, look);
        if (todo & DO_TELL_READY)
                k8s_tell(task->k8s, OBSERVED_READY, task->task, NULL);
}

static void unfollow(Task *task)
{
        g_clear_pointer(&task->follow, follow_free);
        if (task->status.stage > STAGE_ENDED) /* a second end of a member that is forgotten */
                g_clear_pointer(&task->end, observation_free);
}

static void delete_pod(const Task *task, const char *name, const json_t *pod, gint64 grace_s)
{
        deletions_want(task->k8s->deletions, &kube_pods, task->namespace, name, kube_uid(pod), grace_s);
}

/* A pod that is over goes at once. Any other gets at least a second: with 0 the API server would not wait
 * for its end, and the kubelet would lose what still runs. */
static gint64 grace_of(const Task *task, const json_t *pod)
{
        const char *phase = kube_get_text(pod, "status.phase");
        bool over = g_strcmp0(phase, "Succeeded") == 0 || g_strcmp0(phase, "Failed") == 0;

        return over ? 0 : MAX(task->grace_s, 1);
}

/* If the node is only unreachable, the program may continue there. Its attempt is over, and its names are
 * not used again. */
static void force_pod(Task *task, const char *node)
{
        task->given_up = pods_node_trouble(task->k8s, node);
        log_warning("a pod's node does not answer: it is given up", "cluster", task->k8s->name, "pod",
                    task->pod, "node", node, NULL);
        delete_pod(task, task->pod, task_pod(task), 0);
}

static void remove_parts(Task *task, guint todo, const MemberLook *look)
{
        const json_t *pod = task_pod(task);

        if (todo & DO_DELETE_DUPLICATE)
                delete_pod(task, task->duplicate, duplicate_of(task), MAX(task->grace_s, 1));
        if (todo & DO_UNDO_CREATION)
                deletions_undo(task->k8s->deletions, task->namespace, task->pod, task->task,
                               MAX(task->grace_s, 1));
        if (todo & DO_SEARCH)
                life_search_for(task);
        if (todo & DO_DELETE_OWNER)
                sets_drop(task->k8s->sets, task->task, task->namespace, pod ? form_kind_of(pod) : NULL);
        if (todo & DO_DELETE_POD)
                delete_pod(task, task->pod, pod, grace_of(task, pod));
        if (todo & DO_FORCE_POD)
                force_pod(task, look->node);
        if (todo & DO_KEEP)
                orders_keep(task);
}

/* It may free the task. */
static void release(Task *task, MemberEvent event)
{
        usages_drop(task->k8s->usages, task->task);
        if (task->again && event != ON_CONNECTED) /* then the engine asks again for all that it wants */
                order_run(orders_take_start(task));
        else
                g_hash_table_remove(task->k8s->tasks, task->task);
}

static void take_duplicate(Task *task)
{
        g_free(task->pod);
        task->pod = g_steal_pointer(&task->duplicate);
        pods_look_at(task->k8s, task_pod(task));
}

/* `start`: the order of ON_START. If the start has to wait, the task takes what the order holds before
 * anything can free the task. */
static guint step(Task *task, MemberEvent event, MemberLook *look, Observation *end, Order *start)
{
        const MemberFacts facts = facts_of(task, event, look);
        guint todo = member_step(&task->status, event, &facts);

        if (todo & DO_TAKE_DUPLICATE) {
                take_duplicate(task);
                return 0;
        }
        if (todo & DO_CREATE)
                g_clear_pointer(&task->given_up, g_free); /* of an earlier pod */
        if (todo & DO_START_LATER)
                orders_start_later(task, start);
        if (todo & DO_CANCEL_START)
                orders_cancel_start(task);
        if (todo & DO_CANCEL_CREATION)
                g_clear_pointer(&task->making, making_free);
        if (look)
                tell_look(task, todo, look);
        if (todo & DO_UNFOLLOW)
                unfollow(task);
        remove_parts(task, todo, look);
        if (todo & DO_END_GIVEN)
                tell_or_hold(task, g_steal_pointer(&end));
        else if (todo & DO_END)
                tell_or_hold(task, pods_end(task, todo, &facts, look));
        if (todo & DO_TELL_END)
                tell_end(task, g_steal_pointer(&task->end));
        observation_free(end);
        if (event == ON_POD_GONE)
                g_clear_pointer(&task->given_up, g_free);
        if (todo & DO_RELEASE)
                release(task, event);
        else if (todo & DO_WAIT_FOR_LOG && follow_leaving(task->follow))
                (void)task_step(task, ON_LOG_FLOWS, NULL, NULL);
        return todo & (DO_CREATE | DO_TELL_WAITS);
}

guint task_step(Task *task, MemberEvent event, MemberLook *look, Observation *end)
{
        g_assert(event != ON_START); /* it has an order */
        return step(task, event, look, end, NULL);
}

bool task_start(Task *task, Order *order)
{
        return step(task, ON_START, NULL, NULL, order) & DO_CREATE;
}
