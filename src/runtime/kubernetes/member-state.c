/* The state of a member (see member-state.h).
 *
 *      start                  pod seen               program started
 *   ──────────▶ WAITING ─────────────────▶ PENDING ─────────────────▶ RUNNING
 *                ▲    │                     │    │                       │
 *                │    │ stop                │    │ stop             stop │
 *                │    └───────────┬─────────┼────┴───────────┬───────────┤
 *                │                ▼         │                            │
 *                │            STOPPING      │ pod ended, gone, refused   │
 *                │                │         │                            │
 *                │ connected      └─────────┼────────────────────────────┘
 *                │ again                    ▼
 *                │                      DRAINING   the log is not complete
 *                │                          │
 *                │                          ▼
 *                └────────────────────── ENDED     the engine was told
 *                                           │
 *                         ┌─────────────────┤ forget
 *                         ▼                 ▼
 *                       KEPT ──────────▶ LEAVING ─────▶ (released: nothing is left)
 *                             expired
 *
 * Beside the stage goes the removal of its pod. The owner would recreate the pod, so it goes first:
 *
 *   NONE ─────▶ OWNER ─────▶ POD_HELD ─────▶ POD
 *     │           ▲
 *     └── HELD ───┘   an object for the whole job takes its pods along: the log comes first
 *
 * While it is OWNER nothing else is deleted, and the record of the member stays.
 *
 * A Job's controller that got no reply to its request creates a pod twice, and then deletes one of the two. If
 * that is the member's, and its program has not started, the member takes the other: PENDING ─▶ WAITING. */
#include "runtime/kubernetes/member-state.h"

#define STAGE(x) (1u << STAGE_##x)
#define REMOVAL(x) (1u << REMOVAL_##x)

/* Which stage may follow. If nothing is left of a member, a start begins with WAITING. */
static const struct {
        const char *name;
        guint next;
} stages[STAGES] = {
        [STAGE_WAITING] = { "waiting", STAGE(WAITING) | STAGE(PENDING) | STAGE(RUNNING) | STAGE(STOPPING) |
                                               STAGE(DRAINING) | STAGE(ENDED) | STAGE(KEPT) |
                                               STAGE(LEAVING) },
        [STAGE_PENDING] = { "pending", STAGE(WAITING) | STAGE(RUNNING) | STAGE(STOPPING) | STAGE(DRAINING) |
                                               STAGE(ENDED) | STAGE(KEPT) | STAGE(LEAVING) },
        [STAGE_RUNNING] = { "running", STAGE(WAITING) | STAGE(STOPPING) | STAGE(DRAINING) | STAGE(ENDED) |
                                               STAGE(KEPT) | STAGE(LEAVING) },
        [STAGE_STOPPING] = { "stopping", STAGE(WAITING) | STAGE(DRAINING) | STAGE(ENDED) | STAGE(LEAVING) },
        [STAGE_DRAINING] = { "draining", STAGE(ENDED) | STAGE(KEPT) | STAGE(LEAVING) },
        [STAGE_ENDED] = { "ended", STAGE(WAITING) | STAGE(STOPPING) | STAGE(KEPT) | STAGE(LEAVING) },
        [STAGE_KEPT] = { "kept", STAGE(WAITING) | STAGE(LEAVING) },
        [STAGE_LEAVING] = { "leaving", STAGE(WAITING) },
};

/* Which removal may follow. */
static const guint removals[REMOVALS] = {
        [REMOVAL_NONE] = REMOVAL(HELD) | REMOVAL(OWNER) | REMOVAL(POD_HELD) | REMOVAL(POD),
        [REMOVAL_HELD] = REMOVAL(NONE) | REMOVAL(OWNER),
        [REMOVAL_OWNER] = REMOVAL(NONE) | REMOVAL(POD),
        [REMOVAL_POD_HELD] = REMOVAL(NONE) | REMOVAL(POD),
        [REMOVAL_POD] = REMOVAL(NONE) | REMOVAL(POD_HELD),
};

/* The only writers of stage and removal. */
static void move(MemberStatus *status, MemberStage to)
{
        g_assert(stages[status->stage].next & 1u << to);
        status->stage = to;
}

static void move_removal(MemberStatus *status, MemberRemoval to)
{
        g_assert(status->removal == to || removals[status->removal] & 1u << to);
        status->removal = to;
}

