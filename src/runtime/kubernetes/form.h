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

/* The forms that a cluster may be told to prefer, by the key `form` of its setting: "sets" (a StatefulSet and
 * a Job; NULL means the same), "paddlejob" (jobs of PaddlePaddle are PaddleJobs, others sets), "pods". */
bool form_is_known(const char *preferred);
char *form_names(void); /* "sets, paddlejob, pods"; the caller's */

/* The frameworks whose jobs others' operators may run, by the key `operators` of the setting: a job of one of
 * them becomes that operator's object (doc/reference/scheduling.md, "Objects of frameworks"). */
bool form_has_operator(const char *framework);
char *form_operator_names(void); /* "tensorflow, pytorch, ..."; the caller's */

/* What a cluster's setting says of forms. */
typedef struct {
        const char *preferred; /* or NULL */
        char **operators;      /* frameworks; or NULL */
} FormWish;

/* What decides the form of a role, beside its job. */
typedef struct {
        bool elastic; /* its members come and go one by one */
        bool serves;  /* it does not end by itself, but with the job */
} FormRole;
FormRole form_role(const RuntimeAttempt *attempt, const char *role);

/* NULL: plain pods. */
const Form *form_of(const FormWish *wish, const RuntimeAttempt *attempt, const FormRole *role);
/* The form of a job that an operator runs; NULL: none does. */
const Form *form_of_operator(const FormWish *wish, const RuntimeAttempt *attempt);
const KubeKind *form_kind(const Form *form);
bool form_is_whole(
        const Form *form); /* one object for all roles of the job; it keeps their order by itself */
bool form_kind_is_whole(const KubeKind *kind);
bool form_groups(const Form *form);          /* its operator makes the gang for Volcano */
const char *form_operator(const Form *form); /* who runs it, for people; NULL: we do */
const char *
form_instead(const Form *form); /* what to change in the setting where nobody does: "take it out ..." */

/* What a member runs and is told in this form: an operator sets the members up itself, so what our framework
 * adds for that is left out. `form`: or NULL. The argv is borrowed, empty: nothing is said of it; the env is
 * the caller's. */
char *const *form_argv(const Form *form, const RuntimeAttempt *attempt, const char *role,
                       const TaskStart *task);
char **form_env(const Form *form, const RuntimeAttempt *attempt, const char *role, const TaskStart *task);

/* The name of the object that makes the task's pod: "ID-1-trainer" of "ID.1.trainer.0", "j-ID-1" of a whole
 * job's; the caller's. */
char *form_object_name(const KubeKind *kind, const char *task);

/* The objects of a role (or the job), in the order in which they are to be made, all after the attempt's
 * service: the variables of its members, where they differ, and last the one that makes the pods. `pods`: an
 * array of those that would stand for themselves, by role and there numbered from 0 without a gap. NULL: they
 * have such a gap. */
json_t *form_objects(const Form *form, const json_t *pods);

/* How many members its object was made for, said by a pod of it; 0: it stands for itself. */
int form_members(const json_t *pod);
/* The role's pods come and go without that being an end. `kind`: or NULL. */
bool form_is_passing(const KubeKind *kind, const char *role);
/* What makes this pod again when it goes: NULL when it stands for itself. */
const KubeKind *form_kind_of(const json_t *pod);
/* Pods of such an object may be over for good while it stands; and the pod of this task is. `object`: as the
 * server shows it. */
bool form_ends_pods(const Form *form);
bool form_is_over(const Form *form, const json_t *object, const char *task);
/* How its object is deleted before it: "Orphan" leaves the pods for us to stop. */
const char *form_propagation(const KubeKind *kind);
bool form_takes_pods(const KubeKind *kind);    /* its pods go with it */
bool form_kind_restarts(const KubeKind *kind); /* containers of its pods are started again when they end */
/* True while its controller has not seen that it is being deleted, and so makes deleted pods again. `reply`:
 * the API server's reply to the deletion. */
bool form_remakes(const KubeKind *kind, const json_t *reply);
/* All kinds of such objects, the list ending in NULL. */
extern const KubeKind *const form_kinds[];

/* What an operator says of its object, whose pods are not there: nothing yet, why they wait, or that they
 * will not come. *ret_text: the caller's, or NULL. Of kinds with an operator. */
typedef enum { FORM_SILENT, FORM_WAITS, FORM_FAILED } FormWord;
FormWord form_says(const KubeKind *kind, const json_t *object, char **ret_text);
