/* A gang on nodes: all tasks of its minimum, or none. Each task takes the fullest node on which it fits; what
 * was taken is noted in the plan and given back in reverse when the rest does not fit. A gang that should
 * stand within one value of a label tries the values of the tightest label first, among them the fullest one
 * that holds it. */
#include "sched/pack.h"

void plan_init(Plan *plan)
{
        plan->placed = g_array_new(FALSE, FALSE, sizeof(Placement));
        plan->discards = 0;
}

void plan_clear(Plan *plan)
{
        g_array_unref(plan->placed);
}

void plan_undo(Scheduler *s, Plan *plan, const Gang *gang)
{
        for (guint i = plan->placed->len; i > 0; i--) {
                const Placement *at = &g_array_index(plan->placed, Placement, i - 1);

                node_give(s, node_find(s, at->node), gang->classes[at->role], at->devices);
        }
        g_array_set_size(plan->placed, 0);
}

static void put(Scheduler *s, Plan *plan, const Gang *gang, int role, Node *node)
{
        const Class *class = gang->classes[role];
        Placement at = { role, node->id, node_pick_devices(s, node, class->each.gpus) };

        node_take(s, node, class, at.devices);
        g_array_append_val(plan->placed, at);
}

/* Returns how many. A node that was the fullest is still when it has become fuller. */
static int put_on(Scheduler *s, Plan *plan, const Gang *gang, int role, Node *node, int most)
{
        int n = 0;

        for (; n < most && node_fits(node, gang->classes[role]); n++)
                put(s, plan, gang, role, node);
        return n;
}

static Node *best_of(const Domain *domain, const Class *class)
{
        Node *best = NULL;
        gint32 best_score = 0;

        for (guint i = 0; i < domain->nodes->len; i++) {
                Node *node = domain->nodes->pdata[i];
                gint32 score;

                if (!class->index.eligible[node->id] || !node_fits(node, class))
                        continue;
                score = node_score(node, class, &node->free);
                if (!best || score > best_score || (score == best_score && node->id < best->id)) {
                        best = node;
                        best_score = score;
                }
        }
        return best;
}

Node *place_best(Scheduler *s, Class *class, const Domain *domain)
{
        if (!domain)
                return class_best(s, class);
        class_sync(s, class);
        return best_of(domain, class);
}

typedef struct {
        Scheduler *s;
        Plan *plan;
        const Gang *gang;
} Putting;

static bool put_some(Node *node, int role, int n, void *arg)
{
        Putting *putting = arg;

        return put_on(putting->s, putting->plan, putting->gang, role, node, n) == n;
}

/* Two roles that are in each other's way. */
static bool pack(Scheduler *s, Plan *plan, Gang *gang, const Domain *domain)
{
        g_autoptr(GArray) spots = NULL;
        Putting putting = { s, plan, gang };
        const Class *class;
        int a, b;

        if (!pack_roles(gang, &a, &b))
                return false;
        class = gang->classes[a]; /* both are eligible for the same nodes */
        spots = g_array_new(FALSE, FALSE, sizeof(PackSpot));
        for (guint i = 0; i < s->nodes->len; i++) {
                Node *node = s->nodes->pdata[i];
                Resources available;

                if (!class->index.eligible[i] ||
                    (domain && (node->domains[domain->level] < 0 ||
                                s->domains->pdata[node->domains[domain->level]] != domain)))
                        continue;
                available = node_available(node);
                if (node->hold)
                        amounts_subtract(&available, node->hold);
                pack_add(spots, gang, node, &available);
        }
        if (pack_gang(gang, (PackSpot *)(void *)spots->data, (int)spots->len, put_some, &putting))
                return true;
        plan_undo(s, plan, gang);
        return false;
}

static bool place_role(Scheduler *s, Plan *plan, Gang *gang, int role, const Domain *domain)
{
        for (int left = gang->need[role]; left > 0;) {
                Node *node = place_best(s, gang->classes[role], domain);

                if (!node)
                        return false;
                left -= put_on(s, plan, gang, role, node, left);
        }
        return true;
}

