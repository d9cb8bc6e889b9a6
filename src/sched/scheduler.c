/* What a Scheduler is told: nodes, queues, jobs, usage (see scheduler.h and state.h). A put replaces all that
 * was known; what follows from it for the figures of nodes and queues is brought up to date at once, what
 * follows for decisions is the next pass's. */
#include "sched/turns.h"
#include "sched/victim.h"

enum { NODE_TASKS = 8 }; /* for which a node has memory from the start */

/* ---- making ---- */

static gint64 or_default(gint64 value, gint64 otherwise)
{
        return value > 0 ? MIN(value, SCHED_SPAN_MAX) : otherwise;
}

static char **split_topology(const char *text)
{
        g_auto(GStrv) keys = g_strsplit(text ? text : "", ",", SCHED_LEVELS_MAX + 1);
        g_autoptr(GPtrArray) ret = g_ptr_array_new();

        for (char **key = keys; *key && ret->len < SCHED_LEVELS_MAX; key++)
                if (**key)
                        g_ptr_array_add(ret, g_strdup(*key));
        g_ptr_array_add(ret, NULL);
        return (char **)g_ptr_array_free(g_steal_pointer(&ret), FALSE);
}

static void domain_free(gpointer p)
{
        Domain *domain = p;

        g_free(domain->label);
        g_ptr_array_unref(domain->nodes);
        g_free(domain);
}

static void cluster_free(gpointer p)
{
        Cluster *cluster = p;

        siblings_clear(&cluster->active);
        g_ptr_array_unref(cluster->order);
        g_ptr_array_unref(cluster->keepers);
        g_free(cluster);
}

Scheduler *scheduler_new(const SchedulerConfig *config)
{
        Scheduler *s = g_new0(Scheduler, 1);

        s->nominated_ms = or_default(config->nominated_ms, 60 * 1000);
        s->cooldown_ms = or_default(config->cooldown_ms, 60 * 1000);
        s->half_life_ms = or_default(config->half_life_ms, (gint64)7 * 24 * 3600 * 1000);
        s->topology = split_topology(config->topology);
        s->n_levels = (int)g_strv_length(s->topology);
        s->clusters = g_ptr_array_new_with_free_func(cluster_free);
        s->nodes = g_ptr_array_new();
        s->queues = g_ptr_array_new();
        s->domains = g_ptr_array_new_with_free_func(domain_free);
        s->domain_index = g_hash_table_new(g_str_hash, g_str_equal);
        s->jobs = g_hash_table_new(g_int64_hash, g_int64_equal);
        s->with_past = g_hash_table_new(NULL, NULL);
        s->timers = g_sequence_new(NULL);
        s->nominations = g_ptr_array_new();
        s->sims = g_ptr_array_new();
        s->elastic = g_ptr_array_new();
        s->rows = g_array_new(FALSE, TRUE, sizeof(NodeRow));
        s->changes = g_array_new(FALSE, FALSE, sizeof(int));
        intern_init(s);
        return s;
}

static void node_free(Scheduler *s, Node *node)
{
        labels_unref(s, node->labels);
        g_free(node->name);
        g_array_unref(node->tasks);
        g_array_unref(node->ends);
        g_free(node);
}

static void queue_free(Scheduler *s, QueueNode *queue)
{
        labels_unref(s, queue->labels);
        g_free(queue->name);
        g_ptr_array_unref(queue->groups);
        g_array_unref(queue->start.turns);
        g_array_unref(queue->backfill.behind);
        g_ptr_array_unref(queue->backfill.noted);
        g_array_unref(queue->backfill.ends);
        g_ptr_array_unref(queue->running);
        siblings_clear(&queue->share.children);
        g_ptr_array_unref(queue->grow.jobs);
        g_array_unref(queue->victim.victims);
        reservation_free(queue->backfill.reservation);
        settled_clear(&queue->settled);
        g_ptr_array_unref(queue->start.ranking);
        g_free(queue);
}

static void job_free(Scheduler *s, Job *job)
{
        shape_unref(s, job->shape);
        if (job->past)
                g_hash_table_remove(s->with_past, job);
        g_free(job->past);
        g_free(job);
}

