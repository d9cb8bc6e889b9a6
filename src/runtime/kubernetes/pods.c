/* Pods of members: their changes are events of the members' states (see internal.h), and become observations. */
#include "runtime/kubernetes/internal.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/job-dir.h"

/* ---- logs ---- */

static void on_log_done(void *arg)
{
        (void)task_step(arg, ON_LOG_DONE, NULL, NULL);
}

char *k8s_log_path(const Kubernetes *k8s, const char *job_id, int attempt, const char *role, int index)
{
        g_autofree char *dir = workdir_attempt(k8s->state_dir, job_id, attempt);

        return g_strdup_printf("%s/log/%s-%d", dir, role, index);
}

static void on_log_flows(void *arg)
{
        (void)task_step(arg, ON_LOG_FLOWS, NULL, NULL);
}

void pods_follow(Task *task, const MemberLook *look)
{
        Kubernetes *k8s = task->k8s;
        g_autofree char *path = k8s_log_path(k8s, look->job_id, look->attempt, look->role, look->index);
        FollowConfig config = { .namespace = task->namespace,
                                .pod = task->pod,
                                .container = look->container,
                                .uid = kube_uid(task_pod(task)),
                                .path = path,
                                .limit = k8s->log_limit,
                                .previous = look->again,
                                .done = on_log_done,
                                .flows = on_log_flows,
                                .arg = task };

        if (!task->follow)
                task->follow = follow_new(k8s->logs, &config);
        if (look->deleting) /* by any party: the log goes from the cluster with the pod */
                (void)follow_leaving(task->follow);
        if (!look->ended)
                usages_add(k8s->usages, task->task, task->namespace, task->pod, look->node);
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
        observation_take_report(end, g_strdup(look->report));
        end->signal = look->signal;
        end->oom = look->oom;
        end->permanent = look->permanent;
        if (look->ended_at)
                end->time = look->ended_at;
        return end;
}

void pods_tell_started(Task *task, const MemberLook *look)
{
        Observation *observation = observation_new(OBSERVED_STARTED, task->task, NULL);

        if (look->started_at)
                observation->time = look->started_at;
        task->k8s->observe(observation, task->k8s->observe_arg);
}

/* Volcano's reason while its gang waits; the caller's, or NULL. */
static char *group_why(const Task *task, const MemberLook *look)
{
        g_autofree char *group = member_service_name(look->job_id, look->attempt);
        const Volcano *volcano = task->k8s->volcano;

        return volcano ? volcano_why(volcano, task->namespace, group) : NULL;
}

void pods_tell_waits(Task *task, const MemberLook *look)
{
        g_autofree char *why = group_why(task, look);

        task_tell_waits(task, why ? why : look->text);
}

/* The owner has recreated the pod while no server watched. The state of the first program is lost, and the
 * other members of the job do not know. */
bool pods_is_replaced(const Task *task, const MemberLook *look)
{
        g_autofree char *path = NULL;

        if (!look->started || task->status.told & TOLD_STARTED || !task_pod(task) ||
            !form_kind_of(task_pod(task)))
                return false;
        path = k8s_log_path(task->k8s, look->job_id, look->attempt, look->role, look->index);
        return follow_is_of_another(path, kube_uid(task_pod(task)));
}

char *pods_node_trouble(const Kubernetes *k8s, const char *name)
{
        const json_t *node = name ? kube_cache_get(k8s->nodes, NULL, name) : NULL;
        g_autofree char *unready = node ? neighbours_unready(node) : g_strdup("gone");

        return name && unready ? g_strdup_printf("node '%s' is %s", name, unready) : NULL;
}

/* Why the pod is gone: the most specific reason first. */
static char *why_gone(const Task *task, const MemberLook *look)
{
        g_autofree char *trouble = pods_node_trouble(task->k8s, look->node);

        if (task->given_up)
                return g_strdup(task->given_up);
        if (trouble)
                return g_steal_pointer(&trouble);
        if (look->taken)
                return g_strdup(look->taken);
        return g_strdup_printf("pod '%s' %s", task->pod,
                               task_pod(task) && !look->deleting ? "failed; the cluster reported no reason"
                                                                 : "was deleted");
}

/* A third party requested the deletion, and then the program ended: the deletion ended it, whatever its
 * exit status is. (A kubelet reports the container's end before the pod's.) */
static bool is_taken_away(const Task *task, const MemberLook *look)
{
        return look->deleting && task->status.stop == STOP_NONE && look->end == OBSERVED_EXITED &&
               look->ended_at >= look->deleted_at;
}

static int signal_of(const Task *task)
{
        return task->status.stop == STOP_KILL ? SIGKILL : SIGTERM;
}

