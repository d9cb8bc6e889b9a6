/* Who holds how much of the disk, in bytes and files, and how much each user may hold (doc/guide/storage.md). The
 * numbers come from two sides: what the server writes for a user is added at once, and a survey (survey.h)
 * measures now and then, since jobs write without asking. Thread-safe; no call does I/O but ledger_load and
 * ledger_save. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum {
        DISK_HOME,         /* storage/<dc>/home/<user> */
        DISK_PUBLIC,       /* what members have put into storage/<dc>/public */
        DISK_PACKAGES,     /* contents and trees, to each owner */
        DISK_UPLOADS,      /* what has arrived and is neither file nor package yet */
        DISK_ENVIRONMENTS, /* those that were built for this user, and their downloads */
        DISK_LOGS,
        DISK_WORK,     /* work directories of jobs */
        DISK_UNLISTED, /* files that are open and have no name, and what the kernel counts beyond the survey
                        */
        DISK_KINDS
} DiskKind;
const char *disk_kind_name(DiskKind kind); /* "homes", "packages", ... */

typedef struct {
        gint64 bytes, files; /* of the disk; files: inodes, directories too */
} DiskAmount;
typedef struct {
        DiskAmount of[DISK_KINDS];
} DiskUse;
DiskAmount disk_use_sum(const DiskUse *use);

/* May `user`, who holds `use`, hold `more`? A limit of 0 is none. More of 0 and 0 asks for something that
 * will write, such as a job: who holds all that is allowed may not begin it. ERR_QUOTA says whose, what, how
 * much and what to do. Pure. */
bool disk_check(const char *user, const DiskUse *use, const DiskAmount *limit, const DiskAmount *more,
                GError **error);

/* Does a user who holds so much stand in the way of others: a tenth above the limit, or more? What the server
 * writes ends at the limit, so only jobs get there. Pure. */
bool disk_is_far_over(const DiskUse *use, const DiskAmount *limit);

/* The limit for the trees of the user that carry their project id (project.h), so that all they hold stays
 * within `limit`: what other trees hold is taken off. 0: none. Pure. */
DiskAmount disk_kernel_limit(const DiskUse *use, const DiskAmount *limit);

typedef struct Ledger Ledger;
/* What a user may hold; 0: no limit. Any thread, short. */
typedef void (*LedgerLimitOf)(const char *user, DiskAmount *ret, void *arg);
Ledger *ledger_new(LedgerLimitOf limit_of, void *arg);
void ledger_free(Ledger *ledger); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Ledger, ledger_free)

/* All that follow take a NULL ledger as one that has no limits. */

/* May the user hold so much more? */
bool ledger_check(Ledger *ledger, const char *user, gint64 bytes, gint64 files, GError **error);
/* The same, and until ledger_release counts them as held: so that many at once do not pass where one may. */
bool ledger_reserve(Ledger *ledger, const char *user, gint64 bytes, gint64 files, GError **error);
void ledger_release(Ledger *ledger, const char *user, gint64 bytes, gint64 files);
/* What was written (or, below 0, has gone). */
void ledger_add(Ledger *ledger, const char *user, DiskKind kind, gint64 bytes, gint64 files);

/* What the kernel has counted for the user's trees now (project.h). More than the survey found in them
 * counts. */
void ledger_set_kernel(Ledger *ledger, const char *user, const DiskAmount *held);
/* disk_kernel_limit for the user now. */
void ledger_kernel_limit(Ledger *ledger, const char *user, DiskAmount *ret);
/* "disk quota: 'ann' holds 20.0 MiB of at most 20.0 MiB (...)" for a user who has no room for the next block
 * or file; else NULL. The caller's. */
char *ledger_say_full(Ledger *ledger, const char *user);
/* ERR_QUOTA in the same words as ledger_check, whatever the ledger knows: the kernel has refused. */
bool ledger_refuse(Ledger *ledger, const char *user, GError **error);

/* What one user holds, and may. */
void ledger_use(Ledger *ledger, const char *user, DiskUse *ret, DiskAmount *ret_limit);
/* Who holds something, sorted by name; the caller's. */
GPtrArray *ledger_users(Ledger *ledger);
gint64 ledger_surveyed(Ledger *ledger); /* when the last survey began, ms; 0: never */
/* True once after somebody was refused: a survey may find that they have made room. */
bool ledger_take_refused(Ledger *ledger);

/* A survey begins; what is written while it looks is kept beside what it finds. */
void ledger_survey_begin(Ledger *ledger);
/* `uses`: user -> DiskUse *, all that was found. NULL: the survey was broken off. */
void ledger_survey_end(Ledger *ledger, GHashTable *uses);

/* What the last survey found, from one start of the server to the next. A file that cannot be read counts as
 * none. */
void ledger_load(Ledger *ledger, const char *path);
bool ledger_save(Ledger *ledger, const char *path, GError **error);
