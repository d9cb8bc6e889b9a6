/* Secrets of a job's user: checked at submission, opened for a start. A job takes them as they are at each
 * attempt. The engine's thread. */
#pragma once

#include "engine/engine.h"

/* True if all secrets that the specification names exist and keep the limits of a job. Else ERR_NOT_FOUND or
 * ERR_INVALID, with a hint. */
bool secrets_check(const Catalog *catalog, const Spec *spec, const char *user, GError **error);

typedef struct {
        TaskSecret *list; /* its names are in `names`; values are owned, and wiped by secrets_clear */
        int n;
        char **names;
} JobSecrets;

/* Opens the job's secrets as the committed catalog has them, after the same checks as at submission: they may
 * have changed since. Call secrets_clear on *ret also after a failure. */
bool secrets_open(const Engine *engine, const Job *job, JobSecrets *ret, GError **error);
void secrets_clear(JobSecrets *secrets);

/* A line that a member of the job's present attempt wrote, without what it has of the values that the attempt
 * was given (engine/mask.h); the caller's. NULL: the values are not known any more, since a secret was
 * changed or deleted after the attempt began. */
char *secrets_mask(const Engine *engine, const Job *job, const char *line);
