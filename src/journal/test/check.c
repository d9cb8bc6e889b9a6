/* What must hold of a scheduler (doc/reference/scheduling.md, "Invariants of a scheduler", and
 * doc/guide/scheduling.md), checked against the room's own account. The numbers of the invariants stand
 * beside the checks. Plain on purpose: every sum is computed again. */
#include <stdarg.h>
#include <string.h>

#include "journal/test/room.h"

/* What stands where. */
typedef struct {
        gint64 node[ROOM_NODES][ROOM_KINDS];
        guint64 devices[ROOM_NODES];
        gint64 held[ROOM_QUEUES][ROOM_KINDS]; /* by the queue and its children */
        gint64 kept[ROOM_QUEUES][ROOM_KINDS]; /* of it, by what has not been told to go */
        bool device_twice;
} Account;

bool room_wrong(Room *room, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        (void)g_vsnprintf(room->wrong, sizeof(room->wrong), format, args);
        va_end(args);
        return false;
}

static const SchedRole *role_of(const RoomJob *job, int task)
{
        for (int role = 0;; role++) {
                if (task < job->roles[role].replicas)
                        return &job->roles[role];
                task -= job->roles[role].replicas;
        }
}

static void add_task(const Room *room, const RoomJob *job, int i, Account *account)
{
        const Resources *each = &role_of(job, i)->each;
        const SchedTask *task = &job->holding[i];
        bool stays = job->job.state == SCHED_RUNNING && job->tasks[i].node >= 0;

        if (task->node < 0)
                return;
        account->device_twice |= (account->devices[task->node] & task->devices) != 0;
        account->devices[task->node] |= task->devices;
        for (int kind = 0; kind < ROOM_KINDS; kind++) {
                gint64 amount = each->amount[kind];

                account->node[task->node][kind] += amount;
                for (int queue = job->job.queue; queue >= 0; queue = room->queues[queue].queue.parent) {
                        account->held[queue][kind] += amount;
                        account->kept[queue][kind] += stays ? amount : 0;
                }
        }
}

static void make_account(const Room *room, Account *ret)
{
        *ret = (Account){ 0 };
        for (int i = 0; i < room->kind->jobs; i++) {
                const RoomJob *job = &room->jobs[i];

                if (!job->there || job->job.state == SCHED_PENDING)
                        continue;
                for (int task = 0; task < job->n; task++)
                        add_task(room, job, task, ret);
        }
}

static RoomJob *find_job(Room *room, gint64 key)
{
        for (int i = 0; i < room->kind->jobs; i++)
                if (room->jobs[i].there && room->jobs[i].job.key == key)
                        return &room->jobs[i];
        return NULL;
}

static bool wrong_job(Room *room, const RoomJob *job, const char *what)
{
        return room_wrong(room, "job %" G_GINT64_FORMAT " of queue %d: %s", job->job.key, job->job.queue,
                          what);
}

static bool has_label(const char *const *labels, const char *label)
{
        for (; labels && *labels; labels++)
                if (strcmp(*labels, label) == 0)
                        return true;
        return false;
}

static bool has_labels(const SchedNode *node, const char *const *wanted)
{
        for (; wanted && *wanted; wanted++)
                if (!has_label(node->labels, *wanted))
                        return false;
        return true;
}

static const char *label_value(const SchedNode *node, const char *key)
{
        gsize len = strlen(key);

        for (const char *const *label = node->labels; label && *label; label++)
                if (strncmp(*label, key, len) == 0 && (*label)[len] == '=')
                        return *label + len + 1;
        return NULL;
}

static bool may_stand_on(const Room *room, const RoomJob *job, int node)
{
        const RoomNode *it = &room->nodes[node];

        return it->there && it->node.usable && has_labels(&it->node, job->job.labels) &&
               has_labels(&it->node, room->queues[job->job.queue].queue.labels);
}

/* ---- a placement ---- */

/* A task that was not there before. */
static bool check_new_task(Room *room, const RoomJob *job, int i, const SchedTask *task)
{
        gint64 gpus = role_of(job, i)->each.gpus;

        if (task->node >= ROOM_NODES || !room->nodes[task->node].there)
                return wrong_job(room, job, "a task on a node that is not there");
        if (!may_stand_on(room, job, task->node))
                return wrong_job(room, job, "a task on a node that is not usable, or lacks a label");
        if (__builtin_popcountll(task->devices) != gpus)
                return wrong_job(room, job, "not as many devices as GPUs");
        if (gpus > 0 && 64 - __builtin_clzll(task->devices) > room->nodes[task->node].node.total.gpus)
                return wrong_job(room, job, "a device that the node does not have");
        return true;
}

