/* Secrets of a job's user: checked at submission, decrypted for a start. Each attempt uses the current
 * values. The engine's thread. */
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

/* Decrypts the job's secrets from the committed catalog, after the same checks as at submission, because they
 * may have changed since. Call secrets_clear on *ret also after a failure. */
bool secrets_open(const Engine *engine, const Job *job, JobSecrets *ret, GError **error);
void secrets_clear(JobSecrets *secrets);

/* A line that a member of the job's current attempt wrote, with the values that the attempt was given hidden
 * (engine/mask.h); the caller's. NULL: the values are unknown, because a secret was changed or deleted after
 * the attempt began. */
char *secrets_mask(const Engine *engine, const Job *job, const char *line);
