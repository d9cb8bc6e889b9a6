/* Where a job stands: among those that wait, or on nodes, where it is charged to the nodes, to its queue and
 * those above, to its user's account and to its array. Everything that a job holds goes through here. */
#include "sched/turns.h"

/* ---- waiting ---- */

int job_compare_age(gconstpointer a, gconstpointer b, gpointer unused)
{
        const Job *x = a, *y = b;

        if (x->submitted != y->submitted)
                return x->submitted < y->submitted ? -1 : 1;
        return (x->key > y->key) - (x->key < y->key);
}

static int compare_due(gconstpointer a, gconstpointer b, gpointer unused)
{
        const Job *x = a, *y = b;

        if (x->not_before != y->not_before)
                return x->not_before < y->not_before ? -1 : 1;
        return (x->key > y->key) - (x->key < y->key);
}

/* Most jobs come last. */
static GSequenceIter *insert(GSequence *sequence, Job *job, GCompareDataFunc compare)
{
        GSequenceIter *end = g_sequence_get_end_iter(sequence);

        if (g_sequence_iter_is_begin(end) ||
            compare(g_sequence_get(g_sequence_iter_prev(end)), job, NULL) < 0)
                return g_sequence_append(sequence, job);
        return g_sequence_insert_sorted(sequence, job, compare, NULL);
}

static void count_pending(const Job *job, int sign)
{
        const Gang *gang = job_gang(job);

        for (QueueNode *queue = job_queue(job); queue; queue = queue->parent)
                amounts_add_kinds(&queue->pending, &gang->full_total, gang->full_mask, sign);
}

static void set_first(Shape *shape, Job *job)
{
        shape->first = job;
        shape->first_submitted = job ? job->submitted : 0;
        shape->first_key = job ? job->key : 0;
}

static void list_in_shape(Scheduler *s, Job *job)
{
        Shape *shape = job->shape;
        Group *group = shape->group;

        if (shape->index < 0) {
                shape->index = (int)group->shapes->len;
                g_ptr_array_add(group->shapes, shape);
                if (!shape->account->ranked)
                        memo_drop(&group->queue->start.ranking_memo);
        }
        if (group->index < 0) {
                group->index = (int)group->queue->groups->len;
                g_ptr_array_add(group->queue->groups, group);
                group_comes(s, group);
        }
        group->queue->listings++;
        job->iter = insert(shape->jobs, job, job_compare_age);
        queue_has_more(s, group->queue, job);
        if (!shape->first || job_compare_age(job, shape->first, NULL) < 0) {
                set_first(shape, job);
                shape_comes_earlier(s, shape);
        }
}

static void unlist_in_shape(Job *job)
{
        Shape *shape = job->shape, *last;
        Group *group = shape->group, *last_group;

        queue_has_less(group->queue, job);
        group->queue->listings++;
        if (memo_fresh(&group->queue->preempt.failed.memo, (guint64)job->key))
                memo_drop(&group->queue->preempt.failed.memo); /* it may come back as another one */
        g_sequence_remove(job->iter);
        if (shape->first == job) {
                bool empty = g_sequence_is_empty(shape->jobs);

                set_first(shape, empty ? NULL : g_sequence_get(g_sequence_get_begin_iter(shape->jobs)));
                if (group->top == shape || group->queue->order == QUEUE_ORDER_FAIR ||
                    !memo_fresh(&group->top_memo, MEMO_UNTIL_DROPPED)) {
                        memo_drop(&group->top_memo);
                        memo_drop(&group->queue->start.top_memo);
                } /* else the group's top is another shape, and stays first */
        }
        if (!g_sequence_is_empty(shape->jobs))
                return;
        last = group->shapes->pdata[group->shapes->len - 1];
        last->index = shape->index;
        (void)g_ptr_array_remove_index_fast(group->shapes, (guint)shape->index);
        shape->index = -1;
        if (group->shapes->len > 0)
                return;
        turns_leave(group->queue, group);
        last_group = group->queue->groups->pdata[group->queue->groups->len - 1];
        last_group->index = group->index;
        (void)g_ptr_array_remove_index_fast(group->queue->groups, (guint)group->index);
        group->index = -1;
}