/* 4: each role has its minimum, or more. */
static bool check_minimum(Room *room, const RoomJob *job, const SchedTask *tasks)
{
        for (int role = 0, i = 0; role < job->job.n_roles; role++) {
                int placed = 0;

                for (int end = i + job->roles[role].replicas; i < end; i++)
                        placed += tasks[i].node >= 0;
                if (placed < job->roles[role].min)
                        return wrong_job(room, job, "a role below its minimum");
        }
        return true;
}

static bool check_topology(Room *room, const RoomJob *job, const SchedTask *tasks)
{
        static const char *const keys[] = { "zone", "rack" };
        const char *value = NULL;
        bool first = true;

        if (job->job.topology < 0 || !job->job.topology_required)
                return true;
        for (int i = 0; i < job->n; i++) {
                const char *here;

                if (tasks[i].node < 0)
                        continue;
                here = label_value(&room->nodes[tasks[i].node].node, keys[job->job.topology]);
                if (!here || (!first && strcmp(here, value) != 0))
                        return wrong_job(room, job, "tasks in different values of its topology");
                value = here;
                first = false;
        }
        return true;
}

/* 1: nothing new on a node that has too little; no device twice. 3: no queue of the chain above its max. */
static bool check_limits(Room *room, const RoomJob *job, const SchedTask *before)
{
        Account account;

        make_account(room, &account);
        if (account.device_twice)
                return wrong_job(room, job, "a device is assigned twice");
        for (int i = 0; i < job->n; i++) {
                const Resources *each = &role_of(job, i)->each;
                int node = job->holding[i].node;

                if (node < 0 || (before && before[i].node >= 0))
                        continue;
                for (int kind = 0; kind < ROOM_KINDS; kind++) {
                        if (each->amount[kind] == 0)
                                continue;
                        if (account.node[node][kind] > room->nodes[node].node.total.amount[kind])
                                return wrong_job(room, job, "more on a node than it has");
                        for (int queue = job->job.queue; queue >= 0; queue = room->queues[queue].queue.parent)
                                if (account.held[queue][kind] > room->queues[queue].queue.max.amount[kind])
                                        return wrong_job(room, job, "a queue above its max");
                }
        }
        return true;
}

/* What one queue has reserved is never lent to another. */
static bool check_reserved(Room *room, const RoomJob *job)
{
        int top = job->job.queue;
        Account account;

        make_account(room, &account);
        while (room->queues[top].queue.parent >= 0)
                top = room->queues[top].queue.parent;
        for (int kind = 0; kind < ROOM_KINDS; kind++) {
                gint64 total = 0, promised = 0, asked = 0;

                for (int i = 0; i < job->n; i++)
                        asked += job->tasks[i].node >= 0 ? role_of(job, i)->each.amount[kind] : 0;
                for (int i = 0; i < ROOM_NODES; i++) {
                        if (room->nodes[i].there &&
                            room->nodes[i].node.usable) /* it may have shrunk below its use */
                                total += MAX(room->nodes[i].node.total.amount[kind], account.node[i][kind]);
                        else if (account.node[i][kind] > 0)
                                return true; /* what stands there has no room of its own */
                }
                for (int i = 0; i < ROOM_QUEUES; i++)
                        if (room->queues[i].there && room->queues[i].queue.parent < 0)
                                promised += MAX(account.held[i][kind],
                                                room->queues[i].queue.reserved.amount[kind]);
                if (asked > 0 && promised > total &&
                    account.held[top][kind] > room->queues[top].queue.reserved.amount[kind])
                        return wrong_job(room, job, "takes what another queue has reserved");
        }
        return true;
}

/* ---- who may start ---- */

static bool is_ready(const Room *room, const RoomJob *job)
{
        return job->there && job->job.state == SCHED_PENDING && !job->job.held &&
               job->job.not_before <= room->now;
}

static bool may_start_in(const Room *room, int queue)
{
        for (; queue >= 0; queue = room->queues[queue].queue.parent) {
                QueueState state = room->queues[queue].queue.state;

                if (state != QUEUE_OPEN && state != QUEUE_CLOSING)
                        return false;
        }
        return true;
}

