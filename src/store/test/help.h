/* Shared by this room's tests: scratch directories, jobs and events to store, batches that own what they
 * hold. */
#pragma once

#include "store/store.h"

typedef char Scratch; /* a directory that is removed with its scope: g_autoptr(Scratch) */
Scratch *scratch_new(void);
void scratch_free(Scratch *dir);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Scratch, scratch_free)

Store *open_store(const char *dir);

Job *make_job(gint64 seq, const char *user, const char *name, JobState state);
Event *make_event(gint64 revision, const Job *job, const char *kind);
void assert_same_job(const Job *got, const Job *want);

typedef struct Batch Batch; /* records; owns their data */
Batch *batch_new(void);
void batch_free(Batch *batch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Batch, batch_free)
void batch_put(Batch *batch, RecordKind kind, void *data /* taken */);
void batch_drop(Batch *batch, RecordKind kind, void *data /* taken */);
void *batch_last(const Batch *batch); /* the data of the record that was added last */
StoreBatch batch_view(const Batch *batch);
gint64 *copy_int(gint64 value); /* data of a record; the caller's */

void commit(Store *store, const Batch *batch);
/* Expects the failure; the error is the caller's. */
GError *commit_fails(Store *store, const Batch *batch, StoreFailure failure);
/* Commits one new job of `ann`, named "job-SEQ", queued, with its event of revision SEQ. */
void commit_job(Store *store, gint64 seq);
gint64 last_seq(Store *store);
