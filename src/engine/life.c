/* The life cycle (see life.h, doc/internals/design.md, "A job"): attempts of jobs, and the steps that life-act.c,
 * life-clock.c and life-prepare.c share with them. What always holds here: a job at rest
 * (queued or final) has no member that may run; `succeeded` needs every member of the roles that end by
 * themselves to have exited with 0; an attempt is left only when all its members have ended. */
#include "engine/life-internal.h"

#include <string.h>

#include "base/backoff.h"
#include "base/err.h"
#include "engine/task.h"
#include "model/array.h"
#include "model/framework.h"
#include "model/results.h"
#include "runtime/advice.h"

/* ---- notes ---- */

void life_note(Life *life, const char *kind, json_t *data)
{
        LifeNote made = { .kind = kind, .data = data ? json_format(data) : g_strdup("{}") };

        json_decref(data);
        g_array_append_val(life->notes, made);
}

void life_note_reason(Life *life, const char *kind)
{
        const Job *job = life->job;

        life_note(life, kind,
                  job->reason ? json_pack("{s:s, s:i}", "reason", job->reason, "attempt", job->attempt)
                              : NULL);
}

static void note_member(Life *life, const char *kind, const Member *member)
{
        g_autofree char *name = member_name(life->job, member);

        life_note(life, kind, json_pack("{s:s, s:i}", "member", name, "attempt", life->job->attempt));
}

static void note_exit(Life *life, const Member *member)
{
        g_autofree char *name = member_name(life->job, member);
        json_t *data = json_pack("{s:s, s:i, s:b, s:b}", "member", name, "attempt", life->job->attempt, "oom",
                                 member->oom, "lost", member->state == MEMBER_LOST);

        json_object_set_new(data, "exit_code",
                            member->exit_code >= 0 ? json_integer(member->exit_code) : json_null());
        json_object_set_new(data, "signal", member->signal ? json_integer(member->signal) : json_null());
        if (member->error)
                json_object_set_new(data, "error", json_string(member->error));
        life_note(life, "member.exited", data);
}

/* ---- what is so ---- */

static const FrameworkRole *role_of(const Job *job, const Member *member)
{
        return framework_role(job->spec->framework, job->spec->roles[member->role].name);
}

static bool ends_with_job(const Job *job, const Member *member)
{
        return framework_role_end(job->spec, member->role) != ENDS_WITH_ALL;
}

/* An end with status 0 is a failure of the job: others need this member to the end. */
static bool must_stay(const Job *job, const Member *member)
{
        return framework_role_end(job->spec, member->role) == ENDS_WITH_JOB;
}

bool member_is_ended(const Member *member)
{
        return member->state == MEMBER_EXITED || member->state == MEMBER_LOST ||
               member->state == MEMBER_SURPLUS;
}

static bool is_done(const Member *member)
{
        return member->state == MEMBER_EXITED && member->exit_code == 0 && !member->signal && !member->error;
}

/* False for a surplus member and for one that is leaving: the job continues without them. */
static bool is_missed(const Member *member)
{
        return member->state != MEMBER_SURPLUS && member->state != MEMBER_STOPPING;
}

static bool is_up(const Member *member)
{
        return member->state == MEMBER_RUNNING || member->state == MEMBER_READY || is_done(member) ||
               !is_missed(member);
}

static bool is_ready(const Job *job, const Member *member)
{
        const FrameworkRole *role = role_of(job, member);

        if (!role || !role->listens)
                return is_up(member);
        return member->state == MEMBER_READY || is_done(member) || !is_missed(member);
}

static int phase_of(const Job *job, const Member *member)
{
        const FrameworkRole *role = role_of(job, member);

        return role ? role->phase : 0;
}

/* The first phase that has a member for which `missing` is true, or -1. */
static int first_phase(const Job *job, bool (*missing)(const Job *job, const Member *member))
{
        int first = -1;

        for (int i = 0; i < job->n_members; i++) {
                int phase = phase_of(job, &job->members[i]);

                if (missing(job, &job->members[i]) && (first < 0 || phase < first))
                        first = phase;
        }
        return first;
}

static bool is_waiting(const Job *job, const Member *member)
{
        return member->state == MEMBER_WAITING;
}

static bool is_not_ready(const Job *job, const Member *member)
{
        return member->state != MEMBER_WAITING && !is_ready(job, member);
}

