/* Roles that are made as one object each (form.h): collected while their members' starts come in, made, and
 * taken away without their pods, so that these can go one by one and for good. Same thread as the client, and
 * freed before it. A callback may call any of these functions. */
#pragma once

#include <stdbool.h>

#include "runtime/kubernetes/form.h"
#include "runtime/kubernetes/make.h"

typedef struct Sets Sets;

typedef struct {
        KubeClient *client;
        GMainContext *context;
        MakingRoom *room;
        GHashTable *gates; /* see make.h */
        /* The object of these tasks (char *) is there; it `stood` before. NULL: nobody asks. */
        void (*made)(const Form *form, const char *namespace, const GPtrArray *tasks, bool stood, void *arg);
        /* The object of the task's role was refused. */
        void (*failed)(const char *task, const GError *error, void *arg);
        /* It is refused for now. */
        void (*waits)(const char *task, const GError *error, void *arg);
        /* Nothing makes the task's pod again, from now on. */
        void (*dropped)(const char *task, void *arg);
        void *arg;
} SetsConfig;

Sets *sets_new(const SetsConfig *config);
void sets_free(Sets *sets); /* NULL is a no-op */

/* One of `together` members of a role that are started at once. With the last of them the objects are made,
 * after those of `before` (an array: the attempt's service first); not when each of them `stands` already.
 * What is asked for again while it is being made is passed over. Members that cannot be one object (their
 * numbers have gaps) become pods that stand for themselves. */
typedef struct {
        const Form *form;
        const char *task;
        int together;
        json_t *pod, *before; /* taken */
        bool stands;          /* there is such a pod */
} SetsMember;
void sets_add(Sets *sets, const SetsMember *member);
/* It is being collected or made. */
bool sets_has(const Sets *sets, const char *task);

/* Takes away what makes the task's pod. `kind` NULL: whatever kind it may be. */
void sets_drop(Sets *sets, const char *task, const char *namespace, const KubeKind *kind);
