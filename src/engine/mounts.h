/* Mounts of a job: its file systems by name, looked up at submission and again for each start. The engine's
 * thread; no file is looked at. */
#pragma once

#include "engine/engine.h"

/* What the job's mounts are at this moment. */
typedef struct {
        TaskMount *list; /* its texts are in the two others */
        Mount *parts;
        FilesystemPlace *places;
        int n;
} JobMounts;

/* Looks up the file systems that a specification of `user` names, among that user's. ERR_NOT_FOUND: one does not
 * exist. ERR_CONFLICT: its kind cannot be mounted. Call mounts_clear on *ret also after a failure. */
bool mounts_find(const Catalog *catalog, const Spec *spec, const char *user, JobMounts *ret, GError **error);
void mounts_clear(JobMounts *mounts);

/* The same as a check at submission, including whether the queue's cluster can mount them. */
bool mounts_check(Engine *engine, const Queue *queue, const Spec *spec, const char *user, GError **error);

/* Counts the open jobs that mount a file system, so that it is not deleted meanwhile: a job opens (1) or ends (-1). Jobs
 * without mounts cost nothing. */
void mounts_count(Engine *engine, const Job *job, int change);
/* "mounted by 2 open jobs"; the caller's. NULL: by none. */
char *mounts_use(const Engine *engine, const char *user, const char *fs);
