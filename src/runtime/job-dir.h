/* What the server keeps of a job, whichever runtime runs it: STATE/jobs/<xx>/<id>, where <xx> is the beginning of the
 * id. Any thread.
 *
 *     jobs/<xx>/<id>/environment    link to envs/<key>, for jobs with requirements
 *     jobs/<xx>/<id>/<attempt>/     of one attempt, by its number: log/<role>-<index> and what its runtime adds */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* The paths, the caller's. */
char *workdir_job(const char *state_dir, const char *job_id);
char *workdir_attempt(const char *state_dir, const char *job_id, int attempt);

/* Which environment a job was prepared with: a link, so that it holds whatever becomes of server and
 * settings. */
bool workdir_link_environment(const char *state_dir, const char *job_id, const char *key, GError **error);
char *workdir_environment(const char *state_dir, const char *job_id); /* the key; NULL: none. The caller's. */
