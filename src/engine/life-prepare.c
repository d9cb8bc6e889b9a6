/* The life cycle: the preparations of a job (see life.h). */
#include "engine/life-internal.h"

#include <string.h>

static void set_preparation(Life *life, Preparation *one, PreparationState state)
{
        one->state = (guint8)state;
        life_note(life, preparation_info(one->kind)->event,
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
        g_autofree char *text = life_clean_text(why), *see = NULL;
        Job *job = life->job;

        set_preparation(life, job_preparation(job, kind), PREPARATION_FAILED);
        if (job_state_is_final(job->state))
                return;
        if (info->log && !(hint && hint[1])) /* requirements that were refused: there is no log, but a hint */
                see = life_see_log(job, info->log);
        life_stop(life, JOB_FAILED,
                  g_strdup_printf("%s: %s%s%s", info->failed, text ? text : "no reason was given",
                                  see ? "; " : "", see ? see : ""));
}

void life_submitted(Life *life)
{
        Job *job = life->job;

        if (job->state == JOB_SUBMITTED)
                life_move(life, JOB_QUEUED);
        life_note(life, "job.queued", NULL);
        for (int i = 0; i < job->n_preparations; i++) {
                Preparation *one = &job->preparations[i];

                if (one->state == PREPARATION_READY)
                        one->ready = life->now;
                else if (one->state == PREPARATION_RUNNING)
                        life_preparing(life, one->kind);
        }
}

void life_leave_preparations(Life *life)
{
        for (int i = 0; i < life->job->n_preparations; i++)
                if (life->job->preparations[i].state == PREPARATION_RUNNING)
                        set_preparation(life, &life->job->preparations[i], PREPARATION_WAITING);
}
