/* What waits for the engine: commands of any thread and observations of the runtime, in order of arrival. */
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

/* A command or an observation, and what became of it. */
typedef struct {
        InputKind kind;
        char *user; /* whose job; of other commands: by whom */
        char *text; /* idempotency key, job id, token id or an object's name; or NULL */
        bool admin;
        /* SUBMIT */
        GPtrArray *specs; /* Spec */
        char *id;         /* wished; or NULL */
        char *refusal;    /* it fails at once, and why; or NULL */
        bool only_check;  /* nothing is made */
        /* ACT, CHANGE */
        gint64 array; /* > 0: to all of this array, `text` is its id */
        JobAction action;
        char *queue; /* NULL: unchanged */
        bool sets_priority;
        int priority;
        char **labels, **annotations; /* NULL: unchanged */
        /* PUT, DROP, tokens */
        Object *object;
        ObjectKind object_kind;
        gint64 version; /* DROP: the one that is to go; 0: any */
        Token *token;
        RuntimeAsk *ask; /* ASK: of the cluster `text` */
        int terminals;   /* TERMINAL: so many more wait for the job `text` */
        Observation *observation;
        gpointer source; /* of the observation: a Source of slots.h */

        EngineDone done;
        EngineCloned cloned; /* CLONE: called instead, on success */
        void *arg;
        GError *error;     /* the outcome */
        struct Live *live; /* whose view is the reply, while the batch is open */
        Job *job;          /* the reply, a reference */
        bool repeated;
} Input;

Input *input_new(InputKind kind, EngineDone done, void *arg);
void input_free(Input *input);
/* As if it had never been applied. */
void input_again(Input *input);
/* Calls done and frees; with `error` the outcome is that error, whatever was noted before. */
void input_answer(Input *input, const GError *error);

typedef struct {
        pthread_mutex_t lock;
        pthread_cond_t filled;
        GQueue waiting; /* Input */
        bool closing;
        bool poked;
} Inbox;

void inbox_init(Inbox *inbox);
void inbox_clear(Inbox *inbox); /* answers what still waits with ERR_UNAVAILABLE */
void inbox_put(Inbox *inbox, Input *input);
/* Puts back what could not be taken yet, before everything else. */
void inbox_put_back(Inbox *inbox, GQueue *inputs);
void inbox_poke(Inbox *inbox);  /* wakes a waiting inbox_take */
void inbox_close(Inbox *inbox); /* no waiting from now on */

/* Moves up to `max` inputs to the end of `ret`. Without any it waits until the monotonic time `until_ms` (-1:
 * for ever; 0: not at all), a poke or the closing. False when the inbox is closing. */
bool inbox_take(Inbox *inbox, guint max, gint64 until_ms, GQueue *ret);