/* Only its memory: the sums do not matter any more. */
static void job_abandon(Scheduler *s, Job *job)
{
        if (job->run) {
                g_free(job->run->tasks);
                g_free(job->run->going);
                g_free(job->run);
        }
        job_free(s, job);
}

void scheduler_free(Scheduler *s)
{
        GHashTableIter iter;
        gpointer job;

        if (!s)
                return;
        g_hash_table_iter_init(&iter, s->jobs);
        while (g_hash_table_iter_next(&iter, NULL, &job))
                job_abandon(s, job);
        for (guint i = 0; i < s->nominations->len; i++)
                nomination_free(s->nominations->pdata[i]);
        for (guint i = 0; i < s->queues->len; i++)
                if (s->queues->pdata[i])
                        queue_free(s, s->queues->pdata[i]);
        for (guint i = 0; i < s->nodes->len; i++)
                if (s->nodes->pdata[i])
                        node_free(s, s->nodes->pdata[i]);
        for (guint i = 0; i < s->sims->len; i++)
                sim_free(s->sims->pdata[i]);
        intern_clear(s);
        g_hash_table_unref(s->jobs);
        g_hash_table_unref(s->with_past);
        g_hash_table_unref(s->domain_index);
        g_ptr_array_unref(s->domains);
        g_ptr_array_unref(s->clusters);
        g_ptr_array_unref(s->nodes);
        g_ptr_array_unref(s->queues);
        g_ptr_array_unref(s->nominations);
        g_ptr_array_unref(s->sims);
        g_ptr_array_unref(s->elastic);
        g_sequence_free(s->timers);
        g_array_unref(s->rows);
        g_array_unref(s->changes);
        g_strfreev(s->topology);
        g_free(s);
}

/* ---- finding ---- */

static int compare_clusters(gconstpointer a, gconstpointer b)
{
        const Cluster *x = *(const Cluster *const *)a, *y = *(const Cluster *const *)b;

        return (x->id > y->id) - (x->id < y->id);
}

Cluster *cluster_get(Scheduler *s, int id)
{
        Cluster *cluster = cluster_find(s, id);

        if (cluster)
                return cluster;
        cluster = g_new0(Cluster, 1);
        cluster->id = id;
        cluster->version = 1;
        cluster->guard = cluster->wanting = -1;
        siblings_init(&cluster->active);
        cluster->order = g_ptr_array_new();
        cluster->keepers = g_ptr_array_new();
        g_ptr_array_add(s->clusters, cluster);
        g_ptr_array_sort(s->clusters, compare_clusters);
        return cluster;
}

Job *job_find(const Scheduler *s, gint64 key)
{
        return g_hash_table_lookup(s->jobs, &key);
}

/* ---- nodes ---- */

static bool amounts_are_sane(const Resources *r)
{
        for (int i = 0; i < RESOURCE_KINDS_MAX; i++)
                if (r->amount[i] < 0 || r->amount[i] > SCHED_AMOUNT_MAX)
                        return false;
        return true;
}

static void count_node(Cluster *cluster, const Node *node, int sign)
{
        cluster->n_nodes += sign;
        cluster->version++;
        if (!node->usable)
                return;
        cluster->n_usable += sign;
        for (int i = 0; i < RESOURCE_KINDS_MAX; i++) {
                cluster->total.amount[i] += sign * node->total.amount[i];
                cluster->free.amount[i] += sign * node->free.amount[i];
                cluster->planned.amount[i] += sign * node->planned.amount[i];
                cluster->releasing.amount[i] += sign * node->releasing.amount[i];
        }
}

static int domain_get(Scheduler *s, int level, const char *label)
{
        g_autofree char *name = g_strdup_printf("%d\n%s", level, label);
        int index = GPOINTER_TO_INT(g_hash_table_lookup(s->domain_index, name)) - 1;
        Domain *domain;

        if (index >= 0)
                return index;
        domain = g_new0(Domain, 1);
        domain->level = level;
        domain->label = g_steal_pointer(&name);
        domain->nodes = g_ptr_array_new();
        g_ptr_array_add(s->domains, domain);
        g_hash_table_insert(s->domain_index, domain->label, GINT_TO_POINTER(s->domains->len));
        return (int)s->domains->len - 1;
}

