/* The simulator's clock (see simulate.h): a heap of events, and after all events of one moment a pass.
 *
 *      waiting ─start▶ running ─its work is done, or its limit reached▶ over
 *                 ▲       │ ▲└─shrink: surplus tasks hold for `grace` more
 *                 │       │ └─grow
 *                 └─grace─┴ evicted: what was saved is kept
 *
 * Work is counted in task × ms, so an elastic job that runs with half of its tasks needs twice the time.
 * Figures are areas, brought up to date whenever what they integrate changes; they may be floating point,
 * decisions are not. */
#include "sim/simulate.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "sim/internal.h"

typedef enum { OUTSIDE, WAITING, RUNNING, EVICTED, OVER } Phase;

typedef struct {
        const TraceGroup *group;
        gint64 arrived, first_start; /* first_start < 0: not yet */
        gint64 started, saved_at;    /* of the attempt; saved_at 0: not yet */
        gint64 work, saved, since;   /* task × ms done, of it saved, as of `since` */
        SchedTask *tasks;            /* NULL when not placed */
        Resources held;              /* surplus of a shrink included */
        int placed;
        Phase phase;
        gint64 trim_at;  /* when the surplus of a shrink is gone; 0: there is none */
        guint16 version; /* of its plans: events of an older one are void */
} Job;

typedef enum { EVENT_END, EVENT_SAVE, EVENT_GONE, EVENT_TRIMMED } EventKind;

typedef struct {
        gint64 at;
        guint32 job, order; /* `order`: ties are served as they came */
        guint16 version;
        guint8 kind;
} Event;

/* Who is compared with others: a queue, or a user. */
typedef struct {
        Resources held;
        gint64 waiting, since;               /* jobs; of the areas */
        double service, contended_s, served; /* `served`: service while contended */
        gint64 jobs, evictions;
} Party;

typedef struct {
        Party *all;
        int n, contending; /* parties with waiting jobs */
} Parties;

typedef struct {
        const Room *room;
        const Trace *trace;
        const SimulateOptions *options; /* or NULL */
        Scheduler *scheduler;
        Simulation *result;
        gint64 now, since; /* `since`: of the room's areas */
        GArray *events;    /* Event, a heap */
        guint32 order;
        Job *jobs;
        guint arrived; /* of the trace's */
        Parties queues, users;
        Resources held;
        double area[RESOURCE_KINDS_MAX], lost[RESOURCE_KINDS_MAX];
        Decisions decisions;
} Sim;

/* ---- events ---- */

