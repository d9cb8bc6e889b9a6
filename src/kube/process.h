/* Runs a program for its output, without blocking: credential plug-ins. On the thread of the context. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct KubeProcess KubeProcess;

/* `wait_status` is waitpid's. `error` is set if there is none: the program did not start, printed too much or
 * took too long (it was killed). The process is freed after that. Never called from within
 * kube_process_start. */
typedef void (*KubeProcessDone)(int wait_status, const GString *out, const GString *err, const GError *error,
                                void *arg);

typedef struct {
        char *const *argv, *const *envp; /* NULL-terminated; argv[0] is looked up in PATH */
        GMainContext *context;           /* NULL: the default one */
        gsize out_max;                   /* limit of standard output in bytes; of standard error the end is
                                            kept */
        gint64 timeout_ms;
        KubeProcessDone done;
        void *arg;
} KubeProcessConfig;

KubeProcess *kube_process_start(const KubeProcessConfig *config);
/* Kills it; `done` is not called. */
void kube_process_cancel(KubeProcess *process);