static void leave_domains(Scheduler *s, Node *node)
{
        for (int level = 0; level < s->n_levels; level++)
                if (node->domains[level] >= 0) {
                        Domain *domain = s->domains->pdata[node->domains[level]];

                        (void)g_ptr_array_remove_fast(domain->nodes, node);
                }
}

static void enter_domains(Scheduler *s, Node *node)
{
        for (int level = 0; level < s->n_levels; level++) {
                size_t len = strlen(s->topology[level]);

                node->domains[level] = -1;
                for (char **label = node->labels->labels; *label; label++)
                        if (strncmp(*label, s->topology[level], len) == 0 && (*label)[len] == '=') {
                                node->domains[level] = domain_get(s, level, *label);
                                g_ptr_array_add(((Domain *)s->domains->pdata[node->domains[level]])->nodes,
                                                node);
                                break;
                        }
        }
}

/* The cluster's total stays in bounds. */
static bool total_is_sane(const Scheduler *s, const SchedNode *node, const Node *old)
{
        const Cluster *cluster = cluster_find(s, node->cluster);

        if (!amounts_are_sane(&node->total) || node->total.gpus > SCHED_DEVICES_MAX)
                return false;
        for (int i = 0; cluster && i < RESOURCE_KINDS_MAX; i++) {
                gint64 before =
                        old && old->usable && old->cluster == node->cluster ? old->total.amount[i] : 0;

                if (cluster->total.amount[i] - before > SCHED_AMOUNT_MAX - node->total.amount[i])
                        return false;
        }
        return true;
}

/* The lists of nodes that classes keep are indexed by the ids of all clusters: each is made again when one is added. */
static void stale_classes(Scheduler *s)
{
        for (guint i = 0; i < s->clusters->len; i++) {
                Cluster *cluster = s->clusters->pdata[i];

                if (cluster)
                        cluster->version++;
        }
}

static Node *node_make(Scheduler *s, int id)
{
        Node *node = g_new0(Node, 1);

        node->id = id;
        node->tasks = g_array_sized_new(FALSE, FALSE, sizeof(NodeTask), NODE_TASKS);
        node->ends = g_array_sized_new(FALSE, FALSE, sizeof(TaskEnd), NODE_TASKS);
        memo_keep(&node->ends_memo, MEMO_UNTIL_DROPPED);
        if (s->nodes->len <= (guint)id) {
                g_ptr_array_set_size(s->nodes, id + 1);
                stale_classes(s);
        }
        if (s->rows->len <= (guint)id)
                g_array_set_size(s->rows, (guint)id + 1);
        s->nodes->pdata[id] = node;
        for (int level = 0; level < SCHED_LEVELS_MAX; level++)
                node->domains[level] = -1;
        return node;
}

static void open_gangs(Scheduler *s, int cluster)
{
        GHashTableIter iter;
        gpointer p;

        g_hash_table_iter_init(&iter, s->classes);
        while (g_hash_table_iter_next(&iter, &p, NULL))
                ((Class *)p)->stir++;
        g_hash_table_iter_init(&iter, s->gangs);
        while (g_hash_table_iter_next(&iter, &p, NULL))
                if (((Gang *)p)->cluster == cluster)
                        gang_open(p);
}

/* Nodes have changed, and with them shares, and which preemptions fail. */
static void stale_queues(Scheduler *s)
{
        for (guint i = 0; i < s->queues->len; i++) {
                QueueNode *queue = s->queues->pdata[i];

                if (queue) {
                        memo_drop(&queue->share.memo);
                        memo_drop(&queue->preempt.failed.memo);
                }
        }
}

