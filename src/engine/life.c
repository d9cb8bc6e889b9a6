/* The life cycle (see life.h, doc/internals/design.md, "A job"). What always holds here: a job at rest
 * (queued or final) has no member that may run; `succeeded` needs every member of the roles that end by
 * themselves to have exited with 0; an attempt is left only when all its members have ended. */
#include "engine/life.h"

#include <string.h>

#include "base/backoff.h"
#include "base/err.h"
#include "engine/task.h"
#include "model/array.h"
#include "model/framework.h"
#include "model/results.h"

/* ---- notes ---- */

static void note(Life *life, const char *kind, json_t *data)
{
        LifeNote made = { .kind = kind, .data = data ? json_format(data) : g_strdup("{}") };

        json_decref(data);
        g_array_append_val(life->notes, made);
}

static void note_reason(Life *life, const char *kind)
{
        const Job *job = life->job;

        note(life, kind,
             job->reason ? json_pack("{s:s, s:i}", "reason", job->reason, "attempt", job->attempt) : NULL);
}

static void note_member(Life *life, const char *kind, const Member *member)
{
        g_autofree char *name = member_name(life->job, member);

        note(life, kind, json_pack("{s:s, s:i}", "member", name, "attempt", life->job->attempt));
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
        note(life, "member.exited", data);
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

/* Surplus members are missed by nobody, and so is one that is leaving. */
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
        return member->state == MEMBER_INTENDED ? member->stands_on != NULL
                                                : member->state == MEMBER_RUNNING && !is_ready(job, member);
}

/* NULL: none, or one of its phase still waits for a node. */
static const Member *first_held_up(const Job *job)
{
        int phase = first_phase(job, is_not_ready);
        const Member *first = NULL;

        for (int i = 0; phase >= 0 && i < job->n_members; i++) {
                const Member *member = &job->members[i];

                if (phase_of(job, member) != phase)
                        continue;
                if (member->state == MEMBER_INTENDED && !member->stands_on)
                        return NULL;
                if (!first && is_held_up(job, member))
                        first = member;
        }
        return first;
}

static gint64 start_due(const Job *job)
{
        bool counts = job->spec->start_timeout_ms > 0 && first_held_up(job);

        return counts ? MAX(job->progressed, job->admitted) + job->spec->start_timeout_ms : 0;
}

static gint64 warn_due(const Job *job)
{
        const Spec *spec = job->spec;

        if (job->warned || !spec->warn_signal || spec->warn_ms <= 0)
                return 0;
        return job->running + MAX(spec->time_limit_ms - spec->warn_ms, 0);
}

gint64 life_due(const Job *job)
{
        if (job->state == JOB_PREEMPTING)
                return job->kill_at;
        if (job->state == JOB_STARTING)
                return start_due(job);
        if (job->state != JOB_RUNNING || job->spec->time_limit_ms <= 0 || life_is_done(job))
                return 0;
        return warn_due(job) ? warn_due(job) : job->running + job->spec->time_limit_ms;
}

static bool waits(const Job *job)
{
        return job->state == JOB_QUEUED || job->state == JOB_SUSPENDED;
}

gint64 life_hangup_due(const Job *job, gint64 alone)
{
        const Spec *spec = job->spec;

        return waits(job) && job->attempt == 0 && spec->tty && !spec->detach ? alone + spec->hangup_ms : 0;
}

gint64 life_room_grace_ms(const Spec *spec)
{
        return MIN(spec->grace_ms, LIFE_ROOM_MAX_MS);
}

/* ---- moves ---- */

static void set_reason(Job *job, char *reason)
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

static void move(Life *life, JobState to)
{
        move_at(life, to, life->now);
}

/* By way of the states between, where the table has no direct one. */
static void move_by(Life *life, JobState via, JobState to, gint64 time)
{
        if (!job_state_can(life->job->state, to))
                move(life, via);
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
        note(life, "job.running", json_pack("{s:i}", "attempt", life->job->attempt));
}

