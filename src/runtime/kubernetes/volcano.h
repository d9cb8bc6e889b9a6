/* Queues and gangs of Volcano (doc/reference/scheduling.md, "Volcano's queues" to "Handing a job to
 * Volcano"), where a cluster's setting says that it places our pods: a Queue for each queue of the cluster, a
 * PodGroup for each attempt of a job, and why it waits. Our engine has admitted the job before; Volcano sees
 * that its gang starts whole, and keeps what others use of the same queue. */
#pragma once

#include "kube/client.h"
#include "model/queue.h"
#include "runtime/kubernetes/member.h"

#define VOLCANO_SCHEDULER "volcano"

/* ---- pure; what is returned is the caller's ---- */

json_t *volcano_queue(const Queue *queue, const char *server);
/* Its name is that of the attempt's service. The gang: who is started now, of an elastic role as many as it
 * needs. `priority_class`: or NULL. */
json_t *volcano_group(const MemberHome *home, const RuntimeAttempt *attempt, const char *priority_class);
/* The pod is one of the attempt's group. */
void volcano_join(json_t *pod, const RuntimeAttempt *attempt, const char *role);
/* Its phase is Pending (or none yet) or Inqueue. */
bool volcano_group_waits(const json_t *group);
/* Why the group's pods wait; NULL: Volcano has nothing to say. */
char *volcano_group_why(const json_t *group);

/* ---- effects: same thread as the client, and freed just before it ---- */

typedef struct Volcano Volcano;

typedef struct {
        KubeClient *client;
        GMainContext *context;
        const char *selector;          /* of our objects */
        const char *const *namespaces; /* as of scope.h */
        const char *cluster;           /* its name, for messages */
        /* There is something new to be said of a group. */
        void (*changed)(const char *namespace, const char *name, void *arg);
        void *arg;
} VolcanoConfig;

Volcano *volcano_new(const VolcanoConfig *config); /* borrows the texts */
void volcano_free(Volcano *volcano);               /* NULL is a no-op */

/* All Queue objects that are to be there; others of ours go. Takes `queues` (an array). */
void volcano_take_queues(Volcano *volcano, json_t *queues);
/* The group is made, sooner or later; of one that is there and waits, the priority class is put right. Takes
 * it. Asking again is harmless. */
void volcano_want_group(Volcano *volcano, json_t *group);
/* The group goes, sooner or later: after what is under way of it, and tried again until it does. */
void volcano_drop_group(Volcano *volcano, const char *namespace, const char *name);
bool volcano_is_served(const Volcano *volcano); /* the cluster has such objects */
/* Why the pods of a group wait; the caller's, or NULL. */
char *volcano_why(const Volcano *volcano, const char *namespace, const char *name);