bool scheduler_put_node(Scheduler *s, const SchedNode *put)
{
        Node *node = node_find(s, put->id);
        LabelSet *labels;

        if (put->id < 0 || put->id >= SCHED_ID_MAX || put->cluster < 0 || !total_is_sane(s, put, node) ||
            (node && node->cluster != put->cluster && (node->tasks->len > 0 || node->n_planned > 0)))
                return false;
        labels = labels_intern(s, put->labels);
        if (node) {
                count_node(cluster_get(s, node->cluster), node, -1);
                leave_domains(s, node);
        } else {
                node = node_make(s, put->id);
        }
        labels_unref(s, node->labels);
        node->labels = labels;
        g_free(node->name);
        node->name = g_strdup(put->name ? put->name : "");
        amounts_add(&node->free, &put->total);
        amounts_subtract(&node->free, &node->total);
        node->total = put->total;
        node->cluster = put->cluster;
        node->usable = put->usable;
        count_node(cluster_get(s, node->cluster), node, 1);
        enter_domains(s, node);
        node_changed(s, node);
        open_gangs(s, node->cluster);
        stale_queues(s);
        return true;
}

bool scheduler_drop_node(Scheduler *s, int id)
{
        Node *node = node_find(s, id);

        if (!node || node->tasks->len > 0)
                return false;
        nominations_leave_node(s, id);
        count_node(cluster_get(s, node->cluster), node, -1);
        leave_domains(s, node);
        node_changed(s, node);
        s->nodes->pdata[id] = NULL;
        node_free(s, node);
        stale_queues(s);
        return true;
}

/* ---- queues ---- */

static bool parent_is_sane(const Scheduler *s, const SchedQueue *put)
{
        int depth = 1;

        if (put->parent < 0)
                return true;
        for (const QueueNode *queue = queue_find(s, put->parent); queue; queue = queue->parent, depth++)
                if (queue->cluster != put->cluster || queue->id == put->id || depth >= SCHED_DEPTH_MAX)
                        return false;
        return queue_find(s, put->parent) != NULL;
}

static bool queue_is_sane(const Scheduler *s, const SchedQueue *put, const QueueNode *old)
{
        if (put->id < 0 || put->id >= SCHED_ID_MAX || put->cluster < 0 || !amounts_are_sane(&put->min) ||
            !amounts_are_sane(&put->reserved) || put->weight < 1 || put->weight > SCHED_WEIGHT_MAX ||
            put->max_running_per_user < 0 || !parent_is_sane(s, put))
                return false;
        for (int i = 0; i < RESOURCE_KINDS_MAX; i++)
                if (put->max.amount[i] < 0)
                        return false;
        return !old || old->cluster == put->cluster || (old->n_jobs == 0 && old->n_children == 0);
}

/* What `queue` holds, from or to all those above it. */
static void move_sums(QueueNode *queue, Scheduler *s, int sign)
{
        for (QueueNode *above = queue->parent; above; above = above->parent) {
                above->charges++;
                for (int i = 0; i < RESOURCE_KINDS_MAX; i++) {
                        above->alloc.amount[i] += sign * queue->alloc.amount[i];
                        above->releasing.amount[i] += sign * queue->releasing.amount[i];
                        above->planned.amount[i] += sign * queue->planned.amount[i];
                }
                if (sign > 0)
                        amounts_add(&above->pending, &queue->pending);
                else
                        amounts_subtract(&above->pending, &queue->pending);
                above->n_jobs += sign * queue->n_jobs;
                above->n_pending += sign * queue->n_pending;
                above->n_running += sign * queue->n_running;
                usage_set_rate(s, &above->usage, above->usage.rate + sign * queue->usage.rate, s->now);
        }
        if (queue->parent)
                queue->parent->n_children += sign;
        queue_stale(queue);
}

/* What is worked out of no jobs is right: it is kept up to date as jobs come. */
static void keep_of_nothing(QueueNode *queue)
{
        memo_keep(&queue->start.turns_memo, MEMO_UNTIL_DROPPED);
        memo_keep(&queue->start.tops, MEMO_UNTIL_DROPPED);
        memo_keep(&queue->start.ranking_memo, MEMO_UNTIL_DROPPED);
        memo_keep(&queue->backfill.ends_memo, MEMO_UNTIL_DROPPED);
        memo_keep(&queue->first.heads_memo, MEMO_UNTIL_DROPPED);
        memo_keep(&queue->first.first_memo, MEMO_UNTIL_DROPPED);
        memo_keep(&queue->preempt.lowest_memo, MEMO_UNTIL_DROPPED);
}

