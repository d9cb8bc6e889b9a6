/* Clones: all that is known is put into a new Scheduler as it was put into the old one, and what the old one
 * remembers by itself is restored beside it. */
#include "sched/copy.h"

SchedNode node_view(const Node *node)
{
        return (SchedNode){ .id = node->id,
                            .cluster = node->cluster,
                            .name = node->name,
                            .total = node->total,
                            .usable = node->usable,
                            .labels = (const char *const *)node->labels->labels };
}

SchedQueue queue_view(const QueueNode *queue)
{
        return (SchedQueue){ .id = queue->id,
                             .cluster = queue->cluster,
                             .parent = queue->parent ? queue->parent->id : -1,
                             .name = queue->name,
                             .state = queue->state,
                             .min = queue->min,
                             .max = queue->max,
                             .reserved = queue->reserved,
                             .weight = queue->weight,
                             .priority = queue->priority,
                             .reclaimable = queue->reclaimable,
                             .preemption = queue->preemption,
                             .order = queue->order,
                             .backfill = queue->has_backfill,
                             .max_running_per_user = queue->max_running_per_user,
                             .labels = (const char *const *)queue->labels->labels };
}

static int compare_keys(gconstpointer a, gconstpointer b)
{
        const Job *x = *(const Job *const *)a, *y = *(const Job *const *)b;

        return (x->key > y->key) - (x->key < y->key);
}

GPtrArray *jobs_sorted(const Scheduler *s)
{
        GPtrArray *jobs = g_ptr_array_sized_new(g_hash_table_size(s->jobs));
        GHashTableIter iter;
        gpointer p;

        g_hash_table_iter_init(&iter, s->jobs);
        while (g_hash_table_iter_next(&iter, NULL, &p))
                g_ptr_array_add(jobs, p);
        g_ptr_array_sort(jobs, compare_keys);
        return jobs;
}

static int compare_depths(gconstpointer a, gconstpointer b)
{
        const QueueNode *x = *(const QueueNode *const *)a, *y = *(const QueueNode *const *)b;
        int order = queue_depth(x) - queue_depth(y);

        return order != 0 ? order : (x->id > y->id) - (x->id < y->id);
}

GPtrArray *queues_sorted(const Scheduler *s)
{
        GPtrArray *queues = g_ptr_array_new();

        for (guint i = 0; i < s->queues->len; i++)
                if (s->queues->pdata[i])
                        g_ptr_array_add(queues, s->queues->pdata[i]);
        g_ptr_array_sort(queues, compare_depths);
        return queues;
}

/* ---- restoring ---- */

void restore_past(Scheduler *s, Job *job, const Past *past)
{
        *job_past(s, job) = *past;
}

bool restore_going(Scheduler *s, Job *job, const SchedTask *going)
{
        const Gang *gang = job_gang(job);

        for (int i = 0; i < gang->n_tasks; i++) {
                Node *node = node_find(s, going[i].node);

                if (going[i].node < 0)
                        continue;
                if (!node || node->cluster != gang->cluster || job->run->tasks[i].node >= 0 ||
                    (node->devices & going[i].devices) ||
                    !job_can_hold(node, &gang->roles[gang_role_of(gang, i)].each))
                        return false;
                node_take(s, node, gang->classes[gang_role_of(gang, i)], going[i].devices);
                job_place_task(s, job, i, going[i]);
                job_task_releasing(s, job, i, 1);
                job_let_task_go(s, job, i);
        }
        account_changed(s, job->shape->account);
        job_remark_elastic(s, job);
        return true;
}

void restore_nomination(Scheduler *s, Nomination *nomination)
{
        nomination_add(s, nomination);
}

/* ---- cloning ---- */

/* What the last pass found, until the next one judges again. */
static void restore_hopeless(Group *copy, const Group *group)
{
        if (copy->hopeless != group->hopeless)
                memo_drop(&copy->judged);
        if (copy->gang->hopeless != group->gang->hopeless)
                memo_drop(&copy->gang->judged);
        copy->hopeless = group->hopeless;
        copy->gang->hopeless = group->gang->hopeless;
        if (!memo_is_kept(&copy->judged) || !memo_is_kept(&copy->gang->judged))
                memo_drop(&copy->queue->start.judged);
}

