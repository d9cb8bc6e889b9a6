/* Python environments for jobs: envs/<key>/venv, where the key covers the interpreter, the requirements text,
 * the setup and the index settings. A task of the agent builds it once (so the build survives the server)
 * while the job waits. These functions only prepare that task; they run nothing but the interpreter, once, to
 * identify it. Thread-safe.
 *
 *     envs/<key>/requirements.txt   the request
 *     envs/<key>/build.log          the builder's output, of several attempts in turn
 *     envs/<key>/lock               flock of the builder
 *     envs/<key>/venv/              the environment, built in place (it cannot be moved)
 *     envs/<key>/package.<id>/      during the build: the package for the setup
 *     envs/<key>/work/              during the build: a copy of it, in which the setup runs
 *     envs/<key>/made/              files that the setup created or changed there, for the members
 *     envs/<key>/ready              created last
 *     envs/<key>/used               empty; its mtime is that of the last use
 *
 * A build runs code of packages. For jobs that run as another user than the server, it runs as that user, and
 * the environment is private: the key is u<uid>-<hash>; lock, venv, ready and a setup's results are in
 * envs/<key>/own/, which belongs to that user, and downloads in envs/u<uid>/. `owner` NULL: the server's. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "runtime/environment/requirements.h"
#include "storage/tree.h"

typedef struct {
        const char *envs_dir;
        const char *uv;     /* program; NULL: pip */
        const char *python; /* interpreter: a path, or a name looked up in PATH */
        bool urls;          /* requirements may name other sources of packages */
} EnvironmentConfig;

enum { REQUIREMENTS_MAX = 1024 * 1024 };

/* The definition of an environment. Borrowed. */
typedef struct {
        const char *requirements;        /* text; or NULL */
        const char *setup, *setup_files; /* as in a specification; or NULL */
        gint64 user; /* of the requesting user in the catalog: users never share a setup's results */
} EnvironmentRecipe;

/* True if there is something to install or to run. */
bool environment_is_wanted(const EnvironmentRecipe *recipe);
/* True if environment_key() need not run the interpreter first (some 20 ms, once per process). */
bool environment_is_known(const EnvironmentConfig *config);
/* The key of an environment: hex; the caller's. Index settings are read from the process's environment
 * (PIP_*, UV_*) and the configuration files of pip and uv. ERR_NOT_FOUND if the interpreter is missing;
 * ERR_INVALID for a line that environment_normal() refuses. */
char *environment_key(const EnvironmentConfig *config, const Owner *owner, const EnvironmentRecipe *recipe,
                      GError **error);
bool environment_is_for(const char *key, const Owner *owner);
bool environment_is_ready(const EnvironmentConfig *config, const char *key);
/* True if it is ready. Records the use (envs/<key>/used): it is not dropped for at least an hour. Waits for
 * the disk, and for environment_drop(). */
bool environment_use(const EnvironmentConfig *config, const char *key);
/* The same for a thread that must not wait: only checks whether it exists, and records the use in memory for
 * this process's environment_drop(). *ret_touch: call environment_use() on another thread, so that the use is
 * also on disk. An environment that is being dropped is not ready. */
bool environment_look(const EnvironmentConfig *config, const char *key, bool *ret_touch);
/* Removes an environment, or u<uid>/. If it was used after `since` (ms) or is being built, returns true with
 * *ret_gone false. It leaves its place by one rename, into envs/.gone/. */
bool environment_drop(const char *envs_dir, const char *key, gint64 since, bool *ret_gone, GError **error);
char *environment_path(const EnvironmentConfig *config, const char *key); /* contains bin/; the caller's */
char *environment_made_path(const EnvironmentConfig *config,
                            const char *key); /* the setup's results; the caller's */
/* The setup's results at `made` (of environment_made_path) were changed: marks the environment as not ready,
 * so that the next job rebuilds it. */
void environment_spoil(const char *made);
char *environment_log_path(const EnvironmentConfig *config, const char *key); /* of its build; the caller's */
/* Copies the tree `package` for the build of a setup; the copy belongs to the owner. *ret: its name in the
 * build's directory; the caller's. The build removes it. May take long. */
bool environment_stage(const EnvironmentConfig *config, const char *key, const Owner *owner,
                       const char *package, char **ret, GError **error);
void environment_unstage(const EnvironmentConfig *config, const char *key, const char *staged);
/* Writes the requirements file and returns the argv of the build: exit status 0 means ready. The task locks
 * the environment, so that builders of two servers do not disturb each other, and leaves nothing incomplete.
 * `staged`: from environment_stage(); NULL: a setup runs in an empty directory. */
char **environment_build_command(const EnvironmentConfig *config, const char *key, const Owner *owner,
                                 const EnvironmentRecipe *recipe, const char *staged, GError **error);
/* The variables of that task: a small part of the process's environment, PIP_* and UV_*, and pip's settings
 * under the names that uv reads; for another owner also a readable copy of uv's settings. The caller's
 * g_strfreev. */
char **environment_build_variables(const EnvironmentConfig *config, const char *key, const Owner *owner,
                                   GError **error);
char *environment_build_dir(const EnvironmentConfig *config,
                            const char *key); /* its working directory; the caller's */
/* Why a build failed: the line at the end of its log that tells it, e.g. "No matching distribution found for
 * nosuch==1". The caller's. */
char *environment_failure(const char *log_path);
