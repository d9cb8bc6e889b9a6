/* A command in a container of a pod, or a connection to a port of it, by the remote command protocol (v5 and
 * v4.channel.k8s.io) over a WebSocket of its own. Same thread as the client, and freed before it; nothing
 * waits. */
#pragma once

#include "kube/client.h"

typedef struct KubeExec KubeExec;

typedef struct {
        const char *namespace, *pod, *container; /* container NULL: the pod's default */
        const char *const *argv;                 /* NULL-terminated */
        int port;   /* > 0: no command but a connection to this port, within the pod's network. Its end is the
                       status 0; that this side has sent its end cannot be said (kubelet). ERR_CONFLICT: the
                       port does not take it; ERR_UNAVAILABLE: the connection broke, and some may be lost */
        bool tty;   /* standard error comes as standard output then */
        bool input; /* kube_exec_write will be used */
        gint64 open_ms; /* the connection must stand by then, 0: 30 s */
        /* fd: 1 or 2. It may cancel. */
        void (*output)(int fd, const char *data, gsize len, void *arg);
        void (*drained)(void *arg); /* all that was written is on its way; or NULL */
        /* Once, at the end; not after kube_exec_cancel. `error` NULL: the command ended with this status
         * (0..255). ERR_NOT_FOUND no such pod, ERR_DENIED, ERR_INVALID (no such container), ERR_FAILED (it
         * does not start), ERR_TIMEOUT (`open_ms`), ERR_UNAVAILABLE: the connection ended first. The handle
         * is gone when it returns. */
        void (*done)(int exit_status, const GError *error, void *arg);
        void *arg;
} KubeExecConfig;

enum { KUBE_EXEC_UNSENT_MAX = 4 << 20 };

KubeExec *kube_exec(KubeClient *client, const KubeExecConfig *config);
void kube_exec_cancel(KubeExec *exec);

/* Standard input. False when more than KUBE_EXEC_UNSENT_MAX bytes would wait to be sent (nothing was taken),
 * or it is closed. What is written before the connection stands is sent then. */
bool kube_exec_write(KubeExec *exec, const char *data, gsize len);
gsize kube_exec_unsent(const KubeExec *exec);
/* The command reads the end of its input. Servers before Kubernetes 1.30 cannot say that to it; it goes on
 * waiting there. */
void kube_exec_close_input(KubeExec *exec);
/* Output is read no more, or again: who cannot take it lets the command wait. A little may still come, and
 * the end may. */
void kube_exec_hold(KubeExec *exec, bool hold);
void kube_exec_resize(KubeExec *exec, int columns, int rows);
