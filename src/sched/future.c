/* When nodes will have capacity, if every task ends at its job's time limit: of one node, and for a gang of one kind
 * of task of all of them. When does the node hold one, two... of its tasks; the n-th smallest of these times is when
 * the gang fits. */
#include "sched/backfill.h"

/* ---- ends of tasks ---- */

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

bool node_all_end(Node *node)
{
        const GArray *ends = ends_of(node);

        return ends->len == 0 || g_array_index(ends, TaskEnd, ends->len - 1).time != G_MAXINT64;
}

Resources node_released_by(Node *node, gint64 time)
{
        const GArray *ends = ends_of(node);
        Resources sum = { 0 };

        for (guint i = 0; i < ends->len && g_array_index(ends, TaskEnd, i).time <= time; i++)
                amounts_add(&sum, g_array_index(ends, TaskEnd, i).each);
        return sum;
}

Resources node_free_at(Node *node, gint64 time)
{
        Resources available = node_released_by(node, time);

        amounts_add(&available, &node->free);
        amounts_subtract(&available, &node->planned);
        return available;
}

/* ---- gangs of one kind of task ---- */

int gang_only_role(const Gang *gang)
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

bool gang_is_simple(const Gang *gang)
{
        return gang_only_role(gang) >= 0 && !gang->topology_required;
}

static int compare_slots(gconstpointer a, gconstpointer b)
{
        const FutureSlot *x = a, *y = b;

        if (x->time != y->time)
                return x->time < y->time ? -1 : 1;
        return (x->id > y->id) - (x->id < y->id);
}

/* When the node holds how many more, before `bound`; what is free now is at time 0. */
static void add_slots(GArray *slots, Node *node, const Class *class, int most, gint64 bound)
{
        const GArray *ends;
        Resources available = node->free;
        gint64 had, has;

        amounts_subtract(&available, &node->planned);
        had = free_slots(&available, class, most);
        if (had > 0) {
                FutureSlot slot = { 0, node, (int)had, node->id };

                g_array_append_val(slots, slot);
        }
        if (had == most || first_end(node) >= bound || free_slots(&node->total, class, 1) == 0)
                return;
        ends = ends_of(node);
        for (guint i = 0; i < ends->len && had < most; i++, had = has) {
                const TaskEnd *end = &g_array_index(ends, TaskEnd, i);
                FutureSlot slot = { end->time, node, 0, node->id };

                if (slot.time >= bound)
                        return;
                amounts_add(&available, end->each);
                has = MAX(had, free_slots(&available, class, most));
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
        return gang->future.cut && gang->future.last.time == 0 && node->id > gang->future.last.id;
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

gint64 gang_future_time(Scheduler *s, Gang *gang, int role)
{
        if (!is_synced(s, gang))
                sync_slots(s, gang, role);
        return gang->future.time;
}
