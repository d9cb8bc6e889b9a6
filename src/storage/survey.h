/* One look at all that the state directory holds: who holds how much, and what might go (gc.h). May take
 * long; runs on a thread of its own (janitor.h). Of the layout it knows what doc/internals/design.md says of the state
 * directory. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "storage/gc.h"
#include "storage/ledger.h"
#include "storage/project.h"

/* What the survey has to be told of a job. */
typedef enum { JOB_FOUND, JOB_UNKNOWN, JOB_NO_ANSWER } SurveyAnswer;
typedef struct {
        char *user;
        bool open;
        int attempt;     /* the latest */
        gint64 finished; /* ms; of one that is not open */
} SurveyJob;

/* In the directory of a job whose logs were removed. */
#define SURVEY_LOGS_GONE "logs-gone"

typedef struct Survey Survey;

/* A store of another room in the state directory, which looks at its own layout. On the janitor's thread, or
 * that of who asks it to remove. */
typedef struct {
        /* Adds whose it is what the store holds, and what might go (survey_count, survey_note). False: stopped. */
        bool (*look)(void *store, Survey *survey);
        /* Removes a thing that `look` has noted, unless it was used after `since` (ms). True and *ret_gone
         * false: it is in use now. */
        bool (*drop)(void *store, GcKind kind, const char *name, gint64 since, bool *ret_gone,
                     GError **error);
        /* Drops what crashes have left. */
        void (*sweep)(void *store);
} SurveyedOps;
typedef struct {
        const SurveyedOps *ops; /* NULL: there is none */
        void *store;            /* borrowed */
} Surveyed;

typedef struct {
        const char *state_dir, *dc;
        gint64 since; /* ms: from then on uses of packages and environments are noted; they count as used then
                       */
        Surveyed packages; /* package/package-survey.h */
        /* JOB_NO_ANSWER: it cannot be known now, so nothing of it goes. */
        SurveyAnswer (*job)(const char *id, SurveyJob *ret, void *arg);
        /* Hashes of packages that open jobs have (char *, a set); NULL: not known now. The caller's. */
        GHashTable *(*open_packages)(void *arg);
        char *(*user_of_uid)(uid_t uid, void *arg); /* NULL: nobody's. The caller's */
        Projects *projects;                         /* whose trees get their ids; or NULL */
        bool (*stopped)(void *arg);
        void *arg;
} SurveyConfig;

struct Survey {
        const SurveyConfig *config;
        GHashTable *uses;     /* user -> DiskUse */
        GPtrArray *things;    /* GcThing */
        GHashTable *packages; /* of open jobs; NULL: not known */
        GHashTable *seen;     /* inodes of several names: each is counted once (weigh.h) */
};

/* NULL: stopped. */
Survey *survey_make(const SurveyConfig *config);
void survey_free(Survey *survey);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Survey, survey_free)

/* For who looks at a part. */
void survey_count(Survey *survey, const char *user, DiskKind kind, gint64 bytes, gint64 files);
/* A new thing, which the survey has. */
GcThing *survey_note(Survey *survey, GcKind kind, const char *name, const char *user);
