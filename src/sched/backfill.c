/* Reservations: when the head of a queue will fit, and what has to stay free for it, so that jobs behind it
 * may start where they cannot delay it. doc/guide/scheduling.md 4.
 *
 * The time is the earliest at which the gang fits when every running job ends at its time limit. For a gang
 * of one kind of task it is found from each node by itself: when does the node hold one, two... of them; the
 * n-th smallest of these times is it. For others the ends are searched for the first after which the whole
 * gang can be placed; a pass affords a few of these searches, then a head is treated as one whose time is not
 * known. */
#include "sched/backfill.h"

#include "sched/pack.h"

enum {
        SEARCHES_MAX = 8,
        INSERTED_MAX = 16, /* ends that are inserted one by one; of more the whole list is sorted */
};

void reservation_free(Reservation *reservation)
{
        if (reservation && reservation->holds)
                g_array_unref(reservation->holds);
        g_free(reservation);
}

/* ---- ends ---- */

static int compare_ends(gconstpointer a, gconstpointer b)
{
        const TaskEnd *x = a, *y = b;

        return (x->time > y->time) - (x->time < y->time);
}

/* Of all tasks of the node, ascending. */
static const GArray *ends_of(Node *node)
{
        if (memo_fresh(&node->ends_memo, MEMO_UNTIL_DROPPED))
                return node->ends;
        memo_keep(&node->ends_memo, MEMO_UNTIL_DROPPED);
        g_array_set_size(node->ends, 0);
        for (guint i = 0; i < node->tasks->len; i++) {
                const NodeTask *at = &g_array_index(node->tasks, NodeTask, i);
                const Gang *gang = job_gang(at->job);
                TaskEnd end = { task_end(at), &gang->roles[gang_role_of(gang, at->task)].each };

                g_array_append_val(node->ends, end);
        }
        g_array_sort(node->ends, compare_ends);
        return node->ends;
}

static gint64 first_end(Node *node)
{
        const GArray *ends = ends_of(node);

        return ends->len > 0 ? g_array_index(ends, TaskEnd, 0).time : G_MAXINT64;
}

/* It is known of all tasks when. */
static bool all_end(Node *node)
{
        const GArray *ends = ends_of(node);

        return ends->len == 0 || g_array_index(ends, TaskEnd, ends->len - 1).time != G_MAXINT64;
}

static Resources released_by(Node *node, gint64 time)
{
        const GArray *ends = ends_of(node);
        Resources sum = { 0 };

        for (guint i = 0; i < ends->len && g_array_index(ends, TaskEnd, i).time <= time; i++)
                amounts_add(&sum, g_array_index(ends, TaskEnd, i).each);
        return sum;
}

static Resources room_at(Node *node, gint64 time)
{
        Resources room = released_by(node, time);

        amounts_add(&room, &node->free);
        amounts_subtract(&room, &node->planned);
        return room;
}

/* ---- gangs of one kind of task ---- */

static int compare_slots(gconstpointer a, gconstpointer b)
{
        const FutureSlot *x = a, *y = b;

        if (x->time != y->time)
                return x->time < y->time ? -1 : 1;
        return (x->node->id > y->node->id) - (x->node->id < y->node->id);
}

/* When the node holds how many more, before `bound`; what is free now is at time 0. */
static void add_slots(GArray *slots, Node *node, const Class *class, int most, gint64 bound)
{
        const GArray *ends;
        Resources room = node->free;
        gint64 had, has;

        amounts_subtract(&room, &node->planned);
        had = room_slots(&room, class, most);
        if (had > 0) {
                FutureSlot slot = { 0, node, (int)had };

                g_array_append_val(slots, slot);
        }
        if (had == most || first_end(node) >= bound || room_slots(&node->total, class, 1) == 0)
                return;
        ends = ends_of(node);
        for (guint i = 0; i < ends->len && had < most; i++, had = has) {
                const TaskEnd *end = &g_array_index(ends, TaskEnd, i);
                FutureSlot slot = { end->time, node, 0 };

                if (slot.time >= bound)
                        return;
                amounts_add(&room, end->each);
                has = MAX(had, room_slots(&room, class, most));
                slot.n = (int)(has - had);
                if (slot.n > 0)
                        g_array_append_val(slots, slot);
        }
}

