/* The state of one member on a cluster: what may happen to it, what has to be done then, and which state
 * follows. Pure: task.c gathers the facts and carries the actions out. member-state.c draws the states. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* What the member does. */
typedef enum {
        STAGE_WAITING,  /* no pod was seen: the pod is being created, or its owner will create it */
        STAGE_PENDING,  /* its pod was seen, and has not started */
        STAGE_RUNNING,  /* its program has started */
        STAGE_STOPPING, /* the engine stops it, and its end is not known yet */
        STAGE_DRAINING, /* its end is known; it is told when the log is complete */
        STAGE_ENDED,    /* its end was told, and the engine has not forgotten it */
        STAGE_KEPT,     /* the engine has forgotten it; its pod is kept for people to look at */
        STAGE_LEAVING,  /* the engine has forgotten it; what is left of it is being deleted */
        STAGES
} MemberStage;

/* How far the deletion of its pod is. The owner is the object that would recreate the pod: it goes first. */
typedef enum {
        REMOVAL_NONE,
        REMOVAL_HELD,     /* owner and pod are deleted as soon as the log is followed */
        REMOVAL_OWNER,    /* the owner is being deleted, or searched for; or a pod that may exist is */
        REMOVAL_POD_HELD, /* nothing recreates the pod; it is deleted as soon as the log is followed */
        REMOVAL_POD,      /* nothing recreates the pod, so that it can be deleted at any time */
        REMOVALS
} MemberRemoval;

/* The engine's orders. */
typedef enum { STOP_NONE, STOP_GRACE, STOP_KILL } MemberStop;

/* Reports to the engine since the runtime has connected. */
enum {
        TOLD_PLACED = 1 << 0,
        TOLD_STARTED = 1 << 1,
        TOLD_READY = 1 << 2,
        TOLD_PREEMPTED = 1 << 3,
        TOLD_STUCK = 1 << 4,
};

typedef struct {
        MemberStage stage;
        MemberRemoval removal;
        MemberStop stop;
        guint told; /* TOLD_... */
} MemberStatus;

/* What creates its pod. */
typedef enum {
        OWNER_UNKNOWN, /* it has no pod from which this could be read */
        OWNER_NONE,    /* this server creates the pod, and nothing recreates it */
        OWNER_ROLE,    /* an object for its role; it is deleted without its pods */
        OWNER_JOB,     /* an object for all roles; it is deleted with its pods */
} MemberOwner;

/* What is known of the member when something happens. A fact about the pod that has just gone is from the
 * last time that the pod was seen. */
typedef struct {
        bool pod;                                                /* the cache has its pod */
        bool deleting, placed, started, ready, ended, preempted; /* what the pod reports */
        bool passing;     /* the end of the pod is not the member's end */
        bool over;        /* the pod's containers have ended, and nothing restarts them */
        bool replaced;    /* the log has lines of another pod: an earlier one was deleted unseen */
        bool unreachable; /* the pod is being deleted, and its node does not answer */
        bool given_up;    /* its deletion was forced therefore */
        MemberOwner owner;
        bool creating;      /* this server creates the pod itself; */
        bool created;       /* ... the API server has accepted it, */
        bool idle;          /* ... or has refused it for now, and is not being asked */
        bool doubtful;      /* ... but may have created it in an earlier try */
        bool coming;        /* the pod is being created, by itself or by its owner's creation */
        bool located;       /* its namespace is known */
        bool duplicate;     /* there is a second pod of this member, and it is not being deleted */
        bool log;           /* its log is being followed */
        bool others_held;   /* OWNER_JOB: another member's deletion waits for its log */
        bool start_pending; /* a later start of this member waits for the end of its pod */
} MemberFacts;

