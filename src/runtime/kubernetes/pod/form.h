/* What the members of a role become together (doc/internals/kubernetes.md, "Forms"): one object that makes their pods,
 * or pods that stand for themselves. Pure: pods in, objects out. The pods are found by the same labels in all
 * forms; members have the same host names in all of them. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"
#include "kube/kind.h"
#include "runtime/runtime.h"

typedef struct Form Form;

/* The forms that a cluster's setting may prefer, by its key `form`: "sets" (a StatefulSet and a Job; NULL
 * means the same), "paddlejob" (jobs of PaddlePaddle are PaddleJobs, others sets), "pods". */
bool form_is_known(const char *preferred);
char *form_names(void); /* "sets, paddlejob, pods"; the caller's */

/* True for frameworks whose jobs third-party operators may run, by the key `operators` of the setting: a job
 * them becomes that operator's object (doc/reference/scheduling.md, "Objects of frameworks"). */
bool form_has_operator(const char *framework);
char *form_operator_names(void); /* "tensorflow, pytorch, ..."; the caller's */

/* The settings of a cluster for forms. */
typedef struct {
        const char *preferred; /* or NULL */
        char **operators;      /* frameworks; or NULL */
} FormWish;

/* The properties of a role that decide its form, besides those of its job. */
typedef struct {
        bool elastic; /* its members join and leave one by one */
        bool serves;  /* it does not end by itself, but with the job */
} FormRole;
FormRole form_role(const RuntimeAttempt *attempt, const char *role);

/* NULL: plain pods. */
const Form *form_of(const FormWish *wish, const RuntimeAttempt *attempt, const FormRole *role);
/* The form of a job that an operator runs; NULL: no operator does. */
const Form *form_of_operator(const FormWish *wish, const RuntimeAttempt *attempt);
const KubeKind *form_kind(const Form *form);
bool form_is_whole(const Form *form); /* one object for all roles of the job; it handles their order itself */
bool form_kind_is_whole(const KubeKind *kind);
bool form_groups(const Form *form);          /* its operator creates the gang for Volcano */
const char *form_operator(const Form *form); /* the operator that runs it, for people; NULL: this server
                                                does */
const char *
form_instead(const Form *form); /* what to change in the setting if there is no operator: "take it out ..." */

/* The command and environment of a member in this form. An operator sets the members up itself, so what our
 * framework adds for that is left out. `form` may be NULL. The argv is borrowed; empty: no command is set.
 * The env is the caller's. */
char *const *form_argv(const Form *form, const RuntimeAttempt *attempt, const char *role,
                       const TaskStart *task);
char **form_env(const Form *form, const RuntimeAttempt *attempt, const char *role, const TaskStart *task);

/* The name of the object that creates the task's pod: "ID-1-trainer" for "ID.1.trainer.0", "j-ID-1" for a
 * whole job's; the caller's. */
char *form_object_name(const KubeKind *kind, const char *task);

/* The objects of a role (or the job), in the order of their creation, all after the attempt's service: the
 * variables of its members, where they differ, and last the object that creates the pods. `pods`: an array of
 * the equivalent plain pods, by role and within it numbered from 0 without a gap. NULL: there is such a
 * gap. */
json_t *form_objects(const Form *form, const json_t *pods);

/* The number of members for which a pod's object was created, from the pod; 0: a plain pod. */
int form_members(const json_t *pod);
/* True if the role's pods may come and go without being an end. `kind` may be NULL. */
bool form_is_passing(const KubeKind *kind, const char *role);
/* The kind of the object that recreates this pod; NULL: a plain pod. */
const KubeKind *form_kind_of(const json_t *pod);
/* form_ends_pods: pods of such an object may have ended permanently while it exists. form_is_over: the pod of
 * this task has. `object`: as the server returns it. */
bool form_ends_pods(const Form *form);
bool form_is_over(const Form *form, const json_t *object, const char *task);
/* How its object is deleted before its pods: "Orphan" leaves the pods for the runtime to stop. */
const char *form_propagation(const KubeKind *kind);
bool form_kind_restarts(const KubeKind *kind); /* containers of its pods are restarted when they end */
/* True while its controller has not seen that it is being deleted, and so recreates deleted pods. `reply`:
 * the API server's reply to the deletion. */
bool form_remakes(const KubeKind *kind, const json_t *reply);
/* All kinds of such objects; NULL ends the list. */
extern const KubeKind *const form_kinds[];

/* What an operator reports of its object whose pods do not exist: nothing yet, why they wait, or that they
 * will not come. *ret_text: the caller's, or NULL. For kinds with an operator. */
typedef enum { FORM_SILENT, FORM_WAITS, FORM_FAILED } FormWord;
FormWord form_says(const KubeKind *kind, const json_t *object, char **ret_text);
