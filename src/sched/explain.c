/* Why a job waits. The main cause is what the last pass noted; the reasons with figures are worked out here, from a
 * scheduler or from published figures: two collections of facts, one set of statements. Nothing is changed: several
 * threads may ask clones, and the live scheduler is only read. */
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

static bool is_about_capacity(Cause cause)
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
        return is_about_capacity(shape->cause) ? shape->cause : CAUSE_NONE;
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
        if (is_about_capacity(cause) && job_queue(job)->backfill.head != 0 &&
            job_queue(job)->backfill.head != job->key &&
            (cause == CAUSE_NONE || !g_sequence_iter_is_begin(job->iter)))
                return CAUSE_BEHIND;
        if (cause == CAUSE_NONE && job_queue(job)->backfill.head == job->key)
                return job->shape->cause; /* a job below that max ended after the pass had looked at it */
        return cause;
}

Cause scheduler_cause(const Scheduler *s, gint64 key)
{
        const Job *job = job_find(s, key);

        return job ? job_cause(s, job) : CAUSE_NONE;
}

/* ---- statements: one reason each, from figures, whoever has them ---- */

typedef struct {
        const Resources *want; /* of the job's minimum */
        Reason *reasons;       /* REASONS_MAX */
        int n;
        Reason *beyond; /* where one reason too many is written */
} Answer;

static Reason *add(Answer *answer, Cause cause)
{
        Reason *reason = answer->n < REASONS_MAX ? &answer->reasons[answer->n++] : answer->beyond;

        *reason = (Reason){ .cause = cause, .kind = -1, .queue = -1, .other = -1 };
        return reason;
}

static Reason *add_kind(Answer *answer, Cause cause, int kind)
{
        Reason *reason = add(answer, cause);

        reason->kind = kind;
        reason->asked = answer->want->amount[kind];
        return reason;
}

/* `queue` -1: than the cluster has. */
static void state_too_large(Answer *answer, int kind, gint64 limit, int queue)
{
        Reason *reason = add_kind(answer, CAUSE_TOO_LARGE, kind);

        reason->limit = limit;
        reason->queue = queue;
}

/* A limit of running jobs, if it is reached; 0: there is none. */
static void state_running(Answer *answer, Cause cause, int running, int limit, int queue)
{
        Reason *reason;

        if (limit == 0 || running < limit)
                return;
        reason = add(answer, cause);
        reason->limit = limit;
        reason->queue = queue;
}

static void state_max(Answer *answer, int kind, const Resources *used, const Resources *max, int queue)
{
        Reason *reason = add_kind(answer, CAUSE_QUEUE_MAX, kind);

        reason->queue = queue;
        reason->used = used->amount[kind];
        reason->limit = max->amount[kind];
}

/* Of the guarantee of `queue`, `owed` is not in its use; of that, `lent` is in the use of `other`. */
static void state_lent(Answer *answer, int kind, gint64 free, gint64 owed, gint64 lent, int queue, int other)
{
        Reason *reason;

        if (owed < answer->want->amount[kind] || other < 0)
                return;
        reason = add_kind(answer, CAUSE_LENT, kind);
        reason->queue = queue;
        reason->other = other;
        reason->free = free;
        reason->lent = MIN(owed, lent);
}

static Reason *state_lacking(Answer *answer, int kind, gint64 free, gint64 total)
{
        Reason *reason = add_kind(answer, CAUSE_RESOURCES, kind);

        reason->free = free;
        reason->total = total;
        return reason;
}

/* `head` 0: not known. */
static void state_behind(Answer *answer, int position, int queue, gint64 head)
{
        Reason *reason;

        if (position == 0)
                return;
        reason = add(answer, CAUSE_BEHIND);
        reason->position = position;
        reason->queue = queue;
        reason->key = head;
}

/* ---- from published figures ---- */

static const QueueFigures *figures_of(const Waiting *waiting, int queue)
{
        const SchedulerFigures *figures = waiting->figures;

        return queue >= 0 && queue < figures->n_queues && figures->queues[queue].id == queue
                       ? &figures->queues[queue]
                       : NULL;
}

/* True: it can never start as things are. */
static bool figures_too_large(const Waiting *waiting, Answer *answer)
{
        int kind = resources_lacking(&waiting->want, &waiting->most);

        if (kind >= 0) {
                state_too_large(answer, kind, waiting->most.amount[kind], -1);
                return true;
        }
        for (int i = 0; i < waiting->n_queues; i++) {
                const WaitingQueue *queue = &waiting->queues[i];

                kind = resources_lacking(&waiting->want, &queue->max);
                if (kind >= 0) {
                        state_too_large(answer, kind, queue->max.amount[kind], queue->id);
                        return true;
                }
        }
        return false;
}