static bool is_not_up(const Job *job, const Member *member)
{
        return !is_up(member);
}

/* A member that was never intended has nothing to end. */
static bool all_ended(const Job *job)
{
        for (int i = 0; i < job->n_members; i++)
                if (!member_is_ended(&job->members[i]) && job->members[i].state != MEMBER_WAITING)
                        return false;
        return true;
}

bool life_is_done(const Job *job)
{
        for (int i = 0; i < job->n_members; i++)
                if (!ends_with_job(job, &job->members[i]) && !is_done(&job->members[i]) &&
                    job->members[i].state != MEMBER_SURPLUS)
                        return false;
        return true;
}

bool member_is_leaving(const Job *job, const Member *member)
{
        return member->state == MEMBER_STOPPING &&
               (job->state == JOB_RUNNING || job->state == JOB_STARTING) && !life_is_done(job);
}

bool life_is_at_rest(const Job *job)
{
        return job->state == JOB_QUEUED || job->state == JOB_SUBMITTED || job->state == JOB_SUSPENDED ||
               job_state_is_final(job->state);
}

gint64 life_queued_since(const Job *job)
{
        return job->submitted + job->queued_ms + job->starting_ms + job->running_ms;
}

/* ---- a start that makes no progress ----
 * Its clock restarts with each member that gets a node, starts or is ready. It stops while a member waits for
 * a node, since that is waiting for resources, not a failure. Only the first phase that is not ready counts:
 * those behind wait for it. */

/* It has its place, but its program does not run yet, or does not listen. */
static bool is_held_up(const Job *job, const Member *member)
{
        return member->state == MEMBER_INTENDED ? member->reported_node != NULL
                                                : member->state == MEMBER_RUNNING && !is_ready(job, member);
}

/* NULL: none, or one of its phase still waits for a node. */
const Member *life_held_up(const Job *job)
{
        int phase = first_phase(job, is_not_ready);
        const Member *first = NULL;

        for (int i = 0; phase >= 0 && i < job->n_members; i++) {
                const Member *member = &job->members[i];

                if (phase_of(job, member) != phase)
                        continue;
                if (member->state == MEMBER_INTENDED && !member->reported_node)
                        return NULL;
                if (!first && is_held_up(job, member))
                        first = member;
        }
        return first;
}

gint64 life_room_grace_ms(const Spec *spec)
{
        return MIN(spec->grace_ms, LIFE_ROOM_MAX_MS);
}

/* ---- moves ---- */

void life_set_reason(Job *job, char *reason)
{
        g_free(job->reason);
        job->reason = reason;
}

static void move_at(Life *life, JobState to, gint64 time)
{
        g_autoptr(GError) error = NULL;

        if (!job_move(life->job, to, time, &error))
                g_error("%s", error->message); /* a hole in the table is our bug: better no server than a
                                                  wrong one */
}

void life_move(Life *life, JobState to)
{
        move_at(life, to, life->now);
}

/* By way of the states between, where the table has no direct one. */
static void move_by(Life *life, JobState via, JobState to, gint64 time)
{
        if (!job_state_can(life->job->state, to))
                life_move(life, via);
        move_at(life, to, time);
}

/* Of what was told, unless it cannot be: the clock of another machine may be wrong. Then it is when we heard
 * of it. */
static gint64 likely_time(const Life *life, gint64 told, gint64 not_before)
{
        return told >= MAX(not_before, 1) && told <= life->now ? told : life->now;
}

/* When the last member ended, which may have been while no server ran. */
static gint64 attempt_end(const Life *life)
{
        const Job *job = life->job;
        gint64 last = 0;

        for (int i = 0; life->ends && i < job->n_members; i++)
                last = MAX(last, job->members[i].finished);
        return likely_time(life, last, MAX(job->admitted, job->running));
}

/* With the last member that started, or became ready at `ready` (0: none did). */
static gint64 attempt_begin(const Life *life, gint64 ready)
{
        gint64 last = ready;

        for (int i = 0; i < life->job->n_members; i++)
                last = MAX(last, life->job->members[i].started);
        return likely_time(life, last, life->job->admitted);
}

static void set_running(Life *life, gint64 ready)
{
        move_at(life, JOB_RUNNING, attempt_begin(life, ready));
        life_note(life, "job.running", json_pack("{s:i}", "attempt", life->job->attempt));
}

