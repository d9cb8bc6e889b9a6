/* Which job of a queue comes next, and what it takes to start it. The limits of users and arrays take shapes
 * out of the order, what can never fit takes groups; the first of the rest is the queue's top. */
#include "sched/backfill.h"
#include "sched/pass.h"

/* ---- order ---- */

Job *shape_first(const Shape *shape)
{
        return g_sequence_get(g_sequence_get_begin_iter(shape->jobs));
}

/* The figures of the account as of this pass; what it holds counts as it is. */
static void look_at(Scheduler *s, Account *account)
{
        if (account->seen_pass == s->pass)
                return;
        account->seen_pass = s->pass;
        account->seen_usage = usage_at(s, &account->usage, s->now);
}

static int compare_users(Scheduler *s, Account *a, Account *b)
{
        if (a == b)
                return 0;
        look_at(s, a);
        look_at(s, b);
        if (a->seen_usage != b->seen_usage)
                return a->seen_usage < b->seen_usage ? -1 : 1;
        return (a->usage.rate > b->usage.rate) - (a->usage.rate < b->usage.rate);
}

int shape_rank(Scheduler *s, const Shape *a, const Shape *b)
{
        QueueOrder by = shape_queue(a)->order;
        int order = by == QUEUE_ORDER_FAIR ? compare_users(s, a->account, b->account) : 0;

        if (order == 0 && by != QUEUE_ORDER_FIFO)
                order = (a->priority < b->priority) - (a->priority > b->priority);
        return order;
}

int shape_compare(Scheduler *s, const Shape *a, const Shape *b)
{
        int order = shape_rank(s, a, b);

        return order != 0 ? order : job_compare_age(shape_first(a), shape_first(b), NULL);
}

Cause shape_limited(const Shape *shape)
{
        const Lane *queue = shape_queue(shape);

        if (shape->array && shape->array_max > 0 && shape->array->running >= shape->array_max)
                return CAUSE_ARRAY_LIMIT;
        if (queue->max_running_per_user > 0 && shape->account->running >= queue->max_running_per_user)
                return CAUSE_USER_LIMIT;
        return CAUSE_NONE;
}

static Shape *group_top(Scheduler *s, Group *group)
{
        if (!group->top_stale)
                return group->top;
        group->top = NULL;
        group->top_stale = false;
        for (guint i = 0; i < group->shapes->len; i++) {
                Shape *shape = group->shapes->pdata[i];

                if (shape_limited(shape) == CAUSE_NONE &&
                    (!group->top || shape_compare(s, shape, group->top) < 0))
                        group->top = shape;
        }
        return group->top;
}

static void freshen_tops(Scheduler *s, Lane *queue)
{
        if (queue->order == QUEUE_ORDER_FAIR && queue->fair_pass != s->pass) {
                queue->fair_pass = s->pass;
                queue->tops_stale = true;
        }
        for (guint i = 0; queue->tops_stale && i < queue->groups->len; i++)
                ((Group *)queue->groups->pdata[i])->top_stale = true;
        queue->tops_stale = false;
}

Shape *lane_top(Scheduler *s, Lane *queue)
{
        Shape *top = NULL;

        freshen_tops(s, queue);
        for (guint i = 0; i < queue->groups->len; i++) {
                Group *group = queue->groups->pdata[i];
                Shape *shape;

                if (group_hopeless(s, group) != CAUSE_NONE)
                        continue;
                shape = group_top(s, group);
                if (shape && (!top || shape_compare(s, shape, top) < 0))
                        top = shape;
        }
        return top;
}

/* ---- the shapes behind the top, as a heap ---- */

static void sift(Scheduler *s, GPtrArray *heap, guint at)
{
        for (;;) {
                guint best = at;

                for (guint child = 2 * at + 1; child <= 2 * at + 2 && child < heap->len; child++)
                        if (shape_compare(s, heap->pdata[child], heap->pdata[best]) < 0)
                                best = child;
                if (best == at)
                        return;
                gpointer moved = heap->pdata[at];

                heap->pdata[at] = heap->pdata[best];
                heap->pdata[best] = moved;
                at = best;
        }
}

