/* Follows the log of a pod into a file until its container has ended. Lines that the file has already are not
 * written again, so that a restarted server continues where the last one was. Successive pods of one member
 * write into one file; a note beside it (PATH.pod) has the offset at which the last of them begins. Same thread
 * as the client, and freed before it.
 *
 * All logs of a client share one FollowRoom, which limits the open streams. If there are more logs, they take
 * turns: first the logs of containers that have ended, which are read to their end, then those of containers
 * that are about to be stopped. A log that is silent for a while gives its stream to the next one. So every log
 * becomes complete, but logs that grow may be late.
 *
 * A node keeps only the newest part of a large log. Output that it rotated away before it was read is lost; a
 * line in the file (timed_log_gap) says so. */
#pragma once

#include "kube/client.h"

typedef struct FollowRoom FollowRoom;
typedef struct Follow Follow;

/* `streams`: limit of open streams, 0: 1000. */
FollowRoom *follow_room_new(KubeClient *client, GMainContext *context, guint streams);
void follow_room_free(FollowRoom *room); /* call it after all its follows were freed; NULL is a no-op */

typedef struct {
        const char *namespace, *pod, *container;
        const char *uid;  /* of the pod; NULL: no other pod writes into the file, and none continues it */
        const char *path; /* created, with its directories */
        gint64 limit;     /* bytes of the file; 0: none */
        bool previous;    /* of the previous container: it was restarted */
        void (*done)(void *arg);  /* called when the log is complete, after follow_last; it may free the
                                     follow */
        void (*flows)(void *arg); /* called after follow_leaving; it may not free the follow */
        void *arg;
} FollowConfig;

Follow *follow_new(FollowRoom *room, const FollowConfig *config);
void follow_free(Follow *follow); /* NULL is a no-op */
/* True if the file at `path` is so far from another pod than this one. False if unknown. */
bool follow_is_of_another(const char *path, const char *uid);
/* The container is about to be stopped, and its log disappears from the cluster together with its pod, so it
 * gets a stream before others. True: the log is being followed. Else `flows` is called once when it is, or
 * after a long wait (10 s), or if there is no log, unless the container ends before. */
bool follow_leaving(Follow *follow);
/* The container has ended: the log is complete when the stream ends. The wait for that is limited. */
void follow_last(Follow *follow);
