/* One pass: the phases in their order (scheduler.h), and what becomes known on the way. */
#include "sched/backfill.h"
#include "sched/victim.h"

void decisions_init(Decisions *decisions)
{
        *decisions = (Decisions){ .decisions = g_array_new(FALSE, FALSE, sizeof(Decision)),
                                  .tasks = g_array_new(FALSE, FALSE, sizeof(SchedTask)) };
}

void decisions_clear(Decisions *decisions)
{
        g_clear_pointer(&decisions->decisions, g_array_unref);
        g_clear_pointer(&decisions->tasks, g_array_unref);
}

void pass_decide(Pass *pass, DecisionKind kind, DecisionRule rule, const Job *job, gint64 for_key)
{
        Decision decision = { .kind = kind,
                              .rule = rule,
                              .key = job->key,
                              .for_key = for_key,
                              .n_tasks = kind == DECIDE_EVICT ? 0 : job_gang(job)->n_tasks,
                              .first_task = pass->ret->tasks->len };

        g_array_append_vals(pass->ret->tasks, job->run->tasks, (guint)decision.n_tasks);
        g_array_append_val(pass->ret->decisions, decision);
}

void pass_decide_start(Pass *pass, DecisionRule rule, Job *job)
{
        job->run->start_pass = pass->s->pass;
        job->run->start_decision = pass->ret->decisions->len;
        pass_decide(pass, DECIDE_START, rule, job, 0);
}

void pass_decide_growth(Pass *pass, const Job *job)
{
        const Decision *start;

        if (job->run->start_pass != pass->s->pass) {
                pass_decide(pass, DECIDE_GROW, RULE_GROW, job, 0);
                return;
        }
        start = &g_array_index(pass->ret->decisions, Decision, job->run->start_decision);
        memcpy(&g_array_index(pass->ret->tasks, SchedTask, start->first_task), job->run->tasks,
               sizeof(SchedTask) * (gsize)start->n_tasks);
}

/* ---- due ---- */

static void list_due(Scheduler *s)
{
        while (!g_sequence_is_empty(s->timers)) {
                Job *job = g_sequence_get(g_sequence_get_begin_iter(s->timers));

                if (job->not_before > s->now)
                        return;
                job_unlist(s, job);
                job_list(s, job);
        }
}

/* ---- nominated ---- */

static bool start_nominated(Pass *pass, Job *job)
{
        Scheduler *s = pass->s;
        Gang *gang = job_gang(job);
        SchedTask *tasks;
        Cause cause;

        pass->ret->considered++;
        if (!queue_lets(s, job->shape) || shape_limited(job->shape) != CAUSE_NONE ||
            !plan_gang(s, &pass->plan, gang, &cause))
                return false;
        tasks = g_new(SchedTask, gang->n_tasks);
        plan_tasks(&pass->plan, gang, tasks);
        g_array_set_size(pass->plan.placed, 0);
        job_start(s, job, tasks);
        pass_decide_start(pass, RULE_NOMINATED, job);
        return true;
}

void phase_nominated(Pass *pass)
{
        Scheduler *s = pass->s;
        g_autoptr(GPtrArray) nominations = g_ptr_array_copy(s->nominations, NULL, NULL);

        for (guint i = 0; i < nominations->len; i++) {
                Nomination *nomination = nominations->pdata[i];
                Job *job = job_find(s, nomination->key);
                bool over = nomination->until <= s->now || nomination->victims->len == 0 ||
                            !queue_is_startable(job_queue(job));

                nomination_plan(s, nomination, -1);
                if ((queue_is_startable(job_queue(job)) && start_nominated(pass, job)) || over)
                        nomination_end(s, nomination);
                else
                        nomination_plan(s, nomination, 1);
        }
}

/* ---- allocate ---- */

static void forget_heads(Scheduler *s, const Cluster *cluster)
{
        for (guint i = 0; i < s->queues->len; i++) {
                QueueNode *queue = s->queues->pdata[i];

                if (!queue || queue->cluster != cluster->id)
                        continue;
                queue->backfill.head = queue->backfill.head_start = 0;
                queue->backfill.head_shape = NULL;
                queue->backfill.denied = 0;
        }
}

/* The head lacks free nodes, not a quota. */
static bool waits_for_capacity(const Shape *head)
{
        return head->cause == CAUSE_RESOURCES || head->cause == CAUSE_FRAGMENTED ||
               head->cause == CAUSE_TOPOLOGY;
}

/* What comes next in a queue that may start jobs: its top; or, where whatever fits may start, something
 * behind its blocked top. */
static Shape *next_shape(Scheduler *s, QueueNode *queue)
{
        if (queue->groups->len == 0 || !queue_is_startable(queue))
                return NULL;
        if (!queue->backfill.head_shape)
                return queue_top(s, queue);
        return queue->has_backfill ? NULL : queue_behind(s, queue);
}

