/* Inside the forms of jobs (form.h): what a row says, and what the rows' builders share. */
#pragma once

#include "runtime/kubernetes/form.h"
#include "runtime/kubernetes/member.h"

struct Form {
        const KubeKind *kind;
        const char *member_field; /* ends in the member's index */
        bool restarts;            /* its pods' containers are started again, whatever one wishes */
        bool names_pods;          /* by its own name and the index: hosts are named without our doing */
        bool whole;               /* stands for all roles */
        const char *propagation;  /* of its deletion: what becomes of its pods */
        json_t *(*objects)(const Form *form, const json_t *pods);
        json_t *(*spec)(const json_t *pod, int n); /* of a role */
        /* The index-th pod is over, and will not be made again; NULL: all that go are. */
        bool (*is_over)(const json_t *object, int index);
        /* `object` is being deleted, and its controller may still make its pods again. NULL: it never does.
         */
        bool (*remakes)(const json_t *object);

        /* What follows is said of those that an operator acts on. */
        const char *operator; /* its name, for people */
        const char *instead;  /* what to change in the cluster's setting where there is none */
        FormWord (*says)(const json_t *object, char **ret_text);

        /* The same, of those of others' operators. */
        const char *framework;   /* whose jobs they are */
        const char *const *told; /* variables that the operator sets, or that hold for our own pods alone */
        const char *own;         /* "K=V" that its members get instead; or NULL */
        const char *passing;     /* the role whose pods come and go without an end; or NULL */
        bool groups;             /* the operator makes the gang */
        bool (*suits)(const RuntimeAttempt *attempt); /* a job of the framework; NULL: any */
};

#define FORM_INSTEAD_OF_OTHERS "take the framework out of 'operators' in the cluster's setting"

extern const Form form_paddle_job, form_tf_job, form_pytorch_job, form_mpi_job, form_spark_application;

/* ---- parts; what is returned is the caller's ---- */

/* Those of the role, in order. */
json_t *form_pods_of(const json_t *pods, const char *role);
/* Their numbers are 0, 1, 2, ... */
bool form_is_numbered(const json_t *pods);
/* A variable of the pod's main container, as its program sees it; NULL: there is none. */
char *form_variable(const json_t *pod, const char *name);
/* The names of the variables that all have, and with one value; then entries of a pod's `env` among them. */
GHashTable *form_common_names(const json_t *pods);
json_t *form_entries(const json_t *pod, GHashTable *names, bool among);
/* Labels and annotations of a pod without its number. */
void form_copy_labels(json_t *object, const json_t *pod);
/* The template of `n` such pods. */
json_t *form_template(const Form *form, const json_t *pod, int n);
/* The object of the job itself, without its spec. */
json_t *form_whole_object(const Form *form, const json_t *pods);
/* The gang as operators of both kinds are told it, where Volcano places the pods
 * (doc/reference/scheduling.md, "Gangs of operators"); its PodGroup is called like the job. NULL: it does
 * not. */
json_t *form_scheduling_policy(const json_t *pods);
