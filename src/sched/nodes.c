/* What is free on nodes, and for each class of tasks an index of the nodes on which one fits, best first.
 *
 * The index is a heap of (score, node, version of the node). A node whose free changes gets a new version,
 * which makes its entries stale, and is noted in a log; a class reads the log when it is used next and adds
 * entries for the nodes that changed. So the heap holds an entry with the present score for every node on
 * which a task fits, and the best is the first that is not stale, whatever happened before. */
#include "sched/state.h"

enum { INDICES_MAX = 128, SCORE_BITS = 20 };

/* ---- free ---- */

void node_changed_later(Scheduler *s, Node *node)
{
        s->versions++;
        g_array_append_val(s->changes, node->id);
        if (s->changes->len > 4 * s->nodes->len + 2048) {
                guint old = s->changes->len / 2; /* a class that reads seldom builds its index again */

                g_array_remove_range(s->changes, 0, old);
                s->changes_base += old;
        }
}

void node_changed(Scheduler *s, Node *node)
{
        node->version++;
        g_array_index(s->rows, NodeRow, node->id) =
                (NodeRow){ .cpu_milli = node->free.cpu_milli,
                           .memory = node->free.memory,
                           .gpus = (gint32)MAX(node->free.gpus, G_MININT32),
                           .version = node->version,
                           .cluster = node->usable ? node->cluster : -1 };
        node_changed_later(s, node);
}

static void add_free(Scheduler *s, Node *node, const Class *class, int sign)
{
        Cluster *cluster = node->usable ? cluster_find(s, node->cluster) : NULL;

        FOR_KINDS(kind, class->mask) {
                gint64 amount = sign * class->each.amount[kind];

                node->free.amount[kind] += amount;
                if (cluster)
                        cluster->free.amount[kind] += amount;
        }
        node_changed(s, node);
}

void node_take(Scheduler *s, Node *node, const Class *class, guint64 devices)
{
        node->devices |= devices;
        add_free(s, node, class, -1);
}

void node_give(Scheduler *s, Node *node, const Class *class, guint64 devices)
{
        node->devices &= ~devices;
        add_free(s, node, class, 1);
}

void node_plan(Scheduler *s, Node *node, const Class *class, int sign)
{
        Cluster *cluster = node->usable ? cluster_find(s, node->cluster) : NULL;

        FOR_KINDS(kind, class->mask) {
                gint64 amount = sign * class->each.amount[kind];

                node->planned.amount[kind] += amount;
                if (cluster)
                        cluster->planned.amount[kind] += amount;
        }
        node->n_planned += sign;
        node_changed_later(s, node);
}

/* The lowest free ones, next to one another if there are such. */
guint64 node_pick_devices(const Scheduler *s, const Node *node, gint64 n)
{
        guint64 all = node->total.gpus >= 64 ? ~(guint64)0 : ((guint64)1 << node->total.gpus) - 1;
        guint64 unused = all & ~node->devices, run = n >= 64 ? ~(guint64)0 : ((guint64)1 << n) - 1, ret = 0;

        if (mutant_is(s, MUTANT_DEVICE_TWICE))
                return run;
        if (n <= 0)
                return 0;
        for (int at = 0; at + n <= 64; at++)
                if ((unused >> at & run) == run)
                        return run << at;
        for (; n > 0 && unused; n--) {
                ret |= unused & -unused;
                unused &= unused - 1;
        }
        return ret;
}

/* ---- what fits ---- */

static bool devices_fit(const Node *node, gint64 n)
{
        guint64 all = node->total.gpus >= 64 ? ~(guint64)0 : ((guint64)1 << node->total.gpus) - 1;

        return n <= __builtin_popcountll(all & ~node->devices);
}

static bool fits_free(const Node *node, const Class *class)
{
        FOR_KINDS(kind, class->mask)
                if (class->each.amount[kind] > node->free.amount[kind])
                        return false;
        return class->each.gpus == 0 || devices_fit(node, class->each.gpus);
}

bool node_fits(const Node *node, const Class *class)
{
        if (node->n_planned > 0 || node->hold)
                FOR_KINDS(kind, class->mask) {
                        gint64 available = node->free.amount[kind];

                        available -= MAX(0, node->planned.amount[kind] - node->releasing.amount[kind]);
                        if (node->hold)
                                available -= node->hold->amount[kind];
                        if (class->each.amount[kind] > available)
                                return false;
                }
        return fits_free(node, class);
}

gint64 free_slots(const Resources *available, const Class *class, gint64 most)
{
        FOR_KINDS(kind, class->mask) {
                if (class->each.amount[kind] > available->amount[kind])
                        return 0;
                if (available->amount[kind] / most < class->each.amount[kind])
                        most = available->amount[kind] / class->each.amount[kind];
        }
        return most;
}

/* How full the node would be, a sum of parts of 2^20 by weight: doc/reference/scheduling.md, "Binpack".
 * `available`: what is free. */
