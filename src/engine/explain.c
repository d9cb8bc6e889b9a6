/* Why a job waits, in a sentence, for readers of any thread: from its view and the published figures. */
#include "engine/state.h"

#include "base/clock.h"
#include "base/number.h"
#include "engine/task.h"
#include "model/framework.h"
#include "sched/sched.h"

static char *explain_retry(const Job *job, gint64 now)
{
        g_autofree char *wait = duration_format(job->not_before - now);

        return g_strdup_printf("attempt %d failed: %s; tried again in %s", job->attempt,
                               job->reason ? job->reason : "", wait);
}

static char *explain_place(const Job *job, const ViewState *state, int ahead, gint64 now)
{
        SchedJob waits = { .seq = job->seq, .not_before = job->not_before, .ready = true };

        if (!spec_wants(job->spec, &state->metrics.total, &waits.want))
                return g_strdup("asks for more than can be counted");
        return sched_explain(&waits, &state->metrics.total, &state->metrics.free, ahead, now);
}

/* The first member that runs and is not ready, and how many more there are. */
static char *explain_start(const Job *job)
{
        const Member *first = NULL;
        g_autofree char *name = NULL;
        int others = -1;

        for (int i = 0; i < job->n_members; i++) {
                const Member *member = &job->members[i];
                const FrameworkRole *role =
                        framework_role(job->spec->framework, job->spec->roles[member->role].name);

                if (member->state != MEMBER_RUNNING || !role || !role->listens)
                        continue;
                others++;
                if (!first)
                        first = member;
        }
        if (!first)
                return NULL;
        name = member_name(job, first);
        if (others > 0)
                return g_strdup_printf("waits until %s and %d more %s", name, others,
                                       job->spec->ready_declared ? "have made their PADDLE_READY_FILE"
                                                                 : "listen on their ports");
        return g_strdup_printf("waits until %s %s", name,
                               job->spec->ready_declared ? "has made its PADDLE_READY_FILE"
                                                         : "listens on its port");
}

char *engine_explain(Engine *engine, const Job *job)
{
        gint64 now = engine_now(engine);
        ViewState state;

        if (job->state == JOB_STARTING)
                return explain_start(job);
        if (job->state != JOB_QUEUED)
                return NULL;
        if (job->env_state == ENV_BUILDING)
                return g_strdup_printf(
                        "its environment is being built; see `paddle logs %s --member environment`",
                        job->name);
        if (job->not_before > now && job->attempt > 0)
                return explain_retry(job, now);
        views_state(engine->views, &state);
        if (!state.connected)
                return g_strdup("the runtime is not connected; the job starts when it is back");
        if (state.portless_seq == job->seq)
                return g_strdup("waits for ports: all that may be leased are taken");
        return explain_place(job, &state, views_ahead(engine->views, job->seq), now);
}
