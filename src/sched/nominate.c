/* Capacity that is being freed for a job: it is reserved for the job until its victims have ended, so that
 * nobody else takes what they leave. What is promised beyond what is being released counts as taken for
 * everybody else, on the nodes and in the queues. */
#include "sched/state.h"

void nomination_free(Nomination *nomination)
{
        if (!nomination)
                return;
        g_free(nomination->tasks);
        g_array_unref(nomination->victims);
        g_free(nomination);
}

Nomination *nomination_find(const Scheduler *s, gint64 key)
{
        for (guint i = 0; i < s->nominations->len; i++) {
                Nomination *nomination = s->nominations->pdata[i];

                if (nomination->key == key)
                        return nomination;
        }
        return NULL;
}

void nomination_plan(Scheduler *s, const Nomination *nomination, int sign)
{
        const Job *job = job_find(s, nomination->key);
        const Gang *gang = job_gang(job);

        for (int role = 0, task = 0; role < gang->n_roles; role++)
                for (int i = 0; i < gang->roles[role].replicas; i++, task++) {
                        Node *node = node_find(s, nomination->tasks[task].node);

                        if (!node)
                                continue;
                        node_plan(s, node, gang->classes[role], sign);
                        if (sign < 0)
                                node_opened(s, node);
                }
        for (QueueNode *queue = job_queue(job); queue; queue = queue->parent) {
                queue->charges++;
                if (sign > 0)
                        amounts_add(&queue->planned, &gang->need_total);
                else
                        amounts_subtract(&queue->planned, &gang->need_total);
        }
}

void nomination_add(Scheduler *s, Nomination *nomination)
{
        job_nominate(s, job_find(s, nomination->key));
        nomination_plan(s, nomination, 1);
        g_ptr_array_add(s->nominations, nomination);
}

void nomination_end(Scheduler *s, Nomination *nomination)
{
        Job *job = job_find(s, nomination->key);

        for (int i = 0; i < job_gang(job)->n_tasks; i++)
                if (node_find(s, nomination->tasks[i].node))
                        node_has_more(node_find(s, nomination->tasks[i].node));

        g_ptr_array_remove(s->nominations, nomination);
        if (job->place == PLACE_NOMINATED) {
                job_unlist(s, job);
                job_list(s, job);
        }
        nomination_free(nomination);
}

void nomination_drop(Scheduler *s, Nomination *nomination)
{
        nomination_plan(s, nomination, -1);
        nomination_end(s, nomination);
}

void nominations_leave_node(Scheduler *s, int node)
{
        for (guint i = s->nominations->len; i > 0; i--) {
                Nomination *nomination = s->nominations->pdata[i - 1];
                int n = job_gang(job_find(s, nomination->key))->n_tasks;

                for (int task = 0; task < n; task++)
                        if (nomination->tasks[task].node == node) {
                                nomination_drop(s, nomination);
                                break;
                        }
        }
}

/* It goes on holding what it was told to give. */
static bool stays(const Job *job, const SchedJob *put)
{
        if (!put || put->state == SCHED_PENDING)
                return false;
        if (!job->run->going)
                return put->state == SCHED_RUNNING;
        for (int i = 0; i < job_gang(job)->n_tasks; i++)
                if (job->run->going[i].node >= 0 && put->tasks[i].node == job->run->going[i].node)
                        return true;
        return false;
}

static bool array_remove_key(GArray *keys, gint64 key)
{
        for (guint i = 0; i < keys->len; i++)
                if (g_array_index(keys, gint64, i) == key) {
                        (void)g_array_remove_index(keys, i);
                        return true;
                }
        return false;
}

/* A victim that has gone is one less to wait for; one that will not go after all (what was decided could not
 * be written down) takes the nomination with it. */
static void victim_changes(Scheduler *s, Nomination *nomination, const Job *job, const SchedJob *put)
{
        if (put && put->state == SCHED_ENDING && !job->run->going)
                return;
        if (!array_remove_key(nomination->victims, job->key))
                return;
        if (stays(job, put))
                nomination_drop(s, nomination);
}

void nominations_job_changes(Scheduler *s, Job *job, const SchedJob *put)
{
        if (job->place == PLACE_NOMINATED)
                nomination_drop(s, nomination_find(s, job->key));
        for (guint i = s->nominations->len; job->run && i > 0; i--)
                victim_changes(s, s->nominations->pdata[i - 1], job, put);
}