gint32 node_score(const Node *node, const Class *class, const Resources *available)
{
        static const gint32 weights[RESOURCE_STORAGE] = { 1, 1, 10 };
        gint32 score = 0;

        FOR_KINDS(kind, class->mask & ((1u << RESOURCE_STORAGE) - 1)) {
                guint64 total = (guint64)node->total.amount[kind];
                guint64 used = (guint64)(node->total.amount[kind] - available->amount[kind] +
                                         class->each.amount[kind]);
                int shift = 64 - __builtin_clzll(total | 1);

                shift = MAX(0, shift - 40);
                score += weights[kind] *
                         (gint32)MIN(((used >> shift) << SCORE_BITS) / ((total >> shift) | !total),
                                     1u << SCORE_BITS);
        }
        return score;
}

/* ---- gangs that are known not to fit ---- */

void gang_close(Gang *gang, Cause cause)
{
        gang->cause = cause;
        if (gang->closed)
                return;
        gang->closed = true;
        for (int i = 0; i < gang->n_roles; i++)
                gang->classes[i]->n_closed++;
}

void gang_open(Gang *gang)
{
        if (!gang->closed)
                return;
        gang->closed = false;
        for (int i = 0; i < gang->n_roles; i++)
                gang->classes[i]->n_closed--;
}

void node_has_more(Node *node)
{
        for (guint i = 0; i < node->tasks->len; i++) {
                QueueNode *queue = job_queue(g_array_index(node->tasks, NodeTask, i).job);

                if (!queue->preempt.failed.by_max)
                        memo_drop(&queue->preempt.failed.memo);
        }
}

guint64 gang_stir(const Gang *gang)
{
        guint64 stir = 0;

        for (int i = 0; i < gang->n_roles; i++)
                stir += gang->classes[i]->stir;
        return stir;
}

/* A task of a closed gang has to fit there for the gang to fit anywhere: elsewhere nothing has changed. */
void node_opened(Scheduler *s, Node *node)
{
        GHashTableIter iter;
        gpointer p;

        g_hash_table_iter_init(&iter, s->classes);
        while (g_hash_table_iter_next(&iter, &p, NULL)) {
                Class *class = p;

                if (class->cluster != node->cluster || !fits_free(node, class))
                        continue;
                class->stir++;
                for (guint i = 0; class->n_closed > 0 && i < class->gangs->len; i++)
                        gang_open(class->gangs->pdata[i]);
        }
}

/* ---- the index ---- */

static bool comes_first(const Candidate *a, const Candidate *b)
{
        return a->rank > b->rank;
}

static void heap_down(GArray *heap, guint at)
{
        Candidate *entries = (Candidate *)(void *)heap->data, moved = entries[at];

        for (;;) {
                guint child = 2 * at + 1;

                if (child >= heap->len)
                        break;
                if (child + 1 < heap->len && comes_first(&entries[child + 1], &entries[child]))
                        child++;
                if (!comes_first(&entries[child], &moved))
                        break;
                entries[at] = entries[child];
                at = child;
        }
        entries[at] = moved;
}

static void heap_up(Candidate *entries, guint at, Candidate entry)
{
        for (; at > 0 && comes_first(&entry, &entries[(at - 1) / 2]); at = (at - 1) / 2)
                entries[at] = entries[(at - 1) / 2];
        entries[at] = entry;
}

static void heap_push(GArray *heap, Candidate entry)
{
        g_array_append_val(heap, entry);
        heap_up((Candidate *)(void *)heap->data, heap->len - 1, entry);
}

/* The last entry takes the place of the first. It most likely belongs near the leaves: the gap moves down to a leaf
 * with one comparison a level, and the entry up from there. */
static Candidate heap_pop(GArray *heap)
{
        Candidate *entries = (Candidate *)(void *)heap->data, first = entries[0],
                  last = entries[heap->len - 1];
        guint at = 0;

        g_array_set_size(heap, heap->len - 1);
        if (heap->len == 0)
                return first;
        for (guint child; (child = 2 * at + 1) < heap->len; at = child) {
                if (child + 1 < heap->len && comes_first(&entries[child + 1], &entries[child]))
                        child++;
                entries[at] = entries[child];
        }
        heap_up(entries, at, last);
        return first;
}

static bool is_eligible(const Scheduler *s, const Class *class, guint id)
{
        const Node *node = s->nodes->pdata[id];

        return labels_carry(node->labels, class->job_labels) &&
               labels_carry(node->labels, class->queue_labels);
}

/* As fits_free, but for what rows do not say. */
static bool may_fit(const NodeRow *row, const Class *class)
{
        return class->each.cpu_milli <= MAX(0, row->cpu_milli) && class->each.memory <= MAX(0, row->memory) &&
               class->each.gpus <= MAX(0, row->gpus);
}

static Candidate candidate(const Node *node, const Class *class)
{
        guint64 score = (guint32)node_score(node, class, &node->free);

        return (Candidate){ score << 32 | ~(guint32)node->id, node->version, node->id };
}

