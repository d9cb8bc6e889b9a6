/* Inside the forms of jobs (form.h): the fields of a row, and code that the builders of rows share. */
#pragma once

#include "runtime/kubernetes/pod/form.h"
#include "runtime/kubernetes/pod/member.h"

struct Form {
        const KubeKind *kind;
        const char *member_field; /* name that ends with the member's index */
        bool restarts;            /* its pods' containers are always restarted, whatever the restart policy
                                     is */
        bool names_pods;          /* the object names its pods by its own name and the index, so hosts have
                                     names without our code */
        bool whole;               /* one object for all roles */
        const char *propagation;  /* propagation of its deletion to its pods */
        json_t *(*objects)(const Form *form, const json_t *pods);
        json_t *(*spec)(const json_t *pod, int n); /* of a role */
        /* The index-th pod has ended and will not be recreated; NULL: every pod that is deleted has. */
        bool (*is_over)(const json_t *object, int index);
        /* `object` is being deleted, and its controller may still recreate pods. NULL: it never does. */
        bool (*remakes)(const json_t *object);

        /* The fields below are for forms that an operator manages. */
        const char *operator; /* its name, for people */
        const char *instead;  /* what to change in the cluster's setting if there is no operator */
        FormWord (*says)(const json_t *object, char **ret_text);

        /* The fields below are for forms of third-party operators. */
        const char *framework;   /* the framework of their jobs */
        const char *const *told; /* variables that the operator sets, or that are valid only for our own
                                    pods */
        const char *own;         /* "K=V" that its members get instead; or NULL */
        const char *passing;     /* the role whose pods may come and go without being an end; or NULL */
        bool groups;             /* the operator creates the gang */
        bool (*suits)(const RuntimeAttempt *attempt); /* True for jobs that it supports; NULL: all of the
                                                         framework */
};

#define FORM_INSTEAD_OF_OTHERS "take the framework out of 'operators' in the cluster's setting"

extern const Form form_paddle_job, form_tf_job, form_pytorch_job, form_mpi_job, form_spark_application;

/* ---- parts; results are the caller's ---- */

/* The pods of the role, in order. */
json_t *form_pods_of(const json_t *pods, const char *role);
/* True if their indices are 0, 1, 2, ... */
bool form_is_numbered(const json_t *pods);
/* A variable of the pod's main container, as its program sees it; NULL: not set. */
char *form_variable(const json_t *pod, const char *name);
/* The names of the variables that all pods have with the same value. form_entries: the entries of a pod's
 * `env` that are (or are not) among them. */
GHashTable *form_common_names(const json_t *pods);
json_t *form_entries(const json_t *pod, GHashTable *names, bool among);
/* Copies labels and annotations of a pod, except its index. */
void form_copy_labels(json_t *object, const json_t *pod);
/* The template of `n` such pods. */
json_t *form_template(const Form *form, const json_t *pod, int n);
/* The object of the job itself, without its spec. */
json_t *form_whole_object(const Form *form, const json_t *pods);
/* The gang as operators of both kinds are told it, where Volcano places the pods
 * (doc/reference/scheduling.md, "Gangs of operators"); its PodGroup is called like the job. NULL: it does
 * not. */
json_t *form_scheduling_policy(const json_t *pods);
