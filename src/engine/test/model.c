/* The state machine of jobs, explored: three jobs on two nodes, every interleaving of what people, members,
 * nodes and the clock can do. Each state is reached once; in each the books must balance, no member may be
 * started while it runs, and from each there must be a way to the end of all jobs.
 *
 * Pure: life.c decides, the scheduler decides, and this file stands for engine and runtime between them. Time
 * is left out of what makes two states different; only what waits for it counts.
 *
 * A second exploration has a job with two preparations beside a plain one, in every order in which they become ready
 * or fail, with holds, cancels and retries.
 *
 * Under a sanitizer it ends after the first states: these see each kind of move, not every order of them. */
#include <string.h>

#include "base/test/sanitized.h"
#include "base/test/seed.h"
#include "engine/life.h"
#include "model/framework.h"
#include "sched/scheduler.h"

enum {
        JOBS = 3,    /* at most */
        MEMBERS = 2, /* at most; of preparations as well */
        NODES = 2,
        NODE_CPU = 2000,
        STATES_MAX = 2000000,
        STATES_SANITIZED = 10000
};

typedef struct {
        const char *name;
        int replicas, min, priority, retries, warn_signal;
        bool end_evicted;
        bool prepares; /* it has a preparation of each of the first two kinds */
} Shape;

/* Together they ask for twice what there is: an elastic job that is warned, one that ends when it is evicted,
 * and one that makes both go. */
static const Shape three_jobs[] = {
        { "elastic", 2, 1, 0, 0, 10, false },
        { "ending", 1, 1, 0, 1, 0, true },
        { "urgent", 2, 2, 100, 0, 0, false },
};
/* The second takes all that there is, and is preempted by the first when this one is prepared. */
static const Shape preparing_jobs[] = {
        { "prepared", 1, 1, 100, 1, 0, false, .prepares = true },
        { "plain", 2, 2, 0, 0, 0, false },
};

static const Shape *shapes;
static int n_jobs;

typedef struct {
        Job *jobs[JOBS]; /* NULL: not submitted yet */
        Scheduler *scheduler;
        gint64 now;
        bool up[NODES];
        bool runs[JOBS][MEMBERS]; /* there is a process */
        int node[JOBS][MEMBERS];
} State;

static Spec *specs[JOBS];
static bool soak; /* holds and refused starts as well: five times as many states */

static Spec *make_spec(int i)
{
        g_autofree char *quoted =
                g_strdup_printf("{'name':'%s','command':['t'],'framework':'plain','retries':%d,'grace':'5s','"
                                "priority':%d,%s%s"
                                "'roles':[{'name':'worker','replicas':%d,'min':%d,'cpu':'2'}]}",
                                shapes[i].name, shapes[i].retries, shapes[i].priority,
                                shapes[i].warn_signal ? "'signal':'USR1@1s'," : "",
                                shapes[i].end_evicted ? "'on_preempt':'end'," : "", shapes[i].replicas,
                                shapes[i].min);
        g_autofree char *text = g_strdelimit(g_strdup(quoted), "'", '"');
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) object = json_parse(text, strlen(text), &error);
        Spec *spec = object ? spec_parse(object, &error) : NULL;

        g_assert_no_error(error);
        return spec;
}

/* ---- states ---- */

static void put_node(Scheduler *scheduler, int node, bool up)
{
        const SchedNode put = {
                .id = node, .name = node ? "b" : "a", .total = { { .cpu_milli = NODE_CPU } }, .usable = up
        };

        g_assert_true(scheduler_put_node(scheduler, &put));
}

static State *state_new(void)
{
        const SchedulerConfig config = { .cooldown_ms = 1, .nominated_ms = 1000000000 };
        SchedQueue queue = { .parent = -1,
                             .name = "q",
                             .state = QUEUE_OPEN,
                             .weight = 1,
                             .reclaimable = true,
                             .preemption = PREEMPT_LOWER_PRIORITY };
        State *state = g_new0(State, 1);

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                queue.max.amount[kind] = RESOURCE_UNLIMITED;
        state->scheduler = scheduler_new(&config);
        state->now = 1000000;
        for (int node = 0; node < NODES; node++) {
                state->up[node] = true;
                put_node(state->scheduler, node, true);
        }
        g_assert_true(scheduler_put_queue(state->scheduler, &queue));
        return state;
}

