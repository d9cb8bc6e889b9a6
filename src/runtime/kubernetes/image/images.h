/* Images of jobs of one cluster: which job waits for which, and the builds that are under way. A registry is
 * asked first; what it has is not built. Same thread as the client, and freed before it.
 *
 *     envs/<key>-<cluster>/build.log   output of the builder: the log of role `environment` of its jobs
 *     envs/<key>-<cluster>/image       the image by digest; written last
 *
 * where <cluster> is a hash of its name, and a job's link `environment` names the directory (workdir.h). */
#pragma once

#include "kube/client.h"
#include "runtime/environment/bounds.h"
#include "runtime/kubernetes/log/follow.h"
#include "runtime/kubernetes/object/deletions.h"
#include "runtime/kubernetes/pod/setting.h"
#include "runtime/runtime.h"

typedef struct Images Images;

/* The image that a job needs. Borrowed for the call. */
typedef struct {
        const char *job_id, *user;
        Resources builder;                                         /* resources that its build may use */
        const char *image;                                         /* the base image */
        const char *package, *package_name, *requirements, *setup; /* as in a specification */
} ImageWish;

typedef struct {
        KubeClient *client;
        GMainContext *context;
        FollowRoom *logs;
        Deletions *deletions;   /* outlives it */
        const Setting *setting; /* with a registry; outlives it */
        const char *cluster, *namespace, *server, *state_dir;
        gint64 log_limit;
        BuildBounds bounds; /* builds of several clusters are counted separately */
        /* The image of a job exists (problem NULL), or cannot be made. */
        void (*done)(const char *job_id, const char *problem, void *arg);
        /* An image of this image, package and requirements exists; called before `done`. */
        void (*made)(const ImageWish *of, void *arg);
        void *arg;
} ImagesConfig;

Images *images_new(const ImagesConfig *config);
void images_free(Images *images); /* NULL is a no-op; Jobs continue */

/* `done` follows. It may be repeated. */
void images_want(Images *images, const ImageWish *asked);
/* The job no longer needs its image: its build ends if no other job needs it. */
void images_abandon(Images *images, const char *job_id);

/* True if the job's pods need an image of their own. Any thread. */
bool images_is_needed(const RuntimeAttempt *attempt);
/* The image with which the job was prepared, by digest; the caller's. NULL: it is missing. Any thread. */
char *images_of_job(const char *state_dir, const char *job_id);
/* Path of the log of its build; the caller's. Any thread. */
char *images_log_path(const char *state_dir, const char *job_id);
