/* Making room: who has to go so that a gang fits when they have gone.
 *
 * A simulation counts, for one ask, how many tasks of each role would fit on each node when everything that
 * was told to go has gone and everything promised has come ("later"); the counts follow each change of a
 * node, so that after a further victim was marked it costs one node to know whether the gang fits. To mark a
 * victim is to charge what it holds as releasing: exactly what its eviction will do, and undone as exactly.
 * When the gang fits, those that turn out not to be needed are spared, the last one first. Only then anything
 * is decided. */
#include "sched/victim.h"

#include "sched/pack.h"

/* ---- the simulation ---- */

struct Sim {
        Ask *ask;
        int places;    /* values of the label within which the gang has to stand; else 1 */
        gint64 *slots; /* by place and role */
};

static int place_of(const Sim *sim, const Node *node)
{
        return sim->ask->topology_required ? node->domains[sim->ask->topology] : 0;
}

static void count(Scheduler *s, const Node *node, int sign)
{
        Sim *sim = s->sim;
        const Ask *ask = sim->ask;
        int place = place_of(sim, node);
        Resources room;

        if (place < 0)
                return;
        room = node_later(node);
        for (int role = 0; role < ask->n_roles; role++)
                if (ask->need[role] > 0 && ask->classes[role]->eligible[node->id])
                        sim->slots[place * ask->n_roles + role] +=
                                sign * room_slots(&room, ask->classes[role], ask->need[role]);
}

void sim_node_leaves(Scheduler *s, Node *node)
{
        if (s->sim)
                count(s, node, -1);
}

void sim_node_enters(Scheduler *s, Node *node)
{
        if (s->sim)
                count(s, node, 1);
}

void sim_end(Scheduler *s)
{
        if (s->sim)
                g_free(s->sim->slots);
        g_clear_pointer(&s->sim, g_free);
}

