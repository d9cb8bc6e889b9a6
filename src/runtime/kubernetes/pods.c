/* What the pods of members say: followed from look to look, told once. */
#include "runtime/kubernetes/state.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/job-dir.h"

/* ---- logs ---- */

static void on_log_done(void *arg)
{
        Task *task = arg;

        g_clear_pointer(&task->follow, follow_free);
        if (task->end)
                task_tell_end(task, g_steal_pointer(&task->end));
}

char *k8s_log_path(const Kubernetes *k8s, const char *job_id, int attempt, const char *role, int index)
{
        g_autofree char *dir = workdir_attempt(k8s->state_dir, job_id, attempt);

        return g_strdup_printf("%s/log/%s-%d", dir, role, index);
}

static void on_log_flows(void *arg)
{
        if (task_pod(arg)) /* else that is told */
                task_stop_held(arg);
}

static void follow_log(Task *task, const MemberLook *look)
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

        if (!task->follow && !task->end && !task->ended)
                task->follow = follow_new(k8s->logs, &config);
        if (task->follow && look->deleting) /* by whomever: with the pod its log goes from the cluster */
                (void)follow_leaving(task->follow);
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

static void tell_at(Task *task, ObservationKind kind, gint64 time)
{
        Observation *observation = observation_new(kind, task->task, NULL);

        if (time)
                observation->time = time;
        task->k8s->observe(observation, task->k8s->observe_arg);
}

void task_tell_waits(Task *task, const char *text)
{
        if (task->waits && g_strcmp0(task->waits, text ? text : "") == 0)
                return;
        g_free(task->waits);
        task->waits = g_strdup(text ? text : "");
        k8s_tell(task->k8s, OBSERVED_WAITS, task->task, text);
}

/* What Volcano says of its gang, while that is what it waits for. */
static char *group_why(const Task *task, const MemberLook *look)
{
        g_autofree char *group = member_service_name(look->job_id, look->attempt);
        const Volcano *volcano = task->k8s->volcano;

        return volcano ? volcano_why(volcano, task->namespace, group) : NULL;
}

static void tell_when_logged(Task *task, Observation *end)
{
        if (task->follow) {
                task->end = end;
                follow_last(task->follow);
        } else {
                task_tell_end(task, end);
        }
}

/* One that we stop before it began is not lost. */
static void tell_or_keep(Task *task, const MemberLook *look)
{
        Observation *end = end_of(task, look);

        if (task->stopping && look->end == OBSERVED_LOST && !look->started) {
                end->kind = OBSERVED_EXITED;
                end->signal = task->killed ? SIGKILL : SIGTERM;
        }
        tell_when_logged(task, end);
}

/* A second life in one attempt: what makes its pods has made one anew while nobody looked. What the first one
 * knew is gone, and the others of the job do not know. */
static bool is_made_anew(const Task *task, const MemberLook *look)
{
        g_autofree char *path = k8s_log_path(task->k8s, look->job_id, look->attempt, look->role, look->index);

        return look->started && !task->started && !task->stopping && form_kind_of(task_pod(task)) &&
               follow_is_of_another(path, kube_uid(task_pod(task)));
}

static void tell_made_anew(Task *task)
{
        g_autofree char *text = g_strdup_printf(
                "pod '%s' was deleted and made anew while the server was away: what ran in it is gone",
                task->pod);

        task_tell_end(task, observation_new(OBSERVED_LOST, task->task, text));
}

static void tell_placed(Task *task, const MemberLook *look)
{
        if (task->placed || !look->node)
                return;
        task->placed = true;
        k8s_tell(task->k8s, OBSERVED_PLACED, task->task, look->node);
}

/* Why a pod on it will not end by itself; the caller's, NULL: its node is well. */
static char *node_trouble(const Kubernetes *k8s, const char *name)
{
        const json_t *node = kube_cache_get(k8s->nodes, NULL, name);
        g_autofree char *unready = node ? neighbours_unready(node) : g_strdup("gone");

        return unready ? g_strdup_printf("node '%s' is %s", name, unready) : NULL;
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
        return g_strdup_printf("pod '%s' %s", task->pod,
                               task_pod(task) && !look->deleting ? "failed, and nobody says why"
                                                                 : "was deleted");
}

/* Somebody else asked for its end, and then its program ended: by that, whatever it says. (A kubelet tells of
 * the container first, and only then of the pod.) */
static bool is_taken_away(const Task *task, const MemberLook *look)
{
        return look->deleting && !task->stopping && look->end == OBSERVED_EXITED &&
               look->ended_at >= look->deleted_at;
}

static void tell_own_end(Task *task, MemberLook *look)
{
        if (is_taken_away(task, look)) {
                look->end = OBSERVED_LOST;
                g_clear_pointer(&look->text, g_free);
        }
        if (look->end == OBSERVED_LOST && !look->text)
                look->text = why_gone(task, look);
        tell_or_keep(task, look);
}