static int compare_in_array(gconstpointer a, gconstpointer b, gpointer s)
{
        return shape_compare(s, *(const Shape *const *)a, *(const Shape *const *)b);
}

/* Whether anything of the group might start, as far as is known without trying. */
static bool may_start(Scheduler *s, Group *group)
{
        int kind;

        if (group_hopeless(s, group) != CAUSE_NONE)
                return false;
        if (!group->ask->closed)
                return !lane_over_max(s, group->queue, &group->ask->need_total, group->ask->mask, NOW, &kind);
        return false;
}

void waiting_fill(Scheduler *s, Lane *queue)
{
        g_ptr_array_set_size(queue->waiting, 0);
        for (guint i = 0; i < queue->groups->len; i++) {
                Group *group = queue->groups->pdata[i];

                for (guint j = 0; may_start(s, group) && j < group->shapes->len; j++)
                        if (group->shapes->pdata[j] != queue->head_shape)
                                g_ptr_array_add(queue->waiting, group->shapes->pdata[j]);
        }
        g_ptr_array_sort_with_data(queue->waiting, compare_in_array,
                                   s); /* sorted is a heap, and always the same */
}

Shape *waiting_best(const Lane *queue)
{
        return queue->waiting->len > 0 ? queue->waiting->pdata[0] : NULL;
}

void waiting_drop(Scheduler *s, Lane *queue)
{
        (void)g_ptr_array_remove_index_fast(queue->waiting, 0);
        if (queue->waiting->len > 0)
                sift(s, queue->waiting, 0);
}

void waiting_started(Scheduler *s, Lane *queue)
{
        Shape *shape = queue->waiting->pdata[0];

        if (shape->index < 0)
                waiting_drop(s, queue);
        else
                sift(s, queue->waiting, 0);
}

/* ---- starting ---- */

static bool blocked(Shape *shape, Cause cause, Lane *queue)
{
        shape->cause = cause;
        shape->group->cause = cause;
        shape->group->cause_queue = queue ? queue->id : -1;
        return false;
}

static void commit(Pass *pass, Shape *shape, DecisionRule rule)
{
        Ask *ask = shape_ask(shape);
        Job *job = shape_first(shape);
        g_autofree SchedTask *tasks = g_new(SchedTask, ask->n_tasks);

        plan_tasks(&pass->plan, ask, tasks);
        g_array_set_size(pass->plan.placed, 0);
        job_start(pass->s, job, tasks);
        if (shape_queue(shape)->order == QUEUE_ORDER_FAIR)
                shape_queue(shape)->tops_stale = true;
        pass_decide_start(pass, rule, job);
}

bool lane_lets(Scheduler *s, Shape *shape)
{
        Lane *queue = shape_queue(shape), *over;
        const Ask *ask = shape_ask(shape);
        int kind;

        over = lane_over_max(s, queue, &ask->need_total, ask->mask, NOW, &kind);
        if (over)
                return blocked(shape, CAUSE_QUEUE_MAX, over);
        over = lane_kept_from(s, queue, &ask->need_total, ask->mask, NOW, &kind);
        return !over || blocked(shape, CAUSE_RESERVED, over);
}

bool start_first(Pass *pass, Shape *shape, DecisionRule rule)
{
        Scheduler *s = pass->s;
        Ask *ask = shape_ask(shape);
        Cause cause = shape_limited(shape);

        pass->ret->considered++;
        if (cause != CAUSE_NONE) {
                shape->cause = cause;
                return false;
        }
        if (!lane_lets(s, shape))
                return false;
        if (!ask->closed && !plan_gang(s, &pass->plan, ask, &cause))
                ask_close(ask, cause);
        if (ask->closed)
                return blocked(shape, ask->cause, NULL);
        if (!guards_let(pass, shape, rule))
                return blocked(shape, CAUSE_RESERVED, NULL);
        commit(pass, shape, rule);
        return true;
}