static void succeed(Life *life)
{
        if (life->job->state == JOB_STARTING) /* it was done before its start was reported */
                set_running(life, 0);
        move_at(life, JOB_SUCCEEDED, attempt_end(life));
        life_note_reason(life, "job.succeeded");
}

static void finish(Life *life, JobState to)
{
        static const char *const kinds[JOB_STATES] = { [JOB_FAILED] = "job.failed",
                                                       [JOB_CANCELLED] = "job.cancelled",
                                                       [JOB_PREEMPTED] = "job.preempted" };

        move_by(life, JOB_STOPPING, to, attempt_end(life));
        life_note_reason(life, kinds[to]);
}

/* At least 1 ms: the next attempt never starts in the batch in which the last one ended. */
static gint64 backoff_ms(const Job *job)
{
        guint64 earlier = (guint64)MAX(job->failures, 1) - 1;

        return backoff_delay(job->spec->backoff_ms, LIFE_BACKOFF_MAX_MS, earlier);
}

/* The times of the attempt that ends go to the sums, so that they stand for all earlier attempts. */
static void sum_times(Job *job, gint64 end)
{
        gint64 since = life_queued_since(job);
        gint64 admitted = job->admitted ? job->admitted : end;
        gint64 running = job->running ? job->running : end;

        job->queued_ms += MAX(admitted - since, 0);
        job->starting_ms += MAX(running - admitted, 0);
        job->running_ms += MAX(end - running, 0);
        job->admitted = job->running = 0;
}

static void queue_again(Life *life)
{
        Job *job = life->job;

        sum_times(job, attempt_end(life));
        move_by(life, JOB_STOPPING, JOB_QUEUED, life->now);
        job->not_before = life->now + backoff_ms(job);
        life_note(life, "job.retrying",
                  json_pack("{s:s, s:i, s:I}", "reason", job->reason, "attempt", job->attempt, "not_before",
                            (json_int_t)job->not_before));
}

static void go_back(Life *life)
{
        sum_times(life->job, attempt_end(life));
        move_by(life, JOB_STOPPING, JOB_QUEUED, life->now);
        life->job->not_before = 0;
        life->job->kill_at = 0;
}

static void conclude(Life *life)
{
        int to = life->job->stop_to;

        life->job->kill_at = 0;
        if (to == LIFE_RETRY) {
                queue_again(life);
        } else if (to == LIFE_REQUEUE) {
                go_back(life);
                life_note_reason(life, "job.requeued");
        } else if (to == JOB_SUSPENDED) {
                go_back(life);
                life_move(life, JOB_SUSPENDED);
                life_note_reason(life, "job.suspended");
        } else {
                finish(life, (JobState)to);
        }
}

/* True if the member runs. Any other needs no time to save its work. */
static bool is_working(const Member *member)
{
        return member->state == MEMBER_RUNNING || member->state == MEMBER_READY;
}

static void stop_member(Member *member)
{
        if (member->state != MEMBER_WAITING && !member_is_ended(member))
                member->state = MEMBER_STOPPING;
}

void life_stop_members(Job *job)
{
        for (int i = 0; i < job->n_members; i++)
                stop_member(&job->members[i]);
}

/* Ends the attempt: at once when nothing runs any more, else by way of `stopping`. */
void life_stop(Life *life, int to, char *reason)
{
        Job *job = life->job;

        life_set_reason(job, reason);
        job->stop_to = (guint8)to;
        life_stop_members(job);
        if (all_ended(job)) {
                conclude(life);
                return;
        }
        life_move(life, JOB_STOPPING);
        life_note_reason(life, "job.stopping");
}

/* ---- starting ---- */

static void intend_phase(Life *life, int phase)
{
        Job *job = life->job;
        bool all = life->orders || (life->gates && framework_phases_listen(job->spec));

        for (int i = 0; i < job->n_members; i++)
                if ((all || phase_of(job, &job->members[i]) == phase) &&
                    job->members[i].state == MEMBER_WAITING)
                        job->members[i].state = MEMBER_INTENDED;
}

/* Intends the next phase when all before it are ready; running when every member is up. `time`: of the news.
 */