static State *state_copy(const State *state)
{
        State *copy = g_memdup2(state, sizeof *state);

        copy->scheduler = scheduler_clone(state->scheduler);
        for (int i = 0; i < n_jobs; i++)
                copy->jobs[i] = state->jobs[i] ? job_draft(state->jobs[i]) : NULL;
        return copy;
}

static void state_free(State *state)
{
        scheduler_free(state->scheduler);
        for (int i = 0; i < n_jobs; i++)
                job_unref(state->jobs[i]);
        g_free(state);
}

/* What makes two states different. Counts that only grow are cut where they stop to matter. */
static char *key_with(const State *state, int first)
{
        GString *key = g_string_new(NULL);

        g_string_append_printf(key, "%d%d", state->up[first], state->up[!first]);
        for (int i = 0; i < n_jobs; i++) {
                const Job *job = state->jobs[i];

                if (!job) {
                        g_string_append(key, "|-");
                        continue;
                }
                g_string_append_printf(key, "|%d,%d,%d,%d,%d,%d,", job->state, job->stop_to,
                                       MIN(job->failures, 2), job->losses > LIFE_LOST_MAX, job->kill_at > 0,
                                       job->not_before > state->now);
                for (int p = 0; p < job->n_preparations; p++)
                        g_string_append_printf(key, "p%d ", job->preparations[p].state);
                for (int m = 0; m < job->n_members; m++)
                        g_string_append_printf(key, "%d%d%d ", job->members[m].state, state->runs[i][m],
                                               life_is_at_rest(job) ? 0 : state->node[i][m] ^ first);
        }
        return g_string_free(key, FALSE);
}

/* The nodes are as good as each other: a state and its mirror image are one. */
static char *state_key(const State *state)
{
        char *key = key_with(state, 0), *mirrored = key_with(state, 1);
        bool smaller = strcmp(key, mirrored) <= 0;

        g_free(smaller ? mirrored : key);
        return smaller ? key : mirrored;
}

static bool is_over(const State *state)
{
        for (int i = 0; i < n_jobs; i++)
                if (!state->jobs[i] || !job_state_is_final(state->jobs[i]->state))
                        return false;
        return true;
}

/* ---- the engine's part ---- */

static void drop_notes(Life *life)
{
        for (guint i = 0; i < life->notes->len; i++)
                g_free(g_array_index(life->notes, LifeNote, i).data);
        g_array_unref(life->notes);
}

static Life life_of(State *state, int i)
{
        return (Life){ .job = state->jobs[i],
                       .now = state->now,
                       .notes = g_array_new(FALSE, FALSE, sizeof(LifeNote)) };
}

static bool has_leaving(const Job *job)
{
        for (int m = 0; m < job->n_members; m++)
                if (member_is_leaving(job, &job->members[m]))
                        return true;
        return false;
}

static SchedJobState sched_state(const Job *job)
{
        if (life_is_at_rest(job))
                return SCHED_PENDING;
        return job->state == JOB_STOPPING || job->state == JOB_PREEMPTING || life_is_done(job)
                       ? SCHED_ENDING
                       : SCHED_RUNNING;
}

static void feed(State *state, int i)
{
        const Job *job = state->jobs[i];
        SchedTask tasks[MEMBERS];
        const SchedRole role = { { { .cpu_milli = NODE_CPU } }, shapes[i].replicas, shapes[i].min };
        SchedJob put = { .key = i + 1,
                         .priority = shapes[i].priority,
                         .submitted = job->submitted,
                         .not_before = job->not_before,
                         .grace_ms = job->spec->grace_ms,
                         .held = job->state == JOB_SUSPENDED || !job_is_prepared(job),
                         .preemptable = true,
                         .topology = -1,
                         .n_roles = 1,
                         .roles = &role,
                         .state = sched_state(job),
                         .started = job->admitted };

        if (job_state_is_final(job->state)) {
                scheduler_drop_job(state->scheduler, put.key);
                return;
        }
        if (has_leaving(job))
                return;
        for (int m = 0; m < job->n_members; m++)
                tasks[m].node = job->members[m].state == MEMBER_SURPLUS ? -1 : state->node[i][m];
        for (int m = 0; m < MEMBERS; m++)
                tasks[m].devices = 0;
        put.tasks = put.state == SCHED_PENDING ? NULL : tasks;
        g_assert_true(scheduler_put_job(state->scheduler, &put));
}