/* Sorts, and drops what comes after the first `most` tasks. True: something did. */
static bool cut(GArray *slots, int most)
{
        int n = 0;

        g_array_sort(slots, compare_slots);
        for (guint i = 0; i < slots->len; i++) {
                n += g_array_index(slots, FutureSlot, i).n;
                if (n >= most && i + 1 < slots->len) {
                        g_array_set_size(slots, i + 1);
                        return true;
                }
        }
        return false;
}

static void hold_more(GArray *holds, Node *node, const Resources *amount)
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
        hold_more(r->holds, node, &amount);
}

/* The first future slots of all nodes, more than are needed: complete up to the last of them, or altogether. */
static void find_slots(Scheduler *s, Gang *gang, int role)
{
        GArray *slots = gang->future.slots;
        Class *class = gang->classes[role];
        int most = 4 * gang->need[role] + 64;
        gint64 bound = G_MAXINT64;

        gang->future.cut = false;
        g_array_set_size(slots, 0);
        for (guint i = 0; i < s->nodes->len && bound > 0; i++) {
                if (class->index.eligible[i])
                        add_slots(slots, s->nodes->pdata[i], class, gang->need[role], bound);
                if ((int)slots->len < 2 * most || !cut(slots, most))
                        continue;
                gang->future.cut = true;
                bound = g_array_index(slots, FutureSlot, slots->len - 1).time; /* later nodes come later */
        }
        gang->future.cut = cut(slots, most) || gang->future.cut;
        if (slots->len > 0)
                gang->future.last = g_array_index(slots, FutureSlot, slots->len - 1);
}

static bool same_slots(const GArray *a, const GArray *b)
{
        if (a->len != b->len)
                return false;
        for (guint i = 0; i < a->len; i++) {
                const FutureSlot *x = &g_array_index(a, FutureSlot, i), *y = &g_array_index(b, FutureSlot, i);

                if (x->time != y->time || x->n != y->n || x->node != y->node)
                        return false;
        }
        return true;
}

/* All that is known are places that are free now, on nodes that come before it. */
static bool is_beyond(const Gang *gang, const Node *node)
{
        return gang->future.cut && gang->future.last.time == 0 && node->id > gang->future.last.node->id;
}

static bool is_chosen(const Gang *gang, const Node *node)
{
        for (guint i = 0; i < gang->future.chosen->len; i++)
                if (g_array_index(gang->future.chosen, FutureSlot, i).node == node)
                        return true;
        return false;
}

/* Brings the future slots of one node up to date. `was`, `is`: scratch arrays. What is held on a chosen node
 * also depends on what else ends there. */
static void refresh_slots(Gang *gang, int role, Node *node, GArray *was, GArray *is)
{
        GArray *slots = gang->future.slots;
        gint64 bound = gang->future.cut ? gang->future.last.time + 1 : G_MAXINT64;

        gang->future.version += is_chosen(gang, node);
        g_array_set_size(was, 0);
        g_array_set_size(is, 0);
        for (guint i = 0; i < slots->len; i++)
                if (g_array_index(slots, FutureSlot, i).node == node)
                        g_array_append_vals(was, &g_array_index(slots, FutureSlot, i), 1);
        if (gang->classes[role]->index.eligible[node->id])
                add_slots(is, node, gang->classes[role], gang->need[role], bound);
        while (gang->future.cut && is->len > 0 &&
               compare_slots(&g_array_index(is, FutureSlot, is->len - 1), &gang->future.last) > 0)
                g_array_set_size(is, is->len - 1);
        g_array_sort(was, compare_slots);
        if (same_slots(was, is))
                return;
        for (guint i = slots->len; i > 0; i--)
                if (g_array_index(slots, FutureSlot, i - 1).node == node)
                        (void)g_array_remove_index_fast(slots, i - 1);
        g_array_append_vals(slots, is->data, is->len);
        g_array_sort(slots, compare_slots);
}

/* False: too much has changed. *ret_touched: something of what is known. What was planned and undone changes
 * few nodes many times. */