static void advance(Life *life, gint64 time)
{
        Job *job = life->job;
        int waiting = first_phase(job, is_waiting);

        if (job->state != JOB_STARTING)
                return;
        if (waiting >= 0) {
                if (first_phase(job, is_not_ready) < 0)
                        intend_phase(life, waiting);
                return;
        }
        if (first_phase(job, is_not_up) < 0)
                set_running(life, time);
}

/* ---- ends ---- */

char *life_see_log(const Job *job, const char *member)
{
        return g_strdup_printf("see `paddle logs %s --member %s`", job->name, member);
}

static char *say_oom(const Job *job, const Member *member, const char *name)
{
        gint64 declared = job->spec->roles[member->role].each.memory;
        gint64 limit = declared > 0 ? declared : job->memory_share;
        g_autofree char *text = limit > 0 ? memory_format(limit) : NULL;

        if (text && declared == 0)
                return g_strdup_printf(
                        "%s was killed by its memory limit of %s, which queue '%s' gives to members that ask "
                        "for none; ask for more with --memory",
                        name, text, job->queue);
        if (text)
                return g_strdup_printf("%s was killed by its memory limit of %s; ask for more with --memory",
                                       name, text);
        return g_strdup_printf(
                "%s was killed because the machine ran out of memory; ask for memory with --memory", name);
}

/* Whoever typed `exit 7` at a terminal knows why: the status is theirs, and the last line is no cause. */
static bool is_own_exit(const Job *job, const Member *member)
{
        return job->spec->tty && member->exit_code > 0 && !member->signal && !member->error && !member->oom;
}

static char *say_exit(const Job *job, const Member *member)
{
        g_autofree char *name = member_name(job, member);
        g_autofree char *see = life_see_log(job, name);

        if (member->state == MEMBER_LOST)
                return g_strdup_printf("%s was lost: %s", name,
                                       member->error ? member->error
                                                     : "the machine restarted, or its keeper was killed");
        if (member->error && !member->signal && member->exit_code < 0)
                return g_strdup_printf("%s could not be started: %s", name, member->error);
        if (member->oom)
                return say_oom(job, member, name);
        if (is_own_exit(job, member))
                return g_strdup_printf("ended with status %d", member->exit_code);
        if (member->error) {
                g_autofree char *noted = g_strconcat(member->error, "; ", see, NULL);

                g_free(see);
                see = g_steal_pointer(&noted);
        }
        if (member->signal)
                return g_strdup_printf("%s was ended by signal %d (%s); %s", name, member->signal,
                                       g_strsignal(member->signal), see);
        if (member->exit_code == 0)
                return g_strdup_printf(
                        "%s exited with status 0 before the trainers ended: the program does not serve "
                        "parameters, or could not bind its port; %s",
                        name, see);
        return g_strdup_printf("%s exited with status %d; %s", name, member->exit_code, see);
}

/* One that did not run because of a full disk does not count: it is tried again until there is space. */
static int after_loss(Job *job, const MemberEnd *end)
{
        job->losses += !end->no_space;
        return job->spec->restart_lost && job->losses <= LIFE_LOST_MAX ? (int)LIFE_RETRY : (int)JOB_FAILED;
}

/* Takes `why`. */
void life_use_retry(Life *life, bool permanent, char *why)
{
        Job *job = life->job;

        job->failures++;
        life_stop(life, job->failures <= job->spec->retries && !permanent ? (int)LIFE_RETRY : (int)JOB_FAILED,
                  why);
}

/* Texts of programs and errors go into JSON, and into reasons, which are one line: an error's hint, behind
 * its newline, becomes a sentence. */
char *life_clean_text(const char *text)
{
        g_autofree char *valid = text && *text ? g_utf8_make_valid(text, -1) : NULL;

        return err_line(valid);
}

/* The last line often says the cause, and there may be an advice about it. An exit status without a fault of its own (see say_exit) and other ends
 * have none. Takes `why`. */
static char *with_last_line(char *why, const Job *job, const Member *member, const char *line)
{
        g_autofree char *own = why, *text = life_clean_text(line), *advice = text ? advice_of(text) : NULL;

        if (!text || member->state == MEMBER_LOST || member->oom || is_own_exit(job, member))
                return g_steal_pointer(&own);
        return g_strdup_printf("%s; last line: %s%s%s", own, text, advice ? "; " : "", advice ? advice : "");
}