static void make_members(Job *job)
{
        for (int m = 0; m < job->n_members; m++)
                g_free(job->members[m].error);
        g_free(job->members);
        job->n_members = spec_members(job->spec);
        job->members = g_new0(Member, job->n_members);
        for (int m = 0; m < job->n_members; m++) {
                job->members[m].index = m;
                job->members[m].exit_code = -1;
                job->members[m].state = MEMBER_SURPLUS;
        }
}

static void decide(State *state, const Decision *decision, const SchedTask *tasks)
{
        int i = (int)decision->key - 1;
        Job *job = state->jobs[i];
        Life life = life_of(state, i);
        bool flags[MEMBERS] = { false };

        for (int m = 0; m < decision->n_tasks; m++) {
                flags[m] = tasks[m].node >= 0;
                if (flags[m])
                        g_assert_true(state->up[tasks[m].node] || decision->kind == DECIDE_SHRINK ||
                                      state->node[i][m] == tasks[m].node);
                if (flags[m] && decision->kind != DECIDE_SHRINK)
                        state->node[i][m] = tasks[m].node;
        }
        switch (decision->kind) {
        case DECIDE_START:
                job->attempt++;
                make_members(job);
                for (int m = 0; m < job->n_members; m++)
                        if (flags[m])
                                job->members[m].state = MEMBER_WAITING;
                life_admitted(&life);
                break;
        case DECIDE_GROW: life_grown(&life, flags); break;
        case DECIDE_SHRINK: life_shrunk(&life, flags, "another", "x"); break;
        default: life_evicted(&life, "another", "x");
        }
        drop_notes(&life);
        /* What had no process is gone at once. */
        if (decision->kind == DECIDE_SHRINK || (decision->kind == DECIDE_EVICT && life_is_at_rest(job)))
                feed(state, i);
}

static void pass(State *state)
{
        Decisions decisions;

        decisions_init(&decisions);
        scheduler_pass(state->scheduler, state->now, &decisions);
        for (guint n = 0; n < decisions.decisions->len; n++) {
                const Decision *decision = &g_array_index(decisions.decisions, Decision, n);

                decide(state, decision, &g_array_index(decisions.tasks, SchedTask, decision->first_task));
        }
        decisions_clear(&decisions);
}

/* What follows for processes: a start is asked for when a member is intended. */
static void act(State *state, const State *before)
{
        for (int i = 0; i < n_jobs; i++) {
                const Job *was = before->jobs[i], *job = state->jobs[i];

                for (int m = 0; job && m < job->n_members; m++) {
                        bool same = was && was->attempt == job->attempt && m < was->n_members;

                        if (job->members[m].state != MEMBER_INTENDED ||
                            (same && was->members[m].state == MEMBER_INTENDED))
                                continue;
                        if (state->runs[i][m])
                                g_error("%s-%d is started while it runs", shapes[i].name, m);
                        state->runs[i][m] = true;
                }
        }
}

/* ---- what must hold ---- */

/* No attempt begins before everything is prepared, and a job of which a preparation has failed has failed. */
static void check_preparations(const Job *job)
{
        PreparationState prepared = job_preparation_state(job);

        if (!life_is_at_rest(job) || job->attempt > 0)
                g_assert_true(job_is_prepared(job));
        g_assert_true(prepared != PREPARATION_FAILED || job->state == JOB_FAILED);
        if (job->state == JOB_SUSPENDED)
                g_assert_cmpint(prepared, !=, PREPARATION_RUNNING);
        for (int p = 0; p < job->n_preparations; p++) {
                const Preparation *one = &job->preparations[p];

                g_assert_true((one->state == PREPARATION_READY) == (one->ready > 0));
                g_assert_true(one->state == PREPARATION_WAITING || one->begun > 0);
        }
}

