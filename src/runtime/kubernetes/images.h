/* Images of jobs of one cluster: which job waits for which, and the builds that are under way. A registry is
 * asked first; what it has is not built. Same thread as the client, and freed before it.
 *
 *     envs/<key>-<cluster>/build.log   what the builder said: the log of role `environment` of its jobs
 *     envs/<key>-<cluster>/image       the image by digest; made last
 *
 * where <cluster> stands for its name, and a job's link `environment` names the directory (workdir.h). */
#pragma once

#include "kube/client.h"
#include "runtime/environment/bounds.h"
#include "runtime/kubernetes/follow.h"
#include "runtime/kubernetes/setting.h"
#include "runtime/runtime.h"

typedef struct Images Images;

/* The image that a job needs. Borrowed for the call. */
typedef struct {
        const char *job_id, *user;
        Resources builder;                                         /* what its build may take */
        const char *image;                                         /* that it is made from */
        const char *package, *package_name, *requirements, *setup; /* as in a specification */
} ImageWish;

typedef struct {
        KubeClient *client;
        GMainContext *context;
        FollowRoom *logs;
        const Setting *setting; /* with a registry; outlives it */
        const char *cluster, *namespace, *server, *state_dir;
        gint64 log_limit;
        BuildBounds bounds; /* those of several clusters are counted one by one */
        /* The image of a job is there (problem NULL), or cannot be had. */
        void (*done)(const char *job_id, const char *problem, void *arg);
        /* There is an image of this image, package and requirements; before `done`. */
        void (*made)(const ImageWish *of, void *arg);
        void *arg;
} ImagesConfig;

Images *images_new(const ImagesConfig *config);
void images_free(Images *images); /* NULL is a no-op; Jobs go on */

/* `done` follows. Asking again is harmless. */
void images_want(Images *images, const ImageWish *asked);
/* Nobody waits for it any more: a build that is nobody else's ends. */
void images_abandon(Images *images, const char *job_id);

/* True when the job's pods need an image of its own. Any thread. */
bool images_is_needed(const RuntimeAttempt *attempt);
/* The image that the job was prepared with, by digest; the caller's, NULL: it is not there. Any thread. */
char *images_of_job(const char *state_dir, const char *job_id);
/* Where the log of its build is; the caller's. Any thread. */
char *images_log_path(const char *state_dir, const char *job_id);
