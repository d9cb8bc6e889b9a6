/* The states of an image's build (see build-state.h).
 *
 *   content    PACKING ──▶ READY          the tar is written
 *                 └──────▶ FAILED
 *
 *   job        UNKNOWN ──▶ CREATING ──▶ CREATED ──▶ OURS
 *               one runs when this server first sees it: UNKNOWN ──▶ OURS
 *               refused, or one exists: CREATING ──▶ UNKNOWN
 *               gone from the cluster: CREATED, OURS ──▶ CREATING
 *               an earlier one has the name: UNKNOWN, CREATED, OURS ──▶ DELETING ──▶ CREATING
 *               its deletion was refused: DELETING ──▶ UNKNOWN
 *
 *   log        NONE ──▶ AWAITED ──▶ FOLLOWED ──▶ COMPLETE
 *               └──────────────────────▲
 *
 *   delivery   NONE ──▶ STARTED ──▶ DONE
 *               ▲          └ failed: NONE, a few times
 *               │
 *   Another pod of the Job: log and delivery are NONE again.
 *
 *   result     OPEN ──▶ KNOWN ──▶ TOLD
 *                ▲                 └ another Job is to be created: OPEN
 *                └─────────────────┘ */
#include "runtime/kubernetes/image/build-state.h"

#include <glib.h>

#define BIT(x) (1u << (x))

/* Which states may follow. */
static const guint content_next[CONTENT_STATES] = {
        [CONTENT_PACKING] = BIT(CONTENT_READY) | BIT(CONTENT_FAILED),
};
static const guint job_next[IMAGE_JOB_STATES] = {
        [IMAGE_JOB_UNKNOWN] = BIT(IMAGE_JOB_CREATING) | BIT(IMAGE_JOB_OURS) | BIT(IMAGE_JOB_DELETING),
        [IMAGE_JOB_CREATING] = BIT(IMAGE_JOB_CREATED) | BIT(IMAGE_JOB_UNKNOWN),
        [IMAGE_JOB_CREATED] = BIT(IMAGE_JOB_OURS) | BIT(IMAGE_JOB_CREATING) | BIT(IMAGE_JOB_DELETING),
        [IMAGE_JOB_OURS] = BIT(IMAGE_JOB_CREATING) | BIT(IMAGE_JOB_DELETING),
        [IMAGE_JOB_DELETING] = BIT(IMAGE_JOB_CREATING) | BIT(IMAGE_JOB_UNKNOWN),
};
static const guint log_next[IMAGE_LOG_STATES] = {
        [IMAGE_LOG_NONE] = BIT(IMAGE_LOG_AWAITED) | BIT(IMAGE_LOG_FOLLOWED),
        [IMAGE_LOG_AWAITED] = BIT(IMAGE_LOG_NONE) | BIT(IMAGE_LOG_FOLLOWED),
        [IMAGE_LOG_FOLLOWED] = BIT(IMAGE_LOG_NONE) | BIT(IMAGE_LOG_COMPLETE),
        [IMAGE_LOG_COMPLETE] = BIT(IMAGE_LOG_NONE),
};
static const guint delivery_next[DELIVERY_STATES] = {
        [DELIVERY_NONE] = BIT(DELIVERY_STARTED),
        [DELIVERY_STARTED] = BIT(DELIVERY_DONE) | BIT(DELIVERY_NONE),
        [DELIVERY_DONE] = BIT(DELIVERY_NONE),
};
static const guint result_next[RESULT_STATES] = {
        [RESULT_OPEN] = BIT(RESULT_KNOWN),
        [RESULT_KNOWN] = BIT(RESULT_TOLD),
        [RESULT_TOLD] = BIT(RESULT_OPEN),
};
static const struct {
        const guint *next;
        int states;
} activities[BUILD_ACTIVITIES] = {
        [BUILD_CONTENT] = { content_next, CONTENT_STATES },
        [BUILD_JOB] = { job_next, IMAGE_JOB_STATES },
        [BUILD_LOG] = { log_next, IMAGE_LOG_STATES },
        [BUILD_DELIVERY] = { delivery_next, DELIVERY_STATES },
        [BUILD_RESULT] = { result_next, RESULT_STATES },
};

int build_states(BuildActivity activity)
{
        return activities[activity].states;
}

bool build_may_move(BuildActivity activity, int from, int to)
{
        return activities[activity].next[from] & BIT(to);
}

void build_move(BuildState *state, BuildActivity activity, int to)
{
        g_assert(build_may_move(activity, state->at[activity], to));
        state->at[activity] = to;
}