/* What the pod says and the engine was not told yet. */
static void look_at(Task *task, MemberLook *look)
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
        tell_placed(task, look);
        if (look->preempted && !task->preempted) {
                task->preempted = true;
                k8s_tell(task->k8s, OBSERVED_TAKEN, task->task, look->preempted);
        }
        if (look->started && !task->started) {
                task->started = true;
                tell_at(task, OBSERVED_STARTED, look->started_at);
        } else if (!look->started && !look->ended) {
                g_autofree char *why = group_why(task, look);

                task_tell_waits(task, why ? why : look->text);
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
                tell_own_end(task, look);
}

/* The names of pods that a Job makes are its own. */
static void take_pod(Task *task, const json_t *pod)
{
        if (strcmp(task->pod, kube_name(pod)) == 0 || task_pod(task))
                return;
        g_free(task->pod);
        task->pod = g_strdup(kube_name(pod));
}

/* A Job's controller that got no reply makes a pod a second time, and then deletes either of the two. */
static bool is_twin(const Task *task, const json_t *pod)
{
        return form_kind_of(pod) == &kube_jobs && strcmp(task->pod, kube_name(pod)) != 0;
}

static void note_twin(Task *task, const json_t *pod)
{
        g_free(task->twin);
        task->twin = g_strdup(kube_name(pod));
        if (task->stopping)
                task_stop_pod(task);
}

/* It takes the place of the one that goes, if the program has not begun: nothing is lost then. False: it
 * cannot. */
static bool take_twin(Task *task)
{
        if (task->started || task->stopping || task->ended || task->end || task->kept || !task_twin(task))
                return false;
        g_free(task->pod);
        task->pod = g_steal_pointer(&task->twin);
        task->placed = false;
        return true;
}

/* Its end was asked for, and nobody is there to carry it out. If the node only cannot be reached, the member
 * may run on there: it is of an attempt that is over, under names that are not used again. */
void pods_give_up_stuck(Task *task, const MemberLook *look)
{
        Kubernetes *k8s = task->k8s;

        if (!look->deleting || !look->node || task->given_up || task->dropping)
                return;
        task->given_up = node_trouble(k8s, look->node);
        if (!task->given_up)
                return;
        log_warning("a pod's node does not answer: it is given up", "cluster", k8s->name, "pod", task->pod,
                    "node", look->node, NULL);
        task_delete_pod(task, 0);
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

void pods_look_at(Kubernetes *k8s, const json_t *pod)
{
        g_auto(MemberLook) look = { 0 };
        Task *task;

        if (!member_look(pod, &look))
                return;
        task = task_get(k8s, look.task);
        task_place(task, kube_namespace(pod), look.job_id, look.attempt);
        take_pod(task, pod);
        if (is_twin(task, pod)) {
                note_twin(task, pod);
                return;
        }
        if (look.deleting && take_twin(task)) {
                pods_look_at(k8s, task_pod(task));
                return;
        }
        if (task->making) { /* it stands; the reply may come later, or never */
                task_drop_making(task);
                if (task->stopping)
                        task_stop_pod(task);
        }
        keep_from_coming_back(task, pod, &look);
        pods_give_up_stuck(task, &look);
        look_at(task, &look);
}

/* Its last words count; without any it was stopped by us, or somebody took it away. */
static void pod_gone(Kubernetes *k8s, const json_t *pod)
{
        g_auto(MemberLook) look = { 0 };
        Task *task = member_look(pod, &look) ? g_hash_table_lookup(k8s->tasks, look.task) : NULL;

        if (!task || strcmp(task->pod, kube_name(pod)) != 0)
                return;
        if (take_twin(task)) {
                pods_look_at(k8s, task_pod(task));
                return;
        }
        if (!task->dropped) /* what made it may still be there */
                task_stop_held(task);
        if (look.passing && !task->stopping) {
                g_clear_pointer(&task->follow, follow_free);
                return;
        }
        if (task->given_up) /* its node sends nothing any more */
                g_clear_pointer(&task->follow, follow_free);
        if (task->end) { /* it waits for the log, which may still be on its way */
                if (!task->follow)
                        task_tell_end(task, g_steal_pointer(&task->end));
                return;
        }
        if (task->kept) {
                g_clear_pointer(&task->follow, follow_free);
                task_settle(task);
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
                task_settle(task);
        else
                tell_when_logged(task, end_of(task, &look));
}

void pods_on_change(const json_t *old, const json_t *new, void *arg)
{
        Kubernetes *k8s = arg;

        if (!k8s->connected)
                return; /* all of them are looked at when both caches are there */
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
        if (!task || task->stuck || task->stopping)
                return;
        task->stuck = true;
        text = g_strdup_printf("a pod of it was pending for longer than %" G_GINT64_FORMAT "s: %s",
                               k8s->pending_ms / 1000, look.text ? look.text : "nobody says why");
        k8s_tell(k8s, OBSERVED_STUCK, task->task, text);
}

gboolean pods_on_stuck_timer(gpointer arg)
{
        Kubernetes *k8s = arg;

        if (k8s->connected)
                scope_each(k8s->pods, look_if_stuck, k8s);
        return G_SOURCE_CONTINUE;
}
