/* Which job of a queue comes next, and what it takes to start it. The limits of users and arrays take shapes
 * out of the order, what can never fit takes groups; the first of the rest is the queue's top. */
#include "sched/backfill.h"
#include "sched/pass.h"
#include "sched/turns.h"

enum { CLOSED_IN_A_ROW = 8 };

/* ---- order ---- */

/* The figures of the account as of this pass; what it holds counts as it is. */
static void look_at(Scheduler *s, Account *account)
{
        if (memo_fresh(&account->seen_memo, s->pass))
                return;
        memo_keep(&account->seen_memo, s->pass);
        account->seen_usage = usage_now(s, &account->usage);
}

int account_compare(Scheduler *s, Account *a, Account *b)
{
        if (a == b)
                return 0;
        look_at(s, a);
        look_at(s, b);
        if (a->seen_usage != b->seen_usage)
                return a->seen_usage < b->seen_usage ? -1 : 1;
        return (a->usage.rate > b->usage.rate) - (a->usage.rate < b->usage.rate);
}

static void forget_behind(Group *group)
{
        memo_drop(&group->behind_memo);
        memo_drop(&group->all_delay);
}

void shape_comes_earlier(Scheduler *s, Shape *shape)
{
        Group *group = shape->group;
        QueueNode *queue = group->queue;

        memo_drop(&queue->start.top_memo);
        if (queue->order == QUEUE_ORDER_FAIR)
                memo_drop(&queue->start.turns_memo);
        else if (memo_fresh(&queue->start.turns_memo, MEMO_UNTIL_DROPPED))
                turns_come_earlier(queue, shape);
        if (queue->order == QUEUE_ORDER_FAIR || shape_limited(shape) != CAUSE_NONE)
                memo_drop(&group->top_memo);
        if (!memo_fresh(&group->top_memo, MEMO_UNTIL_DROPPED))
                return;
        forget_behind(group);
        group->shortest = MIN(group->shortest, shape_span(shape));
        if (!group->top || shape_is_before(s, queue->order, shape, group->top))
                group->top = shape;
}

static Shape *group_top(Scheduler *s, Group *group)
{
        QueueOrder by = group->queue->order;

        if (memo_fresh(&group->top_memo, MEMO_UNTIL_DROPPED))
                return group->top;
        group->top = NULL;
        memo_keep(&group->top_memo, MEMO_UNTIL_DROPPED);
        forget_behind(group);
        group->shortest = G_MAXINT64;
        for (guint i = 0; i < group->shapes->len; i++) {
                Shape *shape = group->shapes->pdata[i];

                group->shortest = MIN(group->shortest, shape_span(shape));
                if ((!group->top || shape_is_before(s, by, shape, group->top)) &&
                    shape_limited(shape) == CAUSE_NONE)
                        group->top = shape;
        }
        return group->top;
}

static int compare_ranks(gconstpointer a, gconstpointer b, gpointer s)
{
        return account_compare(s, *(Account *const *)a, *(Account *const *)b);
}

/* The users that somebody waits for come in the order in which they came before. */
static bool is_ranked(Scheduler *s, const QueueNode *queue)
{
        for (guint i = 1; i < queue->start.ranking->len; i++) {
                Account *a = queue->start.ranking->pdata[i - 1], *b = queue->start.ranking->pdata[i];
                int order = account_compare(s, a, b);

                if (order > 0 || (order == 0) != (a->rank == b->rank))
                        return false;
        }
        return memo_fresh(&queue->start.ranking_memo, MEMO_UNTIL_DROPPED);
}

static void collect_users(QueueNode *queue)
{
        for (guint i = 0; i < queue->start.ranking->len; i++)
                ((Account *)queue->start.ranking->pdata[i])->ranked = false;
        g_ptr_array_set_size(queue->start.ranking, 0);
        for (guint i = 0; i < queue->groups->len; i++) {
                const Group *group = queue->groups->pdata[i];

                for (guint j = 0; j < group->shapes->len; j++) {
                        Account *account = ((const Shape *)group->shapes->pdata[j])->account;

                        if (!account->ranked)
                                g_ptr_array_add(queue->start.ranking, account);
                        account->ranked = true;
                }
        }
        memo_keep(&queue->start.ranking_memo, MEMO_UNTIL_DROPPED);
}

