/* One image that is being built: a Job of the cluster, named by what goes into the image, so that whoever
 * wants the same image (another job, a server that has started anew, another server) meets the same Job.
 * Everything follows from the Job and its pod as they are. Same thread as the client, and freed before it. */
#pragma once

#include "kube/cache.h"
#include "runtime/kubernetes/follow.h"
#include "runtime/kubernetes/image.h"

typedef struct Build Build;

/* All borrowed for the call, but for client, logs, caches and `about.setting`. */
typedef struct {
        KubeClient *client;
        GMainContext *context;
        FollowRoom *logs;
        KubeCache *jobs, *pods; /* those with IMAGE_LABEL */
        ImageBuild about;
        const char *dir;                  /* of this server's files of it: build.log; made if missing */
        const char *tree;                 /* of the package; or NULL */
        const char *requirements, *setup; /* or NULL */
        const char *pip;                  /* its configuration */
        gint64 log_limit;
        /* The Job has ended; it may free. `problem` NULL: well. `found`: it had ended before this server saw
         * it, and what it made may have gone since. */
        void (*done)(const char *problem, bool found, void *arg);
        void *arg;
} BuildConfig;

Build *build_new(const BuildConfig *config);
void build_free(Build *build); /* NULL is a no-op; the Job goes on */

/* Something has changed in the caches. */
void build_look(Build *build);
/* The Job goes, and with `again` another is made. */
void build_remove(Build *build, bool again);

char *build_log_path(const char *dir); /* the caller's */