static bool earlier(const Event *a, const Event *b)
{
        return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static Event *event_at(Sim *sim, guint i)
{
        return &g_array_index(sim->events, Event, i);
}

static void swap_events(Sim *sim, guint i, guint j)
{
        Event event = *event_at(sim, i);

        *event_at(sim, i) = *event_at(sim, j);
        *event_at(sim, j) = event;
}

static void plan(Sim *sim, const Job *job, EventKind kind, gint64 at)
{
        Event event = { .at = at,
                        .job = (guint32)(job - sim->jobs),
                        .order = sim->order++,
                        .version = job->version,
                        .kind = (guint8)kind };
        guint i = sim->events->len;

        g_array_append_val(sim->events, event);
        for (; i > 0 && earlier(event_at(sim, i), event_at(sim, (i - 1) / 2)); i = (i - 1) / 2)
                swap_events(sim, i, (i - 1) / 2);
}

static Event next_event(Sim *sim)
{
        Event first = *event_at(sim, 0);

        g_array_remove_index_fast(sim->events, 0);
        for (guint i = 0;;) {
                guint child = 2 * i + 1;

                if (child + 1 < sim->events->len && earlier(event_at(sim, child + 1), event_at(sim, child)))
                        child++;
                if (child >= sim->events->len || !earlier(event_at(sim, child), event_at(sim, i)))
                        return first;
                swap_events(sim, i, child);
                i = child;
        }
}

/* ---- areas ---- */

static double dominant_share(const Sim *sim, const Resources *held)
{
        double most = 0;

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                if (sim->room->total.amount[kind] > 0)
                        most = MAX(most, (double)held->amount[kind] / (double)sim->room->total.amount[kind]);
        return most;
}

static void settle_party(Sim *sim, Parties *parties, Party *party)
{
        double seconds = (double)(sim->now - party->since) / 1000;
        double service = seconds * dominant_share(sim, &party->held);

        party->since = sim->now;
        party->service += service;
        if (party->waiting > 0 && parties->contending >= 2) {
                party->contended_s += seconds;
                party->served += service;
        }
}

static void settle_room(Sim *sim)
{
        double ms = (double)(sim->now - sim->since);

        if (sim->options && sim->options->held && sim->now > sim->since)
                sim->options->held(sim->since, sim->now, &sim->held, &sim->room->total, sim->options->arg);
        sim->since = sim->now;
        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                sim->area[kind] += ms * (double)sim->held.amount[kind];
}

static void party_waits(Sim *sim, Parties *parties, int id, int change)
{
        Party *party = &parties->all[id];
        bool before = party->waiting > 0, after = party->waiting + change > 0;

        /* Whether anybody contends changes only between one and two: then all who wait are brought up to
         * date. */
        if (before != after && parties->contending + after - before != parties->contending &&
            parties->contending <= 2)
                for (int i = 0; i < parties->n; i++)
                        if (parties->all[i].waiting > 0)
                                settle_party(sim, parties, &parties->all[i]);
        settle_party(sim, parties, party);
        party->waiting += change;
        parties->contending += after - before;
}

static void job_waits(Sim *sim, const Job *job, int change)
{
        party_waits(sim, &sim->queues, job->group->job.queue, change);
        party_waits(sim, &sim->users, job->group->job.user, change);
}

/* The job holds `held` from now on. */
static void hold(Sim *sim, Job *job, const Resources *held)
{
        Party *queue = &sim->queues.all[job->group->job.queue], *user = &sim->users.all[job->group->job.user];

        settle_room(sim);
        settle_party(sim, &sim->queues, queue);
        settle_party(sim, &sim->users, user);
        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++) {
                gint64 change = held->amount[kind] - job->held.amount[kind];

                sim->held.amount[kind] += change;
                queue->held.amount[kind] += change;
                user->held.amount[kind] += change;
        }
        job->held = *held;
}

static Resources tasks_hold(const Job *job)
{
        const SchedJob *shape = &job->group->job;
        Resources sum = { 0 };

        for (int role = 0, task = 0; role < shape->n_roles; role++)
                for (int i = 0; i < shape->roles[role].replicas; i++, task++)
                        if (job->tasks[task].node >= 0)
                                (void)resources_add(&sum, &shape->roles[role].each,
                                                    1); /* checked by the parser */
        return sum;
}

/* ---- jobs ---- */

static gint64 job_key(const Sim *sim, const Job *job)
{
        return job - sim->jobs + 1;
}

static bool put_job(Sim *sim, const Job *job, SchedJobState state, GError **error)
{
        SchedJob put = job->group->job;

        put.key = job_key(sim, job);
        put.submitted = job->arrived;
        put.state = state;
        if (state != SCHED_PENDING) {
                put.started = job->started;
                put.saved = job->saved_at;
                put.tasks = job->tasks;
        }
        if (!scheduler_put_job(sim->scheduler, &put))
                return err_set(error, ERR_FAILED, "the scheduler refuses job %" G_GINT64_FORMAT, put.key);
        return true;
}

static void work_on(Sim *sim, Job *job)
{
        if (job->phase == RUNNING)
                job->work += (sim->now - job->since) * job->placed;
        job->since = sim->now;
}

static gint64 whole_work(const Job *job)
{
        return job->group->run_ms * job->group->tasks;
}

/* New plans for a job that runs: its end, by itself or at its limit, and its next save; none while it is
 * being trimmed, since it is put again then. */
static void plan_job(Sim *sim, Job *job)
{
        gint64 left = whole_work(job) - job->work, limit = job->group->job.time_limit_ms, end = G_MAXINT64;

        job->version++;
        if (job->placed > 0)
                end = sim->now + (left + job->placed - 1) / job->placed;
        if (limit > 0)
                end = MIN(end, MAX(job->started + limit, sim->now));
        if (end < G_MAXINT64)
                plan(sim, job, EVENT_END, end);
        if (job->trim_at > 0)
                plan(sim, job, EVENT_TRIMMED, job->trim_at);
        else if (job->group->save_ms > 0)
                plan(sim, job, EVENT_SAVE,
                     MAX(MAX(job->saved_at, job->started) + job->group->save_ms, sim->now));
}