/* Time passes for all users, but seldom lets one overtake another: only then the order is another one. */
static void freshen_ranking(Scheduler *s, QueueNode *queue)
{
        if (is_ranked(s, queue))
                return;
        collect_users(queue);
        g_ptr_array_sort_with_data(queue->start.ranking, compare_ranks, s);
        for (guint i = 0; i < queue->start.ranking->len; i++) {
                Account *account = queue->start.ranking->pdata[i],
                        *before = i > 0 ? queue->start.ranking->pdata[i - 1] : NULL;

                account->rank = before && account_compare(s, before, account) == 0 ? before->rank : i;
        }
        memo_drop(&queue->start.tops);
}

static void freshen_tops(Scheduler *s, QueueNode *queue)
{
        if (queue->order == QUEUE_ORDER_FAIR && !memo_fresh(&queue->start.ranking_order, s->pass)) {
                memo_keep(&queue->start.ranking_order, s->pass);
                freshen_ranking(s, queue);
        }
        if (memo_fresh(&queue->start.tops, MEMO_UNTIL_DROPPED))
                return;
        for (guint i = 0; i < queue->groups->len; i++)
                memo_drop(&((Group *)queue->groups->pdata[i])->top_memo);
        memo_keep(&queue->start.tops, MEMO_UNTIL_DROPPED);
        memo_drop(&queue->start.top_memo);
        memo_drop(&queue->start.turns_memo);
        memo_drop(&queue->backfill.behind_memo);
}

guint64 queue_judged_key(const Scheduler *s, const QueueNode *queue)
{
        return memo_pair(s->config_version, cluster_find(s, queue->cluster)->version);
}

static bool is_judged(const Scheduler *s, const Group *group, guint32 version)
{
        return memo_fresh(&group->gang->judged, version) && memo_fresh(&group->judged, s->config_version);
}

/* The same as group_hopeless, without a call for groups that were judged already. */
static bool is_hopeless(Scheduler *s, Group *group, guint32 version)
{
        if (!is_judged(s, group, version))
                return group_hopeless(s, group) != CAUSE_NONE;
        return group->hopeless != CAUSE_NONE || group->gang->hopeless != CAUSE_NONE;
}

/* Whether they are is also told to those who ask why they wait. */
static void judge_groups(Scheduler *s, QueueNode *queue, guint32 version)
{
        guint64 key = queue_judged_key(s, queue);

        if (memo_fresh(&queue->start.judged, key))
                return;
        for (guint i = 0; i < queue->groups->len; i++)
                (void)is_hopeless(s, queue->groups->pdata[i], version);
        if (queue->start.left_out)
                memo_drop(&queue->start.turns_memo);
        memo_drop(&queue->start.top_memo);
        memo_keep(&queue->start.judged, key);
}

void group_comes(Scheduler *s, Group *group)
{
        QueueNode *queue = group->queue;

        if (queue->groups->len == 1)
                memo_keep(&queue->start.judged, queue_judged_key(s, queue));
        if (!is_judged(s, group, cluster_find(s, queue->cluster)->version))
                memo_drop(&queue->start.judged);
}

static void freshen_turns(Scheduler *s, QueueNode *queue)
{
        if (memo_fresh(&queue->start.turns_memo, MEMO_UNTIL_DROPPED))
                return;
        memo_keep(&queue->start.turns_memo, MEMO_UNTIL_DROPPED);
        queue->start.left_out = false;
        turns_forget(queue);
        for (guint i = 0; i < queue->groups->len; i++) {
                const Shape *shape = group_top(s, queue->groups->pdata[i]);

                if (shape)
                        turns_add(queue, shape);
        }
        turns_order(queue);
}

