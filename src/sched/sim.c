/* What would fit later, when everything that was told to go has gone and everything promised has come: for a
 * gang, how many tasks of each role fit on each node then, and their sums. The counts are kept from pass to
 * pass and follow the log of changes of nodes, so that after a further victim was marked it costs one node to
 * know whether the gang fits. */
#include "sched/pack.h"
#include "sched/victim.h"

enum { SIMS_MAX = 64 };

struct Sim {
        Gang *gang;
        int places; /* values of the label within which the gang has to stand; else 1 */
        int n_nodes;
        gint64 *slots;   /* by place and role */
        int *node_slots; /* by node and role */
        guint64 cursor;  /* in the log of changes */
        guint64 changes; /* of counts, so far */
        Memo built;      /* key: version of the cluster */
        gint64 last_used;
};

/* ---- counting ---- */

static int place_of(const Gang *gang, const Node *node)
{
        return gang->topology_required ? node->domains[gang->topology] : 0;
}

static void count(Scheduler *s, Sim *sim, const Node *node)
{
        const Gang *gang = sim->gang;
        int place = place_of(gang, node);
        int *of_node = sim->node_slots + (gsize)node->id * (gsize)gang->n_roles;
        Resources available;

        if (place < 0)
                return;
        available = node_later(node);
        for (int role = 0; role < gang->n_roles; role++) {
                int n = 0;

                if (gang->need[role] > 0 && gang->classes[role]->index.eligible[node->id])
                        n = (int)free_slots(&available, gang->classes[role], gang->need[role]);
                sim->slots[place * gang->n_roles + role] += n - of_node[role];
                sim->changes += n != of_node[role];
                of_node[role] = n;
        }
}

/* For count: of many classes, some may have given up their index. */
static void sync_eligible(Scheduler *s, const Gang *gang)
{
        for (int role = 0; role < gang->n_roles; role++)
                (void)class_eligible(s, gang->classes[role]);
}

static void build(Scheduler *s, Sim *sim)
{
        gsize roles = (gsize)sim->gang->n_roles;

        for (int role = 0; role < sim->gang->n_roles; role++)
                if (sim->gang->need[role] > 0)
                        class_sync(s, sim->gang->classes[role]);
        sync_eligible(s, sim->gang);
        memo_keep(&sim->built, cluster_get(s, sim->gang->cluster)->version);
        sim->changes++;
        sim->n_nodes = (int)s->nodes->len;
        sim->places = sim->gang->topology_required ? (int)s->domains->len : 1;
        g_free(sim->slots);
        g_free(sim->node_slots);
        sim->slots = g_new0(gint64, (gsize)sim->places * roles + 1);
        sim->node_slots = g_new0(int, s->nodes->len *roles + 1);
        for (guint i = 0; i < s->nodes->len; i++)
                if (s->nodes->pdata[i])
                        count(s, sim, s->nodes->pdata[i]);
}

static void follow(Scheduler *s, Sim *sim)
{
        if (!memo_fresh(&sim->built, cluster_get(s, sim->gang->cluster)->version) ||
            sim->cursor < s->changes_base) {
                build(s, sim);
        } else {
                gint64 stamp = ++s->uses; /* what was marked and undone for another gang changed many times */

                sync_eligible(s, sim->gang);
                for (guint64 at = sim->cursor - s->changes_base; at < s->changes->len; at++) {
                        int id = g_array_index(s->changes, int, at);
                        Node *node = id < sim->n_nodes ? s->nodes->pdata[id] : NULL;

                        if (!node || node->stamp == stamp)
                                continue;
                        node->stamp = stamp;
                        count(s, sim, node);
                }
        }
        sim->cursor = s->changes_base + s->changes->len;
}

/* ---- which ---- */

void sim_free(Sim *sim)
{
        if (!sim)
                return;
        g_free(sim->slots);
        g_free(sim->node_slots);
        g_free(sim);
}

