/* What the members of a role become together (doc/kubernetes.md, "Forms"): one object that makes their pods,
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

/* NULL: plain pods. */
const Form *form_of(const char *preferred, const RuntimeJob *job, const TaskStart *task);
const KubeKind *form_kind(const Form *form);
bool form_is_whole(
        const Form *form); /* one object for all roles of the job; it keeps their order by itself */

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
/* What makes this pod again when it goes: NULL when it stands for itself. */
const KubeKind *form_kind_of(const json_t *pod);
bool form_kind_is_whole(const KubeKind *kind); /* as form_is_whole */
/* How its object is deleted before it: "Orphan" leaves the pods for us to stop. */
const char *form_propagation(const KubeKind *kind);
bool form_takes_pods(const KubeKind *kind); /* its pods go with it */
/* All kinds of such objects, the list ending in NULL. */
extern const KubeKind *const form_kinds[];
