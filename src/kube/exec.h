/* A command in a container of a pod, or a connection to a port of it, by the remote command protocol (v5 and
 * v4.channel.k8s.io) over its own WebSocket. Same thread as the client, and freed before it; no call
 * blocks. */
#pragma once

#include "kube/client.h"

typedef struct KubeExec KubeExec;

typedef struct {
        const char *namespace, *pod, *container; /* container NULL: the pod's default */
        const char *const *argv;                 /* NULL-terminated */
        int port;   /* > 0: no command but a connection to this port, within the pod's network. It ends with
                       the status 0. This side cannot signal its own end (kubelet). ERR_CONFLICT: the port
                       refuses the connection; ERR_UNAVAILABLE: the connection broke, and data may be lost */
        bool tty;   /* standard error is then part of standard output */
        bool input; /* kube_exec_write will be used */
        gint64 open_ms; /* time limit for opening the connection, 0: 30 s */
        /* fd: 1 or 2. The function may cancel. */
        void (*output)(int fd, const char *data, gsize len, void *arg);
        void (*drained)(void *arg); /* all written data was sent; or NULL */
        /* Called once, at the end; not after kube_exec_cancel. `error` NULL: the command ended with this
         * status (0..255). ERR_NOT_FOUND no such pod, ERR_DENIED, ERR_INVALID (no such container), ERR_FAILED
         * (it did not start), ERR_TIMEOUT (`open_ms`), ERR_UNAVAILABLE: the connection ended first, or the
         * container does not run (yet, or any more). The handle is invalid after it returns. */
        void (*done)(int exit_status, const GError *error, void *arg);
        void *arg;
} KubeExecConfig;

enum { KUBE_EXEC_UNSENT_MAX = 4 << 20 };

KubeExec *kube_exec(KubeClient *client, const KubeExecConfig *config);
void kube_exec_cancel(KubeExec *exec);

/* Standard input. False: more than KUBE_EXEC_UNSENT_MAX bytes would wait to be sent (nothing was taken), or
 * it is closed. Data written before the connection is open is sent then. */
bool kube_exec_write(KubeExec *exec, const char *data, gsize len);
gsize kube_exec_unsent(const KubeExec *exec);
/* Ends the command's input. Servers before Kubernetes 1.30 cannot pass the end on; the command continues to
 * wait there. */
void kube_exec_close_input(KubeExec *exec);
/* Stops reading the output, or resumes it. While it is stopped the command blocks. A little output may still
 * arrive, and the end may. */
void kube_exec_hold(KubeExec *exec, bool hold);
void kube_exec_resize(KubeExec *exec, int columns, int rows);
