/* A PaddleJob (batch.paddlepaddle.org/v1) as its controller reads it. Plain data that borrows from the
 * object. Reading is lenient, as users of the older operator know it: a word that is none matches nothing. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

#define JOB_FINALIZER "finalizers.paddlepaddle.org"
#define JOB_RESOURCE_NAME "paddle-res-name"      /* label: pod name, or job name of a ConfigMap */
#define JOB_RESOURCE_TYPE "paddle-res-type"      /* label: role */
#define JOB_RESOURCE_ROLE "paddle-resource"      /* annotation: role */
#define JOB_HOST_PORT "host-port"                /* annotation: first port of a job on its hosts */
#define JOB_GROUP "scheduling.k8s.io/group-name" /* annotation: its own name: the group is given */
#define JOB_HETER_PROTOCOL                                                                                   \
        "paddle-heter-protocol" /* annotation: "trainer" speaks Paddle's own words to heter pods */

enum {
        JOB_PORT = 36000,         /* first port of a pod in Service mode, and of its Service */
        JOB_PORTS = 20,           /* how many there are */
        JOB_GLOO_OFFSET = 18,     /* of the port that gloo meets at */
        JOB_REPLICAS_MAX = 10000, /* of one role */
};

typedef enum { ROLE_PS, ROLE_WORKER, ROLE_HETER, ROLES } JobRole;
typedef enum { INTRANET_POD_IP, INTRANET_SERVICE, INTRANET_HOST } JobIntranet;

typedef enum {
        PHASE_NONE,
        PHASE_PENDING,
        PHASE_STARTING,
        PHASE_RUNNING,
        PHASE_COMPLETED,
        PHASE_FAILED,
        PHASE_TERMINATING,
        PHASE_OTHER, /* a word that we never write */
        PHASES,
} JobPhase;

typedef struct {
        bool present;
        gint64 replicas;                   /* as asked; of an elastic worker within min..max */
        gint64 min, max;                   /* `requests` and `limits` of the spec; -1: not said */
        const json_t *template, *pod_spec; /* NULL: absent */
} JobRoleSpec;

typedef struct {
        const json_t *object;
        const char *name, *namespace, *uid;
        bool deleting, has_finalizer;
        JobRoleSpec role[ROLES];
        JobIntranet intranet;
        bool clean[PHASES];              /* at PHASE_COMPLETED, PHASE_FAILED: pods and services go */
        bool clean_running;              /* of these, pods that have ended stay */
        bool by_workers;                 /* it is complete when its workers are; else when all its pods are */
        bool suspended;                  /* it is to have no pods for now */
        gint64 ttl_s;                    /* after its end it is deleted; -1: it is not */
        gint64 deadline_s;               /* it may run from its first Running; 0: for ever */
        gint64 started_at, completed_at; /* of the status, ms; 0: not yet */
        gint64 gloo;                     /* 0: off */
        bool elastic;
        JobPhase phase;                     /* recorded in the status */
        gint64 host_port;                   /* of the annotation; 0: none that is valid */
        gint64 min_available;               /* of schedulingPolicy; -1: not said */
        const char *queue, *priority_class; /* or NULL */
        const json_t *min_resources;        /* or NULL */
        bool heter_trainer;
        bool has_group; /* JOB_GROUP: another controller creates and deletes its PodGroup */
} PaddleJob;

/* Never fails: what is missing or of a wrong type reads as absent. `ret` borrows from `object`. */
void paddle_job_read(const json_t *object, PaddleJob *ret);

/* Why no pod of this job can be made, as a sentence for its owner; NULL when they can. The caller's. */
char *paddle_job_problem(const PaddleJob *job);

const char *job_role_name(JobRole role);
JobRole job_role_find(const char *name); /* ROLES: none */
const char *job_phase_name(JobPhase phase);
const char *job_mode_name(const PaddleJob *job);
static inline bool job_phase_is_final(JobPhase phase)
{
        return phase == PHASE_COMPLETED || phase == PHASE_FAILED;
}

char *job_pod_name(const PaddleJob *job, JobRole role, gint64 index); /* the caller's */
/* The other way round; false when `name` is no pod's of this job. */
bool job_pod_parse(const PaddleJob *job, const char *name, JobRole *ret_role, gint64 *ret_index);
/* The spec asks for this pod. */
bool job_wants(const PaddleJob *job, JobRole role, gint64 index);
/* Volcano places the pods: no template names another scheduler. */
bool job_is_for_volcano(const PaddleJob *job);

/* When it has run for as long as it may, in ms since 1970; 0: never. */
gint64 paddle_job_ends_at(const PaddleJob *job);
