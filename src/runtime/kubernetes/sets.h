/* Roles that are made as one object each (form.h): made, and taken away without their pods, so that these can
 * go one by one and for good. Same thread as the client, and freed before it. A callback may call any of
 * these functions. */
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

/* Makes the object of these tasks, all of their role or of their job: `objects` in order, the attempt's
 * service first. What is being made already is not made twice. */
typedef struct {
        const Form *form;
        const char *const *tasks; /* at least one, the list ending in NULL */
        const char *namespace;
        json_t *objects; /* an array, taken */
} SetsStart;
void sets_make(Sets *sets, const SetsStart *start);
/* It is being made. */
bool sets_has(const Sets *sets, const char *task);

/* Takes away what makes the task's pod. `kind` NULL: whatever kind it may be. */
void sets_drop(Sets *sets, const char *task, const char *namespace, const KubeKind *kind);
