/* Commands: everything that other threads hand to the engine's thread. Clients ask for something (a submission,
 * an action on a job, an object, a token), and runtimes report what they observe.
 *
 * Each kind of command is one struct, which begins with a Command, and one row of functions (CommandOps). Both are
 * private to the file that applies it, as is the function that creates it (submit.c: engine_submit). The
 * engine's loop, the inbox and the batch know the row only.
 *
 *   any thread: command_new ─▶ inbox ─▶ apply ─▶ commit ─▶ answer ─▶ free
 *                                ▲        │         └── failed: again alone, kept, or answered with the error
 *                                └────────┘ it has to wait for the outcome of this batch */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "engine/engine.h"

typedef struct Command Command;

typedef struct {
        const char *name;
        gsize size;          /* of its struct */
        bool is_observation; /* If its batch cannot be committed, it is kept and applied again before all later
                                ones. Other commands are answered with the error. */
        /* Changes the drafts of the open batch, or sets command->error and changes nothing. False: it has to wait
         * for the outcome of this batch. It may be applied more than once, each time as if it was the first. */
        bool (*apply)(Engine *engine, Command *command);
        /* Passes on an outcome that `done` has no place for; `done` is called next. `error` NULL: success. `engine`
         * NULL: the engine is being freed. NULL: `done` is all. */
        void (*answer)(Engine *engine, Command *command, const GError *error);
        void (*free)(Command *command); /* frees the fields of its struct; NULL: there is nothing to free */
} CommandOps;

struct Command {
        const CommandOps *ops;
        EngineDone done; /* or NULL */
        void *arg;
        GError *error;     /* the outcome */
        struct Live *live; /* the job whose view is the answer, while the batch is open */
        Job *job;          /* the answer, a reference */
        bool repeated;     /* as for EngineDone */
};

/* A zeroed struct of ops->size, with these fields set. */
void *command_new(const CommandOps *ops, EngineDone done, void *arg);
void command_free(Command *command);
/* Removes the outcome, before it is applied again. */
void command_again(Command *command);
/* Answers and frees it. `error`, if not NULL, replaces the outcome. */
void command_answer(Engine *engine, Command *command, const GError *error);
