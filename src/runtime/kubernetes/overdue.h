/* Objects (form.h) whose pods are not there yet, asked until the pods are there: of operators' ones, every
 * few seconds, what is said of them; of Jobs, ever more slowly, whether pods are over that nobody saw. Same
 * thread as the client, and freed before it. A callback may call any of these functions. */
#pragma once

#include <stdbool.h>

#include "kube/client.h"
#include "runtime/kubernetes/form.h"

typedef struct Overdue Overdue;

typedef struct {
        KubeClient *client;
        GMainContext *context;
        /* The task has no pod, and should have one. */
        bool (*lacks)(const char *task, void *arg);
        /* Why it waits for its pod. */
        void (*waits)(const char *task, const char *why, void *arg);
        /* Its pod will not come. `lost`: the object was there, and somebody took it away. */
        void (*failed)(const char *task, const char *why, bool lost, void *arg);
        void *arg;
} OverdueConfig;

Overdue *overdue_new(const OverdueConfig *config);
void overdue_free(Overdue *overdue); /* NULL is a no-op */

/* The object of these tasks (char *) is there. Asking again is harmless. */
void overdue_watch(Overdue *overdue, const Form *form, const char *namespace, const GPtrArray *tasks);