static void check_job(const State *state, int i)
{
        const Job *job = state->jobs[i];

        check_preparations(job);
        for (int m = 0; m < job->n_members; m++) {
                const Member *member = &job->members[m];

                if (life_is_at_rest(job) && state->runs[i][m])
                        g_error("%s is %s and %s-%d runs", job->name, job_state_name(job->state), job->name,
                                m);
                if (member_is_ended(member) && state->runs[i][m])
                        g_error("%s-%d runs and is %s", job->name, m, member_state_name(member->state));
                if (job->state == JOB_SUCCEEDED && member->state != MEMBER_SURPLUS && member->exit_code != 0)
                        g_error("%s succeeded, %s-%d did not", job->name, job->name, m);
        }
        g_assert_true(job_state_is_final(job->state) == (job->finished > 0));
        g_assert_cmpint(job->failures, <=, shapes[i].retries + 1);
}

/* What the jobs hold is what the scheduler counts, on each node, and never more than there is. */
static void check_nodes(const State *state)
{
        for (int node = 0; node < NODES; node++) {
                gint64 held = 0;
                Resources used;
                guint64 devices;

                for (int i = 0; i < n_jobs; i++) {
                        const Job *job = state->jobs[i];

                        for (int m = 0; job && !life_is_at_rest(job) && m < job->n_members; m++)
                                held += job->members[m].state != MEMBER_SURPLUS && state->node[i][m] == node
                                                ? NODE_CPU
                                                : 0;
                }
                g_assert_true(scheduler_node(state->scheduler, node, &used, &devices));
                if (used.cpu_milli != held || held > NODE_CPU) {
                        g_autofree char *key = state_key(state);

                        g_error("node %d: the jobs hold %d, the scheduler counts %d; %s", node, (int)held,
                                (int)used.cpu_milli, key);
                }
        }
}

static void check(const State *state)
{
        for (int i = 0; i < n_jobs; i++)
                if (state->jobs[i])
                        check_job(state, i);
        check_nodes(state);
}

/* ---- moves ---- */

typedef enum {
        MOVE_SUBMIT,
        MOVE_PREPARING, /* the scheduler starts a preparation, or a released job asks for it again */
        MOVE_PREPARED,
        MOVE_UNPREPARED, /* it could not be made */
        MOVE_CANCEL,
        MOVE_HOLD,
        MOVE_RELEASE,
        MOVE_STARTED,
        MOVE_REFUSED, /* could not be started */
        MOVE_DONE,    /* exits with 0 */
        MOVE_FAILS,
        MOVE_UNKNOWN, /* the runtime is to stop what it never started, and says that it is lost */
        MOVE_NODE_LOST,
        MOVE_NODE_BACK,
        MOVE_TIME, /* until something is due */
        MOVES,
} MoveKind;

static gint64 earliest(gint64 a, gint64 b, gint64 now)
{
        if (b <= now)
                return a;
        return a == 0 ? b : MIN(a, b);
}

/* 0: nothing waits for the clock. */
static gint64 due(const State *state)
{
        gint64 at = 0;

        for (int i = 0; i < n_jobs; i++) {
                const Job *job = state->jobs[i];

                if (!job || job_state_is_final(job->state))
                        continue;
                at = earliest(at, life_due(job), state->now);
                if (job->state == JOB_QUEUED)
                        at = earliest(at, job->not_before, state->now);
        }
        return at;
}

static void lose_node(State *state, int node)
{
        state->up[node] = false;
        put_node(state->scheduler, node, false);
        for (int i = 0; i < n_jobs; i++) {
                for (int m = 0; m < MEMBERS; m++) {
                        const MemberEnd end = { .kind = END_LOST, .exit_code = -1, .time = state->now };
                        Life life;

                        if (!state->runs[i][m] || state->node[i][m] != node)
                                continue;
                        life = life_of(state, i);
                        state->runs[i][m] = false;
                        life_member_ended(&life, m, &end);
                        drop_notes(&life);
                }
                if (state->jobs[i])
                        feed(state, i);
        }
}