static bool is_forgotten(const MemberStatus *status)
{
        return status->stage == STAGE_KEPT || status->stage == STAGE_LEAVING;
}

bool member_is_unwanted(const MemberStatus *status)
{
        return status->stop != STOP_NONE || is_forgotten(status);
}

bool member_is_expected(const MemberStatus *status)
{
        return status->stage <= STAGE_RUNNING;
}

bool member_starts_later(const MemberStatus *status, const MemberFacts *facts)
{
        if (status->stage == STAGE_DRAINING || (status->stage < STAGE_ENDED && status->stop == STOP_NONE))
                return false; /* it is the same start once more */
        if (facts->pod || facts->coming)
                return member_is_unwanted(status);
        return status->removal == REMOVAL_OWNER;
}

bool member_may_be_unseen(const MemberStatus *status)
{
        return status->stage != STAGE_ENDED && status->stage != STAGE_KEPT;
}

const char *member_stage_name(MemberStage stage)
{
        return stages[stage].name;
}

/* ---- its end ---- */

static guint end(MemberStatus *status, const MemberFacts *facts, guint how)
{
        move(status, facts->log ? STAGE_DRAINING : STAGE_ENDED);
        return how;
}

/* ---- its removal ---- */

/* The log goes from the cluster with the pod. So the pod of a member that is stopped is deleted when its
 * log is followed; the pod of a member that is killed at once. */
static bool waits_for_log(const MemberStatus *status, const MemberFacts *facts)
{
        return status->stage == STAGE_STOPPING && status->stop == STOP_GRACE && facts->pod && facts->log;
}

/* Deletes its pod, which nothing recreates. A pod that is being created is deleted when it is seen. */
static guint remove_pod(MemberStatus *status, const MemberFacts *facts)
{
        guint todo = facts->duplicate ? DO_DELETE_DUPLICATE : 0;

        if (status->removal == REMOVAL_OWNER)
                return todo; /* ON_OWNER_GONE goes on */
        if (!facts->pod) {
                if (status->stage == STAGE_STOPPING && !facts->coming)
                        todo |= end(status, facts, DO_END_STOPPED);
                return todo;
        }
        if (waits_for_log(status, facts)) {
                move_removal(status, REMOVAL_POD_HELD);
                return todo | DO_WAIT_FOR_LOG;
        }
        move_removal(status, REMOVAL_POD);
        return todo | DO_DELETE_POD;
}

/* The API server has refused the pod for now: it is not asked again. If an earlier try may have created
 * the pod, it is deleted before anything else. */
static guint cancel_creation(MemberStatus *status, MemberFacts *facts)
{
        facts->creating = facts->coming = false;
        if (!facts->doubtful)
                return DO_CANCEL_CREATION | remove_pod(status, facts);
        move_removal(status, REMOVAL_OWNER);
        return DO_CANCEL_CREATION | DO_UNDO_CREATION;
}

/* An object for all roles takes the pods of all members along. */
static guint remove_owner(MemberStatus *status, const MemberFacts *facts, bool log_flows)
{
        if (facts->owner == OWNER_JOB && facts->pod) {
                if (!log_flows && waits_for_log(status, facts)) {
                        move_removal(status, REMOVAL_HELD);
                        return DO_WAIT_FOR_LOG;
                }
                if (facts->others_held) {
                        move_removal(status, REMOVAL_NONE);
                        return 0;
                }
        }
        move_removal(status, REMOVAL_OWNER);
        return facts->located ? DO_DELETE_OWNER : DO_SEARCH;
}

/* Deletes what would recreate its pod, and then the pod. */
static guint remove_all(MemberStatus *status, MemberFacts *facts, bool log_flows)
{
        switch (status->removal) {
        case REMOVAL_OWNER: return 0;
        case REMOVAL_POD:
        case REMOVAL_POD_HELD: return remove_pod(status, facts);
        default: break;
        }
        if (facts->creating && facts->idle)
                return cancel_creation(status, facts);
        if (facts->creating || facts->owner == OWNER_NONE)
                return remove_pod(status, facts);
        return remove_owner(status, facts, log_flows);
}

/* ---- orders of the engine ---- */

