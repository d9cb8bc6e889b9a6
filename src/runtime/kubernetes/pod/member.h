/* Converts a member to a pod, and a pod to what is known of the member. Pure: JSON trees in and out.
 *
 * The pod's name is the task's with dashes for dots. Its labels have the same in parts, so that everything is
 * found again after a restart. A headless service of the attempt gives each pod a name that others can
 * resolve. */
#pragma once

#include "base/json.h"
#include "runtime/runtime.h"

enum { MEMBER_PORT = 36000, MEMBER_EXTRA_PORT = 36018 };

#define MEMBER_CONTAINER "main"
/* Init containers: one unpacks the package, one checks the requirements (package.h). */
#define MEMBER_PACKAGE_CONTAINER "package"
#define MEMBER_REQUIREMENTS_CONTAINER "requirements"
#define MEMBER_READY_FILE "/tmp/paddle.ready"
/* The container's termination message: the kubelet keeps its last 4 KiB with the pod. */
#define MEMBER_PROGRESS_FILE "/dev/termination-log"

/* Annotations of a pod that is preempted, set by schedulers, and by us (doc/reference/scheduling.md, "Labels and
 * annotations"). */
#define MEMBER_STATUS_ANNOTATION "jobStatus"
#define MEMBER_PREEMPTING "preempting"
#define MEMBER_MESSAGE_ANNOTATION "paddleflow/job-status-message"

/* Labels of pods that an object creates (form.h): the number of members, the index of the first, the member's
 * container if it is not the usual one, and the object's kind if it does not own the pod. */
#define MEMBER_COUNT_LABEL "paddle-members"
#define MEMBER_FIRST_LABEL "paddle-first"
#define MEMBER_CONTAINER_LABEL "paddle-container"
#define MEMBER_KIND_LABEL "paddle-kind"

/* The namespace and server of pods. */
typedef struct {
        const char *namespace;
        const char *server; /* its id: several servers may share a cluster */
        const char *image;  /* for jobs that name none; or NULL */
} MemberHome;

/* "owner=paddleflow,paddle-server=ID"; the caller's. */
char *member_selector(const MemberHome *home);

/* The caller's. `task`: "ID.1.trainer.0". */
char *member_pod_name(const char *task);
char *member_role(const char *task);
char *member_service_name(const char *job_id, int attempt);
char *member_address(const MemberHome *home, const char *job_id, int attempt, const char *role, int index);

/* Labels of an attempt's objects. */
void member_put_labels(json_t *object, const MemberHome *home, const char *job_id, int attempt);

json_t *member_pod(const MemberHome *home, const RuntimeAttempt *attempt, const TaskStart *task);
json_t *member_service(const MemberHome *home, const char *job_id, int attempt);
/* The secret with which members authenticate to each other (gate.h); it has the name of the service. */
json_t *member_secret(const MemberHome *home, const char *job_id, int attempt);

/* What a pod tells about its member. */
typedef struct {
        char task[TASK_NAME_MAX + 1];
        char job_id[32], role[TASK_NAME_MAX + 1];
        int attempt, index;
        bool started, ready, ended;
        bool again;          /* its container was restarted; the fields are about the first run */
        ObservationKind end; /* EXITED, START_FAILED, LOST */
        const char *report;  /* what it reported, borrowed from the pod; or NULL */
        int exit_code;       /* -1: unknown */
        int signal;
        bool oom, permanent;
        gint64 started_at, ended_at; /* ms; 0: not given */
        char *text;                  /* why it waits, could not start or was lost; NULL: no reason */
        const char *node;            /* the node of the pod, borrowed from it; NULL: none yet */
        const char *container;       /* the member's container; also borrowed */
        bool passing;                /* the end of the pod is not the member's end (form.h) */
        bool deleting;               /* its deletion was requested */
        gint64 deleted_at;           /* when; ms since 1970, 0: it was not */
        char *taken;                 /* why the cluster evicts it; NULL: it does not */
        char *preempted;             /* for whom, if it is preempted; or NULL */
} MemberLook;

/* The member's own container of its pod; borrowed from it. */
const char *member_container(const json_t *pod);
/* False if it is not a member's pod. */
bool member_look(const json_t *pod, MemberLook *ret);
void member_look_clear(MemberLook *look);
/* The time since when the pod is pending and makes no progress (it has no node, or its node does not react), in
 * ms since 1970. 0: it is not pending, or its containers are being created (doc/reference/scheduling.md, "How
 * long objects are kept"). */
gint64 member_stuck_since(const json_t *pod);
/* Why a program cannot get these variables: a single one may not exceed the kernel's limit (execve(2),
 * MAX_ARG_STRLEN), as the variable that lists all members may. The caller's; NULL: it can. */
char *member_too_long(char *const *env);
/* An index of pods: by the name of the object that recreates the pod, as of form_object_name(). */
void member_index_by_object(const json_t *pod, GPtrArray *ret_names);
/* The same by the job's attempt, as of member_service_name(). */
void member_index_by_attempt(const json_t *pod, GPtrArray *ret_names);
/* Removes everything from a pod that is not read here or by its form, and that does not identify an API
 * object: saves memory in a cache of many thousands. */
void member_trim(json_t *pod);
/* True if a container that waits for this reason ("ImagePullBackOff") will not start. ret_permanent may be
 * NULL. */
bool member_waits_in_vain(const char *reason, bool *ret_permanent);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(MemberLook, member_look_clear)