static void succeed(Life *life)
{
        if (life->job->state == JOB_STARTING) /* it was done before its start was reported */
                set_running(life, 0);
        move_at(life, JOB_SUCCEEDED, attempt_end(life));
        note_reason(life, "job.succeeded");
}

static void finish(Life *life, JobState to)
{
        static const char *const kinds[JOB_STATES] = { [JOB_FAILED] = "job.failed",
                                                       [JOB_CANCELLED] = "job.cancelled",
                                                       [JOB_PREEMPTED] = "job.preempted" };

        move_by(life, JOB_STOPPING, to, attempt_end(life));
        note_reason(life, kinds[to]);
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
        note(life, "job.retrying",
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
                note_reason(life, "job.requeued");
        } else if (to == JOB_SUSPENDED) {
                go_back(life);
                move(life, JOB_SUSPENDED);
                note_reason(life, "job.suspended");
        } else {
                finish(life, (JobState)to);
        }
}

/* What never began, or was to begin now, needs no time to save anything. */
static bool is_working(const Member *member)
{
        return member->state == MEMBER_RUNNING || member->state == MEMBER_READY;
}

static void stop_member(Member *member)
{
        if (member->state != MEMBER_WAITING && !member_is_ended(member))
                member->state = MEMBER_STOPPING;
}

static void stop_members(Job *job)
{
        for (int i = 0; i < job->n_members; i++)
                stop_member(&job->members[i]);
}

