/* Reservations: when the head of a queue will fit, and what has to stay free for it. doc/guide/scheduling.md 4.
 *
 * The time is the earliest at which the gang fits when every running job ends at its time limit. For a gang of one kind
 * of task future.c tells it. For others the ends are searched for the first after which the whole gang can be placed; a
 * pass affords a few of these searches, then a head is treated as one whose time is not known. */
#include "sched/backfill.h"

#include "sched/pack.h"

enum { SEARCHES_MAX = 8 };

void reservation_free(Reservation *reservation)
{
        if (reservation && reservation->holds)
                g_array_unref(reservation->holds);
        g_free(reservation);
}

/* ---- what is held ---- */

void holds_add(GArray *holds, Node *node, const Resources *amount)
{
        Hold hold = { .node = node, .amount = *amount };

        for (guint i = 0; i < holds->len; i++) {
                Hold *other = &g_array_index(holds, Hold, i);

                if (other->node == node) {
                        amounts_add(&other->amount, amount);
                        return;
                }
        }
        g_array_append_val(holds, hold);
}

static void add_hold(Reservation *r, Node *node, const Resources *each, int n)
{
        Resources amount = { 0 };

        amounts_add_times(&amount, each, n);
        holds_add(r->holds, node, &amount);
}

static void hold_chosen(Reservation *r, const Gang *gang, int role)
{
        for (guint i = 0; i < gang->future.chosen->len; i++) {
                const FutureSlot *slot = &g_array_index(gang->future.chosen, FutureSlot, i);

                add_hold(r, slot->node, &gang->roles[role].each, slot->n);
        }
}

/* ---- other gangs ---- */

static bool is_within(const Scheduler *s, const Node *node, const Domain *domain)
{
        return !domain || (node->domains[domain->level] >= 0 &&
                           s->domains->pdata[node->domains[domain->level]] == domain);
}

/* As gangs are placed: what is promised to a head has to come true. */
static Node *best_fit(Scheduler *s, Class *class, const Resources *available, const Domain *within)
{
        const guint8 *eligible = class_eligible(s, class);
        Node *best = NULL;
        gint32 best_score = 0;

        for (guint i = 0; i < s->nodes->len; i++) {
                Node *node = s->nodes->pdata[i];
                gint32 score;

                if (!eligible[i] || free_slots(&available[i], class, 1) == 0 || !is_within(s, node, within))
                        continue;
                score = node_score(node, class, &available[i]);
                if (!best || score > best_score) {
                        best = node;
                        best_score = score;
                }
        }
        return best;
}

static bool place_at(Scheduler *s, Reservation *r, const Gang *gang, Resources *available,
                     const Domain *within)
{
        g_array_set_size(r->holds, 0);
        for (int i = 0; i < gang->n_roles; i++) {
                int role = gang->order[i];

                for (int left = gang->need[role]; left > 0;) {
                        Node *node = best_fit(s, gang->classes[role], available, within);
                        gint64 n = node ? free_slots(&available[node->id], gang->classes[role], left) : 0;

                        if (!node)
                                return false;
                        amounts_add_times(&available[node->id], &gang->roles[role].each, -n);
                        add_hold(r, node, &gang->roles[role].each, (int)n);
                        left -= (int)n;
                }
        }
        return true;
}

typedef struct {
        Reservation *r;
        const Gang *gang;
} Holding;

static bool hold_some(Node *node, int role, int n, void *arg)
{
        Holding *holding = arg;

        add_hold(holding->r, node, &holding->gang->roles[role].each, n);
        return true;
}

static bool pack_at(Scheduler *s, Reservation *r, const Gang *gang, const Resources *available,
                    const Domain *within)
{
        g_autoptr(GArray) spots = g_array_new(FALSE, FALSE, sizeof(PackSpot));
        Holding holding = { r, gang };
        int a, b;

        g_array_set_size(r->holds, 0);
        if (!pack_roles(gang, &a, &b))
                return false;
        for (guint i = 0; i < s->nodes->len; i++)
                if (gang->classes[a]->index.eligible[i] && is_within(s, s->nodes->pdata[i], within))
                        pack_add(spots, gang, s->nodes->pdata[i], &available[i]);
        return pack_gang(gang, (PackSpot *)(void *)spots->data, (int)spots->len, hold_some, &holding);
}

