/* The states of an image's build. Five activities go on side by side, so each has a state of its own. Pure: build.c
 * carries them out. build-state.c draws them. */
#pragma once

#include <stdbool.h>

typedef enum {
        BUILD_CONTENT,  /* ContentState */
        BUILD_JOB,      /* ImageJobState */
        BUILD_LOG,      /* ImageLogState */
        BUILD_DELIVERY, /* DeliveryState */
        BUILD_RESULT,   /* ResultState */
        BUILD_ACTIVITIES
} BuildActivity;

/* The tar with what goes into the image. */
typedef enum { CONTENT_PACKING, CONTENT_READY, CONTENT_FAILED, CONTENT_STATES } ContentState;

/* The Job object. */
typedef enum {
        IMAGE_JOB_UNKNOWN,  /* the cache says whether there is one */
        IMAGE_JOB_CREATING, /* it was requested */
        IMAGE_JOB_CREATED,  /* the API server has accepted it, and the cache does not show it yet */
        IMAGE_JOB_OURS,     /* the cache has shown it; it is the one that this build waits for */
        IMAGE_JOB_DELETING, /* an earlier Job of that name is being deleted */
        IMAGE_JOB_STATES
} ImageJobState;

/* The log of the builder's pod. Another pod begins a new log. */
typedef enum {
        IMAGE_LOG_NONE,     /* no container of it has started */
        IMAGE_LOG_AWAITED,  /* the Job has failed, and its pod may show a moment later */
        IMAGE_LOG_FOLLOWED, /* it is being read */
        IMAGE_LOG_COMPLETE,
        IMAGE_LOG_STATES
} ImageLogState;

/* The way of the content to the builder's pod. */
typedef enum { DELIVERY_NONE, DELIVERY_STARTED, DELIVERY_DONE, DELIVERY_STATES } DeliveryState;

typedef enum {
        RESULT_OPEN,
        RESULT_KNOWN, /* it will be told from the loop */
        RESULT_TOLD,
        RESULT_STATES
} ResultState;

/* Zeros are the first states. */
typedef struct {
        int at[BUILD_ACTIVITIES];
} BuildState;

int build_states(BuildActivity activity); /* the number of its states */
bool build_may_move(BuildActivity activity, int from, int to);
/* The only writer of a state. A move that the table does not have is an assertion. */
void build_move(BuildState *state, BuildActivity activity, int to);
