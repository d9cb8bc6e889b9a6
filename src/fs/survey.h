/* One look at all that the state directory holds: who holds how much, and what might go (gc.h). May take
 * long; runs on a thread of its own (janitor.h). Of the layout it knows what doc/design.md says of the state
 * directory. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "fs/gc.h"
#include "fs/ledger.h"
#include "fs/package.h"
#include "fs/project.h"

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

typedef struct {
        const char *state_dir, *dc;
        gint64 since; /* ms: from then on uses of packages and environments are noted; they count as used then
                       */
        PackageStore *packages;
        /* JOB_NO_ANSWER: it cannot be known now, so nothing of it goes. */
        SurveyAnswer (*job)(const char *id, SurveyJob *ret, void *arg);
        /* Hashes of packages that open jobs have (char *, a set); NULL: not known now. The caller's. */
        GHashTable *(*open_packages)(void *arg);
        char *(*user_of_uid)(uid_t uid, void *arg); /* NULL: nobody's. The caller's */
        Projects *projects;                         /* whose trees get their ids; or NULL */
        bool (*stopped)(void *arg);
        void *arg;
} SurveyConfig;

typedef struct {
        const SurveyConfig *config;
        GHashTable *uses;     /* user -> DiskUse */
        GPtrArray *things;    /* GcThing */
        GHashTable *packages; /* of open jobs; NULL: not known */
        GHashTable *seen;     /* inodes of several names: each is counted once (weigh.h) */
} Survey;

/* NULL: stopped. */
Survey *survey_make(const SurveyConfig *config);
void survey_free(Survey *survey);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Survey, survey_free)

/* For who looks at a part. */
void survey_count(Survey *survey, const char *user, DiskKind kind, gint64 bytes, gint64 files);
/* A new thing, which the survey has. */
GcThing *survey_note(Survey *survey, GcKind kind, const char *name, const char *user);
/* What of the store of packages is whose, and what might go of it (package-survey.c). */
bool packages_survey(PackageStore *store, Survey *survey);
