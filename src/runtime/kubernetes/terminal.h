/* Commands beside members in pods: exec.h's operations over kube/exec.h. */
#pragma once

#include "kube/client.h"
#include "runtime/exec.h"

extern const ExecOps terminal_pod_ops;

/* What terminal_pod_ops.start is given: a terminal_pod_copy, freed with terminal_pod_free. `client`,
 * `context` and `arg` outlive the room. */
typedef struct {
        KubeClient *client;
        GMainContext *context;
        char *task;
        /* Its pod and the container there, borrowed, and whether it has its node's network; on the thread.
         * False: it has none. */
        bool (*find)(void *arg, const char *task, const char **ret_namespace, const char **ret_pod,
                     const char **ret_container, bool *ret_on_host);
        void *arg;
} TerminalPod;

TerminalPod *terminal_pod_copy(const TerminalPod *pod);
void terminal_pod_free(gpointer data);