static Shape *first_in_turn(Scheduler *s, QueueNode *queue, guint32 version)
{
        freshen_turns(s, queue);
        while (queue->start.turns->len > 0) {
                Group *group = g_array_index(queue->start.turns, Turn, 0).group;
                bool hopeless = is_hopeless(s, group, version);
                Shape *shape = hopeless ? NULL : group_top(s, group);

                queue->start.left_out = queue->start.left_out || hopeless;
                if (turns_settle(queue, shape))
                        return shape;
        }
        return NULL;
}

/* By the order of users, which holds for a moment only. */
static Shape *first_by_users(Scheduler *s, QueueNode *queue, guint32 version)
{
        Shape *top = NULL;

        for (guint i = 0; i < queue->groups->len; i++) {
                Group *group = queue->groups->pdata[i];
                Shape *shape;

                if (is_hopeless(s, group, version))
                        continue;
                shape = group_top(s, group);
                if (shape && (!top || shape_is_before(s, queue->order, shape, top)))
                        top = shape;
        }
        return top;
}

Shape *queue_top(Scheduler *s, QueueNode *queue)
{
        guint32 version = cluster_find(s, queue->cluster)->version;

        freshen_tops(s, queue);
        judge_groups(s, queue, version);
        if (!memo_fresh(&queue->start.top_memo, MEMO_UNTIL_DROPPED)) {
                queue->start.top = queue->order == QUEUE_ORDER_FAIR ? first_by_users(s, queue, version)
                                                                    : first_in_turn(s, queue, version);
                memo_keep(&queue->start.top_memo, MEMO_UNTIL_DROPPED);
        }
        return queue->start.top;
}

/* Notes the cause. */
static bool blocked(Shape *shape, Cause cause, QueueNode *queue)
{
        shape->cause = cause;
        shape->group->cause = cause;
        shape->group->cause_queue = queue ? queue->id : -1;
        return false;
}

/* ---- behind a blocked head ---- */

/* It takes so long that the guard is known to keep it from starting. */
static bool is_kept(Scheduler *s, const Shape *shape)
{
        gint64 span;

        return is_kept_by_guard(s, shape->group, &span) && shape_span(shape) >= span;
}

static DecisionRule rule_behind(const QueueNode *queue)
{
        return queue->has_backfill ? RULE_BACKFILL : RULE_ALLOCATE;
}

static bool is_kept_behind(const Shape *shape)
{
        const Group *group = shape->group;

        return memo_is_kept(&group->kept) && shape_span(shape) >= group->kept_span;
}

static Shape *find_follower(Scheduler *s, Group *group)
{
        QueueOrder by = group->queue->order;
        DecisionRule rule = rule_behind(group->queue);
        Shape *best = NULL;
        bool failed = false;

        for (guint i = 0; i < group->shapes->len; i++) {
                Shape *shape = group->shapes->pdata[i];

                if (shape == group->queue->backfill.head_shape || shape_limited(shape) != CAUSE_NONE ||
                    is_known_to_delay(s, shape, rule))
                        continue;
                if (shape->failed_pass == s->pass || is_kept_behind(shape))
                        failed = true;
                else if (!best || shape_is_before(s, by, shape, best))
                        best = shape;
        }
        if (best || failed)
                memo_drop(&group->all_delay);
        else
                memo_keep(&group->all_delay, (guint64)group->queue->backfill.head);
        return best;
}

static bool do_all_delay(Scheduler *s, Group *group)
{
        return memo_fresh(&group->all_delay, (guint64)group->queue->backfill.head) &&
               is_known_to_delay_at_all(s, group, rule_behind(group->queue));
}

/* Notes what the guard keeps from the group by now: somebody else may have tried. */
static void look_at_guard(Scheduler *s, Group *group)
{
        bool kept =
                rule_behind(group->queue) == RULE_BACKFILL && is_kept_by_guard(s, group, &group->kept_span);

        if (kept)
                memo_keep(&group->kept, (guint64)group->queue->backfill.head);
        else
                memo_drop(&group->kept);
}

