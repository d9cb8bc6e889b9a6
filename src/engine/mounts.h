/* Mounts of a job: its file systems by name, looked up at submission and again for each start. The engine's
 * thread; no file is looked at. */
#pragma once

#include "engine/engine.h"

/* What the job's mounts are at this moment. */
typedef struct {
        TaskMount *list; /* its texts are in `parts` and in the catalog */
        Mount *parts;
        int n;
} JobMounts;

/* Looks up the file systems that a specification of `user` names. ERR_NOT_FOUND: one of them does not exist, or
 * is another user's. Call mounts_clear on *ret also after a failure. */
bool mounts_find(const Catalog *catalog, const Spec *spec, const char *user, JobMounts *ret, GError **error);
void mounts_clear(JobMounts *mounts);

/* The same as a check at submission, including whether the queue's cluster can mount them. */
bool mounts_check(Engine *engine, const Queue *queue, const Spec *spec, const char *user, GError **error);
