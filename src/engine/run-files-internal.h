/* What the files run-files*.c share. Internal to these.
 *
 * All queues and counts belong to the engine's thread. A worker thread knows only its request and the post, by which
 * answers reach the engine. The engine closes the post when it ends, and does not wait for a thread that hangs in a call. */
#pragma once

#include <pthread.h>

#include "engine/run-files.h"
#include "engine/state.h"

/* ---- run-files-work.c: on a worker's thread ---- */

/* The way back of answers, and what a thread needs of the engine's configuration. */
typedef struct {
        gatomicrefcount refs;
        pthread_mutex_t lock;
        pthread_cond_t resolved;
        Engine *engine; /* NULL: the engine ends */
        FileRights rights;
        void *rights_arg;
        int resolving; /* threads that look up rights now */
        int closed;    /* atomic: the same as `engine` NULL */
} FilesPost;

FilesPost *files_post_new(Engine *engine);
FilesPost *files_post_ref(FilesPost *post);
void files_post_unref(FilesPost *post);
/* No answer reaches the engine any more. Waits for threads that look up rights, and for no others. */
void files_post_close(FilesPost *post);

typedef struct FilesPlace FilesPlace; /* of run-files.c: the requests of one file system */

typedef struct {
        Command command;
        FilesTicket ticket;
        FilesKind kind;
        FilesystemPlace at;
        gint64 user_seq;
        json_t *paths;
        gsize max;
        bool unnamed;
        FilesGroup *group; /* or NULL */
        FilesPost *post;
        gint64 asked, begun_at; /* ms; begun_at 0: not seen to have begun */
        FilesPlace *place;      /* the engine's thread: NULL once it is counted as answered */
        bool counted;           /* the engine's thread: in Lane.threads */
        int begun;              /* atomic: a thread has it */
        int handed; /* atomic: set before a thread gets it: the thread sanitizer does not see GLib's hand-over */
        int parts; /* atomic: grows while it goes on */
        int seen;  /* the engine's thread: `parts` as it was looked at last */
        int late;  /* atomic: it was answered with an error, nothing more is to be done */
        json_t *values;
        GError *failure;
} FileWork;

/* Does a FileWork (`data`, `work`), and posts its answer: functions of a pool, and of a thread of low priority. */
void file_work_run(gpointer data, gpointer arg);
gpointer file_work_run_background(gpointer work);

/* ---- run-files-ask.c: answers ---- */

/* An answer for a run may be given again: the run looks whether it still waits. */
void files_answer(Engine *engine, FilesTicket *ticket, const json_t *values, const GError *error);
/* The server ends: answers a request of no run that was not answered. */
void files_answer_end(FilesTicket *ticket);
