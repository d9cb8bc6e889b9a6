/* Reservations: when the head of a queue will fit, and what has to stay free for it, so that jobs behind it
 * may start where they cannot delay it. doc/scheduling.md 4.
 *
 * The time is the earliest at which the gang fits when every running job ends at its time limit. For a gang
 * of one kind of task it is found from each node by itself: when does the node hold one, two... of them; the
 * n-th smallest of these times is it. For others the ends are searched for the first after which the whole
 * gang can be placed; a pass affords a few of these searches, then a head is treated as one whose time is not
 * known. */
#include "sched/backfill.h"

#include "sched/pack.h"

enum { SEARCHES_MAX = 8 };

void reservation_free(Reservation *reservation)
{
        if (reservation && reservation->holds)
                g_array_unref(reservation->holds);
        g_free(reservation);
}

/* ---- ends ---- */

static gint64 task_end(const NodeTask *at)
{
        const Run *run = at->job->run;

        if (run->going && run->going[at->task].node >= 0)
                return 0;
        return job_end(at->job);
}

static gint64 first_end(Node *node)
{
        if (node->first_end_version == node->version)
                return node->first_end;
        node->first_end = G_MAXINT64;
        node->first_end_version = node->version;
        for (guint i = 0; i < node->tasks->len; i++)
                node->first_end = MIN(node->first_end, task_end(&g_array_index(node->tasks, NodeTask, i)));
        return node->first_end;
}

static Resources task_each(const NodeTask *at)
{
        const Ask *ask = job_ask(at->job);

        return ask->roles[ask_role_of(ask, at->task)].each;
}

static Resources released_by(const Node *node, gint64 time)
{
        Resources sum = { 0 };

        for (guint i = 0; i < node->tasks->len; i++) {
                const NodeTask *at = &g_array_index(node->tasks, NodeTask, i);

                if (task_end(at) <= time) {
                        Resources each = task_each(at);

                        amounts_add(&sum, &each);
                }
        }
        return sum;
}

static Resources room_at(const Node *node, gint64 time)
{
        Resources room = released_by(node, time);

        amounts_add(&room, &node->free);
        amounts_subtract(&room, &node->planned);
        return room;
}

/* ---- gangs of one kind of task ---- */

typedef struct {
        gint64 time;
        Node *node;
        int n; /* tasks more than before */
} Opening;

static int compare_openings(gconstpointer a, gconstpointer b)
{
        const Opening *x = a, *y = b;

        if (x->time != y->time)
                return x->time < y->time ? -1 : 1;
        return (x->node->id > y->node->id) - (x->node->id < y->node->id);
}

static int compare_ends(gconstpointer a, gconstpointer b)
{
        gint64 x = task_end(a), y = task_end(b);

        return (x > y) - (x < y);
}

/* When the node holds how many more, before `bound`; what is free now is at time 0. */
static void add_openings(GArray *openings, Node *node, const Class *class, int most, gint64 bound)
{
        g_autoptr(GArray) tasks = NULL;
        Resources room = node->free;
        gint64 had, has;

        amounts_subtract(&room, &node->planned);
        had = room_slots(&room, class, most);
        if (had > 0) {
                Opening opening = { 0, node, (int)had };

                g_array_append_val(openings, opening);
        }
        if (had == most || first_end(node) >= bound || room_slots(&node->total, class, 1) == 0)
                return;
        tasks = g_array_copy(node->tasks);
        g_array_sort(tasks, compare_ends);
        for (guint i = 0; i < tasks->len && had < most; i++, had = has) {
                const NodeTask *at = &g_array_index(tasks, NodeTask, i);
                Opening opening = { task_end(at), node, 0 };
                Resources each = task_each(at);

                if (opening.time >= bound)
                        return;
                amounts_add(&room, &each);
                has = MAX(had, room_slots(&room, class, most));
                opening.n = (int)(has - had);
                if (opening.n > 0)
                        g_array_append_val(openings, opening);
        }
}

