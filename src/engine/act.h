/* The commands that act on jobs and change them, shared by act.c, change.c and act-array.c only. Each of the two
 * structs serves a job and a whole array: these are two rows, with one door. */
#pragma once

#include "engine/state.h"

/* The job that a command names, or one element of its array, as it was when the command was created. */
typedef struct {
        Read read;
        Job *job;
        GError *error; /* why there is no `job` */
} JobRead;

typedef struct {
        Command command;
        JobRead read;
        char *by; /* the caller */
        bool admin;
        char *id;     /* of the job, or of the array */
        gint64 array; /* its array_seq; 0: a job */
        JobAction action;
} Act;

typedef struct {
        Command command;
        JobRead read;
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
/* `array` 0: reads the job unless it is live. Else reads an element of the array. Any thread. */
void job_read_begin(Engine *engine, JobRead *read, const char *id, gint64 array);
void job_read_clear(JobRead *read);
/* The job as it has ended, for a command on a job that is not live; an element of an array. Borrowed. NULL with an
 * error: it does not exist, or was deleted since. */
const Job *job_read_get(const JobRead *read, const char *id, GError **error);
/* The error of a command on a job that is not live: it has ended, or does not exist. */
void refuse_ended_job(const JobRead *read, const char *id, GError **error);
