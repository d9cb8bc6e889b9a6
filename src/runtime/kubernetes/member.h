/* A member as a pod, and a pod as what is known of the member. Pure: JSON trees in and out.
 *
 * The pod's name is the task's with dashes for dots; its labels say the same in parts, so that everything is
 * found again after a restart. A headless service of the attempt gives each pod a name that others resolve.
 */
#pragma once

#include "base/json.h"
#include "runtime/runtime.h"

enum { MEMBER_PORT = 36000, MEMBER_EXTRA_PORT = 36018 };

#define MEMBER_CONTAINER "main"
#define MEMBER_READY_FILE "/tmp/paddle.ready"
/* The container's message of its end: the kubelet keeps its last 4 KiB with the pod. */
#define MEMBER_PROGRESS_FILE "/dev/termination-log"

/* Of a pod that has to go for others, set by schedulers, and by us (doc/reference/scheduling.md, "Labels and
 * annotations"). */
#define MEMBER_STATUS_ANNOTATION "jobStatus"
#define MEMBER_PREEMPTING "preempting"
#define MEMBER_MESSAGE_ANNOTATION "paddleflow/job-status-message"

/* Labels of pods that an object makes (form.h): how many it was made for, the number of its first, the
 * member's container where it is not the usual one, and the object's kind where it does not own the pod. */
#define MEMBER_COUNT_LABEL "paddle-members"
#define MEMBER_FIRST_LABEL "paddle-first"
#define MEMBER_CONTAINER_LABEL "paddle-container"
#define MEMBER_KIND_LABEL "paddle-kind"

/* Where a server's pods live, and whose they are. */
typedef struct {
        const char *namespace;
        const char *server; /* its id: several may share a cluster */
        const char *image;  /* of jobs that name none; or NULL */
} MemberHome;

/* "owner=paddleflow,paddle-server=ID"; the caller's. */
char *member_selector(const MemberHome *home);

/* The caller's. `task`: "ID.1.trainer.0". */
char *member_pod_name(const char *task);
char *member_role(const char *task);
char *member_service_name(const char *job_id, int attempt);
char *member_address(const MemberHome *home, const char *job_id, int attempt, const char *role, int index);

/* Of what belongs to an attempt. */
void member_put_labels(json_t *object, const MemberHome *home, const char *job_id, int attempt);

json_t *member_pod(const MemberHome *home, const RuntimeAttempt *attempt, const TaskStart *task);
json_t *member_service(const MemberHome *home, const char *job_id, int attempt);
/* What members show when they call each other (gate.h); called as the service is. */
json_t *member_secret(const MemberHome *home, const char *job_id, int attempt);

/* What a pod says of its member. */
typedef struct {
        char task[TASK_NAME_MAX + 1];
        char job_id[32], role[TASK_NAME_MAX + 1];
        int attempt, index;
        bool started, ready, ended;
        bool again;          /* its container was started again; what is said here is of the first time */
        ObservationKind end; /* EXITED, START_FAILED, LOST */
        const char *report;  /* what it reported, borrowed from the pod; or NULL */
        int exit_code;       /* -1: not known */
        int signal;
        bool oom, permanent;
        gint64 started_at, ended_at; /* ms; 0: not said */
        char *text;                  /* why it waits, could not start or was lost; NULL: nothing to say */
        const char *node;            /* where it stands, borrowed from the pod; NULL: nowhere yet */
        const char *container;       /* the one that is the member's; borrowed likewise */
        bool passing;                /* what has become of the pod is no end of the member's (form.h) */
        bool deleting;               /* somebody has asked for its end */
        gint64 deleted_at;           /* when; ms since 1970, 0: nobody has */
        char *taken;                 /* why the cluster takes it away; NULL: it does not */
        char *preempted;             /* for whom, where it has to go for others; or NULL */
} MemberLook;

/* The container of a member's pod that is its own; borrowed from it. */
const char *member_container(const json_t *pod);
/* False when it is no member's pod. */
bool member_look(const json_t *pod, MemberLook *ret);
void member_look_clear(MemberLook *look);
/* Since when the pod is pending without anything being done for it (it has no node, or nobody there cares),
 * in ms since 1970; 0: it is not, or its containers are being made (doc/reference/scheduling.md, "How long
 * objects are kept"). */
gint64 member_stuck_since(const json_t *pod);
/* Why a program cannot be given these variables: Linux takes no longer one (execve(2), MAX_ARG_STRLEN), and
 * who knows all others by one may have too many of them. The caller's; NULL: it can. */
char *member_too_long(char *const *env);
/* An index of pods: by the name of the object that makes a pod again, as form_object_name() says it. */
void member_index_by_object(const json_t *pod, GPtrArray *ret_names);
/* And by their job's attempt, as member_service_name() says it. */
void member_index_by_attempt(const json_t *pod, GPtrArray *ret_names);
/* Leaves of a pod what is looked at here and by its form, and what the API's objects are known by: a cache of
 * many thousands keeps no more. */
void member_trim(json_t *pod);
/* Of a container that waits for this reason ("ImagePullBackOff"): it will not start. ret_permanent: or NULL.
 */
bool member_waits_in_vain(const char *reason, bool *ret_permanent);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(MemberLook, member_look_clear)
