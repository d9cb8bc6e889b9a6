/* When a job is expected to start: the clone is played forward from end to end. */
#include "sched/state.h"

/* The next that ends: at *ret_time, at the latest. NULL: none of which it is known. */
static Job *next_to_end(const Scheduler *s, gint64 *ret_time)
{
        Job *next = NULL;

        for (guint i = 0; i < s->queues->len; i++) {
                const QueueNode *queue = s->queues->pdata[i];

                for (guint j = 0; queue && j < queue->running->len; j++) {
                        Job *job = queue->running->pdata[j];
                        gint64 end = job_end(job);

                        if (job->state == SCHED_ENDING || job->run->going)
                                end = s->now + job->shape->grace;
                        end = end == G_MAXINT64 ? end : MAX(end, s->now);
                        if (end == G_MAXINT64 ||
                            (next && (end > *ret_time || (end == *ret_time && job->key > next->key))))
                                continue;
                        next = job;
                        *ret_time = end;
                }
        }
        return next;
}

/* Who was told to go has gone, and waits again when it was evicted; a time limit ends a job for good. */
static void end(Scheduler *s, Job *job)
{
        SchedJob view;

        (void)job_view(job, &view);
        if (job->run->going) {
                (void)scheduler_put_job(s, &view);
        } else if (job->state == SCHED_ENDING && job->past && job->past->victim) {
                view.state = SCHED_PENDING;
                view.tasks = NULL;
                (void)scheduler_put_job(s, &view);
        } else {
                scheduler_drop_job(s, job->key);
        }
}

static bool has_started(const Scheduler *s, gint64 key)
{
        const Job *job = job_find(s, key);

        return job && job->state == SCHED_RUNNING;
}

gint64 scheduler_forecast(Scheduler *s, gint64 key, gint64 now, int steps)
{
        Decisions decisions;
        gint64 ret = 0;

        decisions_init(&decisions);
        for (; job_find(s, key) && steps >= 0; steps--) {
                gint64 due, time = 0;
                Job *job;

                scheduler_pass(s, now, &decisions);
                if (has_started(s, key)) {
                        ret = s->now;
                        break;
                }
                job = next_to_end(s, &time);
                due = scheduler_due(s);
                if (due > 0 && (!job || due < time)) {
                        now = due;
                        continue;
                }
                if (!job)
                        break;
                now = MAX(now, time);
                end(s, job);
        }
        decisions_clear(&decisions);
        return ret;
}