static void advance_clock(State *state)
{
        state->now = due(state);
        for (int i = 0; i < n_jobs; i++) {
                Job *job = state->jobs[i];

                if (job && life_due(job) && life_due(job) <= state->now) {
                        Life life = life_of(state, i);

                        life_clock(&life);
                        drop_notes(&life);
                        feed(state, i);
                }
        }
}

static void submit(State *state, int i)
{
        Life life;

        state->jobs[i] = job_new("ann", shapes[i].name, specs[i], state->now);
        state->jobs[i]->queue = g_intern_static_string("q");
        /* One begins at once, the other waits. */
        for (int kind = 0; shapes[i].prepares && kind < MEMBERS; kind++)
                (void)job_add_preparation(state->jobs[i], kind,
                                          kind == 0 ? PREPARATION_RUNNING : PREPARATION_WAITING);
        life = life_of(state, i);
        life_submitted(&life);
        drop_notes(&life);
        feed(state, i);
}

static void end_member(State *state, Life *life, int i, int m, MoveKind kind)
{
        const MemberEnd end = { .kind = kind == MOVE_REFUSED   ? END_START_FAILED
                                        : kind == MOVE_UNKNOWN ? END_LOST
                                                               : END_EXITED,
                                .exit_code = kind == MOVE_DONE ? 0 : 1,
                                .time = state->now,
                                .text = "no" };

        state->runs[i][m] = false;
        life_member_ended(life, m, &end);
}

static void move_job(State *state, MoveKind kind, int i, int m)
{
        Life life = life_of(state, i);

        switch (kind) {
        case MOVE_PREPARING: life_preparing(&life, (PreparationKind)m); break;
        case MOVE_PREPARED: life_prepared(&life, (PreparationKind)m); break;
        case MOVE_UNPREPARED: life_unprepared(&life, (PreparationKind)m, "no"); break;
        case MOVE_CANCEL: g_assert_true(life_cancel(&life, false, "ann", NULL)); break;
        case MOVE_HOLD: (void)life_hold(&life, "ann", NULL); break; /* refused while it ends */
        case MOVE_RELEASE: g_assert_true(life_release(&life, NULL)); break;
        case MOVE_STARTED: life_member_started(&life, m, 7, state->now); break;
        default: end_member(state, &life, i, m, kind);
        }
        drop_notes(&life);
        feed(state, i);
}

static bool is_possible(const State *state, MoveKind kind, int i, int m)
{
        const Job *job = i < n_jobs ? state->jobs[i] : NULL;
        bool open = job && !job_state_is_final(job->state);
        const Member *member = open && m < job->n_members ? &job->members[m] : NULL;
        const Preparation *one = open && m < job->n_preparations ? &job->preparations[m] : NULL;
        bool holds = soak || n_jobs < JOBS; /* the states of three jobs are too many */

        switch (kind) {
        case MOVE_SUBMIT: return m == 0 && i < n_jobs && !job;
        case MOVE_PREPARING: return one && one->state == PREPARATION_WAITING && job->state == JOB_QUEUED;
        case MOVE_PREPARED:
        case MOVE_UNPREPARED: return one && one->state == PREPARATION_RUNNING;
        case MOVE_CANCEL: return m == 0 && open;
        case MOVE_UNKNOWN: return member && !state->runs[i][m] && member->state == MEMBER_STOPPING;
        case MOVE_HOLD: return holds && m == 0 && i == 0 && open && job->state != JOB_SUSPENDED;
        case MOVE_RELEASE: return m == 0 && open && job->state == JOB_SUSPENDED;
        case MOVE_REFUSED: return soak && member && state->runs[i][m] && member->state == MEMBER_INTENDED;
        case MOVE_STARTED: return member && state->runs[i][m] && member->state == MEMBER_INTENDED;
        case MOVE_DONE:
        case MOVE_FAILS:
                return member && state->runs[i][m] &&
                       (member->state == MEMBER_RUNNING || member->state == MEMBER_STOPPING);
        case MOVE_NODE_LOST: return m == 0 && i < NODES && state->up[i];
        case MOVE_NODE_BACK: return m == 0 && i < NODES && !state->up[i];
        default: return m == 0 && i == 0 && due(state) > 0;
        }
}

