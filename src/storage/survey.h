/* A survey of the state directory: disk usage of each user, and things that may be deleted (gc.h). It may
 * take long, so it runs on its own thread (janitor.h). doc/internals/design.md describes the layout. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "storage/gc.h"
#include "storage/ledger.h"
#include "storage/project.h"

/* The facts about a job that the survey needs. */
typedef enum { JOB_FOUND, JOB_UNKNOWN, JOB_NO_ANSWER } SurveyAnswer;
typedef struct {
        char *user;
        bool open;
        int attempt;     /* the latest */
        gint64 finished; /* ms; if it is not open */
} SurveyJob;

/* Name of a mark in the directory of a job whose logs were removed. */
#define SURVEY_LOGS_GONE "logs-gone"

typedef struct Survey Survey;

/* A store of another folder in the state directory, which surveys its own layout. On the janitor's thread, or
 * the thread of the caller that requests a removal. */
typedef struct {
        /* Adds the usage of each owner, and what might be deleted (survey_count, survey_note). False:
         * stopped. */
        bool (*look)(void *store, Survey *survey);
        /* Removes a thing that `look` has noted, unless it was used after `since` (ms). True and *ret_gone
         * false: it is in use now. */
        bool (*drop)(void *store, GcKind kind, const char *name, gint64 since, bool *ret_gone,
                     GError **error);
        /* Deletes what crashes have left. */
        void (*sweep)(void *store);
} SurveyedOps;
typedef struct {
        const SurveyedOps *ops; /* NULL: no store */
        void *store;            /* borrowed */
} Surveyed;

typedef struct {
        const char *state_dir, *dc;
        gint64 since; /* ms: since this time uses of packages and environments are recorded; unrecorded ones
                         count as used at this time */
        Surveyed packages; /* package/package-survey.h */
        /* JOB_NO_ANSWER: unknown at present, so nothing of the job is deleted. */
        SurveyAnswer (*job)(const char *id, SurveyJob *ret, void *arg);
        /* Hashes of packages that open jobs use (char *, a set); NULL: unknown at present. The caller's. */
        GHashTable *(*open_packages)(void *arg);
        char *(*user_of_uid)(uid_t uid, void *arg); /* NULL: no user. The caller's */
        Projects *projects;                         /* gives their ids to trees; or NULL */
        bool (*stopped)(void *arg);
        void *arg;
} SurveyConfig;

struct Survey {
        const SurveyConfig *config;
        GHashTable *uses;     /* user -> DiskUse */
        GPtrArray *things;    /* GcThing */
        GHashTable *packages; /* of open jobs; NULL: unknown */
        GHashTable *seen;     /* inodes with several names: each is counted once (weigh.h) */
};

/* NULL: stopped. */
Survey *survey_make(const SurveyConfig *config);
void survey_free(Survey *survey);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Survey, survey_free)

/* Adds to a user's usage. */
void survey_count(Survey *survey, const char *user, DiskKind kind, gint64 bytes, gint64 files);
/* Adds a new thing, which the survey owns. */
GcThing *survey_note(Survey *survey, GcKind kind, const char *name, const char *user);