static void figures_max(const Waiting *waiting, Answer *answer)
{
        for (int i = 0; i < waiting->n_queues; i++) {
                const WaitingQueue *queue = &waiting->queues[i];
                const QueueFigures *figures = figures_of(waiting, queue->id);
                Resources rest = queue->max;
                int lacking;

                for (int kind = 0; figures && kind < RESOURCE_KINDS_MAX; kind++)
                        if (rest.amount[kind] != RESOURCE_UNLIMITED)
                                rest.amount[kind] -= figures->used.amount[kind];
                lacking = figures ? resources_lacking(&waiting->want, &rest) : -1;
                if (lacking >= 0)
                        state_max(answer, lacking, &figures->used, &queue->max, queue->id);
        }
}

/* The queue that has borrowed most of a kind, unless that is the job's own. */
static void figures_lent(const Waiting *waiting, Answer *answer, int kind)
{
        const WaitingQueue *own = &waiting->queues[0];
        const QueueFigures *figures = figures_of(waiting, own->id), *most = NULL;

        for (int i = 0; i < waiting->figures->n_queues; i++) {
                const QueueFigures *at = &waiting->figures->queues[i];

                if (at->id >= 0 && at->borrowed.amount[kind] > (most ? most->borrowed.amount[kind] : 0))
                        most = at;
        }
        if (figures && most && most != figures)
                state_lent(answer, kind, waiting->figures->free.amount[kind],
                           own->min.amount[kind] - figures->used.amount[kind], most->borrowed.amount[kind],
                           own->id, most->id);
}

static void figures_lacking(const Waiting *waiting, Answer *answer)
{
        const QueueFigures *own = figures_of(waiting, waiting->queues[0].id);
        bool is_head = own && waiting->ahead == 0 && own->heads[0] == waiting->key;

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++) {
                if (waiting->want.amount[kind] <= waiting->free.amount[kind])
                        continue;
                figures_lent(waiting, answer, kind);
                if (!(waiting->told >> kind & 1))
                        state_lacking(answer, kind, waiting->free.amount[kind], waiting->total.amount[kind])
                                ->time = is_head ? own->head_start : 0;
        }
}

int scheduler_explain_figures(const Waiting *waiting, Reason ret[REASONS_MAX])
{
        const QueueFigures *own = figures_of(waiting, waiting->queues[0].id);
        Reason one_too_many;
        Answer answer = { .want = &waiting->want, .reasons = ret, .beyond = &one_too_many };
        int queue = waiting->queues[0].id;

        if (figures_too_large(waiting, &answer))
                return answer.n;
        state_running(&answer, CAUSE_ARRAY_LIMIT, waiting->array_running, waiting->array_max, queue);
        state_running(&answer, CAUSE_USER_LIMIT, waiting->user_running, waiting->user_max, queue);
        figures_max(waiting, &answer);
        figures_lacking(waiting, &answer);
        state_behind(&answer, waiting->ahead, queue,
                     own && own->heads[0] != waiting->key ? own->heads[0] : 0);
        return answer.n;
}

/* ---- exactly, from a scheduler ---- */

typedef struct {
        const Scheduler *s;
        const Job *job;
        const Gang *gang;
        QueueNode *queue;
        const Cluster *cluster;
        gint64 now;
        Answer answer;
} Question;

static bool is_eligible(const Question *question, const Node *node)
{
        return node && node->usable && node->cluster == question->gang->cluster &&
               labels_carry(node->labels, question->gang->job_labels) &&
               labels_carry(node->labels, question->gang->queue_labels);
}

static void explain_place(Question *question)
{
        const QueueNode *queue = question->queue;

        if (question->job->held)
                (void)add(&question->answer, CAUSE_HELD);
        if (question->job->not_before > question->now)
                add(&question->answer, CAUSE_NOT_BEFORE)->time = question->job->not_before;
        for (; queue; queue = queue->parent)
                if (queue->state != QUEUE_OPEN && queue->state != QUEUE_CLOSING) {
                        add(&question->answer, CAUSE_QUEUE_CLOSED)->queue = queue->id;
                        return;
                }
}

