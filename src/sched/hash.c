/* A digest of all that decisions depend on. Tables are summed up, so that their order does not matter; what
 * is only remembered to save work (indices, what is known not to fit) is left out. */
#include "sched/state.h"

static guint64 mix(guint64 h, guint64 v)
{
        h = (h ^ v) * 0x9E3779B97F4A7C15u;
        return h ^ (h >> 32);
}

static guint64 mix_text(guint64 h, const char *text)
{
        for (; *text; text++)
                h = mix(h, (guint8)*text);
        return mix(h, 0x100);
}

static guint64 mix_resources(guint64 h, const Resources *r)
{
        for (int i = 0; i < RESOURCE_KINDS_MAX; i++)
                h = mix(h, (guint64)r->amount[i]);
        return h;
}

static guint64 mix_tasks(guint64 h, const SchedTask *tasks, int n)
{
        for (int i = 0; tasks && i < n; i++)
                h = mix(mix(h, (guint64)tasks[i].node), tasks[i].devices);
        return mix(h, tasks != NULL);
}

static guint64 node_hash(const Node *node)
{
        guint64 h = mix(mix(1, (guint64)node->id), (guint64)node->cluster);

        h = mix_text(mix(h, node->usable), node->labels->text);
        h = mix_resources(mix_resources(h, &node->total), &node->free);
        h = mix_resources(mix_resources(h, &node->planned), &node->releasing);
        return mix(h, node->devices);
}

static guint64 mix_usage(guint64 h, const Usage *usage)
{
        return mix(mix(mix(h, (guint64)usage->value), (guint64)usage->at), (guint64)usage->rate);
}

static guint64 queue_hash(const QueueNode *queue)
{
        guint64 h = mix(mix(2, (guint64)queue->id), (guint64)queue->cluster);

        h = mix(mix(h, (guint64)(queue->parent ? queue->parent->id : -1)), (guint64)queue->state);
        h = mix_resources(mix_resources(mix_resources(h, &queue->min), &queue->max), &queue->reserved);
        h = mix(mix(h, (guint64)queue->weight), (guint64)queue->priority);
        h = mix(mix(h, queue->reclaimable), (guint64)queue->preemption);
        h = mix(mix(h, (guint64)queue->order), queue->has_backfill);
        h = mix_text(mix(h, (guint64)queue->max_running_per_user), queue->labels->text);
        h = mix_resources(mix_resources(h, &queue->alloc), &queue->pending);
        h = mix_resources(mix_resources(h, &queue->planned), &queue->releasing);
        return mix_usage(h, &queue->usage);
}

static guint64 gang_digest(const Gang *gang)
{
        guint64 h = mix(mix(3, (guint64)gang->topology), gang->topology_required);

        h = mix_text(h, gang->job_labels->text);
        for (int i = 0; i < gang->n_roles; i++) {
                h = mix_resources(h, &gang->roles[i].each);
                h = mix(mix(h, (guint64)gang->roles[i].replicas), (guint64)gang->roles[i].min);
        }
        return h;
}

static guint64 job_digest(const Job *job)
{
        const Shape *shape = job->shape;
        guint64 h = mix(gang_digest(job_gang(job)), (guint64)job->key);

        h = mix(mix(h, (guint64)job_queue(job)->id), (guint64)shape->user);
        h = mix(mix(h, (guint64)shape->priority), (guint64)job->submitted);
        h = mix(mix(h, (guint64)job->not_before), (guint64)shape->time_limit);
        h = mix(mix(h, (guint64)shape->grace), (guint64)(job->held * 2 + shape->preemptable));
        h = mix(mix(h, (guint64)(shape->array ? shape->array->id : 0)), (guint64)shape->array_max);
        h = mix(h, job->state);
        if (job->run) {
                h = mix(mix(h, (guint64)job->run->started), (guint64)job->run->saved);
                h = mix_tasks(h, job->run->tasks, job_gang(job)->n_tasks);
                h = mix_tasks(h, job->run->going, job_gang(job)->n_tasks);
        }
        if (job->past)
                h = mix(mix(mix(h, job->past->victim), (guint64)job->past->safe_until),
                        (guint64)job->past->evictor);
        return h;
}

static guint64 nomination_hash(const Scheduler *s, const Nomination *nomination)
{
        guint64 h = mix(mix(4, (guint64)nomination->key), (guint64)nomination->until);

        h = mix_tasks(h, nomination->tasks, job_gang(job_find(s, nomination->key))->n_tasks);
        for (guint i = 0; i < nomination->victims->len; i++)
                h = mix(h, (guint64)g_array_index(nomination->victims, gint64, i));
        return h;
}

static guint64 account_digest(const Account *account)
{
        guint64 h = mix(mix(5, (guint64)account->queue), (guint64)account->user);

        return mix_usage(h, &account->usage);
}

guint64 scheduler_hash(const Scheduler *s)
{
        guint64 h = mix(mix(6, (guint64)s->nominated_ms), (guint64)s->cooldown_ms), sum = 0;
        GHashTableIter iter;
        gpointer p;

        h = mix(h, (guint64)s->half_life_ms);
        for (char **key = s->topology; *key; key++)
                h = mix_text(h, *key);
        for (guint i = 0; i < s->nodes->len; i++)
                if (s->nodes->pdata[i])
                        h = mix(h, node_hash(s->nodes->pdata[i]));
        for (guint i = 0; i < s->queues->len; i++)
                if (s->queues->pdata[i])
                        h = mix(h, queue_hash(s->queues->pdata[i]));
        g_hash_table_iter_init(&iter, s->jobs);
        while (g_hash_table_iter_next(&iter, NULL, &p))
                sum += job_digest(p);
        g_hash_table_iter_init(&iter, s->accounts);
        while (g_hash_table_iter_next(&iter, &p, NULL))
                if (((Account *)p)->usage.value > 0 || ((Account *)p)->usage.rate > 0)
                        sum += account_digest(p);
        for (guint i = 0; i < s->nominations->len; i++)
                h = mix(h, nomination_hash(s, s->nominations->pdata[i]));
        return mix(h, sum);
}