/* Sorts, and cuts what is beyond `need`. The time of the last one that is needed, or G_MAXINT64. */
static gint64 cut(GArray *openings, int need)
{
        int n = 0;

        g_array_sort(openings, compare_openings);
        for (guint i = 0; i < openings->len; i++) {
                Opening *opening = &g_array_index(openings, Opening, i);

                if (n + opening->n >= need) {
                        opening->n = need - n;
                        g_array_set_size(openings, i + 1);
                        return opening->time;
                }
                n += opening->n;
        }
        return G_MAXINT64;
}

static void add_hold(Reservation *r, Node *node, const Resources *each, int n)
{
        Hold hold = { .node = node };

        amounts_add_times(&hold.amount, each, n);
        for (guint i = 0; i < r->holds->len; i++) {
                Hold *other = &g_array_index(r->holds, Hold, i);

                if (other->node == node) {
                        amounts_add(&other->amount, &hold.amount);
                        return;
                }
        }
        g_array_append_val(r->holds, hold);
}

static void find_openings(Scheduler *s, Ask *ask, int role)
{
        GArray *openings = ask->openings;
        Class *class = ask->classes[role];
        guint limit = 4 * (guint)ask->need[role] + 64;
        gint64 bound = G_MAXINT64;

        g_array_set_size(openings, 0);
        class_sync(s, class);
        for (guint i = 0; i < s->nodes->len; i++) {
                if (class->eligible[i])
                        add_openings(openings, s->nodes->pdata[i], class, ask->need[role], bound);
                if (openings->len > limit) {
                        bound = cut(openings, ask->need[role]);
                        limit = openings->len + limit;
                }
        }
        ask->openings_time = cut(openings, ask->need[role]);
}

/* The openings that the node has now are not those that were found: they have to be found anew. */
static bool matters(const Ask *ask, int role, Node *node, GArray *now)
{
        /* the last one counts as far as it was needed, unless there were not enough */
        const Opening *last = NULL;
        guint next = 0;

        if (ask->openings_time != G_MAXINT64)
                last = &g_array_index(ask->openings, Opening, ask->openings->len - 1);
        g_array_set_size(now, 0);
        if (ask->classes[role]->eligible[node->id])
                add_openings(now, node, ask->classes[role], ask->need[role], G_MAXINT64);
        for (guint i = 0; i < ask->openings->len; i++) {
                const Opening *was = &g_array_index(ask->openings, Opening, i), *is;

                if (was->node != node)
                        continue;
                if (next == now->len)
                        return true;
                is = &g_array_index(now, Opening, next++);
                if (is->time != was->time || is->n < was->n || (is->n > was->n && was != last))
                        return true;
        }
        return next < now->len && (!last || compare_openings(&g_array_index(now, Opening, next), last) < 0);
}

static bool openings_hold(Scheduler *s, const Ask *ask, int role)
{
        g_autoptr(GArray) room = NULL;
        int before = -1;

        if (ask->openings_room != cluster_find(s, ask->cluster)->version ||
            ask->openings_cursor < s->changes_base ||
            s->changes->len - (ask->openings_cursor - s->changes_base) > s->nodes->len / 4 + 16)
                return false;
        room = g_array_new(FALSE, FALSE, sizeof(Opening));
        for (guint64 at = ask->openings_cursor - s->changes_base; at < s->changes->len; at++) {
                int id = g_array_index(s->changes, int, at);

                if (id != before && s->nodes->pdata[id] && matters(ask, role, s->nodes->pdata[id], room))
                        return false;
                before = id;
        }
        return true;
}

/* Kept from pass to pass as long as no node changes that has to do with it. */
static gint64 time_of_one_kind(Scheduler *s, Reservation *r, Ask *ask, int role)
{
        if (!ask->openings)
                ask->openings = g_array_new(FALSE, FALSE, sizeof(Opening));
        class_sync(s, ask->classes[role]);
        if (!openings_hold(s, ask, role)) {
                find_openings(s, ask, role);
                ask->openings_room = cluster_find(s, ask->cluster)->version;
        }
        ask->openings_cursor = s->changes_base + s->changes->len;
        if (ask->openings_time == G_MAXINT64)
                return G_MAXINT64;
        for (guint i = 0; i < ask->openings->len; i++) {
                const Opening *opening = &g_array_index(ask->openings, Opening, i);

                add_hold(r, opening->node, &ask->roles[role].each, opening->n);
        }
        return MAX(s->now, ask->openings_time);
}

