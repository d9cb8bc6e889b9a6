/* Freeing capacity: which jobs are evicted or shrunk so that a gang fits afterwards.
 *
 * To mark a victim is to charge what it holds as releasing: exactly what its eviction will do, and undone as
 * exactly; sim.c says after each whether the gang would fit. When it does, those that turn out not to be
 * needed are spared, the last one first. Only then anything is decided. */
#include "sched/victim.h"

enum { KILL_MS = 10000 }; /* until the end of one that has used all of its grace is known */

/* ---- victims ---- */

/* The work that is lost: share of the cluster in millionths × ms since it started or saved. */
static gint64 lost_work(const Scheduler *s, const Job *job)
{
        const Gang *gang = job_gang(job);
        const Cluster *cluster = cluster_find(s, gang->cluster);
        gint64 since = MAX(0, s->now - MAX(job->run->started, job->run->saved)), lost = 0;
        Resources held = { 0 };

        for (int role = 0, task = 0; role < gang->n_roles; role++)
                for (int i = 0; i < gang->roles[role].replicas; i++, task++)
                        if (job->run->tasks[task].node >= 0)
                                amounts_add(&held, &gang->roles[role].each);
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

static bool is_fair_game(Scheduler *s, const Job *job)
{
        if (!job->shape->preemptable || job->state != SCHED_RUNNING || job->run->going || job_is_safe(s, job))
                return false;
        if (job->run->start_pass != s->pass)
                return true;
        s->again = true; /* nobody is started and evicted in one pass */
        return false;
}

static void find_victims(Scheduler *s, const QueueNode *queue, bool with_surplus, GArray *victims)
{
        for (guint i = 0; i < queue->running->len; i++) {
                Job *job = queue->running->pdata[i];
                Victim victim = { job, 0 };

                if (!is_fair_game(s, job) || (with_surplus && !gang_is_flexible(job_gang(job))))
                        continue;
                victim.lost = lost_work(s, job);
                g_array_append_val(victims, victim);
        }
        g_array_sort(victims, compare_victims);
}

const GArray *victims_of(Scheduler *s, QueueNode *queue)
{
        if (memo_fresh(&queue->victim.memo, s->pass))
                return queue->victim.victims;
        memo_keep(&queue->victim.memo, s->pass);
        g_array_set_size(queue->victim.victims, 0);
        find_victims(s, queue, false, queue->victim.victims);
        return queue->victim.victims;
}

GArray *victims_with_surplus(Scheduler *s, const QueueNode *queue)
{
        GArray *victims = g_array_new(FALSE, FALSE, sizeof(Victim));

        find_victims(s, queue, true, victims);
        return victims;
}

/* An evicted job does not get its place back at the cost of the one for which it was evicted. */
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
        const Gang *gang = job_gang(job);
        guint32 kinds = 0;

        for (int role = 0; role < gang->n_roles; role++)
                kinds |= gang->classes[role]->mask;
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
        const Gang *gang = job_gang(job);

        for (int role = gang->n_roles - 1; role >= 0; role--) {
                int placed = 0, last = -1;

                if (gang->roles[role].replicas == gang->need[role] || !(gang->classes[role]->mask & lacking))
                        continue;
                for (int i = 0; i < gang->roles[role].replicas; i++) {
                        int task = gang->first[role] + i;

                        if (job->run->tasks[task].node < 0 || is_marked(marks, job, task))
                                continue;
                        placed++;
                        last = task;
                }
                if (placed > gang->need[role])
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
        const Gang *gang = shape_gang(nominee);
        int kind;

        return !queue_over_max(s, shape_queue(nominee), &gang->need_total, gang->mask, LATER, &kind) &&
               !queue_kept_from(s, shape_queue(nominee), &gang->need_total, gang->mask, LATER, &kind) &&
               sim_fits(s, shape_gang(nominee));
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
        const Gang *gang = shape_gang(nominee);
        const Cluster *cluster = cluster_find(s, gang->cluster);
        guint32 lacking = 0;

        FOR_KINDS(kind, gang->mask)
                if (gang->need_total.amount[kind] > cluster->free.amount[kind] +
                                                            cluster->releasing.amount[kind] -
                                                            cluster->planned.amount[kind])
                        lacking |= 1u << kind;
        for (QueueNode *queue = shape_queue(nominee); queue; queue = queue->parent)
                FOR_KINDS(kind, gang->mask & queue->max_mask)
                        if (queue->alloc.amount[kind] - queue->releasing.amount[kind] +
                                    queue->planned.amount[kind] + gang->need_total.amount[kind] >
                            queue->max.amount[kind])
                                lacking |= 1u << kind;
        return lacking ? lacking : gang->mask;
}

/* ---- deciding ---- */

static void evict(Scheduler *s, Pass *pass, Job *job, const Job *nominee, DecisionRule rule)
{
        Past *past = job_past(s, job);

        job->run->marked = false;
        job->state = SCHED_ENDING;
        memo_drop(&job_queue(job)->backfill.ends_memo);
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
        job_past(s, job)->evictor = nominee->key;
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

static void tell_nodes(Scheduler *s, const Mark *mark)
{
        for (int i = 0; i < job_gang(mark->job)->n_tasks; i++)
                if (mark->task < 0 || mark->task == i) {
                        Node *node = node_find(s, mark->job->run->tasks[i].node);

                        if (node)
                                node_has_more(node);
                }
}

static void carry_out(Scheduler *s, Pass *pass, const Marks *marks, const Job *nominee, DecisionRule rule,
                      GArray *ret_victims)
{
        for (guint i = 0; i < marks->marks->len; i++)
                tell_nodes(s, &g_array_index(marks->marks, Mark, i));
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
        g_autofree SchedTask *tasks = g_new(SchedTask, shape_gang(nominee)->n_tasks);
        Nomination *nomination;

        marks_spare(s, marks, nominee);
        if (!sim_place(s, shape_gang(nominee), tasks)) {
                marks_undo(s, marks);
                return false;
        }
        nomination = g_new0(Nomination, 1);
        nomination->key = job->key;
        nomination->until = s->now + MAX(s->nominated_ms, longest_grace(marks) + KILL_MS);
        nomination->tasks = g_steal_pointer(&tasks);
        nomination->victims = g_array_new(FALSE, FALSE, sizeof(gint64));
        carry_out(s, pass, marks, job, rule, nomination->victims);
        g_array_set_size(marks->marks, 0);
        nomination_add(s, nomination);
        return true;
}