void sim_begin(Scheduler *s, Ask *ask)
{
        if (s->sim && s->sim->ask == ask)
                return;
        sim_end(s);
        for (int role = 0; role < ask->n_roles; role++)
                if (ask->need[role] > 0)
                        class_sync(s, ask->classes[role]);
        s->sim = g_new0(Sim, 1);
        s->sim->ask = ask;
        s->sim->places = ask->topology_required ? (int)s->domains->len : 1;
        s->sim->slots = g_new0(gint64, (gsize)s->sim->places * (gsize)MAX(1, ask->n_roles));
        for (guint i = 0; i < s->nodes->len; i++)
                if (s->nodes->pdata[i])
                        count(s, s->nodes->pdata[i], 1);
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

static GArray *spots_for(Scheduler *s, const Class *class, int place)
{
        GArray *spots = g_array_new(FALSE, FALSE, sizeof(Spot));

        for (guint i = 0; i < s->nodes->len; i++) {
                Node *node = s->nodes->pdata[i];
                Resources room;

                if (!node || !class->eligible[i] || place_of(s->sim, node) != place)
                        continue;
                room = node_later(node);
                if (room_slots(&room, class, 1) > 0) {
                        Spot spot = { node_score(node, class, &room), node };

                        g_array_append_val(spots, spot);
                }
        }
        g_array_sort(spots, compare_spots);
        return spots;
}

/* Plans the role's tasks; returns how many there was no place for. */
static int plan_role(Scheduler *s, const Ask *ask, int role, int place, SchedTask *tasks)
{
        g_autoptr(GArray) spots = spots_for(s, ask->classes[role], place);
        int left = ask->need[role], task = ask->first[role];

        for (guint i = 0; i < spots->len && left > 0; i++) {
                Node *node = g_array_index(spots, Spot, i).node;
                Resources room = node_later(node);
                gint64 n = room_slots(&room, ask->classes[role], left);

                for (; n > 0; n--, left--) {
                        tasks[task++].node = node->id;
                        node_plan(s, node, &ask->roles[role].each, 1);
                }
        }
        return left;
}

typedef struct {
        Scheduler *s;
        const Ask *ask;
        SchedTask *tasks;
} Planning;

static bool plan_some(Node *node, int role, int n, void *arg)
{
        Planning *planning = arg;
        int task = planning->ask->first[role];

        for (; n > 0; task++)
                if (planning->tasks[task].node < 0) {
                        planning->tasks[task].node = node->id;
                        n--;
                }
        return true;
}

static void plan_nothing(const Ask *ask, SchedTask *tasks)
{
        for (int i = 0; i < ask->n_tasks; i++)
                tasks[i] = (SchedTask){ .node = -1 };
}

/* Two roles that are in each other's way. */
static bool pack_in(Scheduler *s, const Ask *ask, int place, SchedTask *tasks)
{
        g_autoptr(GArray) spots = g_array_new(FALSE, FALSE, sizeof(PackSpot));
        Planning planning = { s, ask, tasks };
        int a, b;

        plan_nothing(ask, tasks);
        if (!pack_roles(ask, &a, &b))
                return false;
        for (guint i = 0; i < s->nodes->len; i++) {
                Node *node = s->nodes->pdata[i];
                Resources room;

                if (!ask->classes[a]->eligible[i] || place_of(s->sim, node) != place)
                        continue;
                room = node_later(node);
                pack_add(spots, ask, node, &room);
        }
        return pack_ask(ask, (PackSpot *)(void *)spots->data, (int)spots->len, plan_some, &planning);
}

static bool plan_in(Scheduler *s, const Ask *ask, int place, SchedTask *tasks)
{
        int left = 0;

        plan_nothing(ask, tasks);
        for (int i = 0; i < ask->n_roles && left == 0; i++)
                if (ask->need[ask->order[i]] > 0)
                        left = plan_role(s, ask, ask->order[i], place, tasks);
        for (int i = 0; i < ask->n_tasks; i++)
                if (tasks[i].node >= 0)
                        node_plan(s, node_find(s, tasks[i].node), &ask->roles[ask_role_of(ask, i)].each, -1);
        return left == 0 || pack_in(s, ask, place, tasks);
}

static bool has_slots(const Sim *sim, int place)
{
        for (int role = 0; role < sim->ask->n_roles; role++)
                if (sim->slots[place * sim->ask->n_roles + role] < sim->ask->need[role])
                        return false;
        return true;
}

static bool is_of_one_role(const Ask *ask)
{
        int n = 0;

        for (int role = 0; role < ask->n_roles; role++)
                n += ask->need[role] > 0;
        return n <= 1;
}

bool sim_fits(Scheduler *s)
{
        Ask *ask = s->sim->ask;

        for (int place = 0; place < s->sim->places; place++) {
                g_autofree SchedTask *tasks = NULL;

                if (!has_slots(s->sim, place))
                        continue;
                if (is_of_one_role(ask))
                        return true;
                tasks = g_new(SchedTask, ask->n_tasks);
                if (plan_in(s, ask, place, tasks))
                        return true;
        }
        return false;
}

bool sim_place(Scheduler *s, SchedTask *tasks)
{
        for (int place = 0; place < s->sim->places; place++)
                if (has_slots(s->sim, place) && plan_in(s, s->sim->ask, place, tasks))
                        return true;
        return false;
}

/* ---- victims ---- */

/* The work that is lost: share of the cluster in millionths × ms since it started or saved. */
static gint64 lost_work(const Scheduler *s, const Job *job)
{
        const Ask *ask = job_ask(job);
        const Cluster *cluster = cluster_find(s, ask->cluster);
        gint64 since = MAX(0, s->now - MAX(job->run->started, job->run->saved)), lost = 0;
        Resources held = { 0 };

        for (int role = 0, task = 0; role < ask->n_roles; role++)
                for (int i = 0; i < ask->roles[role].replicas; i++, task++)
                        if (job->run->tasks[task].node >= 0)
                                amounts_add(&held, &ask->roles[role].each);
        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                if (held.amount[kind] > 0 && cluster->total.amount[kind] > 0) {
                        Wide part = (Wide)(guint64)held.amount[kind] * 1000000 * (guint64)since /
                                    (guint64)cluster->total.amount[kind];

                        lost = MAX(lost, (gint64)MIN(part, (Wide)G_MAXINT64));
                }
        return lost;
}

static int compare_victims(gconstpointer a, gconstpointer b)
{
        const Victim *x = a, *y = b;
        int px = x->job->shape->priority, py = y->job->shape->priority;

        if (px != py)
                return px < py ? -1 : 1;
        if (x->lost != y->lost)
                return x->lost < y->lost ? -1 : 1;
        if (x->job->submitted != y->job->submitted)
                return x->job->submitted > y->job->submitted ? -1 : 1;
        return (x->job->key < y->job->key) - (x->job->key > y->job->key);
}

const GArray *victims_of(Scheduler *s, Lane *queue)
{
        if (queue->victims_pass == s->pass)
                return queue->victims;
        queue->victims_pass = s->pass;
        g_array_set_size(queue->victims, 0);
        for (guint i = 0; i < queue->running->len; i++) {
                Job *job = queue->running->pdata[i];
                Victim victim = { job, 0 };

                if (!job->shape->preemptable || job->state != SCHED_RUNNING || job->run->going ||
                    job_is_safe(s, job))
                        continue;
                victim.lost = lost_work(s, job);
                g_array_append_val(queue->victims, victim);
        }
        g_array_sort(queue->victims, compare_victims);
        return queue->victims;
}

/* An evicted job does not get its place back at the cost of the one it made room for. */
static bool is_spared(const Scheduler *s, const Job *victim, const Job *nominee)
{
        return nominee->past && nominee->past->evictor == victim->key &&
               s->now < victim->run->started + s->cooldown_ms;
}

bool victim_may_go(const Scheduler *s, const Job *job, const Job *nominee)
{
        return job->state == SCHED_RUNNING && !job->run->going && !is_spared(s, job, nominee);
}

static guint32 held_kinds(const Job *job)
{
        const Ask *ask = job_ask(job);
        guint32 kinds = 0;

        for (int role = 0; role < ask->n_roles; role++)
                kinds |= ask->classes[role]->mask;
        return kinds;
}

bool victim_helps(const Job *job, guint32 lacking)
{
        return (held_kinds(job) & lacking) != 0;
}

/* ---- marking ---- */

void marks_init(Marks *marks)
{
        marks->marks = g_array_new(FALSE, FALSE, sizeof(Mark));
}

void marks_clear(Marks *marks)
{
        g_array_unref(marks->marks);
}

static bool is_marked(const Marks *marks, const Job *job, int task)
{
        for (guint i = 0; job->run->n_marked > 0 && i < marks->marks->len; i++) {
                const Mark *mark = &g_array_index(marks->marks, Mark, i);

                if (mark->job == job && mark->task == task)
                        return true;
        }
        return false;
}

static void set_mark(Scheduler *s, const Mark *mark, int sign)
{
        if (mark->task >= 0) {
                job_task_releasing(s, mark->job, mark->task, sign);
                mark->job->run->n_marked += sign;
                return;
        }
        job_releasing(s, mark->job, sign);
        mark->job->run->marked = sign > 0;
}

static void add_mark(Scheduler *s, Marks *marks, Job *job, int task)
{
        Mark mark = { job, task };

        set_mark(s, &mark, 1);
        g_array_append_val(marks->marks, mark);
}

void marks_forget(Scheduler *s, Marks *marks, Job *job)
{
        for (guint i = marks->marks->len; job->run->n_marked > 0 && i > 0; i--) {
                Mark mark = g_array_index(marks->marks, Mark, i - 1);

                if (mark.job == job && mark.task >= 0) {
                        set_mark(s, &mark, -1);
                        (void)g_array_remove_index(marks->marks, i - 1);
                }
        }
}

void marks_add_job(Scheduler *s, Marks *marks, Job *job)
{
        marks_forget(s, marks, job);
        add_mark(s, marks, job, -1);
}

int surplus_task(const Marks *marks, const Job *job, guint32 lacking)
{
        const Ask *ask = job_ask(job);

        for (int role = ask->n_roles - 1; role >= 0; role--) {
                int placed = 0, last = -1;

                if (ask->roles[role].replicas == ask->need[role] || !(ask->classes[role]->mask & lacking))
                        continue;
                for (int i = 0; i < ask->roles[role].replicas; i++) {
                        int task = ask->first[role] + i;

                        if (job->run->tasks[task].node < 0 || is_marked(marks, job, task))
                                continue;
                        placed++;
                        last = task;
                }
                if (placed > ask->need[role])
                        return last;
        }
        return -1;
}

void marks_add_task(Scheduler *s, Marks *marks, Job *job, int task)
{
        add_mark(s, marks, job, task);
}

void marks_undo(Scheduler *s, Marks *marks)
{
        for (guint i = marks->marks->len; i > 0; i--)
                set_mark(s, &g_array_index(marks->marks, Mark, i - 1), -1);
        g_array_set_size(marks->marks, 0);
}

bool nominee_fits(Scheduler *s, const Shape *nominee)
{
        const Ask *ask = shape_ask(nominee);
        int kind;

        return !lane_over_max(s, shape_queue(nominee), &ask->need_total, ask->mask, LATER, &kind) &&
               !lane_kept_from(s, shape_queue(nominee), &ask->need_total, ask->mask, LATER, &kind) &&
               sim_fits(s);
}

static void marks_spare(Scheduler *s, Marks *marks, const Shape *nominee)
{
        for (guint i = marks->marks->len; i > 0; i--) {
                Mark mark = g_array_index(marks->marks, Mark, i - 1);

                set_mark(s, &mark, -1);
                if (nominee_fits(s, nominee))
                        (void)g_array_remove_index(marks->marks, i - 1);
                else
                        set_mark(s, &mark, 1);
        }
}

guint32 lacking_later(const Scheduler *s, const Shape *nominee)
{
        const Ask *ask = shape_ask(nominee);
        const Cluster *cluster = cluster_find(s, ask->cluster);
        guint32 lacking = 0;

        FOR_KINDS(kind, ask->mask)
        if (ask->need_total.amount[kind] >
            cluster->free.amount[kind] + cluster->releasing.amount[kind] - cluster->planned.amount[kind])
                lacking |= 1u << kind;
        for (Lane *queue = shape_queue(nominee); queue; queue = queue->parent)
                FOR_KINDS(kind, ask->mask & queue->max_mask)
        if (queue->alloc.amount[kind] - queue->releasing.amount[kind] + queue->planned.amount[kind] +
                    ask->need_total.amount[kind] >
            queue->max.amount[kind])
                lacking |= 1u << kind;
        return lacking ? lacking : ask->mask;
}

/* ---- deciding ---- */

static void evict(Scheduler *s, Pass *pass, Job *job, const Job *nominee, DecisionRule rule)
{
        Past *past = job_past(job);

        job->run->marked = false;
        job->state = SCHED_ENDING;
        job_remark_elastic(s, job);
        past->victim = true;
        past->evictor = nominee->key;
        pass_decide(pass, DECIDE_EVICT, rule, job, nominee->key);
}

/* All the marks of one job that is to be shrunk. */
static void shrink(Scheduler *s, Pass *pass, const Marks *marks, Job *job, const Job *nominee,
                   DecisionRule rule)
{
        for (guint i = 0; i < marks->marks->len; i++) {
                const Mark *mark = &g_array_index(marks->marks, Mark, i);

                if (mark->job == job)
                        job_let_task_go(s, job, mark->task);
        }
        job->run->n_marked = 0;
        job_past(job)->evictor = nominee->key;
        job_remark_elastic(s, job);
        pass_decide(pass, DECIDE_SHRINK, rule, job, nominee->key);
}

static gint64 longest_grace(const Marks *marks)
{
        gint64 grace = 0;

        for (guint i = 0; i < marks->marks->len; i++)
                grace = MAX(grace, g_array_index(marks->marks, Mark, i).job->shape->grace);
        return grace;
}

static void carry_out(Scheduler *s, Pass *pass, const Marks *marks, const Job *nominee, DecisionRule rule,
                      GArray *ret_victims)
{
        for (guint i = 0; i < marks->marks->len; i++) {
                const Mark *mark = &g_array_index(marks->marks, Mark, i);

                if (mark->task < 0)
                        evict(s, pass, mark->job, nominee, rule);
                else if (mark->job->run->n_marked > 0)
                        shrink(s, pass, marks, mark->job, nominee, rule);
                else
                        continue;
                g_array_append_val(ret_victims, mark->job->key);
        }
}

bool marks_carry_out(Scheduler *s, Pass *pass, Marks *marks, Shape *nominee, DecisionRule rule)
{
        Job *job = g_sequence_get(g_sequence_get_begin_iter(nominee->jobs));
        g_autofree SchedTask *tasks = g_new(SchedTask, shape_ask(nominee)->n_tasks);
        Nomination *nomination;

        marks_spare(s, marks, nominee);
        if (!sim_place(s, tasks)) {
                marks_undo(s, marks);
                return false;
        }
        nomination = g_new0(Nomination, 1);
        nomination->key = job->key;
        nomination->until = s->now + MAX(s->nominated_ms, longest_grace(marks));
        nomination->tasks = g_steal_pointer(&tasks);
        nomination->victims = g_array_new(FALSE, FALSE, sizeof(gint64));
        carry_out(s, pass, marks, job, rule, nomination->victims);
        g_array_set_size(marks->marks, 0);
        nomination_add(s, nomination);
        return true;
}
