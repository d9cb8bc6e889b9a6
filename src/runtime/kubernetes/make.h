/* Objects that are made one after the other, each once: what is there already, by its name, is as good. What
 * does not get through is tried again. The first object, the attempt's service, owns the others that belong
 * to the attempt: with it all of them go. Same thread as the client, and freed before it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "kube/client.h"

typedef struct Making Making;
/* All makings of a client: 128 of them have a place and are under way, the others wait as text. Who is
 * refused for now gives its place away until it asks again; in an outage places are kept. An object that
 * several of them want before their own is made once. */
typedef struct MakingRoom MakingRoom;

typedef struct {
        KubeClient *client;
        GMainContext *context;
        MakingRoom *room;
        GHashTable *gates; /* set of namespaces that have the gate (gate.h); it is made where one needs it */
        /* All are there; or the server refuses one, and not for the moment. It may free. */
        void (*done)(const GError *error, void *arg);
        /* The server does not take it for now (a quota is used up, a webhook does not
         * answer, the credential is not good any more): why. It may free. */
        void (*waits)(const GError *error, void *arg);
        void *arg;
} MakingConfig;

/* The tree of a text of json_format(): objects that wait take an eighth of the memory as text. */
json_t *making_tree(const char *text);

/* `objects`: an array, taken; of the kinds that the runtime makes (make.c). Pods are owned by nobody: they go
 * one by one. */
MakingRoom *making_room_new(void);
void making_room_free(MakingRoom *room); /* after those in it; NULL is a no-op */
Making *making_new(const MakingConfig *config, json_t *objects);
/* The server has said no to what comes next and was not asked again yet, or was not asked at all: without the
 * making it will not be there, unless that is in doubt. */
bool making_is_idle(const Making *making);
bool making_stood(const Making *making); /* the last object was there before */
/* What comes next may be there all the same: an answer was lost, or was that of somebody in between. */
bool making_is_in_doubt(const Making *making);
void making_free(Making *making); /* NULL is a no-op; what is under way may still be made */