static bool follow_slots(Scheduler *s, Gang *gang, int role, bool *ret_touched)
{
        g_autoptr(GArray) was = NULL, is = NULL;
        guint left = s->nodes->len / 4 + 16;
        gint64 stamp = ++s->uses;

        if (!memo_fresh(&gang->future.memo, cluster_find(s, gang->cluster)->version) ||
            gang->future.cursor < s->changes_base)
                return false;
        for (guint64 at = gang->future.cursor - s->changes_base; at < s->changes->len; at++) {
                Node *node = s->nodes->pdata[g_array_index(s->changes, int, at)];

                if (!node || node->stamp == stamp || is_beyond(gang, node))
                        continue;
                if (left-- == 0)
                        return false;
                node->stamp = stamp;
                if (!was) {
                        was = g_array_new(FALSE, FALSE, sizeof(FutureSlot));
                        is = g_array_new(FALSE, FALSE, sizeof(FutureSlot));
                }
                refresh_slots(gang, role, node, was, is);
        }
        *ret_touched = was != NULL;
        return true;
}

static int count_slots(const Gang *gang)
{
        int n = 0;

        for (guint i = 0; i < gang->future.slots->len; i++)
                n += g_array_index(gang->future.slots, FutureSlot, i).n;
        return n;
}

/* Those that the gang would take, first come first; short of it, all there are. */
static void choose(Gang *gang, int need)
{
        GArray *chosen = gang->future.chosen;

        for (guint i = 0; need > 0 && i < gang->future.slots->len; i++) {
                FutureSlot slot = g_array_index(gang->future.slots, FutureSlot, i);

                slot.n = MIN(slot.n, need);
                need -= slot.n;
                g_array_append_val(chosen, slot);
        }
        gang->future.time = need > 0 ? G_MAXINT64 : g_array_index(chosen, FutureSlot, chosen->len - 1).time;
}

/* The future slots are kept from pass to pass and follow the log of changes of nodes. */
static void sync_slots(Scheduler *s, Gang *gang, int role)
{
        bool touched = true;
        GArray *was;

        if (!gang->future.slots) {
                gang->future.slots = g_array_new(FALSE, FALSE, sizeof(FutureSlot));
                gang->future.chosen = g_array_new(FALSE, FALSE, sizeof(FutureSlot));
        }
        class_sync(s, gang->classes[role]);
        if (!follow_slots(s, gang, role, &touched) ||
            (gang->future.cut && count_slots(gang) < gang->need[role])) {
                find_slots(s, gang, role);
                memo_keep(&gang->future.memo, cluster_find(s, gang->cluster)->version);
                gang->future.version++;
                touched = true;
        }
        gang->future.cursor = s->changes_base + s->changes->len;
        if (!touched)
                return;
        was = gang->future.chosen;
        gang->future.chosen = g_array_new(FALSE, FALSE, sizeof(FutureSlot));
        choose(gang, gang->need[role]);
        gang->future.version += !same_slots(was, gang->future.chosen);
        g_array_unref(was);
}

/* Nothing has changed since the last time. */
static bool is_synced(const Scheduler *s, const Gang *gang)
{
        return gang->future.slots &&
               memo_fresh(&gang->future.memo, cluster_find(s, gang->cluster)->version) &&
               gang->future.cursor == s->changes_base + s->changes->len;
}

