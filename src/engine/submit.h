/* The submission as a command, and while it is applied. Internal to submit*.c. */
#pragma once

#include "engine/state.h"
#include "model/array.h"

typedef struct {
        Command command;
        char *user; /* owner of the jobs */
        bool admin;
        GPtrArray *specs; /* Spec */
        char *key;        /* idempotency key; or NULL */
        char *id;         /* requested by the client; or NULL */
        char *refusal;    /* why the job fails immediately; or NULL */
        bool only_check;  /* a dry run */
        gint64 run_seq;   /* of a step: its run and its node; else 0 */
        guint32 run_node;
        /* What was read from the store, as far as the submission needs it. */
        Read read;
        guint64 request; /* digest of `specs`, for Job.request; 0: without a key */
        GError *error;   /* why the key could not be looked up */
        Job *earlier;    /* the first job of the submission that used the key before; NULL: the key is new */
        bool differs;    /* the earlier submission had other specifications */
        Job *same_id;    /* a job with the id `id`; or NULL */
        GHashTable *awaited; /* word of `after` -> Awaited; NULL: it has no `after` */
} Submit;

/* A job or a whole array that a word of `after` names, as it was read. */
typedef struct {
        Job *job;        /* of an array: one of its elements */
        gint64 array;    /* its number; 0: it is a job */
        char *array_id;  /* NULL: its first element was deleted */
        JobState failed; /* of an element that had ended without success; or JOB_SUCCEEDED */
} Awaited;

/* Reads what the submission needs from the store and the views: the job that has its key, the job that has its id, and
 * the jobs that it waits for. Any thread. */
void submit_read(Engine *engine, Submit *submit);
void submit_read_clear(Submit *submit);

/* ---- while it is applied ---- */

/* One specification of a submission, and the jobs that it makes. */
typedef struct {
        Spec *spec;                 /* borrowed */
        const Queue *queue;         /* borrowed from the batch's catalog */
        char id[ID_LEN + 1];        /* of its first job */
        char ref[ARRAY_ID_LEN + 1]; /* the id of its only job, or of its array */
        char *name;                 /* of its only job, or the beginning of its jobs' names */
        GArray *indices;            /* int; NULL: it is no array */
        int array_max;
        char **after; /* with ids; NULL: nothing is awaited */
        Live *first;
} Entry;

typedef struct {
        Engine *engine;
        Submit *submit;
        GPtrArray *entries; /* Entry */
        gint64 n_jobs;
        GHashTable *by_name; /* name -> Entry: the first of it */
        GHashTable *found;   /* word of `after`, borrowed -> Found; NULL: none yet */
} Submission;

int submit_entry_jobs(const Entry *entry);
/* Puts the name of entry `i` before the error, if there are several. */
void submit_name_culprit(Submission *submission, guint i);

/* The server's limits, those of the user, and those of each queue. */
bool submit_check_counts(Submission *submission);
/* The jobs a minute of a user. It is the last check, since it counts. */
bool submit_check_rate(Submission *submission);
/* Takes `jobs` from the rate of a user who is no administrator; a run counts as one. ERR_QUOTA with the time to wait. */
bool submit_take_rate(Engine *engine, const char *user, gint64 jobs, bool only_check, GError **error);
/* Fills `after` of each entry. False also if a dependency can never hold, or jobs would wait for each other. */
bool submit_resolve_after(Submission *submission);
