/* Shared by the files of this folder: the store itself, and the conversion of rows to jobs. */
#pragma once

#include "store/cache.h"
#include "store/sqlite/pool.h"
#include "store/sqlite/wal.h"
#include "store/store.h"

struct Store {
        char *path;  /* of the database */
        int lock_fd; /* held while the store is open */
        Conn writer;
        Pool pool;
        Wal wal;
        JobCache cache;
        bool in_doubt; /* the outcome of a commit is unknown: no further one is tried */
        _Atomic gint64 commits, committed_jobs, committed_events, horizon;
};

/* The columns that every query for jobs returns, in this order, from `job` and its `job_spec`. */
#define JOB_COLUMNS                                                                                          \
        "job.seq, id, user, name, queue, state, updated, job.spec, array, idempotency, body, job_spec.spec"
#define JOB_WITH_SPEC " CROSS JOIN job_spec ON job_spec.seq = job.spec "

/* A row as it was read. Converting it to a job takes longer than reading, so it is done after the read
 * transaction. */
typedef struct {
        gint64 seq, updated, spec_seq, array_seq;
        int state;
        char *id, *user, *name, *queue, *idempotency, *body, *spec;
} JobRow;

JobRow *job_row_read(Conn *conn, int stmt);
void job_row_free(JobRow *row);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(JobRow, job_row_free)
gsize job_row_size(const JobRow *row); /* bytes of text, approximately */
/* `specs`: a cache with which shared specifications are parsed once for all rows; or NULL. */
Job *job_row_make(const JobRow *row, GHashTable *specs, GError **error);
GHashTable *job_specs_new(void);

/* The readers' statements; reader.h names them. */
extern const char *const reader_sql[];
extern const int reader_n_sql;