static gint64 time_of_one_kind(Scheduler *s, Gang *gang, int role)
{
        if (!is_synced(s, gang))
                sync_slots(s, gang, role);
        return gang->future.time;
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
static Node *best_fit(Scheduler *s, Class *class, const Resources *rooms, const Domain *within)
{
        const guint8 *eligible = class_eligible(s, class);
        Node *best = NULL;
        gint32 best_score = 0;

        for (guint i = 0; i < s->nodes->len; i++) {
                Node *node = s->nodes->pdata[i];
                gint32 score;

                if (!eligible[i] || room_slots(&rooms[i], class, 1) == 0 || !is_within(s, node, within))
                        continue;
                score = node_score(node, class, &rooms[i]);
                if (!best || score > best_score) {
                        best = node;
                        best_score = score;
                }
        }
        return best;
}

static bool place_at(Scheduler *s, Reservation *r, const Gang *gang, Resources *rooms, const Domain *within)
{
        g_array_set_size(r->holds, 0);
        for (int i = 0; i < gang->n_roles; i++) {
                int role = gang->order[i];

                for (int left = gang->need[role]; left > 0;) {
                        Node *node = best_fit(s, gang->classes[role], rooms, within);
                        gint64 n = node ? room_slots(&rooms[node->id], gang->classes[role], left) : 0;

                        if (!node)
                                return false;
                        amounts_add_times(&rooms[node->id], &gang->roles[role].each, -n);
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

static bool pack_at(Scheduler *s, Reservation *r, const Gang *gang, const Resources *rooms,
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
                        pack_add(spots, gang, s->nodes->pdata[i], &rooms[i]);
        return pack_gang(gang, (PackSpot *)(void *)spots->data, (int)spots->len, hold_some, &holding);
}

static bool gang_fits(Scheduler *s, Reservation *r, const Gang *gang, const Resources *rooms,
                      const Domain *within)
{
        g_autofree Resources *left = g_memdup2(rooms, sizeof *rooms * s->nodes->len);

        return place_at(s, r, gang, left, within) || pack_at(s, r, gang, rooms, within);
}

static bool fits_at(Scheduler *s, Reservation *r, const Gang *gang, gint64 time)
{
        g_autofree Resources *rooms = g_new0(Resources, s->nodes->len);

        for (guint i = 0; i < s->nodes->len; i++)
                if (s->nodes->pdata[i])
                        rooms[i] = room_at(s->nodes->pdata[i], time);
        if (!gang->topology_required)
                return gang_fits(s, r, gang, rooms, NULL);
        for (guint i = 0; i < s->domains->len; i++) {
                const Domain *domain = s->domains->pdata[i];

                if (domain->level == gang->topology && gang_fits(s, r, gang, rooms, domain))
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

/* Puts those from `sorted` on in their places, behind equal ones. Often there is one. */
static void sort_ends(GArray *ends, guint sorted)
{
        JobEnd *all = (JobEnd *)(void *)ends->data;

        if (ends->len - sorted > INSERTED_MAX) {
                g_array_sort(ends, compare_job_ends);
                return;
        }
        for (guint i = sorted; i < ends->len; i++) {
                JobEnd end = all[i];
                guint low = 0, high = i;

                while (low < high) {
                        guint middle = low + (high - low) / 2;

                        if (all[middle].end > end.end)
                                high = middle;
                        else
                                low = middle + 1;
                }
                memmove(&all[low + 1], &all[low], sizeof *all * (i - low));
                all[low] = end;
        }
}

/* Of the queue's own jobs, ascending. Starts add to it and ends take from it; other changes drop it. */
static GArray *own_ends(QueueNode *queue)
{
        QueueBackfill *of = &queue->backfill;

        if (!memo_fresh(&of->ends_memo, MEMO_UNTIL_DROPPED)) {
                memo_keep(&of->ends_memo, MEMO_UNTIL_DROPPED);
                g_array_set_size(of->ends, 0);
                of->ends_sorted = 0;
                for (guint i = 0; i < queue->running->len; i++) {
                        JobEnd end = { job_end(queue->running->pdata[i]), queue->running->pdata[i] };

                        g_array_append_val(of->ends, end);
                }
        }
        sort_ends(of->ends, of->ends_sorted);
        of->ends_sorted = of->ends->len;
        return of->ends;
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

/* When `queue` itself has room for `need` below its max. */
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

static int only_role(const Gang *gang)
{
        int only = -1;

        for (int role = 0; role < gang->n_roles; role++)
                if (gang->need[role] > 0) {
                        if (only >= 0)
                                return -1;
                        only = role;
                }
        return only;
}

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
                Resources released = released_by(hold->node, r->time);

                for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                        hold->amount.amount[kind] = MAX(0, hold->amount.amount[kind] - released.amount[kind]);
        }
}

static bool has_max(const QueueNode *queue)
{
        for (; queue; queue = queue->parent)
                if (queue->max_mask)
                        return true;
        return false;
}

/* A time that has come already is as good as now. */
static void find_time(Scheduler *s, QueueNode *queue, Reservation *r)
{
        Gang *gang = shape_gang(queue->backfill.head_shape);
        int role = only_role(gang);

        if (role >= 0 && !gang->topology_required) {
                r->time = time_of_one_kind(s, gang, role);
                if (r->time != G_MAXINT64)
                        hold_chosen(r, gang, role);
        } else {
                r->time = time_by_search(s, r, gang);
        }
        r->of_room = r->time;
        for (QueueNode *above = queue; above && r->time != G_MAXINT64; above = above->parent)
                r->time = MAX(r->time, time_of_max(s, above, &gang->need_total, gang->mask));
        if (r->time != G_MAXINT64) {
                deduct_released(r);
                return;
        }
        g_array_set_size(r->holds, 0);
        r->lacking = over_max_kinds(queue, gang);
        if (r->of_room > 0)
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

static bool is_simple(const Gang *gang)
{
        return only_role(gang) >= 0 && !gang->topology_required;
}

bool reservation_is_simple(const QueueNode *queue)
{
        return is_simple(shape_gang(queue->backfill.head_shape));
}

/* Nothing that it depends on has changed: the head's future slots, and where a maximum is in play, what its
 * queues use. Of an unknown time it depends on the whole room what is lacking, unless that is a maximum. */
static bool still_holds(Scheduler *s, QueueNode *queue, const Reservation *r)
{
        Gang *gang = shape_gang(queue->backfill.head_shape);

        return r->key == queue->backfill.head && r->gang == gang && reservation_is_simple(queue) &&
               r->config == s->config_version && (r->time != G_MAXINT64 || r->of_room == 0) &&
               (r->charges == queue_charges(queue) || (r->time != G_MAXINT64 && !has_max(queue))) &&
               time_of_one_kind(s, gang, only_role(gang)) != G_MAXINT64 &&
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

        if (!reservation_is_simple(queue) || has_max(queue))
                return false;
        role = only_role(gang);
        class = gang->classes[role];
        class_sync(s, class);
        for (guint i = 0; i < s->nodes->len && slots < gang->need[role]; i++) {
                Node *node = s->nodes->pdata[i];
                Resources room;

                if (!class->index.eligible[i] || room_slots(&node->total, class, 1) == 0 || !all_end(node))
                        continue;
                room = room_at(node, G_MAXINT64);
                slots += room_slots(&room, class, gang->need[role]);
        }
        return slots >= gang->need[role];
}

guint32 reservation_denies(Scheduler *s, QueueNode *queue)
{
        const Reservation *r = reservation_get(s, queue);

        return r->time == G_MAXINT64 ? r->lacking : 0;
}

/* ---- respecting it ---- */

/* Where a max above both is short, there is room for both at the head's time. */
static bool maxima_let(const Scheduler *s, const Reservation *r, const Shape *shape)
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

static void hold_back(const GArray *holds, bool hold)
{
        for (guint i = 0; i < holds->len; i++) {
                const Hold *at = &g_array_index(holds, Hold, i);

                at->node->hold = hold ? &at->amount : NULL;
        }
}

/* What is planned leaves free what is held. */
static bool plan_spares(const GArray *holds)
{
        for (guint i = 0; i < holds->len; i++) {
                const Hold *at = &g_array_index(holds, Hold, i);

                for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                        if (at->node->free.amount[kind] < at->amount.amount[kind])
                                return false;
        }
        return true;
}

/* Something is planned on a node on which something is held. */
static bool touches(const Scheduler *s, const Plan *plan, const GArray *holds)
{
        for (guint i = 0; i < plan->placed->len; i++) {
                const Node *node = node_find(s, g_array_index(plan->placed, Placement, i).node);

                for (guint j = 0; j < holds->len; j++)
                        if (g_array_index(holds, Hold, j).node == node)
                                return true;
        }
        return false;
}

static bool ends_before(const Scheduler *s, const Shape *shape, const Reservation *r)
{
        return shape->time_limit > 0 && r->time != G_MAXINT64 && s->now + shape->time_limit <= r->time;
}

/* Whether the shape may pass the head, as far as it is not a matter of nodes. */
static bool may_pass(const Scheduler *s, const Shape *shape, const Reservation *r)
{
        if (ends_before(s, shape, r))
                return true;
        if (r->time == G_MAXINT64)
                return (shape_gang(shape)->mask & r->lacking) == 0;
        return maxima_let(s, r, shape);
}

static void add_holds(GArray *holds, const Reservation *r)
{
        for (guint i = 0; i < r->holds->len; i++) {
                const Hold *hold = &g_array_index(r->holds, Hold, i);

                hold_more(holds, hold->node, &hold->amount);
        }
}

/* What is planned leaves free what the reservations hold, perhaps after it was planned again. Either may be NULL.
 * Most plans are on other nodes. */
static bool plan_beside(Pass *pass, Gang *gang, const Reservation *own, const Reservation *guard)
{
        GArray *holds = pass->holds;
        Cause cause;
        bool fits;

        if (!(own && touches(pass->s, &pass->plan, own->holds)) &&
            !(guard && touches(pass->s, &pass->plan, guard->holds)))
                return true;
        g_array_set_size(holds, 0);
        if (own)
                add_holds(holds, own);
        if (guard)
                add_holds(holds, guard);
        if (plan_spares(holds))
                return true;
        plan_undo(pass->s, &pass->plan, gang);
        hold_back(holds, true);
        fits = plan_gang(pass->s, &pass->plan, gang, &cause);
        hold_back(holds, false);
        return fits;
}

/* The queue whose head guards its reservation against this group, which would go beyond its queue's min. */
static QueueNode *guard_of(const Scheduler *s, const Group *group)
{
        QueueNode *queue = group->queue, *guard = cluster_find(s, queue->cluster)->guarding;
        const Gang *gang = group->gang;

        if (!guard || guard == queue ||
            queue_is_within_min(queue, queue_common(queue, guard), &gang->need_total, gang->mask))
                return NULL;
        return guard;
}

static guint64 guard_version(Scheduler *s, const Shape *shape)
{
        QueueNode *guard = guard_of(s, shape->group);

        return guard ? reservation_get(s, guard)->version : 0;
}

/* What was noted in an earlier pass still holds: neither have the reservations changed, nor has room become
 * free where it would fit. */
static bool lasts(Scheduler *s, const Shape *shape, DecisionRule rule)
{
        const Guarded *was = &shape->group->guarded[rule == RULE_BACKFILL];

        return was->charges == queue_charges(shape_queue(shape)) &&
               (was->alone ||
                (was->stir == gang_stir(shape_gang(shape)) && was->guard == guard_version(s, shape))) &&
               was->own == (rule == RULE_BACKFILL ? reservation_get(s, shape_queue(shape))->version : 0);
}

/* Something is noted, and still holds. That is looked up once a pass. */
static bool still_delays(Scheduler *s, const Shape *shape, DecisionRule rule)
{
        Guarded *was = &shape->group->guarded[rule == RULE_BACKFILL];

        if (!memo_is_kept(&was->memo) || memo_fresh(&was->memo, s->pass))
                return memo_is_kept(&was->memo);
        if (lasts(s, shape, rule))
                memo_keep(&was->memo, s->pass);
        else
                memo_drop(&was->memo);
        return memo_is_kept(&was->memo);
}

/* A job of the group that does not take longer delayed a head. */
bool is_known_to_delay(Scheduler *s, const Shape *shape, DecisionRule rule)
{
        const Guarded *was = &shape->group->guarded[rule == RULE_BACKFILL];

        return memo_is_kept(&was->memo) && shape_span(shape) >= was->span && still_delays(s, shape, rule);
}

bool is_known_to_delay_at_all(Scheduler *s, const Group *group, DecisionRule rule)
{
        const Shape *any = group->shapes->pdata[0];
        return still_delays(s, any, rule);
}

static void note_delay(Scheduler *s, const Shape *shape, const Reservation *own, const Reservation *guard,
                       bool alone, DecisionRule rule)
{
        Group *group = shape->group;

        if (!group->noted)
                g_ptr_array_add(group->queue->backfill.noted, group);
        group->noted = true;
        group->guarded[rule == RULE_BACKFILL] = (Guarded){ .memo = memo_of(s->pass),
                                                           .span = shape_span(shape),
                                                           .alone = alone,
                                                           .charges = queue_charges(shape_queue(shape)),
                                                           .stir = gang_stir(shape_gang(shape)),
                                                           .own = own ? own->version : 0,
                                                           .guard = guard ? guard->version : 0 };
}

/* ---- what the guard keeps from all queues ---- */

bool is_kept_by_guard(Scheduler *s, const Group *group, gint64 *ret_span)
{
        const Gang *gang = group->gang;
        QueueNode *guard;

        if (!memo_is_kept(&gang->guarded.memo) || gang->guarded.stir != gang_stir(gang))
                return false;
        guard = guard_of(s, group);
        *ret_span = gang->guarded.span;
        return guard && memo_fresh(&gang->guarded.memo, reservation_get(s, guard)->version);
}

/* Of one kind of task: with less held it would fit if it did with more. The guard lets it pass but for what
 * it holds. */
static bool note_kept(Scheduler *s, Plan *plan, const Shape *shape, const Reservation *guard)
{
        Gang *gang = shape_gang(shape);
        Cause cause;
        bool fits;

        if (!is_simple(gang) || ends_before(s, shape, guard))
                return false;
        hold_back(guard->holds, true);
        fits = plan_gang(s, plan, gang, &cause);
        hold_back(guard->holds, false);
        if (fits) {
                plan_undo(s, plan, gang);
                return false;
        }
        memo_keep(&gang->guarded.memo, guard->version);
        gang->guarded.stir = gang_stir(gang);
        gang->guarded.span = shape_span(shape);
        return true;
}

static bool keeps(Scheduler *s, Plan *plan, const Shape *shape)
{
        QueueNode *by = guard_of(s, shape->group);
        const Reservation *guard = by ? reservation_get(s, by) : NULL;

        return guard && guard->time != G_MAXINT64 && note_kept(s, plan, shape, guard);
}

bool finds_no_room(Scheduler *s, const Shape *shape)
{
        Gang *gang = shape_gang(shape);
        Plan plan;
        Cause cause;
        bool fits;

        plan_init(&plan);
        fits = plan_gang(s, &plan, gang, &cause);
        if (fits)
                plan_undo(s, &plan, gang);
        else
                gang_close(gang, cause);
        fits = fits && !keeps(s, &plan, shape);
        plan_clear(&plan);
        return !fits;
}

bool guards_let(Pass *pass, Shape *shape, DecisionRule rule)
{
        Scheduler *s = pass->s;
        QueueNode *queue = shape_queue(shape), *by = guard_of(s, shape->group);
        const Reservation *own = rule == RULE_BACKFILL ? reservation_get(s, queue) : NULL;
        const Reservation *guard = by ? reservation_get(s, by) : NULL;
        bool alone, kept;

        if (mutant_is(s, MUTANT_BACKFILL_DELAYS_HEAD) || (!own && !guard))
                return true;
        /* a guard whose time is not known guards in its own queue only */
        alone = own && !may_pass(s, shape, own);
        kept = !alone && guard && guard->time != G_MAXINT64;
        if (!alone && (!kept || may_pass(s, shape, guard)) &&
            plan_beside(pass, shape_gang(shape), own && !ends_before(s, shape, own) ? own : NULL,
                        kept && !ends_before(s, shape, guard) ? guard : NULL))
                return true;
        plan_undo(s, &pass->plan, shape_gang(shape));
        if (kept)
                (void)note_kept(s, &pass->plan, shape, guard);
        note_delay(s, shape, own, guard, alone, rule);
        return false;
}

/* ---- the phase ---- */

static bool next_behind(Scheduler *s, QueueNode *queue, guint32 *ret_kinds)
{
        const Shape *shape;

        if (!queue->backfill.head_shape || !queue->has_backfill || queue_is_settled(s, queue))
                return false;
        shape = queue_behind(s, queue);
        if (shape)
                *ret_kinds = shape_gang(shape)->mask;
        else
                queue_settle(s, queue);
        return shape != NULL;
}

/* While others were served it may have become plain that nothing more starts in the queue. */
void phase_backfill(Pass *pass, Cluster *cluster)
{
        Scheduler *s = pass->s;
        QueueNode *queue;

        active_fill(s, cluster, next_behind);
        while ((queue = active_best(cluster))) {
                Shape *shape = queue_is_settled(s, queue) ? NULL : queue_behind(s, queue);

                if (shape)
                        (void)start_first(pass, shape, RULE_BACKFILL);
                active_moved(s, queue, next_behind);
        }
}
