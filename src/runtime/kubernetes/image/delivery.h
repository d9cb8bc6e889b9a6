/* Sends a file into a container, as the standard input of a command there. Same thread as the client, and
 * freed before it. */
#pragma once

#include "kube/client.h"

typedef struct Delivery Delivery;

typedef struct {
        GMainContext *context;
        const char *namespace, *pod, *container;
        const char *const *argv;
        const char *path;
        /* Called once; it may free the delivery. `problem` NULL: the command succeeded. */
        void (*done)(const char *problem, void *arg);
        void *arg;
} DeliveryConfig;

Delivery *delivery_new(KubeClient *client, const DeliveryConfig *config);
void delivery_free(Delivery *delivery); /* NULL is a no-op */
