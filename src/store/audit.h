/* The audit log's files: lines that hold each other (base/chain.h), written by one thread in the order in
 * which they were handed over. What is in a line is api/auth's business; doc/guide/audit.md has the promises.
 *
 *     put ──▶ line in memory ──▶ one write() for all that wait ──▶ done ──▶ fdatasync ──▶ done of `durable`
 *
 * A disk that is full loses nothing at first: what waits stays in memory (at most AUDIT_WAITING_MAX lines,
 * what is more is counted) and is tried again each second. Nobody is kept waiting by it. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/chain.h"

typedef struct Audit Audit;

enum { AUDIT_WAITING_MAX = 10000, AUDIT_READ_MAX = 1000 };

typedef struct {
        const char *dir;    /* created with mode 0700 */
        gint64 file_size;   /* approximate bytes after which the next file begins */
        gint64 file_age_ms; /* age after which the next file begins; 0: no limit */
        int files;          /* number of files kept, at least 2; 0: all */
} AuditConfig;

/* Truncates what a crashed server left unfinished. Adds a line if the end of the log is missing. */
Audit *audit_open(const AuditConfig *config, GError **error);
void audit_close(Audit *audit); /* writes waiting lines; NULL is a no-op */

/* Queues a line: `fields` as in chain_append, without "time". `done` (or NULL) is called once, on the
 * writer's thread: when the line is in the file; for `durable` when it is on the disk; or when that
 * failed. */
typedef void (*AuditDone)(void *arg);
void audit_put(Audit *audit, const char *fields, bool durable, AuditDone done, void *arg);
/* Sets a function that the writer's thread calls about once a second and before the end, to queue lines that
 * are due. When this returns, the previous function does not run any more. */
void audit_set_tick(Audit *audit, void (*tick)(bool last, void *arg), void *arg);

/* NULL, or why nothing can be written at present; the caller's. */
char *audit_trouble(Audit *audit);
ChainHead audit_head(Audit *audit); /* the last line that is in a file */
const char *audit_dir(const Audit *audit);

typedef struct {
        gint64 since;     /* lines with a larger number, oldest first; -1: the last lines */
        const char *user; /* the acting user; NULL: all */
        int limit;        /* 1..AUDIT_READ_MAX */
} AuditQuery;
/* Objects of the lines in order of their numbers; the caller's. Lines queued before are included, unless the
 * disk cannot be written. Reads files: may take long. */
json_t *audit_read(Audit *audit, const AuditQuery *query, GError **error);