static bool gang_fits(Scheduler *s, Reservation *r, const Gang *gang, const Resources *available,
                      const Domain *within)
{
        g_autofree Resources *left = g_memdup2(available, sizeof *available * s->nodes->len);

        return place_at(s, r, gang, left, within) || pack_at(s, r, gang, available, within);
}

static bool fits_at(Scheduler *s, Reservation *r, const Gang *gang, gint64 time)
{
        g_autofree Resources *available = g_new0(Resources, s->nodes->len);

        for (guint i = 0; i < s->nodes->len; i++)
                if (s->nodes->pdata[i])
                        available[i] = node_free_at(s->nodes->pdata[i], time);
        if (!gang->topology_required)
                return gang_fits(s, r, gang, available, NULL);
        for (guint i = 0; i < s->domains->len; i++) {
                const Domain *domain = s->domains->pdata[i];

                if (domain->level == gang->topology && gang_fits(s, r, gang, available, domain))
                        return true;
        }
        return false;
}

static int compare_times(gconstpointer a, gconstpointer b)
{
        gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

        return (x > y) - (x < y);
}

/* All ends that are known, ascending. */
static GArray *known_ends(const Scheduler *s)
{
        GArray *ends = g_array_new(FALSE, FALSE, sizeof(gint64));

        g_array_append_val(ends, s->now);
        for (guint i = 0; i < s->nodes->len; i++) {
                const Node *node = s->nodes->pdata[i];

                for (guint j = 0; node && j < node->tasks->len; j++) {
                        gint64 end = task_end(&g_array_index(node->tasks, NodeTask, j));

                        end = MAX(end, s->now);
                        if (end != G_MAXINT64)
                                g_array_append_val(ends, end);
                }
        }
        g_array_sort(ends, compare_times);
        return ends;
}

static gint64 time_by_search(Scheduler *s, Reservation *r, const Gang *gang)
{
        g_autoptr(GArray) ends = NULL;
        guint low = 0, high;

        if (s->searches++ >= SEARCHES_MAX)
                return G_MAXINT64;
        for (int role = 0; role < gang->n_roles; role++)
                if (gang->need[role] > 0)
                        class_sync(s, gang->classes[role]);
        ends = known_ends(s);
        high = ends->len - 1;
        if (!fits_at(s, r, gang, g_array_index(ends, gint64, high)))
                return G_MAXINT64;
        while (low < high) {
                guint middle = low + (high - low) / 2;

                if (fits_at(s, r, gang, g_array_index(ends, gint64, middle)))
                        high = middle;
                else
                        low = middle + 1;
        }
        (void)fits_at(s, r, gang, g_array_index(ends, gint64, high));
        return high == 0 ? 0 : g_array_index(ends, gint64, high);
}

/* ---- queues ---- */

static bool is_under(const QueueNode *queue, const QueueNode *above)
{
        for (; queue; queue = queue->parent)
                if (queue == above)
                        return true;
        return false;
}

static int compare_job_ends(gconstpointer a, gconstpointer b)
{
        const JobEnd *x = a, *y = b;

        return (x->end > y->end) - (x->end < y->end);
}

static Resources job_holds(const Job *job)
{
        const Gang *gang = job_gang(job);
        Resources sum = { 0 };

        for (int role = 0, task = 0; role < gang->n_roles; role++)
                for (int i = 0; i < gang->roles[role].replicas; i++, task++)
                        if (job->run->tasks[task].node >= 0)
                                amounts_add(&sum, &gang->roles[role].each);
        return sum;
}

/* Of the queue's own jobs, ascending. Where a max may ask for them, starts and ends keep them up to date. */
static GArray *own_ends(QueueNode *queue)
{
        GArray *ends = queue->backfill.ends;

        if (memo_fresh(&queue->backfill.ends_memo, MEMO_UNTIL_DROPPED))
                return ends;
        memo_keep(&queue->backfill.ends_memo, MEMO_UNTIL_DROPPED);
        g_array_set_size(ends, 0);
        for (guint i = 0; i < queue->running->len; i++) {
                JobEnd end = { job_end(queue->running->pdata[i]), queue->running->pdata[i] };

                g_array_append_val(ends, end);
        }
        g_array_sort(ends, compare_job_ends);
        return ends;
}