static QueueNode *queue_make(Scheduler *s, int id)
{
        QueueNode *queue = g_new0(QueueNode, 1);

        queue->id = id;
        queue->groups = g_ptr_array_new();
        queue->start.turns = g_array_new(FALSE, FALSE, sizeof(Turn));
        queue->backfill.behind = g_array_new(FALSE, FALSE, sizeof(Turn));
        queue->backfill.noted = g_ptr_array_new();
        queue->backfill.ends = g_array_new(FALSE, FALSE, sizeof(JobEnd));
        queue->preempt.lowest = G_MAXINT;
        queue->running = g_ptr_array_new();
        siblings_init(&queue->share.children);
        queue->grow.jobs = g_ptr_array_new();
        queue->start.ranking = g_ptr_array_new();
        queue->victim.victims = g_array_new(FALSE, FALSE, sizeof(Victim));
        queue->usage.at = s->now;
        keep_of_nothing(queue);
        if (s->queues->len <= (guint)id)
                g_ptr_array_set_size(s->queues, id + 1);
        s->queues->pdata[id] = queue;
        return queue;
}

static int compare_queue_ids(gconstpointer a, gconstpointer b)
{
        const QueueNode *x = *(const QueueNode *const *)a, *y = *(const QueueNode *const *)b;

        return (x->id > y->id) - (x->id < y->id);
}

static void set_keeper(Scheduler *s, QueueNode *queue, bool keeps)
{
        GPtrArray *keepers = cluster_get(s, queue->cluster)->keepers;

        (void)g_ptr_array_remove(keepers, queue);
        if (keeps)
                g_ptr_array_add(keepers, queue);
        g_ptr_array_sort(keepers, compare_queue_ids);
        queue->keeps = keeps;
}

static guint32 limited_kinds(const Resources *max)
{
        guint32 mask = 0;

        for (int i = 0; i < RESOURCE_KINDS_MAX; i++)
                mask |= (guint32)(max->amount[i] <= SCHED_AMOUNT_MAX) << i;
        return mask;
}

static void set_queue(Scheduler *s, QueueNode *queue, const SchedQueue *put)
{
        queue->state = put->state;
        queue->min = put->min;
        queue->max = put->max;
        queue->reserved = put->reserved;
        queue->min_mask = amounts_mask(&put->min);
        queue->max_mask = limited_kinds(&put->max);
        queue->weight = put->weight;
        queue->priority = put->priority;
        queue->reclaimable = put->reclaimable;
        queue->preemption = put->preemption;
        queue->order = put->order;
        queue->has_backfill = put->backfill;
        queue->max_running_per_user = put->max_running_per_user;
        g_free(queue->name);
        queue->name = g_strdup(put->name ? put->name : "");
        queue->cluster = put->cluster;
        set_keeper(s, queue, amounts_mask(&put->reserved) != 0);
        if (queue->groups->len > 0) {
                memo_drop(&queue->start.tops);
                memo_drop(&queue->first.first_memo);
        }
        s->config_version++;
}

static int compare_jobs(gconstpointer a, gconstpointer b)
{
        const Job *x = *(const Job *const *)a, *y = *(const Job *const *)b;

        return (x->key > y->key) - (x->key < y->key);
}

/* The queue's labels have changed, so its jobs request something else. Those that are being shrunk will be
 * put again in any case. */
static void reshape_jobs(Scheduler *s, QueueNode *queue)
{
        g_autoptr(GPtrArray) jobs = g_ptr_array_new();
        GHashTableIter iter;
        gpointer p;

        g_hash_table_iter_init(&iter, s->jobs);
        while (g_hash_table_iter_next(&iter, NULL, &p))
                if (job_queue(p) == queue && !(((Job *)p)->run && ((Job *)p)->run->going))
                        g_ptr_array_add(jobs, p);
        g_ptr_array_sort(jobs, compare_jobs);
        for (guint i = 0; i < jobs->len; i++) {
                SchedJob view;

                (void)job_view(jobs->pdata[i], &view);
                (void)scheduler_put_job(s, &view);
        }
}