static Sim *find(const Scheduler *s, const Gang *gang)
{
        for (guint i = 0; i < s->sims->len; i++)
                if (((Sim *)s->sims->pdata[i])->gang == gang)
                        return s->sims->pdata[i];
        return NULL;
}

void sim_forget(Scheduler *s, const Gang *gang)
{
        Sim *sim = find(s, gang);

        if (sim) {
                (void)g_ptr_array_remove_fast(s->sims, sim);
                sim_free(sim);
        }
}

static Sim *make(Scheduler *s, Gang *gang)
{
        Sim *sim = g_new0(Sim, 1), *oldest = NULL;

        for (guint i = 0; s->sims->len >= SIMS_MAX && i < s->sims->len; i++) {
                Sim *other = s->sims->pdata[i];

                if (!oldest || other->last_used < oldest->last_used)
                        oldest = other;
        }
        if (oldest)
                sim_forget(s, oldest->gang);
        sim->gang = gang;
        build(s, sim);
        sim->cursor = s->changes_base + s->changes->len;
        g_ptr_array_add(s->sims, sim);
        return sim;
}

Sim *sim_get(Scheduler *s, Gang *gang)
{
        Sim *sim = find(s, gang);

        if (!sim)
                sim = make(s, gang);
        sim->last_used = ++s->uses;
        follow(s, sim);
        return sim;
}

guint64 sim_changes(Scheduler *s, Gang *gang)
{
        return sim_get(s, gang)->changes;
}

gint64 sim_slots_outside(Scheduler *s, Gang *gang, const QueueNode *queue)
{
        const Sim *sim = sim_get(s, gang);
        gint64 sum = 0, stamp = ++s->uses;

        for (int i = 0; i < sim->places * gang->n_roles; i++)
                sum += sim->slots[i];
        for (guint i = 0; i < queue->running->len; i++) {
                const Job *job = queue->running->pdata[i];

                for (int task = 0; task < job_gang(job)->n_tasks; task++) {
                        Node *node = node_find(s, job->run->tasks[task].node);

                        if (!node || node->stamp == stamp)
                                continue;
                        node->stamp = stamp;
                        for (int role = 0; role < gang->n_roles; role++)
                                sum -= sim->node_slots[(gsize)node->id * (gsize)gang->n_roles + (gsize)role];
                }
        }
        return sum;
}

/* ---- where the gang would stand ---- */

typedef struct {
        gint32 score;
        Node *node;
} Spot;

static int compare_spots(gconstpointer a, gconstpointer b)
{
        const Spot *x = a, *y = b;

        if (x->score != y->score)
                return x->score > y->score ? -1 : 1;
        return (x->node->id > y->node->id) - (x->node->id < y->node->id);
}

/* The simulation's counts tell which nodes to look at. What is planned for another role of the gang since then only
 * takes from a node. */
static GArray *spots_for(Scheduler *s, const Sim *sim, int role, int place)
{
        GArray *spots = g_array_new(FALSE, FALSE, sizeof(Spot));
        const Gang *gang = sim->gang;
        const Class *class = gang->classes[role];

        for (guint i = 0; i < s->nodes->len; i++) {
                Node *node = s->nodes->pdata[i];
                Resources available;

                if (!node || sim->node_slots[i * (guint)gang->n_roles + (guint)role] == 0 ||
                    place_of(gang, node) != place)
                        continue;
                available = node_later(node);
                if (free_slots(&available, class, 1) > 0) {
                        Spot spot = { node_score(node, class, &available), node };

                        g_array_append_val(spots, spot);
                }
        }
        g_array_sort(spots, compare_spots);
        return spots;
}

