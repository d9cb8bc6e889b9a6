/* Why a job waits. The main cause is what the last pass noted; the reasons with figures are worked out here,
 * without changing anything: several threads may ask clones, and the live one is only read. */
#include "sched/pass.h"

#include "sched/backfill.h"

static const char *const names[CAUSES] = {
        [CAUSE_NONE] = "none",
        [CAUSE_HELD] = "held",
        [CAUSE_NOT_BEFORE] = "not_before",
        [CAUSE_QUEUE_CLOSED] = "queue_closed",
        [CAUSE_NO_NODES] = "no_nodes",
        [CAUSE_TOO_LARGE] = "too_large",
        [CAUSE_NO_NODE_FITS] = "no_node_fits",
        [CAUSE_ARRAY_LIMIT] = "array_limit",
        [CAUSE_USER_LIMIT] = "user_limit",
        [CAUSE_QUEUE_MAX] = "queue_max",
        [CAUSE_RESERVED] = "reserved",
        [CAUSE_LENT] = "lent",
        [CAUSE_BEHIND] = "behind",
        [CAUSE_RESOURCES] = "resources",
        [CAUSE_FRAGMENTED] = "fragmented",
        [CAUSE_NOMINATED] = "nominated",
        [CAUSE_TOPOLOGY] = "topology",
};

const char *cause_name(Cause cause)
{
        g_assert(cause < CAUSES);
        return names[cause];
}

/* ---- the main cause ---- */

static bool is_about_room(Cause cause)
{
        return cause == CAUSE_RESERVED || cause == CAUSE_LENT || cause == CAUSE_RESOURCES ||
               cause == CAUSE_FRAGMENTED || cause == CAUSE_TOPOLOGY || cause == CAUSE_NONE;
}

static bool is_behind_head(const Shape *shape)
{
        const QueueNode *queue = shape_queue(shape);

        return queue->backfill.head != 0 && shape->first && shape->first->key != queue->backfill.head;
}

/* By the guard. */
static bool is_kept_behind_head(const Shape *shape)
{
        const Group *group = shape->group;

        return memo_fresh(&group->kept, (guint64)group->queue->backfill.head) &&
               shape_span(shape) >= group->kept_span;
}

/* What the last pass found of the jobs of this shape. */
static Cause shape_cause(const Scheduler *s, const Shape *shape)
{
        const Gang *gang = shape_gang(shape);
        Cause limited = shape_limited(shape);
        int kind;

        if (gang->hopeless != CAUSE_NONE)
                return gang->hopeless;
        if (shape->group->hopeless != CAUSE_NONE)
                return shape->group->hopeless;
        if (limited != CAUSE_NONE)
                return limited;
        if (queue_over_max(s, shape_queue(shape), &gang->need_total, gang->mask, NOW, &kind))
                return CAUSE_QUEUE_MAX;
        if (gang->closed && shape->cause != CAUSE_LENT)
                return gang->cause;
        if (is_behind_head(shape) &&
            ((shape_queue(shape)->backfill.denied & gang->mask) || is_kept_behind_head(shape)))
                return CAUSE_RESERVED;
        return is_about_room(shape->cause) ? shape->cause : CAUSE_NONE;
}

static Cause job_cause(const Scheduler *s, const Job *job)
{
        Cause cause;

        if (job->state != SCHED_PENDING)
                return CAUSE_NONE;
        if (job->held)
                return CAUSE_HELD;
        if (job->place == PLACE_TIMER)
                return CAUSE_NOT_BEFORE;
        if (!queue_is_startable(job_queue(job)))
                return CAUSE_QUEUE_CLOSED;
        if (job->place == PLACE_NOMINATED)
                return CAUSE_NOMINATED;
        cause = shape_cause(s, job->shape);
        if (is_about_room(cause) && job_queue(job)->backfill.head != 0 &&
            job_queue(job)->backfill.head != job->key &&
            (cause == CAUSE_NONE || !g_sequence_iter_is_begin(job->iter)))
                return CAUSE_BEHIND;
        if (cause == CAUSE_NONE && job_queue(job)->backfill.head == job->key)
                return job->shape->cause; /* room below a max was made after the pass had looked at it */
        return cause;
}