bool scheduler_put_queue(Scheduler *s, const SchedQueue *put)
{
        QueueNode *queue = queue_find(s, put->id);
        LabelSet *labels, *old;

        if (!queue_is_sane(s, put, queue))
                return false;
        if (queue) {
                move_sums(queue, s, -1);
                set_keeper(s, queue, false);
        } else {
                queue = queue_make(s, put->id);
        }
        (void)cluster_get(s, put->cluster);
        queue->parent = queue_find(s, put->parent);
        set_queue(s, queue, put);
        move_sums(queue, s, 1);
        labels = labels_intern(s, put->labels);
        old = queue->labels;
        queue->labels = labels;
        if (old && old != labels)
                reshape_jobs(s, queue);
        labels_unref(s, old);
        return true;
}

static gboolean account_is_of(gpointer key, gpointer value, gpointer queue)
{
        return ((Account *)key)->queue == *(int *)queue;
}

bool scheduler_drop_queue(Scheduler *s, int id)
{
        QueueNode *queue = queue_find(s, id);

        if (!queue || queue->n_jobs > 0 || queue->n_children > 0)
                return false;
        move_sums(queue, s, -1);
        set_keeper(s, queue, false);
        (void)g_hash_table_foreach_remove(s->accounts, account_is_of, &id);
        s->queues->pdata[id] = NULL;
        s->config_version++;
        queue_free(s, queue);
        return true;
}

/* ---- jobs ---- */

static bool role_is_sane(const SchedRole *role, Resources *sum, gint64 *tasks)
{
        if (!amounts_are_sane(&role->each) || role->replicas < 0 || role->min < 0 ||
            role->min > role->replicas || role->replicas > SCHED_TASKS_MAX)
                return false;
        for (int i = 0; i < RESOURCE_KINDS_MAX; i++) {
                gint64 amount;

                if (__builtin_mul_overflow(role->each.amount[i], role->replicas, &amount) ||
                    amount > SCHED_AMOUNT_MAX - sum->amount[i])
                        return false;
                sum->amount[i] += amount;
        }
        *tasks += role->replicas;
        return *tasks <= SCHED_TASKS_MAX;
}

/* The GPUs of the node that the job has already. */
static guint64 devices_of(const Node *node, const Job *job)
{
        guint64 devices = 0;

        for (guint i = 0; job && i < node->tasks->len; i++) {
                const NodeTask *at = &g_array_index(node->tasks, NodeTask, i);

                if (at->job != job)
                        continue;
                devices |= job->run->tasks[at->task].devices;
                if (job->run->going && job->run->going[at->task].node >= 0)
                        devices |= job->run->going[at->task].devices;
        }
        return devices;
}

/* `own`: node -> devices of the tasks looked at so far. */
static bool devices_are_free(const Node *node, guint64 devices, const Job *old, GHashTable *own)
{
        gpointer id = GINT_TO_POINTER(node->id);
        guint64 *taken = g_hash_table_lookup(own, id);

        if (!taken) {
                taken = g_new(guint64, 1);
                *taken = node->devices & ~devices_of(node, old);
                g_hash_table_insert(own, id, taken);
        }
        if (*taken & devices)
                return false;
        *taken |= devices;
        return true;
}

bool job_can_hold(const Node *node, const Resources *each)
{
        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                if (node->free.amount[kind] < each->amount[kind] - SCHED_AMOUNT_MAX)
                        return false;
        return true;
}