static guint on_start(MemberStatus *status, MemberFacts *facts)
{
        if (member_starts_later(status, facts)) {
                if (status->stage == STAGE_KEPT)
                        move(status, STAGE_LEAVING);
                return DO_START_LATER | remove_all(status, facts, false);
        }
        if (facts->pod || facts->coming || status->stage == STAGE_DRAINING ||
            status->removal == REMOVAL_OWNER)
                return 0;
        move(status, STAGE_WAITING);
        move_removal(status, REMOVAL_NONE);
        status->stop = STOP_NONE;
        status->told = 0;
        return DO_CREATE;
}

static guint stop(MemberStatus *status, MemberFacts *facts, MemberStop how)
{
        guint todo = facts->start_pending ? DO_CANCEL_START : 0;

        if (!todo && facts->pod && facts->over && !facts->passing)
                return 0; /* it has ended by itself, which is told */
        status->stop = MAX(status->stop, how);
        if (status->stage < STAGE_STOPPING)
                move(status, STAGE_STOPPING);
        else if (status->stage == STAGE_KEPT)
                move(status, STAGE_LEAVING);
        return todo | remove_all(status, facts, false);
}

static guint on_stop(MemberStatus *status, MemberFacts *facts)
{
        return stop(status, facts, STOP_GRACE);
}

static guint on_kill(MemberStatus *status, MemberFacts *facts)
{
        return stop(status, facts, STOP_KILL);
}

/* A pod stays if it ended by itself, or if its owner creates the pods of all other roles, too. */
static bool may_stay(const MemberStatus *status, const MemberFacts *facts)
{
        return facts->pod && (facts->over || facts->owner == OWNER_JOB) && status->stop == STOP_NONE &&
               !facts->given_up && !facts->deleting;
}

static guint on_forget(MemberStatus *status, MemberFacts *facts)
{
        guint todo = facts->log ? DO_UNFOLLOW : 0;

        facts->log = false;
        if (is_forgotten(status))
                return status->stage == STAGE_KEPT && facts->pod ? DO_KEEP : 0;
        if (may_stay(status, facts)) {
                move(status, STAGE_KEPT);
                return todo | DO_KEEP;
        }
        move(status, STAGE_LEAVING);
        return todo | (facts->pod ? remove_all(status, facts, false) : remove_pod(status, facts));
}

static guint on_expiry(MemberStatus *status, MemberFacts *facts)
{
        if (!is_forgotten(status))
                return 0;
        if (status->stage == STAGE_KEPT)
                move(status, STAGE_LEAVING);
        return remove_all(status, facts, false);
}

/* ---- its pod ---- */

/* A third party deleted the pod. With it the member ends; until then its owner must not recreate it. */
static guint keep_from_coming_back(MemberStatus *status, const MemberFacts *facts)
{
        if (!facts->deleting || facts->owner != OWNER_ROLE || status->stop != STOP_NONE ||
            status->removal != REMOVAL_NONE)
                return 0;
        move_removal(status, REMOVAL_OWNER);
        return DO_DELETE_OWNER;
}

static guint tell_once(MemberStatus *status, bool is_true, guint told, guint todo)
{
        if (!is_true || status->told & told)
                return 0;
        status->told |= told;
        return todo;
}

static guint tell_pod(MemberStatus *status, MemberFacts *facts)
{
        guint todo = tell_once(status, facts->placed, TOLD_PLACED, DO_TELL_PLACED) |
                     tell_once(status, facts->preempted, TOLD_PREEMPTED, DO_TELL_PREEMPTED) |
                     tell_once(status, facts->started, TOLD_STARTED, DO_TELL_STARTED);

        if (facts->started) {
                if (status->stage < STAGE_RUNNING)
                        move(status, STAGE_RUNNING);
                todo |= DO_FOLLOW;
                facts->log = true;
        } else if (!facts->ended) {
                if (status->stage == STAGE_WAITING)
                        move(status, STAGE_PENDING);
                todo |= DO_TELL_WAITS;
        }
        todo |= tell_once(status, facts->ready, TOLD_READY, DO_TELL_READY);
        if (facts->ended && (!facts->passing || status->stop != STOP_NONE))
                todo |= end(status, facts, DO_END_OWN);
        return todo;
}

/* Tells what the pod reports and the engine does not know yet. */
static guint look_at(MemberStatus *status, MemberFacts *facts)
{
        if (status->stage > STAGE_DRAINING)
                return 0;
        if (status->stage == STAGE_DRAINING)
                return tell_once(status, facts->started, TOLD_STARTED, DO_TELL_STARTED);
        if (facts->replaced && facts->started && status->stage < STAGE_RUNNING) {
                move(status, STAGE_ENDED);
                return DO_END_LOST;
        }
        return tell_pod(status, facts);
}