/* How many run of its array, of its user in its queue. */
static void count_running(const Room *room, const RoomJob *job, int *ret_array, int *ret_user)
{
        *ret_array = *ret_user = 0;
        for (int i = 0; i < room->kind->jobs; i++) {
                const RoomJob *other = &room->jobs[i];

                if (!other->there || other->job.state != SCHED_RUNNING)
                        continue;
                *ret_array += job->job.array > 0 && other->job.array == job->job.array;
                *ret_user += other->job.queue == job->job.queue && other->job.user == job->job.user;
        }
}

static bool check_may_start(Room *room, const RoomJob *job)
{
        int most = room->queues[job->job.queue].queue.max_running_per_user, array, user;

        if (!is_ready(room, job))
                return wrong_job(room, job, "starts, but does not wait or is not due");
        if (!may_start_in(room, job->job.queue))
                return wrong_job(room, job, "starts in a queue that is closed");
        count_running(room, job, &array, &user);
        if (job->job.array_max > 0 && array >= job->job.array_max)
                return wrong_job(room, job, "too many jobs of its array run");
        if (most > 0 && user >= most)
                return wrong_job(room, job, "too many jobs of its user run");
        return true;
}

static bool check_start(Room *room, RoomJob *job, const Decision *decision, const SchedTask *tasks)
{
        if (!check_may_start(room, job))
                return false;
        for (int i = 0; i < job->n; i++)
                if (tasks[i].node >= 0 && !check_new_task(room, job, i, &tasks[i]))
                        return false;
        memcpy(job->tasks, tasks, (gsize)job->n * sizeof(SchedTask));
        memcpy(job->holding, job->tasks, sizeof(job->tasks));
        job->job.state = SCHED_RUNNING;
        job->job.started = room->now;
        job->job.saved = 0;
        job->safe_from = job->victim ? room->now : job->safe_from;
        job->victim = false;
        return check_minimum(room, job, tasks) && check_topology(room, job, tasks) &&
               check_limits(room, job, NULL) && check_reserved(room, job);
}

static bool check_grow(Room *room, RoomJob *job, const Decision *decision, const SchedTask *tasks)
{
        SchedTask before[ROOM_TASKS];
        int more = 0;

        memcpy(before, job->holding, sizeof(before));
        if (job->job.state != SCHED_RUNNING || !may_start_in(room, job->job.queue))
                return wrong_job(room, job, "grows, but does not run, or in a queue that is closed");
        for (int i = 0; i < job->n; i++) {
                if (job->tasks[i].node >= 0) {
                        if (tasks[i].node != job->tasks[i].node || tasks[i].devices != job->tasks[i].devices)
                                return wrong_job(room, job, "a task moves when the job grows");
                        continue;
                }
                if (tasks[i].node < 0)
                        continue;
                if (before[i].node >= 0)
                        return wrong_job(room, job, "grows where a surplus task has not gone yet");
                if (!check_new_task(room, job, i, &tasks[i]))
                        return false;
                job->tasks[i] = job->holding[i] = tasks[i];
                more++;
        }
        if (more == 0)
                return wrong_job(room, job, "grows by nothing");
        return check_topology(room, job, job->tasks) && check_limits(room, job, before) &&
               check_reserved(room, job);
}

/* ---- who has to go ---- */

/* What the job needs to start; of an elastic one without any minimum, one task. */
static gint64 asked_at_least(const RoomJob *job, int kind)
{
        gint64 sum = 0, one = 0;
        int tasks = 0;

        for (int role = job->job.n_roles - 1; role >= 0; role--) {
                sum += job->roles[role].each.amount[kind] * job->roles[role].min;
                tasks += job->roles[role].min;
                if (job->roles[role].replicas > 0)
                        one = job->roles[role].each.amount[kind];
        }
        return tasks > 0 ? sum : one;
}

static bool is_above(const Room *room, int ancestor, int queue)
{
        for (; queue >= 0; queue = room->queues[queue].queue.parent)
                if (queue == ancestor)
                        return true;
        return false;
}

/* The reclaimer's queue, or one above it that is not the victim's, too, has less than its min. */
static bool has_claim(const Room *room, const RoomJob *job, const RoomJob *victim, const Account *account)
{
        for (int queue = job->job.queue; queue >= 0; queue = room->queues[queue].queue.parent) {
                if (is_above(room, queue, victim->job.queue))
                        continue;
                for (int kind = 0; kind < ROOM_KINDS; kind++)
                        if (asked_at_least(job, kind) > 0 &&
                            account->kept[queue][kind] < room->queues[queue].queue.min.amount[kind])
                                return true;
        }
        return false;
}

