/* What may go from the state directory: things that nothing needs, by age and bytes, least recently used
 * first (doc/guide/storage.md). A survey lists the things (survey.h); deciding is pure; janitor.h removes. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum {
        GC_UPLOAD,  /* an unfinished upload of a file */
        GC_PIECE,   /* the beginning of a content of a package */
        GC_OFFER,   /* a manifest that became no package */
        GC_CONTENT, /* one that no package has */
        GC_PACKAGE,
        GC_ENVIRONMENT,
        GC_DOWNLOADS, /* what builds of environments have downloaded for a user */
        GC_LOGS,      /* of a job that has ended */
        GC_WORK,      /* a work directory whose attempt is over */
        GC_JOB,       /* the directory of a job that is forgotten */
        GC_KINDS
} GcKind;
const char *gc_kind_name(GcKind kind); /* "uploads", "packages", ... */
const char *gc_kind_about(GcKind kind);

typedef struct {
        GcKind kind;
        char *name; /* its path below the state directory */
        char *user; /* whose; NULL: nobody's, or several */
        gint64 bytes, files;
        gint64 used;      /* ms since 1970: last */
        const char *held; /* why it is needed ("job is open"); NULL: nothing needs it. Static */
} GcThing;
GcThing *gc_thing_new(GcKind kind, const char *name, const char *user);
void gc_thing_free(GcThing *thing);

/* Nothing that was used so lately goes, whatever the policy: who was just told that it is there finds it. */
enum { GC_FRESH_MS = 3600 * 1000 };

typedef struct {
        gint64 age_ms; /* unused for longer: goes. 0: age is no reason */
        gint64 bytes;  /* of the kind in all; above it the least recently used go. 0: no bound */
} GcRule;
typedef struct {
        GcRule of[GC_KINDS];
} GcPolicy;

/* The defaults. `fresh`: of a new installation; logs of jobs that an older one still knows stay. `disk`:
 * bytes of the file system. */
GcPolicy gc_policy_default(bool fresh, gint64 disk);
/* "packages=30d", "packages=30d,50Gi", "logs=0": the age and bytes of a kind; 0 is never and no bound.
 * ERR_USAGE names `what`. */
bool gc_policy_set(GcPolicy *policy, const char *what, const char *text, GError **error);

typedef struct {
        const GcThing *thing; /* borrowed */
        char *why;
} GcVerdict;
void gc_verdict_free(GcVerdict *verdict);
/* Which of `things` (GcThing *) go, and why: of each kind the least recently used first, kinds in their
 * order. Pure. */
GPtrArray *gc_decide(const GPtrArray *things, const GcPolicy *policy, gint64 now);