/* True: it can never start as things are, so the rest does not matter. */
static bool explain_hopeless(Question *question)
{
        int kind, queue;

        if (!question->cluster || question->cluster->n_usable == 0) {
                (void)add(&question->answer, CAUSE_NO_NODES);
                return true;
        }
        if (queue_never(question->queue, question->gang, &kind, &queue)) {
                state_too_large(&question->answer, kind, queue_find(question->s, queue)->max.amount[kind],
                                queue);
                return true;
        }
        FOR_KINDS(lacking, question->gang->mask)
                if (question->gang->need_total.amount[lacking] > question->cluster->total.amount[lacking]) {
                        state_too_large(&question->answer, (int)lacking,
                                        question->cluster->total.amount[lacking], -1);
                        return true;
                }
        if (question->gang->hopeless == CAUSE_NONE)
                return false;
        (void)add(&question->answer, question->gang->hopeless);
        return true;
}

static void explain_limits(Question *question)
{
        const Shape *shape = question->job->shape;
        int kind;
        QueueNode *over = queue_over_max(question->s, question->queue, &question->gang->need_total,
                                         question->gang->mask, NOW, &kind);

        if (shape->array)
                state_running(&question->answer, CAUSE_ARRAY_LIMIT, shape->array->running, shape->array_max,
                              -1);
        state_running(&question->answer, CAUSE_USER_LIMIT, shape->account->running,
                      question->queue->max_running_per_user, question->queue->id);
        if (over)
                state_max(&question->answer, kind, &over->alloc, &over->max, over->id);
}

static void explain_nomination(Question *question)
{
        const Nomination *nomination = nomination_find(question->s, question->job->key);
        Reason *reason;

        if (!nomination)
                return;
        reason = add(&question->answer, CAUSE_NOMINATED);
        reason->time = nomination->until;
        if (nomination->victims->len > 0)
                reason->key = g_array_index(nomination->victims, gint64, 0);
}

/* What is free and promised to nobody. */
static gint64 free_of(const Question *question, int kind)
{
        const Cluster *cluster = question->cluster;
        gint64 promised = MAX(0, cluster->planned.amount[kind] - cluster->releasing.amount[kind]);

        return MAX(0, cluster->free.amount[kind] - promised);
}

static void explain_reserved(Question *question)
{
        const Scheduler *s = question->s;
        const QueueNode *by = question->queue;
        Reason *reason;
        int kind;
        QueueNode *keeper = queue_kept_from(s, question->queue, &question->gang->need_total,
                                            question->gang->mask, NOW, &kind);

        if (keeper) {
                reason = add_kind(&question->answer, CAUSE_RESERVED, kind);
                reason->other = keeper->id;
                reason->free = free_of(question, kind);
                return;
        }
        if (question->gang->closed || shape_cause(s, question->job->shape) != CAUSE_RESERVED)
                return;
        if (by->backfill.head == question->job->key && queue_find(s, question->cluster->guard))
                by = queue_find(s, question->cluster->guard);
        kind = question->gang->mask ? __builtin_ctz(question->gang->mask) : RESOURCE_CPU;
        FOR_KINDS(lacking,
                  question->gang->mask & (by->backfill.reservation ? by->backfill.reservation->lacking : 0))
                kind = (int)lacking;
        reason = add_kind(&question->answer, CAUSE_RESERVED, kind);
        reason->free = free_of(question, kind);
        reason->key = by->backfill.head;
        reason->time = by->backfill.head_start;
}

