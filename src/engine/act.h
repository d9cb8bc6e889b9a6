/* The commands that act on jobs and change them, shared by act.c, change.c and act-array.c only. Each of the two
 * structs serves a job and a whole array: these are two rows, with one door. */
#pragma once

#include "engine/state.h"

typedef struct {
        Command command;
        char *by; /* the caller */
        bool admin;
        char *id;     /* of the job, or of the array */
        gint64 array; /* its array_seq; 0: a job */
        JobAction action;
} Act;

typedef struct {
        Command command;
        char *by;
        bool admin;
        char *id;
        gint64 array;
        char *queue; /* NULL: unchanged */
        bool sets_priority;
        int priority;
        char **labels, **annotations; /* NULL: unchanged */
} Change;

void act_free(Command *command);
void change_free(Command *command);
bool act_on_array(Engine *engine, Command *command);
bool change_array(Engine *engine, Command *command);

/* The action on one open job. False with the command's error. */
bool act_on_live(Engine *engine, Live *live, Act *act);
/* The change of one open job: change_check changes nothing; false with the command's error. *ret_queue: the new
 * queue, or NULL. */
bool change_check(Engine *engine, const Job *job, Change *change, const Queue **ret_queue);
void change_live(Engine *engine, Live *live, const Queue *queue, Change *change);
/* The error of a command on a job that is not live: it has ended, or does not exist. */
void refuse_stored(Engine *engine, const char *id, GError **error);