/* Ends the attempt: at once when nothing runs any more, else by way of `stopping`. */
static void stop(Life *life, int to, char *reason)
{
        Job *job = life->job;

        set_reason(job, reason);
        job->stop_to = (guint8)to;
        stop_members(job);
        if (all_ended(job)) {
                conclude(life);
                return;
        }
        move(life, JOB_STOPPING);
        note_reason(life, "job.stopping");
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

static char *see_log(const Job *job, const char *member)
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
        g_autofree char *see = see_log(job, name);

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

static int after_loss(Job *job)
{
        job->losses++;
        return job->spec->restart_lost && job->losses <= LIFE_LOST_MAX ? (int)LIFE_RETRY : (int)JOB_FAILED;
}

/* Takes `why`. */
static void use_retry(Life *life, bool permanent, char *why)
{
        Job *job = life->job;

        job->failures++;
        stop(life, job->failures <= job->spec->retries && !permanent ? (int)LIFE_RETRY : (int)JOB_FAILED,
             why);
}

/* Texts of programs and errors go into JSON, and into reasons, which are one line: an error's hint, behind
 * its newline, becomes a sentence. */
static char *clean_text(const char *text)
{
        g_autofree char *valid = text && *text ? g_utf8_make_valid(text, -1) : NULL;

        return err_line(valid);
}

/* The last line often says the cause. An exit status without a fault of its own (see say_exit) and other ends
 * have none. Takes `why`. */
static char *with_last_line(char *why, const Job *job, const Member *member, const char *line)
{
        g_autofree char *own = why, *text = clean_text(line);

        if (!text || member->state == MEMBER_LOST || member->oom || is_own_exit(job, member))
                return g_steal_pointer(&own);
        return g_strdup_printf("%s; last line: %s", own, text);
}

static void attempt_failed(Life *life, const Member *member, const MemberEnd *end)
{
        bool permanent = end->kind == END_START_FAILED && end->permanent;
        char *why = with_last_line(say_exit(life->job, member), life->job, member, end->last_line);

        if (member->state == MEMBER_LOST) {
                stop(life, after_loss(life->job), why);
                return;
        }
        if (life->job->spec->tty && end->hung_up) {
                g_free(why);
                stop(life, JOB_CANCELLED,
                     g_strdup("its terminal was closed; `paddle shell --detach` starts one that stays"));
                return;
        }
        use_retry(life, permanent, why);
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
        member->error = clean_text(told);
        if (end->kind == END_START_FAILED && !member->error)
                member->error = g_strdup("no reason was given");
        note_exit(life, member);
}

/* The work is done: what ends with the job is stopped; the last to end makes it succeeded. */
static void wind_down(Life *life)
{
        Job *job = life->job;

        stop_members(job);
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

static void set_preparation(Life *life, Preparation *one, PreparationState state)
{
        one->state = (guint8)state;
        note(life, preparation_info(one->kind)->event,
             json_pack("{s:s}", "state", preparation_state_name(state)));
}

void life_preparing(Life *life, PreparationKind kind)
{
        Preparation *one = job_preparation(life->job, kind);

        one->begun = life->now;
        set_preparation(life, one, PREPARATION_RUNNING);
}

void life_prepared(Life *life, PreparationKind kind)
{
        Preparation *one = job_preparation(life->job, kind);

        one->ready = life->now;
        set_preparation(life, one, PREPARATION_READY);
}

void life_unprepared(Life *life, PreparationKind kind, const char *why)
{
        const PreparationInfo *info = preparation_info(kind);
        const char *hint = why ? strchr(why, '\n') : NULL;
        g_autofree char *text = clean_text(why), *see = NULL;
        Job *job = life->job;

        set_preparation(life, job_preparation(job, kind), PREPARATION_FAILED);
        if (job_state_is_final(job->state))
                return;
        if (info->log && !(hint && hint[1])) /* requirements that were refused: there is no log, but a hint */
                see = see_log(job, info->log);
        stop(life, JOB_FAILED,
             g_strdup_printf("%s: %s%s%s", info->failed, text ? text : "no reason was given", see ? "; " : "",
                             see ? see : ""));
}

void life_submitted(Life *life)
{
        Job *job = life->job;

        if (job->state == JOB_SUBMITTED)
                move(life, JOB_QUEUED);
        note(life, "job.queued", NULL);
        for (int i = 0; i < job->n_preparations; i++) {
                Preparation *one = &job->preparations[i];

                if (one->state == PREPARATION_READY)
                        one->ready = life->now;
                else if (one->state == PREPARATION_RUNNING)
                        life_preparing(life, one->kind);
        }
}

void life_admitted(Life *life)
{
        Job *job = life->job;

        set_reason(job, NULL);
        job->not_before = job->kill_at = 0;
        job->stop_to = 0;
        job->warned = false;
        job->settled = spec_is_elastic(job->spec) && job->spec->framework->fixed;
        move_by(life, JOB_ADMITTED, JOB_STARTING, life->now);
        job->admitted = job->progressed = life->now;
        note(life, "job.starting", json_pack("{s:i}", "attempt", job->attempt));
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

        g_free(member->stands_on);
        member->stands_on = g_strdup(node);
        life->job->progressed = life->now;
        note(life, "member.placed",
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
        note(life, "member.waits", json_pack("{s:s, s:s}", "member", name, "reason", why ? why : ""));
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
        note(life, kind, data);
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
        set_reason(job, g_strdup_printf("evicted for %s", for_text));
        job->stop_to = job->spec->end_evicted ? JOB_PREEMPTED : (guint8)LIFE_REQUEUE;
        move(life, JOB_PREEMPTING);
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
        g_clear_pointer(&member->stands_on, g_free);
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

/* ---- what people ask for ---- */

static bool goes_back(const Job *job)
{
        return job->stop_to == LIFE_RETRY || job->stop_to == LIFE_REQUEUE || job->stop_to == JOB_SUSPENDED;
}

/* False when its end is settled. */
static bool check_open(const Job *job, GError **error)
{
        g_autofree char *words = job_words(job);

        return !job_state_is_final(job->state) ||
               err_set(error, ERR_CONFLICT, "%s has already ended: %s", words, job_state_name(job->state));
}

static bool check_staying(const Job *job, GError **error)
{
        g_autofree char *words = job_words(job);

        if (!check_open(job, error))
                return false;
        if ((job->state == JOB_STOPPING && !goes_back(job)) ||
            (job->state == JOB_RUNNING && life_is_done(job)))
                return err_set(error, ERR_CONFLICT, "%s is already ending", words);
        return true;
}

/* Its members get no grace any more. */
static void kill_now(Life *life, const char *by)
{
        Job *job = life->job;

        if (job->state != JOB_STOPPING || job->kill_at)
                return;
        job->kill_at = MAX(life->now, 1);
        note(life, "job.changed", json_pack("{s:s, s:b}", "by", by, "killed", 1));
}

bool life_cancel(Life *life, bool force, const char *by, GError **error)
{
        Job *job = life->job;
        bool ending = job->state == JOB_STOPPING && !goes_back(job);

        if (!check_open(job, error))
                return false;
        if (job->state != JOB_STOPPING) {
                job->kill_at = 0;
                stop(life, JOB_CANCELLED, g_strdup_printf("cancelled by %s", by));
        } else if (goes_back(job)) {
                job->stop_to = JOB_CANCELLED;
                set_reason(job, g_strdup_printf("cancelled by %s", by));
                note_reason(life, "job.stopping");
        }
        if (force || ending)
                kill_now(life, by);
        return true;
}

/* The way of a job that is leaving its members already. */
static void redirect(Life *life, int to, char *reason)
{
        life->job->stop_to = (guint8)to;
        set_reason(life->job, reason);
}

/* A held job may not run, so nothing is prepared for it. */
static void leave_preparations(Life *life)
{
        for (int i = 0; i < life->job->n_preparations; i++)
                if (life->job->preparations[i].state == PREPARATION_RUNNING)
                        set_preparation(life, &life->job->preparations[i], PREPARATION_WAITING);
}

bool life_hold(Life *life, const char *by, GError **error)
{
        Job *job = life->job;
        char *reason;

        if (!check_staying(job, error))
                return false;
        if (job->state == JOB_SUSPENDED)
                return true;
        reason = g_strdup_printf("held by %s", by);
        if (job->state == JOB_STOPPING || job->state == JOB_PREEMPTING) {
                redirect(life, JOB_SUSPENDED, reason);
        } else if (job->state == JOB_QUEUED) {
                set_reason(job, reason);
                move(life, JOB_SUSPENDED);
                note_reason(life, "job.suspended");
                leave_preparations(life);
        } else {
                stop(life, JOB_SUSPENDED, reason);
        }
        return true;
}

bool life_release(Life *life, GError **error)
{
        Job *job = life->job;

        if (!check_open(job, error))
                return false;
        if (job->state == JOB_SUSPENDED) {
                set_reason(job, NULL);
                move(life, JOB_QUEUED);
                note(life, "job.released", NULL);
        } else if (job->stop_to == JOB_SUSPENDED &&
                   (job->state == JOB_STOPPING || job->state == JOB_PREEMPTING)) {
                redirect(life, LIFE_REQUEUE, g_strdup("released"));
                note(life, "job.released", NULL);
        }
        return true;
}

bool life_requeue(Life *life, const char *by, GError **error)
{
        Job *job = life->job;
        g_autofree char *words = job_words(job);
        char *reason;

        if (!check_staying(job, error))
                return false;
        if (job->state == JOB_SUSPENDED)
                return err_set(error, ERR_CONFLICT, "%s is held\nRelease it: `paddle release %s`.", words,
                               job->id);
        if (job->state == JOB_QUEUED)
                return true;
        reason = g_strdup_printf("requeued by %s", by);
        if (job->state == JOB_STOPPING || job->state == JOB_PREEMPTING)
                redirect(life, LIFE_REQUEUE, reason);
        else
                stop(life, LIFE_REQUEUE, reason);
        return true;
}

bool life_saved(Life *life, GError **error)
{
        Job *job = life->job;
        g_autofree char *words = job_words(job);

        if (!check_open(job, error))
                return false;
        if (job->state != JOB_STARTING && job->state != JOB_RUNNING && job->state != JOB_PREEMPTING &&
            job->state != JOB_STOPPING)
                return err_set(error, ERR_CONFLICT, "%s is %s: only a running job saves its work", words,
                               job_state_name(job->state));
        job->saved = life->now;
        note(life, "job.changed", json_pack("{s:I}", "saved_at", (json_int_t)job->saved));
        return true;
}

void life_given_up(Life *life, char *reason)
{
        stop(life, JOB_CANCELLED, reason);
}

void life_refused(Life *life, char *reason)
{
        stop(life, JOB_FAILED, reason);
}

void life_after(Life *life, const char *entry)
{
        g_autoptr(GStrvBuilder) rest = g_strv_builder_new();
        g_auto(GStrv) left = NULL;
        Job *job = life->job;

        for (char **at = job->after; at && *at; at++)
                if (strcmp(*at, entry) != 0)
                        g_strv_builder_add(rest, *at);
        left = g_strv_builder_end(rest);
        g_strfreev(job->after);
        job->after = left[0] ? g_steal_pointer(&left) : NULL;
        note(life, "job.changed", json_pack("{s:s}", "after", entry));
}

void life_changed(Life *life, const char *by)
{
        const Job *job = life->job;

        note(life, "job.changed",
             json_pack("{s:s, s:s, s:i}", "by", by, "queue", job->queue, "priority", job->priority));
}

/* ---- the clock ---- */

/* As a person would have written it: "2h", "90s". */
static char *limit_format(gint64 ms)
{
        static const struct {
                gint64 ms;
                const char *unit;
        } units[] = { { 86400000, "d" }, { 3600000, "h" }, { 60000, "m" }, { 1000, "s" }, { 1, "ms" } };
        gsize i = 0;

        while (ms % units[i].ms)
                i++;
        return g_strdup_printf("%" G_GINT64_FORMAT "%s", ms / units[i].ms, units[i].unit);
}

static void expire(Life *life)
{
        g_autofree char *limit = limit_format(life->job->spec->time_limit_ms);

        stop(life, JOB_FAILED, g_strdup_printf("time limit of %s reached", limit));
}

static char *say_not_started(const Member *member, const char *limit)
{
        g_autofree char *why = clean_text(member->error);

        return g_strdup_printf("did not start on node '%s' within %s%s%s", member->stands_on, limit,
                               why ? ": " : "", why ? why : "");
}

static char *say_not_ready(const Job *job, const Member *member, const char *name, const char *limit)
{
        g_autofree char *see = see_log(job, name);
        g_autofree char *port = g_strdup_printf("listen on port %d", member->port);

        return g_strdup_printf("did not %s within %s; %s",
                               job->spec->ready_declared ? "create $PADDLE_READY_FILE"
                               : member->port            ? port
                                                         : "listen on its port",
                               limit, see);
}

/* Names the member, its port or node, and what to do. */
static void give_up_start(Life *life)
{
        const Job *job = life->job;
        const Member *member = first_held_up(job);
        g_autofree char *name = member_name(job, member), *limit = limit_format(job->spec->start_timeout_ms);
        g_autofree char *what = member->state == MEMBER_INTENDED ? say_not_started(member, limit)
                                                                 : say_not_ready(job, member, name, limit);

        use_retry(life, false, g_strdup_printf("%s %s; --start-timeout allows more time", name, what));
}

void life_clock(Life *life)
{
        Job *job = life->job;

        if (job->state == JOB_PREEMPTING) {
                job->kill_at = 0;
                stop_members(job);
        } else if (waits(job)) {
                stop(life, JOB_CANCELLED,
                     g_strdup("its terminal was closed while it waited; `paddle shell --detach` starts one "
                              "that stays"));
        } else if (job->state == JOB_STARTING) {
                give_up_start(life);
        } else if (life->now >= job->running + job->spec->time_limit_ms) {
                expire(life);
        } else {
                job->warned = true;
                note(life, "job.changed", json_pack("{s:b}", "warned", 1));
        }
}