static void count_placed(Job *job)
{
        job->placed = 0;
        for (int i = 0; i < job->group->tasks; i++)
                job->placed += job->tasks[i].node >= 0;
}

static void set_tasks(Job *job, const SchedTask *tasks)
{
        if (!job->tasks)
                job->tasks = g_new(SchedTask, (gsize)job->group->tasks);
        memcpy(job->tasks, tasks, (gsize)job->group->tasks * sizeof(SchedTask));
        count_placed(job);
}

static void leave_nodes(Sim *sim, Job *job)
{
        hold(sim, job, &(Resources){ 0 });
        g_clear_pointer(&job->tasks, g_free);
        job->placed = 0;
}

static bool arrive(Sim *sim, GError **error)
{
        const TraceJob *next = &g_array_index(sim->trace->jobs, TraceJob, sim->arrived);
        Job *job = &sim->jobs[sim->arrived++];

        *job = (Job){ .group = &g_array_index(sim->trace->groups, TraceGroup, next->group),
                      .arrived = next->at,
                      .first_start = -1,
                      .phase = WAITING };
        sim->queues.all[job->group->job.queue].jobs++;
        sim->users.all[job->group->job.user].jobs++;
        job_waits(sim, job, 1);
        return put_job(sim, job, SCHED_PENDING, error);
}

/* ---- what events do ---- */

static bool end_job(Sim *sim, Job *job, GError **error)
{
        job->phase = OVER;
        job->version++;
        leave_nodes(sim, job);
        scheduler_drop_job(sim->scheduler, job_key(sim, job));
        sim->result->end = sim->now;
        return true;
}

static bool save_job(Sim *sim, Job *job, GError **error)
{
        job->saved = job->work;
        job->saved_at = sim->now;
        plan_job(sim, job);
        return put_job(sim, job, SCHED_RUNNING, error);
}

static bool requeue_job(Sim *sim, Job *job, GError **error)
{
        leave_nodes(sim, job);
        job->phase = WAITING;
        job->saved_at = 0;
        job_waits(sim, job, 1);
        return put_job(sim, job, SCHED_PENDING, error);
}

/* The surplus of a shrink is gone. */
static bool trim_job(Sim *sim, Job *job, GError **error)
{
        Resources held = tasks_hold(job);

        hold(sim, job, &held);
        job->trim_at = 0;
        plan_job(sim, job);
        return put_job(sim, job, SCHED_RUNNING, error);
}

static bool (*const happenings[])(Sim *sim, Job *job, GError **error) = {
        [EVENT_END] = end_job, [EVENT_SAVE] = save_job, [EVENT_GONE] = requeue_job, [EVENT_TRIMMED] = trim_job
};

static bool happen(Sim *sim, GError **error)
{
        Event event = next_event(sim);
        Job *job = &sim->jobs[event.job];

        if (event.version != job->version)
                return true;
        work_on(sim, job);
        return happenings[event.kind](sim, job, error);
}

/* ---- what decisions do ---- */

static bool start_job(Sim *sim, Job *job, const SchedTask *tasks, GError **error)
{
        Resources held;

        set_tasks(job, tasks);
        held = tasks_hold(job);
        hold(sim, job, &held);
        job_waits(sim, job, -1);
        job->phase = RUNNING;
        job->started = sim->now;
        job->since = sim->now;
        job->work = job->saved;
        if (job->first_start < 0)
                job->first_start = sim->now;
        plan_job(sim, job);
        return true;
}

static bool grow_job(Sim *sim, Job *job, const SchedTask *tasks, GError **error)
{
        Resources held;

        set_tasks(job, tasks);
        held = tasks_hold(job);
        hold(sim, job, &held);
        plan_job(sim, job);
        return true;
}

/* It works on with what is left; the surplus holds until the grace is over. Its end may come first. */
static bool shrink_job(Sim *sim, Job *job, const SchedTask *tasks, GError **error)
{
        set_tasks(job, tasks);
        job->trim_at = MAX(sim->now + job->group->job.grace_ms, 1);
        plan_job(sim, job);
        return true;
}

static void lose_work(Sim *sim, const Job *job)
{
        double ms = job->placed ? (double)(job->work - job->saved) / job->placed : 0;

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                sim->lost[kind] += (ms + (double)job->group->job.grace_ms) * (double)job->held.amount[kind];
}