void job_list(Scheduler *s, Job *job)
{
        if (job->held) {
                job->place = PLACE_NOWHERE;
                return;
        }
        if (job->not_before > s->now) {
                job->place = PLACE_TIMER;
                job->iter = insert(s->timers, job, compare_due);
                return;
        }
        job->place = PLACE_LISTED;
        list_in_shape(s, job);
        count_pending(job, 1);
}

void job_unlist(Scheduler *s, Job *job)
{
        switch ((JobPlace)job->place) {
        case PLACE_NOWHERE: return;
        case PLACE_TIMER: g_sequence_remove(job->iter); break;
        case PLACE_LISTED: unlist_in_shape(job); /* fall through */
        case PLACE_NOMINATED: count_pending(job, -1); break;
        }
        job->place = PLACE_NOWHERE;
        job->iter = NULL;
}

void job_nominate(Scheduler *s, Job *job)
{
        g_assert(job->place == PLACE_LISTED);
        unlist_in_shape(job);
        job->iter = NULL;
        job->place = PLACE_NOMINATED;
}

int gang_role_of(const Gang *gang, int task)
{
        int role = 0;

        while (task >= gang->first[role] + gang->roles[role].replicas)
                role++;
        return role;
}

static const Class *class_of(const Job *job, int task)
{
        const Gang *gang = job_gang(job);

        return gang->classes[gang_role_of(gang, task)];
}

/* ---- when tasks end ---- */

gint64 job_end(const Job *job)
{
        gint64 limit = job->shape->time_limit;

        if (job->state == SCHED_ENDING)
                return 0;
        return limit > 0 ? job->run->started + limit : G_MAXINT64;
}

gint64 task_end(const NodeTask *at)
{
        const Run *run = at->job->run;

        if (run->going && run->going[at->task].node >= 0)
                return 0;
        return job_end(at->job);
}

/* While the job is at hand; to look at all jobs later costs more. */
static void note_end(Node *node, const NodeTask *at)
{
        TaskEnd end = { task_end(at), &class_of(at->job, at->task)->each };
        guint i = node->ends->len;

        if (!memo_fresh(&node->ends_memo, MEMO_UNTIL_DROPPED))
                return;
        while (i > 0 && g_array_index(node->ends, TaskEnd, i - 1).time > end.time)
                i--;
        g_array_insert_val(node->ends, i, end);
}

/* ---- what holds ---- */

static void add_releasing(Scheduler *s, Job *job, Node *node, const Class *class, int sign)
{
        Cluster *cluster = cluster_find(s, node->cluster);

        FOR_KINDS(kind, class->mask) {
                gint64 amount = sign * class->each.amount[kind];

                node->releasing.amount[kind] += amount;
                if (node->usable)
                        cluster->releasing.amount[kind] += amount;
                for (QueueNode *queue = job_queue(job); queue; queue = queue->parent) {
                        queue->releasing.amount[kind] += amount;
                        queue->charges++;
                }
        }
        memo_drop(&node->ends_memo);
        node_changed_later(s, node);
        if (sign > 0 && node->n_planned > 0)
                node_opened(s, node); /* less of what is free has to be kept */
}

void job_task_releasing(Scheduler *s, Job *job, int task, int sign)
{
        Node *node = node_find(s, job->run->tasks[task].node);

        add_releasing(s, job, node, class_of(job, task), sign);
}

void job_releasing(Scheduler *s, Job *job, int sign)
{
        for (int i = 0; i < job_gang(job)->n_tasks; i++)
                if (job->run->tasks[i].node >= 0)
                        job_task_releasing(s, job, i, sign);
}

/* The task stands on its node; the node's free is the caller's. */
static void add_task(Scheduler *s, Job *job, int task, const SchedTask *at)
{
        Node *node = node_find(s, at->node);
        const Class *class = class_of(job, task);
        NodeTask entry = { job, task };

        g_array_append_val(node->tasks, entry);
        note_end(node, &entry);
        queue_charge(job_queue(job), &class->each, class->mask, 1);
        amounts_add_kinds(&job->shape->account->alloc, &class->each, class->mask, 1);
}