typedef enum {
        ON_START,         /* the engine starts it */
        ON_STOP,          /* the engine ends it, with a grace time */
        ON_KILL,          /* the engine ends it, without one */
        ON_FORGET,        /* its end is durable */
        ON_EXPIRY,        /* its pod was kept for long enough */
        ON_POD,           /* its pod was added or has changed */
        ON_POD_GONE,      /* its pod was deleted */
        ON_DUPLICATE,     /* a second pod of this member was added or has changed */
        ON_PUT_OFF,       /* the API server refuses its pod for now */
        ON_FAILED,        /* it will not run; the end is given */
        ON_ABSENT,        /* the API server has no such pod */
        ON_OWNER_CREATED, /* the owner of its pod exists, and will create the pod */
        ON_OWNER_GONE,    /* nothing recreates its pod any more */
        ON_SEARCHED,      /* the search for its namespace is over */
        ON_LOG_FLOWS,     /* its log is followed, or will not be */
        ON_LOG_DONE,      /* its log is complete */
        ON_CONNECTED,     /* the caches were filled again: the engine is told everything again */
        MEMBER_EVENTS
} MemberEvent;

/* What has to be done, in this order. */
enum {
        DO_CREATE = 1 << 0,          /* create its pod */
        DO_START_LATER = 1 << 1,     /* repeat this start when its pod has gone */
        DO_CANCEL_START = 1 << 2,    /* cancel such a start, and tell that it has ended */
        DO_TAKE_DUPLICATE = 1 << 3,  /* the second pod is its pod from now on: look at it */
        DO_CANCEL_CREATION = 1 << 4, /* end its creation; a request in progress may still succeed */
        DO_TELL_PLACED = 1 << 5,
        DO_TELL_PREEMPTED = 1 << 6,
        DO_TELL_STARTED = 1 << 7,
        DO_TELL_WAITS = 1 << 8, /* tell why it is not running yet */
        DO_FOLLOW = 1 << 9,     /* follow its log and, unless it has ended, its usage */
        DO_TELL_READY = 1 << 10,
        DO_UNFOLLOW = 1 << 11, /* stop following the log */
        DO_DELETE_DUPLICATE = 1 << 12,
        DO_UNDO_CREATION = 1 << 13, /* delete the pod that may exist; ON_OWNER_GONE follows */
        DO_SEARCH = 1 << 14,        /* find its namespace; ON_SEARCHED follows */
        DO_DELETE_OWNER = 1 << 15,  /* ON_OWNER_GONE follows */
        DO_DELETE_POD = 1 << 16,
        DO_FORCE_POD = 1 << 17,    /* delete it without a grace time, because its node does not answer */
        DO_WAIT_FOR_LOG = 1 << 18, /* ON_LOG_FLOWS follows, unless its containers end before */
        DO_KEEP = 1 << 19,         /* ON_EXPIRY follows */
        DO_END_OWN = 1 << 20,      /* its end is the one that its pod reports */
        DO_END_STOPPED = 1 << 21,  /* it was stopped before its pod reported an end */
        DO_END_LOST = 1 << 22,     /* its pod is gone, or a third party deleted it unseen */
        DO_END_GIVEN = 1 << 23,    /* its end came with the event */
        DO_TELL_END = 1 << 24,     /* tell the end that waited for the log */
        DO_RELEASE = 1 << 25,      /* nothing is left of it: run the start that waits, or drop the record */
};
#define DO_END (DO_END_OWN | DO_END_STOPPED | DO_END_LOST | DO_END_GIVEN)

/* Moves the member and returns the actions. If the stage is then STAGE_DRAINING, an end of DO_END is not told
 * but held until DO_TELL_END. DO_RELEASE never comes with DO_CREATE or DO_TELL_WAITS, which need the record
 * afterwards. It may come with DO_START_LATER: the start is then run at once. */
guint member_step(MemberStatus *status, MemberEvent event, const MemberFacts *facts);

/* True if it should have a pod, as far as the engine knows: it was not stopped, and has no end. */
bool member_is_expected(const MemberStatus *status);
/* True if its pod has to go: it was stopped or forgotten. */
bool member_is_unwanted(const MemberStatus *status);
/* True if a start has to wait until what is left of it is deleted. */
bool member_starts_later(const MemberStatus *status, const MemberFacts *facts);
/* True if its pod may be gone without a report: it has not ended. */
bool member_may_be_unseen(const MemberStatus *status);
const char *member_stage_name(MemberStage stage);
