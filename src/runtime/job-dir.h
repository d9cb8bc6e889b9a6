/* The directory of a job on the server, for all runtimes: STATE/jobs/<xx>/<id>, where <xx> is the beginning
 * of the id. Any thread.
 *
 *     jobs/<xx>/<id>/environment    link to envs/<key>, for jobs with requirements
 *     jobs/<xx>/<id>/<attempt>/     of one attempt, by its number: log/<role>-<index>, files of its runtime
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* The paths; the caller's. */
char *workdir_job(const char *state_dir, const char *job_id);
char *workdir_attempt(const char *state_dir, const char *job_id, int attempt);

/* Records the environment with which a job was prepared, as a link. So it stays the same after restarts of
 * the server and changes of settings. */
bool workdir_link_environment(const char *state_dir, const char *job_id, const char *key, GError **error);
char *workdir_environment(const char *state_dir, const char *job_id); /* the key; NULL: none. The caller's. */
