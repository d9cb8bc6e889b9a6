/* Secrets of a job's user: checked at submission, opened for a start. A job takes them as they are at each
 * attempt. The engine's thread. */
#pragma once

#include "engine/engine.h"

/* Are all secrets there that the specification names? ERR_NOT_FOUND and ERR_INVALID say which is not, and
 * what to do. */
bool secrets_check(const Catalog *catalog, const Spec *spec, const char *user, GError **error);

typedef struct {
        TaskSecret *list; /* names are the specification's, values are own */
        int n;
        char **names;
} JobSecrets;

/* Those of the job as of the committed catalog. False with an error when one cannot be had; *ret is to be
 * cleared in any case. */
bool secrets_open(const Engine *engine, const Job *job, JobSecrets *ret, GError **error);
void secrets_clear(JobSecrets *secrets);