/* ---- other gangs ---- */

static bool is_within(const Scheduler *s, const Node *node, const Domain *domain)
{
        return !domain || (node->domains[domain->level] >= 0 &&
                           s->domains->pdata[node->domains[domain->level]] == domain);
}

/* As gangs are placed: what is promised to a head has to come true. */
static Node *best_fit(Scheduler *s, const Class *class, const Resources *rooms, const Domain *within)
{
        Node *best = NULL;
        gint32 best_score = 0;

        for (guint i = 0; i < s->nodes->len; i++) {
                Node *node = s->nodes->pdata[i];
                gint32 score;

                if (!class->eligible[i] || room_slots(&rooms[i], class, 1) == 0 ||
                    !is_within(s, node, within))
                        continue;
                score = node_score(node, class, &rooms[i]);
                if (!best || score > best_score) {
                        best = node;
                        best_score = score;
                }
        }
        return best;
}

static bool place_at(Scheduler *s, Reservation *r, const Ask *ask, Resources *rooms, const Domain *within)
{
        g_array_set_size(r->holds, 0);
        for (int i = 0; i < ask->n_roles; i++) {
                int role = ask->order[i];

                for (int left = ask->need[role]; left > 0;) {
                        Node *node = best_fit(s, ask->classes[role], rooms, within);
                        gint64 n = node ? room_slots(&rooms[node->id], ask->classes[role], left) : 0;

                        if (!node)
                                return false;
                        amounts_add_times(&rooms[node->id], &ask->roles[role].each, -n);
                        add_hold(r, node, &ask->roles[role].each, (int)n);
                        left -= (int)n;
                }
        }
        return true;
}

typedef struct {
        Reservation *r;
        const Ask *ask;
} Holding;

static bool hold_some(Node *node, int role, int n, void *arg)
{
        Holding *holding = arg;

        add_hold(holding->r, node, &holding->ask->roles[role].each, n);
        return true;
}

static bool pack_at(Scheduler *s, Reservation *r, const Ask *ask, const Resources *rooms,
                    const Domain *within)
{
        g_autoptr(GArray) spots = g_array_new(FALSE, FALSE, sizeof(PackSpot));
        Holding holding = { r, ask };
        int a, b;

        g_array_set_size(r->holds, 0);
        if (!pack_roles(ask, &a, &b))
                return false;
        for (guint i = 0; i < s->nodes->len; i++)
                if (ask->classes[a]->eligible[i] && is_within(s, s->nodes->pdata[i], within))
                        pack_add(spots, ask, s->nodes->pdata[i], &rooms[i]);
        return pack_ask(ask, (PackSpot *)(void *)spots->data, (int)spots->len, hold_some, &holding);
}

static bool gang_fits(Scheduler *s, Reservation *r, const Ask *ask, const Resources *rooms,
                      const Domain *within)
{
        g_autofree Resources *left = g_memdup2(rooms, sizeof *rooms * s->nodes->len);

        return place_at(s, r, ask, left, within) || pack_at(s, r, ask, rooms, within);
}

