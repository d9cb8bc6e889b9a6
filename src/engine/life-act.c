/* The life cycle: what users and other jobs request (see life.h). */
#include "engine/life-internal.h"

#include <string.h>

#include "base/err.h"
#include "model/array.h"

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
        life_note(life, "job.changed", json_pack("{s:s, s:b}", "by", by, "killed", 1));
}

bool life_cancel(Life *life, bool force, const char *by, GError **error)
{
        Job *job = life->job;
        bool ending = job->state == JOB_STOPPING && !goes_back(job);

        if (!check_open(job, error))
                return false;
        if (job->state != JOB_STOPPING) {
                job->kill_at = 0;
                life_stop(life, JOB_CANCELLED, g_strdup_printf("cancelled by %s", by));
        } else if (goes_back(job)) {
                job->stop_to = JOB_CANCELLED;
                life_set_reason(job, g_strdup_printf("cancelled by %s", by));
                life_note_reason(life, "job.stopping");
        }
        if (force || ending)
                kill_now(life, by);
        return true;
}

/* The way of a job that is leaving its members already. */
static void redirect(Life *life, int to, char *reason)
{
        life->job->stop_to = (guint8)to;
        life_set_reason(life->job, reason);
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
                life_set_reason(job, reason);
                life_move(life, JOB_SUSPENDED);
                life_note_reason(life, "job.suspended");
                life_leave_preparations(life);
        } else {
                life_stop(life, JOB_SUSPENDED, reason);
        }
        return true;
}

bool life_release(Life *life, GError **error)
{
        Job *job = life->job;

        if (!check_open(job, error))
                return false;
        if (job->state == JOB_SUSPENDED) {
                life_set_reason(job, NULL);
                life_move(life, JOB_QUEUED);
                life_note(life, "job.released", NULL);
        } else if (job->stop_to == JOB_SUSPENDED &&
                   (job->state == JOB_STOPPING || job->state == JOB_PREEMPTING)) {
                redirect(life, LIFE_REQUEUE, g_strdup("released"));
                life_note(life, "job.released", NULL);
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
                life_stop(life, LIFE_REQUEUE, reason);
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
        life_note(life, "job.changed", json_pack("{s:I}", "saved_at", (json_int_t)job->saved));
        return true;
}

void life_given_up(Life *life, char *reason)
{
        life_stop(life, JOB_CANCELLED, reason);
}

void life_refused(Life *life, char *reason)
{
        life_stop(life, JOB_FAILED, reason);
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
        life_note(life, "job.changed", json_pack("{s:s}", "after", entry));
}

void life_changed(Life *life, const char *by)
{
        const Job *job = life->job;

        life_note(life, "job.changed",
                  json_pack("{s:s, s:s, s:i}", "by", by, "queue", job->queue, "priority", job->priority));
}