Cause scheduler_cause(const Scheduler *s, gint64 key)
{
        const Job *job = job_find(s, key);

        return job ? job_cause(s, job) : CAUSE_NONE;
}

/* ---- reasons ---- */

typedef struct {
        const Scheduler *s;
        const Job *job;
        const Gang *gang;
        QueueNode *queue;
        const Cluster *cluster;
        gint64 now;
        Reason *reasons;
        int n;
} Answer;

static Reason *add(Answer *answer, Cause cause)
{
        static const Reason empty = { .kind = -1, .queue = -1, .other = -1 };
        Reason *reason = &answer->reasons[MIN(answer->n, REASONS_MAX - 1)];

        answer->n = MIN(answer->n + 1, REASONS_MAX);
        *reason = empty;
        reason->cause = cause;
        return reason;
}

static Reason *add_kind(Answer *answer, Cause cause, int kind)
{
        Reason *reason = add(answer, cause);

        reason->kind = kind;
        reason->asked = answer->gang->need_total.amount[kind];
        return reason;
}

static bool is_eligible(const Answer *answer, const Node *node)
{
        return node && node->usable && node->cluster == answer->gang->cluster &&
               labels_carry(node->labels, answer->gang->job_labels) &&
               labels_carry(node->labels, answer->gang->queue_labels);
}

static void explain_place(Answer *answer)
{
        const QueueNode *queue = answer->queue;

        if (answer->job->held)
                (void)add(answer, CAUSE_HELD);
        if (answer->job->not_before > answer->now)
                add(answer, CAUSE_NOT_BEFORE)->time = answer->job->not_before;
        for (; queue; queue = queue->parent)
                if (queue->state != QUEUE_OPEN && queue->state != QUEUE_CLOSING) {
                        add(answer, CAUSE_QUEUE_CLOSED)->queue = queue->id;
                        return;
                }
}

/* True: it can never start as things are, so the rest does not matter. */
static bool explain_hopeless(Answer *answer)
{
        int kind, queue;

        if (!answer->cluster || answer->cluster->n_usable == 0) {
                (void)add(answer, CAUSE_NO_NODES);
                return true;
        }
        if (queue_never(answer->queue, answer->gang, &kind, &queue)) {
                Reason *reason = add_kind(answer, CAUSE_TOO_LARGE, kind);

                reason->queue = queue;
                reason->limit = queue_find(answer->s, queue)->max.amount[kind];
                return true;
        }
        FOR_KINDS(lacking, answer->gang->mask)
                if (answer->gang->need_total.amount[lacking] > answer->cluster->total.amount[lacking]) {
                        add_kind(answer, CAUSE_TOO_LARGE, (int)lacking)->limit =
                                answer->cluster->total.amount[lacking];
                        return true;
                }
        if (answer->gang->hopeless == CAUSE_NONE)
                return false;
        (void)add(answer, answer->gang->hopeless);
        return true;
}

static void explain_limits(Answer *answer)
{
        const Shape *shape = answer->job->shape;
        int kind;
        QueueNode *over = queue_over_max(answer->s, answer->queue, &answer->gang->need_total,
                                         answer->gang->mask, NOW, &kind);

        if (shape->array && shape->array_max > 0 && shape->array->running >= shape->array_max)
                add(answer, CAUSE_ARRAY_LIMIT)->limit = shape->array_max;
        if (answer->queue->max_running_per_user > 0 &&
            shape->account->running >= answer->queue->max_running_per_user) {
                Reason *reason = add(answer, CAUSE_USER_LIMIT);

                reason->limit = answer->queue->max_running_per_user;
                reason->queue = answer->queue->id;
        }
        if (over) {
                Reason *reason = add_kind(answer, CAUSE_QUEUE_MAX, kind);

                reason->queue = over->id;
                reason->used = over->alloc.amount[kind];
                reason->limit = over->max.amount[kind];
        }
}

static void explain_nomination(Answer *answer)
{
        const Nomination *nomination = nomination_find(answer->s, answer->job->key);
        Reason *reason;

        if (!nomination)
                return;
        reason = add(answer, CAUSE_NOMINATED);
        reason->time = nomination->until;
        if (nomination->victims->len > 0)
                reason->key = g_array_index(nomination->victims, gint64, 0);
}