/* Plans the role's tasks; returns how many there was no place for. */
static int plan_role(Scheduler *s, const Sim *sim, int role, int place, SchedTask *tasks)
{
        const Gang *gang = sim->gang;
        g_autoptr(GArray) spots = spots_for(s, sim, role, place);
        int left = gang->need[role], task = gang->first[role];

        for (guint i = 0; i < spots->len && left > 0; i++) {
                Node *node = g_array_index(spots, Spot, i).node;
                Resources available = node_later(node);
                gint64 n = free_slots(&available, gang->classes[role], left);

                for (; n > 0; n--, left--) {
                        tasks[task++].node = node->id;
                        node_plan(s, node, gang->classes[role], 1);
                }
        }
        return left;
}

typedef struct {
        Scheduler *s;
        const Gang *gang;
        SchedTask *tasks;
} Planning;

static bool plan_some(Node *node, int role, int n, void *arg)
{
        Planning *planning = arg;
        int task = planning->gang->first[role];

        for (; n > 0; task++)
                if (planning->tasks[task].node < 0) {
                        planning->tasks[task].node = node->id;
                        n--;
                }
        return true;
}

static void plan_nothing(const Gang *gang, SchedTask *tasks)
{
        for (int i = 0; i < gang->n_tasks; i++)
                tasks[i] = (SchedTask){ .node = -1 };
}

/* Two roles that are in each other's way. */
static bool pack_in(Scheduler *s, const Gang *gang, int place, SchedTask *tasks)
{
        g_autoptr(GArray) spots = g_array_new(FALSE, FALSE, sizeof(PackSpot));
        Planning planning = { s, gang, tasks };
        int a, b;

        plan_nothing(gang, tasks);
        if (!pack_roles(gang, &a, &b))
                return false;
        for (guint i = 0; i < s->nodes->len; i++) {
                Node *node = s->nodes->pdata[i];
                Resources available;

                if (!gang->classes[a]->index.eligible[i] || place_of(gang, node) != place)
                        continue;
                available = node_later(node);
                pack_add(spots, gang, node, &available);
        }
        return pack_gang(gang, (PackSpot *)(void *)spots->data, (int)spots->len, plan_some, &planning);
}

static bool plan_in(Scheduler *s, const Sim *sim, int place, SchedTask *tasks)
{
        const Gang *gang = sim->gang;
        int left = 0;

        plan_nothing(gang, tasks);
        for (int i = 0; i < gang->n_roles && left == 0; i++)
                if (gang->need[gang->order[i]] > 0)
                        left = plan_role(s, sim, gang->order[i], place, tasks);
        for (int i = 0; i < gang->n_tasks; i++)
                if (tasks[i].node >= 0)
                        node_plan(s, node_find(s, tasks[i].node), gang->classes[gang_role_of(gang, i)], -1);
        return left == 0 || pack_in(s, gang, place, tasks);
}

static bool has_slots(const Sim *sim, int place)
{
        for (int role = 0; role < sim->gang->n_roles; role++)
                if (sim->slots[place * sim->gang->n_roles + role] < sim->gang->need[role])
                        return false;
        return true;
}

static bool is_of_one_role(const Gang *gang)
{
        int n = 0;

        for (int role = 0; role < gang->n_roles; role++)
                n += gang->need[role] > 0;
        return n <= 1;
}

bool sim_fits(Scheduler *s, Gang *gang)
{
        const Sim *sim = sim_get(s, gang);

        for (int place = 0; place < sim->places; place++) {
                g_autofree SchedTask *tasks = NULL;

                if (!has_slots(sim, place))
                        continue;
                if (is_of_one_role(gang))
                        return true;
                tasks = g_new(SchedTask, gang->n_tasks);
                if (plan_in(s, sim, place, tasks))
                        return true;
        }
        return false;
}

bool sim_place(Scheduler *s, Gang *gang, SchedTask *tasks)
{
        const Sim *sim = sim_get(s, gang);

        for (int place = 0; place < sim->places; place++)
                if (has_slots(sim, place) && plan_in(s, sim, place, tasks))
                        return true;
        return false;
}