/* 5: the victim's queue and those above it, as far as they are not the reclaimer's, stay at their min or
 * above. */
static bool check_reclaim(Room *room, const RoomJob *victim, const RoomJob *job,
                          const gint64 loss[ROOM_KINDS], bool whole)
{
        bool borrowed = false;
        Account account;

        make_account(room, &account);
        if (victim->job.queue == job->job.queue)
                return wrong_job(room, victim, "is reclaimed for a job of its own queue");
        if (whole && !room->queues[victim->job.queue].queue.reclaimable)
                return wrong_job(room, victim, "is reclaimed from a queue that is not reclaimable");
        if (!has_claim(room, job, victim, &account))
                return wrong_job(room, victim, "is reclaimed for a queue that is not below its min");
        for (int queue = victim->job.queue; queue >= 0; queue = room->queues[queue].queue.parent) {
                const Resources *min = &room->queues[queue].queue.min;

                if (is_above(room, queue, job->job.queue))
                        continue;
                for (int kind = 0; kind < ROOM_KINDS; kind++) {
                        gint64 kept = account.kept[queue][kind];

                        borrowed |=
                                loss[kind] > 0 && asked_at_least(job, kind) > 0 && kept > min->amount[kind];
                        if (loss[kind] > 0 && kept - loss[kind] < min->amount[kind])
                                return wrong_job(room, victim, "is reclaimed below its queue's min");
                }
        }
        return borrowed ||
               wrong_job(room, victim, "is reclaimed, but its queue has not borrowed what is lacking");
}

static bool check_preempt(Room *room, const RoomJob *victim, const RoomJob *job, bool whole)
{
        if (victim->job.queue != job->job.queue)
                return wrong_job(room, victim, "is preempted for a job of another queue");
        if (!whole)
                return victim->job.priority <= job->job.priority ||
                       wrong_job(room, victim, "is shrunk for a job below it");
        if (room->queues[job->job.queue].queue.preemption != PREEMPT_LOWER_PRIORITY)
                return wrong_job(room, victim, "is preempted in a queue that does not do that");
        return victim->job.priority < job->job.priority ||
               wrong_job(room, victim, "is preempted by a job that is not above it");
}

static bool check_victim(Room *room, const RoomJob *victim, const Decision *decision,
                         const gint64 loss[ROOM_KINDS], bool whole)
{
        const RoomJob *job = find_job(room, decision->for_key);

        if (victim->job.state != SCHED_RUNNING || !victim->job.preemptable)
                return wrong_job(room, victim, "has to go, but does not run or is not preemptable");
        if (!job || !is_ready(room, job) || !may_start_in(room, job->job.queue))
                return wrong_job(room, victim, "has to go for a job that does not wait");
        if (victim->safe_from > 0 && room->now < victim->safe_from + room->config.cooldown_ms)
                return wrong_job(room, victim, "has to go again within its cooldown"); /* 8 */
        if (decision->rule == RULE_RECLAIM)
                return check_reclaim(room, victim, job, loss, whole);
        if (decision->rule == RULE_PREEMPT)
                return check_preempt(room, victim, job, whole);
        return wrong_job(room, victim, "has to go by a rule that takes nobody's place");
}

static bool check_shrink(Room *room, RoomJob *job, const Decision *decision, const SchedTask *tasks)
{
        gint64 loss[ROOM_KINDS] = { 0 };
        bool less = false;

        for (int i = 0; i < job->n; i++) {
                if (tasks[i].node == job->tasks[i].node && tasks[i].devices == job->tasks[i].devices)
                        continue;
                if (tasks[i].node >= 0)
                        return wrong_job(room, job, "a task moves when the job shrinks");
                for (int kind = 0; kind < ROOM_KINDS; kind++)
                        loss[kind] += role_of(job, i)->each.amount[kind];
                less = true;
        }
        if (!less || !check_minimum(room, job, tasks))
                return wrong_job(room, job, "shrinks by nothing, or below its minimum");
        if (!check_victim(room, job, decision, loss, false))
                return false;
        memcpy(job->tasks, tasks, (gsize)job->n * sizeof(SchedTask));
        job->trimmed = true;
        job->safe_from = room->now;
        return true;
}

