/* The life cycle: time limits, the time limit of a start, warnings, and terminals that are closed (see life.h). */
#include "engine/life-internal.h"

#include "engine/task.h"

static gint64 start_due(const Job *job)
{
        bool counts = job->spec->start_timeout_ms > 0 && life_held_up(job);

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

/* ---- what is due ---- */

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

        life_stop(life, JOB_FAILED, g_strdup_printf("time limit of %s reached", limit));
}

static char *say_not_started(const Member *member, const char *limit)
{
        g_autofree char *why = life_clean_text(member->error);

        return g_strdup_printf("did not start on node '%s' within %s%s%s", member->reported_node, limit,
                               why ? ": " : "", why ? why : "");
}

static char *say_not_ready(const Job *job, const Member *member, const char *name, const char *limit)
{
        g_autofree char *see = life_see_log(job, name);
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
        const Member *member = life_held_up(job);
        g_autofree char *name = member_name(job, member), *limit = limit_format(job->spec->start_timeout_ms);
        g_autofree char *what = member->state == MEMBER_INTENDED ? say_not_started(member, limit)
                                                                 : say_not_ready(job, member, name, limit);

        life_use_retry(life, false, g_strdup_printf("%s %s; --start-timeout allows more time", name, what));
}

void life_clock(Life *life)
{
        Job *job = life->job;

        if (job->state == JOB_PREEMPTING) {
                job->kill_at = 0;
                life_stop_members(job);
        } else if (waits(job)) {
                life_stop(
                        life, JOB_CANCELLED,
                        g_strdup(
                                "its terminal was closed while it waited; `paddle shell --detach` starts one "
                                "that stays"));
        } else if (job->state == JOB_STARTING) {
                give_up_start(life);
        } else if (life->now >= job->running + job->spec->time_limit_ms) {
                expire(life);
        } else {
                job->warned = true;
                life_note(life, "job.changed", json_pack("{s:b}", "warned", 1));
        }
}
