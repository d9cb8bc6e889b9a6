/* Roles that are created as one object each (form.h). The object is deleted without its pods, so that these
 * can be deleted one by one and permanently. Same thread as the client, and freed before it. A callback may
 * call any of these functions. */
#pragma once

#include <stdbool.h>

#include "runtime/kubernetes/object/make.h"
#include "runtime/kubernetes/pod/form.h"

typedef struct Sets Sets;

typedef struct {
        KubeClient *client;
        GMainContext *context;
        MakingRoom *room;
        GHashTable *gates; /* see make.h */
        /* The object of these tasks (char *) exists; `stood`: it existed before. NULL: not needed. */
        void (*made)(const Form *form, const char *namespace, const GPtrArray *tasks, bool stood, void *arg);
        /* The object of the task's role was refused. */
        void (*failed)(const char *task, const GError *error, void *arg);
        /* It is refused for now. */
        void (*waits)(const char *task, const GError *error, void *arg);
        /* From now on nothing recreates the task's pod. */
        void (*dropped)(const char *task, void *arg);
        void *arg;
} SetsConfig;

Sets *sets_new(const SetsConfig *config);
void sets_free(Sets *sets); /* NULL is a no-op */

/* Creates the object of these tasks, all of their role or of their job: `objects` in order, the attempt's
 * service first. An object that is already being created is not created twice. */
typedef struct {
        const Form *form;
        const char *const *tasks; /* at least one; NULL ends the list */
        const char *namespace;
        json_t *objects; /* an array, taken */
} SetsStart;
void sets_make(Sets *sets, const SetsStart *start);
/* it is being created */
bool sets_has(const Sets *sets, const char *task);

/* Deletes the object that recreates the task's pod. `kind` NULL: of any kind. */
void sets_drop(Sets *sets, const char *task, const char *namespace, const KubeKind *kind);