static const QueueNode *most_borrowed(const Question *question, int kind, gint64 *ret_sum)
{
        const QueueNode *most = NULL;
        gint64 best = 0;

        *ret_sum = 0;
        for (guint i = 0; i < question->s->queues->len; i++) {
                const QueueNode *queue = question->s->queues->pdata[i];
                gint64 more;

                if (!queue || queue->cluster != question->gang->cluster || queue == question->queue ||
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

static void explain_lent(Question *question, int kind)
{
        const QueueNode *queue = question->queue, *other;
        gint64 sum, owed = queue->min.amount[kind] - queue->alloc.amount[kind];

        other = most_borrowed(question, kind, &sum);
        if (other)
                state_lent(&question->answer, kind, free_of(question, kind), owed, sum, queue->id, other->id);
}

/* What ends first of those that hold the kind. */
static void first_to_end(const Question *question, int kind, Reason *ret)
{
        gint64 first = G_MAXINT64;

        for (guint i = 0; i < question->s->queues->len; i++) {
                const QueueNode *queue = question->s->queues->pdata[i];

                for (guint j = 0;
                     queue && queue->cluster == question->gang->cluster && j < queue->running->len; j++) {
                        const Job *job = queue->running->pdata[j];
                        gint64 end = job_end(job);

                        if (job_gang(job)->full_total.amount[kind] == 0 || end > first ||
                            (end == first && job->key > ret->key) || end == G_MAXINT64)
                                continue;
                        first = end;
                        ret->key = job->key;
                        ret->time = MAX(end, question->now);
                }
        }
}

static bool explain_lacking(Question *question)
{
        bool any = false;

        FOR_KINDS(kind, question->gang->mask) {
                gint64 free = free_of(question, (int)kind);

                if (question->gang->need_total.amount[kind] <= free)
                        continue;
                any = true;
                explain_lent(question, (int)kind);
                first_to_end(question, (int)kind,
                             state_lacking(&question->answer, (int)kind, free,
                                           question->cluster->total.amount[kind]));
        }
        return any;
}

/* Enough in all, but on no nodes: how many nodes lack the kind that most of them lack. */
static void explain_fragmented(Question *question)
{
        int nodes[RESOURCE_KINDS_MAX] = { 0 }, most = -1;
        Reason *reason;

        for (guint i = 0; i < question->s->nodes->len; i++) {
                const Node *node = question->s->nodes->pdata[i];
                Resources available;

                if (!is_eligible(question, node))
                        continue;
                available = node_available(node);
                for (int role = 0; role < question->gang->n_roles; role++)
                        FOR_KINDS(kind,
                                  question->gang->need[role] > 0 ? question->gang->classes[role]->mask : 0)
                                nodes[kind] += available.amount[kind] <
                                               question->gang->roles[role].each.amount[kind];
        }
        FOR_KINDS(kind, question->gang->mask)
                if (most < 0 || nodes[kind] > nodes[most])
                        most = (int)kind;
        if (most < 0)
                return;
        reason = add_kind(&question->answer, CAUSE_FRAGMENTED, most);
        reason->nodes = nodes[most];
        reason->free = free_of(question, most);
        reason->total = question->cluster->total.amount[most];
}

static void explain_capacity(Question *question)
{
        if (!question->gang->closed || question->job->place == PLACE_NOMINATED)
                return;
        if (explain_lacking(question))
                return;
        if (question->gang->cause == CAUSE_TOPOLOGY) {
                add(&question->answer, CAUSE_TOPOLOGY)->label =
                        question->gang->topology < question->s->n_levels
                                ? question->s->topology[question->gang->topology]
                                : NULL;
                return;
        }
        explain_fragmented(question);
}

/* How many jobs of the queue come first. */
static int position_of(const Question *question)
{
        Scheduler *s = (Scheduler *)question->s; /* reads only: ranks of users are of the last pass */
        const Shape *own = question->job->shape;
        int n = 0;

        for (guint i = 0; i < question->queue->groups->len; i++) {
                const Group *group = question->queue->groups->pdata[i];

                for (guint j = 0; j < group->shapes->len; j++) {
                        const Shape *shape = group->shapes->pdata[j];
                        int order = shape_rank(s, shape_queue(own)->order, shape, own);
                        GSequenceIter *at;

                        if (order > 0)
                                continue;
                        if (order < 0) {
                                n += g_sequence_get_length(shape->jobs);
                                continue;
                        }
                        at = g_sequence_search(shape->jobs, (gpointer)question->job, job_compare_age, NULL);
                        n += g_sequence_iter_get_position(at) - (shape == own);
                }
        }
        return n;
}

static void explain_position(Question *question)
{
        const QueueNode *queue = question->queue;

        if (question->job->place == PLACE_LISTED)
                state_behind(&question->answer, position_of(question), queue->id,
                             queue->backfill.head ? queue->backfill.head : queue->first.heads[0]);
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
        Question question = { .s = s, .job = job, .now = now };

        if (!job || job->state != SCHED_PENDING)
                return 0;
        question.gang = job_gang(job);
        question.queue = job_queue(job);
        question.cluster = cluster_find(s, question.gang->cluster);
        /* too many: the last one found is told, since it may be the main cause */
        question.answer = (Answer){ &question.gang->need_total, ret, 0, &ret[REASONS_MAX - 1] };
        explain_place(&question);
        if (!explain_hopeless(&question)) {
                explain_limits(&question);
                explain_nomination(&question);
                explain_reserved(&question);
                explain_capacity(&question);
                explain_position(&question);
        }
        put_first(&question.answer, job_cause(s, job));
        return question.answer.n;
}