/* Whether the job, of one task, would fit where task `i` of the other stands, were that gone. */
static bool would_fit(const Room *room, const RoomJob *job, const RoomJob *other, int i)
{
        int node = other->tasks[i].node;
        gint64 free[ROOM_KINDS];

        if (!may_stand_on(room, job, node))
                return false;
        for (int kind = 0; kind < ROOM_KINDS; kind++)
                free[kind] = room->nodes[node].node.total.amount[kind];
        for (int j = 0; j < room->kind->jobs; j++) {
                const RoomJob *it = &room->jobs[j];

                for (int task = 0; task < it->n && it->there && it->job.state == SCHED_RUNNING; task++)
                        for (int kind = 0; kind < ROOM_KINDS && it->tasks[task].node == node; kind++)
                                if (it != other || task != i)
                                        free[kind] -= role_of(it, task)->each.amount[kind];
        }
        for (int kind = 0; kind < ROOM_KINDS; kind++)
                if (job->roles[0].each.amount[kind] > free[kind])
                        return false;
        return true;
}

/* An elastic job without any minimum keeps one task, of its first role. */
static int needed(const RoomJob *job, const SchedRole *role)
{
        int sum = 0, first = 0;

        for (int i = job->job.n_roles - 1; i >= 0; i--) {
                sum += job->roles[i].min;
                first = job->roles[i].replicas > 0 ? i : first;
        }
        return sum == 0 && role == &job->roles[first] ? 1 : role->min;
}

/* Of a role's tasks the last one goes first. */
static bool is_surplus(const RoomJob *job, int i)
{
        const SchedRole *role = role_of(job, i);
        int placed = 0, after = 0;

        for (int task = 0; task < job->n; task++) {
                bool counts = role_of(job, task) == role && job->tasks[task].node >= 0;

                placed += counts;
                after += counts && task > i;
        }
        return job->tasks[i].node >= 0 && after == 0 && placed > needed(job, role);
}

/* Whether the rule may take this task, and it alone would do. The message that finding out leaves is void. */
static bool would_do(Room *room, const RoomJob *job, RoomJob *other, int i, const Decision *decision)
{
        Decision instead = *decision;

        instead.key = other->job.key;
        if (other->trimmed_at > 0 && room->now < other->trimmed_at + room->config.cooldown_ms)
                return false;
        return is_surplus(other, i) && would_fit(room, job, other, i) &&
               check_victim(room, other, &instead, role_of(other, i)->each.amount, false);
}

/* Nobody is evicted for a job of one task where one surplus task of an elastic job would do. */
static bool check_surplus_first(Room *room, const Decision *decision)
{
        RoomJob *job = find_job(room, decision->for_key);
        Account account;

        if (!job || job->n != 1 || job->job.topology >= 0)
                return true;
        for (const Decision *other = (const Decision *)(void *)room->decisions.decisions->data;
             other < decision; other++)
                if (other->for_key == decision->for_key)
                        return true; /* others go as well: now a task may do where it did not before */
        for (int i = 0; i < room->kind->jobs; i++)
                if (room->jobs[i].there && room->jobs[i].job.key != job->job.key &&
                    scheduler_cause(room->scheduler, room->jobs[i].job.key) == CAUSE_NOMINATED)
                        return true; /* the room may be for that one */
        for (int i = 0; i < ROOM_QUEUES; i++)
                if (room->queues[i].there && !resources_is_zero(&room->queues[i].queue.reserved))
                        return true; /* room alone may not be enough */
        make_account(room, &account);
        for (int queue = job->job.queue; queue >= 0; queue = room->queues[queue].queue.parent)
                for (int kind = 0; kind < ROOM_KINDS; kind++)
                        if (account.kept[queue][kind] + asked_at_least(job, kind) >
                            room->queues[queue].queue.max.amount[kind])
                                return true;
        for (int i = 0; i < room->kind->jobs; i++)
                for (int task = 0; task < room->jobs[i].n && room->jobs[i].there; task++)
                        if (room->jobs[i].job.state == SCHED_RUNNING &&
                            would_do(room, job, &room->jobs[i], task, decision))
                                return wrong_job(room, &room->jobs[i], "has surplus, and another is evicted");
        return true;
}

static bool check_evict(Room *room, RoomJob *job, const Decision *decision, const SchedTask *tasks)
{
        gint64 loss[ROOM_KINDS] = { 0 };

        if (!check_surplus_first(room, decision))
                return false;

        for (int i = 0; i < job->n; i++)
                for (int kind = 0; kind < ROOM_KINDS && job->tasks[i].node >= 0; kind++)
                        loss[kind] += role_of(job, i)->each.amount[kind];
        if (!check_victim(room, job, decision, loss, true))
                return false;
        job->job.state = SCHED_ENDING;
        job->victim = true;
        return true;
}

