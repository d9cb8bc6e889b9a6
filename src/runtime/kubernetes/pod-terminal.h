/* Commands beside members in pods: implements the operations of exec.h with kube/exec.h. */
#pragma once

#include "kube/client.h"
#include "runtime/exec.h"

extern const ExecOps terminal_pod_ops;

/* The argument of terminal_pod_ops.start: a terminal_pod_copy, freed with terminal_pod_free. `client`,
 * `context` and `arg` outlive the ExecRoom. */
typedef struct {
        KubeClient *client;
        GMainContext *context;
        char *task;
        /* Finds its pod and container, borrowed, and whether it uses the node's network; on the thread.
         * False: it has no pod. */
        bool (*find)(void *arg, const char *task, const char **ret_namespace, const char **ret_pod,
                     const char **ret_container, bool *ret_on_host);
        void *arg;
} TerminalPod;

TerminalPod *terminal_pod_copy(const TerminalPod *pod);
void terminal_pod_free(gpointer data); /* NULL is a no-op */