/* A job that saves does so when it is warned; without grace there is no warning. */
static bool evict_job(Sim *sim, Job *job, const SchedTask *tasks, GError **error)
{
        if (job->group->save_ms > 0 && job->group->job.grace_ms > 0)
                job->saved = job->work;
        lose_work(sim, job);
        job->phase = EVICTED;
        job->trim_at = 0;
        job->version++;
        sim->queues.all[job->group->job.queue].evictions++;
        plan(sim, job, EVENT_GONE, sim->now + job->group->job.grace_ms);
        return true;
}

static const struct {
        Phase from;
        bool placed; /* it carries tasks */
        bool (*carry_out)(Sim *sim, Job *job, const SchedTask *tasks, GError **error);
} carriers[DECIDE_KINDS] = {
        [DECIDE_START] = { WAITING, true, start_job },
        [DECIDE_GROW] = { RUNNING, true, grow_job },
        [DECIDE_SHRINK] = { RUNNING, true, shrink_job },
        [DECIDE_EVICT] = { RUNNING, false, evict_job },
};

static bool carry_out(Sim *sim, const Decision *decision, GError **error)
{
        const SchedTask *tasks = NULL;
        Job *job;

        if (decision->key < 1 || decision->key > sim->arrived)
                return err_set(error, ERR_FAILED, "the scheduler decides on an unknown job");
        job = &sim->jobs[decision->key - 1];
        if (job->phase != carriers[decision->kind].from ||
            (carriers[decision->kind].placed && decision->n_tasks != job->group->tasks))
                return err_set(error, ERR_FAILED, "the scheduler cannot do that to job %" G_GINT64_FORMAT,
                               decision->key);
        if (decision->n_tasks > 0)
                tasks = &g_array_index(sim->decisions.tasks, SchedTask, decision->first_task);
        sim->result->decisions[decision->kind]++;
        sim->result->rules[decision->rule]++;
        work_on(sim, job);
        return carriers[decision->kind].carry_out(sim, job, tasks, error);
}

/* ---- the clock ---- */

/* The next moment at which anything happens; G_MAXINT64: never again. */
static gint64 next_moment(Sim *sim)
{
        gint64 next = G_MAXINT64, due = scheduler_due(sim->scheduler);

        if (sim->arrived < sim->trace->jobs->len)
                next = g_array_index(sim->trace->jobs, TraceJob, sim->arrived).at;
        if (sim->events->len > 0)
                next = MIN(next, event_at(sim, 0)->at);
        /* When only the scheduler's own clock is left, and nobody waits, nothing can come of it. */
        if (due > 0 && (next < G_MAXINT64 || sim->queues.contending > 0))
                next = MIN(next, MAX(due, sim->now + 1));
        return next;
}

static bool step(Sim *sim, gint64 now, GError **error)
{
        sim->now = now;
        while (sim->events->len > 0 && event_at(sim, 0)->at <= now)
                if (!happen(sim, error))
                        return false;
        while (sim->arrived < sim->trace->jobs->len &&
               g_array_index(sim->trace->jobs, TraceJob, sim->arrived).at <= now)
                if (!arrive(sim, error))
                        return false;
        scheduler_pass(sim->scheduler, now, &sim->decisions);
        sim->result->passes++;
        for (guint i = 0; i < sim->decisions.decisions->len; i++)
                if (!carry_out(sim, &g_array_index(sim->decisions.decisions, Decision, i), error))
                        return false;
        return true;
}

static bool run(Sim *sim, gint64 max_passes, GError **error)
{
        gint64 next;

        while ((next = next_moment(sim)) < G_MAXINT64) {
                if (max_passes > 0 && sim->result->passes >= max_passes)
                        break;
                if (!step(sim, next, error))
                        return false;
        }
        settle_room(sim);
        for (int i = 0; i < sim->queues.n; i++)
                settle_party(sim, &sim->queues, &sim->queues.all[i]);
        for (int i = 0; i < sim->users.n; i++)
                settle_party(sim, &sim->users, &sim->users.all[i]);
        return true;
}

/* ---- figures ---- */

static int compare_waits(const void *a, const void *b)
{
        gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

        return (x > y) - (x < y);
}