/* A new reference. */
static GArray *ends_under(const Scheduler *s, QueueNode *above)
{
        GArray *ends;

        if (above->n_children == 0)
                return g_array_ref(own_ends(above));
        ends = g_array_new(FALSE, FALSE, sizeof(JobEnd));
        for (guint i = 0; i < s->queues->len; i++) {
                QueueNode *queue = s->queues->pdata[i];
                const GArray *own = queue && is_under(queue, above) ? own_ends(queue) : NULL;

                if (own)
                        g_array_append_vals(ends, own->data, own->len);
        }
        g_array_sort(ends, compare_job_ends);
        return ends;
}

static bool is_over(const QueueNode *queue, const Resources *alloc, const Resources *more, guint32 mask)
{
        FOR_KINDS(kind, mask & queue->max_mask)
                if (alloc->amount[kind] > queue->max.amount[kind] - more->amount[kind])
                        return true;
        return false;
}

static void subtract_held(Resources *alloc, const JobEnd *end)
{
        Resources held = job_holds(end->job);

        amounts_subtract(alloc, &held);
}

/* What the queue will use at `time`. alloc: when the first `at` of those who end have ended. */
static void note_alloc(QueueNode *queue, const GArray *ends, guint at, Resources alloc, gint64 time)
{
        for (; at < ends->len && g_array_index(ends, JobEnd, at).end <= time; at++)
                subtract_held(&alloc, &g_array_index(ends, JobEnd, at));
        queue->backfill.then_alloc = alloc;
        queue->backfill.then = time;
        memo_keep(&queue->backfill.then_memo, queue->charges);
}

/* When `queue` itself can take `need` below its max. */
static gint64 time_of_max(const Scheduler *s, QueueNode *queue, const Resources *need, guint32 mask)
{
        g_autoptr(GArray) ends = NULL;
        Resources alloc = queue->alloc;

        if (!is_over(queue, &alloc, need, mask))
                return 0;
        ends = ends_under(s, queue);
        for (guint i = 0; i < ends->len; i++) {
                const JobEnd *end = &g_array_index(ends, JobEnd, i);

                subtract_held(&alloc, end);
                if (is_over(queue, &alloc, need, mask))
                        continue;
                note_alloc(queue, ends, i + 1, alloc, end->end); /* it will be asked for */
                return end->end;
        }
        return G_MAXINT64;
}

/* What it will use then. Many who wait ask for the time of the same head. */
static Resources alloc_at(const Scheduler *s, QueueNode *queue, gint64 time)
{
        if (queue->backfill.then != time || !memo_fresh(&queue->backfill.then_memo, queue->charges)) {
                g_autoptr(GArray) ends = ends_under(s, queue);

                note_alloc(queue, ends, 0, queue->alloc, time);
        }
        return queue->backfill.then_alloc;
}

/* ---- the reservation ---- */

static guint32 over_max_kinds(const QueueNode *queue, const Gang *gang)
{
        guint32 kinds = 0;

        for (; queue; queue = queue->parent)
                FOR_KINDS(kind, gang->mask & queue->max_mask)
                        if (queue->alloc.amount[kind] + gang->need_total.amount[kind] >
                            queue->max.amount[kind])
                                kinds |= 1u << kind;
        return kinds;
}

/* What has to stay free now: what it needs beyond what is released until then. */
static void deduct_released(Reservation *r)
{
        for (guint i = 0; i < r->holds->len; i++) {
                Hold *hold = &g_array_index(r->holds, Hold, i);
                Resources released = node_released_by(hold->node, r->time);

                for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                        hold->amount.amount[kind] = MAX(0, hold->amount.amount[kind] - released.amount[kind]);
        }
}

/* A time that has come already is as good as now. */
static void find_time(Scheduler *s, QueueNode *queue, Reservation *r)
{
        Gang *gang = shape_gang(queue->backfill.head_shape);
        int role = gang_only_role(gang);

        if (role >= 0 && !gang->topology_required) {
                r->time = gang_future_time(s, gang, role);
                if (r->time != G_MAXINT64)
                        hold_chosen(r, gang, role);
        } else {
                r->time = time_by_search(s, r, gang);
        }
        r->by_nodes = r->time;
        for (QueueNode *above = queue; above && r->time != G_MAXINT64; above = above->parent)
                r->time = MAX(r->time, time_of_max(s, above, &gang->need_total, gang->mask));
        if (r->time != G_MAXINT64) {
                deduct_released(r);
                return;
        }
        g_array_set_size(r->holds, 0);
        r->lacking = over_max_kinds(queue, gang);
        if (r->by_nodes > 0)
                r->lacking |= gang_lacking(s, gang);
}

static bool same_holds(const GArray *a, const GArray *b)
{
        return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len * sizeof(Hold)) == 0);
}