static void copy_jobs(const Scheduler *s, Scheduler *clone)
{
        g_autoptr(GPtrArray) jobs = jobs_sorted(s);

        for (guint i = 0; i < jobs->len; i++) {
                const Job *job = jobs->pdata[i];
                SchedJob view;
                Job *copy;

                (void)job_view(job, &view);
                (void)scheduler_put_job(clone, &view);
                copy = job_find(clone, job->key);
                if (job->past)
                        restore_past(clone, copy, job->past);
                if (job->run && job->run->going)
                        (void)restore_going(clone, copy, job->run->going);
                copy->shape->cause = job->shape->cause;
                copy->shape->group->cause = job->shape->group->cause;
                copy->shape->group->kept = job->shape->group->kept;
                copy->shape->group->kept_span = job->shape->group->kept_span;
                copy->shape->group->cause_queue = job->shape->group->cause_queue;
                restore_hopeless(copy->shape->group, job->shape->group);
        }
}

static void copy_nominations(const Scheduler *s, Scheduler *clone)
{
        for (guint i = 0; i < s->nominations->len; i++) {
                const Nomination *old = s->nominations->pdata[i];
                Nomination *copy = g_memdup2(old, sizeof *old);
                int n = job_gang(job_find(s, old->key))->n_tasks;

                copy->tasks = g_memdup2(old->tasks, sizeof *old->tasks * (gsize)n);
                copy->victims = g_array_copy(old->victims);
                restore_nomination(clone, copy);
        }
}

/* What is known not to fit does not fit in the clone either. */
static void copy_closed(const Scheduler *s, Scheduler *clone)
{
        GHashTableIter iter;
        gpointer p;

        g_hash_table_iter_init(&iter, s->jobs);
        while (g_hash_table_iter_next(&iter, NULL, &p))
                if (job_gang(p)->closed)
                        gang_close(job_gang(job_find(clone, ((Job *)p)->key)), job_gang(p)->cause);
}

static void copy_usage(const Scheduler *s, Scheduler *clone)
{
        GHashTableIter iter;
        gpointer p;

        g_hash_table_iter_init(&iter, s->accounts);
        while (g_hash_table_iter_next(&iter, &p, NULL)) {
                const Account *account = p;

                account_get(clone, account->queue, account->user)->usage = account->usage;
        }
}

static void copy_queue_memory(const Scheduler *s, Scheduler *clone)
{
        for (guint i = 0; i < s->queues->len; i++) {
                const QueueNode *old = s->queues->pdata[i];
                QueueNode *copy = queue_find(clone, (int)i);

                if (!old)
                        continue;
                copy->usage = old->usage;
                copy->backfill.head = old->backfill.head;
                copy->backfill.head_start = old->backfill.head_start;
                copy->backfill.denied = old->backfill.denied;
                copy->first.heads_memo = old->first.heads_memo;
                memcpy(copy->first.heads, old->first.heads, sizeof copy->first.heads);
        }
}

Scheduler *scheduler_clone(const Scheduler *s)
{
        g_autofree char *topology = g_strjoinv(",", s->topology);
        SchedulerConfig config = { s->nominated_ms, s->cooldown_ms, s->half_life_ms, topology };
        Scheduler *clone = scheduler_new(&config);
        g_autoptr(GPtrArray) queues = queues_sorted(s);

        clone->now = s->now;
        for (guint i = 0; i < s->nodes->len; i++)
                if (s->nodes->pdata[i]) {
                        SchedNode node = node_view(s->nodes->pdata[i]);

                        (void)scheduler_put_node(clone, &node);
                }
        for (guint i = 0; i < queues->len; i++) {
                SchedQueue queue = queue_view(queues->pdata[i]);

                (void)scheduler_put_queue(clone, &queue);
        }
        copy_jobs(s, clone);
        copy_nominations(s, clone);
        copy_closed(s, clone);
        copy_usage(s, clone);
        copy_queue_memory(s, clone);
        for (guint i = 0; i < s->clusters->len; i++)
                cluster_get(clone, ((Cluster *)s->clusters->pdata[i])->id)->guard =
                        ((Cluster *)s->clusters->pdata[i])->guard;
#ifdef SCHED_MUTANTS
        clone->mutant = s->mutant;
#endif
        return clone;
}