static const struct {
        bool (*check)(Room *room, RoomJob *job, const Decision *decision, const SchedTask *tasks);
        bool places;
        guint rules; /* bits */
} checks[DECIDE_KINDS] = {
        [DECIDE_START] = { check_start, true,
                           1u << RULE_NOMINATED | 1u << RULE_ALLOCATE | 1u << RULE_BACKFILL },
        [DECIDE_GROW] = { check_grow, true, 1u << RULE_GROW },
        [DECIDE_SHRINK] = { check_shrink, true, 1u << RULE_PREEMPT | 1u << RULE_RECLAIM },
        [DECIDE_EVICT] = { check_evict, false, 1u << RULE_PREEMPT | 1u << RULE_RECLAIM },
};

static bool check_decision(Room *room, const Decision *decision)
{
        RoomJob *job = find_job(room, decision->key);
        const SchedTask *tasks = NULL;

        if (!job || decision->kind >= DECIDE_KINDS || !(checks[decision->kind].rules & 1u << decision->rule))
                return room_wrong(room, "decision %d by rule %d on job %" G_GINT64_FORMAT, decision->kind,
                                  decision->rule, decision->key);
        if (checks[decision->kind].places) {
                if (decision->n_tasks != job->n ||
                    decision->first_task + (guint)decision->n_tasks > room->decisions.tasks->len)
                        return wrong_job(room, job, "a placement of another size");
                tasks = &g_array_index(room->decisions.tasks, SchedTask, decision->first_task);
        }
        return checks[decision->kind].check(room, job, decision, tasks);
}

/* ---- after the pass ---- */

static bool comes_before(const Room *room, const RoomJob *a, const RoomJob *b)
{
        if (room->queues[a->job.queue].queue.order == QUEUE_ORDER_PRIORITY &&
            a->job.priority != b->job.priority)
                return a->job.priority > b->job.priority;
        if (a->job.submitted != b->job.submitted)
                return a->job.submitted < b->job.submitted;
        return a->job.key < b->job.key;
}

static bool is_alike(const RoomJob *a, const RoomJob *b)
{
        if (a->job.n_roles != b->job.n_roles || a->job.labels != b->job.labels ||
            a->job.topology != b->job.topology || a->job.topology_required != b->job.topology_required)
                return false;
        for (int role = 0; role < a->job.n_roles; role++)
                if (a->roles[role].replicas != b->roles[role].replicas ||
                    a->roles[role].min != b->roles[role].min ||
                    !resources_equal(&a->roles[role].each, &b->roles[role].each))
                        return false;
        return true;
}

/* 10: a job that started has not passed one of its queue that comes first and asks for the same; unless that
 * one has limits of its own, gets room that is made for it, or would run longer and delay the head of a
 * queue. */
static bool check_passed(Room *room, const RoomJob *job, const Decision *decision)
{
        const SchedQueue *queue = &room->queues[job->job.queue].queue;

        if (decision->rule == RULE_NOMINATED || queue->order == QUEUE_ORDER_FAIR)
                return true;
        for (int i = 0; i < room->kind->jobs; i++) {
                const RoomJob *other = &room->jobs[i];

                if (!is_ready(room, other) || other->job.queue != job->job.queue || !is_alike(other, job) ||
                    !comes_before(room, other, job) || other->victim || other->job.array > 0 ||
                    (queue->max_running_per_user > 0 && other->job.user != job->job.user))
                        continue;
                if (job->job.time_limit_ms > 0 &&
                    (other->job.time_limit_ms == 0 || other->job.time_limit_ms > job->job.time_limit_ms))
                        continue;
                if (scheduler_cause(room->scheduler, other->job.key) == CAUSE_NOMINATED)
                        continue;
                return room_wrong(room,
                                  "job %" G_GINT64_FORMAT " starts before job %" G_GINT64_FORMAT
                                  ", which asks for the same and comes first",
                                  job->job.key, other->job.key);
        }
        return true;
}

/* What a node has free of a kind when all have gone who were told to. */
static gint64 free_later(const Room *room, int node, int kind)
{
        gint64 left = room->nodes[node].node.total.amount[kind];

        for (int i = 0; i < room->kind->jobs; i++) {
                const RoomJob *job = &room->jobs[i];

                for (int task = 0; task < job->n && job->there && job->job.state == SCHED_RUNNING; task++)
                        if (job->tasks[task].node == node)
                                left -= role_of(job, task)->each.amount[kind];
        }
        return MAX(left, 0);
}

