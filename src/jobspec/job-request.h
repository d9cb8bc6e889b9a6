/* A job as clients of PaddleFlow's job interface and steps of pipelines ask for it, and the specification made of it:
 * members with their flavours become the roles of a framework's row (doc/reference/paddleflow-api.md, "Fields of a job",
 * "Frameworks and roles"). Pure.
 *
 *      job request (JSON) ─▶ api/paddleflow ──┐
 *                                             ├──▶ JobRequest ──▶ JSON for spec_parse
 *      a step of a pipeline ─▶ pipeline ──────┘
 */
#pragma once

#include "base/json.h"
#include "model/catalog.h"
#include "model/framework.h"

/* Members of one role that are the same. Texts are "" where nothing is given, and borrowed, as all else. */
typedef struct {
        PaddleFlowRole role;
        int replicas;
        const char *flavour; /* the name of its flavour */
        Resources each;      /* what one of them requests */
        const char *image;
        const char *command; /* a text for sh */
        const json_t *args;  /* texts: words behind the command, or the whole command line; NULL: none */
        const json_t *env;   /* name -> text; NULL: none */
} JobMember;

typedef struct {
        const PaddleFlowFramework *framework;
        const Queue *queue;
        int priority;
        GArray *members;              /* of JobMember, in the order of the request */
        int counts[PADDLEFLOW_ROLES]; /* these two are set by job_request_check_counts */
        const char *mode;             /* PF_JOB_MODE: "PS" or "Collective", else "" */
} JobRequest;

void job_request_init(JobRequest *request);
void job_request_clear(JobRequest *request);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(JobRequest, job_request_clear)

/* Adds members, whose role and number the caller sets. The pointer is valid until the next call. */
JobMember *job_request_add(JobRequest *request);

/* "LOW", "NORMAL" and "HIGH" in any case; "" leaves *ret as it is. ERR_INVALID. */
bool job_priority_parse(const char *word, int *ret, GError **error);

/* ERR_QUOTA: all members together request more than the queue's limit. */
bool job_request_check_sum(const Catalog *catalog, const JobRequest *request, GError **error);
/* The numbers of members by the framework's rule. ERR_INVALID. */
bool job_request_check_counts(JobRequest *request, GError **error);

/* The part of the specification that runs: {"framework", "roles", "image"?}, a new reference. NULL with ERR_INVALID: no
 * framework here runs such a job, a member has no command, or members of one role differ in what they request. Call it
 * after job_request_check_counts. */
json_t *job_request_format(const JobRequest *request, GError **error);

/* Adds the part that says where it waits: "name", "queue", "priority", "namespace"?. */
void job_request_put_place(const JobRequest *request, const char *name, json_t *spec);

/* How often a failed attempt is repeated, by the value of PF_JOB_RESTART_POLICY: 0, or as often as possible. */
int job_restart_retries(const char *policy);