/* What is free and promised to nobody. */
static gint64 free_of(const Answer *answer, int kind)
{
        const Cluster *cluster = answer->cluster;
        gint64 promised = MAX(0, cluster->planned.amount[kind] - cluster->releasing.amount[kind]);

        return MAX(0, cluster->free.amount[kind] - promised);
}

static void explain_reserved(Answer *answer)
{
        const Scheduler *s = answer->s;
        const QueueNode *by = answer->queue;
        Reason *reason;
        int kind;
        QueueNode *keeper =
                queue_kept_from(s, answer->queue, &answer->gang->need_total, answer->gang->mask, NOW, &kind);

        if (keeper) {
                reason = add_kind(answer, CAUSE_RESERVED, kind);
                reason->other = keeper->id;
                reason->free = free_of(answer, kind);
                return;
        }
        if (answer->gang->closed || shape_cause(s, answer->job->shape) != CAUSE_RESERVED)
                return;
        if (by->backfill.head == answer->job->key && queue_find(s, answer->cluster->guard))
                by = queue_find(s, answer->cluster->guard);
        kind = answer->gang->mask ? __builtin_ctz(answer->gang->mask) : RESOURCE_CPU;
        FOR_KINDS(lacking,
                  answer->gang->mask & (by->backfill.reservation ? by->backfill.reservation->lacking : 0))
                kind = (int)lacking;
        reason = add_kind(answer, CAUSE_RESERVED, kind);
        reason->free = free_of(answer, kind);
        reason->key = by->backfill.head;
        reason->time = by->backfill.head_start;
}

static const QueueNode *most_borrowed(const Answer *answer, int kind, gint64 *ret_sum)
{
        const QueueNode *most = NULL;
        gint64 best = 0;

        *ret_sum = 0;
        for (guint i = 0; i < answer->s->queues->len; i++) {
                const QueueNode *queue = answer->s->queues->pdata[i];
                gint64 more;

                if (!queue || queue->cluster != answer->gang->cluster || queue == answer->queue ||
                    queue->n_children > 0)
                        continue;
                more = queue->alloc.amount[kind] - queue->min.amount[kind];
                *ret_sum += MAX(0, more);
                if (more > best) {
                        best = more;
                        most = queue;
                }
        }
        return most;
}

static void explain_lent(Answer *answer, int kind)
{
        const QueueNode *queue = answer->queue, *other;
        gint64 sum, owed = queue->min.amount[kind] - queue->alloc.amount[kind];
        Reason *reason;

        if (owed < answer->gang->need_total.amount[kind] || !(other = most_borrowed(answer, kind, &sum)))
                return;
        reason = add_kind(answer, CAUSE_LENT, kind);
        reason->queue = queue->id;
        reason->other = other->id;
        reason->free = free_of(answer, kind);
        reason->lent = MIN(owed, sum);
}

/* What ends first of those that hold the kind. */
static void first_to_end(const Answer *answer, int kind, Reason *ret)
{
        gint64 first = G_MAXINT64;

        for (guint i = 0; i < answer->s->queues->len; i++) {
                const QueueNode *queue = answer->s->queues->pdata[i];

                for (guint j = 0; queue && queue->cluster == answer->gang->cluster && j < queue->running->len;
                     j++) {
                        const Job *job = queue->running->pdata[j];
                        gint64 end = job_end(job);

                        if (job_gang(job)->full_total.amount[kind] == 0 || end > first ||
                            (end == first && job->key > ret->key) || end == G_MAXINT64)
                                continue;
                        first = end;
                        ret->key = job->key;
                        ret->time = MAX(end, answer->now);
                }
        }
}

static bool explain_lacking(Answer *answer)
{
        bool any = false;

        FOR_KINDS(kind, answer->gang->mask) {
                Reason *reason;

                if (answer->gang->need_total.amount[kind] <= free_of(answer, (int)kind))
                        continue;
                any = true;
                explain_lent(answer, (int)kind);
                reason = add_kind(answer, CAUSE_RESOURCES, (int)kind);
                reason->free = free_of(answer, (int)kind);
                reason->total = answer->cluster->total.amount[kind];
                first_to_end(answer, (int)kind, reason);
        }
        return any;
}

