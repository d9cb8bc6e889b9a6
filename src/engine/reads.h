/* Reads from the store on behalf of commands.
 *
 * The engine's thread does not read from the store while it applies commands: all others would wait for the disk.
 * The thread that creates a command reads what it may need (read_begin, then the store), and the command carries the
 * result. Until the command is applied, other batches are committed. As long as a command with a read waits, the
 * engine remembers which jobs have ended, and what was deleted (reads_publish). So a command looks for a job
 *
 *      among the live jobs ─▶ among those that have ended since its read ─▶ in its read, unless deleted since
 *
 * No job falls in between: a read sees everything that was committed before it began, and `since` is the last
 * publication before that. */
#pragma once

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>

#include "engine/engine.h"

/* A command's read; part of its struct. All zero: the command has not read. */
typedef struct {
        Engine *engine;
        gint64 since; /* the last publication before it */
        GList link;   /* in Reads.waiting */
} Read;

/* Call it before the first look at the store or the views. Any thread. */
void read_begin(Engine *engine, Read *read);
/* Call it when the command is freed. Any thread. */
void read_end(Read *read);

/* Changes since the command's read, as the engine knows them. On the engine's thread; results are borrowed.
 * */

/* A job that has ended since, and was not deleted; or NULL. */
const Job *read_ended(const Read *read, const char *id);
const Job *read_ended_by_key(const Read *read, const char *user, const char *key);
/* `job` as it was read, or as it has ended since. NULL if it is NULL, or was deleted since. */
const Job *read_update(const Read *read, const Job *job);
/* The state of an element of the array that has ended since without success; JOB_SUCCEEDED: there is none. */
JobState read_array_state(const Read *read, gint64 array_seq);
/* True if the token was deleted since by its id, or as a log-in of its user. */
bool read_token_dropped(const Read *read, const char *id);
bool read_logged_out(const Read *read, const char *user);
/* Adds the ids of the user's tokens that were created since (char, owned by `ids`). */
void read_new_tokens(const Read *read, const char *user, GPtrArray *ids);

/* ---- the engine's part ---- */

typedef struct {
        pthread_mutex_t lock;
        GQueue waiting; /* links of Read: commands that have read and are not freed yet, the earliest read first */
        gint64 published;  /* number of publications */
        GQueue changes;    /* what has changed since the earliest read, in order; the engine's thread only */
        GHashTable *index; /* Look -> the latest of those; the same */
} Reads;

void reads_init(Reads *reads);
void reads_clear(Reads *reads);
/* Call it after each publication, with its changes (ViewChange). The batch still holds what it has deleted. */
void reads_publish(Engine *engine, const GArray *changes);