static State *move(const State *from, MoveKind kind, int i, int m)
{
        State *state = state_copy(from);

        state->now += 10; /* beyond every cooldown, before every grace */
        if (kind == MOVE_SUBMIT) {
                submit(state, i);
        } else if (kind == MOVE_NODE_LOST) {
                lose_node(state, i);
        } else if (kind == MOVE_NODE_BACK) {
                state->up[i] = true;
                put_node(state->scheduler, i, true);
        } else if (kind == MOVE_TIME) {
                state->now = from->now;
                advance_clock(state);
        } else {
                move_job(state, kind, i, m);
        }
        pass(state);
        act(state, from);
        check(state);
        return state;
}

/* ---- the exploration ---- */

typedef struct {
        GHashTable *numbers; /* key -> number + 1 */
        GQueue waiting;      /* State, in order of their numbers */
        GArray *over;        /* bool by number */
        GArray *edges;       /* pairs of int */
        bool ends[JOBS][JOB_STATES], seen[JOBS][JOB_STATES], members[MEMBER_STATES];
        bool pairs[PREPARATION_STATES][PREPARATION_STATES]; /* states of a job's two preparations */
        bool retried;                                       /* such a job runs again after a failure */
} Walk;

static void note_states(Walk *walk, const State *state)
{
        for (int i = 0; i < n_jobs; i++) {
                const Job *job = state->jobs[i];

                if (!job)
                        continue;
                walk->seen[i][job->state] = true;
                if (job->n_preparations == 2) {
                        walk->pairs[job->preparations[0].state][job->preparations[1].state] = true;
                        walk->retried |= job->failures > 0 && job->state == JOB_RUNNING;
                }
                walk->ends[i][job->state] |= job_state_is_final(job->state);
                for (int m = 0; m < job->n_members; m++)
                        walk->members[job->members[m].state] = true;
        }
}

/* Takes the state; its number. */
static int visit(Walk *walk, State *state)
{
        char *key = state_key(state);
        int number = GPOINTER_TO_INT(g_hash_table_lookup(walk->numbers, key));
        bool over = is_over(state);

        if (number) {
                g_free(key);
                state_free(state);
                return number - 1;
        }
        number = (int)g_hash_table_size(walk->numbers);
        g_assert_cmpint(number, <, STATES_MAX);
        g_hash_table_insert(walk->numbers, key, GINT_TO_POINTER(number + 1));
        g_array_append_val(walk->over, over);
        note_states(walk, state);
        g_queue_push_tail(&walk->waiting, state);
        return number;
}

static void explore(Walk *walk)
{
        int number = 0, most = IS_SANITIZED && !soak ? STATES_SANITIZED : STATES_MAX;
        State *from;

        (void)visit(walk, state_new());
        for (; number < most && (from = g_queue_pop_head(&walk->waiting)); number++) {
                for (int kind = 0; kind < MOVES; kind++) {
                        for (int at = 0; at < JOBS * MEMBERS; at++) {
                                int i = at / MEMBERS, m = at % MEMBERS, pair[2] = { number, 0 };

                                if (!is_possible(from, (MoveKind)kind, i, m))
                                        continue;
                                pair[1] = visit(walk, move(from, (MoveKind)kind, i, m));
                                g_array_append_vals(walk->edges, pair, 2);
                        }
                }
                state_free(from);
        }
}

/* From how many states the end of all jobs can be reached. */
static guint count_ending(const Walk *walk)
{
        g_autofree bool *reaches = g_memdup2(walk->over->data, walk->over->len * sizeof(bool));
        bool changed = true;
        guint n = 0;

        while (changed) {
                changed = false;
                for (guint e = walk->edges->len; e >= 2; e -= 2) {
                        int from = g_array_index(walk->edges, int, e - 2);

                        if (reaches[from] || !reaches[g_array_index(walk->edges, int, e - 1)])
                                continue;
                        reaches[from] = changed = true;
                }
        }
        for (guint i = 0; i < walk->over->len; i++)
                n += reaches[i];
        return n;
}