/* Enough in all, but on no nodes: how many nodes lack the kind that most of them lack. */
static void explain_fragmented(Answer *answer)
{
        int nodes[RESOURCE_KINDS_MAX] = { 0 }, most = -1;
        Reason *reason;

        for (guint i = 0; i < answer->s->nodes->len; i++) {
                const Node *node = answer->s->nodes->pdata[i];
                Resources room;

                if (!is_eligible(answer, node))
                        continue;
                room = node_room(node);
                for (int role = 0; role < answer->gang->n_roles; role++)
                        FOR_KINDS(kind, answer->gang->need[role] > 0 ? answer->gang->classes[role]->mask : 0)
                                nodes[kind] +=
                                        room.amount[kind] < answer->gang->roles[role].each.amount[kind];
        }
        FOR_KINDS(kind, answer->gang->mask)
                if (most < 0 || nodes[kind] > nodes[most])
                        most = (int)kind;
        if (most < 0)
                return;
        reason = add_kind(answer, CAUSE_FRAGMENTED, most);
        reason->nodes = nodes[most];
        reason->free = free_of(answer, most);
        reason->total = answer->cluster->total.amount[most];
}

static void explain_room(Answer *answer)
{
        if (!answer->gang->closed || answer->job->place == PLACE_NOMINATED)
                return;
        if (explain_lacking(answer))
                return;
        if (answer->gang->cause == CAUSE_TOPOLOGY) {
                add(answer, CAUSE_TOPOLOGY)->label = answer->gang->topology < answer->s->n_levels
                                                             ? answer->s->topology[answer->gang->topology]
                                                             : NULL;
                return;
        }
        explain_fragmented(answer);
}

/* How many jobs of the queue come first. */
static int position_of(const Answer *answer)
{
        Scheduler *s = (Scheduler *)answer->s; /* reads only: ranks of users are of the last pass */
        const Shape *own = answer->job->shape;
        int n = 0;

        for (guint i = 0; i < answer->queue->groups->len; i++) {
                const Group *group = answer->queue->groups->pdata[i];

                for (guint j = 0; j < group->shapes->len; j++) {
                        const Shape *shape = group->shapes->pdata[j];
                        int order = shape_rank(s, shape, own);
                        GSequenceIter *at;

                        if (order > 0)
                                continue;
                        if (order < 0) {
                                n += g_sequence_get_length(shape->jobs);
                                continue;
                        }
                        at = g_sequence_search(shape->jobs, (gpointer)answer->job, job_compare_age, NULL);
                        n += g_sequence_iter_get_position(at) - (shape == own);
                }
        }
        return n;
}

static void explain_position(Answer *answer)
{
        int position;
        Reason *reason;

        if (answer->job->place != PLACE_LISTED)
                return;
        position = position_of(answer);
        if (position == 0)
                return;
        reason = add(answer, CAUSE_BEHIND);
        reason->position = position;
        reason->queue = answer->queue->id;
        reason->key =
                answer->queue->backfill.head ? answer->queue->backfill.head : answer->queue->first.heads[0];
}

static void put_first(Answer *answer, Cause cause)
{
        for (int i = 0; i < answer->n; i++)
                if (answer->reasons[i].cause == cause) {
                        Reason first = answer->reasons[i];

                        memmove(&answer->reasons[1], &answer->reasons[0], sizeof first * (size_t)i);
                        answer->reasons[0] = first;
                        return;
                }
}

int scheduler_explain(const Scheduler *s, gint64 key, gint64 now, Reason ret[REASONS_MAX])
{
        const Job *job = job_find(s, key);
        Answer answer = { .s = s, .job = job, .now = now, .reasons = ret };

        if (!job || job->state != SCHED_PENDING)
                return 0;
        answer.gang = job_gang(job);
        answer.queue = job_queue(job);
        answer.cluster = cluster_find(s, answer.gang->cluster);
        explain_place(&answer);
        if (!explain_hopeless(&answer)) {
                explain_limits(&answer);
                explain_nomination(&answer);
                explain_reserved(&answer);
                explain_room(&answer);
                explain_position(&answer);
        }
        put_first(&answer, job_cause(s, job));
        return answer.n;
}