/* `domain` NULL: anywhere. */
static bool place(Scheduler *s, Plan *plan, Gang *gang, const Domain *domain)
{
        for (int i = 0; i < gang->n_roles; i++)
                if (!place_role(s, plan, gang, gang->order[i], domain)) {
                        plan->discards += plan->placed->len > 0;
                        if (mutant_is(s, MUTANT_GANG_PARTIAL) && plan->placed->len > 0)
                                return true;
                        plan_undo(s, plan, gang);
                        return pack(s, plan, gang, domain);
                }
        return true;
}

/* ---- within one value of a label ---- */

typedef struct {
        const Domain *domain;
        gint64 spare; /* tasks of the largest role that would fit beyond the gang's */
} Choice;

static gint64 slots_in(Scheduler *s, const Domain *domain, Class *class, gint64 most)
{
        const guint8 *eligible = class_eligible(s, class);
        gint64 slots = 0;

        for (guint i = 0; i < domain->nodes->len; i++) {
                const Node *node = domain->nodes->pdata[i];

                if (eligible[node->id] && node_fits(node, class))
                        slots += free_slots(&node->free, class, most);
        }
        return slots;
}

static int compare_choices(gconstpointer a, gconstpointer b)
{
        const Choice *x = a, *y = b;

        if (x->spare != y->spare)
                return x->spare < y->spare ? -1 : 1;
        return strcmp(x->domain->label, y->domain->label);
}

/* The values of one label that may hold the gang, fullest first. */
static GArray *choices_of(Scheduler *s, Gang *gang, int level)
{
        GArray *choices = g_array_new(FALSE, FALSE, sizeof(Choice));

        for (guint i = 0; i < s->domains->len; i++) {
                Choice choice = { .domain = s->domains->pdata[i] };
                bool holds = choice.domain->level == level;

                for (int at = gang->n_roles - 1; at >= 0 && holds; at--) {
                        int role = gang->order[at];

                        if (gang->need[role] == 0)
                                continue;
                        choice.spare = slots_in(s, choice.domain, gang->classes[role], SCHED_TASKS_MAX);
                        choice.spare -= gang->need[role];
                        holds = choice.spare >= 0;
                }
                if (holds)
                        g_array_append_val(choices, choice);
        }
        g_array_sort(choices, compare_choices);
        return choices;
}

static bool place_within(Scheduler *s, Plan *plan, Gang *gang, int level)
{
        g_autoptr(GArray) choices = choices_of(s, gang, level);

        for (guint i = 0; i < choices->len; i++)
                if (place(s, plan, gang, g_array_index(choices, Choice, i).domain))
                        return true;
        return false;
}

static Cause why_not(const Scheduler *s, const Gang *gang)
{
        const Cluster *cluster = cluster_find(s, gang->cluster);

        if (!cluster || cluster->n_usable == 0)
                return CAUSE_NO_NODES;
        FOR_KINDS(kind, gang->mask)
                if (gang->need_total.amount[kind] > cluster->free.amount[kind])
                        return CAUSE_RESOURCES;
        return CAUSE_FRAGMENTED;
}

bool plan_gang(Scheduler *s, Plan *plan, Gang *gang, Cause *ret_cause)
{
        *ret_cause = CAUSE_NONE;
        for (int i = 0; i < gang->n_roles; i++)
                if (gang->need[i] > 0)
                        class_sync(s, gang->classes[i]);
        for (int level = s->n_levels - 1; gang->topology >= 0 && level >= gang->topology; level--)
                if (place_within(s, plan, gang, level))
                        return true;
        if (place(s, plan, gang, NULL)) {
                if (gang->topology < 0 || !gang->topology_required)
                        return true;
                plan_undo(s, plan, gang);
                *ret_cause = CAUSE_TOPOLOGY;
                return false;
        }
        *ret_cause = why_not(s, gang);
        return false;
}

void plan_tasks(const Plan *plan, const Gang *gang, SchedTask *ret)
{
        g_autofree int *next = g_memdup2(gang->first, sizeof *next * (gsize)gang->n_roles);

        for (int i = 0; i < gang->n_tasks; i++)
                ret[i] = (SchedTask){ .node = -1 };
        for (guint i = 0; i < plan->placed->len; i++) {
                const Placement *at = &g_array_index(plan->placed, Placement, i);

                ret[next[at->role]++] = (SchedTask){ at->node, at->devices };
        }
}