static void attempt_failed(Life *life, const Member *member, const MemberEnd *end)
{
        bool permanent = end->kind == END_START_FAILED && end->permanent;
        char *why = with_last_line(say_exit(life->job, member), life->job, member, end->last_line);

        if (member->state == MEMBER_LOST) {
                life_stop(life, after_loss(life->job, end), why);
                return;
        }
        if (life->job->spec->tty && end->hung_up) {
                g_free(why);
                life_stop(life, JOB_CANCELLED,
                          g_strdup("its terminal was closed; `paddle shell --detach` starts one that stays"));
                return;
        }
        life_use_retry(life, permanent, why);
}

static void record_end(Life *life, Member *member, const MemberEnd *end)
{
        /* The power button ends processes by signals: what the machine's restart did is not the job's
         * failure. */
        bool swept = end->rebooted && end->kind == END_EXITED && (end->signal || end->exit_code >= 128);
        const char *told = end->kind != END_EXITED ? end->text : swept ? NULL : end->note;

        member->state = end->kind == END_LOST || swept ? MEMBER_LOST : MEMBER_EXITED;
        member->exit_code = end->kind == END_EXITED && !end->signal ? (gint16)end->exit_code : -1;
        member->signal = end->kind == END_EXITED ? (guint8)end->signal : 0;
        member->oom = end->oom;
        member->finished = likely_time(life, end->time, MAX(life->job->admitted, member->started));
        member->peak_memory = end->peak_memory;
        member->cpu_us = end->cpu_us;
        g_free(member->error);
        member->error = life_clean_text(told);
        if (end->kind == END_START_FAILED && !member->error)
                member->error = g_strdup("no reason was given");
        note_exit(life, member);
}

/* The work is done: what ends with the job is stopped; the last to end makes it succeeded. */
static void wind_down(Life *life)
{
        Job *job = life->job;

        life_stop_members(job);
        if (all_ended(job))
                succeed(life);
}

void life_member_reported(Life *life, int index, const char *text)
{
        g_auto(GStrv) before = life->job->results;

        life->job->results = results_merge(before, text, index, life->job->attempt);
}

void life_member_ended(Life *life, int index, const MemberEnd *end)
{
        Job *job = life->job;
        Member *member = &job->members[index];
        bool was_done = life_is_done(job), left = member_is_leaving(job, member);

        record_end(life, member, end);
        life->ends = true;
        if (left)
                member->state = MEMBER_SURPLUS;
        else if (is_done(member) && spec_is_elastic(job->spec))
                job->settled = true; /* the work is nearly done: one that joined now would begin it anew */
        if (job->state == JOB_STOPPING || job->state == JOB_PREEMPTING) {
                if (all_ended(job))
                        conclude(life);
        } else if (!left && !was_done && (!is_done(member) || must_stay(job, member))) {
                attempt_failed(life, member, end);
        } else if (life_is_done(job)) {
                wind_down(life);
        } else {
                advance(life, member->finished);
        }
}

/* ---- the rest of what can happen ---- */

void life_admitted(Life *life)
{
        Job *job = life->job;

        life_set_reason(job, NULL);
        job->not_before = job->kill_at = 0;
        job->stop_to = 0;
        job->warned = false;
        job->settled = spec_is_elastic(job->spec) && job->spec->framework->fixed;
        move_by(life, JOB_ADMITTED, JOB_STARTING, life->now);
        job->admitted = job->progressed = life->now;
        life_note(life, "job.starting", json_pack("{s:i}", "attempt", job->attempt));
        intend_phase(life, first_phase(job, is_waiting));
}

static void confirm_start(Life *life, Member *member, int pid, gint64 time)
{
        if (pid)
                member->pid = pid;
        if (!member->started)
                member->started = likely_time(life, time, life->job->admitted);
        g_clear_pointer(&member->error, g_free); /* why it had to wait */
        member->finished = 0;                    /* of an earlier stay of a member that had to leave */
}

void life_member_started(Life *life, int index, int pid, gint64 time)
{
        Member *member = &life->job->members[index];

        confirm_start(life, member, pid, time);
        if (member->state != MEMBER_INTENDED)
                return;
        member->state = MEMBER_RUNNING;
        life->job->progressed = life->now;
        note_member(life, "member.started", member);
        advance(life, time);
}