/* The smallest wait that `percent` of all do not exceed. */
static gint64 percentile(const GArray *waits, guint percent)
{
        guint rank = (guint)(((guint64)waits->len * percent + 99) / 100);

        return waits->len ? g_array_index(waits, gint64, MAX(rank, 1) - 1) : 0;
}

/* Of all jobs, or those of one queue. */
static void sum_waits(const Sim *sim, int queue, GArray *waits, SimulatedWait *ret)
{
        double sum = 0;

        g_array_set_size(waits, 0);
        for (guint i = 0; i < sim->arrived; i++) {
                const Job *job = &sim->jobs[i];
                gint64 wait = job->first_start - job->arrived;

                if (queue >= 0 && job->group->job.queue != queue)
                        continue;
                ret->jobs++;
                ret->ended += job->phase == OVER;
                if (job->first_start < 0)
                        continue;
                g_array_append_val(waits, wait);
                sum += (double)wait;
        }
        g_array_sort(waits, compare_waits);
        ret->started = waits->len;
        ret->mean = waits->len ? (gint64)(sum / waits->len + 0.5) : 0;
        ret->p50 = percentile(waits, 50);
        ret->p95 = percentile(waits, 95);
        ret->max = percentile(waits, 100);
}

static double job_ms(const TraceGroup *group)
{
        gint64 limit = group->job.time_limit_ms;

        return (double)(limit > 0 ? MIN(limit, group->run_ms) : group->run_ms);
}

static double group_work(const TraceGroup *group, int kind)
{
        double each = 0;

        for (int role = 0; role < group->job.n_roles; role++)
                each += (double)group->job.roles[role].each.amount[kind] * group->job.roles[role].replicas;
        return each * job_ms(group);
}

/* The earliest end that any scheduler could reach: no job ends before its run is over, and what arrives from
 * a moment on takes at least its work over the room's capacity. */
static double earliest_end(const Sim *sim, double ret_work[RESOURCE_KINDS_MAX])
{
        const GArray *jobs = sim->trace->jobs;
        double end = 0;

        for (guint i = jobs->len; i-- > 0;) {
                const TraceJob *job = &g_array_index(jobs, TraceJob, i);
                const TraceGroup *group = &g_array_index(sim->trace->groups, TraceGroup, job->group);

                end = MAX(end, (double)job->at + job_ms(group));
                for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++) {
                        if (sim->room->total.amount[kind] == 0)
                                continue;
                        ret_work[kind] += group_work(group, kind);
                        end = MAX(end,
                                  (double)job->at + ret_work[kind] / (double)sim->room->total.amount[kind]);
                }
        }
        return end;
}

static void sum_utilisation(const Sim *sim, Simulation *ret)
{
        double work[RESOURCE_KINDS_MAX] = { 0 }, ms = (double)(ret->end - ret->start);
        double least = earliest_end(sim, work) - (double)ret->start;

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++) {
                double total = (double)sim->room->total.amount[kind];

                ret->utilisation[kind] = total > 0 && ms > 0 ? sim->area[kind] / (total * ms) : -1;
                ret->useful[kind] =
                        total > 0 && ms > 0 ? (sim->area[kind] - sim->lost[kind]) / (total * ms) : -1;
                ret->bound[kind] = total > 0 && least > 0 ? work[kind] / (total * least) : -1;
        }
}

static double jain(double sum, double squares, int n)
{
        return n < 2 || squares <= 0 ? -1 : sum * sum / (n * squares);
}

static double user_fairness(const Sim *sim)
{
        double sum = 0, squares = 0;
        int n = 0;

        for (int i = 0; i < sim->users.n; i++) {
                const Party *user = &sim->users.all[i];
                double rate = user->contended_s > 0 ? user->served / user->contended_s : 0;

                n += user->contended_s > 0;
                sum += rate;
                squares += rate * rate;
        }
        return jain(sum, squares, n);
}

/* Shares of the room: the min of each queue that had jobs, and the rest by weight. */
static void entitle(const Sim *sim, double ret[])
{
        double rest = 1, weights = 0;

        for (int i = 0; i < sim->queues.n; i++) {
                const SchedQueue *queue = &g_array_index(sim->room->queues, SchedQueue, i);

                ret[i] = sim->queues.all[i].jobs > 0 ? dominant_share(sim, &queue->min) : 0;
                rest -= ret[i];
                weights += sim->queues.all[i].jobs > 0 ? queue->weight : 0;
        }
        for (int i = 0; i < sim->queues.n && rest > 0; i++)
                if (sim->queues.all[i].jobs > 0)
                        ret[i] += rest * g_array_index(sim->room->queues, SchedQueue, i).weight / weights;
}