/* For whom somebody has to go: what is free, and what gets free, is enough in all; so is its queue's max. */
static bool check_worth(Room *room, const RoomJob *job, const Account *account)
{
        for (int kind = 0; kind < ROOM_KINDS; kind++) {
                gint64 asked = asked_at_least(job, kind), room_for = 0;

                if (asked == 0)
                        continue;
                for (int i = 0; i < ROOM_NODES; i++)
                        if (may_stand_on(room, job, i))
                                room_for += free_later(room, i, kind);
                if (asked > room_for)
                        return wrong_job(room, job, "others have to go for it, and still it does not fit");
                for (int queue = job->job.queue; queue >= 0; queue = room->queues[queue].queue.parent)
                        if (account->kept[queue][kind] + asked > room->queues[queue].queue.max.amount[kind])
                                return wrong_job(room, job,
                                                 "others have to go for it, and its queue is full");
        }
        return true;
}

static bool check_consequences(Room *room)
{
        Account account;

        make_account(room, &account);
        for (guint i = 0; i < room->decisions.decisions->len; i++) {
                const Decision *decision = &g_array_index(room->decisions.decisions, Decision, i);
                const RoomJob *job =
                        find_job(room, decision->kind == DECIDE_START ? decision->key : decision->for_key);

                if (decision->kind == DECIDE_START && !check_passed(room, job, decision))
                        return false;
                if ((decision->kind == DECIDE_SHRINK || decision->kind == DECIDE_EVICT) &&
                    !check_worth(room, job, &account))
                        return false;
        }
        return true;
}

/* 1, 2, 7: the scheduler's own sums are those of its tasks; a gang that was discarded has left no trace. */
static bool compare_nodes(Room *room, const Account *account)
{
        for (int i = 0; i < ROOM_NODES; i++) {
                Resources used;
                guint64 devices;

                if (!room->nodes[i].there)
                        continue;
                if (!scheduler_node(room->scheduler, i, &used, &devices))
                        return room_wrong(room, "node %d is not known", i);
                for (int kind = 0; kind < ROOM_KINDS; kind++)
                        if (used.amount[kind] != account->node[i][kind])
                                return room_wrong(room,
                                                  "node %d: %" G_GINT64_FORMAT
                                                  " of kind %d are used, not %" G_GINT64_FORMAT,
                                                  i, account->node[i][kind], kind, used.amount[kind]);
                if (devices != account->devices[i])
                        return room_wrong(room, "node %d: other devices are used", i);
        }
        return true;
}

static bool compare_jobs(Room *room)
{
        for (int i = 0; i < room->kind->jobs; i++) {
                const RoomJob *job = &room->jobs[i];
                SchedJob its;

                if (!job->there)
                        continue;
                if (!scheduler_job(room->scheduler, job->job.key, &its) || its.state != job->job.state)
                        return wrong_job(room, job, "is unknown, or in another state");
                if (its.state == SCHED_RUNNING &&
                    memcmp(its.tasks, job->tasks, (gsize)job->n * sizeof(SchedTask)) != 0)
                        return wrong_job(room, job, "stands elsewhere");
                if ((its.state == SCHED_PENDING) !=
                    (scheduler_cause(room->scheduler, job->job.key) != CAUSE_NONE))
                        return wrong_job(room, job, "waits without a cause, or has one and does not wait");
        }
        return true;
}

static int count_jobs(const Room *room, int queue, bool pending)
{
        int n = 0;

        for (int i = 0; i < room->kind->jobs; i++)
                n += room->jobs[i].there && is_above(room, queue, room->jobs[i].job.queue) &&
                     (room->jobs[i].job.state == SCHED_PENDING) == pending;
        return n;
}

static bool compare_figures(Room *room, const Account *account)
{
        SchedulerFigures *figures = scheduler_figures(room->scheduler, room->now);
        bool ok = true;

        for (int i = 0; i < ROOM_QUEUES && ok; i++) {
                const QueueFigures *queue = &figures->queues[i];

                if (!room->queues[i].there)
                        continue;
                for (int kind = 0; kind < ROOM_KINDS; kind++)
                        if (queue->used.amount[kind] != account->held[i][kind])
                                ok = room_wrong(room, "queue %d: %" G_GINT64_FORMAT " of kind %d are used", i,
                                                account->held[i][kind], kind);
                if (queue->pending != count_jobs(room, i, true))
                        ok = room_wrong(room, "queue %d: %d jobs wait, not %d", i, count_jobs(room, i, true),
                                        queue->pending);
        }
        scheduler_figures_unref(figures);
        return ok;
}