void class_clear_index(Class *class)
{
        g_clear_pointer(&class->index.heap, g_array_unref);
        g_clear_pointer(&class->index.seen, g_free);
        g_clear_pointer(&class->index.eligible, g_free);
}

static const NodeRow *rows_of(const Scheduler *s)
{
        return (const NodeRow *)(const void *)s->rows->data;
}

static void find_eligible(Scheduler *s, Class *class)
{
        bool any = !*class->job_labels->labels && !*class->queue_labels->labels;

        class->index.eligible = g_renew(guint8, class->index.eligible, s->nodes->len);
        class->index.n_eligible = 0;
        for (guint i = 0; i < s->nodes->len; i++) {
                class->index.eligible[i] = s->nodes->pdata[i] && rows_of(s)[i].cluster == class->cluster &&
                                           (any || is_eligible(s, class, i));
                class->index.n_eligible += class->index.eligible[i];
        }
}

const guint8 *class_eligible(Scheduler *s, Class *class)
{
        if (!class->index.eligible)
                find_eligible(s, class);
        return class->index.eligible;
}

static void build_index(Scheduler *s, Class *class, guint32 version)
{
        if (!class->index.heap)
                class->index.heap = g_array_new(FALSE, FALSE, sizeof(Candidate));
        class->index.seen = g_renew(guint32, class->index.seen, s->nodes->len);
        g_array_set_size(class->index.heap, 0);
        if (!memo_fresh(&class->index.built, version) || !class->index.eligible)
                find_eligible(s, class);
        memo_keep(&class->index.built, version);
        for (guint i = 0; i < s->nodes->len; i++) {
                const NodeRow *row = &rows_of(s)[i];

                class->index.seen[i] = row->version;
                if (class->index.eligible[i] && may_fit(row, class) && fits_free(s->nodes->pdata[i], class)) {
                        Candidate entry = candidate(s->nodes->pdata[i], class);

                        g_array_append_val(class->index.heap, entry);
                }
        }
        for (guint i = class->index.heap->len / 2; i > 0; i--)
                heap_down(class->index.heap, i - 1);
        class->index.cursor = s->changes_base + s->changes->len;
}

static void read_changes(Scheduler *s, Class *class)
{
        for (guint64 at = class->index.cursor - s->changes_base; at < s->changes->len; at++) {
                int id = g_array_index(s->changes, int, at);
                const NodeRow *row = &rows_of(s)[id];
                const Node *node = s->nodes->pdata[id];

                if (!node || class->index.seen[id] == row->version)
                        continue;
                class->index.seen[id] = row->version;
                if (class->index.eligible[id] && may_fit(row, class) && fits_free(node, class))
                        heap_push(class->index.heap, candidate(node, class));
        }
        class->index.cursor = s->changes_base + s->changes->len;
}

/* Frees the index that was not used for longest, if there are as many as may be. */
static void limit_indices(Scheduler *s)
{
        GHashTableIter iter;
        gpointer p;
        Class *oldest = NULL;
        int n = 0;

        g_hash_table_iter_init(&iter, s->classes);
        while (g_hash_table_iter_next(&iter, &p, NULL)) {
                Class *class = p;

                if (!class->index.heap)
                        continue;
                n++;
                if (!oldest || class->index.last_used < oldest->index.last_used)
                        oldest = class;
        }
        if (n >= INDICES_MAX)
                class_clear_index(oldest);
}

void class_sync(Scheduler *s, Class *class)
{
        guint32 version = cluster_get(s, class->cluster)->version;

        class->index.last_used = ++s->uses;
        if (!class->index.heap)
                limit_indices(s);
        if (!class->index.heap || !memo_fresh(&class->index.built, version) ||
            class->index.cursor < s->changes_base || class->index.heap->len > 4 * s->nodes->len + 64)
                build_index(s, class, version);
        else
                read_changes(s, class);
}

Node *class_best(Scheduler *s, Class *class)
{
        g_autoptr(GArray) passed_over = NULL;
        Node *best = NULL;

        class_sync(s, class);
        while (class->index.heap->len > 0 && !best) {
                Candidate first = g_array_index(class->index.heap, Candidate, 0);
                Node *node = s->nodes->pdata[first.node];

                if (node && node->version == first.version && node_fits(node, class)) {
                        best = node;
                        break;
                }
                (void)heap_pop(class->index.heap);
                if (!node || node->version != first.version)
                        continue;
                if (!passed_over)
                        passed_over = g_array_new(FALSE, FALSE, sizeof(Candidate));
                g_array_append_val(passed_over, first);
        }
        for (guint i = 0; passed_over && i < passed_over->len; i++)
                heap_push(class->index.heap, g_array_index(passed_over, Candidate, i));
        return best;
}

bool class_has_capacity(Scheduler *s, Class *class)
{
        if (memo_fresh(&class->full, s->versions))
                return false;
        if (class_best(s, class))
                return true;
        memo_keep(&class->full, s->versions);
        return false;
}