/* Nothing is lost if the program has not started. */
static bool takes_duplicate(const MemberStatus *status, const MemberFacts *facts)
{
        return facts->duplicate && status->stage < STAGE_RUNNING;
}

static guint take_duplicate(MemberStatus *status)
{
        move(status, STAGE_WAITING);
        status->told &= ~(guint)TOLD_PLACED;
        return DO_TAKE_DUPLICATE;
}

/* It was stopped or forgotten before this pod was seen: the pod was being created, or its owner has
 * recreated it. */
static bool comes_late(const MemberStatus *status, const MemberFacts *facts, bool is_new)
{
        if (facts->deleting)
                return false;
        if (status->stage == STAGE_LEAVING)
                return is_new || status->removal == REMOVAL_NONE || status->removal == REMOVAL_POD;
        return status->stage == STAGE_STOPPING && (is_new || status->removal == REMOVAL_POD);
}

static guint on_pod(MemberStatus *status, MemberFacts *facts)
{
        guint todo = facts->creating ? DO_CANCEL_CREATION : 0; /* the reply may come later, or never */

        if (facts->deleting && takes_duplicate(status, facts))
                return take_duplicate(status);
        if (todo)
                facts->creating = facts->coming = false;
        todo |= keep_from_coming_back(status, facts);
        if (facts->unreachable && !facts->given_up && status->removal != REMOVAL_OWNER)
                todo |= DO_FORCE_POD;
        todo |= look_at(status, facts);
        if (comes_late(status, facts, todo & DO_CANCEL_CREATION))
                todo |= remove_all(status, facts, status->stage == STAGE_LEAVING);
        return todo;
}

static guint on_pod_gone(MemberStatus *status, MemberFacts *facts)
{
        guint todo = 0;

        if (takes_duplicate(status, facts))
                return take_duplicate(status);
        if (status->removal == REMOVAL_HELD) /* its owner may still exist */
                todo = remove_all(status, facts, true);
        else if (status->removal == REMOVAL_POD_HELD)
                move_removal(status, REMOVAL_POD);
        if (facts->log && (facts->given_up || status->stage > STAGE_DRAINING ||
                           (facts->passing && status->stage <= STAGE_RUNNING))) {
                facts->log = false;
                todo |= DO_UNFOLLOW;
        }
        if (facts->passing && status->stage <= STAGE_RUNNING)
                return todo;
        if (status->stage == STAGE_DRAINING && !facts->log) {
                move(status, STAGE_ENDED);
                todo |= DO_TELL_END;
        } else if (status->stage < STAGE_DRAINING) {
                todo |= end(status, facts,
                            facts->ended                      ? DO_END_OWN
                            : status->stage == STAGE_STOPPING ? DO_END_STOPPED
                                                              : DO_END_LOST);
        }
        return todo;
}

/* Its owner's controller keeps one of the two; a member that is stopped needs neither. */
static guint on_duplicate(MemberStatus *status, MemberFacts *facts)
{
        return member_is_unwanted(status) && status->stage != STAGE_KEPT && facts->duplicate
                       ? DO_DELETE_DUPLICATE
                       : 0;
}

/* ---- its creation ---- */

static guint on_put_off(MemberStatus *status, MemberFacts *facts)
{
        if (member_is_unwanted(status))
                return remove_all(status, facts, false);
        return member_is_expected(status) ? DO_TELL_WAITS : 0;
}

static guint on_failed(MemberStatus *status, MemberFacts *facts)
{
        guint todo = facts->creating ? DO_CANCEL_CREATION : 0;

        if (facts->creating)
                facts->creating = facts->coming = false;
        if (status->stage >= STAGE_DRAINING)
                return todo;
        move(status, STAGE_ENDED);
        return todo | DO_END_GIVEN;
}

/* Nothing follows but that a member that has ended may be released. */
static guint on_owner_created(MemberStatus *status, MemberFacts *facts)
{
        return 0;
}