static bool is_whole(const Walk *walk)
{
        return walk->waiting.length == 0;
}

static void assert_ends(const Walk *walk, int i, const JobState *ends, int n)
{
        for (int k = 0; k < n; k++)
                if (!walk->ends[i][ends[k]])
                        g_error("%s never ends as %s", shapes[i].name, job_state_name(ends[k]));
        g_assert_true(walk->seen[i][JOB_RUNNING] && walk->seen[i][JOB_STOPPING]);
}

static void check_three(const Walk *walk)
{
        static const JobState ends[JOBS][4] = {
                { JOB_SUCCEEDED, JOB_FAILED, JOB_CANCELLED, JOB_CANCELLED },
                { JOB_SUCCEEDED, JOB_FAILED, JOB_CANCELLED, JOB_PREEMPTED },
                { JOB_SUCCEEDED, JOB_FAILED, JOB_CANCELLED, JOB_CANCELLED },
        };

        for (int i = 0; i < JOBS; i++)
                assert_ends(walk, i, ends[i], 4);
        g_assert_true(walk->seen[0][JOB_PREEMPTING] && walk->seen[1][JOB_PREEMPTING]);
        g_assert_true(walk->seen[0][JOB_SUSPENDED] == soak && !walk->seen[2][JOB_PREEMPTING]);
        g_assert_true(walk->members[MEMBER_SURPLUS] && walk->members[MEMBER_LOST]);
        g_assert_true(!walk->pairs[PREPARATION_READY][PREPARATION_READY]);
}

static void check_prepared(const Walk *walk)
{
        static const JobState ends[] = { JOB_SUCCEEDED, JOB_FAILED, JOB_CANCELLED };

        for (int i = 0; i < 2; i++)
                assert_ends(walk, i, ends, G_N_ELEMENTS(ends));
        for (int a = PREPARATION_RUNNING; a < PREPARATION_STATES; a++)
                for (int b = PREPARATION_RUNNING; b < PREPARATION_STATES; b++)
                        if (walk->pairs[a][b] == (a == PREPARATION_FAILED && b == PREPARATION_FAILED))
                                g_error("preparations %s and %s: %s", preparation_state_name(a),
                                        preparation_state_name(b), walk->pairs[a][b] ? "seen" : "never seen");
        g_assert_true(walk->seen[0][JOB_SUSPENDED] && walk->retried && walk->seen[1][JOB_PREEMPTING]);
}

static void explore_all(const Shape *of, int n, void (*check_whole)(const Walk *walk))
{
        Walk walk = { .numbers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                      .waiting = G_QUEUE_INIT,
                      .over = g_array_new(FALSE, FALSE, sizeof(bool)),
                      .edges = g_array_new(FALSE, FALSE, sizeof(int)) };

        shapes = of;
        n_jobs = n;
        for (int i = 0; i < n_jobs; i++)
                specs[i] = make_spec(i);
        explore(&walk);
        g_test_message("%u states, %u moves", g_hash_table_size(walk.numbers), walk.edges->len / 2);
        if (is_whole(&walk)) {
                check_whole(&walk);
                g_assert_cmpuint(count_ending(&walk), ==, g_hash_table_size(walk.numbers));
        }
        g_queue_clear_full(&walk.waiting, (GDestroyNotify)state_free);
        for (int i = 0; i < n_jobs; i++)
                spec_unref(specs[i]);
        g_hash_table_unref(walk.numbers);
        g_array_unref(walk.over);
        g_array_unref(walk.edges);
}

static void test_three(void)
{
        explore_all(three_jobs, G_N_ELEMENTS(three_jobs), check_three);
}

static void test_prepared(void)
{
        explore_all(preparing_jobs, G_N_ELEMENTS(preparing_jobs), check_prepared);
}

int main(int argc, char **argv)
{
        json_init();
        g_test_init(&argc, &argv, NULL);
        soak = is_soak();
        g_test_add_func("/model/three jobs on two nodes", test_three);
        g_test_add_func("/model/two preparations", test_prepared);
        return g_test_run();
}