static bool next_of_all(Scheduler *s, QueueNode *queue, guint32 *ret_kinds)
{
        const Shape *shape = next_shape(s, queue);

        if (shape)
                *ret_kinds = shape_gang(shape)->mask;
        return shape != NULL;
}

/* Only what stays within the guaranteed share of its queue. */
static bool next_of_guaranteed(Scheduler *s, QueueNode *queue, guint32 *ret_kinds)
{
        const Shape *shape = next_shape(s, queue);
        const Gang *gang = shape ? shape_gang(shape) : NULL;

        if (gang)
                *ret_kinds = gang->mask;
        return gang && queue_is_within_min(queue, NULL, &gang->need_total, gang->mask);
}

static void set_head(Pass *pass, QueueNode *queue, Shape *shape, NextKinds next)
{
        Cluster *cluster = cluster_find(pass->s, queue->cluster);

        queue->backfill.head = shape_first(shape)->key;
        queue->backfill.head_shape = shape;
        if (queue->has_backfill && !cluster->guarding && waits_for_capacity(shape)) {
                cluster->guarding = queue;
                (void)reservation_get(pass->s, queue); /* by what is free now, whoever asks for it later */
        }
        active_moved(pass->s, queue, next);
}

static void serve(Pass *pass, QueueNode *queue, NextKinds next)
{
        Shape *shape = next_shape(pass->s, queue);

        if (!shape || start_first(pass, shape, RULE_ALLOCATE) || queue->backfill.head_shape)
                active_moved(pass->s, queue,
                             next); /* no shape: an array reached its limit in another queue */
        else
                set_head(pass, queue, shape, next);
}

static void allocate(Pass *pass, Cluster *cluster, NextKinds next)
{
        QueueNode *queue;

        active_fill(pass->s, cluster, next);
        while ((queue = active_best(cluster)))
                serve(pass, queue, next);
}

/* What is guaranteed comes before anything is lent, whatever the priorities of queues. */
void phase_allocate(Pass *pass, Cluster *cluster)
{
        forget_heads(pass->s, cluster);
        cluster->guarding = NULL;
        allocate(pass, cluster, next_of_guaranteed);
        allocate(pass, cluster, next_of_all);
}

/* ---- the pass ---- */

static void find_heads(Scheduler *s)
{
        for (guint i = 0; i < s->queues->len; i++) {
                QueueNode *queue = s->queues->pdata[i];

                if (queue && !memo_fresh(&queue->first.heads_memo, MEMO_UNTIL_DROPPED))
                        queue_find_heads(s, queue);
        }
}

void scheduler_clock(Scheduler *s, gint64 now)
{
        s->now = CLAMP(now, s->now, SCHED_TIME_MAX);
}

void scheduler_pass(Scheduler *s, gint64 now, Decisions *ret)
{
        Pass pass = { .s = s, .ret = ret };

        g_array_set_size(ret->decisions, 0);
        g_array_set_size(ret->tasks, 0);
        ret->considered = ret->gang_discards = 0;
        s->now = CLAMP(now, s->now, SCHED_TIME_MAX);
        s->pass++;
        s->searches = 0;
        s->again = false;
        plan_init(&pass.plan);
        pass.holds = g_array_new(FALSE, FALSE, sizeof(Hold));
        list_due(s);
        phase_nominated(&pass);
        for (guint i = 0; i < s->clusters->len; i++) {
                Cluster *cluster = s->clusters->pdata[i];

                phase_allocate(&pass, cluster);
                phase_backfill(&pass, cluster);
                phase_grow(&pass, cluster);
                phase_preempt(&pass, cluster);
                phase_reclaim(&pass, cluster);
                cluster->guard = cluster->guarding ? cluster->guarding->id : -1;
                cluster->guarding = NULL;
        }
        find_heads(s);
        ret->gang_discards = pass.plan.discards;
        plan_clear(&pass.plan);
        g_array_unref(pass.holds);
}

/* The earliest of those that are still to come. */
static void earlier(gint64 *due, gint64 now, gint64 time)
{
        if (time > now && (*due == 0 || time < *due))
                *due = time;
}

gint64 scheduler_due(const Scheduler *s)
{
        gint64 due = s->again ? s->now + 1 : 0;
        GHashTableIter iter;
        gpointer p;

        if (!g_sequence_is_empty(s->timers))
                earlier(&due, s->now,
                        ((Job *)g_sequence_get(g_sequence_get_begin_iter(s->timers)))->not_before);
        for (guint i = 0; i < s->nominations->len; i++)
                earlier(&due, s->now, ((Nomination *)s->nominations->pdata[i])->until);
        g_hash_table_iter_init(&iter, s->with_past);
        while (g_hash_table_iter_next(&iter, &p, NULL))
                if (((const Job *)p)->run)
                        earlier(&due, s->now, ((const Job *)p)->past->safe_until);
        return due;
}