static Shape *group_behind(Scheduler *s, Group *group)
{
        (void)group_top(s, group); /* what follows from an old one is forgotten */
        if (memo_fresh(&group->behind_memo, s->pass) && !group->behind)
                return NULL;
        look_at_guard(s, group);
        if (memo_fresh(&group->behind_memo, s->pass) && !is_kept_behind(group->behind))
                return group->behind;
        memo_keep(&group->behind_memo, s->pass);
        if (memo_is_kept(&group->kept) && group->shortest >= group->kept_span)
                group->behind = NULL;
        else
                group->behind = do_all_delay(s, group) ? NULL : find_follower(s, group);
        return group->behind;
}

/* Something of the group that might start, as far as is known without trying. */
static Shape *candidate_of(Scheduler *s, Group *group)
{
        QueueNode *queue = group->queue;
        const Gang *gang = group->gang;
        Shape *shape;
        int kind;

        if (memo_fresh(&group->over_max, s->pass) || gang->closed ||
            (memo_fresh(&queue->backfill.denied_memo, s->pass) && (gang->mask & queue->backfill.denied)))
                return NULL;
        if (queue_over_max(s, queue, &gang->need_total, gang->mask, NOW, &kind)) {
                memo_keep(&group->over_max, s->pass); /* while jobs start, queues use more and more */
                return NULL;
        }
        shape = group_behind(s, group);
        return shape && group_hopeless(s, group) == CAUSE_NONE ? shape : NULL;
}

/* What is remembered of groups from earlier passes is tried or dropped as of the first look at the queue. */
static void look_at_noted(Scheduler *s, QueueNode *queue)
{
        for (guint i = 0; i < queue->backfill.noted->len; i++) {
                Group *group = queue->backfill.noted->pdata[i];

                if (group->index >= 0)
                        (void)candidate_of(s, group);
        }
}

/* Each time round fewer are left: a gang is closed, or a shape kept. */
bool group_still_waits(Scheduler *s, Group *group)
{
        Shape *shape;

        while ((shape = candidate_of(s, group))) {
                if (!finds_no_capacity(s, shape))
                        return false;
                (void)blocked(shape, shape_gang(shape)->closed ? shape_gang(shape)->cause : CAUSE_RESERVED,
                              NULL);
        }
        return true;
}

static Shape *first_behind_in_turn(Scheduler *s, QueueNode *queue)
{
        int closed = 0;

        freshen_turns(s, queue);
        if (!memo_fresh(&queue->backfill.behind_memo, s->pass)) {
                memo_keep(&queue->backfill.behind_memo, s->pass);
                turns_copy(queue);
                look_at_noted(s, queue);
        }
        while (queue->backfill.behind->len > 0) {
                Turn first = g_array_index(queue->backfill.behind, Turn, 0);
                Shape *shape = first.gang->closed ? NULL : candidate_of(s, first.group);

                if (turns_settle_behind(queue, shape))
                        return shape;
                closed = first.gang->closed ? closed + 1 : 0;
                if (closed == CLOSED_IN_A_ROW) {
                        turns_drop_closed(queue);
                        closed = 0;
                }
        }
        for (guint i = 0; i < queue->start.turns->len; i++)
                if (!g_array_index(queue->start.turns, Turn, i).gang->closed)
                        (void)candidate_of(s, g_array_index(queue->start.turns, Turn, i).group); /* why not */
        return NULL;
}

static Shape *first_behind_by_users(Scheduler *s, QueueNode *queue)
{
        Shape *best = NULL;

        for (guint i = 0; i < queue->groups->len; i++) {
                Shape *shape = candidate_of(s, queue->groups->pdata[i]);

                if (shape && (!best || shape_is_before(s, queue->order, shape, best)))
                        best = shape;
        }
        return best;
}

static Shape *find_behind(Scheduler *s, QueueNode *queue)
{
        return queue->order == QUEUE_ORDER_FAIR ? first_behind_by_users(s, queue)
                                                : first_behind_in_turn(s, queue);
}

