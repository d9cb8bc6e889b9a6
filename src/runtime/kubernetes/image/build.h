/* One image that is being built, as a Job of the cluster. The Job is named by the content of the image, so
 * everyone who needs the same image (another job, a restarted server, another server) finds the same Job. The
 * state follows only from the Job and its pod. Same thread as the client, and freed before it. */
#pragma once

#include "kube/cache.h"
#include "runtime/kubernetes/image/image.h"
#include "runtime/kubernetes/log/follow.h"
#include "runtime/kubernetes/object/deletions.h"

typedef struct Build Build;

/* All borrowed for the call, except client, logs, deletions, caches and `about.setting`. */
typedef struct {
        KubeClient *client;
        GMainContext *context;
        FollowRoom *logs;
        Deletions *deletions;
        KubeCache *jobs, *pods; /* objects with IMAGE_LABEL */
        ImageBuild about;
        const char *dir;                  /* directory of this server's files for it: build.log; created if
                                             missing */
        const char *tree;                 /* of the package; or NULL */
        const char *requirements, *setup; /* or NULL */
        const char *pip;                  /* its configuration */
        gint64 log_limit;
        /* The Job has ended; the function may free the build. `problem` NULL: success. `found`: it had ended
         * before this server saw it, and its image may have been deleted since. */
        void (*done)(const char *problem, bool found, void *arg);
        void *arg;
} BuildConfig;

Build *build_new(const BuildConfig *config);
void build_free(Build *build); /* NULL is a no-op; the Job continues */

/* Call it when the caches have changed. */
void build_look(Build *build);
/* Deletes the Job, also if the cluster is away now. With `again` another one is created. */
void build_remove(Build *build, bool again);

char *build_log_path(const char *dir); /* the caller's */