/* The end that the pod reports. A member that is stopped before it has begun is not lost. */
static Observation *own_end(const Task *task, MemberLook *look)
{
        Observation *end;

        if (is_taken_away(task, look)) {
                look->end = OBSERVED_LOST;
                g_clear_pointer(&look->text, g_free);
        }
        if (look->end == OBSERVED_LOST && !look->text)
                look->text = why_gone(task, look);
        end = end_of(task, look);
        if (task->status.stop != STOP_NONE && look->end == OBSERVED_LOST && !look->started) {
                end->kind = OBSERVED_EXITED;
                end->signal = signal_of(task);
        }
        return end;
}

static Observation *stopped_end(const Task *task, MemberLook *look)
{
        Observation *end;

        if (look) {
                look->end = OBSERVED_EXITED;
                g_clear_pointer(&look->text, g_free);
        }
        end = look ? end_of(task, look) : observation_new(OBSERVED_EXITED, task->task, NULL);
        end->signal = signal_of(task);
        return end;
}

static Observation *lost_end(const Task *task, const char *why)
{
        g_autofree char *text = g_strdup_printf("pod '%s' %s", task->pod, why);

        return observation_new(OBSERVED_LOST, task->task, text);
}

static Observation *gone_end(const Task *task, MemberLook *look)
{
        look->end = OBSERVED_LOST;
        look->signal = 0;
        g_free(look->text);
        look->text = why_gone(task, look);
        return end_of(task, look);
}

Observation *pods_end(const Task *task, guint todo, const MemberFacts *facts, MemberLook *look)
{
        if (todo & DO_END_OWN)
                return own_end(task, look);
        if (todo & DO_END_STOPPED)
                return stopped_end(task, look);
        if (!look)
                return lost_end(task, "was deleted before the server saw it");
        if (facts->pod && facts->replaced)
                return lost_end(
                        task, "was deleted and created again while the server was away: its program is lost");
        return gone_end(task, look);
}

/* ---- pods ---- */

/* A Job chooses the names of its pods. */
static void take_pod(Task *task, const json_t *pod)
{
        if (strcmp(task->pod, kube_name(pod)) == 0 || task_pod(task))
                return;
        g_free(task->pod);
        task->pod = g_strdup(kube_name(pod));
}

/* A Job's controller that got no reply creates a pod a second time, and then deletes one of the two. */
static bool is_duplicate(const Task *task, const json_t *pod)
{
        return form_kind_of(pod) == &kube_jobs && strcmp(task->pod, kube_name(pod)) != 0;
}

void pods_look_at(Kubernetes *k8s, const json_t *pod)
{
        g_auto(MemberLook) look = { 0 };
        Task *task;

        if (!member_look(pod, &look))
                return;
        task = task_get(k8s, look.task);
        task_place(task, kube_namespace(pod), look.job_id, look.attempt);
        take_pod(task, pod);
        if (is_duplicate(task, pod)) {
                g_free(task->duplicate);
                task->duplicate = g_strdup(kube_name(pod));
                (void)task_step(task, ON_DUPLICATE, NULL, NULL);
        } else {
                (void)task_step(task, ON_POD, &look, NULL);
        }
}

static void pod_gone(Kubernetes *k8s, const json_t *pod)
{
        g_auto(MemberLook) look = { 0 };
        Task *task = member_look(pod, &look) ? g_hash_table_lookup(k8s->tasks, look.task) : NULL;

        if (task && strcmp(task->pod, kube_name(pod)) == 0)
                (void)task_step(task, ON_POD_GONE, &look, NULL);
}

void pods_on_change(const json_t *old, const json_t *new, void *arg)
{
        Kubernetes *k8s = arg;

        if (!k8s->connected)
                return; /* all pods are looked at when the caches are filled */
        if (new)
                pods_look_at(k8s, new);
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
        if (!task || task->status.told & TOLD_STUCK || !member_is_expected(&task->status))
                return;
        task->status.told |= TOLD_STUCK;
        text = g_strdup_printf("a pod of it was pending for longer than %" G_GINT64_FORMAT "s: %s",
                               k8s->pending_ms / 1000,
                               look.text ? look.text : "the cluster reports no reason");
        k8s_tell(k8s, OBSERVED_STUCK, task->task, text);
}

enum { STUCK_MS = 10000 }; /* longest time between two looks for pods that wait too long */

static void on_stuck_timer(void *arg)
{
        Kubernetes *k8s = arg;

        if (k8s->connected)
                scope_each(k8s->pods, look_if_stuck, k8s);
        pods_watch_stuck(k8s);
}

void pods_watch_stuck(Kubernetes *k8s)
{
        timer_set(&k8s->stuck_timer, k8s->context, CLAMP(k8s->pending_ms / 4, 100, STUCK_MS), on_stuck_timer,
                  k8s);
}