/* Some node has capacity for a task of each of its roles. */
static bool has_capacity_now(Scheduler *s, Gang *gang)
{
        if (memo_fresh(&gang->capacity_memo, s->versions))
                return gang->has_capacity;
        memo_keep(&gang->capacity_memo, s->versions);
        gang->has_capacity = true;
        for (int role = 0; role < gang->n_roles && gang->has_capacity; role++)
                gang->has_capacity = gang->need[role] == 0 || class_has_capacity(s, gang->classes[role]);
        return gang->has_capacity;
}

static bool any_has_capacity(Scheduler *s, const QueueNode *queue)
{
        if (queue->order != QUEUE_ORDER_FAIR) {
                for (guint i = 0; i < queue->backfill.behind->len; i++) {
                        Turn turn = g_array_index(queue->backfill.behind, Turn, i);

                        if (!turn.gang->closed && has_capacity_now(s, turn.gang) &&
                            candidate_of(s, turn.group))
                                return true;
                }
                return false;
        }
        for (guint i = 0; i < queue->groups->len; i++) {
                Group *group = queue->groups->pdata[i];

                if (has_capacity_now(s, group->gang) && candidate_of(s, group))
                        return true;
        }
        return false;
}

/* If no job fits in any case, it does not matter where the head will be placed, only whether that is
 * known. */
Shape *queue_behind(Scheduler *s, QueueNode *queue)
{
        Shape *best;

        freshen_tops(s, queue);
        best = find_behind(s, queue);
        if (!best || !queue->has_backfill || memo_fresh(&queue->backfill.denied_memo, s->pass))
                return best;
        memo_keep(&queue->backfill.denied_memo, s->pass);
        queue->backfill.denied = 0;
        if (!any_has_capacity(s, queue) && reservation_is_timed(s, queue))
                return best;
        queue->backfill.denied = reservation_denies(s, queue);
        return queue->backfill.denied ? find_behind(s, queue) : best;
}

/* ---- starting ---- */

static void commit(Pass *pass, Shape *shape, DecisionRule rule)
{
        Gang *gang = shape_gang(shape);
        Job *job = shape_first(shape);
        SchedTask *tasks = g_new(SchedTask, gang->n_tasks);

        plan_tasks(&pass->plan, gang, tasks);
        g_array_set_size(pass->plan.placed, 0);
        job_start(pass->s, job, tasks);
        if (shape_queue(shape)->order == QUEUE_ORDER_FAIR)
                memo_drop(&shape_queue(shape)->start.ranking_order); /* its user may come later now */
        pass_decide_start(pass, rule, job);
}

bool queue_lets(Scheduler *s, Shape *shape)
{
        QueueNode *queue = shape_queue(shape), *over;
        const Gang *gang = shape_gang(shape);
        int kind;

        over = queue_over_max(s, queue, &gang->need_total, gang->mask, NOW, &kind);
        if (over)
                return blocked(shape, CAUSE_QUEUE_MAX, over);
        over = queue_kept_from(s, queue, &gang->need_total, gang->mask, NOW, &kind);
        return !over || blocked(shape, CAUSE_RESERVED, over);
}

static bool try_first(Pass *pass, Shape *shape, DecisionRule rule)
{
        Scheduler *s = pass->s;
        Gang *gang = shape_gang(shape);
        Cause cause = shape_limited(shape);

        pass->ret->considered++;
        if (cause != CAUSE_NONE) {
                shape->cause = cause;
                return false;
        }
        if (!queue_lets(s, shape))
                return false;
        if (!gang->closed && (is_known_to_delay(s, shape, rule) || is_kept(s, shape)))
                return blocked(shape, CAUSE_RESERVED, NULL);
        if (!gang->closed && !plan_gang(s, &pass->plan, gang, &cause))
                gang_close(gang, cause);
        if (gang->closed)
                return blocked(shape, gang->cause, NULL);
        if (!guards_let(pass, shape, rule))
                return blocked(shape, CAUSE_RESERVED, NULL);
        commit(pass, shape, rule);
        return true;
}

bool start_first(Pass *pass, Shape *shape, DecisionRule rule)
{
        Group *group = shape->group;

        memo_drop(&group->behind_memo);
        if (try_first(pass, shape, rule))
                return true;
        shape->failed_pass = pass->s->pass;
        return false;
}