void life_member_placed(Life *life, int index, const char *node)
{
        Member *member = &life->job->members[index];
        g_autofree char *name = member_name(life->job, member);

        g_free(member->reported_node);
        member->reported_node = g_strdup(node);
        life->job->progressed = life->now;
        life_note(life, "member.placed",
                  json_pack("{s:s, s:s, s:i}", "member", name, "node", node, "attempt", life->job->attempt));
}

void life_member_waits(Life *life, int index, const char *why)
{
        Member *member = &life->job->members[index];
        g_autofree char *name = NULL;

        if (member->state != MEMBER_INTENDED || g_strcmp0(member->error, why) == 0)
                return;
        g_free(member->error);
        member->error = g_strdup(why);
        name = member_name(life->job, member);
        life_note(life, "member.waits", json_pack("{s:s, s:s}", "member", name, "reason", why ? why : ""));
}

void life_member_ready(Life *life, int index, gint64 time)
{
        Member *member = &life->job->members[index];

        life_member_started(life, index, 0, time);
        if (member->state != MEMBER_RUNNING)
                return;
        member->state = MEMBER_READY;
        life->job->progressed = life->now;
        note_member(life, "member.ready", member);
        advance(life, time);
}

/* ---- making room ---- */

static void set_evicted_for(Job *job, const char *for_id)
{
        job->evictions++;
        g_free(job->evicted_for);
        job->evicted_for = g_strdup(for_id);
}

static void note_room(Life *life, const char *kind, const char *for_id, int members)
{
        json_t *data = json_pack("{s:i, s:i}", "attempt", life->job->attempt, "members", members);

        if (for_id)
                json_object_set_new(data, "for", json_string(for_id));
        life_note(life, kind, data);
}

/* Members that work get the warning and their grace, if the job has a signal for that; else it begins with
 * TERM. */
static void warn_members(Job *job)
{
        for (int i = 0; i < job->n_members; i++)
                if (!job->spec->warn_signal || !is_working(&job->members[i]))
                        stop_member(&job->members[i]);
}

void life_evicted(Life *life, const char *for_text, const char *for_id)
{
        Job *job = life->job;

        set_evicted_for(job, for_id);
        life_set_reason(job, g_strdup_printf("evicted for %s", for_text));
        job->stop_to = job->spec->end_evicted ? JOB_PREEMPTED : (guint8)LIFE_REQUEUE;
        life_move(life, JOB_PREEMPTING);
        note_room(life, "job.preempting", for_id, job->n_members);
        warn_members(job);
        if (job->spec->warn_signal)
                job->kill_at = life->now + MAX(life_room_grace_ms(job->spec), 1);
        if (all_ended(job))
                conclude(life);
}

/* False: it goes already, or has no place to give. */
static bool let_go(Member *member)
{
        if (member->state == MEMBER_SURPLUS || member->state == MEMBER_STOPPING)
                return false;
        member->state =
                member->state == MEMBER_WAITING || member_is_ended(member) ? MEMBER_SURPLUS : MEMBER_STOPPING;
        return true;
}

void life_shrunk(Life *life, const bool *stays, const char *for_text, const char *for_id)
{
        Job *job = life->job;
        int n = 0;

        for (int i = 0; i < job->n_members; i++)
                if (!stays[i])
                        n += let_go(&job->members[i]);
        set_evicted_for(job, for_id);
        note_room(life, "job.shrunk", for_id, n);
        advance(life, life->now);
}

/* `finished` stays until the new start is confirmed: what is told of an end before it is the earlier one's.
 */
static void come_back(Member *member)
{
        member->state = MEMBER_WAITING;
        member->pid = member->signal = 0;
        member->exit_code = -1;
        member->oom = false;
        member->started = 0;
        g_clear_pointer(&member->reported_node, g_free);
        g_clear_pointer(&member->error, g_free);
}

void life_grown(Life *life, const bool *comes)
{
        Job *job = life->job;
        int n = 0;

        for (int i = 0; i < job->n_members; i++) {
                if (!comes[i] || job->members[i].state != MEMBER_SURPLUS)
                        continue;
                come_back(&job->members[i]);
                if (job->state == JOB_RUNNING)
                        job->members[i].state = MEMBER_INTENDED;
                n++;
        }
        note_room(life, "job.grown", NULL, n);
        advance(life, life->now);
}