static void remove_task(Scheduler *s, Job *job, int task, const SchedTask *at)
{
        Node *node = node_find(s, at->node);
        const Class *class = class_of(job, task);

        for (guint i = 0; i < node->tasks->len; i++) {
                const NodeTask *entry = &g_array_index(node->tasks, NodeTask, i);

                if (entry->job == job && entry->task == task) {
                        (void)g_array_remove_index_fast(node->tasks, i);
                        break;
                }
        }
        memo_drop(&node->ends_memo);
        queue_charge(job_queue(job), &class->each, class->mask, -1);
        amounts_add_kinds(&job->shape->account->alloc, &class->each, class->mask, -1);
        node_give(s, node, class, at->devices);
        node_opened(s, node);
        node_has_more(node);
}

static bool is_below_full(const Job *job)
{
        if (job->state != SCHED_RUNNING || job->run->going || job->held)
                return false;
        for (int i = 0; i < job_gang(job)->n_tasks; i++)
                if (job->run->tasks[i].node < 0)
                        return true;
        return false;
}

static void count_elastic(Scheduler *s, const Job *job, int sign)
{
        const Gang *gang = job_gang(job);

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                for (int role = 0; role < gang->n_roles; role++)
                        if (gang->roles[role].replicas > 0 && !(gang->classes[role]->mask >> kind & 1)) {
                                s->elastic_without[kind] += sign;
                                break;
                        }
}

static void leave_elastic(Scheduler *s, Job *job)
{
        Run *run = job->run;
        Job *last;

        if (run->elastic < 0)
                return;
        count_elastic(s, job, -1);
        last = s->elastic->pdata[s->elastic->len - 1];
        last->run->elastic = run->elastic;
        (void)g_ptr_array_remove_index_fast(s->elastic, (guint)run->elastic);
        run->elastic = -1;
}

void job_remark_elastic(Scheduler *s, Job *job)
{
        Run *run = job->run;

        leave_elastic(s, job);
        if (is_below_full(job)) {
                count_elastic(s, job, 1);
                run->elastic = (int)s->elastic->len;
                g_ptr_array_add(s->elastic, job);
        }
}

static void others_may_start(QueueNode *queue)
{
        memo_drop(&queue->start.tops);
        queue->listings++;
}

/* The lowest that runs; another one is looked for when it may have gone. */
static void count_priority(const Shape *shape, int sign)
{
        QueueNode *queue = shape_queue(shape);

        if (!shape->preemptable || shape->priority > queue->preempt.lowest)
                return;
        if (sign > 0)
                queue->preempt.lowest = shape->priority;
        else
                memo_drop(&queue->preempt.lowest_memo);
}

static void count_running(Scheduler *s, Job *job, int sign)
{
        Shape *shape = job->shape;

        shape->account->running += sign;
        if (shape->array)
                shape->array->running += sign;
        for (QueueNode *queue = shape_queue(shape); queue; queue = queue->parent)
                queue->n_running += sign;
        shape_queue(shape)->n_flexible += sign * gang_is_flexible(shape_gang(shape));
        count_priority(shape, sign);
        memo_drop(&shape_queue(shape)->preempt.failed.memo);
        /* others of the user or of the array may or may not start now */
        if (shape->array || shape_queue(shape)->max_running_per_user > 0)
                others_may_start(shape_queue(shape));
        for (guint i = 0; shape->array && shape->array->spread && i < s->queues->len; i++)
                if (s->queues->pdata[i])
                        others_may_start(s->queues->pdata[i]);
}

/* Behind equal ones. Only a max asks for the ends of a queue's jobs. */
static void note_job_end(QueueNode *queue, const Job *job)
{
        GArray *ends = queue->backfill.ends;
        JobEnd end = { job_end(job), job };
        guint low = 0, high = ends->len;

        if (!queue_has_max(queue))
                memo_drop(&queue->backfill.ends_memo);
        if (!memo_fresh(&queue->backfill.ends_memo, MEMO_UNTIL_DROPPED))
                return;
        while (low < high) {
                guint middle = low + (high - low) / 2;

                if (g_array_index(ends, JobEnd, middle).end > end.end)
                        high = middle;
                else
                        low = middle + 1;
        }
        g_array_insert_val(ends, low, end);
}