static void sum_queues(const Sim *sim, Simulation *ret)
{
        g_autofree double *entitled = g_new0(double, (gsize)sim->queues.n);
        g_autoptr(GArray) waits = g_array_new(false, false, sizeof(gint64));
        double sum = 0, squares = 0;
        int contended = 0;

        entitle(sim, entitled);
        sum_waits(sim, -1, waits, &ret->wait);
        ret->unstarted = sim->trace->jobs->len - ret->wait.started;
        ret->queues = g_new0(SimulatedQueue, (gsize)sim->queues.n);
        for (int i = 0; i < sim->queues.n; i++) {
                const Party *party = &sim->queues.all[i];
                SimulatedQueue *queue = &ret->queues[ret->n_queues];

                if (party->jobs == 0)
                        continue;
                ret->n_queues++;
                queue->name = g_array_index(sim->room->queues, SchedQueue, i).name;
                queue->evictions = party->evictions;
                queue->service = party->service;
                queue->entitled = entitled[i];
                queue->contended_s = party->contended_s;
                if (party->contended_s > 0 && entitled[i] > 0) {
                        queue->contended = party->served / party->contended_s / entitled[i];
                        contended++;
                }
                sum += queue->contended;
                squares += queue->contended * queue->contended;
                sum_waits(sim, i, waits, &queue->wait);
        }
        ret->fairness_queues = jain(sum, squares, contended);
        ret->fairness_users = user_fairness(sim);
}

/* ---- the whole ---- */

static bool set_up(Sim *sim, GError **error)
{
        const Room *room = sim->room;

        for (guint i = 0; i < room->nodes->len; i++)
                if (!scheduler_put_node(sim->scheduler, &g_array_index(room->nodes, SchedNode, i)))
                        return err_set(error, ERR_FAILED, "the scheduler refuses node '%s'",
                                       g_array_index(room->nodes, SchedNode, i).name);
        for (guint i = 0; i < room->queues->len; i++)
                if (!scheduler_put_queue(sim->scheduler, &g_array_index(room->queues, SchedQueue, i)))
                        return err_set(error, ERR_FAILED, "the scheduler refuses queue '%s'",
                                       g_array_index(room->queues, SchedQueue, i).name);
        return true;
}

static void sim_clear(Sim *sim)
{
        for (guint i = 0; i < sim->arrived; i++)
                g_free(sim->jobs[i].tasks);
        g_free(sim->jobs);
        g_free(sim->queues.all);
        g_free(sim->users.all);
        g_array_unref(sim->events);
        decisions_clear(&sim->decisions);
        scheduler_free(sim->scheduler);
}

bool simulate(const Room *room, const Trace *trace, const SimulateOptions *options, Simulation *ret,
              GError **error)
{
        Simulation result = { 0 };
        Sim sim = { .room = room, .trace = trace, .options = options, .result = &result };
        bool ok;

        g_assert(trace->room == room);
        result.start = trace->jobs->len ? g_array_index(trace->jobs, TraceJob, 0).at : 0;
        result.end = sim.now = sim.since = result.start;
        sim.scheduler = scheduler_new(&room->config);
        sim.events = g_array_new(false, false, sizeof(Event));
        sim.jobs = g_new0(Job, trace->jobs->len);
        sim.queues.n = (int)room->queues->len;
        sim.users.n = (int)g_hash_table_size(trace->user_ids);
        sim.queues.all = g_new0(Party, (gsize)sim.queues.n);
        sim.users.all = g_new0(Party, (gsize)sim.users.n);
        decisions_init(&sim.decisions);
        ok = set_up(&sim, error) && run(&sim, options ? options->max_passes : 0, error);
        if (ok) {
                sum_utilisation(&sim, &result);
                sum_queues(&sim, &result);
                *ret = result;
        }
        sim_clear(&sim);
        return ok;
}

void simulation_clear(Simulation *simulation)
{
        g_clear_pointer(&simulation->queues, g_free);
        simulation->n_queues = 0;
}