/* Where it says that it stands, it can stand: nodes exist, GPUs are nobody else's. */
static bool tasks_are_sane(const Scheduler *s, const SchedJob *put, const Job *old)
{
        g_autoptr(GHashTable) own = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        int cluster = queue_find(s, put->queue)->cluster, task = 0;

        for (int role = 0; role < put->n_roles; role++)
                for (int i = 0; i < put->roles[role].replicas; i++, task++) {
                        const SchedTask *at = &put->tasks[task];
                        const Node *node = node_find(s, at->node);

                        if (at->node < 0)
                                continue;
                        if (!node || node->cluster != cluster)
                                return false;
                        if (at->devices && !devices_are_free(node, at->devices, old, own))
                                return false;
                        if (!job_can_hold(node, &put->roles[role].each))
                                return false;
                }
        return true;
}

static bool is_time(gint64 ms)
{
        return ms >= 0 && ms <= SCHED_TIME_MAX;
}

static bool job_is_sane(const Scheduler *s, const SchedJob *put, const Job *old)
{
        Resources sum = { 0 };
        gint64 tasks = 0;

        if (put->key <= 0 || !queue_find(s, put->queue) || put->n_roles < 0 ||
            put->n_roles > SCHED_ROLES_MAX || ABS(put->priority) > SCHED_PRIORITY_MAX || put->array < 0 ||
            put->array_max < 0 || !is_time(put->time_limit_ms) || !is_time(put->grace_ms) ||
            !is_time(put->submitted) || !is_time(put->not_before) || !is_time(put->started) ||
            !is_time(put->saved) || put->user < 0 || put->topology >= SCHED_LEVELS_MAX || put->topology < -1)
                return false;
        for (int i = 0; i < put->n_roles; i++)
                if (!role_is_sane(&put->roles[i], &sum, &tasks))
                        return false;
        if (put->state == SCHED_PENDING)
                return true;
        return (put->tasks || tasks == 0) && tasks_are_sane(s, put, old);
}

/* What the scheduler itself remembers when a job that was on nodes is put again. */
static void remember(Scheduler *s, Job *job, SchedJobState next)
{
        if (job->run && job->run->going && next != SCHED_PENDING)
                job_past(s, job)->safe_until = s->now + s->cooldown_ms;
}

static bool is_unchanged(const Job *job, const Shape *shape, const SchedJob *put)
{
        return job->shape == shape && job->state == SCHED_PENDING && put->state == SCHED_PENDING &&
               job->submitted == put->submitted && job->not_before == put->not_before &&
               job->held == put->held;
}

static void count_job(const Job *job, int sign)
{
        for (QueueNode *queue = job_queue(job); queue; queue = queue->parent) {
                queue->n_jobs += sign;
                if (job->state == SCHED_PENDING)
                        queue->n_pending += sign;
        }
}

/* Out of everything that it is part of. */
static void detach(Scheduler *s, Job *job)
{
        count_job(job, -1);
        if (job->run)
                job_release(s, job);
        else
                job_unlist(s, job);
}

static void attach(Scheduler *s, Job *job, SchedTask *tasks, const SchedJob *put)
{
        count_job(job, 1);
        if (job->state == SCHED_PENDING) {
                job_list(s, job);
                return;
        }
        job_hold(s, job, tasks, put->started);
        job->run->saved = put->saved;
}

bool scheduler_put_job(Scheduler *s, const SchedJob *put)
{
        Job *job = job_find(s, put->key);
        g_autofree SchedTask *tasks = NULL;
        Shape *shape, *old = NULL;

        if (!job_is_sane(s, put, job))
                return false;
        shape = shape_intern(s, put);
        if (job && is_unchanged(job, shape, put)) {
                shape_unref(s, shape);
                return true;
        }
        if (put->state != SCHED_PENDING)
                tasks = g_memdup2(put->tasks, sizeof *tasks * (gsize)shape_gang(shape)->n_tasks);
        if (job) {
                nominations_job_changes(s, job, put);
                remember(s, job, put->state);
                detach(s, job);
                old = job->shape;
        } else {
                job = g_new0(Job, 1);
                job->key = put->key;
                g_hash_table_add(s->jobs, job);
        }
        job->shape = shape;
        job->submitted = put->submitted;
        job->not_before = put->not_before;
        job->held = put->held;
        job->state = put->state;
        attach(s, job, g_steal_pointer(&tasks), put);
        if (old)
                shape_unref(s, old);
        return true;
}