static bool fits_at(Scheduler *s, Reservation *r, const Ask *ask, gint64 time)
{
        g_autofree Resources *rooms = g_new0(Resources, s->nodes->len);

        for (guint i = 0; i < s->nodes->len; i++)
                if (s->nodes->pdata[i])
                        rooms[i] = room_at(s->nodes->pdata[i], time);
        if (!ask->topology_required)
                return gang_fits(s, r, ask, rooms, NULL);
        for (guint i = 0; i < s->domains->len; i++) {
                const Domain *domain = s->domains->pdata[i];

                if (domain->level == ask->topology && gang_fits(s, r, ask, rooms, domain))
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

static gint64 time_by_search(Scheduler *s, Reservation *r, const Ask *ask)
{
        g_autoptr(GArray) ends = NULL;
        guint low = 0, high;

        if (s->searches++ >= SEARCHES_MAX)
                return G_MAXINT64;
        for (int role = 0; role < ask->n_roles; role++)
                if (ask->need[role] > 0)
                        class_sync(s, ask->classes[role]);
        ends = known_ends(s);
        high = ends->len - 1;
        if (!fits_at(s, r, ask, g_array_index(ends, gint64, high)))
                return G_MAXINT64;
        while (low < high) {
                guint middle = low + (high - low) / 2;

                if (fits_at(s, r, ask, g_array_index(ends, gint64, middle)))
                        high = middle;
                else
                        low = middle + 1;
        }
        (void)fits_at(s, r, ask, g_array_index(ends, gint64, high));
        return g_array_index(ends, gint64, high);
}

/* ---- queues ---- */

static bool is_under(const Lane *queue, const Lane *above)
{
        for (; queue; queue = queue->parent)
                if (queue == above)
                        return true;
        return false;
}

typedef struct {
        gint64 end;
        const Job *job;
} JobEnd;

static int compare_job_ends(gconstpointer a, gconstpointer b)
{
        const JobEnd *x = a, *y = b;

        return (x->end > y->end) - (x->end < y->end);
}

static Resources job_holds(const Job *job)
{
        const Ask *ask = job_ask(job);
        Resources sum = { 0 };

        for (int role = 0, task = 0; role < ask->n_roles; role++)
                for (int i = 0; i < ask->roles[role].replicas; i++, task++)
                        if (job->run->tasks[task].node >= 0)
                                amounts_add(&sum, &ask->roles[role].each);
        return sum;
}

static GArray *ends_under(const Scheduler *s, const Lane *above)
{
        GArray *ends = g_array_new(FALSE, FALSE, sizeof(JobEnd));

        for (guint i = 0; i < s->queues->len; i++) {
                const Lane *queue = s->queues->pdata[i];

                for (guint j = 0; queue && is_under(queue, above) && j < queue->running->len; j++) {
                        JobEnd end = { job_end(queue->running->pdata[j]), queue->running->pdata[j] };

                        g_array_append_val(ends, end);
                }
        }
        g_array_sort(ends, compare_job_ends);
        return ends;
}

static bool is_over(const Lane *queue, const Resources *alloc, const Resources *more, guint32 mask)
{
        FOR_KINDS(kind, mask & queue->max_mask)
        if (alloc->amount[kind] > queue->max.amount[kind] - more->amount[kind])
                return true;
        return false;
}

/* When `queue` itself has room for `need` below its max. */
static gint64 time_of_max(const Scheduler *s, const Lane *queue, const Resources *need, guint32 mask)
{
        g_autoptr(GArray) ends = NULL;
        Resources alloc = queue->alloc;

        if (!is_over(queue, &alloc, need, mask))
                return 0;
        ends = ends_under(s, queue);
        for (guint i = 0; i < ends->len; i++) {
                const JobEnd *end = &g_array_index(ends, JobEnd, i);
                Resources held = job_holds(end->job);

                amounts_subtract(&alloc, &held);
                if (!is_over(queue, &alloc, need, mask))
                        return end->end;
        }
        return G_MAXINT64;
}

static Resources alloc_at(const Scheduler *s, const Lane *queue, gint64 time)
{
        g_autoptr(GArray) ends = ends_under(s, queue);
        Resources alloc = queue->alloc;

        for (guint i = 0; i < ends->len && g_array_index(ends, JobEnd, i).end <= time; i++) {
                Resources held = job_holds(g_array_index(ends, JobEnd, i).job);

                amounts_subtract(&alloc, &held);
        }
        return alloc;
}

/* ---- the reservation ---- */

static int only_role(const Ask *ask)
{
        int only = -1;

        for (int role = 0; role < ask->n_roles; role++)
                if (ask->need[role] > 0) {
                        if (only >= 0)
                                return -1;
                        only = role;
                }
        return only;
}

static guint32 over_max_kinds(const Lane *queue, const Ask *ask)
{
        guint32 kinds = 0;

        for (; queue; queue = queue->parent)
                FOR_KINDS(kind, ask->mask & queue->max_mask)
        if (queue->alloc.amount[kind] + ask->need_total.amount[kind] > queue->max.amount[kind])
                kinds |= 1u << kind;
        return kinds;
}

/* What has to stay free now: what it needs beyond what is released until then. */
static void deduct_released(Reservation *r)
{
        for (guint i = 0; i < r->holds->len; i++) {
                Hold *hold = &g_array_index(r->holds, Hold, i);
                Resources released = released_by(hold->node, r->time);

                for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                        hold->amount.amount[kind] = MAX(0, hold->amount.amount[kind] - released.amount[kind]);
        }
}

static void work_out(Scheduler *s, Lane *queue, Reservation *r)
{
        Ask *ask = shape_ask(queue->head_shape);
        int role = only_role(ask);

        r->key = queue->head;
        r->queue = queue;
        r->need = ask->need_total;
        g_array_set_size(r->holds, 0);
        r->time = role >= 0 && !ask->topology_required ? time_of_one_kind(s, r, ask, role)
                                                       : time_by_search(s, r, ask);
        for (const Lane *above = queue; above && r->time != G_MAXINT64; above = above->parent)
                r->time = MAX(r->time, time_of_max(s, above, &ask->need_total, ask->mask));
        if (r->time == G_MAXINT64) {
                g_array_set_size(r->holds, 0);
                r->lacking = over_max_kinds(queue, ask);
                if (ask->closed)
                        r->lacking |= ask_lacking(s, ask);
        } else {
                deduct_released(r);
        }
        queue->head_start = r->time == G_MAXINT64 ? 0 : r->time;
}

static const Reservation *reservation_get(Scheduler *s, Lane *queue)
{
        if (!queue->reservation) {
                queue->reservation = g_new0(Reservation, 1);
                queue->reservation->holds = g_array_new(FALSE, FALSE, sizeof(Hold));
        }
        if (queue->reservation_pass != s->pass) {
                queue->reservation_pass = s->pass;
                work_out(s, queue, queue->reservation);
        }
        return queue->reservation;
}

guint32 reservation_denies(Scheduler *s, Lane *queue)
{
        const Reservation *r = reservation_get(s, queue);

        return r->time == G_MAXINT64 ? r->lacking : 0;
}

/* ---- respecting it ---- */

/* Where a max above both is short, there is room for both at the head's time. */
static bool maxima_let(const Scheduler *s, const Reservation *r, const Shape *shape)
{
        const Ask *ask = shape_ask(shape);
        Resources both = r->need;

        amounts_add(&both, &ask->need_total);
        for (const Lane *queue = lane_common(r->queue, shape_queue(shape)); queue; queue = queue->parent) {
                Resources alloc = queue->alloc;

                if (!is_over(queue, &alloc, &both, ask->mask))
                        continue;
                alloc = alloc_at(s, queue, r->time);
                if (is_over(queue, &alloc, &both, ask->mask))
                        return false;
        }
        return true;
}

static void hold_back(const Reservation *r, bool hold)
{
        for (guint i = 0; i < r->holds->len; i++) {
                const Hold *at = &g_array_index(r->holds, Hold, i);

                at->node->hold = hold ? &at->amount : NULL;
        }
}

/* What is planned leaves free what is held. */
static bool plan_spares(const Reservation *r)
{
        for (guint i = 0; i < r->holds->len; i++) {
                const Hold *at = &g_array_index(r->holds, Hold, i);

                for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                        if (at->node->free.amount[kind] < at->amount.amount[kind])
                                return false;
        }
        return true;
}

static bool touches(const Plan *plan, const Reservation *r)
{
        for (guint i = 0; i < r->holds->len; i++)
                for (guint j = 0; j < plan->placed->len; j++)
                        if (g_array_index(plan->placed, Placement, j).node ==
                            g_array_index(r->holds, Hold, i).node->id)
                                return true;
        return false;
}

static bool ends_before(const Scheduler *s, const Shape *shape, const Reservation *r)
{
        return shape->time_limit > 0 && r->time != G_MAXINT64 && s->now + shape->time_limit <= r->time;
}

/* What is planned does not delay the head, perhaps after it was planned anew. */
static bool respects(Pass *pass, Shape *shape, const Reservation *r)
{
        Scheduler *s = pass->s;
        Ask *ask = shape_ask(shape);
        Cause cause;
        bool fits;

        if (ends_before(s, shape, r))
                return true;
        if (r->time == G_MAXINT64)
                return (ask->mask & r->lacking) == 0;
        if (!maxima_let(s, r, shape))
                return false;
        if (!touches(&pass->plan, r) || plan_spares(r))
                return true;
        plan_undo(s, &pass->plan, ask);
        hold_back(r, true);
        fits = plan_gang(s, &pass->plan, ask, &cause);
        hold_back(r, false);
        return fits;
}

/* The queue's reservation as the room is without what is planned. */
static const Reservation *reservation_beside(Pass *pass, Lane *queue, Shape *shape)
{
        Cause cause;

        if (queue->reservation_pass == pass->s->pass)
                return queue->reservation;
        plan_undo(pass->s, &pass->plan, shape_ask(shape));
        (void)reservation_get(pass->s, queue);
        (void)plan_gang(pass->s, &pass->plan, shape_ask(shape), &cause); /* as before */
        return queue->reservation;
}

/* The cluster's first head: against queues that go beyond their min. */
static const Reservation *guard_of(Pass *pass, Shape *shape)
{
        Lane *queue = shape_queue(shape);
        const Ask *ask = shape_ask(shape);
        const Reservation *r;

        if (!pass->guard || pass->guard == queue ||
            lane_is_within_min(queue, lane_common(queue, pass->guard), &ask->need_total, ask->mask))
                return NULL;
        r = reservation_beside(pass, pass->guard, shape);
        return r->time == G_MAXINT64 ? NULL : r;
}

bool is_known_to_delay(const Scheduler *s, const Shape *shape)
{
        const Group *group = shape->group;

        return group->guarded_pass == s->pass &&
               (shape->time_limit == 0 ||
                (group->guarded_limit > 0 && shape->time_limit >= group->guarded_limit));
}

bool guards_let(Pass *pass, Shape *shape, DecisionRule rule)
{
        Scheduler *s = pass->s;
        Lane *queue = shape_queue(shape);
        const Reservation *both[2] = { rule == RULE_BACKFILL ? reservation_beside(pass, queue, shape) : NULL,
                                       guard_of(pass, shape) };
        bool lets = !is_known_to_delay(s, shape);

        if (mutant_is(s, MUTANT_BACKFILL_DELAYS_HEAD))
                return true;
        for (int i = 0; i < 2 && lets; i++)
                lets = !both[i] || respects(pass, shape, both[i]);
        /* planned anew for the second, it may be in the way of the first */
        if (lets && both[0] && both[1] && !ends_before(s, shape, both[0]) && touches(&pass->plan, both[0]))
                lets = both[0]->time == G_MAXINT64 || plan_spares(both[0]);
        if (lets)
                return true;
        plan_undo(s, &pass->plan, shape_ask(shape));
        shape->group->guarded_pass = s->pass;
        shape->group->guarded_limit = shape->time_limit;
        return false;
}

/* ---- the phase ---- */

static bool next_behind(Scheduler *s, Lane *queue, guint32 *ret_kinds)
{
        const Shape *shape = queue->head_shape && queue->backfill ? lane_behind(s, queue) : NULL;

        if (shape)
                *ret_kinds = shape_ask(shape)->mask;
        return shape != NULL;
}

void phase_backfill(Pass *pass, Cluster *cluster)
{
        Scheduler *s = pass->s;
        Lane *queue;

        active_fill(s, cluster, next_behind);
        while ((queue = active_best(cluster))) {
                Shape *shape = lane_behind(s, queue);

                if (shape)
                        (void)start_first(pass, shape, RULE_BACKFILL);
                active_moved(s, queue, next_behind);
        }
}