/* The first that waits and is not too large for ever, among those that the figures name. */
static gint64 first_waiting(const Room *room, const QueueFigures *queue)
{
        for (int i = 0; i < SCHED_FIGURE_HEADS && queue->heads[i]; i++) {
                Cause cause = scheduler_cause(room->scheduler, queue->heads[i]);

                if (cause != CAUSE_TOO_LARGE && cause != CAUSE_NO_NODE_FITS)
                        return queue->heads[i];
        }
        return 0;
}

/* 10, the backfill bound: what is promised to the head of a queue is kept, when nothing changes but that jobs
 * end by their limits or earlier. */
static bool check_promises(Room *room)
{
        SchedulerFigures *figures = scheduler_figures(room->scheduler, room->now);
        bool ok = true;

        for (int i = 0; i < room->kind->jobs && ok; i++) {
                RoomJob *job = &room->jobs[i];
                const QueueFigures *queue = &figures->queues[job->job.queue];

                if (!is_ready(room, job))
                        continue;
                if (first_waiting(room, queue) == job->job.key && queue->head_start > 0)
                        job->promise =
                                job->promise ? MIN(job->promise, queue->head_start) : queue->head_start;
                if (job->promise > 0 && room->now >= job->promise)
                        ok = wrong_job(room, job, "was to start by now, and has not");
        }
        scheduler_figures_unref(figures);
        return ok;
}

bool room_check(Room *room)
{
        Account account;

        for (guint i = 0; i < room->decisions.decisions->len; i++)
                if (!check_decision(room, &g_array_index(room->decisions.decisions, Decision, i)))
                        return false;
        make_account(room, &account);
        if (account.device_twice)
                return room_wrong(room, "a device is assigned twice");
        if (!check_consequences(room) || !compare_nodes(room, &account) || !compare_jobs(room))
                return false;
        if (room->step % 8 == 0 && !compare_figures(room, &account))
                return false;
        return !room->kind->fixed || check_promises(room);
}

/* ---- settled ---- */

static bool finish_all(Room *room)
{
        for (int i = 0; i < room->kind->jobs; i++) {
                RoomJob *job = &room->jobs[i];

                if (!job->there || job->job.state != SCHED_ENDING)
                        continue;
                job->job.state = SCHED_PENDING;
                job->job.tasks = NULL;
                if (!journal_put_job(room->journal, &job->job))
                        return wrong_job(room, job, "is refused");
        }
        return true;
}

static bool pass_and_check(Room *room)
{
        journal_pass(room->journal, room->now, &room->decisions);
        return room_check(room);
}

/* 6: what is guaranteed is reached. Jobs are of one CPU each, so nothing can be lost between nodes. */
static bool check_guaranteed(Room *room)
{
        gint64 total = 0, minima = 0, used = 0;
        bool wants = false;
        Account account;

        make_account(room, &account);
        for (int i = 0; i < ROOM_NODES; i++)
                total += room->nodes[i].there ? room->nodes[i].node.total.cpu_milli : 0;
        for (int i = 0; i < ROOM_QUEUES; i++)
                minima += room->queues[i].there ? room->queues[i].queue.min.cpu_milli : 0;
        for (int i = 0; i < ROOM_QUEUES; i++) {
                const SchedQueue *queue = &room->queues[i].queue;
                gint64 held = account.held[i][RESOURCE_CPU], demand;

                if (!room->queues[i].there)
                        continue;
                demand = MIN(held + count_jobs(room, i, true) * 1000, queue->max.cpu_milli);
                if (held < MIN(queue->min.cpu_milli, demand) && minima <= total)
                        return room_wrong(room, "queue %d stays below its guaranteed share", i);
                wants |= demand > held;
                used += held;
        }
        return !wants || used == total || room_wrong(room, "jobs wait beside free room");
}

bool room_check_settled(Room *room)
{
        enum { PATIENCE = 200 };

        for (int i = 0; i < PATIENCE; i++) {
                if (!finish_all(room))
                        return false;
                room->now += room->config.cooldown_ms + room->config.nominated_ms + 1;
                if (!pass_and_check(room))
                        return false;
                if (room->decisions.decisions->len == 0)
                        return check_guaranteed(room);
        }
        return room_wrong(room, "no quiet after %d passes without arrivals", PATIENCE); /* 8 */
}
