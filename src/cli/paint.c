/* Colours of states (see paint.h): green runs or succeeded, yellow waits, magenta is ending, red failed; dim
 * is held. */
#include "cli/paint.h"

#include "model/job.h"

static const char *const paints[JOB_STATES] = {
        [JOB_SUBMITTED] = "\033[33m",  [JOB_QUEUED] = "\033[33m",   [JOB_SUSPENDED] = "\033[2m",
        [JOB_ADMITTED] = "\033[36m",   [JOB_STARTING] = "\033[36m", [JOB_RUNNING] = "\033[32m",
        [JOB_PREEMPTING] = "\033[35m", [JOB_STOPPING] = "\033[35m", [JOB_SUCCEEDED] = "\033[32m",
        [JOB_FAILED] = "\033[31m",     [JOB_CANCELLED] = "\033[2m", [JOB_PREEMPTED] = "\033[35m",
};

const char *state_paint(const char *state)
{
        JobState found;

        return job_state_parse(state, &found) ? paints[found] : "";
}

char *state_text(const char *state, gboolean colour)
{
        const char *paint = colour ? state_paint(state) : "";

        return g_strconcat(paint, state, *paint ? PAINT_END : "", NULL);
}
