/* Python environments for jobs: envs/<hash>, where the hash covers the interpreter, the requirements text and the index settings. Built
 * once, by a task of the agent (so that it survives the server), while the job waits. Pure of processes itself: it says what to run. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
        const char *envs_dir;
        const char *uv;      /* program or NULL: pip */
        const char *python;  /* interpreter */
} EnvironmentConfig;

/* The key of an environment: hex; the caller's. Index settings are read from the process's environment (PIP_*, UV_*) and pip's
 * configuration files. */
char *environment_key(const EnvironmentConfig *config, const char *requirements, GError **error);
bool environment_is_ready(const EnvironmentConfig *config, const char *key);
char *environment_path(const EnvironmentConfig *config, const char *key); /* its directory; the caller's */
/* What builds it: writes the requirements file and returns argv for a task whose exit 0 means ready. It takes a lock on the
 * environment, so that two builders (two servers) do not disturb each other, and leaves nothing half made. */
char **environment_build_command(const EnvironmentConfig *config, const char *key, const char *requirements, GError **error);
/* Why a build failed, from the end of its log: the line that says it, e.g. "No matching distribution found for nosuch==1". The caller's. */
char *environment_failure(const char *log_path);
