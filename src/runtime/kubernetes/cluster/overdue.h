/* Checks objects (form.h) whose pods do not exist yet, until they do. Objects of operators are read every few
 * seconds for what they report. Jobs are checked with growing delay for pods that ended unseen. Same thread
 * as the client, and freed before it. A callback may call any of these functions. */
#pragma once

#include <stdbool.h>

#include "kube/client.h"
#include "runtime/kubernetes/pod/form.h"

typedef struct Overdue Overdue;

typedef struct {
        KubeClient *client;
        GMainContext *context;
        /* The task has no pod, and should have one. */
        bool (*lacks)(const char *task, void *arg);
        /* Why it waits for its pod. */
        void (*waits)(const char *task, const char *why, void *arg);
        /* Its pod will not be created. `lost`: the object existed, and a third party deleted it. */
        void (*failed)(const char *task, const char *why, bool lost, void *arg);
        void *arg;
} OverdueConfig;

Overdue *overdue_new(const OverdueConfig *config);
void overdue_free(Overdue *overdue); /* NULL is a no-op */

/* The object of these tasks (char *) exists. It may be repeated. */
void overdue_watch(Overdue *overdue, const Form *form, const char *namespace, const GPtrArray *tasks);