/* Its pod was created and deleted before the cache knew of it. */
static guint on_absent(MemberStatus *status, MemberFacts *facts)
{
        if (!facts->created || facts->pod)
                return 0;
        facts->creating = facts->coming = false;
        if (member_is_unwanted(status))
                return DO_CANCEL_CREATION | remove_pod(status, facts);
        if (status->stage >= STAGE_DRAINING)
                return DO_CANCEL_CREATION;
        move(status, STAGE_ENDED);
        return DO_CANCEL_CREATION | DO_END_LOST;
}

/* ---- its removal goes on ---- */

static guint on_owner_gone(MemberStatus *status, MemberFacts *facts)
{
        if (status->removal != REMOVAL_OWNER)
                return 0;
        move_removal(status, REMOVAL_POD);
        if (member_is_expected(status) && !facts->pod && !facts->coming)
                return end(status, facts, DO_END_LOST); /* a third party deleted it while no server looked */
        return member_is_unwanted(status) || !facts->pod ? remove_pod(status, facts) : 0;
}

static guint on_searched(MemberStatus *status, MemberFacts *facts)
{
        if (status->removal == REMOVAL_OWNER)
                move_removal(status, REMOVAL_NONE);
        return facts->located ? remove_all(status, facts, false) : remove_pod(status, facts);
}

static guint on_log_flows(MemberStatus *status, MemberFacts *facts)
{
        if (!facts->pod)
                return 0; /* ON_POD_GONE follows, or came */
        if (status->removal == REMOVAL_HELD)
                return remove_all(status, facts, true);
        if (status->removal != REMOVAL_POD_HELD)
                return 0;
        move_removal(status, REMOVAL_POD);
        return DO_DELETE_POD;
}

static guint on_log_done(MemberStatus *status, MemberFacts *facts)
{
        if (status->stage != STAGE_DRAINING)
                return DO_UNFOLLOW;
        move(status, STAGE_ENDED);
        return DO_UNFOLLOW | DO_TELL_END;
}

/* ---- the connection ---- */

/* The list is complete: a pod that is not in it, and not being created, is gone. */
static guint on_connected(MemberStatus *status, MemberFacts *facts)
{
        guint todo = 0;

        if (facts->created && !facts->pod) {
                todo = DO_CANCEL_CREATION;
                facts->creating = facts->coming = false;
        }
        status->told = 0;
        if (status->stage == STAGE_DRAINING)
                return todo;
        if (!facts->pod && !facts->coming && status->removal != REMOVAL_OWNER)
                return todo | DO_RELEASE;
        if (status->stage == STAGE_ENDED && facts->pod)
                move(status, status->stop == STOP_NONE ? STAGE_WAITING : STAGE_STOPPING);
        else if (status->stage <= STAGE_RUNNING)
                move(status, STAGE_WAITING);
        return todo;
}

static guint (*const handlers[MEMBER_EVENTS])(MemberStatus *status, MemberFacts *facts) = {
        [ON_START] = on_start,           [ON_STOP] = on_stop,           [ON_KILL] = on_kill,
        [ON_FORGET] = on_forget,         [ON_EXPIRY] = on_expiry,       [ON_POD] = on_pod,
        [ON_POD_GONE] = on_pod_gone,     [ON_DUPLICATE] = on_duplicate, [ON_PUT_OFF] = on_put_off,
        [ON_FAILED] = on_failed,         [ON_ABSENT] = on_absent,       [ON_OWNER_CREATED] = on_owner_created,
        [ON_OWNER_GONE] = on_owner_gone, [ON_SEARCHED] = on_searched,   [ON_LOG_FLOWS] = on_log_flows,
        [ON_LOG_DONE] = on_log_done,     [ON_CONNECTED] = on_connected,
};

/* Nothing is left of it, in the cluster or under way. A second pod is deleted when the member is
 * forgotten. */
static bool is_released(const MemberStatus *status, const MemberFacts *facts)
{
        if (status->stage == STAGE_ENDED && facts->duplicate)
                return false;
        return status->stage >= STAGE_ENDED && !facts->pod && !facts->coming &&
               status->removal != REMOVAL_OWNER;
}

guint member_step(MemberStatus *status, MemberEvent event, const MemberFacts *facts)
{
        MemberFacts now = *facts;
        guint todo = handlers[event](status, &now);

        if (is_released(status, &now) && !(todo & DO_TAKE_DUPLICATE))
                todo |= DO_RELEASE;
        g_assert(!(todo & DO_RELEASE) || !(todo & (DO_CREATE | DO_TELL_WAITS)));
        return todo;
}
