/* Elastic jobs grow towards their full size into what is free, as long as nobody waits for what they would
 * take: a kind of resources that somebody lacks who could start with it, or the max of a queue above. One
 * task at a time, queue by queue in order of share, so that they grow alike. */
#include "sched/pass.h"

typedef struct {
        Pass *pass;
        guint32 wanted;   /* kinds that somebody in the cluster waits for */
        GPtrArray *grown; /* Job, in the order in which they first grew */
} Growth;

/* ---- who waits for what ---- */

static bool somebody_waits(Scheduler *s, const Group *group)
{
        for (guint i = 0; i < group->shapes->len; i++)
                if (shape_limited(group->shapes->pdata[i]) == CAUSE_NONE)
                        return true;
        return false;
}

/* The kinds that the group waits for in the whole cluster; what it waits for below a queue's max is noted there.
 */
static guint32 wanted_by(Scheduler *s, Group *group)
{
        Gang *gang = group->gang;
        QueueNode *over;
        int kind;

        if (group_hopeless(s, group) != CAUSE_NONE || !somebody_waits(s, group))
                return 0;
        over = queue_over_max(s, group->queue, &gang->need_total, gang->mask, NOW, &kind);
        if (!over)
                return gang->closed ? gang_lacking(s, gang) : gang->mask;
        over->grow.wanted |= gang->mask & over->max_mask;
        return 0;
}

/* The kinds that every task takes by which a job might grow. */
static guint32 taken_by_all(const Scheduler *s)
{
        guint32 kinds = 0;

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                kinds |= (guint32)(s->elastic_without[kind] == 0) << kind;
        return kinds;
}

static bool is_serving(const QueueNode *queue, const Cluster *cluster)
{
        return queue && queue->cluster == cluster->id && queue_is_startable(queue);
}

/* Who kept all from growing in the last pass does so still. */
static bool is_still_wanting(Scheduler *s, const Cluster *cluster)
{
        const QueueNode *queue = queue_find(s, cluster->wanting);

        return is_serving(queue, cluster) && cluster->wanting_group < queue->groups->len &&
               (wanted_by(s, queue->groups->pdata[cluster->wanting_group]) & taken_by_all(s)) != 0;
}

/* False: nobody can grow, for one group waits for a kind that all would take. */
static bool look_for_wanted(Scheduler *s, Growth *growth, Cluster *cluster)
{
        guint32 enough = taken_by_all(s);

        if (is_still_wanting(s, cluster))
                return false;
        for (guint i = 0; i < s->queues->len; i++)
                if (s->queues->pdata[i])
                        ((QueueNode *)s->queues->pdata[i])->grow.wanted = 0;
        for (guint i = 0; i < s->queues->len; i++) {
                const QueueNode *queue = s->queues->pdata[i];

                for (guint j = 0; is_serving(queue, cluster) && j < queue->groups->len; j++) {
                        growth->wanted |= wanted_by(s, queue->groups->pdata[j]);
                        if (growth->wanted & enough) {
                                cluster->wanting = queue->id;
                                cluster->wanting_group = j;
                                return false;
                        }
                }
        }
        return true;
}

static bool is_wanted(const Growth *growth, const QueueNode *queue, guint32 kinds)
{
        guint32 wanted = growth->wanted;

        for (; queue; queue = queue->parent)
                wanted |= queue->grow.wanted;
        return (wanted & kinds) != 0;
}

/* ---- one more task ---- */

/* The value of the label within which the job's tasks have to stay; NULL: anywhere. */
static const Domain *domain_of(Scheduler *s, const Job *job)
{
        const Gang *gang = job_gang(job);

        for (int i = 0; gang->topology_required && i < gang->n_tasks; i++) {
                const Node *node = node_find(s, job->run->tasks[i].node);

                if (node && node->domains[gang->topology] >= 0)
                        return s->domains->pdata[node->domains[gang->topology]];
        }
        return NULL;
}

