/* Creates objects one after the other, each once. An object that already exists under the name counts as
 * created. Failures are retried. The first object, the attempt's service, owns the attempt's other objects,
 * so that they are deleted together with it. Same thread as the client, and freed before it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "kube/client.h"

typedef struct Making Making;
/* All makings of a client: up to 128 are in progress, the others wait as text. A making that is refused for
 * now gives up its place until its next try; during an outage places are kept. An object that several makings
 * need first is created once. */
typedef struct MakingRoom MakingRoom;

typedef struct {
        KubeClient *client;
        GMainContext *context;
        MakingRoom *room;
        GHashTable *gates; /* set of namespaces that have the gate (gate.h); it is created where one needs
                              it */
        /* All objects exist, or the server refuses one permanently. It may free the making. */
        void (*done)(const GError *error, void *arg);
        /* The server refuses one for now, and why (a quota is used up, a webhook does not answer, the
         * credential is no longer valid). It may free the making. */
        void (*waits)(const GError *error, void *arg);
        void *arg;
} MakingConfig;

/* The tree of a text of json_format(): waiting objects take an eighth of the memory as text. */
json_t *making_tree(const char *text);

/* `objects`: an array, taken; of the kinds that the runtime creates (make.c). Pods have no owner: they are
 * deleted one by one. */
MakingRoom *making_room_new(void);
void making_room_free(MakingRoom *room); /* call it after all its makings were freed; NULL is a no-op */
Making *making_new(const MakingConfig *config, json_t *objects);
/* True if the server refused the next object and was not asked again, or was not asked at all: without the
 * making the object will not exist, unless that is in doubt. */
bool making_is_idle(const Making *making);
bool making_is_done(const Making *making); /* all objects exist */
bool making_stood(const Making *making);   /* the last object existed before */
/* True if the next object may exist nevertheless: an answer was lost, or came from an intermediate server. */
bool making_is_in_doubt(const Making *making);
void making_free(Making *making); /* NULL is a no-op; a request in progress may still create an object */
