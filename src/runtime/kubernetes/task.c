/* What is known of a member, and telling it (see state.h). */
#include "runtime/kubernetes/state.h"

#include "base/clock.h"
#include "base/err.h"
#include "runtime/last-line.h"

/* ---- telling ---- */

Observation *observation_new(ObservationKind kind, const char *task, const char *text)
{
        Observation *observation = g_new0(Observation, 1);

        observation->kind = kind;
        observation->exit_code = -1;
        observation->time = clock_now_ms();
        observation->text = err_line(text); /* it stands in tables */
        g_strlcpy(observation->task, task ? task : "", sizeof observation->task);
        return observation;
}

void k8s_tell(Kubernetes *k8s, ObservationKind kind, const char *task, const char *text)
{
        k8s->observe(observation_new(kind, task, text), k8s->observe_arg);
}

/* ---- tasks ---- */

void timer_drop(GSource **source)
{
        if (!*source)
                return;
        g_source_destroy(*source);
        g_clear_pointer(source, g_source_unref);
}

void timer_set(Kubernetes *k8s, GSource **at, guint ms, GSourceFunc func, void *arg)
{
        timer_drop(at);
        *at = g_timeout_source_new(ms);
        g_source_set_callback(*at, func, arg, NULL);
        g_source_attach(*at, k8s->context);
}

void task_free(gpointer data)
{
        Task *task = data;

        if (task->again)
                order_free(task->again);
        kube_call_cancel(task->question);
        making_free(task->making);
        follow_free(task->follow);
        observation_free(task->end);
        g_free(task->waits);
        g_free(task->namespace);
        g_free(task->given_up);
        g_free(task->pod);
        g_free(task->twin);
        g_free(task->task);
        g_free(task);
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

const json_t *task_twin(const Task *task)
{
        const json_t *twin = task->namespace && task->twin
                                     ? scope_get(task->k8s->pods, task->namespace, task->twin)
                                     : NULL;

        return twin && !kube_is_deleting(twin) ? twin : NULL;
}

void task_place(Task *task, const char *namespace, const char *job_id, int attempt)
{
        if (g_strcmp0(task->namespace, namespace) == 0)
                return;
        g_free(task->namespace);
        task->namespace = g_strdup(namespace);
        g_hash_table_insert(task->k8s->places, member_service_name(job_id, attempt), g_strdup(namespace));
}

/* Its pod is on the way. */
bool task_is_wanted(const Task *task)
{
        return task->making || sets_has(task->k8s->sets, task->task);
}

void task_drop_making(Task *task)
{
        g_clear_pointer(&task->making, making_free);
        task->made = false;
}

/* Nothing of it is left, in the cluster or under way. */
void task_settle(Task *task)
{
        if (task_pod(task) || task_is_wanted(task) || task->dropping || task->end ||
            (!task->ended && !task->forgotten))
                return;
        if (task->again)
                order_run(g_steal_pointer(&task->again));
        else
                g_hash_table_remove(task->k8s->tasks, task->task);
}

/* Told once; it is repeated until it is forgotten, by the next look at all pods. */
void task_tell_end(Task *task, Observation *end)
{
        task->ended = true;
        usages_drop(task->k8s->usages, task->task);
        if (observation_is_failure(end) && !end->last_line)
                end->last_line = last_line_of_task(task->k8s->state_dir, task->task);
        task->k8s->observe(end, task->k8s->observe_arg);
        task_settle(task);
}

/* ---- deleting ---- */

void task_delete_pod(const Task *task, gint64 grace_s)
{
        deletions_want(task->k8s->deletions, &kube_pods, task->namespace, task->pod, kube_uid(task_pod(task)),
                       grace_s);
}
