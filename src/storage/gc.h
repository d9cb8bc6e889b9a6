/* Which unneeded things of the state directory to delete, by age and bytes, least recently used first
 * (doc/guide/storage.md). A survey lists the things (survey.h); deciding is pure; janitor.h removes. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum {
        GC_UPLOAD,  /* an unfinished upload of a file */
        GC_PIECE,   /* the received beginning of a content of a package */
        GC_OFFER,   /* a manifest that did not become a package */
        GC_CONTENT, /* a content that no package has */
        GC_PACKAGE,
        GC_ENVIRONMENT,
        GC_DOWNLOADS, /* downloads for builds of a user's environments */
        GC_LOGS,      /* of an ended job */
        GC_WORK,      /* a work directory whose attempt has ended */
        GC_JOB,       /* the directory of a deleted job */
        GC_KINDS
} GcKind;
const char *gc_kind_name(GcKind kind); /* "uploads", "packages", ... */

typedef struct {
        GcKind kind;
        char *name; /* path below the state directory */
        char *user; /* its owner; NULL: none, or several */
        gint64 bytes, files;
        gint64 used;      /* ms since 1970: last use */
        const char *held; /* why it is needed ("job is open"); NULL: it is not needed. Static */
} GcThing;
GcThing *gc_thing_new(GcKind kind, const char *name, const char *user);
void gc_thing_free(GcThing *thing);

/* Nothing used within this time is deleted, whatever the policy is: a client that was just told that it
 * exists will still find it. */
enum { GC_FRESH_MS = 3600 * 1000 };

typedef struct {
        gint64 age_ms; /* deleted if unused for longer; 0: never because of age */
        gint64 bytes;  /* limit of the kind in total; above it the least recently used are deleted; 0: no
                          limit */
} GcRule;
typedef struct {
        GcRule of[GC_KINDS];
} GcPolicy;

/* The defaults. `fresh`: of a new installation; an older one keeps the logs of jobs that it still knows.
 * `disk`: bytes of the file system. */
GcPolicy gc_policy_default(bool fresh, gint64 disk);
/* "packages=30d", "packages=30d,50Gi", "logs=0": the age and bytes of a kind; 0 means never and no limit.
 * ERR_USAGE names `what`. */
bool gc_policy_set(GcPolicy *policy, const char *what, const char *text, GError **error);

typedef struct {
        const GcThing *thing; /* borrowed */
        char *why;
} GcVerdict;
void gc_verdict_free(GcVerdict *verdict);
/* Which of `things` (GcThing *) to delete, and why: of each kind the least recently used first, kinds in
 * their order. Pure. */
GPtrArray *gc_decide(const GPtrArray *things, const GcPolicy *policy, gint64 now);
