/* Inputs that wait for the engine: commands of any thread and observations of the runtime, in order of
 * arrival. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "engine/engine.h"

typedef enum {
        INPUT_SUBMIT,
        INPUT_ACT,
        INPUT_CHANGE,
        INPUT_PUT,
        INPUT_DROP,
        INPUT_PUT_TOKEN,
        INPUT_DROP_TOKEN,
        INPUT_CLONE,
        INPUT_FLUSH,
        INPUT_ASK,
        INPUT_TERMINAL,
        INPUT_OBSERVATION,
        INPUT_KINDS,
} InputKind;

/* A command or an observation, and its outcome. */
typedef struct {
        InputKind kind;
        char *user; /* owner of the job; for other commands: the caller */
        char *text; /* idempotency key, job id, token id or an object's name; or NULL */
        bool admin;
        /* SUBMIT */
        GPtrArray *specs; /* Spec */
        char *id;         /* requested by the client; or NULL */
        char *refusal;    /* why the job fails at once; or NULL */
        bool only_check;  /* a dry run */
        /* ACT, CHANGE */
        gint64 array; /* > 0: applies to all jobs of this array, and `text` is its id */
        JobAction action;
        char *queue; /* NULL: unchanged */
        bool sets_priority;
        int priority;
        char **labels, **annotations; /* NULL: unchanged */
        /* PUT, DROP, tokens */
        Object *object;
        ObjectKind object_kind;
        gint64 version; /* DROP: the version to delete; 0: any */
        Token *token;
        RuntimeAsk *ask; /* ASK: for the cluster `text` */
        int terminals;   /* TERMINAL: change of the number that waits for the job `text` */
        Observation *observation;
        gpointer source; /* of the observation: a Source of slots.h */

        EngineDone done;
        EngineCloned cloned; /* CLONE: called instead of `done`, on success */
        void *arg;
        GError *error;     /* the outcome */
        struct Live *live; /* the job whose view is the reply, while the batch is open */
        Job *job;          /* the reply, a reference */
        bool repeated;
} Input;

Input *input_new(InputKind kind, EngineDone done, void *arg);
void input_free(Input *input);
/* Resets it to the state before it was applied. */
void input_again(Input *input);
/* Calls done and frees it. `error`, if not NULL, replaces the outcome. */
void input_answer(Input *input, const GError *error);

typedef struct {
        pthread_mutex_t lock;
        pthread_cond_t filled;
        GQueue waiting; /* Input */
        bool closing;
        bool poked;
} Inbox;

void inbox_init(Inbox *inbox);
void inbox_clear(Inbox *inbox); /* answers waiting inputs with ERR_UNAVAILABLE */
void inbox_put(Inbox *inbox, Input *input);
/* Puts inputs back that could not be taken yet, before all others. */
void inbox_put_back(Inbox *inbox, GQueue *inputs);
void inbox_poke(Inbox *inbox);  /* wakes a waiting inbox_take */
void inbox_close(Inbox *inbox); /* inbox_take does not wait any more */

/* Moves up to `max` inputs to the end of `ret`. If there are none it waits until the monotonic time
 * `until_ms` (-1: for ever; 0: not at all), a poke or the closing. False when the inbox is closing. */
bool inbox_take(Inbox *inbox, guint max, gint64 until_ms, GQueue *ret);
