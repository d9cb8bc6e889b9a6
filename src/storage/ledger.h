/* Disk usage of each user, in bytes and files, and the users' limits (doc/guide/storage.md). The numbers have
 * two sources: what the server writes for a user is added at once, and a survey (survey.h) measures now and
 * then, since jobs write directly. Thread-safe; only ledger_load and ledger_save do I/O. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum {
        DISK_HOME,         /* storage/<dc>/home/<user> */
        DISK_PUBLIC,       /* files of members in storage/<dc>/public */
        DISK_PACKAGES,     /* contents and trees, counted to each owner */
        DISK_UPLOADS,      /* received data that is neither file nor package yet */
        DISK_ENVIRONMENTS, /* built for this user, and their downloads */
        DISK_LOGS,
        DISK_WORK,     /* work directories of jobs */
        DISK_UNLISTED, /* open files without a name, and what the kernel counts beyond the survey */
        DISK_KINDS
} DiskKind;
const char *disk_kind_name(DiskKind kind); /* "homes", "packages", ... */

typedef struct {
        gint64 bytes, files; /* on the disk; files: inodes, including directories */
} DiskAmount;
typedef struct {
        DiskAmount of[DISK_KINDS];
} DiskUse;
DiskAmount disk_use_sum(const DiskUse *use);

/* Checks whether `user`, who uses `use`, may use `more`. A limit of 0 is none. `more` of 0 and 0 stands for
 * an activity that will write, such as a job: it is refused if the limit is reached. ERR_QUOTA tells the
 * user, the kind, the amounts and what to do. Pure. */
bool disk_check(const char *user, const DiskUse *use, const DiskAmount *limit, const DiskAmount *more,
                GError **error);

/* True if the user's use is at least a tenth above the limit, so that it affects others. The server's own
 * writes stop at the limit, so only jobs can exceed it. Pure. */
bool disk_is_far_over(const DiskUse *use, const DiskAmount *limit);

/* The limit for the user's trees with their project id (project.h), so that their total use stays within
 * `limit`: the use of other trees is subtracted. 0: none. Pure. */
DiskAmount disk_kernel_limit(const DiskUse *use, const DiskAmount *limit);

typedef struct Ledger Ledger;
/* A user's limit; 0: no limit. Any thread, short. */
typedef void (*LedgerLimitOf)(const char *user, DiskAmount *ret, void *arg);
Ledger *ledger_new(LedgerLimitOf limit_of, void *arg);
void ledger_free(Ledger *ledger); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Ledger, ledger_free)

/* All functions below treat a NULL ledger as one without limits. */

/* Checks whether the user may use this much more. */
bool ledger_check(Ledger *ledger, const char *user, gint64 bytes, gint64 files, GError **error);
/* The same, and counts the amounts as used until ledger_release, so that concurrent writes cannot exceed the
 * limit together. */
bool ledger_reserve(Ledger *ledger, const char *user, gint64 bytes, gint64 files, GError **error);
void ledger_release(Ledger *ledger, const char *user, gint64 bytes, gint64 files);
/* Adds what was written (or, if negative, deleted). */
void ledger_add(Ledger *ledger, const char *user, DiskKind kind, gint64 bytes, gint64 files);

/* Sets what the kernel currently counts for the user's trees (project.h). It counts if it is more than the
 * survey found in them. */
void ledger_set_kernel(Ledger *ledger, const char *user, const DiskAmount *held);
/* disk_kernel_limit for the user's current use. */
void ledger_kernel_limit(Ledger *ledger, const char *user, DiskAmount *ret);
/* "disk quota: 'ann' holds 20.0 MiB of at most 20.0 MiB (...)" for a user without capacity for the next block
 * or file; else NULL. The caller's. */
char *ledger_say_full(Ledger *ledger, const char *user);
/* ERR_QUOTA in the same words as ledger_check, independent of the ledger's numbers: the kernel has
 * refused. */
bool ledger_refuse(Ledger *ledger, const char *user, GError **error);

/* The use and the limit of one user. */
void ledger_use(Ledger *ledger, const char *user, DiskUse *ret, DiskAmount *ret_limit);
/* Users with any use, sorted by name; the caller's. */
GPtrArray *ledger_users(Ledger *ledger);
gint64 ledger_surveyed(Ledger *ledger); /* start of the last survey, ms; 0: never */
/* True once after a refusal: a survey may find that the user has deleted files. */
bool ledger_take_refused(Ledger *ledger);

/* A survey begins; amounts written during it are added to what it finds. */
void ledger_survey_begin(Ledger *ledger);
/* `uses`: user -> DiskUse *, the complete result. NULL: the survey was aborted. */
void ledger_survey_end(Ledger *ledger, GHashTable *uses);

/* Save and load the results of the last survey across restarts. A file that cannot be read counts as
 * missing. */
void ledger_load(Ledger *ledger, const char *path);
bool ledger_save(Ledger *ledger, const char *path, GError **error);