/* It keeps others from what it kept them from before. */
static bool is_the_same(const Reservation *a, const Reservation *b)
{
        return a->key == b->key && a->time == b->time && a->lacking == b->lacking &&
               memcmp(&a->need, &b->need, sizeof a->need) == 0 && same_holds(a->holds, b->holds);
}

bool reservation_is_simple(const QueueNode *queue)
{
        return gang_is_simple(shape_gang(queue->backfill.head_shape));
}

/* Nothing that it depends on has changed: the head's future slots, and where a maximum is in play, what its
 * queues use. Of an unknown time what is lacking depends on all nodes, unless that is a maximum. */
static bool still_holds(Scheduler *s, QueueNode *queue, const Reservation *r)
{
        Gang *gang = shape_gang(queue->backfill.head_shape);

        return r->key == queue->backfill.head && r->gang == gang && reservation_is_simple(queue) &&
               r->config == s->config_version && (r->time != G_MAXINT64 || r->by_nodes == 0) &&
               (r->charges == queue_charges(queue) || (r->time != G_MAXINT64 && !queue_has_max(queue))) &&
               gang_future_time(s, gang, gang_only_role(gang)) != G_MAXINT64 &&
               r->slots_version == gang->future.version;
}

static void work_out(Scheduler *s, QueueNode *queue, Reservation *r)
{
        Gang *gang = shape_gang(queue->backfill.head_shape);
        Reservation new = { .key = queue->backfill.head,
                            .gang = gang,
                            .queue = queue,
                            .need = gang->need_total,
                            .config = s->config_version,
                            .charges = queue_charges(queue) };

        if (still_holds(s, queue, r))
                return;
        new.holds = g_array_new(FALSE, FALSE, sizeof(Hold));
        find_time(s, queue, &new);
        new.slots_version = gang->future.version;
        new.version = is_the_same(r, &new) ? r->version : ++s->reservations;
        g_array_unref(r->holds);
        *r = new;
}

const Reservation *reservation_get(Scheduler *s, QueueNode *queue)
{
        if (!queue->backfill.reservation) {
                queue->backfill.reservation = g_new0(Reservation, 1);
                queue->backfill.reservation->holds = g_array_new(FALSE, FALSE, sizeof(Hold));
        }
        if (!memo_fresh(&queue->backfill.reservation_memo, s->pass)) {
                memo_keep(&queue->backfill.reservation_memo, s->pass);
                work_out(s, queue, queue->backfill.reservation);
                queue->backfill.head_start = queue->backfill.reservation->time == G_MAXINT64
                                                     ? 0
                                                     : MAX(s->now, queue->backfill.reservation->time);
        }
        return queue->backfill.reservation;
}

bool reservation_is_timed(Scheduler *s, const QueueNode *queue)
{
        const Gang *gang = shape_gang(queue->backfill.head_shape);
        gint64 slots = 0;
        Class *class;
        int role;

        if (!reservation_is_simple(queue) || queue_has_max(queue))
                return false;
        role = gang_only_role(gang);
        class = gang->classes[role];
        class_sync(s, class);
        for (guint i = 0; i < s->nodes->len && slots < gang->need[role]; i++) {
                Node *node = s->nodes->pdata[i];
                Resources available;

                if (!class->index.eligible[i] || free_slots(&node->total, class, 1) == 0 ||
                    !node_all_end(node))
                        continue;
                available = node_free_at(node, G_MAXINT64);
                slots += free_slots(&available, class, gang->need[role]);
        }
        return slots >= gang->need[role];
}

guint32 reservation_denies(Scheduler *s, QueueNode *queue)
{
        const Reservation *r = reservation_get(s, queue);

        return r->time == G_MAXINT64 ? r->lacking : 0;
}

/* Where a max above both is short, both fit at the head's time. */
bool reservation_leaves_max(const Scheduler *s, const Reservation *r, const Shape *shape)
{
        const Gang *gang = shape_gang(shape);
        Resources both = r->need;

        amounts_add(&both, &gang->need_total);
        for (QueueNode *queue = queue_common(r->queue, shape_queue(shape)); queue; queue = queue->parent) {
                Resources alloc = queue->alloc;

                if (!is_over(queue, &alloc, &both, gang->mask))
                        continue;
                alloc = alloc_at(s, queue, r->time);
                if (is_over(queue, &alloc, &both, gang->mask))
                        return false;
        }
        return true;
}