void scheduler_drop_job(Scheduler *s, gint64 key)
{
        Job *job = job_find(s, key);

        if (!job)
                return;
        nominations_job_changes(s, job, NULL);
        detach(s, job);
        g_hash_table_remove(s->jobs, &key);
        job_free(s, job);
}

/* ---- usage ---- */

void scheduler_put_usage(Scheduler *s, int queue_id, int user, gint64 value, gint64 at)
{
        QueueNode *queue = queue_find(s, queue_id);
        Account *account;
        gint64 before;

        if (!queue || value < 0 || value > SCHED_AMOUNT_MAX || at < 0 || at > SCHED_TIME_MAX)
                return;
        account = account_get(s, queue_id, user);
        before = usage_at(s, &account->usage, at);
        account->usage.value = value;
        account->usage.at = MAX(at, account->usage.at);
        for (; queue; queue = queue->parent) {
                usage_set_rate(s, &queue->usage, queue->usage.rate, at);
                queue->usage.value = CLAMP(queue->usage.value + value - before, 0, G_MAXINT64 / 4);
        }
}

static int compare_accounts(gconstpointer a, gconstpointer b)
{
        const Account *x = *(const Account *const *)a, *y = *(const Account *const *)b;

        if (x->queue != y->queue)
                return x->queue < y->queue ? -1 : 1;
        return (x->user > y->user) - (x->user < y->user);
}

GPtrArray *accounts_sorted(const Scheduler *s)
{
        GPtrArray *accounts = g_ptr_array_new();
        GHashTableIter iter;
        gpointer p;

        g_hash_table_iter_init(&iter, s->accounts);
        while (g_hash_table_iter_next(&iter, &p, NULL))
                g_ptr_array_add(accounts, p);
        g_ptr_array_sort(accounts, compare_accounts);
        return accounts;
}

void scheduler_foreach_usage(const Scheduler *s,
                             void (*func)(int queue, int user, gint64 usage, gint64 at, void *arg), void *arg)
{
        g_autoptr(GPtrArray) accounts = accounts_sorted(s);

        for (guint i = 0; i < accounts->len; i++) {
                const Account *account = accounts->pdata[i];
                gint64 value = usage_at(s, &account->usage, s->now);

                if (value > 0)
                        func(account->queue, account->user, value, MAX(s->now, account->usage.at), arg);
        }
}

/* ---- looking in ---- */

bool scheduler_node(const Scheduler *s, int id, Resources *ret_used, guint64 *ret_devices)
{
        const Node *node = node_find(s, id);

        if (!node)
                return false;
        *ret_used = node->total;
        amounts_subtract(ret_used, &node->free);
        *ret_devices = node->devices;
        return true;
}

bool job_view(const Job *job, SchedJob *ret)
{
        const Shape *shape = job->shape;
        const Gang *gang = shape_gang(shape);

        *ret = (SchedJob){
                .key = job->key,
                .queue = shape_queue(shape)->id,
                .user = shape->user,
                .priority = shape->priority,
                .submitted = job->submitted,
                .not_before = job->not_before,
                .time_limit_ms = shape->time_limit,
                .grace_ms = shape->grace,
                .held = job->held,
                .preemptable = shape->preemptable,
                .array = shape->array ? shape->array->id : 0,
                .array_max = shape->array_max,
                .topology = gang->topology,
                .topology_required = gang->topology_required,
                .labels = gang->job_labels->labels[0] ? (const char *const *)gang->job_labels->labels : NULL,
                .n_roles = gang->n_roles,
                .roles = gang->roles,
                .state = job->state,
                .started = job->run ? job->run->started : 0,
                .saved = job->run ? job->run->saved : 0,
                .tasks = job->run ? job->run->tasks : NULL,
        };
        return true;
}

bool scheduler_job(const Scheduler *s, gint64 key, SchedJob *ret)
{
        const Job *job = job_find(s, key);

        return job && job_view(job, ret);
}

#ifdef SCHED_MUTANTS
void scheduler_plant(Scheduler *s, Mutant mutant)
{
        s->mutant = mutant;
}
#endif
