/* Shared by the files life*.c only: the steps of which the changes of a job are made. */
#pragma once

#include "base/json.h"
#include "engine/life.h"

/* Adds an event; `data` is taken, NULL: none. life_note_reason: with the job's reason, if it has one. */
void life_note(Life *life, const char *kind, json_t *data);
void life_note_reason(Life *life, const char *kind);
void life_set_reason(Job *job, char *reason); /* taken */
void life_move(Life *life, JobState to);
/* Ends the attempt for this reason (taken): at once when no member runs any more, else by way of `stopping`. `to`: a
 * final state, JOB_SUSPENDED, or a value of stop_to. */
void life_stop(Life *life, int to, char *reason);
void life_stop_members(Job *job);
/* The attempt has failed for this reason (taken). `permanent`: it would fail again, so there is no retry. */
void life_use_retry(Life *life, bool permanent, char *why);
/* The member that holds up the start; NULL: none, or one of its phase still waits for a node. */
const Member *life_held_up(const Job *job);
/* A held job may not run: its running preparations wait again. */
void life_leave_preparations(Life *life);

/* "see `paddle logs NAME --member MEMBER`"; the caller's. */
char *life_see_log(const Job *job, const char *member);
/* The text of a program or an error as one line of UTF-8; the caller's. NULL for NULL or an empty text. */
char *life_clean_text(const char *text);