static bool grow_role(Growth *growth, Job *job, int role)
{
        Scheduler *s = growth->pass->s;
        Gang *gang = job_gang(job);
        Class *class = gang->classes[role];
        int task = gang->first[role], kind;
        Node *node;

        while (task < gang->first[role] + gang->roles[role].replicas && job->run->tasks[task].node >= 0)
                task++;
        if (task == gang->first[role] + gang->roles[role].replicas ||
            is_wanted(growth, job_queue(job), class->mask) ||
            queue_over_max(s, job_queue(job), &class->each, class->mask, NOW, &kind) ||
            queue_kept_from(s, job_queue(job), &class->each, class->mask, NOW, &kind))
                return false;
        node = place_best(s, class, domain_of(s, job));
        if (!node)
                return false;
        SchedTask at = { node->id, node_pick_devices(s, node, class->each.gpus) };

        node_take(s, node, class, at.devices);
        job_place_task(s, job, task, at);
        return true;
}

static bool grow(Growth *growth, Job *job)
{
        for (int role = 0; role < job_gang(job)->n_roles; role++)
                if (grow_role(growth, job, role)) {
                        if (!g_ptr_array_find(growth->grown, job, NULL))
                                g_ptr_array_add(growth->grown, job);
                        return true;
                }
        return false;
}

/* ---- the phase ---- */

static int compare_growers(gconstpointer a, gconstpointer b)
{
        const Job *x = *(const Job *const *)a, *y = *(const Job *const *)b;

        if (x->shape->priority != y->shape->priority)
                return x->shape->priority > y->shape->priority ? -1 : 1;
        if (x->submitted != y->submitted)
                return x->submitted < y->submitted ? -1 : 1;
        return (x->key > y->key) - (x->key < y->key);
}

static bool next_grower(Scheduler *s, QueueNode *queue, guint32 *ret_kinds)
{
        if (queue->grow.jobs->len == 0)
                return false;
        *ret_kinds = amounts_mask(&job_gang(queue->grow.jobs->pdata[0])->full_total);
        return true;
}

static bool collect(Scheduler *s, const Cluster *cluster)
{
        bool any = false;

        for (guint i = 0; i < s->queues->len; i++)
                if (s->queues->pdata[i])
                        g_ptr_array_set_size(((QueueNode *)s->queues->pdata[i])->grow.jobs, 0);
        for (guint i = 0; i < s->elastic->len; i++) {
                Job *job = s->elastic->pdata[i];

                if (job_queue(job)->cluster != cluster->id || !queue_is_startable(job_queue(job)))
                        continue;
                g_ptr_array_add(job_queue(job)->grow.jobs, job);
                any = true;
        }
        for (guint i = 0; any && i < s->queues->len; i++)
                if (s->queues->pdata[i])
                        g_ptr_array_sort(((QueueNode *)s->queues->pdata[i])->grow.jobs, compare_growers);
        return any;
}

static void decide(Growth *growth)
{
        Scheduler *s = growth->pass->s;

        for (guint i = 0; i < growth->grown->len; i++) {
                Job *job = growth->grown->pdata[i];

                account_changed(s, job->shape->account);
                job_remark_elastic(s, job);
                pass_decide_growth(growth->pass, job);
        }
}

void phase_grow(Pass *pass, Cluster *cluster)
{
        Scheduler *s = pass->s;
        Growth growth = { .pass = pass };
        g_autoptr(GPtrArray) grown = NULL;
        QueueNode *queue;

        if (s->elastic->len == 0 || !look_for_wanted(s, &growth, cluster) || !collect(s, cluster))
                return;
        growth.grown = grown = g_ptr_array_new();
        active_fill(s, cluster, next_grower);
        while ((queue = active_best(cluster))) {
                if (!grow(&growth, queue->grow.jobs->pdata[0]))
                        (void)g_ptr_array_remove_index(queue->grow.jobs, 0);
                active_moved(s, queue, next_grower);
        }
        decide(&growth);
}