static void begin_run(Scheduler *s, Job *job, SchedTask *tasks, gint64 started)
{
        const Gang *gang = job_gang(job);
        QueueNode *queue = job_queue(job);
        Run *run = g_new0(Run, 1);

        run->tasks = tasks;
        run->started = started;
        run->elastic = -1;
        run->index = queue->running->len;
        g_ptr_array_add(queue->running, job);
        job->run = run;
        note_job_end(queue, job);
        for (int i = 0; i < gang->n_tasks; i++)
                if (tasks[i].node >= 0)
                        add_task(s, job, i, &tasks[i]);
        count_running(s, job, 1);
        account_changed(s, job->shape->account);
}

void job_hold(Scheduler *s, Job *job, SchedTask *tasks, gint64 started)
{
        for (int i = 0; i < job_gang(job)->n_tasks; i++)
                if (tasks[i].node >= 0)
                        node_take(s, node_find(s, tasks[i].node), class_of(job, i), tasks[i].devices);
        begin_run(s, job, tasks, started);
        if (job->state == SCHED_ENDING)
                job_releasing(s, job, 1);
        job_remark_elastic(s, job);
}

void job_start(Scheduler *s, Job *job, SchedTask *tasks)
{
        job_unlist(s, job);
        for (QueueNode *queue = job_queue(job); queue; queue = queue->parent)
                queue->n_pending--;
        job->state = SCHED_RUNNING;
        begin_run(s, job, tasks, s->now);
        if (job->past && job->past->victim) {
                job->past->victim = false;
                job->past->safe_until = s->now + s->cooldown_ms;
        }
        job_remark_elastic(s, job);
}

void job_place_task(Scheduler *s, Job *job, int task, SchedTask at)
{
        job->run->tasks[task] = at;
        add_task(s, job, task, &at);
}

void job_release_going(Scheduler *s, Job *job)
{
        g_autofree SchedTask *going = g_steal_pointer(&job->run->going);

        for (int i = 0; going && i < job_gang(job)->n_tasks; i++)
                if (going[i].node >= 0) {
                        add_releasing(s, job, node_find(s, going[i].node), class_of(job, i), -1);
                        remove_task(s, job, i, &going[i]);
                }
}

static void forget_job_end(QueueNode *queue, const Job *job)
{
        GArray *ends = queue->backfill.ends;

        if (!memo_fresh(&queue->backfill.ends_memo, MEMO_UNTIL_DROPPED))
                return;
        for (guint i = 0; i < ends->len; i++)
                if (g_array_index(ends, JobEnd, i).job == job) {
                        (void)g_array_remove_index(ends, i);
                        return;
                }
}

void job_release(Scheduler *s, Job *job)
{
        Run *run = job->run;
        QueueNode *queue = job_queue(job);
        Job *last = queue->running->pdata[queue->running->len - 1];

        job_release_going(s, job);
        if (job->state == SCHED_ENDING)
                job_releasing(s, job, -1);
        for (int i = 0; i < job_gang(job)->n_tasks; i++)
                if (run->tasks[i].node >= 0)
                        remove_task(s, job, i, &run->tasks[i]);
        leave_elastic(s, job);
        last->run->index = run->index;
        (void)g_ptr_array_remove_index_fast(queue->running, run->index);
        forget_job_end(queue, job);
        count_running(s, job, -1);
        account_changed(s, job->shape->account);
        g_free(run->tasks);
        g_free(run);
        job->run = NULL;
}

/* ---- told to go ---- */

void job_let_task_go(Scheduler *s, Job *job, int task)
{
        Run *run = job->run;

        if (!run->going) {
                run->going = g_new(SchedTask, job_gang(job)->n_tasks);
                for (int i = 0; i < job_gang(job)->n_tasks; i++)
                        run->going[i] = (SchedTask){ .node = -1 };
        }
        run->going[task] = run->tasks[task];
        run->tasks[task] = (SchedTask){ .node = -1 };
}

Past *job_past(Scheduler *s, Job *job)
{
        if (!job->past) {
                job->past = g_new0(Past, 1);
                g_hash_table_add(s->with_past, job);
        }
        return job->past;
}

bool job_is_safe(const Scheduler *s, const Job *job)
{
        return job->past && job->past->safe_until > s->now;
}
